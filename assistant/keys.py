"""API keys: who may ask over the network, in which role, and how often; only their hashes are stored.

Keys         in a file of the data folder
SharedKeys   on the server that GUARDIAN_DATABASE names, for all servers of Guardian over it
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import json
import os
import re
import secrets
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from adapters.data_folder import make_folder, replace_file
from adapters.threads import run_apart
from contracts.errors import ConfigError, InputError

if TYPE_CHECKING:
    from adapters.storage.postgres_access import AccessTables
    from assistant.caller import Caller

PER_MINUTE: Final = 60
"""Requests a minute that a key may make, where nothing else is said."""
STALE_S: Final = 1.0
"""Seconds after which keys on a server of PostgreSQL are read again before they are used."""
OPEN_SETTINGS: Final = frozenset({"language", "version"})
"""Run settings that every role may send; the others are for roles with the operator's view, moderation among them."""
_MOST: Final = 2**31 - 1
"""A number that every database holds."""
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
    per_minute: Annotated[int, Field(ge=1, le=_MOST)] = PER_MINUTE


class _Base(BaseModel):
    """The keys that were the same in a data folder and on a server when they were last moved.

    Attributes:
        place: The server.
    """

    model_config = ConfigDict(frozen=True)

    place: str
    keys: dict[str, Key]


class Keys:
    """The keys of a data folder; a change of their file takes effect at once, so that a removed key stops working.

    Beside the file may stand what was on a server of PostgreSQL, or went there, when keys were last moved. Without the file
    that means: the keys are there, and nobody gets in here.

    Args:
        path: The file; if it does not exist, there are no keys.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.moved = path.with_suffix(".moved.json")
        self._seen: tuple[int, int, int] | None = None
        self._keys: Mapping[str, Key] = {}
        # Now, and not with the first request: the file may be gone by then.
        self._wanted = self._were_used()

    def _were_used(self) -> bool:
        return _may_be_there(self.path) or _may_be_there(self.moved)

    @property
    def opened_again(self) -> str:
        """What ends the need for keys, as the name of a text."""
        return "http_keys_all_gone"

    @property
    def fresh(self) -> bool:
        """Whether `wanted`, `all` and `caller` say how things stand; if not, `refresh` has to be called first."""
        return True

    async def refresh(self) -> None:
        """Learn of keys that other servers added or removed.

        Raises:
            ConfigError: The keys cannot be read.
        """

    @property
    def wanted(self) -> bool:
        """Whether requests need a key: a key file exists or existed, even an empty or unreadable one.

        Removing the file from a running server must not let everybody in.
        """
        self._wanted = self._wanted or self._were_used()
        return self._wanted

    def all(self) -> Mapping[str, Key]:
        """Return the keys by name.

        Raises:
            ConfigError: The file cannot be read.
        """
        if not _may_be_there(self.path):
            if _may_be_there(self.moved):
                raise ConfigError(
                    f"The API keys are in PostgreSQL, as {self.moved.name} says, and GUARDIAN_DATABASE is not set.",
                    "Set it; or set it and bring them back: guardian move --to file. To serve without keys, delete "
                    f"{self.moved.name}.",
                )
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
        from assistant.caller import Caller

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
        made = _BEGINNING + secrets.token_urlsafe(32)
        if not self.put(name, Key(sha256=_hash(made), role=role, per_minute=per_minute)):
            raise InputError(f"There is a key {name!r} already.", f"Remove it first: `guardian keys remove {name}`.")
        return made

    def remove(self, name: str) -> None:
        """Revoke a key; the file stays, so that without any key nobody gets in.

        Raises:
            InputError: There is no such key.
        """
        if not self.take(name):
            raise InputError(f"There is no key {name!r}.", "`guardian keys list` shows all.")

    def put(self, name: str, key: Key) -> bool:
        """Store the record of a key; returns false if there is one of that name."""
        keys = dict(self.all())
        if name in keys:
            return False
        self._write({**keys, name: key})
        return True

    def listed(self) -> Mapping[str, Key | None]:
        """Return the keys by name, and `None` for those that are known to have been removed.

        Raises:
            ConfigError: The keys cannot be read.
        """
        return self.all() if _may_be_there(self.path) else {}

    def in_use(self) -> bool:
        """Whether there are keys, or have been, as far as this is known here."""
        return self._were_used()

    def take(self, name: str) -> bool:
        """Remove the record of a key; returns false if there is none of that name."""
        keys = dict(self.all())
        if keys.pop(name, None) is None:
            return False
        self._write(keys)
        return True

    def replace(self, keys: Mapping[str, Key]) -> None:
        """Have exactly these keys."""
        self._write(keys)

    def base(self, place: str) -> Mapping[str, Key]:
        """Return the keys that were the same here and on a server when they were last moved; none if it was another server.

        Raises:
            ConfigError: They cannot be read.
        """
        if not _may_be_there(self.moved):
            return {}
        try:
            base = _Base.model_validate_json(self.moved.read_bytes())
        except (OSError, ValueError) as error:
            raise ConfigError(
                f"{self.moved.name} cannot be read, which says what was moved before.",
                "Restore it; or delete it, move the keys, and look through `guardian keys list` for keys that were removed.",
            ) from error
        return base.keys if base.place == place else {}

    def keep_base(self, keys: Mapping[str, Key], place: str) -> None:
        """Note that these keys are the same here and on a server."""
        replace_file(self.moved, _Base(place=place, keys=dict(keys)).model_dump_json(indent=2))

    def retire(self, place: str) -> None:
        """Leave the keys to a server: who forgets to name it is told so, and nobody gets in here."""
        self.keep_base(self.all(), place)
        self.path.unlink()

    def _write(self, keys: Mapping[str, Key]) -> None:
        make_folder(self.path.parent)
        # A file of its own that only its owner reads, put in the place of the old one: no reader sees half of it.
        handle, name = tempfile.mkstemp(dir=self.path.parent, prefix=".keys-")
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(_as_json(keys))
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(self.path)


class SharedKeys(Keys):
    """The keys on a server of PostgreSQL; a change takes effect at every server of Guardian after `STALE_S` seconds or so.

    Args:
        tables: Where they are.
        file: The file of keys in the data folder. If there is one, or has been, and the server has no keys, something is
            wrong: they were not moved, or are lost, or it is another server. Then nobody gets in.
        clock: Seconds, monotonic.
    """

    def __init__(self, tables: AccessTables, file: Path, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(file)
        self._tables = tables
        self._clock = clock
        self._read_at: float | None = None
        self._known: Mapping[str, Key | None] = {}
        self._reading: tuple[asyncio.AbstractEventLoop, asyncio.Task[None]] | None = None
        self._failed: tuple[float, ConfigError] | None = None

    @property
    def opened_again(self) -> str:
        return "http_keys_all_gone_server"

    @property
    def fresh(self) -> bool:
        return self._read_at is not None and self._clock() - self._read_at < STALE_S

    async def refresh(self) -> None:
        if self.fresh:
            return
        if self._failed is not None and self._clock() - self._failed[0] < STALE_S:
            raise ConfigError(self._failed[1].message, self._failed[1].way_out)
        # However many wait, the server is asked once; whoever gives up ends nothing for the others.
        loop = asyncio.get_running_loop()
        if self._reading is None or self._reading[0] is not loop or self._reading[1].done():
            self._reading = loop, loop.create_task(self._read_rows())
            self._reading[1].add_done_callback(_look_at_end)
        await asyncio.shield(self._reading[1])

    async def _read_rows(self) -> None:
        try:
            self._take_in(await self._tables.list_keys())
        except ConfigError as error:
            self._failed = self._clock(), error
            raise

    def _take_in(self, rows: Sequence[tuple[str, str, str, int]]) -> None:
        known: dict[str, Key | None] = {}
        for name, sha256, role, per_minute in rows:
            try:
                known[name] = Key(sha256=sha256, role=role, per_minute=per_minute) if sha256 else None
            except ValidationError as error:
                raise ConfigError(
                    f"The row {name!r} of guardian.api_keys in {self._tables.place} is no API key.",
                    "Delete or correct it.",
                ) from error
        # Of a key that was removed the row stays: the server does not open because its last key went.
        self._known, self._keys = known, {name: key for name, key in known.items() if key is not None}
        if known:
            self._remember()
        self._read_at = self._clock()

    @property
    def wanted(self) -> bool:
        self._read_once()
        return self._wanted

    def all(self) -> Mapping[str, Key]:
        self._read_once()
        if _may_be_there(self.path):
            raise ConfigError(
                f"There are API keys in the file {self.path.name}, and GUARDIAN_DATABASE is set: keys are in force in one place.",
                "Move them there, with GUARDIAN_DATABASE unset: guardian move --to and the address. Or go on without it.",
            )
        if not self._known and self._were_used():
            raise ConfigError(
                f"API keys have been used here, and {self._tables.place} has none.",
                "See that it is the right database; restore them from a backup, or make a new one. To serve without keys, "
                f"delete {self.moved.name}.",
            )
        return self._keys

    def listed(self) -> Mapping[str, Key | None]:
        self._read_once()
        return self._known

    def in_use(self) -> bool:
        return bool(self.listed()) or _may_be_there(self.path)

    def _remember(self) -> None:
        """Have this machine know that keys are used, whatever becomes of the database."""
        self._wanted = True
        if not self._were_used():
            with suppress(OSError):  # a folder that cannot be written to
                self.keep_base({}, self.place)

    @property
    def place(self) -> str:
        """Where they are, for people and for `base`; without a password."""
        return self._tables.place

    def put(self, name: str, key: Key) -> bool:
        self._read_at = None
        given = run_apart(self._tables.add_key(name, key.sha256, key.role, key.per_minute))
        self._remember()
        return given

    def take(self, name: str) -> bool:
        self._read_at = None
        return run_apart(self._tables.remove_key(name))

    def require(self) -> None:
        """Have requests need a key from now on, even if there is none."""
        self._read_once()
        if not self._known:
            self._read_at = None
            run_apart(self._tables.require_keys())

    def _read_once(self) -> None:
        # A server has read them before a request comes (`assistant/web/limits.py`): only commands wait here.
        if self._read_at is None:
            self._take_in(run_apart(self._tables.list_keys()))


def _look_at_end(reading: asyncio.Task[None]) -> None:
    # Of a reading that fails when nobody waits any more, nothing is said: the next request tells it.
    if not reading.cancelled():
        reading.exception()


def copy_keys(source: Keys, target: Keys) -> int | None:
    """Copy the keys to where there have never been any.

    Returns:
        How many they are; `None` if keys are used in the target, and nothing was copied.

    Raises:
        ConfigError: The keys of either cannot be read or written.
    """
    found = source.all()
    if target.in_use():
        return None if source.wanted else 0
    if not isinstance(target, SharedKeys):
        if source.wanted:
            target.replace(found)
        return len(found)
    if source.wanted:
        target.require()
    return sum(target.put(name, key) for name, key in found.items())


def move_keys(source: Keys, target: Keys) -> tuple[int, list[str]]:
    """Move the keys between a data folder and a server, or two servers.

    They are in force in one place. What was removed or replaced in either since they were last moved stays so, and what was
    changed in both, or stands in both under one name, is left to people.

    Returns:
        How many keys the target has got, and the names that are left to people: if there are any, nothing was moved.

    Raises:
        ConfigError: The keys of either cannot be read or written.
    """
    if isinstance(target, SharedKeys):
        return _move_to_server(source, target)
    rows = source.listed()
    if not rows or not isinstance(source, SharedKeys):
        return 0, []
    live = {name: key for name, key in rows.items() if key is not None}
    in_force = _may_be_there(target.path)
    own = {name: key for name, key in target.listed().items() if key is not None}
    agreed, differing = merge_keys(own, target.base(source.place), rows) if in_force else (live, [])
    if differing:
        return 0, differing
    # Whoever ends it in between finds the server's changes again, or keys that are not in force here yet.
    if not in_force:
        target.keep_base(live, source.place)
    target.replace(agreed)
    target.keep_base(live, source.place)
    return sum(own.get(name) != key for name, key in agreed.items()), []


def _move_to_server(source: Keys, target: SharedKeys) -> tuple[int, list[str]]:
    if isinstance(source, SharedKeys):
        return _move_between(source, target)
    rows, base = target.listed(), source.base(target.place)
    if not _may_be_there(source.path) and (base or rows):
        return 0, []  # they have been moved there
    own = source.all()
    agreed, differing = merge_keys(own, base, rows)
    if differing:
        return 0, differing
    if not source.wanted:
        return 0, []
    # Before anything is given: what was given is known as such, however this ends; of what was replaced, what it was.
    source.keep_base({**own, **base}, target.place)
    target.require()
    changed = {name: agreed.get(name) for name in {*own, *base} if agreed.get(name) != rows.get(name)}
    for name, key in changed.items():
        target.take(name)
        if key is not None:
            target.put(name, key)
    source.retire(target.place)
    return sum(key is not None for key in changed.values()), []


def _move_between(source: SharedKeys, target: SharedKeys) -> tuple[int, list[str]]:
    here, there = source.listed(), target.listed()
    differing = [name for name, key in here.items() if key is not None and there.get(name, key) != key]
    if differing:
        return 0, differing
    if here:
        target.require()
    for name, key in here.items():
        if key is None and there.get(name) is not None:
            target.take(name)  # removed here since
    return sum(target.put(name, key) for name, key in here.items() if key is not None and name not in there), []


def merge_keys(
    own: Mapping[str, Key], base: Mapping[str, Key], rows: Mapping[str, Key | None]
) -> tuple[dict[str, Key], list[str]]:
    """Return the keys that follow from a file and a server, and the names of which this cannot be told.

    Args:
        own: Those of the file.
        base: Those that were alike in both when they were last moved.
        rows: Those of the server; `None` for one that was removed there.
    """
    agreed: dict[str, Key] = {}
    differing: list[str] = []
    for name in sorted({*own, *base, *rows}):
        mine, before, theirs = own.get(name), base.get(name), rows.get(name)
        if name not in rows or (before is not None and before == theirs):
            key = mine  # it never came there, or only the file has changed
        elif mine in (before, theirs):
            key = theirs  # only the server has changed, or nothing
        else:
            differing.append(name)
            continue
        if key is not None:
            agreed[name] = key
    return agreed, differing


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


def _as_json(keys: Mapping[str, Key]) -> str:
    return json.dumps({name: key.model_dump() for name, key in keys.items()}, indent=2)


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
