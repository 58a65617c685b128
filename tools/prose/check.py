"""Judges English prose: how long its sentences are, the words it uses, and what proselint finds in it."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from statistics import median
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

_LEFT_OUT = re.compile(
    r"\A---\n.*?\n---\n"  # front matter
    r"|^[ >]*(`{3,4}).*?^[ >]*\1"  # fenced code
    r"|<!-- generated: ([\w-]+) -->.*?<!-- end of \2 -->"
    r"|<!--.*?-->"
    r"|<img\b[^>]*>",
    re.DOTALL | re.MULTILINE,
)
_NO_PROSE = re.compile(r"^\s*(?:\||#|!\[|\[[^\]]+\]: )")
"""Tables, headings, pictures and addresses of links."""
_BEGINS = re.compile(r"^\s*(?:[-*+]|\d+\.)\s+")
_CODE = re.compile(r"(`+).+?\1", re.DOTALL)
_LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")
_SENTENCE_END = re.compile(r"(?<=[.!?:;])\s+(?=[A-Z`\"“(*])")
_SHOWN = 200
"""Characters of a sentence that a fault shows."""
_LONGEST = 5
"""How many long sentences a file's faults name."""


class Avoided(BaseModel):
    """Words to avoid.

    Attributes:
        pattern: A regular expression that finds them in a sentence, whatever their case.
        instead: What to write.
        example: A sentence that has them.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    pattern: str
    instead: str
    example: str

    def find(self, sentence: str) -> str:
        """Return the words as they stand in a sentence; empty if they do not."""
        found = re.search(self.pattern, sentence, re.IGNORECASE)
        return found.group().strip(" ,;:") if found else ""


class Rules(BaseModel):
    """The rules of `rules.toml`.

    Attributes:
        median, ninth_decile: Words that half of the sentences, and nine of ten, may have at most.
        pending: Files that do not keep to the rules yet.
        proselint: Its checks that are on or off; those not named are on.
        avoid: Words to avoid.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    median: Annotated[int, Field(ge=1)]
    ninth_decile: Annotated[int, Field(ge=1)]
    pending: tuple[str, ...] = ()
    proselint: Mapping[str, bool] = Field(default_factory=dict[str, bool])
    avoid: tuple[Avoided, ...] = ()


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence without marks of Markdown, and the number of the line that it begins in, from 1."""

    line: int
    text: str

    @property
    def length(self) -> int:
        """Its words; a piece of code is one."""
        return len(self.text.split())

    def __str__(self) -> str:
        """Return it, shortened if it is very long."""
        return self.text if len(self.text) <= _SHOWN else f"{self.text[:_SHOWN]} …"


@cache
def read_rules() -> Rules:
    """Read the project's rules."""
    return Rules.model_validate(tomllib.loads(files("tools.prose").joinpath("rules.toml").read_text("utf-8")))


def split_sentences(text: str) -> Iterator[Sentence]:
    """Yield the sentences of a Markdown text: its paragraphs and items, without code, tables and headings."""
    # What is left out keeps its line breaks, so that lines have their numbers.
    prose = _LEFT_OUT.sub(lambda match: "\n" * match.group().count("\n"), text)
    begins, words = 0, list[str]()
    for number, line in enumerate([*prose.split("\n"), ""], 1):
        ends = not line.strip() or _NO_PROSE.match(line) is not None
        if (ends or _BEGINS.match(line)) and words:
            yield from _cut(begins, "\n".join(words))
            words = []
        if not ends:
            begins = begins if words else number
            words.append(_BEGINS.sub("", line).strip(" >"))


def _cut(line: int, paragraph: str) -> Iterator[Sentence]:
    # A line break in what is replaced is kept as a NUL, which counts as a line and is no space.
    plain = _CODE.sub(lambda code: "`code`" + "\0" * code.group().count("\n"), paragraph)
    plain = _LINK.sub(lambda link: link[1] + "\0" * link.group().count("\n", len(link[1]) + 1), plain).replace("**", "")
    begin = 0
    for end, after in [*(match.span() for match in _SENTENCE_END.finditer(plain)), (len(plain), len(plain))]:
        if text := " ".join(plain[begin:end].replace("\0", "").split()):
            yield Sentence(line + plain.count("\n", 0, begin) + plain.count("\0", 0, begin), text)
        begin = after


def check_text(text: str, rules: Rules) -> list[str]:
    """Return what is wrong with a Markdown text, each with its line and what to do; nothing if it keeps to the rules."""
    sentences = list(split_sentences(text))
    return [*_check_lengths(sentences, rules), *_check_words(sentences, rules), *_ask_proselint(sentences, rules)]


def _check_lengths(sentences: Sequence[Sentence], rules: Rules) -> Iterator[str]:
    if not sentences:
        return
    lengths = sorted(sentence.length for sentence in sentences)
    middle, ninth = median(lengths), lengths[min(len(lengths) - 1, int(0.9 * len(lengths)))]
    if middle > rules.median:
        yield f"1: half of its sentences have {middle:g} words or more, {rules.median} are allowed: split sentences"
    if ninth > rules.ninth_decile:
        yield f"1: a tenth of its sentences have {ninth} words or more, {rules.ninth_decile} are allowed: split the longest"
    if middle > rules.median or ninth > rules.ninth_decile:
        for sentence in sorted(sentences, key=lambda each: -each.length)[:_LONGEST]:
            yield f"{sentence.line}: {sentence.length} words, split it: {sentence}"


def _check_words(sentences: Sequence[Sentence], rules: Rules) -> Iterator[str]:
    for sentence in sentences:
        for avoided in rules.avoid:
            if found := avoided.find(sentence.text):
                yield f"{sentence.line}: write {avoided.instead} instead of {found!r}: {sentence}"


def _ask_proselint(sentences: Sequence[Sentence], rules: Rules) -> Iterator[str]:
    # Each sentence stands in a line of its own with an empty one behind it, so that its line names it.
    text = "\n\n".join(sentence.text for sentence in sentences)
    for message, line in _lint(text, rules.proselint):
        sentence = sentences[(line - 1) // 2]
        yield f"{sentence.line}: {message.rstrip('.')}: {sentence}"


def _lint(text: str, switched: Mapping[str, bool]) -> Iterator[tuple[str, int]]:
    from proselint.checks import __register__
    from proselint.config import DEFAULT
    from proselint.registry import CheckRegistry
    from proselint.tools import LintFile

    registry = CheckRegistry()
    if not registry.checks:  # one for all in a process
        registry.register_many(__register__)
    # The first key that a check's name begins with decides.
    config: Any = {
        **DEFAULT,
        "checks": {**switched, **{k: v for k, v in DEFAULT["checks"].items() if k not in switched}},
    }
    for found in LintFile("prose", content=text).lint(config) if text else ():
        yield found.check_result.message, found.pos[0]


def check_files(root: Path, paths: Sequence[str], rules: Rules) -> list[str]:
    """Return what is wrong with the files of a project, by their names.

    A file that is pending is not judged; one that is pending and keeps to the rules is a fault of the list.
    """
    faults: list[str] = []
    for path in paths:
        found = check_text((root / path).read_text("utf-8"), rules)
        if path in rules.pending:
            faults += (
                [] if found else [f"{path}: keeps to the rules: take it out of `pending` in tools/prose/rules.toml"]
            )
        else:
            faults += [f"{path}:{fault}" for fault in found]
    return faults + [
        f"{path}: is pending in tools/prose/rules.toml and not there"
        for path in rules.pending
        if not (root / path).is_file()
    ]
