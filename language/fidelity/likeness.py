"""The share of a claim's words that its sources have: it shows inventions, and how faithful a draft is overall.

A paraphrase shares most of its words with its source. Names and values are ignored, because a lie has them, too.
Measured on summaries that people rated, a claim with hardly any shared words is wrong twice or seven times as often as
right; that is no proof.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

from language.clean import unescape_entities
from language.figures.passage import ReadPassage
from language.lexicon import is_lead_in, points_ahead
from language.names import names
from language.patterns import read_wording
from language.words import detect, stems

_WORDING: Final = read_wording(__name__)

_FIGURE: Final = re.compile(r"\d+(?:[.,]\d+)*")
_SPAN: Final = re.compile(r"`[^`\n]*`")
_LEAST_WORDS: Final = 3
"""Words from which on the share of a claim says something."""
_LEAST_TYPED: Final = 4
"""The same where something is to be typed, or two numbers are compared: that is told in one's own words."""
_LEAST_LEADING: Final = 5
"""The same of a line that points at what comes: "To drop it, do the following:"."""
_HARDLY: Final = 0.1
_FEW: Final = 0.25
"""The same of a claim with more than `_MANY_WORDS`."""
_MANY_WORDS: Final = 4


def inventions(claim: str, cited: Sequence[ReadPassage]) -> list[str]:
    """Return a claim, or its parts, with hardly a word of the cited passages: "Port 80 is open; all is free of charge".

    Args:
        claim: One claim, without its citations.
        cited: The passages that it cites; a text in another script than theirs is not judged.
    """
    if is_invented(claim, cited, leads=claim.rstrip().endswith(":") and points_ahead(claim)):
        return [claim]
    plain = unescape_entities(claim)
    parts = [part.strip() for part in _PART.split(plain)[:_MOST_PARTS]]
    # A translation is one from its beginning to its end: what changes its script on the way cannot be compared.
    mixed = any(len(_words(part)) >= _LEAST_WORDS and _is_of_one_script(part, cited) for part in parts)
    led_in = [f"{part.rpartition(': ')[0]}:" for part in parts if ": " in part]
    return [
        part
        for part in (*parts, *led_in)
        if part != claim.strip()
        and not _ASIDE.match(part)
        and (is_invented(part, cited) or (mixed and _is_in_another_script(part, cited)))
    ]


_ASIDE: Final = _WORDING.pattern("aside")


_PART: Final = _WORDING.pattern("part")
_MOST_PARTS: Final = 100


def is_invented(claim: str, cited: Sequence[ReadPassage], *, leads: bool = False) -> bool:
    """Whether a text has hardly a word of some passages; lead-ins to a list or a block may be worded more freely."""
    words, typed = _words(claim), "`" in claim or len(_FIGURE.findall(claim)) > 1
    least = _LEAST_LEADING if leads else _LEAST_TYPED if typed or claim.rstrip().endswith(":") else _LEAST_WORDS
    if len(words) < least or is_lead_in(claim) or not _is_of_one_script(claim, cited):
        return False
    return share_of(words, cited) < (_FEW if len(words) > _MANY_WORDS and not (typed or leads) else _HARDLY)


def likeness(claim: str, cited: Sequence[ReadPassage]) -> float | None:
    """Return the share of a claim's words that its sources have, 0 to 1; `None` if too short or in another script."""
    words = _words(claim)
    if not words or is_lead_in(claim) or not _is_of_one_script(claim, cited):
        return None
    return share_of(words, cited)


def share_of(words: Iterable[str], cited: Iterable[ReadPassage]) -> float:
    """Return the share of some stems that passages have."""
    there = frozenset[str]().union(*(text.vocabulary for text in cited))
    every = list(words)
    return sum(word in there for word in every) / len(every)


def _words(claim: str) -> list[str]:
    named = {part for name in names(claim) for part in stems(name)}
    said = dict.fromkeys(stems(_SPAN.sub(" ", claim)))
    return [word for word in said if word not in named and not any(map(str.isdigit, word))]


def _is_in_another_script(part: str, cited: Sequence[ReadPassage]) -> bool:
    """Whether a part is in other letters than what it cites, where it does not stand."""
    words = _words(part)
    return len(words) >= _LEAST_TYPED and not _is_of_one_script(part, cited) and share_of(words, cited) < _HARDLY


def _is_of_one_script(claim: str, cited: Sequence[ReadPassage]) -> bool:
    return any(detect(claim) is detect(there.text) for there in cited)
