"""Where the links of a text lead."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final
from urllib.parse import urlsplit

from language.blocks import without_code

_HARMLESS_HOSTS: Final = frozenset(
    {"localhost", "127.0.0.1", "::1", "example.com", "example.org", "example.net", "www.example.com", "www.example.org"}
)
_AFTER = r"[^\s<>()\[\]\"'`«»“”„…|]"
_ADDRESS = re.compile(
    rf"\b(?:https?|ftp)://(?:\[[^\s\]]*\]?{_AFTER}*|{_AFTER}+)|(?<![\w./@-])www\.{_AFTER}+", re.IGNORECASE
)
# What a reader's program would follow though it does not begin like an address.
_TARGET = re.compile(r"\](?:\(|:)[ \t]*<?((?://|\\\\|(?:javascript|vbscript|data|file):)[^\s<>)]*)", re.IGNORECASE)
_MARKS_BEHIND = ".,;:!?*_~\\"


def foreign_links(text: str, allowed_domains: Iterable[str]) -> list[str]:
    """Return the links of a Markdown text, code left out, whose host is none of the domains nor below one.

    Loopback and documentation addresses (RFC 2606) are at home everywhere.
    """
    allowed = tuple(domain.casefold() for domain in allowed_domains)
    if not (_ADDRESS.search(text) or _TARGET.search(text)):
        return []
    prose = without_code(text)
    found = [*(url.rstrip(_MARKS_BEHIND) for url in _ADDRESS.findall(prose)), *_TARGET.findall(prose)]
    return [url for url in found if not _allowed(url, allowed)]


def _allowed(url: str, allowed: tuple[str, ...]) -> bool:
    # Browsers read a backslash as a slash, so "https://evil.test\@ours" leads to evil.test.
    url = url.replace("\\", "/")
    try:
        host = (urlsplit(url if "//" in url else f"//{url}").hostname or "").casefold()
    except ValueError:
        return False
    return host in _HARMLESS_HOSTS or any(host == domain or host.endswith("." + domain) for domain in allowed)
