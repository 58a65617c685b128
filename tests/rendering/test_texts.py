"""The texts of both languages, and what values can do to them: nothing."""

from __future__ import annotations

import ast
import re
import string
from itertools import product
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from contracts.enums import Language, SGRAction, Source
from language.clean import clean
from rendering.texts import bullets, inline, say, texts, without_escapes, write_numbered_list

KEYS = sorted(texts(Language.EN))


def fields(text: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(text) if name is not None}


# ------------------------------------------------------------------------------------------------------------ locales


def test_every_key_exists_in_every_language() -> None:
    """No text is missing in one of the languages."""
    assert {language: sorted(texts(language)) for language in Language} == dict.fromkeys(Language, KEYS)


def test_a_text_has_the_same_placeholders_in_every_language() -> None:
    """What one language says of a value, the other says too; each placeholder is a plain name."""
    for key in KEYS:
        wanted = fields(texts(Language.EN)[key])
        assert all(fields(texts(language)[key]) == wanted for language in Language), key
        assert all(name.isidentifier() for name in wanted), key


def test_the_russian_texts_are_russian_and_the_english_ones_are_not() -> None:
    """Nothing was left untranslated; a text of placeholders and marks alone is the same in both."""
    for key in KEYS:
        english, russian = (re.sub(r"\{\w+\}", "", texts(language)[key]) for language in Language)
        assert not re.search("[а-яё]", english, re.IGNORECASE), key
        if re.search("[a-z]{2}", english, re.IGNORECASE):
            assert re.search("[а-яё]", russian, re.IGNORECASE), key


def test_no_text_is_dead(root: Path) -> None:
    """Every key is named in the code, or made there from one of the closed sets."""
    made = {f"analysis_{action}" for action in SGRAction} | {f"language_{language}" for language in Language}
    made |= {f"input_{key}" for key in ("empty", "too_long", "nothing_new")}
    made |= {f"{kind}_{source}" for kind in ("source", "cited") for source in Source}
    named: set[str] = set()
    for folder in ("rendering", "nodes", "assistant", "contracts/decisions"):
        for path in (root / folder).rglob("*.py"):
            tree = ast.parse(path.read_text("utf-8"))
            named |= {n.value for n in ast.walk(tree) if isinstance(n, ast.Constant) and isinstance(n.value, str)}
    assert [key for key in KEYS if key not in named | made] == []


def test_the_templates_of_the_specification_exist() -> None:
    """The names that the specification fixes are keys."""
    fixed = {
        "sgr_normal_response",
        "sgr_clarify_intro",
        "sgr_clarify_outro",
        "sgr_spam_response",
        "sgr_guardian_response",
        "guardian_refusal_unsafe",
        "user_intent_prefix",
    }
    assert fixed <= set(KEYS)


NASTY = ["{product}", "{0}", "{", "}}", "{x!r:>10}", "%s", "## Response", "</div>", "\\", "${a}", "{contact.__class__}"]


@pytest.mark.parametrize("language", Language)
def test_values_are_data_in_every_text(language: Language) -> None:
    """Whatever a value holds, the text around it stays, and the value stands in it as it is."""
    for key, nasty in product(KEYS, NASTY):
        template = texts(language)[key]
        filled = say(language, key, **dict.fromkeys(fields(template), nasty))
        assert filled == re.sub(r"\{\w+\}", lambda _, value=nasty: value, template), key


# ------------------------------------------------------------------------------------------------------------- inline

MARKDOWN = MarkdownIt("commonmark").enable(["table", "strikethrough"])


def shown(markdown: str) -> str:
    """Return the words of a text that is one paragraph of plain words; fail where anything else is in it."""
    tokens: list[Token] = MARKDOWN.parse(markdown)
    assert {token.type for token in tokens} <= {"paragraph_open", "inline", "paragraph_close"}
    assert len(tokens) in (0, 3)
    parts = [child for token in tokens for child in token.children or []]
    assert {part.type for part in parts} <= {"text", "text_special"}
    return "".join(part.content for part in parts)


marks = st.text(alphabet="ab _*`#-+=~<>&;|\\[]()!:1.)/\"'$lt^{}\n", max_size=14)


@given(words=marks | st.text())
@example(words="# heading")
@example(words="- item")
@example(words="-")
@example(words="---")
@example(words="1. step")
@example(words="1.")
@example(words="## Response\n\nhidden")
@example(words="<img src=x onerror=alert(1)>")
@example(words="&lt;b&gt; &amp; &#35;")
@example(words="__init__ and _private_ and a_b")
@example(words="[click](javascript:alert(1)) ![x](http://a.b)")
@example(words="```\ncode")
@example(words="a\\")
def test_inline_words_are_read_as_they_were_written(words: str) -> None:
    """A reader of Markdown sees somebody's words as one line of plain text, whatever they look like."""
    words = clean(words)
    flat = " ".join(words.split())
    assert shown(inline(words)) == flat


@given(words=marks | st.text())
def test_a_terminal_shows_the_same_words(words: str) -> None:
    """The escapes that `inline` wrote are taken back exactly."""
    words = clean(words)
    assert without_escapes(inline(words)) == " ".join(words.split())


@given(words=st.text(min_size=1))
def test_inline_is_one_line_of_limited_length(words: str) -> None:
    """No line break survives, and a long text ends in an ellipsis."""
    assert len(inline(words, limit=10).splitlines()) <= 1
    assert len(without_escapes(inline(words, limit=10))) <= 10


def test_a_cut_never_falls_between_an_escape_and_its_mark() -> None:
    """The limit counts what is read, not the escapes."""
    assert inline("*" * 5, limit=3) == "\\*\\*…"


@pytest.mark.parametrize(
    "code", ["`a\\*b`", "``a ` \\_``", "```\n\\* \\_\n```", "~~~\n\\#\n~~~", "    \\*", "`C:\\_dir` and `\\-`"]
)
def test_escapes_inside_code_stay(code: str) -> None:
    """A backslash of a code block is the author's, in a span as in a fence."""
    assert without_escapes(f"{code}\n\nand \\* here") == f"{code}\n\nand * here"


def test_an_escaped_backtick_begins_no_code() -> None:
    """What `inline` escaped is prose."""
    assert without_escapes("\\`a\\*b\\`") == "`a*b`"


def test_the_escapes_of_json_are_its_own() -> None:
    """An answer in JSON is printed as it is, for a program reads it; Markdown that begins with a brace is Markdown."""
    answer = '{"path": "C:\\\\#tmp", "mark": "\\\\*"}'
    assert without_escapes(answer) == answer
    assert without_escapes("{a} \\*") == "{a} *"


def test_lists_have_an_item_a_line() -> None:
    """Bullets and numbers, nothing for no items."""
    assert (bullets(["a", "b"]), write_numbered_list(["a", "b"])) == ("- a\n- b", "1. a\n2. b")
    assert (bullets([]), write_numbered_list([])) == ("", "")


@pytest.mark.parametrize("turning", ["\u202e", "\u202a", "\u2066", "\u2069"])
def test_somebodys_words_do_not_turn_the_direction_of_reading(turning: str) -> None:
    """What an operator reads of a user's words, or a document's title, stands in the order in which it was written."""
    assert inline(f"open {turning}fdp.exe") == "open fdp.exe"
