"""The form of secret values, and of placeholders for them."""

from __future__ import annotations

import math
import re
from collections import Counter
from itertools import pairwise

from language.patterns import read_wording

_WORDING = read_wording(__name__)


def is_mixed(value: str) -> bool:
    small, capital = any(c.islower() for c in value), any(c.isupper() for c in value)
    return any(c.isdigit() for c in value[1:]) and small and (capital or any(c in "!@#$%^&*" for c in value))


_PLACEHOLDER = _WORDING.pattern("placeholder")
_ORDINARY = frozenset(_WORDING.words("ordinary"))


def is_placeholder(value: str) -> bool:
    """Whether a value is a placeholder, as in documentation."""
    return value.lower().strip("\"'`") in _ORDINARY or bool(_PLACEHOLDER.search(value))


_NO_PASSWORD = _WORDING.pattern("no_password")
_CAMEL = re.compile(r"^[A-Z]?[a-z]+\d?(?:[A-Z][a-z]+\d{0,2})+$")
_SNAKE = re.compile(r"^[a-z]+(?:[_-][a-z]+)*[_-]?\d{0,2}$")


def is_password(value: str, least: int) -> bool:
    """Whether a value after the word "password" is one: letters with digits or inner signs, no code or placeholder."""
    # What ends a sentence is no sign.
    bare = value.strip("!?…*")
    if len(value) < least or not bare or is_placeholder(bare) or _NO_PASSWORD.search(bare):
        return False
    letters = any(c.isalpha() for c in bare)
    digits = any(c.isdigit() for c in bare)
    signs = any(c in "!@#$%^&*?" for c in bare[1:])
    if not letters or not (digits or signs):
        return False
    # user_password1 and Utf8String are names; hunter22 and S3cret are not.
    return not (_CAMEL.match(bare) or ("_" in bare and _SNAKE.match(bare)))


def is_no_word(value: str) -> bool:
    """Whether a possible password is not just a word that follows the name, such as "step2"."""
    bare = value.strip("!?…*")
    digits = sum(c.isdigit() for c in bare)
    return len(bare) >= 6 and digits > 0 and (digits > 1 or not bare[-1].isdigit())


_LEAST_BITS = 3.0


def is_random(value: str) -> bool:
    """Whether a value looks random: many different characters, with letters and digits throughout."""
    if len(value) < 12 or not any(c.isdigit() for c in value) or "://" in value or value.startswith(("/", ".", "-")):
        return False
    changes = sum(a.isdigit() != b.isdigit() for a, b in pairwise(value))
    cases = sum(a.islower() and b.isupper() for a, b in pairwise(value))
    return changes + cases >= 4 and _bits(value) >= _LEAST_BITS


def _bits(value: str) -> float:
    """Return Shannon's entropy of the characters of a value, in bits per character."""
    return -sum(n / len(value) * math.log2(n / len(value)) for n in Counter(value).values())
