"""Evidence: what a source returns, and what a citation needs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, SerializerFunctionWrapHandler, model_serializer

from contracts.enums import Language, Source

Article = dict[str, str | int | float | None]


class EvidenceItem(BaseModel):
    """One passage or row that an answer may rest on.

    Attributes:
        source: The kind of source it came from.
        ref: An id that names the same text in every search of one index, for example `doc:17#3`.
        snippet: The text itself, in its own mark-up.
        confidence: 0 to 1, by the formula that the source's port documents: "on topic", not "correct".
        score: The source's raw score, comparable within one query only.
        title, url, kb_id, heading, lines, language, updated: what a citation shows.
        version: Of the product that the document describes; empty where it is about every one.
        found: How many rows the lookup has of which this is one, `14`, or `50+` where a limit ended it; empty for a
            passage. So a list that was shortened can say so.
        redacted: The rules of the answer policy whose values were masked in it (`guards/redaction.py`).
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
        """The call whose rows belong together; empty for a passage."""
        return self.ref.rpartition("#")[0] if self.found else ""

    @property
    def document_key(self) -> str:
        """What counts as one document when evidence is folded or its diversity is counted."""
        return self.document or self.ref


class ConfidenceFigures(BaseModel):
    """How sure one query's result is.

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
    """What became of a passage that was found."""

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
    """A fate with what it says more.

    Attributes:
        copy_of: The reference of the passage that stands for it: of a copy.
        chars: How many characters of it are left: of one that was shortened.
    """

    fate: Fate
    copy_of: str = ""
    chars: int | None = None


class PassageTrace(BaseModel):
    """One passage that a query found: where it stands, how good it is and what became of it; never its text.

    Attributes:
        ref, document, title, heading: As in `EvidenceItem`.
        confidence: 0 to 1.
        score: The source's raw score, comparable within one query only.
        similarity: Of its vector to the query's, -1 to 1; `None` where it was not looked at.
        fused: What words and meaning say of it together, 0 to 1, comparable within one query only; `None` where the words
            speak alone.
        rerank_score_raw: What a reranker says of it, comparable within one query only; `None` where none read it.
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
        """Return the trace with a new fate; what was shortened once stays so where it is kept again."""
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


MOST_ROWS: Final = 20
"""Passages of one trace, those that were returned always among them; what there is beyond is only counted."""
_FIGURES: Final = ("similarity", "fused", "rerank_score_raw")


class QueryTrace(BaseModel):
    """What one query of one source brought, for the operator and the result.

    Attributes:
        attempt: 0 for the first search of a turn, then the number of the retry.
        articles: Per document: title, url, kb_id, confidence and raw score, best first; `similarity`,
            `fused` and `rerank_score_raw` where vectors or a reranker took part.
        passages: Each passage that was returned, best first; then some of those that the source itself left out.
        found: How many passages there were, those that the source itself left out among them.
        folded: How many copies were left out, by the source and by the selection.
        versions: Of the product, whose documents were searched beside those without one; of documents.
        words: What each content word of the query says, by its stem: its inverse document frequency among the passages
            that were searched; empty where the source does not count words.
        lookups: What was looked up, each as `name(argument=value)`; of a database and of a graph.
        spread: Standard deviation of the query's similarities over all passages; `None` where there is none.
            Of passages in a server it is within 2 %, by what was measured when that was filled.
        error: Why the source could not be asked; empty where it could.
        degraded: What of the source did not work while the rest of it did, as `part: why`, each on a line of its own.
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
    error: str = ""
    degraded: str = ""

    def having(
        self, items: Iterable[EvidenceItem], threshold: float, rows: Sequence[PassageTrace] | None = None
    ) -> QueryTrace:
        """Return the trace of a reply.

        Args:
            items: What is returned, in its order.
            threshold: The confidence at which an item counts as relevant.
            rows: One for each item, in their order, then those of what the source itself left out; made of the items
                where they are not given.
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
        """Return the trace with what became of the passages that were returned, by their references.

        What was a copy of one that is now a copy itself is one of that which stands for both.
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
    """The sentence of a page that fits a question best, and the number of its item in the evidence, from 1."""

    number: int
    sentence: str
