"""The product: `from assistant import ask, ask_structured, search`, and the async twins with an a before the name."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from assistant.api import aask, aask_structured, asearch, ask, ask_structured, search

__all__ = ["aask", "aask_structured", "asearch", "ask", "ask_structured", "search"]


def __getattr__(name: str) -> object:
    # Imported on first use: `guardian --help` imports this package, too, and has no use for LangGraph.
    if name in __all__:
        from assistant import api

        return getattr(api, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
