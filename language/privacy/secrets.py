"""Values in the form of a secret: a key, a token, a password after its name, an address with a password in it.

Only the form counts, not words: every manual mentions "password" and "token", and placeholders show where a value
belongs. Service keys are found by their makers' prefixes (`service_keys.toml`). A value without a prefix is a secret
only after a name that says so, or as a password after a login. A text without such a prefix or name only needs a search
for literals, which takes microseconds.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator
from typing import Final

from language.clean import holds_any
from language.memo import remember_items
from language.patterns import read_wording
from language.privacy.passwords import find_access_tokens, find_login_pairs, find_named_values
from language.privacy.secret_values import is_password, is_placeholder, is_random
from language.privacy.service_keys import SERVICE_KEYS, ServiceKey
from language.privacy.spans import SearchedText, Span, lower_in_place, merge_spans, readings

_WORDING: Final = read_wording(__name__)

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
    """Return the places of a text, in order, with a value in the form of a secret."""
    return merge_spans(span for read in readings(text) for span in read.spans(_secrets(read.plain)))


def _secrets(plain: str) -> list[Span]:
    low = lower_in_place(plain)
    found: list[Span] = []
    for search in (_private_keys, _api_keys, _web_tokens):
        found += search(plain)
    for search_names in (
        *(_headers, _registries, _connection_strings, _manifests),
        *(find_login_pairs, find_named_values, find_access_tokens),
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

_BEGINS = tuple(begin for key in SERVICE_KEYS for begin in key.begins)
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
    keys = [key for key in SERVICE_KEYS if holds_any(long, key.begins)] if holds_any(long, _BEGINS) else []
    if not keys:
        return
    whole: set[int] = set()
    broken_keys: list[ServiceKey] = []
    for key in keys:
        places = sorted({stretch for begin in key.begins for stretch in _stretches(plain, begin)})
        for match in (match for place in places for match in key.form.finditer(plain, *place)):
            whole.add(match.start())
            if not _MASKED.search(match.group()) and (not key.random or is_random(match.group())):
                yield Span("api-key", *match.span())
        if any(_touches_a_break(plain, *place) for place in places):
            broken_keys.append(key)
    joined = SearchedText(plain).without(_LINE_BREAK) if broken_keys else SearchedText("")
    for key in broken_keys if joined.starts else ():
        for match in key.form.finditer(joined.plain):
            [span] = joined.spans([Span("api-key", *match.span())])
            # One that is whole on its line does not go on in the next.
            broken = span.start not in whole and "\n" in plain[span.start : span.end]
            if broken and is_random(match.group()) and not _MASKED.search(match.group()):
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
            if is_random(value) and not is_placeholder(value):
                yield Span("bearer-token", *match.span(1))
    if "basic" in low:
        for match in _BASIC.finditer(low):
            if _is_a_pair(plain[slice(*match.span(1))]):
                yield Span("basic-auth", *match.span(1))
    if "-u" in plain:
        for match in _CURL_USER.finditer(plain):
            if is_password(match[1], least=6):
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
            if not is_placeholder(match[1]) and not match[1].startswith(("$", "{")):
                yield Span("connection-string", *match.span())
    if "password=" in low or "pwd=" in low or "password =" in low:
        for match in _PAIRS.finditer(plain):
            line = plain[max(0, match.start() - 300) : match.start() + 1].rpartition("\n")[2]
            if _PAIRS_BEFORE.search(line) and not is_placeholder(match[1]) and "(" not in match[1]:
                yield Span("connection-string", *match.span(1))
    if "key=" in low or "key =" in low:
        for match in _ACCOUNT_KEY.finditer(plain):
            yield Span("connection-string", *match.span(1))


# ------------------------------------------------------------------------------------------------ encoded in manifests

_MANIFEST = re.compile(r"\bkind[\"']?[ \t]{0,4}:[ \t]{0,4}[\"']?secret(?![a-z])|\.dockerc(?:onfigjson|fg)\b")
_ENCODED = re.compile(
    r"(?<![\w.-])(?P<name>[\w.-]{1,80})[\"']?[ \t]{0,4}:[ \t]{0,4}[\"']?(?P<value>[a-z0-9+/]{8,}+={0,2})(?![\w+/=.:-])"
)
_ENCODED_SECRET = _WORDING.pattern("encoded_secret")


def _manifests(plain: str, low: str) -> Iterator[Span]:
    """Find what a Secret of Kubernetes holds in base64, behind names that say what it is."""
    if ("kind" not in low or "secret" not in low) and ".dockerc" not in low:
        return
    for match in _ENCODED.finditer(low) if _MANIFEST.search(low) else ():
        value = plain[slice(*match.span("value"))]
        if _ENCODED_SECRET.search(match["name"]) and _encodes_a_secret(value):
            rule = "password-value" if _PASSWORD_NAME.search(match["name"]) else "token-value"
            yield Span(rule, *match.span("value"))


_PASSWORD_NAME = _WORDING.pattern("password_name")


def _encodes_a_secret(value: str) -> bool:
    # What begins like a key is none, or has been found; the rest of them are certificates.
    if len(value) % 4 or value.startswith(_ENCODED_BEGINS):
        return False
    try:
        decoded = base64.b64decode(value, validate=True).decode("utf-8").strip()
    except (binascii.Error, ValueError):
        return is_random(value)
    settings = decoded.startswith("{") and '"auth"' in decoded
    return settings or (decoded.isprintable() and len(decoded) > 4 and not is_placeholder(decoded))


def without_credentials(address: str) -> str:
    """Return an address without the user name and password that it may carry."""
    return re.sub(r"(?<=//)[^/@\s]*@", "", address)
