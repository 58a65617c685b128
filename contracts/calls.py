"""`ModelCall`: one request to a model, of language, of vectors or of ranks, and what it cost, whichever port made it."""

from __future__ import annotations

from collections.abc import Iterable

from pydantic import BaseModel, ConfigDict, Field

from contracts.enums import CallPurpose


class ModelCall(BaseModel):
    """One request, answered or not. A figure that the server did not report is `None`, never 0.

    Attributes:
        server: Host and port; never a key or a user's name.
        form: How the reply was asked for: a rung of the planner's ladder, or `text`.
        http_status: Of the reply; `None` where there was none.
        fault: What was wrong, by the words of `FaultKind`; empty where the reply could be used.
        ms: Milliseconds from sending to the whole reply.
        prompt_tokens, completion_tokens: As the server counted them; reasoning is part of the completion, what was
            cached is part of the prompt.
        cut: What was left out so that the request fits the model's window: `history_messages`, `evidence_chars`,
            `analysis_chars`, `question_chars`, each only where it is not 0.
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
    """Sum the tokens of several calls: prompt, completion, reasoning, cached; what nobody reported is left out."""
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
