"""The keys that services issue, by their prefixes. The rows are in `service_keys.toml`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final

from language.patterns import read_toml


@dataclass(frozen=True, slots=True)
class ServiceKey:
    """The format of a service's keys.

    Attributes:
        begins: Plain texts; each such key contains one.
        form: The pattern of the whole key.
        random: Whether the form is too weak, so that the value must also look random.
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
