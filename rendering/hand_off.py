"""The record for the person who takes a conversation over, and the ticket that a person reads."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from contracts.decisions.evidence import could_not_ask
from contracts.enums import DeliveryStatus, Flow, HandOffOutcome, Language, Outcome, Source
from contracts.evidence import QueryTrace
from contracts.profile import Profile
from contracts.reasons import read_reason, reason_names
from contracts.report import HandOff, Ticket
from language.lexicon import is_casual, wants_person
from language.sentences import questions
from language.words import stems
from rendering.exits import name_unasked
from rendering.synthetic import contact_of
from rendering.texts import bullets, inline, say, texts

BY_OPERATOR: Final = "operator_review"
"""The reason of a ticket that an operator made of a turn in a review."""
_LONGEST_QUOTE: Final = 200
"""Characters of an earlier message in a summary."""
_WHY: Final = {
    "abstained": "why_abstained",
    "insufficient_evidence_count": "why_little",
    "low_evidence_confidence": "why_little",
    "low_source_diversity": "why_little",
    "status_request_requires_db": "why_source",
    "status_request_must_not_use_doc_as_primary": "why_source",
    "troubleshooting_requires_db_and_neo4j": "why_source",
    "knowledge_requires_doc_or_neo4j": "why_source",
    "design_policy_requires_doc_or_policy": "why_source",
    "citation_unresolvable": "why_unproven",
    "claim_without_citation": "why_unproven",
    "claim_not_entailed": "why_unproven",
    "claim_contradicted": "why_unproven",
    "value_not_in_cited_evidence": "why_unproven",
    "claim_changes_its_source": "why_unproven",
    "claim_unlike_its_source": "why_unproven",
    "value_used_wrongly": "why_unproven",
    "relevance_doubtful": "why_doubtful",
    "does_not_answer": "why_doubtful",
    "missing_required_sections": "why_form",
    "forbidden_content_detected": "why_form",
    "domain_terms_not_used": "why_form",
    "policy_violation": "why_policy",
    "could_not_check": "why_unchecked",
    "clarification_needed": "why_unclear",
    "clarification_without_question": "why_unproven",
    BY_OPERATOR: "why_review",
}
"""The Guardian's reasons in words, for people who do not know them."""


def hand_off_record(
    turn: Mapping[str, Any],
    outcome: Outcome,
    language: Language,
    earlier: Sequence[str] = (),
    *,
    person: bool = True,
    number: str = "",
) -> HandOff:
    """Sum up a turn (the keys of `FinalView`) for a person.

    Args:
        turn: The state of the turn.
        outcome: How it ended.
        language: The user's.
        earlier: The user's earlier messages, oldest first.
        person: Whether a person must act, by DT-008.
        number: What the user quotes to a person (`contracts.report.number_of`).
    """
    return HandOff(
        engineer_intervention_needed=person,
        issue_summary=_summary(turn, language, earlier),
        steps_completed=_list_steps_done(turn, language),
        next_steps=_next(turn, language) if person else _nobodys(outcome, language),
        outcome=HandOffOutcome.ESCALATION_REQUIRED if person else _WITHOUT_A_PERSON[outcome],
        number=number,
    )


_WITHOUT_A_PERSON: Final = {
    Outcome.CLARIFICATION: HandOffOutcome.USER_FOLLOWUP_NEEDED,
    Outcome.PAGES_SHOWN: HandOffOutcome.PARTIALLY_RESOLVED,
    Outcome.REFUSED: HandOffOutcome.NOT_APPLICABLE,
}


_WAITS: Final = {Outcome.PAGES_SHOWN: "ticket_wait_pages", Outcome.REFUSED: "ticket_wait_refused"}
"""What a ticket says that nobody must act on; else a question waits for the user."""


def _nobodys(outcome: Outcome, language: Language) -> list[str]:
    """Return what comes next where nobody must act: the user's next message, or nothing after a refusal."""
    if outcome is Outcome.REFUSED:
        return []
    return [say(language, "next_wait_pages" if outcome is Outcome.PAGES_SHOWN else "next_wait_user")]


def _summary(turn: Mapping[str, Any], language: Language, earlier: Sequence[str]) -> str:
    """Return what a turn is about; where its message says that only with what was asked before, with that."""
    about: str = turn["sgr_plan"].get("user_intent") or turn["question"].get("text", "")
    wish, answers = turn["flow"] == Flow.HAND_OFF, turn.get("clarify_count", 0)
    asked = [text for text in earlier if stems(text) and not (is_casual(text) or wants_person(text))]
    meant = asked[-max(answers, 1) :] if wish or answers else []
    unsaid = [inline(text, _LONGEST_QUOTE) for text in meant if any(part not in about for part in questions(text))]
    if not unsaid:
        return inline(about)
    return say(language, "summary_with_earlier", summary=inline(about), earlier="; ".join(unsaid))


def was_searched(trace: Mapping[str, Any]) -> bool:
    """Whether a query reached its source: a database is not queried if no lookup fits the question."""
    if trace["error"]:
        return False
    return trace["source"] in (Source.DOC, Source.POLICY) or bool(trace.get("lookups") or trace.get("found"))


def _list_steps_done(turn: Mapping[str, Any], language: Language) -> list[str]:
    done: list[str] = []
    if intent := turn["sgr_plan"].get("user_intent"):
        done.append(say(language, "done_understood", intent=inline(intent)))
    if traces := [trace for trace in turn["query_traces"] if was_searched(trace)]:
        sources = ", ".join(dict.fromkeys(trace["source"] for trace in traces))
        queries = "; ".join(dict.fromkeys(inline(trace["query"], 120) for trace in traces))
        done.append(say(language, "done_searched", sources=sources, queries=queries))
    if unasked := _find_unasked(turn):
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


def _find_unasked(turn: Mapping[str, Any]) -> list[Source]:
    return sorted(could_not_ask(QueryTrace.model_validate(trace) for trace in turn["query_traces"]))


_OF_DOCUMENTS: Final = frozenset(
    {
        "abstained",
        "insufficient_evidence_count",
        "low_evidence_confidence",
        "value_not_in_cited_evidence",
        "name_not_in_cited_evidence",
        "no_evidence_so_nothing_definite_may_be_claimed",
    }
)
"""Reasons after which somebody may look whether the documents have it."""


def _next(turn: Mapping[str, Any], language: Language) -> list[str]:
    steps = [say(language, "next_answer_person")]
    names = reason_names(turn["guardian"].get("reasons", []))
    unasked = _find_unasked(turn)
    if unasked:
        steps.append(say(language, "next_see_why_unasked", sources=", ".join(unasked)))
    # What was not looked at may well be there.
    elif not _OF_DOCUMENTS.isdisjoint(names):
        steps.append(say(language, "next_check_documents"))
    remarks = map(read_reason, turn["guardian"].get("advice", []))
    if missing := [remark.values for remark in remarks if remark.name == "required_source_not_connected"]:
        steps.append(say(language, "next_connect", sources=", ".join(missing[0])))
    if names and turn["draft_answer"] and "abstained" not in names:
        steps.append(say(language, "next_review_draft", reasons=", ".join(names)))
    return steps


def hand_off_ticket(turn: Mapping[str, Any], ticket: Ticket, outcome: Outcome) -> Ticket:
    """Return a ticket with the Guardian's judgement of the turn, and with its text.

    Args:
        turn: The keys of `FinalView`, with secrets removed.
        ticket: The ticket without these.
        outcome: How the turn ended.
    """
    guardian = turn["guardian"]
    judged = {"verdict": guardian.get("verdict", ""), "reasons": tuple(reason_names(guardian.get("reasons", [])))}
    ticket = ticket.model_copy(update=judged)
    return ticket.model_copy(update={"text": ticket_text(turn, ticket, outcome)})


def ticket_text(turn: Mapping[str, Any], ticket: Ticket, outcome: Outcome) -> str:
    """Write a hand-off as Markdown, for a person who does not know the conversation.

    It quotes the user's words as written, and nothing of a draft that did not pass.

    Args:
        turn: The keys of `FinalView`.
        ticket: The ticket without this text.
        outcome: How the turn ended.
    """
    record, language = ticket.record, ticket.language
    words = texts(language)
    parts = (
        say(language, "ticket_title", summary=record.issue_summary),
        words["ticket_act" if record.engineer_intervention_needed else _WAITS.get(outcome, "ticket_wait")],
        say(language, "ticket_asked", role=inline(ticket.role), question=_verbatim(ticket.question)),
        say(language, "ticket_earlier", messages="\n\n".join(map(_verbatim, ticket.earlier))) if ticket.earlier else "",
        say(language, "ticket_done", steps=bullets(record.steps_completed)) if record.steps_completed else "",
        say(language, "ticket_why", reasons=bullets(_why(turn, ticket.reasons, language))),
        say(language, "ticket_told", answer=_quote(ticket.answer)),
        say(language, "ticket_next", steps=bullets(record.next_steps)),
        say(
            language,
            "ticket_ids",
            number=record.number or words["none_given"],
            thread=inline(ticket.thread_id) or words["none_given"],
            turn=inline(ticket.turn_id),
            names=", ".join(ticket.reasons) or words["none_given"],
        ),
    )
    return "\n\n".join(filter(None, parts)) + "\n"


def _why(turn: Mapping[str, Any], names: Iterable[str], language: Language) -> list[str]:
    if error := turn["error"]:
        return [say(language, "why_stopped", node=inline(error["node"]), kind=inline(error["kind"]))]
    if turn["flow"] == Flow.HAND_OFF:
        return [texts(language)["why_asked"]]
    return list(dict.fromkeys(texts(language)[_WHY.get(name, "why_other")] for name in names))


def _quote(markdown: str) -> str:
    return "\n".join(f"> {line}".rstrip() for line in markdown.split("\n"))


def _verbatim(text: str) -> str:
    """Show words as they are: inside a fence that is longer than any in them, nothing means anything."""
    fence = "`" * max([3, *(len(run) + 1 for run in re.findall("`+", text))])
    return f"{fence}text\n{text}\n{fence}"


def hand_off_text(
    number: str,
    language: Language,
    profile: Profile,
    key: str,
    unasked: Iterable[Source] = (),
    delivery: DeliveryStatus | None = None,
    missing: str = "",
) -> str:
    """Write what the user reads when a person takes over: one sentence, the contact, and the number to quote.

    What was done and what is to be done is in the record, for the receiver and operators.

    Args:
        number: The hand-off's; without one, nothing is to be quoted.
        language: The user's.
        profile: The deployment's profile.
        key: The text's key, by DT-008: by request, by a rule, because sources did not answer, or another.
        unasked: The sources that did not answer.
        delivery: What became of the ticket; `None` if no sink accepted it.
        missing: Why there is no answer, as the beginning of a sentence; only for the key `hand_off`.
    """
    words = texts(language)
    if missing and key == "hand_off":
        why = say(language, "hand_off_missing", missing=missing)
    else:
        why = say(language, key, unasked=name_unasked(frozenset(unasked), language))
    sentence = f"{why[:1].upper()}{why[1:]}; {words[_THEN[delivery]]}"
    lines = [say(language, "hand_off_contact", contact=contact_of(profile, language))]
    if number:
        lines.append(say(language, "hand_off_number", number=number))
    return f"{sentence}\n\n{bullets(lines)}"


_THEN: Final = {
    None: "turn_to_contact",
    DeliveryStatus.DELIVERED: "passed_on",
    DeliveryStatus.KEPT: "will_be_passed_on",
}


def with_delivery(text: str, delivery: DeliveryStatus, language: Language, number: str) -> str:
    """Add to a refusal or an error that people are informed, and under which number."""
    key = "also_passed_on" if delivery is DeliveryStatus.DELIVERED else "will_also_be_passed_on"
    quoted = f" {say(language, 'also_number', number=number)}" if number else ""
    return f"{text}\n\n{texts(language)[key]}{quoted}"
