"""`make bench`: every figure as a ratio to a baseline that ran in the same process, or beside it in the same minute."""

from __future__ import annotations

import argparse
import os
import re
import sys
import tempfile
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from platform import python_version

from tools.benchmarks.page import renew_sections, section
from tools.benchmarks.report import Measurement, table

PAGE = Path(__file__).resolve().parents[2] / "docs" / "benchmarks.md"
SERVERS = ("qdrant", "postgres")
PARTS = ("turns", "earlier", "models", "sources", "retrieval", "servers", "start", "load", "workers", "conversations")


def main() -> int:
    """Measure, print, and write the dated page where asked to."""
    options = _parser().parse_args()
    command = command_of(sys.argv[1:])
    made: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        options.keep = options.keep or place
        options.keep.mkdir(parents=True, exist_ok=True)
        os.environ["GUARDIAN_DATA_DIR"] = str(place / "data")
        for title, run in _sections(place, options):
            print(f"… {title}", file=sys.stderr, flush=True)
            lines = table(run())
            today = datetime.now(tz=UTC).date().isoformat()
            made[title] = section(lines, date=today, command=command, python=python_version(), cores=os.cpu_count())
            print(f"\n## {title}\n\n{lines}\n", flush=True)
            if options.write:
                # Each when it is there: a long run that is interrupted has not been for nothing.
                before = PAGE.read_text("utf-8") if PAGE.exists() else ""
                PAGE.write_text(renew_sections(before, made), "utf-8")
    if options.write:
        print(f"written to {PAGE.name}", file=sys.stderr)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tools.benchmarks", description=__doc__)
    parser.add_argument("--write", action="store_true", help="write docs/benchmarks.md")
    parser.add_argument(
        "--parts", nargs="+", choices=PARTS, default=PARTS, help="what to measure (default: everything)"
    )
    parser.add_argument("--turns", type=int, default=200, help="turns on one thread (default: 200)")
    parser.add_argument(
        "--sizes",
        type=int,
        nargs="+",
        default=[10_000, 100_000],
        help="passages in the embedded index (default: 10k, 100k; 1000000 takes about a quarter of an hour)",
    )
    parser.add_argument(
        "--server-sizes", type=int, nargs="+", default=[10_000], help="passages in servers (default: 10k)"
    )
    parser.add_argument("--servers", nargs="+", choices=SERVERS, default=SERVERS, help="which servers (default: both)")
    parser.add_argument(
        "--clients",
        type=int,
        nargs="+",
        default=[1, 10, 50],
        help="clients of `guardian serve` at once (default: 1 10 50)",
    )
    parser.add_argument(
        "--memory-turns",
        type=int,
        default=2_000,
        help="turns over which its memory is watched (default: 2000; 0: none)",
    )
    parser.add_argument(
        "--conversations", type=int, default=100_000, help="conversations in the storage (default: 100k)"
    )
    parser.add_argument(
        "--earlier", metavar="COMMIT", default="84380ac", help="the version to compare a turn with (default: 84380ac)"
    )
    parser.add_argument(
        "--keep",
        type=Path,
        metavar="FOLDER",
        help="where corpora and their indexes are kept, and found by the next run",
    )
    return parser


def command_of(arguments: Sequence[str]) -> str:
    """Return how the same is made again, by anybody."""
    given = " ".join(arguments).replace("--write", "")
    given = " ".join(re.sub(r"--keep[ =]\S+", "", given).split())
    return f'make bench ARGS="{given}"' if given else "make bench"


def _sections(place: Path, options: argparse.Namespace) -> list[tuple[str, Callable[[], list[Measurement]]]]:
    from tools.benchmarks import earlier, engines, models, retrieval, sources

    sizes, server_sizes = tuple(options.sizes), tuple(options.server_sizes)
    known: dict[str, tuple[str, Callable[[], list[Measurement]]]] = {
        "turns": ("Turns", lambda: _turns(place, options.turns)),
        "earlier": ("An earlier version", lambda: earlier.measure(place, options.earlier)),
        "models": ("Language model", models.measure),
        "sources": ("Slow sources", sources.measure),
        "retrieval": (f"Retrieval: {_describe_sizes(sizes)}", lambda: retrieval.measure(options.keep, sizes)),
        "servers": (
            f"Servers: {_describe_sizes(server_sizes)}",
            lambda: engines.measure(options.keep, server_sizes, options.servers),
        ),
        "start": ("Start", lambda: _start(place)),
        "load": ("Load", lambda: _load(place, options.clients, options.memory_turns)),
        "workers": ("Workers", lambda: _workers(place)),
        "conversations": (
            f"Conversations: {options.conversations:,}",
            lambda: _conversations(place, options.conversations),
        ),
    }
    return [known[part] for part in PARTS if part in options.parts]


def _describe_sizes(sizes: Sequence[int]) -> str:
    return f"{' and '.join(f'{size:,}' for size in sizes)} passages"


def _turns(place: Path, turns: int) -> list[Measurement]:
    from assistant.deployment import deployment
    from tools.benchmarks import turns as turn_costs

    _index_handbook()
    return turn_costs.measure(place, deployment("handbook"), turns)


def _start(place: Path) -> list[Measurement]:
    from tools.benchmarks import startup

    _index_handbook()
    return startup.measure(place / "data")


def _load(place: Path, clients: Sequence[int], memory_turns: int) -> list[Measurement]:
    from tools.benchmarks import load

    _index_handbook()
    return load.measure(place / "data", clients, memory_turns)


def _workers(place: Path) -> list[Measurement]:
    from tools.benchmarks import load

    _index_handbook()
    return load.measure_workers(place / "data")


def _conversations(place: Path, count: int) -> list[Measurement]:
    from tools.benchmarks import conversations

    _index_handbook()
    return conversations.measure(place, count)


def _index_handbook() -> None:
    from assistant.cli.commands.index import index
    from assistant.deployment import deployment
    from assistant.indexing import profile_folders

    deployed = deployment("handbook")
    index(deployed, profile_folders(deployed))


if __name__ == "__main__":
    sys.exit(main())
