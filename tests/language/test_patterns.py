"""The words and patterns that stand in TOML: each pattern finds its examples, takes linear time, and is read."""

from __future__ import annotations

import importlib
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from language.patterns import Wording, read_wording

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("adapters", "guards", "language", "nodes", "rendering")
DATA = sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.toml"))


def _reads_its_file(module: Path) -> bool:
    return module.exists() and "read_wording(__name__)" in module.read_text("utf-8")


FILES = [path for path in DATA if _reads_its_file(path.with_suffix(".py"))]
WAYS = {None: "search", "start": "match", "whole": "fullmatch"}


class Entry(NamedTuple):
    """A pattern as its module has it: its name, what looks for it, and the texts that stand beside it."""

    name: str
    find: Callable[[str], re.Match[str] | None]
    examples: list[str]
    others: list[str]


def _wording(path: Path) -> Wording:
    module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
    importlib.import_module(module)  # it says which pieces it gives
    return read_wording(module)


def _patterns(path: Path) -> Iterator[Entry]:
    wording = _wording(path)
    for name, entry in wording.entries.items():
        if isinstance(entry, dict) and "pattern" in entry:
            yield _entry(name, wording.pattern(name, **wording.given.get(name, {})), entry)
        elif isinstance(entry, list) and isinstance(entry[0], dict) and "pattern" in entry[0]:
            found = zip(wording.patterns(name), entry, strict=True)
            yield from (_entry(f"{name} {at}", pattern, one) for at, (pattern, one) in enumerate(found))


def _entry(name: str, pattern: re.Pattern[str], entry: dict[str, Any]) -> Entry:
    find = getattr(pattern, WAYS[entry.get("how")])
    return Entry(name, find, _texts(entry.get("example", [])), _texts(entry.get("no_match", [])))


def _texts(said: str | list[str]) -> list[str]:
    return [said] if isinstance(said, str) else said


def _ids(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", FILES, ids=_ids)
def test_a_pattern_is_found_in_its_examples_and_in_nothing_that_only_looks_like_them(path: Path) -> None:
    """Each has an example at least."""
    for name, find, examples, others in _patterns(path):
        assert examples, name
        assert [text for text in examples if not find(text)] == [], name
        assert [text for text in others if find(text)] == [], name


SIZE = 2_000
"""Characters that a text is grown to, and then to twice as many."""
WORDLY = re.compile(r"\w\Z")
NO_TIME = 0.004
"""Seconds of what cannot be measured: a pattern that takes twice its time for twice the text takes less."""


@pytest.mark.parametrize("path", FILES, ids=_ids)
def test_a_pattern_takes_twice_the_time_for_twice_the_text(path: Path) -> None:
    """Tried after each word of its examples with what texts repeat, and after what stands between with words and figures."""
    for name, find, examples, _ in _patterns(path):
        beginnings = {text[: part.end()] for text in examples for part in re.finditer(r"\w+|\W+", text)}
        for begins in sorted(beginnings):
            for part in ("x", "1", "-", "а б ", *((" ", "\n", ", ") if WORDLY.search(begins) else ())):
                assert _is_linear(find, begins, part), (name, begins, part)


def _is_linear(find: Callable[[str], object], begins: str, part: str) -> bool:
    once, twice = (begins + part * (size // len(part)) for size in (SIZE, 2 * SIZE))
    if _seconds(find, twice) < NO_TIME:
        return True
    # The quickest of some runs: what is busy beside this one takes time, and gives none.
    return any(
        min(_seconds(find, twice) for _ in range(runs)) < 3 * min(_seconds(find, once) for _ in range(runs))
        for runs in (1, 3, 5)
    )


def _seconds(find: Callable[[str], object], text: str) -> float:
    began = time.process_time()
    find(text)
    return time.process_time() - began


@pytest.mark.parametrize("path", FILES, ids=_ids)
def test_every_entry_of_a_file_is_read_by_its_module_or_by_another_entry(path: Path) -> None:
    """What nothing reads would look as if it did something."""
    text, code = path.read_text("utf-8"), path.with_suffix(".py").read_text("utf-8")
    read = {*re.findall(r"[\"'](\w+)[\"']", code), *re.findall(r"\{([a-z][a-z0-9_]*)\}", text)}
    assert set(_wording(path).entries) - read == set()


def test_every_file_of_words_is_read_by_a_module() -> None:
    """The module of its name reads it, or one of its package names it; the texts of a language are named by it."""
    unread = [
        _ids(path)
        for path in DATA
        if path not in FILES
        and not any(f'"{path.name}"' in module.read_text("utf-8") for module in path.parent.glob("*.py"))
        and path.parent.name != "locales"
    ]
    assert unread == []


def test_a_pattern_is_put_together_of_pieces_and_words() -> None:
    """A piece may name pieces, words stand in a row of alternatives, and what the file does not have is given."""
    wording = Wording(
        {
            "colours": {"words": "red green"},
            "thing": {"piece": ["(?:{colours})", " {shape}s?"]},
            "things": {"flags": "i", "pattern": "(?:{thing}){1,2}$"},
            "either": [{"pattern": "a{2}"}, {"pattern": "{colours}"}],
            "months": {"forms": {"1": "jan"}},
            "units": {"rows": [["m", "length 1"]]},
        }
    )
    assert wording.words("colours") == ("red", "green")
    assert wording.pattern("things", shape="cube").pattern == "(?:(?:red|green) cubes?){1,2}$"
    assert wording.pattern("things", shape="ball").fullmatch("RED balls")
    assert [pattern.pattern for pattern in wording.patterns("either")] == ["a{2}", "red|green"]
    assert wording.forms("months") == {"1": "jan"}
    assert wording.rows("units") == [["m", "length 1"]]


def test_a_piece_that_nobody_has_stops_the_import() -> None:
    """It is no part of a pattern that happens to find nothing."""
    with pytest.raises(KeyError, match="nowhere"):
        Wording({"one": {"pattern": "{nowhere}"}}).pattern("one")
