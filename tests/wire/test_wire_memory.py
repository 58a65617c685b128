from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path

import pytest

from adapters.models.access import ModelAccess
from adapters.models.memory import WireMemory

ONE = ModelAccess("one", "http://127.0.0.1:1/v1")
OTHERS = {
    "another model": replace(ONE, model="two"),
    "another server": replace(ONE, base_url="http://127.0.0.1:2/v1"),
    "another gateway under its host": replace(ONE, base_url="http://127.0.0.1:1/other/v1"),
    "the default server": replace(ONE, base_url=None),
}


def _names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


async def test_what_was_learnt_outlives_the_process(tmp_path: Path) -> None:
    """What one process puts down, the next one reads."""
    file = tmp_path / "new" / "models.json"
    await WireMemory(file).put(ONE, "form", "named")
    assert WireMemory(file).get(ONE, "form") == "named"
    assert _names(file.parent) == ["models.json"]


@pytest.mark.parametrize("name", OTHERS)
async def test_what_was_learnt_is_of_one_model_at_one_server(name: str, tmp_path: Path) -> None:
    """Another model, or the same behind another server, is found out about on its own."""
    memory = WireMemory(tmp_path / "models.json")
    await memory.put(ONE, "form", "named")
    assert memory.get(OTHERS[name], "form") is None
    await memory.put(OTHERS[name], "form", "auto")
    assert (memory.get(ONE, "form"), memory.get(OTHERS[name], "form")) == ("named", "auto")


async def test_none_forgets(tmp_path: Path) -> None:
    """What is put down as nothing is gone from the file, too."""
    file = tmp_path / "models.json"
    memory = WireMemory(file)
    await memory.put(ONE, "form", "named")
    await memory.put(ONE, "window", 4096)
    await memory.put(ONE, "form", None)
    assert WireMemory(file).get(ONE, "form") is None
    assert WireMemory(file).get(ONE, "window") == 4096
    assert "named" not in file.read_text("utf-8")


async def test_what_is_known_is_not_written_again(tmp_path: Path) -> None:
    """A turn that learns nothing new does not touch the file."""
    file = tmp_path / "models.json"
    memory = WireMemory(file)
    await memory.put(ONE, "form", "named")
    file.unlink()
    await memory.put(ONE, "form", "named")
    assert not file.exists()


async def test_two_processes_keep_what_each_has_learnt(tmp_path: Path) -> None:
    """What another process wrote about other models meanwhile stays in the file."""
    file = tmp_path / "models.json"
    first, second = WireMemory(file), WireMemory(file)
    await first.put(ONE, "form", "named")
    await second.put(OTHERS["another model"], "form", "auto")
    assert len(json.loads(file.read_text("utf-8"))) == 2


async def test_turns_at_once_leave_a_whole_file(tmp_path: Path) -> None:
    """Whatever is learnt at the same time, the file can be read in the end, and holds everything."""
    file = tmp_path / "models.json"
    memory = WireMemory(file)
    models = [replace(ONE, model=f"model-{n}") for n in range(20)]
    await asyncio.gather(*(memory.put(model, "form", model.model) for model in models))
    read = WireMemory(file)
    assert [read.get(model, "form") for model in models] == [model.model for model in models]
    assert _names(tmp_path) == ["models.json"]


@pytest.mark.parametrize("text", ["", "[]", "nonsense", "{KEY: []}", '{"x": 1}', "[" * 100_000, "\x00"])
async def test_a_broken_file_is_as_good_as_none(text: str, tmp_path: Path) -> None:
    """A file that cannot be read costs a probe, and is written anew."""
    file = tmp_path / "models.json"
    await WireMemory(file).put(ONE, "form", "auto")
    (key,) = json.loads(file.read_text("utf-8"))
    file.write_text(text.replace("KEY", json.dumps(key)), "utf-8")
    memory = WireMemory(file)
    assert memory.get(ONE, "form") is None
    await memory.put(ONE, "form", "named")
    assert WireMemory(file).get(ONE, "form") == "named"


async def test_bytes_that_are_no_text_are_as_good_as_none(tmp_path: Path) -> None:
    """The same holds for what is not UTF-8."""
    file = tmp_path / "models.json"
    file.write_bytes(b"\xff\xfe{}")
    assert WireMemory(file).get(ONE, "form") is None


@pytest.mark.parametrize("place", ["a file/models.json", "a folder"])
async def test_a_place_that_cannot_be_written_costs_a_probe_only(place: str, tmp_path: Path) -> None:
    """Where there is no writing, what was learnt is kept in the process, and nothing is raised."""
    (tmp_path / "a file").write_text("x", "utf-8")
    (tmp_path / "a folder").mkdir()
    memory = WireMemory(tmp_path / place)
    await memory.put(ONE, "form", "named")
    assert memory.get(ONE, "form") == "named"
    assert _names(tmp_path) == ["a file", "a folder"]


async def test_no_key_is_in_the_file(tmp_path: Path) -> None:
    """A user's name, a password or a path of an address, which may hold a key, is never written down."""
    file = tmp_path / "models.json"
    await WireMemory(file).put(replace(ONE, base_url="http://me:secret@127.0.0.1:1/secret/v1"), "form", "named")
    assert "secret" not in file.read_text("utf-8")
