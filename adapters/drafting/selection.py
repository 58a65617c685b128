"""Selection of the units of evidence that answer a question, and of the text around the best one."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from adapters.drafting.passages import Unit
from adapters.drafting.quotation import GOES_ON, LONG_BODY, section_of
from contracts.enums import RequestType, RequiredAction, Source
from contracts.evidence import reads_as_answer
from contracts.ports import DraftRequest
from language.actions import action_in, is_opposed, names_action
from language.answer_types import AnswerType, answer_type, denial, has_value, wants_yes_or_no
from language.blocks import BlockKind
from language.message import find_question
from language.patterns import read_wording
from language.words import Phrases, stems

_WORDING: Final = read_wording(__name__)

LEAST_COVERAGE: Final = 0.4
"""Share of the question's weighted words that what is quoted must have with its headings, and its passage, too."""
LEAST_OF_LONG: Final = 0.25
"""The same share where at least two words of the question are there: people who tell a story use many others."""
ASKED_FOR: Final = 0.75
"""Confidence of a row from which on the plan or the question's words asked for its lookup; see `LookupSource`."""
MOST_ROWS: Final = 10
"""Rows of one lookup that are quoted; that there are more is said."""
_BODY_BONUS: Final = 0.05
_HEADING_SHARE: Final = 0.8
_HEADING_FIT: Final = 0.5
_TRUST: Final = 3.0
_OPENING_BONUS: Final = 0.4
_YES_OR_NO_BONUS: Final = 0.2
_REMEDY_BONUS: Final = 0.2
_MID_AIR: Final = 0.1
_ABOUT_ITSELF: Final = 0.3
_TYPE: Final = 0.4
_VALUE_BONUS: Final = 0.2
_OTHER_POLARITY: Final = 0.2
_SAME_DENIAL: Final = 0.8
_OPPOSED: Final = 0.5
"""What a unit gains by the type of answer that its title promises and by a value of it, and loses by what denies otherwise or
says how to do the opposite; a title that denies as the question does counts most. Fitted by hand on two small folders."""
_TOO_LONG: Final = 0.2
_SECOND_BEST: Final = 0.8
_SECOND_BODY: Final = 0.95
_TOO_ALIKE: Final = 0.6
_MOST_CHARS: Final = 900
_NEARLY: Final = 0.7
_MOST_TRIED: Final = 5
_ADDS: Final = 0.1
_MOST_BESIDE: Final = 3
"""Share of the question that a unit from elsewhere must add, and how many of these there may be."""
_SAYS_IT: Final = 0.8
_ROOM_BESIDE: Final = 600
_ROOM_AROUND: Final = 1500
"""Share of the question from which a unit says by itself what was asked, and the characters of the answer that its passage
then fills; if it says less, more: of 155 answers on five manuals whose page was right, 103 then have a sentence that was
labelled instead of 79, at a median of 820 characters instead of 470. To choose the unit otherwise (by meaning, by its place, by
steps, by what its heading says beside the question) moved no more than two of them."""
_MOST_LOOKUPS = 2
_DEFINES = _WORDING.pattern("defines")
_HOW = _WORDING.pattern("how")
_REMEDY = _WORDING.pattern("remedy")
_COMPLAINT = _WORDING.pattern("complaint")
_OF_ITSELF = _WORDING.pattern("of_itself")
_WHO = _WORDING.pattern("who")
_WARNS = _WORDING.pattern("warns")
_OF_PAGES: Final = (Source.DOC, Source.POLICY)


@dataclass(frozen=True, slots=True)
class ScoredUnit:
    unit: Unit
    score: float
    question: int


class _Weights:
    """How much each word of a question says: rare among the candidates says more (inverse document frequency)."""

    def __init__(self, question: str, candidates: Sequence[Unit], ignored: frozenset[str]) -> None:
        passages: dict[int, set[str]] = {}
        for unit in candidates:
            passages.setdefault(unit.source, set()).update(unit.words)
        count = len(passages)
        # A word that no passage has weighs as one that a single passage has: it may be the heart of the question,
        # or only a way of putting it.
        self.of = {
            word: math.log(1 + (count + 1) / (0.5 + max(1, sum(word in there for there in passages.values()))))
            for word in dict.fromkeys(stems(question))
            if word not in ignored
        }
        self.total = sum(self.of.values())
        self._ignored = ignored

    def fit(self, headings: Iterable[str]) -> float:
        """Return how much of the best fitting heading the question says, 0 to 1: its other words mean other topics."""
        fits = [0.0]
        for heading in headings:
            for part in heading.split(" › "):
                said = set(stems(part)).difference(self._ignored)
                if said:
                    fits.append(sum(word in self.of for word in said) / len(said) * self.share(said))
        return max(fits)

    def share(self, words: Iterable[str]) -> float:
        """Return the weighted share of the question's words that are among the given ones, 0 to 1."""
        there = set(words)
        return sum(weight for word, weight in self.of.items() if word in there) / self.total if self.total else 0.0


def lookup_of(unit: Unit, request: DraftRequest) -> str:
    """Return the lookup of a unit that is a row; empty for a passage."""
    return request.evidence[unit.source - 1].lookup


def pick_units(candidates: list[Unit], request: DraftRequest, ignored: frozenset[str]) -> list[ScoredUnit]:
    """Return the units of the answer: per question the best one with its neighbours, then units that add to it."""
    picked: list[ScoredUnit] = []
    for number, question in enumerate(request.subqueries):
        weights = _Weights(question, candidates, ignored)
        asked = find_question(question)  # what goes before it was searched for, and says nothing of what is wanted
        ranked = sorted(
            (ScoredUnit(unit, _score(unit, weights, asked, request), number) for unit in candidates),
            key=lambda scored: (-scored.score, scored.unit.source, scored.unit.order),
        )
        tried = _list_tried(ranked, weights, request, number)
        best = next((scored for scored in tried if _covers(scored, candidates, weights, asked, request)), None)
        if best:
            ranked = [best, *(scored for scored in ranked if scored is not best)]
            ranked = _steps_first(ranked) if _HOW.search(asked) else ranked
            company = _with_company(ranked, candidates, request, weights)
            picked += [s for s in company if all(s.unit is not p.unit for p in picked)]
    return picked


def _list_tried(ranked: list[ScoredUnit], weights: _Weights, request: DraftRequest, number: int) -> list[ScoredUnit]:
    """Return the units that may answer a question, best first: those near the best score of the words.

    If a model has read the passages with the question, it says which passage is tried first, unless it holds none for an
    answer, or could not read the one that is best by the words; the words say which units of it.
    """
    tried = _list_near(ranked)
    if not ranked or _asked_for(ranked[0].unit, weights, request):
        return tried
    read = request.read[number] if request.read else dict[str, float]()
    scores = {scored.unit.source: read.get(request.evidence[scored.unit.source - 1].ref) for scored in ranked}
    known = {source: score for source, score in scores.items() if score is not None}
    best = max(known, key=lambda source: known[source], default=0)
    unread = bool(tried) and ranked[0].unit.source not in known
    own = [scored for scored in ranked if scored.unit.source == best]
    if not known or unread or (request.odds and not _reads_as_answer(own[0], request)):
        return tried
    # One that begins in mid-air and shares no word has less than nothing by words, and still is the answer.
    return (_list_near(own) or own[:1]) + tried


def _list_near(ranked: list[ScoredUnit]) -> list[ScoredUnit]:
    return [scored for scored in ranked if scored.score >= _SECOND_BEST * ranked[0].score][:_MOST_TRIED]


def _score(unit: Unit, weights: _Weights, question: str, request: DraftRequest) -> float:
    item = request.evidence[unit.source - 1]
    score = weights.share(unit.words) + _HEADING_SHARE * weights.share(unit.heading_words)
    score += _HEADING_FIT * weights.fit(unit.heading.split(" — "))
    if _asked_for(unit, weights, request):
        return (1 + score) * item.confidence
    score *= item.confidence**_TRUST
    if _DEFINES.search(question) and unit.order == 0 and item.ref.endswith("#0"):
        # Pages say what a thing is in their first sentences.
        score += _OPENING_BONUS * weights.share(unit.heading_words)
    elif wants_yes_or_no(question) and unit.order == 0 and unit.body is None:
        score += _YES_OR_NO_BONUS * weights.share(unit.heading_words)
    if _wants_steps(question, request):
        score += _remedies(unit)
    score += _type_bonus(unit, question, weights)
    return score - _unfit_to_begin(unit, question) + _terms_bonus(unit, request)


def _type_bonus(unit: Unit, question: str, weights: _Weights) -> float:
    """Return how much a unit gains by what its section's title promises, and by a value of the type that is wanted."""
    wanted, title = answer_type(question), section_of(unit)
    promised = answer_type(title)
    bonus = 0.0
    if wanted and promised:
        bonus += _TYPE * weights.share(unit.heading_words) if promised is wanted else -_TYPE
    if wanted and has_value(unit.text, wanted):
        bonus += _VALUE_BONUS * weights.share(unit.words | unit.heading_words)
    if is_opposed(question, f"{title}\n{unit.lead}"):
        bonus -= _OPPOSED
    asked, told = denial(question), denial(title)
    if told and told != asked:
        bonus -= _OTHER_POLARITY
    elif asked and told:
        bonus += _SAME_DENIAL * weights.share(unit.heading_words)
    elif asked and denial(unit.lead) == asked:
        bonus += _OTHER_POLARITY * weights.share(unit.words)
    return bonus


def _remedies(unit: Unit) -> float:
    """Return how much a unit gains where something is to be done: by its form, and by the title of its section."""
    title = section_of(unit)
    score = _REMEDY_BONUS * (bool(_REMEDY.search(title)) - bool(_COMPLAINT.search(title)))
    if unit.body and unit.body.kind is BlockKind.STEPS:
        score += 2 * _BODY_BONUS
    elif unit.body and unit.body.kind is BlockKind.CODE:
        score += _BODY_BONUS
    return score


def _unfit_to_begin(unit: Unit, question: str) -> float:
    """Return how much a unit loses as the beginning of an answer."""
    lost = _MID_AIR if unit.order == 0 and GOES_ON.match(unit.lead) else 0.0
    if _OF_ITSELF.match(unit.lead):
        lost += _ABOUT_ITSELF
    if not _HOW.search(question):
        # Where nobody asks how, a page of steps is more than is wanted.
        lost += _TOO_LONG * min(1.0, max(0.0, len(unit.text) / LONG_BODY - 1) / 3)
    return lost


def _asked_for(unit: Unit, weights: _Weights, request: DraftRequest) -> bool:
    """Whether a unit is a row of a lookup that this question asked for."""
    item = request.evidence[unit.source - 1]
    if not item.lookup or item.confidence < ASKED_FOR:
        return False
    # Of several questions, the row's own words tell whose it is; a row often has other words than the question.
    return len(request.subqueries) == 1 or weights.share(unit.words) >= LEAST_COVERAGE


def _reads_as_answer(scored: ScoredUnit, request: DraftRequest) -> bool:
    """Whether a model has read the unit's passage with its question, and holds it for an answer."""
    logit = _logit_of(scored, request)
    return logit is not None and reads_as_answer(logit, _logits_of_others(scored, request))


def _is_rejected(scored: ScoredUnit, request: DraftRequest) -> bool:
    """Whether a model has read the unit's passage with its question, and holds it for no answer."""
    logit = _logit_of(scored, request)
    return logit is not None and not reads_as_answer(logit, ())


def _logits_of_others(scored: ScoredUnit, request: DraftRequest) -> list[float]:
    """Return the logits of what the unit's question found in other documents; what is no evidence is of another one."""
    document = request.evidence[scored.unit.source - 1].document_key
    same = {item.ref for item in request.evidence if item.document_key == document}
    return [logit for ref, logit in request.read[scored.question].items() if ref not in same]


def _logit_of(scored: ScoredUnit, request: DraftRequest) -> float | None:
    """Return the logit that a model gave the unit's passage for its question; `None` if it read or tells none."""
    read = request.read[scored.question] if request.read and request.odds else dict[str, float]()
    return read.get(request.evidence[scored.unit.source - 1].ref)


def _wants_steps(question: str, request: DraftRequest) -> bool:
    kinds = (RequestType.HOWTO_POLICY, RequestType.TROUBLESHOOTING)
    return request.request_type in kinds or bool(_HOW.search(question))


def _terms_bonus(unit: Unit, request: DraftRequest) -> float:
    if RequiredAction.USE_DOMAIN_TERMS not in request.actions:
        return 0.0
    return 1.0 if Phrases(request.spec.domain_terms).find(unit.text) else 0.0


def _covers(
    scored: ScoredUnit, candidates: list[Unit], weights: _Weights, question: str, request: DraftRequest
) -> bool:
    """Whether a unit with its headings has enough of the question's words, and its passage enough of all.

    A passage that a model has read and holds for an answer needs none of them, unless the question is a single word.
    """
    unit = scored.unit
    if _asked_for(unit, weights, request) or (len(weights.of) > 1 and _reads_as_answer(scored, request)):
        return True
    own = unit.words | unit.heading_words
    if len(weights.of) == 1 and not unit.heading_words.issuperset(weights.of):
        # Of a single word, a mention in passing is no answer: the section must be about it, or about doing it.
        action = action_in(question)
        return action is not None and names_action(action, section_of(unit))
    passage = {word for other in candidates if other.source == unit.source for word in other.words}
    least = LEAST_OF_LONG if len(own.intersection(weights.of)) > 1 else LEAST_COVERAGE
    return weights.share(own) >= least and weights.share(passage | own) >= least


def _steps_first(ranked: list[ScoredUnit]) -> list[ScoredUnit]:
    """Put the steps of the best unit's section in its place, where it is a remark on them."""
    best = ranked[0]
    for scored in ranked[1:]:
        if scored.score < _NEARLY * best.score or (best.unit.body and best.unit.body.kind is BlockKind.STEPS):
            break
        unit = scored.unit
        same = (unit.source, unit.heading) == (best.unit.source, best.unit.heading)
        if same and unit.body and unit.body.kind is BlockKind.STEPS:
            return [scored, *(other for other in ranked if other is not scored)]
    return ranked


class _Company:
    """What is quoted beside the best unit of a question."""

    def __init__(self, best: ScoredUnit, weights: _Weights, question: str) -> None:
        self._question = question
        self.best = best
        self.chosen = [best]
        self.size = len(best.unit.text)
        self.added = 0
        self._weights = weights
        self._covered = set(best.unit.words | best.unit.heading_words)

    def add(self, unit: Unit) -> None:
        self.chosen.append(ScoredUnit(unit, self.best.score, self.best.question))
        self.size += len(unit.text)
        self._covered.update(unit.words)

    def fits(self, unit: Unit) -> bool:
        """Whether there is room for a unit, and no similar one is there yet."""
        if self.size + len(unit.text) > _MOST_CHARS:
            return False
        return not any(unit is one.unit or _alike(unit, one.unit) for one in self.chosen)

    def lacks(self, unit: Unit) -> bool:
        """Whether a unit has words of the question that the answer has not."""
        more = self._weights.share(self._covered | unit.words) - self._weights.share(self._covered)
        return more >= _ADDS

    def _needs_no_other(self) -> bool:
        """Whether the section of the best unit says the whole question: its words, and what is wanted of them."""
        best, title = self.best.unit, section_of(self.best.unit)
        if not title or self._weights.share(best.words | best.heading_words) < _SAYS_IT:
            return False
        wanted = answer_type(self._question)
        if wanted in (None, AnswerType.MANNER):
            return not _WHO.match(self._question)
        return answer_type(title) is wanted or has_value(best.text, wanted)

    def surround(self, passage: Mapping[int, Unit]) -> None:
        """Add the units around the best one, as far as there is room.

        Its section comes first, and two units after it for each unit before it. The less of the question the best unit
        says itself, the likelier the answer is next to it, and the more room there is.
        """
        best = self.best.unit
        room = _ROOM_BESIDE if self._weights.share(best.words) >= _SAYS_IT else _ROOM_AROUND
        first = last = best.order
        if first - 1 in passage and GOES_ON.match(best.lead):
            first -= 1
            self.add(passage[first])
        # Sections behind its own come last, and none before it: there, a remedy has its complaint.
        # Its subsections belong to a section that needs none of the others.
        alone = f"{best.heading} › " if self._needs_no_other() else ""
        others = {unit.heading for unit in passage.values() if unit.heading.startswith(alone)}
        for headings in ({best.heading}, others):
            grown = True
            while grown:
                grown = False
                for step in (1, 1, -1):
                    unit = passage.get(last + 1 if step > 0 else first - 1)
                    if unit is None or unit.heading not in (headings if step > 0 else {best.heading}):
                        continue
                    if step < 0 and _OF_ITSELF.match(unit.lead):
                        continue
                    if self.size + len(unit.text) <= (max(room, _MOST_CHARS) if self._follows(unit) else room):
                        self.add(unit)
                        first, last, grown = min(first, unit.order), max(last, unit.order), True

    def _follows(self, unit: Unit) -> bool:
        """Whether a unit right behind the best one belongs to it: what is to be done, or a warning of it."""
        best = self.best.unit
        if unit.order != best.order + 1:
            return False
        if best.body is None:
            return unit.body is not None and unit.body.kind in (BlockKind.STEPS, BlockKind.CODE)
        return unit.body is None and _WARNS.search(unit.lead) is not None


def _with_company(
    ranked: list[ScoredUnit], candidates: list[Unit], request: DraftRequest, weights: _Weights
) -> list[ScoredUnit]:
    """Return the best unit with what it needs to be understood, and with what answers more of the question.

    Its section and passage come with it, as far as there is room; others come if they add words of the question, up to
    `_MOST_CHARS`. A row brings the other rows of its lookup, however alike they are: they are one list.
    """
    best = ranked[0]
    if lookup_of(best.unit, request):
        return _rows(ranked, request)
    company = _Company(best, weights, find_question(request.subqueries[best.question]))
    company.surround({unit.order: unit for unit in candidates if unit.source == best.unit.source})
    for scored in ranked[1:]:
        if company.added >= _MOST_BESIDE or scored.score < _SECOND_BEST * best.score:
            break
        if _may_join(scored, best, request) and company.fits(scored.unit) and company.lacks(scored.unit):
            company.add(scored.unit)
            company.added += 1
    return sorted(company.chosen, key=lambda s: (s.unit.source != best.unit.source, s.unit.source, s.unit.order))


def _may_join(scored: ScoredUnit, best: ScoredUnit, request: DraftRequest) -> bool:
    """Whether a unit can stand beside the best one at all."""
    unit = scored.unit
    overruled = best.score < _SECOND_BEST * scored.score  # by words, it was before the one that is read as an answer
    elsewhere = unit.source != best.unit.source
    if elsewhere and overruled and _reads_as_answer(best, request) and _is_rejected(scored, request):
        return False
    if lookup_of(unit, request) and request.evidence[unit.source - 1].found not in ("0", "1"):
        return False  # one row of a list would look like all there is
    if unit.source == best.unit.source:
        return True
    item, leads = (request.evidence[one.source - 1] for one in (unit, best.unit))
    if item.source in _OF_PAGES and leads.source in _OF_PAGES and item.document_key != leads.document_key:
        return False
    if unit.body and scored.score < _SECOND_BODY * best.score:
        return False  # a second list of steps, from elsewhere, is as likely as not another procedure
    return not GOES_ON.match(unit.lead)


def _rows(ranked: list[ScoredUnit], request: DraftRequest) -> list[ScoredUnit]:
    """Return the rows of the best unit's lookup, then those of others that were asked for as surely."""
    best = ranked[0]
    sure = request.evidence[best.unit.source - 1].confidence
    by_lookup: dict[str, list[ScoredUnit]] = {}
    for scored in ranked:
        item = request.evidence[scored.unit.source - 1]
        if item.lookup and item.source is request.evidence[best.unit.source - 1].source and item.confidence >= sure:
            by_lookup.setdefault(item.lookup, []).append(scored)
    return [
        scored
        for rows in list(by_lookup.values())[:_MOST_LOOKUPS]
        for scored in sorted(rows, key=lambda s: (s.unit.source, s.unit.order))[:MOST_ROWS]
    ]


def _alike(one: Unit, other: Unit) -> bool:
    shared = len(one.words & other.words)
    return shared > _TOO_ALIKE * min(len(one.words), len(other.words))
