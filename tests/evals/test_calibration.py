"""`guardian calibrate`: the limit that it advises, and what it writes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from evals.calibration import StatedAnswer, advise_limit, limits_of
from tests.support.cli_helpers import CORPUS, PROFILE, Desk


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Desk:
    """A desk at the library's documents, indexed."""
    place = tmp_path_factory.mktemp("calibrated")
    desk = Desk(place / "data", place)
    desk.index()
    return desk


def stated(wrong_below: float) -> list[StatedAnswer]:
    """Return a hundred answers, ever surer, of which those below a figure are wrong."""
    return [StatedAnswer(n / 100, n / 100 < wrong_below) for n in range(100)]


def test_the_lowest_limit_that_is_rarely_wrong_is_advised() -> None:
    """Of the answers that reach it, 15 % at most are wrong, and 5 % of all questions."""
    limits = limits_of(stated(0.72), 100)
    chosen = advise_limit(limits)
    assert chosen is not None
    assert chosen.value == 0.7
    assert (chosen.answered.hits, chosen.wrong.hits) == (30, 2)


@pytest.mark.parametrize("found", [stated(1.0), stated(0.5)[:5], []], ids=["all wrong", "too few", "none"])
def test_where_no_limit_is_good_none_is_advised(found: list[StatedAnswer]) -> None:
    """Neither where too much is wrong, nor where too few answers tell anything."""
    assert advise_limit(limits_of(found, 100)) is None


def test_few_questions_and_a_bundled_profile_are_refused_with_a_way_out(shelf: Desk, tmp_path: Path) -> None:
    """Before anything is asked."""
    path = tmp_path / "questions.jsonl"
    path.write_text(json.dumps({"id": "a", "language": "en", "says": ["Why?"], "pages": ["en/backup.md"]}), "utf-8")
    few = shelf.here("calibrate", str(path))
    assert few.code != 0
    assert "fewer than 40" in few.err
    bundled = shelf.here("calibrate", str(path), "--profile", "handbook", "--write")
    assert bundled.code != 0
    assert "Copy it" in bundled.err


def test_the_limit_is_written_into_the_profile(shelf: Desk, tmp_path: Path) -> None:
    """The table is printed, and the profile has the line, once, and all that it had before."""
    lines = [
        {
            "id": f"q{n}",
            "language": "en",
            "says": ["How do I restore the catalogue from a backup?"],
            "pages": ["en/restore.md"],
        }
        for n in range(40)
    ]
    path, profile = tmp_path / "questions.jsonl", tmp_path / "own.toml"
    path.write_text("\n".join(map(json.dumps, lines)), "utf-8")
    text = PROFILE.read_text("utf-8")
    profile.write_text(text.replace('path = "corpus"', f"path = {json.dumps(str(CORPUS))}"), "utf-8")
    before = profile.read_text("utf-8")
    said = shelf.here("calibrate", str(path), "--profile", str(profile), "--write")
    assert said.code == 0, said.err
    assert "| 0.5 | 100% (40/40;" in said.out
    assert profile.read_text("utf-8") == before.replace("sure_relevance = 0.6\n", "sure_relevance = 0.5\n")
