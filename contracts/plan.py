"""`SGRPlanResult`: the form that planning fills, and the arguments of `analyse_user_request`.

Field order is reasoning order (schema-guided reasoning). Whoever fills the form, a model or the offline planner,
decides on the validity of the request before the intent. The intent comes before the queries, and all of them come
before the action.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from contracts.enums import Language, RequestType, SGRAction
from contracts.lookups import MOST_CALLS, LookupCall

PLAN_TOOL = "analyse_user_request"
"""The name of the one tool of the planning exchange."""


def _refuse_what_only_looks_like_a_number(value: Any) -> Any:
    if isinstance(value, bool | str):
        raise ValueError("a score is a number from 0 to 1, not a boolean and not text")
    return value


Score = Annotated[
    float,
    # The bounds come first: pydantic writes them into the schema only where they stand right beside the number.
    Field(ge=0.0, le=1.0, allow_inf_nan=False),
    BeforeValidator(_refuse_what_only_looks_like_a_number),
]
"""A number from 0 to 1, both included; a boolean, a string of digits, NaN and infinity are refused."""


class SGRPlanResult(BaseModel):
    """Analyse one support request before anything is searched: is it ours, what is wanted, what to look for."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    spam_score: Score = Field(
        description=(
            "REASONING STEP 1 - Is the request in scope? 0.0-0.2: clearly in scope. 0.3-0.5: ambiguous. "
            "0.6-0.8: probably about something else. 0.9-1.0: obvious advertising, gibberish or spam. "
            "When torn, score lower: two unrelated requests in a hundred may pass, a valid one must not be stopped."
        )
    )
    spam_reason: str = Field(
        max_length=150,
        description="REASONING STEP 1b - Ground the score in 10 to 20 words, in the user's language.",
    )
    user_intent: str = Field(
        max_length=300,
        description="REASONING STEP 2 - What the user wants to get done, one or two sentences in the user's language.",
    )
    topic: str | None = Field(
        default=None, max_length=150, description="REASONING STEP 2b - The subject in a few words, if it is plain."
    )
    category: str | None = Field(
        default=None, max_length=80, description="REASONING STEP 2b - The area of the product, if it is plain."
    )
    answer_language: Language | None = Field(
        default=None, description="REASONING STEP 2b - The language to answer in: the one of the message."
    )
    request_type: RequestType = Field(
        default=RequestType.KNOWLEDGE_QA,
        description=(
            "REASONING STEP 2c - The kind of answer wanted. STATUS_METRIC: a current figure. STATUS_SUMMARY: how things "
            "stand. STATUS_LIST: which items there are now. HOWTO_POLICY: how to do something, or what is allowed. "
            "DESIGN_ARCH: how something is built. DATA_DEFINITION: what a term or field means. TROUBLESHOOTING: "
            "something fails. KNOWLEDGE_QA: any other question. CASUAL: a greeting, thanks or small talk."
        ),
    )
    subqueries: list[str] = Field(
        min_length=1,
        max_length=10,
        description="REASONING STEP 3 - 1 to 10 focused search queries in the user's language, no two alike.",
    )
    lookups: list[LookupCall] = Field(
        default_factory=list[LookupCall],
        max_length=MOST_CALLS,
        description=(
            "REASONING STEP 3b - Up to 5 lookups from the list of the instructions whose answer the request asks for, "
            "with values for their arguments; empty where none fits or none are listed."
        ),
    )
    action_plan: list[str] = Field(
        default_factory=list,
        max_length=10,
        description="REASONING STEP 4 - Up to 10 concrete steps that lead to the answer.",
    )
    intent_confidence: Score = Field(
        description=(
            "REASONING STEP 5 - How well is the request understood? Up to 0.4: very unclear. 0.5-0.7: with gaps. "
            "0.8 and more: clear."
        )
    )
    uncertainties: list[str] = Field(
        default_factory=list,
        max_length=5,
        description="REASONING STEP 5b - Up to 5 things that are missing; empty from a confidence of 0.7 on.",
    )
    action: SGRAction = Field(
        description=(
            "REASONING STEP 6 - What follows from steps 1 to 5: normal, clarify (the object of the request is "
            "missing), block (spam or off-topic), guardian_block (moderation found it unsafe)."
        )
    )
    clarification_question: str | None = Field(
        default=None,
        max_length=300,
        description="REASONING STEP 7 - With clarify: the one question whose answer would help most; else nothing.",
    )
    wants_human: bool = Field(
        default=False, description="REASONING STEP 8 - True only where the user asks for a person to take over."
    )
