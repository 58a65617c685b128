"""Every exception of ours.

    GuardianError                 a message for people, and how to fix the fault
    ├── InputError                the user's message is invalid
    ├── ConfigError               a setting or a profile is wrong
    │   └── UnknownProfile
    ├── NotJudged                 the verdict is about another draft
    ├── PatternTooSlow            an expression of a profile takes too long on a text
    ├── DecisionError             a decision table does not cover the inputs
    │   └── TableError            a decision table is invalid (raised when it is built)
    ├── KnowledgeError            the knowledge base cannot be read or written
    │   ├── NoIndex
    │   ├── UnknownArticle
    │   └── IndexBusy             another process is writing the index
    ├── PortError                 something outside failed or did not answer; a node may retry
    │   ├── ModerationUnavailable
    │   ├── PlanningFailed
    │   ├── SourceUnavailable
    │   ├── DraftingFailed
    │   ├── EntailmentUnavailable
    │   ├── HandOffFailed         a hand-off was neither delivered nor kept
    │   └── ServerFault           a server or its reply is at fault; adapters convert it into one of the above
    └── ThreadError               a conversation cannot be used now
        ├── ThreadBusy
        ├── TurnStopped
        ├── ServerClosing
        ├── BudgetSpent           language models have cost what they may in a day
        └── UnknownThread

The first argument says what happened, and `way_out` says how to fix it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from contracts.enums import FaultKind

if TYPE_CHECKING:
    from contracts.calls import ModelCall


class GuardianError(Exception):
    """The base of our exceptions: a fault that a person can fix.

    Args:
        message: What happened, in one sentence.
        way_out: How to fix it, in one sentence; may be empty.
    """

    def __init__(self, message: str, way_out: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.way_out = way_out

    def __str__(self) -> str:
        return f"{self.message} {self.way_out}".strip()


class InputError(GuardianError):
    """The user's message is invalid.

    Args:
        key: Names the fault for the texts of both languages (`input_<key>`); empty if only programs read it.
    """

    def __init__(self, message: str, way_out: str = "", key: str = "") -> None:
        super().__init__(message, way_out)
        self.key = key


class ConfigError(GuardianError):
    """A setting or a profile is wrong."""


class UnknownProfile(ConfigError):
    """No profile has that name."""


class NotJudged(GuardianError):
    """The Guardian's verdict is about another draft, other evidence or another turn."""


class PatternTooSlow(GuardianError):
    """A regular expression of a profile takes too long on a text, so a search for forbidden content did not end."""


class DecisionError(GuardianError):
    """A decision table does not cover the inputs; the caller must take its safe path."""


class TableError(DecisionError):
    """A decision table is written wrongly."""


class KnowledgeError(GuardianError):
    """The knowledge base cannot be read or written."""


class NoIndex(KnowledgeError):
    """Nothing has been indexed yet."""


class UnknownArticle(KnowledgeError):
    """No readable document has that name."""


class IndexBusy(KnowledgeError):
    """Another process is writing the index."""


class PortError(GuardianError):
    """Something outside the graph failed or did not answer.

    Args:
        calls: The requests to models before the failure.
        tried: Whether the adapter has already retried within its own deadline; if so, no node retries.
    """

    def __init__(
        self, message: str, way_out: str = "", *, calls: tuple[ModelCall, ...] = (), tried: bool = False
    ) -> None:
        super().__init__(message, way_out)
        self.calls = calls
        self.tried = tried


class ModerationUnavailable(PortError):
    """The moderator did not answer, or its reply is unreadable."""


class PlanningFailed(PortError):
    """The planner returned no plan."""


class SourceUnavailable(PortError):
    """An evidence source did not answer, which is not the same as finding nothing."""


class DraftingFailed(PortError):
    """The drafter returned no draft."""


class EntailmentUnavailable(PortError):
    """The entailment checker did not answer, or its reply is unreadable."""


class HandOffFailed(PortError):
    """A hand-off was neither delivered nor kept for later."""


class ServerFault(PortError):
    """A server did not answer a request, or its reply is unusable.

    Args:
        kind: What was wrong; `unreadable` by default.
        http_status: Of the reply; `None` if there was none.
        retry_after_s: How long the server asks to wait, in seconds; `None` if it does not say.
    """

    def __init__(
        self,
        message: str,
        way_out: str = "",
        *,
        kind: FaultKind | None = None,
        http_status: int | None = None,
        retry_after_s: float | None = None,
        calls: tuple[ModelCall, ...] = (),
    ) -> None:
        super().__init__(message, way_out, calls=calls, tried=True)
        self.kind = kind or FaultKind.UNREADABLE
        self.http_status = http_status
        self.retry_after_s = retry_after_s


class ThreadError(GuardianError):
    """A conversation cannot be used now."""


class ThreadBusy(ThreadError):
    """Another turn of the same thread is running."""


class TurnStopped(ThreadError):
    """The turn was stopped before it had a result."""


class ServerClosing(ThreadError):
    """The process is closing and accepts no more turns."""


class BudgetSpent(ThreadError):
    """Language models have cost as much as they may in a day; a question is not begun.

    Args:
        message: What happened, in one sentence.
        way_out: How to fix it, in one sentence; may be empty.
        whose: The budget: `day` for all callers together, `key`, `visitor` or `address`.
        retry_after_s: Seconds until the day ends, in UTC; at least 1.
    """

    def __init__(self, message: str, way_out: str = "", *, whose: str = "day", retry_after_s: int = 1) -> None:
        super().__init__(message, way_out)
        self.whose = whose
        self.retry_after_s = retry_after_s


class UnknownThread(ThreadError):
    """No conversation has that id."""
