"""A transformer encoder in NumPy: from the pieces of a text to one vector of its meaning.

The arithmetic is BERT's (J. Devlin and others, NAACL 2019), as in XLM-RoBERTa and E5. Texts are encoded one at a time:
nothing is padded, and a vector does not depend on other texts. A text of one page is enough work for a matrix product.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from adapters.index.ranking.local.e5_file import E5File, PackedMatrix

    Matrix = NDArray[np.float32]

_GELU: Final = np.float32((2 / np.pi) ** 0.5)
_CUBIC: Final = np.float32(0.044715)
_HALF: Final = np.float32(0.5)


@dataclass(frozen=True, slots=True)
class _Linear:
    weights: Matrix
    bias: Matrix

    def __call__(self, rows: Matrix) -> Matrix:
        made = rows @ self.weights
        made += self.bias
        return made


@dataclass(frozen=True, slots=True)
class _Norm:
    factors: Matrix
    bias: Matrix
    epsilon: float

    def __call__(self, rows: Matrix) -> Matrix:
        made = rows - rows.mean(axis=-1, keepdims=True)
        made /= np.sqrt((made * made).mean(axis=-1, keepdims=True) + np.float32(self.epsilon))
        made *= self.factors
        made += self.bias
        return made


@dataclass(frozen=True, slots=True)
class _Layer:
    """Attention and a network, each added to what came in.

    Attributes:
        asking: Queries, keys and values side by side, the queries already divided by the root of a head's width.
    """

    heads: int
    asking: _Linear
    out: _Linear
    after_attention: _Norm
    widen: _Linear
    narrow: _Linear
    after_network: _Norm

    def __call__(self, rows: Matrix) -> Matrix:
        rows = self.after_attention(rows + self.out(self._attend(rows)))
        return self.after_network(rows + self.narrow(_gelu(self.widen(rows))))

    def _attend(self, rows: Matrix) -> Matrix:
        length, width = rows.shape
        apart = self.asking(rows).reshape(length, 3, self.heads, width // self.heads)
        queries, keys, values = np.ascontiguousarray(apart.transpose(1, 2, 0, 3))
        weights = queries @ keys.transpose(0, 2, 1)
        weights -= weights.max(axis=-1, keepdims=True)
        np.exp(weights, out=weights)
        weights /= weights.sum(axis=-1, keepdims=True)
        return (weights @ values).transpose(1, 0, 2).reshape(length, width)


def _gelu(rows: Matrix) -> Matrix:
    """Return x times the share of a normal distribution below x, by its usual approximation with tanh."""
    made = rows * rows
    made *= _CUBIC
    made += np.float32(1)
    made *= rows
    made *= _GELU
    np.tanh(made, out=made)
    made += np.float32(1)
    made *= rows
    made *= _HALF
    return made


class Encoder:
    """The model in a file, unpacked: 4 bytes a number, but for the vectors of its pieces, which stay as they are."""

    def __init__(self, file: E5File) -> None:
        self._pieces: PackedMatrix = file.matrices["emb.word"]
        self._ends = file.begin, file.end
        self._places: Matrix = file.vectors["emb.pos"].reshape(-1, file.width) + file.vectors["emb.type"][: file.width]
        self._first = _Norm(file.vectors["emb.ln.w"], file.vectors["emb.ln.b"], file.epsilon)
        self._layers = [_layer(file, f"l{number}.") for number in range(file.layers)]

    def encode(self, pieces: Sequence[int]) -> Matrix:
        """Return the vector of a text, of length 1; text beyond the model's limit is cut off.

        Args:
            pieces: The numbers of the pieces, without those for the beginning and the end.
        """
        begin, end = self._ends
        numbers = np.array([begin, *pieces[: len(self._places) - 2], end], np.intp)
        rows = self._first(self._pieces.rows(numbers) + self._places[: len(numbers)])
        for layer in self._layers:
            rows = layer(rows)
        mean = rows.mean(axis=0)
        return mean / np.linalg.norm(mean)


def _layer(file: E5File, name: str) -> _Layer:
    def linear(part: str) -> _Linear:
        weights = file.matrices[f"{name}{part}.w"].rows(slice(None))
        return _Linear(np.ascontiguousarray(weights.T), file.vectors[f"{name}{part}.b"])

    def norm(part: str) -> _Norm:
        return _Norm(file.vectors[f"{name}{part}.w"], file.vectors[f"{name}{part}.b"], file.epsilon)

    queries, keys, values = (linear(part) for part in "qkv")
    scale = np.float32((file.width // file.heads) ** -0.5)
    asking = _Linear(
        np.concatenate([queries.weights * scale, keys.weights, values.weights], axis=1),
        np.concatenate([queries.bias * scale, keys.bias, values.bias]),
    )
    return _Layer(file.heads, asking, linear("ao"), norm("aln"), linear("fi"), linear("fo"), norm("oln"))
