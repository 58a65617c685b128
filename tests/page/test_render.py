from __future__ import annotations

import itertools
import re
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from html.parser import HTMLParser
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assistant.cli.commands.ui import _role
from assistant.deployment import deployment
from assistant.service import STOPPED
from assistant.turns.events import NodeStarted, Understood
from assistant.turns.transcript import ThreadSummary, Turn
from assistant.turns.views import cited_of, said_by, user_view
from assistant.web.faults import TooMany
from assistant.web.page.languages import language_of
from assistant.web.page.look import Look
from assistant.web.page.markdown import leads_out, passage_blocks, safe_html, words
from assistant.web.page.render import TurnProgress, answer_body, turn_html
from assistant.web.page.small_pages import export_conversation, passages_html, shared_html
from assistant.web.page.surroundings import (
    fault_text,
    header_html,
    info_html,
    notice_html,
    share_html,
    threads_html,
    welcome_html,
)
from contracts.calls import ModelCall
from contracts.context import Context
from contracts.enums import (
    CallPurpose,
    CheckStatus,
    ClaimStatus,
    DraftKind,
    HandOffOutcome,
    Language,
    Outcome,
    RequiredAction,
    RiskLevel,
    SGRAction,
    Source,
    Verdict,
)
from contracts.errors import (
    GuardianError,
    InputError,
    ServerClosing,
    SourceUnavailable,
    ThreadBusy,
    ThreadError,
)
from contracts.evidence import EvidenceItem, QueryTrace
from contracts.plan import SGRPlanResult
from contracts.ports import Draft
from contracts.profile import Role
from contracts.report import ClaimFinding, GuardianReport, HandOff
from contracts.result import Diagnostics, ShownPage, StructuredAgentResult
from nodes.draft import WITHOUT_THE_MODEL
from rendering.answers import verified_answer
from rendering.hand_off import hand_off_text
from tests.support.cli_helpers import PROFILE as SHELF
from tests.support.whole_turns import CALM, PAGES, SAFE, run_turn

PROFILE = deployment(str(SHELF), {"GUARDIAN_DATA_DIR": "nowhere"}).profile
EN, RU = Look(PROFILE, Language.EN), Look(PROFILE, Language.RU)
OPERATOR = Look(PROFILE, Language.EN, operator=True)
CHECKED = ("Checked against its sources", "Проверено по источникам")
QUOTED = ("Quoted from the documents", "Дословно из документов")
_TAGS = {
    *("p", "br", "hr", "em", "strong", "code", "pre", "ul", "ol", "li", "blockquote", "a", "div"),
    *("table", "thead", "tbody", "tr", "th", "td", "h2", "h3", "h4", "h5", "h6"),
}
_ATTRIBUTES = {"href", "target", "rel", "referrerpolicy", "class", "tabindex", "start"}


class Seen(HTMLParser):
    """Reads HTML, and keeps its tags, attributes and text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str]] = []
        self.text = ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(name, value or "") for name, value in attrs]

    def handle_data(self, data: str) -> None:
        self.text += data


def item(number: int, **fields: Any) -> EvidenceItem:
    given: dict[str, Any] = {
        "source": Source.DOC,
        "ref": f"doc:{number}#1",
        "document": f"d{number}.md",
        "title": f"Title {number}",
        "snippet": f"Text {number}.",
        **fields,
    }
    return EvidenceItem(confidence=0.9, **given)


def answered(draft: str, *items: EvidenceItem, question: str = "What?", **fields: Any) -> Turn:
    """Return a turn whose draft passed."""
    report = GuardianReport(
        verdict=Verdict.PASS,
        risk_level=RiskLevel.LOW,
        draft=draft,
        claims=[ClaimFinding(text=draft, start=0, end=len(draft), status=ClaimStatus.SUPPORTED, cites=(1,))],
        checks={"policy": "ok"},
    )
    text = verified_answer(draft, items, Language.EN, PROFILE.allowed_link_domains)
    given: dict[str, Any] = {
        "thread_id": "c",
        "turn_id": "t",
        "question": question,
        "language": Language.EN,
        "outcome": Outcome.ANSWERED,
        "answer_text": text,
        "action": SGRAction.NORMAL,
        "final_articles": list(items),
        "guardian": report,
    }
    result = StructuredAgentResult(**{**given, **fields})
    return turn_of(result, question)


def turn_of(result: StructuredAgentResult | None, question: str = "What?") -> Turn:
    raw = result.model_dump(mode="json") if result else None
    status: Any = "done" if result else "running"
    text = result.answer_text if result else None
    at = "2026-11-22T10:00:00.000+00:00"
    return Turn("c", "t", 1, status, question, text, str(result.outcome) if result else None, raw, at, at)


# ------------------------------------------------------------------------------------------------------------ Markdown


@given(st.text(alphabet=st.sampled_from(list("<>[]()!`*_#|-\n\"'&;:/=${}@ aimgscript1.javhttps")), max_size=200))
def test_any_markdown_becomes_tags_of_ours_alone(text: str) -> None:
    """Whatever is written, there are no tags and attributes but those of plain text, and no address but allowed ones."""
    seen = Seen(safe_html(text, ["shelf.example"], [1], "s"))
    assert set(seen.tags) <= _TAGS
    assert {name for name, _ in seen.attributes} <= _ATTRIBUTES
    for name, value in seen.attributes:
        if name == "href":
            assert value == "#s1" or leads_out(value, ["shelf.example"])


@given(st.text(max_size=100))
def test_words_are_shown_as_they_are_and_mean_nothing(text: str) -> None:
    """Escaped text has no sign that HTML or a template reads, and reads as the text itself."""
    html = words(text)
    assert not set(html) & set("<>\"'{}$`@")
    shown = Seen(f"<p>{html}</p>")
    assert shown.tags == ["p"]


@pytest.mark.parametrize(
    ("url", "follows"),
    [
        ("https://shelf.example/en", True),
        ("http://www.shelf.example", True),
        ("https://shelf.example.evil.test/", False),
        ("https://evil.example/", False),
        ("https://shelf.example@evil.test/", False),
        ("javascript:alert(1)//https://shelf.example", False),
        ("data:text/html,x", False),
        ("//shelf.example/x", False),
        ("/en/page", False),
        ("", False),
    ],
)
def test_only_addresses_in_allowed_domains_can_be_followed(url: str, follows: bool) -> None:
    """An address is a link where its host is in an allowed domain, and text in any other case."""
    assert leads_out(url, ["shelf.example"]) is follows
    assert ("<a " in safe_html(f"[x]({url})", ["shelf.example"])) is follows
    assert not leads_out(url, [])


def test_numbers_that_are_no_sources_and_those_in_code_are_no_links() -> None:
    """A citation leads to a source that the answer has; `[9]`, and what stands in code, is text."""
    html = safe_html("One [1], nine [9], `code [1]`.\n\n    block [1]", (), [1], "s")
    assert html.count('href="#s1"') == 1
    assert "[9]" in html
    assert html.count("[1]") == 2


@given(st.lists(st.integers(1, 6), max_size=12))
def test_headings_leave_out_no_rank(levels: list[int]) -> None:
    """Whatever the ranks in a text, a heading is at most one rank below the one before, and the first is of rank two."""
    tags = Seen(safe_html("\n\n".join(f"{'#' * level} H" for level in levels))).tags
    ranks = [1, *(int(tag[1]) for tag in tags)]
    assert all(2 <= rank <= before + 1 for before, rank in itertools.pairwise(ranks))


@given(st.text(alphabet=st.sampled_from(list("ab .!?[]()`*_#\n-1<&«»\ue000")), max_size=120))
def test_a_highlight_changes_no_word_and_opens_no_tag_that_it_does_not_close(text: str) -> None:
    """Whichever sentences are marked, the page reads as without marks, and each mark stands inside one piece of text."""
    plain = safe_html(text)
    html = safe_html(text, marked=[sentence for block in passage_blocks(text) for sentence in block][::2])
    assert html.replace("<mark>", "").replace("</mark>", "") == plain
    assert all(not re.search("</?[a-ln-z]", part.partition("</mark>")[0]) for part in html.split("<mark>")[1:])


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("One [1]. Two [1]. Three [2]. Four [2][2].", "One. Two 1. Three. Four 2."),
        ("One [1]. Two [2]. Three [1].", "One 1. Two 2. Three 1."),
        ("- One [1]\n- Two [1]", "One 1 Two 1"),
        ("`[1]` One [1], [9] two [1][link [1]](https://shelf.example)", "[1] One, [9] two 1link [1]"),
    ],
)
def test_of_equal_citations_in_a_row_a_block_shows_the_last(text: str, shown: str) -> None:
    """Another one between two of them keeps both; code, links and numbers of no source stay as they are."""
    assert " ".join(Seen(safe_html(text, ["shelf.example"], [1, 2], "s")).text.split()) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("<help@fox.example>", "help@fox.example"),
        ("[help@fox.example](mailto:help@fox.example)", "help@fox.example"),
        ("[write](mailto:help@fox.example)", "write (mailto:help@fox.example)"),
        ("<https://evil.example/>", "https://evil.example/"),
        ("[x](https://evil.example/)", "x (https://evil.example/)"),
    ],
)
def test_an_address_that_cannot_be_followed_is_read_once(text: str, shown: str) -> None:
    """It stands behind the words of its link, unless it is these words."""
    assert Seen(safe_html(text)).text.strip() == shown


# ------------------------------------------------------------------------------------------------------------ a turn


def test_a_users_view_has_the_answer_once_and_its_list_of_sources_as_links() -> None:
    """The list behind the answer's text gives way to the page's own; what is not cited is not there."""
    turn = answered("It is so [2].", item(1, snippet="uncited"), item(2, url="https://shelf.example/two"))
    html = turn_html(turn, EN)
    assert html.count("Title 2") == 3  # in the list, in what the number shows, and in what is copied
    assert 'href="https://shelf.example/two"' in html
    for hidden in ("Title 1", "uncited", "verdict", "PASS", "badge", "panel", "DT-"):
        assert hidden not in html


def test_what_may_follow_is_a_button_that_asks_it() -> None:
    """Each has its words, harmless as HTML; where nothing follows, nothing is said of it."""
    html = turn_html(answered("It is so [1].", item(1)), EN, follow_ups=["How do I <b>go on</b>?"])
    assert 'data-act="example" data-text="How do I &lt;b&gt;go on&lt;/b&gt;?"' in html
    assert 'class="next"' not in turn_html(answered("It is so [1].", item(1)), EN)


def test_an_intent_that_repeats_the_question_is_folded_away() -> None:
    """What says more than the question stands open; both are there."""
    said = {
        "spam_score": 0.0,
        "spam_reason": "",
        "request_type": "HOWTO_POLICY",
        "subqueries": ["x"],
        "action_plan": ["x"],
    }
    for intent, folded in (("Learn how it is done: “How  do I fly?”", True), ("Learn to fly", False)):
        plan = SGRPlanResult.model_validate({**said, "user_intent": intent, "intent_confidence": 1, "action": "normal"})
        html = turn_html(answered("It is so [1].", item(1), question="How do I\nfly?", plan=plan), EN)
        assert ('<details class="intent">' in html) == folded
        assert ('<p class="intent">' in html) == (not folded)


def test_a_stopped_turn_cannot_be_rated() -> None:
    """There is no answer to judge; to ask again is offered."""
    html = turn_html(answered("It is so [1].", item(1), block_reason=STOPPED), EN)
    assert 'data-act="good"' not in html
    assert 'data-act="again"' in html


def drafting(fault: str = "") -> ModelCall:
    """Return the record of one request for a draft."""
    return ModelCall(purpose=CallPurpose.DRAFT, model="writer", server="models:80", fault=fault)


PLANNING = ModelCall(purpose=CallPurpose.PLAN, model="planner", server="models:80")


@pytest.mark.parametrize(
    ("calls", "degraded", "quoted"),
    [
        ([], [], True),
        ([PLANNING], [], True),
        ([PLANNING, drafting()], [], False),
        ([drafting("timeout"), drafting()], [], False),
        ([drafting(), drafting("unreachable")], ["draft: no server"], True),
        ([drafting(), drafting()], [WITHOUT_THE_MODEL], True),
    ],
)
def test_an_answer_that_no_model_wrote_is_marked_as_quoted(
    calls: list[ModelCall], degraded: list[str], quoted: bool
) -> None:
    """What was drafted without a model reads "quoted", what a model wrote reads "checked", in both languages."""
    turn = answered("Put it so. [1]", item(1), diagnostics=Diagnostics(calls=calls, degraded=degraded))
    kind, words_of = ("quoted", QUOTED) if quoted else ("checked", CHECKED)
    for look, says in zip((EN, RU), words_of, strict=True):
        assert f'<span class="chip {kind}">{says}</span>' in turn_html(turn, look)


def test_rows_of_a_database_are_not_called_documents() -> None:
    """An answer that cites a row is marked as checked, whoever wrote it."""
    row = item(2, source=Source.DB)
    html = turn_html(answered("Put it so. [1] There are 3. [2]", item(1), row), EN)
    assert f'<span class="chip checked">{CHECKED[0]}</span>' in html


def test_a_draft_in_doubt_has_words_for_operators() -> None:
    """The report of a draft whose relevance is in doubt is shown in both languages."""
    report = GuardianReport(
        verdict=Verdict.FAIL,
        reasons=["relevance_doubtful=[Where?]"],
        required_actions=[RequiredAction.ASK_MINIMAL_QUESTION],
        risk_level=RiskLevel.MED,
        checks={"relevance": str(CheckStatus.DOUBTFUL)},
        draft="Put it so. [1]",
    )
    turn = answered("", item(1), outcome=Outcome.PAGES_SHOWN, guardian=report)
    for language, says in ((Language.EN, "relevance: in doubt"), (Language.RU, "релевантность: под вопросом")):
        assert says in turn_html(turn, Look(PROFILE, language, operator=True))


def test_a_document_without_an_address_leads_to_what_the_answer_cites_of_it() -> None:
    """The link names conversation, turn and number; behind it stands the cited passage and no other."""
    cited, other = (
        item(2, snippet="The **cited** one."),
        item(3, document="d2.md", title="Title 2", snippet="Not cited."),
    )
    turn = answered("It is so [2].", item(1), cited, other)
    assert 'href="/page/passage?c=c&amp;t=t&amp;n=1&amp;lang=en"' in turn_html(turn, EN)
    result = StructuredAgentResult.model_validate(turn.result)
    assert cited_of(result, PROFILE, 1) == [cited]
    assert cited_of(result, PROFILE, 2) == []
    page = passages_html([cited], EN)
    assert "<strong>cited</strong>" in page
    assert "There is no such passage." in passages_html([], EN)


KETTLE = "## Boiling\n\nThe lid is red. The kettle boils at\n*100 degrees*, `always`. It is loud.\n\n- Fill it first.\n"


def test_a_citation_shows_the_sentence_that_it_rests_on_in_its_passage() -> None:
    """Title, lines and the highlighted sentence among its neighbours, which a screen reader reads with the number."""
    said = "The kettle boils at 100 degrees, always [1]. Look at the moon [1]! First you fill it [2]."
    other = item(2, snippet="Fill it <b>first</b>.", lines=(7, 7))
    turn = answered(said, item(1, snippet=KETTLE, heading="Title 1 › Boiling", lines=(3, 9)), other)
    html = turn_html(turn, EN)
    first, second = html.split('<span class="hint" role="tooltip"')[1:]
    assert 'Title 1 › Boiling</b> <span class="dim">lines 3–9</span>' in first
    assert "<span>The lid is red. <mark>The kettle boils at 100 degrees, always.</mark> It is loud.</span>" in first
    assert "<mark>Fill it &lt;b&gt;first&lt;/b&gt;.</mark>" in second
    assert "line 7<" in second
    assert re.findall('aria-describedby="([^"]*)"', html) == re.findall('role="tooltip" id="([^"]*)"', html)


def test_a_text_of_citations_alone_shows_no_more_than_a_person_reads() -> None:
    """Thousands of citations do not make a page of megabytes."""
    said = " ".join(f"The kettle boils at {n} degrees [{n % 2 + 1}]." for n in range(3000))
    html = turn_html(answered(said, item(1, snippet=KETTLE), item(2, snippet=KETTLE)), EN)
    assert html.count('role="tooltip"') == 200
    assert html.count('class="cite" href') == 3000


def test_a_citation_of_what_is_said_in_other_words_shows_where_its_passage_begins() -> None:
    """Nothing is highlighted that does not say it, as in another language."""
    html = turn_html(answered("Чайник кипит при ста градусах [1].", item(1, snippet=KETTLE)), EN)
    assert "<span>The lid is red. The kettle boils at 100 degrees, always. It is loud.</span>" in html
    assert "<mark>" not in html


def test_the_page_of_a_source_highlights_what_the_answer_rests_on() -> None:
    """Whole, through emphasis and code; without an answer that cites it, nothing is highlighted."""
    passage = item(1, snippet=f"{KETTLE}\n```\nkettle --on\n```\n", lines=(3, 9))
    said = ["The kettle boils at 100 degrees, always.", "kettle --on"]
    html = passages_html([passage], EN, {passage.ref: said})
    assert (
        "<mark>The kettle boils at</mark>\n<em><mark>100 degrees</mark></em><mark>, </mark><code><mark>always" in html
    )
    assert "<mark>kettle --on" in html
    assert "The lid is red. <mark>" in html
    assert "lines 3–9" in html
    assert "<mark>" not in passages_html([passage], EN)


LIMITS = (
    "The limits are these.\n\n| what is limited | at most | setting |\n|---|---|---|\n"
    "| new visitors. Each browser is one | *20* | `NEW` |\n| requests | 20 | `MOST` |\n"
)


@pytest.mark.parametrize("said", ["| new visitors | 20 | `NEW` |", "Each browser is one new visitor."])
def test_the_page_of_a_source_highlights_the_row_that_an_answer_rests_on(said: str) -> None:
    """All cells of it and no other row, whether the answer has the row or says what stands in a cell."""
    passage = item(1, snippet=LIMITS)
    html = passages_html([passage], EN, {passage.ref: [said]})
    marked = re.findall("<mark>(.*?)</mark>", html)
    assert marked == ["new visitors. Each browser is one", "20", "NEW"]


def test_a_citation_in_a_table_shows_the_row_that_it_rests_on() -> None:
    """What the row says leads to it, not the cell alone that the citation stands in."""
    said = "| limited | most |\n|---|---|\n| requests | 20 [1] |\n"
    html = turn_html(answered(said, item(1, snippet=LIMITS)), EN)
    assert "<mark>requests | 20 | MOST</mark>" in html


def test_what_a_turn_says_by_each_passage_is_what_its_claims_cite() -> None:
    """Of shown pages it is their sentence."""
    report = GuardianReport(
        verdict=Verdict.PASS,
        risk_level=RiskLevel.LOW,
        claims=[ClaimFinding(text="So.", status=ClaimStatus.SUPPORTED, refs=("doc:1#1", "doc:2#1"))],
    )
    turn = answered("So [1].", item(1), guardian=report)
    assert said_by(StructuredAgentResult.model_validate(turn.result)) == {"doc:1#1": ["So."], "doc:2#1": ["So."]}
    page = ShownPage(number=1, title="T", sentence="It is.", ref="doc:1#1")
    turn = answered("So [1].", item(1), guardian=report, pages=[page], outcome=Outcome.PAGES_SHOWN)
    assert said_by(StructuredAgentResult.model_validate(turn.result)) == {"doc:1#1": ["It is."]}


def test_a_turn_without_a_verified_answer_has_no_passages() -> None:
    """A refusal cites nothing, whatever its draft said."""
    turn = answered("It is so [1].", item(1), outcome=Outcome.REFUSED, answer_text="No.")
    result = StructuredAgentResult.model_validate(turn.result)
    assert cited_of(result, PROFILE, 1) == []
    assert "sources" not in turn_html(turn, EN)


def test_an_operators_view_has_the_draft_with_its_claims_and_what_was_not_cited() -> None:
    """What a user does not see, an operator does, in panels."""
    turn = answered("It is so [2].", item(1, snippet="uncited"), item(2))
    html = turn_html(turn, OPERATOR)
    for shown in ('class="claim supported"', "Title 1", "PASS", 'class="panel path"', "r=1"):
        assert shown in html


@pytest.mark.parametrize("language", Language)
def test_the_operators_page_says_once_what_the_numbers_of_sources_mean(language: Language) -> None:
    """The sentence stands below the list of sources, which names the draft and the answer, too."""
    look = Look(PROFILE, language, operator=True)
    html = turn_html(answered("It is so [1].", item(1)), look)
    assert html.count(str(look.say("legend"))) == 1


def test_the_path_of_a_turn_has_each_try_in_its_order() -> None:
    """Nodes stand in the order in which they ran, with what they decided then; a time is that of all runs of a node."""
    drafts = [Draft(DraftKind.ANSWER, f"The kettle boils at {heat} degrees [1].") for heat in (999, 100)]
    state, _ = run_turn(CALM, [SAFE], PAGES, drafts, Context(), "When does the kettle boil?")
    result = StructuredAgentResult.model_validate(state["result"])
    once = (
        "moderation",
        "sgr_plan",
        "inject_synthetic",
        "retrieve",
        "draft",
        "guardian_verify",
        "retry_bump",
        "finalize",
    )
    result.diagnostics.timings_ms = dict.fromkeys(once, 1.0)
    path = turn_html(turn_of(result), OPERATOR).partition('class="panel path"')[2]
    tries = path.split("<p>Try ")[1:]
    nodes = [re.findall(r"<li><b>(\w+)</b>", one) for one in tries]
    assert nodes == [list(once[:6]), ["retry_bump", "retrieve", "draft", "guardian_verify", "finalize"]]
    assert ["RETRY" in one for one in tries] == [True, False]
    assert path.count("1.0 ms, all tries together") == 3
    assert path.count("1.0 ms<") == 5


def test_draft_articles_and_answer_number_their_sources_alike() -> None:
    """A document is one row with its passages, those in the answer are marked, and the rest have numbers behind them."""
    shared = {"document": "d1.md", "title": "Title 1"}
    items = (item(1, heading="Uncited"), item(2, **shared, heading="Used"), item(3, ref="doc:9#9", title="Other"))
    html = turn_html(answered("It is so [2], and so [3], `[2]`.", *items), OPERATOR)
    assert "It is so [1], and so [2], `[2]`." in Seen(html).text
    articles = html.partition('class="panel articles"')[2].partition("</details>")[0]
    rows = articles.partition("<tbody>")[2].split("</tr>")[:-1]
    assert [row.count("<li>") for row in rows] == [2, 1]
    for row, number, cited in zip(rows[0].split("<li>")[1:] + rows[1].split("<li>")[1:], "312", "nyy", strict=True):
        assert f'<span class="cite">{number}</span>' in row
        assert ("in the answer" in row) == (cited == "y")
    assert "the same source in the draft" in articles
    assert "Could not be asked" not in html


def test_the_sources_of_a_turn_that_were_away_have_a_heading_of_their_own() -> None:
    """An operator reads which, and why; a user reads nothing of it."""
    away = QueryTrace(query="x", source=Source.DB, error="The database <b>is</b> away.")
    turn = answered("It is so [1].", item(1), per_query_results=[away, QueryTrace(query="x", source=Source.DOC)])
    html = turn_html(turn, OPERATOR)
    assert "<h2>Could not be asked</h2><ul><li><b>db</b>: The database &lt;b&gt;is" in html
    assert "away" not in turn_html(turn, EN)


def test_an_operator_reads_the_record_of_a_hand_off_and_its_user_does_not() -> None:
    """The number is for both; a contact's address is a link, and no other address is."""
    record = HandOff(
        engineer_intervention_needed=True,
        issue_summary="About \\*it\\*",
        steps_completed=["searched"],
        next_steps=["Answer the user in person.", "Look."],
        outcome=HandOffOutcome.ESCALATION_REQUIRED,
        number="7KQ2-M04X",
    )
    profile = PROFILE.model_copy(update={"contact": {Language.EN: "help@shelf.example or https://ask.example/a"}})
    text = f"{hand_off_text(record.number, Language.EN, profile, 'hand_off')}\n\n<evil@shelf.example>"
    turn = answered("", answer_text=text, outcome=Outcome.HANDED_OFF, hand_off=record, guardian=None)
    user = turn_html(turn, replace(EN, profile=profile))
    assert Seen(user).text.count("7KQ2-M04X") == 1
    links = [value for name, value in Seen(user).attributes if name == "href"]
    assert links == ["mailto:help@shelf.example", "https://ask.example/a"]
    for hidden in ("Answer the user", "searched", "escalation"):
        assert hidden not in user
        assert hidden in turn_html(turn, replace(OPERATOR, profile=profile))
    assert "About *it*" in turn_html(turn, replace(OPERATOR, profile=profile))


@pytest.mark.parametrize("look", [EN, OPERATOR])
def test_nothing_that_anybody_wrote_becomes_markup(look: Look) -> None:
    """Question, draft, titles and reasons with HTML in them are text in both views."""
    evil = "<img src=x onerror=alert(1)>"
    turn = answered(f"It is so {evil} [1].", item(1, title=evil, heading=evil, document=evil), question=evil)
    seen = Seen(turn_html(turn, look))
    assert "img" not in seen.tags
    assert not [name for name, _ in seen.attributes if name.startswith("on")]
    assert evil in seen.text


def test_an_answer_in_json_is_shown_as_it_is() -> None:
    """JSON is no Markdown: it stands in a block of code, whole."""
    text = '{"steps": ["**one** [1]"], "cited_sources": []}'
    turn = answered("It is so [1].", item(1), answer_text=text)
    assert answer_body(user_view(StructuredAgentResult.model_validate(turn.result), PROFILE)) == text
    assert "<strong>" not in turn_html(turn, EN)


def test_a_half_finished_turn_offers_to_be_finished_or_dropped() -> None:
    """A turn without a result has its question, and two buttons."""
    html = turn_html(turn_of(None, "Left?"), RU)
    assert "Left?" in html
    assert 'data-act="finish"' in html
    assert 'data-act="drop"' in html


def test_progress_has_stages_and_intent_and_for_users_no_step() -> None:
    """Of the same events an operator sees the nodes' names too, in no case more than was told."""
    user, operator = TurnProgress("t", "What?", EN), TurnProgress("t", "What?", OPERATOR)
    events = [
        NodeStarted(turn_id="t", node="moderation"),
        NodeStarted(turn_id="t", node="sgr_plan"),
        Understood(turn_id="t", intent="Know <b>what</b>", action=SGRAction.NORMAL),
        NodeStarted(turn_id="t", node="inject_synthetic"),
    ]
    assert [user.tell(event) for event in events] == [True, True, True, False]
    for event in events:
        operator.tell(event)
    html = user.html()
    assert "Checking the message" in html
    assert "Know &lt;b&gt;what" in html
    assert "moderation" not in html


# ------------------------------------------------------------------------------------------------------- around a turn


def test_a_conversation_is_exported_as_its_user_saw_it() -> None:
    """Each question is a quotation, each answer stands as it was given."""
    text = export_conversation([answered("It is so [1].", item(1), question="One\ntwo"), turn_of(None, "Left?")], EN)
    assert text.startswith("# Conversation about Shelf\n")
    assert "> One\n> two" in text
    assert "It is so [1]." in text
    assert "(not finished)" in text


@pytest.mark.parametrize("look", [EN, RU])
def test_a_new_link_says_whom_it_is_for(look: Look) -> None:
    """The role, or everybody who has it where visitors read without a cookie."""
    assert "user" in share_html("/l", look, "user", "2026-11-29").split("<a", maxsplit=1)[0]
    everybody = share_html("/l", look, "", "2026-11-29")
    assert str(look.say("share_made_open", day="2026-11-29")) in everybody
    assert "{" not in everybody


@pytest.mark.parametrize("look", [EN, RU])
def test_what_is_typed_stands_as_code(look: Look) -> None:
    """Grave accents are for terminals; a page has code."""
    for key in ("operators_only", "upload_off"):
        html = look.say_with_code(key)
        assert "<code>" in html
        assert "#96" not in html


def test_a_shared_conversation_is_masked_and_has_no_buttons() -> None:
    """Question, answer and sources stand there, harmless as HTML; a half-finished turn is left out."""
    told = answered("It is anna@firma.ru [1].", item(1, title="By boris@firma.ru"), question="<b> olga@firma.ru?")
    html = shared_html([told, turn_of(None, "Left?")], EN, 1_790_000_000)
    assert "firma" not in html
    assert html.count("[redacted: email]") == 3
    assert "&lt;b&gt; [redacted: email]?" in html
    assert "until 2026-09-21" in html
    for hidden in ("<button", "Left?", "/page/passage", "tooltip"):
        assert hidden not in html
    assert "This link is not valid." in shared_html([], EN, 0)
    assert 'data-act="share"' not in header_html(EN)
    assert 'data-act="share"' in header_html(EN, share=True)


def test_the_list_of_conversations_is_bounded_and_marks_the_current_one() -> None:
    """Of many conversations the newest hundred are listed, the one that is open is marked."""
    threads = [ThreadSummary(f"t{n}", 1, "", "", f"Question <{n}>", False) for n in range(150)]
    html = threads_html(threads, "t3", EN)
    assert html.count('data-act="open"') == 100
    assert html.count("aria-current") == 1
    assert "Question &lt;99&gt;" in html


def test_a_long_title_is_renamed_from_all_of_it() -> None:
    """What the list cuts would be stored cut with the next rename."""
    html = threads_html([ThreadSummary("t", 1, "", "", "Q", False, "A title " * 20)], "", EN)
    assert f'data-title="{("A title " * 20).strip()}"' in html
    assert "…</button>" in html


def test_conversations_are_grouped_by_the_readers_days() -> None:
    """What is pinned stands first; midnight is the reader's own; a date that nobody wrote is an old one."""
    zone = timezone(timedelta(hours=3))
    now = datetime(2026, 11, 26, 1, 0, tzinfo=zone)
    days = {
        "2026-11-25T21:30:00.000+00:00": "Today",
        "2026-11-25T20:59:00.000+00:00": "Yesterday",
        "2026-11-24T20:59:00.000+00:00": "This week",
        "2026-11-19T21:00:00.000+00:00": "This week",
        "2026-11-19T20:59:00.000+00:00": "Older",
        "no date": "Older",
        "": "Today",
    }
    threads = [ThreadSummary(f"t{n}", 1, "", at, at, False) for n, at in enumerate(days)]
    threads.append(ThreadSummary("p", 1, "", "2020-01-01T00:00:00.000+00:00", "Q", False, "Mine <b>", pinned=True))
    html = threads_html(threads, "t3", EN, now=now)
    heads = re.findall("<h3>(.*?)</h3>", html)
    assert heads == ["Pinned", "Today", "Yesterday", "This week", "Older"]
    for head, part in zip(heads, html.split("<h3>")[1:], strict=True):
        shown = re.findall('class="open"[^>]*>([^<]*)</button>', part)
        assert shown == (["Mine &lt;b&gt;"] if head == "Pinned" else [at for at, day in days.items() if day == head])
    assert "Nothing here yet." in threads_html([], "", EN)
    assert "No conversation has these words." in threads_html([], "", EN, searched=True)


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (InputError("x", key="too_long"), "20000"),
        (InputError("x", key="empty"), "пуст"),
        (InputError("x", key="long_title"), "не больше 200"),
        (ThreadBusy("x"), "другое сообщение"),
        (ServerClosing("x"), "перезапускается"),
        (TooMany("x", "y", 7), "7 с"),
        (GuardianError("the secret inside", "y"), "GuardianError"),
        (ValueError("the secret inside"), "ValueError"),
    ],
)
def test_a_fault_is_said_in_the_readers_language_with_a_way_out(error: Exception, says: str) -> None:
    """A user reads what to do, and nothing of what stands in an error that has no words of its own."""
    said = fault_text(error, RU)
    assert says in said
    assert "secret" not in said
    assert any("а" <= letter <= "я" for letter in said)


def test_an_operator_reads_of_the_servers_own_faults_no_more_than_others() -> None:
    """Where the storage or the documents cannot be used, nobody over a network is told of files."""
    for error in (
        ThreadError("/srv/secret/threads.db is locked", "y"),
        SourceUnavailable("/srv/secret/meta.json", "y"),
    ):
        for look in (RU, replace(RU, operator=True)):
            said = fault_text(error, look)
            assert "secret" not in said
            assert any("а" <= letter <= "я" for letter in said)


@pytest.mark.parametrize(
    ("chosen", "accepted", "language"),
    [
        ("", "ru-RU,ru;q=0.9,en;q=0.8", "ru"),
        ("", "de,en;q=0.3,ru;q=0.7", "ru"),
        ("", "fr", "en"),
        ("", "", "en"),
        ("", "ru;q=0", "en"),
        ("", "ru;q=x,en", "en"),
        ("en", "ru", "en"),
        ("xx", "ru", "ru"),
    ],
)
def test_the_pages_language_is_the_chosen_one_or_the_browsers(chosen: str, accepted: str, language: str) -> None:
    """What the reader chose counts first, then the browser's best of both, then the profile's first."""
    assert language_of(chosen, accepted, (Language.EN, Language.RU)) == language


@pytest.mark.parametrize("look", [EN, RU, OPERATOR])
def test_a_button_is_named_by_what_is_read_on_it(look: Look) -> None:
    """Who says what they see presses it: where a button with words has a name of its own, the name has these words."""
    html = header_html(look) + turn_html(answered("It is so [1].", item(1)), look)
    for named, shown in re.findall('<button[^>]*aria-label="([^"]*)"[^>]*>(.*?)</button>', html):
        said = re.sub("<[^>]*>|[^\\w ]", "", shown).split()
        assert set(said) <= set(re.findall(r"\w+", named))
    ranks = [1, *map(int, re.findall("<h([1-6])", html))]
    assert all(rank <= before + 1 for before, rank in itertools.pairwise(ranks))


def test_a_notice_of_what_was_asked_for_is_no_warning() -> None:
    """A screen reader reads it when it is idle; a warning interrupts."""
    assert info_html("Thank <you>.") == '<p class="notice info" role="status">Thank &lt;you&gt;.</p>'
    assert 'role="alert"' in notice_html("No.")
    assert notice_html("") == ""


def test_a_profile_of_one_language_shows_one() -> None:
    """Neither a browser nor a choice of another language changes the page, and it offers no other."""
    one = PROFILE.model_copy(update={"languages": (Language.EN,)})
    assert language_of("ru", "ru", one.languages) == Language.EN
    assert 'data-act="language"' not in header_html(Look(one, Language.EN))
    assert header_html(Look(PROFILE, Language.EN)).count('data-act="language"') == 1


def test_a_welcome_offers_the_questions_that_there_are() -> None:
    """Each is a button with its words, harmless as HTML; without any there is no empty list of them."""
    look = Look(PROFILE, Language.EN)
    html = welcome_html(look, ["How do I <b>start</b>?"])
    assert 'data-text="How do I &lt;b&gt;start&lt;/b&gt;?"' in html
    assert 'class="examples"' not in welcome_html(look, [])


def test_the_operators_view_needs_a_role_that_has_it() -> None:
    """`--operator` takes the role that sees all, and says so where the profile has none."""
    assert _role(PROFILE, operator=False) == "user"
    assert _role(PROFILE, operator=True) == "operator"
    renamed = PROFILE.model_copy(update={"roles": {"user": Role(), "lead": Role(operator_view=True)}})
    assert _role(renamed, operator=True) == "lead"
    blind = PROFILE.model_copy(update={"roles": {"user": Role()}})
    with pytest.raises(InputError, match="operator"):
        _role(blind, operator=True)
