"""The synthetic assistant message: a plan as analysis (for the model) and as response (for the user)."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from contracts.enums import HarmCategory, Language, SGRAction
from contracts.plan import SGRPlanResult
from contracts.profile import Profile
from rendering.badges import confidence_badge
from rendering.texts import bullets, inline, say, texts, write_numbered_list

_ADDRESS: Final = re.compile(
    r"<?(https?://[^\s<>()\[\]`\"'\\]{0,500}[\w/]"
    r"|(?<![\w.+:-])[A-Za-z0-9._+-]{1,64}@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){1,8})>?"
)
"""A web or e-mail address in a contact; what ends a sentence is no part of it."""


@dataclass(frozen=True, slots=True)
class Synthetic:
    """The two fields of the message. They are joined for the model, and never split again."""

    analysis: str
    response: str


def render_synthetic(
    plan: SGRPlanResult,
    action: SGRAction,
    categories: list[HarmCategory],
    language: Language,
    profile: Profile,
) -> Synthetic:
    """Render the template of an action; the action's value is the template's name."""
    none = texts(language)["none_given"]
    values = {
        "product": profile.product,
        "topic": inline(plan.topic or "") or none,
        "user_intent": inline(plan.user_intent),
        "category": inline(plan.category or "") or none,
        "spam_score": f"{plan.spam_score:.2f}",
        "spam_reason": inline(plan.spam_reason) or none,
        "intent_confidence": f"{plan.intent_confidence:.2f}",
        "confidence_word": confidence_badge(plan.intent_confidence, language),
        "subqueries": ", ".join(map(inline, plan.subqueries)),
        "action_plan": write_numbered_list([inline(step) for step in plan.action_plan]) or none,
        "uncertainties": bullets([inline(gap) for gap in plan.uncertainties]) or none,
        "guard_categories": ", ".join(categories) or none,
    }
    return Synthetic(say(language, f"analysis_{action}", **values), _response(plan, action, language, profile))


def _response(plan: SGRPlanResult, action: SGRAction, language: Language, profile: Profile) -> str:
    contact = contact_of(profile, language)
    match action:
        case SGRAction.NORMAL:
            return say(language, "sgr_normal_response", product=profile.product)
        case SGRAction.CLARIFY:
            question = clarification_question(plan, language, profile)
            parts = texts(language)
            return "\n\n".join((parts["sgr_clarify_intro"], inline(question), parts["sgr_clarify_outro"]))
        case SGRAction.BLOCK:
            scope = profile.scope.description.get(language) or next(iter(profile.scope.description.values()))
            return say(language, "sgr_spam_response", product=profile.product, scope=scope)
        case SGRAction.GUARDIAN_BLOCK:
            return say(language, "sgr_guardian_response", contact=contact)


def clarification_question(plan: SGRPlanResult, language: Language, profile: Profile) -> str:
    """Return the plan's question, else one about its first uncertainty, else a general one."""
    if plan.clarification_question:
        return plan.clarification_question
    if plan.uncertainties:
        return say(language, "clarify_from_uncertainty", uncertainty=plan.uncertainties[0])
    return say(language, "clarify_default", product=profile.product)


def join_fields(synthetic: Synthetic, language: Language) -> str:
    """Join the non-empty fields into the one message that a model reads as its own."""
    heads = texts(language)
    parts = (("analysis_heading", synthetic.analysis), ("response_heading", synthetic.response))
    return "\n\n".join(f"## {heads[key]}\n\n{text}" for key, text in parts if text)


def as_data(given: Mapping[str, Any]) -> str:
    """Return a JSON block as Markdown; empty for no data."""
    return f"```json\n{json.dumps(given, ensure_ascii=False, indent=2)}\n```" if given else ""


def contact_of(profile: Profile, language: Language) -> str:
    """Return the contact to write to, as Markdown: each address in it is a link."""
    given = profile.contact.get(language, "")
    return _ADDRESS.sub(r"<\1>", given) if given else texts(language)["contact_default"]
