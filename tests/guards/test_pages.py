"""Pages that may help: which of them, in which order, and with which sentence."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.enums import Language, PolicyStatus, Source
from contracts.evidence import EvidenceItem, PageSentence, PassageTrace, QueryTrace
from guards.pages import MOST_PAGES, pages_that_may_help
from guards.policy_check import check_answer
from rendering.exits import shown_pages
from tests.support.turn import PROFILE as OF_A_KETTLE
from tests.support.turn import passage

PROFILE = OF_A_KETTLE.model_copy(update={"product": "Kitchen"})
QUESTION = ("When does the kettle boil?",)
BOILS = "The kettle boils at 100 degrees."


def pages(*snippets: str, questions: tuple[str, ...] = QUESTION) -> list[tuple[int, str]]:
    """Return the numbers and sentences of pages, each snippet in a document of its own."""
    return find_pages([passage(n, snippet=text) for n, text in enumerate(snippets, 1)], questions)


def build_trace(
    query: str, read: dict[str, float], documents: dict[str, str] | None = None, odds: bool = True
) -> QueryTrace:
    """Return what a query found and a reranker has read."""
    of = documents or {}
    rows = tuple(PassageTrace(ref=ref, document=of.get(ref, ""), rerank_score_raw=raw) for ref, raw in read.items())
    return QueryTrace(query=query, source=Source.DOC, passages=rows, odds=odds)


def find_pages(evidence: list[EvidenceItem], questions: tuple[str, ...] = QUESTION) -> list[tuple[int, str]]:
    return [(page.number, page.sentence) for page in pages_that_may_help(questions, evidence, PROFILE, "user")]


def test_a_page_has_the_sentence_that_fits_the_question_best() -> None:
    """Of several sentences the one with the words of the question is shown, as it stands there."""
    assert pages(f"A kettle of water is clear. {BOILS} Tea is served in the afternoon.") == [(1, BOILS)]


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        (f"**Figure 3. {BOILS}**", BOILS),
        (f"**{BOILS} It hisses, too.**", BOILS),
        ("The **kettle boils** water at 100 degrees.", "The **kettle boils** water at 100 degrees."),
        ("The kettle boils at 2**7 degrees.", "The kettle boils at 2**7 degrees."),
        ("**kettle boils all the water.", "**kettle boils all the water."),
        ("The kettle boils water in src/**", "The kettle boils water in src/**"),
    ],
)
def test_a_sentence_out_of_bold_text_has_no_asterisks_left(written: str, shown: str) -> None:
    """Bold text may begin in the sentence before, and end in the next; powers, names and paths keep their asterisks."""
    assert pages(written) == [(1, shown)]


def test_a_page_in_another_language_is_shown_by_its_first_sentence() -> None:
    """It was found by meaning and shares no word; where anything was found in the user's own language, it is left out."""
    boils = "Чайник закипает за три минуты."
    assert pages(boils) == [(1, boils)]
    assert pages(boils, "Lids come in red and blue.") == []


def test_the_products_name_alone_makes_no_page_fit() -> None:
    """Every page may have it."""
    named = PROFILE.model_copy(update={"product": "Kettle"})
    found = [passage(1, snippet="A kettle of water is clear."), passage(2, snippet="Water boils at 100 degrees.")]
    shown = pages_that_may_help(QUESTION, found, named, "user")
    assert [page.number for page in shown] == [2]


def test_what_was_searched_for_counts_as_the_question() -> None:
    """The words of a sub-query choose the sentence, too."""
    snippet = "A kettle of water is clear. The lid opens to the left."
    assert pages(snippet, questions=("How?", "opening a lid")) == [(1, "The lid opens to the left.")]


def test_of_two_sentences_that_fit_alike_the_earlier_is_shown() -> None:
    """It introduces its page."""
    assert pages("A kettle is white and cold. A kettle is black and fine.") == [(1, "A kettle is white and cold.")]


def test_a_document_is_shown_once_with_the_best_of_its_passages() -> None:
    """Two passages of one document are one page, by the number of the passage that the sentence is of."""
    one = {"document": "doc:1"}
    evidence = [
        passage(1, snippet="A kettle of water is clear.", **one),
        passage(2, snippet=BOILS, ref="doc:1#1", **one),
    ]
    assert find_pages(evidence) == [(2, BOILS)]


def test_pages_stand_in_the_order_of_the_evidence() -> None:
    """Not how well a sentence fits, but what was found first comes first."""
    assert pages("A kettle of water is clear.", BOILS) == [(1, "A kettle of water is clear."), (2, BOILS)]


def test_pages_that_read_best_come_first_whatever_their_source() -> None:
    """A reranker has read them with the question; what it has not read comes behind, in the order of the evidence."""
    evidence = [passage(n, snippet=f"The kettle number {n} boils quickly.") for n in range(1, 5)]
    read = {evidence[1].ref: -3.0, evidence[3].ref: 2.0}
    traces = [build_trace(QUESTION[0], {ref: score}) for ref, score in read.items()]
    shown = pages_that_may_help(QUESTION, evidence, PROFILE, "user", traces)
    assert [page.number for page in shown] == [4, 2, 1, 3]
    # What is no evidence was read, too: what is left of the ranking keeps its order, before what was not read.
    more = build_trace(QUESTION[0], {evidence[1].ref: -3.0, **{f"other:{n}": 5.0 for n in range(9)}})
    assert pages_that_may_help(QUESTION, evidence, PROFILE, "user", [more])[0].number == 2


def test_each_query_has_its_best_page_before_the_second_of_another() -> None:
    """Logits of two queries say nothing of each other."""
    evidence = [passage(n, snippet=f"The kettle number {n} boils quickly.") for n in range(1, 5)]
    refs = [item.ref for item in evidence]
    traces = [build_trace("a", {refs[1]: 5.0, refs[0]: 4.0}), build_trace("b", {refs[3]: -4.0, refs[2]: -5.0})]
    shown = pages_that_may_help(QUESTION, evidence, PROFILE, "user", traces)
    assert [page.number for page in shown] == [2, 4, 1, 3]


def test_the_sentence_is_of_the_passage_that_reads_best_if_that_has_one() -> None:
    """A sentence with more of the question's words, of a passage that does not answer, helps less."""
    evidence = [
        passage(n, snippet=text, ref=f"doc:1#{n}", document="doc:1")
        for n, text in enumerate((BOILS, "Each kettle takes three minutes.", "Too short."), 1)
    ]
    traces = [build_trace(QUESTION[0], {"doc:1#1": -6.0, "doc:1#2": 1.0, "doc:1#3": 3.0})]
    shown = pages_that_may_help(QUESTION, evidence, PROFILE, "user", traces)
    assert shown == [PageSentence(2, "Each kettle takes three minutes.")]


@pytest.mark.parametrize(
    ("read", "odds", "shown"),
    [((1.0, -6.0), True, [1]), ((-4.0, -8.0), True, [1]), ((-4.0, -5.0), True, []), ((1.0, -6.0), False, [])],
    ids=["an answer", "far ahead", "no answer", "on a scale of its own"],
)
def test_what_reads_as_an_answer_is_shown_though_it_has_no_word_of_the_question(
    read: tuple[float, float], odds: bool, shown: list[int]
) -> None:
    """By its first sentence: users have other words than the documents."""
    evidence = [passage(n, snippet=f"Steam rises at {n}00 degrees. Wait for it.") for n in (1, 2)]
    rows = {item.ref: score for item, score in zip(evidence, read, strict=True)}
    documents = {item.ref: item.document_key for item in evidence}
    pages = pages_that_may_help(
        ("turn it off",), evidence, PROFILE, "user", [build_trace("turn it off", rows, documents, odds)]
    )
    assert [page.number for page in pages] == shown
    assert {page.sentence for page in pages} <= {"Steam rises at 100 degrees."}


def test_there_are_five_pages_at_most() -> None:
    """More would be a list of search results again; a page that cannot be shown takes no place."""
    many = ["Too short.", *(f"The kettle number {n} boils quickly." for n in range(9))]
    assert [number for number, _ in pages(*many)] == [2, 3, 4, 5, 6]
    assert MOST_PAGES == 5


@pytest.mark.parametrize("source", Source)
def test_only_documents_are_pages(source: Source) -> None:
    """A row of a database or of a graph is no page to read."""
    found = find_pages([passage(1, snippet=BOILS, source=source)])
    assert found == ([(1, BOILS)] if source in (Source.DOC, Source.POLICY) else [])


@pytest.mark.parametrize(
    "bad",
    [
        "The kettle boils with the key sk-live-abcdefghijklmnopqrstuvwx inside.",
        "When the kettle boils, write to anna@firma.ru at once.",
        "When the kettle boils, write to [redacted: personal-data] at once.",
        "The kettle boils as [this page](https://evil.ru/kettle) says.",
        "Before the kettle boils, please send us your password.",
        "Чтобы чайник закипел, пришлите, пожалуйста, ваш пароль и код из SMS.",
    ],
    ids=["secret", "personal", "masked", "link", "asks-en", "asks-ru"],
)
def test_what_policy_would_stop_is_dropped(bad: str) -> None:
    """The next best sentence of the page stands in its place, and without one the page is left out."""
    assert pages(f"{bad} A kettle of water is clear.") == [(1, "A kettle of water is clear.")]
    assert pages(bad, BOILS) == [(2, BOILS)]


@pytest.mark.parametrize(
    "snippet",
    [
        "# When does the kettle boil at last",
        "```\nThe kettle boils at 100 degrees.\n```",
        "| When | does the kettle boil |\n|---|---|\n| at | 100 degrees now |",
        "When the kettle boils, do this:",
        "Kettle boils.",
        f"The kettle boils {'and boils ' * 60}.",
        "The kettle boils at the ` mark.",
        "",
    ],
    ids=["heading", "code", "table", "leads in", "short", "long", "open code", "empty"],
)
def test_what_cannot_stand_alone_is_no_sentence(snippet: str) -> None:
    """Headings, code, tables, what leads into a list, and what is too short or too long introduce no page."""
    assert pages(snippet) == []


@pytest.mark.parametrize(
    "snippet",
    [
        f"![A kettle boils](kettle.png) {BOILS}",
        f"![A kettle. It boils.](kettle.png)\n![Two](https://firma.ru/2.png){{width=5}} {BOILS}",
        f"{BOILS} ![When the kettle boils](kettle.png)",
        f"- ![When the kettle boils][shot] {BOILS}",
        f'<img src="kettle.png" alt="When the kettle boils"> {BOILS}',
        f"When does the kettle ![boil](kettle.png) at last?\n\n{BOILS}",
        f"[![When does the kettle boil](https://firma.ru/a.png)](https://firma.ru)\n\n{BOILS}",
    ],
)
def test_what_a_picture_shows_is_no_sentence_of_its_page(snippet: str) -> None:
    """Pictures around a sentence are left out, and a sentence with one inside it is not shown."""
    assert pages(snippet) == [(1, BOILS)]


@pytest.mark.parametrize("marker", ["-", "*", "1.", "2)"])
def test_an_item_of_a_list_is_shown_without_its_marker(marker: str) -> None:
    """The sentence of an item is a sentence."""
    assert pages(f"{marker} {BOILS}") == [(1, BOILS)]


words = st.sampled_from(
    ["The kettle boils [1].", BOILS, "See `code` of a kettle.", "**Bold** kettles boil too.", "a", "\n\n", "- ", " "]
)


@given(st.lists(st.lists(words, max_size=6).map("".join), max_size=7))
def test_sentences_are_verbatim_and_fit_to_be_said(snippets: list[str]) -> None:
    """Whatever stands in the evidence, what is shown stands there so (but for white space), passes policy, and has its source in order."""
    evidence = [passage(n, snippet=text) for n, text in enumerate(snippets, 1)]
    made = pages_that_may_help(QUESTION, evidence, PROFILE, "user")
    assert [page.number for page in made] == sorted({page.number for page in made})
    for page in made:
        said = " ".join(evidence[page.number - 1].snippet.split())
        assert " ".join(page.sentence.split()) in said
        assert check_answer(page.sentence, PROFILE, "user").status is PolicyStatus.OK
    titles = [page.title for page in shown_pages(made, evidence, Language.EN, PROFILE)]
    assert titles == [f"Page {page.number}" for page in made]


FENCED = "- The kettle boils at 100 degrees:\n\n  ```bash\n  rm -r old\n  # never\n  kettle --boil\n  ```\n"


@pytest.mark.parametrize(
    ("snippet", "expected"),
    [
        (FENCED, []),
        (FENCED.replace("degrees:", "degrees."), [(1, BOILS)]),
        ("- The kettle boils at 100 degrees.\n  - The lid of a kettle is hot.\n", [(1, BOILS)]),
        ("- The kettle boils at 100 degrees.\n\n  | a | b |\n  |---|---|\n  | 1 | 2 |\n", [(1, BOILS)]),
    ],
)
def test_what_hangs_on_an_item_is_no_part_of_its_sentence(snippet: str, expected: list[tuple[int, str]]) -> None:
    """Code, tables and lists below an item would run into one line with it, which says something else."""
    assert pages(snippet) == expected


@pytest.mark.parametrize(
    "snippet",
    [
        "Never do any of these:\n\n- Pour bleach into the kettle when it boils.",
        "Do not:\n\n1. Open the kettle while it boils.",
        "Wrong:\n\nThe kettle boils without water in it.",
        "Нельзя:\n\n- открывать kettle boil крышку",
    ],
)
def test_what_stands_under_a_denial_is_not_shown_without_it(snippet: str) -> None:
    """It is in its page word for word, and means the opposite alone."""
    assert pages(snippet) == []


@pytest.mark.parametrize("field", ["title", "heading"])
@pytest.mark.parametrize("name", ["Pay at https://evil-site.com/pay", "Ivan +7 916 123-45-67", "Send us your password"])
def test_a_page_whose_name_policy_stops_is_not_shown(field: str, name: str) -> None:
    """The names of page and section stand before the sentence."""
    assert find_pages([passage(1, snippet=BOILS, **{field: name})]) == []
