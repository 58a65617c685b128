"""The ports: what the graph asks of the outside, each a small protocol named by its role.

A port raises only `PortError`s; an adapter turns its vendor's errors into them. Each port has one
conformance suite in `tests/support/ports/`, which every adapter and the shipped fake run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from contracts.calls import ModelCall
from contracts.decisions.planning import ToolBinding
from contracts.enums import DraftKind, Entailment, Language, RequestType, RequiredAction, Source
from contracts.evidence import EvidenceItem, QueryTrace
from contracts.lookups import LookupCall
from contracts.plan import SGRPlanResult
from contracts.report import ModerationResult, Receipt, Ticket
from contracts.spec import ArchitectSpec


@dataclass(frozen=True, slots=True)
class Exchange:
    """One earlier message, as somebody saw it: the user's words, or what the user was shown.

    Attributes:
        outcome: How the turn ended that what was shown belongs to; empty where nobody knows, and for the user's words.
    """

    role: str
    text: str
    outcome: str = ""


class Moderator(Protocol):
    """Judges a user's message on the way in."""

    async def moderate(self, text: str) -> ModerationResult:
        """Return the level and categories of a message.

        Raises:
            ModerationUnavailable: It could not be asked, or its reply could not be read.
        """
        ...


@dataclass(frozen=True, slots=True)
class PlanRequest:
    """What planning one user message needs."""

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
    """An accepted plan, the raw trace of the exchange that led to it, and what fell short on the way."""

    plan: SGRPlanResult
    trace: dict[str, object] = field(default_factory=dict[str, object])
    degraded: tuple[str, ...] = ()
    calls: tuple[ModelCall, ...] = field(default=(), compare=False)


class Planner(Protocol):
    """Fills the plan of one user message in one exchange."""

    async def plan(self, request: PlanRequest) -> PlanReply:
        """Return a valid plan.

        Raises:
            PlanningFailed: No valid plan could be had, not even a degraded one.
        """
        ...


class SpeculativePlanner(Planner, Protocol):
    """A planner that can be set to work before moderation has spoken, and whose work can be thrown away."""

    def begin(self, request: PlanRequest) -> None:
        """Plan as if the message were safe; `plan` uses the plan where moderation then says that it is."""
        ...

    def drop(self, turn_id: str) -> tuple[ModelCall, ...]:
        """Throw a begun plan away and return what it cost."""
        ...


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """One query to one source.

    Attributes:
        query: The user's words or a sub-query; data, never a query language.
        top_k: How many items are wanted, best first.
        language: Prefer documents in this language; `None` for any.
        version: Only documents of this version; `None` for those that the query or the question names, and where
            these name none that there is, the deployment's default.
        expand: Widen the query with feedback terms (a retry's REFINE_QUERY).
        exclude: Document keys that must not be returned.
        threshold: The confidence at which an item counts as relevant.
        lookups: What the plan wants looked up, of any source; one that has lookups runs its own of these, and where
            there are none, the one that the query's words ask for.
        question: The user's own words, where the query was made of them.
        request_type: Of the turn; lookups that say so are asked for their request types, whatever the words.
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


@dataclass(frozen=True, slots=True)
class SearchReply:
    """Items best first, the trace of the query, and the requests to embedding and reranking servers that it took."""

    items: tuple[EvidenceItem, ...]
    trace: QueryTrace
    calls: tuple[ModelCall, ...] = field(default=(), compare=False)


class EvidenceSource(Protocol):
    """One kind of evidence."""

    @property
    def kind(self) -> Source:
        """The kind of source this is."""
        ...

    async def search(self, request: SearchRequest) -> SearchReply:
        """Return what the source has on the query; an empty reply where it has nothing.

        Raises:
            SourceUnavailable: It could not be asked.
        """
        ...


class TopicProbe(Protocol):
    """Tells how far a text is on topic for the documents that there are."""

    async def on_topic(self, text: str, made: list[ModelCall] | None = None) -> float:
        """Return 0 to 1, by the formula of `EvidenceItem.confidence`; 0 for a text without content words.

        Args:
            text: A question, or a part of one.
            made: Requests to models are put on record there.
        """
        ...

    async def mend(self, text: str) -> str:
        """Return a text with its slips of the hand put right by the words of the documents."""
        ...


class WordProbe(Protocol):
    """Tells which words the documents do not have."""

    async def unknown(self, text: str, kinds: frozenset[Source]) -> tuple[str, ...]:
        """Return the content words of a text that no document of these kinds has, in any form of the word.

        They are as they are written in the text, in its order. Words in lower case that a search takes for a misspelling
        of a known one are left out.

        Raises:
            SourceUnavailable: They could not be asked.
        """
        ...


@dataclass(frozen=True, slots=True)
class DraftRequest:
    """What writing one draft needs.

    Attributes:
        evidence: What may be cited; `[n]` is its n-th item, counted from 1.
        actions, reasons: What the Guardian asked for, on a retry.
        previous: The draft that is tried again; empty on the first try.
        restricted: FAST without evidence: nothing definite may be claimed.
        intent, synthetic, tool_trace: What DT-004 lets a model see of the plan: the intent, the synthetic message
            (analysis, response and data, joined), the tool call; what it does not is empty.
        tool: Whether the planning tool is offered once more: DT-003's word.
        searches_left: How often the drafter may still ask for a search instead of writing; 0: it is not offered.
        may_quote: Whether a drafter that cannot write may quote instead; where not, it abstains.
    """

    question: str
    language: Language
    request_type: RequestType
    intent: str
    subqueries: tuple[str, ...]
    evidence: tuple[EvidenceItem, ...]
    spec: ArchitectSpec
    synthetic: str = ""
    history: tuple[Exchange, ...] = ()
    actions: tuple[RequiredAction, ...] = ()
    reasons: tuple[str, ...] = ()
    previous: str = ""
    restricted: bool = False
    tool_trace: Mapping[str, object] = field(default_factory=dict[str, object])
    tool: ToolBinding = ToolBinding.UNAVAILABLE
    searches_left: int = 0
    may_quote: bool = True


@dataclass(frozen=True, slots=True)
class Draft:
    """A draft and what it says it is. `text` has citations `[n]` and no list of sources, in the contract's format.

    Attributes:
        searches: What the drafter wants searched before it writes; then there is no text yet.
        degraded: What did not work as configured, each as `part: why`.
        quoted: Whether it was quoted because the model's own could not be used.
    """

    kind: DraftKind
    text: str
    searches: tuple[str, ...] = ()
    quoted: bool = False
    degraded: tuple[str, ...] = ()
    calls: tuple[ModelCall, ...] = field(default=(), compare=False)


class Drafter(Protocol):
    """Writes an answer from evidence."""

    async def draft(self, request: DraftRequest) -> Draft:
        """Return an answer, an honest abstention, a question back, or a wish to search first.

        Raises:
            DraftingFailed: No draft could be had.
        """
        ...


@dataclass(frozen=True, slots=True)
class EntailmentQuestion:
    """A claim, without its citations, and the text that it cites for it."""

    claim: str
    cited: str


@dataclass(frozen=True, slots=True)
class EntailmentAnswer:
    """What follows, and how sure the checker is of it, 0 to 1."""

    entailment: Entailment
    confidence: float


@dataclass(frozen=True, slots=True)
class EntailmentReply:
    """An answer for each question, in their order, and the requests that they took.

    `None` stands for a question that was not asked: it is in a language that the checker was not made for.
    """

    answers: tuple[EntailmentAnswer | None, ...]
    calls: tuple[ModelCall, ...] = field(default=(), compare=False)


class EntailmentChecker(Protocol):
    """Tells whether claims follow from what they cite."""

    async def check(self, questions: Sequence[EntailmentQuestion]) -> EntailmentReply:
        """Return one answer for each question.

        Raises:
            EntailmentUnavailable: It could not be asked, or its reply could not be read.
        """
        ...


class HandOffSink(Protocol):
    """Takes hand-offs to the people who work on them."""

    async def submit(self, ticket: Ticket) -> Receipt:
        """Keep a ticket, then try to deliver it; one of a turn that was submitted before is not sent twice.

        Raises:
            HandOffFailed: It could not even be kept.
        """
        ...
