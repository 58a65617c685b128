"""Safe HTML from Markdown: no HTML of the author's, no pictures, only allowed addresses."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from functools import cache
from html import escape
from typing import Any, Final
from urllib.parse import urlsplit

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token

from contracts.profile import Profile
from language.privacy.links import foreign_links
from rendering.synthetic import contact_of

_CITATION: Final = re.compile(r"\[(\d{1,3})\]")
_WEB: Final = re.compile(r"https?://[^\s<>\"'`\\]+", re.IGNORECASE)
_CONTACT: Final = re.compile(r"https?://|mailto:")
# Gradio fills templates of JavaScript and of Handlebars with values; whatever these read means itself.
_READ_BY_TEMPLATES: Final = str.maketrans({"{": "&#123;", "}": "&#125;", "$": "&#36;", "`": "&#96;", "@": "&#64;"})
_TURNS_TEXT: Final = dict.fromkeys((*range(0x202A, 0x202F), *range(0x2066, 0x206A)))
_HEADINGS: Final = 3
"""The highest heading on a page belongs to the page: a text's own begin three ranks lower."""


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
) -> str:
    """Return Markdown as HTML.

    Args:
        markdown: The text, from any source.
        allowed_domains: The domains of allowed links; other links become text, followed by their addresses.
        cited: Numbers in brackets that link to the sources of an answer.
        anchor: The prefix of the HTML ids of these sources.
        contacts: Further addresses that may be links (`contact_addresses`).
    """
    env = {
        "allowed": tuple(allowed_domains),
        "cited": frozenset(cited),
        "anchor": anchor,
        "contacts": frozenset(contacts),
    }
    return _reader().render(markdown.translate(_TURNS_TEXT), env)


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
        return "".join(
            self._inline(token.children or [], env) if token.type == "inline" else _block(token) for token in tokens
        )

    def _inline(self, tokens: Sequence[Token], env: dict[str, Any]) -> str:
        written: list[str] = []
        open_links: list[str | None] = []
        for token in tokens:
            match token.type:
                case "link_open":
                    url = str(token.attrGet("href") or "")
                    follows = url in env["contacts"] or leads_out(url, env["allowed"])
                    open_links.append(None if follows else url)
                    written.append(_link(url) if follows else "")
                case "link_close":
                    url = open_links.pop() if open_links else ""
                    # An address that leads nowhere is still to be read.
                    shown = f" ({words(url)})" if url and words(url) not in written[-1:] else ""
                    written.append("</a>" if url is None else shown)
                case "image":
                    written.append(words(token.content))
                case "text":
                    written.append(_citations(token.content, env, inside=bool(open_links)))
                case "code_inline":
                    written.append(f"<code>{words(token.content)}</code>")
                case "softbreak":
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


def _block(token: Token) -> str:
    match token.type:
        case "fence" | "code_block":
            return f'<pre tabindex="0"><code>{words(token.content)}</code></pre>\n'
        case "hr":
            return "<hr>\n"
        case _ if token.hidden:
            return ""
        case _ if token.tag in _PLAIN:
            return _tag(token)
        case _:
            return words(token.content)


def _tag(token: Token) -> str:
    tag = token.tag
    if tag[0] == "h" and tag[1:].isdigit():
        tag = f"h{min(int(tag[1:]) + _HEADINGS, 6)}"
    if token.nesting < 0:
        return f"</{tag}></div>\n" if tag == "table" else f"</{tag}>\n"
    start = token.attrGet("start") if tag == "ol" else None
    number = f' start="{int(start)}"' if start is not None else ""
    return f'<div class="wide" tabindex="0"><{tag}>' if tag == "table" else f"<{tag}{number}>"


def _link(url: str) -> str:
    return f'<a href="{words(url)}" target="_blank" rel="noopener noreferrer nofollow" referrerpolicy="no-referrer">'


def _citations(text: str, env: dict[str, Any], *, inside: bool) -> str:
    if inside or not env["cited"]:
        return words(text)
    written, place = "", 0
    for match in _CITATION.finditer(text):
        number = int(match.group(1))
        if number in env["cited"]:
            written += words(text[place : match.start()])
            written += f'<a class="cite" href="#{env["anchor"]}{number}">{number}</a>'
            place = match.end()
    return written + words(text[place:])
