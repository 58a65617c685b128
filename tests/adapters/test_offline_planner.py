"""The offline planner: a plan from the lexicon, the index and the profile."""

from __future__ import annotations

import re
import tomllib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.planning.offline import OfflinePlanner
from contracts.calls import ModelCall
from contracts.enums import Language, ModerationState, Outcome, RequestType, SafetyLevel, SGRAction
from contracts.plan import SGRPlanResult
from contracts.ports import Exchange, PlanRequest
from contracts.report import ModerationResult
from language.words import detect
from tests.support.ports.probes import Probe
from tests.support.turn import PROFILE

CYRILLIC = re.compile("[а-яё]", re.IGNORECASE)


async def planned(
    text: str, topic: float = 0.8, language: Language = Language.EN, words: tuple[str, ...] = (), **request: Any
) -> SGRPlanResult:
    scope = PROFILE.scope.model_copy(update={"words": words})
    planner = OfflinePlanner(Probe(topic), PROFILE.model_copy(update={"scope": scope}))
    return (await planner.plan(PlanRequest(text, language, **request))).plan


async def test_a_question_on_topic_goes_on() -> None:
    """What the documents speak of is in scope, understood, and searched for."""
    plan = await planned("How do I boil water?", 0.8)
    assert (plan.action, plan.request_type) == (SGRAction.NORMAL, RequestType.HOWTO_POLICY)
    assert plan.spam_score < 0.5
    assert plan.intent_confidence >= 0.8
    assert plan.subqueries == ["How do I boil water?"]
    assert (plan.uncertainties, plan.clarification_question, plan.wants_human) == ([], None, False)


async def test_a_question_off_topic_is_declined() -> None:
    """What no document speaks of reaches the threshold of spam."""
    plan = await planned("Who won the football match?", 0.05)
    assert plan.action is SGRAction.BLOCK
    assert plan.spam_score >= PROFILE.thresholds.spam


@pytest.mark.parametrize("text", ["Which recipe is best for soup?", "Какая завтра погода?"])
async def test_everyday_life_is_off_topic_where_the_documents_hardly_speak_of_it(text: str) -> None:
    """A doubtful message about such a subject is declined; one that the documents know goes on."""
    assert [(await planned(text, topic)).action for topic in (0.45, 0.55)] == [SGRAction.BLOCK, SGRAction.NORMAL]
    assert (await planned("Which teapot is best for soup?", 0.45, words=("teapot",))).action is SGRAction.NORMAL


@pytest.mark.parametrize(
    "text",
    [
        "Does it support SSO with SAML?",
        "Is there a dark mode?",
        "Does your app work on my iPhone?",
        "Hello! Can it run on a Raspberry Pi? Does it have an API?",
        "Поддерживает ли он SSO через SAML?",
        "Есть ли тёмная тема?",
        "Здравствуйте! А работает ли приложение с Kubernetes?",
    ],
)
async def test_a_feature_that_no_document_speaks_of_is_on_topic(text: str) -> None:
    """The documents need not speak of what the product lacks, so the question is searched for and ends as not found."""
    plan = await planned(text, 0.0, language=detect(text))
    assert plan.action is SGRAction.NORMAL
    assert plan.spam_score < PROFILE.thresholds.spam
    assert plan.intent_confidence >= 0.8


@pytest.mark.parametrize(
    ("before", "text"),
    [
        ([], "I bought a car. Does it support snow chains?"),
        ([], "My neighbour has an oven. Can it bake bread?"),
        ([], "Can it cook dinner?"),
        ([], "Is there life on Mars?"),
        ([], "Does it snow in Paris?"),
        ([], "Does it support SAML? And who won the football match?"),
        ([], "Есть ли жизнь на Марсе?"),
        ([], "У меня есть сосед. Он поддерживает Спартак?"),
        ([("Which tablet is the best?", Outcome.DECLINED)], "Does it have a mobile app?"),
        ([("Кто победил вчера?", Outcome.DECLINED)], "Он поддерживает клуб?"),
    ],
)
async def test_what_may_be_about_something_else_is_as_far_off_topic_as_before(
    before: list[tuple[str, Outcome]], text: str
) -> None:
    """A thing that was told of, a talk about something else, everyday life and the world are not the product."""
    history = tuple(
        exchange
        for said, outcome in before
        for exchange in (Exchange(role="user", text=said), Exchange(role="assistant", text="No.", outcome=outcome))
    )
    plan = await planned(text, 0.0, language=detect(text), history=history)
    assert plan.action is SGRAction.BLOCK


@pytest.mark.parametrize(
    ("before", "text", "action"),
    [
        (["Does it support SAML?"], "And LDAP?", SGRAction.NORMAL),
        (["Есть ли тёмная тема?", "А API?"], "А как насчёт LDAP?", SGRAction.NORMAL),
        (["How do I boil water?"], "And LDAP?", SGRAction.BLOCK),
        (["Does it support SAML?"], "And pizza?", SGRAction.BLOCK),
        (["Does it support SAML?"], "And who won the football match yesterday?", SGRAction.BLOCK),
        (["Which tablet is the best?", "How do I boil water?"], "Does it support SAML?", SGRAction.NORMAL),
    ],
)
async def test_another_feature_may_be_named_alone(before: list[str], text: str, action: SGRAction) -> None:
    """Behind a question for a feature, and only there; a talk about something else is over once the product is the subject."""
    history = tuple(
        exchange
        for said in before
        for exchange in (
            Exchange(role="user", text=said),
            Exchange(
                role="assistant", text="So.", outcome=Outcome.DECLINED if "tablet" in said else Outcome.HANDED_OFF
            ),
        )
    )
    assert (await planned(text, 0.0, language=detect(text), history=history)).action is action


@pytest.mark.parametrize(
    ("before", "outcome"),
    [
        ("How do I boil water?", Outcome.ANSWERED),
        ("How do I boil milk?", Outcome.HANDED_OFF),
        ("Does it support SAML?", Outcome.DECLINED),
        ("It does not work", Outcome.CLARIFICATION),
        ("Hello!", Outcome.ANSWERED),
    ],
)
async def test_a_feature_is_asked_for_after_others(before: str, outcome: Outcome) -> None:
    """A talk about the product, whether it was answered or not, leaves "it" the product."""
    history = (Exchange(role="user", text=before), Exchange(role="assistant", text="So.", outcome=outcome))
    assert (await planned("Does it work with LDAP?", 0.0, history=history)).action is SGRAction.NORMAL


async def test_the_spam_score_falls_as_the_topic_rises() -> None:
    """A better topic never scores worse, both ends are within 0 to 1."""
    scores = [(await planned("Who won the match?", n / 20)).spam_score for n in range(21)]
    assert scores == sorted(scores, reverse=True)
    assert scores[0] >= 0.9
    assert scores[-1] == 0.0


async def test_words_of_the_scope_put_a_message_in_scope() -> None:
    """A word of the profile, in any form, and the product's name are enough, whatever the index says."""
    for text in ("Which teapots are there?", "Is Kettle good?"):
        plan = await planned(text, 0.0, words=("teapot",))
        assert plan.spam_score <= 0.3
        assert plan.action is SGRAction.NORMAL


@pytest.mark.parametrize("text", ["Hello!", "Спасибо большое!", "Как дела?", "bye"])
async def test_a_greeting_is_casual_and_no_spam(text: str) -> None:
    """No index knows a greeting, and nobody is turned away for one."""
    plan = await planned(text, 0.0)
    assert (plan.request_type, plan.spam_score, plan.action) == (RequestType.CASUAL, 0.0, SGRAction.NORMAL)
    assert plan.action_plan
    assert len(plan.action_plan) == 1


@pytest.mark.parametrize("language", Language)
@pytest.mark.parametrize(
    "text", ["It does not work", "не открывается", "Ошибка, помогите!", "???", "hm", "5", "A\n\n#N/A", "тест"]
)
async def test_a_message_without_an_object_is_asked_about(text: str, language: Language) -> None:
    """A real question with its gap, in the language asked for; nothing is declined for being short."""
    plan = await planned(text, 0.0, language)
    if plan.spam_score >= PROFILE.thresholds.spam:
        assert text in ("???", "hm")  # marks alone are gibberish, a foreign word is foreign
        return
    assert plan.action is SGRAction.CLARIFY
    assert plan.intent_confidence < PROFILE.thresholds.confidence
    assert len(plan.uncertainties) == 1
    assert plan.clarification_question is not None
    assert plan.clarification_question.endswith("?")
    for shown in (plan.clarification_question, plan.uncertainties[0]):
        assert bool(CYRILLIC.search(shown)) == (language is Language.RU)


@pytest.mark.parametrize("text", ["Please connect me to a person", "Позовите оператора, форма не открывается"])
async def test_who_asks_for_a_person_is_understood(text: str) -> None:
    """Whatever else is in the message, the wish is clear and no spam."""
    plan = await planned(text, 0.0)
    assert plan.wants_human is True
    assert plan.spam_score < 0.5
    assert plan.intent_confidence >= 0.7


@pytest.mark.parametrize(
    "text", ["Make money fast with passive income", "Казино https://win.test", "zxcvb qwrtp sdfgh", "aaaaaaaaaaaa"]
)
async def test_advertising_and_gibberish_are_spam_whatever_the_index_says(text: str) -> None:
    """The rules come first."""
    plan = await planned(text, 1.0, words=("money", "казино"))
    assert (plan.spam_score, plan.action) == (0.95, SGRAction.BLOCK)


@pytest.mark.parametrize("level", [SafetyLevel.UNSAFE, SafetyLevel.CONTROVERSIAL, SafetyLevel.SAFE])
async def test_what_moderation_found_unsafe_is_proposed_to_be_refused(level: SafetyLevel) -> None:
    """Unsafe is; a doubt is not the offline planner's to confirm, for it understands nothing."""
    moderation = ModerationResult(safety_level=level, state=ModerationState(level.value))
    plan = await planned("How do I boil water?", moderation=moderation)
    assert (plan.action is SGRAction.GUARDIAN_BLOCK) == (level is SafetyLevel.UNSAFE)


@pytest.mark.parametrize(
    ("text", "queries"),
    [
        ("How do I boil water?", ["How do I boil water?"]),
        ("How do I boil water? Where is the lid kept?", ["How do I boil water?", "Where is the lid kept?"]),
        ("How do I boil water and how do I pour tea?", ["How do I boil water", "how do I pour tea?"]),
        ("Hello! How do I boil water?", ["How do I boil water?"]),
        ("Привет!\nКак вскипятить воду?\nСпасибо!", ["Как вскипятить воду?"]),
        ("How do I boil water?\nHow do I boil water?", ["How do I boil water?"]),
        ("The kettle leaks water.\nWhat now?", ["The kettle leaks water. What now?"]),
    ],
)
async def test_a_message_is_split_into_its_questions(text: str, queries: list[str]) -> None:
    """One query a question, greetings on lines of their own left out, repeats once, fragments joined."""
    assert (await planned(text)).subqueries == queries


STORY = (
    "Good morning, we bought four kettles in spring and my colleague who knew them well has left the company since. "
    "Two of them whistle all night, which nobody here likes."
)


@pytest.mark.parametrize(
    ("asked", "query"),
    [
        ("How do I clean the spout of a kettle?", "How do I clean the spout of a kettle?"),
        ("How is this stopped?", "Two of them whistle all night, which nobody here likes. How is this stopped?"),
    ],
)
async def test_a_story_is_searched_for_by_the_question_at_its_end(asked: str, query: str) -> None:
    """With the sentence before the question where that names too little to be found by itself."""
    assert (await planned(f"{STORY} {asked}")).subqueries == [query]
    short = query if query == asked else f"I have two kettles. {asked}"
    assert (await planned(f"I have two kettles. {asked}")).subqueries == [short]


async def test_a_story_is_on_topic_where_one_of_its_sentences_is() -> None:
    """Users tell what happened before they ask, and the question alone may say little."""

    class Knows:
        async def on_topic(self, text: str, made: list[ModelCall] | None = None) -> float:
            return 0.9 if text.startswith("Two of them") else 0.1

        async def mend(self, text: str) -> str:
            return text

    planner = OfflinePlanner(Knows(), PROFILE)
    plan = (await planner.plan(PlanRequest(f"{STORY} Which limits apply to volume?", Language.EN))).plan
    assert (plan.action, plan.subqueries) == (SGRAction.NORMAL, ["Which limits apply to volume?"])


async def test_no_more_than_ten_questions_are_searched() -> None:
    """Of many lines those that ask, at most ten, each at most three hundred characters."""
    many = "\n".join(f"Where is part number {n} kept?" for n in range(30))
    assert len((await planned(many)).subqueries) == 10
    (long,) = (await planned("where is the water kept " * 60)).subqueries
    assert len(long) == 300


async def test_an_answer_to_a_question_belongs_to_what_was_asked() -> None:
    """After a clarification the earlier words are part of the request; a new question stands alone."""
    history = (
        Exchange("user", "long ago"),
        Exchange("assistant", "yes"),
        Exchange("user", "It does not open!"),
        Exchange("assistant", "What exactly does not open?"),
    )
    plan = await planned("The lid of the kettle", history=history, clarifications=1)
    assert plan.subqueries == ["It does not open, The lid of the kettle"]
    assert plan.request_type is RequestType.TROUBLESHOOTING
    assert plan.action is SGRAction.NORMAL
    alone = await planned("How do I boil water?", history=history, clarifications=1)
    assert alone.subqueries == ["How do I boil water?"]
    assert (await planned("Thanks!", history=history, clarifications=1)).request_type is RequestType.CASUAL
    assert (await planned("The lid of the kettle", history=history)).subqueries == ["The lid of the kettle"]


@pytest.mark.parametrize("language", Language)
@pytest.mark.parametrize("topic", [0.0, 0.45, 0.9])
@pytest.mark.parametrize(
    "text", ["12345 67890?", "HTTP 502", "Hello!", "Привет!", "zxcvb qwrtp", "не работает", "not working"]
)
async def test_every_text_of_a_plan_is_in_the_language_asked_for(text: str, topic: float, language: Language) -> None:
    """But for the user's own words, which are quoted as they are."""
    plan = await planned(text, topic, language)
    own = [
        plan.user_intent,
        plan.spam_reason,
        plan.category or "",
        *plan.action_plan,
        *plan.uncertainties,
        plan.clarification_question or "",
    ]
    for shown in own:
        without = shown.replace(text, "")
        if shown:
            assert bool(CYRILLIC.search(without)) == (language is Language.RU), shown
    assert plan.answer_language is language


@pytest.mark.parametrize("language", Language)
async def test_reasons_are_of_the_length_that_the_form_asks_for(root: Any, language: Language) -> None:
    """Ten to twenty words and at most 150 characters, filled in."""
    phrases = tomllib.loads((root / "adapters" / "planning" / "phrases.toml").read_text("utf-8"))
    assert set(phrases) == {str(one) for one in Language}
    assert phrases["en"].keys() == phrases["ru"].keys()
    for key, text in phrases[language].items():
        if key.startswith("reason_"):
            filled = text.format(found="100%")
            assert 10 <= len(filled.split()) <= 20, (key, filled)
            assert len(filled) <= 150


async def test_what_is_quoted_is_data() -> None:
    """Braces in a message are not fields of a text."""
    plan = await planned("Where is {questions} and {0} kept?")
    assert "{questions} and {0}" in plan.user_intent


@given(text=st.text(), topic=st.floats(0, 1), language=st.sampled_from(Language))
async def test_a_plan_agrees_with_itself(text: str, topic: float, language: Language) -> None:
    """Uncertainties come with a question and with clarify or block, and only below the threshold of confidence."""
    plan = await planned(text, topic, language)
    unclear = plan.intent_confidence < PROFILE.thresholds.confidence
    assert bool(plan.uncertainties) == bool(plan.clarification_question) == unclear
    assert (plan.action is SGRAction.BLOCK) == (plan.spam_score >= PROFILE.thresholds.spam)
    if plan.action is SGRAction.CLARIFY:
        assert unclear
    assert plan.user_intent
    assert plan.action_plan
