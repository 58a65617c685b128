"""One POST of JSON to a ranking server, and its possible faults."""

from __future__ import annotations

import asyncio
import json
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

from adapters.models.access import host_of
from adapters.models.retries import Pauses, deadline_in, fault_of_status, retry_after, with_retries
from contracts.calls import ModelCall
from contracts.enums import CallPurpose, FaultKind, Language
from contracts.errors import ServerFault
from language.words import detect

if TYPE_CHECKING:
    import ssl

    import httpx
    from pydantic import SecretStr

T = TypeVar("T")

CONNECT_S: Final = 5.0
_LONGEST_BODY: Final = 64_000_000
"""Bytes of a reply that are read; 32 vectors of 4,096 numbers are some 3 million."""
_LONGEST_QUOTE: Final = 200
_TOO_LONG: Final = ("context length", "context size", "too long", "too large", "must have less than")
"""How servers say that a text is longer than their model takes, beside HTTP 413."""


@dataclass(frozen=True, slots=True)
class RankingAccess:
    """Access to one ranking model on one server.

    Attributes:
        url: Up to the last part of the path, which is added if it is missing.
        model: Its name on the server.
        languages: The model's languages; queries in other languages are not sent to it.
        api_key: `None` if the server needs none.
        timeout_s: Seconds for all tries of one query together.
        max_retries: How often a request that failed for a passing reason is sent again.
        proxy: Address of a proxy.
        settings: The prefix of its settings' names, for messages.
    """

    url: str
    model: str
    languages: frozenset[Language]
    api_key: SecretStr | None = None
    timeout_s: float = 10.0
    max_retries: int = 2
    proxy: str | None = None
    settings: str = "GUARDIAN_EMBED"

    def speaks(self, query: str, language: Language | None) -> bool:
        """Whether a query and the wanted documents (`None` for any language) are in the model's languages."""
        return detect(query) in self.languages and (language is None or language in self.languages)


class RankingServer:
    """A client for one server; safe to use from several event loops, because an HTTP client lives for one request.

    Args:
        access: The model.
        path: The last part of the address.
        what: What the server has, for messages.
        purpose: What it is asked for; goes into the records.
        pauses: Between tries.
    """

    def __init__(
        self, access: RankingAccess, path: str, what: str, purpose: CallPurpose, pauses: Pauses | None = None
    ) -> None:
        base = access.url.rstrip("/")
        self._url = base if base.endswith(f"/{path}") else f"{base}/{path}"
        self._access = access
        self._what = what
        self._purpose = purpose
        self._pauses = pauses
        self._tls: ssl.SSLContext | None = None

    async def ask(
        self,
        body: Mapping[str, object],
        read: Callable[[Any], T],
        timeout_s: float | None = None,
        made: list[ModelCall] | None = None,
    ) -> T:
        """Send a request, retry it after a passing fault, and return the result of `read`.

        Args:
            body: As JSON.
            read: Parses the reply; raises `ValueError` if the reply is not what was asked for.
            timeout_s: For all tries together; without it, the setting.
            made: Receives a record of every request.

        Raises:
            ServerFault: There was no usable reply in time; it names the server and how to fix it.
        """
        sent = json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
        try:
            return await with_retries(
                lambda: self._once(sent, read, made if made is not None else []),
                retries=self._access.max_retries,
                deadline=deadline_in(timeout_s or self._access.timeout_s),
                pauses=self._pauses,
            )
        except ServerFault as fault:
            raise ServerFault(
                f"The {self._what} at {host_of(self._access.url)}: {fault.message.rstrip('.')}.",
                self._way_out(fault.kind),
                kind=fault.kind,
                http_status=fault.http_status,
            ) from fault

    async def _once(self, body: bytes, read: Callable[[Any], T], made: list[ModelCall]) -> T:
        began, status = time.monotonic(), None
        # Cancelled by the deadline, the request is on record as what it was.
        fault = str(FaultKind.DEADLINE)
        try:
            reply = await self._read_answer(body, read)
        except ServerFault as error:
            fault, status = str(error.kind), error.http_status
            raise
        else:
            fault, status = "", 200
            return reply
        finally:
            made.append(
                ModelCall(
                    purpose=self._purpose,
                    model=self._access.model,
                    server=host_of(self._access.url),
                    form=self._purpose,
                    http_status=status,
                    fault=fault,
                    ms=round((time.monotonic() - began) * 1000, 1),
                )
            )

    async def _read_answer(self, body: bytes, read: Callable[[Any], T]) -> T:
        try:
            response, said = await self._send(body)
        except ServerFault:
            raise
        except Exception as error:
            # Whatever a stranger's reply breaks in the client is the reply's fault.
            raise _fault_of_client(error) from error
        if response.status_code != 200:
            raise self._fault_of(response, said)
        try:
            return read(json.loads(said))
        except (ValueError, RecursionError) as error:
            why = "its reply is not JSON" if isinstance(error, json.JSONDecodeError) else str(error)
            raise ServerFault(why, kind=FaultKind.UNREADABLE, http_status=200) from error

    async def _send(self, body: bytes) -> tuple[httpx.Response, str]:
        import httpx

        # Reading the certificates would hold up the event loop.
        self._tls = self._tls or await asyncio.to_thread(httpx.create_ssl_context)
        key = self._access.api_key.get_secret_value() if self._access.api_key else ""
        headers = {"Content-Type": "application/json", **({"Authorization": f"Bearer {key}"} if key else {})}
        # The deadline stands around all this; the client's own limit is for finding out sooner that nobody is there.
        timeout = httpx.Timeout(None, connect=CONNECT_S)
        async with (
            httpx.AsyncClient(verify=self._tls, timeout=timeout, proxy=self._access.proxy) as client,
            client.stream("POST", self._url, content=body, headers=headers) as response,
        ):
            read = bytearray()
            async for piece in response.aiter_bytes():
                read += piece
                if len(read) > _LONGEST_BODY:
                    raise ServerFault("its reply is too long", kind=FaultKind.UNREADABLE, http_status=200)
        return response, read.decode("utf-8-sig", "replace")

    def _fault_of(self, response: httpx.Response, said: str) -> ServerFault:
        status = response.status_code
        # A redirection is not followed: it would turn the POST into a GET, or carry the text to a stranger.
        kind = fault_of_status(status) if status >= 400 else FaultKind.NOT_FOUND
        if kind in (FaultKind.BAD_REQUEST, FaultKind.SERVER_ERROR) and any(mark in said.lower() for mark in _TOO_LONG):
            kind = FaultKind.TOO_LONG
        key = self._access.api_key.get_secret_value() if self._access.api_key else ""
        shown = said.replace(key, "***") if key else said
        words = "" if "<" in shown[:_LONGEST_QUOTE] else " ".join(shown[:_LONGEST_QUOTE].split())
        return ServerFault(
            f"HTTP {status}: {words}" if words else f"HTTP {status}",
            kind=kind,
            http_status=status,
            retry_after_s=retry_after(response.headers),
        )

    def _way_out(self, kind: FaultKind) -> str:
        name = self._access.settings
        match kind:
            case FaultKind.UNREACHABLE | FaultKind.NOT_FOUND:
                return f"Check that the server runs, and {name}_URL and {name}_MODEL."
            case FaultKind.NOT_ALLOWED:
                return f"Check {name}_KEY, and that it may use this model."
            case FaultKind.DEADLINE:
                return f"Allow more time ({name}_TIMEOUT), or use a faster model."
            case FaultKind.TOO_LONG:
                return "Start the server with a longer context, or let it cut what is too long."
            case FaultKind.UNREADABLE:
                return f"Check that {name}_URL is the address of such a server, and {name}_MODEL such a model."
            case _:
                return "Check the server's log, or ask again later."


def number_of(value: object, what: str) -> float:
    """Return a JSON value as a finite number.

    Raises:
        ValueError: The value is not a finite number; `true` and `"0.5"` are not.
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"{what} is not a number")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise ValueError(f"{what} is not a finite number")
    return number


def entries_of(value: object, count: int, what: str) -> list[dict[str, Any]]:
    """Return a JSON list of the given number of objects, ordered by `index`, which must have each position once.

    Raises:
        ValueError: The value is not such a list.
    """
    if not isinstance(value, list):
        raise ValueError(f"its reply has no list of {what}")
    entries = [cast("dict[str, Any]", entry) for entry in cast("list[Any]", value) if isinstance(entry, dict)]
    if len(entries) != count or len(cast("list[Any]", value)) != count:
        raise ValueError(f"its reply has {len(cast('list[Any]', value))} {what} where {count} are due")
    places = {entry.get("index"): entry for entry in entries if type(entry.get("index")) is int}
    if set(places) != set(range(count)):
        raise ValueError(f"its {what} do not say which text each is for")
    return [places[place] for place in range(count)]


def _fault_of_client(error: Exception) -> ServerFault:
    from adapters.models.http_faults import fault_kind

    kind, message = fault_kind(error)
    return ServerFault(message, kind=kind)
