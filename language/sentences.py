"""Sentences of Russian and English prose; Markdown and abbreviations stay whole."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

from language.memo import remember_items
from language.patterns import read_wording

if TYPE_CHECKING:
    from razdel.segmenters.sentenize import SentSegmenter

_WORDING = read_wording(__name__)

_WHOLE = re.compile(
    r"(?<!`)(`+)(?!`).+?(?<!`)\1(?!`)|(?<!\[)\[[^\]\n]{0,1000}+\]\([^)\n]{0,1000}+\)|https?://\S+"
    r"|&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]+);"
)
"""What is never cut: code spans, links, addresses and characters written as entities."""

_GOES_ON = _WORDING.pattern("goes_on")
_LONGEST_END = 7

_QUESTION_END = re.compile(r"(?<=[?？])\s+|\n+")


@remember_items
def sentences(text: str) -> list[str]:
    """Split one paragraph into sentences, never inside code spans, links, URLs and entities, or at ";" or "e.g."."""
    masks: list[str] = []

    def mask(match: re.Match[str]) -> str:
        masks.append(match.group())
        return f"\ue000{len(masks) - 1}\ue001"

    # These two are ours; in a text they mean nothing.
    flat = _WHOLE.sub(mask, " ".join(text.replace("\ue000", "").replace("\ue001", "").split()))
    found: list[str] = []
    for part in (each.text.strip() for each in _segmenter()(flat)):
        if part and found and _GOES_ON.search(found[-1][-_LONGEST_END:]):
            found[-1] = f"{found[-1]} {part}"
        elif part:
            found.append(part)
    return [_unmask(sentence, masks) for sentence in found]


@cache
def _segmenter() -> SentSegmenter:
    """Return razdel's rules, asked only of marks before a blank: of any other they say that it ends no sentence."""
    # They are read on import; the CLI's `--help` has no use for them.
    from razdel.segmenters.sentenize import DELIMITER, SentSegmenter, SentSplitter

    return SentSegmenter(SentSplitter(rf"{DELIMITER}(?=\s)"))


def _unmask(text: str, masks: list[str]) -> str:
    return re.sub("\ue000(\\d{1,9})\ue001", lambda match: masks[int(match.group(1))], text)


def questions(text: str) -> list[str]:
    """Split a message into its questions, at question marks and line breaks, without empty parts."""
    return [part.strip() for part in _QUESTION_END.split(text) if part and part.strip()]
