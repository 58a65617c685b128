"""`make bench`: every figure as a ratio to a baseline that ran in the same process, or beside it in the same minute."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from platform import python_version

from benchmarks.report import Line, table

PAGE = Path(__file__).resolve().parent.parent / "docs" / "benchmarks.md"


def main() -> int:
    """Measure, print, and write the dated page where asked to."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--write", action="store_true", help="write docs/benchmarks.md")
    parser.add_argument("--turns", type=int, default=200, help="turns on one thread (default: 200)")
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 100_000], help="passages (default: 10k, 100k)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        os.environ["GUARDIAN_DATA_DIR"] = str(place / "data")
        sections = _sections(place, options.turns, tuple(options.sizes))
        parts: list[str] = []
        for title, run in sections:
            print(f"… {title}", file=sys.stderr, flush=True)
            parts.append(f"## {title}\n\n{table(run())}")
            print(f"\n{parts[-1]}\n", flush=True)
    if options.write:
        PAGE.write_text(_page(parts), "utf-8")
        print(f"written to {PAGE.name}", file=sys.stderr)
    return 0


def _sections(place: Path, turns: int, sizes: tuple[int, ...]) -> list[tuple[str, Callable[[], list[Line]]]]:
    from assistant.commands.index import index, profile_folders
    from assistant.wiring import deployment
    from benchmarks import models, retrieval, startup
    from benchmarks import turns as turn_costs

    deployed = deployment("handbook")
    index(deployed, profile_folders(deployed))
    return [
        ("Turns", lambda: turn_costs.measure(place, deployed, turns)),
        ("Language model", models.measure),
        ("Retrieval", lambda: retrieval.measure(place, sizes)),
        ("Start", lambda: startup.measure(place / "data")),
    ]


def _page(parts: list[str]) -> str:
    when = datetime.now(tz=UTC).date().isoformat()
    head = (
        f"# Measurements\n\nMade by `make bench` on {when}, Python {python_version()}, {os.cpu_count()} cores. Only the ratios "
        "compare between machines; each baseline ran in the same run. The page is not compared in `make check`."
    )
    return "\n\n".join([head, *parts]) + "\n"


if __name__ == "__main__":
    sys.exit(main())
