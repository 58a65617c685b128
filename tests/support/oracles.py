"""The decision tables told once more, as chains of ifs, from the specification and not from the rows.

Each takes the inputs of its table and returns the outcome in the specification's words.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from hypothesis import strategies as st

from contracts.decisions import all_tables
from contracts.decisions.engine import Choice, DecisionTable, Number
from contracts.decisions.evidence import EvidenceRule
from contracts.decisions.output import Shown
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


def routing(
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


def output(*, channel: str, action: str) -> set[str]:
    """DT-004: what a channel gets."""
    everything = {"user_intent", "analysis", "response", "tool_trace", "structured_data"}
    if channel == "structured_metadata":
        return everything
    shown = everything - {"tool_trace", "structured_data"}
    if channel == "user_interface":
        shown -= {"analysis"}
        if action == "guardian_block":
            shown -= {"user_intent"}
    return shown


def verdict(
    *, policy: str, kind: str, substance: str, contract: str, track: str, retries_left: bool, widened: bool
) -> tuple[str, Any, str]:
    """DT-005: verdict, actions or whose they are, risk."""
    ask, escalate = ("ASK_MINIMAL_QUESTION",), ("ESCALATE_TO_HUMAN",)
    if policy == "violated":
        return "FAIL", "the rule's own action", "high"
    if policy == "unchecked":
        return "FAIL", escalate, "high"
    if kind == "clarification":
        return "FAIL", ask, "low"
    if substance == "unchecked":
        return "FAIL", escalate, "high"
    if kind == "abstention":
        if retries_left and not widened:
            return "RETRY", ("RETRIEVE_MORE", "REFINE_QUERY"), "low"
        return "FAIL", ask, "low"
    if substance == "failed":
        if track == "QUALITY" and retries_left:
            return "RETRY", "the findings' actions", "med"
        return "FAIL", ask, "med"
    if contract == "unchecked":
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


ORACLES: Final[dict[str, Callable[..., Any]]] = {
    "DT-001": moderation,
    "DT-002": routing,
    "DT-003": tool_binding,
    "DT-004": output,
    "DT-005": verdict,
    "DT-006": evidence,
    "DT-007": track,
}


def in_words(outcome: object) -> Any:
    """Say a table's outcome as the oracles say theirs."""
    match outcome:
        case Route():
            return outcome.action, outcome.flow
        case Shown():
            return {part for part in Shown.__dataclass_fields__ if getattr(outcome, part)}
        case Judgement():
            return outcome.verdict, outcome.take or outcome.actions, outcome.risk
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
            case Choice(members):
                columns[name] = st.sampled_from(members)
            case Number(low, high):
                columns[name] = st.floats(low, high) | st.sampled_from([low, high, *edges])
    return st.fixed_dictionaries(columns)


def beside(limit: float) -> tuple[float, float, float]:
    """Return the number right below a limit, the limit, and the number right above it."""
    from math import nextafter

    return nextafter(limit, 0.0), limit, nextafter(limit, 1.0)
