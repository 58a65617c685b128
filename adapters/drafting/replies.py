"""The strict reading of a model's reply: a draft of one of three kinds, a wish to search, or nothing that can be used."""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Final, cast

from adapters.drafting.prompt import ABSTAIN, ASK_BACK, SEARCH_TOOL
from adapters.models.chat import Reply
from contracts.enums import DraftKind, FaultKind, ResponseFormat
from contracts.ports import Draft
from language.blocks import split_code
from language.clean import clean
from language.patterns import read_wording
from language.structured import leaves, with_strings

_WORDING: Final = read_wording(__name__)

_MOST_SEARCHES: Final = 3
_LONGEST_QUERY: Final = 300
MOST_CHARS: Final = 20_000
"""Characters of the longest draft that is judged: no answer to a support request is longer, and judging takes time."""
_LEADING_MARKS: Final = re.compile(r"^[\s*_`>#]+")
_SEVERAL: Final = re.compile(r"\[(\d{1,3}(?:\s*[,;]\s*\d{1,3})+)\]")
_BRACKETED: Final = re.compile(r"【(\d{1,3})(?:[:†][^【】\n]{0,60})?】|\[\^(\d{1,3})\]")
_SOURCES: Final = _WORDING.words("sources")
_FENCED: Final = re.compile(r"\A```(?:json)?[ \t]*\n(.*)\n[ \t]*```\Z", re.DOTALL | re.IGNORECASE)
_ENTRY: Final = re.compile(r"\s*(?:[-*]\s|\d+[.)]\s|\[\^?\d+\])")


@dataclass(frozen=True, slots=True)
class Unusable:
    """A reply that is no draft: what was wrong, and what the model is told about it."""

    kind: FaultKind
    what: str
    note: str


EMPTY: Final = Unusable(FaultKind.EMPTY, "it wrote nothing", "Your last reply was empty. Write the answer now.")
CUT: Final = Unusable(
    FaultKind.CUT_SHORT,
    "its draft was longer than there is room for",
    "Your last reply was longer than there is room for. Write a shorter answer: at most eight sentences.",
)
CALLED: Final = Unusable(
    FaultKind.NOT_AS_ASKED,
    "it called a function instead of writing",
    "That function cannot be called. Write the answer from the evidence above, as text.",
)
ODD: Final = Unusable(
    FaultKind.NOT_AS_ASKED,
    "its replies do not have the form of a message",
    "Your last reply could not be read. Write the answer now, as text, and call no function.",
)
UNUSABLE: Final = {FaultKind.EMPTY: EMPTY, FaultKind.CUT_SHORT: CUT, FaultKind.NOT_AS_ASKED: ODD}


def read_draft(
    reply: Reply, *, may_search: bool, response_format: ResponseFormat = ResponseFormat.MARKDOWN
) -> Draft | Unusable:
    """Return the reading of a reply: a draft of one of the three kinds, a wish to search, or nothing usable."""
    if may_search and (searches := _searches(reply)):
        return Draft(DraftKind.ABSTENTION, "", searches=searches)
    text = reply.text.strip()
    if reply.cut_short or len(text) > MOST_CHARS:
        return CUT
    if not text or "<tool_call>" in text:
        return CALLED if reply.calls or text else EMPTY
    said = _first_string(strip_fence(text)) if response_format is ResponseFormat.JSON else text
    return read_mark(said, text) or Draft(DraftKind.ANSWER, tidy(text, response_format))


def read_mark(said: str, text: str = "") -> Draft | None:
    """Return the draft of a reply that begins with the mark of an abstention or of a question; `None` for any other.

    Args:
        said: Where the mark may stand.
        text: The whole reply; the same, if it is empty.
    """
    bare = _LEADING_MARKS.sub("", said)
    if bare.upper().startswith(ABSTAIN):
        return Draft(DraftKind.ABSTENTION, text or said)
    if bare.upper().startswith(ASK_BACK):
        question = _one_question(bare[len(ASK_BACK) :])
        return Draft(DraftKind.CLARIFICATION, question) if question else Draft(DraftKind.ABSTENTION, text or said)
    return None


def _first_string(text: str) -> str:
    """Return the first string of a text of JSON, where a model may have written its marks; else the text."""
    try:
        return next((leaf.text for leaf in leaves(text) if leaf.is_string), text)
    except ValueError:
        return text


def _one_question(text: str) -> str:
    """Return the first question of a text on one line; what stands around it would be claims that nobody checks."""
    line = " ".join(text.strip(" *_\n").split("\n", 1)[0].split())
    end = line.find("?") + 1
    return line[:end] if 0 < end <= _LONGEST_QUERY else ""


def tidy(text: str, response_format: ResponseFormat = ResponseFormat.MARKDOWN) -> str:
    """Write each citation as `[n]`, outside code, and leave out the model's own list of sources.

    Only marks are changed, not words: the numbers are the model's, and the Guardian judges them. The fence around JSON
    is removed, because many models add it whatever they are asked. Text that is not JSON is left to the Guardian, too.
    """
    if response_format is ResponseFormat.JSON:
        return with_strings(strip_fence(text), _cited_one_by_one)
    text = _cited_one_by_one(_without_sources(text))
    return with_strings(text, _cited_one_by_one) if response_format is ResponseFormat.HYBRID else text


def names_any(refusal: str, words: Sequence[str]) -> bool:
    """Whether what a server says in refusing has one of some words; in front of it stand the names of model and server."""
    said = refusal.partition("HTTP")[2].lower()
    return any(word in said for word in words)


def strip_fence(text: str) -> str:
    """Return a reply without the fence around it that many models write around JSON."""
    return _FENCED.sub(r"\1", text)


def _cited_one_by_one(text: str) -> str:
    parts = split_code(text)
    return "".join(part if place % 2 else _one_by_one(part) for place, part in enumerate(parts))


def _without_sources(text: str) -> str:
    """Return a text without a heading like "Sources" and nothing but a list behind it, where they come last."""
    lines = text.split("\n")
    listed = len(lines)
    while listed and (not lines[listed - 1].strip() or _ENTRY.match(lines[listed - 1])):
        listed -= 1
    heading = lines[listed - 1].strip("#*_: \t").casefold() if listed else ""
    if heading not in _SOURCES or not "".join(lines[listed:]).strip():
        return text
    if _is_code(text, sum(len(line) + 1 for line in lines[: listed - 1])):
        return text
    return "\n".join(lines[: listed - 1]).rstrip() or text


def _is_code(text: str, place: int) -> bool:
    """Whether what stands at a place of a text is code, as in a fence that is never closed."""
    ends = list(accumulate(map(len, split_code(text))))
    return bisect_right(ends, place) % 2 == 1


def _one_by_one(text: str) -> str:
    plain = _BRACKETED.sub(lambda m: f"[{m.group(1) or m.group(2)}]", text)
    return _SEVERAL.sub(lambda m: "".join(f"[{number}]" for number in re.findall(r"\d+", m.group(1))), plain)


def _searches(reply: Reply) -> tuple[str, ...]:
    wanted = [_query(call.arguments) for call in reply.calls if call.name == SEARCH_TOOL]
    return tuple(dict.fromkeys(query for query in wanted if query))[:_MOST_SEARCHES]


def _query(arguments: str) -> str:
    try:
        given = json.loads(arguments, strict=False)
    except (ValueError, RecursionError):
        return ""
    query = cast("dict[str, Any]", given).get("query") if isinstance(given, dict) else None
    return " ".join(clean(query).split())[:_LONGEST_QUERY] if isinstance(query, str) else ""
