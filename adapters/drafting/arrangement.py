"""An answer that a model arranges: it names numbered sentences of the evidence in an order, and their words stay theirs.

It is for models that cannot cite. What such a model may write itself are the numbers and a few connecting words.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, cast

from adapters.drafting.extractive import in_plain, own_words
from adapters.drafting.formats import compose
from adapters.drafting.passages import LEFT_OUT, Unit, units
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
from adapters.drafting.quotation import GOES_ON, add_citation, is_cited, is_whole, quote_items, quote_unit
from adapters.drafting.replies import CALLED, MOST_CHARS, Unusable, read_mark
from adapters.models.chat import Reply
from contracts.enums import DraftKind, FaultKind, Language
from contracts.evidence import EvidenceItem
from contracts.ports import Draft, DraftRequest
from contracts.profile import Profile
from language.blocks import BlockKind
from language.forbidden import forbidden_in
from language.markup import ICON
from language.patterns import read_wording
from language.privacy.links import foreign_links
from language.privacy.personal_data import Contacts
from language.sentences import sentences
from language.words import tokens

_WORDING: Final = read_wording(__name__)

MOST_PIECES: Final = 12
"""Pieces that an answer may have; a model that names more has chosen nothing."""
_SENTENCES: Final = "sentences"
_CONNECTING: Final = {
    Language(name): frozenset(words.split("|")) for name, words in _WORDING.forms("connecting").items()
}
_LONGEST_WORD: Final = 30
"""Characters in front of a number in which a connecting word is looked for."""
_CHOSEN: Final = _WORDING.pattern("chosen")
_BARE: Final = _WORDING.pattern("bare")
_MARKER: Final = re.compile(r"[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]+")
_LISTS: Final = (BlockKind.STEPS, BlockKind.BULLETS)
_NOTE: Final = (
    f"Your last reply could not be read. Write numbers of sentences alone, such as S3, each on a line, or {ABSTAIN}."
)
_EMPTY: Final = Unusable(FaultKind.EMPTY, "it chose no sentence", _NOTE)
_ODD: Final = Unusable(FaultKind.NOT_AS_ASKED, "its reply is no choice among the sentences", _NOTE)
_CUT: Final = Unusable(FaultKind.CUT_SHORT, "its choice was longer than there is room for", _NOTE)
_UNUSABLE: Final = {FaultKind.EMPTY: _EMPTY, FaultKind.CUT_SHORT: _CUT, FaultKind.NOT_AS_ASKED: _ODD}


@dataclass(frozen=True, slots=True)
class Piece:
    """Something that a model may choose: a sentence, an item of a list, a table or a block of code.

    Attributes:
        unit: Where it stands: the number of its evidence, and its place there.
        text: As the model sees it.
        quote: As it stands in an answer, with its citation.
        items: The kind of list of which it is an item; `None` for everything else.
        leads: Whether it leads into the list behind it, and so comes before any item of it.
    """

    unit: tuple[int, int]
    text: str
    quote: str
    items: BlockKind | None = None
    leads: bool = False


class ArrangedForm:
    """The model chooses among the sentences of the evidence, and orders them.

    Args:
        contacts: Addresses and numbers that may be said.
        by_schema: Whether the server is to hold the reply to a schema: a weak model writes no list of numbers by itself.
    """

    def __init__(
        self, request: DraftRequest, profile: Profile, contacts: Contacts | None = None, *, by_schema: bool = False
    ) -> None:
        self.by_schema = by_schema
        self._request = request
        self._profile = profile
        self._contacts = contacts
        self._all = list_pieces(request, profile.allowed_link_domains, contacts)
        self._shown = self._all

    def system(self) -> str:
        return ARRANGE_SYSTEM.format(product=self._profile.product)

    def options(self) -> dict[str, Any]:
        return {"response_format": _schema(len(self._shown))} if self.by_schema else {}

    def loosen(self) -> bool:
        """Ask without the schema from now on; returns whether there was one."""
        was, self.by_schema = self.by_schema, False
        return was

    def show(self, evidence: tuple[EvidenceItem, ...]) -> str:
        """Return the sentences with their numbers, under their titles.

        Of a passage that was cut, the sentences that are whole in what is left; the numbers are of these alone.
        """
        cut = replace(self._request, evidence=evidence)
        left = (
            self._all
            if evidence == self._request.evidence
            else list_pieces(cut, self._profile.allowed_link_domains, self._contacts)
        )
        whole = {(piece.unit[0], piece.text) for piece in left}
        self._shown = [piece for piece in self._all if (piece.unit[0], piece.text) in whole]
        return "\n\n".join(
            _show_item(number, item, self._shown) for number, item in enumerate(self._request.evidence, 1)
        ).strip()

    def task(self, note: str) -> str:
        request = self._request
        parts = [self._wanted(one_line(request.question))]
        if request.actions and request.previous:
            parts.append(earlier_draft(request))
        return "\n\n".join((*parts, note) if note else parts)

    def _wanted(self, question: str) -> str:
        if self.by_schema:
            return ARRANGE_AS_JSON.format(question=question)
        connecting = ", ".join(word.capitalize() for word in sorted(_CONNECTING[self._request.language]))
        return ARRANGE_TASK.format(question=question, connecting=connecting, abstain=ABSTAIN, ask_back=ASK_BACK)

    def explain(self, kind: FaultKind) -> Unusable | None:
        return _UNUSABLE.get(kind)

    def read(self, reply: Reply) -> Draft | Unusable:
        text = reply.text.strip()
        if reply.cut_short:
            return _CUT
        if not text:
            return CALLED if reply.calls else _EMPTY
        if marked := read_mark(text):
            return marked
        listed = _read_json(text)
        if listed == []:
            return Draft(DraftKind.ABSTENTION, ABSTAIN)
        chosen = read_choice(text, self._request.language) if listed is None else [(number, "") for number in listed]
        if not 0 < len(chosen) <= MOST_PIECES or not all(0 < number <= len(self._shown) for number, _ in chosen):
            return _ODD
        texts = arrange([(self._shown[number - 1], word) for number, word in chosen], self._shown)
        answer = compose(texts, self._request.spec, self._request.language)
        return Draft(DraftKind.ANSWER, answer) if len(answer) <= MOST_CHARS else _CUT


def list_pieces(request: DraftRequest, domains: tuple[str, ...], contacts: Contacts | None) -> list[Piece]:
    """Return what may be chosen of the evidence, in its order; text with other links or forbidden words may not."""
    own = own_words(request.language)
    found: list[Piece] = []
    for number, item in enumerate(request.evidence, 1):
        for unit in units(item, number, domains, contacts):
            if foreign_links(unit.text, domains) or forbidden_in(request.spec.forbidden_content, unit.text):
                continue
            pieces = [piece for piece in _pieces_of(unit, item) if is_cited(piece.quote)]
            found += [_in_plain(piece, own) for piece in pieces if is_whole(piece.quote, unit, request)]
    return found


def _pieces_of(unit: Unit, item: EvidenceItem) -> Iterator[Piece]:
    place, mark = (unit.source, unit.order), f"[{unit.source}]"
    if unit.body is None:
        parts = [unit.lead] if item.lookup else [part for part in sentences(unit.lead) if tokens(part)]
        yield from (Piece(place, part, add_citation(part, mark)) for part in parts)
    elif unit.body.kind in _LISTS:
        if tokens(unit.lead):
            quote = " ".join(add_citation(part, mark) for part in sentences(unit.lead) if tokens(part))
            yield Piece(place, unit.lead, quote, leads=True)
        for part, quote in zip(unit.body.parts, quote_items(unit.body, mark), strict=True):
            yield Piece(place, _MARKER.sub("", part, count=1), quote, items=unit.body.kind)
    else:
        yield Piece(place, unit.text, quote_unit(unit, "", introduced=False, titled=False))


def _in_plain(piece: Piece, own: dict[str, str]) -> Piece:
    """Return a piece with words in the place of the signs that stand for links and pictures which were left out."""
    text = piece.text.replace(LEFT_OUT, "").replace(ICON, own["icon"])
    return replace(piece, text=text, quote=in_plain(piece.quote, own))


def _show_item(number: int, item: EvidenceItem, pieces: Sequence[Piece]) -> str:
    lines = [f"S{place} {piece.text.strip()}" for place, piece in enumerate(pieces, 1) if piece.unit[0] == number]
    titles = dict.fromkeys(one_line(text) for text in (item.title, item.heading) if text.strip())
    return fence("\n".join((f"# {' — '.join(titles)}", *lines))) if lines else ""


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
    """Return the numbers of a reply in JSON, each once; `None` if it is none."""
    try:
        said: Any = json.loads(text)
    except (ValueError, RecursionError):
        return None
    listed: Any = cast("dict[str, Any]", said).get(_SENTENCES) if isinstance(said, dict) else None
    if not isinstance(listed, list):
        return None
    return list(dict.fromkeys(number for number in cast("list[Any]", listed) if type(number) is int))


def read_choice(text: str, language: Language) -> list[tuple[int, str]]:
    """Return the numbers that a reply names, each once, with the connecting word before it; any other word is dropped."""
    chosen: dict[int, str] = {}
    for line in text.splitlines():
        for match in _CHOSEN.finditer(line):
            before = line[max(0, match.start() - _LONGEST_WORD) : match.start()]
            chosen.setdefault(int(match[1]), _connecting_word(before, language))
    if not chosen:
        lines = [line for line in text.splitlines() if line.strip()]
        if all(map(_BARE.fullmatch, lines)):
            chosen = dict.fromkeys((int(number) for number in re.findall(r"\d+", text)), "")
    return list(chosen.items())


def _connecting_word(said: str, language: Language) -> str:
    words = " ".join(("", *re.findall(r"[^\W\d_]+", said.casefold())))
    return next((word for word in _CONNECTING[language] if words.endswith(f" {word}")), "")


def arrange(chosen: Sequence[tuple[Piece, str]], pieces: Sequence[Piece]) -> list[str]:
    """Return the texts of an answer: sentences as paragraphs, neighbouring items of one list as a list.

    Nothing begins in mid-air: before a list comes what leads into it, and before a sentence that goes on from another
    ("That means", "It") that other one, chosen or not.
    """
    ordered: list[tuple[Piece, str]] = []
    told: set[Piece] = set()
    for piece, word in chosen:
        missing = [one for one in _leading_to(piece, pieces) if one not in told]
        ordered += [(one, "") for one in missing]
        if piece not in told:
            ordered.append((piece, "" if missing else word))
        told.update(missing, (piece,))
    texts: list[str] = []
    last: Piece | None = None
    number = 0
    for piece, word in ordered:
        follows = last is not None and last.items is piece.items and last.unit == piece.unit
        number = number + 1 if follows else 1
        quote = _renumber(piece.quote, number) if piece.items is BlockKind.STEPS else piece.quote
        if piece.items and follows:
            texts[-1] += f"\n{quote}"
        else:
            texts.append(f"{word.capitalize()}: {quote}" if word and not piece.items else quote)
        last = piece
    return texts


def _leading_to(piece: Piece, pieces: Sequence[Piece]) -> list[Piece]:
    """Return what must stand before a piece, in order."""
    same = [one for one in pieces if one.unit == piece.unit]
    if piece.items:
        return [one for one in same if one.leads]
    place = start = same.index(piece)
    while start and GOES_ON.match(same[start].text):
        start -= 1
    return same[start:place]


def _renumber(item: str, number: int) -> str:
    """Return a step with another number, what stands inside it moved along."""
    marker = _MARKER.match(item)
    if not marker:
        return item
    width, new = len(marker.group()), f"{number}. "
    first, *rest = item[width:].split("\n")
    moved = (
        re.sub(rf"^[ \t]{{0,{width}}}(?=\S)", " " * len(new), line) if line[:1].isspace() else line for line in rest
    )
    return "\n".join((f"{new}{first}", *moved))
