from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.reading.dialects import DEEPEST, LARGEST, DialectSettings, Flat, flatten
from contracts.enums import Dialect
from tests.support.markdown_pages import write

ALL_DIALECTS = tuple(Dialect)


def flat(root: Path, text: str, page: str = "page.md", **variables: str) -> Flat:
    """Put a page of the dialect `mkdocs` together."""
    return flatten(text, DialectSettings(Dialect.MKDOCS, variables), page=root / page, root=root)


# ---------------------------------------------------------------------------------------------------------- includes


@pytest.mark.parametrize(
    "asked",
    [
        '--8<-- "part.md"',
        "--8<-- 'part.md'",
        "--8<--\npart.md\n; gone.md\n--8<--",
        '{% include-markdown "part.md" %}',
        '{%\n  include-markdown "part.md"\n  heading-offset=1\n%}',
        "{% include 'part.md' %}",
        "{!part.md!}",
        '--8<-- "../docs/part.md"',
        "{! /part.md !}",
    ],
)
def test_every_way_to_include_a_file_is_known(tmp_path: Path, asked: str) -> None:
    """Each generator's own include brings the file's text, without its front matter, and leaves the rest as it is."""
    write(tmp_path / "docs", {"part.md": "---\ntitle: X\n---\nA kiwi.\n"})
    found = flat(tmp_path / "docs", f"one\n\n{asked}\n\ntwo")
    assert found.text.split() == ["one", "A", "kiwi.", "two"]
    assert (found.alone, found.problem) == (False, "")
    assert found.lines[found.text.split("\n").index("A kiwi.")] == 3


def test_a_part_of_a_file_can_be_included(tmp_path: Path) -> None:
    """Lines, a named section, or what stands between two marks."""
    write(tmp_path, {"part.md": "a\n<!-- --8<-- [start:x] -->\nb\n<!-- --8<-- [end:x] -->\nc\n"})
    assert flat(tmp_path, '--8<-- "part.md:x"').text == "b"
    assert flat(tmp_path, '--8<-- "part.md:1:1"').text == "a"
    assert flat(tmp_path, '--8<-- "part.md:5"').text == "c"
    assert flat(tmp_path, '{% include-markdown "part.md" start="[start:x] -->" end="<!--" %}').text == "b"


def test_code_is_included_as_code(tmp_path: Path) -> None:
    """A file in a block of code keeps its lines, and FastAPI's way to show one makes the block itself."""
    write(tmp_path, {"x.py": "def f():\n    return {{ x }}\n"})
    assert flat(tmp_path, '```py\n--8<-- "x.py"\n```').text == "```py\ndef f():\n    return {{ x }}\n```"
    assert flat(tmp_path, "{* x.py hl[1:2] *}").text == "```py\ndef f():\n    return {{ x }}\n```"


@pytest.mark.parametrize(
    "name", ["../secret.md", "/etc/hostname", "link.md", ".env", ".git/config", "gone.md", "", "\x00", "folder"]
)
def test_an_include_does_not_lead_out_of_the_folder(tmp_path: Path, name: str) -> None:
    """Files outside, behind links out, hidden or missing are left out, and the page says which."""
    write(
        tmp_path,
        {"secret.md": "secret", "docs/.env": "secret", "docs/.git/config": "secret", "docs/folder/x.md": "secret"},
    )
    (tmp_path / "docs/link.md").symlink_to(tmp_path / "secret.md")
    found = flat(tmp_path / "docs", f'one\n{{!{name}!}}\n--8<-- "{name}"')
    assert "secret" not in found.text
    assert ("cannot be had" in found.problem) == bool(name)


def test_includes_in_a_circle_end(tmp_path: Path) -> None:
    """A file that includes itself, or one that includes it, is left out there; and so is what goes too deep or too far."""
    write(
        tmp_path,
        {"a.md": "a\n{!b.md!}", "b.md": "b\n{!a.md!}\n{!page.md!}", "page.md": "{!a.md!}", "big.md": "x" * LARGEST},
    )
    found = flat(tmp_path, "{!a.md!}")
    assert found.text.split() == ["a", "b"]
    assert "page.md" in found.problem
    write(tmp_path, {f"n{n}.md": f"n{n}\n{{!n{n + 1}.md!}}" for n in range(DEEPEST * 2)})
    assert len(flat(tmp_path, "{!n0.md!}").text.split()) == DEEPEST
    write(tmp_path, {"wide.md": "{!apple.md!}\n" * 50, "apple.md": "apple\n"})
    assert flat(tmp_path, "{!wide.md!}\n" * 50).text.count("apple") < 250
    assert "big.md" in flat(tmp_path, "{!big.md!}\n{!big.md!}").problem


# --------------------------------------------------------------------------------------------------------- variables


def test_variables_are_replaced_and_unknown_ones_left_out(tmp_path: Path) -> None:
    """In prose and in targets of links; in code only what has a value is replaced."""
    text = "---\ntitle: {{ name }}\n---\n[{{name | upper}}]({{ base }}/x.md) {{ gone }}.{% if x %} `{{ gone }} {{ name }}`\n```\n{{ gone }}\n{{ name }}\n```"
    found = flat(tmp_path, text, name="CBAP", base="https://kb.example.com")
    assert found.text == (
        "---\ntitle: CBAP\n---\n[CBAP](https://kb.example.com/x.md) . `{{ gone }} CBAP`\n```\n{{ gone }}\nCBAP\n```"
    )
    assert (found.alone, "gone" in found.problem) == (False, True)


# ------------------------------------------------------------------------------------------------------------ blocks


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ('!!! note "Mind"\n\n    apple\n\n    - pear\n\nplum', "**Mind**\n\n\napple\n\n- pear\n\nplum"),
        ("!!! warning\n    apple", "**Warning**\n\napple"),
        ('!!! note ""\n    apple', "\napple"),
        ('??? tip "T"\n    apple\n\n    !!! note "N"\n        pear\n    plum', "**T**\n\napple\n\n**N**\n\npear\nplum"),
        (
            '=== "Linux"\n\n    ```sh\n    ls\n    ```\n\n=== "Windows"\n\n    dir',
            "**Linux**\n\n\n```sh\nls\n```\n\n**Windows**\n\n\ndir",
        ),
        ("1. One\n\n    !!! note\n        apple\n\n2. Two", "1. One\n\n    **Note**\n\n    apple\n\n2. Two"),
        ("/// note | Mind\n\napple\n\n///", "**Mind**\n\n\napple\n\n"),
        ("/// details | More\n    type: tip\n\napple\n///", "**More**\n\n\napple\n"),
        (
            "//// tab | Python 3.10+\n\n/// tip\n\napple\n\n///\n\n////",
            "**Python 3.10+**\n\n\n**Tip**\n\n\napple\n\n\n\n",
        ),
        ("```\n!!! note\n    apple\n```", "```\n!!! note\n    apple\n```"),
    ],
)
def test_admonitions_and_tabs_are_read_as_text(tmp_path: Path, written: str, read: str) -> None:
    """The title becomes bold, the text stands as far left as the block, and code keeps its lines."""
    found = flat(tmp_path, written)
    assert found.text == read
    assert (found.alone, len(found.lines)) == (True, read.count("\n") + 1)


# --------------------------------------------------------------------------------------------------------------- all

LINES = (
    "apple",
    "    pear",
    "!!! note",
    '    === "T"',
    "```",
    "{{ x }}",
    '--8<-- "part.md"',
    "{!page.md!}",
    "///",
    "- list",
    "{%",
    "--8<--",
    "",
)


@given(st.lists(st.sampled_from(LINES), max_size=14), st.sampled_from(ALL_DIALECTS))
def test_no_word_of_prose_is_lost(tmp_path_factory: pytest.TempPathFactory, lines: list[str], dialect: Dialect) -> None:
    """Every line of the result has its line in the file, in order, and every plain word is still there."""
    root = tmp_path_factory.getbasetemp()
    write(root, {"part.md": "kiwi", "page.md": "\n".join(lines)}, aged=False)
    found = flatten("\n".join(lines), DialectSettings(dialect), page=root / "page.md", root=root)
    assert list(found.lines) == sorted(found.lines)
    assert len(found.lines) == found.text.count("\n") + 1
    if lines.count("--8<--") < 2 and "{%" not in lines:
        assert found.text.count("apple") + found.text.count("pear") == lines.count("apple") + lines.count("    pear")


@pytest.mark.parametrize(
    "line",
    [
        "{{" + " " * 50_000 + "x",
        "{!" + " " * 50_000 + "x",
        "{*" + " " * 50_000 + "*}",
        "!!! a" + " " * 50_000 + "}",
        "/// a |" + " " * 50_000 + "x",
        '=== "' * 10_000,
        "{% include " * 10_000,
        "`{{" * 20_000,
        "``{{x`" * 10_000,
        "    " * 20_000 + "!!! note",
    ],
)
def test_a_hostile_line_costs_linear_time(tmp_path: Path, line: str) -> None:
    """A line of fifty thousand characters takes less than two seconds."""
    started = time.process_time()
    flat(tmp_path, line)
    assert time.process_time() - started < 2
