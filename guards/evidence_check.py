"""Is the evidence enough for this request type and track? (DT-006)"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Final

from contracts.decisions import EVIDENCE
from contracts.decisions.evidence import EvidenceRule, sources_to_ask
from contracts.enums import CheckStatus, Diversity, DraftKind, RequestType, RequiredAction, Source, Track
from contracts.evidence import EvidenceItem
from contracts.reasons import Reason, could_not_check
from contracts.report import Finding

NAME = "evidence"
_A = RequiredAction
_DOC_FOR_FIGURES = Reason("status_request_must_not_use_doc_as_primary")


@dataclass(frozen=True, slots=True)
class EvidenceQuestion:
    """The requirements for the evidence of one draft.

    Attributes:
        usable: The connected sources that the user's role may use.
        unreachable: Those of them that did not answer in this turn, or not every query.
        counted: The items to count and average: those that the draft cites; all evidence if left out.
        least: The number of items that QUALITY requires; if only db can answer, one is enough.
        sure: The confidence from which one item is enough, in (0, 1); `None` if there is no such limit.
        quoted: Whether the draft quotes word for word what surely answers: then one item is enough, too, and five sixths of
            the mean (0.5 in place of 0.6), if no more than the default is demanded.
        mean_enforced, mean_advised: Limits for the mean confidence on QUALITY, each in (0, 1).
    """

    request_type: RequestType
    track: Track
    kind: DraftKind
    evidence: Sequence[EvidenceItem]
    usable: frozenset[Source]
    unreachable: frozenset[Source] = frozenset()
    counted: Sequence[EvidenceItem] | None = None
    least: int = 2
    sure: float | None = None
    quoted: bool = False

    @property
    def items(self) -> Sequence[EvidenceItem]:
        """The items to count and average."""
        return self.evidence if self.counted is None else self.counted

    diversity: Diversity = Diversity.ADVISORY
    mean_enforced: float = 0.60
    mean_advised: float = 0.65


@dataclass(frozen=True, slots=True)
class _EvidenceFault:
    reason: Reason
    actions: tuple[RequiredAction, ...]


def check_evidence(question: EvidenceQuestion) -> Finding:
    """Judge sources, number, confidence and diversity; report every fault at once.

    Types without a source in DT-006, clarifications and abstentions need no evidence. A source that is not connected
    cannot be required. A needed source that did not answer makes the check `unchecked`, even for an abstention: an
    answer says "nothing found" only if the search could run. Other sources that did not answer are advice.
    """
    rule = EVIDENCE.decide(request_type=question.request_type).outcome
    if not rule.allowed() or question.kind is DraftKind.CLARIFICATION:
        return Finding(check=NAME, status=CheckStatus.NOT_ASKED, advice=tuple(_name_unasked(question.unreachable)))
    there = frozenset(item.source for item in question.evidence)
    needed = _needed_and_unasked(rule, question, there)
    advice = [*_not_connected(rule, question.usable), *_name_unasked(question.unreachable - needed)]
    if needed:
        return Finding(
            check=NAME,
            status=CheckStatus.UNCHECKED,
            reasons=(could_not_check(*sorted(needed)),),
            actions=(_A.ESCALATE_TO_HUMAN,),
            advice=tuple(advice),
        )
    if question.kind is DraftKind.ABSTENTION:
        return Finding(check=NAME, status=CheckStatus.NOT_ASKED, advice=tuple(advice))
    restricted = question.track is Track.FAST and not question.evidence
    faults = [] if restricted else _source_faults(rule, there, question.usable)
    if question.track is Track.QUALITY:
        faults += _quality_faults(rule, question)
        advice += _quality_advice(question)
    elif restricted:
        advice.append(Reason("no_evidence_so_nothing_definite_may_be_claimed"))
    diverse, hint = _diversity(rule, question)
    faults += diverse
    advice += hint
    return Finding(
        check=NAME,
        status=CheckStatus.FAILED if faults else CheckStatus.OK,
        reasons=tuple(fault.reason for fault in faults),
        actions=tuple(dict.fromkeys(action for fault in faults for action in fault.actions)),
        advice=tuple(advice),
    )


def _needed_and_unasked(rule: EvidenceRule, question: EvidenceQuestion, there: frozenset[Source]) -> frozenset[Source]:
    """Return the sources that could not be asked and without which the rule is not met."""
    needed = _find_needed(rule, question.usable)
    met = not _is_missing(rule, there, question.usable) if needed.intersection(rule.required) else bool(there)
    return frozenset() if met else question.unreachable.intersection(needed) - there


def _find_needed(rule: EvidenceRule, usable: frozenset[Source]) -> frozenset[Source]:
    """Return the sources that an answer can come from: the required ones, or those that stand in for them.

    What a rule only recommends adds to an answer and cannot give one.
    """
    return usable.intersection(rule.required) or frozenset(sources_to_ask(rule, usable))


def unchecked_sources(reasons: Iterable[Reason]) -> frozenset[Source]:
    """Return the sources that reasons name as needed but unanswered."""
    known = could_not_check().name
    named = {value for reason in reasons if reason.name == known for value in reason.values}
    return frozenset(source for source in Source if source in named)


def _name_unasked(sources: Iterable[Source]) -> list[Reason]:
    names = tuple(sorted(sources))
    return [Reason("could_not_ask", names)] if names else []


def _is_missing(rule: EvidenceRule, there: frozenset[Source], usable: frozenset[Source]) -> bool:
    if any(source in usable and source not in there for source in rule.all_of):
        return True
    return bool(usable.intersection(rule.any_of)) and not there.intersection(rule.any_of)


def _source_faults(rule: EvidenceRule, there: frozenset[Source], usable: frozenset[Source]) -> list[_EvidenceFault]:
    faults: list[_EvidenceFault] = []
    if there.intersection(rule.forbidden):
        faults.append(_EvidenceFault(_DOC_FOR_FIGURES, (_A.REMOVE_DOC_EVIDENCE, _A.USE_DB_ONLY)))
    if _is_missing(rule, there, usable):
        faults.append(_EvidenceFault(Reason(rule.reason), rule.remedy))
    return faults


def _not_connected(rule: EvidenceRule, usable: frozenset[Source]) -> list[Reason]:
    absent = [source for source in rule.all_of if source not in usable]
    if rule.any_of and not usable.intersection(rule.any_of):
        absent += rule.any_of
    return [Reason("required_source_not_connected", tuple(absent))] if absent else []


_IF_QUOTED: Final = 5 / 6
"""Share of the mean confidence that a sure quotation needs, if a profile does not demand more than usual."""
_USUAL_MEAN: Final = 0.6


def _quality_faults(rule: EvidenceRule, question: EvidenceQuestion) -> list[_EvidenceFault]:
    faults: list[_EvidenceFault] = []
    least = 1 if _only_db(rule, question.usable) or _one_suffices(question) else question.least
    if len(question.items) < least:
        faults.append(
            _EvidenceFault(Reason("insufficient_evidence_count", (str(least),)), (_A.ADD_EVIDENCE, _A.RETRIEVE_MORE))
        )
    mean = _mean(question.items)
    # Confidence falls with the length of a question. Whether what is quoted answers it, relevance has found out.
    # Who demands more than usual demands it of quotations, too.
    surely_quoted = question.sure is not None and question.quoted and question.mean_enforced <= _USUAL_MEAN
    least_mean = question.mean_enforced * (_IF_QUOTED if surely_quoted else 1.0)
    if question.items and mean < least_mean:
        faults.append(
            _EvidenceFault(
                Reason("low_evidence_confidence", (_rounded_down(mean),)), (_A.RETRIEVE_MORE, _A.REFINE_QUERY)
            )
        )
    return faults


def _one_suffices(question: EvidenceQuestion) -> bool:
    if question.sure is None:
        return False
    return question.quoted or any(item.confidence >= question.sure for item in question.items)


def _only_db(rule: EvidenceRule, usable: frozenset[Source]) -> bool:
    """Whether only the database can answer: a figure has one true row."""
    return _find_needed(rule, usable) == frozenset({Source.DB})


def _quality_advice(question: EvidenceQuestion) -> list[Reason]:
    mean = _mean(question.items)
    if question.items and question.mean_enforced <= mean < question.mean_advised:
        return [Reason("evidence_confidence_below_advised", (_rounded_down(mean),))]
    return []


def _diversity(rule: EvidenceRule, question: EvidenceQuestion) -> tuple[list[_EvidenceFault], list[Reason]]:
    if question.diversity is Diversity.OFF or not question.evidence or question.track is Track.FAST:
        return [], []
    # Where one kind of source alone can answer, two documents are as diverse as it gets, and of a row there is one.
    one_kind = len(_find_needed(rule, question.usable)) < 2
    seen = {item.document_key if one_kind else item.source for item in question.evidence}
    if len(seen) >= (1 if _only_db(rule, question.usable) else 2):
        return [], []
    reason = Reason("low_source_diversity", ("2",))
    if question.diversity is Diversity.REQUIRED:
        return [_EvidenceFault(reason, (_A.DIVERSIFY_SOURCES, _A.RETRIEVE_MORE))], []
    return [], [reason]


def _rounded_down(mean: float) -> str:
    """Write a mean so that one under the limit never reads as the limit itself."""
    return f"{math.floor(round(mean * 100, 6)) / 100:.2f}"


def _mean(evidence: Sequence[EvidenceItem]) -> float:
    """Return the mean confidence; three times 0.6 is 0.6, which a sum of floats misses by its last digit."""
    return round(fmean(item.confidence for item in evidence), 9) if evidence else 0.0
