"""A storage with many conversations beside one with few, on the file and on PostgreSQL.

One real conversation is copied in SQL, each copy to a user of a hundred, so that filling takes minutes and not days.
"""

from __future__ import annotations

import asyncio
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from statistics import median

from tools.benchmarks.report import Measurement

COUNT = 100_000
_A_USER = 100
"""Conversations of one user."""
_ASKED = 15
_SEED = "seed/c0"
_QUESTION = "How do I delete a conversation?"


def measure(place: Path, count: int = COUNT) -> list[Measurement]:
    """Compare so many conversations with one, on both engines."""
    from tools.benchmarks.servers import postgres

    lines = asyncio.run(_compare(place / "data", "file", "", count))
    with postgres() as server:
        return lines + asyncio.run(_compare(place / "data", server.name, server.url, count))


async def _compare(data: Path, engine: str, url: str, count: int) -> list[Measurement]:
    from assistant.deployment import deployment
    from assistant.service import Caller, Question, open_service

    deployed = deployment("handbook", {"GUARDIAN_DATA_DIR": str(data), "GUARDIAN_DATABASE": url})

    async def time_each() -> tuple[float, float, float]:
        async with open_service(deployed) as service:
            turns: list[float] = []
            lists: list[float] = []
            finds: list[float] = []
            for number in range(_ASKED):
                owner = Caller(f"u{number + 1}")
                for what, times in (
                    (service.ask(owner, Question(_QUESTION, thread="fresh")), turns),
                    (service.threads(owner), lists),
                    (service.find_threads(owner, "conversation"), finds),
                ):
                    began = time.perf_counter()
                    await what
                    times.append((time.perf_counter() - began) * 1000)
                await service.delete(owner, "fresh")
            return median(turns), median(lists), median(finds)

    async with open_service(deployed) as service:
        await service.ask(Caller("seed"), Question(_QUESTION, thread="c0"))
    few = await time_each()
    copy, size = (_copy_on_server, _size_on_server) if url else (_copy_in_file, _size_of_file)
    where = url or str(deployed.threads_file)
    before, began = size(where), time.perf_counter()
    copy(where, count)
    filled, grown = time.perf_counter() - began, size(where) - before
    many = await time_each()
    against = "one conversation"
    named = f"{count:,} conversations, {engine}"
    return [
        Measurement(f"a new conversation's turn (median), {named}", many[0], few[0], "ms", against),
        Measurement(f"a user's list of {_A_USER} conversations (median), {named}", many[1], few[1], "ms", against),
        Measurement(f"a search in a user's conversations (median), {named}", many[2], few[2], "ms", against),
        Measurement(f"disk for each conversation of one turn, {named}", grown / count / 1024, 60, "KiB", "60 KiB", 1.0),
        Measurement(f"copied in SQL, {named}", filled, filled, "s", "itself"),
    ]


def _owner(number: str) -> str:
    return f"'u' || ({number} / {_A_USER} + 1) || '/c' || {number}"


def _copy_in_file(file: str, count: int) -> None:
    with closing(sqlite3.connect(file)) as connection, connection:
        tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        for table in tables:
            columns = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
            if "thread_id" in columns:
                numbers = f"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {count}) "  # noqa: S608  # a number
                connection.execute(numbers + _copying(table, columns, "n"))


def _copy_on_server(url: str, count: int) -> None:
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("SET search_path = guardian_handbook")
        asked = "SELECT table_name, array_agg(column_name::text) FROM information_schema.columns WHERE table_schema = current_schema() GROUP BY 1"
        for table, columns in connection.execute(asked).fetchall():
            if "thread_id" in columns:
                connection.execute(_copying(table, columns, f"generate_series(1, {count}) AS n(i)").encode())
        connection.execute("ANALYZE")


def _copying(table: str, columns: list[str], numbers: str) -> str:
    """Return the statement that copies the rows of the one conversation; names of our own tables."""
    others = [f'"{column}"' for column in columns if column != "thread_id"]
    names, values = ", ".join(["thread_id", *others]), ", ".join([_owner("n.i"), *(f"t.{other}" for other in others)])
    order = " ORDER BY n.i"
    return f"INSERT INTO {table} ({names}) SELECT {values} FROM {numbers}, {table} AS t WHERE t.thread_id = '{_SEED}'{order}"  # noqa: S608  # see above


def _size_of_file(file: str) -> int:
    return sum(path.stat().st_size for path in Path(file).parent.glob("threads.db*"))


def _size_on_server(url: str) -> int:
    import psycopg

    with psycopg.connect(url) as connection:
        [(size,)] = connection.execute("SELECT pg_database_size(current_database())").fetchall()
    return size
