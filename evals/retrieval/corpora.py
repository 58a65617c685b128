"""The corpora for search and their questions: the handbook, and public documents if they are next to the project."""

from __future__ import annotations

import csv
import json
import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from adapters.index.embedded import Folder, ingest
from adapters.reading.dialects import DialectSettings
from assistant.config.profiles import BUNDLED_KNOWLEDGE
from contracts.enums import Dialect, Language, Outcome, Source
from contracts.evidence import EvidenceItem
from evals.cases import CASES, TurnCase, read_cases
from evals.retrieval.questions import FOLDER, RetrievalQuestion, in_language, read_lines

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT.parent / "shared" / "data"
"""Where public data is looked for unless a folder is named."""
LANGUAGES = (Language.EN, Language.RU)
RELEASES = ("1.0", "2.0", "3.0")

_RUSSIAN_PAGES = 1000
"""Added to the number of an English page of the handbook, for the Russian one."""
_MOST_FOREIGN = 500


@dataclass(frozen=True, slots=True)
class RetrievalCorpus:
    """Indexed documents with questions.

    Attributes:
        name: The name in tables.
        directory: The folder of the index.
        page: Returns the labels' name of an item's page.
        questions: The questions, in both languages.
        root: The folder that was indexed.
        kinds: The source kinds of its documents.
    """

    name: str
    directory: Path
    page: Callable[[EvidenceItem], str]
    questions: Sequence[RetrievalQuestion]
    root: Path
    kinds: tuple[Source, ...] = (Source.DOC,)

    def asked(self, language: Language) -> list[RetrievalQuestion]:
        """Return the questions of one language."""
        return [one for one in self.questions if one.language is language]


@dataclass(frozen=True, slots=True)
class Data:
    """The folder of public data, with a list of what is missing.

    Attributes:
        folder: The folder of the data.
        missing: Descriptions of missing data.
    """

    folder: Path
    missing: list[str] = field(default_factory=list[str])

    def has(self, name: str, what: str) -> bool:
        """Whether a file or folder exists; if not, its description is added to `missing`."""
        if (self.folder / name).exists():
            return True
        self.missing.append(what)
        return False


def handbook(directory: Path) -> RetrievalCorpus:
    """Index the handbook as it is."""
    ingest(BUNDLED_KNOWLEDGE, directory=directory)
    lines = read_lines(FOLDER / "handbook.jsonl")
    asked = [one for language in LANGUAGES for one in in_language(lines, language)]
    return RetrievalCorpus("handbook", directory, _number_page, asked, BUNDLED_KNOWLEDGE, (Source.DOC, Source.POLICY))


def plainly_asked(corpus: RetrievalCorpus) -> RetrievalCorpus:
    """Return the handbook with the questions of whole turns: nearer to the pages' words, and used for tuning."""
    asked: list[RetrievalQuestion] = []
    for case in read_cases(CASES / "handbook.jsonl"):
        if isinstance(case, TurnCase) and case.outcome is Outcome.ANSWERED and case.pages and len(case.says) == 1:
            pages = {f"{case.language}/{number % _RUSSIAN_PAGES}": 2 for number in case.pages}
            asked.append(RetrievalQuestion(case.says[0], case.language, pages))
    return replace(corpus, name="handbook, plainly asked", questions=asked)


def _number_page(item: EvidenceItem) -> str:
    number = item.kb_id or 0
    return f"ru/{number - _RUSSIAN_PAGES}" if number >= _RUSSIAN_PAGES else f"en/{number}"


def fastapi(data: Path, directory: Path) -> RetrievalCorpus:
    """Index FastAPI's documentation with both languages in one index, for queries in its dialect."""
    folder = data / "fastapi-docs"
    ingest(Folder(folder, reading=DialectSettings(Dialect.MKDOCS)), directory=directory)
    lines = read_lines(FOLDER / "fastapi.jsonl")
    asked = [one for language in LANGUAGES for one in in_language(lines, language)]
    return RetrievalCorpus("FastAPI docs", directory, _page_path, asked, folder)


def known_items(corpus: RetrievalCorpus, data: Path) -> RetrievalCorpus:
    """Return a corpus with generated questions: the first sentence of each page's text, without the title's words.

    No person asks like this. These questions show whether a page is found by its content, not whether questions are
    answered.
    """
    asked: list[RetrievalQuestion] = []
    for language in LANGUAGES:
        for path in sorted((data / "fastapi-docs" / language).rglob("*.md")):
            sentence = _first_sentence(path.read_text("utf-8"))
            page = path.relative_to(data / "fastapi-docs").as_posix()
            if len(sentence.split()) >= 4:
                asked.append(RetrievalQuestion(sentence, language, {page: 2}))
    return RetrievalCorpus(f"{corpus.name}, generated", corpus.directory, corpus.page, asked, corpus.root)


def _first_sentence(text: str) -> str:
    from language.sentences import sentences
    from language.words import stems, tokens

    title = ""
    for line in text.splitlines():
        if line.startswith("# ") and not title:
            title = line
        elif title and re.match(r"[^\W\d_]", line):
            unwanted = set(stems(title.partition("{")[0]))
            return " ".join(word for word in tokens(sentences(line)[0]) if not unwanted.intersection(stems(word)))
    return ""


def xquad(data: Path, folder: Path) -> RetrievalCorpus:
    """Index the paragraphs of XQuAD in both languages as one page each; its own questions are the labels."""
    asked: list[RetrievalQuestion] = []
    for language in LANGUAGES:
        (folder / "docs" / language).mkdir(parents=True)
        for number, (text, questions) in enumerate(_paragraphs(data, language)):
            page = f"{language}/{number}.md"
            (folder / "docs" / page).write_text(text, "utf-8")
            asked += [RetrievalQuestion(question, language, {page: 2}) for question in questions]
    ingest(folder / "docs", directory=folder / "index")
    return RetrievalCorpus("XQuAD", folder / "index", _page_path, asked, folder / "docs")


def _paragraphs(data: Path, language: Language) -> list[tuple[str, list[str]]]:
    articles = json.loads((data / "xquad" / f"xquad.{language}.json").read_text("utf-8"))["data"]
    found = [paragraph for article in articles for paragraph in article["paragraphs"]]
    return [(paragraph["context"], [item["question"] for item in paragraph["qas"]]) for paragraph in found]


def _page_path(item: EvidenceItem) -> str:
    return (item.document or "").partition("/")[2]


def releases(data: Path, folder: Path) -> RetrievalCorpus:
    """Index FastAPI's documentation as if for three releases; every section says its release.

    Only pages of the middle release are worth finding; the others have equally good words.
    """
    folders: list[Folder] = []
    for release in RELEASES:
        for language in LANGUAGES:
            source = data / "fastapi-docs" / language
            for path in source.rglob("*.md"):
                target = folder / release / language / path.relative_to(source)
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_text(_stamp(path.read_text("utf-8"), release), "utf-8")
        folders.append(Folder(folder / release, version=release, reading=DialectSettings(Dialect.MKDOCS)))
    ingest(folders, directory=folder / "index")
    lines = read_lines(FOLDER / "fastapi.jsonl")
    asked = [one for language in LANGUAGES for one in in_language(lines, language)]
    return RetrievalCorpus("FastAPI docs, three releases", folder / "index", _of_middle_release, asked, folder)


def _stamp(text: str, release: str) -> str:
    """Say the release once in each paragraph, so that no passage is the same in two of them."""
    return re.sub(r"(?m)^(?=[^\W\d_][^\n]*$)", f"({release}) ", text)


def _of_middle_release(item: EvidenceItem) -> str:
    release, _, page = (item.document or "").partition("/")
    return page if release == RELEASES[1] else f"{release}/{page}"


def foreign(data: Data) -> dict[str, list[str]]:
    """Return questions about other topics, at most five hundred of each kind, drawn with a fixed seed."""
    kinds: dict[str, list[str]] = {}
    if data.has("xquad", "XQuAD: its questions are the foreign ones"):
        for language in LANGUAGES:
            kinds[f"encyclopedia ({language})"] = [
                question for _, asked in _paragraphs(data.folder, language) for question in asked
            ]
    if data.has("routing/clinc150_small.json", "CLINC150: requests to another assistant"):
        routing = json.loads((data.folder / "routing" / "clinc150_small.json").read_text("utf-8"))
        kinds["requests to a phone (en)"] = [text for text, _ in routing["oos_test"]]
    if data.has("routing/banking77_test.csv", "BANKING77: questions to a bank"):
        with (data.folder / "routing" / "banking77_test.csv").open(encoding="utf-8", newline="") as lines:
            kinds["questions to a bank (en)"] = [row["text"] for row in csv.DictReader(lines)]
    return {kind: _some(texts) for kind, texts in kinds.items()}


def _some(texts: list[str]) -> list[str]:
    dice = random.Random(1)  # noqa: S311  # no secret is drawn
    return texts if len(texts) <= _MOST_FOREIGN else dice.sample(texts, k=_MOST_FOREIGN)
