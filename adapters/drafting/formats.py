"""Quotations as an answer in one of the three formats.

In JSON, each section is a list. Sentences and items are strings with their citations. Code and tables cannot carry
citations, so they are objects with `sources`. Strings are Markdown, so code keeps its fence: without one, `[1]` in it
would be a citation.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from contracts.enums import Language, ResponseFormat
from contracts.spec import ArchitectSpec
from language.blocks import Block, BlockKind, blocks, has_steps, without_code
from language.claims import claims
from language.structured import SOURCES

WITHOUT_SECTIONS: Final = "answer"
"""The key of an answer whose contract asks for no sections."""
_CITATION = re.compile(r"\[(\d{1,3})\]")
_MARKER = re.compile(r"[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]+")
_JSON_FENCE = re.compile(r"( {0,3}(?:`{3,}|~{3,}))[ \t]*json(?:[ \t].*)?", re.IGNORECASE)
_CELLS = re.compile(r"(?<!\\)\|")


def compose(texts: list[str], spec: ArchitectSpec, language: Language) -> str:
    """Write the quotations under the required sections, in the format of the contract."""
    asked = list(spec.required_sections)
    before: list[str] = []
    if spec.response_format is ResponseFormat.MARKDOWN:
        steps = next((place for place, text in enumerate(texts) if has_steps(text)), None)
        if steps is None:
            asked = [section for section in asked if not section.for_steps]
        elif asked and asked[0].for_steps:
            before, texts = texts[:steps], texts[steps:]
    titles = [section.title.get(language, section.name) for section in asked]
    # The first section takes the answer itself; each further one takes a unit from the end.
    extra = min(max(len(titles) - 1, 0), len(texts) - 1)
    groups = [texts[: len(texts) - extra], *([text] for text in texts[len(texts) - extra :])]
    sections = dict(zip(titles or [""], groups, strict=False))
    return in_format({"": before, **sections} if before else sections, spec.response_format)


def in_format(sections: Mapping[str, Sequence[str]], response_format: ResponseFormat) -> str:
    """Write quotations.

    Args:
        sections: The quotations, as Markdown with citations, by the title of their section; an empty title for an
            answer without sections.
        response_format: A hybrid answer is the Markdown answer, followed by the JSON answer as a block.
    """
    match response_format:
        case ResponseFormat.MARKDOWN:
            return _markdown(sections)
        case ResponseFormat.JSON:
            return _json(sections)
        case ResponseFormat.HYBRID:
            # Only one block may be marked as JSON; one that is quoted is code all the same.
            unmarked = {title: [_without_json_marks(quote) for quote in quotes] for title, quotes in sections.items()}
            return f"{_markdown(unmarked)}\n\n```json\n{_json(sections)}\n```"


def _markdown(sections: Mapping[str, Sequence[str]]) -> str:
    parts = [part for title, quotes in sections.items() for part in (f"## {title}" if title else "", *quotes)]
    return "\n\n".join(filter(None, parts))


def _json(sections: Mapping[str, Sequence[str]]) -> str:
    written = {
        title or WITHOUT_SECTIONS: [entry for quote in quotes for entry in _entries(quote)]
        for title, quotes in sections.items()
    }
    return json.dumps(written, ensure_ascii=False, indent=2)


def _entries(quote: str) -> Iterator[object]:
    sources = _cites(quote)
    for block in blocks(quote):
        match block.kind:
            case BlockKind.CODE:
                yield {"code": block.text, SOURCES: sources}
            case BlockKind.TABLE:
                yield {"rows": [_cells(row) for row in block.parts], SOURCES: sources}
            case _:
                for text in _texts(block):
                    # What looks like code as a string of its own would have lost its citation.
                    yield text if _cites(text) else {"text": text, SOURCES: sources}


def _texts(block: Block) -> list[str]:
    if block.kind in (BlockKind.BULLETS, BlockKind.STEPS):
        return [_item(part) for part in block.parts]
    return [claim.text for claim in claims(block.text)] or [block.text.strip()]


def _item(part: str) -> str:
    """Return the text of a list's item without its marker, further lines moved left by as much."""
    if not (marker := _MARKER.match(part)):
        return part.strip()
    width = len(marker.group())
    first, *rest = part[width:].split("\n")
    return "\n".join((first, *(re.sub(rf"^[ \t]{{0,{width}}}", "", line) for line in rest))).strip()


def _cells(row: str) -> list[str]:
    inner = re.sub(r"(?<!\\)\|$", "", row.strip().removeprefix("|"))
    return [cell.strip().replace("\\|", "|") for cell in _CELLS.split(inner)]


def _without_json_marks(quote: str) -> str:
    lines = quote.split("\n")
    for block in blocks(quote):
        if block.kind is BlockKind.CODE and (fence := _JSON_FENCE.fullmatch(lines[block.line])):
            lines[block.line] = fence.group(1)
    return "\n".join(lines)


def _cites(text: str) -> list[int]:
    return list(dict.fromkeys(map(int, _CITATION.findall(without_code(text)))))
