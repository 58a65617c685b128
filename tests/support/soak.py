"""A soak: clients ask a server with several workers for minutes, while workers are killed and the server is restarted.

As a program: `python -m tests.support.soak --minutes 30`. It prints what became of the messages, and memory and disk as time
goes on, and ends with 1 if a message was lost, answered twice, or answered with another's answer.

A client sends a message again, under its id, until it is answered: this is what its users are told to do.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import httpx
import psutil
import psycopg

from tests.support.cli_helpers import QUESTION, Desk
from tests.support.sockets import free_port
from tools.earlier_tree import ROOT, extract_commit

_TURNS: Final = 20
"""Messages of a conversation."""
_LOST_S: Final = 180
"""A message that has no answer by then is lost."""
_MIB: Final = 1 << 20
_RESTART_EVERY: Final = 10
"""Kills of a worker between two restarts of the whole server, as for an upgrade."""


@dataclass
class Soak:
    """A soak, and what became of it.

    Attributes:
        desk: What is served.
        clients, workers: How many.
        minutes: How long.
        pause_s: Seconds between two kills, on average.
        trees: Folders of the program; each restart takes the next one, as upgrades and ways back do.
        sent: Messages by conversation.
        answers: Answers by conversation and message.
        grown: Lines about memory and disk.
    """

    desk: Desk
    clients: int = 20
    workers: int = 3
    minutes: float = 30
    pause_s: float = 10
    trees: tuple[Path, ...] = (ROOT,)
    port: int = field(default_factory=free_port)
    sent: Counter[str] = field(default_factory=Counter)
    answers: dict[tuple[str, str], str] = field(default_factory=dict)
    kills: int = 0
    restarts: int = 0
    repeats: int = 0
    grown: list[str] = field(default_factory=list)
    server: subprocess.Popen[bytes] | None = None

    async def run(self) -> list[str]:
        """Run it, and return what is wrong."""
        ends = time.monotonic() + self.minutes * 60
        self._start()
        try:
            async with httpx.AsyncClient(
                base_url=f"http://127.0.0.1:{self.port}", timeout=120, trust_env=False
            ) as client:
                await self._wait(client)
                disturbing = asyncio.create_task(self._disturb(client, ends))
                await asyncio.gather(*(self._ask(client, number, ends) for number in range(self.clients)))
                await disturbing
                await self._wait(client)
                return await self._compare(client)
        finally:
            self._stop(signal.SIGTERM)

    def _start(self) -> None:
        command = [*self.desk.command("serve", "--port", str(self.port), "--workers", str(self.workers))]
        bare = "import sys; sys.modules.update(gradio=None, mcp=None); from assistant.cli.main import main; sys.exit(main())"
        command = [sys.executable, "-c", bare, *command[command.index("serve") :]]
        self.server = subprocess.Popen(
            command,
            # Before an editable install, which is of this tree.
            env={**self.desk.environment, "PYTHONPATH": str(self.trees[self.restarts % len(self.trees)])},
            cwd=self.desk.cwd,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def _stop(self, number: int) -> None:
        if self.server is not None:
            self.server.send_signal(number)
            self.server.wait(120)

    async def _wait(self, client: httpx.AsyncClient) -> None:
        while True:
            with suppress(httpx.HTTPError):
                if (await client.get("/readyz")).is_success:
                    return
            await asyncio.sleep(0.2)

    async def _disturb(self, client: httpx.AsyncClient, ends: float) -> None:
        dice = random.Random(1)  # noqa: S311  # nothing secret
        looked = 0.0
        while (now := time.monotonic()) < ends:
            await asyncio.sleep(min(dice.expovariate(1 / self.pause_s), max(0.0, ends - now)))
            if now - looked > self.minutes * 6:
                looked = now
                self._look(ends - now)
            assert self.server is not None
            if self.kills and self.kills % _RESTART_EVERY == 0:
                self.restarts += 1
                await asyncio.to_thread(self._stop, signal.SIGTERM)
                self._start()
                await self._wait(client)
            self.kills += 1
            with suppress(psutil.NoSuchProcess):
                if workers := psutil.Process(self.server.pid).children():
                    dice.choice(workers).kill()
        self._look(0)

    def _look(self, left: float) -> None:
        assert self.server is not None
        with suppress(psutil.NoSuchProcess):
            parent = psutil.Process(self.server.pid)
            most = max((worker.memory_info().rss for worker in parent.children()), default=0)
            disk = sum(path.stat().st_size for path in self.desk.data.rglob("*") if path.is_file()) + self._tables()
            self.grown.append(
                f"{self.minutes - left / 60:5.1f} min: {len(self.answers)} answers, parent {parent.memory_info().rss / _MIB:.0f} MiB "
                f"with {parent.num_fds()} open files, largest worker {most / _MIB:.0f} MiB, disk {disk / _MIB:.1f} MiB"
            )

    def _tables(self) -> int:
        """Return the bytes of the tables in PostgreSQL; 0 with the file."""
        if not (url := self.desk.environment.get("GUARDIAN_DATABASE")):
            return 0
        with psycopg.connect(url) as connection:
            [(size,)] = connection.execute("SELECT pg_database_size(current_database())").fetchall()
        return size

    async def _ask(self, client: httpx.AsyncClient, number: int, ends: float) -> None:
        turn = 0
        while time.monotonic() < ends:
            thread, name = f"c{number}-{turn // _TURNS}", f"m{number}x{turn}"
            self.sent[thread] += 1
            body = {"question": f"{QUESTION} ({name})", "thread_id": thread, "turn_id": name}
            lost = time.monotonic() + _LOST_S
            while time.monotonic() < lost:
                with suppress(httpx.HTTPError):
                    reply = await client.post("/v1/ask", json=body)
                    if reply.is_success:
                        self.answers[thread, name] = reply.json()["answer"]
                        break
                self.repeats += 1
                await asyncio.sleep(0.3)
            turn += 1

    async def _compare(self, client: httpx.AsyncClient) -> list[str]:
        wrong: list[str] = []
        for thread, count in self.sent.items():
            turns = (await client.get(f"/v1/threads/{thread}")).json()["turns"]
            names = Counter(turn["turn_id"] for turn in turns)
            if len(turns) != count or any(times > 1 for times in names.values()):
                wrong.append(f"{thread}: {count} were sent, {len(turns)} are on record")
            wrong += [f"{thread}: {name} was never answered" for name in names if (thread, name) not in self.answers]
            for turn in turns:
                asked = re.search(r"\((m\d+x\d+)\)", turn["question"])
                if asked is None or asked[1] != turn["turn_id"]:
                    wrong.append(f"{thread}: {turn['turn_id']} is on record with {turn['question']!r}")
                elif turn["answer"] is None:
                    wrong.append(f"{thread}: {turn['turn_id']} is on record without an answer")
                elif self.answers.get((thread, turn["turn_id"])) != turn["answer"]["answer"]:
                    wrong.append(f"{thread}: {turn['turn_id']} was answered otherwise than is on record")
        return wrong


def main(arguments: list[str] | None = None) -> int:
    """Run a soak as the arguments say, and print what became of it."""
    parser = argparse.ArgumentParser(description="Clients, workers, kills and restarts for some minutes.")
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--clients", type=int, default=20)
    parser.add_argument("--workers", type=int, default=3)
    parser.add_argument("--pause-s", type=float, default=10, help="seconds between two kills, on average")
    parser.add_argument("--engine", choices=("sqlite", "postgres"), default="sqlite")
    parser.add_argument(
        "--earlier",
        metavar="COMMIT",
        help="restart with this commit and with this tree in turn; its tables must be of this or the last version",
    )
    options = parser.parse_args(arguments)
    from tests.support.postgres_server import postgres_server

    serving = postgres_server() if options.engine == "postgres" else nullcontext("")
    with TemporaryDirectory() as folder, serving as url:
        desk = Desk(Path(folder) / "data", Path(folder)).having(GUARDIAN_DATABASE=url)
        desk.index()
        trees = (ROOT, extract_commit(options.earlier, Path(folder) / "earlier")) if options.earlier else (ROOT,)
        soak = Soak(desk, options.clients, options.workers, options.minutes, options.pause_s, trees)
        wrong = asyncio.run(soak.run())
    told = (
        f"{len(soak.answers)} messages in {len(soak.sent)} conversations, {soak.repeats} sent again, "
        f"{soak.kills} workers killed, {soak.restarts} restarts: {len(wrong)} wrong"
    )
    sys.stdout.write("\n".join((*soak.grown, told, *wrong[:20], "")))
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
