"""Does each claim rest on what it cites?

A claim is a sentence, a list item, a table or a code block of the draft. It must cite evidence of this turn
as `[n]`, and every number, version, identifier, URL and quoted name in it must occur in a snippet it cites.
Lexical dissimilarity is advice only: no threshold of it carries over from one kind of text to another.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from contracts.evidence import EvidenceItem
from contracts.report import Finding
from contracts.values import CheckStatus, DraftKind, RequestType, RequiredAction
from language.blocks import Block, BlockKind, blocks, without_code
from language.sentences import sentences
from language.values import Values, missing_from, values
from language.words import stems

NAME = "grounding"
_A = RequiredAction
_CITATION = re.compile(r"\[(\d{1,3})\]")
_QUOTE_MARK = re.compile(r"^ {0,3}> ?", re.MULTILINE)
_DISSIMILAR = 0.34


@dataclass(frozen=True, slots=True)
class Claim:
    """Something the draft asserts, and the numbers of the evidence it cites for it (counted from 1)."""

    text: str
    cites: tuple[int, ...]


def check_grounding(
    draft: str, evidence: Sequence[EvidenceItem], *, request_type: RequestType, kind: DraftKind
) -> Finding:
    """Judge every claim of an answer; CASUAL turns, abstentions and clarifications are not asked.

    Unresolvable citations, claims without one, and values that no cited snippet has fail the check.
    """
    if request_type is RequestType.CASUAL or kind is not DraftKind.ANSWER:
        return Finding(check=NAME, status=CheckStatus.NOT_ASKED)
    uncited: list[str] = []
    unresolvable: list[str] = []
    unsupported: list[str] = []
    advice: list[str] = []
    for claim in claims(draft):
        known = [number for number in claim.cites if 1 <= number <= len(evidence)]
        unresolvable += [f"[{number}]" for number in claim.cites if number not in known]
        if not claim.cites:
            uncited.append(_short(claim.text))
        elif known:
            cited = "\n".join(_citable(evidence[number - 1]) for number in known)
            unsupported += missing_from(claim.text, cited)
            if _overlap(claim.text, cited) < _DISSIMILAR:
                advice.append(f"claim_unlike_its_source=[{_short(claim.text)}]")
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


def claims(draft: str) -> list[Claim]:
    """Return the claims of a draft in order; headings, questions and courtesies are none."""
    found = blocks(draft)
    return [claim for position, block in enumerate(found) for claim in _claims_of(block, found, position)]


def _claims_of(block: Block, found: list[Block], position: int) -> Iterator[Claim]:
    match block.kind:
        case BlockKind.HEADING:
            return
        case BlockKind.QUOTE:
            yield from claims(_QUOTE_MARK.sub("", block.text))
        case BlockKind.PARAGRAPH:
            for text in _cited_sentences(block.text):
                if _asserts(text):
                    yield Claim(text, _cites(text))
        case BlockKind.BULLETS | BlockKind.STEPS:
            for item in block.parts:
                if _asserts(item):
                    yield Claim(item, _cites(item))
        case BlockKind.CODE | BlockKind.TABLE | BlockKind.OTHER:
            # A code block or a table cannot carry a mark inside; the line that leads into it, or follows it, does.
            inside = _cites(block.text) if block.kind is BlockKind.TABLE else ()
            around = [found[i] for i in (position - 1, position + 1) if 0 <= i < len(found)]
            lead = next((cites for other in around if (cites := _cites(other.text))), ())
            yield Claim(block.text, inside or lead)


def _cited_sentences(text: str) -> list[str]:
    """Split a paragraph into sentences; a citation behind the full stop belongs to the sentence before it."""
    joined: list[str] = []
    for part in sentences(text):
        marks = re.match(r"^(?:\[\d{1,3}\]\s*)+", part)
        if marks and joined:
            joined[-1] = f"{joined[-1]} {marks.group().strip()}"
            part = part[marks.end() :].strip()
        if part:
            joined.append(part)
    return joined


def _cites(text: str) -> tuple[int, ...]:
    return tuple(dict.fromkeys(int(n) for n in _CITATION.findall(without_code(text))))


def _asserts(text: str) -> bool:
    bare = _CITATION.sub("", text).strip()
    if bare.endswith("?"):
        return False
    # What cites or names something asserts it, however short; without either, three words say something.
    return bool(_cites(text)) or values(bare) != Values() or len(stems(bare)) >= 3


def _citable(item: EvidenceItem) -> str:
    return "\n".join(filter(None, (item.title, item.heading, item.snippet)))


def _overlap(claim: str, snippet: str) -> float:
    wanted = set(stems(_CITATION.sub("", claim)))
    return len(wanted.intersection(stems(snippet))) / len(wanted) if wanted else 1.0


def _short(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= 60 else flat[:57] + "..."
