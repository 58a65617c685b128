"""`guardian_verify`: run every check on the draft and let DT-005 decide. It never writes text."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final, cast

from langgraph.runtime import Runtime

from contracts.calls import ModelCall
from contracts.context import Context
from contracts.decisions import EVIDENCE, record
from contracts.decisions.evidence import could_not_ask
from contracts.decisions.verdict import Judgement
from contracts.enums import (
    CheckStatus,
    DraftKind,
    EntailmentMode,
    EvidenceCounted,
    PolicyStatus,
    RequestType,
    RequiredAction,
    Source,
    Track,
    Verdict,
)
from contracts.errors import ConfigError, EntailmentUnavailable
from contracts.evidence import EvidenceItem, QueryTrace
from contracts.ports import EntailmentChecker, NearnessProbe
from contracts.profile import UNNAMED, Profile
from contracts.reasons import Reason, broke, could_not_check, name_reasons
from contracts.report import Finding, GuardianReport
from contracts.spec import ArchitectSpec
from contracts.state import Json, fresh_turn
from contracts.views import GuardianView
from guards.contract_check import check_contract
from guards.entailment_check import entailment_questions, with_entailment, without_entailment
from guards.evidence_check import EvidenceQuestion, check_evidence
from guards.grounding_check import check_grounding, is_quoted
from guards.judged_hash import judged_hash
from guards.policy_check import PolicyFinding, check_answer, mask_text
from guards.question_check import check_question, said_in_turn
from guards.relevance_check import RelevanceQuestion, check_relevance, list_compared_texts
from guards.verdict import Findings, judge, list_reasons
from language.message import parts_of
from language.words import stems

NAME = "guardian_verify"


async def guardian_verify(
    state: GuardianView,
    runtime: Runtime[Context] | None = None,
    *,
    connected: Collection[Source] = tuple(Source),
    profile: Profile = UNNAMED,
    entailment: EntailmentChecker | None = None,
    nearness: NearnessProbe | None = None,
    quotes: bool = False,
) -> Json:
    """Judge the draft, or the request if policy denies it (then nothing was searched or drafted).

    `await guardian_verify(state)` judges a state's draft, evidence and contract without other arguments. Missing keys
    have the values of a new turn; a text without a kind is an answer.

    A draft that lacked only evidence is kept during the next search. If the next draft does not pass, the kept one is
    judged again with all evidence found. A draft of doubtful relevance is kept while another is quoted.

    Args:
        state: Of the turn.
        runtime: The settings of the run; the defaults if there are none.
        connected: The kinds of connected sources.
        profile: The deployment's profile; if left out, one that allows everything and requires nothing.
        entailment: The checker of claims, if one is connected.
        nearness: Tells how near the draft is to the question in meaning, if a model in this process can.
        quotes: Whether a draft can be quoted if no draft of the model passes.
    """
    judge_one = partial(
        _judge_one,
        context=(runtime.context if runtime else None) or Context(),
        connected=connected,
        profile=profile,
        entailment=entailment,
        nearness=nearness,
        quotes=quotes,
    )
    judged = await judge_one(cast("GuardianView", {**fresh_turn(), **state}))
    update, kept = judged.update(), judged.state["kept"]
    another = bool(kept) and kept["draft_answer"] != judged.state["draft_answer"]
    # A violation of policy ends the turn, whatever was drafted before it.
    if another and judged.outcome.verdict is not Verdict.PASS and judged.findings.policy.status is PolicyStatus.OK:
        # What the wider search brought stands behind the evidence of then, so that each citation means what it did.
        seen = {item["ref"] for item in kept["evidence"]}
        found = [*kept["evidence"], *(item for item in judged.state["evidence"] if item["ref"] not in seen)]
        accounts = {name: update[name] for name in ("degraded", "model_calls")}
        first = await judge_one(cast("GuardianView", {**judged.state, **accounts, **kept, "evidence": found}))
        again = first.update()
        # Where nothing could be quoted, either, the turn ends as what was known of the draft before.
        if first.outcome.verdict is Verdict.PASS or (judged.abstains and first.is_doubtful):
            return {**_draft_of(first.state), **again}
        update |= {name: again[name] for name in accounts}
    return update


@dataclass(frozen=True, slots=True)
class _JudgedDraft:
    """A draft, as the state has it, and what was found of it."""

    state: GuardianView
    kind: DraftKind
    decisions: list[Json]
    outcome: Judgement
    report: GuardianReport
    findings: Findings
    degraded: tuple[str, ...]
    calls: tuple[ModelCall, ...]

    def update(self) -> Json:
        """Return the update of the turn's state."""
        state, given = self.state, self.report.model_dump(mode="json")
        return {
            **({"kept": _draft_of(state)} if self._lacks_more_evidence_only() or self._is_quoted_next() else {}),
            "guardian": {**given, "judged_hash": judged_hash(state, given)},
            "quoting": state["quoting"] or self.outcome.quote,
            "decisions": [*state["decisions"], *self.decisions],
            "degraded": list(dict.fromkeys([*state["degraded"], *self.degraded])),
            "model_calls": [*state["model_calls"], *(call.model_dump(mode="json") for call in self.calls)],
        }

    @property
    def abstains(self) -> bool:
        return self.kind is DraftKind.ABSTENTION

    @property
    def is_doubtful(self) -> bool:
        """Whether it is proved, and not surely an answer to the question."""
        named = self.findings.named()
        proved = all(named[name].status is CheckStatus.OK for name in ("evidence", "grounding"))
        return proved and named["relevance"].status is CheckStatus.DOUBTFUL

    def _is_quoted_next(self) -> bool:
        return self.outcome.quote and self.is_doubtful

    def _lacks_more_evidence_only(self) -> bool:
        """Whether more of the same would do: a draft from the wrong source is none to keep."""
        named = self.findings.named()
        good = all(
            named[name].status in {CheckStatus.OK, CheckStatus.NOT_ASKED} for name in named.keys() - {"evidence"}
        )
        more = all(reason.name in _MORE for reason in named["evidence"].reasons)
        return good and more and self.outcome.verdict is Verdict.RETRY and self.kind is DraftKind.ANSWER


_MORE: Final = frozenset({"insufficient_evidence_count", "low_evidence_confidence"})
"""Reasons of the evidence check that more evidence mends."""


def _draft_of(state: GuardianView) -> Json:
    return {
        "draft_answer": state["draft_answer"],
        "draft_kind": state["draft_kind"],
        "quoted": state["quoted"],
        "evidence": state["evidence"],
    }


async def _judge_one(
    state: GuardianView,
    *,
    context: Context,
    connected: Collection[Source],
    profile: Profile,
    entailment: EntailmentChecker | None,
    nearness: NearnessProbe | None,
    quotes: bool,
) -> _JudgedDraft:
    kind = DraftKind(state["draft_kind"] or (DraftKind.ANSWER if state["draft_answer"] else DraftKind.ABSTENTION))
    track = Track(state["track"] or Track.QUALITY)
    request_type = RequestType(state["request_type"] or RequestType.KNOWLEDGE_QA)
    text = state["draft_answer"]
    spec = _contract(state)
    evidence = [EvidenceItem.model_validate(item) for item in state["evidence"]]
    grounding = _run_check("grounding", lambda: _check_grounding(state, evidence, kind, request_type, spec, profile))
    verbatim = is_quoted(grounding, evidence)
    relevance = await _check_relevance(
        lambda: _relevance_question(
            state, evidence, grounding, kind, request_type, context, profile, verbatim=verbatim
        ),
        nearness,
    )
    asks_all = context.evidence_counted is EvidenceCounted.SENT
    question = EvidenceQuestion(
        request_type=request_type,
        track=track,
        kind=kind,
        evidence=evidence,
        # A draft that cites nothing has that fault, and not one of its evidence as well.
        counted=evidence if asks_all else _find_cited_items(grounding, evidence) or evidence,
        usable=profile.sources_for(context.role).intersection(connected),
        unreachable=could_not_ask(QueryTrace.model_validate(trace) for trace in state["query_traces"]),
        least=context.min_evidence,
        sure=None if asks_all else context.sure_confidence,
        quoted=relevance.status is CheckStatus.OK and verbatim,
        diversity=context.diversity,
        mean_enforced=context.mean_confidence_enforced,
        mean_advised=context.mean_confidence_advised,
    )
    policy, remarks = _policy(state, kind, profile, context.role)
    # What policy stops is not sent to another server either.
    checker = entailment if policy.status is PolicyStatus.OK else None
    entailed = await _check_entailment(grounding, evidence, checker, context.entailment)
    findings = Findings(
        policy=policy,
        evidence=_run_check("evidence", lambda: check_evidence(question)),
        grounding=entailed.grounding,
        relevance=relevance,
        contract=_run_check("contract", lambda: check_contract(text, _readable(spec), track=track, kind=kind)),
        remarks=remarks,
    )
    draft, findings = _fit_for_the_report(text, findings, profile, context.role)
    outcome, report, lines = _decide(
        state, findings, draft, kind=kind, track=track, request_type=request_type, context=context, quotes=quotes
    )
    return _JudgedDraft(state, kind, lines, outcome, report, findings, entailed.degraded, entailed.calls)


def _decide(
    state: GuardianView,
    findings: Findings,
    draft: str,
    *,
    kind: DraftKind,
    track: Track,
    request_type: RequestType,
    context: Context,
    quotes: bool,
) -> tuple[Judgement, GuardianReport, list[Json]]:
    """Return what DT-005 makes of the findings, the report of it, and the records of what was decided."""
    decision, report = judge(
        findings,
        kind=kind,
        track=track,
        # A retry that found nothing new has changed nothing, and neither would the next one; a quotation is the last.
        retries_left=state["retry_count"] < context.max_retry and not (state["nothing_new"] or state["quoting"]),
        widened=state["widened"],
        quoting_left=quotes and context.quoting_draft and not (state["quoting"] or state["quoted"]),
        draft=draft,
    )
    names = name_reasons(list_reasons(decision.outcome, findings, kind))
    made = [record(NAME, decision).model_copy(update={"reasons": names})]
    if not _is_denied(state):
        made.insert(0, record(NAME, EVIDENCE.decide(request_type=request_type)))
    return decision.outcome, report, [line.model_dump(mode="json") for line in made]


def _check_grounding(
    state: GuardianView,
    evidence: Sequence[EvidenceItem],
    kind: DraftKind,
    request_type: RequestType,
    spec: ArchitectSpec | None,
    profile: Profile,
) -> Finding:
    if kind is DraftKind.CLARIFICATION:
        return check_question(state["draft_answer"], said_in_turn(state["question"].get("text", ""), evidence))
    return check_grounding(
        state["draft_answer"],
        evidence,
        request_type=request_type,
        kind=kind,
        response_format=(spec or ArchitectSpec()).response_format,
        question=state["question"].get("text", ""),
        sections=_titles_of(spec),
        # What a plan asks for may name what the user spoke of in an earlier turn.
        names=[*_names_of(profile, spec), *filter(None, state["sgr_plan"].get("subqueries", []))],
        quoted=_only_quotes(state),
    )


def _only_quotes(state: GuardianView) -> bool:
    """Whether the draft was put together of the documents' own sentences."""
    return state["quoted"] or state["quoting"]


def _names_of(profile: Profile, spec: ArchitectSpec | None) -> list[str]:
    """Return the texts of a profile whose names any answer may say: the product's, its contacts', its terms."""
    words = [word for group in profile.synonyms for word in group]
    terms = spec.domain_terms if spec else ()
    return [profile.product, *profile.contact.values(), *profile.scope.description.values(), *words, *terms]


def _titles_of(spec: ArchitectSpec | None) -> list[str]:
    """Return what the contract calls its sections, in every language."""
    named = spec.required_sections if spec else ()
    return [heading for section in named for heading in section.headings()]


def _relevance_question(
    state: GuardianView,
    evidence: Sequence[EvidenceItem],
    grounding: Finding,
    kind: DraftKind,
    request_type: RequestType,
    context: Context,
    profile: Profile,
    *,
    verbatim: bool,
) -> RelevanceQuestion:
    planned = [query for query in state["sgr_plan"].get("subqueries", []) if query]
    return RelevanceQuestion(
        request_type=request_type,
        kind=kind,
        parts=parts_of(state["question"].get("text", ""), planned),
        evidence=evidence,
        traces=[QueryTrace.model_validate(trace) for trace in state["query_traces"]],
        cited=frozenset(item.ref for item in _find_cited_items(grounding, evidence)),
        sure=context.sure_relevance,
        ignored=frozenset(stems(profile.product)),
        draft=state["draft_answer"],
        verbatim=verbatim,
        synonyms=profile.synonyms,
    )


async def _check_relevance(build: Callable[[], RelevanceQuestion], probe: NearnessProbe | None) -> Finding:
    """Run the check of relevance; one that breaks has not been carried out."""
    try:
        question = build()
        return check_relevance(replace(question, nearness=await _nearness(question, probe)))
    except Exception as error:  # noqa: BLE001  # whatever broke, the draft has not been checked
        return _not_checked("relevance", error)


async def _nearness(question: RelevanceQuestion, probe: NearnessProbe | None) -> dict[str, dict[str, float]]:
    """Return for each part of the question how near it is to the texts that the estimate compares it with."""
    searched_by_meaning = any(trace.spread for trace in question.traces)
    texts = list_compared_texts(question) if probe is not None and searched_by_meaning else ()
    if probe is None or not texts:
        return {}
    found = {part: await probe.nearness(part, texts) for part in question.judged_parts}
    return {part: dict(zip(texts, near, strict=True)) for part, near in found.items() if near}


def _find_cited_items(grounding: Finding, evidence: Sequence[EvidenceItem]) -> list[EvidenceItem]:
    """Return what the claims of the draft rest on."""
    refs = {ref for claim in grounding.claims for ref in claim.refs}
    return [item for item in evidence if item.ref in refs]


def _contract(state: GuardianView) -> ArchitectSpec | None:
    """Return the contract of the turn; `None` where nobody can read it, so that nothing of it is checked."""
    try:
        return ArchitectSpec.model_validate(state["architect_spec"])
    except ValueError:
        return None


def _readable(spec: ArchitectSpec | None) -> ArchitectSpec:
    if spec is None:
        raise ConfigError("The contract of this turn cannot be read.")
    return spec


def _is_denied(state: GuardianView) -> bool:
    """Whether the request itself was denied, or could not be judged: then nothing was searched or drafted."""
    return PolicyFinding.model_validate(state["request_policy"]).status is not PolicyStatus.OK


def _policy(
    state: GuardianView, kind: DraftKind, profile: Profile, role: str
) -> tuple[PolicyFinding, tuple[Reason, ...]]:
    """Return the finding of the request where that denies it, else that of the draft; and a remark where it broke."""
    if _is_denied(state):
        broken = state["request_policy"].get("error", "")
        return PolicyFinding.model_validate(state["request_policy"]), (broke("policy", broken),) if broken else ()
    try:
        asks, quoted = kind is DraftKind.CLARIFICATION, _only_quotes(state)
        shown = _list_shown_texts(state)
        return check_answer(state["draft_answer"], profile, role, asks=asks, quoted=quoted, shown=shown), ()
    except Exception as error:  # noqa: BLE001  # whatever broke, the draft has not been checked
        return PolicyFinding(status=PolicyStatus.UNCHECKED), (broke("policy", type(error).__name__),)


def _list_shown_texts(state: GuardianView) -> list[str]:
    """Return what the drafter was shown, in which domains stand that it may name."""
    texts = [str(state["question"].get("text", ""))]
    for item in state["evidence"]:
        texts += (str(item.get(name) or "") for name in ("snippet", "title", "heading", "url", "document"))
    return texts


def _fit_for_the_report(text: str, findings: Findings, profile: Profile, role: str) -> tuple[str, Findings]:
    """Return the draft and the findings without what an answer must not say; operators read them, and logs keep them."""
    try:
        draft = mask_text(text, profile, role)
        return draft, findings if draft == text else findings.masked(draft, lambda said: mask_text(said, profile, role))
    except Exception:  # noqa: BLE001  # what broke may have left everything in it
        return "", findings.unquoted()


@dataclass(frozen=True, slots=True)
class _EntailmentOutcome:
    grounding: Finding
    degraded: tuple[str, ...] = ()
    calls: tuple[ModelCall, ...] = ()


async def _check_entailment(
    grounding: Finding, evidence: Sequence[EvidenceItem], checker: EntailmentChecker | None, mode: EntailmentMode
) -> _EntailmentOutcome:
    """Ask the checker of claims, where one is connected and there is anything to ask.

    What breaks, at the checker's or in reading its word, is as if it could not be asked.
    """
    if checker is None or mode is EntailmentMode.OFF:
        return _EntailmentOutcome(grounding)
    calls: tuple[ModelCall, ...] = ()
    try:
        if not (questions := entailment_questions(grounding, evidence)):
            return _EntailmentOutcome(with_entailment(grounding, (), mode))
        reply = await checker.check(questions)
        calls = reply.calls
        return _EntailmentOutcome(with_entailment(grounding, reply.answers, mode), (), calls)
    except EntailmentUnavailable as error:
        why, calls = str(error), error.calls
    except Exception as error:  # noqa: BLE001  # whatever broke, the claims have not been checked
        why = type(error).__name__
    without = _run_check("grounding", lambda: without_entailment(grounding, mode, why))
    return _EntailmentOutcome(without, (f"entailment: {why}",), calls)


def _run_check(name: str, check: Callable[[], Finding]) -> Finding:
    """Run a check; one that breaks has not been carried out, which is never "fine"."""
    try:
        return check()
    except Exception as error:  # noqa: BLE001  # whatever broke, the draft has not been checked
        return _not_checked(name, error)


def _not_checked(name: str, error: Exception) -> Finding:
    return Finding(
        check=name,
        status=CheckStatus.UNCHECKED,
        reasons=(could_not_check(name),),
        actions=(RequiredAction.ESCALATE_TO_HUMAN,),
        advice=(broke(name, type(error).__name__),),
    )
