"""`guardian search`: ranked passages with score and confidence."""

from __future__ import annotations

import argparse
import json

from assistant.api import search


def run(options: argparse.Namespace) -> int:
    """Print the passages; exit code 0 also where there are none."""
    found = search(options.text, top_k=options.top, language=options.lang, profile=options.profile)
    if options.json:
        print(json.dumps([item.model_dump(mode="json") for item in found], ensure_ascii=False, indent=2))
        return 0
    for rank, item in enumerate(found, 1):
        lines = f"{item.lines[0]}-{item.lines[1]}" if item.lines else ""
        print(f"{rank:>2}. {item.confidence:.2f}  (score {item.score:.2f}, {item.source})  {_flat(item.title)}")
        place = f"{_flat(item.url or item.ref)}{':' + lines if lines else ''}"
        print("    " + "  ".join(filter(None, (_flat(item.heading), place))))
        text = _flat(item.snippet)
        print(f"    {text[:200]}{'…' if len(text) > 200 else ''}\n")
    if not found:
        print("Nothing was found. Other words may find more; `guardian doctor` tells what is indexed.")
    return 0


def _flat(text: str) -> str:
    """Return a document's words as one line: a title, or a file's name, may have line breaks."""
    return " ".join(text.split())
