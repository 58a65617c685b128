"""Rates and frequencies: what a figure is counted per, and how often something happens without a figure."""

from __future__ import annotations

import re
from typing import Final

from language.clean import fold
from language.words import stem

_PERIODS: Final = {
    "second": "seconds?|secs?|s|секунд[уы]?|сек|с",
    "minute": "minutes?|min|минут[уы]?|мин",
    "hour": "hours?|hr|h|час|ч",
    "day": "days?|nights?|день|дня|дн|сутки|суток|сут|ночь|night",
    "week": "weeks?|wk|недел[юи]|нед",
    "month": "months?|mo|mth|месяца?|мес",
    "quarter": "quarters?|квартала?",
    "year": "years?|yr|annum|год|года",
    "gb": "gb|gib|gigabytes?|гб|гиб|гигабайта?",
    "tb": "tb|tib|terabytes?|тб|тиб|терабайта?",
    "mb": "mb|mib|megabytes?|мб|миб|мегабайта?",
}
SIZES: Final = frozenset(("gb", "tb", "mb"))
"""Rates of an amount of data; the others are of a time."""
_ADVERBS: Final = {
    "hour": "hourly|ежечасно",
    "day": "daily|nightly|ежедневно|ежесуточно|еженощно|посуточно",
    "week": "weekly|еженедельно|понедельно",
    "month": "monthly|ежемесячно|помесячно",
    "quarter": "quarterly|ежеквартально",
    "year": "yearly|annually|ежегодно",
}
_TIMES: Final = "|".join(forms for period, forms in _PERIODS.items() if period not in SIZES)
_ANY: Final = "|".join(_PERIODS.values())
_OFTEN: Final = "|".join(_ADVERBS.values())
_PER = re.compile(
    rf"(?<!\w)(?:(?:(?:per|every|each|an?|в|кажд(?:ый|ую|ые|ое|ая))[ \u00a0]|and[ \u00a0](?=(?:{_ANY})(?!\w)))(?P<per>{_ANY})|(?P<often>{_OFTEN}))(?!\w)"
    rf"|[ \u00a0]?/[ \u00a0]?(?P<slash>{_ANY})(?!\w)",
    re.IGNORECASE,
)
_FREQUENCY = re.compile(
    rf"(?<!\w)(?:(?:(?P<twice>twice|дважды|два раза)[ \u00a0](?:an?|per|every|each|в)[ \u00a0]"
    rf"|(?:once[ \u00a0](?:an?|per|every|each)|раз в|every|each|кажд(?:ый|ую|ые|ое))[ \u00a0])(?P<per>{_TIMES})|(?P<often>{_OFTEN}))(?!\w)",
    re.IGNORECASE,
)
_CLAUSE = re.compile(r"[.;:,(|\n\d]")


def per_what(behind: str) -> frozenset[str]:
    """Return what a figure is a rate of, by the words behind it in the same clause: `month`, `gb`."""
    clause = behind[: end.start()] if (end := _CLAUSE.search(behind)) else behind
    return frozenset(_period(match["per"] or match["often"] or match["slash"]) for match in _PER.finditer(clause))


def frequencies(text: str) -> dict[str, str]:
    """Return how often something happens, each with the words that say it: `1/week`, `2/day`."""
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
) | frozenset(
    map(
        stem,
        ("once", "twice", "every", "each", "раз", "дважды", "каждый", "каждую", "каждые", "неделю", "неделя", "минуту"),
    )
)
"""Stems of the words that say how often: two sentences may differ in them and still be about one thing."""
