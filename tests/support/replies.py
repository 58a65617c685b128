"""What is read from the replies of a search."""

from __future__ import annotations

from contracts.ports import SearchReply


def keys(reply: SearchReply) -> list[str]:
    """Return the documents of a reply, best first."""
    return [item.document for item in reply.items]
