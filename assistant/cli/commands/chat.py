"""`guardian chat`: a conversation in the terminal, one message a line."""

from __future__ import annotations

import argparse
import asyncio
import sys
import uuid
from contextlib import AsyncExitStack, suppress
from importlib import import_module

from assistant.cli.commands.ask import explain, receiver
from assistant.deployment import deployment
from assistant.service import Caller, Question, open_service
from assistant.turns.progress import phrases
from assistant.turns.transcript import check_id
from contracts.enums import Language
from contracts.errors import GuardianError
from rendering.texts import without_escapes


def run(options: argparse.Namespace) -> int:
    """Answer messages until an empty line or the end of the input."""
    deployed = deployment(options.profile)
    thread = uuid.uuid4().hex[:12] if options.thread is None else options.thread
    language = Language(options.lang) if options.lang else deployed.profile.languages[0]
    say = phrases(language)
    context = deployed.build_context(language=options.lang, role=options.role)
    check_id("conversation's", thread)
    caller, settings = Caller(role=context.role), {"language": options.lang}
    # The loop runs for turns only. While a line is awaited, Ctrl-C is Python's own and ends the chat at once.
    with asyncio.Runner() as loop:
        opened = AsyncExitStack()
        try:
            service = loop.run(opened.enter_async_context(open_service(deployed)))
            print(say["chat_welcome"].format(product=deployed.profile.product, thread=thread), file=sys.stderr)
            while text := _read_line(say["chat_prompt"]):
                question = Question(text, thread, settings=settings)
                tell = receiver(text, options.lang, path=options.path)
                try:
                    result = loop.run(service.ask(caller, question, tell))
                except GuardianError as error:
                    # The conversation goes on: the turn is kept, and the next message finishes it first.
                    print(f"guardian: {error}", file=sys.stderr)
                    continue
                print(f"\n{without_escapes(result.answer_text)}\n", flush=True)
                if options.explain:
                    explain(result)
                    print(flush=True)
        finally:
            loop.run(opened.aclose())
    return 0


def _read_line(prompt: str) -> str:
    if sys.stdin.isatty() and sys.stdout.isatty():
        with suppress(ImportError):
            import_module("readline")  # gives `input` line editing and a history
    else:
        # Standard output holds answers only: it may be a file.
        if sys.stdin.isatty():
            print(prompt, end="", file=sys.stderr, flush=True)
        prompt = ""
    try:
        return input(prompt).strip()
    except EOFError:
        return ""
