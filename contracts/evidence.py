"""Evidence: the passages and rows that sources return, and the data that citations need."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, SerializerFunctionWrapHandler, model_serializer

from contracts.enums import Language, Source

Article = dict[str, str | int | float | None]


class EvidenceItem(BaseModel):
    """One passage or row that an answer may cite.

    Attributes:
        source: The kind of source it came from.
        ref: An id that names the same text in every search of one index, for example `doc:17#3`.
        snippet: The text, in its original mark-up.
        confidence: 0 to 1, by the formula that the source's port documents. It means "on topic", not "correct".
        score: The source's raw score, comparable within one query only.
        title, url, kb_id, heading, lines, language, updated: The data that a citation shows.
        version: The product version that the document describes; empty if it describes all versions.
        found: The number of rows that the lookup found, such as `14`, or `50+` if a limit stopped it, so that a
            shortened list can say so; empty for a passage.
        redacted: The rules of the answer policy that masked values in it (`guards/redaction.py`).
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    source: Source
    ref: str
    snippet: str
    confidence: float = Field(ge=0.0, le=1.0)
    score: float = 0.0
    document: str = ""
    title: str = ""
    url: str | None = None
    kb_id: int | None = None
    heading: str = ""
    lines: tuple[int, int] | None = None
    language: Language | None = None
    updated: str | None = None
    version: str = ""
    found: str = ""
    redacted: tuple[str, ...] = ()

    @property
    def lookup(self) -> str:
        """The lookup call that returned this row, shared by all its rows; empty for a passage."""
        return self.ref.rpartition("#")[0] if self.found else ""

    @property
    def document_key(self) -> str:
        """The key of the document, for folding evidence and for counting its diversity."""
        return self.document or self.ref


class NumberedItem(EvidenceItem):
    """A passage or row of a turn, with the number by which the turn's draft cites it, from 1."""

    number: int = Field(ge=1)


class ArticleEvidence(EvidenceItem):
    """One document of a turn, or one row, with its passages; it has the fields of its surest passage.

    Attributes:
        passages: In the order of their numbers, at least one.
    """

    passages: tuple[NumberedItem, ...] = Field(min_length=1)


def group_articles(items: Sequence[EvidenceItem]) -> list[ArticleEvidence]:
    """Return the articles of evidence in the order in which they first occur; the place of an item is its number."""
    found: dict[tuple[Source, str], list[NumberedItem]] = {}
    for number, item in enumerate(items, 1):
        passage = NumberedItem.model_construct(**dict(item), number=number)
        found.setdefault((item.source, item.document_key), []).append(passage)
    articles: list[ArticleEvidence] = []
    for passages in found.values():
        fields = dict(max(passages, key=lambda item: item.confidence))
        del fields["number"]
        articles.append(ArticleEvidence.model_construct(**fields, passages=tuple(passages)))
    return articles


class ConfidenceFigures(BaseModel):
    """Confidence figures of one query's result.

    Attributes:
        top_score: Confidence of the best item, 0 to 1.
        mean_top_k: Mean confidence of the items returned, 0 to 1.
        score_gap: Best minus second best, 0 to 1.
        n_above_threshold: Items at or above the threshold for being sent to the draft.
        likely_relevant: Whether there is at least one such item.
    """

    model_config = ConfigDict(frozen=True)

    top_score: float = 0.0
    mean_top_k: float = 0.0
    score_gap: float = 0.0
    n_above_threshold: int = 0
    likely_relevant: bool = False

    @classmethod
    def of(cls, confidences: list[float], threshold: float) -> ConfidenceFigures:
        """Compute the figures of one ranked list of confidences (each 0 to 1, best first)."""
        if not confidences:
            return cls()
        above = sum(value >= threshold for value in confidences)
        second = confidences[1] if len(confidences) > 1 else 0.0
        return cls(
            top_score=confidences[0],
            mean_top_k=sum(confidences) / len(confidences),
            score_gap=confidences[0] - second,
            n_above_threshold=above,
            likely_relevant=above > 0,
        )


class Fate(StrEnum):
    """What happened to a passage that a search found."""

    FOUND = "found"
    """It was returned, and nothing has been selected yet."""
    KEPT = "kept"
    """The draft may see it."""
    SHORTENED = "shortened"
    """The draft may see the beginning of it: all passages together exceed the budget."""
    NO_ROOM = "no_room"
    """Of the budget nothing was left for it."""
    BELOW_THRESHOLD = "below_threshold"
    COPY = "copy"
    """Another passage has the same text, or the same article is there for the version that is asked for."""
    REPEATED = "repeated"
    """The same passage was found at another place, and counts there."""
    OVER_LIMIT = "over_limit"
    """Enough better ones were found."""
    GIVEN_UP = "given_up"
    """A retry does without its kind of source."""


@dataclass(frozen=True, slots=True)
class PassageFate:
    """A passage's fate, with its details.

    Attributes:
        copy_of: If it is a copy, the reference of the passage that was kept.
        chars: If it was shortened, the number of characters left.
    """

    fate: Fate
    copy_of: str = ""
    chars: int | None = None


class PassageTrace(BaseModel):
    """One passage that a query found: its place, its scores and its fate; never its text.

    Attributes:
        ref, document, title, heading: As in `EvidenceItem`.
        confidence: 0 to 1.
        score: The source's raw score, comparable within one query only.
        similarity: Of its vector to the query's, -1 to 1; `None` if it was not computed.
        fused: The combined score of words and meaning, 0 to 1, comparable within one query only; `None` if only words
            were searched.
        rerank_score_raw: The reranker's score, comparable within one query only; `None` if no reranker read it.
        fate, copy_of, chars: As in `PassageFate`.
    """

    model_config = ConfigDict(frozen=True)

    ref: str
    document: str = ""
    title: str = ""
    heading: str = ""
    confidence: float = 0.0
    score: float = 0.0
    similarity: float | None = None
    fused: float | None = None
    rerank_score_raw: float | None = None
    fate: Fate = Fate.FOUND
    copy_of: str = ""
    chars: int | None = None

    @classmethod
    def of(cls, item: EvidenceItem, fate: PassageFate | None = None, **figures: float | None) -> PassageTrace:
        """Return the trace of an item; `figures` are `similarity`, `fused` and `rerank_score_raw`."""
        fate = fate or PassageFate(Fate.FOUND)
        return cls(
            ref=item.ref,
            document=item.document_key,
            title=item.title,
            heading=item.heading,
            confidence=item.confidence,
            score=item.score,
            fate=fate.fate,
            copy_of=fate.copy_of,
            chars=fate.chars,
            **figures,
        )

    def meets(self, fate: PassageFate) -> PassageTrace:
        """Return the trace with a new fate; a shortened passage that is kept again stays shortened."""
        if fate.fate is Fate.KEPT and self.fate is Fate.SHORTENED:
            return self
        return self.model_copy(update={"fate": fate.fate, "copy_of": fate.copy_of, "chars": fate.chars})

    @model_serializer(mode="wrap")
    def _short(self, whole: SerializerFunctionWrapHandler) -> dict[str, object]:
        # Traces are part of every checkpoint: what has nothing to say is left out, and six digits say enough.
        return {
            name: float(f"{value:.6g}") if isinstance(value, float) else value
            for name, value in whole(self).items()
            if value is not None and value != ""
        }


READS_AS_ANSWER: Final = -2.0
"""The logit of a reranker on the known scale (`QueryTrace.odds`) from which a passage is held for an answer: two thirds of the
drafts above it were right or partly right (docs/decisions.md, 87)."""
_LEAST_IF_FAR_AHEAD: Final = -4.0
_FAR_AHEAD: Final = 3.0
"""By how many logits a passage is ahead of all other documents, so that it is held for an answer from a lower logit on: the
first passage was of a labelled page for 78 of 86 such questions to six manuals, for 75 of 150 others (docs/decisions.md, 89)."""
_LOWEST: Final = -8.0
"""Below, logits say the same: nothing. In a small folder, all pages but one are about something else, and read at -11."""


def ahead_by(logit: float, others: Iterable[float]) -> float | None:
    """Return by how much a passage reads more like an answer than the best of others, in logits; `None` without any."""
    best = max(others, default=None)
    return None if best is None else logit - max(best, _LOWEST)


def reads_as_answer(logit: float, others: Iterable[float]) -> bool:
    """Whether a passage is held for an answer that a reranker on the known scale has read.

    Args:
        logit: Its own.
        others: Those of the passages of other documents that were read for the same question; without any, only its own
            counts.
    """
    ahead = ahead_by(logit, others)
    return logit >= READS_AS_ANSWER or (ahead is not None and logit >= _LEAST_IF_FAR_AHEAD and ahead >= _FAR_AHEAD)


MOST_ROWS: Final = 20
"""Passages of one trace, those that were returned always among them; what there is beyond is only counted."""
_FIGURES: Final = ("similarity", "fused", "rerank_score_raw")


class QueryTrace(BaseModel):
    """The results of one query to one source, for the operator and the result.

    Attributes:
        attempt: 0 for the first search of a turn, then the number of the retry.
        articles: Per document: title, url, kb_id, confidence and raw score, best first; also `similarity`, `fused` and
            `rerank_score_raw` if vectors or a reranker took part.
        passages: Each returned passage, best first; then some of those that the source left out.
        found: The number of passages, including those that the source left out.
        folded: The number of copies left out, by the source and by the selection.
        versions: For documents: the product versions searched, besides documents without a version.
        words: By stem of each content word of the query, its inverse document frequency among the passages searched;
            empty if the source does not count words.
        lookups: For a database or a graph: the lookups that ran, each as `name(argument=value)`.
        spread: Standard deviation of the query's similarities over all passages; `None` if there is none. For passages
            in a server it is within 2 %, from a measurement made when the server was filled.
        odds: Whether the reranker's scores are logits of "this passage answers the query" on the scale that the
            Guardian knows.
        told: Whether the query has what was told before the question: it finds passages, and answers nothing.
        error: Why the source did not answer; empty if it did.
        degraded: Parts of the source that failed while the rest worked, as `part: why`, one a line.
    """

    model_config = ConfigDict(frozen=True)

    query: str
    source: Source
    attempt: int = 0
    expanded: bool = False
    confidence: ConfidenceFigures = ConfidenceFigures()
    articles: list[Article] = Field(default_factory=list[Article])
    passages: tuple[PassageTrace, ...] = ()
    found: int = 0
    folded: int = 0
    versions: tuple[str, ...] = ()
    words: dict[str, float] = Field(default_factory=dict[str, float])
    lookups: tuple[str, ...] = ()
    spread: float | None = None
    odds: bool = False
    told: bool = False
    error: str = ""
    degraded: str = ""

    def having(
        self, items: Iterable[EvidenceItem], threshold: float, rows: Sequence[PassageTrace] | None = None
    ) -> QueryTrace:
        """Return this trace with the items of a reply.

        Args:
            items: The returned items, in order.
            threshold: The confidence at which an item counts as relevant.
            rows: One for each item, in order, then those of passages that the source left out; built from the items if
                not given.
        """
        best: dict[str, EvidenceItem] = {}
        returned = list(items)
        for item in returned:
            best.setdefault(item.document_key, item)
        rows = [PassageTrace.of(item) for item in returned] if rows is None else rows
        by_ref = {row.ref: row for row in rows}
        named = [name for name in _FIGURES if any(getattr(row, name) is not None for row in rows)]
        articles: list[Article] = [
            {
                "document": key,
                "title": item.title,
                "url": item.url,
                "kb_id": item.kb_id,
                "confidence": item.confidence,
                "score": item.score,
                **{name: getattr(by_ref.get(item.ref), name, None) for name in named},
            }
            for key, item in best.items()
        ]
        sure = sorted((item.confidence for item in returned), reverse=True)
        return self.model_copy(
            update={
                "confidence": ConfidenceFigures.of(sure, threshold),
                "articles": articles,
                "passages": tuple(rows[: max(MOST_ROWS, len(returned))]),
                "found": len(rows),
                "folded": sum(row.fate is Fate.COPY for row in rows[len(returned) :]),
            }
        )

    def settled(self, fates: Mapping[str, PassageFate]) -> QueryTrace:
        """Return the trace with the fates of the returned passages, by their references.

        If the kept passage of a copy is now a copy itself, both refer to the passage that is kept.
        """
        rows = tuple(_settle(row, fates) for row in self.passages)
        copies = sum(row.fate is Fate.COPY for row in rows) - sum(row.fate is Fate.COPY for row in self.passages)
        return self.model_copy(update={"passages": rows, "folded": self.folded + copies})


def _settle(row: PassageTrace, fates: Mapping[str, PassageFate]) -> PassageTrace:
    if row.fate in (Fate.FOUND, Fate.KEPT, Fate.SHORTENED) and row.ref in fates:
        return row.meets(fates[row.ref])
    stands = fates.get(row.copy_of) if row.fate is Fate.COPY else None
    if stands is None or stands.fate is not Fate.COPY:
        return row
    return row.meets(PassageFate(Fate.REPEATED) if stands.copy_of == row.ref else stands)


class PageSentence(NamedTuple):
    """The sentence of a page that fits a question best, with the number of its item in the evidence, from 1."""

    number: int
    sentence: str
