"""Values that a passage has, but not in the place that the claim quotes.

A claim that quotes one sentence, item or row nearly word by word must have the values of that place. If the claim and
the place each have a number that the other lacks, the number was exchanged, even if the passage has it elsewhere.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Final

from language.figures.comparison import missing_values
from language.figures.figure import Figure
from language.figures.passage import ReadPassage, passage
from language.figures.rates import FREQUENT, frequencies
from language.figures.values import Values, code_parts, values
from language.words import stems, tokens

_PARAGRAPH = re.compile(r"\n[ \t]*\n|\n(?=[ \t]*(?:[-*+|>#]|\d{1,3}[.)][ \t]))|\n(?<=\|\n)")
_SENTENCE = re.compile(r"(?<=[.!?;])[*_)»”\"]*\s+(?=[^\W\d_a-zа-яё]|[`*«“\"\[(\d-])")
_FENCED = re.compile(r"^[ \t]*(?:`{3,}|~{3,})", re.MULTILINE)
_SPAN = re.compile(r"`[^`]*`")
_DELIMITER = re.compile(r"[\s|:-]+")
_HEADING = re.compile(r"^#{1,6} .*$", re.MULTILINE)
_KEPT: Final = "\ue000"
"""For the spaces inside a code span while sentences are cut: none ends there."""
_BLOCK: Final = "\ue002"
"""In the place of a block of code."""
_CLAIM_SHARE: Final = 0.8
"""Share of the claim's words that a place must have to be the one that is quoted."""
_PLACE_SHARE: Final = 0.5
"""Share of that place's words that the claim must have."""
_LEAST_WORDS: Final = 2


def exchanged_values(claim: str, wanted: Values, cited: Iterable[ReadPassage]) -> list[str]:
    """Return the values of a claim that the quoted places do not have, if they have others instead.

    Args:
        claim: The claim without its citations.
        wanted: Its values.
        cited: The passages that it cites; every claim may use names from their headings.
    """
    passages = list(cited)
    if not passages or not (wanted or frequencies(claim)):
        return []
    # Sentence by sentence, and code line by line: each is quoted for itself.
    prose, code = _cut(claim)
    if len(prose) == 1 and not code:
        return _find_exchanged(claim, wanted, passages)
    found = [_find_exchanged(part, values(part), passages) for part in prose]
    # What stands in the strings of code is anybody's own.
    found += [_find_exchanged(line, replace(values(line), quoted=frozenset()), passages) for line in code]
    return list(dict.fromkeys(name for names in found for name in names))


def _find_exchanged(claim: str, wanted: Values, cited: Sequence[ReadPassage]) -> list[str]:
    words = frozenset(content_words(claim))
    spoken = f" {' '.join(tokens(claim))} "
    if any(spoken in there.said for there in cited):
        return []  # word by word: odd marks may have cut the passage elsewhere
    found = [known for there in cited for known in places(there.text)]
    if often := _other_frequency(claim, words, cited):
        return often
    near = [place for place, said in found if _quotes(words, said)] if len(words) >= _LEAST_WORDS else []
    if not near and wanted.identifiers and len(named := words | wanted.identifiers) >= _LEAST_WORDS:
        # An identifier says what a sentence is about, unless it is what was exchanged.
        near = [place for place, said in found if _quotes(named, said | _identifiers(place.text))]
    near += _rows(claim, wanted, cited)
    if not wanted or not near:
        return []
    heads = [passage(line) for there in cited for line in _heads(there.text)]
    there = [values(place.text) for place in near]
    instead = Values(
        tuple(f for found in there for f in found.figures if not _same(f, wanted.figures)),
        frozenset(name for found in there for name in found.identifiers - wanted.identifiers),
        frozenset(url for found in there for url in found.urls - wanted.urls),
        frozenset(name for found in there for name in found.quoted - wanted.quoted),
    )
    named = frozenset(name for found in there for name in found.identifiers)
    suspects = Values(
        wanted.figures if instead.numbers else (),
        frozenset(name for name in wanted.identifiers if not _goes_on(name, named))
        if instead.identifiers
        else frozenset(),
        wanted.urls if instead.urls else frozenset(),
        wanted.quoted if instead.quoted else frozenset(),
    )
    if not suspects:
        return []
    missing = missing_values(suspects, [*near, *heads])
    return missing or _said_too_often(suspects, there)


def _other_frequency(claim: str, words: frozenset[str], cited: Sequence[ReadPassage]) -> list[str]:
    """Return how often a claim says that something happens, where the places that it takes its words from say otherwise."""
    own, words = frequencies(claim), words - FREQUENT
    if not own or len(words) < _LEAST_WORDS:
        return []
    near = [
        known
        for there in cited
        for place, said in places(there.text)
        if len(words & said) >= max(_LEAST_WORDS, _CLAIM_SHARE * len(words)) and (known := frequencies(place.text))
    ]
    if not near or any(own.keys() & known.keys() for known in near):
        return []
    return [" ".join(written.split()) for written in own.values()]


def _rows(claim: str, wanted: Values, cited: Sequence[ReadPassage]) -> list[ReadPassage]:
    """Return the rows with the first cell of a claim that is a row, where other rows have a number that these lack."""
    first = _first_cell(claim)
    if not first:
        return []
    rows = [(_first_cell(place.text), place) for there in cited for place, _ in places(there.text)]
    own = [place for cell, place in rows if cell == first]
    others = [place for cell, place in rows if cell and cell != first]
    if not own or not others:
        return []
    numbers = replace(wanted, identifiers=frozenset(), quoted=frozenset())
    return own if set(missing_values(numbers, own)) - set(missing_values(numbers, others)) else []


def _first_cell(text: str) -> str:
    row = text.strip().rsplit("\n", 1)[-1].strip()
    cell = " ".join(tokens(row.strip("|").split("|")[0])) if row.startswith("|") else ""
    return cell if any(map(str.isalpha, cell)) else ""


@lru_cache(maxsize=4096)
def _identifiers(text: str) -> frozenset[str]:
    return values(text).identifiers


def _goes_on(name: str, named: Iterable[str]) -> bool:
    """Whether a command is one of the place's with its arguments, or the other way round: it was not exchanged."""
    return any(name.startswith(f"{known} ") or known.startswith(f"{name} ") for known in named)


def _said_too_often(suspects: Values, there: Sequence[Values]) -> list[str]:
    """Return the numbers that a claim has more often than each of the places, which have others instead: "1 to 1"."""
    own = Counter(figure.normal[0] for figure in suspects.figures if figure.normal)
    theirs = [Counter(form for figure in found.figures for form in figure.normal) for found in there]
    return sorted(number for number, count in own.items() if count > 1 and all(0 < t[number] < count for t in theirs))


def _same(figure: Figure, others: Iterable[Figure]) -> bool:
    return any(
        figure.unit & other.unit or figure.dates & other.dates
        if (figure.unit and other.unit) or figure.dates
        else bool(set(figure.normal) & set(other.normal))
        for other in others
    )


def _quotes(claim: frozenset[str], place: frozenset[str]) -> bool:
    shared = len(claim & place)
    return shared >= _CLAIM_SHARE * len(claim) and shared >= _PLACE_SHARE * len(place)


def content_words(text: str) -> list[str]:
    """Return the stems of a text's content words, without values: words with a digit, and code."""
    return [word for word in stems(_SPAN.sub(" ", text) if "`" in text else text) if not any(map(str.isdigit, word))]


@lru_cache(maxsize=256)
def places(text: str) -> Sequence[tuple[ReadPassage, frozenset[str]]]:
    """Return the sentences, items and rows of a text, with their words."""
    prose, code = _cut(text)
    return [(passage(part), said) for part in (*prose, *code) if (said := frozenset(content_words(part)))]


def _cut(text: str) -> tuple[list[str], list[str]]:
    """Return the sentences, items and rows of a text, and the lines of its code blocks."""
    pieces = pieces_in_order(text)
    return [piece for piece, is_code in pieces if not is_code], [piece for piece, is_code in pieces if is_code]


def pieces_in_order(text: str) -> list[tuple[str, bool]]:
    """Return the sentences, items, rows and code lines of a text in order, and which of them are code."""
    prose, blocks = list[str](), list[list[str]]()
    for i, part in enumerate(code_parts(text.replace(_BLOCK, ""))):
        if i % 2 and _FENCED.match(part):
            prose.append(_BLOCK)
            blocks.append([line for line in part.split("\n")[1:] if not _FENCED.match(line)])
        else:
            prose.append(re.sub(r"\s", _KEPT, part) if i % 2 and part.startswith("`") else part)
    found: list[tuple[str, bool]] = []
    following = iter(blocks)
    for split in _sentences([part for part in _PARAGRAPH.split("".join(prose)) if part]):
        # A block stands where its mark does, and interrupts no sentence.
        if piece := split.replace(_BLOCK, "").replace(_KEPT, " ").strip():
            found.append((piece, False))
        for _ in range(split.count(_BLOCK)):
            found += [(line, True) for line in next(following, list[str]()) if line.strip()]
    return found


def _sentences(parts: Sequence[str]) -> list[str]:
    """Split paragraphs into sentences; a table's row is read with its head, which says what its cells are."""
    found, head = list[list[str]](), ""
    for before, part in zip(("", *parts), parts, strict=False):
        if not part.lstrip().startswith("|"):
            head = ""
        elif _DELIMITER.fullmatch(part) and found:
            found.pop()
            head = before
            continue
        found.append([f"{head}\n{sentence}" if head else sentence for sentence in _SENTENCE.split(part)])
    return [sentence for sentences in found for sentence in sentences]


@lru_cache(maxsize=256)
def _heads(text: str) -> Sequence[str]:
    return [match.group() for match in _HEADING.finditer(text)]
