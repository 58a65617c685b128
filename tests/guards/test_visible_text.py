"""Whatever a reader of an answer sees is somebody's words: a sentence that nobody said fails wherever in Markdown it stands."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from hypothesis import given
from hypothesis import strategies as st

from contracts.enums import CheckStatus, DraftKind, RequestType, Source
from contracts.evidence import EvidenceItem
from guards.grounding_check import check_grounding

PROVED: Final = "Port 8080 serves the page [1]."
EVIDENCE: Final = [
    EvidenceItem(
        source=Source.DOC,
        ref="a",
        title="Kettle",
        confidence=0.9,
        snippet="Port 8080 serves the page. It boils in time.",
    )
]
NOBODYS: Final = (
    "The vendor refunds every customer in full",
    "all accounts are deleted without notice tomorrow",
    "Our operators answer every call around midnight",
)

Wrap = Callable[[str], str]
INSIDE: Final[dict[str, Wrap]] = {
    "as it is": str,
    "bold": lambda text: f"**{text}**",
    "bold, ended": lambda text: f"**{text}.**",
    "italic": lambda text: f"_{text}_",
    "struck": lambda text: f"~~{text}~~",
    "code": lambda text: f"`{text}`",
    "link": lambda text: f"[{text}](#a)",
    "html": lambda text: f"<b>{text}</b>",
    "raised": lambda text: f"<sup>{text}</sup>",
    "joined": lambda text: text.replace(" ", "_"),
    "hard blanks": lambda text: text.replace(" ", "\u00a0"),
    "entities": lambda text: text.replace(" ", "&nbsp;"),
    "line break": lambda text: text.replace(" ", "<br>", 1),
    "quoted": lambda text: f"«{text}»",
    "marked": lambda text: f"=={text}==",
    "with a sign": lambda text: f"✅ {text}",
    "in brackets": lambda text: f"({text})",
}
AROUND: Final[dict[str, Wrap]] = {
    "paragraph": str,
    "heading": lambda text: f"## {text}",
    "underlined": lambda text: f"{text}\n===",
    "item": lambda text: f"- {text}",
    "star": lambda text: f"* {text}",
    "step": lambda text: f"1. {text}",
    "task": lambda text: f"- [ ] {text}",
    "item of an item": lambda text: f"- {PROVED}\n  - {text}",
    "underlined in a list": lambda text: f"- {text}\n  ---",
    "quotation": lambda text: f"> {text}",
    "row": lambda text: f"| a | b |\n|---|---|\n| x | {text} |",
    "beside a citation": lambda text: f"| a | b |\n|---|---|\n| {text} | {PROVED} |",
    "head of a table": lambda text: f"| {text} | b |\n|---|---|\n| x | Port 8080 [1] |",
    "fence": lambda text: f"```text\n{text}\n```",
    "indented": lambda text: f"    {text}",
    "block of html": lambda text: f"<div>\n\n{text}\n\n</div>",
    "details": lambda text: f"<details><summary>{text}</summary></details>",
    "lead of a list": lambda text: f"{text}:\n\n- {PROVED}",
    "lead of a sentence": lambda text: f"{text}:\n{PROVED}",
    "before a sentence": lambda text: f"{text}. {PROVED}",
    "behind a sentence": lambda text: f"{PROVED} {text}",
    "rider": lambda text: f"Port 8080 serves the page; {text} [1].",
    "aside": lambda text: f"Port 8080 serves the page ({text}) [1].",
    "behind a dash": lambda text: f"Port 8080 serves the page — {text} [1].",
    "definition": lambda text: f"Term\n: {text}",
}
PLACES: Final[tuple[Wrap, ...]] = (
    lambda text: f"{PROVED}\n\n{text}",
    lambda text: f"{text}\n\n{PROVED}",
    lambda text: f"{PROVED}\n\n{text}\n\n{PROVED}",
)


def fails(draft: str) -> bool:
    found = check_grounding(
        draft, EVIDENCE, request_type=RequestType.KNOWLEDGE_QA, kind=DraftKind.ANSWER, question="Which port is it?"
    )
    return found.status is CheckStatus.FAILED


def test_a_sentence_that_nobody_said_fails_wherever_it_stands() -> None:
    """In each mark of Markdown, in each block, before and behind what is proved; what is proved passes by itself."""
    assert not fails(PROVED)
    passed = [
        (inside, around)
        for at, (inside, mark) in enumerate(INSIDE.items())
        for around, block in AROUND.items()
        if not fails(PLACES[at % len(PLACES)](block(mark(NOBODYS[at % len(NOBODYS)]))))
    ]
    assert passed == []


@given(
    marks=st.lists(st.sampled_from(sorted(INSIDE)), max_size=2),
    around=st.lists(st.sampled_from(["item", "step", "quotation", "item of an item", "behind a sentence"]), max_size=2),
    place=st.sampled_from(PLACES),
    text=st.sampled_from(NOBODYS),
)
def test_no_nesting_of_marks_and_blocks_hides_it(marks: list[str], around: list[str], place: Wrap, text: str) -> None:
    """Marks inside of marks, lists in quotations: whatever is made of them, the sentence fails."""
    for name in marks:
        text = INSIDE[name](text)
    for name in around:
        text = AROUND[name](text.replace("\n", "\n  "))
    assert fails(place(text)), place(text)
