"""Conversion of a ticket's HTML to text, with the reader of HTML documents."""

from __future__ import annotations

import re
from typing import Final, Literal

from contracts.errors import InputError

Html = Literal["auto", "always", "never"]
LIBRARY: Final = "selectolax"
_LONGEST: Final = 1_000_000
"""Characters of one description in HTML; a ticket that carries more has pictures in its text."""
_BLOCKS = (
    "address|article|blockquote|body|center|dd|div|dl|dt|footer|form|h[1-6]|head|header|hr|html|li|main|meta|ol|p|pre|"
    "section|table|tbody|td|tfoot|th|thead|tr|ul"
)
_WORDS = "a|abbr|b|big|br|cite|code|del|em|font|i|img|ins|kbd|mark|q|s|small|span|strike|strong|sub|sup|tt|u|var"
_HOLDING = "script|style|title|textarea|noscript|iframe|template|svg|math|object|select|xmp|noembed|noframes|plaintext"
"""Elements that take all that follows into themselves, up to their end."""
_OTHERS = (
    "aside|audio|base|button|canvas|caption|col|colgroup|details|dialog|embed|fieldset|figcaption|figure|input|label|"
    r"legend|link|map|area|nav|optgroup|option|param|source|summary|time|track|video|wbr|[a-z]{1,30}[:-][a-z\d-]{1,60}"
)
_REST = r"(?:[\s/][^<>]{0,5000})?>"
_BEGIN = re.compile(rf"\s*<(?:(?:{_BLOCKS}){_REST}|!--)", re.IGNORECASE)
_SURE = re.compile(
    rf"<!doctype\s|<(?:html|body){_REST}|</(?:{_BLOCKS})\s{{0,9}}>|<br\s{{0,9}}/?>|<img\s[^<>]{{1,5000}}>",
    re.IGNORECASE,
)
_OPEN = re.compile(rf"<(?:{_BLOCKS}|{_WORDS}){_REST}", re.IGNORECASE)
_CLOSE = re.compile(rf"</(?:{_WORDS})\s{{0,9}}>", re.IGNORECASE)
_HOLDS = re.compile(rf"<(/?)({_HOLDING})(?=[\s/>])", re.IGNORECASE)
_NO_TAG = re.compile(
    rf"<(?=/?[a-z])(?!/?(?:{_BLOCKS}|{_WORDS}|{_HOLDING}|{_OTHERS})(?=[\s/>]))|(?<=\w)<(?=[abiqsu]\s\w[^<>=]{{0,200}}>)",
    re.IGNORECASE,
)
"""Where no tag begins: `<a@b.example>`, `List<String>`, `a<b and c>d`."""
_BACKSLASH: Final = "\ue001"
"""Stands for one of the text itself, while those that Markdown needs are there."""
_BOLD = re.compile(r"\*\*([^*\n]{1,500})\*\*")
_ESCAPE = re.compile(r"\\([`\[\]|#~=*_-])")


def is_html(text: str, html: Html) -> bool:
    """Whether to read a description as HTML.

    With `auto`, a description is HTML if it looks like a marked-up document. A tag that is only mentioned, comparison
    signs, addresses and entities do not count. A text with only these would lose words if read as HTML.
    """
    if html != "auto":
        return html == "always"
    return bool(_BEGIN.match(text) or _SURE.search(text) or (_OPEN.search(text) and _CLOSE.search(text)))


def text_of(text: str, html: Html) -> str:
    """Return the words of a description, with those of links and pictures, without scripts, styles and hidden parts.

    Raises:
        InputError: The HTML is longer than one million characters.
    """
    if not is_html(text, html):
        return text
    if len(text) > _LONGEST:
        raise InputError(
            f"The description has {len(text):,} characters of HTML; at most {_LONGEST:,} are read.",
            "Take pictures out of its text.",
        )
    from adapters.reading.document import Unfit
    from adapters.reading.html import read_text
    from adapters.reading.plain import plain

    try:
        markdown = read_text((_mend(text) if html == "auto" else text).replace("\\", _BACKSLASH)).text
    except Unfit:
        return ""
    return _ESCAPE.sub(r"\1", plain(_BOLD.sub(r"\1", markdown))).replace(_BACKSLASH, "\\").strip()


def _mend(text: str) -> str:
    """Return HTML in which what is no tag, or would swallow the rest of it, stands as words."""
    ends = {found[2].lower(): found.start() for found in _HOLDS.finditer(text) if found[1]}

    def word_or_tag(found: re.Match[str]) -> str:
        swallows = not found[1] and found.start() > ends.get(found[2].lower(), -1)
        return f"&lt;{found[0][1:]}" if swallows else found[0]

    return _NO_TAG.sub("&lt;", _HOLDS.sub(word_or_tag, text))
