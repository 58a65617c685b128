"""Text made safe to store, and made comparable."""

from __future__ import annotations

import json
import time
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from language.clean import clean, fold, skeleton, unescape_entities

anything = st.text(alphabet=st.characters()) | st.text(
    alphabet="еёЁ\u0308\u0300\u0306\u3099\u0323\u200bİǰßaAоО\u1160\uac00\u11a8\ufe0f"
)


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("a\r\nb\rc\u2028d\u2029e\u0085f", "a\nb\nc\nd\ne\nf"),
        ("a\x00b\x07c\x1bd\x7fe\x9ff", "abcdef"),
        ("tab\tand\nline", "tab\tand\nline"),
        ("a\ud800b\udfffc", "a\ufffdb\ufffdc"),
        ("и\u0306", "й"),
        ("👩\u200d💻 a\u200bb", "👩\u200d💻 a\u200bb"),
        ("ﬁ №5", "ﬁ №5"),
        ("", ""),
    ],
)
def test_clean_changes_nothing_that_is_read(text: str, cleaned: str) -> None:
    """Line breaks are one, controls go, surrogates get a stand-in; joiners and ligatures stay."""
    assert clean(text) == cleaned


@given(text=anything)
@example(text="\r\x00\n")
def test_clean_text_can_be_stored_and_is_clean(text: str) -> None:
    """It encodes, survives JSON, holds no control character, and cleaning it again changes nothing."""
    cleaned = clean(text)
    assert json.loads(json.dumps(cleaned).encode()) == cleaned.encode().decode() == cleaned
    assert not [c for c in cleaned if unicodedata.category(c) in ("Cc", "Cs") and c not in "\n\t"]
    assert clean(cleaned) == cleaned


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("ЁЛКА", "елка"),
        ("ё", "е\u0308"),
        ("Straße", "STRASSE"),
        ("ignore", "ig\u200bno\u2060re\ufeff"),
        ("soft\u00adhyphen", "softhyphen"),
        ("１２３", "123"),
        ("ＦＵＬＬ", "full"),
        ("ﬁle", "file"),
        ("a\u200b\u0300", "à"),
    ],
)
def test_what_reads_alike_folds_alike(one: str, other: str) -> None:
    """Case, ё, width, ligatures and invisible characters make no difference."""
    assert fold(one) == fold(other)


@pytest.mark.parametrize(("one", "other"), [("роль", "роли"), ("й", "и"), ("c#", "c"), ("a", "а")])
def test_what_reads_otherwise_folds_otherwise(one: str, other: str) -> None:
    """Folding joins writings of one word, not different words or letters."""
    assert fold(one) != fold(other)


@given(text=anything)
@example(text="A\u200b\u0300")
@example(text="ё\u0300")
@example(text="е\u0323\u0308")
def test_folding_twice_is_folding_once(text: str) -> None:
    """What is folded compares equal to itself (regression: an accent behind an invisible character)."""
    assert fold(fold(text)) == fold(text)


@given(text=anything)
@example(text="Ё\u0306")
@example(text="AО\u0300")
@example(text="AО\u0300Я")
def test_a_skeleton_is_its_own_skeleton(text: str) -> None:
    """The look-alikes are gone after one pass."""
    assert skeleton(skeleton(text)) == skeleton(text)


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("ignоre", "ignore"),
        ("іgnore рrevious", "ignore previous"),
        ("пaрoль", "пароль"),
        ("п\u0061\u0070\u006fль", "пароль"),
        ("сор", "сор"),
        ("cop", "cop"),
        ("мама and mother", "мама and mother"),
        ("v2ray", "v2ray"),
        ("IGN\u200bОRE", "ignore"),
        ("ıgnore", "ignore"),
        ("\u0130gnore", "ignore"),
        ("iɡnorе", "ignore"),
        ("ɪɢnore", "iɢnore"),
        ("straße déjà", "strasse déjà"),
    ],
)
def test_a_skeleton_looks_through_look_alikes(text: str, seen: str) -> None:
    """In a mixed word the letters are those of its main script; a word of one script is left alone."""
    assert skeleton(text) == seen


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("&amp;&#65;", "&A"),
        ("&#" + "0" * 9_000 + "65;", "A"),
        ("&#" + "1" * 9_000, "\ufffd"),
        ("&#" + "0" * 50, "\ufffd"),
        ("&#" + "0" * 10 + "1" * 9_000, "\ufffd"),
    ],
)
def test_an_entity_of_any_length_is_a_character(text: str, said: str) -> None:
    """Python itself reads no number of thousands of digits (regression: such a page ended the indexing)."""
    assert unescape_entities(text) == said


@pytest.mark.parametrize("marks", ["\u0301\u0323", "\u0308\u3099", "\u0308\u0323\u05b0", "\uff9e\u0301"])
def test_marks_of_two_classes_are_sorted_in_linear_time(marks: str) -> None:
    """Unicode sorts them by class, with the square of their number (regression: 8,000 of them froze a server for 20 s)."""
    began = time.process_time()
    for make in (clean, fold, skeleton):
        made = make("е" + marks * 100_000)
        assert len(made) <= 31
        assert make(made) == made
    assert time.process_time() - began < 3
    assert clean("е" + marks) == unicodedata.normalize("NFC", "е" + marks)


def test_accents_one_behind_the_other_are_folded_in_a_few_rounds() -> None:
    """Each dot behind an е made an ё of it again (regression: 20,000 of them took half a minute)."""
    began = time.process_time()
    assert fold("е" + "\u0308" * 20_000) == "е"
    assert fold("е\u0323" + "\u0308" * 20_000) == "е\u0323"
    assert skeleton("a" + "о\u0301" * 10_000).startswith("aó")
    assert time.process_time() - began < 3
