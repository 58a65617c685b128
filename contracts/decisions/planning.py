"""DT-003: when is the planning tool offered?  DT-007: how strictly is the turn judged?"""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from contracts.decisions.engine import ChoiceColumn, DecisionRow, DecisionTable, HitPolicy, OneOf, one_of
from contracts.enums import RequestType, Track, TurnState


class ToolBinding(StrEnum):
    """Whether a request offers the tool `analyse_user_request`."""

    FORCED = "offered and forced"
    UNAVAILABLE = "unavailable"


TOOL_BINDING: Final = DecisionTable(
    id="DT-003",
    title="Tool binding",
    hit=HitPolicy.UNIQUE,
    columns={"turn_state": ChoiceColumn(tuple(TurnState))},
    rows=(
        DecisionRow(
            "planning",
            {"turn_state": one_of(TurnState.PLANNING)},
            ToolBinding.FORCED,
            "one planning exchange for each message of the user; its repair belongs to it",
        ),
        DecisionRow(
            "accepted",
            {"turn_state": one_of(TurnState.PLAN_ACCEPTED)},
            ToolBinding.UNAVAILABLE,
            "a plan was accepted; the next message offers the tool again",
        ),
        DecisionRow(
            "mid-turn",
            {"turn_state": one_of(TurnState.MID_TURN)},
            ToolBinding.UNAVAILABLE,
            "planning again in mid-turn would stack plan upon plan",
        ),
    ),
)

_JUDGED = tuple(t for t in RequestType if t not in (RequestType.CASUAL, RequestType.KNOWLEDGE_QA))

TRACK: Final = DecisionTable(
    id="DT-007",
    title="Track",
    hit=HitPolicy.UNIQUE,
    columns={"request_type": ChoiceColumn(tuple(RequestType)), "knowledge_track": ChoiceColumn(tuple(Track))},
    rows=(
        DecisionRow("casual", {"request_type": one_of(RequestType.CASUAL)}, Track.FAST, "there is nothing to prove"),
        DecisionRow(
            "knowledge-quality",
            {"request_type": one_of(RequestType.KNOWLEDGE_QA), "knowledge_track": one_of(Track.QUALITY)},
            Track.QUALITY,
            "the default",
        ),
        DecisionRow(
            "knowledge-fast",
            {"request_type": one_of(RequestType.KNOWLEDGE_QA), "knowledge_track": one_of(Track.FAST)},
            Track.FAST,
            "the deployment chose speed for plain questions",
        ),
        DecisionRow(
            "judged",
            {"request_type": OneOf(_JUDGED)},
            Track.QUALITY,
            "figures, rules, designs and faults are always judged in full",
        ),
    ),
)
