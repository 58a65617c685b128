"""Replies that end in a loop: a small model writes the same words over and over until its tokens are used up."""

from __future__ import annotations

import re
from typing import Final

_WORD: Final = re.compile(r"\w+")
_LONGEST: Final = 4_000
"""Characters of the end that are looked at."""
_LONGEST_PERIOD: Final = 60
"""Words that repeat; a longer passage fits too seldom into one reply to repeat four times."""
_LEAST_REPEATS: Final = 4
_LEAST_WORDS: Final = 36
"""Words of all repeats together: a table may well end in a few equal cells or rows."""


def is_looping(text: str) -> bool:
    """Whether a text ends in a run of words that repeats at least four times, with 36 words in all."""
    # The limit of tokens may have cut the last word, and the last repeat anywhere: each word before it is compared with
    # the one a period before.
    words = _WORD.findall(text[-_LONGEST:].casefold())[:-1]
    for period in range(1, min(_LONGEST_PERIOD, len(words) // _LEAST_REPEATS) + 1):
        needed = max(_LEAST_WORDS, _LEAST_REPEATS * period)
        if needed <= len(words) and all(words[-n] == words[-n - period] for n in range(1, needed - period + 1)):
            return True
    return False
