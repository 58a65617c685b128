"""A run that is killed goes on where it stopped: with a language model, whose server keeps what it was asked."""

from __future__ import annotations

import json
import os
import re
import signal
import sqlite3
import time
from collections import Counter
from collections.abc import Callable, Generator
from contextlib import closing
from pathlib import Path
from threading import Thread

import pytest

from tests.support.batch_files import put, table
from tests.support.cli_helpers import Desk, Said, interruptible, read_terminal, terminal
from tests.support.wire.server_process import FakeServer, fake_server

ROWS = 12
AT_ONCE = 3
_DELAY_MS = 150
_MARK = re.compile(r"row-\d+-of-mine")

Asked = Counter[tuple[str, str]]
"""How often which row was asked about, by purpose and its mark."""


@pytest.fixture(scope="module")
def model() -> Generator[FakeServer]:
    """A model that takes a while for each reply."""
    with fake_server("--delay-ms", str(_DELAY_MS)) as server:
        yield server


def asked(server: FakeServer) -> Asked:
    """Return what the model was asked, by what the last message of the user says."""
    counts: Asked = Counter()
    for request in server.requests():
        if request["purpose"]:
            marks = set(_MARK.findall(json.dumps(request["body"]["messages"])))
            assert len(marks) == 1, request  # nothing of one row is in the request of another
            counts[request["purpose"], marks.pop()] += 1
    return counts


def recorded(desk: Desk) -> set[str]:
    """Return the marks of the rows whose turn has a result."""
    with closing(sqlite3.connect(desk.folder / "threads.db", timeout=10)) as store:
        if not store.execute("SELECT 1 FROM sqlite_master WHERE name = 'turns'").fetchone():
            return set()
        rows = store.execute("SELECT question FROM turns WHERE status = 'done'").fetchall()
    return {mark for (question,) in rows for mark in _MARK.findall(question)}


def until(reached: Callable[[], bool]) -> None:
    """Wait until something is so, at most 90 seconds."""
    end = time.monotonic() + 90
    while not reached():
        assert time.monotonic() < end
        time.sleep(0.05)


def interrupted(desk: Desk, reached: Callable[[], bool], *command: str) -> Said:
    """Run a command in this process, with Ctrl-C as soon as something is so."""

    def interrupt() -> None:
        until(reached)
        os.kill(os.getpid(), signal.SIGINT)

    with interruptible():
        try:
            helper = Thread(target=interrupt)
            helper.start()
            said = desk.here(*command)
            helper.join()
        except KeyboardInterrupt:
            raise AssertionError("the command had ended before it was interrupted") from None
    return said


@pytest.mark.slow
def test_a_killed_and_an_interrupted_run_ask_no_answered_row_again(
    shelf: Desk, model: FakeServer, tmp_path: Path
) -> None:
    """Each row is in the output once and in order.

    Of rows that were answered before a kill nothing is asked again, and of one that was being answered only the
    request that was on its way: at most one for each row that ran, and never of a plan that had come back.
    """
    desk = shelf.copied(tmp_path / "data").having(
        GUARDIAN_MODEL="fake-model", OPENAI_BASE_URL=model.url, OPENAI_API_KEY="k", GUARDIAN_MODEL_WINDOW="100000"
    )
    marks = [f"row-{n}-of-mine" for n in range(ROWS)]
    lines = [
        ["id", "question"],
        *[[n, f"How do I restore the catalogue from a backup? ({m})"] for n, m in enumerate(marks)],
    ]
    source, out = put(tmp_path / "tickets.csv", lines), tmp_path / "out.jsonl"
    command = ("batch", str(source), str(out), "--at-once", str(AT_ONCE))
    progress = tmp_path / "out.jsonl.progress"
    before = source.read_bytes()

    master, slave = terminal()
    try:
        with desk.start(*command, stderr=slave) as process:
            os.close(slave)
            until(lambda: len(recorded(desk)) > 1)
            process.send_signal(signal.SIGKILL)
            process.communicate()
        shown = b"".join(iter(lambda: read_terminal(master), b"")).decode()
    finally:
        os.close(master)
    assert re.search(rf"\d+/{ROWS} \[.*rows", shown), shown
    first, had = asked(model), recorded(desk)
    assert 0 < len(had) < ROWS
    assert progress.exists()
    assert not out.exists()

    said = interrupted(desk, lambda: len(recorded(desk)) > len(had) + 1, *command)
    assert said.code == 130
    assert f"of {ROWS} rows, {len(had)} are already answered" in said.err
    assert "the same command resumes" in said.err
    assert "Traceback" not in said.err
    second, had_then = asked(model), recorded(desk)
    assert len(had_then) < ROWS
    assert all(second[purpose, mark] == first[purpose, mark] for purpose in ("plan", "draft") for mark in had)

    said = desk.here(*command)
    assert said.code == 0, said.err
    last = asked(model)
    assert all(last[purpose, mark] == second[purpose, mark] for purpose in ("plan", "draft") for mark in had_then)
    assert all(last[purpose, mark] >= 1 for purpose in ("plan", "draft") for mark in marks)
    # One request in flight for each row that ran, at each of the two ends; nothing else was asked twice.
    assert last.total() - 2 * ROWS <= 2 * AT_ONCE
    assert all(last[purpose, mark] == 1 for purpose in ("plan", "draft") for mark in had)
    assert recorded(desk) == set(marks)
    # The folder that was copied has conversations of other tests, too.
    threads = desk.here("threads", "list", "--json").json
    assert sum(bool(_MARK.search(thread["first_question"])) for thread in threads) == ROWS
    assert [row["id"] for row in table(out)] == [str(n) for n in range(ROWS)]
    assert {row["outcome"] for row in table(out)} == {"answered"}
    assert source.read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data", "out.jsonl", "tickets.csv"]


def test_no_more_rows_than_asked_for_run_at_once(shelf: Desk, model: FakeServer, tmp_path: Path) -> None:
    """As many as `--at-once` says are asked together, and not one more."""
    model.clear()
    desk = shelf.having(GUARDIAN_MODEL="fake-model", OPENAI_BASE_URL=model.url, OPENAI_API_KEY="k")
    lines = [["question"], *[[f"How do I restore the catalogue from a backup? (row-{n}-of-mine)"] for n in range(6)]]
    source = put(tmp_path / "tickets.csv", lines)
    assert desk.here("batch", str(source), str(tmp_path / "out.csv"), "--at-once", "2").code == 0
    requests = [request for request in model.requests() if request["purpose"]]
    marks = [_MARK.findall(json.dumps(request["body"]["messages"]))[0] for request in requests]
    open_rows = set[str]()
    most = 0
    for place, mark in enumerate(marks):
        open_rows.add(mark)
        most = max(most, len(open_rows))
        if mark not in marks[place + 1 :]:
            open_rows.discard(mark)
    assert most == 2
