"""Passwords behind a login, and passwords and tokens behind a name that says what they are, in prose, code and tables."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from language.privacy.secret_values import is_mixed, is_no_word, is_password, is_placeholder, is_random
from language.privacy.spans import Span

# ---------------------------------------------------------------------------------------------- a login and its password

_USERS: Final = frozenset(
    (
        *("admin", "administrator", "root", "user", "test", "tester", "demo", "guest", "operator", "manager"),
        *("support", "postgres", "админ", "администратор"),
    )
)
_PARTED = tuple(
    # Each begins with one letter, which is looked for faster than one of two.
    re.compile(
        rf"{sign}(?<=[\w`*\"' ]{sign})(?=[ ]?[`*\"']{{0,3}}([^\s\"'`,;|<>«»“”\0/:][^\s\"'`,;|<>«»“”\0]{{5,63}}))"
    )
    for sign in "/:"
)
_LOGIN = re.compile(r"[\w.@-]{2,40}")
_ABOUT_LOGIN = re.compile(
    r"(?:(?<![a-zа-яё])(?:(?:login|user(?: ?name)?|логин\w{0,2}|имя пользователя)[`*]{0,2}[ ]?(?:/|:|,|и|and|&)[ ]?[`*]{0,2}"
    r"(?:password|pass|пароль)[`*]{0,2}(?:[ ]?[:=—-])?"
    r"|(?:credentials?|account|logins?|уч[её]тн\w{2,3} (?:данн\w{2,3}|запис\w{1,2})|доступы?|данные для входа|реквизиты доступа)[ ]?[:—-]"
    r"|(?:log|sign)(?:ged)?[ -]?in (?:as|with)|(?:войдите|зайдите|входите|авторизуйтесь|вход|войти|зайти) (?:как|под|с)))[ ]{1,2}$"
)
"""What says that a login and its password follow."""
_BOTH = re.compile(
    r"(?:pass(?:word)?|пароль)[`*]{0,2}[ ]?[:=—-][ ]{1,2}[\w.@-]{2,40}+[ ]{1,2}[`*\"']{0,3}(?P<value>[^\s\"'`,;|<>«»“”\0]{6,64})"
)
_FIRST = re.compile(r"(?:login|user(?: ?name)?|логин|имя пользователя)[`*]{0,2}[ ]?(?:/|:|,|и|and|&)[ ]?[`*]{0,2}$")


def find_login_pairs(plain: str, low: str) -> Iterator[Span]:
    """Find passwords without their name: "admin / Qwerty123", "login/password: root/toor1!"."""
    for match in (match for parted in _PARTED for match in parted.finditer(plain)):
        place = match.start()
        before = low[max(0, place - 100) : place].rpartition("\n")[2]
        words = before.split()
        if not words or not _SIGN_OR_DIGIT.search(match[1]):
            continue
        login = words[-1].strip("`*\"'(«")
        if not _LOGIN.fullmatch(login):
            continue
        value = match[1].rstrip(".:)]}*_")
        close = before.endswith(" ") == plain.startswith(" ", place + 1)
        # Without a word for it, only what nobody takes for a page, a port or a release.
        alone = login in _USERS and close and (match.group() == ":" or before.endswith(" ")) and is_mixed(value)
        if alone or _ABOUT_LOGIN.search(before.rstrip()[: -len(words[-1])]):
            yield from _check_places(plain, [(match.start(1), match.start(1) + len(value))])
    if "pass" in low or "пароль" in low:
        for both in _BOTH.finditer(low):
            if _FIRST.search(low, max(0, both.start() - 30), both.start()):
                yield from _check_places(plain, [both.span("value")])


_SIGN_OR_DIGIT = re.compile(r"[\d!@#$%^&*]")


# ------------------------------------------------------------------------------------------------- values behind names

_PASSWORD_HINTS: Final = ("pass", "pwd", "psw", "pw:", "pw=", "secret", "парол")
_TOKEN_HINTS: Final = ("token", "key", "secret", "session", "токен", "ключ", "секрет", "credential")
_AFTER_NAME = r"[\"'`*_\]]{0,4}(?:\s|\|){0,3}"
_BEFORE_VALUE = r"[\s|\"'`*_«“]{0,7}"
_VALUE = r"(?P<value>[^\s\"'`,;|<>«»“”\0]{6,256})"
_SIGN = r"(?::=|=>|==?|:|\|)"
_NAME = r"(?:passw(?:or)?d|pass ?phrase|passcode|pwd|парол[ьяюеи]м?)(?![a-zа-яё])"
_PASSWORD = re.compile(
    # Some names follow others: DB_PASSWORD, spring.datasource.password, "пароль от базы".
    rf"(?:(?P<name>{_NAME}|secret(?![a-zа-яё]))"
    rf"(?:{_AFTER_NAME}{_SIGN}{_BEFORE_VALUE}|{_AFTER_NAME}\s(?:—|-|это|is|was|будет)\s{_BEFORE_VALUE}"
    rf"|[ \t](?P<about>[^\n:=|\0]{{1,60}})(?::|=|\s(?:—|is|was|equals|будет|это)\s){_BEFORE_VALUE}|[ \t]{{1,2}}(?=[\"'`«“]){_BEFORE_VALUE})"
    rf"|(?:pass(?<![a-zа-яё]pass)|pw(?<![a-zа-яё]pw)|psw(?<![a-zа-яё]psw))[\"'`]?[ \t]?[:=]{_BEFORE_VALUE}){_VALUE}"
)
_SPOKEN = re.compile(
    # "the password hunter22", "пароль по умолчанию — Qwerty123", "--password Qw3rty99"
    rf"{_NAME}[\"'`*_]{{0,4}}(?:\s{{1,4}}(?:is|was|are|now|has|have|been|be|set|to|as|of|equals|by|default|value|это|по"
    rf"|умолчанию|служит|будет|равен|задан|установлен|стал|на|—|-|:|=)(?=\s)){{0,4}}[\s:=—]{{1,4}}[\"'`*_«“(]{{0,4}}{_VALUE}"
)
_OPTION = re.compile(r"--[\w-]{0,20}$")
_OTHER_THING = re.compile(
    r"[\"'`*_(]{0,3}(?:polic|manag|stor|hash|encod|algorith|encrypt|field|propert|rule|regex|expir|strength|length|name\b|history"
    r"|reset|rotat|generat|vault|file|path|type|format|option|must|should|liv|lie|kept|provider|менедж|политик|алгоритм|х[еэ]ш|протокол"
    r"|пол[еяю]\b|длин|срок|шифр|хран|меня|истека|правил|долж|имя|имен|назван|файл|путь|переда|лежит)"
)
"""What, right behind the name, makes the value one of something else."""
_BESIDE = re.compile(
    # The name is a value itself: of a pair in JSON, XML or YAML.
    rf"{_NAME}[\"'`]?[\s,]{{1,40}}[\"']?(?:value|значение)[\"']?\s{{0,3}}[:=]\s{{0,3}}[\"']?{_VALUE}"
    rf"|[\"'](?:value|значение)[\"']\s{{0,3}}:\s{{0,3}}[\"'](?P<first>[^\s\"'<>\0]{{6,256}})[\"']\s{{0,3}},\s{{0,40}}[\"'][\w ]{{1,20}}[\"']\s{{0,3}}:"
    rf"\s{{0,3}}[\"'][\w .-]{{0,40}}{_NAME}"
)
_INSIDE = re.compile(rf"{_NAME}[\"'`]\s{{0,4}}:\s{{0,4}}(?P<group>[\[{{][^\]}}]{{0,1000}})")
_QUOTED = re.compile(r"[\"']([^\s\"'\\\0]{6,256})[\"'](?!\s{0,4}:)")
_IN_TAG = re.compile(rf"{_NAME}>\s{{0,40}}([^\s<>\0]{{6,256}})\s{{0,40}}</")
_IN_COMMAND = re.compile(r"(?:\bmysql\w*\b[^\n|;]{0,80} |\bsshpass )-p ?[\"']?([^\s\"'|;$<>]{6,128})")
_TOKEN = re.compile(
    rf"(?:token|key|secret|credentials?|session(?:[ _-]?id)?|токен\w{{0,2}}|ключ\w{{0,2}}|секрет\w{{0,2}})(?:[ _-]?(?:id|api|апи|value))?(?![a-zа-яё])"
    rf"(?:{_AFTER_NAME}{_SIGN}{_BEFORE_VALUE}|{_AFTER_NAME}\s(?:—|-|это|is)\s{_BEFORE_VALUE}"
    rf"|[ \t](?P<about>[^\n:=|\0]{{1,40}})(?::|=|\s(?:—|is|это)\s){_BEFORE_VALUE}|(?P<bare>[ \t]{{1,3}})[\"'`*_«“(]{{0,4}})"
    r"(?:(?:bearer|token|basic)[ \t]+)?(?P<value>[a-z0-9._~+/=-]{16,512})"
)
_SECRET_KEY = re.compile(
    r"(?:api|access|secret|auth|signing|encryption|private|account|app|service|license|webhook)[ _.-]?(?:access[ _-]?)?$"
)
"""What makes a key a secret one: there are keys of tables and of caches."""
_PUBLIC_KEY = re.compile(r"(?:открыт|публичн|первичн|внешн|public|primary|foreign|cache)\w*[ _.-]?$")
_ACCESS_TOKEN = re.compile(
    r"pat(?<![a-z0-9]pat)[\"'`*]{0,3}(?:[ \t]{0,2}[:=—-])?[ \t]{0,2}[\"'`*«“(]{0,4}(?<!pat)(?P<value>[a-z0-9._~+/=-]{30,512})"
)
"""Behind the short name of a personal access token, which is a word's beginning, too."""
_NAMED_FIRST = re.compile(r"[a-z]{2,12}[-.]")
_OTHER_KEY = re.compile(
    r"(?:к[еэ]ш|таблиц|строк|запис|раздел|сортировк|партици|поиск|cache|table|row|partition|index|commit)"
)


def find_named_values(plain: str, low: str) -> Iterator[Span]:
    """Find passwords and random values behind a name that says what they are, in code, tables and prose."""
    if any(hint in low for hint in _PASSWORD_HINTS):
        for match in _each(_PASSWORD, low):
            yield from _password(plain, match)
        if any(hint in low for hint in ("pass", "pwd", "парол")):
            yield from _passwords_without_a_sign(plain, low)
        yield from _columns(plain, low)
    if "mysql" in low or "sshpass" in low:
        yield from _check_places(plain, (match.span(1) for match in _IN_COMMAND.finditer(low)))
    if any(hint in low for hint in _TOKEN_HINTS):
        for match in _each(_TOKEN, low):
            value = plain[slice(*match.span("value"))].rstrip(".")
            if is_random(value) and not is_placeholder(value) and _names_a_secret(low, match):
                yield Span("token-value", match.start("value"), match.start("value") + len(value))


def _password(plain: str, match: re.Match[str]) -> Iterator[Span]:
    value = plain[slice(*match.span("value"))].rstrip(".:)]}*_")
    value = re.split(r"&\w+=", value, maxsplit=1)[0]
    about = match["about"] or ""
    if about and _OTHER_THING.match(about):
        return
    if "secret" in (match["name"] or about) + about and _NAME_OF_A_SECRET.fullmatch(value):
        return
    if is_password(value, least=6):
        yield Span("password-value", match.start("value"), match.start("value") + len(value))


def _passwords_without_a_sign(plain: str, low: str) -> Iterator[Span]:
    """Find passwords right behind the name, in pairs of a structure, in tags and in commands."""
    for match in _each(_SPOKEN, low):
        value = plain[slice(*match.span("value"))].rstrip(".:)]}*_")
        if is_password(value, least=6) and (
            _OPTION.search(low, max(0, match.start() - 22), match.start()) or is_no_word(value)
        ):
            yield Span("password-value", match.start("value"), match.start("value") + len(value))
    places: list[tuple[int, int]] = []
    if "value" in low or "значение" in low:
        places += [match.span("value" if match["value"] else "first") for match in _BESIDE.finditer(low)]
    if '"' in low or "'" in low:
        for group in _INSIDE.finditer(low):
            places += [match.span(1) for match in _QUOTED.finditer(plain, *group.span("group"))]
    if "</" in low:
        places += [match.span(1) for match in _IN_TAG.finditer(low)]
    yield from _check_places(plain, places)


def _check_places(plain: str, places: Iterable[tuple[int, int]]) -> Iterator[Span]:
    for start, end in places:
        value = plain[start:end].rstrip(".:)]}*_")
        if is_password(value, least=6):
            yield Span("password-value", start, start + len(value))


def find_access_tokens(plain: str, low: str) -> Iterator[Span]:
    if "pat" in low:
        for match in _ACCESS_TOKEN.finditer(low):
            value = plain[slice(*match.span("value"))].rstrip(".")
            if is_random(value) and not is_placeholder(value):
                yield Span("token-value", match.start("value"), match.start("value") + len(value))


def _names_a_secret(low: str, match: re.Match[str]) -> bool:
    before = low[max(0, match.start() - 24) : match.start()]
    if low.startswith("key", match.start()) and not _SECRET_KEY.search(before):
        return False
    if low.startswith("ключ", match.start()) and _PUBLIC_KEY.search(before):
        return False
    # In prose, what begins with a word and a dash is the name of a model or of a release.
    spoken = match["about"] or match["bare"]
    return not (spoken and (_OTHER_KEY.match(match["about"] or "") or _NAMED_FIRST.match(match["value"])))


_DELIMITER_ROW = re.compile(r"^(?:[ \t|:-]*>)*+[ \t|:]*+-[ \t|:-]*$")
_IN_CELL = re.compile(r"[^\s\0]+")
_PASSWORD_HEAD = re.compile(r"(?<![a-zа-яё])(?:passw(?:or)?d|passphrase|passcode|pwd|парол[ья])(?![a-zа-яё])")


def _columns(plain: str, low: str) -> Iterator[Span]:
    """Find the passwords of a table whose head says that a column holds them."""
    if not _PASSWORD_HEAD.search(low) or "|" not in plain:
        return
    place, before = 0, ""
    columns: frozenset[int] = frozenset()
    for line in plain.split("\n"):
        if "|" not in line:
            columns = frozenset()
        elif _DELIMITER_ROW.match(line):
            heads = before.lower().split("|")
            columns = frozenset(n for n, head in enumerate(heads) if len(head) <= 40 and _PASSWORD_HEAD.search(head))
        elif columns:
            yield from _passwords_in_row(line, place, columns)
        place, before = place + len(line) + 1, line


def _passwords_in_row(line: str, place: int, columns: frozenset[int]) -> Iterator[Span]:
    for number, cell in enumerate(line.split("|")):
        said = _IN_CELL.findall(cell) if number in columns else []
        for match in _IN_CELL.finditer(cell) if said else ():
            value = match.group().strip("*_`\"'(),;")
            # A cell in words has a password only where no word looks like it.
            if is_password(value, least=6) and (len(said) == 1 or is_no_word(value)):
                start = place + match.start() + match.group().index(value)
                yield Span("password-value", start, start + len(value))
        place += len(cell) + 1


def _each(pattern: re.Pattern[str], text: str) -> Iterator[re.Match[str]]:
    """Find matches of which the value of one may hold the name of the next."""
    place = 0
    while match := pattern.search(text, place):
        yield match
        place = match.start("value")


_NAME_OF_A_SECRET = re.compile(r"[a-z]+(?:-(?:[a-z]+\d?|v?\d+))+!?", re.IGNORECASE)
"""As orchestrators call them: app-tls-2024."""
