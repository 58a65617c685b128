"""The values of a claim that its cited passages do not have.

Values are the checkable errors of a wrong answer: numbers with their units, versions, dates, identifiers, addresses and
quoted names. Measured elsewhere: a number that is not in the cited snippet marks a wrong claim with a precision of .84
to .97 if list markers and formats are normalised. A passage is read in every possible way, a claim only as written: in
case of doubt, the passage supports the claim.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import takewhile
from typing import Final

from language.clean import fold
from language.figures.dates import agrees
from language.figures.figure import TIMES, Figure, write_figure
from language.figures.identifiers import ALIKE
from language.figures.passage import ReadPassage, passage, without_blanks
from language.figures.rates import SIZES
from language.figures.units import COUNTS
from language.figures.values import Values, values
from language.words import stem, tokens

_ZEROS = re.compile(r"(?<!\.0)(?:\.0)++$")


def missing_from(claim: str, snippet: str) -> list[str]:
    """Return the values of a claim that do not occur in a snippet, in a fixed order."""
    return missing_values(values(claim), [passage(snippet)])


def missing_values(wanted: Values, cited: Sequence[ReadPassage]) -> list[str]:
    """Return the values that no cited passage has: figures first, then identifiers, addresses and names, each sorted.

    Identifiers and addresses must occur as written, quoted names word by word, and none as part of a longer word. A
    number is named with its unit if the passages have the number only with another unit.
    """
    absent = sorted({shown for figure in wanted.figures if (shown := _describe_lack(figure, cited))})
    absent += sorted(name for name in wanted.identifiers if not any(_is_named(name, there) for there in cited))
    absent += sorted(url for url in wanted.urls if not any(_leads(url, there) for there in cited))
    return absent + sorted(name for name in wanted.quoted if not any(_is_quoted(name, there) for there in cited))


def _describe_lack(figure: Figure, cited: Sequence[ReadPassage]) -> str:
    """Return how a figure that no passage has is shown; nothing where one has it."""
    shown = write_figure(figure)
    match figure.kind:
        case "date":
            there = any(agrees(d, known) for d in figure.dates for text in cited for known in text.dates)
        case "time":
            there = any(form in text.times for form in figure.normal for text in cited)
        case "version":
            there = any(_has_version(figure.normal[0], text) for text in cited)
        case "word":
            there = _may_count(figure, cited)
            shown = figure.written
        case _ if figure.per and (rate := _other_rate(figure, cited)):
            return rate
        case _ if figure.unit:
            amounts_of = figure.unit | figure.whole
            there = any(amounts_of & text.amounts or _has_bare_number(figure, text) for text in cited)
            if any(not text.measured.isdisjoint(figure.normal) for text in cited):
                shown = " ".join(figure.written.split())
        case _:
            if figure.of and not _may_count(figure, cited):
                return shown
            there = any(not text.numbers.isdisjoint(figure.normal) for text in cited) or (
                figure.of == TIMES
                and any(not text.counted.get(TIMES, set()).isdisjoint(figure.normal) for text in cited)
            )
    if there or any(_stands(figure.written, text) for text in cited):
        return ""
    return shown


def _may_count(figure: Figure, cited: Sequence[ReadPassage]) -> bool:
    """Whether passages do not count what a figure counts, or may do so with its number."""
    if not any(text.counted.get(figure.of) for text in cited):
        return True
    return any(not text.near(figure.of).isdisjoint(figure.normal) for text in cited)


def _other_rate(figure: Figure, cited: Sequence[ReadPassage]) -> str:
    """Return a figure with what it is a rate of, where the passages have it as a rate of something else only."""
    rates = [
        known.per
        for text in cited
        for known in text.figures
        if known.per and (figure.unit & known.unit or set(figure.normal) & set(known.normal))
    ]
    for kind in (figure.per - SIZES, figure.per & SIZES):
        there = [same for rate in rates if (same := rate & SIZES if kind & SIZES else rate - SIZES)]
        if kind and there and not any(kind & rate for rate in there):
            return f"{' '.join(figure.written.split())} per {', '.join(sorted(kind))}"
    return ""


def _has_bare_number(figure: Figure, text: ReadPassage) -> bool:
    """Whether a text has the number of an amount without any unit, where it may be one of that amount's."""
    dimensions = frozenset(dimension for dimension, _ in figure.unit)
    if dimensions & COUNTS:
        return not text.bare.isdisjoint(figure.normal) and text.may_count(figure.normal, dimensions)
    return text.may_amount(figure.unit | figure.whole, figure.normal)


def _has_version(wanted: str, text: ReadPassage) -> bool:
    if "." not in wanted and wanted in text.numbers:
        return True
    short = _ZEROS.sub("", wanted)
    return any(
        known == wanted or known.startswith(f"{wanted}.") or _ZEROS.sub("", known) == short for known in text.versions
    ) or ("." in wanted and "." not in short and short in text.bare)


def _stands(written: str, text: ReadPassage) -> bool:
    """Whether something stands in a text as it is written, bounded by what cannot belong to it."""
    wanted = fold(" ".join(written.split()))
    for line in text.folded:
        at = line.find(wanted)
        while at >= 0:
            before, behind = line[max(0, at - 2) : at], line[at + len(wanted) : at + len(wanted) + 2]
            if _is_bounded(before, behind):
                return True
            at = line.find(wanted, at + 1)
    return False


def _is_bounded(before: str, behind: str) -> bool:
    if before[-1:].isalnum() or before[-1:] == "_" or behind[:1].isalnum() or behind[:1] == "_":
        return False
    if before[-1:] in ("-", "−") and not before[:-1].strip():
        return False  # a minus
    if behind[:1] in ("-", "+") and behind[1:].isalpha():
        return False  # "1.2.3" is not "1.2.3-rc1"
    return not (before[-1:] in (".", ",", ":") and before[:1].isdigit()) and not (
        behind[:1] in (".", ",", ":") and behind[1:].isdigit()
    )


def _is_named(name: str, there: ReadPassage) -> bool:
    if any(map(str.isdigit, name)) and _is_code(name):
        return _has_code(name, there)
    if _occurs(name, there.flat) or ("+" in name and name in there.keys):
        return True
    # A command may be put together of what the passage names: its words must be there, each as it is written.
    words = name.split()
    if len(words) > 1 and all(_occurs(word, there.flat) for word in words):
        return True
    shown = list(takewhile(lambda word: not _STANDS_FOR.fullmatch(word), words))
    if 1 < len(shown) < len(words) and all(map(_STANDS_FOR.fullmatch, words[len(shown) :])):
        return _occurs(" ".join(shown), there.flat)
    if call := _CALL_IN_SHORT.fullmatch(name):
        return call[1] in there.calls
    return bool(_MARKED_UP.search(name)) and _occurs(without_blanks(name), there.code_without_blanks)


_STANDS_FOR: Final = re.compile(
    r"<[^\W\d_][^\W\d_ -]*(?:[ _-][^\W\d_]+)*>|\{[^\W\d_]+(?:[ _-][^\W\d_]+)*\}|\.\.\.|…|/path/to/[^\W\d_]+/?"
)
"""What a draft writes in a command for something of the user's."""
_CALL_IN_SHORT: Final = re.compile(r"([\w.]{2,60})\((?:\.\.\.|…)\)")
"""A call whose arguments are left out: `crontab(...)`."""
_MARKED_UP: Final = re.compile(r"[={}\[\]()]")


def _is_code(name: str) -> bool:
    return bool(re.fullmatch(r"(?:[^\W\d_]+[-‐‑]?\d+)+[^\W\d_]*", name))


def _has_code(name: str, there: ReadPassage) -> bool:
    """Whether a code stands in a text; "SHA-256", "SHA 256" and "SHA256" are one, "GPT-4" and "GPT-4.5" are not."""
    parts = [re.escape(part) for part in re.findall(r"[^\W\d_]+|\d+", name.translate(ALIKE))]
    between = r"[ \u00a0\u202f_‐‑–-]?"
    # "Python3" is a Python 3.11 where a space says that a version follows.
    joined = rf"(?<![^\W_]){between.join(parts)}(?![^\W_])"
    return any(
        re.match(r"[.,]\d", there.alike[match.end() :][:2]) is None or " " in match.group()
        for match in re.finditer(joined, there.alike)
    )


def _occurs(name: str, flat: str) -> bool:
    if name not in flat:
        return False
    before, after = r"(?<!\w)" if name[:1].isalnum() else "", r"(?!\w)" if name[-1:].isalnum() else ""
    return bool(re.search(before + re.escape(name) + after, flat))


def _leads(url: str, there: ReadPassage) -> bool:
    if url in there.urls:
        return True
    # The site of an address that is there; whatever stands behind the host must be there as it is.
    is_site = url.count("/") == 2
    return is_site and any(known.startswith((f"{url}/", f"{url}?")) for known in there.urls)


def _is_quoted(name: str, there: ReadPassage) -> bool:
    words = tokens(name)
    if f" {' '.join(words)} " in there.said:
        return True
    # Russian names are declined; of an English one, "Save" is not "Saved".
    return not name.isascii() and f" {' '.join(map(stem, words))} " in there.said_stems
