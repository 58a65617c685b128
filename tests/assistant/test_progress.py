"""What a turn says while it runs."""

from __future__ import annotations

from typing import Any

from assistant.turns.events import NodeReader
from assistant.turns.progress import progress_lines
from contracts.enums import Language, Outcome, Source
from contracts.evidence import QueryTrace
from rendering.hand_off import hand_off_record
from tests.support.turn import begin_turn, merge


def trace(source: Source, **more: Any) -> dict[str, Any]:
    return QueryTrace(query="What now?", source=source, **more).model_dump(mode="json")


TRACES = [
    trace(Source.DOC),
    trace(Source.POLICY, error="It is away."),
    trace(Source.DB),
    trace(Source.NEO4J, lookups=("mentions(setting=X)",)),
]
"""Documents without a hit, policies that are away, a database that no lookup fits, and a graph that was asked."""


def test_only_sources_that_were_asked_count_as_searched() -> None:
    """A database is not asked where no lookup fits: it was not searched, though nothing is wrong with it."""
    written: list[str] = []
    tell = progress_lines(Language.EN, written.append)
    for event in NodeReader("t").finish("retrieve", 1.0, {"query_traces": TRACES, "evidence": []}):
        tell(event)
    assert [line for line in written if "searched" in line] == ["  searched doc, neo4j: 0 passages"]
    turn = merge(begin_turn(), {"query_traces": TRACES, "sgr_plan": {}, "evidence": [], "guardian": {}})
    done = hand_off_record(turn, Outcome.HANDED_OFF, Language.EN).steps_completed
    assert "searched doc, neo4j: What now?" in done
