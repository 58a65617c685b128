"""Questions that may follow an answer: the headings nearest to what it cites, in the same document."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Final

from assistant.turns.views import cited_by_number
from contracts.enums import Outcome
from contracts.errors import SourceUnavailable
from guards.choices import OF_DOCUMENTS, may_be_offered
from language.clean import fold
from language.words import stems

if TYPE_CHECKING:
    from assistant.service import Caller, Service
    from contracts.evidence import EvidenceItem
    from contracts.profile import Profile
    from contracts.result import StructuredAgentResult

MOST: Final = 3
_MOST_PASSAGES: Final = 2_000
"""Passages of a document whose headings are read; only books have more."""
_TELLING: Final = 2
"""Content words of a heading that says without its document's title what it is about."""
_BETWEEN: Final = " › "


async def find_follow_ups(service: Service, caller: Caller, result: StructuredAgentResult) -> tuple[str, ...]:
    """Return at most `MOST` headings beside those that an answer cites first, the nearest first, those behind before others.

    They are in the same document, and the caller's role may read them and ask for them. Whether the assistant can
    answer them is not tried. Nothing follows what is no answer, or an answer from no document.
    """
    profile = service.deployed.profile
    if result.outcome is not Outcome.ANSWERED:
        return ()
    numbered = sorted(cited_by_number(result, profile).items())
    cited = [item for _, items in numbered for item in items if item.document and item.source in OF_DOCUMENTS]
    if not cited or cited[0].source not in profile.sources_for(caller.role):
        return ()
    first = cited[0]
    try:
        found = await service.knowledge.articles(first.document, None)
    except SourceUnavailable:
        return ()
    passages = [item for item in found if (item.document, item.source) == (first.document, first.source)]
    refs = {item.ref for item in cited}
    return await asyncio.to_thread(_choose, passages[:_MOST_PASSAGES], refs, result.question, profile, caller.role)


def _choose(
    passages: Sequence[EvidenceItem], cited: Collection[str], asked: str, profile: Profile, role: str
) -> tuple[str, ...]:
    sections = _sections(passages)
    places = [place for place, (_, ref) in enumerate(sections) if ref in cited]
    if not places:
        return ()

    def distance(place: int) -> tuple[int, bool]:
        return min((abs(place - near), place < near) for near in places)

    chosen: list[str] = []
    for place in sorted(set(range(len(sections))) - set(places), key=distance):
        if len(chosen) == MOST:
            break
        heading, title = sections[place][0], passages[0].title
        label = heading if len(stems(heading)) >= _TELLING else f"{title} — {heading}"
        fits = fold(heading) != fold(asked) and may_be_offered(label, passages[0].source, profile, role)
        chosen += [label] if fits and label not in chosen else []
    return tuple(chosen)


def _sections(passages: Sequence[EvidenceItem]) -> list[tuple[str, str]]:
    """Return the headings of a document below its title, in order, each with the `ref` of the passage where it begins."""
    from adapters.reading.chunks import headings

    found: dict[str, str] = {}
    for item in passages:
        above = [part for part in item.heading.split(_BETWEEN) if part]
        for heading in (*above, *(own.title for own in headings(item.snippet))):
            if heading != item.title:
                found.setdefault(heading, item.ref)
    return list(found.items())
