"""DT-002: the action that follows from a plan."""

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
_SOME_LEFT, _NONE_LEFT = one_of(True), one_of(False)
_GO_ON, _ASK = Route(SGRAction.NORMAL, Flow.GO_ON), Route(SGRAction.CLARIFY, Flow.ASK)


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


def _refusal_rows(spam: Cell) -> tuple[DecisionRow[Route], ...]:
    """Write the rows of messages that are refused or declined."""
    refuse = Route(SGRAction.GUARDIAN_BLOCK, Flow.STOP)
    return (
        DecisionRow("unsafe", {"level": one_of(SafetyLevel.UNSAFE)}, refuse, "safety refusal, whatever the plan says"),
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
    )


def _vague_rows(vague: dict[str, Cell]) -> tuple[DecisionRow[Route], ...]:
    """Write the rows of messages that are not understood."""
    return (
        *_for_others(
            "unclear-ask",
            {**vague, "clarifications_left": _SOME_LEFT},
            _ASK,
            "a question costs less than a wrong answer",
        ),
        *_for_others(
            "unclear-go-on",
            {**vague, "clarifications_left": _NONE_LEFT},
            _GO_ON,
            "asked often enough: go on with what is known",
        ),
    )


def _clear_rows(understood: dict[str, Cell]) -> tuple[DecisionRow[Route], ...]:
    """Write the rows of messages that are understood."""
    doubt: dict[str, Cell] = {"level": _TENSE, "proposal": one_of(SGRAction.CLARIFY), **understood}
    return (
        DecisionRow(
            "controversial-ask",
            {**doubt, "clarifications_left": _SOME_LEFT},
            _ASK,
            "moderation was in doubt and the planner would rather ask",
        ),
        DecisionRow("clear-calm", {"level": _CALM, **understood}, _GO_ON, "in scope and understood"),
        DecisionRow(
            "clear-controversial",
            {"level": _TENSE, "proposal": OneOf(_NOT_CLARIFY), **understood},
            _GO_ON,
            "in scope and understood; the planner saw the moderation and goes on",
        ),
        DecisionRow(
            "clear-controversial-asked",
            {**doubt, "clarifications_left": _NONE_LEFT},
            _GO_ON,
            "asked often enough: go on with what is known",
        ),
    )


@lru_cache(maxsize=64)
def routing_table(spam_threshold: float = 0.7, confidence_threshold: float = 0.6) -> DecisionTable[Route]:
    """Build DT-002 for a deployment's thresholds, each inside the open interval (0, 1).

    The specification names the hit policy FIRST, and rows without overlap. Without overlap the policy is UNIQUE: the
    stronger claim, which is proved.
    """
    legitimate: dict[str, Cell] = {"spam_score": Below(spam_threshold)}
    no_person: dict[str, Cell] = {**legitimate, "wants_human": one_of(False)}
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
            *_refusal_rows(AtLeast(spam_threshold)),
            *_for_others(
                "person",
                {**legitimate, "wants_human": one_of(True)},
                Route(SGRAction.NORMAL, Flow.HAND_OFF),
                "who asks for a person gets one",
            ),
            *_vague_rows({**no_person, "intent_confidence": Below(confidence_threshold)}),
            *_clear_rows({**no_person, "intent_confidence": AtLeast(confidence_threshold)}),
        ),
    )
