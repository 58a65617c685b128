"""A moderation server like MOSEC: one POST of a JSON object with the text, one reply with the verdict."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

import httpx

from adapters.models.access import host_of
from adapters.models.chat import CONNECT_S
from adapters.models.http_faults import fault_kind
from adapters.models.retries import Pauses, deadline_in, fault_of_status, retry_after, with_retries
from adapters.moderation.reply import GuardReply, read_body, result_of, storable
from contracts.calls import ModelCall
from contracts.enums import CallPurpose, FaultKind
from contracts.errors import ConfigError, ModerationUnavailable, ServerFault
from contracts.report import ModerationResult

if TYPE_CHECKING:
    import ssl

PROVIDER: Final = "mosec"
CONTENT_FIELD: Final = "content"
TYPE_FIELD: Final = "moderation_type"
ADDRESS_SETTINGS: Final = "GUARD_MOSEC_URL, GUARD_MOSEC_PORT and GUARD_MOSEC_PATH"

_LONGEST_BODY: Final = 100_000
"""Bytes of a reply that are read; a verdict has some two hundred."""
_LONGEST_QUOTE: Final = 200

WAYS_OUT: Final = {
    FaultKind.UNREACHABLE: f"Check that the server runs and that its address is right ({ADDRESS_SETTINGS}).",
    FaultKind.BROKEN_OFF: "Check the server's log.",
    FaultKind.BUSY: "Ask again later, or give the server more workers.",
    FaultKind.SERVER_ERROR: "Check the server's log, or ask again later.",
    FaultKind.UNREADABLE: f"Check that the address is that of a moderation server ({ADDRESS_SETTINGS}).",
    FaultKind.DEADLINE: "Allow more time (GUARD_TIMEOUT), or give the server more workers.",
    FaultKind.BAD_REQUEST: "Check that the fields of the request are named as the server reads them.",
    FaultKind.TOO_LONG: "Let the server take longer requests: a message is judged whole or not at all.",
    FaultKind.NOT_ALLOWED: "Check what the server, or the proxy before it, asks for.",
    FaultKind.NOT_FOUND: f"Check the address ({ADDRESS_SETTINGS}); MOSEC's own path is /inference.",
}
"""What to do about each kind of fault."""


class MosecModerator:
    """A moderator that asks a moderation server over HTTP.

    Each message has a client of its own, closed afterwards: this takes 0.2 ms and leaves no connection open in an event
    loop that has ended. The certificates are read once, on the first message, in a thread.

    Args:
        url: The whole address, with the path. A user's name and password in it are sent as basic authentication.
        timeout_s: For all tries of one message together, in seconds.
        max_retries: How often a request that failed for a passing reason is sent again.
        text_field, type_field: Names of the request's two fields; the second always holds `prompt`.
        pauses: Between tries.
        clock: Seconds, monotonic; for the records only.

    Raises:
        ConfigError: The address is not an HTTP address.
    """

    def __init__(
        self,
        url: str,
        *,
        timeout_s: float = 10.0,
        max_retries: int = 2,
        text_field: str = CONTENT_FIELD,
        type_field: str = TYPE_FIELD,
        pauses: Pauses | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        address = _check_address(url)
        # Taken out of the address, which the client writes into its log.
        self._url = address.copy_with(userinfo=b"")
        self._auth = (address.username, address.password) if address.userinfo else None
        self._server = host_of(url)
        self._timeout_s = timeout_s
        self._max_retries = max_retries
        self._text_field = text_field
        self._type_field = type_field
        self._pauses = pauses
        self._clock = clock
        self._tls: ssl.SSLContext | None = None

    async def moderate(self, text: str) -> ModerationResult:
        """Return the server's verdict; `calls` has one record for each request.

        Raises:
            ModerationUnavailable: The server could not be asked, its reply holds no verdict, or the message is blank.
        """
        if not text.strip():
            raise ModerationUnavailable("A blank message cannot be judged.", "Send one with words in it.", tried=True)
        # As UTF-8, not escaped: Russian would be three times as long.
        fields = {self._text_field: storable(text), self._type_field: "prompt"}
        body = json.dumps(fields, ensure_ascii=False).encode("utf-8")
        made: list[ModelCall] = []
        try:
            reading, raw = await with_retries(
                lambda: self._once(body, made),
                retries=self._max_retries,
                deadline=deadline_in(self._timeout_s),
                pauses=self._pauses,
            )
        except ServerFault as fault:
            raise ModerationUnavailable(
                f"The moderation server at {self._server}: {fault.message.rstrip('.')}.",
                WAYS_OUT[fault.kind],
                calls=tuple(made),
                tried=True,
            ) from fault
        return result_of(reading, raw, model=PROVIDER, provider=PROVIDER, calls=tuple(made))

    async def _once(self, body: bytes, made: list[ModelCall]) -> tuple[GuardReply, str]:
        began = self._clock()
        # Cancelled by the deadline, the request is on record as what it was.
        outcome: dict[str, object] = {"fault": str(FaultKind.DEADLINE)}
        try:
            read = await self._ask(body)
            outcome = {"http_status": 200}
        except ServerFault as fault:
            outcome = {"fault": str(fault.kind), "http_status": fault.http_status}
            raise
        else:
            return read
        finally:
            record = ModelCall(purpose=CallPurpose.MODERATION, model=PROVIDER, server=self._server)
            ms = round((self._clock() - began) * 1000, 1)
            made.append(record.model_copy(update={**outcome, "ms": ms}))

    async def _ask(self, body: bytes) -> tuple[GuardReply, str]:
        try:
            response, said = await self._send(body)
        except ServerFault:
            raise
        except Exception as error:
            # Whatever a stranger's reply breaks in the client is the reply's fault.
            kind, message = fault_kind(error)
            raise ServerFault(message, kind=kind) from error
        if response.status_code != 200:
            raise _fault_of(response, said)
        reading = None if "html" in response.headers.get("content-type", "").lower() else read_body(said)
        if reading is None:
            raise ServerFault("its reply holds no verdict", kind=FaultKind.UNREADABLE, http_status=200)
        return reading, said

    async def _send(self, body: bytes) -> tuple[httpx.Response, str]:
        # Reading the certificates would hold up the event loop.
        self._tls = self._tls or await asyncio.to_thread(httpx.create_ssl_context)
        # The deadline stands around all this; the client's own limit is for finding out sooner that nobody is there.
        timeout = httpx.Timeout(None, connect=CONNECT_S)
        async with (
            httpx.AsyncClient(verify=self._tls, timeout=timeout, auth=self._auth) as client,
            client.stream("POST", self._url, content=body, headers={"Content-Type": "application/json"}) as response,
        ):
            read = bytearray()
            async for piece in response.aiter_bytes():
                read += piece
                if len(read) > _LONGEST_BODY:
                    raise ServerFault(
                        "its reply is too long for a verdict",
                        kind=FaultKind.UNREADABLE,
                        http_status=response.status_code,
                    )
        return response, read.decode("utf-8-sig", "replace")


def _check_address(url: str) -> httpx.URL:
    try:
        address = httpx.URL(url)
    except httpx.InvalidURL:
        address = httpx.URL()
    if address.scheme in ("http", "https") and address.host and 0 < (address.port or 80) < 65536:
        return address
    # It is not repeated: there may be a password in it.
    raise ConfigError(
        "The moderation server's address is not an HTTP address.",
        f"Write it as http://host:port/path; it is made of {ADDRESS_SETTINGS}.",
    )


def _fault_of(response: httpx.Response, said: str) -> ServerFault:
    status = response.status_code
    # A redirection is not followed: it would turn the POST into a GET, or carry the text to a stranger.
    kind = fault_of_status(status) if status >= 400 else FaultKind.NOT_FOUND
    words = "" if "<" in said[:_LONGEST_QUOTE] else " ".join(said[:_LONGEST_QUOTE].split())
    return ServerFault(
        f"HTTP {status}: {words}" if words else f"HTTP {status}",
        kind=kind,
        http_status=status,
        retry_after_s=retry_after(response.headers),
    )
