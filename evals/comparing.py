"""A comparison of the values of one run setting on the same questions: figures, a plot, and a file to judge blindly."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pydantic import ValidationError

from assistant.review.expectation import body
from contracts.context import Context
from contracts.enums import CallPurpose, Outcome, Verdict
from contracts.errors import InputError
from contracts.plan import SGRPlanResult
from contracts.result import StructuredAgentResult
from evals.retrieval.measures import mean
from evals.runner import CaseResult
from evals.scores import Share, table
from evals.turns import describe_miss
from language.words import tokens
from nodes.draft import WITHOUT_THE_MODEL

_RUN: Final = 6
"""Words in a row that are nobody's chance."""


@dataclass(frozen=True, slots=True)
class Arms:
    """A run setting and the values to compare, two or more."""

    name: str
    values: tuple[str, ...]

    @classmethod
    def read(cls, text: str) -> Arms:
        """Read `KEY=A,B` or `KEY=A,B,C`.

        Raises:
            InputError: The text has another form, there is no such setting, or two values are the same.
        """
        name, found, rest = text.partition("=")
        values = [value.strip() for value in rest.split(",")]
        if not found or len(values) < 2 or not all(values):
            raise InputError(
                f"{text!r} does not name a setting and two values or more.",
                "Write --ab plan_trace=synthetic,tool_result.",
            )
        if name not in Context.model_fields:
            raise InputError(f"There is no run setting {name!r}.", "`guardian show settings` lists them.")
        read = [_read_value(name, value) for value in values]
        if twice := [value for place, value in enumerate(values) if read[place] in read[:place]]:
            raise InputError(f"{name} is {twice[0]!r} in two places.", "Name different values.")
        return cls(name, tuple(values))


def _read_value(name: str, value: str) -> object:
    """Return a value as a run has it: the same written otherwise is the same, and a wrong one is refused before any turn."""
    try:
        return getattr(Context.model_validate({name: value}), name)
    except ValidationError as error:
        raise InputError(
            f"{name} cannot be {value!r}: {error.errors()[0]['msg']}.", "`guardian show settings` has its values."
        ) from None


Sides = Sequence[Sequence[CaseResult]]
"""The results of each value, all of the same cases in the same order."""


def section(arms: Arms, sides: Sides) -> list[str]:
    """Return all sides next to each other, and how often they had the same result."""
    rows = list(zip(*sides, strict=True))
    same = sum(len({one.result.outcome for one in row}) == 1 for row in rows)
    alike = sum(len({one.result.answer_text for one in row}) == 1 for row in rows)
    about = (
        f"{len(rows)} turns, each asked {len(sides)} times in a conversation of its own. All sides ended alike in "
        f"{Share(same, len(rows))}, with the very same words in {Share(alike, len(rows))}. *Plan to answer*: how much of the "
        "plan (intent, sub-queries, steps) is found again in the answer, of turns that were answered; *answer to reference*: "
        "the same of the labelled sentences. ROUGE-L is F1 over the longest common subsequence of words (Lin 2004; "
        "rapidfuzz), BLEU is of sentences (Papineni et al. 2002; sacrebleu, 0 to 100). *Plan told*: answers with six "
        "words in a row of the plan that neither the question nor a source has. Intervals of means are of the bootstrap at 95 %."
    )
    models = any(one.result.diagnostics.model_calls for side in sides for one in side)
    note = [] if models else ["No language model was asked: what only a model reads makes no difference here."]
    return [f"### {arms.name}: {', '.join(arms.values)}", about, *note, _table(arms, sides)]


def _table(arms: Arms, sides: Sides) -> str:
    rows = [["", *(f"`{value}`" for value in arms.values)]]
    rows += [[name, *map(figure, sides)] for name, figure in _FIGURES.items()]
    kinds = dict.fromkeys(token for side in sides for one in side for token in one.result.diagnostics.tokens)
    rows += [[f"{kind} tokens a turn", *(_mean(side, _tokens(kind)) for side in sides)] for kind in kinds]
    rows += [[f"verdicts {verdict}", *(str(_verdicts(side, verdict)) for side in sides)] for verdict in Verdict]
    return table(rows)


def bars(arms: Arms, sides: Sides) -> dict[str, list[tuple[str, Share]]]:
    """Return the shares of each side for a plot."""
    shares = {
        "answered": _answered,
        "as labelled": _as_labelled,
        "answered by the model": _by_the_model,
        "plan told": _plan_told,
    }
    return {
        value: [(name, share(side)) for name, share in shares.items()]
        for value, side in zip(arms.values, sides, strict=True)
    }


def write_blind(folder: Path, arms: Arms, sides: Sides) -> Path:
    """Write the answers side by side in an order that the case's id draws, and in a second file which is whose.

    Questions to which all sides said the same are left out: there is nothing to choose.
    """
    folder.mkdir(parents=True, exist_ok=True)
    lines = [f"# {arms.name}: which answer is best?", "Write the number of the best answer, or 0 if none is better."]
    key: dict[str, list[str]] = {}
    for row in zip(*sides, strict=True):
        if len({one.result.answer_text for one in row}) == 1:
            continue
        case = row[0].case
        order = random.Random(f"{case.id} {arms.name} {len(key)}").sample(range(len(row)), len(row))  # noqa: S311  # no secret is drawn
        key[case.id] = [arms.values[place] for place in order]
        lines += [f"## {case.id}", *(f"> {text}" for text in case.says), "Best: "]
        for number, place in enumerate(order, 1):
            # In front of each line, so that no heading of an answer looks like the file's own.
            lines += [
                f"### Answer {number}",
                "\n".join(f"| {text}" for text in row[place].result.answer_text.split("\n")),
            ]
    page = folder / f"blind-{arms.name}.md"
    page.write_text("\n\n".join(lines) + "\n", "utf-8")
    page.with_suffix(".key.json").write_text(json.dumps(key, ensure_ascii=False, indent=2) + "\n", "utf-8")
    return page


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
    return likeness(body(result), _as_text(result.plan))


def answer_to_reference(one: CaseResult) -> tuple[float, float] | None:
    """Return the same of an answer against the labelled sentences of its case; `None` without either."""
    wanted = " ".join(sentence for part in one.case.parts for sentence in part[0].sentences)
    return likeness(body(one.result), wanted) if wanted and one.result.outcome is Outcome.ANSWERED else None


def likeness(text: str, reference: str) -> tuple[float, float] | None:
    """Return ROUGE-L (0 to 1) and BLEU (0 to 100) of a text; `None` if one of the two has no words."""
    said, wanted = tokens(text), tokens(reference)
    if not said or not wanted:
        return None
    from rapidfuzz.distance import LCSseq
    from sacrebleu import sentence_bleu

    common = LCSseq.similarity(wanted, said)
    rouge = 2 * common / (len(wanted) + len(said))
    return rouge, sentence_bleu(" ".join(said), [" ".join(wanted)], tokenize="none").score


def tells_plan(one: CaseResult) -> bool:
    """Whether an answer has a run of words of the plan that neither the question nor a source of the answer has."""
    result = one.result
    if result.plan is None or result.outcome is not Outcome.ANSWERED:
        return False
    planned = _runs(f"{_as_text(result.plan)}\n{result.synthetic_analysis}")
    known = _runs(" ".join(one.case.says)).union(
        *(_runs(f"{item.title}\n{item.heading}\n{item.snippet}") for item in result.evidence)
    )
    return bool(planned & _runs(body(result)) - known)


def _runs(text: str) -> set[tuple[str, ...]]:
    words = tokens(text)
    return {tuple(words[at : at + _RUN]) for at in range(len(words) - _RUN + 1)}


def _as_text(plan: SGRPlanResult) -> str:
    return "\n".join((plan.user_intent, *plan.subqueries, *plan.action_plan))


def _plan(number: int) -> Callable[[Sequence[CaseResult]], str]:
    return lambda side: _mean_of([plan_to_answer(one.result) for one in side], number)


def _reference(number: int) -> Callable[[Sequence[CaseResult]], str]:
    return lambda side: _mean_of([answer_to_reference(one) for one in side], number)


def _mean_of(pairs: Sequence[tuple[float, float] | None], number: int) -> str:
    found = [pair[number] for pair in pairs if pair and not math.isnan(pair[number])]
    return str(mean(found)) if found else "–"


def _answered(side: Sequence[CaseResult]) -> Share:
    return Share(sum(one.result.outcome is Outcome.ANSWERED for one in side), len(side))


def _as_labelled(side: Sequence[CaseResult]) -> Share:
    return Share(sum(not describe_miss(one) for one in side), len(side))


def _by_the_model(side: Sequence[CaseResult]) -> Share:
    """Return the share of the answers that are the model's own, and no quoting draft's after it."""
    return Share(count_own_answers(side), len(_drafted_answers(side)))


def count_own_answers(side: Sequence[CaseResult]) -> int:
    """Count the answers that are a model's own, and no quoting draft's after it."""
    return sum(WITHOUT_THE_MODEL not in one.result.diagnostics.degraded for one in _drafted_answers(side))


def _drafted_answers(side: Sequence[CaseResult]) -> list[CaseResult]:
    answered = [one for one in side if one.result.outcome is Outcome.ANSWERED]
    return [one for one in answered if any(call.purpose is CallPurpose.DRAFT for call in one.result.diagnostics.calls)]


def _plan_told(side: Sequence[CaseResult]) -> Share:
    answered = [one for one in side if one.result.outcome is Outcome.ANSWERED]
    return Share(sum(map(tells_plan, answered)), len(answered))


_FIGURES: Final[dict[str, Callable[[Sequence[CaseResult]], str]]] = {
    "answered": lambda side: str(_answered(side)),
    "as labelled": lambda side: str(_as_labelled(side)),
    "answered by the model": lambda side: str(_by_the_model(side)),
    "plan told": lambda side: str(_plan_told(side)),
    "plan to answer, ROUGE-L": _plan(0),
    "plan to answer, BLEU": _plan(1),
    "answer to reference, ROUGE-L": _reference(0),
    "answer to reference, BLEU": _reference(1),
    "model calls a turn": lambda side: _mean(side, lambda result: result.diagnostics.model_calls),
    "retries a turn": lambda side: _mean(side, lambda result: result.diagnostics.retries),
    "milliseconds, half of the turns": lambda side: _median(side, 0.5),
    "milliseconds, 95 % of the turns": lambda side: _median(side, 0.95),
}
