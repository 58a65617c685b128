"""The record that goes to the person who takes a conversation over."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from contracts.decisions.evidence import could_not_ask
from contracts.evidence import QueryTrace
from contracts.report import HandOff
from contracts.values import HandOffOutcome, Language, Outcome, Source
from rendering.reasons import reason_names
from rendering.texts import inline, say


def hand_off_record(turn: Mapping[str, Any], outcome: Outcome, language: Language) -> HandOff:
    """Sum up a turn (the keys of `FinalView`) that a person has to look at."""
    person = outcome is not Outcome.CLARIFICATION
    return HandOff(
        engineer_intervention_needed=person,
        issue_summary=inline(turn["sgr_plan"].get("user_intent") or turn["question"].get("text", "")),
        steps_completed=_done(turn, language),
        next_steps=_next(turn, outcome, language),
        outcome=HandOffOutcome.ESCALATION_REQUIRED if person else HandOffOutcome.USER_FOLLOWUP_NEEDED,
    )


def was_searched(trace: Mapping[str, Any]) -> bool:
    """Tell whether a query reached its source: a database is not asked where no lookup fits the question."""
    if trace["error"]:
        return False
    return trace["source"] in (Source.DOC, Source.POLICY) or bool(trace.get("lookups") or trace.get("found"))


def _done(turn: Mapping[str, Any], language: Language) -> list[str]:
    done: list[str] = []
    if intent := turn["sgr_plan"].get("user_intent"):
        done.append(say(language, "done_understood", intent=inline(intent)))
    if traces := [trace for trace in turn["query_traces"] if was_searched(trace)]:
        sources = ", ".join(dict.fromkeys(trace["source"] for trace in traces))
        queries = "; ".join(dict.fromkeys(inline(trace["query"], 120) for trace in traces))
        done.append(say(language, "done_searched", sources=sources, queries=queries))
    if unasked := _unasked(turn):
        done.append(say(language, "done_unasked", sources=", ".join(unasked)))
    if evidence := turn["evidence"]:
        titles = ", ".join(dict.fromkeys(inline(item["title"] or item["ref"], 80) for item in evidence))
        done.append(say(language, "done_found", count=len(evidence), titles=titles))
    names = reason_names(turn["guardian"].get("reasons", []))
    # A request that policy denied was judged, but nothing was drafted.
    if names and turn["draft_answer"]:
        done.append(say(language, "done_drafted", count=turn["retry_count"] + 1, reasons=", ".join(names)))
    if asked := turn.get("clarify_count", 0):
        done.append(say(language, "done_clarified", count=asked))
    return done


def _unasked(turn: Mapping[str, Any]) -> list[Source]:
    return sorted(could_not_ask(QueryTrace.model_validate(trace) for trace in turn["query_traces"]))


def _next(turn: Mapping[str, Any], outcome: Outcome, language: Language) -> list[str]:
    if outcome is Outcome.CLARIFICATION:
        return [say(language, "next_wait_user")]
    steps = [say(language, "next_answer_person")]
    names = reason_names(turn["guardian"].get("reasons", []))
    unasked = _unasked(turn)
    if unasked:
        steps.append(say(language, "next_see_why_unasked", sources=", ".join(unasked)))
    # What was not looked at may well be there.
    elif "abstained" in names or any("evidence" in name for name in names):
        steps.append(say(language, "next_check_documents"))
    missing = [remark for remark in turn["guardian"].get("advice", []) if remark.startswith("required_source_not")]
    if missing:
        steps.append(say(language, "next_connect", sources=missing[0].partition("[")[2].rstrip("]")))
    if names and turn["draft_answer"] and "abstained" not in names:
        steps.append(say(language, "next_review_draft", reasons=", ".join(names)))
    return steps
