"""Sentences of documents that give orders: to a language model, or to the user to hand over secrets or money.

A page of a manual says what its product does. A sentence that tells an assistant to forget its rules, or the reader to
send a password, answers nobody's question, whoever wrote it. The rules for messages (`language.attacks.matching`) and
for drafts (`language.attacks.demands`) find such sentences; others pass here, too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from language.attacks.demands import asks_for_secrets, may_demand
from language.attacks.matching import find, shipped_pack
from language.clean import INVISIBLE, holds_any, skeleton
from language.memo import remember
from language.patterns import read_wording
from language.privacy.spans import Span
from language.readings import as_seen
from language.words import tokens

_WORDING: Final = read_wording(__name__)

ORDERS: Final = "orders-to-the-reader"
"""The rule that such a sentence is left out by."""
_ORDER_WORDS: Final = _WORDING.words("order_words")
_MAY_ORDER: Final = _WORDING.pattern("may_order")
_DISGUISED: Final = re.compile(
    r"[a-z][а-яё]|[а-яё][a-z]|&#|<(?!br)[a-z!/]|[a-zа-яё][*~]{1,3}[a-zа-яё]|[a-z]{2}\d[a-z]|[a-z]\d[a-z]{2}|[а-яё]\d[а-яё]|(?:\b[^\W\d_] ){4}"
    # A letter of neither alphabet may be drawn like one, and a mark above one changes the word and not the look.
    r"|[^\W\d_a-zа-яё]|[a-zа-яё][\u0300-\u0305\u0307-\u036f]",
    re.IGNORECASE,
)
_SEND_WORDS: Final = _WORDING.words("send_words")
_TO_A_MODEL: Final = _WORDING.pattern("to_a_model")
_SENDS_AWAY: Final = _WORDING.pattern("sends_away")
_QUOTED: Final = re.compile(r"\"[^\"\n]{2,300}\"|«[^«»\n]{2,300}»|“[^“”\n]{2,300}”")
_LEAST_BESIDE: Final = 3
"""Words beside a quotation that say something of it."""
_LONGEST: Final = 4_000
"""Characters of a unit that are looked at in one go; what is longer is a table or a log."""
_OVERLAP: Final = 300


def orders_in(text: str) -> list[Span]:
    """Return the places, in characters, of sentences that give orders to the reader, each with `ORDERS`."""
    found: list[Span] = []
    for start, end in _units(text):
        unit = text[start:end]
        if not any(_gives_orders(" ".join(part.split())) for part in _windows(unit)):
            continue
        row = unit.lstrip().startswith("|")
        pieces = [(start, end)] if row else [(start + a, start + b) for a, b in _sentences(unit)]
        bad = [(a, b) for a, b in pieces if any(_gives_orders(" ".join(part.split())) for part in _windows(text[a:b]))]
        if not bad:  # what two neighbours order together takes no more than the two
            bad = [two for two in _pairs(pieces) if _gives_orders(" ".join(text[slice(*two)].split()))]
        found += [Span(ORDERS, a, b) for a, b in bad or [(start, end)]]
    return found


def _pairs(pieces: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Yield each piece with the next one, none twice."""
    return ((one[0], two[1]) for one, two in pairwise(pieces))


def _units(text: str) -> Iterator[tuple[int, int]]:
    """Yield the paragraphs, items and rows of a text, without the line break at their end; a wrapped line goes on."""
    start = at = 0
    for line in text.splitlines(keepends=True):
        if not line.strip() or _BEGINS.match(line):
            if start < at:
                yield start, start + len(text[start:at].rstrip("\n"))
            start = at + len(line) if not line.strip() else at
        at += len(line)
        if _FENCE.match(line):
            start = at  # a fence stays
    if start < at:
        yield start, start + len(text[start:at].rstrip("\n"))


_BEGINS: Final = re.compile(r"[ \t]*(?:[-*+|>#]|\d{1,3}[.)]|`{3}|~{3})| {4}|\t|[ \t]*[\w-]{1,30}:(?:\s|$)")
"""What a line begins with that is a unit of its own: marks, code, and `key: value`."""
_FENCE: Final = re.compile(r"[ \t]*(?:`{3}|~{3})")


def _windows(text: str) -> Iterator[str]:
    """Yield a text in parts that are looked at, each with the end of the one before."""
    for at in range(0, max(1, len(text)), _LONGEST - _OVERLAP):
        yield text[at : at + _LONGEST]


@remember
def without_orders(text: str) -> tuple[str, bool]:
    """Return a text without sentences that give orders to its reader, and whether there was one."""
    spans = orders_in(text)
    parts: list[str] = []
    done = 0
    for _, start, end in spans:
        parts.append(text[done:start])
        done = end
    return "".join((*parts, text[done:])), bool(spans)


def _sentences(unit: str) -> list[tuple[int, int]]:
    cuts = [0, *(match.end() for match in _END.finditer(unit)), len(unit)]
    return [(start, end) for start, end in pairwise(cuts) if unit[start:end].strip()]


_END: Final = re.compile(r"[.!?…]+[*_)\]»”\"]{0,4}\s+")


@remember
def _gives_orders(said: str) -> bool:
    bare = _QUOTED.sub(" ", said)
    if bare != said and len(tokens(bare)) >= _LEAST_BESIDE:
        said = bare  # what is quoted is an example, where something is said of it
    low = said.casefold()
    hidden = bool(_DISGUISED.search(said)) or len(INVISIBLE.findall(said)) > 1
    orders = hidden or holds_any(low, _ORDER_WORDS) or bool(_MAY_ORDER.search(low))
    if orders:
        plain = skeleton(as_seen(said)) if hidden else said
        if _TO_A_MODEL.search(plain) or find(said, shipped_pack(), as_written=not hidden).strong:
            return True
    sends = (hidden or holds_any(low, _SEND_WORDS)) and _SENDS_AWAY.search(said)
    return bool(sends or ((hidden or may_demand(low.replace("ё", "е"))) and asks_for_secrets(said)))
