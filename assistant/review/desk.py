"""The desk of a reviewer: lists turns of all callers, opens one, and records what is done with it.

Every look and every deed is recorded with the name of who it was. Texts are masked and results read in threads: of one
page of a list that takes long enough for other turns to stand still.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from assistant.review.case_file import Json, Label, make_case
from assistant.review.case_pages import check_pages
from assistant.review.faults import ReviewFault
from assistant.review.operator_ticket import make_ticket
from assistant.review.records import (
    ReviewQuery,
    TurnRecord,
    caller_of,
    names_another_question,
    read_record,
    stored_time,
)
from assistant.review.reviewed_turn import ReviewedTurn, review_result
from assistant.turns.feedback import Feedback, FeedbackStore
from assistant.turns.reviews import MAX_NOTE_CHARS, Reviews
from assistant.turns.transcript import Turn, TurnStore, with_readable_result
from assistant.wiring.hand_offs import hand_off_sink
from assistant.wiring.turns import open_store
from contracts.enums import DeliveryStatus, Outcome
from contracts.errors import UnknownThread
from contracts.reasons import reason_names
from contracts.result import StructuredAgentResult
from guards.outgoing import fit_to_show
from language.clean import clean

if TYPE_CHECKING:
    from pathlib import Path

    from assistant.deployment import Deployment
    from contracts.ports import HandOffSink

_LOG = logging.getLogger(__name__)
_ROWS: Final = 200
"""How many turns are read at once."""


@dataclass(frozen=True, slots=True)
class TurnPage:
    """Some turns, the newest first, and whether more match."""

    records: tuple[TurnRecord, ...]
    more: bool


@dataclass(frozen=True, slots=True)
class SavedCase:
    """A case that was saved.

    Attributes:
        replaced: Whether it took the place of an earlier case of the turn.
        met: Whether the turn as it was already ended as the case asks, so that the case tests nothing that was wrong.
    """

    case: Json
    replaced: bool
    met: bool


class ReviewDesk:
    """The turns of one deployment, for reviewers.

    Args:
        store: The transcript.
        feedback: On the same connection, as is `reviews`.
        reviews: What was done with turns.
        knowledge: The folder of the index, where the pages of cases are looked up.
        sink: Takes what is handed over; `None` if there is no destination.
    """

    def __init__(
        self,
        store: TurnStore,
        feedback: FeedbackStore,
        reviews: Reviews,
        knowledge: Path,
        sink: HandOffSink | None = None,
    ) -> None:
        self._store = store
        self._feedback = feedback
        self._reviews = reviews
        self._knowledge = knowledge
        self._sink = sink

    async def list(self, query: ReviewQuery, who: str) -> TurnPage:
        """Return the turns that a query asks for."""
        await self.record_look(who, f"list {query.describe()}")
        return await self.find(query)

    async def find(self, query: ReviewQuery) -> TurnPage:
        """Return the turns that a query asks for, without a record of a look."""
        found: list[TurnRecord] = []
        async with aclosing(self.all(query)) as matching:
            async for record in matching:
                found.append(record)
                if len(found) > query.limit:
                    break
        return TurnPage(tuple(found[: query.limit]), more=len(found) > query.limit)

    async def all(self, query: ReviewQuery) -> AsyncGenerator[TurnRecord]:
        """Yield every turn that a query asks for, whatever its limit, without a record of a look."""
        seen: set[tuple[str, str]] = set()
        since, until = stored_time(query.since), stored_time(query.until)
        offset, left_out = 0, query.offset
        while rows := await self._reviews.page(since, until, most=_ROWS, offset=offset):
            offset += len(rows)
            for read, doubtful in await asyncio.to_thread(_read_rows, rows):
                record = await self._read_again(read) if doubtful else read
                # A turn that began meanwhile moves all others by one place.
                if (record.thread, record.turn) in seen or not query.takes(record):
                    continue
                seen.add((record.thread, record.turn))
                if left_out:
                    left_out -= 1
                else:
                    yield record

    async def export(self, query: ReviewQuery, who: str) -> AsyncGenerator[TurnRecord]:
        """Yield every turn that a query asks for, whatever its limit."""
        await self.record_look(who, f"export {query.describe()}")
        async with aclosing(self.all(query)) as matching:
            async for record in matching:
                yield record

    async def pages_of(self, record: TurnRecord) -> tuple[str, ...]:
        """Return the pages that a turn's answer cites or that it shows: their keys, without the documents' words."""
        turn = await self._store.find(record.thread, record.turn)
        return await asyncio.to_thread(_list_pages, turn) if turn is not None else ()

    async def open(self, thread: str, turn: str, who: str) -> ReviewedTurn:
        """Return one turn with all that is known of it.

        Args:
            thread: The conversation, by the id that it is stored under.
            turn: The turn's id or its number; empty for the last one.
            who: The reviewer.

        Raises:
            UnknownThread: There is no such conversation or turn.
        """
        found, _ = await self._turn(thread, turn)
        await self.record_look(who, f"open {thread} {found.turn_id}")
        return await asyncio.to_thread(_review, found, await self._describe(found))

    async def handle(self, thread: str, turn: str, who: str, *, handled: bool = True) -> TurnRecord:
        """Mark a turn as handled, or as not handled after all.

        Raises:
            UnknownThread: There is no such conversation or turn.
        """
        found, _ = await self._turn(thread, turn)
        await self.record_look(who, f"{'handle' if handled else 'unhandle'} {thread} {found.turn_id}")
        await self._reviews.put(thread, found.turn_id, who, handled=handled)
        return await self._describe(found)

    async def note(self, thread: str, turn: str, who: str, text: str) -> TurnRecord:
        """Keep a note on a turn; it replaces the earlier one, and an empty one removes that.

        Raises:
            UnknownThread: There is no such conversation or turn.
            ReviewFault: The note is too long.
        """
        text = clean(text).strip()
        if len(text) > MAX_NOTE_CHARS:
            raise ReviewFault("long_note", count=len(text), most=MAX_NOTE_CHARS)
        found, _ = await self._turn(thread, turn)
        await self.record_look(who, f"note {thread} {found.turn_id}")
        await self._reviews.put(thread, found.turn_id, who, note=text)
        return await self._describe(found)

    async def case(self, thread: str, turn: str, who: str, label: Label, save: Callable[[Json], bool]) -> SavedCase:
        """Make a case for `guardian eval` of a turn, save it, and record that it was made.

        Args:
            thread: The conversation, by the id that it is stored under.
            turn: The turn's id or its number.
            who: The reviewer.
            label: What would be right.
            save: Called with the case in a thread of its own; returns whether it replaced an earlier one. If it raises,
                nothing is recorded.

        Raises:
            UnknownThread: There is no such conversation or turn.
            ReviewFault: The question cannot be shown, or the index does not hold a page.
        """
        found, earlier = await self._turn(thread, turn)
        record = await self._describe(found)
        case = await asyncio.to_thread(make_case, record, [one.question for one in earlier], label)
        await asyncio.to_thread(check_pages, self._knowledge, label.pages)
        replaced = await asyncio.to_thread(save, case)
        await self.record_look(who, f"case {thread} {found.turn_id}")
        await self._reviews.put(thread, found.turn_id, who, case_id=case["id"])
        return SavedCase(case, replaced, met=await asyncio.to_thread(_meets, found, label))

    async def hand_over(self, thread: str, turn: str, who: str) -> DeliveryStatus:
        """Hand a turn over to a person; a turn that was handed over before is not sent again.

        Raises:
            UnknownThread: There is no such conversation or turn.
            ReviewFault: The turn has no result yet, or there is no sink.
            HandOffFailed: The ticket could not even be kept.
        """
        if self._sink is None:
            raise ReviewFault("no_destination")
        found, earlier = await self._turn(thread, turn)
        if found.result is None:
            raise ReviewFault("no_result", turn=repr(found.turn_id))
        result = await asyncio.to_thread(StructuredAgentResult.model_validate, found.result)
        ticket = await asyncio.to_thread(make_ticket, found, result, earlier)
        await self.record_look(who, f"hand-over {thread} {found.turn_id}")
        return (await self._sink.submit(ticket)).delivery

    async def looks(self, most: int) -> Sequence[tuple[str, str, str]]:
        """Return the newest looks and deeds, newest first, each as time, who and what."""
        return await self._reviews.looks(most)

    async def record_look(self, who: str, what: str) -> None:
        """Record that somebody looked at turns, or did something with one."""
        _LOG.info("review by %r: %s", who, what)
        await self._reviews.add_look(who, what)

    async def _turn(self, thread: str, turn: str) -> tuple[Turn, list[Turn]]:
        """Return a turn and those before it."""
        stored = await self._store.turns(thread)
        turns = await asyncio.to_thread(lambda: [with_readable_result(one) for one in stored])
        if not turns:
            raise UnknownThread(f"There is no conversation {thread!r}.", "The list of turns has the ids.")
        for place, one in enumerate(turns):
            if one.turn_id == turn:
                return one, turns[:place]
        for place, one in enumerate(turns):
            if str(one.number) == turn or (not turn and place == len(turns) - 1):
                return one, turns[:place]
        raise UnknownThread(f"Conversation {thread!r} has no turn {turn!r}.", "The list of turns has the ids.")

    async def _read_again(self, record: TurnRecord) -> TurnRecord:
        """Return the turn of a row whose result may be that of an earlier turn."""
        turn = await self._store.find(record.thread, record.turn)
        if turn is None:
            return record
        return await self._describe(await asyncio.to_thread(with_readable_result, turn))

    async def _describe(self, turn: Turn) -> TurnRecord:
        said = (await self._feedback.of(turn.thread_id)).get(turn.turn_id)
        done = (await self._reviews.of(turn.thread_id)).get(turn.turn_id, (False, "", ""))
        return await asyncio.to_thread(_record_of, turn, said, *done)


def _read_rows(rows: Sequence[Sequence[Any]]) -> list[tuple[TurnRecord, bool]]:
    """Return the turns of rows, each with whether its result may be that of an earlier turn."""
    return [(read_record(row), names_another_question(row)) for row in rows]


def _list_pages(turn: Turn) -> tuple[str, ...]:
    raw = with_readable_result(turn).result
    if raw is None:
        return ()
    result = StructuredAgentResult.model_validate(raw)
    claims = result.guardian.claims if result.guardian and result.outcome is Outcome.ANSWERED else []
    refs = {ref for claim in claims for ref in claim.refs} | {page.ref for page in result.pages}
    keys = (item.document_key for item in result.evidence if item.ref in refs)
    return tuple(dict.fromkeys(map(fit_to_show, keys)))


def _review(turn: Turn, record: TurnRecord) -> ReviewedTurn:
    if turn.result is None:
        return ReviewedTurn(record=record)
    return review_result(record, StructuredAgentResult.model_validate(turn.result))


def _meets(turn: Turn, label: Label) -> bool:
    return turn.result is not None and label.is_met(StructuredAgentResult.model_validate(turn.result))


def _record_of(turn: Turn, said: Feedback | None, handled: bool, note: str, case: str) -> TurnRecord:  # noqa: FBT001  # as the table has them
    result = StructuredAgentResult.model_validate(turn.result) if turn.result is not None else None
    return TurnRecord(
        thread=turn.thread_id,
        turn=turn.turn_id,
        number=turn.number,
        caller=caller_of(turn.thread_id),
        when=turn.started_at,
        language=result.language if result else None,
        profile=result.diagnostics.profile if result else "",
        cost=result.diagnostics.cost if result else None,
        currency=result.diagnostics.currency if result else "",
        question=fit_to_show(turn.question),
        answer=fit_to_show(result.answer_text) if result else "",
        outcome=result.outcome if result else None,
        verdict=str(result.guardian.verdict) if result and result.guardian else "",
        reasons=tuple(_names(result)) if result else (),
        rating=said.rating if said else None,
        comment=fit_to_show(said.comment) if said else "",
        handled=handled,
        note=note,
        case=case,
    )


def _names(result: StructuredAgentResult) -> Iterator[str]:
    names = reason_names(result.guardian.reasons) if result.guardian else []
    yield from names or filter(None, [fit_to_show(result.block_reason or "")])


@asynccontextmanager
async def open_desk(deployed: Deployment, *, sending: bool = False) -> AsyncGenerator[ReviewDesk]:
    """Open the desk of a deployment.

    Args:
        deployed: The deployment.
        sending: Whether a turn is to be handed over. Then kept hand-offs are sent, too, as behind every ticket.
    """
    async with AsyncExitStack() as opened:
        store = await opened.enter_async_context(open_store(deployed))
        sink = hand_off_sink(deployed) if sending else None
        if sink is not None:
            await opened.enter_async_context(sink)
        yield await desk_over(deployed, store, await FeedbackStore.share(store), sink)


async def desk_over(
    deployed: Deployment, store: TurnStore, feedback: FeedbackStore, sink: HandOffSink | None
) -> ReviewDesk:
    """Return the desk over tables that are open; whoever opened them closes them."""
    return ReviewDesk(store, feedback, await Reviews.share(store), deployed.knowledge_folder, sink)
