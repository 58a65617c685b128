"""Does the draft answer the question that was asked?

Grounding proves that an answer stands in the documents. Whether these are the documents that answer is an estimate, by
how search ranked the page that is cited, for each part of the question:

    logit p = -3.36 + 7.1 margin + 3.7 coverage                    by words
    logit p = -2.27 + 6.0 margin + 3.1 coverage + 0.5 nearness     by words and meaning

    margin     of the page's best score to the best of another page, as a share of the top score: -1 to 1
    coverage   share of the question's content words that the page's passages have, weighted by idf: 0 to 1
    nearness   of the page's best similarity to the best of another page, in standard deviations of all similarities

Fitted on labelled questions about two manuals that the project had not seen: AUC .81 by reading, where the confidence
of the hits has .64. The order carries over from manual to manual, the probability less so (docs/evaluation.md).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from contracts.evidence import EvidenceItem, Fate, PassageTrace, QueryTrace
from contracts.reasons import Reason
from contracts.report import Finding, PartFinding
from contracts.values import CheckStatus, DraftKind, PartStatus, RequestType, RequiredAction
from language.lexicon import STATUS, asking_stems
from language.message import likest
from language.words import stems

NAME: Final = "relevance"
_A = RequiredAction
_WORDS: Final = (-3.36, 7.1, 3.7)
_MEANING: Final = (-2.27, 6.0, 3.1)
_OF_NEARNESS: Final = 0.5
_MOST_NEARNESS: Final = 4.0
"""Standard deviations; beyond, a small knowledge base would be sure of anything."""
_LEAST_COVERAGE: Final = 0.5
"""A page that has less of the question's words speaks of something else, unless its meaning is near."""
_NEAR: Final = 1.0
"""Standard deviations by which a page is nearer than any other, from which words that it lacks do not speak against it."""
_HARDLY: Final = 0.4
"""An estimate below which nothing is cited for a part, but for another that shares its words."""
_MUCH: Final = 0.8
"""The share of the weightiest word's weight from which a word says much."""
_NAME: Final = re.compile(r"(?<![\w.])(?:[A-Z][A-Z0-9]{1,15}|[A-Z][a-z]+[A-Z]\w{1,30})(?![\w.])")
"""An abbreviation, or a name with a capital inside: SSO, FedEx."""
_CAPITALS: Final = 0.5
"""The share of capital words from which capitals say nothing: "HOW DO I LOG IN"."""


@dataclass(frozen=True, slots=True)
class RelevanceQuestion:
    """What a draft is asked against.

    Attributes:
        parts: The questions of the message, each as it was searched for; with fewer than two, all queries are one part.
        cited: The refs of the evidence that the draft cites.
        sure: The estimate from which on an answer is stated, in (0, 1).
        ignored: Stems that say nothing, as those of the product's name.
    """

    request_type: RequestType
    kind: DraftKind
    parts: Sequence[str]
    evidence: Sequence[EvidenceItem]
    traces: Sequence[QueryTrace]
    cited: frozenset[str]
    sure: float
    ignored: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class _Page:
    """A cited page, and how likely it answers one part."""

    estimate: float
    coverage: float
    missing: tuple[str, ...]
    near: float = 0.0


def check_relevance(question: RelevanceQuestion) -> Finding:
    """Judge whether what is cited answers each part of the question; answers from documents and graphs alone are asked.

    A page speaks against itself where it has too few of the question's words, or lacks a name of it: then the search
    may find a better one. Where an answer does for one part and not surely for another, it is drafted again without
    that one. Rows of a lookup were asked for by name, and count as sure.
    """
    if question.kind is not DraftKind.ANSWER or question.request_type in (*STATUS, RequestType.CASUAL):
        return Finding(check=NAME, status=CheckStatus.NOT_ASKED)
    traces = [trace for trace in question.traces if trace.passages]
    cited = [item for item in question.evidence if item.ref in question.cited]
    if not cited or not traces or not question.parts:
        return Finding(check=NAME, status=CheckStatus.NOT_ASKED)
    parts = _parts(question, traces, cited)
    return _finding(parts, [part for part in parts if part.status is PartStatus.NOT_FOUND and part.missing])


def _finding(parts: Sequence[PartFinding], against: Sequence[PartFinding]) -> Finding:
    def finding(status: CheckStatus, reason: Reason | None = None, actions: tuple[RequiredAction, ...] = ()) -> Finding:
        reasons = (reason,) if reason else ()
        return Finding(check=NAME, status=status, reasons=reasons, actions=actions, parts=tuple(parts))

    sure = [part for part in parts if part.status in (PartStatus.ANSWERED, PartStatus.PARTLY)]
    doubtful = [part for part in parts if part.status is PartStatus.DOUBTFUL]
    if sure and not doubtful:
        return finding(CheckStatus.OK)
    named = tuple(part.text for part in doubtful or parts)
    if sure:
        return finding(CheckStatus.FAILED, Reason("relevance_doubtful", named), (_A.REGENERATE_DRAFT,))
    if against and not doubtful:
        words = tuple(dict.fromkeys(word for part in against for word in part.missing))
        return finding(CheckStatus.FAILED, Reason("does_not_answer", words), (_A.REFINE_QUERY, _A.RETRIEVE_MORE))
    return finding(CheckStatus.DOUBTFUL, Reason("relevance_doubtful", named))


def _parts(
    question: RelevanceQuestion, traces: Sequence[QueryTrace], cited: Sequence[EvidenceItem]
) -> list[PartFinding]:
    texts = list(question.parts)
    if len(texts) < 2:
        return [_part(" ".join(texts), traces, cited, question, alone=True)]
    of_part: list[list[QueryTrace]] = [[] for _ in texts]
    for trace in traces:
        of_part[likest(trace.query, texts)].append(trace)
    return [_part(text, its, cited, question, alone=False) for text, its in zip(texts, of_part, strict=True)]


def _part(
    text: str,
    traces: Sequence[QueryTrace],
    cited: Sequence[EvidenceItem],
    question: RelevanceQuestion,
    *,
    alone: bool,
) -> PartFinding:
    """Judge one part by its surest page; what stands for other parts, and is hardly near this one, is not for it."""
    pages: dict[str, _Page] = {}
    texts = _words_of(question.evidence)
    for item in cited:
        key = item.document_key
        for trace in traces:
            page = _judged(item, trace, texts[key], question.ignored)
            if page and (key not in pages or page.estimate > pages[key].estimate):
                pages[key] = page
    if not pages:
        return PartFinding(text=text, status=PartStatus.DOUBTFUL if alone else PartStatus.NOT_FOUND)
    best = max(pages.values(), key=lambda page: page.estimate)
    there = frozenset[str]().union(*(texts[key] for key in pages))
    names = tuple(name for name in names_in(text, question.ignored) if not there.issuperset(stems(name)))
    refs = tuple(item.ref for item in cited if item.document_key in pages)
    if names or (best.coverage < _LEAST_COVERAGE and best.near < _NEAR):
        status, missing = PartStatus.NOT_FOUND, names or best.missing
    elif best.estimate >= question.sure and not best.missing:
        status, missing = PartStatus.ANSWERED, ()
    elif alone or best.estimate >= _HARDLY:
        status, missing = PartStatus.DOUBTFUL, best.missing
    else:
        status, missing, refs = PartStatus.NOT_FOUND, (), ()
    return PartFinding(text=text, status=status, estimate=round(best.estimate, 3), refs=refs, missing=missing)


def _words_of(evidence: Iterable[EvidenceItem]) -> dict[str, frozenset[str]]:
    """Return the stems of each page's passages, titles and headings, by its key."""
    words: dict[str, set[str]] = {}
    for item in evidence:
        words.setdefault(item.document_key, set()).update(stems(f"{item.title}\n{item.heading}\n{item.snippet}"))
    return {key: frozenset(own) for key, own in words.items()}


def _judged(item: EvidenceItem, trace: QueryTrace, words: frozenset[str], ignored: frozenset[str]) -> _Page | None:
    """Judge a cited item's page by one query; `None` where the query did not find the page."""
    rows = [row for row in trace.passages if row.fate is not Fate.COPY]
    own = [row for row in rows if row.document == item.document_key]
    if not own or item.source is not trace.source:
        return None
    if item.lookup:
        return _Page(1.0, 1.0, ())
    if not any(row.score for row in rows):
        # Who ranks without scores says by its confidence how sure it is, and nothing else is known.
        return _Page(max(row.confidence for row in own), 1.0, ())
    weights = _weights(trace, ignored)
    total = sum(weights.values())
    coverage = sum(weight for word, weight in weights.items() if word in words) / total if total else 1.0
    most = max(weights.values(), default=0.0)
    missing = tuple(word for word, weight in weights.items() if word not in words and weight >= _MUCH * most)
    near = _nearness(own, [row for row in rows if row.document != item.document_key], trace)
    estimate = _estimate(own, rows, trace, coverage, near)
    return _Page(estimate, coverage, _as_said(missing, trace.query), near or 0.0)


def _weights(trace: QueryTrace, ignored: frozenset[str]) -> Mapping[str, float]:
    """Return the weights of a query's words but those of the asking; all alike where the source does not count words."""
    weights = trace.words or dict.fromkeys(stems(trace.query), 1.0)
    without = ignored | asking_stems()
    return {word: weight for word, weight in weights.items() if word not in without} or weights


def _estimate(
    own: Sequence[PassageTrace], rows: Sequence[PassageTrace], trace: QueryTrace, coverage: float, near: float | None
) -> float:
    others = [row for row in rows if row.document != own[0].document]
    scores = _fused if near is not None else _by_words
    top = max(map(scores, rows))
    # Where everything that was returned is of one page, the next one is at most as good as the last of these.
    rest = [scores(row) for row in others] or ([] if trace.found <= len(own) < 2 else [min(map(scores, rows))])
    margin = (max(map(scores, own)) - max(rest, default=0.0)) / top if top > 0 else 0.0
    base, of_margin, of_coverage = _WORDS if near is None else _MEANING
    logit = base + of_margin * margin + of_coverage * coverage + _OF_NEARNESS * (near or 0.0)
    return 1 / (1 + math.exp(-max(-50.0, min(50.0, logit))))


def _by_words(row: PassageTrace) -> float:
    return row.score


def _fused(row: PassageTrace) -> float:
    return row.fused or 0.0


def _nearness(own: Sequence[PassageTrace], others: Sequence[PassageTrace], trace: QueryTrace) -> float | None:
    """Return how much nearer the page is than any other, in standard deviations; `None` where meaning took no part."""
    if not trace.spread or all(row.fused is None for row in own):
        return None
    mine = max((row.similarity for row in own if row.similarity is not None), default=None)
    theirs = max((row.similarity for row in others if row.similarity is not None), default=None)
    if mine is None or theirs is None:
        return 0.0
    return max(-_MOST_NEARNESS, min(_MOST_NEARNESS, (mine - theirs) / trace.spread))


def names_in(text: str, ignored: frozenset[str] = frozenset()) -> tuple[str, ...]:
    """Return the abbreviations and names of a text that nothing else can stand for, each once."""
    said = re.findall(r"[^\W\d_]{2,}", text)
    if sum(word.isupper() for word in said) > _CAPITALS * len(said) and len(said) > 2:
        return ()
    names = dict.fromkeys(_NAME.findall(text))
    return tuple(name for name in names if (own := stems(name)) and not ignored.issuperset(own))


def _as_said(words: Iterable[str], query: str) -> tuple[str, ...]:
    """Return the words of a query that have given stems, as the user wrote them."""
    wanted = set(words)
    said = re.findall(r"[^\W_]+", query)
    return tuple(dict.fromkeys(word for word in said if not wanted.isdisjoint(stems(word))))
