"""`guardian batch` from beginning to end, in this process: what is written, refused and said."""

from __future__ import annotations

import json
import os
import re
import resource
import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from adapters.storage.lock import ProcessLock
from assistant.batch.columns import Column
from tests.support.batch_files import put, put_csv, table
from tests.support.cli_helpers import ANSWER, QUESTION, Desk, Said

TICKETS = [
    ["id", "subject", "description", "price"],
    ["T-1", "Backup", f"<p>{QUESTION}</p><script>track()</script>", "=1+1"],
    ["T-2", "", "Как принять возврат книги?", "-5"],
    ["", "", "", ""],
    ["T-3", "", "x" * 20_001, "7"],
    ["T-4", "", "", "8"],
    ["T-5", "Printer", "Connect me to a human operator, please", "9"],
]
ENOUGH = 12
"""Rows that take long enough for something to happen meanwhile."""
OURS = [column.value for column in Column]


def batch(desk: Desk, source: Path, target: Path, *options: str) -> Said:
    """Run the command in this process."""
    return desk.here("batch", str(source), str(target), *options)


@contextmanager
def meanwhile(out: Path, then: Callable[[str], object]) -> Generator[None]:
    """Do something with the run's name as soon as it has begun; it is done when the block has ended."""
    progress = out.with_name(f"{out.name}.progress")

    def wait() -> None:
        end = time.monotonic() + 30
        while not progress.exists():
            if time.monotonic() > end:
                return
            time.sleep(0.001)
        then(json.loads(progress.read_text("utf-8"))["run"])

    helper = Thread(target=wait)
    helper.start()
    yield
    helper.join()


def conversations(desk: Desk) -> list[str]:
    """Return the ids of the conversations that there are."""
    return [thread["thread_id"] for thread in desk.here("threads", "list", "--json").json]


@pytest.fixture(scope="module")
def answered(shelf: Desk, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What comes of one spreadsheet of tickets: as a spreadsheet, and what was said of it."""
    folder = tmp_path_factory.mktemp("answered")
    source = put(folder / "tickets.xlsx", [TICKETS[0], *[[*line[:3], f" {line[3]}"] for line in TICKETS[1:]]])
    os.utime(source, ns=(1_000_000_000, 1_000_000_000))
    before = source.read_bytes()
    said = batch(shelf, source, folder / "out.xlsx", "--at-once", "3")
    return {"folder": folder, "source": source, "before": before, "said": said, "rows": table(folder / "out.xlsx")}


def test_the_table_has_the_columns_of_the_input_and_then_the_answers(answered: dict[str, Any]) -> None:
    """Every row that is not empty is there once, in order, with what was found for it."""
    rows = answered["rows"]
    assert [list(row) for row in rows] == [[*TICKETS[0], *OURS]] * 5
    assert [row["id"] for row in rows] == ["T-1", "T-2", "T-3", "T-4", "T-5"]
    first = rows[0]
    assert (first["description"], first["price"]) == (TICKETS[1][2], " =1+1")
    assert ANSWER in first["answer"]
    assert (first["outcome"], first["verdict"], first["error"]) == ("answered", "PASS", None)
    assert "https://shelf.example/en/restore [doc:corpus/en/restore.md#0]" in first["articles"]
    assert "[doc:corpus/en/restore.md#0] Restoring a backup (0." in first["chunks"]
    assert ANSWER in first["chunks"]
    assert 0 <= first["spam_score"] < 0.5 < first["confidence"] <= 1
    assert first["queries"] >= 1
    assert "catalogue" in first["intent"]
    assert "track" not in first["intent"]
    assert first["engineer_intervention_needed"] is False
    assert "Возврат книги" in rows[1]["answer"]
    assert (rows[4]["outcome"], rows[4]["engineer_intervention_needed"]) == ("handed_off", True)
    assert "human operator" in rows[4]["issue_summary"]


def test_a_row_that_fails_is_a_row_with_an_error(answered: dict[str, Any]) -> None:
    """The others are answered; the exit code is 1, and the rows are named as the spreadsheet numbers them."""
    errors = [row["error"] for row in answered["rows"]]
    assert [error is None for error in errors] == [True, True, False, False, True]
    assert "20,001 characters" in errors[2]
    assert "empty" in errors[3]
    assert answered["rows"][2]["answer"] is None
    said = answered["said"]
    assert said.code == 1
    assert "2 rows have an error" in said.err
    assert "5 (T-3), 6 (T-4)" in said.err
    assert "2 answered" in said.out
    assert "1 handed off" in said.out
    assert "2 without a result" in said.out


def test_the_input_is_never_changed_and_nothing_is_left_beside_the_output(answered: dict[str, Any]) -> None:
    """Neither its bytes nor its date; progress and half-written files are gone."""
    source = answered["source"]
    assert source.read_bytes() == answered["before"]
    assert source.stat().st_mtime_ns == 1_000_000_000
    assert sorted(path.name for path in answered["folder"].iterdir()) == ["out.xlsx", "tickets.xlsx"]


def test_a_row_is_a_conversation_that_can_be_read(shelf: Desk, answered: dict[str, Any]) -> None:
    """The column of threads names it."""
    shown = shelf.here("threads", "show", answered["rows"][0]["thread"])
    assert shown.code == 0
    assert QUESTION in shown.out
    assert "<p>" not in shown.out


def test_an_output_that_exists_is_kept_unless_forced(shelf: Desk, tmp_path: Path) -> None:
    """`--force` replaces it, and asks every row anew."""
    source, out = put(tmp_path / "q.jsonl", [["question"], ["Hello"]]), tmp_path / "out.jsonl"
    out.write_text("mine", "utf-8")
    batch(shelf, source, out).complains(2, "out.jsonl' exists", "--force")
    assert out.read_text("utf-8") == "mine"
    before = len(conversations(shelf))
    assert batch(shelf, source, out, "--force").code == 0
    assert batch(shelf, source, out, "--force").code == 0
    assert len(conversations(shelf)) == before + 2
    assert table(out)[0]["question"] == "Hello"


def test_a_file_of_the_users_own_is_not_overwritten(shelf: Desk, tmp_path: Path) -> None:
    """Neither one of a name beside OUT, nor an OUT that appears while rows are asked, unless that was forced."""
    source, out = put(tmp_path / "q.csv", [["question"], *[["Hello"]] * ENOUGH]), tmp_path / "out.csv"
    for name in ("out.csv.part", "out.csv.progress.part"):
        (tmp_path / name).write_text("mine", "utf-8")
    with meanwhile(out, lambda _: out.write_text("mine", "utf-8")):
        said = batch(shelf, source, out)
    assert said.code == 1
    (kept,) = tmp_path.glob("out.????????????.csv")
    assert f"appeared during the run and was not replaced: the answers are in {kept}" in said.err
    assert table(kept)[0]["question"] == "Hello"
    for name in ("out.csv", "out.csv.part", "out.csv.progress.part"):
        assert (tmp_path / name).read_text("utf-8") == "mine"
    assert sorted(tmp_path.iterdir()) == sorted(
        [source, out, kept, tmp_path / "out.csv.part", tmp_path / "out.csv.progress.part"]
    )

    out.unlink()
    with meanwhile(out, lambda _: out.write_text("mine", "utf-8")):
        assert batch(shelf, source, out, "--force").code == 0
    assert table(out)[0]["question"] == "Hello"


def test_a_broken_line_of_json_costs_no_other(shelf: Desk, tmp_path: Path) -> None:
    """It is a row with an error, at its place."""
    source, out = tmp_path / "q.jsonl", tmp_path / "out.jsonl"
    source.write_text('{"question": "Hello"}\n{"question": broken}\n{"question": "Hello"}\n', "utf-8")
    assert batch(shelf, source, out).code == 1
    rows = table(out)
    assert [row["outcome"] is None for row in rows] == [False, True, False]
    assert "Line 2 of IN is no JSON" in rows[1]["error"]


def test_the_mapping_chooses_the_columns_and_names_them(shelf: Desk, tmp_path: Path) -> None:
    """Only those are written, in its order; a name that the input has already gets a number; JSON has objects."""
    source = put_csv(tmp_path / "q.csv", [["Frage", "answer"], [QUESTION, "mine"]], delimiter=";")
    columns = tmp_path / "columns.toml"
    columns.write_text(
        '[input]\ndescription = "frage"\n[output.columns]\nthread = "where"\narticles = "found"\nanswer = "answer"\n',
        "utf-8",
    )
    for out in (tmp_path / "out.csv", tmp_path / "out.jsonl"):
        assert batch(shelf, source, out, "--columns", str(columns), "--lang", "ru").code == 0
        (row,) = table(out)
        assert list(row) == ["Frage", "answer", "where", "found", "answer (2)"]
        assert row["answer"] == "mine"
    assert row["found"][0] == {
        "title": row["found"][0]["title"],
        "url": row["found"][0]["url"],
        "refs": row["found"][0]["refs"],
    }
    assert (tmp_path / "out.csv").read_bytes().startswith("\ufeffFrage;answer;".encode())


def test_what_cannot_begin_is_said_before_anything_is_asked(shelf: Desk, tmp_path: Path) -> None:
    """Each with exit code 2 and a way out, and no progress file is left."""
    source = put(tmp_path / "q.csv", [["question"], ["Hello"]])
    (tmp_path / "same.csv").hardlink_to(source)
    before = conversations(shelf)
    out = tmp_path / "out.csv"
    batch(shelf, tmp_path / "none.csv", out).complains(2, "There is no file")
    batch(shelf, source, source).complains(2, "IN and OUT are the same file")
    batch(shelf, source, tmp_path / "same.csv", "--force").complains(2, "IN and OUT are the same file")
    batch(shelf, source, tmp_path / "out.ods").complains(2, "OUT", "no .xlsx, .csv or .jsonl file", ".xlsx")
    batch(shelf, source, tmp_path / "none" / "out.csv").complains(2, "There is no folder")
    batch(shelf, source, out, "--role", "king").complains(2, "no role 'king'")
    batch(shelf, source, out, "--columns", "none.toml").complains(2, "none.toml", "cannot be read")
    batch(shelf, put(tmp_path / "x.csv", [["a"], ["Hello"]]), out).complains(2, "known as a subject")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["q.csv", "same.csv", "x.csv"]
    assert conversations(shelf) == before


def test_two_processes_do_not_write_one_output(shelf: Desk, tmp_path: Path) -> None:
    """The second is told so, and the lock goes with its holder."""
    source, out = put(tmp_path / "q.csv", [["question"], ["Hello"]]), tmp_path / "out.csv"
    assert batch(shelf, source, out).code == 0
    from hashlib import sha256

    name = sha256(str(out.resolve()).encode()).hexdigest()[:32]
    lock = ProcessLock(shelf.data / "locks" / f"batch-{name}.lock")
    assert lock.try_acquire()
    try:
        (tmp_path / "out.csv.progress").write_text("{}", "utf-8")
        said = batch(shelf, source, out, "--force")
        said.complains(2, "Another process is writing")
        assert "is kept" not in said.err
    finally:
        lock.release()


def test_a_run_whose_output_cannot_be_written_goes_on_and_asks_nothing_again(shelf: Desk, tmp_path: Path) -> None:
    """What was answered is kept; a run of something else is refused with what differs, until it is forced."""
    source, out = put(tmp_path / "q.csv", [["question"], *[["Hello"]] * ENOUGH]), tmp_path / "out.csv"
    with meanwhile(out, lambda run: (tmp_path / f"out.csv.{run}.part").mkdir()):
        said = batch(shelf, source, out)
    said.complains(1, ".part' cannot be written")
    assert "out.csv.progress is kept" in said.err
    threads = conversations(shelf)
    next(tmp_path.glob("*.part")).rmdir()

    batch(shelf, source, out, "--lang", "ru").complains(2, "cannot resume", "settings", "--force")
    whole = source.read_bytes()
    source.write_bytes(whole + b"Thanks\n")
    said = batch(shelf, source, out)
    said.complains(2, "cannot resume", "IN is not the same", "--force")
    assert "is kept" not in said.err
    source.write_bytes(whole)
    progress = tmp_path / "out.csv.progress"
    kept = progress.read_text("utf-8")
    for broken in ("{", "[]", "{}", json.dumps({**json.loads(kept), "format": 99})):
        progress.write_text(broken, "utf-8")
        batch(shelf, source, out).complains(2, "cannot be read as the progress of a run", "--force")
    progress.write_text(kept, "utf-8")

    said = batch(shelf, source, out)
    assert said.code == 0
    assert f"of {ENOUGH} rows, {ENOUGH} are already answered" in said.err
    assert conversations(shelf) == threads
    assert [row["outcome"] for row in table(out)] == ["answered"] * ENOUGH
    assert not progress.exists()


@pytest.mark.parametrize(
    ("package", "name", "question"),
    [("openpyxl", "q.xlsx", "Hello"), ("selectolax", "q.csv", "<p>Hello</p>")],
)
def test_without_its_packages_it_says_how_to_get_them(
    shelf: Desk, tmp_path: Path, package: str, name: str, question: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only spreadsheets and HTML need the extra, which is named as pip wants it."""
    source, plain = put(tmp_path / name, [["question"], [question]]), put(tmp_path / "p.csv", [["question"], ["Hello"]])
    monkeypatch.setitem(sys.modules, package, None)
    batch(shelf, source, tmp_path / "out.csv").complains(2, "pip install 'guardian-assistant[batch]'")
    assert batch(shelf, plain, tmp_path / "out.csv").code == 0


def test_words_are_russian_where_the_terminal_is(shelf: Desk, tmp_path: Path) -> None:
    """The summary and the remarks are in the language of the user's system."""
    source = put(tmp_path / "q.csv", [["question"], ["Hello"], ["x" * 20_001]])
    said = batch(shelf.having(LC_ALL="ru_RU.UTF-8"), source, tmp_path / "out.csv")
    assert "2 строки" in said.out
    assert "1 строка с ошибкой" in said.err


def test_a_full_disk_stops_the_run_which_then_goes_on(shelf: Desk, tmp_path: Path) -> None:
    """What cannot be stored is no error of a row: nothing more is asked, and what was answered is kept."""
    desk = shelf.copied(tmp_path / "data")
    (desk.folder / "threads.db").unlink(missing_ok=True)
    lines = [["question"], *[[f"{QUESTION} {n}"] for n in range(12)]]
    source, out = put(tmp_path / "q.csv", lines), tmp_path / "out.csv"
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1_200_000, before[1]))
    try:
        said = batch(desk, source, out, "--at-once", "1")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    said.complains(1, "the disk could not be read or written", "out.csv.progress is kept")
    assert not out.exists()
    said = batch(desk, source, out)
    assert said.code == 0
    assert re.search(r"of 12 rows, [1-9]\d* are already answered", said.err), said.err
    assert [row["outcome"] for row in table(out)] == ["answered"] * 12
