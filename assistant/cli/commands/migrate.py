"""`guardian migrate`: makes the tables in PostgreSQL, or brings them to this version of the program."""

from __future__ import annotations

import argparse
import asyncio
from typing import TYPE_CHECKING

from assistant.deployment import deployment
from assistant.turns.progress import own_language, phrases
from assistant.wiring.storage import migrate
from contracts.errors import InputError

if TYPE_CHECKING:
    from adapters.storage.schemas import Versions


def run(options: argparse.Namespace) -> int:
    """Bring the tables forward, and say of each schema what was done."""
    deployed = deployment(options.profile)
    if not deployed.settings.storage.url:
        raise InputError(
            "The conversations are in a file, which needs no migration.",
            "Set GUARDIAN_DATABASE to the server that you want to prepare.",
        )
    for name, versions in asyncio.run(migrate(deployed)).items():
        print(f"{name}: {_describe(versions)}")
    return 0


def _describe(versions: Versions) -> str:
    say = phrases(own_language())
    if not versions.before:
        return say["migrate_made"].format(after=versions.after)
    changed = "migrate_changed" if versions.before < versions.after else "migrate_same"
    return say[changed].format(before=versions.before, after=versions.after)
