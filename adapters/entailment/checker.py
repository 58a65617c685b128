"""The entailment port over a model on a server: the questions to it, and the handling of its faults."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from contracts.calls import ModelCall
from contracts.enums import Language
from contracts.errors import EntailmentUnavailable, ServerFault
from contracts.ports import EntailmentAnswer, EntailmentQuestion, EntailmentReply
from language.words import detect


class EntailmentModel(Protocol):
    """A model on a server that judges pairs of texts."""

    @property
    def longest_claim(self) -> int:
        """The longest claim in characters; of a longer one the model would judge only a part."""
        ...

    async def judge(self, questions: Sequence[EntailmentQuestion], made: list[ModelCall]) -> list[EntailmentAnswer]:
        """Return an answer for each question, in their order; `made` receives a record of every request.

        Raises:
            ServerFault: There was no usable reply in time.
        """
        ...


class RemoteChecker:
    """A checker that asks a model about claims in its languages that are short enough, and skips all others.

    Args:
        model: Asked at most once for each check.
        languages: The model's languages.
    """

    def __init__(self, model: EntailmentModel, languages: frozenset[Language]) -> None:
        self._model = model
        self._languages = languages

    async def check(self, questions: Sequence[EntailmentQuestion]) -> EntailmentReply:
        """Return one answer for each question, `None` if the claim or the cited text is in another language.

        A claim that is too long is not asked about either: a verdict on half a claim says nothing about the whole.

        Raises:
            EntailmentUnavailable: The server cannot be asked, or its reply cannot be read.
        """
        places = [place for place, question in enumerate(questions) if self._can_judge(question)]
        answers: list[EntailmentAnswer | None] = [None] * len(questions)
        made: list[ModelCall] = []
        try:
            judged = await self._model.judge([questions[place] for place in places], made) if places else []
        except ServerFault as fault:
            raise EntailmentUnavailable(fault.message, fault.way_out, calls=tuple(made), tried=True) from fault
        for place, answer in zip(places, judged, strict=True):
            answers[place] = answer
        return EntailmentReply(tuple(answers), tuple(made))

    def _can_judge(self, question: EntailmentQuestion) -> bool:
        if len(question.claim) > self._model.longest_claim:
            return False
        claim = detect(question.claim, default=min(self._languages))
        return {claim, detect(question.cited, default=claim)} <= self._languages
