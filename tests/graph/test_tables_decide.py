"""Tables decide: a row whose outcome is changed changes what the graph does, and not what is written down of it alone.

Each turn here is one way through the product with fakes around it. Whatever it does is compared: the nodes that it
walks, what the ports are asked, what the user reads, what the result holds beside the record of decisions, and which
tickets go out.
"""

from __future__ import annotations

import asyncio
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from dataclasses import fields, replace
from functools import cache
from typing import Any, Final, NoReturn

import pytest
from langchain_core.messages import HumanMessage
from langgraph.errors import GraphRecursionError
from pydantic import ValidationError

import nodes.guardian_verify
from adapters.fakes.drafting import FakeDrafter
from adapters.fakes.entailment import FakeEntailment
from adapters.fakes.hand_off import FakeSink
from adapters.fakes.moderation import FakeModerator
from adapters.fakes.planning import FakePlanner
from adapters.fakes.sources import FakeSource
from adapters.fakes.topic import FakeTopicProbe
from contracts.context import Context
from contracts.decisions import OUTPUT, all_tables, routing_table
from contracts.decisions.engine import DecisionRow, DecisionTable
from contracts.decisions.exits import EXITS, Exit, TicketRule
from contracts.decisions.output import ChannelView
from contracts.decisions.verdict import RULES_ACTION, Judgement
from contracts.enums import (
    DraftKind,
    HarmCategory,
    RequestType,
    RequiredAction,
    RiskLevel,
    SafetyLevel,
    Source,
    Tickets,
    Verdict,
)
from contracts.errors import EntailmentUnavailable, ModerationUnavailable, PlanningFailed, SourceUnavailable, TableError
from contracts.ports import Draft
from contracts.profile import AnswerPolicy, AnswerRule, PolicyRule
from contracts.spec import ArchitectSpec
from graph.build import Graph, Ports, build_graph
from tests.support.turn import PROFILE, SAFE, make_result, passage, plan

ALL: Final = tuple(Source)
LONGEST: Final = 20
"""Steps of a turn here; a table under which turns retry for ever is found out as well as with a turn's own limit."""
CONTRACTED: Final = ArchitectSpec.model_validate({"required_sections": ["Steps"]})
PROFILE_OF_TABLES: Final = PROFILE.model_copy(
    update={
        "contracts": {RequestType.HOWTO_POLICY: CONTRACTED, RequestType.CASUAL: CONTRACTED},
        "roles": {**PROFILE.roles, "user": PROFILE.roles["operator"]},
        "policy": (
            *PROFILE.policy,
            PolicyRule(id="people-only", pattern="the chairman", action=RequiredAction.ESCALATE_TO_HUMAN),
        ),
        "answer_policy": AnswerPolicy(low_ids=AnswerRule(action=RequiredAction.ESCALATE_TO_HUMAN)),
    }
)
ANSWER: Final = Draft(DraftKind.ANSWER, "The kettle boils at 100 degrees [1].")
WRONG: Final = [Draft(DraftKind.ANSWER, f"The kettle boils at {900 + n} degrees [1].") for n in range(5)]
SILENT: Final = Draft(DraftKind.ABSTENTION, "The documents do not say.")
ASKS: Final = Draft(DraftKind.CLARIFICATION, "Which kettle do you mean?")
ASKS_ODDLY: Final = Draft(DraftKind.CLARIFICATION, "Is it the kettle of 1873 or of 1912?")
SECRET: Final = Draft(DraftKind.ANSWER, "The kettle's password: hunter2hunter2 [1].")
HOWTO: Final = plan(request_type="HOWTO_POLICY")
FORMED: Final = Draft(DraftKind.ANSWER, "## Steps\n\nThe kettle boils at 100 degrees [1].")
UNSAFE, TENSE = make_result(SafetyLevel.UNSAFE, HarmCategory.JAILBREAK), make_result(SafetyLevel.CONTROVERSIAL)
DOWN: Final = ModerationUnavailable("The moderator is down.")
AWAY: Final = SourceUnavailable("The source is down.")
MANY: Final = [passage(n) for n in range(1, 6)]


@contextmanager
def broken(check: str) -> Generator[None]:
    """Have one of the Guardian's checks raise; no fake around the graph can make it."""

    def fails(*_: Any, **__: Any) -> NoReturn:
        raise RuntimeError("broken")

    with pytest.MonkeyPatch.context() as patch:
        if check:
            patch.setattr(nodes.guardian_verify, check, fails)
        yield


class Seat:
    """A port whose fake is another in each run: compiling a graph is half of what a turn takes here."""

    def __init__(self) -> None:
        self.fake: Any = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self.fake, name)


def new_seat() -> Any:
    """Return a seat, which takes the part of any port."""
    return Seat()


@cache
def build_seats(kinds: tuple[Source, ...], *, quotes: bool, checks: bool, probes: bool) -> tuple[Ports, Graph]:
    """Return a graph of such ports, compiled once, and its seats."""
    ports = Ports(
        moderator=new_seat(),
        planner=new_seat(),
        sources={kind: new_seat() for kind in kinds},
        drafter=new_seat(),
        quoter=new_seat() if quotes else None,
        entailment=new_seat() if checks else None,
        sink=new_seat(),
        probe=FakeTopicProbe() if probes else None,
    )
    return ports, build_graph(ports, PROFILE_OF_TABLES)


def seat(port: Any, fake: Any) -> Any:
    """Put a fake in its seat; return it."""
    port.fake = fake
    return fake


class Turn:
    """One way through the graph: what the fakes say, and what the run is set to."""

    def __init__(self, text: str = "When does the kettle boil?", **given: Any) -> None:
        self.text = text
        self.given = given

    async def done(self) -> tuple[dict[str, Any], list[tuple[str, str]]]:
        """Walk it; return all that it did, and which rows decided."""
        given = dict(self.given)
        found = given.pop("found", MANY[:2])
        written = given.pop("written", ANSWER)
        planned = given.pop("planned", plan())
        quoted = given.pop("quoted", None)
        kinds = given.pop("kinds", (Source.DOC,))
        checker = given.pop("checker", None)
        seats = build_seats(
            kinds, quotes=quoted is not None, checks=checker is not None, probes=given.pop("probes", False)
        )
        ports, graph = seats
        sources = {kind: seat(ports.sources[kind], FakeSource(kind, _of(kind, found))) for kind in kinds}
        moderator = seat(ports.moderator, FakeModerator(given.pop("moderated", SAFE)))
        planner = seat(ports.planner, FakePlanner([planned]))
        drafter = seat(ports.drafter, FakeDrafter([written] if isinstance(written, Draft) else written))
        desk = seat(ports.sink, FakeSink())
        if quoted:
            seat(ports.quoter, FakeDrafter([quoted]))
        if checker:
            seat(ports.entailment, checker)
        start: Any = {"messages": [HumanMessage(self.text, id="q")]}
        settings: Any = {"recursion_limit": LONGEST}
        path: list[str] = []
        values: Any = None
        with broken(given.pop("breaks", "")):
            run = graph.astream(start, settings, context=Context(**given), stream_mode=["updates", "values"])
            async for mode, part in run:
                if mode == "updates":
                    path += [name for name in part if not name.startswith("__error_handler__")]
                else:
                    values = part
        result = values["result"]
        seen = {
            "path": path,
            "said": (result["outcome"], result["answer_text"], result["block_reason"]),
            "holds": {
                key: result[key]
                for key in ("plan", "tool_trace", "synthetic_analysis", "synthetic_response", "pages", "hand_off")
            },
            "risk": (result["guardian"] or {}).get("risk_level"),
            "moderated": len(moderator.seen),
            "planned": [request.tool for request in planner.requests],
            "searched": {kind: [repr(request) for request in source.requests] for kind, source in sources.items()},
            "drafted": [repr(request) for request in drafter.requests],
            "tickets": [ticket.answer for ticket in desk.tickets],
        }
        return seen, [(line["table"], line["row"]) for line in result["decisions"]]


def _of(kind: Source, found: Any) -> Any:
    """Return what a source of one kind finds: items as its own, an error, or what is said for that kind."""
    if isinstance(found, dict):
        return found[kind]
    if not isinstance(found, list):
        return found
    return [item.model_copy(update={"source": kind, "ref": f"{kind}:{item.ref}"}) for item in found]


ONE: Final = [passage(1)]
BESIDE: Final = "When does the SSO kettle boil?"
"""It asks for a name that no passage has."""
VAGUELY: Final = [passage(n, confidence=0.65) for n in (1, 2)]
NO_ANSWER: Final[dict[str, Any]] = {"written": SILENT, "found": []}
UNSURE: Final[dict[str, Any]] = {
    "written": SILENT,
    "found": [passage(n, confidence=0.3) for n in (1, 2)],
    "probes": True,
}
TURNS: Final[dict[str, Turn]] = {
    "answered": Turn(),
    "answered from the tool trace": Turn(plan_trace="tool_result"),
    "answered from the analysis in the question": Turn(plan_trace="in_question"),
    "unsafe": Turn(moderated=UNSAFE),
    "unsafe, reported": Turn(moderated=UNSAFE, guard_mode="report"),
    "controversial": Turn(moderated=TENSE),
    "controversial, reported": Turn(moderated=TENSE, guard_mode="report"),
    "controversial, strict": Turn(moderated=TENSE, block_threshold="controversial"),
    "moderation off": Turn(guard_mode="off"),
    "moderation down, open": Turn(moderated=DOWN, on_unavailable="open"),
    "moderation down, closed": Turn(moderated=DOWN, on_unavailable="closed"),
    "moderation down, closed, reported": Turn(moderated=DOWN, on_unavailable="closed", guard_mode="report"),
    "refused by the plan": Turn(moderated=TENSE, planned=plan(action="guardian_block")),
    "spam": Turn(planned=plan(spam_score=0.9)),
    "spam, tense": Turn(moderated=TENSE, planned=plan(spam_score=0.9)),
    "person": Turn(planned=plan(wants_human=True)),
    "person, tense": Turn(moderated=TENSE, planned=plan(wants_human=True)),
    "unclear": Turn(planned=plan(intent_confidence=0.2)),
    "unclear, tense": Turn(moderated=TENSE, planned=plan(intent_confidence=0.2)),
    "unclear, asked enough": Turn(planned=plan(intent_confidence=0.2), max_clarifications=0),
    "unclear, asked enough, tense": Turn(moderated=TENSE, planned=plan(intent_confidence=0.2), max_clarifications=0),
    "would ask, tense": Turn(moderated=TENSE, planned=plan(action="clarify")),
    "would ask, asked enough, tense": Turn(moderated=TENSE, planned=plan(action="clarify"), max_clarifications=0),
    "retried": Turn(written=[WRONG[0], ANSWER]),
    "never right": Turn(written=WRONG, max_retry=1),
    "never right, quoted": Turn(written=WRONG, max_retry=1, quoted=ANSWER),
    "fast, wrong": Turn(written=WRONG, knowledge_track="FAST"),
    "fast, right": Turn(written=ANSWER, knowledge_track="FAST", found=ONE),
    "fast, wrong, quoted": Turn(written=WRONG, knowledge_track="FAST", quoted=ANSWER),
    "casual": Turn("Hello!", planned=plan(request_type="CASUAL"), written=Draft(DraftKind.ANSWER, "Good day.")),
    "casual, with all sources": Turn(
        "Hello!", planned=plan(request_type="CASUAL"), written=Draft(DraftKind.ANSWER, "Good day."), kinds=ALL
    ),
    "silent": Turn(**NO_ANSWER),
    "silent, no retry": Turn(**NO_ANSWER, max_retry=0),
    "silent with pages": Turn(written=SILENT, max_retry=0),
    "silent with pages, widened": Turn(written=SILENT, found=lambda request: MANY[: 1 + request.top_k // 8]),
    "silent, widened, quoted": Turn(
        written=SILENT, found=lambda request: MANY[: 1 + request.top_k // 8], quoted=ANSWER
    ),
    "silent, quoted": Turn(written=SILENT, max_retry=0, quoted=ANSWER),
    "silent, unsure of any page": Turn(**UNSURE),
    "asks": Turn(written=ASKS),
    "asks, asked enough": Turn(written=ASKS, max_clarifications=0),
    "asks, asked enough, nothing found": Turn(written=ASKS, max_clarifications=0, found=[]),
    "asks oddly": Turn(written=ASKS_ODDLY),
    "asks oddly, quoted": Turn(written=ASKS_ODDLY, quoted=ANSWER),
    "beside the question": Turn(BESIDE),
    "beside the question, no retry": Turn(BESIDE, max_retry=0),
    "beside the question, quoted": Turn(BESIDE, max_retry=0, quoted=ANSWER),
    "beside the question, fast": Turn(BESIDE, knowledge_track="FAST"),
    "beside the question, fast, quoted": Turn(BESIDE, knowledge_track="FAST", quoted=ANSWER),
    "hardly sure": Turn(found=VAGUELY, min_evidence=1),
    "hardly sure, quoted": Turn(found=VAGUELY, min_evidence=1, quoted=ANSWER),
    "relevance unchecked": Turn(breaks="check_relevance"),
    "off contract": Turn(planned=HOWTO, written=[ANSWER, FORMED]),
    "off contract to the end": Turn(planned=HOWTO, max_retry=0),
    "off contract, quoted": Turn(planned=HOWTO, max_retry=0, quoted=FORMED),
    "secret": Turn(written=SECRET),
    "denied": Turn("Show me other people's kettles", planned=plan()),
    "denied, for people": Turn("What does the chairman drink?"),
    "source down": Turn(found=AWAY, written=SILENT),
    "recommended source down": Turn(
        kinds=(Source.DOC, Source.POLICY), found={Source.DOC: [], Source.POLICY: AWAY}, written=SILENT, max_retry=0
    ),
    "claims unchecked": Turn(checker=FakeEntailment(error=EntailmentUnavailable("Down.")), entailment="binding"),
    "policy unchecked": Turn(breaks="check_answer"),
    "contract unchecked": Turn(planned=HOWTO, breaks="check_contract"),
    "broken": Turn(planned=PlanningFailed("No plan.")),
    "empty message": Turn("   "),
    **{
        f"type {kind}": Turn(planned=plan(request_type=str(kind)), kinds=ALL, found=MANY[:1])
        for kind in RequestType
        if kind is not RequestType.CASUAL
    },
}


def alternatives(table: DecisionTable[Any], row: DecisionRow[Any]) -> list[Any]:
    """Return the other outcomes of a table, each once."""
    others: list[Any] = []
    for other in table.rows:
        if other.then != row.then and other.then not in others:
            others.append(other.then)
    return others


@contextmanager
def changed(table: DecisionTable[Any], row: DecisionRow[Any], outcome: Any) -> Generator[None]:
    """Give a row another outcome, in the table that runs."""
    rows = table.rows
    other = tuple(replace(each, then=outcome) if each is row else each for each in rows)
    object.__setattr__(table, "rows", other)
    try:
        yield
    finally:
        object.__setattr__(table, "rows", rows)


@pytest.fixture(scope="module")
def walks() -> dict[str, tuple[dict[str, Any], list[tuple[str, str]]]]:
    """Walk every turn once with the tables as they are."""

    async def walk_all() -> dict[str, tuple[dict[str, Any], list[tuple[str, str]]]]:
        return {name: await turn.done() for name, turn in TURNS.items()}

    return asyncio.run(walk_all())


DEFAULTS: Final = Context()
EVERY_ROW: Final = [(table, row) for table in all_tables() for row in table.rows]
UNRECORDED: Final = {("DT-004", "metadata"): ["answered"]}
"""Rows that decide what a result holds, and so cannot stand in it."""
UNCHECKED: Final = ("policy-unchecked", "substance-unchecked", "relevance-unchecked", "contract-unchecked")


def why_not_another(row: DecisionRow[Any], outcome: Any) -> str:
    """Return why another outcome of a row cannot be another turn; empty where it has to be one."""
    if not isinstance(outcome, Judgement):
        return ""
    if outcome.verdict is Verdict.RETRY and outcome == replace(row.then, risk=outcome.risk):
        return "of a draft that is tried again nobody reads the risk: that of the last draft is reported"
    if row.id in UNCHECKED and outcome == Judgement(Verdict.FAIL, RiskLevel.HIGH, take=RULES_ACTION):
        return "no rule of policy was violated, so it has no action, and a failure without one goes to a person, too"
    if row.id == "beside-retry" and outcome.actions == (RequiredAction.RETRIEVE_MORE, RequiredAction.REFINE_QUERY):
        return "an answer beside the question always asks for these two, so they are the findings' actions"
    return ""


@pytest.mark.parametrize(("table", "row"), EVERY_ROW, ids=[f"{table.id}/{row.id}" for table, row in EVERY_ROW])
async def test_another_outcome_of_a_row_is_another_turn(
    table: DecisionTable[Any], row: DecisionRow[Any], walks: Any
) -> None:
    """Some turn meets the row, and with each other outcome of the table in it, one of them does something else."""
    if table.id == "DT-002":
        # One is made for each pair of thresholds, and kept for a while: this is the one that runs now.
        table = routing_table(DEFAULTS.spam_threshold, DEFAULTS.confidence_threshold)
        row = next(each for each in table.rows if each.id == row.id)
    met = UNRECORDED.get((table.id, row.id), [name for name, (_, made) in walks.items() if (table.id, row.id) in made])
    assert met, "no turn here meets this row"
    same: list[str] = []
    for outcome in alternatives(table, row):
        with changed(table, row, outcome):
            if await all_are_the_same(met, walks) != bool(why_not_another(row, outcome)):
                same.append(str(outcome))
    assert same == [], f"{met} go the same way, or another one although there is a reason why not"


async def all_are_the_same(names: list[str], walks: Any) -> bool:
    """Return whether turns do what they did with the tables as they are; one that comes to no end does not."""
    for name in names:
        try:
            did, _ = await TURNS[name].done()
        except (GraphRecursionError, KeyError, ValidationError):
            # It retries for ever, or the end of a turn that broke, behind which there is no other, is none for it.
            return False
        if did != walks[name][0]:
            return False
    return True


SHOWN_IN: Final = {
    "model": "answered",
    "model-question": "answered from the analysis in the question",
    "model-tool": "answered from the tool trace",
    "user": "spam",
    "user-refused": "refused by the plan",
    "metadata": "answered",
}
"""A turn that shows each row."""
CELLS: Final = [(row, cell.name) for row in OUTPUT.rows for cell in fields(ChannelView)]


@pytest.mark.parametrize(("row", "cell"), CELLS, ids=[f"{row.id}/{cell}" for row, cell in CELLS])
async def test_each_cell_of_the_output_table_shows_or_hides_something(
    row: DecisionRow[ChannelView], cell: str, walks: Any
) -> None:
    """Turned over, it puts one part of the turn before its reader, or takes it away; not on record alone."""
    turn = TURNS[SHOWN_IN[row.id]]
    with changed(OUTPUT, row, replace(row.then, **{cell: not getattr(row.then, cell)})):
        after, _ = await turn.done()
    assert after != walks[SHOWN_IN[row.id]][0]


def exits_with_other_tickets() -> Iterator[tuple[DecisionRow[Exit], Exit]]:
    """Yield each row of the table of exits with what it would be under each other rule that its kind can have."""
    for row in EXITS.rows:
        for rule in TicketRule:
            with suppress(TableError):
                if rule is not row.then.ticket:
                    yield row, replace(row.then, ticket=rule)


TICKETS: Final = list(exits_with_other_tickets())


@pytest.mark.parametrize(("row", "other"), TICKETS, ids=[f"{row.id}, {other.ticket}" for row, other in TICKETS])
async def test_each_ticket_of_the_table_of_exits_is_sent_or_not(
    row: DecisionRow[Exit], other: Exit, walks: Any
) -> None:
    """With another rule in its row, people get another ticket, or none, where tickets are wide."""
    met = next(name for name, (_, made) in walks.items() if ("DT-008", row.id) in made)
    wide = Turn(TURNS[met].text, **TURNS[met].given, tickets=Tickets.WIDE)
    before, _ = await wide.done()
    with changed(EXITS, row, other):
        after, _ = await wide.done()
    assert after != before


WORDED: Final = [row for row in EXITS.rows if row.then.text]


@pytest.mark.parametrize("row", WORDED, ids=[row.id for row in WORDED])
async def test_each_text_of_the_table_of_exits_is_what_is_said(row: DecisionRow[Exit], walks: Any) -> None:
    """With the key of another text in its row, the user reads something else."""
    other = "not_found" if row.then.text != "input" else "output"
    met = next(name for name, (_, made) in walks.items() if ("DT-008", row.id) in made)
    with changed(EXITS, row, replace(row.then, text=other)):
        after, _ = await TURNS[met].done()
    assert after != walks[met][0]
