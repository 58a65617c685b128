"""What is shipped: the wheel by itself, and the files for containers and for systemd, as far as linters can tell."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.assistant.cli_helpers import OURS

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = sorted(path.parent.name for path in ROOT.glob("*/__init__.py"))
MORE = ("setup.py", "pyproject.toml", "README.md", "LICENSE")
MEGABYTE = 1_000_000

GUARD = f"""
import sys

def refuse(event, arguments):
    path = str(arguments[0]) if event in ("open", "os.listdir", "os.scandir") and arguments else ""
    if path.startswith({str(ROOT) + os.sep!r}) and "site-packages" not in path and "/.venv/" not in path:
        raise RuntimeError(f"the checkout was read: {{path}}")

sys.addaudithook(refuse)
"""
"""Runs before anything else in the environment of the test: whatever opens a file of the checkout fails."""


@dataclass(frozen=True)
class Place:
    """An environment that the wheel was installed into, and a folder to work in."""

    venv: Path
    folder: Path

    def run(self, program: str, *arguments: str) -> str:
        """Run a program of the environment, which must succeed without a word of warning; return what it printed."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith((*OURS, "PYTHON"))}
        done = subprocess.run(
            [self.venv / "bin" / program, *arguments],
            cwd=self.folder,
            env={**kept, "PYTHONWARNINGS": "error", "PYTHONIOENCODING": "utf-8"},
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel, in a copy of the checkout: a build leaves folders behind."""
    place = tmp_path_factory.mktemp("wheel")
    for name in [*PACKAGES, "profiles", "knowledge", "tests"]:
        shutil.copytree(ROOT / name, place / "source" / name)
    (place / "source" / "knowledge" / "en" / "__pycache__").mkdir()
    for name in MORE:
        shutil.copyfile(ROOT / name, place / "source" / name)
    _python(
        "-m",
        "pip",
        "wheel",
        "--quiet",
        "--no-build-isolation",
        "--no-deps",
        "-w",
        str(place),
        ".",
        cwd=place / "source",
    )
    (built,) = place.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path) -> Place:
    """Install the wheel into an environment of its own, which sees the packages of this one."""
    venv = wheel.parent / "venv"
    _python("-m", "venv", "--without-pip", str(venv))
    _python(
        "-m",
        "pip",
        "--python",
        str(venv / "bin" / "python"),
        "install",
        "--quiet",
        "--no-index",
        "--no-deps",
        str(wheel),
    )
    (packages,) = venv.glob("lib/python*/site-packages")
    # A line of such a file adds a folder, but not what the files of that kind in it would: an editable install stays out.
    (packages / "theirs.pth").write_text(sysconfig.get_path("purelib") + "\n", "utf-8")
    (packages / "sitecustomize.py").write_text(GUARD, "utf-8")
    folder = wheel.parent / "elsewhere"
    folder.mkdir()
    return Place(venv, folder)


def _python(*arguments: str, cwd: Path | None = None, more: Mapping[str, str] | None = None) -> None:
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=cwd,
        env={**os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1", **(more or {})},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_the_wheel_holds_all_data_and_nothing_but_the_product(wheel: Path) -> None:
    """Every data file of a package, every profile and page is in it; no tests and no caches; it is under three MB."""
    with zipfile.ZipFile(wheel) as opened:
        names = set(opened.namelist())
    assert {name.partition("/")[0] for name in names if ".dist-info" not in name} == set(PACKAGES)
    assert not [name for name in names if "__pycache__" in name or "test" in name.split("/")[0]]
    suffixes = {".py", ".toml", ".txt", ".json", ".jsonl"}
    packaged = [path for package in PACKAGES for path in (ROOT / package).rglob("*") if path.suffix in suffixes]
    wanted = {str(path.relative_to(ROOT)) for path in packaged}
    pages = [*(ROOT / "profiles").glob("*.toml"), *(ROOT / "knowledge").glob("*/*.md")]
    wanted |= {f"assistant/bundled/{path.relative_to(ROOT)}" for path in pages}
    assert len(pages) > 100
    assert {name for name in names if ".dist-info" not in name} == wanted
    assert wheel.stat().st_size < 3 * MEGABYTE


@pytest.mark.slow
def test_an_installed_wheel_works_without_the_checkout(installed: Place) -> None:
    """Indexing, asking, settings, the bundled cases and Python's `ask` work where no file of the checkout can be read."""
    where = "import assistant, sys; print(assistant.__file__, *sys.path, sep='\\n')"
    first, *path = installed.run("python", "-c", where).splitlines()
    assert Path(first).is_relative_to(installed.venv)
    assert str(ROOT) not in path
    pages = len(list((ROOT / "knowledge").glob("*/*.md")))
    assert f"{pages} added" in installed.run("guardian", "index")
    answer = installed.run("guardian", "ask", "How do I add my own documents?", "--quiet")
    assert "[1]" in answer
    assert "GUARDIAN_DATA_DIR" in installed.run("guardian", "show", "settings")
    assert "--tuning" in installed.run("guardian", "eval", "--help")
    asked = "from assistant import ask; print(ask('How do I add my own documents?', thread='t'))"
    assert installed.run("python", "-c", asked) == answer
    assert "comindware" in installed.run("guardian", "show", "settings", "--profile", "comindware")


def test_an_installed_wheel_that_reads_the_checkout_is_caught(installed: Place) -> None:
    """What holds the other tests up: in that environment, opening a file of the checkout is an error."""
    with pytest.raises(AssertionError, match="the checkout was read"):
        installed.run("python", "-c", f"open({str(ROOT / 'pyproject.toml')!r})")


@pytest.mark.slow
def test_an_installed_wheel_judges_the_bundled_cases(installed: Place) -> None:
    """`guardian eval` has its cases with it, and the handbook that they are asked of."""
    assert "## Whole turns" in installed.run("guardian", "eval", "--parts", "turns", "--most", "1")
