from __future__ import annotations

import json
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from adapters.storage.database import Database, Fenced
from adapters.storage.sqlite import SqliteDatabase
from assistant.turns.feedback import Feedback, FeedbackStore, Rating
from assistant.turns.histories import Histories
from assistant.turns.reviews import Reviews
from assistant.turns.runner import TurnRunner
from assistant.turns.shared_links import SharedConversation, SharedLinks
from assistant.turns.spending import Spending
from assistant.turns.transcript import LOST, TurnStore
from contracts.errors import ThreadBusy, ThreadError
from tests.support.kill_helpers_graph import Settings, quick_graph
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


async def test_what_no_list_reads_of_a_result_is_stored_compressed_and_read_back(storage: Storage) -> None:
    """Evidence, plan and decisions, with any sign in them; a list finds the rest in SQL."""
    whole = ANSWER | {"final_articles": [{"text": "слово \0 \ud800 " * 500}], "plan": {"a": 1}, "decisions": []}
    await storage.store.begin("t", "one", "?", None)
    assert await storage.store.finish("t", "one", whole) == whole
    [turn] = await storage.store.turns("t")
    assert turn.result == whole
    [(text, details)] = await storage.database.rows("SELECT result, details FROM turns")
    assert json.loads(text) == ANSWER
    assert len(details) < 400
    await FeedbackStore.within(storage.database)
    reviews = await Reviews.within(storage.database)
    assert json.loads((await reviews.page("", "", most=1, offset=0))[0][5])[0] == "answered"


async def test_results_of_earlier_versions_are_read_and_damaged_details_are_told(storage: Storage) -> None:
    """A result may stand whole in its column; whose details cannot be read is unreadable, and not read in part."""
    for thread in ("t", "u"):
        await storage.store.begin(thread, "one", "?", None)
        await storage.store.finish(thread, "one", ANSWER | {"plan": {"a": 1}})
    earlier = json.dumps(ANSWER | {"plan": {}})
    await storage.database.rows(
        "UPDATE turns SET result = :text, details = NULL WHERE thread_id = :thread", text=earlier, thread="t"
    )
    await storage.database.rows(
        "UPDATE turns SET details = :bytes WHERE thread_id = :thread", bytes=b"damaged", thread="u"
    )
    [whole], [damaged] = await storage.store.turns("t"), await storage.store.turns("u")
    assert whole.result == ANSWER | {"plan": {}}
    assert damaged.result is not None
    assert damaged.result["block_reason"] == LOST


async def test_the_steps_of_a_turn_go_with_its_end(storage: Storage, data: Path) -> None:
    """Of a finished conversation one step is kept, where the next turn begins; of a half-finished one, all."""
    runner = TurnRunner(quick_graph(data, storage.saver), storage.store, storage.claims, context_type=Settings)
    writes = "writes" if isinstance(storage.database, SqliteDatabase) else "checkpoint_writes"
    for number in (1, 2):
        await runner.run("t", f"hello {number}", turn_id=str(number))
        assert await storage.database.rows("SELECT count(*) FROM checkpoints") == [(1,)]
        assert await storage.database.rows(f"SELECT count(*) FROM {writes}") == [(0,)]  # noqa: S608  # a name of ours
    if isinstance(storage.database, SqliteDatabase):
        assert await storage.database.rows("SELECT type FROM checkpoints") == [("zlib:msgpack",)]
    else:
        unnamed = "SELECT count(*) FROM checkpoint_blobs AS b, checkpoints AS c WHERE c.checkpoint -> 'channel_versions' ->> b.channel <> b.version"
        assert await storage.database.rows(unnamed) == [(0,)]
        assert await storage.database.rows("SELECT count(*) > 0 FROM checkpoint_blobs") == [(True,)]
    state = await quick_graph(data, storage.saver).aget_state({"configurable": {"thread_id": "t"}})
    assert [message.text for message in state.values["messages"]] == [
        "hello 1",
        "echo: hello 1",
        "hello 2",
        "echo: hello 2",
    ]


async def test_the_conversations_of_an_owner_are_those_whose_ids_begin_so(storage: Storage) -> None:
    """Neither more nor less, whatever stands behind the beginning; only these rows are read."""
    ids = [
        "a",
        "a/",
        "a/x",
        "a/\U0010ffff",
        "a/\U0010ffffx",
        "a0",
        "a/\ud7ff",
        "a\ud7ffb",
        "a\ue000",
        "b/a/",
        "\U0010ffff",
        "я/1",
    ]
    for name in ids:
        await storage.store.begin(name, "one", "?", None)
    for beginning in ("", "a", "a/", "a/\U0010ffff", "a\ud7ff", "\U0010ffff", "я/", "nobody/"):
        wanted = sorted(name for name in ids if name.startswith(beginning))
        assert sorted(found.thread_id for found in await storage.store.list_threads(beginning)) == wanted
        assert sorted(name for name, _ in await storage.store.questions(beginning)) == wanted


@pytest.mark.parametrize(
    "fault", [ThreadError("locked", "wait"), Fenced("taken over"), NotImplementedError(), TimeoutError()]
)
async def test_steps_that_cannot_be_dropped_cost_nobody_an_answer(
    storage: Storage, data: Path, fault: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The answer is on record by then; the next turn drops what stayed."""
    runner = TurnRunner(quick_graph(data, storage.saver), storage.store, storage.claims, context_type=Settings)

    async def fail(*_: object) -> None:
        raise fault

    with monkeypatch.context() as patch:
        patch.setattr(storage.saver, "aprune", fail)
        assert (await runner.run("t", "hello", turn_id="1"))["answer_text"] == "echo: hello"
    assert [turn.status for turn in await storage.store.turns("t")] == ["done"]
    await runner.run("t", "goodbye", turn_id="2")
    assert await storage.database.rows("SELECT count(*) FROM checkpoints") == [(1,)]


async def test_a_file_of_an_earlier_version_that_may_not_be_written_is_read(data: Path) -> None:
    """It has no column for details, and none can be added."""
    file = data / "threads.db"
    async with await TurnStore.open(file) as store:
        await store.begin("t", "one", "?", None)
        await store.finish("t", "one", ANSWER | {"plan": {"a": 1}})
        await store.database.rows("UPDATE turns SET result = :text", text=json.dumps(ANSWER | {"plan": {"a": 1}}))
        await store.database.rows("ALTER TABLE turns DROP COLUMN details")
        await store.database.rows("PRAGMA journal_mode = DELETE")
    database = await SqliteDatabase.open(file)
    await database.rows("PRAGMA query_only = ON")
    async with await TurnStore.within(database) as store:
        [turn] = await store.turns("t")
        assert turn.result == ANSWER | {"plan": {"a": 1}}


async def test_a_turn_that_is_opened_again_keeps_nothing_of_its_result(storage: Storage) -> None:
    """Its new result has its own details."""
    await storage.store.begin("t", "one", "?", None)
    await storage.store.finish("t", "one", ANSWER | {"plan": {"a": 1}})
    await storage.store.reopen("t", "one")
    assert await storage.database.rows("SELECT result, details FROM turns") == [(None, None)]
