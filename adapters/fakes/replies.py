"""The reply over the socket, made from a step's reply, if any: status, headers, body in pieces, delays and faults."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from adapters.fakes.model import (
    PLAN_TOOL,
    Call,
    ModelReply,
    ModelRequest,
    choice_of,
    completion,
    dump,
    error_object,
    event,
    list_of,
    object_of,
    plan_for,
    plan_said,
    predict_labels,
    stream,
    usage_of,
    verdict_of,
    well_said,
)
from adapters.fakes.ranking import embeddings, rank
from adapters.fakes.scripts import SAYS, Reply

JSON: Final = "application/json"
SSE: Final = "text/event-stream"


@dataclass(frozen=True, slots=True)
class SocketReply:
    """A reply as it is sent over the socket.

    Attributes:
        pieces: The body; the pieces of a stream are sent one by one as chunks, others together with their length.
        delay_headers_s: Seconds before the first byte; `None` if the script does not say.
        delay_body_s: Seconds between the headers and the body.
        drip_s: Seconds after each byte of the body.
        hang: Never answer.
        reset: Reset the connection instead of an answer, or at the point of the cut.
        cut_at: Close the connection after this many bytes of the body.
    """

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    pieces: tuple[bytes, ...] = ()
    streamed: bool = False
    delay_headers_s: float | None = None
    delay_body_s: float = 0.0
    drip_s: float = 0.0
    hang: bool = False
    reset: bool = False
    cut_at: int | None = None


def json_answer(value: object, status: int = 200) -> SocketReply:
    """Return an answer that is one JSON value."""
    return SocketReply(status, {"Content-Type": JSON}, (dump(value).encode("utf-8", "surrogatepass"),))


def refusal(status: int, message: str, *, param: str = "", code: str = "") -> SocketReply:
    """Return an error as OpenAI writes it."""
    kind = "server_error" if status >= 500 else "invalid_request_error"
    return json_answer(error_object(message, kind=kind, param=param, code=code), status)


def answer_to(asked: ModelRequest, number: int, reply: Reply, otherwise: SocketReply) -> SocketReply:
    """Return the answer to a request.

    Args:
        asked: The request.
        number: Its number, for the ids in the answer.
        reply: What the script says; may be empty.
        otherwise: The answer if the script does not set the body and no model is asked.
    """
    status = int(reply.get("status", 200))
    answer = _body(asked, number, reply, otherwise)
    if "status" in reply:
        answer = replace(answer, status=status, pieces=() if status in (204, 304) else answer.pieces)
    own = {name: str(value) for name, value in object_of(reply.get("headers")).items()}
    own |= {"Content-Type": reply["content_type"]} if "content_type" in reply else {}
    given = {name.lower() for name in own}
    return replace(
        answer,
        headers={**{name: value for name, value in answer.headers.items() if name.lower() not in given}, **own},
        delay_headers_s=reply.get("delay_headers_s"),
        delay_body_s=reply.get("delay_body_s", 0.0),
        drip_s=reply.get("drip_s", 0.0),
        hang="hang" in reply,
        reset="reset" in reply,
        cut_at=reply.get("cut_at"),
    )


def _body(asked: ModelRequest, number: int, reply: Reply, otherwise: SocketReply) -> SocketReply:
    if "body" in reply:
        return SocketReply(headers={"Content-Type": JSON}, pieces=(reply["body"].encode("utf-8", "surrogatepass"),))
    if "json" in reply:
        return json_answer(reply["json"])
    if "sse" in reply:
        events = [_raw_event(line) for line in reply["sse"]]
        return SocketReply(headers={"Content-Type": SSE}, pieces=tuple(events), streamed=True)
    if reply.get("status", 200) >= 400 and not any(key in reply for key in SAYS):
        return refusal(reply["status"], f"The script of this server says {reply['status']}.", code="scripted")
    if not asked.purpose:
        return otherwise
    return _model_answer(asked, number, reply)


def _raw_event(line: str | dict[str, Any]) -> bytes:
    return f"{line}\n\n".encode("utf-8", "surrogatepass") if isinstance(line, str) else event(line)


def _model_answer(asked: ModelRequest, number: int, reply: Reply) -> SocketReply:
    if asked.path.endswith("/predict"):
        return json_answer(predict_labels(asked))
    if asked.purpose in ("embedding", "rerank"):
        return json_answer(embeddings(asked) if asked.purpose == "embedding" else rank(asked))
    said = said_of(asked, reply)
    if asked.is_mosec:
        return json_answer(verdict_of(said))
    choices = reply.get("choices", [choice_of(said, reply.get("finish_reason", said.finish_reason))])
    usage = reply.get("usage", usage_of(asked, said))
    if asked.fields.get("stream") is True:
        pieces = tuple(stream(asked, number, choices, usage))
        return SocketReply(headers={"Content-Type": SSE}, pieces=pieces, streamed=True)
    return json_answer(completion(asked, number, choices, usage))


def said_of(asked: ModelRequest, reply: Reply) -> ModelReply:
    """Return the model's reply: the script's, or that of a well-behaved model."""
    calls = [reply["call"]] if "call" in reply else list_of(reply.get("calls"))
    if "plan" in reply:
        said = plan_said(asked, {**plan_for(asked.last_user_text), **reply["plan"]})
    elif "text" in reply or "call" in reply or "calls" in reply:
        said = ModelReply(reply.get("text"), tuple(_call(call) for call in calls))
    else:
        said = well_said(asked)
    return replace(said, reasoning=reply.get("reasoning", ""))


def _call(call: dict[str, Any]) -> Call:
    arguments = call["arguments"]
    return Call(call.get("name", PLAN_TOOL), arguments if isinstance(arguments, str) else dump(arguments))
