"""`langgraph dev` with a model that takes its time: interrupts, double texting, cancels, lost connections and a kill."""

from __future__ import annotations

import asyncio
import json
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest
from langgraph_sdk import get_client
from langgraph_sdk.client import LangGraphClient
from langgraph_sdk.errors import ConflictError
from langgraph_sdk.schema import CancelAction, MultitaskStrategy, Run

from tests.support.clock import YEAR
from tests.support.studio_server import LEND, NEXT, Server, ask, create_thread, list_messages, name_models, run
from tests.support.wire.server_process import FakeServer, fake_server

pytestmark = pytest.mark.slow

WRONG: Final = "Zebrafish lend 999 books [1]."
ALL_MODES: Final[Any] = ["values", "updates", "messages-tuple", "tasks", "checkpoints", "debug", "events"]


def one_draft(reply: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return a script: the next draft is this one, and all others are those of a model that behaves."""
    return [{"when": {"purpose": "draft"}, "times": 1, "reply": reply}]


@pytest.fixture(scope="module")
def shared_models() -> Iterator[FakeServer]:
    with fake_server() as running:
        yield running


@pytest.fixture
def models(shared_models: FakeServer) -> FakeServer:
    """Return the model and moderator that the server asks, behaving, and with nothing asked yet."""
    shared_models.reset()
    return shared_models


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, shared_models: FakeServer) -> Iterator[Server]:
    """Return a running server, whose clock is a year ahead until one of the tests starts it again."""
    models = name_models(shared_models, "vllm")
    served = Server(tmp_path_factory.mktemp("studio-runs"), forked=True, CLOCK_WRONG_BY=str(YEAR), **models)
    served.start()
    yield served
    served.stop()


@pytest.fixture
async def studio(server: Server) -> AsyncIterator[LangGraphClient]:
    async with get_client(url=server.url, timeout=60) as client:
        yield client


async def state_of(studio: LangGraphClient, thread: str) -> Any:
    return await studio.threads.get_state(thread)


async def drafting(models: FakeServer, drafts: int = 1) -> None:
    """Wait until so many drafts have been asked for."""
    deadline = time.monotonic() + 30
    while sum(request["purpose"] == "draft" for request in models.requests()) < drafts:
        assert time.monotonic() < deadline, models.requests()
        await asyncio.sleep(0.02)


async def goes_on(studio: LangGraphClient, thread: str) -> None:
    """Check that the thread is at rest, and that its next message is one turn, answered, behind all others."""
    state = await state_of(studio, thread)
    assert (list(state["next"]), (await studio.threads.get(thread))["status"]) == ([], "idle")
    values = await run(studio, thread, ask(NEXT))
    assert values["result"]["outcome"] == "answered"
    assert list_messages(values) == [*list_messages(state["values"]), ("human", NEXT), ("ai", values["final_answer"])]
    assert (await state_of(studio, thread))["values"]["result"] == values["result"]


async def test_a_served_graph_with_a_model_tells_no_draft(
    server: Server, studio: LangGraphClient, models: FakeServer
) -> None:
    """Over the server's own streams, events included: no draft before its PASS, then the answer in pieces."""
    models.script(one_draft({"text": WRONG}))
    stream = studio.runs.stream(await create_thread(studio), "guardian", input=ask(LEND), stream_mode=ALL_MODES)
    parts = [part async for part in stream]

    assert "ebrafish" not in "".join(json.dumps(part.data) for part in parts)
    pieces = [part.data[0]["content"] for part in parts if part.event == "messages" and part.data[0]["type"] != "human"]
    final = [part.data for part in parts if part.event == "values"][-1]["final_answer"]
    assert len(pieces) > 1
    assert "".join(pieces) == final
    assert "BlockingError" not in server.log()


# ---------------------------------------------------------------------------------------------------------- interrupts


@pytest.mark.parametrize("where", [{"interrupt_before": ["guardian_verify"]}, {"interrupt_after": ["draft"]}], ids=str)
async def test_an_interrupted_run_goes_on_and_has_told_no_draft(
    studio: LangGraphClient, models: FakeServer, where: dict[str, Any]
) -> None:
    """Stopped between draft and verdict, the stream and the thread withhold the draft; resumed, it is judged."""
    models.script(one_draft({"text": WRONG}))
    thread = await create_thread(studio)
    begun = studio.runs.stream(thread, "guardian", input=ask(LEND), stream_mode=ALL_MODES, **where)
    parts = [part async for part in begun]

    state = await state_of(studio, thread)
    listed: Any = await studio.threads.get(thread)
    assert (list(state["next"]), listed["status"]) == (["guardian_verify"], "interrupted")
    assert state["values"]["draft_answer"] == WRONG
    assert "ebrafish" not in json.dumps(listed)

    rest = [part async for part in studio.runs.stream(thread, "guardian", input=None, stream_mode=ALL_MODES)]
    assert "ebrafish" not in json.dumps([part.data for part in (*parts, *rest)])
    ended = (await state_of(studio, thread))["values"]
    assert (ended["result"]["outcome"], ended["retry_count"]) == ("answered", 1)
    assert list_messages(ended) == [("human", LEND), ("ai", ended["final_answer"])]


async def test_a_draft_put_into_an_interrupted_thread_is_judged(studio: LangGraphClient, models: FakeServer) -> None:
    """What a caller writes in the place of the draft goes before the Guardian, and does not become the answer."""
    models.script([])
    thread = await create_thread(studio)
    await run(studio, thread, ask(LEND), interrupt_after=["draft"])
    await studio.threads.update_state(thread, {"draft_answer": WRONG})

    rest = [part async for part in studio.runs.stream(thread, "guardian", input=None, stream_mode=ALL_MODES)]
    assert "ebrafish" not in json.dumps([part.data for part in rest])
    ended = (await state_of(studio, thread))["values"]
    assert (ended["result"]["outcome"], ended["retry_count"]) == ("answered", 1)


async def test_a_message_to_an_interrupted_thread_is_a_turn_of_its_own(
    studio: LangGraphClient, models: FakeServer
) -> None:
    """The turn that was left off is given up, its question stays to be read, and the new one is answered."""
    models.script([])
    thread = await create_thread(studio)
    await run(studio, thread, ask(LEND), interrupt_before=["retrieve"])
    values = await run(studio, thread, ask(NEXT))

    assert (values["result"]["question"], values["result"]["outcome"]) == (NEXT, "answered")
    assert list_messages(values) == [("human", LEND), ("human", NEXT), ("ai", values["final_answer"])]


async def test_a_clock_that_is_set_back_and_forth_inside_turns_loses_none(
    server: Server, studio: LangGraphClient, models: FakeServer
) -> None:
    """Set back by two years between draft and verdict, and forward again in the next turn, it spoils no order of steps.

    Between those two, one turn begins and ends under the clock that was set back.
    """
    models.script([])
    thread = await create_thread(studio)
    told: list[tuple[str, str]] = []
    for moves in (False, True, False, True):
        if moves:
            await run(studio, thread, ask(LEND), interrupt_after=["draft"])
            server.move_clock()
        question = LEND if moves else NEXT
        values = await run(studio, thread, None if moves else ask(question))
        assert (values["result"]["question"], values["result"]["outcome"]) == (question, "answered")
        told += [("human", question), ("ai", values["final_answer"])]
        assert list_messages(values) == told

    history = await studio.threads.get_history(thread, limit=100)
    made = [str(step["checkpoint"]["checkpoint_id"]) for step in history]
    assert made == sorted(made, reverse=True)
    await goes_on(studio, thread)


# ------------------------------------------------------------------------------------------- double texting and cancels


@dataclass(frozen=True)
class Story:
    """What became of a thread whose run something happened to in mid-draft.

    Attributes:
        before: Its state before that run; `None` in a new thread.
        state: Its state afterwards.
        history: The steps that are kept.
        runs: The ends of its runs, by what they were asked; what is not there any more is left out.
        refused: Whether the second message was.
    """

    thread: str
    before: Any
    state: Any
    history: str
    runs: dict[str, str]
    refused: bool = False

    @property
    def said(self) -> list[tuple[str, str]]:
        return list_messages(self.state["values"])

    @property
    def answered(self) -> tuple[str, str, str]:
        """The question of the last turn, how it ended, and the answer."""
        values = self.state["values"]
        return values["result"]["question"], values["result"]["outcome"], values["final_answer"]


async def told(studio: LangGraphClient, thread: str, before: Any, runs: dict[str, str], refused: bool = False) -> Story:
    state = await state_of(studio, thread)
    history = json.dumps(await studio.threads.get_history(thread, limit=100))
    ends = {found["run_id"]: str(found["status"]) for found in await studio.runs.list(thread)}
    ends_by_text = {text: ends[run_id] for text, run_id in runs.items() if run_id in ends}
    assert len(ends) == len(ends_by_text) + (before is not None)
    return Story(thread, before, state, history, ends_by_text, refused)


def slow_drafts(models: FakeServer, drafts: int, **reply: object) -> None:
    models.script([{"when": {"purpose": "draft"}, "times": drafts, "reply": reply}])
    models.clear()


async def text_again(studio: LangGraphClient, models: FakeServer) -> dict[str, Story]:
    """With each strategy: ask, and ask something else while the first question is being drafted."""
    # Two of them end the first turn, however long its draft takes; of the other two it must be answered after all.
    ending: list[MultitaskStrategy] = ["interrupt", "rollback"]
    waiting: list[MultitaskStrategy] = ["reject", "enqueue"]
    strategies: list[MultitaskStrategy] = [*ending, *waiting]
    threads = [await create_thread(studio) for _ in strategies]
    firsts: list[Run] = []
    for begun, delay in ((ending, {"hang": True}), (waiting, {"delay_headers_s": 6.0})):
        slow_drafts(models, len(begun), **delay)
        these = threads[len(firsts) : len(firsts) + len(begun)]
        firsts += await asyncio.gather(*(studio.runs.create(one, "guardian", input=ask(LEND)) for one in these))
        await drafting(models, len(begun))

    async def second(thread: str, one: str, strategy: MultitaskStrategy) -> Story:
        try:
            two = await studio.runs.create(thread, "guardian", input=ask(NEXT), multitask_strategy=strategy)
        except ConflictError:
            await studio.runs.join(thread, one)
            return await told(studio, thread, None, {LEND: one}, refused=True)
        await studio.runs.join(thread, two["run_id"])
        return await told(studio, thread, None, {LEND: one, NEXT: two["run_id"]})

    told_of = zip(threads, firsts, strategies, strict=True)
    stories = await asyncio.gather(*(second(thread, one["run_id"], strategy) for thread, one, strategy in told_of))
    return dict(zip(strategies, stories, strict=True))


async def cancel(studio: LangGraphClient, models: FakeServer) -> dict[str, Story]:
    """With each action: cancel the second turn of a thread in mid-draft."""
    actions: list[CancelAction] = ["interrupt", "rollback"]
    threads = [await create_thread(studio) for _ in actions]
    befores = await asyncio.gather(*(run(studio, thread, ask(NEXT)) for thread in threads))
    slow_drafts(models, len(actions), hang=True)
    runs = await asyncio.gather(*(studio.runs.create(thread, "guardian", input=ask(LEND)) for thread in threads))
    await drafting(models, len(actions))
    stories: dict[str, Story] = {}
    for thread, before, begun, action in zip(threads, befores, runs, actions, strict=True):
        await studio.runs.cancel(thread, begun["run_id"], wait=True, action=action)
        stories[action] = await told(studio, thread, before, {LEND: begun["run_id"]})
    return stories


@pytest.fixture(scope="module")
def texted(server: Server, shared_models: FakeServer) -> dict[str, Story]:
    """Return what became of two messages at once, by strategy; all at the same time, for each waits for the server."""
    return asyncio.run(with_client(server, shared_models, text_again))


@pytest.fixture(scope="module")
def cancelled(server: Server, shared_models: FakeServer) -> dict[str, Story]:
    """Return what became of a turn that was cancelled, by action."""
    return asyncio.run(with_client(server, shared_models, cancel))


async def with_client(
    server: Server,
    models: FakeServer,
    story: Callable[[LangGraphClient, FakeServer], Awaitable[dict[str, Story]]],
) -> dict[str, Story]:
    models.reset()
    async with get_client(url=server.url, timeout=60) as client:
        return await story(client, models)


def test_reject_refuses_the_second_message(texted: dict[str, Story]) -> None:
    """The second is answered with 409 and leaves no trace; the first is answered."""
    story = texted["reject"]
    question, outcome, answer = story.answered
    assert story.refused
    assert (question, outcome) == (LEND, "answered")
    assert story.said == [("human", LEND), ("ai", answer)]
    assert story.runs == {LEND: "success"}


def test_enqueue_answers_both_messages_in_order(texted: dict[str, Story]) -> None:
    """The second waits for the first, and then is a turn of its own."""
    story = texted["enqueue"]
    question, outcome, answer = story.answered
    assert (question, outcome) == (NEXT, "answered")
    assert [story.said[place] for place in (0, 2, 3)] == [("human", LEND), ("human", NEXT), ("ai", answer)]
    assert [kind for kind, _ in story.said] == ["human", "ai", "human", "ai"]
    assert story.runs == {LEND: "success", NEXT: "success"}


def test_interrupt_gives_the_first_message_up_and_keeps_it_to_be_read(texted: dict[str, Story]) -> None:
    """The first question stays without an answer, and the second is the question of the turn that is answered."""
    story = texted["interrupt"]
    question, outcome, answer = story.answered
    assert (question, outcome) == (NEXT, "answered")
    assert story.said == [("human", LEND), ("human", NEXT), ("ai", answer)]
    assert story.runs == {LEND: "interrupted", NEXT: "success"}


def test_rollback_leaves_nothing_of_the_first_message(texted: dict[str, Story]) -> None:
    """Neither the message nor a step of its turn is in the thread or its history, and its run is gone."""
    story = texted["rollback"]
    question, outcome, answer = story.answered
    assert (question, outcome) == (NEXT, "answered")
    assert story.said == [("human", NEXT), ("ai", answer)]
    assert LEND not in story.history
    assert story.runs == {NEXT: "success"}


def test_a_cancelled_turn_stands_where_it_stood(cancelled: dict[str, Story]) -> None:
    """Its question is in the thread, the turn before as well, and its run is marked as interrupted."""
    story = cancelled["interrupt"]
    assert list(story.state["next"]) == ["draft"]
    assert story.said == [*list_messages(story.before), ("human", LEND)]
    assert story.runs == {LEND: "interrupted"}


def test_a_turn_that_is_rolled_back_was_never_there(cancelled: dict[str, Story]) -> None:
    """The thread is as the turn before left it, and the run is gone."""
    story = cancelled["rollback"]
    assert list(story.state["next"]) == []
    assert story.said == list_messages(story.before)
    assert story.state["values"]["result"] == story.before["result"]
    assert (story.runs, LEND in story.history) == ({}, False)


async def test_the_next_turn_is_fine_after_all_of_that(
    studio: LangGraphClient, models: FakeServer, texted: dict[str, Story], cancelled: dict[str, Story]
) -> None:
    """A cancelled turn is first finished by a run without input, which plans nothing anew."""
    stopped = cancelled["interrupt"]
    models.clear()
    finished = await run(studio, stopped.thread, None)
    assert (finished["result"]["question"], finished["result"]["outcome"]) == (LEND, "answered")
    assert list_messages(finished) == [*stopped.said, ("ai", finished["final_answer"])]
    assert "plan" not in {request["purpose"] for request in models.requests()}
    stories = (*texted.values(), *cancelled.values())
    await asyncio.gather(*(goes_on(studio, story.thread) for story in stories))


# ----------------------------------------------------------------------------------------------------- lost connections


async def test_who_loses_the_connection_gets_the_rest_of_the_stream(
    studio: LangGraphClient, models: FakeServer
) -> None:
    """Joined again behind the last event that arrived, a stream misses and repeats nothing, and tells no draft."""
    models.script(one_draft({"text": WRONG, "delay_headers_s": 0.5}))
    thread = await create_thread(studio)
    begun: list[Any] = []
    stream = studio.runs.stream(
        thread,
        "guardian",
        input=ask(LEND),
        stream_mode=["updates", "messages-tuple"],
        stream_resumable=True,
        on_disconnect="continue",
        on_run_created=begun.append,
    )
    arrived: list[Any] = []
    async for part in stream:
        arrived.append(part)
        if len(arrived) == 3:
            break
    await stream.aclose()  # pyright: ignore[reportAttributeAccessIssue]  # it is a generator
    await drafting(models)
    run_id = begun[0]["run_id"]

    rest = [part async for part in studio.runs.join_stream(thread, run_id, last_event_id=arrived[-1].id)]
    whole = [part async for part in studio.runs.join_stream(thread, run_id, last_event_id="-1")]
    assert [part.id for part in (*arrived, *rest)] == [part.id for part in whole]
    pieces = [part.data[0]["content"] for part in rest if part.event == "messages"]
    values = (await state_of(studio, thread))["values"]
    assert ("".join(pieces), values["retry_count"]) == (values["final_answer"], 1)
    assert "ebrafish" not in json.dumps([part.data for part in whole])


# -------------------------------------------------------------------------------------------------------------- a kill


async def written_down(folder: Path) -> None:
    """Wait until the server has written its list of threads and runs; it does so every ten seconds."""
    file = folder / ".langgraph_api" / ".langgraph_ops.pckl"
    before = file.stat().st_mtime_ns if file.exists() else 0
    deadline = time.monotonic() + 30
    while not file.exists() or file.stat().st_mtime_ns == before:
        assert time.monotonic() < deadline
        await asyncio.sleep(0.05)


async def test_a_killed_server_loses_no_thread(server: Server, studio: LangGraphClient, models: FakeServer) -> None:
    """Kill -9 in mid-run: finished turns are there, and what was begun stands where it stood.

    A run that the server has written down goes on by itself, one that it has not when its caller asks for that;
    neither is planned again. That the clock was set back by a year meanwhile changes nothing.
    """
    known, unknown = await create_thread(studio), str(uuid.uuid4())
    first = await run(studio, known, ask(NEXT))
    slow_drafts(models, 2, hang=True)
    going_on = await studio.runs.create(known, "guardian", input=ask(LEND))
    await drafting(models)
    await written_down(server.place / "repository")
    await studio.threads.create(thread_id=unknown)
    await studio.runs.create(unknown, "guardian", input=ask(LEND))
    await drafting(models, 2)
    server.kill()
    models.reset()
    del server.more["CLOCK_WRONG_BY"]
    server.start()

    async with get_client(url=server.url, timeout=60) as client:
        finished: Any = await client.runs.join(known, going_on["run_id"])
        assert list_messages(finished)[:3] == [("human", NEXT), ("ai", first["final_answer"]), ("human", LEND)]
        assert list_messages(finished)[3:] == [("ai", finished["final_answer"])]

        await client.threads.create(thread_id=unknown, graph_id="guardian", if_exists="do_nothing")
        state = await state_of(client, unknown)
        assert (list(state["next"]), list_messages(state["values"])) == (["draft"], [("human", LEND)])
        resumed = await run(client, unknown, None)
        assert list_messages(resumed) == [("human", LEND), ("ai", resumed["final_answer"])]

        for ended in (finished, resumed):
            assert (ended["result"]["question"], ended["result"]["outcome"]) == (LEND, "answered")
        assert "plan" not in {request["purpose"] for request in models.requests()}
        await asyncio.gather(goes_on(client, known), goes_on(client, unknown))
