"""The articles of a result: one for each document, with its passages inside."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from contracts.enums import Language, Outcome, Source
from contracts.evidence import EvidenceItem
from contracts.result import StructuredAgentResult


def passage(ref: str, document: str = "", confidence: float = 0.5, source: Source = Source.DOC) -> EvidenceItem:
    return EvidenceItem(source=source, ref=ref, document=document, snippet=f"Of {ref}.", confidence=confidence)


FOUND = [
    passage("doc:a#1", "a", 0.5),
    passage("doc:b#1", "b", 0.9),
    passage("doc:a#2", "a", 0.8),
    passage("lookup()#1", source=Source.DB),
    passage("lookup()#2", source=Source.DB),
    passage("policy:a#1", "a", source=Source.POLICY),
]


def result(articles: Any) -> StructuredAgentResult:
    return StructuredAgentResult.model_validate(
        {"language": Language.EN, "outcome": Outcome.ANSWERED, "answer_text": "So.", "final_articles": articles}
    )


def test_a_document_is_one_article_with_the_fields_of_its_surest_passage() -> None:
    """Articles stand in the order of their first passages, which keep the numbers that the draft cites."""
    made = result(FOUND)
    assert [[item.number for item in article.passages] for article in made.final_articles] == [
        [1, 3],
        [2],
        [4],
        [5],
        [6],
    ]
    first = made.final_articles[0]
    assert (first.ref, first.confidence, first.snippet) == ("doc:a#2", 0.8, "Of doc:a#2.")
    assert made.evidence == FOUND


def test_a_result_of_an_earlier_version_has_articles_too() -> None:
    """Its passages stand in a list, each as an article of its own; what is written now is read as it was written."""
    old = result([item.model_dump(mode="json") for item in FOUND])
    assert old == result(FOUND)
    assert StructuredAgentResult.model_validate_json(old.model_dump_json()) == old
    assert result([]).evidence == []


@pytest.mark.parametrize(
    "broken", [5, [5], ["x"], [{}], [{"passages": []}], [{"passages": 5}], [*FOUND[:1], {"passages": []}], [[[[]]]]]
)
def test_articles_that_nobody_wrote_are_refused(broken: Any) -> None:
    """They are no result, whatever stands in the file of conversations."""
    with pytest.raises(ValidationError):
        result(broken)
