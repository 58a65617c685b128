"""Answers questions of one version about one handbook, and says what of the processor each turn takes.

`tools.benchmarks.earlier` runs this file with another version's packages, so it uses only what both have, and no other
module of this folder. A line of JSON with questions in, a line of JSON with the milliseconds of each out, in all threads.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import assistant

# Not by find_spec: an editable install finds a module in its own tree that the earlier one lacks.
if TYPE_CHECKING or Path(str(assistant.__file__)).with_name("deployment.py").exists():
    from assistant.cli.commands.index import index, profile_folders
    from assistant.deployment import Deployment, deployment
    from assistant.wiring.turns import open_runner
else:  # an earlier commit has them elsewhere
    from assistant.commands.index import index, profile_folders

    from assistant.wiring import Deployment, deployment, open_runner


def main(folder: str, knowledge: str) -> None:
    """Index the handbook in `knowledge` into an empty folder and answer until the input ends."""
    deployed = deployment("handbook", {"GUARDIAN_DATA_DIR": folder})
    answers, sys.stdout = sys.stdout, sys.stderr  # what indexing says is no answer
    index(deployed, [replace(each, path=Path(knowledge)) for each in profile_folders(deployed)])
    asyncio.run(_answer(deployed, answers))


async def _answer(deployed: Deployment, answers: TextIO) -> None:
    thread = 0
    async with open_runner(deployed) as runner:
        while line := sys.stdin.readline():
            took: list[float] = []
            for question in json.loads(line):
                thread += 1
                began = time.process_time()
                await runner.run(f"t{thread}", question, context=deployed.context_type())
                took.append((time.process_time() - began) * 1000)
            print(json.dumps(took), file=answers, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
