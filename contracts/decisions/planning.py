"""DT-003: when is the planning tool offered?  DT-007: how strictly is the turn judged?"""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from contracts.decisions.engine import Choice, DecisionTable, HitPolicy, OneOf, Row, one_of
from contracts.enums import RequestType, Track, TurnState


class ToolBinding(StrEnum):
    """Whether `analyse_user_request` is in a request."""

    FORCED = "offered and forced"
    UNAVAILABLE = "unavailable"


TOOL_BINDING: Final = DecisionTable(
    id="DT-003",
    title="Tool binding",
    hit=HitPolicy.UNIQUE,
    columns={"turn_state": Choice(tuple(TurnState))},
    rows=(
        Row(
            "planning",
            {"turn_state": one_of(TurnState.PLANNING)},
            ToolBinding.FORCED,
            "one planning exchange for each message of the user; its repair belongs to it",
        ),
        Row(
            "accepted",
            {"turn_state": one_of(TurnState.PLAN_ACCEPTED)},
            ToolBinding.UNAVAILABLE,
            "a plan was accepted; the next message offers the tool again",
        ),
        Row(
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
    columns={"request_type": Choice(tuple(RequestType)), "knowledge_track": Choice(tuple(Track))},
    rows=(
        Row("casual", {"request_type": one_of(RequestType.CASUAL)}, Track.FAST, "there is nothing to prove"),
        Row(
            "knowledge-quality",
            {"request_type": one_of(RequestType.KNOWLEDGE_QA), "knowledge_track": one_of(Track.QUALITY)},
            Track.QUALITY,
            "the default",
        ),
        Row(
            "knowledge-fast",
            {"request_type": one_of(RequestType.KNOWLEDGE_QA), "knowledge_track": one_of(Track.FAST)},
            Track.FAST,
            "the deployment chose speed for plain questions",
        ),
        Row(
            "judged",
            {"request_type": OneOf(_JUDGED)},
            Track.QUALITY,
            "figures, rules, designs and faults are always judged in full",
        ),
    ),
)
