"""Reasons of indexing in the language of a page: indexing keeps them in English, with the files that they are about."""

from __future__ import annotations

import re
from typing import Final

from contracts.enums import Language
from language.patterns import read_toml

_NAME: Final = re.compile(r"\{(\w+)\}")
_RUSSIAN: Final[dict[str, str]] = read_toml("assistant", "locales/reasons_ru.toml")
_TEMPLATES: Final = [(_NAME.split(english)[::2], _NAME.findall(english), said) for english, said in _RUSSIAN.items()]
"""For each reason its fixed texts, the names of the values between them, and the Russian text."""
_LONGEST: Final = 5000
"""Characters: a reason holds words of its file, and to look through it takes the square of its length."""
_NEXT: Final = "; "
_BOTH: Final = " and "
"""What stands between several reasons, and between the parts of one."""


def reason_in(reason: str, language: Language) -> str:
    """Return a reason in a language, or several of one file; one that is not known stays as it is."""
    if language is not Language.RU or len(reason) > _LONGEST:
        return reason
    told: list[str] = []
    while reason:
        said, reason = _next(reason)
        told.append(said)
    return _NEXT.join(told)


def _next(reasons: str) -> tuple[str, str]:
    """Return the first of some reasons in Russian, and the others as they are."""
    for literals, names, russian in _TEMPLATES:
        if (found := _read(reasons, literals)) is not None:
            values, rest = found
            told = dict(zip(names, map(_value, values), strict=True))
            return russian.format(**told), rest
    first, _, rest = reasons.partition(_NEXT)
    return first, rest


def _read(text: str, literals: list[str]) -> tuple[list[str], str] | None:
    """Return the values between fixed texts, and the reasons that follow; `None` if the text is of another reason."""
    first, *others = literals
    if not text.startswith(first):
        return None
    values: list[str] = []
    place = len(first)
    for literal in others:
        # A value at the end of a reason has no text behind it.
        end = text.find(literal, place) if literal else len(text)
        if end < 0:
            return None
        values.append(text[place:end])
        place = end + len(literal)
    rest = text[place:]
    return (values, rest.removeprefix(_NEXT)) if not rest or rest.startswith(_NEXT) else None


def _value(value: str) -> str:
    """Return a value, in Russian if it is a reason itself, or several."""
    parts = value.split(_BOTH)
    return " и ".join(_RUSSIAN.get(part, part) for part in parts) if any(part in _RUSSIAN for part in parts) else value
