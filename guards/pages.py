"""Pages that may help if no answer is sure, each with the sentence that fits the question best.

The sentence is shown verbatim, so it needs no grounding check. It must pass policy, as an answer must.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from contracts.enums import PolicyStatus, Source
from contracts.evidence import EvidenceItem, PageSentence, QueryTrace, reads_as_answer
from contracts.profile import Profile
from guards.evidence_selection import same_words
from guards.policy_check import check_answer
from language.blocks import BlockKind, blocks
from language.markup import without_navigation
from language.patterns import read_wording
from language.privacy.spans import MARK
from language.sentences import sentences
from language.words import detect, stems, tokens

_WORDING: Final = read_wording(__name__)

MOST_PAGES: Final = 5
"""More would be a list of search results again."""
_LEAST_WORDS: Final = 4
_LONGEST: Final = 400
"""Characters; a longer sentence is a table or a list written as one."""
_RELATIVE_LINK: Final = re.compile(r"(?<!!)\[([^\]\n]{0,300})\]\((?![a-z]{1,20}:|//)[^)\s]{0,500}\)", re.IGNORECASE)
_PICTURE: Final = r"!\[[^\]\n]{0,300}\](?:\((?:[^()\n]|\([^()\n]{0,200}\)){0,1000}\)|\[[^\]\n]{0,300}\]|(?!\())(?:\{[^{}\n]{0,200}\})?|<img\b[^<>]{0,1000}>"
_PICTURES_IN_FRONT: Final = re.compile(rf"(?:\s*+(?:{_PICTURE}))++\s*+")
_PICTURE_BEHIND: Final = re.compile(rf"(?:{_PICTURE})\s*+\Z")
_OF_DOCUMENTS: Final = (Source.DOC, Source.POLICY)


def pages_that_may_help(
    questions: Iterable[str],
    evidence: Sequence[EvidenceItem],
    profile: Profile,
    role: str,
    traces: Sequence[QueryTrace] = (),
    *,
    beside: Sequence[EvidenceItem] = (),
) -> list[PageSentence]:
    """Return up to five documents, each with its best sentence; skip those without one.

    They stand in the evidence's order. If a reranker has read passages, those that read best for a question stand first,
    and the sentence is of the document's best passage that has one. A sentence has at least one word of the question that
    is no word of the product's name. A passage that is held for an answer may share none, and neither may what was found
    by meaning, if all of that is in another language: then the first sentence is shown. Links to other files become plain
    text, because they do not work from an answer; pictures go, and their descriptions with them.

    Args:
        questions: The user's words and the search queries.
        evidence: The evidence found; `number` counts its items from 1.
        profile: The profile with the policy that a sentence must pass.
        role: Of the user.
        traces: Of the queries, with what a reranker said of each passage.
        beside: What else was found: if something of it is in the language of the question, not all is in another one.
    """
    questions = tuple(questions)
    wanted = frozenset(stem for text in questions for stem in stems(text)).difference(stems(profile.product))
    said = {n: list(_sentences(item.snippet)) for n, item in enumerate(evidence, 1) if item.source in _OF_DOCUMENTS}
    weights = _weights(wanted, (text for texts in said.values() for text in texts))
    language = detect(" ".join(questions))
    documents = [item for item in (*evidence, *beside) if item.source in _OF_DOCUMENTS]
    foreign = all(detect(item.snippet, language) is not language for item in documents)

    def find_best(numbers: Iterable[int]) -> PageSentence | None:
        """Return the sentence of some passages that fits best and may be shown."""
        candidates = [PageSentence(number, text) for number in numbers for text in said[number]]
        # Sorting is stable: of two that fit alike, the earlier one introduces its page.
        for page in sorted(candidates, key=lambda one: -_score(one.sentence, weights)):
            fits = foreign or evidence[page.number - 1].ref in answers or _score(page.sentence, weights)
            if not fits:
                return None
            if _may_be_shown(page, evidence[page.number - 1], profile, role):
                return page
        return None

    ranks, answers = _rank_readings(traces), _find_answers(traces, evidence)
    of_documents: dict[str, list[int]] = {}
    for number in sorted(said, key=lambda number: ranks.get(evidence[number - 1].ref, math.inf)):
        of_documents.setdefault(evidence[number - 1].document_key, []).append(number)
    pages: list[PageSentence] = []
    for numbers in of_documents.values():
        # What was read stands apart, best first; all else is one text.
        parts = [[number] for number in numbers if evidence[number - 1].ref in ranks]
        parts.append([number for number in numbers if evidence[number - 1].ref not in ranks])
        if page := next(filter(None, map(find_best, parts)), None):
            pages.append(page)
        if len(pages) == MOST_PAGES:
            break
    return pages


def _rank_readings(traces: Sequence[QueryTrace]) -> dict[str, float]:
    """Return the best rank that each passage has by a reranker's reading for a query, from 0, by reference.

    By a query with what was told before the question it stands behind one of the same rank.
    """
    ranks: dict[str, float] = {}
    for told in (False, True):
        for read in _readings_by_query(trace for trace in traces if trace.told is told):
            for rank, row in enumerate(sorted(read, key=lambda row: -row.score), int(told)):
                ranks[row.ref] = min(rank, ranks.get(row.ref, rank))
    return ranks


def _find_answers(traces: Sequence[QueryTrace], evidence: Sequence[EvidenceItem]) -> frozenset[str]:
    """Return the references of the passages that a reranker on the known scale holds for an answer to a query."""
    texts = {item.ref: same_words(item.snippet) for item in evidence}

    def is_rival(other: _Reading, row: _Reading) -> bool:
        copy = other.ref in texts and texts[other.ref] == texts.get(row.ref)
        return other.document != row.document and not copy

    return frozenset(
        row.ref
        for read in _readings_by_query(trace for trace in traces if trace.odds and not trace.told)
        for row in read
        if reads_as_answer(row.score, (other.score for other in read if is_rival(other, row)))
    )


class _Reading(NamedTuple):
    ref: str
    document: str
    score: float


def _readings_by_query(traces: Iterable[QueryTrace]) -> Iterable[list[_Reading]]:
    found: dict[str, dict[str, _Reading]] = {}
    for trace in traces:
        read = found.setdefault(trace.query, {})
        for row in trace.passages:
            if row.rerank_score_raw is not None:
                read[row.ref] = _Reading(row.ref, row.document, row.rerank_score_raw)
    return [list(read.values()) for read in found.values()]


def _may_be_shown(page: PageSentence, item: EvidenceItem, profile: Profile, role: str) -> bool:
    """Whether a sentence stands as its document has it, and passes policy with the names of its page and section before it."""
    if MARK.search(page.sentence):
        return False  # something in it is masked
    said = (page.sentence, item.title, item.heading)
    return all(check_answer(text, profile, role, shown=said).status is PolicyStatus.OK for text in said)


def _sentences(markdown: str) -> Iterator[str]:
    """Yield what can stand alone: whole sentences of paragraphs and of items, none that leads into something else.

    What stands under a line like "Never do this:" says the opposite without it, and is left out.
    """
    before = ""
    for block in blocks(without_navigation(markdown)):
        denied, before = bool(_DENIES.search(before)), block.text
        if denied:
            continue
        if block.kind is BlockKind.PARAGRAPH:
            texts = [block.text]
        elif block.kind in (BlockKind.BULLETS, BlockKind.STEPS):
            texts = [_own_words(part) for part in block.parts]
        else:
            continue
        for text in texts:
            said = map(_without_pictures, sentences(_RELATIVE_LINK.sub(r"\1", text)))
            said = map(_without_half_emphasis, said)
            yield from filter(_stands_alone, said)


def _own_words(item: str) -> str:
    """Return an item's own text: no code, table or list that hangs on it, which would run into one line with it."""
    return _HANGS_ON.split(_without_marker(item), maxsplit=1)[0]


_HANGS_ON: Final = re.compile(r"\n[ \t]*(?:\n|```|~~~|\||>|[-*+][ \t]|\d{1,9}[.)][ \t])")
_DENIES: Final = _WORDING.pattern("denies")


def _without_pictures(sentence: str) -> str:
    """Return a sentence without the pictures around it: what they show is said for those who cannot see them."""
    if front := _PICTURES_IN_FRONT.match(sentence):
        sentence = sentence[front.end() :]
    while behind := _PICTURE_BEHIND.search(sentence, max(0, len(sentence) - _LONGEST)):
        sentence = sentence[: behind.start()].rstrip()
    return sentence


def _without_half_emphasis(sentence: str) -> str:
    """Return a sentence without a `**` at one end whose other half stands in another sentence; in paths it is no mark."""
    return _HALF_MARK.sub("", sentence) if sentence.count("**") == 1 else sentence


_HALF_MARK: Final = re.compile(r"\A\*\*(?=[A-ZА-ЯЁ«“\"])|(?<=[\w.!?»”\")])\*\*\Z")


def _without_marker(item: str) -> str:
    head, _, rest = item.strip().partition(" ")
    return rest if head in ("-", "*", "+") or head.rstrip(".)").isdigit() else item


def _stands_alone(sentence: str) -> bool:
    return (
        len(tokens(sentence)) >= _LEAST_WORDS
        and len(sentence) <= _LONGEST
        and not sentence.rstrip("*_ ").endswith(":")
        # An open span of code would swallow what stands behind the sentence.
        and sentence.count("`") % 2 == 0
        and "```" not in sentence
        # A picture inside stands for a word, such as a button's, and the sentence is no longer itself without it.
        and "![" not in sentence
        and "<img" not in sentence.lower()
    )


def _weights(wanted: frozenset[str], texts: Iterable[str]) -> dict[str, float]:
    """Return how much each word of the question says: the fewer of the sentences have it, the more."""
    found: Counter[str] = Counter()
    count = 0
    for text in texts:
        count += 1
        found.update(wanted.intersection(stems(text)))
    return {stem: math.log(1 + count / (1 + found[stem])) for stem in wanted}


def _score(sentence: str, weights: Mapping[str, float]) -> float:
    said = set(stems(sentence))
    return sum(weights.get(stem, 0.0) for stem in said) / math.sqrt(3 + len(said))
