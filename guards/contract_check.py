"""Does the draft keep the contract of its request type? (`ArchitectSpec`)"""

from __future__ import annotations

import re

from contracts.report import Finding
from contracts.spec import ArchitectSpec
from contracts.values import CheckStatus, DraftKind, RequiredAction, Track
from language.blocks import BlockKind, blocks, heading_text
from language.clean import fold
from language.forbidden import forbidden_in
from language.words import Phrases

NAME = "contract"
_A = RequiredAction


def check_contract(draft: str, spec: ArchitectSpec, *, track: Track, kind: DraftKind) -> Finding:
    """Judge sections, forbidden content and domain terms; report every fault at once.

    FAST drafts, abstentions and clarifications are not asked. A heading counts at any level and in any
    case; a word in running text is no section. Terms match by stems on token boundaries.
    """
    if track is Track.FAST or kind is not DraftKind.ANSWER:
        return Finding(check=NAME, status=CheckStatus.NOT_ASKED)
    reasons: list[str] = []
    actions: list[RequiredAction] = []
    if missing := missing_sections(draft, spec):
        reasons.append(f"missing_required_sections=[{', '.join(missing)}]")
        actions += (_A.ADD_REQUIRED_SECTIONS, _A.REGENERATE_DRAFT)
    if hits := forbidden_content(draft, spec):
        reasons.append(f"forbidden_content_detected=[{', '.join(hits)}]")
        actions += (_A.REMOVE_FORBIDDEN_CONTENT, _A.REGENERATE_DRAFT)
    if spec.domain_terms and not Phrases(spec.domain_terms).find(draft):
        reasons.append("domain_terms_not_used")
        actions += (_A.USE_DOMAIN_TERMS, _A.REGENERATE_DRAFT)
    return Finding(
        check=NAME,
        status=CheckStatus.FAILED if reasons else CheckStatus.OK,
        reasons=tuple(reasons),
        actions=tuple(dict.fromkeys(actions)),
    )


def missing_sections(draft: str, spec: ArchitectSpec) -> list[str]:
    """Return the names of the required sections that have no heading in the draft."""
    found = {_comparable(heading_text(block.text)) for block in blocks(draft) if block.kind is BlockKind.HEADING}
    return [
        section.name
        for section in spec.required_sections
        if not found.intersection(_comparable(heading) for heading in section.headings())
    ]


def forbidden_content(text: str, spec: ArchitectSpec) -> list[str]:
    """Return the forbidden phrases and expressions that occur; `/.../` is an expression, all else a phrase."""
    return forbidden_in(spec.forbidden_content, text)


def _comparable(heading: str) -> str:
    return " ".join(re.sub(r"[*_`:]", " ", fold(heading)).split())
