"""Forbidden content: which phrases and expressions occur in a text."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from language.forbidden import forbidden_in


@pytest.mark.parametrize(
    ("entry", "text"),
    [
        ("as an AI", "As\n  an ai model"),
        ("as an AI", "as an **AI** model"),
        ("as an AI", "As _an AI_, I think."),
        ("as an AI", "as an [AI](https://example.com) model"),
        ("as an AI", "as an\u00a0A\u00adI"),
        ("as an AI", "as an&nbsp;A&shy;I"),
        ("as an AI", "> as an\n> AI"),
        ("as an AI", "as an [1] AI"),
        ("as an AI", "аs an AI"),
        ("as an AI", "# As an AI #"),
        ("as an AI", "| a | b |\n| - | - |\n| x | as an AI |"),
        ("as an AI", "```\nas an AI\n```"),
        ("as an AI", "`as an AI`"),
        ("как языковая модель", "Я, КАК ЯЗЫКОВАЯ\nМОДЕЛЬ, не знаю."),
        ("всё ещё", "Все еще кипит."),
        ("ещё", "ЕЩЕ"),
        ("гарантируем", "Мы гaрантируeм это."),
        ("I don't know", "I don’t know."),
        ("по-моему", "По‑моему, да."),
        ("см. «Основы»", 'см. "основы"'),
        ("C#", "in c#, too"),
        ("100%", "safe at 100%."),
        ("//", "a // b"),
        ("max_retry", "set `max_retry` to 2"),
        ("coming soon", '{"Steps": ["Com\\u0069ng soon [1]"]}'),
        ("coming soon", '{"coming soon": 1}'),
        ("скоро будет", '{"Шаги": {"a": ["Скоро\\nбудет"]}}'),
        ("coming soon", 'Text.\n\n```json\n{"a": "coming\\u0020soon"}\n```'),
        ("coming soon", '{"a": "coming soon", broken'),
    ],
)
def test_a_phrase_is_found_however_it_is_written(entry: str, text: str) -> None:
    """Its words count: not their case, spaces, marks or look-alike letters, nor where in the answer they stand."""
    assert forbidden_in([entry], text) == [entry]


@pytest.mark.parametrize(
    ("entry", "text"),
    [
        ("as an AI", "It was an aid."),
        ("as an AI", "as an AIr"),
        ("рак", "Характер процесса."),
        ("рак", "Раковина."),
        ("класс", "Классический вид."),
        ("beta", "alphabetabulary"),
        ("гарантия", "Мы дали гарантии."),
        ("a.c", "abc"),
        ("C#", "in C only"),
        ("", "anything"),
        ("\u200b", "anything"),
        ("coming soon", '{"coming": 1, "soon": 2}'),
    ],
)
def test_a_phrase_is_no_part_of_another_word(entry: str, text: str) -> None:
    """Neither inside a longer word nor as another form of its own: that takes an expression."""
    assert forbidden_in([entry], text) == []


@pytest.mark.parametrize(
    ("entry", "text", "occurs"),
    [
        (r"/a.c/", "ABC", True),
        (r"/^b/", "a\nb", True),
        (r"/^b/", "a b", False),
        (r"/^note:/", "Press it [1].\n\n> **Note:** it is hot.", True),
        (r"/soon$/", "It comes soon\nor later.", True),
        (r"/\Ab/", "a\nb", False),
        (r"/a\.c/", "abc", False),
        ("/", "and", False),
        (r"/\bгаранти\w*/", "Мы ГАРАНТИРУЕМ это.", True),
        (r"/\bguarantee\w*/", "We GUAR\u00adANTEED it.", True),
        (r"/\bguarantee\w*/", "We **guar**anteed it.", True),
        ("/ещё? раз/", "Еще раз", True),
        ("/еще раз/", "ЕЩЁ раз", True),
        ("/ещё раз/", "еще\u0308 раз", True),
        ("/[а-яё]+щё/", "еще", True),
        ("/ещё/", "её", False),
        (r"/v1\.\d+/", '{"version": "v1\\u002e9"}', True),
        (r"/\*\*/", "**bold**", True),
    ],
)
def test_between_slashes_stands_an_expression(entry: str, text: str, occurs: bool) -> None:
    """It is looked for in any case, with ё as е, in the text as it is written and as it is read."""
    assert bool(forbidden_in([entry], text)) == occurs


def test_entries_come_in_their_own_order() -> None:
    """Whatever comes first in the text."""
    assert forbidden_in(["b", "c", "/A/"], "a b") == ["b", "/A/"]


@pytest.mark.parametrize("piece", ["[", "[a", " ", "*", "as an ", "&amp;", "_ ", "` a", "> ", "\\", "[1]", "](", "аb"])
def test_long_odd_texts_are_searched_at_once(piece: str) -> None:
    """No draft is so odd that searching it takes longer than it takes to write it."""
    begun = time.process_time()
    forbidden_in(["as an AI", "a b", "/never+ ever/"], "as" + piece * (20_000 // len(piece)))
    assert time.process_time() - begun < 1


@given(entry=st.text(), text=st.text())
def test_any_text_can_be_searched_for_any_phrase(entry: str, text: str) -> None:
    """Nothing raises, and of nothing there is nothing."""
    assert forbidden_in([f"x{entry}"], text) in ([], [f"x{entry}"])
    assert forbidden_in([], text) == []
