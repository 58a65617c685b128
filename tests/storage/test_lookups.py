from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from assistant.deployment import Deployment, deployment
from assistant.wiring.lookups import database_source
from assistant.wiring.turns import open_store
from contracts.enums import Source
from contracts.lookups import LookupCall, LookupValue
from contracts.ports import SearchRequest

PERIOD = (LookupValue(name="since", value="2026-11-20"), LookupValue(name="until", value="2026-11-21"))
OUTCOMES = ("answered", "answered", "clarification", "declined", "refused", "handed_off", "error")


async def look_up(deployed: Deployment) -> dict[str, Any]:
    """Fill a storage with the same turns, and return what each lookup of the handbook's profile finds in it."""
    async with open_store(deployed) as store:
        for number, outcome in enumerate(OUTCOMES):
            store.now = lambda number=number: datetime(2026, 11, 20 + number // 3, 9, number, tzinfo=UTC)
            await store.begin("t", str(number), f"Вопрос {number}?", None)
            store.now = lambda number=number: datetime(
                2026, 11, 20 + number // 3, 9, number, number, 250_000, tzinfo=UTC
            )
            faults = [f"Модель {number}: нет"] if number in {1, 6} else []
            await store.finish("t", str(number), {"outcome": outcome, "diagnostics": {"degraded": faults}})
    source = database_source(deployed)
    found: dict[str, Any] = {}
    for lookup in deployed.profile.lookups_of(Source.DB):
        call = LookupCall(name=lookup.name, arguments=PERIOD)
        reply = await source.search(SearchRequest("-", lookups=(call,)))
        found[lookup.name] = ([item.snippet for item in reply.items], list(reply.trace.degraded))
    return found


async def test_the_lookups_of_conversations_find_the_same_on_both_engines(data: Path, database_url: str) -> None:
    """Each lookup of the bundled profile asks a file and a server with one statement, and gets one answer."""
    settings = {"GUARDIAN_DATA_DIR": str(data)}
    file = await look_up(deployment("handbook", settings))
    server = await look_up(deployment("handbook", settings | {"GUARDIAN_DATABASE": database_url}))
    assert server == file
    assert len(file) == 6
    assert all(snippets and not faults for snippets, faults in file.values()), file
