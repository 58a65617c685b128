"""What each required action changes, seen from the sources and the drafter; a retry never asks the same again."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver

from adapters.fakes.drafting import FakeDrafter
from adapters.fakes.moderation import FakeModerator
from adapters.fakes.planning import FakePlanner
from adapters.fakes.sources import Answers, FakeSource
from contracts.context import STEPS_PER_TURN, Context
from contracts.decisions import EVIDENCE, VERDICT
from contracts.decisions.effects import EFFECTS, combine
from contracts.decisions.verdict import FINDINGS_ACTIONS
from contracts.enums import DraftKind, EvidenceCounted, RequestType, RequiredAction, RiskLevel, Source, Verdict
from contracts.evidence import EvidenceItem
from contracts.ports import Draft, DraftRequest, SearchRequest
from contracts.profile import Profile
from contracts.report import GuardianReport
from graph.build import Ports, build_graph
from guards.judged_hash import judged_hash
from tests.support.turn import ANSWER, PROFILE, SAFE, passage, plan

A = RequiredAction
QUESTION = "When does the kettle boil?"
WITH_SYNONYMS = PROFILE.model_copy(update={"synonyms": (("urn", "kettle"),)})


@dataclass(frozen=True)
class Attempt:
    """What the sources and the drafter were asked between one verdict and the next."""

    searches: tuple[tuple[Source, SearchRequest], ...]
    drafts: tuple[DraftRequest, ...]

    @property
    def kinds(self) -> set[Source]:
        return {kind for kind, _ in self.searches}

    def each(self, name: str) -> set[Any]:
        """Return the values that a field has in the requests to sources."""
        return {getattr(request, name) for _, request in self.searches}

    @property
    def texts(self) -> frozenset[str]:
        """The words that were drafted from."""
        return frozenset(" ".join(item.snippet.split()) for request in self.drafts for item in request.evidence)

    @property
    def evidence_kinds(self) -> set[Source]:
        return {item.source for request in self.drafts for item in request.evidence}


def passage_of(kind: Source, number: int) -> EvidenceItem:
    """Return a passage; each kind says something else, for the same words of two kinds would be one passage."""
    name = f"{kind}:{number}"
    text = f"The kettle boils at 100 degrees. So says {name}."
    return passage(number, source=kind, ref=f"{name}#0", document=name, snippet=text)


def copies_of(item: EvidenceItem, number: int) -> list[EvidenceItem]:
    """Return the same words in other documents, with more white space in each."""
    return [
        item.model_copy(
            update={
                "ref": f"{item.document}-copy{n}#0",
                "document": f"{item.document}-copy{n}",
                "snippet": item.snippet.replace(". ", "." + " " * (n + 1)),
            }
        )
        for n in range(1, number + 1)
    ]


@dataclass
class Desk:
    """A built graph with sources and a drafter that write down what they are asked."""

    request_type: RequestType = RequestType.DESIGN_ARCH
    kinds: Iterable[Source] = tuple(Source)
    drafts: list[Draft] = field(default_factory=lambda: [Draft(DraftKind.ANSWER, ANSWER)])
    max_retry: int = 2
    copies: int = 0
    profile: Profile = WITH_SYNONYMS
    answers: Answers | None = None

    def __post_init__(self) -> None:
        self.sources = {kind: FakeSource(kind, self.answers or self._found(kind)) for kind in self.kinds}
        self.drafter = FakeDrafter(self.drafts)
        self.graph = build_graph(
            Ports(
                moderator=FakeModerator(SAFE),
                planner=FakePlanner([plan(request_type=self.request_type)]),
                sources=self.sources,
                drafter=self.drafter,
            ),
            self.profile,
            checkpointer=InMemorySaver(),
        )
        self.config: Any = {"configurable": {"thread_id": "t"}, "recursion_limit": STEPS_PER_TURN}
        self.values: Any = None

    def _found(self, kind: Source) -> Answers:
        """Return what a source finds; feedback finds one passage more."""
        passages = self._passages(kind)
        more = () if self.copies else (passage_of(kind, 3),)
        return lambda request: [*(more if request.expand else ()), *passages]

    def _passages(self, kind: Source) -> list[EvidenceItem]:
        return [one for n in (1, 2) for one in (passage_of(kind, n), *copies_of(passage_of(kind, n), self.copies))]

    async def first(self, message: str = "q") -> Attempt:
        """Run a turn up to its first verdict."""
        return await self._run({"messages": [HumanMessage(QUESTION, id=message)]})

    async def then(self, *actions: RequiredAction, verdict: Verdict = Verdict.RETRY) -> Attempt:
        """Let the verdict be one with these actions, and run on up to the next, or to the end."""
        report = GuardianReport(
            verdict=verdict,
            reasons=[f"because_of={actions}"],
            required_actions=list(actions),
            risk_level=RiskLevel.MED,
            checks={"policy": "ok"},
        )
        # What the next verdict is does not matter: it is replaced as this one is.
        replaced = report.model_dump(mode="json")
        replaced["judged_hash"] = judged_hash(self.values, replaced)
        await self.graph.aupdate_state(self.config, {"guardian": replaced}, "guardian_verify")
        return await self._run(None)

    async def _run(self, start: Any) -> Attempt:
        for source in self.sources.values():
            source.requests.clear()
        self.drafter.requests.clear()
        context = Context(role="operator", max_retry=self.max_retry, top_k=6)
        self.values = await self.graph.ainvoke(start, self.config, context=context, interrupt_after=["guardian_verify"])
        searches = [(kind, request) for kind, source in self.sources.items() for request in source.requests]
        return Attempt(tuple(searches), tuple(self.drafter.requests))


# ------------------------------------------------------------------------------------------- what each action changes

Check = Callable[[Attempt, Attempt], None]


def twice_as_many_of_any_language(before: Attempt, after: Attempt) -> None:
    asked_before, asked_after = ({kind: request.top_k for kind, request in a.searches} for a in (before, after))
    assert asked_after == {kind: 2 * top_k for kind, top_k in asked_before.items()}
    assert (before.each("language"), after.each("language")) == ({"en"}, {None})


def feedback_terms(before: Attempt, after: Attempt) -> None:
    assert (before.each("expand"), after.each("expand")) == ({False}, {True})
    assert before.each("query") == after.each("query") == {QUESTION, "when does the urn boil"}
    assert before.drafts[0].subqueries == ("when does the urn boil",)


def more_and_otherwise(before: Attempt, after: Attempt) -> None:
    twice_as_many_of_any_language(before, after)
    feedback_terms(before, after)


def other_documents(before: Attempt, after: Attempt) -> None:
    more_and_otherwise(before, after)
    had = frozenset(item.document_key for item in before.drafts[0].evidence)
    assert had
    assert (before.each("exclude"), after.each("exclude")) == ({frozenset()}, {had})


def without_documents(before: Attempt, after: Attempt) -> None:
    assert Source.DOC in before.kinds & before.evidence_kinds
    assert Source.DOC not in after.kinds | after.evidence_kinds
    assert after.kinds


def database_alone(before: Attempt, after: Attempt) -> None:
    assert len(before.kinds) > 1
    assert (after.kinds, after.evidence_kinds) == ({Source.DB}, {Source.DB})


def asks(kind: Source) -> Check:
    def check(before: Attempt, after: Attempt) -> None:
        assert kind not in before.kinds
        assert after.kinds == before.kinds | {kind}
        assert kind in after.evidence_kinds - before.evidence_kinds

    return check


def told_why(action: RequiredAction) -> Check:
    def check(before: Attempt, after: Attempt) -> None:
        assert after.searches == ()
        ((first,), (second,)) = before.drafts, after.drafts
        assert (first.reasons, first.actions, first.previous) == ((), (), "")
        assert (second.reasons, second.actions) == ((f"because_of={(action,)}",), (action,))
        assert second.previous == ANSWER
        assert second.evidence == first.evidence

    return check


SEARCHES: dict[RequiredAction, tuple[RequestType, Check]] = {
    A.ADD_EVIDENCE: (RequestType.DESIGN_ARCH, more_and_otherwise),
    A.RETRIEVE_MORE: (RequestType.DESIGN_ARCH, twice_as_many_of_any_language),
    A.DIVERSIFY_SOURCES: (RequestType.DESIGN_ARCH, other_documents),
    A.REMOVE_DOC_EVIDENCE: (RequestType.DESIGN_ARCH, without_documents),
    A.USE_DB_ONLY: (RequestType.DESIGN_ARCH, database_alone),
    # Each of a type that does not ask this kind by itself.
    A.RETRIEVE_DB: (RequestType.KNOWLEDGE_QA, asks(Source.DB)),
    A.RETRIEVE_DOC: (RequestType.TROUBLESHOOTING, asks(Source.DOC)),
    A.RETRIEVE_POLICY: (RequestType.STATUS_LIST, asks(Source.POLICY)),
    A.RETRIEVE_NEO4J: (RequestType.HOWTO_POLICY, asks(Source.NEO4J)),
    A.REFINE_QUERY: (RequestType.DESIGN_ARCH, feedback_terms),
}
TELLS = (
    A.ADD_REQUIRED_SECTIONS,
    A.REMOVE_FORBIDDEN_CONTENT,
    A.USE_DOMAIN_TERMS,
    A.ADD_EVIDENCE_REFERENCES,
    A.REGENERATE_DRAFT,
)
ENDS = {
    A.ASK_MINIMAL_QUESTION: "pages_shown",
    A.SAFE_REFUSAL: "refused",
    A.REDACT_SENSITIVE: "refused",
    A.ESCALATE_TO_HUMAN: "handed_off",
}


@pytest.mark.parametrize("action", RequiredAction)
async def test_every_action_changes_what_is_asked_or_ends_the_turn(action: RequiredAction) -> None:
    """Alone, each action has the effect that its name says, on the wire to the sources and to the drafter."""
    request_type, check = SEARCHES.get(action, (RequestType.DESIGN_ARCH, told_why(action)))
    desk = Desk(request_type)
    before = await desk.first()
    if action in ENDS:
        after = await desk.then(action, verdict=Verdict.FAIL)
        assert after == Attempt((), ())
        assert desk.values["result"]["outcome"] == ENDS[action]
        return
    assert action in SEARCHES or action in TELLS
    after = await desk.then(action)
    check(before, after)
    assert len(after.drafts) == 1


def test_the_cases_are_those_of_the_table() -> None:
    """An action that searches, tells the drafter or ends the turn has a case of that kind here."""
    assert set(SEARCHES) == {action for action, effect in EFFECTS.items() if effect.searches}
    assert set(TELLS) == {action for action, effect in EFFECTS.items() if effect.redraft}
    assert set(ENDS) == {action for action, effect in EFFECTS.items() if effect.ends}
    assert {*SEARCHES, *TELLS, *ENDS} == set(RequiredAction)


# ------------------------------------------------------------------------------------------------ never the same again

RETRY_ACTIONS = [action for action in RequiredAction if not EFFECTS[action].ends]
"""What findings may ask for, in any mixture: more than the checks can come to together."""


def test_what_a_retry_may_ask_for_is_covered() -> None:
    """Each row of DT-005 that says RETRY takes its actions from the set that is drawn from here."""
    rows = [row.then for row in VERDICT.rows if row.then.verdict is Verdict.RETRY]
    assert rows
    assert all(row.take == FINDINGS_ACTIONS or set(row.actions) <= set(RETRY_ACTIONS) for row in rows)
    remedies = {action for rule in map(rule_of, RequestType) for action in rule.remedy}
    assert remedies <= set(RETRY_ACTIONS)


def rule_of(request_type: RequestType) -> Any:
    return EVIDENCE.decide(request_type=request_type).outcome


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    actions=st.lists(
        st.lists(st.sampled_from(RETRY_ACTIONS), min_size=1, max_size=4, unique=True), min_size=1, max_size=3
    ),
    request_type=st.sampled_from([t for t in RequestType if t is not RequestType.CASUAL]),
    kinds=st.sets(st.sampled_from(list(Source))),
    same_draft=st.booleans(),
    repeat=st.booleans(),
    copies=st.integers(0, 2),
)
async def test_no_attempt_asks_the_same_as_the_one_before(
    actions: list[list[RequiredAction]],
    request_type: RequestType,
    kinds: set[Source],
    same_draft: bool,
    repeat: bool,
    copies: int,
) -> None:
    """What a retry asks is not what was asked before, or nothing is drafted and no retry is left.

    Nor does it draft from the words of an earlier attempt, in however many documents they are, but where the drafter
    is told something new. A draft that stays is judged with the evidence that it was written from, in its order.
    """
    asked = [actions[0]] * 3 if repeat else actions
    drafts = [Draft(DraftKind.ANSWER, ANSWER if same_draft else f"{ANSWER} Try {n}.") for n in range(4)]
    desk = Desk(request_type, kinds, drafts, max_retry=5, copies=copies)
    before = await desk.first()
    assert len(before.drafts) == 1
    drafted_from = [before.texts]
    for these in asked:
        evidence = desk.values["evidence"]
        after = await desk.then(*these)
        one_of_each_group_of_copies_stands(desk.values["query_traces"])
        if desk.values["nothing_new"]:
            assert desk.values["evidence"] == evidence
            assert after.drafts == ()
            assert desk.values["guardian"]["verdict"] != Verdict.RETRY
            return
        assert len(after.drafts) == 1
        assert after.drafts != before.drafts
        assert after != before
        effect = combine(these)
        if not effect.redraft:
            assert after.texts not in drafted_from
        drafted_from.append(after.texts)
        before = after


def one_of_each_group_of_copies_stands(traces: list[Any]) -> None:
    rows = [row for trace in traces for row in trace["passages"]]
    copies = {row["ref"]: row["copy_of"] for row in rows if row["fate"] == "copy"}
    assert not set(copies.values()) & set(copies)


async def diversified(desk: Desk) -> tuple[Attempt, Attempt]:
    """Return the attempts before and after the evidence was too much of one document."""
    return await desk.first(), await desk.then(A.DIVERSIFY_SOURCES, A.RETRIEVE_MORE)


async def test_a_copy_of_what_was_found_is_no_other_document() -> None:
    """Documents that say the same are left out together, and nothing is drafted from the same words again."""
    desk = Desk(RequestType.KNOWLEDGE_QA, [Source.DOC], copies=2, profile=PROFILE)
    before, after = await diversified(desk)
    every = {f"doc:{n}{copy}" for n in (1, 2) for copy in ("", "-copy1", "-copy2")}
    assert before.texts
    assert after.each("exclude") == {frozenset(every)}
    assert (after.drafts, desk.values["nothing_new"]) == ((), True)
    one_of_each_group_of_copies_stands(desk.values["query_traces"])


async def test_a_document_with_something_else_in_it_is_no_copy() -> None:
    """Where two documents have one passage in common, the other passages of the second are still asked for."""
    first = passage_of(Source.DOC, 1)
    (shared,) = copies_of(first, 1)
    weak = shared.model_copy(update={"ref": f"{shared.document}#1", "snippet": "Kettles whistle.", "confidence": 0.4})
    desk = Desk(RequestType.KNOWLEDGE_QA, [Source.DOC], profile=PROFILE, answers=[first, shared, weak])
    before, after = await diversified(desk)
    assert len(before.texts) == 1
    assert after.each("exclude") == {frozenset({first.document})}


async def test_a_copy_that_the_sources_did_not_show_before_brings_nothing_new() -> None:
    """The words count and not the document: a copy that only the retry finds is not drafted from."""
    first = passage_of(Source.DOC, 1)

    def found(request: SearchRequest) -> list[EvidenceItem]:
        return copies_of(first, 1) if request.exclude else [first]

    desk = Desk(RequestType.KNOWLEDGE_QA, [Source.DOC], profile=PROFILE, answers=found)
    before, after = await diversified(desk)
    assert before.texts
    assert after.each("exclude") == {frozenset({first.document})}
    assert (after.drafts, desk.values["nothing_new"]) == ((), True)
    one_of_each_group_of_copies_stands(desk.values["query_traces"])


async def test_where_nothing_was_sure_enough_the_wider_search_takes_less() -> None:
    """A long question is found with little confidence: its pages may be shown, though nothing was good enough to draft from."""
    weak = passage_of(Source.DOC, 1).model_copy(update={"confidence": 0.45})
    desk = Desk(RequestType.KNOWLEDGE_QA, [Source.DOC], profile=PROFILE, answers=lambda _: [weak])
    await desk.first()
    assert desk.values["evidence"] == []
    for _ in range(2):  # a further search does not lose them again
        await desk.then(A.RETRIEVE_MORE)
        assert [item["ref"] for item in desk.values["evidence"]] == [weak.ref]


async def test_what_is_sure_enough_leaves_no_room_for_what_is_not() -> None:
    """The wider search takes less only where it finds nothing to answer from."""
    sure, weak = passage_of(Source.DOC, 1), passage_of(Source.DOC, 2).model_copy(update={"confidence": 0.45})
    found = iter([[], [sure, weak]])
    desk = Desk(RequestType.KNOWLEDGE_QA, [Source.DOC], profile=PROFILE, answers=lambda _: next(found))
    await desk.first()
    await desk.then(A.RETRIEVE_MORE)
    assert [item["ref"] for item in desk.values["evidence"]] == [sure.ref]


async def test_a_draft_that_stays_keeps_the_numbers_that_it_cites_by() -> None:
    """A search that brings the same passages in another order changes no evidence: `[1]` would mean another passage."""
    one, two = passage_of(Source.DOC, 1), passage_of(Source.DOC, 2)
    orders = iter([(one, two), (two.model_copy(update={"confidence": 1.0}), one)])
    desk = Desk(RequestType.KNOWLEDGE_QA, [Source.DOC], profile=PROFILE, answers=lambda _: list(next(orders)))
    await desk.first()
    evidence = desk.values["evidence"]
    await desk.then(A.RETRIEVE_MORE)
    assert (desk.values["nothing_new"], desk.values["evidence"]) == (True, evidence)
    assert [item["ref"] for item in evidence] == [one.ref, two.ref]


@pytest.mark.parametrize(
    ("action", "left"), [(A.REMOVE_DOC_EVIDENCE, set(Source) - {Source.DOC}), (A.USE_DB_ONLY, {Source.DB})]
)
async def test_what_was_given_up_stays_given_up(action: RequiredAction, left: set[Source]) -> None:
    """An action that takes kinds of sources away does so for the rest of the turn, whatever later ones ask for."""
    desk = Desk(max_retry=5)
    await desk.first()
    without = await desk.then(action)
    later = await desk.then(A.RETRIEVE_MORE)
    asked_for = await desk.then(A.RETRIEVE_DOC, A.REFINE_QUERY)
    assert [attempt.kinds for attempt in (without, later, asked_for)] == [left] * 3
    assert Source.DOC in (await desk.first("next")).kinds
    assert Source.DOC in (await desk.then(A.RETRIEVE_MORE)).kinds


# -------------------------------------------------------------------------------------------------- as the handbook says

COLUMNS = ("more", "refine", "other_documents", "sources", "redraft", "ends")
SOURCES = {
    "en": {"add_sources": "also", "drop_sources": "without", "only_sources": "only"},
    "ru": {"add_sources": "ещё и", "drop_sources": "без", "only_sources": "только"},
}


@pytest.mark.parametrize("language", SOURCES)
def test_the_table_in_the_handbook_is_the_table_that_runs(root: Path, language: str) -> None:
    """Each action has its row on the page of retries, with a word in the columns of its effect and a dash elsewhere."""
    page = (root / "knowledge" / language / "retries.md").read_text("utf-8")
    lines = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in page.splitlines() if line.startswith("|")
    ]
    shown = {cells[0].strip("`"): cells[1:] for cells in lines if len(cells) == 1 + len(COLUMNS)}
    for action, effect in EFFECTS.items():
        sources = [
            f"{word} {', '.join(f'`{source}`' for source in named)}"
            for group, word in SOURCES[language].items()
            if (named := getattr(effect, group))
        ]
        for column, cell in zip(COLUMNS, shown.pop(action), strict=True):
            if column == "sources":
                assert cell == (", ".join(sources) or "–"), action
            else:
                assert (cell != "–") is getattr(effect, column), (action, column)
    assert len(shown) == 2, "beside the actions, the table has its head and its rule"


@pytest.mark.parametrize("language", SOURCES)
def test_the_handbook_says_where_another_source_is_asked_at_all(root: Path, language: str) -> None:
    """With all kinds connected, an action that adds a source does so for the types of its row, and for no others."""
    page = (root / "knowledge" / language / "retries.md").read_text("utf-8")
    types = [request_type for request_type in RequestType if request_type is not RequestType.CASUAL]
    adding = {action: effect.add_sources for action, effect in EFFECTS.items() if effect.add_sources}
    none = 0
    for action, sources in adding.items():
        rules = {request_type: rule_of(request_type) for request_type in types}
        new = [t for t, rule in rules.items() if not {*rule.allowed(), *rule.forbidden}.issuperset(sources)]
        assert f"| `{action}` | {', '.join(new)} |" in page
        none += len(types) - len(new)
    among = len(types) * len(adding)
    assert {"en": f"{none} of the {among} pairs", "ru": f"{none} из {among} сочетаний"}[language] in page


STRICT = Context(role="user", evidence_counted=EvidenceCounted.SENT, min_evidence=2)


async def with_drafts(*drafts: Draft, sureness: float = 0.8, context: Context = STRICT) -> dict[str, Any]:
    """Return a turn that needs two passages: the first search has one, the wider one another beside it."""
    one = passage(1)
    lid = passage(
        2, ref="lid#0", document="lid", snippet="The kettle has a lid. It is made of tin.", confidence=sureness
    )

    source = FakeSource(Source.DOC, lambda _: [lid, one] if len(source.requests) > 1 else [one])
    ports = Ports(
        FakeModerator(SAFE),
        FakePlanner([plan(subqueries=[QUESTION])]),
        {Source.DOC: source},
        FakeDrafter(drafts),
    )
    graph = build_graph(ports, PROFILE)
    return await graph.ainvoke({"messages": [HumanMessage(QUESTION)]}, context=context)


@pytest.mark.parametrize(
    "second",
    [
        Draft(DraftKind.ANSWER, f"{ANSWER} It is 250 degrees [1]."),
        Draft(DraftKind.ABSTENTION, "The knowledge base does not say."),
    ],
    ids=["unproved", "abstains"],
)
async def test_a_good_draft_is_not_lost_by_widening(second: Draft) -> None:
    """What lacked more evidence alone is judged again with what the wider search brought, where the next draft does not pass."""
    values = await with_drafts(Draft(DraftKind.ANSWER, ANSWER), second)
    assert (values["guardian"]["verdict"], values["draft_answer"]) == (Verdict.PASS, ANSWER)
    assert [item["ref"] for item in values["evidence"]][1:] == ["lid#0"]
    assert values["retry_count"] == 1


async def test_a_draft_that_passes_replaces_the_one_that_was_kept() -> None:
    """It was drafted from more, and the earlier one from less."""
    better = Draft(DraftKind.ANSWER, "At 100 degrees the kettle boils [2]. It has a lid of tin [1].")
    values = await with_drafts(Draft(DraftKind.ANSWER, ANSWER), better, sureness=1.0)
    assert (values["guardian"]["verdict"], values["draft_answer"]) == (Verdict.PASS, better.text)


async def test_a_question_is_asked_though_an_earlier_draft_was_kept() -> None:
    """A kept draft that still lacks evidence stands in nobody's way."""
    asks = Draft(DraftKind.CLARIFICATION, "Which kettle do you mean?")
    strict = Context(role="user", min_evidence=2, sure_confidence=0.99)
    values = await with_drafts(Draft(DraftKind.ANSWER, "At 100 degrees it boils [1]."), asks, context=strict)
    assert values["guardian"]["reasons"] == ["clarification_needed"]


async def test_a_violation_of_policy_ends_the_turn_though_an_earlier_draft_was_kept() -> None:
    """What a drafter wrote against the rules is never passed over."""
    leaks = Draft(DraftKind.ANSWER, "The password: hunter2hunter2 opens the kettle [1].")
    values = await with_drafts(Draft(DraftKind.ANSWER, ANSWER), leaks)
    assert values["guardian"]["verdict"] == Verdict.FAIL
    assert values["guardian"]["checks"]["policy"] == "violated"
