"""What a process takes in memory: `python -m tools.benchmarks.memory WHAT WHERE` opens an index, asks it, and says.

A fresh process each time, for memory that was once taken is seldom given back.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tools.benchmarks.report import Measurement

QUERIES: Final = 300
TOP: Final = 20
MIB: Final = 2**20


@dataclass(frozen=True, slots=True)
class Memory:
    """Bytes of one process or several.

    Attributes:
        resident: In memory now, pages of files among them; of several processes, what they share is counted once.
        private: Of it, what is no file's: the rest, the system takes back where it is needed.
        peak: The most that was resident at any moment; 0 where it is not known.
    """

    resident: int
    private: int
    peak: int = 0


def of(processes: Iterable[int]) -> Memory | None:
    """Return what processes take together; `None` where the system does not say (it is Linux that does)."""
    resident = private = 0
    numbers = list(processes)
    # A share of what others have open, too, would depend on who else is at work on the machine.
    key = "Rss" if len(numbers) == 1 else "Pss"
    for process in numbers:
        try:
            text = Path(f"/proc/{process}/smaps_rollup").read_text("ascii")
        except OSError:
            return None
        sizes = {line.split(":")[0]: int(line.split()[1]) * 1024 for line in text.splitlines() if line.endswith(" kB")}
        resident += sizes[key]
        private += sizes["Pss_Anon"] + sizes["Pss_Shmem"]
    return Memory(resident, private)


def of_a_fresh_process(what: str, where: str) -> Memory | None:
    """Open an index in a process of its own, ask it, and return what that took.

    Args:
        what: `ours`, `bare`, or `server`.
        where: Its folder, or its address.
    """
    done = subprocess.run(  # our own command
        [sys.executable, "-m", "tools.benchmarks.memory", what, where], check=True, stdout=subprocess.PIPE, text=True
    )
    told: dict[str, int] = json.loads(done.stdout)
    return Memory(**told) if told else None


def lines(size: int, ours: Memory | None, bare: Memory | None, against: str = "bare tantivy") -> list[Measurement]:
    """Return the lines of a size; none where the system does not say."""
    if ours is None or bare is None:
        return []
    told = (
        (f"memory after {QUERIES} queries", ours.resident, bare.resident),
        ("of it no pages of files", ours.private, bare.private),
        ("memory at most", ours.peak, bare.peak),
    )
    return [
        Measurement(f"{what}, {size:,} passages", one / MIB, other / MIB, "MiB", against) for what, one, other in told
    ]


def _asker(what: str, where: str) -> Callable[[str], object]:
    if what == "bare":
        from tools.benchmarks.bare import BareIndex

        return BareIndex(Path(where)).search
    from contracts.enums import Source
    from contracts.ports import SearchRequest

    if what == "server":
        from adapters.index.remote.engines import engine_at
        from adapters.index.remote.search import RemoteKnowledge

        knowledge = RemoteKnowledge(engine_at(where, profile="bench"))
    else:
        from adapters.index.embedded import KnowledgeBase

        knowledge = KnowledgeBase(Path(where))
    return lambda text: knowledge.search_now(SearchRequest(query=text, top_k=TOP), Source.DOC)


def main() -> None:
    """Print what this process took, as JSON; nothing known is an empty object."""
    from tools.benchmarks.corpus import misspelt, queries

    what, where = sys.argv[1:]
    ask = _asker(what, where)
    for number, text in enumerate(queries(QUERIES)):
        ask(misspelt(text) if number % 10 == 0 else text)
    now = of([os.getpid()])
    told = {"resident": now.resident, "private": now.private, "peak": _peak()} if now else {}
    print(json.dumps(told))


def _peak() -> int:
    # Not `getrusage`: what it says begins with what the process was before it became this program.
    found = re.search(r"VmHWM:\s*(\d+) kB", Path("/proc/self/status").read_text("ascii"))
    return int(found[1]) * 1024 if found else 0


if __name__ == "__main__":
    main()
