"""What leaves the graph while a turn runs on a language model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from langchain_core._api import LangChainBetaWarning, LangChainDeprecationWarning
from langchain_core.callbacks import AsyncCallbackHandler
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage
from langchain_core.outputs import LLMResult
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph

from contracts.context import STEPS_PER_TURN
from contracts.errors import ConfigError
from graph.streaming import WITHHELD, pieces, withheld
from tests.support.turn import SAFE
from tests.support.wire.server_process import FakeServer
from tests.support.wire.turns import graph_on

MODES = ["values", "updates", "messages", "custom", "checkpoints", "tasks", "debug"]
WRONG = "Zebrafish boil at 999 degrees quartzwise [1]."
WRONG_TOO = "Zebrafish boil at 998 degrees quartzwise [1]."
"""Another one: the same draft twice in a row is not asked for a third time."""
RIGHT = "The kettle boils at 100 degrees, quartzwise [1]."
QUOTED = "Quartzwise the moon of the bookshop is made of 999 kg of green copper [1]."
"""What it says is like nothing in its source, which the Guardian says of it in its own words."""
STATES = ["values", "updates", "checkpoints", "tasks", "debug"]
MARKS = ("zebrafish", "quartzwise", "pondering")
THINKING = "<think>Pondering the zebrafish.</think>\n"
QUESTION = "When does the kettle boil?"


class Results(MessagesState):
    """The state of a surrounding graph that keeps our result."""

    result: dict[str, Any]


def drafts(server: FakeServer, *texts: str) -> None:
    """Have the model draft these, one after another, with reasoning in front and beside."""
    server.script(
        [
            {"when": {"purpose": "draft"}, "times": 1, "reply": {"text": THINKING + text, "reasoning": "Pondering."}}
            for text in texts
        ]
    )


def asked_of(server: FakeServer) -> list[str]:
    """Return what the model was asked for, in order."""
    return [request["purpose"] for request in server.requests() if request["purpose"]]


def config() -> Any:
    return {"recursion_limit": STEPS_PER_TURN, "configurable": {"thread_id": "t"}}


def start() -> Any:
    return {"messages": [HumanMessage(QUESTION, id="q")]}


def words_of(part: Any) -> str:
    """Return all text in what a stream emits, whatever it is made of."""
    if isinstance(part, BaseMessage):
        return f"{part.text} {json.dumps(part.additional_kwargs, default=str)}"
    if isinstance(part, dict):
        return " ".join(f"{key} {words_of(value)}" for key, value in part.items())
    if isinstance(part, list | tuple):
        return " ".join(map(words_of, part))
    return repr(part)


def passed(part: Any) -> bool:
    """Whether a part of a stream is the news that the draft has passed."""
    return "'PASS'" in words_of(part) and "verdict" in words_of(part)


@pytest.mark.parametrize("mode", [*MODES, MODES])
async def test_no_word_of_a_draft_leaves_the_graph_before_it_passed(
    server: FakeServer, tmp_path: Path, mode: str | list[str]
) -> None:
    """In any stream mode: not the draft that failed, not the one that is still to be judged, not the reasoning."""
    drafts(server, WRONG, RIGHT)
    async with graph_on(server, tmp_path, saver=InMemorySaver(), moderated=SAFE) as graph:
        before: list[Any] = []
        after: list[Any] = []
        async for part in graph.astream(start(), config(), stream_mode=mode):
            (after if after or passed(part) or _answered(part) else before).append(part)
        state = await graph.aget_state(config())
    said = words_of(before).lower()
    assert [mark for mark in MARKS if mark in said] == []
    assert before or mode in ("custom", "messages")
    assert state.values["draft_answer"] == RIGHT
    assert "zebrafish" not in words_of(after).lower().replace("value_not", "")
    assert asked_of(server) == ["plan", "draft", "draft"]


def _answered(part: Any) -> bool:
    """Whether a part belongs to the verified answer, in a mode that tells no verdict."""
    return isinstance(part, tuple) and isinstance(part[0], AIMessageChunk | AIMessage)


async def test_a_draft_that_never_passes_never_leaves_the_graph(server: FakeServer, tmp_path: Path) -> None:
    """A turn that fails ends without a word of its drafts in any stream, to the end."""
    drafts(server, WRONG, WRONG, WRONG)
    said = dict.fromkeys(MODES, "")
    async with graph_on(server, tmp_path, saver=InMemorySaver(), moderated=SAFE) as graph:
        # One turn, heard in each mode: what a mode alone is told differently, the test above hears.
        async for mode, part in graph.astream(start(), config(), stream_mode=MODES):
            said[mode] += words_of(part).lower()
    assert {mode: found for mode, words in said.items() if (found := [mark for mark in MARKS if mark in words])} == {}
    assert {mode for mode, words in said.items() if not words} <= {"custom", "messages"}


async def test_no_event_tells_a_draft(server: FakeServer, tmp_path: Path) -> None:
    """LangChain's events tell neither a model's prompts nor what it says, and nodes without the draft."""
    drafts(server, WRONG, WRONG, WRONG)
    async with graph_on(server, tmp_path, saver=InMemorySaver(), moderated=SAFE) as graph:
        events = [event async for event in graph.astream_events(start(), config(), version="v2")]
    said = words_of(events).lower()
    assert [mark for mark in MARKS if mark in said] == []
    assert not any("chat_model" in event["event"] for event in events)
    assert {"moderation", "draft", "safe_exit"} <= {event["name"] for event in events}


async def test_the_verified_answer_is_sent_in_pieces(server: FakeServer, tmp_path: Path) -> None:
    """Messages arrive as pieces under one id, which joined are the answer, and nothing else arrives."""
    drafts(server, RIGHT, RIGHT)
    async with graph_on(server, tmp_path, moderated=SAFE) as graph:
        parts = [part async for part in graph.astream(start(), config(), stream_mode="messages")]
        answer = (await graph.ainvoke(start(), config()))["final_answer"]
    messages = [message for message, _ in parts if not isinstance(message, HumanMessage)]
    assert {message.id for message in messages} == {"q-answer"}
    assert len(messages) > 1
    assert "".join(str(message.text) for message in messages) == answer
    assert {metadata["langgraph_node"] for _, metadata in parts} == {"finalize"}


def test_pieces_joined_are_the_text() -> None:
    """No blank and no letter is lost or doubled, also in words without an end."""
    for text in ("", "a", "  ", "One two.\n\n- three\n" * 40, "x" * 500, "слово " * 99, "\n" * 200):
        assert "".join(pieces(text)) == text
        assert all(len(piece.rstrip()) <= 80 for piece in pieces(text))


def test_a_draft_is_shown_beside_its_pass_only() -> None:
    """Withheld are drafts beside any other verdict or none, wherever they stand, and what reasons quote of them."""
    claims = [{"text": "secret", "status": "uncited"}]
    quoting = {"draft": "secret", "claims": claims}
    texts = {
        "reasons": ["claim_without_citation=[secret]", "low_confidence(secret)"],
        "advice": ["x=secret", "«secret»"],
    }
    report = {"verdict": "RETRY", **texts, **quoting}
    assert withheld({"draft_answer": "secret", "guardian": {"verdict": "PASS"}})["draft_answer"] == "secret"
    hidden = withheld({"payload": [{"input": {"draft_answer": "secret", "guardian": report}}]})
    assert hidden == {
        "payload": [
            {
                "input": {
                    "draft_answer": WITHHELD,
                    "guardian": {
                        "verdict": "RETRY",
                        "reasons": ["claim_without_citation", "low_confidence"],
                        "advice": ["x"],
                        "draft": WITHHELD,
                        "claims": [],
                    },
                }
            }
        ]
    }
    assert withheld(("draft_answer", "secret")) == ("draft_answer", WITHHELD)
    assert withheld({"draft_answer": ""}) == {"draft_answer": ""}
    # A report of the verdict PASS waits for the end, too; then it is whole, and any other one never is.
    passing = {"verdict": "PASS", "reasons": [], "advice": ["x=secret"], **quoting}
    assert "secret" not in words_of(withheld({"guardian": passing}))
    assert withheld(ended := {"guardian": passing, "result": {"answer_text": "x", "guardian": passing}}) == ended
    failed = {"verdict": "FAIL", **texts, **quoting}
    names = {"reasons": ["claim_without_citation", "low_confidence"], "advice": ["x"]}
    bare = {"verdict": "FAIL", **names, "draft": WITHHELD, "claims": []}
    shown = withheld({"guardian": failed, "result": {"answer_text": "x", "guardian": failed}})
    assert shown == {"guardian": bare, "result": {"answer_text": "x", "guardian": bare}}
    nothing = {"answer_text": "x", "guardian": None}
    assert withheld({"result": nothing}) == {"result": nothing}


async def test_reasoning_is_neither_kept_nor_sent_back(server: FakeServer, tmp_path: Path) -> None:
    """What a thinking model writes before it answers is in no state, no answer, and no later request."""
    server.script(
        [
            {"when": {"purpose": "plan"}, "reply": {"plan": {}, "reasoning": "Pondering."}},
            {"when": {"purpose": "draft"}, "reply": {"text": THINKING + RIGHT, "reasoning": "Pondering."}},
        ]
    )
    saver = InMemorySaver()
    async with graph_on(server, tmp_path, saver=saver, moderated=SAFE) as graph:
        for number in range(2):
            await graph.ainvoke({"messages": [HumanMessage(QUESTION, id=f"q{number}")]}, config())
        history = [snapshot.values async for snapshot in graph.aget_state_history(config())]
    assert "ondering" not in words_of(history)
    assert "ondering" not in json.dumps([request["body"] for request in server.requests()])
    assert asked_of(server) == ["plan", "draft"] * 2


@pytest.mark.parametrize("mode", MODES)
async def test_no_draft_leaves_by_way_of_a_graph_around_ours(server: FakeServer, tmp_path: Path, mode: Any) -> None:
    """As a part of somebody else's graph, whose stream tells what its parts do: the same, in every mode."""
    drafts(server, WRONG, WRONG_TOO, RIGHT)
    async with graph_on(server, tmp_path, moderated=SAFE) as graph:
        outer: Any = StateGraph(MessagesState)
        outer.add_node("desk", graph)
        outer.add_edge(START, "desk")
        around = outer.compile()
        parts = [part async for part in around.astream(start(), stream_mode=mode, subgraphs=True)]
    said = words_of(parts).lower()
    assert "zebrafish" not in said
    assert "pondering" not in said
    assert asked_of(server) == ["plan", "draft", "draft", "draft"]


async def test_nobody_who_listens_to_a_graph_around_ours_hears_a_draft(server: FakeServer, tmp_path: Path) -> None:
    """Its events and its log, with ours as a node or called by a function, tell no prompt and no failed draft.

    What traces the surrounding run does hear them.
    """
    drafts(server, *[WRONG, WRONG_TOO, WRONG] * 4)
    traced = Traced()
    async with graph_on(server, tmp_path, moderated=SAFE) as graph:

        async def consult(state: MessagesState) -> Any:
            return {"messages": (await graph.ainvoke({"messages": state["messages"]}))["messages"]}

        for part in (graph, consult):
            outer: Any = StateGraph(MessagesState)
            outer.add_node("desk", part)
            outer.add_edge(START, "desk")
            around = outer.compile()
            said = words_of([event async for event in around.astream_events(start(), version="v2")]).lower()
            with pytest.warns(LangChainDeprecationWarning):
                said += str([patch async for patch in around.astream_log(start(), {"callbacks": [traced]})]).lower()
            assert [mark for mark in MARKS if mark in said] == []
            assert "desk" in said
            assert "chat_model" not in said
    assert "zebrafish" in traced.heard.lower()


class Traced(AsyncCallbackHandler):
    """A tracer, which may know what models say."""

    heard = ""

    async def on_llm_end(self, response: LLMResult, **_: Any) -> None:
        self.heard += str(response)


@pytest.mark.parametrize("around", [False, True])
async def test_the_end_of_a_failed_turn_quotes_no_draft(server: FakeServer, tmp_path: Path, around: bool) -> None:
    """In no stream, ours or a surrounding one, do reasons and advice quote it; the state, which a run returns, has them."""
    drafts(server, *[QUOTED] * 4)
    async with graph_on(server, tmp_path, saver=None if around else InMemorySaver(), moderated=SAFE) as graph:
        run: Any = graph
        if around:
            outer: Any = StateGraph(Results)
            outer.add_node("desk", graph)
            outer.add_edge(START, "desk")
            run = outer.compile(checkpointer=InMemorySaver())
        parts = [part async for part in run.astream(start(), config(), stream_mode=STATES, subgraphs=True)]
        report = (await run.aget_state(config())).values["result"]["guardian"]
        returned = (await graph.ainvoke({"messages": [HumanMessage(QUESTION, id="q2")]}, config()))["guardian"]
    assert "quartzwise" not in words_of(parts).lower()
    assert "claim_unlike_its_source" in words_of(parts[-1])
    assert report["verdict"] != "PASS"
    assert around or "quartzwise" in words_of(report["advice"]).lower()
    assert "quartzwise" in words_of(returned["advice"]).lower()


async def test_the_graph_streams_however_it_is_called(server: FakeServer, tmp_path: Path) -> None:
    """Input and settings may come by place or by name, as LangGraph takes them."""
    async with graph_on(server, tmp_path, moderated=SAFE) as graph:
        for stream in (
            graph.astream(start(), config()),
            graph.astream(start(), config=config()),
            graph.astream(input=start(), config=config()),
            graph.astream(input=start()),
        ):
            assert [part async for part in stream]


async def test_no_other_way_of_listening_tells_a_draft(
    server: FakeServer, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """One channel alone, the console, the third version of events; the log of a run is refused."""
    drafts(server, WRONG, WRONG, WRONG, WRONG, WRONG, WRONG)
    async with graph_on(server, tmp_path, moderated=SAFE) as graph:
        for mode in ("values", "updates"):
            options: Any = {"stream_mode": mode, "output_keys": "draft_answer", "print_mode": "values"}
            parts = [part async for part in graph.astream(start(), config(), **options)]
            assert "zebrafish" not in words_of(parts).lower()
        with pytest.warns(LangChainBetaWarning):
            events = await graph.astream_events(start(), config(), version="v3")
        assert "zebrafish" not in words_of([event async for event in events]).lower()
        with pytest.raises(ConfigError, match="before they are judged"):
            graph.astream_log(start(), config())
    assert "zebrafish" not in capfd.readouterr().out.lower()
