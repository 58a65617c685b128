"""A floor under the quality of search on the handbook: a change that lowers it should not pass unseen."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from contracts.enums import Language
from evals.retrieval import corpora
from evals.retrieval.measures import ndcg, recall
from evals.retrieval.questions import RetrievalQuestion, misspelt
from evals.retrieval.runs import Asker, english_stems, exact_words, field_weights, open_corpus

FLOORS = {Language.EN: (0.35, 0.63), Language.RU: (0.37, 0.68)}
"""Of nDCG@10 and recall@20: some .04 below what was measured over 73 pages. The 16 about ways in cost the questions asked
before some .03 of nDCG@10 and up to .06 of recall@20: without them in the rankings these come out as before. The page on
several servers costs .015 of the Russian recall@20: four pages fell from place 18 to 20 to place 21 to 23."""


@pytest.fixture(scope="module")
def asker(handbook_index: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asker]:
    # What was read in before is not read again.
    folder = Path(shutil.copytree(handbook_index, tmp_path_factory.mktemp("handbook") / "kb"))
    with open_corpus(corpora.handbook(folder)) as opened_index:
        yield opened_index


def quality(asker: Asker, asked: list[RetrievalQuestion]) -> tuple[float, float]:
    """Return the mean nDCG@10 and recall@20."""
    ranked = [(asker.pages(one), one.grades) for one in asked]
    count = len(asked)
    return sum(ndcg(*one) for one in ranked) / count, sum(recall(*one, 20) for one in ranked) / count


@pytest.mark.parametrize("language", list(Language))
def test_pages_are_found_for_questions_in_other_words(asker: Asker, language: Language) -> None:
    """In each language, nDCG@10 and recall@20 are at most some .04 below what was measured (docs/evaluation.md)."""
    gain, among = quality(asker, asker.corpus.asked(language))
    least_gain, least_among = FLOORS[language]
    assert gain >= least_gain
    assert among >= least_among


def test_switching_a_part_off_is_felt_and_undone(asker: Asker) -> None:
    """Without matching misspelt words less is found, with huge weights of titles too, and afterwards all is as before."""
    asked = asker.corpus.asked(Language.RU)[::2]
    slips = [misspelt(one, number) for number, one in enumerate(asked)]
    before = quality(asker, asked)[0], quality(asker, slips)[0]
    with exact_words():
        assert quality(asker, slips)[0] < before[1] - 0.02
    with field_weights(10.0, 10.0):
        assert quality(asker, asked)[0] < before[0]
    assert (quality(asker, asked)[0], quality(asker, slips)[0]) == before


def test_russian_stems_are_worth_having(tmp_path: Path) -> None:
    """With English stems only, words in other forms are missed, and stems are Russian again afterwards."""
    from language import words

    with english_stems():
        assert words.stem("профилями") == "профилями"
    assert words.stem("профилями") == words.stem("профиль")
