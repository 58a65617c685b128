"""The Guardian called by itself, with a few keys of a state and nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from assistant.config.profiles import load_profile
from contracts.errors import ConfigError
from nodes.guardian_verify import guardian_verify

DESIGN: dict[str, Any] = {
    "request_type": "DESIGN_ARCH",
    "evidence": [{"source": "doc", "ref": "a", "snippet": "Content here", "confidence": 0.7}],
    "architect_spec": {"required_sections": ["Summary"]},
    "draft_answer": "## Summary\nContent here",
}


async def report_of(**state: Any) -> dict[str, Any]:
    """Return the report on a state of these keys alone."""
    given: Any = state
    return (await guardian_verify(given))["guardian"]


async def test_too_little_evidence_is_searched_for() -> None:
    """One passage is too few for a design: RETRY with RETRIEVE_MORE."""
    report = await report_of(**DESIGN, retry_count=0)
    assert report["verdict"] == "RETRY"
    assert "RETRIEVE_MORE" in report["required_actions"]
    assert "insufficient_evidence_count(<2)" in report["reasons"]
    assert report["checks"]["contract"] == "ok"


async def test_without_a_retry_left_it_fails() -> None:
    """The same after two retries is FAIL."""
    report = await report_of(**DESIGN, retry_count=2)
    assert report["verdict"] == "FAIL"
    assert report["required_actions"] == ["ASK_MINIMAL_QUESTION"]


@pytest.mark.parametrize("retry_count", [0, 2])
async def test_a_figure_out_of_documents_does_not_pass(retry_count: int) -> None:
    """Documents and policy are no source of current figures: the database alone is, or there is no answer."""
    evidence = [
        {"source": "doc", "ref": "a", "snippet": "There are 5 kettles.", "confidence": 0.9},
        {"source": "policy", "ref": "b", "snippet": "There are 5 kettles here.", "confidence": 0.9},
    ]
    report = await report_of(
        request_type="STATUS_METRIC",
        evidence=evidence,
        draft_answer="There are 5 kettles [1].",
        retry_count=retry_count,
    )
    assert report["verdict"] == ("FAIL" if retry_count else "RETRY")
    assert "status_request_must_not_use_doc_as_primary" in report["reasons"]
    if not retry_count:
        assert {"USE_DB_ONLY", "RETRIEVE_DB"} & set(report["required_actions"])


async def test_plain_strings_are_required_sections() -> None:
    """A contract of strings asks for the sections of these names."""
    missing = await report_of(**{**DESIGN, "draft_answer": "Content here"}, retry_count=0)
    assert "missing_required_sections=[Summary]" in missing["reasons"]


@pytest.mark.parametrize(
    ("draft", "rules"),
    [
        ("Set the mirror to hub.docker.com [1].", None),
        ("Set the mirror of shop.ru to hub.docker.com [1].", None),
        ("Set the mirror to evil.ru [1].", "policy_violation=[foreign-link]"),
        ("Set the mirror to https://hub.docker.com [1].", "policy_violation=[foreign-link]"),
    ],
)
async def test_a_draft_may_name_the_domains_that_it_was_shown(draft: str, rules: str | None) -> None:
    """Those of the question and of the evidence, but it may link to none of them."""
    report = await report_of(
        question={"text": "Which mirror has shop.ru?"},
        evidence=[{"source": "doc", "ref": "a", "snippet": "Set the mirror to hub.docker.com.", "confidence": 0.9}],
        draft_answer=draft,
    )
    assert [reason for reason in report["reasons"] if "policy" in reason] == ([rules] if rules else [])


async def test_a_state_without_anything_is_judged() -> None:
    """No draft is an abstention, and never a PASS."""
    report = await report_of()
    assert report["verdict"] != "PASS"
    assert "abstained" in report["reasons"]


@pytest.mark.parametrize("contract", [None, "junk", 7, ["x"], {"required_sections": 7}, {"min_words": "many"}])
async def test_a_contract_that_cannot_be_read_is_unchecked(contract: Any) -> None:
    """What nobody can read nobody has checked: FAIL to a person with `could_not_check=[contract]`."""
    evidence = [{"source": "doc", "ref": n, "snippet": f"Content here {n}", "confidence": 0.9} for n in "ab"]
    report = await report_of(**{**DESIGN, "evidence": evidence, "architect_spec": contract})
    assert report["checks"]["contract"] == "unchecked"
    assert "could_not_check=[contract]" in report["reasons"]
    assert report["verdict"] != "PASS"


def test_a_profile_with_an_unreadable_contract_is_not_loaded(tmp_path: Path, root: Path) -> None:
    """A deployment does not begin with a contract that no turn could be checked by."""
    text = (root / "profiles" / "handbook.toml").read_text("utf-8") if (root / "profiles").is_dir() else ""
    assert text
    broken = tmp_path / "broken.toml"
    broken.write_text(text + "\n[contracts.DESIGN_ARCH]\nrequired_sections = 7\n", "utf-8")
    with pytest.raises(ConfigError):
        load_profile(str(broken))


@pytest.mark.parametrize("quoted", [True, False], ids=["quoted", "a model's own words"])
async def test_a_demand_of_a_models_own_words_is_refused_sooner_than_a_documents(quoted: bool) -> None:
    """What stands in a document with the same words passes as a quotation: a sentence lost there is lost for good."""
    said = "Students who cannot log in should message the class coordinator with their password and date of birth."
    report = await report_of(
        request_type="KNOWLEDGE_QA",
        question={"text": "What should students who cannot log in do?"},
        evidence=[{"source": "doc", "ref": "a", "snippet": said, "confidence": 0.9}],
        draft_answer=f"{said[:-1]} [1].",
        quoted=quoted,
    )
    assert ("policy_violation=[asks-for-secrets]" in report["reasons"]) is not quoted
