"""The blocks of a Markdown text, and what of it is code."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from language.blocks import BlockKind, blocks, heading_text, split_code, without_code
from language.privacy.links import foreign_links


@pytest.mark.parametrize(
    ("markdown", "kind", "parts"),
    [
        ("# Title", BlockKind.HEADING, ()),
        ("Title\n===", BlockKind.HEADING, ()),
        ("Some words\nover two lines", BlockKind.PARAGRAPH, ()),
        ("- a\n- b\n  more", BlockKind.BULLETS, ("- a", "- b\n  more")),
        ("1. a\n2. b\n\n   ```\n   x\n   ```", BlockKind.STEPS, ("1. a", "2. b\n\n   ```\n   x\n   ```")),
        ("- a\n  - inner\n- b", BlockKind.BULLETS, ("- a\n  - inner", "- b")),
        ("| a | b |\n| - | - |\n| 1 | 2 |", BlockKind.TABLE, ("| a | b |", "| 1 | 2 |")),
        ("```sh\nmake\n```", BlockKind.CODE, ()),
        ("    indented", BlockKind.CODE, ()),
        ("> quoted", BlockKind.QUOTE, ()),
        ("---", BlockKind.OTHER, ()),
        ("<div>x</div>", BlockKind.OTHER, ()),
    ],
)
def test_a_block_is_what_a_reader_sees(markdown: str, kind: BlockKind, parts: tuple[str, ...]) -> None:
    """Each kind with its parts, and its source as it stands."""
    (block,) = blocks(markdown)
    assert (block.kind, block.parts, block.text) == (kind, parts, markdown.rstrip())


def test_blocks_come_in_order_with_level_and_line() -> None:
    """A heading says its level, every block the line it begins in."""
    found = blocks("### Three\n\ntext\n\n- a\n\n```\ncode\n```\n")
    assert [(block.kind, block.level, block.line) for block in found] == [
        (BlockKind.HEADING, 3, 0),
        (BlockKind.PARAGRAPH, 0, 2),
        (BlockKind.BULLETS, 0, 4),
        (BlockKind.CODE, 0, 6),
    ]


@pytest.mark.parametrize("odd", ["\u2028", "\u2029", "\x0b", "\x0c", "\x1c", "\x85"])
def test_only_line_breaks_break_lines(odd: str) -> None:
    """Characters that other programs take for line ends do not shift the blocks (regression)."""
    first, second = blocks(f"one{odd}line\n\n```\ncode{odd}x\n```")
    assert (first.text, second.text) == (f"one{odd}line", f"```\ncode{odd}x\n```")


@pytest.mark.parametrize(
    ("heading", "words"),
    [
        ("# A b", "A b"),
        ("###### A ######", "A"),
        ("   ## A", "A"),
        ("## Using C#", "Using C#"),
        ("## C# #", "C#"),
        ("A b\n===", "A b"),
        ("#", ""),
        ("", ""),
    ],
)
def test_a_headings_words(heading: str, words: str) -> None:
    """The marks go, the words stay, also those that end in a mark."""
    assert heading_text(heading) == words


@pytest.mark.parametrize(
    ("markdown", "parts"),
    [
        ("a `b` c", ["a ", "`b`", " c"]),
        ("a ``b ` c`` d", ["a ", "``b ` c``", " d"]),
        ("a ` b", ["a ` b"]),
        ("\\`a\\`", ["\\`a\\`"]),
        ("`a\n\nb`", ["`a\n\nb`"]),
        ("- `a\n- b`", ["- `a\n- b`"]),
        ("`a\nb`", ["", "`a\nb`"]),
        ("x\n\n```\n[1]\n```\ny", ["x\n\n", "```\n[1]\n```\n", "y"]),
        ("```\nnever closed", ["", "```\nnever closed"]),
        ("```not a fence``` x", ["", "```not a fence```", " x"]),
        ("1. a\n\n   ```\n   b\n   ```\n", ["1. a\n\n", "   ```\n   b\n   ```\n"]),
        ("    a\n\nb", ["", "    a\n", "\nb"]),
        ("", [""]),
    ],
)
def test_code_is_told_from_prose(markdown: str, parts: list[str]) -> None:
    """Fences, indented blocks and spans are code; what only looks like it is not."""
    assert split_code(markdown) == parts


def test_a_heading_is_its_words() -> None:
    """The marks around it, and the anchor or class behind it, are not shown."""
    said = ["## Delete a chat {#delete-chat} ", "# Using C#", "### Copy { .wide #x } ", "## Set {a, b}", "## Done ##"]
    assert [heading_text(one) for one in said] == ["Delete a chat", "Using C#", "Copy", "Set {a, b}", "Done"]


markdown = st.lists(st.sampled_from([*"`\n -a1.>~\\ \r\t|\u2028#", "```", "\n\n", "    "]), max_size=40).map("".join)


@given(text=markdown | st.text())
def test_splitting_loses_nothing(text: str) -> None:
    """Joined, the parts are the text; none but the first is empty."""
    parts = split_code(text)
    assert "".join(parts) == text
    assert all(parts[1:])
    assert "`a`" not in without_code(f"x `a` {text.replace('`', '')}")


@given(text=markdown | st.text())
def test_every_text_has_blocks(text: str) -> None:
    """Blocks are found in any text, each is a piece of it, in order."""
    position = 0
    for block in blocks(text):
        assert block.text in text
        assert block.line >= position
        position = block.line


def test_html_at_the_very_end_of_a_nested_list_breaks_nothing() -> None:
    """The library reads past the end of such a text, so it is given one more line break (regression)."""
    text = "- \n> - <?```\n\t>"
    assert "".join(split_code(text)) == text
    assert [block.text for block in blocks(text)] == ["-", "> - <?```\n\t>"]


def test_links_of_no_domain_are_all_foreign() -> None:
    """A deployment that allows no domain lets loopback and documentation addresses through alone."""
    assert foreign_links("http://localhost:80 https://example.com https://a.ru", ()) == ["https://a.ru"]
