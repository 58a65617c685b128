"""Checks that refuse requests before they reach a route, as plain ASGI: foreign pages, too many or too large requests."""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator
from dataclasses import dataclass
from ipaddress import ip_address
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from starlette.requests import ClientDisconnect, HTTPConnection

from assistant.web.addresses import is_loopback
from assistant.web.callers import Callers, Identity, Kind, presented_key
from assistant.web.faults import Forbidden, TooLarge, TooMany, Unauthorized, fault_response, is_for_programs
from assistant.web.rates import Quota, Rates
from contracts.errors import GuardianError

if TYPE_CHECKING:
    from starlette.datastructures import Headers
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from assistant.keys import Keys

OPEN_PATHS: Final = frozenset({"/healthz", "/readyz"})
"""Asked by machines that have no key, use whatever name they like, and must never be kept waiting."""
WRONG_KEYS: Final = 20
"""How many wrong keys an address may send in a minute."""
_SENDERS: Final = {
    "key": "This API key",
    "user": "This user",
    "visitor": "One visitor",
    "address": "All visitors with this address together",
}
"""Whom a limit is on, as its error says it."""
_PAGE: Final = "/gradio_api/"
_COMPLETIONS: Final = "/v1/chat/completions"
_SAFE: Final = frozenset({"GET", "HEAD", "OPTIONS"})


@dataclass(frozen=True, slots=True)
class Allowance:
    """The number of requests that a caller may still make now.

    Attributes:
        quotas: The limits that hold, all of them at once; without any, nothing is limited.
        rates: The requests of the last minute.
        refused: Called with the kind of the sender for each refused request.
    """

    quotas: tuple[Quota, ...] = ()
    rates: Rates | None = None
    refused: Callable[[str], None] | None = None

    async def take(self) -> None:
        """Count one request now.

        Raises:
            TooMany: A limit is reached, and nothing is counted.
            GuardianError: It cannot be told whether one is.
        """
        if self.rates is None or (full := await self.rates.take(self.quotas)) is None:
            return
        place, wait = full
        quota = self.quotas[place]
        if self.refused is not None:
            self.refused(quota.kind)
        who = _SENDERS[quota.kind]
        raise TooMany(f"{who} may make {quota.most} requests a minute.", f"Ask again in {wait} seconds.", wait)


UNLIMITED: Final = Allowance()


class RateLimits:
    """Limits on each caller's requests per minute, on each address's visitors, and on each address's wrong keys.

    Every request under `/v1` and `/mcp` counts; elsewhere, every request that does more than read. Most of the chat
    page's own requests begin nothing, and what a chat client asks by itself is told from a question only by its body.
    The page and the route of chat completions count those that begin a turn, with the `allowance` in the request's
    state. A right key is never refused because of wrong keys from its address.

    Args:
        app: The protected application.
        callers: Who may ask; if everybody may, nothing is limited.
        refused: Called with `wrong_key` or the sender of the limit for each refused request.
        rates: Returns the requests of the last minute.
    """

    def __init__(
        self, app: ASGIApp, callers: Callers, refused: Callable[[str], None], rates: Callable[[], Rates]
    ) -> None:
        self._app = app
        self._callers = callers
        self._refused = refused
        self._rates = rates

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            refusal = await self._refusal(scope) if scope["type"] == "http" else None
        except GuardianError as error:  # too many, or keys or counts cannot be read
            refusal = error
        if refusal is not None:
            await fault_response(refusal)(scope, receive, send)
            return
        await self._app(scope, receive, send)

    async def _refusal(self, scope: Scope) -> TooMany | None:
        if scope["path"] in OPEN_PATHS or not self._callers.wanted:
            return None
        connection = HTTPConnection(scope)
        try:
            identity = self._callers.identify(connection)
        except Unauthorized:
            # The route refuses it; only keys can be guessed this way.
            address = self._callers.address(connection)
            return await self._count_wrong_key(address) if presented_key(connection) else None
        except Forbidden:
            return None
        allowance = Allowance(tuple(self._quotas(identity, connection)), self._rates(), self._refused)
        scope.setdefault("state", {})["allowance"] = allowance
        if _counts(scope):
            await allowance.take()
        return None

    def _quotas(self, identity: Identity, connection: HTTPConnection) -> Generator[Quota]:
        yield Quota(identity.kind, identity.caller.name, identity.per_minute)
        if identity.kind is Kind.VISITOR:
            yield Quota("address", self._callers.address(connection), self._callers.settings.address_per_minute)

    async def _count_wrong_key(self, address: str) -> TooMany | None:
        full = await self._rates().take([Quota("wrong_key", address, WRONG_KEYS)])
        if full is None:
            return None
        self._refused("wrong_key")
        return TooMany("Too many wrong API keys came from this address.", f"Ask again in {full[1]} seconds.", full[1])


def _counts(scope: Scope) -> bool:
    path: str = scope["path"]
    if path == _COMPLETIONS and scope["method"] == "POST":
        return False
    return is_for_programs(path) or (scope["method"] not in _SAFE and not path.startswith(_PAGE))


class FreshKeys:
    """A reading of the keys before anything asks for them, if other servers may have changed them.

    If they cannot be read, every request is refused but those for `OPEN_PATHS`.

    Args:
        app: The protected application.
        keys: The keys.
    """

    def __init__(self, app: ASGIApp, keys: Keys) -> None:
        self._app = app
        self._keys = keys

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"] not in OPEN_PATHS and not self._keys.fresh:
            try:
                await self._keys.refresh()
            except GuardianError as error:
                await fault_response(error)(scope, receive, send)
                return
        await self._app(scope, receive, send)


class SizeLimit:
    """A limit on the size of bodies; it reads them itself, up to the limit, whatever their header says.

    Args:
        app: The protected application.
        most: The limit, in bytes.
        most_upload: The limit for an upload of documents.
        may_upload: Whether a request is such an upload, from somebody who may send one.
    """

    def __init__(
        self, app: ASGIApp, most: int, most_upload: int = 0, may_upload: Callable[[HTTPConnection], bool] | None = None
    ) -> None:
        self._app = app
        self._most = most
        self._most_upload = most_upload
        self._may_upload = may_upload

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        try:
            body = await self._read(scope, receive)
        except ClientDisconnect:
            return
        except TooLarge as error:
            response = fault_response(error)
            # The rest of the body is not read.
            response.headers["Connection"] = "close"
            await response(scope, receive, send)
            return
        await self._app(scope, replay_body(body, receive), send)

    async def _read(self, scope: Scope, receive: Receive) -> bytes:
        upload = self._may_upload is not None and self._may_upload(HTTPConnection(scope))
        _check_size(_read_declared_length(scope), most := self._most_upload if upload else self._most, upload=upload)
        body = bytearray()
        more = True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise ClientDisconnect
            body += message.get("body", b"")
            _check_size(len(body), most, upload=upload)
            more = message.get("more_body", False)
        return bytes(body)


def _check_size(size: int, most: int, *, upload: bool) -> None:
    if size > most:
        setting = "GUARDIAN_MAX_UPLOAD_BYTES" if upload else "GUARDIAN_MAX_REQUEST_BYTES"
        raise TooLarge(f"The request has more than {most} bytes.", f"Send less, or set {setting} higher.")


def check_declared_length(scope: Scope, most: int) -> None:
    """Check what a request says of its body's length.

    Raises:
        TooLarge: It is longer than anything that is taken.
    """
    _check_size(_read_declared_length(scope), most, upload=False)


def _read_declared_length(scope: Scope) -> int:
    text = HTTPConnection(scope).headers.get("content-length", "")
    # The server has checked that it is a number; of how many digits, it has not.
    return int(text[:18]) if text.isdecimal() else 0


def replay_body(body: bytes, receive: Receive) -> Receive:
    """Return a receiver that first returns a body that was already read, and then whatever else comes."""
    parts: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def next_part() -> Message:
        return parts.pop() if parts else await receive()

    return next_part


class OwnPages:
    """A check that refuses requests from web pages of other sites, and host names that are not this machine's.

    Any web page that somebody on this machine opens can make the browser send requests to loopback. Browsers say where
    a request comes from (`Sec-Fetch-Site`, `Origin`), which separates foreign pages from our own. Programs send neither
    header. If a foreign name was made to point here (DNS rebinding), the browser takes its page for our own. So on
    loopback, where neither keys are used nor a proxy is in front that callers are told apart behind, only loopback names
    get an answer. Where a proxy on this machine names users, GUARDIAN_HOSTS do, too, and no others. `OPEN_PATHS` are
    answered by any name: there is nothing in them that a foreign page may not read.

    Args:
        app: The protected application.
        callers: Who may ask.
        origins: Other sites that may send requests.
        loopback: Whether the server listens only on loopback.
    """

    def __init__(self, app: ASGIApp, callers: Callers, origins: Collection[str], *, loopback: bool) -> None:
        self._app = app
        self._callers = callers
        self._origins = origins
        self._loopback = loopback

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        refusal = self._refusal(scope) if scope["type"] == "http" else None
        if refusal is not None:
            await fault_response(refusal)(scope, receive, send)
            return
        await self._app(scope, receive, send)

    def _is_known(self, host: str) -> bool:
        return _is_loopback_name(host) or _name_of(host) in self._callers.settings.hosts

    def _foreign_host(self, connection: HTTPConnection, host: str) -> Forbidden | None:
        if self._callers.checks_host(connection) and not self._is_known(host):
            return Forbidden(
                "The proxy calls this server by a name that it does not know.",
                "Name the host that browsers open in GUARDIAN_HOSTS, and let the proxy pass it on as `Host`.",
            )
        if self._loopback and not self._callers.any_host and not _is_loopback_name(host):
            visitors = self._callers.visitors
            proxy = ", or name the proxy in front of it in GUARDIAN_TRUSTED_PROXIES" if visitors else ""
            return Forbidden(
                "This server answers on this machine's own names alone, as it asks for no API keys.",
                f"Call it 127.0.0.1 or localhost, or make a key: `guardian keys add NAME`{proxy}.",
            )
        return None

    def _refusal(self, scope: Scope) -> Forbidden | None:
        connection = HTTPConnection(scope)
        headers = connection.headers
        host = headers.get("host", "")
        if scope["path"] not in OPEN_PATHS and (refusal := self._foreign_host(connection, host)) is not None:
            return refusal
        origin = headers.get("origin", "")
        # Other sites may ask what is for programs, and send no form of a page.
        named = origin in self._origins and is_for_programs(scope["path"])
        if scope["method"] in _SAFE or named or _is_own(headers, origin, host):
            return None
        return Forbidden(
            "A web page of another site sent this.", "To let it, name it in GUARDIAN_CORS_ORIGINS on the server."
        )


def _is_own(headers: Headers, origin: str, host: str) -> bool:
    """Whether a request is from no page at all, or from one of the same site."""
    # Behind a proxy the host may have another name here than in the browser, which knows best.
    if site := headers.get("sec-fetch-site", ""):
        return site in ("same-origin", "none")
    try:
        return not origin or (bool(host) and urlsplit(origin).netloc == host.lower())
    except ValueError:
        return False


def _name_of(host: str) -> str:
    """Return the name in a header `Host`, in small letters and without a port; empty if it is none.

    An IPv6 address is without brackets, and in its shortest form.
    """
    try:
        name = (urlsplit(f"//{host}").hostname or "").rstrip(".")
        return str(ip_address(name)) if ":" in name else name
    except ValueError:
        return ""


def _is_loopback_name(host: str) -> bool:
    name = _name_of(host)
    return is_loopback(name) or name.endswith(".localhost")
