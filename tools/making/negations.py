"""Drafts made wrong by a negation: one more, or one less."""

from __future__ import annotations

import re
from collections.abc import Iterator
from random import Random
from typing import Final

from contracts.enums import Language
from tools.making.cited_drafts import CODE, CitedDraft, Found, without_quotes

DENIES: Final = re.compile(
    r"\b(?:not|never|no|none|nothing|neither|cannot|without|не|ни|нет|нельзя|никогда|ничего|никто|без|никуда)\b|n't\b",
    re.IGNORECASE,
)
"""What denies in a claim, in either language."""

_OUT: Final[dict[Language, tuple[tuple[str, str], ...]]] = {
    Language.EN: (
        (r"\bcannot\b", "can"),
        (r"\bcan't\b", "can"),
        (r"\b(is|are|was|does|do|has|may|must|need) not\b", r"\1"),
        (r"\b(is|are|does|do)n't\b", r"\1"),
        (r"\bis never\b", "is always"),
        (r"\bare never\b", "are always"),
        (r"\bnever\b", "always"),
        (r"\bneeds no\b", "needs a"),
    ),
    Language.RU: (
        (r"\bнельзя\b", "можно"),
        (r"\bникогда не\b", "всегда"),
        (r"(?<!или )(?<!чтобы )(?<!кроме )\bне (?=[а-яё]+(?:ется|ются|ает|ают|яет|ит|ят|ует|уют|ёт|ен|ны|но)\b)", ""),
        (r"\bне нужн(ы|а|о)\b", r"нужн\1"),
        (r"\bнет\b", "есть"),
    ),
}  # fmt: skip
_IN: Final[dict[Language, tuple[tuple[str, str], ...]]] = {
    Language.EN: (
        (r"\b(must|should)(?= [a-z])", r"\1 not"),
        (r"\bhas to be\b", "need not be"),
        (r"\b(can|may) (?=[a-z]+)", r"\1 not "),
        (
            r"\b(is|are) (?=(?:read|kept|stored|sent|shown|cited|asked|searched|written|checked|judged|refused|counted)\b)",
            r"\1 not ",
        ),
        (r"\balways\b", "never"),
    ),
    Language.RU: (
        (r"\bможно\b(?! ли\b)", "нельзя"),
        (r"\bнужн(ы|а|о)\b", r"не нужн\1"),
        (r"\b(должен|должна|должны|обязан)\b", r"не \1"),
        (r"\bвсегда\b", "никогда не"),
        (r"\b(может|могут)\b", r"не \1"),
        (
            r"\b((?:чита|хран|показыва|проверя|отправля|учитыва|сохраня|использу)[еи]тся|(?:печата|показыва|чита)ет|хранит)\b",
            r"не \1",
        ),
    ),
}
_TWICE: Final = re.compile(
    r"\b(?:ни|никто|ничего|никогда|никак\w*|никуда|нигде|neither|nor|nobody|nothing)\b", re.IGNORECASE
)
"""Beside these, one negation less leaves no sentence that says the contrary."""
_BLURS: Final = re.compile(
    r"\b(?:whether|before|how many|how much|at most|at least|up to|only|alone|else|сколько|ли|только|лишь|прежде|пока|до того"
    r"|больше|меньше|более|менее|максимум|минимум)\b",
    re.IGNORECASE,
)
"""Beside these, one negation more may leave what is said as true as it was."""


def negations(told: CitedDraft, dice: Random) -> Iterator[Found]:
    """Put a negation in, or take one out."""
    for start, part in told.claims():
        masked = CODE.sub(lambda found: "#" * len(found.group()), part)
        masked = without_quotes(masked)
        flips = () if _TWICE.search(masked) else _OUT[told.case.language]
        if not DENIES.search(masked) and not _BLURS.search(masked):
            flips += _IN[told.case.language]
        ways = [(found, new) for pattern, new in flips for found in re.finditer(pattern, masked)]
        if not ways:
            continue
        found, new = dice.choice(ways)
        text = found.expand(new).replace("can not ", "cannot ")
        if edit := told.edit(start + found.start(), start + found.end(), text):
            yield edit, f"{found.group().strip()} → {text.strip()}"
