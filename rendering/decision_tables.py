"""The decision tables as a page of Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from contracts.decisions import all_tables
from contracts.decisions.effects import EFFECTS, Effect
from contracts.decisions.engine import DecisionTable, HitPolicy

_HIT: Final = {
    HitPolicy.UNIQUE: "unique: at most one row fits",
    HitPolicy.FIRST: "first: of the rows that fit, the first decides",
}


_INTRODUCTION: Final = (
    "Written by `make docs` from `contracts/decisions/`, where the tables are data: what is printed here is what "
    "runs. Every table is proved complete: no case is without a row, no row can never win, and no two rows meet. "
    "`–` fits every value. Every decision of a turn is recorded with the table, the row and the inputs."
)


_ABOUT_EFFECTS: Final = (
    "A retry must change something, so every action that the Guardian can require has an effect "
    "(`contracts/decisions/effects.py`). Where none of a verdict's actions searches, nothing is searched again."
)


def decision_tables() -> str:
    """Return the page of all tables and of the required actions' effects."""
    parts = [
        "# Decision tables",
        _INTRODUCTION,
        *(_table(table) for table in all_tables()),
        "## Effects of the required actions",
        _ABOUT_EFFECTS,
        _rows(
            ["action", "what changes", "where"],
            [[f"`{action}`", "; ".join(_changes(effect)), _where(effect)] for action, effect in EFFECTS.items()],
        ),
    ]
    return "\n\n".join(parts) + "\n"


def _table(table: DecisionTable[Any]) -> str:
    inputs = "\n".join(f"- `{name}`: {column}" for name, column in table.columns.items())
    parts = [f"## {table.id}: {table.title}", f"Hit policy {_HIT[table.hit]}. Inputs:", inputs]
    if table.limits:
        limits = ", ".join(f"`{name}` {limit:g}" for name, limit in table.limits.items())
        parts.append(f"Limits are settings inside the open interval from 0 to 1; printed with the defaults: {limits}.")
    return "\n\n".join([*parts, table.to_markdown()])


def _changes(effect: Effect) -> list[str]:
    said = {
        "asks each source for twice as many passages, in every language": effect.more,
        "widens each query and searches the whole message, too": effect.refine,
        "leaves out the documents it has already": effect.other_documents,
        f"asks {_names(effect.add_sources)}, too, where connected and not forbidden": effect.add_sources,
        f"keeps and asks only {_names(effect.only_sources)}": effect.only_sources,
        f"drops and no longer asks {_names(effect.drop_sources)}": effect.drop_sources,
        "is told the reasons and this action, and writes again": effect.redraft,
        "ends the turn": effect.ends,
    }
    return [what for what, applies in said.items() if applies]


def _where(effect: Effect) -> str:
    places = {"`retrieve`": effect.searches, "`draft`": effect.redraft, "`safe_exit`": effect.ends}
    return ", ".join(place for place, applies in places.items() if applies)


def _names(sources: Sequence[str]) -> str:
    return ", ".join(f"`{source}`" for source in sources)


def _rows(head: list[str], body: list[list[str]]) -> str:
    return "\n".join("| " + " | ".join(cells) + " |" for cells in [head, ["---"] * len(head), *body])
