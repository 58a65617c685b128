"""Every exception of ours.

    GuardianError                 a message for people, and the way out of it
    ├── InputError                the user's message cannot be taken as it is
    ├── ConfigError               a setting or a profile is wrong
    │   └── UnknownProfile
    ├── NotJudged                 a draft is not the one that was judged
    ├── PatternTooSlow            an expression of a profile takes too long on a text
    ├── DecisionError             a decision table was asked what it does not cover
    │   └── TableError            a decision table is written wrongly (raised when it is built)
    ├── KnowledgeError            the knowledge base cannot be read or written
    │   ├── NoIndex
    │   ├── UnknownArticle
    │   └── IndexBusy             another process is writing the index
    ├── PortError                 something outside could not be asked; a node may try again
    │   ├── ModerationUnavailable
    │   ├── PlanningFailed
    │   ├── SourceUnavailable
    │   ├── DraftingFailed
    │   ├── EntailmentUnavailable
    │   ├── HandOffFailed          a hand-off could not even be kept
    │   └── ServerFault           a server or its reply is at fault; adapters turn it into one of the above
    └── ThreadError               a conversation cannot be used now
        ├── ThreadBusy
        ├── TurnStopped
        ├── ServerClosing
        └── UnknownThread

Each says what happened in its first argument and how to get out of it in `way_out`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from contracts.enums import FaultKind

if TYPE_CHECKING:
    from contracts.calls import ModelCall


class GuardianError(Exception):
    """Something went wrong that a person can mend.

    Args:
        message: What happened, in one sentence.
        way_out: What to do about it, in one sentence; may be empty.
    """

    def __init__(self, message: str, way_out: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.way_out = way_out

    def __str__(self) -> str:
        return f"{self.message} {self.way_out}".strip()


class InputError(GuardianError):
    """The user's message cannot be taken as it is.

    Args:
        key: Names the fault for the texts of both languages (`input_<key>`); empty where only programs read it.
    """

    def __init__(self, message: str, way_out: str = "", key: str = "") -> None:
        super().__init__(message, way_out)
        self.key = key


class ConfigError(GuardianError):
    """A setting or a profile is wrong."""


class UnknownProfile(ConfigError):
    """No profile has that name."""


class NotJudged(GuardianError):
    """A draft, its evidence or its turn is not what the Guardian's verdict is about."""


class PatternTooSlow(GuardianError):
    """A regular expression of a profile takes too long on a text, so that what it forbids could not be looked for."""


class DecisionError(GuardianError):
    """A decision table was asked something outside its columns; the caller must take its safe path."""


class TableError(DecisionError):
    """A decision table is written wrongly."""


class KnowledgeError(GuardianError):
    """The knowledge base cannot be read or written."""


class NoIndex(KnowledgeError):
    """Nothing has been indexed yet."""


class UnknownArticle(KnowledgeError):
    """No document that may be read has that name."""


class IndexBusy(KnowledgeError):
    """Another process is writing the index."""


class PortError(GuardianError):
    """Something outside the graph could not be asked.

    Args:
        calls: The requests to models that led to it.
        tried: Whether the adapter has tried again already, within its own deadline; then no node does.
    """

    def __init__(
        self, message: str, way_out: str = "", *, calls: tuple[ModelCall, ...] = (), tried: bool = False
    ) -> None:
        super().__init__(message, way_out)
        self.calls = calls
        self.tried = tried


class ModerationUnavailable(PortError):
    """The moderator could not be asked, or its reply could not be read."""


class PlanningFailed(PortError):
    """No plan could be had."""


class SourceUnavailable(PortError):
    """An evidence source could not be asked, which is not the same as finding nothing."""


class DraftingFailed(PortError):
    """No draft could be had."""


class EntailmentUnavailable(PortError):
    """The entailment checker could not be asked, or its reply could not be read."""


class HandOffFailed(PortError):
    """A hand-off could be neither delivered nor kept for later."""


class ServerFault(PortError):
    """A request was not answered, or not with anything that can be used.

    Args:
        kind: What was wrong; `unreadable` where it is not said.
        http_status: Of the reply; `None` where there was none.
        retry_after_s: How long the server asks to wait, in seconds; `None` where it does not say.
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
    """The process ends and takes no more turns."""


class UnknownThread(ThreadError):
    """No conversation has that id."""
