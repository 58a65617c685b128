"""The end of a turn and the sink: what is submitted, what the user reads, what becomes of faults."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.runtime import ExecutionInfo, Runtime
from markdown_it import MarkdownIt

from adapters.fakes.hand_off import FakeSink
from contracts.context import Context
from contracts.enums import DeliveryStatus, DraftKind, HandOffOutcome, Language, Outcome, SafetyLevel, Tickets
from contracts.errors import HandOffFailed
from contracts.ports import Draft, HandOffSink
from contracts.report import Receipt, Ticket
from nodes.safe_exit import safe_exit
from tests.support.turn import (
    PROFILE,
    UP_TO_THE_VERDICT,
    State,
    begin_turn,
    change_report,
    make_result,
    passage,
    plan,
    play,
    ports,
)

PLANNED = UP_TO_THE_VERDICT[:3]
DRAFTED = "The kettle sings SECRET-DRAFT at 999 degrees [1]."
TERSE = [passage(n, snippet=f"Hot: {n}.") for n in (1, 2)]
"""Evidence without one sentence that could be shown."""
KEPT = Receipt(delivery=DeliveryStatus.KEPT, why="It is away.")


async def ended(state: Mapping[str, Any], sink: HandOffSink | None, thread: str | None = "t", **context: Any) -> State:
    """Return what `safe_exit` writes of a state, in a conversation."""
    info = ExecutionInfo(checkpoint_id="c", checkpoint_ns="", task_id="x", thread_id=thread)
    runtime = Runtime(context=Context(**context), execution_info=info)
    return await safe_exit(state, runtime, profile=PROFILE, sink=sink)  # pyright: ignore[reportArgumentType]


def failing(state: State) -> State:
    """Return a state with a verdict of FAIL that asks for the one question that would help."""
    return change_report(state, verdict="FAIL", required_actions=["ASK_MINIMAL_QUESTION"])


async def failed(text: str = "When does it boil?", drafted: str = DRAFTED, found: Any = TERSE) -> State:
    """Return the state of a turn that the Guardian failed for good, with nothing to ask and, as a rule, to show."""
    bound = ports(written=Draft(DraftKind.ANSWER, drafted), found=found)
    state = await play(begin_turn(text, clarify_count=2), bound, *UP_TO_THE_VERDICT)
    return failing(state)


async def wanting_a_person() -> State:
    return await play(begin_turn(), ports(planned=plan(wants_human=True)), *PLANNED)


async def test_a_failed_turn_is_submitted_with_its_ids() -> None:
    """Conversation, turn, role, question, verdict and the names of the reasons go with the record."""
    sink = FakeSink()
    end = await ended(await failed(), sink, role="operator")
    [ticket] = sink.tickets
    assert (ticket.thread_id, ticket.turn_id, ticket.role) == ("t", "q", "operator")
    assert (ticket.question, ticket.verdict) == ("When does it boil?", "FAIL")
    assert ticket.reasons == ("value_not_in_cited_evidence", "claim_unlike_its_source")
    assert ticket.record.model_dump(mode="json") == end["result"]["hand_off"]
    assert ticket.answer == end["final_answer"]


async def test_no_word_of_a_draft_that_failed_leaves_with_the_ticket() -> None:
    """What the Guardian stopped does not reach people by the back door either."""
    sink = FakeSink()
    await ended(await failed(), sink)
    assert "SECRET-DRAFT" not in sink.tickets[0].model_dump_json()
    assert "999" not in sink.tickets[0].model_dump_json()


@pytest.mark.parametrize("language", Language)
@pytest.mark.parametrize(("says", "delivery"), [(None, "delivered"), (KEPT, "kept")])
async def test_the_user_reads_what_became_of_it(language: Language, says: Receipt | None, delivery: str) -> None:
    """Passed on, kept and nowhere to go read differently, and the contact and the number stand in all of them."""
    state = await play(
        begin_turn(), ports(planned=plan(wants_human=True)), *PLANNED, context=Context(language=language)
    )
    alone = await ended(state, None, language=language)
    end = await ended(state, FakeSink(says), language=language)
    assert (end["result"]["hand_off_delivery"], alone["result"]["hand_off_delivery"]) == (delivery, None)
    assert end["final_answer"] != alone["final_answer"]
    assert end["final_answer"].partition("\n\n")[2] == alone["final_answer"].partition("\n\n")[2]
    assert end["messages"][0].text == end["final_answer"] == end["result"]["answer_text"]
    assert end["result"]["diagnostics"]["degraded"] == ([f"hand_off: {KEPT.why}"] if says else [])


class Broken:
    """A sink with a fault of its own."""

    async def submit(self, ticket: Ticket) -> Receipt:
        raise RuntimeError("SECRET-MESSAGE")


@pytest.mark.parametrize("sink", [FakeSink(HandOffFailed("The disk is full.", "Free some space.")), Broken()])
async def test_a_desk_that_fails_costs_no_turn(sink: HandOffSink) -> None:
    """The user is told to turn to the contact, as without a sink, and the result says that the sink failed."""
    state = await wanting_a_person()
    end, alone = await ended(state, sink), await ended(state, None)
    assert end["final_answer"] == alone["final_answer"]
    assert end["result"]["hand_off_delivery"] is None
    [degraded] = end["result"]["diagnostics"]["degraded"]
    assert degraded.startswith("hand_off: ")
    assert "SECRET-MESSAGE" not in degraded


async def every_end_of_a_verdict() -> dict[str, State]:
    """Return a turn for each way in which a verdict, or an error after it, ends one."""
    denied = await play(begin_turn("Show other people's kettles"), ports(), *PLANNED, "guardian_verify")
    secret = await play(begin_turn(), ports(written=Draft(DraftKind.ANSWER, "password: hunter2hunter2 [1]")), *UP)
    off_contract = change_report(await failed(), required_actions=["SAFE_REFUSAL"])
    asking = await play(begin_turn(), ports(written=Draft(DraftKind.CLARIFICATION, "Which kettle is it?")), *UP)
    broken = {**await failed(), "error": {"node": "draft", "kind": "ValueError", "message": "SECRET", "key": ""}}
    return {
        "denied": denied,
        "secret": secret,
        "off contract": off_contract,
        "asking": asking,
        "pages": await failed(found=None),
        "handed off": await failed(),
        "broken": broken,
    }


UP = UP_TO_THE_VERDICT
ENDS: dict[str, tuple[Outcome, HandOffOutcome, bool, bool]] = {
    "denied": (Outcome.REFUSED, HandOffOutcome.NOT_APPLICABLE, False, True),
    "secret": (Outcome.REFUSED, HandOffOutcome.NOT_APPLICABLE, False, True),
    "off contract": (Outcome.REFUSED, HandOffOutcome.ESCALATION_REQUIRED, True, True),
    "asking": (Outcome.CLARIFICATION, HandOffOutcome.USER_FOLLOWUP_NEEDED, False, False),
    "pages": (Outcome.PAGES_SHOWN, HandOffOutcome.PARTIALLY_RESOLVED, False, True),
    "handed off": (Outcome.HANDED_OFF, HandOffOutcome.ESCALATION_REQUIRED, True, True),
    "broken": (Outcome.ERROR, HandOffOutcome.ESCALATION_REQUIRED, True, True),
}
"""How a turn ends, what its record says, and whether people get a ticket: where they are needed, and where wide."""


@pytest.mark.parametrize("tickets", Tickets)
@pytest.mark.parametrize("name", ENDS)
async def test_a_ticket_goes_where_a_person_must_act(name: str, tickets: Tickets) -> None:
    """Else only with wide tickets, never while a question waits; who has one passed on is told, and nobody else is."""
    outcome, recorded, needed, wide = ENDS[name]
    sink = FakeSink()
    end = await ended((await every_end_of_a_verdict())[name], sink, tickets=tickets)
    submitted = wide if tickets is Tickets.WIDE else needed
    record = end["result"]["hand_off"]
    assert (end["result"]["outcome"], record["outcome"]) == (outcome, recorded)
    assert record["engineer_intervention_needed"] == needed
    assert len(sink.tickets) == submitted
    assert (end["result"]["hand_off_delivery"] is not None) == submitted
    assert ("passed" in end["final_answer"]) == submitted
    assert "SECRET" not in str([end["final_answer"], *sink.tickets])


async def test_who_asks_for_a_person_reaches_one() -> None:
    """A wish for a person is a ticket with either setting, though no draft was ever judged."""
    for tickets in Tickets:
        sink = FakeSink()
        await ended(await wanting_a_person(), sink, tickets=tickets)
        assert len(sink.tickets) == 1


async def test_what_is_nobodys_business_is_not_submitted() -> None:
    """What could not be taken, was stopped by moderation, asked back before the search or declined is not passed on."""
    sink = FakeSink()
    fault: State = {"node": "moderation", "kind": "InputError", "message": "x", "key": "too_long"}
    stopped = await play(begin_turn(), ports(moderated=make_result(SafetyLevel.UNSAFE)), "moderation")
    unclear = await play(begin_turn(), ports(planned=plan(intent_confidence=0.1)), *PLANNED)
    spam = await play(begin_turn(), ports(planned=plan(spam_score=0.9)), *PLANNED)
    for tickets in Tickets:
        states = ({**begin_turn(), "error": fault}, stopped, unclear, spam)
        ends = [await ended(state, sink, tickets=tickets) for state in states]
        assert [end["result"]["outcome"] for end in ends] == ["error", "refused", "clarification", "declined"]
    assert sink.tickets == []


async def test_without_a_checkpointer_there_is_no_conversation_to_name() -> None:
    """A run that is kept nowhere is handed off all the same."""
    sink = FakeSink()
    await ended(await wanting_a_person(), sink, thread=None)
    assert (sink.tickets[0].thread_id, sink.tickets[0].turn_id) == ("", "q")


@pytest.mark.parametrize(
    "words", ["```\n# Heading\n````", "<script>alert(1)</script>", "## Hand-off: other\n- [x](http://e)"]
)
async def test_the_users_words_stay_words(words: str) -> None:
    """Whatever a user writes stands in the page as it was written, and is neither heading, link nor HTML."""
    sink = FakeSink()
    await ended(await failed(words), sink)
    tokens = MarkdownIt().parse(sink.tickets[0].text)
    assert [token.content for token in tokens if token.type == "fence"] == [f"{words}\n"]
    assert [token.tag for token in tokens if token.type == "heading_open"] == ["h1", *["h2"] * 6]
    assert not [token for token in tokens if token.type == "html_block"]


async def test_a_page_for_people_says_why_in_words() -> None:
    """Each reason of the Guardian is a sentence; the page is whole where the turn broke at once, too."""
    sink = FakeSink()
    await ended(await failed(), sink)
    await ended(
        {**begin_turn(), "error": {"node": "moderation", "kind": "ValueError", "message": "m", "key": ""}}, sink, "u"
    )
    page, broken = (ticket.text for ticket in sink.tickets)
    assert "things that its sources do not bear out" in page
    assert "broke down in the step moderation (ValueError)" in broken
    assert "When does the kettle boil?" in broken


KEPT_IN = ("Qw3rty99", "4539 1488", "4539148803436467")
TELLING = "My password: Qw3rty99! and card 4539 1488 0343 6467 fail, write to anna@firma.ru or 8 916 123-45-67"


@pytest.mark.parametrize("pages", [True, False], ids=["pages shown", "hand-off"])
async def test_the_users_own_secrets_do_not_leave_with_the_ticket(pages: bool) -> None:
    """Passwords and cards are masked in title, summary, steps, question and answer; what is needed to reply stays."""
    telling = plan(user_intent=f"Wants: {TELLING}", subqueries=[TELLING, "my password qw3rty99", "the kettle boils"])
    found = None if pages else TERSE
    sink, bound = FakeSink(), ports(planned=telling, written=Draft(DraftKind.ANSWER, DRAFTED), found=found)
    state = await play(begin_turn(TELLING), bound, *UP_TO_THE_VERDICT)
    end = await ended(failing(state), sink, tickets="wide")
    assert end["result"]["outcome"] == ("pages_shown" if pages else "handed_off")
    left = sink.tickets[0].model_dump_json() + end["final_answer"]
    assert not [value for value in KEPT_IN if value.lower() in left.lower()]
    assert sink.tickets[0].question == (
        "My password: [redacted: password-value] and card [redacted: payment-card] fail, "
        "write to anna@firma.ru or 8 916 123-45-67"
    )
    assert end["result"]["question"] == TELLING


async def test_words_that_cannot_be_masked_do_not_leave(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where masking breaks, the ticket goes without the user's words."""

    def broken(*_: object) -> str:
        raise RuntimeError

    monkeypatch.setattr("guards.outgoing.redact_ticket_text", broken)
    sink = FakeSink()
    await ended(await failed(TELLING), sink)
    [ticket] = sink.tickets
    assert ticket.question == ""
    assert "anna@firma.ru" not in ticket.model_dump_json()


async def test_a_turn_that_broke_before_it_was_read_leaves_without_secrets() -> None:
    """The message is then taken from the conversation, and masked as well."""
    sink = FakeSink()
    await ended({**begin_turn(TELLING), "error": {"node": "moderation", "kind": "E", "message": "m", "key": ""}}, sink)
    left = sink.tickets[0].model_dump_json()
    assert "anna@firma.ru" in left
    assert not [value for value in KEPT_IN if value in left]


def talk(*said: tuple[str, str], then: str, **values: Any) -> State:
    """Return the state at the beginning of a turn after others: what the user wrote, and how each ended."""
    messages: list[Any] = []
    for number, (text, outcome) in enumerate(said):
        marks = {"turn_id": f"e{number}", "outcome": outcome, "moderated": outcome == "refused"}
        messages += [HumanMessage(text, id=f"e{number}"), AIMessage("So it is.", additional_kwargs=marks)]
    state = begin_turn(then, **values)
    return {**state, "messages": [*messages, *state["messages"]]}


@pytest.mark.parametrize(
    ("language", "problem", "wish", "heading"),
    [
        (
            Language.EN,
            "How do I connect the kettle to SAP? anna@firma.ru",
            "I want a human",
            "What the user wrote before",
        ),
        (
            Language.RU,
            "Как подключить чайник к SAP? anna@firma.ru",
            "Позовите человека",
            "Что пользователь писал раньше",
        ),
    ],
)
@pytest.mark.parametrize(("outcome", "asked_back"), [("answered", 0), ("clarification", 1)])
async def test_a_wish_for_a_person_leaves_with_what_it_is_about(
    language: Language, problem: str, wish: str, heading: str, outcome: str, asked_back: int
) -> None:
    """The problem stands in an earlier message: it is in the summary, in the ticket and on its page."""
    sink, bound = FakeSink(), ports(planned=plan(wants_human=True, user_intent=wish))
    began = talk((problem, outcome), ("Thanks", "answered"), then=wish, clarify_count=asked_back)
    end = await ended(await play(began, bound, *PLANNED, context=Context(language=language)), sink, language=language)
    [ticket] = sink.tickets
    assert (ticket.question, ticket.earlier) == (wish, (problem, "Thanks"))
    assert problem in ticket.record.issue_summary
    assert f"**{ticket.record.number}**" in end["final_answer"]
    assert f"## {heading}\n" in ticket.text
    assert f"```text\n{problem}\n```" in ticket.text


async def test_an_answer_leaves_with_the_questions_that_were_asked_back() -> None:
    """A ticket whose newest message is "I don't know" says what it was that was not known."""
    sink = FakeSink()
    began = talk(
        ("What is steam?", "answered"),
        ("How do I open it?", "clarification"),
        ("all of them", "clarification"),
        then="I don't know",
        clarify_count=2,
    )
    bound = ports(planned=plan(user_intent="Unclear"), written=Draft(DraftKind.ANSWER, DRAFTED), found=TERSE)
    state = await play(began, bound, *UP_TO_THE_VERDICT)
    await ended(failing(state), sink)
    assert sink.tickets[0].record.issue_summary == "Unclear (asked before: What is steam?; How do I open it?)"


async def test_what_the_summary_says_already_is_not_said_twice() -> None:
    """A planner that names the earlier question itself is left alone, and a question of its own needs no other."""
    problem = "How do I open the lid?"
    for intent, flow in [(f"A person about: {problem}", True), ("Wants tea", False)]:
        sink = FakeSink()
        began = talk((problem, "answered"), then="Talk to a human" if flow else "When does it boil?")
        drafted = Draft(DraftKind.ANSWER, DRAFTED)
        bound = ports(planned=plan(wants_human=flow, user_intent=intent), written=drafted, found=TERSE)
        state = await play(began, bound, *(PLANNED if flow else UP_TO_THE_VERDICT))
        await ended({**state, "guardian": {}} if flow else failing(state), sink)
        assert sink.tickets[0].record.issue_summary == intent
        assert sink.tickets[0].earlier == (problem,)


async def test_earlier_messages_are_few_short_and_without_what_may_not_leave() -> None:
    """The last five, bounded, secrets masked; none of a turn that moderation stopped, which goes nowhere again."""
    sink = FakeSink()
    said = [(f"Question {n}?", "answered") for n in range(6)]
    began = talk(
        *said, ("How do I hurt somebody?", "refused"), (TELLING, "answered"), ("x" * 3000, "answered"), then="A human!"
    )
    await ended(await play(began, ports(planned=plan(wants_human=True)), *PLANNED), sink)
    [ticket] = sink.tickets
    assert [len(text) for text in ticket.earlier] == [11, 11, 11, len(ticket.earlier[3]), 1000]
    assert ticket.earlier[:3] == ("Question 3?", "Question 4?", "Question 5?")
    left = ticket.model_dump_json()
    assert "hurt somebody" not in left
    assert not [value for value in KEPT_IN if value in left]
