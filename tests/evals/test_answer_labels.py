"""The labels of answers: they name pages and sentences that there are, hold no text of others, and agree with themselves."""

from __future__ import annotations

import json
import re
import shutil
from collections import Counter
from pathlib import Path

import pytest

from assistant.config.profiles import BUNDLED_KNOWLEDGE
from contracts.enums import Language
from contracts.errors import ConfigError
from evals.answers.corpora import LABELS, of_handbook, read_dialogues, read_labels, read_readings
from evals.answers.grades import words
from evals.answers.pages import fingerprint, held_back, pieces, sentence_of
from evals.retrieval.corpora import DATA

VK = DATA / "vk"
beside = pytest.mark.skipif(not VK.is_dir(), reason="VK Cloud's documentation is not beside the project")


def test_a_fingerprint_is_of_the_words_alone() -> None:
    """Mark-up, case and where a link leads do not change it; another word does."""
    plain = fingerprint("Open the Backups page and click Restore")
    assert fingerprint("Open the **Backups** [page](../backups.md) and click `restore`.") == plain
    assert fingerprint("Open the Backups page and click Delete") != plain


def test_the_pieces_of_a_page_are_its_sentences_items_rows_and_lines_of_code() -> None:
    """Front matter is none of them, and neither are the marks of items."""
    page = "---\ntitle: X\n---\n# Backups\n\nOne. Two.\n\n1. Step one\n   * Inner\n\n| a | b |\n\n```bash\nls -l\n```\n"
    assert list(pieces(page)) == ["# Backups", "One.", "Two.", "Step one", "Inner", "| a | b |", "ls -l"]


def test_a_third_is_held_back_by_the_page_alone() -> None:
    """All questions on a page, in both languages, are on the same side."""
    pages = [f"folder/page-{number}.md" for number in range(600)]
    assert 170 <= sum(map(held_back, pages)) <= 230


def test_enough_questions_of_each_language_have_labelled_sentences() -> None:
    """Forty at least in each, and some that the manual does not answer."""
    labels = read_labels()
    with_sentences = Counter(
        label.language for label in labels if any(answer.sentences for part in label.parts for answer in part)
    )
    assert min(with_sentences[language] for language in Language) >= 40
    assert all(any(label.language is language and not label.parts for label in labels) for language in Language)


def test_a_label_holds_no_text_of_the_manual() -> None:
    """Its licence is not ours: there are line numbers, paths and hashes, and nothing else."""
    for line in (LABELS / "vk.jsonl").read_text("utf-8").splitlines():
        row = json.loads(line)
        assert set(row) <= {"line", "language", "parts", "helps", "wrong_pages", "only"}
        pages = [*row.get("helps", []), *row.get("wrong_pages", [])]
        for part in row["parts"]:
            for answer in part:
                assert set(answer) == {"page", "sentences"}
                assert all(re.fullmatch(r"[0-9a-f]{12}", name) for name in answer["sentences"])
                pages.append(answer["page"])
        assert all(re.fullmatch(r"[\w/.-]+\.md", page) for page in pages)


@beside
def test_labels_name_pages_and_sentences_that_there_are() -> None:
    """Every page is a file in the question's language, every fingerprint a sentence of it, every line a question."""
    for label in read_labels():
        folder = VK / label.language
        assert label.line <= len((VK / f"questions_{label.language}.jsonl").read_text("utf-8").splitlines())
        assert all((folder / page).is_file() for page in (*label.helps, *label.wrong_pages))
        for part in label.parts:
            for answer in part:
                assert (folder / answer.page).is_file()
                assert all(words(sentence_of(folder / answer.page, name)) for name in answer.sentences)


def test_a_fingerprint_leads_to_its_sentence_again(tmp_path: Path) -> None:
    """Of each piece of a page that has words, and of none that is not there."""
    page = tmp_path / "page.md"
    page.write_text("# Backups\n\nOpen the page. Press **Restore** there.\n\n- Wait for a minute\n", "utf-8")
    found = [sentence_of(page, fingerprint(piece)) for piece in pieces(page.read_text("utf-8"))]
    assert [" ".join(sorted(words(text))) for text in found] == [
        " ".join(sorted(words(piece))) for piece in pieces(page.read_text("utf-8"))
    ]
    with pytest.raises(ConfigError, match="Label the question again"):
        sentence_of(page, fingerprint("Press Delete there."))


def test_no_page_both_answers_and_does_not() -> None:
    """A page is not called wrong where a sentence of it is an answer."""
    for label in read_labels():
        right = {answer.page for part in label.parts for answer in part} | set(label.helps)
        assert not right & set(label.wrong_pages)


def test_nothing_that_is_held_back_was_read(handbook_data: Path, tmp_path: Path) -> None:
    """Answers are read of the questions that one may tune on; a page of the handbook is one that there is."""
    indexed = Path(shutil.copytree(handbook_data, tmp_path / "data"))
    by_id = {one.id: one for one in of_handbook(indexed).questions}
    read = {name: one for name, one in read_readings().items() if name.startswith("handbook-")}
    assert set(read) <= set(by_id)
    assert not [name for name in read if by_id[name].held_back]
    for name, one in read.items():
        folder = BUNDLED_KNOWLEDGE / by_id[name].language
        assert all((folder / page).is_file() for page in (*one.pages, *one.helps, *one.wrong_pages))


def test_what_was_read_does_not_contradict_a_label() -> None:
    """A page is right, of some help, or wrong, and not two of these."""
    for one in read_readings().values():
        pages = [*one.pages, *one.helps, *one.wrong_pages]
        assert len(set(pages)) == len(pages), one.question
        assert pages, one.question


def test_dialogues_are_of_two_to_four_messages_in_both_languages() -> None:
    """They begin with a question, and amount to another one of the same documents and language or name their pages."""
    dialogues = read_dialogues()
    assert {2, 3, 4} <= {1 + len(one.then) for one in dialogues} <= {2, 3, 4}
    for language in Language:
        assert sum(one.begins.endswith(f"-{language}") for one in dialogues) >= 10
    for one in dialogues:
        assert bool(one.means) != bool(one.pages)
        assert one.begins != one.means
        if one.means:
            begins, means = one.begins.split("-"), one.means.split("-")
            assert (begins[0], begins[-1]) == (means[0], means[-1])


def test_a_sentence_that_is_no_longer_there_is_named(tmp_path: Path) -> None:
    """An edited page makes a label wrong, which is said and not passed over."""
    page = tmp_path / "page.md"
    page.write_text("Something else.", "utf-8")
    with pytest.raises(Exception, match=r"No sentence of page\.md"):
        sentence_of(page, fingerprint("What stood here."))
