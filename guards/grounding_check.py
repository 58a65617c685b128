"""Does each claim rest on what it cites?

Each claim of the draft (`language.claims`) must cite evidence of this turn as `[n]`, and every number, version,
identifier, URL and quoted name in it must occur in a snippet it cites. Lexical dissimilarity is advice only: no
threshold of it carries over from one kind of text to another.
"""

from __future__ import annotations

from collections.abc import Sequence

from contracts.evidence import EvidenceItem
from contracts.report import Finding
from contracts.values import CheckStatus, DraftKind, RequestType, RequiredAction, ResponseFormat
from language.claims import claims, without_citations
from language.values import missing_from
from language.words import stems

NAME = "grounding"
_A = RequiredAction
_DISSIMILAR = 0.34


def check_grounding(
    draft: str,
    evidence: Sequence[EvidenceItem],
    *,
    request_type: RequestType,
    kind: DraftKind,
    response_format: ResponseFormat = ResponseFormat.MARKDOWN,
) -> Finding:
    """Judge every claim of an answer; CASUAL turns, abstentions and clarifications are not asked.

    Unresolvable citations, claims without one, and values that no cited snippet has fail the check; and so does an
    answer that cites nothing at all, be it too short to claim anything.
    """
    if request_type is RequestType.CASUAL or kind is not DraftKind.ANSWER:
        return Finding(check=NAME, status=CheckStatus.NOT_ASKED)
    uncited: list[str] = []
    unresolvable: list[str] = []
    unsupported: list[str] = []
    advice: list[str] = []
    found_claims = claims(draft)
    for claim in found_claims:
        known = [number for number in claim.cites if 1 <= number <= len(evidence)]
        unresolvable += [f"[{number}]" for number in claim.cites if number not in known]
        if not claim.cites:
            uncited.append(_short(claim.text))
        elif known:
            cited = "\n".join(_citable(evidence[number - 1]) for number in known)
            unsupported += missing_from(claim.text, cited)
            if _overlap(claim.text, cited) < _DISSIMILAR:
                advice.append(f"claim_unlike_its_source=[{_short(claim.text)}]")
    if not any(claim.cites for claim in found_claims) and not uncited:
        # "Yes." answers, and a heading or an item of one word may: whoever reads it takes it for a fact.
        uncited.append(_short(draft))
    faults = [
        ("claim_without_citation", uncited, (_A.ADD_EVIDENCE_REFERENCES, _A.REGENERATE_DRAFT)),
        ("citation_unresolvable", unresolvable, (_A.ADD_EVIDENCE_REFERENCES, _A.REGENERATE_DRAFT)),
        ("value_not_in_cited_evidence", unsupported, (_A.REGENERATE_DRAFT,)),
    ]
    found = [(name, dict.fromkeys(items), actions) for name, items, actions in faults if items]
    return Finding(
        check=NAME,
        status=CheckStatus.FAILED if found else CheckStatus.OK,
        reasons=tuple(f"{name}=[{', '.join(items)}]" for name, items, _ in found),
        actions=tuple(dict.fromkeys(action for *_, actions in found for action in actions)),
        advice=tuple(advice),
    )


def _citable(item: EvidenceItem) -> str:
    return "\n".join(filter(None, (item.title, item.heading, item.snippet, item.found)))


def _overlap(claim: str, snippet: str) -> float:
    wanted = set(stems(without_citations(claim)))
    return len(wanted.intersection(stems(snippet))) / len(wanted) if wanted else 1.0


def _short(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= 60 else flat[:57] + "..."
