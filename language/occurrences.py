"""Many wanted sequences found in another one in a single pass, after Aho and Corasick (1975).

A search for one after the other takes their number times the text's length: 700 keys in 20,000 characters took most
of a turn. Here the time is linear in the lengths of all that is given.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterable, Iterator, Sequence


class Occurrences:
    """A set of wanted sequences, each with a name, to be found in others: strings, or lists of words."""

    def __init__(self, wanted: Iterable[tuple[Sequence[Hashable], str]]) -> None:
        """Build the states: each is what has been read of a wanted sequence."""
        self._next: list[dict[Hashable, int]] = [{}]
        self._shorter = [0]
        """For each state, the state of the longest end of it that begins a wanted sequence, too."""
        self._found: list[tuple[int, str] | None] = [None]
        """For each state, the length and name of the longest wanted sequence that it ends with."""
        for sequence, name in wanted:
            self._add(sequence, name)
        self._link()

    def find_in(self, sequence: Sequence[Hashable]) -> Iterator[tuple[int, int, str]]:
        """Yield the place (`end` exclusive) and name of the longest wanted sequence that ends at each place, if any."""
        if len(self._next) == 1:
            return
        state = 0
        for end, symbol in enumerate(sequence, 1):
            state = self._step(state, symbol)
            if found := self._found[state]:
                yield end - found[0], end, found[1]

    def _add(self, sequence: Sequence[Hashable], name: str) -> None:
        state = 0
        for symbol in sequence:
            following = self._next[state].get(symbol)
            if following is None:
                following = self._next[state][symbol] = len(self._next)
                self._next.append({})
                self._shorter.append(0)
                self._found.append(None)
            state = following
        if state:
            self._found[state] = self._found[state] or (len(sequence), name)

    def _link(self) -> None:
        waiting = deque(self._next[0].values())
        while waiting:
            state = waiting.popleft()
            for symbol, following in self._next[state].items():
                self._shorter[following] = shorter = self._step(self._shorter[state], symbol)
                # Its own is longer than what it ends with.
                self._found[following] = self._found[following] or self._found[shorter]
                waiting.append(following)

    def _step(self, state: int, symbol: Hashable) -> int:
        while (following := self._next[state].get(symbol)) is None:
            if not state:
                return 0
            state = self._shorter[state]
        return following
