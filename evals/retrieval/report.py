"""The report section on search: every table, and the comparison with the figures that the design started from."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from contracts.enums import Language
from evals.retrieval import corpora, parts
from evals.retrieval.compared import compare
from evals.retrieval.corpora import LANGUAGES, Data, RetrievalCorpus
from evals.retrieval.overlap import handbook_headings, mean_overlap, paths_headings
from evals.retrieval.parts import Figures, ReportPart

_Made = tuple[list[RetrievalCorpus], list[RetrievalCorpus], list[tuple[str, Callable[[Path], RetrievalCorpus]]]]


def section(folder: Path, data_folder: Path, most: int | None = None) -> str:
    """Measure everything that has data, and return it as Markdown.

    Args:
        folder: An empty folder for the indexes.
        data_folder: The folder of public data; missing data is left out, and the text says so.
        most: The most questions of each set and language, for a quick look; `None` for all.
    """
    data = Data(data_folder)
    every, asked_by_people, makers = _corpora(folder, data, most)
    people = _people(asked_by_people)
    steps: list[Callable[[], ReportPart]] = [
        lambda: parts.measure_ranking(every),
        lambda: parts.misspellings(asked_by_people),
        lambda: parts.several(asked_by_people),
        lambda: parts.wider(asked_by_people),
    ]
    foreign = {kind: texts[:most] for kind, texts in corpora.foreign(data).items()}
    if foreign:
        asked = parts.ask_all([every[0], every[1], *asked_by_people[1:]], foreign)
        steps += [lambda: parts.on_topic(asked), lambda: parts.midpoints(asked)]
    if len(asked_by_people) > 1:
        steps.append(lambda: parts.versions(first(corpora.releases(data.folder, folder / "releases"), most)))
    steps.append(lambda: parts.shares(makers, folder / "choices"))
    made: list[ReportPart] = []
    figures: Figures = {}
    for step in steps:
        part = step()
        print(f"… {part.title}: done", file=sys.stderr, flush=True)
        made.append(part)
        figures |= part.figures
    left_out = [f"Left out, because the data is not there: {'; '.join(data.missing)}."] if data.missing else []
    return "\n\n".join(
        [
            "## How well search finds pages",
            people,
            *left_out,
            *map(str, made),
            "### The figures that the design of search started from",
            "They were measured on other documents with other questions. So compare the direction and the share, not the height. *Met if* says what we hold each one to.",
            compare(figures),
        ]
    )


def _corpora(folder: Path, data: Data, most: int | None) -> _Made:
    """Return all corpora, those with people's questions, and what makes the latter anew."""
    print("… indexing", file=sys.stderr, flush=True)
    makers: list[tuple[str, Callable[[Path], RetrievalCorpus]]] = [
        ("handbook", lambda place: first(corpora.handbook(place), most))
    ]
    if data.has("fastapi-docs", "FastAPI's documentation"):
        makers.append(("FastAPI docs", lambda place: first(corpora.fastapi(data.folder, place), most)))
    people = [make(folder / str(number)) for number, (_, make) in enumerate(makers)]
    every = [people[0], first(corpora.plainly_asked(people[0]), most), *people[1:]]
    if len(people) > 1:
        every.append(first(corpora.known_items(people[1], data.folder), most))
    if data.has("xquad", "XQuAD"):
        every.append(first(corpora.xquad(data.folder, folder / "xquad"), most))
    return every, people, makers


def first(corpus: RetrievalCorpus, most: int | None) -> RetrievalCorpus:
    """Return a corpus with only a number of questions of each language; all for `None`."""
    return replace(corpus, questions=[one for it in LANGUAGES for one in corpus.asked(it)[:most]])


def _people(people: list[RetrievalCorpus]) -> str:
    headings = [handbook_headings()]
    if len(people) > 1:
        headings.append(paths_headings(people[1].root))
    told = "; ".join(
        f"{corpus.name} {language} {mean_overlap(corpus.asked(language), known):.0%}"
        for corpus, known in zip(people, headings, strict=True)
        for language in LANGUAGES
    )
    questions = "; ".join(f"{len(corpus.asked(Language.EN))} on the {corpus.name}" for corpus in people)
    return (
        f"People's questions, the same in both languages: {questions}. We wrote them as users speak, and not in the words of the pages. "
        f"This share of a question's content words is in the title or a heading of its page: {told}. A page that answers has grade 2, one "
        "that helps has grade 1. We labelled pages by what is in them, and did not pick them from what search found. So a page that would "
        "also do counts as wrong. Every third question is held back: it was written before search was run on any, and nothing is tuned on "
        "it. *Plainly asked* questions are those of the turns above. They are nearer to the pages' words, and tuned on. *Generated* questions "
        "are the first sentences of pages without the words of their titles. The gain in nDCG is a page's grade. Intervals are from the "
        "bootstrap at 95 %, over questions."
    )
