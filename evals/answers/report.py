"""The report part on answers judged by labels: every present corpus, asked in every wrapping."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from contracts.enums import Language
from evals.answers.corpora import AnswerCorpus, of_fastapi, of_handbook, of_vk, of_xquad
from evals.answers.grades import Grade
from evals.answers.tables import (
    HEAD,
    GradedTurn,
    cause_table,
    estimate_table,
    grade_cells,
    points,
    select_graded,
    to_read,
)
from evals.answers.wrappings import NAMES, PLAIN, PosedQuestion, pose
from evals.runner import ask_all
from evals.scores import Share, table

_PUBLIC: Final[dict[str, tuple[str, Callable[[Path, Path], AnswerCorpus]]]] = {
    "fastapi-docs": ("FastAPI's documentation", of_fastapi),
    "xquad": ("XQuAD", of_xquad),
    "vk": ("VK Cloud's documentation", of_vk),
}


@dataclass(frozen=True, slots=True)
class AnsweredQuestion:
    """A question as it was sent, its documents, and its result."""

    corpus: str
    posed: PosedQuestion
    graded: GradedTurn

    @property
    def plain(self) -> bool:
        """Whether the question was sent without a wrapping."""
        return self.posed.wrapping == PLAIN


def ask(
    folder: Path, data: Path, most: int | None, *, held_back: bool
) -> tuple[list[AnsweredQuestion], list[AnswerCorpus], list[str]]:
    """Index the present documents and ask every question in every wrapping.

    Args:
        folder: An empty folder for indexes and conversations.
        data: The folder of public documents.
        most: The most questions of each corpus and language, for a quick look; `None` for all.
        held_back: Whether to ask the held-back third, too.

    Returns:
        The results of the questions, the corpora, and the names of missing corpora.
    """
    makers: list[Callable[[Path], AnswerCorpus]] = [of_handbook]
    missing: list[str] = []
    for name, (title, make) in _PUBLIC.items():
        if (data / name).is_dir():
            makers.append(lambda place, make=make: make(data, place))
        else:
            missing.append(title)
    found: list[AnsweredQuestion] = []
    corpora: list[AnswerCorpus] = []
    for number, maker in enumerate(makers):
        corpus = maker(folder / f"corpus-{number}")
        corpora.append(corpus)
        asked = [
            one
            for language in Language
            for one in [each for each in corpus.questions if each.language is language and held_back >= each.held_back][
                :most
            ]
        ]
        sent = [one for one in pose(corpus, asked) if held_back or not one.held_back]
        results = asyncio.run(ask_all([one.case for one in sent], corpus.deployed, folder / f"threads-{number}"))
        by_id = {one.case.id: one for one in select_graded(results)}
        found += [AnsweredQuestion(corpus.name, one, by_id[one.case.id]) for one in sent]
        print(f"… {corpus.name}: {len(sent)} conversations", file=sys.stderr, flush=True)
    return found, corpora, missing


def section(found: Sequence[AnsweredQuestion], corpora: Sequence[AnswerCorpus], *, held_back: bool) -> list[str]:
    """Return the tables of the report part."""
    plain = [one.graded for one in found if one.plain]
    labels = ", ".join(f"{corpus.name} ({corpus.labels})" for corpus in corpora)
    return [
        "### What became of the questions",
        (
            f"A label names pages or sentences: {labels}. An answer is correct if it states the labelled sentences for every part of the "
            "question. If only pages are labelled, it is correct if it begins with such a page, which says less. An *unread* answer begins with a "
            "page that no label names: somebody has to read whether it answers. The questions are sent here as they were written. The labels of the "
            "part that may be tuned on were completed after answers to it had been seen. Those of the held-back part were not, so more is unread "
            "there. Compare the two parts by *correct*, and by wrong and unread together."
        ),
        _corpus_table(found, held_back=held_back),
        "### What wrappings change",
        (
            "These are the same questions in seven wrappings. Four add text around a question: a sentence before, thanks and a signature after, a "
            "mail quoted below, or a ticket's form. The others swap two letters, put two questions in one message, or make the question the last "
            "of two to four messages. *As the plain one* counts those with the same end."
        ),
        _wrapping_table(found),
        "### How sure the assistant was of what it stated",
        (
            "Plain questions only. The estimate is that of relevance if the report has one. Otherwise it is the mean confidence of what the answer cites."
        ),
        estimate_table(plain),
        "### Why there is no answer",
        "Plain questions only.",
        cause_table(plain),
    ]


def _corpus_table(found: Sequence[AnsweredQuestion], *, held_back: bool) -> str:
    rows = [["documents", "language", "part", *HEAD]]
    for corpus in dict.fromkeys(one.corpus for one in found):
        for language in Language:
            for part in (False, True) if held_back else (False,):
                mine = [
                    one.graded
                    for one in found
                    if one.plain
                    and one.corpus == corpus
                    and one.posed.case.language is language
                    and one.posed.held_back is part
                ]
                if mine:
                    rows.append([corpus, str(language), "held back" if part else "tuned on", *grade_cells(mine)])
    return table(rows)


def _wrapping_table(found: Sequence[AnsweredQuestion]) -> str:
    ends = {one.posed.plain: one.graded.grade for one in found if one.plain}
    rows = [["documents", "wrapping", "as the plain one", *HEAD]]
    for corpus in dict.fromkeys(one.corpus for one in found):
        for name in NAMES:
            mine = [one for one in found if one.corpus == corpus and one.posed.wrapping == name]
            if mine:
                rows.append([corpus, name, _alike(mine, ends), *grade_cells([one.graded for one in mine])])
    return table(rows)


def _alike(found: Sequence[AnsweredQuestion], ends: Mapping[str, Grade]) -> str:
    both = [one for one in found if one.posed.plain in ends]
    return str(Share(sum(one.graded.grade is ends[one.posed.plain] for one in both), len(both)))


def draw(found: Sequence[AnsweredQuestion], folder: Path, *, held_back: bool) -> list[str]:
    """Draw the plots of risk over coverage and of calibration for plain questions, and return the lines that show them.

    Args:
        found: The results of the questions.
        folder: The folder for the plots.
        held_back: Whether the held-back third was asked; then only it is drawn.
    """
    from evals.plots import plot_calibration, plot_risk

    plain = [one for one in found if one.plain and one.posed.held_back is held_back]
    corpora = {
        name: [one.graded for one in plain if one.corpus == name] for name in dict.fromkeys(one.corpus for one in plain)
    }
    risk = {
        name: (points(mine, Grade.WRONG), points(mine, Grade.WRONG, Grade.UNREAD), len(mine))
        for name, mine in corpora.items()
    }
    right = {
        name: points([one for one in mine if one.grade is not Grade.UNREAD], Grade.CORRECT, Grade.PARTLY)
        for name, mine in corpora.items()
    }
    drawn: list[str] = []
    for file, title, plot, series in (
        ("risk.svg", "Wrong of the stated answers, by share of questions answered", plot_risk, risk),
        ("calibration.svg", "How right answers are, by how sure the assistant was", plot_calibration, right),
    ):
        (folder / file).unlink(missing_ok=True)
        plot(folder / file, title + (", held back" if held_back else ""), series)  # pyright: ignore[reportArgumentType]
        if (folder / file).exists():
            drawn.append(f"![{title}]({folder.name}/{file})")
    return drawn


def misses(found: Sequence[AnsweredQuestion]) -> list[str]:
    """Return the results that differ from the labels and those to read; none of held-back questions."""
    mine = [one for one in found if not one.posed.held_back]
    fine = (Grade.CORRECT, Grade.RIGHT_REFUSAL, Grade.UNREAD)
    wrong = [one for one in mine if one.graded.grade not in fine]
    return [
        *(f"{one.posed.case.id}: {one.posed.case.says[-1][:80]!r}: {one.graded.grade}" for one in wrong),
        *(f"to read: {line}" for line in to_read([one.graded for one in mine])),
    ]
