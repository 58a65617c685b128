"""Runs of the product's own search, with the results as rankings of pages."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING, TypeVar

from adapters.index.embedded import KnowledgeBase
from adapters.planning.offline import OfflinePlanner
from assistant.deployment import deployment
from contracts.evidence import EvidenceItem
from contracts.ports import PlanRequest, SearchRequest
from evals.retrieval.corpora import RetrievalCorpus
from evals.retrieval.questions import RetrievalQuestion
from guards.evidence_selection import fold_duplicates, select_evidence

if TYPE_CHECKING:
    from adapters.index.embedded.index import Snapshot

T = TypeVar("T")

DEPTH = 100
"""Passages that are asked for: enough for twenty different pages."""
_NO_BUDGET = 10**9


def bar(items: Sequence[T], what: str) -> Iterable[T]:
    """Show the progress of a loop on standard error."""
    from tqdm import tqdm

    return tqdm(items, desc=what, unit=" questions", file=sys.stderr, leave=False, delay=1)


class Asker:
    """One corpus with its open index."""

    def __init__(self, corpus: RetrievalCorpus, knowledge: KnowledgeBase) -> None:
        self.corpus = corpus
        self.knowledge = knowledge

    def pages(self, question: RetrievalQuestion, *, expand: bool = False, version: str | None = None) -> list[str]:
        """Return the pages found for a question, best first, each at the rank of its first passage."""
        return self._name_pages(self._items(question, question.text, expand=expand, version=version))

    def in_all_releases(self, question: RetrievalQuestion, releases: Sequence[str]) -> list[str]:
        """Return pages as `pages` does, for a user who names all releases."""
        request = SearchRequest(
            question.text, top_k=DEPTH, language=question.language, question=f"releases {', '.join(releases)}"
        )
        return self._name_pages(
            self._merge([self.knowledge.search_now(request, kind).items for kind in self.corpus.kinds])
        )

    def passages(self, question: RetrievalQuestion, count: int) -> list[str]:
        """Return the pages of the first passages; a page with several passages is repeated."""
        return [self.corpus.page(item) for item in self._items(question, question.text)[:count]]

    def taking_turns(self, message: RetrievalQuestion, queries: Sequence[str]) -> list[str]:
        """Return the pages for several queries, merged as `retrieve` merges them."""
        ranked = [self._items(message, query) for query in queries]
        merged = select_evidence(ranked, threshold=0.0, limit=DEPTH * len(ranked), budget=_NO_BUDGET)
        return self._name_pages(merged.evidence)

    def planned(self, message: RetrievalQuestion) -> list[str]:
        """Return the sub-queries that the offline planner makes of a message."""
        planner = OfflinePlanner(self.knowledge, deployment("handbook").profile)
        reply = asyncio.run(planner.plan(PlanRequest(message.text, message.language)))
        return reply.plan.subqueries

    def sureness(self, text: str) -> tuple[float, float]:
        """Return the confidence of the best passage of any kind and language, and its raw score."""
        items = self._merge(
            [self.knowledge.search_now(SearchRequest(text, top_k=1), kind).items for kind in self.corpus.kinds]
        )
        return (items[0].confidence, items[0].score) if items else (0.0, 0.0)

    def _items(
        self, asked: RetrievalQuestion, text: str, *, expand: bool = False, version: str | None = None
    ) -> list[EvidenceItem]:
        request = SearchRequest(text, top_k=DEPTH, language=asked.language, expand=expand, version=version)
        return self._merge([self.knowledge.search_now(request, kind).items for kind in self.corpus.kinds])

    def _merge(self, replies: Sequence[Sequence[EvidenceItem]]) -> list[EvidenceItem]:
        """Return all kinds in one order: their scores are of the same index and the same query."""
        if len(replies) == 1:
            return list(replies[0])
        return fold_duplicates(sorted((item for reply in replies for item in reply), key=lambda item: -item.score))

    def _name_pages(self, items: Iterable[EvidenceItem]) -> list[str]:
        return list(dict.fromkeys(map(self.corpus.page, items)))


@contextmanager
def open_corpus(corpus: RetrievalCorpus) -> Generator[Asker]:
    """Open the index of a corpus."""
    with KnowledgeBase(corpus.directory) as knowledge:
        yield Asker(corpus, knowledge)


# ------------------------------------------------------------------------------------------- parts that are left out


@contextmanager
def exact_words() -> Generator[None]:
    """Search without the matching of misspelt words, to measure its benefit."""
    from adapters.index.embedded.index import Snapshot

    before = Snapshot.meant
    Snapshot.meant = _nothing
    try:
        yield
    finally:
        Snapshot.meant = before


def _nothing(self: Snapshot, word: str) -> list[str]:  # noqa: ARG001  # it stands in for a method
    return []


@contextmanager
def field_weights(title: float, heading: float) -> Generator[None]:
    """Search with other weights of titles and headings."""
    from adapters.index.scoring import WEIGHTS

    before = dict(WEIGHTS)
    WEIGHTS.update(title=title, heading=heading)
    try:
        yield
    finally:
        WEIGHTS.update(before)


@contextmanager
def english_stems() -> Generator[None]:
    """Index and search like an analyser for English: no Russian stems, and ё differs from е."""
    import Stemmer

    from language import words

    stemmer = Stemmer.Stemmer("english")
    before = words.stem
    words.stem = lru_cache(stemmer.stemWord)
    try:
        yield
    finally:
        words.stem = before


@contextmanager
def passage_sizes(short: int, long: int) -> Generator[None]:
    """Index with passages of other sizes, in characters."""
    from adapters.reading import chunks

    before = chunks.SHORT, chunks.LONG, chunks.HUGE
    chunks.SHORT, chunks.LONG, chunks.HUGE = short, long, 3 * long
    try:
        yield
    finally:
        chunks.SHORT, chunks.LONG, chunks.HUGE = before
