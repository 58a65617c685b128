"""The processing of queries and of search results, common to all kinds of index."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

from adapters.index.deduplication import Different, Face
from adapters.index.hits import Hit
from adapters.index.records import StoredPassage
from contracts.enums import Language, Source
from contracts.evidence import EvidenceItem, Fate, PassageFate, PassageTrace, QueryTrace
from contracts.ports import SearchReply, SearchRequest
from language.clean import fold
from language.figures.versions import find_versions
from language.words import stem, stems, stop_words, tokens

if TYPE_CHECKING:
    from adapters.index.dense import QueryMeaning
    from contracts.calls import ModelCall

MOST_READ: Final = 50
"""Passages that are looked through for the form of a word."""
LONGEST_QUERY: Final = 64
"""Words. Of a longer text the beginning and the end are asked for: a question stands before a log, or after it."""
UNVERSIONED: Final = "-"
"""The word that stands for having no version."""


class Lexicon(Protocol):
    """The statistics of the words of all passages."""

    def frequency(self, word: str, /) -> int:
        """Return how many passages have a word in the field in which it is most frequent."""
        ...

    def idf(self, frequency: int, /) -> float:
        """Return BM25's inverse document frequency."""
        ...

    def meant(self, word: str, /) -> list[str]:
        """Return the known words that an unknown one may be a misspelling of."""
        ...


class Knowledge(Protocol):
    """The port for searchable documents, in this process or on a server.

    Raises:
        SourceUnavailable: From every method but `close`, if the documents cannot be read.
    """

    async def search(self, request: SearchRequest, kind: Source, /) -> SearchReply:
        """Return the passages of one kind that answer a query best."""
        ...

    async def on_topic(self, text: str, made: list[ModelCall] | None = None) -> float:
        """Return the confidence of the best passage, of any kind and language: 0 to 1.

        Args:
            text: A question, or a part of one.
            made: Receives a record of every request to an embedding server.
        """
        ...

    async def mend(self, text: str) -> str:
        """Return a text with its slips of the hand corrected by the words of all passages (`mend`)."""
        ...

    async def unknown(self, text: str, kinds: frozenset[Source]) -> tuple[str, ...]:
        """Return the content words of a text that no document of these kinds has (`WordProbe.unknown`)."""
        ...

    async def articles(self, key: str, kb_id: int | None) -> list[EvidenceItem]:
        """Return every passage of the documents that have a key or a number, of any kind, version and language.

        They come document by document and in order, with a confidence of 1: nothing was searched for.
        """
        ...

    def count(self) -> dict[str, int]:
        """Return how many documents there are of each kind."""
        ...

    def close(self) -> None:
        """Release files and connections; the object may still be used."""
        ...


@dataclass(frozen=True, slots=True)
class Query:
    """A text as a query to the index.

    Attributes:
        words: Each word's alternatives: the word itself, or known words that it misspells.
        idf_sum: The sum of the words' weights.
        weights_of: The weight of each word, by its first alternative.
    """

    words: tuple[tuple[str, ...], ...]
    idf_sum: float
    weights_of: Mapping[str, float]

    def weights(self) -> list[tuple[Sequence[str], float]]:
        return [(alternatives, 1.0) for alternatives in self.words]


def parse_query(known: Lexicon, text: str, versions: Sequence[str]) -> Query:
    """Return a text as a query to the index; a query has no operators.

    Args:
        known: The words of all passages.
        text: What is asked.
        versions: The indexed versions, as they were given.
    """
    words = list(dict.fromkeys(stems(text)))
    # A version that is named chooses the documents; that their own texts do not name it says nothing against them.
    numbers = {number for version in find_versions(text, versions) for number in stems(version)}
    words = [word for word in words if word.removeprefix("v") not in numbers or known.frequency(word)]
    if len(words) > LONGEST_QUERY:
        words = words[: LONGEST_QUERY // 2] + words[-LONGEST_QUERY // 2 :]
    total, worth, alternatives = 0.0, dict[str, float](), list[tuple[str, ...]]()
    for word in words:
        frequency = known.frequency(word)
        # A word that nothing has counts as the rarest there can be, for what it asks for is not here; and so does one
        # that is near a known word: valued as that word, a third more foreign questions would pass for on topic.
        total += known.idf(frequency)
        meant = [] if frequency else known.meant(word)
        alternatives.append(tuple(meant) or (word,))
        worth[alternatives[-1][0]] = known.idf(frequency)
    return Query(tuple(alternatives), total, worth)


_SHORTEST_STEM: Final = 4
_MENDED: Final = re.compile(r"(?<![^\W_])[^\W\d_]{5,30}(?![^\W_])")
"""A word that may be misspelt: shorter ones have too many neighbours, and what has digits is a name."""


def mend(known: Lexicon, text: str, said_so: Callable[[str], bool]) -> str:
    """Return a text with unknown words corrected if one slip of the hand explains them.

    A word is unknown if no passage has it. Slips are two swapped neighbours and a doubled letter. Letters are not
    substituted, inserted or deleted: that turned "expert" into "export" and "phase" into "phrase". Words with a
    capital inside or in front may be names and stay, except the first word of the text. A word also stays if no passage
    has the corrected form: "entire" has the stem of "entry" with two letters swapped, and is not a slip of it.

    Args:
        known: The words of all passages, by their stems.
        text: A message.
        said_so: Whether some passage has a word in exactly this form; called only for candidates of a correction.
    """
    said = text.lstrip()

    def mended(match: re.Match[str]) -> str:
        word = match.group()
        first = text[: match.start()].strip() == "" and word[1:].islower()
        if not (word.islower() or (first and said)):
            return word
        low = fold(word)
        if low in stop_words() or known.frequency(stem(low)):
            return word
        found = {
            stem(one): one
            for one in reversed(list(_without_slip(low)))
            if known.frequency(stem(one)) and (_in_ending(low, one) or said_so(one))
        }
        if len(found) != 1:
            return word
        (right,) = found.values()
        return right.capitalize() if first and not word.islower() else right

    return _MENDED.sub(mended, text)


def _in_ending(word: str, mended: str) -> bool:
    """Whether two letters changed places behind the stem: the passages need not have that form of their word."""
    known = stem(mended)
    return len(word) == len(mended) and len(known) >= _SHORTEST_STEM and word.startswith(known)


def says(passages: Iterable[StoredPassage], word: str) -> bool:
    """Whether some of the passages have a folded word in exactly this form."""
    return any(word in tokens(f"{row.title}\n{row.heading}\n{row.text}") for row in passages)


def _without_slip(word: str) -> Iterator[str]:
    """Yield what a word may have been before one slip."""
    for n in range(len(word) - 1):
        if word[n] != word[n + 1]:
            yield f"{word[:n]}{word[n + 1]}{word[n]}{word[n + 2 :]}"
        else:
            yield word[:n] + word[n + 1 :]


_WRITTEN: Final = re.compile(r"(?<![^\W_])[^\W_]{2,40}(?![^\W_])")


def unknown_words(known: Lexicon, text: str, has: Callable[[str], bool]) -> tuple[str, ...]:
    """Return the content words of a text that no passage has (`WordProbe.unknown`).

    Args:
        known: The words of all passages.
        text: A question.
        has: Returns whether a passage of the requested kinds has a known stem.
    """
    found: dict[str, str] = {}
    for word in _WRITTEN.findall(text)[:LONGEST_QUERY]:
        for low in stems(word):
            if low in found or low.isdigit():
                continue
            if known.frequency(low):
                if not has(low):
                    found[low] = word
            elif not (word.islower() and known.meant(low)):
                found[low] = word
    return tuple(dict.fromkeys(found.values()))


def widen(query: Query, weighted: list[tuple[str, float]]) -> list[tuple[Sequence[str], float]]:
    """Return weighted words, each with its alternatives in the query."""
    stand_ins = {words[0]: words for words in query.words}
    return [(stand_ins.get(word, (word,)), weight) for word, weight in weighted]


def searched_versions(
    request: SearchRequest, there: Sequence[str], default: str | None, newest: tuple[str, ...]
) -> tuple[str, ...]:
    """Return which versions are searched: the run's version, else the versions named, else the default.

    Args:
        request: What is asked.
        there: The indexed versions, as they were given.
        default: The deployment's default; without one, `newest` is.
        newest: The newest version and that of documents without one, as terms.
    """
    if request.version:
        return version_term(None), version_term(request.version)
    # A sub-query may be about one of the versions that the question names.
    named = find_versions(request.query, there) or find_versions(request.question, there)
    if not named and default is None:
        return newest
    return (version_term(None), *map(version_term, named or filter(None, [default])))


def face(hit: Hit) -> Face:
    """Return what distinguishes a hit from others."""
    row = hit.passage
    return Face(row.key, row.title, row.version, row.text)


def item(hit: Hit) -> EvidenceItem:
    """Return a hit as evidence."""
    row = hit.passage
    return EvidenceItem(
        source=Source(row.source),
        ref=f"{row.source}:{row.key}#{row.ordinal}",
        snippet=row.text,
        confidence=hit.confidence,
        score=hit.score,
        document=row.key,
        title=row.title,
        url=row.url,
        kb_id=row.kb_id,
        heading=row.heading,
        lines=(row.first_line, row.last_line) if row.first_line else None,
        language=Language(row.language),
        updated=row.updated,
        version=row.version or "",
    )


def all_of(passages: Iterable[StoredPassage]) -> list[EvidenceItem]:
    """Return the passages of articles as evidence."""
    return [item(Hit(passage, 0.0, 1.0)) for passage in passages]


@dataclass(frozen=True, slots=True)
class SearchOutcome:
    """The outcome of a search.

    Attributes:
        hits: What was found.
        versions: Which versions were searched, as terms.
        degraded: Why the search left out meaning, although it should have used it.
        words: The weight of each word of the query.
        spread: Standard deviation of the query's similarities over all passages; `None` if it is not known.
    """

    hits: Different[Hit]
    versions: tuple[str, ...]
    degraded: str
    words: Mapping[str, float]
    spread: float | None = None


def reply(request: SearchRequest, kind: Source, searched: SearchOutcome, meaning: QueryMeaning) -> SearchReply:
    """Return the result of one query: the hits as evidence, best first; the trace also lists their copies.

    Args:
        request: What was asked.
        kind: The kind of source.
        searched: What was found.
        meaning: The query's side by meaning, with the requests made for it.
    """
    hits = searched.hits
    items = tuple(item(hit) for hit in hits.kept)
    rows = [
        PassageTrace.of(one, similarity=hit.similarity, fused=hit.fused)
        for one, hit in zip(items, hits.kept, strict=True)
    ]
    for copy, original in hits.copies:
        fate = PassageFate(Fate.COPY, copy_of=item(original).ref)
        rows.append(PassageTrace.of(item(copy), fate, similarity=copy.similarity, fused=copy.fused))
    told = QueryTrace(
        query=request.query,
        source=kind,
        expanded=request.expand,
        versions=tuple(filter(None, map(version_of, searched.versions))),
        degraded=searched.degraded,
        words={word: float(f"{worth:.4g}") for word, worth in searched.words.items()},
        spread=searched.spread,
    )
    return SearchReply(items, told.having(items, request.threshold, rows), meaning.calls)


def version_term(version: str | None) -> str:
    """Return the index term for a version, or for no version."""
    return UNVERSIONED if version is None else f"={version}"


def version_of(term: str) -> str | None:
    """Return the version of a term that `version_term` made."""
    return None if term == UNVERSIONED else term.removeprefix("=")
