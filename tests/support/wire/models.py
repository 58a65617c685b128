"""A model's planner, drafter and window against the scripted server, and what a request looked like on the wire."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

import openai

from adapters.drafting.extractive import ExtractiveDrafter
from adapters.drafting.model import ModelDrafter
from adapters.fakes.planning import FakePlanner
from adapters.models.access import ModelAccess
from adapters.models.chat import ChatModel
from adapters.models.exchange import AskedModel
from adapters.models.memory import WireMemory
from adapters.models.retries import Pauses
from adapters.models.window import ContextWindow
from adapters.planning.model import ModelPlanner, Strategy
from contracts.enums import CallPurpose, Language, RequestType, Source
from contracts.evidence import EvidenceItem
from contracts.ports import Drafter, DraftRequest, Planner, PlanRequest
from contracts.spec import ArchitectSpec
from tests.support.tls import TRUSTS_NOBODY
from tests.support.turn import PROFILE, plan
from tests.support.wire.server_process import FakeServer

MODEL = "fake-model"
QUICK = Pauses(first_s=0.01)
OFFLINE = plan(user_intent="OFFLINE")
"""The plan of who plans where the model cannot."""

ASKED = PlanRequest("When does the kettle boil?", Language.EN, turn_id="turn")
EVIDENCE = tuple(
    EvidenceItem(
        source=Source.DOC,
        ref=f"doc:{n}#0",
        snippet=f"Kettle {n} boils at {n}00 degrees.",
        confidence=0.9,
        title=f"Page {n}",
    )
    for n in (1, 2)
)
DRAFTED = DraftRequest(
    question="When does the kettle boil?",
    language=Language.EN,
    request_type=RequestType.KNOWLEDGE_QA,
    intent="Learn when the kettle boils.",
    subqueries=("When does the kettle boil?",),
    evidence=EVIDENCE,
    spec=ArchitectSpec(),
    synthetic="ANALYSIS",
)


@dataclass(frozen=True)
class Bench:
    """Makes adapters on one HTTP client; `access` is what each begins from."""

    client: openai.DefaultAsyncHttpxClient
    access: ModelAccess

    def chat(self, purpose: CallPurpose = CallPurpose.PLAN, pauses: Pauses = QUICK, **changes: Any) -> ChatModel:
        return ChatModel(replace(self.access, **changes), purpose, self.client, pauses=pauses)

    def window(self, memory: WireMemory | None = None, **changes: Any) -> ContextWindow:
        return ContextWindow(replace(self.access, **changes), self.client, memory or WireMemory())

    def planner(
        self,
        memory: WireMemory | None = None,
        *,
        otherwise: Planner | None = None,
        rungs: list[Strategy] | None = None,
        max_tokens: int = 2000,
        **changes: Any,
    ) -> ModelPlanner:
        """Return a planner whose changes are those of `ModelAccess`; without it, the plan is `OFFLINE`."""
        memory = memory or WireMemory()
        asked = AskedModel(self.chat(**changes), self.window(memory, **changes), PROFILE, max_tokens)
        return ModelPlanner(asked, memory, otherwise or FakePlanner([OFFLINE]), rungs)

    def drafter(
        self,
        memory: WireMemory | None = None,
        *,
        otherwise: Drafter | None = None,
        max_tokens: int = 2000,
        **changes: Any,
    ) -> ModelDrafter:
        """Return a drafter whose changes are those of `ModelAccess`; without it, the evidence is quoted."""
        chat, window = self.chat(CallPurpose.DRAFT, **changes), self.window(memory, **changes)
        return ModelDrafter(AskedModel(chat, window, PROFILE, max_tokens), otherwise or ExtractiveDrafter())


@asynccontextmanager
async def bench(server: FakeServer, **changes: Any) -> AsyncGenerator[Bench]:
    """Open a bench on a server; its models have a wide window, so that nobody asks for it."""
    access = ModelAccess(MODEL, server.url, timeout_s=20.0, max_retries=0, window=100_000)
    async with openai.DefaultAsyncHttpxClient(verify=TRUSTS_NOBODY) as client:
        yield Bench(client, replace(access, **changes))


def asked_of(server: FakeServer, purpose: str = "") -> list[dict[str, Any]]:
    """Return the bodies of the requests that asked the model, in order; of one purpose, where it is named."""
    return [r["body"] for r in server.requests() if r["purpose"] and purpose in ("", r["purpose"])]


def roles(body: dict[str, Any]) -> list[str]:
    return [message["role"] for message in body["messages"]]


def size_of(body: dict[str, Any]) -> int:
    """Return the bytes of what a template could make a prompt of: contents, calls, tools, response format."""
    whole = [str(message.get("content") or "") + str(message.get("tool_calls") or "") for message in body["messages"]]
    more = [str(body[key]) for key in ("tools", "response_format") if key in body]
    return sum(len(text.encode()) for text in [*whole, *more])
