"""`python -m tools.making`: write `evals/cases/drafts_en.jsonl` and `drafts_ru.jsonl` from the frozen passages.

`--freeze` cuts `passages.jsonl` anew out of today's handbook first: then the drafts are other cases than before.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from contracts.enums import Language
from evals import frozen
from evals.cases import CASES, passages
from tools.making.all_drafts import all_drafts
from tools.making.lines import as_lines


def main() -> None:
    """Write the files, by default where the evaluation reads them."""
    parser = argparse.ArgumentParser(prog="python -m tools.making", description=__doc__)
    parser.add_argument("--freeze", action="store_true", help="cut the passages anew out of today's handbook")
    parser.add_argument("--to", type=Path, default=CASES, help="folder to write to")
    options = parser.parse_args()
    options.to.mkdir(parents=True, exist_ok=True)
    if options.freeze:
        (CASES / "passages.jsonl").write_text(frozen.as_lines(frozen.handbook_passages()), "utf-8")
    there = passages()
    for language in Language:
        (options.to / f"drafts_{language}.jsonl").write_text(as_lines(all_drafts(language, there)), "utf-8")


if __name__ == "__main__":
    main()
