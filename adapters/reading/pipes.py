"""Standard input and output of a process that reads for another one, kept for what the two say to each other."""

from __future__ import annotations

import os
import signal
import sys
from io import BufferedWriter
from typing import IO


def claim_pipes() -> tuple[IO[bytes], BufferedWriter]:
    """Return where requests come from and where replies go to; whatever else is printed goes to standard error."""
    # Ctrl-C is the other side's matter.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    sys.stdout.flush()
    # With PYTHONUNBUFFERED, `sys.stdout.buffer` has no buffer: it would lose the rest of a write that a signal cuts short.
    replies = open(os.dup(1), "wb")  # noqa: PTH123, SIM115 - a descriptor, open as long as the process lives
    # Nothing that a library prints, in C or through another name of the stream, may pass for a reply.
    os.dup2(2, 1)
    return sys.stdin.buffer, replies
