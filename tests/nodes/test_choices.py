"""Choices in the nodes: from what was judged, from the user's own documents, kept with the answer that offered them."""

from __future__ import annotations

from typing import Any, NoReturn

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage

from adapters.fakes.sources import FakeSource
from adapters.fakes.topic import FakeTopicProbe
from contracts.context import Context
from contracts.enums import DraftKind, Outcome, SGRAction, Source
from contracts.errors import SourceUnavailable
from contracts.ports import Draft, Exchange, SearchRequest, WordProbe
from contracts.state import Offer, find_offer, said_before
from nodes.safe_exit import Documents
from tests.support.turn import UP_TO_THE_VERDICT, State, begin_turn, passage, plan, play, ports

QUESTION = "How do I boil it?"
UNCLEAR = plan(
    action=SGRAction.CLARIFY,
    intent_confidence=0.3,
    clarification_question="What is to be boiled?",
    subqueries=[QUESTION],
)
WATER = passage(1, title="Boiling water", snippet="Water boils in the kettle.")
RULE = passage(2, title="Rules of boiling", snippet="Who boils it pours it.", source=Source.POLICY, ref="policy:2#0")
UP_TO_THE_EXIT = ("moderation", "sgr_plan", "inject_synthetic", "safe_exit")


def documents(items: Any = (WATER,), *, missing: tuple[str, ...] = (), rules: Any = (RULE,)) -> Documents:
    sources = {Source.DOC: FakeSource(Source.DOC, items), Source.POLICY: FakeSource(Source.POLICY, rules)}
    return Documents(sources, FakeTopicProbe(missing=missing))


async def ended(text: str = QUESTION, *, given: Documents, role: str = "user", **thread: Any) -> State:
    """Return the state after a turn that asks back before it searches."""
    bound = ports(planned=UNCLEAR)
    bound["safe_exit"] = {**bound["safe_exit"], "documents": given}
    return await play(begin_turn(text, **thread), bound, *UP_TO_THE_EXIT, context=Context(role=role))


def labels(state: State) -> list[str]:
    return [choice["label"] for choice in state["result"]["choices"]]


async def test_choices_are_of_the_documents_that_the_role_may_read() -> None:
    """Nobody is offered a section of a kind of document that is not theirs, and nothing is searched for it."""
    assert labels(await ended(given=documents())) == ["Boiling water", "Rules of boiling", "A person"]
    assert labels(await ended(given=documents(), role="nobody")) == ["A person"]


async def test_what_is_offered_is_masked_and_passes_policy() -> None:
    """A heading with an address of a person in it is not offered: half of it would lead nowhere."""
    mail = passage(1, title="Boiling: write to ivan.petrov@mail.ru", snippet="It boils.")
    state = await ended(given=documents([mail], rules=[]))
    assert labels(state) == ["A person"]
    assert "petrov" not in str(state["messages"][-1])


@pytest.mark.parametrize("broken", [SourceUnavailable("The index is away"), RuntimeError("secret-of-a-library")])
async def test_documents_that_cannot_be_asked_cost_the_headings_alone(broken: Exception) -> None:
    """The question is asked all the same, a person is offered, and the result says what was missing; no more than that."""

    def fail(_: SearchRequest) -> NoReturn:
        raise broken

    state = await ended(given=documents(fail, rules=fail))
    assert state["result"]["outcome"] == Outcome.CLARIFICATION
    assert labels(state) == ["A person"]
    assert any(line.startswith("choices: ") for line in state["result"]["diagnostics"]["degraded"])
    assert "secret-of-a-library" not in str(state["result"])


class Broken:
    async def unknown(self, text: str, kinds: frozenset[Source]) -> NoReturn:
        raise RuntimeError("secret-of-a-library")


@pytest.mark.parametrize("probe", [FakeTopicProbe(SourceUnavailable("away")), Broken()])
async def test_a_probe_that_cannot_be_asked_names_nothing(probe: WordProbe) -> None:
    """It is not known which words the documents have, so none is said to be missing."""
    state = await ended("How do I boil the Zig?", given=Documents({}, probe))
    assert state["result"]["outcome"] == Outcome.CLARIFICATION
    assert "does not occur" not in state["final_answer"]
    assert "secret-of-a-library" not in str(state["result"])
    assert any(line.startswith("choices: ") for line in state["result"]["diagnostics"]["degraded"])


async def test_a_word_that_is_named_is_one_of_the_message() -> None:
    """Of a probe that names others, nothing is said."""
    state = await ended("How do I boil the Zig?", given=documents(missing=("Zig", "Zag")))
    assert "“Zig” does not occur in the documents." in state["final_answer"]
    assert "Zag" not in state["final_answer"]


async def test_a_drafted_question_offers_headings_of_the_evidence_that_was_judged() -> None:
    """Nothing more is searched for; what was exchanged since the verdict is offered by nobody."""
    drafted = Draft(DraftKind.CLARIFICATION, "Which water is to be boiled?")
    bound = ports(planned=plan(subqueries=["boiling water"]), found=[WATER], written=[drafted] * 3)
    bound["safe_exit"] = {**bound["safe_exit"], "documents": documents([passage(7, title="Boiling anything")])}
    state = await play(begin_turn("How do I go about boiling water?"), bound, *UP_TO_THE_VERDICT)
    done = await play(state, bound, "safe_exit")
    assert done["result"]["outcome"] == Outcome.CLARIFICATION
    assert labels(done) == ["Boiling water", "A person"]
    exchanged = {**state, "evidence": [passage(9, title="Boiling more").model_dump(mode="json")]}
    done = await play(exchanged, bound, "safe_exit")
    assert done["result"]["outcome"] == Outcome.ERROR
    assert done["result"]["choices"] == []


# ---------------------------------------------------------------------------------------------------------- in the state


def answer(turn: str, outcome: Outcome = Outcome.CLARIFICATION, **marks: Any) -> AIMessage:
    return AIMessage("Which?", additional_kwargs={"turn_id": turn, "outcome": str(outcome), **marks})


async def test_what_was_offered_stands_with_the_answer_that_offered_it() -> None:
    """A later turn reads it from the messages of the thread, with the language that was spoken."""
    state = await ended(given=documents())
    found = find_offer([*state["messages"], HumanMessage("1", id="next")])
    assert [choice.label for choice in found.choices] == labels(state)
    assert found.language == "en"


@pytest.mark.parametrize(
    "before",
    [
        [],
        [HumanMessage("a", id="a"), answer("a")],
        [HumanMessage("a", id="a"), AIMessage("Which?")],
        [HumanMessage("a", id="a"), answer("a", choices="junk")],
        [HumanMessage("a", id="a"), answer("a", Outcome.ANSWERED, choices=[{"kind": "person", "label": "x"}])],
    ],
)
async def test_conversations_without_choices_offer_none(before: list[AnyMessage]) -> None:
    """Those of earlier versions, and what somebody edited: a number is the user's words there, as it always was."""
    assert find_offer([*before, HumanMessage("1", id="q")]) == Offer([])
    state = await play(begin_turn("1", before), ports(), "moderation")
    assert state["question"] == {"id": "q", "text": "1", "language": "en"}


def test_the_history_has_what_was_chosen_and_not_how() -> None:
    """A number says nothing to whoever reads the talk; one of no choice, nothing at all."""
    messages: list[AnyMessage] = [
        HumanMessage("How do I open it?", id="a"),
        answer("a"),
        HumanMessage("7", id="b"),
        answer("b", no_choice=True),
        HumanMessage("1", id="c"),
        answer("c", Outcome.ANSWERED, meant="Opening the lid"),
        HumanMessage("Thanks", id="d"),
    ]
    assert [one.text for one in said_before(messages, "d") if one.role == "user"] == [
        "How do I open it?",
        "Opening the lid",
    ]
    assert said_before(messages, "d")[-1] == Exchange("assistant", "Which?", "answered")
