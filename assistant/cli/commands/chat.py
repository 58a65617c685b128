"""`guardian chat`: a conversation in the terminal, one message a line."""

from __future__ import annotations

import argparse
import asyncio
import difflib
import re
import sys
import uuid
from contextlib import AsyncExitStack, suppress
from importlib import import_module
from typing import TYPE_CHECKING, Final

from assistant.caller import Caller
from assistant.cli.commands.ask import explain, receiver, tell_model_cost
from assistant.cli.interruption import InterruptedTurn
from assistant.cli.output import show_answer
from assistant.deployment import deployment
from assistant.service import Question, Service, open_service
from assistant.turns.progress import phrases
from assistant.turns.transcript import check_id
from assistant.turns.views import cited_of, cited_sources
from contracts.enums import Language
from contracts.errors import GuardianError
from rendering.columns import flat
from rendering.texts import without_escapes

if TYPE_CHECKING:
    from contracts.profile import Profile
    from contracts.result import StructuredAgentResult

_COMMANDS: Final = ("help", "new", "sources", "why", "quit")
_MARK: Final = re.compile(r" ?\[\d{1,3}\]")
"""A citation, which has another number in the draft than in the answer."""
_COMMAND: Final = re.compile(r"/([a-z]+)")


def run(options: argparse.Namespace) -> int:
    """Answer messages until an empty line or the end of the input."""
    deployed = deployment(options.profile)
    language = Language(options.lang) if options.lang else deployed.profile.languages[0]
    context = deployed.build_context(language=options.lang, role=options.role)
    thread = _new_thread() if options.thread is None else options.thread
    check_id("conversation's", thread)
    caller = Caller(role=context.role)
    # The loop runs for turns only. While a line is awaited, Ctrl-C is Python's own and ends the chat at once.
    with asyncio.Runner() as loop:
        opened = AsyncExitStack()
        try:
            service = loop.run(opened.enter_async_context(open_service(deployed)))
            chat = _Chat(options, thread, caller, deployed.profile, phrases(language))
            chat.welcome()
            while (text := chat.read_line()) and text != "/quit":
                if not chat.obey(text):
                    chat.ask(text, loop, service)
        finally:
            loop.run(opened.aclose())
    return 0


def _new_thread() -> str:
    return uuid.uuid4().hex[:12]


def _sentences(result: StructuredAgentResult, profile: Profile, number: int) -> list[str]:
    """Return what an answer takes from one of its sources: the sentences that cite it, or that are shown of its page."""
    if result.pages:
        return [page.sentence for page in result.pages if page.number == number]
    refs = {item.ref for item in cited_of(result, profile, number)}
    claims = result.guardian.claims if result.guardian else []
    return [_MARK.sub("", claim.text) for claim in claims if refs.intersection(claim.refs)]


class _Chat:
    """A conversation on a terminal, and the commands that are no messages of it."""

    def __init__(
        self, options: argparse.Namespace, thread: str, caller: Caller, profile: Profile, say: dict[str, str]
    ) -> None:
        self._options = options
        self._thread = thread
        self._caller = caller
        self._profile = profile
        self._say = say
        self._last: StructuredAgentResult | None = None

    def welcome(self) -> None:
        self._tell("chat_welcome", product=self._profile.product, thread=self._thread)

    def read_line(self) -> str:
        """Return the next line; empty at the end, and for Ctrl-C while nothing runs."""
        try:
            return _read_line(self._say["chat_prompt"])
        except KeyboardInterrupt:
            print(file=sys.stderr)
            return ""

    def ask(self, text: str, loop: asyncio.Runner, service: Service) -> None:
        """Run a turn and print its answer, or what went wrong; the conversation goes on."""
        options = self._options
        question = Question(text, self._thread, settings={"language": options.lang})
        try:
            result = loop.run(service.ask(self._caller, question, receiver(text, options.lang, path=options.path)))
        except GuardianError as error:
            # The conversation goes on: the turn is kept, and the next message finishes it first.
            print(f"guardian: {error}", file=sys.stderr)
            return
        except KeyboardInterrupt:
            raise InterruptedTurn(self._thread) from None
        self._last = result
        print()
        show_answer(result.answer_text)
        print(flush=True)
        tell_model_cost(result, text, options.lang)
        if options.explain:
            explain(result)
            print(flush=True)

    def obey(self, text: str) -> bool:
        """Do what a command says; `False` if the line is a message. A command is one word behind a slash, alone."""
        match = _COMMAND.fullmatch(text)
        if match is None:
            return False
        name = match.group(1)
        if name == "new":
            self._thread, self._last = _new_thread(), None
            self._tell("chat_new", thread=self._thread)
        elif name == "help":
            self._tell("chat_help")
        elif name not in _COMMANDS:
            near = difflib.get_close_matches(name, _COMMANDS, n=1)
            self._tell("chat_unknown", command=text, near=f"/{near[0]}" if near else "/help")
        elif self._last is None:
            self._tell("chat_nothing_yet")
        elif name == "why":
            explain(self._last)
        else:
            self._show_sources(self._last)
        return True

    def _show_sources(self, result: StructuredAgentResult) -> None:
        sources = cited_sources(result, self._profile)
        if not sources:
            self._tell("chat_no_sources")
        for source in sources:
            print(flat(f"[{source.number}] {source.title}  {source.url}"))
            for sentence in _sentences(result, self._profile, source.number):
                print(f"    {without_escapes(flat(sentence))}")
        sys.stdout.flush()

    def _tell(self, key: str, **values: str) -> None:
        print(self._say[key].format(**values), file=sys.stderr, flush=True)


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
