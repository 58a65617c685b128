"""Safe HTML from Markdown: no HTML of the author's, no pictures, only allowed addresses."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import cache
from html import escape
from typing import Any, Final
from urllib.parse import urlsplit

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token

from contracts.profile import Profile
from language.memo import remember
from language.privacy.links import foreign_links
from language.sentences import sentences
from rendering.synthetic import contact_of

Hint = Callable[[int, str], str]

_MOST_HINTS: Final = 200
"""Citations of one text that show something: no answer for people has more."""
_CODE: Final = ("fence", "code_block")
_ROW: Final = ("tr_open", "tr_close")
CELLS: Final = " | "
"""Stands between the cells of a row that is one text."""
_CITATION: Final = re.compile(r"\[(\d{1,3})\]")
_WEB: Final = re.compile(r"https?://[^\s<>\"'`\\]+", re.IGNORECASE)
_CONTACT: Final = re.compile(r"https?://|mailto:")
# Gradio fills templates of JavaScript and of Handlebars with values; whatever these read means itself.
_READ_BY_TEMPLATES: Final = str.maketrans({"{": "&#123;", "}": "&#125;", "$": "&#36;", "`": "&#96;", "@": "&#64;"})
_TURNS_TEXT: Final = dict.fromkeys((*range(0x202A, 0x202F), *range(0x2066, 0x206A)))
_HEADINGS: Final = 2
"""The rank of a text's highest headings: the highest on a page belongs to the page."""


def words(text: str) -> str:
    """Return text as HTML that shows it unchanged; also safe in an attribute in double quotes."""
    return escape(text.translate(_TURNS_TEXT), quote=True).translate(_READ_BY_TEMPLATES)


def leads_out(url: str, allowed_domains: Sequence[str]) -> bool:
    """Whether an address may be a link: a web address in an allowed domain."""
    if not _WEB.fullmatch(url) or foreign_links(url, allowed_domains):
        return False
    # Names that nobody can register are not foreign to a text; where a click leads, they are.
    host = (urlsplit(url).hostname or "").lower()
    return any(host == domain or host.endswith(f".{domain}") for domain in map(str.lower, allowed_domains))


def safe_html(
    markdown: str,
    allowed_domains: Sequence[str] = (),
    cited: Collection[int] = (),
    anchor: str = "",
    contacts: Collection[str] = (),
    hint: Hint | None = None,
    marked: Collection[str] = (),
) -> str:
    """Return Markdown as HTML. Of equal citations that follow each other in one block, the last one stays.

    The ranks of headings follow from how they are nested, so that none is left out.

    Args:
        markdown: The text, from any source.
        allowed_domains: The domains of allowed links; other links become text, followed by their addresses.
        cited: Numbers in brackets that link to the sources of an answer.
        anchor: The prefix of the HTML ids of these sources.
        contacts: Further addresses that may be links (`contact_addresses`).
        hint: Returns what a citation shows, as HTML, by its number and the text in front of it; nothing if empty.
        marked: Sentences and rows to highlight, as `passage_blocks` returns them.
    """
    env: dict[str, Any] = {
        "above": [],
        "allowed": tuple(allowed_domains),
        "cited": frozenset(cited),
        "anchor": anchor,
        "contacts": frozenset(contacts),
        "hint": hint,
        "hints": itertools.count(1),
        "marked": frozenset(marked),
        "row": "",
    }
    return _reader().render(markdown.translate(_TURNS_TEXT), env)


@remember
def passage_blocks(markdown: str) -> tuple[tuple[str, ...], ...]:
    """Return the sentences of each block of a text, as it is read; a block of code is one, and so is a row of a table."""
    found: list[tuple[str, ...]] = []
    tokens, row = _reader().parse(markdown.translate(_TURNS_TEXT)), ""
    for place, token in enumerate(tokens):
        if token.type in _ROW:
            row = _row_text(tokens, place)
            found.append((row,))
        elif token.type == "inline" and not row:
            found.append(tuple(sentences(_plain(token.children or []))))
        elif token.type in _CODE:
            found.append((token.content.strip(),))
    return tuple(block for block in found if block and block[0])


def contact_addresses(profile: Profile) -> frozenset[str]:
    """Return the web and e-mail addresses to which the contacts of a profile lead, as links have them."""
    tokens = (
        token
        for language in profile.languages
        for block in _reader().parse(contact_of(profile, language))
        for token in block.children or []
    )
    found = (str(token.attrGet("href") or "") for token in tokens if token.type == "link_open")
    return frozenset(url for url in found if _CONTACT.match(url))


@cache
def _reader() -> MarkdownIt:
    return MarkdownIt("commonmark", {"html": False}, renderer_cls=_Safe).enable("table")


class _Safe(RendererHTML):
    """Writes every token itself, so that none can be written that is not thought of."""

    def render(self, tokens: Sequence[Token], options: Any, env: Any) -> str:
        written: list[str] = []
        for place, token in enumerate(tokens):
            if token.type in _ROW:
                env["row"] = _row_text(tokens, place)
            inline = token.type == "inline"
            written.append(self._inline(token.children or [], env) if inline else _block(token, env))
        return "".join(written)

    def _inline(self, tokens: Sequence[Token], env: dict[str, Any]) -> str:
        written: list[str] = []
        open_links: list[str | None] = []
        citations = _Citations(tokens, env)
        highlights = _Highlights(tokens, env["marked"], env["row"])
        for place, token in enumerate(tokens):
            match token.type:
                case "link_open":
                    url = str(token.attrGet("href") or "")
                    follows = url in env["contacts"] or leads_out(url, env["allowed"])
                    open_links.append(None if follows else url)
                    written.append(_link(url) if follows else "")
                case "link_close":
                    url = open_links.pop() if open_links else ""
                    # An address that leads nowhere is still to be read, unless it has just been.
                    said = (words(url), words(url.removeprefix("mailto:"))) if url else ()
                    shown = f" ({words(url)})" if url and not any(one in written[-1:] for one in said) else ""
                    written.append("</a>" if url is None else shown)
                case "image":
                    written.append(words(token.content))
                case "text":
                    written.append((highlights if env["marked"] else citations).html(place, token.content))
                case "code_inline":
                    citations.said += token.content
                    written.append(f"<code>{highlights.html(place, token.content)}</code>")
                case "softbreak":
                    citations.said += " "
                    written.append("\n")
                case "hardbreak":
                    written.append("<br>")
                case "em_open" | "em_close" | "strong_open" | "strong_close":
                    written.append(f"<{'/' if token.nesting < 0 else ''}{token.tag}>")
                case _:
                    written.append(words(token.content))
        return "".join(written)


_PLAIN: Final = frozenset(
    (
        "p",
        "ul",
        "ol",
        "li",
        "blockquote",
        "table",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
        "h1",
        "h2",
        "h3",
        "h4",
        "h5",
        "h6",
    )
)


def _block(token: Token, env: dict[str, Any]) -> str:
    match token.type:
        case "fence" | "code_block":
            code = words(token.content)
            marked = token.content.strip() in env["marked"]
            return f'<pre tabindex="0"><code>{f"<mark>{code}</mark>" if marked else code}</code></pre>\n'
        case "hr":
            return "<hr>\n"
        case _ if token.hidden:
            return ""
        case _ if token.tag in _PLAIN:
            return _tag(token, env)
        case _:
            return words(token.content)


def _tag(token: Token, env: dict[str, Any]) -> str:
    tag = token.tag
    if tag[0] == "h" and tag[1:].isdigit():
        tag = f"h{_rank(int(tag[1:]), env)}"
    if token.nesting < 0:
        return f"</{tag}></div>\n" if tag == "table" else f"</{tag}>\n"
    start = token.attrGet("start") if tag == "ol" else None
    number = f' start="{int(start)}"' if start is not None else ""
    return f'<div class="wide" tabindex="0"><{tag}>' if tag == "table" else f"<{tag}{number}>"


def _rank(level: int, env: dict[str, Any]) -> int:
    """Return the rank of a heading that has a level in its text."""
    env["above"] = [*(above for above in env["above"] if above < level), level]
    return min(_HEADINGS + len(env["above"]) - 1, 6)


def _link(url: str) -> str:
    return f'<a href="{words(url)}" target="_blank" rel="noopener noreferrer nofollow" referrerpolicy="no-referrer">'


class _Citations:
    """The citations of one block, in order."""

    def __init__(self, tokens: Sequence[Token], env: dict[str, Any]) -> None:
        self._env = env
        self.said = ""
        """What stands in front of the next citation, since the one before."""
        found: list[tuple[int, re.Match[str]]] = []
        depth = 0
        for place, token in enumerate(tokens if env["cited"] else ()):
            depth += {"link_open": 1, "link_close": -1}.get(token.type, 0)
            if token.type == "text" and not depth:
                found += [
                    (place, match) for match in _CITATION.finditer(token.content) if int(match[1]) in env["cited"]
                ]
        self._found: dict[int, list[tuple[re.Match[str], bool]]] = {}
        for at, (place, match) in enumerate(found):
            last = at + 1 == len(found) or int(found[at + 1][1][1]) != int(match[1])
            self._found.setdefault(place, []).append((match, last))

    def html(self, place: int, text: str) -> str:
        """Return the text of a token, with its citations as links."""
        written, begin, gap = "", 0, ""
        for match, last in self._found.get(place, ()):
            before = text[begin : match.start()]
            self.said += before
            # The blank before a citation that is left out belongs to the one that follows it at once.
            before = before if before.strip() else gap or before
            kept = before if last else before.rstrip(" ")
            written += words(kept) + (self._link(int(match[1])) if last else "")
            begin, gap = match.end(), before[len(kept) :]
        self.said += text[begin:]
        return written + words(text[begin:])

    def _link(self, number: int) -> str:
        anchor, said, self.said = self._env["anchor"], self.said, ""
        link = f'<a class="cite" href="#{anchor}{number}"'
        count = next(self._env["hints"])
        if row := self._env["row"]:
            said = f"| {_CITATION.sub('', row)} |"
        shown = self._env["hint"](number, said) if self._env["hint"] and count <= _MOST_HINTS else ""
        if not shown:
            return f"{link}>{number}</a>"
        name = f"{anchor}{number}-h{count}"
        return (
            f'<span class="citing">{link} aria-describedby="{name}">{number}</a>'
            f'<span class="hint" role="tooltip" id="{name}">{shown}</span></span>'
        )


class _Highlights:
    """The parts of one block that are to be highlighted."""

    def __init__(self, tokens: Sequence[Token], marked: Collection[str], row: str) -> None:
        self._starts = list(itertools.accumulate((len(_words_of(token)) for token in tokens), initial=0))
        if row:
            self._spans = [(0, self._starts[-1])] if row in marked else []
        else:
            self._spans = list(_find_sentences(_plain(tokens), marked)) if marked else []

    def html(self, place: int, text: str) -> str:
        """Return the text of a token, with its part of each highlight in a tag of its own."""
        start, written, done = self._starts[place], "", 0
        for begin, end in self._spans:
            first, last = max(begin - start, 0), min(end - start, len(text))
            if first < last:
                written += f"{words(text[done:first])}<mark>{words(text[first:last])}</mark>"
                done = last
        return written + words(text[done:])


def _find_sentences(text: str, marked: Collection[str]) -> Iterator[tuple[int, int]]:
    """Return where the marked sentences of a text begin and end: the same signs, with whatever blanks between."""
    signs = [place for place, sign in enumerate(text) if not sign.isspace()]
    done = 0
    for sentence in sentences(text):
        count = sum(not sign.isspace() for sign in sentence)
        if count and sentence in marked and done + count <= len(signs):
            yield signs[done], signs[done + count - 1] + 1
        done += count


def _row_text(tokens: Sequence[Token], place: int) -> str:
    """Return the row of a table that begins at a place as one text; none where a row ends."""
    cells: list[str] = []
    for token in itertools.islice(tokens, place, None):
        if token.type == "tr_close":
            break
        if token.type == "inline":
            cells.append(" ".join(_plain(token.children or []).split()))
    return CELLS.join(filter(None, cells))


def _plain(tokens: Sequence[Token]) -> str:
    return "".join(map(_words_of, tokens))


def _words_of(token: Token) -> str:
    if token.type in ("softbreak", "hardbreak"):
        return " "
    return token.content if token.type in ("text", "code_inline", "image") else ""
