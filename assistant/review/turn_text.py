"""Turns for a reviewer's terminal: a list with a line or two for each, and one turn with everything."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from assistant.report_text import MARKS, in_words
from assistant.review.records import TurnRecord
from assistant.review.reviewed_turn import ReviewedClaim, ReviewedTry, ReviewedTurn
from assistant.turns.progress import money
from rendering.columns import flat, wrap
from rendering.texts import without_escapes

Words = dict[str, str]
_SHORT: Final = 70
_INDENT: Final = "    "
_LONGEST_PASSAGE: Final = 600


def list_text(records: Iterable[TurnRecord], say: Words) -> str:
    """Return a list of turns: time, conversation and number, outcome, rating, question, and below it what else there is."""
    lines: list[str] = []
    for record in records:
        head = f"{record.when[:19]}  {flat(record.thread)} {record.number}  {outcome_text(record, say)}"
        lines.append(f"{head}{_rating(record, say)}  {_shorten(flat(record.question))}")
        if record.reasons:
            lines.append(f"{_INDENT}{', '.join(map(flat, record.reasons))}")
        lines += [f"{_INDENT}{line}" for line in _done(record, say)]
    return "\n".join(lines)


def turn_text(turn: ReviewedTurn, say: Words, width: int) -> str:
    """Return everything about one turn."""
    return "\n".join(_turn(turn, say, width))


def outcome_text(record: TurnRecord, say: Words) -> str:
    """Return how a turn ended, in words."""
    return say[f"outcome_{record.outcome}"] if record.outcome else say["review_unfinished"]


def _rating(record: TurnRecord, say: Words) -> str:
    return f"  {say[f'review_rating_{record.rating}']}" if record.rating else ""


def _done(record: TurnRecord, say: Words) -> Iterator[str]:
    if record.comment:
        yield f"{say['review_comment']}: {flat(record.comment)}"
    if record.note:
        yield f"{say['review_note']}: {flat(record.note)}"
    if record.case:
        yield f"{say['review_case']}: {flat(record.case)}"
    if record.handled:
        yield say["review_handled"]


def _shorten(text: str) -> str:
    return text if len(text) <= _SHORT else f"{text[: _SHORT - 1]}…"


def _turn(turn: ReviewedTurn, say: Words, width: int) -> Iterator[str]:
    record = turn.record
    yield f"── {flat(record.thread)} {record.number} · {record.when[:19]} · {outcome_text(record, say)}{_rating(record, say)}"
    facts = (
        ("review_caller", record.caller),
        ("review_language", record.language or ""),
        ("review_profile", record.profile),
        ("review_cost", money(record.cost, record.currency) if record.cost is not None else ""),
        ("review_turn", record.turn),
    )
    yield " · ".join(f"{say[key]}: {flat(value)}" for key, value in facts if value)
    yield from _done(record, say)
    yield ""
    yield from (f"> {line}".rstrip() for line in without_escapes(record.question).split("\n"))
    if record.answer:
        yield f"\n{without_escapes(record.answer)}"
    for one in turn.tries:
        yield f"\n── {say['review_try'].format(number=one.number)}"
        yield from _try(one, say, width)
    if turn.reasons:
        yield f"\n── {say['review_reasons']}"
        yield from (f"{_INDENT}{in_words(reason, say)}" for reason in turn.reasons)
    if turn.claims:
        yield f"\n── {say['review_claims']}"
        quoted: set[int] = set()
        for claim in turn.claims:
            yield from _claim(claim, quoted, say, width)
    if turn.after:
        yield f"\n── {say['review_after']}"
        yield from (f"{_INDENT}{flat(line)}" for line in turn.after)
    if turn.degraded:
        yield f"\n── {say['review_degraded']}"
        yield from (f"{_INDENT}{flat(line)}" for line in turn.degraded)


def _try(one: ReviewedTry, say: Words, width: int) -> Iterator[str]:
    for search in one.searches:
        yield f"{say['review_searched'].format(source=search.source, query=flat(search.query), found=search.found)}"
        if search.error:
            yield f"{_INDENT}{flat(search.error)}"
        yield from (f"{_INDENT}{flat(passage)}" for passage in search.passages)
    yield f"{say['review_verdict']}: {one.verdict or say['review_no_verdict']}"
    for reason in one.reasons:
        for line in wrap(in_words(reason, say), width - len(_INDENT)):
            yield f"{_INDENT}{line}"
    yield f"{say['review_decisions']}:"
    yield from (f"{_INDENT}{flat(line)}" for line in one.decisions)


def _claim(claim: ReviewedClaim, quoted: set[int], say: Words, width: int) -> Iterator[str]:
    """Say what a claim rests on; a passage that was `quoted` before stands there by its title alone."""
    for number, line in enumerate(wrap(flat(claim.text), width - len(_INDENT))):
        yield f" {MARKS[claim.status] if number == 0 else ' '}  {line}"
    yield f"{_INDENT}{say[f'claims_{claim.status}']}"
    if claim.missing:
        yield f"{_INDENT}{say['claims_missing']}: {', '.join(map(flat, claim.missing))}"
    for passage in claim.passages:
        lines = f":{passage.lines[0]}-{passage.lines[1]}" if passage.lines else ""
        yield f"{_INDENT}[{passage.number}] {flat(passage.title)}  ({flat(passage.ref)}{lines})"
        if passage.number in quoted:
            continue
        quoted.add(passage.number)
        text = flat(passage.text)
        for line in wrap(text[:_LONGEST_PASSAGE] + ("…" if len(text) > _LONGEST_PASSAGE else ""), width - 8):
            yield f"{_INDENT}  | {line}"
