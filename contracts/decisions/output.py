"""DT-004: which channel shows which part of a turn."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Final

from contracts.decisions.engine import ChoiceColumn, DecisionRow, DecisionTable, HitPolicy, OneOf, one_of
from contracts.enums import Channel, PlanTrace, SGRAction


@dataclass(frozen=True, slots=True)
class ChannelView:
    """The parts of a turn that a channel gets."""

    user_intent: bool = False
    analysis: bool = False
    response: bool = False
    tool_trace: bool = False
    structured_data: bool = False

    def __str__(self) -> str:
        return ", ".join(part.name for part in fields(self) if getattr(self, part.name))


OUTPUT: Final = DecisionTable(
    id="DT-004",
    title="Output routing",
    hit=HitPolicy.UNIQUE,
    columns={
        "channel": ChoiceColumn(tuple(Channel)),
        "action": ChoiceColumn(tuple(SGRAction)),
        "plan_trace": ChoiceColumn(tuple(PlanTrace)),
    },
    rows=(
        DecisionRow(
            "model",
            {
                "channel": one_of(Channel.MODEL_CONTEXT),
                "plan_trace": one_of(PlanTrace.SYNTHETIC, PlanTrace.TWO_MESSAGES),
            },
            ChannelView(user_intent=True, analysis=True, response=True),
            "the model goes on from its own analysis; the tool call and its JSON never reach it again",
        ),
        DecisionRow(
            "model-question",
            {"channel": one_of(Channel.MODEL_CONTEXT), "plan_trace": one_of(PlanTrace.IN_QUESTION)},
            ChannelView(user_intent=True, analysis=True),
            "the analysis as data beside the question: a small model copies what looks like its own words",
        ),
        DecisionRow(
            "model-tool",
            {"channel": one_of(Channel.MODEL_CONTEXT), "plan_trace": one_of(PlanTrace.TOOL_RESULT)},
            ChannelView(user_intent=True, tool_trace=True),
            "the ordinary tool trace in the place of the synthetic message, so that the two can be compared",
        ),
        DecisionRow(
            "user",
            {
                "channel": one_of(Channel.USER_INTERFACE),
                "action": OneOf(tuple(a for a in SGRAction if a is not SGRAction.GUARDIAN_BLOCK)),
            },
            ChannelView(user_intent=True, response=True),
            "the user sees how the request was understood and what follows, and no analysis or score",
        ),
        DecisionRow(
            "user-refused",
            {"channel": one_of(Channel.USER_INTERFACE), "action": one_of(SGRAction.GUARDIAN_BLOCK)},
            ChannelView(response=True),
            "an unsafe request is not repeated to the one who made it",
        ),
        DecisionRow(
            "metadata",
            {"channel": one_of(Channel.STRUCTURED_METADATA)},
            ChannelView(user_intent=True, analysis=True, response=True, tool_trace=True, structured_data=True),
            "programs and operators get everything",
        ),
    ),
)
