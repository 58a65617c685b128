from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from adapters.fakes.planning import FakePlanner
from adapters.models.memory import WireMemory
from adapters.planning.model import Strategy, ToolForm, fallback_chain
from adapters.planning.prompt import system_prompt
from assistant.deployment import deployment
from assistant.wiring.servers import Servers
from contracts.decisions.planning import ToolBinding
from contracts.enums import HarmCategory, Language, ModerationState, SafetyLevel, Source
from contracts.errors import PlanningFailed
from contracts.plan import PLAN_TOOL, SGRPlanResult
from contracts.ports import Exchange, PlanReply, PlanRequest
from contracts.report import ModerationResult
from tests.support.database.tables import lookup
from tests.support.turn import PROFILE, plan
from tests.support.wire.models import ASKED, MODEL, OFFLINE, asked_of, bench, roles
from tests.support.wire.server_process import FakeServer

NOT_THAT = {"status": 400, "json": {"error": {"message": "tool_choice is not supported"}}}
PROSE = {"text": "I would be glad to help you with your kettle!"}
LADDER = ["named strict", "named", "required", "auto", "json_schema strict", "small strict"]
GOOD: dict[str, Any] = plan(user_intent="MODEL").model_dump(mode="json")


def when(*choices: str, reply: dict[str, Any], **more: Any) -> list[dict[str, Any]]:
    """Return a script that replies alike to each of some values of `tool_choice`."""
    return [{"when": {"purpose": "plan", "tool_choice": choice}, "reply": reply, **more} for choice in choices]


async def planned(
    server: FakeServer, script: Sequence[dict[str, Any]] = (), memory: WireMemory | None = None, **changes: Any
) -> PlanReply:
    """Plan once with a strict server that plays a script."""
    server.options(strict=True)
    server.script(script)
    async with bench(server) as made:
        return await made.planner(memory, **changes).plan(ASKED)


def forms(reply: PlanReply) -> list[str]:
    return [call.form for call in reply.calls]


# ---------------------------------------------------------------------------------------------------------- the request


async def test_a_request_is_the_prompt_the_history_and_the_message(server: FakeServer) -> None:
    """System first, what was said by turns, and the newest message last and alone."""
    request = replace(ASKED, history=(Exchange("user", "EARLIER-Q"), Exchange("assistant", "EARLIER-A")))
    server.options(strict=True)
    async with bench(server) as made:
        reply = await made.planner().plan(request)
    (body,) = asked_of(server)
    assert roles(body) == ["system", "user", "assistant", "user"]
    assert [message["content"] for message in body["messages"][1:]] == ["EARLIER-Q", "EARLIER-A", ASKED.message]
    assert not reply.degraded
    assert len(reply.calls) == 1
    assert (reply.trace["form"], reply.trace["model"]) == ("named strict", MODEL)


async def test_the_tool_is_forced_and_has_the_schemas_own_words(server: FakeServer) -> None:
    """The one tool, named, strict inside its own object, every field described as in the plan, no second call."""
    await planned(server)
    (body,) = asked_of(server)
    (tool,) = body["tools"]
    assert body["tool_choice"] == {"type": "function", "function": {"name": PLAN_TOOL}}
    assert body["parallel_tool_calls"] is False
    assert (tool["type"], tool["function"]["name"], tool["function"]["strict"]) == ("function", PLAN_TOOL, True)
    described = {name: field["description"] for name, field in tool["function"]["parameters"]["properties"].items()}
    assert described == {name: field.description for name, field in SGRPlanResult.model_fields.items()}
    assert set(body) == {
        "model", "messages", "tools", "tool_choice", "parallel_tool_calls", "temperature", "stream", "max_completion_tokens",
    }  # fmt: skip
    assert body["max_completion_tokens"] == 2000


async def test_where_dt_003_does_not_offer_the_tool_no_model_is_asked_for_a_plan(server: FakeServer) -> None:
    """The planner obeys the table's word: the plan of rules comes instead, and the turn says so."""
    server.options(strict=True)
    async with bench(server) as made:
        reply = await made.planner().plan(replace(ASKED, tool=ToolBinding.UNAVAILABLE))
    assert asked_of(server) == []
    assert reply.degraded == ("plan: DT-003 does not offer the tool",)


@pytest.mark.parametrize(("parallel", "sent"), [(True, True), (False, False), (None, None)])
async def test_parallel_calls_are_sent_as_they_are_set(
    server: FakeServer, parallel: bool | None, sent: bool | None
) -> None:
    """Left out where the setting says so, for servers that do not know the word."""
    await planned(server, parallel_tool_calls=parallel)
    body = asked_of(server)[0]
    assert body.get("parallel_tool_calls") is sent
    assert ("parallel_tool_calls" in body) is (sent is not None)


def moderated(level: SafetyLevel, *categories: HarmCategory) -> ModerationResult:
    unknown = level is SafetyLevel.NOT_AVAILABLE
    state = ModerationState.UNAVAILABLE if unknown else ModerationState(level.value)
    return ModerationResult(safety_level=level, state=state, categories=list(categories))


async def test_only_moderation_and_questions_asked_back_change_the_system_prompt(server: FakeServer) -> None:
    """Two turns of one level have the same prompt to the byte; others differ in the blocks at its end alone."""
    jailbreak = moderated(SafetyLevel.CONTROVERSIAL, HarmCategory.JAILBREAK)
    requests = [
        ASKED,
        PlanRequest("Что это?", Language.RU, (Exchange("user", "x"), Exchange("assistant", "y")), turn_id="other"),
        *(replace(ASKED, moderation=moderated(level)) for level in SafetyLevel),
        replace(ASKED, moderation=jailbreak),
        replace(ASKED, message="Another?", moderation=jailbreak),
    ]
    async with bench(server) as made:
        planner = made.planner()
        for request in requests:
            await planner.plan(request)
        await planner.plan(replace(ASKED, clarifications=2))
    *prompts, answering = [body["messages"][0]["content"] for body in asked_of(server)]
    assert len(prompts) == len(requests)
    assert answering.startswith(prompts[0])
    assert "asked back in a row just before the newest message: 2." in answering.removeprefix(prompts[0])
    assert prompts[0] == prompts[1]
    assert prompts[-1] == prompts[-2]
    heads = {prompt.partition("Moderation of the newest message")[0] for prompt in prompts}
    assert len(heads) == 1
    blocks = [prompt.partition("Moderation of the newest message")[2] for prompt in prompts]
    assert len(set(blocks[2:-1])) == len(SafetyLevel) + 1
    for level, block in zip(SafetyLevel, blocks[2:], strict=False):
        assert f"Level: {level}\n" in block
    assert "Categories: Jailbreak\n" in blocks[-1]


@pytest.mark.parametrize(
    ("sources", "shown"), [(None, True), (frozenset({Source.DOC, Source.DB}), True), (frozenset({Source.DOC}), False)]
)
def test_a_role_that_may_not_look_up_is_planned_for_without_the_lookups(
    sources: frozenset[Source] | None, shown: bool
) -> None:
    """Their list is a good part of the prompt; a plan that named one for such a user would be of no use."""
    with_lookups = PROFILE.model_copy(update={"lookups": (lookup("SELECT 1 AS a"),)})
    prompt = system_prompt(with_lookups, None, sources=sources)
    assert ("- asked: Loans." in prompt) is shown
    assert ("Lookups: what the desk's own databases" in prompt) is shown


async def test_where_the_form_is_not_shown_by_the_server_it_is_written_out(server: FakeServer) -> None:
    """With a response format there is no tool, and the schema stands in the prompt."""
    reply = await planned(server, rungs=fallback_chain(ToolForm.JSON_SCHEMA, strict=True))
    (body,) = asked_of(server)
    assert "tools" not in body
    assert body["response_format"]["type"] == "json_schema"
    assert body["response_format"]["json_schema"]["strict"] is True
    schema = body["response_format"]["json_schema"]["schema"]
    assert json.dumps(schema, ensure_ascii=False) in body["messages"][0]["content"]
    assert not reply.degraded


# ----------------------------------------------------------------------------------------------------------- the rungs

DOWN: dict[str, tuple[list[dict[str, Any]], list[str]]] = {
    "takes everything": ([], LADDER[:1]),
    "does not know strict": (
        [
            {"when": {"contains": '"strict": true'}, "reply": NOT_THAT},
            {"when": {"contains": '"strict":true'}, "reply": NOT_THAT},
        ],
        LADDER[:2],
    ),
    "refuses named": (when("named", reply=NOT_THAT), LADDER[:3]),
    "ignores named": (when("named", reply=PROSE), LADDER[:3]),
    "says nothing to named": (when("named", reply={"text": ""}), LADDER[:3]),
    "refuses named and required": (when("named", "required", reply=NOT_THAT), LADDER[:4]),
    "ignores one and refuses the other": (when("named", reply=PROSE) + when("required", reply=NOT_THAT), LADDER[:4]),
    "writes the call as text": (
        when("named", "required", reply=NOT_THAT)
        + when("auto", reply={"text": f"<tool_call>{json.dumps({'name': PLAN_TOOL, 'arguments': GOOD})}</tool_call>"}),
        LADDER[:4],
    ),
    "knows no tools": (when("named", "required", "auto", reply=NOT_THAT), LADDER[:5]),
    "has nobody who serves tools": (
        when(
            "named",
            "required",
            "auto",
            reply={"status": 404, "json": {"error": {"message": "No endpoints support tool use"}}},
        ),
        LADDER[:5],
    ),
}


@pytest.mark.parametrize("name", DOWN)
async def test_the_ladder_ends_on_the_first_rung_that_works(server: FakeServer, name: str, tmp_path: Path) -> None:
    """One request for each rung; the one that works is remembered, and comes first the next time, in the next process."""
    script, way = DOWN[name]
    file = tmp_path / "models.json"
    reply = await planned(server, script, WireMemory(file))
    assert forms(reply) == way
    assert not reply.degraded
    assert reply.trace["form"] == way[-1]
    server.clear()
    again = await planned(server, script, WireMemory(file))
    assert forms(again) == way[-1:]
    assert len(asked_of(server)) == 1


async def test_a_rung_is_remembered_by_model_and_server(server: FakeServer) -> None:
    """Another model behind the same server begins at the top."""
    memory = WireMemory()
    script = when("named", reply=NOT_THAT)
    await planned(server, script, memory)
    assert forms(await planned(server, script, memory, model="other-model")) == LADDER[:3]
    assert forms(await planned(server, script, memory)) == LADDER[2:3]


async def test_what_stops_working_is_found_anew(server: FakeServer) -> None:
    """The rung that worked is tried first, then the ladder from its top; what works then is remembered instead."""
    memory = WireMemory()
    assert forms(await planned(server, when("named", reply=NOT_THAT), memory))[-1] == "required"
    changed = when("required", reply=NOT_THAT)
    assert forms(await planned(server, changed, memory)) == ["required", "named strict"]
    assert forms(await planned(server, changed, memory)) == ["named strict"]


async def test_no_rung_is_tried_twice(server: FakeServer) -> None:
    """Where nothing works, each was asked once, and the offline plan says so."""
    memory = WireMemory()
    await planned(server, when("named", reply=NOT_THAT), memory)
    reply = await planned(server, when("named", "required", "auto", "none", reply=PROSE), memory)
    assert forms(reply) == ["required", "named strict", "named", "auto", "json_schema strict", "small strict"]
    assert reply.plan == OFFLINE
    assert reply.degraded[0].startswith(f"plan: The model '{MODEL}'")


@pytest.mark.parametrize("status", [401, 403, 404, 429, 500, 503])
async def test_what_no_form_would_mend_ends_the_ladder(server: FakeServer, status: int) -> None:
    """A wrong key, a missing model or a busy server would answer every form alike: one request, then offline."""
    reply = await planned(server, [{"reply": {"status": status}}])
    assert forms(reply) == LADDER[:1]
    assert reply.plan == OFFLINE
    assert len(reply.degraded) == 1


# ------------------------------------------------------------------------------------------------------------ settings

SETTINGS = {
    ("probe", "probe"): LADDER,
    ("probe", "true"): [f"{form} strict" for form in ToolForm],
    ("probe", "false"): [str(form) for form in ToolForm],
    ("required", "probe"): ["required strict", "required"],
    ("required", "true"): ["required strict"],
    ("json_schema", "false"): ["json_schema"],
    ("auto", "false"): ["auto"],
    ("small", "true"): ["small strict"],
}


@pytest.mark.parametrize(("form", "strict"), SETTINGS)
async def test_settings_restrict_the_ladder(server: FakeServer, form: str, strict: str, tmp_path: Path) -> None:
    """GUARDIAN_TOOL_FORM and GUARDIAN_TOOL_STRICT name the only rungs that are asked by."""
    environment = {
        "GUARDIAN_DATA_DIR": str(tmp_path),
        "GUARDIAN_EMBEDDER": "off",
        "GUARDIAN_RERANKER": "off",
        "GUARDIAN_MODEL": MODEL,
        "OPENAI_BASE_URL": server.url,
        "GUARDIAN_MODEL_RETRIES": "0",
        "GUARDIAN_MODEL_WINDOW": "100000",
        "GUARDIAN_TOOL_FORM": form,
        "GUARDIAN_TOOL_STRICT": strict,
    }
    server.script([{"when": {"purpose": "plan"}, "reply": NOT_THAT}])
    async with Servers(deployment(None, environment)) as servers:
        planner = servers.planner(FakePlanner([OFFLINE]))
        assert planner is not None
        reply = await planner.plan(ASKED)
    assert forms(reply) == SETTINGS[form, strict]
    assert reply.plan == OFFLINE


async def test_a_rung_that_the_settings_do_not_allow_is_not_taken_from_memory(server: FakeServer) -> None:
    """What once worked is no way around a setting."""
    memory = WireMemory()
    await planned(server, when("named", reply=NOT_THAT), memory)
    assert forms(await planned(server, [], memory, rungs=fallback_chain(ToolForm.AUTO, strict=False))) == ["auto"]


async def test_a_probe_tries_every_rung_and_remembers_the_first_that_works(server: FakeServer) -> None:
    """Each rung is told with what it came to; the next plan begins with the best."""
    memory = WireMemory()
    server.script(when("named", reply=PROSE) + when("auto", reply={"text": json.dumps({**GOOD, "spam_score": 1.7})}))
    async with bench(server) as made:
        planner = made.planner(memory)
        tried = await planner.probe(ASKED)
        server.clear()
        assert forms(await planner.plan(ASKED)) == ["required"]
    assert [str(each.strategy) for each in tried] == LADDER
    assert [each.works for each in tried] == [False, False, True, False, True, True]
    assert [each.result.partition(",")[0].partition(":")[0] for each in tried] == [
        "ignored", "ignored", "works", "filled in wrongly", "works", "works",
    ]  # fmt: skip


# -------------------------------------------------------------------------------------------------------------- repair


@pytest.mark.parametrize(
    ("reply", "quoted"),
    [
        ({"plan": {"spam_score": 1.7}}, ["spam_score: ", "1.7"]),
        ({"plan": {"spam_score": "0.9", "action": "reply"}}, ["spam_score: ", "action: "]),
        ({"call": {"name": PLAN_TOOL, "arguments": "{broken"}}, ["not valid JSON", "{broken"]),
        ({"call": {"name": PLAN_TOOL, "arguments": '{"spam_reason": "\\ud800"}'}}, ["spam_score: "]),
        ({"call": {"name": "search_kb", "arguments": {"query": "x"}}}, [PLAN_TOOL, "'search_kb'"]),
        ({"calls": [{"arguments": {"a": 1}}, {"arguments": {"a": 2}}]}, ["called 2 times"]),
        (
            {"call": {"name": PLAN_TOOL, "arguments": '{"spam_score": 0.1, "'}, "finish_reason": "length"},
            ["longer than there is room"],
        ),
    ],
)
async def test_a_form_that_was_filled_in_wrongly_is_asked_for_once_more(
    server: FakeServer, reply: dict[str, Any], quoted: list[str]
) -> None:
    """By the same rung, with the faults and what was filled in, after the message; and the model mends it."""
    result = await planned(server, [{"times": 1, "reply": reply}])
    first, second = asked_of(server)
    assert not result.degraded
    assert forms(result) == ["named strict"] * 2
    assert second["tool_choice"] == first["tool_choice"]
    assert second["messages"][0] == first["messages"][0]
    assert second["messages"][-1]["content"].startswith(first["messages"][-1]["content"])
    asked = second["messages"][-1]["content"]
    assert [part in asked for part in quoted] == [True] * len(quoted)


async def test_a_model_that_fills_the_whole_form_in_wrongly_twice_gets_the_small_one(server: FakeServer) -> None:
    """No other way of asking for the whole form is tried; what the small one does not ask for is the offline plan's."""
    memory = WireMemory()
    script = when("named", "required", "auto", reply={"plan": {"spam_score": 1.7}})
    reply = await planned(server, script, memory)
    assert forms(reply) == [LADDER[0], LADDER[0], LADDER[-1]]
    assert (reply.trace["form"], reply.degraded) == (LADDER[-1], ())
    assert reply.plan.user_intent.endswith(ASKED.message)
    assert reply.plan == OFFLINE.model_copy(
        update={"user_intent": reply.plan.user_intent, "subqueries": reply.plan.subqueries}
    )
    server.clear()
    assert forms(await planned(server, script, memory)) == LADDER[-1:]


class Unsure:
    """A planner without its index."""

    async def plan(self, request: PlanRequest) -> PlanReply:
        return PlanReply(OFFLINE, {}, ("plan: the index was not asked",))


async def test_what_the_offline_plan_could_not_check_is_told_with_a_small_form(server: FakeServer) -> None:
    """The small form is completed by it, and so are its notes."""
    server.options(strict=True)
    async with bench(server) as made:
        planner = made.planner(otherwise=Unsure(), rungs=fallback_chain(ToolForm.SMALL, strict=True))
        reply = await planner.plan(ASKED)
    assert (reply.trace["form"], reply.degraded) == (LADDER[-1], ("plan: the index was not asked",))


async def test_a_window_too_small_for_the_whole_form_may_do_for_the_small_one(server: FakeServer) -> None:
    """The small form takes a third of the tokens; of the whole one, nothing is sent."""
    reply = await planned(server, window=1000)
    assert forms(reply) == LADDER[-1:]
    assert not reply.degraded


async def test_a_small_form_filled_in_wrongly_too_is_given_up(server: FakeServer) -> None:
    """There is one repair in a plan: the offline plan comes, with the last faults in its note."""
    reply = await planned(server, [{"reply": {"text": json.dumps({**GOOD, "spam_score": 1.7, "request": 0.9})}}])
    assert forms(reply) == [LADDER[0], LADDER[0], LADDER[-1]]
    assert reply.plan == OFFLINE
    assert "request: " in reply.degraded[0]


async def test_a_form_wrong_on_a_lower_rung_is_repaired_there(server: FakeServer) -> None:
    """The repair is asked for in the form that the server takes, and that form is remembered."""
    memory = WireMemory()
    script = [*when("named", reply=NOT_THAT), *when("required", reply={"plan": {"spam_score": True}}, times=1)]
    reply = await planned(server, script, memory)
    assert forms(reply) == [*LADDER[:3], "required"]
    assert forms(await planned(server, script[:1], memory)) == ["required"]


async def test_two_calls_that_say_the_same_are_one(server: FakeServer) -> None:
    """A model that repeats itself has filled in one form."""
    reply = await planned(server, [{"reply": {"calls": [{"arguments": GOOD}, {"arguments": GOOD}]}}])
    assert (reply.plan.user_intent, len(reply.calls)) == ("MODEL", 1)


async def test_what_was_put_right_without_asking_is_told(server: FakeServer) -> None:
    """The trace says which fields, beside the arguments as they came, and all of it can be stored."""
    reply = await planned(server, [{"reply": {"plan": {"user_intent": "x" * 10_000, "topic": "\ud800"}}}])
    assert len(reply.plan.user_intent) <= 300
    assert "user_intent" in json.dumps(reply.trace["repaired"])
    json.dumps(reply.trace, ensure_ascii=False).encode()


# ------------------------------------------------------------------------------------------------------------ giving up


async def test_everything_shares_one_deadline(server: FakeServer) -> None:
    """Rungs, retries and a repair together take no longer than the time that there is."""
    server.script([{"reply": {**NOT_THAT, "delay_headers_s": 0.4}}])
    began = time.perf_counter()
    async with bench(server, timeout_s=1.0, max_retries=5) as made:
        reply = await made.planner().plan(ASKED)
    assert 0.9 < time.perf_counter() - began < 4.0
    assert [call.fault for call in reply.calls] == ["bad_request", "bad_request", "deadline"]
    assert reply.plan == OFFLINE


@pytest.mark.parametrize(
    ("reply", "faults"),
    [({"status": 503}, ["server_error"] * 2), ({"plan": {"spam_score": 1.7}}, ["not_as_asked"] * 2 + [""])],
    ids=["no model", "a small form, which needs the offline plan"],
)
async def test_where_nobody_can_plan_the_error_says_what_was_asked(
    server: FakeServer, reply: dict[str, Any], faults: list[str]
) -> None:
    """The offline planner's words, with the model's calls, and marked as tried: no node tries again."""
    server.script([{"reply": reply}])
    async with bench(server, max_retries=1) as made:
        planner = made.planner(otherwise=FakePlanner([PlanningFailed("The index is away.", "Index again.")]))
        with pytest.raises(PlanningFailed, match="The index is away") as caught:
            await planner.plan(ASKED)
    assert caught.value.tried
    assert [call.fault for call in caught.value.calls] == faults


async def test_an_offline_plan_keeps_its_own_trace_and_notes(server: FakeServer) -> None:
    """The trace of a degraded plan is that of who made it; the model's fault comes first among the notes."""
    server.script([{"reply": {"status": 401}}])
    async with bench(server) as made:
        reply = await made.planner().plan(ASKED)
    assert reply.plan == OFFLINE
    assert "form" not in reply.trace
    assert [note.partition(":")[0] for note in reply.degraded] == ["plan"]


@pytest.mark.parametrize("message", ["", " ", "\n\t\u00a0"])
async def test_a_message_without_words_is_planned_without_the_model(server: FakeServer, message: str) -> None:
    """There is nothing to ask a model about: nobody is asked, and nothing is degraded."""
    async with bench(server) as made:
        reply = await made.planner().plan(replace(ASKED, message=message))
    assert asked_of(server) == []
    assert (reply.plan, reply.degraded) == (OFFLINE, ())


def test_a_rung_has_one_name() -> None:
    """Rungs are told apart by the name that is remembered."""
    names = [str(Strategy(form, strict)) for form in ToolForm for strict in (True, False)]
    assert len(set(names)) == len(names)


async def test_one_reply_without_a_call_does_not_move_a_model_down_the_ladder(server: FakeServer) -> None:
    """The form that worked stays remembered until it is refused or fails twice in a row."""
    text = {"when": {"tool_choice": "named"}, "times": 1, "reply": {"text": "I will plan later."}}
    async with bench(server) as desk:
        planner = desk.planner()
        await planner.plan(ASKED)
        for expected in (["named", "named", "required"], ["named"]):
            server.script([{**text, "times": 2}] if len(expected) > 1 else [])
            server.clear()
            await planner.plan(ASKED)
            choices = [_choice(request["body"]) for request in server.requests() if request["purpose"] == "plan"]
            assert choices == expected
        for expected in (["named", "named", "required"], ["named", "named", "required"], ["required"]):
            server.script([{**text, "times": 2}])
            server.clear()
            await planner.plan(ASKED)
            choices = [_choice(request["body"]) for request in server.requests() if request["purpose"] == "plan"]
            assert choices == expected


def _choice(body: dict[str, Any]) -> str:
    choice = body.get("tool_choice")
    return "named" if isinstance(choice, dict) else str(choice)
