"""`make demo`'s tour, as a process of its own: every ending, out of the shipped documents, with nothing scripted."""

from __future__ import annotations

import asyncio
import os
import re
import shlex
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest

from assistant.cli.demo import TOUR
from assistant.cli.parser import build_parser
from assistant.turns.transcript import TurnStore
from tests.support import fork_server

pytestmark = pytest.mark.slow

ROOT: Final = Path(__file__).resolve().parents[2]
Results = list[dict[str, Any]]

AND_SAY_WHAT_WAS_LOADED: Final = """
import gc, sys
gc.set_threshold(100_000)
from assistant.cli.demo import main
code = main()
print(*(name for name in sys.modules if name.startswith(("adapters.fakes", "tests", "unittest"))), file=sys.stderr)
gc.freeze()
sys.exit(code)
"""
"""It looks for garbage rarely: nearly all it would look through are modules."""


@dataclass(frozen=True)
class Tours:
    """Two runs of the tour over one data directory, and the conversations that they left behind."""

    first: subprocess.CompletedProcess[str]
    second: subprocess.CompletedProcess[str]
    conversations: list[Results]


@pytest.fixture(scope="module")
def tours(handbook_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Tours:
    """Run the tour twice, first where a page of the handbook is not indexed yet: to index them all takes seconds."""
    place = tmp_path_factory.mktemp("demo")
    shutil.copytree(handbook_data, place / "data")
    with closing(sqlite3.connect(place / "data" / "handbook" / "knowledge" / "knowledge.sqlite")) as record:
        record.execute("DELETE FROM files WHERE path LIKE '%threads.md'")
        record.commit()
    first = fork_server.run(["assistant.cli.demo"], cwd=ROOT, env=_environment(place), text=True)
    second = _in_an_interpreter(place, AND_SAY_WHAT_WAS_LOADED)
    return Tours(first, second, asyncio.run(_conversations(place / "data" / "handbook" / "threads.db")))


def _environment(place: Path) -> dict[str, str]:
    plain = {name: value for name, value in os.environ.items() if not name.startswith(("GUARD", "OPENAI", "LANG"))}
    return {
        **plain,
        "PYTHONPATH": str(ROOT),
        "GUARDIAN_DATA_DIR": str(place / "data"),
        "GUARDIAN_EMBEDDER": "off",
        "GUARDIAN_RERANKER": "off",
        "PYTHONUTF8": "1",
    }


def _in_an_interpreter(place: Path, code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env=_environment(place),
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


async def _conversations(database: Path) -> list[Results]:
    """Return the results of each conversation's turns; the newest conversation comes first."""
    async with await TurnStore.open(database) as store:
        threads = await store.list_threads()
        turns = [await store.turns(thread.thread_id) for thread in threads]
    assert all(turn.result for conversation in turns for turn in conversation)
    return [[turn.result or {} for turn in conversation] for conversation in turns]


def verdicts(result: dict[str, Any]) -> list[str]:
    return [line["outcome"].split(";")[0] for line in result["decisions"] if line["table"] == "DT-005"]


def outcomes(results: Results) -> list[str]:
    return [result["outcome"] for result in results]


ENDINGS: Final[dict[str, Callable[[Results], bool]]] = {
    "answered in Russian": lambda turns: outcomes(turns) == ["answered"] and turns[0]["language"] == "ru",
    "answered in English": lambda turns: outcomes(turns) == ["answered"] and turns[0]["language"] == "en",
    "RETRY then PASS": lambda turns: turns[-1]["outcome"] == "answered" and set(verdicts(turns[-1])[:-1]) == {"RETRY"},
    "RETRY until FAIL with a hand-off": lambda turns: (
        turns[-1]["outcome"] == "handed_off"
        and verdicts(turns[-1])[0] == "RETRY"
        and verdicts(turns[-1])[-1] == "FAIL"
        and turns[-1]["hand_off"]["engineer_intervention_needed"]
    ),
    "clarified and then answered": lambda turns: outcomes(turns) == ["clarification", "answered"],
    "off-topic declined": lambda turns: outcomes(turns) == ["declined"],
    "unsafe refused": lambda turns: (
        outcomes(turns) == ["refused"] and turns[0]["moderation"]["safety_level"] == "Unsafe"
    ),
}


@pytest.mark.parametrize("ending", ENDINGS)
def test_the_tour_shows_every_ending(tours: Tours, ending: str) -> None:
    """Each way in which a turn can end is there, twice after two runs, by what the turns themselves recorded."""
    assert len([turns for turns in tours.conversations if ENDINGS[ending](turns)]) >= 2


def test_the_tour_ends_well_and_again(tours: Tours) -> None:
    """Exit code 0 and the same endings both times; the second run finds the documents indexed."""
    assert (tours.first.returncode, tours.second.returncode) == (0, 0), tours.first.stderr + tours.second.stderr
    shown = [
        run.stdout.partition("What the tour showed")[2].partition("turns in")[0] for run in (tours.first, tours.second)
    ]
    assert shown[0] == shown[1]
    assert len(tours.conversations) == 2 * len(TOUR)
    assert " 0 added, 0 changed" in tours.second.stdout.splitlines()[0]
    assert " 2 added, 0 changed" in tours.first.stdout.splitlines()[0]


def test_the_tour_asks_what_is_written_down_and_nothing_else(tours: Tours) -> None:
    """The questions of the conversations are those of the list, in order; all else came out of the nodes."""
    asked = [[turn["question"] for turn in turns] for turns in reversed(tours.conversations)]
    assert asked == [list(stop.says) for stop in TOUR] * 2


def test_no_fake_takes_part_in_the_tour(tours: Tours) -> None:
    """In the process that ran the tour, no module of fakes was even imported."""
    assert tours.second.stderr.splitlines()[-1].strip() == ""


def test_the_tour_shows_what_the_user_sees_and_beside_it_the_decisions(tours: Tours) -> None:
    """Every question and answer is printed, and a line for each node, with table and row where it decided."""
    printed = _words(tours.second.stdout)
    for results in reversed(tours.conversations[: len(TOUR)]):
        for result in results:
            assert _words(result["question"]) in printed
            assert _words(result["answer_text"].replace("\\", "")) in printed.replace("\\", "")
            for line in result["decisions"]:
                assert f"{line['table']}/{line['row']} → " in printed
            for node in result["diagnostics"]["timings_ms"]:
                assert re.search(rf"· {node} +\d+\.\d ms", tours.second.stdout)
    begun = re.findall(r"^ +· moderation ", tours.second.stdout, re.MULTILINE)
    assert len(begun) == sum(len(stop.says) for stop in TOUR)


def _words(text: str) -> str:
    return " ".join(text.split())


def test_the_tour_says_what_to_type_next(tours: Tours) -> None:
    """It ends with commands that the command line takes."""
    lines = [line.strip() for line in tours.first.stdout.rpartition("Now type:")[2].splitlines() if line.strip()]
    commands = [re.split(r" {3,}", line)[0] for line in lines]
    assert len(commands) >= 4
    for command in commands:
        program, *arguments = shlex.split(command)
        assert program == ".venv/bin/guardian"
        assert arguments == ["--help"] or build_parser().parse_args(arguments)
