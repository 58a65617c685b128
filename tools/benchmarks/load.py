"""How `guardian serve` stands many users at once: turns a second, how long each waits, what is lost or mixed up, memory.

The server is a process of its own, and so is the scripted model. The clients are in this one: each has conversations of
its own, puts a mark into every question, and asks the next one when the last is answered.
"""

from __future__ import annotations

import asyncio
import math
import os
import re
import statistics
import subprocess
import sys
import time
import urllib.request
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, cast

from tools.benchmarks import memory
from tools.benchmarks.models import SECONDS_PER_CALL, model_server
from tools.benchmarks.report import Measurement, percentile
from tools.benchmarks.turns import QUESTIONS

CLIENTS: Final = (1, 10, 50)
MEMORY_TURNS: Final = 2_000
MEMORY_CLIENTS: Final = 10
MEMORY_STEP: Final = 100
TOLD_STEP: Final = 500
SETTLED: Final = 1_000
"""From this turn on memory should be flat: before it, whatever is kept once, in bounds, is still being filled."""
TURNS_IN_A_THREAD: Final = 20
_TIMEOUT_S: Final = 300.0
_CALLS: Final = 2
"""Of the model, in an answered turn: a plan and a draft."""
_CONFIDENCE: Final = 1.959964


@dataclass(frozen=True, slots=True)
class LoadedServer:
    """A server that runs: its address, and the id of its process."""

    url: str
    process: int


@dataclass(frozen=True, slots=True)
class ClientTurn:
    """One turn as its client knows it.

    Attributes:
        plain: The question without its mark.
        question: As it was sent.
        seconds: Until the answer was there.
        answer: What came; empty where that was no answer.
        fault: What came instead of it.
    """

    thread: str
    turn_id: str
    plain: str
    question: str
    seconds: float
    answer: Mapping[str, Any] = field(default_factory=dict[str, Any])
    fault: str = ""


@dataclass(frozen=True, slots=True)
class ClientRun:
    """What some clients asked.

    Attributes:
        asked: In the order of the answers.
        recorded: The turns of their conversations as the server tells them afterwards, by conversation.
        seconds: From the first question to the last answer.
        processor_s: What the server took of the processor meanwhile.
    """

    asked: Sequence[ClientTurn]
    recorded: Mapping[str, Sequence[Mapping[str, Any]]]
    seconds: float
    processor_s: float

    @property
    def per_second(self) -> float:
        """Answers a second."""
        return self.answered / self.seconds

    @property
    def ms_busy(self) -> float:
        """Milliseconds of the processor that a turn takes in the server."""
        return self.processor_s * 1000 / len(self.asked)

    @property
    def answered(self) -> int:
        """How many turns have an answer."""
        return sum(bool(asked.answer) for asked in self.asked)

    @property
    def kept(self) -> int:
        """How many turns stand in the conversations, done: each once, and none that nobody asked."""
        told = [
            (thread, turn["turn_id"]) for thread, turns in self.recorded.items() for turn in turns if _is_done(turn)
        ]
        sent = {(asked.thread, asked.turn_id) for asked in self.asked}
        return len(sent & set(told)) - (len(told) - len(set(told))) - len(set(told) - sent)

    @property
    def own(self) -> int:
        """How many turns got the answer that is recorded in their conversation below their own question."""
        told = {(thread, turn["turn_id"]): turn for thread, turns in self.recorded.items() for turn in turns}
        return sum(_is_own(asked, told.get((asked.thread, asked.turn_id))) for asked in self.asked)

    def like(self, verdicts: Mapping[str, object]) -> int:
        """Return how many turns ended as one client's did: with the same outcome, verdict and sources."""
        return sum(
            bool(asked.answer) and summarise_answer(asked.answer) == verdicts.get(asked.plain) for asked in self.asked
        )

    def ms(self, share: float) -> float:
        """Return the milliseconds within which a share of the turns was answered."""
        return percentile([asked.seconds * 1000 for asked in self.asked], share)


def _is_done(turn: Mapping[str, Any]) -> bool:
    return turn["status"] == "done"


def _is_own(asked: ClientTurn, told: Mapping[str, Any] | None) -> bool:
    if told is None or not asked.answer or not _is_done(told):
        return False
    kept = told["answer"]
    return (
        told["question"] == asked.question
        and (asked.answer["thread_id"], asked.answer["turn_id"]) == (asked.thread, asked.turn_id)
        and all(kept[name] == asked.answer[name] for name in ("answer", "outcome", "verdict", "sources"))
    )


def summarise_answer(answer: Mapping[str, Any]) -> tuple[object, ...]:
    """Return how a turn ended: outcome, verdict, and what it cites."""
    return answer["outcome"], answer["verdict"], *(source["url"] or source["title"] for source in answer["sources"])


# ------------------------------------------------------------------------------------------------------------- server


@contextmanager
def run_server(data: Path, profile: str = "handbook", workers: int = 1, **variables: str) -> Generator[LoadedServer]:
    """Run `guardian serve` on a data directory in which the profile's documents are indexed.

    Raises:
        RuntimeError: It did not start.
    """
    # A measured turn opens no ticket, and asks no model but the one that is named.
    environment = {**os.environ, "GUARDIAN_DATA_DIR": str(data), "GUARDIAN_HANDOFF_TO": "", "GUARDIAN_MODEL": ""}
    command = [sys.executable, "-m", "assistant.cli.main", "serve", "--port", "0", "--profile", profile]
    command += ["--workers", str(workers)]
    with subprocess.Popen(  # our own command
        command, env={**environment, **variables}, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            said = process.stdout.readline() if process.stdout else ""
            if (address := re.search(r"http://\S+", said)) is None:
                raise RuntimeError(f"guardian serve did not start: {said or 'it said nothing'}")
            _wait_for_workers(address[0], workers)
            yield LoadedServer(address[0], process.pid)
        finally:
            process.terminate()


def _wait_for_workers(address: str, count: int) -> None:
    """Wait until the server answers, and all of its workers."""
    while True:
        with urllib.request.urlopen(f"{address}/metrics", timeout=60) as reply:  # noqa: S310  # our own server
            answering = len(set(re.findall(r'worker="(\d+)"', reply.read().decode())))
        if count in (1, answering):
            return
        time.sleep(0.2)


# ------------------------------------------------------------------------------------------------------------ clients


def drive(server: LoadedServer, clients: int, turns: int, *, name: str = "load", on_turn: Any = None) -> ClientRun:
    """Let some clients ask so many questions each, all at once, and read their conversations afterwards.

    Args:
        server: It has no conversations of that name yet.
        clients: How many.
        turns: Of each.
        name: Of the run: what conversations are called by.
        on_turn: Called with the number of answers so far, after each.
    """
    return asyncio.run(_drive(server, clients, turns, name, on_turn))


async def _drive(server: LoadedServer, clients: int, turns: int, name: str, on_turn: Any) -> ClientRun:
    import httpx

    asked: list[ClientTurn] = []
    limits = httpx.Limits(max_connections=clients, max_keepalive_connections=clients)
    async with httpx.AsyncClient(base_url=server.url, timeout=_TIMEOUT_S, limits=limits, trust_env=False) as http:

        async def client(number: int) -> None:
            for turn in range(turns):
                asked.append(await _ask(http, name, number, turn))
                if on_turn is not None:
                    on_turn(len(asked))

        began, busy = time.perf_counter(), _processor_s(server)
        await asyncio.gather(*(client(number) for number in range(clients)))
        seconds, busy = time.perf_counter() - began, _processor_s(server) - busy
        recorded: dict[str, Sequence[Mapping[str, Any]]] = {}
        for thread in sorted({one.thread for one in asked}):
            reply = await http.get(f"/v1/threads/{thread}")
            recorded[thread] = reply.json()["turns"] if reply.is_success else []
    return ClientRun(asked, recorded, seconds, busy)


def _processor_s(server: LoadedServer) -> float:
    import psutil

    process = psutil.Process(server.process)
    all_times = [one.cpu_times() for one in (process, *process.children())]
    return sum(times.user + times.system for times in all_times)


async def _ask(http: Any, name: str, client: int, turn: int) -> ClientTurn:
    import httpx

    # Each begins with another question, so that what is mixed up is seen.
    plain = QUESTIONS[(client + turn) % len(QUESTIONS)]
    question = f"{plain} ({name}{client:03}x{turn:04})"
    thread, turn_id = f"{name}-{client}-{turn // TURNS_IN_A_THREAD}", f"{name}-{client}-{turn}"
    body = {"question": question, "thread_id": thread, "turn_id": turn_id}
    began = time.perf_counter()
    try:
        reply = await http.post("/v1/ask", json=body)
    except httpx.HTTPError as error:
        return ClientTurn(thread, turn_id, plain, question, time.perf_counter() - began, fault=repr(error))
    seconds = time.perf_counter() - began
    if not reply.is_success:
        return ClientTurn(thread, turn_id, plain, question, seconds, fault=f"{reply.status_code}: {reply.text[:300]}")
    return ClientTurn(thread, turn_id, plain, question, seconds, cast("dict[str, Any]", reply.json()))


# ----------------------------------------------------------------------------------------------------------- measured


def measure(data: Path, clients: Sequence[int] = CLIENTS, memory_turns: int = MEMORY_TURNS) -> list[Measurement]:
    """Drive a server with the offline engine, and one with the scripted model; then watch the memory of the former.

    Args:
        data: The data directory, in which the handbook is indexed.
        clients: How many at once, one run for each; the first is the baseline of the others.
        memory_turns: Over so many turns memory is watched; 0: not at all.
    """
    with run_server(data) as server:
        lines = _compare(server, "offline engine", clients, {one: max(5, 200 // one) for one in clients})
        if memory_turns:
            lines += _memory(server, memory_turns)
    with (
        model_server(SECONDS_PER_CALL) as model,
        run_server(data, GUARDIAN_MODEL="fake-model", OPENAI_BASE_URL=f"{model}/v1") as server,
    ):
        waited = _CALLS * SECONDS_PER_CALL * 1000
        turns = {one: max(5, 20 // math.isqrt(one)) for one in clients}
        lines += _compare(server, f"model of {SECONDS_PER_CALL * 1000:.0f} ms", clients, turns, waited)
    return lines


_WORKERS: Final = (1, 2, 4)
_ROUNDS: Final = 3
_AT_ONCE: Final = 10
_PROCESSORS: Final = 2
"""Of the machine that the aim is for."""
_GAIN: Final = 1.6


def measure_workers(data: Path) -> list[Measurement]:
    """Drive servers with different numbers of workers, over the file and over PostgreSQL on this machine."""
    from tools.benchmarks.servers import postgres

    lines = compare_workers(data, "file")
    with postgres() as server:
        return lines + compare_workers(data, server.name, GUARDIAN_DATABASE=server.url)


def compare_workers(
    data: Path, engine: str, counts: Sequence[int] = _WORKERS, rounds: int = _ROUNDS, **variables: str
) -> list[Measurement]:
    """Drive servers with so many workers in turn; the fastest round of each counts.

    The clients take processors, too, and so does PostgreSQL; more than two workers have no more of them on a machine with
    two.

    Args:
        data: The data directory, in which the handbook is indexed.
        engine: Where the conversations are, for the lines.
        counts: How many workers; the first is the baseline of the others.
        rounds: How often each is driven.
        variables: Settings of the server.
    """
    fastest = dict.fromkeys(counts, 0.0)
    for number in range(rounds):
        for count in counts:
            with run_server(data, workers=count, **variables) as server:
                # So many that each worker has loaded its models by then.
                drive(server, _AT_ONCE * count, 4, name=f"warm{count}r{number}of")
                run = drive(server, _AT_ONCE, 12, name=f"workers{count}r{number}of")
            fastest[count] = max(fastest[count], run.per_second)
    first = counts[0]
    return [
        Measurement(
            f"turns a second, {engine}, {count} {'worker' if count == 1 else 'workers'}, {_AT_ONCE} clients",
            fastest[count],
            fastest[first],
            "/s",
            f"{first} {'worker' if first == 1 else 'workers'}",
            _GAIN if count == _PROCESSORS else None,
            more_is_better=True,
        )
        for count in counts
    ]


def _compare(
    server: LoadedServer, engine: str, clients: Sequence[int], turns: Mapping[int, int], waited: float | None = None
) -> list[Measurement]:
    """Drive one server with each number of clients."""
    name = engine[0]
    drive(server, 1, 10, name=f"{name}warm")
    runs = {one: drive(server, one, turns[one], name=f"{name}{one}of") for one in clients}
    first = runs[clients[0]]
    verdicts = {asked.plain: summarise_answer(asked.answer) for asked in first.asked if asked.answer}
    lines: list[Measurement] = []
    for number, run in runs.items():
        _tell(run, engine, number)
        who = f"{engine}, {number} {'client' if number == 1 else 'clients'}"
        against = f"{clients[0]} {'client' if clients[0] == 1 else 'clients'}"
        lines += [
            Measurement(f"turns a second, {who}", run.per_second, first.per_second, "/s", against),
            Measurement(f"of the processor, a turn takes, {who}", run.ms_busy, first.ms_busy, "ms", against),
            Measurement(
                f"a turn p50, {who}", run.ms(0.5), waited or first.ms(0.5), "ms", "its calls" if waited else against
            ),
            Measurement(
                f"a turn p95, {who}", run.ms(0.95), waited or first.ms(0.95), "ms", "its calls" if waited else against
            ),
            *_account(run, who, verdicts),
        ]
    return lines


def _account(run: ClientRun, who: str, verdicts: Mapping[str, object]) -> list[Measurement]:
    """Say that nothing was lost or mixed up, or how much was."""
    sent = len(run.asked)
    counted = (
        ("turns answered, and recorded once", min(run.answered, run.kept)),
        ("answers to the client's own question", run.own),
        ("outcomes, verdicts and sources as for one client", run.like(verdicts)),
    )
    return [
        Measurement(f"{what}, {who}", got, sent, "turns", "sent", 1.0, more_is_better=True) for what, got in counted
    ]


def _tell(run: ClientRun, engine: str, clients: int) -> None:
    for asked in [asked for asked in run.asked if asked.fault][:5]:
        print(f"{engine}, {clients} clients: {asked.turn_id}: {asked.fault}", file=sys.stderr, flush=True)


def _memory(server: LoadedServer, turns: int) -> list[Measurement]:
    """Watch the resident memory of a server while it is asked; nothing where the system does not tell it."""
    taken: dict[int, float] = {}

    def look(answers: int) -> None:
        if answers % MEMORY_STEP == 0 and (now := memory.of([server.process])) is not None:
            taken[answers] = now.resident / memory.MIB

    run = drive(server, MEMORY_CLIENTS, turns // MEMORY_CLIENTS, name="memory", on_turn=look)
    _tell(run, "memory", MEMORY_CLIENTS)
    if not taken:
        return []
    settled = {at: size for at, size in taken.items() if at >= min(SETTLED, turns // 2)}
    begun = min(settled)
    slope, low, high = slope_of([(at, size * 1024) for at, size in settled.items()])
    lines = [
        Measurement(
            f"memory after {at:,} turns", size, settled[begun], "MiB", f"after {begun:,}", 1.02 if at == turns else None
        )
        for at, size in taken.items()
        if at % TOLD_STEP == 0 or at == turns
    ]
    more = f"memory that a turn adds after turn {begun:,} (95 % interval {low:+.1f} to {high:+.1f} KiB)"
    return [*lines, Measurement(more, slope, settled[begun] * 1024, "KiB", f"all of it after {begun:,}")]


def slope_of(points: Sequence[tuple[float, float]]) -> tuple[float, float, float]:
    """Return by how much y grows where x grows by one, and the ends of its 95 % interval.

    The median of the slopes between all pairs, with the interval by ranks (Theil 1950, Sen 1968): memory grows in
    steps, which are no errors around a line.

    Args:
        points: At least two, each with another x.
    """
    slopes = sorted(
        (late[1] - early[1]) / (late[0] - early[0])
        for place, early in enumerate(points)
        for late in points[place + 1 :]
    )
    count, pairs = len(points), len(slopes)
    spread = _CONFIDENCE * math.sqrt(count * (count - 1) * (2 * count + 5) / 18)
    low, high = math.floor((pairs - spread) / 2), math.ceil((pairs + spread) / 2)
    return statistics.median(slopes), slopes[max(low, 0)], slopes[min(high, pairs - 1)]
