"""What a text asserts, and the evidence that it cites for it.

A claim is a sentence, a list item, a table's row, a code block, or a leaf of JSON; a citation is `[n]`, outside of
code. Who writes citations and who checks them must split a text alike, so there is one way of doing it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Final

from contracts.values import ResponseFormat
from language.blocks import Block, BlockKind, blocks
from language.lexicon import is_courtesy
from language.links import has_link
from language.sentences import sentences
from language.structured import Leaf, json_block, leaves, loose_leaves
from language.values import Values, code_parts, values
from language.words import stems

_CITATION = re.compile(r"\[(\d{1,3})\]")
_QUOTE_MARK = re.compile(r"^ {0,3}> ?", re.MULTILINE)
_QUOTE_MARKS = re.compile(r"^[ \t]*(?:>[ \t]?)+", re.MULTILINE)
_OPENER = re.compile(
    r"\W*(?:yes|no|yep|nope|of course|certainly|sure|absolutely|correct|right|true|false|да|нет|верно|неверно|можно|нельзя|конечно|разумеется|безусловно)"
    r"(?:[ ,—-]+(?:of course|it (?:is|does|can)(?: not|n['’]t)?|you (?:can|may|must|should)(?:not| not|n['’]t)?|можно|нельзя|верно|конечно))?[\s*_]*[.!…]+[\s*_]*",
    re.IGNORECASE,
)
# What counts the entries of a list, and states nothing.
_PLACES: Final = frozenset(("step", "order", "index", "position", "number", "id", "no"))


@dataclass(frozen=True, slots=True)
class Claim:
    """Something a text asserts.

    Attributes:
        text: What it asserts; a sentence in one line.
        cites: The numbers of the evidence it cites for it (counted from 1).
        start, end: Where it stands in the draft, in characters; both 0 where it stands in no one piece.
    """

    text: str
    cites: tuple[int, ...]
    start: int = 0
    end: int = 0


def claims(draft: str, response_format: ResponseFormat = ResponseFormat.MARKDOWN) -> list[Claim]:
    """Return the claims of a draft in order; headings, courtesies and bare questions are none.

    A question is bare where it holds no number, identifier, link or citation. A "Yes." or "No." belongs to the claim
    behind it. What should be JSON and is none is read as well as may be: that it is none, the contract says.
    """
    if response_format is ResponseFormat.JSON:
        try:
            said = leaves(draft)
        except ValueError:
            said = loose_leaves(draft) if draft.lstrip().startswith(("{", "[")) else None
        if said is not None:
            return [claim for leaf in said if (claim := _leaf(leaf, ()))]
    return list(_placed(_opened(_of_markdown(draft, hybrid=response_format is ResponseFormat.HYBRID)), draft))


def without_citations(text: str) -> str:
    """Return a text without its citations; what looks like one inside code is none."""
    if "[" not in text:
        return text
    return "".join(part if i % 2 else _CITATION.sub("", part) for i, part in enumerate(code_parts(text)))


@dataclass(frozen=True, slots=True)
class _Found:
    """A claim with the number of the block it stands in, and whether it may be joined with a sentence before it."""

    claim: Claim
    block: int
    prose: bool = True


def _of_markdown(draft: str, *, hybrid: bool = False) -> Iterator[_Found]:
    found = blocks(draft)
    inside = _json_leaves(draft) if hybrid else {}
    for position, block in enumerate(found):
        if block.line in inside:
            lead = _lead(found, position)
            yield from (
                _Found(claim, position, prose=False) for leaf in inside[block.line] if (claim := _leaf(leaf, lead))
            )
            continue
        prose = block.kind not in (BlockKind.CODE, BlockKind.TABLE, BlockKind.OTHER)
        yield from (_Found(claim, position, prose) for claim in _claims_of(block, found, position))


def _json_leaves(draft: str) -> dict[int, list[Leaf]]:
    """Return the leaves of a hybrid draft's block of JSON by the line on which the block begins."""
    try:
        block = json_block(draft)
        return {draft.count("\n", 0, block.start) - 1: leaves(block.text, block.start)}
    except ValueError:
        return {}


def _leaf(leaf: Leaf, lead: tuple[int, ...]) -> Claim | None:
    """Return what a leaf claims: a string by what it says, a number always, where it counts no entries of a list."""
    cites = leaf.cites or lead
    if leaf.is_string:
        states = bool(_cites(leaf.text)) or _asserts(leaf.text)
    else:
        key = str((leaf.path or ("",))[-1])
        if leaf.text in ("true", "false", "null"):
            # A key of several words is a sentence, and this says whether it holds.
            said = f"{key}: {leaf.text}"
            return Claim(said, cites, leaf.start, leaf.end) if " " in key and _asserts(key) else None
        states = key.casefold() not in _PLACES
    return Claim(leaf.text, cites, leaf.start, leaf.end) if states else None


def _claims_of(block: Block, found: list[Block], position: int) -> Iterator[Claim]:
    match block.kind:
        case BlockKind.QUOTE:
            yield from (inner.claim for inner in _of_markdown(_QUOTE_MARK.sub("", block.text)))
        case BlockKind.PARAGRAPH:
            said = _cited_sentences(block.text)
            shown = _shown(found, position)
            for place, text in enumerate(said, 1):
                if _asserts(text) or _OPENER.fullmatch(text):
                    leads = place == len(said) and without_citations(text).rstrip(" *_").endswith(":")
                    yield Claim(text, _cites(text) or (shown if leads else ()))
        case BlockKind.BULLETS | BlockKind.STEPS:
            yield from (Claim(item, _cites(item)) for item in block.parts if _asserts(item))
        case BlockKind.TABLE:
            yield from _rows(block, _lead(found, position))
        case BlockKind.CODE | BlockKind.OTHER:
            # Code cannot carry a mark inside; the line that leads into it, or follows it, does.
            yield Claim(block.text, _lead(found, position))
        case BlockKind.HEADING:
            pass


def _shown(found: list[Block], position: int) -> tuple[int, ...]:
    """Return what the block right behind one cites, a heading aside: a line that leads into it rests on the same."""
    behind = found[position + 1] if position + 1 < len(found) else None
    return _cites(behind.text) if behind and behind.kind is not BlockKind.HEADING else ()


def _lead(found: list[Block], position: int) -> tuple[int, ...]:
    """Return what is cited right before a block, or else right behind it."""
    around = [found[i] for i in (position - 1, position + 1) if 0 <= i < len(found)]
    return next((cites for other in around if (cites := _cites(other.text))), ())


def _rows(table: Block, lead: tuple[int, ...]) -> Iterator[Claim]:
    """Return a table's rows; one without a citation of its own rests on that of the head, or of the line around."""
    head, *rows = table.parts or (table.text,)
    shared = _cites(head) or lead
    said = [row for row in rows if stems(without_citations(row)) or values(row)]
    if not said:
        yield Claim(table.text, _cites(table.text) or lead)
        return
    if values(head):
        # Years or versions over the columns are stated by whatever the rows rest on.
        yield Claim(head, shared or _cites("\n".join(said)))
    for row in said:
        yield Claim(row, _cites(row) or shared)


def _opened(found: Iterable[_Found]) -> Iterator[Claim]:
    """Join a "Yes." or "No." with the claim behind it; before a table or code it rests on the same citation."""
    waiting: _Found | None = None
    for one in found:
        if waiting is None and _is_opener(one.claim):
            waiting = one
            continue
        if waiting is None:
            yield one.claim
            continue
        opener, waiting = waiting, None
        if one.prose and one.block - opener.block <= 1:
            gap = " " if one.block == opener.block else "\n\n"
            yield replace(one.claim, text=f"{opener.claim.text}{gap}{one.claim.text}")
        else:
            yield replace(opener.claim, cites=one.claim.cites)
            yield one.claim
    if waiting:
        yield waiting.claim


def _is_opener(claim: Claim) -> bool:
    return not claim.cites and bool(_OPENER.fullmatch(claim.text))


def opener(claim: str) -> str:
    """Return the "Yes." or "No." that a claim begins with; empty where it begins with none."""
    match = _OPENER.match(claim)
    return match.group().strip() if match else ""


def _placed(found: Iterable[Claim], draft: str) -> Iterator[Claim]:
    """Find the claims in their draft, one behind the other, whatever line breaks and quote marks are inside."""
    dense, places = _dense(draft)
    done = 0
    for claim in found:
        if claim.end:
            yield claim
            continue
        wanted = "".join(claim.text.split())
        at = dense.find(wanted, done) if wanted else -1
        if at < 0:
            yield _found_whole(claim, draft)
            continue
        done = at + len(wanted)
        yield replace(claim, start=places[at], end=places[done - 1] + 1)


def _found_whole(claim: Claim, draft: str) -> Claim:
    at = draft.find(claim.text)
    return replace(claim, start=at, end=at + len(claim.text)) if at >= 0 and claim.text else claim


def _dense(text: str) -> tuple[str, list[int]]:
    """Return a text without white space and the marks of quotes, and where each character of that stands."""
    skipped = {i for match in _QUOTE_MARKS.finditer(text) for i in range(*match.span())} if ">" in text else set[int]()
    places = [i for i, character in enumerate(text) if not character.isspace() and i not in skipped]
    return "".join(text[i] for i in places), places


def _cited_sentences(text: str) -> list[str]:
    """Split a paragraph into sentences; a citation behind the full stop belongs to the sentence before it."""
    joined: list[str] = []
    for part in sentences(text):
        marks = re.match(r"^(?:\[\d{1,3}\]\s*)+", part)
        if marks and joined:
            joined[-1] = f"{joined[-1]} {marks.group().strip()}"
            part = part[marks.end() :].strip()
        if part:
            joined.append(part)
    return joined


def _cites(text: str) -> tuple[int, ...]:
    if "[" not in text:
        return ()
    return tuple(dict.fromkeys(int(n) for n in _CITATION.findall(" ".join(code_parts(text)[::2]))))


def _asserts(text: str) -> bool:
    bare = without_citations(text).strip()
    if bare.endswith("?"):
        # A question that brings a fact along asserts it: "Will you pay 500 dollars?"
        named: Values = values(bare)
        return bool(_cites(text) or named.numbers or named.identifiers or named.urls or has_link(bare))
    if _cites(text) or values(bare):
        return True  # what cites or names something asserts it, however short
    # Two words say something, and so does one that is a whole sentence: "You must pay."
    ends = bare.rstrip(' *_)»”"').endswith((".", "!", "…"))
    return len(stems(bare)) >= (1 if ends else 2) and not is_courtesy(bare)
