"""Nodes and what they are given: nothing is changed in place, and nothing is written that the state has not."""

from __future__ import annotations

import copy
import json
from typing import Any, NoReturn, get_type_hints

import pytest
from langchain_core.messages import AIMessage, HumanMessage

from contracts.context import Context
from contracts.enums import DraftKind, SafetyLevel, SGRAction, Verdict
from contracts.errors import NotJudged
from contracts.ports import Draft
from contracts.state import ChatState, fresh_turn
from tests.support.turn import NODES, UP_TO_THE_VERDICT, State, begin_turn, call, make_result, plan, play, ports

CHANNELS = set(get_type_hints(ChatState))
END = {"final_answer", "messages", "result", "clarify_count"}
MAY_WRITE: dict[str, set[str]] = {
    "moderation": set(fresh_turn()),
    "sgr_plan": {
        "sgr_plan",
        "tool_trace",
        "action",
        "flow",
        "request_type",
        "track",
        "architect_spec",
        "request_policy",
        "decisions",
        "degraded",
        "model_calls",
    },
    "inject_synthetic": {"synthetic", "decisions"},
    "retrieve": {
        "evidence",
        "query_traces",
        "past_searches",
        "degraded",
        "widened",
        "nothing_new",
        "searches_wanted",
        "model_calls",
    },
    "draft": {"drafted_from", "draft_answer", "draft_kind", "quoted", "decisions", "degraded", "model_calls"},
    "guardian_verify": {"guardian", "quoting", "decisions", "degraded", "model_calls"},
    "retry_bump": {"retry_count"},
    "finalize": END,
    "safe_exit": {*END, "decisions"},
}


def _refuse(*_: object, **__: object) -> NoReturn:
    raise AssertionError("a node changed what it was given")


class FrozenDict(dict[str, Any]):
    """A dictionary that cannot be changed."""

    __setitem__ = __delitem__ = __ior__ = clear = pop = popitem = setdefault = update = _refuse


class FrozenList(list[Any]):
    """A list that cannot be changed."""

    __setitem__ = __delitem__ = __iadd__ = __imul__ = append = clear = extend = insert = pop = remove = _refuse
    reverse = sort = _refuse


def frozen(value: Any) -> Any:
    """Return a value of plain data that raises wherever something tries to change it, however deep."""
    if isinstance(value, dict):
        return FrozenDict({key: frozen(inner) for key, inner in value.items()})
    if isinstance(value, list):
        return FrozenList([frozen(inner) for inner in value])
    return value


WRITES_AT_TIMES: dict[str, set[str]] = {
    "guardian_verify": {"kept", "draft_answer", "draft_kind", "quoted", "evidence"},
}
"""Where a draft lacks evidence alone, or an earlier one stands in the place of the last."""


HISTORY = [
    HumanMessage("Привет", id="h"),
    AIMessage("Здравствуйте!", id="h-answer", additional_kwargs={"turn_id": "h", "outcome": "answered"}),
]
REFUSED = Draft(DraftKind.ANSWER, "The kettle boils at 999 degrees [1].")


async def turn(**changes: Any) -> tuple[State, dict[str, Any]]:
    """Return the state of a turn that has its verdict, with a history, and the ports that made it."""
    bound = ports(**changes)
    return await play(begin_turn(history=HISTORY), bound, *UP_TO_THE_VERDICT), bound


async def test_every_turn_has_nine_nodes() -> None:
    """The table of what a node may write names every node, and only keys of the state."""
    assert set(MAY_WRITE) == set(NODES)
    assert len(NODES) == 9
    assert all(keys <= CHANNELS for keys in MAY_WRITE.values())


@pytest.mark.parametrize("name", NODES)
@pytest.mark.parametrize("written", [None, REFUSED], ids=["passes", "is-retried"])
@pytest.mark.parametrize("retries", [0, 1])
async def test_a_node_writes_its_keys_and_changes_nothing_in_place(
    name: str, written: Draft | None, retries: int
) -> None:
    """Given a deep-frozen turn in which everything is filled, a node writes exactly its keys, as plain data; `finalize` only what passed."""
    state, bound = await turn(**({"written": written} if written else {}))
    state = {**state, "retry_count": retries}
    before = copy.deepcopy(state)
    if name == "finalize" and written is not None:
        with pytest.raises(NotJudged):
            await call(name, frozen(state), bound[name])
        assert state == before
        return
    update = await call(name, frozen(state), bound[name])
    # A retry that concerns the form alone does not search again.
    nothing = name == "retrieve" and retries == 1
    assert set(update) == (set[str]() if nothing else MAY_WRITE[name])
    assert state == before
    plain = {key: value for key, value in update.items() if key != "messages"}
    assert json.loads(json.dumps(plain)) == plain


@pytest.mark.parametrize(
    "changes",
    [
        {"planned": plan(action=SGRAction.BLOCK, spam_score=0.99)},
        {"planned": plan(action=SGRAction.CLARIFY, intent_confidence=0.1, uncertainties=["which kettle"])},
        {"planned": plan(wants_human=True)},
        {"moderated": make_result(SafetyLevel.CONTROVERSIAL), "planned": plan(action=SGRAction.GUARDIAN_BLOCK)},
        {"found": []},
        {"written": Draft(DraftKind.ABSTENTION, "The knowledge base does not say.")},
        {"written": Draft(DraftKind.CLARIFICATION, "Which kettle is it?")},
        {"written": Draft(DraftKind.ANSWER, "password: hunter2hunter2 [1]")},
    ],
    ids=["spam", "unclear", "person", "unsafe", "nothing-found", "abstains", "asks", "secret"],
)
@pytest.mark.parametrize("name", NODES)
async def test_no_kind_of_turn_makes_a_node_impure(name: str, changes: dict[str, Any]) -> None:
    """Whatever a turn has come to, a node may be called on it: nothing in place, and only its own keys; `finalize` only what passed."""
    state, bound = await turn(**changes)
    before = copy.deepcopy(state)
    if name == "finalize" and state["guardian"]["verdict"] != Verdict.PASS:
        with pytest.raises(NotJudged):
            await call(name, frozen(state), bound[name])
    else:
        assert set(await call(name, frozen(state), bound[name])) <= MAY_WRITE[name] | WRITES_AT_TIMES.get(name, set())
    assert state == before


@pytest.mark.parametrize("name", NODES)
async def test_a_node_gives_the_same_update_twice(name: str) -> None:
    """A node that is run again after a crash writes what it wrote before."""
    state, bound = await turn()
    assert await call(name, state, bound[name]) == await call(name, state, bound[name])


@pytest.mark.parametrize("name", NODES)
async def test_an_update_shares_nothing_with_the_fresh_turn(name: str) -> None:
    """What one call returns can be changed without changing what another call returns."""
    state, bound = await turn()
    update = await call(name, state, bound[name], Context())
    kept = copy.deepcopy(update)
    for value in (await call(name, state, bound[name], Context())).values():
        if isinstance(value, list):
            value.append("dirt")
        elif isinstance(value, dict):
            value["dirt"] = True
    assert await call(name, state, bound[name], Context()) == kept
