"""`guardian batch`: a table of questions answered row by row."""

from __future__ import annotations

import argparse
import asyncio
import sys
from typing import Final

from assistant.batch.columns import read_column_map
from assistant.batch.run import Begun, Job, Report, run_batch
from assistant.config.profiles import at_home
from assistant.deployment import deployment
from assistant.turns.progress import own_language, phrases
from contracts.enums import Language
from contracts.errors import GuardianError, InputError
from language.figures.counted import count_noun
from rendering.texts import without_escapes

_MOST_NAMED: Final = 20
"""Rows with an error that are named; all of them are in the table."""


def run(options: argparse.Namespace) -> int:
    """Answer the table, print how many rows had which outcome, and return an exit code for whether all succeeded."""
    language = own_language()
    say = phrases(language)
    job = Job(
        source=at_home(options.source),
        target=at_home(options.target),
        columns=read_column_map(at_home(options.columns) if options.columns else None),
        at_once=options.at_once,
        force=options.force,
        language=options.lang or "",
        role=options.role or "user",
    )
    deployed = deployment(options.profile)
    asking = False

    def begun(run: Begun) -> None:
        nonlocal asking
        asking = True
        rows = count_noun(run.rows, say["batch_rows"], language)
        key = "batch_goes_on" if run.done else "batch_begins"
        print(say[key].format(rows=rows, done=run.done, threads=run.run), file=sys.stderr, flush=True)

    try:
        report = asyncio.run(run_batch(deployed, job, begun))
    except KeyboardInterrupt:
        print(f"\n{say['batch_interrupted']}", file=sys.stderr)
        return 130
    except GuardianError as error:
        # What was refused needs another command or file first: its way out says which.
        if asking and not isinstance(error, InputError) and job.progress.exists():
            print(say["batch_kept"].format(progress=job.progress.name), file=sys.stderr)
        raise
    print(_summary(report, language))
    _remarks(report, language)
    if report.target == job.target:
        return 1 if report.errors else 0
    print(say["batch_appeared"].format(out=job.target, kept=report.target), file=sys.stderr)
    return 1


def _summary(report: Report, language: Language) -> str:
    say = phrases(language)
    rows = count_noun(report.rows, say["batch_rows"], language)
    lines = [say["batch_done"].format(out=report.target, rows=rows, seconds=f"{report.seconds:.1f}")]
    lines += [f"{number:>7} {say[f'outcome_{outcome}']}" for outcome, number in report.outcomes.most_common()]
    if without := report.rows - report.outcomes.total():
        lines.append(f"{without:>7} {say['batch_without_result']}")
    return "\n".join(lines)


def _remarks(report: Report, language: Language) -> None:
    say = phrases(language)
    if report.errors:
        numbers = sorted(report.errors)
        named = [f"{n} ({report.names[n]})" if n in report.names else str(n) for n in numbers[:_MOST_NAMED]]
        named += ["…"] if len(numbers) > _MOST_NAMED else []
        rows = count_noun(len(numbers), say["batch_rows_with_error"], language)
        print(say["batch_errors"].format(rows=rows, numbers=without_escapes(", ".join(named))), file=sys.stderr)
    if report.degraded:
        rows = count_noun(report.degraded, say["batch_rows"], language)
        print(say["batch_degraded"].format(rows=rows), file=sys.stderr)
    if report.shortened:
        cells = count_noun(report.shortened, say["batch_cells"], language)
        print(say["batch_shortened"].format(cells=cells, out=report.target.name), file=sys.stderr)
