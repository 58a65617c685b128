"""The labelled turns and messages that ship: enough of each kind, of the language they say, none a copy of another."""

from __future__ import annotations

import json
from collections import Counter
from itertools import combinations
from pathlib import Path

import pytest
from rapidfuzz import fuzz, utils
from rapidfuzz.process import cdist

from contracts.enums import Language, SafetyLevel, SGRAction
from evals.cases import CASES, MessageCase, TurnCase, read_cases
from language.words import detect

LANGUAGES = tuple(Language)
FILES = [CASES / f"{kind}_{language}.jsonl" for kind in ("turns", "messages") for language in LANGUAGES]

files = pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
languages = pytest.mark.parametrize("language", LANGUAGES)


def turns(language: Language) -> list[TurnCase]:
    return [case for case in read_cases(CASES / f"turns_{language}.jsonl") if isinstance(case, TurnCase)]


def messages(language: Language) -> list[MessageCase]:
    return [case for case in read_cases(CASES / f"messages_{language}.jsonl") if isinstance(case, MessageCase)]


def texts(path: Path) -> list[str]:
    cases = read_cases(path)
    return ["\n".join(case.says) if isinstance(case, TurnCase) else getattr(case, "text", "") for case in cases]


def normalised(text: str) -> str:
    return utils.default_process(text).strip()


@languages
def test_there_are_three_hundred_turns_of_every_route_in_each_language(language: Language) -> None:
    """At least 300 turns, each with the route that it should take and the kind of question it is."""
    cases = turns(language)
    routes = Counter(case.route for case in cases)
    assert len(cases) >= 300
    assert all(case.topic for case in cases)
    assert routes[SGRAction.NORMAL] >= 180
    assert min(routes[route] for route in (SGRAction.CLARIFY, SGRAction.BLOCK, SGRAction.GUARDIAN_BLOCK)) >= 60


@languages
def test_turns_are_long_and_short_asked_alone_and_in_a_conversation(language: Language) -> None:
    """They are what users write: stories, words alone, capitals, several questions, answers to what was asked back."""
    cases = turns(language)
    topics = Counter(case.topic for case in cases)
    lengths = sorted(len(case.says[-1]) for case in cases)
    assert sum(len(case.says) > 1 for case in cases) >= 10
    assert topics["provocative"] >= 25
    assert min(topics[name] for name in ("typos", "upper_case", "several", "story", "no_question_mark")) >= 4
    assert lengths[0] <= 10
    assert lengths[-1] >= 300


@languages
def test_there_are_enough_messages_of_every_set_in_each_language(language: Language) -> None:
    """Harmless sets are Safe throughout; attacks are Unsafe, and what only may be one is Controversial."""
    cases = messages(language)
    sets = Counter(case.set for case in cases)
    least = {"provocative": 120, "support": 60, "jailbreak": 80, "injection": 60}
    assert set(sets) == set(least)
    assert all(sets[name] >= number for name, number in least.items())
    levels = {name: {case.level for case in cases if case.set == name} for name in sets}
    assert levels["provocative"] == levels["support"] == {SafetyLevel.SAFE}
    assert levels["jailbreak"] == {SafetyLevel.UNSAFE}
    assert levels["injection"] == {SafetyLevel.UNSAFE, SafetyLevel.CONTROVERSIAL}


def test_ids_are_unique_over_all_files() -> None:
    """Every file of cases can be read together with every other, the handbook's questions included."""
    assert len(read_cases(CASES / "handbook.jsonl", *FILES)) > 1000


def test_no_case_repeats_a_question_of_the_handbook() -> None:
    """What was tuned on before is not asked again under another name."""
    asked = {normalised(text) for text in texts(CASES / "handbook.jsonl")}
    assert not [text for path in FILES for text in texts(path) if normalised(text) in asked - {""}]


@files
def test_no_two_cases_of_a_file_are_near_copies(path: Path) -> None:
    """No two texts of like length are made of the same words, in whatever order.

    Where one is less than half as long as the other, its words are bound to be found there: "settings".
    """
    every = texts(path)
    alike = cdist(every, every, scorer=fuzz.token_set_ratio, processor=utils.default_process)
    words = [len(normalised(text).split()) for text in every]
    copies = [
        (every[i], every[j])
        for i, j in combinations(range(len(every)), 2)
        if alike[i][j] > 90 and 2 * min(words[i], words[j]) >= max(words[i], words[j])
    ]
    assert not copies


@files
def test_about_a_third_of_a_file_is_held_back(path: Path) -> None:
    """The part that nobody looks at while tuning is large enough to tell, and leaves enough to tune on."""
    cases = read_cases(path)
    assert 0.28 <= sum(case.held_back for case in cases) / len(cases) <= 0.39


@files
def test_a_case_is_written_in_the_language_it_says(path: Path) -> None:
    """The product takes each text for the language of its case; where it cannot, a note says why."""
    language = Language(path.stem.rpartition("_")[2])
    cases = read_cases(path)
    assert {case.language for case in cases} == {language}
    others = [case.id for case, text in zip(cases, texts(path), strict=True) if detect(text) is not language]
    assert not [case.id for case in cases if case.id in others and not case.note]


@files
def test_a_line_holds_nothing_that_stands_elsewhere(path: Path) -> None:
    """A line has no empty text, and no text with spaces around it."""
    for line in path.read_text("utf-8").splitlines():
        row = json.loads(line)
        assert all(text and text == text.strip() for text in row.get("says", [row.get("text")])), row["id"]
