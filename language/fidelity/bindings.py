"""Commands, names and numbers of which a claim says what its source says of another.

A value in a passage proves that the value exists, not that it does, is or measures what a claim says. The source's
statement on a value is the clause, step or row with it, and the heading above. A claim has the wrong value if its words
belong to another value of the same kind and not to this one. Words without a value prove nothing, because they may be
synonyms.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice, pairwise, takewhile, zip_longest
from typing import Final

from language.clean import fold
from language.figures.nearest import pieces_in_order
from language.figures.numbers import word_number
from language.figures.passage import ReadPassage
from language.lexicon import light_stems
from language.patterns import read_wording
from language.words import stem, stop_words

_WORDING: Final = read_wording(__name__)

_PLACEHOLDER: Final = _WORDING.pattern("placeholder")
_MARKED: Final = re.compile(r"<[^<>=\d]*>|\{[^{}=\d]*\}|\.\.\.|…")
"""What a draft may write for it, too: in capitals it would be any word."""
_ARGUMENT: Final = re.compile(r"[^\s\"'`«»“”?!,;()]+")
_SPAN: Final = re.compile(r"`([^`\n]+)`")
_HEADING: Final = re.compile(r"#{1,6} ")
_CLAUSE: Final = _WORDING.pattern("clause")
_AND: Final = _WORDING.pattern("and")
_NAME: Final = re.compile(
    r"\*\*([^*\n]{2,60})\*\*|\[([^\]\n]{2,60})\]\(|(?<![\w`/.-])([A-ZА-ЯЁ][\w-]*(?:[ \u00a0][A-ZА-ЯЁ][\w-]*)*)"
)
_NUMBER: Final = re.compile(r"(?<![\w.,:/-])\d++(?:[ \u00a0]\d{3}(?!\d))*+(?:[.,:]\d++)*+(?![\w-])")
_LINK: Final = re.compile(r"\]\([^()\s]*\)")
_ASSIGNED: Final = re.compile(r"`[^`=\n]*+=[^`\n]*+`")
WORD: Final = re.compile(r"[^\W_]+")
_SAID: Final = 0.7
"""Share of a clause's words that speak of another value, from which on they are that one's."""
_APART: Final = 0.3
"""By how much this share must exceed that of the value which the clause has."""
_HEAD_WEIGHT: Final = 0.5
"""What a word is worth that only the heading above has: it may head several values."""
LEAST_WORDS: Final = 2
MOST_USES: Final = 600
"""Of one passage."""


def takes_argument(command: str, cited: Iterable[ReadPassage], asked: str = "") -> bool:
    """Whether a command is one of the passages' commands with the user's argument, or with a placeholder for it.

    Args:
        command: Folded, as `language.figures.comparison` has it: `guardian threads delete my-chat`.
        cited: The passages.
        asked: The question; its words may be arguments.
    """
    return own_arguments(command, cited, asked) is not None


def own_arguments(command: str, cited: Iterable[ReadPassage], asked: str = "") -> frozenset[str] | None:
    """Return the words in which a command differs from one of the passages; `None` if it matches none of theirs."""
    words = command.split()
    if len(words) < LEAST_WORDS:
        return None
    known = frozenset(word for word in _ARGUMENT.findall(fold(asked)) if not word.isalpha())
    for there in cited:
        for use in _uses(there.text):
            if len(use.words) < LEAST_WORDS or fold(use.words[0]) != words[0]:
                continue
            pairs = list(zip_longest(use.words, words, fillvalue=""))
            if all(_fits(theirs, word, known) for theirs, word in pairs):
                return frozenset(word for theirs, word in pairs if word and fold(theirs) != word)
    return None


def _parts(command: str) -> tuple[str, ...]:
    """Return the words of a command; a placeholder is one, whatever it says: `<the name of the server>`."""
    return tuple(_SPACED.sub(lambda one: re.sub(r"\s", "", one.group()), command).split())


_SPACED: Final = re.compile(r"<[^<>\n]{1,80}>|\{[^{}\n]{1,80}\}")


def _fits(theirs: str, word: str, known: frozenset[str]) -> bool:
    """Whether a word of a command may stand where a passage has another; where one of the two ends, it is empty."""
    if not word:
        return theirs.startswith("[")
    if fold(theirs) == word or _MARKED.fullmatch(word):
        return True
    if word.startswith("-") or theirs.startswith("-"):
        return False
    # An example's argument is no word: "support-17", "./docs".
    return bool(_PLACEHOLDER.fullmatch(theirs)) or (word in known and (not theirs.isalpha() or theirs.isupper()))


def bound_wrongly(claim: str, cited: Iterable[ReadPassage], found_beside: Iterable[ReadPassage] = ()) -> list[str]:
    """Return commands, names and numbers of which a claim says what its sources say of others.

    Args:
        claim: One claim, without its citations.
        cited: The passages that it cites.
        found_beside: The other passages of the turn, which may have the right command.
    """
    uses = [use for there in cited for use in _uses(there.text)]
    if not uses:
        return []
    beside = [use for there in found_beside for use in _uses(there.text)]
    every, said = [name for name, _, _ in _named_in(claim)], _words(claim)
    if len(every) > _MOST_NAMES:
        return []
    found: list[str] = []
    clauses = list(_clauses(claim))
    for at, clause in enumerate(clauses):
        for name, kind, _ in _named_in(clause):
            words = _words(clause, without=name)
            if len(words) < LEAST_WORDS and kind != "number":
                words = _words(_with_neighbours(clauses, at), without=name)
            if len(words) < LEAST_WORDS and kind == "name":
                words = _words(claim, without=name)  # "That is Daphne, the server for ..."
            own = [use for use in uses if use.kind == kind and _is_same(use.name, name, kind)]
            if not own or not words:
                continue
            others = [
                use
                for use in (*uses, *(beside if kind in _TYPED else ()))
                if use.kind == kind and not any(_is_same(use.name, one, kind) for one in every)
            ]
            others = [use for use in others if kind in _TYPED or not use.own_words or not use.own_words <= said]
            if any(_belongs(words, use, own) for use in others):
                found.append(name)
    return list(dict.fromkeys(found))


def _with_neighbours(clauses: Sequence[str], at: int) -> str:
    """Return a clause with those that a colon or a dash joins to it and that name nothing: "`%N` - the number of sheets"."""
    behind = list(takewhile(lambda clause: not _named_in(clause) and ";" not in clause, clauses[at + 1 :]))
    before = list(
        takewhile(lambda clause: not _named_in(clause) and ";" not in clause, clauses[at - 1 :: -1] if at else ())
    )
    joined = (" ".join((clauses[at], *behind)), " ".join((*reversed(before), clauses[at])))
    return next(
        (text for text, beside in zip(joined, (behind, before), strict=True) if beside and _JOINT.search(text)),
        clauses[at],
    )


_JOINT: Final = re.compile(r"(?:^|\s)[–—-]\s|[`*»”\"]\s{0,2}:\s")
_TYPED: Final = ("command", "option", "path")
_MOST_NAMES: Final = 24
"""Values of a claim; one that has more is a list, and time would grow with the square."""


def _belongs(words: frozenset[str], other: _Use, own: Sequence[_Use]) -> bool:
    """Whether words are said of another value, and not of a claim's own."""
    if other.kind not in _TYPED:
        words -= other.own_words
    if not words:
        return False
    share, least = _share(words, other), max(_share(words, use) for use in own)
    if len(words) < LEAST_WORDS:
        return other.kind == "command" and least == 0 and words <= other.own_words
    apart = _APART if other.kind in _TYPED or len(words) > LEAST_WORDS else 2 * _APART
    return share >= _SAID and share - least >= apart


def _clauses(claim: str) -> Iterator[str]:
    """Yield the clauses of a claim; "and" parts two where both name something."""
    kept = _SPAN.sub(lambda span: re.sub(r"[\s;:,.]", "\ue000", span.group()), claim)
    cuts = [0, *(place for match in _CLAUSE.finditer(kept) for place in match.span()), len(kept)]
    for start, end in pairwise(cuts):
        clause = claim[start:end]
        parts = _AND.split(clause)
        if len(parts) > 1 and all(map(_named_in, parts)):
            yield from parts
        elif clause.strip():
            yield clause


@lru_cache(maxsize=2048)
def _named_in(text: str) -> tuple[tuple[str, str, tuple[str, ...]], ...]:
    """Return what a text names, each folded, with its kind and its words as they stand."""
    found: dict[str, tuple[str, tuple[str, ...]]] = {}
    for span in _SPAN.findall(text):
        name = " ".join(fold(span).split())
        found[name] = _kind(name), _parts(span)
    bare = _SPAN.sub(" ", text)
    for match in _NAME.finditer(bare):
        raw = next(filter(None, match.groups()))
        alone = match[3] and " " not in raw and _begins_sentence(bare, match.start())
        if not alone and (name := " ".join(WORD.findall(fold(raw)))) and not name.isdigit():
            found.setdefault(name, ("name", ()))
    for match in _NUMBER.finditer(bare):
        found.setdefault(re.sub(r"[ \u00a0]", "", match.group()), ("number", ()))
    for match in _ORDINAL.finditer(bare):
        found.setdefault(f"{word_number(fold(match.group()))}.", ("ordinal", ()))
    return tuple((name, kind, words) for name, (kind, words) in found.items())


_ORDINAL_WORD: Final = _WORDING.pattern("ordinal_word")
_ORDINAL: Final = re.compile(rf"(?<![\w-])(?:{_ORDINAL_WORD.pattern})(?= [^\W\d_]{{4,}})", re.IGNORECASE)
"""Which of several: what is said of the third is not said of the fourth."""


def _begins_sentence(text: str, at: int) -> bool:
    return not text[:at].strip(" \t*_#>|-\n") or text[:at].rstrip()[-1:] in ".!?:|\n"


def _kind(name: str) -> str:
    if name.startswith("-"):
        return "option"
    if " " in name:
        return "command"
    if "/" in name or "\\" in name:
        return "path"
    return "code"


def _is_same(one: str, other: str, kind: str) -> bool:
    """Whether two values are one: a command with its arguments, a name with more words or another ending."""
    if one == other:
        return True
    if kind == "name":
        theirs, ours = _stems_in(one), _stems_in(other)
        return theirs <= ours or ours <= theirs
    return one.startswith(f"{other} ") or other.startswith(f"{one} ")


@lru_cache(maxsize=2048)
def _words(text: str, without: str = "") -> frozenset[str]:
    """Return the stems that say what is done, of what, and with which other values."""
    own = frozenset(WORD.findall(without))
    said = (
        word
        for word in WORD.findall(fold(_ASSIGNED.sub(" ", _LINK.sub("]", text))))
        if word not in stop_words() and word not in own and not _ORDINAL_WORD.fullmatch(word)
    )
    return frozenset(map(stem, said)) - light_stems() - _RUNS


_RUNS: Final = frozenset(map(stem, _WORDING.words("runs")))


@dataclass(frozen=True, slots=True)
class _Use:
    """A value in one place of a passage.

    Attributes:
        name: Folded.
        words: Those of a command, as they stand.
        near: The stems of the clause, step or row that has it; of a line of code, of what stands before the block.
        above: Those of the heading.
    """

    name: str
    kind: str
    words: tuple[str, ...]
    near: frozenset[str]
    above: frozenset[str]

    @property
    def own_words(self) -> frozenset[str]:
        """The stems of the name: `guardian threads delete` deletes."""
        return _stems_in(self.name)


def _share(words: frozenset[str], use: _Use) -> float:
    near = words & (use.near | use.own_words)
    above = (words & use.above) - near
    return (len(near) + _HEAD_WEIGHT * len(above)) / len(words)


@lru_cache(maxsize=4096)
def _stems_in(name: str) -> frozenset[str]:
    return frozenset(stem(part) for part in re.findall(r"[^\W\d_]+", name))


@lru_cache(maxsize=256)
def _uses(text: str) -> tuple[_Use, ...]:
    found: list[_Use] = []
    above = before = frozenset[str]()
    for piece, is_code in pieces_in_order(text):
        if is_code:
            line = piece.strip().removeprefix("$ ")
            found.append(_Use(fold(line), _kind(fold(line)), _parts(line), before, above))
            continue
        # "Delete it:", and the block; or a sentence, and a list of commands.
        before = _words(piece)
        if _HEADING.match(piece):
            above = before
            continue
        named = _named_in(piece)[:_MOST_NAMED]
        around = {} if "|" in piece else _around_numbers(piece)
        found += [_Use(name, kind, words, around.get(name, before), above) for name, kind, words in named]
        if len(found) > MOST_USES:
            break
    return tuple(found[:MOST_USES])


_MOST_NAMED: Final = 100
"""Values of one sentence, step or row."""


def _around_numbers(piece: str) -> dict[str, frozenset[str]]:
    """Return the words of the clauses that have a number, by number."""
    found: dict[str, frozenset[str]] = {}
    for clause in islice(_clauses(piece), _MOST_NAMED):
        numbers = [name for name, kind, _ in _named_in(clause)[:_MOST_NAMED] if kind in ("number", "ordinal")]
        if numbers:
            words = _words(clause)
            found |= {number: found.get(number, frozenset[str]()) | words for number in numbers}
    return found
