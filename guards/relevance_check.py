"""Does the draft answer the user's question?

Grounding proves that the documents contain an answer. Whether they answer the question is an estimate for each part of
the question. It depends on the search rank of the cited page and on the cited section:

    logit p = -3.4 + 7.1 margin + 3.7 coverage - 1.0 aside                 by words
    logit p = -2.4 + 5.5 margin + 3.3 coverage - 1.0 aside - 0.9 behind    by words and meaning
    logit q = -2.5 + 0.7 logit p + 5.8 sentence + 1.4 heading              if a model here compares texts, too
    logit r = -0.2 + 0.47 logit q + 0.39 ahead                             if a model here has read the passages, too

    margin     of the page's best score to the best of another page, as a share of the top score: -1 to 1
    coverage   share of the question's content words that the cited passages of the page have, weighted by idf: 0 to 1
    aside      share of the words of the cited section's heading that neither question nor title has: 0 to 1
    behind     by how much another page is nearer in meaning, in standard deviations of all similarities: 0 to 4
    sentence   cosine of the draft's nearest sentence to the question: -1 to 1
    heading    cosine of the cited section's heading to the question: -1 to 1
    ahead      the reranker's logit of the best cited passage, less that of the best other one, which is at least -8: -3 to 6

The weights of p are fitted on 180 drafts for five manuals. A person judged each draft right, partly right or wrong; p is
the probability that it is not wrong. Those of q are fitted on 292 drafts that readers graded in the same way, 154 of them
for three manuals that were new to the project: with the weights from the other manuals, q has a mean AUC of .83 and p of
.80 (docs/decisions.md, 79). If another page, or another place of a long one, is as good (ahead by less than .05), the
estimate q is at most .6: a third of such drafts was wrong, whatever the other figures. A heading that is the question,
and the only one, makes q at least .9. The weights of r are fitted on 457 drafts for eleven English manuals, which readers
graded or which have the labelled sentences: with the weights from the other manuals, r has a mean AUC of .80 and q of
.72 (docs/decisions.md, 87 and 89).
By words only, margin and coverage have the earlier weights fitted on questions. There, a page that lacks a weighty word
of the question is never sure, because nothing else supports it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from contracts.enums import CheckStatus, DraftKind, PartStatus, RequestType, RequiredAction, Source
from contracts.evidence import READS_AS_ANSWER, EvidenceItem, Fate, QueryTrace, ahead_by
from contracts.reasons import Reason
from contracts.report import Finding, PartFinding
from language.actions import action_in, is_opposed, names_action
from language.answer_types import AnswerType, answer_type, denial, has_value, tells_values, wants_yes_or_no
from language.blocks import heading_text
from language.claims import without_citations
from language.lexicon import STATUS, asking_stems
from language.message import find_question, likest
from language.patterns import read_wording
from language.sentences import sentences
from language.words import rephrase, stems

_WORDING: Final = read_wording(__name__)

NAME: Final = "relevance"
_A = RequiredAction
_WORDS: Final = (-3.4, 7.1, 3.7)
_MEANING: Final = (-2.4, 5.5, 3.3)
_NEARNESS: Final = (-2.5, 0.7, 5.8, 1.4)
_READING: Final = (-0.2, 0.47, 0.39)
_OF_ASIDE: Final = -1.0
_OF_BEHIND: Final = -0.9
_MOST_NEARNESS: Final = 4.0
"""Standard deviations; beyond, a small knowledge base would be sure of anything."""
_MOST_BEHIND, _MOST_AHEAD = -3.0, 6.0
"""Logits; what is further behind or ahead says nothing more."""
_ALONE: Final = 3.0
"""The lead of a passage beside which nothing else was found."""
_LEAST_LEAD: Final = 0.05
"""How far a passage must be ahead, as a share of the top score; else another one may answer as well."""
_MOST_WITHOUT_LEAD: Final = 0.6
"""The estimate of a page whose cited passages are not, at most."""
_TITLED: Final = 0.9
"""The estimate, at least, of a passage whose heading is the question, if no other passage has such a heading."""
_LEAST_COVERAGE: Final = 0.4
"""A page that has less of the question's words speaks of something else, unless its meaning is near."""
_NEAR: Final = 1.0
"""Standard deviations by which a page is nearer than any other, from which words that it lacks do not speak against it."""
_HARDLY: Final = 0.4
"""An estimate below which nothing is cited for a part, but for another that shares its words."""
_MUCH: Final = 0.8
"""The share of the weightiest word's weight from which a word says much."""
_NAME: Final = re.compile(
    r"(?<![\w.])(?:[A-Z][A-Z0-9]{1,15}|[A-Z][a-z]+[A-Z]\w{0,30}|[a-z]{1,3}[A-Z][A-Za-z]{1,30})(?![\w.])|(?<=[a-zа-яё,] )[A-Z][a-z]{2,30}(?![\w.])"
)
"""An abbreviation, a name with a capital inside, or a word with one inside a sentence: SSO, FedEx, iPad, in Jira."""
_NAME_RU: Final = re.compile(
    r"(?<![\w.])(?:(?<!\d[ \u00a0])[А-ЯЁ]{2,10}|\d{1,2}[А-ЯЁ]{1,3}|[А-ЯЁ][а-яё]+[А-ЯЁ]\w{0,30})(?!\w)|(?<=[a-zа-яё,] )[А-ЯЁ][а-яё]{2,30}(?!\w)"
)
"""The same in Cyrillic: 1С, МойОфис, and inside a sentence Госуслуги."""
_CALENDAR: Final = _WORDING.pattern("calendar")
_EVERYDAY: Final = _WORDING.pattern("everyday")
_SMALL_IN_TITLES: Final = _WORDING.pattern("small_in_titles")
_PERSON_RU: Final = _WORDING.pattern("person_ru")
_CAPITALS: Final = 0.5
"""The share of words with a capital from which capitals say nothing: "HOW DO I LOG IN", "Delete A Conversation"."""


_LONG_WORD: Final = 4
"""Letters; titles write shorter words without a capital."""


@dataclass(frozen=True, slots=True)
class RelevanceQuestion:
    """The question that a draft must answer.

    Attributes:
        parts: The questions of the message, each as searched; with fewer than two, all queries are one part.
        cited: The refs of the evidence that the draft cites.
        sure: The estimate from which an answer is stated, in (0, 1).
        ignored: Stems without meaning here, such as those of the product's name.
        draft: The text of the draft.
        verbatim: Whether it quotes word for word; a model that tells an action in other words read the question first.
        synonyms: Groups of words for the same, the documents' first.
        nearness: For each of `judged_parts`, the cosine of its meaning to each of `list_compared_texts`; empty if it is not known.
    """

    request_type: RequestType
    kind: DraftKind
    parts: Sequence[str]
    evidence: Sequence[EvidenceItem]
    traces: Sequence[QueryTrace]
    cited: frozenset[str]
    sure: float
    ignored: frozenset[str] = frozenset()
    draft: str = ""
    verbatim: bool = True
    synonyms: Sequence[tuple[str, ...]] = ()
    nearness: Mapping[str, Mapping[str, float]] = field(default_factory=dict[str, Mapping[str, float]])

    @property
    def judged_parts(self) -> tuple[str, ...]:
        """The parts that are judged each for itself; of fewer than two, all in one."""
        return tuple(self.parts) if len(self.parts) > 1 else (" ".join(self.parts),)


@dataclass(frozen=True, slots=True)
class _CitedPage:
    """A cited page, and how likely it answers one part.

    Attributes:
        excused: Whether a model has read it and holds it for an answer: words that it lacks do not speak against it.
    """

    estimate: float
    coverage: float
    missing: tuple[str, ...]
    near: float | None = 0.0
    excused: bool = False

    @property
    def rank(self) -> tuple[bool, float]:
        """The sort key that prefers one judgement of a page to another."""
        return not self.lacks, self.estimate

    @property
    def lacks(self) -> bool:
        """Whether the page lacks a weighty word, which counts against it if only words were searched."""
        return self.near is None and bool(self.missing) and not self.excused


_NO_PAGE: Final = _CitedPage(0.0, 0.0, ())


@dataclass(frozen=True, slots=True)
class _PassageStems:
    """Stems of passages with their titles and headings, by the key of their document: of all evidence, and of what is cited."""

    page: Mapping[str, frozenset[str]]
    cited: Mapping[str, frozenset[str]]


@dataclass(frozen=True, slots=True)
class _RankedPassage:
    """A passage that a query found, and of which kind of source; figures as in `PassageTrace`."""

    source: Source
    ref: str
    document: str
    confidence: float
    score: float
    fused: float | None
    similarity: float | None
    odds: float | None


@dataclass(frozen=True, slots=True)
class _QueryRanking:
    """What one query found in sources whose scores can be compared.

    Attributes:
        found: How many passages there were.
        words: What each word of the query says; empty where nobody counts words.
        spread: Standard deviation of the query's similarities to all passages; `None` where meaning took no part.
    """

    query: str
    rows: Sequence[_RankedPassage]
    found: int
    words: Mapping[str, float]
    spread: float | None

    @classmethod
    def of(cls, traces: Sequence[QueryTrace]) -> _QueryRanking:
        """Join the traces of one query; fused figures become shares of the best of all searches."""
        top = max((row.score for trace in traces for row in trace.passages), default=0.0)
        rows: list[_RankedPassage] = []
        for trace in traces:
            own = max((row.score for row in trace.passages), default=0.0)
            share = own / top if top > 0 else 1.0
            rows += [
                _RankedPassage(
                    trace.source,
                    row.ref,
                    row.document,
                    row.confidence,
                    row.score,
                    None if row.fused is None else row.fused * share,
                    row.similarity,
                    row.rerank_score_raw if trace.odds else None,
                )
                for row in trace.passages
                if row.fate is not Fate.COPY
            ]
        return cls(
            query=traces[0].query,
            rows=rows,
            found=sum(trace.found for trace in traces),
            words=next((trace.words for trace in traces if trace.words), dict[str, float]()),
            spread=next((trace.spread for trace in traces if trace.spread), None),
        )


def check_relevance(question: RelevanceQuestion) -> Finding:
    """Judge whether the citations answer each part of the question; only answers from documents and graphs are checked.

    A page that has too few of the question's words, or lacks one of its names, counts against the answer: the search
    may find a better one. If an answer covers one part and not surely another, it is drafted again without the other
    part. Rows of a lookup were requested by name and count as sure.
    """
    if question.kind is not DraftKind.ANSWER or question.request_type in (*STATUS, RequestType.CASUAL):
        return Finding(check=NAME, status=CheckStatus.NOT_ASKED)
    found = [trace for trace in question.traces if trace.passages]
    traces = [trace for trace in found if not trace.told]
    cited = [item for item in question.evidence if item.ref in question.cited]
    if not cited or not found or not question.parts:
        return Finding(check=NAME, status=CheckStatus.NOT_ASKED)
    if not traces:
        # All was found with what was told before the question; whether that is answered, nothing says.
        parts = [PartFinding(text=text, status=PartStatus.PARTLY) for text in question.judged_parts]
        return _finding(parts, stray=False)
    alone = _found_alone(question.traces)
    parts = [_doubt_alone(part, alone, cited) for part in _parts(question, traces, cited)]
    return _finding(parts, stray=len(parts) > 1 and _stray(parts, cited))


def _found_alone(traces: Sequence[QueryTrace]) -> frozenset[str]:
    """Return the documents that a bare question finds, and that its source does not find for it behind what was told.

    "I have a column of addresses. How do I get a list with each one only once?": a page on lists of paragraphs is found
    for the second sentence only. Where the longer search failed, and for what a drafter searched for, nothing was compared.
    """
    longer = [trace for trace in traces if trace.told and not trace.error]
    alone: set[str] = set()
    others = {row.document for trace in longer for row in trace.passages}
    for trace in (trace for trace in traces if not trace.told):
        compared = any(_how(one) == _how(trace) and one.query.endswith(trace.query) for one in longer)
        (alone if compared else others).update(row.document for row in trace.passages)
    return frozenset(alone - others)


def _how(trace: QueryTrace) -> tuple[Source, int, bool]:
    """Return how a search was made: only two that were made alike can be compared."""
    return trace.source, trace.attempt, bool(trace.degraded)


def _doubt_alone(part: PartFinding, alone: frozenset[str], cited: Sequence[EvidenceItem]) -> PartFinding:
    """Return a part in doubt if it rests on documents that only the bare question finds."""
    own = [item for item in cited if item.ref in part.refs]
    # A lookup was asked for by name, and is never asked again with what was told.
    if part.status is not PartStatus.ANSWERED or any(item.lookup for item in own):
        return part
    if not own or not alone.issuperset(item.document_key for item in own):
        return part
    return part.model_copy(update={"status": PartStatus.PARTLY})


def _stray(parts: Sequence[PartFinding], cited: Sequence[EvidenceItem]) -> bool:
    """Whether something is cited that no part rests on which is answered."""
    stands = {ref for part in parts if part.status is PartStatus.ANSWERED for ref in part.refs}
    documents = {item.document_key for item in cited if item.ref in stands}
    return any(item.document_key not in documents for item in cited)


def _finding(parts: Sequence[PartFinding], *, stray: bool) -> Finding:
    def finding(status: CheckStatus, reason: Reason | None = None, actions: tuple[RequiredAction, ...] = ()) -> Finding:
        reasons = (reason,) if reason else ()
        return Finding(check=NAME, status=status, reasons=reasons, actions=actions, parts=tuple(parts))

    sure = [part for part in parts if part.status is PartStatus.ANSWERED]
    doubtful = [part for part in parts if part.status is PartStatus.PARTLY]
    against = [part for part in parts if part.status is PartStatus.NOT_FOUND and part.missing]
    if sure and not doubtful and not stray:
        return finding(CheckStatus.OK)
    unsure = tuple(part.text for part in parts if part.status is not PartStatus.ANSWERED)
    named = tuple(part.text for part in doubtful) or unsure
    if sure:
        return finding(CheckStatus.FAILED, Reason("relevance_doubtful", named), (_A.REGENERATE_DRAFT,))
    if against and not doubtful:
        words = tuple(dict.fromkeys(word for part in against for word in part.missing))
        return finding(CheckStatus.FAILED, Reason("does_not_answer", words), (_A.REFINE_QUERY, _A.RETRIEVE_MORE))
    return finding(CheckStatus.DOUBTFUL, Reason("relevance_doubtful", named))


def _parts(
    question: RelevanceQuestion, traces: Sequence[QueryTrace], cited: Sequence[EvidenceItem]
) -> list[PartFinding]:
    texts = question.judged_parts
    words = _PassageStems(_words_of(question.evidence), _words_of(cited))
    if len(texts) == 1:
        pages = _pages(texts[0], traces, cited, question, words)
        return [_part(texts[0], pages, cited, question, words, alone=True)]
    of_part: list[list[QueryTrace]] = [[] for _ in texts]
    for trace in traces:
        of_part[likest(trace.query, texts)].append(trace)
    found = [_pages(text, its, cited, question, words) for text, its in zip(texts, of_part, strict=True)]
    surest = {key: max(of.get(key, _NO_PAGE).estimate for of in found) for of in found for key in of}
    # A page that stands there for one part is no doubtful answer to another.
    found = [
        {key: page for key, page in of.items() if page.estimate >= min(question.sure, surest[key])} for of in found
    ]
    return [_part(text, of, cited, question, words, alone=False) for text, of in zip(texts, found, strict=True)]


def _pages(
    text: str,
    traces: Sequence[QueryTrace],
    cited: Sequence[EvidenceItem],
    question: RelevanceQuestion,
    words: _PassageStems,
) -> dict[str, _CitedPage]:
    """Return the cited pages that some ranking has, by their keys, each as the ranking has it that is surest of it."""
    pages: dict[str, _CitedPage] = {}
    said = frozenset(stems(text))
    for ranking in _rankings(traces):
        weights = _weights(ranking, said, question.ignored)
        for item in cited:
            key = item.document_key
            page = _judge_page(item, ranking, weights, words, question, question.nearness.get(text, {}))
            if page and (key not in pages or page.rank > pages[key].rank):
                pages[key] = page
    return pages


def _part(
    text: str,
    pages: Mapping[str, _CitedPage],
    cited: Sequence[EvidenceItem],
    question: RelevanceQuestion,
    words: _PassageStems,
    *,
    alone: bool,
) -> PartFinding:
    """Judge one part by its surest page."""
    if not pages:
        return PartFinding(text=text, status=PartStatus.PARTLY if alone else PartStatus.NOT_FOUND)
    best = max(pages.values(), key=lambda page: page.rank)
    own = find_question(text)
    names = tuple(name for name in names_in(own, question.ignored) if not _stands(name, pages, question, words))
    refs = tuple(item.ref for item in cited if item.document_key in pages)
    said = _text_with_titles(question, cited) if question.draft else ""
    if names or (best.coverage < _LEAST_COVERAGE and (best.near or 0.0) < _NEAR and not best.excused):
        status, missing = PartStatus.NOT_FOUND, names or best.missing
    elif is_opposed(own, said):
        status, missing = PartStatus.NOT_FOUND, (action_in(own) or "",)
    elif best.estimate >= question.sure and not best.lacks:
        status, missing = _doubts(own, question, said)
    elif alone or best.estimate >= _HARDLY:
        status, missing = PartStatus.PARTLY, best.missing
    else:
        status, missing, refs = PartStatus.NOT_FOUND, (), ()
    return PartFinding(text=text, status=status, estimate=round(best.estimate, 3), refs=refs, missing=missing)


def _doubts(text: str, question: RelevanceQuestion, said: str) -> tuple[PartStatus, tuple[str, ...]]:
    """Return what a part comes to whose page is sure: answered, or doubtful, with the action that the draft does not name.

    A text that says no duration does not answer "How long ...?", and a quotation that renames nothing does not say how to.
    """
    wanted = answer_type(text)
    if not said:
        return PartStatus.ANSWERED, ()
    if question.verbatim and wanted in (AnswerType.REASON, AnswerType.TIME) and _STEPS_FIRST.match(said):
        return PartStatus.PARTLY, ()  # how it is done says neither why nor when
    asked = (text, *rephrase([text], question.synonyms)) if question.verbatim and wanted in _OF_ACTIONS else ()
    actions = [action for one in asked if (action := action_in(one))]
    if actions and not any(names_action(action, said) for action in actions):
        return PartStatus.PARTLY, (actions[0],)
    if wanted and tells_values(wanted) and not has_value(said, wanted):
        return PartStatus.PARTLY, ()
    return PartStatus.ANSWERED, ()


def _text_with_titles(question: RelevanceQuestion, cited: Sequence[EvidenceItem]) -> str:
    """Return the draft, and the titles of the sections that it has the sentences of: a quotation leaves its title out."""
    said = without_citations(question.draft)
    plain = _letters(said)
    titles: list[str] = []
    for item in cited:
        title = item.heading.rpartition(" › ")[2] or item.title
        for line in item.snippet.splitlines():
            if found := _HEADING.match(line):
                title = heading_text(found[1])
            elif any(len(own := _letters(part)) >= _LEAST_LETTERS and own in plain for part in sentences(line)):
                titles.append(title)
    return "\n".join((said, *dict.fromkeys(titles)))


def _letters(text: str) -> str:
    return "".join(re.findall(r"[^\W_]", text.casefold()))


_LEAST_LETTERS: Final = 12
"""Letters of a sentence from which on it is no other section's by chance."""
_STEPS_FIRST: Final = re.compile(r"[^\n]{0,200}:?\s+1[.)] ")
_OF_ACTIONS: Final = (None, AnswerType.MANNER)


def _stands(name: str, pages: Collection[str], question: RelevanceQuestion, words: _PassageStems) -> bool:
    """Whether one of the pages, or several together, have a name; a noun that its stem is shared with is not it."""
    if not frozenset[str]().union(*(words.page[key] for key in pages)).issuperset(own := stems(name)):
        return False
    if not name.isascii() or name.casefold() in own:
        return True
    # The stem of Windows is that of windows, too: the name is written with its capital.
    as_written = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)")
    items = (item for item in question.evidence if item.document_key in pages)
    return any(as_written.search(f"{item.title}\n{item.heading}\n{item.snippet}") for item in items)


def _words_of(evidence: Iterable[EvidenceItem]) -> dict[str, frozenset[str]]:
    """Return the stems of each page's passages, titles and headings, by its key."""
    words: dict[str, set[str]] = {}
    for item in evidence:
        words.setdefault(item.document_key, set()).update(stems(f"{item.title}\n{item.heading}\n{item.snippet}"))
    return {key: frozenset(own) for key, own in words.items()}


def _rankings(traces: Sequence[QueryTrace]) -> list[_QueryRanking]:
    """Return what each query found in each attempt; documents of both kinds are of one index, and stand in one order."""
    found: dict[tuple[str, int, str], list[QueryTrace]] = {}
    for trace in traces:
        kind = "documents" if trace.source in (Source.DOC, Source.POLICY) else str(trace.source)
        found.setdefault((trace.query, trace.attempt, kind), []).append(trace)
    return [_QueryRanking.of(same) for same in found.values()]


def _judge_page(
    item: EvidenceItem,
    ranking: _QueryRanking,
    weights: Mapping[str, float],
    words: _PassageStems,
    question: RelevanceQuestion,
    nearness: Mapping[str, float],
) -> _CitedPage | None:
    """Judge a cited item's page by one query; `None` where the query did not find the page."""
    own = [row for row in ranking.rows if row.document == item.document_key and row.source is item.source]
    if not own:
        return None
    if item.lookup:
        return _CitedPage(1.0, 1.0, ())
    if not any(row.score or row.fused for row in own):
        # Who ranks without scores says how far it is on topic, and nothing else is known: to answer takes more than that.
        return _CitedPage(max(row.confidence for row in own) ** 2, 1.0, ())
    page = words.page[item.document_key]
    most = max(weights.values(), default=0.0)
    missing = tuple(word for word, weight in weights.items() if word not in page and weight >= _MUCH * most)
    others = [row for row in ranking.rows if row.document != item.document_key]
    near = _nearness(own, others, ranking.spread)
    nearness = nearness if near is not None else {}
    coverage = _share(weights, words.cited[item.document_key])
    margin = _margin(own, others, ranking, by_words=near is None)
    estimate = _estimate(margin, coverage, near, _aside(item, ranking.query))
    if nearness:
        estimate = _add_nearness(estimate, nearness, question, item)
    if _asks_this(item, ranking.query, weights) and not any(
        _asks_this(other, ranking.query, weights) for other in question.evidence if other.ref != item.ref
    ):
        estimate = max(estimate, _TITLED)
    elif _lead(own, ranking, question.cited, by_words=near is None) < _LEAST_LEAD:
        estimate = min(estimate, _MOST_WITHOUT_LEAD)
    estimate = _add_reading(estimate, own, ranking, question.cited)
    odds = max(_odds_of_cited(own, question.cited), default=None)
    # How far ahead it is says nothing here: in a small folder, whatever is faintly related is far ahead.
    answers = odds is not None and odds >= READS_AS_ANSWER
    excused = answers and not _asks_whether_of(ranking.query, missing, words)
    return _CitedPage(estimate, _share(weights, page), _as_said(missing, ranking.query), near, excused)


def _asks_whether_of(query: str, missing: Iterable[str], words: _PassageStems) -> bool:
    """Whether a yes-or-no question is about a thing that stands in no evidence: "does it work with fedex".

    What a page says of other things is no answer to it. Other words for the action are no other thing.
    """
    question = find_question(query)
    if not wants_yes_or_no(question):
        return False
    action = frozenset(stems(action_in(question) or ""))
    return any(word not in action and not any(word in page for page in words.page.values()) for word in missing)


def _share(weights: Mapping[str, float], there: Collection[str]) -> float:
    """Return the share of the words that are there, by weight; 1 where there are none to be had."""
    total = sum(weights.values())
    return sum(weight for word, weight in weights.items() if word in there) / total if total else 1.0


def _weights(ranking: _QueryRanking, said: frozenset[str], ignored: frozenset[str]) -> Mapping[str, float]:
    """Return the weights of a query's words but those of the asking; all alike where the source does not count words.

    What a planner adds to the user's words (`said`) does not count where it has most of them.
    """
    weights = ranking.words or dict.fromkeys(stems(ranking.query), 1.0)
    own = {word: weight for word, weight in weights.items() if word in said}
    weights = own if 2 * len(own) >= len(said) else weights
    without = ignored | asking_stems()
    return {word: weight for word, weight in weights.items() if word not in without} or weights


def _margin(
    own: Sequence[_RankedPassage], others: Sequence[_RankedPassage], ranking: _QueryRanking, *, by_words: bool
) -> float:
    """Return how far a page is ahead of every other page, as a share of the top score: -1 to 1."""

    def scored(row: _RankedPassage) -> float:
        return row.score if by_words else row.fused or 0.0

    top = max(map(scored, ranking.rows))
    # Where everything that was returned is of one page, the next one is at most as good as the last of these.
    alone = ranking.found <= len(own) < 2
    rest = [scored(row) for row in others] or ([] if alone else [min(map(scored, own))])
    return (max(map(scored, own)) - max(rest, default=0.0)) / top if top > 0 else 0.0


def _estimate(margin: float, coverage: float, near: float | None, aside: float) -> float:
    base, of_margin, of_coverage = _WORDS if near is None else _MEANING
    behind = max(0.0, -(near or 0.0))
    return _logistic(base + of_margin * margin + of_coverage * coverage + _OF_ASIDE * aside + _OF_BEHIND * behind)


def _add_nearness(
    estimate: float, nearness: Mapping[str, float], question: RelevanceQuestion, item: EvidenceItem
) -> float:
    """Return the estimate from the ranking's and from how near the draft and the cited heading are to the question."""
    if not (said := _draft_sentences(question.draft)):
        return estimate  # a bare value, such as "25 MB": nothing of it can be near
    base, of_estimate, of_sentence, of_heading = _NEARNESS
    before = min(max(estimate, _LEAST_ODDS), 1 - _LEAST_ODDS)
    sentence = max(nearness[one] for one in said)
    heading = nearness[_own_heading(item)]
    logit = of_estimate * math.log(before / (1 - before))
    return _logistic(base + logit + of_sentence * sentence + of_heading * heading)


def _odds_of_cited(own: Sequence[_RankedPassage], cited: Collection[str]) -> list[float]:
    return [row.odds for row in own if row.ref in cited and row.odds is not None]


def _add_reading(
    estimate: float, own: Sequence[_RankedPassage], ranking: _QueryRanking, cited: Collection[str]
) -> float:
    """Return the estimate with what a reranker says that has read the passages; unchanged if none has whose scale is known."""
    mine = _odds_of_cited(own, cited)
    if not mine:
        return estimate
    others = [row.odds for row in ranking.rows if row.ref not in cited and row.odds is not None]
    unread = any(row.odds is None for row in ranking.rows if row.ref not in cited)
    ahead = ahead_by(max(mine), others)
    if ahead is None:
        ahead = 0.0 if unread else _ALONE
    base, of_estimate, of_ahead = _READING
    before = min(max(estimate, _LEAST_ODDS), 1 - _LEAST_ODDS)
    ahead = max(_MOST_BEHIND, min(_MOST_AHEAD, ahead))
    return _logistic(base + of_estimate * math.log(before / (1 - before)) + of_ahead * ahead)


_LEAST_ODDS: Final = 1e-4
"""An estimate is no nearer to 0 or 1 than this: its logit stays finite."""


def list_compared_texts(question: RelevanceQuestion) -> tuple[str, ...]:
    """Return the texts whose nearness to the question the estimate uses: sentences of the draft, and cited headings."""
    if question.kind is not DraftKind.ANSWER:
        return ()
    headings = (_own_heading(item) for item in question.evidence if item.ref in question.cited)
    return tuple(dict.fromkeys((*_draft_sentences(question.draft), *headings)))


def _draft_sentences(draft: str) -> list[str]:
    lines = without_citations(draft).splitlines()
    said = (part.strip() for line in lines for part in sentences(line))
    return [part for part in said if len(part) >= _LEAST_SENTENCE][:_MOST_SENTENCES]


def _own_heading(item: EvidenceItem) -> str:
    return item.heading.rpartition(" › ")[2] or item.title


def _logistic(logit: float) -> float:
    return 1 / (1 + math.exp(-max(-50.0, min(50.0, logit))))


_LEAST_SENTENCE: Final = 16
"""Characters; less is a number or a mark."""
_MOST_SENTENCES: Final = 24
"""Sentences of a draft that are compared; a longer one quotes a table or a log."""


def _lead(own: Sequence[_RankedPassage], ranking: _QueryRanking, cited: Collection[str], *, by_words: bool) -> float:
    """Return how far the cited passages of a page are ahead of any other passage, as a share of the top: -1 to 1.

    What stands right beside a cited passage, or is of another page and cited, too, is no rival. A long page is ahead of all
    others by what it says anywhere.
    """

    def scored(row: _RankedPassage) -> float:
        return row.score if by_words else row.fused or 0.0

    mine = [row for row in own if row.ref in cited]
    page = own[0].document
    beside = {(page, number + step) for row in mine if (number := _number(row.ref)) >= 0 for step in (-1, 1)}
    rivals = [
        scored(row) for row in ranking.rows if row.ref not in cited and (row.document, _number(row.ref)) not in beside
    ]
    top = max(map(scored, ranking.rows), default=0.0)
    if not mine or not rivals or top <= 0:
        return 1.0
    return (max(map(scored, mine)) - max(rivals)) / top


def _number(ref: str) -> int:
    """Return which passage of its document a ref names, from 0 on; -1 for one that is not counted."""
    number = ref.rpartition("#")[2]
    return int(number) if number.isascii() and number.isdigit() else -1


def _asks_this(item: EvidenceItem, query: str, weights: Mapping[str, float]) -> bool:
    """Whether a heading of a passage is the question in other words: the same content words, wanting the same of them."""
    own_question = find_question(query)
    wanted, denied, said = answer_type(own_question), denial(own_question), frozenset(stems(query))
    own = (item.heading.rpartition(" › ")[2], *map(heading_text, _HEADING.findall(item.snippet)))
    return len(weights) > 1 and any(
        words.issuperset(weights)
        and words.issubset(said)
        and denial(heading) == denied
        and answer_type(heading) in (None, wanted)
        for heading in own
        for words in [frozenset(stems(heading))]
    )


_HEADING: Final = re.compile(r"^#{1,6}[ \t]+(\S[^\n]{0,300})", re.MULTILINE)


def _aside(item: EvidenceItem, query: str) -> float:
    """Return the share of the words of an item's own heading that neither the query nor the title has; 0 without a heading."""
    own = frozenset(stems(item.heading.rpartition(" › ")[2])).difference(stems(item.title))
    return len(own.difference(stems(query))) / len(own) if own else 0.0


def _nearness(own: Sequence[_RankedPassage], others: Sequence[_RankedPassage], spread: float | None) -> float | None:
    """Return how much nearer the page is than any other, in standard deviations; `None` where meaning took no part."""
    if not spread or all(row.fused is None for row in own):
        return None
    mine = max((row.similarity for row in own if row.similarity is not None), default=None)
    theirs = max((row.similarity for row in others if row.similarity is not None), default=None)
    if mine is None or theirs is None:
        return 0.0
    return max(-_MOST_NEARNESS, min(_MOST_NEARNESS, (mine - theirs) / spread))


def names_in(text: str, ignored: frozenset[str] = frozenset()) -> tuple[str, ...]:
    """Return the abbreviations and names of a text that have no synonyms, each once."""
    first, *said = re.findall(r"[^\W\d_]{2,}", text) or [""]
    # The first word has a capital anyway. Where longer English words have none, capitals are no way of writing.
    long = (word for word in (first, *said) if len(word) >= _LONG_WORD and word.isascii())
    lower = any(word[0].islower() and not _SMALL_IN_TITLES.fullmatch(word) for word in long)
    if sum(word[0].isupper() for word in said) > _CAPITALS * len(said) and len(said) > 1 and not lower:
        return ()
    text = _EVERYDAY.sub(" ", text)
    names = dict.fromkeys((*_NAME.findall(_CALENDAR.sub(" ", text)), *_NAME_RU.findall(_PERSON_RU.sub(" ", text))))
    return tuple(name for name in names if (own := stems(name)) and not ignored.issuperset(own))


def _as_said(words: Iterable[str], query: str) -> tuple[str, ...]:
    """Return the words of a query that have given stems, as the user wrote them."""
    wanted = set(words)
    said = re.findall(r"[^\W_]+", query)
    return tuple(dict.fromkeys(word for word in said if not wanted.isdisjoint(stems(word))))
