"""`ModelCall`: one request to a language model, an embedder or a reranker, and its cost, whichever port sent it."""

from __future__ import annotations

from collections.abc import Iterable

from pydantic import BaseModel, ConfigDict, Field

from contracts.enums import CallPurpose


class ModelCall(BaseModel):
    """One request to a model, answered or not. A figure that the server did not report is `None`, never 0.

    Attributes:
        server: Host and port; never a key or a user's name.
        form: The format that the request asked for: a rung of the planner's ladder, or `text`.
        http_status: Of the reply; `None` if there was none.
        fault: What was wrong, as a value of `FaultKind`; empty if the reply was usable.
        ms: Milliseconds from sending to the whole reply.
        prompt_tokens, completion_tokens: As the server counted them. Reasoning is part of the completion; cached tokens
            are part of the prompt.
        cut: What was left out to fit the model's context window: `history_messages`, `evidence_chars`,
            `analysis_chars`, `question_chars`, each only if it is not 0.
    """

    model_config = ConfigDict(frozen=True)

    purpose: CallPurpose
    model: str
    server: str
    form: str = "text"
    http_status: int | None = None
    fault: str = ""
    finish_reason: str = ""
    ms: float = 0.0
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    reasoning_tokens: int | None = None
    cached_tokens: int | None = None
    cut: dict[str, int] = Field(default_factory=dict[str, int])


def tokens_of(calls: Iterable[ModelCall]) -> dict[str, int]:
    """Sum the tokens of several calls: prompt, completion, reasoning, cached; omit kinds that no server reported."""
    sums: dict[str, int] = {}
    for call in calls:
        figures = {
            "prompt": call.prompt_tokens,
            "completion": call.completion_tokens,
            "reasoning": call.reasoning_tokens,
            "cached": call.cached_tokens,
        }
        for name, count in figures.items():
            if count is not None:
                sums[name] = sums.get(name, 0) + count
    return sums
