from __future__ import annotations

import asyncio
from pathlib import Path

import psycopg
import pytest

from assistant.deployment import deployment
from assistant.service import Caller, Question, open_service
from assistant.turns.feedback import Feedback, Rating
from assistant.wiring.hand_offs import outbox
from tests.support.cli_helpers import Desk
from tests.support.hand_off.receiver import ticket

VISITOR, OTHER = f"v_{'a' * 32}", f"v_{'b' * 32}"
SAID = "My cat is called Behemoth and lives under the catalogue"


@pytest.fixture
def served(desk: Desk, tmp_path: Path, database_url: str) -> Desk:
    """A desk whose conversations are on a server; hand-offs go to a folder."""
    return desk.having(
        GUARDIAN_DATABASE=database_url, GUARDIAN_SHARE_DAYS="7", GUARDIAN_HANDOFF_TO=str(tmp_path / "desk")
    )


async def talk(desk: Desk) -> None:
    """Leave what can be kept of two visitors."""
    deployed = deployment(environment=desk.environment)
    async with open_service(deployed) as service:
        for name in (VISITOR, OTHER):
            caller = Caller(name)
            thread, turn_id = await service.place(caller, [SAID])
            await service.ask(caller, Question(SAID, thread, turn_id))
            await service.ask(caller, Question("I want to talk to a person", thread))
            await service.rate(caller, thread, turn_id, Feedback(rating=Rating.DOWN, comment=SAID))
            await service.share(caller, thread)
            await service.rename(caller, thread, SAID)
    # Of a conversation that was half deleted: nothing but this is left of it.
    await outbox(deployed).keep(ticket(f"{VISITOR}/half", question=SAID))


def find_rows(url: str, words: str) -> dict[str, int]:
    """Return how many rows of each table have some words, in whichever column."""
    with psycopg.connect(url, autocommit=True) as connection:
        tables = connection.execute(
            "SELECT quote_ident(table_schema) || '.' || quote_ident(table_name) FROM information_schema.tables "
            "WHERE table_schema LIKE 'guardian%' AND table_type = 'BASE TABLE'"
        ).fetchall()
        counted = {
            table: connection.execute(
                f"SELECT count(*) FROM {table} AS t WHERE position(%s IN t::text) > 0".encode(),  # noqa: S608  # quoted
                (words,),
            ).fetchone()
            for (table,) in tables
        }
    return {table.partition(".")[2]: row[0] for table, row in counted.items() if row and row[0]}


def test_erasing_leaves_nothing_of_a_visitor_on_a_server_and_all_of_the_others(served: Desk, database_url: str) -> None:
    """No row of any table has their name, in claims and LangGraph's own tables, too; of the other one none is gone."""
    asyncio.run(talk(served))
    before = find_rows(database_url, OTHER)
    assert {"turns", "checkpoints", "checkpoint_blobs", "feedback", "labels", "links", "claims", "hand_offs"} <= {
        *before
    }
    assert set(find_rows(database_url, VISITOR)) == set(before)
    erased = served.here("visitors", "erase", VISITOR)
    assert (erased.code, erased.err) == (0, "")
    assert "conversations: 2" in erased.out
    assert find_rows(database_url, VISITOR) == {}
    assert find_rows(database_url, OTHER) == before
    assert served.here("visitors", "erase", VISITOR).code == 1
