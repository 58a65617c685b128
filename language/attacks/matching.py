"""Matches of a text with the rule pack (`rules.toml`): jailbreaks and prompt injection by their wording.

Punctuation and the shape of the sentence distinguish a mention from an attack. A strong rule counts as weak if it
matches inside quotation marks, after the beginning of a question ("how does ...", «почему ...»), or in reported speech
(", the mail says", «пишет начальник»). An attack in such words is Controversial, not Unsafe.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property

from contracts.enums import SafetyLevel
from language.attacks.rules import Pack, Rule, read_pack
from language.clean import clean, normalize, skeleton
from language.readings import DIGITS_FOR_LETTERS, MIXED_WORD, SIGNS_INSIDE, as_seen, decode

_SENTENCE_REACH = 200
"""Characters before a match in which the beginning of its sentence is looked for."""

_RUN_REACH = 300
"""Characters around what was written otherwise in which a rule may find it; nearly every rule finds less at once."""

_APOSTROPHE = re.compile("[\u2018\u2019\u02bc\u00b4]")
_DASH = re.compile("[\u2010-\u2015\u2212]")
_ACCENT = re.compile("[\u0300-\u0305\u0307-\u036f]|(?<![иИ])\u0306")
_GAP = re.compile(r"[\s_*~]+")
_SPACED_OUT = re.compile(r"(?<!\w)[^\W\d_](?!\w)(?:[^\w\n]{1,3}[^\W\d_](?!\w)){4,}")
_LISTED_WORDS = re.compile(r"(?<!\w)[^\W\d_]{1,20}(?:[,;/|+] ?[^\W\d_]{1,20}){3,20}(?!\w)")
_SIGNS_BETWEEN = re.compile(r"[,;/|+] ?")
_CUT_WORD = re.compile(r"(?<![^\W_])(?=([^\W\d_]{1,12}) ([^\W\d_]{1,12})(?![^\W_]))")
_WITH_SIGNS = re.compile(rf"(?<![^\W_])[^\W\d_]{{1,20}}(?:{SIGNS_INSIDE.pattern}[^\W\d_]{{1,20}}){{1,20}}(?![^\W_])")
_LETTER_OF = {"ru": re.compile("[а-я]"), "en": re.compile("[a-z]")}
"""A text without one matches no rule of the language."""
_NOT_WORD = re.compile(r"\W+")
_SENTENCE_END = re.compile(r"[.!?](?=\s)|\n")
_QUOTED = re.compile(
    r'"[^"\n]{2,300}"|«[^«»\n]{2,300}»|“[^“”\n]{2,300}”|„[^„“”\n]{2,300}[“”]'
    r"|```[^`]{2,2000}```|`[^`\n]{2,300}`|(?<!\w)'[^'\n]{2,300}'(?!\w)"
)


@dataclass(frozen=True, slots=True)
class MatchedRules:
    """The ids of the rules that matched, in the pack's order.

    Attributes:
        strong: Rules for attacks.
        weak: Rules for possible attacks.
        mentioned: Strong rules that matched only in a quoted, questioned or reported attack; they count as weak.
    """

    strong: tuple[str, ...] = ()
    weak: tuple[str, ...] = ()
    mentioned: tuple[str, ...] = ()

    @property
    def level(self) -> SafetyLevel:
        """The safety level: Unsafe with a strong rule, Controversial with a weak or a mentioned one, else Safe."""
        if self.strong:
            return SafetyLevel.UNSAFE
        return SafetyLevel.CONTROVERSIAL if self.weak or self.mentioned else SafetyLevel.SAFE

    def __str__(self) -> str:
        named = (("strong", self.strong), ("weak", self.weak), ("mentioned", self.mentioned))
        return "; ".join(f"{name}: {', '.join(ids)}" for name, ids in named if ids)


@cache
def shipped_pack() -> Pack:
    """Return the shipped pack, read once per process; expressions are compiled at first use.

    Raises:
        ConfigError: The pack cannot be read.
    """
    return read_pack()


def find(text: str, pack: Pack, *, as_written: bool = False) -> MatchedRules:
    """Return the rules of a pack that a text matches.

    Args:
        text: A message, or a sentence of a document.
        pack: The rules.
        as_written: Skip the alternative readings; tags and entities are still read.
    """
    views = _views(text, pack, as_written=as_written)
    found: dict[str, list[str]] = {"strong": [], "weak": [], "mentioned": []}
    likely = set[str]().union(*(view.may_match for view in views))
    for rule in pack.rules:
        if rule.id not in likely:
            continue
        mentions = [view.is_mention(match) for view in views for match in view.matches(rule)]
        if not all(mentions):
            found[rule.text.strength].append(rule.id)
        elif mentions and rule.strong:
            found["mentioned"].append(rule.id)
    return MatchedRules(*(tuple(ids) for ids in found.values()))


def matching_view(text: str) -> str:
    """Return the form of a message that the rules are written for (the top of `rules.toml` describes it)."""
    text = _DASH.sub("-", _APOSTROPHE.sub("'", skeleton(_without_accents(clean(text)))))
    return _GAP.sub(lambda match: "\n" if "\n" in match.group() else " ", text)


def _without_accents(text: str) -> str:
    # They hide a word from the rules and from no reader; й is a letter of its own.
    return text if text.isascii() else normalize("NFC", _ACCENT.sub("", normalize("NFD", text)))


_Runs = list[tuple[int, int]]
"""Where a text was written otherwise, in characters."""


def closed_up(view: str) -> tuple[str, _Runs]:
    """Join runs of at least five letters with gaps between them; return the text and the places of the runs."""
    return _rewrite(view, ((run.span(), _NOT_WORD.sub("", run.group())) for run in _SPACED_OUT.finditer(view)))


def _rewrite(view: str, changes: Iterable[tuple[tuple[int, int], str]]) -> tuple[str, _Runs]:
    """Return a text with changes in it, and where they are; they come in order."""
    parts: list[str] = []
    spans: _Runs = []
    length = done = 0
    for (start, end), word in changes:
        if start < done:
            continue
        parts += (view[done:start], word)
        length += start - done + len(word)
        spans.append((length - len(word), length))
        done = end
    return "".join((*parts, view[done:])), spans


def _without_gaps(view: str) -> Iterator[tuple[str, _Runs]]:
    """Yield a message with its spelt words closed up, and without signs inside of words: both lose the borders of words."""
    yield closed_up(view)
    yield _rewrite(view, ((word.span(), SIGNS_INSIDE.sub("", word.group())) for word in _WITH_SIGNS.finditer(view)))


def _word_by_word(view: str, pack: Pack) -> Iterator[tuple[str, _Runs]]:
    """Yield a message without signs between listed words, with letters for digits, and with words joined that were cut in two."""
    yield _join_listed_words(view)
    mixed = list(MIXED_WORD.finditer(view))
    for letters in DIGITS_FOR_LETTERS:
        said, runs = _rewrite(view, ((word.span(), word.group().translate(letters)) for word in mixed))
        yield said, runs
        if runs:
            yield _join_listed_words(said)
    cut = (match for match in _CUT_WORD.finditer(view) if pack.has_word(*match.groups()))
    yield _rewrite(view, (((match.start(1), match.end(2)), f"{match[1]}{match[2]}") for match in cut))


def _join_listed_words(view: str) -> tuple[str, _Runs]:
    return _rewrite(view, ((run.span(), _SIGNS_BETWEEN.sub(" ", run.group())) for run in _LISTED_WORDS.finditer(view)))


def _views(text: str, pack: Pack, *, as_written: bool) -> list[_View]:
    view = matching_view(text)
    views = [_View(view, pack)]
    if not as_written:
        views += [_View(said, pack, runs, loosely=True) for said, runs in _without_gaps(view) if runs]
        views += [_View(said, pack, runs) for said, runs in _word_by_word(view, pack) if runs]
    hidden = () if as_written else decode(text)
    seen = (as_seen(text),) if "<" in text or "&" in text else ()
    read = dict.fromkeys(matching_view(one) for one in (*seen, *hidden))
    return views + [_View(one, pack) for one in read if one != view]


class _View:
    """A message as the rules see it; with runs, only what touches one of them counts.

    Args:
        text: The message, or another way to read it.
        pack: The rules.
        runs: Where it was written otherwise.
        loosely: The borders of its words are lost.
    """

    def __init__(self, text: str, pack: Pack, runs: _Runs | None = None, *, loosely: bool = False) -> None:
        self._text = text
        self._pack = pack
        self._runs = runs
        self._loosely = loosely

    def matches(self, rule: Rule) -> Iterator[re.Match[str]]:
        """Yield the matches of a rule."""
        if rule.text.language in self._languages_without_a_letter or rule.id not in self.may_match:
            return iter(())
        if self._runs is None:
            return rule.pattern.finditer(self._text)
        return self._matches_at_runs(rule.loose if self._loosely else rule.pattern, self._runs)

    def _matches_at_runs(self, pattern: re.Pattern[str], runs: _Runs) -> Iterator[re.Match[str]]:
        for start, end in self._near_runs:
            yield from (match for match in pattern.finditer(self._text, start, end) if _touches(match, runs))

    def is_mention(self, match: re.Match[str]) -> bool:
        """Whether a match is only quoted, asked about, or reported of somebody else."""
        asked_or_told = self._is_asked_about(match.start()) or self._is_told(match)
        return asked_or_told or (self._is_quoted(match) and self._reports)

    def _is_asked_about(self, start: int) -> bool:
        beginning = self._find_beginning(start)
        if beginning is None:
            return False
        question = self._pack.question.match(self._text, beginning)
        return question is not None and beginning < start

    def _is_told(self, match: re.Match[str]) -> bool:
        before, after = self._pack.told_before, self._pack.told_after
        # What is found may end with the comma behind it, with which the words of who told it begin.
        if after is not None and after.match(self._text, max(match.start(), match.end() - 2)):
            return True
        beginning = self._find_beginning(match.start())
        return (
            before is not None and beginning is not None and bool(before.search(self._text, beginning, match.start()))
        )

    def _find_beginning(self, start: int) -> int | None:
        reach = max(0, start - _SENTENCE_REACH)
        ends = [end.end() for end in _SENTENCE_END.finditer(self._text, reach, start)]
        return ends[-1] if ends else None if reach else 0

    def _is_quoted(self, match: re.Match[str]) -> bool:
        after = bisect_right(self._quotes, match.start(), key=lambda span: span[0])
        return after > 0 and match.end() <= self._quotes[after - 1][1]

    @cached_property
    def _near_runs(self) -> _Runs:
        near: _Runs = []
        for start, end in self._runs or ():
            start, end = max(0, start - _RUN_REACH), end + _RUN_REACH
            if near and start <= near[-1][1]:
                start = near.pop()[0]
            near.append((start, end))
        return near

    @cached_property
    def _languages_without_a_letter(self) -> list[str]:
        return [language for language, letter in _LETTER_OF.items() if not letter.search(self._text)]

    @cached_property
    def may_match(self) -> set[str]:
        """The ids of rules that have one of their words in the text."""
        return self._pack.may_match(self._text)

    @cached_property
    def _quotes(self) -> list[tuple[int, int]]:
        return [quote.span() for quote in _QUOTED.finditer(self._text)]

    @cached_property
    def _reports(self) -> bool:
        return self._pack.report.search(_QUOTED.sub(" ", self._text)) is not None


def _touches(match: re.Match[str], runs: _Runs) -> bool:
    before = bisect_left(runs, match.end(), key=lambda span: span[0])
    return before > 0 and match.start() < runs[before - 1][1]
