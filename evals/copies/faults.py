"""Sentences of a passage unchanged, in other words, and with one change that makes them wrong.

The words to exchange are in `words.toml`. Its author had not seen the rules that it measures.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Final

from pydantic import BaseModel, ConfigDict

from contracts.enums import Language
from contracts.evidence import EvidenceItem
from evals.copies.cut import sentences
from evals.copies.pieces import CopyPiece, PieceKind
from evals.copies.rewriting import rewrite


class CopyMethod(StrEnum):
    """How a draft was made from a passage; the first four methods give good drafts."""

    VERBATIM = "word by word"
    REWRITTEN = "in other words"
    ROW = "a row of a table"
    TRANSLATED = "translated"
    NUMBER = "another number"
    NAME = "another name"
    NEGATION = "negation"
    ANTONYM = "antonym"
    QUANTIFIER = "quantifier"
    SWAPPED = "two numbers swapped"
    CONDITION = "condition dropped"
    STEPS = "steps reordered"
    OTHER_ROW = "cell of another row"
    TRANSLATION = "value of a translation"
    INVENTION = "invention with a citation"


GOOD: Final = (CopyMethod.VERBATIM, CopyMethod.REWRITTEN, CopyMethod.ROW, CopyMethod.TRANSLATED)
Copy = tuple[CopyMethod, str]
"""How a draft was made, and its text; its evidence is the passage, as `[1]`."""


class _Pairs(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    en: tuple[tuple[str, str], ...]
    ru: tuple[tuple[str, str], ...]

    def of(self, language: Language) -> tuple[tuple[str, str], ...]:
        """Return the pairs of one language."""
        return self.ru if language is Language.RU else self.en


class _FaultTexts(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    en: tuple[str, ...]
    ru: tuple[str, ...]

    def of(self, language: Language) -> tuple[str, ...]:
        """Return the texts of one language."""
        return self.ru if language is Language.RU else self.en


class ExchangedWords(BaseModel):
    """The words to exchange: antonyms in both directions, quantifiers and negations only the first for the second."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    antonyms: _Pairs
    quantifiers: _Pairs
    negation: _Pairs
    conditions: _FaultTexts
    inventions: _FaultTexts


@cache
def words() -> ExchangedWords:
    """Return the bundled words."""
    return ExchangedWords.model_validate(tomllib.loads(Path(__file__).with_name("words.toml").read_text("utf-8")))


@dataclass(frozen=True, slots=True)
class Teller:
    """A maker of drafts from passages of one language.

    Attributes:
        names: Names of products and things, from all pages of the corpus.
        dice: Chooses between several possible drafts.
    """

    language: Language
    names: Sequence[str]
    dice: Random

    def tell(self, piece: CopyPiece, item: EvidenceItem) -> Iterator[Copy]:
        """Yield good and faulty drafts of one piece of a passage."""
        match piece.kind:
            case PieceKind.PROSE:
                for sentence in piece.parts:
                    yield from self._sentence(sentence, item)
            case PieceKind.STEPS if len(piece.parts) > 2 and not any("\n" in part for part in piece.parts):
                yield CopyMethod.VERBATIM, _steps(piece.parts)
                first, second = sorted(self.dice.sample(range(len(piece.parts)), 2))
                other = [*piece.parts]
                other[first], other[second] = other[second], other[first]
                if other != [*piece.parts]:
                    yield CopyMethod.STEPS, _steps(other)
            case PieceKind.TABLE:
                yield from self._row([row.split("\t") for row in piece.parts])
            case _:
                return

    def _sentence(self, sentence: str, item: EvidenceItem) -> Iterator[Copy]:
        yield CopyMethod.VERBATIM, cite(sentence)
        changed, _ = rewrite(sentence, self.language, self.dice, share=0.8)
        if changed != sentence:
            yield CopyMethod.REWRITTEN, cite(changed)
        ways = (
            (CopyMethod.NUMBER, self._with_another_number(sentence, item)),
            (CopyMethod.NAME, self._with_another_name(sentence, item)),
            *(
                (made, self._exchange(sentence, exchanges(made, self.language)))
                for made in (CopyMethod.NEGATION, CopyMethod.ANTONYM, CopyMethod.QUANTIFIER)
            ),
            (CopyMethod.SWAPPED, _swap_numbers(sentence)),
            (CopyMethod.CONDITION, _without_condition(sentence, self.language)),
        )
        for made, said in ways:
            if said and said != sentence:
                yield made, cite(said)
        invention = self.dice.choice(words().inventions.of(self.language))
        yield CopyMethod.INVENTION, f"{cite(sentence)} {cite(invention)}"

    def _row(self, rows: list[list[str]]) -> Iterator[Copy]:
        head, *rest = rows
        rest = [row for row in rest if len(row) == len(head) > 1 and all(0 < len(cell) < 80 for cell in row)]
        if len(rest) < 2 or not all(head):
            return
        row, other = self.dice.sample(rest, 2)
        column = self.dice.randrange(1, len(head))
        yield CopyMethod.ROW, cite(f"{row[0]}: {head[column]} — {row[column]}")
        if row[column] != other[column] and row[0] != other[0]:
            yield CopyMethod.OTHER_ROW, cite(f"{row[0]}: {head[column]} — {other[column]}")

    def tell_translated(self, paragraph: str, item: EvidenceItem) -> Iterator[Copy]:
        """Yield a paragraph that translates a passage into this language, once right and once with a wrong value."""
        told = sentences(paragraph)
        yield CopyMethod.TRANSLATED, " ".join(map(cite, told))
        for place, sentence in enumerate(told):
            wrong = self._with_another_number(sentence, item) or self._with_another_name(sentence, item)
            if wrong:
                yield CopyMethod.TRANSLATION, " ".join(map(cite, (*told[:place], wrong, *told[place + 1 :])))
                return

    def _with_another_number(self, sentence: str, item: EvidenceItem) -> str:
        found = [match for match in _NUMBER.finditer(_plain(sentence)) if int(match.group()) > 1]
        if not found:
            return ""
        match = self.dice.choice(found)
        value = int(match.group())
        near = [new for new in (value * 2, value * 3, value * 10, value // 2, value + 1, value + 5) if new > 1]
        free = [new for new in near if not re.search(rf"(?<!\d){new}(?!\d)", item.snippet)]
        return _replace_span(sentence, match.span(), str(self.dice.choice(free))) if free else ""

    def _with_another_name(self, sentence: str, item: EvidenceItem) -> str:
        found = [match for match in _NAME.finditer(_plain(sentence)) if match.start() > 0]
        free = [name for name in self.names if name.lower() not in item.snippet.lower()]
        if not found or not free:
            return ""
        match = self.dice.choice(found)
        return _replace_span(sentence, match.span(), self.dice.choice(free))

    def _exchange(self, sentence: str, exchanges: Exchanges) -> str:
        ways = [*exchanges.pattern.finditer(_SAID_SO.sub(_hidden, _plain(sentence)))]
        if not ways:
            return ""
        match = self.dice.choice(ways)
        put = self.dice.choice(exchanges.by[match.group().lower()])
        said = _replace_span(sentence, match.span(), put[:1].upper() + put[1:] if match.group()[:1].isupper() else put)
        return " ".join(said.split())


@dataclass(frozen=True, slots=True)
class Exchanges:
    """The words to find, the longest first, and their possible replacements."""

    pattern: re.Pattern[str]
    by: dict[str, list[str]]


@cache
def exchanges(made: CopyMethod, language: Language) -> Exchanges:
    """Return the words to exchange to make a fault."""
    known = words()
    pairs = {
        CopyMethod.ANTONYM: known.antonyms,
        CopyMethod.QUANTIFIER: known.quantifiers,
        CopyMethod.NEGATION: known.negation,
    }[made]
    by: dict[str, list[str]] = {}
    for found, put in pairs.of(language):
        by.setdefault(found.lower(), []).append(put)
        if made is CopyMethod.ANTONYM:
            by.setdefault(put.lower(), []).append(found)
    found = "|".join(re.escape(one) for one in sorted(by, key=len, reverse=True))
    return Exchanges(re.compile(rf"(?<![\w-])(?:{found})(?![\w-])", re.IGNORECASE), by)


def names_in(text: str) -> set[str]:
    """Return words of a text that look like names of products and things: capitals inside a sentence."""
    return {match.group() for match in _NAME.finditer(_plain(text)) if match.start() > 0}


def cite(sentence: str) -> str:
    """Return a sentence with the citation of the first passage before its end."""
    bare = sentence.rstrip()
    end = bare[-1] if bare[-1:] in {".", "!", "?", ":"} else "."
    return f"{bare.rstrip('.!?:')} [1]{end}"


def _steps(parts: Sequence[str]) -> str:
    return "\n".join(f"{number}. {cite(part)}" for number, part in enumerate(parts, 1))


_NUMBER: Final = re.compile(r"(?<![\w.,/:#+-])\d{1,6}(?![\w/:-]|[.,]\d)")
_NAME: Final = re.compile(r"(?<=[a-zа-яё,] )[A-Z][A-Za-z]{3,20}(?![\w/.-]\w)(?!\w)")
_QUOTED: Final = re.compile(r"`[^`\n]*`|\"[^\"\n]*\"|«[^»\n]*»|“[^”\n]*”|https?://\S+")
_SAID_SO: Final = re.compile(
    r"(?<![\w-])(?:at all|first of all|each other|(?:without|if) any|above all|до тех пор|до того|(?:до|после) \d|больше не|не только|при всех?)(?![\w-])",
    re.IGNORECASE,
)
"""What is said with such a word and means something else."""
_JOINED: Final = re.compile(r"[\s,/–—-]*(?:and|or|to|и|или|до)?[\s,/–—-]*")
"""What stands between two numbers that are a list or a range: which comes first says little there."""


def _plain(sentence: str) -> str:
    """Return a sentence with code, quotations and addresses made unreadable, every character in its place."""
    return _QUOTED.sub(_hidden, sentence)


def _hidden(found: re.Match[str]) -> str:
    return "#" * len(found.group())


def _replace_span(text: str, span: tuple[int, int], new: str) -> str:
    return f"{text[: span[0]]}{new}{text[span[1] :]}"


def _swap_numbers(sentence: str) -> str:
    found = [*_NUMBER.finditer(_plain(sentence))]
    for one, other in pairwise(found):
        if one.group() != other.group() and not _JOINED.fullmatch(sentence, one.end(), other.start()):
            return _replace_span(_replace_span(sentence, other.span(), one.group()), one.span(), other.group())
    return ""


def _without_condition(sentence: str, language: Language) -> str:
    begins = "|".join(map(re.escape, sorted(words().conditions.of(language), key=len, reverse=True)))
    if first := re.fullmatch(rf"(?:{begins}) ([^,;:—]{{8,}}), (?:то |then )?([^;:]{{20,}})", sentence, re.IGNORECASE):
        return first[2][:1].upper() + first[2][1:]
    last = re.fullmatch(rf"([^;:]{{20,}}?),? (?:{begins}) [^,;:—]{{8,}}\.", sentence)
    return f"{last[1]}." if last else ""
