"""The types of variables' values: how each is read, and the error for a value that is not valid."""

from __future__ import annotations

import json
import re
from functools import partial
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from pathlib import Path
from typing import Annotated, Any, Final

from pydantic import AfterValidator, BeforeValidator, PlainValidator, SecretStr, Strict

from assistant.config.group import FLAGS, refusal
from assistant.config.profiles import at_home
from contracts.enums import Entailment, Language

LAST_PORT: Final = 65535
_HEADER: Final = re.compile(r"[A-Za-z0-9-]{1,64}")
_TAKEN: Final = ("authorization", "cookie", "host", "origin", "x-api-key", "x-forwarded-for", "x-forwarded-proto")
"""Headers that say something else to the server."""
_BEHIND_HOST: Final = re.compile(r"[/?#@]")
"""What begins a path, a query or a fragment, or ends a password."""
_HOST: Final = re.compile(r"[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})*")
_LONGEST_NUMBER: Final = 12
_LONGEST_ADDRESS: Final = 2000
_ADDRESS: Final = re.compile(
    r"https?://(?:[^/?#@]*@)?"
    r"(?:\[(?P<v6>[^\]/?#]*)\]|(?P<host>[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})*\.?))"
    r"(?::(?P<port>[0-9]{1,5}))?(?:[/?#].*)?",
    re.IGNORECASE,
)


def is_address(text: str) -> bool:
    """Whether every client can ask this address; clients raise errors of their own for one that they cannot."""
    found = _ADDRESS.fullmatch(text)
    if not found or len(text) > _LONGEST_ADDRESS or not text.isascii() or not text.isprintable() or " " in text:
        return False
    number = found["v6"] if found["v6"] is not None else found["host"]
    if found["v6"] is not None or re.fullmatch(r"[0-9]+(\.[0-9]+){3}", number):
        try:
            if ip_address(number).version != (4 if found["v6"] is None else 6):
                return False
        except ValueError:
            return False
    return found["port"] is None or 1 <= int(found["port"]) <= LAST_PORT


def _read_address(text: str, key: str = "") -> str:
    """Return the address of a server without slashes at its end; with a key beside it, it may have no password."""
    if not text.startswith(("http://", "https://")):
        raise refusal("does not begin with http:// or https://.", "Set it to a full address.")
    if key and "@" in text.split("://", 1)[-1].split("/", 1)[0]:
        # The model's client writes its address into traces as it is.
        raise refusal("has a password in it.", f"Leave it out, and set {key} instead.")
    if not is_address(text):
        raise refusal(
            "is not the address of a server.",
            "Write it as http://host:port/path: a host, a port from 1 to 65535 or none, ASCII without blanks.",
        )
    return text.rstrip("/")


def _read_database(text: str) -> str:
    if not text.startswith(("sqlite:///", "postgresql://", "postgresql+psycopg://")):
        raise refusal(
            "is not the address of a database that can be asked.",
            "Write sqlite:///path/to/file.db, or postgresql://user:password@host/database.",
        )
    return text


def _read_storage(text: str) -> str:
    from urllib.parse import unquote, urlsplit

    if text and not text.startswith("postgresql://"):
        raise refusal(
            "is not the address of a PostgreSQL server.",
            "Write postgresql://user:password@host/database, or leave it empty to keep conversations in a file.",
        )
    if not text:
        return text
    try:
        parts = urlsplit(text)
        # The driver and others must take the same part of it for the password: it is masked in every message.
        well = parts.netloc.count("@") == text.count("@") <= 1 and not parts.fragment
        well = well and _check_conninfo(text) in (None, parts.password and unquote(parts.password))
    except ValueError:
        well = False
    if not well:
        # Nothing of it is quoted: a password stands in it.
        raise refusal(
            "is not an address that the driver understands.",
            "Write signs such as @, /, : and % in the password as %40, %2F, %3A and %25, and no options that PostgreSQL "
            "does not have.",
        )
    return text


def _check_conninfo(text: str) -> str | None:
    """Return the password in front of the host as the driver reads it; `None` if there is none, or no driver.

    Raises:
        ValueError: The driver does not understand it.
    """
    try:
        import psycopg
        from psycopg.conninfo import conninfo_to_dict
    except ImportError:
        return None
    try:
        read = conninfo_to_dict(text.partition("?")[0])
        conninfo_to_dict(text)
    except psycopg.Error:
        raise ValueError from None
    return str(read["password"]) if read.get("password") else None


def _read_destination(text: str, key: str) -> str:
    if "://" in text:
        _read_address(text, key)
    else:
        _read_folder(text)
    return text


def _read_digits(text: str) -> int:
    # int() raises where a number is too long.
    if len(text) > _LONGEST_NUMBER or not text.isdecimal():
        raise ValueError
    return int(text)


def _read_folder(text: str) -> Path:
    path = at_home(text)
    if path.exists() and not path.is_dir():
        raise refusal(f"is {text!r}, which is not a folder.", "Set it to a folder; it is created if it is missing.")
    return path


def _read_header(text: str) -> str:
    if text and not _HEADER.fullmatch(text):
        raise refusal("is not the name of a header.", "Write letters, digits and dashes: X-Forwarded-User.")
    if text.lower() in _TAKEN:
        raise refusal(f"is {text!r}, which means something else here.", "Name another one: X-Forwarded-User.")
    return text.lower()


def _read_host(text: str) -> str:
    """Return a host as browsers send it: a name in ASCII and small letters, or an address without brackets.

    Raises:
        ValueError: It is neither.
    """
    if ":" in text:
        address = ip_address(text[1:-1] if text.startswith("[") and text.endswith("]") else text)
        if "%" in text:
            raise ValueError  # a zone is this machine's own, and no browser sends it
        return str(address)
    name = text.lower().rstrip(".")
    if not name.isascii():
        plain = name.encode("idna")
        # Python's codec makes "ss" of "ß", which is somebody else's domain; browsers do not.
        if plain.decode("idna") != name:
            raise ValueError
        name = plain.decode("ascii")
    if not _HOST.fullmatch(name):
        raise ValueError
    return name


def _read_hosts(text: str) -> frozenset[str]:
    try:
        return frozenset(map(_read_host, _words(text)))
    except ValueError:
        raise refusal(
            "has something in it that is no name and no address of a host.",
            "Write names or addresses alone, without scheme and port, with commas between: "
            "chat.shop.example,чат.магазин.рф,10.0.0.7,[fd00::2]. If a name with other letters than ASCII is refused, "
            "write it as browsers send it: xn--….",
        ) from None


def _read_index(text: str) -> str:
    from adapters.index.remote.engines import check_address

    check_address(text, "GUARDIAN_INDEX_URL")
    return text


def _read_key(text: str) -> SecretStr:
    if not text.isascii() or not text.isprintable():
        # A header of HTTP carries nothing else.
        raise refusal("has characters that no key can have.", "Copy it again, without anything around it.")
    return SecretStr(text)


def _read_labels(text: str) -> tuple[Entailment, ...]:
    from adapters.entailment.nli import NAMES

    words = _words(text.lower())
    if words and (not NAMES.keys() >= set(words) or len(set(words)) < len(words) or "entailment" not in words):
        raise refusal(
            "does not name the labels of such a model, each once.",
            "Set it to them in order, for example contradiction,neutral,entailment.",
        )
    return tuple(NAMES[word] for word in words)


def _read_languages(text: str) -> frozenset[Language]:
    words = _words(text)
    if unknown := [word for word in words if word not in set(Language)]:
        raise refusal(f"has {unknown[0]!r} in it.", "Set it to en, ru or en,ru.")
    return frozenset(map(Language, words))


def _read_networks(text: str) -> tuple[IPv4Network | IPv6Network, ...]:
    try:
        return tuple(map(ip_network, _words(text)))
    except ValueError:
        raise refusal(
            "has something in it that is no address and no network.",
            "Write addresses or networks with commas between: 127.0.0.1,10.0.0.0/8.",
        ) from None


def _read_object(text: str) -> dict[str, Any]:
    try:
        fields = json.loads(text)
    except (ValueError, RecursionError):
        fields = None
    if not isinstance(fields, dict):
        raise refusal("is not a JSON object.", 'Write it as {"field": value}.')
    return fields  # pyright: ignore[reportUnknownVariableType]  # JSON's own


def _read_origins(text: str) -> tuple[str, ...]:
    words = _words(text)
    # `*` is not taken: with it, every page that a colleague opens could ask in their name.
    if any(
        not is_address(word) or _BEHIND_HOST.search(word.partition("://")[2]) or word != word.lower() for word in words
    ):
        raise refusal(
            "has something in it that names no web page.",
            "Write scheme, host and port alone, in small letters: https://desk.example,http://127.0.0.1:3000.",
        )
    return tuple(words)


def _read_model(text: str, known: frozenset[str]) -> str:
    if text not in known and "/" not in text and "\\" not in text:
        raise ValueError
    return text


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


Address = Annotated[str, AfterValidator(_read_address)]
"""The address of a server; empty: none."""
Database = Annotated[str, AfterValidator(_read_database)]
Flag = Annotated[bool, Strict(), BeforeValidator(lambda text: FLAGS.get(text.lower(), text))]
Folder = Annotated[Path, PlainValidator(_read_folder)]
Header = Annotated[str, AfterValidator(_read_header)]
"""The name of a header of HTTP, in small letters; empty: none."""
Hosts = Annotated[frozenset[str], PlainValidator(_read_hosts)]
"""Names of hosts in ASCII and small letters, and addresses without brackets; without ports."""
IndexAddress = Annotated[str, AfterValidator(_read_index)]
JsonObject = Annotated[dict[str, Any], PlainValidator(_read_object)]
Key = Annotated[SecretStr, PlainValidator(_read_key)]
"""A key that a header of HTTP carries; empty: none."""
Labels = Annotated[tuple[Entailment, ...], PlainValidator(_read_labels)]
Languages = Annotated[frozenset[Language], PlainValidator(_read_languages)]
Networks = Annotated[tuple[IPv4Network | IPv6Network, ...], PlainValidator(_read_networks)]
NumberOrNone = Annotated[float | None, BeforeValidator(lambda text: None if text == "none" else text)]
Origins = Annotated[tuple[str, ...], PlainValidator(_read_origins)]
"""Web pages from elsewhere, as browsers name them: scheme, host and port."""
StorageAddress = Annotated[str, AfterValidator(_read_storage)]
"""The address of a PostgreSQL server; empty: none."""
Whole = Annotated[int, BeforeValidator(_read_digits)]
WholeOrNone = Annotated[int | None, BeforeValidator(_read_digits)]


def address_beside(key: str) -> AfterValidator:
    """Return a reader of a server's address; the server's key is in another variable."""
    return AfterValidator(partial(_read_address, key=key))


def model_among(*known: str) -> AfterValidator:
    """Return a reader of the name of a model of this process: one of the known ones, or the path of a folder."""
    return AfterValidator(partial(_read_model, known=frozenset(known)))


def destination_beside(key: str) -> AfterValidator:
    """Return a reader of a folder or a server's address; the server's key is in another variable."""
    return AfterValidator(partial(_read_destination, key=key))
