"""Near pages stand behind those that a search was sure of; alone, they are shown, and a person gets the question, too.

No other test has a turn that searched and was sure of nothing; these came with row `near` of DT-008.
"""

from __future__ import annotations

from typing import Any, NoReturn

import pytest

from adapters.fakes.hand_off import FakeSink
from adapters.fakes.sources import FakeSource
from adapters.fakes.topic import FakeTopicProbe
from assistant.turns.views import cited_by_number, cited_sources
from contracts.context import Context
from contracts.enums import DraftKind, Language, Outcome, Source
from contracts.errors import SourceUnavailable
from contracts.ports import Draft, SearchRequest
from contracts.result import StructuredAgentResult
from guards.exits import MOST_NEAR, NEAR_FROM
from nodes.safe_exit import Documents
from tests.support.turn import PROFILE, UP_TO_THE_VERDICT, State, begin_turn, passage, plan, play, ports

SILENT = Draft(DraftKind.ABSTENTION, "The documents do not say.")


def near(number: int, confidence: float = 0.3, **fields: Any) -> Any:
    """Return a passage that no search is sure of."""
    return passage(number, confidence=confidence, snippet=f"A kettle of kind {number} boils water fast.", **fields)


async def ended(
    found: Any, *, nearest: Any = None, role: str = "user", text: str = "Why does the water boil so slowly?"
) -> tuple[State, FakeSink]:
    """Return the state after a turn that found nothing sure, and the receiver of its ticket.

    Args:
        found: What each search of the turn returns.
        nearest: What the last search returns, if that is something else.
        role: Of the user.
        text: What is asked.
    """
    sink = FakeSink()
    bound = ports(planned=plan(subqueries=[text]), found=found, written=[SILENT] * 3)
    documents = Documents({Source.DOC: FakeSource(Source.DOC, found if nearest is None else nearest)}, FakeTopicProbe())
    bound["safe_exit"] = {**bound["safe_exit"], "documents": documents, "sink": sink}
    state = await play(begin_turn(text), bound, *UP_TO_THE_VERDICT, context=Context(role=role, max_retry=0))
    return await play(state, bound, "safe_exit", context=Context(role=role)), sink


def is_near(state: State) -> bool:
    return any((line["table"], line["row"]) == ("DT-008", "near") for line in state["result"]["decisions"])


async def test_the_nearest_pages_are_shown_and_a_person_gets_the_question() -> None:
    """They stand in the answer as near ones, surest first, with passages to look up, and one ticket goes out."""
    state, sink = await ended([near(1), near(2, 0.4)])
    result = StructuredAgentResult.model_validate(state["result"])
    assert is_near(state)
    assert result.outcome is Outcome.PAGES_SHOWN
    assert [source.title for source in cited_sources(result, PROFILE)] == ["Page 2", "Page 1"]
    assert {n: [item.title for item in items] for n, items in cited_by_number(result, PROFILE).items()} == {
        1: ["Page 2"],
        2: ["Page 1"],
    }
    assert "No page fits surely." in result.answer_text
    assert "passed on to a person" in result.answer_text
    assert len(sink.tickets) == 1
    assert result.hand_off is not None
    assert result.hand_off.engineer_intervention_needed


async def test_near_pages_fill_the_list_of_pages_that_were_found() -> None:
    """Behind what a search was sure of, up to five pages in all, each once; nobody is called for them."""
    sure = near(1, 0.9)
    state, sink = await ended([sure], nearest=[near(n, 0.1 + n / 100) for n in range(1, 8)])
    result = StructuredAgentResult.model_validate(state["result"])
    assert [page.title for page in result.pages] == ["Page 1", "Page 7", "Page 6", "Page 5", "Page 4"]
    assert [items[0].title for items in cited_by_number(result, PROFILE).values()] == [
        page.title for page in result.pages
    ]
    assert not is_near(state)
    assert "No page fits surely." not in result.answer_text
    assert sink.tickets == []


async def test_few_pages_are_near() -> None:
    """Under the floor nothing is shown, and of many pages only the nearest; each page once."""
    state, _ = await ended([near(n, 0.2 + n / 100) for n in range(1, 8)])
    assert len(state["result"]["pages"]) == MOST_NEAR
    state, sink = await ended([near(1, NEAR_FROM - 0.01)])
    assert state["result"]["outcome"] == Outcome.HANDED_OFF
    assert len(sink.tickets) == 1


async def test_near_pages_are_of_the_documents_that_the_role_may_read_and_masked() -> None:
    """Nothing is searched for who may read nothing, and a sentence with personal data is not shown."""
    state, _ = await ended([near(1)], role="nobody")
    assert not is_near(state)
    mail = passage(1, confidence=0.3, snippet="If water boils slowly, write to ivan.petrov@mail.ru at once.")
    state, _ = await ended([mail])
    assert "petrov" not in str(state["result"])


@pytest.mark.parametrize("broken", [SourceUnavailable("The index is away"), RuntimeError("secret-of-a-library")])
async def test_documents_that_fail_at_the_end_cost_the_near_pages_alone(broken: Exception) -> None:
    """The question is handed off as it was, and the result says what was missing; no more than that."""

    def fail(_: SearchRequest) -> NoReturn:
        raise broken

    state, sink = await ended([near(1)], nearest=fail)
    assert state["result"]["outcome"] == Outcome.HANDED_OFF
    assert len(sink.tickets) == 1
    assert any(line.startswith("near pages: ") for line in state["result"]["diagnostics"]["degraded"])
    assert "secret-of-a-library" not in str(state["result"])


async def test_near_pages_are_searched_for_as_the_turn_searched() -> None:
    """Of the run's version, with the user's own words, and in the documents' words as well."""
    asked: list[SearchRequest] = []

    def find(request: SearchRequest) -> list[Any]:
        asked.append(request)
        return []

    text = "Why does the water boil so slowly?"
    profile = PROFILE.model_copy(update={"synonyms": (("liquid", "water"),)})
    bound = ports(planned=plan(subqueries=[text]), found=[], written=[SILENT] * 3)
    documents = Documents({Source.DOC: FakeSource(Source.DOC, find)}, FakeTopicProbe())
    bound["safe_exit"] = {**bound["safe_exit"], "documents": documents, "profile": profile}
    context = Context(max_retry=0, version="5.2")
    state = await play(begin_turn(text), bound, *UP_TO_THE_VERDICT, context=context)
    await play(state, bound, "safe_exit", context=context)
    assert {request.version for request in asked} == {"5.2"}
    assert {request.question for request in asked} == {text}
    assert [request.query for request in asked] == [text, "why does the liquid boil so slowly"]


async def test_a_source_that_is_down_is_told_and_not_covered_by_near_pages() -> None:
    """Where nobody could look, the nearest of what is left would look like all that there is."""

    def fail(_: SearchRequest) -> NoReturn:
        raise SourceUnavailable("The index is away")

    state, _ = await ended(fail, nearest=[near(1)])
    assert state["result"]["outcome"] == Outcome.HANDED_OFF
    assert not is_near(state)


async def test_without_a_receiver_of_tickets_the_contact_stands_below_the_pages() -> None:
    """In both languages: else somebody whom no near page helps would not know where to turn."""
    for language, text, contact in (
        (Language.EN, "Why does my kettle hiss?", "kettle support"),
        (Language.RU, "Почему мой чайник шипит?", "поддержка чайника"),
    ):
        page = passage(
            1,
            confidence=0.3,
            language=language,
            snippet="My kettle can hiss for long." if language is Language.EN else "Мой чайник может шипеть долго.",
        )
        bound = ports(
            planned=plan(subqueries=[text], answer_language=str(language)), found=[page], written=[SILENT] * 3
        )
        documents = Documents({Source.DOC: FakeSource(Source.DOC, [page])}, FakeTopicProbe())
        bound["safe_exit"] = {**bound["safe_exit"], "documents": documents, "sink": None}
        state = await play(begin_turn(text), bound, *UP_TO_THE_VERDICT, context=Context(max_retry=0))
        done = await play(state, bound, "safe_exit", context=Context())
        assert is_near(done)
        assert done["final_answer"].rstrip().endswith(f"{contact}.")
