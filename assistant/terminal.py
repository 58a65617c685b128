"""An answer's Markdown on a terminal: headings, lists, tables and code laid out, and every link with its address."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from io import StringIO
from typing import ClassVar, Final

from markdown_it import MarkdownIt
from markdown_it.token import Token
from rich.console import Console, ConsoleOptions, RenderResult
from rich.markdown import CodeBlock, Markdown
from rich.text import Text
from rich.theme import Theme

from language.clean import clean
from rendering.columns import NARROWEST
from rendering.texts import TURNS_TEXT, is_json, without_escapes

_ADDRESS: Final = re.compile(r"https?://[^\s<>()\[\]\"'`]+")
_BEHIND: Final = ".,;:!?*_"
"""Signs of the sentence at the end of an address."""
_LONGEST_LINK: Final = 2000
"""Characters of an address that can be clicked: it is written anew for each line that it takes."""
_DEEPEST: Final = 9
"""Levels of blocks in blocks: more have no room in the narrowest terminal."""
# No background: a terminal may be light or dark.
_THEME: Final = Theme(
    {
        "markdown.code": "cyan",
        "markdown.code_block": "cyan",
        "markdown.h1": "bold",
        "markdown.h2": "bold",
        "markdown.link_url": "underline",
        "markdown.table.border": "dim",
        "markdown.table.header": "bold",
    }
)


class _Code(CodeBlock):
    """A block of code as it is written: coloured words are worth no lexer over text that anybody may have written."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        # A long line stays one, so that a command can be copied, unless what stands around the block would cut it off.
        whole = options.max_width == console.width
        yield Text(
            str(self.text).rstrip("\n"), self.style, no_wrap=whole, overflow="ignore" if whole else "fold", end="\n"
        )


class _Answer(Markdown):
    """Markdown without HTML, as the answers have it."""

    elements: ClassVar = {**Markdown.elements, "fence": _Code, "code_block": _Code}

    def __init__(self, markdown: str) -> None:
        super().__init__("")
        # A parser leaves out what is too deep for it.
        parser = MarkdownIt("commonmark", {"html": False, "maxNesting": 10 * _DEEPEST})
        self.parsed = parser.enable(["strikethrough", "table"]).parse(markdown)
        self.deepest = max((token.level for token in self.parsed if token.type != "inline"), default=0)
        for token in self.parsed:
            token.content = _safe(token.content)
            if token.children:
                token.children = list(_with_addresses(token.children))


def write_for_terminal(markdown: str, width: int, *, colour: bool) -> str:
    """Return an answer as a terminal shows it, without control sequences of its own.

    Args:
        markdown: The answer; if it is JSON, or too deep to be laid out, it stays as it is.
        width: Columns of the terminal.
        colour: Whether to use bold type, colours and links that can be clicked. The target of such a link is always
            the address that is shown; without colour, the text has no control sequences at all.
    """
    markdown = _safe(markdown)
    if is_json(markdown):
        return markdown
    answer = _Answer(markdown)
    if answer.deepest > _DEEPEST:
        return without_escapes(markdown)
    console = Console(
        file=StringIO(),
        width=max(width, NARROWEST),
        force_terminal=colour,
        force_jupyter=False,
        color_system="standard" if colour else None,
        theme=_THEME,
        legacy_windows=False,
    )
    with console.capture() as shown:
        console.print(answer, crop=False)
    # What rich fills up to the width would break a copied line, and wrap on a terminal that was made narrower.
    return "\n".join(line.rstrip() for line in shown.get().strip("\n").split("\n"))


def _safe(text: str) -> str:
    return clean(text).translate(TURNS_TEXT)


def _with_addresses(tokens: Iterable[Token]) -> Iterator[Token]:
    """Yield a line's tokens with the address behind each link and picture, and with a link on each address alone."""
    address, words = "", ""
    for token in tokens:
        token.content = _safe(token.content)
        if token.type == "link_open":
            address, words = _safe(str(token.attrs.get("href", ""))), ""
        elif token.type == "link_close":
            if words not in (address, address.removeprefix("mailto:")):
                yield from _behind(address)
            address = ""
        elif token.type == "image":
            yield _text(token.content)
            yield from _behind(_safe(str(token.attrs.get("src", ""))))
        elif token.type == "text":
            words += token.content
            yield from _linked(token.content)
        else:
            words += token.content
            yield token


def _behind(address: str) -> Iterator[Token]:
    yield _text(" (")
    yield from _link(address)
    yield _text(")")


def _linked(text: str) -> Iterator[Token]:
    place = 0
    for match in _ADDRESS.finditer(text):
        yield _text(text[place : match.start()])
        address = match[0].rstrip(_BEHIND)
        yield from _link(address)
        place = match.start() + len(address)
    yield _text(text[place:])


def _link(address: str) -> Iterator[Token]:
    if len(address) > _LONGEST_LINK:
        yield _text(address)
        return
    yield Token("link_open", "a", 1, attrs={"href": address})
    yield _text(address)
    yield Token("link_close", "a", -1)


def _text(content: str) -> Token:
    return Token("text", "", 0, content=content)
