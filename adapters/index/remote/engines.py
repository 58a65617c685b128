"""The choice of the engine for the address of an index."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import SplitResult, unquote, urlsplit

from contracts.errors import ConfigError

if TYPE_CHECKING:
    from adapters.index.remote.engine import IndexEngine

SCHEMES: Final = ("qdrant", "qdrants", "postgresql")
"""Of the addresses that are understood; `qdrants` is Qdrant over https."""

_COLLECTION: Final = re.compile(r"[a-z0-9][a-z0-9_-]{0,40}")
_QDRANT_PORT: Final = 6333
_FORMS: Final = "qdrant://host:6333, qdrants://host:6333 or postgresql://user@host/database"


def engine_at(url: str, *, profile: str, key: str = "", lock: Path | None = None) -> IndexEngine:
    """Return the index at an address, without a request to it.

    Args:
        url: `qdrant://host:port/collection`, `qdrants://...` for https, or `postgresql://user@host/database`.
        profile: Names the collection, or the tables, if the address does not.
        key: Qdrant's API key, or the database's password.
        lock: A file that keeps two processes of this machine from filling one index, if the server has no lock.

    Raises:
        ConfigError: The address is wrong, or a package is missing.
    """
    parts = check_address(url)
    collection = unquote(parts.path.strip("/"))
    if parts.scheme == "postgresql":
        from adapters.index.remote.postgres import PostgresEngine

        return PostgresEngine(url, profile, password=key)
    from adapters.index.remote.qdrant import QdrantEngine

    http = "https" if parts.scheme == "qdrants" else "http"
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    server = f"{http}://{host}:{parts.port or _QDRANT_PORT}"
    return QdrantEngine(server, collection or f"guardian-{profile}", api_key=key, lock=lock)


def check_address(url: str, what: str = "The address of the index") -> SplitResult:
    """Return the parts of an address.

    Args:
        url: The address.
        what: Its name in messages.

    Raises:
        ConfigError: It is not the address of an index. The message does not repeat it: it may hold a password.
    """
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError as error:
        raise ConfigError(f"{what} cannot be read.", f"Write it as {_FORMS}.") from error
    if parts.scheme not in SCHEMES:
        raise ConfigError(f"{what} names no kind of server.", f"Write it as {_FORMS}.")
    if parts.scheme == "postgresql":
        return parts
    if not parts.hostname:
        raise ConfigError(f"{what} names no host.", f"Write it as {_FORMS}.")
    if "@" in parts.netloc:
        raise ConfigError(f"{what} has a password in it.", "Leave it out, and set GUARDIAN_INDEX_KEY instead.")
    if parts.path.strip("/") and not _COLLECTION.fullmatch(parts.path.strip("/")):
        raise ConfigError(
            f"{what} has no fit name of a collection.",
            "Name it with 1 to 41 small letters, digits, _ and -.",
        )
    return parts
