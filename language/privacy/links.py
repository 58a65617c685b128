"""The targets of a text's links, and the domains that it names without a link.

Programs follow more than Markdown calls a link, and they differ: browsers repair slashes, decode entities and drop line
breaks inside an address. So each target is read in every such way, and is ours only if all readings are.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from ipaddress import ip_address, ip_network
from typing import Final
from urllib.parse import urlsplit

from language.blocks import without_code
from language.clean import INVISIBLE, normalize, unescape_entities
from language.memo import remember
from language.patterns import read_toml

_NOBODYS: Final = re.compile(
    r"(?:[^./@]+\.)*(?:example\.(?:com|org|net)|test|example|invalid|localhost)\.?|ip6-localhost|ip6-loopback",
    re.IGNORECASE,
)
"""Names that nobody can register (RFC 2606, RFC 6761), and those of one's own machine."""
_NOBODYS_NETWORKS: Final = tuple(
    map(
        ip_network,
        (
            "127.0.0.0/8",
            "0.0.0.0/32",
            "::1/128",
            "192.0.2.0/24",
            "198.51.100.0/24",
            "203.0.113.0/24",
            "2001:db8::/32",
        ),
    )
)
"""Loopback (RFC 1122, RFC 4291) and documentation (RFC 5737, RFC 3849)."""
_AFTER = r"[^\s<>()\[\]\"'`«»“”„…|]"
_ADDRESS = re.compile(
    rf"(?:https?|ftp):[/\\](?:[/\\]*\[[^\s\]]*\]?{_AFTER}*|{_AFTER}+)|(?<![^\W_])(?<![./@-])www\.{_AFTER}+"
    # What opens a program in which somebody waits to be written to.
    rf"|(?<![\w.+-])(?:tg|whatsapp|viber|skype|discord|slack|signal|sgnl|zoommtg|msteams|weixin|line)://{_AFTER}+",
    re.IGNORECASE,
)
_MARKS_BEHIND = ".,;:!?*_~\\"

_INLINE = re.compile(r"\]\(\s*(?:<([^<>\n]*)>|([^\s)]+))")
_DEFINITION = re.compile(
    r"^[ \t>*+\-\d.)]*\[(?:\\.|[^\[\]\\])+\]:[ \t]*(?:\n[ \t>]*)?(?:<([^<>\n]*)>|(\S+))", re.MULTILINE
)
# Any `<word:word>` is an address to Markdown; only these lead anywhere, and "<host:port>" is a way of writing.
_POINTED = re.compile(
    r"<((?:mailto|javascript|vbscript|data|file|tel|sms|xmpp):[^\s<>]*|[a-z][\w+.-]*:[/\\][^\s<>]*)>", re.IGNORECASE
)
_TAG = re.compile(r"<[A-Za-z]")
_ATTRIBUTE = re.compile(
    r"(?<![\w-])(href|src|srcset|action|formaction|data|poster|background|cite|ping|content|longdesc|manifest|codebase)"
    r"\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s\"'<>]+))",
    re.IGNORECASE,
)
_MANY = ("srcset", "ping", "content")
_BETWEEN = re.compile(r"[\s,;]+|url\s*=", re.IGNORECASE)
_STYLE = re.compile(r"\burl\(\s*[\"']?([^\"')]+)", re.IGNORECASE)

_MAY_LEAD = re.compile(r"\][(:]|<[A-Za-z]|:[/\\]|www\.|&[#A-Za-z]", re.IGNORECASE)
_ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")
_SCHEME = re.compile(r"([a-z][a-z0-9+.-]*):(.*)", re.IGNORECASE | re.DOTALL)
_BLANKS = "".join(map(chr, range(33)))


def foreign_links(text: str, allowed_domains: Iterable[str]) -> list[str]:
    """Return the links of a Markdown text, outside code, with a host that is not one of the domains or below one.

    Loopback and documentation addresses (RFC 2606, 6761, 5737, 3849) are always allowed, and so are relative paths and
    anchors in a link's target or an attribute. A target with a scheme other than the web's is foreign.
    """
    allowed = tuple(domain.casefold() for domain in allowed_domains)
    addresses, targets = _links(text)
    found = [url for url in addresses if not _host_allowed(url, allowed)]
    found += [url for url in targets if any(_leads_away(said, allowed) for said in _readings(url))]
    return list(dict.fromkeys(url.rstrip(_MARKS_BEHIND) or url for url in found))


def has_link(text: str) -> bool:
    """Whether a Markdown text has an address or a link's target, outside code."""
    return any(_links(text))


# ------------------------------------------------------------------------------------------------------------ domains


@dataclass(frozen=True, slots=True)
class _Endings:
    sure: frozenset[str]
    with_path: frozenset[str]
    shared: frozenset[str]
    names: tuple[str, ...]
    """Each with a dot before it, as those that end a longer name."""


def _load_endings() -> _Endings:
    read: dict[str, str] = read_toml("language.privacy", "domains.toml")
    lists = {name: said.split() for name, said in read.items()}
    return _Endings(
        sure=frozenset(lists["sure"]),
        with_path=frozenset(lists["with_path"]),
        shared=frozenset(lists["shared"]),
        names=tuple(f".{name}" for name in lists["names"]),
    )


_ENDINGS: Final = _load_endings()
"""Read on import, and not in a turn: there no file is waited for."""
_OTHER_SCHEME = re.compile(r"(?<![\w+.-])[\w+.-]++:[/\\]\S*")
_DOMAIN = re.compile(
    # Neither the rest of an address, a path or an option, nor a relative target.
    r"(?<![^\W_])(?<![@./\\$%{}<=~-])(?<!\]\()"
    r"(?P<host>(?:[^\W_](?:[\w-]{0,61}[^\W_])?\.){1,6}(?P<ending>xn--[a-z0-9-]{2,59}|[^\W\d_]{2,24}))"
    rf"(?![^\W_])(?![@(=\\-])(?P<path>(?::\d{{1,5}})?+(?:[/?#]{_AFTER}*)?+)",
    re.IGNORECASE,
)
_OTHER_PATH = re.compile(r"/v\d+(?:(?:alpha|beta)\d+)?|/Contents(?:/.*)?|/\.\w.*")
"""Behind groups of an API, as in apps.openshift.io/v1, programs of macOS, and packages of Android."""


def foreign_domains(text: str, allowed_domains: Iterable[str], shown: Iterable[str] = ()) -> list[str]:
    """Return the domains without a scheme in a text's prose that are not ours.

    A word counts as a domain only if its ending is known (`domains.toml`): most words with a dot are files, attributes
    and abbreviations.

    Args:
        text: Markdown; code is skipped.
        allowed_domains: As for `foreign_links`.
        shown: Texts with domains that may be repeated: the evidence, the question, the contacts.
    """
    found = _domains(text)
    if not found:
        return []
    allowed = tuple(domain.casefold() for domain in allowed_domains)
    said = [one.casefold() for one in shown]
    return [
        f"{host}{path}"
        for host, path in found
        if not (_host_allowed(host, allowed) or any(_stands_in(one, host, path) for one in said))
    ]


def _stands_in(text: str, host: str, path: str) -> bool:
    host = host.casefold()
    whole = host + path.casefold().rstrip("/") if host in _ENDINGS.shared else host
    return whole in text and bool(re.search(rf"(?<![\w.-]){re.escape(whole)}(?![\w-]|\.\w)", text))


@remember
def _domains(text: str) -> tuple[tuple[str, str], ...]:
    # Most texts have none, even with their code.
    if not any(map(_DOMAIN.search, _dotted_words(text))):
        return ()
    return tuple(dict.fromkeys(pair for word in _dotted_words(without_code(text)) for pair in _domains_in(word)))


def _dotted_words(text: str) -> Iterator[str]:
    # Browsers read the full stop of Chinese and Japanese as a dot.
    readings = dict.fromkeys(
        INVISIBLE.sub("", _plain(said)).replace("。", ".") for said in (text, unescape_entities(text))
    )
    return (word for said in readings for word in said.split() if "." in word[1:-1])


def _domains_in(word: str) -> Iterator[tuple[str, str]]:
    if ":" in word or "www." in word:
        word = _OTHER_SCHEME.sub(" ", _ADDRESS.sub(" ", word))
    for match in _DOMAIN.finditer(word):
        path = match["path"].rstrip(_MARKS_BEHIND)
        if _is_domain(match["host"], match["ending"], path):
            yield match["host"], path


def _is_domain(host: str, ending: str, path: str) -> bool:
    low, last = host.casefold(), ending.casefold()
    leads = "/" in path or "?" in path
    if f".{low}".endswith(_ENDINGS.names):
        return False
    if _OTHER_PATH.fullmatch(path) and (last not in _ENDINGS.sure or (path.startswith("/v") and host.count(".") > 1)):
        return False
    if low in _ENDINGS.shared:
        return leads
    name = low.removesuffix(last)
    if len(name) < 3 and not leads:
        # "г.рф" is a sentence without a space, and x.com a letter.
        return False
    # ASP.NET and its like are written so.
    if last.startswith("xn--") or (last in _ENDINGS.sure and (ending != "NET" or leads)):
        return True
    # A word with a capital letter begins a sentence, or is the name of a class: gr.Info/Error.
    spoken = ending.islower() or ending.isupper()
    return last in _ENDINGS.with_path and spoken and (leads or "-" in name)


@remember
def _links(text: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the addresses of a text and the targets of its links."""
    prose = _prose(text)
    return tuple(_addresses(prose)), tuple(_targets(prose))


def _prose(text: str) -> str:
    return without_code(text) if _MAY_LEAD.search(_plain(text)) else ""


def _addresses(prose: str) -> list[str]:
    readings = dict.fromkeys((prose, _plain(prose), _plain(unescape_entities(prose))))
    return list(dict.fromkeys(url.rstrip(_MARKS_BEHIND) for said in readings for url in _ADDRESS.findall(said)))


def _targets(prose: str) -> list[str]:
    found = [pointed or bare for way in (_INLINE, _DEFINITION) for pointed, bare in way.findall(prose)]
    found += _POINTED.findall(prose)
    if tag := _TAG.search(prose):
        for name, *values in _ATTRIBUTE.findall(prose, tag.start()):
            value = "".join(values)
            found += _BETWEEN.split(unescape_entities(value)) if name.casefold() in _MANY else [value]
        found += _STYLE.findall(prose, tag.start())
    return [target for target in found if target]


def _plain(text: str) -> str:
    return normalize("NFKC", text)


def _readings(target: str) -> set[str]:
    bare = _ESCAPED.sub(r"\1", target)
    return {
        target,
        bare,
        unescape_entities(target),
        unescape_entities(bare),
        _plain(unescape_entities(target)),
        _plain(unescape_entities(bare)),
    }


def _leads_away(target: str, allowed: tuple[str, ...]) -> bool:
    # Browsers drop these wherever they stand, and read a backslash as a slash.
    target = re.sub(r"[\t\r\n]", "", target).strip(_BLANKS).replace("\\", "/")
    scheme = _SCHEME.match(target)
    if scheme is None:
        return target.startswith("//") and not _host_allowed(target, allowed)
    if scheme[1].casefold() in ("http", "https", "ftp"):
        return not _host_allowed(target, allowed)
    # "[1](note: ...)" is no link, and a scheme alone leads nowhere.
    return bool(scheme[2])


def _host_allowed(url: str, allowed: tuple[str, ...]) -> bool:
    # Browsers read a backslash as a slash, so "https://evil.test\@ours" leads to evil.test; and any number of slashes
    # behind the scheme of the web as two.
    rest = re.sub(r"^(?:https?|ftp):", "", url.replace("\\", "/"), flags=re.IGNORECASE).lstrip("/")
    try:
        host = (urlsplit(f"//{rest}").hostname or "").casefold()
    except ValueError:
        return False
    return _is_nobodys(host) or any(host == domain or host.endswith("." + domain) for domain in allowed)


def _is_nobodys(host: str) -> bool:
    if _NOBODYS.fullmatch(host):
        return True
    if not host or host.strip("0123456789abcdef:."):
        return False
    try:
        address = ip_address(host)
    except ValueError:
        return False
    address = getattr(address, "ipv4_mapped", None) or address
    return any(address in network for network in _NOBODYS_NETWORKS)
