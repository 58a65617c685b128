"""`guardian fake-model`: a scripted fake of a language model's server, with all its faults, on this machine."""

from __future__ import annotations

import argparse

from adapters.fakes.server import run as serve


def run(options: argparse.Namespace) -> int:
    """Serve until Ctrl-C or SIGTERM; a stopped server counts as a success."""
    return serve(options)
