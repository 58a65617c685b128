from __future__ import annotations

import asyncio
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from adapters.lookups.graph import GraphSource, Ladybug, StatementLimits
from adapters.lookups.graph.naming import named_in, resolve_name
from contracts.enums import Language, RequestType, Source
from contracts.errors import SourceUnavailable
from contracts.evidence import EvidenceItem
from contracts.lookups import LookupCall, LookupValue
from contracts.ports import EvidenceSource, SearchRequest
from tests.support.graph_source.small_graph import MENTIONS, lookup, make_graph
from tests.support.ports.source_conformance import SourceConformance

IN_LANGUAGE = MENTIONS.replace("$setting", "$setting AND ($language = 'any' OR p.language = $language)")
WITH_LANGUAGE = [
    {"name": "setting", "type": "text"},
    {"name": "language", "type": "choice", "choices": ["any", "en", "ru"], "default": "any"},
]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return make_graph(tmp_path)


@pytest.fixture
def source(file: Path) -> Iterator[GraphSource]:
    opened = GraphSource(Ladybug(file), [lookup(IN_LANGUAGE, arguments=WITH_LANGUAGE)])
    yield opened
    opened.close()


class TestConformance(SourceConformance):
    @pytest.fixture
    def source(self, tmp_path: Path) -> Iterator[EvidenceSource]:
        titles = "MATCH (p:Page) RETURN p.path AS page_path, p.title AS page_title ORDER BY page_path"
        apples = lookup(
            titles,
            arguments=[],
            answers={"en": ["apple"], "ru": ["яблоко"]},
            row={"en": "Of apples speaks {page_title}.", "ru": "О яблоках говорит {page_title}."},
            none={"en": "None.", "ru": "Нет."},
        )
        opened = GraphSource(Ladybug(make_graph(tmp_path)), [apples])
        yield opened
        opened.close()

    @pytest.fixture
    def broken(self, tmp_path: Path) -> EvidenceSource:
        file = make_graph(tmp_path)
        opened = GraphSource(Ladybug(file), [lookup(MENTIONS, arguments=[{"name": "setting", "type": "text"}])])
        shutil.rmtree(file.parent)
        return opened


async def asked(source: GraphSource, query: str, language: Language | None = Language.EN) -> list[EvidenceItem]:
    return list((await source.search(SearchRequest(query, language=language))).items)


async def test_a_row_is_a_sentence_with_the_page_that_it_stands_on(source: GraphSource) -> None:
    """An item says what the row says, and cites the page by title, address and number."""
    items = await asked(source, "Which pages mention the setting ORCHARD_MODE?")
    assert [item.snippet for item in items] == [
        "The page Settings mentions ORCHARD_MODE.",
        "The page Troubleshooting mentions ORCHARD_MODE.",
    ]
    first = items[0]
    assert (first.source, first.document, first.title) == (Source.NEO4J, "docs/settings.md", "Settings")
    assert (first.url, first.kb_id, first.confidence) == ("https://docs.test/settings", 7, 1.0)
    assert first.ref == "neo4j:pages_with_setting(language=en,setting=ORCHARD_MODE)#1"


async def test_rows_are_said_in_the_language_of_the_question(source: GraphSource) -> None:
    """A Russian question gets Russian sentences of Russian pages; without a language, of all pages."""
    items = await asked(source, "На каких страницах упоминают настройку ORCHARD_MODE?", Language.RU)
    assert [item.snippet for item in items] == ["Страница Настройки сада упоминает ORCHARD_MODE."]
    assert len(await asked(source, "Which pages mention the setting ORCHARD_MODE?", None)) == 3


@pytest.mark.parametrize(
    "name", ["orchard mode", "Orchard-Mode", "`ORCHARD_MODE`", "«orchard_mode»", "ORCHARD\u2011MODE"]
)
async def test_a_name_is_recognised_however_it_is_written(source: GraphSource, name: str) -> None:
    """Case, dashes, underscores and quotes make no other name: the graph's own is looked up."""
    assert len(await asked(source, f"Which pages mention {name}?")) == 2


async def test_a_question_about_nothing_that_the_graph_has_finds_nothing(source: GraphSource) -> None:
    """Without a name of the graph, or without words that one of its questions has, nothing is looked up."""
    for query in ("Which pages mention the setting PEAR_MODE?", "Is ORCHARD_MODE expensive?", "Hello", "mode"):
        assert await asked(source, query) == []


async def test_a_plan_s_lookup_is_run_with_the_graph_s_name_for_its_value(source: GraphSource) -> None:
    """What a plan names is run whatever the words; a value that means a name of the graph becomes that name."""
    for value, found in (("orchard mode", 2), ("the setting ORCHARD_MODE", 2), ("pears", 1)):
        call = LookupCall(name="pages_with_setting", arguments=(LookupValue(name="setting", value=value),))
        request = SearchRequest("Something else", language=Language.EN, lookups=(call,))
        items = (await source.search(request)).items
        assert len(items) == found
    assert items[0].snippet == "No page mentions pears."


async def test_lookups_that_answer_a_question_equally_are_both_run(file: Path) -> None:
    """One question can have its answer in two statements."""
    one = lookup(MENTIONS)
    other = lookup(MENTIONS.replace(":MENTIONS", ":SETS"), name="pages_that_set")
    source = GraphSource(Ladybug(file), [one, other])
    items = await asked(source, "Which pages mention the setting ORCHARD_MODE?")
    assert {item.ref.partition("(")[0] for item in items} == {"neo4j:pages_with_setting", "neo4j:pages_that_set"}
    source.close()


async def test_more_rows_than_are_allowed_are_said_to_be_left_out(file: Path) -> None:
    """A cut answer never looks whole."""
    source = GraphSource(Ladybug(file), [lookup(MENTIONS)], StatementLimits(rows=2))
    reply = await source.search(SearchRequest("Which pages mention the setting ORCHARD_MODE?"))
    assert len(reply.items) == 2
    assert "there are more than 2 rows" in reply.trace.degraded
    assert {item.found for item in reply.items} == {"2+"}
    source.close()


async def test_bytes_are_limited_as_loudly_as_rows(file: Path) -> None:
    """What does not fit is counted as "and more"; where not even one row fits, "none" would be a lie."""
    query = "Which pages mention the setting ORCHARD_MODE?"
    for size, found in ((60, ["1+"]), (1000, ["3", "3", "3"])):
        source = GraphSource(Ladybug(file), [lookup(MENTIONS)], StatementLimits(size=size))
        reply = await source.search(SearchRequest(query))
        source.close()
        assert [item.found for item in reply.items] == found
        assert bool(reply.trace.degraded) is (len(found) == 1)
    source = GraphSource(Ladybug(file), [lookup(MENTIONS)], StatementLimits(size=10))
    with pytest.raises(SourceUnavailable, match="a row of more than 10 bytes"):
        await source.search(SearchRequest(query))
    source.close()


async def test_a_statement_that_does_not_fit_the_graph_cannot_be_asked(file: Path) -> None:
    """A label or a property that the graph does not have is an error of the profile, and not an empty answer."""
    source = GraphSource(Ladybug(file), [lookup(MENTIONS.replace(":MENTIONS", ":LIKES"))])
    with pytest.raises(SourceUnavailable) as caught:
        await asked(source, "Which pages mention the setting ORCHARD_MODE?")
    assert caught.value.way_out == "Correct the lookup 'pages_with_setting' in the profile."
    source.close()


async def test_many_turns_ask_at_once(source: GraphSource) -> None:
    """Searches that run side by side have the same answers as one after another."""
    alone = await asked(source, "Which pages mention the setting ORCHARD_MODE?")
    together = await asyncio.gather(
        *(asked(source, "Which pages mention the setting ORCHARD_MODE?") for _ in range(50))
    )
    assert together == [alone] * 50


def test_an_error_s_message_is_recognised_by_most_of_its_words() -> None:
    """Nobody writes a message out: three quarters of the words of one of its quotes are enough, fewer are not."""
    names = ['"The basket is full of apples" (`BasketFull`)', '"No ladder in the tree"']
    found = named_in("the basket is full of apples, what should I do", names)
    assert found is not None
    assert found.name == names[0]
    assert named_in("Where is my basket?", names) is None
    assert named_in("What is BasketFull?", ["BasketFull"]) is not None


def test_an_ordinary_word_is_a_name_only_where_it_is_quoted() -> None:
    """Keys of one word are words of everyday questions too."""
    assert named_in("What evidence is there?", ["evidence"]) is None
    assert named_in("What is `evidence`?", ["evidence"]) is not None
    assert resolve_name("evidence", ["evidence", "Evidence"]) == "evidence"
    assert resolve_name("Ёлка", ["елка"]) == "елка"
    assert resolve_name("pear", ["apple"]) is None


def test_the_longest_name_is_meant() -> None:
    """`GUARDIAN_MODEL_WINDOW` is not `GUARDIAN_MODEL`, and what is written exactly so is meant before a like one."""
    names = ["GUARDIAN_MODEL", "GUARDIAN_MODEL_WINDOW", "guard_mode", "GUARD_MODE"]
    assert resolve_name("the window: GUARDIAN_MODEL_WINDOW", names) == "GUARDIAN_MODEL_WINDOW"
    found = named_in("What is GUARD_MODE?", names)
    assert found is not None
    assert (found.name, found.rest) == ("GUARD_MODE", "what is")


# ------------------------------------------------------------------------------------------- of the type of a request

ERRORS = (
    "MATCH (p:Page)-[:HAS_SECTION]->(s:Section)-[:NAMES]->(e:Error) WHERE e.name = $error RETURN e.remedy AS remedy"
)


def of_errors(file: Path) -> GraphSource:
    remedies = lookup(
        ERRORS,
        arguments=[{"name": "error", "type": "text", "max_length": 300}],
        answers={"en": ["What does the message say?"], "ru": ["О чём сообщение?"]},
        row={"en": "{error}: {remedy}", "ru": "{error}: {remedy}"},
        none={"en": "None.", "ru": "Нет."},
        request_types=["TROUBLESHOOTING"],
    )
    return GraphSource(Ladybug(file), [remedies])


@pytest.mark.parametrize(
    ("query", "kind", "remedy"),
    [
        ("The basket overflows with apples", RequestType.TROUBLESHOOTING, "empty it"),
        ("My basket is broken, full of apples, it does not work", RequestType.TROUBLESHOOTING, "empty it"),
        ("There is an error with the ladder", RequestType.TROUBLESHOOTING, "run `guardian index`"),
        ("There is an error with the ladder", RequestType.KNOWLEDGE_QA, ""),
        ("There is an error with the ladder", None, ""),
        ("The tractor has an error", RequestType.TROUBLESHOOTING, ""),
        ("It does not work", RequestType.TROUBLESHOOTING, ""),
    ],
)
async def test_a_fault_in_a_users_words_finds_what_shares_most_with_it(
    file: Path, query: str, kind: RequestType | None, remedy: str
) -> None:
    """Only for the types of requests that the lookup stands for; words that only say that something fails do not count."""
    source = of_errors(file)
    try:
        items = (await source.search(SearchRequest(query, language=Language.EN, request_type=kind))).items
    finally:
        source.close()
    assert [remedy in item.snippet for item in items] == ([True] if remedy else [])
    assert all(item.confidence >= 0.75 for item in items)


async def test_a_lookup_without_a_row_gives_way_to_those_of_the_type(file: Path) -> None:
    """Where the words ask for one that finds nothing, what shares the words of the fault stands in for "none"."""
    nothing = lookup(
        f"{MENTIONS.split(' RETURN')[0]} AND p.title = 'None such' RETURN p.title AS page_title",
        name="nothing",
        answers={"en": ["It fails"], "ru": ["Сбой"]},
    )
    remedies = lookup(
        ERRORS,
        name="remedies",
        arguments=[{"name": "error", "type": "text", "max_length": 300}],
        answers={"en": ["What does the message say?"], "ru": ["О чём сообщение?"]},
        row={"en": "{error}: {remedy}", "ru": "{error}: {remedy}"},
        none={"en": "None.", "ru": "Нет."},
        request_types=["TROUBLESHOOTING"],
    )
    source = GraphSource(Ladybug(file), [nothing, remedies])
    query = "ORCHARD_MODE fails, the basket is full"
    try:
        for kind, said in ((RequestType.TROUBLESHOOTING, "empty it"), (RequestType.KNOWLEDGE_QA, "No page mentions")):
            items = (await source.search(SearchRequest(query, language=Language.EN, request_type=kind))).items
            assert len(items) == 1
            assert said in items[0].snippet
    finally:
        source.close()


async def test_a_fault_is_not_looked_for_in_another_language(file: Path) -> None:
    """The names of a Russian question's language are none of these, though they share its words."""
    source = of_errors(file)
    try:
        request = SearchRequest("No ladder, ошибка", language=Language.RU, request_type=RequestType.TROUBLESHOOTING)
        assert (await source.search(request)).items == ()
    finally:
        source.close()


async def test_an_error_that_is_named_stands_above_a_name_beside_it(file: Path) -> None:
    """Of lookups that fit equally, those are asked whose name is most of the question."""
    remedies = lookup(
        ERRORS,
        name="remedies",
        arguments=[{"name": "error", "type": "text", "max_length": 300}],
        answers={"en": ["What to do?"], "ru": ["Что делать?"]},
        row={"en": "{error}: {remedy}", "ru": "{error}: {remedy}"},
        none={"en": "None.", "ru": "Нет."},
    )
    mentions = lookup(MENTIONS, arguments=[WITH_LANGUAGE[0]], answers={"en": ["It fails"], "ru": ["Сбой"]})
    source = GraphSource(Ladybug(file), [remedies, mentions])
    try:
        items = await asked(source, "ORCHARD_MODE fails: the basket is full of apples, what to do?")
    finally:
        source.close()
    assert {item.ref.partition("(")[0] for item in items} == {"neo4j:remedies"}
