"""Every kind of source with every fault, through whole turns."""

from __future__ import annotations

import importlib
import logging
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import HumanMessage

from adapters.drafting.extractive import ExtractiveDrafter
from adapters.fakes.moderation import FakeModerator
from adapters.fakes.planning import FakePlanner
from adapters.fakes.sources import FakeSource
from adapters.fakes.topic import FakeTopicProbe
from adapters.planning.offline import OfflinePlanner
from contracts.context import STEPS_PER_TURN, Context
from contracts.decisions import EVIDENCE
from contracts.enums import Language, RequestType, Source
from contracts.errors import SourceUnavailable
from contracts.ports import EvidenceSource, Planner
from graph.build import Ports, build_graph
from rendering.exits import source_names
from tests.support.broken_sources import FAULTS, LOOKUPS, QUESTION, Fault
from tests.support.timed import LOADED
from tests.support.turn import PROFILE, SAFE, passage, plan

QUESTIONS = {"en": QUESTION, "ru": "Когда закипает чайник?"}
PROFILE_WITH_LOOKUPS = PROFILE.model_copy(update={"lookups": LOOKUPS, "contracts": {}})
NEEDS_IT = {
    Source.DOC: RequestType.KNOWLEDGE_QA,
    Source.POLICY: RequestType.HOWTO_POLICY,
    Source.DB: RequestType.STATUS_METRIC,
    Source.NEO4J: RequestType.KNOWLEDGE_QA,
}
"""A request type that each kind is required for."""
DOES_WITHOUT = {
    Source.DOC: (RequestType.HOWTO_POLICY, Source.POLICY),
    Source.POLICY: (RequestType.HOWTO_POLICY, Source.DOC),
    Source.DB: (RequestType.HOWTO_POLICY, Source.DOC),
    Source.NEO4J: (RequestType.KNOWLEDGE_QA, Source.DOC),
}
"""A request type that asks each kind and is served by another one, too."""


@pytest.fixture(autouse=True, scope="module")
def drivers_are_loaded() -> None:
    """Load what the first of these turns would load: that may take longer on a busy machine than a source may."""
    for driver in ("neo4j", "psycopg", "ladybug"):
        importlib.import_module(driver)


every_fault = pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
NOT_EMPTY = [fault for fault in FAULTS if fault.what != "empty"]


async def turn(
    request_type: RequestType, sources: dict[Source, EvidenceSource], language: str = "en", **context: Any
) -> dict[str, Any]:
    """Return the result of a turn; the plan names every lookup that there is."""
    planned = plan(
        request_type=request_type,
        subqueries=[QUESTIONS[language]],
        answer_language=language,
        lookups=[{"name": lookup.name, "arguments": []} for lookup in LOOKUPS],
    )
    return await asked(QUESTIONS[language], FakePlanner([planned]), sources, **context)


async def asked(
    question: str, planner: Planner, sources: dict[Source, EvidenceSource], **context: Any
) -> dict[str, Any]:
    """Return the result of a turn, which must end soon, without an error, and without a secret in it."""
    ports = Ports(moderator=FakeModerator(SAFE), planner=planner, sources=sources, drafter=ExtractiveDrafter())
    run = Context(role="operator", min_evidence=1, **context)
    began = time.monotonic()
    start: Any = {"messages": [HumanMessage(question, id="q")]}
    values = await build_graph(ports, PROFILE_WITH_LOOKUPS).ainvoke(
        start, {"recursion_limit": STEPS_PER_TURN}, context=run
    )
    assert time.monotonic() - began < LOADED, "a source held the turn up"
    assert values["error"] == {}
    assert "not-to-be-shown" not in str(values)
    return values["result"]


def test_every_kind_has_every_fault() -> None:
    """The table leaves nothing out: each kind is down, slow, full of garbage and empty."""
    wanted = {(kind, what) for kind in Source for what in ("down", "slow", "garbage", "empty")}
    assert {(fault.kind, fault.what) for fault in FAULTS} == wanted
    assert all(kind in EVIDENCE.decide(request_type=NEEDS_IT[kind]).outcome.required for kind in Source)


@every_fault
async def test_a_required_source_that_cannot_be_asked_is_not_one_that_found_nothing(
    fault: Fault, tmp_path: Path
) -> None:
    """Reason, verdict, action and what the user reads differ; the report names the source and its error."""
    with fault.opened(tmp_path) as source:
        result = await turn(NEEDS_IT[fault.kind], {fault.kind: source}, source_seconds=fault.seconds)
    guardian, degraded = result["guardian"], " ".join(result["diagnostics"]["degraded"])
    told = f"{source_names([fault.kind], Language.EN)} could not be asked"
    if fault.what == "empty":
        # Of a database that has nothing on it, the lookups that there are can be chosen from.
        ended = "clarification" if fault.kind is Source.DB else "handed_off"
        assert (result["outcome"], guardian["reasons"]) == (ended, ["abstained"])
        assert guardian["required_actions"] == ["ASK_MINIMAL_QUESTION"]
        assert told not in result["answer_text"]
        assert fault.kind not in degraded
        return
    assert (result["outcome"], guardian["verdict"], guardian["risk_level"]) == ("handed_off", "FAIL", "high")
    assert guardian["reasons"] == ["abstained", f"could_not_check=[{fault.kind}]"]
    assert guardian["required_actions"] == ["ESCALATE_TO_HUMAN"]
    assert told in result["answer_text"]
    assert "do not answer this" not in result["answer_text"]
    assert f"{fault.kind}: " in degraded
    assert fault.said.lower() in degraded.lower()
    assert all(trace["error"] for trace in result["per_query_results"])


@every_fault
async def test_the_turn_goes_on_with_what_is_left(fault: Fault, tmp_path: Path) -> None:
    """Another source that can serve the request answers it, and the report names the one that could not be asked."""
    request_type, other = DOES_WITHOUT[fault.kind]
    healthy = FakeSource(other, [passage(1, source=other), passage(2, source=other)])
    with fault.opened(tmp_path) as source:
        result = await turn(request_type, {fault.kind: source, other: healthy}, source_seconds=fault.seconds)
    assert result["outcome"] == "answered", result["guardian"]
    named = f"could_not_ask=[{fault.kind}]" in result["guardian"]["advice"]
    assert named is (fault.what != "empty")
    degraded = " ".join(result["diagnostics"]["degraded"])
    assert (f"{fault.kind}: " in degraded) is (fault.what != "empty")
    assert fault.said.lower() in degraded.lower()


@pytest.mark.parametrize("language", QUESTIONS)
async def test_the_user_is_told_in_his_language(language: str) -> None:
    """What could not be asked is named in words that people use, in both languages."""
    fault = next(fault for fault in NOT_EMPTY if fault.kind is Source.DB)
    with fault.opened(Path()) as source:
        result = await turn(RequestType.STATUS_METRIC, {Source.DB: source}, language)
    words = {"en": "the database could not be asked just now", "ru": "сейчас недоступен источник (база данных)"}
    assert words[language] in result["answer_text"]


async def test_all_sources_at_once_may_be_down() -> None:
    """Where nothing at all could be asked, all of it is named, and nothing is claimed."""
    with ExitStack() as stack:
        faults = {fault.kind: fault for fault in NOT_EMPTY if fault.how == "says-so"}
        sources = {kind: stack.enter_context(fault.opened(Path())) for kind, fault in faults.items()}
        result = await turn(RequestType.TROUBLESHOOTING, sources)
    assert result["guardian"]["reasons"] == ["abstained", "could_not_check=[db, neo4j]"]
    assert result["guardian"]["advice"] == ["could_not_ask=[policy]"]
    assert result["outcome"] == "handed_off"


async def test_a_question_about_figures_needs_no_index() -> None:
    """Without a model, too: the planner plans by words where the index is away, and the database answers."""
    away = SourceUnavailable("The index is away.", "Start it.")
    says = "1 of 7 questions were handed off to a person."
    figure = passage(1, source=Source.DB, ref="hand_offs()#1", snippet=says, title="Hand-offs", found="1")
    sources: dict[Source, EvidenceSource] = {
        Source.DB: FakeSource(Source.DB, [figure]),
        Source.POLICY: FakeSource(Source.POLICY, away),
    }
    planner = OfflinePlanner(FakeTopicProbe(away), PROFILE)
    result = await asked("How many questions were handed off this week?", planner, sources)
    assert (result["outcome"], result["request_type"]) == ("answered", "STATUS_METRIC"), result["guardian"]
    assert "1 of 7 questions" in result["answer_text"]
    degraded = result["diagnostics"]["degraded"]
    assert [what.partition(":")[0] for what in degraded] == ["plan", "policy"]
    assert "could_not_ask=[policy]" in result["guardian"]["advice"]


async def test_on_fast_nothing_is_claimed_either() -> None:
    """FAST is milder about how much was found, not about whether anybody could look."""
    down = next(fault for fault in NOT_EMPTY if fault.kind is Source.DOC and fault.how == "says-so")
    with down.opened(Path()) as source:
        result = await turn(RequestType.KNOWLEDGE_QA, {Source.DOC: source}, knowledge_track="FAST")
    assert result["outcome"] == "handed_off"
    assert "could_not_check=[doc]" in result["guardian"]["reasons"]


async def test_a_fault_of_ours_is_in_the_log_with_its_trace(caplog: pytest.LogCaptureFixture) -> None:
    """The result names the type alone; who runs the program finds the rest in its log."""
    fault = next(fault for fault in FAULTS if fault.said == "KeyError")
    with fault.opened(Path()) as source, caplog.at_level(logging.ERROR):
        await turn(NEEDS_IT[fault.kind], {fault.kind: source}, source_seconds=fault.seconds)
    [record] = caplog.records
    assert record.exc_info
    assert record.exc_info[0] is KeyError
