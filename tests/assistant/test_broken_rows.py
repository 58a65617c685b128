"""Rows that another program wrote, or a damaged disk: what cannot be read is said so, and hides nothing else."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from httpx import ASGITransport, AsyncClient

from assistant.deployment import deployment
from assistant.web.app import create_app
from tests.support.cli_helpers import ANSWER, QUESTION, Desk

PERSON = "Connect me to a person, please"
DEEP = "[" * 100_000


@pytest.fixture(scope="module")
def talks(tmp_path_factory: pytest.TempPathFactory) -> Desk:
    """A desk with two conversations of two turns each, whose tickets nobody took."""
    place = tmp_path_factory.mktemp("talks")
    desk = Desk(place / "data", place).having(GUARDIAN_HANDOFF_TO="http://127.0.0.1:9/", GUARDIAN_HANDOFF_TIMEOUT="0.2")
    desk.index()
    for thread in ("sound", "broken"):
        desk.here("ask", QUESTION, "--thread", thread, "--id", "first", "--quiet")
        desk.here("ask", PERSON, "--thread", thread, "--id", "second", "--quiet")
    return desk


def damaged(talks: Desk, data: Path, statement: str, file: str = "threads.db") -> Desk:
    """Return a copy of a desk with a row that another program changed."""
    desk = talks.copied(data)
    with closing(sqlite3.connect(desk.folder / file)) as database:
        database.execute("PRAGMA ignore_check_constraints = ON")
        database.execute(statement)
        database.commit()
    return desk


def turn(change: str) -> str:
    return f"UPDATE turns SET {change} WHERE thread_id = 'broken' AND turn_id = 'first'"  # noqa: S608  # of this module


RESULTS = ["'{'", "'5'", "'[]'", "'{\"outcome\": 7}'", f"'{DEEP}'", "x'ff00'", "CAST(x'ff' AS TEXT)"]
WORDS = [
    'result = \'{"outcome": "answered", "final_articles": 5}\'',
    "question = x'ff'",
    "question = CAST(x'ff' AS TEXT)",
    "started_at = x'ff'",
    "context = '{'",
    "finished_at = 5",
]


@pytest.mark.parametrize("result", RESULTS, ids=lambda text: text[:12])
def test_a_result_that_cannot_be_read_is_a_lost_answer(talks: Desk, tmp_path: Path, result: str) -> None:
    """The conversation is listed and shown with its other turn, and goes on; the message's own id leads to the same words."""
    desk = damaged(talks, tmp_path / "data", turn(f"result = {result}"))
    assert {line["thread_id"] for line in desk.here("threads", "list", "--json").json} == {"sound", "broken"}
    said = desk.here("threads", "show", "broken").out
    assert "cannot be read" in said
    assert "Ask it again." in said
    assert f"> {PERSON}" in said
    assert "cannot be read" in desk.here("ask", QUESTION, "--thread", "broken", "--id", "first", "--quiet").out
    assert ANSWER in desk.here("ask", QUESTION, "--thread", "broken", "--quiet").out


@pytest.mark.parametrize("change", WORDS)
async def test_words_that_cannot_be_read_hide_no_other_row(talks: Desk, tmp_path: Path, change: str) -> None:
    """Lists and conversations are shown over HTTP with what there is of them."""
    desk = damaged(talks, tmp_path / "data", turn(change))
    app = create_app(deployment(environment=desk.environment))
    async with (
        app.router.lifespan_context(app),
        AsyncClient(transport=ASGITransport(app), base_url="http://127.0.0.1") as client,
    ):
        listed = await client.get("/v1/threads")
        assert {line["thread_id"] for line in listed.json()["threads"]} == {"sound", "broken"}
        shown = await client.get("/v1/threads/broken")
        assert [entry["turn_id"] for entry in shown.json()["turns"]] == ["first", "second"]
        assert (await client.delete("/v1/threads/broken")).status_code == 204


async def test_feedback_that_cannot_be_read_was_not_given(talks: Desk, tmp_path: Path) -> None:
    """What was said of the other turn stays."""
    desk = talks.copied(tmp_path / "data")
    app = create_app(deployment(environment=desk.environment))
    async with (
        app.router.lifespan_context(app),
        AsyncClient(transport=ASGITransport(app), base_url="http://127.0.0.1") as client,
    ):
        for name in ("first", "second"):
            await client.put(f"/v1/threads/broken/turns/{name}/feedback", json={"rating": "up"})
        with closing(sqlite3.connect(desk.folder / "threads.db")) as database:
            database.execute("PRAGMA ignore_check_constraints = ON")
            database.execute("UPDATE feedback SET rating = 'sideways' WHERE turn_id = 'first'")
            database.commit()
        entries = (await client.get("/v1/threads/broken")).json()["turns"]
    assert [entry["feedback"] for entry in entries] == [None, {"rating": "up", "comment": ""}]


@pytest.mark.parametrize(
    "change",
    [
        *("type = 'weird'", "type = NULL", "type = 'pickle'"),
        *("checkpoint = x'ff'", "checkpoint = x'05'", "checkpoint = x'80'"),
        *("metadata = '{'", "metadata = '[]'", "metadata = '{}'", "metadata = NULL"),
    ],
)
def test_a_state_that_cannot_be_read_ends_in_a_sentence(talks: Desk, tmp_path: Path, change: str) -> None:
    """Its conversation is not gone on with as if nothing had been said; it is read, and can be deleted."""
    statement = f"UPDATE checkpoints SET {change} WHERE thread_id = 'broken'"  # noqa: S608  # of this module
    desk = damaged(talks, tmp_path / "data", statement)
    desk.here("ask", QUESTION, "--thread", "broken", "--quiet").complains(
        1, "cannot be read", "guardian threads delete"
    )
    assert ANSWER in desk.here("threads", "show", "broken").out
    assert ANSWER in desk.here("ask", QUESTION, "--thread", "sound", "--quiet").out
    assert desk.here("threads", "delete", "broken").code == 0
    assert [line["thread_id"] for line in desk.here("threads", "list", "--json").json] == ["sound"]


async def test_a_state_that_cannot_be_read_is_503_over_http(talks: Desk, tmp_path: Path) -> None:
    """And no traceback: what is wrong stands in the log."""
    desk = damaged(talks, tmp_path / "data", "UPDATE checkpoints SET type = 'weird' WHERE thread_id = 'broken'")
    app = create_app(deployment(environment=desk.environment))
    async with (
        app.router.lifespan_context(app),
        AsyncClient(transport=ASGITransport(app), base_url="http://127.0.0.1") as client,
    ):
        answer = await client.post("/v1/ask", json={"question": QUESTION, "thread_id": "broken", "stream": False})
    assert answer.status_code == 503
    assert answer.json()["error"]["way_out"]


@pytest.mark.parametrize(
    "change",
    ["ticket = '{'", "ticket = '{\"a\": 1}'", "ticket = x'ff'", "refused = 'many', tries = 'x', kept_at = x'ff'"],
)
def test_a_ticket_that_cannot_be_read_holds_up_no_other(talks: Desk, tmp_path: Path, change: str) -> None:
    """The sound one is delivered; the other one stays listed, with what to do."""
    statement = f"UPDATE hand_offs SET {change} WHERE thread_id = 'broken'"  # noqa: S608  # of this module
    desk = damaged(talks, tmp_path / "data", statement, "hand_offs.db").having(GUARDIAN_HANDOFF_TO=str(tmp_path / "in"))
    desk.here("hand-offs", "send")
    found = {line["thread_id"]: line for line in desk.here("hand-offs", "list", "--json").json}
    assert found["sound"]["state"] == "delivered"
    if change.startswith("ticket"):
        assert found["broken"]["state"] == "kept"
        assert "guardian threads show" in found["broken"]["why"]
