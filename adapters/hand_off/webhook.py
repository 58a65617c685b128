"""A web address that receives hand-offs: one POST of JSON each."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
from typing import TYPE_CHECKING, Final

import httpx

from adapters.hand_off.delivery import Delivery
from adapters.models.access import host_of
from adapters.models.chat import CONNECT_S
from adapters.models.http_faults import fault_kind
from adapters.models.retries import Pauses, fault_of_status, retry_after, with_retries
from contracts.enums import FaultKind
from contracts.errors import ServerFault

if TYPE_CHECKING:
    import ssl

SIGNATURE: Final = "X-Guardian-Signature"
_RETRIES: Final = 2
_SEE_LOG: Final = "Check the receiver's log; `guardian hand-offs send` sends it again."
_WAYS_OUT: Final = {
    FaultKind.UNREACHABLE: "Check that the receiver runs and that GUARDIAN_HANDOFF_TO is its address.",
    FaultKind.BROKEN_OFF: _SEE_LOG,
    FaultKind.BUSY: _SEE_LOG,
    FaultKind.SERVER_ERROR: _SEE_LOG,
    FaultKind.UNREADABLE: "Check that GUARDIAN_HANDOFF_TO is the address of a web server.",
    FaultKind.DEADLINE: "Allow more time (GUARDIAN_HANDOFF_TIMEOUT), or let the receiver answer before it works.",
    FaultKind.BAD_REQUEST: "Let the receiver take JSON by POST, then run `guardian hand-offs send`.",
    FaultKind.TOO_LONG: "Let the receiver take longer requests, then run `guardian hand-offs send`.",
    FaultKind.NOT_ALLOWED: "Set GUARDIAN_HANDOFF_KEY to what the receiver expects, then run `guardian hand-offs send`.",
    FaultKind.NOT_FOUND: "Set GUARDIAN_HANDOFF_TO to where it leads in the end, then run `guardian hand-offs send`.",
}
"""What to do about each kind of fault."""


class Webhook:
    """A channel that posts tickets to an address. Any status from 200 to 299 is a receipt; nothing else is read.

    Every try has the same `Idempotency-Key`, so a receiver can drop duplicates. If a reply is lost, Guardian does not
    know whether the ticket arrived, and sends it again. With a key, requests carry it as a bearer token.
    `X-Guardian-Signature` then has the HMAC-SHA256 of the body with this key (RFC 2104), as `sha256=` and hexadecimal
    digits.

    Each ticket has a client of its own, closed afterwards, so that none outlives its event loop. Redirections are not
    followed: they would carry the ticket and the key to a stranger.

    Args:
        url: An address with `http` or `https`.
        key: Empty if the receiver expects none.
        pauses: Between tries.
    """

    def __init__(self, url: str, key: str = "", *, pauses: Pauses | None = None) -> None:
        self._url = url
        self._key = key
        self._pauses = pauses
        self._tls: ssl.SSLContext | None = None

    @property
    def name(self) -> str:
        return host_of(self._url)

    async def send(self, delivery: Delivery, deadline: float) -> None:
        """Post a ticket, and retry it if the fault may pass and there is time.

        Raises:
            ServerFault: The receiver did not accept it, or it is unknown whether it did.
        """
        try:
            await with_retries(lambda: self._post(delivery), retries=_RETRIES, deadline=deadline, pauses=self._pauses)
        except ServerFault as fault:
            raise ServerFault(
                f"The webhook at {self.name} did not take it: {fault.message.rstrip('.')}.",
                _WAYS_OUT[fault.kind],
                kind=fault.kind,
                http_status=fault.http_status,
            ) from fault

    async def _post(self, delivery: Delivery) -> None:
        # Reading the certificates would hold up the event loop.
        self._tls = self._tls or await asyncio.to_thread(httpx.create_ssl_context)
        body = delivery.document
        try:
            async with (
                httpx.AsyncClient(verify=self._tls, timeout=httpx.Timeout(None, connect=CONNECT_S)) as client,
                client.stream("POST", self._url, content=body, headers=self._headers(delivery.key, body)) as response,
            ):
                status, wait_s = response.status_code, retry_after(response.headers)
        except ServerFault:
            raise
        except Exception as error:
            # Whatever a stranger's reply breaks in the client is the reply's fault.
            kind, message = fault_kind(error)
            raise ServerFault(message, kind=kind) from error
        if not 200 <= status < 300:
            kind = fault_of_status(status) if status >= 400 else FaultKind.NOT_FOUND
            raise ServerFault(f"HTTP {status}", kind=kind, http_status=status, retry_after_s=wait_s)

    def _headers(self, key: str, body: bytes) -> dict[str, str]:
        headers = {
            "Content-Type": "application/json; charset=utf-8",
            "User-Agent": "guardian-assistant",
            "Idempotency-Key": key,
        }
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
            headers[SIGNATURE] = f"sha256={hmac.new(self._key.encode(), body, hashlib.sha256).hexdigest()}"
        return headers
