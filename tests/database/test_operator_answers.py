"""What an operator asks of the bundled handbook, and gets from its database and its graph without any model."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from assistant.caller import Caller
from assistant.deployment import deployment
from assistant.service import Question, open_service
from language.claims import claims
from tests.support.cli_helpers import Desk

PERSON = ("I want to talk to a person", "Позовите человека")
ANSWERED = "What is a profile?"
NOBODY = {"GUARDIAN_MODEL": "nobody", "OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}
"""A language model at an address where no server listens."""


@pytest.fixture(scope="module")
def used(handbook_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Desk:
    """A desk of the handbook after four turns of users, for copying only: two hand-offs, one without its model."""
    place = tmp_path_factory.mktemp("handbook")
    desk = Desk(handbook_data, place, profile="handbook").copied(place / "data")
    for words in PERSON:
        assert desk.result(words)["outcome"] == "handed_off"
    assert desk.result("What is a decision table?")["diagnostics"]["degraded"] == []
    assert desk.having(**NOBODY).result(ANSWERED)["diagnostics"]["degraded"] != []
    return desk


@pytest.fixture
def desk(used: Desk, tmp_path: Path) -> Desk:
    """A desk of the test's own, with the same past."""
    return used.copied(tmp_path / "data")


Ask = Callable[[str, str], dict[str, Any]]


@pytest.fixture(scope="module")
def ask(used: Desk, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ask]:
    """Ask as a role, of one desk that is opened once; each conversation is deleted, so that all have the same past."""
    desk = used.copied(tmp_path_factory.mktemp("opened") / "data")
    with asyncio.Runner() as runner:
        opened = open_service(deployment("handbook", desk.environment))
        service = runner.run(opened.__aenter__())

        def ask(message: str, role: str) -> dict[str, Any]:
            caller = Caller(role=role)
            result = runner.run(service.ask(caller, Question(message, "asked")))
            runner.run(service.delete(caller, "asked"))
            return result.model_dump(mode="json")

        try:
            yield ask
        finally:
            runner.run(opened.__aexit__(None, None, None))


def kinds(result: dict[str, Any]) -> set[str]:
    return {article["source"] for article in result["final_articles"]}


def cited(result: dict[str, Any]) -> list[str]:
    """Return the lines of the answer's list of sources; each is cited in the text above it, and nothing else is."""
    text, _, listed = re.split(r"\*\*(Sources|Источники)\*\*", result["answer_text"])
    lines = listed.strip().splitlines()
    numbers = {number for claim in claims(text) for number in claim.cites}
    assert [f"- [{number}]" for number in sorted(numbers)] == [line.partition("]")[0] + "]" for line in lines]
    return lines


FIGURES = [
    ("How many questions were handed off this week?", ["2 of 4 questions were handed off to a person [1]."]),
    ("How many questions were handed off?", ["2 of 4 questions were handed off to a person [1]."]),
    ("How many questions were handed off in October 2025?", ["From 2025-10-01 to 2025-10-31, 0 of 0 questions"]),
    ("How many questions were asked in the last 9999 years?", ["From 0001-01-01 to", "users asked 4 questions"]),
    ("Сколько вопросов передали человеку с 1 по 20 ноября 2025 года?", ["С 2025-11-01 по 2025-11-20 человеку"]),
    ("How many turns ended in an error this week?", ["an error: 0 of 4;", "did not work as configured: 1 [1]."]),
    ("Which questions were handed off lately?", [f"“{words}” [" for words in PERSON]),
    ("What failed last?", [f"“{ANSWERED}”", "The model 'nobody' at 127.0.0.1:9: it cannot be reached"]),
    ("Which turns failed this week?", [f"“{ANSWERED}”", "it cannot be reached"]),
    ("Сколько вопросов передано человеку на этой неделе?", ["человеку передано вопросов: 2 из 4 [1]."]),
    ("Сколько ходов закончилось ошибкой на этой неделе?", ["ошибкой: 0 из 4;", "не так, как настроена: 1 [1]."]),
    ("Какие вопросы недавно переданы человеку?", [f"«{words}» [" for words in PERSON]),
    ("Что сломалось последним?", [f"«{ANSWERED}»", "The model 'nobody' at 127.0.0.1:9: it cannot be reached"]),
    ("Какие ошибки были на этой неделе?", [f"«{ANSWERED}»", "it cannot be reached"]),
]
CONNECTIONS = [
    ("What depends on GUARDIAN_DATA_DIR?", ["“Settings” describes", "“What Guardian is” depends on"]),
    ("Which pages mention GUARD_TIMEOUT?", ["“Settings” mentions", "“When a model fails” mentions"]),
    ("Which pages are related to the page “Monitoring”?", ["“Traces” is", "“The HTTP server” is"]),
    ("Что зависит от GUARDIAN_DATA_DIR?", ["Страница «Настройки» описывает GUARDIAN_DATA_DIR"]),
    ("Какие страницы говорят о GUARD_TIMEOUT?", ["«Настройки» упоминает", "«Сбои языковой модели» упоминает"]),
    ("Какие страницы связаны со страницей «Мониторинг»?", ["«Трассировка»", "«Сервер HTTP»"]),
]
FAULTS = [
    ("The index is locked, I get an error", ["Only one process at a time may index into a knowledge base"]),
    ("guardian index fails with an error: another process is indexing", ["wait until it has finished, then run yours"]),
    ("It fails with HTTP 401", ["check the key, and whether it may use this model"]),
    ("The disk is full and guardian fails to write", ["free some space"]),
    ("GUARD_MODE does not work, what should I do?", ["one of the values in the message"]),
    ("Ошибка: индекс заблокирован, что делать?", ["одновременно может индексировать только один процесс"]),
    ("Ошибка «Another process is indexing», что делать?", ["дождаться, пока он закончит"]),
    ("Модель не отвечает, ошибка HTTP 401", ["Сбои языковой модели"]),
    ("Диск полон, ничего не записывается: ошибка", ["освободите место"]),
    ("Команда guardian chat не работает", ["«Как вести диалог: guardian chat»"]),
    ("GUARD_MODE не работает, что делать?", ["одно из значений, названных в сообщении"]),
]


@pytest.mark.parametrize(("question", "words"), FIGURES)
def test_a_question_about_turns_is_answered_by_what_really_happened(ask: Ask, question: str, words: list[str]) -> None:
    """Figures and lists of the turns that were run, each row cited, and of no other source."""
    result = ask(question, "operator")
    assert result["outcome"] == "answered", result["guardian"]
    assert [said for said in words if said not in result["answer_text"]] == []
    assert all(line.endswith((", database", ", база данных")) for line in cited(result))


@pytest.mark.parametrize(("question", "words"), CONNECTIONS)
def test_a_question_about_connections_gets_all_pages(ask: Ask, question: str, words: list[str]) -> None:
    """A list of the graph comes whole, in the language of the question, each row with its page."""
    result = ask(question, "operator")
    assert result["outcome"] == "answered", result["guardian"]
    assert [said for said in words if said not in result["answer_text"]] == []
    # A section that was found as a passage, too, is one source with its row.
    assert any(line.endswith((", graph", ", граф")) for line in cited(result))
    rows = [article for article in result["final_articles"] if article["source"] == "neo4j"]
    assert len(cited(result)) == len(rows) == int(rows[0]["found"]) > 1


@pytest.mark.parametrize(("question", "words"), FAULTS)
def test_a_fault_is_answered_with_evidence_of_both_required_kinds(ask: Ask, question: str, words: list[str]) -> None:
    """TROUBLESHOOTING needs the database and the graph; for an operator it ends in an answer and not in a question."""
    result = ask(question, "operator")
    assert result["request_type"] == "TROUBLESHOOTING"
    assert result["outcome"] == "answered", result["guardian"]
    assert {"db", "neo4j"} <= kinds(result)
    assert [said for said in words if said not in result["answer_text"]] == []
    assert cited(result) != []


@pytest.mark.parametrize("question", [question for question, _ in FIGURES[::3]])
def test_a_user_sees_nothing_of_other_peoples_conversations(ask: Ask, question: str) -> None:
    """The profile gives the database and the graph to operators alone: no row reaches anybody else's result."""
    result = ask(question, "user")
    assert kinds(result) <= {"doc", "policy"}
    assert {trace["source"] for trace in result["per_query_results"]} <= {"doc", "policy"}
    others = (*PERSON, ANSWERED, "127.0.0.1:9")
    assert [said for said in others if said in result["answer_text"]] == []


def test_rows_that_say_the_same_are_all_listed(desk: Desk) -> None:
    """Two hand-offs of one minute with one question are two lines, and nothing is said to be missing."""
    for _ in range(2):
        assert desk.result(PERSON[0])["outcome"] == "handed_off"
    text = desk.result("Which questions were handed off lately?", "--role", "operator")["answer_text"]
    assert text.count("Handed off to a person on") == 4
    assert "not all" not in text


@pytest.mark.parametrize("language", ["en", "ru"])
def test_a_page_that_describes_a_setting_does_not_depend_on_it(ask: Ask, language: str) -> None:
    """What depends on a setting are the pages that link to its description."""
    asked, settings_page = {
        "en": ("What depends on GUARD_MODE?", "“Settings” depends"),
        "ru": ("Что зависит от GUARD_MODE?", "«Настройки» зависит"),
    }[language]
    result = ask(asked, "operator")
    assert result["outcome"] == "answered"
    assert settings_page not in result["answer_text"]


@pytest.mark.parametrize(
    "question", ["How many questions were handed off this week?", "Сколько вопросов передано человеку на этой неделе?"]
)
def test_a_figure_that_a_user_may_not_see_is_no_answer(ask: Ask, question: str) -> None:
    """A page about how turns end has the question's words, and is shown as a page, and not as how many did."""
    assert ask(question, "user")["outcome"] == "pages_shown"


def test_a_fault_that_nothing_is_known_of_ends_in_a_question(ask: Ask) -> None:
    """A figure of all faults alone is no answer to one of them."""
    result = ask("The printer in the office does not work, guardian", "operator")
    assert result["outcome"] != "answered"
