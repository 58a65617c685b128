"""Errors as network callers see them: in the caller's language, without the server's internals.

The text of an internal error may name files, addresses and programs of the server's machine. It goes to standard error,
for the people who run the server. Callers, including operators, get only the kind of error.
"""

from __future__ import annotations

import logging
from collections.abc import Generator
from contextlib import contextmanager
from typing import Final

from assistant.turns.progress import phrases
from contracts.enums import Language
from contracts.errors import (
    BudgetSpent,
    ConfigError,
    DecisionError,
    GuardianError,
    InputError,
    KnowledgeError,
    PortError,
    ServerClosing,
    SourceUnavailable,
    ThreadBusy,
    ThreadError,
    TurnStopped,
    UnknownArticle,
    UnknownThread,
)
from guards.message_check import MAX_MESSAGE_CHARS
from rendering.texts import say

_logger: Final = logging.getLogger(__name__)

_WORDED: Final[dict[type[GuardianError], str]] = {
    ThreadBusy: "http_busy",
    TurnStopped: "http_stopped",
    ServerClosing: "http_closing",
    UnknownThread: "http_unknown",
}
"""Errors about what the caller sent or asked for, by their texts."""
_INSIDE: Final[dict[type[GuardianError], str]] = {
    KnowledgeError: "http_knowledge",
    SourceUnavailable: "http_knowledge",
    ThreadError: "http_storage",
    PortError: "http_inside",
    ConfigError: "http_inside",
    DecisionError: "http_inside",
}
"""Errors of the server's own, by the texts that stand in place of what they say; the nearest ancestor counts."""


class InsideFault(GuardianError):
    """An internal error of the server, as a caller may see it.

    Args:
        kind: The class of the error that it replaces.
    """

    def __init__(self, message: str, way_out: str, kind: type[GuardianError]) -> None:
        super().__init__(message, way_out)
        self.kind = kind


def for_caller(error: GuardianError, language: Language) -> GuardianError:
    """Return an error as its caller may see it; write an internal one to the log."""
    if isinstance(error, InputError) and error.key:
        return InputError(say(language, f"input_{error.key}", limit=f"{MAX_MESSAGE_CHARS:,}"), key=error.key)
    if isinstance(error, BudgetSpent):
        said = _text(f"http_budget_{error.whose}", language)
        return BudgetSpent(*said, whose=error.whose, retry_after_s=error.retry_after_s)
    if name := _WORDED.get(type(error)):
        return type(error)(*_text(name, language))
    return hidden(error, language)


def hidden(error: GuardianError, language: Language) -> GuardianError:
    """Return an error; if it is internal, without its text, which goes to the log."""
    if isinstance(error, InsideFault | UnknownArticle | BudgetSpent) or type(error) in _WORDED:
        return error
    name = next((_INSIDE[kind] for kind in type(error).__mro__ if kind in _INSIDE), "")
    if not name:
        return error
    _logger.error("%s: %s", type(error).__name__, error)
    return InsideFault(*_text(name, language), type(error))


def _text(name: str, language: Language) -> tuple[str, str]:
    message, _, way_out = phrases(language)[name].partition("|")
    return message, way_out


@contextmanager
def told_in(language: Language) -> Generator[None]:
    """Convert every error of this project as `for_caller` does."""
    try:
        yield
    except GuardianError as error:
        raise for_caller(error, language) from error
