"""Pages of several products as passages: the bundled handbook, and public documentation if it is next to the project."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Final

from assistant.config.profiles import BUNDLED_KNOWLEDGE
from contracts.enums import Language
from contracts.evidence import EvidenceItem
from evals.frozen import passages
from language.blocks import Block, BlockKind, blocks

FOLDERS: Final = {"FastAPI": "fastapi-docs", "VK Cloud": "vk"}
"""Where a corpus lies in the folder of public data, with a folder for each language."""
_TOLD: Final = re.compile(r"[А-ЯЁ`*«\"](?!.*(?:\]\(|\{[*%]|^///)).{40,}\Z", re.DOTALL | re.MULTILINE)
"""A paragraph of sentences, without links and without what generators of sites put in."""
_CODE: Final = re.compile(r"```.*?```|`[^`\n]+`", re.DOTALL)


@dataclass(frozen=True, slots=True)
class CopyPage:
    """One page in one language, cut into passages as search returns them.

    Attributes:
        key: Corpus and path, the same in both languages.
    """

    corpus: str
    key: str
    language: Language
    passages: tuple[EvidenceItem, ...]

    @property
    def order(self) -> int:
        """A number independent of the page's content, which orders pages."""
        return int.from_bytes(sha256(self.key.encode()).digest()[4:8])

    @property
    def held_back(self) -> bool:
        """Whether the page belongs to the held-back third, which is not used for tuning."""
        return int.from_bytes(sha256(self.key.encode()).digest()[:4]) % 3 == 0


def corpora(data: Path) -> dict[str, Path]:
    """Return the present corpora, by name."""
    there = {"handbook": BUNDLED_KNOWLEDGE, **{name: data / folder for name, folder in FOLDERS.items()}}
    return {name: root for name, root in there.items() if root.is_dir()}


def pages(corpus: str, root: Path, language: Language, most: int) -> list[CopyPage]:
    """Return up to a number of pages of a corpus in one language, in the order of their hashes."""
    found = sorted((root / language).rglob("*.md"))
    named = [(f"{corpus}/{path.relative_to(root / language).as_posix()}", path) for path in found]
    ordered = sorted(named, key=lambda one: sha256(one[0].encode()).digest()[4:])
    return [CopyPage(corpus, key, language, tuple(passages(root, path, language))) for key, path in ordered[:most]]


def translations(root: Path, page: CopyPage) -> Iterator[tuple[EvidenceItem, str]]:
    """Yield passages of an English page, each with a paragraph of the Russian page that translates one of its own.

    The pages must have the same structure, block by block. A pair with different code or numbers is not a translation.
    """
    path = page.key.partition("/")[2]
    there, here = root / Language.RU / path, root / Language.EN / path
    if not there.is_file():
        return
    english, russian = _blocks(here), _blocks(there)
    if [block.kind for block in english] != [block.kind for block in russian]:
        return
    for one, other in zip(english, russian, strict=True):
        if one.kind is BlockKind.PARAGRAPH and _TOLD.match(other.text) and _signs(one.text) == _signs(other.text):
            said = " ".join(one.text.split())
            holds = [item for item in page.passages if said in " ".join(item.snippet.split())]
            if holds:
                yield holds[0], " ".join(other.text.split())


def _blocks(path: Path) -> list[Block]:
    return blocks(re.sub(r"\A---\n.*?\n---\n", "", path.read_text("utf-8"), flags=re.DOTALL))


def _signs(text: str) -> tuple[list[str], list[str]]:
    return sorted(_CODE.findall(text)), sorted(re.findall(r"\d+", _CODE.sub("", text)))
