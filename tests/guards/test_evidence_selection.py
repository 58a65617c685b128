"""Which evidence a draft gets: in turns, each passage once, good enough, within the budget."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.enums import Source
from contracts.evidence import EvidenceItem, Fate, PassageFate, PassageTrace, QueryTrace, reads_as_answer
from contracts.ports import SearchReply
from guards.evidence_selection import (
    fold_duplicates,
    raise_by_reading,
    reading_confidence,
    scores_by_query,
    select_evidence,
)


def item(ref: str, confidence: float = 0.9, snippet: str | None = None, source: Source = Source.DOC) -> EvidenceItem:
    return EvidenceItem(source=source, ref=ref, snippet=snippet or f"text of {ref}", confidence=confidence)


def refs(items: list[EvidenceItem]) -> list[str]:
    return [one.ref for one in items]


def selected(
    *ranked: list[EvidenceItem], limit: int = 10, budget: int = 10_000, dropped: tuple[Source, ...] = ()
) -> list[str]:
    return refs(list(select_evidence(ranked, threshold=0.5, limit=limit, budget=budget, dropped=dropped).evidence))


def cut(items: list[EvidenceItem], budget: int) -> list[EvidenceItem]:
    return list(select_evidence([items], threshold=0.5, limit=10, budget=budget).evidence)


def test_the_lists_take_turns() -> None:
    """First the best of each question, then the second of each; a short list gives way."""
    one, two = [item("a1"), item("a2"), item("a3")], [item("b1")]
    assert selected(one, two) == ["a1", "b1", "a2", "a3"]
    assert selected(one, two, limit=2) == ["a1", "b1"]
    assert selected([], one) == ["a1", "a2", "a3"]
    assert selected() == []


def test_the_rows_of_one_lookup_stay_together() -> None:
    """They have their turn together and count as one item: half a list would look like a whole one."""
    rows = [item(f"db:list#{n}", source=Source.DB).model_copy(update={"found": "3"}) for n in (1, 2, 3)]
    pages = [item("a1"), item("a2"), item("a3")]
    listed = ["db:list#1", "db:list#2", "db:list#3"]
    assert selected(pages, rows) == ["a1", *listed, "a2", "a3"]
    assert selected(pages, rows, limit=2) == ["a1", *listed]
    assert selected(pages, rows, limit=1) == ["a1"]
    assert selected(rows, [item("db:other#1", source=Source.DB)], limit=1) == listed


def test_the_same_passage_is_kept_once_with_its_best_score() -> None:
    """At its first place, and as good as its best hit."""
    folded = fold_duplicates([item("a", 0.6), item("b"), item("a", 0.8), item("a", 0.7)])
    assert [(one.ref, one.confidence) for one in folded] == [("a", 0.8), ("b", 0.9)]


def test_the_same_text_is_the_same_passage() -> None:
    """One article in two folders is one piece of evidence, whatever its white space."""
    folded = fold_duplicates([item("a", 0.6, "One  text.\n"), item("b", 0.9, "One text."), item("c", 0.7, "Other.")])
    assert [(one.snippet.split()[0], one.confidence) for one in folded] == [("One", 0.9), ("Other.", 0.7)]
    assert len(folded) == 2


def test_a_chain_of_doubles_is_one_passage() -> None:
    """Where a reference and a text each join two items, all of them are one."""
    folded = fold_duplicates([item("a", 0.5, "One."), item("b", 0.6, "One."), item("b", 0.9, "One, longer.")])
    assert len(folded) == 1


def test_weak_items_and_dropped_sources_are_left_out() -> None:
    """The threshold itself is good enough; a dropped kind is out however good."""
    mixed = [item("a", 0.5), item("b", 0.49), item("c", 1.0, source=Source.DB)]
    assert selected(mixed) == ["a", "c"]
    assert selected(mixed, dropped=(Source.DB,)) == ["a"]


def test_what_fits_is_not_cut() -> None:
    """Within the budget nothing is changed, up to the last character."""
    items = [item("a", snippet="x" * 60), item("b", snippet="y" * 40)]
    assert cut(items, 100) == items


def test_better_ranks_get_more_room() -> None:
    """Of three snippets of one length over the budget, the first keeps most; cuts are at line ends."""
    texts = {ref: "\n".join(f"line {ref}{n:03}" for n in range(100)) for ref in "abc"}
    kept = cut([item(ref, snippet=text) for ref, text in texts.items()], 900)
    sizes = [len(one.snippet) for one in kept]
    assert sizes == sorted(sizes, reverse=True)
    assert sum(sizes) <= 900
    assert all(texts[one.ref].startswith(one.snippet + "\n") for one in kept)


def test_what_one_leaves_over_the_next_may_use() -> None:
    """A short first passage makes room for the second."""
    lines, others = ("\n".join(letter * 9 for _ in range(30)) for letter in "xy")
    kept = cut([item("a", snippet="short"), item("b", snippet=lines), item("c", snippet=others)], 300)
    assert len(kept[1].snippet) > 300 * 2 / 6


def test_one_long_line_is_cut_at_a_sentence_or_a_word() -> None:
    """Evidence without line ends is shortened, not thrown away: the best passage would be lost."""
    (kept,) = cut([item("a", snippet="The kettle boils. " * 100)], 500)
    assert 0 < len(kept.snippet) <= 500
    assert kept.snippet.endswith("boils.")
    (kept,) = cut([item("a", snippet="word " * 400)], 500)
    assert kept.snippet.endswith("word")


def test_of_copies_the_earlier_one_stands() -> None:
    """A copy that a later search is surer of lends its confidence, and the one that stood goes on to stand."""
    earlier = [item("a", 0.6, "One.")]
    found = select_evidence([[item("b", 0.9, "One. "), item("c", 0.7)]], earlier, threshold=0.5, limit=5, budget=300)
    assert [(one.ref, one.confidence) for one in found.evidence] == [("a", 0.9), ("c", 0.7)]
    assert found.fates[0]["b"] == PassageFate(Fate.COPY, copy_of="a")
    assert found.earlier == {"a": PassageFate(Fate.KEPT)}


def test_two_lists_that_fold_the_other_way_round_have_one_original() -> None:
    """Where one query took `a` for a copy of `b` and another `b` for one of `a`, the traces agree in the end."""
    a, b = item("a", 0.9, "One."), item("b", 0.8, "One. ")
    traces = [
        QueryTrace(query="q", source=Source.DOC).having(
            [kept], 0.5, [PassageTrace.of(kept), PassageTrace.of(copy, PassageFate(Fate.COPY, copy_of=kept.ref))]
        )
        for kept, copy in ((a, b), (b, a))
    ]
    found = select_evidence([[a], [b]], threshold=0.5, limit=5, budget=300)
    told = [trace.settled(fates) for trace, fates in zip(traces, found.fates, strict=True)]
    assert [[(row.ref, row.fate, row.copy_of) for row in trace.passages] for trace in told] == [
        [("a", Fate.KEPT, ""), ("b", Fate.COPY, "a")],
        [("b", Fate.COPY, "a"), ("a", Fate.REPEATED, "")],
    ]


def test_what_became_of_each_item_is_told() -> None:
    """Kept, shortened, without room, too weak, a copy, found twice, one too many, of a source that was given up."""
    long = "\n".join("x" * 9 for _ in range(30))
    one = [item("a", snippet=long), item("b", snippet="unbreakable" * 40), item("c"), item("d", 0.4)]
    two = [item("a", 0.8, long), item("e", 0.7, "text of  c"), item("f", source=Source.DB)]
    found = select_evidence([one, two], threshold=0.5, limit=2, budget=300, dropped=[Source.DB])
    assert found.fates[0] == {
        "a": PassageFate(Fate.SHORTENED, chars=len(found.evidence[0].snippet)),
        "b": PassageFate(Fate.NO_ROOM),
        "c": PassageFate(Fate.OVER_LIMIT),
        "d": PassageFate(Fate.BELOW_THRESHOLD),
    }
    assert found.fates[1] == {
        "a": PassageFate(Fate.REPEATED),
        "e": PassageFate(Fate.COPY, copy_of="c"),
        "f": PassageFate(Fate.GIVEN_UP),
    }
    assert 0 < len(found.evidence[0].snippet) < len(long)


def test_a_source_that_is_given_up_takes_no_copy_along() -> None:
    """The same text of a source that stays is kept, though the other one was surer (regression)."""
    found = [item("a", 0.9, "One."), item("b", 0.8, "One.", source=Source.POLICY)]
    assert selected(found, dropped=(Source.DOC,)) == ["b"]


def test_what_was_shortened_once_stays_so_and_can_be_given_up() -> None:
    """A trace keeps the size that a passage was cut to as long as it is kept, and tells when it is no longer."""
    passage = item("a")
    trace = QueryTrace(query="q", source=Source.DOC).having([passage], 0.5)
    cut = trace.settled({"a": PassageFate(Fate.SHORTENED, chars=3)})
    assert cut.settled({"a": PassageFate(Fate.KEPT)}) == cut
    gone = cut.settled({"a": PassageFate(Fate.GIVEN_UP)})
    assert gone.passages[0].model_dump(mode="json") == {
        "ref": "a",
        "document": "a",
        "confidence": 0.9,
        "score": 0.0,
        "fate": "given_up",
    }
    assert gone.settled({"a": PassageFate(Fate.KEPT)}) == gone


passages = st.lists(
    st.builds(
        item,
        ref=st.sampled_from("abcdef"),
        confidence=st.floats(0, 1),
        snippet=st.text(alphabet="xy .\n", min_size=1, max_size=80).filter(str.strip),
        source=st.sampled_from(Source),
    ),
    max_size=6,
)


@given(ranked=st.lists(passages, max_size=4), limit=st.integers(0, 10), budget=st.integers(1, 300))
def test_a_selection_keeps_its_promises(ranked: list[list[EvidenceItem]], limit: int, budget: int) -> None:
    """At most `limit` items, at most `budget` characters, no passage twice, none that is weak or was not found."""
    chosen = list(select_evidence(ranked, threshold=0.5, limit=limit, budget=budget).evidence)
    assert len(chosen) <= limit
    assert sum(len(one.snippet) for one in chosen) <= budget
    assert len({one.ref for one in chosen}) == len(chosen)
    assert len({" ".join(one.snippet.split()) for one in fold_duplicates(chosen)}) == len(fold_duplicates(chosen))
    assert all(one.confidence >= 0.5 and one.snippet.strip() for one in chosen)
    there = [one for found in ranked for one in found]
    assert all(any(one.ref == found.ref and found.snippet.startswith(one.snippet) for found in there) for one in chosen)


@given(ranked=st.lists(passages, max_size=4), limit=st.integers(0, 10), budget=st.integers(1, 300))
def test_the_fates_tell_exactly_what_is_kept(ranked: list[list[EvidenceItem]], limit: int, budget: int) -> None:
    """Every item of every list has a fate, the evidence is what is kept or shortened, and a copy's original is there."""
    ranked = [list({one.ref: one for one in found}.values()) for found in ranked]
    chosen = select_evidence(ranked, threshold=0.5, limit=limit, budget=budget, dropped=[Source.NEO4J])
    assert [set(fates) for fates in chosen.fates] == [{one.ref for one in found} for found in ranked]
    every = [(ref, fate) for fates in chosen.fates for ref, fate in fates.items()]
    kept = [(ref, fate.chars) for ref, fate in every if fate.fate in (Fate.KEPT, Fate.SHORTENED)]
    assert sorted(ref for ref, _ in kept) == sorted(one.ref for one in chosen.evidence)
    assert {ref: chars for ref, chars in kept if chars} == {
        one.ref: len(one.snippet) for one in chosen.evidence if (one.ref, len(one.snippet)) in kept
    }
    representatives = {ref for ref, fate in every if fate.fate not in (Fate.COPY, Fate.REPEATED)}
    assert {fate.copy_of for _, fate in every if fate.fate is Fate.COPY} <= representatives


@given(found=passages)
def test_folding_twice_is_folding_once(found: list[EvidenceItem]) -> None:
    """What is folded has nothing left to fold."""
    once = fold_duplicates(found)
    assert fold_duplicates(once) == once


@pytest.mark.parametrize("budget", [1, 10, 100])
def test_nothing_is_empty(budget: int) -> None:
    """An item of which nothing is left is left out."""
    kept = cut([item("a", snippet="unbreakable" * 40), item("b", snippet="x\n" * 40)], budget)
    assert all(one.snippet.strip() for one in kept)


def test_each_query_has_the_best_score_that_a_reranker_gave_a_passage_for_it() -> None:
    """Of all attempts; a refined query counts for the one that it is most like, one without its words for none, and without a reranker there is nothing.

    Scores on a scale of their own do not count beside those whose scale is known.
    """

    def read(query: str, **scores: float | None) -> QueryTrace:
        rows = (PassageTrace(ref=ref, rerank_score_raw=score) for ref, score in scores.items())
        return QueryTrace(query=query, source=Source.DOC, passages=tuple(rows))

    traces = [read("boil water", a=1.0, b=-2.0), read("boil water kettle", a=0.5, c=3.0), read("open the lid", a=-4.0)]
    assert scores_by_query(traces, ["boil water", "open the lid"]) == ({"a": 1.0, "b": -2.0, "c": 3.0}, {"a": -4.0})
    assert scores_by_query([read("boil water", a=None)], ["boil water"]) == ()
    assert scores_by_query(traces, []) == ()
    assert scores_by_query([*traces, read("price list", a=9.0)], ["boil water"])[0]["a"] == 1.0
    synonym = read("two-step verification", a=6.0)
    assert scores_by_query([synonym], ["What is 2FA?"], ["two-step verification"]) == ({"a": 6.0},)
    # What two queries are searched by is read for both, and a refined query may be of the documents' words.
    both = scores_by_query([synonym], ["What is 2FA?", "What is MFA?"], ["two-step verification"] * 2)
    assert both == ({"a": 6.0}, {"a": 6.0})
    assert scores_by_query([read("boil water", a=1.0)], ["boil water", "boil water"]) == ({"a": 1.0}, {"a": 1.0})
    refined = read("two-step verification of account", a=6.0)
    asked = ["What is 2FA?", "delete account"]
    assert scores_by_query([refined], asked, ["two-step verification", "delete account"]) == ({"a": 6.0}, {})
    known = read("boil water", a=-3.0).model_copy(update={"odds": True})
    assert scores_by_query([*traces, known], ["boil water", "open the lid"]) == ({"a": -3.0}, {})


def build_reply(
    items: list[EvidenceItem], scores: dict[str, float], query: str = "q", *, odds: bool = True, told: bool = False
) -> SearchReply:
    """Return what a source found by a query, and what a reranker that has read it says; a document for each item."""
    found = tuple(one.model_copy(update={"document": one.ref}) for one in items)
    rows = tuple(PassageTrace.of(one, rerank_score_raw=scores.get(one.ref)) for one in found)
    trace = QueryTrace(query=query, source=items[0].source, odds=odds, told=told)
    return SearchReply(found, trace.having(found, 0.5, rows))


def sure(replies: list[SearchReply]) -> dict[str, float]:
    return {one.ref: one.confidence for reply in raise_by_reading(replies, 0.5) for one in reply.items}


def test_what_reads_best_is_as_sure_as_its_lead_over_all_that_its_query_found() -> None:
    """Whatever its source: a page of policy is not ahead where another source has a better one."""
    documents = build_reply([item("a", 0.2), item("b", 0.3)], {"a": 2.0, "b": -6.0})
    policy = build_reply([item("p", 0.1, source=Source.POLICY)], {"p": -4.0})
    assert sure([documents, policy]) == {"a": reading_confidence(2.0, 6.0), "b": 0.3, "p": 0.1}
    assert sure([policy]) == {"p": 0.1}
    (raised, _) = raise_by_reading([documents, policy], 0.5)
    confidence = reading_confidence(2.0, 6.0)
    assert [row.confidence for row in raised.trace.passages] == [one.confidence for one in raised.items]
    assert (raised.trace.confidence.top_score, raised.trace.confidence.n_above_threshold) == (confidence, 1)
    assert [article["confidence"] for article in raised.trace.articles] == [confidence, 0.3]
    # What was read and is over the limit is a rival, too.
    assert sure([replace(documents, items=documents.items[:1])])["a"] == confidence


@pytest.mark.parametrize(
    "reply",
    [
        build_reply([item("a", 0.2)], {"a": 2.0}),
        build_reply([item("a", 0.2), item("b", 0.3)], {"a": 2.0, "b": -6.0}, odds=False),
        build_reply([item("a", 0.2), item("b", 0.3)], {"a": 2.0, "b": -6.0}, told=True),
        build_reply([item("a", 0.2, "same"), item("b", 0.3, "same")], {"a": 2.0, "b": 2.0}),
        build_reply([item("a", 0.9), item("b", 0.3)], {"a": -9.0, "b": -9.5}),
    ],
    ids=["nothing else", "a scale of its own", "what was told", "a copy", "it is surer already"],
)
def test_confidence_stays_where_a_reading_says_nothing(reply: SearchReply) -> None:
    """It is ahead of nothing, or of nothing else; and it is never lowered."""
    assert raise_by_reading([reply], 0.5) == [reply]


@pytest.mark.parametrize(
    ("logit", "ahead", "confidence"), [(-2.0, 3.0, 0.60), (4.0, 6.0, 0.86), (9.0, 20.0, 0.86), (-11.0, 0.0, 0.23)]
)
def test_the_confidence_of_a_reading_is_the_logistic_of_the_fitted_sum(
    logit: float, ahead: float, confidence: float
) -> None:
    """-0.39 + 0.32 times the lead up to 6 + 0.08 times the logit between -10 and 4."""
    assert reading_confidence(logit, ahead) == pytest.approx(confidence, abs=0.005)


def test_below_a_floor_all_logits_say_the_same() -> None:
    """In a small folder, everything but the faintly related page reads at -11: that page is no answer."""
    assert not reads_as_answer(-6.9, [-11.2])
    assert not reads_as_answer(-4.5, [-11.2, -11.3])
    assert reads_as_answer(-3.5, [-11.2, -6.5])
    assert not reads_as_answer(-3.5, [-11.2, -6.0])
    assert reads_as_answer(-2.0, [5.0])
    assert not reads_as_answer(-3.5, [])


def test_a_reading_of_what_was_told_says_nothing_of_the_question() -> None:
    """A page about the noise does not answer where the serial number is, however well it reads with both."""
    own = build_reply([item("a"), item("b")], {"a": -8.0, "b": -9.0}, "Where is the number?").trace
    told = build_reply([item("b")], {"b": 1.5}, "It makes a noise. Where is the number?", told=True).trace
    assert scores_by_query([own, told], ["Where is the number?"]) == ({"a": -8.0, "b": -9.0},)
