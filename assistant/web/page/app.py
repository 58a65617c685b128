"""The chat page's components and their actions. Gradio takes seconds to import, so only `mount` imports this module.

With each event, the browser says which conversation it shows and in which language (`script.py`), but never who asks.
Turns run in the service. The page follows them, and may go away and come back.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from typing import Any, Final, cast

import gradio as gr
from fastapi import FastAPI
from pydantic_core import from_json

from assistant.caller import Caller
from assistant.follow_ups import find_follow_ups
from assistant.service import Question, Service
from assistant.starter_questions import read_starter_questions
from assistant.turns.feedback import Feedback, Rating
from assistant.turns.running_turn import RunningTurn
from assistant.turns.transcript import ThreadSummary, Turn
from assistant.web.faults import Unauthorized
from assistant.web.limits import UNLIMITED, Allowance
from assistant.web.page import script
from assistant.web.page.languages import language_of
from assistant.web.page.look import Look
from assistant.web.page.render import MOST_COMMENT_CHARS, TurnProgress, turn_html
from assistant.web.page.surroundings import (
    fault_text,
    finder_html,
    header_html,
    info_html,
    notice_html,
    share_html,
    threads_html,
    welcome_html,
)
from contracts.enums import Language
from contracts.errors import GuardianError, InputError, ThreadBusy, UnknownThread
from contracts.result import StructuredAgentResult

Changes = dict[Any, Any]
_LONGEST_SEARCH: Final = 200
"""Characters that are searched for in the list of conversations."""
_REMEMBERED: Final = 500
"""Turns whose follow-up questions are kept."""
_MOST_TABS: Final = 5000
"""Tabs of which it is known what they show."""
_LARGEST_OFFSET: Final = 16 * 60
"""Minutes between a zone and UTC."""
_LOOK_S: Final = 0.01
"""How often Gradio's queue looks whether an event waits, in seconds."""
_LOOK_IN_VAIN_S: Final = 1.0
"""How often it looks for what it calls progress, which this page does not have."""
_PRIVATE: Final[dict[str, Any]] = {
    "api_visibility": "private",
    "show_progress": "hidden",
    "concurrency_limit": None,
    # Who sends while an answer is awaited is told so.
    "trigger_mode": "multiple",
}


@dataclass(frozen=True, slots=True)
class _Visit:
    """One event of a browser: who, where, and what they want."""

    service: Service
    caller: Caller
    look: Look
    conversation: str
    act: Mapping[str, str]
    session: str
    """Of the tab, as Gradio names it."""
    order: int
    """The number of the event in its tab: of two, the higher one says what the tab shows."""
    narrow: bool
    """Whether the window is one of a phone."""
    allowance: Allowance
    """Of the caller's key: only what begins a turn counts here."""
    find: str
    """What is searched for in the list of conversations; empty for nothing."""
    zone: timezone
    """Of the browser."""


class ChatPage:
    """The chat page of one application.

    Args:
        app: The application, with the state of `assistant.web.app`; its service is open whenever an event comes.
    """

    def __init__(self, app: FastAPI) -> None:
        self._app = app
        self._shares = app.state.deployed.settings.server.share_days > 0
        profile = app.state.deployed.profile
        self._newest: dict[str, _Visit] = {}
        self._following: dict[tuple[object, ...], tuple[str, ...]] = {}
        look = Look(profile, profile.languages[0])
        say = look.words
        with gr.Blocks(title=profile.product, analytics_enabled=False, fill_width=True) as self.blocks:
            self.header = gr.HTML(
                self._header(look), apply_default_css=False, elem_id="g-header", js_on_load=script.READY
            )
            with gr.Row(elem_id="g-main"):
                with gr.Column(elem_id="g-side"):
                    self.fresh = gr.Button(say["page_new"], elem_id="g-new")
                    self.finder = gr.HTML("", apply_default_css=False, elem_id="g-find", js_on_load=None)
                    self.threads = gr.HTML("", apply_default_css=False, elem_id="g-threads", js_on_load=script.LISTED)
                with gr.Column(elem_id="g-talk"):
                    self.chat = gr.HTML("", apply_default_css=False, elem_id="g-chat", js_on_load=script.DRAWN)
                    self.live = gr.HTML("", apply_default_css=False, elem_id="g-live", js_on_load=script.DRAWN)
                    with gr.Column(elem_id="g-foot"):
                        self.notice = gr.HTML("", apply_default_css=False, elem_id="g-notice", js_on_load=None)
                        with gr.Row(elem_id="g-form"):
                            self.box = gr.Textbox(
                                label=say["page_ask_label"],
                                placeholder=say["page_ask_hint"],
                                show_label=False,
                                container=False,
                                lines=1,
                                max_lines=8,
                                elem_id="g-box",
                            )
                            self.send = gr.Button(say["page_send"], elem_id="g-send")
                            self.stop = gr.Button(say["page_stop"], elem_id="g-stop")
            self.place = gr.Textbox(elem_id="g-place", container=False, show_label=False)
            self._wire()
        # By itself it looks a thousand times a second, and for progress a hundred times: an idle server is busy for a
        # twentieth of the time.
        self._queue.sleep_when_free = _LOOK_S
        self._queue.progress_update_sleep_when_free = _LOOK_IN_VAIN_S

    @property
    def languages(self) -> tuple[Language, ...]:
        """The profile's languages; readers of no supported language get the first."""
        return tuple(self._app.state.deployed.profile.languages)

    @property
    def inputs(self) -> Mapping[int, int]:
        """The number of inputs of each event of the page, by its `fn_index`."""
        return {number: len(event.inputs) for number, event in self.blocks.fns.items()}

    def has(self, session: str, event: str = "") -> bool:
        """Whether a session has asked for something that it may listen to; with an event, whether the event is its own."""
        # Gradio 6.31 keeps this where it adds an event to its queue.
        known = session in self._queue.pending_messages_per_session
        return known and (not event or event in self._queue.pending_event_ids_session.get(session, ()))

    @property
    def _queue(self) -> Any:
        """Gradio's queue of the page's events."""
        return getattr(self.blocks, "_queue")  # noqa: B009

    def _wire(self) -> None:
        told = [self.chat, self.live, self.threads, self.notice, self.send, self.stop]
        self.blocks.load(
            self._open, self.place, [*told, self.header, self.fresh, self.finder, self.box], js=script.PLACE, **_PRIVATE
        )
        for asked in (self.send.click, self.box.submit):
            asked(self._send, [self.box, self.place], [*told, self.box], js=script.SEND, **_PRIVATE)
        self.stop.click(self._stop, self.place, told, js=script.PLACE, **_PRIVATE)
        # `select` is the event by which the script hands over what its buttons want.
        for event, js in ((self.header.select, script.PLACE), (self.fresh.click, script.FRESH)):
            event(self._act, self.place, told, js=js, **_PRIVATE)

    # ------------------------------------------------------------------------------------------------------- events

    # Each does all that it has to do in one event: of two that follow each other at once, Gradio 6.31 may send what is
    # of the second on the stream of the first, which the browser has just left.

    async def _open(self, place: str, request: gr.Request) -> AsyncGenerator[Changes]:
        visit = self._visit(place, request)
        look, say = visit.look, visit.look.words
        changes = {
            self.header: self._header(look),
            self.fresh: gr.update(value=say["page_new"]),
            self.finder: finder_html(look),
            self.box: gr.update(
                label=say["page_ask_label"],
                placeholder=say["page_ask_hint_short" if visit.narrow else "page_ask_hint"],
            ),
            self.notice: "",
        }
        async for shown in self._follow(visit, changes):
            yield shown

    async def _send(self, text: str, place: str, request: gr.Request) -> AsyncGenerator[Changes]:
        visit = self._visit(place, request)
        try:
            await visit.service.admit(visit.caller, Question(text, thread=visit.conversation))
            await self._ask(visit, text)
        except GuardianError as error:
            changes: Changes = {self.notice: notice_html(fault_text(error, visit.look))}
        else:
            changes = {self.notice: "", self.box: ""}
        async for shown in self._follow(visit, changes):
            yield shown

    async def _stop(self, place: str, request: gr.Request) -> AsyncGenerator[Changes]:
        visit = self._visit(place, request)
        notice = ""
        try:
            await visit.service.stop(visit.caller, visit.conversation)
        except GuardianError as error:
            notice = notice_html(fault_text(error, visit.look))
        async for shown in self._follow(visit, {self.notice: notice}):
            yield shown

    async def _act(self, place: str, request: gr.Request) -> AsyncGenerator[Changes]:
        visit = self._visit(place, request)
        try:
            notice = await self._do(visit)
        except GuardianError as error:
            notice = notice_html(fault_text(error, visit.look))
        # If nobody did anything, what was said of the last message still holds.
        changes = {} if visit.act.get("name") == "look" else {self.notice: notice}
        async for shown in self._follow(visit, changes):
            yield shown

    async def _do(self, visit: _Visit) -> str:
        """Do what a button wants; return the notice of it."""
        service, caller, act = visit.service, visit.caller, visit.act
        match act.get("name"):
            case "delete" | "rename" | "pin":
                return await self._arrange(visit)
            case "share":
                return await self._share(visit)
            case "again":
                turns = await service.turns(caller, visit.conversation)
                asked = next((turn for turn in turns if turn.turn_id == act.get("turn")), None)
                if asked is not None:
                    await service.admit(caller, Question(asked.question, thread=visit.conversation))
                    await self._ask(visit, asked.question)
            case "finish":
                await visit.allowance.take()
                if await service.resume(caller, visit.conversation) is not None:
                    self._take_over(visit)
            case "good" | "bad" | "comment" as said:
                return await self._rate(visit, said, act.get("turn", ""), act.get("text", ""))
            case "drop":
                await service.stop(caller, visit.conversation)
            case _:
                pass
        return ""

    async def _rate(self, visit: _Visit, said: str, turn: str, text: str) -> str:
        """Rate an answer, and keep the comment on it; or keep another comment on an answer that is rated."""
        earlier = (await visit.service.feedback(visit.caller, visit.conversation)).get(turn)
        if said == "comment":
            if earlier is None:
                return ""
            feedback = Feedback(rating=earlier.rating, comment=text[:MOST_COMMENT_CHARS])
        else:
            rating = Rating.UP if said == "good" else Rating.DOWN
            feedback = Feedback(rating=rating, comment=earlier.comment if earlier else "")
        await visit.service.rate(visit.caller, visit.conversation, turn, feedback)
        return info_html(visit.look.words["page_thanks"])

    async def _arrange(self, visit: _Visit) -> str:
        """Delete, name or pin a conversation; return the notice of it."""
        service, caller, act, say = visit.service, visit.caller, visit.act, visit.look.words
        thread = act.get("thread", "")
        match act["name"]:
            case "rename":
                await service.rename(caller, thread, act.get("title", ""))
            case "pin":
                await service.pin(caller, thread, pinned=act.get("on") == "true")
            case _:
                try:
                    await service.delete(caller, thread)
                except ThreadBusy:
                    return notice_html(say["page_delete_busy"])
                return info_html(say["page_deleted"])
        return ""

    def _header(self, look: Look) -> str:
        return header_html(look, share=self._shares)

    async def _share(self, visit: _Visit) -> str:
        """Make a link to the conversation as it is now; return the notice of it."""
        if not self._shares:
            return ""
        link, shared = await visit.service.share(visit.caller, visit.conversation)
        day = datetime.fromtimestamp(shared.until, visit.zone).date().isoformat()
        role = "" if self._app.state.callers.is_open(shared.role) else shared.role
        return share_html(f"/page/shared?s={link}", visit.look, role, day)

    async def _ask(self, visit: _Visit, text: str) -> None:
        _refuse_busy(visit)
        await visit.allowance.take()
        # Nothing is awaited between these two: of two tabs that send at once, one is told to wait.
        _refuse_busy(visit)
        visit.service.begin(visit.caller, Question(text, thread=visit.conversation))
        self._take_over(visit)

    def _take_over(self, visit: _Visit) -> None:
        """Make an event that began a turn the one that shows it, if the tab is still in its conversation."""
        if self._newest.get(visit.session, visit).conversation == visit.conversation:
            self._newest[visit.session] = visit

    def _is_newest(self, visit: _Visit) -> bool:
        return self._newest.get(visit.session) is visit

    async def _follow(self, visit: _Visit, changes: Changes) -> AsyncGenerator[Changes]:
        """Show a conversation, and what runs in it until nothing does, or the tab shows something newer.

        Args:
            visit: The event.
            changes: What else changes at once, whatever the tab shows by then.
        """
        while True:
            drawn, live = await self._draw(visit)
            newest = self._is_newest(visit)
            yield {**drawn, **changes} if newest else {**changes, self.live: gr.skip()}
            # Gradio sends the last changes once more at the end: they must not be those that emptied the input.
            yield {self.live: gr.skip()}
            if live is None or not newest:
                return
            # The turn that was drawn as running, although it may have ended since: otherwise its end would not be seen.
            progress = TurnProgress(live.turn_id, live.question, visit.look)
            # What was said of a message that was not taken stays until the next one is sent.
            changes = {}
            try:
                async for event in live.follow():
                    if not self._is_newest(visit):
                        yield {self.live: gr.skip()}
                        return
                    if progress.tell(event):
                        yield {self.live: progress.html()}
            except GuardianError as error:
                changes = {self.notice: notice_html(fault_text(error, visit.look))}

    # ------------------------------------------------------------------------------------------------------ drawing

    async def _draw(self, visit: _Visit) -> tuple[Changes, RunningTurn | None]:
        """Return the page as the conversation is now, and the turn that it shows as running."""
        look, live = visit.look, await self._find_running(visit)
        turns = await self._turns(visit)
        if visit.find:
            threads = await visit.service.find_threads(visit.caller, visit.find)
        else:
            threads = _with_running(await visit.service.threads(visit.caller), visit.conversation, live)
        rated = await visit.service.feedback(visit.caller, visit.conversation) if turns else {}
        following = await self._follow_ups(visit, turns[-1]) if turns and live is None else ()

        def draw() -> list[str]:
            return [
                turn_html(
                    turn,
                    look,
                    rated.get(turn.turn_id),
                    newest=live is None and turn is turns[-1],
                    follow_ups=following if turn is turns[-1] else (),
                )
                for turn in turns
                if live is None or turn.turn_id != live.turn_id
            ]

        # A long conversation takes a second, in which others want answers.
        shown = await asyncio.to_thread(draw)
        running = TurnProgress(live.turn_id, live.question, look).html() if live else ""
        say = look.words
        questions: Sequence[str] = ()
        if not shown and not live:
            chosen = await asyncio.to_thread(read_starter_questions, self._app.state.deployed)
            questions = chosen.get(look.language, ())
        drawn = {
            self.chat: "".join(shown) or ("" if live else welcome_html(look, questions)),
            self.live: running,
            self.threads: threads_html(
                threads,
                visit.conversation,
                look,
                known=bool(turns) or live is not None,
                now=datetime.now(visit.zone),
                searched=bool(visit.find),
            ),
            # Which of the two is seen, the script tells by what is shown: of two changes of `visible` that come one upon
            # the other, Gradio 6.31 may lose the second.
            self.send: gr.update(value=say["page_send"]),
            self.stop: gr.update(value=say["page_stop"]),
        }
        return drawn, live

    async def _follow_ups(self, visit: _Visit, turn: Turn) -> tuple[str, ...]:
        """Return the questions that may follow a turn; looked up once while it is among the last that were drawn."""
        caller = visit.caller
        key = (caller.name, caller.role, turn.thread_id, turn.turn_id, turn.finished_at)
        if key not in self._following:
            if turn.result is None:
                return ()
            if len(self._following) >= _REMEMBERED:
                self._following.clear()
            result = StructuredAgentResult.model_validate(turn.result)
            self._following[key] = await find_follow_ups(visit.service, caller, result)
        return self._following[key]

    async def _turns(self, visit: _Visit) -> list[Turn]:
        if not visit.conversation:
            return []
        try:
            return await visit.service.turns(visit.caller, visit.conversation)
        except (UnknownThread, InputError):
            return []  # not asked yet, deleted, somebody else's, or no id at all

    async def _find_running(self, visit: _Visit) -> RunningTurn | None:
        try:
            return await visit.service.join(visit.caller, visit.conversation) if visit.conversation else None
        except (UnknownThread, InputError):
            return None  # somebody else's, or an id that no conversation can have

    def _visit(self, place: str, request: gr.Request) -> _Visit:
        """Return the context of an event, which is what its tab shows from now on unless a newer event came before it."""
        visit = visit_of(self._app, place, request)
        earlier = self._newest.pop(visit.session, visit)
        self._newest[visit.session] = visit if visit.order >= earlier.order else earlier
        if len(self._newest) > _MOST_TABS:
            del self._newest[next(iter(self._newest))]
        return visit


def _with_running(threads: list[ThreadSummary], thread: str, live: RunningTurn | None) -> list[ThreadSummary]:
    """Return conversations with that of a running turn, which may not be recorded yet."""
    if live is None or any(summary.thread_id == thread for summary in threads):
        return threads
    return [ThreadSummary(thread, 1, "", "", live.question, unfinished=True), *threads]


def visit_of(app: FastAPI, place: str, request: gr.Request) -> _Visit:
    """Return the context of an event.

    Args:
        app: The application, with the state of `assistant.web.app`.
        place: The browser's state, as JSON; values that are not valid are ignored.
        request: The request, which the guard in front of the page has accepted.

    Raises:
        Unauthorized: The request did not pass the guard.
    """
    caller = getattr(request.request.state, "caller", None) if request.request is not None else None
    if request.request is None or not isinstance(caller, Caller):
        raise Unauthorized("This server asks for an API key.", "Load the page again.")
    try:
        # Not `json.loads`, which takes brackets until the stack is full, and halves of surrogate pairs.
        said: Any = from_json(place or "{}")
    except ValueError:
        said = None
    act: Any = _object(said).get("act")
    profile = app.state.deployed.profile
    look = Look(
        profile,
        language_of(
            str(_object(said).get("language") or ""),
            request.request.headers.get("accept-language", ""),
            profile.languages,
        ),
        operator=profile.sees_all(caller.role),
    )
    conversation = _object(said).get("conversation")
    return _Visit(
        app.state.service,
        caller,
        look,
        conversation if isinstance(conversation, str) else "",
        {name: str(value) for name, value in _object(act).items()},
        str(request.session_hash),
        _whole(_object(said).get("order")),
        _object(said).get("narrow") is True,
        getattr(request.request.state, "allowance", UNLIMITED),
        str(_object(said).get("find") or "").strip()[:_LONGEST_SEARCH],
        _zone(_object(said).get("minutes")),
    )


def _refuse_busy(visit: _Visit) -> None:
    running = visit.service.live(visit.caller, visit.conversation) if visit.conversation else None
    if running is not None and not running.watching:
        raise ThreadBusy("The conversation is busy.", "Wait for the answer.")


def _zone(minutes: Any) -> timezone:
    """Return the zone that is so many minutes east of Greenwich; what no zone can be is UTC."""
    known = isinstance(minutes, int) and -_LARGEST_OFFSET <= minutes <= _LARGEST_OFFSET
    return timezone(timedelta(minutes=minutes)) if known else UTC


def _whole(number: Any) -> int:
    """Return a number of an event; what is none is 0."""
    return number if type(number) is int else 0


def _object(said: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", said) if isinstance(said, dict) else {}
