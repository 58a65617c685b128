"""Changes in a near copy of a sentence: a denial, an opposite, a quantity, a name, an order, a condition.

If at most three words of a claim differ from one or two sentences of its source, the claim says the same, unless a
changed word is of one of these kinds. If more differs, the claim is a rephrasing, and these words prove nothing
(`language.fidelity.negation` hints at them). If two sentences are equally near, one without a fault is enough.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from functools import lru_cache
from itertools import islice, pairwise
from typing import Final

from language.fidelity.turning_words import (
    ANSWERS,
    HOW,
    LIMITING,
    LISTS,
    Sentence,
    are_opposed,
    negated_forms,
    opposites_in_place,
    sentence_of,
)
from language.figures.nearest import places
from language.figures.passage import ReadPassage
from language.patterns import read_wording
from language.words import stem, stems, stop_words, tokens

_WORDING: Final = read_wording(__name__)

SIMILAR: Final = 0.8
"""Share of the words of claim and sentence that are alike and in one order (Ratcliff and Obershelp, 1988)."""
MOST_CHANGED: Final = 3
"""Words that differ in such a near copy, or a sixth of it; more make it a rephrasing."""
_LEAST_WORDS: Final = 4
"""Words of a claim, from which one that is changed may be told from another sentence."""
_AS_NEAR: Final = 0.05
"""How much less alike another sentence may be to count as the one that was copied, too."""
_SAID: Final = 0.5
"""Share of a condition's words that question or draft say elsewhere, so that it need not be said again."""
_MARKER: Final = re.compile(r"^(?:[-*+•]|\d{1,3}[.)])[ \t]+")
"""What an item of a list begins with: its number is none of the sentence's."""
_PART: Final = re.compile(r"[;:|()—–]|\.\s")
"""Between the parts of a list or of a row that a claim has made a sentence of."""
_ONE_CAPITAL: Final = re.compile(r"[A-ZА-ЯЁ][a-zа-яё-]*,?")


def changes(claim: str, cited: Iterable[ReadPassage], context: Callable[[], str] = str) -> list[str]:
    """Return the changes of a claim to the sentence that it nearly copies, each as "old -> new"; empty if none.

    Args:
        claim: One claim, without its citations.
        cited: The passages that it cites.
        context: Returns the question and the rest of the draft: a condition in them does not count as left out. It is
            only called for a possible condition, not for each claim.
    """
    said = sentence_of(ANSWERS.sub("", _MARKER.sub("", claim, count=1), count=1))
    passages = list(cited)
    if len(said.words) < _LEAST_WORDS:
        return []
    for begins in (LISTS.conditions, LISTS.times):
        if dropped := _condition_left_out(said, passages, context, _is_copy, begins):
            return [dropped]
    spoken = f" {' '.join(tokens(claim))} "
    if any(spoken in there.said for there in passages) or is_copied(claim, passages):
        return []
    if (found := _of_the_nearest(said, passages)) is not None:
        return found
    if dropped := _condition_left_out(said, passages, context, _is_rephrased, LISTS.conditions):
        return [dropped]
    parts = [sentence_of(part) for part in _PART.split(claim)[:_MOST_PARTS]]
    whole = [part for part in parts if _LEAST_WORDS <= len(part.words) < len(said.words)]
    return _find_denial_in_copied_words(said, passages) or [
        change for part in whole for change in _of_the_nearest(part, passages, said) or ()
    ]


def is_copied(claim: str, cited: Iterable[ReadPassage]) -> bool:
    """Whether a source has the words of a claim in sequence, link targets aside.

    A drafter leaves out foreign links and says so. It writes a bracketed number in other brackets, because `[n]` is a
    citation.
    """
    words = sentence_of(_MARKER.sub("", _LEFT_OUT.sub(" ", claim), count=1)).words
    return bool(words) and any(f" {' '.join(words)} " in _all_words(there.text) for there in cited)


@lru_cache(maxsize=512)
def _all_words(text: str) -> str:
    return f" {' '.join(word for place, _ in places(text) for word in sentence_of(place.text).words)} "


_LEFT_OUT: Final = _WORDING.pattern("left_out")


def _of_the_nearest(said: Sentence, passages: Sequence[ReadPassage], whole: Sentence | None = None) -> list[str] | None:
    """Return the changes of the sentence that is nearly copied; `None` where none is.

    Args:
        said: A claim, or a part of one.
        passages: What it cites.
        whole: The claim of a part: words that it has elsewhere are not left out.
    """
    near = sorted(_near(said, passages), key=lambda found: -found[0])
    kept = frozenset((whole or said).words)
    compared = [_compare(sentence, said, kept) for ratio, sentence in near if ratio >= near[0][0] - _AS_NEAR]
    found = [changed for changed in compared if changed is not None]
    if not found:
        return None
    return found[0] if all(found) else []


def _near(said: Sentence, passages: Sequence[ReadPassage]) -> Iterator[tuple[float, Sentence]]:
    """Yield the sentences, alone and in pairs, that a claim nearly copies, with how alike they are: those that have its words."""
    if len(said.words) > _LONGEST:
        return
    own, most = Counter(said.words), _most_changed(said.words)
    same: list[tuple[int, Sentence]] = []
    for sentence, counted in (each for there in passages for each in _candidates(there.text)):
        if abs(len(sentence.words) - len(said.words)) > most or len(counted.keys() - own.keys()) > most:
            continue
        if (differ := max((own - counted).total(), (counted - own).total())) <= most:
            same.append((differ, sentence))
    for _, sentence in sorted(same, key=lambda one: one[0])[:_MOST_COMPARED]:
        ratio = SequenceMatcher(None, sentence.words, said.words, autojunk=False).ratio()
        if ratio >= SIMILAR:
            yield ratio, sentence


_LONGEST: Final = 80
"""Words of a sentence that is compared; longer ones are lists and logs, and time grows with the square."""
_MOST_COMPARED: Final = 40
"""Sentences that a claim is compared with word by word, those first that have the same words."""
_MOST_PARTS: Final = 12
_MOST_CONDITIONS: Final = 3
"""Conditional clauses of one sentence."""


def _most_changed(words: Sequence[str]) -> int:
    return max(MOST_CHANGED, len(words) // 6)


def _compare(source: Sentence, claim: Sentence, kept: frozenset[str]) -> list[str] | None:
    """Return the changes between a sentence and its near copy that turn it round; `None` where it is no near copy after all."""
    matcher = SequenceMatcher(None, source.words, claim.words, autojunk=False)
    edits = [edit for edit in matcher.get_opcodes() if edit[0] != "equal"]
    if sum(max(a_end - a, b_end - b) for _, a, a_end, b, b_end in edits) > _most_changed(claim.words) + 1:
        return None
    found: list[str] = []
    moved = kept - frozenset(claim.words)
    old = [word for _, a, a_end, _, _ in edits for word in source.words[a:a_end] if word not in moved]
    new = [word for _, _, _, b, b_end in edits for word in claim.words[b:b_end]]
    if _denials(old) % 2 != _denials(new) % 2 and not _means_the_same(old, new):
        found.append(_describe(old, new))
    moved_numbers = old and sorted(old) == sorted(new) and _numbers(source.words) != _numbers(claim.words)
    if moved_numbers and _number_groups(source.words) != _number_groups(claim.words):
        found.append(_describe(old, new))
    for kind, a, a_end, b, b_end in edits:
        before, behind = [word for word in source.words[a:a_end] if word not in moved], claim.words[b:b_end]
        denied = _denials(before) % 2 != _denials(behind) % 2
        if are_opposed(before, behind):
            # "optional" is "not required", but "must" is far from "may not".
            turned = not denied or not _MODAL.isdisjoint((*before, *behind))
        else:
            turned = (kind == "replace" and _exchanges(before, behind, source, claim)) or _changes_quantity(
                before, behind, old, new
            )
        if turned or (kind == "replace" and _changes_name(source, claim, (a, a_end), (b, b_end))):
            found.append(_describe(before, behind))
    return list(dict.fromkeys(found))


_MODAL: Final = frozenset(_WORDING.words("modal"))


def _describe(old: Sequence[str], new: Sequence[str]) -> str:
    return f"{' '.join(old) or '-'} -> {' '.join(new) or '-'}"


# ------------------------------------------------------------------------------------------------- kinds of changes


def _denials(words: Iterable[str]) -> int:
    return sum(word in LISTS.denials for word in words)


def _means_the_same(old: Sequence[str], new: Sequence[str]) -> bool:
    """Whether a denial is gone together with its word, or was put before the opposite: "not enabled", "disabled"."""
    return are_opposed(old, new) or negated_forms(old, new)


def _exchanges(old: Sequence[str], new: Sequence[str], source: Sentence, claim: Sentence) -> bool:
    """Whether a word stands in the place of its opposite, and neither of them is said elsewhere in the other sentence."""
    if max(len(old), len(new)) > _IN_PLACE or _denials(old) or _denials(new):
        return False
    lost, got = (
        [word for word in words if stem(word) not in {stem(one) for one in other.words}]
        for words, other in ((old, claim), (new, source))
    )
    return any(opposites_in_place(one, other) for one in lost for other in got)


_IN_PLACE: Final = 2
"""Words on either side, up to which one stands in the place of another."""


def _changes_quantity(old: Sequence[str], new: Sequence[str], all_old: Sequence[str], all_new: Sequence[str]) -> bool:
    """Whether an edit changes how many or how surely: a quantity for another, or one that was put in or left out."""
    groups = LISTS.quantities
    before, behind = ({groups[word] for word in words if word in groups} for words in (old, new))
    there, here = ({groups[word] for word in words if word in groups} for words in (all_old, all_new))
    if before and behind and max(len(old), len(new)) > _AT_ONCE:
        return False  # so much was told anew that the one is not in the place of the other
    if not before or not behind:
        # Most are put in and left out as one likes; what was only moved is no change.
        return bool((before - here) & LISTS.weighty)
    return bool((before - here) | (behind - there)) and before != behind


_AT_ONCE: Final = 4
"""Words of a change, up to which a quantity in it stands in the place of another."""


def _changes_name(source: Sentence, claim: Sentence, old: tuple[int, int], new: tuple[int, int]) -> bool:
    """Whether a name stands in the place of another; the first word of a sentence may have its capital of its place."""

    def names(sentence: Sentence, span: tuple[int, int]) -> set[str]:
        sure = (
            at for at in range(*span) if sentence.named[at] and (at > 0 or not _ONE_CAPITAL.fullmatch(sentence.raw[at]))
        )
        return {stem(sentence.words[at]) for at in sure}

    before, behind = names(source, old), names(claim, new)
    words = {stem(word) for word in (*source.words[slice(*old)],)}, {stem(word) for word in claim.words[slice(*new)]}
    return bool(before and behind) and words[0].isdisjoint(words[1])


def _numbers(words: Iterable[str]) -> list[str]:
    return [word for word in words if word[:1].isdigit()]


def _number_groups(words: Sequence[str]) -> list[frozenset[str]]:
    """Return the numbers of a sentence in order; those with nothing but "and" or a comma between them have none."""
    found: list[frozenset[str]] = []
    together = False
    for word in words:
        if word[:1].isdigit():
            found.append(found.pop() | {word} if together and found else frozenset((word,)))
            together = True
        elif word not in ("and", "or", "и", "или"):
            together = False
    return found


def _condition_left_out(
    said: Sentence,
    passages: Sequence[ReadPassage],
    context: Callable[[], str],
    is_same: Callable[[tuple[str, ...], tuple[str, ...]], bool],
    begins: Phrases,
) -> str:
    """Return the condition that a source sets and a claim, otherwise a copy of its sentence, does not; else nothing."""
    if any(phrase[0] in said.words for phrase in begins if len(phrase) == 1) or _IN_THAT_CASE.search(
        " ".join(said.words)
    ):
        return ""
    for there in passages:
        for condition, rest in _conditional_clauses(there.text, begins):
            if rest.words != said.words and not is_same(rest.words, said.words):
                continue
            wanted = {stem(word) for word in condition if word not in stop_words()}
            if wanted <= LISTS.idle:
                continue
            known = frozenset(stems(context()))
            if len(wanted & known) < _SAID * max(1, len(wanted)) and not _stands_alone(said, passages):
                return _describe(condition, ())
    return ""


Phrases = tuple[tuple[str, ...], ...]
"""What a conditional clause begins with, in words."""


@lru_cache(maxsize=512)
def _conditional_clauses(text: str, begins: Phrases) -> tuple[tuple[tuple[str, ...], Sentence], ...]:
    """Return the conditions of a text, each with what is said where it holds."""
    found: list[tuple[tuple[str, ...], Sentence]] = []
    for place, _ in places(text):
        low = place.text.lower()
        if not any(phrase[0] in low for phrase in begins):
            continue
        sentence = sentence_of(place.text)
        if len(sentence.words) > _LONGEST:
            continue
        for condition, rest in islice(_conditions(sentence, begins), _MOST_CONDITIONS):
            at = 0 if sentence.words[: len(rest)] == rest else len(sentence.words) - len(rest)
            cut = slice(at, at + len(rest))
            found.append((condition, Sentence(sentence.raw[cut], sentence.words[cut], sentence.named[cut])))
    return tuple(found)


def _is_copy(rest: tuple[str, ...], words: tuple[str, ...]) -> bool:
    if len(rest) < _LEAST_WORDS or abs(len(rest) - len(words)) > 1:
        return False
    return SequenceMatcher(None, rest, words, autojunk=False).ratio() >= _COPY


def _is_rephrased(rest: tuple[str, ...], words: tuple[str, ...]) -> bool:
    ours, theirs = (frozenset(stem(word) for word in side if word not in stop_words()) for side in (words, rest))
    shared = len(ours & theirs)
    return shared >= _LEAST_WORDS and shared >= _REPHRASED * max(len(ours), len(theirs))


_IN_THAT_CASE: Final = _WORDING.pattern("in_that_case")
_REPHRASED: Final = 0.75
"""Share of the content words that both have, where the rest of the sentence is told in another order."""
_COPY: Final = 0.93
"""How alike the rest of a sentence and a claim are that says it without its condition."""


def _stands_alone(said: Sentence, passages: Sequence[ReadPassage]) -> bool:
    """Whether a claim is a whole sentence somewhere else in its sources."""
    return any(sentence.words == said.words for there in passages for sentence in _sentences(there.text))


def _conditions(sentence: Sentence, phrases: Phrases) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
    """Yield the conditional clauses at the beginning and the end of a sentence, each with the rest of the sentence."""
    words = sentence.words
    for begins in phrases:
        width = len(begins)
        for at in range(len(words) - width):
            if words[at : at + width] != begins:
                continue
            if at:
                yield words[at:], words[:at]
            else:
                for end in _commas(sentence):
                    if end > width:
                        yield words[:end], words[end + (words[end : end + 1] in _THEN) :]


_THEN: Final = (("then",), ("то",))


def _commas(sentence: Sentence) -> Iterator[int]:
    """Yield how many words stand before each comma."""
    yield from (at + 1 for at, raw in enumerate(sentence.raw) if raw.endswith(","))


# ------------------------------------------------------------------------- a denial among words that were copied


def _find_denial_in_copied_words(said: Sentence, passages: Sequence[ReadPassage]) -> list[str]:
    """Return the denial that a claim puts in or leaves out among a few words that it copies, wherever the rest is from.

    Words around a denial are searched for without it on the other side. A sentence that denies anything else, in any
    way, is not judged: it may say the same in other words.
    """
    sentences = [one.words for there in passages for one in _sentences(there.text) if len(one.words) <= _LONGEST]
    own = said.words[:_LONGEST]
    if LIMITING.intersection(own):
        return []  # "not before", "only there": denied is something else
    sentences = [words for words in sentences if LIMITING.isdisjoint(words)]
    if not _denies_anything(own):
        for words in sentences:
            for copied in _around_denials(words, own):
                if _holds(own, copied) and not any(_holds(other, _without_joints(copied)) for other in sentences):
                    return [_describe(("not", *copied), copied)]
        return []
    if sum(word in LISTS.denials for word in own) != 1:
        return []
    for copied in _around_denials(own):
        holding = [words for words in sentences if _holds(words, copied)]
        if holding and not any(map(_denies_anything, holding)):
            return [_describe(copied, ("not", *copied))]
    return []


def _around_denials(words: tuple[str, ...], other: Sequence[str] = ()) -> Iterator[tuple[str, ...]]:
    """Yield the words around each denial, without it: as many as tell that they were copied, on either side."""
    for at, word in enumerate(words):
        if word not in LISTS.denials:
            continue
        for before, behind in ((2, 1), (1, 2), (0, 3)):
            left, right = words[max(0, at - before) : at], words[at + 1 : at + 1 + behind]
            copied = (*left, *right)
            if not HOW.isdisjoint(words[at + 1 + behind : at + 2 + behind]) and HOW.isdisjoint(other):
                continue  # "does not run continuously", and "runs"
            if len(left) == before and len(right) == behind and _tells(copied) and right[0] not in stop_words():
                yield copied


def _without_joints(copied: tuple[str, ...]) -> tuple[str, ...]:
    """Return words without the stop words at either end: "that it is on" may be said as "it is on"."""
    telling = [at for at, word in enumerate(copied) if word not in stop_words()]
    return copied[telling[0] : telling[-1] + 1]


def _tells(copied: Sequence[str]) -> bool:
    return sum(word not in stop_words() for word in set(copied)) >= _TELLING


_TELLING: Final = 2
"""Content words among three that tell that they were copied."""


def _holds(words: tuple[str, ...], copied: tuple[str, ...]) -> bool:
    return any(words[at : at + len(copied)] == copied for at in range(len(words) - len(copied) + 1))


@lru_cache(maxsize=4096)
def _denies_anything(words: tuple[str, ...]) -> bool:
    return any(word in LISTS.denials or word.startswith(LISTS.forbids) for word in words)


# ------------------------------------------------------------------------------------------------------- sentences


@lru_cache(maxsize=512)
def _sentences(text: str) -> tuple[Sentence, ...]:
    found = [place.text for place, _ in places(text)]
    cells = [cell for row in found if "|" in row for cell in row.rsplit("\n", 1)[-1].split("|")]
    return tuple(sentence_of(part) for part in (*found, *cells))


@lru_cache(maxsize=512)
def _candidates(text: str) -> tuple[tuple[Sentence, Counter[str]], ...]:
    """Return the sentences of a text, alone, in pairs and without their condition, each with its words counted."""
    single = [sentence for sentence in _sentences(text) if len(sentence.words) <= _LONGEST]
    pairs = (_join(one, next_) for one, next_ in pairwise(single))
    rests = (rest for _, rest in _conditional_clauses(text, LISTS.conditions))
    return tuple((sentence, Counter(sentence.words)) for sentence in (*single, *pairs, *rests))


def _join(one: Sentence, other: Sentence) -> Sentence:
    return Sentence(one.raw + other.raw, one.words + other.words, one.named + other.named)
