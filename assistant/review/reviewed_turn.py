"""One turn as a reviewer reads it: each try in its order, the answer claim by claim, the searches, the decisions."""

from __future__ import annotations

from typing import Final

from pydantic import BaseModel, ConfigDict

from assistant.review.records import TurnRecord
from contracts.enums import ClaimStatus
from contracts.evidence import EvidenceItem
from contracts.report import ClaimFinding, DecisionRecord
from contracts.result import StructuredAgentResult
from guards.outgoing import fit_to_show

_VERDICT: Final = "DT-005"


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True)


class ReviewedSearch(_Part):
    """One query to one source: what was asked, and the passages that came of it, best first."""

    query: str
    source: str
    found: int
    passages: tuple[str, ...] = ()
    error: str = ""


class ReviewedTry(_Part):
    """One try of a turn: its searches, its draft's verdict, and everything that was decided on the way.

    Attributes:
        number: Counted from 1.
        verdict: What DT-005 said of the draft, with its row; empty if no draft was judged.
        reasons: The names of the reasons; empty in turns of earlier versions, except on the last try.
    """

    number: int
    searches: tuple[ReviewedSearch, ...] = ()
    verdict: str = ""
    reasons: tuple[str, ...] = ()
    decisions: tuple[str, ...] = ()


class ReviewedPassage(_Part):
    """A passage behind a claim: its number in the draft, its page and heading, its place, and its words."""

    number: int
    title: str
    ref: str
    lines: tuple[int, int] | None = None
    text: str


class ReviewedClaim(_Part):
    """A claim of the draft that was judged last, with the passages that it cites."""

    text: str
    status: ClaimStatus
    missing: tuple[str, ...] = ()
    passages: tuple[ReviewedPassage, ...] = ()


class ReviewedTurn(_Part):
    """A turn with all that a reviewer needs; every text is as `fit_to_show` returns it.

    Attributes:
        draft: The draft that was judged last. It is the answer if that was given; otherwise the user did not see it.
        after: What was decided after the last draft, as the exit.
    """

    record: TurnRecord
    intent: str = ""
    tries: tuple[ReviewedTry, ...] = ()
    draft: str = ""
    reasons: tuple[str, ...] = ()
    claims: tuple[ReviewedClaim, ...] = ()
    after: tuple[str, ...] = ()
    degraded: tuple[str, ...] = ()


def review_result(record: TurnRecord, result: StructuredAgentResult) -> ReviewedTurn:
    """Return a finished turn for its reviewer."""
    report = result.guardian
    tries, after = _tries(result)
    return ReviewedTurn(
        record=record,
        intent=fit_to_show(result.plan.user_intent) if result.plan else "",
        tries=tries,
        draft=fit_to_show(report.draft) if report else "",
        reasons=tuple(map(fit_to_show, report.reasons)) if report else (),
        claims=tuple(_claim(claim, result.evidence) for claim in report.claims) if report else (),
        after=after,
        degraded=tuple(map(fit_to_show, result.diagnostics.degraded)),
    )


def _tries(result: StructuredAgentResult) -> tuple[tuple[ReviewedTry, ...], tuple[str, ...]]:
    """Return the tries in their order, and the decisions after the last of them."""
    made: list[ReviewedTry] = []
    lines: list[DecisionRecord] = []
    for line in result.decisions:
        lines.append(line)
        if line.table == _VERDICT:
            made.append(_try(len(made), result, lines))
            lines = []
    # A search after the last verdict is there if the turn broke while it drafted.
    searched = max((trace.attempt for trace in result.per_query_results), default=-1)
    if not made or searched >= len(made):
        return (*made, _try(len(made), result, lines)), ()
    return tuple(made), tuple(map(_decision, lines))


def _try(place: int, result: StructuredAgentResult, lines: list[DecisionRecord]) -> ReviewedTry:
    judged = next((line for line in lines if line.table == _VERDICT), None)
    searches = [
        ReviewedSearch(
            query=fit_to_show(trace.query),
            source=str(trace.source),
            found=trace.found,
            passages=tuple(
                f"{fit_to_show(' › '.join(filter(None, (row.title, row.heading))) or row.ref)}: {row.confidence:.2f}, {row.fate}"
                for row in trace.passages
            ),
            error=fit_to_show(trace.error),
        )
        for trace in result.per_query_results
        if trace.attempt == place
    ]
    return ReviewedTry(
        number=place + 1,
        searches=tuple(searches),
        verdict=f"{judged.outcome.partition(';')[0]} ({_VERDICT}, {judged.row})" if judged else "",
        reasons=judged.reasons if judged else (),
        decisions=tuple(map(_decision, lines)),
    )


def _decision(line: DecisionRecord) -> str:
    return fit_to_show(f"{line.node}: {line.table}, {line.row} → {line.outcome}")


def _claim(claim: ClaimFinding, evidence: list[EvidenceItem]) -> ReviewedClaim:
    return ReviewedClaim(
        text=fit_to_show(claim.text),
        status=claim.status,
        missing=tuple(map(fit_to_show, claim.missing)),
        passages=tuple(_passage(n, evidence[n - 1]) for n in claim.cites if 1 <= n <= len(evidence)),
    )


def _passage(number: int, item: EvidenceItem) -> ReviewedPassage:
    inside = item.heading.removeprefix(item.title).strip(" ›/>")
    return ReviewedPassage(
        number=number,
        title=fit_to_show(" › ".join(filter(None, (item.title or item.ref, inside)))),
        ref=fit_to_show(item.document or item.ref),
        lines=item.lines,
        text=fit_to_show(item.snippet),
    )
