"""What a turn takes of the processor, beside an earlier commit: the same questions to both, in turns."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import fmean
from typing import IO, cast

from tools.benchmarks.report import Measurement
from tools.earlier_tree import extract_commit

ROOT = Path(__file__).resolve().parents[2]
ROUNDS = 6
WARM_UP = 2
QUESTIONS = (
    "How do I set it up on a fresh laptop?",
    "How do I add my company's manuals?",
    "How do I write my own profile?",
    "Which attacks does moderation recognise?",
    "where is the verdict decided",
    "What is in the hand-off record?",
    "How can I call it from Python?",
    "What does guardian doctor tell me?",
    "What is a checkpoint?",
    "What gets dropped when the prompt does not fit?",
    "How often does it retry when the provider says 429?",
    "What if the moderation service times out?",
    "How many tokens did a turn cost?",
    "Как поставить Guardian на Debian?",
    "Что будет, если два человека напишут в один диалог одновременно?",
    "Индексация прервалась, что делать?",
    "Что означает уверенность в результатах поиска?",
    "Как планировщик понимает, что вопрос не по теме?",
    "Сколько фрагментов нужно для ответа?",
    "Как вызвать ассистента из своего кода на Python?",
    "Какая нейросеть внутри?",
    "Какой максимальный размер промпта?",
    "Как передать модели top_p?",
    "Что значит HTTP 401 от модели?",
    "Проверяет ли doctor доступность модели?",
)
"""Of the labelled ones about the handbook, a quarter of those that both versions answer."""


def measure(place: Path, commit: str) -> list[Measurement]:
    """Compare with a commit of this repository, which runs with the packages of this environment.

    Each version is a process of its own and has our handbook indexed. Of a question the fastest of the rounds counts:
    what else a machine does only adds to it.

    Raises:
        subprocess.CalledProcessError: There is no such commit.
    """
    earlier = extract_commit(commit, place / "earlier")
    with ExitStack() as opened:
        both = [opened.enter_context(_start(tree, place)) for tree in (ROOT, earlier)]
        for ask in both:
            for _ in range(WARM_UP):
                ask()
        rounds = [[ask() for ask in both] for _ in range(ROUNDS)]
    ours, theirs = (fmean(map(min, zip(*costs, strict=True))) for costs in zip(*rounds, strict=True))
    return [
        Measurement(
            "of the processor, a turn takes, without a language model", ours, theirs, "ms", f"commit {commit}", aim=0.6
        )
    ]


@contextmanager
def _start(tree: Path, place: Path) -> Generator[Callable[[], list[float]]]:
    """Start the version in a folder; yield what asks it all questions once and returns its milliseconds for each."""
    folder = place / f"data-{tree.name}"
    command = [
        sys.executable,
        "-P",
        str(ROOT / "tools" / "benchmarks" / "worker.py"),
        str(folder),
        str(ROOT / "knowledge"),
    ]
    process = subprocess.Popen(  # our own script
        command,
        cwd=tree,
        env={**os.environ, "PYTHONPATH": str(tree)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )

    def ask() -> list[float]:
        print(json.dumps(QUESTIONS), file=process.stdin, flush=True)
        return json.loads(cast("IO[str]", process.stdout).readline())

    try:
        yield ask
    finally:
        cast("IO[str]", process.stdin).close()
        process.wait()
