"""What the measurement of many clients counts: nothing lost, nothing mixed up, on a real server and on made-up replies."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.fork_server import Program
from tests.support.served_desk import BARE
from tools.benchmarks.load import ClientRun, ClientTurn, LoadedServer, drive, run_server, slope_of, summarise_answer

ROOT = Path(__file__).resolve().parents[2]
CLIENTS, TURNS = 2, 4


@pytest.fixture(scope="module")
def server(handbook_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LoadedServer]:
    """A server over the handbook, forked, and without its chat page: to start is seconds of work, and 14 turns are not one."""

    def start(command: Sequence[str], **options: Any) -> Program[str]:
        return Program(["-c", BARE, *command[command.index("serve") :]], cwd=ROOT, **options)

    data = Path(shutil.copytree(handbook_data, tmp_path_factory.mktemp("load") / "data"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tools.benchmarks.load.subprocess", SimpleNamespace(Popen=start, PIPE=subprocess.PIPE))
        with run_server(data) as running:
            yield running


@pytest.mark.slow
def test_clients_at_once_lose_nothing_and_get_the_answers_to_their_own_questions(server: LoadedServer) -> None:
    """Turns sent, answered and recorded are the same, and each ends as it does for a client that is alone."""
    alone = drive(server, 1, CLIENTS + TURNS, name="alone")
    run = drive(server, CLIENTS, TURNS, name="both")
    assert [asked.fault for asked in run.asked] == [""] * len(run.asked)
    verdicts = {asked.plain: summarise_answer(asked.answer) for asked in alone.asked}
    assert len(set(verdicts.values())) > 1
    assert len(run.asked) == run.answered == run.kept == run.own == run.like(verdicts) == CLIENTS * TURNS
    assert {turn["question"] for turns in run.recorded.values() for turn in turns} == {
        asked.question for asked in run.asked
    }


ANSWER: Mapping[str, Any] = {
    "thread_id": "a",
    "turn_id": "1",
    "answer": "Yes [1].",
    "outcome": "answered",
    "verdict": "PASS",
    "sources": [{"url": "page", "title": "Page"}],
}
ASKED = ClientTurn("a", "1", "Is it?", "Is it? (mark)", 0.1, ANSWER)
TURN: Mapping[str, Any] = {"turn_id": "1", "status": "done", "question": "Is it? (mark)", "answer": ANSWER}


def counted(asked: ClientTurn, *recorded: Mapping[str, Any]) -> tuple[int, int, int, int]:
    """Return how many of one turn are answered, recorded, its own, and as for one client."""
    run = ClientRun([asked], {"a": recorded}, 1.0, 0.1)
    return run.answered, run.kept, run.own, run.like({"Is it?": summarise_answer(ANSWER)})


def test_a_turn_that_went_well_counts_everywhere() -> None:
    """What follows is measured against this."""
    assert counted(ASKED, TURN) == (1, 1, 1, 1)


@pytest.mark.parametrize(
    ("asked", "recorded", "found"),
    [
        (replace(ASKED, answer={}, fault="503"), [TURN], (0, 1, 0, 0)),
        (ASKED, [], (1, 0, 0, 1)),
        (ASKED, [{**TURN, "status": "running", "answer": None}], (1, 0, 0, 1)),
        (ASKED, [TURN, TURN], (1, 0, 1, 1)),
        (ASKED, [TURN, {**TURN, "turn_id": "2"}], (1, 0, 1, 1)),
        (ASKED, [{**TURN, "question": "Is it? (other mark)"}], (1, 1, 0, 1)),
        (ASKED, [{**TURN, "answer": {**ANSWER, "answer": "No [1]."}}], (1, 1, 0, 1)),
        (replace(ASKED, answer={**ANSWER, "thread_id": "b"}), [TURN], (1, 1, 0, 1)),
        (replace(ASKED, answer={**ANSWER, "verdict": "FAIL"}), [TURN], (1, 1, 0, 0)),
        (replace(ASKED, answer={**ANSWER, "sources": []}), [TURN], (1, 1, 0, 0)),
    ],
    ids=[
        "no answer",
        "not recorded",
        "left half-finished",
        "recorded twice",
        "one that nobody asked",
        "below another question",
        "another answer is recorded",
        "of another conversation",
        "another verdict",
        "other sources",
    ],
)
def test_what_is_lost_or_mixed_up_is_counted(
    asked: ClientTurn, recorded: list[Mapping[str, Any]], found: tuple[int, int, int, int]
) -> None:
    """Each way to lose a turn, or to mix it up with another, takes it out of the counts that it concerns."""
    assert counted(asked, *recorded) == found


def test_memory_that_grows_has_an_interval_above_nothing() -> None:
    """A steady growth is found with its size, below one great step; what goes up and down is none."""
    slope, low, high = slope_of([(at, 1000.0 + 2 * at + (700 if at > 10 else 0)) for at in range(20)])
    assert low <= 2 <= slope <= high
    assert low > 0
    _, low, high = slope_of([(at, 1000.0 + at % 3) for at in range(20)])
    assert low <= 0 <= high
