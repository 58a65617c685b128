"""The sentences of a page, and fingerprints that identify them without their words."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Final

from assistant.review.expectation import words
from contracts.errors import ConfigError
from language.sentences import sentences

_FRONT_MATTER: Final = re.compile(r"\A---\n.*?\n---\n", re.DOTALL)
_MARKER: Final = re.compile(r"^[\s>]*(?:[-*+]|\d{1,3}[.)])\s+")
_LENGTH: Final = 12


def fingerprint(sentence: str) -> str:
    """Return a hash of a sentence's words; mark-up, case and link targets do not change it."""
    return sha256(" ".join(words(sentence)).encode()).hexdigest()[:_LENGTH]


def pieces(markdown: str) -> Iterator[str]:
    """Yield the units that a label can name: sentences, also those of list items, table rows, and lines of code."""
    fenced = False
    for line in _FRONT_MATTER.sub("", markdown).splitlines():
        if line.lstrip().startswith(("```", "~~~")):
            fenced = not fenced
        elif fenced or line.lstrip().startswith(("|", "#")):
            yield line.strip()
        else:
            yield from sentences(_MARKER.sub("", line))


def sentence_of(path: Path, name: str) -> str:
    """Return the sentence of a page that has this fingerprint.

    Raises:
        ConfigError: The page has no such sentence: it was edited, or the label is wrong.
    """
    try:
        return _by_fingerprint(path)[name]
    except (OSError, KeyError) as error:
        raise ConfigError(
            f"No sentence of {path.name} has the fingerprint {name!r}.", "Label the question again."
        ) from error


@cache
def _by_fingerprint(path: Path) -> dict[str, str]:
    return {fingerprint(piece): piece for piece in pieces(path.read_text("utf-8")) if words(piece)}


def held_back(page: str) -> bool:
    """Whether a page's questions, in all languages and wrappings, belong to the third that is not used for tuning.

    Args:
        page: The page's path without its language folder.
    """
    return int(sha256(page.encode()).hexdigest(), 16) % 3 == 0
