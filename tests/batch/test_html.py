"""The HTML of a ticket as text."""

from __future__ import annotations

import pytest

from assistant.batch.html import is_html, text_of
from contracts.errors import InputError

TICKET = """<html><head><style>p {color: red}</style><title>t</title></head><body>
<p>Hello,&nbsp;team &amp; all!</p><script>alert(1)</script><div style="display:none">tracking</div>
<p>See <a href="https://x.example/page?a=1">the <b>manual</b></a>.</p>
<table><tr><th>Step</th><th>Result</th></tr><tr><td>1</td><td>a &lt; b</td></tr></table>
<ul><li>first</li><li>second</li></ul><img src="data:image/png;base64,AAAA" alt="red light">
<!-- a remark --></body></html>"""


def test_a_ticket_in_html_is_read_as_its_words() -> None:
    """Entities are decoded; of links and pictures the words stay; scripts, styles and hidden parts do not."""
    text = text_of(TICKET, "auto")
    assert text.splitlines() == [
        "Hello, team & all!",
        "",
        "See the manual.",
        "",
        "| Step | Result |",
        "| --- | --- |",
        "| 1 | a < b |",
        "",
        "- first",
        "- second",
        "",
        "red light",
    ]


@pytest.mark.parametrize(
    "text",
    [
        *("if a < b and c > d", "if a<b and c>d", "List<String> x = 1 << 2", "3 <b", "Q&A; R&D", "1\n\n  2"),
        *("<имя> и <email@x.example>", "one &amp; two\n\nthree", "5&nbsp;kg"),
        "How do I embed <script> in the page? My real question: how do I delete a conversation?",
        *("What is <style> for, and <table>?", "Зачем нужны <div> и <p>?"),
    ],
)
def test_plain_text_stays_as_it_is(text: str) -> None:
    """A tag that is only mentioned, other signs of HTML and entities make no document of markup."""
    assert not is_html(text, "auto")
    assert text_of(text, "auto") == text


@pytest.mark.parametrize(
    "text",
    [
        *("a<br>b", "a<BR/>b", "<p class='x'>a", "<!-- x -->a", "Hello <b>you</b>", "<!DOCTYPE html>a"),
        *("a <a href='https://x.example'>b</a>", "one</p>two", "<div>a", "see <img src='x.png' alt='this'>"),
    ],
)
def test_markup_makes_html(text: str) -> None:
    """A description need not be a whole page."""
    assert is_html(text, "auto")
    assert text_of(text, "never") == text
    assert text_of(text, "auto") != text


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("<p>How do I embed <script> in it?</p><p>And a page?</p>", "How do I embed <script> in it?\n\nAnd a page?"),
        ("<p>Drop <style>p {}</style>this, keep <title> and this</p>", "Drop this, keep <title> and this"),
        ("Ann <a@b.example><br>wrote List<String>", "Ann <a@b.example>\nwrote List<String>"),
        ("<p>if a<b and c>d<o:p> </o:p> <my-tag>then</my-tag></p>", "if a<b and c>d then"),
        (r"<p>C:\_backup\#1 and \*</p>", r"C:\_backup\#1 and \*"),
        ("<p>a_b * c # d ~ [e] | =</p>", "a_b * c # d ~ [e] | ="),
    ],
)
def test_html_loses_no_words(text: str, words: str) -> None:
    """What has no end swallows nothing, what is no tag is text, and backslashes stay."""
    assert text_of(text, "auto") == words


def test_html_can_be_said_to_be_there_always() -> None:
    """A mapping that knows better than the look of a text is believed."""
    assert text_of("a <x>b</x>", "always") == "a b"


def test_a_description_without_words_is_empty() -> None:
    """A lone picture without a description says nothing."""
    assert text_of('<p><img src="x.png"></p>', "auto") == ""


def test_a_description_of_a_million_characters_is_not_read() -> None:
    """Whoever pasted a film into a ticket is told so."""
    with pytest.raises(InputError, match="1,000,004 characters of HTML"):
        text_of("<br>" + "x" * 1_000_000, "auto")


@pytest.mark.timeout(30)
def test_hostile_html_is_read_in_no_time() -> None:
    """Unclosed tags, deep nesting and long runs end, and soon."""
    for text in ("<" * 30_000, "<div " * 30_000, "<div>" * 20_000 + "x", "<b>" * 20_000, "**" * 30_000 + "<br>"):
        text_of(text, "auto")
