"""The enums of the product: every value is a word of the specification.

All are `StrEnum`, so that the state, the checkpoints and the JSON results hold plain strings.
"""

from __future__ import annotations

from enum import StrEnum


class Language(StrEnum):
    """A language the product answers in."""

    EN = "en"
    RU = "ru"


class SafetyLevel(StrEnum):
    """Moderation's level for a user's message; N/A means that nobody could or should judge it."""

    SAFE = "Safe"
    CONTROVERSIAL = "Controversial"
    UNSAFE = "Unsafe"
    NOT_AVAILABLE = "N/A"


class ModerationState(StrEnum):
    """The first column of DT-001: a level, or why there is none."""

    UNSAFE = "Unsafe"
    CONTROVERSIAL = "Controversial"
    SAFE = "Safe"
    OFF = "off"
    UNAVAILABLE = "unavailable"


class ModerationDecision(StrEnum):
    """The outcome of DT-001."""

    BLOCK = "Block"
    CONTINUE = "Continue"


class HarmCategory(StrEnum):
    """Qwen3Guard's harm categories, used for every provider."""

    VIOLENT = "Violent"
    ILLEGAL = "Non-violent Illegal Acts"
    SEXUAL = "Sexual Content or Sexual Acts"
    PII = "PII"
    SELF_HARM = "Suicide & Self-Harm"
    UNETHICAL = "Unethical Acts"
    POLITICAL = "Politically Sensitive Topics"
    COPYRIGHT = "Copyright Violation"
    JAILBREAK = "Jailbreak"


class GuardMode(StrEnum):
    """Whether moderation may stop a turn, only reports, or is off."""

    ENFORCE = "enforce"
    REPORT = "report"
    OFF = "off"


class BlockThreshold(StrEnum):
    """The mildest level that stops a turn under `enforce`."""

    UNSAFE = "unsafe"
    CONTROVERSIAL = "controversial"


class OnUnavailable(StrEnum):
    """What happens if moderation is unavailable."""

    FALLBACK = "fallback"
    OPEN = "open"
    CLOSED = "closed"


class RequestType(StrEnum):
    """What kind of answer a request wants; DT-006 and DT-007 read it."""

    STATUS_METRIC = "STATUS_METRIC"
    STATUS_SUMMARY = "STATUS_SUMMARY"
    STATUS_LIST = "STATUS_LIST"
    HOWTO_POLICY = "HOWTO_POLICY"
    DESIGN_ARCH = "DESIGN_ARCH"
    DATA_DEFINITION = "DATA_DEFINITION"
    TROUBLESHOOTING = "TROUBLESHOOTING"
    KNOWLEDGE_QA = "KNOWLEDGE_QA"
    CASUAL = "CASUAL"


class SGRAction(StrEnum):
    """What a plan leads to; the values are the template names."""

    NORMAL = "normal"
    CLARIFY = "clarify"
    BLOCK = "block"
    GUARDIAN_BLOCK = "guardian_block"


class Flow(StrEnum):
    """How a turn goes on after DT-002."""

    STOP = "stop"
    ASK = "ask"
    HAND_OFF = "hand_off"
    GO_ON = "go_on"


class Track(StrEnum):
    """How strictly a turn is judged."""

    FAST = "FAST"
    QUALITY = "QUALITY"


class Source(StrEnum):
    """A kind of evidence source."""

    DOC = "doc"
    POLICY = "policy"
    DB = "db"
    NEO4J = "neo4j"


class Diversity(StrEnum):
    """How the Guardian judges evidence that all comes from one place."""

    OFF = "off"
    ADVISORY = "advisory"
    REQUIRED = "required"


class DraftKind(StrEnum):
    """What a draft says it is."""

    ANSWER = "answer"
    ABSTENTION = "abstention"
    CLARIFICATION = "clarification"


class PolicyStatus(StrEnum):
    """What the policy check found."""

    OK = "ok"
    VIOLATED = "violated"
    UNCHECKED = "unchecked"


class CheckStatus(StrEnum):
    """The result of a check; `unchecked` means that the check could not run, which is never `ok`.

    Only the relevance check uses `doubtful`: nothing speaks against the answer, and too little speaks for it.
    """

    OK = "ok"
    FAILED = "failed"
    DOUBTFUL = "doubtful"
    UNCHECKED = "unchecked"
    NOT_ASKED = "not_asked"


class ClaimStatus(StrEnum):
    """The Guardian's finding on one claim of a draft."""

    SUPPORTED = "supported"
    UNCITED = "uncited"
    UNRESOLVABLE = "unresolvable"
    UNSUPPORTED = "unsupported"
    NOT_ENTAILED = "not_entailed"


class Entailment(StrEnum):
    """An entailment checker's answer for a claim and the texts that it cites."""

    ENTAILED = "entailed"
    NEUTRAL = "neutral"
    CONTRADICTED = "contradicted"


class EntailmentMode(StrEnum):
    """How the verdict uses an entailment checker's answers; without a connected checker, no mode has an effect."""

    OFF = "off"
    ADVISORY = "advisory"
    BINDING = "binding"


class ResponseFormat(StrEnum):
    """How an answer is written: Markdown, one JSON object, or Markdown with one block of JSON in it."""

    MARKDOWN = "markdown"
    JSON = "json"
    HYBRID = "hybrid"


class DeliveryStatus(StrEnum):
    """The state of a submitted hand-off: delivered, or kept to be sent again."""

    DELIVERED = "delivered"
    KEPT = "kept"


class Verdict(StrEnum):
    """The Guardian's verdict on a draft."""

    PASS = "PASS"
    RETRY = "RETRY"
    FAIL = "FAIL"


class RiskLevel(StrEnum):
    """How much harm the judged draft could have done."""

    LOW = "low"
    MED = "med"
    HIGH = "high"


class RequiredAction(StrEnum):
    """What a retry, or the exit of a failed turn, must do."""

    ADD_EVIDENCE = "ADD_EVIDENCE"
    RETRIEVE_MORE = "RETRIEVE_MORE"
    DIVERSIFY_SOURCES = "DIVERSIFY_SOURCES"
    REMOVE_DOC_EVIDENCE = "REMOVE_DOC_EVIDENCE"
    USE_DB_ONLY = "USE_DB_ONLY"
    RETRIEVE_DB = "RETRIEVE_DB"
    RETRIEVE_DOC = "RETRIEVE_DOC"
    RETRIEVE_POLICY = "RETRIEVE_POLICY"
    RETRIEVE_NEO4J = "RETRIEVE_NEO4J"
    REFINE_QUERY = "REFINE_QUERY"
    ADD_REQUIRED_SECTIONS = "ADD_REQUIRED_SECTIONS"
    REMOVE_FORBIDDEN_CONTENT = "REMOVE_FORBIDDEN_CONTENT"
    USE_DOMAIN_TERMS = "USE_DOMAIN_TERMS"
    ADD_EVIDENCE_REFERENCES = "ADD_EVIDENCE_REFERENCES"
    REGENERATE_DRAFT = "REGENERATE_DRAFT"
    ASK_MINIMAL_QUESTION = "ASK_MINIMAL_QUESTION"
    SAFE_REFUSAL = "SAFE_REFUSAL"
    REDACT_SENSITIVE = "REDACT_SENSITIVE"
    ESCALATE_TO_HUMAN = "ESCALATE_TO_HUMAN"


class Outcome(StrEnum):
    """How a turn ended, as the user saw it."""

    ANSWERED = "answered"
    CLARIFICATION = "clarification"
    PAGES_SHOWN = "pages_shown"
    DECLINED = "declined"
    REFUSED = "refused"
    HANDED_OFF = "handed_off"
    ERROR = "error"


class Tickets(StrEnum):
    """Which turns without an answer make a ticket: those that need action, or all but the harmless ones."""

    NEEDED = "needed"
    WIDE = "wide"


class EvidenceCounted(StrEnum):
    """Which evidence DT-006 counts and averages: items that the draft cites, or all items that it could see."""

    CITED = "cited"
    SENT = "sent"


class PartStatus(StrEnum):
    """How far an answer covers one part of a question."""

    ANSWERED = "answered"
    PARTLY = "partly"
    """What it cites may answer the part, and is not sure enough, or lacks a word of it that says much."""
    NOT_FOUND = "not_found"


class HandOffOutcome(StrEnum):
    """The work that a turn leaves to the person who takes it over."""

    RESOLVED = "resolved"
    PARTIALLY_RESOLVED = "partially_resolved"
    ESCALATION_REQUIRED = "escalation_required"
    USER_FOLLOWUP_NEEDED = "user_followup_needed"
    NOT_APPLICABLE = "not_applicable"


class Channel(StrEnum):
    """A place that shows parts of the result; DT-004 reads it."""

    MODEL_CONTEXT = "model_context"
    USER_INTERFACE = "user_interface"
    STRUCTURED_METADATA = "structured_metadata"


class TurnState(StrEnum):
    """The planning state of a turn; DT-003 reads it."""

    PLANNING = "planning"
    PLAN_ACCEPTED = "plan_accepted"
    MID_TURN = "mid_turn"


class PlanTrace(StrEnum):
    """The form in which the drafting model sees the plan.

    One synthetic message; the tool call with the JSON as its result; the synthetic message's two fields as two messages of
    the assistant in a row; or its analysis in the user's own message.
    """

    SYNTHETIC = "synthetic"
    TOOL_RESULT = "tool_result"
    TWO_MESSAGES = "two_messages"
    IN_QUESTION = "in_question"


class Dialect(StrEnum):
    """The Markdown dialect of a folder; `adapters/reading/dialects.py` defines each."""

    PLAIN = "plain"
    MKDOCS = "mkdocs"


class SearchBy(StrEnum):
    """Who chooses the search queries: only the plan, or the drafting model as well."""

    PLAN = "plan"
    MODEL = "model"


class DraftBy(StrEnum):
    """How a language model drafts: it writes, or it chooses and orders sentences of the evidence."""

    WRITE = "write"
    ARRANGE = "arrange"


class CallPurpose(StrEnum):
    """The purpose of a request to a model."""

    MODERATION = "moderation"
    PLAN = "plan"
    DRAFT = "draft"
    EMBED = "embed"
    RERANK = "rerank"
    STATEMENT = "statement"
    ENTAIL = "entail"


class FaultKind(StrEnum):
    """The kind of fault in a request to a server, or in its reply.

    Faults of the first group may be temporary, so the same request is sent again. The others would fail again.
    """

    UNREACHABLE = "unreachable"
    BROKEN_OFF = "broken_off"
    BUSY = "busy"
    SERVER_ERROR = "server_error"
    UNREADABLE = "unreadable"

    DEADLINE = "deadline"
    BAD_REQUEST = "bad_request"
    TOO_LONG = "too_long"
    NOT_ALLOWED = "not_allowed"
    NOT_FOUND = "not_found"
    EMPTY = "empty"
    CUT_SHORT = "cut_short"
    FILTERED = "filtered"
    NOT_AS_ASKED = "not_as_asked"
    LOOPED = "looped"
    """The reply says the same over and over: asked again, the model would do it again."""
    RESTING = "resting"
    """Not sent: the model missed so many deadlines that it is left alone for a while."""

    @property
    def may_pass(self) -> bool:
        """Whether the same request may succeed if it is sent again."""
        return self in _PASSING


_PASSING = frozenset(
    (FaultKind.UNREACHABLE, FaultKind.BROKEN_OFF, FaultKind.BUSY, FaultKind.SERVER_ERROR, FaultKind.UNREADABLE)
)
