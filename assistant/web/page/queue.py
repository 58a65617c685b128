"""Checks of what a browser sends to Gradio's queue, because Gradio answers many wrong requests with a traceback."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Annotated, Any, Final, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from assistant.caller import Caller
from contracts.errors import InputError, UnknownThread

_WAY_OUT: Final = "Reload the page."
_Name = Annotated[str, Field(min_length=1, max_length=100)]


class Joining(BaseModel):
    """An event of the page; other data in the request does not reach Gradio.

    Attributes:
        session_hash: The tab's session id; the tab makes it up.
        fn_index: The number of the action.
        data: The values of its inputs; all are texts.
        trigger_id: The id of the component that it came from.
    """

    model_config = ConfigDict(strict=True)

    session_hash: _Name
    fn_index: int
    data: list[str | None]
    trigger_id: int | None = None


class Cancelling(BaseModel):
    """The cancellation of an event."""

    model_config = ConfigDict(strict=True)

    session_hash: _Name
    fn_index: int
    event_id: _Name


_Sent = TypeVar("_Sent", Joining, Cancelling)


def read_event(body: bytes, inputs: Mapping[int, int]) -> Joining:
    """Return the event that a browser sends.

    Args:
        body: The request's body.
        inputs: The number of inputs of each event of the page, by its `fn_index`.

    Raises:
        InputError: The event is not one of the page's.
    """
    event = _read(Joining, body)
    if event.fn_index not in inputs:
        raise InputError("The page has no event of this `fn_index`.", _WAY_OUT)
    if len(event.data) != inputs[event.fn_index]:
        raise InputError(f"This event takes {inputs[event.fn_index]} values in `data`.", _WAY_OUT)
    return event.model_copy(update={"data": [value or "" for value in event.data]})


def read_cancel(body: bytes) -> Cancelling:
    """Return the cancellation that a browser sends.

    Raises:
        InputError: The body is not a cancellation.
    """
    return _read(Cancelling, body)


def own_session(caller: Caller, session: str) -> str:
    """Return the name of a tab's session in Gradio; it differs per caller, so nobody can use another's session."""
    return hashlib.sha256(f"{caller.name}/{session}".encode()).hexdigest()


def unknown_session() -> UnknownThread:
    """Return the error for a session that is not the caller's."""
    return UnknownThread("There is no such session.", _WAY_OUT)


def _read(kind: type[_Sent], body: bytes) -> _Sent:
    try:
        return kind.model_validate_json(body)
    except ValidationError as error:
        # Where, and never what: that may be long, or a secret.
        where: Any = error.errors(include_url=False, include_context=False, include_input=False)[0]["loc"]
        said = (
            f"`{'.'.join(map(str, where))}` is missing, or not what it should be" if where else "it is no JSON object"
        )
        raise InputError(f"The page's queue cannot take the request: {said}.", _WAY_OUT) from None
