"""The results of a search as a table for a terminal of any width."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from assistant.search_explanation import SearchExplanation
from assistant.turns.progress import phrases
from contracts.calls import ModelCall
from contracts.enums import CheckStatus, Source
from contracts.evidence import PassageTrace, QueryTrace
from contracts.report import Finding
from language.figures.counted import count_noun
from rendering.columns import GAP, NARROWEST, columns_of, flat, pad, wrap, write_labels

_LEAST_FOR_PASSAGE: Final = 30
"""Where the figures leave less than this, a passage stands below its figures."""
_LOOKED_UP: Final = (Source.DB, Source.NEO4J)
_FIGURES: Final = ("confidence", "score", "similarity", "fused", "rerank_score_raw")


def table(found: SearchExplanation, width: int) -> str:
    """Return the report of a search: the plan, then the figures and the passages per query and source.

    Args:
        found: The search explanation.
        width: Columns of the terminal.
    """
    width = max(width, NARROWEST)
    say = phrases(found.language)
    traces = (_of_trace(trace, found, say, width) for trace in found.traces)
    return "\n\n".join((_head(found, say, width), *traces, _end(found, say, width)))


def _head(found: SearchExplanation, say: dict[str, str], width: int) -> str:
    plan = found.plan
    asked = list(dict.fromkeys(str(trace.source) for trace in found.traces))
    action = say["explain_action"].format(action=plan.action) if plan.action else ""
    ending = found.ending
    ends = [say[f"explain_ends_{ending.by}"].format(why=flat(ending.why)), say["explain_would"]] if ending else []
    lines = [
        (say["explain_message"], [flat(found.message)]),
        *([(say["explain_turn"], ends)] if ends else []),
        (say["explain_plan"], [f"{plan.request_type}{action}"]),
        (say["explain_queries"], [f"{n}. {flat(query)}" for n, query in enumerate(plan.queries, 1)]),
        (say["explain_asked"], [", ".join(asked) or say["explain_nobody"]]),
    ]
    missing = [
        f"{source}: {say[f'explain_{why}'].format(role=found.role, request_type=plan.request_type)}"
        for source, why in found.not_asked.items()
    ]
    if missing:
        lines.append((say["explain_not_asked"], missing))
    return write_labels(lines, width)


def _end(found: SearchExplanation, say: dict[str, str], width: int) -> str:
    size = sum(len(item.snippet) for item in found.evidence)
    count = count_noun(len(found.evidence), say["passages"], found.language)
    lines = [
        (
            say["explain_draft_would" if found.ending else "explain_draft"],
            [say["explain_budget"].format(passages=count, size=size, budget=found.budget)],
        )
    ]
    if found.calls:
        lines.append((say["explain_servers"], [_call(call, say) for call in found.calls]))
    told = {f"{trace.source}: {trace.error}" for trace in found.traces}
    if notes := [flat(what) for what in found.degraded if what not in told]:
        lines.append((say["explain_degraded"], notes))
    if found.checked and found.checked.status is not CheckStatus.NOT_ASKED:
        lines.append((say["explain_evidence"], _enough(found.checked, found, say)))
    return write_labels(lines, width)


def _enough(checked: Finding, found: SearchExplanation, say: dict[str, str]) -> list[str]:
    """Say whether the evidence suffices for an answer, and what each reason of the check means."""
    if checked.status is CheckStatus.OK:
        return [say["explain_evidence_ok"]]
    lines = [say[f"explain_evidence_{checked.status}"]]
    for reason in checked.reasons:
        words = say.get(f"explain_evidence_{reason.name}", say["explain_evidence_missing"])
        lines.append(words.format(reason=reason, count=len(found.evidence), value=", ".join(reason.values)))
    return lines


def _call(call: ModelCall, say: dict[str, str]) -> str:
    what = say["explain_call"].format(
        purpose=call.purpose, model=flat(call.model) or say["explain_unnamed"], server=call.server, ms=round(call.ms)
    )
    return f"{what}, {call.fault}" if call.fault else what


# ----------------------------------------------------------------------------------------------------- one search


def _of_trace(trace: QueryTrace, found: SearchExplanation, say: dict[str, str], width: int) -> str:
    lines = wrap(f"{trace.source}: {flat(trace.query)}", width)
    lines.append("─" * min(width, max(map(columns_of, lines))))
    if trace.error:
        return "\n".join([*lines, *wrap(say["explain_error"].format(why=flat(trace.error)), width)])
    if trace.versions:
        lines += wrap(say["explain_versions"].format(versions=", ".join(map(flat, trace.versions))), width)
    for called in trace.lookups:
        lines += wrap(say["explain_lookup"].format(call=flat(called)), width)
    if not trace.passages:
        unfit = trace.source in _LOOKED_UP and not trace.lookups
        return "\n".join([*lines, say["explain_no_lookup" if unfit else "explain_nothing"]])
    lines += wrap(_figures(trace, found, say), width)
    lines += _rows(trace.passages, found, say, width)
    if (hidden := trace.found - len(trace.passages)) > 0:
        more = count_noun(hidden, say["passages"], found.language)
        lines += wrap(say["explain_hidden"].format(passages=more), width)
    return "\n".join(lines)


def _figures(trace: QueryTrace, found: SearchExplanation, say: dict[str, str]) -> str:
    sure = trace.confidence
    said = say["explain_figures"].format(
        top=sure.top_score,
        mean=sure.mean_top_k,
        gap=sure.score_gap,
        above=sure.n_above_threshold,
        threshold=found.threshold,
    )
    relevant = say["explain_relevant" if sure.likely_relevant else "explain_irrelevant"]
    copies = say["explain_folded"].format(folded=trace.folded) if trace.folded else ""
    return f"{said}; {relevant}{copies}"


def _rows(rows: Sequence[PassageTrace], found: SearchExplanation, say: dict[str, str], width: int) -> list[str]:
    """Return the passages as a table: as many columns of figures as there is something to put into."""
    figures = [name for name in _FIGURES if any(getattr(row, name) is not None for row in rows)]
    heads = [say[f"explain_{name}"] for name in figures]
    cells = [[_number(getattr(row, name)) for name in figures] for row in rows]
    fates = [_fate(row, found, say) for row in rows]
    sizes = [max(map(columns_of, column)) for column in zip(heads, *cells, strict=True)]
    fate_size = max(map(columns_of, (say["explain_fate"], *fates)))
    left = sum(sizes) + fate_size + len(GAP) * (len(sizes) + 1)
    beside = width - left >= _LEAST_FOR_PASSAGE
    indent, room = (left, width - left) if beside else (len(GAP) * 2, width - len(GAP) * 2)

    def line(numbers: Sequence[str], fate: str, passage: Sequence[str]) -> list[str]:
        before = GAP.join([*(pad(text, size, right=True) for text, size in zip(numbers, sizes, strict=True))])
        first = f"{before}{GAP}{pad(fate, fate_size)}"
        rest = [f"{' ' * indent}{text}" for text in passage]
        return [f"{first}{GAP}{passage[0]}".rstrip(), *rest[1:]] if beside else [first.rstrip(), *rest]

    lines = line(heads, say["explain_fate"], [say["explain_passage"]])[:1]
    for row, numbers, fate in zip(rows, cells, fates, strict=True):
        lines += line(numbers, fate, _passage(row, say, room))
    return lines


def _passage(row: PassageTrace, say: dict[str, str], room: int) -> list[str]:
    """Return title, heading and reference, in as many lines as they take."""
    name = " › ".join(filter(None, (flat(row.title), flat(row.heading))))
    ref = flat(row.ref)
    if row.copy_of:
        ref = say["explain_copy_of"].format(ref=ref, copy_of=flat(row.copy_of))
    lines = wrap(name, room) if name else []
    if lines and columns_of(lines[-1]) + len(GAP) + columns_of(ref) <= room:
        return [*lines[:-1], f"{lines[-1]}{GAP}{ref}"]
    return [*lines, *wrap(ref, room)]


def _fate(row: PassageTrace, found: SearchExplanation, say: dict[str, str]) -> str:
    return say[f"explain_fate_{row.fate}"].format(chars=row.chars, threshold=found.threshold)


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"
