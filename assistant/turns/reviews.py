"""What operators did with turns, and who looked at what: the tables `reviews` and `looks`."""

from __future__ import annotations

from typing import Any, ClassVar, Final

from adapters.storage.sqlite_file import readable
from assistant.turns.thread_table import ThreadTable, utc_now

MAX_NOTE_CHARS: Final = 4000

_EXCERPT: Final = (
    "outcome",
    "language",
    "answer_text",
    "block_reason",
    "guardian.verdict",
    "guardian.reasons",
    "diagnostics.profile",
    "diagnostics.cost",
    "diagnostics.currency",
    "question",
)
"""What a list needs of a result, which is a hundred times larger."""

_PAGE: Final = """
SELECT t.thread_id, t.turn_id, t.number, t.question, t.started_at, {excerpt},
       feedback.rating, feedback.comment, reviews.handled, reviews.note, reviews.case_id
FROM turns AS t
LEFT JOIN feedback ON feedback.thread_id = t.thread_id AND feedback.turn_id = t.turn_id
LEFT JOIN reviews ON reviews.thread_id = t.thread_id AND reviews.turn_id = t.turn_id
WHERE (:since = '' OR t.started_at >= :since) AND (:until = '' OR t.started_at < :until)
ORDER BY t.started_at DESC, t.thread_id, t.number DESC LIMIT :most OFFSET :offset
"""


class Reviews(ThreadTable):
    """The table of reviews, one row a turn that an operator did something with; it is deleted with the conversation.

    Looks stay when a conversation is deleted: they hold no word of it.
    """

    name: ClassVar[str] = "reviews"
    made_by: ClassVar[tuple[str, ...]] = (
        """
        CREATE TABLE IF NOT EXISTS reviews (
            thread_id TEXT NOT NULL,
            turn_id   TEXT NOT NULL,
            handled   INTEGER NOT NULL DEFAULT 0 CHECK (handled IN (0, 1)),
            note      TEXT NOT NULL DEFAULT '',
            case_id   TEXT NOT NULL DEFAULT '',
            who       TEXT NOT NULL,
            at        TEXT NOT NULL,
            PRIMARY KEY (thread_id, turn_id)
        )
        """,
        "CREATE TABLE IF NOT EXISTS looks (at TEXT NOT NULL, who TEXT NOT NULL, what TEXT NOT NULL)",
        # The results before a turn's time in its row are large, and would be read for it.
        "CREATE INDEX IF NOT EXISTS turns_by_time ON turns (started_at)",
    )

    async def page(self, since: str, until: str, *, most: int, offset: int) -> list[tuple[Any, ...]]:
        """Return rows of turns, newest first; the tables `turns` and `feedback` must be there.

        Args:
            since: From when on they began, as the transcript writes it; empty for any time.
            until: Before when they began; empty for any time.
            most: The most rows.
            offset: How many newer ones are left out.

        Returns:
            For each: thread, turn, number, question, beginning; as JSON the list of outcome, language, answer, reason of
            an end, verdict, reasons, profile's version, cost, currency and question, or `None`; rating, comment, handled, note, case.
        """
        return await self._rows(
            _PAGE.format(excerpt=self.database.json_list("t.result", _EXCERPT)),
            since=since,
            until=until,
            most=most,
            offset=offset,
        )

    async def put(
        self,
        thread_id: str,
        turn_id: str,
        who: str,
        *,
        handled: bool | None = None,
        note: str | None = None,
        case_id: str | None = None,
    ) -> None:
        """Record what was done with a turn; what is `None` stays as it was."""
        await self._rows(
            """
            INSERT INTO reviews (thread_id, turn_id, handled, note, case_id, who, at)
            SELECT thread_id, turn_id, coalesce(:handled, 0), coalesce(:note, ''), coalesce(:case_id, ''), :who, :now
            FROM turns WHERE thread_id = :thread AND turn_id = :turn
            ON CONFLICT (thread_id, turn_id) DO UPDATE SET
                handled = coalesce(:handled, reviews.handled), note = coalesce(:note, reviews.note),
                case_id = coalesce(:case_id, reviews.case_id), who = excluded.who, at = excluded.at
            """,
            thread=thread_id,
            turn=turn_id,
            handled=None if handled is None else int(handled),
            note=note,
            case_id=case_id,
            who=who,
            now=utc_now(),
        )

    async def of(self, thread_id: str) -> dict[str, tuple[bool, str, str]]:
        """Return what was done with a conversation's turns, by turn id: whether handled, the note, the case's id."""
        rows = await self._rows(
            "SELECT turn_id, handled, note, case_id FROM reviews WHERE thread_id = :thread", thread=thread_id
        )
        return {
            readable(turn): (handled == 1, readable(note)[:MAX_NOTE_CHARS], readable(case))
            for turn, handled, note, case in rows
        }

    async def add_look(self, who: str, what: str) -> None:
        """Record that somebody looked at turns, or did something with one."""
        await self._rows(
            "INSERT INTO looks (at, who, what) VALUES (:now, :who, :what)", now=utc_now(), who=who, what=what
        )

    async def looks(self, most: int) -> list[tuple[str, str, str]]:
        """Return the newest looks, newest first, each as time, who and what."""
        rows = await self._rows("SELECT at, who, what FROM looks ORDER BY at DESC LIMIT :most", most=most)
        return [(readable(at), readable(who), readable(what)) for at, who, what in rows]
