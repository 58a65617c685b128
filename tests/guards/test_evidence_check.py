"""Does the evidence suffice? The reasons of DT-006, exactly as they are written in the specification."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations, product

import pytest

from contracts.enums import CheckStatus, Diversity, DraftKind, RequestType, RequiredAction, Source, Track
from contracts.evidence import EvidenceItem
from contracts.reasons import Reason, could_not_check, write_reasons
from guards.evidence_check import EvidenceQuestion, check_evidence, unchecked_sources

DOC, POLICY, DB, GRAPH = Source
EVERYTHING = frozenset(Source)
PAPERS = frozenset({DOC, POLICY})


def items(*sources: Source, confidence: float = 0.9) -> list[EvidenceItem]:
    return [
        EvidenceItem(source=source, ref=f"{source}:{n}", snippet="x", confidence=confidence)
        for n, source in enumerate(sources)
    ]


def question(request_type: RequestType, *sources: Source, **changes: object) -> EvidenceQuestion:
    asked = EvidenceQuestion(
        request_type=request_type,
        track=Track.QUALITY,
        kind=DraftKind.ANSWER,
        evidence=items(*sources),
        usable=EVERYTHING,
    )
    return replace(asked, **changes)


def reasons(request_type: RequestType, *sources: Source, **changes: object) -> tuple[str, ...]:
    return write_reasons(check_evidence(question(request_type, *sources, **changes)).reasons)


STATUS = [RequestType.STATUS_METRIC, RequestType.STATUS_SUMMARY, RequestType.STATUS_LIST]
WRITTEN = [RequestType.HOWTO_POLICY, RequestType.DESIGN_ARCH, RequestType.DATA_DEFINITION]


@pytest.mark.parametrize("request_type", STATUS)
def test_status_needs_the_database(request_type: RequestType) -> None:
    """A current figure without a row of the database is no answer, and the remedy is the database."""
    finding = check_evidence(question(request_type, POLICY, POLICY))
    assert write_reasons(finding.reasons) == ("status_request_requires_db",)
    assert finding.actions == (RequiredAction.USE_DB_ONLY, RequiredAction.RETRIEVE_DB)
    assert reasons(request_type, DB, POLICY) == ()


@pytest.mark.parametrize("request_type", STATUS)
def test_status_must_not_rest_on_documents(request_type: RequestType) -> None:
    """Documents among the evidence of a status are a fault, beside a row of the database and without one."""
    assert reasons(request_type, DB, DOC) == ("status_request_must_not_use_doc_as_primary",)
    assert reasons(request_type, DOC, DOC) == (
        "status_request_must_not_use_doc_as_primary",
        "status_request_requires_db",
    )
    # The prohibition survives where there is no database.
    assert reasons(request_type, DOC, POLICY, usable=PAPERS) == ("status_request_must_not_use_doc_as_primary",)


@pytest.mark.parametrize("request_type", STATUS)
def test_status_without_a_database_may_rest_on_policies(request_type: RequestType) -> None:
    """What is not connected cannot be required, and the report says so."""
    finding = check_evidence(question(request_type, POLICY, POLICY, usable=PAPERS))
    assert finding.status is CheckStatus.OK
    assert "required_source_not_connected=[db]" in write_reasons(finding.advice)


@pytest.mark.parametrize("kind", [DraftKind.ANSWER, DraftKind.ABSTENTION])
@pytest.mark.parametrize(
    ("track", "unreachable"), [(Track.QUALITY, set()), (Track.FAST, set()), (Track.FAST, {POLICY})]
)
def test_what_is_not_connected_is_told_of_every_draft(kind: DraftKind, track: Track, unreachable: set[Source]) -> None:
    """An abstention, too, may be owed to a source that nobody connected; and so may what could not be checked."""
    asked = question(RequestType.STATUS_METRIC, kind=kind, track=track, usable=PAPERS)
    finding = check_evidence(replace(asked, unreachable=frozenset(unreachable)))
    assert write_reasons(finding.advice)[0] == "required_source_not_connected=[db]"


@pytest.mark.parametrize("request_type", WRITTEN)
def test_what_is_written_down_needs_a_document_or_a_policy(request_type: RequestType) -> None:
    """Rules, designs and definitions rest on a document or a policy; either will do."""
    finding = check_evidence(question(request_type, DB, DB))
    assert write_reasons(finding.reasons) == ("design_policy_requires_doc_or_policy",)
    assert finding.actions == (RequiredAction.RETRIEVE_DOC, RequiredAction.RETRIEVE_POLICY)
    assert reasons(request_type, DOC, DB) == reasons(request_type, POLICY, DB) == ()


def test_troubleshooting_needs_both() -> None:
    """A fault needs the data and what depends on what; one of them is not enough."""
    for there in ((DB, DB), (GRAPH, GRAPH), (DOC, DOC)):
        finding = check_evidence(question(RequestType.TROUBLESHOOTING, *there))
        assert write_reasons(finding.reasons) == ("troubleshooting_requires_db_and_neo4j",)
        assert finding.actions == (RequiredAction.RETRIEVE_DB, RequiredAction.RETRIEVE_NEO4J)
    assert reasons(RequestType.TROUBLESHOOTING, DB, GRAPH) == ()


def test_troubleshooting_falls_back_where_neither_is_connected() -> None:
    """Without both, documents do, and the report says what was not connected; with one, that one is required."""
    finding = check_evidence(question(RequestType.TROUBLESHOOTING, DOC, DOC, usable=PAPERS))
    assert finding.status is CheckStatus.OK
    assert "required_source_not_connected=[db, neo4j]" in write_reasons(finding.advice)
    with_db = PAPERS | {DB}
    assert reasons(RequestType.TROUBLESHOOTING, DOC, DOC, usable=with_db) == ("troubleshooting_requires_db_and_neo4j",)
    assert reasons(RequestType.TROUBLESHOOTING, DB, DOC, usable=with_db) == ()


def test_knowledge_needs_a_document_or_the_graph() -> None:
    """A plain question rests on documents or their relations; a policy alone does not do."""
    finding = check_evidence(question(RequestType.KNOWLEDGE_QA, POLICY, POLICY))
    assert write_reasons(finding.reasons) == ("knowledge_requires_doc_or_neo4j",)
    assert finding.actions == (RequiredAction.RETRIEVE_DOC, RequiredAction.RETRIEVE_NEO4J)
    assert reasons(RequestType.KNOWLEDGE_QA, DOC, POLICY) == reasons(RequestType.KNOWLEDGE_QA, GRAPH, GRAPH) == ()


def test_quality_needs_two_items() -> None:
    """One passage is not enough, none is not either; two are."""
    assert reasons(RequestType.KNOWLEDGE_QA, DOC) == ("insufficient_evidence_count(<2)",)
    assert "insufficient_evidence_count(<2)" in reasons(RequestType.KNOWLEDGE_QA)
    assert reasons(RequestType.KNOWLEDGE_QA, DOC, DOC) == ()


def test_one_item_is_enough_at_the_sure_confidence_or_above() -> None:
    """At exactly that confidence one item suffices; a thousandth below, two are asked for."""
    found = {
        confidence: reasons(RequestType.KNOWLEDGE_QA, evidence=items(DOC, confidence=confidence), sure=0.85)
        for confidence in (0.849, 0.85, 0.851)
    }
    assert [("insufficient_evidence_count>=2" in " ".join(said)) or bool(said) for said in found.values()] == [
        True,
        False,
        False,
    ]


def test_one_row_is_enough_where_only_the_database_can_answer() -> None:
    """A status has one true row; asking for a second would fail every correct figure."""
    assert reasons(RequestType.STATUS_METRIC, DB) == ()
    assert "insufficient_evidence_count(<1)" in reasons(RequestType.STATUS_METRIC)
    assert reasons(RequestType.STATUS_METRIC, POLICY, usable=PAPERS) == ("insufficient_evidence_count(<2)",)


@pytest.mark.parametrize(
    ("confidence", "reason", "advice"),
    [
        (0.55, ("low_evidence_confidence(avg=0.55)",), ()),
        (0.5999, ("low_evidence_confidence(avg=0.59)",), ()),
        (0.60, (), ("evidence_confidence_below_advised(avg=0.60)",)),
        (0.649, (), ("evidence_confidence_below_advised(avg=0.64)",)),
        (0.57, ("low_evidence_confidence(avg=0.57)",), ()),
        (0.58, ("low_evidence_confidence(avg=0.58)",), ()),
        (0.65, (), ()),
    ],
)
def test_the_mean_confidence_has_two_limits(
    confidence: float, reason: tuple[str, ...], advice: tuple[str, ...]
) -> None:
    """Below .60 fails, below .65 is advice, at each limit the better side holds."""
    finding = check_evidence(
        question(RequestType.KNOWLEDGE_QA, evidence=items(DOC, DOC, confidence=confidence), diversity=Diversity.OFF)
    )
    assert (write_reasons(finding.reasons), write_reasons(finding.advice)) == (reason, advice)


@pytest.mark.parametrize("count", [2, 3, 6, 7])
def test_many_times_the_limit_is_the_limit(count: int) -> None:
    """A mean of equal confidences is that confidence, whatever floats make of their sum."""
    weak = items(*[DOC] * count, confidence=0.6)
    assert reasons(RequestType.KNOWLEDGE_QA, evidence=weak) == ()
    under = [*weak[1:], *items(DOC, confidence=0.5999999)]
    assert reasons(RequestType.KNOWLEDGE_QA, evidence=under) == ("low_evidence_confidence(avg=0.59)",)


def test_what_surely_answers_word_for_word_may_be_found_with_little_confidence() -> None:
    """Confidence falls with the length of a question; the strict reading, without a limit from which one is sure, asks it."""
    weak = {"evidence": items(Source.DOC, confidence=0.51)}
    low = "low_evidence_confidence(avg=0.51)"
    assert reasons(RequestType.KNOWLEDGE_QA, quoted=True, sure=0.85, **weak) == ()
    assert low in reasons(RequestType.KNOWLEDGE_QA, quoted=False, sure=0.85, **weak)
    assert low in reasons(RequestType.KNOWLEDGE_QA, quoted=True, sure=None, **weak)
    assert low in reasons(RequestType.KNOWLEDGE_QA, quoted=True, sure=0.85, mean_enforced=0.61, **weak)
    less = items(Source.DOC, confidence=0.49)
    assert "low_evidence_confidence(avg=0.49)" in reasons(
        RequestType.KNOWLEDGE_QA, quoted=True, sure=0.85, evidence=less
    )


def test_the_mean_is_over_all_items() -> None:
    """One weak passage among strong ones does not fail an answer."""
    mixed = [*items(DOC, DOC, confidence=0.8), *items(POLICY, confidence=0.5)]
    assert reasons(RequestType.KNOWLEDGE_QA, evidence=mixed) == ()


@pytest.mark.parametrize(
    ("diversity", "reason", "advice"),
    [
        (Diversity.OFF, (), ()),
        (Diversity.ADVISORY, (), ("low_source_diversity(<2)",)),
        (Diversity.REQUIRED, ("low_source_diversity(<2)",), ()),
    ],
)
def test_diversity_is_a_setting(diversity: Diversity, reason: tuple[str, ...], advice: tuple[str, ...]) -> None:
    """Evidence of one kind is nothing, advice or a fault, as the run says; two kinds are none of it."""
    finding = check_evidence(question(RequestType.KNOWLEDGE_QA, DOC, DOC, diversity=diversity))
    assert (write_reasons(finding.reasons), write_reasons(finding.advice)) == (reason, advice)
    assert reasons(RequestType.KNOWLEDGE_QA, DOC, POLICY, diversity=diversity) == ()


def test_diversity_names_its_remedy() -> None:
    """Where it is required, the retry asks for other documents and for more."""
    finding = check_evidence(question(RequestType.KNOWLEDGE_QA, DOC, DOC, diversity=Diversity.REQUIRED))
    assert finding.actions == (RequiredAction.DIVERSIFY_SOURCES, RequiredAction.RETRIEVE_MORE)


def test_where_one_kind_alone_can_serve_documents_are_counted() -> None:
    """Two documents are as diverse as it gets where only documents are connected; two sections of one are not."""
    only = {"usable": frozenset({DOC}), "diversity": Diversity.REQUIRED}
    assert reasons(RequestType.KNOWLEDGE_QA, DOC, DOC, **only) == ()
    same = [item.model_copy(update={"document": "doc:1"}) for item in items(DOC, DOC)]
    assert reasons(RequestType.KNOWLEDGE_QA, evidence=same, **only) == ("low_source_diversity(<2)",)


def test_what_a_rule_only_recommends_is_no_second_place_to_look() -> None:
    """A question that documents alone can answer is as diverse as two documents are, policies connected or not."""
    papers = {"usable": PAPERS, "diversity": Diversity.REQUIRED}
    assert reasons(RequestType.KNOWLEDGE_QA, DOC, DOC, **papers) == ()
    same = [item.model_copy(update={"document": "doc:1"}) for item in items(DOC, DOC)]
    assert reasons(RequestType.KNOWLEDGE_QA, evidence=same, **papers) == ("low_source_diversity(<2)",)


def test_diversity_does_not_fail_the_one_row_that_a_figure_has() -> None:
    """Where one row is enough for an answer, no second one is asked for beside it."""
    assert reasons(RequestType.STATUS_METRIC, DB, diversity=Diversity.REQUIRED) == ()


def test_a_required_source_that_could_not_be_asked_leaves_the_check_undone() -> None:
    """`unchecked` is not `failed`: the evidence may exist, nobody could look; only a person can go on."""
    finding = check_evidence(question(RequestType.STATUS_METRIC, POLICY, unreachable=frozenset({DB})))
    assert (finding.status, write_reasons(finding.reasons)) == (CheckStatus.UNCHECKED, ("could_not_check=[db]",))
    assert finding.actions == (RequiredAction.ESCALATE_TO_HUMAN,)


@pytest.mark.parametrize(
    ("request_type", "there", "unreachable"),
    [
        (RequestType.KNOWLEDGE_QA, (DOC, DOC), {GRAPH}),
        (RequestType.KNOWLEDGE_QA, (DOC, DOC), {POLICY}),
        (RequestType.HOWTO_POLICY, (DOC, DOC), {DB}),
    ],
)
def test_a_source_that_was_not_needed_may_be_down(
    request_type: RequestType, there: tuple[Source, ...], unreachable: set[Source]
) -> None:
    """Where another source gave what is required, one that is down does not undo the check."""
    finding = check_evidence(question(request_type, *there, unreachable=frozenset(unreachable)))
    assert finding.status is CheckStatus.OK


@pytest.mark.parametrize("kind", [DraftKind.ANSWER, DraftKind.ABSTENTION])
@pytest.mark.parametrize("track", Track)
@pytest.mark.parametrize(
    ("request_type", "usable", "there", "unreachable", "named"),
    [
        (RequestType.KNOWLEDGE_QA, EVERYTHING, (), {DOC}, "doc"),
        # One of two alternatives has answered, with nothing: what the other one has, nobody knows.
        (RequestType.KNOWLEDGE_QA, EVERYTHING, (POLICY,), {GRAPH}, "neo4j"),
        (RequestType.TROUBLESHOOTING, EVERYTHING, (DB,), {GRAPH}, "neo4j"),
        (RequestType.TROUBLESHOOTING, EVERYTHING, (), {GRAPH, DB, POLICY}, "db, neo4j"),
        # Those that stand in are needed as the required ones would be.
        (RequestType.TROUBLESHOOTING, PAPERS, (), {DOC}, "doc"),
        (RequestType.STATUS_LIST, PAPERS, (), {POLICY}, "policy"),
    ],
)
def test_nothing_found_is_said_only_where_somebody_could_look(
    kind: DraftKind,
    track: Track,
    request_type: RequestType,
    usable: frozenset[Source],
    there: tuple[Source, ...],
    unreachable: set[Source],
    named: str,
) -> None:
    """An abstention, too, and on FAST, too, is unchecked where a needed source could not be asked."""
    asked = question(request_type, *there, usable=usable, unreachable=frozenset(unreachable), kind=kind, track=track)
    finding = check_evidence(asked)
    assert (finding.status, write_reasons(finding.reasons)) == (CheckStatus.UNCHECKED, (f"could_not_check=[{named}]",))
    assert unchecked_sources(finding.reasons) == frozenset(named.split(", "))
    rest = unreachable - set(named.split(", "))
    assert [remark for remark in write_reasons(finding.advice) if "could_not_ask" in remark] == [
        f"could_not_ask=[{s}]" for s in rest
    ]


@pytest.mark.parametrize("kind", DraftKind)
def test_what_was_not_needed_and_could_not_be_asked_is_advice(kind: DraftKind) -> None:
    """It changes no verdict; the report names it all the same."""
    asked = question(RequestType.KNOWLEDGE_QA, DOC, DOC, unreachable=frozenset({POLICY, GRAPH}), kind=kind)
    finding = check_evidence(asked)
    assert finding.status is (CheckStatus.OK if kind is DraftKind.ANSWER else CheckStatus.NOT_ASKED)
    assert "could_not_ask=[neo4j, policy]" in write_reasons(finding.advice)


def test_reasons_of_other_checks_name_no_source() -> None:
    """What could not be checked may be a check, which is no source."""
    assert unchecked_sources([could_not_check("grounding"), Reason("abstained"), could_not_check("db", "doc")]) == {
        DB,
        DOC,
    }


def test_fast_is_asked_for_neither_number_nor_confidence() -> None:
    """On FAST one weak passage is enough; with none, nothing definite may be claimed, and the report says so."""
    fast = {"track": Track.FAST}
    weak = items(DOC, confidence=0.5)
    assert check_evidence(question(RequestType.KNOWLEDGE_QA, evidence=weak, **fast)).status is CheckStatus.OK
    none = check_evidence(question(RequestType.KNOWLEDGE_QA, **fast))
    assert "no_evidence_so_nothing_definite_may_be_claimed" in write_reasons(none.advice)


@pytest.mark.parametrize("kind", [DraftKind.ABSTENTION, DraftKind.CLARIFICATION])
@pytest.mark.parametrize("request_type", RequestType)
def test_only_answers_are_asked(request_type: RequestType, kind: DraftKind) -> None:
    """An honest abstention is not failed for lacking evidence."""
    assert check_evidence(question(request_type, kind=kind)).status is CheckStatus.NOT_ASKED


def test_a_greeting_needs_no_proof() -> None:
    """CASUAL is not asked."""
    assert check_evidence(question(RequestType.CASUAL)).status is CheckStatus.NOT_ASKED


@pytest.mark.parametrize("request_type", [t for t in RequestType if t is not RequestType.CASUAL])
def test_a_failed_check_says_why_and_what_to_do(request_type: RequestType) -> None:
    """Reasons and actions come together or not at all, and no action is named twice."""
    evidence = ((), (DOC,), (POLICY, DOC), (DB,), (GRAPH, DB), (DOC, DB, GRAPH, POLICY))
    for there, track, diversity in product(evidence, Track, Diversity):
        finding = check_evidence(question(request_type, *there, track=track, diversity=diversity))
        failed = finding.status is CheckStatus.FAILED
        assert bool(write_reasons(finding.reasons)) == bool(finding.actions) == failed, (there, track, diversity)
        assert len(set(finding.actions)) == len(finding.actions), (there, track, diversity)


# ------------------------------------------------------------------------------------------------ the specification


def of_sources(
    request_type: str, kinds: set[Source], usable: frozenset[Source]
) -> tuple[list[str], list[str], set[Source]]:
    """Return what is wrong with the kinds of sources, which required ones are absent, and which can answer."""
    reasons: list[str] = []
    absent: list[str] = []
    stand_ins = set(usable)
    if request_type in ("STATUS_METRIC", "STATUS_SUMMARY", "STATUS_LIST"):
        stand_ins -= {DOC}
        if DOC in kinds:
            reasons.append("status_request_must_not_use_doc_as_primary")
        if DB not in usable:
            return reasons, ["db"], stand_ins
        if DB not in kinds:
            reasons.append("status_request_requires_db")
        return reasons, absent, {DB}
    if request_type == "TROUBLESHOOTING":
        absent = [name for name, source in (("db", DB), ("neo4j", GRAPH)) if source not in usable]
        answering = {DB, GRAPH} & usable
        if not kinds >= answering:
            reasons.append("troubleshooting_requires_db_and_neo4j")
        return reasons, absent, answering or stand_ins
    if request_type == "KNOWLEDGE_QA":
        either, reason, names = {DOC, GRAPH}, "knowledge_requires_doc_or_neo4j", ["doc", "neo4j"]
    else:
        names = ["doc", "policy"] if request_type == "DESIGN_ARCH" else ["policy", "doc"]
        either, reason = {DOC, POLICY}, "design_policy_requires_doc_or_policy"
    if not either & usable:
        return reasons, names, stand_ins
    if not either & kinds:
        reasons.append(reason)
    return reasons, absent, either & usable


def specified(
    request_type: str, track: str, evidence: Sequence[EvidenceItem], usable: frozenset[Source], diversity: str
) -> tuple[str, list[str], list[str]]:
    """Return status, reasons and advice as the specification's section 3 has them, told once more as plain ifs."""
    if request_type == "CASUAL":
        return "not_asked", [], []
    reasons, absent, answering = of_sources(request_type, {item.source for item in evidence}, usable)
    advice = [f"required_source_not_connected=[{', '.join(absent)}]"] if absent else []
    if track == "FAST":
        if evidence:
            return ("failed" if reasons else "ok"), reasons, advice
        return "ok", [], [*advice, "no_evidence_so_nothing_definite_may_be_claimed"]
    only_db = answering == {DB}
    least = 1 if only_db else 2
    if len(evidence) < least:
        reasons.append(f"insufficient_evidence_count(<{least})")
    if evidence:
        mean = sum(round(item.confidence * 100) for item in evidence) / len(evidence)
        if mean < 60:
            reasons.append(f"low_evidence_confidence(avg=0.{int(mean)})")
        elif mean < 65:
            advice.append(f"evidence_confidence_below_advised(avg=0.{int(mean)})")
        places = {item.document if len(answering) < 2 else item.source for item in evidence}
        if len(places) < 2 and not only_db:
            if diversity == "required":
                reasons.append("low_source_diversity(<2)")
            if diversity == "advisory":
                advice.append("low_source_diversity(<2)")
    return ("failed" if reasons else "ok"), reasons, advice


SETS = [frozenset(some) for size in range(5) for some in combinations(Source, size)]
BANDS = (0.59, 0.60, 0.65)
"""Confidences: one below the limit, one at it, and one at what is advised; what lies between has a table above."""


def every_evidence() -> Iterator[list[EvidenceItem]]:
    """Yield every set of kinds with 0 to 3 items, or one of each kind; of one document or of several; in each band."""
    for there, more, one_document, band in product(SETS, range(3), (True, False), BANDS):
        sources = sorted(there) + (sorted(there)[:1] * more if len(there) + more <= 3 else [])
        if len(sources) < len(there) + more:
            continue
        yield [
            EvidenceItem(
                source=source,
                ref=f"{source}#{n}",
                document="d" if one_document else f"d{n}",
                snippet="x",
                confidence=band,
            )
            for n, source in enumerate(sources)
        ]


EVIDENCE = list({tuple((i.source, i.document, i.confidence) for i in some): some for some in every_evidence()}.values())


def lacks_confidence(evidence: Sequence[EvidenceItem]) -> bool:
    return any(item.confidence < max(BANDS) for item in evidence)


@pytest.mark.parametrize("request_type", RequestType)
def test_the_check_is_the_specifications(request_type: RequestType) -> None:
    """For each track, evidence, set of usable sources and diversity: status, reasons and advice, in their order.

    Evidence that lacks confidence is judged with all sources, with papers alone and with none: which are usable says
    nothing of a mean.
    """
    differ: list[object] = []
    asked_of = [
        *product(Track, SETS, Diversity, (some for some in EVIDENCE if not lacks_confidence(some))),
        *product(Track, (EVERYTHING, PAPERS, frozenset[Source]()), Diversity, filter(lacks_confidence, EVIDENCE)),
    ]
    for track, usable, diversity, there in asked_of:
        asked = question(request_type, evidence=there, track=track, usable=usable, diversity=diversity)
        found = check_evidence(asked)
        said = (str(found.status), list(write_reasons(found.reasons)), list(write_reasons(found.advice)))
        wanted = specified(request_type, track, there, usable, diversity)
        if said != wanted:
            differ.append((track, sorted(usable), diversity, there, said, wanted))
    assert differ[:3] == []
