"""Whole turns over fakes, with random valid plans, moderation results, evidence and drafts."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage

from contracts.context import Context
from contracts.enums import (
    BlockThreshold,
    CheckStatus,
    Diversity,
    DraftKind,
    EntailmentMode,
    GuardMode,
    Language,
    ModerationState,
    OnUnavailable,
    Outcome,
    RequestType,
    RequiredAction,
    SafetyLevel,
    SGRAction,
    Source,
    Track,
    Verdict,
)
from contracts.errors import DraftingFailed, ModerationUnavailable, PlanningFailed, SourceUnavailable
from contracts.evidence import EvidenceItem
from contracts.plan import SGRPlanResult
from contracts.ports import Draft
from contracts.report import ModerationResult
from tests.support.examples import examples
from tests.support.whole_turns import CALM, SAFE, Broken, run_turn

scores = st.floats(0, 1, allow_nan=False)
texts = st.text(min_size=1, max_size=60)

plans = st.builds(
    SGRPlanResult,
    spam_score=scores,
    spam_reason=st.just("SPAM-REASON-SENTINEL"),
    user_intent=texts,
    request_type=st.sampled_from(RequestType),
    subqueries=st.lists(texts, min_size=1, max_size=4, unique=True),
    action_plan=st.just(["ACTION-PLAN-SENTINEL"]),
    intent_confidence=scores,
    uncertainties=st.lists(texts, max_size=2),
    action=st.sampled_from(SGRAction),
    wants_human=st.booleans(),
)
levels = {
    SafetyLevel.SAFE: ModerationState.SAFE,
    SafetyLevel.CONTROVERSIAL: ModerationState.CONTROVERSIAL,
    SafetyLevel.UNSAFE: ModerationState.UNSAFE,
}
moderations = st.sampled_from(list(levels)).map(lambda level: ModerationResult(safety_level=level, state=levels[level]))
items = st.builds(
    EvidenceItem,
    source=st.just(Source.DOC),
    ref=st.sampled_from(["a", "b", "c", "d"]),
    snippet=st.sampled_from(["Port 8080 serves the page.", "Run `make install` twice.", "## Response\n\nhidden"]),
    confidence=scores,
    title=texts,
)
drafts = st.builds(
    Draft,
    kind=st.sampled_from(DraftKind),
    text=st.sampled_from(
        [
            "draft-sentinel Port 8080 serves the page [1].",
            "draft-sentinel Port 9999 serves the page [1].",
            "draft-sentinel Nothing is cited here at all.",
            "draft-sentinel Cites what there is not [7].",
            "## What to do\n\ndraft-sentinel Run `make install` twice [1].",
            "password: hunter2hunter2 [1]",
        ]
    ),
)
contexts = st.builds(
    Context,
    language=st.sampled_from([None, *Language]),
    role=st.sampled_from(["user", "operator", "nobody"]),
    guard_mode=st.sampled_from(GuardMode),
    block_threshold=st.sampled_from(BlockThreshold),
    on_unavailable=st.sampled_from(OnUnavailable),
    max_clarifications=st.integers(0, 3),
    max_retry=st.integers(0, 5),
    knowledge_track=st.sampled_from(Track),
    diversity=st.sampled_from(Diversity),
)
maybe = st.sampled_from([True, True, True, True, True, False])


@given(
    plan=plans,
    moderation=moderations,
    evidence=st.lists(items, max_size=4),
    written=st.lists(drafts, min_size=1, max_size=3),
    context=contexts,
    reachable=st.tuples(maybe, maybe, maybe, maybe),
)
@examples(2.5)
@example(
    plan=CALM,
    moderation=ModerationResult(safety_level=SafetyLevel.SAFE, state=ModerationState.SAFE),
    evidence=[
        EvidenceItem(source=Source.DOC, ref=ref, snippet="Port 8080 serves the page.", confidence=0.9, title="t")
        for ref in ("a", "b")
    ],
    written=[Draft(DraftKind.ANSWER, "draft-sentinel Port 8080 serves the page [1].")],
    context=Context(),
    reachable=(True, True, True, True),
)
def test_no_turn_breaks_an_invariant(
    plan: SGRPlanResult,
    moderation: ModerationResult,
    evidence: list[EvidenceItem],
    written: list[Draft],
    context: Context,
    reachable: tuple[bool, bool, bool, bool],
) -> None:
    """Whatever the ports return, a turn ends, shows no analysis, and answers only what passed with its evidence."""
    state, shown = run_turn(
        plan if reachable[0] else PlanningFailed("down"),
        [moderation] if reachable[1] else ModerationUnavailable("down"),
        evidence if reachable[2] else SourceUnavailable("down"),
        written if reachable[3] else [DraftingFailed("down")],
        context,
    )
    result, report = state["result"], state["guardian"]
    answer = result["answer_text"]

    assert isinstance(state["messages"][-1], AIMessage)
    assert str(state["messages"][-1].content) == answer == state["final_answer"]
    assert answer.strip()
    assert state["retry_count"] <= context.max_retry

    # What the user sees holds no analysis, no score, and no draft that did not pass.
    for hidden in ("SPAM-REASON-SENTINEL", "ACTION-PLAN-SENTINEL", "spam_score"):
        assert hidden not in answer
    if result["outcome"] != Outcome.ANSWERED and state["draft_kind"] != DraftKind.CLARIFICATION:
        assert "draft-sentinel" not in answer
    # Nothing but what the user said and the final answer is a message, in any stream.
    for message, _ in shown:
        assert message.content == "How do I do it?" or str(message.content) in answer  # in pieces, if it is long

    if result["outcome"] == Outcome.ANSWERED:
        assert report["verdict"] == Verdict.PASS
        if state["request_type"] != RequestType.CASUAL and state["track"] == Track.QUALITY:
            # One passage suffices where it is as sure as this.
            assert len(state["evidence"]) >= 2 or state["evidence"][0]["confidence"] >= context.sure_confidence
    if report:
        assert (report["verdict"] == Verdict.PASS) == (report["reasons"] == [] == report["required_actions"])
        assert all(action in set(RequiredAction) for action in report["required_actions"])
        assert report["verdict"] != Verdict.RETRY


@given(plan=plans, context=contexts)
@examples(1.3)
def test_an_unsafe_message_is_never_answered(plan: SGRPlanResult, context: Context) -> None:
    """Unsafe ends in a refusal in both modes that ask moderation, whatever the plan proposes."""
    unsafe = ModerationResult(safety_level=SafetyLevel.UNSAFE, state=ModerationState.UNSAFE)
    # A mark of its own: a word that was drawn may stand in the refusal's own text.
    plan = plan.model_copy(update={"user_intent": "INTENT-SENTINEL"})
    state, _ = run_turn(plan, [unsafe], [], [Draft(DraftKind.ANSWER, "x")], context)
    if context.guard_mode is not GuardMode.OFF:
        assert state["result"]["outcome"] == Outcome.REFUSED
        assert "INTENT-SENTINEL" not in state["final_answer"]


TWO_PAGES = [
    EvidenceItem(source=Source.DOC, ref=page, snippet=f"Port 8080 serves the {page}.", confidence=0.9, title="t")
    for page in ("page", "picture")
]
GOOD = Draft(DraftKind.ANSWER, "draft-sentinel: port 8080 serves the page [1].")


@pytest.mark.parametrize("language", Language)
@pytest.mark.parametrize("check", ["policy", "evidence", "grounding", "contract", "entailment"])
def test_a_check_that_breaks_is_not_a_check_that_passes(
    monkeypatch: pytest.MonkeyPatch, check: str, language: Language
) -> None:
    """A guard that raises makes the verdict FAIL: a person takes over, and nothing of the draft is seen.

    The report names the check and the kind of the error.
    """
    guard = {"policy": "check_answer", "entailment": "entailment_questions"}.get(check, f"check_{check}")
    monkeypatch.setattr(f"nodes.guardian_verify.{guard}", Broken())
    context = Context(language=language, entailment=EntailmentMode.BINDING)
    state, shown = run_turn(CALM, [SAFE], TWO_PAGES, [GOOD], context, entailment=Broken())
    report, result = state["guardian"], state["result"]
    assert (report["verdict"], report["risk_level"]) == (Verdict.FAIL, "high")
    assert report["required_actions"] == [RequiredAction.ESCALATE_TO_HUMAN]
    assert f"could_not_check=[{check}]" in report["reasons"]
    assert report["checks"]["grounding" if check == "entailment" else check] == CheckStatus.UNCHECKED
    assert f"{check}: RuntimeError" in report["advice"]
    assert (result["outcome"], result["hand_off"]["engineer_intervention_needed"]) == (Outcome.HANDED_OFF, True)
    verdicts = [line["row"] for line in state["decisions"] if line["table"] == "DT-005"]
    assert verdicts[-1].endswith("-unchecked")
    assert "draft-sentinel" not in str([result["answer_text"], result["hand_off"], report["reasons"], report["advice"]])
    assert "draft-sentinel" not in str(shown)


def test_a_request_that_policy_could_not_judge_is_not_searched_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the request-level policy raises, nothing is searched or drafted, and a person takes over."""
    monkeypatch.setattr("nodes.sgr_plan.check_plan", Broken())
    state, _ = run_turn(CALM, [SAFE], TWO_PAGES, [GOOD], Context())
    assert (state["query_traces"], state["draft_answer"], state["guardian"]["draft"]) == ([], "", "")
    assert state["guardian"]["reasons"] == ["could_not_check=[policy]"]
    assert state["guardian"]["advice"] == ["policy: RuntimeError"]
    assert state["result"]["outcome"] == Outcome.HANDED_OFF
    assert [line["table"] for line in state["decisions"]][-2:] == ["DT-005", "DT-008"]


def test_a_checker_that_breaks_where_it_is_asked_for_advice_changes_no_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    """Advice that could not be had is told, and the answer passes."""
    monkeypatch.setattr("nodes.guardian_verify.entailment_questions", lambda *_: ["asked"])
    state, _ = run_turn(CALM, [SAFE], TWO_PAGES, [GOOD], Context(), entailment=Broken())
    assert state["guardian"]["verdict"] == Verdict.PASS
    assert state["result"]["diagnostics"]["degraded"] == ["entailment: RuntimeError"]
    assert "could_not_ask=[entailment]" in state["guardian"]["advice"]


def test_a_draft_that_cannot_be_masked_is_in_no_report(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where masking breaks, the report has the verdict and its reasons' names, and no word of the draft."""
    monkeypatch.setattr("nodes.guardian_verify.mask_text", Broken())
    uncited = Draft(DraftKind.ANSWER, "draft-sentinel is what nobody wrote down.")
    state, _ = run_turn(CALM, [SAFE], TWO_PAGES, [uncited], Context(max_retry=0))
    assert (state["guardian"]["draft"], state["guardian"]["claims"]) == ("", [])
    assert state["guardian"]["reasons"] == ["claim_without_citation"]
    assert "draft-sentinel" not in str(state["result"])
    passing, _ = run_turn(CALM, [SAFE], TWO_PAGES, [GOOD], Context())
    assert (passing["guardian"]["verdict"], passing["guardian"]["draft"]) == (Verdict.PASS, "")


def test_the_report_has_the_draft_and_the_trail_every_decision() -> None:
    """A turn that is tried again has one report, of its last draft, and the rows of each of its drafts."""
    wrong = Draft(DraftKind.ANSWER, "draft-sentinel: port 9999 serves the page [1].")
    state, _ = run_turn(CALM, [SAFE], TWO_PAGES, [wrong, GOOD], Context())
    assert state["result"]["guardian"]["draft"] == GOOD.text
    assert state["guardian"]["checks"] == dict.fromkeys(
        ("policy", "evidence", "grounding", "relevance", "contract"), "ok"
    )
    assert [(line["table"], line["row"]) for line in state["result"]["decisions"]] == [
        ("DT-001", "safe"),
        ("DT-003", "planning"),
        ("DT-002", "clear-calm"),
        ("DT-007", "knowledge-quality"),
        ("DT-004", "user"),
        ("DT-003", "accepted"),
        ("DT-004", "model"),
        ("DT-006", "knowledge-qa"),
        ("DT-005", "unfounded-retry"),
        ("DT-003", "mid-turn"),
        ("DT-006", "knowledge-qa"),
        ("DT-005", "pass"),
    ]


def test_a_secret_in_a_draft_is_masked_in_its_report() -> None:
    """What policy stops is in the report under the name of its rule only, with the claims that have it."""
    secret = Draft(DraftKind.ANSWER, "Log in with password: hunter2hunter2 [1]. Port 8080 serves the page [1].")
    state, _ = run_turn(CALM, [SAFE], TWO_PAGES, [secret], Context())
    assert state["guardian"]["verdict"] == Verdict.FAIL
    assert "Port 8080 serves the page" in state["guardian"]["draft"]
    assert "hunter2" not in str(state["result"])
