"""Requests to a chat model: langchain-openai's client with Guardian's own deadline, retries and accounting.

Only this module translates a vendor's errors into Guardian's own. Whatever a server answers, the result is a `Reply`,
or a `ServerFault` that says what was wrong and carries every request that was made.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, Final, cast

from pydantic import ValidationError

from adapters.models.access import ModelAccess
from adapters.models.breaker import CircuitBreaker
from adapters.models.loops import is_looping
from adapters.models.memory import WireMemory
from adapters.models.retries import Pauses, fault_of_status, retry_after, with_retries
from adapters.models.thinking import without_thinking
from adapters.models.wire import text_of, to_wire
from contracts.calls import ModelCall
from contracts.enums import CallPurpose, FaultKind
from contracts.errors import ServerFault
from language.clean import clean

if TYPE_CHECKING:
    import openai
    from langchain_core.messages import AIMessage, BaseMessage
    from langchain_openai import ChatOpenAI

OPENAI_URL: Final = "https://api.openai.com/v1"
"""Where requests go without an address of our own: left out, the client would obey its own variables, even empty ones."""
LOOPS: Final = "its reply repeats itself"
CONNECT_S: Final = 5.0
"""Seconds for a connection to a server that is there."""
_LIMIT: Final = "limit"
_NEW_LIMIT: Final = "max_completion_tokens"
_OLD_LIMIT: Final = "max_tokens"
"""What Ollama and llama-cpp-python know, and ignore the new name; some models of OpenAI's refuse it."""
_OF_ITS_SIZE: Final = re.compile(
    r"too (?:large|big|high)|at (?:most|least)|less than|greater than|exceed|maximum", re.IGNORECASE
)
_LEEWAY: Final = 16
"""Tokens by which a server may count otherwise than it cuts."""
_LONGEST_QUOTE: Final = 200
_LONGEST_WORD: Final = 40
_MOST_TOKENS: Final = 2**31
_SCHEMA: Final = "schema"
_JSON_SCHEMA: Final = "json_schema"
_JSON_OBJECT: Final = "json_object"
"""The type under which llama-cpp-python takes a schema; it refuses `json_schema`."""
_NOT_TAKEN: Final = re.compile(r"schema|not (?:supported|available|allowed|permitted)|un(?:supported|available|known)")
"""Said of a type that a server took before, and does not take now."""
_OF_THE_REQUEST: Final = re.compile(r"validation errors?\b.{0,60}\('body'")
"""What llama-cpp-python calls an error of its own, with status 500, and is one of the request: no use to try it again."""
_TOO_LONG: Final = ("context_length", "context length", "context size", "context window", "too many tokens", "too long")


@dataclass(frozen=True, slots=True)
class Ask:
    """One request.

    Attributes:
        form: How the reply is asked for; goes into the record.
        max_tokens: Of the reply, reasoning included.
        options: Other fields of the request: `tools`, `tool_choice`, `response_format`.
        cut: What was left out to fit the window.
        apart: Whether two messages of the assistant in a row stay two.
    """

    messages: Sequence[BaseMessage]
    max_tokens: int
    form: str = "text"
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    cut: Mapping[str, int] = field(default_factory=dict[str, int])
    apart: bool = False


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call as the model made it; `arguments` is JSON text if it could be read, else the original text."""

    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Reply:
    """A model's reply without its reasoning, and the requests that were needed for it."""

    text: str
    calls: tuple[ToolCall, ...]
    finish_reason: str
    made: tuple[ModelCall, ...]

    @property
    def cut_short(self) -> bool:
        """Whether the limit of tokens ended the reply."""
        return self.finish_reason == "length"


class ChatModel:
    """A client for one model on one server, for one purpose.

    Args:
        access: The model, the server, the limits.
        purpose: What it is asked for; goes into the records.
        client: The HTTP client that several models share; its creator closes it.
        pauses: Between tries.
        clock: Seconds, monotonic; for the records only.
        breaker: Leaves a model alone that keeps missing its deadline.
        memory: By which fields the server takes the limit of a reply, and a schema.
    """

    def __init__(
        self,
        access: ModelAccess,
        purpose: CallPurpose,
        client: openai.DefaultAsyncHttpxClient,
        *,
        pauses: Pauses | None = None,
        clock: Callable[[], float] = time.monotonic,
        breaker: CircuitBreaker | None = None,
        memory: WireMemory | None = None,
    ) -> None:
        self.access = access
        self.breaker = breaker or CircuitBreaker(clock)
        self.purpose = purpose
        self._pauses = pauses
        self._clock = clock
        self._memory = memory or WireMemory()
        self._llm = _client_for(access, client)

    async def ask(self, ask: Ask, deadline: float) -> Reply:
        """Send a request, and retry it if it failed for a passing reason.

        Args:
            ask: Its messages are converted to the format that every server accepts (`to_wire`).
            deadline: Of all tries together, on the running loop's clock.

        Raises:
            ServerFault: No usable reply; `calls` are all requests that were made.
        """
        made: list[ModelCall] = []
        begun = -1
        try:
            begun = self.breaker.begin(self.access.timeout_s)
            messages = self._shape(ask)
            reply = await self._as_taken(messages, ask, made, deadline)
        except ServerFault as fault:
            self.breaker.settle(fault.kind, begun)
            raise self._final(fault, made) from fault.__cause__
        except BaseException:
            self.breaker.let_go(begun)
            raise
        self.breaker.settle(None, begun)
        return Reply(reply.text, reply.calls, reply.finish_reason, tuple(made))

    async def _as_taken(self, messages: list[BaseMessage], ask: Ask, made: list[ModelCall], deadline: float) -> Reply:
        """Send a request; once more for the field of its limit, and once for the type of its schema, if it was refused for them."""
        limit = schema = False
        while True:
            sent, type_sent = self._limit_field, self._schema_type if _has_schema(ask.options) else ""
            try:
                return await self._with_retries(messages, ask, made, deadline)
            except ServerFault as fault:
                if not limit and await self._takes_another_limit(fault, sent):
                    limit = True
                elif not schema and await self._takes_another_schema(fault, type_sent):
                    schema = True
                else:
                    # What this request learnt of schemas and was refused all the same holds for no other one.
                    if schema and fault.kind is FaultKind.BAD_REQUEST:
                        await self._memory.put(self.access, _SCHEMA, None)
                    raise

    async def _with_retries(
        self, messages: list[BaseMessage], ask: Ask, made: list[ModelCall], deadline: float
    ) -> Reply:
        return await with_retries(
            lambda: self._once(messages, ask, made),
            retries=self.access.max_retries,
            deadline=deadline,
            pauses=self._pauses,
        )

    async def _takes_another_limit(self, fault: ServerFault, sent: str) -> bool:
        """Whether a request was refused for the field with the limit of its reply; the other one is used from now on."""
        if fault.kind is not FaultKind.BAD_REQUEST or sent not in fault.message or _OF_ITS_SIZE.search(fault.message):
            return False
        # Another turn may have learnt it meanwhile.
        if self._limit_field == sent:
            await self._memory.put(self.access, _LIMIT, None if sent == _OLD_LIMIT else _OLD_LIMIT)
        return True

    async def _takes_another_schema(self, fault: ServerFault, sent: str) -> bool:
        """Whether a request was refused for the type of its schema and the other one named; that one is used from now on."""
        said = _words_of_cause(fault)
        if fault.kind is not FaultKind.BAD_REQUEST or not sent or not (sent in said or "response_format" in said):
            return False
        other = _JSON_OBJECT if sent == _JSON_SCHEMA else _JSON_SCHEMA
        # What was learnt may no longer hold, and another turn may have learnt it meanwhile.
        if self._schema_type == sent and (other in said or (sent == _JSON_OBJECT and _NOT_TAKEN.search(said))):
            await self._memory.put(self.access, _SCHEMA, None if sent == _JSON_OBJECT else other)
        return other in said

    @property
    def _schema_type(self) -> str:
        return self._memory.get(self.access, _SCHEMA) or _JSON_SCHEMA

    def _options(self, options: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the other fields of a request, with a schema as this server takes it."""
        if not _has_schema(options) or self._schema_type == _JSON_SCHEMA:
            return options
        schema = _mapping(options["response_format"]["json_schema"])["schema"]
        return {**options, "response_format": {"type": _JSON_OBJECT, "schema": schema}}

    @property
    def _limit_field(self) -> str:
        return self._memory.get(self.access, _LIMIT) or _NEW_LIMIT

    def _limit(self, tokens: int) -> dict[str, Any]:
        if self._limit_field == _OLD_LIMIT:
            return {"extra_body": {_OLD_LIMIT: tokens, **self.access.extra}}
        return {"max_tokens": tokens}  # the client sends it under its new name

    async def _learn_limit(self, record: ModelCall, ask: Ask) -> None:
        """Remember the old field for a server that writes beyond the limit, so that it ignores the new one."""
        if (record.completion_tokens or 0) > ask.max_tokens + _LEEWAY and self._limit_field == _NEW_LIMIT:
            await self._memory.put(self.access, _LIMIT, _OLD_LIMIT)

    def _shape(self, ask: Ask) -> list[BaseMessage]:
        try:
            return to_wire(ask.messages, self.access.system_role, apart=ask.apart)
        except ValueError as error:
            raise ServerFault(str(error), kind=FaultKind.BAD_REQUEST) from error

    async def _once(self, messages: list[BaseMessage], ask: Ask, made: list[ModelCall]) -> Reply:
        began = self._clock()
        # Cancelled by the deadline, the request is on record as what it was.
        record = ModelCall(
            purpose=self.purpose,
            model=self.access.model,
            server=self.access.server,
            form=ask.form,
            cut=dict(ask.cut),
            fault=str(FaultKind.DEADLINE),
        )
        try:
            message = await self._send(messages, ask)
            record = _add_usage(record, message)
            await self._learn_limit(record, ask)
            reply = _read(message)
        except ServerFault as fault:
            record = _counted_by(fault.__cause__, record)
            await self._learn_limit(record, ask)
            record = record.model_copy(
                update={"fault": str(fault.kind), "http_status": fault.http_status or record.http_status}
            )
            raise
        else:
            record = record.model_copy(update={"fault": ""})
            return reply
        finally:
            made.append(record.model_copy(update={"ms": round((self._clock() - began) * 1000, 1)}))

    async def _send(self, messages: list[BaseMessage], ask: Ask) -> AIMessage:
        from langchain_core.messages import AIMessage

        try:
            # nostream: nothing of a plan or a draft may reach a reader of the graph's stream before it was judged.
            reply = await self._llm.ainvoke(
                messages, config={"tags": ["nostream"]}, **self._limit(ask.max_tokens), **self._options(ask.options)
            )
        except Exception as error:  # whatever a stranger's reply breaks in the client is the reply's fault
            raise self._fault_of(error) from error
        message = cast("BaseMessage", reply)  # whatever the client promises: the role is the server's to write
        if not isinstance(message, AIMessage):
            raise ServerFault("the reply is not the assistant's", kind=FaultKind.UNREADABLE)
        return message

    def _fault_of(self, error: Exception) -> ServerFault:
        import openai

        if isinstance(error, openai.APIStatusError):
            return self._fault_of_response(error)
        if isinstance(error, ValidationError):
            # The reply arrived whole; sent again, the same request would be answered alike.
            return ServerFault("the reply does not have the form of a message", kind=FaultKind.NOT_AS_ASKED)
        kind, message = _kind_of(error)
        return ServerFault(message, kind=kind)

    def _fault_of_response(self, error: openai.APIStatusError) -> ServerFault:
        status = error.response.status_code
        said = self.access.without_secrets(_words_of(error))
        kind = fault_of_status(status)
        if kind is FaultKind.SERVER_ERROR and _OF_THE_REQUEST.search(said):
            kind = FaultKind.BAD_REQUEST
        if kind is FaultKind.BAD_REQUEST and any(mark in said.lower() for mark in _TOO_LONG):
            kind = FaultKind.TOO_LONG
        if kind is FaultKind.NOT_FOUND and "tool" in said.lower():
            kind = FaultKind.BAD_REQUEST  # a router that knows the model, but nobody who serves it with tools
        quoted = f": {said[:_LONGEST_QUOTE]}" if said else ""
        return ServerFault(
            f"HTTP {status}{quoted}",
            kind=kind,
            http_status=status,
            retry_after_s=retry_after(error.response.headers),
        )

    def _final(self, fault: ServerFault, made: list[ModelCall]) -> ServerFault:
        where = f"The model {self.access.model!r} at {self.access.server}"
        return ServerFault(
            f"{where}: {fault.message.rstrip('.')}.",
            WAYS_OUT[fault.kind],
            kind=fault.kind,
            http_status=fault.http_status,
            retry_after_s=fault.retry_after_s,
            calls=tuple(made),
        )


WAYS_OUT: Final = {
    FaultKind.UNREACHABLE: "Check that the server runs and that its address is right; `guardian doctor` asks it.",
    FaultKind.BROKEN_OFF: "Check the server's log; a proxy in between may cut long replies.",
    FaultKind.BUSY: "Ask again later, or raise the limit of requests at the provider.",
    FaultKind.SERVER_ERROR: "Check the server's log, or ask again later.",
    FaultKind.UNREADABLE: "Check that the address ends where the server's OpenAI-compatible API begins, often in /v1.",
    FaultKind.DEADLINE: "Allow more time (GUARDIAN_MODEL_TIMEOUT, GUARD_TIMEOUT), or use a faster model.",
    FaultKind.BAD_REQUEST: "`guardian doctor` tries what the server takes; its settings are on the handbook's page of models.",
    FaultKind.TOO_LONG: (
        "Set GUARDIAN_MODEL_WINDOW to the tokens that the model really has, or leave the reply fewer of them "
        "(GUARDIAN_PLAN_TOKENS, GUARDIAN_ANSWER_TOKENS)."
    ),
    FaultKind.NOT_ALLOWED: "Check the API key, and that it may use this model.",
    FaultKind.NOT_FOUND: "Check the model's name and the address; `guardian doctor` lists the models that there are.",
    FaultKind.EMPTY: "Try another model, or allow it more tokens.",
    FaultKind.CUT_SHORT: "Allow more tokens (GUARDIAN_PLAN_TOKENS, GUARDIAN_ANSWER_TOKENS).",
    FaultKind.FILTERED: "The provider's own filter stopped the reply; ask the provider, or use another model.",
    FaultKind.NOT_AS_ASKED: "Try another model; `guardian doctor` shows what this one can do.",
    FaultKind.LOOPED: "Try another model, or a repetition penalty (GUARDIAN_MODEL_EXTRA='{\"frequency_penalty\": 0.5}').",
    FaultKind.RESTING: "Allow more time (GUARDIAN_MODEL_TIMEOUT), or use a faster model.",
}
"""What to do about each kind of fault."""


@cache
def _unused_client() -> openai.DefaultHttpxClient:
    """Return the client for blocking calls, which nobody makes; the library would make one for each model."""
    import openai

    return openai.DefaultHttpxClient()


def _client_for(access: ModelAccess, client: openai.DefaultAsyncHttpxClient) -> ChatOpenAI:
    import openai
    from langchain_openai import ChatOpenAI
    from pydantic import SecretStr

    options: dict[str, Any] = {} if access.temperature is None else {"temperature": access.temperature}
    if access.extra:
        options["extra_body"] = dict(access.extra)
    return ChatOpenAI(
        model=access.model,
        base_url=access.base_url or OPENAI_URL,
        # The client insists on a key; servers that need none ignore it.
        api_key=access.api_key or SecretStr("none"),
        # All tries are ours: the client would sleep out a Retry-After of any length.
        max_retries=0,
        timeout=openai.Timeout(access.timeout_s, connect=CONNECT_S),
        http_async_client=client,
        http_client=_unused_client(),
        # Part of our own client; the library refuses it beside one.
        openai_proxy=None,
        disable_streaming=True,
        use_responses_api=False,
        **options,
    )


def _read(message: AIMessage) -> Reply:
    finish = _finish_of(message)
    text = without_thinking(clean(text_of(message)))
    calls = (
        *(ToolCall(call["name"], clean(json.dumps(call["args"], ensure_ascii=False))) for call in message.tool_calls),
        *(ToolCall(call["name"] or "", clean(call["args"] or "")) for call in message.invalid_tool_calls),
    )
    if finish == "content_filter":
        raise ServerFault("the provider's content filter stopped the reply", kind=FaultKind.FILTERED)
    if not text and not calls:
        kind = FaultKind.CUT_SHORT if finish == "length" else FaultKind.EMPTY
        raise ServerFault("the reply is empty", kind=kind)
    return Reply(text, calls, finish, ())


def _add_usage(record: ModelCall, message: AIMessage) -> ModelCall:
    """Return the record with what the server says that the call took; it may say nothing, or nonsense."""
    usage = _mapping(message.response_metadata.get("token_usage"))
    return _with_figures(record, usage, _finish_of(message))


def _counted_by(error: BaseException | None, record: ModelCall) -> ModelCall:
    """Return the record with what a call took whose reply the client keeps to itself: one of a schema that was cut."""
    import openai

    match error:
        case openai.LengthFinishReasonError(completion=completion):
            return _with_figures(record, _mapping(completion.model_dump(warnings=False).get("usage")), "length")
        case _:
            return record


def _with_figures(record: ModelCall, usage: Mapping[str, object], finish_reason: str) -> ModelCall:
    return record.model_copy(
        update={
            "http_status": 200,
            "finish_reason": finish_reason,
            "prompt_tokens": _count(usage.get("prompt_tokens")),
            "completion_tokens": _count(usage.get("completion_tokens")),
            "reasoning_tokens": _count(_mapping(usage.get("completion_tokens_details")).get("reasoning_tokens")),
            "cached_tokens": _count(_mapping(usage.get("prompt_tokens_details")).get("cached_tokens")),
        }
    )


def _finish_of(message: AIMessage) -> str:
    return clean(str(message.response_metadata.get("finish_reason") or ""))[:_LONGEST_WORD]


def _mapping(value: object) -> Mapping[str, object]:
    return cast("Mapping[str, object]", value) if isinstance(value, Mapping) else {}


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _MOST_TOKENS else None


def _kind_of(error: Exception) -> tuple[FaultKind, str]:
    import openai

    match error:
        case openai.LengthFinishReasonError(completion=completion):
            loops = any(is_looping(choice.message.content or "") for choice in completion.choices)
            return (FaultKind.LOOPED, LOOPS) if loops else (FaultKind.CUT_SHORT, "the limit of tokens ended the reply")
        case openai.ContentFilterFinishReasonError():
            return FaultKind.FILTERED, "the provider's content filter stopped the reply"
        case openai.APITimeoutError():
            connecting = _comes_of(error, "ConnectTimeout")
            return (FaultKind.UNREACHABLE if connecting else FaultKind.DEADLINE), "there was no answer in time"
        case openai.APIConnectionError():
            if _comes_of(error, "ConnectError"):
                return FaultKind.UNREACHABLE, "it cannot be reached"
            return FaultKind.BROKEN_OFF, "the connection broke off"
        case _:
            # The words of a library may quote the reply; its class says enough.
            return FaultKind.UNREADABLE, f"the reply cannot be read ({type(error).__name__})"


def _comes_of(error: BaseException, name: str) -> bool:
    # langchain-openai raises its own error from openai's, which comes of the HTTP client's.
    cause = error.__cause__
    return cause is not None and (type(cause).__name__ == name or _comes_of(cause, name))


def _has_schema(options: Mapping[str, Any]) -> bool:
    return _mapping(options.get("response_format")).get("type") == _JSON_SCHEMA


def _words_of_cause(fault: ServerFault) -> str:
    """Return all that a server said in a refusal; a fault quotes its beginning."""
    import openai

    return _words_of(fault.__cause__) if isinstance(fault.__cause__, openai.APIStatusError) else fault.message


def _words_of(error: openai.APIStatusError) -> str:
    body: object = error.body
    if isinstance(body, Mapping):
        inner = cast("Mapping[str, object]", body)
        message = inner.get("message") or _mapping(inner.get("error")).get("message") or inner.get("detail") or ""
        code = inner.get("code")
        words = f"{message} ({code})" if code and isinstance(code, str) else str(message)
    else:
        words = "" if "<" in str(body)[:200] else str(body or "")
    return " ".join(clean(words).split())
