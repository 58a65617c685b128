"""Rates and frequencies: the base of a figure, and how often something happens without a figure."""

from __future__ import annotations

import re
from typing import Final

from language.clean import fold
from language.patterns import read_wording
from language.words import stem

_WORDING: Final = read_wording(__name__)

_PERIODS: Final = _WORDING.forms("periods")
SIZES: Final = frozenset(("gb", "tb", "mb"))
"""Rates of an amount of data; the others are of a time."""
_ADVERBS: Final = _WORDING.forms("adverbs")
_TIMES: Final = "|".join(forms for period, forms in _PERIODS.items() if period not in SIZES)
_ANY: Final = "|".join(_PERIODS.values())
_OFTEN: Final = "|".join(_ADVERBS.values())
_PER = _WORDING.pattern("per", any=_ANY, often=_OFTEN)
_FREQUENCY = _WORDING.pattern("frequency", times=_TIMES, often=_OFTEN)
_CLAUSE = re.compile(r"[.;:,(|\n\d]")


def per_what(behind: str) -> frozenset[str]:
    """Return the base of a figure's rate, from the words after it in the same clause: `month`, `gb`."""
    clause = behind[: end.start()] if (end := _CLAUSE.search(behind)) else behind
    return frozenset(_period(match["per"] or match["often"] or match["slash"]) for match in _PER.finditer(clause))


def frequencies(text: str) -> dict[str, str]:
    """Return the frequencies in a text, each with its words: `1/week`, `2/day`."""
    return {
        f"{2 if match['twice'] else 1}/{_period(match['per'] or match['often'])}": match.group()
        for match in _FREQUENCY.finditer(text)
    }


def _period(word: str) -> str:
    return next(
        name
        for table in (_PERIODS, _ADVERBS)
        for name, forms in table.items()
        if re.fullmatch(forms, fold(word), re.IGNORECASE)
    )


FREQUENT: Final = frozenset(
    stem(fold(word))
    for forms in (*_PERIODS.values(), *_ADVERBS.values())
    for word in re.sub(r"\[.*?\]|\?", "", forms).split("|")
) | frozenset(map(stem, _WORDING.words("frequent")))
"""Stems of the words that say how often: two sentences may differ in them and still be about one thing."""
