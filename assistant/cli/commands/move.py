"""`guardian move`: copies all conversations of a profile into another storage, and API keys and the secret of cookies."""

from __future__ import annotations

import argparse
from dataclasses import replace

from assistant.cli.copying import copy_with_progress, print_copied
from assistant.config.settings import StorageSettings
from assistant.deployment import Deployment, deployment
from assistant.turns.progress import own_language, phrases
from assistant.wiring.access import keys_of
from assistant.wiring.storage import has_conversations, name_storage
from contracts.errors import ConfigError, InputError

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
    if not has_conversations(source) and not keys_of(source).wanted:
        raise InputError(f"There are no conversations in {name_storage(source)}.", "Nothing has to be moved.")
    copied = copy_with_progress(source, target, 1.0, moving=True)
    following = "move_next_server" if target.settings.storage.url else "move_next_file"
    return print_copied(
        copied, phrases(own_language())[following].format(source=name_storage(source)), as_json=options.json
    )


def _deployment_at(deployed: Deployment, to: str) -> Deployment:
    try:
        storage = StorageSettings.read({"GUARDIAN_DATABASE": "" if to == FILE else to})
    except ConfigError as error:
        way_out = "Write postgresql://user:password@host/database, or file."
        raise InputError(error.message.replace("GUARDIAN_DATABASE", "--to"), way_out) from error
    return replace(deployed, settings=replace(deployed.settings, storage=storage))
