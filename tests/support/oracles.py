"""The decision tables told once more, as chains of ifs, from the specification and not from the rows.

Each takes the inputs of its table and returns the outcome in the specification's words.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from hypothesis import strategies as st

from contracts.decisions import all_tables
from contracts.decisions.engine import ChoiceColumn, DecisionTable, Number
from contracts.decisions.evidence import EvidenceRule
from contracts.decisions.exits import Exit
from contracts.decisions.output import ChannelView
from contracts.decisions.routing import Route
from contracts.decisions.verdict import Judgement

TABLES: Final = {table.id: table for table in all_tables()}


def moderation(*, state: str, mode: str, block_threshold: str, on_unavailable: str) -> str:
    """DT-001: only `enforce` ever blocks."""
    if mode != "enforce":
        return "Continue"
    if state == "Unsafe":
        return "Block"
    if state == "Controversial" and block_threshold == "controversial":
        return "Block"
    if state == "unavailable" and on_unavailable == "closed":
        return "Block"
    return "Continue"


def route(
    *,
    level: str,
    proposal: str,
    spam_score: float,
    wants_human: bool,
    intent_confidence: float,
    clarifications_left: bool,
    spam_threshold: float = 0.7,
    confidence_threshold: float = 0.6,
) -> tuple[str, str]:
    """DT-002, by its hit policy: guardian_block before block before clarify before normal."""
    if level == "Unsafe":
        return "guardian_block", "stop"
    if level == "Controversial" and proposal == "guardian_block":
        return "guardian_block", "stop"
    if spam_score >= spam_threshold:
        return "block", "stop"
    if wants_human:
        return "normal", "hand_off"
    if intent_confidence < confidence_threshold:
        return ("clarify", "ask") if clarifications_left else ("normal", "go_on")
    if level == "Controversial" and proposal == "clarify" and clarifications_left:
        return "clarify", "ask"
    return "normal", "go_on"


def tool_binding(*, turn_state: str) -> str:
    """DT-003: in the one planning exchange, and nowhere else."""
    return "offered and forced" if turn_state == "planning" else "unavailable"


def output(*, channel: str, action: str, plan_trace: str) -> set[str]:
    """DT-004: what a channel gets."""
    everything = {"user_intent", "analysis", "response", "tool_trace", "structured_data"}
    if channel == "structured_metadata":
        return everything
    if channel == "model_context" and plan_trace == "tool_result":
        return {"user_intent", "tool_trace"}
    if channel == "model_context" and plan_trace == "in_question":
        return {"user_intent", "analysis"}
    shown = everything - {"tool_trace", "structured_data"}
    if channel == "user_interface":
        shown -= {"analysis"}
        if action == "guardian_block":
            shown -= {"user_intent"}
    return shown


def verdict(  # noqa: PLR0913  # one for each column of the table
    *,
    policy: str,
    kind: str,
    substance: str,
    relevance: str,
    contract: str,
    track: str,
    retries_left: bool,
    widened: bool,
    quoting_left: bool,
) -> tuple[str, Any, str]:
    """DT-005: verdict, actions or whose they are, risk; where a draft may still be quoted, it is, before the turn ends."""
    found = _unquoted_verdict(
        policy=policy,
        kind=kind,
        substance=substance,
        relevance=relevance,
        contract=contract,
        track=track,
        retries_left=retries_left,
        widened=widened,
    )
    asked = kind == "clarification" and substance == "ok"
    stands = asked or "ESCALATE_TO_HUMAN" in found[1]
    if found[0] == "FAIL" and quoting_left and policy == "ok" and not stands:
        return "RETRY", ("REGENERATE_DRAFT", "by quoting"), found[2]
    return found


def _unquoted_verdict(
    *,
    policy: str,
    kind: str,
    substance: str,
    relevance: str,
    contract: str,
    track: str,
    retries_left: bool,
    widened: bool,
) -> tuple[str, Any, str]:
    ask, escalate = ("ASK_MINIMAL_QUESTION",), ("ESCALATE_TO_HUMAN",)
    if policy == "violated":
        return "FAIL", "the rule's own action", "high"
    if policy == "unchecked":
        return "FAIL", escalate, "high"
    if substance == "unchecked":
        return "FAIL", escalate, "high"
    if kind == "clarification":
        return "FAIL", ask, "low"
    if kind == "abstention":
        if retries_left and not widened:
            return "RETRY", ("RETRIEVE_MORE", "REFINE_QUERY"), "low"
        return "FAIL", ask, "low"
    if substance == "failed" or relevance == "failed":
        if track == "QUALITY" and retries_left:
            return "RETRY", "the findings' actions", "med"
        return "FAIL", ask, "med"
    if relevance == "doubtful":
        return "FAIL", ask, "med"
    if "unchecked" in (relevance, contract):
        return "FAIL", escalate, "high"
    if contract == "failed":
        if retries_left:
            return "RETRY", "the findings' actions", "low"
        return "FAIL", ("SAFE_REFUSAL",), "low"
    return "PASS", (), "low"


def evidence(*, request_type: str) -> tuple[set[str], str, set[str], set[str]]:
    """DT-006: required sources, how they are joined, forbidden, recommended."""
    if request_type.startswith("STATUS_"):
        recommended = {
            "STATUS_METRIC": {"policy", "neo4j"},
            "STATUS_SUMMARY": {"policy"},
            "STATUS_LIST": {"neo4j"},
        }
        return {"db"}, "and", {"doc"}, recommended[request_type]
    if request_type in ("HOWTO_POLICY", "DATA_DEFINITION"):
        return {"policy", "doc"}, "or", set(), {"db"}
    if request_type == "DESIGN_ARCH":
        return {"policy", "doc"}, "or", set(), {"db", "neo4j"}
    if request_type == "TROUBLESHOOTING":
        return {"db", "neo4j"}, "and", set(), {"policy"}
    if request_type == "KNOWLEDGE_QA":
        return {"doc", "neo4j"}, "or", set(), {"policy"}
    return set(), "and", set(), set()


def track(*, request_type: str, knowledge_track: str) -> str:
    """DT-007: CASUAL is FAST, KNOWLEDGE_QA is as set, the rest is QUALITY."""
    if request_type == "CASUAL":
        return "FAST"
    if request_type == "KNOWLEDGE_QA":
        return knowledge_track
    return "QUALITY"


def exits(
    *,
    stopped_by: str,
    last_action: str,
    policy: str,
    sources_down: bool,
    question_lacks: bool,
    clarifications_left: bool,
    pages: str,
) -> tuple[str, str, str]:
    """DT-008: what the user gets, the key of what is said, and whether people get a ticket."""
    before_a_verdict = {
        "message": ("own up to an error", "input", "no"),
        "error": ("own up to an error", "turn_error", "yes"),
        "moderation: unsafe": ("refuse", "guardian_refusal_unsafe", "no"),
        "moderation: unavailable": ("refuse", "moderation_unavailable", "no"),
        "plan: block": ("decline", "", "no"),
        "plan: guardian_block": ("refuse", "", "no"),
        "plan: clarify": ("ask", "", "no"),
        "plan: person": ("hand off", "hand_off_asked", "yes"),
    }
    if stopped_by in before_a_verdict:
        return before_a_verdict[stopped_by]
    if last_action == "REDACT_SENSITIVE":
        return "refuse", "sensitive_refusal", "where tickets are wide"
    if last_action == "SAFE_REFUSAL":
        return (
            ("refuse", "contract_refusal", "yes")
            if policy == "ok"
            else ("refuse", "policy_refusal", "where tickets are wide")
        )
    if policy != "ok":
        return "hand off", "hand_off_policy", "yes"
    person = ("hand off", "hand_off_unasked" if sources_down else "hand_off", "yes")
    if last_action != "ASK_MINIMAL_QUESTION":
        return person
    if question_lacks and clarifications_left:
        return "ask", "minimal_question", "no"
    if pages == "sure":
        return "show pages", "pages_shown", "where tickets are wide"
    if pages == "near" and not (question_lacks or sources_down):
        return "show pages", "pages_near", "yes"
    return ("hand off", "hand_off", "yes") if question_lacks else person


ORACLES: Final[dict[str, Callable[..., Any]]] = {
    "DT-001": moderation,
    "DT-002": route,
    "DT-003": tool_binding,
    "DT-004": output,
    "DT-005": verdict,
    "DT-006": evidence,
    "DT-007": track,
    "DT-008": exits,
}


def in_words(outcome: object) -> Any:
    """Say a table's outcome as the oracles say theirs."""
    match outcome:
        case Route():
            return outcome.action, outcome.flow
        case ChannelView():
            return {part for part in ChannelView.__dataclass_fields__ if getattr(outcome, part)}
        case Judgement():
            actions = outcome.take or (*outcome.actions, *(["by quoting"] if outcome.quote else []))
            return outcome.verdict, actions, outcome.risk
        case Exit():
            return outcome.kind, outcome.text, outcome.ticket
        case EvidenceRule():
            joined = "or" if outcome.any_of else "and"
            return set(outcome.required), joined, set(outcome.forbidden), set(outcome.recommended)
        case _:
            return outcome


def inputs_of(table: DecisionTable[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Draw inputs of a table; numbers often fall on a limit or right beside it."""
    edges = [near for limit in table.limits.values() for near in beside(limit)]
    columns: dict[str, st.SearchStrategy[Any]] = {}
    for name, column in table.columns.items():
        match column:
            case ChoiceColumn(members):
                columns[name] = st.sampled_from(members)
            case Number(low, high):
                columns[name] = st.floats(low, high) | st.sampled_from([low, high, *edges])
    return st.fixed_dictionaries(columns)


def beside(limit: float) -> tuple[float, float, float]:
    """Return the number right below a limit, the limit, and the number right above it."""
    from math import nextafter

    return nextafter(limit, 0.0), limit, nextafter(limit, 1.0)
