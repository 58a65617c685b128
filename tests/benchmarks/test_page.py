"""What `make bench` writes down."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.benchmarks.__main__ import command_of
from tools.benchmarks.page import renew_sections, section

PAGE = Path(__file__).resolve().parents[2] / "docs" / "benchmarks.md"
OLD = "# Measurements\n\nOld words.\n\n## Turns\n\none\n\n| a |\n\n## Retrieval: 10 passages\n\ntwo\n\n## Start\n\nthree\n"


def test_a_section_that_was_not_measured_stays_as_it_was() -> None:
    """Of a page, only what was measured again is another."""
    page = renew_sections(OLD, {"Start": "four"})
    assert "## Turns\n\none\n\n| a |\n\n## Retrieval: 10 passages\n\ntwo\n\n## Start\n\nfour\n" in page
    assert "Old words" not in page
    assert "\n\nthree" not in page


def test_another_size_of_the_same_part_stands_behind_it() -> None:
    """A new section follows those of its part; one of a new part is the last."""
    page = renew_sections(OLD, {"Retrieval: 20 passages": "five", "Servers: 10 passages": "six"})
    headings = [line.removeprefix("## ") for line in page.splitlines() if line.startswith("## ")]
    assert headings == ["Turns", "Retrieval: 10 passages", "Retrieval: 20 passages", "Start", "Servers: 10 passages"]


def test_writing_the_page_twice_changes_nothing() -> None:
    """The page in the documentation is one that the writer would write."""
    page = PAGE.read_text("utf-8")
    assert renew_sections(page, {}) == page
    assert page.count("\n## ") >= 4


def test_a_section_says_when_and_how_it_was_made() -> None:
    """Date, command, Python and cores stand above the table."""
    text = section("| table |", date="2026-11-22", command="make bench", python="3.11.7", cores=2)
    assert text == "Made on 2026-11-22 by `make bench`, Python 3.11.7, 2 cores.\n\n| table |"


@pytest.mark.parametrize(
    ("arguments", "command"),
    [
        ([], "make bench"),
        (["--write"], "make bench"),
        (["--write", "--sizes", "10", "--keep", "/somewhere"], 'make bench ARGS="--sizes 10"'),
        (["--keep=/somewhere", "--parts", "start"], 'make bench ARGS="--parts start"'),
    ],
)
def test_a_command_can_be_given_by_anybody(arguments: list[str], command: str) -> None:
    """The command of a section names no folder of the machine it was made on."""
    assert command_of(arguments) == command
