"""The ports: the graph's interfaces to the outside, each a small protocol named by its role.

A port raises only `PortError`s; an adapter converts its vendor's errors into them. Each port has one conformance suite
in `tests/support/ports/`, and every adapter and the shipped fake run it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from contracts.calls import ModelCall
from contracts.decisions.planning import ToolBinding
from contracts.enums import DraftBy, DraftKind, Entailment, Language, RequestType, RequiredAction, Source
from contracts.evidence import EvidenceItem, QueryTrace
from contracts.lookups import LookupCall
from contracts.plan import SGRPlanResult
from contracts.report import ModerationResult, Receipt, Ticket
from contracts.spec import ArchitectSpec


@dataclass(frozen=True, slots=True)
class Exchange:
    """One earlier message of a conversation: the user's words, or what the user saw.

    Attributes:
        outcome: How the turn of a shown message ended; empty if unknown, and for the user's words.
    """

    role: str
    text: str
    outcome: str = ""


class Moderator(Protocol):
    """A port that judges users' incoming messages."""

    async def moderate(self, text: str) -> ModerationResult:
        """Return the level and categories of a message.

        Raises:
            ModerationUnavailable: The moderator did not answer, or its reply is unreadable.
        """
        ...


@dataclass(frozen=True, slots=True)
class PlanRequest:
    """The input for planning one user message."""

    message: str
    language: Language
    history: tuple[Exchange, ...] = ()
    clarifications: int = 0
    """How many questions were asked back in a row just before this message, which answers the last of them."""
    moderation: ModerationResult | None = None
    turn_id: str = ""
    sources: frozenset[Source] | None = None
    """The kinds of sources that the user may use; `None` where nobody says."""
    tool: ToolBinding = ToolBinding.FORCED
    """Whether the planning tool may be offered: DT-003's word."""


@dataclass(frozen=True, slots=True)
class PlanReply:
    """An accepted plan, the raw trace of its exchange, and the parts that did not work as configured."""

    plan: SGRPlanResult
    trace: dict[str, object] = field(default_factory=dict[str, object])
    degraded: tuple[str, ...] = ()
    calls: tuple[ModelCall, ...] = field(default=(), compare=False)


class Planner(Protocol):
    """A port that plans one user message in one exchange."""

    async def plan(self, request: PlanRequest) -> PlanReply:
        """Return a valid plan.

        Raises:
            PlanningFailed: The planner has no valid plan, not even a degraded one.
        """
        ...


class SpeculativePlanner(Planner, Protocol):
    """A planner that can start before moderation answers, and can discard its work."""

    def begin(self, request: PlanRequest) -> None:
        """Plan as if the message were safe; `plan` uses this plan if moderation then passes the message."""
        ...

    def drop(self, turn_id: str) -> tuple[ModelCall, ...]:
        """Discard a plan that was begun, and return its requests to models."""
        ...


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """One query to one source.

    Attributes:
        query: The user's words or a sub-query; data, never a query language.
        top_k: The number of items wanted, best first.
        language: Prefer documents in this language; `None` for any.
        version: Only documents of this version; `None` for the versions that the query or the question names. If they
            name no known version, the deployment's default applies.
        expand: Widen the query with feedback terms (a retry's REFINE_QUERY).
        exclude: Document keys that must not be returned.
        threshold: The confidence at which an item counts as relevant.
        lookups: The plan's lookups, for all sources. A source with lookups runs its own; if it has none here, it runs
            the one that the query's words choose.
        question: The user's own words, if the query was made from them.
        request_type: Of the turn; lookups that name it run for it, whatever the words.
        told: As in `QueryTrace`.
    """

    query: str
    top_k: int = 6
    language: Language | None = None
    version: str | None = None
    expand: bool = False
    exclude: frozenset[str] = frozenset()
    threshold: float = 0.5
    lookups: tuple[LookupCall, ...] = ()
    question: str = ""
    request_type: RequestType | None = None
    told: bool = False


@dataclass(frozen=True, slots=True)
class SearchReply:
    """The items, best first, with the trace of the query and its requests to embedding and reranking servers."""

    items: tuple[EvidenceItem, ...]
    trace: QueryTrace
    calls: tuple[ModelCall, ...] = field(default=(), compare=False)


class EvidenceSource(Protocol):
    """A port that searches one kind of evidence."""

    @property
    def kind(self) -> Source:
        """The kind of source this is."""
        ...

    async def search(self, request: SearchRequest) -> SearchReply:
        """Return what the source has on the query; an empty reply if it has nothing.

        Raises:
            SourceUnavailable: The source did not answer.
        """
        ...


class TopicProbe(Protocol):
    """A port that estimates how far a text is on topic for the documents."""

    async def on_topic(self, text: str, made: list[ModelCall] | None = None) -> float:
        """Return 0 to 1, by the formula of `EvidenceItem.confidence`; 0 for a text without content words.

        Args:
            text: A question, or a part of one.
            made: Requests to models are appended to it.
        """
        ...

    async def mend(self, text: str) -> str:
        """Return a text with its typing errors corrected to words of the documents."""
        ...


class WordProbe(Protocol):
    """A port that finds words that the documents do not have."""

    async def unknown(self, text: str, kinds: frozenset[Source]) -> tuple[str, ...]:
        """Return the content words of a text that no document of these kinds has in any word form.

        They are in the text's spelling and order. Lowercase words that a search reads as a misspelling of a known word
        are left out.

        Raises:
            SourceUnavailable: The documents could not be searched.
        """
        ...


class NearnessProbe(Protocol):
    """A port that tells how near texts are in meaning to a question, by a model in this process."""

    async def nearness(self, question: str, texts: Sequence[str]) -> tuple[float, ...]:
        """Return the cosine of each text to the question, -1 to 1, in the order of the texts; empty if it cannot be told."""
        ...


@dataclass(frozen=True, slots=True)
class DraftRequest:
    """The input for writing one draft.

    Attributes:
        evidence: The items that the draft may cite; `[n]` is the n-th, counted from 1.
        actions, reasons: On a retry, what the Guardian requires and why.
        previous: The draft to be improved; empty on the first try.
        restricted: FAST without evidence: the draft may claim nothing definite.
        intent, synthetic, tool_trace: The parts of the plan that DT-004 shows to a model: the intent, the synthetic
            message (analysis, response and data, joined), the tool call. The others are empty.
        synthetic_response: The response as a message of its own; then `synthetic` has no response.
        in_question: Whether `synthetic` stands in the user's message instead of one of the assistant's.
        tool: Whether the planning tool is offered once more, by DT-003.
        searches_left: How often the drafter may still request a search instead of writing; 0: searching is not offered.
        draft_by: Whether a language model writes the draft, or arranges sentences of the evidence.
        may_quote: Whether a drafter that cannot write may quote instead; if not, it abstains.
        read: For each of `subqueries`, a reranker's score of each item that it read, by ref; empty if none did.
        odds: Whether these scores are logits of "this passage answers the query" (`QueryTrace.odds`).
    """

    question: str
    language: Language
    request_type: RequestType
    intent: str
    subqueries: tuple[str, ...]
    evidence: tuple[EvidenceItem, ...]
    spec: ArchitectSpec
    synthetic: str = ""
    synthetic_response: str = ""
    in_question: bool = False
    history: tuple[Exchange, ...] = ()
    actions: tuple[RequiredAction, ...] = ()
    reasons: tuple[str, ...] = ()
    previous: str = ""
    restricted: bool = False
    tool_trace: Mapping[str, object] = field(default_factory=dict[str, object])
    tool: ToolBinding = ToolBinding.UNAVAILABLE
    searches_left: int = 0
    draft_by: DraftBy = DraftBy.WRITE
    may_quote: bool = True
    read: tuple[Mapping[str, float], ...] = ()
    odds: bool = False


@dataclass(frozen=True, slots=True)
class Draft:
    """A draft and its kind. `text` is in the contract's format, with citations `[n]` and no list of sources.

    Attributes:
        searches: The queries that the drafter wants searched before it writes; then there is no text yet.
        degraded: Parts that did not work as configured, each as `part: why`.
        quoted: Whether it is put together of the evidence's own sentences, and of no words of a model.
    """

    kind: DraftKind
    text: str
    searches: tuple[str, ...] = ()
    quoted: bool = False
    degraded: tuple[str, ...] = ()
    calls: tuple[ModelCall, ...] = field(default=(), compare=False)


class Drafter(Protocol):
    """A port that writes an answer from evidence."""

    async def draft(self, request: DraftRequest) -> Draft:
        """Return an answer, an abstention, a clarification question, or a request to search first.

        Raises:
            DraftingFailed: The drafter has no draft.
        """
        ...


@dataclass(frozen=True, slots=True)
class EntailmentQuestion:
    """A claim without its citations, and the text that it cites."""

    claim: str
    cited: str


@dataclass(frozen=True, slots=True)
class EntailmentAnswer:
    """Whether the claim follows, and the checker's confidence, 0 to 1."""

    entailment: Entailment
    confidence: float


@dataclass(frozen=True, slots=True)
class EntailmentReply:
    """One answer for each question, in order, and the requests to models.

    `None` marks a question that was not asked, because the checker does not support its language.
    """

    answers: tuple[EntailmentAnswer | None, ...]
    calls: tuple[ModelCall, ...] = field(default=(), compare=False)


class EntailmentChecker(Protocol):
    """A port that judges whether claims follow from the texts that they cite."""

    async def check(self, questions: Sequence[EntailmentQuestion]) -> EntailmentReply:
        """Return one answer for each question.

        Raises:
            EntailmentUnavailable: The checker did not answer, or its reply is unreadable.
        """
        ...


class HandOffSink(Protocol):
    """A port that delivers hand-offs to the people who work on them."""

    async def submit(self, ticket: Ticket) -> Receipt:
        """Keep a ticket, then try to deliver it; a turn's ticket is never sent twice.

        Raises:
            HandOffFailed: The ticket was neither delivered nor kept.
        """
        ...
