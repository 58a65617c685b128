from __future__ import annotations

import json
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from adapters.storage.database import Database
from assistant.turns.feedback import Feedback, FeedbackStore, Rating
from assistant.turns.histories import Histories
from assistant.turns.reviews import Reviews
from assistant.turns.shared_links import SharedConversation, SharedLinks
from assistant.turns.spending import Spending
from assistant.turns.transcript import TurnStore
from contracts.errors import ThreadBusy
from tests.support.storage import Storage, open_storage

NOW = datetime(2026, 11, 27, 12, tzinfo=UTC)
ANSWER: dict[str, Any] = {
    "outcome": "answered",
    "language": "ru",
    "answer_text": "Остановите службу: `shelfctl stop` 100 % [1].",
    "guardian": {"verdict": "PASS", "reasons": []},
    "turn_id": "one",
    "question": "Как?",
}


async def talk(store: TurnStore) -> None:
    """Two conversations of anna, one of boris; the last turn of the second is not finished."""
    for number, (thread, turn) in enumerate(
        (("anna/а%_", "one"), ("anna/b", "one"), ("boris/b", "one"), ("anna/b", "two"))
    ):
        store.now = lambda number=number: NOW + timedelta(minutes=number)
        await store.begin(thread, turn, f"Вопрос {number}? :name %s", {"language": "ru"})
        if turn == "one":
            await store.finish(thread, turn, ANSWER | ({"outcome": "nothing"} if thread == "boris/b" else {}))


async def look_up(database: Database) -> dict[str, Any]:
    """Return what the tables say of conversations, asked in every way there is."""
    store = await TurnStore.within(database)
    feedback, reviews = await FeedbackStore.within(database), await Reviews.within(database)
    links, histories = await SharedLinks.within(database), await Histories.within(database)
    spending = await Spending.within(database)
    await talk(store)
    said: dict[str, Any] = {
        "labels": [await store.label("anna/b", title="Имя"), await store.label("anna/b", pinned=True)],
        "no such": await store.label("nobody", title="x"),
        "rated": await feedback.put("anna/b", "one", Feedback(rating=Rating.DOWN, comment="нет\0")),
    }
    await feedback.put("anna/b", "one", Feedback(rating=Rating.UP))
    await feedback.put("nobody", "one", Feedback(rating=Rating.UP))
    await reviews.put("anna/b", "one", "olga", note="Смотрела")
    await reviews.put("anna/b", "one", "olga", handled=True)
    await reviews.add_look("olga", "anna/b")
    await histories.begin("anna/b", "k1")
    await histories.begin("anna/b", "k2")
    shared = SharedConversation("anna/b", 1, "user", int(NOW.timestamp()) + 60, NOW.isoformat())
    link = await links.add(shared, NOW.timestamp())
    for _ in range(2):
        await spending.add("2026-11-27", "anna", 0.25, "USD")
    await spending.add("2026-11-28", "anna", 0.5, "USD")
    page = await reviews.page("", "", most=10, offset=0)
    return said | {
        "threads": [asdict(thread) for thread in await store.list_threads("anna/")],
        "percent": [thread.thread_id for thread in await store.list_threads("anna/а%_")],
        "questions": sorted(await store.questions("boris/")),
        "unused": await store.unused_since((NOW + timedelta(minutes=2)).isoformat(timespec="milliseconds")),
        "endings": await store.endings(),
        "turns": [asdict(turn) for turn in await store.turns("anna/b")],
        "found": asdict(await store.find("anna/а%_", "one") or await store.begin("x", "y", "z", None)),
        "unfinished": [
            turn and turn.turn_id for turn in (await store.unfinished("anna/b"), await store.unfinished("x"))
        ],
        "feedback": [await feedback.of("anna/b"), await feedback.ratings()],
        "reviews": [await reviews.of("anna/b"), [look[1:] for look in await reviews.looks(5)]],
        "page": [(*row[:5], json.loads(row[5]) if row[5] else None, *row[6:]) for row in page],
        "later": [row[0] for row in await reviews.page("2026-11-27T12:01", "2026-11-27T12:03", most=10, offset=1)],
        "histories": [
            await histories.advance("k1", "k3"),
            await histories.advance("k1", "k4"),
            await histories.find("k3"),
        ],
        "links": [await links.find(link, NOW.timestamp()), await links.find(link, NOW.timestamp() + 61)],
        "spent": [await spending.spent(day, "anna", "USD") for day in ("2026-11-27", "2026-11-28")],
        "everywhere": await store.ids_in_all_tables("anna/"),
        "forgotten": [await table.forget("anna/b") for table in (store, feedback, reviews, links, histories)],
        "left": [thread.thread_id for thread in await store.list_threads()],
    }


async def test_both_engines_say_the_same_of_the_same_conversations(data: Path, postgres_server: str) -> None:
    """Whatever the tables are asked, a server's answer is equal to a file's, whose rules have tests of their own."""
    async with open_storage(data) as file, open_storage(data, postgres_server) as server:
        assert await look_up(server.database) == (expected := await look_up(file.database))
    assert expected["spent"] == [0.0, 0.5]
    assert expected["left"] == ["boris/b", "anna/а%_"]


async def test_a_conversation_has_one_running_turn(storage: Storage) -> None:
    """A second turn, new or opened again, is refused as long as one runs."""
    await storage.store.begin("t", "one", "?", None)
    with pytest.raises(ThreadBusy):
        await storage.store.begin("t", "two", "?", None)
    await storage.store.finish("t", "one", ANSWER)
    await storage.store.begin("t", "two", "?", None)
    with pytest.raises(ThreadBusy):
        await storage.store.reopen("t", "one")
    assert [turn.number for turn in await storage.store.turns("t")] == [1, 2]


async def test_a_damaged_result_hides_no_other_turn(storage: Storage) -> None:
    """What is no JSON, or has a zero byte, is one turn's trouble, in lists and on the page of reviews, too."""
    await talk(storage.store)
    await storage.database.rows(
        "UPDATE turns SET result = :zero WHERE thread_id = :thread",
        zero='{"outcome":"answered","a":"\\u0000"}',
        thread="anna/а%_",
    )
    await storage.database.rows("UPDATE turns SET result = :junk WHERE thread_id = :thread", junk="{", thread="boris/b")
    reviews = await Reviews.within(storage.database)
    await FeedbackStore.within(storage.database)
    endings = await storage.store.endings()
    assert (endings["boris/b"], endings["anna/а%_"]) == (("one", None), ("one", "answered"))
    assert [row[5] is None for row in await reviews.page("", "", most=9, offset=0)] == [True, True, False, False]
