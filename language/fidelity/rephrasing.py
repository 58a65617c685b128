"""Reversals in a rephrased claim, against the most similar clause of its source: an opposite, a limit, a quantity.

A near copy is compared word by word (`language.fidelity.near_copy`). This module only compares single words of closed
classes, and only between clauses about the same subject. If several clauses are equally near, one that agrees with the
claim is enough; a clause that does not mention it proves nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Final

from language.fidelity.turning_words import ANSWERS, HOW, LIMITING, LISTS, Sentence, opposites, sentence_of
from language.figures.nearest import places
from language.figures.passage import ReadPassage
from language.patterns import read_wording
from language.words import stem, stop_words

_WORDING: Final = read_wording(__name__)

_SAME: Final = 0.5
"""Share of a clause's content words that a clause of the source must have to speak of the same."""
_AS_NEAR: Final = 0.85
"""Share of the best clause's share that makes another one as near."""
_LEAST_WORDS: Final = 3
"""Content words of a clause, from which on it may be told from others."""
_LONGEST: Final = 80
_CUT: Final = _WORDING.pattern("cut")


@dataclass(frozen=True, slots=True)
class _Clause:
    """A clause, or a whole sentence.

    Attributes:
        words: As they are compared.
        content: The stems of its content words.
        forms: Those of all its words.
        whole: The words of the sentence.
        denials: How many words deny something.
        denies_anything: Whether one of them does, or forbids.
        denied: The stem of the word right behind the first denial, at most one without content between them.
        extents: Words that say of how many it holds, by what they say.
        is_row: Whether it is a row of a table.
    """

    words: tuple[str, ...]
    content: frozenset[str]
    forms: frozenset[str]
    whole: tuple[str, ...]
    denials: int
    denies_anything: bool
    denied: str
    extents: dict[str, str]
    is_row: bool


def _clause(words: tuple[str, ...], whole: tuple[str, ...], *, is_row: bool) -> _Clause:
    forms = {word: stem(word) for word in words}
    denials = [at for at, word in enumerate(words) if word in LISTS.denials]
    return _Clause(
        words=words,
        content=frozenset(form for word, form in forms.items() if word not in stop_words() and not word[:1].isdigit()),
        forms=frozenset(forms.values()),
        whole=whole,
        denials=len(denials),
        denies_anything=bool(denials) or any(word.startswith(LISTS.forbids) for word in words),
        denied=_denied_word(words, denials[0]) if denials else "",
        extents={_EXTENTS[word]: word for word in reversed(words) if word in _EXTENTS},
        is_row=is_row,
    )


def _denied_word(words: Sequence[str], at: int) -> str:
    if words[at] in ("without", "без"):
        return ""
    return stem(next((word for word in words[at + 1 : at + 3] if word not in stop_words()), ""))


def turned_round(claim: str, cited: Iterable[ReadPassage]) -> list[str]:
    """Return the differences between a claim's clauses and the most similar ones of its source, each as "old -> new".

    Args:
        claim: One claim, without its citations.
        cited: The passages that it cites.
    """
    claim, passages = ANSWERS.sub("", claim, count=1), list(cited)
    known = list({clause.words: clause for there in passages for clause in _clauses_of(there.text)}.values())
    found = list(_other_limits(sentence_of(claim), passages))
    for clause in _clauses(claim)[:_MOST_CLAUSES]:
        near = _nearest(clause, known)
        for compare in (_find_opposites, _other_extent, _find_denial):
            changes = [compare(other, clause) for other in near]
            # What says neither is silent; what says the same is a proof.
            if any(changes) and None not in changes:
                found += next(filter(None, changes))
    return list(dict.fromkeys(found))


def _nearest(clause: _Clause, known: Sequence[_Clause]) -> list[_Clause]:
    """Return the clauses that are most like one, the most alike first."""
    if len(clause.content) < _LEAST_WORDS:
        return []
    shares = [(len(clause.content & other.content) / len(clause.content), other) for other in known]
    best = max((share for share, _ in shares), default=0.0)
    if best < _SAME:
        return []
    near = [(share, other) for share, other in shares if share >= best * _AS_NEAR]
    return [other for _, other in sorted(near, key=lambda one: -one[0])[:_MOST_NEAR]]


_MOST_CLAUSES: Final = 60
_MOST_NEAR: Final = 12
"""Clauses of one claim that are compared, and with how many each."""


_Change = list[str] | None
"""What differs: nothing where a clause says nothing of it, `None` where it says the same."""


def _find_opposites(source: _Clause, claim: _Clause) -> _Change:
    """Return the opposites of a claim's words that the source has in their place."""
    if claim.denials != source.denials or claim.denies_anything != source.denies_anything:
        return None  # "not enabled" is "disabled", and what is longer is refused where at most so many may be
    own, theirs = _only_in(claim, source), _only_in(source, claim)
    pairs = [
        (old, new) for old in theirs for new in own if opposites(old, new) and not _of_time(old, new, source, claim)
    ]
    # A sentence that has both sides itself says of each what the other is not.
    return [f"{old} -> {new}" for old, new in pairs if not any(opposites(old, word) for word in source.whole)] or None


def _of_time(old: str, new: str, source: _Clause, claim: _Clause) -> bool:
    """Whether two words only say what is before what, of which the two sides may stand either way round."""
    if old not in _TIMES or new not in _TIMES:
        return False
    behind, here = (_content_behind(clause, word) for clause, word in ((source, old), (claim, new)))
    return behind.isdisjoint(here)


def _content_behind(clause: _Clause, word: str) -> frozenset[str]:
    behind = (
        stem(one)
        for one in clause.words[clause.words.index(word) + 1 :]
        if one not in _LEADS and one not in stop_words()
    )
    return frozenset(islice(behind, 1))


_LEADS: Final = frozenset(_WORDING.words("leads"))


_TIMES: Final = frozenset(_WORDING.words("times"))


def _only_in(clause: _Clause, other: _Clause) -> list[str]:
    """Return the words of a clause that the other has in no form."""
    return sorted(word for word in set(clause.words) if stem(word) not in other.forms)


def _find_denial(source: _Clause, claim: _Clause) -> _Change:
    """Return the word that one of two clauses denies and the other says, where nothing else in them is denied."""
    shared = claim.content & source.content
    # Of few words, both must have the same ones: "Port 8080 serves the page".
    is_whole = len(shared) >= _LEAST_WORDS and claim.content == source.content
    if not is_whole and (len(claim.content) <= _LEAST_WORDS or len(shared) < _DENIED * len(claim.content)):
        return []
    if claim.is_row or source.is_row:
        return []  # its cells are no sentence
    limited = {"some", "except"} & (claim.extents.keys() | source.extents.keys())
    if limited or any(clause.denials and not LIMITING.isdisjoint(clause.whole) for clause in (source, claim)):
        return []  # "only then" is "not before"
    for one, other in ((source, claim), (claim, source)):
        if (how := _how_denied(one.words)) and how not in other.words:
            continue  # "does not run continuously", and "runs"
        if one.denials == 1 and not other.denies_anything and one.denied.isalpha() and one.denied in other.content:
            if _is_numbered(one.words, one.denied):
                continue  # "port 80, and not port 8080"
            if any(word.startswith(_OFF) for word in (*other.words, *other.whole, *(one.words if is_whole else ()))):
                return None  # "it is off: enable it"
            pair = f"not {one.denied}", one.denied
            return [" -> ".join(pair if one is source else reversed(pair))]
    return None if source.denials == claim.denials else []


def _how_denied(words: Sequence[str]) -> str:
    """Return the word for how that the one denial of a clause denies."""
    denials = [at for at, word in enumerate(words) if word in LISTS.denials]
    return (
        next((word for word in words[denials[0] + 1 : denials[0] + 4] if word in HOW), "") if len(denials) == 1 else ""
    )


def _is_numbered(words: Sequence[str], denied: str) -> bool:
    """Whether a word stands several times, each before a number."""
    places = [at for at, word in enumerate(words) if stem(word) == denied]
    return len(places) > 1 and all(words[at + 1 : at + 2] and words[at + 1][:1].isdigit() for at in places)


_OFF: Final = _WORDING.words("off")
_DENIED: Final = 0.6
"""Share of a clause's words that a clause of the source must have to deny the same, unless both have the same words."""


# ---------------------------------------------------------------------------------------------- of how many it holds


def _other_extent(source: _Clause, claim: _Clause) -> _Change:
    """Return the word that says of all what the source says of some, that leaves out an exception, or makes one."""
    theirs, ours = source.extents, claim.extents
    if "all" in ours and theirs.keys() - {"all"} and not ours.keys() - {"all"}:
        if "some" in theirs and "all" in theirs:
            return []
        other = next((theirs[extent] for extent in ("except", "one", "some", "few") if extent in theirs), "")
        return [] if not other else [f"{other} -> {ours['all']}"]
    if "few" in ours and theirs.keys() == {"all"} and "all" not in ours:
        return [f"{theirs['all']} -> {ours['few']}"]
    if "except" in ours and theirs.keys() & {"with", "all"} and "except" not in theirs:
        return [f"{theirs.get('with') or theirs['all']} -> {ours['except']}"]
    return None if ours and ours.keys() == theirs.keys() else []


_EXTENTS: Final = {word: extent for extent, words in _WORDING.forms("extents").items() for word in words.split()}


# ------------------------------------------------------------------------------------------------- limits of numbers


def _other_limits(said: Sentence, passages: Sequence[ReadPassage]) -> Iterator[str]:
    """Yield the numbers of a claim that are the least of what the source says that they are the most of, and the reverse."""
    own = _limits(said)
    if not own:
        return
    if _refuses(said.words):
        return  # what is more is refused: at most so much may be
    theirs: dict[str, set[str]] = {}
    for there in passages:
        for number, limit in _limits_of(there.text):
            theirs.setdefault(number, set()).add(limit)
    for number, limit in own:
        other = "least" if limit == "most" else "most"
        if limit and theirs.get(number) == {other}:
            yield f"{other} {number} -> {limit} {number}"


@lru_cache(maxsize=256)
def _limits_of(text: str) -> tuple[tuple[str, str], ...]:
    said = (sentence_of(place.text) for place, _ in places(text))
    return tuple((number, "" if _refuses(one.words) else limit) for one in said for number, limit in _limits(one))


def _refuses(words: Iterable[str]) -> bool:
    return any(word in LISTS.denials or word.startswith((*LISTS.forbids, *_ENDS)) for word in words)


_ENDS: Final = _WORDING.words("ends")


def _limits(said: Sentence) -> list[tuple[str, str]]:
    """Return the numbers of a sentence, each with what limit it is: the most, the least, or none."""
    found: list[tuple[str, str]] = []
    for at, word in enumerate(said.words[:_LONGEST]):
        if not word[:1].isdigit():
            continue
        before = said.words[max(0, at - 2) : at]
        behind = said.words[at + 1 : at + 4]
        limit = next((_LIMITS[one] for one in reversed(before) if one in _LIMITS), "")
        if not limit and behind[-2:] in _OR_MORE:
            limit = "least"
        if not limit and behind[-2:] in _OR_LESS:
            limit = "most"
        found.append((word, limit))
    return found


_OR_MORE, _OR_LESS = (
    frozenset(tuple(said.split()) for said in _WORDING.words(name)) for name in ("or_more", "or_less")
)
_LIMITS: Final = {word: limit for limit, words in _WORDING.forms("limits").items() for word in words.split()}


# ------------------------------------------------------------------------------------------------------------ clauses


@lru_cache(maxsize=256)
def _clauses_of(text: str) -> tuple[_Clause, ...]:
    return tuple(clause for place, _ in places(text) for clause in _clauses(place.text))


def _clauses(text: str) -> list[_Clause]:
    parts = [text, *_CUT.split(text)] if _CUT.search(text) else [text]
    found = [sentence_of(part).words for part in parts]
    whole = found[0][:_LONGEST]
    return [_clause(words, whole, is_row="|" in text) for words in found if len(words) <= _LONGEST]
