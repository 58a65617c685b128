"""Questions that may follow an answer: the headings nearest to what it cites, in the same document or beside it."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from assistant.articles import titles_beside
from assistant.turns.views import cited_by_number, said_by
from contracts.enums import Outcome
from contracts.errors import KnowledgeError, SourceUnavailable
from guards.choices import OF_DOCUMENTS, may_be_offered
from language.clean import fold
from language.words import stems

if TYPE_CHECKING:
    from assistant.caller import Caller
    from assistant.service import Service
    from contracts.enums import Source
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

    They are in the same document, and the caller's role may read them and ask for them. A document without other headings
    is followed by the titles beside it in its folder. Whether the assistant can answer them is not tried. Nothing follows
    what is no answer, or an answer from no document.
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
        passages = [item for item in found if (item.document, item.source) == (first.document, first.source)]
        said = {item.ref: said_by(result).get(item.ref, []) for item in cited}
        labels = await asyncio.to_thread(_labels, passages[:_MOST_PASSAGES], said, result.question)
        return _fit_labels(labels, result.question, first.source, profile, caller.role) or _fit_labels(
            await titles_beside(service, caller, first), result.question, first.source, profile, caller.role
        )
    except (SourceUnavailable, KnowledgeError):
        return ()


def _fit_labels(labels: Iterable[str], asked: str, source: Source, profile: Profile, role: str) -> tuple[str, ...]:
    """Return the first labels that a role may be offered, each once."""
    chosen: list[str] = []
    for label in labels:
        if len(chosen) == MOST:
            break
        fits = fold(label) != fold(asked) and may_be_offered(label, source, profile, role)
        chosen += [label] if fits and label not in chosen else []
    return tuple(chosen)


@dataclass(frozen=True, slots=True)
class _Section:
    """A heading of a document, with the `ref` of the passage where it begins, and the words below it in that passage."""

    heading: str
    ref: str
    words: frozenset[str]


def _labels(passages: Sequence[EvidenceItem], said: Mapping[str, Collection[str]], asked: str) -> list[str]:
    """Return the headings of a document that are not cited, nearest first; a short one with the document's title.

    Args:
        passages: Of the document, in order.
        said: What the answer says by each cited passage, by its `ref`.
        asked: What is not offered again.
    """
    sections = _sections(passages)
    places = _cited_places(sections, said)
    if not places:
        return []
    title = passages[0].title

    def distance(place: int) -> tuple[int, bool]:
        return min((abs(place - near), place < near) for near in places)

    near = sorted(set(range(len(sections))) - places, key=distance)
    known = {fold(title), fold(asked)}
    headings = [heading for place in near if fold(heading := sections[place].heading) not in known]
    return [heading if len(stems(heading)) >= _TELLING else f"{title} — {heading}" for heading in headings]


def _cited_places(sections: Sequence[_Section], said: Mapping[str, Collection[str]]) -> set[int]:
    """Return the places of the sections on which an answer rests: of several in one passage, those with its words."""
    places: set[int] = set()
    for ref, texts in said.items():
        inside = [place for place, section in enumerate(sections) if section.ref == ref]
        told: set[int] = set()
        for wanted in (frozenset(stems(text)) for text in texts) if len(inside) > 1 else ():
            best = max(inside, key=lambda place: len(wanted & sections[place].words))
            told.update([best] if wanted & sections[best].words else [])
        places.update(told or inside)
    return places


def _sections(passages: Sequence[EvidenceItem]) -> list[_Section]:
    """Return the headings of a document in order, its title among them."""
    from adapters.reading.chunks import headings

    found: dict[str, _Section] = {}
    for item in passages:
        lines, own = item.snippet.split("\n"), headings(item.snippet)
        above = [part for part in item.heading.split(_BETWEEN) if part] or [item.title]
        # What stands in front of the first heading is of the innermost one above.
        starts = [0, *(heading.line for heading in own), len(lines)]
        texts = ["\n".join(lines[start:end]) for start, end in itertools.pairwise(starts)]
        inside = [above[-1], *(heading.title for heading in own)]
        for heading, text in (*((heading, "") for heading in above[:-1]), *zip(inside, texts, strict=True)):
            found.setdefault(heading, _Section(heading, item.ref, frozenset(stems(text))))
    return list(found.values())
