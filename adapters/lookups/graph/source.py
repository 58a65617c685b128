"""Evidence from a graph: the lookups of a profile, with the names that the graph itself has."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime

from adapters.lookups.graph.engine import GraphEngine, StatementLimits, check, name_statement
from adapters.lookups.graph.naming import (
    NameMatch,
    NamePlace,
    has_all_values,
    likeness,
    named_in,
    namings,
    nearest,
    resolve_name,
)
from adapters.lookups.lookup_matching import arguments_from
from adapters.lookups.lookup_source import UNASKED, LookupSource, Rows, utc_now
from adapters.threads import in_thread
from contracts.enums import Source
from contracts.lookups import Lookup, LookupCall, LookupValue, Value
from contracts.ports import SearchReply, SearchRequest

MOST_NAMES = 20_000
_NAMES = StatementLimits(rows=MOST_NAMES, size=2_000_000)
_LANGUAGE = "language"


class GraphSource:
    """The graph as an evidence source: `LookupSource` says what an item and its confidence are.

    The request's own lookups are run. If none of them is for the graph, the source compares the lookups' questions with
    the words around a graph name in the query, and runs the most similar. Of equally similar ones it runs those with
    the name that covers most of the query. That may be several: two statements can answer one question.

    If the words ask for no lookup, the lookups of the request's type are run. They are about the name that shares most
    of its words with the query (`naming.nearest`); their confidence is `(1 + share) / 2`.

    A value that is not a name of the graph but means one becomes that name. An argument called `language` gets the
    request's language if nobody gives one.

    Args:
        engine: Runs the statements, in threads.
        lookups: All of the profile.
        limits: The limits of one statement.
        now: The wall clock.

    Raises:
        ConfigError: A statement does more than read, or is not of the portable subset.
    """

    def __init__(
        self,
        engine: GraphEngine,
        lookups: Sequence[Lookup],
        limits: StatementLimits | None = None,
        *,
        now: Callable[[], datetime] = utc_now,
    ) -> None:
        self._engine = engine
        self._limits = limits or StatementLimits()
        self._lookups = {lookup.name: lookup for lookup in lookups if lookup.source is Source.NEO4J}
        for lookup in self._lookups.values():
            check(lookup.statement, lookup.name)
        self._namings = {lookup.name: namings(lookup) for lookup in self._lookups.values()}
        self._source = LookupSource(
            Source.NEO4J, lookups, self._ask, calls=self._calls, of_type=self._type_calls, now=now
        )
        self._now = now

    @property
    def kind(self) -> Source:
        """The kind of source: a graph."""
        return Source.NEO4J

    async def search(self, request: SearchRequest) -> SearchReply:
        """Run what the request asks for.

        Raises:
            SourceUnavailable: The graph cannot be asked, or nothing that the request asks for could be run.
        """
        return await self._source.search(request)

    def count(self) -> int:
        """Return how many nodes there are.

        Raises:
            SourceUnavailable: The graph cannot be asked.
        """
        (row,) = self._engine.run("MATCH (n) RETURN count(n) AS nodes", {}, self._limits).rows
        return int(row["nodes"] or 0)

    def close(self) -> None:
        """Release the graph."""
        self._engine.close()

    async def _ask(self, lookup: Lookup, values: Mapping[str, Value]) -> Rows:
        taken = await in_thread(self._engine.run, lookup.statement, values, self._limits, name_statement(lookup.name))
        return Rows(tuple(taken.rows), taken.cut)

    async def _calls(self, request: SearchRequest) -> list[tuple[LookupCall, float]]:
        own = [call for call in request.lookups if call.name in self._lookups]
        if not own and not request.query.strip():
            return []
        return await in_thread(self._choose, request, own)

    # --------------------------------------------------------------------------------------------- what is looked up

    def _choose(self, request: SearchRequest, own: list[LookupCall]) -> list[tuple[LookupCall, float]]:
        known: dict[NamePlace, list[str]] = {}
        if own:
            return [(self._complete(self._resolve(call, known), request), 1.0) for call in own]
        ranked = [found for lookup in self._lookups.values() if (found := self._by_words(request, lookup, known))]
        best = max((rank for _, rank in ranked), default=None)
        return [(self._complete(call, request), rank[0]) for call, rank in ranked if rank == best]

    async def _type_calls(self, request: SearchRequest) -> list[tuple[LookupCall, float]]:
        return await in_thread(self._of_type, request) if request.request_type and request.query.strip() else []

    def _of_type(self, request: SearchRequest) -> list[tuple[LookupCall, float]]:
        """Return the lookups of the request's type, each about what shares most with the query."""
        known: dict[NamePlace, list[str]] = {}
        calls: list[tuple[LookupCall, float]] = []
        for lookup in self._lookups.values():
            if request.request_type not in lookup.request_types:
                continue
            values = arguments_from(request.query, lookup, self._now().astimezone(UTC).date())
            shares: list[float] = []
            for argument, naming in self._namings[lookup.name].items():
                if found := nearest(request.query, self._names(naming, lookup.name, known), request.language):
                    values[argument] = found.name
                    shares.append(found.share)
            if len(shares) == len(self._namings[lookup.name]) and has_all_values(values, lookup):
                calls.append(
                    (self._complete(_call(lookup, values), request), (1 + min(shares)) / 2 if shares else UNASKED)
                )
        return calls

    def _by_words(
        self, request: SearchRequest, lookup: Lookup, known: dict[NamePlace, list[str]]
    ) -> tuple[LookupCall, tuple[float, int]] | None:
        """Return the call of a lookup with its rank: the likeness, then how little of the query is left unsaid."""
        rest, values = request.query, dict[str, str]()
        for argument, naming in self._namings[lookup.name].items():
            found: NameMatch | None = named_in(rest, self._names(naming, lookup.name, known))
            if found is None:
                return None
            rest, values[argument] = found.rest, found.name
        like = likeness(rest, lookup)
        if not like:
            return None
        # Only now: what is quoted may have been a name.
        values = arguments_from(request.query, lookup, self._now().astimezone(UTC).date()) | values
        if not has_all_values(values, lookup):
            return None
        return _call(lookup, values), (like, -len(rest.split()))

    def _resolve(self, call: LookupCall, known: dict[NamePlace, list[str]]) -> LookupCall:
        """Return a call with the graph's names for its values; a value that means none stays, and finds nothing."""
        values = {value.name: value.value for value in call.arguments}
        for argument, naming in self._namings[call.name].items():
            if argument in values:
                names = self._names(naming, call.name, known)
                values[argument] = resolve_name(values[argument], names) or values[argument]
        return _call(self._lookups[call.name], values)

    def _complete(self, call: LookupCall, request: SearchRequest) -> LookupCall:
        lookup = self._lookups[call.name]
        values = {value.name: value.value for value in call.arguments}
        languages = next((a.choices for a in lookup.arguments if a.name == _LANGUAGE), ())
        if request.language in languages and _LANGUAGE not in values:
            values[_LANGUAGE] = str(request.language)
        return _call(lookup, values)

    def _names(self, naming: NamePlace, lookup: str, known: dict[NamePlace, list[str]]) -> list[str]:
        if naming not in known:
            rows = self._engine.run(naming.statement, {}, _NAMES, name_statement(lookup)).rows
            known[naming] = [str(row["name"]) for row in rows if row["name"] is not None]
        return known[naming]


def _call(lookup: Lookup, values: Mapping[str, str]) -> LookupCall:
    return LookupCall(
        name=lookup.name, arguments=tuple(LookupValue(name=name, value=value) for name, value in values.items())
    )
