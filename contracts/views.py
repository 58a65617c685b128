"""The state keys that each node may read. LangGraph passes a node only the keys of its view.

A view key must be a key of `ChatState` (a test checks this): an unknown key would silently become a channel.
"""

# Annotations are types here, no strings: where LangGraph checks what is stored, it evaluates those for each graph.

from langchain_core.messages import AnyMessage
from typing_extensions import TypedDict

from contracts.state import Json


class TurnInput(TypedDict):
    """The input that starts a turn: only messages."""

    messages: list[AnyMessage]


class ModerationView(TypedDict):
    messages: list[AnyMessage]
    clarify_count: int


class PlanView(TypedDict):
    messages: list[AnyMessage]
    clarify_count: int
    question: Json
    moderation: Json
    decisions: list[Json]
    degraded: list[str]
    model_calls: list[Json]


class SyntheticView(TypedDict):
    question: Json
    moderation: Json
    sgr_plan: Json
    action: str
    decisions: list[Json]


class RetrieveView(TypedDict):
    question: Json
    sgr_plan: Json
    request_type: str
    guardian: Json
    retry_count: int
    evidence: list[Json]
    query_traces: list[Json]
    past_searches: list[Json]
    degraded: list[str]
    widened: bool
    searches_wanted: list[str]
    model_calls: list[Json]


class DraftView(TypedDict):
    messages: list[AnyMessage]
    question: Json
    sgr_plan: Json
    synthetic: Json
    request_type: str
    track: str
    architect_spec: Json
    evidence: list[Json]
    query_traces: list[Json]
    guardian: Json
    draft_answer: str
    degraded: list[str]
    tool_trace: Json
    searches_made: int
    nothing_new: bool
    drafted_from: str
    widened: bool
    quoting: bool
    retry_count: int
    decisions: list[Json]
    model_calls: list[Json]


class GuardianView(TypedDict):
    question: Json
    sgr_plan: Json
    request_type: str
    track: str
    architect_spec: Json
    request_policy: Json
    decisions: list[Json]
    evidence: list[Json]
    query_traces: list[Json]
    widened: bool
    nothing_new: bool
    draft_answer: str
    draft_kind: str
    quoting: bool
    quoted: bool
    kept: Json
    retry_count: int
    degraded: list[str]
    model_calls: list[Json]


class RetryView(TypedDict):
    retry_count: int


class FinalView(TypedDict):
    """The view of both final nodes: each builds the whole result, so each reads all that a turn wrote."""

    messages: list[AnyMessage]
    clarify_count: int
    question: Json
    moderation: Json
    sgr_plan: Json
    tool_trace: Json
    action: str
    flow: str
    request_type: str
    track: str
    architect_spec: Json
    request_policy: Json
    decisions: list[Json]
    degraded: list[str]
    synthetic: Json
    evidence: list[Json]
    query_traces: list[Json]
    draft_answer: str
    draft_kind: str
    guardian: Json
    retry_count: int
    model_calls: list[Json]
    error: Json
