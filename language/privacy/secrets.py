"""What is shaped like a secret: a key, a token, a password behind its name, an address with a password in it.

Shapes, not words: "password" and "token" are spoken of in every manual, and placeholders show where a value belongs.
Keys of services are known by the beginnings that their makers give them (`service_keys.toml`); what has none is a secret
only behind a name that says so, or as a password behind a login. A text without such a beginning or name is searched for
literals alone, which takes microseconds.
"""

from __future__ import annotations

import base64
import binascii
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Final

from language.memo import remember_items
from language.privacy.service_keys import SERVICE_KEYS, ServiceKey
from language.privacy.spans import Reading, Span, lower_in_place, merge_spans, readings

RULES: Final = (
    "private-key",
    "api-key",
    "web-token",
    "bearer-token",
    "basic-auth",
    "connection-string",
    "password-value",
    "token-value",
)


@remember_items
def secrets(text: str) -> list[Span]:
    """Return the places of a text, in their order, that hold something shaped like a secret."""
    return merge_spans(span for read in readings(text) for span in read.spans(_secrets(read.plain)))


def _secrets(plain: str) -> list[Span]:
    low = lower_in_place(plain)
    found: list[Span] = []
    for search in (_private_keys, _api_keys, _web_tokens):
        found += search(plain)
    for search_names in (
        *(_headers, _registries, _connection_strings, _manifests),
        *(_login_pairs, _named_values, _access_tokens),
    ):
        found += search_names(plain, low)
    return found


# ------------------------------------------------------------------------------------------------------ private keys

_KEY_BEGINS = re.compile(
    r"[-—]{2,5} ?BEGIN (?:[A-Z0-9]+ ){0,4}PRIVATE KEY(?: BLOCK)? ?[-—]{2,5}|PuTTY-User-Key-File-\d:"
)
_KEY_ENDS = re.compile(r"-{4,5} ?END (?:[A-Z0-9]+ ){0,4}PRIVATE KEY(?: BLOCK)? ?-{4,5}|Private-MAC: ?[0-9a-f]{16,64}")
_KEY_LINE = re.compile(
    r"(?:\s|\\n|[>|`*\"'])*(?:[A-Z][A-Za-z-]{2,30}: [^\n]{0,100}|[A-Za-z0-9+/=]{4,})(?=\s|\\|[\"'`|]|$)"
)
_KEY_LINES_BEFORE = re.compile(r"(?:[A-Za-z0-9+/=]{1,80}[ \t]{0,4}(?:\n|\\n)[ \t>|]{0,8})+$")
_LONGEST_KEY = 20_000
_ENCODED_BEGINS: Final = "LS0tLS1CRUdJTi"
"""Base64 of the five dashes and BEGIN, as in manifests and in the settings of kubectl."""
_ENCODED_KEY = re.compile(rf"{_ENCODED_BEGINS}[A-Za-z0-9+/]{{50,}}+={{0,2}}")


def _private_keys(plain: str) -> Iterator[Span]:
    """Find keys in PEM, SSH2 and PuTTY form: whole, cut off, or only the end of one."""
    if _ENCODED_BEGINS in plain:
        for match in _ENCODED_KEY.finditer(plain):
            if b"PRIVATE KEY" in base64.b64decode(match.group()[:64]):
                yield Span("private-key", *match.span())
    if "PRIVATE KEY" not in plain and "PuTTY-User-Key-File" not in plain and "Private-MAC" not in plain:
        return
    done, end = 0, _KEY_ENDS.search(plain)
    for begin in _KEY_BEGINS.finditer(plain):
        if begin.start() < done:
            continue
        if end and end.start() < begin.end():
            end = _KEY_ENDS.search(plain, begin.end())
        whole = end and end.end() <= begin.end() + _LONGEST_KEY
        done = end.end() if end and whole else _key_body(plain, begin.end())
        yield Span("private-key", begin.start(), done)
    for end in _KEY_ENDS.finditer(plain):
        if end.start() >= done and (body := _KEY_LINES_BEFORE.search(plain[max(0, end.start() - 4000) : end.start()])):
            yield Span("private-key", end.start() - len(body.group()), end.end())


def _key_body(plain: str, place: int) -> int:
    while (line := _KEY_LINE.match(plain, place)) and line.end() > place:
        place = line.end()
    return place


# ---------------------------------------------------------------------------------------------------- keys of services

_SHORTEST = 15
"""Characters of a key."""
_BLANK = re.compile(r"[ \n\t]")
_BREAK_BEFORE = re.compile(r"\n[ \t>]*+\Z")
_BREAK_BEHIND = re.compile(r"[ \t]*+\n")
_MASKED = re.compile(r"x{6,}|X{6,}|0{12,}|\.{3}|your", re.IGNORECASE)
_LINE_BREAK = re.compile(r"(?<=[A-Za-z0-9_-])[ \t]*\n[ \t>]*(?=[A-Za-z0-9])")


def _api_keys(plain: str) -> Iterator[Span]:
    # Of prose, next to nothing is left to look through.
    long = "\n".join(word for word in plain.split() if len(word) >= _SHORTEST)
    keys = [key for key in SERVICE_KEYS if any(begin in long for begin in key.begins)] if long else []
    if not keys:
        return
    whole: set[int] = set()
    broken_keys: list[ServiceKey] = []
    for key in keys:
        places = sorted({stretch for begin in key.begins for stretch in _stretches(plain, begin)})
        for match in (match for place in places for match in key.form.finditer(plain, *place)):
            whole.add(match.start())
            if not _MASKED.search(match.group()) and (not key.random or _is_random(match.group())):
                yield Span("api-key", *match.span())
        if any(_touches_a_break(plain, *place) for place in places):
            broken_keys.append(key)
    joined = Reading(plain).without(_LINE_BREAK) if broken_keys else Reading("")
    for key in broken_keys if joined.starts else ():
        for match in key.form.finditer(joined.plain):
            [span] = joined.spans([Span("api-key", *match.span())])
            # One that is whole on its line does not go on in the next.
            broken = span.start not in whole and "\n" in plain[span.start : span.end]
            if broken and _is_random(match.group()) and not _MASKED.search(match.group()):
                yield span


def _touches_a_break(plain: str, start: int, end: int) -> bool:
    """Whether a stretch without blanks is the first or the last one of its line, and another line is beside it."""
    return bool(_BREAK_BEFORE.search(plain, max(0, start - 40), start) or _BREAK_BEHIND.match(plain, end))


def _stretches(plain: str, begin: str) -> Iterator[tuple[int, int]]:
    """Yield the places without a blank in which a beginning stands."""
    end = 0
    while (place := plain.find(begin, end)) >= 0:
        start = max(plain.rfind(blank, end, place) for blank in " \n\t") + 1 or end
        behind = _BLANK.search(plain, place)
        end = behind.start() if behind else len(plain)
        yield start, end


_WEB_TOKEN = re.compile(r"(?<![A-Za-z0-9])eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}(?:\.[A-Za-z0-9_-]*)*")


def _web_tokens(plain: str) -> Iterator[Span]:
    """Find JSON web tokens (RFC 7519): signed, encrypted, or without their last part."""
    if "eyJ" in plain:
        for match in _WEB_TOKEN.finditer(plain):
            yield Span("web-token", *match.span())


# ---------------------------------------------------------------------------------------------- headers and addresses

_BEARER = re.compile(r"bearer[ \t:]+[\"'`]?([a-z0-9._~+/=-]{12,})")
_BASIC = re.compile(r"basic[ \t]+[\"'`]?([a-z0-9+/]{6,}={0,2})")
_REGISTRY = re.compile(r"(?:(?<!\w)_auth|\"auth\")[ \t]{0,4}[:=][ \t]{0,4}\"?([a-z0-9+/]{8,}+={0,2})")
_CURL_USER = re.compile(r"(?<!\S)(?:-u|--user|--proxy-user)[ =][\"']?[^\s:\"'<>{}$]{1,64}:([^\s\"'<>]{3,128})")


def _headers(plain: str, low: str) -> Iterator[Span]:
    """Find the credentials of HTTP's Authorization header (RFC 6750, RFC 7617), and those given to curl."""
    if "bearer" in low:
        for match in _BEARER.finditer(low):
            value = plain[slice(*match.span(1))]
            if _is_random(value) and not _is_placeholder(value):
                yield Span("bearer-token", *match.span(1))
    if "basic" in low:
        for match in _BASIC.finditer(low):
            if _is_a_pair(plain[slice(*match.span(1))]):
                yield Span("basic-auth", *match.span(1))
    if "-u" in plain:
        for match in _CURL_USER.finditer(plain):
            if _is_password(match[1], least=6):
                yield Span("basic-auth", *match.span(1))


def _registries(plain: str, low: str) -> Iterator[Span]:
    """Find the credentials of registries, in the settings of npm and of Docker."""
    if "_auth" in low or '"auth"' in low:
        for match in _REGISTRY.finditer(low):
            if _is_a_pair(plain[slice(*match.span(1))]):
                yield Span("basic-auth", *match.span(1))


def _is_a_pair(encoded: str) -> bool:
    try:
        decoded = base64.b64decode(encoded + "=" * (-len(encoded) % 4), validate=True).decode("utf-8")
    except (binascii.Error, ValueError):
        return False
    user, colon, password = decoded.partition(":")
    return bool(user and colon and password) and decoded.isprintable()


_ADDRESS = re.compile(
    r"(?<![A-Za-z0-9+.-])(?:[a-z][a-z0-9+.-]{1,30}):(?:[a-z0-9+:]{1,30}:)?//[^\s/:@<>{}$\0]{0,64}:(?![*<%\0])"
    r"([^\s/@<>\0\"'`]{3,128})@[\w.-]+",
    re.IGNORECASE,
)
_PAIRS = re.compile(r"(?:^|[;?&,\s\"'`(])(?:password|pwd)[ \t]*=[ \t]*[\"']?([^;&\s\"'`<>\0]{3,128})", re.IGNORECASE)
_PAIRS_BEFORE = re.compile(
    r"jdbc:|(?:server|data source|host|user id|uid|user|username|initial catalog|account ?name|dsn)[ \t]*=",
    re.IGNORECASE,
)
_ACCOUNT_KEY = re.compile(r"\b(?:account|sharedaccess)key[ \t]*=[ \t]*([A-Za-z0-9+/]{40,}={0,2})", re.IGNORECASE)


def _connection_strings(plain: str, low: str) -> Iterator[Span]:
    """Find addresses with a password (RFC 3986, 3.2.1), and the pairs of ODBC, ADO, JDBC and libpq that hold one."""
    if "://" in plain and "@" in plain:
        for match in _ADDRESS.finditer(plain):
            if not _is_placeholder(match[1]) and not match[1].startswith(("$", "{")):
                yield Span("connection-string", *match.span())
    if "password=" in low or "pwd=" in low or "password =" in low:
        for match in _PAIRS.finditer(plain):
            line = plain[max(0, match.start() - 300) : match.start() + 1].rpartition("\n")[2]
            if _PAIRS_BEFORE.search(line) and not _is_placeholder(match[1]) and "(" not in match[1]:
                yield Span("connection-string", *match.span(1))
    if "key=" in low or "key =" in low:
        for match in _ACCOUNT_KEY.finditer(plain):
            yield Span("connection-string", *match.span(1))


# ------------------------------------------------------------------------------------------------ encoded in manifests

_MANIFEST = re.compile(r"\bkind[\"']?[ \t]{0,4}:[ \t]{0,4}[\"']?secret(?![a-z])|\.dockerc(?:onfigjson|fg)\b")
_ENCODED = re.compile(
    r"(?<![\w.-])(?P<name>[\w.-]{1,80})[\"']?[ \t]{0,4}:[ \t]{0,4}[\"']?(?P<value>[a-z0-9+/]{8,}+={0,2})(?![\w+/=.:-])"
)
_ENCODED_SECRET = re.compile(r"pass|pwd|psw|token|secret|key|cred|auth|conn|dsn|dockerc|парол")


def _manifests(plain: str, low: str) -> Iterator[Span]:
    """Find what a Secret of Kubernetes holds in base64, behind names that say what it is."""
    if ("kind" not in low or "secret" not in low) and ".dockerc" not in low:
        return
    for match in _ENCODED.finditer(low) if _MANIFEST.search(low) else ():
        value = plain[slice(*match.span("value"))]
        if _ENCODED_SECRET.search(match["name"]) and _encodes_a_secret(value):
            rule = "password-value" if _PASSWORD_NAME.search(match["name"]) else "token-value"
            yield Span(rule, *match.span("value"))


_PASSWORD_NAME = re.compile(r"pass|pwd|psw|парол")


def _encodes_a_secret(value: str) -> bool:
    # What begins like a key is none, or has been found; the rest of them are certificates.
    if len(value) % 4 or value.startswith(_ENCODED_BEGINS):
        return False
    try:
        decoded = base64.b64decode(value, validate=True).decode("utf-8").strip()
    except (binascii.Error, ValueError):
        return _is_random(value)
    settings = decoded.startswith("{") and '"auth"' in decoded
    return settings or (decoded.isprintable() and len(decoded) > 4 and not _is_placeholder(decoded))


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


def _login_pairs(plain: str, low: str) -> Iterator[Span]:
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
        alone = login in _USERS and close and (match.group() == ":" or before.endswith(" ")) and _is_mixed(value)
        if alone or _ABOUT_LOGIN.search(before.rstrip()[: -len(words[-1])]):
            yield from _check_places(plain, [(match.start(1), match.start(1) + len(value))])
    if "pass" in low or "пароль" in low:
        for both in _BOTH.finditer(low):
            if _FIRST.search(low, max(0, both.start() - 30), both.start()):
                yield from _check_places(plain, [both.span("value")])


_SIGN_OR_DIGIT = re.compile(r"[\d!@#$%^&*]")


def _is_mixed(value: str) -> bool:
    small, capital = any(c.islower() for c in value), any(c.isupper() for c in value)
    return any(c.isdigit() for c in value[1:]) and small and (capital or any(c in "!@#$%^&*" for c in value))


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


def _named_values(plain: str, low: str) -> Iterator[Span]:
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
            if _is_random(value) and not _is_placeholder(value) and _names_a_secret(low, match):
                yield Span("token-value", match.start("value"), match.start("value") + len(value))


def _password(plain: str, match: re.Match[str]) -> Iterator[Span]:
    value = plain[slice(*match.span("value"))].rstrip(".:)]}*_")
    value = re.split(r"&\w+=", value, maxsplit=1)[0]
    about = match["about"] or ""
    if about and _OTHER_THING.match(about):
        return
    if "secret" in (match["name"] or about) + about and _NAME_OF_A_SECRET.fullmatch(value):
        return
    if _is_password(value, least=6):
        yield Span("password-value", match.start("value"), match.start("value") + len(value))


def _passwords_without_a_sign(plain: str, low: str) -> Iterator[Span]:
    """Find passwords right behind the name, in pairs of a structure, in tags and in commands."""
    for match in _each(_SPOKEN, low):
        value = plain[slice(*match.span("value"))].rstrip(".:)]}*_")
        if _is_password(value, least=6) and (
            _OPTION.search(low, max(0, match.start() - 22), match.start()) or _is_no_word(value)
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
        if _is_password(value, least=6):
            yield Span("password-value", start, start + len(value))


def _access_tokens(plain: str, low: str) -> Iterator[Span]:
    if "pat" in low:
        for match in _ACCESS_TOKEN.finditer(low):
            value = plain[slice(*match.span("value"))].rstrip(".")
            if _is_random(value) and not _is_placeholder(value):
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
            if _is_password(value, least=6) and (len(said) == 1 or _is_no_word(value)):
                start = place + match.start() + match.group().index(value)
                yield Span("password-value", start, start + len(value))
        place += len(cell) + 1


def _each(pattern: re.Pattern[str], text: str) -> Iterator[re.Match[str]]:
    """Find matches of which the value of one may hold the name of the next."""
    place = 0
    while match := pattern.search(text, place):
        yield match
        place = match.start("value")


_PLACEHOLDER = re.compile(
    r"your|example|sample|dummy|placeholder|change[-_]?me|changeit|replace|insert|redacted|todo|foobar|\.{3}|…|\*{3}|x{4,}"
    r"|(?:^|[-_])here$|^\W+$|^[<{\[(]|^%\w+%?$|^\$(?:\{|\(|\w*$)|\$\{|\{\{|^[*•·x._-]+$|ваш|пример|замените|вставьте|^тут|^здесь"
    r"|^\w*(?:os\.environ|getenv|process\.env|settings|config|secrets?)\b[.\[(]",
    re.IGNORECASE,
)
_ORDINARY = frozenset(
    (
        "password",
        "passwd",
        "passphrase",
        "pass",
        "pwd",
        "secret",
        "token",
        "user",
        "username",
        "admin",
        "root",
        "null",
        "none",
        "true",
        "false",
        "string",
        "str",
        "required",
        "optional",
        "hidden",
        "empty",
        "default",
        "test",
        "пароль",
        "секрет",
        "токен",
        "строка",
    )
)


def _is_placeholder(value: str) -> bool:
    """Whether a value only stands for one, as documentation writes it."""
    return value.lower().strip("\"'`") in _ORDINARY or bool(_PLACEHOLDER.search(value))


_NO_PASSWORD = re.compile(
    r"[()\[\]{}\\]|://|^[/.@#-]|^v?\d+(?:[.,:/-]\d+)+\w{0,4}$|^\w+\.[a-z]\w*(?:\.\w*)?$|^\w+/\w+(?:/|$)|=|^&|^\d+[a-zа-я]{1,3}$|^-*\d+(?:-|\+)[a-zа-я]+"
    r"|^(?:sha-?\d|md5|bcrypt|argon2|pbkdf2|scrypt|base64|utf-?\d|oauth|rfc-?\d|x\.?509|aes-?\d|rsa-?\d|tls|https?\d?(?![a-z\d])|pkcs|iso-?\d|гост|gost|nist|fips"
    r"|pci|ed25519|hmac|windows-?\d|ctrl\+|alt\+|shift\+|cmd\+|см\.|п\.|стр\.)"
    r"|^(?:min|max|от|до|at)?[-_]?\d+(?:(?:[-–](?:до)?|до)\d*)?(?:chars?|characters?|letters?|digits?|симв\w*|знак\w*|букв\w*|дн\w*|days?|hours?|min\w*|бит\w*|bits?|bytes?)?$"
    r"|^(?:от|до|min|max)\d{1,3}(?:(?:до|[-–])\d{1,3})?$|^a-z0-9$"
    r"|^\$(?:2[abxy]|argon2\w*|\d|scrypt|pbkdf2[\w-]*)\$",
    re.IGNORECASE,
)
_CAMEL = re.compile(r"^[A-Z]?[a-z]+\d?(?:[A-Z][a-z]+\d{0,2})+$")
_SNAKE = re.compile(r"^[a-z]+(?:[_-][a-z]+)*[_-]?\d{0,2}$")
_NAME_OF_A_SECRET = re.compile(r"[a-z]+(?:-(?:[a-z]+\d?|v?\d+))+!?", re.IGNORECASE)
"""As orchestrators call them: app-tls-2024."""


def _is_password(value: str, least: int) -> bool:
    """Whether a value behind the name of a password is one: letters with digits or inner signs, no code or placeholder."""
    # What ends a sentence is no sign.
    bare = value.strip("!?…*")
    if len(value) < least or not bare or _is_placeholder(bare) or _NO_PASSWORD.search(bare):
        return False
    letters = any(c.isalpha() for c in bare)
    digits = any(c.isdigit() for c in bare)
    signs = any(c in "!@#$%^&*?" for c in bare[1:])
    if not letters or not (digits or signs):
        return False
    # user_password1 and Utf8String are names; hunter22 and S3cret are not.
    return not (_CAMEL.match(bare) or ("_" in bare and _SNAKE.match(bare)))


def _is_no_word(value: str) -> bool:
    """Whether a password is none of the words that merely stand behind its name, such as "step2"."""
    bare = value.strip("!?…*")
    digits = sum(c.isdigit() for c in bare)
    return len(bare) >= 6 and digits > 0 and (digits > 1 or not bare[-1].isdigit())


_LEAST_BITS = 3.0


def _is_random(value: str) -> bool:
    """Whether nobody would have made a value up: many different characters, letters and digits all through it."""
    if len(value) < 12 or not any(c.isdigit() for c in value) or "://" in value or value.startswith(("/", ".", "-")):
        return False
    changes = sum(a.isdigit() != b.isdigit() for a, b in pairwise(value))
    cases = sum(a.islower() and b.isupper() for a, b in pairwise(value))
    return changes + cases >= 4 and _bits(value) >= _LEAST_BITS


def _bits(value: str) -> float:
    """Return Shannon's entropy of the characters of a value, in bits per character."""
    return -sum(n / len(value) * math.log2(n / len(value)) for n in Counter(value).values())


def without_credentials(address: str) -> str:
    """Return an address without the user name and password that it may carry."""
    return re.sub(r"(?<=//)[^/@\s]*@", "", address)
