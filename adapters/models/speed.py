"""The speed of a model: tokens that it reads and writes in a second, from two requests of different length."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from contracts.calls import ModelCall

TRIAL: Final = " ".join(f"Line {number} of this text says nothing of importance." for number in range(60))
"""A text of some 600 tokens to read."""
_LEAST_SHARE: Final = 0.2
"""By how much, in parts of the whole, the requests must differ in kind for reading and writing to be told apart."""


@dataclass(frozen=True, slots=True)
class ModelSpeed:
    """What a model takes for its tokens.

    Attributes:
        read_s: Seconds for one token of a prompt; 0 if that cannot be told from writing.
        write_s: Seconds for one token of a reply.
    """

    read_s: float
    write_s: float

    def seconds(self, prompt: int, reply: int) -> float:
        """Return the seconds that a request takes, by its tokens."""
        return prompt * self.read_s + reply * self.write_s


def speed_of(short: ModelCall, long: ModelCall) -> ModelSpeed | None:
    """Return the speed from a request with a short prompt and one with a long one.

    Two equations, `seconds = prompt * read_s + reply * write_s`; `None` if the server counts no tokens.
    """
    counts = (short.prompt_tokens, short.completion_tokens, long.prompt_tokens, long.completion_tokens)
    if any(count is None or count <= 0 for count in counts):
        return None
    p1, c1, p2, c2 = (float(count or 0) for count in counts)
    s1, s2 = short.ms / 1000, long.ms / 1000
    determinant = p2 * c1 - p1 * c2
    if abs(determinant) > _LEAST_SHARE * p2 * c1:
        read, write = (s2 * c1 - s1 * c2) / determinant, (p2 * s1 - p1 * s2) / determinant
        if read >= 0 and write > 0:
            return ModelSpeed(read, write)
    # Chance was greater than the difference: all of it is writing, so that nothing is promised too soon.
    return ModelSpeed(0.0, s2 / c2)
