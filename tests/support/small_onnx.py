"""A folder with a tiny embedding model or reranker: a table of words' vectors as an ONNX graph, written byte by byte.

ONNX is Protocol Buffers: a message is fields, each a number with its kind, and a value. The package `onnx` would be 9 MB.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

_FLOAT, _INT64 = 1, 7
"""Types of ONNX."""
_INTS = 7
"""The type of an attribute that is a list of whole numbers."""


def _varint(number: int) -> bytes:
    found = bytearray()
    while number > 0x7F:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*found, number])


def _message(*fields: tuple[int, int | str | bytes]) -> bytes:
    found = b""
    for number, value in fields:
        if isinstance(value, int):
            found += _varint(number << 3) + _varint(value)
        else:
            raw = value.encode() if isinstance(value, str) else value
            found += _varint(number << 3 | 2) + _varint(len(raw)) + raw
    return found


def _node(kind: str, inputs: Sequence[str], output: str, *attributes: bytes) -> bytes:
    return _message(*((1, name) for name in inputs), (2, output), (4, kind), *((5, one) for one in attributes))


def _value(name: str, kind: int, *axes: str) -> bytes:
    shape = _message(*((1, _message((2, axis))) for axis in axes))
    return _message((1, name), (2, _message((1, _message((1, kind), (2, shape))))))


def graph(table: np.ndarray[Any, np.dtype[np.float32]], *, pooled: bool = False, more: Sequence[str] = ()) -> bytes:
    """Return a graph that looks pieces up in a table, and where it is pooled returns their mean."""
    rows = _message((1, table.shape[0]), (1, table.shape[1]), (2, _FLOAT), (8, "table"), (9, table.tobytes()))
    nodes = [_node("Gather", ["table", "input_ids"], "pieces")]
    if pooled:
        axes = _message((1, "axes"), (8, 1), (20, _INTS))
        keep = _message((1, "keepdims"), (3, 0), (20, 2))
        nodes.append(_node("ReduceMean", ["pieces"], "text", axes, keep))
    inputs = [(11, _value(name, _INT64, "one", "length")) for name in ("input_ids", "attention_mask", *more)]
    output = (
        12,
        _value("text", _FLOAT, "one", "width") if pooled else _value("pieces", _FLOAT, "one", "length", "width"),
    )
    body = _message(*((1, node) for node in nodes), (2, "table"), (5, rows), *inputs, output)
    return _message((1, 8), (7, body), (8, _message((1, ""), (2, 13))))


def tokenizer(words: Mapping[str, int]) -> str:
    """Return a tokenizer that knows whole words in lower case; the word 0 stands for all others."""
    unknown = next(word for word, number in words.items() if number == 0)
    return json.dumps(
        {
            "version": "1.0",
            "added_tokens": [],
            "normalizer": {"type": "Lowercase"},
            "pre_tokenizer": {"type": "Whitespace"},
            "post_processor": None,
            "decoder": None,
            "model": {"type": "WordLevel", "vocab": dict(words), "unk_token": unknown},
        }
    )


def folder(path: Path, words: Mapping[str, Sequence[float]], *, manifest: str = "", **options: Any) -> Path:
    """Write a folder whose model gives each word its vector, all others the first's; return it.

    Args:
        path: Where.
        words: Their vectors, of one length.
        manifest: Lines beside the usual ones, or in their place.
        options: Of the graph.
    """
    path.mkdir(parents=True, exist_ok=True)
    table = np.array(list(words.values()), np.float32)
    (path / "model.onnx").write_bytes(graph(table, **options))
    (path / "tokenizer.json").write_text(tokenizer({word: number for number, word in enumerate(words)}), "utf-8")
    pooling = "none" if options.get("pooled") else "mean"
    usual = {
        "name": '"tiny"',
        "languages": '["en", "ru"]',
        "dimension": str(table.shape[1]),
        "pooling": f'"{pooling}"',
    }
    own = dict(line.split(" = ", 1) for line in manifest.splitlines())
    lines = [f"{name} = {value}" for name, value in {**usual, **own}.items()]
    _write_manifest(path / "embedder.toml", lines)
    return path


def reranker_folder(path: Path, words: Mapping[str, float], *, manifest: str = "") -> Path:
    """Write a folder whose model gives a pair the mean of its words' numbers, all other words the first's; return it."""
    path.mkdir(parents=True, exist_ok=True)
    table = np.array([[number] for number in words.values()], np.float32)
    (path / "model.onnx").write_bytes(graph(table, pooled=True))
    (path / "tokenizer.json").write_text(tokenizer({word: number for number, word in enumerate(words)}), "utf-8")
    _write_manifest(path / "reranker.toml", ['name = "tiny-reader"', 'languages = ["en"]', *manifest.splitlines()])
    return path


def _write_manifest(manifest: Path, lines: Sequence[str]) -> None:
    path = manifest.parent
    digests = [
        f'"{name}" = "{sha256((path / name).read_bytes()).hexdigest()}"' for name in ("model.onnx", "tokenizer.json")
    ]
    manifest.write_text("\n".join([*lines, "[sha256]", *digests]) + "\n", "utf-8")
