"""What is made in the data folder: whose it is."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from adapters.data_folder import make_folder, owner_only
from adapters.models.access import ModelAccess
from adapters.models.memory import WireMemory
from adapters.sources.graph.building import build
from assistant.keys import Keys
from tests.support.cli_helpers import QUESTION, Desk


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
