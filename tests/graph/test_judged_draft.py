"""PASS belongs to one draft: what somebody edits behind the Guardian's back is not said."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver

from contracts.context import Context
from graph.build import Graph
from tests.support.routes import RIGHT, build_fake_graph
from tests.support.turn import passage

CONFIG: Any = {"configurable": {"thread_id": "t"}}
EDITED = "The kettle whistles at 100 degrees [1]."


async def before_the_answer() -> tuple[Graph, dict[str, Any]]:
    """Return a graph that stands before `finalize` with a PASS, and its state."""
    graph = build_fake_graph(written=RIGHT, saver=InMemorySaver())
    start: Any = {"messages": [HumanMessage("When does the kettle boil?", id="q")]}
    await graph.ainvoke(start, CONFIG, context=Context(), interrupt_before=["finalize"])
    state = await graph.aget_state(CONFIG)
    assert state.next == ("finalize",)
    return graph, state.values


EDITS: dict[str, dict[str, Any]] = {
    "draft": {"draft_answer": EDITED},
    "evidence": {"evidence": [passage(7, snippet="Whistles at 100 degrees.").model_dump(mode="json")]},
    "question": {"question": {"id": "other", "text": "Whistles?", "language": "en"}},
    "kind": {"draft_kind": "clarification"},
    "track": {"track": "FAST"},
    "contract": {"architect_spec": {"response_format": "json"}},
    "policy": {"request_policy": {"status": "violated", "rules": ["whistles"]}},
    "junk": {"draft_answer": ["The kettle whistles"]},
}
REPORTS: list[dict[str, Any]] = [
    {"judged_hash": ""},
    {"reasons": None},
    {"reasons": ["abstained"]},
    {"advice": 7},
    {"required_actions": ["SAFE_REFUSAL"]},
    {"checks": {}},
    {"draft": EDITED},
    {"claims": [{"text": EDITED}]},
]


@pytest.mark.parametrize("name", EDITS)
async def test_what_was_edited_after_the_verdict_is_not_said(name: str) -> None:
    """The turn ends as an error of `finalize` with a way out, and no word of the edit is told."""
    graph, _ = await before_the_answer()
    await graph.aupdate_state(CONFIG, EDITS[name], "guardian_verify")
    values = await graph.ainvoke(None, CONFIG, context=Context())
    assert (values["result"]["outcome"], values["result"]["block_reason"]) == ("error", "error_in_finalize")
    assert values["error"]["kind"] == "NotJudged"
    assert "kettle support" in values["final_answer"]
    for text in [values["final_answer"], *(str(message.content) for message in values["messages"][1:])]:
        assert "whistles" not in text.lower()
        assert "boils at 100" not in text


@pytest.mark.parametrize("edit", REPORTS, ids=str)
async def test_a_report_that_was_edited_lets_nothing_pass(edit: dict[str, Any]) -> None:
    """A verdict belongs to the rest of its report, too; junk in it breaks neither the run nor its stream."""
    graph, before = await before_the_answer()
    await graph.aupdate_state(CONFIG, {"guardian": {**before["guardian"], **edit}}, "guardian_verify")
    values = await graph.ainvoke(None, CONFIG, context=Context())
    assert (values["result"]["outcome"], values["error"]["kind"]) == ("error", "NotJudged")
    assert "kettle support" in values["final_answer"]


async def test_what_was_not_edited_is_said() -> None:
    """An interrupt alone changes nothing."""
    graph, _ = await before_the_answer()
    values = await graph.ainvoke(None, CONFIG, context=Context())
    assert values["result"]["outcome"] == "answered"


@pytest.mark.parametrize(
    ("text", "outcome"),
    [("The kettle boils at exactly 100 degrees [1].", "answered"), ("It melts at 999 [1].", "pages_shown")],
)
async def test_what_is_edited_as_the_node_draft_is_judged_again(text: str, outcome: str) -> None:
    """Then the edit goes to the Guardian, and is said where it passes."""
    graph, before = await before_the_answer()
    await graph.aupdate_state(CONFIG, {"draft_answer": text}, "draft")
    assert (await graph.aget_state(CONFIG)).next == ("guardian_verify",)
    values = await graph.ainvoke(None, CONFIG, context=Context(max_retry=0))
    assert values["result"]["outcome"] == outcome
    assert values["guardian"]["judged_hash"] != before["guardian"]["judged_hash"]
    assert (text.partition(" [")[0] in values["final_answer"]) == (outcome == "answered")
