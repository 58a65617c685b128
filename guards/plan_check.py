"""The parts of a plan that the planner must not decide alone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from contracts.enums import Flow, Language, PolicyStatus, RequestType
from contracts.lookups import LookupCall
from contracts.plan import SGRPlanResult
from contracts.ports import PlanRequest
from contracts.profile import Profile
from guards.policy_check import (
    ASKS_FOR_SECRETS,
    NO_SOURCE_ALLOWED,
    REQUEST_TYPE_NOT_ALLOWED,
    PolicyFinding,
    check_request,
    violations,
)
from guards.question_check import fit_gap, fit_question
from language.clean import fold
from language.lexicon import infer_category, infer_topic, is_casual
from language.message import complete_questions
from language.privacy.personal_data import phone_digits
from language.words import stems

_LONGEST_QUERY = 300
_MOST_QUERIES = 10
_OF_THE_TYPE = frozenset({REQUEST_TYPE_NOT_ALLOWED, NO_SOURCE_ALLOWED})


def settle_plan(
    plan: SGRPlanResult, message: str, language: Language, profile: Profile, role: str, earlier: Sequence[str] = ()
) -> SGRPlanResult:
    """Return the plan with omitted values inferred, and CASUAL only if the lexicon agrees.

    If the message has several complete questions, each is searched, whatever the planner made of them.

    CASUAL needs no evidence, so a planner alone must not choose it. The plan's readable texts (the intent, the
    clarification question, the sub-queries) are not judged as drafts. A text with a value that policy forbids in
    answers is dropped or replaced, unless the user wrote the value, now or `earlier`.
    """
    plan = _fit_to_be_read(plan, message, earlier, profile, role)
    request_type = plan.request_type
    if request_type is RequestType.CASUAL and not is_casual(message):
        request_type = RequestType.KNOWLEDGE_QA
    return plan.model_copy(
        update={
            "request_type": request_type,
            "subqueries": _with_each_question(plan.subqueries, message),
            "topic": plan.topic or infer_topic(plan.user_intent or message)[:150],  # six words may be of any length
            "category": plan.category or infer_category(f"{plan.user_intent} {message}", language),
            "answer_language": plan.answer_language or language,
            "spam_score": min(plan.spam_score, 0.2) if request_type is RequestType.CASUAL else plan.spam_score,
        }
    )


def _with_each_question(queries: list[str], message: str) -> list[str]:
    """Return the queries, and behind them each question of a message of several that has no query of its own."""
    asked = complete_questions(message)
    if len(asked) < 2:
        return queries
    missing = [question for question in asked if not any(_asks_the_same(query, question) for query in queries)]
    return [*queries, *(question[:_LONGEST_QUERY] for question in missing)][:_MOST_QUERIES]


def _asks_the_same(query: str, question: str) -> bool:
    wanted = set(stems(question))
    return len(wanted & set(stems(query))) * 2 > len(wanted)


def check_plan(plan: SGRPlanResult, request: PlanRequest, flow: Flow, profile: Profile, role: str) -> PolicyFinding:
    """Judge the effective request before anything is searched.

    It is the newest message, joined with the messages that led to the clarification questions it answers. The plan's
    own words count, too, because a planner may say what the user left out. If the plan asks a clarification question,
    only the user's words are judged, and not by the request type, which the answer may change. Turns that end otherwise
    are not judged.
    """
    if flow is Flow.GO_ON:
        texts = [*_texts(request), plan.user_intent, *plan.subqueries]
        return _together(check_request(text, plan.request_type, profile, role) for text in dict.fromkeys(texts))
    if flow is not Flow.ASK:
        return PolicyFinding()
    finding = _together(check_request(text, plan.request_type, profile, role) for text in _texts(request))
    return finding if set(finding.rules) - _OF_THE_TYPE else PolicyFinding()


def _texts(request: PlanRequest) -> tuple[str, ...]:
    """Return the newest message, and what it says together with those that were asked back about."""
    if not request.clarifications or is_casual(request.message):
        return (request.message,)
    return request.message, " ".join((*users_words(request)[-request.clarifications :], request.message))


def users_words(request: PlanRequest) -> tuple[str, ...]:
    """Return the user's messages before the newest one."""
    return tuple(exchange.text for exchange in request.history if exchange.role == "user")


def _together(findings: Iterable[PolicyFinding]) -> PolicyFinding:
    denied = [finding for finding in findings if finding.status is not PolicyStatus.OK]
    if not denied:
        return PolicyFinding()
    return PolicyFinding(
        status=PolicyStatus.VIOLATED,
        rules=tuple(dict.fromkeys(rule for finding in denied for rule in finding.rules)),
        actions=tuple(dict.fromkeys(action for finding in denied for action in finding.actions)),
    )


def _fit_to_be_read(
    plan: SGRPlanResult, message: str, earlier: Sequence[str], profile: Profile, role: str
) -> SGRPlanResult:
    said = " ".join(fold("\n".join((*earlier, message))).split())
    numbers = "".join(filter(str.isdigit, said))

    def fit(text: str | None) -> bool:
        return not text or all(_was_said(one.value, said, numbers) for one in violations(text, profile, role))

    def may_be_told(text: str | None) -> bool:
        found = violations(text, profile, role) if text else []
        # A word that the user wrote is no request of theirs: who forgot a password is not to be asked for it.
        return fit(text) and all(one.rule != ASKS_FOR_SECRETS for one in found)

    def may_be_searched(query: str) -> bool:
        # An answer says what was searched for, so only the user's own words may request a secret.
        return may_be_told(query) or (fit(query) and _was_said(query, said, numbers))

    def fit_call(call: LookupCall) -> bool:
        return fit(call.name) and all(fit(given.value) for given in call.arguments)

    flat = " ".join(message.split())
    asked = plan.clarification_question
    question = fit_question(asked, (*earlier, message)) if asked and may_be_told(asked) else None
    return plan.model_copy(
        update={
            "user_intent": plan.user_intent if may_be_told(plan.user_intent) else flat[:300],
            "topic": plan.topic if fit(plan.topic) else None,
            "category": plan.category if fit(plan.category) else None,
            "subqueries": [query for query in plan.subqueries if may_be_searched(query)] or [flat[:_LONGEST_QUERY]],
            "lookups": [call for call in plan.lookups if fit_call(call)],
            "clarification_question": question or None,
            "uncertainties": [
                gap for gap in plan.uncertainties if may_be_told(gap) and fit_gap(gap, (*earlier, message))
            ],
            "spam_reason": plan.spam_reason if may_be_told(plan.spam_reason) else "",
            "action_plan": [step for step in plan.action_plan if may_be_told(step)],
        }
    )


def _was_said(value: str, said: str, numbers: str) -> bool:
    """Whether the user wrote a value: it may be said back, that is no leak."""
    if " ".join(fold(value).split()).rstrip("?!.,;:") in said:
        return True
    digits = phone_digits(value)
    return len(digits) >= 7 and not any(c.isalpha() for c in value) and digits in numbers
