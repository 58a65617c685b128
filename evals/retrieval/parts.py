"""The measurements of search, one function for each table."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from adapters.index.embedded.search import MIDPOINT
from contracts.enums import Language
from evals.retrieval import runs as asking
from evals.retrieval.corpora import LANGUAGES, RELEASES, RetrievalCorpus
from evals.retrieval.measures import Estimate, area_figure, mean, ndcg, precision, recall
from evals.retrieval.questions import RetrievalQuestion, join_questions, misspelt
from evals.retrieval.runs import bar, open_corpus
from evals.scores import Share, table

SENT = 6
"""Passages that a draft may see unless a profile says otherwise."""
_MESSAGES = 120
_MIDPOINTS = (0.08, 0.1, 0.12, 0.14, 0.16, 0.2)

Figures = dict[str, float]
"""Figures by name, for the table that compares them with those the design started from."""


@dataclass(frozen=True, slots=True)
class ReportPart:
    """One table, the sentences before it, and its figures by name."""

    title: str
    about: str
    rows: Sequence[Sequence[str]]
    figures: Figures

    def __str__(self) -> str:
        head, *rows = self.rows
        return f"### {self.title}\n\n{self.about}\n\n{table([head, *rows])}"


def _ndcg(pages: Sequence[Sequence[str]], asked: Sequence[RetrievalQuestion]) -> Estimate:
    return mean([ndcg(found, one.grades) for found, one in zip(pages, asked, strict=True)])


def _recall(pages: Sequence[Sequence[str]], asked: Sequence[RetrievalQuestion], depth: int) -> Estimate:
    return mean([recall(found, one.grades, depth) for found, one in zip(pages, asked, strict=True)])


# ------------------------------------------------------------------------------------------------------------ ranking


def measure_ranking(every: Sequence[RetrievalCorpus]) -> ReportPart:
    """Measure how well the answering pages are ranked."""
    rows = [["documents", "language", "questions", "nDCG@10", "recall@20", "first", f"among {SENT} passages"]]
    figures: Figures = {}
    for corpus in every:
        with open_corpus(corpus) as asker:
            for language in LANGUAGES:
                asked = corpus.asked(language)
                ranked = [asker.pages(one) for one in bar(asked, f"{corpus.name} {language}")]
                sent = [asker.passages(one, SENT) for one in asked]
                figures[f"{corpus.name} {language}"] = _ndcg(ranked, asked).value
                rows.append(_found_row(corpus.name, language, asked, ranked, sent))
                held = [place for place, one in enumerate(asked) if one.held_back]
                if held:
                    picked = ([asked[at] for at in held], [ranked[at] for at in held], [sent[at] for at in held])
                    rows.append(_found_row(f"{corpus.name}, held back", language, *picked))
    about = (
        "One question at a time, as the embedded index ranks it: pages in the order of their best passages, both "
        f"languages in one index. *First*: a page that answers comes first. *Among {SENT} passages*: it is among what a "
        "draft may see."
    )
    return ReportPart("Which pages are found", about, rows, figures)


def _found_row(
    name: str,
    language: Language,
    asked: Sequence[RetrievalQuestion],
    ranked: Sequence[Sequence[str]],
    sent: Sequence[Sequence[str]],
) -> list[str]:
    first = sum(one.grades.get(pages[0], 0) == 2 for pages, one in zip(ranked, asked, strict=True) if pages)
    seen = sum(any(one.grades.get(page) == 2 for page in pages) for pages, one in zip(sent, asked, strict=True))
    return [
        name,
        str(language),
        str(len(asked)),
        str(_ndcg(ranked, asked)),
        str(_recall(ranked, asked, 20)),
        f"{first / len(asked):.0%}",
        f"{seen / len(asked):.0%}",
    ]


def misspellings(every: Sequence[RetrievalCorpus]) -> ReportPart:
    """Measure the benefit of matching misspelt words."""
    rows = [["documents", "language", "as written", "as written, words exact", "misspelt, words exact", "misspelt"]]
    figures: Figures = {}
    for corpus in every:
        with open_corpus(corpus) as asker:
            for language in LANGUAGES:
                asked = corpus.asked(language)
                slips = [misspelt(one, number) for number, one in enumerate(asked)]
                right = [asker.pages(one) for one in bar(asked, f"{corpus.name} {language}")]
                forgiven = [asker.pages(one) for one in bar(slips, f"{corpus.name} {language}, misspelt")]
                with asking.exact_words():
                    exact = [asker.pages(one) for one in bar(asked, f"{corpus.name} {language}, exact")]
                    lost = [asker.pages(one) for one in bar(slips, f"{corpus.name} {language}, misspelt, exact")]
                told = [_ndcg(ranked, asked) for ranked in (right, exact, lost, forgiven)]
                rows.append([corpus.name, str(language), *map(str, told)])
                names = ("right", "exact", "lost", "forgiven")
                figures |= {f"{n} {corpus.name} {language}": f.value for n, f in zip(names, told, strict=True)}
    about = (
        "nDCG@10. One or two words of five letters or more have one slip each, drawn by seed. A slip is a letter changed, "
        "lost or added, or two neighbours swapped. *Words exact*: with the matching of unknown words switched off."
    )
    return ReportPart("Misspelt questions", about, rows, figures)


def several(every: Sequence[RetrievalCorpus]) -> ReportPart:
    """Measure messages with several questions, merged in two ways."""
    rows = [["documents", "language", "messages", "split right", "taking turns", "one joined query"]]
    figures: Figures = {}
    for corpus in every:
        with open_corpus(corpus) as asker:
            for language in LANGUAGES:
                messages = join_questions(corpus.asked(language), _MESSAGES)
                asked = [message for message, _ in messages]
                planned = [asker.planned(one) for one in bar(asked, f"{corpus.name} {language}, messages")]
                right = sum(len(made) == len(parts) for made, (_, parts) in zip(planned, messages, strict=True))
                pairs = list(zip(asked, planned, strict=True))
                turns = [asker.taking_turns(one, queries) for one, queries in pairs]
                whole = [asker.pages(one) for one in asked]
                told = [_recall(ranked, asked, 10) for ranked in (turns, whole)]
                rows.append(
                    [corpus.name, str(language), str(len(asked)), str(Share(right, len(asked))), *map(str, told)]
                )
                names = ("turns", "whole")
                figures |= {f"{n} {corpus.name} {language}": f.value for n, f in zip(names, told, strict=True)}
    about = (
        "Recall@10 of messages made of two or three questions. *Split right*: the offline planner makes as many "
        "sub-queries as there are questions. *Taking turns* is what the product does with their rankings. "
        "*One joined query* is what it does not do."
    )
    return ReportPart("Several questions in one message", about, rows, figures)


def wider(every: Sequence[RetrievalCorpus]) -> ReportPart:
    """Measure the effect of feedback terms."""
    rows = [["documents", "language", "recall@10", "wider", "recall@20", "wider", "precision@3", "wider"]]
    figures: Figures = {}
    for corpus in every:
        with open_corpus(corpus) as asker:
            for language in LANGUAGES:
                asked = corpus.asked(language)
                before = [asker.pages(one) for one in bar(asked, f"{corpus.name} {language}")]
                after = [asker.pages(one, expand=True) for one in bar(asked, f"{corpus.name} {language}, wider")]
                told = [_recall(ranked, asked, depth) for depth in (10, 20) for ranked in (before, after)]
                exact = [
                    mean([precision(pages, one.grades, 3) for pages, one in zip(ranked, asked, strict=True)])
                    for ranked in (before, after)
                ]
                rows.append([corpus.name, str(language), *map(str, told), *map(str, exact)])
                figures[f"gain {corpus.name} {language}"] = told[3].value - told[2].value
                figures[f"ten {corpus.name} {language}"] = told[1].value - told[0].value
                figures[f"precise {corpus.name} {language}"] = exact[1].value - exact[0].value
    about = "The same questions with the feedback terms (RM3) that a retry adds. The questions are those of the first table."
    return ReportPart("Wider search on a retry", about, rows, figures)


def versions(corpus: RetrievalCorpus) -> ReportPart:
    """Measure the benefit of the filter by product version."""
    rows = [["documents", "language", "one release asked for", "none asked for", "all three named"]]
    figures: Figures = {}
    with open_corpus(corpus) as asker:
        for language in LANGUAGES:
            asked = corpus.asked(language)
            here = [asker.pages(one, version=RELEASES[1]) for one in bar(asked, f"{corpus.name} {language}")]
            mixed = [asker.in_all_releases(one, RELEASES) for one in bar(asked, f"{corpus.name} {language}, mixed")]
            newest = [asker.pages(one) for one in bar(asked, f"{corpus.name} {language}, newest")]
            last = [_in_release(pages, RELEASES[-1]) for pages in newest]
            told = [_ndcg(ranked, asked) for ranked in (here, last, mixed)]
            rows.append([corpus.name, str(language), *map(str, told)])
            figures[f"one {language}"], figures[f"mixed {language}"] = told[0].value, told[2].value
    about = (
        "nDCG@10 if only the pages of one release count. The three releases differ in nothing but a stamp in each paragraph. "
        "If a question asks for no release, Guardian searches the newest, and its pages count. If it names all three, it gets all."
    )
    return ReportPart("Versions of a product", about, rows, figures)


def _in_release(pages: Sequence[str], release: str) -> list[str]:
    return [page.removeprefix(f"{release}/") for page in pages]


# ----------------------------------------------------------------------------------------------------------- on topic


Sureness = Mapping[str, Sequence[tuple[float, float]]]
"""Of each set of questions, by its name, the confidence and the raw score of each question's best passage."""


@dataclass(frozen=True, slots=True)
class TopicConfidence:
    """How sure search is of own and foreign questions, in the index of one corpus."""

    corpus: str
    own: Sureness
    foreign: Sureness


def ask_all(people: Sequence[RetrievalCorpus], foreign: Mapping[str, Sequence[str]]) -> list[TopicConfidence]:
    """Ask every set of questions in every index; corpora of one index come together."""
    asked: list[TopicConfidence] = []
    for corpus in people:
        with open_corpus(corpus) as asker:
            own = {
                f"{corpus.name} ({it})": [asker.sureness(one.text) for one in bar(corpus.asked(it), corpus.name)]
                for it in LANGUAGES
            }
            if asked and asked[-1].corpus == str(corpus.directory):
                asked[-1] = TopicConfidence(asked[-1].corpus, {**asked[-1].own, **own}, asked[-1].foreign)
                continue
            others = {kind: [asker.sureness(text) for text in bar(texts, kind)] for kind, texts in foreign.items()}
        asked.append(TopicConfidence(str(corpus.directory), own, others))
    return asked


def on_topic(asked: Sequence[TopicConfidence]) -> ReportPart:
    """Measure how well questions on the documents are distinguished from questions on other topics."""
    rows = [["documents, language", "foreign questions", "AUC, confidence", "AUC, raw score", "kept", "let through"]]
    figures: Figures = {}
    for index in asked:
        for name, own in index.own.items():
            kept = _measure_reaching(own, MIDPOINT)
            figures[f"kept|{name}"] = kept
            for kind, others in index.foreign.items():
                area = area_figure([sure for sure, _ in own], [sure for sure, _ in others])
                raw = area_figure([score for _, score in own], [score for _, score in others])
                through = _measure_reaching(others, MIDPOINT)
                rows.append([name, kind, str(area), str(raw), f"{kept:.0%}", f"{through:.0%}"])
                figures |= {f"area|{name}|{kind}": area.value, f"raw|{name}|{kind}": raw.value}
                figures[f"through|{name}|{kind}"] = through
    about = (
        "The best passage counts, of any kind and language. *AUC*: how often a question to the documents gets more than a foreign "
        "one, by the normalised confidence and by the raw score. *Kept* and *let through*: the shares at 0.5 or above."
    )
    return ReportPart("On topic or not", about, rows, figures)


def midpoints(asked: Sequence[TopicConfidence]) -> ReportPart:
    """Measure what other midpoints of confidence would keep and let through."""
    sets = {name: sure for index in asked for name, sure in index.own.items()}
    for index in asked:
        first = next(iter(index.own)).rpartition(" ")[0]
        sets |= {f"{kind}, of the {first}": sure for kind, sure in index.foreign.items()}
    rows = [["questions", *(f"{at:g}" for at in _MIDPOINTS)]]
    rows += [[name, *(f"{_measure_reaching(sure, at):.0%}" for at in _MIDPOINTS)] for name, sure in sets.items()]
    about = (
        "The share of questions at a confidence of 0.5 or above, by midpoint. The midpoint is the normalised score at which "
        f"confidence is one half (`norm_midpoint` among a profile's thresholds, {MIDPOINT:g} by default). Greater values keep out more, of both."
    )
    return ReportPart("Where the midpoint of confidence lies", about, rows, {})


def _measure_reaching(sure: Sequence[tuple[float, float]], midpoint: float) -> float:
    """Return the share of questions whose confidence would be one half at least."""
    return sum(_normalise(confidence) >= midpoint for confidence, _ in sure) / len(sure)


def _normalise(confidence: float) -> float:
    """Return the normalised score of a confidence, by the formula of `adapters.index.embedded.search` solved for it."""
    if confidence in {0.0, 1.0}:
        return confidence
    # Rounded: at the midpoint itself the way there and back must not end below it.
    return round(MIDPOINT / math.sqrt(1 / confidence - 1), 9)


# ---------------------------------------------------------------------------------------------------------- the parts


def shares(every: Sequence[tuple[str, Callable[[Path], RetrievalCorpus]]], folder: Path) -> ReportPart:
    """Measure the benefit of single design choices by reversing them."""
    names = [f"{name} {language}" for name, _ in every for language in LANGUAGES]
    rows = [["choice", *names]]
    figures: Figures = {}

    def line(what: str, built: Sequence[RetrievalCorpus]) -> None:
        told: list[float] = []
        for corpus in built:
            with open_corpus(corpus) as asker:
                for it in LANGUAGES:
                    asked = corpus.asked(it)
                    told.append(_ndcg([asker.pages(one) for one in bar(asked, what)], asked).value)
        rows.append([what, *(f"{value:.3f}".removeprefix("0") for value in told)])
        figures.update({f"{what}|{name}": value for name, value in zip(names, told, strict=True)})

    def build(what: str) -> list[RetrievalCorpus]:
        return [make(folder / f"{what}-{number}") for number, (_, make) in enumerate(every)]

    as_it_is = build("as it is")
    line("as it is", as_it_is)
    for title in (0.0, 0.3, 1.0, 3.0):
        with asking.field_weights(title, title):
            line(f"titles and headings weigh {title:g}", as_it_is)
    for short, long in ((300, 600), (400, 1000), (1200, 3000)):
        with asking.passage_sizes(short, long):
            line(f"passages up to {long} characters", build(f"{long} characters"))
    with asking.english_stems():
        line("English stems only", build("english"))
    about = (
        "nDCG@10 with one choice made differently. The choices: titles and headings weigh .6 each next to the text's 1, a passage "
        "is cut at 2,000 characters, and words are stemmed by Russian and English rules. The intervals are those of the first table."
    )
    return ReportPart("What single choices are worth", about, rows, figures)
