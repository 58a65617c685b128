"""What language models cost: prices by the million tokens, from the profile, and what a turn's requests come to."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Final

from pydantic import BaseModel, ConfigDict, Field, Strict

from contracts.calls import ModelCall

Price = Annotated[float, Strict(), Field(ge=0, le=1_000_000, allow_inf_nan=False)]
_PER: Final = 1_000_000


class ModelPrice(BaseModel):
    """The price of a million tokens of one model.

    Attributes:
        prompt: Of what is sent.
        completion: Of what is written, reasoning included.
        cached: Of what is sent and the server had kept from before; `None` if it costs as much as the rest.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    prompt: Price
    completion: Price
    cached: Price | None = None

    def cost_of(self, call: ModelCall) -> float | None:
        """Return what a request cost; `None` if its server counted no tokens."""
        if call.prompt_tokens is None and call.completion_tokens is None:
            return None
        # What a server says may be anything; nothing costs less than nothing.
        sent, written = max(0, call.prompt_tokens or 0), max(0, call.completion_tokens or 0)
        kept = min(max(0, call.cached_tokens or 0), sent)
        old = self.prompt if self.cached is None else self.cached
        return ((sent - kept) * self.prompt + kept * old + written * self.completion) / _PER


class Prices(BaseModel):
    """The prices of a deployment's models, by the names under which they are asked."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    currency: str = Field(default="USD", pattern=r"^[A-Z]{3}$")
    models: dict[str, ModelPrice] = Field(default_factory=dict[str, ModelPrice])

    def cost_of(self, calls: Iterable[ModelCall]) -> float | None:
        """Return what requests cost together; `None` if there is none with a price whose tokens were counted."""
        costs = [price.cost_of(call) for call in calls if (price := self.models.get(call.model))]
        known = [cost for cost in costs if cost is not None]
        return sum(known) if known else None
