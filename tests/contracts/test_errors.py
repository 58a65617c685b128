"""The tree of exceptions is the one that is drawn at the top of its module."""

from __future__ import annotations

import inspect
import re
from typing import Any

import pytest

import contracts.errors
from contracts.errors import GuardianError

OURS: dict[str, Any] = {
    name: member
    for name, member in inspect.getmembers(contracts.errors, inspect.isclass)
    if member.__module__ == contracts.errors.__name__
}


def drawn() -> dict[str, str]:
    """Read the drawing: each exception's name and the one that it hangs on."""
    parents: dict[str, str] = {}
    open_at: list[str] = []
    for line in (contracts.errors.__doc__ or "").splitlines():
        found = re.match(r"    (?P<branch>[│├└─ ]*)(?P<name>[A-Z]\w+)", line)
        if found:
            depth = len(found["branch"]) // 4
            del open_at[depth:]
            parents[found["name"]] = open_at[-1] if open_at else "Exception"
            open_at.append(found["name"])
    return parents


def test_the_tree_is_as_drawn() -> None:
    """No exception of ours is missing in the drawing, none in it hangs elsewhere, none has two parents."""
    assert drawn() == {name: " ".join(base.__name__ for base in member.__bases__) for name, member in OURS.items()}


@pytest.mark.parametrize("name", OURS)
def test_every_error_says_what_happened_and_the_way_out(name: str) -> None:
    """Each takes a message and a way out, keeps both, and prints both."""
    error = OURS[name]("The index is locked.", "Wait for the other process.")
    assert isinstance(error, GuardianError)
    assert (error.message, error.way_out) == ("The index is locked.", "Wait for the other process.")
    assert str(error) == "The index is locked. Wait for the other process."


def test_an_error_without_a_way_out_prints_its_message_alone() -> None:
    """No blank is left behind where there is no way out."""
    assert str(GuardianError("Nothing can be done.")) == "Nothing can be done."
