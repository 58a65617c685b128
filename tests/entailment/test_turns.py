"""Whole turns with a checker over a real socket: what its word changes, and what it never does."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import HumanMessage

from adapters.fakes.drafting import FakeDrafter
from adapters.fakes.moderation import FakeModerator
from adapters.fakes.planning import FakePlanner
from adapters.fakes.sources import FakeSource
from assistant.config.settings import Settings
from contracts.context import STEPS_PER_TURN, Context
from contracts.enums import DraftKind, EntailmentMode, Language, Outcome, Source
from contracts.errors import ConfigError
from contracts.ports import Draft
from graph.build import Ports, build_graph
from tests.support.checkers import ENGLISH, KEY, checker_of, in_tei
from tests.support.cli_helpers import PROFILE as SHELF
from tests.support.cli_helpers import QUESTION, Desk
from tests.support.turn import ANSWER, PROFILE, SAFE, passage, plan
from tests.support.wire.server_process import FakeServer

ENTAIL = {"purpose": "entailment"}
AGREES = in_tei({"entailment": 0.9, "neutral": 0.1})
OBJECTS = in_tei({"contradiction": 0.9, "neutral": 0.1})
DOUBTS = in_tei({"neutral": 0.9, "entailment": 0.1})
DOWN = {"status": 503}
ADVISORY, BINDING, OFF = EntailmentMode.ADVISORY, EntailmentMode.BINDING, EntailmentMode.OFF


async def turn(
    server: FakeServer,
    *replies: dict[str, Any],
    mode: EntailmentMode,
    languages: frozenset[Language] = frozenset(Language),
    drafts: Sequence[str] = (ANSWER,),
) -> dict[str, Any]:
    """Run a turn; each reply of the server is for one request, the last for all after it, as is the last draft."""
    steps: list[dict[str, Any]] = [{"when": ENTAIL, "times": 1, "reply": reply} for reply in replies]
    server.script([*steps[:-1], {**steps[-1], "times": None}])
    server.clear()
    async with checker_of("tei", server, languages=languages) as checker:
        graph = build_graph(
            Ports(
                moderator=FakeModerator(SAFE),
                planner=FakePlanner([plan()]),
                sources={Source.DOC: FakeSource(Source.DOC, [passage(1), passage(2)])},
                drafter=FakeDrafter([Draft(DraftKind.ANSWER, draft) for draft in drafts]),
                entailment=checker,
            ),
            PROFILE,
        )
        state = await graph.ainvoke(
            {"messages": [HumanMessage("When does the kettle boil?", id="q")]},
            {"recursion_limit": STEPS_PER_TURN},
            context=Context(entailment=mode),
        )
    return state["result"]


@pytest.mark.parametrize("reply", [AGREES, DOUBTS, OBJECTS])
async def test_as_advice_no_word_of_the_checker_changes_a_verdict(server: FakeServer, reply: dict[str, Any]) -> None:
    """Advisory: the answer passes whatever the checker says, the report has its word, and its request is counted."""
    result = await turn(server, reply, mode=ADVISORY)
    assert result["outcome"] == Outcome.ANSWERED
    assert result["guardian"]["verdict"] == "PASS"
    said = [line for line in result["guardian"]["advice"] if line.startswith(("claim_not_ent", "claim_contra"))]
    expected = {
        id(AGREES): [],
        id(DOUBTS): [f"claim_not_entailed=[{ANSWER}]"],
        id(OBJECTS): [f"claim_contradicted=[{ANSWER}]"],
    }
    assert said == expected[id(reply)]
    assert [call["purpose"] for call in result["diagnostics"]["calls"]] == ["entail"]
    assert result["diagnostics"]["model_calls"] == 1
    assert KEY not in str(result)


@pytest.mark.parametrize("reply", [DOUBTS, OBJECTS])
async def test_binding_what_does_not_follow_is_tried_again_and_fails(server: FakeServer, reply: dict[str, Any]) -> None:
    """Binding: its claims are asked about once in the turn, and when no retry is left pages are shown."""
    result = await turn(server, reply, mode=BINDING)
    assert result["outcome"] == Outcome.PAGES_SHOWN
    assert result["guardian"]["verdict"] == "FAIL"
    assert f"claim_not_entailed=[{ANSWER}]" in result["guardian"]["reasons"]
    assert result["diagnostics"]["retries"] == 2
    assert len(server.requests()) == 1
    # What a page says may be shown as its words, between quotation marks; the draft is not.
    assert ANSWER not in result["answer_text"]
    assert ANSWER.partition(" [")[0] not in re.sub("“.*?”", "", result["answer_text"])


async def test_binding_a_retry_that_follows_passes(server: FakeServer) -> None:
    """Binding: the first draft is sent back, the second is the answer."""
    result = await turn(server, OBJECTS, AGREES, mode=BINDING, drafts=("The kettle boils soon [1].", ANSWER))
    assert result["outcome"] == Outcome.ANSWERED
    assert result["diagnostics"]["retries"] == 1
    assert result["guardian"]["reasons"] == []


async def test_as_advice_a_checker_that_is_down_costs_nothing_but_a_note(server: FakeServer) -> None:
    """Advisory: the answer passes, and the result says what could not be asked, and of whom."""
    result = await turn(server, DOWN, mode=ADVISORY)
    assert result["outcome"] == Outcome.ANSWERED
    assert "could_not_ask=[entailment]" in result["guardian"]["advice"]
    (note,) = result["diagnostics"]["degraded"]
    assert note.startswith("entailment: The entailment server at ")
    assert [call["fault"] for call in result["diagnostics"]["calls"]] == ["server_error"]


async def test_binding_a_checker_that_is_down_leads_to_a_person(server: FakeServer) -> None:
    """Binding: what could not be checked is handed over at once, and not tried again."""
    result = await turn(server, DOWN, mode=BINDING)
    assert result["outcome"] == Outcome.HANDED_OFF
    assert result["guardian"]["reasons"] == ["could_not_check=[entailment]"]
    assert result["guardian"]["required_actions"] == ["ESCALATE_TO_HUMAN"]
    assert result["guardian"]["risk_level"] == "high"
    assert result["diagnostics"]["retries"] == 0
    assert ANSWER.partition(" [")[0] not in result["answer_text"]


@pytest.mark.parametrize(("mode", "outcome"), [(ADVISORY, Outcome.ANSWERED), (BINDING, Outcome.HANDED_OFF)])
async def test_a_claim_in_another_language_is_not_asked(
    mode: EntailmentMode, outcome: Outcome, server: FakeServer
) -> None:
    """Of what the model does not read nothing is asked: a remark, and where its word is binding, a case for a person."""
    draft = "Чайник кипит при 100 градусах [1]."
    result = await turn(server, OBJECTS, mode=mode, languages=ENGLISH, drafts=(draft,))
    assert result["outcome"] == outcome
    assert f"claim_not_asked=[{draft}]" in result["guardian"]["advice"]
    assert server.requests() == []


async def test_binding_a_table_alone_is_named(server: FakeServer) -> None:
    """Where nothing of a draft can be asked, the report says so all the same."""
    draft = "| what | degrees |\n| - | - |\n| kettle | 100 [1] |"
    result = await turn(server, OBJECTS, mode=BINDING, drafts=(draft,))
    assert "claim_not_asked=[| kettle | 100 [1] |]" in result["guardian"]["advice"]


async def test_what_policy_stops_is_not_sent_to_the_checker(server: FakeServer) -> None:
    """A draft that must not leave the house goes to no other server either, however well its claims are founded."""
    result = await turn(server, AGREES, mode=BINDING, drafts=(f"{ANSWER} Write to bob@corp-mail.ru [1].",))
    assert result["guardian"]["reasons"] == ["policy_violation=[email]"]
    assert server.requests() == []


async def test_off_asks_nobody(server: FakeServer) -> None:
    """Where the run says off, a checker that is connected is left alone."""
    result = await turn(server, OBJECTS, mode=OFF)
    assert result["outcome"] == Outcome.ANSWERED
    assert server.requests() == []


# ----------------------------------------------------------------------------------------------------- by the settings


@pytest.mark.parametrize("shape", ["tei", "chat"])
def test_the_settings_connect_a_checker(shape: str, server: FakeServer, tmp_path: Path) -> None:
    """Where the variables name a server, `guardian ask` asks it, and closes all that it opened."""
    desk = Desk(tmp_path / "data", tmp_path)
    desk.index()
    wired = desk.having(
        GUARDIAN_ENTAIL_URL=server.root if shape == "tei" else server.url,
        GUARDIAN_ENTAIL_SHAPE=shape,
        GUARDIAN_ENTAIL_MODEL="fake-judge",
        GUARDIAN_ENTAIL_LANGUAGES="en,ru",
        GUARDIAN_ENTAIL_KEY=KEY,
    )
    result = wired.run("ask", QUESTION, "--json").json
    calls = result["diagnostics"]["calls"]
    assert {(call["purpose"], call["model"], call["fault"]) for call in calls} == {("entail", "fake-judge", "")}
    assert result["diagnostics"]["degraded"] == []
    assert {request["purpose"] for request in server.requests()} == {"entailment"}
    assert KEY not in str(result)
    plain = desk.run("ask", QUESTION, "--json").json
    assert plain["diagnostics"]["calls"] == []
    assert plain["answer_text"] == result["answer_text"]


NLI = {"GUARDIAN_ENTAIL_URL": "http://127.0.0.1:1", "GUARDIAN_ENTAIL_LANGUAGES": "en"}


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"GUARDIAN_ENTAIL_LANGUAGES": ""}, "GUARDIAN_ENTAIL_LANGUAGES"),
        ({"GUARDIAN_ENTAIL_LANGUAGES": "de"}, "'de'"),
        ({"GUARDIAN_ENTAIL_SHAPE": "chat"}, "GUARDIAN_ENTAIL_MODEL"),
        ({"GUARDIAN_ENTAIL_SHAPE": "nli"}, "tei, chat"),
        ({"GUARDIAN_ENTAIL_URL": "localhost"}, "http://"),
        ({"GUARDIAN_ENTAIL_URL": "http://me:pass@localhost"}, "GUARDIAN_ENTAIL_KEY"),
        ({"GUARDIAN_ENTAIL_TIMEOUT": "111"}, "GUARDIAN_ENTAIL_TIMEOUT"),
        ({"GUARDIAN_ENTAIL_LABELS": "yes,no"}, "GUARDIAN_ENTAIL_LABELS"),
        ({"GUARDIAN_ENTAIL_LABELS": "neutral,contradiction"}, "GUARDIAN_ENTAIL_LABELS"),
        ({"GUARDIAN_ENTAIL_LABELS": "entailment,entailment"}, "GUARDIAN_ENTAIL_LABELS"),
    ],
)
def test_a_checker_that_is_set_wrongly_is_refused(changes: dict[str, str], word: str) -> None:
    """The error names the setting, or what is wrong in it, and a password is not repeated."""
    assert Settings.read(NLI)
    with pytest.raises(ConfigError) as caught:
        Settings.read({**NLI, **changes})
    assert word in str(caught.value)
    assert "pass@" not in str(caught.value)


async def test_without_an_address_there_is_no_checker(tmp_path: Path) -> None:
    """The check is off by default."""
    from assistant.deployment import deployment
    from assistant.wiring.servers import Servers

    async with Servers(deployment(str(SHELF), {"GUARDIAN_DATA_DIR": str(tmp_path)})) as servers:
        assert servers.entailment() is None
