"""Sets of documents, each in its own deployment, and the labelled questions on them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import redirect_stderr
from dataclasses import dataclass, replace
from functools import cache
from io import StringIO
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, ValidationError

from assistant.cli.commands.index import index
from assistant.config.profiles import BUNDLED_KNOWLEDGE
from assistant.deployment import Deployment, deployment
from assistant.indexing import profile_folders
from contracts.enums import Dialect, Language
from contracts.errors import ConfigError
from evals.answers.pages import held_back, sentence_of
from evals.cases import CASES, AcceptableAnswer
from evals.retrieval.questions import FOLDER, QuestionLine, read_lines
from evals.runner import handbook
from language.sentences import sentences

LABELS: Final = CASES / "answers"
_RUSSIAN_PAGES: Final = 1000
"""Added to the number of an English page of the handbook, for the Russian one."""
_ANSWERS: Final = 2
"""The grade of a page that answers; one that helps has 1."""

Parts = tuple[tuple[AcceptableAnswer, ...], ...]


@dataclass(frozen=True, slots=True)
class ManualQuestion:
    """One question in one language.

    Attributes:
        source: The page that the question was asked about, without its language folder.
        parts: The acceptable answers for each part; empty if the documents do not answer.
        helps, wrong_pages, only: As in `TurnCase`.
    """

    id: str
    language: Language
    text: str
    source: str
    parts: Parts
    helps: tuple[str, ...] = ()
    wrong_pages: tuple[str, ...] = ()
    only: bool = False

    @property
    def held_back(self) -> bool:
        """Whether the question belongs to the held-back third, which is not used for tuning."""
        return held_back(self.source)


class Dialogue(BaseModel):
    """Follow-up messages that depend on a question; the last one asks the same as another question.

    Attributes:
        begins: The id of the first question.
        then: The further messages.
        means: The id of the question that the last message means.
        pages: The pages that answer the last message, in its language folder, if no question of the files means the
            same.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    begins: str
    then: tuple[str, ...]
    means: str = ""
    pages: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AnswerCorpus:
    """Indexed documents and the questions on them.

    Attributes:
        labels: A description of what the labels name.
    """

    name: str
    deployed: Deployment
    questions: Sequence[ManualQuestion]
    labels: str

    @property
    def dialogues(self) -> list[tuple[Dialogue, ManualQuestion, ManualQuestion]]:
        """The dialogues on its questions: follow-ups, the question that begins each, and what the last message asks."""
        by_id = {one.id: one for one in self.questions}
        return [
            (one, by_id[one.begins], by_id[one.means] if one.means else _asked_last(one, by_id[one.begins]))
            for one in read_dialogues()
            if one.begins in by_id
        ]


def _asked_last(dialogue: Dialogue, first: ManualQuestion) -> ManualQuestion:
    answers = tuple(AcceptableAnswer(page=f"{first.language}/{page}") for page in dialogue.pages)
    return ManualQuestion(dialogue.begins, first.language, dialogue.then[-1], dialogue.pages[0], (answers,))


@cache
def read_dialogues() -> tuple[Dialogue, ...]:
    """Read the dialogues on questions of all documents."""
    return tuple(Dialogue.model_validate(line) for _, line in _lines(LABELS / "dialogues.jsonl"))


class Reading(BaseModel):
    """A judgement of pages that answers to one question began with and that its label did not name.

    Most were judged by page and question, sometimes without the beginning of the answer. None belongs to a held-back
    question.

    Attributes:
        question: The question's id.
        pages, helps, wrong_pages: Pages in its language folder that answer, answer partly, and do not answer.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    question: str
    pages: tuple[str, ...] = ()
    helps: tuple[str, ...] = ()
    wrong_pages: tuple[str, ...] = ()


@cache
def read_readings() -> dict[str, Reading]:
    """Read the judgements of further pages, by question id."""
    found = [Reading.model_validate(line) for _, line in _lines(LABELS / "read.jsonl")]
    return {one.question: one for one in found}


def _with_reading(question: ManualQuestion) -> ManualQuestion:
    read = read_readings().get(question.id)
    if read is None:
        return question

    def paths(pages: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(f"{question.language}/{page}" for page in pages)

    found = tuple(AcceptableAnswer(page=page) for page in paths(read.pages))
    parts = ((*question.parts[0], *found), *question.parts[1:]) if question.parts else question.parts
    helps, wrong = (*question.helps, *paths(read.helps)), (*question.wrong_pages, *paths(read.wrong_pages))
    return replace(question, parts=parts, helps=helps, wrong_pages=wrong)


def _lines(path: Path) -> Iterator[tuple[int, Any]]:
    for number, line in enumerate(path.read_text("utf-8").split("\n"), 1):
        if line.strip():
            yield number, json.loads(line)


# ----------------------------------------------------------------------------------------------- handbook, FastAPI


def of_handbook(folder: Path) -> AnswerCorpus:
    """Index the handbook; its questions use other words than its pages."""
    paths = {number: path.name for path in (BUNDLED_KNOWLEDGE / "en").glob("*.md") if (number := _number(path))}
    lines = read_lines(FOLDER / "handbook.jsonl")
    asked = [one for line in lines for one in _in_both(line, lambda page: paths[int(page)])]
    return AnswerCorpus("handbook", handbook(folder), [*map(_with_reading, asked)], "pages")


def _number(path: Path) -> int | None:
    found = re.search(r"(?m)^kbId:\s*(\d+)", path.read_text("utf-8"))
    return int(found.group(1)) if found else None


def of_fastapi(data: Path, folder: Path) -> AnswerCorpus:
    """Index FastAPI's documentation in both languages."""
    asked = [one for line in read_lines(FOLDER / "fastapi.jsonl") for one in _in_both(line, str)]
    docs = data / "fastapi-docs"
    return AnswerCorpus(
        "FastAPI docs", _deploy("FastAPI", docs, folder, Dialect.MKDOCS), [*map(_with_reading, asked)], "pages"
    )


def _in_both(line: QuestionLine, path: Callable[[str], str]) -> Iterator[ManualQuestion]:
    graded: Mapping[str, int] = {path(page): grade for page, grade in line.pages.items()}
    answering = [page for page, grade in graded.items() if grade == _ANSWERS]
    helping = [page for page in graded if page not in answering]
    for language, text in ((Language.EN, line.en), (Language.RU, line.ru)):
        answers = tuple(AcceptableAnswer(page=f"{language}/{page}") for page in answering)
        helps = tuple(f"{language}/{page}" for page in helping)
        yield ManualQuestion(f"{line.id}-{language}", language, text, answering[0], (answers,), helps)


# ----------------------------------------------------------------------------------------------------------- XQuAD


def of_xquad(data: Path, folder: Path) -> AnswerCorpus:
    """Index the paragraphs of XQuAD, each as a page with one question; the label is the sentence with the answer."""
    docs, asked = folder / "docs", list[ManualQuestion]()
    for language in Language:
        (docs / language).mkdir(parents=True)
        articles = json.loads((data / "xquad" / f"xquad.{language}.json").read_text("utf-8"))["data"]
        paragraphs = [paragraph for article in articles for paragraph in article["paragraphs"]]
        for number, paragraph in enumerate(paragraphs):
            page = f"{number}.md"
            (docs / language / page).write_text(paragraph["context"], "utf-8")
            # The files are parallel: the same one in both languages, another place in each paragraph.
            question = paragraph["qas"][number % len(paragraph["qas"])]
            said = {_around(paragraph["context"], found["answer_start"]) for found in question["answers"]}
            answers = tuple(AcceptableAnswer(page=f"{language}/{page}", sentences=(one,)) for one in sorted(said))
            asked.append(
                ManualQuestion(
                    f"xquad-{number}-{language}", language, question["question"], page, (answers,), only=True
                )
            )
    return AnswerCorpus("XQuAD", _deploy("XQuAD", docs, folder), asked, "sentences")


def _around(paragraph: str, place: int) -> str:
    """Return the sentence that stands at a place of a paragraph."""
    begin = 0
    for sentence in sentences(paragraph):
        begin = max(begin, paragraph.find(sentence.split(" ")[0], begin))
        if begin + len(sentence) > place:
            return sentence
        begin += len(sentence)
    return sentences(paragraph)[-1]


# -------------------------------------------------------------------------------------------------------- VK Cloud


class NamedAnswer(BaseModel):
    """An acceptable answer: a page in the question's language folder, and fingerprints of its sentences."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    page: str
    sentences: tuple[str, ...] = ()


class AnswerLabel(BaseModel):
    """A person's label for one question of the manual's FAQ: the answers that the manual has.

    Attributes:
        line: The line in the file of questions in that language, from 1.
        parts: The acceptable answers for each part; empty if the manual does not answer.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    line: int
    language: Language
    parts: tuple[tuple[NamedAnswer, ...], ...]
    helps: tuple[str, ...] = ()
    wrong_pages: tuple[str, ...] = ()
    only: bool = False


def read_labels() -> list[AnswerLabel]:
    """Read the labels of VK Cloud's questions.

    Raises:
        ConfigError: A line is not a label, or labels a question again.
    """
    found: dict[tuple[Language, int], AnswerLabel] = {}
    for number, line in _lines(LABELS / "vk.jsonl"):
        try:
            label = AnswerLabel.model_validate(line)
        except ValidationError as error:
            raise ConfigError(f"vk.jsonl:{number} is not a label: {error}.", "Correct the line.") from error
        if (label.language, label.line) in found:
            raise ConfigError(f"vk.jsonl:{number} labels a question again.", "Label each once.")
        found[label.language, label.line] = label
    return list(found.values())


def of_vk(data: Path, folder: Path) -> AnswerCorpus:
    """Index VK Cloud's documentation; its questions are those of its FAQ, with our labels.

    The label of an unlabelled question is the pages that the FAQ's own answer links to.
    """
    docs = data / "vk"
    labels = {(label.language, label.line): label for label in read_labels()}
    asked: list[ManualQuestion] = []
    for language in Language:
        for number, line in _lines(docs / f"questions_{language}.jsonl"):
            linked = tuple(AcceptableAnswer(page=f"{language}/{page}") for page in line["pages"])
            question = ManualQuestion(
                f"vk-{number}-{language}", language, line["question"], line["pages"][0], (linked,)
            )
            label = labels.get((language, number))
            asked.append(_apply_label(question, label, docs) if label else question)
    asked = [*map(_with_reading, asked)]
    return AnswerCorpus("VK Cloud docs", _deploy("VK Cloud", docs, folder), asked, "sentences, and pages")


def _apply_label(question: ManualQuestion, label: AnswerLabel, docs: Path) -> ManualQuestion:
    def path(page: str) -> str:
        return f"{label.language}/{page}"

    parts = tuple(
        tuple(
            AcceptableAnswer(
                page=path(one.page),
                sentences=tuple(sentence_of(docs / path(one.page), name) for name in one.sentences),
            )
            for one in part
        )
        for part in label.parts
    )
    helps, wrong = (tuple(map(path, pages)) for pages in (label.helps, label.wrong_pages))
    return replace(question, parts=parts, helps=helps, wrong_pages=wrong, only=label.only)


# ------------------------------------------------------------------------------------------------------ deployments


def _deploy(product: str, docs: Path, folder: Path, dialect: Dialect = Dialect.PLAIN) -> Deployment:
    """Index documents with the plainest profile that somebody would write for them, and return the deployment."""
    folder.mkdir(parents=True, exist_ok=True)
    profile = folder / "profile.toml"
    name, about = json.dumps(re.sub(r"\W+", "-", product.casefold())), json.dumps(product)
    profile.write_text(
        f"name = {name}\nproduct = {about}\nlanguages = ['en', 'ru']\n\n"
        f"[scope]\nwords = []\n\n[scope.description]\nen = {about}\nru = {about}\n\n"
        f"[[knowledge]]\npath = {json.dumps(str(docs.resolve()))}\ndialect = '{dialect}'\n",
        "utf-8",
    )
    deployed = deployment(str(profile), {"GUARDIAN_DATA_DIR": str(folder / "data")})
    # What an index leaves out, or misses, is its reader's affair: here it would be a line for each page.
    with redirect_stderr(StringIO()):
        index(deployed, profile_folders(deployed))
    return deployed
