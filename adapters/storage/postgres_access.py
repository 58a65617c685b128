"""Keys and secrets that all servers over one PostgreSQL database share, in a schema of their own, `guardian`.

It belongs to no profile: a key that was made under another profile still protects the server.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final, LiteralString, cast

from adapters.storage.database import ConstraintError
from adapters.storage.schemas import ACCESS, bring_forward
from contracts.errors import ConfigError, ThreadError

if TYPE_CHECKING:
    from adapters.storage.postgres import Server

SCHEMA: Final = "guardian"
_DEADLINE_S: Final = 8.0
"""For one call, connecting included, in seconds."""


class AccessTables:
    """The tables; each call opens a connection of its own, so any event loop may call, and nothing has to be closed.

    Every method raises `ConfigError` if the server cannot be used, or does not answer in time.

    Args:
        server: Where they are.

    Attributes:
        place: For messages; without a password.
    """

    def __init__(self, server: Server) -> None:
        self._server = server
        self._made = False
        self.place = server.place

    async def list_keys(self) -> list[tuple[str, str, str, int]]:
        """Return name, hash, role and requests a minute of each key; the hash is empty if the key was removed."""
        return await self._run("SELECT name, sha256, role, per_minute FROM guardian.api_keys ORDER BY name")

    async def add_key(self, name: str, sha256: str, role: str, per_minute: int) -> bool:
        """Add a key; returns false if there is one of that name."""
        statement = """
            INSERT INTO guardian.api_keys AS k VALUES (%s, %s, %s, %s)
            ON CONFLICT (name) DO UPDATE
            SET sha256 = excluded.sha256, role = excluded.role, per_minute = excluded.per_minute
            WHERE k.sha256 = '' RETURNING name
        """
        return bool(await self._run(statement, name, sha256, role, per_minute))

    async def require_keys(self) -> None:
        """Have a row in the table, so that requests need a key even if there is none."""
        await self._run("INSERT INTO guardian.api_keys VALUES ('', '', '', 1) ON CONFLICT DO NOTHING")

    async def remove_key(self, name: str) -> bool:
        """Remove a key; returns false if there is none of that name."""
        statement = "UPDATE guardian.api_keys SET sha256 = '' WHERE name = %s AND sha256 <> '' RETURNING name"
        return bool(await self._run(statement, name))

    async def keep_secret(self, name: str, value: bytes) -> bytes:
        """Keep a secret if there is none of that name, and return the one that is kept."""
        await self._run("INSERT INTO guardian.secrets VALUES (%s, %s) ON CONFLICT DO NOTHING", name, value)
        return await self.read_secret(name) or value

    async def read_secret(self, name: str) -> bytes | None:
        """Return a secret; `None` if there is none of that name."""
        found = await self._run("SELECT value FROM guardian.secrets WHERE name = %s", name)
        return bytes(found[0][0]) if found else None

    async def _run(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        try:
            async with asyncio.timeout(_DEADLINE_S):
                with self._server.errors_as_ours():
                    async with await self._server.connect() as connection:
                        if not self._made:
                            await bring_forward(connection, self._server.place, ACCESS, SCHEMA)
                            self._made = True
                        cursor = await connection.execute(cast("LiteralString", statement), values)
                        return await cursor.fetchall() if cursor.description else []
        except TimeoutError:
            message = (
                f"The API keys in {self.place} cannot be used: the server does not answer within {_DEADLINE_S:g} s."
            )
            raise ConfigError(message, "See that the server is not stopped or overloaded.") from None
        except ThreadError as error:
            message = error.message.replace("The conversations in", "The API keys in", 1)
            # What follows the semicolon is about turns.
            raise ConfigError(message, f"{error.way_out.partition(';')[0].rstrip('.')}.") from None
        except ConstraintError as error:
            raise ConfigError(f"{self.place} refuses this: {error}.", "Correct it.") from None
