"""A trial of a drafting model: whether it cites what it writes, and whether it names sentences if it is to arrange."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Final

from contracts.enums import DraftBy, DraftKind, Language, RequestType, Source
from contracts.evidence import EvidenceItem
from contracts.ports import Draft, DraftRequest
from contracts.spec import ArchitectSpec

_TEXTS: Final = (
    "The kettle holds two litres. Its lid opens with a button.",
    "The water boils at 100 degrees. After that, the kettle switches itself off. The cord is one metre long.",
)
_PAGES: Final = tuple(
    EvidenceItem(
        source=Source.DOC,
        ref=f"doc:trial-{number}#0",
        document=f"doc:trial-{number}",
        title="The kettle",
        snippet=text,
        confidence=1.0,
    )
    for number, text in enumerate(_TEXTS, 1)
)
_REQUEST: Final = DraftRequest(
    question="At how many degrees does the water boil?",
    language=Language.EN,
    request_type=RequestType.KNOWLEDGE_QA,
    intent="to know when the water boils",
    subqueries=("At how many degrees does the water boil?",),
    evidence=_PAGES,
    spec=ArchitectSpec(),
)
_WANTED: Final = re.compile(r"\b100\b")
_DENIED: Final = re.compile(r"(?i)\b(?:not|never)\b|n't\b")
_BESIDE: Final = re.compile(r"(?i)\b(?:litres|lid|cord)\b")
"""What the other sentences are about: a model that names all has chosen none."""


@dataclass(frozen=True, slots=True)
class DraftTrial:
    """What a model did with five sentences of two pages and a question that one of them answers.

    Attributes:
        tried: Whether its server answered at all.
    """

    draft_by: DraftBy
    result: str
    works: bool
    tried: bool = True


def trial_request(draft_by: DraftBy) -> DraftRequest:
    return replace(_REQUEST, draft_by=draft_by)


def judge_trial(draft_by: DraftBy, read: Draft) -> DraftTrial:
    """Return what a draft of the trial shows."""
    if read.kind is not DraftKind.ANSWER:
        return DraftTrial(draft_by, "it does not answer", works=False)
    if "[2]" not in read.text:
        return DraftTrial(draft_by, "it writes without citing", works=False)
    if not _WANTED.search(read.text) or _DENIED.search(read.text):
        return DraftTrial(draft_by, "it answers beside the question", works=False)
    if draft_by is DraftBy.ARRANGE and _BESIDE.search(read.text):
        return DraftTrial(draft_by, "it names sentences that do not answer, too", works=False)
    return DraftTrial(draft_by, "it answers, and cites" if draft_by is DraftBy.WRITE else "it answers", works=True)
