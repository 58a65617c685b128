"""Asks the product, through the turn runner that every way in uses."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from assistant.api import run_context
from assistant.commands.index import index, profile_folders
from assistant.wiring import deployment, open_runner
from contracts.evidence import EvidenceItem
from contracts.values import Outcome
from evals.cases import TurnCase
from evals.scores import Judged

_FIRST_SOURCE = re.compile(r"^- \[1\] (.+)$", re.MULTILINE)


async def judge_all(cases: list[TurnCase], data_dir: Path) -> list[Judged]:
    """Index the handbook into a fresh folder and ask every case in a conversation of its own."""
    from tqdm import tqdm

    deployed = deployment("handbook", {"GUARDIAN_DATA_DIR": str(data_dir)})
    index(deployed, profile_folders(deployed))
    context = run_context(deployed)
    judged: list[Judged] = []
    async with open_runner(deployed) as runner:
        for case in tqdm(cases, unit=" cases", file=sys.stderr, leave=False):
            result = {}
            for text in case.says:
                result = await runner.run(case.id, text, context=context)
            outcome = Outcome(result["outcome"])
            judged.append(Judged(case, outcome, first_page(result), result["diagnostics"]["retries"]))
    return judged


def first_page(result: dict[str, object]) -> int | None:
    """Return the page number of the source that an answer cites first; `None` where it cites none."""
    found = _FIRST_SOURCE.search(str(result["answer_text"]))
    if not found:
        return None
    articles = [EvidenceItem.model_validate(item) for item in result["final_articles"]]  # type: ignore[attr-defined]
    named = found.group(1)
    matching = [a for a in articles if named.startswith(a.title) and (not a.url or a.url in named)]
    return matching[0].kb_id if matching else None
