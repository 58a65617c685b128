"""How long a user waits for the command line, against a Python that does nothing."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

from assistant.config.profiles import PROJECT
from tools.benchmarks.report import Measurement

RUNS = 5
FIRST_ANSWER_SECONDS = 2.0
HELP_SECONDS = 0.5


def measure(data_dir: Path) -> list[Measurement]:
    """Time whole processes; `data_dir` holds an index of the handbook. The aims are seconds, given as ratios."""
    nothing = _seconds(["-c", "pass"], data_dir)
    return [
        Measurement(
            "guardian --help",
            _seconds(["-m", "assistant.cli.main", "--help"], data_dir) * 1000,
            nothing * 1000,
            "ms",
            "`python -c pass`",
            aim=round(HELP_SECONDS / nothing, 1),
        ),
        Measurement(
            "import assistant, graph",
            _seconds(["-c", "import assistant, graph.build"], data_dir) * 1000,
            nothing * 1000,
            "ms",
            "`python -c pass`",
        ),
        Measurement(
            "first answer from a cold start",
            _seconds(["-m", "assistant.cli.main", "ask", "How do I add my own documents?", "--quiet"], data_dir) * 1000,
            nothing * 1000,
            "ms",
            "`python -c pass`",
            aim=round(FIRST_ANSWER_SECONDS / nothing, 1),
        ),
    ]


def _seconds(arguments: list[str], data_dir: Path) -> float:
    environment = {**os.environ, "GUARDIAN_DATA_DIR": str(data_dir)}
    times: list[float] = []
    for _ in range(RUNS + 1):
        began = time.perf_counter()
        subprocess.run(  # our own command
            [sys.executable, *arguments], check=True, capture_output=True, env=environment, cwd=PROJECT
        )
        times.append(time.perf_counter() - began)
    return statistics.median(times[1:])
