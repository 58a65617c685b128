"""The evidence that a draft may see: merged over queries, folded, confident enough, and within the budget."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, zip_longest
from typing import Final

from contracts.enums import Source
from contracts.evidence import Article, ConfidenceFigures, EvidenceItem, Fate, PassageFate, QueryTrace, ahead_by
from contracts.ports import SearchReply
from language.memo import remember
from language.message import likest
from language.truncation import cut_in_proportion
from language.words import stems


@dataclass(frozen=True, slots=True)
class Selection:
    """The evidence that a draft may see, best rank first, and the fates of all items, by their references.

    Attributes:
        fates: Of the items of each ranked list.
        earlier: Of the earlier evidence.
    """

    evidence: tuple[EvidenceItem, ...]
    fates: tuple[Mapping[str, PassageFate], ...]
    earlier: Mapping[str, PassageFate]


def select_evidence(
    ranked: Sequence[Sequence[EvidenceItem]],
    earlier: Sequence[EvidenceItem] = (),
    *,
    threshold: float,
    limit: int,
    budget: int,
    dropped: Iterable[Source] = (),
) -> Selection:
    """Merge ranked lists, and the earlier evidence after them, into the evidence of a turn.

    The lists take turns (measured on messages of several questions: recall@10 .844, against .555 for one joined query).
    Items of dropped sources and items under the threshold are left out, and the same passage is kept once with its best
    score. The rest is cut to `limit` items and `budget` characters, best rank first. The rows of one lookup stay
    together and count as one item, because half a list would look like a whole one. Of several copies, the one in the
    earlier evidence is kept, so that a kept passage never becomes a copy of one of its copies.
    """
    unwanted = frozenset(dropped)
    lists = (*ranked, earlier)
    places = _take_turns(lists)
    items = [lists[of][at] for of, at in places]
    before = frozenset(n for n, (of, _) in enumerate(places) if of == len(ranked))
    fates = [PassageFate(Fate.GIVEN_UP)] * len(items)
    sure: list[int] = []
    for group in _groups(items, [n for n, item in enumerate(items) if item.source not in unwanted]):
        best = _choose_representative(group, items, before)
        for n in group:
            same = items[n].ref == items[best].ref
            fates[n] = PassageFate(Fate.REPEATED) if same else PassageFate(Fate.COPY, copy_of=items[best].ref)
        sureness = max(items[n].confidence for n in group)
        items[best] = items[best].model_copy(update={"confidence": sureness})
        if items[best].confidence >= threshold:
            sure.append(best)
        else:
            fates[best] = PassageFate(Fate.BELOW_THRESHOLD)
    first = set(list(dict.fromkeys(_place(items[n]) for n in sure))[:limit])
    within = [n for n in sure if _place(items[n]) in first]
    for n in sure:
        fates[n] = PassageFate(Fate.OVER_LIMIT)
    evidence: list[EvidenceItem] = []
    texts = cut_in_proportion([items[n].snippet for n in within], budget)
    for n, text in zip(within, texts, strict=True):
        fates[n] = _fate_of_cut(items[n].snippet, text)
        evidence += [_cut(items[n], text)] if text else []
    by_ref: list[dict[str, PassageFate]] = [{} for _ in lists]
    for (of, _), item, fate in zip(places, items, fates, strict=True):
        by_ref[of].setdefault(item.ref, fate)
    return Selection(tuple(evidence), tuple(by_ref[:-1]), by_ref[-1])


def raise_by_reading(replies: Sequence[SearchReply], threshold: float) -> list[SearchReply]:
    """Return replies in which the passage that reads best for a query is at least as sure as its reading says.

    A page that answers may share no word with the question. All that the sources read for one query is compared; copies
    of the passage are no rivals. Only readings on the known scale count, and none of a query with what was told.

    Args:
        replies: Of all sources to all queries.
        threshold: The confidence at which an item counts as relevant, for the figures of the traces.
    """
    sure: dict[str, tuple[str, float]] = {}
    for query in dict.fromkeys(reply.trace.query for reply in replies if reply.trace.odds and not reply.trace.told):
        own = [reply for reply in replies if reply.trace.query == query and reply.trace.odds]
        texts = {item.ref: same_words(item.snippet) for reply in own for item in reply.items}
        rows = [row for reply in own for row in reply.trace.passages if row.rerank_score_raw is not None]
        read = [(row.rerank_score_raw or 0.0, row) for row in rows]
        best = max((one for one in read if one[1].ref in texts), key=lambda one: one[0], default=None)
        if best is None:
            continue
        logit, passage = best
        others = (
            score
            for score, row in read
            if row.document != passage.document and texts.get(row.ref) != texts[passage.ref]
        )
        if (ahead := ahead_by(logit, others)) is not None:
            sure[query] = (passage.ref, reading_confidence(logit, ahead))
    return [
        _raise_confidence(reply, *sure[reply.trace.query], threshold) if reply.trace.query in sure else reply
        for reply in replies
    ]


def reading_confidence(logit: float, ahead: float) -> float:
    """Return the probability that the passage which reads best is of a page that answers.

    Fitted on 521 searches for questions to ten English manuals (docs/decisions.md, 89).

    Args:
        logit: Of the passage; beyond -10 and 4 it says nothing more.
        ahead: Of the best passage of another document, in logits; beyond 6 it says nothing more.
    """
    base, of_ahead, of_logit = _READING
    return 1 / (1 + math.exp(-(base + of_ahead * min(6.0, ahead) + of_logit * min(4.0, max(-10.0, logit)))))


_READING: Final = (-0.39, 0.32, 0.08)


def _raise_confidence(reply: SearchReply, ref: str, confidence: float, threshold: float) -> SearchReply:
    """Return a reply with an item that is at least so sure, in its trace, too; unchanged if it has no such item."""
    raised = next((item for item in reply.items if item.ref == ref and item.confidence < confidence), None)
    if raised is None:
        return reply
    items = tuple(
        item.model_copy(update={"confidence": confidence}) if item is raised else item for item in reply.items
    )
    rows = tuple(
        row.model_copy(update={"confidence": confidence}) if row.ref == ref else row for row in reply.trace.passages
    )
    # A document stands in the trace by its best item.
    leads = next(item for item in reply.items if item.document_key == raised.document_key) is raised
    articles: list[Article] = [
        {**article, "confidence": confidence} if leads and article["document"] == raised.document_key else article
        for article in reply.trace.articles
    ]
    figures = ConfidenceFigures.of(sorted((item.confidence for item in items), reverse=True), threshold)
    trace = reply.trace.model_copy(update={"passages": rows, "articles": articles, "confidence": figures})
    return replace(reply, items=items, trace=trace)


def scores_by_query(
    traces: Sequence[QueryTrace], queries: list[str], rephrased: Sequence[str] = ()
) -> tuple[Mapping[str, float], ...]:
    """Return for each query the best score that a reranker gave each passage for it, by ref; nothing if it read none.

    A query is searched as it is, and in the documents' words (`rephrased`). A trace whose query was refined belongs to
    the query that it is most like, and to none if it shares no word; one of a query with what was told belongs to none.
    If the scale of some scores is known, only these count: a turn may go on with another reranker.
    """
    found: list[dict[str, float]] = [{} for _ in queries]
    own = [trace for trace in traces if not trace.told]
    counted = [trace for trace in own if trace.odds] or own
    for trace in counted if queries else ():
        numbers = [n for n, asked in enumerate(zip(queries, rephrased or queries, strict=True)) if trace.query in asked]
        if not numbers:
            texts = [*queries, *rephrased]
            most_like = likest(trace.query, texts)
            if not set(stems(trace.query)) & set(stems(texts[most_like])):
                continue
            numbers = [most_like % len(queries)]
        for scores in (found[n] for n in numbers):
            for row in trace.passages:
                if row.rerank_score_raw is not None:
                    scores[row.ref] = max(row.rerank_score_raw, scores.get(row.ref, row.rerank_score_raw))
    return tuple(found) if any(found) else ()


def fold_duplicates(items: Iterable[EvidenceItem]) -> list[EvidenceItem]:
    """Keep each passage once, at its first place and with its best confidence; equal texts are one passage."""
    every = list(items)
    groups = _groups(every, range(len(every)))
    return [every[max(group, key=lambda n: every[n].confidence)] for group in groups]


@remember
def same_words(text: str) -> str:
    """Return what copies of a text have in common: the text without differences in white space."""
    return " ".join(text.split())


def _groups(items: Sequence[EvidenceItem], of: Iterable[int]) -> list[list[int]]:
    """Return places of items that are one passage together, in the order in which each passage comes first.

    Items are one where they have one reference or the same words; so are those that a third one joins. Rows of a lookup
    are one by their reference alone: two of them may say the same, and the list is to be whole.
    """
    group_of: dict[str, list[int]] = {}
    groups: list[list[int]] = []
    for n in of:
        of_text = () if items[n].lookup else (f"text {same_words(items[n].snippet)}",)
        keys = (f"ref {items[n].ref}", *of_text)
        met = [group_of[key] for key in keys if key in group_of]
        group = min(met, default=None)
        if group is None:
            groups.append(group := [])
        for other in met:
            if other is not group:
                group += other
                groups.remove(other)
                group_of.update({key: group for key, its in group_of.items() if its is other})
        group.append(n)
        group.sort()
        group_of.update(dict.fromkeys(keys, group))
    return groups


def _choose_representative(group: Sequence[int], items: Sequence[EvidenceItem], before: frozenset[int]) -> int:
    """Return which item of a passage stands for the others: the surest of the reference that stood before, or of all."""

    def surest(of: Sequence[int]) -> int:
        return max(of, key=lambda n: items[n].confidence)

    stood = [n for n in group if n in before]
    ref = items[surest(stood or group)].ref
    return surest([n for n in group if items[n].ref == ref])


def _fate_of_cut(before: str, after: str) -> PassageFate:
    if not after:
        return PassageFate(Fate.NO_ROOM)
    return PassageFate(Fate.KEPT) if after == before else PassageFate(Fate.SHORTENED, chars=len(after))


def _place(item: EvidenceItem) -> str:
    """Return what an item counts as: the lookup that it is a row of, or itself."""
    return item.lookup or item.ref


def _cut(item: EvidenceItem, snippet: str) -> EvidenceItem:
    return item if snippet == item.snippet else item.model_copy(update={"snippet": snippet})


def _take_turns(ranked: Sequence[Sequence[EvidenceItem]]) -> list[tuple[int, int]]:
    """Return the places of all items, as list and rank: first the best of each list, then the second of each.

    The rows of one lookup have their turn together.
    """
    every = [
        [[(of, at) for at, _ in rows] for _, rows in groupby(enumerate(found), lambda row: _place(row[1]))]
        for of, found in enumerate(ranked)
    ]
    return [place for round_ in zip_longest(*every) for rows in round_ if rows for place in rows]
