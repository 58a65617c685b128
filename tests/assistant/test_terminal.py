"""An answer on a terminal: laid out at its width, every address in sight, and nothing that steers the terminal."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assistant.terminal import write_for_terminal

STYLE = re.compile(r"\x1b\[[0-9;]*m")
LINK = re.compile(r"\x1b\]8;(?:id=[0-9]+)?;([^\x1b]*)\x1b\\")
HOSTILE = [
    "\x1b]0;title\x07 \x1b[2J \x9b31m \x1b]8;;https://evil.example\x1b\\shop\x1b]8;;\x1b\\",
    "&#27;[31m &#x9b;2J &#x202e;cod.exe &#x1b;]8;;https://evil.example&#7;",
    "[https://good.example](https://evil.example) [click](javascript:alert(1))",
    "[a](<https://evil.example/\x1b[31m>) ![p](https://evil.example/p.png) <https://x.example/&#27;>",
    "[bold red]markup[/] [link=https://evil.example]shop[/link] :smile:",
    "<b>html</b> <!-- hidden --> <script>alert(1)</script>",
    "```\x1b[31m\n\x1b[2Jcode\n```",
    "> " * 30 + "deep",
    "[" * 500 + "*a" * 500,
    "https://" * 5000,
]


def render(markdown: str, width: int = 60) -> str:
    return write_for_terminal(markdown, width, colour=False)


def test_blocks_are_laid_out_at_the_width() -> None:
    """Headings, lists and tables lose their signs, text is broken between words, and escaped signs are shown."""
    text = (
        "## What to do\n\nRun \\*this\\* **now**, "
        + "word " * 30
        + "\n\n1. one\n2. two\n\n| a | b |\n| --- | --- |\n| c | d |"
    )
    lines = render(text).splitlines()
    assert lines[0] == "What to do"
    assert lines[2].startswith("Run *this* now, word")
    assert " 1 one" in lines
    assert " c  d" in lines
    assert max(map(len, lines)) <= 60


def test_a_long_line_of_code_is_not_broken() -> None:
    """A command can be copied from the terminal as one line, with nothing before or behind it."""
    command = "guardian ask " + "x" * 200
    assert command in render(f"Type:\n\n```bash\n{command}\n```").splitlines()
    assert command in render(f"1. Type:\n\n   ```\n   {command}\n   ```").replace("\n", "").replace(" ", "").replace(
        "guardianask", "guardian ask "
    )


def test_json_stays_as_it_is() -> None:
    """An answer in JSON is for a program."""
    answer = '{"text": "**a** \\\\* [b](https://x.example)"}'
    assert render(answer) == answer


def test_a_link_shows_its_address() -> None:
    """Words are followed by where they lead; an address that stands alone is shown once."""
    assert render("[the page](https://a.example/x)") == "the page (https://a.example/x)"
    assert render("[https://a.example](https://b.example)") == "https://a.example (https://b.example)"
    assert render("<https://a.example> and https://b.example/x_y.") == "https://a.example and https://b.example/x_y."


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_no_text_steers_the_terminal(text: str) -> None:
    """All control sequences are styles, and links to the address that is shown; without colour there is none."""
    coloured = write_for_terminal(text, 80, colour=True)
    assert len(coloured) < 100 * len(text) + 1000
    opened = 0
    for part in re.finditer(r"\x1b\]8;(?:id=[0-9]+)?;([^\x1b]+)\x1b\\(.*?)\x1b\]8;;\x1b\\", coloured, re.DOTALL):
        opened += 1
        assert part[1].startswith(STYLE.sub("", part[2]))
    assert opened == sum(1 for target in LINK.findall(coloured) if target)
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]", LINK.sub("", STYLE.sub("", coloured)))
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]", render(text))


@pytest.mark.parametrize("text", ["<b>html</b> <!-- hidden -->", "> " * 30 + "deep", "[bold]markup[/]", "a &lt; b"])
def test_no_word_is_hidden(text: str) -> None:
    """What a browser would take for HTML, what is too deep, and what rich itself would read as mark-up is shown."""
    for word in re.findall(r"\w{4,}", text):
        assert word in render(text)


@given(st.text(alphabet="ab *_`#>-|[]()\n1.\\<&;:/\x1b", max_size=60))
def test_any_text_can_be_shown(text: str) -> None:
    """However Markdown is broken, it is shown, without control characters."""
    assert "\x1b" not in render(text)
