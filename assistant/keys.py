"""API keys: who may ask over the network, in which role, and how often; only their hashes are stored."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import os
import re
import secrets
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from adapters.data_folder import make_folder
from contracts.errors import ConfigError, InputError

if TYPE_CHECKING:
    from assistant.deployment import Deployment
    from assistant.service import Caller

PER_MINUTE: Final = 60
"""Requests a minute that a key may make, where nothing else is said."""
OPEN_SETTINGS: Final = frozenset({"language", "version"})
"""Run settings that every role may send; the others are for roles with the operator's view, moderation among them."""
_NAME: Final = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")
_BEGINNING: Final = "gk-"


class Key(BaseModel):
    """The stored record of an API key.

    Attributes:
        sha256: Hash of the key, in hexadecimal. Keys have 256 random bits, so they need no slow hash.
        role: The key owner's role; one of the profile's.
        per_minute: Requests that the key may make a minute; at least 1.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    sha256: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
    role: str
    per_minute: Annotated[int, Field(ge=1)] = PER_MINUTE


class Keys:
    """The keys of a data folder; a change of their file takes effect at once, so that a removed key stops working.

    Args:
        path: The file; if it does not exist, there are no keys.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._seen: tuple[int, int, int] | None = None
        self._keys: Mapping[str, Key] = {}
        # Now, and not with the first request: the file may be gone by then.
        self._wanted = _may_be_there(path)

    @property
    def wanted(self) -> bool:
        """Whether requests need a key: a key file exists or existed, even an empty or unreadable one.

        Removing the file from a running server must not let everybody in.
        """
        self._wanted = self._wanted or _may_be_there(self.path)
        return self._wanted

    def all(self) -> Mapping[str, Key]:
        """Return the keys by name.

        Raises:
            ConfigError: The file cannot be read.
        """
        if not _may_be_there(self.path):
            return {}
        try:
            stat = self.path.stat()
        except OSError as error:
            raise _unreadable(self.path) from error
        seen = (stat.st_ino, stat.st_mtime_ns, stat.st_size)
        if seen != self._seen:
            self._keys, self._seen = _read(self.path), seen
        return self._keys

    def caller(self, presented: str) -> tuple[Caller, Key] | None:
        """Return the owner of this key and its record; `None` if it is nobody's.

        Raises:
            ConfigError: The file cannot be read.
        """
        from assistant.service import Caller

        digest = _hash(presented)
        for name, key in self.all().items():
            if hmac.compare_digest(key.sha256, digest):
                return Caller(name, key.role), key
        return None

    def add(self, name: str, role: str, per_minute: int = PER_MINUTE) -> str:
        """Make a key and return it; the key itself is not stored, so it can never be shown again.

        Raises:
            InputError: The name is not valid, or is taken.
        """
        if not _NAME.fullmatch(name):
            raise InputError(
                f"{name!r} cannot name a key.", "Use 1 to 40 small Latin letters, digits and dashes, no dash first."
            )
        keys = dict(self.all())
        if name in keys:
            raise InputError(f"There is a key {name!r} already.", f"Remove it first: `guardian keys remove {name}`.")
        made = _BEGINNING + secrets.token_urlsafe(32)
        self._write({**keys, name: Key(sha256=_hash(made), role=role, per_minute=per_minute)})
        return made

    def remove(self, name: str) -> None:
        """Revoke a key; the file stays, so that without any key nobody gets in.

        Raises:
            InputError: There is no such key.
        """
        keys = dict(self.all())
        if keys.pop(name, None) is None:
            raise InputError(f"There is no key {name!r}.", "`guardian keys list` shows all.")
        self._write(keys)

    def _write(self, keys: Mapping[str, Key]) -> None:
        make_folder(self.path.parent)
        # A file of its own that only its owner reads, put in the place of the old one: no reader sees half of it.
        handle, name = tempfile.mkstemp(dir=self.path.parent, prefix=".keys-")
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump({name: key.model_dump() for name, key in keys.items()}, file, indent=2)
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(self.path)


def keys_of(deployed: Deployment) -> Keys:
    """Return the keys of a deployment: those of its data folder, for every profile.

    So a key that was made under another profile still protects the server.
    """
    return Keys(deployed.settings.data.folder / "api_keys.json")


def key_in(headers: Mapping[str, str]) -> str:
    """Return the key that a request carries; empty if it carries none.

    The key is in `Authorization: Bearer KEY`, as OpenAI's clients send it, in `X-API-Key: KEY`, or in `Authorization:
    Basic` as the password, as a browser's login dialog sends it. If `Authorization` carries something else, such as a
    proxy's own value, `X-API-Key` counts.

    Args:
        headers: By name, in lower case unless the mapping ignores case.
    """
    authorized = _read_authorization(headers.get("authorization", ""))
    if authorized.startswith(_BEGINNING):
        return authorized
    return headers.get("x-api-key", "").strip() or authorized


def _read_authorization(value: str) -> str:
    scheme, _, given = value.partition(" ")
    match scheme.lower():
        case "bearer":
            return given.strip()
        case "basic":
            try:
                return base64.b64decode(given, validate=True).decode("utf-8").partition(":")[2]
            except ValueError:  # no base64, no ASCII, or no UTF-8
                return ""
        case _:
            return ""


def _hash(key: str) -> str:
    return hashlib.sha256(key.encode("utf-8", "replace")).hexdigest()


def _read(path: Path) -> dict[str, Key]:
    try:
        return TypeAdapter(dict[str, Key]).validate_json(path.read_bytes())
    except (OSError, ValueError) as error:
        raise _unreadable(path) from error


def _unreadable(path: Path) -> ConfigError:
    return ConfigError(
        f"The API keys in {path.name} cannot be read.",
        "Make the file readable for this user, or create new keys: remove the file, then run `guardian keys add NAME`.",
    )


def _may_be_there(path: Path) -> bool:
    """Whether there is a file of keys, a link to one that is missing among them, or it cannot be known that there is none."""
    try:
        path.lstat()
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return True
