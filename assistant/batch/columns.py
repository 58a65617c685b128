"""The mapping of columns, with defaults for an export of tickets."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from assistant.batch.html import Html, text_of
from assistant.batch.subjects import Ask, question_of
from assistant.batch.table_writer import write_cell
from assistant.batch.tables import Cell, Formula, Layout, SheetRow
from assistant.turns.views import confidence_of, queries_asked
from contracts.enums import Outcome
from contracts.errors import ConfigError, InputError
from contracts.evidence import ArticleEvidence, EvidenceItem
from contracts.result import StructuredAgentResult
from language.clean import fold


class Column(StrEnum):
    """The columns that can be written for a row, in their order."""

    ANSWER = "answer"
    ARTICLES = "articles"
    CHUNKS = "chunks"
    SPAM_SCORE = "spam_score"
    CONFIDENCE = "confidence"
    QUERIES = "queries"
    INTENT = "intent"
    VERDICT = "verdict"
    OUTCOME = "outcome"
    CHOICES = "choices"
    ENGINEER_INTERVENTION_NEEDED = "engineer_intervention_needed"
    ISSUE_SUMMARY = "issue_summary"
    THREAD = "thread"
    DEGRADED = "degraded"
    ERROR = "error"


_USUAL: Final[Mapping[str, tuple[str, ...]]] = {
    "id": (
        *("id", "ticket id", "request id", "issue id", "case id", "ticket", "ticket number", "request number"),
        *("issue key", "case number", "number", "no", "key"),
        *("ид", "id заявки", "id обращения", "ид заявки", "ид обращения", "номер заявки", "номер обращения", "номер"),
        *("no заявки", "no обращения"),
        *("заявка", "код"),
    ),
    "subject": (
        *("subject", "title", "summary", "topic", "ticket subject", "short description", "name"),
        *("тема", "тема заявки", "тема обращения", "тема письма", "заголовок", "краткое описание", "название"),
    ),
    "description": (
        *("description", "ticket description", "html description", "description html", "body", "html body"),
        *("question", "text", "message", "content", "details", "request"),
        *("описание", "описание заявки", "описание обращения", "текст обращения", "текст заявки", "текст"),
        *("вопрос", "сообщение", "текст письма", "содержание", "содержимое", "обращение", "подробности"),
    ),
}
"""Headers of exports, the likeliest first, as `_key` gives them."""
_NOT_IN_WORDS = re.compile(r"[\W_]+")

Names = Annotated[tuple[str, ...], BeforeValidator(lambda value: (value,) if isinstance(value, str) else value)]


class Input(BaseModel):
    """`[input]`: the columns to read; a column that is not named is found by its usual headers."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: Names | None = None
    subject: Names | None = None
    description: Names | None = None
    ask: Ask = "auto"
    html: Html = "auto"
    sheet: str = ""
    encoding: str = ""
    delimiter: Literal["", ",", ";", "\t"] = ""
    header_row: int = Field(default=0, ge=0)


class Output(BaseModel):
    """`[output]`: the columns to write after those of the input, with their headers, in this order."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    delimiter: Literal["", ",", ";", "\t"] = ""
    columns: dict[Column, str] = Field(
        default_factory=lambda: {column: column.value for column in Column}, min_length=1
    )


class ColumnMap(BaseModel):
    """A mapping file."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    input: Input = Input()
    output: Output = Output()

    @property
    def layout(self) -> Layout:
        """The mapping's settings for reading and writing files."""
        read = self.input
        return Layout(read.sheet, read.encoding, read.delimiter, read.header_row, self.output.delimiter)


def read_column_map(path: Path | None) -> ColumnMap:
    """Read a mapping; without a file, return the defaults.

    Raises:
        ConfigError: The mapping cannot be read, or is wrong.
    """
    if path is None:
        return ColumnMap()
    try:
        return ColumnMap.model_validate(tomllib.loads(path.read_text("utf-8-sig")))
    except OSError as error:
        raise ConfigError(f"{str(path)!r} cannot be read: {error.strerror}.", "Check --columns.") from error
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(
            f"{str(path)!r} is no TOML: {error}.", "Write text in quotes, and a table in [brackets]."
        ) from error
    except ValidationError as error:
        faults = "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors())
        raise ConfigError(
            f"{str(path)!r} is wrong: {faults}.",
            f"[input] has {', '.join(Input.model_fields)}; [output.columns] has {', '.join(Column)}.",
        ) from error


# --------------------------------------------------------------------------------------------------------- reading


@dataclass(frozen=True, slots=True)
class QuestionColumns:
    """The positions of the columns that contain a row's question."""

    id: tuple[int, ...]
    subject: tuple[int, ...]
    description: tuple[int, ...]
    html: Html
    ask: Ask = "auto"

    def name(self, row: SheetRow) -> str:
        """Return the input's name of a row; empty if it has none."""
        return " ".join(" ".join(write_cell(row.cells[place]) for place in self.id).split())[:80]

    def texts(self, row: SheetRow) -> Iterator[str]:
        """Return the unchanged texts that make up a question."""
        yield from (write_cell(row.cells[place]) for place in (*self.subject, *self.description))

    def question(self, row: SheetRow) -> str:
        """Return the text of a row's question: its subject, its description or both.

        Raises:
            InputError: The row cannot be read.
        """
        if row.fault:
            raise InputError(row.fault, "")
        subject = "" if self.ask == "description" else self._text(row, self.subject)
        description = "" if self.ask == "subject" else self._text(row, self.description)
        return question_of(subject, description, self.ask)

    def _text(self, row: SheetRow, places: tuple[int, ...]) -> str:
        if any(isinstance(row.cells[place], Formula) for place in places):
            raise InputError(
                "The question has a formula without a value.", "Open and save the file in a spreadsheet program."
            )
        texts = (text_of(write_cell(row.cells[place]), self.html).strip() for place in places)
        return "\n\n".join(filter(None, texts))


def find_columns(header: Sequence[str], wanted: Input) -> QuestionColumns:
    """Find the columns of a table to read.

    Raises:
        InputError: A column that the mapping names is missing, or there is neither a subject nor a description.
    """
    places: dict[str, int] = {}
    for place, name in enumerate(header):
        places.setdefault(_key(name), place)

    def found(what: str, names: tuple[str, ...] | None) -> tuple[int, ...]:
        if names is None:
            return tuple(places[name] for name in _USUAL[what] if name in places)[:1]
        if missing := [name for name in names if _key(name) not in places]:
            raise InputError(f"IN has no column {missing[0]!r}.", _there_are(header))
        return tuple(places[_key(name)] for name in names)

    reading = QuestionColumns(
        found("id", wanted.id),
        found("subject", wanted.subject),
        found("description", wanted.description),
        wanted.html,
        wanted.ask,
    )
    if wanted.ask in ("subject", "description") and not getattr(reading, wanted.ask):
        raise InputError(f"IN has no column of a {wanted.ask}, which alone is to be asked.", _there_are(header))
    if not reading.subject and not reading.description:
        raise InputError(
            "None of the columns of IN is known as a subject or a description.",
            "Name them in a file for --columns; where the header is not the first row, name that: "
            f"header_row = 2. {_there_are(header)}",
        )
    return reading


def _key(name: str) -> str:
    return _NOT_IN_WORDS.sub(" ", fold(name)).strip()


def _there_are(header: Sequence[str]) -> str:
    return f"It has: {', '.join(repr(name) for name in header[:30] if name)}{', …' if len(header) > 30 else ''}."


# --------------------------------------------------------------------------------------------------------- writing


def write_failure(thread: str, error: str) -> dict[Column, Cell]:
    """Return the cells of a row that has no result."""
    return {Column.THREAD: thread, Column.ERROR: error}


def cells_of(result: StructuredAgentResult, *, structured: bool) -> dict[Column, Cell]:
    """Return the cells of a turn.

    Args:
        result: The turn's result.
        structured: Whether articles, passages and choices are lists of objects, for programs; else they are text.
    """
    plan, record = result.plan, result.hand_off
    confidence = confidence_of(result)
    items, articles = result.evidence, _articles(result.final_articles)
    choices = [choice.model_dump(mode="json") for choice in result.choices]
    return {
        Column.ANSWER: result.answer_text,
        Column.ARTICLES: articles if structured else _as_text(articles, _article_line, "\n"),
        Column.CHUNKS: _chunks(items) if structured else _as_text(_chunks(items), _chunk_text, "\n\n"),
        Column.SPAM_SCORE: plan.spam_score if plan else None,
        Column.CONFIDENCE: None if confidence is None else round(confidence, 3),
        Column.QUERIES: len(queries_asked(result)),
        Column.INTENT: plan.user_intent if plan else None,
        Column.VERDICT: result.guardian.verdict.value if result.guardian else None,
        Column.OUTCOME: result.outcome.value,
        Column.CHOICES: choices if structured else "\n".join(choice["label"] for choice in choices) or None,
        Column.ENGINEER_INTERVENTION_NEEDED: record.engineer_intervention_needed if record else False,
        Column.ISSUE_SUMMARY: record.issue_summary if record else None,
        Column.THREAD: result.thread_id,
        Column.DEGRADED: "\n".join(result.diagnostics.degraded) or None,
        Column.ERROR: fault_of(result) or None,
    }


def fault_of(result: StructuredAgentResult) -> str:
    """Return why a turn ended with an error; empty if it did not."""
    if result.outcome is not Outcome.ERROR:
        return ""
    return "; ".join(result.diagnostics.degraded) or result.block_reason or "the turn ended with an error"


_Json = dict[str, Any]


def _articles(articles: Sequence[ArticleEvidence]) -> list[_Json]:
    return [
        {"title": article.title, "url": article.url or "", "refs": [passage.ref for passage in article.passages]}
        for article in articles
    ]


def _chunks(items: Sequence[EvidenceItem]) -> list[_Json]:
    return [
        {
            "ref": item.ref,
            "title": item.title,
            "heading": item.heading,
            "url": item.url or "",
            "confidence": round(item.confidence, 3),
            "text": item.snippet,
        }
        for item in items
    ]


def _as_text(entries: list[_Json], line: Callable[[_Json], str], between: str) -> str | None:
    return between.join(map(line, entries)) or None


def _article_line(entry: _Json) -> str:
    url = f" — {entry['url']}" if entry["url"] else ""
    return f"{entry['title'] or entry['refs'][0]}{url} [{', '.join(entry['refs'])}]"


def _chunk_text(entry: _Json) -> str:
    heading = f" › {entry['heading']}" if entry["heading"] else ""
    return f"[{entry['ref']}] {entry['title']}{heading} ({entry['confidence']:.2f})\n{entry['text']}"
