"""Addresses of e-mail, phones, cards, accounts and documents, and the many numbers that are none of these."""

from __future__ import annotations

import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from language.privacy.personal_data import (
    IBAN_LENGTHS,
    RULES,
    Contacts,
    is_card,
    is_iban,
    is_inn,
    is_snils,
    is_ssn,
    luhn,
    personal_data,
)
from language.privacy.spans import replace_spans
from tests.support.examples import examples


def found(text: str, contacts: Contacts | None = None) -> list[tuple[str, str]]:
    return [(span.rule, text[span.start : span.end]) for span in personal_data(text, contacts)]


# ------------------------------------------------------------------------------------------------------------ checksums


@pytest.mark.parametrize(
    "digits", ["4111111111111111", "5555555555554444", "378282246310005", "2200700000000009", "79927398713"]
)
def test_luhn_accepts_a_right_number(digits: str) -> None:
    """The worked example of the standard's formula, and numbers that card systems publish for tests."""
    assert luhn(digits)


@given(digits=st.text("0123456789", min_size=12, max_size=18), place=st.integers(0, 17), change=st.integers(1, 9))
def test_luhn_finds_every_wrong_digit(digits: str, place: int, change: int) -> None:
    """A number made right by its check digit is wrong as soon as any one digit differs."""
    right = next(digits + last for last in "0123456789" if luhn(digits + last))
    place %= len(right)
    assert not luhn(right[:place] + str((int(right[place]) + change) % 10) + right[place + 1 :])


def test_a_number_of_no_card_system_is_no_card() -> None:
    """Luhn's formula alone does not make a card: its beginning and length must be those of one."""
    assert is_card("4111111111111111")
    assert luhn("1111111111111117")
    assert not is_card("1111111111111117")
    assert not is_card("41111111111111")
    assert not is_card("0" * 16)


def test_the_rule_of_snils() -> None:
    """The example of the Pension Fund's formats; remainders of 100 and 101 are 00; one wrong digit is no SNILS."""
    assert is_snils("11223344595")
    assert not is_snils("11223344596")
    assert not is_snils("11223344495")
    sums = {n: f"{n:09d}" for n in range(87_654_300, 87_656_000)}
    hundred = [
        d for d in sums.values() if sum(int(x) * w for x, w in zip(d, range(9, 0, -1), strict=True)) % 101 == 100
    ]
    assert hundred
    assert all(is_snils(digits + "00") and not is_snils(digits + "10") for digits in hundred)
    assert not is_snils("00100199800")


@given(number=st.integers(1_001_999, 999_999_999), wrong=st.integers(1, 99))
def test_a_number_has_one_control_number(number: int, wrong: int) -> None:
    """Of the hundred endings of a SNILS, exactly one is right."""
    right = [last for last in range(100) if is_snils(f"{number:09d}{last:02d}")]
    assert len(right) == 1
    assert not is_snils(f"{number:09d}{(right[0] + wrong) % 100:02d}")


@pytest.mark.parametrize("digits", ["7707083893", "7736050003", "500100732259", "366220664163"])
def test_an_inn_has_its_check_digits(digits: str) -> None:
    """Ten digits of an organisation and twelve of a person; any other last digit is wrong."""
    assert is_inn(digits)
    assert not any(is_inn(digits[:-1] + last) for last in "0123456789" if last != digits[-1])


@given(digits=st.text("0123456789", min_size=1, max_size=20))
def test_only_ten_or_twelve_digits_are_an_inn(digits: str) -> None:
    """No other length passes, and neither do zeros."""
    assert not is_inn(digits) or (len(digits) in (10, 12) and set(digits) != {"0"})


@pytest.mark.parametrize("number", ["GB82WEST12345698765432", "DE89370400440532013000", "FR1420041010050500013M02606"])
def test_an_iban_has_its_length_and_its_remainder(number: str) -> None:
    """Examples of the registry; another check number, one character less or another country's length is none."""
    assert is_iban(number)
    assert not is_iban(f"{number[:2]}{(int(number[2:4]) + 1) % 97:02d}{number[4:]}")
    assert not is_iban(number[:-1])
    assert not is_iban("NO" + number[2:])


@given(country=st.sampled_from(sorted(IBAN_LENGTHS)), account=st.text("0123456789ABCXYZ", min_size=30, max_size=30))
def test_an_iban_has_one_check_number(country: str, account: str) -> None:
    """Of those from 02 to 98, exactly one is right."""
    rest = account[: IBAN_LENGTHS[country] - 4]
    assert sum(is_iban(f"{country}{check:02d}{rest}") for check in range(2, 99)) == 1


def test_numbers_that_are_never_given_out_are_no_ssn() -> None:
    """Areas 000, 666 and 900 and above, group 00, serial number 0000, and those of advertisements and documentation."""
    assert is_ssn("536228726")
    never = ["000228726", "666228726", "900228726", "536008726", "536220000", "078051120", "123456789"]
    assert not any(map(is_ssn, never))


# --------------------------------------------------------------------------------------------------- what is found

CASES = [
    ("email", "Write to {}.", "anna.petrova@firma.ru"),
    ("email", "<{}>", "a+b@mail.house.co.uk"),
    ("email", "[mail](mailto:{})", "it@firma.ru"),
    ("email", "`{}`, please", "ANNA@FIRMA.RU"),
    ("email", "Почта: {}", "иван@почта.рф"),
    ("email", "{}", "wang@163.com"),
    ("email", "{}", "anna@v2.ru"),
    ("phone", "Звоните: {}!", "+7 (916) 123-45-67"),
    ("phone", "{}", "8 (495) 123-45-67"),
    ("phone", "{}", "8-800-555-35-35"),
    ("phone", "тел. {}", "8 916 123 45 67"),
    ("phone", "({})", "89161234567"),
    ("phone", "{}", "+79161234567"),
    ("phone", "код {}", "(812) 123-45-67"),
    ("phone", "{}", "916 123-45-67"),
    ("phone", "тел.: {}", "123-45-67"),
    ("phone", "Телефон: {}", "123 45 67"),
    ("phone", "| Phone | {} |", "020 7123 4567"),
    ("phone", "Call {}", "+44 20 7123 4567"),
    ("phone", "{}", "+49 30 901820-11"),
    ("phone", "{}", "+1 (212) 736-5000"),
    ("phone", "{}", "(212) 736-5000"),
    ("phone", "{}", "212-736-5000"),
    ("phone", "{}", "1-800-275-2273"),
    ("phone", "tel:{}", "+375291234567"),
    ("payment-card", "{}", "4111 1111 1111 1111"),
    ("payment-card", "Карта {}, срок 12/30", "5555-5555-5555-4444"),
    ("payment-card", "{}", "4242424242424242"),
    ("payment-card", "{}", "3782 822463 10005"),
    ("payment-card", "карта: `{}`", "2200 7000 0000 0009"),
    ("passport-ru", "Паспорт {}", "45 10 123456"),
    ("passport-ru", "паспорт гражданина РФ: серия {}", "4510 № 123456"),
    ("passport-ru", "Паспорт, серия и номер: {}", "4510 123456"),
    ("passport-ru", "паспорт серия {}", "4510 номер 123456"),
    ("passport-ru", "Russian passport {}", "4510123456"),
    ("passport-ru", "Паспорт РФ\nСерия: {}", "4510\nНомер: 123456"),
    ("passport-ru", "паспорт {}", "45-10 123456"),
    ("passport-ru", "| Паспорт | {} |", "4510 | 123456"),
    ("payment-card", "{}", "4111 1111\n1111 1111"),
    ("payment-card", "{}", "4111  1111  1111  1111"),
    ("payment-card", "{}", "4111.1111.1111.1111"),
    ("snils", "СНИЛС: {}", "112.233.445-95"),
    ("inn", "ИНН физлица: {}", "5001 0073 2259"),
    ("inn", "ИНН {}", "7707 083 893"),
    ("snils", "СНИЛС {}", "112-233-445 95"),
    ("snils", "{}", "112-233-445 95"),
    ("snils", "страховой номер: {}", "11223344595"),
    ("snils", "СНИЛС: {}", "112 233 445 95"),
    ("inn", "ИНН {}", "7707083893"),
    ("inn", "ИНН/КПП: {} / 773601001", "7707083893"),
    ("inn", "ИНН физического лица — {}", "500100732259"),
    ("inn", "Taxpayer number (INN) {}", "7707083893"),
    ("phone", "{}", "8.912.345.67.89"),
    ("phone", "{}", "+7.912.345.67.89"),
    ("phone", "{}", "(495) 123.45.67"),
    ("phone", "тел. {}", "495.123.45.67"),
    ("phone", "{}", "8(912)345.67.89"),
    ("phone", "{}", "212.736.5000"),
    ("iban", "IBAN {}", "GB82WEST12345698765432"),
    ("iban", "{} USA", "DE89 3704 0044 0532 0130 00"),
    ("iban", "Перевод: {}", "FR14 2004 1010 0505 0001 3M02 606"),
    ("bank-account-ru", "р/с {}", "40702810500000012345"),
    ("bank-account-ru", "{}", "40817810099910004312"),
    ("bank-account-ru", "Расчётный счёт № {}", "11112810500000012345"),
    ("bank-account-ru", "к/с: {}", "30101 810 4 0000 0000225"),
    ("bank-account-ru", "{}, БИК 044525225", "11112810500000012345"),
    ("bank-account-ru", "| Л/с | {} |", "4070 2810 5000 0001 2345"),
    ("oms", "полис ОМС {}", "7712345678901234"),
    ("oms", "ЕНП: {}", "7712 3456 7890 1234"),
    ("oms", "Полис обязательного медицинского страхования № {}", "7712345678901234"),
    ("ssn-us", "{}", "536-22-8726"),
    ("ssn-us", "his SSN is {}", "536228726"),
    ("ssn-us", "Social Security number: {}", "536 22 8726"),
    ("inn", "| Организация | ИНН |\n| - | - |\n| Ромашка | {} |", "7707083893"),
]


@pytest.mark.parametrize(("rule", "frame", "value"), CASES, ids=[f"{rule}-{value}" for rule, _, value in CASES])
def test_personal_data_is_found_where_it_stands(rule: str, frame: str, value: str) -> None:
    """In prose, lists, tables and code, and nothing but the value itself is marked."""
    for around in ("{}", "См. [1]: {} и далее", "```\n{}\n```", "- x\n- {}\n- y"):
        assert found(around.format(frame.format(value))) == [(rule, value)], around


def test_several_values_of_one_line_are_found_each() -> None:
    """Numbers beside one another are not taken for one."""
    text = "4111 1111 1111 1111, 5555 5555 5555 4444; +7 916 123-45-67 8 (495) 765-43-21, ИНН 7707083893 a@b.ru"
    assert [rule for rule, _ in found(text)] == ["payment-card", "payment-card", "phone", "phone", "inn", "email"]


@pytest.mark.parametrize(
    "text", ["+7\u00a0916\u00a0123\u201145\u201167", "＋７ ９１６ １２３－４５－６７", "+7\u200b916\u200b1234567"]
)
def test_typesetting_hides_no_number(text: str) -> None:
    """Hard spaces, hard hyphens, full-width and invisible characters are looked through."""
    assert [rule for rule, _ in found(text)] == ["phone"]


# --------------------------------------------------------------------------------------------------- what passes


@pytest.mark.parametrize(
    "text",
    [
        "user@example.com, a@sub.example.org, b@example.net, c@host.test, d@x.example, e@y.invalid, f@localhost",
        "git@github.com:org/repo.git and git clone ssh://git@host.ru/x",
        "https://user@db.firma.ru/x and postgresql://app:${PASSWORD}@db.firma.ru/x",
        "@app.get('/items'), name@1.2.3, a@b, x @ y.z, @firma.ru",
        "+1 555-0100, +1 (212) 555-0123, 212-555-0199, 555-0142",
        "+44 20 7946 0958, +44 1632 960001, +44 7700 900123",
        "+7 (900) 000-00-00, 8 (999) 999-99-99, +7 (XXX) XXX-XX-XX",
        "2026-11-22 10:30:00, 22.11.2026, 2026-11-21 2026-11-22, 1700000000, 1700000000000, 1700000000123456",
        "192.168.100.200, 10.0.0.1:8080, 255.255.255.255, fe80::1, 2001:db8::1",
        "version 10.11.12.1314, build 20261122.1030, 1.2.3-4567890",
        "4.111111111111111, 0,4111111111111111, 4111111111111112, 41111111111111111111",
        "order 4510123456, ticket 7707083893, id 500100732259, 11223344595, 112 233 445 95",
        "СНИЛС 112-233-445 96, ИНН 7707083894, ИНН 500100732250",
        "номер статьи 4510 123456",
        "123e4567-e89b-12d3-a456-426614174000, 0a1b2c3d4e5f60718293a4b5c6d7e8f9",
        "1 000 000, 80 453 114 475, 12 345 678 901, 8 045 311 447",
        "телефон не нужен, phone numbers have 11 digits, тел. поддержки 24/7",
        "Порты 8080 9090 9091 5432, коды 100-200-300-400, 5555-1234-8888-9999",
        "x=+1234567, UTC+03:00, C++20 2026, 1e+1234567890",
        "паспорт 45 10, серия 4510, паспорт системы, passport 0000 000000",
        "SELECT 89 FROM t LIMIT 161234567",
        "systemctl restart relay@main.service, getty@tty1.service, postgresql@15-main.service, user@1000.service",
        "icon@2x.png, logo@3x.png, react@18.next, guardian@v1.beta, foo@v1.md, tank/data@auto.weekly",
        "ssh deploy@web1.corp.local",
        "`ssh -p 2222 -i key deploy@web1.firma.ru` or scp a.txt deploy@web1.firma.ru:/srv",
        "rsync -a x backup@nas.lan:/",
        "Накладная серии 4509 № 123456, серия сертификата 7700 654321, серия 1200 123456",
        "Build 415-555-2671, ticket 495-123-45-67, order no. 212-736-5000",
        "mobile: 2026112201, факс: 20261122, Телефония: 12345678",
        "192.168.45.67, 10.123.45.67, 255.255.45.67, version 495.123.45.67, 8.912.345.678.90, 8.0.36, 1.912.345.67.89",
        "Chrome 126.0.6478.127, драйвер 528.24, 31.0.15.2802, build 912.345.67.89, 2024.10.11.12",
        "DE89370400440532013001, GB82WEST1234569876543, AB12 CDEF, RFC 2119, MD5 4D 45 53 53 41 47 45 00",
        "БИК 044525225, КПП 773601001, ОКПО 00032537",
        "заказ 11112810500000012345, счётчик 11112810500000012345",
        "00000000000000000000, 11111111111111111111, трек-номер 80082876543210123456",
        "полисахарид 7712345678901234, лог 7712345678901234, ОМС 771234567890123",
        "123-45-6789, 000-12-3456, 666-12-3456, 900-12-3456, 536-00-1234, артикул 536 22 8726, 536228726",
    ],
)  # fmt: skip
def test_other_addresses_and_numbers_pass(text: str) -> None:
    """Documentation's addresses and phones, dates, versions, amounts, ids and wrong check digits are no personal data."""
    assert found(text) == []


@pytest.mark.parametrize(
    "text", ["Ask about ssh: anna@firma.ru", "ssh is set up by anna@firma.ru", "scp.\nanna@firma.ru"]
)
def test_a_word_of_a_command_hides_no_address(text: str) -> None:
    """Only what stands where the command takes its target is one."""
    assert found(text) == [("email", "anna@firma.ru")]


def test_contacts_may_be_said_in_any_writing() -> None:
    """Addresses in any case, phones by their digits: 8 and +7 are one; others stay personal."""
    known = Contacts.in_texts(["Support: Help@Firma.ru, +7 (495) 123-45-67", "8-800-555-35-35"])
    assert found("help@firma.ru, 8 495 123 45 67, (495) 123-45-67, +7 800 555-35-35", known) == []
    assert found("anna@firma.ru or 8 495 123 45 68", known) == [
        ("email", "anna@firma.ru"),
        ("phone", "8 495 123 45 68"),
    ]


numbers = st.sampled_from(
    [value for _, _, value in CASES]
    + [
        "ИНН ",
        "СНИЛС",
        "паспорт ",
        "тел. ",
        "+7",
        "8",
        "(",
        ")",
        "-",
        " ",
        ".",
        "@",
        "[redacted: phone]",
        "№",
        "\u200b",
        "45",
        "\n",
    ]
)


@given(text=st.lists(numbers | st.text("0123456789+-() .@a", max_size=8), max_size=10).map("".join))
@examples(4)
@example(text="+7 916 123-45-67" * 3)
def test_what_was_masked_holds_nothing_more(text: str) -> None:
    """However values stand beside one another, one masking finds them all, and a second one nothing."""
    masked, rules = replace_spans(text, personal_data)
    assert personal_data(masked) == []
    assert replace_spans(masked, personal_data) == (masked, ())
    assert set(rules) <= set(RULES)


HOSTILE = [
    "1" * 40_000,
    "1 " * 20_000,
    "1-" * 20_000,
    "+1" * 20_000,
    "(1" * 20_000,
    "a." * 20_000 + "@",
    "a@" * 20_000,
    "@a." * 13_000,
    "@" + "a-" * 20_000,
    "a@" + "b." * 20_000,
    "тел. " * 8_000,
    "тел. 1" * 7_000,
    "паспорт 45 10 " * 3_000,
    "ИНН 7707083894 " * 3_000,
    "4111 1111 1111 1112 " * 2_000,
    "8 916 123 45 6 " * 3_000,
    "ssh -a b " * 4_000 + "a@b.ru",
    "ssh " + "-a b " * 8_000 + "a@b.ru",
    "a@b.ru ssh " * 3_600,
    "4111 1111\n" * 4_000,
    "DE89 " * 8_000,
    "DE89" + "A" * 40_000,
    "DE89 3704 0044 0532 0130 01 " * 1_400,
    "р/с 4070 2810 5000 0001 2345 " * 1_400,
    "4070 2810 5000 0001 2345 " + "б" * 40_000,
    "SSN 536-00-8726 " * 2_500,
    "8.912.345.67. " * 2_800,
    "ОМС 7712 3456 7890 123 " * 1_700,
    "паспорт 4510\n" * 3_000,
    "/" * 40_000 + "a@b.ru",
    "//" + "a" * 40_000 + "@b.ru" * 2_000,
]


@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: text[:14])
def test_no_text_keeps_the_search_busy(text: str) -> None:
    """Forty thousand characters made to be looked at again and again take less than a second."""
    begun = time.process_time()
    personal_data(text)
    assert time.process_time() - begun < 1.0
