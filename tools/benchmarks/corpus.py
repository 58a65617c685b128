"""A corpus of any size out of the handbook's own words: pages in two languages, and a vocabulary that grows with them."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Final

from assistant.config.profiles import BUNDLED_KNOWLEDGE

SEED: Final = 20260213
LANGUAGES: Final = ("en", "ru")
_NAMES: Final = 10_000_000
"""How many names there are in the world of the corpus."""
_SYLLABLES: Final = [consonant + vowel for consonant in "bcdfghjklmnprstvwxyz" for vowel in "aeiou"]


@cache
def words() -> Mapping[str, list[str]]:
    """Return the words of the handbook's paragraphs in each language, in their order."""
    found: dict[str, list[str]] = {}
    for language in LANGUAGES:
        pages = sorted((BUNDLED_KNOWLEDGE / language).glob("*.md"))
        texts = [page.read_text("utf-8").split("---", 2)[-1] for page in pages]
        parts = [part.split() for text in texts for part in text.split("\n\n")]
        found[language] = [
            stripped for part in parts if len(part) > 8 for word in part if (stripped := word.strip("#|`"))
        ]
    return found


def write_pages(folder: Path, chunks: int) -> None:
    """Write pages that make about so many passages: ten sections a page, every other page in the other language."""
    chance = random.Random(SEED)
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(max(1, chunks // 10)):
        known = words()[LANGUAGES[number % 2]]
        sections = "\n\n".join(_section(chance, known, number, index) for index in range(10))
        (folder / f"page-{number:06}.md").write_text(f"# Page {number}\n\n{sections}\n", "utf-8")


def _section(chance: random.Random, known: list[str], page: int, index: int) -> str:
    start = chance.randrange(len(known))
    body = [known[(start + offset) % len(known)] for offset in range(90)]
    body += chance.choices(known, k=90)
    # Words come by Zipf's law as they do in the handbook, and one name by Zipf's law out of all: so the vocabulary
    # grows as that of real texts does, to some hundred thousand words in a million passages.
    body[chance.randrange(len(body))] = name(int(math.exp(chance.uniform(0, math.log(_NAMES)))))
    return f"## Section {page}-{index}\n\n{' '.join(body)}"


def name(number: int) -> str:
    """Return a made-up word; each number from 0 has its own."""
    syllables: list[str] = []
    while number or not syllables:
        number, place = divmod(number, len(_SYLLABLES))
        syllables.append(_SYLLABLES[place])
    return "zy" + "".join(syllables)


def queries(count: int, language: str | None = None) -> Iterator[str]:
    """Yield questions of two to eight words that occur in the corpus, in turn in each language, or all in one."""
    chance = random.Random(SEED + 1)
    plain = {each: [word.strip("*.,:;()") for word in known] for each, known in words().items()}
    asked = {each: [word for word in known if len(word) > 3] for each, known in plain.items()}
    for number in range(count):
        yield " ".join(chance.choices(asked[language or LANGUAGES[number % 2]], k=chance.randint(2, 8)))


def misspelt(question: str) -> str:
    """Return a question with two letters swapped in the middle of its longest word."""
    longest = max(question.split(), key=len)
    middle = len(longest) // 2
    swapped = longest[: middle - 1] + longest[middle] + longest[middle - 1] + longest[middle + 1 :]
    return question.replace(longest, swapped, 1)
