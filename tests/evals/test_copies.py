"""Copies of pages with one thing changed: how they are made, which pages are read, and what is counted."""

from __future__ import annotations

import asyncio
from pathlib import Path
from random import Random

import pytest

from contracts.enums import Language, Source
from contracts.evidence import EvidenceItem
from evals.copies import judging
from evals.copies.corpora import corpora, pages, translations
from evals.copies.faults import GOOD, CopyMethod, Teller, words
from evals.copies.pieces import pieces

EN, RU = Language.EN, Language.RU


def tell_all(text: str, language: Language = EN, names: tuple[str, ...] = ("Ollama",)) -> dict[CopyMethod, str]:
    """Return the last draft of each kind that a passage is made into."""
    item = EvidenceItem(source=Source.DOC, ref="doc:a.md#0", snippet=text, confidence=0.9, title="Limits")
    teller = Teller(language, names, Random(1))  # noqa: S311 -- no secret
    return {made: draft for piece in pieces(item) for made, draft in teller.tell(piece, item)}


@pytest.mark.parametrize(
    ("made", "language", "text", "draft"),
    [
        (CopyMethod.VERBATIM, EN, "The limit holds for every single table.", "The limit holds for every single table [1]."),
        (CopyMethod.NAME, EN, "The answer comes from the server of Qdrant here.", "The answer comes from the server of Ollama here [1]."),
        (CopyMethod.NEGATION, EN, "The folder cannot be moved to another disk.", "The folder can be moved to another disk [1]."),
        (CopyMethod.NEGATION, RU, "Папку нельзя перенести на другой диск сервера.", "Папку можно перенести на другой диск сервера [1]."),
        (CopyMethod.ANTONYM, EN, "The service encrypts files in the folder.", "The service decrypts files in the folder [1]."),
        (CopyMethod.QUANTIFIER, EN, "The table holds at least ten rows a page.", "The table holds at most ten rows a page [1]."),
        (CopyMethod.SWAPPED, EN, "A job has 4 tries and a limit of 30 seconds.", "A job has 30 tries and a limit of 4 seconds [1]."),
        (CopyMethod.CONDITION, EN, "If the file is locked, the command ends with an error.", "The command ends with an error [1]."),
        (CopyMethod.CONDITION, RU, "Команда завершится с ошибкой, если файл заблокирован.", "Команда завершится с ошибкой [1]."),
    ],
)  # fmt: skip
def test_one_thing_of_a_sentence_is_changed(made: CopyMethod, language: Language, text: str, draft: str) -> None:
    """Each kind changes what it is named after, and nothing else, and cites the passage."""
    assert tell_all(text, language)[made] == draft


def test_steps_and_rows_are_told_right_and_wrong() -> None:
    """Of a list two steps change places; of a table a row is told with its own cell, and with another row's."""
    steps = tell_all("1. Open the page.\n2. Choose a team.\n3. Save the form.\n")
    assert sorted(steps[CopyMethod.STEPS].replace("1. ", "2. ").splitlines()) != sorted(
        steps[CopyMethod.VERBATIM].splitlines()
    )
    assert {line.split(". ", 1)[1] for line in steps[CopyMethod.STEPS].splitlines()} == {
        "Open the page [1].",
        "Choose a team [1].",
        "Save the form [1].",
    }
    rows = tell_all("| plan | price |\n| --- | --- |\n| Basic | ten euros |\n| Large | fifty euros |\n")
    assert {rows[CopyMethod.ROW], rows[CopyMethod.OTHER_ROW]} <= {
        f"{plan}: price — {price} euros [1]." for plan in ("Basic", "Large") for price in ("ten", "fifty")
    }
    assert rows[CopyMethod.ROW] in ("Basic: price — ten euros [1].", "Large: price — fifty euros [1].")
    assert rows[CopyMethod.OTHER_ROW] in ("Basic: price — fifty euros [1].", "Large: price — ten euros [1].")


def test_what_is_code_or_quoted_is_never_changed() -> None:
    """Code and quotations are left as they stand: another value may be right in an example."""
    drafts = tell_all("Set `retries = 4` and «enable» 2 parts of it in this section.")
    assert all("`retries = 4`" in draft and "«enable»" in draft for draft in drafts.values())


def test_the_words_are_pairs_of_two() -> None:
    """No word is exchanged for itself, and there are enough in both languages."""
    known = words()
    for language in Language:
        for pairs in (known.antonyms.of(language), known.quantifiers.of(language), known.negation.of(language)):
            assert len(pairs) >= 25
            assert all(found != put for found, put in pairs)
        assert len(known.inventions.of(language)) >= 20


def test_a_third_of_the_pages_is_judged_only_where_it_is_asked_for(tmp_path: Path) -> None:
    """Without `held_back` no page of the third is judged; with it, both parts are counted in rows of their own."""
    assert list(corpora(tmp_path)) == ["handbook"]
    some = asyncio.run(judging.judge(tmp_path, held_back=False, most=6))
    every = asyncio.run(judging.judge(tmp_path, held_back=True, most=6))
    assert some
    assert not any(one.page.held_back for one in some)
    assert any(one.page.held_back for one in every)
    assert {one.judged.case.id for one in some} <= {one.judged.case.id for one in every}
    table = judging.good_table(every, held_back=True)
    assert "| word by word | tuned on |" in table
    assert "| word by word | held back |" in table
    good = [one for one in some if one.made is CopyMethod.VERBATIM]
    assert not [judging.describe_miss(one) for one in good if one.objected]
    assert any(one.objected for one in some if one.made not in GOOD)


def test_a_translation_is_a_paragraph_in_the_same_place_with_the_same_values(tmp_path: Path) -> None:
    """Pages that are built alike are paired paragraph by paragraph; where code or numbers differ, nothing is paired."""
    english = "# Limits\n\nA job runs for 30 seconds at most, and `retries` says how often.\n\nIt ends in 5 ways at the most, whatever happens.\n"
    russian = "# Пределы\n\nЗадание идёт не дольше 30 секунд, а `retries` говорит, сколько раз.\n\nЗаканчивается оно не более чем 6 способами, что бы ни случилось.\n"
    for language, text in ((EN, english), (RU, russian)):
        (tmp_path / language).mkdir()
        (tmp_path / language / "limits.md").write_text(text, "utf-8")
    (page,) = pages("own", tmp_path, EN, 5)
    pairs = [paragraph for _, paragraph in translations(tmp_path, page)]
    assert pairs == ["Задание идёт не дольше 30 секунд, а `retries` говорит, сколько раз."]
