"""What of a plan cannot be left to the planner alone."""

from __future__ import annotations

from contracts.plan import SGRPlanResult
from contracts.profile import Profile
from contracts.values import Language, RequestType
from guards.policy_check import violations
from language.clean import fold
from language.lexicon import infer_category, infer_topic, is_casual
from language.personal_data import phone_digits


def settle_plan(plan: SGRPlanResult, message: str, language: Language, profile: Profile, role: str) -> SGRPlanResult:
    """Return the plan with what it left out inferred, and CASUAL only where the lexicon agrees.

    CASUAL is asked for no evidence at all, so a planner alone must not be able to choose it. Texts of the plan that
    users read (the intent, the question asked back) are no draft and are not judged as one: what policy would not let
    an answer say, they do not say either.
    """
    plan = _fit_to_be_read(plan, message, profile, role)
    request_type = plan.request_type
    if request_type is RequestType.CASUAL and not is_casual(message):
        request_type = RequestType.KNOWLEDGE_QA
    return plan.model_copy(
        update={
            "request_type": request_type,
            "topic": plan.topic or infer_topic(plan.user_intent or message)[:150],  # six words may be of any length
            "category": plan.category or infer_category(f"{plan.user_intent} {message}", language),
            "answer_language": plan.answer_language or language,
            "spam_score": min(plan.spam_score, 0.2) if request_type is RequestType.CASUAL else plan.spam_score,
        }
    )


def _fit_to_be_read(plan: SGRPlanResult, message: str, profile: Profile, role: str) -> SGRPlanResult:
    said = " ".join(fold(message).split())
    numbers = "".join(filter(str.isdigit, said))

    def fit(text: str | None) -> bool:
        return not text or all(_was_said(one.value, said, numbers) for one in violations(text, profile, role))

    question = plan.clarification_question
    return plan.model_copy(
        update={
            "user_intent": plan.user_intent if fit(plan.user_intent) else " ".join(message.split())[:300],
            "clarification_question": question if fit(question) else None,
            "uncertainties": [gap for gap in plan.uncertainties if fit(gap)],
            "spam_reason": plan.spam_reason if fit(plan.spam_reason) else "",
            "action_plan": [step for step in plan.action_plan if fit(step)],
        }
    )


def _was_said(value: str, said: str, numbers: str) -> bool:
    """Whether the user wrote a value: it may be said back, that is no leak."""
    if " ".join(fold(value).split()).rstrip("?!.,;:") in said:
        return True
    digits = phone_digits(value)
    return len(digits) >= 7 and not any(c.isalpha() for c in value) and digits in numbers
