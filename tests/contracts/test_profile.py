"""Profiles, run settings and contracts: what they take, and that a slip is an error and no silent default."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ValidationError

from contracts.context import Context
from contracts.enums import Language, RequestType, Source
from contracts.evidence import ConfidenceFigures, EvidenceItem
from contracts.profile import Behaviour, Thresholds
from contracts.spec import ArchitectSpec, RequiredSection, pattern_fault
from tests.support.profiles import make_profile


def place(error: ValidationError) -> str:
    return ".".join(str(part) for part in error.errors()[0]["loc"])


@pytest.mark.parametrize(
    ("changes", "where"),
    [
        ({"produkt": "Desk"}, "produkt"),
        ({"thresholds": {"spam": 1.5}}, "thresholds.spam"),
        ({"thresholds": {"spam": 1.0}}, "thresholds.spam"),
        ({"thresholds": {"spam": 0.0}}, "thresholds.spam"),
        ({"thresholds": {"spam": float("nan")}}, "thresholds.spam"),
        ({"thresholds": {"spam_score": 0.5}}, "thresholds.spam_score"),
        ({"thresholds": {"norm_midpoint": 0}}, "thresholds.norm_midpoint"),
        ({"behaviour": {"max_retry": 6}}, "behaviour.max_retry"),
        ({"behaviour": {"guard_mode": "enforced"}}, "behaviour.guard_mode"),
        ({"knowledge": [{"path": "docs", "source": "db"}]}, "knowledge.0.source"),
        ({"policy": [{"id": "x", "pattern": "("}]}, "policy.0.pattern"),
        ({"policy": [{"id": "A b", "pattern": "x"}]}, "policy.0.id"),
        ({"policy": [{"id": "x", "pattern": "x", "action": "RETRIEVE_MORE"}]}, "policy.0.action"),
        ({"contracts": {"HOWTO": {}}}, "contracts.HOWTO.[key]"),
        ({"contracts": {"HOWTO_POLICY": {"sections": []}}}, "contracts.HOWTO_POLICY.sections"),
        ({"contracts": {"HOWTO_POLICY": {"response_format": "html"}}}, "contracts.HOWTO_POLICY.response_format"),
        ({"roles": {"user": {"sources": ["docs"]}}}, "roles.user.sources.0"),
        ({"scope": {"description": {"en": "Only English."}}}, ""),
        ({"languages": []}, ""),
        ({"languages": ["de"]}, "languages.0"),
        ({"name": "../up"}, "name"),
    ],
)
def test_a_slip_in_a_profile_is_an_error_that_names_its_place(changes: dict[str, Any], where: str) -> None:
    """A misspelt key, a threshold outside the open interval and a word of no set are refused, and the place is told."""
    with pytest.raises(ValidationError) as caught:
        make_profile(**changes)
    assert place(caught.value) == where


def test_the_least_profile_is_a_profile() -> None:
    """A name, a product and its scope suffice, and every request type then has a contract that asks for nothing."""
    least = make_profile()
    assert all(least.spec_for(request_type) == ArchitectSpec() for request_type in RequestType)


def test_a_role_sees_its_sources_and_an_unknown_role_none() -> None:
    """What no profile grants is not granted."""
    desk = make_profile(roles={"user": {"sources": ["doc"]}, "operator": {"sources": ["doc", "db"]}})
    assert desk.sources_for("user") == {Source.DOC}
    assert desk.sources_for("operator") == {Source.DOC, Source.DB}
    assert desk.sources_for("nobody") == frozenset()


def test_the_defaults_of_a_profile_are_those_of_a_run() -> None:
    """A deployment that says nothing of a setting runs as a run that says nothing of it."""
    run = Context().model_dump()
    short = {"spam": "spam_threshold", "confidence": "confidence_threshold", "evidence": "evidence_threshold"}
    thresholds = {short.get(name, name): value for name, value in Thresholds().model_dump().items()}
    del thresholds["norm_midpoint"]  # belongs to the index, not to a run
    said = {**thresholds, **Behaviour().model_dump()}
    assert {name: run[name] for name in said} == said


@pytest.mark.parametrize("model", [Context(), make_profile(), Thresholds(), Behaviour(), ArchitectSpec()], ids=repr)
def test_settings_are_frozen_and_survive_json(model: BaseModel) -> None:
    """Settings cannot change during a run, and are the same after a trip through JSON."""
    assert type(model).model_validate(json.loads(model.model_dump_json())) == model
    with pytest.raises(ValidationError, match="frozen"):
        setattr(model, next(iter(type(model).model_fields)), None)


@pytest.mark.parametrize(
    "changes",
    [
        {"spam_treshold": 0.5},
        {"spam_threshold": 1.0},
        {"mean_confidence_enforced": 0.0},
        {"top_k": 0},
        {"max_retry": -1},
        {"context_budget": 10},
    ],
)
def test_a_wrong_run_setting_is_refused(changes: dict[str, Any]) -> None:
    """A misspelt setting and one outside its bounds are errors."""
    with pytest.raises(ValidationError):
        Context.model_validate(changes)


def test_every_run_setting_is_explained() -> None:
    """Studio shows the settings as a form, and each says what it does."""
    assert [name for name, field in Context.model_fields.items() if not field.description] == []


def test_a_section_counts_under_its_name_its_titles_and_its_aliases() -> None:
    """Headings of a section come in one order, the name first."""
    section = RequiredSection(name="steps", title={Language.EN: "Steps", Language.RU: "Шаги"}, aliases=("How to",))
    assert section.headings() == ("steps", "Steps", "Шаги", "How to")


# --------------------------------------------------------------------------------------------------------- evidence

CONFIDENCES = st.lists(st.floats(0, 1), min_size=1).map(lambda drawn: sorted(drawn, reverse=True))


@given(CONFIDENCES, st.floats(0, 1, exclude_min=True, exclude_max=True))
def test_the_figures_of_a_query_are_those_of_its_list(confidences: list[float], threshold: float) -> None:
    """Top, mean, gap and count are computed from the ranked list; at the threshold an item counts."""
    figures = ConfidenceFigures.of(confidences, threshold)
    assert figures.top_score == max(confidences)
    assert figures.mean_top_k == pytest.approx(sum(confidences) / len(confidences))
    assert 0 <= figures.score_gap <= figures.top_score
    assert figures.n_above_threshold == len([value for value in confidences if value >= threshold])
    assert figures.likely_relevant == (figures.n_above_threshold > 0)


def test_a_query_that_found_nothing_has_figures_of_zero() -> None:
    """No item, no confidence, not likely relevant."""
    assert ConfidenceFigures.of([], 0.5) == ConfidenceFigures()


def test_evidence_at_the_threshold_counts() -> None:
    """The threshold itself is enough."""
    assert ConfidenceFigures.of([0.5], 0.5).likely_relevant
    assert not ConfidenceFigures.of([0.49], 0.5).likely_relevant


@pytest.mark.parametrize("wrong", [-0.1, 1.1, float("nan")])
def test_evidence_has_a_confidence_from_0_to_1(wrong: float) -> None:
    """A raw score is not taken for a confidence."""
    with pytest.raises(ValidationError):
        EvidenceItem(source=Source.DOC, ref="doc:1#1", snippet="text", confidence=wrong)


def test_evidence_without_a_document_counts_as_its_own() -> None:
    """Rows of a database have no document, and are folded by their own id."""
    item = EvidenceItem(source=Source.DB, ref="db:1", snippet="text", confidence=1)
    assert item.document_key == "db:1"
    assert item.model_copy(update={"document": "doc:1"}).document_key == "doc:1"


@pytest.mark.parametrize("pattern", ["(a+)+$", "(?:a*b?)*c", "((x+)y?)+", "(a|b+)*"])
def test_a_pattern_that_may_never_end_is_refused(pattern: str) -> None:
    """A repetition without end inside another one can hang a turn, so no profile may hold one."""
    assert "may never come to an end" in pattern_fault(pattern)


@pytest.mark.parametrize("pattern", ["a+b*c", r"(?:salary|pay)\w*", "(ab){2,5}", r"(?:ab+){1,3}", "[a-z]+ of .*"])
def test_ordinary_patterns_are_taken(pattern: str) -> None:
    """Repetitions beside each other, and bounded ones around others, are fine."""
    assert pattern_fault(pattern) == ""
