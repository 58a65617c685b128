"""The command `guardian`; it imports heavy modules only when needed, so that `--help` is instant."""

from __future__ import annotations

import argparse
import gc
import os
import shlex
import sys
from collections.abc import Callable, Sequence
from contextlib import redirect_stderr, redirect_stdout
from typing import Final, TextIO, cast

from assistant.cli.interruption import InterruptedTurn
from assistant.cli.parser import build_parser
from contracts.errors import ConfigError, GuardianError, InputError

_OUTCOME_CODES: Final = {
    "answered": 0,
    "clarification": 3,
    "declined": 4,
    "refused": 4,
    "handed_off": 5,
    "pages_shown": 6,
    "error": 1,
}
_NEW_OBJECTS: Final = 50_000
"""After so many, garbage is looked for."""


class _Outlet:
    """A stream whose reader may go away (`guardian show tables | head`): what nobody reads is dropped.

    The command goes on and ends as it would have: a turn must not stop half-way because its progress is not read.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        return self._unless_broken(lambda: self._stream.write(text))

    def flush(self) -> None:
        self._unless_broken(self._stream.flush)

    def _unless_broken(self, work: Callable[[], int | None]) -> int:
        try:
            return work() or 0
        except BrokenPipeError:
            self.drop()
            return 0
        except OSError as error:
            # Told once, and of the right place; what is held back would fail again at the end.
            self.drop()
            error.filename = self._stream.name
            raise

    def drop(self) -> None:
        """Discard buffered output and all later output."""
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self._stream.fileno())
        os.close(nowhere)

    def __getattr__(self, name: str) -> object:
        return getattr(self._stream, name)


def program() -> int:
    """Run one command as the whole of a process, and return its exit code."""
    # What is imported stays. To look through all of it for garbage while it comes, as Python does by default after each 700
    # new objects, takes a tenth of the time of a question.
    gc.set_threshold(_NEW_OBJECTS)
    try:
        return main()
    finally:
        # On its way out, Python would look through all that was imported for garbage, several times: a quarter of the
        # time of a question. It all goes away with the process.
        gc.freeze()


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    _open_closed_streams()
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            # A terminal that cannot show a character gets a stand-in instead of a traceback, and so does a
            # message with bytes that are no text.
            stream.reconfigure(errors="replace")  # type: ignore[union-attr]
    out, err = _Outlet(sys.stdout), _Outlet(sys.stderr)
    with redirect_stdout(cast("TextIO", out)), redirect_stderr(cast("TextIO", err)):
        code = _run(arguments)
        try:
            out.flush()
        except OSError as error:
            return _complain_of_system(error)
        return code


def _open_closed_streams() -> None:
    """Put nothing in the place of a standard stream that was closed (`2>&-`), before a file of ours takes its number."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            nowhere = os.open(os.devnull, os.O_RDONLY if mode == "r" else os.O_WRONLY)
            setattr(sys, name, open(nowhere, mode, encoding="utf-8", closefd=False))  # noqa: SIM115  # for good


def _run(arguments: Sequence[str] | None) -> int:
    options = build_parser().parse_args(arguments)
    try:
        return _find_command(options)(options)
    except (InputError, ConfigError) as error:
        return _complain(error, 2)
    except GuardianError as error:
        return _complain(error, 1)
    except OSError as error:
        return _complain_of_system(error)
    except InterruptedTurn as end:
        command = f"guardian threads resume {shlex.quote(end.thread)}"
        command += f" --profile {shlex.quote(options.profile)}" if options.profile else ""
        print(f"\nguardian: interrupted; the turn is kept.\n  → Finish it: `{command}`", file=sys.stderr)
        return 130
    except KeyboardInterrupt:
        print("\nguardian: interrupted; nothing is lost: run the same command again.", file=sys.stderr)
        return 130


def _find_command(options: argparse.Namespace) -> Callable[[argparse.Namespace], int]:
    """Return what runs a command: a module of this package, or a function that another package has registered."""
    if "module" in options:
        from importlib import import_module

        return import_module(f"assistant.cli.commands.{options.module}").run
    from importlib.metadata import entry_points

    found = tuple(entry_points(group="guardian.commands", name=options.registered))
    if not found:
        raise ConfigError(
            f"The command {options.registered!r} is not installed.",
            "Install the package again: `make install`, or pip.",
        )
    return found[0].load()


def outcome_code(outcome: str) -> int:
    """Return the exit code for a turn's outcome."""
    return _OUTCOME_CODES[outcome]


def _complain(error: GuardianError, code: int) -> int:
    print(f"guardian: {error.message}", file=sys.stderr)
    if error.way_out:
        print(f"  → {error.way_out}", file=sys.stderr)
    return code


def _complain_of_system(error: OSError) -> int:
    """Tell of a full disk or a folder that may not be written: the operating system's word, and where to look."""
    streams = {"<stdout>": "the place that standard output goes to", "<stderr>": "the place that errors go to"}
    place = streams.get(str(error.filename), "GUARDIAN_DATA_DIR")
    print(f"guardian: {error}", file=sys.stderr)
    print(f"  → Check free space and permissions of {place}, then run the same command again.", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(program())
