"""What a source says of a command, a name or a number, and whether a claim says it of another one.

A value that stands in a passage proves that there is such a value, not that it does, is or measures what is said of it.
What a source says of it is the clause, step or row that has it, and the heading above. A claim takes a wrong one where its
words are those of another value of the same kind and not of this one: words that nobody has say nothing, for they may
be synonyms.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations, islice, pairwise, takewhile, zip_longest
from typing import Final

from language.clean import fold
from language.figures.nearest import pieces_in_order
from language.figures.numbers import word_number
from language.figures.passage import Passage
from language.lexicon import light_stems
from language.words import stem, stop_words

_PLACEHOLDER: Final = re.compile(
    r"<[^<>]*>|\{[^{}]*\}|\[[^\[\]]*\]|\.\.\.|…|[A-Z]+(?:_[A-Z]+)+|(?:NAME|ID|FILE|PATH|DIR|FOLDER|URL|HOST|PORT|USER|KEY|VALUE|NUMBER|TEXT|VERSION|ADDRESS)"
    r"|[А-ЯЁ]+(?:_[А-ЯЁ]+)*"
)
"""What stands in a command for something else: `<id>`, `{name}`, `NAME`."""
_MARKED: Final = re.compile(r"<[^<>=\d]*>|\{[^{}=\d]*\}|\.\.\.|…")
"""What a draft may write for it, too: in capitals it would be any word."""
_ARGUMENT: Final = re.compile(r"[^\s\"'`«»“”?!,;()]+")
_SPAN: Final = re.compile(r"`([^`\n]+)`")
_HEADING: Final = re.compile(r"#{1,6} ")
_CLAUSE: Final = re.compile(
    r"[;:](?=\s)|\.\s|\s[–—-]\s|,?\s(?:then|and then|or|while|whereas|but|а затем|затем|или|тогда как)\s|,\s(?:and|so|а|и|но)?\s?",
    re.IGNORECASE,
)
_AND: Final = re.compile(r"\s(?:and|и)\s", re.IGNORECASE)
_NAME: Final = re.compile(
    r"\*\*([^*\n]{2,60})\*\*|\[([^\]\n]{2,60})\]\(|(?<![\w`/.-])([A-ZА-ЯЁ][\w-]*(?:[ \u00a0][A-ZА-ЯЁ][\w-]*)*)"
)
_NUMBER: Final = re.compile(r"(?<![\w.,:/-])\d++(?:[ \u00a0]\d{3}(?!\d))*+(?:[.,:]\d++)*+(?![\w-])")
_LINK: Final = re.compile(r"\]\([^()\s]*\)")
_ASSIGNED: Final = re.compile(r"`[^`=\n]*+=[^`\n]*+`")
_WORD: Final = re.compile(r"[^\W_]+")
_SAID: Final = 0.7
"""Share of a clause's words that speak of another value, from which on they are that one's."""
_APART: Final = 0.3
"""By how much this share must exceed that of the value which the clause has."""
_HEAD_WEIGHT: Final = 0.5
"""What a word is worth that only the heading above has: it may head several values."""
_LEAST_WORDS: Final = 2
_MOST_USES: Final = 600
"""Of one passage."""


def takes_argument(command: str, cited: Iterable[Passage], asked: str = "") -> bool:
    """Whether a command is one of some passages with an argument of the user's, or with a placeholder for it.

    Args:
        command: Folded, as `language.figures.comparison` has it: `guardian threads delete my-chat`.
        cited: The passages.
        asked: The question: what stands in it may be put in.
    """
    return own_arguments(command, cited, asked) is not None


def own_arguments(command: str, cited: Iterable[Passage], asked: str = "") -> frozenset[str] | None:
    """Return the words of a command that stand where a command of some passages has others; `None` where it is none of them."""
    words = command.split()
    if len(words) < _LEAST_WORDS:
        return None
    known = frozenset(word for word in _ARGUMENT.findall(fold(asked)) if not word.isalpha())
    for there in cited:
        for use in _uses(there.text):
            if len(use.words) < _LEAST_WORDS or fold(use.words[0]) != words[0]:
                continue
            pairs = list(zip_longest(use.words, words, fillvalue=""))
            if all(_fits(theirs, word, known) for theirs, word in pairs):
                return frozenset(word for theirs, word in pairs if word and fold(theirs) != word)
    return None


def _parts(command: str) -> tuple[str, ...]:
    """Return the words of a command; a placeholder is one, whatever it says: `<the name of the server>`."""
    return tuple(_SPACED.sub(lambda one: re.sub(r"\s", "", one.group()), command).split())


_SPACED: Final = re.compile(r"<[^<>\n]{1,80}>|\{[^{}\n]{1,80}\}")


def _fits(theirs: str, word: str, known: frozenset[str]) -> bool:
    """Whether a word of a command may stand where a passage has another; where one of the two ends, it is empty."""
    if not word:
        return theirs.startswith("[")
    if fold(theirs) == word or _MARKED.fullmatch(word):
        return True
    if word.startswith("-") or theirs.startswith("-"):
        return False
    # An example's argument is no word: "support-17", "./docs".
    return bool(_PLACEHOLDER.fullmatch(theirs)) or (word in known and (not theirs.isalpha() or theirs.isupper()))


def bound_wrongly(claim: str, cited: Iterable[Passage], found_beside: Iterable[Passage] = ()) -> list[str]:
    """Return the commands, names and numbers of which a claim says what its sources say of others.

    Args:
        claim: One claim, without its citations.
        cited: The passages that it cites.
        found_beside: The other passages of the turn: the right command may stand there.
    """
    uses = [use for there in cited for use in _uses(there.text)]
    if not uses:
        return []
    beside = [use for there in found_beside for use in _uses(there.text)]
    every, said = [name for name, _, _ in _named_in(claim)], _words(claim)
    if len(every) > _MOST_NAMES:
        return []
    found: list[str] = []
    clauses = list(_clauses(claim))
    for at, clause in enumerate(clauses):
        for name, kind, _ in _named_in(clause):
            words = _words(clause, without=name)
            if len(words) < _LEAST_WORDS and kind != "number":
                words = _words(_with_neighbours(clauses, at), without=name)
            if len(words) < _LEAST_WORDS and kind == "name":
                words = _words(claim, without=name)  # "That is Daphne, the server for ..."
            own = [use for use in uses if use.kind == kind and _is_same(use.name, name, kind)]
            if not own or not words:
                continue
            others = [
                use
                for use in (*uses, *(beside if kind in _TYPED else ()))
                if use.kind == kind and not any(_is_same(use.name, one, kind) for one in every)
            ]
            others = [use for use in others if kind in _TYPED or not use.own_words or not use.own_words <= said]
            if any(_belongs(words, use, own) for use in others):
                found.append(name)
    return list(dict.fromkeys(found))


def _with_neighbours(clauses: Sequence[str], at: int) -> str:
    """Return a clause with those that a colon or a dash joins to it and that name nothing: "`%N` - the number of sheets"."""
    behind = list(takewhile(lambda clause: not _named_in(clause) and ";" not in clause, clauses[at + 1 :]))
    before = list(
        takewhile(lambda clause: not _named_in(clause) and ";" not in clause, clauses[at - 1 :: -1] if at else ())
    )
    joined = (" ".join((clauses[at], *behind)), " ".join((*reversed(before), clauses[at])))
    return next(
        (text for text, beside in zip(joined, (behind, before), strict=True) if beside and _JOINT.search(text)),
        clauses[at],
    )


_JOINT: Final = re.compile(r"(?:^|\s)[–—-]\s|[`*»”\"]\s{0,2}:\s")


_TYPED: Final = ("command", "option", "path")
_MOST_NAMES: Final = 24
"""Values of a claim; one that has more is a list, and time would grow with the square."""


def _belongs(words: frozenset[str], other: _Use, own: Sequence[_Use]) -> bool:
    """Whether words are said of another value, and not of a claim's own."""
    if other.kind not in _TYPED:
        words -= other.own_words
    if not words:
        return False
    share, least = _share(words, other), max(_share(words, use) for use in own)
    if len(words) < _LEAST_WORDS:
        return other.kind == "command" and least == 0 and words <= other.own_words
    apart = _APART if other.kind in _TYPED or len(words) > _LEAST_WORDS else 2 * _APART
    return share >= _SAID and share - least >= apart


def _clauses(claim: str) -> Iterator[str]:
    """Yield the clauses of a claim; "and" parts two where both name something."""
    kept = _SPAN.sub(lambda span: re.sub(r"[\s;:,.]", "\ue000", span.group()), claim)
    cuts = [0, *(place for match in _CLAUSE.finditer(kept) for place in match.span()), len(kept)]
    for start, end in pairwise(cuts):
        clause = claim[start:end]
        parts = _AND.split(clause)
        if len(parts) > 1 and all(map(_named_in, parts)):
            yield from parts
        elif clause.strip():
            yield clause


@lru_cache(maxsize=2048)
def _named_in(text: str) -> tuple[tuple[str, str, tuple[str, ...]], ...]:
    """Return what a text names, each folded, with its kind and its words as they stand."""
    found: dict[str, tuple[str, tuple[str, ...]]] = {}
    for span in _SPAN.findall(text):
        name = " ".join(fold(span).split())
        found[name] = _kind(name), _parts(span)
    bare = _SPAN.sub(" ", text)
    for match in _NAME.finditer(bare):
        raw = next(filter(None, match.groups()))
        alone = match[3] and " " not in raw and _begins_sentence(bare, match.start())
        if not alone and (name := " ".join(_WORD.findall(fold(raw)))) and not name.isdigit():
            found.setdefault(name, ("name", ()))
    for match in _NUMBER.finditer(bare):
        found.setdefault(re.sub(r"[ \u00a0]", "", match.group()), ("number", ()))
    for match in _ORDINAL.finditer(bare):
        found.setdefault(f"{word_number(fold(match.group()))}.", ("ordinal", ()))
    return tuple((name, kind, words) for name, (kind, words) in found.items())


_ORDINAL_WORD: Final = re.compile(
    r"first|second|third|fourth|fifth|sixth"
    r"|(?:перв|втор|трет|четв[её]рт|пят|шест)(?:ый|ой|ий|ая|ое|ую|ого|ому|ым|ом|ей|ья|ье|ью|ьего|ьему|ьим|ьем|ьей)",
    re.IGNORECASE,
)
_ORDINAL: Final = re.compile(rf"(?<![\w-])(?:{_ORDINAL_WORD.pattern})(?= [^\W\d_]{{4,}})", re.IGNORECASE)
"""Which of several: what is said of the third is not said of the fourth."""


def _begins_sentence(text: str, at: int) -> bool:
    return not text[:at].strip(" \t*_#>|-\n") or text[:at].rstrip()[-1:] in ".!?:|\n"


def _kind(name: str) -> str:
    if name.startswith("-"):
        return "option"
    if " " in name:
        return "command"
    if "/" in name or "\\" in name:
        return "path"
    return "code"


def _is_same(one: str, other: str, kind: str) -> bool:
    """Whether two values are one: a command with its arguments, a name with more words or another ending."""
    if one == other:
        return True
    if kind == "name":
        theirs, ours = _stems_in(one), _stems_in(other)
        return theirs <= ours or ours <= theirs
    return one.startswith(f"{other} ") or other.startswith(f"{one} ")


def _words(text: str, without: str = "") -> frozenset[str]:
    """Return the stems that say what is done, of what, and with which other values."""
    own = frozenset(_WORD.findall(without))
    said = (
        word
        for word in _WORD.findall(fold(_ASSIGNED.sub(" ", _LINK.sub("]", text))))
        if word not in stop_words() and word not in own and not _ORDINAL_WORD.fullmatch(word)
    )
    return frozenset(map(stem, said)) - light_stems() - _RUNS


_RUNS: Final = frozenset(
    map(
        stem,
        [
            "run",
            "runs",
            "running",
            "use",
            "uses",
            "using",
            "execute",
            "executes",
            "enter",
            "type",
            "press",
            "click",
            "select",
            "choose",
            "open",
            "command",
            "commands",
            "option",
            "flag",
            "parameter",
            "button",
            "menu",
            "tab",
            "field",
            "page",
            "followed",
            "first",
            "next",
            "with",
            "выполните",
            "выполнить",
            "запустите",
            "запустить",
            "используйте",
            "использовать",
            "введите",
            "ввести",
            "нажмите",
            "нажать",
            "выберите",
            "выбрать",
            "откройте",
            "открыть",
            "команда",
            "команду",
            "командой",
            "опция",
            "опцию",
            "параметр",
            "параметром",
            "кнопка",
            "кнопку",
            "кнопкой",
            "меню",
            "вкладка",
            "вкладку",
            "поле",
            "сначала",
            "затем",
            "можно",
            "нужно",
            "помощью",
            "служит",
            "позволяет",
        ],
    )
)
"""Words for using a command, whatever it does."""


@dataclass(frozen=True, slots=True)
class _Use:
    """A value in one place of a passage.

    Attributes:
        name: Folded.
        words: Those of a command, as they stand.
        near: The stems of the clause, step or row that has it; of a line of code, of what stands before the block.
        above: Those of the heading.
    """

    name: str
    kind: str
    words: tuple[str, ...]
    near: frozenset[str]
    above: frozenset[str]

    @property
    def own_words(self) -> frozenset[str]:
        """The stems of the name itself: `guardian threads delete` deletes."""
        return _stems_in(self.name)


def _share(words: frozenset[str], use: _Use) -> float:
    near = words & (use.near | use.own_words)
    above = (words & use.above) - near
    return (len(near) + _HEAD_WEIGHT * len(above)) / len(words)


@lru_cache(maxsize=4096)
def _stems_in(name: str) -> frozenset[str]:
    return frozenset(stem(part) for part in re.findall(r"[^\W\d_]+", name))


@lru_cache(maxsize=256)
def _uses(text: str) -> tuple[_Use, ...]:
    found: list[_Use] = []
    above = before = frozenset[str]()
    for piece, is_code in pieces_in_order(text):
        if is_code:
            line = piece.strip().removeprefix("$ ")
            found.append(_Use(fold(line), _kind(fold(line)), _parts(line), before, above))
            continue
        # "Delete it:", and the block; or a sentence, and a list of commands.
        before = _words(piece)
        if _HEADING.match(piece):
            above = before
            continue
        named = _named_in(piece)[:_MOST_NAMED]
        around = {} if "|" in piece else _around_numbers(piece)
        found += [_Use(name, kind, words, around.get(name, before), above) for name, kind, words in named]
        if len(found) > _MOST_USES:
            break
    return tuple(found[:_MOST_USES])


_MOST_NAMED: Final = 100
"""Values of one sentence, step or row."""


def _around_numbers(piece: str) -> dict[str, frozenset[str]]:
    """Return the words of the clauses that have a number, by number."""
    found: dict[str, frozenset[str]] = {}
    for clause in islice(_clauses(piece), _MOST_NAMED):
        numbers = [name for name, kind, _ in _named_in(clause)[:_MOST_NAMED] if kind in ("number", "ordinal")]
        if numbers:
            words = _words(clause)
            found |= {number: found.get(number, frozenset[str]()) | words for number in numbers}
    return found


# -------------------------------------------------------------------------------------------------- rows and numbers


def from_other_rows(claim: str, cited: Iterable[Passage]) -> list[str]:
    """Return the values and cells of a claim that only other rows of a table have than the one which it speaks of.

    A row is spoken of where all words of its first cell are in the claim; of a claim that is a row, in its first cell.
    """
    return _values_of_other_rows(claim, cited) or _cells_of_other_rows(claim, cited)


def _cells_of_other_rows(claim: str, cited: Iterable[Passage]) -> list[str]:
    """Return whole cells that a claim gives to a row which has another one in their column.

    The claim must begin with the row's first cell, or be a row itself: elsewhere a cell's words may be anybody's.
    """
    said = _cell_words(claim)
    begins = [fold(word) for word in _TOKEN.findall(_TAG.sub(" ", claim))]
    for there in cited:
        for rows in _tables(there.text).tables:
            named = [row.begins for row in rows if row.begins and begins[: len(row.begins)] == list(row.begins)]
            if not named:
                if cell := _cell_with_other_words(said, rows):
                    return [cell]
                continue
            # Rows may share their first cell: which of them the claim is about is not known, so each is its own.
            own = max(named, key=len)
            mine = [row for row in rows if row.begins == own]
            words = frozenset[str]().union(*(row.words for row in mine))
            for column in range(max(len(row.cells) for row in mine)):
                there_said = [row.cells[column] for row in mine if column < len(row.cells)]
                if any(cell and len(cell & said) * 2 >= len(cell) for cell in there_said):
                    break
                for row in rows:
                    if row.begins == own or column >= len(row.cells):
                        continue
                    if (cell := row.cells[column] - words) and cell <= said:
                        return [" ".join(row.written[column].split())[:_SHOWN]]
    return []


def _cell_with_other_words(said: frozenset[str], rows: Sequence[_Row]) -> str:
    """Return the cell whose words a claim has where the row that it names has other ones: "green" for what blue stands for.

    Both cells must share some words with the claim and with each other, for a claim may be about neither.
    """
    named = [row for row in rows if row.key and row.key <= said and not all(map(str.isdigit, row.key))]
    if len(named) != 1:
        return ""
    [own] = named
    for column, mine in enumerate(own.cells):
        for row in rows:
            if row is own or column >= len(row.cells):
                continue
            theirs = row.cells[column] - mine
            shared = row.cells[column] & mine & said
            if theirs and theirs <= said and not (mine - row.cells[column]) & said and len(shared) >= _LEAST_WORDS:
                return " ".join(row.written[column].split())[:_SHOWN]
    return ""


_SHOWN: Final = 60
"""Characters of a cell that a reason names."""


def _values_of_other_rows(claim: str, cited: Iterable[Passage]) -> list[str]:
    said, spoken = _cell_words(claim), f" {' '.join(_CODE_NAME.findall(fold(claim)))} "
    # "Unlike Basic, the other plan ..." speaks of another row.
    names = frozenset[str]() if _COMPARES.search(claim) else _cell_words(" ".join(_CAPITAL.findall(claim)))
    first = _cell_words(_cells(claim)[0]) if _cells(claim) else frozenset[str]()
    right, wrong = set[str](), set[str]()
    for there in cited:
        tables = _tables(there.text)
        right |= tables.beside
        for rows in tables.tables:
            own = [row for row in rows if (row.key == first if first else row.is_named_in(said, names, spoken))]
            own = [row for row in own if not any(row.tells < other.tells for other in own)]
            named = frozenset[str]().union(*(row.tells for row in own))
            # Of a table of which no row is named, any may be meant; and so may one that is half named beside others.
            meant = [row for row in rows if row in own or not own or row.tells & said - named]
            right.update(*(row.key | row.values for row in meant))
            wrong.update(*(row.values for row in rows if row not in meant))
    return sorted(word for word in said & wrong - right if any(map(str.isdigit, word)))


@dataclass(frozen=True, slots=True)
class _Row:
    """A row of a table.

    Attributes:
        key: The words of its first cell.
        tells: Those of them that most other rows have not; all where there is none.
        codes: Cells that are a code, as `high-iops-ha`.
        values: The words of its other cells.
        begins: The words of its first cell in order.
        cells: The words of each other cell.
        written: The other cells as they stand.
    """

    key: frozenset[str]
    tells: frozenset[str]
    codes: frozenset[str]
    values: frozenset[str]
    begins: tuple[str, ...]
    cells: tuple[frozenset[str], ...]
    written: tuple[str, ...]

    @property
    def words(self) -> frozenset[str]:
        """The words of the whole row."""
        return self.key | self.values

    def is_named_in(self, words: frozenset[str], names: frozenset[str], codes: str) -> bool:
        """Whether a claim names it, by its first cell or a code; a plain number does not tell it from others."""
        if any(f" {code} " in codes for code in self.codes):
            return True
        # One plain word may be anybody's, but for one that is written as a name: "Basic".
        tells = len(self.tells) > 1 or any(map(str.isdigit, "".join(self.tells))) or self.tells <= names
        return self.tells <= words and tells and not all(map(str.isdigit, self.tells))


@dataclass(frozen=True, slots=True)
class _Tables:
    """The rows of a text under each head, and the words of what else it says."""

    tables: tuple[tuple[_Row, ...], ...]
    beside: frozenset[str]


@lru_cache(maxsize=256)
def _tables(text: str) -> _Tables:
    heads: dict[str, list[list[str]]] = {}
    beside: list[str] = []
    for piece, is_code in pieces_in_order(text):
        head, _, line = piece.rpartition("\n")
        cells = _cells(line)
        if is_code or len(cells) < _LEAST_CELLS:
            beside.append(piece)
        elif len(heads) < _MOST_TABLES:
            heads.setdefault(head, []).append(cells)
    tables = tuple(tuple(_rows(rows)) for rows in heads.values() if len(rows) > 1)
    return _Tables(tables, _cell_words("\n".join((*beside, *heads))))


def _rows(table: Sequence[Sequence[str]]) -> Iterator[_Row]:
    keys = [_cell_words(cells[0]) for cells in table]
    counted = Counter(word for key in keys for word in key)
    for key, cells in zip(keys, table, strict=True):
        if key:
            tells = frozenset(word for word in key if counted[word] * 2 <= len(table)) or key
            codes = frozenset(code for cell in cells if _CODE_NAME.fullmatch(code := fold(cell.strip("` "))))
            begins = tuple(fold(word) for word in _TOKEN.findall(_TAG.sub(" ", cells[0])))
            others = tuple(cells[1:])
            yield _Row(
                key, tells, codes, _cell_words(" | ".join(others)), begins, tuple(map(_cell_words, others)), others
            )


_LEAST_CELLS: Final = 2
_TAG: Final = re.compile(r"</?[a-z]{1,6}/?>", re.IGNORECASE)
_CODE_NAME: Final = re.compile(r"(?<![a-z0-9._-])[a-z][a-z0-9.]*+(?:[-_][a-z0-9.]++)++")
_COMPARES: Final = re.compile(
    r"\b(?:other|another|unlike|than|too|instead|from|while|whereas)\b|(?<!\w)(?:друг\w{2,3}|отличи\w|чем|слишком|вместо|кроме|перей\w+|тогда как)(?!\w)",
    re.IGNORECASE,
)
_CAPITAL: Final = re.compile(r"(?<![^\W_])[A-ZА-ЯЁ][^\W_]*+")
_MOST_TABLES: Final = 20
_TOKEN: Final = re.compile(r"[^\W_]+(?:[.,:][^\W_]+)*")


def _cells(line: str) -> list[str]:
    row = line.strip()
    return [cell.strip() for cell in row.strip("|").split("|")] if row.startswith("|") else []


def _cell_words(text: str) -> frozenset[str]:
    return frozenset(stem(word) for word in _TOKEN.findall(fold(_TAG.sub(" ", text))) if word not in stop_words())


def swapped_numbers(claim: str, cited: Iterable[Passage]) -> list[str]:
    """Return pairs of numbers that a claim gives to each other's thing, each as "a <-> b".

    Of the words around each of two numbers those are compared that the other has not: they were exchanged where the source
    has more of each number's words around the other one than around itself.
    """
    own = _numbers_with_words(claim)
    if len(own) < _LEAST_WORDS:
        return []
    found: list[str] = []
    for there in cited:
        known: dict[str, list[frozenset[str]]] = {}
        for number, words in _numbers_of_passage(there.text):
            if number in own:
                known.setdefault(number, []).append(words)
        for one, other in combinations(sorted(known)[:_MOST_NUMBERS], 2):
            ours, theirs = own[one] - own[other], own[other] - own[one]
            if _more_around(ours, known[other], known[one]) and _more_around(theirs, known[one], known[other]):
                found.append(f"{one} <-> {other}")
    return found


def _more_around(words: frozenset[str], there: Iterable[frozenset[str]], here: Iterable[frozenset[str]]) -> bool:
    return max(len(words & around) for around in there) > max(len(words & around) for around in here)


_MOST_PARTS: Final = 100
"""Of one sentence."""
_MOST_NUMBERS: Final = 20
"""Of one part of a sentence, and of one claim that are compared with each other."""


@lru_cache(maxsize=256)
def _numbers_of_passage(text: str) -> tuple[tuple[str, frozenset[str]], ...]:
    pieces = [piece for piece, is_code in pieces_in_order(text) if not is_code][:_MOST_USES]
    return tuple(pair for piece in pieces for pair in _numbers_with_words(piece).items())


def _numbers_with_words(text: str) -> dict[str, frozenset[str]]:
    """Return the numbers of a sentence, each with the words of its part; parts end at commas and joining words.

    Of a row, a number's words are those of its cell, its column's head and the row's first cell.
    """
    head, _, line = text.rpartition("\n")
    if cells := _cells(line):
        heads = _cells(head) or [""] * len(cells)
        parts = [
            (f"{title} {cells[0]} {cell}", cell)
            for at, (title, cell) in enumerate(zip(heads, cells, strict=False))
            if at  # the first says what the row is about
        ]
    else:
        parts = [(part, part) for part in _parts_with_numbers(text)]
    found: dict[str, frozenset[str]] = {}
    for around, part in parts[:_MOST_PARTS]:
        numbers = {re.sub(r"\s", "", written) for written in _NUMBERS.findall(part)}
        if 0 < len(numbers) <= _MOST_NUMBERS:
            words = _around_words(around)
            found |= {number: found.get(number, frozenset()) | words for number in numbers}
    return found


def _parts_with_numbers(text: str) -> list[str]:
    """Return the parts of a sentence; what has no number belongs to the part before it that has, or to the next."""
    found: list[str] = []
    waiting = ""
    for part in _PART.split(text):
        if _NUMBERS.search(part):
            found.append(f"{waiting} {part}")
            waiting = ""
        elif found:
            found[-1] += f" {part}"
        else:
            waiting += f" {part}"
    return found


def _around_words(part: str) -> frozenset[str]:
    said = (word for word in _WORD.findall(fold(part)) if word not in _JOINS and not word.isdigit())
    return frozenset(map(stem, said))


_NUMBERS: Final = re.compile(
    r"(?<![\w-])[A-ZА-ЯЁ]+\d+(?:-\d+)+(?![\w-])|(?<![\w.,:/])(?<![^\W\d]-)\d+(?:[ \u00a0]\d{3}(?!\d))*(?:[.,:]\d+)*(?!\d)"
)
"""Codes that end with numbers, and numbers; the ends of a range are two."""
_PART: Final = re.compile(r"[,;()](?!\d)|\s(?:and|or|while|but|и|или|а|но)\s", re.IGNORECASE)
_JOINS: Final = frozenset(
    [
        "the",
        "a",
        "an",
        "of",
        "to",
        "in",
        "on",
        "at",
        "is",
        "are",
        "be",
        "by",
        "with",
        "from",
        "for",
        "в",
        "на",
        "по",
        "за",
        "с",
        "к",
        "от",
        "до",
        "для",
        "из",
        "у",
        "о",
        "br",
    ]
)
