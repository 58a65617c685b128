"""A run over a table: every row is a turn in its own conversation, so that a killed run can continue.

    OUT.progress    the run, its input and its settings; made before the first row is asked, removed when OUT is complete
    OUT.RUN.part    OUT while it is written, after the last row; no user file has the run's name in its own

Answers are in the transcript, under ids made from the run and the row. So no row is asked twice, and no result is kept
in memory.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import sys
import time
import uuid
from collections import Counter
from collections.abc import Callable, Generator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from adapters.storage.lock import ProcessLock
from assistant.batch import html
from assistant.batch.columns import Column, ColumnMap, QuestionColumns, cells_of, fault_of, find_columns, write_failure
from assistant.batch.table_reader import open_table
from assistant.batch.table_writer import open_writer, unique
from assistant.batch.tables import MOST_COLUMNS, MOST_ROWS, Cell, SheetRow, Table, digest, kind_of, needs_extra
from assistant.caller import Caller
from assistant.service import Question, Service, open_service
from contracts.enums import Outcome
from contracts.errors import GuardianError, InputError, ThreadBusy, ThreadError, UnknownThread
from contracts.result import StructuredAgentResult

if TYPE_CHECKING:
    from tqdm import tqdm

    from assistant.deployment import Deployment

Json = dict[str, Any]
PROGRESS: Final = ".progress"
PART: Final = ".part"
_FORMAT: Final = 1
_REFRESH_S: Final = 1.0
"""How often the bar's clock is shown, in seconds, where no row ends."""


@dataclass(frozen=True, slots=True)
class Job:
    """The options of a batch run from the command line.

    Attributes:
        source, target: IN and OUT.
        columns: The mapping.
        at_once: Rows to ask at the same time, 1 or more.
        force: Whether to replace an existing OUT and forget an interrupted run.
        language: The language of the answers; if empty, that of each question.
        role: The caller's role.
    """

    source: Path
    target: Path
    columns: ColumnMap
    at_once: int = 4
    force: bool = False
    language: str = ""
    role: str = "user"

    @property
    def progress(self) -> Path:
        """The file next to OUT that lets a killed run continue."""
        return self.target.with_name(self.target.name + PROGRESS)


@dataclass(slots=True)
class Report:
    """The outcome of a run.

    Attributes:
        rows: Rows that were asked, including those of an earlier process.
        outcomes: The number of rows for each outcome; rows without a result are not counted.
        errors: The reason for each error, by row number.
        names: The name in IN of each such row, by row number; rows without a name are left out.
        degraded: Rows with a turn in which a part did not work as configured.
        shortened: Cells that were cut to a spreadsheet's limit.
        seconds: The time of this process.
        target: The file with the answers: OUT, or a file next to it if OUT appeared during the run.
    """

    rows: int = 0
    outcomes: Counter[Outcome] = field(default_factory=Counter[Outcome])
    errors: dict[int, str] = field(default_factory=dict[int, str])
    names: dict[int, str] = field(default_factory=dict[int, str])
    degraded: int = 0
    shortened: int = 0
    seconds: float = 0.0
    target: Path = Path()


@dataclass(frozen=True, slots=True)
class Begun:
    """A run that is about to begin or continue: its name, its rows, and how many of them were answered before."""

    run: str
    rows: int
    done: int


async def run_batch(deployed: Deployment, job: Job, begun: Callable[[Begun], None]) -> Report:
    """Answer the rows of a table and write another; an interrupted run continues.

    Args:
        deployed: The deployment that answers.
        job: The options of the run.
        begun: Called once, before the first row is asked.

    Raises:
        InputError: One of the two files, the mapping or a setting is not valid; nothing was asked.
        ThreadError: The storage failed; the run can continue.
        GuardianError: Another problem that a person can fix; the error says how.
    """
    since = time.monotonic()
    kind = _check_job(job)
    context = deployed.build_context(language=job.language or None, role=job.role)
    hashed = digest(job.source)
    table = open_table(job.source, job.columns.layout)
    reading = find_columns(table.header, job.columns.input)
    _check_size(job, table, kind)
    _check_html(table, reading)
    with _alone(deployed, job):
        plan = {
            "input": hashed,
            "columns": job.columns.input.model_dump(mode="json"),
            "settings": context.model_dump(mode="json"),
            "profile": deployed.profile.name,
            "data": str(deployed.folder.resolve()),
        }
        run = _enter_run(job, plan)
        async with open_service(deployed) as service:
            work = _BatchWork(service, job, reading, run)
            report = await work.ask_all(table, begun)
            if digest(job.source) != hashed:
                raise _change_error("input")
            await work.write(table, kind, report)
        job.progress.unlink()
    report.seconds = time.monotonic() - since
    return report


# -------------------------------------------------------------------------------------------------- before the run


def _check_job(job: Job) -> str:
    """Return the kind of OUT, where both files will do.

    Raises:
        InputError: One does not.
    """
    if not job.source.is_file():
        raise InputError(f"There is no file {str(job.source)!r}.", "Name the table of questions.")
    kind_of(job.source, "IN")
    kind = kind_of(job.target, "OUT")
    if job.target.exists() and job.target.samefile(job.source):
        raise InputError("IN and OUT are the same file, and IN is never changed.", "Give OUT another name.")
    if not job.target.parent.is_dir():
        raise InputError(f"There is no folder {str(job.target.parent)!r}.", "Make it, or name another OUT.")
    if job.target.is_dir():
        raise InputError(f"{str(job.target)!r} is a folder.", "Name a file.")
    if job.target.exists() and not job.progress.exists() and not job.force:
        raise InputError(
            f"{str(job.target)!r} exists.",
            "Name another OUT, or replace this one with --force: every row is asked again.",
        )
    return kind


def _check_size(job: Job, table: Table, kind: str) -> None:
    columns = len(table.header) + len(job.columns.output.columns)
    if kind == ".xlsx" and (table.count >= MOST_ROWS or columns > MOST_COLUMNS):
        raise InputError(
            f"The answers are {table.count:,} rows of {columns:,} columns; a spreadsheet holds {MOST_ROWS:,} of "
            f"{MOST_COLUMNS:,}, header included.",
            "Name an OUT that ends with .csv or .jsonl.",
        )


def _check_html(table: Table, reading: QuestionColumns) -> None:
    """Raise `ConfigError` where rows are HTML and nothing here reads that: better now than in each row."""
    if find_spec(html.LIBRARY) is not None:
        return
    with closing(table.rows()) as rows:
        if any(html.is_html(text, reading.html) for row in rows for text in reading.texts(row)):
            raise needs_extra("Descriptions in HTML")


@contextmanager
def _alone(deployed: Deployment, job: Job) -> Generator[None]:
    """Keep a second process off the same OUT."""
    name = hashlib.sha256(str(job.target.resolve()).encode()).hexdigest()[:32]
    lock = ProcessLock(deployed.settings.data.folder / "locks" / f"batch-{name}.lock")
    if not lock.try_acquire():
        raise InputError(f"Another process is writing {str(job.target)!r}.", "Wait for it, or name another OUT.")
    try:
        yield
    finally:
        lock.release()


@dataclass(frozen=True, slots=True)
class _BatchRun:
    """A run: its name, whether it was begun before, and whether an OUT that exists may be replaced."""

    name: str
    goes_on: bool
    replaces: bool


def _enter_run(job: Job, plan: Json) -> _BatchRun:
    """Return the run to go on with, or a new one, whose progress file is then made.

    Raises:
        InputError: There is a run, but of something else.
    """
    if job.progress.exists() and not job.force:
        kept = _read_progress(job)
        for name, value in plan.items():
            if kept.get(name) != value:
                raise _change_error(name)
        return _BatchRun(str(kept["run"]), goes_on=True, replaces=kept.get("replaces") is True)
    run = _BatchRun(uuid.uuid4().hex[:12], goes_on=False, replaces=job.force)
    entry = {"format": _FORMAT, "run": run.name, "source": job.source.name, "replaces": run.replaces, **plan}
    _write_whole(job.progress, _part(job.progress, run), entry)
    return run


def _part(path: Path, run: _BatchRun) -> Path:
    return path.with_name(f"{path.name}.{run.name}{PART}")


def _read_progress(job: Job) -> Json:
    try:
        read: Any = json.loads(job.progress.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise _strange(job) from error
    kept = cast("Json", read) if isinstance(read, dict) else {}
    if kept.get("format") != _FORMAT or not kept.get("run"):
        raise _strange(job)
    return kept


def _strange(job: Job) -> InputError:
    return InputError(
        f"{str(job.progress)!r} cannot be read as the progress of a run.",
        "Start over with --force: every row is asked again.",
    )


_CHANGES: Final = {
    "input": ("IN is not the same any more", "Put back the file that the run began with"),
    "columns": ("[input] of the mapping is not the same", "Use the mapping that the run began with"),
    "settings": (
        "the run settings (language, role, the profile's or the environment's) are not the same",
        "Use those that the run began with",
    ),
    "profile": ("the profile is not the same", "Name the one that the run began with"),
    "data": ("the data directory is not the same", "Set GUARDIAN_DATA_DIR to that which the run began with"),
}


def _change_error(name: str) -> InputError:
    what, way_out = _CHANGES[name]
    return InputError(
        f"An interrupted run cannot resume: {what}.",
        f"{way_out} and the run resumes, or start over with --force: every row is asked again.",
    )


def _write_whole(path: Path, part: Path, value: Json) -> None:
    """Write a JSON file that is there whole or not at all; `part` is its name meanwhile.

    Raises:
        GuardianError: It cannot be written.
    """
    try:
        with part.open("w", encoding="utf-8") as file:
            json.dump(value, file, ensure_ascii=False, indent=2)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise GuardianError(
            f"{str(path)!r} cannot be written: {error.strerror}.", "Check free space and permissions of its folder."
        ) from error


# --------------------------------------------------------------------------------------------------------- the run


class _BatchWork:
    """One run: asks its rows, then writes them."""

    def __init__(self, service: Service, job: Job, reading: QuestionColumns, run: _BatchRun) -> None:
        self._service = service
        self._job = job
        self._reading = reading
        self._run = run
        self._caller = Caller(role=job.role)

    async def ask_all(self, table: Table, begun: Callable[[Begun], None]) -> Report:
        """Ask every row that has no result yet; if a row fails, the others continue."""
        report = Report(rows=table.count)
        done = await self._read_recorded(table) if self._run.goes_on else set[int]()
        begun(Begun(f"batch-{self._run.name}", table.count, len(done)))
        running = set[asyncio.Task[None]]()
        with closing(table.rows()) as rows, _bar(table.count, len(done)) as bar:
            try:
                for row in rows:
                    if row.number in done:
                        continue
                    running.add(asyncio.create_task(self._ask(row, report)))
                    while len(running) >= self._job.at_once:
                        await _one_ends(running, bar)
                while running:
                    await _one_ends(running, bar)
            finally:
                for task in running:
                    task.cancel()
                await asyncio.gather(*running, return_exceptions=True)
        return report

    async def _ask(self, row: SheetRow, report: Report) -> None:
        try:
            question = self._reading.question(row)
            await self._service.ask(
                self._caller,
                Question(question, self._thread(row), _turn_id(question), {"language": self._job.language or None}),
            )
        except ThreadError as error:
            # What cannot be stored for this row cannot be for the next one.
            if not isinstance(error, ThreadBusy):
                raise
            report.errors[row.number] = error.message
        except GuardianError as error:
            report.errors[row.number] = " ".join(filter(None, (error.message, error.way_out)))
        except Exception as error:  # noqa: BLE001  # one row's fault must not cost the others
            report.errors[row.number] = f"{type(error).__name__}: {error}"

    async def _read_recorded(self, table: Table) -> set[int]:
        """Return the numbers of the rows that have a result."""
        with closing(table.rows()) as rows:
            return {row.number for row in rows if await self._result(row) is not None}

    async def _result(self, row: SheetRow) -> Json | None:
        try:
            turns = await self._service.turns(self._caller, self._thread(row))
        except UnknownThread:
            return None
        return turns[0].result

    def _thread(self, row: SheetRow) -> str:
        return f"batch-{self._run.name}-{row.number}"

    async def write(self, table: Table, kind: str, report: Report) -> None:
        """Write OUT under another name and move it into place; count the outcomes."""
        wanted = self._job.columns.output.columns
        header = unique_behind(table.header, list(wanted.values()))
        part = _part(self._job.target, self._run)
        delimiter = self._job.columns.output.delimiter or table.delimiter
        try:
            with closing(table.rows()) as rows, open_writer(part, kind, header, delimiter) as writer:
                for row in rows:
                    cells = await self._cells(row, report, structured=kind == ".jsonl")
                    if row.number in report.errors and (name := self._reading.name(row)):
                        report.names[row.number] = name
                    writer.write([*row.cells, *(cells.get(column) for column in wanted)])
            report.shortened = writer.shortened
            report.target = _move_result(part, self._job.target, self._run)
        finally:
            with suppress(OSError):  # what was wrong is raised already
                part.unlink(missing_ok=True)

    async def _cells(self, row: SheetRow, report: Report, *, structured: bool) -> Mapping[Column, Cell]:
        raw = await self._result(row) if row.number not in report.errors else None
        if raw is None:
            error = report.errors.setdefault(row.number, "The conversation of this row was deleted during the run.")
            return write_failure(self._thread(row), error)
        result = StructuredAgentResult.model_validate(raw)
        report.outcomes[result.outcome] += 1
        report.degraded += bool(result.diagnostics.degraded)
        if fault := fault_of(result):
            report.errors[row.number] = fault
        return cells_of(result, structured=structured)


def _turn_id(question: str) -> str:
    return hashlib.sha256(question.encode("utf-8", "replace")).hexdigest()[:32]


def unique_behind(header: tuple[str, ...], ours: list[str]) -> list[str]:
    """Return a header unchanged, then our column names; a name that the header already has is changed."""
    return [*header, *unique([*unique(header), *ours])[len(header) :]]


def _move_result(part: Path, target: Path, run: _BatchRun) -> Path:
    """Move a finished file to OUT, or beside it where OUT exists and may not be replaced; return where it is."""
    try:
        with part.open("rb") as file:
            os.fsync(file.fileno())
        if run.replaces:
            return part.replace(target)
        beside = target.with_name(f"{target.stem}.{run.name}{target.suffix}")
        try:
            # Unlike a check before a move, this cannot replace what appears at this moment.
            os.link(part, target)
        except FileExistsError:
            return part.replace(beside)
        except OSError:
            # A file system without links.
            return part.replace(beside if target.exists() else target)
        part.unlink()
    except OSError as error:
        raise GuardianError(
            f"{str(target)!r} cannot be written: {error.strerror}.", "Close it elsewhere, and check its permissions."
        ) from error
    return target


async def _one_ends(running: set[asyncio.Task[None]], bar: tqdm[Any]) -> None:
    ended, _ = await asyncio.wait(running, timeout=_REFRESH_S, return_when=asyncio.FIRST_COMPLETED)
    running -= ended
    # Each is looked at before the first raises: of the others, nobody would ask what ended them.
    faults = [fault for task in ended if (fault := task.exception())]
    if faults:
        raise faults[0]
    bar.update(len(ended))
    bar.refresh()


def _bar(total: int, done: int) -> tqdm[Any]:
    """Return a bar with an estimate, which rows of an earlier process do not flatter; none where there is no terminal."""
    from tqdm import tqdm

    return tqdm(total=total, initial=done, unit=" rows", file=sys.stderr, leave=False, disable=None, smoothing=0.1)
