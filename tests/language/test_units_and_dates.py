"""Amounts, dates, versions and numbers in any format: what is equal, and what is another value."""

from __future__ import annotations

import pytest

from language.figures.comparison import missing_from
from language.figures.numbers import decimal, word_number


@pytest.mark.parametrize(
    ("claim", "source"),
    [
        ("It takes 5 GB", "занимает 5 ГБ"),
        ("Занимает 5 гигабайт", "it takes 5 GB"),
        ("Wait 100 ms", "ждать 100 мс"),
        ("Wait 30 s", "30 секунд"),
        ("Ждать 5 с.", "5 seconds"),
        ("a 30-day limit", "30 дней"),
        ("A minute is 60 s", "1 минута"),
        ("90 minutes", "1 h 30 min"),
        ("1 h 30 min", "90 минут"),
        ("1 hour", "каждый час"),
        ("30 минут", "полчаса"),
        ("1024 MB", "1 GB"),
        ("1000 MB", "1 GB"),
        ("512 MiB", "512 MB"),
        ("0.1 s", "100 мс"),
        ("50 Мбит/с", "50 Mbit/s"),
        ("5 процентов", "5%"),
        ("5 percent", "5 %"),
        ("It costs $5", "5 долларов"),
        ("1.500,50 руб.", "1 500,50 ₽"),
        ("at 90 degrees", "90 °C"),
        ("-5 °C", "минус 5 градусов"),
        ("1,5 млн строк", "1500000 rows"),
        ("5–10 minutes", "от 5 до 10 минут"),
        ("from 5 to 10 min", "с 5 по 10 минут"),
        ("It waits 30 seconds", "`timeout` = 30"),
        ("3 seconds", "не больше трёх секунд"),
        ("2 retries", "two retries"),
        ("2nd try", "вторая попытка"),
        ("within .02 of it", "0.02"),
    ],
)
def test_equal_amounts_are_one_value(claim: str, source: str) -> None:
    """Units of both languages, exact conversions, ranges and number words say the same."""
    assert missing_from(claim, source) == []


@pytest.mark.parametrize(
    ("claim", "source", "missing"),
    [
        ("It takes 5 GB", "5 MB", ["5 GB"]),
        ("Wait 30 seconds", "30 minutes", ["30 seconds"]),
        ("Ждать 30 секунд", "30 минут", ["30 секунд"]),
        ("5–10 minutes", "5–10 seconds", ["10 minutes", "5–10 minutes"]),
        ("5 €", "5 $", ["5 €"]),
        ("5 %", "5 МБ", ["5 %"]),
        ("50 Мбит/с", "50 MB/s", ["50 Мбит/с"]),
        ("30 days", "a month", ["30"]),
        ("61 s", "1 minute", ["61"]),
        ("-5 °C", "5 °C", ["-5"]),
        ("two minutes", "two hours", ["two minutes"]),
        ("three retries", "two retries", ["three"]),
        ("1,5 млн", "1,5 тыс.", ["1500000"]),
    ],
)
def test_another_unit_is_another_value(claim: str, source: str, missing: list[str]) -> None:
    """A number that the source has with another unit only is named with the claim's unit."""
    assert missing_from(claim, source) == missing


def test_a_count_in_words_is_no_claim_where_the_source_counts_nothing_of_it() -> None:
    """That there are two ways, of a source that lists two without saying so, is no fault."""
    assert missing_from("There are two ways", "One way is A. Another way is B.") == []


@pytest.mark.parametrize(
    ("claim", "source"),
    [
        ("22 November 2026", "22.11.2026"),
        ("November 22, 2026", "22 ноября 2026 года"),
        ("11/22/2026", "2026-11-22"),
        ("22/11/2026", "2026-11-22"),
        ("05/06/2026", "2026-06-05"),
        ("05/06/2026", "2026-05-06"),
        ("в ноябре 2026", "22.11.2026"),
        ("22 ноября", "2026-11-22"),
        ("22 ноября 2026", "22–25 ноября 2026"),
        ("in 2026", "22.11.2026"),
        ("at 2:30 PM", "в 14:30"),
        ("at 5 pm", "17:00"),
        ("at 09:30", "9:30"),
        ("20 may fail", "20 items"),
        ("v4.7.2", "4.7.2"),
        ("version 4.7", "4.7.2"),
        ("version 5", "5.0"),
        ("PostgreSQL 16 or newer", "PostgreSQL 16"),
    ],
)
def test_equal_dates_times_and_versions_are_one_value(claim: str, source: str) -> None:
    """An ambiguous date matches either reading, and what says less is supported by what says more."""
    assert missing_from(claim, source) == []


@pytest.mark.parametrize(
    ("claim", "source", "missing"),
    [
        ("2026-11-23", "22 ноября 2026", ["2026-11-23"]),
        ("22 ноября 2026", "22 ноября 2025", ["22 ноября 2026"]),
        ("22 November 2026", "November 2026", ["22 November 2026"]),
        ("at 14:35", "14:30", ["14:35"]),
        ("at 2:30 AM", "14:30", ["2:30"]),
        ("Python 3.1", "Python 3.10", ["3.1"]),
        ("version 4.7.2", "4.7", ["4.7.2"]),
        ("1.2.3", "1.2.3-rc1", ["1.2.3"]),
    ],
)
def test_another_date_time_or_version_is_missing(claim: str, source: str, missing: list[str]) -> None:
    """A version is no decimal number, and a day that the source does not name is not there."""
    assert missing_from(claim, source) == missing


@pytest.mark.parametrize(
    ("claim", "source", "missing"),
    [
        ("See http://A.b/c/", "http://a.b/c", []),
        ("See http://a.b", "http://a.b/c", []),
        ("See http://a.b/c", "http://a.b/cd", ["http://a.b/c"]),
        ("See https://a.b/c", "http://a.b/c", ["https://a.b/c"]),
        ("Open «Настройки»", "в «Настройках»", []),
        ('Press "Save"', "The state is Saved", ["save"]),
        ("In [the page](other.md)", "In [the page](one.md)", ["other.md"]),
        ("Run `app run --fast`", "`app run` takes `--fast`", []),
        ("Run `app run --fast`", "`app run` takes `--slow`", ["app run --fast"]),
        ("Open Settings → Roles", "Open **Settings** → **Users**", ["roles"]),
    ],
)
def test_addresses_and_names(claim: str, source: str, missing: list[str]) -> None:
    """Addresses by host and whole path, Russian names in any case, commands by their words."""
    assert missing_from(claim, source) == missing


@pytest.mark.parametrize(
    ("word", "value"), [("two", 2), ("двух", 2), ("второй", 2), ("third", 3), ("one", 1), ("kettle", None)]
)
def test_number_words(word: str, value: int | None) -> None:
    """Cardinals and ordinals of both languages."""
    assert word_number(word) == value


def test_a_fraction_is_written_short_or_as_it_is() -> None:
    """What has no decimal form stays a fraction."""
    from fractions import Fraction

    assert [decimal(Fraction(n, d)) for n, d in ((3, 1), (3, 2), (1, 8), (1, 3))] == ["3", "1.5", "0.125", "1/3"]


@pytest.mark.parametrize(
    ("claim", "source"),
    [
        ("45 watts", "45 W"),
        ("45 Вт", "0.045 kW"),
        ("1500 мл", "1.5 litres"),
        ("1.5 L of water", "1,5 литра"),
        ("4,200 g", "4.2 kg"),
        ("22 децибела", "22 dB"),
        ("5 кВт·ч", "5 kWh"),
        ("220 В", "220 volts"),
        ("100 мбит/сек", "100 Mbps"),
        ("5 cents", "$0.05"),
        ("250 р. за всё", "250 ₽"),
        ("10 inches", "25.4 cm"),
        ("15 minutes", "5, 10 or 15 minutes"),
        ("5 minutes", "5, 10 or 15 minutes"),
        ("5 days", "5 business days"),
        ("30 seconds", "| time-out, s | 30 |"),
        ("30 seconds", "`time_out` is 30; wait 2 minutes"),
        ("30 seconds", "The time-out is 30."),
    ],
)
def test_units_of_electricity_volume_mass_and_lists_are_known(claim: str, source: str) -> None:
    """Exact conversions count, and a bare number is of the unit that its list, table or code may mean."""
    assert missing_from(claim, source) == []


@pytest.mark.parametrize(
    ("claim", "source"),
    [
        ("45 kW", "45 W"),
        ("1.5 ml", "1.5 litres"),
        ("4,2 г", "4.2 kg"),
        ("4.2 lb", "4.2 kg"),
        ("48 V", "48 dB"),
        ("8 hours", "A session ends after 15 minutes. See chapter 8."),
        ("3 days", "Step 3: wait 5 days"),
        ("7 лет", "Хранение 5 лет.\n\n- Готово: 7."),
        ("14 days", "The last 14 copies are kept"),
        ("8 hours", "Port 8 is open"),
        ("1 page", "1,000 pages"),
    ],
)
def test_a_number_of_another_kind_does_not_stand_for_an_amount(claim: str, source: str) -> None:
    """Another unit, the number of a chapter, or how many there are of something else."""
    assert missing_from(claim, source) != []


@pytest.mark.parametrize(
    ("claim", "source", "missing"),
    [
        ("The last four copies are kept", "The last 14 copies are kept.\n\nIt has 4 rooms.", ["four"]),
        ("The last 4 copies are kept", "The last 14 copies are kept.\n\nIt has 4 rooms.", ["4"]),
        ("The last 14 copies are kept", "The last 14 copies are kept.\n\nIt has 4 rooms.", []),
        ("Хранятся последние четыре копии", "Хранятся последние 14 копий.\n\nЕсть 4 комнаты.", ["четыре"]),
        ("It has 4 rooms", "The last 14 copies are kept.\n\nIt has four.", []),
    ],
)
def test_what_the_source_counts_is_counted_with_its_number(claim: str, source: str, missing: list[str]) -> None:
    """A number of another line does not do, in words or figures."""
    assert missing_from(claim, source) == missing
