"""An embedding model in this process, as an embedder."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, Protocol

from adapters.threads import in_thread
from contracts.calls import ModelCall
from contracts.enums import Language
from language.words import detect

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from adapters.index.ranking.embedder import Embedding

LONGEST_TEXT: Final = 2000
"""Characters of a text that are read; few passages have more."""
KEPT_QUERIES: Final = 256
_TOGETHER: Final = 4
"""Texts that are encoded together: whoever gives up waits for no more of them."""


class LocalModel(Protocol):
    """A model in this process. Its calls block, and may come from any thread."""

    @property
    def name(self) -> str: ...

    @property
    def languages(self) -> frozenset[Language]: ...

    @property
    def words_share(self) -> float: ...

    @property
    def prefixes(self) -> tuple[str, str]:
        """The prefixes of a query and of a passage; empty if the model treats both the same."""
        ...

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return a vector of length 1 for each text, one a row.

        Raises:
            ServerFault: The model cannot be loaded; the error says what to do.
        """
        ...


class LocalEmbedder:
    """An embedder that runs a model in threads, so that no event loop waits for it; the first text loads the model.

    Args:
        model: The model.
    """

    def __init__(self, model: LocalModel) -> None:
        self._model = model
        self._known: OrderedDict[str, Embedding] = OrderedDict()

    @property
    def name(self) -> str:
        return self._model.name

    @property
    def languages(self) -> frozenset[Language]:
        return self._model.languages

    @property
    def query_prefix(self) -> str:
        return self._model.prefixes[0]

    @property
    def words_share(self) -> float:
        return self._model.words_share

    def speaks(self, query: str, language: Language | None) -> bool:
        return detect(query) in self.languages and (language is None or language in self.languages)

    async def embed(self, texts: Sequence[str]) -> list[Embedding]:
        return await self._encode(self._model.prefixes[1], texts)

    async def embed_queries(self, texts: Sequence[str]) -> list[Embedding]:
        return await self._encode(self._model.prefixes[0], texts)

    async def embed_query(self, text: str, made: list[ModelCall] | None = None) -> Embedding:
        vector = self._known.pop(text, None)
        if vector is None:
            (vector,) = await self.embed_queries([text])
        self._known[text] = vector
        while len(self._known) > KEPT_QUERIES:
            self._known.popitem(last=False)
        return vector

    async def _encode(self, prefix: str, texts: Sequence[str]) -> list[Embedding]:
        whole = [prefix + text[:LONGEST_TEXT] for text in texts]
        parts = [whole[start : start + _TOGETHER] for start in range(0, len(whole), _TOGETHER)]
        return [vector for part in parts for vector in await in_thread(self._model.encode, part)]
