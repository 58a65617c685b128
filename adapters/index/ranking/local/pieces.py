"""The tokenizer: it cuts a text into the pieces that a model knows, by the likeliest cut of each word.

This is a unigram model like SentencePiece's: every piece has the logarithm of its probability, and the cut with the
highest sum wins. T. Kudo: Subword Regularization, ACL 2018.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from language.clean import normalize

_START = "\u2581"
"""Stands before a word, for the blank."""
_UNKNOWN = 10.0
"""By how much a character that no piece has is less likely than the rarest piece."""
_KEPT_WORDS = 50_000
_LONGEST_WORD = 1000
"""Characters of a word without a blank that are looked at: no model reads more, and a longer one is no word."""


class Pieces:
    """The pieces of a model.

    Args:
        scores: Number and score of each piece, by its text; a piece that begins a word begins with U+2581.
        unknown: The number for text that is not a piece.
        characters: The substitute for a character, by its code point, for characters that have one.
    """

    def __init__(self, scores: Mapping[str, tuple[int, float]], unknown: int, characters: Mapping[int, str]) -> None:
        self._scores = scores
        self._unknown = unknown
        self._characters = characters
        self._longest = max(map(len, scores), default=1)
        self._least = min((score for _, score in scores.values()), default=0.0) - _UNKNOWN
        self._of_word = lru_cache(_KEPT_WORDS)(self._cut)

    def numbers(self, text: str) -> list[int]:
        """Return the numbers of a text's pieces, in their order."""
        said = normalize("NFC", text).translate(self._characters)
        return [number for word in said.split() for number in self._of_word(_START + word[:_LONGEST_WORD])]

    def _cut(self, word: str) -> tuple[int, ...]:
        """Return the likeliest cut of one word: of each of its beginnings first, from the shortest on."""
        best = [0.0] + [float("-inf")] * len(word)
        ends: list[tuple[int, int]] = [(0, self._unknown)] * (len(word) + 1)
        for start in range(len(word)):
            for end in range(start + 1, min(len(word), start + self._longest) + 1):
                number, score = self._scores.get(word[start:end], (self._unknown, self._least))
                if number == self._unknown and end > start + 1:
                    continue
                if best[start] + score > best[end]:
                    best[end], ends[end] = best[start] + score, (start, number)
        found: list[int] = []
        place = len(word)
        while place:
            place, number = ends[place]
            # A run of unknown characters is one unknown piece.
            if not (number == self._unknown and found and found[-1] == number):
                found.append(number)
        return tuple(reversed(found))
