"""A trial of a drafting model: whether it cites what it writes, and whether it names sentences if it is to arrange."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from adapters.drafting.replies import Unusable
from adapters.models.chat import Ask
from contracts.enums import DraftBy, DraftKind, Language, RequestType, Source
from contracts.evidence import EvidenceItem
from contracts.ports import Draft, DraftRequest
from contracts.spec import ArchitectSpec

_TEXTS: Final = ("The kettle holds two litres.", "The water boils at 100 degrees. After that, it switches itself off.")
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
_WANTED: Final = "100"


@dataclass(frozen=True, slots=True)
class DraftTrial:
    """What a model did with three sentences of two pages and a question that one of them answers."""

    draft_by: DraftBy
    result: str
    works: bool


def trial_request(draft_by: DraftBy) -> DraftRequest:
    return replace(_REQUEST, draft_by=draft_by)


def judge_trial(draft_by: DraftBy, read: Draft | Unusable) -> DraftTrial:
    """Return what a reply to the trial shows."""
    if isinstance(read, Unusable):
        return DraftTrial(draft_by, read.what, works=False)
    if read.kind is not DraftKind.ANSWER:
        return DraftTrial(draft_by, "it does not answer", works=False)
    if "[2]" not in read.text:
        return DraftTrial(draft_by, "it writes without citing", works=False)
    if _WANTED not in read.text:
        return DraftTrial(draft_by, "it answers beside the question", works=False)
    return DraftTrial(draft_by, "it answers, and cites" if draft_by is DraftBy.WRITE else "it answers", works=True)


_BIRD: Final = "heron"
_METAL: Final = "copper"


def two_messages_trial() -> Ask:
    """Return a request with two messages of the assistant in a row: whoever reads both can repeat a word of each."""
    from langchain_core.messages import AIMessage, HumanMessage

    messages = [
        HumanMessage("Tell me a bird, and then a metal."),
        AIMessage(f"The bird is the {_BIRD}."),
        AIMessage(f"The metal is {_METAL}."),
        HumanMessage("Which bird and which metal did you tell me? Write the two words and nothing else."),
    ]
    return Ask(messages, 40, apart=True)


def read_both(reply: str) -> bool:
    return all(word in reply.casefold() for word in (_BIRD, _METAL))
