"""The page of faults: what becomes of each fault of a server, from the data that its tests play."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parents[2]
DATA: Final = "tests/wire/faults.toml"

_INTRODUCTION: Final = f"""\
Written by `make docs` from `{DATA}`. A test holds each line (`tests/wire/test_faults.py`): a server in another process
plays the fault over a real socket, and what became of it is told from what happened: the requests that the server
got, the result, its records of calls.

*Once* is a fault that comes once, with health after it; *for good* is one that stays. A whole turn is run through
the graph with each fault for good, too. Every one of these turns ends within the deadlines in an answer that the
Guardian has passed, or, where moderation is down and `on_unavailable` is `closed`, in a refusal. None ends in a stack
trace, in an answer that nobody judged, or not at all; each says in `diagnostics.degraded` what was given up, and in
`diagnostics.calls` what was asked.

To play a fault against your own set-up, put its `reply` of `{DATA}` into a script for `guardian fake-model`."""

_INTRODUCTION_RU: Final = """\
Столбец «неисправность» описывает то же по-русски. *Once*: неисправность возникает один раз, затем сервер исправен;
*for good*: она остаётся. Каждую строку проверяет тест с настоящим сервером в другом процессе."""

_CALLS: Final[Mapping[str, tuple[str, Sequence[str]]]] = {
    "plan": ("The planning call", ("once", "for good")),
    "draft": ("The drafting call", ("once", "for good")),
    "moderation": ("The moderation call (`vllm`)", ("once", "for good", "for good, `on_unavailable: closed`")),
}


def faults(root: Path = ROOT) -> str:
    """Return the page: what the outcomes mean, and a table for each of the three calls."""
    data = tomllib.loads((root / DATA).read_text("utf-8"))
    outcomes = [[f"**{name}**", entry["en"], entry["ru"]] for name, entry in data["outcomes"].items()]
    parts = [
        "# Faults of servers, and what becomes of them",
        _INTRODUCTION,
        _INTRODUCTION_RU,
        "## What the words mean",
        _table(["word", "meaning", "значение"], outcomes),
        *(_of_call(call, data["faults"].values()) for call in _CALLS),
    ]
    return "\n\n".join(parts) + "\n"


def _of_call(call: str, entries: Iterable[Mapping[str, Any]]) -> str:
    title, runs = _CALLS[call]
    rows = [[entry["en"], *entry[call], entry["ru"]] for entry in entries if call in entry]
    return f"## {title}\n\n{_table(['fault', *runs, 'неисправность'], rows)}"


def _table(head: Sequence[str], body: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *body]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
