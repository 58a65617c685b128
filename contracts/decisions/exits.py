"""DT-008: how a turn without an answer ends, and whether people get a ticket."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from contracts.decisions.engine import YES_NO, Cell, ChoiceColumn, DecisionRow, DecisionTable, HitPolicy, one_of
from contracts.enums import PolicyStatus
from contracts.errors import TableError


class StoppedBy(StrEnum):
    """Where a turn without an answer stopped: message, broken node, moderation, plan (DT-002) or verdict."""

    MESSAGE = "message"
    ERROR = "error"
    UNSAFE = "moderation: unsafe"
    UNMODERATED = "moderation: unavailable"
    DECLINED = "plan: block"
    REFUSED = "plan: guardian_block"
    UNCLEAR = "plan: clarify"
    PERSON = "plan: person"
    VERDICT = "verdict"


class LastAction(StrEnum):
    """The action that the Guardian's last verdict requires; `NONE` without a verdict, or if it requires nothing."""

    NONE = "none"
    REDACT = "REDACT_SENSITIVE"
    REFUSE = "SAFE_REFUSAL"
    ESCALATE = "ESCALATE_TO_HUMAN"
    ASK = "ASK_MINIMAL_QUESTION"

    @classmethod
    def of(cls, actions: Iterable[str]) -> LastAction:
        """Return the weightiest action that ends a turn: secrets before refusals before questions."""
        wanted = set(actions)
        return next((one for one in cls if one.value in wanted), cls.NONE)


class PagesFound(StrEnum):
    """Which pages can be shown: some of the turn's evidence (sure), only the nearest of a further search (near), or none."""

    NONE = "none"
    NEAR = "near"
    SURE = "sure"


class ExitKind(StrEnum):
    """What the user gets."""

    REFUSE = "refuse"
    DECLINE = "decline"
    ASK = "ask"
    SHOW_PAGES = "show pages"
    HAND_OFF = "hand off"
    OWN_UP = "own up to an error"


class TicketRule(StrEnum):
    """Whether people get a ticket: always, only if the setting `tickets` is `wide`, or never."""

    YES = "yes"
    WIDE = "where tickets are wide"
    NO = "no"


@dataclass(frozen=True, slots=True)
class Exit:
    """An end without an answer.

    Attributes:
        text: The key of the text in `rendering/locales`; empty if the plan's template writes the text.
        ticket: Whether people get a ticket.
        block_reason: The reason that the result gives; empty if nothing was refused.
    """

    kind: ExitKind
    text: str = ""
    ticket: TicketRule = TicketRule.NO
    block_reason: str = ""

    def __post_init__(self) -> None:
        if self.kind is ExitKind.HAND_OFF and self.ticket is not TicketRule.YES:
            raise TableError(f"A row of DT-008 hands off with ticket {self.ticket!r}.", "Give it one always.")
        if self.kind in (ExitKind.OWN_UP, ExitKind.DECLINE) and self.ticket is TicketRule.WIDE:
            raise TableError(
                f"A row of DT-008 ends as {self.kind!r} with a ticket that nobody acts on.", "Give it none."
            )

    def __str__(self) -> str:
        text = f" `{self.text}`" if self.text else ""
        return f"{self.kind}{text}; ticket: {self.ticket}"


_OF_POLICY: Final = one_of(PolicyStatus.VIOLATED, PolicyStatus.UNCHECKED)
_FINE: Final = one_of(PolicyStatus.OK)
_YES, _NO = one_of(True), one_of(False)
_SURE, _UNSURE = one_of(PagesFound.SURE), one_of(PagesFound.NONE, PagesFound.NEAR)
_UNANSWERED: Final[dict[str, Cell]] = {"last_action": one_of(LastAction.ASK), "policy": _FINE}


def _stop_row(by: StoppedBy, then: Exit, because: str) -> DecisionRow[Exit]:
    return DecisionRow(by.name.lower(), {"stopped_by": one_of(by)}, then, because)


def _verdict_row(name: str, when: dict[str, Cell], then: Exit, because: str) -> DecisionRow[Exit]:
    return DecisionRow(name, {"stopped_by": one_of(StoppedBy.VERDICT), **when}, then, because)


_PAGES: Final = Exit(ExitKind.SHOW_PAGES, "pages_shown", TicketRule.WIDE)
_NEAR: Final = Exit(ExitKind.SHOW_PAGES, "pages_near", TicketRule.YES)
_PERSON: Final = Exit(ExitKind.HAND_OFF, "hand_off", TicketRule.YES)
_UNASKED: Final = Exit(ExitKind.HAND_OFF, "hand_off_unasked", TicketRule.YES)

EXITS: Final = DecisionTable(
    id="DT-008",
    title="Exits without an answer",
    hit=HitPolicy.UNIQUE,
    columns={
        "stopped_by": ChoiceColumn(tuple(StoppedBy)),
        "last_action": ChoiceColumn(tuple(LastAction)),
        "policy": ChoiceColumn(tuple(PolicyStatus)),
        "sources_down": YES_NO,
        "question_lacks": YES_NO,
        "clarifications_left": YES_NO,
        "pages": ChoiceColumn(tuple(PagesFound)),
    },
    rows=(
        _stop_row(
            StoppedBy.MESSAGE,
            Exit(ExitKind.OWN_UP, "input", block_reason="input"),
            "the message cannot be taken as it is, and its sender can mend it",
        ),
        _stop_row(
            StoppedBy.ERROR,
            Exit(ExitKind.OWN_UP, "turn_error", TicketRule.YES, "error"),
            "something broke, which somebody has to look at",
        ),
        _stop_row(
            StoppedBy.UNSAFE,
            Exit(ExitKind.REFUSE, "guardian_refusal_unsafe", block_reason="moderation_unsafe"),
            "an unsafe message is refused, and nobody is called for it",
        ),
        _stop_row(
            StoppedBy.UNMODERATED,
            Exit(ExitKind.REFUSE, "moderation_unavailable", block_reason="moderation_unavailable"),
            "the check is down, and the message may be sent again",
        ),
        _stop_row(
            StoppedBy.DECLINED,
            Exit(ExitKind.DECLINE, block_reason="off_topic_or_spam"),
            "not what the assistant is for",
        ),
        _stop_row(StoppedBy.REFUSED, Exit(ExitKind.REFUSE, block_reason="guardian_block"), "an unsafe request"),
        _stop_row(
            StoppedBy.UNCLEAR, Exit(ExitKind.ASK), "the plan does not understand the request; it waits for the user"
        ),
        _stop_row(
            StoppedBy.PERSON,
            Exit(ExitKind.HAND_OFF, "hand_off_asked", TicketRule.YES),
            "who asks for a person gets one",
        ),
        _verdict_row(
            "secrets",
            {"last_action": one_of(LastAction.REDACT)},
            Exit(ExitKind.REFUSE, "sensitive_refusal", TicketRule.WIDE, "policy_violation"),
            "a refusal by policy calls nobody",
        ),
        _verdict_row(
            "denied",
            {"last_action": one_of(LastAction.REFUSE), "policy": _OF_POLICY},
            Exit(ExitKind.REFUSE, "policy_refusal", TicketRule.WIDE, "policy"),
            "a refusal by policy calls nobody",
        ),
        _verdict_row(
            "off-contract",
            {"last_action": one_of(LastAction.REFUSE), "policy": _FINE},
            Exit(ExitKind.REFUSE, "contract_refusal", TicketRule.YES, "contract"),
            "the material is there and the form is not: a person can write it",
        ),
        _verdict_row(
            "policy-person",
            {"last_action": one_of(LastAction.ESCALATE, LastAction.ASK, LastAction.NONE), "policy": _OF_POLICY},
            Exit(ExitKind.HAND_OFF, "hand_off_policy", TicketRule.YES),
            "the rules leave it to a person, or nobody could judge by them",
        ),
        _verdict_row(
            "unchecked-down",
            {"last_action": one_of(LastAction.ESCALATE, LastAction.NONE), "policy": _FINE, "sources_down": _YES},
            _UNASKED,
            "where nobody could look, nobody says that there is nothing",
        ),
        _verdict_row(
            "unchecked",
            {"last_action": one_of(LastAction.ESCALATE, LastAction.NONE), "policy": _FINE, "sources_down": _NO},
            _PERSON,
            "what could not be checked goes to a person",
        ),
        _verdict_row(
            "ask",
            {**_UNANSWERED, "question_lacks": _YES, "clarifications_left": _YES},
            Exit(ExitKind.ASK, "minimal_question"),
            "the question itself lacks something; it waits for the user",
        ),
        _verdict_row(
            "pages",
            {**_UNANSWERED, "question_lacks": _NO, "pages": _SURE},
            _PAGES,
            "not sure enough to state an answer",
        ),
        _verdict_row(
            "pages-asked-enough",
            {**_UNANSWERED, "question_lacks": _YES, "clarifications_left": _NO, "pages": _SURE},
            _PAGES,
            "asked often enough",
        ),
        _verdict_row(
            "nothing-down",
            {**_UNANSWERED, "question_lacks": _NO, "pages": _UNSURE, "sources_down": _YES},
            _UNASKED,
            "where nobody could look, nobody says that there is nothing",
        ),
        _verdict_row(
            "near",
            {**_UNANSWERED, "question_lacks": _NO, "pages": one_of(PagesFound.NEAR), "sources_down": _NO},
            _NEAR,
            "the nearest pages are often the right ones, and too unsure to do without a person",
        ),
        _verdict_row(
            "nothing",
            {**_UNANSWERED, "question_lacks": _NO, "pages": one_of(PagesFound.NONE), "sources_down": _NO},
            _PERSON,
            "nothing to show, and nothing to ask: a person must act",
        ),
        _verdict_row(
            "nothing-asked-enough",
            {**_UNANSWERED, "question_lacks": _YES, "clarifications_left": _NO, "pages": _UNSURE},
            _PERSON,
            "asked often enough, and nothing to show",
        ),
    ),
)
