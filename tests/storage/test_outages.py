"""What breaks between Guardian and PostgreSQL, with real servers: crashes, a replica that takes over, full disks, cut networks, poolers.

New: elsewhere sessions are ended by a statement, and processes are stopped; here the server or the way to it is gone.
"""

from __future__ import annotations

import asyncio
import json
import os
import pwd
import shutil
import signal
import subprocess
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import psycopg
import pytest

from adapters.storage.postgres import PostgresDatabase, Server
from contracts.errors import ConfigError
from tests.support.kill_helpers import NETWORK, Turns, outcome_of
from tests.support.postgres_cluster import USER, Cluster, cluster, own_folder, replica
from tests.support.sockets import free_port
from tests.support.storage import open_storage

pytestmark = pytest.mark.slow


@pytest.fixture
def server() -> Iterator[Cluster]:
    with own_folder() as folder, cluster(folder) as started:
        yield started


def transcript(data: Path, url: str) -> list[tuple[int, str, str]]:
    """Return the turns on record: number, id, status."""

    async def read_turns() -> list[tuple[int, str, str]]:
        async with open_storage(data, url) as storage:
            return [(turn.number, turn.turn_id, turn.status) for turn in await storage.store.turns("t")]

    return asyncio.run(read_turns())


def test_a_turn_whose_server_crashes_says_so_and_its_message_is_answered_afterwards(
    data: Path, server: Cluster
) -> None:
    """The error has a way out; the same message, sent again, is answered once, and what was finished is not run again."""
    turns = Turns(data, database=server.url())
    broken = turns.run("t", "one", "hello")
    turns.wait_for("end search", broken)
    turns.wait_for("begin write", broken)
    server.stop("immediate")
    _, told = broken.communicate(timeout=60)
    assert broken.returncode == 3, told
    assert "cannot be" in told
    server.start()
    assert outcome_of(turns.run("t", "one", "hello"))["answer_text"] == "echo: hello"
    assert transcript(data, server.url()) == [(1, "one", "done")]
    assert turns.nodes("end").count("hear") == 1


def test_a_replica_that_takes_over_without_the_last_claim_answers_a_message_once(data: Path, server: Cluster) -> None:
    """What the replica had not received is undone, epochs too; the claim's token tells the two turns apart.

    Both servers stand in one address, as the driver has it for that (`target_session_attrs`).
    """
    with own_folder() as folder, replica(server, folder) as second:
        address = (
            f"postgresql://keeper@127.0.0.1:{server.port},127.0.0.1:{second.port}/postgres"
            "?target_session_attrs=read-write"
        )
        turns = Turns(data, database=address)
        assert outcome_of(turns.run("t", "one", "hello"))["answer_text"] == "echo: hello"
        _wait_for_replay(server, second)
        second.stop()
        slow = turns.run("t", "two", "goodbye")
        turns.wait_for("begin search", slow)
        slow.send_signal(signal.SIGSTOP)
        server.stop("immediate")
        second.start()
        second.promote()
        quick = turns.run("t", "two", "goodbye")
        turns.wait_for("begin hear", quick)
        slow.send_signal(signal.SIGCONT)
        out, told = slow.communicate(timeout=60)
        # It gives the other's answer, or says that its storage is gone; it answers nothing of its own.
        assert json.loads(out) == outcome_of(quick) if slow.returncode == 0 else "cannot be" in told
        assert quick.wait(60) == 0
        assert transcript(data, address) == [(1, "one", "done"), (2, "two", "done")]
        assert turns.nodes("end").count("check") == 2


def _wait_for_replay(primary: Cluster, second: Cluster) -> None:
    with psycopg.connect(primary.url()) as connection:
        [(reached,)] = connection.execute("SELECT pg_current_wal_lsn()").fetchall()
    with psycopg.connect(second.url(), autocommit=True) as connection:
        while connection.execute("SELECT pg_last_wal_replay_lsn() < %s::pg_lsn", (reached,)).fetchall() == [(True,)]:
            pass


def _allowed(command: list[str]) -> bool:
    return (
        shutil.which(command[0]) is not None
        and subprocess.run(command, capture_output=True, check=False).returncode == 0
    )


@contextmanager
def small_disk(folder: Path) -> Generator[Path]:
    """Mount a file system of 160 MB in a folder."""
    if not _allowed(["mount", "-t", "tmpfs", "-o", f"size=160m,mode=0700,uid={_uid()}", "none", str(folder)]):
        pytest.skip("a file system can only be mounted by root")
    try:
        yield folder
    finally:
        subprocess.run(["umount", folder], check=True)


def use_up_log(server: Cluster) -> None:
    """Write until the server has no room left in the files of its log, either."""
    with psycopg.connect(server.url(), autocommit=True) as connection, suppress(psycopg.Error):
        connection.execute("CREATE TABLE junk (text text)")
        while True:
            connection.execute("INSERT INTO junk SELECT md5(random()::text) FROM generate_series(1, 20000)")


def _uid() -> int:
    return pwd.getpwnam(USER).pw_uid if USER else os.getuid()


def test_a_full_disk_of_the_server_is_told_and_nothing_is_lost(data: Path, tmp_path: Path) -> None:
    """The turn ends with a way out; once there is room again, the same message is answered, and what was there is there."""
    with ExitStack() as opened:
        folder = opened.enter_context(own_folder())
        opened.enter_context(small_disk(folder))
        server = opened.enter_context(cluster(folder))
        turns = Turns(data, database=server.url())
        assert outcome_of(turns.run("t", "one", "hello"))["answer_text"] == "echo: hello"
        ballast = folder / "ballast"
        with ballast.open("wb") as file, suppress(OSError):
            while True:
                file.write(bytes(1 << 16))
                file.flush()
        use_up_log(server)
        full = turns.run("t", "two", "goodbye")
        _, told = full.communicate(timeout=90)
        assert full.returncode == 3, told
        # Where the server's log itself has no room, the server goes down.
        assert "its disk is full" in told or "cannot be reached" in told
        ballast.unlink()
        server.stop("immediate")
        server.start()
        assert outcome_of(turns.run("t", "two", "goodbye"))["answer_text"] == "echo: goodbye"
        assert transcript(data, server.url()) == [(1, "one", "done"), (2, "two", "done")]


@contextmanager
def cable(name: str) -> Generator[tuple[str, Callable[[str], None]]]:
    """Make a network of its own for a process, with one cable to this machine; return its address here, and its switch."""
    here, there, address = f"{name}-a", f"{name}-b", f"10.{os.getpid() % 250}.77"

    def run(*words: str) -> None:
        subprocess.run(["ip", *words], check=True, capture_output=True)

    if not _allowed(["ip", "netns", "add", name]):
        pytest.skip("a network can only be made by root (or there is no iproute2)")
    try:
        run("link", "add", here, "type", "veth", "peer", "name", there, "netns", name)
        run("addr", "add", f"{address}.1/24", "dev", here)
        run("link", "set", here, "up")
        run("-n", name, "addr", "add", f"{address}.2/24", "dev", there)
        run("-n", name, "link", "set", there, "up")
        yield f"{address}.1", lambda state: run("link", "set", here, state)
    finally:
        run("netns", "del", name)


@pytest.mark.parametrize("comes_back", [True, False])
def test_a_turn_that_is_cut_off_the_network_is_taken_over(
    data: Path, server: Cluster, monkeypatch: pytest.MonkeyPatch, comes_back: bool
) -> None:
    """Another process finishes it; the one that was cut off gives the other's answer, or says that it reached nobody."""
    name = f"guardian{os.getpid() % 1000}"
    with cable(name) as (address, switch):
        monkeypatch.setenv(NETWORK, name)
        cut = Turns(data, database=server.url(address), silent_s=1.0).run("t", "one", "hello")
        monkeypatch.delenv(NETWORK)
        turns = Turns(data, database=server.url(), silent_s=1.0)
        turns.wait_for("begin search", cut)
        switch("down")
        quick, said = turns.run("t", "one", "hello").communicate(timeout=60)
        assert "has been silent for 1 s" in said
        if comes_back:
            switch("up")
        out, told = cut.communicate(timeout=90)
        # On a slow machine the cable may be back too late.
        assert (comes_back and json.loads(out) == json.loads(quick)) if cut.returncode == 0 else "cannot be" in told
        assert transcript(data, server.url()) == [(1, "one", "done")]
        assert turns.nodes("end").count("check") == 1


@contextmanager
def pooler(server: Cluster, mode: str, folder: Path) -> Generator[str]:
    """Run pgbouncer in front of a server, and return its address."""
    program = shutil.which("pgbouncer")
    if program is None:
        assert not os.environ.get("CI"), "there is no pgbouncer: install it"
        pytest.skip("there is no pgbouncer (a package of Debian's)")
    port = free_port()
    settings = folder / "pgbouncer.ini"
    settings.write_text(
        f"""
        [databases]
        postgres = host=127.0.0.1 port={server.port} user=keeper
        [pgbouncer]
        listen_addr = 127.0.0.1
        listen_port = {port}
        unix_socket_dir =
        auth_type = any
        pool_mode = {mode}
        """.replace("        ", ""),
        "utf-8",
    )
    process = subprocess.Popen([program, "-q", settings], user=USER, stderr=subprocess.DEVNULL)
    try:
        address = f"postgresql://keeper@127.0.0.1:{port}/postgres"
        while not _answers(address):
            assert process.poll() is None
        yield address
    finally:
        process.terminate()
        process.wait()


def _answers(address: str) -> bool:
    try:
        psycopg.connect(address, connect_timeout=5).close()
    except psycopg.OperationalError:
        return False
    return True


async def test_a_pooler_in_between_is_refused(data: Path) -> None:
    """Whether it lends connections for a transaction or a session cannot be told from outside, and claims need a session."""
    with own_folder() as folder, cluster(folder) as server:
        for mode in ("transaction", "session"):
            with pooler(server, mode, folder) as address, pytest.raises(ConfigError, match="pooler") as caught:
                await PostgresDatabase.open(Server(address, f"test_{data.name}"))
            assert "Name the server itself" in str(caught.value.way_out)
