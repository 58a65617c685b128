"""One citation at the end of a block that rests on one source."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from language.blocks import blocks, split_code
from language.claims import without_citations
from rendering.marks import merge_citations


@pytest.mark.parametrize(
    ("judged", "read"),
    [
        ("Open it [1]. Close it [1].", "Open it. Close it [1]."),
        ("To open it [1]:\n\n1. Turn [1].\n2. Push [1].", "To open it:\n\n1. Turn.\n2. Push [1]."),
        ("- one [2];\n- two [2]", "- one;\n- two [2]"),
        ("1. Run [1]:\n\n   ```\n   a[1]\n   ```\n2. Look [1].", "1. Run:\n\n   ```\n   a[1]\n   ```\n2. Look [1]."),
        ("| a [1] |\n| --- |\n| b [1] |", "| a |\n| --- |\n| b [1] |"),
        ("See `x[1]` [1]. Then go [1].\n\nMore [1].", "See `x[1]`. Then go [1].\n\nMore [1]."),
    ],
)
def test_a_block_of_one_source_cites_it_once_at_its_end(judged: str, read: str) -> None:
    """A paragraph, a list with the line that leads into it, and a table keep the last of equal citations; code stays."""
    assert merge_citations(judged) == read


@pytest.mark.parametrize(
    "judged",
    [
        "Open it [1]. Close it [2]. Turn it [1].",
        "Open it [1]. Close it [1]. It may be red.",
        "- one [1]\n- two [2]",
        "| a | source |\n| --- | --- |\n| b | [1] |\n| c | [1] |",
        "It is [a name][1](x) [1].",
        "```\na[1] b[1]\n```",
        "Open it [1].\n\nClose it [1].",
    ],
)
def test_what_one_citation_could_not_say_keeps_all_of_them(judged: str) -> None:
    """Of several sources, or where words follow the last citation, each claim keeps its own; so do columns and links."""
    assert merge_citations(judged) == judged


@given(st.lists(st.sampled_from(("A [1]", ". ", "\n", "\n\n", "- ", "1. ", "`b[1]`", "[2]", "| ", "**", "    "))))
def test_merging_takes_citations_alone(parts: list[str]) -> None:
    """Words, blocks and code of an answer are the same before and after."""
    before = "".join(parts)
    after = merge_citations(before)
    assert "".join(without_citations(after).split()) == "".join(without_citations(before).split())
    assert [block.kind for block in blocks(after)] == [block.kind for block in blocks(before)]
    assert split_code(after)[1::2] == split_code(before)[1::2]
