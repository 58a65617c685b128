"""The overlap of the labelled questions with the pages' own words, which should be low."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from assistant.config.profiles import BUNDLED_KNOWLEDGE
from evals.retrieval.corpora import LANGUAGES
from evals.retrieval.questions import RetrievalQuestion
from language.words import stems

_NUMBER = re.compile(r"(?m)^kbId:\s*(\d+)")
_HEADING = re.compile(r"(?m)^(?:title:|#{1,6} )(.*)$")


def handbook_headings() -> dict[str, str]:
    """Return the title and all headings of every handbook page, by the names that the labels use."""
    found: dict[str, str] = {}
    for language in LANGUAGES:
        for path in sorted((BUNDLED_KNOWLEDGE / language).glob("*.md")):
            text = path.read_text("utf-8")
            number = _NUMBER.search(text)
            if number:
                found[f"{language}/{int(number.group(1)) % 1000}"] = _headings(text)
    return found


def paths_headings(folder: Path) -> dict[str, str]:
    """Return headings as `handbook_headings` does, for pages that are named by their path."""
    return {path.relative_to(folder).as_posix(): _headings(path.read_text("utf-8")) for path in folder.rglob("*.md")}


def _headings(text: str) -> str:
    return "\n".join(_HEADING.findall(text))


def overlap(question: RetrievalQuestion, headings: Mapping[str, str]) -> float:
    """Return the share of a question's content stems in the title or a heading of an answering page."""
    said = set(stems(question.text))
    best = [page for page, grade in question.grades.items() if grade == 2]
    return (
        max((len(said.intersection(stems(headings[page]))) / len(said) for page in best), default=0.0) if said else 0.0
    )


def mean_overlap(asked: Sequence[RetrievalQuestion], headings: Mapping[str, str]) -> float:
    """Return the mean share over questions."""
    return sum(overlap(one, headings) for one in asked) / len(asked)
