"""One exchange with a model: its requests share a deadline, fit the window, and are all recorded."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from adapters.models.chat import LOOPS, WAYS_OUT, Ask, ChatModel, Reply
from adapters.models.loops import is_looping
from adapters.models.retries import deadline_in, in_time
from adapters.models.window import ContextWindow, Parts
from contracts.calls import ModelCall
from contracts.enums import FaultKind
from contracts.errors import ServerFault
from contracts.ports import Exchange
from contracts.profile import Profile

if TYPE_CHECKING:
    from langchain_core.messages import BaseMessage


@dataclass(frozen=True, slots=True)
class AskedModel:
    """A model with everything that an exchange with it needs.

    Attributes:
        model: Asked for one purpose.
        window: Its context window.
        profile: What the desk is for.
        max_tokens: Of a reply, reasoning included.
    """

    model: ChatModel
    window: ContextWindow
    profile: Profile
    max_tokens: int = 2000

    def fault(self, kind: FaultKind, what: str) -> ServerFault:
        """Return the fault for a model's unusable answer."""
        access = self.model.access
        return ServerFault(f"The model {access.model!r} at {access.server}: {what}.", WAYS_OUT[kind], kind=kind)


class ModelExchange:
    """The requests of one plan or one draft.

    Attributes:
        tokens: Limit of the next reply; doubled if the limit ended a reply.
        made: Every request so far.
    """

    def __init__(self, asked: AskedModel) -> None:
        self.asked = asked
        self.tokens = asked.max_tokens
        self.made: list[ModelCall] = []
        self._deadline = deadline_in(asked.model.access.timeout_s)

    async def send(
        self,
        parts: Parts,
        messages: Callable[[Parts], list[BaseMessage]],
        *,
        form: str,
        options: Callable[[], Mapping[str, Any]],
        by_bytes: bool,
        apart: bool = False,
    ) -> Reply:
        """Send one request, cut to the window.

        Args:
            parts: Its parts.
            messages: Makes its messages from the parts that fit.
            form: How the reply is asked for; goes into the record.
            options: Returns the other fields of the request; called when its messages are made.
            by_bytes: Whether it is cut to the certain bound.
            apart: Whether two messages of the assistant in a row stay two.

        Raises:
            ServerFault: No usable reply.
        """
        window, breaker = self.asked.window, self.asked.model.breaker
        begun = -1
        try:
            begun = breaker.check()
            tokens = await in_time(window.reply_tokens(self.tokens), self._deadline)
            parts, cut = await in_time(window.fit(parts, tokens, by_bytes=by_bytes), self._deadline)
        except ServerFault as fault:
            if fault.kind not in (FaultKind.DEADLINE, FaultKind.RESTING):
                raise
            # The window is asked of the same server.
            breaker.settle(fault.kind, begun)
            raise self.asked.fault(fault.kind, fault.message.rstrip(".")) from fault
        made = messages(parts)
        try:
            reply = await self.asked.model.ask(Ask(made, tokens, form, options(), cut, apart), self._deadline)
        except ServerFault as fault:
            self.made += fault.calls
            raise
        self.made += reply.made
        await window.learn(parts.size, reply.made[-1])
        if any(map(is_looping, (reply.text, *(call.arguments for call in reply.calls)))):
            self.blame(FaultKind.LOOPED)
            raise self.asked.fault(FaultKind.LOOPED, LOOPS)
        return reply

    def blame(self, kind: FaultKind) -> None:
        """Record that the last reply came, but could not be used."""
        self.made[-1] = self.made[-1].model_copy(update={"fault": str(kind)})


def history_messages(history: Iterable[Exchange]) -> list[BaseMessage]:
    """Return the history as messages."""
    from langchain_core.messages import AIMessage, HumanMessage

    return [HumanMessage(one.text) if one.role == "user" else AIMessage(one.text) for one in history]
