"""Claims on a PostgreSQL server: a session's lock, which ends with its holder, and a row that tells claims apart.

One session of a process holds all its locks. If the process dies, or its machine does, the server ends the session and the
locks are free. If it was only suspended, its locks are taken over after a while, and what it writes afterwards is refused:
each write names the epoch and the token of its claim (`schema.sql`, `fence`).
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import secrets
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from adapters.storage.claims import Claim
from adapters.storage.postgres import Server, check_connection
from contracts.errors import GuardianError

if TYPE_CHECKING:
    import psycopg

    Connection = psycopg.AsyncConnection[Any]

_LOG = logging.getLogger(__name__)

BEAT_S: Final = 5.0
"""Between two signs of life of a process."""
SILENT_S: Final = 20.0
"""After so long without one, another process may take over what it holds."""
_LOOK_EVERY_S: Final = 1.0
_UNLOCK_S: Final = 5.0
"""How long the end of a claim may take, in seconds."""
_LOCK_MS: Final = 100
"""How long a claim waits for the row of one, in milliseconds: all claims of a process share a session."""

# The lock first: its holder alone touches the row. In one exchange with the server.
_TAKE: Final = """
WITH lock AS MATERIALIZED (SELECT pg_try_advisory_lock(%(key)s) AS got)
INSERT INTO claims (thread_id, epoch, token, holder) SELECT %(name)s, 1, %(token)s, %(holder)s FROM lock WHERE got
ON CONFLICT (thread_id) DO UPDATE
    SET epoch = claims.epoch + 1, token = excluded.token, holder = excluded.holder, at = clock_timestamp()
RETURNING epoch
"""
# The sessions of a process that holds a lock and has said nothing for long. It may also be in the middle of a transaction.
_END_SILENT: Final = """
SELECT count(pg_terminate_backend(s.pid)) FROM pg_stat_activity AS s WHERE s.application_name IN (
    SELECT a.application_name FROM pg_locks AS l JOIN pg_stat_activity AS a USING (pid)
    WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 1
      AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
      AND ((l.classid::bigint << 32) | l.objid::bigint) = %(key)s
      AND a.application_name LIKE 'guardian:%%'
      AND a.state_change < clock_timestamp() - make_interval(secs => %(silent)s)
) AND s.pid <> pg_backend_pid()
"""


_HELD: Final = """
SELECT EXISTS (
    SELECT 1 FROM pg_locks AS l WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 1
      AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
      AND ((l.classid::bigint << 32) | l.objid::bigint) = %(key)s
)
"""


class PostgresClaims:
    """The claims of one process; see `Claims`.

    Args:
        server: Where.
        beat_s: Between two signs of life, in seconds.
        silent_s: After so long without one, another's claims are taken over.

    Attributes:
        holder: The process, as the server knows it.
    """

    def __init__(self, server: Server, *, beat_s: float = BEAT_S, silent_s: float = SILENT_S) -> None:
        self._server = server
        self._beat_s = beat_s
        self._silent_s = silent_s
        self.holder = server.process
        self._session: Connection | None = None
        self._opening = asyncio.Lock()
        self._beating: asyncio.Task[None] | None = None
        self._held: dict[str, tuple[Connection, str]] = {}
        self._taking: set[str] = set()
        self._looked: dict[str, float] = {}

    async def close(self) -> None:
        if self._beating is not None:
            self._beating.cancel()
            await asyncio.wait([self._beating])
            self._beating = None
        if self._session is not None:
            await self._session.close()

    async def take(self, name: str) -> Claim | None:
        if name in self._taking:
            return None
        self._taking.add(name)
        try:
            return await self._try(name)
        finally:
            self._taking.discard(name)

    async def _try(self, name: str) -> Claim | None:
        import psycopg

        token = secrets.token_hex(8)
        asked = {"key": _key_of(self._server.schema, name), "name": name, "token": token, "holder": self.holder}
        async with self._server.answering():
            session = await self._connect()
            if name in self._held and self._held[name][0] is session:
                # A session's lock can be taken twice by the same session.
                return None
            try:
                rows = await (await session.execute(_TAKE, asked)).fetchall()
            except psycopg.errors.LockNotAvailable:
                # The session of an earlier holder stands in the middle of a write.
                await self._unlock(session, name)
                await self._end_silent(session, name)
                return None
            except BaseException:
                # The lock outlives the statement that failed behind it.
                await self._unlock(session, name)
                raise
            if rows:
                self._held[name] = (session, token)
                self._looked.pop(name, None)
                return Claim(name, rows[0][0], token)
            await self._end_silent(session, name)
        return None

    async def forget(self, claim: Claim) -> None:
        async with self._server.answering():
            session = await self._connect()
            await session.execute(
                "DELETE FROM claims WHERE thread_id = %s AND epoch = %s AND token = %s",
                (claim.name, claim.epoch, claim.token),
            )

    async def is_held(self, name: str) -> bool:
        async with self._server.answering():
            session = await self._connect()
            [(held,)] = await (await session.execute(_HELD, {"key": _key_of(self._server.schema, name)})).fetchall()
            if held:
                # Of a holder that has been silent for long nobody else would know.
                await self._end_silent(session, name)
        return held

    async def release(self, claim: Claim) -> None:
        session, token = self._held.get(claim.name, (None, ""))
        if session is not None and token == claim.token:
            del self._held[claim.name]
            await self._unlock(session, claim.name)

    async def _unlock(self, session: Connection, name: str) -> None:
        import psycopg

        # A session that is over holds no lock; one that hangs is ended, and with it all that it holds.
        try:
            async with asyncio.timeout(_UNLOCK_S):
                await session.execute("SELECT pg_advisory_unlock(%s)", (_key_of(self._server.schema, name),))
        except psycopg.Error:
            pass
        except TimeoutError:
            await session.close()

    async def _end_silent(self, session: Connection, name: str) -> None:
        now = asyncio.get_running_loop().time()
        if now - self._looked.get(name, float("-inf")) < _LOOK_EVERY_S:
            return
        self._looked[name] = now
        asked = {"key": _key_of(self._server.schema, name), "silent": self._silent_s}
        [(ended,)] = await (await session.execute(_END_SILENT, asked)).fetchall()
        if ended:
            _LOG.warning(
                "A process that held conversation %r has been silent for %g s: its sessions were ended.",
                name,
                self._silent_s,
            )

    async def _connect(self) -> Connection:
        """Return the session of the claims; one that is over has no locks any more, and a new one takes its place."""
        import psycopg

        async with self._opening:
            if self._session is not None and not self._session.closed:
                try:
                    await check_connection(self._session)
                except psycopg.Error:
                    await self._session.close()
            if self._session is None or self._session.closed:
                self._session = await self._server.connect()
                await self._session.execute(f"SET lock_timeout = '{_LOCK_MS}ms'".encode())
            if self._beating is None:
                self._beating = asyncio.create_task(self._beat())
            return self._session

    async def _beat(self) -> None:
        """Show that the process is alive, and notice at once that the session is over."""
        import psycopg

        while True:
            await asyncio.sleep(self._beat_s)
            # Whatever is wrong, whoever claims something is told; the beat goes on.
            with suppress(psycopg.Error, OSError, GuardianError):
                await (await self._connect()).execute("SELECT 1")


def _key_of(schema: str, name: str) -> int:
    """Return the number of a lock: locks have numbers, and belong to the whole database."""
    return int.from_bytes(hashlib.sha256(f"{schema}/{name}".encode()).digest()[:8], signed=True)
