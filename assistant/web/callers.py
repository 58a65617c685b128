"""Callers over HTTP: who sends a request, by an API key, by a trusted proxy's header, or by a visitor's cookie.

A key comes first, and a wrong one is refused, whatever else the request has. Where the server asks for none of the three,
everybody is the same caller.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Final, TypeAlias

from fastapi import Depends, Request
from starlette.requests import HTTPConnection

from assistant.caller import Caller
from assistant.keys import Keys, key_in
from assistant.service import Service
from assistant.visitors import Visit, VisitorSeal, begin_visit, user_name
from assistant.web.addresses import address_of, is_within, network_of
from assistant.web.faults import Forbidden, TooMany, Unauthorized
from assistant.web.rates import HOUR_S, Quota, Rates
from assistant.wiring.access import keys_of, visitor_seal
from contracts.errors import UnknownThread

if TYPE_CHECKING:
    from assistant.config.settings import CallerSettings
    from assistant.deployment import Deployment
    from contracts.profile import Profile

VISITOR_HEADER: Final = "x-guardian-visitor"
"""What a page whose browser keeps no cookie sends in place of it."""
_COOKIE: Final = "guardian_visitor"
_DAY_S: Final = 86_400
_MOST_COOKIES: Final = 4
_LONGEST_USER: Final = 256
_LONGEST_ROLE: Final = 64


class Kind(StrEnum):
    """How a caller was identified."""

    ANYBODY = "anybody"
    KEY = "key"
    USER = "user"
    VISITOR = "visitor"


@dataclass(frozen=True, slots=True)
class Identity:
    """Who sends a request.

    Attributes:
        per_minute: The most requests a minute; 0 if any number is allowed.
    """

    caller: Caller
    kind: Kind
    per_minute: int = 0


@dataclass(frozen=True, slots=True)
class Presence:
    """A visitor's cookie and how a response sets it.

    Attributes:
        seconds: How long the browser keeps the cookie.
        secure: Whether the browser talks to the server, or to the proxy in front of it, by https.
        framed: Whether pages of other sites show the chat in a frame.
    """

    value: str
    seconds: int
    secure: bool
    framed: bool

    def header(self) -> str:
        """Return the value of `Set-Cookie`."""
        crossing = self.secure and self.framed
        same = "SameSite=None; Secure; Partitioned" if crossing else "SameSite=Lax" + "; Secure" * self.secure
        return f"{_cookie_name(secure=self.secure)}={self.value}; Max-Age={self.seconds}; Path=/; HttpOnly; {same}"


class Callers:
    """The callers of one application.

    Args:
        keys: The keys in force.
        settings: Whom the server lets in beside the owners of keys.
        profile: Says which roles there are.
        role: The role of visitors, and of everybody where nobody is told apart.
        seal: The seal of visitors' cookies; `None` if there are no visitors.
        clock: Seconds since 1970.
    """

    def __init__(
        self,
        keys: Keys,
        settings: CallerSettings,
        profile: Profile,
        role: str = "user",
        seal: VisitorSeal | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.keys = keys
        self.settings = settings
        self._profile = profile
        self._role = role
        self._seal = seal
        self._clock = clock

    @classmethod
    def of(cls, deployed: Deployment, role: str) -> Callers:
        """Return the callers of a deployment.

        Raises:
            ConfigError: The secret of visitors' cookies cannot be read or made.
        """
        settings = deployed.settings.callers
        seal = visitor_seal(deployed) if settings.visitors else None
        return cls(keys_of(deployed), settings, deployed.profile, role, seal)

    @property
    def wanted(self) -> bool:
        """Whether a request has to say who sends it."""
        return self._seal is not None or bool(self.settings.user_header) or self.keys.wanted

    @property
    def visitors(self) -> bool:
        """Whether browsers without a key are visitors."""
        return self._seal is not None

    def is_open(self, role: str) -> bool:
        """Whether a link for a role opens for everybody who has it, because they read as visitors."""
        return self.visitors and role == self._role

    @property
    def any_host(self) -> bool:
        """Whether the server may be called by any name: by owners of keys, or through a proxy by whoever is told apart."""
        return self.keys.wanted or (self.wanted and bool(self.settings.trusted_proxies))

    def checks_host(self, connection: HTTPConnection) -> bool:
        """Whether the name that a request calls the server by has to be a known one.

        A browser on the machine of a trusted proxy comes from the proxy's address. A page whose name was made to point
        here (DNS rebinding) could there name any user and any role.
        """
        if not self.settings.user_header or not self._is_proxy(connection):
            return False
        peer = address_of(_peer(connection))
        # What comes from the address that it was sent to is from this machine, whatever network the address is of.
        here = connection.scope.get("server") or ("",)
        return bool(self.settings.hosts) or peer.is_loopback or str(peer) == str(here[0])

    def identify(self, connection: HTTPConnection) -> Identity:
        """Return who sends a request.

        Raises:
            Unauthorized: It does not say so, or says it wrongly.
            Forbidden: A proxy gives the user a role that the profile does not have.
            ConfigError: The keys cannot be read.
        """
        if not self.wanted:
            return Identity(Caller(role=self._role), Kind.ANYBODY)
        if presented := presented_key(connection):
            found = self.keys.caller(presented)
            if found is None:
                raise self._unauthorized("This server does not know this API key.")
            caller, key = found
            return Identity(caller, Kind.KEY, key.per_minute)
        if (user := self._user(connection)) is not None:
            return Identity(user, Kind.USER, self.settings.user_per_minute)
        if (visit := self._visit(connection)) is not None:
            return self._visitor(visit, self.address(connection))
        self.keys.all()  # where they cannot be read, that is the fault
        raise self._unauthorized()

    async def receive(self, connection: HTTPConnection, rates: Rates) -> tuple[Identity, Presence | None]:
        """Return who asks for a page, and the cookie that the response has to set, if any.

        A browser that nobody is known by is a new visitor. A cookie half of whose time is over is set again.

        Args:
            connection: The request.
            rates: Count new visitors, too.

        Raises:
            Unauthorized: See `identify`.
            Forbidden: See `identify`.
            TooMany: Too many new visitors came from this address.
        """
        visit = self._visit(connection)
        seconds = self.settings.visitor_days * _DAY_S
        expires = int(self._clock()) + seconds
        if visit is None:
            try:
                return self.identify(connection), None
            except Unauthorized:
                if self._seal is None or presented_key(connection) or self._claims_user(connection):
                    raise
                # As a picture of a foreign page it would only use up the address's new visitors.
                if connection.headers.get("sec-fetch-dest", "document") not in ("document", "iframe", "frame"):
                    raise
            await self._count_newcomer(connection, rates)
            visit = begin_visit(expires)
        else:
            identity = self.identify(connection)
            if identity.kind is not Kind.VISITOR or visit.expires - self._clock() > seconds / 2:
                return identity, None
        return self._visitor(visit, self.address(connection)), self._presence(
            Visit(visit.visitor, expires), seconds, connection
        )

    def reader_role(self, connection: HTTPConnection) -> str:
        """Return the role of whoever follows a link, which is a permission of its own.

        Where browsers without a key are visitors, whoever is not known reads as one, without a cookie and without a name.

        Raises:
            Unauthorized: The request has a wrong key, or there are no visitors and it does not say who sends it.
            Forbidden: See `identify`.
        """
        try:
            return self.identify(connection).caller.role
        except Unauthorized:
            if self._seal is None or presented_key(connection) or self._claims_user(connection):
                raise
            return self._role

    async def begin_without_cookie(self, connection: HTTPConnection, rates: Rates) -> str:
        """Return what a page sends as `X-Guardian-Visitor` if its browser keeps no cookie, as in a frame of another site.

        Whoever is known already stays the same visitor.

        Raises:
            UnknownThread: There are no visitors here.
            Unauthorized: The request has a wrong key.
            TooMany: Too many new visitors came from this address.
        """
        if self._seal is None:
            raise UnknownThread("This server has no visitors.", "Set GUARDIAN_VISITORS=on.")
        visit = self._visit(connection)
        if visit is None:
            if presented_key(connection) or self._claims_user(connection):
                self.identify(connection)
            await self._count_newcomer(connection, rates)
            visit = begin_visit(int(self._clock()) + self.settings.visitor_days * _DAY_S)
        return self._seal.sign(visit)

    def address(self, connection: HTTPConnection) -> str:
        """Return the address that a request comes from, as it is counted; a trusted proxy is believed where from."""
        trusted = self.settings.trusted_proxies
        host = _peer(connection)
        if is_within(host, trusted):
            # The last one that is no proxy of ours: what stands before it, anybody may have written.
            named = ",".join(connection.headers.getlist("x-forwarded-for")).split(",")
            for one in reversed(named):
                try:
                    host = str(address_of(one.strip()))
                except ValueError:
                    break  # what is no address is not counted as one: the proxy is
                if not is_within(host, trusted):
                    break
        return network_of(host)

    def _unauthorized(self, said: str = "") -> Unauthorized:
        settings = self.settings
        if self.visitors:
            return Unauthorized(
                said or "This server asks for an API key, or for the cookie of its chat page.",
                "Send a key as `Authorization: Bearer KEY`, or open `/` in a browser that keeps cookies.",
                dialog=False,
            )
        if settings.user_header:
            return Unauthorized(
                said or "This server asks for an API key, or for a user whom its proxy names.",
                "Send a key as `Authorization: Bearer KEY`, or sign in at the proxy.",
                dialog=self.keys.wanted,
            )
        return Unauthorized("This server asks for an API key.", "Send it as `Authorization: Bearer KEY`.")

    # ------------------------------------------------------------------------------------------ users of a proxy

    def _claims_user(self, connection: HTTPConnection) -> bool:
        """Whether a trusted proxy says something of a user."""
        header = self.settings.user_header
        return bool(header) and header in connection.headers and self._is_proxy(connection)

    def _is_proxy(self, connection: HTTPConnection) -> bool:
        return is_within(_peer(connection), self.settings.trusted_proxies)

    def _user(self, connection: HTTPConnection) -> Caller | None:
        if not self._claims_user(connection):
            return None
        named = connection.headers.getlist(self.settings.user_header)
        user = _text(named[0])
        if len(named) != 1 or not 1 <= len(user) <= _LONGEST_USER or not user.isprintable():
            raise Unauthorized(
                "The proxy does not name one user.",
                f"Let it send `{self.settings.user_header}` once, with 1 to {_LONGEST_USER} visible characters.",
                dialog=False,
            )
        return Caller(user_name(user), self._role_of(user, connection))

    def _role_of(self, user: str, connection: HTTPConnection) -> str:
        header = self.settings.role_header
        named = connection.headers.getlist(header) if header else []
        if not named:
            return self._profile.users.get(user, "user")
        role = _text(named[0])
        if len(named) != 1 or role not in self._profile.roles:
            known = ", ".join(self._profile.roles)
            shown = "more than one role" if len(named) != 1 else f"the role {role[:_LONGEST_ROLE]!a}"
            raise Forbidden(f"The proxy gives this user {shown}.", f"Let it send one of the profile's: {known}.")
        return role

    # -------------------------------------------------------------------------------------------------- visitors

    def _visit(self, connection: HTTPConnection) -> Visit | None:
        if self._seal is None:
            return None
        now = self._clock()
        sent = [*_cookies(connection, _cookie_name(secure=self._is_secure(connection)))]
        sent += connection.headers.getlist(VISITOR_HEADER)
        return next((visit for value in sent if (visit := self._seal.read(value, now)) is not None), None)

    def _visitor(self, visit: Visit, address: str) -> Identity:
        return Identity(Caller(visit.name, self._role, address), Kind.VISITOR, self.settings.visitor_per_minute)

    def _presence(self, visit: Visit, seconds: int, connection: HTTPConnection) -> Presence:
        assert self._seal is not None  # noqa: S101  # without it, there are no visitors
        framed = bool(self.settings.frame_ancestors)
        return Presence(self._seal.sign(visit), seconds, self._is_secure(connection), framed)

    def _is_secure(self, connection: HTTPConnection) -> bool:
        """Whether the browser came by https; the proxy in front says so, for this server itself speaks none."""
        said = connection.headers.getlist("x-forwarded-proto") if self._is_proxy(connection) else []
        return connection.scope["scheme"] == "https" or ",".join(said).rpartition(",")[2].strip().lower() == "https"

    async def _count_newcomer(self, connection: HTTPConnection, rates: Rates) -> None:
        most = self.settings.new_visitors_per_hour
        if full := await rates.take([Quota("new_visitor", self.address(connection), most)], HOUR_S):
            _, wait = full
            raise TooMany(
                f"More than {most} new visitors came from this address in an hour.",
                f"Come again in {wait} seconds, or with the browser that was here before.",
                wait,
            )


def presented_key(connection: HTTPConnection) -> str:
    """Return the key that a request carries; empty if it carries none."""
    return key_in(connection.headers)


def identify(connection: HTTPConnection) -> Caller:
    """Return the caller of a request.

    Raises:
        Unauthorized: The server asks who sends a request, and this one does not say it.
        Forbidden: A proxy gives the user a role that the profile does not have.
        ConfigError: The keys cannot be read.
    """
    callers: Callers = connection.app.state.callers
    return callers.identify(connection).caller


def caller_of(request: Request) -> Caller:
    """Return the caller of a request.

    Raises:
        Unauthorized: See `identify`.
        Forbidden: See `identify`.
    """
    return identify(request)


def service_of(request: Request) -> Service:
    """Return the open deployment."""
    return request.app.state.service


Asker: TypeAlias = Annotated[Caller, Depends(caller_of)]
Served: TypeAlias = Annotated[Service, Depends(service_of)]


def _peer(connection: HTTPConnection) -> str:
    return connection.client.host if connection.client else ""


def _text(header: str) -> str:
    """Return a header's value as text; proxies send UTF-8, which comes as Latin-1. Empty if it is no UTF-8."""
    try:
        return header.encode("latin-1").decode("utf-8").strip()
    except UnicodeError:
        return ""


def _cookie_name(*, secure: bool) -> str:
    # Browsers take a cookie of this prefix from this very host alone, by https: no neighbour can plant its own here.
    return f"__Host-{_COOKIE}" if secure else _COOKIE


def _cookies(connection: HTTPConnection, name: str) -> list[str]:
    """Return all cookies of a name. Starlette would return the last one, and a broken one may be among them."""
    pairs = (pair.partition("=") for header in connection.headers.getlist("cookie") for pair in header.split(";"))
    return [value.strip() for key, _, value in pairs if key.strip() == name][:_MOST_COOKIES]
