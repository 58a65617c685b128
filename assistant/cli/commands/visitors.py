"""`guardian visitors`: lists and erases visitors, and users whom a proxy names."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from dataclasses import dataclass
from typing import Any

from assistant.deployment import Deployment, deployment
from assistant.turns.progress import own_language, phrases
from assistant.visitors import erasable_name, is_name
from assistant.wiring.hand_offs import outbox
from assistant.wiring.storage import has_conversations, has_hand_offs
from assistant.wiring.turns import open_runner, open_store
from contracts.errors import GuardianError, InputError, ThreadBusy, UnknownThread


@dataclass
class _Known:
    """A visitor or a user who has conversations."""

    conversations: int = 0
    last_at: str = ""


def run(options: argparse.Namespace) -> int:
    """List or erase; exit code 1 if there is nothing to erase, or a turn is running."""
    deployed = deployment(options.profile)
    return asyncio.run((_list if options.action == "list" else _erase)(deployed, options))


async def _list(deployed: Deployment, options: argparse.Namespace) -> int:
    known: dict[str, _Known] = {}
    if has_conversations(deployed):
        async with open_store(deployed) as store:
            for thread in await store.list_threads():
                name, owned, _ = thread.thread_id.partition("/")
                if owned and is_name(name):
                    one = known.setdefault(name, _Known())
                    one.conversations += 1
                    one.last_at = max(one.last_at, thread.last_at)
    say = phrases(own_language())
    if options.json:
        shown: list[dict[str, Any]] = [{"name": name, **vars(one)} for name, one in known.items()]
        print(json.dumps(shown, indent=2))
        return 0
    for name, one in known.items():
        print(say["visitors_line"].format(name=name, last=one.last_at[:19], count=one.conversations))
    if not known:
        print(say["visitors_none"])
    return 0


async def _erase(deployed: Deployment, options: argparse.Namespace) -> int:
    from assistant.turns.erasure import conversations_of, erase
    from assistant.turns.spending import Spending
    from assistant.wiring.ports import idle_ports

    if not options.name.strip():
        raise InputError("No visitor is named.", "`guardian visitors list` shows all.")
    name = erasable_name(options.name.strip())
    found: list[str] = []
    sums = 0
    left_over = ""
    if has_conversations(deployed) or has_hand_offs(deployed):
        async with open_runner(deployed, idle_ports()) as runner:
            found = await conversations_of(runner.store, outbox(deployed), name)
            busy = await erase(runner, found)
            sums = await (await Spending.share(runner.store)).forget(name)
            if busy:
                raise ThreadBusy(
                    f"{len(busy)} of {len(found)} conversations of {name} are still working on a message; the others are "
                    "erased.",
                    "Run the command again in a minute.",
                )
            try:
                if found or sums:
                    await runner.store.database.compact()
            except GuardianError as error:
                left_over = str(error)
    if not found and not sums:
        raise UnknownThread(f"Nothing is kept of {name}.", "`guardian visitors list` shows of whom something is.")
    say = phrases(own_language())
    if options.json:
        print(json.dumps({"erased": name, "conversations": found, "left_over": left_over}, indent=2))
        return 0
    print(say["visitors_erased"].format(name=name, count=len(found)))
    print(say["visitors_out_of_reach"].format(cases=deployed.review_cases_file))
    if left_over:
        print(say["visitors_left_over"].format(why=left_over), file=sys.stderr)
    return 0
