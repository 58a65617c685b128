"""The product: `from assistant import ask, ask_structured, search, stream`; their async twins begin with an `a`.

For many questions, or as a part of another graph, keep a deployment open with `open_assistant` or `open_graph`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from assistant.api import aask, aask_structured, asearch, ask, ask_structured, astream, search, stream
    from assistant.client import Assistant, open_assistant, open_graph
    from assistant.turns.events import TurnEvent

__all__ = [
    "Assistant",
    "TurnEvent",
    "aask",
    "aask_structured",
    "asearch",
    "ask",
    "ask_structured",
    "astream",
    "open_assistant",
    "open_graph",
    "search",
    "stream",
]
_ELSEWHERE: Final = {
    "TurnEvent": "assistant.turns.events",
    **dict.fromkeys(("Assistant", "open_assistant", "open_graph"), "assistant.client"),
}


def __getattr__(name: str) -> object:
    # Imported on first use: `guardian --help` imports this package, too, and has no use for LangGraph.
    if name in __all__:
        return getattr(import_module(_ELSEWHERE.get(name, "assistant.api")), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
