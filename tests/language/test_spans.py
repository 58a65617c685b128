"""The readings of a text in which values are searched."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from language.privacy.personal_data import personal_data
from language.privacy.secrets import secrets
from language.privacy.spans import Span, readings, replace_spans

# Made of pieces, so that no other program that looks for keys takes this file for a leak.
KEY = "ghp_" + "16C7e42F292c6912E7710c838347Ae178B4a"


def found(text: str) -> list[Span]:
    return [*secrets(text), *personal_data(text)]


def masked(text: str) -> str:
    return replace_spans(text, found)[0]


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("Use " + KEY.replace("_", r"\_") + " here", "Use [redacted: api-key] here"),
        ("Use g&#104;" + KEY[2:] + ".", "Use [redacted: api-key]."),
        (f"Use {KEY[:12]}**{KEY[12:20]}**{KEY[20:]}.", "Use [redacted: api-key]."),
        (f"Use {KEY[:12]}****{KEY[12:]}.", "Use [redacted: api-key]."),
        (f"Use {KEY[:12]}[1]{KEY[12:]}.", "Use [redacted: api-key]."),
        (f"Use {KEY[:12]}<wbr>{KEY[12:]}.", "Use [redacted: api-key]."),
        (f"Use {KEY[:12]}<!-- x -->{KEY[12:]}.", "Use [redacted: api-key]."),
        ('```\n{"a": "\\u0067' + KEY[1:] + '"}\n```', '```\n{"a": "[redacted: api-key]"}\n```'),
        (f"x\u200b{KEY}", "x\u200b[redacted: api-key]"),
        (f"x\u200b{KEY[:20]}\u200b{KEY[20:]}", "x\u200b[redacted: api-key]"),
        ("Use \u0261" + KEY[1:] + ".", "Use [redacted: api-key]."),
        ("Use " + KEY.replace("C7", "\u04217") + ".", "Use [redacted: api-key]."),
        (r"Ask anna\.petrova\@firma\.ru", "Ask [redacted: email]"),
        ("Ask anna&#64;firma.ru", "Ask [redacted: email]"),
        ("Ask anna&commat;firma&period;ru", "Ask [redacted: email]"),
        ("Ask anna@<b>firma</b>.ru", "Ask [redacted: email]"),
        ("See /x?mail=anna%40firma.ru", "See /x?mail=[redacted: email]"),
        (r"Call \+7 912 345\-67\-89", "Call [redacted: phone]"),
        ("Call +7&nbsp;912&nbsp;345&nbsp;67&nbsp;89", "Call [redacted: phone]"),
        ("Call +7 ٩١٢ ٣٤٥ ٦٧ ٨٩", "Call [redacted: phone]"),
        (r"4539\-1488\-0343\-6467", "[redacted: payment-card]"),
        (r"amqp\://app:Qw3rty99@db.firma.ru", "[redacted: connection-string]"),
        (r"\-\-\-\-\-BEGIN PRIVATE KEY\-\-\-\-\-" + "\nMIIEvQIBADANBg", "[redacted: private-key]"),
        ("p\u0430ssword: Qw3rty99", "p\u0430ssword: [redacted: password-value]"),
        ("п\u0061роль: Qw3rty99", "п\u0061роль: [redacted: password-value]"),
        ("𝐩𝐚𝐬𝐬𝐰𝐨𝐫𝐝: 𝐐𝐰𝟑𝐫𝐭𝐲𝟗𝟗", "𝐩𝐚𝐬𝐬𝐰𝐨𝐫𝐝: [redacted: password-value]"),
        ("p\u0301assword: Qw3rty99", "p\u0301assword: [redacted: password-value]"),
        ("pass**word**: Qw3rty99", "pass**word**: [redacted: password-value]"),
        ("Пароль: <code>Qw3rty99</code>", "Пароль: <code>[redacted: password-value]</code>"),
    ],
)  # fmt: skip
def test_a_value_is_found_as_it_is_shown(text: str, left: str) -> None:
    """Escapes, entities, tags, marks and citations inside a word, and look-alike letters hide none; all of it is masked."""
    assert masked(text) == left
    assert found(left) == []


@pytest.mark.parametrize(
    "text",
    [
        r"`re.match('.+@firma\.ru', address)`",
        "```\nserver_name ~^.+@firma\\.ru$;\n```",
        "`anna&#64;firma.ru`",
    ],
)
def test_code_is_read_as_it_is_written(text: str) -> None:
    """There an escape is a backslash, and an entity is five characters."""
    assert found(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "Plain text, [1].",
        "**Bold** and *so* on [1][2].",
        "Чтобы «войти» — нажмите.",
        "2 * 3 ~ 6",
        "a < b & c",
        "API-ключ",
    ],
)
def test_most_texts_have_one_reading(text: str) -> None:
    """What Markdown shows as it is written is searched once."""
    assert len(readings(text)) == 1


@given(text=st.text("ab1@.*[]\\&#64;-_~<>b/ \n`\u200b\u0430é", max_size=60))
def test_places_are_places_of_the_text(text: str) -> None:
    """Each character of a reading stands for a part of the text, in its order."""
    for read in readings(text):
        spans = read.spans(Span("x", place, place + 1) for place in range(len(read.plain)))
        assert all(0 <= span.start < span.end <= len(text) for span in spans)
        assert [span.start for span in spans] == sorted(span.start for span in spans)
        assert readings(text)[0].plain == readings(text)[0].plain.translate({0x200B: None})


HOSTILE = ["\\_" * 20_000, "&" * 40_000, "&amp;" * 8_000, "a**" * 13_000, "a[1]" * 10_000, "<b>" * 13_000, "<!--" * 10_000,
           "a\u0430" * 20_000, "a1" * 20_000 + "\u0430", "a\u200b" * 20_000, "a\u0301" * 20_000, "\\" * 40_000]  # fmt: skip


@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: repr(text[:6]))
def test_no_text_keeps_the_reading_busy(text: str) -> None:
    """Forty thousand characters made to be looked at again and again take less than a second."""
    begun = time.process_time()
    found(text)
    assert time.process_time() - begun < 1.0


def test_values_without_end_are_replaced_in_a_few_rounds() -> None:
    """Where each value begins behind the last one, their line goes after a while; the next line stays (regression: 2 s)."""
    rounds: list[str] = []

    def first(text: str) -> list[Span]:
        rounds.append(text)
        at = text.find("ab")
        return [Span("api-key", at, at + 2)] if at >= 0 else []

    text, rules = replace_spans("ab" * 1_000 + "\nand so on", first)
    assert (text, rules) == ("[redacted: api-key]" * 9 + "\nand so on", ("api-key",))
    assert len(rounds) == 10
