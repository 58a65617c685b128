from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.index.embedded.index import Filter, open_index
from adapters.index.records import IndexEntry
from adapters.index.remote import sparse
from adapters.index.remote.state import pack_statistics, unpack_statistics
from adapters.index.store import Store
from language.words import stems

BODY_MODER, TITLE_UDAL = 3335894484, 3454643880
QUESTIONS = ("How do I add my own documents?", "Как удалить диалог?", "moderation modes", "DT-005", "a the of")


@pytest.fixture(scope="module")
def entries(handbook: Path) -> list[IndexEntry]:
    store = Store(handbook)
    try:
        return list(store.entries(coming=False))
    finally:
        store.close()


@pytest.fixture(scope="module")
def statistics(entries: list[IndexEntry]) -> sparse.Statistics:
    return sparse.count_words(sparse.FieldStems.of(entry.title, entry.headings, entry.body) for entry in entries)


def test_a_product_is_the_score_of_the_embedded_index(
    handbook: Path, entries: list[IndexEntry], statistics: sparse.Statistics
) -> None:
    """Query times passage is what tantivy computes, but for the precision of its floats."""
    snapshot = open_index(handbook)[0]()
    words = {entry.id: sparse.FieldStems.of(entry.title, entry.headings, entry.body) for entry in entries}
    compared = 0
    for question in QUESTIONS:
        asked = list(dict.fromkeys(stems(question)))
        query = {number: weight for word in asked for number, weight in statistics.query(word).items()}
        for chunk, score in snapshot.search([((word,), 1.0) for word in asked], Filter(), 50):
            vector = sparse.passage(words[chunk], statistics.averages)
            assert sparse.product(query, vector) == pytest.approx(score, rel=1e-6)
            compared += 1
    assert compared > 100


def test_what_is_known_of_a_word_is_what_the_embedded_index_knows(
    handbook: Path, statistics: sparse.Statistics
) -> None:
    """Frequencies, weights and what a slip may mean are those of the index."""
    snapshot = open_index(handbook)[0]()
    for word in ("moder", "удал", "nosuchword", "moderatoin"):
        frequency = snapshot.frequency(word)
        assert statistics.frequency(word) == frequency
        assert statistics.idf(frequency) == pytest.approx(snapshot.idf(frequency))
        assert statistics.meant(word) == snapshot.meant(word)


def test_words_have_numbers_of_their_own(statistics: sparse.Statistics) -> None:
    """Of some ten thousand words in three fields, no two share a number of 32 bits; nothing is outside of them."""
    numbers = [sparse.dimension(name, word) for name in sparse.FIELDS for word in statistics.frequencies]
    assert len(numbers) > 9_000
    assert len(set(numbers)) == len(numbers)
    assert 0 <= min(numbers) <= max(numbers) < 2**32


def test_a_number_is_the_same_on_every_machine() -> None:
    """A word's number is written down here: another one would make every filled index useless."""
    assert (sparse.dimension("body", "moder"), sparse.dimension("title", "удал")) == (BODY_MODER, TITLE_UDAL)


@given(st.integers(0, 10**7))
def test_lengths_are_rounded_down_by_an_eighth_at_most(length: int) -> None:
    """A rounded length is exact up to forty, never larger, and never less than seven eighths."""
    rounded = sparse.round_length(length)
    assert rounded <= length
    assert rounded == length if length <= 40 else rounded > length * 7 / 8


def test_statistics_survive_being_written_down(statistics: sparse.Statistics) -> None:
    """What is noted in parts comes back the same; a part that is missing is told."""
    parts = pack_statistics(statistics, 1000)
    assert len(parts) > 3
    assert unpack_statistics(parts) == statistics
    with pytest.raises(ValueError, match="no statistics"):
        unpack_statistics(parts[1:])


@pytest.mark.parametrize(
    ("now", "moved"), [((2.0, 6.0, 98.0), False), ((2.0, 6.0, 99.9), False), ((2.0, 6.2, 98.0), True)]
)
def test_small_changes_of_the_lengths_are_no_reason_to_encode_anew(now: sparse.Averages, moved: bool) -> None:
    """Averages may move by two parts in a hundred before every passage is encoded again."""
    assert sparse.have_drifted((2.0, 6.0, 98.0), now) is moved
