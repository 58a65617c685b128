"""One open deployment that all server interfaces share.

It runs turns, reports their events, and keeps callers' conversations apart.

Each turn runs in its own task. Its caller follows it (`RunningTurn.follow`), may leave and come back, or may stop it.
Several callers may follow the same turn.
"""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

from assistant.caller import Caller
from assistant.document_search import search_documents
from assistant.review.desk import ReviewDesk, desk_over
from assistant.turns.erasure import delete_expired
from assistant.turns.events import OnEvent, TurnEnded, TurnStarted
from assistant.turns.feedback import Feedback, FeedbackStore
from assistant.turns.histories import Histories
from assistant.turns.placement import STOPPED, place_message
from assistant.turns.progress import phrases
from assistant.turns.relay import RelayTable, TurnRelay
from assistant.turns.running_turn import RunningTurn, Watcher, closing_error, end_turns, stop_error, tell_end
from assistant.turns.shared_links import SharedConversation, SharedLinks
from assistant.turns.transcript import (
    MAX_ID_LENGTH,
    MAX_STORED_ID_LENGTH,
    MAX_TITLE_CHARS,
    NewId,
    ThreadSummary,
    Turn,
    check_id,
    with_readable_result,
)
from assistant.visitors import split_stored_id
from assistant.wiring.documents import knowledge_base
from assistant.wiring.ports import open_ports
from assistant.wiring.turns import open_runner, share_budget
from contracts.calls import ModelCall
from contracts.enums import Outcome
from contracts.errors import GuardianError, InputError, ThreadError, UnknownThread
from contracts.result import StructuredAgentResult
from guards.message_check import message_fault, message_language
from guards.redaction import redact
from language.clean import clean, fold

if TYPE_CHECKING:
    from adapters.index.queries import Knowledge
    from adapters.storage.database import Database
    from assistant.deployment import Deployment
    from assistant.turns.runner import TurnRunner
    from assistant.turns.spending import Budget
    from contracts.context import Context
    from contracts.evidence import EvidenceItem

Json = dict[str, Any]
_OWNS = "/"
"""Between a caller's name, which has no such sign, and the id of a conversation."""
_logger = logging.getLogger(__name__)
_READY_S = 5.0
"""How long a part may take to show that it is there, in seconds."""
_WRITABLE_S = 2.0
"""How long a write may wait for others, in seconds: a turn's own take milliseconds."""


@dataclass(frozen=True, slots=True)
class Question:
    """One message to answer, with its ids and settings.

    Attributes:
        text: The user's words.
        thread: The conversation's id; empty for a new one.
        turn_id: The message's own id, under which it never runs twice. If empty, the service makes one up.
        settings: Run settings by name (`contracts/context.py`), without `role`, which comes from the caller.
    """

    text: str
    thread: str = ""
    turn_id: str = ""
    settings: Json = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True)
class ServiceTables:
    """What a service keeps beside the transcript, in the same file."""

    feedback: FeedbackStore
    histories: Histories
    links: SharedLinks
    budget: Budget
    relay: RelayTable


class Service:
    """An open deployment that runs turns for many callers; `open_service` makes it.

    Every method with a thread argument raises `UnknownThread` if the caller has no such conversation, even if another
    caller has it.

    Attributes:
        desk: The turns of all callers; only for callers with `operator_view`.
        watchers: Called with the events of every turn, for any caller and any interface.
    """

    def __init__(
        self,
        deployed: Deployment,
        runner: TurnRunner,
        knowledge: Knowledge,
        kept: ServiceTables,
        desk: ReviewDesk,
        list_resting: Callable[[], Mapping[str, float]],
    ) -> None:
        self.deployed = deployed
        self.list_resting = list_resting
        self.knowledge = knowledge
        self.desk = desk
        self._live: dict[str, list[RunningTurn]] = {}
        self._runner = runner
        self._store = runner.store
        self._feedback = kept.feedback
        self._histories = kept.histories
        self._links = kept.links
        self._budget = kept.budget
        self._others = TurnRelay(kept.relay, runner.store, self._live_of, self._stop_here)
        self._relay = kept.relay
        runner.unwanted = self._result_of_unwanted
        self._closed = False
        self.watchers: list[Watcher] = []

    # ------------------------------------------------------------------------------------------------------- asking

    def begin(self, caller: Caller, question: Question) -> RunningTurn:
        """Begin a turn, which runs on even if nobody follows it; if the same message already runs here, join it.

        Raises:
            InputError: The message, an id or a setting is not valid.
        """
        live = self._begin(caller, question)
        live.lasting = True
        return live

    def _begin(self, caller: Caller, question: Question) -> RunningTurn:
        context = check_question(self.deployed, caller, question)
        thread = question.thread or uuid.uuid4().hex
        turn_id = question.turn_id or uuid.uuid4().hex
        inner = self._inner(caller, thread)
        text = clean(question.text)
        for other in self._live.get(inner, []):
            # What one role is told is not for another.
            if (
                other.joinable
                and not other.watching
                and (other.turn_id, other.question, other.role) == (turn_id, text, caller.role)
            ):
                return other
        live = RunningTurn(thread, turn_id, text, self.watchers, role=caller.role)

        async def run() -> StructuredAgentResult:
            live.tell(TurnStarted(turn_id=turn_id, thread_id=thread))
            raw = await self._runner.run(
                inner,
                live.question,
                turn_id=turn_id if question.turn_id else NewId(turn_id),
                context=context,
                on_event=live.tell,
                on_earlier=lambda result: self._tell_earlier(live, result),
                admit=partial(self._budget.check, caller.name, caller.address),
                on_calls=partial(self._count_cost, caller),
            )
            return tell_end(live, raw)

        return self._start(inner, live, run())

    async def admit(self, caller: Caller, question: Question) -> None:
        """Refuse a question whose turn would not begin, before anything is said of it; `begin` and `ask` refuse it, too.

        Raises:
            InputError: The message, an id or a setting is not valid.
            BudgetSpent: What language models may cost the caller today is spent, and the message has no answer yet.
        """
        check_question(self.deployed, caller, question)
        if question.thread and question.turn_id:
            recorded = await self._store.find(self._inner(caller, question.thread), question.turn_id)
            if recorded is not None and recorded.result is not None:
                return
        await self._budget.check(caller.name, caller.address)

    async def _count_cost(self, caller: Caller, calls: list[Json]) -> None:
        """Count what requests to models cost; that they could not be counted ends no turn, and is logged."""
        cost = self.deployed.profile.prices.cost_of(map(ModelCall.model_validate, calls))
        try:
            if cost:
                await self._budget.add(caller.name, caller.address, cost)
        except ThreadError as error:
            _logger.error("What models cost could not be counted: %s", error)  # noqa: TRY400  # the sentence says it all

    @asynccontextmanager
    async def asking(self, caller: Caller, question: Question) -> AsyncGenerator[RunningTurn]:
        """Begin or join a turn that is bound to its callers.

        When the last of them goes away, the turn stops and stays half-finished.

        Raises:
            InputError: The message, an id or a setting is not valid.
        """
        live = self._begin(caller, question)
        live.hold()
        try:
            yield live
        finally:
            await live.let_go()

    async def ask(self, caller: Caller, question: Question, on_event: OnEvent | None = None) -> StructuredAgentResult:
        """Run a turn to its end; if the awaiting task is cancelled, the turn is cancelled too and stays half-finished.

        Args:
            caller: Who asks.
            question: What is asked.
            on_event: Called with each event of the turn. If it raises, the turn stops as if cancelled.

        Raises:
            InputError: The message, an id or a setting is not valid.
            GuardianError: Another problem that a person can fix; the error says how.
        """
        async with self.asking(caller, question) as live:
            return await live.result(on_event)

    def live(self, caller: Caller, thread: str) -> RunningTurn | None:
        """Return the newest turn of a conversation that runs in this process, if there is one."""
        running = [live for live in self._live.get(self._inner(caller, thread), []) if live.joinable]
        return running[-1] if running else None

    async def resume(self, caller: Caller, thread: str) -> RunningTurn | None:
        """Begin to finish a conversation's half-finished turn, or join it if it runs here; `None` if there is none."""
        live = await self._resume(caller, thread)
        if live is not None:
            live.lasting = True
        return live

    async def _resume(self, caller: Caller, thread: str) -> RunningTurn | None:
        if (live := self.live(caller, thread)) is not None and not live.watching:
            return live
        inner = self._inner(caller, thread)
        turn = await self._store.unfinished(inner)
        if turn is None:
            await self.turns(caller, thread)  # whether there is such a conversation
            return None
        await self._budget.check(caller.name, caller.address)
        return self._begin_resuming(caller, thread, turn)

    async def join(self, caller: Caller, thread: str) -> RunningTurn | None:
        """Return the newest turn of a conversation that runs, in this process or in another; `None` if there is none.

        It is only watched: if the other process dies, it stays half-finished until its user finishes it.
        """
        if (live := self.live(caller, thread)) is not None:
            return live
        inner = self._inner(caller, thread)
        turn = await self._store.unfinished(inner)
        if turn is None or not await self._runner.is_running(inner):
            return self.live(caller, thread)
        if (live := self.live(caller, thread)) is not None:  # begun while the storage was asked
            return live
        # Those who count turns were told of it in the other process.
        live = RunningTurn(thread, turn.turn_id, turn.question, role=caller.role)
        live.lasting = live.watching = True

        async def watch() -> StructuredAgentResult:
            live.tell(TurnStarted(turn_id=live.turn_id, thread_id=thread))
            return tell_end(live, await self._others.watch(self._runner, inner, live.turn_id))

        return self._start(inner, live, watch())

    def _begin_resuming(self, caller: Caller, thread: str, turn: Turn) -> RunningTurn:
        live = self.live(caller, thread)
        if live is not None and not live.watching:  # begun while the storage was asked
            return live
        inner = self._inner(caller, thread)
        live = RunningTurn(thread, turn.turn_id, turn.question, self.watchers, role=caller.role)

        async def run() -> StructuredAgentResult:
            live.tell(TurnStarted(turn_id=live.turn_id, thread_id=thread))
            context = self.deployed.build_context(role=caller.role)
            counted = partial(self._count_cost, caller)
            raw = await self._runner.resume(inner, context=context, on_event=live.tell, on_calls=counted, patient=True)
            if raw is None or raw.get("turn_id") != turn.turn_id:  # another process finished it meanwhile
                done = await self._store.find(inner, turn.turn_id)
                raw = done.result if done is not None else None
            if raw is None:
                raise UnknownThread(f"There is no conversation {thread!r}.", "It was deleted; begin a new one.")
            return tell_end(live, raw)

        return self._start(inner, live, run())

    @asynccontextmanager
    async def resuming(self, caller: Caller, thread: str) -> AsyncGenerator[RunningTurn | None]:
        """Resume a turn as `resume` does, bound to its callers as `asking` binds it."""
        live = await self._resume(caller, thread)
        if live is None:
            yield None
            return
        live.hold()
        try:
            yield live
        finally:
            await live.let_go()

    async def place(self, caller: Caller, said: Sequence[str], *, begun: str = "") -> tuple[str, str]:
        """Return the conversation and the id of a message that names neither (`assistant.turns.placement`).

        Args:
            caller: Who asks.
            said: All messages of the caller in the conversation, as the client recorded them, the new one last.
            begun: The conversation's id if it is new; made up if you leave it out.

        Raises:
            InputError: The message is not valid.
        """
        if fault := message_fault(said[-1]):
            raise fault
        inner = self._inner(caller, begun or uuid.uuid4().hex)
        thread, turn_id = await place_message(self._store, self._histories, said, owner=caller.name, begun=inner)
        return thread.removeprefix(self._inner(caller, "")), turn_id

    async def stop(self, caller: Caller, thread: str) -> bool:
        """Stop a conversation's running or half-finished turn for good; return whether there was one.

        The question stays on record with a result that says it was stopped. Messages that wait behind it in this process
        stop, too; those that wait in another are answered.
        """
        inner = self._inner(caller, thread)
        turn = await self._store.unfinished(inner)
        return await self._stop(inner, turn, list(self._live.get(inner, [])))

    async def _stop_here(self, inner: str, turn_id: str) -> None:
        """Stop a turn that runs here for somebody elsewhere, and no message that waits behind it."""
        turn = await self._store.find(inner, turn_id)
        if turn is not None and turn.result is None:
            await self._stop(inner, turn, [live for live in self._live.get(inner, []) if live.working_on == turn_id])

    async def _stop(self, inner: str, turn: Turn | None, lives: Sequence[RunningTurn]) -> bool:
        recorded = asyncio.Event()
        if turn is not None:
            # First of all: a message that waits elsewhere would otherwise finish the turn before it gets its own turn.
            await self._others.want_stopped(inner, turn.turn_id)
        for live in lives:
            live.recorded = live.recorded or recorded
        try:
            await end_turns(lives, stop_error())
            return await self._abandon(inner, turn)
        finally:
            recorded.set()

    async def _abandon(self, inner: str, turn: Turn | None) -> bool:
        if turn is None:
            turn = await self._store.unfinished(inner)
        if turn is None:
            return False
        return await self._others.abandon(self._runner, inner, turn.turn_id, self._describe_stopped(turn))

    async def _result_of_unwanted(self, turn: Turn) -> Json | None:
        """Return what is recorded for an unfinished turn that somebody wants stopped; `None` for any other."""
        unwanted = await self._others.take_stop(turn.thread_id, turn.turn_id)
        return self._describe_stopped(turn) if unwanted else None

    def _describe_stopped(self, turn: Turn) -> Json:
        language = message_language(turn.question, self.deployed.profile)
        result = StructuredAgentResult(
            language=language,
            outcome=Outcome.ERROR,
            answer_text=phrases(language)["stopped"],
            block_reason=STOPPED,
        )
        return result.model_dump(mode="json")

    # ---------------------------------------------------------------------------------------------- conversations

    async def threads(self, caller: Caller) -> list[ThreadSummary]:
        """Return the caller's conversations, the most recently used first."""
        own = self._inner(caller, "")
        found = await self._store.list_threads(own)
        if not caller.name:
            found = [summary for summary in found if not _is_of_visitor_or_user(summary.thread_id)]
        return [_rename_thread(summary, summary.thread_id.removeprefix(own)) for summary in found]

    async def find_threads(self, caller: Caller, words: str) -> list[ThreadSummary]:
        """Return the caller's conversations that have all words, each in their titles or in one of their questions."""
        own, wanted = self._inner(caller, ""), fold(words).split()
        said: dict[str, list[str]] = {}
        for inner, question in await self._store.questions(own) if wanted else ():
            said.setdefault(inner.removeprefix(own), []).append(question)

        def fits(summary: ThreadSummary) -> bool:
            text = fold(" ".join((summary.title, *said.get(summary.thread_id, ()))))
            return all(word in text for word in wanted)

        return [summary for summary in await self.threads(caller) if fits(summary)]

    async def rename(self, caller: Caller, thread: str, title: str) -> None:
        """Give a conversation a title of at most `MAX_TITLE_CHARS`; an empty one gives it back its first question.

        Raises:
            InputError: The title is too long.
        """
        title = " ".join(clean(title).split())
        if len(title) > MAX_TITLE_CHARS:
            raise InputError(
                f"The title has {len(title)} characters.", f"Choose one of at most {MAX_TITLE_CHARS}.", key="long_title"
            )
        await self._label(caller, thread, title=title)

    async def pin(self, caller: Caller, thread: str, *, pinned: bool) -> None:
        """Pin a conversation to the top of the list, or unpin it."""
        await self._label(caller, thread, pinned=pinned)

    async def _label(
        self, caller: Caller, thread: str, *, title: str | None = None, pinned: bool | None = None
    ) -> None:
        if not await self._store.label(self._inner(caller, thread), title=title, pinned=pinned):
            raise _unknown_thread(thread)

    async def turns(self, caller: Caller, thread: str) -> list[Turn]:
        """Return a conversation's turns in order."""
        turns = await self._store.turns(self._inner(caller, thread))
        if not turns:
            raise _unknown_thread(thread)
        return [_renamed_turn(with_readable_result(turn), thread) for turn in turns]

    async def share(self, caller: Caller, thread: str) -> tuple[str, SharedConversation]:
        """Make a link to a conversation as it is now; return its id, and what it shows."""
        turns = await self.turns(caller, thread)
        now = self._store.now()
        shared = SharedConversation(
            thread=self._inner(caller, thread),
            turns=sum(turn.result is not None for turn in turns),
            role=caller.role,
            until=int((now + timedelta(days=self.deployed.settings.server.share_days)).timestamp()),
            begun=turns[0].started_at,
        )
        return await self._links.add(shared, now.timestamp()), shared

    async def find_shared(self, link: str, role: str) -> tuple[list[Turn], int]:
        """Return the turns that a link shows to a role, and when it ends; no turns if there are none for them.

        There are none if links are off, the link has ended, or the conversation did not begin when the shared one did: its
        id is then that of a deleted one.
        """
        deployed = self.deployed
        found = (
            await self._links.find(link, self._store.now().timestamp()) if deployed.settings.server.share_days else None
        )
        if found is None or (found.role != role and not deployed.profile.sees_all(role)):
            return [], 0
        turns = await self._store.turns(found.thread)
        same = bool(turns) and turns[0].started_at == found.begun
        return [with_readable_result(turn) for turn in turns[: found.turns]] if same else [], found.until

    async def rate(self, caller: Caller, thread: str, turn_id: str, feedback: Feedback) -> Feedback:
        """Store the caller's rating of an answer, which replaces their earlier one; return it as stored.

        Raises:
            UnknownThread: The conversation has no such turn.
            InputError: The turn has no answer yet.
        """
        turns = {turn.turn_id: turn for turn in await self.turns(caller, thread)}
        if turn_id not in turns:
            raise UnknownThread(
                f"There is no turn {turn_id!r} in this conversation.", "Read it for the ids of its turns."
            )
        if turns[turn_id].result is None:
            raise InputError(f"The turn {turn_id!r} has no answer yet.", "Wait for it, or resume the conversation.")
        return await self._feedback.put(self._inner(caller, thread), turn_id, feedback)

    async def feedback(self, caller: Caller, thread: str) -> dict[str, Feedback]:
        """Return the caller's ratings of a conversation's answers, by turn id."""
        return await self._feedback.of(self._inner(caller, thread))

    async def delete(self, caller: Caller, thread: str) -> None:
        """Delete a conversation and everything stored for it.

        Raises:
            ThreadBusy: A turn is running now.
        """
        await self._runner.delete(self._inner(caller, thread))

    async def delete_expired(self) -> int:
        """Delete the conversations that have been kept for as long as GUARDIAN_KEEP_DAYS says; return how many.

        A conversation with a running turn stays until the next time.
        """
        await self._relay.sweep()
        return await delete_expired(self._runner, self.deployed.settings.callers.keep_days, self._store.now())

    async def search(
        self, caller: Caller, query: str, *, top_k: int = 10, language: str | None = None
    ) -> tuple[list[EvidenceItem], list[str]]:
        """Return the passages that match a query, best first, and what did not work.

        The passages come from what the caller's role may read. Content that no answer may show to this role is masked.

        Raises:
            InputError: The query is empty or `top_k` is below 1.
        """
        profile = self.deployed.profile
        kinds = profile.sources_for(caller.role)
        items, degraded = await search_documents(
            self.deployed, self.knowledge, query, top_k=top_k, language=language, kinds=kinds
        )
        return redact(items, profile, caller.role), degraded

    # ----------------------------------------------------------------------------------------------------- running

    @property
    def running(self) -> int:
        """How many turns run in this process now."""
        return len(self._tasks())

    async def missing(self) -> list[str]:
        """Return what turns need and is missing, each with how to fix it; empty if nothing is missing.

        The texts contain no path and no secret, because everybody who reaches the server can read them.

        Other servers (models, moderators) are not checked: a turn works without them, and says so.
        """
        if self._closed:
            return ["the server is shutting down: ask again when it is back"]
        parts = {
            "the storage of conversations does not answer: `guardian doctor` says why": self._store.unfinished(""),
            "nothing can be written to the storage of conversations: `guardian doctor` says why": self._writable(),
            "the index of documents cannot be read: make it again with `guardian index`": asyncio.to_thread(
                self.knowledge.count
            ),
        }
        return [fault for fault, asked in parts.items() if not await _answers(asked)]

    @property
    def database(self) -> Database:
        """The tables of the conversations."""
        return self._store.database

    async def _writable(self) -> None:
        await self._store.database.check_writable(_WRITABLE_S)

    async def drain(self, seconds: float) -> int:
        """Accept no more turns, wait for those that run, then stop the rest; return how many stay half-finished.

        A message that waited and never began is not recorded; its sender gets an error that says to send it again.
        """
        self._closed = True
        await end_turns([live for lives in self._live.values() for live in lives if live.watching], closing_error())
        tasks = self._tasks()
        if not tasks:
            await self._others.close()
            return 0
        await asyncio.wait(tasks, timeout=seconds)
        late = [(inner, live) for inner, lives in self._live.items() for live in lives if live.running]
        await end_turns([live for _, live in late], closing_error())
        await self._others.close()
        # What only follows a turn of another process leaves nothing.
        return sum([await self._is_unfinished(inner, live.turn_id) for inner, live in late if live.ran])

    async def _is_unfinished(self, inner: str, turn_id: str) -> bool:
        try:
            turn = await self._store.find(inner, turn_id)
        except GuardianError:
            return True  # it cannot be told, so it is not said that all is well
        return turn is not None and turn.result is None

    def _tell_earlier(self, live: RunningTurn, raw: Json) -> None:
        """Tell the watchers of a half-finished turn that was finished on the way; who asked has not asked for it."""
        result = StructuredAgentResult.model_validate({**raw, "thread_id": live.thread})
        for watcher in self.watchers:
            watcher(live, TurnEnded(turn_id=result.turn_id, result=result))

    def _live_of(self) -> Mapping[str, Sequence[RunningTurn]]:
        return self._live

    def _tasks(self) -> list[asyncio.Task[StructuredAgentResult]]:
        return [
            live.task
            for lives in self._live.values()
            for live in lives
            if live.task and live.running and not live.watching
        ]

    def _inner(self, caller: Caller, thread: str) -> str:
        if thread:
            # That of a named caller is stored with the name and a slash in front; without names all are anybody's.
            stored = not caller.name and _OWNS in thread
            check_id("conversation's", thread, MAX_STORED_ID_LENGTH if stored else MAX_ID_LENGTH)
            if not caller.name and _is_of_visitor_or_user(thread):
                # People wrote it to the desk: it is read on the review page, masked, where every look is recorded.
                raise _unknown_thread(thread)
        return f"{caller.name}{_OWNS}{thread}" if caller.name else thread

    def _start(self, inner: str, live: RunningTurn, work: Any) -> RunningTurn:
        if self._closed:
            work.close()
            raise closing_error()
        task: asyncio.Task[StructuredAgentResult] = asyncio.create_task(work)
        live.watch(task)
        # Of two turns of one conversation the newer waits for the older.
        self._live.setdefault(inner, []).append(live)

        self._others.look_after(inner, live)

        def forget(_: object) -> None:
            if not task.cancelled():
                task.exception()  # whoever follows gets it; nobody may follow
            self._live[inner].remove(live)
            if not self._live[inner]:
                del self._live[inner]

        task.add_done_callback(forget)
        return live


def _is_of_visitor_or_user(stored_id: str) -> bool:
    return bool(split_stored_id(stored_id)[0])


def _unknown_thread(thread: str) -> UnknownThread:
    return UnknownThread(f"There is no conversation {thread!r}.", "See the list of conversations for their ids.")


def check_question(deployed: Deployment, caller: Caller, question: Question) -> Context:
    """Return the settings of a question's run; nothing is opened for it.

    Raises:
        InputError: The message or a setting is not valid.
    """
    if fault := message_fault(question.text):
        raise fault
    return deployed.build_context(**{**question.settings, "role": caller.role})


@asynccontextmanager
async def open_service(deployed: Deployment) -> AsyncGenerator[Service]:
    """Open a deployment for serving.

    Raises:
        NoIndex: The deployment's profile has no index.
        GuardianError: Another problem that a person can fix; the error says how.
    """
    async with AsyncExitStack() as opened:
        knowledge = knowledge_base(deployed)
        opened.callback(knowledge.close)
        ports = await opened.enter_async_context(open_ports(deployed, knowledge))
        runner = await opened.enter_async_context(open_runner(deployed, ports))
        kept = ServiceTables(
            await FeedbackStore.share(runner.store),
            await Histories.share(runner.store),
            await SharedLinks.share(runner.store),
            await share_budget(deployed, runner.store),
            await RelayTable.share(runner.store),
        )
        desk = await desk_over(deployed, runner.store, kept.feedback, ports.sink)
        service = Service(deployed, runner, knowledge, kept, desk, ports.list_resting)
        try:
            yield service
        finally:
            await service.drain(0)


async def _answers(asked: Awaitable[object]) -> bool:
    try:
        async with asyncio.timeout(_READY_S):
            await asked
    except (GuardianError, TimeoutError):
        return False
    return True


def _rename_thread(summary: ThreadSummary, thread: str) -> ThreadSummary:
    return replace(summary, thread_id=thread)


def _renamed_turn(turn: Turn, thread: str) -> Turn:
    result = {**turn.result, "thread_id": thread} if turn.result is not None else None
    return replace(turn, thread_id=thread, result=result)
