"""A model of natural language inference on text-embeddings-inference: `POST {url}/predict`.

The request has pairs of premise and hypothesis, `{"inputs": [[premise, hypothesis], ...]}`. The reply has for each pair
a list of labels with their scores, which add up to 1.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from adapters.index.ranking.requests import RankingAccess, RankingServer, number_of
from adapters.models.retries import Pauses, deadline_in
from contracts.calls import ModelCall
from contracts.enums import CallPurpose, Entailment, FaultKind
from contracts.errors import ServerFault
from contracts.ports import EntailmentAnswer, EntailmentQuestion

LONGEST_TEXT: Final = 4000
"""Characters of a cited text that are sent; models of this kind read some 512 tokens, and the server cuts the rest."""
LONGEST_CLAIM: Final = 1000
"""Characters of a claim; a longer one is not asked about."""
_BATCH: Final = 32
"""Pairs that the server takes at once, unless told otherwise."""
_LEAST_S: Final = 0.05
NAMES: Final[Mapping[str, Entailment]] = {
    "entailment": Entailment.ENTAILED,
    "neutral": Entailment.NEUTRAL,
    "not_entailment": Entailment.NEUTRAL,
    "contradiction": Entailment.CONTRADICTED,
}
"""What the labels of such models say; those with two labels tell entailment from everything else."""
_NUMBERED: Final = re.compile(r"label_(\d{1,2})")


class NliModel:
    """A client for one model of natural language inference.

    Args:
        access: The model; its `timeout_s` is for all claims of one draft together.
        labels: The meanings of `LABEL_0`, `LABEL_1`, ..., for models without names for their labels.
        pauses: Between tries.
    """

    def __init__(
        self, access: RankingAccess, labels: Sequence[Entailment] = (), *, pauses: Pauses | None = None
    ) -> None:
        self._access = access
        self._labels = tuple(labels)
        self._server = RankingServer(access, "predict", "entailment server", CallPurpose.ENTAIL, pauses)

    @property
    def longest_claim(self) -> int:
        """See `EntailmentModel`."""
        return LONGEST_CLAIM

    async def judge(self, questions: Sequence[EntailmentQuestion], made: list[ModelCall]) -> list[EntailmentAnswer]:
        """Return the most likely answer to each question; see `EntailmentModel`."""
        deadline = deadline_in(self._access.timeout_s)
        found: list[EntailmentAnswer] = []
        for start in range(0, len(questions), _BATCH):
            pairs = [[one.cited[:LONGEST_TEXT], one.claim] for one in questions[start : start + _BATCH]]
            left = deadline - asyncio.get_running_loop().time()
            if left < _LEAST_S:
                raise ServerFault(
                    "The entailment server did not get through all claims in time.",
                    f"Allow more time ({self._access.settings}_TIMEOUT), or use a faster model.",
                    kind=FaultKind.DEADLINE,
                )
            found += await self._ask(pairs, left, made)
        return found

    async def _ask(self, pairs: list[list[str]], seconds: float, made: list[ModelCall]) -> list[EntailmentAnswer]:
        body: dict[str, object] = {"inputs": pairs, "truncate": True, "raw_scores": False}
        return await self._server.ask(body, lambda reply: self._read(reply, len(pairs)), seconds, made)

    def _read(self, reply: Any, count: int) -> list[EntailmentAnswer]:
        """Return the answers of a reply.

        Raises:
            ValueError: They are not one list of known labels with scores for each pair.
        """
        if not isinstance(reply, list):
            raise ValueError("its reply is not a list")
        entries = cast("list[Any]", reply)
        if len(entries) != count:
            raise ValueError(f"its reply has {len(entries)} answers where {count} are due")
        return [self._answer(entry) for entry in entries]

    def _answer(self, entry: Any) -> EntailmentAnswer:
        if not isinstance(entry, list) or not entry:
            raise ValueError("one of its answers is not a list of labels")
        scores: dict[str, tuple[Entailment, float]] = {}
        for one in cast("list[Any]", entry):
            fields = cast("dict[str, Any]", one) if isinstance(one, dict) else {}
            label = fields.get("label")
            if not isinstance(label, str) or label.lower() in scores:
                raise ValueError("one of its labels is missing, or there twice")
            score = number_of(fields.get("score"), "one of its scores")
            if not 0 <= score <= 1:
                raise ValueError("one of its scores is not between 0 and 1")
            scores[label.lower()] = (self._name_label(label.lower()), score)
        entailment, confidence = max(scores.values(), key=lambda pair: pair[1])
        return EntailmentAnswer(entailment, confidence)

    def _name_label(self, label: str) -> Entailment:
        if known := NAMES.get(label):
            return known
        numbered = _NUMBERED.fullmatch(label)
        if numbered and int(numbered[1]) < len(self._labels):
            return self._labels[int(numbered[1])]
        # A label of a stranger's choosing is not repeated: it may be anything.
        shown = label.upper() if numbered else "one of its labels"
        raise ValueError(f"nothing says what {shown} stands for; {self._access.settings}_LABELS would")
