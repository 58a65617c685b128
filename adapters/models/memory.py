"""The known facts about a model on a server: how it handles a forced call, and the size of its window."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

from adapters.data_folder import make_folder, owner_only
from adapters.models.access import ModelAccess


class WireMemory:
    """A memory by model and endpoint, in a small file, so that no turn has to probe again.

    If the file cannot be read or written, the only cost is a probe.

    Args:
        path: The file; `None` keeps everything in the process.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._known = _read(path)
        self._writing = threading.Lock()

    def get(self, access: ModelAccess, what: str) -> Any:
        """Return what is known; `None` if nothing is."""
        return self._known.get(_key(access), {}).get(what)

    async def put(self, access: ModelAccess, what: str, value: object) -> None:
        """Remember; `None` forgets."""
        if self.get(access, what) == value:
            return
        entry = {**self._known.get(_key(access), {}), what: value}
        self._known[_key(access)] = {name: known for name, known in entry.items() if known is not None}
        if self._path is not None:
            await asyncio.to_thread(self._write, self._path)

    def _write(self, path: Path) -> None:
        whole = path.with_name(f"{path.name}.{os.getpid()}")
        # One at a time: several turns at once would write into the same new file.
        with self._writing:
            # Another process may have learnt something else meanwhile; what this one knows stands above it.
            merged = {**_read(path), **self._known}
            try:
                make_folder(path.parent)
                with owner_only():
                    whole.write_text(json.dumps(merged, indent=2, sort_keys=True) + "\n", "utf-8")
                whole.replace(path)
            except OSError:
                with suppress(OSError):
                    whole.unlink()


def _key(access: ModelAccess) -> str:
    if access.base_url is None:
        return f"{access.model} at {access.server}"
    # Two gateways may stand under one host; their paths may hold keys, so a sign of the address stands for it.
    sign = hashlib.sha256(access.base_url.encode()).hexdigest()[:12]
    return f"{access.model} at {access.server} ({sign})"


def _read(path: Path | None) -> dict[str, dict[str, Any]]:
    try:
        known: Any = json.loads(path.read_text("utf-8")) if path else {}
    except (OSError, ValueError, RecursionError):
        return {}
    if not isinstance(known, dict):
        return {}
    entries = cast("dict[str, Any]", known)
    return {name: cast("dict[str, Any]", entry) for name, entry in entries.items() if isinstance(entry, dict)}
