"""The values of a claim, and which of them a snippet does not have."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from language.figures.comparison import missing_from
from language.figures.numbers import number
from language.figures.values import values


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("1500", "1500"),
        ("1 500", "1500"),
        ("1\u00a0500", "1500"),
        ("1\u202f500", "1500"),
        ("1,500", "1500"),
        ("1 500,50", "1500.5"),
        ("1,500.50", "1500.5"),
        ("0,7", "0.7"),
        ("0.70", "0.7"),
        ("00.7", "0.7"),
        ("007", "7"),
        ("0", "0"),
        ("0.0", "0"),
        ("2.0", "2"),
        ("-5", "-5"),
        ("−5", "-5"),
        ("100", "100"),
        ("1,000,000", "1000000"),
    ],
)
def test_a_number_has_one_form(text: str, normal: str) -> None:
    """Russian and English writing are one: grouping goes, the comma is a point, trailing noughts go."""
    assert number(text) == normal


@pytest.mark.parametrize(
    ("text", "numbers", "others"),
    [
        ("Wait 30 seconds", {"30"}, set()),
        ("1. Wait\n2. Go\n- 3 times", {"3"}, set()),
        ("### 4. Chapter", set(), set()),
        ("It is so [1] [12].", set(), set()),
        ("Version 1.2.3-rc1", {"1.2.3-rc1"}, set()),
        ("Use v2.0.1", {"2.0.1"}, set()),
        ("Use v4.10", {"4.10"}, set()),
        ("Python 3.10 or newer", {"3.10"}, set()),
        ("it rose 3.10 times", {"3.1"}, set()),
        ("on 22 November 2026 at 14:30", {"22 November 2026", "14:30"}, set()),
        ("at -5 degrees", {"-5"}, set()),
        ("from 5-10 files", {"5", "10"}, set()),
        ("1,5 тыс. файлов", {"1500"}, set()),
        ("two kettles", set(), set()),
        ("two files", {"2"}, set()),
        ("two minutes", {"2"}, set()),
        ("Set max_retry", set(), {"max_retry"}),
        ("In config.toml", set(), {"config.toml"}),
        ("In docs/a-b.md", set(), {"docs/a-b.md"}),
        ("In /etc/app/conf.d now", set(), {"/etc/app/conf.d"}),
        ("A camelCase name", set(), {"camelcase"}),
        ("Our PostgreSQL runs", set(), {"postgresql"}),
        ("Ticket ABC-123", set(), {"abc-123"}),
        ("Pass --no-cache", set(), {"--no-cache"}),
        ("Run `make  test`", set(), {"make test"}),
        ("Use `list[1]` here [1]", set(), {"list[1]"}),
        ("Open «Новая запись»", set(), {"новая запись"}),
        ("Open “New record”", set(), {"new record"}),
        ("Press **Save all** now", set(), {"save all"}),
        ("Нажмите кнопку **Сохранить**", set(), {"сохранить"}),
        ("**Note:** read this", set(), set()),
        ("Open Settings → Users", set(), {"settings", "users"}),
        ("See https://A.b/C?d=1.", set(), {"https://a.b/C?d=1"}),
        ("See HTTPS://a.b/c/", set(), {"https://a.b/c"}),
        ("See «https://a.b/c»…", set(), {"https://a.b/c"}),
        ("yes/no and and/or", set(), set()),
        ("Just words, nothing else", set(), set()),
        ("", set(), set()),
    ],
)
def test_the_values_of_a_claim(text: str, numbers: set[str], others: set[str]) -> None:
    """Numbers, versions, dates, identifiers, addresses and quoted names; markers and citations are none of these."""
    found = values(text)
    assert (found.numbers, found.identifiers | found.urls | found.quoted) == (numbers, others)
    assert bool(found) == bool(numbers or others)


def test_absent_values_come_in_a_fixed_order() -> None:
    """Numbers first, then identifiers, addresses and names, each sorted."""
    claim = "Open «Имя» and https://a.b/c, set b_c and a_b to 7 and 5"
    assert missing_from(claim, "") == ["5", "7", "a_b", "b_c", "https://a.b/c", "имя"]


@pytest.mark.parametrize("snippet", ["at 5\n500 times", "at -5 <br> 500,50.", "at <b>5</b> 500"])
def test_numbers_that_stand_together_in_one_line_are_supported(snippet: str) -> None:
    """A quotation is one line without tags, where "5" and "500" read as "5 500" (regression)."""
    quoted = " ".join(re.sub("<[^>]*>", "", snippet).split())
    assert missing_from(quoted, snippet) == []
    assert missing_from("at 5 501", snippet) == ["5501"]


@pytest.mark.parametrize(
    ("snippet", "quoted"),
    [
        ('Open "[the lid](https://a.b/c) of <https://a.b/d>"', 'Open "the lid of https://a.b/d"'),
        ('Set `a "b [x](https://a.b) ` [y](https://a.b) c"', 'Set `a "b [x](https://a.b) ` y c"'),
        ('Open "the lid <https://a.b/d> now"', 'Open "the lid now"'),
        ('Open "the <b>lid</b>"', 'Open "the lid"'),
    ],
)
def test_a_name_is_found_as_it_is_read(snippet: str, quoted: str) -> None:
    """Without tags and targets of links; addresses that stand alone and code are read as they are (regression)."""
    assert missing_from(quoted, snippet) == []


def test_a_name_is_not_found_inside_a_longer_word() -> None:
    """No "роль" is in "пароль", and max_retry is not in max_retry_count."""
    assert missing_from("Open «роль»", "пароль") == ["роль"]
    assert missing_from("Set max_retry", "max_retry_count") == ["max_retry"]
    assert missing_from("Run `make`", "makefile") == ["make"]
    assert missing_from("Run `make`", "(make)") == []


claims = st.lists(
    st.sampled_from(
        [
            "kettle",
            "8080",
            "500,50",
            "3.14",
            "v1.2.3",
            "config.toml",
            "max_retry",
            "`make",
            "install`",
            "«Имя»",
            '"Open',
            'file"',
            "https://a.b/c?d=1",
            "e.g.",
            "5.",
            "camelCase",
            "ABC-12",
            "--force",
            "-5",
            "10%",
            "2024-01-31",
            "12:30",
            "**bold**",
            "[link](http://a.b)",
            "\\*",
            "1,000",
            "1",
            "000",
            "!",
            "?",
            "...",
            ":",
            "|",
            ">",
            "-",
        ]
    ),
    max_size=14,
).map(" ".join)


@given(text=claims | st.text())
def test_a_text_supports_itself(text: str) -> None:
    """No value of a text is missing from that text, whatever it is made of (a citation is no part of it)."""
    text = re.sub(r"\[\d", "[", text)
    assert missing_from(text, text) == []


@given(text=claims, before=claims, after=claims)
def test_more_context_takes_no_support_away(text: str, before: str, after: str) -> None:
    """What a snippet supports, the same snippet with more text around it supports."""
    assert missing_from(text, f"{before}\n\n{text}\n\n{after}") == []


@pytest.mark.parametrize(
    ("claim", "source"),
    [
        ("Error E1042 means that the disk is full", "| E1042 | The disk is full |"),
        ("SHA-256 is used", "SHA256 is used"),
        ("SHA256 is used", "SHA‑256 is used"),
        ("An RTX4090 is enough", "The RTX 4090 is enough"),
        ("ext4 and IPv4 and WPA2", "Works with EXT4, IPv4, WPA2."),
        ("Бумага A4", "Бумага А4"),
        ("Press Ctrl+F5", "Press Ctrl + F5"),
        ("Нажмите Ctrl+С", "Press <kbd>Control</kbd>+<kbd>C</kbd>"),
        ("Press Alt+Tab", "Hold Alt and Tab"),
        ("Python3 is needed", "Python 3.11 is needed"),
        ("`SHA256`", "SHA-256"),
        ("It fails with 0x80070005", "Code 0X80070005"),
        ("It is x2 faster in v2", "It is 2 times faster in version 2"),
    ],
)
def test_a_code_of_letters_and_digits_is_one_however_it_is_typed(claim: str, source: str) -> None:
    """Case, a hyphen or a space between letters and digits, and letters that look alike do not tell."""
    assert missing_from(claim, source) == []


@pytest.mark.parametrize(
    ("claim", "source", "missing"),
    [
        ("Error E1024 means that", "Error E1042 means that", ["e1024"]),
        ("Error E7 means that", "E1042: 7 disks", ["e7"]),
        ("Use 0x80070006", "Use 0x80070005", ["0x80070006"]),
        ("Install KB5001331", "Install KB5001330", ["kb5001331"]),
        ("Press F6", "Press F5", ["f6"]),
        ("Press Ctrl+F6", "Press Ctrl+F5 or F6", ["ctrl+f6"]),
        ("Press Ctrl+Shift+F5", "Press Ctrl+F5, or Shift", ["ctrl+shift+f5"]),
        ("SHA512 is used", "SHA256 is used, 512 bits", ["sha512"]),
        ("WPA3 is used", "WPA2 is used 3 times", ["wpa3"]),
        ("ext3 is used", "ext4 is used", ["ext3"]),
        ("IPv6 is used", "IPv4 is used", ["ipv6"]),
        ("RTX4080 is enough", "RTX 4090 is enough", ["rtx4080"]),
        ("Use GPT-4", "Use GPT-4.5", ["gpt-4"]),
        ("Бумага А3", "Бумага А4", ["а3"]),
    ],
)
def test_another_code_is_missing(claim: str, source: str, missing: list[str]) -> None:
    """A code must stand in the passage; a number that it holds is not enough."""
    assert missing_from(claim, source) == missing


@pytest.mark.parametrize(
    "claim",
    [
        "4990 ₽/мес.",
        "4990 ₽/месяц за пользователя",
        "4990 ₽/мес./чел.",
        "Скидка 20 %/год",
        "Pro: 49 $/user/month",
        "Pro costs $49 /month",
        "0.02 €/GB",
        "«Да»/Нет",
        '"Yes"/no',
    ],
)
def test_a_slash_behind_an_amount_or_a_quotation_begins_no_path(claim: str) -> None:
    """A "₽/мес" is a price and no folder."""
    assert values(claim).identifiers == frozenset()


@pytest.mark.parametrize(
    ("claim", "source", "missing"),
    [
        ("1 000 pages", "1,000 pages", []),
        ("1000 pages", "1,000 pages", []),
        ("1,000 страниц", "1 000 страниц", []),
        ("1,5 кг", "1,500 кг", []),
        ("1,5 кг", "1.500 kg", []),
        ("0,125", "0.125", []),
        ("1 page", "1,000 pages", ["1"]),
        ("1,000 pages", "1 page", ["1000"]),
        ("2 hours", "2,000 hours", ["2"]),
        ("$1.499", "$1,499", ["1.499"]),
        ("1,000 страниц", "1 страница", ["1000"]),
        ("0,125", "125", ["0.125"]),
    ],
)
def test_three_digits_behind_a_comma_are_a_group_where_fractions_have_a_point(
    claim: str, source: str, missing: list[str]
) -> None:
    """Only Russian text may mean a fraction, and "1,000" is a thousand anywhere."""
    assert missing_from(claim, source) == missing


@pytest.mark.parametrize("piece", ["a_", "1-", "a.", "a→", "**a", "Ctrl+", "a1", "/a", "1,", "«a"])
def test_values_of_a_long_text_are_found_in_time(piece: str) -> None:
    """No expression takes more than a text's length allows, whatever repeats (regression: a minute)."""
    start = time.process_time()
    values(piece * (60_000 // len(piece.encode())))
    assert time.process_time() - start < 3


def test_a_name_of_several_numbers_is_one_name() -> None:
    """The name of a machine's size or of a fault is one value, of which no number is left over (regression)."""
    found = values("Take STD3-4-8, because of CVE-2024-1234.")
    assert (found.identifiers, found.numbers) == ({"std3-4-8", "cve-2024-1234"}, set())
    assert missing_from("Take STD3-4-8.", "There is STD3-4-8.") == []
    assert missing_from("Take STD3-4-8.", "There is STD3-4-16.") == ["std3-4-8"]
