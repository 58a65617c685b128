"""What is said on a terminal of the models that a turn asked: what they cost, and what they brought."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from assistant.turns.progress import model_line
from contracts.calls import ModelCall
from contracts.enums import CallPurpose, Language, Outcome
from contracts.result import Diagnostics, StructuredAgentResult
from tests.support.cli_helpers import Desk
from tests.support.wire.server_process import FakeServer, fake_server

PLAN = ModelCall(purpose=CallPurpose.PLAN, model="m", server="s", ms=1_200, prompt_tokens=2_000, completion_tokens=300)
DRAFT = ModelCall(purpose=CallPurpose.DRAFT, model="m", server="s", ms=800, prompt_tokens=900, completion_tokens=100)
EMBED = ModelCall(purpose=CallPurpose.EMBED, model="e", server="s", ms=5)
ENTAIL = ModelCall(purpose=CallPurpose.ENTAIL, model="m", server="s", ms=40)
FAILED_DRAFT = ModelCall(purpose=CallPurpose.DRAFT, model="m", server="s", ms=10_000, fault="timeout")
FAILED = ModelCall(purpose=CallPurpose.PLAN, model="m", server="s", ms=10_000, fault="timeout")


def line(*calls: ModelCall, outcome: Outcome = Outcome.ANSWERED, degraded: str = "", russian: bool = False) -> str:
    """Return the line of a turn that asked so."""
    figures = Diagnostics(calls=list(calls), degraded=[degraded] if degraded else [])
    result = StructuredAgentResult.model_construct(outcome=outcome, diagnostics=figures)
    return model_line(result, Language.RU if russian else Language.EN)


def test_the_line_says_what_models_cost_and_brought() -> None:
    """Requests, tokens and seconds of language models, and whether the answer is theirs; nothing if none was asked."""
    assert line() == line(EMBED) == ""
    assert line(PLAN, DRAFT, EMBED) == "the model: 2 requests, 3 300 tokens, 2.0 s; it wrote the answer"
    assert line(DRAFT, degraded="draft: drafted without the model").endswith("; the answer was quoted without it")
    assert line(DRAFT, outcome=Outcome.PAGES_SHOWN).endswith("; none of its drafts passed")
    assert line(PLAN).endswith("; it helped to understand the question")
    assert line(DRAFT, degraded="draft: timeout").endswith("; it wrote the answer")
    assert line(FAILED_DRAFT, outcome=Outcome.HANDED_OFF).endswith("; it brought nothing")
    assert line(ENTAIL).endswith("; it checked the answer")
    assert line(FAILED) == "the model: 1 request, ? tokens, 10.0 s; it brought nothing"
    assert line(PLAN, DRAFT, russian=True) == "модель: 2 запроса, токенов: 3 300, 2.0 с; ответ написала она"


@pytest.fixture(scope="module")
def model() -> Iterator[FakeServer]:
    """Serve a scripted model."""
    with fake_server() as served:
        yield served


def test_a_command_ends_with_that_line(tmp_path_factory: pytest.TempPathFactory, model: FakeServer) -> None:
    """`guardian ask` says it on standard error, before how the turn ended."""
    place = tmp_path_factory.mktemp("cost")
    desk = Desk(place / "data", place)
    desk.index()
    model.script([{"when": {"purpose": "draft"}, "reply": {"status": 400}}])
    named = {"GUARDIAN_DRAFTER_MODEL": "fake-model", "OPENAI_BASE_URL": model.url, "OPENAI_API_KEY": "none"}
    done = desk.having(**named).run("ask", "How do I restore the catalogue from a backup?")
    last = [text for text in done.err.splitlines() if text.strip()][-2:]
    assert last[0].startswith("  the model: ")
    assert last[0].endswith("the answer was quoted without it")
    assert last[1].startswith("[answered]")
