"""The offline planner: a deterministic plan in the same schema, from the lexicon and the index.

It understands nothing. It knows the words of the lexicon, how far a text is on topic for the indexed
documents, the words that the profile calls its scope, and the questions of the profile's lookups.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from functools import cache
from itertools import pairwise
from typing import Final

from adapters.lookups.date_ranges import period_of
from adapters.lookups.lookup_matching import Chooser
from adapters.lookups.lookup_source import utc_now
from adapters.planning.clarification import (
    Gap,
    gap_in,
    join_answer,
    name_in,
    object_of,
    points_back,
    stands_alone,
    without_mark,
)
from adapters.planning.follow_ups import gone_on, thing_of
from contracts.calls import ModelCall
from contracts.decisions import EVIDENCE
from contracts.enums import Language, Outcome, RequestType, SafetyLevel, SGRAction, Source
from contracts.errors import SourceUnavailable
from contracts.lookups import Lookup
from contracts.plan import PLAN_TOOL, SGRPlanResult
from contracts.ports import PlanReply, PlanRequest, TopicProbe
from contracts.profile import Profile
from language import lexicon
from language.envelope import own_words
from language.features import asks_for_a_feature, names_another
from language.message import is_complete, needs_context, questions_and_context
from language.patterns import read_toml
from language.sentences import questions, sentences
from language.words import Phrases, rephrase, stems, tokens

NAME: Final = "offline"
CLEARLY: Final = 0.6
"""How like a lookup's own questions one must be to be looked up and not read, where it asks how many or how things have
been of late. Of 57 questions in other words than the bundled profile's, 49 are planned so; of 1157 headings and labelled questions
of the handbook, none is."""
ALMOST_WORD_FOR_WORD: Final = 0.9
"""The same where it asks neither: "Which questions are handed off?" asks for the rule, "Which were?" for the list."""
_MOST_QUERIES = 10
_LONGEST_QUERY = 300
_LONGEST_QUOTE = 100
_SPAM_AT = ((0.0, 1.0), (0.2, 0.7), (0.5, 0.5), (1.0, 0.0))
"""Confidence of the index, and the spam score there; straight lines in between."""
_HARDLY = 0.5
"""Confidence of the index below which the documents hardly speak of a message."""
_FOREIGN = 0.8
"""Spam score of such a message with a word of everyday life in it."""
_STORY = 25
"""Words from which a question of several sentences has a story before it."""
_NAMES_ENOUGH = 3
"""Different content words of a sentence of a story that tells what it is about."""
_ANSWERED = (Outcome.ANSWERED, Outcome.PAGES_SHOWN, "")
"""Ends of a turn whose question named something; of those that nothing is known of, it is assumed."""
_ELSEWHERE = (Outcome.DECLINED, Outcome.REFUSED)
"""Ends of a turn that was about something else than the product."""
_SURE, _FAIRLY_SURE, _WITH_GAPS, _LOST = 0.9, 0.8, 0.65, 0.35


class OfflinePlanner:
    """A planner without a model.

    Args:
        probe: Returns how far a text is on topic.
        profile: Scope words, thresholds and lookups of the deployment.
        now: The wall clock; "today" is a day in UTC.
    """

    def __init__(self, probe: TopicProbe, profile: Profile, now: Callable[[], datetime] = utc_now) -> None:
        self._probe = probe
        self._profile = profile
        self._scope = Phrases((profile.product, *profile.scope.words))
        lookups = profile.lookups_of(Source.DB)
        self._chooser = Chooser(lookups)
        self._kinds = {lookup.name: _kind_of(lookup) for lookup in lookups}
        self._now = now
        _phrases()  # read now, not by the first turn

    async def plan(self, request: PlanRequest) -> PlanReply:
        """Fill the plan; the same message over the same index gives the same plan.

        If the index cannot be asked, it is unknown how far the message is on topic. The message gets the benefit of the
        doubt: other sources may answer it, and an answer is still judged by its evidence.
        """
        made: list[ModelCall] = []
        reading = await self._read(request, made)
        plan = self._fill(reading, request)
        trace: dict[str, object] = {"planner": NAME, "tool": PLAN_TOOL, "arguments": plan.model_dump(mode="json")}
        return PlanReply(plan, trace, (f"plan: {reading.unasked}",) if reading.unasked else (), tuple(made))

    async def _read(self, request: PlanRequest, made: list[ModelCall]) -> _MessageReading:
        request = replace(request, message=await self._mend(own_words(request.message)))
        today = self._now().astimezone(UTC).date()
        whole = _with_what_stands_before(_with_what_was_spoken_of(_with_what_was_asked_before(request), request))
        casual = lexicon.is_casual(request.message)
        queries = _queries(whole)
        topic, unasked = None, ""
        seconds = self._profile.behaviour.source_seconds
        try:
            async with asyncio.timeout(seconds):
                # Who was asked back is not off topic for having answered.
                parts = _parts(request) if _is_answer(request) else []
                texts = (*queries, *_sentences_of_a_story(whole), *parts)
                probes = dict.fromkeys((*texts, *rephrase(texts, self._profile.synonyms)))
                # At once: a server of vectors that does not answer costs its time only once.
                asked = (self._probe.on_topic(text, made) for text in probes)
                topic = max(await asyncio.gather(*asked), default=0.0)
        except SourceUnavailable as error:
            unasked = f"it was not asked how far the message is on topic. {error}"
        except TimeoutError:
            unasked = f"it was not asked how far the message is on topic. It timed out after {seconds:g} s."
        stands = None if casual else self._asks_how_things_stand(queries, request)
        gap = None if casual else gap_in(whole, today)
        vague = not casual and (gap is not None or (stands is None and lexicon.is_vague(whole)))
        return _MessageReading(
            text=whole,
            queries=queries,
            casual=casual,
            vague=vague,
            gap=gap,
            person=lexicon.wants_person(request.message),
            topic=topic,
            unasked=unasked,
            scope=bool(stands or self._scope.find(whole) or _is_about_the_product(request)),
            spam="advertising" if lexicon.is_advertising(whole) else "gibberish" if lexicon.is_gibberish(whole) else "",
            kind=RequestType.CASUAL if casual else stands or lexicon.request_type(whole),
        )

    async def _mend(self, text: str) -> str:
        """Return a text without slips of the hand; as it is, where the documents' words cannot be had."""
        try:
            async with asyncio.timeout(self._profile.behaviour.source_seconds):
                return await self._probe.mend(text)
        except (SourceUnavailable, TimeoutError):
            return text

    def _asks_how_things_stand(self, queries: list[str], request: PlanRequest) -> RequestType | None:
        """Return the kind of status that a message asks for where each of its questions chooses a database lookup.

        One question that does not may be for the documents, which a status request never asks. Whoever may not use the
        database is better off with what the documents say.
        """
        if request.sources is not None and Source.DB not in request.sources:
            return None
        today = self._now().astimezone(UTC).date()
        found = [
            one
            for query in queries
            if (one := self._chooser.choose(query, today)) and one.likeness >= _least(query, today)
        ]
        kinds = [self._kinds[one.call.name] for one in found]
        if not kinds or len(kinds) < len(queries):
            return None
        by_words = lexicon.request_type("\n".join(queries))
        return by_words if by_words in lexicon.STATUS else kinds[0]

    def _fill(self, reading: _MessageReading, request: PlanRequest) -> SGRPlanResult:
        say = _phrases()[request.language]
        spam, reason = _spam(reading, say)
        confidence = _confidence(reading)
        if reading.gap:
            question, gap = (
                say[f"{part}_{reading.gap.kind}"].format(word=reading.gap.word, question=_short(reading.gap.question))
                for part in ("ask", "gap")
            )
        else:
            question, gap = lexicon.question_about(reading.text, request.language)
        unclear = confidence < self._profile.thresholds.confidence
        joined = _quote_queries(reading.queries, request.language)
        intent = "intent_person" if reading.person else f"intent_{reading.kind}"
        return SGRPlanResult(
            spam_score=spam,
            spam_reason=reason[:150],
            user_intent=say.get(intent, say["intent"]).format(questions=joined)[:300],
            topic=lexicon.infer_topic(reading.text)[:150] or None,
            category=lexicon.infer_category(reading.text, request.language),
            answer_language=request.language,
            request_type=reading.kind,
            subqueries=reading.queries,
            action_plan=_steps(reading, say, unclear=unclear),
            intent_confidence=confidence,
            uncertainties=[gap] if unclear else [],
            action=_proposal(spam, unclear=unclear, request=request, threshold=self._profile.thresholds.spam),
            clarification_question=question if unclear else None,
            wants_human=reading.person,
        )


def _least(query: str, today: date) -> float:
    """Return how like a lookup's own questions a query must be."""
    if lexicon.asks_how_it_is_done(query):
        return ALMOST_WORD_FOR_WORD
    return CLEARLY if lexicon.asks_of_now(query) or period_of(query, today) else ALMOST_WORD_FOR_WORD


def _kind_of(lookup: Lookup) -> RequestType:
    """Return which status requests a lookup is for: those that it declares, else those that its own questions are."""
    declared = next((kind for kind in lexicon.STATUS if kind in lookup.request_types), None)
    return declared or lexicon.figure_or_list(text for texts in lookup.answers.values() for text in texts)


@dataclass(frozen=True, slots=True)
class _MessageReading:
    """What the lexicon and the index say of a message; `unasked`: why the index says nothing, then `topic` is `None`."""

    text: str
    queries: list[str]
    casual: bool
    vague: bool
    gap: Gap | None
    person: bool
    topic: float | None
    unasked: str
    scope: bool
    spam: str
    kind: RequestType


def _is_answer(request: PlanRequest) -> bool:
    """Whether the newest message answers a question that was asked back."""
    return bool(request.clarifications) and not lexicon.is_casual(request.message) and not stands_alone(request.message)


def _is_about_the_product(request: PlanRequest) -> bool:
    """Whether a message asks for nothing but features of an "it" that can only be the product.

    The documents need not speak of a feature that the product lacks, so their silence makes no such question off topic.
    What the message tells before, and what was spoken of before, may be what is meant.
    """
    product, feature = True, False
    for text, outcome in (*_turns(request), (request.message, "")):
        if lexicon.is_casual(text):
            continue
        said = without_mark(text)
        feature = _is_of_features(said) or (feature and names_another(said))
        # A question for a feature is about what the talk was about.
        product = product if feature else outcome not in _ELSEWHERE
    return product and feature


def _is_of_features(message: str) -> bool:
    told = [one for one in sentences(message) if not lexicon.is_casual(one)]
    return bool(told) and all(map(asks_for_a_feature, told))


def _with_what_was_asked_before(request: PlanRequest) -> str:
    """Join the answer to a clarifying question with the questions that it belongs to; a wish for a person is none."""
    if not _is_answer(request):
        return without_mark(request.message)
    joined = ""
    for text in _parts(request):
        # What was answered before the last question was asked may have been a subject of its own.
        if not joined or stands_alone(text):
            joined = without_mark(text)
        else:
            joined = f"{joined}\n{text}" if lexicon.wants_person(text) else join_answer(joined, text)
    return joined


def _with_what_was_spoken_of(whole: str, request: PlanRequest) -> str:
    """Put what the talk before was about in the place of a pronoun, or of what a question that goes on leaves out."""
    before, thing = _asked_last(request)
    if before and not _is_answer(request):
        whole = gone_on(whole, before, thing)
    pointing = [question for question in questions(whole) if not lexicon.is_casual(question)]
    if not pointing or not all(map(points_back, pointing)) or not (named := _spoken_of(request)):
        return whole
    for question in pointing:
        whole = whole.replace(question, join_answer(question, named))
    return whole


def _with_what_stands_before(text: str) -> str:
    """Complete each question of a message from the one right before it; what is told in between may be meant as well."""
    before = thing = ""
    for asked in questions_and_context(text):
        whole = gone_on(asked.text, before, thing) if before and not asked.context else asked.text
        if whole != asked.text:
            text = text.replace(asked.text, whole, 1)
        before, thing = whole, thing_of(whole, thing)
    return text


def _asked_last(request: PlanRequest) -> tuple[str, str]:
    """Return the last question of the talk as it was understood, and the one thing that it was about, where that is plain.

    Courtesies are passed over. There is no such question where the last one was not answered.
    """
    before = thing = ""
    for text, outcome in _turns(request):
        if lexicon.is_casual(text):
            continue
        asked = questions_and_context(own_words(text))
        if not asked or outcome not in _ANSWERED:
            before = thing = ""
        else:
            before = gone_on(asked[-1].text, before, thing) if before else asked[-1].text
            thing = thing_of(before, thing)
    return before, thing


def _spoken_of(request: PlanRequest) -> str:
    """Return the one thing that the last answered question was about; nothing where that is not plain.

    What was declined, handed over or asked back names nothing, and courtesies are passed over.
    """
    turns = _turns(request)
    for position in range(len(turns) - request.clarifications - 1, -1, -1):
        text, outcome = turns[position]
        if lexicon.is_casual(text):
            continue
        if outcome not in _ANSWERED or lexicon.wants_person(text):
            return ""
        if named := object_of(text):
            return named
        if position and turns[position - 1][1] == Outcome.CLARIFICATION and not stands_alone(text):
            return name_in(text)
        # Its own pronoun was understood from what stood before it.
        if not points_back(text):
            return ""
    return ""


def _turns(request: PlanRequest) -> list[tuple[str, str]]:
    """Return what the user wrote before the newest message, each with how its turn ended; an error where it did not."""
    turns: list[tuple[str, str]] = []
    for exchange in request.history:
        if exchange.role == "user":
            turns.append((exchange.text, Outcome.ERROR))
        elif turns:
            turns[-1] = (turns[-1][0], exchange.outcome)
    return turns


def _parts(request: PlanRequest) -> list[str]:
    """Return what the user wrote since the first of the questions that were asked back in a row, the newest last."""
    earlier = [exchange.text for exchange in request.history if exchange.role == "user"]
    return [*earlier[-request.clarifications :], request.message]


def _queries(text: str) -> list[str]:
    """Split a message into its questions: at least one, at most ten, no two alike, greetings and stories left out.

    A question that names too little by itself, or points at something, has the sentence before it; without one, what
    names too little belongs to the question before it.
    """
    merged: list[str] = []
    for asked in questions_and_context(text):
        for number, part in enumerate(lexicon.split_joined(asked.text)):
            with_context = asked.context and not number
            if with_context and (needs_context(part, asked.context) or not is_complete(part)):
                merged.append(f"{asked.context[: max(0, _LONGEST_QUERY - len(part) - 1)]} {part}".strip())
            elif is_complete(part) or not merged:
                merged.append(part)
            else:
                merged[-1] = f"{merged[-1]} {part}"
    chosen = [line for line in merged if stems(line)][:_MOST_QUERIES] or [" ".join(text.split())]
    return list(dict.fromkeys(query[:_LONGEST_QUERY] for query in chosen))


def _sentences_of_a_story(text: str) -> list[str]:
    """Return the sentences of a story that say enough to tell what it is about; none where there is no story."""
    if len(tokens(text)) < _STORY:
        return []
    return [one for one in sentences(text) if len(set(stems(one))) >= _NAMES_ENOUGH][:_MOST_QUERIES]


def _spam(reading: _MessageReading, say: dict[str, str]) -> tuple[float, str]:
    """Score by rule first, then by how little of the message the documents know."""
    if reading.spam:
        return 0.95, say[f"reason_{reading.spam}"]
    if reading.casual:
        return 0.0, say["reason_casual"]
    if reading.vague or reading.person:
        return 0.2, say["reason_vague"]
    if reading.topic is None:
        return 0.2, say["reason_unknown"]
    if reading.scope:
        return round(min(0.3, 1 - reading.topic), 2), say["reason_scope"]
    score = _spam_of(reading.topic)
    if reading.topic < _HARDLY and lexicon.is_foreign("\n".join(reading.queries)):
        score = max(score, _FOREIGN)
    reason = say["reason_topic" if reading.topic >= _HARDLY else "reason_foreign"]
    return score, reason.format(found=f"{reading.topic:.0%}")


def _spam_of(topic: float) -> float:
    """Return the spam score of a confidence of the index, both 0 to 1.

    Half a confidence is half a score; the score reaches 0.7, where requests are declined, at 0.2. Measured on four small
    folders that strangers wrote: of 144 questions in people's own words 10 are declined (26 at 0.35, the limit before), and
    of 480 about anything else (CLINC150, XQuAD) 22 % lie above (14 % before). For those, pages are shown, or nothing is
    found. To decline somebody's real question does more harm.
    """
    for (low, at_low), (high, at_high) in pairwise(_SPAM_AT):
        if topic <= high:
            return round(at_low + (at_high - at_low) * (topic - low) / (high - low), 2)
    return 0.0


def _confidence(reading: _MessageReading) -> float:
    if reading.casual or reading.person:
        return _SURE
    if reading.vague:
        return _LOST
    known = reading.scope or reading.topic is None or reading.topic >= 0.5
    return _FAIRLY_SURE if known else _WITH_GAPS


def _proposal(spam: float, *, unclear: bool, request: PlanRequest, threshold: float) -> SGRAction:
    if request.moderation and request.moderation.safety_level is SafetyLevel.UNSAFE:
        return SGRAction.GUARDIAN_BLOCK
    if spam >= threshold:
        return SGRAction.BLOCK
    return SGRAction.CLARIFY if unclear else SGRAction.NORMAL


def _steps(reading: _MessageReading, say: dict[str, str], *, unclear: bool) -> list[str]:
    if reading.person:
        return [say["plan_person"]]
    if reading.casual:
        return [say["plan_greet"]]
    if unclear:
        return [say["plan_ask"]]
    special = {
        RequestType.HOWTO_POLICY: "plan_steps",
        RequestType.DATA_DEFINITION: "plan_define",
        RequestType.TROUBLESHOOTING: "plan_cause",
        RequestType.STATUS_METRIC: "plan_figures",
        RequestType.STATUS_SUMMARY: "plan_figures",
        RequestType.STATUS_LIST: "plan_figures",
    }.get(reading.kind)
    sources = ", ".join(EVIDENCE.decide(request_type=reading.kind).outcome.allowed())
    steps = [say["plan_search"].format(sources=sources), say["plan_read"]]
    return [*steps, *([say[special]] if special else []), say["plan_cite"]]


def _short(question: str) -> str:
    return question if len(question) <= _LONGEST_QUOTE else question[: _LONGEST_QUOTE - 1] + "…"


def _quote_queries(queries: list[str], language: Language) -> str:
    left, right = ("«", "»") if language is Language.RU else ("“", "”")
    return "; ".join(f"{left}{query.strip()}{right}" for query in queries)


@cache
def _phrases() -> dict[str, dict[str, str]]:
    return read_toml("adapters.planning", "phrases.toml")
