"""The texts that sizes are measured with."""

from __future__ import annotations

from pathlib import Path

import pytest

from adapters.index.embedded import KnowledgeBase, ingest
from contracts.enums import Language, Source
from contracts.ports import SearchRequest
from language.words import detect
from tools.benchmarks.bare import BareIndex, build
from tools.benchmarks.corpus import misspelt, name, queries, write_pages
from tools.benchmarks.retrieval import len_of, passages

SIZE = 120


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A corpus of twenty pages, read in."""
    folder = tmp_path_factory.mktemp("corpus")
    write_pages(folder / "pages", SIZE)
    ingest(folder / "pages", directory=folder / "base")
    return folder / "base"


def test_a_corpus_has_the_size_that_was_wanted_in_both_languages(base: Path) -> None:
    """As many passages as asked for, and what a question finds is mostly in the question's language."""
    assert 0.9 * SIZE <= len_of(base) <= 1.2 * SIZE
    with KnowledgeBase(base) as knowledge:
        for language in Language:
            asked = [SearchRequest(query=text, top_k=20) for text in queries(10, language)]
            found = [item.language for one in asked for item in knowledge.search_now(one, Source.DOC).items]
            assert found.count(language) > 0.7 * len(found) > 50


def test_the_same_corpus_is_written_each_time(tmp_path: Path) -> None:
    """Two runs measure the same texts."""
    for folder in ("one", "other"):
        write_pages(tmp_path / folder, 20)
    one, other = ([path.read_bytes() for path in sorted((tmp_path / name).iterdir())] for name in ("one", "other"))
    assert one == other
    assert len(one) == 2


def test_each_number_has_a_name_of_its_own() -> None:
    """The vocabulary grows with the corpus: names are different, and words as a misspelling may mean them."""
    names = {name(number) for number in range(20_000)}
    assert len(names) == 20_000
    assert all(one.isalpha() for one in names)


def test_questions_are_in_both_languages_and_of_two_to_eight_words() -> None:
    """Questions come in turn in each language; a misspelt one differs in the order of two letters."""
    asked = list(queries(100))
    assert {len(text.split()) for text in asked} == set(range(2, 9))
    assert {detect(text) for text in asked} == set(Language)
    for text in asked:
        assert sorted(misspelt(text)) == sorted(text)
    assert sum(misspelt(text) != text for text in asked) > 90


def test_the_baseline_finds_passages_of_the_same_corpus(base: Path, tmp_path: Path) -> None:
    """Bare tantivy is asked the same questions of the same texts: hardly any has only words that no passage drew."""
    build(tmp_path / "bare", passages(base))
    bare = BareIndex(tmp_path / "bare")
    # Of many: which hundred are drawn changes with every word of the handbook.
    assert sum(bare.search(text) > 0 for text in queries(1000)) >= 970
