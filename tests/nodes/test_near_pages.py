"""Near pages stand behind those that a search was sure of; alone, they are shown, and a person gets the question, too.

No other test has a turn that searched and was sure of nothing; these came with row `near` of DT-008.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from adapters.fakes.hand_off import FakeSink
from adapters.fakes.sources import FakeSource
from adapters.fakes.topic import FakeTopicProbe
from assistant.turns.views import cited_by_number, cited_sources
from contracts.calls import ModelCall
from contracts.context import Context
from contracts.enums import CallPurpose, DraftKind, Language, Outcome, Source
from contracts.errors import SourceUnavailable
from contracts.ports import Draft, EvidenceSource, SearchReply, SearchRequest
from contracts.result import StructuredAgentResult
from guards.exits import MOST_NEAR, NEAR_FROM
from nodes.safe_exit import Documents
from tests.support.turn import PROFILE, UP_TO_THE_VERDICT, State, begin_turn, passage, plan, play, ports

SILENT = Draft(DraftKind.ABSTENTION, "The documents do not say.")
SLOWLY = "Why does the water boil so slowly?"
PROFILE_OF_DOCS = PROFILE.model_copy(
    update={"roles": {**PROFILE.roles, "reader": PROFILE.roles["user"].model_copy(update={"sources": ("doc",)})}}
)


def near(number: int, confidence: float = 0.3, **fields: Any) -> Any:
    """Return a passage that no search is sure of."""
    said = {"snippet": f"A kettle of kind {number} boils water fast.", **fields}
    return passage(number, confidence=confidence, **said)


class Junk:
    """A source that returns something that is no reply."""

    kind = Source.DOC

    def __init__(self, reply: Any) -> None:
        self.reply = reply

    async def search(self, request: SearchRequest) -> SearchReply:
        return self.reply


async def ended(
    found: Any,
    *,
    nearest: Any = None,
    sources: Mapping[Source, EvidenceSource] | None = None,
    role: str = "user",
    text: str = SLOWLY,
    sink: FakeSink | None = None,
    **planned: Any,
) -> tuple[State, list[str]]:
    """Return the state after a turn whose drafter is silent, and what its tickets say.

    Args:
        found: What each search of the turn returns.
        nearest: What the search at its end returns, if that is something else.
        sources: Those that are asked at its end, in place of one that returns `nearest`.
        role: Of the user.
        text: What is asked.
        sink: The receiver of tickets.
        planned: Fields of the plan.
    """
    desk = FakeSink() if sink is None else sink
    last = sources or {Source.DOC: FakeSource(Source.DOC, found if nearest is None else nearest)}
    planned = {"subqueries": [text], **planned}
    bound = ports(planned=plan(**planned), found=found, written=[SILENT] * 3, kinds=last, profile=PROFILE_OF_DOCS)
    documents = Documents(last, FakeTopicProbe())
    bound["safe_exit"] = {**bound["safe_exit"], "documents": documents, "sink": desk}
    context = Context(role=role, max_retry=0, version="5.2", source_seconds=0.2)
    state = await play(begin_turn(text), bound, *UP_TO_THE_VERDICT, context=context)
    done = await play(state, bound, "safe_exit", context=context)
    return done, [ticket.answer for ticket in desk.tickets]


def row_of(state: State) -> str:
    return next(line["row"] for line in state["result"]["decisions"] if line["table"] == "DT-008")


def titles(state: State) -> list[str]:
    return [page["title"] for page in state["result"]["pages"]]


async def test_the_nearest_pages_are_shown_and_a_person_gets_the_question() -> None:
    """They stand in the answer as near ones, surest first, with passages to look up, and one ticket goes out."""
    state, tickets = await ended([near(1), near(2, 0.4)])
    result = StructuredAgentResult.model_validate(state["result"])
    assert (row_of(state), result.outcome) == ("near", Outcome.PAGES_SHOWN)
    assert [source.title for source in cited_sources(result, PROFILE)] == ["Page 2", "Page 1"]
    behind = {number: [item.title for item in items] for number, items in cited_by_number(result, PROFILE).items()}
    assert behind == {1: ["Page 2"], 2: ["Page 1"]}
    assert "the nearest pages" in result.answer_text
    assert "passed on to a person" in result.answer_text
    assert len(tickets) == 1
    assert result.hand_off is not None
    assert result.hand_off.engineer_intervention_needed
    # The turn itself was sure of none: a person must not read that it found two.
    assert "Page 2" not in str(result.hand_off.steps_completed)


async def test_near_pages_fill_the_list_of_pages_that_were_found() -> None:
    """Behind what a search was sure of, up to five pages in all, each once and no copy; nobody is called for them."""
    sure = near(1, 0.9)
    copy = near(8, 0.8, snippet=sure.snippet)
    again = near(1, 0.8, ref="doc:1#9", snippet="The water of kind 1 boils slowly, too.")
    state, tickets = await ended([sure], nearest=[sure, copy, again, *(near(n, 0.1 + n / 100) for n in range(2, 8))])
    result = StructuredAgentResult.model_validate(state["result"])
    assert titles(state) == ["Page 1", "Page 7", "Page 6", "Page 5", "Page 4"]
    assert [items[0].title for items in cited_by_number(result, PROFILE).values()] == titles(state)
    assert row_of(state) == "pages"
    assert "the nearest pages" not in result.answer_text
    assert tickets == []


async def test_few_pages_are_near() -> None:
    """Under the floor nothing is shown, and of many pages only the nearest; each page once."""
    state, _ = await ended([near(n, 0.2 + n / 100) for n in range(1, 8)])
    assert len(titles(state)) == MOST_NEAR
    state, tickets = await ended([near(1, NEAR_FROM - 0.01)])
    assert state["result"]["outcome"] == Outcome.HANDED_OFF
    assert len(tickets) == 1


async def test_the_surest_of_several_searches_counts() -> None:
    """Of two queries, or of two kinds of documents, each is asked, and a passage keeps its best confidence."""

    def find(request: SearchRequest) -> list[Any]:
        return [near(1, 0.2), near(2, 0.3)] if "slowly" in request.query else [near(1, 0.4)]

    state, _ = await ended(find, subqueries=[SLOWLY, "Does a kettle boil water?"])
    assert titles(state) == ["Page 1", "Page 2"]


async def test_what_cannot_be_shown_hides_no_other_page() -> None:
    """Of copies the first that may be shown is, a passage counts as it is surest, and evidence is not near once more."""
    said = "Water boils slowly in an old kettle."
    other = near(1, 0.6, snippet=said, title="About other people's kettles")
    state, _ = await ended([other, near(2, 0.4, snippet=said)])
    assert titles(state) == ["Page 2"]
    state, _ = await ended([near(1, 0.6), near(1, 0.05)])
    assert titles(state) == ["Page 1"]
    short = near(1, 0.9, snippet="Nope.")
    state, _ = await ended([short], nearest=[near(1, 0.5, ref=short.ref), near(2, 0.4)])
    result = StructuredAgentResult.model_validate(state["result"])
    behind = {number: [item.title for item in items] for number, items in cited_by_number(result, PROFILE).items()}
    assert behind == {1: ["Page 2"]}


async def test_near_pages_in_another_language_stand_beside_none_in_the_users() -> None:
    """A page that shares no word is shown only if all that was found is in another language."""
    foreign = near(2, 0.4, language=Language.RU, snippet="Бухгалтерия работает до шести часов вечера.")
    state, _ = await ended([near(1, 0.9)], nearest=[foreign])
    assert titles(state) == ["Page 1"]


async def test_near_pages_are_of_the_documents_that_the_role_may_read_and_masked() -> None:
    """What a role may not read is not asked for it, and personal data stands nowhere, not in what is not shown, either."""
    rules = FakeSource(Source.POLICY, [near(2, source=Source.POLICY, ref="policy:2#0")])
    both = {Source.DOC: FakeSource(Source.DOC, [near(1)]), Source.POLICY: rules}
    state, _ = await ended([near(1)], sources=both, role="reader")
    assert titles(state) == ["Page 1"]
    assert rules.requests == []
    mail = near(1, snippet="Water boils slowly in an old kettle. Write to ivan.petrov@mail.ru about it.")
    state, tickets = await ended([mail])
    assert titles(state) == ["Page 1"]
    assert "petrov" not in f"{state['result']}{tickets}"


@pytest.mark.parametrize("broken", [SourceUnavailable("The index is away"), RuntimeError("secret-of-a-library")])
async def test_documents_that_fail_at_the_end_cost_the_near_pages_alone(broken: Exception) -> None:
    """The question is handed off as it was, and the result says what was missing; no more than that."""

    def fail(_: SearchRequest) -> list[Any]:
        raise broken

    state, tickets = await ended([near(1)], nearest=fail)
    assert (row_of(state), len(tickets)) == ("nothing", 1)
    assert any(line.startswith("near pages: ") for line in state["result"]["diagnostics"]["degraded"])
    assert "secret-of-a-library" not in str(state["result"])


@pytest.mark.parametrize("reply", [None, SearchReply(None, None), SearchReply([{"ref": 1}], None)])  # pyright: ignore[reportArgumentType]
async def test_a_source_that_returns_no_reply_costs_the_near_pages_alone(reply: Any) -> None:
    """Whatever a source of one's own returns, the turn ends as it would without near pages."""
    state, tickets = await ended([near(1)], sources={Source.DOC: Junk(reply)})
    assert (row_of(state), len(tickets)) == ("nothing", 1)
    assert any(line.startswith("near pages: ") for line in state["result"]["diagnostics"]["degraded"])


async def test_a_source_that_hangs_costs_its_own_near_pages() -> None:
    """Each search has a bound of its own: what the others found is shown, and the result says what was missing."""

    class Hanging(Junk):
        kind = Source.POLICY

        async def search(self, request: SearchRequest) -> SearchReply:
            await asyncio.Event().wait()
            return self.reply

    both = {Source.DOC: FakeSource(Source.DOC, [near(1)]), Source.POLICY: Hanging(None)}
    state, _ = await ended([near(1)], sources=both)
    assert titles(state) == ["Page 1"]
    assert "near pages: policy: It timed out after 0.2 s." in state["result"]["diagnostics"]["degraded"]


async def test_requests_to_models_of_a_search_that_failed_are_counted() -> None:
    """They cost as much as others."""
    call = ModelCall(purpose=CallPurpose.EMBED, model="tiny", server="127.0.0.1")
    failed = SourceUnavailable("The index is away", calls=(call,))
    without, _ = await ended([near(1)], nearest=[near(1)])
    state, _ = await ended([near(1)], nearest=failed)
    counted = [len(one["result"]["diagnostics"]["calls"]) for one in (without, state)]
    assert counted[1] == counted[0] + 1


async def test_near_pages_are_searched_for_as_the_turn_searched() -> None:
    """Of the run's version, with the user's own words, and in the documents' words as well."""
    source = FakeSource(Source.DOC, [])
    bound = ports(planned=plan(subqueries=[SLOWLY]), found=[], written=[SILENT] * 3)
    profile = PROFILE.model_copy(update={"synonyms": (("liquid", "water"),)})
    documents = Documents({Source.DOC: source}, FakeTopicProbe())
    bound["safe_exit"] = {**bound["safe_exit"], "documents": documents, "profile": profile}
    context = Context(max_retry=0, version="5.2")
    state = await play(begin_turn(SLOWLY), bound, *UP_TO_THE_VERDICT, context=context)
    await play(state, bound, "safe_exit", context=context)
    assert {(request.version, request.question) for request in source.requests} == {("5.2", SLOWLY)}
    assert [request.query for request in source.requests] == [SLOWLY, "why does the liquid boil so slowly"]


async def test_nothing_is_searched_for_where_no_page_may_follow() -> None:
    """If a source is down, if policy denies, or if no document was asked, the end is as it was, and costs no search."""

    def fail(_: SearchRequest) -> list[Any]:
        raise SourceUnavailable("The index is away")

    tried: set[str] = set()

    def fail_second(request: SearchRequest) -> list[Any]:
        if request.query in tried:
            raise SourceUnavailable("The index is away")
        tried.add(request.query)
        return [near(1)]

    for found, asked in ((fail, SLOWLY), (fail_second, SLOWLY), ([near(1)], "Show me other people's kettles")):
        last = {kind: FakeSource(kind, [near(1)]) for kind in (Source.DOC, Source.POLICY)}
        state, _ = await ended(found, sources=last, text=asked)
        assert titles(state) == []
        assert [source.requests for source in last.values()] == [[], []]
    source = FakeSource(Source.DOC, [near(1)])
    await ended([near(1)], sources={Source.DOC: source}, text="Thanks!", request_type="CASUAL")
    assert source.requests == []


async def test_a_report_that_names_no_draft_has_no_near_pages() -> None:
    """What nobody judged is not gone on with: the turn of an older version ends as it ended there."""
    bound = ports(planned=plan(subqueries=[SLOWLY]), found=[near(1)], written=[SILENT] * 3)
    documents = Documents({Source.DOC: FakeSource(Source.DOC, [near(1)])}, FakeTopicProbe())
    bound["safe_exit"] = {**bound["safe_exit"], "documents": documents}
    state = await play(begin_turn(SLOWLY), bound, *UP_TO_THE_VERDICT, context=Context(max_retry=0))
    older = {**state, "guardian": {name: value for name, value in state["guardian"].items() if name != "judged_hash"}}
    assert row_of(await play(state, bound, "safe_exit", context=Context())) == "near"
    assert row_of(await play(older, bound, "safe_exit", context=Context())) == "nothing"


@pytest.mark.parametrize("edited", ["secret", None, [1, None], []])
async def test_a_plan_whose_queries_were_edited_has_no_near_pages(edited: Any) -> None:
    """Nothing is searched for by what is no query, letter by letter or at all."""
    source = FakeSource(Source.DOC, [near(1)])
    bound = ports(planned=plan(subqueries=[SLOWLY]), found=[near(1)], written=[SILENT] * 3)
    bound["safe_exit"] = {**bound["safe_exit"], "documents": Documents({Source.DOC: source}, FakeTopicProbe())}
    state = await play(begin_turn(SLOWLY), bound, *UP_TO_THE_VERDICT, context=Context(max_retry=0))
    changed = {**state, "sgr_plan": {**state["sgr_plan"], "subqueries": edited}}
    done = await play(changed, bound, "safe_exit", context=Context())
    assert done["result"]["pages"] == []
    assert source.requests == []


@pytest.mark.parametrize(
    ("text", "snippet", "contact"),
    [
        (SLOWLY, "Water boils slowly in an old kettle.", "kettle support"),
        ("Почему вода кипит так медленно?", "Вода в старом чайнике кипит медленно.", "поддержка чайника"),
    ],
)
async def test_without_a_receiver_of_tickets_the_contact_stands_below_the_pages(
    text: str, snippet: str, contact: str
) -> None:
    """In both languages, with the number: else somebody whom no near page helps would not know where to turn."""
    page = near(1, snippet=snippet)
    bound = ports(planned=plan(subqueries=[text]), found=[page], written=[SILENT] * 3)
    documents = Documents({Source.DOC: FakeSource(Source.DOC, [page])}, FakeTopicProbe())
    bound["safe_exit"] = {**bound["safe_exit"], "documents": documents, "sink": None}
    state = await play(begin_turn(text), bound, *UP_TO_THE_VERDICT, context=Context(max_retry=0))
    done = await play(state, bound, "safe_exit", context=Context())
    last = done["final_answer"].rstrip().rpartition("\n")[2]
    assert contact in last
    assert done["result"]["hand_off"]["number"] in last
