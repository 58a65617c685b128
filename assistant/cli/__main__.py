"""`python -m assistant.cli`: the command `guardian`."""

import sys

from assistant.cli.main import program

if __name__ == "__main__":
    sys.exit(program())
