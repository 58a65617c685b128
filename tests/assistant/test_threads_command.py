from __future__ import annotations

import asyncio
import re
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from assistant.turns.feedback import Feedback, FeedbackStore, Rating
from assistant.turns.reviews import Reviews
from assistant.turns.transcript import TurnStore
from assistant.visitors import user_name
from contracts.report import number_of
from contracts.result import StructuredAgentResult
from tests.support.cli_helpers import ANSWER, QUESTION, Desk, leave_half_finished


@pytest.fixture(scope="module")
def said_before(library: Desk, tmp_path_factory: pytest.TempPathFactory) -> Desk:
    """A desk with one conversation of two turns and one of one, for copying only."""
    desk = library.copied(tmp_path_factory.mktemp("talked") / "data")
    desk.here("ask", "It does not work", "--thread", "support-17", "--id", "m1")
    desk.here("ask", "I mean restoring the catalogue from a backup", "--thread", "support-17", "--id", "m2")
    desk.here("ask", "Где лежат резервные копии?", "--thread", "поддержка")
    return desk


@pytest.fixture
def talked(said_before: Desk, tmp_path: Path) -> Desk:
    """The same, of the test's own."""
    return said_before.copied(tmp_path / "talked")


def test_conversations_are_listed_the_one_used_last_first(talked: Desk) -> None:
    """One line each: name, time, number of turns, first question."""
    said = talked.run("threads", "list")
    assert (said.code, said.err) == (0, "")
    lines = [re.split(r"  +", line) for line in said.out.splitlines()]
    assert [(line[0], line[2], line[3]) for line in lines] == [
        ("поддержка", "1", "Где лежат резервные копии?"),
        ("support-17", "2", "It does not work"),
    ]
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", line[1]) for line in lines)


def test_the_list_as_json_has_the_same(talked: Desk) -> None:
    """Every field of a summary."""
    listed = talked.here("threads", "list", "--json").json
    assert [(entry["thread_id"], entry["turns"], entry["unfinished"]) for entry in listed] == [
        ("поддержка", 1, False),
        ("support-17", 2, False),
    ]
    assert set(listed[0]) == {
        *("thread_id", "turns", "started_at", "last_at", "first_question", "unfinished", "outcome", "rating"),
        *("title", "pinned", "words_withheld"),
    }


async def test_list_and_show_say_how_turns_ended_and_were_rated(talked: Desk) -> None:
    """The list says it of the last turn of each conversation, `show` of every turn, with the comment."""
    async with await FeedbackStore.open(talked.folder / "threads.db") as feedback:
        await feedback.put("support-17", "m1", Feedback(rating=Rating.DOWN, comment="That\nwas obvious."))
        await feedback.put("support-17", "m2", Feedback(rating=Rating.UP))
    listed = await asyncio.to_thread(lambda: talked.here("threads", "list", "--json").json)
    assert [(entry["outcome"], entry["rating"]) for entry in listed] == [("answered", None), ("answered", "up")]
    said = (await asyncio.to_thread(talked.here, "threads", "list")).out
    assert said.splitlines()[1].endswith("It does not work  answered  rated good")
    shown = (await asyncio.to_thread(talked.here, "threads", "show", "support-17")).out
    assert re.search(r"^── 1 · .* · asked back · rated bad\ncomment: That was obvious\.$", shown, re.MULTILINE)
    turns = await asyncio.to_thread(lambda: talked.here("threads", "show", "support-17", "--json").json)
    assert [turn["feedback"]["rating"] for turn in turns] == ["down", "up"]


def test_without_conversations_the_list_says_so_and_makes_nothing(empty: Desk) -> None:
    """A look at a data directory that is not there does not make one."""
    assert empty.here("threads", "list").out == "There are no conversations yet.\n"
    assert empty.having(LC_ALL="ru_RU.UTF-8").here("threads", "list").out == "Диалогов пока нет.\n"
    assert empty.here("threads", "list", "--json").json == []
    assert not empty.data.exists()


def test_a_conversation_is_shown_one_entry_a_turn(talked: Desk) -> None:
    """Number, time and ending, the question, and what the user saw."""
    said = talked.run("threads", "show", "support-17")
    assert (said.code, said.err) == (0, "")
    heads = re.findall(r"^── (\d) · (\S+) · (.+)$", said.out, re.MULTILINE)
    assert [(number, ending) for number, _, ending in heads] == [("1", "asked back"), ("2", "answered")]
    assert "> It does not work\n" in said.out
    assert "What exactly does not work" in said.out
    assert said.out.index("What exactly") < said.out.index(ANSWER)


def test_a_russian_conversation_is_shown_in_russian(talked: Desk) -> None:
    """The frame is in the language of each question."""
    assert "· дан ответ\n" in talked.here("threads", "show", "поддержка").out


def test_the_transcript_as_json_has_the_whole_results(talked: Desk) -> None:
    """Each turn with ids, both times, its settings, and a result that validates."""
    turns = talked.here("threads", "show", "support-17", "--json").json
    assert [(turn["turn_id"], turn["number"], turn["status"], turn["outcome"]) for turn in turns] == [
        ("m1", 1, "done", "clarification"),
        ("m2", 2, "done", "answered"),
    ]
    for turn in turns:
        result = StructuredAgentResult.model_validate(turn["result"])
        assert (result.thread_id, result.turn_id) == ("support-17", turn["turn_id"])
        assert result.answer_text == turn["answer"]
        assert turn["context"]["role"] == "user"
        assert turn["started_at"] <= turn["finished_at"]


def test_what_the_operator_alone_may_see_is_not_in_the_transcript_that_is_read(talked: Desk) -> None:
    """The transcript shows what the user saw: no score, no plan, no analysis."""
    shown = talked.here("threads", "show", "support-17").out
    for word in ("spam", "confidence", "DT-00", "subqueries", "Validity"):
        assert word not in shown


def test_a_half_finished_turn_is_marked_and_resumed(talked: Desk) -> None:
    """A process died after its question was recorded: list, show and doctor say so, and resume answers it."""
    asyncio.run(leave_half_finished(talked, "support-17", "m3", QUESTION))
    assert "half-finished; `guardian threads resume support-17`" in talked.here("threads", "list").out
    assert talked.here("threads", "list", "--json").json[0]["unfinished"] is True
    assert "── 3 · " in talked.here("threads", "show", "support-17").out
    assert "guardian threads resume support-17" in talked.here("doctor").out
    said = talked.run("threads", "resume", "support-17")
    assert said.code == 0
    assert ANSWER in said.out
    assert "DT-005/pass" in said.err
    turns = talked.here("threads", "show", "support-17", "--json").json
    assert [turn["outcome"] for turn in turns] == ["clarification", "answered", "answered"]
    assert talked.here("threads", "list", "--json").json[0]["unfinished"] is False


def test_resuming_as_json_prints_the_result(talked: Desk) -> None:
    """The same result that the transcript then has."""
    asyncio.run(leave_half_finished(talked, "support-17", "m3", QUESTION))
    result = talked.here("threads", "resume", "support-17", "--json").json
    assert StructuredAgentResult.model_validate(result).turn_id == "m3"
    assert talked.here("threads", "show", "support-17", "--json").json[-1]["result"] == result


def test_a_new_message_finishes_the_half_finished_turn_first(talked: Desk) -> None:
    """Neither question is lost, and they are answered in their order."""
    asyncio.run(leave_half_finished(talked, "support-17", "m3", QUESTION))
    assert talked.here("ask", "Hello!", "--thread", "support-17", "--id", "m4").out.startswith("Hello!")
    turns = talked.here("threads", "show", "support-17", "--json").json
    assert [turn["turn_id"] for turn in turns] == ["m1", "m2", "m3", "m4"]
    assert ANSWER in turns[2]["answer"]


def test_resuming_a_finished_conversation_says_that_there_is_nothing(talked: Desk) -> None:
    """Exit code 0, `null` as JSON, and nothing changes."""
    before = talked.here("threads", "show", "support-17", "--json").out
    said = talked.here("threads", "resume", "support-17")
    assert (said.code, said.out) == (0, "Conversation support-17 has no half-finished turn.\n")
    assert talked.here("threads", "resume", "support-17", "--json").json is None
    assert talked.here("threads", "show", "support-17", "--json").out == before


def test_a_deleted_conversation_is_gone_with_its_checkpoints(talked: Desk) -> None:
    """Transcript and state: what is asked under its name afterwards begins anew; the others stay."""
    said = talked.run("threads", "delete", "support-17")
    assert (said.code, said.out, said.err) == (0, "Conversation support-17 is deleted.\n", "")
    talked.here("threads", "show", "support-17").complains(1, "support-17")
    assert [entry["thread_id"] for entry in talked.here("threads", "list", "--json").json] == ["поддержка"]
    assert rows_of(talked, "support-17") == {"checkpoints": 0, "writes": 0, "turns": 0}
    assert rows_of(talked, "поддержка") == {"checkpoints": 1, "writes": 0, "turns": 1}
    assert talked.here("threads", "delete", "поддержка", "--json").json == {"deleted": "поддержка"}


def rows_of(desk: Desk, thread: str) -> dict[str, int]:
    """Return how many rows each table has of a conversation."""
    with closing(sqlite3.connect(desk.folder / "threads.db")) as database:
        return {
            table: database.execute(f"SELECT count(*) FROM {table} WHERE thread_id = ?", (thread,)).fetchone()[0]  # noqa: S608
            for table in ("checkpoints", "writes", "turns")
        }


def test_a_conversation_can_be_deleted_without_an_index(talked: Desk) -> None:
    """Who has no documents any more still has the right to delete what was said; reading it needs none, either."""
    shutil.rmtree(talked.folder / "knowledge")
    assert ANSWER in talked.here("threads", "show", "support-17").out
    assert talked.here("threads", "delete", "support-17").code == 0
    assert talked.here("threads", "delete", "поддержка").code == 0
    assert talked.here("threads", "list", "--json").json == []


VISITORS = f"v_{'7' * 32}/mine"
USERS = f"{user_name('anna@shop.example')}/mine"


@pytest.mark.parametrize("thread", [VISITORS, USERS])
@pytest.mark.parametrize("locale", ["en_US.UTF-8", "ru_RU.UTF-8"])
def test_a_visitors_half_finished_turn_is_resumed_by_the_id_that_it_is_stored_under(
    thread: str, locale: str, talked: Desk
) -> None:
    """Whoever has the data folder may finish any turn, and its words stay the visitor's: `guardian review` shows them."""
    asyncio.run(leave_half_finished(talked, thread, "m1", QUESTION))
    desk = talked.having(LC_ALL=locale)
    said = desk.here("threads", "resume", thread)
    assert f"`guardian review show {thread}`" in said.out
    for words in (ANSWER, QUESTION):
        assert words not in said.out + said.err
    assert f"resume {thread}" not in desk.here("threads", "list").out
    [again] = [line for line in desk.here("review", "--json").json if line["thread"] == thread]
    assert again["outcome"] == "answered"


@pytest.mark.parametrize("thread", [VISITORS, USERS])
def test_words_of_visitors_and_users_are_shown_by_review_alone(thread: str, talked: Desk) -> None:
    """Neither the list nor the transcript has a word of them; the transcript names the command that records who looked."""
    secret = "My password is hunter2xy9"  # noqa: S105  # made up
    asyncio.run(leave_half_finished(talked, thread, "m1", secret))
    done = talked.here("threads", "resume", thread, "--json").json
    assert set(done) == {"thread_id", "turn_id", "outcome"}
    assert (done["thread_id"], done["turn_id"]) == (thread, "m1")

    async def label() -> None:
        async with await TurnStore.open(talked.folder / "threads.db") as store:
            await store.label(thread, title=secret)

    asyncio.run(label())
    listed = talked.here("threads", "list")
    assert "hunter2xy9" not in listed.out
    assert f"{thread}  " in listed.out
    [entry] = [line for line in talked.here("threads", "list", "--json").json if line["words_withheld"]]
    assert (entry["thread_id"], entry["first_question"], entry["title"], entry["turns"]) == (thread, "", "", 1)
    # The number of a hand-off names its turn.
    for wanted, turn in ((thread, ""), (number_of(thread, "m1"), " 1")):
        for options in ([], ["--json"]):
            said = talked.here("threads", "show", wanted, *options)
            said.complains(2, thread, f"`guardian review show {thread}{turn}`")
            assert "hunter2xy9" not in said.out + said.err
    shown = talked.here("review", "show", thread).out
    assert "hunter2xy9" not in shown
    assert "My password is" in shown
    assert talked.here("review", "looks", "--json").json[0]["what"] == f"open {thread} m1"
    assert talked.here("threads", "delete", thread).code == 0


@pytest.mark.parametrize("action", ["show", "resume", "delete"])
def test_an_unknown_conversation_is_told(action: str, talked: Desk, empty: Desk) -> None:
    """Exit code 1 and how to see those there are, with JSON, too; also where nothing was ever said."""
    for desk in (talked, empty):
        for options in ([], ["--json"]):
            desk.here("threads", action, "support-18", *options).complains(1, "'support-18'", "guardian threads list")
    assert len(talked.here("threads", "list", "--json").json) == 2


async def test_what_is_said_of_a_turn_is_kept_only_while_there_is_the_turn(talked: Desk) -> None:
    """A rating or a note that comes while its conversation is deleted leaves nothing of it behind."""
    async with await TurnStore.open(talked.folder / "threads.db") as store:
        feedback, reviews = await FeedbackStore.share(store), await Reviews.share(store)
        for thread, kept in (("support-17", 1), ("gone", 0)):
            await feedback.put(thread, "m1", Feedback(rating=Rating.DOWN, comment="No."))
            await reviews.put(thread, "m1", "olga", note="Look at it.")
            assert (len(await feedback.of(thread)), len(await reviews.of(thread))) == (kept, kept)
