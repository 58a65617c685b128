"""Checkers on the scripted server, and what it says in each of their shapes."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import openai
from pydantic import SecretStr

from adapters.entailment.checker import RemoteChecker
from adapters.entailment.judge import ChatJudge
from adapters.entailment.nli import NliModel
from adapters.index.ranking.requests import RankingAccess
from adapters.models.access import ModelAccess
from adapters.models.chat import ChatModel
from adapters.models.retries import Pauses
from contracts.enums import CallPurpose, Entailment, Language
from contracts.ports import EntailmentQuestion
from tests.support.tls import TRUSTS_NOBODY
from tests.support.wire.server_process import FakeServer

KEY = "sk-secret-of-the-judge"
QUICK = Pauses(first_s=0.01, longest_s=0.02)
BOTH = frozenset(Language)
ENGLISH = frozenset({Language.EN})
SHAPES = ("tei", "chat")

TEXT = "The lid of the kettle is made of tin."
FOLLOWS = EntailmentQuestion("The lid is made of tin.", TEXT)
DOES_NOT = EntailmentQuestion("The spout is made of brass.", TEXT)


@asynccontextmanager
async def checker_of(
    shape: str,
    server: FakeServer,
    *,
    root: str = "",
    languages: frozenset[Language] = BOTH,
    labels: Sequence[Entailment] = (),
    timeout_s: float = 5.0,
    max_retries: int = 0,
) -> AsyncGenerator[RemoteChecker]:
    """Open a checker of one shape; `root` is another server's address."""
    if shape == "tei":
        access = RankingAccess(
            url=root or server.root,
            model="fake-nli",
            languages=languages,
            api_key=SecretStr(KEY),
            timeout_s=timeout_s,
            max_retries=max_retries,
            settings="GUARDIAN_ENTAIL",
        )
        yield RemoteChecker(NliModel(access, labels, pauses=QUICK), languages)
        return
    async with openai.DefaultAsyncHttpxClient(verify=TRUSTS_NOBODY) as client:
        model = ModelAccess(
            "fake-judge",
            f"{root or server.root}/v1",
            api_key=SecretStr(KEY),
            timeout_s=timeout_s,
            max_retries=max_retries,
        )
        yield RemoteChecker(ChatJudge(ChatModel(model, CallPurpose.ENTAIL, client, pauses=QUICK)), languages)


def in_tei(*entries: object) -> dict[str, Any]:
    """Return a reply of TEI: an entry for each pair, a list of labels with scores each."""
    return {
        "json": [
            [{"label": name, "score": score} for name, score in entry.items()] if isinstance(entry, dict) else entry
            for entry in entries
        ]
    }


def in_chat(*answers: object) -> dict[str, Any]:
    """Return a judge's reply; a pair is what it says and how sure it is."""
    said = [
        {"n": n, "entailment": one[0], "confidence": one[1]} if isinstance(one, tuple) else one
        for n, one in enumerate(answers, 1)
    ]
    return {"text": json.dumps({"answers": said})}
