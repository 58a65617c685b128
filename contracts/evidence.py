"""Evidence: what a source returns, and what a citation needs."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from contracts.values import Language, Source


class EvidenceItem(BaseModel):
    """One passage or row that an answer may rest on.

    Attributes:
        source: The kind of source it came from.
        ref: An id that names the same text in every search of one index, for example `doc:17#3`.
        snippet: The text itself, in its own mark-up.
        confidence: 0 to 1, by the formula that the source's port documents: "on topic", not "correct".
        score: The source's raw score, comparable within one query only.
        title, url, kb_id, heading, lines, language, updated: what a citation shows.
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


class QueryTrace(BaseModel):
    """What one query of one source brought, for the operator and the result.

    Attributes:
        attempt: 0 for the first search of a turn, then the number of the retry.
        articles: Per document: title, url, kb_id, confidence and raw score, best first.
        error: Why the source could not be asked; empty where it could.
        degraded: What of the source did not work while the rest of it did, as `part: why`, each on a line of its own.
    """

    model_config = ConfigDict(frozen=True)

    query: str
    source: Source
    attempt: int = 0
    expanded: bool = False
    confidence: ConfidenceFigures = ConfidenceFigures()
    articles: list[dict[str, str | int | float | None]] = Field(
        default_factory=list[dict[str, str | int | float | None]]
    )
    error: str = ""
    degraded: str = ""
