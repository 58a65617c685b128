"""Folding of duplicate results into one.

Several documents may have the same words: a page in several folders under other numbers, a part that many pages
include, or a manual that was once indexed without its version. Files with the same bytes become one document at
indexing; this module handles the duplicates that only a search sees.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from language.clean import fold

Found = TypeVar("Found")
_START = 12
"""Words; all of twenty passages took a fifth of a search."""
_MOST = 8
"""How many times as many passages as wanted are looked at for enough different ones."""


@dataclass(frozen=True, slots=True)
class Face:
    """The properties that distinguish two passages.

    Attributes:
        document: The document's key: its folder's name, and its path in that folder.
        version: The version of the product that it is for; `None` for any.
    """

    document: str
    title: str
    version: str | None
    text: str

    @property
    def article(self) -> tuple[str, str]:
        """The identity of an article across versions: its title, and its path inside its folder."""
        return fold(self.title), self.document.partition("/")[2]


@dataclass(frozen=True, slots=True)
class Different(Generic[Found]):
    """The distinct passages of a ranking, in its order, and the copies, each with the passage that replaces it."""

    kept: list[Found]
    copies: list[tuple[Found, Found]]


def fold_duplicates(found: Sequence[Found], face: Callable[[Found], Face]) -> Different[Found]:
    """Return passages without copies.

    Of passages with the same text one is kept, at the best of their ranks: one for a version if there is one, else the
    best. An article that exists both for a version and for any version is kept only for the version.
    """
    faces = [face(one) for one in found]
    texts = _told_apart([its.text for its in faces])
    for_version: dict[tuple[str, str], str] = {}
    for its, text in zip(faces, texts, strict=True):
        if its.version is not None:
            for_version.setdefault(its.article, text)
    kept: dict[str, int] = {}
    copies: list[tuple[int, str]] = []
    for n, (its, text) in enumerate(zip(faces, texts, strict=True)):
        if for_version and its.version is None and its.article in for_version:
            copies.append((n, for_version[its.article]))
        elif text not in kept:
            kept[text] = n
        elif faces[kept[text]].version is None and its.version is not None:
            copies.append((kept[text], text))
            # Another value under a key keeps its place.
            kept[text] = n
        else:
            copies.append((n, text))
    return Different([found[n] for n in kept.values()], [(found[n], found[kept[text]]) for n, text in sorted(copies)])


def _told_apart(texts: Sequence[str]) -> list[str]:
    """Return what is the same for texts of the same words, and for no others: of most, their first words will do."""
    starts = [" ".join(text.split(None, _START)[:_START]) for text in texts]
    times = Counter(starts)
    return [start if times[start] == 1 else " ".join(text.split()) for start, text in zip(starts, texts, strict=True)]


def enough(search: Callable[[int], Sequence[Found]], face: Callable[[Found], Face], count: int) -> Different[Found]:
    """Return up to the wanted number of distinct passages, and their copies.

    Args:
        search: Returns the best passages, up to the number it is asked for.
        face: Returns what distinguishes two passages.
        count: How many are wanted, at least 1.
    """
    asked = count
    while True:
        found = search(asked)
        left = fold_duplicates(found, face)
        if len(left.kept) >= count or len(found) < asked or asked >= count * _MOST:
            kept = left.kept[:count]
            there = set(map(id, kept))
            return Different(kept, [pair for pair in left.copies if id(pair[1]) in there])
        asked *= 2
