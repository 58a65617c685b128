"""What holds for every turn, whatever a model says: the specification, one rule a function. Each asserts."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from itertools import pairwise
from typing import Any, Final

from langchain_core.messages import HumanMessage

from adapters.drafting.replies import tidy
from adapters.models.wire import plain_text_of
from contracts.decisions import all_tables, routing_table
from contracts.decisions.engine import ChoiceColumn, DecisionTable
from contracts.enums import (
    CallPurpose,
    CheckStatus,
    DraftKind,
    Flow,
    ModerationState,
    Outcome,
    PlanTrace,
    PolicyStatus,
    RequestType,
    SGRAction,
    Verdict,
)
from contracts.evidence import EvidenceItem
from contracts.plan import PLAN_TOOL, SGRPlanResult
from contracts.report import DecisionRecord
from contracts.result import StructuredAgentResult
from contracts.state import MESSAGE_WINDOW
from guards.grounding_check import check_grounding
from guards.policy_check import check_answer
from language.claims import claims
from language.figures.comparison import missing_from
from rendering.answers import source_line
from tests.support.llama.desk import CASUAL, Played
from tests.support.profiles import make_profile

DOMAINS: Final = ("desk.example",)


def it_ends_in_an_outcome(turn: Played) -> None:
    """A turn ends as one of the outcomes with something to read, and nothing broke on the way (section 1)."""
    assert turn.result.outcome in Outcome
    assert turn.result.outcome is not Outcome.ERROR, turn.raw["answer_text"]
    assert turn.result.answer_text.strip()
    assert turn.state["error"] == {}


def its_result_is_valid(turn: Played) -> None:
    """The result is a `StructuredAgentResult`, whole: reading and writing it changes nothing (section 9)."""
    assert StructuredAgentResult.model_validate(turn.raw).model_dump(mode="json") == turn.raw
    assert (turn.result.thread_id, turn.result.turn_id) == (turn.thread, turn.turn_id)


def only_pass_is_answered(turn: Played) -> None:
    """Nothing reaches `finalize` without PASS, and whatever passed is answered, small talk, too (section 1)."""
    last = turn.result.guardian.verdict if turn.result.guardian else None
    assert (turn.result.outcome is Outcome.ANSWERED) == (last is Verdict.PASS)


def verdicts_say_why(turn: Played) -> None:
    """PASS has no reasons and no actions; RETRY and FAIL have at least one of each (section 3)."""
    reports = [(r.verdict, r.reasons, r.required_actions) for r in turn.verdicts]
    if turn.result.guardian:
        report = turn.result.guardian
        reports.append((report.verdict, tuple(report.reasons), tuple(report.required_actions)))
    for verdict, reasons, actions in reports:
        assert bool(reasons) == bool(actions) == (verdict != Verdict.PASS)


def retries_are_few_and_each_was_asked_for(turn: Played) -> None:
    """A draft is tried again where the verdict is RETRY, at most `max_retry` times and once more by quoting (DT-005)."""
    verdicts = [report.verdict for report in turn.verdicts]
    quoted = [line for line in turn.result.decisions if line.table == "DT-005" and "by quoting" in line.outcome]
    assert len(quoted) <= 1
    assert turn.result.diagnostics.retries == verdicts.count(Verdict.RETRY) <= turn.context.max_retry + len(quoted)
    assert Verdict.RETRY not in verdicts[-1:]
    assert Verdict.FAIL not in verdicts[:-1]
    assert Verdict.PASS not in verdicts[:-1]


def decisions_are_the_tables_own(turn: Played) -> None:
    """Every decision names a table and a row, and the table decides the recorded inputs alike (section 3)."""
    for line in turn.result.decisions:
        decided = _table(line).decide(**_inputs(line))
        assert (decided.row, str(decided.outcome)) == (line.row, line.outcome)
        assert dict(decided.limits) == line.limits


def decisions_are_all_there(turn: Played) -> None:
    """DT-001, and unless it blocks DT-003, DT-002, DT-007 and DT-004; DT-006 and DT-005 for each draft; DT-008 without an answer.

    Where policy denies the request, nothing is drafted, and DT-005 alone judges it; so it is with one that was to be asked
    back about. What a drafting model is shown is decided by DT-003 and DT-004 in the node `draft`.
    """
    made = [line.table for line in turn.result.decisions if line.node not in ("draft", "safe_exit")]
    ended = [line.table for line in turn.result.decisions if line.node == "safe_exit"]
    assert ended == ([] if turn.result.outcome is Outcome.ANSWERED else ["DT-008"])
    shown = {line.table for line in turn.result.decisions if line.node == "draft"}
    assert shown <= {"DT-003", "DT-004"}
    planned = [] if turn.stopped else ["DT-003", "DT-002", "DT-007", "DT-004"]
    drafted = turn.result.guardian is not None and turn.result.guardian.draft
    judged = ["DT-006", "DT-005"] if drafted else ["DT-005"]
    assert made == ["DT-001", *planned, *judged * len(turn.verdicts)]
    assert (turn.result.flow is Flow.GO_ON or _denied(turn)) == bool(turn.verdicts)


def _denied(turn: Played) -> bool:
    """Whether policy stopped the request, and not a draft of it."""
    report = turn.result.guardian
    return report is not None and not report.draft and any(r.startswith("policy_violation") for r in report.reasons)


def the_turn_went_where_the_decisions_say(turn: Played) -> None:
    """Action, flow, track and outcome are those that were decided; a disagreement of the model is on record."""
    result = turn.result
    if turn.stopped:
        assert (result.outcome, result.action, result.plan) == (Outcome.REFUSED, None, None)
        return
    routed, tracked = result.decisions[2], result.decisions[3]
    assert routed.outcome == f"{result.action}, {result.flow}"
    assert tracked.outcome == result.track
    assert result.plan is not None
    assert result.proposed_action == (result.plan.action if result.plan.action is not result.action else None)
    assert routed.proposed == result.proposed_action
    expected = {
        (SGRAction.CLARIFY, Flow.ASK): Outcome.REFUSED if _denied(turn) else Outcome.CLARIFICATION,
        (SGRAction.BLOCK, Flow.STOP): Outcome.DECLINED,
        (SGRAction.GUARDIAN_BLOCK, Flow.STOP): Outcome.REFUSED,
        (SGRAction.NORMAL, Flow.HAND_OFF): Outcome.HANDED_OFF,
    }
    assert result.action is not None
    assert result.flow is not None
    assert result.outcome == expected.get((result.action, result.flow), result.outcome)


def a_blocked_message_is_planned_by_nobody(turn: Played) -> None:
    """DT-001's Block: no request to the model in that turn, and nothing of the message in any later one."""
    if turn.stopped:
        assert turn.asked == []
        assert [call.purpose for call in turn.result.diagnostics.calls] == [CallPurpose.MODERATION]
    for before in turn.earlier:
        if before.stopped and before.question not in CASUAL:
            word = re.search(r"zq\w+", before.question)
            assert word
            assert not any(word.group().encode() in exchange.request for exchange in turn.asked)


def unsafe_is_never_worked_on(turn: Played) -> None:
    """An unsafe message is blocked where moderation enforces, and refused after planning where it only reports (DT-001, DT-002)."""
    assert turn.result.moderation is not None
    if turn.result.moderation.state is ModerationState.UNSAFE:
        assert turn.result.outcome is Outcome.REFUSED
        assert turn.stopped == (turn.context.guard_mode == "enforce")
        assert turn.drafting == []


def the_plan_is_within_bounds(turn: Played) -> None:
    """Whatever the model wrote, the plan that was accepted keeps every bound of section 2."""
    plan = turn.result.plan
    if plan is None:
        return
    for score in (plan.spam_score, plan.intent_confidence):
        assert isinstance(score, float)
        assert 0 <= score <= 1
    assert len(plan.spam_reason) <= 150
    assert len(plan.user_intent) <= 300
    assert len(plan.clarification_question or "") <= 300
    assert 1 <= len(plan.subqueries) <= 10
    assert len(set(plan.subqueries)) == len(plan.subqueries)
    assert len(plan.action_plan) <= 10
    assert len(plan.uncertainties) <= 5
    assert plan.topic
    assert plan.category
    assert plan.answer_language
    assert plan.request_type is not RequestType.CASUAL or turn.question in CASUAL


def a_plan_that_is_not_the_models_says_so(turn: Played) -> None:
    """The plan is what the model's last call says, or the offline planner's and then `degraded` (section 2)."""
    if turn.result.plan is None:
        return
    degraded = [part for part in turn.result.diagnostics.degraded if part.startswith("plan:")]
    trace = turn.result.tool_trace
    if degraded:
        assert trace["planner"] == "offline"
        assert all("The model 'tiny'" in part for part in degraded)
        return
    assert (trace["planner"], trace["model"], trace["tool"]) == ("model", "tiny", PLAN_TOOL)
    message = turn.planning[-1].answered["choices"][0]["message"]
    [call] = message.get("tool_calls") or [{"function": {"name": PLAN_TOOL, "arguments": message["content"]}}]
    assert call["function"]["name"] == PLAN_TOOL
    said = json.loads(call["function"]["arguments"])
    assert said == json.loads(trace["raw"])
    for name in ("spam_score", "intent_confidence", "wants_human", "action"):
        assert said[name] == getattr(SGRPlanResult.model_validate(trace["arguments"]), name)
    # Only CASUAL and what was left out are settled by us.
    casual = turn.result.request_type is RequestType.CASUAL
    assert casual or turn.result.plan.spam_score == said["spam_score"]
    assert turn.result.plan.intent_confidence == said["intent_confidence"]


def a_draft_that_is_not_the_models_says_so(turn: Played) -> None:
    """The draft is what the model wrote last, but for the form of its citations; else it is `degraded`, or small talk."""
    degraded = any(part.startswith("draft:") for part in turn.result.diagnostics.degraded)
    if turn.result.request_type is RequestType.CASUAL:
        assert turn.drafting == []
        assert not degraded
    elif turn.drafting and not degraded:
        written = turn.drafting[-1].answered["choices"][0]["message"]["content"].strip()
        assert turn.state["draft_answer"] in (written, tidy(written))
    elif turn.verdicts and not degraded:
        # Denied by policy: judged without a search or a draft.
        assert turn.state["request_policy"]["status"] == PolicyStatus.VIOLATED
        assert turn.state["draft_answer"] == ""


def the_answer_is_grounded(turn: Played) -> None:
    """Every `[n]` resolves to this turn's evidence, and every value of a claim occurs in what it cites (section 3)."""
    if turn.result.outcome is not Outcome.ANSWERED or turn.result.request_type is RequestType.CASUAL:
        return
    evidence = turn.result.evidence
    found = check_grounding(
        turn.state["draft_answer"],
        evidence,
        request_type=turn.result.request_type or RequestType.KNOWLEDGE_QA,
        kind=DraftKind.ANSWER,
    )
    assert found.status is CheckStatus.OK
    body, sources = _answer_and_sources(turn)
    # What is left open is said in the user's own words, and claims nothing.
    body = re.sub(r"^_(?:I found no sure answer to|Уверенного ответа на) .*_$", "", body, flags=re.MULTILINE)
    assert all(claim.cites for claim in claims(turn.state["draft_answer"]))
    for claim in claims(body):
        # A block of one source cites it once, behind all of its claims.
        cited = "\n".join(item.model_dump_json() for number in claim.cites or sources for item in sources[number])
        assert missing_from(claim.text, cited) == []
        numbers = re.findall(r"\d+", re.sub(r"\[\d+\]", "", claim.text))
        assert all(number in cited for number in numbers)


def no_link_leads_away(turn: Played) -> None:
    """What the user reads links to allowed domains only, but for links of the user's own, and has no secret (sections 3 and 8)."""
    own = re.findall(r"https?://[\w.]+", turn.question)
    # An answer is the assistant's word alone; what was understood may be quoted where a turn ends without one.
    allowed = DOMAINS if turn.result.outcome is Outcome.ANSWERED else (*DOMAINS, *(url.split("/")[2] for url in own))
    assert (
        check_answer(turn.result.answer_text, make_profile(allowed_link_domains=allowed), "user").status
        is PolicyStatus.OK
    )


def questions_in_a_row_are_few(turn: Played) -> None:
    """At most `max_clarifications` questions in a row, by whatever way they came about (section 4)."""
    row = 0
    for played in (*turn.earlier, turn):
        row = row + 1 if played.result.outcome is Outcome.CLARIFICATION else 0
    assert row <= turn.context.max_clarifications
    assert turn.state["clarify_count"] == row


def the_history_holds_what_was_said_and_seen(turn: Played) -> None:
    """The state's messages are the users' words and what the users saw, the newest twenty, and nothing else (section 5)."""
    said = [text for played in (*turn.earlier, turn) for text in (played.question, played.result.answer_text)]
    assert [message.text for message in turn.state["messages"]] == said[-MESSAGE_WINDOW:]
    assert [message.type for message in turn.state["messages"]][-2:] == ["human", "ai"]
    assert not any(getattr(message, "tool_calls", []) for message in turn.state["messages"])


def on_the_wire(text: str) -> str:
    """Return a text as it is sent: with what a tokenizer could read as the border of a message broken up."""
    return plain_text_of(HumanMessage(text))


def requests_carry_the_history_and_nothing_else(turn: Played) -> None:
    """Between system prompt and question stand the turns that moderation let pass, as they were said and seen (section 5).

    A draft must not know what policy denied; a plan may read it, to see that it is asked again.
    """
    said = [(played, text) for played in turn.earlier for text in (played.question, played.result.answer_text)]
    # The window counts this question, too, and what it cut from must not begin with an answer.
    newest = said[-(MESSAGE_WINDOW - 1) :]
    begins = next((i for i, (played, text) in enumerate(newest) if text == played.question and not played.stopped), 0)
    let_pass = [(played, on_the_wire(text)) for played, text in newest[begins:] if not played.stopped]
    for exchange in turn.asked:
        drafts = exchange in turn.drafting
        history = [text for played, text in let_pass if not (drafts and _denied(played))]
        sent = [message["content"] for message in exchange.asked["messages"] if message["role"] != "system"]
        assert sent[: len(history)] == history
        assert on_the_wire(turn.question) in sent[len(history)]


def requests_have_the_shape_that_all_servers_take(turn: Played) -> None:
    """System first and once, then user and assistant in turns, a user or a tool's result last; all were taken (section 5)."""
    for exchange in turn.asked:
        assert exchange.status == 200
        system, *talk = exchange.asked["messages"]
        roles = [message["role"] for message in talk]
        assert system["role"] == "system"
        assert roles[0] == "user"
        assert roles[-1] == "user"
        assert "system" not in roles
        assert all(one != other for one, other in pairwise(roles))
        assert not any("name" in message for message in talk)
    for exchange in turn.judged:
        assert [message["role"] for message in exchange.asked["messages"]] == ["user"]


def the_planning_tool_is_offered_in_planning_only(turn: Played) -> None:
    """DT-003: no request for a draft offers it; and with the synthetic trace none has its call or its JSON (section 5)."""
    for exchange in turn.drafting:
        offered = [tool["function"]["name"] for tool in exchange.asked.get("tools", [])]
        assert offered in ([], ["search_kb"])
        assert not offered or turn.context.search_by == "model"
        if turn.context.plan_trace is PlanTrace.SYNTHETIC:
            sent = [message for message in exchange.asked["messages"] if message["role"] != "user"]
            assert not any("tool_calls" in message or message["role"] == "tool" for message in sent)
            # The user's own words are data, also where they look like a call, and what is said of them may quote them.
            said = "".join(played.question for played in (*turn.earlier, turn))
            marks = [mark for mark in (PLAN_TOOL, '"spam_score"') if mark not in said]
            assert not any(mark in str(message["content"]) for message in sent for mark in marks)
            assert turn.result.synthetic_analysis in sent[-1]["content"]
    for exchange in turn.planning:
        offered = [tool["function"]["name"] for tool in exchange.asked.get("tools", [])]
        assert offered == [PLAN_TOOL] or exchange.asked["response_format"]["json_schema"]["name"] == PLAN_TOOL


def no_analysis_outlives_its_turn(turn: Played) -> None:
    """The analysis of an earlier turn is in no request of a later one (section 5)."""
    sent = "".join(str(message["content"]) for exchange in turn.asked for message in exchange.asked["messages"])
    for before in turn.earlier:
        analysis = before.result.synthetic_analysis
        assert not analysis or analysis == turn.result.synthetic_analysis or analysis not in sent


def every_call_is_on_record(turn: Played) -> None:
    """The diagnostics have each request that went over the wire, in order, with the server's own figures (section 9)."""
    figures = turn.result.diagnostics
    wire = [*turn.judged, *turn.asked]
    assert figures.model_calls == len(figures.calls) == len(wire)
    for call, exchange in zip(figures.calls, wire, strict=True):
        assert call.purpose == _purpose(turn, exchange)
        assert call.http_status == exchange.status
        usage = exchange.answered["usage"]
        assert (call.prompt_tokens, call.completion_tokens) == (usage["prompt_tokens"], usage["completion_tokens"])
        assert call.finish_reason == exchange.answered["choices"][0]["finish_reason"]
    assert figures.tokens["prompt"] == sum(exchange.answered["usage"]["prompt_tokens"] for exchange in wire)
    assert figures.answer_ms is not None
    assert sum(call.ms for call in figures.calls) <= figures.answer_ms


def the_moderator_is_believed(turn: Played) -> None:
    """The level is what the guard model's Safety line says; it was asked once, and of the message alone (section 7)."""
    [exchange] = turn.judged
    assert turn.result.moderation is not None
    reply = exchange.answered["choices"][0]["message"]["content"]
    assert reply.split("\n")[0] == f"Safety: {turn.result.moderation.safety_level}"
    assert exchange.asked["messages"][0]["content"] == on_the_wire(turn.question)


def the_state_stays_small(turn: Played) -> None:
    """No checkpoint has more than twenty messages; all other lists are of one turn, and do not grow with the conversation."""
    assert turn.longest <= MESSAGE_WINDOW
    # Three attempts of a message with several questions, each asked of four sources.
    assert all(len(value) <= 3 * MESSAGE_WINDOW for value in turn.state.values() if isinstance(value, list))


def a_repeat_costs_nothing(turn: Played) -> None:
    """The same message under the same id gets the same result, and nobody is asked."""
    assert turn.again == turn.raw
    assert turn.asked_again == 0


ALL: Final[tuple[Callable[[Played], None], ...]] = (
    it_ends_in_an_outcome,
    its_result_is_valid,
    only_pass_is_answered,
    verdicts_say_why,
    retries_are_few_and_each_was_asked_for,
    decisions_are_the_tables_own,
    decisions_are_all_there,
    the_turn_went_where_the_decisions_say,
    a_blocked_message_is_planned_by_nobody,
    unsafe_is_never_worked_on,
    the_plan_is_within_bounds,
    a_plan_that_is_not_the_models_says_so,
    a_draft_that_is_not_the_models_says_so,
    the_answer_is_grounded,
    no_link_leads_away,
    questions_in_a_row_are_few,
    the_history_holds_what_was_said_and_seen,
    requests_carry_the_history_and_nothing_else,
    requests_have_the_shape_that_all_servers_take,
    the_planning_tool_is_offered_in_planning_only,
    no_analysis_outlives_its_turn,
    every_call_is_on_record,
    the_moderator_is_believed,
    the_state_stays_small,
    a_repeat_costs_nothing,
)


def _table(line: DecisionRecord) -> DecisionTable[Any]:
    if line.table == "DT-002":
        return routing_table(**line.limits)
    [table] = [table for table in all_tables() if table.id == line.table]
    return table


def _inputs(line: DecisionRecord) -> dict[str, Any]:
    """Return recorded inputs as a table takes them: words become members again."""
    columns = _table(line).columns
    return {name: _member(columns[name], value) for name, value in line.inputs.items()}


def _member(column: object, value: str | float | bool) -> Any:
    if isinstance(column, ChoiceColumn) and isinstance(value, str):
        [member] = [member for member in column.members if str(member) == value]
        return member
    return value


def _answer_and_sources(turn: Played) -> tuple[str, dict[int, list[EvidenceItem]]]:
    """Return the answer without its list of sources, and the evidence behind each number of that list."""
    heading = "**Sources**" if turn.result.language == "en" else "**Источники**"
    body, _, listed = turn.result.answer_text.rpartition(heading)
    body = re.split(r"\n\n\*\*(?:See also|См\. также)\*\*\n", body)[0]
    lines = [line.removeprefix("- ") for line in listed.strip().split("\n")]
    sources = {
        number: [i for i in turn.result.evidence if source_line(number, i, turn.result.language, DOMAINS) == line]
        for number, line in enumerate(lines, 1)
    }
    assert all(sources.values())
    return re.sub(r"\A_[^\n]*_\n\n", "", body), sources


def _purpose(turn: Played, exchange: Any) -> CallPurpose:
    if exchange in turn.judged:
        return CallPurpose.MODERATION
    return CallPurpose.DRAFT if exchange in turn.drafting else CallPurpose.PLAN
