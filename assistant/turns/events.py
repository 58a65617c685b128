"""What a turn tells while it runs, as typed events, for programs; `assistant.turns.progress` puts them into words.

No event before the last holds a word of a draft. Of what is refused to a user by DT-004 they hold the decisions and the
reasons' names: `assistant.turns.views.user_event` keeps back what a user does not see.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from contracts.enums import DraftKind, RequiredAction, SGRAction, Source, Verdict
from contracts.reasons import reason_names
from contracts.report import DecisionRecord
from contracts.result import StructuredAgentResult
from rendering.hand_off import was_searched

Json = dict[str, Any]


class _Event(BaseModel):
    model_config = ConfigDict(frozen=True)

    turn_id: str


class TurnStarted(_Event):
    """The turn is on its way; always the first event. A turn that was run before has only this one and the last."""

    kind: Literal["turn_started"] = "turn_started"
    thread_id: str


class NodeStarted(_Event):
    """A node of the graph begins."""

    kind: Literal["node_started"] = "node_started"
    node: str


class NodeFinished(_Event):
    """A node of the graph has ended.

    Attributes:
        ms: Milliseconds that it took.
        decisions: Rows of the decision tables that it came to.
        error: What made it fail; another try, or `safe_exit`, follows.
    """

    kind: Literal["node_finished"] = "node_finished"
    node: str
    ms: float
    decisions: tuple[DecisionRecord, ...] = ()
    error: str = ""


class Understood(_Event):
    """The question is understood: the intent in the user's language, and what DT-002 made of it."""

    kind: Literal["understood"] = "understood"
    intent: str
    action: SGRAction


class Searched(_Event):
    """A search has ended: the kinds of sources that were asked, and how many passages the draft will see."""

    kind: Literal["searched"] = "searched"
    sources: tuple[Source, ...]
    passages: int


class Drafted(_Event):
    """There is a draft, of which nothing is said but its kind."""

    kind: Literal["drafted"] = "drafted"
    draft: DraftKind


class Judged(_Event):
    """The Guardian has judged a draft: its verdict, the names of its reasons, and what a retry must do."""

    kind: Literal["judged"] = "judged"
    verdict: Verdict
    reasons: tuple[str, ...] = ()
    required_actions: tuple[RequiredAction, ...] = ()


class Degraded(_Event):
    """A part does not work as configured: `part: why`."""

    kind: Literal["degraded"] = "degraded"
    what: str


class TurnEnded(_Event):
    """The turn has its result; always the last event."""

    kind: Literal["turn_ended"] = "turn_ended"
    result: StructuredAgentResult


TurnEvent = Annotated[
    TurnStarted | NodeStarted | NodeFinished | Understood | Searched | Drafted | Judged | Degraded | TurnEnded,
    Field(discriminator="kind"),
]


class EventReader:
    """Makes events of what the turn runner reports (`assistant.turns.runner.TurnRunner`)."""

    def __init__(self) -> None:
        self._degraded = set[str]()

    def read(self, kind: str, payload: Json) -> list[TurnEvent]:
        """Return the events of one report, in order."""
        turn, node = payload["turn_id"], payload["node"]
        if kind == "node_started":
            return [NodeStarted(turn_id=turn, node=node)]
        update: Json = payload.get("update") or {}
        # Decisions are kept in one list of the turn; of a node's they are the newest of each table.
        made = {line["table"]: line for line in update.get("decisions", []) if line["node"] == node}
        decisions = tuple(DecisionRecord.model_validate(line) for line in made.values())
        error = payload.get("error", "")
        return [
            NodeFinished(turn_id=turn, node=node, ms=payload["ms"], decisions=decisions, error=error),
            *_read_update(turn, node, update),
            *self._new_faults(turn, update),
        ]

    def _new_faults(self, turn: str, update: Json) -> list[TurnEvent]:
        new = [what for what in dict.fromkeys(update.get("degraded", [])) if what not in self._degraded]
        self._degraded.update(new)
        return [Degraded(turn_id=turn, what=what) for what in new]


def _read_update(turn: str, node: str, update: Json) -> list[TurnEvent]:
    if node == "sgr_plan" and update.get("sgr_plan") and update.get("action"):
        return [Understood(turn_id=turn, intent=update["sgr_plan"]["user_intent"], action=update["action"])]
    if node == "retrieve" and update.get("query_traces"):
        asked = tuple(dict.fromkeys(Source(t["source"]) for t in update["query_traces"] if was_searched(t)))
        return [Searched(turn_id=turn, sources=asked, passages=len(update.get("evidence", [])))]
    if node == "draft" and update.get("draft_kind"):
        return [Drafted(turn_id=turn, draft=update["draft_kind"])]
    if node == "guardian_verify" and update.get("guardian"):
        report = update["guardian"]
        names = tuple(reason_names(report["reasons"]))
        return [
            Judged(turn_id=turn, verdict=report["verdict"], reasons=names, required_actions=report["required_actions"])
        ]
    return []


OnEvent = Callable[[str, Json], None]
