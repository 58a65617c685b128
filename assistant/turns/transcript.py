"""The transcript: the table `turns`, one row for each question and its outcome.

The table `labels` beside it has the titles that users gave to conversations, and which ones they pinned.

A turn's row is written before the graph runs and gets its result after the graph has ended. A constraint of the table
allows at most one running turn per conversation.

After the clock was set back, earlier versions recorded a turn with the result of an older one. Such a row counts as a
turn with a lost answer. It gets its own answer when its message is sent again.
"""

from __future__ import annotations

import json
import unicodedata
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, Self, cast

from adapters.storage.database import ConstraintError
from adapters.storage.sqlite_file import readable
from assistant.turns.thread_table import ThreadTable
from contracts.enums import Outcome
from contracts.errors import InputError, ThreadBusy
from language.clean import clean

if TYPE_CHECKING:
    from adapters.storage.database import Database

Json = dict[str, Any]

MAX_ID_LENGTH: Final = 200
"""Characters of the longest thread or turn id."""
MAX_STORED_ID_LENGTH: Final = MAX_ID_LENGTH + 41
"""Of the longest thread id with the name of a caller, which has at most 40 characters, and a slash before it."""

LOST: Final = "answer_lost"
"""The `block_reason` of a turn with whose question another question's result was recorded, or one that cannot be read."""

_TABLE: Final = """
CREATE TABLE IF NOT EXISTS turns (
    thread_id   TEXT NOT NULL,
    number      INTEGER NOT NULL,
    turn_id     TEXT NOT NULL,
    status      TEXT NOT NULL CHECK (status IN ('running', 'done')),
    question    TEXT NOT NULL,
    context     TEXT NOT NULL,
    result      TEXT,
    started_at  TEXT NOT NULL,
    finished_at TEXT,
    PRIMARY KEY (thread_id, turn_id),
    UNIQUE (thread_id, number),
    CHECK ((status = 'done') = (result IS NOT NULL AND finished_at IS NOT NULL))
)
"""

_ONE_RUNNING: Final = (
    "CREATE UNIQUE INDEX IF NOT EXISTS turns_one_running ON turns (thread_id) WHERE status = 'running'"
)

_LABELS: Final = """
CREATE TABLE IF NOT EXISTS labels (
    thread_id TEXT NOT NULL PRIMARY KEY,
    title     TEXT NOT NULL,
    pinned    INTEGER NOT NULL
)
"""
MAX_TITLE_CHARS: Final = 200
"""Characters of the longest title of a conversation."""

_COLUMNS: Final = "thread_id, turn_id, number, status, question, context, result, started_at, finished_at, details"
_DETAILS: Final = frozenset(
    {"final_articles", "per_query_results", "decisions", "tool_trace", "plan", "synthetic_analysis"}
)
"""Parts of a result that no list and no lookup reads: four fifths of it. They are stored compressed, in `details`."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One question and its outcome.

    Attributes:
        number: Counted from 1 within the thread.
        answer, outcome: `answer_text` and `outcome` of the result; `None` while the turn is running.
        result: The whole `StructuredAgentResult` as JSON.
        started_at, finished_at: ISO 8601, UTC, milliseconds.
        context: The turn's settings, as JSON; `None` if it has none.
        lost: Whether the result of another question was recorded for it. `result` then says so instead, as it does for
            an unreadable result.
    """

    thread_id: str
    turn_id: str
    number: int
    status: Literal["running", "done"]
    question: str
    answer: str | None
    outcome: str | None
    result: Json | None
    started_at: str
    finished_at: str | None
    context: Json | None = None
    lost: bool = False


@dataclass(frozen=True, slots=True)
class ThreadSummary:
    """One conversation; `unfinished` if its last turn is running or was left half-finished by a dead process.

    Attributes:
        title: What its user called it; empty if they did not.
        pinned: Whether its user wants it on top.
    """

    thread_id: str
    turns: int
    started_at: str
    last_at: str
    first_question: str
    unfinished: bool
    title: str = ""
    pinned: bool = False


def _utc_now() -> datetime:
    return datetime.now(UTC)


class TurnStore(ThreadTable):
    """The transcript: the table `turns`.

    It is in the same database as the checkpoints, on its own connection. So one backup holds an answer and its
    checkpoints. Both go through one write-ahead log in order, so a power cut cannot keep one and lose the other.
    """

    name = "turns"
    made_by = (_TABLE, "ALTER TABLE turns ADD COLUMN details BLOB", _ONE_RUNNING, _LABELS)

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self.now: Callable[[], datetime] = _utc_now
        self.columns = _COLUMNS

    @classmethod
    async def open(cls, path: Path | str, *, now: Callable[[], datetime] = _utc_now) -> Self:
        """Open the transcript in a file; create the file if it does not exist.

        Args:
            path: The database, usually that of the checkpoints.
            now: The wall clock, with a time zone.
        """
        store = await super().open(Path(path))
        store.now = now
        return store

    @classmethod
    async def within(cls, database: Database) -> Self:
        store = await super().within(database)
        if not await database.has_column("turns", "details"):
            store.columns = _COLUMNS.replace("details", "NULL AS details")
        return store

    async def list_threads(self, beginning: str = "") -> list[ThreadSummary]:
        """Return the conversations whose ids begin with a text, the most recently used first."""
        rows = await self._rows(
            """
            SELECT thread_id, count(*), min(started_at), max(coalesce(finished_at, started_at)) AS last_at,
                   (SELECT question FROM turns AS first WHERE first.thread_id = turns.thread_id ORDER BY number LIMIT 1),
                   max(CASE WHEN status = 'running' THEN 1 ELSE 0 END),
                   coalesce((SELECT title FROM labels WHERE labels.thread_id = turns.thread_id), ''),
                   coalesce((SELECT pinned FROM labels WHERE labels.thread_id = turns.thread_id), 0)
            FROM turns WHERE thread_id >= :beginning AND thread_id < :end
            GROUP BY thread_id ORDER BY last_at DESC, thread_id
            """,
            beginning=beginning,
            end=_end_of(beginning),
        )
        return [
            ThreadSummary(
                thread_id=readable(thread),
                turns=count,
                started_at=readable(started_at),
                last_at=readable(last_at),
                first_question=readable(question),
                unfinished=bool(running),
                title=readable(title),
                pinned=pinned == 1,
            )
            for thread, count, started_at, last_at, question, running, title, pinned in rows
        ]

    async def unused_since(self, before: str) -> list[str]:
        """Return the conversations in which nothing was said or answered since a time.

        Args:
            before: ISO 8601, UTC, milliseconds.
        """
        rows = await self._rows(
            "SELECT thread_id FROM turns GROUP BY thread_id HAVING max(coalesce(finished_at, started_at)) < :before",
            before=before,
        )
        return [readable(thread) for (thread,) in rows]

    async def endings(self) -> dict[str, tuple[str, str | None]]:
        """Return for each conversation the id of its last turn and how that ended; `None` if it has not, or unreadably."""
        rows = await self._rows(
            f"""
            SELECT thread_id, turn_id, {self.database.json_list("result", ("outcome", "turn_id"))}
            FROM turns WHERE number = (SELECT max(number) FROM turns AS t WHERE t.thread_id = turns.thread_id)
            """  # noqa: S608  # names of ours
        )
        return {readable(thread): (readable(turn), _read_outcome(fields)) for thread, turn, fields in rows}

    async def label(self, thread_id: str, *, title: str | None = None, pinned: bool | None = None) -> bool:
        """Name or pin a conversation; what is `None` stays. Return whether there is such a conversation."""
        rows = await self._rows(
            """
            INSERT INTO labels (thread_id, title, pinned)
            SELECT thread_id, coalesce(:title, ''), coalesce(:pinned, 0) FROM turns WHERE thread_id = :thread LIMIT 1
            ON CONFLICT (thread_id) DO UPDATE SET
                title = coalesce(:title, labels.title), pinned = coalesce(:pinned, labels.pinned)
            RETURNING 1
            """,
            thread=thread_id,
            title=title,
            pinned=None if pinned is None else int(pinned),
        )
        return bool(rows)

    async def questions(self, beginning: str = "") -> list[tuple[str, str]]:
        """Return all questions of the conversations whose ids begin with a text, each with the conversation's id."""
        rows = await self._rows(
            """
            SELECT thread_id, question FROM turns
            WHERE thread_id >= :beginning AND thread_id < :end
            """,
            beginning=beginning,
            end=_end_of(beginning),
        )
        return [(readable(thread), readable(question)) for thread, question in rows]

    async def forget(self, thread_id: str) -> int:
        """Delete a conversation's turns and labels; return how many turns there were."""
        turns = await super().forget(thread_id)
        await self._rows("DELETE FROM labels WHERE thread_id = :thread", thread=thread_id)
        return turns

    async def turns(self, thread_id: str) -> list[Turn]:
        """Return a conversation's turns in order; an empty list if the conversation does not exist."""
        rows = await self._rows(
            f"SELECT {self.columns} FROM turns WHERE thread_id = :thread ORDER BY number",  # noqa: S608  # names of ours
            thread=thread_id,
        )
        return _with_lost_answers([_turn(row) for row in rows])

    async def find(self, thread_id: str, turn_id: str) -> Turn | None:
        """Return the turn of that id, if it exists."""
        rows = await self._rows(
            f"SELECT {self.columns} FROM turns WHERE thread_id = :thread AND turn_id = :turn",  # noqa: S608  # names of ours
            thread=thread_id,
            turn=turn_id,
        )
        turn = _turn(rows[0]) if rows else None
        if turn is None or _answers(turn) == turn.question:
            return turn
        return next((other for other in await self.turns(thread_id) if other.turn_id == turn_id), None)

    async def find_by_number(self, number: str) -> tuple[str, str] | None:
        """Return the conversation and the turn of the newest hand-off with a number (`contracts.report.number_of`)."""
        from contracts.report import number_of

        rows = await self._rows("SELECT thread_id, turn_id FROM turns ORDER BY started_at DESC")
        wanted = number.strip().upper()
        ids = ((readable(thread), readable(turn)) for thread, turn in rows)
        return next(((thread, turn) for thread, turn in ids if number_of(thread, turn) == wanted), None)

    async def unfinished(self, thread_id: str) -> Turn | None:
        """Return the turn that is running or was left half-finished, if any."""
        rows = await self._rows(
            f"SELECT {self.columns} FROM turns WHERE thread_id = :thread AND status = 'running'",  # noqa: S608  # names of ours
            thread=thread_id,
        )
        return _turn(rows[0]) if rows else None

    async def begin(self, thread_id: str, turn_id: str, question: str, context: Json | None) -> Turn:
        """Record the start of a turn, as the last of its conversation.

        Raises:
            ThreadBusy: The conversation has a running turn.
        """
        try:
            rows = await self._rows(
                f"""
                INSERT INTO turns (thread_id, number, turn_id, status, question, context, started_at)
                SELECT :thread, coalesce(max(number), 0) + 1, :turn, 'running', :question, :context, :now
                FROM turns WHERE thread_id = :thread
                RETURNING {self.columns}
                """,  # noqa: S608  # names of ours
                thread=thread_id,
                turn=turn_id,
                question=question,
                context=json_text(context),
                now=self._timestamp(),
            )
        except ConstraintError as error:
            raise busy(thread_id) from error
        return _turn(rows[0])

    async def finish(self, thread_id: str, turn_id: str, result: Json) -> Json:
        """Record the result of a running turn; a finished turn keeps its result.

        Returns:
            The recorded result, through JSON and back, so that it equals the one that a repeated message gets.
        """
        text, details = _pack(result)
        await self._rows(
            """
            UPDATE turns SET status = 'done', result = :result, details = :details, finished_at = :now
            WHERE thread_id = :thread AND turn_id = :turn AND status = 'running'
            """,
            result=text,
            details=details,
            now=self._timestamp(),
            thread=thread_id,
            turn=turn_id,
        )
        return _unpack(json.loads(text), details)

    async def reopen(self, thread_id: str, turn_id: str) -> Turn:
        """Remove a turn's result, so that it can get another one.

        Raises:
            ThreadBusy: The conversation has a running turn.
        """
        try:
            rows = await self._rows(
                f"""
                UPDATE turns SET status = 'running', result = NULL, details = NULL, finished_at = NULL
                WHERE thread_id = :thread AND turn_id = :turn RETURNING {self.columns}
                """,  # noqa: S608  # names of ours
                thread=thread_id,
                turn=turn_id,
            )
        except ConstraintError as error:
            raise busy(thread_id) from error
        return _turn(rows[0])

    def _timestamp(self) -> str:
        return self.now().astimezone(UTC).isoformat(timespec="milliseconds")


def _end_of(beginning: str) -> str:
    """Return the first text behind all that begin so, in the order of bytes: rows in between are read, and no others."""
    bare = beginning.rstrip("\U0010ffff")
    if not bare:
        return "\U0010ffff" * (MAX_STORED_ID_LENGTH + 1)
    after = ord(bare[-1]) + 1
    return bare[:-1] + chr(0xE000 if 0xD800 <= after < 0xE000 else after)


def _turn(row: tuple[Any, ...]) -> Turn:
    thread_id, turn_id, number, status, question, context, result_text, started_at, finished_at, details = row
    result = _read_result(result_text, details) if result_text else None
    turn = Turn(
        thread_id=readable(thread_id),
        turn_id=readable(turn_id),
        number=number if isinstance(number, int) else 0,
        status=status,
        question=readable(question),
        answer=result.get("answer_text") if result else None,
        outcome=result.get("outcome") if result else None,
        result=result,
        started_at=readable(started_at),
        finished_at=readable(finished_at) if finished_at is not None else None,
        context=_read_json(context),
    )
    return _without_answer(turn, "answer_unreadable") if result_text and result is None else turn


def _read_outcome(fields: object) -> str | None:
    """Return the outcome from the fields of a result, as JSON; `None` if it is none."""
    told: Any = json.loads(readable(fields)) if fields else [None]
    return told[0] if told[0] in tuple(Outcome) else None


def _read_json(text: object) -> Json | None:
    """Return the JSON object of a column; `None` where there is none that can be read."""
    try:
        value: Any = json.loads(readable(text))
    except (ValueError, RecursionError):
        return None
    return cast("Json", value) if isinstance(value, dict) else None


def _pack(result: Json) -> tuple[str, bytes]:
    """Return the parts of a result that are read in SQL, as JSON, and the others compressed."""
    details = {name: value for name, value in result.items() if name in _DETAILS}
    kept = {name: value for name, value in result.items() if name not in _DETAILS}
    return json_text(kept), zlib.compress(json_text(details).encode())


def _unpack(result: Json, details: object) -> Json:
    """Return a whole result; earlier versions stored it in one part.

    Raises:
        ValueError, zlib.error: The details are damaged.
    """
    return {**json.loads(zlib.decompress(details)), **result} if isinstance(details, bytes) else result


def _read_result(text: object, details: object) -> Json | None:
    """Return a result as far as the transcript itself reads it: its answer and how it ended."""
    value = _read_json(text)
    if value is None:
        return None
    try:
        value = _unpack(value, details)
    except (ValueError, TypeError, RecursionError, zlib.error):
        return None
    answer, outcome = value.get("answer_text"), value.get("outcome")
    known = outcome is None or outcome in tuple(Outcome)
    return value if known and isinstance(answer, str | None) else None


def with_readable_result(turn: Turn) -> Turn:
    """Return a turn; a result that no version of the program wrote is replaced by words that say so."""
    from contracts.result import StructuredAgentResult

    if turn.result is None:
        return turn
    try:
        StructuredAgentResult.model_validate(turn.result)
    except ValueError:
        return _without_answer(turn, "answer_unreadable")
    return turn


def _answers(turn: Turn) -> str:
    """Return the question that a turn's result is to; its own, as far as the result names none."""
    asked = turn.result.get("question") if turn.result else None
    return turn.question if not asked or asked == clean(turn.question) else asked


def _with_lost_answers(turns: Iterable[Turn]) -> list[Turn]:
    """Return a conversation's turns, in order; those with the result of an earlier one without it."""
    told: list[Turn] = []
    earlier: set[str] = set()
    for turn in turns:
        # That the words differ is not enough: another version may have cleaned them by other rules.
        lost = _answers(turn) != turn.question and _answers(turn) in earlier
        earlier.add(turn.question if lost else _answers(turn))
        told.append(replace(_without_answer(turn, "answer_lost"), lost=True) if lost else turn)
    return told


def _without_answer(turn: Turn, why: str) -> Turn:
    from assistant.turns.progress import phrases
    from contracts.enums import Language
    from contracts.result import StructuredAgentResult
    from language.words import detect

    language = Language(detect(turn.question, default=Language.EN))
    result = StructuredAgentResult(
        thread_id=turn.thread_id,
        turn_id=turn.turn_id,
        question=turn.question,
        language=language,
        outcome=Outcome.ERROR,
        answer_text=phrases(language)[why],
        block_reason=LOST,
    )
    told = result.model_dump(mode="json")
    return replace(turn, answer=result.answer_text, outcome=str(result.outcome), result=told)


def json_text(value: object) -> str:
    """Return JSON that SQLite can store: readable, or escaped if it contains a lone surrogate."""
    text = json.dumps(value, ensure_ascii=False)
    return text if encodable(text) else json.dumps(value)


def encodable(text: str) -> bool:
    """Whether a text can be written as UTF-8; a text with lone surrogates cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


class NewId(str):
    """A message's id that was made for it just now, so that it is on no record."""

    __slots__ = ()


def check_id(name: str, value: str, longest: int = MAX_ID_LENGTH) -> None:
    """Refuse an id that cannot be stored, shown or told apart from another.

    Args:
        name: What the id belongs to, for the message.
        value: At least one character, no control characters, no lone surrogates.
        longest: How many characters it may have.

    Raises:
        InputError: The id is not valid.
    """
    if not 1 <= len(value) <= longest:
        raise InputError(f"The {name} id has {len(value)} characters.", f"Choose one of 1 to {longest} characters.")
    if any(unicodedata.category(character) in ("Cc", "Cs") for character in value):
        raise InputError(
            f"The {name} id {value!a} has characters that cannot be shown.", "Choose letters, digits and dashes."
        )


def check_addressable(thread: str, turn_id: str) -> None:
    """Refuse ids that a client could not read back unchanged from a URL path.

    Raises:
        InputError: One of the ids is such an id.
    """
    for what, value in (("conversation's", thread), ("message's", turn_id)):
        # Clients take these out of a path.
        if {".", ".."} & set(value.split("/")):
            raise InputError(
                f"The {what} id {value!r} has a part that an address cannot have.",
                "Leave out the parts `.` and `..` between slashes.",
            )
    if "/turns/" in f"/{turn_id}/":
        raise InputError(
            f"The message's id {turn_id!r} has the part `turns`, which stands before it in an address.",
            "Choose letters, digits and dashes.",
        )


def busy(thread_id: str) -> ThreadBusy:
    """Return the error for a conversation with a running turn."""
    return ThreadBusy(
        f"Conversation {thread_id!r} is still working on another message.",
        "Wait for its answer and send yours again, or start another conversation.",
    )
