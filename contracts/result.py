"""`StructuredAgentResult`: the complete result of one finished turn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from pydantic import BaseModel, ConfigDict, Field, field_validator

from contracts.calls import ModelCall, tokens_of
from contracts.choices import Choice
from contracts.decisions import OUTPUT
from contracts.decisions.output import ChannelView
from contracts.enums import Channel, DeliveryStatus, Flow, Language, Outcome, PlanTrace, RequestType, SGRAction, Track
from contracts.evidence import ArticleEvidence, EvidenceItem, NumberedItem, QueryTrace, group_articles
from contracts.plan import SGRPlanResult
from contracts.report import DecisionRecord, GuardianReport, HandOff, ModerationResult


class Diagnostics(BaseModel):
    """Figures on how a turn ran.

    Attributes:
        degraded: Parts that did not work as configured, each as `part: why`.
        retries: The number of further drafts.
        model_calls: The number of requests to language models, embedders and rerankers, including failed ones.
        tokens: Sums over these calls, by kind; a kind that no server reported is absent.
        calls: Each request.
        timings_ms: Milliseconds per node, summed over its runs. The turn runner measures them, so they are empty in a
            result read only from the graph's state.
        profile: Version of the profile that the turn ran with, 12 hexadecimal digits; the turn runner writes it. Empty
            in results of earlier versions.
        cost, currency: What the calls cost together, by the prices of the profile; `None` without any with a price whose
            tokens were counted. The turn runner writes them.
        first_event_ms, answer_ms: Milliseconds from the start of the turn to the first progress event, and to the
            answer; measured by the turn runner.
    """

    degraded: list[str] = Field(default_factory=list)
    retries: int = 0
    model_calls: int = 0
    tokens: dict[str, int] = Field(default_factory=dict)
    calls: list[ModelCall] = Field(default_factory=list[ModelCall])
    timings_ms: dict[str, float] = Field(default_factory=dict)
    profile: str = ""
    cost: float | None = None
    currency: str = ""
    first_event_ms: float | None = None
    answer_ms: float | None = None


class CitedSource(BaseModel):
    """A source that an answer cites, or a page that was shown: its number, its title with heading, and its address.

    `url` is an address in one of the profile's domains, or the path of a document; it may be empty.
    """

    model_config = ConfigDict(frozen=True)

    number: int
    title: str
    url: str = ""
    source: str = ""
    version: str = ""
    language: str = ""


class ShownPage(CitedSource):
    """A page that was shown instead of an answer, with its sentence, verbatim.

    `ref` is the passage of `final_articles` that holds it.
    """

    sentence: str
    ref: str = ""


class StructuredAgentResult(BaseModel):
    """The complete result of a turn, for programs and operators; the third output of DT-004.

    `question` is what the user wrote. `answer_text` is exactly what the user saw. `synthetic_analysis` and the plan are
    for the operator only. `hand_off_delivery` is the delivery status of the hand-off; `None` if it was not sent.
    `final_articles` has the documents that the draft could cite, one each, with their passages inside; `evidence` has
    these passages alone. `pages` are the pages shown if no answer was sure (outcome `pages_shown`). `choices` are those of a clarification
    question (outcome `clarification`), in the order of their numbers.
    """

    model_config = ConfigDict(extra="forbid")

    thread_id: str = ""
    turn_id: str = ""
    question: str = ""
    language: Language
    outcome: Outcome
    answer_text: str
    action: SGRAction | None = None
    proposed_action: SGRAction | None = None
    flow: Flow | None = None
    request_type: RequestType | None = None
    track: Track | None = None
    block_reason: str | None = None
    plan: SGRPlanResult | None = None
    tool_trace: dict[str, Any] = Field(default_factory=dict)
    synthetic_analysis: str = ""
    synthetic_response: str = ""
    moderation: ModerationResult | None = None
    decisions: list[DecisionRecord] = Field(default_factory=list[DecisionRecord])
    per_query_results: list[QueryTrace] = Field(default_factory=list[QueryTrace])
    final_articles: list[ArticleEvidence] = Field(default_factory=list[ArticleEvidence])
    guardian: GuardianReport | None = None
    pages: list[ShownPage] = Field(default_factory=list[ShownPage])
    choices: list[Choice] = Field(default_factory=list[Choice])
    hand_off: HandOff | None = None
    hand_off_delivery: DeliveryStatus | None = None
    diagnostics: Diagnostics = Field(default_factory=Diagnostics)

    @field_validator("final_articles", mode="before")
    @classmethod
    def _group(cls, given: object) -> object:
        """Take a list of passages, as the state and results of earlier versions have it."""
        if not isinstance(given, list):
            return given
        rows = cast("list[object]", given)
        if any(_is_article(row) for row in rows):
            return rows
        return group_articles([EvidenceItem.model_validate(row) for row in rows])

    @property
    def evidence(self) -> list[EvidenceItem]:
        """The passages and rows that the draft could cite: `[1]` is the first; behind them, those of near pages that are shown."""
        numbered = sorted((item for article in self.final_articles for item in article.passages), key=_number)
        return [EvidenceItem.model_construct(**{k: v for k, v in item if k != "number"}) for item in numbered]

    @classmethod
    def of_turn(
        cls,
        turn: Mapping[str, Any],
        *,
        language: Language,
        outcome: Outcome,
        answer: str,
        block_reason: str | None = None,
        hand_off: HandOff | None = None,
        pages: Sequence[ShownPage] = (),
        choices: Sequence[Choice] = (),
    ) -> StructuredAgentResult:
        """Build the result from what a turn wrote into the state (the keys of `FinalView`), as DT-004 allows."""
        action = SGRAction(turn["action"] or SGRAction.NORMAL)
        shown = OUTPUT.decide(
            channel=Channel.STRUCTURED_METADATA, action=action, plan_trace=PlanTrace.SYNTHETIC
        ).outcome
        plan = turn["sgr_plan"] or None
        proposed = plan["action"] if plan else None
        calls = [ModelCall.model_validate(call) for call in turn["model_calls"]]
        return cls(
            turn_id=turn["question"].get("id", ""),
            question=turn["question"].get("written") or turn["question"].get("text", ""),
            language=language,
            outcome=outcome,
            answer_text=answer,
            action=turn["action"] or None,
            proposed_action=proposed if proposed != turn["action"] else None,
            flow=turn["flow"] or None,
            request_type=turn["request_type"] or None,
            track=turn["track"] or None,
            block_reason=block_reason,
            plan=_of_plan(plan, shown),
            tool_trace=turn["tool_trace"] if shown.tool_trace else {},
            synthetic_analysis=turn["synthetic"].get("analysis", "") if shown.analysis else "",
            synthetic_response=turn["synthetic"].get("response", "") if shown.response else "",
            moderation={k: v for k, v in turn["moderation"].items() if k != "decision"} or None,  # pyright: ignore[reportArgumentType]
            decisions=turn["decisions"],
            per_query_results=turn["query_traces"],
            final_articles=turn["evidence"],
            guardian=turn["guardian"] or None,
            pages=list(pages),
            choices=list(choices),
            hand_off=hand_off,
            diagnostics=Diagnostics(
                degraded=turn["degraded"],
                retries=turn["retry_count"],
                model_calls=len(calls),
                tokens=tokens_of(calls),
                calls=calls,
            ),
        )


def _is_article(row: object) -> bool:
    return isinstance(row, ArticleEvidence) or (isinstance(row, Mapping) and "passages" in row)


def _number(item: NumberedItem) -> int:
    return item.number


def _of_plan(plan: Mapping[str, Any] | None, shown: ChannelView) -> SGRPlanResult | None:
    if plan is None or not shown.structured_data:
        return None
    known = SGRPlanResult.model_validate(plan)
    return known if shown.user_intent else known.model_copy(update={"user_intent": ""})
