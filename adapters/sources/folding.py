"""Folding: what is found twice is one result.

The same words may stand in several documents: a page that lies in several folders under other numbers, a part that many
pages include, a manual that was once indexed without its version. Files of the same bytes are one document already when
they are read in; this is for what only a search sees.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from language.clean import fold

Found = TypeVar("Found")
_MOST = 8
"""How many times as many passages as wanted are looked at for enough different ones."""


@dataclass(frozen=True, slots=True)
class Face:
    """What tells two passages apart.

    Attributes:
        document: The document's key: its folder's name, and its path in that.
        version: The version of the product that it is for; `None` for any.
    """

    document: str
    title: str
    version: str | None
    text: str

    @property
    def article(self) -> tuple[str, str]:
        """What is the same in all versions of one article: its title, and its path inside its folder."""
        return fold(self.title), self.document.partition("/")[2]


def folded(found: Sequence[Found], face: Callable[[Found], Face]) -> list[Found]:
    """Return passages without those that another one stands for, in their order.

    Of passages with the same text one is kept, at the best place of them: that for a version before that for any, then
    the best. An article that is there for a version and for any is kept for the version only.
    """
    faces = [face(one) for one in found]
    for_version = {one.article for one in faces if one.version is not None}
    kept: dict[str, tuple[Found, Face]] = {}
    for one, its in zip(found, faces, strict=True):
        if its.version is None and its.article in for_version:
            continue
        text = " ".join(its.text.split())
        if text not in kept or (kept[text][1].version is None and its.version is not None):
            # Another value under a key keeps its place.
            kept[text] = (one, its)
    return [one for one, _ in kept.values()]


def enough(search: Callable[[int], Sequence[Found]], face: Callable[[Found], Face], count: int) -> list[Found]:
    """Return as many different passages as wanted, where there are so many.

    Args:
        search: Returns the best passages, as many as it is asked for where there are so many.
        face: What tells two of them apart.
        count: How many are wanted, at least 1.
    """
    asked = count
    while True:
        found = search(asked)
        kept = folded(found, face)
        if len(kept) >= count or len(found) < asked or asked >= count * _MOST:
            return kept[:count]
        asked *= 2
