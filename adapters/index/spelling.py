"""Known words that a misspelt word may mean."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

_ALTERNATIVES = 3
_REMEMBERED = 1000


class Vocabulary:
    """The words of an index, for finding words near to an unknown one.

    Args:
        frequencies: Each word and how often it occurs.
    """

    def __init__(self, frequencies: Iterable[tuple[str, int]]) -> None:
        # By an end and the length: looking through all words took most of the time of a search.
        self._by_end: dict[tuple[int, str, int], list[tuple[str, int, int]]] = {}
        self._remembered: dict[str, list[str]] = {}
        for word, frequency in frequencies:
            if word.isalpha():
                entry = (word, _letters(word), frequency)
                for end in (0, -1):
                    self._by_end.setdefault((end, word[end], len(word)), []).append(entry)

    def nearest(self, word: str) -> list[str]:
        """Return the words that are the fewest slips away, at most three, the most frequent first.

        Slips are insertions, deletions, substitutions and swaps of neighbours. A word of four letters or more may
        have one, from eight letters two, and a word with digits none. Of two slips, one leaves the first or the last
        letter right.
        """
        if word not in self._remembered:
            if len(self._remembered) >= _REMEMBERED:
                self._remembered.clear()
            self._remembered[word] = self._find(word)
        return self._remembered[word]

    def _find(self, word: str) -> list[str]:
        edits = allowed_edits(word)
        if not edits:
            return []
        near = sorted(
            (distance, -frequency, candidate)
            for candidate, frequency in self._candidates(word, edits)
            if (distance := edit_distance(word, candidate, edits)) <= edits
        )
        return [candidate for distance, _, candidate in near[:_ALTERNATIVES] if distance == near[0][0]]

    def _candidates(self, word: str, edits: int) -> Iterator[tuple[str, int]]:
        mask = _letters(word)
        for length in range(len(word) - edits, len(word) + edits + 1):
            for end in (0, -1):
                for candidate, bits, frequency in self._by_end.get((end, word[end], length), ()):
                    # An edit changes the presence of two letters at most.
                    near = (mask ^ bits).bit_count() <= 2 * edits
                    if near and (end == 0 or candidate[0] != word[0]):
                        yield candidate, frequency


def _letters(word: str) -> int:
    """Return which letters a word has, as a bit mask: words that differ in many cannot be near."""
    mask = 0
    for letter in word:
        mask |= 1 << (ord(letter) & 63)
    return mask


def allowed_edits(word: str) -> int:
    """Return how many slips a word may hold: none if it is short or has digits, two from eight letters."""
    if len(word) < 4 or not word.isalpha():
        return 0
    return 1 if len(word) < 8 else 2


def edit_distance(one: str, other: str, most: int) -> int:
    """Return how many insertions, deletions, substitutions and swaps of neighbours are between two words.

    This is the optimal string alignment distance; a distance above `most` may be returned as `most + 1`.
    """
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, left in enumerate(one, start=1):
        before, last, row = row, before, [i]
        for j, right in enumerate(other, start=1):
            best = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (left != right))
            if i > 1 and j > 1 and left == other[j - 2] and one[i - 2] == right:
                best = min(best, last[j - 2] + 1)
            row.append(best)
        if min(row) > most and min(before) > most:
            return most + 1
    return row[-1]
