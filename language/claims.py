"""The claims of a text, and the evidence that they cite.

A claim is a sentence, a list item's paragraph, a table's row, a code block, a heading that claims something, or a leaf
of JSON. A citation is `[n]`, outside code. The writer and the checker of citations must split a text alike, so both use
this module.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from contracts.enums import ResponseFormat
from language.blocks import Block, BlockKind, blocks, heading_text
from language.figures.values import Values, code_parts, values
from language.lexicon import is_courtesy, is_lead_in, points_ahead
from language.patterns import read_wording
from language.privacy.links import has_link
from language.questions import states_beside_asking
from language.sentences import sentences
from language.structured import Leaf, json_block, leaves, loose_leaves
from language.words import stems, tokens

_WORDING: Final = read_wording(__name__)

_CITATION = re.compile(r"\[(0|[1-9][0-9]{0,2})\]")
# Marks behind a full stop, with what may be around them: ". **[1]**", ". ([1])".
_MARKS_BEHIND = re.compile(r"^(?:[*_(]*\[(?:0|[1-9][0-9]{0,2})\][*_)]*[,.;]?\s*)+(?![:\w])")
_AFTER_MARK = re.compile(r"(?<=\][.!?…])\s+(?=\w)")
_QUOTE_MARK = re.compile(r"^ {0,3}> ?", re.MULTILINE)
_INK: Final = re.compile(r"\S+")
_QUOTE_MARKS = re.compile(r"^[ \t]*(?:>[ \t]?)+", re.MULTILINE)
_OPENER = _WORDING.pattern("opener")
_MARKER = re.compile(r"[ \t]*(?:[-*+]|\d{1,9}[.)])(?:[ \t]{1,4}(?![ \t])|[ \t]|$)", re.MULTILINE)
# A number at the beginning of a line of an item counts, though it begins no list there.
_LINE_WITH_MARKER = re.compile(r"\n(?=[ \t]*(?:[-*+]|\d{1,3}[.)])[ \t])")
_LABEL = _WORDING.pattern("label")
_NUMBERING = re.compile(r"#*[ \t]*(?:\d{1,2}(?:\.\d{1,2})+[.)]?|\d{1,2}[.)])[ \t]+(?=[^\W\d_a-zа-яё])")
_TOLD = _WORDING.pattern("told")
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_TAG = re.compile(r"</?[A-Za-z][^<>]*>")
_SHOWN_BY_TAG = re.compile(r"\b(?:alt|title|label|placeholder|aria-label|value)\s*=\s*[\"']([^\"'<>]+)", re.IGNORECASE)
_BREAK = re.compile(r"(?<=[.!?…:;\])])[*_]*\s*</?(?:br|p|div|li|tr)\b[^<>]*>\s*", re.IGNORECASE)
# Alone and without a full stop, models write headings so.
_BOLD = re.compile(r"\s*(?:\*\*|__)[^*_.!?…]*(?:\*\*|__)\s*")
_RUN_IN: Final = re.compile(r"(?P<said>[^\s.!?…\[\]][^.!?…\n\[\]]{0,300}[.!?…])[*_~]{1,3}[ \t]+(?=[^\s\[(])")
"""A sentence that ends inside of marks of emphasis and cites nothing; the one behind it stands in the same claim."""
_IN_BOLD = re.compile(r"(?P<mark>\*\*|__)(?P<said>[^*_\n]{12,300})(?P=mark)")
_RUN_IN_ENDS: Final = re.compile(r"[.!?…][*_~]{1,3}[ \t]+[^\s\[(]")
_DEEPEST: Final = 20
_LONG_TITLE: Final = 5
"""Words of an underlined heading from which on it is read as a paragraph: models mean a rule by the line below."""
_PLACES: Final = frozenset(_WORDING.words("places"))
_STATES: Final = frozenset(_WORDING.words("states"))


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim of a text.

    Attributes:
        text: The claim; a sentence is in one line.
        cites: The numbers of the evidence that it cites (counted from 1).
        start, end: Its place in the draft, in characters; both 0 if it is not in one piece.
        borrowed: Whether its citations are those of the next block, which shares no word with it: they support it only
            if the passages are about the same.
    """

    text: str
    cites: tuple[int, ...]
    start: int = 0
    end: int = 0
    borrowed: bool = False


def claims(draft: str, response_format: ResponseFormat = ResponseFormat.MARKDOWN) -> list[Claim]:
    """Return the claims of a draft in order, without plain headings, courtesies and bare questions.

    A question is bare if it has no number, identifier, link or citation. A "Yes." or "No." belongs to the next claim.
    Invalid JSON is read as far as possible; the contract check reports it.
    """
    if response_format is ResponseFormat.JSON:
        try:
            said = leaves(draft)
        except ValueError:
            said = loose_leaves(draft) if draft.lstrip().startswith(("{", "[")) else None
        if said is not None:
            return list(_of_leaves(said, ()))
    return list(
        _place_claims(_join_yes_or_no(_of_markdown(draft, hybrid=response_format is ResponseFormat.HYBRID)), draft)
    )


def titles(draft: str) -> list[str]:
    """Return headings without a claim, lines in bold, and text in bold before a sentence.

    They have no citations, but readers believe them, so their words must come from a known text.
    """
    said = [block for block in blocks(draft) if block.kind is not BlockKind.CODE]
    heads = [_without_rule(block.text) for block in _headings(said)]
    prose = [block.text for block in said if block.kind is not BlockKind.HEADING]
    alone = [line for text in prose for line in text.split("\n") if _BOLD.fullmatch(_without_marker(line))]
    # Looked for first: the sentence before it is looked for from each character on, and hardly any text has such an end.
    run_in = [match["said"] for text in prose if _RUN_IN_ENDS.search(text) for match in _RUN_IN.finditer(text)]
    return [title for title in (*heads, *alone, *run_in) if not _cites(title)]


def asides(draft: str) -> list[str]:
    """Return the bold text inside sentences, and the heads of columns, which are not claims of their own."""
    said = [block for block in blocks(draft) if block.kind is not BlockKind.CODE]
    inside = [match["said"] for block in said for match in _IN_BOLD.finditer(block.text)]
    columns = [cell.strip() for block in said if block.kind is BlockKind.TABLE for cell in block.parts[0].split("|")]
    return [aside for aside in (*inside, *columns) if aside and not _cites(aside)]


def _headings(found: Iterable[Block], depth: int = 0) -> Iterator[Block]:
    """Yield the headings of a text, those in lists and quotes included; deeper than `_DEEPEST`, all is claims anyway."""
    for block in found:
        if block.kind is BlockKind.HEADING:
            yield block
        elif depth >= _DEEPEST:
            continue
        elif block.kind is BlockKind.QUOTE:
            yield from _headings(blocks(_QUOTE_MARK.sub("", block.text)), depth + 1)
        elif block.kind in (BlockKind.BULLETS, BlockKind.STEPS):
            for part in block.parts:
                inside = re.sub(r"\n[ \t]+", "\n", _without_marker(part))
                yield from _headings(blocks(inside), depth + 1)


def _without_marker(line: str) -> str:
    marker = _MARKER.match(line)
    return line[marker.end() :] if marker else line


def _without_rule(heading: str) -> str:
    return heading_text(heading) if heading.lstrip().startswith("#") else heading.rpartition("\n")[0].strip()


def strip_label(claim: str) -> str:
    """Return a claim without its leading label ("Step 2:", "Note!") and without the numbering of a heading."""
    for mark in (_LABEL, _NUMBERING):
        if found := mark.match(claim):
            claim = claim[found.end() :]
    return claim


def without_citations(text: str) -> str:
    """Return a text without its citations; code is left as it is."""
    if "[" not in text:
        return text
    return "".join(part if i % 2 else _CITATION.sub("", part) for i, part in enumerate(code_parts(text)))


@dataclass(frozen=True, slots=True)
class _NumberedClaim:
    """A claim with the number of the block it stands in, and whether it may be joined with a sentence before it."""

    claim: Claim
    block: int
    prose: bool = True
    opens: bool = True


def _of_markdown(
    draft: str, *, hybrid: bool = False, item: bool = False, around: tuple[int, ...] = (), depth: int = 0
) -> Iterator[_NumberedClaim]:
    """Return the claims of a text.

    Args:
        draft: Markdown.
        hybrid: Whether its block of JSON is read as such.
        item: Whether it is what an item of a list holds.
        around: What the item cites as a whole: code and tables inside rest on it.
        depth: How many lists and quotes it stands in; deeper than `_DEEPEST`, all is read sentence by sentence.
    """
    if depth > _DEEPEST:
        yield from (_NumberedClaim(claim, 0) for claim in _paragraph(draft, [], 0, item=False, around=around))
        return
    found = _without_lone_marks(blocks(draft))
    inside = _json_leaves(draft) if hybrid else {}
    for position, block in enumerate(found):
        if block.line in inside:
            lead = _lead(found, position)
            yield from (_NumberedClaim(claim, position, prose=False) for claim in _of_leaves(inside[block.line], lead))
            continue
        prose = block.kind not in (BlockKind.CODE, BlockKind.TABLE, BlockKind.OTHER)
        for claim in _claims_of(block, found, position, item=item, around=around, depth=depth):
            yield _NumberedClaim(claim, position, prose, block.kind is BlockKind.PARAGRAPH)


def _without_lone_marks(found: list[Block]) -> list[Block]:
    """Give a paragraph that is nothing but citations to the paragraph before it."""
    kept: list[Block] = []
    for block in found:
        alone = block.kind is BlockKind.PARAGRAPH and _MARKS_BEHIND.sub("", block.text.strip()) == ""
        if alone and kept and kept[-1].kind is BlockKind.PARAGRAPH and not _cites(kept[-1].text):
            kept[-1] = replace(kept[-1], text=f"{kept[-1].text} {block.text.strip()}")
        else:
            kept.append(block)
    return kept


def _json_leaves(draft: str) -> dict[int, list[Leaf]]:
    """Return the leaves of a hybrid draft's block of JSON by the line on which the block begins."""
    try:
        block = json_block(draft)
        return {draft.count("\n", 0, block.start) - 1: leaves(block.text, block.start)}
    except ValueError:
        return {}


def _of_leaves(said: Sequence[Leaf], lead: tuple[int, ...]) -> Iterator[Claim]:
    counting = _find_counters(said)
    for leaf in said:
        yield from _leaf(leaf, lead, counts=leaf.path in counting)


def _find_counters(said: Sequence[Leaf]) -> set[tuple[str, ...]]:
    """Return the paths of numbers that count the entries of lists: one after the other, and from one or nought on."""
    numbers: dict[tuple[str, ...], list[str]] = {}
    for leaf in said:
        if leaf.path and leaf.path[-1].casefold() in _PLACES and not leaf.is_string:
            numbers.setdefault(leaf.path, []).append(leaf.text)
    return {
        path
        for path, found in numbers.items()
        if all(
            number in ("0", "1")
            or (place and found[place - 1].isdecimal() and number == str(int(found[place - 1]) + 1))
            for place, number in enumerate(found)
        )
    }


def _leaf(leaf: Leaf, lead: tuple[int, ...], *, counts: bool) -> Iterator[Claim]:
    """Return what a leaf claims: a string by what it says, a number always, where it counts no entries of a list.

    A key of several words is a sentence, or half of one, and the leaf says whether it holds. A sentence of a string
    that is not covered by the string's own citations is a claim of its own.
    """
    cites = leaf.cites or lead
    key = leaf.path[-1] if leaf.path else ""
    prose = [name for name in leaf.path if len(name.split()) > 1 and (values(name) or len(stems(name)) > 1)]
    if not leaf.is_string and leaf.text in ("true", "false", "null"):
        states = key in prose
    elif not leaf.is_string:
        states = not counts
    else:
        one_word = len(leaf.text.split()) == 1
        named = one_word and key.casefold() in _STATES and not values(leaf.text)
        states = bool(_cites(leaf.text)) or _asserts(leaf.text) or (one_word and bool(tokens(leaf.text)) and not named)
        states = states or (bool(tokens(leaf.text)) and key in prose and not leaf.text.rstrip().endswith("?"))
    if not states:
        return
    # A heading of a section is no more than that; what holds a value, or is answered in a word, is said.
    told = [name for name in prose if values(name) or (name == key and len(leaf.text.split()) <= 1)]
    yield Claim(": ".join((*told, leaf.text)), cites, leaf.start, leaf.end)
    if leaf.is_string and _cites(leaf.text):
        inner = _of_markdown(leaf.text, item=True, around=_cites(leaf.text))
        yield from (one.claim for one in inner if not one.claim.cites)


def _claims_of(
    block: Block, found: list[Block], position: int, *, item: bool, around: tuple[int, ...], depth: int
) -> Iterator[Claim]:
    match block.kind:
        case BlockKind.QUOTE:
            inner = _of_markdown(_QUOTE_MARK.sub("", block.text), item=item, around=around, depth=depth + 1)
            yield from (one.claim for one in inner)
        case BlockKind.PARAGRAPH:
            yield from _paragraph(block.text, found, position, item=item, around=around)
        case BlockKind.BULLETS | BlockKind.STEPS:
            shared = _colon_before(found, position)
            for part in block.parts:
                yield from _item(part, shared, depth + 1)
        case BlockKind.TABLE:
            yield from _rows(block, _lead(found, position) or around)
        case BlockKind.CODE:
            # Code cannot carry a mark inside; the line that leads into it, or follows it, does.
            yield Claim(block.text, _lead(found, position) or around)
        case BlockKind.OTHER:
            yield from _html(block.text)
        case BlockKind.HEADING if item:
            yield from _paragraph(heading_text(block.text), found, position, item=True, around=around)
        case BlockKind.HEADING:
            yield from _heading(block, found, position)


def _html(text: str) -> Iterator[Claim]:
    """Return the claims of a block of HTML: some programs show what is written in tags and comments, others the tags."""
    said = _COMMENT.sub(lambda comment: comment.group().strip("<>!-"), text)
    shown = _TAG.sub(lambda tag: "\ue000".join(("", *_SHOWN_BY_TAG.findall(tag.group()), "")), said)
    for piece in re.split(r"\s*\ue000\s*", shown):
        yield from _paragraph(piece, [], 0, item=True, around=())


def _paragraph(text: str, found: list[Block], position: int, *, item: bool, around: tuple[int, ...]) -> Iterator[Claim]:
    """Return the claims of a paragraph, sentence by sentence.

    In an item of a list, one citation at the end covers the whole paragraph; elsewhere every sentence has its own.
    """
    pieces = _LINE_WITH_MARKER.split(text) if item else [text]
    said = [one for piece in pieces for one in _cited_sentences(piece)]
    if item and len(said) > 1 and [bool(_cites(one)) for one in said] == [False] * (len(said) - 1) + [True]:
        said = [text.strip()]
    shown, behind = _find_led_into(found, position)
    for place, one in enumerate(said, 1):
        last = place == len(said)
        if not _cites(one) and _label_alone(one):
            continue
        leads = last and not _cites(one) and _leads(one, behind)
        if not (
            _asserts(one) or _OPENER.fullmatch(one) or (not leads and (item or not _BOLD.fullmatch(one)) and _says(one))
        ):
            continue
        if leads:
            rests = shown or (around if behind and behind.kind in (BlockKind.CODE, BlockKind.TABLE) else ())
            yield Claim(one, rests, borrowed=bool(rests) and not _rests(one, behind.text if behind else ""))
        elif _cites(one) or not (is_lead_in(one) and points_ahead(one) and not values(one)):
            yield Claim(one, _cites(one))


def _label_alone(sentence: str) -> bool:
    return _LABEL.fullmatch(sentence.strip()) is not None


def _says(sentence: str) -> bool:
    """Whether a sentence says anything at all, be it a word; what is polite or asks says nothing."""
    return bool(tokens(sentence)) and not sentence.rstrip(" *_").endswith("?") and not is_courtesy(sentence)


def _leads(sentence: str, behind: Block | None) -> bool:
    """Whether the last sentence of a paragraph leads into the block behind it."""
    if without_citations(sentence).rstrip(" *_").endswith(":"):
        return True
    listed = behind is not None and behind.kind not in (BlockKind.PARAGRAPH, BlockKind.HEADING, BlockKind.QUOTE)
    return listed and points_ahead(sentence)


def _rests(lead: str, behind: str) -> bool:
    """Whether a line may rest on what the text behind it cites: it states nothing, or they speak of the same."""
    said = without_citations(lead)
    return is_lead_in(said) or not set(stems(said)).isdisjoint(stems(behind))


def _item(part: str, shared: tuple[int, ...], depth: int) -> Iterator[Claim]:
    """Return the claims of an item of a list; the first one begins with the item's marker."""
    marker = _MARKER.match(part)
    inside = part[marker.end() :] if marker else part
    width = len(marker.group()) if marker else 0
    first, *rest = inside.split("\n")
    inside = "\n".join((first, *(re.sub(rf"^[ \t]{{0,{width}}}", "", line) for line in rest)))
    cites = _cites(inside)
    begins = True
    for found in _of_markdown(inside, item=True, around=cites, depth=depth):
        claim = found.claim
        if begins and marker and found.block == 0 and found.prose and inside.lstrip().startswith(claim.text[:1]):
            claim = replace(claim, text=f"{marker.group().strip()} {claim.text}")
        begins = False
        if not claim.cites and not cites and shared and len(tokens(claim.text)) <= 1 + bool(marker):
            claim = replace(claim, cites=shared)
        yield claim


def _colon_before(found: list[Block], position: int) -> tuple[int, ...]:
    """Return what a line with a colon right before a list cites: items of one word rest on it."""
    before = found[position - 1] if position else None
    if before is None or before.kind is not BlockKind.PARAGRAPH:
        return ()
    last = _cited_sentences(before.text)[-1:]
    return _cites(last[0]) if last and without_citations(last[0]).rstrip(" *_").endswith(":") else ()


def _heading(block: Block, found: list[Block], position: int) -> Iterator[Claim]:
    """Return what a heading claims: nothing, unless it holds a value or is a sentence.

    Where it cites nothing itself, it rests on what is cited under it. A paragraph that a line below has made a heading
    is judged as a paragraph.
    """
    underlined = not block.text.lstrip().startswith("#")
    text = block.text.rpartition("\n")[0].strip() if underlined else block.text.strip()
    words = strip_label(text).lstrip("# ")
    ends = without_citations(words).rstrip(' #*_)»”"').endswith((".", "!", "…"))
    long = underlined and ("\n" in text or len(tokens(text)) > _LONG_TITLE)
    if words.rstrip(" #*_").endswith("?") and not _asserts(words):
        return
    if not (_cites(words) or values(words) or has_link(words) or (ends and tokens(words)) or long):
        return
    under = _under(found, position)
    cites = _cites(text) or _cites(under)
    borrowed = not _cites(text) and bool(cites) and not values(words) and not _rests(words, under)
    yield Claim(text, cites, borrowed=borrowed)


def _under(found: list[Block], position: int) -> str:
    """Return what stands under a heading, up to the next one of its level or above."""
    level = found[position].level
    behind = range(position + 1, len(found))
    end = next((i for i in behind if found[i].kind is BlockKind.HEADING and found[i].level <= level), len(found))
    return "\n\n".join(one.text for one in found[position + 1 : end])


def _find_led_into(found: list[Block], position: int) -> tuple[tuple[int, ...], Block | None]:
    """Return what the block right behind one cites, and that block: a line that leads into it rests on the same."""
    behind = found[position + 1] if position + 1 < len(found) else None
    if behind is None or behind.kind is BlockKind.HEADING:
        return (), None
    cites = _cites(behind.text)
    if not cites and behind.kind in (BlockKind.CODE, BlockKind.TABLE):
        after = found[position + 2] if position + 2 < len(found) else None
        cites = _cites(after.text) if after and after.kind is not BlockKind.HEADING else ()
    return cites, behind


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


def _join_yes_or_no(found: Iterable[_NumberedClaim]) -> Iterator[Claim]:
    """Join a "Yes." or "No." with the claim behind it; before a table or code it rests on the same citation."""
    waiting: _NumberedClaim | None = None
    for one in found:
        if waiting is None and one.opens and _is_opener(one.claim):
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
    """Return the "Yes." or "No." at the beginning of a claim; empty if there is none."""
    match = _OPENER.match(claim)
    return match.group().strip() if match else ""


def _place_claims(found: Iterable[Claim], draft: str) -> Iterator[Claim]:
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
    runs = [match.span() for match in _INK.finditer(text)]
    places = [i for start, end in runs for i in range(start, end)]
    if ">" not in text:
        return "".join(text[start:end] for start, end in runs), places
    skipped = {i for match in _QUOTE_MARKS.finditer(text) for i in range(*match.span())}
    places = [i for i in places if i not in skipped]
    return "".join(text[i] for i in places), places


def _cited_sentences(text: str) -> list[str]:
    """Split a paragraph into sentences; a citation behind the full stop belongs to the sentence before it.

    A label ("Step 1.", "Note!") belongs to the sentence behind it.
    """
    joined: list[str] = []
    split = [part for piece in _BREAK.split(text) for one in sentences(piece) for part in _AFTER_MARK.split(one)]
    for part in split:
        marks = _MARKS_BEHIND.match(part)
        if marks and joined:
            joined[-1] = f"{joined[-1]} {marks.group().strip()}"
            part = part[marks.end() :].strip()
        if part and joined and _label_alone(joined[-1]) and not _cites(joined[-1]):
            joined[-1] = f"{joined[-1]} {part}"
        elif part:
            joined.append(part)
    return joined


def _cites(text: str) -> tuple[int, ...]:
    if "[" not in text:
        return ()
    prose = _COMMENT.sub("", " ".join(code_parts(text)[::2]))
    return tuple(dict.fromkeys(int(n) for n in _CITATION.findall(prose)))


def _asserts(text: str) -> bool:
    bare = without_citations(text).strip()
    if bare.endswith("?"):
        # A question that brings a fact along asserts it: "Will you pay 500 dollars?"
        named: Values = values(bare)
        told = _TOLD.search(bare)
        brought = named.numbers or named.identifiers or named.urls or has_link(bare)
        return bool(_cites(text) or brought or told or states_beside_asking(bare))
    if _cites(text) or values(strip_label(bare)):
        return True  # what cites or names something asserts it, however short
    # Two words say something, and so does one that is a whole sentence: "You must pay."
    ends = bare.rstrip(' *_)»”"').endswith((".", "!", "…"))
    return (bool(tokens(bare)) if ends else len(stems(bare)) >= 2) and not is_courtesy(bare)
