from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from assistant.turns.feedback import Feedback, FeedbackStore, Rating
from assistant.turns.reviews import Reviews
from assistant.turns.shared_links import SharedConversation, SharedLinks
from assistant.turns.transcript import TurnStore
from tests.support.cli_helpers import QUESTION, Desk, leave_half_finished

PERSON = "I want to talk to a person"
VISITORS = "v_" + "0" * 32 + "/first"


@pytest.fixture
def desk(library: Desk, tmp_path: Path) -> Desk:
    """A desk with a conversation that was named, rated, noted, shared and handed to a person, and one of a visitor."""
    desk = library.copied(tmp_path / "data").having(GUARDIAN_HANDOFF_TO="http://127.0.0.1:9/hook")
    answered = desk.result(QUESTION, "--thread", "one")["turn_id"]
    assert desk.result(PERSON, "--thread", "one")["outcome"] == "handed_off"
    assert desk.result(QUESTION, "--thread", "one-more")["outcome"] == "answered"

    async def add_what_people_did() -> None:
        async with await TurnStore.open(desk.folder / "threads.db") as store:
            await store.label("one", title="Backups", pinned=True)
            feedback, reviews = await FeedbackStore.share(store), await Reviews.share(store)
            await feedback.put("one", answered, Feedback(rating=Rating.DOWN, comment="Too short."))
            await reviews.put("one", answered, "olga", handled=True, note="Look at it.")
            begun = (await store.turns("one"))[0].started_at
            links = await SharedLinks.share(store)
            await links.add(SharedConversation("one", 1, "user", 4_000_000_000, begun), now=0.0)

    asyncio.run(add_what_people_did())
    asyncio.run(leave_half_finished(desk, VISITORS, "m1", "My mail is anna@example.com"))
    return desk


def export(desk: Desk, thread: str) -> dict[str, Any]:
    """Return what is exported of a conversation, without the time."""
    told = desk.here("export", thread)
    assert (told.code, told.err) == (0, "")
    return {name: value for name, value in told.json.items() if name != "exported_at"}


def test_a_conversation_is_exported_with_all_that_belongs_to_it_and_nothing_else(desk: Desk) -> None:
    """Turns with their results, the rating, the note, the link without its secret, the hand-off with its ticket."""
    told = export(desk, "one")
    assert (told["thread_id"], told["title"], told["pinned"]) == ("one", "Backups", True)
    shown = desk.here("threads", "show", "one", "--json").json
    rated, handed = [{key: value for key, value in turn.items() if key != "review"} for turn in told["turns"]]
    assert [rated, handed] == shown
    assert rated["feedback"]["comment"] == "Too short."
    assert told["turns"][0]["review"] == {"handled": True, "note": "Look at it.", "case_id": ""}
    [link] = told["links"]
    assert (link["turns"], link["until"]) == (1, 4_000_000_000)
    [hand_off] = told["hand_offs"]
    assert (hand_off["turn_id"], hand_off["state"]) == (handed["turn_id"], "kept")
    assert hand_off["ticket"]["question"] == PERSON


def test_both_storages_export_the_same(desk: Desk, database_url: str) -> None:
    """A conversation that was moved to PostgreSQL is exported from there as it was from the file."""
    assert desk.here("move", "--to", database_url).code == 0
    server = desk.having(GUARDIAN_DATABASE=database_url)
    for thread in ("one", VISITORS):
        assert export(server, thread) == export(desk, thread)


def test_a_conversation_of_a_visitor_is_exported_unmasked_and_the_look_is_on_record(desk: Desk) -> None:
    """It is for the visitor who asks for it; who exported it is named beside the looks of reviewers."""
    [turn] = export(desk, VISITORS)["turns"]
    assert (turn["question"], turn["status"]) == ("My mail is anna@example.com", "running")
    assert desk.here("review", "looks", "--json").json[0]["what"] == f"export {VISITORS}"


def test_what_is_only_in_a_hand_off_is_exported_and_an_unknown_conversation_is_told(
    desk: Desk, library: Desk, tmp_path: Path
) -> None:
    """Of a conversation in Studio there are only hand-offs here; looking for one that is unknown makes no file."""
    (desk.folder / "threads.db").unlink()
    told = export(desk, "one")
    assert (told["turns"], len(told["hand_offs"])) == ([], 1)
    silent = library.copied(tmp_path / "silent")
    for other in (desk, silent):
        other.here("export", "two").complains(1, "'two'", "guardian threads list")
    assert not (silent.folder / "threads.db").exists()
