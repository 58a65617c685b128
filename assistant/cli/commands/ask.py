"""`guardian ask`: one question, one turn."""

from __future__ import annotations

import argparse
import shlex
import sys

from assistant.api import ask_structured
from assistant.cli.interruption import InterruptedTurn
from assistant.cli.main import outcome_code
from assistant.cli.output import columns, show_answer
from assistant.report_text import in_colour, write_report
from assistant.turns.events import NodeFinished, OnEvent, TurnEvent, TurnStarted
from assistant.turns.progress import model_line, path_line, progress_lines
from contracts.enums import Language
from contracts.result import StructuredAgentResult
from language.words import detect


def run(options: argparse.Namespace) -> int:
    """Ask, print the answer, and return an exit code for the turn's outcome."""
    text = sys.stdin.read() if options.text == "-" else options.text
    recorder = _ThreadRecorder(None if options.quiet else receiver(text, options.lang, path=options.path))
    try:
        result = ask_structured(
            text,
            thread=options.thread,
            turn_id=options.turn_id,
            language=options.lang,
            profile=options.profile,
            settings={"role": options.role},
            on_event=recorder,
        )
    except KeyboardInterrupt:
        if recorder.thread:
            raise InterruptedTurn(recorder.thread) from None
        raise
    if options.json:
        print(result.model_dump_json(indent=2))
    else:
        show_answer(result.answer_text)
    if options.explain and not options.json:
        print()
        explain(result)
    if not options.quiet:
        tell_model_cost(result, text, options.lang)
        # Where nothing is kept there is no conversation to go on with.
        thread = f" --thread {shlex.quote(result.thread_id)}" if result.thread_id else ""
        print(f"\n[{result.outcome}]{thread}", file=sys.stderr)
    return outcome_code(result.outcome)


class _ThreadRecorder:
    """A receiver of a turn's events that remembers the conversation and passes the events on."""

    def __init__(self, receive: OnEvent | None) -> None:
        self.thread = ""
        self._receive = receive

    def __call__(self, event: TurnEvent) -> None:
        if isinstance(event, TurnStarted):
            self.thread = event.thread_id
        if self._receive:
            self._receive(event)


def tell_model_cost(result: StructuredAgentResult, text: str, language: str | None) -> None:
    """Print what language models cost and brought, in the language of the progress; nothing if none was asked."""
    if line := model_line(result, Language(language) if language else detect(text)):
        print(f"  {line}", file=sys.stderr, flush=True)


def explain(result: StructuredAgentResult) -> None:
    """Print the judgement of a turn's draft, as wide as the terminal."""
    print(write_report(result, columns(), colour=in_colour(sys.stdout)), flush=True)


def receiver(text: str, language: str | None, *, path: bool) -> OnEvent:
    """Return a receiver that writes a turn's progress to standard error, in the language of the answer."""

    def write(line: str) -> None:
        print(line, file=sys.stderr, flush=True)

    if not path:
        return progress_lines(Language(language) if language else detect(text), write)

    def receive(event: TurnEvent) -> None:
        if isinstance(event, NodeFinished):
            write(path_line(event))

    return receive
