"""What leaves the graph while a turn runs: never a draft that has not passed, and the verified answer in pieces."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Mapping
from typing import Any, Final, cast

from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import ensure_config
from langchain_core.runnables.graph import Graph as Drawing
from langgraph.graph.message import push_message
from langgraph.graph.state import CompiledStateGraph
from langgraph.pregel.protocol import StreamProtocol

from contracts.context import Context
from contracts.errors import ConfigError
from contracts.state import ChatState
from contracts.values import Verdict

_GUARDED: Final = ("draft_answer", "guardian")
WITHHELD: Final = "(withheld: a draft is shown when it has passed)"
_NAME: Final = re.compile(r"[a-z][a-z0-9_]*")
"""What a reason or a remark is called; what stands behind it may quote the draft."""
_PIECE: Final = re.compile(r".{1,80}(?:\s+|\Z)|.{80}|.+", re.DOTALL)


class JudgedGraph(CompiledStateGraph[ChatState, Context, Any, Any]):
    """The compiled graph, whose streams withhold drafts in every mode, and whose drawing is the story alone.

    LangGraph streams whatever a node writes or reads; it has no hook for what may leave. `aget_state` and the
    checkpoints keep the draft, or no turn could be resumed.
    """

    async def astream(self, *arguments: Any, **options: Any) -> AsyncIterator[Any]:
        # LangGraph's signature begins `input, config=None`; its nodes and ours call it either way.
        given = arguments[0] if arguments else options.pop("input")
        config = arguments[1] if len(arguments) > 1 else options.pop("config", None)
        options.pop("print_mode", None)  # it prints what is streamed as it is
        if options.get("output_keys") in _GUARDED:
            options["output_keys"] = [options["output_keys"]]  # so that the value comes with its name
        async for chunk in super().astream(given, _withholding(config), **options):
            yield withheld(chunk)

    def astream_events(self, *arguments: Any, **options: Any) -> Any:
        events: Any = super().astream_events(*arguments, **options)
        # The third version is awaited, and is made of `astream`, which withholds already.
        return events if options.get("version") == "v3" else _withheld_events(events)

    def astream_log(self, *arguments: Any, **options: Any) -> Any:
        raise ConfigError(
            "The log of a run would tell drafts before they are judged.", "Use `astream` or `astream_events`."
        )

    async def aget_graph(self, config: RunnableConfig | None = None, *, xray: int | bool = False) -> Drawing:
        drawing = await super().aget_graph(config, xray=xray)
        # LangGraph draws error handlers as nodes without an edge; all of them lead to `safe_exit`.
        for node in [node for name, node in drawing.nodes.items() if name.startswith("__error_handler__")]:
            drawing.remove_node(node)
        return drawing


async def _withheld_events(events: AsyncIterator[Any]) -> AsyncIterator[Any]:
    async for event in events:
        # What a model is asked and says inside a node: prompts, plans and drafts.
        if not str(event.get("event", "")).startswith(("on_chat_model", "on_llm")):
            yield withheld(event)


_STREAM: Final = "__pregel_stream"
"""Under this key of its settings a graph finds the stream of the graph that it is a part of, and writes into it."""


def _withholding(config: RunnableConfig | None) -> RunnableConfig:
    """Return the settings of a run, in which the stream of a surrounding graph withholds drafts, too."""
    known = ensure_config(config)
    settings = known.get("configurable", {})
    stream = settings.get(_STREAM)
    if stream is None:
        return known

    def tell(chunk: Any) -> None:
        stream(withheld(chunk))

    return {**known, "configurable": {**settings, _STREAM: StreamProtocol(tell, stream.modes)}}


def withheld(chunk: Any) -> Any:
    """Return what a stream emits without any draft that has not passed.

    A draft, and what was found of its claims, may be shown beside the verdict PASS only. Reasons and advice quote the
    draft: until the turn has ended, only their names are shown, and of a report no draft and no claims at all.
    """
    if isinstance(chunk, Mapping):
        return _withheld_mapping(cast("Mapping[str, Any]", chunk))
    if isinstance(chunk, tuple):
        parts = cast("tuple[Any, ...]", chunk)
        if len(parts) == 2 and isinstance(parts[0], str) and parts[0] in _GUARDED:
            return (parts[0], _withheld_mapping({parts[0]: parts[1]})[parts[0]])
        kept = [withheld(part) for part in parts]
        kind: Any = type(parts)
        return tuple(kept) if kind is tuple else kind(*kept)  # a named tuple takes its fields one by one
    if isinstance(chunk, list):
        return [withheld(part) for part in cast("list[Any]", chunk)]
    return chunk


def _withheld_mapping(chunk: Mapping[str, Any]) -> dict[str, Any]:
    shown: dict[str, Any] = {}
    report: Any = chunk.get("guardian")
    verdict = cast("Mapping[str, Any]", report).get("verdict") if isinstance(report, Mapping) else None
    ended = _is_of_turn(chunk.get("result"))
    for key, value in chunk.items():
        if key == "draft_answer":
            shown[key] = WITHHELD if value and verdict != Verdict.PASS else value
        elif key == "guardian" and isinstance(value, Mapping):
            told = cast("Mapping[str, Any]", value)
            shown[key] = _without_draft(told) if ended else _names_only(told)
        elif key == "result" and _is_of_turn(value):
            shown[key] = _ended(cast("Mapping[str, Any]", value))
        else:
            shown[key] = withheld(value)
    return shown


def _is_of_turn(result: Any) -> bool:
    """Whether this is what a turn came to, rather than what a task wrote, which streams call a result, too."""
    return isinstance(result, Mapping) and "answer_text" in result


def _ended(result: Mapping[str, Any]) -> dict[str, Any]:
    """Return the record of a turn that has ended; who may read drafts that did not pass finds them in the state."""
    report: Any = result.get("guardian")
    told = _without_draft(cast("Mapping[str, Any]", report)) if isinstance(report, Mapping) else report
    return {key: told if key == "guardian" else value for key, value in result.items()}


def _without_draft(report: Mapping[str, Any]) -> dict[str, Any]:
    return dict(report) if report.get("verdict") == Verdict.PASS else _no_draft(report)


def _no_draft(report: Mapping[str, Any]) -> dict[str, Any]:
    short = dict(report)
    if short.get("draft"):
        short["draft"] = WITHHELD
    if "claims" in short:
        short["claims"] = []
    return short


def _names_only(report: Mapping[str, Any]) -> dict[str, Any]:
    short = _no_draft(report)
    for part in ("reasons", "advice"):
        if part in short:
            short[part] = [name.group() for name in map(_NAME.match, map(str, short[part])) if name]
    return short


def pieces(text: str) -> list[str]:
    """Split a text into pieces of up to 80 characters and the blanks behind them; joined, they are the text."""
    return _PIECE.findall(text)


def send_in_pieces(message: AIMessage) -> None:
    """Send a message to whoever streams messages, in pieces under its own id; the whole one then replaces them."""
    for piece in pieces(str(message.text)):
        push_message(AIMessageChunk(content=piece, id=message.id), state_key=None)
