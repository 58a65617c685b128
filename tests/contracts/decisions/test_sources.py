"""Which sources are asked, given what is connected and allowed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.decisions import EVIDENCE
from contracts.decisions.evidence import EvidenceRule, could_not_ask, sources_that_serve, sources_to_ask
from contracts.enums import RequestType, Source
from contracts.evidence import QueryTrace

TYPES = st.sampled_from(RequestType)
USABLE = st.frozensets(st.sampled_from(Source))
DOCUMENTS = frozenset({Source.DOC, Source.POLICY})


def rule(request_type: RequestType) -> EvidenceRule:
    return EVIDENCE.decide(request_type=request_type).outcome


@given(TYPES, USABLE)
def test_only_usable_sources_are_asked_and_each_once(request_type: RequestType, usable: frozenset[Source]) -> None:
    """A source that is not connected, or not for this role, is not asked."""
    asked = sources_to_ask(rule(request_type), usable)
    assert usable.issuperset(asked)
    assert len(asked) == len(set(asked))


@given(TYPES, USABLE)
def test_a_forbidden_source_is_never_asked(request_type: RequestType, usable: frozenset[Source]) -> None:
    """A prohibition survives whatever else is missing."""
    assert not set(rule(request_type).forbidden).intersection(sources_to_ask(rule(request_type), usable))


@given(TYPES, USABLE)
def test_every_usable_source_that_a_rule_names_is_asked(request_type: RequestType, usable: frozenset[Source]) -> None:
    """Required and recommended sources are asked where they can be, the required ones first."""
    asked = sources_to_ask(rule(request_type), usable)
    required = usable.intersection(rule(request_type).required)
    assert set(asked[: len(required)]) == required
    assert set(asked) >= usable.intersection(rule(request_type).recommended)


@given(USABLE)
def test_a_greeting_asks_nothing(usable: frozenset[Source]) -> None:
    """CASUAL searches nowhere."""
    assert sources_to_ask(rule(RequestType.CASUAL), usable) == ()


def test_a_fault_is_looked_up_in_documents_where_there_is_nothing_else() -> None:
    """TROUBLESHOOTING without db and neo4j falls back to the sources there are."""
    assert set(sources_to_ask(rule(RequestType.TROUBLESHOOTING), DOCUMENTS)) == DOCUMENTS


@pytest.mark.parametrize(
    "request_type", [RequestType.STATUS_METRIC, RequestType.STATUS_SUMMARY, RequestType.STATUS_LIST]
)
def test_a_status_without_db_may_use_policy_alone(request_type: RequestType) -> None:
    """A current state is not read out of documents because no database is connected."""
    assert sources_to_ask(rule(request_type), DOCUMENTS) == (Source.POLICY,)


@pytest.mark.parametrize(
    ("request_type", "serve"),
    [
        (RequestType.KNOWLEDGE_QA, {"doc", "policy", "neo4j"}),
        (RequestType.HOWTO_POLICY, {"doc", "policy"}),
        (RequestType.STATUS_METRIC, {"db", "policy"}),
        (RequestType.TROUBLESHOOTING, {"doc", "policy", "db", "neo4j"}),
    ],
)
def test_rows_do_not_serve_what_is_written_down(request_type: RequestType, serve: set[str]) -> None:
    """A role needs a required source, or a document that stands in for one; what is only recommended is no permission."""
    assert sources_that_serve(rule(request_type)) == serve


@given(TYPES, USABLE.filter(bool))
def test_a_role_that_may_ask_has_something_to_ask(request_type: RequestType, allowed: frozenset[Source]) -> None:
    """With all sources connected, a role that is not denied a search always has a source that is asked."""
    if sources_that_serve(rule(request_type)).intersection(allowed) and request_type is not RequestType.CASUAL:
        assert sources_to_ask(rule(request_type), allowed)


@given(TYPES)
def test_without_any_source_none_is_asked(request_type: RequestType) -> None:
    """A deployment without sources searches nothing, and nothing fails for it here."""
    assert sources_to_ask(rule(request_type), frozenset()) == ()


def test_the_reasons_are_those_of_the_specification() -> None:
    """The reason strings of missing sources are exact."""
    assert {request_type: rule(RequestType(request_type)).reason for request_type in RequestType} == {
        "STATUS_METRIC": "status_request_requires_db",
        "STATUS_SUMMARY": "status_request_requires_db",
        "STATUS_LIST": "status_request_requires_db",
        "HOWTO_POLICY": "design_policy_requires_doc_or_policy",
        "DESIGN_ARCH": "design_policy_requires_doc_or_policy",
        "DATA_DEFINITION": "design_policy_requires_doc_or_policy",
        "TROUBLESHOOTING": "troubleshooting_requires_db_and_neo4j",
        "KNOWLEDGE_QA": "knowledge_requires_doc_or_neo4j",
        "CASUAL": "",
    }


def trace(source: Source, query: str, attempt: int = 0, error: str = "") -> QueryTrace:
    return QueryTrace(query=query, source=source, attempt=attempt, error=error)


def test_a_source_could_not_be_asked_where_one_query_got_no_answer_in_any_attempt() -> None:
    """A failure counts by query; an answer of a later attempt to the same query makes it good."""
    down = [trace(Source.DOC, "one"), trace(Source.DOC, "two", error="Away."), trace(Source.DB, "two")]
    assert could_not_ask(down) == {Source.DOC}
    assert could_not_ask([*down, trace(Source.DOC, "two", 1, "Away.")]) == {Source.DOC}
    assert could_not_ask([*down, trace(Source.DOC, "another", 1)]) == {Source.DOC}
    assert could_not_ask([*down, trace(Source.DOC, "two", 1)]) == frozenset()
    assert could_not_ask([]) == frozenset()
