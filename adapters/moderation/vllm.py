"""A guard model on an OpenAI-compatible server: Qwen3Guard on vLLM, or any model that writes the same lines."""

from __future__ import annotations

from typing import Final

from langchain_core.messages import HumanMessage

from adapters.models.chat import Ask, ChatModel, Reply
from adapters.models.retries import deadline_in
from adapters.moderation.reply import GuardReply, read_verdict, result_of, storable
from contracts.calls import ModelCall
from contracts.enums import FaultKind, SafetyLevel
from contracts.errors import ModerationUnavailable, ServerFault
from contracts.report import ModerationResult

PROVIDER: Final = "vllm"
MAX_TOKENS: Final = 128
"""Of a reply; a verdict has some thirty."""

_NO_GUARD: Final = "Check that GUARD_VLLM_MODEL names a guard model that answers in Qwen3Guard's lines."
_WAYS_OUT: Final = {
    FaultKind.TOO_LONG: "Start the server with a longer context: a message is judged whole or not at all.",
    FaultKind.CUT_SHORT: _NO_GUARD,
    FaultKind.EMPTY: _NO_GUARD,
}
"""Where what helps is not what helps a planner or a drafter."""


class VllmModerator:
    """A moderator that sends a guard model one user message and nothing else: the model's template has the task.

    Args:
        model: Made with the purpose `moderation`; its access's `timeout_s` is the deadline of all tries.
    """

    def __init__(self, model: ChatModel) -> None:
        self._model = model

    async def moderate(self, text: str) -> ModerationResult:
        """Return the model's verdict.

        Raises:
            ModerationUnavailable: The model could not be asked, its reply holds no verdict, or the message is blank or
                too long for it: a part of a message is never judged instead of the whole.
        """
        if not text.strip():
            raise ModerationUnavailable("A blank message cannot be judged.", "Send one with words in it.", tried=True)
        ask = Ask([HumanMessage(storable(text))], MAX_TOKENS)
        try:
            reply = await self._model.ask(ask, deadline_in(self._model.access.timeout_s))
        except ServerFault as fault:
            way_out = _WAYS_OUT.get(fault.kind, fault.way_out)
            raise ModerationUnavailable(fault.message, way_out, calls=fault.calls, tried=True) from fault
        reading = _read_verdict(reply)
        if reading is None:
            raise ModerationUnavailable(
                f"The model {self._model.access.model!r} at {self._model.access.server}: its reply holds no verdict.",
                _NO_GUARD,
                calls=_without_verdict(reply.made),
                tried=True,
            )
        return result_of(reading, reply.text, model=self._model.access.model, provider=PROVIDER, calls=reply.made)


def _read_verdict(reply: Reply) -> GuardReply | None:
    """Read the verdict; Safe in a reply that the limit of tokens cut is none, for what was cut might have said more."""
    reading = read_verdict(reply.text)
    return None if reading and reading.level is SafetyLevel.SAFE and reply.cut_short else reading


def _without_verdict(made: tuple[ModelCall, ...]) -> tuple[ModelCall, ...]:
    return (*made[:-1], *(call.model_copy(update={"fault": str(FaultKind.NOT_AS_ASKED)}) for call in made[-1:]))
