"""Article numbers that a text names: in words, as `kbId`, or in the address of a page."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import pairwise
from urllib.parse import parse_qsl, unquote, urlsplit

from language.patterns import read_wording
from language.privacy.spans import readings

_WORDING = read_wording(__name__)

_NUMBER = r"\d{1,9}(?![\w-])(?!\.\d)"
_NAMED = _WORDING.pattern("named", number=_NUMBER)
_ADDRESS = re.compile(r"https?://[^\s<>()\[\]\"'`«»|]+", re.IGNORECASE)
_RELATIVE = re.compile(
    r"(?:\]\([ ]{0,4}<?|\bhref ?= ?[\"']?|^[ ]{0,3}\[[^\]\n]{1,99}\]:[ ]{1,4}<?)(?![a-z][a-z0-9+.-]*:|//|#)([^\s)>\"']+)",
    re.IGNORECASE | re.MULTILINE,
)
_LAST = re.compile(r"(\d{1,9})(?:-[^/]*|\.(?:html?|php|md|aspx?))?")
_FOLDER_OF_NONE = re.compile(r"v?\d+(?:\.\d+)+|v\d+|[a-z]{2}(?:-[a-z]{2})?")
"""A version or a language: what is below is named as if it stood above."""
_KEYS = frozenset(("id", "kbid", "kb_id", "article", "article_id", "articleid"))
_FOLDERS = frozenset(("article", "articles", "kb", "knowledge", "a", "id"))


def article_ids(text: str, domains: Iterable[str]) -> list[int]:
    """Return the article numbers that a text names, each once: in words anywhere, in addresses at the domains.

    A path without a host is one of ours. A number at the end of an address is an article's in a folder of articles,
    before words (`12-toc`) or an extension (`12.html`). It is also an article's at the top level, versions and
    languages aside. So `/releases/5` is not an article.
    """
    found: list[int] = []
    own = tuple(domain.casefold() for domain in domains)
    for read in readings(text):
        plain = read.plain
        for match in _NAMED.finditer(plain):
            found += map(int, re.findall(r"\d+", match[1]))
        if "://" in plain:
            found += [number for address in _ADDRESS.findall(plain) for number in _in_address(address, own)]
        if "](" in plain or "href" in plain or "]:" in plain:
            found += [number for path in _RELATIVE.findall(plain) for number in _in_path(*_split_query(path))]
    return list(dict.fromkeys(found))


def _in_address(address: str, domains: tuple[str, ...]) -> list[int]:
    try:
        parts = urlsplit(address.rstrip(".,;:!?*_"))
        host = (parts.hostname or "").casefold()
    except ValueError:
        return []
    if not any(host == domain or host.endswith("." + domain) for domain in domains):
        return []
    return _in_path(parts.path, parts.query)


def _split_query(path: str) -> tuple[str, str]:
    path, _, query = path.partition("#")[0].partition("?")
    return path, query


def _in_path(path: str, query: str) -> list[int]:
    steps = [step for step in unquote(path).casefold().split("/") if step not in ("", ".", "..")]
    found = [value for key, value in parse_qsl(query) if key.casefold() in _KEYS]
    found += [step for folder, step in pairwise(steps) if folder in _FOLDERS]
    if steps and (not steps[-1].isdigit() or all(_FOLDER_OF_NONE.fullmatch(step) for step in steps[:-1])):
        found += steps[-1:]
    return [int(match[1]) for one in found if (match := _LAST.fullmatch(one))]
