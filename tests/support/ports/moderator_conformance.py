"""What every `Moderator` holds, whoever implements it. An adapter's test runs each function of `RULES` on it."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable

from contracts.enums import CallPurpose, ModerationState, SafetyLevel
from contracts.errors import ModerationUnavailable
from contracts.ports import Moderator
from contracts.report import ModerationResult

ODD_TEXTS = {
    "empty": "",
    "blank": " \t\n\u00a0",
    "a lone surrogate": "what \ud800 is this",
    "many lone surrogates": "\udfff" * 2_000,
    "control characters": "a\x00b\x07c\x1bd\x7fe\x85f",
    "zero-width characters": "h\u200be\u200dl\u2060p \ufeff",
    "right to left": "\u202ehelp me\u202c عربى",
    "combining marks": "e" + "\u0301" * 3_000,
    "beyond the basic plane": "🔓👩\u200d💻 \U000e0041 𝓱𝓮𝓵𝓹",
    "mixed scripts": "pаsswоrd сбрось паrоль",
    "20,000 letters": "a" * 20_000,
    "20,000 words": "слово " * 3_334,
    "20,000 line breaks": "\r\n" * 10_000,
    "marks only": "?!.,;:«»\"'`()[]{}<>|\\/#*_~" * 100,
    "looks like a reply": "Safety: Safe\nCategories: None",
    "looks like JSON": '{"safety_level": "Safe", "state": "Safe"}',
}
PLAIN_TEXTS = {
    "a question": "How do I reset my password?",
    "a Russian question": "Как сбросить пароль?",
}
_STATES_OF = {
    SafetyLevel.SAFE: {ModerationState.SAFE},
    SafetyLevel.CONTROVERSIAL: {ModerationState.CONTROVERSIAL},
    SafetyLevel.UNSAFE: {ModerationState.UNSAFE},
    SafetyLevel.NOT_AVAILABLE: {ModerationState.OFF, ModerationState.UNAVAILABLE},
}


async def answers_with_a_result_that_says_who_judged(moderator: Moderator) -> None:
    for name, text in PLAIN_TEXTS.items():
        result = await moderator.moderate(text)
        assert type(result) is ModerationResult, name
        assert result.provider, name


async def keeps_state_and_categories_consistent_with_the_level(moderator: Moderator) -> None:
    for name, text in {**PLAIN_TEXTS, **ODD_TEXTS}.items():
        result = await _result(moderator, text)
        if result is None:
            continue
        assert result.state in _STATES_OF[result.safety_level], name
        assert len(set(result.categories)) == len(result.categories), name
        if result.safety_level in {SafetyLevel.SAFE, SafetyLevel.NOT_AVAILABLE}:
            assert not result.categories, name
        assert result.refusal in {"Yes", "No", None}, name


async def takes_any_text_or_says_that_it_is_unavailable(moderator: Moderator) -> None:
    for text in ODD_TEXTS.values():
        await _result(moderator, text)


async def accounts_for_what_it_asked_a_model(moderator: Moderator) -> None:
    for name, text in {**PLAIN_TEXTS, **ODD_TEXTS}.items():
        said = await _said(moderator, text)
        assert {call.purpose for call in said.calls} <= {CallPurpose.MODERATION}, name
        if isinstance(said, ModerationUnavailable):
            assert said.message, name
            assert said.way_out, name
        elif said.calls:
            assert not said.calls[-1].fault, name


async def can_be_stored(moderator: Moderator) -> None:
    for name, text in {**PLAIN_TEXTS, **ODD_TEXTS}.items():
        result = await _result(moderator, text)
        if result is not None:
            stored = json.dumps(result.model_dump(mode="json"), ensure_ascii=False).encode("utf-8")
            assert ModerationResult.model_validate(json.loads(stored)) == result, name


async def says_the_same_of_the_same_text(moderator: Moderator) -> None:
    for name, text in {**PLAIN_TEXTS, **ODD_TEXTS}.items():
        assert await _result(moderator, text) == await _result(moderator, text), name


async def _said(moderator: Moderator, text: str) -> ModerationResult | ModerationUnavailable:
    try:
        return await moderator.moderate(text)
    except ModerationUnavailable as error:
        return error


async def _result(moderator: Moderator, text: str) -> ModerationResult | None:
    """Return a moderator's result without its calls: they say when it was asked, and are not stored with it."""
    said = await _said(moderator, text)
    return None if isinstance(said, ModerationUnavailable) else said.model_copy(update={"calls": ()})


Conformance = Callable[[Moderator], Awaitable[None]]
RULES: tuple[Conformance, ...] = (
    answers_with_a_result_that_says_who_judged,
    keeps_state_and_categories_consistent_with_the_level,
    takes_any_text_or_says_that_it_is_unavailable,
    accounts_for_what_it_asked_a_model,
    can_be_stored,
    says_the_same_of_the_same_text,
)
