"""The texts of both languages, and the functions that fill in values without turning them into mark-up."""

from __future__ import annotations

import re
from functools import cache

from contracts.enums import Language
from language.blocks import split_code
from language.patterns import read_toml
from language.structured import parse_json

# What means something anywhere; what means something first in a line; an underscore that is not inside a word.
_MARKUP = re.compile(r"[\\*`\[\]<>|~$&]|^[#+\-=]|^(\d+)[.)](?=\s|$)|(?<![^\W_])_|_(?![^\W_])")
TURNS_TEXT = dict.fromkeys((*range(0x202A, 0x202F), *range(0x2066, 0x206A)))
"""Characters that turn the direction of reading, so that what is shown is not what is written."""
_ESCAPE = re.compile(r"\\([\\*`\[\]<>|~$&#+\-=_.)])")


@cache
def texts(language: Language) -> dict[str, str]:
    """Return every text of a language by its key (`rendering/locales/`)."""
    loaded = read_toml("rendering", f"locales/{language}.toml")
    return {key: value.lstrip("\n") for key, value in loaded.items()}


def say(language: Language, key: str, /, **values: object) -> str:
    """Fill a text. Values are data: their braces are not read as placeholders."""
    return texts(language)[key].format(**values)


def inline(text: str, limit: int = 600) -> str:
    """Return a text as one line with all Markdown and HTML escaped.

    A Markdown viewer shows the words as written; `without_escapes` does so for a terminal.
    """
    flat = " ".join(text.translate(TURNS_TEXT).split())
    if len(flat) > limit:
        flat = flat[: limit - 1].rstrip() + "…"
    return _MARKUP.sub(_escape, flat)


def _escape(match: re.Match[str]) -> str:
    number = match.group(1) or ""
    return f"{number}\\{match.group().removeprefix(number)}"


def without_escapes(markdown: str) -> str:
    """Return Markdown for a terminal, without the escapes that `inline` wrote, outside code.

    An answer in JSON is not Markdown: its escapes stay.
    """
    if is_json(markdown):
        return markdown
    parts = split_code(markdown)
    return "".join(part if i % 2 else _ESCAPE.sub(r"\1", part) for i, part in enumerate(parts))


def is_json(text: str) -> bool:
    """Whether a text is a JSON object."""
    if not text.startswith("{"):
        return False
    try:
        parse_json(text)
    except ValueError:
        return False
    return True


def bullets(items: list[str]) -> str:
    """Write a list, one item a line."""
    return "\n".join(f"- {item}" for item in items)


def write_numbered_list(items: list[str]) -> str:
    """Write a numbered list, one item a line."""
    return "\n".join(f"{number}. {item}" for number, item in enumerate(items, 1))
