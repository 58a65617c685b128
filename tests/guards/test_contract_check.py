"""Does the draft keep its contract? Sections, forbidden content, domain terms."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from contracts.enums import CheckStatus, DraftKind, Language, RequiredAction, ResponseFormat, Track
from contracts.reasons import write_reasons
from contracts.spec import ArchitectSpec, RequiredSection
from guards.contract_check import check_contract, missing_sections

STEPS = RequiredSection(
    name="Steps", title={Language.EN: "What to do", Language.RU: "Что сделать"}, aliases=("Порядок действий",)
)


MARKDOWN, JSON, HYBRID = ResponseFormat.MARKDOWN, ResponseFormat.JSON, ResponseFormat.HYBRID


def spec(
    *sections: RequiredSection,
    forbidden: tuple[str, ...] = (),
    terms: tuple[str, ...] = (),
    form: ResponseFormat = MARKDOWN,
) -> ArchitectSpec:
    return ArchitectSpec(
        response_format=form, required_sections=sections, forbidden_content=forbidden, domain_terms=terms
    )


def reasons(draft: str, wanted: ArchitectSpec) -> tuple[str, ...]:
    return write_reasons(check_contract(draft, wanted, track=Track.QUALITY, kind=DraftKind.ANSWER).reasons)


@pytest.mark.parametrize(
    "heading",
    [
        "# Steps",
        "## steps",
        "###### STEPS ######",
        "### What to do",
        "## What to do:",
        "## **What to do**",
        "## `Steps`",
        "## Чт\u006f сделать",
        "## ПОРЯДОК ДЕЙСТВИЙ",
        "Steps\n=====",
        "What to do\n---",
        "   ## Steps",
        "## What  to\u00a0do",
        "## What to do ##",
        "## What to do?",
        "## 🛠️ What to do",
        "## 1. Steps",
        "## 2.1 Steps",
        "## 1️⃣ Steps",
        "## Step 2: What to do",
        "## Шаг 1. Что сделать",
        "## Раздел 3 — Порядок действий",
        "## IV. Steps",
        "## а) Что сделать",
        "## [Steps](#steps)",
        "## Steps [1]",
        "## What to&nbsp;do",
        "## St\u0435ps",
        "## 2. Wh\u0430t to do",
        "## Steps\n\n### In detail",
    ],
)
def test_a_heading_counts_at_any_level_and_in_any_case(heading: str) -> None:
    """Name, titles and aliases count, whatever the mark-up of the heading."""
    assert missing_sections(f"Intro.\n\n{heading}\n\nPress the button.", spec(STEPS)) == []


@pytest.mark.parametrize(
    "draft",
    [
        "The steps are easy. What to do: press the button.",
        "**What to do**\n\nPress the button.",
        "- Steps\n- more",
        "```\n# Steps\n```",
        "> Steps",
        "## Further steps",
        "## Step",
        "    # Steps",
        "\\# Steps",
        "",
        "- # Steps",
        "> # Steps",
        "~~~markdown\n# Steps\n\nPress.\n~~~",
        "## 2024 steps",
        "<h2>Steps</h2>",
    ],
)
def test_a_word_in_running_text_is_no_section(draft: str) -> None:
    """Neither prose, nor bold words, lists, code, nor another heading are the section."""
    assert reasons(draft, spec(STEPS)) == ("missing_required_sections=[Steps]",)


@pytest.mark.parametrize(
    "draft",
    [
        "## Steps",
        "## Steps\n\n",
        "## Steps\n\n## Further\n\nPress the button.",
        "### Steps\n\n## Further\n\nPress the button.",
        "## Steps\n\n### Further\n\n# End\n\nPress the button.",
        "## Steps\n\n—\n\n---\n\n[1]",
        "## Steps\n\n```bash\n```\n\n👍",
        "## Steps\n\n<!-- Press the button. -->",
        "## Steps\n\n<!--\nPress the button.",
        "## Steps\n\n[1] <!-- Press --> &nbsp; <br>",
    ],
)
def test_a_section_that_says_nothing_is_missing(draft: str) -> None:
    """A heading alone is none, be there a dash, an empty block or another section behind it."""
    assert missing_sections(f"Press the button.\n\n{draft}", spec(STEPS)) == ["Steps"]


def test_a_comment_in_code_is_what_the_code_says() -> None:
    """Only outside of code is it hidden from the reader."""
    assert missing_sections("## Steps\n\n```html\n<!-- header -->\n```", spec(STEPS)) == []
    assert missing_sections("## Steps\n\nOpen <https://example.com/a> [1].", spec(STEPS)) == []


def test_a_section_that_comes_twice_is_there_where_it_says_something() -> None:
    """The first may be empty."""
    assert missing_sections("## Steps\n\n## Steps\n\nPress the button.", spec(STEPS)) == []


def test_every_missing_section_is_named_in_order() -> None:
    """One retry can add them all."""
    wanted = spec(STEPS, RequiredSection(name="Cause"), RequiredSection(name="Remedy"))
    finding = check_contract("## Cause\n\nDust.", wanted, track=Track.QUALITY, kind=DraftKind.ANSWER)
    assert write_reasons(finding.reasons) == ("missing_required_sections=[Steps, Remedy]",)
    assert finding.actions == (RequiredAction.ADD_REQUIRED_SECTIONS, RequiredAction.REGENERATE_DRAFT)


@pytest.mark.parametrize(
    ("entry", "text"),
    [
        ("as an AI language model", "As an AI\nlanguage  model, I boil."),
        ("как языковая модель", "Я, КАК ЯЗЫКОВАЯ МОДЕЛЬ, не знаю."),
        ("всё ещё", "Все еще кипит."),
        ("never ever", "ne\u200bver ever"),
        (r"/\bguarantee\w*/", "We GUARANTEED it."),
        (r"/^draft/", "draft of it"),
    ],
)
def test_forbidden_content_is_found(entry: str, text: str) -> None:
    """A phrase in any case, with ё or е, spaces or invisible characters; an expression between slashes."""
    assert reasons(text, spec(forbidden=(entry,))) == (f"forbidden_content_detected=[{entry}]",)


def test_a_phrase_is_forbidden_wherever_it_stands() -> None:
    """In a heading, a table, a quote or code as well as in prose; every phrase that occurs is named, in their order."""
    draft = "# Beta\n\n| a |\n| - |\n| soon |\n\n> вскоре\n\n```\nTODO\n```"
    forbidden = ("todo", "вскоре", "soon", "beta", "alpha")
    assert reasons(draft, spec(forbidden=forbidden)) == ("forbidden_content_detected=[todo, вскоре, soon, beta]",)


@pytest.mark.parametrize(
    ("term", "text", "used"),
    [
        ("роль", "Выберите роли пользователя.", True),
        ("роль", "Смените пароль.", False),
        ("роль", "Сбросьте пароли и логины.", False),
        ("форма", "Откройте формы.", True),
        ("форма", "На форме есть кнопка.", True),
        ("форма", "Платформа готова.", False),
        ("шаблон записи", "В шаблоне записей есть атрибут.", True),
        ("шаблон записи", "Шаблон процесса и записи.", False),
        ("account", "Two accounts.", True),
        ("account", "The discount.", False),
        ("N3", "Пишите на n3.", True),
        ("C#", "In C# only.", True),
        ("C++", "Written in C++.", True),
        ("C++", "Written in `C\\+\\+`.", True),
        ("C++", "Written in C.", False),
        ("C++", "Written in C+.", False),
        ("C#", "Written in C.", False),
        (".NET", "It runs on .NET.", True),
        (".NET", "It runs on the net.", False),
        ("C++", '{"a": "in C\\u002b+"}', True),
        ("account", "Two acc\u043eunts.", True),
        ("роль", "Выберите pоль.", True),
        ("record template", "Open the record&nbsp;templates.", True),
        ("роль", "| Поле | Смысл |\n| --- | --- |\n| Роли | Кто что может |", True),
        ("record template", "Open the *record templates*.", True),
        ("шаблон записи", '{"a": "\\u0448аблоны записей"}', True),
        ("шаблон записи", '{"a": "шаблон", "b": 1, "c": "другая запись"}', False),
    ],
)
def test_terms_match_by_stems_on_token_boundaries(term: str, text: str, used: bool) -> None:
    """Any word form counts, a part of another word does not."""
    expected = () if used else ("domain_terms_not_used",)
    assert reasons(text, spec(terms=(term,))) == expected


def test_one_of_the_terms_is_enough() -> None:
    """At least one must be used, and where none is asked for, none is missed."""
    assert reasons("Откройте форму.", spec(terms=("роль", "форма"))) == ()
    assert reasons("Hello.", spec()) == ()
    finding = check_contract("Hello.", spec(terms=("роль",)), track=Track.QUALITY, kind=DraftKind.ANSWER)
    assert finding.actions == (RequiredAction.USE_DOMAIN_TERMS, RequiredAction.REGENERATE_DRAFT)


def test_all_faults_are_reported_at_once() -> None:
    """Three faults, three reasons, each action once."""
    finding = check_contract(
        "This is bad.",
        spec(STEPS, forbidden=("bad",), terms=("role",)),
        track=Track.QUALITY,
        kind=DraftKind.ANSWER,
    )
    assert finding.status is CheckStatus.FAILED
    assert write_reasons(finding.reasons) == (
        "missing_required_sections=[Steps]",
        "forbidden_content_detected=[bad]",
        "domain_terms_not_used",
    )
    assert len(finding.actions) == len(set(finding.actions)) == 4


@pytest.mark.parametrize(
    ("track", "kind"),
    [
        (Track.FAST, DraftKind.ANSWER),
        (Track.QUALITY, DraftKind.ABSTENTION),
        (Track.QUALITY, DraftKind.CLARIFICATION),
    ],
)
def test_only_answers_on_quality_are_asked(track: Track, kind: DraftKind) -> None:
    """On FAST and for what is no answer the contract is not checked."""
    finding = check_contract("bad", spec(STEPS, forbidden=("bad",)), track=track, kind=kind)
    assert (finding.status, write_reasons(finding.reasons), finding.actions) == (CheckStatus.NOT_ASKED, (), ())


# ---------------------------------------------------------------------------------------------------------- formats


@pytest.mark.parametrize(
    "draft",
    [
        '{"Steps": ["Press [1]."]}',
        '{"STEPS": "Press [1]."}',
        ' {"what_to_do": {"first": "Press [1]."}}\n',
        '{"порядок действий": [{"шаг": "Нажмите [1]."}], "more": 1}',
        '{"1. Steps": "Press [1]."}',
        '{"steps": 4, "sources": [1]}',
        '{"Steps": false, "sources": [1]}',
    ],
)
def test_the_sections_of_json_are_its_keys(draft: str) -> None:
    """Names, titles and aliases count as headings do; further keys are allowed."""
    assert reasons(draft, spec(STEPS, form=JSON)) == ()


@pytest.mark.parametrize(
    "draft",
    [
        "{}",
        '{"Steps": null}',
        '{"Steps": ""}',
        '{"Steps": ["—", {"a": [], "b": "[1]"}]}',
        '{"Steps": {"sources": [1]}}',
        '{"Steps": "<!-- Press -->"}',
        '{"answer": {"Steps": "Press [1]."}}',
        '{"answer": "# Steps"}',
    ],
)
def test_a_key_that_says_nothing_is_no_section_and_neither_is_one_further_in(draft: str) -> None:
    """Only keys of the outermost object count, and only with words, numbers or a yes or no under them."""
    assert reasons(draft, spec(STEPS, form=JSON)) == ("missing_required_sections=[Steps]",)


HEADED = "## Steps\n\nPress the button [1].\n\n"


@pytest.mark.parametrize(
    ("form", "draft", "fault"),
    [
        (JSON, '{"Steps": "Press [1]."', "json: line 1 column 23: neither a comma nor }"),
        (JSON, '{"Steps":\n Press}', "json: line 2 column 2: no value"),
        (JSON, "## Steps\n\nPress [1].", "json: line 1 column 1: no value"),
        (JSON, '```json\n{"Steps": "Press [1]."}\n```', "json: line 1 column 1: no value"),
        (JSON, '["Press [1]."]', "json: line 1 column 1: not an object"),
        (JSON, '{"Steps": "a [1]", "Steps": "b [1]"}', 'json: line 1 column 20: the key "Steps" for the second time'),
        (JSON, '{"Steps": "a [1]", "b": [{"c [1]": 1}]}', 'json: a citation in the key "c [1]"'),
        (
            JSON,
            '{"Steps": "a [1]", "Cited sources": []}',
            'json: the key "Cited sources" is not the draft\'s: the list of sources is written there',
        ),
        (HYBRID, HEADED, "hybrid: no block of json"),
        (HYBRID, HEADED + "```json\n{}\n```\n\n```json\n{}\n```", "hybrid: more than one block of json"),
        (HYBRID, HEADED + "```json\n{", "hybrid: the block of json is not closed"),
        (HYBRID, HEADED + '```json\n{"a":\n}\n```', "hybrid: line 2 column 1: no value"),
        (HYBRID, HEADED + '```json\n{"a [1]": 1}\n```', 'hybrid: a citation in the key "a [1]"'),
    ],
)
def test_a_wrong_form_is_told_with_its_place(form: ResponseFormat, draft: str, fault: str) -> None:
    """The reason names format, line and column, and the draft has to be written again."""
    finding = check_contract(draft, spec(STEPS, form=form), track=Track.QUALITY, kind=DraftKind.ANSWER)
    assert write_reasons(finding.reasons) == (f"response_format_violated=[{fault}]",)
    assert finding.actions == (RequiredAction.REGENERATE_DRAFT,)


@pytest.mark.parametrize("block", ['```json\n{"a": 1}\n```', "~~~json\n[1]\n~~~\n\n```bash\nls\n```"])
def test_a_hybrid_answer_has_headings_and_one_block_of_json(block: str) -> None:
    """Its sections are headings; the block of JSON may hold any value, and other code may stand beside it."""
    assert reasons(HEADED + block, spec(STEPS, form=HYBRID)) == ()
    assert reasons(f"## Steps\n\n{block}", spec(STEPS, form=HYBRID)) == ()
    assert reasons(block, spec(STEPS, form=HYBRID)) == ("missing_required_sections=[Steps]",)


def test_json_that_does_not_parse_is_searched_all_the_same() -> None:
    """What is said in it is told at once, so that one retry mends all; which sections it has, nobody can tell."""
    finding = check_contract(
        '{"Steps": "Bad.',
        spec(STEPS, forbidden=("bad",), terms=("role",), form=JSON),
        track=Track.QUALITY,
        kind=DraftKind.ANSWER,
    )
    assert write_reasons(finding.reasons) == (
        "response_format_violated=[json: line 1 column 11: a string that does not end]",
        "forbidden_content_detected=[bad]",
        "domain_terms_not_used",
    )


def test_all_faults_of_a_hybrid_draft_are_reported_at_once() -> None:
    """Form and sections do not hide one another."""
    finding = check_contract("Bad.", spec(STEPS, form=HYBRID), track=Track.QUALITY, kind=DraftKind.ANSWER)
    assert write_reasons(finding.reasons) == (
        "response_format_violated=[hybrid: no block of json]",
        "missing_required_sections=[Steps]",
    )
    assert finding.actions == (RequiredAction.REGENERATE_DRAFT, RequiredAction.ADD_REQUIRED_SECTIONS)


@pytest.mark.parametrize("form", ResponseFormat)
@pytest.mark.parametrize("opening", ["[", '{"a":', "> ", "- ", "```json\n["])
def test_a_draft_of_brackets_is_checked_like_any(form: ResponseFormat, opening: str) -> None:
    """However deep a draft goes, the check comes to an end and finds the section missing, or the form wrong."""
    finding = check_contract(opening * 2_000, spec(STEPS, form=form), track=Track.QUALITY, kind=DraftKind.ANSWER)
    assert finding.status is CheckStatus.FAILED


# -------------------------------------------------------------------------------------------- contracts that cannot be


@pytest.mark.parametrize(
    ("contract", "fault"),
    [
        ({"forbidden_content": [" "]}, "an empty phrase"),
        ({"forbidden_content": ["/(/"]}, "not a regular expression"),
        ({"domain_terms": ["#"]}, "a term without a letter or digit"),
        ({"required_sections": [{"name": "?"}]}, "a heading without a letter or digit"),
        ({"required_sections": [{"name": "A", "aliases": [""]}]}, "a heading without a letter or digit"),
        (
            {"required_sections": [{"name": "A"}, {"name": "B", "aliases": ["a:"]}]},
            "'A' and 'B' share the heading 'a:'",
        ),
        ({"required_sections": [{"name": "A"}, {"name": "A"}]}, "two sections have the same name"),
        ({"response_format": "json", "required_sections": [{"name": "Sources"}]}, "'Sources' is for citations"),
        (
            {"response_format": "json", "required_sections": [{"name": "A", "aliases": ["Cited sources"]}]},
            "for citations",
        ),
        ({"response_format": "xml"}, "'markdown', 'json' or 'hybrid'"),
    ],
)
def test_a_contract_that_nothing_could_keep_is_refused(contract: dict[str, object], fault: str) -> None:
    """It is told when the profile is read, and not by answers that fail."""
    with pytest.raises(ValidationError, match=re.escape(fault)):
        ArchitectSpec.model_validate(contract)


@given(draft=st.text() | st.text('{}[]":,\\#`\n 1a'), form=st.sampled_from(ResponseFormat))
def test_any_text_can_be_checked(draft: str, form: ResponseFormat) -> None:
    """Whatever a draft is made of, the check is carried out."""
    wanted = spec(STEPS, forbidden=("x",), terms=("role",), form=form)
    finding = check_contract(draft, wanted, track=Track.QUALITY, kind=DraftKind.ANSWER)
    assert finding.status in (CheckStatus.OK, CheckStatus.FAILED)
