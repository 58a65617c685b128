"""Users' feedback on the answers that they got: the table `feedback`."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, ClassVar, Final

from pydantic import BaseModel, ConfigDict, Field

from adapters.storage.sqlite_file import readable
from assistant.turns.thread_table import ThreadTable, utc_now
from guards.outgoing import fit_to_show
from language.clean import clean

MAX_COMMENT_CHARS: Final = 4000


class Rating(StrEnum):
    """Whether an answer was useful."""

    UP = "up"
    DOWN = "down"


class Feedback(BaseModel):
    """A user's feedback on one answer; it replaces their earlier feedback.

    Attributes:
        comment: In the user's own words; may be empty.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    rating: Rating
    comment: Annotated[str, Field(max_length=MAX_COMMENT_CHARS)] = ""


class FeedbackStore(ThreadTable):
    """The table of feedback, one row a turn; a conversation belongs to one caller, and so does its feedback."""

    name: ClassVar[str] = "feedback"
    made_by: ClassVar[tuple[str, ...]] = (
        """
        CREATE TABLE IF NOT EXISTS feedback (
            thread_id TEXT NOT NULL,
            turn_id   TEXT NOT NULL,
            rating    TEXT NOT NULL CHECK (rating IN ('up', 'down')),
            comment   TEXT NOT NULL,
            at        TEXT NOT NULL,
            PRIMARY KEY (thread_id, turn_id)
        )
        """,
    )

    async def put(self, thread_id: str, turn_id: str, feedback: Feedback) -> Feedback:
        """Store feedback on a turn and return it as stored: its comment can be shown, and holds no secret.

        Operators read comments, and so a password in one would reach them.
        """
        # A mark may be longer than the value in its place.
        kept = feedback.model_copy(update={"comment": fit_to_show(clean(feedback.comment))[:MAX_COMMENT_CHARS]})
        await self._rows(
            """
            INSERT INTO feedback (thread_id, turn_id, rating, comment, at)
            SELECT thread_id, turn_id, :rating, :comment, :now FROM turns WHERE thread_id = :thread AND turn_id = :turn
            ON CONFLICT (thread_id, turn_id) DO UPDATE SET
                rating = excluded.rating, comment = excluded.comment, at = excluded.at
            """,
            thread=thread_id,
            turn=turn_id,
            rating=str(kept.rating),
            comment=kept.comment,
            now=utc_now(),
        )
        return kept

    async def of(self, thread_id: str) -> dict[str, Feedback]:
        """Return the feedback on a conversation's turns, by turn id."""
        rows = await self._rows(
            "SELECT turn_id, rating, comment FROM feedback WHERE thread_id = :thread", thread=thread_id
        )
        # Of what cannot be read, nothing was said.
        return {
            readable(turn): Feedback(rating=rating, comment=readable(comment)[:MAX_COMMENT_CHARS])
            for turn, rating, comment in rows
            if rating in set(Rating)
        }

    async def ratings(self) -> dict[tuple[str, str], Rating]:
        """Return all ratings, by conversation and turn."""
        rows = await self._rows("SELECT thread_id, turn_id, rating FROM feedback")
        known = set(Rating)
        return {(readable(thread), readable(turn)): Rating(rating) for thread, turn, rating in rows if rating in known}
