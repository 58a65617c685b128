"""Copying with progress and a report, as `move`, `backup` and `restore` show it."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import TYPE_CHECKING

from assistant.turns.progress import own_language, phrases

if TYPE_CHECKING:
    from assistant.deployment import Deployment
    from assistant.wiring.copying import Copied


def copy_with_progress(source: Deployment, target: Deployment, wait_s: float, *, moving: bool = False) -> Copied:
    """Copy everything, with a progress bar after the first moments; see `copy_deployment`."""
    from tqdm import tqdm

    from assistant.wiring.copying import copy_deployment

    with tqdm(unit=" conversations", file=sys.stderr, mininterval=0.2, delay=0.3, leave=False, disable=None) as bar:

        def show(done: int, total: int) -> None:
            bar.total = total
            bar.update(done - bar.n)

        return asyncio.run(copy_deployment(source, target, show, wait_s, moving=moving))


def print_copied(copied: Copied, following: str, *, as_json: bool) -> int:
    """Print what was copied, and what to do next; return the exit code, 1 if something was left alone."""
    code = 1 if copied.conversations.left or copied.differing else 0
    conversations, say = copied.conversations, phrases(own_language())
    if as_json:
        told = {"moved": conversations.moved, "there": conversations.there, "left": conversations.left}
        told |= {"keys": copied.keys, "differing_keys": copied.differing, "same_visitors": copied.same_visitors}
        print(json.dumps(told, ensure_ascii=False, indent=2))
        return code
    for thread, why in conversations.left.items():
        print(say["move_left"].format(thread=thread, why=say[f"move_{why}"]))
    counts = {name: len(found) for name, found in vars(conversations).items()}
    print(say["move_done"].format(**counts))
    if copied.keys is None:
        print(say["backup_keys_stay"])
    elif copied.keys:
        print(say["move_keys"].format(count=copied.keys))
    for name in copied.differing:
        print(say["move_key_differs"].format(name=name))
    if not copied.same_visitors:
        print(say["move_visitors"])
    if not copied.differing:
        print(following)
    return code
