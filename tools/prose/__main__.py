"""`python -m tools.prose [FILE ...]`: what is wrong with the project's English prose, or with the files that are named."""

from __future__ import annotations

import sys
from pathlib import Path

from tools.docs.pages import PAGES
from tools.prose.check import check_files, read_rules

ROOT = Path(__file__).resolve().parents[2]


def main(named: list[str]) -> int:
    """Print the faults; return 1 if there are some."""
    paths = named or [
        "README.md",
        *(path for path in sorted(_names("docs/*.md")) if path not in PAGES),
        *sorted(_names("knowledge/en/*.md")),
    ]
    faults = check_files(ROOT, paths, read_rules())
    print(
        "\n".join(faults) or f"{len(paths)} files read: every sentence is short enough, and no word is to be avoided."
    )
    return 1 if faults else 0


def _names(pattern: str) -> list[str]:
    return [path.relative_to(ROOT).as_posix() for path in ROOT.glob(pattern)]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
