"""A deployment that stays open: for many questions, to follow turns event by event, or as a part of another graph.

async with open_assistant() as assistant:
    print(await assistant.ask("What is a profile?"))
    async for event in assistant.stream("How do I delete a conversation?", thread="support-17"):
        print(event.kind)
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing, asynccontextmanager
from typing import TYPE_CHECKING, Any

from assistant.caller import Caller
from assistant.deployment import deployment
from assistant.service import Question, Service, open_service
from assistant.turns.events import OnEvent, TurnEnded, TurnEvent
from assistant.turns.transcript import check_id
from assistant.wiring.ports import open_ports
from contracts.enums import Language
from contracts.errors import InputError
from contracts.evidence import EvidenceItem
from contracts.result import StructuredAgentResult

if TYPE_CHECKING:
    from graph.build import Graph

_ANYBODY = Caller()


class Assistant:
    """An open deployment for many questions, also concurrent ones; `open_assistant` makes it.

    Its methods have the options of the functions of the same name in `assistant.api`, except `profile`.
    """

    def __init__(self, service: Service) -> None:
        self._service = service

    async def ask(self, message: str, **options: Any) -> str:
        """Run one turn and return the text for the user."""
        return (await self.ask_structured(message, **options)).answer_text

    async def ask_structured(
        self,
        message: str,
        *,
        include_per_query_trace: bool = True,
        on_event: OnEvent | None = None,
        **options: Any,
    ) -> StructuredAgentResult:
        """Run one turn and return all that is known about it.

        Raises:
            InputError: The message, an id or a setting is not valid.
            GuardianError: Another problem that a person can fix; the error says how.
        """
        result = await self._service.ask(*build_question(message, **options), on_event)
        return result if include_per_query_trace else _lean(result)

    async def stream(
        self, message: str, *, include_per_query_trace: bool = True, **options: Any
    ) -> AsyncGenerator[TurnEvent]:
        """Run one turn and yield its events, `TurnEnded` with the result last.

        If you close the generator before its end, the turn is cancelled and stays half-finished.

        Raises:
            InputError: The message, an id or a setting is not valid.
            GuardianError: Another problem that a person can fix; the error says how.
        """
        async with (
            self._service.asking(*build_question(message, **options)) as live,
            aclosing(live.follow()) as events,
        ):
            async for event in events:
                if isinstance(event, TurnEnded) and not include_per_query_trace:
                    event = event.model_copy(update={"result": _lean(event.result)})
                yield event

    async def search(
        self, query: str, *, top_k: int = 10, language: Language | str | None = None
    ) -> list[EvidenceItem]:
        """Return the passages of the knowledge base that match a query, best first.

        Raises:
            InputError: The query is empty or `top_k` is below 1.
        """
        found, _ = await self._service.search(_ANYBODY, query, top_k=top_k, language=language)
        return found


def build_question(
    message: str,
    *,
    thread: str | None = None,
    turn_id: str | None = None,
    language: Language | str | None = None,
    settings: dict[str, Any] | None = None,
) -> tuple[Caller, Question]:
    """Return who asks what, from the options of `ask_structured`.

    Raises:
        InputError: An id is not valid, or two languages are requested.
    """
    for name, value in (("conversation's", thread), ("message's", turn_id)):
        if value is not None:
            check_id(name, value)
    given = _name_language(settings, language)
    role = given.pop("role", None)
    caller = _ANYBODY if role is None else Caller(role=role)
    return caller, Question(message, thread or "", turn_id or "", given)


def _name_language(settings: dict[str, Any] | None, language: Language | str | None) -> dict[str, Any]:
    """Return run settings with the language that is named beside them.

    Raises:
        InputError: They name another one.
    """
    named = dict(settings or {})
    if language is None:
        return named
    if named.get("language") not in (None, language):
        raise InputError(
            f"Two languages are requested: {language!r}, and {named['language']!r} among the settings.", "Name one."
        )
    return {**named, "language": language}


def _lean(result: StructuredAgentResult) -> StructuredAgentResult:
    return result.model_copy(update={"per_query_results": []})


@asynccontextmanager
async def open_assistant(profile: str | None = None) -> AsyncGenerator[Assistant]:
    """Open a deployment for many questions: its index and its connections to models are opened once.

    Args:
        profile: Name or path; by default GUARDIAN_PROFILE.

    Raises:
        NoIndex: This profile has no index.
        GuardianError: Another problem that a person can fix; the error says how.
    """
    async with open_service(deployment(profile)) as service:
        yield Assistant(service)


@asynccontextmanager
async def open_graph(profile: str | None = None, *, memory: bool = False) -> AsyncGenerator[Graph]:
    """Open the graph of a deployment as a part of another graph, which provides the checkpointer.

        async with open_graph() as guardian:
            builder.add_node("support", guardian)

    Nothing is written to the assistant's own conversations. Only the surrounding graph keeps checkpoints.

    Args:
        profile: Name or path; by default GUARDIAN_PROFILE.
        memory: Whether the graph remembers its part of each conversation in the surrounding graph's checkpointer. If
            so, pass only new messages; if not, pass all messages each time.

    Raises:
        NoIndex: This profile has no index.
        GuardianError: Another problem that a person can fix; the error says how.
    """
    from graph.build import build_graph

    deployed = deployment(profile)
    async with open_ports(deployed) as chosen:
        graph = build_graph(chosen, deployed.profile, settings=deployed.context_type)
        if memory:
            graph.checkpointer = True
        yield graph
