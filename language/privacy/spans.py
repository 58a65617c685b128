"""Places of forbidden values in a text, and their replacement by a rule's name.

A value is searched in plain readings of the text. Letters and digits of other widths and faces, look-alikes in a word
of another script, and the dashes and spaces of typesetting become keyboard characters; invisible characters are
removed. If Markdown shows something else than is written (escapes, entities, marks inside a word), the shown text is
searched, too. A place always refers to the original text.
"""

from __future__ import annotations

import re
import unicodedata
from array import array
from collections.abc import Callable, Iterable
from functools import lru_cache
from html import unescape
from typing import Final, NamedTuple

from language.blocks import split_code
from language.clean import INVISIBLE

MARK: Final = re.compile(r"\[redacted: [a-z]+(?:-[a-z]+)*\]")
"""What stands in the place of a value: no link, no citation, and nothing is looked for in it."""

_PLAIN: Final = {
    **{chr(0xFF01 + offset): chr(0x21 + offset) for offset in range(94)},
    **dict.fromkeys("\u2010\u2011\u2012\u2013\u2212\ufe63", "-"),
    **dict.fromkeys("\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u3000", " "),
}
_ODD: Final = re.compile(
    "[\u00a0\u0131\u0250-\u02ff\u0660-\u0669\u06f0-\u06f9\u1680\u1d00-\u200a\u2010-\u2013\u202f\u2070-\U0001fbff]"
)
"""Characters that may have a plain one for them; the rest of a text in Latin or Cyrillic letters is none of these."""
_LATIN, _OTHERS = (
    "aceopyxijshdqwABEKMHOPCTYXIJSaopviABEZHIKMNOPTYX",
    "асеорухіјѕһԁԛԝАВЕКМНОРСТУХІЈЅαορνιΑΒΕΖΗΙΚΜΝΟΡΤΥΧ",
)
_TO_LATIN: Final = str.maketrans(_OTHERS, _LATIN)
_TO_CYRILLIC: Final = str.maketrans("aceopyxABEKMHOPCTYX", "асеорухАВЕКМНОРСТУХ")
_MIXED: Final = re.compile(
    r"[A-Za-z](?:[\d_]*[\u0370-\u04ff]|(?<=[\u0370-\u04ff].)|(?<=[\u0370-\u04ff][\d_].)|(?<=[\u0370-\u04ff][\d_]{2}.))"
)
_WORD: Final = re.compile(r"\w+")
_GONE: Final = re.compile(f"{INVISIBLE.pattern}+|(?<=[A-Za-z])[\u0300-\u036f]+")
_MAY_GO: Final = re.compile(f"{INVISIBLE.pattern[:-1]}\u0300-\u036f]")
_UNICODE: Final = re.compile(r"\\u((?![dD][89a-fA-F])[0-9a-fA-F]{4})")
_UNBROKEN: Final = re.compile(r"\S+")
_GLUED: Final = re.compile(rf"\w{INVISIBLE.pattern}+\w")

_HINTS: Final = re.compile(r"[\\&<%]|[*~\]]\w")
_MAY_HIDE: Final = re.compile(r"\\[!-/:-@\[-`{-~]|&[#A-Za-z]|%40|\w(?:\*{1,4}|~~|\[\d{1,3}\])\w|<(?:[A-Za-z/]|!--)")
_HIDDEN: Final = re.compile(
    r"\\(?P<escaped>[!-/:-@\[-`{-~])"
    r"|(?P<entity>&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});)"
    r"|(?P<at>%40)"
    r"|(?P<break></?(?i:br|p|div|li|td|tr)\b[^<>\n]{0,100}>)"
    r"|</?(?i:b|i|em|strong|code|wbr|span|u|s|kbd|tt|small|mark|sub|sup|font|a)\b[^<>\n]{0,200}>|<!--(?:[^-]|-(?!->)){0,200}-->"
    # Marks inside a word; around one they separate it, and 2 ** 10 is a sum.
    r"|(?<=\w)(?:\*{1,4}|~~)(?=\w)|(?<=[A-Za-z0-9_])(?:\[\d{1,3}\])+(?=\w)"
)


_ROUNDS: Final = 8
"""How often a text is looked through for what begins where another value ended."""


class Span(NamedTuple):
    """One forbidden value: the rule that found it, and its place, `end` exclusive."""

    rule: str
    start: int
    end: int


class SearchedText(NamedTuple):
    """A plain reading of a text, for searching.

    Attributes:
        plain: The text to search; the mark of an earlier replacement is a run of NUL.
        starts, ends: The place in the text of each character, `end` exclusive; `None` if the places are the same.
    """

    plain: str
    starts: array[int] | None = None
    ends: array[int] | None = None

    def spans(self, found: Iterable[Span]) -> list[Span]:
        """Convert places of the plain reading to places of the text."""
        if self.starts is None or self.ends is None:
            return list(found)
        return [Span(rule, self.starts[start], self.ends[end - 1]) for rule, start, end in found]

    def without(self, gone: re.Pattern[str]) -> SearchedText:
        """Return the reading without the matches of a pattern."""
        matches = list(gone.finditer(self.plain))
        if not matches:
            return self
        starts = self.starts or array("l", range(len(self.plain)))
        ends = self.ends or array("l", range(1, len(self.plain) + 1))
        parts: list[str] = []
        kept_starts, kept_ends = array("l"), array("l")
        done = 0
        for start, end in [*(match.span() for match in matches), (len(self.plain), len(self.plain))]:
            parts.append(self.plain[done:start])
            kept_starts += starts[done:start]
            kept_ends += ends[done:start]
            done = end
        return SearchedText("".join(parts), kept_starts, kept_ends)


@lru_cache(maxsize=4)
def readings(text: str) -> tuple[SearchedText, ...]:
    """Return the plain readings of a text, the one as written first; few texts need more."""
    written = _read_as_typed(SearchedText(text))
    found = {written.plain: written}
    if not text.isascii() and INVISIBLE.search(text) and _GLUED.search(text):
        # What is glued in front of a value parts it; what is inside does not.
        apart = _read_as_typed(
            SearchedText(_UNBROKEN.sub(lambda word: INVISIBLE.sub(" ", word.group(), count=1), text))
        )
        found.setdefault(apart.plain, apart)
    if "\\u" in text and _UNICODE.search(text):
        decoded = _read_as_typed(_read_json_escapes(text))
        found.setdefault(decoded.plain, decoded)
    if _HINTS.search(text) and _MAY_HIDE.search(text):
        shown = _read_as_typed(_read_as_shown(text))
        found.setdefault(shown.plain, shown)
    return tuple(found.values())


def _read_as_typed(read: SearchedText) -> SearchedText:
    """Return a reading with the characters of a keyboard."""
    plain = read.plain
    if not plain.isascii():
        plain = _ODD.sub(lambda odd: _plain(odd.group()), plain)
        if _MIXED.search(plain):
            plain = _WORD.sub(lambda word: _of_one_script(word.group()), plain)
        read = read._replace(plain=plain)
        if _MAY_GO.search(plain):
            read = read.without(_GONE)
            plain = read.plain
    if "[redacted: " in plain:
        plain = MARK.sub(lambda mark: "\0" * len(mark.group()), plain)
    return read._replace(plain=plain)


def _plain(character: str) -> str:
    if known := _PLAIN.get(character):
        return known
    if character in "\u0131\u0261":
        return "i" if character == "\u0131" else "g"
    digit = unicodedata.decimal(character, None)
    if digit is not None:
        return str(digit)
    folded = unicodedata.normalize("NFKC", character)
    return folded if len(folded) == 1 else character


def _of_one_script(word: str) -> str:
    if not _MIXED.search(word):
        return word
    latin = sum("a" <= c <= "z" for c in word.lower())
    cyrillic = sum("\u0400" <= c <= "\u04ff" for c in word)
    return word.translate(_TO_LATIN if latin >= cyrillic else _TO_CYRILLIC)


def _read_json_escapes(text: str) -> SearchedText:
    """Return a text without the escapes of JSON that stand for one character: it need not be valid JSON to be read."""
    parts: list[str] = []
    starts, ends = array("l"), array("l")
    done = 0
    for match in _UNICODE.finditer(text):
        parts += (text[done : match.start()], chr(int(match[1], 16)))
        starts.extend((*range(done, match.start()), match.start()))
        ends.extend((*range(done + 1, match.start() + 1), match.end()))
        done = match.end()
    parts.append(text[done:])
    starts.extend(range(done, len(text)))
    ends.extend(range(done + 1, len(text) + 1))
    return SearchedText("".join(parts), starts, ends)


def _read_as_shown(text: str) -> SearchedText:
    """Return what a reader of Markdown is shown outside of code: escapes, entities, tags and marks inside words undone."""
    parts: list[str] = []
    starts, ends = array("l"), array("l")

    def add(said: str, start: int, end: int) -> None:
        parts.append(said)
        if len(said) == end - start:
            starts.extend(range(start, end))
            ends.extend(range(start + 1, end + 1))
        else:
            starts.extend([start] * len(said))
            ends.extend([end] * len(said))

    place = 0
    for number, part in enumerate(split_code(text)):
        done = 0
        for match in _HIDDEN.finditer(part) if number % 2 == 0 else ():
            add(part[done : match.start()], place + done, place + match.start())
            done = match.end()
            add(_undone(match), place + match.start(), place + done)
        add(part[done:], place + done, place + len(part))
        place += len(part)
    return SearchedText("".join(parts), starts, ends)


def _undone(match: re.Match[str]) -> str:
    if match["escaped"]:
        return match["escaped"]
    if match["entity"]:
        return unescape(match["entity"])
    return "@" if match["at"] else "\n" if match["break"] else ""


def lower_in_place(plain: str) -> str:
    """Return a text in lower case with every character at the same place."""
    return plain.replace("\u0130", "i").lower()


def merge_spans(spans: Iterable[Span]) -> list[Span]:
    """Return spans in order, without overlaps; of two that overlapped, the first one's rule stays."""
    kept: list[Span] = []
    for span in sorted(spans, key=lambda span: (span.start, -span.end)):
        if kept and span.start < kept[-1].end:
            kept[-1] = kept[-1]._replace(end=max(kept[-1].end, span.end))
        else:
            kept.append(span)
    return kept


def replace_spans(text: str, find: Callable[[str], Iterable[Span]]) -> tuple[str, tuple[str, ...]]:
    """Return a text without the values found in it, and the rules that found them, each once.

    The rest is searched again until nothing is found, because a value may begin where another one ended. If that does
    not end soon, the rest of their lines is removed, too: a text of only such values is not a sentence.
    """
    rules: dict[str, None] = {}
    rounds = 0
    while spans := merge_spans(find(text)):
        rounds += 1
        rules.update((span.rule, None) for span in spans)
        parts: list[str] = []
        done = 0
        for rule, start, end in spans:
            if start < done:
                continue
            if rounds > _ROUNDS:
                end = len(text) if (line := text.find("\n", end)) < 0 else line
            # Behind a bracket, these would make a link of it.
            space = " " if text[end : end + 1] in ("(", "[", ":") else ""
            parts += (text[done:start], f"[redacted: {rule}]{space}")
            done = end
        text = "".join((*parts, text[done:]))
    return text, tuple(rules)
