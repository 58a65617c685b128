"""`python -m evals`: the same as `guardian eval`."""

from __future__ import annotations

import sys

from assistant.cli.main import main

if __name__ == "__main__":
    sys.exit(main(["eval", *sys.argv[1:]]))
