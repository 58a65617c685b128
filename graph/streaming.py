"""The stream of a running turn: it holds no draft that has not passed, and the verified answer in pieces."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator, Mapping
from contextlib import aclosing, contextmanager
from typing import Any, Final, cast

from langchain_core.callbacks import AsyncCallbackManager, BaseCallbackManager
from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import ensure_config, var_child_runnable_config
from langchain_core.runnables.graph import Graph as Drawing
from langgraph.errors import EmptyInputError
from langgraph.graph.message import push_message
from langgraph.graph.state import CompiledStateGraph
from typing_extensions import TypeIs

from contracts.context import Context
from contracts.enums import Verdict
from contracts.errors import ConfigError, InputError
from contracts.reasons import reason_name
from contracts.state import ChatState, Json
from graph.langgraph_internals import filter_surrounding, hears_models, is_part

_GUARDED: Final = ("draft_answer", "guardian")
_TOLD: Final = frozenset({*_GUARDED, "result"})
"""Keys under which something may have to be withheld."""
_LEAVES: Final = frozenset({str, int, float, bool, type(None)})
WITHHELD: Final = "(withheld: a draft is shown when it has passed)"
_PIECE: Final = re.compile(r".{1,80}(?:\s+|\Z)|.{80}|.+", re.DOTALL)


class JudgedGraph(CompiledStateGraph[ChatState, Context, Any, Any]):
    """The compiled graph. Its streams withhold drafts in every mode, and its drawing shows only the path of a turn.

    LangGraph streams everything that a node writes or reads, without a hook to filter it. `aget_state` and the
    checkpoints keep the draft, because a resumed turn needs it.
    """

    async def astream(self, *arguments: Any, **options: Any) -> AsyncIterator[Any]:
        # LangGraph's signature begins `input, config=None`; its nodes and ours call it either way.
        given = arguments[0] if arguments else options.pop("input")
        config = arguments[1] if len(arguments) > 1 else options.pop("config", None)
        returned = (config or {}).get("configurable", {}).get(_RETURNED) is _OURS
        steps = cast("object", (config or {}).get("configurable", {}).get(_STEPS_ALONE))
        options.pop("print_mode", None)  # it prints what is streamed as it is
        if options.get("output_keys") in _GUARDED:
            options["output_keys"] = [options["output_keys"]]  # so that the value comes with its name
        async with aclosing(
            cast("AsyncGenerator[Any]", super().astream(given, _withhold_drafts(config), **options))
        ) as run:
            while True:
                try:
                    with _unheard_around():
                        chunk = await anext(run)
                except StopAsyncIteration:
                    return
                except EmptyInputError as error:
                    raise InputError(
                        "There is nothing to go on with: no message was sent, and no state is stored under this checkpoint.",
                        "Send a message, or take the id of a checkpoint from the conversation's history: the steps of earlier "
                        "turns are dropped.",
                    ) from error
                yield withheld(steps.pass_on(chunk) if isinstance(steps, _StepsAlone) else chunk, whole=returned)

    async def ainvoke(self, *arguments: Any, **options: Any) -> Any:
        given = arguments[0] if arguments else options.pop("input")
        config = arguments[1] if len(arguments) > 1 else options.pop("config", None)
        known = ensure_config(config)
        settings = known.get("configurable", {})
        # What a node returns, the graph around it streams.
        if var_child_runnable_config.get() is None and not is_part(known):
            known = {**known, "configurable": {**settings, _RETURNED: _OURS}}
        plain: Any = super()
        return await plain.ainvoke(given, known, **options)

    def astream_events(self, *arguments: Any, **options: Any) -> Any:
        given = arguments[0] if arguments else options.pop("input")
        config = arguments[1] if len(arguments) > 1 else options.pop("config", None)
        plain: Any = super()
        if options.get("version") == "v3":  # awaited, and made of `astream`, which withholds already
            return plain.astream_events(given, config, **options)
        return _withheld_events(plain.astream_events(given, _told_here(config), **options))

    def astream_log(self, *arguments: Any, **options: Any) -> Any:
        raise ConfigError(
            "The log of a run would show drafts before they are judged.", "Use `astream` or `astream_events`."
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


_OURS: Final = object()
"""The value of the marks below, which nobody can send in settings of their own."""
_TOLD_HERE: Final = "__guardian_events"
"""Under this key of its settings a run finds that its events are told by this graph, which withholds drafts from them.

Two underscores: LangGraph keeps such keys out of the metadata of checkpoints and traces.
"""
_STEPS_ALONE: Final = "__guardian_steps"
"""Under this key stands a `_StepsAlone`, if tasks are streamed without what they are given: most of a state for each of them."""
_RETURNED: Final = "__guardian_returned"
"""The same of a run that is not streamed: it returns the state that it ended in to whoever called it."""


class _StepsAlone:
    """How the tasks of a run are streamed to the program that runs it.

    Args:
        on_end: Called with what the turn came to.
    """

    def __init__(self, on_end: Callable[[Json], None]) -> None:
        self._on_end = on_end

    def pass_on(self, chunk: Any) -> Any:
        """Tell what a turn came to, which no stream shows in full; return a task's beginning without what it is given."""
        if not _is_mapping(chunk):
            return chunk
        written = chunk.get("result")
        if _is_mapping(written) and _is_of_turn(written.get("result")):
            self._on_end(dict(written["result"]))
        return {**chunk, "input": None} if "input" in chunk else chunk


def steps_alone(config: RunnableConfig, on_end: Callable[[Json], None]) -> RunnableConfig:
    """Return the settings of a run that streams its tasks with their names and results, without their inputs.

    Args:
        config: The settings.
        on_end: Called with the result of the turn, as the state has it.
    """
    return {**config, "configurable": {**config.get("configurable", {}), _STEPS_ALONE: _StepsAlone(on_end)}}


def _told_here(config: RunnableConfig | None) -> RunnableConfig:
    """Return the settings of a run whose events this graph tells, and no surrounding run."""
    known = _drop_listeners(ensure_config(config))
    return {**known, "configurable": {**known.get("configurable", {}), _TOLD_HERE: _OURS}}


@contextmanager
def _unheard_around() -> Generator[None]:
    """Take the listeners out of the settings that a surrounding node left behind: LangGraph adds them to any given."""
    around = var_child_runnable_config.get()
    token = var_child_runnable_config.set(_drop_listeners(around) if around else around)
    try:
        yield
    finally:
        var_child_runnable_config.reset(token)


def _drop_listeners(config: RunnableConfig) -> RunnableConfig:
    """Return the settings of a run without the listeners of a surrounding one that are told what models say; tracers stay."""
    given = config.get("callbacks")
    if isinstance(given, BaseCallbackManager):
        kept = given.copy()
        kept.handlers = [one for one in kept.handlers if not hears_models(one)]
        kept.inheritable_handlers = [one for one in kept.inheritable_handlers if not hears_models(one)]
        return {**config, "callbacks": kept}
    if given and any(map(hears_models, given)):
        # A manager, also of none: an empty list would make LangGraph take those of the surrounding run.
        return {**config, "callbacks": AsyncCallbackManager([one for one in given if not hears_models(one)])}
    return config


def _withhold_drafts(config: RunnableConfig | None) -> RunnableConfig:
    """Return the settings of a run, from which a surrounding one is told no draft, either."""
    known = ensure_config(config)
    if known.get("configurable", {}).get(_TOLD_HERE) is not _OURS:
        known = _drop_listeners(known)
    return filter_surrounding(known, withheld)


def withheld(chunk: Any, *, whole: bool = False) -> Any:
    """Return a stream's chunk without any draft that has not passed.

    A draft and the findings on its claims are shown only with the verdict PASS. Reasons and advice quote the draft:
    only their names are shown until the turn ends, and after that, too, for any other verdict.

    Args:
        chunk: What the stream emits.
        whole: Whether the reasons of an ended turn stay complete, whatever the verdict.
    """
    if type(chunk) in _LEAVES:
        return chunk
    if _is_mapping(chunk):
        return _withheld_mapping(chunk, whole=whole)
    if isinstance(chunk, tuple):
        parts = cast("tuple[Any, ...]", chunk)
        if len(parts) == 2 and isinstance(parts[0], str) and parts[0] in _GUARDED:
            return (parts[0], _withheld_mapping({parts[0]: parts[1]}, whole=whole)[parts[0]])
        kept = [withheld(part, whole=whole) for part in parts]
        kind: Any = type(parts)
        return tuple(kept) if kind is tuple else kind(*kept)  # a named tuple takes its fields one by one
    if isinstance(chunk, list):
        items = cast("list[Any]", chunk)
        return [part if type(part) in _LEAVES else withheld(part, whole=whole) for part in items]
    return chunk


def _is_mapping(value: Any) -> TypeIs[Mapping[str, Any]]:
    # Nearly all are dicts; to ask for the protocol takes ten times as long, and is asked of all that a state holds.
    return type(value) is dict or isinstance(value, Mapping)


def _withheld_mapping(chunk: Mapping[str, Any], *, whole: bool) -> dict[str, Any]:
    if _TOLD.isdisjoint(chunk):  # as in most of what a state holds
        return {key: value if type(value) in _LEAVES else withheld(value, whole=whole) for key, value in chunk.items()}
    shown: dict[str, Any] = {}
    report: Any = chunk.get("guardian")
    verdict = report.get("verdict") if _is_mapping(report) else None
    ended = _is_of_turn(chunk.get("result"))
    for key, value in chunk.items():
        if key == "draft_answer":
            shown[key] = WITHHELD if value and verdict != Verdict.PASS else value
        elif key == "guardian" and _is_mapping(value):
            shown[key] = _of_ended(value, whole=whole) if ended else _names_only(value)
        elif key == "result" and _is_of_turn(value):
            shown[key] = _record_end(cast("Mapping[str, Any]", value), whole=whole)
        else:
            shown[key] = withheld(value, whole=whole)
    return shown


def _is_of_turn(result: Any) -> bool:
    """Whether this is what a turn came to, rather than what a task wrote, which streams call a result, too."""
    return _is_mapping(result) and "answer_text" in result


def _record_end(result: Mapping[str, Any], *, whole: bool) -> dict[str, Any]:
    """Return the record of a turn that has ended; who may read drafts that did not pass finds them in the state."""
    shown = dict(result)
    report: Any = result.get("guardian")
    if isinstance(report, Mapping):
        shown["guardian"] = _of_ended(cast("Mapping[str, Any]", report), whole=whole)
    return shown


def _of_ended(report: Mapping[str, Any], *, whole: bool) -> dict[str, Any]:
    if report.get("verdict") == Verdict.PASS:
        return dict(report)
    return _no_draft(report) if whole else _names_only(report)


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
            said: Any = short[part]
            # After an edit in Studio it may be anything.
            reasons = cast("list[Any]", said) if isinstance(said, list | tuple) else []
            short[part] = [name for name in map(reason_name, map(str, reasons)) if name]
    return short


def pieces(text: str) -> list[str]:
    """Split a text into pieces of up to 80 characters plus the blanks after them; joined, they are the text."""
    return _PIECE.findall(text)


def send_in_pieces(message: AIMessage) -> None:
    """Send a message to listeners of messages, in pieces under its own id; the whole message then replaces them."""
    for piece in pieces(str(message.text)):
        push_message(AIMessageChunk(content=piece, id=message.id), state_key=None)
