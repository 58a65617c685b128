"""A comparison of two values of one run setting on the same questions."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from assistant.review.expectation import body
from contracts.context import Context
from contracts.enums import Outcome, Verdict
from contracts.errors import InputError
from contracts.plan import SGRPlanResult
from contracts.result import StructuredAgentResult
from evals.retrieval.measures import mean
from evals.runner import CaseResult
from evals.scores import Share, table
from evals.turns import describe_miss
from language.words import tokens


@dataclass(frozen=True, slots=True)
class Pair:
    """A run setting and the two values to compare."""

    name: str
    values: tuple[str, str]

    @classmethod
    def read(cls, text: str) -> Pair:
        """Read `KEY=A,B`.

        Raises:
            InputError: The text has another form, there is no such setting, or both values are the same.
        """
        name, found, rest = text.partition("=")
        values = [value.strip() for value in rest.split(",")]
        if not found or len(values) != 2 or not all(values):
            raise InputError(
                f"{text!r} does not name a setting and two values.", "Write --ab plan_trace=synthetic,tool_result."
            )
        if name not in Context.model_fields:
            raise InputError(f"There is no run setting {name!r}.", "`guardian show settings` lists them.")
        if values[0] == values[1]:
            raise InputError(f"{name} is {values[0]!r} on both sides.", "Name two different values.")
        return cls(name, (values[0], values[1]))


def section(pair: Pair, sides: tuple[Sequence[CaseResult], Sequence[CaseResult]]) -> list[str]:
    """Return both sides next to each other, and how often they had the same result."""
    both = list(zip(*sides, strict=True))
    same = sum(one.result.outcome is other.result.outcome for one, other in both)
    alike = sum(one.result.answer_text == other.result.answer_text for one, other in both)
    about = (
        f"{len(both)} turns asked twice, each in a conversation of its own. Both sides ended alike in {Share(same, len(both))}, "
        f"with the very same words in {Share(alike, len(both))}. *Plan to answer*: how much of the plan (intent, sub-queries, "
        "steps) is found again in the answer, of turns that were answered: ROUGE-L is F1 over the longest common "
        "subsequence of words (Lin 2004; rapidfuzz), BLEU is of sentences (Papineni et al. 2002; sacrebleu, 0 to 100). "
        "Intervals of means are of the bootstrap at 95 %."
    )
    models = any(one.result.diagnostics.model_calls for side in sides for one in side)
    note = [] if models else ["No language model was asked: what only a model reads makes no difference here."]
    return [f"### {pair.name}: {pair.values[0]} or {pair.values[1]}", about, *note, _table(pair, sides)]


def _table(pair: Pair, sides: tuple[Sequence[CaseResult], Sequence[CaseResult]]) -> str:
    rows = [["", *(f"`{value}`" for value in pair.values)]]
    rows += [[name, *map(figure, sides)] for name, figure in _FIGURES.items()]
    kinds = dict.fromkeys(token for side in sides for one in side for token in one.result.diagnostics.tokens)
    rows += [[f"{kind} tokens a turn", *(_mean(side, _tokens(kind)) for side in sides)] for kind in kinds]
    rows += [[f"verdicts {verdict}", *(str(_verdicts(side, verdict)) for side in sides)] for verdict in Verdict]
    return table(rows)


def _tokens(kind: str) -> Callable[[StructuredAgentResult], float | None]:
    return lambda result: result.diagnostics.tokens.get(kind)


def _verdicts(side: Sequence[CaseResult], verdict: Verdict) -> int:
    """Count the verdicts of all tries: each is a decision by DT-005."""
    outcomes = [made.outcome for one in side for made in one.result.decisions if made.table == "DT-005"]
    return sum(outcome.partition(";")[0] == verdict for outcome in outcomes)


def _mean(side: Sequence[CaseResult], value: Callable[[StructuredAgentResult], float | None]) -> str:
    found = [figure for one in side if (figure := value(one.result)) is not None]
    return str(mean(found)) if found else "–"


def _median(side: Sequence[CaseResult], share: float) -> str:
    times = sorted(one.result.diagnostics.answer_ms or 0.0 for one in side)
    return f"{times[min(len(times) - 1, int(share * len(times)))]:.0f}" if times else "–"


def plan_to_answer(result: StructuredAgentResult) -> tuple[float, float] | None:
    """Return ROUGE-L (0 to 1) and BLEU (0 to 100) of an answer against its plan; `None` if there is no answer."""
    if result.outcome is not Outcome.ANSWERED or result.plan is None:
        return None
    said, planned = tokens(body(result)), tokens(_as_text(result.plan))
    if not said or not planned:
        return None
    from rapidfuzz.distance import LCSseq
    from sacrebleu import sentence_bleu

    common = LCSseq.similarity(planned, said)
    rouge = 2 * common / (len(planned) + len(said))
    return rouge, sentence_bleu(" ".join(said), [" ".join(planned)], tokenize="none").score


def _as_text(plan: SGRPlanResult) -> str:
    return "\n".join((plan.user_intent, *plan.subqueries, *plan.action_plan))


def _part(number: int) -> Callable[[StructuredAgentResult], float | None]:
    def figure(result: StructuredAgentResult) -> float | None:
        found = plan_to_answer(result)
        return None if found is None or math.isnan(found[number]) else found[number]

    return figure


_FIGURES: Final[dict[str, Callable[[Sequence[CaseResult]], str]]] = {
    "answered": lambda side: str(Share(sum(one.result.outcome is Outcome.ANSWERED for one in side), len(side))),
    "as labelled": lambda side: str(Share(sum(not describe_miss(one) for one in side), len(side))),
    "plan to answer, ROUGE-L": lambda side: _mean(side, _part(0)),
    "plan to answer, BLEU": lambda side: _mean(side, _part(1)),
    "model calls a turn": lambda side: _mean(side, lambda result: result.diagnostics.model_calls),
    "retries a turn": lambda side: _mean(side, lambda result: result.diagnostics.retries),
    "milliseconds, half of the turns": lambda side: _median(side, 0.5),
    "milliseconds, 95 % of the turns": lambda side: _median(side, 0.95),
}
