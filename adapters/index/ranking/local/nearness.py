"""Nearness of texts to a question, by a model in this process."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from adapters.index.ranking.local.embedder import LocalModel
from adapters.threads import in_thread
from contracts.errors import ServerFault

if TYPE_CHECKING:
    from adapters.index.ranking.embedder import Embedding

KEPT_TEXTS: Final = 2_000
"""Texts whose vectors are kept, those that were asked for last; 4 MB. The same ones are quoted again and again."""
_LONGEST: Final = 400
"""Characters of a text that are read: what a sentence is about stands at its beginning."""


class LocalNearness:
    """Compares texts with a question by their vectors; the vectors of the last `KEPT_TEXTS` texts are kept.

    Args:
        model: The model.
    """

    def __init__(self, model: LocalModel) -> None:
        self._model = model
        self._known: OrderedDict[str, Embedding] = OrderedDict()
        self._keeping = threading.Lock()

    async def nearness(self, question: str, texts: Sequence[str]) -> tuple[float, ...]:
        """Return the cosine of each text to the question, in their order; empty if the model cannot be loaded."""
        try:
            return await in_thread(self._compare, question, texts)
        except (ServerFault, UnicodeError):
            return ()  # the search by meaning has told of it, and what is no text is near to nothing

    def _compare(self, question: str, texts: Sequence[str]) -> tuple[float, ...]:
        asked, *others = self._vectors([question, *texts])
        return tuple(float(asked @ other) for other in others)

    def _vectors(self, texts: Sequence[str]) -> list[Embedding]:
        cut = [text[:_LONGEST] for text in texts]
        with self._keeping:
            known = {text: self._known[text] for text in cut if text in self._known}
            for text in known:
                self._known.move_to_end(text)
        if missing := list(dict.fromkeys(text for text in cut if text not in known)):
            known |= dict(zip(missing, self._model.encode(missing), strict=True))
        with self._keeping:
            self._known.update((text, known[text]) for text in missing)
            while len(self._known) > KEPT_TEXTS:
                self._known.popitem(last=False)
        return [known[text] for text in cut]
