"""`inject_synthetic`: render the plan as analysis for the model and as response for the user."""

from __future__ import annotations

from langgraph.runtime import Runtime

from contracts.context import Context
from contracts.decisions import OUTPUT, record
from contracts.enums import Channel, HarmCategory, Language, SGRAction
from contracts.plan import SGRPlanResult
from contracts.profile import Profile
from contracts.state import Json
from contracts.views import SyntheticView
from rendering.synthetic import join_fields, render_synthetic

NAME = "inject_synthetic"


async def inject_synthetic(state: SyntheticView, runtime: Runtime[Context], *, profile: Profile) -> Json:
    """Render one synthetic assistant message, as plain data, so that no stream of messages can leak it.

    It has a role, a content and `additional_kwargs`, as engineers know messages, and its two fields apart.

    DT-004 decides which part the user sees; `rendering.answers.user_view` follows it.
    """
    action = SGRAction(state["action"])
    language = Language(state["question"]["language"])
    synthetic = render_synthetic(
        SGRPlanResult.model_validate(state["sgr_plan"]),
        action,
        [HarmCategory(name) for name in state["moderation"].get("categories", [])],
        language,
        profile,
    )
    view = OUTPUT.decide(
        channel=Channel.USER_INTERFACE, action=action, plan_trace=(runtime.context or Context()).plan_trace
    )
    return {
        "decisions": [*state["decisions"], record(NAME, view).model_dump(mode="json")],
        "synthetic": {
            "role": "assistant",
            "content": join_fields(synthetic, language),
            "analysis": synthetic.analysis,
            "response": synthetic.response,
            "additional_kwargs": {
                "sgr_injected": True,
                "sgr_action": str(action),
                "sgr_turn": state["question"]["id"],
            },
        },
    }
