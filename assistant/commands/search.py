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
        print(f"{rank:>2}. {item.confidence:.2f}  (score {item.score:.2f}, {item.source})  {item.title}")
        print(f"    {item.heading}  {item.url or item.ref}{':' + lines if lines else ''}")
        text = " ".join(item.snippet.split())
        print(f"    {text[:200]}{'…' if len(text) > 200 else ''}\n")
    if not found:
        print("Nothing was found. Other words may find more; `guardian doctor` tells what is indexed.")
    return 0
