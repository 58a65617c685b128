"""`guardian completion`: the script that lets a shell complete commands, options, values, profiles and files."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any, Final, cast

import shtab

from assistant.cli.parser import build_parser
from assistant.config.profiles import profile_names

_FILES: Final = frozenset({"FILE", "IN", "OUT"})
"""What stands for a file in the help pages."""
_PROFILE: Final = "NAME|FILE"
# Conversations are not completed: their ids may hold what a shell would run, and to ask for them takes a start of Python.


def run(options: argparse.Namespace) -> int:
    """Print the script for a shell."""
    parser = build_parser()
    for action in _actions(parser):
        if (found := _completion(action)) is not None:
            action.complete = found  # type: ignore[attr-defined]  # where shtab looks
    print(shtab.complete(parser, options.shell).rstrip())
    return 0


def _actions(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    for action in parser._actions:  # noqa: SLF001  # argparse has no public name for them
        if isinstance(action.choices, dict):
            for inner in cast("dict[str, argparse.ArgumentParser]", action.choices).values():
                yield from _actions(inner)
        else:
            yield action


def _completion(action: argparse.Action) -> dict[str, Any] | None:
    if action.metavar == _PROFILE:
        return _profiles(" ".join(profile_names()))
    if action.metavar in _FILES:
        return shtab.FILE
    if action.metavar == "FOLDER" or action.dest == "path":
        return shtab.DIRECTORY
    return None


def _profiles(names: str) -> dict[str, Any]:
    """Return what completes a profile: a bundled one by its name, or a file ending in .toml."""
    return {
        "bash": "_guardian_profile_files",
        "zsh": "_guardian_profile_files",
        "fish": "(_guardian_profile_files)",
        "preamble": {
            "bash": (
                "_guardian_profile_files() {\n"
                f'  compgen -W "{names}" -- "$1"\n'
                "  compgen -f -X '!*.toml' -- \"$1\"\n"
                '  compgen -d -- "$1"\n'
                "}\n"
            ),
            "zsh": (
                "_guardian_profile_files() {\n"
                f"  _alternative 'profiles:profile:({names})' 'files:file:_files -g \"*.toml\"'\n"
                "}\n"
            ),
            "fish": (
                "function _guardian_profile_files\n"
                f"  printf '%s\\n' {names}\n"
                "  string match -er '^[^\\t]*(\\.toml|/)(\\t|$)' -- (__fish_complete_path (commandline -ct))\n"
                "end\n"
            ),
        },
    }
