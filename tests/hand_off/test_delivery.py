"""Tickets on their way: real files, real sockets, processes that are killed."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import os
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from adapters.hand_off.folder import HandOffFolder
from adapters.hand_off.outbox import MOST_REFUSALS, Outbox, OutboxEntry, OutboxFile
from adapters.hand_off.outbox_sink import OutboxSink
from adapters.hand_off.webhook import SIGNATURE, Webhook
from adapters.models.retries import Pauses
from adapters.storage.claims import FileClaims
from contracts.enums import DeliveryStatus
from contracts.errors import HandOffFailed
from tests.support.hand_off.receiver import CUT, GARBAGE, NEVER, receiver, reply, ticket, tickets
from tests.support.hand_off.sender import desk_at, kill_at, start
from tests.support.sockets import free_port
from tests.support.timed import LOADED

SECRET = "key-of-the-desk"  # noqa: S105  # nobody's


async def entries(folder: Path) -> list[OutboxEntry]:
    return await Outbox(OutboxFile(folder / "hand_offs.db"), "tests").entries()


async def states(folder: Path) -> list[str]:
    return [entry.state for entry in await entries(folder)]


async def becomes(folder: Path, wanted: list[str]) -> None:
    """Wait until the hand-offs of a folder are in these states."""
    for _ in range(400):
        if await states(folder) == wanted:
            return
        await asyncio.sleep(0.05)
    assert await states(folder) == wanted


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def hasty(folder: Path, url: str, key: str = "", timeout_s: float = 10.0) -> OutboxSink:
    """Return a desk for a webhook whose pauses between tries are short."""
    channel = Webhook(url, key, pauses=Pauses(first_s=0.01))
    return OutboxSink(
        Outbox(OutboxFile(folder / "hand_offs.db"), "tests"), channel, FileClaims(folder / "locks"), timeout_s=timeout_s
    )


# ------------------------------------------------------------------------------------------------------------- webhook


async def test_a_request_can_be_told_apart_and_checked(tmp_path: Path) -> None:
    """The body names its key, which the header repeats; with a key of ours it is signed and the receiver can let it in."""
    with receiver() as running:
        await hasty(tmp_path, running.url, SECRET).submit(ticket())
    [request] = running.requests
    assert request.line == "POST /hooks/guardian HTTP/1.1"
    assert request.headers["content-type"] == "application/json; charset=utf-8"
    assert request.headers["authorization"] == f"Bearer {SECRET}"
    mine = hmac.new(SECRET.encode(), request.body, hashlib.sha256).hexdigest()
    assert request.headers[SIGNATURE.lower()] == f"sha256={mine}"
    body = json.loads(request.body)
    assert body["id"] == request.key
    assert len(request.key) == 32
    assert body["kept_at"].endswith("+00:00")
    assert "чайник" in request.body.decode()


async def test_without_a_key_nothing_is_signed(tmp_path: Path) -> None:
    """No key, no header that would look as if there were one."""
    with receiver() as running:
        await hasty(tmp_path, running.url).submit(ticket())
    assert not {"authorization", SIGNATURE.lower()} & running.requests[0].headers.keys()


@pytest.mark.parametrize("first", [reply(500), reply(503), reply(429), reply(408), GARBAGE, CUT], ids=repr)
async def test_a_fault_that_passes_is_waited_out(tmp_path: Path, first: bytes) -> None:
    """The next try carries the same key, and the user waits no longer for it than the timeout."""
    with receiver(first, reply(202)) as running:
        said = await hasty(tmp_path, running.url).submit(ticket())
    assert said.delivery is DeliveryStatus.DELIVERED
    assert len(running.keys) == 2
    assert len(set(running.keys)) == 1


async def test_a_receiver_that_was_down_gets_all_of_it_later(tmp_path: Path) -> None:
    """What was kept while nobody listened goes out with the next ticket that arrives."""
    port = free_port()
    desk = hasty(tmp_path, f"http://127.0.0.1:{port}/hooks/guardian")
    said = [await desk.submit(each) for each in tickets(3)]
    assert {each.delivery for each in said} == {DeliveryStatus.KEPT}
    assert f"127.0.0.1:{port}" in said[0].why
    assert await states(tmp_path) == ["kept"] * 3
    with receiver(port=port) as running:
        async with desk:
            assert (await desk.submit(ticket("new"))).delivery is DeliveryStatus.DELIVERED
            await becomes(tmp_path, ["delivered"] * 4)
        assert sorted(json.loads(r.body)["thread_id"] for r in running.requests) == [
            *("new", "thread-0", "thread-1", "thread-2")
        ]


async def test_opening_a_desk_sends_what_was_kept_and_holds_nothing_up(tmp_path: Path) -> None:
    """A process that starts sends in the background: its first turn waits for nobody."""
    with receiver(reply(500)) as running:
        await hasty(tmp_path, running.url).submit(ticket())
        running.replies = [NEVER]
        began = time.monotonic()
        async with hasty(tmp_path, running.url, timeout_s=50):
            assert time.monotonic() - began < LOADED
        # It is closed within a moment, too: what has no receipt stays kept.
        assert time.monotonic() - began < LOADED
        assert await states(tmp_path) == ["kept"]
        running.replies = [reply(200)]
        async with hasty(tmp_path, running.url):
            await becomes(tmp_path, ["delivered"])


@pytest.mark.parametrize(
    ("status", "words"), [(400, "JSON"), (401, "GUARDIAN_HANDOFF_KEY"), (404, "GUARDIAN_HANDOFF_TO")]
)
async def test_a_ticket_that_is_refused_is_not_sent_for_ever(tmp_path: Path, status: int, words: str) -> None:
    """After five refusals only the command sends it; it is shown as failed, with what to do."""
    with receiver(reply(status, body=b"no " * 100)) as running:
        desk = hasty(tmp_path, running.url, SECRET)
        said = await desk.submit(ticket())
        assert said.delivery is DeliveryStatus.KEPT
        assert f"HTTP {status}" in said.why
        assert words in said.why
        assert SECRET not in said.why
        assert len(running.requests) == 1
        for _ in range(2 * MOST_REFUSALS):
            await desk.send_kept()
        assert len(running.requests) == MOST_REFUSALS
        assert await states(tmp_path) == ["failed"]
        running.replies = [reply(200)]
        await desk.send_kept()
        assert await states(tmp_path) == ["failed"]
        await desk.send_kept(all_of_them=True)
    assert await states(tmp_path) == ["delivered"]


async def test_one_bad_ticket_does_not_hold_up_the_others(tmp_path: Path) -> None:
    """A ticket that its receiver cannot take is passed over, not waited for."""
    with receiver(reply(400), reply(200)) as running:
        desk = hasty(tmp_path, running.url)
        await desk.submit(ticket("bad"))
        running.replies = [reply(500)]
        await desk.submit(ticket("good"))
        running.replies = [reply(400), reply(200)]
        await desk.send_kept()
    assert sorted(await states(tmp_path)) == ["delivered", "kept"]


async def test_a_slow_receiver_holds_a_turn_no_longer_than_the_timeout(tmp_path: Path) -> None:
    """Nobody waits longer than was allowed; whether it arrived nobody knows, so it is sent again with the same key."""
    with receiver(NEVER) as running:
        desk = hasty(tmp_path, running.url, timeout_s=0.5)
        began = time.monotonic()
        said = await desk.submit(ticket())
        assert time.monotonic() - began < LOADED
        assert said.delivery is DeliveryStatus.KEPT
        assert "GUARDIAN_HANDOFF_TIMEOUT" in said.why
        running.replies = [reply(200)]
        assert (await desk.submit(ticket())).delivery is DeliveryStatus.DELIVERED
    assert len(running.keys) == 2
    assert len(set(running.keys)) == 1


async def test_a_redirection_is_not_followed(tmp_path: Path) -> None:
    """Neither the ticket nor the key goes where a reply points to."""
    with receiver() as stranger, receiver(reply(307, f"Location: {stranger.url}")) as running:
        said = await hasty(tmp_path, running.url, SECRET).submit(ticket())
    assert said.delivery is DeliveryStatus.KEPT
    assert "HTTP 307" in said.why
    assert stranger.requests == []


async def test_what_a_receipt_says_is_not_read(tmp_path: Path) -> None:
    """A reply's body may be as long as it likes: the status is the receipt."""
    endless = b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\nfor ever and"
    with receiver(endless) as running:
        assert (await hasty(tmp_path, running.url, timeout_s=5).submit(ticket())).delivery is DeliveryStatus.DELIVERED


async def test_twenty_conversations_at_once_lose_and_double_nothing(tmp_path: Path) -> None:
    """Each of twenty tickets submitted at the same time arrives, once."""
    with receiver() as running:
        async with hasty(tmp_path, running.url) as desk:
            said = await asyncio.gather(*(desk.submit(each) for each in tickets(20)))
    assert {each.delivery for each in said} == {DeliveryStatus.DELIVERED}
    assert len(running.keys) == len(set(running.keys)) == 20
    assert names(tmp_path / "locks") == []


async def test_the_same_turn_twice_at_once_is_sent_once(tmp_path: Path) -> None:
    """Two that submit one ticket at the same time: one sends, the other waits and sees that it was sent."""
    with receiver() as running:
        desks = [hasty(tmp_path, running.url) for _ in range(4)]
        said = await asyncio.gather(*(desk.submit(ticket()) for desk in desks))
    assert {each.delivery for each in said} == {DeliveryStatus.DELIVERED}
    assert len(running.requests) == 1


async def test_what_was_delivered_is_not_kept_in_words(tmp_path: Path) -> None:
    """Once the receiver has a ticket, its words are gone from our disk; that it was sent is remembered."""
    await desk_at(tmp_path, str(tmp_path / "out")).submit(ticket())
    left = (tmp_path / "hand_offs.db").read_bytes()
    assert b"support-17" in left
    assert "чайник".encode() not in left


async def test_a_deleted_conversation_takes_its_tickets_along(tmp_path: Path) -> None:
    """What is kept of it is not sent any more; other conversations keep theirs."""
    desk = hasty(tmp_path, f"http://127.0.0.1:{free_port()}/")
    await desk.submit(ticket("gone"))
    await desk.submit(ticket("stays"))
    assert await Outbox(OutboxFile(tmp_path / "hand_offs.db"), "tests").forget("gone") == 1
    assert [entry.thread_id for entry in await entries(tmp_path)] == ["stays"]


async def test_looking_makes_no_file(tmp_path: Path) -> None:
    """Who lists, sends or deletes where nothing was handed off leaves nothing behind."""
    async with desk_at(tmp_path, str(tmp_path / "out")) as desk:
        await desk.send_kept()
    assert await entries(tmp_path) == []
    assert await Outbox(OutboxFile(tmp_path / "hand_offs.db"), "tests").forget("any") == 0
    assert names(tmp_path) == []


async def test_a_ticket_that_cannot_be_read_any_more_holds_up_no_other(tmp_path: Path) -> None:
    """One that another version of the program kept is passed over, and says so."""
    desk = hasty(tmp_path, f"http://127.0.0.1:{free_port()}/")
    await desk.submit(ticket("old"))
    await desk.submit(ticket("new"))
    changed = sqlite3.connect(tmp_path / "hand_offs.db")
    with changed:
        changed.execute("UPDATE hand_offs SET ticket = '{}', tries = 0 WHERE thread_id = 'old'")
    changed.close()
    with receiver() as running:
        await hasty(tmp_path, running.url).send_kept()
    assert len(running.requests) == 1
    assert {entry.thread_id: (entry.state, entry.why[:12]) for entry in await entries(tmp_path)} == {
        "old": ("kept", "What is kept"),
        "new": ("delivered", ""),
    }


# -------------------------------------------------------------------------------------------------------------- folder


async def test_a_folder_gets_two_whole_files(tmp_path: Path) -> None:
    """One for people, one for programs, of one name that sorts by time; nothing else is left there."""
    out = tmp_path / "made" / "out"
    await desk_at(tmp_path, str(out)).submit(ticket())
    page, document = sorted(out.iterdir(), key=lambda path: path.suffix, reverse=True)
    assert (page.suffix, document.suffix, page.stem) == (".md", ".json", document.stem)
    assert page.read_text("utf-8") == ticket().text
    assert json.loads(document.read_text("utf-8"))["question"] == ticket().question
    [entry] = await entries(tmp_path)
    assert page.stem.startswith(entry.kept_at[:10].replace("-", ""))


async def test_a_ticket_that_is_written_again_is_the_same_file(tmp_path: Path) -> None:
    """What was not noted as delivered is sent again, and found there."""
    out = tmp_path / "out"
    async with desk_at(tmp_path, str(out)) as desk:
        await desk.submit(ticket())
    before = {path.name: path.stat().st_mtime_ns for path in out.iterdir()}
    changed = sqlite3.connect(tmp_path / "hand_offs.db")
    with changed:
        changed.execute("UPDATE hand_offs SET delivered_at = NULL, ticket = ?", (ticket().model_dump_json(),))
    changed.close()
    await desk.send_kept()
    assert {path.name: path.stat().st_mtime_ns for path in out.iterdir()} == before
    assert await states(tmp_path) == ["delivered"]


async def test_what_a_killed_process_left_half_written_is_removed(tmp_path: Path) -> None:
    """By the next delivery, unless a process still writes it; files of others stay, and no half of a ticket is delivered."""
    out = tmp_path / "out"
    out.mkdir()
    name = ".20261122T075352Z-0123456789abcdef"
    left, written = out / f"{name}.md.17.tmp", out / f"{name}.json.18.tmp"
    others = [out / ".notes.tmp", out / f"{name}.md.17.tmp.bak", out / "20261122T075352Z-0123456789abcdef.md.17.tmp"]
    hold = "import fcntl, sys; file = open(sys.argv[1], 'wb'); fcntl.flock(file, fcntl.LOCK_EX); print(flush=True); input()"
    for path in (left, *others):
        path.write_bytes(b"half")
    desk = OutboxSink(
        Outbox(OutboxFile(tmp_path / "hand_offs.db"), "tests"), HandOffFolder(out), FileClaims(tmp_path / "locks")
    )
    with subprocess.Popen(  # noqa: ASYNC220  # it takes no time
        [sys.executable, "-S", "-c", hold, written], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as writer:
        assert writer.stdout is not None
        writer.stdout.readline()
        await desk.submit(ticket())
        assert not left.exists()
        assert written.exists()
        writer.kill()
    await desk.submit(ticket(turn="another"))
    assert not written.exists()
    delivered = {path.suffix for path in out.iterdir() if path not in others}
    assert delivered == {".md", ".json"}
    assert all(path.read_bytes() == b"half" for path in others)


def modes(folder: Path) -> dict[str, int]:
    return {path.name: path.stat().st_mode & 0o777 for path in folder.iterdir() if path.is_file()}


async def test_nobody_else_can_read_a_users_words(tmp_path: Path) -> None:
    """Tickets, the outbox and what SQLite keeps beside it have mode 0600, folders that are made 0700; old files, too."""
    data, folder = tmp_path / "data", tmp_path / "in" / "tickets"
    desk = OutboxSink(
        Outbox(OutboxFile(data / "hand_offs.db"), "tests"), HandOffFolder(folder), FileClaims(tmp_path / "locks")
    )
    umask = os.umask(0o022)
    try:
        await desk.submit(ticket())
        beside = sqlite3.connect(data / "hand_offs.db")
        beside.execute("SELECT count(*) FROM hand_offs").fetchall()
        for name in modes(data):
            (data / name).chmod(0o644)
        await entries(data)
        found = modes(data)
        beside.close()
    finally:
        os.umask(umask)
    assert {"hand_offs.db", "hand_offs.db-wal", "hand_offs.db-shm"} <= found.keys()
    assert set(found.values()) == {0o600}
    assert list(modes(folder).values()) == [0o600, 0o600]
    assert [path.stat().st_mode & 0o777 for path in (data, folder)] == [0o700, 0o700]


async def test_a_full_disk_keeps_the_ticket(tmp_path: Path) -> None:
    """What the folder's disk cannot take stays in the outbox, and says so."""
    if not os.access("/dev/full", os.W_OK):
        pytest.skip("there is no /dev/full")
    out = tmp_path / "out"
    out.mkdir()
    desk = OutboxSink(
        Outbox(OutboxFile(tmp_path / "hand_offs.db"), "tests"), _Full(out), FileClaims(tmp_path / "locks")
    )
    said = await desk.submit(ticket())
    assert said.delivery is DeliveryStatus.KEPT
    assert "No space left" in said.why
    assert await states(tmp_path) == ["kept"]
    assert list(out.glob("*.json")) == []


class _Full(HandOffFolder):
    """A folder on a disk that is full."""

    def _write(self, delivery: object) -> None:
        with Path("/dev/full").open("wb", buffering=0) as file:
            file.write(b"x")


async def test_a_damaged_outbox_is_said_so(tmp_path: Path) -> None:
    """Nothing is overwritten, and the error names the file and the way out."""
    (tmp_path / "hand_offs.db").write_bytes(b"no database " * 100)
    with pytest.raises(HandOffFailed, match=r"hand-offs in .* cannot be used") as caught:
        await desk_at(tmp_path, str(tmp_path / "out")).submit(ticket())
    assert caught.value.way_out


# ----------------------------------------------------------------------------------------------------------- processes


@pytest.mark.parametrize("point", ["kept", "sent"])
async def test_a_kill_between_two_steps_loses_nothing(tmp_path: Path, point: str) -> None:
    """Killed before sending, a ticket arrives later; killed before that was noted, it arrives again with the same key."""
    with receiver() as running:
        kill_at(point, tmp_path, running.url)
        assert await states(tmp_path) == ["kept"]
        assert len(running.keys) == (1 if point == "sent" else 0)
        assert (await desk_at(tmp_path, running.url).submit(ticket())).delivery is DeliveryStatus.DELIVERED
    assert len(running.keys) == (2 if point == "sent" else 1)
    assert len(set(running.keys)) == 1
    assert await states(tmp_path) == ["delivered"]


@pytest.mark.parametrize("point", ["kept", "sent"])
async def test_a_kill_between_two_steps_leaves_one_ticket_in_a_folder(tmp_path: Path, point: str) -> None:
    """Wherever the process was killed, there are two files in the end, not four."""
    out = tmp_path / "out"
    kill_at(point, tmp_path, str(out))
    await desk_at(tmp_path, str(out)).send_kept()
    assert sorted(path.suffix for path in out.iterdir()) == [".json", ".md"]
    assert await states(tmp_path) == ["delivered"]


async def test_two_processes_that_send_at_once_send_each_ticket_once(tmp_path: Path) -> None:
    """Who finds a ticket being sent leaves it alone."""
    port = free_port()
    desk = hasty(tmp_path, f"http://127.0.0.1:{port}/hooks/guardian")
    for each in tickets(10):
        await desk.submit(each)
    with receiver(port=port) as running:
        both = [start("all", tmp_path, running.url) for _ in range(2)]
        for process in both:
            process.communicate(timeout=60)
            assert process.returncode == 0
    assert len(running.keys) == len(set(running.keys)) == 10
    assert await states(tmp_path) == ["delivered"] * 10
