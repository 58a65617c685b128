"""Personal data, found by its format: e-mail addresses, and numbers of phones, cards, accounts and documents.

A bare number proves little: a tenth of all ten-digit numbers has the checksum of an INN. So cards, IBAN, Russian
accounts, and SNILS and SSN written with dashes count without context; all others count only after a word that says what
they are.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote

from language.memo import remember_items
from language.patterns import read_wording
from language.privacy.spans import Span, lower_in_place, merge_spans, readings

_WORDING: Final = read_wording(__name__)

RULES: Final = (
    *("email", "phone", "payment-card", "iban", "bank-account-ru"),
    *("passport-ru", "snils", "inn", "oms", "ssn-us"),
)


@dataclass(frozen=True, slots=True)
class Contacts:
    """Contact addresses and numbers that answers may say.

    Attributes:
        emails: In lower case.
        phones: Their digits, as `phone_digits` returns them.
    """

    emails: frozenset[str] = frozenset()
    phones: frozenset[str] = frozenset()

    @classmethod
    def in_texts(cls, texts: Iterable[str]) -> Contacts:
        """Return the contacts that texts name."""
        emails: set[str] = set()
        phones: set[str] = set()
        for text in texts:
            for plain in (read.plain for read in readings(text)):
                emails.update(match.lower() for match in (plain[s.start : s.end] for s in _emails(plain)))
                phones.update(phone_digits(run) for run in _ANY_NUMBER.findall(plain))
        return cls(frozenset(emails), frozenset(phones) - {""})

    def lead_to(self, target: str) -> bool:
        """Whether a link's target is one of the addresses or phone numbers."""
        scheme, _, rest = target.partition(":")
        if scheme.casefold() not in ("mailto", "tel"):
            return False
        address = unquote(rest.partition("?")[0])
        return address.casefold() in self.emails or phone_digits(address) in self.phones


def personal_data(text: str, contacts: Contacts | None = None) -> list[Span]:
    """Return the places of personal data in a text, in order, without the permitted contacts."""
    return _anybodys(text) if contacts is None else _not_of(text, contacts)


@remember_items
def _anybodys(text: str) -> list[Span]:
    return _not_of(text, Contacts())


def _not_of(text: str, known: Contacts) -> list[Span]:
    return merge_spans(span for read in readings(text) for span in read.spans(_personal(read.plain, known)))


def _personal(plain: str, known: Contacts) -> list[Span]:
    found: list[Span] = []
    if "@" in plain:
        found += (span for span in _emails(plain) if not _may_be_written_to(plain[span.start : span.end], known.emails))
    low = lower_in_place(plain)
    found += _passports(low)
    found += _ibans(plain)
    found += _cards_apart(plain)
    for run in _RUN.finditer(plain):
        # One more character on each side tells whether the number ends there.
        place = (run.start(), run.end() + 2)
        found += _cards(plain, place)
        found += _snils(plain, low, place)
        found += _inns(plain, low, place)
        if run.end() - run.start() >= _LONG_NUMBER:
            found += _policies(plain, low, place)
            found += _accounts(plain, low, place)
        found += _social_security(plain, low, place)
        found += _phones(plain, place, found, known.phones)
    found += _labelled_phones(plain, low, found, known.phones)
    return found


# ------------------------------------------------------------------------------------------------------------ e-mail

_AT = re.compile(
    r"@((?:[^\W_](?:[\w-]{0,61}[^\W_])?\.){1,8}(?:xn--[a-z0-9-]{2,59}|[^\W\d_]{2,24}))(?![\w-])", re.IGNORECASE
)
_LOCAL = re.compile(r"[\w.%+'-]{1,64}\Z")
_DOCUMENTATION_DOMAIN = re.compile(
    r"(?:.*\.)?(?:example\.(?:com|org|net|edu)|test|example|invalid|localhost|localdomain)", re.IGNORECASE
)
"""RFC 2606 and RFC 6761: nobody has an address there."""


def _emails(plain: str) -> Iterator[Span]:
    for match in _AT.finditer(plain):
        local = _LOCAL.search(plain[max(0, match.start() - 64) : match.start()])
        if local is None:
            continue
        start = match.start() - len(local.group().lstrip(".'-"))
        if start == match.start() or _is_no_address(plain, start, match):
            continue
        yield Span("email", start, match.end())


_UNIT = re.compile(
    # Units of a service manager, pictures, releases and snapshots: no mail is sent there.
    r"(?:.*\.)?(?:service|socket|timer|mount|target|slice|scope|device|png|jpe?g|gif|svg|webp|ico|next|latest|alpha|beta|canary|rc\d*"
    r"|stable|nightly|daily|weekly|hourly|monthly)|v\d+(?:\.\d+)*\.(?:md|txt|zip|gz|json|ya?ml)",
    re.IGNORECASE,
)
_REMOTE = re.compile(
    # A target on the line of a command, its options before it: "ssh -p 2222 deploy@web1", "scp a.txt deploy@web1:/srv".
    r"(?<![\w-])(?:(?:ssh|sftp|mosh|ssh-copy-id|sshfs|autossh)(?:[ ]+-\w+(?:[ ]+[^\s@-][^\s@]{0,40})?){0,6}"
    r"|(?:scp|rsync|systemctl)(?:[ ]+[^\s@]{1,60}){0,6})[ ]+$"
)


def _is_no_address(plain: str, start: int, match: re.Match[str]) -> bool:
    before = plain[max(0, start - 120) : start].rpartition("\n")[2]
    user_of_an_address = re.search(r"//[^\s/@]*$", before)
    repository = plain[start : match.start()] == "git" and plain[match.end() : match.end() + 1] in (":", "/")
    return bool(user_of_an_address or repository or _UNIT.fullmatch(match[1]) or _REMOTE.search(before))


def _may_be_written_to(address: str, listed: Collection[str]) -> bool:
    domain = address.rpartition("@")[2]
    return address.lower() in listed or bool(_DOCUMENTATION_DOMAIN.fullmatch(domain))


# ----------------------------------------------------------------------------------------------------------- numbers

_Place = tuple[int, int]

_RUN = re.compile(r"\+?\(?\d(?:[ ().\-]{0,3}\d){7,}")
"""Digits enough for a number of any kind; what stands between them is found nowhere else in such a number."""
_LONG_NUMBER = 16
"""Digits of the shortest number of those that are long."""
_ANY_NUMBER = re.compile(r"\+?\(?\d(?:[ ()\-.]{0,3}\d){4,18}")
_APART = r"(?<!\w)(?<!\d[.,\-/])"
"""Not the rest of a longer number or word."""
_ENDS = r"(?!\w)(?![.,\-]\d)"
_REACH = 100
"""Characters before a number among which the word that says what it is may stand: a table has it in its head."""


def _digits(text: str) -> str:
    return "".join(c for c in text if c.isdigit() and c.isascii())


def _behind(word: re.Pattern[str], low: str, place: int, reach: int = _REACH) -> bool:
    return bool(word.search(low, max(0, place - reach), place))


def luhn(digits: str) -> bool:
    """Whether the last digit is the check digit of the others (ISO/IEC 7812-1, annex B: Luhn's formula).

    From the right, every second digit is doubled and its digits added; the sum of all is a multiple of ten.
    """
    doubled = (0, 2, 4, 6, 8, 1, 3, 5, 7, 9)
    values = [int(digit) for digit in reversed(digits)]
    return len(values) > 1 and (sum(values[::2]) + sum(doubled[value] for value in values[1::2])) % 10 == 0


def is_card(digits: str) -> bool:
    """Whether digits are a number of a large card system, by beginning, length and Luhn's formula."""
    begins, size = digits[:4], len(digits)
    known = (
        (digits.startswith("4") and size in (13, 16, 19))
        or (size == 16 and ("51" <= begins[:2] <= "55" or "2221" <= begins <= "2720" or "2200" <= begins <= "2204"))
        or (size == 15 and begins[:2] in ("34", "37"))
        or (size == 14 and (begins[:2] in ("36", "38", "39") or "300" <= begins[:3] <= "305"))
        or (16 <= size <= 19 and (begins == "6011" or begins[:2] in ("62", "64", "65") or "3528" <= begins <= "3589"))
    )
    return known and luhn(digits) and len(set(digits)) > 1


_CARD = re.compile(
    _APART + r"(?:\d{4}([ \-])\d{4}\1\d{4}\1\d{4}(?:\1\d{3})?|\d{4}[ \-]\d{6}[ \-]\d{4,5}|\d{13,19})" + _ENDS, re.ASCII
)


_CARD_APART = re.compile(
    _APART + r"\d{4}(?P<sign>[ \-.·_]{1,2}|[ \t>]*\n[ \t>]*)\d{4}(?:(?P=sign)|[ \-]|[ \t>]*\n[ \t>]*)\d{4}"
    r"(?:(?P=sign)|[ \-]|[ \t>]*\n[ \t>]*)\d{4}" + _ENDS,
    re.ASCII,
)
"""Four groups with other signs between them, or on two lines."""


def _cards(plain: str, place: _Place) -> Iterator[Span]:
    for match in _CARD.finditer(plain, *place):
        if is_card(_digits(match.group())):
            yield Span("payment-card", *match.span())


def _cards_apart(plain: str) -> Iterator[Span]:
    for match in _CARD_APART.finditer(plain):
        if match.group().count("\n") <= 1 and is_card(_digits(match.group())):
            yield Span("payment-card", *match.span())


IBAN_LENGTHS: Final[dict[str, int]] = {
    country: int(length)
    for length, countries in (
        pair.split(": ")
        for pair in (
            *(
                "15: NO",
                "16: BE",
                "18: DK FI FK FO GL NL SD",
                "19: MK SI",
                "20: AT BA EE KZ LT LU MN XK",
                "21: CH CR HR LI LV",
            ),
            *("22: BG BH DE GB GE IE ME RS VA", "23: AE GI IL IQ OM SO TL", "24: AD CZ ES MD PK RO SA SE SK TN VG"),
            *("25: LY PT ST", "26: IS TR", "27: BI DJ FR GR IT MC MR SM", "28: AL AZ BY CY DO EG GT HU LB NI PL SV"),
            *("29: BR PS QA UA", "30: JO KW MU YE", "31: MT SC", "32: LC", "33: RU"),
        )
    )
    for country in countries.split()
}
"""Of each country of the registry that SWIFT keeps for ISO 13616, how many characters its numbers have."""


def is_iban(number: str) -> bool:
    """Whether letters and digits are an IBAN: the length is the country's, and the remainder by 97 is 1 (ISO 13616).

    For the remainder, the first four characters move to the end, and each letter is a number, A 10 to Z 35.
    """
    if len(number) != IBAN_LENGTHS.get(number[:2]):
        return False
    return int("".join(str(int(character, 36)) for character in number[4:] + number[:4])) % 97 == 1


_IBAN = re.compile(r"[A-Z]{2}(?<![A-Za-z0-9]..)\d\d(?:[ \-]?[A-Z0-9]){11,29}+", re.ASCII)
_IBAN_GLUED = re.compile(r"[ \-]?[A-Z0-9]+\Z", re.ASCII)


def _ibans(plain: str) -> Iterator[Span]:
    for match in _IBAN.finditer(plain):
        written = match.group()
        # A word in capitals behind it is not a part of it.
        while written and not is_iban(re.sub(r"[ \-]", "", written)):
            written = _IBAN_GLUED.sub("", written)
        end = match.start() + len(written)
        if written and not plain[end : end + 1].isalnum():
            yield Span("iban", match.start(), end)


_ACCOUNT = re.compile(
    _APART + r"(?:\d{20}|\d{5}([ .\-])\d{3}\1\d\1(?:\d{4}\1\d{7}|\d{11})|\d{4}(?: \d{4}){4})" + _ENDS, re.ASCII
)
_ACCOUNT_WORD = _WORDING.pattern("account_word")
_BIK_BEHIND = _WORDING.pattern("bik_behind")
_OWN_ACCOUNT = re.compile(r"(?:30[12]|40[5-8]|42[36])\d\d(?:810|643|840|978|156|398|933)")
"""Balance accounts of clients and banks (Bank of Russia, chart of accounts), and the currency of the account."""


def _accounts(plain: str, low: str, place: _Place) -> Iterator[Span]:
    for match in _ACCOUNT.finditer(plain, *place):
        digits = _digits(match.group())
        named = _behind(_ACCOUNT_WORD, low, match.start()) or _BIK_BEHIND.match(low, match.end())
        if digits[0] != "0" and len(set(digits)) > 2 and (named or _OWN_ACCOUNT.match(digits)):
            yield Span("bank-account-ru", *match.span())


def is_snils(digits: str) -> bool:
    """Whether eleven digits are a SNILS, a Russian insurance number.

    The rule is from the Pension Fund of Russia's formats of individual accounting («Алгоритм формирования контрольного
    числа Страхового номера»). The weighted sum of the first nine digits, with weights 9 to 1, has a remainder by 101
    that equals the last two digits; 100 counts as 00. Numbers up to 001-001-998 are older than the rule and do not
    count.
    """
    if len(digits) != 11 or int(digits[:9]) <= 1_001_998:
        return False
    total = sum(int(digit) * weight for digit, weight in zip(digits, range(9, 0, -1), strict=False))
    return total % 101 % 100 == int(digits[9:])


_SNILS = re.compile(_APART + r"\d{3}([ \-.]?)\d{3}\1\d{3}[ \-.]?\d{2}" + _ENDS, re.ASCII)
_SNILS_WORD = _WORDING.pattern("snils_word")


def _snils(plain: str, low: str, place: _Place) -> Iterator[Span]:
    for match in _SNILS.finditer(plain, *place):
        if is_snils(_digits(match.group())) and (match[1] == "-" or _behind(_SNILS_WORD, low, match.start())):
            yield Span("snils", *match.span())


_INN_10 = (2, 4, 10, 3, 5, 9, 4, 6, 8)
_INN_11 = (7, 2, 4, 10, 3, 5, 9, 4, 6, 8)
_INN_12 = (3, 7, 2, 4, 10, 3, 5, 9, 4, 6, 8)


def is_inn(digits: str) -> bool:
    """Whether ten digits (of an organisation) or twelve (of a person) are an INN, a Russian taxpayer's number.

    The last digit, or the last two, are check digits, by the Federal Tax Service's order of 29 June 2012 No.
    ММВ-7-6/435@. Each is the weighted sum of the digits before it, modulo 11, then modulo 10.
    """
    if len(digits) == 10:
        return _check_digit(digits, _INN_10) and digits != "0" * 10
    return len(digits) == 12 and _check_digit(digits, _INN_11) and _check_digit(digits, _INN_12) and digits != "0" * 12


def _check_digit(digits: str, weights: tuple[int, ...]) -> bool:
    total = sum(int(digit) * weight for digit, weight in zip(digits, weights, strict=False))
    return total % 11 % 10 == int(digits[len(weights)])


_INN = re.compile(
    _APART + r"(?:\d{12}|\d{10}|\d{4}(?: \d{4}){2}|\d{4} \d{6}|\d{4} \d{3} \d{3}|\d{2} \d{2} \d{6} \d{2})" + _ENDS,
    re.ASCII,
)
_INN_WORD = _WORDING.pattern("inn_word")


def _inns(plain: str, low: str, place: _Place) -> Iterator[Span]:
    for match in _INN.finditer(plain, *place):
        if is_inn(_digits(match.group())) and _behind(_INN_WORD, low, match.start()):
            yield Span("inn", *match.span())


_PASSPORT = _WORDING.pattern("passport", apart=_APART, ends=_ENDS)
_PASSPORT_WORD = _WORDING.pattern("passport_word")
_PASSPORT_HINTS: Final = _WORDING.words("passport_hints")


def _passports(low: str) -> Iterator[Span]:
    if any(hint in low for hint in _PASSPORT_HINTS):
        for match in _PASSPORT.finditer(low):
            if _behind(_PASSPORT_WORD, low, match.start()) and len(set(_digits(match.group()))) > 1:
                yield Span("passport-ru", *match.span())


_POLICY = re.compile(_APART + r"(?:\d{16}|\d{4}([ \-])\d{4}\1\d{4}\1\d{4})" + _ENDS, re.ASCII)
_POLICY_WORD = _WORDING.pattern("policy_word")


def _policies(plain: str, low: str, place: _Place) -> Iterator[Span]:
    for match in _POLICY.finditer(plain, *place):
        if _behind(_POLICY_WORD, low, match.start()) and len(set(_digits(match.group()))) > 2:
            yield Span("oms", *match.span())


def is_ssn(digits: str) -> bool:
    """Whether nine digits may be a US Social Security number, by the Administration's rules for unassigned numbers.

    No area is 000, 666 or 900 and above, no group is 00, and no serial number is 0000. Two numbers printed in
    advertisements, and the one used in all documentation, belong to nobody.
    """
    area, group, serial = digits[:3], digits[3:5], digits[5:]
    nobodys = digits in ("078051120", "219099999", "123456789")
    return area not in ("000", "666") and area < "900" and group != "00" and serial != "0000" and not nobodys


_SSN = re.compile(_APART + r"\d{3}([ \-.]?)\d\d\1\d{4}" + _ENDS, re.ASCII)
_SSN_WORD = _WORDING.pattern("ssn_word")


def _social_security(plain: str, low: str, place: _Place) -> Iterator[Span]:
    for match in _SSN.finditer(plain, *place):
        if is_ssn(_digits(match.group())) and (match[1] == "-" or _behind(_SSN_WORD, low, match.start())):
            yield Span("ssn-us", *match.span())


# ------------------------------------------------------------------------------------------------------------ phones

_RUSSIAN = re.compile(
    r"(?<![\w+])(?<!\d[.,\-/])(?:\+7[ (\-]{0,2}|[78](?:[ \-]?\(|[ \-])|[78](?=9\d{9}(?!\d))|8(?=800\d{7}(?!\d)))"
    r"[3489]\d\d[ )\-.]{0,2}\d{3}(?:[ \-.]?\d){4}" + _ENDS,
    re.ASCII,
)
_DOTTED = re.compile(
    # Groups of the sizes of a phone number, which no version has, and the first is more than a byte of an IP address.
    _APART + r"(?:\+?[78]\.|\+7 |[78] )?[3489]\d\d\.\d{3}\.\d\d\.?\d\d" + _ENDS,
    re.ASCII,
)
_INTERNATIONAL = re.compile(r"(?<![\w+/=])\+[1-9](?:[ ().\-]{0,2}\d){7,14}" + _ENDS, re.ASCII)
_CITY = re.compile(_APART + r"(?:\([3489]\d{2,4}\) ?|[3489]\d\d[ \-])\d{1,3}([\-.])\d\d\1\d\d" + _ENDS, re.ASCII)
_AMERICAN = re.compile(_APART + r"(?:1[ .\-])?(?:\([2-9]\d\d\) ?|[2-9]\d\d[\-.])[2-9]\d\d[\-.]\d{4}" + _ENDS, re.ASCII)
_LABELLED = _WORDING.pattern("labelled", ends=_ENDS)
_PHONES = (_RUSSIAN, _DOTTED, _INTERNATIONAL, _CITY, _AMERICAN)


def phone_digits(number: str) -> str:
    """Return a phone number's digits without Russia's 8 or +7, for comparing two notations."""
    digits = _digits(number)
    return digits[1:] if len(digits) == 11 and digits[0] in "78" else digits


_LABEL_HINTS: Final = _WORDING.words("label_hints")


def _phones(plain: str, place: _Place, taken: Collection[Span], listed: Collection[str]) -> Iterator[Span]:
    found = [match.span() for form in _PHONES for match in form.finditer(plain, *place)]
    if found:
        before = lower_in_place(plain[max(0, place[0] - 40) : place[0]])
        found = [] if plain[place[0]].isdigit() and _COUNTED.search(before) else found
    return (Span("phone", *span) for span in found if _is_phone(plain, span, taken, listed))


_COUNTED = _WORDING.pattern("counted")
_DATE = re.compile(r"20[0-4]\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])(?:\d\d)?")


def _labelled_phones(plain: str, low: str, taken: Collection[Span], listed: Collection[str]) -> Iterator[Span]:
    if any(hint in low for hint in _LABEL_HINTS):
        for match in _LABELLED.finditer(low):
            whole_word = not low[max(0, match.start() - 1) : match.start()].isalpha()
            if whole_word and not _DATE.fullmatch(match[1]) and _is_phone(plain, match.span(1), taken, listed):
                yield Span("phone", *match.span(1))


def _is_phone(plain: str, span: _Place, taken: Collection[Span], listed: Collection[str]) -> bool:
    number = plain[slice(*span)]
    if any(span[0] < other.end and other.start < span[1] for other in taken):
        return False
    return 6 <= len(_digits(number)) <= 15 and not (_is_documentation(number) or _is_listed(number, listed))


def _is_listed(number: str, listed: Collection[str]) -> bool:
    digits = phone_digits(number)
    return any(digits == other or (len(other) >= 7 and digits.endswith(other)) for other in listed)


def _is_documentation(number: str) -> bool:
    """Whether nobody has a number: 555-0100 to 0199 of North America, those that Ofcom keeps free, one digit all along."""
    digits = _digits(number)
    if re.fullmatch(r"1?(?:\d{3})?55501\d\d", digits) or len(set(digits[-7:])) == 1:
        return True
    return bool(_OFCOM.match(digits))


_OFCOM = re.compile(
    r"(?:44|0)(?:1632960|2079460|7700900|8081570|9098790|3069990|2896496|2920180|1(?:13|14|15|16|17|18|21|31|41|51|61)4960|1914980)"
)
"""«Telephone numbers for use in TV and radio drama programmes»."""
