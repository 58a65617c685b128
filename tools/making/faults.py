"""Faulty drafts: a good one and one edit that makes it wrong in a known way.

The label comes of how the edit is made, never of what a guard says. A number or a name is only changed into one that
the claim's passages do not bear out; examples are left alone, for another example may be right.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from random import Random
from typing import Final

from contracts.enums import Language, RequestType
from contracts.evidence import EvidenceItem
from evals.cases import DraftCase, DraftLabel, Edit
from tools.making.cited_drafts import CITE, CitedDraft, Found, shuffle
from tools.making.good import HEADINGS
from tools.making.negations import negations
from tools.making.shapes import SHAPES, Shape
from tools.making.swapped_entities import swapped_entities
from tools.making.wrong_numbers import number_words, wrong_numbers

_EN = Language.EN
NUMBER_WORDS: Final = 6
"""Wrong numbers, of those of one language, that are written as words."""


# ------------------------------------------------------------------------------------------------------- citations


def invented_citations(told: CitedDraft, dice: Random) -> Iterator[Found]:
    """Cite what is not there: in the place of a citation, or beside it."""
    count = len(told.passages)
    marks = [(start + found.start(), found) for start, part in told.claims() for found in CITE.finditer(part)]
    if marks:
        at, found = dice.choice(marks)
        number = dice.choice((count + 1, count + 1, count + 2, count + 5, 12, 42, 99))
        beside = dice.random() < 0.3
        new = f"{found.group()}[{number}]" if beside else f"[{number}]"
        if edit := told.edit(at, at + len(found.group()), new):
            yield edit, "beside a right one" if beside else "instead of a right one"


def missing_citations(told: CitedDraft, dice: Random) -> Iterator[Found]:
    """Take the only citation from a claim."""
    claims = [
        (start, part)
        for start, part in told.claims()
        if len(CITE.findall(part)) == 1 and len(part) > 45 and "|" not in part and not part.rstrip().endswith(":")
    ]
    if not claims:
        return
    start, part = dice.choice(claims)
    found = re.search(r" ?\[\d+\]", part)
    if found and (edit := told.edit(start + found.start(), start + found.end(), "")):
        yield edit, "one of several" if len(CITE.findall(told.text)) > 1 else "the only one"


# -------------------------------------------------------------------------------------------------------- contract


def missing_sections(told: CitedDraft, dice: Random) -> Iterator[Found]:
    """Take away the heading that the request type needs, or put another in its place."""
    known = HEADINGS.get((told.case.request_type, told.case.language), ())
    found = re.match(r"(#{1,6} )([^\n]+)\n\n", told.text)
    if found is None or found.group(2) not in known:
        return
    if len(re.findall(r"^#{1,6} ", told.text, re.MULTILINE)) > 1:
        return
    others = {_EN: ("Overview", "Summary", "Answer"), Language.RU: ("Обзор", "Кратко", "Ответ")}[told.case.language]
    way = dice.random()
    if way < 0.55:
        yield Edit(old=found.group(), new=""), "taken away"
    elif way < 0.8:
        yield Edit(old=found.group(), new=f"{found.group(1)}{dice.choice(others)}\n\n"), "another heading"
    else:
        yield Edit(old=found.group(), new=f"{found.group(2)}:\n\n"), "in running text"


_FORBIDDEN: Final = {
    _EN: (
        "As an AI language model, I would put it like this: {}",
        "As an AI language model I have no access to your machine, but {}",
        "Speaking as an AI language model: {}",
        "Please note that, as an AI language model, I only repeat the documents: {}",
        "AS AN AI LANGUAGE MODEL, I RECOMMEND: {}",
        "as an AI language model, I suggest the following: {}",
    ),
    Language.RU: (
        "Как языковая модель, я бы сказала так: {}",
        "Как языковая модель я не имею доступа к вашему компьютеру, но {}",
        "Я, как языковая модель, могу лишь пересказать документы: {}",
        "Отвечаю как языковая модель: {}",
        "КАК ЯЗЫКОВАЯ МОДЕЛЬ, Я СОВЕТУЮ: {}",
        "As an AI language model, {}",
    ),
}


def forbidden_phrases(told: CitedDraft, dice: Random) -> Iterator[Found]:
    """Begin a claim with a phrase that the profile forbids."""
    if told.case.request_type is not RequestType.HOWTO_POLICY:
        return
    claims = [(start, part) for start, part in told.claims() if len(part) > 20]
    if not claims:
        return
    start, part = dice.choice(claims)
    marker = re.match(r"\s*(?:\d+[.)]|[-*])?\s*", part)
    begin = start + (marker.end() if marker else 0)
    word = re.match(r"\S+", told.text[begin:])
    if word is None:
        return
    first = word.group()
    lowered = first if first[:1] in "`*" or first[:2].isupper() else first[:1].lower() + first[1:]
    if edit := told.edit(begin, begin + len(first), dice.choice(_FORBIDDEN[told.case.language]).format(lowered)):
        yield edit, "a forbidden phrase"


# ---------------------------------------------------------------------------------------------------------- policy


def add_shape(label: DraftLabel) -> Callable[[CitedDraft, Random], Iterator[Found]]:
    """Return what adds a value of a shape that no answer may have, in a cited sentence or in code."""

    def add(told: CitedDraft, dice: Random) -> Iterator[Found]:
        shape: Shape = dice.choice(SHAPES[label])
        value, sentence = shape.make(dice), dice.choice(shape.sentences[told.case.language])
        mark = f"[{dice.choice(CITE.findall(told.text))}]"
        said = sentence.format(value=value, mark=mark)
        text = told.text
        joined = (
            "\n\n"
            if text.rstrip()[-1] in "`|" or "\n" in said or re.search(r"\n\s*(?:[-*]|\d+\.) [^\n]*$", text)
            else " "
        )
        end = len(text)
        start = max(text.rfind("\n", 0, end - 1), text.rfind(" ", 0, end - 1)) + 1
        if edit := told.edit(start, end, text[start:end] + joined + said):
            yield edit, shape.name

    return add


def thin_evidence(told: CitedDraft, dice: Random) -> tuple[tuple[str | EvidenceItem, ...], str] | None:
    """Return evidence that is too little or too weak, where the draft cites nothing but its first passage."""
    if {int(number) for number in CITE.findall(told.text)} != {1}:
        return None
    first = told.passages[0]
    if dice.random() < 0.6 or len(first.snippet) > 900:
        return (first.ref,), "one passage"
    return (first.model_copy(update={"confidence": round(dice.uniform(0.5, 0.58), 2)}),), "one weak passage"


FAULTS: Final[dict[DraftLabel, Callable[[CitedDraft, Random], Iterable[Found]]]] = {
    DraftLabel.WRONG_NUMBER: wrong_numbers,
    DraftLabel.SWAPPED_ENTITY: swapped_entities,
    DraftLabel.NEGATION: negations,
    DraftLabel.INVENTED_CITATION: invented_citations,
    DraftLabel.MISSING_CITATION: missing_citations,
    DraftLabel.MISSING_SECTION: missing_sections,
    DraftLabel.FORBIDDEN_PHRASE: forbidden_phrases,
    DraftLabel.LEAKED_SECRET: add_shape(DraftLabel.LEAKED_SECRET),
    DraftLabel.PERSONAL_DATA: add_shape(DraftLabel.PERSONAL_DATA),
    DraftLabel.FOREIGN_LINK: add_shape(DraftLabel.FOREIGN_LINK),
}


def faulty_drafts(
    label: DraftLabel,
    good: Sequence[DraftCase],
    passages: Mapping[str, EvidenceItem],
    seed: str,
    count: int,
    dropped: frozenset[str],
) -> list[DraftCase]:
    """Return so many drafts with one fault, each of another good one.

    `seed` is that of their order; each has dice of its own, so that dropping one changes no other. `dropped` are the
    bases whose edit turned out to be doubtful when it was read.
    """
    made: list[DraftCase] = []
    words = 0
    for told in shuffle(good, passages, seed):
        base, dice = told.case, _dice(f"{seed} {told.case.id}")
        found = [*FAULTS[label](told, dice)]
        if label is DraftLabel.WRONG_NUMBER and not found and words < NUMBER_WORDS:
            found = [*number_words(told, dice)]
            words += bool(found)
        found = [one for one in found if one[0].old != one[0].new and told.text.count(one[0].old) == 1]
        if not found or base.id in dropped:
            continue
        edit, note = dice.choice(found)
        made.append(DraftCase(id="new", language=base.language, label=label, base=base.id, edits=(edit,), note=note))
        if len(made) == count:
            break
    return made


def thin_drafts(
    good: Sequence[DraftCase], passages: Mapping[str, EvidenceItem], seed: str, count: int
) -> list[DraftCase]:
    """Return so many good drafts whose evidence is too thin."""
    made: list[DraftCase] = []
    for told in shuffle(good, passages, seed):
        if thin := thin_evidence(told, _dice(f"{seed} {told.case.id}")):
            evidence, note = thin
            fields = {"id": "new", "language": told.case.language, "label": DraftLabel.THIN_EVIDENCE, "note": note}
            made.append(DraftCase.model_validate({**fields, "base": told.case.id, "evidence": evidence}))
        if len(made) == count:
            break
    return made


def _dice(seed: str) -> Random:
    return Random(seed)  # nothing secret is drawn
