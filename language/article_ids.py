"""Numbers of articles that a text names: in words, as `kbId`, or in the address of a page."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import pairwise
from urllib.parse import parse_qsl, unquote, urlsplit

_NAMED = re.compile(
    r"(?<![a-zа-яё])(?:kb[ _-]?id|article|стать(?:я|и|ю|е|ё|ей|ёй))s?(?:[ _-]?(?:id|no\.?|number|номер))?"
    r"[\"'`*]{0,3}[ :=№#]{1,4}[\"'`*]{0,3}(\d{1,9})(?![\w-])(?!\.\d)(?!\.? {1,2}[^\W\d_]{0,24} {0,1}(?:гк|ук|нк|тк|коап|конституц|кодекс|закон|gdpr))",
    re.IGNORECASE,
)
"""An article of a law is none of ours."""
_ADDRESS = re.compile(r"https?://[^\s<>()\[\]\"'`«»|]+", re.IGNORECASE)
_LAST = re.compile(r"(\d{1,9})(?:-[^/]*|\.(?:html?|php|md|aspx?))?")
_KEYS = frozenset(("id", "kbid", "kb_id", "article", "article_id", "articleid"))
_FOLDERS = frozenset(("article", "articles", "kb", "knowledge", "a", "id"))


def article_ids(text: str, domains: Iterable[str]) -> list[int]:
    """Return the numbers of articles that a text names, each once: in words anywhere, in addresses at the domains."""
    found = [int(match[1]) for match in _NAMED.finditer(text)]
    if "://" in text:
        own = tuple(domain.casefold() for domain in domains)
        found += [number for address in _ADDRESS.findall(text) for number in _in_address(address, own)]
    return list(dict.fromkeys(found))


def _in_address(address: str, domains: tuple[str, ...]) -> list[int]:
    try:
        parts = urlsplit(address.rstrip(".,;:!?*_"))
        host = (parts.hostname or "").casefold()
    except ValueError:
        return []
    if not any(host == domain or host.endswith("." + domain) for domain in domains):
        return []
    steps = [step for step in unquote(parts.path).casefold().split("/") if step]
    found = [value for key, value in parse_qsl(parts.query) if key.casefold() in _KEYS]
    found += [step for folder, step in pairwise(steps) if folder in _FOLDERS]
    found += steps[-1:]
    return [int(match[1]) for one in found if (match := _LAST.fullmatch(one))]
