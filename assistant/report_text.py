"""The Guardian's report on a draft, for an operator's terminal: the draft with each claim marked, and the verdict."""

from __future__ import annotations

import os
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, TextIO

from assistant.turns.progress import phrases
from contracts.enums import ClaimStatus, Outcome, RequestType, Verdict
from contracts.reasons import broke, read_reason
from contracts.report import ClaimFinding, DecisionRecord, GuardianReport
from contracts.result import StructuredAgentResult
from language.blocks import split_code
from rendering.columns import GAP, NARROWEST, columns_of, flat, pad, wrap, write_labels
from rendering.texts import without_escapes

Words = dict[str, str]

MARKS: Final = {
    ClaimStatus.SUPPORTED: "+",
    ClaimStatus.UNCITED: "?",
    ClaimStatus.UNRESOLVABLE: "x",
    ClaimStatus.UNSUPPORTED: "!",
    ClaimStatus.NOT_ENTAILED: "~",
}
"""The sign in the margin of a claim; plain characters, so that any terminal and any file shows them."""
_MARGIN: Final = 4
_BELOW: Final = 6
_GREEN, _YELLOW, _RED = 32, 33, 31
_COLOURS: Final = {
    MARKS[ClaimStatus.SUPPORTED]: _GREEN,
    MARKS[ClaimStatus.UNCITED]: _YELLOW,
    Verdict.PASS: _GREEN,
    Verdict.RETRY: _YELLOW,
}
_CITED: Final = re.compile(r"\[(\d{1,3})\]")
_LEADS_IN: Final = re.compile(r" *[^\w\n]{0,8}|[^\w\n]*\d+[.)]\s*|\s*\"[^\"\n]*\":\s*\"?")
"""What stands in front of a claim in its line: an item's sign or number, or the key of a JSON object."""


def in_colour(stream: TextIO) -> bool:
    """Whether output may be coloured: the terminal supports it, and NO_COLOR does not forbid it."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM", "") != "dumb"


def write_report(result: StructuredAgentResult, width: int, *, colour: bool = False) -> str:
    """Return the judgement of a turn: the draft with each claim marked, the reasons for the verdict, the hand-off.

    Args:
        result: The turn's result.
        width: Columns of the terminal.
        colour: Whether signs and verdict are coloured; their meaning does not depend on colour.
    """
    say = phrases(result.language)
    width = max(width, NARROWEST)

    def paint(text: str, what: str) -> str:
        return f"\x1b[{_COLOURS.get(what, _RED)}m{text}\x1b[0m" if colour else text

    if result.guardian is None:
        told = [_title(say, width), *wrap(_never_judged(result, say), width)]
    else:
        body = _draft(result, result.guardian, say, width, paint)
        told = [_title(say, width), *body, "", _verdict(result, result.guardian, say, width, paint)]
    if result.hand_off is not None:
        labels = [
            (label, [flat(without_escapes(text)) for text in texts]) for label, texts in handed_lines(result, say)
        ]
        told += ["", write_labels(labels, width)]
    return "\n".join(told)


def handed_lines(result: StructuredAgentResult, say: Words) -> list[tuple[str, list[str]]]:
    """Return the record of a hand-off as labels with their texts, in Markdown; nothing where there is no record."""
    record = result.hand_off
    if record is None:
        return []
    lines = (
        (say["handed_number"], [record.number] if record.number else []),
        (say["handed_about"], [record.issue_summary]),
        (say["handed_done"], record.steps_completed),
        (say["handed_next"], record.next_steps),
        (say["handed_outcome"], [str(record.outcome)]),
        (say["handed_delivery"], [str(result.hand_off_delivery or say["handed_nowhere"])]),
    )
    return [(label, texts) for label, texts in lines if texts]


def _title(say: Words, width: int) -> str:
    head = f"── {say['judged_title']} "
    return head + "─" * (width - columns_of(head))


def _find_decisions(result: StructuredAgentResult, table: str) -> list[DecisionRecord]:
    return [line for line in result.decisions if line.table == table]


def _never_judged(result: StructuredAgentResult, say: Words) -> str:
    if result.outcome is Outcome.ERROR:
        return say["judged_not_broken"].format(why=flat(result.block_reason or ""))
    table = "DT-002" if result.plan else "DT-001"
    row = next((line.row for line in _find_decisions(result, table)), "")
    return say["judged_not_planned" if result.plan else "judged_not_moderated"].format(row=row)


# ---------------------------------------------------------------------------------------------------------- the draft

Paint = Callable[[str, str], str]


def _draft(
    result: StructuredAgentResult, report: GuardianReport, say: Words, width: int, paint: Paint
) -> Iterator[str]:
    if not report.draft:
        # DT-006 is asked about every draft, and about nothing else.
        yield from wrap(say["judged_no_draft" if _find_decisions(result, "DT-006") else "judged_denied"], width)
        return
    told: set[int] = set()
    for claim, text in pieces(report.draft, report.claims):
        folded = [part for line in text.split("\n") for part in _lines(line, width - _MARGIN)]
        sign = MARKS[claim.status] if claim else " "
        for number, line in enumerate(folded):
            shown = paint(sign, sign) if number == 0 and claim else " "
            yield f" {shown}{' ' * (_MARGIN - 2)}{line}".rstrip()
        if claim:
            yield from _claim(claim, result, told, say, width)
    yield ""
    if not report.claims:
        yield from wrap(say["judged_no_claims"].format(why=say[_why_no_claims(result)]), width)
    for status in dict.fromkeys(claim.status for claim in report.claims):
        sign = MARKS[status]
        yield from _write_hanging(f" {paint(sign, sign)}{' ' * (_MARGIN - 2)}", say[f"claims_{status}"], width)
    if told:
        yield from _write_hanging("[n] ", say["claims_numbers"], width)


def renumber_draft(
    draft: str, claims: Sequence[ClaimFinding], numbers: Mapping[int, int]
) -> tuple[str, list[ClaimFinding]]:
    """Return a draft and its claims with other numbers in their citations; code stays, as do numbers without another."""

    def other(match: re.Match[str]) -> str:
        return f"[{numbers.get(int(match[1]), int(match[1]))}]"

    written, place = "", 0
    ends, grown = [0], [0]
    for i, part in enumerate(split_code(draft)):
        begin = 0
        for match in _CITED.finditer(part) if i % 2 == 0 else ():
            written += part[begin : match.start()] + other(match)
            begin = match.end()
            ends.append(place + begin)
            grown.append(len(written) - ends[-1])
        written += part[begin:]
        place += len(part)

    def moved(at: int) -> int:
        return at + grown[bisect_right(ends, at) - 1]

    changed = [
        claim.model_copy(
            update={"start": moved(claim.start), "end": moved(claim.end), "text": _CITED.sub(other, claim.text)}
        )
        if claim.end
        else claim.model_copy(update={"text": _CITED.sub(other, claim.text)})
        for claim in claims
    ]
    return written, changed


def pieces(draft: str, claims: Sequence[ClaimFinding]) -> Iterator[tuple[ClaimFinding | None, str]]:
    """Cut a draft into its claims, in order, and the text between them.

    The text that introduces a claim in its line, such as a list marker, comes with the claim. A claim without one exact
    place comes after the lines that it may have been read from.
    """
    behind = 0
    for number, claim in enumerate(claims):
        if _is_placed(claim, behind):
            line = max(draft.rfind("\n", behind, claim.start) + 1, behind)
            if line == behind > 0 or not _LEADS_IN.fullmatch(draft, line, claim.start):
                line = claim.start
            yield from _between(draft, behind, line)
            yield claim, draft[line : claim.end]
            behind = claim.end
            continue
        following = (one.start for one in claims[number + 1 :] if _is_placed(one, behind))
        line = max(draft.rfind("\n", behind, next(following, len(draft))) + 1, behind)
        yield from _between(draft, behind, line)
        behind = line
        yield claim, claim.text
    yield from _between(draft, behind, len(draft))


def _is_placed(claim: ClaimFinding, behind: int) -> bool:
    return claim.end > claim.start >= behind


def _between(draft: str, start: int, end: int) -> Iterator[tuple[None, str]]:
    first, *others = draft[start:end].split("\n")
    if start > 0:
        # What ends a claim's own line, as a quotation mark or the border of a table, says nothing by itself.
        first = first.strip() if re.search(r"\w", first) else ""
    for line in (first, *others):
        if line.strip():
            yield None, line


def _lines(text: str, width: int) -> list[str]:
    """Return one line of a draft for a terminal, folded, and indented as it was; nothing where it is empty."""
    indent = " " * min(len(text) - len(text.lstrip(" ")), 8)
    said = flat(text)
    return [indent + part for part in wrap(said, width - len(indent))] if said else []


def _claim(claim: ClaimFinding, result: StructuredAgentResult, told: set[int], say: Words, width: int) -> Iterator[str]:
    """Say below a claim what it rests on, what of it is not there, and what is to be remarked.

    A source that was `told` before stands there by its title alone.
    """
    rests = [_source(number, result, say, short=number in told) for number in claim.cites]
    told.update(claim.cites)
    rests = rests or [say["claims_rests_on_nothing"]]
    lines = [(say["claims_rests_on"], rests)]
    if claim.missing:
        lines.append((say["claims_missing"], [", ".join(map(flat, claim.missing))]))
    if claim.advice:
        lines.append((say["claims_advice"], [in_words(remark, say, claim.text) for remark in claim.advice]))
    column = max(columns_of(say[f"claims_{label}"]) for label in ("rests_on", "missing", "advice"))
    aligned = [(pad(label, column), texts) for label, texts in lines]
    for line in write_labels(aligned, width - _BELOW).split("\n"):
        yield f"{' ' * _BELOW}{line}"


def _source(number: int, result: StructuredAgentResult, say: Words, *, short: bool) -> str:
    if not 1 <= number <= len(result.evidence):
        return say["claims_no_such_source"].format(number=number)
    item = result.evidence[number - 1]
    if short:
        return f"[{number}] {flat(item.title or item.ref)}"
    inside = item.heading.removeprefix(item.title).strip(" ›/>")
    name = " › ".join(filter(None, (flat(item.title), flat(inside))))
    return f"[{number}] {GAP.join(filter(None, (name, f'({flat(item.ref)})')))}"


def _why_no_claims(result: StructuredAgentResult) -> str:
    kinds = [line.inputs.get("kind") for line in _find_decisions(result, "DT-005")]
    if kinds and kinds[-1] != "answer":
        return f"judged_kind_{kinds[-1]}"
    return "judged_kind_casual" if result.request_type is RequestType.CASUAL else "judged_kind_unchecked"


# -------------------------------------------------------------------------------------------------------- the verdict


def _verdict(result: StructuredAgentResult, report: GuardianReport, say: Words, width: int, paint: Paint) -> str:
    checks = [f"{say[f'judged_check_{name}']}: {say[f'judged_{status}']}" for name, status in report.checks.items()]
    lines = [
        (say["judged_checks"], checks),
        (say["judged_verdict"], [verdict_line(report, say)]),
    ]
    shown = {remark for claim in report.claims for remark in claim.advice}
    lines += [
        (say["judged_reasons"], [in_words(reason, say) for reason in report.reasons]),
        (say["judged_actions"], [", ".join(report.required_actions)] if report.required_actions else []),
        (say["judged_advice"], [in_words(remark, say) for remark in report.advice if remark not in shown]),
        (
            say["judged_rows"],
            [
                _row(line, say)
                for table in ("DT-005", "DT-006", "DT-008")
                for line in _find_decisions(result, table)[-1:]
            ],
        ),
        (say["judged_earlier"], _earlier(result)),
    ]
    if result.outcome is Outcome.ERROR:
        lines.append((say["judged_then"], [say["judged_then_broke"].format(why=flat(result.block_reason or ""))]))
    text = write_labels([(label, texts) for label, texts in lines if texts], width)
    return re.sub(rf"\b{report.verdict}\b", lambda found: paint(found.group(), report.verdict), text, count=1)


def verdict_line(report: GuardianReport, say: Words) -> str:
    """Return the verdict with its risk and, if known, how faithful the draft is to its sources."""
    line = say["judged_risk"].format(verdict=report.verdict, risk=say[f"judged_risk_{report.risk_level}"])
    if report.faithfulness is None:
        return line
    return f"{line}, {say['judged_faithfulness'].format(share=f'{report.faithfulness:.2f}')}"


def _row(line: DecisionRecord, say: Words) -> str:
    answers = {True: say["judged_yes"], False: say["judged_no"]}
    inputs = [f"{name} {answers[value] if isinstance(value, bool) else value}" for name, value in line.inputs.items()]
    said = ", ".join(inputs) if line.table == "DT-005" else line.outcome
    return say["judged_row"].format(table=line.table, row=line.row, said=said)


def _earlier(result: StructuredAgentResult) -> list[str]:
    tries = _find_decisions(result, "DT-005")[:-1]
    return [f"{n}. {line.outcome.partition(';')[0]} ({line.table}, {line.row})" for n, line in enumerate(tries, 1)]


def in_words(reason: str, say: Words, claim: str = "") -> str:
    """Return a reason or a remark as a sentence, followed by its name; one without a text is returned as it is.

    Args:
        reason: The reason as written in the report, for example `claim_without_citation=[...]`.
        say: The texts of a language.
        claim: The claim above the sentence, which the sentence need not repeat.
    """
    read = read_reason(reason)
    if read.name == broke("", "").name:
        return say["judged_broke"].format(check=read.values[0], kind=flat(read.values[1]))
    words = say.get(f"judged_reason_{read.name}")
    if words is None:
        return flat(reason)
    value = flat(", ".join(read.values))
    if not value or (claim and value.removesuffix("...") in flat(claim)):
        words = words.replace(": {value}", "")
    return f"{words.format(value=value)} ({read.name})"


def _write_hanging(first: str, text: str, width: int) -> Iterator[str]:
    for number, line in enumerate(wrap(text, width - _MARGIN)):
        yield f"{first if number == 0 else ' ' * _MARGIN}{line}"
