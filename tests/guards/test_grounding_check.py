"""Does each claim rest on what it cites?"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.enums import CheckStatus, ClaimStatus, DraftKind, RequestType, RequiredAction, ResponseFormat, Source
from contracts.evidence import EvidenceItem
from contracts.reasons import write_reasons
from contracts.report import Finding
from guards.grounding_check import check_grounding


def evidence(*snippets: str, title: str = "", heading: str = "") -> list[EvidenceItem]:
    return [
        EvidenceItem(source=Source.DOC, ref=f"doc:{n}", snippet=snippet, confidence=0.9, title=title, heading=heading)
        for n, snippet in enumerate(snippets, 1)
    ]


def check(draft: str, *snippets: str, **places: str) -> Finding:
    return check_grounding(
        draft, evidence(*snippets, **places), request_type=RequestType.KNOWLEDGE_QA, kind=DraftKind.ANSWER
    )


# ------------------------------------------------------------------------------------------------------ the reasons


@pytest.mark.parametrize(
    ("draft", "reason"),
    [
        ("The kettle is made of copper.", "claim_without_citation=[The kettle is made of copper.]"),
        ("The kettle is made of copper [2].", "citation_unresolvable=[[2]]"),
        ("The kettle is made of copper [0].", "citation_unresolvable=[[0]]"),
        ("The kettle boils at 90 degrees [1].", "value_not_in_cited_evidence=[90]"),
        ("The kettle is not made of copper and boils at 100 degrees [1].", "claim_changes_its_source=[- -> not]"),
    ],
)
def test_every_reason_is_written_as_specified(draft: str, reason: str) -> None:
    """Uncited, unresolvable and unsupported each have their exact reason string."""
    finding = check(draft, "The kettle is made of copper and boils at 100 degrees.")
    assert (finding.status, write_reasons(finding.reasons)) == (CheckStatus.FAILED, (reason,))


@pytest.mark.parametrize(
    ("draft", "quoted"),
    [
        ("Yes.", "Yes."),
        ("No.", "No."),
        ("Unlimited.", "Unlimited."),
        ("Delete everything.", "Delete everything."),
        ("Password: hunter2", "Password: hunter2"),
        ("- a\n" * 1000, "- a"),
        ("# Yes\n\n## No", "# Yes ## No"),
        ("[1]", "[1]"),
        ("👍 [1]", "👍 [1]"),
        ("Is it so?", "Is it so?"),
        ("`[1]`", "`[1]`"),
        ("👍", "👍"),
        ("", ""),
    ],
)
def test_an_answer_that_cites_nothing_fails_however_short(draft: str, quoted: str) -> None:
    """Too short to count as a claim is not too short to mislead (regression)."""
    finding = check(draft, "Yes, no, unlimited: a kettle.")
    assert (finding.status, write_reasons(finding.reasons)) == (
        CheckStatus.FAILED,
        (f"claim_without_citation=[{quoted}]",),
    )
    assert RequiredAction.ADD_EVIDENCE_REFERENCES in finding.actions


@pytest.mark.parametrize(
    ("question", "draft", "answers"),
    [
        ("Where is the kettle?", "Where is the kettle? [1].", False),
        ("where is the kettle", "Where is the kettle [1].", False),
        ("Is the kettle in the kitchen?", "Is the kettle in the kitchen [1]?", False),
        ("Где стоит чайник", "Где стоит чайник [1].", False),
        ("Можно ли кипятить чайник", "Можно ли кипятить чайник [1].", False),
        ("Hello. Where is the kettle? Thanks!", "Where is the kettle [1].", False),
        ("Where is the kettle?", "Where is the kettle? The kettle is in the kitchen [1].", True),
        ("The kettle is in the kitchen?", "The kettle is in the kitchen [1].", True),
        ("Чайник стоит на кухне?", "Чайник стоит на кухне [1].", True),
    ],
)
def test_a_question_with_a_citation_answers_nothing(question: str, draft: str, answers: bool) -> None:
    """Nor does the user's own, word for word; in the order of a statement, its words may be the answer."""
    finding = check_grounding(
        draft,
        evidence(
            "The kettle is in the kitchen. Where is the kettle? Чайник стоит на кухне. Где стоит чайник? Можно ли кипятить чайник?"
        ),
        request_type=RequestType.KNOWLEDGE_QA,
        kind=DraftKind.ANSWER,
        question=question,
    )
    assert (finding.status is CheckStatus.OK) is answers
    assert answers or finding.reasons[0].name == "claim_without_citation"


def test_a_question_may_not_bring_a_fact_along() -> None:
    """What names a number is a claim, whatever mark it ends on (regression)."""
    finding = check(
        "The kettle is made of copper [1]. Do you want to pay 500 dollars?", "The kettle is made of copper."
    )
    assert write_reasons(finding.reasons) == ("claim_without_citation=[Do you want to pay 500 dollars?]",)
    assert (
        write_reasons(
            check("The kettle is made of copper [1]. Shall I tell more?", "The kettle is made of copper.").reasons
        )
        == ()
    )


def test_all_faults_are_reported_at_once() -> None:
    """Three kinds of faults are three reasons, each fault named once, each action once, in order."""
    finding = check(
        "Kettles are made of gold. It boils at 90 degrees [1]. It boils at 90 degrees [1] [7]. Kettles sing songs [7].",
        "The kettle boils at 100 degrees.",
    )
    assert write_reasons(finding.reasons) == (
        "claim_without_citation=[Kettles are made of gold.]",
        "citation_unresolvable=[[7]]",
        "value_not_in_cited_evidence=[90]",
    )
    assert finding.actions == (RequiredAction.ADD_EVIDENCE_REFERENCES, RequiredAction.REGENERATE_DRAFT)


def test_an_unsupported_value_asks_for_another_draft() -> None:
    """A wrong number is not mended by adding a reference."""
    assert check("It boils at 90 degrees [1].", "Boils at 100.").actions == (RequiredAction.REGENERATE_DRAFT,)


@pytest.mark.parametrize(("quoted", "status"), [(False, CheckStatus.FAILED), (True, CheckStatus.OK)])
def test_hardly_a_common_word_is_a_fault_of_a_models_draft_and_advice_of_a_quoted_one(
    quoted: bool, status: CheckStatus
) -> None:
    """A claim with no word of what it cites is an invention, where no quotation is meant."""
    finding = check_grounding(
        "Elephants migrate southwards [1].",
        evidence("The kettle is made of copper."),
        request_type=RequestType.KNOWLEDGE_QA,
        kind=DraftKind.ANSWER,
        quoted=quoted,
    )
    told = ("claim_unlike_its_source=[Elephants migrate southwards [1].]",)
    assert (finding.status, write_reasons(finding.advice)) == (status, told)
    assert write_reasons(finding.reasons) == (() if quoted else told)


def test_a_condition_that_is_cut_off_what_is_copied_is_missed() -> None:
    """What is left stands there word by word, and says more than the whole (regression)."""
    source = "If the disk is full, the server stops writing backups of the database."
    finding = check("The server stops writing backups of the database [1].", source)
    assert write_reasons(finding.reasons) == ("claim_changes_its_source=[if the disk is full -> -]",)


# ----------------------------------------------------------------------------------------------- values and formats


@pytest.mark.parametrize(
    ("claim", "snippet"),
    [
        ("The limit is 1500 files", "at most 1 500 files"),
        ("The limit is 1500 files", "at most 1\u00a0500 files"),
        ("The limit is 1500 files", "at most 1,500 files"),
        ("The limit is 1 500,50 roubles", "costs 1,500.50 roubles"),
        ("Порог равен 0,7", "the threshold is 0.7"),
        ("The threshold is 0.70", "порог 0,7"),
        ("It takes 2.0 seconds", "takes 2 seconds"),
        ("Use version v1.2.3", "released 1.2.3"),
        ("Use version 1.2.3", "released V1.2.3 yesterday"),
        ("Set max_retry in config.toml", "`max_retry` stands in **config.toml**"),
        ("Open «Настройки» first", "Откройте **Настройки**"),
        ("Open «Новая запись» first", "кнопка «Новая  запись»"),
        ('Open "New record" first', "the [New](a.md) record button"),
        ("Run `make install` first", "run `make install`"),
        ("See https://kb.comindware.ru/a/1 for more", "(https://kb.comindware.ru/a/1)."),
        ("The error is ABC-123", "ошибка ABC-123 значит"),
        ("Its port is 8080", "`http://localhost:8080`"),
        ("On 2024-01-31 it began", "since 2024-01-31"),
        ("It opens at 12:30", "at 12:30"),
        ("Between 5-10 items", "5–10 items"),
        ("About 10% of all", "10 % of all"),
    ],
)
def test_a_value_counts_in_any_format(claim: str, snippet: str) -> None:
    """Numbers in Russian and English writing, versions, identifiers, names and addresses are compared normalised."""
    assert write_reasons(check(f"{claim} [1].", snippet).reasons) == ()


@pytest.mark.parametrize(
    ("claim", "snippet", "value"),
    [
        ("The limit is 1500 files", "at most 15 000 files", "1500"),
        ("The limit is 15 000 files", "at most 1500 files", "15000"),
        ("Порог равен 0,7", "the threshold is 0.77 or 7", "0.7"),
        ("Use version 1.2.4", "released 1.2.3", "1.2.4"),
        ("Set max_retries now", "set max_retry", "max_retries"),
        ("Set max_retry now", "set max_retry_count", "max_retry"),
        ("Open «Платформа» first", "Откройте «Форма»", "платформа"),
        ("Open «роль» first", "Смените пароль", "роль"),
        ("Run `make demo` first", "run `make test`", "make demo"),
        ("See https://evil.test/a for more", "see https://kb.test/a", "https://evil.test/a"),
        ("The error is ABC-124", "ABC-123", "abc-124"),
        ("Pass --force to it", "pass --quiet", "--force"),
        ("It is in settings.toml", "it is in config.toml", "settings.toml"),
    ],
)
def test_a_value_that_is_not_there_is_named(claim: str, snippet: str, value: str) -> None:
    """A number, version, identifier, address or quoted name that no cited snippet has fails, and is named."""
    assert write_reasons(check(f"{claim} [1].", snippet).reasons) == (f"value_not_in_cited_evidence=[{value}]",)


@pytest.mark.parametrize(
    "draft",
    [
        "1. Open the settings page [1].\n2. Press the button there [1].",
        "1) Open the settings page [1].\n2) Press the button there [1].",
        "> 7. Open the settings page [1].",
        "- Open the settings page [1].\n* Press the button there [1].",
        "## 4. Steps\n\nOpen the settings page [1].",
        "- Outer settings page [1]\n   3. Press the button there [1]",
    ],
)
def test_list_markers_and_citations_are_no_numbers(draft: str) -> None:
    """The numbers of steps, headings and citations are not claimed by anybody."""
    assert write_reasons(check(draft, "Open the settings page. Press the button there. Outer.").reasons) == ()


def test_a_number_in_front_of_a_list_item_is_no_marker_in_prose() -> None:
    """What stands in the middle of a line is a number."""
    assert write_reasons(check("There are 3. That is all of them [1].", "There are five.").reasons) != ()


def test_a_value_must_be_in_a_snippet_that_this_claim_cites() -> None:
    """Evidence that another sentence cites does not help."""
    snippets = ("The kettle boils at 100 degrees.", "The pot boils at 90 degrees.")
    assert write_reasons(check("The kettle boils at 90 degrees [1].", *snippets).reasons) == (
        "value_not_in_cited_evidence=[90]",
    )
    assert write_reasons(check("The pot boils at 90 degrees [2].", *snippets).reasons) == ()
    assert write_reasons(check("They boil at 90 and 100 degrees [1] [2].", *snippets).reasons) == ()
    assert write_reasons(check("They boil at 90 and 100 degrees [1][2].", *snippets).reasons) == ()


def test_title_and_heading_of_the_passage_count() -> None:
    """What a source list shows may be said."""
    assert write_reasons(check("Version 5.1.2 boils water [1].", "It boils water.", title="Kettle 5.1.2").reasons) == ()
    assert write_reasons(check("Chapter 7 is on water [1].", "On water.", heading="Chapter 7").reasons) == ()


# ------------------------------------------------------------------------------------------------------- the claims


def test_a_code_block_is_checked_against_the_line_around_it() -> None:
    """Code cannot carry a mark: its lead is cited for it, and its values must be in that evidence."""
    code = "```sh\nmake install PORT=8080\n```"
    assert write_reasons(check(f"Run this command [1]:\n\n{code}", f"Run this command:\n\n{code}").reasons) == ()
    finding = check(f"Run this command [1]:\n\n{code}", "Run this command:\n\n```\nmake install PORT=9090\n```")
    assert write_reasons(finding.reasons) == ("value_not_in_cited_evidence=[8080]",)


def test_uncited_code_and_tables_are_claims_without_a_citation() -> None:
    """A command that nobody cites is as unfounded as a sentence."""
    assert write_reasons(check("```sh\nrm -rf /\n```", "x").reasons) == ("claim_without_citation=[```sh rm -rf / ```]",)


def test_a_stray_backtick_hides_neither_claim_nor_citation() -> None:
    """Only what a reader sees as code is code (regression: a lone mark swallowed the citations behind it)."""
    draft = "1. Press ` now [1].\n\n   ```sh\n   make\n   ```"
    assert write_reasons(check(draft, "Press ` now.\n\n   ```sh\n   make\n   ```").reasons) == ()


def test_a_long_claim_is_quoted_short() -> None:
    """Reasons stay readable: sixty characters of a claim are enough to find it."""
    (reason,) = write_reasons(check("The kettle boils water " + "and water " * 30 + "again.").reasons)
    assert len(reason) <= len("claim_without_citation=[]") + 60


def test_a_row_of_a_table_is_judged_by_its_own_citation() -> None:
    """What another row cites does not help."""
    head = "| what | boils at |\n| - | - |\n"
    snippets = ("The kettle boils at 100 degrees.", "The pot boils at 90 degrees.")
    assert (
        write_reasons(check(f"{head}| kettle | 100 degrees [1] |\n| pot | 90 degrees [2] |", *snippets).reasons) == ()
    )
    finding = check(f"{head}| kettle | 100 degrees [1] |\n| pot | 100 degrees [2] |", *snippets)
    assert write_reasons(finding.reasons) == ("value_not_in_cited_evidence=[100]",)
    assert [claim.status for claim in finding.claims] == [ClaimStatus.SUPPORTED, ClaimStatus.UNSUPPORTED]


@pytest.mark.parametrize(
    ("code", "missing"),
    [
        ("app serve --port 8080", ""),
        ("app serve --port 9090", "9090"),
        ("app serve --host 8080", "--host"),
        ("app start --port 8080", "start"),
        ("APP_PORT=8080 app serve  # on whatever day you like", "app_port"),
        ("app serve <your folder> --port 8080", ""),
        ('app serve --port 8080 "words of your own"', ""),
        ("curl http://a.test/b", "curl, http://a.test/b"),
    ],
)
def test_code_is_a_quotation(code: str, missing: str) -> None:
    """Each of its words must stand in the source, but for comments, strings and what stands for something else."""
    finding = check(f"Run this [1]:\n\n```sh\n{code}\n```", "Run this:\n\n```sh\napp serve --port 8080\n```")
    assert write_reasons(finding.reasons) == ((f"value_not_in_cited_evidence=[{missing}]",) if missing else ())


# ---------------------------------------------------------------------------------------------- values of elsewhere

TWO = "The kettle boils fresh water within 5 minutes. The old iron pot needs 9 minutes for its soup."


@pytest.mark.parametrize(
    ("claim", "missing"),
    [
        ("The kettle boils fresh water within 5 minutes", ""),
        ("The kettle boils fresh water within 9 minutes", "9"),
        ("Boiling takes 5 to 9 minutes, kettle or pot", ""),
        ("Of the two, the iron one takes 9 minutes", ""),
    ],
)
def test_a_number_of_another_sentence_is_exchanged(claim: str, missing: str) -> None:
    """What quotes a sentence nearly word by word has its numbers from there; what tells it in other words may not."""
    assert write_reasons(check(f"{claim} [1].", TWO).reasons) == (
        (f"value_not_in_cited_evidence=[{missing}]",) if missing else ()
    )


def test_an_exchanged_name_in_code_is_found() -> None:
    """Two settings of one page are not each other."""
    source = "Set `port_number` before the server begins. Set `host_name` before the browser begins."
    assert write_reasons(check("Set `port_number` before the server begins [1].", source).reasons) == ()
    finding = check("Set `host_name` before the server begins [1].", source)
    assert write_reasons(finding.reasons) == ("value_not_in_cited_evidence=[host_name]",)


def test_a_number_said_twice_is_exchanged() -> None:
    """Of "from 0 to 1", "from 1 to 1" has the values, and says something else."""
    source = "The share of copper goes from 0 to 1 in steps."
    finding = check("The share of copper goes from 1 to 1 in steps [1].", source)
    assert write_reasons(finding.reasons) == ("value_not_in_cited_evidence=[1]",)


def test_what_a_heading_names_may_stand_in_any_claim() -> None:
    """A version in the title is of every sentence under it."""
    source = "# Kettle 4.7\n\nPress the copper button 2 times."
    assert write_reasons(check("In 4.7, press the copper button 2 times [1].", source).reasons) == ()


# ------------------------------------------------------------------------------------------------ claim by claim


def test_the_finding_tells_of_each_claim() -> None:
    """Its place, its status, what it cites and rests on, and what is missing, in the order of the draft."""
    draft = "# Kettles\n\nThe kettle is **copper** [1]. Kettles sing songs daily.\n\n- It boils at 90 degrees [2] [1]\n- It whistles loudly [7] [1]"
    finding = check(draft, "The kettle is copper. It whistles.", "It boils at 100 degrees.")
    assert [claim.text for claim in finding.claims] == [
        "The kettle is **copper** [1].",
        "Kettles sing songs daily.",
        "- It boils at 90 degrees [2] [1]",
        "- It whistles loudly [7] [1]",
    ]
    assert all(draft[claim.start : claim.end] == claim.text for claim in finding.claims)
    assert [claim.status for claim in finding.claims] == [
        ClaimStatus.SUPPORTED,
        ClaimStatus.UNCITED,
        ClaimStatus.UNSUPPORTED,
        ClaimStatus.UNRESOLVABLE,
    ]
    assert [claim.cites for claim in finding.claims] == [(1,), (), (2, 1), (7, 1)]
    assert [claim.refs for claim in finding.claims] == [("doc:1",), (), ("doc:2", "doc:1"), ("doc:1",)]
    assert [claim.missing for claim in finding.claims] == [(), (), ("90",), ()]


def test_a_draft_without_claims_is_one() -> None:
    """An answer too short to claim anything is reported whole."""
    finding = check("👍", "A kettle.")
    assert [(claim.text, claim.start, claim.end) for claim in finding.claims] == [("👍", 0, 1)]


@pytest.mark.parametrize(
    ("draft", "advice"),
    [
        ("No. The kettle must boil dry [1].", "negation_differs=[No. The kettle must boil dry [1].]"),
        ("The kettle must boil dry at Acme [1].", "name_not_in_cited_evidence=[Acme]"),
    ],
)
def test_hints_are_advice_of_their_claim(draft: str, advice: str) -> None:
    """A "no" in front of a copied sentence and a name of another passage fail nothing, and are said of the claim and of the whole."""
    finding = check(draft, "The kettle must boil dry.", "Acme makes kettles.")
    assert (finding.status, write_reasons(finding.advice), finding.claims[0].advice) == (
        CheckStatus.OK,
        (advice,),
        (advice,),
    )


@pytest.mark.parametrize(
    ("draft", "text", "question", "missing"),
    [
        ("The kettle must boil dry at Acme [1].", "The kettle must boil dry.", "", ("Acme",)),
        ("The kettle must boil dry at Acme [1].", "The kettle must boil dry.", "What does Acme say?", ()),
        ("Чайник Vitek должен выкипеть [1].", "The kettle must boil dry.", "", ("Vitek",)),
        ("Чайник «досуха» должен выкипеть [1].", "The kettle must boil dry.", "", ()),
        ("Нажмите «Выкипеть» на чайнике [1].", "Press Boil dry on the kettle.", "", ("выкипеть",)),
        ("ПО чайника должно выкипеть [1].", "The kettle must boil dry.", "", ()),
        (
            "To sum up, I've seen that kettles with APIs and a CPU must NOT boil dry [1].",
            "No kettle must boil dry.",
            "",
            (),
        ),
        ("Чтобы Вам было видно, в Вашем ЛК чайник должен выкипеть [1].", "Чайник должен выкипеть.", "", ()),
        ("The kettle keeps it in Postgres [1].", "The kettle keeps it in PostgreSQL.", "", ()),
        ("The kettle keeps it in Lite [1].", "The kettle keeps it in SQLite.", "", ("Lite",)),
        ("Press Boil Dry on the kettle [1].", "Нажмите «Выкипятить» на чайнике.", "", ()),
        ("The kettle is opened by SSH [1].", "Чайник открывает фирма.", "", ("SSH",)),
    ],
)
def test_a_name_that_nobody_has_is_a_fault(draft: str, text: str, question: str, missing: tuple[str, ...]) -> None:
    """A name of neither the question nor a passage fails; of a translation, names in the passage's letters and labels do."""
    found = check_grounding(
        draft, evidence(text), request_type=RequestType.KNOWLEDGE_QA, kind=DraftKind.ANSWER, question=question
    )
    assert found.claims[0].missing == missing


def test_a_yes_with_a_cited_sentence_passes_and_alone_does_not() -> None:
    """The sentence behind it carries the citation."""
    assert write_reasons(check("Yes. The kettle is made of copper [1].", "The kettle is made of copper.").reasons) == ()
    assert write_reasons(check("Да.", "Чайник медный.").reasons) == ("claim_without_citation=[Да.]",)


def test_leaves_of_json_are_judged() -> None:
    """Each against what its object cites."""

    def judged(draft: str) -> Finding:
        return check_grounding(
            draft,
            evidence("The kettle boils at 100 degrees."),
            request_type=RequestType.KNOWLEDGE_QA,
            kind=DraftKind.ANSWER,
            response_format=ResponseFormat.JSON,
        )

    assert write_reasons(judged('{"at": 100, "text": "The kettle boils water", "sources": [1]}').reasons) == ()
    assert write_reasons(judged('{"at": 90, "sources": [1]}').reasons) == ("value_not_in_cited_evidence=[90]",)
    assert write_reasons(judged('{"at": 100}').reasons) == ("claim_without_citation=[100]",)


# ----------------------------------------------------------------------------------------------------- who is asked


@pytest.mark.parametrize("kind", [DraftKind.ABSTENTION, DraftKind.CLARIFICATION])
@pytest.mark.parametrize("request_type", RequestType)
def test_only_answers_are_asked(request_type: RequestType, kind: DraftKind) -> None:
    """What claims nothing needs no ground."""
    finding = check_grounding("It is 5 o'clock.", [], request_type=request_type, kind=kind)
    assert finding.status is CheckStatus.NOT_ASKED


def test_a_greeting_needs_no_ground() -> None:
    """CASUAL is not asked."""
    finding = check_grounding("Hello at 5.", [], request_type=RequestType.CASUAL, kind=DraftKind.ANSWER)
    assert finding.status is CheckStatus.NOT_ASKED


markdown = st.lists(
    st.sampled_from([*list('ab1 .,[]()#*`|>-_\n\\"«»<!:'), "[1]", "[2]", "\n\n", "```", "| - |", "1. ", "http://a.b/"]),
    max_size=40,
).map("".join)


@given(draft=markdown | st.text())
def test_any_draft_can_be_checked(draft: str) -> None:
    """Whatever Markdown a draft is, the check is carried out, and a fault always has reason and action."""
    finding = check(draft, "a b 1", "b a 2")
    assert finding.status in (CheckStatus.OK, CheckStatus.FAILED)
    assert bool(write_reasons(finding.reasons)) == bool(finding.actions) == (finding.status is CheckStatus.FAILED)


@given(draft=markdown, cites=st.integers(3, 999))
def test_no_unresolvable_citation_is_overlooked(draft: str, cites: int) -> None:
    """A paragraph of its own that cites what there is not always fails, whatever stands before it."""
    before = draft.replace("`", "").replace("<", "").replace(">", "").strip()
    finding = check(f"{before}\n\nThe kettle boils water daily [{cites}].", "a b 1", "b a 2")
    assert any(
        reason.startswith("citation_unresolvable") and f"[{cites}]" in reason
        for reason in write_reasons(finding.reasons)
    )


def test_a_row_told_in_words_may_have_the_numbers_of_the_tables_head() -> None:
    """Who quotes a row says what its cells are, and so takes numbers from the head as well; a wrong one is still found."""
    table = "| passages | vectors of 384 | vectors of 1024 |\n| --- | --- | --- |\n| 1,000 | 0.02 s | 0.03 s |"
    item = EvidenceItem(source=Source.DOC, ref="doc:1#1", snippet=table, confidence=0.9)
    for said, status in (("0.02 s", CheckStatus.OK), ("0.05 s", CheckStatus.FAILED)):
        draft = f"- passages 1,000: vectors of 384 – {said}; vectors of 1024 – 0.03 s [1]"
        found = check_grounding(draft, [item], request_type=RequestType.KNOWLEDGE_QA, kind=DraftKind.ANSWER)
        assert found.status is status, write_reasons(found.reasons)


@pytest.mark.parametrize(
    ("source", "said", "status"),
    [
        ("A password has 8 characters.", "A password has 8 lines [1].", CheckStatus.FAILED),
        ("A password has 8 characters.", "Пароль состоит из 8 символов [1].", CheckStatus.OK),
        ("В ответе 3 строки.", "The answer has 3 rows [1].", CheckStatus.OK),
        ("В ответе 3 строки.", "The answer has 3 lines [1].", CheckStatus.OK),
        ("Нужны два фрагмента.", "Нужны три фрагмента [1].", CheckStatus.FAILED),
    ],
)
def test_what_is_counted_is_a_unit(source: str, said: str, status: CheckStatus) -> None:
    """The same number of other things is a wrong number; the same things in the other language are not."""
    item = EvidenceItem(source=Source.DOC, ref="doc:1#1", snippet=source, confidence=0.9)
    found = check_grounding(said, [item], request_type=RequestType.KNOWLEDGE_QA, kind=DraftKind.ANSWER)
    assert found.status is status, write_reasons(found.reasons)


# ------------------------------------------------------------------------------------- what is said without a citation


@pytest.mark.parametrize(
    "lie",
    [
        "**The vendor refunds all customers.** {}",
        "_The vendor refunds all customers._ {}",
        "~~The vendor refunds all customers.~~ {}",
        "The vendor refunds all customers.* {}",
        "# The vendor refunds the full price to all customers\n\n{}",
        "**The vendor refunds the full price to all customers**\n\n{}",
        "The vendor refunds the full price to all\n---\n\n{}",
        "> ## The vendor refunds the full price to all customers\n\n{}",
        "{}\n\n    The vendor refunds all customers\n",
        "# Продавец вернёт деньги каждому покупателю\n\n{}",
        "**Продавец вернёт деньги каждому покупателю.** {}",
    ],
)
def test_no_form_hides_a_sentence_that_cites_nothing(lie: str) -> None:
    """Marks of emphasis, headings, lines in bold and code whose words nobody said are claims without a citation."""
    finding = check(lie.format("Port 8080 serves the page [1]."), "Port 8080 serves the page.")
    # A refund is a promise as well, where it stands before a sentence that cites something.
    assert [name for name in (reason.name for reason in finding.reasons) if name != "value_not_in_cited_evidence"] == [
        "claim_without_citation"
    ]


@pytest.mark.parametrize(
    "heading",
    [
        "## Which port serves the page?",
        "## Steps to check",
        "**Solution**",
        "**Note.** ",
        "### The kettle and its port",
        "## Permissions and roles",
        "## Пошаговая инструкция по удалению",
        "**Access rights.** ",
        "## What to do",
        "**Page port.** ",
    ],
)
def test_headings_in_words_of_question_evidence_or_contract_claim_nothing(heading: str) -> None:
    """So do those that only say what stands below."""
    draft = f"{heading}{'' if heading.endswith(' ') else chr(10) * 2}Port 8080 serves the page [1]."
    finding = check_grounding(
        draft,
        evidence("Port 8080 serves the page."),
        request_type=RequestType.KNOWLEDGE_QA,
        kind=DraftKind.ANSWER,
        question="Where is the kettle's page?",
        sections=("What to do",),
    )
    assert (finding.status, finding.reasons) == (CheckStatus.OK, ())
