"""A corpus of any size out of the handbook's own sentences: Zipf's law over its words, both languages."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

from assistant.settings import PROJECT

SEED = 20260213


def paragraphs() -> list[str]:
    """Return the paragraphs of the handbook."""
    pages = sorted((PROJECT / "knowledge").glob("*/*.md"))
    texts = [page.read_text("utf-8").split("---", 2)[-1] for page in pages]
    return [part.strip() for text in texts for part in text.split("\n\n") if len(part.split()) > 8]


def write_pages(folder: Path, chunks: int) -> None:
    """Write pages that make about so many passages: ten sections a page, each of shuffled sentences."""
    chance = random.Random(SEED)
    words = [word for text in paragraphs() for word in text.split()]
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(max(1, chunks // 10)):
        sections = "\n\n".join(_section(chance, words, number, index) for index in range(10))
        (folder / f"page-{number:06}.md").write_text(f"# Page {number}\n\n{sections}\n", "utf-8")


def _section(chance: random.Random, words: list[str], page: int, index: int) -> str:
    start = chance.randrange(len(words))
    body = [words[(start + offset) % len(words)] for offset in range(90)]
    body += chance.choices(words, k=90)
    text = " ".join(word.strip("#|`") for word in body)
    return f"## Section {page}-{index}\n\n{text}"


def queries(count: int) -> Iterator[str]:
    """Yield questions of three to eight words that occur in the corpus."""
    chance = random.Random(SEED + 1)
    words = [word.strip("#|`*.,:;()") for text in paragraphs() for word in text.split()]
    words = [word for word in words if len(word) > 3]
    for _ in range(count):
        yield " ".join(chance.choices(words, k=chance.randint(3, 8)))
