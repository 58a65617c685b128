"""Progress of a running turn as text, never a word of a draft."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import cache
from math import floor, log10
from typing import Final

from assistant.turns.events import (
    Degraded,
    Judged,
    NodeFinished,
    NodeStarted,
    OnEvent,
    Searched,
    TurnEvent,
    Understood,
)
from contracts.calls import ModelCall, tokens_of
from contracts.enums import CallPurpose, Language, Outcome, RequestType, SGRAction
from contracts.result import Diagnostics, StructuredAgentResult
from language.figures.counted import count_noun
from language.patterns import read_toml


@cache
def phrases(language: Language) -> dict[str, str]:
    """Return the texts that the command line prints around an answer, in one language."""
    return read_toml("assistant", f"locales/{language}.toml")


def progress_lines(language: Language, write: Callable[[str], None]) -> OnEvent:
    """Return a receiver of a turn's events that writes a line for each notable one."""
    say = phrases(language)
    quiet = set[str]()

    def receive(event: TurnEvent) -> None:
        match event:
            case NodeStarted(node=node) if node in say and node not in quiet:
                write(f"… {say[node]}")
            case Understood():
                if event.request_type is RequestType.CASUAL:
                    quiet.update(("retrieve", "draft", "guardian_verify"))  # a greeting is not searched for
                if event.action is not SGRAction.GUARDIAN_BLOCK:
                    write(f"  {say['understood'].format(intent=event.intent)}")
            case Searched():
                found = count_noun(event.passages, say["passages"], language)
                write(f"  {say['searched'].format(sources=', '.join(event.sources) or '–', found=found)}")
            case Judged():
                write(f"  {say[f'verdict_{event.verdict}'].format(reasons=', '.join(event.reasons))}")
            case Degraded():
                write(f"  {say['degraded'].format(what=event.what)}")
            case _:
                pass

    return receive


def model_line(result: StructuredAgentResult, language: Language) -> str:
    """Return what language models cost a turn and what they brought, in one line; empty if none was asked."""
    asked = [call for call in result.diagnostics.calls if call.purpose in _OF_LANGUAGE_MODELS]
    if not asked:
        return ""
    say, tokens = phrases(language), tokens_of(asked)
    counted = tokens.get("prompt", 0) + tokens.get("completion", 0)
    return say["model_cost"].format(
        requests=count_noun(len(asked), say["model_requests"], language),
        tokens=f"{counted:,}".replace(",", " ") if tokens else "?",
        seconds=f"{sum(call.ms for call in asked) / 1000:.1f}",
        cost=f", {cost_text(result.diagnostics)}" if result.diagnostics.cost is not None else "",
        brought=say[f"model_{_brought(result, asked)}"],
    )


def cost_text(diagnostics: Diagnostics) -> str:
    """Return what a turn's models cost, with the currency; of small sums the digits that say something."""
    return money(diagnostics.cost or 0.0, diagnostics.currency)


_DIGITS: Final = 9
"""Of an amount behind the point, at most."""


def money(amount: float, currency: str) -> str:
    """Return an amount with its currency: two digits behind the point, of less than a unit two that are not 0."""
    least = 10.0**-_DIGITS
    digits = min(_DIGITS, 1 - floor(log10(amount))) if least <= amount < 1 else 2
    return f"{max(0.0, amount):.{digits}f} {currency}".strip()


def _brought(result: StructuredAgentResult, asked: Sequence[ModelCall]) -> str:
    from nodes.draft import WITHOUT_THE_MODEL

    useful = {call.purpose for call in asked if not call.fault}
    if any(call.purpose is CallPurpose.DRAFT for call in asked):
        if result.outcome is Outcome.ANSWERED:
            return "replaced" if WITHOUT_THE_MODEL in result.diagnostics.degraded else "drafted"
        if CallPurpose.DRAFT in useful and result.outcome not in (Outcome.CLARIFICATION, Outcome.ERROR):
            return "rejected"
    if useful & {CallPurpose.PLAN, CallPurpose.STATEMENT}:
        return "planned"
    return "checked" if CallPurpose.ENTAIL in useful else "failed"


_OF_LANGUAGE_MODELS: Final = frozenset({CallPurpose.PLAN, CallPurpose.DRAFT, CallPurpose.STATEMENT, CallPurpose.ENTAIL})


def path_line(event: NodeFinished) -> str:
    """Describe one finished node for an operator: its milliseconds, and the decisions with their table and row."""
    return f"{event.node:<17} {event.ms:>7.1f} ms  {event.summary}".rstrip()


def own_language() -> Language:
    """Return the language of the terminal's user, for lines that are not about a message."""
    locale = os.environ.get("LC_ALL") or os.environ.get("LC_MESSAGES") or os.environ.get("LANG") or ""
    return Language.RU if locale.lower().startswith("ru") else Language.EN
