"""`python -m evals.making`: write `evals/cases/drafts_en.jsonl` and `drafts_ru.jsonl` from the frozen passages.

`--freeze` cuts `passages.jsonl` anew out of today's handbook first: then the drafts are other cases than before.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from random import Random

from contracts.values import Language
from evals.cases import CASES, DraftCase, passages
from evals.making.frozen import as_line, handbook_passages
from evals.making.good import good_drafts
from evals.making.lines import as_lines

SEED = 20261122
GOOD = 580
"""Good drafts made per language, beside those written by hand."""


def main() -> None:
    """Write the files, by default where the evaluation reads them."""
    parser = argparse.ArgumentParser(prog="python -m evals.making", description=__doc__)
    parser.add_argument("--freeze", action="store_true", help="cut the passages anew out of today's handbook")
    parser.add_argument("--to", type=Path, default=CASES, help="folder to write to")
    options = parser.parse_args()
    options.to.mkdir(parents=True, exist_ok=True)
    if options.freeze:
        lines = [as_line(item) for item in handbook_passages()]
        (CASES / "passages.jsonl").write_text("\n".join(lines) + "\n", "utf-8")
    for language in Language:
        (options.to / f"drafts_{language}.jsonl").write_text(as_lines(drafts(language)), "utf-8")


def drafts(language: Language) -> list[DraftCase]:
    """Make all cases of one language."""
    return good_drafts(language, passages(), Random(f"{SEED} good {language}"), GOOD)


if __name__ == "__main__":
    main()
