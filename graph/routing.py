"""Which node comes next. A router maps the outcome that a table decided; it never decides itself.

Routers are total: an exception in one would be skipped when a turn resumes, so unknown outcomes lead to `safe_exit`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, cast

from typing_extensions import TypedDict

from contracts.enums import Flow, ModerationDecision, PolicyStatus, Verdict
from contracts.state import Json


class AfterModeration(TypedDict):
    moderation: Json


class AfterSynthetic(TypedDict):
    flow: str
    request_policy: Json


class AfterDraft(TypedDict):
    searches_wanted: list[str]


class AfterVerdict(TypedDict):
    guardian: Json


def after_moderation(state: AfterModeration) -> Literal["continue", "block"]:
    """DT-001: plan the message, or refuse it at once."""
    decision = _read(state, "moderation").get("decision")
    return "continue" if decision == ModerationDecision.CONTINUE else "block"


def after_synthetic(state: AfterSynthetic) -> Literal["search", "denied", "stop"]:
    """DT-002 and the request-level policy: search, have the denial judged, or end the turn.

    A request that policy denies gets no clarification question, either.
    """
    flow = state.get("flow")
    if flow not in (Flow.GO_ON, Flow.ASK):
        return "stop"
    # Nothing at all means that no policy was asked; what cannot be read is no permission.
    never_asked = state.get("request_policy") == {}
    allowed = never_asked or _read(state, "request_policy").get("status") == PolicyStatus.OK
    if not allowed:
        return "denied"
    return "search" if flow == Flow.GO_ON else "stop"


def after_draft(state: AfterDraft) -> Literal["judge", "search"]:
    """Have the draft judged, or first run the search that the drafter requested."""
    return "search" if state.get("searches_wanted") else "judge"


def after_verdict(state: AfterVerdict) -> Literal["PASS", "RETRY", "FAIL"]:
    """DT-005: answer, retry, or end without an answer."""
    match _read(state, "guardian").get("verdict"):
        case Verdict.PASS:
            return "PASS"
        case Verdict.RETRY:
            return "RETRY"
        case _:
            return "FAIL"


def _read(state: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """Return what stands under a key; nothing where it is missing or something else than it should be."""
    value = state.get(key)
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}
