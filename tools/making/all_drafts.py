"""All cases of one language: good drafts made and written by hand, abstentions, and drafts with one fault each."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from random import Random
from typing import Any, Final

from contracts.enums import Language, RequestType
from contracts.evidence import EvidenceItem
from evals.cases import DraftCase, DraftLabel
from tools.making.abstaining import abstentions
from tools.making.faults import FAULTS, faulty_drafts, thin_drafts
from tools.making.good import good_drafts
from tools.making.variants import variants

HERE: Final = Path(__file__).resolve().parent
SEED: Final = 20261122
GOOD: Final = 580
"""Good drafts made per language, beside those written by hand."""
FAULTY: Final = {
    DraftLabel.WRONG_NUMBER: 110,
    DraftLabel.SWAPPED_ENTITY: 90,
    DraftLabel.INVENTED_CITATION: 80,
    DraftLabel.LEAKED_SECRET: 102,
    DraftLabel.NEGATION: 80,
}
"""Drafts per fault and language; of the others, `FEWER`."""
FEWER: Final = 66
ABSTAINING: Final = 75


def all_drafts(language: Language, passages: Mapping[str, EvidenceItem]) -> list[DraftCase]:
    """Make all cases of one language; the same passages give the same cases."""
    written = _read_written(language, passages)
    good = [*written, *good_drafts(language, passages, _dice("good", language), GOOD)]
    mine = [item for item in passages.values() if item.language is language]
    cases = {
        "variant": variants(good, passages, _seed("variant", language), language),
        "abstention": abstentions(language, mine, _dice("abstention", language), ABSTAINING),
        "thin_evidence": thin_drafts(good, passages, _seed("thin", language), FEWER),
    }
    dropped = _read_dropped()
    for label in FAULTS:
        count = FAULTY.get(label, FEWER)
        cases[label] = faulty_drafts(label, good, passages, _seed(label, language), count, dropped[label])
    numbered = [
        case.model_copy(update={"id": f"{language}-{label}-{number:03}"})
        for label, of_label in cases.items()
        for number, case in enumerate(of_label, 1)
    ]
    return [*good, *numbered]


def _dice(what: str, language: Language) -> Random:
    return Random(_seed(what, language))  # nothing secret is drawn


def _seed(what: str, language: Language) -> str:
    return f"{SEED} {what} {language}"


def _read_written(language: Language, passages: Mapping[str, EvidenceItem]) -> list[DraftCase]:
    """Return the drafts written by hand, each with further passages beside those that it cites."""
    mine = [item for item in passages.values() if item.language is language]
    by_name = {item.ref.split(":", 1)[1].replace(".md", ""): item.ref for item in mine}
    made: list[DraftCase] = []
    dice = _dice("written", language)
    drafts: list[dict[str, Any]] = tomllib.loads((HERE / f"written_{language}.toml").read_text("utf-8"))["draft"]
    for number, draft in enumerate(drafts, 1):
        evidence = [by_name[f"{language}/{name}"] for name in draft["cites"]]
        while len(evidence) < 2 or (len(evidence) < 6 and dice.random() < 0.5):
            other = dice.choice(mine).ref
            evidence += [other] if other not in evidence else []
        made.append(
            DraftCase(
                id=f"{language}-written-{number:03}",
                language=language,
                label=DraftLabel.GOOD,
                note="written by hand",
                question=draft["question"],
                request_type=RequestType(draft.get("type", "KNOWLEDGE_QA")),
                evidence=tuple(evidence),
                draft=draft["text"].strip(),
            )
        )
    return made


def _read_dropped() -> dict[DraftLabel, frozenset[str]]:
    """Return, by label, the bases whose edit was found doubtful when it was read."""
    lines = [
        line.split() for line in (HERE / "dropped.txt").read_text("utf-8").splitlines() if line[:1] not in ("", "#")
    ]
    return {label: frozenset(base for name, base, *_ in lines if name == label) for label in DraftLabel}
