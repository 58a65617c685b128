"""`make eval`: ask the shipped assistant every labelled question of the handbook, and count."""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path

from contracts.errors import GuardianError
from evals.cases import CASES, Case, read_cases
from evals.runner import judge_all
from evals.scores import Judged, outcome_table, page_table

PAGE = Path(__file__).resolve().parent.parent / "docs" / "evaluation.md"


def main() -> int:
    """Judge, print, and write the dated page where asked to; exit code 0 whatever the figures are."""
    parser = argparse.ArgumentParser(prog="python -m evals", description=__doc__)
    parser.add_argument("--cases", type=Path, default=CASES / "handbook.jsonl", help="file of cases (JSON lines)")
    parser.add_argument("--write", action="store_true", help="write docs/evaluation.md")
    parser.add_argument("--misses", action="store_true", help="name every case that missed")
    options = parser.parse_args()
    try:
        cases = read_cases(options.cases)
        with tempfile.TemporaryDirectory() as folder:
            judged = asyncio.run(judge_all(cases, Path(folder)))
    except GuardianError as error:
        print(f"eval: {error}", file=sys.stderr)
        return 1
    page = _page(cases, judged)
    print(page)
    if options.misses:
        _print_misses(judged)
    if options.write:
        PAGE.write_text(page, "utf-8")
    return 0


def _print_misses(judged: list[Judged]) -> None:
    for one in judged:
        wrong_page = one.case.pages and one.outcome == "answered" and not one.right_page
        if not one.right_outcome or wrong_page:
            print(f"{one.case.id}: {one.case.says[-1]!r}: {one.outcome}, page {one.first_page}, not {one.case.pages}")


def _page(cases: list[Case], judged: list[Judged]) -> str:
    when = datetime.now(tz=UTC).date().isoformat()
    about = (
        f"Made by `make eval` on {when}: {len(cases)} labelled questions to the handbook, asked of the offline "
        "planner and drafter. Intervals are Wilson's at 95 %. The questions are ours, and the assistant was tuned "
        "on them: read the figures as a regression check, not as a promise for other documents."
    )
    parts = [
        "# Evaluation",
        about,
        "## How turns end",
        outcome_table(judged),
        "## Whether the answer comes from the right page",
        page_table(judged),
    ]
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    sys.exit(main())
