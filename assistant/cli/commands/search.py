"""`guardian search`: ranked passages with score and confidence, or what a turn would search for and find."""

from __future__ import annotations

import argparse
import asyncio
import json
import shutil
import sys
from contextlib import closing

from assistant.cli.search_table import table
from assistant.deployment import deployment
from assistant.document_search import search_documents
from assistant.search_explanation import SearchExplanation, explain_search
from assistant.turns.progress import phrases
from assistant.wiring.documents import knowledge_base
from contracts.enums import Language
from contracts.evidence import EvidenceItem
from guards.message_check import message_fault
from language.clean import clean
from language.words import detect
from rendering.columns import flat

_USUAL_WIDTH = 100
_TOP = 10


def run(options: argparse.Namespace) -> int:
    """Print the passages, or the explanation; exit code 0 even if nothing was found."""
    if options.explain:
        _explain(options)
        return 0
    deployed = deployment(options.profile)
    with closing(knowledge_base(deployed)) as knowledge:
        found = search_documents(deployed, knowledge, options.text, top_k=options.top or _TOP, language=options.lang)
        items, degraded = asyncio.run(found)
    say = phrases(Language(options.lang) if options.lang else detect(options.text))
    for what in degraded:
        print(say["degraded"].format(what=flat(what)), file=sys.stderr)
    if options.json:
        print(json.dumps([item.model_dump(mode="json") for item in items], ensure_ascii=False, indent=2))
        return 0
    for rank, item in enumerate(items, 1):
        _print(rank, item)
    if not items:
        print("Nothing was found. Other words may find more; `guardian doctor` tells what is indexed.")
    return 0


def _print(rank: int, item: EvidenceItem) -> None:
    lines = f"{item.lines[0]}-{item.lines[1]}" if item.lines else ""
    print(f"{rank:>2}. {item.confidence:.2f}  (score {item.score:.2f}, {item.source})  {flat(item.title)}")
    place = f"{flat(item.url or item.ref)}{':' + lines if lines else ''}"
    print("    " + "  ".join(filter(None, (flat(item.heading), place))))
    text = flat(item.snippet)
    print(f"    {text[:200]}{'…' if len(text) > 200 else ''}\n")


def _explain(options: argparse.Namespace) -> None:
    if fault := message_fault(options.text):
        raise fault
    deployed = deployment(options.profile)
    context = deployed.build_context(language=options.lang, role=options.role, top_k=options.top)
    made: SearchExplanation = asyncio.run(explain_search(deployed, clean(options.text), context))
    if options.json:
        print(json.dumps(made.as_json(), ensure_ascii=False, indent=2))
        return
    print(table(made, shutil.get_terminal_size((_USUAL_WIDTH, 24)).columns))
