"""The handbook's pages, and the blocks of code in them."""

from __future__ import annotations

import ast
import builtins
import re
import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]


LANGUAGES: Final = ("en", "ru")


FRONT = re.compile(r"\A---\n(.*?)\n---\n", re.DOTALL)


FENCE = re.compile(r"^(?P<indent> *)```(?P<language>\w*)\n(?P<code>.*?)^(?P=indent)```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Block:
    """A block of code of a page, without the indentation of the step that it stands in."""

    language: str
    code: str
    name: str


@dataclass(frozen=True, slots=True)
class Page:
    """One page of the handbook in one language."""

    language: str
    slug: str
    text: str

    @property
    def name(self) -> str:
        return f"knowledge/{self.language}/{self.slug}.md"

    @property
    def front(self) -> dict[str, str]:
        found = FRONT.match(self.text)
        lines = found.group(1).splitlines() if found else []
        return {key: value.strip() for key, _, value in (line.partition(":") for line in lines)}

    @property
    def body(self) -> str:
        return FRONT.sub("", self.text)

    @property
    def prose(self) -> str:
        """The page without its blocks of code."""
        return FENCE.sub("", self.body)

    def says(self, faults: Iterable[object]) -> list[str]:
        """Put the page's name before each fault."""
        return [f"{self.name}: {fault}" for fault in faults]

    def headings(self, level: int) -> list[str]:
        return re.findall(rf"^{'#' * level} (.+)$", self.prose, re.MULTILINE)

    def blocks(self, *languages: str) -> list[Block]:
        found = [block for block in FENCE.finditer(self.body) if block["language"] in languages]
        return [
            Block(block["language"], textwrap.dedent(block["code"]), f"{self.name}, block {number}")
            for number, block in enumerate(found, 1)
        ]

    def rows(self) -> Iterator[list[str]]:
        """Yield the cells of each row of each table, heads left out."""
        lines = self.prose.splitlines()
        for number, line in enumerate(lines):
            head = number + 1 < len(lines) and re.match(r"\|(?: --- \|)+$", lines[number + 1])
            if line.startswith("| ") and not head and not line.startswith("| ---"):
                yield [cell.strip() for cell in line.strip().strip("|").split(" | ")]


@cache
def read_pages() -> dict[str, dict[str, Page]]:
    """Return the handbook: per language, the pages by their slug."""
    return {
        language: {
            path.stem: Page(language, path.stem, path.read_text("utf-8"))
            for path in sorted((ROOT / "knowledge" / language).glob("*.md"))
        }
        for language in LANGUAGES
    }


def list_pages() -> list[Page]:
    return [page for by_slug in read_pages().values() for page in by_slug.values()]


def list_translations(slug: str) -> list[Page]:
    """Return one page in both languages."""
    return [read_pages()[language][slug] for language in LANGUAGES]


PYTHON: Final = [block for page in list_pages() for block in page.blocks("python")]


def is_whole(code: str) -> bool:
    """Whether an example brings every name that it uses; one that is no Python fails another test."""
    try:
        nodes = list(ast.walk(ast.parse(code)))
    except SyntaxError:
        return False
    names = [node for node in nodes if isinstance(node, ast.Name)]
    bound = {node.id for node in names if isinstance(node.ctx, ast.Store)} | set(dir(builtins))
    for node in nodes:
        match node:
            case ast.Import() | ast.ImportFrom():
                bound |= {alias.asname or alias.name.partition(".")[0] for alias in node.names}
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                bound.add(node.name)
            case ast.arg():
                bound.add(node.arg)
            case ast.ExceptHandler(name=str(name)):
                bound.add(name)
            case _:
                pass
    return all(node.id in bound for node in names)


WHOLE: Final = [block for block in PYTHON if is_whole(block.code)]
