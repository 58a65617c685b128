"""Caches for pure functions of a text: a passage is read many times in one turn, and again in the next."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from functools import lru_cache, wraps
from typing import Final, TypeVar

T = TypeVar("T")

SHORT: Final = 600
"""Characters; nearly all sentences, headings and claims are shorter."""
MOST_SHORT: Final = 8_192
"""Short texts of one function, the last that were read: the sentences of some hundred passages."""
LONGEST: Final = 4_000
"""Characters; nearly all passages are shorter, and longer texts are logs, which do not come twice in many turns."""
MOST: Final = 1_024
"""Texts of one function, the last that were read: a message is among them for a while, in this process alone."""
MOST_LONG: Final = 2
"""Longer texts of one function: the message and the draft of the turn that runs, which several of its steps read."""


def remember(read: Callable[[str], T]) -> Callable[[str], T]:
    """Return a cached function of a text; its results must be immutable.

    It caches the last `MOST_SHORT` short texts, the last `MOST` passages, and the last two long texts.
    """
    short, middle, long = (lru_cache(maxsize=most)(read) for most in (MOST_SHORT, MOST, MOST_LONG))

    @wraps(read)
    def recall(text: str) -> T:
        length = len(text)
        return short(text) if length <= SHORT else middle(text) if length <= LONGEST else long(text)

    return recall


def remember_items(read: Callable[[str], Iterable[T]]) -> Callable[[str], list[T]]:
    """Return a cached function of a text, as `remember`, that returns a new list each time.

    The list's items must be immutable.
    """
    whole = remember(lambda text: tuple(read(text)))

    @wraps(read)
    def recall(text: str) -> list[T]:
        return list(whole(text))

    return recall


class MetKeys:
    """The set of keys seen in this process; thread-safe.

    Args:
        most: The number of keys to keep, from 1; one more clears the set.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._keys: set[Hashable] = set()

    def add(self, key: Hashable) -> None:
        """Keep a key."""
        if len(self._keys) >= self._most:
            self._keys.clear()
        self._keys.add(key)

    def __contains__(self, key: Hashable) -> bool:
        return key in self._keys
