"""DT-006: which sources must, may and must not serve a request."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from contracts.decisions.engine import ChoiceColumn, DecisionRow, DecisionTable, HitPolicy, one_of
from contracts.enums import RequestType, RequiredAction, Source
from contracts.evidence import QueryTrace

_T = RequestType
_DOC, _POLICY, _DB, _GRAPH = Source.DOC, Source.POLICY, Source.DB, Source.NEO4J


@dataclass(frozen=True, slots=True)
class EvidenceRule:
    """The sources of a request type.

    Attributes:
        any_of: The evidence must have at least one of these.
        all_of: The evidence must have each of these.
        forbidden: The evidence must have none of these.
        recommended: These are searched, too.
        reason: The reason string if required sources are missing.
        remedy: The actions that would add them.
    """

    any_of: tuple[Source, ...] = ()
    all_of: tuple[Source, ...] = ()
    forbidden: tuple[Source, ...] = ()
    recommended: tuple[Source, ...] = ()
    reason: str = ""
    remedy: tuple[RequiredAction, ...] = ()

    @property
    def required(self) -> tuple[Source, ...]:
        """Every required source, whether unconditional or an alternative."""
        return (*self.all_of, *self.any_of)

    def allowed(self) -> tuple[Source, ...]:
        """The sources to search if all are connected, required ones first."""
        return tuple(dict.fromkeys((*self.required, *self.recommended)))

    def __str__(self) -> str:
        required = " and ".join(self.all_of) or " or ".join(self.any_of) or "none"
        return f"required: {required}; forbidden: {_list(self.forbidden)}; recommended: {_list(self.recommended)}"


def _list(sources: tuple[Source, ...]) -> str:
    return ", ".join(sources) or "none"


def _status(*recommended: Source) -> EvidenceRule:
    return EvidenceRule(
        all_of=(_DB,),
        forbidden=(_DOC,),
        recommended=recommended,
        reason="status_request_requires_db",
        remedy=(RequiredAction.USE_DB_ONLY, RequiredAction.RETRIEVE_DB),
    )


def _document_rule(first: Source, second: Source, *recommended: Source) -> EvidenceRule:
    return EvidenceRule(
        any_of=(first, second),
        recommended=recommended,
        reason="design_policy_requires_doc_or_policy",
        remedy=(RequiredAction.RETRIEVE_DOC, RequiredAction.RETRIEVE_POLICY),
    )


def _row(request_type: RequestType, rule: EvidenceRule, because: str) -> DecisionRow[EvidenceRule]:
    return DecisionRow(request_type.lower().replace("_", "-"), {"request_type": one_of(request_type)}, rule, because)


EVIDENCE: Final = DecisionTable(
    id="DT-006",
    title="Evidence rules by request type",
    hit=HitPolicy.UNIQUE,
    columns={"request_type": ChoiceColumn(tuple(RequestType))},
    rows=(
        _row(_T.STATUS_METRIC, _status(_POLICY, _GRAPH), "a current figure stands in no document"),
        _row(_T.STATUS_SUMMARY, _status(_POLICY), "a current state stands in no document"),
        _row(_T.STATUS_LIST, _status(_GRAPH), "a current list stands in no document"),
        _row(_T.HOWTO_POLICY, _document_rule(_POLICY, _DOC, _DB), "rules and instructions are written down"),
        _row(_T.DESIGN_ARCH, _document_rule(_DOC, _POLICY, _DB, _GRAPH), "designs are written down"),
        _row(_T.DATA_DEFINITION, _document_rule(_POLICY, _DOC, _DB), "definitions are written down"),
        _row(
            _T.TROUBLESHOOTING,
            EvidenceRule(
                all_of=(_DB, _GRAPH),
                recommended=(_POLICY,),
                reason="troubleshooting_requires_db_and_neo4j",
                remedy=(RequiredAction.RETRIEVE_DB, RequiredAction.RETRIEVE_NEO4J),
            ),
            "a fault shows in the data and in what depends on what",
        ),
        _row(
            _T.KNOWLEDGE_QA,
            EvidenceRule(
                any_of=(_DOC, _GRAPH),
                recommended=(_POLICY,),
                reason="knowledge_requires_doc_or_neo4j",
                remedy=(RequiredAction.RETRIEVE_DOC, RequiredAction.RETRIEVE_NEO4J),
            ),
            "knowledge is in documents and in their relations",
        ),
        _row(_T.CASUAL, EvidenceRule(), "a greeting needs no proof"),
    ),
)


def sources_that_serve(rule: EvidenceRule) -> frozenset[Source]:
    """Return the sources of which a role needs at least one to make requests of this rule.

    They are the required sources, and documents and policies unless the rule forbids them: these replace a database or
    a graph that a role may not use. Rows never replace documents that a role may not read.
    """
    return frozenset((*rule.required, _DOC, _POLICY)).difference(rule.forbidden)


def sources_to_ask(rule: EvidenceRule, usable: frozenset[Source]) -> tuple[Source, ...]:
    """Return the sources that serve a rule among those that are connected and allowed to the user.

    A source that is not connected cannot be required. If none of the required sources is usable, every usable source
    that is not forbidden replaces them. So TROUBLESHOOTING without db and neo4j falls back to documents and policies,
    and STATUS without db to policies only: forbidden sources stay forbidden.
    """
    chosen = tuple(source for source in rule.allowed() if source in usable)
    if not rule.required or usable.intersection(rule.required):
        return chosen
    others = (source for source in Source if source in usable and source not in (*chosen, *rule.forbidden))
    return (*chosen, *others)


def could_not_ask(traces: Iterable[QueryTrace]) -> frozenset[Source]:
    """Return the sources that left a query of the turn unanswered in every attempt."""
    failed: set[tuple[Source, str]] = set()
    answered: set[tuple[Source, str]] = set()
    for trace in traces:
        (failed if trace.error else answered).add((trace.source, trace.query))
    return frozenset(source for source, _ in failed - answered)
