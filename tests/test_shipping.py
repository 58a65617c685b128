"""What is shipped: the wheel by itself, and the files for containers and for systemd, as far as linters can tell."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tomllib
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from assistant.cli.parser import build_parser
from assistant.config.settings import VARIABLES
from tests.support.cli_helpers import OURS

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = sorted(path.parent.name for path in ROOT.glob("*/__init__.py") if path.parent.name != "tools")
"""What ships: all but the tools of developers."""
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


QUESTION = "How do I add my own documents?"

EVERYTHING = f"""
import json, os
from contextlib import redirect_stdout
from io import StringIO
from assistant import ask
from assistant.cli.main import main

said = {{}}

def run(name, *arguments, **more):
    os.environ.update(more)
    with redirect_stdout(StringIO()) as out:
        assert not main(arguments), name
    said[name] = out.getvalue()

run("handbook", "index")
run("asked", "ask", {QUESTION!r}, "--quiet")
said["answer"] = ask({QUESTION!r}, thread="t")
run("judged", "eval", "--parts", "drafts", "--most", "1")
own = {{"GUARDIAN_DATA_DIR": "meaning", "GUARDIAN_EMBEDDER": "auto"}}
run("indexed", "index", "pages", **own)
run("found", "search", "когда закипит вода")
print(json.dumps(said))
"""
"""Asks with the command and in Python, and uses other commands, one after the other: to import what a turn needs takes
a second, and a new installation compiles it first.
"""


@dataclass(frozen=True)
class Place:
    """An environment that the wheel was installed into, and a folder to work in."""

    venv: Path
    folder: Path

    def run(self, program: str, *arguments: str, **more: str) -> str:
        """Run a program of the environment, which must succeed without a word of warning; return what it printed.

        Vectors are made where a test says so: those of the handbook alone take forty seconds of a processor.
        """
        kept = {name: value for name, value in os.environ.items() if not name.startswith((*OURS, "PYTHON"))}
        own = {
            "PYTHONWARNINGS": "error",
            "PYTHONIOENCODING": "utf-8",
            "GUARDIAN_EMBEDDER": "off",
            "GUARDIAN_RERANKER": "off",
        }
        done = subprocess.run(
            [self.venv / "bin" / program, *arguments],
            cwd=self.folder,
            env={**kept, **own, **more},
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
    stale = place / "source" / "build" / "lib" / "assistant" / "bundled" / "knowledge" / "en" / "gone.md"
    stale.parent.mkdir(parents=True)
    stale.touch()
    for name in MORE:
        shutil.copyfile(ROOT / name, place / "source" / name)
    # What pip would call, without the second of a processor that pip takes around it.
    _python("-c", f"import setuptools.build_meta as b; b.build_wheel({str(place)!r})", cwd=place / "source")
    (built,) = place.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path) -> Place:
    """Install the wheel into an environment of its own, which sees the packages of this one.

    By uv, as `make install` does: it compiles nothing beforehand, and most modules are imported by no test.
    """
    venv = wheel.parent / "venv"
    _python("-m", "venv", "--without-pip", str(venv))
    there = ("--python", str(venv / "bin" / "python"))
    _python("-m", "uv", "pip", "install", *there, "--quiet", "--no-cache", "--no-index", "--no-deps", str(wheel))
    (packages,) = venv.glob("lib/python*/site-packages")
    # A line of such a file adds a folder, but not what the files of that kind in it would: an editable install stays out.
    (packages / "theirs.pth").write_text(sysconfig.get_path("purelib") + "\n", "utf-8")
    # Not as `sitecustomize`: Debian's Python has one of its own, which would be found first.
    (packages / "_checkout_guard.py").write_text(GUARD, "utf-8")
    (packages / "_checkout_guard.pth").write_text("import _checkout_guard\n", "utf-8")
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
    """Every file of a package, whatever its kind, every profile and page is in it; no tests and no caches; it is under three MB."""
    with zipfile.ZipFile(wheel) as opened:
        names = set(opened.namelist())
    assert {name.partition("/")[0] for name in names if ".dist-info" not in name} == set(PACKAGES)
    assert not [name for name in names if "__pycache__" in name or "test" in name.split("/")[0]]
    files = [path for package in PACKAGES for path in (ROOT / package).rglob("*") if path.is_file()]
    wanted = {str(path.relative_to(ROOT)) for path in files if "__pycache__" not in path.parts}
    pages = [*(ROOT / "profiles").glob("*.toml"), *(ROOT / "knowledge").glob("*/*.md")]
    wanted |= {f"assistant/bundled/{path.relative_to(ROOT)}" for path in pages}
    assert len(pages) > 100
    assert {name for name in names if ".dist-info" not in name} == wanted
    assert wheel.stat().st_size < 3 * MEGABYTE


def test_an_editable_install_has_the_folders_where_they_are(wheel: Path) -> None:
    """As `make install` installs it: profiles and handbook are those of the checkout."""
    source, folder = wheel.parent / "source", wheel.parent / "editable"
    folder.mkdir()
    _python("-c", f"import setuptools.build_meta as b; b.build_editable({str(folder)!r})", cwd=source)
    (built,) = folder.glob("*.whl")
    with zipfile.ZipFile(built) as opened:
        opened.extractall(folder)
    code = f"import site; site.addsitedir({str(folder)!r}); from assistant.config.profiles import BUNDLE; print(BUNDLE)"
    # Without this environment's own packages: where this test runs, they have an editable install, too.
    done = subprocess.run([sys.executable, "-S", "-c", code], cwd=folder, capture_output=True, text=True, check=False)
    assert (done.stdout.strip(), done.stderr) == (str(source), "")


@pytest.fixture(scope="module")
def used(installed: Place) -> dict[str, str]:
    """Index two of the handbook's pages, and use everything in one process; return what was said."""
    pages = list(installed.venv.glob("lib/python*/site-packages/assistant/bundled/knowledge/*/*.md"))
    assert len(pages) == len(list((ROOT / "knowledge").glob("*/*.md")))
    # To index them all takes seconds, and is done elsewhere.
    for page in pages:
        if page.name not in ("document-format.md", "your-own-documents.md"):
            page.unlink()
    (installed.folder / "pages").mkdir()
    (installed.folder / "pages" / "kettle.md").write_text("# The kettle\n\nWater boils at 100 degrees.\n", "utf-8")
    return json.loads(installed.run("python", "-c", EVERYTHING))


@pytest.mark.slow
def test_an_installed_wheel_works_without_the_checkout(installed: Place, used: dict[str, str]) -> None:
    """Indexing, asking, settings and Python's `ask` work where no file of the checkout can be read."""
    where = "import assistant, sys; print(assistant.__file__, *sys.path, sep='\\n')"
    first, *path = installed.run("python", "-c", where).splitlines()
    assert Path(first).is_relative_to(installed.venv)
    assert str(ROOT) not in path
    assert "4 added" in used["handbook"]
    assert "[1]" in used["asked"]
    assert used["asked"] == used["answer"] + "\n"
    settings = installed.run("guardian", "show", "settings", "--profile", "comindware")
    assert "GUARDIAN_DATA_DIR" in settings
    assert "comindware" in settings


@pytest.mark.slow
def test_an_installed_wheel_searches_by_meaning(used: dict[str, str]) -> None:
    """The embedder that comes with the extra is found and makes vectors, also where no file of the checkout can be read."""
    assert "vectors made, 0 missing" in used["indexed"]
    assert "The kettle" in used["found"]


@pytest.mark.slow
def test_an_installed_wheel_judges_the_bundled_cases(used: dict[str, str]) -> None:
    """`guardian eval` has its cases and their passages with it."""
    assert "## Drafts" in used["judged"]


def test_an_installed_wheel_that_reads_the_checkout_is_caught(installed: Place) -> None:
    """What holds the other tests up: in that environment, opening a file of the checkout is an error."""
    with pytest.raises(AssertionError, match="the checkout was read"):
        installed.run("python", "-c", f"open({str(ROOT / 'pyproject.toml')!r})")


# ------------------------------------------------------------------------------------------- containers and systemd

COMPOSE = yaml.safe_load((ROOT / "compose.yaml").read_text("utf-8"))
UNIT = (ROOT / "packaging" / "guardian.service").read_text("utf-8")
ENVIRONMENT = (ROOT / ".env.example").read_text("utf-8")
CONTAINER_EXTRAS = ("batch", "formats", "mcp", "neo4j", "otel", "postgres", "serve", "sql", "ui")


def lint(program: str, *arguments: str | Path) -> None:
    """Run a linter that stands beside this Python, or else on the PATH; it must find nothing."""
    found = shutil.which(program, path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    assert found, f"{program} is not installed"
    done = subprocess.run([found, *arguments], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_container_file_passes_its_linter() -> None:
    """Hadolint finds nothing, not even a matter of style."""
    lint("hadolint", "--failure-threshold", "style", ROOT / "Containerfile")


def test_the_compose_file_fits_the_schema_of_compose() -> None:
    """It is what the specification of compose allows."""
    lint("check-jsonschema", "--builtin-schema", "vendor.compose-spec", ROOT / "compose.yaml")


def test_what_the_wheel_is_made_of_goes_into_the_container_and_nothing_else() -> None:
    """Each package and each folder of data is let in; secrets, tests and what git knows is not."""
    lines = (ROOT / ".dockerignore").read_text("utf-8").splitlines()
    assert lines[1] == "*"
    let_in = {line[1:] for line in lines if line.startswith("!")}
    assert let_in == {*PACKAGES, *MORE, "profiles", "knowledge", "packaging/requirements.lock"}


def pins(text: str) -> dict[tuple[str, str], set[str]]:
    """Return the hashes of each package of a lock, by its name and its version."""
    entries = re.split(r"(?m)^(?=[a-z0-9])", text)
    found = [re.match(r"([a-z0-9.-]+)==([^ \\]+)", entry) for entry in entries]
    return {
        (head[1], head[2]): set(re.findall(r"sha256:[0-9a-f]{64}", entry))
        for head, entry in zip(found, entries, strict=True)
        if head
    }


def test_the_containers_packages_are_those_that_are_tested() -> None:
    """Each has a version and hashes that the lock of this checkout has, and none of a server's extras is missing."""
    tested = pins((ROOT / "requirements.lock").read_text("utf-8"))
    shipped = pins((ROOT / "packaging" / "requirements.lock").read_text("utf-8"))
    assert len(shipped) > 50
    assert {pin: hashes for pin, hashes in shipped.items() if tested.get(pin) != hashes} == {}
    assert all(shipped.values())
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    groups = [project["dependencies"], *(project["optional-dependencies"][name] for name in CONTAINER_EXTRAS)]
    wanted = {re.split(r"[\[><=~ ]", line)[0].lower() for group in groups for line in group}
    assert wanted - {name for name, _ in shipped} == {"guardian-assistant"}
    assert {"pytest", "ruff", "langgraph-api", "gguf"}.isdisjoint(name for name, _ in shipped)


def test_the_services_of_compose_are_healthy_before_they_are_used() -> None:
    """Each server has a check of its health and a volume; nginx waits for the assistant's two, and they for all others.

    The assistant's have a first process that waits for what killed processes leave behind.
    """
    services = COMPOSE["services"]
    assert set(services) == {"index", "guardian-1", "guardian-2", "proxy", "qdrant", "postgres"}
    assert all(services[name]["healthcheck"]["test"] for name in set(services) - {"index"})
    used = {volume.partition(":")[0] for service in services.values() for volume in service["volumes"]}
    assert set(COMPOSE["volumes"]) <= used
    for server in ("guardian-1", "guardian-2"):
        assert {name: wanted["condition"] for name, wanted in services[server]["depends_on"].items()} == {
            "index": "service_completed_successfully",
            "qdrant": "service_healthy",
            "postgres": "service_healthy",
        }
    assert all(services[name]["init"] for name in ("index", "guardian-1", "guardian-2"))
    assert services["proxy"]["depends_on"] == {
        name: {"condition": "service_healthy"} for name in ("guardian-1", "guardian-2")
    }
    assert all(str(port).startswith("127.0.0.1:") for service in services.values() for port in service.get("ports", ()))


def test_no_secret_stands_in_a_file_that_is_shipped() -> None:
    """Keys and passwords come from the file of the environment alone, whose example has none, and which git ignores."""
    for service in COMPOSE["services"].values():
        for name, value in service.get("environment", {}).items():
            assert not name.endswith(("KEY", "PASSWORD")) or value == "" or value.startswith("${"), name
    given = [line for line in ENVIRONMENT.splitlines() if re.match(r"(# )?[A-Z_]+=", line)]
    secrets = [line for line in given if line.partition("=")[0].endswith(("KEY", "PASSWORD"))]
    assert len(secrets) == 4
    assert all(line.endswith("=") for line in secrets)
    assert ".env" in (ROOT / ".gitignore").read_text("utf-8").splitlines()
    assert "KEY" not in (ROOT / "Containerfile").read_text("utf-8")


def test_what_the_file_of_the_environment_says_counts_in_compose() -> None:
    """Where the index is can be chosen there; both servers name the proxy, whose file names both servers."""
    proxy = COMPOSE["services"]["proxy"]["networks"]["default"]["ipv4_address"]
    for name in ("index", "guardian-1", "guardian-2"):
        environment = COMPOSE["services"][name]["environment"]
        assert environment["GUARDIAN_INDEX_URL"] == "${GUARDIAN_INDEX_URL:-qdrant://qdrant:6333}"
        assert environment["POSTGRES_PASSWORD"] == ""
        assert environment["GUARDIAN_PROXIES"] == environment["GUARDIAN_TRUSTED_PROXIES"] == proxy
        assert name == "index" or f"server {name}:8000" in (ROOT / "packaging" / "nginx.conf").read_text("utf-8")
    assert COMPOSE["services"]["postgres"]["environment"]["POSTGRES_PASSWORD"].startswith("${POSTGRES_PASSWORD:?")


@pytest.mark.parametrize("language", ["en", "ru"])
def test_keys_are_made_with_the_environment_that_the_server_has(language: str) -> None:
    """Every command that is shown gets the file of the environment; a container has more time to stop than a drain."""
    page = (ROOT / "knowledge" / language / "deploying.md").read_text("utf-8")
    commands = [line.strip() for line in page.splitlines() if line.strip().startswith("docker run")]
    assert len(commands) == 3
    assert all("--env-file guardian.env" in command for command in commands)
    (stop,) = [float(found) for found in re.findall(r"--detach .*--stop-timeout (\d+)", page)]
    (drain,) = (float(variable.default) for variable in VARIABLES if variable.name == "GUARDIAN_DRAIN_SECONDS")
    assert stop > drain
    made = UNIT.partition("systemd-run")[2].partition("keys add")[0]
    (file,) = [line for line in UNIT.splitlines() if line.startswith("EnvironmentFile=")]
    assert f"--property={file}" in made


def test_every_variable_of_the_shipped_files_is_one() -> None:
    """No file names a variable that the assistant does not read."""
    known = {variable.name for variable in VARIABLES}
    named = [
        ENVIRONMENT,
        UNIT,
        KUBERNETES,
        (ROOT / "compose.yaml").read_text("utf-8"),
        (ROOT / "Containerfile").read_text("utf-8"),
    ]
    used = {name for text in named for name in re.findall(r"\b(?:GUARDIAN|OPENAI|GUARD)_[A-Z_]+", text)}
    assert used - known == set()


def test_a_stop_gives_running_turns_their_time() -> None:
    """Compose and systemd wait for longer than the server drains, which both tell to end with SIGTERM."""
    (drain,) = (float(variable.default) for variable in VARIABLES if variable.name == "GUARDIAN_DRAIN_SECONDS")
    for server in ("guardian-1", "guardian-2"):
        guardian = COMPOSE["services"][server]
        assert float(guardian["environment"]["GUARDIAN_DRAIN_SECONDS"]) == drain
        assert float(guardian["stop_grace_period"].removesuffix("s")) > drain
    unit = dict(line.split("=", 1) for line in UNIT.splitlines() if re.match(r"[A-Za-z]+=", line))
    assert float(unit["TimeoutStopSec"]) > drain
    assert unit["KillSignal"] == "SIGTERM"
    assert "STOPSIGNAL SIGTERM" in (ROOT / "Containerfile").read_text("utf-8")


KUBERNETES = (ROOT / "packaging" / "kubernetes.yaml").read_text("utf-8")
OBJECTS = {f"{one['kind']} {one['metadata']['name']}": one for one in yaml.safe_load_all(KUBERNETES)}


@pytest.mark.parametrize("version", ["1.28.0", "1.37.0"])
def test_the_manifests_fit_kubernetes(version: str) -> None:
    """Nothing in them is unknown to an old version or a new one."""
    lint("kubernetes-validate", "--strict", "-k", version, ROOT / "packaging" / "kubernetes.yaml")


def test_the_manifests_fit_each_other_and_the_program() -> None:
    """What is selected is there, commands and paths are the program's, and running turns have their time before a kill."""
    pod = OBJECTS["Deployment guardian"]["spec"]["template"]
    job = OBJECTS["Job guardian-migrate"]["spec"]["template"]["spec"]
    for selected in (
        OBJECTS["Deployment guardian"]["spec"]["selector"]["matchLabels"],
        OBJECTS["Service guardian"]["spec"]["selector"],
        OBJECTS["PodDisruptionBudget guardian"]["spec"]["selector"]["matchLabels"],
    ):
        assert selected == pod["metadata"]["labels"]
    (server,), (index,), (migrate,) = pod["spec"]["containers"], pod["spec"]["initContainers"], job["containers"]
    assert [one["args"][0] for one in (server, index, migrate)] == ["serve", "index", "migrate"]
    for one in (server, index, migrate):
        build_parser().parse_args(one["args"])
        assert {source for entry in one["envFrom"] for source in entry} == {"configMapRef", "secretRef"}
    assert server["readinessProbe"]["httpGet"]["path"] == "/readyz"
    assert {server[probe]["httpGet"]["path"] for probe in ("livenessProbe", "startupProbe")} == {"/healthz"}
    settings = OBJECTS["ConfigMap guardian-settings"]["data"]
    pause = float(server["lifecycle"]["preStop"]["exec"]["command"][1])
    assert pod["spec"]["terminationGracePeriodSeconds"] > float(settings["GUARDIAN_DRAIN_SECONDS"]) + pause
    user = re.search(r"^USER (\d+):", (ROOT / "Containerfile").read_text("utf-8"), re.MULTILINE)
    assert user is not None
    for one in (pod["spec"], job):
        assert one["securityContext"]["runAsUser"] == int(user[1])
        assert {mounted["name"] for mounted in index["volumeMounts"]} == {volume["name"] for volume in one["volumes"]}


def test_the_unit_is_one_that_systemd_takes_and_that_may_do_little(tmp_path: Path) -> None:
    """Systemd finds no fault with it, and rates what it could still do below 2 of 10."""
    if shutil.which("systemd-analyze") is None:
        pytest.skip("there is no systemd-analyze on this machine")
    unit = tmp_path / "guardian.service"
    # systemd looks for the programs: here, those of the container's or the machine's place stand for themselves.
    unit.write_text(UNIT.replace("/opt/guardian/bin/guardian", sys.executable), "utf-8")
    done = subprocess.run(["systemd-analyze", "verify", unit], capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    rating = ["systemd-analyze", "security", "--offline=true", "--threshold=20", unit]
    done = subprocess.run(rating, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stdout
