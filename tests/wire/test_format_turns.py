"""Whole turns whose contract asks for JSON or a hybrid answer, with a model and without one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import HumanMessage

from adapters.drafting.extractive import ExtractiveDrafter
from adapters.fakes.drafting import FakeDrafter
from adapters.fakes.moderation import FakeModerator
from adapters.fakes.planning import FakePlanner
from adapters.fakes.sources import FakeSource
from contracts.context import STEPS_PER_TURN, Context
from contracts.enums import CallPurpose, DraftKind, Language, RequestType, ResponseFormat, Source
from contracts.ports import Draft, Drafter
from contracts.result import StructuredAgentResult
from contracts.spec import ArchitectSpec, RequiredSection
from graph.build import Graph, Ports, build_graph
from tests.support.turn import PROFILE, SAFE, passage, plan
from tests.support.wire.models import asked_of
from tests.support.wire.server_process import FakeServer
from tests.support.wire.turns import graph_on

QUESTION = "When does the kettle boil?"
FOUND = [passage(2), passage(1)]
SECTION = RequiredSection(name="Answer", title={Language.EN: "In short", Language.RU: "Кратко"})
BROKEN = {"text": '{"In short": ["The kettle boils at 100 degrees [1]."'}
MENDED = {"text": '{"In short": ["The kettle boils at 100 degrees [2]."], "degrees": 100, "sources": [2, 1]}'}
BLOCK = '```json\n{"degrees": 100, "sources": [2]}\n```'


def wanting(form: ResponseFormat) -> Any:
    spec = ArchitectSpec(response_format=form, required_sections=(SECTION,), forbidden_content=("as an AI",))
    return PROFILE.model_copy(update={"contracts": {RequestType.KNOWLEDGE_QA: spec}})


def offline(form: ResponseFormat, drafter: Drafter | None = None, source: FakeSource | None = None) -> Graph:
    ports = Ports(
        moderator=FakeModerator(SAFE),
        planner=FakePlanner([plan()]),
        sources={Source.DOC: source or FakeSource(Source.DOC, FOUND)},
        drafter=drafter or ExtractiveDrafter(),
    )
    return build_graph(ports, wanting(form))


async def ask(graph: Graph, **context: Any) -> StructuredAgentResult:
    state = await graph.ainvoke(
        {"messages": [HumanMessage(QUESTION, id="q")]}, {"recursion_limit": STEPS_PER_TURN}, context=Context(**context)
    )
    assert state["messages"][-1].content == state["result"]["answer_text"]
    return StructuredAgentResult.model_validate(state["result"])


async def test_a_turn_without_a_model_answers_in_json() -> None:
    """The quotations as an object with its sources, in one go."""
    result = await ask(offline(ResponseFormat.JSON))
    assert (result.outcome, result.diagnostics.retries) == ("answered", 0)
    read = json.loads(result.answer_text)
    assert list(read) == ["In short", "cited_sources"]
    assert read["In short"][0] == "The kettle boils at 100 degrees [1]."
    assert [source["number"] for source in read["cited_sources"]] == list(range(1, len(read["cited_sources"]) + 1))
    assert read["cited_sources"][0]["title"] == "Page 2"


async def test_a_turn_without_a_model_answers_in_markdown_with_json() -> None:
    """Prose and block say the same, with the same numbers, which are those of the list of sources."""
    result = await ask(offline(ResponseFormat.HYBRID))
    assert result.outcome == "answered"
    prose, _, rest = result.answer_text.partition("```json\n")
    block, _, listed = rest.partition("\n```")
    said = json.loads(block)["In short"]
    assert prose.startswith("## In short\n\n")
    assert all(sentence in prose for sentence in said)
    assert listed.startswith("\n\n**Sources**\n\n- [1] Page 2 (doc:2)")


async def test_a_retry_over_the_form_alone_searches_nothing() -> None:
    """Drafted twice from what was found once; the second request has the reason."""
    source = FakeSource(Source.DOC, FOUND)
    drafter = FakeDrafter([Draft(DraftKind.ANSWER, said["text"]) for said in (BROKEN, MENDED)])
    result = await ask(offline(ResponseFormat.JSON, drafter, source))
    assert (result.outcome, len(source.requests), len(drafter.requests)) == ("answered", 1, 2)
    assert drafter.requests[1].reasons == ("response_format_violated=[json: line 1 column 53: neither a comma nor ]]",)
    assert drafter.requests[1].evidence == drafter.requests[0].evidence


async def test_a_model_that_writes_broken_json_mends_it_on_the_retry(server: FakeServer, tmp_path: Path) -> None:
    """Only the form failed, and the retry says where it broke."""
    server.script([{"when": {"purpose": "draft"}, "times": 1, "reply": BROKEN}, reply(MENDED)])
    async with graph_on(server, tmp_path, moderated=SAFE, found=FOUND, profile=wanting(ResponseFormat.JSON)) as graph:
        result = await ask(graph)
    assert (result.outcome, result.diagnostics.retries) == ("answered", 1)
    rows = [decision.row for decision in result.decisions if decision.table == "DT-005"]
    assert rows == ["off-contract-retry", "pass"]
    last = asked_of(server, CallPurpose.DRAFT)[-1]["messages"][-1]["content"]
    assert "response_format_violated=[json: line 1 column 53: neither a comma nor ]]" in last
    read = json.loads(result.answer_text)
    assert (read["In short"], read["sources"]) == (["The kettle boils at 100 degrees [1]."], [1, 2])
    assert [source["title"] for source in read["cited_sources"]] == ["Page 1", "Page 2"]


@pytest.mark.parametrize(
    ("form", "text"),
    [
        (ResponseFormat.JSON, BROKEN["text"]),
        (ResponseFormat.JSON, "## In short\n\nThe kettle boils at 100 degrees [1]."),
        (ResponseFormat.HYBRID, "## In short\n\nThe kettle boils at 100 degrees [1]."),
    ],
)
async def test_a_model_that_never_keeps_the_form_is_refused(
    server: FakeServer, tmp_path: Path, form: ResponseFormat, text: str
) -> None:
    """After the last retry the turn fails on its contract alone: a refusal, and no word of the draft."""
    server.script([reply({"text": text})])
    async with graph_on(server, tmp_path, moderated=SAFE, found=FOUND, profile=wanting(form)) as graph:
        result = await ask(graph, max_retry=1)
    assert result.guardian is not None
    assert (result.guardian.verdict, result.guardian.required_actions) == ("FAIL", ["SAFE_REFUSAL"])
    assert [reason.split(":")[0] for reason in result.guardian.reasons] == [f"response_format_violated=[{form}"]
    assert (result.outcome, result.diagnostics.retries) == ("refused", 1)
    assert "100 degrees" not in result.answer_text


async def test_a_model_answers_in_markdown_with_json(server: FakeServer, tmp_path: Path) -> None:
    """The numbers in the block are those of the list."""
    text = f"## In short\n\nThe kettle boils at 100 degrees [2]. It is number 2 [1].\n\n{BLOCK}"
    server.script([reply({"text": text})])
    async with graph_on(server, tmp_path, moderated=SAFE, found=FOUND, profile=wanting(ResponseFormat.HYBRID)) as graph:
        result = await ask(graph)
    assert (result.outcome, result.diagnostics.retries) == ("answered", 0)
    assert '```json\n{"degrees": 100, "sources": [1]}\n```' in result.answer_text
    assert result.answer_text.endswith("- [1] Page 1 (doc:1)\n- [2] Page 2 (doc:2)")


def reply(said: dict[str, str]) -> dict[str, Any]:
    return {"when": {"purpose": "draft"}, "reply": said}
