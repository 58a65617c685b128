"""`guardian hand-offs`: lists hand-offs to people, delivered and kept ones, and sends those that are kept."""

from __future__ import annotations

import argparse
import asyncio
import json
from collections import Counter
from typing import TYPE_CHECKING

from assistant.deployment import Deployment, deployment
from assistant.wiring.hand_offs import hand_off_sink, outbox
from contracts.errors import ConfigError

if TYPE_CHECKING:
    from adapters.hand_off.outbox import OutboxEntry


def run(options: argparse.Namespace) -> int:
    """List or send; exit code 1 if hand-offs are still kept after sending."""
    deployed = deployment(options.profile)
    if options.action == "send":
        asyncio.run(_send(deployed))
    entries = asyncio.run(outbox(deployed).entries())
    kept = [entry for entry in entries if entry.delivered_at is None]
    shown = kept if options.action == "send" else entries
    if options.json:
        print(json.dumps([entry.describe() for entry in shown], ensure_ascii=False, indent=2))
    else:
        _print(shown)
        print(_sum_of(entries))
    return 1 if kept and options.action == "send" else 0


async def _send(deployed: Deployment) -> None:
    taking = hand_off_sink(deployed)
    if taking is None:
        raise ConfigError(
            "No destination for hand-offs is set.",
            "Set GUARDIAN_HANDOFF_TO to a folder or to the address of a webhook.",
        )
    try:
        await taking.send_kept(all_of_them=True)
    finally:
        await taking.close()


def _print(entries: list[OutboxEntry]) -> None:
    for entry in entries:
        where = f" to {entry.delivered_to}" if entry.delivered_to else ""
        tries = f", tried {entry.tries}×" if entry.tries and not where else ""
        print(
            f"{entry.kept_at[:19]}  {entry.number}  {entry.state}{where}{tries}  {entry.thread_id or '-'}  {entry.turn_id}"
        )
        if entry.why:
            print(f"  → {entry.why}")


def _sum_of(entries: list[OutboxEntry]) -> str:
    states = Counter(entry.state for entry in entries)
    return ", ".join(f"{state}: {states[state]}" for state in ("delivered", "kept", "failed") if states[state]) or (
        "no hand-offs"
    )
