from __future__ import annotations

from typing import Any

import openai
import pytest
from langchain_core.messages import HumanMessage

from adapters.models.access import ModelAccess
from adapters.models.chat import Ask, ChatModel
from adapters.models.retries import deadline_in
from adapters.planning.model import Strategy, ToolForm
from contracts.enums import CallPurpose, FaultKind
from contracts.errors import ServerFault
from tests.support.llama.proxy import recording_proxy
from tests.support.llama.server import LlamaServer


async def test_a_schemas_reply_that_the_limit_cut_is_counted(llama: LlamaServer) -> None:
    """The client throws the reply away, but what it took is on record as the server says."""
    options: dict[str, Any] = Strategy(ToolForm.JSON_SCHEMA, strict=True).options(parallel=False)
    with recording_proxy(llama.root) as proxy:
        async with openai.DefaultAsyncHttpxClient() as client:
            model = ChatModel(ModelAccess("tiny", proxy.url), CallPurpose.PLAN, client)
            ask = Ask([HumanMessage("Where is the form?")], 100, options=options)
            with pytest.raises(ServerFault) as cut:
                await model.ask(ask, deadline_in(30))
    assert cut.value.kind is FaultKind.CUT_SHORT
    [call] = cut.value.calls
    [exchange] = proxy.records
    usage = exchange.answered["usage"]
    assert (call.http_status, call.finish_reason) == (200, "length")
    assert (call.prompt_tokens, call.completion_tokens) == (usage["prompt_tokens"], usage["completion_tokens"])
    assert call.completion_tokens == 100
