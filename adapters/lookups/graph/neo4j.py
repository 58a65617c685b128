"""A Neo4j server, or another that speaks Bolt: statements run in read access mode, each in a transaction of its own.

The server itself refuses to write in such a transaction. It still runs procedures that read. So statements are checked
first (`engine.check`), and the server's user should have only the role `reader`.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote, urlsplit, urlunsplit

from adapters.lookups.graph.engine import SLOW, UNNAMED, RowSet, StatementLimits, Value, plain_value, take_rows
from contracts.errors import ConfigError, SourceUnavailable

if TYPE_CHECKING:
    import neo4j

SCHEMES: Final = ("neo4j", "neo4j+s", "neo4j+ssc", "bolt", "bolt+s", "bolt+ssc")
CONNECT_SECONDS: Final = 5.0


class Neo4j:
    """A client for a Neo4j server; it connects at the first statement.

    Args:
        url: The server's address, with the user and the password if it needs them
            (`neo4j+s://user:password@host:7687/database`).

    Raises:
        ConfigError: It is not such an address.
    """

    def __init__(self, url: str) -> None:
        try:
            parts = urlsplit(url)
            port = parts.port
        except ValueError:
            parts, port = urlsplit(""), None
        if parts.scheme not in SCHEMES or not parts.hostname:
            raise ConfigError(
                "The address of the graph server is not one of Neo4j.",
                f"Write it like neo4j://user:password@host:7687, with one of {', '.join(SCHEMES)}.",
            )
        host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
        self._address = urlunsplit((parts.scheme, f"{host}:{port}" if port else host, "", "", ""))
        self._auth = (unquote(parts.username or ""), unquote(parts.password or "")) if parts.username else None
        self._name = parts.path.strip("/") or None
        self._opening = threading.Lock()
        self._driver: neo4j.Driver | None = None

    def run(
        self, statement: str, parameters: Mapping[str, Value], limits: StatementLimits, asked: str = UNNAMED
    ) -> RowSet:
        """Return the rows of a statement; see `Engine.run`."""
        try:
            from neo4j.exceptions import DriverError, Neo4jError
        except ImportError as error:
            raise SourceUnavailable(
                "The driver of the graph server is not installed.", "Install the extra `neo4j`: the package neo4j."
            ) from error
        try:
            return self._run(statement, parameters, limits, asked)
        except (Neo4jError, DriverError, OSError, ValueError) as error:
            # The driver's own message may repeat what it was asked; its kind says enough.
            code = str(getattr(error, "code", None) or type(error).__name__)
            raise SourceUnavailable(
                f"The graph server at {self._address} cannot be asked for {asked} ({code}).", _way_out(code, asked)
            ) from error

    def close(self) -> None:
        """Close its connections; the object may still be used."""
        with self._opening:
            driver, self._driver = self._driver, None
        if driver is not None:
            driver.close()

    def _run(self, statement: str, parameters: Mapping[str, Value], limits: StatementLimits, asked: str) -> RowSet:
        import neo4j

        with (
            self._connect().session(
                database=self._name, default_access_mode=neo4j.READ_ACCESS, fetch_size=limits.rows + 1
            ) as session,
            session.begin_transaction(timeout=limits.seconds) as transaction,
        ):
            # The statement is the profile's, not a literal of this program, which is what the type asks for.
            text: Any = statement
            records: Any = transaction.run(text, dict(parameters))
            rows = ({str(name): plain_value(record[name]) for name in record.keys()} for record in records)  # noqa: SIM118  # a record iterates over its values
            return take_rows(rows, limits, asked)

    def _connect(self) -> neo4j.Driver:
        import neo4j

        # What goes wrong is said by the error; without a handler the driver's log would reach standard error, too.
        logging.getLogger("neo4j").addHandler(logging.NullHandler())
        with self._opening:
            if self._driver is None:
                self._driver = neo4j.GraphDatabase.driver(
                    self._address,
                    auth=self._auth,
                    connection_timeout=CONNECT_SECONDS,
                    connection_acquisition_timeout=2 * CONNECT_SECONDS,
                    max_transaction_retry_time=0.0,
                    user_agent="guardian-assistant",
                )
            return self._driver

    def __repr__(self) -> str:
        return f"Neo4j({self._address!r})"


def _way_out(code: str, asked: str) -> str:
    if code.startswith("Neo.ClientError.Statement"):
        return f"Correct {asked} in the profile: the server does not run it, or its graph has no such names."
    if "TimedOut" in code or "MemoryPool" in code or "OutOfMemory" in code:
        return SLOW
    return "See that it runs, and that its address, user and password are right."
