"""DT-002: what a plan leads to."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from contracts.decisions.engine import (
    YES_NO,
    AtLeast,
    Below,
    Cell,
    ChoiceColumn,
    DecisionRow,
    DecisionTable,
    HitPolicy,
    Number,
    OneOf,
    one_of,
)
from contracts.enums import Flow, SafetyLevel, SGRAction


@dataclass(frozen=True, slots=True)
class Route:
    """An action, which is also the name of the template, and how the turn goes on."""

    action: SGRAction
    flow: Flow

    def __str__(self) -> str:
        return f"{self.action}, {self.flow}"


_CALM = one_of(SafetyLevel.SAFE, SafetyLevel.NOT_AVAILABLE)
_TENSE = one_of(SafetyLevel.CONTROVERSIAL)
_NOT_GUARDIAN = tuple(action for action in SGRAction if action is not SGRAction.GUARDIAN_BLOCK)
_NOT_CLARIFY = tuple(action for action in _NOT_GUARDIAN if action is not SGRAction.CLARIFY)


def _for_others(
    name: str, when: dict[str, Cell], then: Route, because: str
) -> tuple[DecisionRow[Route], DecisionRow[Route]]:
    """Write a row of the specification's "other" messages: calm ones, and tense ones without guardian_block."""
    return (
        DecisionRow(f"{name}-calm", {"level": _CALM, **when}, then, because),
        DecisionRow(
            f"{name}-controversial", {"level": _TENSE, "proposal": OneOf(_NOT_GUARDIAN), **when}, then, because
        ),
    )


@lru_cache(maxsize=64)
def routing_table(spam_threshold: float = 0.7, confidence_threshold: float = 0.6) -> DecisionTable[Route]:
    """Build DT-002 for a deployment's thresholds, each inside the open interval (0, 1).

    The specification calls the hit policy FIRST and its rows free of overlap; free of overlap, the policy is
    UNIQUE, which is the stronger claim, and proved.
    """
    spam, legitimate = AtLeast(spam_threshold), Below(spam_threshold)
    unclear, clear = Below(confidence_threshold), AtLeast(confidence_threshold)
    person, no_person = one_of(True), one_of(False)
    some_left, none_left = one_of(True), one_of(False)
    go_on, ask = Route(SGRAction.NORMAL, Flow.GO_ON), Route(SGRAction.CLARIFY, Flow.ASK)
    understood: dict[str, Cell] = {"spam_score": legitimate, "wants_human": no_person, "intent_confidence": clear}
    vague: dict[str, Cell] = {"spam_score": legitimate, "wants_human": no_person, "intent_confidence": unclear}
    refuse = Route(SGRAction.GUARDIAN_BLOCK, Flow.STOP)
    return DecisionTable(
        id="DT-002",
        title="SGR routing",
        hit=HitPolicy.UNIQUE,
        limits={"spam_threshold": spam_threshold, "confidence_threshold": confidence_threshold},
        columns={
            "level": ChoiceColumn(tuple(SafetyLevel)),
            "proposal": ChoiceColumn(tuple(SGRAction)),
            "spam_score": Number(0.0, 1.0),
            "wants_human": YES_NO,
            "intent_confidence": Number(0.0, 1.0),
            "clarifications_left": YES_NO,
        },
        rows=(
            DecisionRow(
                "unsafe", {"level": one_of(SafetyLevel.UNSAFE)}, refuse, "safety refusal, whatever the plan says"
            ),
            DecisionRow(
                "controversial-refused",
                {"level": _TENSE, "proposal": one_of(SGRAction.GUARDIAN_BLOCK)},
                refuse,
                "moderation was in doubt and the planner confirms it",
            ),
            *_for_others(
                "spam",
                {"spam_score": spam},
                Route(SGRAction.BLOCK, Flow.STOP),
                "a soft decline that says what the assistant is for",
            ),
            *_for_others(
                "person",
                {"spam_score": legitimate, "wants_human": person},
                Route(SGRAction.NORMAL, Flow.HAND_OFF),
                "who asks for a person gets one",
            ),
            *_for_others(
                "unclear-ask",
                {**vague, "clarifications_left": some_left},
                ask,
                "a question costs less than a wrong answer",
            ),
            *_for_others(
                "unclear-go-on",
                {**vague, "clarifications_left": none_left},
                go_on,
                "asked often enough: go on with what is known",
            ),
            DecisionRow(
                "controversial-ask",
                {
                    "level": _TENSE,
                    "proposal": one_of(SGRAction.CLARIFY),
                    **understood,
                    "clarifications_left": some_left,
                },
                ask,
                "moderation was in doubt and the planner would rather ask",
            ),
            DecisionRow("clear-calm", {"level": _CALM, **understood}, go_on, "in scope and understood"),
            DecisionRow(
                "clear-controversial",
                {"level": _TENSE, "proposal": OneOf(_NOT_CLARIFY), **understood},
                go_on,
                "in scope and understood; the planner saw the moderation and goes on",
            ),
            DecisionRow(
                "clear-controversial-asked",
                {
                    "level": _TENSE,
                    "proposal": one_of(SGRAction.CLARIFY),
                    **understood,
                    "clarifications_left": none_left,
                },
                go_on,
                "asked often enough: go on with what is known",
            ),
        ),
    )
