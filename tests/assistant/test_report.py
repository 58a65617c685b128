"""`guardian report`: what a period's turns come to, which questions belong together, and which pages are missing."""

from __future__ import annotations

import asyncio
import json
import re
import sqlite3
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from assistant.review.digest import Topic
from assistant.review.digest_text import bars, gap_line
from assistant.review.topics import count_stems, group_questions, name_topic
from assistant.turns.feedback import Feedback, FeedbackStore, Rating
from assistant.turns.progress import phrases
from assistant.turns.transcript import TurnStore
from contracts.enums import FaultKind, Language, Outcome
from contracts.errors import ServerFault
from contracts.result import StructuredAgentResult
from tests.support.cli_helpers import QUESTION, Desk

SSO = ("How do I set up SSO?", "Does SSO work with Okta?", "SSO login fails", "Is SSO <b>|free|</b>?")
RESTORE = ("How do I restore a backup?", "restore the backup again")


@pytest.fixture(scope="module")
def week(tmp_path_factory: pytest.TempPathFactory) -> Desk:
    """A desk with one real answer, rated bad, and recorded turns: four about SSO that were declined, one a year ago."""
    place = tmp_path_factory.mktemp("report")
    desk = Desk(place / "data", place)
    desk.index()
    desk.here("ask", QUESTION, "--thread", "real", "--id", "1", "--quiet")
    days = iter(range(100))

    async def record() -> None:
        start = datetime.now(UTC) - timedelta(days=4)
        async with await TurnStore.open(
            desk.folder / "threads.db", now=lambda: start + timedelta(hours=next(days))
        ) as store:
            for number, question in enumerate(SSO):
                await _declined(store, f"key/{number}", question)
            store.now = lambda: datetime.now(UTC) - timedelta(days=365)
            await _declined(store, "old", "What was there a year ago?")
            await store.begin("running", "1", "Does anything run?", None)
            feedback = await FeedbackStore.share(store)
            await feedback.put("real", "1", Feedback(rating=Rating.DOWN))

    asyncio.run(record())
    return desk


async def _declined(store: TurnStore, thread: str, question: str) -> None:
    result = StructuredAgentResult(
        question=question, language=Language.EN, outcome=Outcome.DECLINED, answer_text="I cannot tell."
    )
    await store.begin(thread, "1", question, None)
    await store.finish(thread, "1", result.model_dump(mode="json"))


def test_a_report_counts_what_was_asked_and_how_it_ended_in_its_period(week: Desk) -> None:
    """Volumes, ends, ratings, the pages that were cited and those whose answers were rated bad."""
    digest = week.here("report", "--json").json
    assert (digest["turns"], digest["conversations"], digest["callers"]) == (5, 5, 2)
    assert digest["outcomes"] == {"answered": 1, "declined": 4}
    assert (digest["good"], digest["bad"]) == (0, 1)
    assert digest["cited"] == digest["down_rated"] == [{"page": "corpus/en/restore.md", "cited": 1, "down": 1}]
    assert sum(digest["days"].values()) == 5
    assert list(digest["days"]) == sorted(digest["days"])
    everything = week.here("report", "--since", "1000d", "--json").json
    assert everything["outcomes"] == {"answered": 1, "declined": 5, "unfinished": 1}
    assert week.here("review", "looks", "--limit", "1", "--json").json[0]["what"].startswith("report since=")


def test_questions_about_the_same_without_an_answer_are_a_gap(week: Desk) -> None:
    """The gap has their number and name, and says that there is no page."""
    said = week.here("report").out
    assert re.search(r"^- 4 questions about sso.*: 4 not answered, no page$", said, re.MULTILINE)
    assert "by words, not by meaning" in said
    # What a user wrote is no mark-up and no cell of its own.
    assert "<b>" not in said
    assert all(line.replace("\\|", "").count("|") in (0, 4, 5) for line in said.splitlines())


def test_the_page_of_a_report_loads_nothing_and_runs_nothing(week: Desk, tmp_path: Path) -> None:
    """Plots are in it, hostile words are text, and the Markdown beside it is what the terminal shows."""
    said = week.here("report", "--out", str(tmp_path / "new" / "report"))
    html = (tmp_path / "new" / "report" / "report.html").read_text("utf-8")
    assert (tmp_path / "new" / "report" / "report.md").read_text("utf-8") == said.out
    assert html.count("<svg") == 2
    assert "<b>" not in html
    assert "&lt;b&gt;" in html
    assert not re.search(r"(?:src|href|url)\s*[=(]|<script", html)
    (tmp_path / "file").write_text("", "utf-8")
    assert week.here("report", "--out", str(tmp_path / "file")).code == 2


def test_a_report_on_nothing_says_so_and_makes_no_file(week: Desk, tmp_path: Path) -> None:
    """A period without turns, and a data folder without conversations."""
    assert "Nobody asked anything" in week.here("report", "--since", "2999-01-01").out
    empty = Desk(tmp_path / "data", tmp_path)
    assert "Nobody asked anything" in empty.here("report").out
    assert not empty.folder.exists()
    week.here("report", "--since", "soon").complains(2, "no time")


def test_a_row_that_cannot_be_read_is_counted_and_stops_no_report(week: Desk, tmp_path: Path) -> None:
    """A result of another program is an end that nobody knows."""
    desk = week.copied(tmp_path / "data")
    with closing(sqlite3.connect(desk.folder / "threads.db")) as database:
        database.execute(
            """UPDATE turns SET result = '{"outcome": "answered", "final_articles": 5}' WHERE thread_id = 'real'"""
        )
        database.execute("UPDATE turns SET result = x'ff' WHERE thread_id = 'key/0'")
        database.commit()
    digest = desk.here("report", "--json").json
    assert (digest["turns"], digest["outcomes"]) == (5, {"answered": 1, "declined": 3, "unfinished": 1})


class _Meaning:
    """An embedding model that knows two meanings, and finds any two texts alike at 0.8, as some models do."""

    async def embed_queries(self, texts: Sequence[str]) -> list[Any]:
        return [_unit([2.0, *((0.0, 1.0) if "restore" in text else (1.0, 0.0))]) for text in texts]


class _Broken:
    async def embed_queries(self, texts: Sequence[str]) -> list[Any]:
        raise ServerFault(FaultKind.UNREACHABLE, "the server does not answer")


def _unit(values: list[float]) -> Any:
    return np.array(values, np.float32) / np.linalg.norm(values)


async def test_questions_are_put_together_by_meaning_if_a_model_gives_it() -> None:
    """Whatever the scale of a model's similarities; without a model, or where it fails, by words, and that is said."""
    asked = [*SSO, *RESTORE]
    found = await group_questions(asked, _Meaning())  # type: ignore[arg-type]
    assert (found.groups, found.by, found.why) == (((0, 1, 2, 3), (4, 5)), "meaning", "")
    failed = await group_questions(asked, _Broken())  # type: ignore[arg-type]
    assert failed.by == "words"
    assert "does not answer" in failed.why
    alone = await group_questions(asked, None)
    assert (alone.groups, alone.by, alone.why) == (((0, 1, 2, 3), (4, 5)), "words", "")


@pytest.mark.parametrize("asked", [[], [""], ["", ""], ["the"], ["!!!", "the", "SSO"]])
async def test_questions_of_no_words_are_groups_of_their_own(asked: list[str]) -> None:
    """Nothing is divided by nothing, and every question is in one group."""
    found = await group_questions(asked, None)
    assert sorted(place for group in found.groups for place in group) == list(range(len(asked)))


def test_a_topic_is_named_by_the_words_that_most_of_its_questions_have() -> None:
    """Of equally common words by those that are rarer elsewhere; a topic without words by its first question."""
    seen = count_stems([*SSO, "How do I set up backups?", "set up printing"])
    assert name_topic(SSO, seen).split(", ")[0] == "sso"
    assert name_topic(["set up backups", "backups set"], seen) == "backups, set"
    assert name_topic(["?!"], seen) == "?!"


PRIVATE = (
    "My number is 1234567, 170, 49",
    "Ship to eva@firma.ru on 1234567, 170, 49",
    "[redacted: card-number] and [redacted: email], +7 (900) 123-45-67",
    "eva@firma.ru 1234567",
    "Почта eva@firma.ru, [redacted: phone]",
)


@pytest.mark.parametrize(
    ("embedder", "groups"),
    [(None, ((5, 6), (0,), (1,), (2,), (3,), (4,))), (_Meaning(), ((0, 1, 4), (5, 6), (2,), (3,)))],
)
async def test_numbers_addresses_and_masked_places_make_no_topic(embedder: Any, groups: object) -> None:
    """Questions that have nothing else in common are not put together by them, and no topic is named after one."""
    assert (await group_questions([*PRIVATE, *RESTORE], embedder)).groups == groups
    seen = count_stems(PRIVATE)
    assert not seen.keys() & {"1234567", "170", "49", "redact", "card", "email", "firma", "ru", "eva", "phone"}
    names = [name_topic([question], seen) for question in PRIVATE]
    assert not any(re.search(r"\d|@|redacted|firma", name) for name in names)
    assert names[3] == "…"
    assert name_topic(["Error 1С 4k", "error 404"], Counter()) == "error"


def test_an_id_names_no_topic() -> None:
    """Whoever's order or device it is, it is not what is asked; names of things with a number in them are words."""
    asked = ["id 5f3a9c2e-77aa-4c1b is broken", "Заказ A1B2C3D4E5 потерян", "ticket ABC-12345 again"]
    assert not any(any(map(str.isdigit, one)) for one in count_stems(asked))
    names = [name_topic([question], count_stems(asked)) for question in asked]
    assert names == ["broken, id", "заказ, потерян", "abc, ticket"]
    assert not any("12345" in one for one in count_stems(["order ORD12345", "Заказ АБ123456", "device SN12345678"]))
    named = ["sha256", "2fa", "ipv6", "s3", "utf8mb4", "log4j2", "1920x1080", "x509v3", "win10", "win11"]
    assert set(count_stems([*named[:-2], "win10-to-win11"])) == set(named)


@pytest.mark.parametrize("language", Language)
def test_a_gap_names_the_pages_that_there_are(language: Language) -> None:
    """Pages that were shown but did not answer are to be looked at; where none was shown, one is missing."""
    say = phrases(language)
    gap = Topic(name="sso", count=17, unanswered=17)
    assert gap.is_gap
    assert "17" in gap_line(gap, say)
    assert gap_line(gap, say).endswith(say["report_no_page"])
    assert gap_line(gap.model_copy(update={"pages": ("en/login.md",)}), say).endswith("en/login.md")
    assert not Topic(name="sso", count=4, unanswered=2).is_gap
    assert not Topic(name="sso", count=1, unanswered=1).is_gap


def test_bars_are_an_image_with_a_bar_for_each_row() -> None:
    """Labels of any characters; a share of nothing still has a bar to be seen."""
    drawn = ET.fromstring(bars([("a & <b>", 0.0, "0"), ("b", 1.0, "9")], 'a "title"'))  # noqa: S314  # of our own
    widths = [float(bar.attrib["width"]) for bar in drawn.iter() if bar.tag.endswith("rect")]
    assert widths == [1.0, 340.0]
    assert json.dumps([text.text for text in drawn.iter() if text.tag.endswith("text")]) == '["a & <b>", "0", "b", "9"]'
