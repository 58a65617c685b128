"""What every test stands on: nothing leaves this machine, nothing touches the data of who runs the suite."""

from __future__ import annotations

import gc
import os
import sys
import threading
from collections.abc import Iterator
from ipaddress import ip_address
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from tests.support.memory import memory

ROOT = Path(__file__).resolve().parent.parent

# A model, a key or a trace of the developer's own must not reach a test.
for _name in [
    name for name in os.environ if name.startswith(("GUARD", "OPENAI_", "LANGSMITH_", "LANGCHAIN_", "OTEL_"))
]:
    del os.environ[_name]

# A client that is opened reads who may sign for servers, 15 ms each time, and there are a thousand: this file names one.
os.environ["SSL_CERT_FILE"] = str(ROOT / "tests" / "data" / "authority.pem")

# Making the vectors of every test's documents, and reading passages with questions, would be most of the suite's time;
# tests of them switch it on.
os.environ |= {"GUARDIAN_EMBEDDER": "off", "GUARDIAN_RERANKER": "off"}

# Hundreds of processes are started: the first of them compiles, a sixth of the time of each of the others. And here the
# tests themselves are compiled, with their asserts rewritten, a third of what each worker takes to collect them.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# Collecting makes a million objects that live to the end: looking through them for garbage, now and in each test that
# asks for it, was a tenth of the suite's time.
gc.disable()

# What tests write, 45,000 files and 1.8 GB, in memory: on a disk that is ten seconds of the processor, and as many again
# at the end of a run, when pytest removes them and nothing else is left to do.
os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", memory() or gettempdir())

# Before LangGraph is imported: these are read on import.
os.environ["LANGGRAPH_STRICT_MSGPACK"] = "true"
os.environ["LANGGRAPH_CLI_NO_ANALYTICS"] = "1"
os.environ["LANGGRAPH_NO_VERSION_CHECK"] = "true"
os.environ["LANGSMITH_TRACING"] = "false"

# No deadline: on a busy machine it fails slow examples, not wrong ones. The timeout of pytest ends what hangs.
# Each run tries other examples: a few each time, and more where a rule's code changes (TEST_EXAMPLES=500).
settings.register_profile(
    "house",
    deadline=None,
    max_examples=int(os.environ.get("TEST_EXAMPLES", "30")),
    print_blob=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
settings.load_profile("house")


def _stays_here(host: object) -> bool:
    if isinstance(host, bytes):
        host = host.decode("ascii", "replace")
    if host in (None, "", "localhost"):
        return True
    try:
        address = ip_address(str(host))
    except ValueError:
        return False
    return address.is_loopback or address.is_unspecified


def _refuse_to_leave(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "socket.connect" and isinstance(arguments[1], tuple):
        host = arguments[1][0]
    elif event == "socket.getaddrinfo":
        host = arguments[0]
    else:
        return
    if not _stays_here(host):
        raise RuntimeError(f"a test tried to reach {host}: the suite stays on this machine")


sys.addaudithook(_refuse_to_leave)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the files that have slow tests: at the end of a run, no worker waits for another's long file."""
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: item.path not in slow)


def pytest_collection_finish() -> None:
    """Leave what collecting made, with the little of it that is garbage, out of every later search for garbage.

    Search when there is something to find: by itself Python does so at each 700 new objects.
    """
    gc.freeze()
    gc.set_threshold(20_000)
    gc.enable()


@pytest.fixture(scope="module", autouse=True)
def _left_out_of_later_searches() -> Iterator[None]:
    """Collect a file's garbage at its end, and leave what stays (imports, caches) out of every later search, too.

    In a long run, a seventh of the time was spent looking through that.
    """
    yield
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="module", autouse=True)
def _no_database_left_open() -> Iterator[None]:
    """A database's thread that outlives its event loop fails whichever test comes later ("Event loop is closed")."""
    yield
    for thread in threading.enumerate():
        if thread.name.endswith("(_connection_worker_thread)"):
            thread.join(5)
            assert not thread.is_alive(), "this file leaves a database open"


@pytest.fixture(scope="session")
def _data_dirs() -> Iterator[Iterator[Path]]:
    """Give new folders, by count: pytest looks through all there are for each new one, half a minute for 12,000 tests.

    In memory: to remove so many from a busy disk takes as long again, at the end of a run, when nothing else is left.
    """
    with TemporaryDirectory(prefix="guardian-data-", dir=memory()) as folder:
        yield (Path(folder) / str(number) for number in count())


@pytest.fixture(autouse=True)
def data_dir(_data_dirs: Iterator[Path], monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give each test a data directory of its own, and none of the settings of who runs the suite."""
    for name in [name for name in os.environ if name.startswith(("GUARDIAN_", "GUARD_", "OPENAI_", "LANGCHAIN_"))]:
        monkeypatch.delenv(name)
    directory = next(_data_dirs)
    directory.mkdir()
    monkeypatch.setenv("GUARDIAN_DATA_DIR", str(directory))
    monkeypatch.setenv("GUARDIAN_EMBEDDER", "off")
    monkeypatch.setenv("GUARDIAN_RERANKER", "off")
    return directory


@pytest.fixture(scope="session")
def root() -> Path:
    """Return the repository."""
    return ROOT


@pytest.fixture(scope="session")
def public_data() -> Path:
    """Return the folder of public data beside the repository; skip where it is absent."""
    folder = ROOT.parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("the public data is not beside the repository")
    return folder


@pytest.fixture(scope="session")
def handbook_data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a data directory with the bundled handbook indexed, one for all workers: for copying only."""
    from tests.support.handbook import indexed_handbook

    own = tmp_path_factory.getbasetemp()
    return indexed_handbook(own.parent if "PYTEST_XDIST_WORKER" in os.environ else own)


@pytest.fixture(scope="session")
def handbook_index(handbook_data: Path) -> Path:
    """Return the folder of the handbook's index in it: for copying only."""
    return handbook_data / "handbook" / "knowledge"


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """Return the address of a real PostgreSQL, started for whoever asks first; its user may do anything."""
    from tests.support.postgres_server import postgres_server

    with postgres_server() as address:
        yield address


@pytest.fixture
def database_url(tmp_path_factory: pytest.TempPathFactory, postgres_server: str) -> str:
    """Return the address of a database of the test's own, which is empty."""
    import psycopg

    name = tmp_path_factory.mktemp("own").name
    with psycopg.connect(postgres_server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}".encode())
    return postgres_server.replace("@/postgres", f"@/{name}")
