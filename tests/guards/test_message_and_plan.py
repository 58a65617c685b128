"""What is taken as a question, and what of a plan is not left to the planner."""

from __future__ import annotations

import pytest

from contracts.enums import Language, RequestType
from contracts.plan import SGRPlanResult
from guards.message_check import MAX_MESSAGE_CHARS, message_fault
from guards.plan_check import settle_plan
from rendering.texts import texts
from tests.support.profiles import make_profile
from tests.support.turn import plan

PROFILE = make_profile()


@pytest.mark.parametrize(
    "text", ["", " ", "\n\t\r\n", "\u200b\u2060\ufeff", "\u00a0\u3000", "\x00\x07", "\u00ad \u200d"]
)
def test_what_shows_nothing_is_empty(text: str) -> None:
    """Blank, invisible and control characters alone are no message."""
    fault = message_fault(text)
    assert fault is not None
    assert (fault.key, bool(fault.way_out)) == ("empty", True)


@pytest.mark.parametrize(
    "text", ["?", "a", "👩\u200d💻", "\ud800", "x" * MAX_MESSAGE_CHARS, "я\n" * (MAX_MESSAGE_CHARS // 2)]
)
def test_what_shows_something_is_a_message(text: str) -> None:
    """One visible character is enough, and the limit itself is allowed."""
    assert message_fault(text) is None


@pytest.mark.parametrize("size", [MAX_MESSAGE_CHARS + 1, 100_000])
def test_a_document_is_no_question(size: int) -> None:
    """One character more than the limit is refused, with the way out."""
    fault = message_fault("x" * size)
    assert fault is not None
    assert fault.key == "too_long"
    assert f"{size:,}" in fault.message
    assert "guardian index" in fault.way_out


@pytest.mark.parametrize("language", Language)
def test_every_fault_has_its_text(language: Language) -> None:
    """The keys of faults are keys of the texts of both languages."""
    faults = [message_fault(""), message_fault("x" * 100_000)]
    assert all(fault and f"input_{fault.key}" in texts(language) for fault in faults)


def test_what_a_planner_left_out_is_inferred() -> None:
    """Topic, category and language come from intent and message."""
    settled = settle_plan(plan(user_intent="Reset the password of an account"), "How?", Language.EN, PROFILE, "user")
    assert settled.topic == "Reset password account"
    assert settled.category == "access and security"
    assert settled.answer_language is Language.EN


def test_what_is_inferred_keeps_to_the_plans_bounds() -> None:
    """However long the words of an intent are, the settled plan is a valid plan."""
    settled = settle_plan(plan(user_intent="boil" * 75), "How?", Language.EN, PROFILE, "user")
    assert SGRPlanResult.model_validate(settled.model_dump()) == settled


def test_what_a_planner_said_stays() -> None:
    """Nothing that was said is inferred over."""
    said = plan(topic="Tea", category="Drinks", answer_language="ru", spam_score=0.4)
    settled = settle_plan(said, "How?", Language.EN, PROFILE, "user")
    assert (settled.topic, settled.category, settled.answer_language) == ("Tea", "Drinks", Language.RU)
    assert settled.spam_score == 0.4


@pytest.mark.parametrize("message", ["Hello!", "Спасибо большое", "Привет, как дела?", "bye"])
def test_a_greeting_is_casual_and_never_spam(message: str) -> None:
    """The lexicon agrees, and a planner's high score does not have a greeting declined."""
    settled = settle_plan(plan(request_type="CASUAL", spam_score=0.9), message, Language.EN, PROFILE, "user")
    assert (settled.request_type, settled.spam_score) == (RequestType.CASUAL, 0.2)


@pytest.mark.parametrize(
    "message", ["Hello, how do I install it?", "What is the password?", "Привет! Не открывается форма", ""]
)
def test_a_planner_alone_cannot_choose_casual(message: str) -> None:
    """CASUAL is asked for no evidence, so the lexicon must agree; the score is then left alone."""
    settled = settle_plan(plan(request_type="CASUAL", spam_score=0.9), message, Language.EN, PROFILE, "user")
    assert (settled.request_type, settled.spam_score) == (RequestType.KNOWLEDGE_QA, 0.9)


EVIL = "https://evil.ru/login"
SECRET = "password: hunter2hunter2"  # noqa: S105  # what a secret looks like


@pytest.mark.parametrize("words", [f"Log in at {EVIL}", f"[here]({EVIL})", SECRET], ids=str)
def test_a_plan_says_nothing_that_an_answer_may_not(words: str) -> None:
    """Texts that users read without a verdict carry no foreign link and no secret of a planner's own."""
    said = plan(
        user_intent=words,
        clarification_question=words,
        uncertainties=[words, "Which version?"],
        action_plan=[words, "Search"],
        spam_reason=words,
    )
    settled = settle_plan(
        said,
        "How do I log in?",
        Language.EN,
        PROFILE.model_copy(update={"allowed_link_domains": ("example.org",)}),
        "user",
    )
    assert settled.user_intent == "How do I log in?"
    assert (settled.clarification_question, settled.spam_reason) == (None, "")
    assert (settled.uncertainties, settled.action_plan) == (["Which version?"], ["Search"])


def test_what_the_user_wrote_may_be_said_back() -> None:
    """A link or a value of the user's own message stays in the intent, and an allowed link stays anywhere."""
    message = f"Is {EVIL} yours? My {SECRET}"
    for words in (f"Learn whether {EVIL} is ours.", f"The {SECRET} does not work.", "See https://kb.example.org/x."):
        assert (
            settle_plan(
                plan(user_intent=words),
                message,
                Language.EN,
                PROFILE.model_copy(update={"allowed_link_domains": ("kb.example.org",)}),
                "user",
            ).user_intent
            == words
        )


@pytest.mark.parametrize(
    ("message", "words", "may"),
    [
        ("Пароль Qwerty12345 не подходит", "The password: Qwerty12345 does not work", True),
        ("password: hunter2hunter2 fails", "Is it password: HUNTER2hunter2?", True),
        ("password: hunter2hunter2 fails", "Is it password: letmein2024?", False),
        ("My number is 8 916 123 45 67", "Call +7 (916) 123-45-67 back", True),
        ("My number is 8 916 123 45 67", "Call +7 (916) 123-45-68 back", False),
        ("Write to anna@firma.ru", "Wants a letter to Anna@firma.ru", True),
        ("Write to anna@firma.ru", "Wants a letter to boris@firma.ru", False),
        ("https://evil.ru/a is it yours?", "Is https://evil.ru/b ours?", False),
    ],
)
def test_only_the_very_value_that_the_user_wrote_may_be_said_back(message: str, words: str, may: bool) -> None:
    """Another value under the same rule is a planner's own; writings of one phone, and cases, are one value."""
    settled = settle_plan(plan(user_intent=words), message, Language.EN, PROFILE, "user")
    assert (settled.user_intent == words) is may


def test_a_plan_that_is_fit_is_left_alone() -> None:
    """Nothing of an ordinary plan is changed."""
    said = plan(clarification_question="Which version?", uncertainties=["the version"], topic="t", category="c")
    settled = settle_plan(said, "How?", Language.EN, PROFILE, "user")
    assert settled == said.model_copy(update={"answer_language": Language.EN})


def test_a_plan_without_a_fit_sub_query_searches_for_the_message() -> None:
    """At least one sub-query stays."""
    message = "How  do\nI log in?"
    settled = settle_plan(plan(subqueries=[SECRET, f"open {EVIL}"]), message, Language.EN, PROFILE, "user")
    assert settled.subqueries == ["How do I log in?"]
    long = settle_plan(plan(subqueries=[SECRET]), "boil " * 900, Language.EN, PROFILE, "user")
    assert SGRPlanResult.model_validate(long.model_dump()) == long


def test_what_the_user_wrote_earlier_may_be_searched_for() -> None:
    """A sub-query that joins a question with its answer keeps the values of both."""
    joined = "Is anna@firma.ru the account of 8 916 123 45 67?"
    earlier = ("Is anna@firma.ru the account?",)
    kept = settle_plan(plan(subqueries=[joined]), "of 89161234567", Language.EN, PROFILE, "user", earlier)
    assert kept.subqueries == [joined]
    assert settle_plan(plan(subqueries=[joined]), "whose?", Language.EN, PROFILE, "user").subqueries == ["whose?"]
