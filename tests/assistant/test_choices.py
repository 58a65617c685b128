"""What is offered beside a question asked back, and its taking by the next message.

In one service, and once for each language with each message in a program of its own: what was offered is on record.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

import pytest

from assistant.batch.columns import Column, cells_of
from assistant.client import Assistant
from assistant.deployment import deployment
from assistant.service import open_service
from contracts.enums import Outcome
from contracts.result import StructuredAgentResult
from rendering.texts import without_escapes
from tests.support.cli_helpers import Desk
from tests.support.wire.server_process import FakeServer, fake_server

RESTORE = "shelfctl restore --from /srv/backup"
ASKED = {
    "en": ("How do I restore it?", "Restoring a backup", "A person"),
    "ru": ("Как это восстановить?", "Восстановление из резервной копии", "Человек из поддержки"),
}
NO_SUCH = {"en": "None of the choices has that number", "ru": "Варианта с таким номером нет"}


@pytest.fixture(scope="module")
def model() -> Iterator[FakeServer]:
    with fake_server() as server:
        yield server


Talk = Callable[..., list[dict[str, Any]]]


@pytest.fixture(scope="module")
def talk(library: Desk, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Talk]:
    """What says messages in a conversation of their own, one after the other, and returns the results."""
    desk = library.copied(tmp_path_factory.mktemp("talked") / "data")
    with asyncio.Runner() as runner:
        opened = open_service(deployment(environment=desk.environment))
        assistant = Assistant(runner.run(opened.__aenter__()))
        threads = (f"t{number}" for number in count())

        def say(*messages: str) -> list[dict[str, Any]]:
            thread = next(threads)
            said = (runner.run(assistant.ask_structured(message, thread=thread)) for message in messages)
            return [result.model_dump(mode="json") for result in said]

        try:
            yield say
        finally:
            runner.run(opened.__aexit__(None, None, None))


def talk_apart(desk: Desk, *messages: str) -> list[dict[str, Any]]:
    """Say messages of one conversation, each in a program of its own; return the results."""
    return [desk.result(message, "--thread", "t") for message in messages]


def labels(result: dict[str, Any]) -> list[str]:
    return [choice["label"] for choice in result["choices"]]


@pytest.mark.parametrize("language", ASKED)
def test_a_question_asked_back_offers_headings_and_a_person(talk: Talk, language: str) -> None:
    """They are data, with where each leads, and a numbered list in the text; a batch has them in a column."""
    asked, heading, person = ASKED[language]
    (result,) = talk(asked)
    assert result["outcome"] == Outcome.CLARIFICATION
    assert labels(result) == [heading, person]
    section, human = result["choices"]
    assert (section["kind"], section["title"], human["kind"]) == ("heading", heading, "person")
    assert section["url"].endswith("/restore")
    assert without_escapes(result["answer_text"]).endswith(f"1. {heading}\n2. {person}")
    structured = StructuredAgentResult.model_validate(result)
    assert cells_of(structured, structured=False)[Column.CHOICES] == f"{heading}\n{person}"
    assert cells_of(structured, structured=True)[Column.CHOICES] == result["choices"]


@pytest.mark.parametrize(
    ("language", "reply"),
    [
        ("en", "1"),
        ("en", "the first one"),
        ("en", "Restoring a backup"),
        ("en", "restroing a backup"),
        ("ru", "1"),
        ("ru", "первое"),
        ("ru", "Восстановление из резервной копии"),
        ("ru", "восстановлние из резервной копии"),
    ],
)
def test_a_heading_that_was_chosen_is_the_question_now(talk: Talk, language: str, reply: str) -> None:
    """It takes the question's place and lengthens nothing; the answer is in the language of the talk, from that page."""
    asked, heading, _ = ASKED[language]
    first, second = talk(asked, reply)
    assert second["plan"]["subqueries"] == [heading]
    assert (second["question"], second["language"]) == (reply, language)
    assert second["outcome"] in (Outcome.ANSWERED, Outcome.PAGES_SHOWN)
    shown = second["pages"] or second["final_articles"]
    assert shown[0]["url"] == first["choices"][0]["url"]
    assert second["choices"] == []


@pytest.mark.parametrize(
    ("language", "reply"),
    [("en", "2"), ("en", "a person"), ("en", "operator"), ("ru", "второе"), ("ru", "оператор"), ("ru", "человек")],
)
def test_a_person_that_was_chosen_gets_the_question(talk: Talk, language: str, reply: str) -> None:
    """And not the number that was written."""
    asked = ASKED[language][0]
    _, second = talk(asked, reply)
    assert second["outcome"] == Outcome.HANDED_OFF
    assert asked in second["hand_off"]["issue_summary"]
    assert second["hand_off"]["number"] in second["answer_text"]


@pytest.mark.parametrize("language", ASKED)
def test_a_number_of_no_choice_is_said_to_be_none_and_the_choices_stay(desk: Desk, language: str) -> None:
    """It joins no query and asks once more; what was offered can be chosen then, and the question still be answered."""
    asked, heading, person = ASKED[language]
    _, second, third = talk_apart(desk, asked, "7", "1")
    assert second["outcome"] == Outcome.CLARIFICATION
    assert NO_SUCH[language] in second["answer_text"]
    assert labels(second) == [heading, person]
    assert third["plan"]["subqueries"] == [heading]


@pytest.mark.parametrize(
    ("asked", "answer"), [("How do I restore it?", "the catalogue"), ("Как это восстановить?", "каталог")]
)
def test_after_a_number_of_no_choice_words_belong_to_the_question(talk: Talk, asked: str, answer: str) -> None:
    """The number is as if it had not been written."""
    *_, third = talk(asked, "7", answer)
    [query] = third["plan"]["subqueries"]
    assert answer in query
    assert "7" not in query


@pytest.mark.parametrize("language", ASKED)
def test_a_second_number_of_no_choice_calls_a_person(talk: Talk, language: str) -> None:
    """The same is not asked twice."""
    asked = ASKED[language][0]
    *_, third = talk(asked, "7", "9")
    assert third["outcome"] == Outcome.HANDED_OFF
    assert asked in third["hand_off"]["issue_summary"]


def test_what_was_offered_before_another_answer_is_offered_no_more(talk: Talk) -> None:
    """A number counts for the last question asked back, and for nothing before it."""
    *_, last = talk("How do I restore it?", "How do I lend a book?", "1")
    assert last["question"] == "1"
    assert last["plan"]["subqueries"] != ["Restoring a backup"]


def test_a_question_that_is_answered_with_a_number_has_no_numbers(talk: Talk) -> None:
    """Version 2 is no second choice."""
    first, second = talk("It does not work in the old version", "2")
    assert first["outcome"] == Outcome.CLARIFICATION
    assert first["choices"] == []
    assert "2" in second["plan"]["subqueries"][0]


def test_what_goes_on_from_a_choice_knows_what_was_chosen(talk: Talk) -> None:
    """The talk has the heading where "1" was written."""
    *_, last = talk("How do I restore it?", "1", "And on Windows?")
    assert any("Restoring a backup" in query for query in last["plan"]["subqueries"])


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ("How do I restore the catalogue with FedEx?", "“FedEx” does not occur in the documents."),
        ("Как восстановить каталог через FedEx?", "Слово «FedEx» в документах не встречается."),
    ],
)
def test_what_is_unclear_is_named(desk: Desk, model: FakeServer, asked: str, says: str) -> None:
    """A name that no document has, where something is asked back about it, and where a person takes over."""
    unclear = {"intent_confidence": 0.3, "action": "clarify", "clarification_question": "?", "subqueries": [asked]}
    model.reset()
    model.script([{"when": {"purpose": "plan"}, "times": 1, "reply": {"plan": unclear}}])
    named = {"GUARDIAN_PLANNER_MODEL": "fake-model", "OPENAI_BASE_URL": model.url}
    (result,) = talk_apart(desk.having(**named), asked)
    assert result["outcome"] == Outcome.CLARIFICATION
    assert says in result["answer_text"]


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ("How do I bind the catalogue with FedEx?", "“FedEx”"),
        ("Как переплести каталог в FedEx?", "«FedEx»"),
    ],
)
def test_who_gets_no_answer_reads_which_word_the_documents_do_not_have(talk: Talk, asked: str, says: str) -> None:
    """It says more than that nothing was found, and names no word of the question that they do have."""
    (result,) = talk(asked)
    assert result["outcome"] in (Outcome.HANDED_OFF, Outcome.PAGES_SHOWN)
    [sentence] = [one for one in re.split("[.;]", result["answer_text"]) if " not occur" in one or "не встреча" in one]
    assert says in sentence
    assert "catalog" not in sentence
    assert "каталог" not in sentence


@pytest.mark.parametrize("language", ASKED)
def test_with_a_models_plan_a_choice_is_taken_without_the_model(desk: Desk, model: FakeServer, language: str) -> None:
    """It asks back; the number is taken as the heading, whatever the model would plan, and it is not asked."""
    asked, heading, _ = ASKED[language]
    unclear = {
        "intent_confidence": 0.3,
        "action": "clarify",
        "clarification_question": "What?" if language == "en" else "Что?",
        "subqueries": [asked],
    }
    model.reset()
    model.script(
        [
            {"when": {"purpose": "plan"}, "times": 1, "reply": {"plan": unclear}},
            {"when": {"purpose": "plan"}, "reply": {"plan": {"subqueries": ["something else"]}}},
        ]
    )
    named = {"GUARDIAN_PLANNER_MODEL": "fake-model", "OPENAI_BASE_URL": model.url}
    first, second = talk_apart(desk.having(**named), asked, "1")
    assert labels(first)[0] == heading
    assert second["plan"]["subqueries"] == [heading]
    assert sum(request["purpose"] == "plan" for request in model.requests()) == 1
