"""The `db` source for profiles that let a language model write SQL: lookups first, then the model's statement."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from decimal import Decimal
from typing import Final

from adapters.lookups.lookup_matching import binary_said
from adapters.lookups.lookup_source import Rows, utc_now
from adapters.lookups.sql import DatabaseSource
from adapters.lookups.text_to_sql.statement import Statement
from adapters.lookups.text_to_sql.writing import SqlQuestion, StatementWriter, WritingOutcome
from contracts.calls import ModelCall
from contracts.enums import Language, Source
from contracts.errors import ServerFault, SourceUnavailable
from contracts.evidence import EvidenceItem, Fate, PassageFate, PassageTrace, QueryTrace
from contracts.ports import SearchReply, SearchRequest
from language.clean import clean

CONFIDENCE: Final = 0.7
"""Of a row whose statement passed as it was written."""
CONFIDENCE_REPAIRED: Final = 0.6
"""Of a row whose statement passed at the second try: the model had misread what there is."""
_TITLE: Final = {
    Language.EN: "Database query written by a language model",
    Language.RU: "Запрос к базе данных, составленный языковой моделью",
}


@dataclass(frozen=True, slots=True)
class _QuestionOutcome:
    """What one question came to."""

    written: WritingOutcome
    rows: Rows | None
    error: SourceUnavailable | None
    calls: tuple[ModelCall, ...]


class TextToSqlSource:
    """Evidence from a database: by its lookups or, if no lookup fits a request, by a statement that a model writes.

    The model is asked once for one question, however many queries a turn makes from it. Its statement is checked
    (`checking.py`) and runs under the limits of lookups: read-only by the engine, and the same rows, bytes and seconds.
    A row is an item, `column: value; column: value`, with the reference `db:sql:<hash>#<row>`. Its title says that a
    model wrote the query, and the trace's `lookups` have the statement.

    Confidence is .7, or .6 if the statement had to be written twice. A lookup's is higher, .75 to 1: its author knew
    the tables, and the model knows only their description. Nothing distinguishes a right statement from a plausible
    one, so there is no finer figure. Both values are above the threshold of evidence, .5, and not below the enforced
    mean, .6. A profile that raises these gets no such answers.

    An empty result makes no item. If a lookup finds nothing, that is an answer; here, the cause may be a text that the
    model guessed.

    Args:
        database: Answers lookups, and runs statements.
        writer: Gets statements from the model.
        now: The wall clock; "today" is a day in UTC.
    """

    def __init__(
        self, database: DatabaseSource, writer: StatementWriter, *, now: Callable[[], datetime] = utc_now
    ) -> None:
        self._database = database
        self._writer = writer
        self._now = now
        self._flights: dict[SqlQuestion, _Flight] = {}

    @property
    def kind(self) -> Source:
        """The kind of source this is."""
        return Source.DB

    async def check(self) -> None:
        """Connect without a statement.

        Raises:
            SourceUnavailable: The database cannot be reached.
        """
        await self._database.check()

    async def search(self, request: SearchRequest) -> SearchReply:
        """Run the lookups that the request asks for, or have a statement written and run it.

        If a statement cannot be run, the trace says why, both in `error` and in `degraded`: asking nothing is not the
        same as finding nothing.

        Raises:
            SourceUnavailable: A requested lookup could not be run.
        """
        reply = await self._database.search(request)
        question = request.question or request.query
        if reply.trace.lookups or not question.strip():
            return reply
        today = self._now().astimezone(UTC).date()
        # All queries of a turn come at once; the first says what is sought.
        known = next((w for w in self._flights if (w.question, w.language) == (question, request.language)), None)
        wanted = known or SqlQuestion(question, request.query, request.language, today)
        asked, first = await self._ask_shared(wanted)
        return _reply(request, asked if first else replace(asked, calls=()))

    async def _ask_shared(self, wanted: SqlQuestion) -> tuple[_QuestionOutcome, bool]:
        """Ask, or wait for who is asking the same already; the task ends with the last of those who wait."""
        flight = self._flights.get(wanted)
        first = flight is None
        if flight is None:
            flight = self._flights[wanted] = _Flight(asyncio.create_task(self._ask(wanted)))
        flight.waiting += 1
        try:
            return await asyncio.shield(flight.task), first
        finally:
            flight.waiting -= 1
            if not flight.waiting:
                flight.task.cancel()
                self._flights.pop(wanted, None)

    async def _ask(self, wanted: SqlQuestion) -> _QuestionOutcome:
        try:
            written, calls = await self._writer.write(wanted)
        except ServerFault as fault:
            error = SourceUnavailable(f"No statement could be written. {fault.message}", fault.way_out)
            return _QuestionOutcome(WritingOutcome(None), None, error, fault.calls)
        if written.refused:
            error = SourceUnavailable(
                f"The statement that the model wrote was not run: {written.refused}.",
                "Ask in other words, or name what it needs in the profile (database.text_to_sql).",
            )
            return _QuestionOutcome(written, None, error, calls)
        if written.statement is None:
            return _QuestionOutcome(written, None, None, calls)
        statement = written.statement
        try:
            rows = await self._database.run(statement.text, statement.values, statement.readable)
        except SourceUnavailable as error:
            return _QuestionOutcome(written, None, error, calls)
        return _QuestionOutcome(written, rows, None, calls)


@dataclass(slots=True, eq=False)
class _Flight:
    task: asyncio.Task[_QuestionOutcome]
    waiting: int = 0


def reference(statement: Statement) -> str:
    """Return the name of a statement with its values: equal ones have equal names, different ones different names."""
    whole = json.dumps([statement.text, statement.values], ensure_ascii=False, sort_keys=True)
    return f"db:sql:{hashlib.sha256(whole.encode()).hexdigest()[:12]}"


def _reply(request: SearchRequest, asked: _QuestionOutcome) -> SearchReply:
    statement = asked.written.statement
    told = QueryTrace(query=request.query, source=Source.DB, expanded=request.expand)
    if statement is not None:
        told = told.model_copy(update={"lookups": (_show_statement(statement),)})
    if asked.error is not None:
        said = str(asked.error)
        return SearchReply((), told.model_copy(update={"error": said, "degraded": f"db: {said}"}), asked.calls)
    items = _items(request, asked) if statement is not None and asked.rows is not None else []
    count = max(request.top_k, 0)
    rows = [PassageTrace.of(item) for item in items[:count]]
    rows += [PassageTrace.of(item, PassageFate(Fate.OVER_LIMIT)) for item in items[count:]]
    told = told.having(items[:count], request.threshold, rows)
    if asked.rows is not None and asked.rows.cut:
        told = told.model_copy(update={"degraded": f"db: {asked.rows.cut}"})
    return SearchReply(tuple(items[:count]), told, asked.calls)


def _show_statement(statement: Statement) -> str:
    values = ", ".join(f"{name}={value!r}" for name, value in statement.values.items())
    return f"{reference(statement)}: {statement.text}{f' ({values})' if values else ''}"


def _items(request: SearchRequest, asked: _QuestionOutcome) -> list[EvidenceItem]:
    assert asked.written.statement is not None and asked.rows is not None  # noqa: S101, PT018  # its caller has looked
    name = reference(asked.written.statement)
    confidence = CONFIDENCE_REPAIRED if asked.written.repaired else CONFIDENCE
    language = request.language or Language.EN
    found = f"{len(asked.rows.rows)}{'+' if asked.rows.cut else ''}"
    return [
        EvidenceItem(
            source=Source.DB,
            ref=f"{name}#{number}",
            document=f"{name}#{number}",
            snippet=row_in_words(row, language),
            confidence=confidence,
            score=confidence,
            title=_TITLE[language],
            language=language,
            found=found,
        )
        for number, row in enumerate(asked.rows.rows, 1)
        if f"{name}#{number}" not in request.exclude
    ]


def row_in_words(row: Mapping[str, object], language: Language) -> str:
    """Return a row as `column: value; column: value`, numbers without needless decimal places."""
    return "; ".join(f"{column}: {_value(value, language)}" for column, value in row.items())


def _value(value: object, language: Language) -> str:
    if value is None:
        return "-"
    if isinstance(value, bytes):
        return binary_said(value, language)
    if isinstance(value, float | Decimal):
        return f"{value:.10g}"
    return " ".join(clean(str(value)).split())
