"""The typed events of a running turn, for programs; `assistant.turns.progress` puts them into words.

No event before the last contains a word of a draft. These events do contain decisions and names of reasons that DT-004
hides from users. `assistant.turns.views.user_event` removes what a user does not see.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from contracts.enums import DraftKind, RequestType, RequiredAction, SGRAction, Source, Verdict
from contracts.reasons import reason_names
from contracts.report import DecisionRecord
from contracts.result import StructuredAgentResult
from language.figures.counted import count_noun
from rendering.hand_off import was_searched

Json = dict[str, Any]


class _Event(BaseModel):
    model_config = ConfigDict(frozen=True)

    turn_id: str


class TurnStarted(_Event):
    """The turn has started; always the first event. A turn that ran before has only this event and the last one."""

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
        decisions: The rows of the decision tables that applied.
        summary: Its outcome in a few words for an operator: its decisions, or else what it wrote.
        error: Why it failed; a retry or `safe_exit` follows.
    """

    kind: Literal["node_finished"] = "node_finished"
    node: str
    ms: float
    decisions: tuple[DecisionRecord, ...] = ()
    summary: str = ""
    error: str = ""


class Understood(_Event):
    """The question is understood: the intent in the user's language, its type, and the action that DT-002 chose."""

    kind: Literal["understood"] = "understood"
    intent: str
    action: SGRAction
    request_type: RequestType | None = None


class Searched(_Event):
    """A search has ended: the kinds of sources that were asked, and how many passages the draft will see."""

    kind: Literal["searched"] = "searched"
    sources: tuple[Source, ...]
    passages: int


class Drafted(_Event):
    """There is a draft; the event tells only its kind."""

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


OnEvent = Callable[[TurnEvent], None]
"""Is called with each event of a turn as it happens."""


class NodeReader:
    """A converter of what one turn's nodes begin and write into events."""

    def __init__(self, turn_id: str) -> None:
        self._turn_id = turn_id
        self._degraded = set[str]()

    def begin(self, node: str) -> TurnEvent:
        """Return the event of a node that begins."""
        return NodeStarted(turn_id=self._turn_id, node=node)

    def finish(self, node: str, ms: float, update: Json, error: str = "") -> list[TurnEvent]:
        """Return the events of a node that has ended, in order.

        Args:
            node: The node's name.
            ms: Milliseconds that it took.
            update: What it wrote into the state.
            error: Why it failed.
        """
        # Decisions are kept in one list of the turn; of a node's they are the newest of each table.
        made = {line["table"]: line for line in update.get("decisions", []) if line["node"] == node}
        decisions = tuple(DecisionRecord.model_validate(line) for line in made.values())
        finished = NodeFinished(
            turn_id=self._turn_id,
            node=node,
            ms=ms,
            decisions=decisions,
            summary=_summarize(node, decisions, update),
            error=error,
        )
        return [finished, *_read_update(self._turn_id, node, update), *self._find_new_faults(update)]

    def _find_new_faults(self, update: Json) -> list[TurnEvent]:
        new = [what for what in dict.fromkeys(update.get("degraded", [])) if what not in self._degraded]
        self._degraded.update(new)
        return [Degraded(turn_id=self._turn_id, what=what) for what in new]


def _read_update(turn: str, node: str, update: Json) -> list[TurnEvent]:
    if node == "sgr_plan" and update.get("sgr_plan") and update.get("action"):
        intent, request = update["sgr_plan"]["user_intent"], update.get("request_type")
        return [Understood(turn_id=turn, intent=intent, action=update["action"], request_type=request)]
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


def _summarize(node: str, decisions: Sequence[DecisionRecord], update: Json) -> str:
    """Say what a node decided, as table, row and outcome; else what it wrote."""
    decided = "; ".join(f"{line.table}/{line.row} → {_shorten_outcome(line)}" for line in decisions)
    if actions := update.get("guardian", {}).get("required_actions"):
        decided += f" [{', '.join(actions)}]"
    return decided or _describe_update(node, update)


def _shorten_outcome(line: DecisionRecord) -> str:
    """Return a decision's outcome; of a rule of DT-006 what it requires: its row says the rest."""
    return line.outcome.partition(";")[0] if line.table == "DT-006" else line.outcome


def _describe_update(node: str, update: Json) -> str:
    match node:
        case "retrieve" if "evidence" in update:
            return count_noun(len(update["evidence"]), "passage|passages")
        case "retrieve":
            return "nothing to search"
        case "draft":
            return str(update.get("draft_kind", ""))
        case "retry_bump":
            return f"retry {update.get('retry_count', '')}"
        case "finalize" | "safe_exit":
            return str(update.get("result", {}).get("outcome", ""))
        case _:
            return ""
