"""What a turn with a language model costs: calls, tokens, and the time that is not the model's own.

The model is the scripted server in another process, which answers each call after a fixed time.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from statistics import mean
from typing import Any, Final

from assistant.deployment import deployment
from assistant.wiring.ports import open_ports
from assistant.wiring.turns import open_runner
from tools.benchmarks.report import Measurement, percentile
from tools.benchmarks.turns import QUESTIONS

SECONDS_PER_CALL: Final = 0.3
WRONG: Final = {"when": {"purpose": "draft"}, "times": 1, "reply": {"text": "It takes exactly 98765 minutes [1]."}}


@dataclass(frozen=True, slots=True)
class MeasuredTurn:
    """One turn: how it ended, its seconds, and what it took."""

    outcome: str
    seconds: float
    calls: int
    retries: int
    tokens: int


def measure() -> list[Measurement]:
    """Ask the handbook's questions of the scripted model, plainly, with a retry, and with a moderation model."""
    with model_server(SECONDS_PER_CALL) as server:
        plain = asyncio.run(_turns("plain", server))
        retried = asyncio.run(_turns("retried", server, script=[WRONG]))
        guard = {"GUARD_PROVIDER_TYPE": "vllm", "GUARD_VLLM_URL": f"{server}/v1", "GUARD_VLLM_MODEL": "fake-guard"}
        behind = asyncio.run(_turns("behind", server, **guard))
        beside = asyncio.run(_turns("beside", server, **guard, GUARDIAN_PLAN_AHEAD="true"))
    plain = [turn for turn in plain if not turn.retries]
    once = [turn for turn in retried if turn.retries == 1]
    return [
        Measurement("calls of an answered turn", _calls(plain), 2, "calls", "a plan and a draft", aim=1.0),
        Measurement("calls of a turn with one retry", _calls(once), 3, "calls", "a plan and two drafts", aim=1.0),
        Measurement("tokens of a turn with one retry", _tokens(once), _tokens(plain), "tokens", "an answered turn"),
        Measurement("a turn (median)", _ms(plain), _measure_waiting(plain), "ms", "its calls, 300 ms each", aim=1.05),
        Measurement(
            "a turn with one retry (median)",
            _ms(once),
            _measure_waiting(once),
            "ms",
            "its calls, 300 ms each",
            aim=1.05,
        ),
        Measurement(
            "a turn with a moderation model (median)",
            _ms(behind),
            _measure_waiting(behind),
            "ms",
            "its calls, 300 ms each",
        ),
        Measurement(
            "a turn that plans beside moderation (median)", _ms(beside), _ms(behind), "ms", "one after the other"
        ),
    ]


@contextmanager
def model_server(seconds_per_call: float) -> Generator[str]:
    """Run the scripted server in a process of its own and yield its address."""
    command = [sys.executable, "-m", "adapters.fakes.server", "--delay-ms", str(round(seconds_per_call * 1000))]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:  # ourselves
        try:
            said = process.stdout.readline() if process.stdout else ""
            yield said.split()[-1].removesuffix("/v1")
        finally:
            process.terminate()


async def _turns(name: str, server: str, script: Sequence[Any] = (), **variables: str) -> list[MeasuredTurn]:
    environment = {
        **os.environ,
        "GUARDIAN_HANDOFF_TO": "",  # a measured turn opens no ticket
        "GUARDIAN_MODEL": "fake-model",
        "OPENAI_BASE_URL": f"{server}/v1",
        **variables,
    }
    deployed = deployment("handbook", environment)
    measured: list[MeasuredTurn] = []
    async with open_ports(deployed) as ports, open_runner(deployed, ports) as runner:
        _put_script(server, [])
        await runner.run(f"{name}-warm", QUESTIONS[0])  # imports, connections, what is remembered of the server
        for number, question in enumerate(QUESTIONS):
            _put_script(server, script)
            began = time.perf_counter()
            result = await runner.run(f"{name}-{number}", question)
            seconds = time.perf_counter() - began
            figures = result["diagnostics"]
            spent = figures["tokens"].get("prompt", 0) + figures["tokens"].get("completion", 0)
            measured.append(MeasuredTurn(result["outcome"], seconds, figures["model_calls"], figures["retries"], spent))
    return [turn for turn in measured if turn.outcome == "answered"]


def _put_script(server: str, script: Sequence[Any]) -> None:
    request = urllib.request.Request(f"{server}/__script", json.dumps(list(script)).encode(), method="PUT")  # noqa: S310  # our own server on loopback
    with urllib.request.urlopen(request, timeout=10):  # noqa: S310  # the same
        pass


def _calls(turns: Sequence[MeasuredTurn]) -> float:
    return mean(turn.calls for turn in turns)


def _tokens(turns: Sequence[MeasuredTurn]) -> float:
    return mean(turn.tokens for turn in turns)


def _ms(turns: Sequence[MeasuredTurn]) -> float:
    return percentile([turn.seconds * 1000 for turn in turns], 0.5)


def _measure_waiting(turns: Sequence[MeasuredTurn]) -> float:
    return percentile([turn.calls * SECONDS_PER_CALL * 1000 for turn in turns], 0.5)
