"""What of a plan cannot be left to the planner alone."""

from __future__ import annotations

from contracts.plan import SGRPlanResult
from contracts.values import Language, RequestType
from language.lexicon import infer_category, infer_topic, is_casual


def settle_plan(plan: SGRPlanResult, message: str, language: Language) -> SGRPlanResult:
    """Return the plan with what it left out inferred, and CASUAL only where the lexicon agrees.

    CASUAL is asked for no evidence at all, so a planner alone must not be able to choose it.
    """
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
