"""The evidence source of lookups: the common part of databases and graphs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Final

from adapters.lookups.lookup_matching import (
    Chooser,
    LookupFault,
    OutOfRange,
    arguments_from,
    beyond,
    check_call,
    reference,
    said_in,
    sentence,
)
from contracts.enums import Source
from contracts.errors import SourceUnavailable
from contracts.evidence import EvidenceItem, Fate, PassageFate, PassageTrace, QueryTrace
from contracts.lookups import Lookup, LookupCall, LookupValue, Value
from contracts.ports import SearchReply, SearchRequest


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows of one statement, in its order, each by column; `cut` says why more rows are missing."""

    rows: tuple[Mapping[str, object], ...]
    cut: str = ""


Ask = Callable[[Lookup, Mapping[str, Value]], Awaitable[Rows]]
"""Runs a lookup's statement with values for all of its arguments; raises `SourceUnavailable`."""
Calls = Callable[[SearchRequest], Awaitable[Sequence[tuple[LookupCall, float]]]]
"""Says which lookups a request wants, with values, and how surely, 0 to 1; raises `SourceUnavailable`."""
UNASKED: Final = 0.7
"""Confidence of what is looked up for the type of a request alone: on topic, but nobody has asked for it."""


def utc_now() -> datetime:
    """Return the wall clock."""
    return datetime.now(UTC)


class LookupSource:
    """Evidence from the lookups of a profile.

    The request's own lookups of this kind of source are run. If there are none, the lookup with the questions most
    similar to the query is run. Each row becomes an item: a sentence in the language of the request, with the reference
    `db:<lookup>(<values>)#<row>`. An empty result becomes an item, too: that nothing was found is an answer.

    Confidence says how certain it is that this was asked; the engine's own result is certain. It is 1.0 if the plan
    named the lookup, because then the planner has read the question. It is `(1 + likeness) / 2`, from .75 to 1, if the
    query's words chose it (`adapters/lookups/lookup_matching.py`). If neither asks for a lookup, or the lookups have no
    row, the lookups for the request's type are run, with the confidence `UNASKED`.

    If a row comes from a page, a citation shows that page: the columns `page_path`, `page_title`, `page_heading`,
    `page_url` and `page_kb_id` name it.

    Args:
        kind: `db` or `neo4j`.
        lookups: All of the profile; those of other kinds are ignored.
        ask: The engine.
        calls: Another way to choose lookups than only by the words.
        of_type: Another way to choose the lookups for the request's type.
        now: The wall clock; "today" is a day in UTC.
    """

    def __init__(
        self,
        kind: Source,
        lookups: Sequence[Lookup],
        ask: Ask,
        *,
        calls: Calls | None = None,
        of_type: Calls | None = None,
        now: Callable[[], datetime] = utc_now,
    ) -> None:
        self._kind = kind
        self._lookups = {lookup.name: lookup for lookup in lookups if lookup.source is kind}
        self._chooser = Chooser(tuple(self._lookups.values()))
        self._run = ask
        self._calls = calls
        self._for_type = of_type or self._of_type
        self._now = now

    @property
    def kind(self) -> Source:
        """The kind of source this is."""
        return self._kind

    async def search(self, request: SearchRequest) -> SearchReply:
        """Run what the request asks for.

        Raises:
            SourceUnavailable: Nothing that it asks for could be run. If only a part could, the trace says why.
        """
        today = self._now().astimezone(UTC).date()
        faults: list[SourceUnavailable] = []
        notes: list[str] = []
        asked = self._list_wanted(await self._choose_calls(request, today), today)
        items = await self._all_items(asked, request, faults, notes)
        if not faults and all(item.found == "0" for item in items):
            of_type = self._list_wanted(await self._for_type(request), today)
            more = await self._all_items(of_type, request, faults, notes)
            # What shares the question's words stands in for a lookup that has no row; a figure of all faults does not.
            items = more if any(item.confidence > UNASKED for item in more) else [*items, *more]
            asked |= of_type
        if faults and not items:
            raise faults[0]
        kept = [item for item in items if item.document_key not in request.exclude]
        kept.sort(key=lambda item: -item.confidence)
        count = max(request.top_k, 0)
        short = "; ".join((*map(str, faults), *notes))
        told = self._trace(request, kept[:count], kept[count:], tuple(asked))
        return SearchReply(
            tuple(kept[:count]), told.model_copy(update={"degraded": f"{self._kind}: {short}" if short else ""})
        )

    async def _all_items(
        self,
        asked: Mapping[str, _LookupRequest | _Faulty],
        request: SearchRequest,
        faults: list[SourceUnavailable],
        notes: list[str],
    ) -> list[EvidenceItem]:
        items: list[EvidenceItem] = []
        for wanted in asked.values():
            try:
                found, cut = await self._items(wanted, request)
            except SourceUnavailable as error:
                faults.append(error)
                continue
            items += found
            notes += [cut] if cut else []
        return items

    async def _choose_calls(self, request: SearchRequest, today: date) -> Sequence[tuple[LookupCall, float]]:
        if self._calls is not None:
            return await self._calls(request)
        calls = [(call, 1.0) for call in request.lookups if call.name in self._lookups]
        if not calls and request.query.strip():
            found = self._chooser.choose(request.query, today)
            calls = [(found.call, (1 + found.likeness) / 2)] if found else []
        return calls

    async def _of_type(self, request: SearchRequest) -> Sequence[tuple[LookupCall, float]]:
        today = self._now().astimezone(UTC).date()
        calls: list[tuple[LookupCall, float]] = []
        for lookup in self._lookups.values():
            values = arguments_from(request.query, lookup, today)
            needed = {argument.name for argument in lookup.arguments if argument.default is None}
            if request.request_type in lookup.request_types and needed <= values.keys():
                given = tuple(LookupValue(name=name, value=value) for name, value in values.items())
                calls.append((LookupCall(name=lookup.name, arguments=given), UNASKED))
        return calls

    def _list_wanted(
        self, calls: Sequence[tuple[LookupCall, float]], today: date
    ) -> dict[str, _LookupRequest | _Faulty]:
        wanted: dict[str, _LookupRequest | _Faulty] = {}
        for call, confidence in calls:
            lookup = self._lookups[call.name]
            try:
                values = check_call(call, lookup, today)
            except LookupFault as fault:
                wanted[f"{call.name}: {fault}"] = _Faulty(fault, lookup, confidence)
            else:
                wanted[reference(lookup, values)] = _LookupRequest(lookup, values, confidence)
        return wanted

    async def _items(self, wanted: _LookupRequest | _Faulty, request: SearchRequest) -> tuple[list[EvidenceItem], str]:
        if isinstance(wanted, _Faulty):
            if isinstance(wanted.fault, OutOfRange):
                return [self._out_of_range(wanted, wanted.fault, request)], ""
            raise SourceUnavailable(
                f"What was to be looked up cannot be: {wanted.fault}.",
                "Ask again with a value that it takes; the profile says which.",
            )
        lookup, values = wanted.lookup, wanted.values
        found = await self._run(lookup, values)
        language = said_in(request.language, lookup)
        try:
            texts = [sentence(lookup.row[language], row, values, language) for row in found.rows]
            texts = texts or [sentence(lookup.none[language], {}, values, language)]
        except LookupFault as fault:
            raise SourceUnavailable(
                f"A row of the lookup {lookup.name!r} cannot be put into words: {fault}.",
                "Correct its row in the profile: write a column of the statement in braces.",
            ) from fault
        name = reference(lookup, values)
        counted = f"{len(found.rows)}{'+' if found.cut else ''}"
        items = [
            _place_on_page(
                EvidenceItem(
                    source=self._kind,
                    ref=f"{name}#{number}",
                    document=f"{name}#{number}",
                    snippet=text,
                    confidence=wanted.confidence,
                    score=wanted.confidence,
                    title=lookup.title[language],
                    language=language,
                    found=counted,
                ),
                row,
            )
            for number, (text, row) in enumerate(zip(texts, found.rows or ({},), strict=True), 1)
        ]
        return items, f"{lookup.name}: {found.cut}" if found.cut else ""

    def _out_of_range(self, wanted: _Faulty, fault: OutOfRange, request: SearchRequest) -> EvidenceItem:
        """Return what says so: the engine was not asked, but there is nothing wrong with it either."""
        lookup, argument = wanted.lookup, fault.argument
        language = said_in(request.language, lookup)
        name = reference(lookup, {argument.name: fault.value})
        return EvidenceItem(
            source=self._kind,
            ref=f"{name}#1",
            document=f"{name}#1",
            snippet=beyond(fault, lookup, language),
            confidence=wanted.confidence,
            score=wanted.confidence,
            title=lookup.title[language],
            language=language,
            found="0",
        )

    def _trace(
        self, request: SearchRequest, kept: Sequence[EvidenceItem], more: Sequence[EvidenceItem], asked: tuple[str, ...]
    ) -> QueryTrace:
        rows = [PassageTrace.of(item) for item in kept]
        rows += [PassageTrace.of(item, PassageFate(Fate.OVER_LIMIT)) for item in more]
        told = QueryTrace(query=request.query, source=self._kind, expanded=request.expand, lookups=asked)
        return told.having(kept, request.threshold, rows)


def _place_on_page(item: EvidenceItem, row: Mapping[str, object]) -> EvidenceItem:
    """Return an item with the page that its row stands on."""
    says = {
        name: value
        for name in ("path", "title", "heading", "url", "kb_id")
        if isinstance(value := row.get(f"page_{name}"), int if name == "kb_id" else str) and value != ""
    }
    if "path" in says:
        says["document"] = says.pop("path")
    return item.model_copy(update=says)


@dataclass(frozen=True, slots=True)
class _LookupRequest:
    lookup: Lookup
    values: Mapping[str, Value]
    confidence: float


@dataclass(frozen=True, slots=True)
class _Faulty:
    fault: LookupFault
    lookup: Lookup
    confidence: float
