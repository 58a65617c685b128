from __future__ import annotations

import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.reading.chunks import HUGE, LONG, SHORT, ChunkedPage, heading_text, read, slug
from adapters.reading.plain import plain

PARAGRAPH = "Words that fill a paragraph until it is as long as it should be. " * 14
"""About 900 characters."""


def lines_of(page: ChunkedPage) -> list[tuple[int, int]]:
    return [(chunk.first_line, chunk.last_line) for chunk in page.chunks]


def test_a_section_is_a_chunk_under_its_headings() -> None:
    """Sections that are long enough stand alone, each with the path of its headings, its anchor and its lines."""
    page = read(
        f"# Guide\n\n{PARAGRAPH}\n\n## Install\n\n{PARAGRAPH}\n\n### On Linux\n\n{PARAGRAPH}\n\n## Use\n\n{PARAGRAPH}\n"
    )
    assert [chunk.path for chunk in page.chunks] == [(), ("Install",), ("Install", "On Linux"), ("Use",)]
    assert [chunk.anchor for chunk in page.chunks] == ["guide", "install", "on-linux", "use"]
    assert lines_of(page) == [(1, 3), (5, 7), (9, 11), (13, 15)]
    assert page.heading == "Guide"


def test_short_sections_are_joined_under_their_common_heading() -> None:
    """Short sections go with the following ones of their parent, and the chunk is named by what they share."""
    page = read("# Guide\n\n## A\n\n### One\n\nshort\n\n### Two\n\nshort\n\n## B\n\nshort\n", title="Other")
    assert [(chunk.path, chunk.headings.split()) for chunk in page.chunks] == [
        (("Guide",), ["Guide", "A", "One", "Two", "B"])
    ]
    page = read(f"# Guide\n\n{PARAGRAPH}\n\n## A\n\n### One\n\nshort\n\n### Two\n\nshort\n\n## B\n\n{PARAGRAPH}\n")
    assert [chunk.path for chunk in page.chunks] == [(), ()]
    page = read(f"# Guide\n\n{PARAGRAPH}\n\n## A\n\n{PARAGRAPH}\n\n### One\n\nshort\n\n### Two\n\nshort\n")
    assert [chunk.path for chunk in page.chunks] == [(), ("A",), ("A",)]
    assert page.chunks[-1].headings.split() == ["A", "One", "Two"]


def test_a_short_section_is_not_joined_with_another_parents() -> None:
    """The last section below one heading stays apart from the first below the next heading above."""
    page = read(f"# T\n\n{PARAGRAPH}\n\n## A\n\n{PARAGRAPH}\n\n### Last\n\nshort\n\n## B\n\n{PARAGRAPH}\n")
    assert [chunk.path for chunk in page.chunks] == [(), ("A",), ("A", "Last"), ("B",)]


def test_joining_stops_at_the_size_of_a_chunk() -> None:
    """No join makes a chunk longer than a section may be."""
    page = read("# T\n\n" + "".join(f"## S{n}\n\n{'word ' * 130}\n\n" for n in range(9)))
    assert len(page.chunks) > 3
    assert all(SHORT <= len(chunk.text) <= LONG for chunk in page.chunks[:-1])


@pytest.mark.parametrize(
    "block",
    [
        "".join(f"- item {n} of a list that is kept whole\n" for n in range(110)),
        "| a | b |\n| --- | --- |\n" + "".join(f"| cell {n} | of a table |\n" for n in range(180)),
        "```python\n" + "".join(f"value_{n} = compute({n})\n\n" for n in range(160)) + "# not a heading\n```\n",
    ],
    ids=["list", "table", "fence"],
)
def test_lists_tables_and_code_are_kept_whole(block: str) -> None:
    """A list, a table or a block of code that is longer than a chunk, but not huge, is in one chunk."""
    assert LONG < len(block) < HUGE
    page = read(f"# T\n\n{PARAGRAPH}\n\nThe block:\n\n{block}\n{PARAGRAPH}\n")
    assert sum(block.strip() in chunk.text for chunk in page.chunks) == 1
    assert any("The block:" in chunk.text and block.strip() in chunk.text for chunk in page.chunks)


def test_a_huge_table_is_cut_between_rows_and_keeps_its_head() -> None:
    """Each part of a table that is too large for one chunk can be read alone."""
    rows = [f"| cell {n} | {'x' * 60} |" for n in range(300)]
    page = read("# T\n\n| name | value |\n| --- | --- |\n" + "\n".join(rows) + "\n")
    parts = [chunk for chunk in page.chunks if "cell" in chunk.text]
    assert len(parts) > 5
    assert all(chunk.text.startswith("| name | value |\n| --- | --- |\n") for chunk in parts)
    assert [row for chunk in parts for row in chunk.text.split("\n")[2:]] == rows


def test_a_huge_block_of_code_is_cut_between_lines_and_stays_code() -> None:
    """Each part of a code block that is too large for one chunk has its fences, and no line is lost."""
    code = [f"line_{n} = '{'x' * 50}'" for n in range(300)]
    page = read("# T\n\n~~~python\n" + "\n".join(code) + "\n~~~\n")
    parts = [chunk.text.split("\n") for chunk in page.chunks if "line_" in chunk.text]
    assert len(parts) > 5
    assert all((part[0], part[-1]) == ("~~~python", "~~~") for part in parts)
    assert [line for part in parts for line in part[1:-1]] == code


def test_a_huge_list_is_cut_between_items() -> None:
    """A list that is too large for one chunk is cut where an item of its own begins, not inside one."""
    items = [f"{n}. item {n}\n   second line of {n}\n   - inner {n}" for n in range(1, 400)]
    page = read("# T\n\n" + "\n".join(items) + "\n")
    parts = [chunk.text for chunk in page.chunks if "item" in chunk.text]
    assert len(parts) > 3
    assert all(part.lstrip("# T\n")[:1].isdigit() for part in parts)
    assert "\n".join(parts).removeprefix("# T\n\n").removeprefix("# T\n") == "\n".join(items)


def test_one_endless_line_is_cut_between_words() -> None:
    """A paragraph of one line without an end does not become one chunk without an end."""
    page = read("# T\n\n" + "word " * 20_000)
    assert len(page.chunks) > 10
    assert all(len(chunk.text) <= HUGE for chunk in page.chunks)
    assert sum(chunk.text.split().count("word") for chunk in page.chunks) == 20_000


def test_link_and_image_targets_are_not_indexed_but_kept() -> None:
    """What only a browser needs stands in the stored text, and not among the words."""
    text = (
        '# T\n\nSee [the guide](https://a.example/secretpath "hint"), ![a picture](img/hidden.png) and <https://b.example>.\n'
        "\n[![badge](x/badge.svg)](https://c.example/deep)\n\n[ref]: https://d.example/other\n\n"
        '<div class="termy"><!-- a remark -->inside</div>\n\n`[kept](code)`\n'
    )
    (chunk,) = read(text).chunks
    for target in ("secretpath", "hint", "hidden", "svg", "deep", "other", "termy", "remark", "b.example"):
        assert target in chunk.text
        assert target not in chunk.body
    for word in ("the guide", "a picture", "badge", "inside", "[kept](code)"):
        assert word in chunk.body


def test_a_list_of_the_manuals_own_pages_is_kept_and_not_indexed_and_other_lists_are() -> None:
    menu = "- [Backups](backup.md)\n- [Snapshots](/en/snapshots){:.link}\n"
    tools = "- [sysbench](https://example.com/s)\n- [geekbench](https://example.com/g)\n"
    alone = "[Restore](restore.md)"
    (chunk,) = read(f"# T\n\nSee also:\n\n{menu}\nTools:\n\n{tools}\n{alone}\n").chunks
    assert menu.strip() in chunk.text
    said = set(chunk.body.split())
    assert said.isdisjoint({"Backups", "Snapshots"})
    assert {"sysbench", "geekbench", "Restore"} <= said


def test_fastapis_dialect_breaks_nothing() -> None:
    """Admonitions, includes and anchors of FastAPI's documentation are neither words nor boundaries."""
    text = (
        "# First Steps { #first-steps }\n\n{* ../../docs_src/first/tutorial001.py hl[1:3] *}\n\n"
        "/// tip | Hint\n\nThe text of the tip.\n\n///\n\n## Check it { #check-it }\n\nOpen it.\n"
    )
    page = read(text)
    (chunk,) = page.chunks
    assert page.heading == "First Steps"
    assert chunk.anchor == "first-steps"
    assert chunk.headings == "Check it"
    assert "The text of the tip." in chunk.body
    assert "Hint" in chunk.body
    assert all(word not in chunk.body for word in ("tutorial001", "///", "{", "tip |"))


@pytest.mark.parametrize(
    ("written", "title"),
    [
        ("Setup { #setup }", "Setup"),
        ("Use `async def` **now**", "Use async def now"),
        ("[Link](https://x.example) text", "Link text"),
        ("Кнопка {: .class #id }", "Кнопка"),
        ("A &amp; B", "A & B"),
    ],
)
def test_a_heading_is_its_words(written: str, title: str) -> None:
    """Anchors, attributes, links and emphasis are not part of a heading."""
    assert heading_text(written) == title


def test_an_anchor_is_what_renderers_make_of_a_heading() -> None:
    """A heading without an anchor of its own has the usual one, in any alphabet."""
    assert slug("Что такое `роль`? Обзор") == "что-такое-роль-обзор"


def test_code_is_indexed_without_its_fences() -> None:
    """The language of a code block is no word of the passage, its lines are."""
    (chunk,) = read("# T\n\n```console\n$ guardian index docs\n```\n").chunks
    assert chunk.body == "$ guardian index docs"


def test_front_matter_is_no_text_and_moves_no_line() -> None:
    """Lines are counted in the file, front matter included, and none of it is in a chunk."""
    (chunk,) = read("---\ntitle: X\n---\n# Head\n\nText\n", title="X", skip=3).chunks
    assert (chunk.first_line, chunk.last_line) == (4, 6)
    assert chunk.path == ("Head",)
    assert "title" not in chunk.text


def test_a_page_of_headings_alone_can_be_found() -> None:
    """A page without text still has one chunk, found by its headings; an empty one has none."""
    (chunk,) = read("# One\n\n## Two\n").chunks
    assert chunk.headings == "Two"
    assert read("").chunks == ()


LINES = (
    *("", "# H", "## H2", "### H3 { #x }", "- item", "  - inner", "1. one", "> quote", "```", "~~~py", "| a | b |"),
    *(
        "| --- | --- |",
        "---",
        "===",
        "text",
        "/// note",
        "///",
        "{* x *}",
        "<div>",
        "</div>",
        "<!--",
        "-->",
        "    code",
    ),
    *("word " * 300, "[x]: y", "[l](t)", "*" * 50, "[" * 200, "\\", "\t- tab", "a  ", "term\n: def"),
)
MARKDOWN = st.lists(st.one_of(st.sampled_from(LINES), st.text(max_size=30)), max_size=60).map("\n".join)


@given(MARKDOWN)
def test_chunks_are_lines_of_the_file_in_order(text: str) -> None:
    """Whatever a page holds, each chunk's text is in its lines, chunks follow one another, and no paragraph is lost."""
    text = text.replace("\r", " ")
    lines = text.split("\n")
    page = read(text)
    for number, chunk in enumerate(page.chunks):
        assert chunk.ordinal == number
        assert 1 <= chunk.first_line <= chunk.last_line <= len(lines)
        if len(chunk.text) < HUGE // 2:
            assert chunk.text.split("\n")[-1].strip() in "\n".join(lines)
    assert all(one.last_line <= other.last_line for one, other in pairwise(page.chunks))
    shown = {line for chunk in page.chunks for line in range(chunk.first_line, chunk.last_line + 1)}
    assert {n for n, line in enumerate(lines, start=1) if line == "text"} <= shown


@pytest.mark.parametrize("piece", ["[", "[a[b", "<a", "`", "![", "{.", "(((", "[](", "<!--", "> ", "- "])
def test_hostile_mark_up_takes_no_time(piece: str) -> None:
    """Mark-up that is opened a hundred thousand times and never closed is read in a moment."""
    started = time.process_time()
    plain(piece * (100_000 // len(piece)))
    assert time.process_time() - started < 5


@pytest.mark.parametrize("line", ["`" * 9_000, "~~~" + "a " * 4_500])
def test_a_fence_that_is_one_long_line_is_cut_like_any_line(line: str) -> None:
    """Nothing stands inside of it, and its line is all there is to find (regression: it ended the run)."""
    assert "".join(chunk.text for chunk in read(line).chunks).replace(" ", "") == line.replace(" ", "")
