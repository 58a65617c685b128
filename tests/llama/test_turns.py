"""Whole turns on real llama.cpp servers: whatever a random model plans, writes and judges, the rules hold."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

import pytest

from contracts.state import MESSAGE_WINDOW
from contracts.values import Flow, Outcome, SafetyLevel, Verdict
from tests.llama import invariants, tiny_gguf
from tests.llama.desk import TEXT, Desk, Played, messages
from tests.llama.proxy import recording_proxy
from tests.llama.server import GUARD, llama_server, template

pytestmark = pytest.mark.slow

MODELS: Final[dict[int, tuple[float, dict[str, str]]]] = {
    1: (0.97, {"GUARDIAN_ANSWER_TOKENS": "100"}),
    2: (0.97, {"GUARDIAN_PLAN_TOKENS": "480"}),
    3: (0.0, {}),
}
"""By their seeds: how often each calls the tool by itself, and settings. The first has little room for drafts, the
second for plans; with the third, which never calls, the ladder goes down to its last rung."""
THREADS: Final[dict[str, tuple[int, dict[str, Any]]]] = {
    "long": (11, {}),
    "report": (5, {"guard_mode": "report", "search_by": "model"}),
    "strict": (5, {"block_threshold": "controversial", "max_clarifications": 1, "max_retry": 1}),
}
"""Conversations with each model: how many turns, and their settings."""


@pytest.fixture(scope="module")
def turns(tmp_path_factory: pytest.TempPathFactory) -> list[Played]:
    """Play every conversation with every model, the models side by side."""
    folder = tmp_path_factory.mktemp("turns")
    with ExitStack() as opened:
        desks = {seed: _desk(folder / str(seed), seed, opened) for seed in MODELS}

        async def play() -> list[list[Played]]:
            return await asyncio.gather(*(_played(desk, seed) for seed, desk in desks.items()))

        return [turn for played in asyncio.run(play()) for turn in played]


def _desk(folder: Path, seed: int, opened: ExitStack) -> Desk:
    folder.mkdir()
    tools = template("tools")
    chance, settings = MODELS[seed]
    model = tiny_gguf.write(folder / "model", template=tools, seed=seed, text=TEXT, call_chance=chance)
    guard = tiny_gguf.write(folder / "guard", template=tools, seed=seed)
    served = opened.enter_context(llama_server(model, slots=2))
    judging = opened.enter_context(llama_server(guard, grammar=GUARD, slots=1))
    return Desk(
        folder / "desk",
        opened.enter_context(recording_proxy(served.root)),
        opened.enter_context(recording_proxy(judging.root)),
        settings,
    )


async def _played(desk: Desk, seed: int) -> list[Played]:
    async with desk.opened() as opened:
        for place, (name, (count, settings)) in enumerate(THREADS.items()):
            for message in messages(10 * seed + place, count):
                await opened.ask(f"{name}-{seed}", message, **settings)
        return [turn for played in opened.turns.values() for turn in played]


@pytest.mark.parametrize("rule", invariants.ALL, ids=lambda rule: rule.__name__)
def test_every_turn_keeps_the_rules(turns: list[Played], rule: Callable[[Played], None]) -> None:
    """Each rule of the specification holds for every turn."""
    assert {turn.turn_id: found for turn in turns if (found := _broken(rule, turn))} == {}


def _broken(rule: Callable[[Played], None], turn: Played) -> str:
    try:
        rule(turn)
    except AssertionError as error:
        return str(error) or "it does not hold"
    return ""


def test_the_turns_were_worth_looking_at(turns: list[Played]) -> None:
    """The rules were not kept for want of occasion: each way through the graph was taken, the model's own way mostly."""
    results = [turn.result for turn in turns]
    degraded = [part.partition(":")[0] for result in results for part in result.diagnostics.degraded]
    planned = [result for result in results if result.plan]
    calls = [call for result in results for call in result.diagnostics.calls]
    seen = Counter(result.outcome for result in results)
    verdicts = [[report["verdict"] for report in turn.verdicts] for turn in turns]

    assert len(turns) >= 60
    assert len(planned) - degraded.count("plan") >= 30
    assert degraded.count("plan") >= 1
    assert sum(len(turn.drafting) for turn in turns) >= 30
    assert set(seen) == set(Outcome) - {Outcome.ERROR}
    assert seen[Outcome.ANSWERED] >= 10
    assert sum(said[-2:] == [Verdict.RETRY, Verdict.PASS] for said in verdicts) >= 2
    assert sum(said.count(Verdict.RETRY) for said in verdicts) >= 10
    assert any(said[-1:] == [Verdict.FAIL] for said in verdicts)
    assert {result.moderation.safety_level for result in results if result.moderation} >= {
        SafetyLevel.SAFE,
        SafetyLevel.CONTROVERSIAL,
        SafetyLevel.UNSAFE,
    }
    assert sum(turn.stopped for turn in turns) >= 3
    assert {result.flow for result in planned} == set(Flow)
    assert {"named strict", "required", "auto", "json_schema strict"} <= {call.form for call in calls}
    assert any(exchange.answered["choices"][0]["message"].get("tool_calls") for t in turns for exchange in t.drafting)
    assert max(len(turn.earlier) for turn in turns) >= MESSAGE_WINDOW / 2
