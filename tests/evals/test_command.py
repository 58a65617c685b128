"""`python -m evals`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from evals.__main__ import replaced
from evals.retrieval.corpora import Data, foreign

ROOT = Path(__file__).resolve().parents[2]


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "evals", *arguments], cwd=ROOT, capture_output=True, text=True, timeout=240, check=False
    )


def test_help_names_the_parts() -> None:
    """Who asks for help is told which parts there are and where public data is looked for."""
    told = run("--help").stdout
    assert "turns" in told
    assert "retrieval" in told
    assert "--data" in told


def test_an_unknown_part_is_an_error() -> None:
    """A misspelt part is named, and what there is."""
    done = run("retreival")
    assert done.returncode == 2
    assert "'retreival'" in done.stderr
    assert "turns and retrieval" in done.stderr


def test_one_part_is_written_anew_and_the_other_stays() -> None:
    """Writing a part twice leaves one of it, in the place of the parts' order."""
    page = replaced(replaced("", "retrieval", "old search\n"), "turns", "how turns end\n")
    again = replaced(page, "retrieval", "new search\n")
    assert "old search" not in again
    assert again.index("how turns end") < again.index("new search")
    assert replaced(again, "retrieval", "new search\n") == again


def test_a_page_without_marks_is_written_from_scratch() -> None:
    """What an earlier form of the page held does not stand beside the new one."""
    assert "before" not in replaced("# Evaluation\n\nbefore\n", "turns", "now\n")


def test_missing_data_is_named(tmp_path: Path) -> None:
    """Where public data is not there, no figure is made up, and what is left out is told."""
    data = Data(tmp_path)
    assert foreign(data) == {}
    assert any("XQuAD" in name for name in data.missing)
    assert len(data.missing) == 3


def test_a_look_is_not_written() -> None:
    """The page never holds figures of some questions only."""
    done = run("retrieval", "--questions", "3", "--write")
    assert done.returncode == 2
    assert "--questions" in done.stderr


@pytest.mark.slow
def test_without_public_data_the_handbook_is_measured_all_the_same(tmp_path: Path) -> None:
    """The tables of the handbook are there, those of other documents are said to be left out."""
    done = run("retrieval", "--questions", "4", "--data", str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert "Left out, for the data is not there: FastAPI's documentation; XQuAD" in done.stdout
    assert "| handbook | ru | 4 |" in done.stdout
    for title in ("Which pages are found", "Misspelt questions", "Several questions in one message", "Wider search"):
        assert f"### {title}" in done.stdout
    assert "not measured" in done.stdout
    assert "FastAPI docs |" not in done.stdout
    assert str(tmp_path) not in done.stdout
