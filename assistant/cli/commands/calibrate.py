"""`guardian calibrate`: from which estimate of relevance on answers should be stated."""

from __future__ import annotations

import argparse
from importlib import import_module


def run(options: argparse.Namespace) -> int:
    """Hand over to `evals`, which stands above this package and asks it as everybody else does."""
    return int(import_module("evals.calibration").run(options))
