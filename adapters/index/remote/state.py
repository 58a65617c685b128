"""The state of a server: its finished fills, the model of its vectors, and its statistics in parts."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Self

from adapters.index.embedded.index import analyser
from adapters.index.ranking.similarity import Calibration
from adapters.index.remote.sparse import Averages, Frequencies, Statistics

STATE: Final = "state"
"""The note that says what a server holds."""
FORMAT: Final = 1
"""Raised when vectors or rows are made otherwise: everything is then filled in again."""


@dataclass(frozen=True, slots=True)
class Dense:
    """The embedding model that a server's vectors are made with.

    Attributes:
        model: Its name, with the prefix of passages (`Embedder.name`).
        query_prefix: The prefix of queries.
        length: How many numbers a vector has.
        languages: The languages of the passages that have a vector.
        calibration: What a similarity is worth; `None` if it was not measured.
        directions: The name of the note on how the vectors differ (`adapters.index.ranking.spreads`); may be empty.
    """

    model: str
    query_prefix: str
    length: int
    languages: tuple[str, ...]
    calibration: Calibration | None = None
    directions: str = ""

    @classmethod
    def read(cls, value: dict[str, Any] | None) -> Self | None:
        """Return a `Dense` from parsed JSON.

        Raises:
            TypeError, LookupError: The JSON does not describe one.
        """
        if value is None:
            return None
        made, measured = cls(**value), value["calibration"]
        calibration = Calibration(**measured) if measured else None
        if calibration:
            calibration = replace(calibration, mean=tuple(calibration.mean))
        return replace(made, languages=tuple(made.languages), calibration=calibration)


@dataclass(frozen=True, slots=True)
class FinishedFill:
    """A fill that was finished.

    Attributes:
        revision: Names its statistics.
        parts: The number of notes that hold them.
        digest: Of the passages.
        versions: The indexed versions, as they were given.
        default_versions: What is searched if nobody names a version, as in the index.
        documents: How many there are of each kind.
        dense: The model of its vectors; `None` if it has no vectors.
    """

    revision: str
    parts: int
    digest: str
    versions: tuple[str, ...]
    default_versions: tuple[str, ...]
    documents: dict[str, int]
    dense: Dense | None = None


@dataclass(frozen=True, slots=True)
class State:
    """The state of a server.

    Attributes:
        averages: The averages of its passages' encoding, or of the encoding after the current fill.
        filled: The last finished fill; its statistics are used until the next one is finished.
        dense: The model of its vectors, or of its vectors after the current fill.
    """

    averages: Averages
    analyser: str
    format: int
    filled: FinishedFill | None = None
    dense: Dense | None = None

    @property
    def current(self) -> bool:
        """Whether its vectors were made with this program's format and tokenizer."""
        return (self.format, self.analyser) == (FORMAT, analyser())

    @classmethod
    def read(cls, text: str | None) -> Self | None:
        """Return the state from a note; `None` if there is none that can be read."""
        try:
            value = json.loads(text or "")
            title, heading, body = value["averages"]
            filled = None
            if value["filled"]:
                filled = FinishedFill(**value["filled"])
                # JSON has lists only.
                filled = replace(
                    filled,
                    versions=tuple(filled.versions),
                    default_versions=tuple(filled.default_versions),
                    dense=Dense.read(value["filled"].get("dense")),
                )
            dense = Dense.read(value.get("dense"))
            return cls((title, heading, body), value["analyser"], value["format"], filled, dense)
        except (ValueError, LookupError, TypeError):
            return None

    def written(self) -> str:
        """Return the state in the form of its note."""
        from dataclasses import asdict

        return json.dumps(asdict(self))


def part_key(revision: str, number: int) -> str:
    """Return the key of the note that holds a part of some statistics."""
    return f"words:{revision}:{number}"


def directions_note(name: str) -> str:
    """Return the key of the note that holds how vectors differ."""
    return f"directions:{name}"


def pack_statistics(statistics: Statistics, part: int = 500_000) -> list[str]:
    """Return statistics as texts of a limited length."""
    value = {"size": statistics.size, "averages": statistics.averages, "words": dict(statistics.frequencies)}
    text = base64.b85encode(zlib.compress(json.dumps(value, ensure_ascii=False).encode())).decode()
    return [text[start : start + part] for start in range(0, len(text), part)]


def unpack_statistics(parts: Sequence[str]) -> Statistics:
    """Return packed statistics.

    Raises:
        ValueError: The data are not packed statistics.
    """
    try:
        value = json.loads(zlib.decompress(base64.b85decode("".join(parts))))
        words: dict[str, Frequencies] = {word: (n[0], n[1], n[2]) for word, n in value["words"].items()}
        title, heading, body = value["averages"]
        return Statistics(value["size"], (title, heading, body), words)
    except (zlib.error, LookupError, TypeError) as error:
        raise ValueError("these are no statistics") from error
