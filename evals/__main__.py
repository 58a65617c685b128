"""`make eval`: labelled questions to the shipped assistant and to its search, counted.

turns: whole turns on the handbook, how they end and which page they cite. retrieval: which pages search finds, on the
handbook and on public documents where they lie beside the project.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path

from contracts.errors import GuardianError
from evals.cases import CASES, TurnCase, read_cases
from evals.scores import Judged, outcome_table, page_table

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "evaluation.md"
DATA = ROOT.parent / "shared" / "data"
PARTS = ("turns", "retrieval")


def main() -> int:
    """Judge, print, and write the dated page where asked to; exit code 0 whatever the figures are."""
    parser = argparse.ArgumentParser(
        prog="python -m evals", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("parts", nargs="*", metavar="part", help=f"{' or '.join(PARTS)} (default: both)")
    parser.add_argument(
        "--cases", type=Path, default=CASES / "handbook.jsonl", help="turns: file of cases (JSON lines)"
    )
    parser.add_argument("--misses", action="store_true", help="turns: name every case that missed")
    parser.add_argument(
        "--data", type=Path, default=DATA, help=f"retrieval: folder of public data (default: {_shown()})"
    )
    parser.add_argument("--questions", type=int, help="retrieval: so many of each set and language, for a quick look")
    parser.add_argument("--write", action="store_true", help="write docs/evaluation.md; parts that did not run stay")
    options = parser.parse_args()
    if wrong := [name for name in options.parts if name not in PARTS]:
        parser.error(f"there is no part {wrong[0]!r}: the parts are {' and '.join(PARTS)}")
    if options.write and options.questions is not None:
        parser.error("--questions is for a look: the page is written with all of them")
    if options.questions is not None and options.questions < 1:
        parser.error("--questions is 1 at least")
    runs: Mapping[str, Callable[[argparse.Namespace, Path], str]] = {"turns": _turns, "retrieval": _retrieval}
    page = PAGE.read_text("utf-8") if PAGE.exists() else ""
    try:
        for name in options.parts or PARTS:
            with tempfile.TemporaryDirectory() as folder:
                text = f"{runs[name](options, Path(folder))}\n"
            print(text)
            page = replaced(page, name, text)
    except GuardianError as error:
        print(f"eval: {error}", file=sys.stderr)
        return 1
    if options.write:
        PAGE.write_text(page, "utf-8")
    return 0


def replaced(page: str, name: str, text: str) -> str:
    """Return the page with one part written anew, between its marks; the other parts stay as they are."""
    kept = {part: text if part == name else _part(page, part) for part in PARTS}
    bodies = [f"{_mark(part)}\n\n{body.strip()}" for part, body in kept.items() if body.strip()]
    return "\n\n".join(["# Evaluation", *bodies]) + "\n"


def _part(page: str, name: str) -> str:
    _, found, rest = page.partition(_mark(name))
    for other in PARTS:
        rest = rest.partition(_mark(other))[0]
    return rest if found else ""


def _mark(name: str) -> str:
    return f"<!-- part: {name} -->"


def _shown() -> str:
    return str(Path("..") / DATA.relative_to(ROOT.parent))


def _today() -> str:
    return datetime.now(tz=UTC).date().isoformat()


# -------------------------------------------------------------------------------------------------------------- parts


def _retrieval(options: argparse.Namespace, folder: Path) -> str:
    from evals.retrieval.report import section

    head, _, rest = section(folder, options.data, options.questions).partition("\n\n")
    return f"{head}\n\nMade by `make eval` on {_today()}. {rest}"


def _turns(options: argparse.Namespace, folder: Path) -> str:
    from evals.runner import judge_all

    cases = [case for case in read_cases(options.cases) if isinstance(case, TurnCase)]
    judged = asyncio.run(judge_all(cases, folder))
    if options.misses:
        _print_misses(judged)
    return _turns_text(cases, judged)


def _print_misses(judged: list[Judged]) -> None:
    for one in judged:
        wrong_page = one.case.pages and one.outcome == "answered" and not one.right_page
        if not one.right_outcome or wrong_page:
            print(f"{one.case.id}: {one.case.says[-1]!r}: {one.outcome}, page {one.first_page}, not {one.case.pages}")


def _turns_text(cases: list[TurnCase], judged: list[Judged]) -> str:
    about = (
        f"Made by `make eval` on {_today()}: {len(cases)} labelled questions to the handbook, asked of the offline "
        "planner and drafter. Intervals are Wilson's at 95 %. The questions are ours, and the assistant was tuned "
        "on them: read the figures as a regression check, not as a promise for other documents."
    )
    parts = [
        about,
        "## How turns end",
        outcome_table(judged),
        "## Whether the answer comes from the right page",
        page_table(judged),
    ]
    return "\n\n".join(parts)


if __name__ == "__main__":
    sys.exit(main())
