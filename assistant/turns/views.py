"""The two views of a turn (DT-004): the user's view, and the view of roles with `operator_view`.

Every interface that shows turns to people sends one of these. A view does not contain what it hides.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from pydantic import BaseModel, ConfigDict

from assistant.turns.events import NodeStarted, TurnEvent, Understood
from contracts.choices import Choice
from contracts.enums import DeliveryStatus, Language, Outcome, ResponseFormat, Verdict
from contracts.evidence import EvidenceItem
from contracts.profile import Profile
from contracts.result import CitedSource, StructuredAgentResult
from rendering.answers import answer_sources, citation_numbers, cited_passages, shown_to_users
from rendering.hand_off import was_searched


class UserView(BaseModel):
    """All of a turn that its user gets: the understood intent, and the answer with its sources.

    Attributes:
        intent: Empty if moderation or DT-002 refused the message, or if nothing was planned.
        answer: Markdown, or JSON if the profile's contract says so; exactly `answer_text` of the result.
        hand_off: The outcome of a hand-off; `None` if there is none, or no destination for it.
        hand_off_number: What the user quotes to a person; empty if nothing was handed off.
        choices: The choices if the assistant asked a question back, in the order of the numbers in `answer`. The next
            message may be such a number or a label.
    """

    model_config = ConfigDict(frozen=True)

    thread_id: str
    turn_id: str
    language: Language
    outcome: Outcome
    intent: str = ""
    answer: str
    sources: tuple[CitedSource, ...] = ()
    hand_off: DeliveryStatus | None = None
    hand_off_number: str = ""
    choices: tuple[Choice, ...] = ()


class Answer(UserView):
    """What a program gets of a turn: the user's view, the verdict and, for roles that may see it, the whole result.

    Attributes:
        verdict: The verdict on the last draft; `None` if no draft was judged.
        result: `None` for roles without `operator_view`.
    """

    verdict: Verdict | None = None
    result: StructuredAgentResult | None = None


class Stage(StrEnum):
    """The stage of a running turn, as its user sees it."""

    CHECKING_MESSAGE = "moderation"
    UNDERSTANDING = "sgr_plan"
    SEARCHING = "retrieve"
    DRAFTING = "draft"
    CHECKING = "guardian_verify"
    RETRYING = "retry_bump"


class UserProgress(BaseModel):
    """One step of a turn, as its user may see it: a stage, or the intent once it is understood."""

    model_config = ConfigDict(frozen=True)

    turn_id: str
    stage: Stage | None = None
    intent: str = ""


def user_view(result: StructuredAgentResult, profile: Profile) -> UserView:
    """Return the user's view of a turn."""
    handed = result.hand_off
    told = result.outcome is Outcome.HANDED_OFF or result.hand_off_delivery is not None
    return UserView(
        thread_id=result.thread_id,
        turn_id=result.turn_id,
        language=result.language,
        outcome=result.outcome,
        intent=_intent(result),
        answer=result.answer_text,
        sources=cited_sources(result, profile),
        hand_off=result.hand_off_delivery,
        hand_off_number=handed.number if handed and told else "",
        choices=tuple(result.choices),
    )


def answer(result: StructuredAgentResult, profile: Profile, role: str) -> Answer:
    """Return what a program of a given role gets of a turn."""
    return Answer(
        **dict(user_view(result, profile)),
        verdict=result.guardian.verdict if result.guardian else None,
        result=result if profile.sees_all(role) else None,
    )


def cited_sources(result: StructuredAgentResult, profile: Profile) -> tuple[CitedSource, ...]:
    """Return the sources that an answer cites, by the answer's numbers, and the pages that it shows; else nothing."""
    if result.outcome is Outcome.PAGES_SHOWN:
        return tuple(CitedSource.model_validate(page.model_dump(exclude={"sentence", "ref"})) for page in result.pages)
    if result.outcome is not Outcome.ANSWERED or result.guardian is None or not result.guardian.draft:
        return ()
    found = answer_sources(*_cited_with(result, profile))
    return tuple(CitedSource.model_validate(entry) for entry in found)


def shown_numbers(result: StructuredAgentResult, profile: Profile) -> dict[int, int]:
    """Return the number in the answer of each passage that it cites or shows, by the passage's number in the draft."""
    if result.pages:
        shown = {page.ref: page.number for page in result.pages}
        return {place: shown[item.ref] for place, item in enumerate(result.evidence, 1) if item.ref in shown}
    if result.guardian is None or not cited_sources(result, profile):
        return {}
    return citation_numbers(*_cited_with(result, profile))


def _cited_with(
    result: StructuredAgentResult, profile: Profile
) -> tuple[str, list[EvidenceItem], Sequence[str], ResponseFormat]:
    wanted = profile.spec_for(result.request_type).response_format if result.request_type else ResponseFormat.MARKDOWN
    draft = result.guardian.draft if result.guardian else ""
    return draft, result.evidence, profile.allowed_link_domains, wanted


def cited_by_number(result: StructuredAgentResult, profile: Profile) -> dict[int, list[EvidenceItem]]:
    """Return the passages behind each source of an answer, or each shown page, by its number."""
    if result.pages:
        return {
            page.number: [item for item in result.evidence if item.ref == page.ref] for page in result.pages if page.ref
        }
    return cited_passages(*_cited_with(result, profile)) if cited_sources(result, profile) else {}


def cited_of(result: StructuredAgentResult, profile: Profile, number: int) -> list[EvidenceItem]:
    """Return the passages behind one source of an answer or one shown page; nothing if there is no such source."""
    return cited_by_number(result, profile).get(number, [])


def said_by(result: StructuredAgentResult) -> dict[str, list[str]]:
    """Return what a turn says by each passage, by the passage's `ref`: the claims that cite it, or a page's sentence."""
    found: dict[str, list[str]] = {}
    for page in result.pages:
        found.setdefault(page.ref, []).append(page.sentence)
    for claim in result.guardian.claims if result.guardian and not result.pages else ():
        for ref in claim.refs:
            found.setdefault(ref, []).append(claim.text)
    return found


def user_event(event: TurnEvent) -> UserProgress | None:
    """Return the part of an event that a user may see, for all events but the last; `None` if there is none."""
    match event:
        case NodeStarted(node=node) if node in set(Stage):
            return UserProgress(turn_id=event.turn_id, stage=Stage(node))
        case Understood(intent=intent, action=action) if shown_to_users(action).user_intent:
            return UserProgress(turn_id=event.turn_id, intent=intent)
        case _:
            return None


def _intent(result: StructuredAgentResult) -> str:
    if result.action is None or result.plan is None or not shown_to_users(result.action).user_intent:
        return ""
    return result.plan.user_intent


def queries_asked(result: StructuredAgentResult) -> dict[str, float]:
    """Return the queries of the search, each with the confidence of its best passage, 0 to 1; none with what was told."""
    best: dict[str, float] = {}
    for trace in result.per_query_results:
        if was_searched(trace.model_dump()) and not trace.told:
            # One source may have nothing on a query to which another has the answer.
            best[trace.query] = max(best.get(trace.query, 0.0), trace.confidence.top_score)
    return best


def confidence_of(result: StructuredAgentResult) -> float | None:
    """Return how likely the passages are on topic: the mean over the queries; `None` if there were no queries."""
    best = queries_asked(result)
    return sum(best.values()) / len(best) if best else None
