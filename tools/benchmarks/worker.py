"""Answers questions of one version about one handbook, and says what of the processor each turn takes.

`tools.benchmarks.earlier` runs this file with another version's packages, so it uses only what both have, and no other
module of this folder. A line of JSON with questions in, a line of JSON with the milliseconds of each out, in all threads.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import assistant

# Not by find_spec: an editable install finds a module in its own tree that the earlier one lacks.
_TREE = Path(str(assistant.__file__)).parent
if TYPE_CHECKING or (_TREE / "deployment.py").exists():
    from assistant.cli.commands.index import index
    from assistant.deployment import Deployment, deployment
    from assistant.indexing import profile_folders
else:  # an earlier commit has them elsewhere
    from assistant.commands.index import index, profile_folders

    from assistant.wiring import Deployment, deployment


def main(folder: str, knowledge: str) -> None:
    """Index the handbook in `knowledge` into an empty folder and answer until the input ends."""
    deployed = deployment("handbook", {"GUARDIAN_DATA_DIR": folder})
    answers, sys.stdout = sys.stdout, sys.stderr  # what indexing says is no answer
    index(deployed, [replace(each, path=Path(knowledge)) for each in profile_folders(deployed)])
    asyncio.run(_answer(deployed, answers))


@asynccontextmanager
async def _open_runner(deployed: Deployment) -> AsyncGenerator[Any]:
    if TYPE_CHECKING or (_TREE / "document_search.py").exists():
        from assistant.wiring.ports import open_ports
        from assistant.wiring.turns import open_runner

        async with open_ports(deployed) as ports, open_runner(deployed, ports) as runner:
            yield runner
    else:  # an earlier commit opens the ports with the runner, and a still earlier one elsewhere
        if (_TREE / "deployment.py").exists():
            from assistant.wiring.turns import open_runner
        else:
            from assistant.wiring import open_runner
        async with open_runner(deployed) as runner:
            yield runner


async def _answer(deployed: Deployment, answers: TextIO) -> None:
    thread = 0
    async with _open_runner(deployed) as runner:
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
