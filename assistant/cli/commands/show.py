"""`guardian show`: the graph, the decision tables, the settings in force."""

from __future__ import annotations

import argparse
import json
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from assistant.deployment import Deployment


def run(options: argparse.Namespace) -> int:
    """Print the graph, the decision tables or the settings."""
    if options.what == "tables":
        from rendering.decision_tables import decision_tables

        print(decision_tables(), end="")
        return 0
    if options.what == "graph":
        from assistant.picture import mermaid

        print(mermaid())
        return 0
    from assistant.deployment import deployment

    return _settings(deployment(options.profile), as_json=options.json)


def _settings(deployed: Deployment, *, as_json: bool) -> int:
    from assistant.config.settings import VARIABLES

    environment = {v.name: v.describe_value(os.environ) for v in VARIABLES}
    run_settings = deployed.context_type().model_dump(mode="json")
    if as_json:
        everything = {
            "environment": environment,
            "run": run_settings,
            "profile": deployed.profile.model_dump(mode="json"),
        }
        print(json.dumps(everything, ensure_ascii=False, indent=2))
        return 0
    print("Environment:")
    for variable in VARIABLES:
        print(f"  {variable.name:<28} {environment[variable.name] or '(empty)':<16} {variable.en}")
    print(f"\nRun settings of the profile {deployed.profile.name!r} (a run may override them):")
    for name, value in run_settings.items():
        shown = "(default)" if value is None else value
        print(f"  {name:<26} {shown!s:<12} {deployed.context_type.model_fields[name].description}")
    return 0
