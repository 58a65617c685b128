"""How well labelled questions find their pages of the handbook."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from pathlib import Path

from contracts.enums import Language, Source
from contracts.evidence import EvidenceItem
from contracts.ports import SearchRequest

ROOT = Path(__file__).resolve().parents[3]


Search = Callable[[SearchRequest, Source], Sequence[EvidenceItem]]


def pick_questions(language: str) -> list[tuple[str, frozenset[int]]]:
    """Thirty labelled questions on the handbook, and the pages that answer them."""
    lines = (ROOT / "evals" / "cases" / "handbook.jsonl").read_text("utf-8").splitlines()
    cases = [case for case in map(json.loads, lines) if case["id"].startswith(language) and case.get("pages")]
    asked = [(case["says"][0], frozenset(case["pages"])) for case in cases if len(case["says"]) == 1]
    return asked[:: len(asked) // 30][:30]


def measure_ndcg(search: Search, language: str, every: int = 1) -> float:
    """Return the mean nDCG@10 of documents, each counted where it is first found, over every so-manieth question."""
    picked = pick_questions(language)[::every]
    return sum(_ndcg(search, language, *question) for question in picked) / len(picked)


def _ndcg(search: Search, language: str, question: str, pages: frozenset[int]) -> float:
    items = search(SearchRequest(question, top_k=30, language=Language(language)), Source.DOC)
    found = list(dict.fromkeys(item.kb_id for item in items))[:10]
    gain = sum(1 / math.log2(place + 2) for place, page in enumerate(found) if page in pages)
    return gain / sum(1 / math.log2(place + 2) for place in range(min(10, len(pages))))
