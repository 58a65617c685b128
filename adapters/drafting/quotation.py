"""A unit of the evidence as a quotation: its own words, cited, and no longer than needed."""

from __future__ import annotations

import re
from typing import Final

from adapters.drafting.passages import LEFT_OUT, Unit
from contracts.ports import DraftRequest
from language.blocks import Block, BlockKind, blocks, paragraph_lines
from language.claims import claims
from language.figures.comparison import missing_from
from language.patterns import read_wording
from language.sentences import sentences
from language.words import stems, tokens

_WORDING: Final = read_wording(__name__)

_LISTS: Final = (BlockKind.STEPS, BlockKind.BULLETS)
_LONG_PARAGRAPH: Final = 900
_SENTENCES: Final = 5
_WHOLE_LIST: Final = 10
WHOLE_TABLE: Final = 12
_MOST_PARTS: Final = 7
LONG_BODY: Final = 1000
_LONG_ITEM: Final = 500
_DEEPEST: Final = 3
GOES_ON = _WORDING.pattern("goes_on")
_TITLE_OF_A_TAB = re.compile(r"\*\*[^*\n]+\*\*:?|__[^_\n]+__:?")
_NUMBERING = re.compile(r"\d{1,3}(?:\.\d{1,3})*\\?[.)]\s+")
_ENTITY = re.compile(r"&#?\w+")
_CLOSING: Final = ".!?:;…"
_ASKING: Final = ("?", "!", "…")
"""Ends of a title that no colon can follow."""
_MARKER_ALONE = re.compile(r"(?<![ \t])[ \t]*+(?:[-*+]|\d{1,9}[.)])\s*")
_MARKER_AND_FENCE = re.compile(r"^([ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]+)((?:```|~~~).*)$")


def quote_row(unit: Unit, quote: str) -> str:
    return f"- {quote if unit.body else add_citation(unit.lead, f'[{unit.source}]')}"


def quote_unit(unit: Unit, question: str | None, *, introduced: bool, titled: bool) -> str:
    """Return a unit as a quotation.

    Args:
        unit: What is quoted.
        question: What long units are shortened to; `None` for a unit that stays whole.
        introduced: Whether the unit before it stands under the same heading.
        titled: Whether the title of its section stands above it.
    """
    if titled and unit.lead and not _TITLE_OF_A_TAB.fullmatch(unit.lead):
        title = add_citation(f"**{section_of(unit)}**", f"[{unit.source}]")
        return f"{title}\n\n{quote_unit(unit, question, introduced=True, titled=False)}"
    mark = f"[{unit.source}]"
    if unit.body is None:
        return _cited_paragraph(unit.lead, mark, question or "", whole=question is None)
    lead = _lead(unit, introduced=introduced)
    if unit.body.kind in (BlockKind.CODE, BlockKind.TABLE) and LEFT_OUT in unit.body.text:
        lead = f"{lead}{LEFT_OUT}"
    body = _cited_body(unit.body, mark, question)
    asks = lead.rstrip(LEFT_OUT).endswith(_ASKING) and not tokens(unit.lead)
    said = [_cited_title(lead, mark) if asks else _cited_paragraph(lead, mark, "", whole=True)]
    section = section_of(unit)
    bare = lead.rstrip(" *_")
    if unit.body.kind is BlockKind.STEPS and not introduced and bare and bare[-1] in ".!" and section[-1:].isalnum():
        said.append(add_citation(f"{section}:", mark))
    return "\n\n".join(filter(None, (*said, body)))


def _lead(unit: Unit, *, introduced: bool) -> str:
    """Return what leads into a body: its own words, and its section's title where these say too little.

    Code and tables carry no citation, so they always have a line that does.
    """
    bare = unit.body is not None and unit.body.kind in (BlockKind.CODE, BlockKind.TABLE)
    if not tokens(unit.lead):
        title = section_of(unit)
        return "" if introduced and not bare else title if title.endswith(_ASKING) else f"{title}:"
    if introduced or not _TITLE_OF_A_TAB.fullmatch(unit.lead):
        return unit.lead
    return f"{section_of(unit)} — {unit.lead}"


def section_of(unit: Unit) -> str:
    """Return the title of a unit's section, without its number."""
    parts = [part for heading in unit.heading.split(" — ") for part in heading.split(" › ") if tokens(part)]
    return _NUMBERING.sub("", parts[-1], count=1) if parts else unit.heading


def is_cited(quote: str) -> bool:
    """Whether a quotation makes claims, all of them cited; a citation mark can change how odd text is split."""
    found = claims(quote)
    return bool(found) and all(claim.cites for claim in found)


def is_whole(quote: str, unit: Unit, request: DraftRequest) -> bool:
    """Whether no name in a quotation has lost an address inside it: no source has the shortened name."""
    if LEFT_OUT not in quote:
        return True
    item = request.evidence[unit.source - 1]
    source = f"{item.title}\n{item.heading}\n{item.snippet}"
    return not any(missing_from(claim.text, source) for claim in claims(quote))


def _cited_paragraph(text: str, mark: str, question: str, *, whole: bool) -> str:
    # A smiley or a dash between two sentences says nothing that could be cited.
    parts = [part for part in sentences(text) if tokens(part)]
    if not whole and len(text) > _LONG_PARAGRAPH and len(parts) > _SENTENCES:
        parts = _best_window(parts, question)
    return " ".join(add_citation(part, mark) for part in parts)


def _cited_title(title: str, mark: str) -> str:
    """Return a title that asks as a lead: it keeps its sign, and the mark stands behind it."""
    *before, last = sentences(title.replace(LEFT_OUT, ""))
    note = f" {LEFT_OUT}" * (LEFT_OUT in title)
    return " ".join((*(add_citation(part, mark) for part in before), f"{last} {mark}{note}"))


def _best_window(parts: list[str], question: str) -> list[str]:
    """Return the run of sentences that shares most with the question: a run reads on, single ones do not."""
    asked = set(stems(question))
    hits = [len(asked.intersection(stems(part))) for part in parts]
    starts = range(len(parts) - _SENTENCES + 1)
    start = max(starts, key=lambda i: (sum(hits[i : i + _SENTENCES]), hits[i], -i))
    while start and GOES_ON.match(parts[start]):
        start -= 1
    return parts[start : start + _SENTENCES]


def add_citation(sentence: str, mark: str) -> str:
    """Put the mark before the closing punctuation, and the notes on left-out links after the mark.

    In its original place a note could be read as a part of a name: «Requests (link left out)».
    """
    if LEFT_OUT in sentence:
        sentence, mark = sentence.replace(LEFT_OUT, ""), f"{mark} {LEFT_OUT}"
    bare = sentence.rstrip()
    end = len(bare.rstrip(_CLOSING))
    # The semicolon of an entity (`&amp;`) is no punctuation.
    if bare[end : end + 1] == ";" and _ENTITY.fullmatch(bare, max(0, bare.rfind("&", 0, end)), end):
        end += 1
    return f"{bare[:end].rstrip()} {mark}{bare[end:]}"


def _cited_body(body: Block, mark: str, question: str | None) -> str:
    if question is None:
        return (
            "\n".join(quote_items(body, mark)) if body.kind in _LISTS else _close_fence(body.text.replace(LEFT_OUT, ""))
        )
    match body.kind:
        case BlockKind.STEPS:
            return "\n".join(quote_items(body, mark))
        case BlockKind.BULLETS:
            whole = len(body.parts) <= _WHOLE_LIST and len(body.text) <= LONG_BODY
            items = body.parts if whole else _choose_parts(body.parts, question)
            return "\n".join(_cited_item(_shorten_item(item, question), mark) for item in items)
        case BlockKind.TABLE:
            return _table(body, question)
        case _:
            return _close_fence(body.text)


def quote_items(body: Block, mark: str) -> list[str]:
    """Return each item of a list as a quotation, in order."""
    return [_cited_item(item, mark) for item in body.parts]


def _shorten_item(item: str, question: str, depth: int = 0) -> str:
    """Return a long item of a list with its own words, and of a list inside it what is nearest to the question."""
    if len(item) <= _LONG_ITEM or depth > _DEEPEST:
        return item
    width = len(item) - len(_MARKER_ALONE.sub("", item, count=1)) if _MARKER_ALONE.match(item) else 0
    first, *rest = item.split("\n")
    inside = "\n".join((first[width:], *(re.sub(rf"^[ \t]{{0,{width}}}", "", line) for line in rest)))
    found = blocks(inside)
    if len(found) < 2 or found[0].kind is not BlockKind.PARAGRAPH:
        return item
    kept = [found[0].text]
    lists = [block for block in found[1:] if block.kind in (BlockKind.BULLETS, BlockKind.STEPS)]
    if found[0].text.rstrip(" *_").endswith(":") and lists:
        parts = _choose_parts(lists[0].parts, question)
        kept += ["\n".join(_shorten_item(part, question, depth + 1) for part in parts)]
    said = "\n\n".join(kept)
    return first[:width] + said.replace("\n", "\n" + " " * width)


def _close_fence(code: str) -> str:
    """Close a fence that its passage left open, for it would swallow what is quoted after it."""
    opening = re.match(r" {0,3}(`{3,}|~{3,})", code)
    last = code.rpartition("\n")[2] if "\n" in code else ""
    if not opening or re.fullmatch(rf" {{0,3}}{opening[1]}{opening[1][0]}*\s*", last):
        return code
    return f"{code}\n{opening[1]}"


def _cited_item(item: str, mark: str) -> str:
    """Put the mark at the end of each paragraph of an item, and of the items inside it; code stays whole."""
    lines = item.split("\n")
    if opening := _MARKER_AND_FENCE.match(lines[0]):
        # Code alone: the mark takes the item's first line, and the code begins on the next.
        marker, fence = opening.groups()
        return "\n".join((f"{marker}{mark}", " " * len(marker) + fence, *lines[1:]))
    if _MARKER_ALONE.fullmatch(lines[0]):
        # The full stop of a number alone is no punctuation.
        return "\n".join((f"{lines[0].rstrip()} {mark}", *lines[1:]))
    for start, end in reversed(paragraph_lines(item)):
        said = "\n".join(lines[start:end])
        if tokens(_MARKER_ALONE.sub("", said, count=1)):
            lines[start:end] = [add_citation(said, mark)]
        elif LEFT_OUT in said:
            lines[start:end] = [f"{said.replace(LEFT_OUT, '').rstrip()} {mark} {LEFT_OUT}"]
    return "\n".join(lines)


def _table(body: Block, question: str) -> str:
    lines = body.text.split("\n")
    head, rows = lines[:2], list(body.parts[1:])
    whole = len(rows) <= WHOLE_TABLE and len(body.text) <= 2 * LONG_BODY
    kept = rows if whole else _choose_parts(tuple(rows), question)
    return "\n".join((*head, *kept)).replace(LEFT_OUT, "")


_YEAR: Final = re.compile(r"(?:19|20)\d\d")
_FIRST_CELL: Final = re.compile(r"(?s)^\s*\|?\s*([^|\n]*).*")


def _choose_parts(parts: tuple[str, ...], question: str) -> list[str]:
    """Return the parts with a number of the question, else those that share most words with it, in their own order.

    If no part shares a word, the first ones are returned.
    """
    asked = set(stems(question))
    said = [asked.intersection(stems(part)) for part in parts]
    # Of "error 522 in a cell", the number tells which row it is, and the other words stand in many.
    numbers = {word for word in asked if word.isdigit() and len(word) > 2 and not _YEAR.fullmatch(word)}
    keys = [numbers.intersection(stems(_FIRST_CELL.sub(r"\1", part))) for part in parts]
    if any(keys):
        said = keys
    hits = list(map(len, said))
    most = max(hits, default=0)
    if not most:
        return list(parts[:_MOST_PARTS])
    return [part for part, hit in zip(parts, hits, strict=True) if hit == most][:_MOST_PARTS]
