"""The closed sets are those of the specification, word for word."""

from __future__ import annotations

from enum import StrEnum

import pytest

import contracts.enums

SPECIFIED = {
    "Language": "en ru",
    "ModerationDecision": "Block Continue",
    "GuardMode": "enforce report off",
    "BlockThreshold": "unsafe controversial",
    "OnUnavailable": "fallback open closed",
    "SafetyLevel": "Safe Controversial Unsafe N/A",
    "ModerationState": "Unsafe Controversial Safe off unavailable",
    "RequestType": (
        "STATUS_METRIC STATUS_SUMMARY STATUS_LIST HOWTO_POLICY DESIGN_ARCH DATA_DEFINITION TROUBLESHOOTING "
        "KNOWLEDGE_QA CASUAL"
    ),
    "SGRAction": "normal clarify block guardian_block",
    "Track": "FAST QUALITY",
    "Source": "doc policy db neo4j",
    "Diversity": "off advisory required",
    "DraftKind": "answer abstention clarification",
    "PolicyStatus": "ok violated unchecked",
    "CheckStatus": "ok failed doubtful unchecked not_asked",
    "EvidenceCounted": "cited sent",
    "PartStatus": "answered partly not_found",
    "Verdict": "PASS RETRY FAIL",
    "RiskLevel": "low med high",
    "RequiredAction": (
        "ADD_EVIDENCE RETRIEVE_MORE DIVERSIFY_SOURCES REMOVE_DOC_EVIDENCE USE_DB_ONLY RETRIEVE_DB RETRIEVE_DOC "
        "RETRIEVE_POLICY RETRIEVE_NEO4J REFINE_QUERY ADD_REQUIRED_SECTIONS REMOVE_FORBIDDEN_CONTENT USE_DOMAIN_TERMS "
        "ADD_EVIDENCE_REFERENCES REGENERATE_DRAFT ASK_MINIMAL_QUESTION SAFE_REFUSAL REDACT_SENSITIVE ESCALATE_TO_HUMAN"
    ),
    "HandOffOutcome": "resolved partially_resolved escalation_required user_followup_needed not_applicable",
}


@pytest.mark.parametrize("name", SPECIFIED)
def test_a_set_has_the_specified_words(name: str) -> None:
    """Identifiers of the specification are facts: none is missing, none is spelt otherwise, none is added."""
    members: type[StrEnum] = getattr(contracts.enums, name)
    assert sorted(members) == sorted(SPECIFIED[name].split())


def test_the_harm_categories_are_those_of_the_guard_model() -> None:
    """The nine categories are Qwen3Guard's, whichever provider judged."""
    assert list(contracts.enums.HarmCategory) == [
        "Violent",
        "Non-violent Illegal Acts",
        "Sexual Content or Sexual Acts",
        "PII",
        "Suicide & Self-Harm",
        "Unethical Acts",
        "Politically Sensitive Topics",
        "Copyright Violation",
        "Jailbreak",
    ]


def test_a_member_is_its_word_in_every_way_that_text_is_written() -> None:
    """A state, a checkpoint or a JSON result that holds a member holds plain text."""
    import json

    action = contracts.enums.SGRAction.CLARIFY
    assert (str(action), f"{action}", json.dumps(action)) == ("clarify", "clarify", '"clarify"')
