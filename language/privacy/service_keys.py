"""The keys that services give out, by their beginnings. The rows are `service_keys.toml`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final

from language.patterns import read_toml


@dataclass(frozen=True, slots=True)
class ServiceKey:
    """A form of key.

    Attributes:
        begins: Plain texts, of which each such key holds one.
        form: The whole key.
        random: Whether the form alone is too weak, and the value must look like none that a person made up.
    """

    name: str
    begins: tuple[str, ...]
    form: re.Pattern[str]
    random: bool


def _load_keys() -> tuple[ServiceKey, ...]:
    read: dict[str, Any] = read_toml("language.privacy", "service_keys.toml")
    return tuple(
        ServiceKey(
            row["name"],
            tuple(row["begins"]),
            re.compile(rf"(?<![A-Za-z0-9])(?:{row['pattern']})", re.ASCII),
            row.get("random", False),
        )
        for row in read["services"]
    )


SERVICE_KEYS: Final = _load_keys()
"""Read on import, and not in a turn: there no file is waited for."""
