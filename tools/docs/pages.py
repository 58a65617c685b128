"""The generated pages: `python -m tools.docs` writes them, `--check` tells which are out of date.

A new page is one line in `PAGES`; a generated part of a page that people write is one line in `PARTS`, and
in the page stands between `<!-- generated: NAME -->` and `<!-- end of NAME -->`.

Exit codes: 0 where all is up to date or was written, 1 where `--check` found a difference or a
page has no place for a part, 2 for wrong arguments.
"""

from __future__ import annotations

import argparse
import difflib
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from contracts.errors import ConfigError
from rendering.decision_tables import decision_tables
from tools.docs.faults import faults
from tools.docs.settings import settings

Page = Callable[[], str]

ROOT: Final = Path(__file__).resolve().parents[2]
"""The repository: the names of pages are relative to it."""


def graph_picture() -> str:
    """Return the graph as a picture that Markdown viewers draw."""
    from assistant.picture import mermaid

    return f"```mermaid\n{mermaid().strip()}\n```"


def transcript() -> str:
    """Ask the handbook a question in a fresh data folder, and return what was printed."""
    import asyncio
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        return asyncio.run(_transcript(folder))


_QUESTION: Final = "How do I delete a conversation?"


async def _transcript(folder: str) -> str:
    from adapters.index.embedded import ingest
    from assistant.deployment import deployment
    from assistant.indexing import profile_folders
    from assistant.service import Caller, Question, open_service
    from assistant.turns.events import NodeFinished, TurnEvent
    from rendering.texts import without_escapes

    deployed = deployment(
        "handbook", {"GUARDIAN_DATA_DIR": folder, "GUARDIAN_EMBEDDER": "off", "GUARDIAN_RERANKER": "off"}
    )
    ingest(profile_folders(deployed), directory=deployed.knowledge_folder)
    path: list[str] = []

    def note(event: TurnEvent) -> None:
        if isinstance(event, NodeFinished):
            path.append(f"{event.node:<17} {event.summary}".rstrip())

    async with open_service(deployed) as service:
        result = await service.ask(Caller(), Question(_QUESTION, "readme"), note)
    shown = "\n".join((*path, "", without_escapes(result.answer_text)))
    return f"````text\n$ guardian ask {_QUESTION!r} --path\n{shown}\n````"


PAGES: Final[Mapping[str, Page]] = {
    "docs/decision-tables.md": decision_tables,
    "docs/faults.md": faults,
    "docs/settings.md": settings,
}
"""Whole pages: path in the repository, and what makes its text."""

PARTS: Final[Mapping[tuple[str, str], Page]] = {
    ("README.md", "graph"): graph_picture,
    ("README.md", "transcript"): transcript,
}
"""Parts of pages: path and the part's name, and what makes its text."""


def make_pages(
    root: Path = ROOT,
    pages: Mapping[str, Page] = PAGES,
    parts: Mapping[tuple[str, str], Page] = PARTS,
) -> dict[str, str]:
    """Return the text that each generated page should have.

    Raises:
        ConfigError: A page lacks the marks of a part.
    """
    texts = {path: make() for path, make in pages.items()}
    for (path, name), make in parts.items():
        before = texts[path] if path in texts else _read(root / path)
        texts[path] = _fill_part(path, before, name, make())
    return texts


def _fill_part(path: str, text: str, name: str, part: str) -> str:
    first, last = f"<!-- generated: {name} -->", f"<!-- end of {name} -->"
    if text.count(first) != 1 or text.count(last) != 1 or text.index(first) > text.index(last):
        raise ConfigError(f"{path} has no place for {name}.", f"Write the two lines {first} and {last} into it, once.")
    head, tail = text[: text.index(first)], text[text.index(last) :]
    return f"{head}{first}\n\n{part.strip()}\n\n{tail}"


def find_outdated(root: Path, texts: Mapping[str, str]) -> dict[str, str]:
    """Return the pages on disk that differ from their wanted texts, each with the difference as a diff."""
    return {path: _diff(path, _read(root / path), text) for path, text in texts.items() if _read(root / path) != text}


def _diff(path: str, there: str, text: str) -> str:
    lines = difflib.unified_diff(there.splitlines(), text.splitlines(), path, f"{path} (as generated)", lineterm="")
    return "\n".join(lines)


def _read(path: Path) -> str:
    return path.read_text("utf-8") if path.exists() else ""


def main(arguments: Sequence[str] | None = None, root: Path = ROOT) -> int:
    """Write or compare every generated page; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tools.docs", description="Write the generated pages.")
    parser.add_argument("--check", action="store_true", help="write nothing; fail where a page is out of date")
    check: bool = parser.parse_args(arguments).check
    try:
        texts = make_pages(root)
    except ConfigError as error:
        print(error, file=sys.stderr)
        return 1
    stale = find_outdated(root, texts)
    if check:
        for diff in stale.values():
            print(diff)
        if stale:
            print(f"Out of date: {', '.join(stale)}. Run: make docs", file=sys.stderr)
        return 1 if stale else 0
    for path in stale:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(texts[path], "utf-8")
        print(f"wrote {path}")
    return 0
