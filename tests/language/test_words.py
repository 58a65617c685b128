"""Tokens, stems, phrases, the language of a message."""

from __future__ import annotations

import time
import tomllib
from concurrent.futures import ThreadPoolExecutor
from importlib.resources import files

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.enums import Language
from contracts.errors import PatternTooSlow
from language.words import (
    PATTERN_SECONDS,
    Phrases,
    all_stems,
    detect,
    own_stems,
    pattern_occurs,
    rephrase,
    stem,
    stems,
    stop_words,
    tokens,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Hello, World!", ["hello", "world"]),
        ("Ёлка-2024: 1,5", ["елка", "2024", "1", "5"]),
        ("max_retry config.toml", ["max", "retry", "config", "toml"]),
        ("ab\u200bc", ["abc"]),
        ("!?—…", []),
        ("x" * 100, ["x" * 64]),
    ],
)
def test_tokens_are_letters_and_digits(text: str, expected: list[str]) -> None:
    """Everything else separates; words are folded, over-long ones cut."""
    assert tokens(text) == expected


@pytest.mark.parametrize(
    "forms",
    [
        ["форма", "формы", "форме", "форму", "формой", "формам"],
        ["роль", "роли", "ролью", "ролей"],
        ["список", "списка", "списки", "списков"],
        ["ячейка", "ячеек"],
        ["столбец", "столбца", "столбцов"],
        ["владелец", "владельца"],
        ["имя", "имени", "имен"],
        ["install", "installs", "installed", "installing"],
        ["register", "registration"],
        ["choose", "chosen", "choice"],
        ["setting", "settings"],
    ],
)
def test_the_forms_of_a_word_have_one_stem(forms: list[str]) -> None:
    """Russian words by Russian rules, all others by English ones, fleeting vowels and irregular forms too."""
    assert len({stem(form) for form in forms}) == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("роль", "пароль"),
        ("форма", "платформа"),
        ("form", "platform"),
        ("почта", "почти"),
        ("права", "правила"),
        ("времени", "временный"),
        ("import", "important"),
        ("conversation", "conversion"),
        ("блок", "блк"),
    ],
)
def test_other_words_have_other_stems(one: str, other: str) -> None:
    """A word inside another word is not it, nor is one that a stemmer takes for its neighbour."""
    assert stem(one) != stem(other)


def test_no_word_has_two_stems_of_ours() -> None:
    """A word of `stems.toml` stands there once, folded as texts are."""
    lines = tomllib.loads(files("language").joinpath("stems.toml").read_text("utf-8"))
    words = [word for forms in lines.values() for line in forms.values() for word in line.split()]
    assert len(words) == len(own_stems())
    assert words == [token for word in words for token in tokens(word)]


def test_stop_words_go_and_order_and_repeats_stay() -> None:
    """Content words in their order; for phrases every word stays."""
    assert stems("How do I install and install it?") == ["instal", "instal"]
    assert len(all_stems("How do I install and install it?")) == 7
    assert {"and", "the", "и", "не"} <= stop_words()


def test_stemming_is_safe_in_threads() -> None:
    """A stemmer has a buffer of its own, so each thread must have its own stemmer."""
    words = [f"слово{n} installing{n} формами{n}" for n in range(300)]
    expected = [stems(text) for text in words]
    stem.cache_clear()
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(stems, words)) == expected


@pytest.mark.parametrize(
    ("phrase", "text", "found"),
    [
        ("роль", "Какие роли есть?", True),
        ("роль", "Смените пароль", False),
        ("форма", "В формах", True),
        ("форма", "Платформа, информация", False),
        ("шаблон записи", "Создайте шаблоны записей", True),
        ("шаблон записи", "шаблон новой записи", False),
        ("does not open", "It DOES  NOT, open", True),
        ("does not open", "It does open, not close", False),
        ("doesn t open", "It doesn't open", True),
        ("doesn t open", "It doesn’t open", True),
        ("c", "C# is it", True),
        ("", "anything", False),
        ("!!!", "anything!!!", False),
    ],
)
def test_phrases_are_found_by_stems_in_a_row(phrase: str, text: str, found: bool) -> None:
    """Any word form, on token boundaries, the words next to one another."""
    assert bool(Phrases([phrase]).find(text)) == found


def test_phrases_come_in_order_and_with_repeats() -> None:
    """What occurs first is named first; the phrase is returned as it was written."""
    phrases = Phrases(["Forms", "open the form", "open"])
    assert phrases.find("Open the form, then open forms") == ["open the form", "open", "Forms", "open", "Forms"]
    assert not Phrases([])
    assert Phrases(["x"])


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Как открыть форму?", Language.RU),
        ("How do I open a form?", Language.EN),
        ("Как установить LangGraph Studio server?", Language.RU),
        ("Install LangGraph и запусти", Language.RU),
        ("Where is the button Создать in this new template page?", Language.EN),
        ("docker compose up не работает", Language.RU),
        ("MAX_RETRY?", Language.EN),
        ("Où est la gare?", Language.EN),
        ("КАК", Language.RU),
        ("ёлка", Language.RU),
    ],
)
def test_the_language_of_a_mixed_message(text: str, language: Language) -> None:
    """A fifth of Cyrillic words makes a message Russian: names of products are English in both languages."""
    other = Language.EN if language is Language.RU else Language.RU
    assert detect(text, default=other) is language


@pytest.mark.parametrize("text", ["", "123", "?!", "👍", "1 + 1 = 2", "12:30"])
@pytest.mark.parametrize("default", Language)
def test_a_message_without_words_has_the_default_language(text: str, default: Language) -> None:
    """Where nothing is written, nothing is guessed."""
    assert detect(text, default=default) is default


@given(text=st.text(alphabet=st.characters()))
def test_any_text_can_be_analysed(text: str) -> None:
    """Whatever a text is made of, it has tokens, stems and a language, and its stems are few as its tokens."""
    assert len(stems(text)) <= len(all_stems(text)) == len(tokens(text))
    assert detect(text) in Language
    assert isinstance(Phrases([text, "a"]).find(text), list)


def test_texts_are_rephrased_in_the_documents_words() -> None:
    """Each word of a group becomes its first, the longest phrase first; a text without one stays as it is."""
    groups = [("delete", "wipe", "get rid of"), ("conversation", "chat")]
    assert rephrase(["How do I get rid of chats?", "How do I wipe it?", "Hello, You!"], groups) == [
        "how do i delete conversation",
        "how do i delete it",
        "Hello, You!",
    ]
    assert rephrase(["x"], []) == ["x"]


SLOW = r"\w+\s*\w+\s*\w+[@#]x?"


def test_an_expression_that_takes_too_long_is_ended_and_says_so() -> None:
    """Its form is allowed, and on 20,000 letters it would take for hours; nothing found is not what comes of it."""
    began = time.process_time()
    with pytest.raises(PatternTooSlow, match="took too long"):
        pattern_occurs(SLOW, "a" * 20_000)
    assert time.process_time() - began < 8 * PATTERN_SECONDS


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (r"\bпарол[а-я]*\b", "Ваш ПАРОЛЬ: вот он"),
        (r"\bёлк\w+", "Елками"),
        (r"(?<!не )выдать (?=ключ)", "выдать ключ"),
        (r"(?i:salar)(?:y|ies)\s+of", "the SALARIES of"),
    ],
)
def test_an_expression_knows_both_alphabets_and_looks_around(pattern: str, text: str) -> None:
    """Boundaries of words, case and what stands beside are those of Python's own expressions."""
    assert pattern_occurs(pattern, text)
