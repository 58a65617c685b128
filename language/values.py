"""The values of a claim: numbers, versions, identifiers, addresses and quoted names.

These are what a wrong answer gets wrong in a checkable way. Measured elsewhere: a number that is not in the
cited snippet marks a wrong claim with a precision of .84 to .97 once list markers and formats are normalised.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from language.blocks import split_code
from language.clean import fold
from language.words import tokens

_URL = re.compile(r"(?:https?|ftp|wss?)://[^\s<>()\[\]\"'`«»“”„…|]+", re.IGNORECASE)
_CODE = re.compile(r"(?<!`)(`+)(?!`)([^\n]+?)(?<!`)\1(?!`)")
_QUOTED = re.compile(r"«([^»\n]{2,80})»|“([^”\n]{2,80})”|\"([^\"\n]{2,80})\"")
_IDENTIFIER = re.compile(
    r"(?<![\w/.-])(?:--[a-z][\w-]+|[A-Za-z_][\w]*(?:_[\w]+)+|[A-Z]{2,}[A-Z0-9]*-\d+|[\w-]+\.(?:py|toml|json|md|db|yaml|yml|txt|ini|cfg|exe|xml|csv)"
    r"|[a-z]+[A-Z]\w+)(?!\w)"
)
_VERSION = re.compile(r"(?<![\w.])v?\d+(?:\.\d+){2,}(?:[-+.]?[a-z]+\d*)?(?![\w])", re.IGNORECASE)
_NUMBER = re.compile(r"(?<![\w.,])[-−]?\d{1,3}(?:[ \u00a0\u202f,]\d{3})+(?:[.,]\d+)?(?![\w])|(?<![\w.])\d+(?:[.,]\d+)?")
_LIST_MARKER = re.compile(r"^[ \t]*(?:>[ \t]*)*(?:\d{1,3}[.)]|[-*+])[ \t]+", re.MULTILINE)
_CITATION = re.compile(r"[ \t]*\[\d{1,3}\]")
_HEADING_MARK = re.compile(r"^#{1,6}[ \t]+", re.MULTILINE)

_LINK_TARGET = re.compile(r"\](?:\([^)\n]*\)|\[[^\]\n]*\])")
_TAG = re.compile(r"<[^<>\n]*>")
_TAG_BUT_ADDRESS = re.compile(r"<(?!https?://)[^<>\n]*>")


@dataclass(frozen=True, slots=True)
class Values:
    """What was found, normalised for comparing: folded, numbers with a point and without grouping."""

    numbers: frozenset[str] = field(default_factory=frozenset[str])
    identifiers: frozenset[str] = field(default_factory=frozenset[str])
    urls: frozenset[str] = field(default_factory=frozenset[str])
    quoted: frozenset[str] = field(default_factory=frozenset[str])


def values(text: str) -> Values:
    """Return the values of a claim; list markers, heading marks and citations are none."""
    parts = split_code(text)
    text = "".join(part if i % 2 else _CITATION.sub("", part) for i, part in enumerate(parts))
    text = _LIST_MARKER.sub("", _HEADING_MARK.sub("", text))
    urls = frozenset(_flat(url.rstrip(".,;:!?*_~")) for url in _URL.findall(text))
    code = [inner.strip() for _, inner in _CODE.findall(text)]
    quoted = frozenset(_flat(part) for groups in _QUOTED.findall(text) for part in groups if part)
    text = _URL.sub(" ", text)
    identifiers = frozenset(_flat(name) for name in (*_IDENTIFIER.findall(text), *code))
    versions = frozenset(fold(v).removeprefix("v") for v in _VERSION.findall(text))
    numbers = frozenset(
        number(n) for n in _NUMBER.findall(_VERSION.sub(" ", _IDENTIFIER.sub(" ", _CODE.sub(" ", text))))
    )
    return Values(numbers | versions, identifiers, urls, quoted)


def missing_from(claim: str, snippet: str) -> list[str]:
    """Return the values of a claim that do not occur in a snippet, in a fixed order.

    Identifiers and addresses must occur as they are written, quoted names word by word; none as a part of a longer
    word.
    """
    # "`Item`s" is read as one word and written as a name with an ending: either may be claimed.
    wanted, flat = values(claim), f"{_flat(snippet)}\n{_flat(snippet.replace('`', ' '))}"
    # Every number of the snippet counts, also those inside its code, identifiers and versions.
    numbers = {number(n) for n in _NUMBER.findall(snippet)} | {
        number(n) for n in re.findall(r"\d+(?:[.,]\d+)?", snippet)
    }
    numbers |= {fold(v).removeprefix("v") for v in _VERSION.findall(snippet)}
    # Read in one line and without tags, two numbers may look like one with a space in it.
    for gap in ("", " "):
        numbers |= {number(n) for n in _NUMBER.findall(" ".join(_TAG.sub(gap, snippet).split()))}
    parts = split_code(snippet)
    said = _words(snippet) + "".join(_words(_as_read(parts, tag)) for tag in (_TAG, _TAG_BUT_ADDRESS))
    absent = sorted(n for n in wanted.numbers if n not in numbers)
    absent += sorted(name for name in wanted.identifiers if not _occurs(name, flat))
    absent += sorted(url for url in wanted.urls if url not in flat)
    absent += sorted(name for name in wanted.quoted if _words(name) not in said)
    return absent


def _as_read(parts: list[str], tag: re.Pattern[str]) -> str:
    """Return a text without tags and targets of links, but for those inside code."""
    return "".join(part if i % 2 else _LINK_TARGET.sub("]", tag.sub("", part)) for i, part in enumerate(parts))


def _occurs(name: str, flat: str) -> bool:
    before, after = r"(?<!\w)" if name[:1].isalnum() else "", r"(?!\w)" if name[-1:].isalnum() else ""
    return bool(re.search(before + re.escape(name) + after, flat))


def _words(text: str) -> str:
    return f" {' '.join(tokens(text))} "


def number(text: str) -> str:
    """Normalise a number's format: "1 500,50", "1,500.50" and "1500.5" are one."""
    text = re.sub(r"[ \u00a0\u202f]", "", text).replace("−", "-")
    if re.fullmatch(r"-?\d{1,3}(?:,\d{3})+(?:\.\d+)?", text):
        text = text.replace(",", "")
    text = text.replace(",", ".")
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return re.sub(r"^(-?)0+(?=\d)", r"\1", text)


def _flat(text: str) -> str:
    return " ".join(re.sub(r"[*`«»“”\"]", "", fold(text)).split())
