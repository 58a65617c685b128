"""Callers without a key: visitors by a cookie, users by the header of a proxy, and what neither can be made to be."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, cast

import httpx
import pytest
from httpx import ASGITransport, AsyncClient
from starlette.requests import HTTPConnection
from starlette.responses import PlainTextResponse

from assistant.config.settings import CallerSettings
from assistant.deployment import Deployment, deployment
from assistant.keys import Keys
from assistant.service import Caller, Service
from assistant.visitors import Visit, VisitorSeal, user_name
from assistant.web.app import ServerOptions
from assistant.web.callers import Callers, Kind
from assistant.web.expiry import daily_expiry
from assistant.web.faults import TooMany
from assistant.web.limits import OPEN_PATHS, OwnPages, RateLimits
from assistant.web.page.mount import page_routes
from assistant.web.rates import LocalRates
from assistant.wiring.access import visitor_seal
from contracts.errors import ConfigError, GuardianError, ThreadError
from contracts.profile import UNNAMED, Profile, Role
from tests.support.cli_helpers import QUESTION, Desk
from tests.support.tls import TRUSTS_NOBODY
from tests.support.web_server import ROLES, Running, serve_deployment

NOW: Final = 1_800_000_000
DAY: Final = 86_400
SEAL: Final = VisitorSeal(bytes(range(32)))
ONE, OTHER = "0" * 31 + "1", "0" * 31 + "2"
GOOD: Final = SEAL.sign(Visit(ONE, NOW + 20 * DAY))
FAR: Final = 4_000_000_000
"""A time that this century does not reach."""
ELSEWHERE: Final = "127.0.0.2"
"""An address of this machine that is no proxy's."""

Headers = list[tuple[str, str | bytes]]


@pytest.fixture(scope="module")
def gate(library: Desk, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A server with keys, visitors, and a proxy at 127.0.0.1 that names users."""
    desk = library.copied(tmp_path_factory.mktemp("gate") / "data").having(
        GUARDIAN_VISITORS="on",
        GUARDIAN_TRUST_USER_HEADER="X-Forwarded-User",
        GUARDIAN_TRUST_ROLE_HEADER="X-Role",
        GUARDIAN_TRUSTED_PROXIES="127.0.0.1",
    )
    with serve_deployment(deployment(environment=desk.environment), keys=ROLES) as running:
        yield running


def send(gate: Running, path: str, headers: Headers, body: object = None, host: str = "127.0.0.1") -> httpx.Response:
    """Send one request from an address of this machine; with a body by POST."""
    transport = httpx.HTTPTransport(local_address=host, verify=TRUSTS_NOBODY)
    with httpx.Client(base_url=gate.url, transport=transport, trust_env=False, timeout=30) as client:
        raw = [(name.encode(), value if isinstance(value, bytes) else value.encode()) for name, value in headers]
        return client.request("GET" if body is None else "POST", path, json=body, headers=raw)


def cookie_of(gate: Running, visitor: str, expires: int = FAR) -> str:
    return f"guardian_visitor={visitor_seal(gate.deployed).sign(Visit(visitor, expires))}"


def callers(*, seal: VisitorSeal | None = SEAL, keys: Path = Path("/nowhere"), **variables: str) -> Callers:
    """Return callers at the time `NOW`."""
    settings = CallerSettings.read({"GUARDIAN_VISITORS": "on", **variables})
    return Callers(Keys(keys), settings, UNNAMED, seal=seal, clock=lambda: NOW)


def request(peer: str = ELSEWHERE, **headers: str) -> HTTPConnection:
    """Return a request for `/`; of the headers' names, `_` stands for `-`."""
    raw = [(name.replace("_", "-").lower().encode(), value.encode()) for name, value in headers.items()]
    scope: dict[str, Any] = {"type": "http", "method": "GET", "scheme": "http", "path": "/", "query_string": b""}
    return HTTPConnection({**scope, "server": ("host", 80), "client": (peer, 5000), "headers": raw})


# ------------------------------------------------------------------------------------------------ users of a proxy


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        ([("X-Forwarded-User", "alice@shop.example")], 200),
        ([("X-Forwarded-User", "Анна".encode())], 200),
        ([("X-Forwarded-User", "a" * 256)], 200),
        ([("X-Forwarded-User", "a" * 257)], 401),
        ([("X-Forwarded-User", "")], 401),
        ([("X-Forwarded-User", b"\xff\xfe")], 401),
        ([("X-Forwarded-User", "ali\u202ece".encode())], 401),
        ([("X-Forwarded-User", "alice"), ("X-Forwarded-User", "alice")], 401),
        ([("X-Forwarded-User", "alice"), ("X-Role", "operator")], 200),
        ([("X-Forwarded-User", "alice"), ("X-Role", "queen")], 403),
        ([("X-Forwarded-User", "alice"), ("X-Role", "")], 403),
        ([("X-Forwarded-User", "alice"), ("X-Role", "user"), ("X-Role", "operator")], 403),
        ([("X-Forwarded-User", "alice"), ("X-API-Key", "gk-wrong")], 401),
        ([("X-Role", "operator")], 401),
        ([("X_Forwarded_User", "alice")], 401),
        ([], 401),
    ],
    ids=str,
)
def test_a_proxy_names_one_user_or_nobody(gate: Running, sent: Headers, status: int) -> None:
    """What is not exactly one visible name is refused with a way out, and never taken for somebody else."""
    answer = send(gate, "/v1/threads", sent)
    assert answer.status_code == status, answer.text
    if status != 200:
        assert answer.json()["error"]["way_out"]
        assert "Basic" not in answer.headers.get("www-authenticate", "")


def test_the_profile_may_say_which_role_a_user_has() -> None:
    """Where the proxy names none, `[users]` does; who is not in it is a user. A role that is not there is an error."""
    roles = {"user": Role(), "operator": Role(operator_view=True)}
    profile = UNNAMED.model_copy(update={"roles": roles, "users": {"olga": "operator"}})
    proxy = {"GUARDIAN_TRUST_USER_HEADER": "X-User", "GUARDIAN_TRUSTED_PROXIES": ELSEWHERE}
    known = Callers(Keys(Path("/nowhere")), CallerSettings.read(proxy), profile)
    assert known.identify(request(x_user="olga")).caller == Caller(user_name("olga"), "operator")
    assert known.identify(request(x_user="Olga")).caller.role == "user"
    with pytest.raises(ValueError, match=r"users.olga: there is no role 'queen'"):
        Profile.model_validate({**profile.model_dump(), "users": {"olga": "queen"}})


def test_whoever_comes_is_no_operator(tmp_path: Path) -> None:
    """Neither `serve` nor `ui` begins where every visitor would have a role that sees more than users do."""
    desk = Desk(tmp_path / "data", tmp_path, more={"GUARDIAN_VISITORS": "on"})
    desk.here("serve", "--role", "operator").complains(2, "'operator'", "GUARDIAN_VISITORS")
    desk.here("ui", "--operator").complains(2, "'operator'", "GUARDIAN_VISITORS")


def test_a_header_from_another_address_is_as_if_it_were_not_there(gate: Running) -> None:
    """No peer but the proxy names users, whatever it says of where it comes from."""
    claims: Headers = [("X-Forwarded-User", "alice"), ("X-Role", "operator"), ("X-Forwarded-For", "127.0.0.1")]
    assert send(gate, "/v1/threads", claims, host=ELSEWHERE).status_code == 401
    assert send(gate, "/metrics", claims).status_code == 200
    visitor = [*claims, ("Cookie", cookie_of(gate, ONE))]
    assert send(gate, "/metrics", visitor, host=ELSEWHERE).status_code == 403


def test_a_key_comes_first(gate: Running) -> None:
    """The owner of a key is the key's owner, whatever a proxy or a cookie says beside it."""
    key = ("X-API-Key", gate.keys["anna"])
    both = send(gate, "/metrics", [key, ("X-Forwarded-User", "olga"), ("X-Role", "operator")])
    assert both.status_code == 403
    assert send(gate, "/v1/threads", [("X-API-Key", "gk-wrong"), ("Cookie", cookie_of(gate, ONE))]).status_code == 401


# ---------------------------------------------------------------------------------------------------- conversations


def test_each_caller_has_their_own_conversations(gate: Running) -> None:
    """Of one id, a visitor, another one, a user and the key of the same name each have a conversation of their own."""
    who: Mapping[str, Headers] = {
        "visitor": [("Cookie", cookie_of(gate, ONE))],
        "other": [("Cookie", cookie_of(gate, OTHER))],
        "user": [("X-Forwarded-User", "anna")],
        "key": [("X-API-Key", gate.keys["anna"])],
    }
    stored = {"visitor": f"v_{ONE}/mine", "user": f"{user_name('anna')}/mine"}
    for name, headers in who.items():
        if name in stored:
            asked = send(gate, "/v1/ask", headers, {"question": QUESTION, "thread_id": "mine"})
            assert asked.status_code == 200, asked.text
    for name, headers in who.items():
        listed = send(gate, "/v1/threads", headers).json()
        assert listed["total"] == (1 if name in stored else 0)
        for thread in ("mine", *stored.values()):
            own = name in stored and thread == "mine"
            assert send(gate, f"/v1/threads/{thread}", headers).status_code == (200 if own else 404)


def test_an_operators_page_without_keys_opens_no_visitors_conversation(library: Desk, tmp_path: Path) -> None:
    """On the data of a server with visitors, it neither lists nor exports theirs nor shows its passages; its own it does."""
    desk = library.copied(tmp_path / "data")
    visitor: Headers = [("Cookie", f"guardian_visitor={visitor_seal(deploy(desk)).sign(Visit(ONE, FAR))}")]
    ask = {"question": QUESTION, "thread_id": "mine", "turn_id": "1"}
    with serve_deployment(deploy(desk.having(GUARDIAN_VISITORS="on"))) as public:
        assert send(public, "/v1/ask", visitor, ask).status_code == 200
    with serve_deployment(deploy(desk), ServerOptions(role="operator")) as local:
        local.app.include_router(page_routes(local.app))
        assert send(local, "/v1/ask", [], ask).status_code == 200
        assert [line["thread_id"] for line in send(local, "/v1/threads", []).json()["threads"]] == ["mine"]
        for thread, status in (("mine", 200), (f"v_{ONE}/mine", 404)):
            for path in (f"/v1/threads/{thread}", f"/page/export/{thread}.md", f"/page/passage?c={thread}&t=1&n=1"):
                assert send(local, path, []).status_code == status, path


def deploy(desk: Desk) -> Deployment:
    return deployment(environment=desk.environment)


def test_no_page_of_another_site_asks_in_a_visitors_name(gate: Running) -> None:
    """A browser sends the cookie with requests of foreign pages, too; these are refused, whatever form they have."""
    cookie = ("Cookie", cookie_of(gate, ONE))
    foreign: list[Headers] = [
        [cookie, ("Origin", "https://evil.example")],
        [cookie, ("Origin", "null")],
        [cookie, ("Sec-Fetch-Site", "cross-site")],
        [cookie, ("Sec-Fetch-Site", "same-site"), ("Origin", "http://other.127.0.0.1")],
    ]
    for headers in foreign:
        assert send(gate, "/v1/ask", headers, {"question": QUESTION}).status_code == 403


# ------------------------------------------------------------------------------------------------------- the cookie


@pytest.mark.parametrize(
    "cookie",
    [
        "",
        "1",
        "1..9999999999.",
        GOOD[:-1],
        GOOD + "A",
        GOOD + "=",
        f" {GOOD}\n",
        GOOD.replace("1.", "2.", 1),
        GOOD.replace(ONE, OTHER),
        GOOD.replace(ONE, ONE.upper()[:-1] + "F"),
        GOOD.replace(str(NOW + 20 * DAY), str(NOW + 21 * DAY)),
        GOOD.replace(str(NOW + 20 * DAY), f"0{NOW + 20 * DAY}"),
        GOOD.replace(str(NOW + 20 * DAY), "9" * 400),
        GOOD.replace(str(NOW + 20 * DAY), "١٢٣"),
        GOOD.replace(GOOD[-43:], "A" * 43),
        SEAL.sign(Visit(ONE, NOW)),
        SEAL.sign(Visit(ONE, NOW - DAY)),
        VisitorSeal(b"x" * 32).sign(Visit(ONE, NOW + DAY)),
        "A" * 60_000,
        "." * 60_000,
    ],
    ids=lambda cookie: cookie[-12:],
)
async def test_a_cookie_that_is_not_ours_is_nobodys(cookie: str) -> None:
    """Forged, changed, ended or too long, it makes no error: its sender is a new visitor."""
    assert SEAL.read(cookie, NOW) is None
    sender = request(cookie=f"a=b; guardian_visitor={cookie.strip()}") if cookie.strip() != GOOD else request()
    identity, presence = await callers().receive(sender, LocalRates())
    assert identity.kind is Kind.VISITOR
    assert identity.caller.name not in (f"v_{ONE}", f"v_{OTHER}")
    assert presence is not None


def test_no_header_is_too_wild_to_be_read(gate: Running) -> None:
    """Bytes that are no text, a host that is no name, lists without end: an answer with a way out, never a fault of ours."""
    wild: list[Headers] = [
        [("Cookie", b"guardian_visitor=\xff\xfe; =; ;;; guardian_visitor")],
        [("Cookie", f"guardian_visitor={GOOD};" * 400)],
        [("X-Forwarded-Proto", "https,, ,")],
        [("X-Forwarded-For", ", ,unknown, 127.0.0.1:80, ::1%" + "z" * 500)],
        [("X-Forwarded-For", "127.0.0.1," * 5000)],
        [("X-Guardian-Visitor", b"\xd1\x84" * 9000)],
        [("Authorization", b"Basic \xff"), ("X-Forwarded-User", b"\xff")],
    ]
    for headers in wild:
        refused = send(gate, "/v1/threads", headers)
        assert (refused.status_code, refused.json()["error"]["code"]) == (401, "Unauthorized"), headers


@pytest.mark.parametrize(
    ("peer", "proto", "frames", "attributes"),
    [
        (ELSEWHERE, "", "", "SameSite=Lax"),
        (ELSEWHERE, "https", "https://shop.example", "SameSite=Lax"),
        ("10.0.0.7", "http", "https://shop.example", "SameSite=Lax"),
        ("10.0.0.7", "https", "", "SameSite=Lax; Secure"),
        ("10.0.0.7", "http, https", "https://shop.example", "SameSite=None; Secure; Partitioned"),
    ],
)
async def test_the_cookie_is_as_safe_as_the_way_to_the_server(
    peer: str, proto: str, frames: str, attributes: str
) -> None:
    """By https, which only a trusted proxy is believed, it is of this host alone; in frames, of the page around it."""
    known = callers(GUARDIAN_TRUSTED_PROXIES="10.0.0.0/8", GUARDIAN_FRAME_ANCESTORS=frames)
    sent = {"x_forwarded_proto": proto} if proto else {}
    _, presence = await known.receive(request(peer, **sent), LocalRates())
    assert presence is not None
    name = "__Host-guardian_visitor" if "Secure" in attributes else "guardian_visitor"
    assert presence.header() == f"{name}={presence.value}; Max-Age=2592000; Path=/; HttpOnly; {attributes}"
    again, renewed = await known.receive(request(peer, cookie=f"{name}={presence.value}", **sent), LocalRates())
    assert (again.kind, renewed) == (Kind.VISITOR, None)
    # By https, a neighbouring host can plant a cookie of the plain name.
    if "Secure" in attributes:
        other, _ = await known.receive(request(peer, cookie=f"guardian_visitor={presence.value}", **sent), LocalRates())
        assert other.caller != again.caller


async def test_a_cookie_is_renewed_when_half_of_its_time_is_over() -> None:
    """The visitor stays the same."""
    fresh, late = (SEAL.sign(Visit(ONE, NOW + days * DAY)) for days in (16, 14))
    assert (await callers().receive(request(cookie=f"guardian_visitor={fresh}"), LocalRates()))[1] is None
    identity, presence = await callers().receive(request(cookie=f"guardian_visitor={late}"), LocalRates())
    assert identity.caller.name == f"v_{ONE}"
    assert presence is not None
    assert SEAL.read(presence.value, NOW) == Visit(ONE, NOW + 30 * DAY)


def test_the_secret_is_made_once_and_for_its_owner_alone(tmp_path: Path) -> None:
    """A second process signs as the first; a secret that cannot be one is an error that says what to do."""
    deployed = deployment(environment=Desk(tmp_path / "data", tmp_path).environment)
    cookie = visitor_seal(deployed).sign(Visit(ONE, FAR))
    assert visitor_seal(deployed).read(cookie, NOW) == Visit(ONE, FAR)
    (path,) = (tmp_path / "data").iterdir()
    assert path.stat().st_mode & 0o777 == 0o600
    path.write_bytes(b"short")
    with pytest.raises(ConfigError, match="has not 32 bytes") as caught:
        visitor_seal(deployed)
    assert "remove it" in caught.value.way_out


# ------------------------------------------------------------------------------------------------------------ limits


async def test_visitors_and_their_address_may_ask_so_often() -> None:
    """One visitor has a limit, and so have all visitors of an address together; users of a proxy have one each."""
    refused: list[str] = []
    known = callers(
        GUARDIAN_VISITOR_PER_MINUTE="3",
        GUARDIAN_ADDRESS_PER_MINUTE="5",
        GUARDIAN_USER_PER_MINUTE="4",
        GUARDIAN_TRUST_USER_HEADER="X-User",
        GUARDIAN_TRUSTED_PROXIES="10.0.0.7",
    )
    rates = LocalRates()
    app = RateLimits(PlainTextResponse("let through"), known, refused.append, lambda: rates)

    async def let_through(peer: str, **headers: str) -> int:
        """Ask eight times; return how many requests came through."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        async with AsyncClient(transport=ASGITransport(app, client=(peer, 5000)), base_url="http://x") as client:
            codes = [(await client.get("/v1/models", headers=named)).status_code for _ in range(8)]
        return codes.count(200)

    one, other, third = (f"guardian_visitor={SEAL.sign(Visit(f'{n:032x}', NOW + 9 * DAY))}" for n in (1, 2, 3))
    assert await let_through(ELSEWHERE, cookie=one) == 3
    assert await let_through(ELSEWHERE, cookie=other) == 2
    assert await let_through("10.0.0.7", cookie=third, x_forwarded_for=f"1.1.1.1, {ELSEWHERE}") == 0
    assert await let_through("10.0.0.7", cookie=third, x_forwarded_for=f"{ELSEWHERE}, 10.0.0.8") == 3
    assert await let_through("10.0.0.7", x_user="alice") == 4
    assert await let_through("10.0.0.7", x_user="boris") == 4
    assert set(refused) == {"visitor", "address", "user"}


async def test_an_address_brings_so_many_new_visitors_an_hour() -> None:
    """Those who were there before may come all the same."""
    known = callers(GUARDIAN_NEW_VISITORS_PER_HOUR="2")
    rates = LocalRates()
    first, presence = await known.receive(request(), rates)
    await known.receive(request(), rates)
    with pytest.raises(TooMany, match="2 new visitors"):
        await known.receive(request(), rates)
    assert presence is not None
    assert (await known.receive(request(cookie=f"guardian_visitor={presence.value}"), rates))[0] == first
    assert (await known.receive(request("127.0.0.3"), rates))[1] is not None


async def test_a_server_of_this_machine_is_called_by_its_name_unless_a_proxy_is_in_front() -> None:
    """Else a foreign page could be a visitor of documents that are this machine's (DNS rebinding)."""
    for proxies, status in (("", 403), ("127.0.0.1", 200)):
        app = OwnPages(PlainTextResponse("let through"), callers(GUARDIAN_TRUSTED_PROXIES=proxies), (), loopback=True)
        async with AsyncClient(transport=ASGITransport(app), base_url="http://evil.example") as client:
            assert (await client.get("/")).status_code == status
        async with AsyncClient(transport=ASGITransport(app), base_url="http://127.0.0.1:8000") as client:
            assert (await client.get("/")).status_code == 200


@pytest.mark.parametrize(
    ("peer", "host", "hosts", "status"),
    [
        ("127.0.0.1", "127.0.0.1:8000", "", 200),
        ("127.0.0.1", "localhost", "chat.example", 200),
        ("127.0.0.1", "evil.example:8000", "", 403),
        ("127.0.0.1", "evil.example:8000", "chat.example", 403),
        ("127.0.0.1", "chat.example", "chat.example,other.example", 200),
        ("127.0.0.1", "Chat.Example.:443", "chat.example", 200),
        ("127.0.0.1", "evil.chat.example", "chat.example", 403),
        ("127.0.0.1", "chat.example.evil.test", "chat.example", 403),
        ("127.0.0.1", "chat.example@evil.test", "chat.example", 403),
        ("127.0.0.1", "[", "chat.example", 403),
        ("127.0.0.1", "", "chat.example", 403),
        ("127.0.0.1", "[fd00::2]:8000", "fd00::2", 200),
        ("127.0.0.1", "[FD00:0::2]", "[fd00:0:0::2]", 200),
        ("127.0.0.1", "[fd00::3]", "fd00::2", 403),
        ("127.0.0.1", "fd00::2", "fd00::2", 403),
        ("127.0.0.1", "[v1.fd00::2]", "fd00::2", 403),
        ("127.0.0.1", "xn--80a0bn.xn--80aairftm.xn--p1ai:443", "Чат.Магазин.РФ", 200),
        ("127.0.0.1", "xn--80a0bn.xn--p1ai", "чат.магазин.рф", 403),
        ("::ffff:127.0.0.1", "evil.example", "", 403),
        ("10.0.0.7", "chat.example", "", 200),
        ("10.0.0.7", "evil.example", "chat.example", 403),
        ("10.9.9.9", "evil.example", "chat.example", 200),
    ],
)
async def test_through_a_proxy_that_names_users_the_server_is_called_by_a_name_that_it_knows(
    peer: str, host: str, hosts: str, status: int
) -> None:
    """Else a foreign page in a browser of the proxy's machine could be any user, and any role, by DNS rebinding."""
    known = callers(
        GUARDIAN_TRUST_USER_HEADER="X-User",
        GUARDIAN_TRUST_ROLE_HEADER="X-Role",
        GUARDIAN_TRUSTED_PROXIES="127.0.0.1,10.0.0.7",
        GUARDIAN_HOSTS=hosts,
    )
    for loopback in (True, False):
        app = OwnPages(PlainTextResponse("let through"), known, (), loopback=loopback)
        async with AsyncClient(transport=ASGITransport(app, client=(peer, 5000)), base_url="http://x") as client:
            claims = {"Host": host, "X-User": "olga", "X-Role": "operator", "X-Forwarded-Host": "chat.example"}
            said = await client.get("/review", headers=claims)
            assert said.status_code == status
            assert status == 200 or "GUARDIAN_HOSTS" in said.json()["error"]["way_out"]


async def test_a_proxy_by_an_address_of_this_machine_is_one_on_this_machine() -> None:
    """What comes from the address that it was sent to did not come over a network."""
    known = callers(GUARDIAN_TRUST_USER_HEADER="X-User", GUARDIAN_TRUSTED_PROXIES="192.0.2.2")
    app = OwnPages(PlainTextResponse("let through"), known, (), loopback=False)
    for here, status in (("192.0.2.2", 403), ("192.0.2.9", 200)):
        transport = ASGITransport(app, client=("192.0.2.2", 5000))
        async with AsyncClient(transport=transport, base_url=f"http://{here}") as client:
            said = await client.get("/review", headers={"Host": "evil.example", "X-User": "olga"})
            assert said.status_code == status


async def test_a_probe_asks_whether_the_server_is_well_by_any_name() -> None:
    """A probe on a proxy's machine, or a container's, has no say in its `Host`; what it reads is nobody's secret."""
    named = callers(
        GUARDIAN_TRUST_USER_HEADER="X-User", GUARDIAN_TRUSTED_PROXIES="127.0.0.1", GUARDIAN_HOSTS="chat.example"
    )
    for known in (named, callers()):
        app = OwnPages(PlainTextResponse("let through"), known, (), loopback=True)
        async with AsyncClient(transport=ASGITransport(app), base_url="http://probe.example") as client:
            for path in sorted(OPEN_PATHS):
                assert (await client.get(path)).status_code == 200
            for path in ("/healthz/", "/readyz/../review", "/metrics", "//healthz"):
                assert (await client.get(path)).status_code == 403


# ------------------------------------------------------------------------------------------- what ends by itself


class Old:
    """A service whose storage fails, and then has old conversations."""

    def __init__(self) -> None:
        self.over = asyncio.Event()
        self.answers: list[int | GuardianError] = [ThreadError("The disk is gone.", "Bring it back."), 3, 0]

    async def delete_expired(self) -> int:
        """Return how many were deleted."""
        answer = self.answers.pop(0)
        if not self.answers:
            self.over.set()
        if isinstance(answer, GuardianError):
            raise answer
        return answer


async def test_a_server_says_what_it_deletes_and_goes_on_after_a_fault(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At its start and again and again: how many conversations ended, or why none could; nothing where there was none."""
    monkeypatch.setattr("assistant.web.expiry._EVERY_S", 0.001)
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    service = Old()
    caplog.set_level("INFO", "assistant.web.expiry")
    async with daily_expiry(cast("Service", service)):
        await service.over.wait()
    said = [(record.levelname, record.getMessage()) for record in caplog.records]
    assert said == [
        ("ERROR", "Old conversations could not be deleted: The disk is gone. Bring it back."),
        ("INFO", "Old conversations deleted: 3 (GUARDIAN_KEEP_DAYS)."),
    ]
