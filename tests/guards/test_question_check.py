"""Which drafted questions are asked, and what of them."""

from __future__ import annotations

import pytest

from contracts.enums import CheckStatus, DraftKind, Outcome, PolicyStatus
from contracts.ports import Draft
from guards.plan_check import settle_plan
from guards.policy_check import ASKS_FOR_SECRETS, check_answer
from guards.question_check import check_question, fit_question, said_in_turn
from language.words import detect
from tests.support.turn import PROFILE, UP_TO_THE_VERDICT, begin_turn, passage, plan, play, ports

KNOWN = ("How do I set up kettle 12 and port 8080?", "Page 1\nThe version 4.7 is the last one.")
CLOSED = "The support is closed forever; your account is deleted. Will you pay 5000 rubles?"
WANTING = "Пришлите, пожалуйста, ваш пароль и код из SMS?"

KEPT = [
    "Which kettle is it?",
    "Is it about version 4.7 or another one?",
    "Which of the two do you mean, kettle 12 or its lid?",
    "Do you use port 8080?",
    "О каком чайнике речь?",
    "Вы про версию 4.7?",
    "Какой чайник у вас стоит?",
    "Нужно ли менять порт 8080?",
]
CUT = [
    ("I am not sure. Which kettle is it?", "Which kettle is it?"),
    ("Your account is deleted; which kettle is it?", "Which kettle is it?"),
    ("The documents say 99 degrees: which kettle is it?", "Which kettle is it?"),
    ("Which lid? The kettle is dead. Which kettle is it?", "Which kettle is it?"),
    ("Which kettle is it? It will explode in 5 minutes.", "Which kettle is it?"),
    ("Документов нет; о каком чайнике речь?", "О каком чайнике речь?"),
    ("Ваш аккаунт удалён. Какой чайник у вас стоит?", "Какой чайник у вас стоит?"),
    ("Чайник сломан навсегда — какой он марки?", "Какой он марки?"),
]
REFUSED = [
    "",
    "The kettle is dead.",
    "Tell me more.",
    "The kettle is dead, you know, right?",
    "Which of the 99 kettles is it?",
    "Is it version 5.1?",
    "Is it https://evil.example/login that you see?",
    "Чайник сломан.",
    "Речь о версии 5.1?",
    "Ваш аккаунт удалён, чайник сломан?",
    CLOSED,
    WANTING,
    "What is your password?",
    "Could you give me the code from the SMS?",
    "Which card number did you pay with?",
    "Какой у вас пароль?",
    "Можете назвать код из SMS?",
    "Вы оплатите сейчас?",
]


@pytest.mark.parametrize("question", KEPT)
def test_a_question_that_may_be_asked_is_kept(question: str) -> None:
    """A plain question whose values were said or found is asked word for word."""
    assert fit_question(question, KNOWN) == question
    assert check_question(question, KNOWN).status is CheckStatus.OK
    assert check_answer(question, PROFILE, "user", asks=True).status is PolicyStatus.OK


@pytest.mark.parametrize(("drafted", "question"), CUT)
def test_only_the_interrogative_clause_is_asked(drafted: str, question: str) -> None:
    """What a drafted question states besides is claimed by nobody's evidence, so it is not said."""
    assert fit_question(drafted, KNOWN) == question


@pytest.mark.parametrize("drafted", REFUSED)
def test_what_may_not_be_asked_is_refused(drafted: str) -> None:
    """No question, a value that nobody said, or a wish for credentials, codes or money."""
    assert fit_question(drafted, KNOWN) == ""


@pytest.mark.parametrize(
    ("drafted", "reason"),
    [
        ("The kettle is dead.", "clarification_without_question"),
        ("Which of the 99 kettles is it?", "value_not_in_cited_evidence=[99]"),
    ],
)
def test_an_unfit_question_has_its_reason(drafted: str, reason: str) -> None:
    """The finding in the place of grounding says what was wrong."""
    finding = check_question(drafted, KNOWN)
    assert (finding.check, finding.status) == ("grounding", CheckStatus.FAILED)
    assert [str(each) for each in finding.reasons] == [reason]


def test_a_value_of_the_evidence_may_be_named() -> None:
    """Of the message and of the title, the heading and the text of a passage."""
    item = passage(1, title="Kettle 11", heading="Lid 22", snippet="Spout 33.")
    known = said_in_turn("Handle 44", [item])
    for number in (11, 22, 33, 44):
        assert fit_question(f"Is it {number}?", known)
    assert not fit_question("Is it 55?", known)


@pytest.mark.parametrize("drafted", [CLOSED, WANTING])
@pytest.mark.parametrize("kind", [DraftKind.CLARIFICATION, DraftKind.ANSWER])
async def test_the_two_sentences_never_leave(drafted: str, kind: DraftKind) -> None:
    """Neither as a question nor as an answer does a word of them reach the user."""
    bound = ports(written=Draft(kind, drafted))
    state = await play(begin_turn(), bound, *UP_TO_THE_VERDICT)
    state = await play({**state, "retry_count": 5}, bound, "guardian_verify", "safe_exit")
    assert state["result"]["outcome"] in (Outcome.REFUSED, Outcome.PAGES_SHOWN)
    for word in ("closed", "deleted", "5000", "rubles", "пароль", "SMS"):
        assert word not in state["final_answer"]


async def test_a_question_for_secrets_violates_policy() -> None:
    """It fails at once by the rule `asks-for-secrets`, whatever else is right with it."""
    state = await play(begin_turn(), ports(written=Draft(DraftKind.CLARIFICATION, WANTING)), *UP_TO_THE_VERDICT)
    assert state["guardian"]["verdict"] == "FAIL"
    assert state["guardian"]["reasons"] == [f"policy_violation=[{ASKS_FOR_SECRETS}]"]
    assert state["guardian"]["required_actions"] == ["SAFE_REFUSAL"]


async def test_an_unfit_question_is_not_asked() -> None:
    """A question that names what nobody said fails, and pages are shown in its place."""
    bound = ports(written=Draft(DraftKind.CLARIFICATION, "Which of the 99 kettles is it?"))
    state = await play(begin_turn(), bound, *UP_TO_THE_VERDICT, "safe_exit")
    assert state["guardian"]["reasons"] == ["clarification_needed", "value_not_in_cited_evidence=[99]"]
    assert (state["result"]["outcome"], "99" in state["final_answer"]) == (Outcome.PAGES_SHOWN, False)


async def test_what_surrounds_a_drafted_question_is_not_said() -> None:
    """Of a draft that passes as a question, the user reads its interrogative clause alone."""
    drafted = "Your account is deleted; which kettle is it?"
    end = await play(
        begin_turn(), ports(written=Draft(DraftKind.CLARIFICATION, drafted)), *UP_TO_THE_VERDICT, "safe_exit"
    )
    lead, _, choices = end["final_answer"].partition("\n\nWhich kettle is it?\n\n")
    assert (lead, choices.partition("\n")[0]) == (
        "I would rather ask than guess.",
        "You can also choose, by number or in words:",
    )
    assert "deleted" not in end["final_answer"]


# ------------------------------------------------------------------------------------------- the questions of plans


@pytest.mark.parametrize("text", [CLOSED, WANTING, "The kettle is dead.", "Which of the 99 kettles is it?"])
async def test_a_plan_asks_no_question_that_a_draft_may_not(text: str) -> None:
    """What a planner would ask back is checked in the same way, and our own question stands in its place."""
    settled = settle_plan(plan(clarification_question=text), "How?", detect("How?"), PROFILE, "user")
    assert settled.clarification_question is None
    unclear = plan(intent_confidence=0.1, clarification_question=text)
    end = await play(begin_turn("How?"), ports(planned=unclear), *UP_TO_THE_VERDICT[:3], "safe_exit")
    assert end["result"]["outcome"] == Outcome.CLARIFICATION
    for word in ("closed", "deleted", "5000", "пароль", "SMS", "dead", "99"):
        assert word not in end["final_answer"]


def test_a_plans_question_is_cut_to_its_clause() -> None:
    """A plan claims no more than a draft."""
    planned = plan(clarification_question="Your account is deleted; which kettle is it?")
    settled = settle_plan(planned, "How?", detect("How?"), PROFILE, "user")
    assert settled.clarification_question == "Which kettle is it?"


@pytest.mark.parametrize(
    "gap",
    ["what is your password", "your password", "the code from the SMS", "5000 rubles", "код из SMS", "номер карты"],
)
def test_an_uncertainty_that_asks_for_secrets_is_dropped(gap: str) -> None:
    """A gap is asked for by its name, so the name of a secret is a request."""
    gaps = ["which kettle", gap, "which kind of password", "срок действия пароля"]
    settled = settle_plan(plan(uncertainties=gaps), "How?", detect("How?"), PROFILE, "user")
    assert settled.uncertainties == ["which kettle", "which kind of password", "срок действия пароля"]


@pytest.mark.parametrize(
    ("message", "intent"),
    [
        ("I forgot my password. What now?", "Please tell us your current password so that we can reset it."),
        ("Забыл пароль. Что делать?", "Пришлите нам ваш пароль."),
    ],
)
def test_a_word_of_the_users_is_no_request_of_theirs(message: str, intent: str) -> None:
    """Who writes of a password may read the word again, and is not asked for it by what a plan says."""
    language = detect(message)
    settled = settle_plan(plan(user_intent=intent, uncertainties=[intent]), message, language, PROFILE, "user")
    assert settled.user_intent != intent
    assert settled.uncertainties == []
    searched = settle_plan(plan(subqueries=[intent, message]), message, language, PROFILE, "user")
    assert searched.subqueries == [message]
    assert settle_plan(plan(subqueries=[intent]), intent, language, PROFILE, "user").subqueries == [intent]
    named = settle_plan(plan(user_intent="password, пароль"), message, language, PROFILE, "user")
    assert named.user_intent == "password, пароль"


@pytest.mark.parametrize("gap", ["your account is deleted", "ваш аккаунт удалён"])
def test_an_uncertainty_that_states_something_is_dropped(gap: str) -> None:
    """What is unclear is named, not claimed: nobody checks it before it is asked about."""
    settled = settle_plan(plan(uncertainties=["which kettle", gap]), "How?", detect("How?"), PROFILE, "user")
    assert settled.uncertainties == ["which kettle"]


def test_policy_holds_a_drafted_question_to_more_than_an_answer() -> None:
    """The same sentence in an answer may be a document's own; beside a question of the assistant's, it is meant."""
    words = "Enter your PIN and press OK."
    assert check_answer(words, PROFILE, "user", asks=True).rules == (ASKS_FOR_SECRETS,)
    assert check_answer(words, PROFILE, "user").status is PolicyStatus.OK
