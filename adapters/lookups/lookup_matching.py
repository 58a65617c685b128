"""The choice of lookups for a query, and of their values. Pure functions of words and dates."""

from __future__ import annotations

import math
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cache
from typing import Final

from adapters.lookups.date_ranges import period_of, without_periods
from adapters.lookups.day_expressions import day
from contracts.enums import Language
from contracts.lookups import ArgumentType, Lookup, LookupArgument, LookupCall, LookupValue, Value
from language.clean import clean, fold
from language.figures.values import values as values_in
from language.lexicon import is_vague
from language.memo import remember
from language.patterns import read_wording
from language.words import Phrases, all_stems, stem, stop_words

_WORDING: Final = read_wording(__name__)

LEAST_LIKENESS: Final = 0.5
"""Below it, a question is not one that the lookup answers. Of 57 questions in other words than the bundled
profile's, 49 had the right lookup and 1 a wrong one; of 223 labelled questions about the handbook, none had one."""
OWN_WORDS: Final = 0.95
"""From here on, a question is one of the lookup's own: such a one asks for something even where it is vague."""
_LONGEST_TEXT: Final = 60


class LookupFault(ValueError):
    """A lookup's call that cannot be made as it is."""


class OutOfRange(LookupFault):
    """A number is beyond the bounds of its argument."""

    def __init__(self, why: str, argument: LookupArgument, value: Value) -> None:
        super().__init__(why)
        self.argument = argument
        self.value = value


@dataclass(frozen=True, slots=True)
class LookupMatch:
    """A lookup that a query's words ask for.

    Attributes:
        likeness: 0 to 1, the similarity of the query to one of the lookup's own questions.
    """

    call: LookupCall
    likeness: float


class Chooser:
    """The choice of a lookup by the words of a query.

    Likeness is Dice's coefficient, `2 * shared / (one + other)`, of the query's stems and the stems of the lookup's
    most similar question. A stem's weight is `log(1 + (n + 1) / (.5 + lookups with it))`. A stem that no lookup has
    weighs most. A stop word weighs 1, because "how many" and "which" ask for different things. Numbers and periods do
    not count: they are the values of arguments.

    Args:
        lookups: To choose from.
    """

    def __init__(self, lookups: Sequence[Lookup]) -> None:
        self._lookups = tuple(lookups)
        self._own = {
            lookup.name: [_content(text) for texts in lookup.answers.values() for text in texts] for lookup in lookups
        }
        having = Counter(word for own in self._own.values() for word in frozenset[str]().union(*own))
        self._weights = {word: self._weight(count) for word, count in having.items()}
        self._unknown = self._weight(0)

    def _weight(self, having: int) -> float:
        return math.log(1 + (len(self._lookups) + 1) / (0.5 + having))

    def choose(self, query: str, today: date) -> LookupMatch | None:
        """Return the lookup with the questions most similar to the query, and the query's values for it.

        A lookup that needs a value that the query does not have is skipped. "It does not work" asks for no lookup,
        unless it is exactly a lookup's question.
        """
        least = OWN_WORDS if is_vague(query) else LEAST_LIKENESS
        ranked = sorted(
            ((self.likeness(query, lookup), lookup) for lookup in self._lookups),
            key=lambda pair: (-pair[0], pair[1].name),
        )
        for like, lookup in ranked:
            if like < least:
                return None
            given = arguments_from(query, lookup, today)
            if all(argument.name in given or argument.default is not None for argument in lookup.arguments):
                values = tuple(LookupValue(name=name, value=value) for name, value in given.items())
                return LookupMatch(LookupCall(name=lookup.name, arguments=values), like)
        return None

    def likeness(self, query: str, lookup: Lookup) -> float:
        """Return the similarity of a query to the most similar of a lookup's own questions, 0 to 1."""
        asked = _content(query)
        return max((self._dice(asked, own) for own in self._own[lookup.name]), default=0.0)

    def _dice(self, one: frozenset[str], other: frozenset[str]) -> float:
        both = self._sum(one) + self._sum(other)
        return 2 * self._sum(one & other) / both if both else 0.0

    def _sum(self, words: frozenset[str]) -> float:
        stop = _stop_stems()
        return sum(1.0 if word in stop else self._weights.get(word, self._unknown) for word in words)


@remember
def _content(text: str) -> frozenset[str]:
    return frozenset(word for word in all_stems(without_periods(fold(clean(text)))) if not word.isdecimal())


@cache
def _stop_stems() -> frozenset[str]:
    return frozenset(map(stem, stop_words()))


# ------------------------------------------------------------------------------------------------------- the values


def check_call(call: LookupCall, lookup: Lookup, today: date) -> dict[str, Value]:
    """Return a value for each argument of a lookup: the call's, or the default.

    Raises:
        OutOfRange: A number is out of bounds.
        LookupFault: A value is missing, has the wrong type, or belongs to no argument.
    """
    given = {value.name: value.value for value in call.arguments}
    known = {argument.name for argument in lookup.arguments}
    if unknown := sorted(given.keys() - known):
        raise LookupFault(f"{lookup.name} has no argument {unknown[0][:40]!r}")
    found: dict[str, Value] = {}
    for argument in lookup.arguments:
        text = given.get(argument.name, argument.default)
        if text is None:
            raise LookupFault(f"{lookup.name} needs a value for {argument.name}")
        try:
            value = argument.read(text)
            found[argument.name] = day(str(value), today).isoformat() if argument.type is ArgumentType.DATE else value
        except ValueError as error:
            beyond = _without_bounds(argument, text)
            if beyond is not None:
                raise OutOfRange(f"{lookup.name}: {error}", argument, beyond) from error
            raise LookupFault(f"{lookup.name}: {error}") from error
    return found


def _without_bounds(argument: LookupArgument, text: str) -> Value | None:
    """Return the number that a text stands for where only the bounds keep it out."""
    if argument.type not in (ArgumentType.INTEGER, ArgumentType.NUMBER):
        return None
    try:
        return argument.model_copy(update={"least": None, "most": None}).read(text)
    except ValueError:
        return None


def arguments_from(query: str, lookup: Lookup, today: date) -> dict[str, str]:
    """Return a query's values for a lookup's arguments, as a plan would write them.

    The first date of a lookup is the beginning of a period, the second its end. A number comes before or after a cue;
    if the cue counts days, a period up to today is counted in days. A choice is found by its words. A text is a
    quotation or an identifier, or else the words after a cue.
    """
    tidy = clean(query)
    period = period_of(tidy, today)
    ends = iter(period or ())
    found: dict[str, str] = {}
    for argument in lookup.arguments:
        value: str | None = None
        match argument.type:
            case ArgumentType.DATE:
                value = next(ends, None)
            case ArgumentType.INTEGER | ArgumentType.NUMBER:
                value = _days(argument, period, today) or _number(argument, tidy)
            case ArgumentType.CHOICE:
                value = next(iter(Phrases(argument.choices).find(tidy)), None)
            case ArgumentType.TEXT:
                value = next(_texts(argument, tidy), None)
        if value is not None:
            found[argument.name] = value
    return found


def _cues(argument: LookupArgument) -> list[str]:
    return [cue for cues in argument.cues.values() for cue in cues]


def _days(argument: LookupArgument, period: tuple[str, str] | None, today: date) -> str | None:
    counts_days = {stem(word) for word in _WORDING.words("days")}
    if period is None or not any(stem(fold(cue)) in counts_days for cue in _cues(argument)):
        return None
    since, until = (day(text, today) for text in period)
    return str((until - since).days + 1) if until == today else None


def _number(argument: LookupArgument, query: str) -> str | None:
    cues = {tuple(all_stems(cue)) for cue in _cues(argument)}
    words: list[str] = re.findall(r"[-−]?\d+(?:[.,]\d+)?|[^\W\d_]+", fold(query))
    said = [word.replace("−", "-").replace(",", ".") for word in words]
    for place, word in enumerate(said):
        if not word[-1].isdecimal():
            continue
        for size in {len(cue) for cue in cues}:
            behind = tuple(stem(w) for w in said[place + 1 : place + 1 + size])
            before = tuple(stem(w) for w in said[max(0, place - size) : place])
            if behind in cues or before in cues:
                return word
    return None


def _texts(argument: LookupArgument, query: str) -> Iterator[str]:
    yield from (part.strip() for groups in _QUOTED.findall(query) for part in groups if part.strip())
    named = values_in(query).identifiers
    yield from (word for word in re.findall(r"(?<![\w./-])[\w./-]*\w", query) if fold(word) in named)
    words = list(re.finditer(r"[^\W_]+", query))
    said = [all_stems(match.group()) for match in words]
    ends = [*(end.start() for end in _CLAUSE_END.finditer(query)), len(query)]
    for cue in sorted(_cues(argument), key=len, reverse=True):
        wanted = all_stems(cue)
        for place in range(len(words) - len(wanted)):
            if [part for parts in said[place : place + len(wanted)] for part in parts] == wanted:
                begin = words[place + len(wanted)].start()
                rest = query[begin : ends[bisect_left(ends, begin)]].strip(" ,")
                if rest and len(rest) <= _LONGEST_TEXT:
                    yield rest


_CLAUSE_END: Final = re.compile(r"[?!;:\n]|\.(?:\s|$)")
_QUOTED: Final = re.compile(r"`([^`\n]{1,80})`|«([^»\n]{1,80})»|“([^”\n]{1,80})”|\"([^\"\n]{1,80})\"")


# -------------------------------------------------------------------------------------------------------- the words


def sentence(template: str, row: Mapping[str, object], values: Mapping[str, Value], language: Language) -> str:
    """Return a row as a sentence: its columns override arguments of the same name.

    Raises:
        LookupFault: The template has a name that is neither a column nor an argument.
    """
    said = {name: _write_value(value, language) for name, value in {**values, **row}.items()}
    try:
        return template.format_map(said)
    except KeyError as error:
        raise LookupFault(f"there is no column {error.args[0]!r}") from error


_BINARY: Final = {Language.EN: "(binary, {} {})", Language.RU: "(двоичные данные, {} {})"}
_BYTES: Final = {Language.EN: ("byte", "bytes", "bytes"), Language.RU: ("байт", "байта", "байт")}


def binary_said(value: bytes, language: Language) -> str:
    """Return the number of bytes in words, because binary content is not readable."""
    size = len(value)
    one = size % 10 == 1 and size % 100 != 11 if language is Language.RU else size == 1
    few = language is Language.RU and size % 10 in (2, 3, 4) and size % 100 not in (12, 13, 14)
    return _BINARY[language].format(size, _BYTES[language][0 if one else 1 if few else 2])


def _write_value(value: object, language: Language) -> str:
    """Write a value as one line; numbers without needless places, so that an answer can quote them."""
    if value is None:
        return "-"
    if isinstance(value, bytes):
        return binary_said(value, language)
    if isinstance(value, float):
        return f"{value:.10g}"
    return " ".join(clean(str(value)).split())


def beyond(fault: OutOfRange, lookup: Lookup, language: Language) -> str:
    """Return a sentence that says that a value is out of range, and what the range is."""
    least, most = (None if bound is None else f"{bound:g}" for bound in (fault.argument.least, fault.argument.most))
    bounds = "between" if least and most else "least" if least else "most"
    said = _BEYOND[language][bounds].format(least=least, most=most)
    return _BEYOND[language]["sentence"].format(
        title=lookup.title[language], value=fault.value, argument=fault.argument.name, bounds=said
    )


_BEYOND: Final = {
    Language.EN: {
        "sentence": "“{title}”: the value {value} is out of range; {argument} can be {bounds}.",
        "between": "from {least} to {most}",
        "least": "{least} or more",
        "most": "{most} or less",
    },
    Language.RU: {
        "sentence": "«{title}»: значение {value} вне допустимых пределов; {argument} может быть {bounds}.",
        "between": "от {least} до {most}",
        "least": "не меньше {least}",
        "most": "не больше {most}",
    },
}


def said_in(language: Language | None, lookup: Lookup) -> Language:
    """Return the language for a lookup's rows: the wanted one if the lookup has it."""
    return language if language in lookup.row and language is not None else next(iter(lookup.row))


def reference(lookup: Lookup, values: Mapping[str, Value]) -> str:
    """Return the name of one call: equal calls have equal names, different calls have different ones."""
    said = ",".join(f"{name}={value}" for name, value in sorted(values.items()))
    return f"{lookup.source}:{lookup.name}{f'({said})' if said else ''}"
