"""`guardian fake-model`: a server that plays a language model, and every fault of one, on this machine."""

from __future__ import annotations

import argparse

from adapters.fakes.server import run as serve


def run(options: argparse.Namespace) -> int:
    """Serve until Ctrl-C or SIGTERM; a stopped server is a success."""
    return serve(options)
