"""What all ways in have in common: turns that are followed, stopped, taken up again, and whose they are."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from assistant.deployment import deployment
from assistant.service import Caller, Question, Service, open_service
from assistant.turns.events import TurnEnded, TurnEvent, Understood
from assistant.turns.running_turn import RunningTurn
from assistant.turns.views import answer, user_event, user_view
from assistant.visitors import user_name
from assistant.web.turns import events_of
from contracts.enums import Language
from contracts.errors import InputError, ServerClosing, TurnStopped, UnknownThread
from contracts.result import StructuredAgentResult
from tests.support.cli_helpers import ANSWER, QUESTION, Desk

ANNA, BORIS = Caller("anna"), Caller("boris", role="operator")


@pytest.fixture
async def service(desk: Desk) -> AsyncIterator[Service]:
    async with open_service(deployment(environment=desk.environment)) as opened:
        yield opened


async def until(live: RunningTurn, node: str) -> list[TurnEvent]:
    """Follow a turn until a node begins."""
    seen: list[TurnEvent] = []
    async for event in live.follow():
        seen.append(event)
        if event.kind == "node_started" and event.node == node:
            return seen
    raise AssertionError(f"{node} never began")


async def test_a_turn_tells_of_itself_from_its_start_to_its_result(service: Service) -> None:
    """Events come in the order of the graph; who follows later gets the same ones."""
    live = service.begin(ANNA, Question(QUESTION, thread="t", turn_id="1"))
    events = [event async for event in live.follow()]
    kinds = [event.kind for event in events]
    assert kinds[0] == "turn_started"
    assert kinds[-1] == "turn_ended"
    assert [event.node for event in events if event.kind == "node_finished"] == [
        *("moderation", "sgr_plan", "inject_synthetic", "retrieve", "draft", "guardian_verify", "finalize"),
    ]
    assert [kind for kind in kinds if not kind.startswith(("node", "turn"))] == [
        *("understood", "searched", "drafted", "judged"),
    ]
    assert [event async for event in live.follow()] == events
    assert isinstance(events[-1], TurnEnded)
    assert events[-1].result.thread_id == "t"
    assert ANSWER in events[-1].result.answer_text


async def test_the_same_message_sent_again_is_not_run_again(service: Service) -> None:
    """Under one id there is one turn; its second sending has a beginning and an end only."""
    first = await service.ask(ANNA, Question(QUESTION, thread="t", turn_id="1"))
    live = service.begin(ANNA, Question(QUESTION, thread="t", turn_id="1"))
    events = [event async for event in live.follow()]
    assert [event.kind for event in events] == ["turn_started", "turn_ended"]
    assert isinstance(events[-1], TurnEnded)
    assert events[-1].result == first


async def test_nobody_sees_the_conversations_of_another(service: Service) -> None:
    """Two callers have a conversation of the same id each, and neither can read, resume, stop or delete the other's."""
    await service.ask(ANNA, Question(QUESTION, thread="same"))
    await service.ask(ANNA, Question(QUESTION, thread="hers"))
    await service.ask(BORIS, Question("How do I restore a backup?", thread="same"))
    assert {summary.thread_id for summary in await service.threads(ANNA)} == {"same", "hers"}
    assert [summary.turns for summary in await service.threads(BORIS)] == [1]
    [turn] = await service.turns(BORIS, "same")
    assert turn.question == "How do I restore a backup?"
    assert turn.result
    assert turn.result["thread_id"] == "same"
    for work in (service.turns, service.delete, service.resume):
        with pytest.raises(UnknownThread):
            await work(BORIS, "hers")
    assert not await service.stop(BORIS, "hers")
    with pytest.raises(UnknownThread):
        await service.turns(Caller("ann"), "a/same")


@pytest.mark.parametrize("owner", ["v_" + "0" * 32, user_name("eva@shelf.example")])
async def test_who_has_no_name_has_no_conversation_of_a_visitor_or_a_user(service: Service, owner: str) -> None:
    """They are neither listed nor found nor opened nor continued, although those of keys and of nobody are."""
    nobody = Caller(role="operator")
    for caller, thread in ((Caller(owner), "theirs"), (ANNA, "hers"), (nobody, "own")):
        await service.ask(caller, Question(QUESTION, thread=thread))
    assert {summary.thread_id for summary in await service.threads(nobody)} == {"anna/hers", "own"}
    assert {summary.thread_id for summary in await service.find_threads(nobody, "catalogue")} == {"anna/hers", "own"}
    for work in (service.turns, service.feedback, service.delete, service.resume, service.stop):
        with pytest.raises(UnknownThread):
            await work(nobody, f"{owner}/theirs")
    with pytest.raises(UnknownThread):
        service.begin(nobody, Question(QUESTION, thread=f"{owner}/theirs"))
    assert len(await service.turns(Caller(owner), "theirs")) == 1


async def test_who_goes_away_leaves_a_turn_that_can_be_taken_up_again(service: Service) -> None:
    """A turn bound to its asker stops with them, half-finished, and `resume` brings it to its answer."""
    async with service.asking(ANNA, Question(QUESTION, thread="t", turn_id="1")) as live:
        await until(live, "retrieve")
    assert service.running == 0
    [turn] = await service.turns(ANNA, "t")
    assert turn.status == "running"
    taken_up = await service.resume(ANNA, "t")
    assert taken_up is not None
    result = await taken_up.result()
    assert result.turn_id == "1"
    assert ANSWER in result.answer_text
    assert await service.resume(ANNA, "t") is None


async def test_a_stopped_turn_is_over_and_the_next_message_is_answered_at_once(service: Service) -> None:
    """Its question stays on record as stopped; what follows is answered without finishing it."""
    live = service.begin(ANNA, Question("How do I restore a backup?", thread="t", turn_id="1"))
    await until(live, "retrieve")
    assert await service.stop(ANNA, "t")
    with pytest.raises(TurnStopped):
        await live.result()
    [turn] = await service.turns(ANNA, "t")
    assert turn.result
    assert turn.result["block_reason"] == "stopped"
    result = await service.ask(ANNA, Question(QUESTION, thread="t", turn_id="2"))
    assert ANSWER in result.answer_text
    assert [turn.turn_id for turn in await service.turns(ANNA, "t")] == ["1", "2"]
    assert not await service.stop(ANNA, "t")


async def test_a_process_that_ends_takes_no_more_turns_and_loses_none(service: Service) -> None:
    """Draining waits for what runs, leaves the rest half-finished, and tells newcomers to come again."""
    live = service.begin(ANNA, Question(QUESTION, thread="a"))
    assert await service.drain(30) == 0
    assert ANSWER in (await live.result()).answer_text
    with pytest.raises(ServerClosing):
        service.begin(ANNA, Question(QUESTION, thread="b"))


async def test_the_same_message_sent_while_it_runs_joins_its_turn(service: Service) -> None:
    """Under one id and with the same words it is one turn, which ends with the last who follows it and not before."""
    question = Question(QUESTION, thread="t", turn_id="1")
    async with service.asking(ANNA, question) as first:
        await until(first, "sgr_plan")
        async with service.asking(ANNA, question) as second, service.resuming(ANNA, "t") as third:
            assert second is first
            assert third is first
            assert service.begin(Caller("anna", "operator"), question) is not first
            async with service.asking(ANNA, question):
                pass
            assert first.running
    with pytest.raises(TurnStopped):
        await first.result()
    async with service.asking(ANNA, question) as again:
        assert again is not first
        assert ANSWER in (await again.result()).answer_text


async def test_who_leaves_a_turn_that_runs_by_itself_does_not_end_it(service: Service) -> None:
    """A turn of the chat page goes on, whoever else asks the same and goes away."""
    question = Question(QUESTION, thread="t", turn_id="1")
    lasting = service.begin(ANNA, question)
    async with service.asking(ANNA, question) as joined:
        assert joined is lasting
    assert ANSWER in (await lasting.result()).answer_text


async def test_what_is_cut_off_at_the_end_is_told_so_and_counted_where_it_is_on_record(service: Service) -> None:
    """A turn that runs and a message that waits behind it: both are told that the server closes, one is left."""
    running = service.begin(ANNA, Question(QUESTION, thread="t", turn_id="1"))
    await until(running, "sgr_plan")
    waiting = service.begin(ANNA, Question("How do I restore a backup?", thread="t", turn_id="2"))
    assert await service.drain(0) == 1
    for live in (running, waiting):
        with pytest.raises(ServerClosing):
            await live.result()
    assert [turn.turn_id for turn in await service.turns(ANNA, "t")] == ["1"]


async def test_an_id_may_be_as_long_whoever_asks(service: Service) -> None:
    """The name of a key takes nothing from the 200 characters; one more is refused with a way out."""
    caller = Caller("a" * 40)
    result = await service.ask(caller, Question(QUESTION, thread="t" * 200, turn_id="m" * 200))
    assert result.thread_id == "t" * 200
    assert [summary.thread_id for summary in await service.threads(caller)] == ["t" * 200]
    with pytest.raises(InputError) as caught:
        service.begin(caller, Question(QUESTION, thread="t" * 201, turn_id="1"))
    assert caught.value.way_out


async def test_a_message_that_was_stopped_can_be_sent_again(service: Service) -> None:
    """A client that names no ids gets an answer in the same conversation, and what follows stays in it."""
    said = ["How do I restore a backup?"]
    thread, first = await service.place(ANNA, said)
    await service.ask(ANNA, Question(said[0], thread=thread, turn_id=first))
    said = [*said, QUESTION]
    ids: list[str] = []
    for _ in range(2):
        again, turn_id = await service.place(ANNA, said)
        assert again == thread
        ids.append(turn_id)
        live = service.begin(ANNA, Question(QUESTION, thread=thread, turn_id=turn_id))
        await until(live, "retrieve")
        assert await service.stop(ANNA, thread)
    again, last = await service.place(ANNA, said)
    assert (again, len({*ids, last})) == (thread, 3)
    assert ANSWER in (await service.ask(ANNA, Question(QUESTION, thread=thread, turn_id=last))).answer_text
    assert await service.place(ANNA, said) == (thread, last)
    assert (await service.place(ANNA, [*said, "Thank you"]))[0] == thread


async def test_the_role_is_the_callers_and_no_setting_of_the_message(service: Service) -> None:
    """A `role` among the settings of a question counts for nothing; a wrong setting is an error that names it."""
    result = await service.ask(ANNA, Question("What is the night code?", settings={"role": "operator"}))
    assert {line.inputs.get("role") for line in result.decisions} <= {None, "user"}
    with pytest.raises(InputError, match="top_k"):
        service.begin(ANNA, Question(QUESTION, settings={"top_k": 0}))


async def test_a_users_view_holds_the_answer_and_nothing_else_of_the_turn(service: Service) -> None:
    """DT-004: the intent, the answer and its sources; no plan, no evidence, no report, no decisions."""
    live = service.begin(ANNA, Question(QUESTION, thread="t", turn_id="1"))
    events = [event async for event in live.follow()]
    shown = [told for event in events if (told := user_event(event)) is not None]
    assert [told.stage for told in shown if told.stage] == [
        *("moderation", "sgr_plan", "retrieve", "draft", "guardian_verify"),
    ]
    result = await live.result()
    view = user_view(result, service.deployed.profile)
    assert view.answer == result.answer_text
    assert view.sources
    for source in view.sources:
        assert f"[{source.number}]" in view.answer
    assert view.intent == next(event.intent for event in events if isinstance(event, Understood))
    sent = view.model_dump_json()
    assert result.plan is not None
    assert result.plan.intent_confidence is not None
    for hidden in ("synthetic", "subqueries", "spam_score", "guardian_verify", "confidence"):
        assert hidden not in sent
    assert answer(result, service.deployed.profile, "user").result is None
    assert answer(result, service.deployed.profile, "operator").result == result


async def test_a_turn_that_breaks_ends_for_all_who_follow_it(service: Service) -> None:
    """An error that nobody foresaw reaches them, and the last event of a stream says that there was one, and no more."""

    async def breaks() -> StructuredAgentResult:
        await asyncio.sleep(0.01)
        raise RuntimeError("a bug")

    live = RunningTurn("t", "m", QUESTION)
    live.watch(asyncio.create_task(breaks()))
    with pytest.raises(RuntimeError, match="a bug"):
        _ = [event async for event in live.follow()]
    told = [event async for event in events_of(live, service, Caller(), Language.EN)]
    assert [event.split("\n")[0] for event in told] == ["event: started", "event: error"]
    assert "unforeseen" in told[-1]
    assert "a bug" not in told[-1]
