from __future__ import annotations

import asyncio
import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest

from adapters.storage.claims import FileClaims
from assistant.deployment import deployment
from assistant.visitors import Visit
from assistant.wiring.access import keys_of, visitor_seal
from tests.support.cli_helpers import QUESTION, Desk

VISIT = Visit("0" * 32, 4_000_000_000)
PERSON = "I want to talk to a person"


@pytest.fixture(scope="module")
def talked(library: Desk, tmp_path_factory: pytest.TempPathFactory) -> Desk:
    """A desk with two conversations in its file, one with a hand-off that nobody has taken, and one half-finished turn."""
    desk = library.copied(tmp_path_factory.mktemp("talked") / "data")
    assert desk.result(QUESTION, "--thread", "one")["outcome"] == "answered"
    nowhere = desk.having(GUARDIAN_HANDOFF_TO="http://127.0.0.1:9/hook")
    assert nowhere.result(PERSON, "--thread", "two")["outcome"] == "handed_off"
    assert desk.result(QUESTION, "--thread", "half")["outcome"] == "answered"
    with closing(sqlite3.connect(desk.folder / "threads.db")) as database, database:
        database.execute(
            "UPDATE turns SET status = 'running', result = NULL, finished_at = NULL WHERE thread_id = 'half'"
        )
    return desk


@pytest.fixture
def desk(talked: Desk, tmp_path: Path) -> Desk:
    """The same, of the test's own."""
    return talked.copied(tmp_path / "data")


def look(desk: Desk) -> dict[str, Any]:
    """Return all that the commands show of conversations."""
    told = {thread: json.loads(desk.here("threads", "show", thread, "--json").out) for thread in ("one", "two", "half")}
    hand_offs = json.loads(desk.here("hand-offs", "list", "--json").out)
    return told | {"list": json.loads(desk.here("threads", "list", "--json").out), "hand-offs": hand_offs}


def test_conversations_go_to_a_server_and_back_with_all_that_belongs_to_them(
    desk: Desk, database_url: str, tmp_path: Path
) -> None:
    """The same is shown in both storages; a half-finished turn is finished in the other; a second run has nothing to do."""
    server = desk.having(GUARDIAN_DATABASE=database_url)
    before = look(desk)
    moved = desk.here("move", "--to", database_url)
    assert (moved.code, moved.out.splitlines()[0]) == (0, "Moved: 3, there before: 0, left alone: 0.")
    assert look(server) == before == look(desk)
    again = json.loads(desk.here("move", "--to", database_url, "--json").out)
    assert again == {
        "moved": [],
        "there": ["half", "one", "two"],
        "left": {},
        "keys": 0,
        "differing_keys": [],
        "same_visitors": True,
    }
    # As if it had been broken off: the transcript is written last.
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute(f"DELETE FROM guardian_{desk.folder.name}.turns WHERE thread_id = 'one'".encode())  # noqa: S608  # a name of ours
    assert json.loads(desk.here("move", "--to", database_url, "--json").out)["moved"] == ["one"]
    assert look(server) == before
    assert server.here("threads", "resume", "half").code == 0
    assert server.result("And who may do that?", "--thread", "one")["outcome"]
    back = desk.copied(tmp_path / "back").having(GUARDIAN_DATABASE=database_url)
    for file in back.folder.glob("*.db*"):
        file.unlink()
    assert back.here("move", "--to", "file").code == 0
    assert look(back.having(GUARDIAN_DATABASE="")) == look(server)


def test_what_changed_since_it_was_moved_is_moved_again(desk: Desk, database_url: str, tmp_path: Path) -> None:
    """A title, the end of a half-finished turn, a delivered hand-off: the second run brings them, and nothing is sent twice."""
    server = desk.having(GUARDIAN_DATABASE=database_url, GUARDIAN_HANDOFF_TO=str(tmp_path / "desk"))
    assert desk.here("move", "--to", database_url).code == 0
    assert desk.here("threads", "resume", "half").code == 0
    assert desk.having(GUARDIAN_HANDOFF_TO=str(tmp_path / "desk")).here("hand-offs", "send").code == 0
    with closing(sqlite3.connect(desk.folder / "threads.db")) as database, database:
        database.execute("INSERT INTO labels VALUES ('one', 'Named later', 1)")
    again = desk.here("move", "--to", database_url, "--json")
    assert (again.code, json.loads(again.out)["moved"]) == (0, ["half"])
    assert look(server) == look(desk)
    sent = sorted(path.name for path in (tmp_path / "desk").iterdir())
    assert server.here("hand-offs", "send").code == 0
    assert sorted(path.name for path in (tmp_path / "desk").iterdir()) == sent
    with psycopg.connect(database_url) as connection:
        rows = connection.execute(f"SELECT title FROM guardian_{desk.folder.name}.labels".encode()).fetchall()  # noqa: S608  # a name of ours
    assert rows == [("Named later",)]


def test_what_is_in_use_or_differs_is_left_alone_and_told(desk: Desk, database_url: str) -> None:
    """A conversation that has other turns there stays as it is in both places, and the command ends with 1."""
    server = desk.having(GUARDIAN_DATABASE=database_url)
    server.result("How bright is a reading lamp?", "--thread", "one")
    there = json.loads(server.here("threads", "show", "one", "--json").out)
    claims = FileClaims(desk.folder / "locks")
    claim = asyncio.run(claims.take("half"))
    assert claim is not None
    moved = desk.here("move", "--to", database_url)
    asyncio.run(claims.release(claim))
    assert moved.code == 1
    assert "one: the other storage has other turns of it" in moved.out
    assert "half: a turn is running in it" in moved.out
    assert json.loads(server.here("threads", "show", "one", "--json").out) == there
    assert "two" in server.here("threads", "list").out


@pytest.mark.parametrize(
    ("to", "told"),
    [
        ("file", "are there already"),
        ("mysql://x", "--to is not the address"),
        ("postgresql://127.0.0.1:1/x", "cannot be reached"),
    ],
)
def test_a_storage_that_cannot_be_is_refused(desk: Desk, to: str, told: str) -> None:
    """The way out is said, and nothing is written."""
    refused = desk.here("move", "--to", to)
    assert refused.code != 0
    assert told in refused.err
    assert "→" in refused.err


@pytest.mark.parametrize("kept_in", ["file", "server"])
@pytest.mark.parametrize("restored_to", ["file", "server"])
def test_a_backup_brings_everything_back_into_either_storage(
    desk: Desk, database_url: str, tmp_path: Path, kept_in: str, restored_to: str
) -> None:
    """Conversations, hand-offs, keys, visitors and cases, from the file or a server, after all of it is gone."""
    key = desk.here("keys", "add", "anna").out.splitlines()[0]
    cookie = visitor_seal(deployment(environment=desk.environment)).sign(VISIT)
    (desk.folder / "review_cases.jsonl").write_text('{"case": 1}\n', "utf-8")
    before = look(desk)
    if kept_in == "server":
        assert desk.here("move", "--to", database_url).code == 0
        desk = desk.having(GUARDIAN_DATABASE=database_url)
    folder = tmp_path / "backups" / "monday"
    done = desk.here("backup", str(folder))
    assert (done.code, done.out.splitlines()[0]) == (0, "Moved: 3, there before: 0, left alone: 0.")
    assert "keep it as safe" in done.out
    assert {path.stat().st_mode & 0o077 for path in (folder, *folder.rglob("*"))} == {0}
    desk.here("backup", str(folder)).complains(2, "already")
    if kept_in == "server":
        with psycopg.connect(database_url, autocommit=True) as connection:
            connection.execute(f"DROP SCHEMA guardian_{desk.folder.name}, guardian CASCADE".encode())
    (desk.folder / "review_cases.jsonl").unlink()
    empty = desk.having(GUARDIAN_DATABASE=database_url if restored_to == "server" else "")
    for path in (*desk.folder.glob("*.db*"), *desk.data.glob("*.key"), *desk.data.glob("api_keys.json")):
        path.unlink()
    if restored_to == "file":
        (desk.data / "api_keys.moved.json").unlink(missing_ok=True)
    restored = empty.here("restore", str(folder), "--json")
    assert restored.code == 0, restored
    assert json.loads(restored.out)["moved"] == ["half", "one", "two"]
    assert look(empty) == before
    deployed = deployment(environment=empty.environment)
    assert keys_of(deployed).caller(key) is not None
    assert visitor_seal(deployed).read(cookie, 0) == VISIT
    assert (desk.folder / "review_cases.jsonl").read_text("utf-8") == '{"case": 1}\n'
    assert empty.here("threads", "resume", "half").code == 0


def test_a_backup_that_was_broken_off_is_not_restored_unnoticed(desk: Desk, tmp_path: Path) -> None:
    """Nor gone on with, as what was deleted since would stay in it; what it has may be restored by whoever says so."""
    folder = tmp_path / "backup"
    assert desk.here("backup", str(folder)).code == 0
    manifest = folder / "backup.json"
    manifest.write_text(manifest.read_text("utf-8").replace("true", "false"), "utf-8")
    other = desk.copied(tmp_path / "other")
    for path in other.folder.glob("*.db*"):
        path.unlink()
    other.here("restore", str(folder)).complains(2, "incomplete")
    desk.here("backup", str(folder)).complains(2, "an incomplete backup", "Delete it")
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert json.loads(other.here("restore", str(folder), "--incomplete", "--json").out)["moved"] == [
        "half",
        "one",
        "two",
    ]
    assert look(other) == look(desk)
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before
    assert not [*other.data.glob(".restore-*")]


def test_a_backup_brings_no_key_to_where_keys_are_in_use(desk: Desk, tmp_path: Path) -> None:
    """A key that was removed since the backup stays removed there; in an empty storage it is back, as the handbook says."""
    key = desk.here("keys", "add", "anna").out.splitlines()[0]
    assert desk.here("backup", str(tmp_path / "backup")).code == 0
    assert desk.here("keys", "remove", "anna").code == 0
    assert "none were restored" in desk.here("restore", str(tmp_path / "backup")).out
    assert keys_of(deployment(environment=desk.environment)).caller(key) is None


def test_hand_offs_are_backed_up_without_a_conversation(desk: Desk, tmp_path: Path) -> None:
    """As they are kept where LangGraph's own server holds the conversations."""
    for path in desk.folder.glob("threads.db*"):
        path.unlink()
    waiting = json.loads(desk.here("hand-offs", "list", "--json").out)
    assert waiting
    assert desk.here("backup", str(tmp_path / "backup")).code == 0
    for path in desk.folder.glob("*.db*"):
        path.unlink()
    assert desk.here("restore", str(tmp_path / "backup")).code == 0
    assert json.loads(desk.here("hand-offs", "list", "--json").out) == waiting


def test_a_backup_is_not_made_of_keys_that_have_gone_to_a_database(
    desk: Desk, database_url: str, tmp_path: Path
) -> None:
    """Whoever forgets the variable would keep an old state, and no keys."""
    desk.here("keys", "add", "anna")
    assert desk.here("move", "--to", database_url).code == 0
    desk.here("backup", str(tmp_path / "backup")).complains(2, "GUARDIAN_DATABASE is not set")


def test_what_is_no_place_for_a_backup_and_no_backup_is_refused(desk: Desk, tmp_path: Path) -> None:
    """A folder with something else, a file, a backup of another profile, a damaged manifest, nothing to keep."""
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "a.txt").write_text("mine", "utf-8")
    desk.here("backup", str(tmp_path / "full")).complains(2, "not an empty folder")
    desk.here("backup", str(tmp_path / "full" / "a.txt")).complains(2, "not an empty folder")
    desk.here("restore", str(tmp_path / "full")).complains(2, "no backup")
    desk.here("restore", str(tmp_path / "nowhere")).complains(2, "no backup")
    assert desk.here("backup", str(tmp_path / "good")).code == 0
    manifest = tmp_path / "good" / "backup.json"
    manifest.write_text(manifest.read_text("utf-8").replace(desk.folder.name, "other"), "utf-8")
    desk.here("restore", str(tmp_path / "good")).complains(2, "'other'")
    manifest.write_text("{", "utf-8")
    desk.here("restore", str(tmp_path / "good")).complains(2, "cannot be read")
    bare = Desk(tmp_path / "bare", tmp_path, desk.profile)
    bare.here("backup", str(tmp_path / "none")).complains(2, "no conversations")
    assert not (tmp_path / "none").exists()


def test_the_command_says_of_each_schema_what_it_did(desk: Desk, database_url: str) -> None:
    """Made, brought forward, nothing to do; and without a server, that there is nothing to prepare."""
    server, name = desk.having(GUARDIAN_DATABASE=database_url), f"guardian_{desk.folder.name}"
    assert server.here("migrate").out == f"{name}: made, in version 3\nguardian: made, in version 2\n"
    assert server.here("migrate").out == f"{name}: version 3, nothing to do\nguardian: version 2, nothing to do\n"
    assert server.here("ask", QUESTION, "--quiet").code == 0
    desk.here("migrate").complains(2, "GUARDIAN_DATABASE")
