"""`finalize`: turn the draft that passed into the answer, the history and the result."""

from __future__ import annotations

from collections.abc import Callable

from langchain_core.messages import AIMessage
from langgraph.runtime import Runtime

from contracts.context import Context
from contracts.enums import Language, Outcome, Verdict
from contracts.errors import NotJudged
from contracts.evidence import EvidenceItem
from contracts.profile import Profile
from contracts.report import PartFinding
from contracts.result import StructuredAgentResult
from contracts.spec import ArchitectSpec
from contracts.state import Json, marks_of_choice
from contracts.views import FinalView
from guards.judged_hash import judged_hash
from language.words import stems
from rendering.answers import verified_answer


async def finalize(
    state: FinalView, runtime: Runtime[Context], *, profile: Profile, send: Callable[[AIMessage], None]
) -> Json:
    """Write the verified answer and send it; only the router's PASS leads here.

    Raises:
        NotJudged: The report is not a PASS, or it judges another draft, other evidence or another turn.
    """
    _check_passed(state)
    language = Language(state["question"]["language"])
    evidence = [EvidenceItem.model_validate(item) for item in state["evidence"]]
    wanted = ArchitectSpec.model_validate(state["architect_spec"]).response_format
    parts = [PartFinding.model_validate(part) for part in state["guardian"].get("parts", [])]
    asked = frozenset(stems(state["question"]["text"])).difference(stems(profile.product))
    answer = verified_answer(
        state["draft_answer"], evidence, language, profile.allowed_link_domains, wanted, asked=asked, parts=parts
    )
    result = StructuredAgentResult.of_turn(state, language=language, outcome=Outcome.ANSWERED, answer=answer)
    turn_id = state["question"]["id"]
    marks = {"turn_id": turn_id, "outcome": str(Outcome.ANSWERED), **marks_of_choice(state["question"])}
    message = AIMessage(answer, id=f"{turn_id}-answer", additional_kwargs=marks)
    send(message)
    return {
        "final_answer": answer,
        "messages": [message],
        "result": result.model_dump(mode="json"),
        "clarify_count": 0,
    }


def _check_passed(state: FinalView) -> None:
    guardian = state["guardian"]
    if guardian.get("verdict") != Verdict.PASS or guardian.get("judged_hash") != judged_hash(state, guardian):
        raise NotJudged(
            "What stands in the state is not the draft that passed, so it is not shown.",
            "Ask again; in Studio, edit a draft as the node `draft`, and it is judged.",
        )
