"""What a text asserts, and the evidence that it cites for it.

A claim is a sentence, a list item, a table or a code block; a citation is `[n]`, outside of code. Who writes
citations and who checks them must split a text alike, so there is one way of doing it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from language.blocks import Block, BlockKind, blocks, without_code
from language.links import has_link
from language.sentences import sentences
from language.values import Values, values
from language.words import stems

_CITATION = re.compile(r"\[(\d{1,3})\]")
_QUOTE_MARK = re.compile(r"^ {0,3}> ?", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Claim:
    """Something a text asserts, and the numbers of the evidence it cites for it (counted from 1)."""

    text: str
    cites: tuple[int, ...]


def claims(draft: str) -> list[Claim]:
    """Return the claims of a Markdown text in order; headings, courtesies and bare questions are none.

    A question is bare where it holds no number, identifier, link or citation.
    """
    found = blocks(draft)
    return [claim for position, block in enumerate(found) for claim in _claims_of(block, found, position)]


def without_citations(text: str) -> str:
    """Return a text without its citations."""
    return _CITATION.sub("", text)


def _claims_of(block: Block, found: list[Block], position: int) -> Iterator[Claim]:
    match block.kind:
        case BlockKind.HEADING:
            return
        case BlockKind.QUOTE:
            yield from claims(_QUOTE_MARK.sub("", block.text))
        case BlockKind.PARAGRAPH:
            for text in _cited_sentences(block.text):
                if _asserts(text):
                    yield Claim(text, _cites(text))
        case BlockKind.BULLETS | BlockKind.STEPS:
            for item in block.parts:
                if _asserts(item):
                    yield Claim(item, _cites(item))
        case BlockKind.CODE | BlockKind.TABLE | BlockKind.OTHER:
            # A code block or a table cannot carry a mark inside; the line that leads into it, or follows it, does.
            inside = _cites(block.text) if block.kind is BlockKind.TABLE else ()
            around = [found[i] for i in (position - 1, position + 1) if 0 <= i < len(found)]
            lead = next((cites for other in around if (cites := _cites(other.text))), ())
            yield Claim(block.text, inside or lead)


def _cited_sentences(text: str) -> list[str]:
    """Split a paragraph into sentences; a citation behind the full stop belongs to the sentence before it."""
    joined: list[str] = []
    for part in sentences(text):
        marks = re.match(r"^(?:\[\d{1,3}\]\s*)+", part)
        if marks and joined:
            joined[-1] = f"{joined[-1]} {marks.group().strip()}"
            part = part[marks.end() :].strip()
        if part:
            joined.append(part)
    return joined


def _cites(text: str) -> tuple[int, ...]:
    return tuple(dict.fromkeys(int(n) for n in _CITATION.findall(without_code(text))))


def _asserts(text: str) -> bool:
    bare = without_citations(text).strip()
    named = values(bare)
    if bare.endswith("?"):
        # A question that brings a fact along asserts it: "Will you pay 500 dollars?"
        return bool(_cites(text) or named.numbers or named.identifiers or named.urls or has_link(bare))
    # What cites or names something asserts it, however short; without either, three words say something.
    return bool(_cites(text)) or named != Values() or len(stems(bare)) >= 3
