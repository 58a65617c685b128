"""The labelled questions themselves, and what is made of them."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import combinations
from pathlib import Path

import pytest

from adapters.index.spelling import edit_distance
from contracts.enums import Language
from contracts.errors import ConfigError
from evals.retrieval.corpora import DATA
from evals.retrieval.overlap import handbook_headings, mean_overlap, overlap, paths_headings
from evals.retrieval.questions import FOLDER, RetrievalQuestion, in_language, join_questions, misspelt, read_lines
from language.words import detect, stems

FASTAPI = DATA / "fastapi-docs"
HANDBOOK = read_lines(FOLDER / "handbook.jsonl")
BOTH = list(Language)


def test_there_are_enough_questions_and_a_third_is_held_back() -> None:
    """At least 150 in each language on the handbook and 60 on real documentation; of both a third was never tuned on."""
    for lines, least in ((HANDBOOK, 150), (read_lines(FOLDER / "fastapi.jsonl"), 60)):
        assert len(lines) >= least
        assert sum(line.held_back for line in lines) >= len(lines) // 3


def test_labels_name_pages_of_the_handbook_that_there_are() -> None:
    """Every label is a page in both languages."""
    pages = handbook_headings()
    for language in BOTH:
        named = {page for question in in_language(HANDBOOK, language) for page in question.grades}
        assert named <= set(pages)


def test_nearly_every_page_of_the_handbook_is_asked_for() -> None:
    """Questions are spread over the handbook: nine of ten pages answer one of them."""
    answering = {
        page for question in in_language(HANDBOOK, Language.EN) for page, g in question.grades.items() if g == 2
    }
    there = {page for page in handbook_headings() if page.startswith("en/")}
    assert len(answering) >= 0.9 * len(there)


def test_pages_are_named_by_their_path(tmp_path: Path) -> None:
    """A page of any folder is one with its path as the name that a label has, whatever its language, and files that are none are not."""
    for name in ("en/index.md", "ru/guide/first.md", "en/notes.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("# First\n\nText.\n\n## Second\n", "utf-8")
    assert paths_headings(tmp_path) == dict.fromkeys(("en/index.md", "ru/guide/first.md"), "First\nSecond")


@pytest.mark.skipif(not FASTAPI.is_dir(), reason="FastAPI's documentation is not beside the project")
def test_labels_name_pages_of_fastapi_that_there_are() -> None:
    """Every label is a file in both languages."""
    pages = paths_headings(FASTAPI)
    for language in BOTH:
        for question in in_language(read_lines(FOLDER / "fastapi.jsonl"), language):
            assert set(question.grades) <= set(pages)


@pytest.mark.parametrize("language", BOTH)
@pytest.mark.parametrize("name", ["handbook", "fastapi"])
def test_a_question_is_written_in_its_language(name: str, language: Language) -> None:
    """What the search is told of the language is what a turn would find out, but for one mixed sentence in a hundred."""
    asked = in_language(read_lines(FOLDER / f"{name}.jsonl"), language)
    assert sum(detect(one.text) is not language for one in asked) <= len(asked) / 50


@pytest.mark.parametrize("language", BOTH)
def test_questions_are_not_made_of_the_pages_own_words(language: Language) -> None:
    """On average less than two fifths of a question's content words stand in the title or a heading of its page."""
    share = mean_overlap(in_language(HANDBOOK, language), handbook_headings())
    print(f"{language}: {share:.0%}")  # noqa: T201  # who wonders how many runs pytest with -s
    assert share < 0.4


@pytest.mark.parametrize("language", BOTH)
def test_no_question_is_a_heading(language: Language) -> None:
    """No heading of the page that answers holds all of a question's content words, where there are four or more."""
    headings = handbook_headings()
    for one in in_language(HANDBOOK, language):
        for page in one.grades:
            said = set(stems(one.text))
            copied = [line for line in headings[page].splitlines() if len(said) >= 4 and said <= set(stems(line))]
            assert not copied, one.text


@pytest.mark.parametrize("language", BOTH)
def test_no_two_questions_say_the_same(language: Language) -> None:
    """No two have the same content words, in whatever order."""
    asked = [(one.text, frozenset(stems(one.text))) for one in in_language(HANDBOOK, language)]
    assert not [(a, b) for (a, one), (b, other) in combinations(asked, 2) if one and one == other]


def test_overlap_is_the_share_of_content_words_in_the_best_page_that_answers() -> None:
    """Two of the three content words stand in a heading of the page with grade 2; pages that only help do not count."""
    question = RetrievalQuestion("How do I paint a red boat?", Language.EN, {"a": 2, "b": 1})
    headings = {"a": "Boats\nPainting", "b": "A red boat, painted"}
    assert overlap(question, headings) == pytest.approx(2 / 3)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda line: {**line, "pages": {"101": 3}}, "a grade is 1 or 2"),
        (lambda line: {**line, "pages": {"101": 1}}, "one page at least must answer"),
        (lambda line: {**line, "pages": {}}, "not a labelled question"),
        (lambda line: {**line, "grade": 2}, "not a labelled question"),
        (lambda line: {**line, "id": "other", "ru": "Иначе?"}, "en stands twice"),
    ],
    ids=["unknown grade", "nothing answers", "no page", "unknown key", "said twice"],
)
def test_a_wrong_line_is_an_error_that_says_why(tmp_path: Path, change: Callable[[dict], dict], said: str) -> None:
    """Labels with a slip are not measured with."""
    line = {"id": "1", "en": "Why?", "ru": "Почему?", "pages": {"101": 2}, "held_back": False}
    path = tmp_path / "cases.jsonl"
    path.write_text("\n".join(json.dumps(one) for one in (line, change(line))), "utf-8")
    with pytest.raises(ConfigError, match=said):
        read_lines(path)


@pytest.mark.parametrize("language", BOTH)
def test_misspelt_words_are_one_slip_away(language: Language) -> None:
    """One or two words of each question differ from what was written, each by one slip; the same ones each time."""
    changed = 0
    for number, question in enumerate(in_language(HANDBOOK, language)):
        again = misspelt(question, number)
        assert again == misspelt(question, number)
        before, after = question.text.casefold().split(), again.text.casefold().split()
        assert len(before) == len(after)
        slips = [(a, b) for a, b in zip(before, after, strict=True) if a != b]
        assert len(slips) <= 2
        assert all(edit_distance(a, b, 2) == 1 for a, b in slips)
        changed += bool(slips)
    assert changed >= 0.9 * len(HANDBOOK)


def test_joined_messages_hold_two_or_three_questions_and_all_their_pages() -> None:
    """A message's pages are those of its questions, none shared, so that each question counts."""
    messages = join_questions(in_language(HANDBOOK, Language.RU), 60)
    assert len(messages) >= 45
    for message, parts in messages:
        assert len(parts) in (2, 3)
        assert all(part.text in message.text for part in parts)
        assert len(message.grades) == sum(len(part.grades) for part in parts)
