"""What every evidence source does, whatever it stands on: a suite that each adapter and the fake run.

A test module subclasses `SourceConformance` and gives it a source that knows at least three documents on apples.
"""

from __future__ import annotations

import dataclasses

import pytest

from contracts.enums import Language, Source
from contracts.errors import PortError
from contracts.evidence import ConfidenceFigures
from contracts.ports import EvidenceSource, SearchRequest


class SourceConformance:
    """Subclasses define two fixtures: `source`, and `broken`, a source that cannot be asked."""

    @pytest.fixture
    def source(self) -> EvidenceSource:
        raise NotImplementedError

    @pytest.fixture
    def broken(self) -> EvidenceSource:
        raise NotImplementedError

    async def test_a_source_says_its_kind_and_items_are_of_it(self, source: EvidenceSource) -> None:
        """The kind is one of the closed set, and every item and the trace name it."""
        reply = await source.search(SearchRequest("apple"))
        assert source.kind in Source
        assert {item.source for item in reply.items} == {source.kind}
        assert reply.trace.source == source.kind

    async def test_items_come_best_first_and_are_different(self, source: EvidenceSource) -> None:
        """Confidence does not rise along the list, and no two items have one reference."""
        items = (await source.search(SearchRequest("apple", top_k=50))).items
        assert len(items) >= 3
        assert [item.confidence for item in items] == sorted((item.confidence for item in items), reverse=True)
        assert len({item.ref for item in items}) == len(items)
        assert all(item.snippet.strip() for item in items)

    async def test_no_more_is_returned_than_is_wanted(self, source: EvidenceSource) -> None:
        """`top_k` is a limit, also where it is none or absurd, and a shorter list is the beginning of a longer one."""
        longer = (await source.search(SearchRequest("apple", top_k=3))).items
        for top_k in (-1, 0, 1, 2):
            items = (await source.search(SearchRequest("apple", top_k=top_k))).items
            assert items == longer[: max(top_k, 0)]
        assert len((await source.search(SearchRequest("apple", top_k=10**15))).items) >= 3

    async def test_excluded_documents_do_not_come_back(self, source: EvidenceSource) -> None:
        """A document that is named in `exclude` is not among the items, and its place is filled by others."""
        first = (await source.search(SearchRequest("apple", top_k=1))).items[0]
        request = SearchRequest("apple", top_k=50, exclude=frozenset({first.document_key, "no such document"}))
        items = (await source.search(request)).items
        assert items
        assert first.document_key not in {item.document_key for item in items}

    async def test_the_same_question_has_the_same_answer(self, source: EvidenceSource) -> None:
        """Two searches for one thing return equal replies: references are names, not numbers of the day."""
        request = SearchRequest("apple", top_k=10, language=Language.EN)
        assert await source.search(request) == await source.search(request)

    @pytest.mark.parametrize("blank", ["", " ", "\n\t "])
    async def test_a_blank_query_finds_nothing(self, source: EvidenceSource, blank: str) -> None:
        """Nothing is asked, nothing is found, and that is no error."""
        reply = await source.search(SearchRequest(blank))
        assert reply.items == ()
        assert reply.trace.confidence == ConfidenceFigures()

    @pytest.mark.parametrize("expand", [False, True])
    async def test_the_trace_tells_what_was_searched(self, source: EvidenceSource, expand: bool) -> None:
        """Query, widening, the figures and one entry per document, best first, are those of the reply."""
        request = SearchRequest("apple", top_k=5, expand=expand, threshold=0.3)
        reply = await source.search(request)
        sure = sorted((item.confidence for item in reply.items), reverse=True)
        assert (reply.trace.query, reply.trace.expanded, reply.trace.error) == ("apple", expand, "")
        assert reply.trace.confidence == ConfidenceFigures.of(sure, 0.3)
        keys = list(dict.fromkeys(item.document_key for item in reply.items))
        assert [article["document"] for article in reply.trace.articles] == keys
        assert all({"title", "url", "kb_id", "confidence", "score"} <= set(article) for article in reply.trace.articles)

    @pytest.mark.parametrize(
        "query", ["apple AND (", 'title:"', "* ~2 \\", "'; DROP TABLE chunks; --", "{0}", "\x00\ud800"]
    )
    async def test_any_text_can_be_asked(self, source: EvidenceSource, query: str) -> None:
        """A query is data: no text of a user makes a source fail."""
        reply = await source.search(dataclasses.replace(SearchRequest(""), query=query))
        assert all(0 <= item.confidence <= 1 for item in reply.items)

    async def test_not_being_able_is_not_finding_nothing(self, broken: EvidenceSource) -> None:
        """A source that cannot be asked raises an error of the port, with its message."""
        with pytest.raises(PortError) as caught:
            await broken.search(SearchRequest("apple"))
        assert caught.value.message
