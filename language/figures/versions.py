"""Versions of a product: which known version a user names, and which of two is newer.

A bare number is not a version: "port 8080" and "5 users" name none. A number counts after a word for version or a `v`
("in version 4.7", "в версии 5", "v5.0"). A number written exactly like a known version also counts after a name or
between prepositions of place ("CBAP 5.0", "from 4.7 to 5.0", "на 4.7").
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache

from language.patterns import read_wording

_WORDING = read_wording(__name__)

_NUMBER = r"\d{1,6}(?:[.,]\d{1,6}){0,5}(?:[-.]?(?:rc|beta|alpha|lts|sp|b|a)[-.]?\d{0,3})?"
_END = r"(?![\w%°]|[.,]\d)"
_MARKED = _WORDING.pattern("marked", number=_NUMBER, end=_END)
_PLACED = _WORDING.pattern("placed", number=_NUMBER, end=_END)
_ONE = re.compile(_NUMBER, re.IGNORECASE)
_PARTS = re.compile(r"\d+|[^\W\d_]+")


def find_versions(text: str, known: Iterable[str]) -> tuple[str, ...]:
    """Return the known versions that a text names, in its order.

    Args:
        text: A user's words.
        known: The existing versions, as given: `4.7`, `v5.0`, `2024 LTS`.
    """
    there = tuple(sorted(known, key=natural, reverse=True))
    if not there or not any(map(str.isdigit, text)):
        return ()
    named = sorted([*_find_marked(text), *_find_placed(text, there)])
    found = (_resolve_version(number, there) for _, number in named)
    return tuple(dict.fromkeys(version for version in found if version))


def _find_marked(text: str) -> Iterator[tuple[int, str]]:
    for run in _MARKED.finditer(text):
        for one in _ONE.finditer(text, *run.span(1)):
            yield one.start(), one.group()


def _find_placed(text: str, there: Sequence[str]) -> Iterator[tuple[int, str]]:
    exact = {version.casefold() for version in there}
    start = 0
    # Each number may be the neighbour of the next: "from 4.7 to 5.0".
    while found := _PLACED.search(text, start):
        if "." in found.group(1) and found.group(1).casefold() in exact:
            yield found.start(1), found.group(1)
        start = found.end(1)


def _resolve_version(number: str, there: Sequence[str]) -> str | None:
    """Return the version that a number means: the same, else the newest that it begins, else the longest that begins it."""
    asked = _key(number.replace(",", "."))
    keys = {version: _key(version) for version in there}
    for version, key in keys.items():
        if key == asked:
            return version
    for version, key in keys.items():
        if key[: len(asked)] == asked:
            return version
    shorter = [version for version, key in keys.items() if key and asked[: len(key)] == key]
    return max(shorter, key=lambda version: len(keys[version]), default=None)


@cache
def _key(version: str) -> tuple[str, ...]:
    """Return the numbers and words of a version from its first number on: `v5.0` and `CBAP 5.0` are (5, 0)."""
    parts = _PARTS.findall(version.casefold())
    first = next((place for place, part in enumerate(parts) if part.isdigit()), len(parts))
    return tuple(part.lstrip("0") or "0" if part.isdigit() else part for part in parts[first:])


def natural(version: str) -> list[tuple[int, int, str]]:
    """Return a key that sorts 4.10 after 4.9, and words before numbers."""
    return [(1, int(part), "") if part.isdigit() else (0, 0, part) for part in _PARTS.findall(version)]
