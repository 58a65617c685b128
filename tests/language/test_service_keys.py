"""Every row of `service_keys.toml`: its example is found, and what it names as none is not."""

from __future__ import annotations

import random
import re
import string
import tomllib
from importlib.resources import files
from itertools import product
from typing import Any

from language.privacy.secrets import secrets
from language.privacy.service_keys import SERVICE_KEYS

ROWS: list[dict[str, Any]] = tomllib.loads(files("language.privacy").joinpath("service_keys.toml").read_text("utf-8"))[
    "services"
]
LETTERS = {
    "A": string.ascii_letters + string.digits,
    "L": string.ascii_lowercase + string.digits,
    "U": string.ascii_uppercase + string.digits,
    "H": "0123456789abcdef",
    "D": string.digits,
}


def filled(text: str) -> str:
    """Put made-up letters and digits in the place of `{A32}`, the same in each run."""
    some = random.Random(text)  # noqa: S311  # nothing is kept secret by it
    return re.sub(r"\{([A-Z])(\d+)\}", lambda part: "".join(some.choices(LETTERS[part[1]], k=int(part[2]))), text)


def values(text: str) -> list[tuple[str, str]]:
    return [(span.rule, text[span.start : span.end]) for span in secrets(text)]


def test_the_key_of_a_service_is_found_alone_and_in_a_sentence() -> None:
    """And nothing but the key is marked; where it is known by what stands before it, that stands there."""
    for row in ROWS:
        key = filled(row["example"])
        for frame in ("%s", "Use %s here [1].", "Ключ `%s`, новый", "| x | %s |", "- %s\n- y"):
            assert values(frame % row.get("in", "%s") % key) == [("api-key", key)], (row["name"], frame)


def test_what_only_resembles_a_key_passes() -> None:
    """Names, addresses and shorter values that begin like one."""
    rows = [row for row in ROWS if "not" in row]
    assert rows
    for row, frame in product(rows, ("%s", "Use %s here [1].")):
        assert values(frame % filled(row["not"])) == [], (row["name"], frame)


def test_a_key_holds_one_of_the_beginnings_that_it_is_looked_for_by() -> None:
    """Else it would never be looked for; and a placeholder of the same beginning is no key."""
    for row in ROWS:
        shown = row.get("in", "%s") % filled(row["example"])
        assert any(begin in shown for begin in row["begins"]), row["name"]
        placeholder = re.sub(r"\{[A-Z](\d+)\}", lambda part: "x" * max(6, int(part[1])), row["example"])
        assert "api-key" not in dict(values(placeholder)), row["name"]


def test_no_two_rows_have_one_name() -> None:
    """A row is spoken of by its name, and all of them are compiled."""
    assert len({row["name"] for row in ROWS}) == len(ROWS) == len(SERVICE_KEYS)
