"""The decision tables DT-001 to DT-008, and the small engine that evaluates, prints and proves them."""

from __future__ import annotations

from typing import Any

from contracts.decisions.engine import Decision, DecisionTable
from contracts.decisions.evidence import EVIDENCE
from contracts.decisions.exits import EXITS
from contracts.decisions.moderation import MODERATION
from contracts.decisions.output import OUTPUT
from contracts.decisions.planning import TOOL_BINDING, TRACK
from contracts.decisions.routing import routing_table
from contracts.decisions.verdict import VERDICT
from contracts.report import DecisionRecord


def all_tables() -> tuple[DecisionTable[Any], ...]:
    """Return the eight tables in order, DT-002 with its default thresholds."""
    return (MODERATION, routing_table(), TOOL_BINDING, OUTPUT, VERDICT, EVIDENCE, TRACK, EXITS)


def record(node: str, decision: Decision[object], proposed: str | None = None) -> DecisionRecord:
    """Return the audit trail's record of one decision."""
    return DecisionRecord(
        node=node,
        table=decision.table,
        row=decision.row,
        outcome=str(decision.outcome),
        inputs={
            name: value if isinstance(value, bool | float) else str(value) for name, value in decision.inputs.items()
        },
        limits=dict(decision.limits),
        proposed=proposed,
    )


__all__ = [
    "EVIDENCE",
    "EXITS",
    "MODERATION",
    "OUTPUT",
    "TOOL_BINDING",
    "TRACK",
    "VERDICT",
    "all_tables",
    "record",
    "routing_table",
]
