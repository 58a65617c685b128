"""A fake entailment checker: it returns scripted verdicts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from contracts.enums import Entailment
from contracts.errors import EntailmentUnavailable
from contracts.ports import EntailmentAnswer, EntailmentQuestion, EntailmentReply

ScriptedEntailment = Entailment | None


class FakeEntailment:
    """A checker that returns the scripted verdict of each claim, with certainty 1.

    Args:
        script: Verdicts by a text in the claim; `None` for not asked. The first text that the claim contains decides.
        otherwise: The verdict of every other claim.
        error: Raised instead of any reply.

    Attributes:
        seen: The questions it was asked, call by call.
    """

    def __init__(
        self,
        script: Mapping[str, ScriptedEntailment] | None = None,
        otherwise: ScriptedEntailment = Entailment.ENTAILED,
        error: EntailmentUnavailable | None = None,
    ) -> None:
        self._script = dict(script or {})
        self._otherwise = otherwise
        self._error = error
        self.seen: list[tuple[EntailmentQuestion, ...]] = []

    async def check(self, questions: Sequence[EntailmentQuestion]) -> EntailmentReply:
        """Return the scripted verdicts.

        Raises:
            EntailmentUnavailable: The script says so.
        """
        self.seen.append(tuple(questions))
        if self._error is not None:
            raise self._error
        said = [self._of(question.claim) for question in questions]
        return EntailmentReply(tuple(None if word is None else EntailmentAnswer(word, 1.0) for word in said))

    def _of(self, claim: str) -> ScriptedEntailment:
        return next((word for text, word in self._script.items() if text in claim), self._otherwise)
