"""Good drafts once more, with harmless edits that are recorded: other formats, units, marks, words and orders."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from random import Random
from typing import Final

from contracts.enums import Language
from contracts.evidence import EvidenceItem
from evals.cases import DraftCase, DraftLabel, Edit
from evals.copies.rewriting import REWRITES, outside_quotes, reshape
from tools.making.cited_drafts import CitedDraft, shuffle

PER_KIND: Final = 14
"""Variants of one kind and language, where the handbook has so many places for it."""
_MARK: Final = re.compile(r"\s*\[\d+\]")


def variants(
    good: Sequence[DraftCase], passages: Mapping[str, EvidenceItem], seed: str, language: Language
) -> list[DraftCase]:
    """Return variants of good drafts, each with one edit, spread over the kinds of edits."""
    made: list[DraftCase] = []
    kinds: Counter[str] = Counter()
    for told in shuffle(good, passages, seed):
        dice = Random(f"{seed} {told.case.id}")  # nothing secret is drawn
        found = [(kind, edit) for kind, edit in _harmless(told, language, dice) if kinds[kind] < PER_KIND]
        if not found:
            continue
        # The rarest first: there are few places with a unit or a date.
        kind, edit = min(found, key=lambda one: (kinds[one[0]], one[0]))
        kinds[kind] += 1
        fields = {"id": "new", "language": language, "label": DraftLabel.GOOD, "note": kind}
        made.append(DraftCase.model_validate({**fields, "base": told.case.id, "edits": (edit,)}))
    return made


def _harmless(told: CitedDraft, language: Language, dice: Random) -> Iterator[tuple[str, Edit]]:
    for start, claim in told.claims():
        text = _MARK.split(claim)[0]
        for one in REWRITES[language]:
            by = dice.choice(one.by)
            new = outside_quotes(text, lambda part: one.pattern.sub(by, part, count=1))  # noqa: B023  # called at once
            if new != text and (edit := told.edit(start, start + len(text), new)):
                yield one.name, edit
        for name, new in reshape(text, language, dice):
            if edit := told.edit(start, start + len(text), new):
                yield name, edit
