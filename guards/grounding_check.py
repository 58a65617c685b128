"""Do the cited passages support each claim?

Each claim of the draft (`language.claims`) must cite evidence of this turn as `[n]`. Every number with its unit,
version, date, identifier, URL and quoted name in it must occur in a cited snippet. A claim that nearly copies a
sentence must not reverse it (`language.fidelity.near_copy`), and no claim may promise what its sources do not mention
(`language.fidelity.promises`). Mere hints of a fault are advice: few words in common, or a denial or a name that the
source does not have. Their thresholds do not carry over from one kind of text to another.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

from contracts.enums import CheckStatus, ClaimStatus, DraftKind, RequestType, RequiredAction, ResponseFormat
from contracts.evidence import EvidenceItem
from contracts.reasons import Reason, write_reasons
from contracts.report import ClaimFinding, Finding
from language.claims import Claim, asides, claims, opener, strip_label, titles, without_citations
from language.clean import fold
from language.fidelity.bindings import bound_wrongly, own_arguments, takes_argument
from language.fidelity.exchanges import find_exchanges
from language.fidelity.likeness import inventions, likeness
from language.fidelity.near_copy import changes, is_copied
from language.fidelity.negation import polarity_differs, read_yes_or_no
from language.fidelity.number_pairs import swapped_numbers
from language.fidelity.promises import promises_of_nobody
from language.fidelity.rephrasing import turned_round
from language.fidelity.step_order import misordered_steps
from language.fidelity.tables import from_other_rows
from language.figures.comparison import missing_values
from language.figures.nearest import exchanged_values
from language.figures.passage import ReadPassage, passage
from language.figures.values import code_parts, values
from language.markup import in_markdown
from language.names import is_gloss, is_translated, names_missing, names_of_nobody
from language.patterns import read_wording
from language.sentences import sentences
from language.truncation import in_short
from language.words import stems, tokens

_WORDING: Final = read_wording(__name__)

NAME = "grounding"
_A = RequiredAction
_DISSIMILAR = 0.34
_BORROWED = 0.5
"""Share of the words of a line that passages must exceed where it leads into what cites them, with no word in common."""
_ACTIONS: Final = {
    "claim_without_citation": (_A.ADD_EVIDENCE_REFERENCES, _A.REGENERATE_DRAFT),
    "citation_unresolvable": (_A.ADD_EVIDENCE_REFERENCES, _A.REGENERATE_DRAFT),
    "value_not_in_cited_evidence": (_A.REGENERATE_DRAFT,),
    "claim_changes_its_source": (_A.REGENERATE_DRAFT,),
    "claim_unlike_its_source": (_A.REGENERATE_DRAFT,),
    "value_used_wrongly": (_A.REGENERATE_DRAFT,),
}


def check_grounding(  # noqa: PLR0913  # each says something else of the one draft
    draft: str,
    evidence: Sequence[EvidenceItem],
    *,
    request_type: RequestType,
    kind: DraftKind,
    response_format: ResponseFormat = ResponseFormat.MARKDOWN,
    question: str = "",
    sections: Iterable[str] = (),
    names: Iterable[str] = (),
    quoted: bool = False,
) -> Finding:
    """Judge every claim of an answer; CASUAL turns, abstentions and clarifications are not checked.

    Unresolvable citations, claims without citations, and values that no cited snippet has fail the check. So does an
    answer without citations, even if it is too short to claim anything. The finding's `claims` say the same for each
    claim, in the order of the draft.

    A claim that has hardly a word of its sources fails, unless the draft was built from quotations (`quoted`). So does
    a name that is in no passage, not in the question and not in `names`, texts with names that any answer may say.
    `sections` are the contract's section headings: a heading may use their words and those of the question and the
    evidence.
    """
    if request_type is RequestType.CASUAL or kind is not DraftKind.ANSWER:
        return Finding(check=NAME, status=CheckStatus.NOT_ASKED)
    anybodys = passage("\n".join((question, *names)))
    judged = [
        _judge(claim, draft, evidence, question, anybodys, quoted=quoted) for claim in claims(draft, response_format)
    ]
    if response_format is not ResponseFormat.JSON:
        judged += _titles(draft, evidence, " ".join((question, *sections)), judged)
    asked = [tokens(sentence) for sentence in (question, *sentences(question))]
    says = any(_rests(one.finding) and not _asks(one.finding.text, asked) for one in judged)
    if not says and not any(one.uncited for one in judged):
        # "Unlimited" answers, and a heading of one word may: whoever reads it takes it for a fact. A bare mark does not,
        # and neither does a question, such as the user's own with a citation behind it.
        whole = ClaimFinding(text=draft, end=len(draft), status=ClaimStatus.UNCITED)
        judged.append(_JudgedClaim(whole, uncited=(in_short(draft),)))
    faults = {
        "claim_without_citation": [item for one in judged for item in one.uncited],
        "citation_unresolvable": [item for one in judged for item in one.unresolvable],
        "value_not_in_cited_evidence": [item for one in judged for item in one.finding.missing],
        "claim_changes_its_source": [
            *(item for one in judged for item in one.changed),
            *misordered_steps((one.finding.text, one.cited) for one in judged),
        ],
        "claim_unlike_its_source": [item for one in judged for item in one.unlike],
        "value_used_wrongly": [item for one in judged for item in one.misused],
    }
    found = {name: dict.fromkeys(items) for name, items in faults.items() if items}
    return Finding(
        check=NAME,
        status=CheckStatus.FAILED if found else CheckStatus.OK,
        reasons=tuple(Reason(name, tuple(items)) for name, items in found.items()),
        actions=tuple(dict.fromkeys(action for name in found for action in _ACTIONS[name])),
        advice=tuple(dict.fromkeys(remark for one in judged for remark in one.remarks)),
        claims=tuple(one.finding for one in judged),
        faithfulness=_faithfulness(judged),
    )


def _faithfulness(judged: Sequence[_JudgedClaim]) -> float | None:
    shares = [0.0 if one.finding.status is not ClaimStatus.SUPPORTED else one.likeness for one in judged]
    known = [share for share in shares if share is not None]
    return round(sum(known) / len(known), 3) if known else None


def _titles(
    draft: str, evidence: Sequence[EvidenceItem], known: str, judged: Sequence[_JudgedClaim]
) -> list[_JudgedClaim]:
    """Return the headings, and what else cites nothing, whose words nobody said: neither user, contract nor evidence."""
    said = frozenset[str]().union(*map(stems, (known, " ".join(_USUAL), *map(_citable, evidence))))
    claimed = {one.finding.text for one in judged if one.uncited}
    found: list[_JudgedClaim] = []
    passages = [passage(_citable(item)) for item in evidence]
    # Of a translation, what is in bold is told in its sentence, and cannot be compared by itself.
    beside = (aside for aside in asides(draft) if not is_translated(aside, passages))
    for title in dict.fromkeys((*titles(draft), *beside)):
        words = set(stems(title))
        own = words - said
        is_sentence = title.rstrip(' *_~)»”"').endswith((".", "!", "…")) or bool(promises_of_nobody(title, passages))
        least = _OWN_WORDS if is_sentence else _OWN_WORDS + 1
        if len(own) >= least and len(own) > len(words) / 2 and not any(title in text for text in claimed):
            start = max(0, draft.find(title))
            end = start + len(title) if title in draft else 0
            finding = ClaimFinding(text=title, start=start, end=end, status=ClaimStatus.UNCITED)
            found.append(_JudgedClaim(finding, uncited=(in_short(title),)))
    return found


_OWN_WORDS: Final = 3
"""Content words that nobody said, from which on a sentence in bold is a claim, and a heading that promises something; another heading from one more on."""
_USUAL: Final = _WORDING.words("usual")


def is_quoted(finding: Finding, evidence: Sequence[EvidenceItem]) -> bool:
    """Whether the cited passages have each claim of a grounded draft word for word, marks aside."""
    if finding.status is not CheckStatus.OK:
        return False
    texts = {item.ref: f" {' '.join(tokens(_citable(item)))} " for item in evidence}
    claimed = [claim for claim in finding.claims if claim.refs]
    return bool(claimed) and all(
        any(f" {' '.join(tokens(without_citations(claim.text)))} " in texts[ref] for ref in claim.refs if ref in texts)
        for claim in claimed
    )


@dataclass(frozen=True, slots=True)
class _JudgedClaim:
    """What was found of a claim, and what of that the reasons name."""

    finding: ClaimFinding
    uncited: tuple[str, ...] = ()
    unresolvable: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    misused: tuple[str, ...] = ()
    unlike: tuple[str, ...] = ()
    cited: tuple[ReadPassage, ...] = ()
    likeness: float | None = None
    remarks: tuple[Reason, ...] = ()


def _judge(
    claim: Claim, draft: str, evidence: Sequence[EvidenceItem], question: str, anybodys: ReadPassage, *, quoted: bool
) -> _JudgedClaim:
    known = [number for number in claim.cites if 1 <= number <= len(evidence)]
    beside = [passage(_citable(item)) for number, item in enumerate(evidence, 1) if number not in known]
    unresolvable = tuple(f"[{number}]" for number in claim.cites if number not in known)
    cited = [passage(_citable(evidence[number - 1])) for number in known]
    said = strip_label(claim.text)
    missing = _find_missing(said, cited, question)
    bare = without_citations(said)
    # What stands there word by word is no rephrasing; yet a condition may have stood before it.
    verbatim = any(f" {' '.join(tokens(bare))} " in there.said for there in cited) or is_copied(bare, cited)
    if not missing and cited and not (quoted or verbatim):
        # A name that neither the question nor any passage has is nobody's.
        missing = names_of_nobody(bare, [*cited, *beside, anybodys], cited)
        missing = missing or ([] if _is_code(claim) else promises_of_nobody(bare, cited, question))

    def context() -> str:
        return f"{question}\n{draft.replace(claim.text, ' ', 1)}"

    changed = [] if missing else changes(bare, cited, context)
    changed = changed or ([] if missing or verbatim else turned_round(bare, cited) or find_exchanges(bare, cited))
    misused = [] if missing or verbatim else _find_misused(bare, cited, beside)
    share = _share(bare, cited)
    asked = cited and not (quoted or verbatim or claim.borrowed or _is_code(claim))
    unlike = [in_short(part) for part in inventions(bare, cited)] if asked else []
    uncited = (
        not claim.cites
        or (claim.borrowed and share <= _BORROWED)
        or (_is_code(claim) and not missing and share < _DISSIMILAR)
    )
    if uncited:
        status = ClaimStatus.UNCITED
    elif unresolvable:
        status = ClaimStatus.UNRESOLVABLE
    else:
        status = ClaimStatus.UNSUPPORTED if missing or changed or misused or unlike else ClaimStatus.SUPPORTED
    remarks = tuple(_advice(claim, cited)) if cited and not verbatim else ()
    finding = ClaimFinding(
        text=draft[claim.start : claim.end] if claim.end else claim.text,
        start=claim.start,
        end=claim.end,
        status=status,
        cites=() if uncited else claim.cites,
        refs=() if uncited else tuple(dict.fromkeys(evidence[number - 1].ref for number in known)),
        missing=tuple(missing),
        advice=write_reasons(remarks),
    )
    return _JudgedClaim(
        finding,
        uncited=(in_short(claim.text),) if uncited else (),
        unresolvable=unresolvable,
        changed=tuple(changed),
        misused=tuple(misused),
        unlike=() if uncited else tuple(in_short(claim.text) if part == in_short(bare) else part for part in unlike),
        cited=tuple(cited),
        likeness=likeness(bare, cited) if cited else None,
        remarks=remarks,
    )


def _find_missing(said: str, cited: list[ReadPassage], question: str) -> list[str]:
    """Return the values of a claim that nothing it cites has, or has for something else."""
    wanted = values(said, code=True)
    translated = is_translated(said, cited)
    missing = missing_values(wanted, cited) if cited else []
    sourced = said
    if missing and (own := _arguments_of_question(said, cited, question)):
        # What the user asks about stands in no source: "support-17".
        sourced = own.sub(" ", said)
        wanted = values(sourced, code=True)
        missing = missing_values(wanted, cited)
    if typed := frozenset(name for name in missing if takes_argument(name, cited, question)):
        wanted = replace(wanted, identifiers=wanted.identifiers - typed)
    missing = [name for name in missing if not (name in typed or (translated and is_gloss(name, said)))]
    return missing or exchanged_values(without_citations(sourced), wanted, cited)


def _arguments_of_question(claim: str, cited: Sequence[ReadPassage], question: str) -> re.Pattern[str] | None:
    """Return what finds the arguments that the question names and the commands of a claim take; `None` if there is none.

    Only names such as "support-17" are: a number, an amount, an address or a version must be the source's, whoever says it.
    """
    named = (word for word in _ARGUMENT.findall(fold(question)) if any(map(str.isdigit, word)))
    asked = {word for word in named if not any(figure.unit for figure in values(word).figures)}
    if not asked:
        return None
    code = [line.strip("` ") for part in code_parts(claim)[1::2] for line in part.split("\n")]
    own = {word for line in code for word in own_arguments(fold(line), cited, question) or ()} & asked
    if not own:
        return None
    return re.compile(
        rf"(?<![\w-])(?:{'|'.join(sorted(map(re.escape, own), key=len, reverse=True))})(?![\w-])", re.IGNORECASE
    )


_ARGUMENT: Final = re.compile(r"(?<![\w@./:-])[^\W\d_]{2,30}[-_][\w-]{1,40}(?![\w@/:-]|\.\w)")
"""A name such as "support-17", and no part of an address."""


def _find_misused(claim: str, cited: Sequence[ReadPassage], beside: Sequence[ReadPassage]) -> list[str]:
    return from_other_rows(claim, cited) or swapped_numbers(claim, cited) or bound_wrongly(claim, cited, beside)


def _is_code(claim: Claim) -> bool:
    """Whether a claim is a block of code, which cites nothing itself: what no source has a word of is not shown as one."""
    return claim.text.startswith(("```", "~~~", "    ", "\t"))


def _advice(claim: Claim, cited: list[ReadPassage]) -> Iterable[Reason]:
    said = without_citations(claim.text)
    if _share(said, cited) < _DISSIMILAR:
        yield Reason("claim_unlike_its_source", (in_short(claim.text),))
    first = opener(said)
    if polarity_differs(said.removeprefix(first), cited, opens=read_yes_or_no(first)):
        yield Reason("negation_differs", (in_short(claim.text),))
    if names := names_missing(said, cited):
        yield Reason("name_not_in_cited_evidence", tuple(names))


def _citable(item: EvidenceItem) -> str:
    heads = (f"# {head}" for head in (item.title, item.heading) if head)
    # What a table's cell is about, its row says: tables of AsciiDoc have a line for each cell.
    snippet = _as_tables(item.snippet) if "|===" in item.snippet else item.snippet
    return "\n\n".join(filter(None, (*heads, snippet, item.found)))


_as_tables = lru_cache(maxsize=256)(in_markdown)


def _rests(finding: ClaimFinding) -> bool:
    return bool(finding.cites) and bool(tokens(without_citations(finding.text)))


_ASKS: Final = frozenset(map(fold, _WORDING.words("asks")))
_ASKS_WITHIN: Final = frozenset(_WORDING.words("asks_within"))


def _asks(claim: str, asked: Sequence[Sequence[str]]) -> bool:
    """Whether a claim only asks: it ends with a question mark, or repeats a question of the user's word for word.

    A user may ask in the order of a statement ("The key is kept here?"); its words may then be an answer.
    """
    said = without_citations(claim).strip(" .!…*_~\"'»”)\n")
    words = tokens(said)
    return said.endswith("?") or (
        list(words) in asked and bool(words) and (words[0] in _ASKS or not _ASKS_WITHIN.isdisjoint(words))
    )


def _share(claim: str, cited: Sequence[ReadPassage]) -> float:
    wanted = set(stems(claim))
    there = frozenset[str]().union(*(text.vocabulary for text in cited))
    return len(wanted & there) / len(wanted) if wanted else 1.0
