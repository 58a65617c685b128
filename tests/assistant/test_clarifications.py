"""Questions asked back in whole turns: at most two in a row, each names what is missing, and its answer joins it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from contracts.enums import Outcome
from tests.support.cli_helpers import Desk
from tests.support.wire.server_process import FakeServer, fake_server

CLARIFICATION, ANSWERED = Outcome.CLARIFICATION, Outcome.ANSWERED
RESTORE = "shelfctl restore --from /srv/backup"
NOWHERE = {
    "en": ("How do I paint Shelf?", "with golden letters", "for the queen"),
    "ru": ("Как покрасить Shelf?", "с золотыми буквами", "для королевы"),
}
"""Of the library, and in none of its documents."""


@pytest.fixture(scope="module")
def model() -> Iterator[FakeServer]:
    with fake_server() as server:
        yield server


def talk(desk: Desk, *messages: str, **more: str) -> list[dict[str, Any]]:
    """Send messages of one conversation and return their results."""
    there = desk.having(**more) if more else desk
    return [there.result(message, "--thread", "t") for message in messages]


def outcomes(results: list[dict[str, Any]]) -> list[str]:
    return [result["outcome"] for result in results]


# ------------------------------------------------------------------------------------------------- the answer joins it


@pytest.mark.parametrize(
    ("asked", "word", "verb", "answer"),
    [
        ("How do I restore it?", "“it”", "restore", "the catalogue from a backup"),
        ("Как это восстановить?", "«это»", "восстановить", "каталог из резервной копии"),
    ],
)
def test_the_answer_to_a_question_before_the_search_leads_to_the_right_page(
    desk: Desk, asked: str, word: str, verb: str, answer: str
) -> None:
    """The question back names what is unclear; the next plan has the question and its answer, and the page is found."""
    first, second = talk(desk, asked, answer)
    assert first["outcome"] == CLARIFICATION
    assert word in first["answer_text"]
    assert asked in first["answer_text"]
    assert second["outcome"] == ANSWERED
    assert answer in second["plan"]["subqueries"][0]
    assert verb in second["plan"]["subqueries"][0]
    assert RESTORE in second["answer_text"]


@pytest.mark.parametrize(
    ("asked", "answer", "page"),
    [
        ("How do I bind it in leather?", "Never mind, how do I restore the catalogue from a backup?", RESTORE),
        ("Как переплести это в кожу?", "Другой вопрос: как восстановить каталог из резервной копии?", RESTORE),
    ],
)
def test_another_subject_is_planned_alone(desk: Desk, asked: str, answer: str, page: str) -> None:
    """Who drops the question and asks another one is answered that one."""
    _, second = talk(desk, asked, answer)
    assert page in second["answer_text"]
    assert not any("leather" in query or "кожу" in query for query in second["plan"]["subqueries"])


@pytest.mark.parametrize(
    ("asked", "thanks"), [("How do I restore it?", "Thanks!"), ("Как это восстановить?", "Спасибо!")]
)
def test_thanks_are_thanks(desk: Desk, asked: str, thanks: str) -> None:
    """A word of thanks in the place of the answer is planned alone, and sets the count back."""
    _, second, third = talk(desk, asked, thanks, asked)
    assert (second["outcome"], second["request_type"]) == (ANSWERED, "CASUAL")
    assert third["outcome"] == CLARIFICATION


@pytest.mark.parametrize("language", ["en", "ru"])
def test_a_search_in_vain_is_no_question_back(desk: Desk, language: str) -> None:
    """Nothing was lacking in the question: a person gets it, and the user reads what was looked for."""
    asked = NOWHERE[language][0]
    (first,) = talk(desk, asked)
    assert first["outcome"] == Outcome.HANDED_OFF
    assert asked in first["answer_text"]


# ------------------------------------------------------------------------------------------------- not twice in a row


def test_the_same_question_is_not_asked_twice_in_a_row(desk: Desk) -> None:
    """An answer that brings nothing new would be answered by the same words: a person takes over."""
    results = talk(desk, "It does not work", "anything")
    assert outcomes(results) == [CLARIFICATION, Outcome.HANDED_OFF]


def test_a_turn_that_ends_otherwise_begins_the_count_anew(desk: Desk) -> None:
    """After an answer, the same may be asked again."""
    vague = "It does not work"
    results = talk(desk, vague, "How do I restore the catalogue from a backup?", vague)
    assert outcomes(results) == [CLARIFICATION, ANSWERED, CLARIFICATION]


# ------------------------------------------------------------------------------------------------------- with a model


@pytest.mark.parametrize(
    ("asked", "question", "answer", "joined"),
    [
        ("How do I restore it?", "What is to be restored?", "the catalogue", "restore the catalogue from a backup"),
        ("Как это восстановить?", "Что восстановить?", "каталог", "восстановить каталог из резервной копии"),
    ],
)
def test_a_model_is_shown_what_was_asked_and_answered(
    desk: Desk, model: FakeServer, asked: str, question: str, answer: str, joined: str
) -> None:
    """Its request has the first message, the question back and the answer, and says that they belong together."""
    unclear = {
        "intent_confidence": 0.3,
        "uncertainties": ["what"],
        "action": "clarify",
        "clarification_question": question,
    }
    model.reset()
    model.script(
        [
            {"when": {"purpose": "plan"}, "times": 1, "reply": {"plan": unclear}},
            {"when": {"purpose": "plan"}, "reply": {"plan": {"subqueries": [joined]}}},
        ]
    )
    named = {"GUARDIAN_PLANNER_MODEL": "fake-model", "OPENAI_BASE_URL": model.url}
    first, second = talk(desk, asked, answer, **named)
    assert question in first["answer_text"]
    assert second["outcome"] == ANSWERED
    assert RESTORE in second["answer_text"]
    before, after = [request["body"]["messages"] for request in model.requests() if request["purpose"] == "plan"]
    assert "asked back in a row" not in before[0]["content"]
    assert "asked back in a row just before the newest message: 1." in after[0]["content"]
    told = [message["content"] for message in after[1:]]
    assert (told[0], told[-1]) == (asked, answer)
    assert question in told[1]


def test_where_the_model_fails_the_answer_joins_all_the_same(desk: Desk, model: FakeServer) -> None:
    """The offline plan that takes over knows what was asked back."""
    model.reset()
    model.script([{"when": {"purpose": "plan"}, "reply": {"status": 401}}])
    named = {"GUARDIAN_PLANNER_MODEL": "fake-model", "OPENAI_BASE_URL": model.url}
    _, second = talk(desk, "How do I restore it?", "the catalogue", **named)
    assert second["plan"]["subqueries"] == ["How do I restore the catalogue?"]
    assert json.dumps(second["diagnostics"]["degraded"]).count("plan: ") == 1
