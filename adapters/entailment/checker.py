"""The entailment port over a model on a server: the questions to it, and the handling of its faults."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import Final, Protocol

from contracts.calls import ModelCall
from contracts.enums import Language
from contracts.errors import EntailmentUnavailable, ServerFault
from contracts.ports import EntailmentAnswer, EntailmentQuestion, EntailmentReply
from language.words import detect

KEPT_ANSWERS: Final = 512
"""Answers that are kept, those that were wanted last: the tries of a turn repeat most of their claims."""


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

    A claim is asked about once: another try of the draft that cites the same text for it gets the same answer.

    Args:
        model: Asked at most once for each check.
        languages: The model's languages.
    """

    def __init__(self, model: EntailmentModel, languages: frozenset[Language]) -> None:
        self._model = model
        self._languages = languages
        self._known: OrderedDict[EntailmentQuestion, EntailmentAnswer] = OrderedDict()

    async def check(self, questions: Sequence[EntailmentQuestion]) -> EntailmentReply:
        """Return one answer for each question, `None` if the claim or the cited text is in another language.

        A claim that is too long is not asked about either: a verdict on half a claim says nothing about the whole.

        Raises:
            EntailmentUnavailable: The server cannot be asked, or its reply cannot be read.
        """
        known = {question: self._known[question] for question in questions if question in self._known}
        unknown = [one for one in dict.fromkeys(questions) if one not in known and self._can_judge(one)]
        made: list[ModelCall] = []
        try:
            judged = await self._model.judge(unknown, made) if unknown else []
        except ServerFault as fault:
            raise EntailmentUnavailable(fault.message, fault.way_out, calls=tuple(made), tried=True) from fault
        known |= zip(unknown, judged, strict=True)
        self._keep(known)
        return EntailmentReply(tuple(known.get(question) for question in questions), tuple(made))

    def _keep(self, answers: dict[EntailmentQuestion, EntailmentAnswer]) -> None:
        for question, answer in answers.items():
            self._known[question] = answer
            self._known.move_to_end(question)
        while len(self._known) > KEPT_ANSWERS:
            self._known.popitem(last=False)

    def _can_judge(self, question: EntailmentQuestion) -> bool:
        if len(question.claim) > self._model.longest_claim:
            return False
        claim = detect(question.claim, default=min(self._languages))
        return {claim, detect(question.cited, default=claim)} <= self._languages
