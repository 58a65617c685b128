"""What stands around a user's own words in a message: quoted mail, signature, a ticket's form, a report's template, markup.

It is told by structure, at any length. Everything here works on lines.
"""

from __future__ import annotations

import html
import re
from typing import Final

from language.patterns import read_wording
from language.words import stems, tokens

_WORDING: Final = read_wording(__name__)

_MOST_SIGNED: Final = 8
"""Lines of a signature; what is longer says something."""
_FEWEST_FIELDS: Final = 2
"""Fields from which lines of `name: value` are a form."""
_FEWEST_ASKED: Final = 3
"""Stems of a quoted question that is the user's own: mail programs quote without a name, too."""
_ASKS: Final = "?"
_REQUESTS: Final = read_wording("language.message").pattern("requests")
_QUOTE_BEGINS: Final = _WORDING.pattern("quote_begins")
_PASSED_ON: Final = _WORDING.pattern("passed_on")
_PASSES_ON: Final = _WORDING.pattern("passes_on")
_SIGNS_OFF: Final = _WORDING.pattern("signs_off")
_TICKET_HEAD: Final = _WORDING.pattern("ticket_head")
_CHAT_LINE: Final = _WORDING.pattern("chat_line")
_MENTIONS: Final = _WORDING.pattern("mentions")
_ASKS_IN: Final = frozenset(_WORDING.words("asks_in"))
_FORM: Final = frozenset(_WORDING.words("form"))
_ASKS_UNDER: Final = frozenset(stems(" ".join(_WORDING.words("asks_under"))))
_FIELD: Final = re.compile(
    r"^[ \t*_#>-]{0,9}(?P<name>[^\W\d_][\w /#№.-]{0,30}?)[*_]{0,2}\s{0,3}(?:[:=]|\s#|\s№)[*_]{0,2}\s{0,9}(?P<value>.{0,2000})$"
)
_HEADING: Final = re.compile(
    r"[ \t]{0,3}(?:#{1,6}[ \t]+(?P<marked>\S.{0,80})|(?P<bold>[*_]{1,2})(?P<strong>[^*_\n]{1,80})(?P=bold)[:.]?)[ \t]*"
)
_RULER: Final = re.compile(r"\s*(?:[-_=*]{3,}\s*)?")
_HTML: Final = re.compile(r"\s{0,99}<(?:!doctype|html|body|div|p|span|table|font|meta)\b", re.IGNORECASE)
_LINE_TAG: Final = re.compile(r"</?(?:p|div|br|li|ul|ol|tr|table|h[1-6]|blockquote)\b[^<>]{0,2000}>", re.IGNORECASE)
_TAG: Final = re.compile(r"</?[a-z][^<>]{0,2000}>|<!--[^<>]{0,2000}-->", re.IGNORECASE)
_SMILE: Final = re.compile(
    r"(?<=[^\W\d_])[ \t]?(?:[)]{1,9}|[:;]-?[)(])(?=[ \t]{1,9}[A-ZА-ЯЁ])"
    r"|(?<=\w)[ \t]?[\u2600-\u27bf\U0001f300-\U0001faff]\ufe0f?(?=[ \t]{1,9}[A-ZА-ЯЁ])"
)


def own_words(message: str) -> str:
    """Return a message without quoted mail, signature and form fields; the whole message if nothing else is left."""
    lines = _without_signature(_without_quotes(_plain(message).splitlines()))
    lines = _without_rulers(_without_form(_only_what_is_asked(lines)))
    text = "\n".join(map(_without_marks, lines)).strip()
    return text if stems(text) else message


def _plain(message: str) -> str:
    """Return a message in HTML, as mail programs write it, as text; others as they are."""
    if not _HTML.match(message) or "</" not in message:
        return message
    return html.unescape(_TAG.sub("", _LINE_TAG.sub("\n", message))).replace("\xa0", " ")


def _asks(lines: list[str]) -> bool:
    return any(_ASKS in line for line in lines)


def _without_quotes(lines: list[str]) -> list[str]:
    own: list[str] = []
    asks = told = passes = passed = False
    for line in lines:
        said = _unquoted(line) if passed else line
        begins = _QUOTE_BEGINS.match(said)
        # What is passed on is asked by who wrote it, unless who passes it on asks something.
        if not asks and (_PASSED_ON.match(said) or (begins and passes)):
            own, told, passes, passed = [], False, False, True
            continue
        # In the head of a form, "From:" names its sender; behind a text of the user's own, it begins a mail.
        if begins and told:
            break
        own.append(said)
        asks = asks or _ASKS in said
        told = told or _is_told(said)
        passes = passes or _PASSES_ON.search(said) is not None
    unquoted = [line for line in own if not _is_quoted(line)]
    quoted = [_unquoted(line) for line in own if _is_quoted(line)]
    if not _asks(unquoted) and any(_ASKS in line and len(stems(line)) >= _FEWEST_ASKED for line in quoted):
        return [_unquoted(line) for line in own]
    return unquoted if any(stems(line) for line in unquoted) else lines


def _is_told(line: str) -> bool:
    """Whether a line may be text, and neither a field nor the head of a mail."""
    return bool(stems(line)) and _field(line)[0] is None and _QUOTE_BEGINS.match(line) is None


def _is_quoted(line: str) -> bool:
    return line.lstrip().startswith(">")


def _unquoted(line: str) -> str:
    return line.lstrip("> \t") if _is_quoted(line) else line


def _without_signature(lines: list[str]) -> list[str]:
    filled = [number for number, line in enumerate(lines) if line.strip()]
    # A signature stands at the end: only the last lines are looked at.
    for number in filled[max(1, len(filled) - _MOST_SIGNED - 1) :]:
        said = _SIGNS_OFF.match(lines[number])
        # A ruler behind the head of a ticket begins its text.
        if said and len(stems(said["behind"])) <= 3 and not _asks(lines[number:]) and any(map(_is_own, lines[:number])):
            return lines[:number]
    return lines


def _is_own(line: str) -> bool:
    """Whether a line may be the user's own words, and no part of a ticket's head."""
    return bool(stems(line)) and _field(line)[0] != "form"


def _only_what_is_asked(lines: list[str]) -> list[str]:
    """Return what stands under the headings of a report's template that ask, and before all; other messages as they are."""
    headings = {number: said for number, line in enumerate(lines) if (said := _HEADING.fullmatch(line))}
    first = min(headings, default=len(lines))
    kept: list[str] = []
    keeps, found = True, False
    for number, line in enumerate(lines):
        if said := headings.get(number):
            words = stems(said["marked"] or said["strong"])
            keeps = bool(words) and _ASKS_UNDER.issuperset(words)
        elif keeps:
            kept.append(line)
            found = found or (number > first and bool(stems(line)))
    return kept if found else lines


def _without_form(lines: list[str]) -> list[str]:
    """Return lines without the fields of a ticket that ask nothing, and without the names of those that do."""
    fields = [_field(line) for line in lines]
    if sum(name is not None for name, _ in fields) < _FEWEST_FIELDS:
        return lines
    return [
        line if name is None else value for line, (name, value) in zip(lines, fields, strict=True) if name != "form"
    ]


def _without_rulers(lines: list[str]) -> list[str]:
    """Return lines without the rulers, and the empty lines, at both ends."""
    said = [number for number, line in enumerate(lines) if not _RULER.fullmatch(line)]
    return lines[said[0] : said[-1] + 1] if said else []


def _without_marks(line: str) -> str:
    """Return a line without who wrote it in a chat and whom it calls; a smile ends a sentence."""
    line = _MENTIONS.sub("", _CHAT_LINE.sub("", line))
    return line if "(" in line else _SMILE.sub(".", line)


def _field(line: str) -> tuple[str | None, str]:
    """Return whether a line is a field of a form, and of which kind: `asks`, `form` or none."""
    if _TICKET_HEAD.match(line):
        return "form", ""
    said = _FIELD.match(line)
    if said is None:
        return None, line
    if _REQUESTS.match(said["name"]):
        return None, line
    words = set(tokens(said["name"]))
    if words & _ASKS_IN:
        return "asks", said["value"]
    return ("form", "") if words & _FORM and _ASKS not in line else (None, line)
