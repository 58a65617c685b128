"""Does each claim follow from the texts that it cites? An external checker answers, if one is connected.

Grounding looks for the values of a claim in the passages that it cites, but "can" and "cannot" have the same values. A
checker reads both texts. Its answer is advice, or part of the verdict if the run's settings say so.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from contracts.enums import CheckStatus, ClaimStatus, Entailment, EntailmentMode, RequiredAction
from contracts.evidence import EvidenceItem
from contracts.ports import EntailmentAnswer, EntailmentQuestion
from contracts.reasons import Reason, broke, could_not_check
from contracts.report import ClaimFinding, Finding
from language.blocks import BlockKind, blocks
from language.claims import without_citations
from language.truncation import in_short

LEAST_CONFIDENCE: Final = 0.5
"""From this confidence on a checker's word counts; below, it has said neither yes nor no."""
NOT_ENTAILED: Final = "claim_not_entailed"
CONTRADICTED: Final = "claim_contradicted"
NOT_ASKED: Final = "claim_not_asked"
_NAME: Final = "entailment"
_BEFORE_MARK: Final = re.compile(r"(?<! ) ++(?=[.,;:!?…])")
_ROW: Final = re.compile(r"\|[^\n]*\|")
"""A row of a table begins with a bar and has another."""
_MARKER: Final = re.compile(r"^(?:[-*+]|\d{1,9}[.)]) ")
_REMARKS: Final = {Entailment.NEUTRAL: NOT_ENTAILED, Entailment.CONTRADICTED: CONTRADICTED}


def entailment_questions(grounding: Finding, evidence: Sequence[EvidenceItem]) -> list[EntailmentQuestion]:
    """Return the questions on the claims that grounding found supported, in their order.

    Code and table rows are not sentences, so they are left out.
    """
    claims = [grounding.claims[place] for place in _select(grounding)]
    return [EntailmentQuestion(_words_of(claim), _join_cited(claim, evidence)) for claim in claims]


def with_entailment(grounding: Finding, answers: Sequence[EntailmentAnswer | None], mode: EntailmentMode) -> Finding:
    """Return the grounding finding with the checker's answers: as advice, or as reasons if they are binding.

    If they are binding, an unasked sentence leaves the draft unchecked. Code and rows, which are never asked about, are
    named as advice.

    Args:
        grounding: The finding that the questions were made from.
        answers: One for each question, in order; `None` if a question was not asked.
        mode: Not `off`.
    """
    places = _select(grounding)
    if len(answers) != len(places):
        return without_entailment(grounding, mode, f"{len(answers)} answers to {len(places)} questions")
    binding = mode is EntailmentMode.BINDING
    claims = list(grounding.claims)
    found: dict[str, list[str]] = {NOT_ENTAILED: [], CONTRADICTED: [], NOT_ASKED: []}
    for place, answer in zip(places, answers, strict=True):
        remark = _remark(answer)
        if remark:
            found[remark].append(in_short(claims[place].text))
            claims[place] = _mark(claims[place], remark, mode)
    unasked = bool(found[NOT_ASKED])
    if binding:
        for place in _left_out(grounding, places):
            found[NOT_ASKED].append(in_short(claims[place].text))
            claims[place] = _mark(claims[place], NOT_ASKED, mode)
    said = {NOT_ASKED: found[NOT_ASKED]} if binding else found
    advice = (*grounding.advice, *(_reason(name, items) for name, items in said.items() if items))
    checked = grounding.model_copy(update={"advice": advice, "claims": tuple(claims)})
    if binding and (found[NOT_ENTAILED] or found[CONTRADICTED]):
        in_order = [in_short(claim.text) for claim in claims if claim.status is ClaimStatus.NOT_ENTAILED]
        return _object_to(checked, CheckStatus.FAILED, _reason(NOT_ENTAILED, in_order), RequiredAction.REGENERATE_DRAFT)
    return _report_unchecked(checked) if binding and unasked else checked


def without_entailment(grounding: Finding, mode: EntailmentMode, why: str) -> Finding:
    """Return the grounding finding if the checker did not answer: unchecked if it is binding, else with a remark.

    Args:
        grounding: The finding without the checker; its reasons are kept.
        mode: Not `off`.
        why: Why the checker did not answer, for operators.
    """
    if mode is not EntailmentMode.BINDING:
        return grounding.model_copy(update={"advice": (*grounding.advice, Reason("could_not_ask", (_NAME,)))})
    noted = grounding.model_copy(update={"advice": (*grounding.advice, broke(_NAME, why))})
    return _report_unchecked(noted)


def _report_unchecked(grounding: Finding) -> Finding:
    return _object_to(grounding, CheckStatus.UNCHECKED, could_not_check(_NAME), RequiredAction.ESCALATE_TO_HUMAN)


def _select(grounding: Finding) -> list[int]:
    """Return the places of the claims that are asked about."""
    return [place for place in _find_supported(grounding) if _is_sentence(grounding.claims[place].text.strip())]


def _left_out(grounding: Finding, asked: Sequence[int]) -> list[int]:
    """Return the places of the claims that say something, and are not asked about."""
    return [place for place in _find_supported(grounding) if place not in asked]


def _find_supported(grounding: Finding) -> list[int]:
    return [
        place
        for place, claim in enumerate(grounding.claims)
        if claim.status is ClaimStatus.SUPPORTED and claim.cites and _words_of(claim)
    ]


def _is_sentence(text: str) -> bool:
    """Whether a claim is no code, no table, and no row of one: a bar inside a sentence makes none of it."""
    if _ROW.match(text):
        return False
    return all(block.kind not in (BlockKind.CODE, BlockKind.TABLE) for block in blocks(text))


def _words_of(claim: ClaimFinding) -> str:
    """Return a claim as a plain sentence: on one line, without the marker of a list and without citations."""
    return _BEFORE_MARK.sub("", _MARKER.sub("", " ".join(without_citations(claim.text).split())))


def _join_cited(claim: ClaimFinding, evidence: Sequence[EvidenceItem]) -> str:
    items = [evidence[number - 1] for number in claim.cites if 1 <= number <= len(evidence)]
    texts = ["\n".join(filter(None, (item.title, item.heading, item.snippet, item.found))) for item in items]
    return "\n\n".join(texts)


def _remark(answer: EntailmentAnswer | None) -> str:
    """Return what is to be said of a claim; nothing where it follows."""
    if answer is None:
        return NOT_ASKED
    sure = answer.confidence >= LEAST_CONFIDENCE
    return _REMARKS.get(answer.entailment if sure else Entailment.NEUTRAL, "")


def _mark(claim: ClaimFinding, remark: str, mode: EntailmentMode) -> ClaimFinding:
    update: dict[str, object] = {"advice": (*claim.advice, remark)}
    if mode is EntailmentMode.BINDING and remark != NOT_ASKED:
        update["status"] = ClaimStatus.NOT_ENTAILED
    return claim.model_copy(update=update)


def _object_to(grounding: Finding, status: CheckStatus, reason: Reason, action: RequiredAction) -> Finding:
    return grounding.model_copy(
        update={
            "status": status,
            "reasons": (*grounding.reasons, reason),
            "actions": tuple(dict.fromkeys((*grounding.actions, action))),
        }
    )


def _reason(name: str, items: Sequence[str]) -> Reason:
    return Reason(name, tuple(dict.fromkeys(items)))
