"""What is offered beside an end: the words that are unclear, headings of documents and a person to choose from."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, cast

from contracts.choices import NO_CHOICE, Choice, ChoiceKind
from contracts.context import Context
from contracts.decisions.exits import Exit, ExitKind
from contracts.enums import Language, Source
from contracts.errors import SourceUnavailable
from contracts.evidence import EvidenceItem, QueryTrace
from contracts.plan import SGRPlanResult
from contracts.ports import EvidenceSource, SearchRequest, WordProbe
from contracts.profile import Profile
from contracts.source_call import call_source
from contracts.state import Json, find_offer
from contracts.views import FinalView
from guards.choices import (
    OF_DOCUMENTS,
    named_lookups,
    nearest_headings,
    takes_a_number,
    telling_words,
    unclear_words,
    words_to_look_for,
)
from guards.exits import ExitFacts, add_nearest
from guards.redaction import redacted_reply
from language.words import rephrase
from rendering.synthetic import clarification_question
from rendering.texts import say

NEAREST: Final = 12
"""Passages of each kind of document whose headings are looked at for choices, and that are looked at for near pages."""
_NEAR_SECONDS: Final = 10.0
"""For each search for near pages, at the most; the node has to end before its own limit, whatever else it asks."""
_MOST_QUERIES: Final = 3
"""Queries of a plan that near pages are looked for with, at the most."""


@dataclass(frozen=True, slots=True)
class Documents:
    """The documents, for what is said beside a question asked back.

    Attributes:
        sources: By their kinds.
        probe: Tells which words they do not have.
    """

    sources: Mapping[Source, EvidenceSource]
    probe: WordProbe


@dataclass(frozen=True, slots=True)
class ExitOffer:
    """What is said beside an end: what is unclear, what to choose from, and what it took to find out."""

    unclear: tuple[str, ...] = ()
    choices: tuple[Choice, ...] = ()
    degraded: tuple[str, ...] = ()
    calls: tuple[Json, ...] = ()


async def make_offer(
    state: FinalView,
    end: Exit,
    facts: ExitFacts,
    language: Language,
    context: Context,
    profile: Profile,
    documents: Documents | None,
) -> ExitOffer:
    """Return what is said beside a question asked back, or beside what is missing; nothing beside any other end."""
    asks = end.kind is ExitKind.ASK
    if not (asks or facts.missing):
        return ExitOffer()
    if state["question"].get("chose", {}).get("kind") == NO_CHOICE:
        return ExitOffer(choices=tuple(find_offer(state["messages"]).choices) if asks else ())
    unclear, degraded = await _unclear(state["question"]["text"], documents, context, profile)
    if not asks:
        return ExitOffer(unclear, degraded=degraded)
    if facts.lookups and not facts.question:
        choices, calls = named_lookups(facts.lookups, language), ()
    elif takes_a_number(facts.question or _question_of_the_plan(state, language, profile)):
        return ExitOffer(unclear, degraded=degraded)
    else:
        items: Sequence[EvidenceItem] = facts.evidence
        calls = ()
        asked = " ".join((state["question"]["text"], *state["sgr_plan"]["subqueries"]))
        if not items and telling_words(asked):
            queries = state["sgr_plan"]["subqueries"][:1]
            near = await _near(queries, state["question"]["text"], language, documents, context, profile)
            items, calls = near.items, near.calls
            degraded = (*degraded, *(f"choices: {why}" for why in near.degraded))
        choices = nearest_headings(asked, items, profile, context.role)
    person = Choice(kind=ChoiceKind.PERSON, label=say(language, "choice_person"))
    return ExitOffer(unclear, (*choices, person), degraded=degraded, calls=calls)


def _question_of_the_plan(state: FinalView, language: Language, profile: Profile) -> str:
    return clarification_question(SGRPlanResult.model_validate(state["sgr_plan"]), language, profile)


async def _unclear(
    message: str, documents: Documents | None, context: Context, profile: Profile
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the words of a message that are named as unknown to the user's documents, and why they could not be told."""
    text = words_to_look_for(message)
    kinds = profile.sources_for(context.role) & OF_DOCUMENTS
    if documents is None or not text or not kinds:
        return (), ()
    try:
        async with asyncio.timeout(context.source_seconds):
            unknown = await documents.probe.unknown(text, kinds)
    except Exception as error:  # noqa: BLE001  # the user is owed an end of the turn, whatever the documents' fault
        return (), (f"choices: it was not asked which words the documents have. {_why(error)}",)
    return unclear_words(text, unknown, profile), ()


@dataclass(frozen=True, slots=True)
class _Nearest:
    """What is nearest in the user's documents, masked; the searches; the requests to models; and what failed."""

    items: Sequence[EvidenceItem] = ()
    traces: Sequence[QueryTrace] = ()
    calls: tuple[Json, ...] = ()
    degraded: tuple[str, ...] = ()


async def find_near_pages(
    state: FinalView,
    facts: ExitFacts,
    language: Language,
    context: Context,
    profile: Profile,
    documents: Documents | None,
) -> tuple[ExitFacts, ExitOffer]:
    """Look for the nearest pages where the turn found few that may be shown; return the facts, and what it took.

    Whatever goes wrong costs the near pages alone. They have few seconds: they are an extra, and the turn is to end.
    """
    # An edited state may hold anything, and near pages are no reason to end in an error.
    planned: object = state["sgr_plan"].get("subqueries")
    texts = cast("list[object]", planned) if isinstance(planned, list) else []
    queries = [text for text in texts if isinstance(text, str)][:_MOST_QUERIES]
    question = state["question"]["text"]
    # As `retrieve` does, also in the documents' words.
    wanted = list(dict.fromkeys((*queries, *rephrase(queries, profile.synonyms))))
    seconds = min(context.source_seconds, _NEAR_SECONDS)
    near = await _near(wanted, question, language, documents, context, profile, kinds=facts.searched, seconds=seconds)
    facts = add_nearest(facts, (question, *queries), near.items, near.traces, profile, context.role)
    return facts, ExitOffer(degraded=tuple(f"near pages: {why}" for why in near.degraded), calls=near.calls)


async def _near(
    queries: Sequence[str],
    question: str,
    language: Language,
    documents: Documents | None,
    context: Context,
    profile: Profile,
    *,
    kinds: frozenset[Source] = OF_DOCUMENTS,
    seconds: float | None = None,
) -> _Nearest:
    """Return what is nearest to some queries in the user's documents, surest first.

    Of a document with versions only that of the run or of the user's words, as in any search.
    """
    if documents is None:
        return _Nearest()
    allowed = profile.sources_for(context.role) & OF_DOCUMENTS & kinds
    requests = [
        SearchRequest(
            query,
            NEAREST,
            language,
            version=context.version,
            threshold=context.evidence_threshold,
            question=question,
        )
        for query in queries
    ]
    bound = context.source_seconds if seconds is None else seconds
    asked = [(kind, request) for kind in documents.sources if kind in allowed for request in requests]
    replies = await asyncio.gather(
        *(call_source(documents.sources[kind], kind, request, bound) for kind, request in asked)
    )
    replies = [redacted_reply(reply, profile, context.role) for reply in replies]
    surest: dict[str, EvidenceItem] = {}
    for item in sorted((item for reply in replies for item in reply.items), key=lambda item: -item.confidence):
        surest.setdefault(item.ref, item)
    failed = dict.fromkeys(f"{reply.trace.source}: {reply.trace.error}" for reply in replies if reply.trace.error)
    calls = tuple(call.model_dump(mode="json") for reply in replies for call in reply.calls)
    return _Nearest(tuple(surest.values()), tuple(reply.trace for reply in replies), calls, tuple(failed))


def _why(error: BaseException) -> str:
    # A library's own message may quote what must not be shown.
    return str(error) if isinstance(error, SourceUnavailable) else type(error).__name__
