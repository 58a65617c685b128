"""`guardian move`: copies all conversations of a profile into another storage, and API keys and the secret of cookies."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from assistant.config.settings import StorageSettings
from assistant.deployment import Deployment, deployment
from assistant.keys import copy_keys
from assistant.turns.moving import Moved
from assistant.turns.progress import own_language, phrases
from assistant.wiring.access import copy_secret, keys_of
from assistant.wiring.storage import (
    claims_of,
    hand_offs_place,
    has_conversations,
    name_storage,
    open_database,
    open_saver,
)
from contracts.errors import ConfigError, InputError

if TYPE_CHECKING:
    from assistant.turns.moving import Store

FILE = "file"
"""In place of an address: the file in the data folder."""


def run(options: argparse.Namespace) -> int:
    """Copy; exit code 1 if conversations were left alone."""
    source = deployment(options.profile)
    target = _deployment_at(source, options.to)
    if source.settings.storage.url == target.settings.storage.url:
        raise InputError(
            "The conversations are there already.", "Name another storage: --to postgresql://... or --to file."
        )
    own = keys_of(source)
    if not has_conversations(source) and not own.wanted:
        raise InputError(f"There are no conversations in {name_storage(source)}.", "Nothing has to be moved.")
    # Keys first: whoever serves from the other storage before all is there stands behind them.
    keys, same_visitors = copy_keys(own, keys_of(target)), copy_secret(source, target)
    moved = asyncio.run(_move(source, target)) if has_conversations(source) else Moved()
    say = phrases(own_language())
    if options.json:
        print(
            json.dumps(
                {
                    "moved": moved.moved,
                    "there": moved.there,
                    "left": moved.left,
                    "keys": keys,
                    "same_visitors": same_visitors,
                },
                ensure_ascii=False,
                indent=2,
            )
        )
    else:
        for thread, why in moved.left.items():
            print(say["move_left"].format(thread=thread, why=say[f"move_{why}"]))
        print(say["move_done"].format(moved=len(moved.moved), there=len(moved.there), left=len(moved.left)))
        if keys:
            print(say["move_keys"].format(count=keys))
        if not same_visitors:
            print(say["move_visitors"])
        following = "move_next_server" if target.settings.storage.url else "move_next_file"
        print(say[following].format(source=name_storage(source)))
    return 1 if moved.left else 0


def _deployment_at(deployed: Deployment, to: str) -> Deployment:
    try:
        storage = StorageSettings.read({"GUARDIAN_DATABASE": "" if to == FILE else to})
    except ConfigError as error:
        way_out = "Write postgresql://user:password@host/database, or file."
        raise InputError(error.message.replace("GUARDIAN_DATABASE", "--to"), way_out) from error
    return replace(deployed, settings=replace(deployed.settings, storage=storage))


async def _move(source: Deployment, target: Deployment) -> Moved:
    from tqdm import tqdm

    from assistant.turns.moving import move_all

    with tqdm(unit=" conversations", file=sys.stderr, mininterval=0.2, delay=0.3, leave=False, disable=None) as bar:

        def show(done: int, total: int) -> None:
            bar.total = total
            bar.update(done - bar.n)

        async with _open(source) as here, _open(target) as there:
            return await move_all(here, there, show)


@asynccontextmanager
async def _open(deployed: Deployment) -> AsyncGenerator[Store]:
    from assistant.turns.feedback import FeedbackStore
    from assistant.turns.histories import Histories
    from assistant.turns.moving import Store
    from assistant.turns.reviews import Reviews
    from assistant.turns.shared_links import SharedLinks
    from assistant.turns.spending import Spending
    from assistant.turns.transcript import TurnStore

    async with AsyncExitStack() as opened:
        database = await opened.enter_async_context(open_database(deployed))
        for table in (TurnStore, FeedbackStore, Histories, Reviews, SharedLinks, Spending):
            await table.within(database)
        saver = await opened.enter_async_context(open_saver(deployed, database))
        claims = claims_of(deployed, deployed.locks_folder)
        opened.push_async_callback(claims.close)
        yield Store(database, saver, claims, hand_offs_place(deployed))
