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
_MOST_BESIDE, _MOST_BESIDE_SAYING_SO = 3, 12
"""Stems of what somebody says who passes a question on, without and with words for it."""
_FEWEST_OF_A_CHAT: Final = 2
"""Lines with a time and a name from which a message is a chat; a log has one, too."""
_ASKS: Final = re.compile("[?\uff1f]")
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
_WANTS: Final = _WORDING.pattern("wants")
_ASKS_UNDER: Final = frozenset(stems(" ".join(_WORDING.words("asks_under"))))
_SILENT_UNDER: Final = _ASKS_UNDER | frozenset(stems(" ".join(_WORDING.words("silent_under"))))
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
    r"|(?<=\w)[ \t]?[\u2639\u263a\u2764\U0001f600-\U0001f64f]\ufe0f?(?=[ \t]{1,9}[A-ZА-ЯЁ])"
)


def own_words(message: str) -> str:
    """Return a message without quoted mail, signature and form fields; the whole message if nothing else is left."""
    lines = _without_signature(_without_quotes(_plain(message).splitlines()))
    lines = _without_rulers(_without_form(_without_silent_sections(lines)))
    text = "\n".join(_without_marks(lines)).strip()
    return text if stems(text) else message


def _plain(message: str) -> str:
    """Return a message in HTML, as mail programs write it, as text; others as they are."""
    if not _HTML.match(message) or "</" not in message or not message.rstrip().endswith(">"):
        return message
    return html.unescape(_TAG.sub("", _LINE_TAG.sub("\n", message))).replace("\xa0", " ")


def _asks(line: str) -> bool:
    """Whether a line asks or wants something: then it is the user's own."""
    said = line.strip()
    asks = _ASKS.search(said) is not None or _REQUESTS.match(said) is not None or _WANTS.search(said) is not None
    return asks and _field(line)[0] != "form"


def _without_quotes(lines: list[str]) -> list[str]:
    own: list[str] = []
    asks = passes = passed = False
    beside = 0
    for line in lines:
        said = _unquoted(line) if passed else line
        begins = _QUOTE_BEGINS.match(said)
        # What is passed on is asked by who wrote it, unless who passes it on says something.
        passes_on = _PASSED_ON.match(said) or (begins and passes)
        if passes_on and not asks and beside <= _most_beside(passes=passes):
            own, beside, passes, passed = [], 0, False, True
            continue
        # In the head of a form, "From:" names its sender; behind a text of the user's own, it begins a mail.
        if beside and (begins or _PASSED_ON.match(said)):
            break
        own.append(said)
        asks = asks or _asks(said)
        passes = passes or _PASSES_ON.search(said) is not None
        beside += len(stems(said)) if _is_told(said) else 0
    unquoted = [line for line in own if not _is_quoted(line)]
    quoted = [_unquoted(line) for line in own if _is_quoted(line)]
    beside = sum(len(stems(line)) for line in unquoted)
    asked = any(_ASKS.search(line) and len(stems(line)) >= _FEWEST_ASKED for line in quoted)
    if asked and beside <= _most_beside(passes=passes) and not any(map(_asks, unquoted)):
        return [_unquoted(line) for line in own]
    return unquoted if any(stems(line) for line in unquoted) else lines


def _most_beside(*, passes: bool) -> int:
    return _MOST_BESIDE_SAYING_SO if passes else _MOST_BESIDE


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
        if said is None or len(stems(said["behind"])) > 3 or any(map(_asks, (said["behind"], *lines[number:]))):
            continue
        # A ruler behind the head of a ticket begins its text.
        if any(map(_is_own, lines[:number])):
            return lines[:number]
    return lines


def _is_own(line: str) -> bool:
    """Whether a line may be the user's own words, and no part of a ticket's head."""
    return bool(stems(line)) and _field(line)[0] != "form"


def _without_silent_sections(lines: list[str]) -> list[str]:
    """Return lines without the headings of a report's template, and without what stands under those that ask nothing.

    A line that asks or wants something stays wherever it stands, and so does every other heading with its text.
    """
    kept: list[str] = []
    keeps = True
    for line in lines:
        said = _HEADING.fullmatch(line)
        words = stems(said["marked"] or said["strong"]) if said else []
        if words and _SILENT_UNDER.issuperset(words):
            keeps = _ASKS_UNDER.issuperset(words)
        elif keeps or said or _asks(line):
            keeps = keeps or said is not None
            kept.append(line)
    return kept


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


def _without_marks(lines: list[str]) -> list[str]:
    """Return lines without who wrote them in a chat and whom they call; a smile ends a sentence."""
    if sum(_CHAT_LINE.match(line) is not None for line in lines) >= _FEWEST_OF_A_CHAT:
        lines = [_CHAT_LINE.sub("", line) for line in lines]
    lines = [_MENTIONS.sub("", line) for line in lines]
    return lines if any("(" in line for line in lines) else [_SMILE.sub(".", line) for line in lines]


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
    return ("form", "") if words & _FORM and not _ASKS.search(line) else (None, line)
