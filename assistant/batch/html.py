"""The HTML of a ticket as text, by the reader of documents in HTML."""

from __future__ import annotations

import re
from typing import Final, Literal

from contracts.errors import InputError

Html = Literal["auto", "always", "never"]
LIBRARY: Final = "selectolax"
_LONGEST: Final = 1_000_000
"""Characters of one description in HTML; a ticket that carries more has pictures in its text."""
_TAG = re.compile(
    r"</?(?:a|abbr|b|blockquote|body|br|center|code|dd|div|dl|dt|em|font|h[1-6]|head|hr|html|i|img|li|meta|ol|p|pre|"
    r"s|script|section|small|span|strong|style|sub|sup|table|tbody|td|th|thead|tr|u|ul)(?:\s[^<>]{0,5000})?/?>|<!--|"
    r"<!doctype\s|&(?:nbsp|lt|gt|amp|quot|laquo|raquo|mdash|ndash|#\d{1,7}|#x[0-9a-f]{1,6});",
    re.IGNORECASE,
)
_BOLD = re.compile(r"\*\*([^*\n]{1,500})\*\*")
_ESCAPE = re.compile(r"\\([`\[\]|#~=*_-])")


def is_html(text: str, html: Html) -> bool:
    """Whether a description is to be read as HTML; `auto`: where it has a tag or an entity."""
    return html == "always" or (html == "auto" and bool(_TAG.search(text)))


def text_of(text: str, html: Html) -> str:
    """Return the words of a description: no scripts, styles or hidden parts, of links and pictures their words.

    Raises:
        InputError: It is longer than one million characters of HTML.
    """
    if not is_html(text, html):
        return text
    if len(text) > _LONGEST:
        raise InputError(
            f"The description has {len(text):,} characters of HTML; at most {_LONGEST:,} are read.",
            "Take pictures out of its text.",
        )
    from adapters.sources.documents.document import Unfit
    from adapters.sources.documents.html import read_text
    from adapters.sources.markdown.plain import plain

    try:
        markdown = read_text(text).text
    except Unfit:
        return ""
    return _ESCAPE.sub(r"\1", plain(_BOLD.sub(r"\1", markdown))).strip()
