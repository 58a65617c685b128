"""API keys and visitors over several servers with one PostgreSQL database; each server has a data folder of its own.

New: no test of the file of keys says anything of other machines.
"""

from __future__ import annotations

import asyncio
import json
import re
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from threading import Barrier

import httpx
import psycopg
import pytest

from adapters.storage import postgres_access
from adapters.storage.postgres import PostgresDatabase, Server
from adapters.storage.postgres_access import SCHEMA, AccessTables
from assistant.deployment import deployment
from assistant.keys import Key, Keys, SharedKeys, merge_keys, move_keys
from assistant.visitors import VisitorSeal, begin_visit
from assistant.web.limits import WRONG_KEYS
from assistant.web.rates import Quota, SharedRates
from assistant.wiring.access import keys_of, visitor_seal
from contracts.errors import ConfigError
from tests.support.cli_helpers import Desk
from tests.support.tls import TRUSTS_NOBODY
from tests.support.web_server import Running, serve_deployment

FAR = 4_000_000_000


@pytest.fixture
def machines(library: Desk, tmp_path: Path, database_url: str) -> tuple[Desk, Desk]:
    """Two machines with data folders of their own and one database."""
    one, other = (library.copied(tmp_path / name).having(GUARDIAN_DATABASE=database_url) for name in ("a", "b"))
    return one, other


def get(server: Running, key: str = "", path: str = "/v1/models") -> httpx.Response:
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    return httpx.get(server.url + path, headers=headers, timeout=60, trust_env=False, verify=TRUSTS_NOBODY)


def status(server: Running, key: str = "", path: str = "/v1/models") -> int:
    return get(server, key, path).status_code


def wait_for(server: Running, key: str, wanted: int) -> None:
    """Ask until the server answers with a status; how soon it does is no test's business."""
    for _ in range(300):
        if status(server, key) == wanted:
            return
        time.sleep(0.1)
    raise AssertionError(f"{status(server, key)} and not {wanted}")


def test_a_key_opens_every_server_and_ends_at_every_server(machines: tuple[Desk, Desk]) -> None:
    """Made and removed by a command on one machine, while both serve; after the last one is gone nobody gets in."""
    one, other = machines
    key = one.here("keys", "add", "anna").out.splitlines()[0]
    assert not (one.data / "api_keys.json").exists()
    with ExitStack() as opened:
        servers = [
            opened.enter_context(serve_deployment(deployment(environment=desk.environment))) for desk in machines
        ]
        assert [status(server, key) for server in servers] == [200, 200]
        assert [status(server) for server in servers] == [401, 401]
        second = other.here("keys", "add", "boris").out.splitlines()[0]
        for server in servers:
            wait_for(server, second, 200)
        assert other.here("keys", "remove", "anna").code == 0
        for server in servers:
            wait_for(server, key, 401)
            assert status(server, second) == 200
        assert one.here("keys", "remove", "boris").code == 0
        for server in servers:
            wait_for(server, second, 401)
            assert status(server) == 401
    assert json.loads(other.here("keys", "list", "--json").out) == []
    one.here("keys", "remove", "boris").complains(2, "no key 'boris'")
    again = one.here("keys", "add", "anna").out.splitlines()[0]
    assert again != key
    assert [*keys_of(deployment(environment=other.environment)).all()] == ["anna"]
    other.here("keys", "add", "anna").complains(2, "already")


def test_a_server_whose_database_goes_lets_nobody_in(machines: tuple[Desk, Desk], database_url: str) -> None:
    """Keys that cannot be read are no keys: each request is refused; commands and the log say what is wrong."""
    key = machines[0].here("keys", "add", "anna").out.splitlines()[0]
    with serve_deployment(deployment(environment=machines[0].environment)) as server:
        assert status(server, key) == 200
        _drop(database_url)
        wait_for(server, key, 503)
        said = get(server).json()["error"]
        assert "cannot do this now" in said["message"]
        assert status(server, path="/healthz") == 200
        ready = get(server, path="/readyz")
        assert ready.status_code == 503
        assert any("API keys" in fault for fault in ready.json()["missing"])
    machines[1].here("keys", "list").complains(2, "The API keys in", "database")
    machines[1].here("serve", "--port", "0").complains(2, "cannot be used")


def _drop(url: str) -> None:
    place, _, name = url.partition("@/")
    database, _, rest = name.partition("?")
    with psycopg.connect(f"{place}@/postgres?{rest}", autocommit=True) as connection:
        connection.execute(f"DROP DATABASE {database} WITH (FORCE)".encode())


def test_a_key_counts_for_every_profile_of_its_database(machines: tuple[Desk, Desk], tmp_path: Path) -> None:
    """Also if it was made under another one: a profile with no keys of its own does not stand open."""
    one, _ = machines
    profile = tmp_path / "other.toml"
    profile.write_text(
        'name = "other"\nproduct = "Other"\n[scope]\nwords = []\n[scope.description]\nen = "x"\nru = "x"\n', "utf-8"
    )
    key = one.here("keys", "add", "anna").out.splitlines()[0]
    keys = keys_of(deployment(str(profile), one.environment))
    assert keys.wanted
    assert keys.caller(key) is not None


def test_keys_that_were_not_copied_to_the_database_leave_the_server_closed(
    library: Desk, tmp_path: Path, database_url: str
) -> None:
    """Whoever sets GUARDIAN_DATABASE beside a file of keys is told to copy them; nobody gets in until then."""
    desk = library.copied(tmp_path / "a")
    key = desk.here("keys", "add", "anna").out.splitlines()[0]
    server = desk.having(GUARDIAN_DATABASE=database_url)
    assert keys_of(deployment(environment=server.environment)).wanted
    for command in (["serve", "--port", "0"], ["keys", "list"]):
        server.here(*command).complains(2, "in the file api_keys.json", "guardian move")
    assert desk.here("move", "--to", database_url).code == 0
    assert keys_of(deployment(environment=server.environment)).caller(key) is not None


def test_rows_that_are_deleted_do_not_open_a_running_server(tmp_path: Path, database_url: str) -> None:
    """Nor does a server that is restored without them: who asked for a key once goes on until it is started again."""
    now = [0.0]
    tables = AccessTables(Server(database_url, SCHEMA))
    keys = SharedKeys(tables, tmp_path / "api_keys.json", lambda: now[0])
    keys.add("anna", "user")
    assert keys.wanted
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute("DELETE FROM guardian.api_keys")
    now[0] = 2.0
    asyncio.run(keys.refresh())
    assert keys.wanted
    with pytest.raises(ConfigError, match="have been used here"):
        keys.all()


def test_a_visitor_is_the_same_at_every_server(machines: tuple[Desk, Desk]) -> None:
    """The secret of the cookies is in the database, that of a data folder if one has been used; no other folder gets one."""
    visit = begin_visit(FAR)
    file = machines[0].data / "visitors.key"
    file.write_bytes(bytes(32))
    one, other = (visitor_seal(deployment(environment=desk.environment)) for desk in machines)
    assert other.read(one.sign(visit), 0) == visit
    assert VisitorSeal(bytes(32)).read(other.sign(visit), 0) == visit
    assert not (machines[1].data / "visitors.key").exists()


def names(desk: Desk) -> list[str]:
    """Return the names of the keys that a server of this desk would let in."""
    return sorted(keys_of(deployment(environment=desk.environment)).all())


def test_keys_and_visitors_move_there_and_back_and_what_was_removed_stays_so(
    library: Desk, tmp_path: Path, database_url: str
) -> None:
    """Whatever is removed, made or replaced in between, where it happens to be in force, holds after the next move, too."""
    desk = library.copied(tmp_path / "a")
    server = desk.having(GUARDIAN_DATABASE=database_url)
    kept, gone, old = (desk.here("keys", "add", name).out.splitlines()[0] for name in ("anna", "boris", "clara"))
    visit = begin_visit(FAR)
    cookie = visitor_seal(deployment(environment=desk.environment)).sign(visit)
    moved = json.loads(desk.here("move", "--to", database_url, "--json").out)
    assert (moved["keys"], moved["differing_keys"], moved["same_visitors"]) == (3, [], True)
    assert names(server) == ["anna", "boris", "clara"]
    assert visitor_seal(deployment(environment=server.environment)).read(cookie, 0) == visit
    # Whoever forgets the variable is told so, and nobody gets in.
    for command in (["keys", "remove", "anna"], ["keys", "add", "dora"], ["serve", "--port", "0"]):
        desk.here(*command).complains(2, "GUARDIAN_DATABASE is not set")
    assert server.here("keys", "remove", "boris").code == 0
    assert server.here("move", "--to", "file").code == 0
    assert names(desk) == ["anna", "clara"]
    assert keys_of(deployment(environment=desk.environment)).caller(gone) is None
    assert desk.here("keys", "remove", "anna").code == 0
    assert desk.here("keys", "remove", "clara").code == 0
    new = desk.here("keys", "add", "clara").out.splitlines()[0]
    desk.here("keys", "add", "dora")
    assert json.loads(desk.here("move", "--to", database_url, "--json").out)["keys"] == 2
    assert names(server) == ["clara", "dora"]
    found = keys_of(deployment(environment=server.environment))
    assert [found.caller(key) is not None for key in (kept, gone, old, new)] == [False, False, False, True]
    assert server.here("move", "--to", "file").code == 0
    assert names(desk) == ["clara", "dora"]


def test_a_second_machine_adds_its_keys_and_is_told_of_one_with_the_same_name(
    library: Desk, tmp_path: Path, database_url: str
) -> None:
    """Nothing of it is moved until one of the two is removed; so nothing is lost in silence, and nothing stays behind."""
    one, other = library.copied(tmp_path / "a"), library.copied(tmp_path / "b")
    one.here("keys", "add", "anna")
    mine = other.here("keys", "add", "anna").out.splitlines()[0]
    other.here("keys", "add", "boris")
    for desk in (one, other):
        visitor_seal(deployment(environment=desk.environment))
    assert one.here("move", "--to", database_url).code == 0
    second = other.here("move", "--to", database_url)
    assert second.code == 1
    assert "anna: what became of this API key" in second.out
    assert "start over" in second.out
    server, beside = one.having(GUARDIAN_DATABASE=database_url), other.having(GUARDIAN_DATABASE=database_url)
    assert names(server) == ["anna"]
    # Keys in a file beside a database are in force nowhere: the machine stays closed.
    beside.here("serve", "--port", "0").complains(2, "in force in one place")
    assert server.here("keys", "remove", "anna").code == 0
    assert other.here("move", "--to", database_url).code == 1
    assert beside.here("move", "--to", "file").code == 1
    assert names(other) == ["anna", "boris"]
    assert other.here("keys", "remove", "anna").code == 0
    assert other.here("move", "--to", database_url).code == 0
    assert names(server) == names(beside) == ["boris"]
    assert keys_of(deployment(environment=server.environment)).caller(mine) is None


def test_a_move_that_is_given_again_brings_no_removed_key_back(
    library: Desk, tmp_path: Path, database_url: str
) -> None:
    """Whichever way, and after whatever was removed or replaced where the keys are in force now."""
    desk = library.copied(tmp_path / "a")
    server = desk.having(GUARDIAN_DATABASE=database_url)
    for name in ("anna", "boris"):
        desk.here("keys", "add", name)
    assert desk.here("move", "--to", database_url).code == 0
    assert server.here("move", "--to", "file").code == 0
    desk.here("keys", "remove", "anna")
    desk.here("keys", "remove", "boris")
    new = desk.here("keys", "add", "boris").out.splitlines()[0]
    assert server.here("move", "--to", "file").code == 0
    assert names(desk) == ["boris"]
    assert keys_of(deployment(environment=desk.environment)).caller(new) is not None


def test_a_move_that_cannot_leave_the_file_gives_nothing(
    library: Desk, tmp_path: Path, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And one that ends before the file is left knows afterwards what it gave: what is removed meanwhile is removed there."""
    desk = library.copied(tmp_path / "a")
    server = desk.having(GUARDIAN_DATABASE=database_url)
    for name in ("anna", "boris"):
        desk.here("keys", "add", name)

    def fail(_: Keys, *__: object) -> None:
        raise OSError("read-only")

    with monkeypatch.context() as patched:
        patched.setattr(Keys, "keep_base", fail)
        with pytest.raises(OSError, match="read-only"):
            move_keys(keys_of(deployment(environment=desk.environment)), shared_keys(server))
    assert not shared_keys(server).listed()
    with monkeypatch.context() as patched:
        patched.setattr(Keys, "retire", fail)
        with pytest.raises(OSError, match="read-only"):
            move_keys(keys_of(deployment(environment=desk.environment)), shared_keys(server))
    desk.here("keys", "remove", "anna")
    desk.here("keys", "remove", "boris")
    new = desk.here("keys", "add", "boris").out.splitlines()[0]
    with monkeypatch.context() as patched:
        patched.setattr(SharedKeys, "take", fail)
        with pytest.raises(OSError, match="read-only"):
            move_keys(keys_of(deployment(environment=desk.environment)), shared_keys(server))
    assert desk.here("move", "--to", database_url).code == 0
    assert names(server) == ["boris"]
    assert shared_keys(server).caller(new) is not None


def shared_keys(desk: Desk) -> SharedKeys:
    found = keys_of(deployment(environment=desk.environment))
    assert isinstance(found, SharedKeys)
    return found


def test_keys_move_from_one_database_to_another(
    machines: tuple[Desk, Desk], library: Desk, tmp_path: Path, postgres_server: str
) -> None:
    """A machine that has never used keys is as closed with the new database as with the old one."""
    key = machines[0].here("keys", "add", "anna").out.splitlines()[0]
    name = f"next_{tmp_path.name[-6:]}".lower()
    with psycopg.connect(postgres_server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}".encode())
    url = postgres_server.replace("@/postgres", f"@/{name}")
    machines[0].here("keys", "add", "boris")
    assert json.loads(machines[0].here("move", "--to", url, "--json").out)["keys"] == 2
    assert machines[0].here("keys", "remove", "boris").code == 0
    assert machines[0].here("move", "--to", url).code == 0
    fresh = library.copied(tmp_path / "fresh").having(GUARDIAN_DATABASE=url)
    assert keys_of(deployment(environment=fresh.environment)).caller(key) is not None
    assert names(fresh) == ["anna"]


KEY, OTHER, THIRD = (Key(sha256=digit * 64, role="user") for digit in "abc")


@pytest.mark.parametrize(
    ("own", "base", "rows", "agreed"),
    [
        ({"k": KEY}, {}, {}, {"k": KEY}),  # made in the file
        ({}, {}, {"k": KEY}, {"k": KEY}),  # made on the server
        ({"k": KEY}, {"k": KEY}, {}, {"k": KEY}),  # noted, and never given
        ({"k": KEY}, {"k": KEY}, {"k": KEY}, {"k": KEY}),
        ({}, {"k": KEY}, {"k": KEY}, {}),  # removed in the file
        ({"k": KEY}, {"k": KEY}, {"k": None}, {}),  # removed on the server
        ({"k": OTHER}, {"k": KEY}, {"k": KEY}, {"k": OTHER}),  # replaced in the file
        ({"k": KEY}, {"k": KEY}, {"k": OTHER}, {"k": OTHER}),  # replaced on the server
        ({}, {}, {"k": None}, {}),
        ({"k": OTHER}, {"k": KEY}, {"k": OTHER}, {"k": OTHER}),  # the same in both
        ({"k": KEY}, {}, {"k": OTHER}, None),
        ({"k": KEY}, {}, {"k": None}, None),
        ({"k": OTHER}, {"k": KEY}, {"k": None}, None),
        ({}, {"k": KEY}, {"k": OTHER}, None),
        ({"k": OTHER}, {"k": KEY}, {"k": THIRD}, None),
    ],
)
def test_what_changed_on_one_side_holds_and_what_changed_on_both_is_left_to_people(
    own: dict[str, Key], base: dict[str, Key], rows: dict[str, Key | None], agreed: dict[str, Key] | None
) -> None:
    """All ways in which a file, a server, and what was alike in both can differ in one name."""
    assert merge_keys(own, base, rows) == ((agreed, []) if agreed is not None else ({}, ["k"]))


def test_a_database_that_has_lost_the_keys_lets_nobody_in(machines: tuple[Desk, Desk], database_url: str) -> None:
    """Each machine remembers that there were some: another database, or half a backup, does not open the server."""
    machines[0].here("keys", "add", "anna")
    assert keys_of(deployment(environment=machines[1].environment)).wanted
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute("DROP SCHEMA guardian CASCADE")
    for desk in machines:
        desk.here("serve", "--port", "0").complains(2, "API keys have been used here")
    (machines[1].data / "api_keys.moved.json").unlink()
    assert not keys_of(deployment(environment=machines[1].environment)).wanted


def test_a_row_that_is_no_key_lets_nobody_in_and_is_named(machines: tuple[Desk, Desk], database_url: str) -> None:
    """The database refuses most of them; of what gets in all the same, no value is shown."""
    machines[0].here("keys", "list")
    with psycopg.connect(database_url, autocommit=True) as connection:
        with pytest.raises(psycopg.errors.CheckViolation):
            connection.execute("INSERT INTO guardian.api_keys VALUES ('hand', 'ABC', 'user', 60)")
        connection.execute("ALTER TABLE guardian.api_keys DROP CONSTRAINT api_keys_sha256_check")
        connection.execute("INSERT INTO guardian.api_keys VALUES ('hand', 'ABC', 'user', 60)")
    said = machines[0].here("keys", "list")
    said.complains(2, "'hand'", "guardian.api_keys")
    assert "ABC" not in said.err


def test_a_user_who_may_make_no_schema_uses_the_one_that_was_made(
    library: Desk, tmp_path: Path, database_url: str
) -> None:
    """An administrator makes both schemas for the user, who owns them and nothing else."""
    name = f"limited_{tmp_path.name[-8:]}".lower()
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute(f"CREATE ROLE {name} LOGIN".encode())
        for schema in ("guardian", f"guardian_{library.folder.name}"):
            connection.execute(f"CREATE SCHEMA {schema} AUTHORIZATION {name}".encode())
        connection.execute("REVOKE CREATE ON SCHEMA public FROM PUBLIC")
    desk = library.copied(tmp_path / "a").having(GUARDIAN_DATABASE=database_url.replace("postgres:@", f"{name}@"))
    assert desk.here("keys", "add", "anna").code == 0
    assert desk.here("threads", "list").code == 0


async def test_a_database_that_hangs_is_waited_for_once_and_not_for_ever(
    tmp_path: Path, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever waits shares one reading and its end; whoever comes after a failure is refused at once, until it is tried again."""
    now = [0.0]
    tables = AccessTables(Server(database_url, SCHEMA))
    keys = SharedKeys(tables, tmp_path / "api_keys.json", lambda: now[0])
    await keys.refresh()
    now[0] = 5.0
    monkeypatch.setattr(postgres_access, "_DEADLINE_S", 0.3)
    asked: list[int] = []
    listed = tables.list_keys

    async def list_keys() -> list[tuple[str, str, str, int]]:
        asked.append(1)
        return await listed()

    monkeypatch.setattr(tables, "list_keys", list_keys)
    with psycopg.connect(database_url) as connection:
        connection.execute("LOCK TABLE guardian.api_keys IN ACCESS EXCLUSIVE MODE")
        failed = await asyncio.gather(*(keys.refresh() for _ in range(20)), return_exceptions=True)
        assert [type(error) for error in failed] == [ConfigError] * 20
        assert "does not answer" in str(failed[0])
        with pytest.raises(ConfigError):
            await keys.refresh()
        assert len(asked) == 1
    now[0] = 7.0
    monkeypatch.setattr(postgres_access, "_DEADLINE_S", 8.0)
    await keys.refresh()
    assert (len(asked), keys.fresh) == (2, True)


def test_that_keys_are_needed_moves_even_if_there_are_none(library: Desk, tmp_path: Path, database_url: str) -> None:
    """A server that let nobody in does not open by moving to PostgreSQL, nor on the way back."""
    desk = library.copied(tmp_path / "a")
    desk.here("keys", "add", "anna")
    desk.here("keys", "remove", "anna")
    assert desk.here("move", "--to", database_url).code == 0
    assert keys_of(deployment(environment=desk.having(GUARDIAN_DATABASE=database_url).environment)).wanted
    back = library.copied(tmp_path / "b").having(GUARDIAN_DATABASE=database_url)
    assert back.here("move", "--to", "file").code == 0
    assert Keys(back.data / "api_keys.json").wanted


def test_a_limit_holds_over_all_servers_together(machines: tuple[Desk, Desk]) -> None:
    """Of requests that come to two servers at once as many pass as the key may make; what is refused counts for nothing."""
    made = machines[0].here("keys", "add", "anna", "--per-minute", "7")
    key = made.out.splitlines()[0]
    other = machines[0].here("keys", "add", "boris").out.splitlines()[0]
    with ExitStack() as opened:
        servers = [
            opened.enter_context(serve_deployment(deployment(environment=desk.environment))) for desk in machines
        ]
        # FastAPI builds a route with its first request; two servers in one process that do so at once warn.
        assert [status(server, other) for server in servers] == [200, 200]
        with ThreadPoolExecutor(8) as pool:
            codes = [*pool.map(lambda number: status(servers[number % 2], key), range(30))]
        assert sorted(codes) == [200] * 7 + [429] * 23
        refused = get(servers[0], key)
        assert 0 < int(refused.headers["Retry-After"]) <= 60
        wrong = [status(servers[number % 2], "gk-wrong") for number in range(2 * WRONG_KEYS)]
        assert wrong == [401] * WRONG_KEYS + [429] * WRONG_KEYS


async def test_requests_that_are_over_make_room_and_names_are_hashes(database_url: str) -> None:
    """What one sender of several has used up refuses all, and counts for none; the table knows no name and no address."""
    await AccessTables(Server(database_url, SCHEMA)).list_keys()
    database = await PostgresDatabase.open(Server(database_url, "guardian_any"))
    try:
        rates = SharedRates(database)
        visitor, address = Quota("visitor", "v_1", 5), Quota("address", "192.0.2.1", 2)
        assert [await rates.take([visitor, address]) for _ in range(2)] == [None, None]
        full = await rates.take([visitor, address])
        assert full is not None
        assert full[0] == 1
        assert 0 < full[1] <= 60
        assert [await rates.take([visitor]) for _ in range(3)] == [None] * 3
        assert await rates.take([visitor]) is not None
        stored = await database.rows("SELECT sender FROM guardian.requests")
        assert len(stored) == 7
        assert all(re.fullmatch("[0-9a-f]{32}", sender) for (sender,) in stored)
        await database.rows("UPDATE guardian.requests SET over = over - interval '61 seconds'")
        assert await rates.take([visitor, address]) is None
        assert len(await database.rows("SELECT sender FROM guardian.requests")) == 2
    finally:
        await database.close()


def test_of_servers_that_begin_at_once_one_makes_the_tables(database_url: str) -> None:
    """None fails, and all keep the same secret."""
    barrier = Barrier(6)

    def begin(number: int) -> bytes:
        tables = AccessTables(Server(database_url, SCHEMA))
        barrier.wait(30)
        return asyncio.run(tables.keep_secret("one", bytes([number])))

    with ThreadPoolExecutor(6) as pool:
        assert len(set(pool.map(begin, range(6)))) == 1


def test_tables_of_another_version_are_left_alone(database_url: str) -> None:
    """Whoever wrote them knows more of them."""
    asyncio.run(AccessTables(Server(database_url, SCHEMA)).list_keys())
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute("INSERT INTO guardian.schema_version VALUES (7, 7)")
    with pytest.raises(ConfigError, match="version 7") as caught:
        asyncio.run(AccessTables(Server(database_url, SCHEMA)).list_keys())
    assert caught.value.way_out


def test_keys_are_read_again_only_when_they_have_become_stale(tmp_path: Path, database_url: str) -> None:
    """However many requests come: the database is asked once a second."""
    now = [0.0]
    tables = AccessTables(Server(database_url, SCHEMA))
    keys, others = SharedKeys(tables, tmp_path / "a.json", lambda: now[0]), SharedKeys(tables, tmp_path / "b.json")
    assert not keys.wanted
    key = others.add("anna", "user")
    now[0] = 0.9
    asyncio.run(keys.refresh())
    assert keys.caller(key) is None
    now[0] = 1.1
    assert not keys.fresh
    asyncio.run(keys.refresh())
    assert keys.fresh
    assert keys.caller(key) is not None
