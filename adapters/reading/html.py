"""HTML as Markdown: the page's own text, without what only a browser or a site needs.

Lexbor, a browser-grade parser, mends broken pages. Navigation, scripts and hidden parts are dropped from its tree; what
is left is written as Markdown (`html_blocks`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from adapters.reading.document import Document, Unfit, document
from adapters.reading.html_blocks import write_blocks

if TYPE_CHECKING:
    from selectolax.lexbor import LexborHTMLParser, LexborNode

_NEVER = (
    "script, style, noscript, template, svg, math, canvas, iframe, object, embed, audio, video, head, button, select, "
    "textarea, input, dialog, menu, .headerlink, .linenos, .lineno, .gutter, .visually-hidden, "
    ".sr-only"
)
_COMMENT = re.compile(r"/\*.{0,1000}?\*/", re.DOTALL)
_HIDING = re.compile(
    r"(?:^|;)\s*(?:display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse))\s*(?:!\s*important\s*)?(?=;|$)",
    re.IGNORECASE,
)
"""What hides an element in its own style; what a style sheet hides is not known here."""
_NAVIGATION = (
    "nav, footer, [role=navigation], [role=search], [role=banner], [role=contentinfo], .sidebar, .sphinxsidebar, "
    ".related, .navheader, .navfooter, .docnav, .breadcrumb, .breadcrumbs, .toc, #toc, .table-of-contents, "
    ".pagination, .pagination-nav, .pager, .skip-link"
)
_MAIN = ("main, [role=main]", "article")
_TITLES = (("h1", ""), ('meta[property="og:title"]', "content"), ("title", ""))
_DATES = (
    'meta[property="article:modified_time"]',
    'meta[name="last-modified"]',
    'meta[name="dcterms.modified"]',
    'meta[name="date"]',
)


def read(content: bytes) -> Document:
    """Return an HTML file as Markdown.

    Raises:
        Unfit: It is no text, in no known encoding, or has no words.
    """
    from selectolax.lexbor import LexborHTMLParser

    if b"\x00" in content and not content.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise Unfit("is a binary file: remove it, or give it another name")
    tree = LexborHTMLParser(content, encoding=True, scripting=True)
    words = tree.body.text() if tree.body else ""
    if words.count("\ufffd") * 50 > len(words):
        raise Unfit("is in an encoding that it does not name: save it as UTF-8")
    return _document(tree)


def read_text(markup: str) -> Document:
    """Like `read`, for a page that is text already."""
    from selectolax.lexbor import LexborHTMLParser

    return _document(LexborHTMLParser(markup.encode("utf-8", "replace"), scripting=True))


def _document(tree: LexborHTMLParser) -> Document:
    # All are judged before the first goes: a node inside another one goes with it.
    hidden = [node for node in tree.css("[hidden], [aria-hidden], [style]") if _is_hidden(node)]
    for node in hidden:
        node.decompose()
    # First what the head says, which is dropped then.
    title = next(_find_titles(tree), "")
    url = _attribute(tree, 'link[rel="canonical"]', "href")
    dates = [_attribute(tree, selector, "content") for selector in _DATES]
    root = _root(tree)
    text = "\n\n".join(write_blocks(root)) if root else ""
    return document(text, title=title, url=url, updated=next(filter(None, dates), ""))


def _is_hidden(node: LexborNode) -> bool:
    said = node.attributes
    if "hidden" in said or (said.get("aria-hidden") or "").strip().casefold() == "true":
        return True
    return bool(_HIDING.search(_COMMENT.sub("", said.get("style") or "")))


def _attribute(tree: LexborHTMLParser, selector: str, name: str) -> str:
    found = tree.css_first(selector)
    return (found.attributes.get(name) or "") if found else ""


def _find_titles(tree: LexborHTMLParser) -> Iterator[str]:
    for selector, attribute in _TITLES:
        found = tree.css_first(selector)
        if found:
            for link in found.css(".headerlink"):
                link.decompose()
            words = (found.attributes.get(attribute) or "") if attribute else found.text()
            if words.strip():
                yield words


def _root(tree: LexborHTMLParser) -> LexborNode | None:
    """Drop what is no text of the page, and return the element that holds the rest."""
    for node in tree.css(_NEVER):
        node.decompose()
    body = tree.body
    whole = _size(body)
    for selector in _MAIN:
        found = tree.css(selector)
        # A page of several articles is a list of them; a small "main" is no main part.
        if len(found) == 1 and _size(found[0]) * 4 >= whole:
            _within(found[0], _NAVIGATION)
            return found[0]
    if body is None:
        return None
    if sum(map(_size, body.css(f"{_NAVIGATION}, aside"))) < whole:
        # Unless there is nothing but such parts.
        _within(body, f"{_NAVIGATION}, aside")
        for header in body.css("header"):
            if not header.css_first("h1"):
                header.decompose()
    return body


def _within(node: LexborNode, selectors: str) -> None:
    for inner in node.css(selectors):
        if inner.mem_id != node.mem_id:
            inner.decompose()


def _size(node: LexborNode | None) -> int:
    return len("".join(node.text().split())) if node else 0
