"""What is made in the data folder: whose it is, and what is left to do where it cannot be written."""

from __future__ import annotations

import asyncio
import errno
import fcntl
import os
import sqlite3
from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from shutil import copy, rmtree
from tempfile import mkdtemp

import pytest

from adapters.data_folder import make_folder, owner_only
from adapters.lookups.graph.building import build
from adapters.models.access import ModelAccess
from adapters.models.memory import WireMemory
from assistant.keys import Keys
from tests.support.cli_helpers import PROFILE, QUESTION, Desk


@pytest.fixture(autouse=True)
def usual_mask() -> Iterator[None]:
    """Have the process's own mask let others read."""
    before = os.umask(0o022)
    yield
    assert os.umask(before) == 0o022


def modes(folder: Path) -> dict[str, int]:
    """Return what owner, group and others may, of a folder and all that is in it."""
    return {str(path.relative_to(folder)): path.stat().st_mode & 0o777 for path in (folder, *folder.rglob("*"))}


def fill(desk: Desk) -> None:
    """Have every part that keeps something write into the data folder."""
    desk.index()
    assert desk.here("ask", QUESTION).code == 0
    access = ModelAccess("small", None)
    asyncio.run(WireMemory(desk.folder / "models.json").put(access, "window", 4096))
    build(desk.folder / "knowledge", desk.folder / "graph")
    Keys(desk.data / "api_keys.json").add("anna", "user")


def test_a_data_folder_that_is_made_is_its_owners_alone(tmp_path: Path) -> None:
    """It and every folder in it have mode 0700, documents' copies, databases, graph, keys and locks 0600."""
    desk = Desk(tmp_path / "to" / "data", tmp_path)
    fill(desk)
    found = modes(tmp_path / "to")
    assert {"data/api_keys.json", "data/shelf/threads.db", "data/shelf/models.json"} <= found.keys()
    assert any(name.endswith(".store") for name in found)
    assert {name: mode for name, mode in found.items() if mode & 0o077} == {}


def test_a_data_folder_that_is_there_keeps_its_mode(tmp_path: Path) -> None:
    """Who shares it has a reason; what is made in it is no one else's all the same, also in folders of earlier versions."""
    desk = Desk(tmp_path / "data", tmp_path)
    for folder in ("data", "data/shelf", "data/shelf/knowledge", "data/shelf/graph"):
        (tmp_path / folder).mkdir(mode=0o755)
    fill(desk)
    open_to_others = {name for name, mode in modes(desk.data).items() if mode & 0o077}
    assert open_to_others == {".", "shelf", "shelf/knowledge", "shelf/graph"}


def test_the_process_has_its_own_mask_back_however_blocks_end(tmp_path: Path) -> None:
    """Of two blocks that overlap, the one that ends last gives back what was there before the first."""

    @contextmanager
    def block() -> Generator[None]:
        with owner_only():
            yield

    first, second = block(), block()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    (tmp_path / "made").touch()
    second.__exit__(None, None, None)
    assert modes(tmp_path)["made"] == 0o600


def test_a_folder_that_cannot_be_made_is_an_error(tmp_path: Path) -> None:
    """A file in its place is not taken for it."""
    (tmp_path / "file").touch()
    for path in (tmp_path / "file", tmp_path / "file" / "folder"):
        with pytest.raises(OSError, match="file"):
            make_folder(path)


# ------------------------------------------------------------------------------------------- one that cannot be written

NOBODY = 65_534
IN_RUSSIAN = "Как восстановить каталог из резервной копии?"


@pytest.fixture(scope="module")
def reachable() -> Iterator[Desk]:
    """A desk that any user of this machine can read; what commands load is loaded, which the code need not be readable for."""
    place = Path(mkdtemp())
    place.chmod(0o755)
    profile = Path(copy(PROFILE, place))
    desk = Desk(place / "data", place, profile)
    desk.having(GUARDIAN_PROFILE=str(PROFILE)).index()
    for arguments in (("ask", QUESTION), ("ask", IN_RUSSIAN), ("search", "backup", "--json")):
        assert desk.here(*arguments).code == 0
    yield desk
    rmtree(place)


@contextmanager
def sealed_folder(folder: Path) -> Generator[None]:
    """Have all of a folder readable for everybody and writable for nobody; root goes on as one to whom that applies."""
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o555 if path.is_dir() else 0o444)
    root = os.geteuid() == 0
    if root:
        os.setegid(NOBODY)
        os.seteuid(NOBODY)
    try:
        yield
    finally:
        if root:
            os.seteuid(0)
            os.setegid(0)
        for path in (folder, *folder.rglob("*")):
            path.chmod(0o700)


def reachable_copy(desk: Desk) -> Desk:
    """Return a desk over a copy of another's data that any user of this machine can read, too."""
    place = Path(mkdtemp(dir=desk.cwd))
    place.chmod(0o755)
    return desk.copied(place / "data")


@pytest.fixture
def sealed(reachable: Desk) -> Iterator[Desk]:
    """A desk whose data can be read and not written."""
    desk = reachable_copy(reachable)
    with sealed_folder(desk.data):
        yield desk


def test_documents_that_cannot_be_written_are_searched(sealed: Desk) -> None:
    """Neither database nor index can be locked there; both are read without."""
    said = sealed.here("search", "backup", "--json")
    assert (said.code, said.err) == (0, "")
    assert "Backups" in {item["title"] for item in said.json}


@pytest.mark.parametrize(
    ("question", "told"),
    [
        (QUESTION, "this turn is not kept"),
        (IN_RUSSIAN, "ничего не сохранено"),
    ],
)
def test_a_question_is_answered_and_it_is_said_that_nothing_is_kept(
    sealed: Desk, question: str, told: str, caplog: pytest.LogCaptureFixture
) -> None:
    """In its language, with the folder and the way out; no conversation is named that there is not."""
    said = sealed.here("ask", question)
    assert said.code == 0
    assert "shelfctl restore" in said.out
    [noted] = caplog.messages
    for part in (told, str(sealed.folder), "GUARDIAN_DATA_DIR"):
        assert part in noted
    assert "--thread" not in said.err
    assert sealed.here("ask", question, "--json", "--quiet").json["thread_id"] == ""


def test_a_conversation_that_cannot_be_written_is_not_gone_on_with(sealed: Desk) -> None:
    """What was said in it before could not be read either, and the answer would be to another question."""
    sealed.here("ask", QUESTION, "--thread", "earlier").complains(1, "threads.db", "GUARDIAN_DATA_DIR")


def test_rows_that_are_not_in_the_database_yet_are_not_left_out(reachable: Desk) -> None:
    """A log that cannot be read into a database that cannot be written is an error, and not an older answer."""
    desk = reachable_copy(reachable)
    (desk.folder / "knowledge" / "knowledge.sqlite-wal").write_bytes(b"x" * 64)
    (desk.folder / "knowledge" / "knowledge.sqlite-shm").unlink(missing_ok=True)
    with sealed_folder(desk.data):
        desk.here("search", "backup").complains(1, "cannot be read")


def test_an_index_that_cannot_be_made_again_is_told_of_once(reachable: Desk, caplog: pytest.LogCaptureFixture) -> None:
    """One of an earlier version is searched as it is, with one warning in a process, however often it is opened."""
    desk = reachable_copy(reachable)
    with closing(sqlite3.connect(desk.folder / "knowledge" / "knowledge.sqlite")) as record:
        record.execute("UPDATE meta SET value = 'of an earlier version' WHERE key = 'analyser'")
        record.commit()
    with sealed_folder(desk.data):
        for _ in range(2):
            assert desk.here("search", "backup").code == 0
    assert [line for line in caplog.messages if "Until then some words are not found" in line] == caplog.messages[1:]


def test_a_file_system_without_locks_is_said_to_have_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Nothing is written there, with a way out; what is there is searched, also where it should be made again."""
    desk = Desk(tmp_path / "data", tmp_path)
    desk.index()
    with closing(sqlite3.connect(desk.folder / "knowledge" / "knowledge.sqlite")) as record:
        record.execute("UPDATE meta SET value = 'of an earlier version' WHERE key = 'analyser'")
        record.commit()

    def flock(_file: int, _how: int) -> None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))

    monkeypatch.setattr(fcntl, "flock", flock)
    desk.here("index").complains(1, "knows no locks", "another data folder, on a local disk")
    assert desk.here("search", "backup").code == 0
    assert "knows no locks" in caplog.text
