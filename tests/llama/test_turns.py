"""Whole turns on real llama.cpp servers: whatever a random model plans, writes and judges, the rules hold."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest

from contracts.enums import CallPurpose, Flow, Outcome, RequestType, SafetyLevel, Verdict
from contracts.evidence import Fate
from contracts.plan import PLAN_TOOL, SGRPlanResult
from contracts.state import MESSAGE_WINDOW
from tests.support.llama import invariants, tiny_gguf
from tests.support.llama.desk import PAGES, TEXT, Desk, Played, messages
from tests.support.llama.proxy import Exchange, recording_proxy
from tests.support.llama.server import GUARD, LlamaServer, llama_server, template

pytestmark = pytest.mark.slow

MODELS: Final[dict[int, tuple[dict[str, Any], dict[str, str], tuple[int, int, int]]]] = {
    2: ({"noise": 0.7}, {"GUARDIAN_ANSWER_TOKENS": "100"}, (4, 4, 2)),
    5: ({}, {"GUARDIAN_PLAN_TOKENS": "250"}, (4, 3, 2)),
    4: ({"call_chance": 0.0}, {}, (8, 4, 1)),
}
"""By their seeds: what each is like, settings, and how many turns each of its conversations has. The first keeps nearest to the pages, with little room for drafts, so
that many of them pass; the second has little room for plans; with the third, which never calls the tool by itself, the
ladder goes down to its last rung; it says least, so the long conversation is its."""
THREADS: Final[dict[str, dict[str, Any]]] = {
    "long": {},
    "report": {"guard_mode": "report", "search_by": "model"},
    "strict": {"block_threshold": "controversial", "max_clarifications": 1, "max_retry": 1},
}
"""Conversations with each model, and their settings."""


@pytest.fixture(scope="module")
def turns(tmp_path_factory: pytest.TempPathFactory) -> list[Played]:
    """Play every conversation with every model, the models side by side."""
    folder = tmp_path_factory.mktemp("turns")
    with ExitStack() as opened:
        desks = {seed: _desk(folder / str(seed), seed, opened) for seed in MODELS}

        async def play() -> list[list[Played]]:
            return await asyncio.gather(*(_played(desk, seed) for seed, desk in desks.items()))

        return [turn for played in asyncio.run(play()) for turn in played]


def _desk(folder: Path, seed: int, opened: ExitStack) -> Desk:
    folder.mkdir()
    tools = template("tools")
    nature, settings, _ = MODELS[seed]
    model = tiny_gguf.write(folder / "model", template=tools, seed=seed, text=TEXT, **nature)
    guard = tiny_gguf.write(folder / "guard", template=tools, seed=seed)
    served = opened.enter_context(llama_server(model, slots=2))
    judging = opened.enter_context(llama_server(guard, grammar=GUARD, slots=1))
    return Desk(
        folder / "desk",
        opened.enter_context(recording_proxy(served.root)),
        opened.enter_context(recording_proxy(judging.root)),
        settings,
    )


async def _played(desk: Desk, seed: int) -> list[Played]:
    async with desk.opened() as opened:
        for place, (name, settings) in enumerate(THREADS.items()):
            for message in messages(10 * seed + place, MODELS[seed][2][place]):
                await opened.ask(f"{name}-{seed}", message, **settings)
        return [turn for played in opened.turns.values() for turn in played]


@pytest.mark.parametrize("rule", invariants.ALL, ids=lambda rule: rule.__name__)
def test_every_turn_keeps_the_rules(turns: list[Played], rule: Callable[[Played], None]) -> None:
    """Each rule of the specification holds for every turn."""
    assert {turn.turn_id: found for turn in turns if (found := _broken(rule, turn))} == {}


def _broken(rule: Callable[[Played], None], turn: Played) -> str:
    try:
        rule(turn)
    except AssertionError as error:
        return str(error) or "it does not hold"
    return ""


def test_the_turns_were_worth_looking_at(turns: list[Played]) -> None:
    """The rules were not kept for want of occasion: each way through the graph was taken, the model's own way mostly."""
    results = [turn.result for turn in turns]
    degraded = [part.partition(":")[0] for result in results for part in result.diagnostics.degraded]
    planned = [result for result in results if result.plan]
    calls = [call for result in results for call in result.diagnostics.calls]
    seen = Counter(result.outcome for result in results)
    verdicts = [[report.verdict for report in turn.verdicts] for turn in turns]

    assert len(turns) >= 30
    assert len(planned) - degraded.count("plan") >= 15
    assert degraded.count("plan") >= 1
    assert sum(len(turn.drafting) for turn in turns) >= 22
    assert set(seen) == set(Outcome) - {Outcome.ERROR}
    # What the noise makes of the prompts decides how many: each change of a prompt is another walk.
    assert seen[Outcome.ANSWERED] >= 5
    assert sum(said[-2:] == [Verdict.RETRY, Verdict.PASS] for said in verdicts) >= 2
    assert sum(said.count(Verdict.RETRY) for said in verdicts) >= 8
    assert any(said[-1:] == [Verdict.FAIL] for said in verdicts)
    assert any(r.outcome is Outcome.ANSWERED and r.request_type is RequestType.CASUAL for r in results)
    assert {result.moderation.safety_level for result in results if result.moderation} >= {
        SafetyLevel.SAFE,
        SafetyLevel.CONTROVERSIAL,
        SafetyLevel.UNSAFE,
    }
    assert sum(turn.stopped for turn in turns) >= 3
    assert {result.flow for result in planned} == set(Flow)
    assert {"named strict", "required", "auto", "json_schema strict"} <= {call.form for call in calls}
    assert any(exchange.answered["choices"][0]["message"].get("tool_calls") for t in turns for exchange in t.drafting)
    assert max(len(turn.earlier) for turn in turns) >= MESSAGE_WINDOW / 3


# -------------------------------------------------------------------------------------------- what the model is shown

FAMILIES: Final[dict[str, tuple[str, dict[str, str]]]] = {
    "system_first": ("system_first", {}),
    "strict_alternation": ("strict_alternation", {}),
    "tools": ("tools", {}),
    "no_system": ("no_system", {}),
    "no_system, told so": ("no_system", {"GUARDIAN_SYSTEM_ROLE": "user"}),
}
MARKS: Final = {
    "system_first": ("<|im_start|>user\n", "<|im_start|>assistant\n", "<|im_end|>\n<|im_start|>assistant\n"),
    "strict_alternation": ("[INST] ", "</s>", "[/INST]"),
    "tools": ("<|im_start|>user\n", "<|im_start|>assistant\n", "<|im_end|>\n<|im_start|>assistant\n"),
    "no_system": ("<start_of_turn>user\n", "<start_of_turn>model\n", "<end_of_turn>\n<start_of_turn>model\n"),
}
"""What each family writes before a user's turn, once for each of the assistant's, and after the last user's turn."""
TALK: Final = (
    "Which form does the King club fill in?",
    "Какая форма нужна клубу летом?",
    "How do I get the form B-57 at the desk?",
    "А что с отчётом клуба?",
    "Is the Ding form for winter?",
    "Who keeps the Sing form?",
    "Что у дежурного?",
    "And the desk of the King?",
)
"""Nothing that a template writes itself, and nothing that looks like a plan."""
EAGER: Final = {"spam_threshold": 0.99, "confidence_threshold": 0.01, "min_evidence": 10}
"""Settings under which nearly every plan is searched for, and no draft passes at once."""


@dataclass(frozen=True)
class Family:
    """A server with one chat template, and a conversation that was held with it."""

    name: str
    server: LlamaServer
    turns: list[Played]

    def prompt(self, exchange: Exchange) -> str:
        """Return the very prompt that a request became."""
        tools = {"tools": exchange.asked["tools"]} if "tools" in exchange.asked else {}
        return self.server.apply_template(exchange.asked["messages"], **tools)


@pytest.fixture(scope="module")
def families(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Family]]:
    """Hold a conversation of three turns or more with each family, until one turn of it had a retry and another came after."""
    folder = tmp_path_factory.mktemp("families")
    with ExitStack() as opened:
        servers: dict[str, LlamaServer] = {}
        desks: dict[str, Desk] = {}
        for place, (case, (name, settings)) in enumerate(FAMILIES.items()):
            model = tiny_gguf.write(folder / f"model{place}", template=template(name), seed=3, text=TEXT)
            servers[case] = opened.enter_context(llama_server(model, prefill=False))
            proxy = opened.enter_context(recording_proxy(servers[case].root))
            desks[case] = Desk(folder / str(place), proxy, more={"GUARDIAN_PLAN_TOKENS": "700", **settings})

        async def play() -> list[list[Played]]:
            return await asyncio.gather(*(_until_retried(desk) for desk in desks.values()))

        played = dict(zip(FAMILIES, asyncio.run(play()), strict=True))
        yield {case: Family(name, servers[case], played[case]) for case, (name, _) in FAMILIES.items()}


async def _until_retried(desk: Desk) -> list[Played]:
    async with desk.opened() as opened:
        for question in TALK:
            turn = await opened.ask("talk", question, **EAGER)
            if len(turn.earlier) > 1 and any(before.result.diagnostics.retries for before in turn.earlier):
                break
        return opened.turns["talk"]


@pytest.mark.parametrize("case", FAMILIES)
def test_a_prompt_for_a_draft_shows_the_turn_and_no_planning(families: dict[str, Family], case: str) -> None:
    """Question, synthetic message and evidence are in it, no tool, no call and no plan's JSON; a user's turn is last.

    `strict_alternation` puts the system's text into the last question; where `no_system` is not told, llama.cpp puts
    it into the first. Neither loses any of it, and no family loses or adds a turn.
    """
    family = families[case]
    assert any(turn.result.diagnostics.retries for turn in family.turns)
    for turn in family.turns:
        for exchange in turn.drafting:
            prompt = family.prompt(exchange)
            _shows_all_that_was_sent(family.name, prompt, exchange)
            for text in (turn.question, turn.result.synthetic_analysis, turn.result.synthetic_response):
                assert text in prompt
            planning = (PLAN_TOOL, "tool_call", "# Tools", *(f'"{name}"' for name in SGRPlanResult.model_fields))
            assert [mark for mark in planning if mark in prompt] == []
        for item in turn.result.evidence if turn.drafting else []:
            assert item.snippet in family.prompt(turn.drafting[-1])


@pytest.mark.parametrize("case", FAMILIES)
def test_no_prompt_shows_an_earlier_turns_analysis(families: dict[str, Family], case: str) -> None:
    """Neither planning nor drafting sees a line of how an earlier message was understood, retries included.

    What the user saw of it stays: the intent under its heading, in a question that was asked back.
    """
    family = families[case]
    looked = 0
    for turn in family.turns:
        prompts = [family.prompt(exchange) for exchange in turn.asked]
        for before in turn.earlier:
            assert before.question in prompts[-1]
            lines = set(before.result.synthetic_analysis.split("\n")) - set(turn.result.synthetic_analysis.split("\n"))
            for line in lines:
                looked += len(line) > 20
                assert len(line) <= 20 or not any(line in prompt for prompt in prompts)
    assert looked > 10


def _shows_all_that_was_sent(family: str, prompt: str, exchange: Exchange) -> None:
    """Assert that a prompt has all messages, in their order, as so many turns, and ends behind the last one."""
    first, *talk = exchange.asked["messages"]
    if first["role"] == "system":
        assert first["content"].strip() in prompt
    else:
        talk = [first, *talk]
    places = [prompt.index(message["content"].strip()) for message in talk]
    assert places == sorted(places)
    user, assistant, end = MARKS[family]
    roles = Counter(message["role"] for message in talk)
    assert prompt.count(user) == roles["user"] == roles["assistant"] + 1
    # The template opens the reply, but for the family whose user's turn does so by ending.
    assert prompt.count(assistant) == roles["assistant"] + (family != "strict_alternation")
    assert prompt.endswith(talk[-1]["content"].strip() + end)


# --------------------------------------------------------------------------------------------------- a small window

WINDOW: Final = 7_424
"""Tokens, which are bytes here: planning takes some 5,200 for its words and its form alone."""
_LONG: Final = "The King club keeps the Kind form at the desk. " * 30
LONG_PAGES: Final = {**PAGES, **{f"pages/long-{number}.md": f"# Page {number}\n\n{_LONG}\n" for number in range(6)}}


@pytest.fixture(scope="module")
def cramped(tmp_path_factory: pytest.TempPathFactory) -> list[Played]:
    """Hold a conversation whose messages and evidence are more than the model's window, which nobody told us."""
    folder = tmp_path_factory.mktemp("cramped")
    model = tiny_gguf.write(folder / "model", template=template("tools"), seed=3, text=TEXT)
    long = "The club fills in a form, and the desk reads it in order. " * 60
    questions = (
        f"{long} Which form does it fill in?",
        "Which form?",
        "А " + "форма, клуб, отчёт, " * 150 + "?",
        *TALK[:3],
    )
    settings = {"GUARDIAN_PLAN_TOKENS": "700", "GUARDIAN_ANSWER_TOKENS": "200"}

    async def play(desk: Desk) -> list[Played]:
        async with desk.opened() as opened:
            return [await opened.ask("talk", question, **EAGER) for question in questions]

    with llama_server(model, slots=1, window=WINDOW) as served, recording_proxy(served.root) as proxy:
        return asyncio.run(play(Desk(folder / "desk", proxy, more=settings, pages=LONG_PAGES)))


def test_what_goes_over_the_wire_fits_the_window(cramped: list[Played]) -> None:
    """Prompt and reply together stay within it, as the server counts; no request is refused, from the first on."""
    exchanges = [exchange for turn in cramped for exchange in turn.asked]
    assert [exchange.status for exchange in exchanges] == [200] * len(exchanges)
    for exchange in exchanges:
        taken = exchange.answered["usage"]["prompt_tokens"] + exchange.asked["max_completion_tokens"]
        assert taken <= WINDOW
    for turn in cramped:
        invariants.it_ends_in_an_outcome(turn)
        invariants.only_pass_is_answered(turn)


def test_what_was_cut_is_on_record(cramped: list[Played]) -> None:
    """Each call says how much of history, question and evidence it lacks, and the request lacks just that."""
    cut: Counter[str] = Counter()
    for turn in cramped:
        for call, exchange in zip(turn.result.diagnostics.calls, turn.asked, strict=True):
            if call.http_status != 200:
                continue
            cut.update(call.cut.keys())
            drafted = call.purpose is CallPurpose.DRAFT
            _, *talk = [message["content"] for message in exchange.asked["messages"]]
            *history, question = talk[: -2 if drafted else None]
            # A request for a repair stands below the question, in one message with it.
            missing = len(turn.question) - len(question.partition("\n\nThat could not be used")[0])
            assert missing == call.cut.get("question_chars", 0)
            said = [text for before in turn.earlier for text in (before.question, before.result.answer_text)]
            kept = said[call.cut.get("history_messages", 0) :]
            # What is left may begin with an answer, which no server takes first.
            assert history == kept[len(kept) % 2 :]
        if turn.drafting:
            sent, last = turn.drafting[-1].asked["messages"][-1]["content"], turn.result.diagnostics.calls[-1]
            # What safe_exit found to be shown beside it was sent to nobody.
            near = {page.ref for page in turn.result.pages}.difference(
                row.ref
                for trace in turn.result.per_query_results
                for row in trace.passages
                if row.fate in (Fate.KEPT, Fate.SHORTENED)
            )
            whole = all(item.snippet in sent for item in turn.result.evidence if item.ref not in near)
            assert whole == ("evidence_chars" not in last.cut)
    assert {"question_chars", "history_messages", "evidence_chars"} <= cut.keys()
