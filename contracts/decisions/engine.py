"""Decision tables: evaluated, printed as Markdown, and proved complete.

Each cell is a set of values of a closed kind, never a lambda. So the regions into which a table divides its inputs can
be enumerated exactly. One sample from each region shows whether a case is missing, whether a row can ever win, and
whether two rows overlap. (DMN 1.5, section 8: decision tables and their hit policies.)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum, StrEnum
from itertools import pairwise, product
from typing import Generic, TypeVar

from contracts.errors import DecisionError, TableError

Outcome = TypeVar("Outcome", covariant=True)
Value = StrEnum | bool | float


class HitPolicy(StrEnum):
    """Which row wins: the only one that matches, or the first of several (DMN's letters)."""

    UNIQUE = "U"
    FIRST = "F"


class _Any(Enum):
    ANY = "–"

    def holds(self, value: Value) -> bool:
        return True

    def cuts(self) -> tuple[float, ...]:
        return ()

    def __str__(self) -> str:
        return self.value


ANY = _Any.ANY
"""The cell that every value fits."""


@dataclass(frozen=True, slots=True)
class OneOf:
    """A cell that fits any of the named members."""

    members: tuple[StrEnum | bool, ...]

    def holds(self, value: Value) -> bool:
        return any(value is member for member in self.members)

    def cuts(self) -> tuple[float, ...]:
        return ()

    def __str__(self) -> str:
        return ", ".join(_show(member) for member in self.members)


@dataclass(frozen=True, slots=True)
class Below:
    """A cell that fits a number below the limit."""

    limit: float

    def holds(self, value: Value) -> bool:
        return isinstance(value, int | float) and value < self.limit

    def cuts(self) -> tuple[float, ...]:
        return (self.limit,)

    def __str__(self) -> str:
        return f"< {self.limit:g}"


@dataclass(frozen=True, slots=True)
class AtLeast:
    """A cell that fits a number equal to or above the limit."""

    limit: float

    def holds(self, value: Value) -> bool:
        return isinstance(value, int | float) and value >= self.limit

    def cuts(self) -> tuple[float, ...]:
        return (self.limit,)

    def __str__(self) -> str:
        return f"≥ {self.limit:g}"


Cell = _Any | OneOf | Below | AtLeast


def one_of(*members: StrEnum | bool) -> OneOf:
    """Build a cell that fits the named members."""
    return OneOf(members)


@dataclass(frozen=True, slots=True)
class ChoiceColumn:
    """A column with values from a closed set."""

    members: tuple[StrEnum | bool, ...]

    def accepts(self, value: object) -> bool:
        return any(value is member for member in self.members)

    def samples(self, cells: tuple[Cell, ...]) -> tuple[Value, ...]:
        return self.members

    def fits(self, cell: Cell) -> bool:
        return cell is ANY or (isinstance(cell, OneOf) and all(self.accepts(member) for member in cell.members))

    def __str__(self) -> str:
        return "one of " + ", ".join(_show(member) for member in self.members)


@dataclass(frozen=True, slots=True)
class Number:
    """A column of numbers from low to high, both included; NaN is out of range."""

    low: float
    high: float

    def accepts(self, value: object) -> bool:
        return isinstance(value, int | float) and not isinstance(value, bool) and self.low <= value <= self.high

    def samples(self, cells: tuple[Cell, ...]) -> tuple[Value, ...]:
        limits = {cut for cell in cells for cut in cell.cuts() if self.low < cut < self.high}
        cuts = sorted({self.low, self.high, *limits})
        return tuple(sorted({*cuts, *((a + b) / 2 for a, b in pairwise(cuts))}))

    def fits(self, cell: Cell) -> bool:
        return cell is ANY or not isinstance(cell, OneOf)

    def __str__(self) -> str:
        return f"a number from {self.low:g} to {self.high:g}"


Column = ChoiceColumn | Number
YES_NO = ChoiceColumn((True, False))


@dataclass(frozen=True, slots=True)
class DecisionRow(Generic[Outcome]):
    """One row: an id, the cells that are not `ANY`, the outcome, and the reason."""

    id: str
    when: Mapping[str, Cell]
    then: Outcome
    because: str


@dataclass(frozen=True, slots=True)
class Decision(Generic[Outcome]):
    """One outcome, with the table, the row and the inputs that led to it."""

    table: str
    row: str
    outcome: Outcome
    inputs: Mapping[str, Value]
    limits: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Proof:
    """The faults of a table, of three kinds; the table is sound if all three are empty."""

    gaps: tuple[Mapping[str, Value], ...]
    dead: tuple[str, ...]
    overlaps: tuple[tuple[str, str], ...]

    @property
    def holds(self) -> bool:
        return not (self.gaps or self.dead or self.overlaps)


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionTable(Generic[Outcome]):
    """Typed columns, rows over them, and the limits that the rows were built with.

    Raises:
        TableError: A row names an unknown column, a cell does not fit its column, or an id repeats.
    """

    id: str
    title: str
    hit: HitPolicy
    columns: Mapping[str, Column]
    rows: tuple[DecisionRow[Outcome], ...]
    limits: Mapping[str, float] = field(default_factory=dict[str, float])

    def __post_init__(self) -> None:
        ids = [row.id for row in self.rows]
        if repeated := {name for name in ids if ids.count(name) > 1}:
            raise TableError(f"{self.id}: row ids used twice: {sorted(repeated)}.")
        for row in self.rows:
            for name, cell in row.when.items():
                if name not in self.columns:
                    raise TableError(f"{self.id}/{row.id}: there is no column {name!r}.")
                if not self.columns[name].fits(cell):
                    raise TableError(f"{self.id}/{row.id}: {name} cannot be {cell}.")

    def decide(self, **inputs: Value) -> Decision[Outcome]:
        """Return the winning row's outcome.

        Raises:
            DecisionError: An input is missing, unknown or outside its column, or no row covers the inputs.
        """
        if inputs.keys() != self.columns.keys():
            raise DecisionError(f"{self.id} needs {sorted(self.columns)}, but was given {sorted(inputs)}.")
        for name, column in self.columns.items():
            if not column.accepts(inputs[name]):
                raise DecisionError(f"{self.id}: {name} is {inputs[name]!r}, but must be {column}.")
        for row in self.rows:
            if _matches(row, inputs):
                return Decision(self.id, row.id, row.then, inputs, self.limits)
        raise DecisionError(f"{self.id}: no row covers {inputs}.")

    def regions(self) -> Iterator[dict[str, Value]]:
        """Yield one input from every region into which the cells divide the inputs."""
        for values in product(*self._samples()):
            yield dict(zip(self.columns, values, strict=True))

    def _samples(self) -> list[tuple[Value, ...]]:
        return [
            column.samples(tuple(row.when[name] for row in self.rows if name in row.when))
            for name, column in self.columns.items()
        ]

    def prove(self) -> Proof:
        """Find regions without a row, rows without a region, and regions with two rows.

        Each column computes once, as bits, which rows each value fits. Overlaps are combined column by column, merging
        regions with the same rows. Regions are searched one by one only to list gaps, if there is one.
        """
        samples = self._samples()
        fitting = [
            [
                sum(row.when.get(name, ANY).holds(value) << place for place, row in enumerate(self.rows))
                for value in values
            ]
            for name, values in zip(self.columns, samples, strict=True)
        ]
        met = {-1}
        for bits in fitting:
            met = {rows & fits for rows in met for fits in set(bits)}
        gaps: list[Mapping[str, Value]] = []
        if 0 in met:
            met.remove(0)
            for values, bits in zip(product(*samples), product(*fitting), strict=True):
                rows = -1
                for fits in bits:
                    rows &= fits
                if not rows:
                    gaps.append(dict(zip(self.columns, values, strict=True)))
        hits = [[row.id for place, row in enumerate(self.rows) if rows >> place & 1] for rows in met]
        winners = {first for first, *_ in hits}
        overlaps = {(first, other) for first, *others in hits for other in others}
        dead = tuple(row.id for row in self.rows if row.id not in winners)
        return Proof(tuple(gaps), dead, tuple(sorted(overlaps)))

    def to_markdown(self) -> str:
        """Return the table as Markdown, one row a line; the first column's head is the id and the hit policy."""
        head = [f"{self.id} ({self.hit})", *self.columns, "outcome", "because"]
        body = [
            [row.id, *(str(row.when.get(name, ANY)) for name in self.columns), f"**{row.then}**", row.because]
            for row in self.rows
        ]
        lines = [head, ["---"] * len(head), *body]
        return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


def _matches(row: DecisionRow[object], inputs: Mapping[str, Value]) -> bool:
    return all(cell.holds(inputs[name]) for name, cell in row.when.items())


def _show(member: StrEnum | bool) -> str:
    if isinstance(member, bool):
        return "yes" if member else "no"
    return f"`{member}`"
