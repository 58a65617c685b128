"""What a turn says while it runs: progress only, never a word of a draft."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Callable
from functools import cache
from importlib.resources import files
from typing import Any

from contracts.enums import Language, RequestType
from contracts.reasons import reason_names
from language.figures.counted import count_noun
from rendering.hand_off import was_searched

Event = dict[str, Any]


@cache
def phrases(language: Language) -> dict[str, str]:
    """Return what the command line says around an answer, in one language."""
    return tomllib.loads(files("assistant").joinpath("locales", f"{language}.toml").read_text("utf-8"))


def progress_lines(language: Language, write: Callable[[str], None]) -> Callable[[str, Event], None]:
    """Return a receiver of the runner's events that writes a line for each thing worth knowing."""
    say = phrases(language)
    quiet = set[str]()
    noted = set[str]()

    def receive(kind: str, event: Event) -> None:
        node = event.get("node", "")
        if kind == "node_started" and node in say and node not in quiet:
            write(f"… {say[node]}")
        elif kind == "node_finished":
            if (event.get("update") or {}).get("request_type") == RequestType.CASUAL:
                quiet.update(("retrieve", "draft", "guardian_verify"))  # a greeting is not searched for
            update: Event = event.get("update") or {}
            for line in _tell_update(node, update, language):
                write(f"  {line}")
            for what in update.get("degraded", []):
                if what not in noted:
                    noted.add(what)
                    write(f"  {say['degraded'].format(what=what)}")

    return receive


def _tell_update(node: str, update: Event, language: Language) -> list[str]:
    say = phrases(language)
    if node == "sgr_plan" and update.get("sgr_plan") and update.get("action") != "guardian_block":
        return [say["understood"].format(intent=update["sgr_plan"]["user_intent"])]
    if node == "retrieve" and update.get("query_traces"):
        sources = ", ".join(dict.fromkeys(t["source"] for t in update["query_traces"] if was_searched(t))) or "–"
        found = count_noun(len(update["evidence"]), say["passages"], language)
        return [say["searched"].format(sources=sources, found=found)]
    if node == "guardian_verify" and update.get("guardian"):
        report = update["guardian"]
        return [say[f"verdict_{report['verdict']}"].format(reasons=", ".join(reason_names(report["reasons"])))]
    return []


def path_line(node: str, event: Event) -> str:
    """Describe one finished node for an operator: its milliseconds, and the decisions with their table and row."""
    return f"{node:<17} {event.get('ms', 0):>7.1f} ms  {node_story(node, event)}".rstrip()


def node_story(node: str, event: Event) -> str:
    """Say what a finished node decided, as table, row and outcome; else what it wrote."""
    update: Event = event.get("update") or {}
    made: list[Event] = [line for line in update.get("decisions", []) if line["node"] == node]
    # A retried verdict is in the list once for each try; the newest is this node's.
    newest = {line["table"]: line for line in made}
    decided = "; ".join(f"{line['table']}/{line['row']} → {_outcome(line)}" for line in newest.values())
    if actions := update.get("guardian", {}).get("required_actions"):
        decided += f" [{', '.join(actions)}]"
    return decided or _wrote(node, update)


def _outcome(line: Event) -> str:
    """Return a decision's outcome; of a rule of DT-006 what it requires: its row says the rest."""
    return str(line["outcome"]).partition(";")[0] if line["table"] == "DT-006" else str(line["outcome"])


def _wrote(node: str, update: Event) -> str:
    match node:
        case "retrieve":
            return (
                count_noun(len(update["evidence"]), "passage|passages") if "evidence" in update else "nothing to search"
            )
        case "draft":
            return str(update.get("draft_kind", ""))
        case "retry_bump":
            return f"retry {update.get('retry_count', '')}"
        case "finalize" | "safe_exit":
            return str(update.get("result", {}).get("outcome", ""))
        case _:
            return ""


def own_language() -> Language:
    """Return the language of the terminal's user, for lines that answer no message."""
    locale = os.environ.get("LC_ALL") or os.environ.get("LC_MESSAGES") or os.environ.get("LANG") or ""
    return Language.RU if locale.lower().startswith("ru") else Language.EN
