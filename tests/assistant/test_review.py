"""`guardian review`: what operators see of all callers' turns, what they can do, and what is masked and recorded."""

from __future__ import annotations

import asyncio
import csv
import json
import sqlite3
import threading
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from assistant.deployment import deployment
from assistant.review.case_file import add_case
from assistant.review.export import csv_line
from assistant.review.records import TurnRecord, moment
from assistant.review.reviewed_turn import review_result
from assistant.turns.feedback import Feedback, FeedbackStore, Rating
from contracts.context import Context
from contracts.enums import DraftKind
from contracts.errors import InputError
from contracts.ports import Draft
from contracts.result import StructuredAgentResult
from evals.cases import TurnCase, read_cases
from tests.support.cli_helpers import ANSWER, QUESTION, Desk
from tests.support.whole_turns import CALM, PAGES, SAFE, run_turn

SECRET = "hunter2xy9"  # noqa: S105  # made up
CARD = "4111 1111 1111 1111"
ODD = "What colour is the cheese of the moon?"
PERSON = "Connect me to a person, please"


@pytest.fixture(scope="module")
def talks(tmp_path_factory: pytest.TempPathFactory) -> Desk:
    """A desk with two turns of one conversation and one of a key's, which its caller rated and commented."""
    place = tmp_path_factory.mktemp("review")
    desk = Desk(place / "data", place)
    desk.index()
    desk.here("ask", f"{QUESTION} My password is {SECRET}", "--thread", "t", "--id", "first", "--quiet")
    desk.here("ask", PERSON, "--thread", "t", "--id", "second", "--quiet")
    desk.here("ask", ODD, "--thread", "helpdesk/u", "--id", "first", "--quiet")

    async def rate() -> None:
        async with await FeedbackStore.open(desk.folder / "threads.db") as feedback:
            said = Feedback(rating=Rating.DOWN, comment=f"Useless. My card is {CARD}")
            await feedback.put("helpdesk/u", "first", said)

    asyncio.run(rate())
    return desk


def places(desk: Desk, *arguments: str) -> list[str]:
    return [f"{line['thread']} {line['number']}" for line in desk.here("review", *arguments, "--json").json]


@pytest.mark.parametrize(
    ("filters", "found"),
    [
        ([], ["helpdesk/u 1", "t 2", "t 1"]),
        (["--outcome", "answered"], ["t 1"]),
        (["--rating", "down"], ["helpdesk/u 1"]),
        (["--rating", "up"], []),
        (["--reason", "off_topic_or_spam"], ["helpdesk/u 1"]),
        (["--text", "CHEESE moon"], ["helpdesk/u 1"]),
        (["--text", "useless"], ["helpdesk/u 1"]),
        (["--text", SECRET], []),
        (["--since", "1h"], ["helpdesk/u 1", "t 2", "t 1"]),
        (["--since", "2999-01-01"], []),
        (["--until", "2020-01-01T10:00"], []),
        (["--handled", "yes"], []),
        (["--profile-version", "0000"], []),
        (["--limit", "1", "--offset", "1"], ["t 2"]),
    ],
)
def test_turns_of_all_callers_are_listed_newest_first_and_filtered(
    talks: Desk, filters: list[str], found: list[str]
) -> None:
    """What is masked is not found either: a search must not be a way to guess it."""
    assert places(talks, *filters) == found


def test_every_turn_says_who_asked_and_which_profile_answered(talks: Desk) -> None:
    """A version of the profile is the same for all turns until the profile changes."""
    lines = talks.here("review", "--json").json
    assert [line["caller"] for line in lines] == ["helpdesk", "", ""]
    assert {line["profile"] for line in lines} == {deployment(environment=talks.environment).profile_version}


def test_a_turn_is_shown_with_its_try_its_claims_and_their_passages(talks: Desk) -> None:
    """Searches, decisions and verdict of the try; each claim with the page, the lines and the words behind it."""
    said = talks.here("review", "show", "t", "1").out
    for words in (
        "Try 1",
        "found: 2",
        "DT-001, safe",
        "DT-005, pass",
        ANSWER,
        "corpus/en/restore.md:8-",
        "| # Restoring",
    ):
        assert words in said, words
    shown = talks.here("review", "show", "t", "--json").json
    assert (shown["record"]["turn"], shown["record"]["outcome"]) == ("second", "handed_off")


def test_nothing_masked_leaves_by_any_way_of_looking(talks: Desk, tmp_path: Path) -> None:
    """Lists, turns, exports and cases hold neither the password nor the number of the card."""
    desk = talks.copied(tmp_path / "data")
    file = tmp_path / "cases.jsonl"
    ways = (
        ["--json"],
        [],
        ["show", "t", "1"],
        ["show", "t", "1", "--json"],
        ["show", "helpdesk/u", "1"],
        ["export"],
        ["export", "--format", "jsonl"],
        ["case", "t", "2", "--file", str(file), "--ending", "handed_off", "--json"],
    )
    said = "\n".join(desk.here("review", *way).out for way in ways) + file.read_text("utf-8")
    assert SECRET not in said
    assert CARD not in said
    assert "[redacted: password-value]" in said


def test_every_look_and_every_deed_is_recorded(talks: Desk, tmp_path: Path) -> None:
    """Who, and what: with the words that were searched for, masked."""
    desk = talks.copied(tmp_path / "data")
    desk.here("review", "--text", f"password: {SECRET}")
    desk.here("review", "show", "t", "1")
    desk.here("review", "handle", "t", "1")
    looks = desk.here("review", "looks", "--limit", "3", "--json").json
    assert [look["what"] for look in looks] == [
        "handle t first",
        "open t first",
        "list text=…",
    ]
    assert all(look["who"] for look in looks)


def test_what_was_done_with_a_turn_stays_with_it_until_the_conversation_is_deleted(talks: Desk, tmp_path: Path) -> None:
    """Handled and note are shown in lists; deleting removes both, and the looks stay."""
    desk = talks.copied(tmp_path / "data")
    desk.here("review", "handle", "t", "1")
    desk.here("review", "note", "t", "1", "told\x07 the team")
    desk.here("review", "handle", "t", "2")
    desk.here("review", "handle", "t", "2", "--undo")
    assert places(desk, "--handled", "yes") == ["t 1"]
    assert "note: told the team" in desk.here("review").out
    desk.here("threads", "delete", "t")
    with closing(sqlite3.connect(desk.folder / "threads.db")) as database:
        assert database.execute("SELECT count(*) FROM reviews").fetchone() == (0,)
        assert database.execute("SELECT count(*) FROM looks WHERE what = 'note t first'").fetchone() == (1,)


def test_a_turn_saved_as_a_case_is_a_case_that_eval_runs(talks: Desk, tmp_path: Path) -> None:
    """The second question of a conversation brings the first with it; the same turn again takes its own place."""
    desk = talks.copied(tmp_path / "data")
    file = tmp_path / "cases.jsonl"
    # Without a line break at its end, as an editor may leave it.
    file.write_text('{"id": "mine", "language": "en", "says": ["Hello!"], "outcome": "answered"}', "utf-8")
    save = ("--file", str(file))
    assert desk.here("review", "case", "t", "1", *save, "--page", "en/restore.md").code == 0
    assert desk.here("review", "case", "t", "2", *save, "--ending", "handed_off").code == 0
    again = desk.here("review", "case", "t", "1", *save, "--page", "en/restore.md")
    assert "in place of the earlier case" in again.out
    _, second, first = read_cases(file, file)
    assert isinstance(first, TurnCase)
    assert isinstance(second, TurnCase)
    assert (first.pages, len(first.says), len(second.says), second.outcome) == (("en/restore.md",), 1, 2, "handed_off")
    judged = desk.here("eval", str(file), "--misses")
    assert judged.code == 0, judged.err
    assert "3 conversations" in judged.out
    assert f"- {first.id}" not in judged.out
    assert [line["case"] for line in desk.here("review", "--json").json] == ["", second.id, first.id]
    other = tmp_path / "other.jsonl"
    other.write_text(file.read_text("utf-8").replace("handed_off", "declined"), "utf-8")
    desk.here("eval", str(file), str(other)).complains(2, f"stand twice: {second.id}.", "saved twice")


def test_a_case_of_a_wrong_answer_fails_while_the_same_answer_is_given(talks: Desk, tmp_path: Path) -> None:
    """The right page is not enough: the words that were wrong are named, and so are those that would be right."""
    desk = talks.copied(tmp_path / "data")
    file = tmp_path / "cases.jsonl"
    page = ("--file", str(file), "--page", "en/restore.md")
    said = desk.here("review", "case", "t", "1", *page)
    assert "passes this case" in said.err
    wrong, right = "**shelfctl** restore --from `/srv/backup`", "shelfctl restore --from /srv/archive"
    said = desk.here("review", "case", "t", "1", *page, "--must-not-say", wrong, "--must-say", right, "--json")
    assert (said.json["must_say"], said.err) == ([right], "")
    judged = desk.here("eval", str(file), "--misses")
    assert f"wrong and stated: corpus/en/restore.md; does not say {right!r}; says {wrong!r}" in judged.out
    assert "| en | 1 | 100% (1/1;" in judged.out


def test_cases_that_are_saved_at_once_are_all_there_once(tmp_path: Path) -> None:
    """Operators save on the page while somebody saves by a command: no case is lost, and none stands twice."""
    file = tmp_path / "cases.jsonl"
    failed: list[Exception] = []

    def save(name: int) -> None:
        try:
            for number in range(10):
                add_case(file, {"id": f"{name}-{number % 5}", "says": ["a\u2028b"], "note": str(number)})
                add_case(file, {"id": "shared", "note": str(name)})
        except Exception as error:  # noqa: BLE001  # told by the thread that waits
            failed.append(error)

    threads = [threading.Thread(target=save, args=(name,)) for name in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    ids = [json.loads(line)["id"] for line in file.read_text("utf-8").split("\n") if line]
    assert sorted(ids) == sorted(["shared", *(f"{name}-{number}" for name in range(6) for number in range(5))])
    assert [path.name for path in tmp_path.iterdir()] == ["cases.jsonl"]


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["show", "nobody"], 1, "no conversation 'nobody'"),
        (["show", "t", "7"], 1, "has no turn '7'"),
        (["case", "t", "1", "--file", "x.jsonl"], 2, "what would be right"),
        (["case", "t", "1", "--file", "x.jsonl", "--page", "a.md"], 2, "no page 'a.md'"),
        (["case", "t", "1", "--file", "x.jsonl", "--page", "ru/restor.md"], 2, "nearest are: corpus/ru/restore.md"),
        (["case", "t", "1", "--file", "x.jsonl", "--page", "de/restore.md"], 2, "corpus/en/restore.md, corpus/ru/"),
        (["case", "t", "1", "--file", "x.jsonl", "--page", "999999"], 2, "no page 999999"),
        (["case", "t", "1", "--file", "x.jsonl", "--page", "a\nb"], 2, "no paths"),
        (["case", "t", "1", "--file", "x.jsonl", "--page", "a.md", "--ending", "declined"], 2, "has no right pages"),
        (["case", "t", "1", "--file", "no/such/folder/x.jsonl", "--page", "restore.md"], 2, "cannot be written"),
        (["case", "t", "1", "--file", "x.jsonl", "--must-not-say", "no"], 2, "what would be right"),
        (["case", "t", "1", "--file", "x.jsonl", "--must-say", "?!"], 2, "no word"),
        (["case", "t", "1", "--file", "x.jsonl", "--must-say", "x" * 1001], 2, "too long"),
        (["case", "t", "1", "--file", "x.jsonl", "--must-say", f"the card {CARD}"], 2, "secret"),
        (["case", "t", "1", "--file", "x.jsonl", "--must-say", "a b", "--must-not-say", "B"], 2, "not say the same"),
        (["note", "t", "1", "x" * 4001], 2, "4001 characters"),
        (["hand-over", "t", "1"], 2, "No destination"),
        (["--since", "yesterday"], 2, "no time"),
        (["--limit", "501"], 2, "--limit"),
        (["--offset", "-1"], 2, "--offset"),
    ],
)
def test_what_cannot_be_done_is_refused_with_a_way_out(
    talks: Desk, arguments: list[str], code: int, words: str
) -> None:
    """Nothing is recorded as done of what was not."""
    talks.here("review", *arguments).complains(code, words)
    assert [line["case"] for line in talks.here("review", "--json").json] == ["", "", ""]


def test_a_turn_is_handed_over_once(talks: Desk, tmp_path: Path) -> None:
    """The ticket says that an operator passed it on, and holds no secret."""
    sent = tmp_path / "sent"
    desk = talks.copied(tmp_path / "data").having(GUARDIAN_HANDOFF_TO=str(sent))
    for _ in range(3):
        assert desk.here("review", "hand-over", "t", "1").out == "The turn was handed over.\n"
    # A connection that is left open, as of a sending that the end of the command cut off, keeps the process for ever.
    for thread in threading.enumerate():
        if "connection_worker" in thread.name:
            thread.join(10)
            assert not thread.is_alive()
    [ticket] = [json.loads(file.read_text("utf-8")) for file in sent.glob("*.json")]
    assert (ticket["turn_id"], ticket["reasons"]) == ("first", ["operator_review"])
    assert "An operator looked at the turn" in ticket["text"]
    # Who gets it finds the conversation by the number that every hand-off has.
    assert desk.here("threads", "show", ticket["record"]["number"]).out.startswith("t\n")
    assert SECRET not in json.dumps(ticket)


def test_an_export_holds_every_turn_in_cells_that_no_spreadsheet_computes(talks: Desk) -> None:
    """CSV reads back with one row a turn; JSONL is the list."""
    rows = list(csv.DictReader(talks.here("review", "export").out.splitlines(keepends=True)))
    assert [row["thread"] for row in rows] == ["helpdesk/u", "t", "t"]
    lines = [json.loads(line) for line in talks.here("review", "export", "--format", "jsonl").out.splitlines()]
    assert lines == talks.here("review", "--json").json
    for evil in ("=1+1", "+1", "-1", "@x", " =1", "\t=1"):
        record = TurnRecord(thread="t", turn="1", number=1, caller="", when="", question=evil, comment=evil)
        [cells] = csv.reader([csv_line(record)])
        assert cells.count(f"'{evil}") == 2


def test_the_filters_of_the_list_are_those_of_the_export_wherever_they_stand(talks: Desk) -> None:
    """What is said before the action counts as if said behind it."""
    before = talks.here("review", "--rating", "down", "export", "--format", "jsonl").out
    assert before == talks.here("review", "export", "--format", "jsonl", "--rating", "down").out
    assert before.count("\n") == 1


def test_looking_makes_no_file(tmp_path: Path) -> None:
    """Where nobody asked anything, there is nothing to list, and nothing is begun."""
    desk = Desk(tmp_path / "data", tmp_path)
    assert desk.here("review").out == "No turn matches.\n"
    assert desk.here("review", "--json").json == []
    assert not desk.folder.exists()


@pytest.mark.parametrize(
    "change",
    [
        "result = '{'",
        "result = x'ff00'",
        "result = CAST(x'ff' AS TEXT)",
        'result = \'{"outcome": {"a": 1}, "language": 5, "answer_text": [], "guardian": {"reasons": {"a": 1}}}\'',
        f"result = '{'[' * 5000}'",
        "question = x'ff', started_at = x'ff'",
        "number = 'x'",
    ],
    ids=lambda text: text[:24],
)
def test_a_row_that_cannot_be_read_hides_no_other_turn(talks: Desk, tmp_path: Path, change: str) -> None:
    """It is listed with what there is of it, and shown; a page of turns does not fail at it."""
    desk = talks.copied(tmp_path / "data")
    with closing(sqlite3.connect(desk.folder / "threads.db")) as database:
        database.execute(f"UPDATE turns SET {change} WHERE thread_id = 't' AND turn_id = 'first'")  # noqa: S608
        database.commit()
    assert len(places(desk)) == 3
    assert desk.here("review", "show", "t", "first").code == 0


def test_each_try_of_a_turn_has_its_own_verdict_and_reasons_in_order() -> None:
    """A turn whose first draft did not pass shows why, although its report is on the last draft alone."""
    drafts = [
        Draft(DraftKind.ANSWER, "The kettle boils at 999 degrees [1]."),
        Draft(DraftKind.ANSWER, "The kettle boils at 100 degrees [1]."),
    ]
    state, _ = run_turn(CALM, [SAFE], PAGES, drafts, Context(), "When does the kettle boil?")
    result = StructuredAgentResult.model_validate(state["result"])
    record = TurnRecord(thread="t", turn="q", number=1, caller="", when="", question="q")
    tries: list[Any] = list(review_result(record, result).tries)
    assert [one.number for one in tries] == list(range(1, len(tries) + 1))
    assert [one.verdict.split()[0] for one in tries] == ["RETRY"] * (len(tries) - 1) + [tries[-1].verdict.split()[0]]
    assert len(tries) > 1
    assert "value_not_in_cited_evidence" in tries[0].reasons
    assert all(one.decisions[-1].startswith("guardian_verify: DT-005") for one in tries)
    assert tries[0].searches


def test_a_time_is_a_day_a_time_or_a_time_ago() -> None:
    """Without a zone it is UTC; what is none of these, or too long ago for a calendar, is refused."""
    now = datetime(2026, 11, 26, 12, tzinfo=UTC)
    assert moment("7d", now) == now - timedelta(days=7)
    assert moment("2w", now) == now - timedelta(days=14)
    assert moment("2026-11-01", now) == datetime(2026, 11, 1, tzinfo=UTC)
    assert moment("2026-11-01T10:00+03:00", now) == datetime(2026, 11, 1, 7, tzinfo=UTC)
    for text in ("", "d", "7", "-1d", "99999999d", "9999999w", "0001-01-01T00:00+23:00", "²d", "7 d"):
        with pytest.raises(InputError):
            moment(text, now)
