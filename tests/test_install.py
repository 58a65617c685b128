"""`make install`: it says what is missing, and does nothing when nothing changed."""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SCRIPT = ROOT / "tools" / "create_venv.sh"
PACKAGES = ROOT / "tools" / "install_packages.sh"
NAMES = ("python3", "python3.13", "python3.12", "python3.11", "python")


def python(folder: Path, name: str, *, version: str, venv: bool = True) -> None:
    """Put a Python on the PATH of a test: a real one, which tells another version or cannot make environments."""
    folder.mkdir(exist_ok=True)
    script = ["#!/bin/sh", f'[ "$1" = -c ] && {{ echo {version}; exit; }}']
    if not venv:
        # As Debian's does: the folder is there, and the step after it fails.
        script += ['[ "$2" = venv ] && { mkdir -p "$4"; echo "ensurepip is not available"; exit 1; }']
    script += [f'exec {sys.executable} "$@"']
    path = folder / name
    path.write_text("\n".join(script) + "\n", "utf-8")
    path.chmod(0o755)


def shell_tools(folder: Path) -> None:
    """Link the few tools that the script and the Pythons of the test need, so that no other Python is in reach."""
    folder.mkdir(exist_ok=True)
    for tool in ("sh", "rm", "mkdir"):
        found = shutil.which(tool)
        assert found
        (folder / tool).symlink_to(found)


def create(tmp_path: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the script with nothing on PATH but what the test put into `bin`."""
    shell_tools(tmp_path / "bin")
    return subprocess.run(
        [str(tmp_path / "bin" / "sh"), str(SCRIPT), str(tmp_path / "venv")],
        env={"PATH": str(tmp_path / "bin"), **environment},
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )


def test_a_python_without_venv_is_told_with_the_package_to_install(tmp_path: Path) -> None:
    """Where Debian's python3-venv is missing, the message names the package for that Python, and leaves no rubbish."""
    python(tmp_path / "bin", "python3", version="3.12", venv=False)
    done = create(tmp_path)
    assert done.returncode == 1
    assert "cannot make a virtual environment" in done.stderr
    assert "sudo apt-get install python3.12-venv" in done.stderr
    assert not (tmp_path / "venv").exists()


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an environment with nothing but pip, for copying only, made by the second Python of a machine.

    Python's own way to bring pip into one takes three seconds, so this Python copies it, where it is asked for an
    environment with pip.
    """
    place = tmp_path_factory.mktemp("environment")
    python(place / "bin", "python3", version="3.13", venv=False)
    python(place / "bin", "python3.11", version="3.11")
    path = place / "bin" / "python3.11"
    *lines, last = path.read_text("utf-8").splitlines()
    packages = Path(sysconfig.get_path("purelib"))
    pip = [packages / "pip", *packages.glob("pip-*.dist-info")]
    copy = shlex.join([str(shutil.which("cp")), "-R", *map(str, pip)])
    quick = f'{sys.executable} -m venv --without-pip "$4" && exec {copy} "$4"/lib/python{sysconfig.get_python_version()}/site-packages'
    path.write_text("\n".join([*lines, f'[ "$*" = "-m venv --clear $4" ] && {quick}', last]) + "\n", "utf-8")
    done = create(place)
    assert done.returncode == 0, done.stderr
    return place / "venv"


def test_the_next_python_is_tried_where_the_first_has_no_venv_and_what_works_is_kept(environment: Path) -> None:
    """One incomplete Python does not stop an install that another can carry out; a second run makes nothing anew."""
    assert (environment / "bin" / "python").exists()
    mark = environment / "mark"
    mark.touch()
    shutil.rmtree(environment.parent / "bin")
    assert create(environment.parent).returncode == 0
    assert mark.exists()


@pytest.mark.parametrize("version", ["3.10", "3.14", "2.7"])
def test_a_python_that_is_too_old_or_too_new_is_told(tmp_path: Path, version: str) -> None:
    """The message names what was found and what is wanted."""
    python(tmp_path / "bin", "python3", version=version)
    done = create(tmp_path)
    assert done.returncode == 1
    assert f"No Python from 3.11 to 3.13 was found (python3 is {version})." in done.stderr
    assert "make install PYTHON=" in done.stderr


def test_a_machine_without_python_is_told_what_to_install(tmp_path: Path) -> None:
    """No Python at all: the message names the packages and the setting."""
    done = create(tmp_path)
    assert done.returncode == 1
    assert "No Python from 3.11 to 3.13 was found." in done.stderr
    assert "sudo apt-get install python3 python3-venv" in done.stderr


def test_a_python_that_was_named_is_the_only_one_tried(tmp_path: Path) -> None:
    """PYTHON=... that does not fit is an error, even where another would."""
    for name in NAMES:
        python(tmp_path / "bin", name, version="3.11")
    python(tmp_path / "bin", "mine", version="3.9")
    done = create(tmp_path, PYTHON="mine")
    assert done.returncode == 1
    assert "PYTHON=mine is not a Python from 3.11 to 3.13 (mine is 3.9)." in done.stderr


def make(folder: Path, *arguments: str) -> str:
    """Ask make what it would do."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    return subprocess.run(
        ["make", "--dry-run", *arguments], cwd=folder, env=environment, capture_output=True, text=True, check=True
    ).stdout


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """Return a copy of what `make install` looks at, with everything installed."""
    for name in ("Makefile", "pyproject.toml", "requirements.lock"):
        shutil.copy(ROOT / name, tmp_path / name)
    (tmp_path / "tools").mkdir()
    for script in (SCRIPT, PACKAGES):
        shutil.copy(script, tmp_path / "tools" / script.name)
    (tmp_path / "contracts").mkdir()
    (tmp_path / "contracts" / "__init__.py").touch()
    (tmp_path / ".venv").mkdir()
    for path in tmp_path.rglob("*"):
        os.utime(path, (1_000_000, 1_000_000))
    for when, stamp in enumerate((".locked", ".installed")):
        (tmp_path / ".venv" / stamp).touch()
        os.utime(tmp_path / ".venv" / stamp, (2_000_000 + when, 2_000_000 + when))
    return tmp_path


def test_install_does_nothing_when_nothing_changed(installed: Path) -> None:
    """No process is started where every stamp is newer than what it stands for."""
    assert "Nothing to be done for" in make(installed, "install")


@pytest.mark.parametrize(
    ("changed", "does"),
    [
        ("requirements.lock", "install_packages.sh"),
        ("tools/create_venv.sh", "create_venv.sh"),
        ("tools/install_packages.sh", "install_packages.sh"),
        ("pyproject.toml", "--editable"),
        ("contracts/__init__.py", "--editable"),
    ],
)
def test_install_runs_again_when_something_changed(installed: Path, changed: str, does: str) -> None:
    """A new lock, a new setting and a new package are each installed."""
    (installed / changed).touch()
    assert does in make(installed, "install")


@pytest.mark.parametrize("target", ["demo", "test", "check", "docs", "eval", "bench"])
def test_every_target_begins_with_install(installed: Path, target: str) -> None:
    """Nobody has to know that there is an install step."""
    assert "install_packages.sh" not in make(installed, target)
    (installed / "requirements.lock").touch()
    said = make(installed, target)
    assert said.index("install_packages.sh") < said.index(".venv/bin/", said.index("--editable"))


def test_make_alone_lists_every_target() -> None:
    """The default target tells what there is."""
    said = subprocess.run(["make"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    listed = [line.split()[1] for line in said.splitlines() if line.startswith("  make ")]
    assert listed == [
        "help",
        "install",
        "demo",
        "studio",
        "test",
        "weights",
        "storm",
        "soak",
        "check",
        "docs",
        "eval",
        "bench",
        "lock",
        "clean",
    ]


def put_wheel(folder: Path, name: str, version: str, *lines: str) -> str:
    """Write a wheel that holds nothing but what it says of itself, and return its digest."""
    path = folder / f"{name}-{version}-py3-none-any.whl"
    info = f"{name}-{version}.dist-info"
    said = [f"Name: {name}", f"Version: {version}", *lines, ""]
    with zipfile.ZipFile(path, "w") as wheel:
        wheel.writestr(f"{info}/METADATA", "\n".join(["Metadata-Version: 2.1", *said]))
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", "")
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.mark.parametrize("recipe", ["tools/install_packages.sh", "Containerfile"])
def test_a_library_that_is_newer_than_the_lock_does_not_stop_an_installation(tmp_path: Path, recipe: str) -> None:
    """What is pinned is installed, also where a package asks for a pinned one with an extra and a newer one is out."""
    asking = put_wheel(tmp_path, "asking", "1.0", "Requires-Dist: asked[more]>=1.0")
    asked = put_wheel(tmp_path, "asked", "1.0", "Provides-Extra: more")
    put_wheel(tmp_path, "asked", "1.1", "Provides-Extra: more")
    lock = tmp_path / "requirements.lock"
    lock.write_text(f"asking==1.0 --hash=sha256:{asking}\nasked==1.0 --hash=sha256:{asked}\n", "utf-8")
    found = re.findall(r"-?pip install (.*--require-hashes) ", (ROOT / recipe).read_text("utf-8"))
    assert found
    index = ["--no-index", "--find-links", str(tmp_path), "--target", str(tmp_path / "installed")]
    command = [sys.executable, "-m", "pip", "install", *found[-1].split(), *index, "--requirement", str(lock)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert {path.name for path in (tmp_path / "installed").glob("ask*")} == {
        "asking-1.0.dist-info",
        "asked-1.0.dist-info",
    }


def test_the_lock_holds_all_that_its_packages_ask_for() -> None:
    """It is installed as it stands, without looking for what is missing, so nothing may be missing."""
    check = [sys.executable, "-m", "uv", "pip", "check", "--python", sys.executable]
    done = subprocess.run(check, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("uv", ["is not locked", "fails"])
def test_pip_installs_the_locked_packages_if_uv_cannot(environment: Path, tmp_path: Path, uv: str) -> None:
    """An index that only the settings of pip name, of which uv knows nothing, is used by pip; and the user is told."""
    wheels = tmp_path / "wheels"
    wheels.mkdir()
    lines = [f"asked==1.0 --hash=sha256:{put_wheel(wheels, 'asked', '1.0')}"]
    if uv == "fails":
        # A wheel of that name without a program in it.
        lines.append(f"uv==0.1 \\\n    --hash=sha256:{put_wheel(wheels, 'uv', '0.1')}")
    lock = tmp_path / "requirements.lock"
    lock.write_text("\n".join(lines) + "\n", "utf-8")
    venv = tmp_path / "venv"
    shutil.copytree(environment, venv, symlinks=True)
    variables = {**os.environ, "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(wheels)}
    done = subprocess.run(
        ["sh", str(PACKAGES), str(venv), str(lock)], env=variables, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "uv could not install the packages; pip does" in done.stderr
    assert list(venv.glob("lib/python*/site-packages/asked-1.0.dist-info"))
