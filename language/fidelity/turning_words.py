"""Words that reverse a sentence, and the words of sentences for comparing. The lists are in `turning_words.toml`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from language.clean import fold
from language.patterns import read_wording
from language.words import stem

_WORDING: Final = read_wording(__name__)

_CANNOT: Final = _WORDING.pattern("cannot")
_WORD: Final = re.compile(r"\w+(?:[.,]\d+)*(?:['’-]\w+)*")
_MARKS: Final = re.compile(r"\[\d{1,3}\]|(?<=\])\([^()\n]*\)|[\[\]]|[*`~]{1,3}|(?<!\w)_{1,3}|_{1,3}(?!\w)|<[^<>\n]*>")
_NAME: Final = re.compile(r"[A-ZА-ЯЁ][\w-]*")
_QUOTED: Final = re.compile(r"[«“„\"]([^«»“”„\"\n]{1,80})[»”“\"]")


@dataclass(frozen=True, slots=True)
class Sentence:
    """The words of a sentence: as written, folded, and which of them are names or quoted."""

    raw: tuple[str, ...]
    words: tuple[str, ...]
    named: tuple[bool, ...]


def negated_forms(old: Sequence[str], new: Sequence[str]) -> bool:
    """Whether one side denies a word with a prefix and the other with a word before it: "недоступен", "не доступен"."""
    plain, other = (frozenset(map(stem, side)) for side in (old, new))
    return any(f"{mark}{word}" in plain for mark in _IN_ITSELF for word in other) or any(
        f"{mark}{word}" in other for mark in _IN_ITSELF for word in plain
    )


_IN_ITSELF: Final = _WORDING.words("in_itself")


def are_opposed(old: Iterable[str], new: Sequence[str]) -> bool:
    return any(opposites(one, other) for one in old for other in new)


@lru_cache(maxsize=4096)
def opposites(one: str, other: str) -> bool:
    """Whether two words are opposites in any position."""
    if one == other:
        return False
    for mark in _IN_ITSELF if min(len(one), len(other)) > _NO_ENDING and not {one, other} & _NO_DENIALS else ():
        if stem(other) == stem(mark + one) or stem(one) == stem(mark + other):
            return True
    return _on_two_sides(one, other, LISTS.anywhere)


@lru_cache(maxsize=4096)
def opposites_in_place(one: str, other: str) -> bool:
    """Whether two words are opposites if one replaces the other."""
    return _on_two_sides(one, other, LISTS.lines)


def _on_two_sides(one: str, other: str, lines: int) -> bool:
    """Whether one of the first lines has two words on different sides, and no line at all has them on the same."""
    ours, theirs = _sides(one), _sides(other)
    both = ours.keys() & theirs.keys()
    return any(line < lines for line in both) and all(ours[line] != theirs[line] for line in both)


@lru_cache(maxsize=20_000)
def _sides(word: str) -> dict[int, int]:
    """Return the lines of opposites that have a word, each with its side; none that has it on two."""
    found = [
        *LISTS.sides.get(stem(word), ()),
        *(side for end in range(1, len(word) + 1) for side in LISTS.sides.get(f"{word[:end]}*", ())),
    ]
    sides: dict[int, set[int]] = {}
    for line, side, but in found:
        if not any(word == left_out or (left_out[-1:] == "*" and word.startswith(left_out[:-1])) for left_out in but):
            sides.setdefault(line, set()).add(side)
    return {line: side.pop() for line, side in sides.items() if len(side) == 1}


_NO_ENDING: Final = 3
ANSWERS: Final = _WORDING.pattern("answers")
HOW: Final = frozenset(_WORDING.words("how"))
LIMITING: Final = frozenset(_WORDING.words("limiting"))
_NO_DENIALS: Final = frozenset(_WORDING.words("no_denials"))


def _spell_out(match: re.Match[str]) -> str:
    """Return a contraction in full: "don't" is "do not"."""
    verb = match["verb"]
    return f"{_WHOLE.get(verb.lower(), verb)} not"


_CONTRACTED: Final = re.compile(r"\b(?P<verb>[A-Za-z]{2,6})n['’]t\b")
_WHOLE: Final = {"ca": "can", "wo": "will", "sha": "shall"}


@lru_cache(maxsize=2048)
def sentence_of(text: str) -> Sentence:
    bare = _CANNOT.sub("can not", _CONTRACTED.sub(_spell_out, _MARKS.sub("", text)))
    quoted = {at for match in _QUOTED.finditer(bare) for at in range(*match.span(1))}
    raw: list[str] = []
    named: list[bool] = []
    words: list[str] = []
    for match in _WORD.finditer(bare):
        if not (word := fold(match.group()).replace("’", "'")):
            continue  # nothing but signs that nobody sees
        ends = bare[match.end() : match.end() + 1]
        raw.append(f"{match.group()}{',' if ends == ',' else ''}")
        named.append(bool(_NAME.fullmatch(match.group())) or match.start() in quoted)
        words.append(word)
    return _with_limits(Sentence(tuple(raw), tuple(words), tuple(named)))


def _with_limits(sentence: Sentence) -> Sentence:
    """Return a sentence in which each turn of speech of `limits` is one word."""
    raw, words, named = list(sentence.raw), list(sentence.words), list(sentence.named)
    known = set(words)  # looked for first: hardly any sentence has a word of hardly any turn
    for phrase, name in LISTS.limits:
        if not known.issuperset(phrase):
            continue
        at = 0
        while at <= len(words) - len(phrase):
            if tuple(words[at : at + len(phrase)]) == phrase:
                raw[at : at + len(phrase)] = [raw[at + len(phrase) - 1]]
                words[at : at + len(phrase)] = [name]
                named[at : at + len(phrase)] = [False]
                known.add(name)
            at += 1
    return Sentence(tuple(raw), tuple(words), tuple(named))


# ------------------------------------------------------------------------------------------------------- word lists


@dataclass(frozen=True, slots=True)
class _Lists:
    denials: frozenset[str]
    forbids: tuple[str, ...]
    idle: frozenset[str]
    weighty: frozenset[int]
    limits: tuple[tuple[tuple[str, ...], str], ...]
    quantities: dict[str, int]
    conditions: tuple[tuple[str, ...], ...]
    times: tuple[tuple[str, ...], ...]
    sides: dict[str, list[tuple[int, int, tuple[str, ...]]]]
    anywhere: int
    lines: int


_WEIGHTY: Final = frozenset(_WORDING.words("weighty"))


def _load_lists() -> _Lists:
    limits = [
        (tuple(phrase.split()), group[0].replace(" ", "-")) for group in _WORDING.entries["limits"] for phrase in group
    ]
    lines = [*_WORDING.entries["opposites"], *_WORDING.entries["exchanged"]]
    conditions, times = (
        sorted((tuple(phrase.split()) for phrase in _WORDING.entries[name]), key=len, reverse=True)
        for name in ("conditions", "times")
    )
    return _Lists(
        denials=frozenset(_WORDING.entries["denials"].split()),
        forbids=tuple(_WORDING.entries["forbids"].split()),
        idle=frozenset(map(stem, _WORDING.entries["idle"].split())),
        weighty=frozenset(
            number for number, line in enumerate(_WORDING.entries["quantities"]) if line.split()[0] in _WEIGHTY
        ),
        limits=tuple(sorted((one for one in limits if len(one[0]) > 1), key=lambda one: -len(one[0]))),
        quantities={
            word: number for number, line in enumerate(_WORDING.entries["quantities"]) for word in line.split()
        },
        conditions=tuple(conditions),
        times=tuple(times),
        sides=_read_sides(lines),
        anywhere=len(_WORDING.entries["opposites"]),
        lines=len(lines),
    )


def _read_sides(lines: Sequence[str]) -> dict[str, list[tuple[int, int, tuple[str, ...]]]]:
    """Return the sides of lines of opposites by stem or `beginning*`: number of the line, of the side, what is left out."""
    found: dict[str, list[tuple[int, int, tuple[str, ...]]]] = {}
    for number, line in enumerate(lines):
        for side, words in enumerate(line.split("|")):
            but = tuple(word[1:] for word in words.split() if word.startswith("-"))
            keys = {word if word.endswith("*") else stem(word) for word in words.split() if not word.startswith("-")}
            for key in keys:
                found.setdefault(key, []).append((number, side, but))
    return found


LISTS: Final = _load_lists()
"""Read on import, and not in a turn: there no file is waited for."""
