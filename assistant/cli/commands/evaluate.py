"""`guardian eval`: how well the assistant does on labelled cases."""

from __future__ import annotations

import argparse
from importlib import import_module


def run(options: argparse.Namespace) -> int:
    """Hand over to `evals`, which stands above this package and asks it as everybody else does."""
    return int(import_module("evals.command").run(options))
