"""What the reader of a page does not see, and what he does."""

from __future__ import annotations

import pytest

from language.attacks.hidden import without_hidden


@pytest.mark.parametrize(
    ("page", "seen"),
    [
        ("a <!-- x\ny --> b", "a \n b"),
        ('a <span style="display:none">x <b>y</b></span> b', "a  b"),
        ("<div hidden>\n\nx\n\n<div>y</div>\n</div>\nb", "\n\n\n\n\n\nb"),
        ('<p style="visibility: hidden">x</p>b', "b"),
        ('<span style="font-size:0px">x</span>b', "b"),
        ('<p style="color:#fff">x</p>b', "b"),
        ('<font color="white">x</font>b', "b"),
        ("<script>x</script><style>y</style>b", "b"),
        ("[//]: # (x)\nb", "\nb"),
        ("a\u200b\u200c\u200b\u200c\u200bb", "ab"),
        ("a\U000e0041\U000e0042b", "ab"),
        ("<div hidden>x\n\nb", "\n\nb"),
        ("<!-- x\n\nb", "\n\nb"),
        ("`<!--` begins one. <!-- x -->b", "`<!--` begins one. b"),
        ("<p style=display:none>x</p>b", "b"),
    ],
)
def test_what_a_page_hides_is_gone_and_lines_stay(page: str, seen: str) -> None:
    """Comments, hidden elements, white letters, and runs of invisible characters; what nothing closes ends with its block."""
    assert without_hidden(page) == seen


@pytest.mark.parametrize(
    "page",
    [
        "`<!-- x -->` is a comment",
        "```html\n<div hidden>x</div>\n```\n",
        '<p style="color:#fff;background:#000">x</p>',
        '<span style="font-size:0.9em">x</span>',
        '<i aria-hidden="true">x</i>',
        "<input hidden> x",
        '[x]: https://a.test "title"',
        "a < b > c",
        "a family: 👨\u200d👩\u200d👧",
        '<tr style="background:#333"><th style="color:#fff">Name</th></tr>',
        '<a title="Show hidden files" href="x">Files</a>',
        '<div class="flex hidden">Text</div>',
        "Press <style> to go on",
        "plain",
    ],
)
def test_what_is_seen_stays(page: str) -> None:
    """Code, other grounds, small letters, definitions of links, and characters that join others."""
    assert without_hidden(page) == page
