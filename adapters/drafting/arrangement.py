"""An answer that a model arranges: it names numbered sentences of the evidence in an order, and their words stay theirs.

It is for models that cannot cite. What such a model writes itself are the numbers, a few connecting words, and a question
to the user. How its choice is written down is the extractive drafter's: lists have what leads into them, sections their
titles, and every sentence its citation.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, cast

from adapters.drafting.extractive import Chosen, ExtractiveDrafter, in_plain, own_words
from adapters.drafting.passages import LEFT_OUT, Unit
from adapters.drafting.prompt import (
    ABSTAIN,
    ARRANGE_AS_JSON,
    ARRANGE_SYSTEM,
    ARRANGE_TASK,
    ASK_BACK,
    earlier_draft,
    fence,
    one_line,
)
from adapters.drafting.quotation import GOES_ON, WHOLE_TABLE, section_of
from adapters.drafting.replies import CALLED, MOST_CHARS, Unusable, names_any, read_mark, strip_fence
from adapters.drafting.selection import ScoredUnit, lookup_of
from adapters.models.chat import Reply
from contracts.enums import DraftKind, FaultKind, Language
from contracts.evidence import EvidenceItem
from contracts.ports import Draft, DraftRequest
from contracts.profile import Profile
from language.blocks import BlockKind
from language.patterns import read_wording
from language.sentences import sentences
from language.words import tokens

_WORDING: Final = read_wording(__name__)

MOST_PIECES: Final = 12
"""Pieces that an answer may have; a model that names more has chosen nothing."""
_ECHO: Final = 3
"""Words behind a number from which on they are taken for its piece; fewer say nothing of it."""
_SENTENCES: Final = "sentences"
_CONNECTING: Final = {
    Language(name): frozenset(words.split("|")) for name, words in _WORDING.forms("connecting").items()
}
_MARKS: Final = _WORDING.pattern("marks")
_NUMBER: Final = _WORDING.pattern("number")
_BETWEEN: Final = _WORDING.pattern("between")
_RANGE: Final = _WORDING.pattern("range")
_BARE: Final = _WORDING.pattern("bare")
_MARKER: Final = re.compile(r"[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]+")
_AS_TEXT: Final = (
    f"Your last reply could not be read. Write numbers of sentences alone, such as S3, each on a line, at most "
    f"{MOST_PIECES}; or {ABSTAIN}."
)
_AS_JSON: Final = (
    f'Your last reply could not be read. Write JSON alone, such as {{"{_SENTENCES}": [2, 5]}}, with at most {MOST_PIECES} '
    "numbers of sentences that there are."
)
_FAULTS: Final = {
    FaultKind.EMPTY: "it chose no sentence",
    FaultKind.NOT_AS_ASKED: "its reply is no choice among the sentences",
    FaultKind.CUT_SHORT: "its choice was longer than there is room for",
}


@dataclass(frozen=True, slots=True)
class Piece:
    """Something that a model may choose.

    Attributes:
        unit: The number of its unit among those that may be quoted.
        parts: The places of its sentences, items or rows in the unit; empty for a unit that is chosen whole.
        text: As the model sees it.
    """

    unit: int
    parts: tuple[int, ...]
    text: str


class ArrangedForm:
    """The model chooses among the sentences of the evidence, and orders them.

    Args:
        request: What is drafted.
        profile: What the desk is for.
        quotations: Writes what was chosen.
        by_schema: Whether the server is to hold the reply to a schema: a weak model writes no list of numbers by itself.
    """

    def __init__(
        self, request: DraftRequest, profile: Profile, quotations: ExtractiveDrafter, *, by_schema: bool = False
    ) -> None:
        self.by_schema = by_schema
        self._request = request
        self._profile = profile
        self._quotations = quotations
        self._units = quotations.list_quotable(request)
        self._pieces = list(_list_pieces(self._units, request))
        self._shown = self._pieces

    def system(self) -> str:
        return ARRANGE_SYSTEM.format(product=self._profile.product)

    def options(self) -> dict[str, Any]:
        """Return the schema, with the highest number that was shown last."""
        return {"response_format": _schema(len(self._shown))} if self.by_schema else {}

    def loosen(self) -> bool:
        """Ask without the schema from now on; returns whether there was one."""
        was, self.by_schema = self.by_schema, False
        return was

    def show(self, evidence: tuple[EvidenceItem, ...]) -> str:
        """Return the sentences with their numbers, under their titles.

        Of a passage that was cut, the sentences that are whole in what is left; the numbers are of these alone.
        """
        self._shown = self._pieces
        if evidence != self._request.evidence:
            left = replace(self._request, evidence=evidence)
            units = self._quotations.list_quotable(left)
            # Of equal sentences, as many as are left: the first ones, for a passage is cut from its end.
            whole = Counter((units[piece.unit].source, piece.text) for piece in _list_pieces(units, left))
            self._shown = []
            for piece in self._pieces:
                key = (self._source_of(piece), piece.text)
                if whole[key]:
                    whole[key] -= 1
                    self._shown.append(piece)
        blocks = (self._show_item(number, item) for number, item in enumerate(self._request.evidence, 1))
        return "\n\n".join(filter(None, blocks))

    def _source_of(self, piece: Piece) -> int:
        return self._units[piece.unit].source

    def _show_item(self, number: int, item: EvidenceItem) -> str:
        own = own_words(self._request.language)
        lines: list[str] = []
        unit = heading = None
        for place, piece in enumerate(self._shown, 1):
            if self._source_of(piece) != number:
                continue
            here = self._units[piece.unit]
            if here.heading != heading:
                heading = here.heading
                lines.append(f"# {one_line(section_of(here) if lines else heading)}")
            if piece.parts and here.body and piece.unit != unit:
                head = here.body.parts[0] if here.body.kind is BlockKind.TABLE else ""
                leads = (here.lead if tokens(here.lead) else "", head)
                lines += [in_plain(text.replace(LEFT_OUT, ""), own) for text in leads if text]
            unit = piece.unit
            lines.append(f"S{place} {in_plain(piece.text.replace(LEFT_OUT, ''), own).strip()}")
        return fence("\n".join(lines)) if lines else ""

    def task(self, note: str) -> str:
        request = self._request
        question = one_line(request.question) if len(request.question) <= 200 else "the request above"
        parts = [self._wanted(question)]
        if request.actions and request.previous:
            parts.append(earlier_draft(request))
        return "\n\n".join((*parts, note) if note else parts)

    def _wanted(self, question: str) -> str:
        if self.by_schema:
            return ARRANGE_AS_JSON.format(question=question, most=MOST_PIECES)
        connecting = ", ".join(word.capitalize() for word in sorted(_CONNECTING[self._request.language]))
        return ARRANGE_TASK.format(
            question=question, connecting=connecting, most=MOST_PIECES, abstain=ABSTAIN, ask_back=ASK_BACK
        )

    def explain(self, kind: FaultKind) -> Unusable | None:
        return self._unusable(kind) if kind in _FAULTS else None

    def read(self, reply: Reply) -> Draft | Unusable:
        text = strip_fence(reply.text.strip())
        if reply.cut_short:
            return self._unusable(FaultKind.CUT_SHORT)
        if not text:
            return CALLED if reply.calls else self._unusable(FaultKind.EMPTY)
        if marked := read_mark(text):
            return marked
        listed = _read_json(text)
        if listed == [] or (listed is None and ABSTAIN in text.upper()):
            return Draft(DraftKind.ABSTENTION, ABSTAIN)
        said = [piece.text for piece in self._shown]
        chosen = (
            read_choice(text, self._request.language, said) if listed is None else [(number, "") for number in listed]
        )
        if not 0 < len(chosen) <= MOST_PIECES or not all(0 < number <= len(self._shown) for number, _ in chosen):
            return self._unusable(FaultKind.NOT_AS_ASKED)
        return self._write([(self._shown[number - 1], word) for number, word in chosen])

    def _unusable(self, kind: FaultKind) -> Unusable:
        return Unusable(kind, _FAULTS[kind], _AS_JSON if self.by_schema else _AS_TEXT)

    def _write(self, chosen: Sequence[tuple[Piece, str]]) -> Draft | Unusable:
        """Write the chosen units in the order in which the model names them first, each with what was chosen of it."""
        words = {piece.unit: word for piece, word in reversed(chosen)}
        parts: dict[int, set[int]] = {}
        for piece, _ in chosen:
            parts.setdefault(piece.unit, set()).update(piece.parts)
        units = [(words[number], _reduce(self._units[number], places)) for number, places in parts.items()]
        units = _gather_rows(units, self._request)
        while units:
            picked = [ScoredUnit(unit, 0.0, 0) for _, unit in units]
            text, unfit = self._quotations.write(picked, self._request, self._describe(units))
            if not unfit:
                return Draft(DraftKind.ANSWER, text) if len(text) <= MOST_CHARS else self._unusable(FaultKind.CUT_SHORT)
            units = [one for one in units if one[1] not in unfit]
        return Draft(DraftKind.ABSTENTION, ABSTAIN)

    def _describe(self, units: Sequence[tuple[str, Unit]]) -> list[Chosen]:
        """Return how each unit stands: under its section's title, unless the unit before it is of the same section.

        The text at the top of a page has none as long as no title stands above it: otherwise it would seem to be of the
        section, or the page, whose title stands there last.
        """
        found: list[Chosen] = []
        last: tuple[int, str] | None = None
        for word, unit in units:
            here = (unit.source, unit.heading)
            at_top = section_of(unit) == self._request.evidence[unit.source - 1].title
            titled = here != last and (not at_top or any(one.titled for one in found))
            last = here
            joins = bool(found) and not titled and unit.body is None
            found.append(Chosen(titled, word.capitalize() if joins else ""))
        return found


def _gather_rows(units: Sequence[tuple[str, Unit]], request: DraftRequest) -> list[tuple[str, Unit]]:
    """Return units with the rows of each lookup behind its first one: they are one list."""
    place: dict[str, int] = {}
    keys: list[tuple[int, int]] = []
    for number, (_, unit) in enumerate(units):
        lookup = lookup_of(unit, request)
        keys.append((place.setdefault(lookup, number) if lookup else number, number))
    return [units[number] for _, number in sorted(keys)]


def _list_pieces(units: Sequence[Unit], request: DraftRequest) -> Iterator[Piece]:
    """Yield what may be chosen: sentences, items of lists without an order, rows of long tables, and all else whole."""
    for number, unit in enumerate(units):
        if unit.body is None and not request.evidence[unit.source - 1].lookup:
            said = _sentences_of(unit)
            # A paragraph that goes on from one before it has no beginning of its own.
            first = next((place for place, text in enumerate(said) if not GOES_ON.match(text)), len(said))
            yield from (Piece(number, (place,), said[place]) for place in range(first, len(said)))
        elif unit.body and unit.body.kind is BlockKind.BULLETS:
            yield from (
                Piece(number, (place,), _MARKER.sub("", item, count=1)) for place, item in enumerate(unit.body.parts)
            )
        elif unit.body and unit.body.kind is BlockKind.TABLE and len(unit.body.parts) - 1 > WHOLE_TABLE:
            yield from (Piece(number, (place,), unit.body.parts[place]) for place in range(1, len(unit.body.parts)))
        else:
            yield Piece(number, (), unit.text)


def _sentences_of(unit: Unit) -> list[str]:
    return [text for text in sentences(unit.lead) if tokens(text)]


def _reduce(unit: Unit, places: set[int]) -> Unit:
    """Return a unit with what was chosen of it alone, in its own order.

    A sentence that goes on from another ("That means", "It") comes right behind that other one, chosen or not.
    """
    if not places:
        return unit
    if unit.body is None:
        said = _sentences_of(unit)
        kept = set(places)
        for place in sorted(places):
            while GOES_ON.match(said[place]):
                place -= 1  # up to where it begins
                kept.add(place)
        return replace(unit, lead=" ".join(said[place] for place in sorted(kept)))
    parts = tuple(unit.body.parts[place] for place in sorted(places))
    if unit.body.kind is BlockKind.TABLE:
        head, line = unit.body.text.split("\n")[:2]
        return replace(unit, body=replace(unit.body, text="\n".join((head, line, *parts)), parts=(head, *parts)))
    return replace(unit, body=replace(unit.body, text="\n".join(parts), parts=parts))


def names_schema(message: str) -> bool:
    """Whether a server's refusal is of the schema, and of nothing else that the request has."""
    return names_any(message, ("response_format", "schema", "grammar"))


def _schema(count: int) -> dict[str, Any]:
    number = {"type": "integer", "minimum": 1, "maximum": max(1, count)}
    schema = {
        "type": "object",
        "properties": {_SENTENCES: {"type": "array", "items": number, "maxItems": MOST_PIECES}},
        "required": [_SENTENCES],
        "additionalProperties": False,
    }
    return {"type": "json_schema", "json_schema": {"name": _SENTENCES, "schema": schema}}


def _read_json(text: str) -> list[int] | None:
    """Return the numbers of a reply in JSON, each once; 0 for what is none; `None` if the reply is no such JSON."""
    try:
        said: Any = json.loads(text)
    except (ValueError, RecursionError):
        return None
    listed: Any = cast("dict[str, Any]", said).get(_SENTENCES) if isinstance(said, dict) else None
    if not isinstance(listed, list):
        return None
    return list(dict.fromkeys(map(_whole_number, cast("list[Any]", listed))))


def _whole_number(said: object) -> int:
    if isinstance(said, str) and (match := re.fullmatch(r"\s*[SСsс]?(\d{1,3})\s*", said)):
        return int(match[1])
    return int(said) if isinstance(said, int | float) and not isinstance(said, bool) and said == said // 1 else 0


def read_choice(text: str, language: Language, pieces: Sequence[str] = ()) -> list[tuple[int, str]]:
    """Return the numbers that a reply names, each once, with the connecting word before it; none if it says more.

    A line has numbers and connecting words, and behind a single number it may repeat the piece. What a sentence says
    about a number is no choice of it: "S1 and S2 do not answer this".
    """
    chosen: dict[int, str] = {}
    lines = [line for line in text.splitlines() if line.strip()]
    for line in lines:
        found, rest = _read_line(line, language)
        if rest and not (len(found) == 1 and _repeats(rest, found[0][0], pieces)):
            return _read_bare(lines)
        for number, word in found:
            chosen.setdefault(number, word)
    return list(chosen.items())


def _read_bare(lines: Sequence[str]) -> list[tuple[int, str]]:
    """Return the numbers of a reply that has nothing else: the letter was left out."""
    if not all(map(_BARE.fullmatch, lines)):
        return []
    return [(number, "") for number in dict.fromkeys(int(said) for line in lines for said in re.findall(r"\d+", line))]


def _repeats(rest: str, number: int, pieces: Sequence[str]) -> bool:
    """Whether what stands behind a number is the beginning of its piece."""
    said, known = tokens(rest), tokens(pieces[number - 1]) if 0 < number <= len(pieces) else []
    return len(said) >= min(_ECHO, len(known)) and bool(said) and said == known[: len(said)]


def _read_line(line: str, language: Language) -> tuple[list[tuple[int, str]], str]:
    """Return the numbers of a line with their words, and what of it is neither."""
    found: list[tuple[int, str]] = []
    place = _end_of(_MARKS, line, 0)
    while True:
        word = next((word for word in _CONNECTING[language] if line[place : place + len(word)].lower() == word), "")
        behind = place + len(word)
        if word:
            behind += len(line[behind:]) - len(line[behind:].lstrip(" :,([*_`–—-"))
        if match := _RANGE.match(line, behind):
            first, last = int(match[1]), int(match[2])
            # One more than there may be, so that a long range is no choice; a range that goes down is none, either.
            numbers = list(range(first, min(last, first + MOST_PIECES) + 1)) if first <= last else [0]
        elif match := _NUMBER.match(line, behind):
            numbers = [int(match[1])]
        else:
            return found, line[place:].strip(" .:;,)]*_`–—-")
        found += [(number, word if number == numbers[0] else "") for number in numbers]
        place = _end_of(_BETWEEN, line, match.end())


def _end_of(pattern: re.Pattern[str], line: str, place: int) -> int:
    match = pattern.match(line, place)
    return match.end() if match else place
