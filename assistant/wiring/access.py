"""A deployment's API keys and the secret of its visitors' cookies: in its data folder, or on the server of its conversations.

Both are for every profile: a key that was made under another profile still protects the server.
"""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import TYPE_CHECKING, Final

from adapters.data_folder import keep_secret, read_secret
from adapters.threads import run_apart
from assistant.keys import Keys, SharedKeys
from assistant.visitors import VisitorSeal
from assistant.wiring.storage import shared_server
from contracts.errors import ConfigError

if TYPE_CHECKING:
    from adapters.storage.postgres_access import AccessTables
    from assistant.deployment import Deployment

_SEAL: Final = "visitors"
"""Under this name the server keeps the secret of visitors' cookies."""
_SECRET_BYTES: Final = 32


def keys_of(deployed: Deployment) -> Keys:
    """Return the keys of a deployment; nothing is read yet."""
    file = deployed.settings.data.folder / "api_keys.json"
    tables = _tables_of(deployed)
    return SharedKeys(tables, file) if tables else Keys(file)


def visitor_seal(deployed: Deployment) -> VisitorSeal:
    """Return the seal of visitors' cookies; its secret is made where there is none.

    Raises:
        ConfigError: The secret cannot be read or made.
    """
    file = _secret_file(deployed)
    try:
        if tables := _tables_of(deployed):
            if kept := run_apart(tables.read_secret(_SEAL)):
                return VisitorSeal(kept)
            # Who has been serving from the data folder goes on with the same visitors.
            own = _read_secret(file) if file.exists() else secrets.token_bytes(_SECRET_BYTES)
            return VisitorSeal(run_apart(tables.keep_secret(_SEAL, own)))
        return VisitorSeal(_read_secret(file))
    except OSError as error:
        raise _unusable(deployed, error) from error


def copy_secret(source: Deployment, target: Deployment) -> bool:
    """Copy the secret of visitors' cookies to where a deployment keeps its own, unless there is one.

    Returns:
        Whether the target knows the visitors of the source: its secret is the same, or the source has none.

    Raises:
        ConfigError: A secret cannot be read or kept.
    """
    here, there = _tables_of(source), _tables_of(target)
    try:
        if here:
            secret = run_apart(here.read_secret(_SEAL))
        else:
            secret = _read_secret(_secret_file(source)) if _secret_file(source).exists() else None
        if secret is None:
            return True
        kept = run_apart(there.keep_secret(_SEAL, secret)) if there else keep_secret(_secret_file(target), secret)
    except OSError as error:
        raise _unusable(target, error) from error
    return kept == secret


def _tables_of(deployed: Deployment) -> AccessTables | None:
    if not deployed.settings.storage.url:
        return None
    from adapters.storage.postgres_access import SCHEMA, AccessTables

    server = shared_server(deployed, SCHEMA)
    return AccessTables(server) if server else None


def _secret_file(deployed: Deployment) -> Path:
    return deployed.settings.data.folder / "visitors.key"


def _read_secret(path: Path) -> bytes:
    secret = read_secret(path, _SECRET_BYTES)
    if len(secret) != _SECRET_BYTES:
        raise ConfigError(
            f"The secret of visitors' cookies, {path.name}, has not {_SECRET_BYTES} bytes.",
            "Put it back from a backup, or remove it: a new one is made, and every visitor begins anew.",
        )
    return secret


def _unusable(deployed: Deployment, error: OSError) -> ConfigError:
    return ConfigError(
        f"The secret of visitors' cookies, {_secret_file(deployed).name}, cannot be read or made: {error.strerror}.",
        "Make the data folder and the file readable and writable for this user.",
    )
