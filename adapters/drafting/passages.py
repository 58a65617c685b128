"""A passage as units for an answer: each is a block with the line that leads into it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from contracts.evidence import EvidenceItem
from language.blocks import Block, BlockKind, blocks, heading_text, split_code
from language.markup import in_markdown, without_holes, without_navigation
from language.memo import LONGEST, MOST
from language.patterns import read_wording
from language.privacy.links import foreign_links, has_link
from language.privacy.personal_data import Contacts
from language.words import stems

_WORDING: Final = read_wording(__name__)

LEFT_OUT = "\ufdd0"
"""Stands in a unit where a link to another host stood; Unicode keeps this character for uses inside a program."""

_JOINT = "\ufdd3"
"""Stands in the middle of a link that stays one, until all others are gone."""
_OURS = re.compile("[\ufdd0-\ufdd3]")

_TARGET = r"\(((?:[^()\n]|\n(?!\n)|\([^()\n]*\))*)\)"
# Words in brackets that are no link, and a tag that does not end, are taken with what is looked for and left as they
# are: nothing inside of them could be one, and to try each bracket anew would take the square of the time.
_IMAGE = re.compile(r"!\[[^\]\n]*+(?:\]" + _TARGET + ")?")
_BEHIND_CODE = re.compile(r"\]" + _TARGET)
_LINK = re.compile(r"\[([^\]\n]++)(?:\]" + _TARGET + ")?")
_REFERENCE = re.compile(r"\[([^\]\n]++)(?:\]\[([^\]\n]*)\])?")
_DEFINITION = re.compile(r"^ {0,3}\[([^\]\n]+)\]:[ \t]*<?([^\s<>]+)", re.MULTILINE)
_ADDRESS = re.compile(r"([ \t]?)<((?:https?|ftp)://[^\s<>]+)>([ \t]?)", re.IGNORECASE)
_ANCHOR = re.compile(
    r"<a\s[^<>]{0,500}?\bhref\s*=\s*[\"']?([^\"'\s<>]++)[^<>]{0,500}+>(.{0,500}?)</a\s*>", re.DOTALL | re.IGNORECASE
)
_BARE_MARK = re.compile(r"\[(\d{1,3})\]")
_COMMENT = re.compile(r"<!--.*?(?:-->|(?P<open>\Z))", re.DOTALL)
# Cells and paragraphs in HTML: taken out without a space, their words would run together.
_BREAKING_TAG = re.compile(r"</?(?:td|th|tr|li|p|br|div|dt|dd)\b[^>\n]*+>?", re.IGNORECASE)
_TAG = re.compile(r"</?[A-Za-z](?:[^>\n]++|\n(?!\n))*+>?")
_LEFT_OVER = re.compile(r"(?<=<)(?=[A-Za-z/!?])|(?<=\])(?=\()")
_DIALECT = re.compile(r"^[ \t]*(?:/{3,}.*|\{[*!].*[*!]\}|:::.*|!!! .*)$", re.MULTILINE)
_POINTER = _WORDING.pattern("pointer")
_WEB = re.compile(r"https?://[^\s<>()\[\]]+", re.IGNORECASE)
_WEB_OR_RELATIVE = re.compile(rf"{_WEB.pattern}|(?!//)[\w./#-][^\s<>()\[\]:\\]*", re.IGNORECASE)
_LINKED = re.compile(r"\]\([^\s()]*\)")
_MASKED_LINK = re.compile(
    r"\[(\[redacted: [a-z_-]{1,40}\])\]\s?\((?:mailto:|tel:)?\[redacted: [a-z_-]{1,40}\][^()\n]{0,100}\)"
)
_EMPTY_ITEM = re.compile(r"\s*(?:[-*+]|\d{1,9}[.)])\s*")
_BODY = (BlockKind.STEPS, BlockKind.BULLETS, BlockKind.TABLE, BlockKind.CODE)


@dataclass(frozen=True, slots=True)
class Unit:
    """Something that can be quoted whole.

    Attributes:
        source: Number of the evidence item, counted from 1.
        order: Its place in the passage.
        heading: The headings above it, title included.
        lead: The paragraph that leads into `body`; or the paragraph itself, if there is no body.
        body: A list, a table or a code block; or nothing.
    """

    source: int
    order: int
    heading: str
    lead: str
    body: Block | None
    words: frozenset[str]
    heading_words: frozenset[str]

    @property
    def text(self) -> str:
        """The source text of lead and body."""
        return "\n\n".join(filter(None, (self.lead, self.body.text if self.body else "")))


def units(
    item: EvidenceItem,
    source: int,
    allowed_domains: Sequence[str] = (),
    contacts: Contacts | None = None,
    *,
    relative_links: bool = False,
) -> list[Unit]:
    """Return the units of one passage in order; mark-up that is not for readers is removed from the prose.

    `LEFT_OUT` follows the words of a link that leads to none of the domains.
    """
    # Its address is what the answer resolves them by (`rendering/answers.py`).
    followed = (
        relative_links and bool(_WEB.match(item.url or "")) and not foreign_links(item.url or "", allowed_domains)
    )
    kept = _WEB_OR_RELATIVE if followed else _WEB
    read = _read_once if len(item.snippet) <= LONGEST else _read
    found = read(item.title, item.heading, item.snippet, tuple(allowed_domains), contacts, kept)
    return [
        Unit(source, unit.order, unit.heading, unit.lead, unit.body, unit.words, unit.heading_words) for unit in found
    ]


def _read(
    title: str, above: str, snippet: str, domains: tuple[str, ...], contacts: Contacts | None, kept: re.Pattern[str]
) -> tuple[Unit, ...]:
    heading = " — ".join(filter(None, dict.fromkeys((title, above))))
    found: list[Unit] = []
    lead = ""
    path: list[tuple[int, str]] = []

    def add(lead_text: str, body: Block | None) -> None:
        # A step that was left out, as an order to the reader is, would be missing without a word.
        if body and any(_EMPTY_ITEM.fullmatch(part) for part in body.parts):
            return
        text = "\n".join(filter(None, (lead_text, body.text if body else "")))
        # What leads into something that the passage does not have would end the answer in mid-air.
        if stems(text) and (body or not lead_text.rstrip(" \n*_").endswith(":")):
            words = frozenset(stems(_LINKED.sub("]", text)))
            found.append(Unit(0, len(found), heading, lead_text, body, words, frozenset(stems(heading))))

    for block in blocks(_readable(snippet, domains, contacts, kept)):
        if block.kind in _BODY:
            add(lead, block)
            lead = ""
            continue
        if lead:
            add(lead, None)
            lead = ""
        if block.kind is BlockKind.HEADING:
            level = len(block.text) - len(block.text.lstrip("#"))
            path = [*(one for one in path if one[0] < level), (level, heading_text(block.text))]
            own = " › ".join(said for _, said in path)
            heading = " — ".join(filter(None, dict.fromkeys((title, above, own))))
        elif block.kind in (BlockKind.PARAGRAPH, BlockKind.QUOTE):
            lead = re.sub(r"^>[ \t]?", "", block.text, flags=re.MULTILINE).strip().lstrip("—– ")
    if lead:
        add(lead, None)
    return tuple(found)


_read_once: Final = lru_cache(maxsize=MOST)(_read)
"""The passages that were read last, masked as they are: the same ones answer many questions."""


def readable(
    markdown: str,
    allowed_domains: Sequence[str] = (),
    contacts: Contacts | None = None,
    *,
    relative_links: bool = False,
) -> str:
    """Return a passage without images, comments, tags, dialect marks and menus, and with links as their words.

    A link with words to one of the domains stays a link, and so does a relative one if `relative_links` says so. The
    words of a link elsewhere are followed by `LEFT_OUT` if they say nothing without it. The words of a link to a
    contact are followed by its address. `ICON` replaces a picture that a sentence points at. Code is left as it is.
    `[1]` in a document's own prose is not a Guardian citation and loses its brackets.
    """
    return _readable(markdown, allowed_domains, contacts, _WEB_OR_RELATIVE if relative_links else _WEB)


def _readable(markdown: str, allowed_domains: Sequence[str], contacts: Contacts | None, kept: re.Pattern[str]) -> str:
    markdown = _OURS.sub("", without_navigation(markdown))
    markdown = _COMMENT.sub(lambda m: m[0] if m["open"] is not None else " ", in_markdown(markdown))
    parts = _with_code_as_words(split_code(markdown), domains=allowed_domains, kept=kept)
    targets = {name.casefold(): target for name, target in _DEFINITION.findall(markdown)}
    known = contacts or Contacts()
    return "".join(
        part if i % 2 else _prose(part, targets, allowed_domains, known, kept) for i, part in enumerate(parts)
    )


def _with_code_as_words(parts: Sequence[str], *, domains: Sequence[str], kept: re.Pattern[str]) -> list[str]:
    """Join links whose words are code, of prose and code by turns: kept where they may be followed, else their words alone."""
    joined = list(parts)
    for at in range(1, len(joined) - 1, 2):
        before, behind = joined[at - 1], _BEHIND_CODE.match(joined[at + 1])
        if not behind or not before.endswith("[") or before.endswith("!["):
            continue
        rest, target = joined[at + 1][behind.end() :], behind[1]
        if kept.fullmatch(target) and not foreign_links(f"[]({target})", domains):
            joined[at + 1] = f"{_JOINT}{target}){rest}"
        else:
            joined[at - 1], joined[at + 1] = before[:-1], rest
    return joined


def _prose(
    text: str, targets: Mapping[str, str], domains: Sequence[str], contacts: Contacts, kept: re.Pattern[str]
) -> str:
    def words(said: str, target: str) -> str:
        # Written as a link, for a target such as `//host` is an address only there.
        if not foreign_links(f"[]({target})", domains):
            # A number in brackets would be a citation, and what holds an address needs no other one.
            keeps = kept.fullmatch(target) and re.search(r"[^\W\d_]", said) and not has_link(said)
            return f"[{said}{_JOINT}{target})" if keeps else said
        if contacts.lead_to(target):
            address = target.partition(":")[2].partition("?")[0]
            return said if address.casefold() in said.casefold() else f"{said} ({address})"
        return said + LEFT_OUT if _POINTER.fullmatch(said) or has_link(said) else said

    def address(match: re.Match[str]) -> str:
        before, target, behind = match.groups()
        # Of two spaces around what goes, one goes, too: at the beginning of an item they would push the text in.
        gap = before or behind if foreign_links(target, domains) else before + target + behind
        return words(gap, target)

    text = without_holes(_MASKED_LINK.sub(r"\1", _DIALECT.sub("", text)))
    text = _IMAGE.sub(lambda m: m[0] if m[1] is None else "", text)
    text = _ADDRESS.sub(address, text)
    text = _ANCHOR.sub(lambda m: words(m[2], m[1]), text)
    text = _LINK.sub(lambda m: m[0] if m[2] is None else words(m[1], m[2]), text)
    text = _REFERENCE.sub(
        lambda m: m[0] if m[2] is None else words(m[1], targets.get((m[2] or m[1]).casefold(), "")), text
    )
    for tag, instead in ((_BREAKING_TAG, " "), (_TAG, "")):
        text = tag.sub(lambda m, instead=instead: instead if m[0].endswith(">") else m[0], text)
    # What is left of nested tags and links could make new ones: a space keeps it from meaning anything.
    return _LEFT_OVER.sub(" ", _BARE_MARK.sub(r"(\1)", text)).replace(_JOINT, "](")
