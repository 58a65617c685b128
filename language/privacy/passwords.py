"""Passwords after a login, and passwords and tokens after a name such as "password", in prose, code and tables."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from language.patterns import read_wording
from language.privacy.secret_values import is_mixed, is_no_word, is_password, is_placeholder, is_random
from language.privacy.spans import Span

_WORDING: Final = read_wording(__name__)

# ---------------------------------------------------------------------------------------------- a login and its password

_USERS: Final = frozenset(_WORDING.words("users"))
_PARTED = tuple(
    # Each begins with one letter, which is looked for faster than one of two.
    re.compile(
        rf"{sign}(?<=[\w`*\"' ]{sign})(?=[ ]?[`*\"']{{0,3}}([^\s\"'`,;|<>«»“”\0/:][^\s\"'`,;|<>«»“”\0]{{5,63}}))"
    )
    for sign in "/:"
)
_LOGIN = re.compile(r"[\w.@-]{2,40}")
_ABOUT_LOGIN = _WORDING.pattern("about_login")
_BOTH = _WORDING.pattern("both")
_FIRST = _WORDING.pattern("first")


def find_login_pairs(plain: str, low: str) -> Iterator[Span]:
    """Find passwords without a name: "admin / Qwerty123", "login/password: root/toor1!"."""
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

_PASSWORD_HINTS: Final = _WORDING.words("password_hints")
_TOKEN_HINTS: Final = _WORDING.words("token_hints")
_PASSWORD = _WORDING.pattern("password")
_SPOKEN = _WORDING.pattern("spoken")
_OPTION = re.compile(r"--[\w-]{0,20}$")
_OTHER_THING = _WORDING.pattern("other_thing")
_BESIDE = _WORDING.pattern("beside")
_INSIDE = _WORDING.pattern("inside")
_QUOTED = re.compile(r"[\"']([^\s\"'\\\0]{6,256})[\"'](?!\s{0,4}:)")
_IN_TAG = _WORDING.pattern("in_tag")
_IN_COMMAND = re.compile(r"(?:\bmysql\w*\b[^\n|;]{0,80} |\bsshpass )-p ?[\"']?([^\s\"'|;$<>]{6,128})")
_TOKEN = _WORDING.pattern("token")
_SECRET_KEY = _WORDING.pattern("secret_key")
_PUBLIC_KEY = _WORDING.pattern("public_key")
_ACCESS_TOKEN = re.compile(
    r"pat(?<![a-z0-9]pat)[\"'`*]{0,3}(?:[ \t]{0,2}[:=—-])?[ \t]{0,2}[\"'`*«“(]{0,4}(?<!pat)(?P<value>[a-z0-9._~+/=-]{30,512})"
)
"""Behind the short name of a personal access token, which is a word's beginning, too."""
_NAMED_FIRST = re.compile(r"[a-z]{2,12}[-.]")
_OTHER_KEY = _WORDING.pattern("other_key")


def find_named_values(plain: str, low: str) -> Iterator[Span]:
    """Find passwords and random values after a name that says what they are, in code, tables and prose."""
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
_PASSWORD_HEAD = _WORDING.pattern("password_head")


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
