"""`guardian chat`: a conversation, one line a message."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import sys
import uuid
from importlib import import_module

from assistant.api import run_context
from assistant.commands.ask import receiver
from assistant.progress import phrases
from assistant.wiring import deployment, open_runner
from contracts.errors import GuardianError
from contracts.values import Language
from guards.message_check import message_fault
from language.clean import clean
from rendering.texts import without_escapes


def run(options: argparse.Namespace) -> int:
    """Talk until an empty line or the end of the input."""
    return asyncio.run(_talk(options))


async def _talk(options: argparse.Namespace) -> int:
    deployed = deployment(options.profile)
    thread = options.thread or uuid.uuid4().hex[:12]
    language = Language(options.lang) if options.lang else deployed.profile.languages[0]
    say = phrases(language)
    print(say["chat_welcome"].format(product=deployed.profile.product, thread=thread), file=sys.stderr)
    context = run_context(deployed, language=options.lang, role=options.role)
    async with open_runner(deployed) as runner:
        while text := await asyncio.to_thread(_read_line, say["chat_prompt"]):
            if fault := message_fault(text):
                print(fault, file=sys.stderr)
                continue
            try:
                result = await runner.run(
                    thread,
                    clean(text),
                    context=context,
                    on_event=receiver(text, options.lang, path=options.path),
                )
            except GuardianError as error:
                # The conversation goes on: the turn is kept, and the next message finishes it first.
                print(f"guardian: {error}", file=sys.stderr)
                continue
            print(f"\n{without_escapes(result['answer_text'])}\n", flush=True)
    return 0


def _read_line(prompt: str) -> str:
    if sys.stdin.isatty():
        with contextlib.suppress(ImportError):
            import_module("readline")  # gives `input` line editing and a history
    else:
        prompt = ""
    try:
        return input(prompt).strip()
    except EOFError:
        return ""
