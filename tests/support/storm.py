"""A storm: processes that share one storage answer messages while they are killed and stopped at random.

As a program: `python -m tests.support.storm`, a long one, on a PostgreSQL out of a wheel or on a file (`--engine`). It prints
what became of the messages, and ends with 1 if one was lost, answered twice, or mixed with another.

Each message says after how many others of its conversation it comes; its answer repeats it. Some messages are sent from two
processes. A process that is stopped for longer than the others wait for a sign of life loses its claims, and goes on with
what it was doing: this is what the fence is for. `--no-fence` leaves the fence out, and must fail.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import signal
import sys
import time
from collections import Counter
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from contracts.errors import ThreadBusy, ThreadError
from tests.support.fork_server import Program
from tests.support.storage import open_storage

ROOT: Final = Path(__file__).resolve().parents[2]
_AT_ONCE: Final = 4
"""Messages that a process works on at the same time."""


@dataclass(frozen=True)
class Storm:
    """How a storm is.

    Attributes:
        processes, conversations, messages: How many; the messages are spread over the conversations.
        twice: The share of messages that two processes send.
        seed: Of what happens when.
        url: Of the server; empty for a file.
        fence: Whether writes name their claim.
        silent_s: After so long without a sign of life the others take over; on a server.
        stop_s: The longest time for which a process is stopped.
    """

    processes: int = 8
    conversations: int = 200
    messages: int = 2000
    twice: float = 0.3
    seed: int = 1
    url: str = ""
    fence: bool = True
    silent_s: float = 1.0
    stop_s: float = 4.0


@dataclass
class Outcome:
    """What became of the messages.

    Attributes:
        lost, doubled, mixed, different: Messages without an answer; answered by more than one whole run of the last node;
            conversations whose memory is not their transcript; messages whose senders got different answers.
        kills, stops: How often processes were killed and stopped.
        seconds: How long it took.
    """

    lost: list[str] = field(default_factory=list[str])
    doubled: list[str] = field(default_factory=list[str])
    mixed: list[str] = field(default_factory=list[str])
    different: list[str] = field(default_factory=list[str])
    kills: int = 0
    stops: int = 0
    seconds: float = 0.0

    @property
    def well(self) -> bool:
        return not (self.lost or self.doubled or self.mixed or self.different)


def _plan(storm: Storm) -> list[list[tuple[str, str]]]:
    """Return for each process the messages that it sends: conversation and turn."""
    dice = random.Random(storm.seed)  # noqa: S311  # no secret
    sent: list[list[tuple[str, str]]] = [[] for _ in range(storm.processes)]
    for number in range(storm.messages):
        message = (f"t{number % storm.conversations}", f"m{number // storm.conversations}")
        for process in dice.sample(range(storm.processes), 2 if dice.random() < storm.twice else 1):
            sent[process].append(message)
    return sent


# ------------------------------------------------------------------------------------------------ inside the process


async def _send(options: argparse.Namespace) -> None:
    from assistant.turns.runner import TurnRunner
    from tests.support.kill_helpers_graph import Settings, slow_graph

    data: Path = options.data
    messages: list[tuple[str, str]] = json.loads((data / f"messages-{options.number}.json").read_text("utf-8"))
    log = data / f"answers-{options.number}.jsonl"
    done = {tuple(json.loads(line)[:2]) for line in log.read_text("utf-8").splitlines()} if log.exists() else set()
    timing = {"beat_s": options.silent_s / 4, "silent_s": options.silent_s} if options.database else {}
    async with open_storage(data, options.database, **timing) as storage:
        if options.no_fence:
            take = storage.claims.take

            async def take_without_a_token(name: str) -> Any:
                claim = await take(name)
                return claim and replace(claim, token="")

            storage.claims.take = take_without_a_token
        graph = slow_graph(data, storage.saver, pause_s=0.02)
        runner = TurnRunner(graph, storage.store, storage.claims, wait_s=10.0, context_type=Settings)
        left = [message for message in messages if tuple(message) not in done]

        async def work() -> None:
            while left:
                thread, turn = left.pop(0)
                while True:
                    try:
                        result = await runner.run(thread, f"{thread} {turn}", turn_id=turn)
                    except (ThreadBusy, ThreadError):
                        await asyncio.sleep(0.05)  # told to send it again
                    else:
                        break
                with log.open("a", encoding="utf-8") as file:
                    file.write(json.dumps([thread, turn, result["answer_text"]]) + "\n")

        await asyncio.gather(*(work() for _ in range(_AT_ONCE)))


# ----------------------------------------------------------------------------------------------- outside the process


def rage(storm: Storm, data: Path, *, longest_s: float = 600.0) -> Outcome:
    """Let a storm go over a folder, and return what became of the messages."""
    began = time.monotonic()
    dice = random.Random(storm.seed)  # noqa: S311  # no secret
    sent = _plan(storm)
    for number, messages in enumerate(sent):
        (data / f"messages-{number}.json").write_text(json.dumps(messages), "utf-8")
    told = Outcome()
    running = {number: _start(storm, data, number) for number in range(storm.processes)}
    while running and time.monotonic() - began < longest_s:
        time.sleep(dice.uniform(0.05, 0.4))
        for number in [number for number, process in running.items() if process.poll() is not None]:
            process = running.pop(number)
            process.communicate()
            if process.returncode != 0:
                running[number] = _start(storm, data, number)
        if not running:
            break
        number = dice.choice(sorted(running))
        if dice.random() < 0.4:
            told.kills += 1
            running[number].send_signal(signal.SIGKILL)
        else:
            told.stops += 1
            running[number].send_signal(signal.SIGSTOP)
            # Many of them for long enough to be taken over, with what they were doing half done.
            time.sleep(dice.uniform(0.0, storm.stop_s))
            running[number].send_signal(signal.SIGCONT)
    for process in running.values():
        process.kill()
        process.communicate()
    asyncio.run(_judge(storm, data, told))
    told.seconds = time.monotonic() - began
    return told


def _start(storm: Storm, data: Path, number: int) -> Program[str]:
    command = ["tests.support.storm", "--data", str(data), "--number", str(number), "--database", storm.url]
    command += ["--silent-s", str(storm.silent_s)]
    return Program[str](command if storm.fence else [*command, "--no-fence"], cwd=ROOT, text=True)


def _read_answers(data: Path) -> dict[tuple[str, str], set[str]]:
    """Return all answers that senders got, by conversation and turn."""
    answers: dict[tuple[str, str], set[str]] = {}
    for file in data.glob("answers-*.jsonl"):
        for line in file.read_text("utf-8").splitlines():
            thread, turn, answer = json.loads(line)
            answers.setdefault((thread, turn), set()).add(answer)
    return answers


async def _judge(storm: Storm, data: Path, told: Outcome) -> None:
    from tests.support.kill_helpers_graph import slow_graph

    answers = _read_answers(data)
    wanted = {message for messages in _plan(storm) for message in messages}
    told.lost += sorted(f"{thread} {turn}" for thread, turn in wanted - answers.keys())
    told.different += sorted(f"{thread} {turn}" for (thread, turn), texts in answers.items() if len(texts) > 1)
    async with open_storage(data, storm.url) as storage:
        graph = slow_graph(data, storage.saver)
        for number in range(min(storm.conversations, storm.messages)):
            thread = f"t{number}"
            turns = await storage.store.turns(thread)
            asked = Counter(turn.turn_id for turn in turns)
            told.lost += [f"{thread} {turn.turn_id}: no answer" for turn in turns if turn.status != "done"]
            told.doubled += [f"{thread} {turn}" for turn, count in asked.items() if count > 1]
            snapshot = await graph.aget_state({"configurable": {"thread_id": thread}})
            words = [message.text for message in snapshot.values.get("messages", [])]
            right = [text for turn in turns for text in (turn.question, f"echo: {turn.question}")]
            if words != right or any(turn.answer != f"echo: {turn.question}" for turn in turns):
                told.mixed.append(f"{thread}: {words} is not {right}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--engine", choices=("postgres", "sqlite"), default="postgres")
    parser.add_argument("--processes", type=int, default=8)
    parser.add_argument("--conversations", type=int, default=200)
    parser.add_argument("--messages", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--no-fence", action="store_true", help="leave the fence out; it must fail then")
    parser.add_argument("--data", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--number", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--database", default="", help=argparse.SUPPRESS)
    parser.add_argument("--silent-s", type=float, default=1.0, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.data is not None:
        asyncio.run(_send(options))
        return 0
    from tests.support.postgres_server import postgres_server

    with (
        TemporaryDirectory(prefix="storm_") as folder,
        postgres_server() if options.engine == "postgres" else nullcontext("") as url,
    ):
        storm = Storm(
            options.processes,
            options.conversations,
            options.messages,
            seed=options.seed,
            url=url,
            fence=not options.no_fence,
        )
        told = rage(storm, Path(folder), longest_s=3600.0)
    summary = (
        f"{options.engine}: {options.messages} messages in {options.conversations} conversations, {options.processes} "
        f"processes, {told.kills} kills, {told.stops} stops, {told.seconds:.0f} s: lost {len(told.lost)}, doubled "
        f"{len(told.doubled)}, mixed {len(told.mixed)}, different answers {len(told.different)}"
    )
    faults = (*told.lost, *told.doubled, *told.mixed, *told.different)[:20]
    sys.stdout.write("\n  ".join((summary, *faults)) + "\n")
    return 0 if told.well else 1


if __name__ == "__main__":
    sys.exit(main())
