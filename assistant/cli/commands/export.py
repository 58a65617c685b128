"""`guardian export`: one conversation and what people did with it, for its user or for an archive."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from adapters.hand_off.outbox import OutboxEntry
from assistant.cli.reviewer import reviewer
from assistant.deployment import Deployment, deployment
from assistant.turns.feedback import FeedbackStore
from assistant.turns.reviews import Reviews
from assistant.turns.shared_links import SharedLinks
from assistant.turns.transcript import MAX_ID_LENGTH, MAX_STORED_ID_LENGTH, check_id
from assistant.wiring.hand_offs import outbox
from assistant.wiring.storage import has_conversations
from assistant.wiring.turns import open_store
from contracts.errors import UnknownThread


def run(options: argparse.Namespace) -> int:
    """Print a conversation as JSON."""
    check_id("conversation's", options.thread, MAX_STORED_ID_LENGTH if "/" in options.thread else MAX_ID_LENGTH)
    if (found := asyncio.run(_collect(deployment(options.profile), options.thread))) is None:
        raise UnknownThread(f"There is no conversation {options.thread!r}.", "`guardian threads list` shows all.")
    json.dump(found, sys.stdout, ensure_ascii=False, indent=2)
    print()
    return 0


async def _collect(deployed: Deployment, thread: str) -> dict[str, Any] | None:
    """Return what is kept of a conversation; `None` if there is nothing. That somebody looked is recorded first."""
    hand_offs = [_describe(entry) for entry in await outbox(deployed).entries() if entry.thread_id == thread]
    if not hand_offs and not has_conversations(deployed):
        return None
    async with open_store(deployed) as store:
        turns = await store.turns(thread)
        if not turns and not hand_offs:
            return None
        reviews = await Reviews.share(store)
        await reviews.add_look(reviewer(), f"export {thread}")
        feedback = await (await FeedbackStore.share(store)).of(thread)
        reviewed = await reviews.of(thread)
        links = await (await SharedLinks.share(store)).of(thread)
        summary = next((each for each in await store.list_threads(thread) if each.thread_id == thread), None)
    return {
        "thread_id": thread,
        "profile": deployed.profile.name,
        "exported_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "title": summary.title if summary else "",
        "pinned": summary is not None and summary.pinned,
        "turns": [
            {
                **asdict(turn),
                "feedback": said.model_dump(mode="json") if (said := feedback.get(turn.turn_id)) else None,
                "review": _review(reviewed.get(turn.turn_id)),
            }
            for turn in turns
        ],
        "hand_offs": hand_offs,
        "links": [asdict(link) for link in links],
    }


def _describe(entry: OutboxEntry) -> dict[str, Any]:
    try:
        ticket: object = json.loads(entry.ticket) if entry.ticket else None
    except ValueError:
        ticket = entry.ticket  # a damaged one hides nothing else
    return {**entry.describe(), "ticket": ticket}


def _review(done: tuple[bool, str, str] | None) -> dict[str, Any] | None:
    return dict(zip(("handled", "note", "case_id"), done, strict=True)) if done else None
