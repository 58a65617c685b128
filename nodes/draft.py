"""`draft`: have an answer written from the evidence."""

from __future__ import annotations

from hashlib import sha256

from langgraph.runtime import Runtime

from contracts.context import MODEL_SEARCHES_PER_TURN, Context
from contracts.decisions.effects import combined
from contracts.evidence import EvidenceItem
from contracts.ports import Drafter, DraftRequest
from contracts.profile import Profile
from contracts.spec import ArchitectSpec
from contracts.state import Json, said_before
from contracts.values import Language, RequestType, RequiredAction, SearchBy, Track
from contracts.views import DraftView
from language.words import rephrased
from rendering.synthetic import Synthetic, joined


async def draft(state: DraftView, runtime: Runtime[Context], *, drafter: Drafter, profile: Profile) -> Json:
    """Ask the drafter once; on a retry, with the reasons and the actions. Nothing of it is shown before PASS.

    The same request once more would be no second attempt: then nobody is asked, and the draft stands.

    Where `search_by` is `model`, the drafter may ask for a search instead of writing, twice a turn at most.
    """
    if state["nothing_new"]:
        return {}
    context = runtime.context or Context()
    searches_left = MODEL_SEARCHES_PER_TURN - state["searches_made"] if context.search_by is SearchBy.MODEL else 0
    question, plan, guardian = state["question"], state["sgr_plan"], state["guardian"]
    language = Language(question["language"])
    actions = tuple(RequiredAction(action) for action in guardian.get("required_actions", []))
    synthetic = Synthetic(state["synthetic"].get("analysis", ""), state["synthetic"].get("response", ""))
    request = DraftRequest(
        question=question["text"],
        language=language,
        request_type=RequestType(state["request_type"]),
        intent=plan["user_intent"],
        subqueries=_questions(plan["subqueries"], actions, profile),
        evidence=tuple(EvidenceItem.model_validate(item) for item in state["evidence"]),
        spec=ArchitectSpec.model_validate(state["architect_spec"]),
        synthetic=joined(synthetic, language),
        history=said_before(state["messages"], question["id"], with_denied=False),
        actions=actions,
        reasons=tuple(guardian.get("reasons", [])),
        previous=state["draft_answer"],
        restricted=Track(state["track"]) is Track.FAST and not state["evidence"],
        plan_trace=context.plan_trace,
        tool_trace=state["tool_trace"],
        searches_left=searches_left,
    )
    drafted_from = _fingerprint(request)
    if drafted_from == state["drafted_from"]:
        return {"nothing_new": True}
    reply = await drafter.draft(request)
    accounts = {
        "drafted_from": drafted_from,
        "degraded": list(dict.fromkeys([*state["degraded"], *reply.degraded])),
        "model_calls": [*state["model_calls"], *(call.model_dump(mode="json") for call in reply.calls)],
    }
    if reply.searches and searches_left > 0:
        return {**accounts, "searches_wanted": list(reply.searches), "searches_made": state["searches_made"] + 1}
    return {**accounts, "draft_answer": reply.text, "draft_kind": str(reply.kind)}


def _questions(subqueries: list[str], actions: tuple[RequiredAction, ...], profile: Profile) -> tuple[str, ...]:
    """Return what is asked, in the documents' words where that is what was searched for."""
    return tuple(rephrased(subqueries, profile.synonyms) if combined(actions).refine else subqueries)


def _fingerprint(request: DraftRequest) -> str:
    """Return a short text that two requests share only where they say the same."""
    return sha256(repr(request).encode()).hexdigest()[:16]
