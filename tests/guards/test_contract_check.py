"""Does the draft keep its contract? Sections, forbidden content, domain terms."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.spec import ArchitectSpec, Section
from contracts.values import CheckStatus, DraftKind, Language, RequiredAction, Track
from guards.contract_check import check_contract, forbidden_content, missing_sections

STEPS = Section(
    name="Steps", title={Language.EN: "What to do", Language.RU: "Что сделать"}, aliases=("Порядок действий",)
)


def spec(*sections: Section, forbidden: tuple[str, ...] = (), terms: tuple[str, ...] = ()) -> ArchitectSpec:
    return ArchitectSpec(required_sections=sections, forbidden_content=forbidden, domain_terms=terms)


def reasons(draft: str, wanted: ArchitectSpec) -> tuple[str, ...]:
    return check_contract(draft, wanted, track=Track.QUALITY, kind=DraftKind.ANSWER).reasons


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
        "## Что сделать",
        "## ПОРЯДОК ДЕЙСТВИЙ",
        "Steps\n=====",
        "What to do\n---",
        "   ## Steps",
        "## What  to\u00a0do",
        "## What to do ##",
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
    ],
)
def test_a_word_in_running_text_is_no_section(draft: str) -> None:
    """Neither prose, nor bold words, lists, code, nor another heading are the section."""
    assert reasons(draft, spec(STEPS)) == ("missing_required_sections=[Steps]",)


def test_every_missing_section_is_named_in_order() -> None:
    """One retry can add them all."""
    wanted = spec(STEPS, Section(name="Cause"), Section(name="Remedy"))
    finding = check_contract("## Cause\n\nDust.", wanted, track=Track.QUALITY, kind=DraftKind.ANSWER)
    assert finding.reasons == ("missing_required_sections=[Steps, Remedy]",)
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


@pytest.mark.parametrize(("entry", "text"), [("a.c", "abc"), (r"/a\.c/", "abc"), ("/", "and"), ("модель", "форма")])
def test_a_phrase_is_no_expression(entry: str, text: str) -> None:
    """What stands without slashes is literal."""
    assert forbidden_content(text, spec(forbidden=(entry,))) == []


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
    assert finding.reasons == (
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
    assert (finding.status, finding.reasons, finding.actions) == (CheckStatus.NOT_ASKED, (), ())


@given(draft=st.text())
def test_any_text_can_be_checked(draft: str) -> None:
    """Whatever a draft is made of, the check is carried out."""
    finding = check_contract(
        draft, spec(STEPS, forbidden=("x",), terms=("role",)), track=Track.QUALITY, kind=DraftKind.ANSWER
    )
    assert finding.status in (CheckStatus.OK, CheckStatus.FAILED)
