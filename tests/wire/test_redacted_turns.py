"""What a language model is sent of documents that hold secrets and personal data."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import HumanMessage

from contracts.context import STEPS_PER_TURN, Context
from tests.support.planted_secrets import KEY, PHONE, PLANTED
from tests.support.turn import SAFE
from tests.support.wire.server_process import FakeServer
from tests.support.wire.turns import graph_on

QUOTED = "The kettle boils at 100 degrees [1]. Its service key is [redacted: api-key] [1]."


@pytest.mark.parametrize("changes", [{}, {"plan_trace": "tool_result"}, {"search_by": "model"}], ids=str)
async def test_no_request_to_the_model_holds_a_planted_value(
    server: FakeServer, tmp_path: Path, changes: dict[str, Any]
) -> None:
    """The key and the phone of a document never go over the wire; the mark does, and an answer that says it passes."""
    server.script([{"when": {"purpose": "draft"}, "reply": {"text": QUOTED}}])
    config: Any = {"recursion_limit": STEPS_PER_TURN, "configurable": {"thread_id": "t"}}
    async with graph_on(server, tmp_path, moderated=SAFE, found=PLANTED) as graph:
        question = {"messages": [HumanMessage("When does the kettle boil?", id="q")]}
        state = await graph.ainvoke(question, config, context=Context(**changes))
    sent = json.dumps(server.requests(), ensure_ascii=False)
    assert "[redacted: api-key]" in sent
    for value in (KEY, PHONE, "fitter@firma.ru"):
        assert value not in sent
    assert state["result"]["outcome"] == "answered"
    assert "[redacted: api-key]" in state["final_answer"]
