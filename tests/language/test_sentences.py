"""Sentences and questions; code and links are never cut."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from language.sentences import questions, sentences


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One. Two! Three?", ["One.", "Two!", "Three?"]),
        ("Нажмите кнопку. Откроется форма.", ["Нажмите кнопку.", "Откроется форма."]),
        ("См. раздел 5.1 и т. д. на стр. 7.", ["См. раздел 5.1 и т. д. на стр. 7."]),
        ("Use e.g. version 1.2.3 here. Then stop.", ["Use e.g. version 1.2.3 here.", "Then stop."]),
        (
            "Use a tool, e.g. Poetry or, i.e. `make`. Then stop.",
            ["Use a tool, e.g. Poetry or, i.e. `make`.", "Then stop."],
        ),
        ("Run `make. Then? Stop.` now. Done.", ["Run `make. Then? Stop.` now.", "Done."]),
        ("Run ``a ` b. C`` now. Done.", ["Run ``a ` b. C`` now.", "Done."]),
        (
            "See [the page. It is long](http://a.b/c. D) now. Done.",
            ["See [the page. It is long](http://a.b/c. D) now.", "Done."],
        ),
        ("See https://a.b/c?d=1.2. Then stop.", ["See https://a.b/c?d=1.2. Then stop."]),
        (
            "Boil &amp; Brew is one name. R&#38; D&#x26; X too.",
            ["Boil &amp; Brew is one name.", "R&#38; D&#x26; X too."],
        ),
        (
            "Only the owner may; AES-256 is used; `make` too. Done.",
            ["Only the owner may; AES-256 is used; `make` too.", "Done."],
        ),
        ("A line\nbroken in two. Next\none.", ["A line broken in two.", "Next one."]),
        ("", []),
        ("  \n ", []),
    ],
)
def test_sentences_are_told_apart(text: str, expected: list[str]) -> None:
    """Abbreviations, versions, code spans, links, addresses and entities stay whole, in both languages."""
    assert sentences(text) == expected


pieces = st.lists(
    st.sampled_from(
        ["`a. b`", "[x. Y](http://a.b/c)", "https://a.b/c.d?e", "One.", "Two?", "слово", "т.е.", "5.", "`", "["]
    ),
    max_size=12,
).map(" ".join)


@given(text=pieces | st.text(alphabet=st.characters(exclude_categories=["Co", "Cs"])))
def test_nothing_is_lost(text: str) -> None:
    """Joined, the sentences are the text again, but for white space."""
    assert " ".join(" ".join(sentences(text)).split()).replace(" ", "") == "".join(text.split())


@given(text=pieces)
def test_code_and_links_are_whole_in_one_sentence(text: str) -> None:
    """A span, a link or an address that is in the text is in one of its sentences."""
    if "`a. b`" in text and text.count("`") == 2 * text.count("`a. b`"):
        assert sum(part.count("`a. b`") for part in sentences(text)) == text.count("`a. b`")
    if "[ " not in text:
        link = "[x. Y](http://a.b/c)"
        assert sum(part.count(link) for part in sentences(text)) == text.count(link)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("How? Why?", ["How?", "Why?"]),
        ("Как? А почему?\nИ где", ["Как?", "А почему?", "И где"]),
        ("One line\n\ntwo lines", ["One line", "two lines"]),
        ("See http://a.b/?c=d now?", ["See http://a.b/?c=d now?"]),
        ("  ", []),
    ],
)
def test_a_message_is_split_into_its_questions(text: str, expected: list[str]) -> None:
    """At question marks and line breaks; a question mark inside an address ends nothing."""
    assert questions(text) == expected
