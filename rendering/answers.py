"""The texts that the user reads at the end of a turn."""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from textwrap import indent
from typing import Any, Final
from urllib.parse import quote, urljoin

from contracts.decisions import OUTPUT
from contracts.decisions.output import ChannelView
from contracts.enums import Channel, Language, PartStatus, PlanTrace, ResponseFormat, SGRAction, Source
from contracts.evidence import EvidenceItem
from contracts.report import PartFinding
from contracts.spec import CITED_SOURCES
from language.blocks import split_code, without_code
from language.privacy.links import foreign_links
from language.structured import json_block, parse_json, renumber_citations
from language.words import stems, tokens
from rendering.marks import merge_citations
from rendering.synthetic import as_data
from rendering.texts import inline, say, texts

_CITATION = re.compile(r"\[(\d{1,3})\]")

# An escaped character, or what begins a tag or a comment, closed or not; an address in angle brackets is none.
_TAG = re.compile(r"\\.|<(?=[A-Za-z/!?])(?!https?://[^\s<>\"'`]*>)", re.DOTALL | re.IGNORECASE)
_TURNS_TEXT = dict.fromkeys((*range(0x202A, 0x202F), *range(0x2066, 0x206A)))

_CYRILLIC = re.compile("[а-яё]")
_TELLING_WORDS: Final = 6
"""Words of prose that tell in which language a passage is; fewer may be names."""
_CLEARLY_RUSSIAN: Final = 0.5
_CLEARLY_NOT: Final = 0.05
"""Shares of Cyrillic words: between them a passage has the language of its page."""

_MOST_SEE_ALSO: Final = 2
_SHARED_WORDS: Final = 2
"""Words of the question that the title of a further page must have."""
_NEARLY_AS_SURE: Final = 0.8

_RELATIVE_LINK = re.compile(
    r"(?<![!\\\]])\[(?=[^\[\]\n]{0,500}[^\W\d_])([^\[\]\n]{1,500})\]\((?!//)([\w./#-][^\s<>()\[\]:\\]{0,1000})\)"
)
_NOT_IN_ADDRESSES = re.compile(r"[\s<>\[\]`*|\\\"]")


# In JSON, what begins a tag or turns the direction of reading can only stand in strings, where escapes say the same.
_TAG_IN_JSON = re.compile(r"<(?=[A-Za-z/!?])")
_TURNS_TEXT_IN_JSON = {code: f"\\u{code:04x}" for code in _TURNS_TEXT}


def verified_answer(
    draft: str,
    evidence: Sequence[EvidenceItem],
    language: Language,
    allowed_domains: Sequence[str] = (),
    response_format: ResponseFormat = ResponseFormat.MARKDOWN,
    *,
    with_note: bool = True,
    parts: Sequence[PartFinding] = (),
    asked: frozenset[str] = frozenset(),
) -> str:
    """Write a draft that passed, with the open parts of the question (`parts`) and the list of cited sources.

    Citations are renumbered in order of appearance, so the list has no gaps. Passages of one section are one source; a
    row of a graph or a database about it is another. A block with one source cites it once (`rendering/marks.py`). HTML
    outside code is shown as text, and no character changes the reading direction. A document's address is shown if it
    leads to an allowed domain or is a path. If a cited passage is in another language than the answer, a line says so
    (`with_note`). If `asked` has stems of the question, up to two other pages with them in their titles are named
    before the sources, without any claim about these pages.

    In a hybrid answer, the citations in the JSON block are renumbered, too. An answer in JSON stays JSON: its sources
    are under `CITED_SOURCES` as objects of `number`, `title`, `url`, `source`, `version` and `language`, and no `<` in
    it begins a tag. On FAST no check reads the format; a draft there that is not JSON is Markdown.
    """
    cited = _CitedAnswer(evidence)
    if response_format is ResponseFormat.JSON and (answer := _verified_json(draft.strip(), cited, allowed_domains)):
        return answer
    followed = _followable(draft.translate(_TURNS_TEXT).strip(), evidence, allowed_domains)
    text = _renumber(_without_html(followed), cited.number, response_format)
    # The two halves of a hybrid answer say the same, sentence by sentence.
    text = text if response_format is ResponseFormat.HYBRID else merge_citations(text, len(evidence))
    if not cited.sources():
        return text
    lines = [
        f"**{texts(language)['sources_heading']}**",
        "",
        *(f"- {source_line(n, item, language, allowed_domains)}" for n, item in cited.sources()),
    ]
    note = _language_note(cited.sources(), language) if with_note else ""
    open_parts = _open_parts(parts, language)
    more = _see_also(cited.sources(), evidence, language, allowed_domains, asked)
    return "\n\n".join(filter(None, (note, text, open_parts, more, "\n".join(lines)))).translate(_TURNS_TEXT)


def _open_parts(parts: Sequence[PartFinding], language: Language) -> str:
    """Say of each part of a question what the answer does not say of it; nothing where it says all."""
    if len(parts) < 2:
        return ""
    said = [
        say(language, "part_not_found", part=inline(part.text))
        for part in parts
        if part.status is not PartStatus.ANSWERED
    ]
    return "\n".join(f"_{line}_" for line in said)


def _followable(markdown: str, evidence: Sequence[EvidenceItem], allowed_domains: Sequence[str]) -> str:
    """Resolve relative links by the address of the page that is cited behind them; of others, the words stay."""
    parts = split_code(markdown)
    marks = [[(match.start(), int(match[1])) for match in _CITATION.finditer(part)] for part in parts[::2]]
    behind = [0] * len(marks)
    for place in range(len(marks) - 2, -1, -1):
        behind[place] = marks[place + 1][0][1] if marks[place + 1] else behind[place + 1]

    def resolved(match: re.Match[str], place: int) -> str:
        words, target = match.groups()
        at = bisect_right(marks[place], (match.start(), len(evidence)))
        number = marks[place][at][1] if at < len(marks[place]) else behind[place]
        page = evidence[number - 1].url or "" if 1 <= number <= len(evidence) else ""
        address = urljoin(page, target) if page.casefold().startswith(("http://", "https://")) else ""
        ours = address and not _NOT_IN_ADDRESSES.search(address) and not foreign_links(address, allowed_domains)
        return f"[{words}]({address})" if ours else words

    return "".join(
        part if i % 2 else _RELATIVE_LINK.sub(lambda match, place=i // 2: resolved(match, place), part)
        for i, part in enumerate(parts)
    )


def _see_also(
    cited: Sequence[tuple[int, EvidenceItem]],
    evidence: Sequence[EvidenceItem],
    language: Language,
    allowed_domains: Sequence[str],
    asked: frozenset[str],
) -> str:
    """Name further pages on what was asked: as sure as those cited, in the language of the answer, two at most."""
    sure = _NEARLY_AS_SURE * max(item.confidence for _, item in cited)
    named = {item.document_key for _, item in cited} | {item.title for _, item in cited}
    lines: list[str] = []
    for item in sorted(evidence, key=lambda item: -item.confidence):
        shared = asked.intersection(stems(" ".join(title_of(item))))
        fits = item.confidence >= sure and not item.lookup and len(shared) >= min(_SHARED_WORDS, len(asked) or 1)
        # Its language last: for that the whole passage is read.
        if fits and not named & {item.document_key, item.title} and written_in(item) in (None, language):
            named |= {item.document_key, item.title}
            place = _address(item, allowed_domains)
            title = " — ".join(filter(None, map(inline, title_of(item))))
            lines.append(f"- {title}{f' ({place})' if place else ''}")
    if not lines:
        return ""
    return "\n".join((f"**{texts(language)['see_also_heading']}**", "", *lines[:_MOST_SEE_ALSO]))


def answer_sources(
    draft: str,
    evidence: Sequence[EvidenceItem],
    allowed_domains: Sequence[str] = (),
    response_format: ResponseFormat = ResponseFormat.MARKDOWN,
) -> list[dict[str, object]]:
    """Return the sources of `verified_answer` for the same draft as data, in the same order and with the same numbers.

    Each has `number`, `title`, `url`, `source`, `version` and `language`. `url` is an address in an allowed domain, or
    a path; unknown values are empty strings.
    """
    return [
        _source_entry(number, item, allowed_domains)
        for number, item in _cite(draft, evidence, allowed_domains, response_format).sources()
    ]


def cited_passages(
    draft: str,
    evidence: Sequence[EvidenceItem],
    allowed_domains: Sequence[str] = (),
    response_format: ResponseFormat = ResponseFormat.MARKDOWN,
) -> dict[int, list[EvidenceItem]]:
    """Return the passages of each source that the draft cites, by the source's number in `verified_answer`."""
    return _cite(draft, evidence, allowed_domains, response_format).passages()


def citation_numbers(
    draft: str,
    evidence: Sequence[EvidenceItem],
    allowed_domains: Sequence[str] = (),
    response_format: ResponseFormat = ResponseFormat.MARKDOWN,
) -> dict[int, int]:
    """Return the numbers that the draft cites, each with its number in `verified_answer`."""
    return _cite(draft, evidence, allowed_domains, response_format).named()


def _cite(
    draft: str, evidence: Sequence[EvidenceItem], allowed_domains: Sequence[str], response_format: ResponseFormat
) -> _CitedAnswer:
    cited = _CitedAnswer(evidence)
    is_json = response_format is ResponseFormat.JSON and _verified_json(draft.strip(), cited, allowed_domains)
    if not is_json:
        _renumber(_without_html(draft.translate(_TURNS_TEXT).strip()), cited.number, response_format)
    return cited


class _CitedAnswer:
    """The sources of an answer, numbered in the order in which they are first cited."""

    def __init__(self, evidence: Sequence[EvidenceItem]) -> None:
        self._places = {
            number: (item.source, item.document_key, item.heading) for number, item in enumerate(evidence, 1)
        }
        self._first = {self._places[number]: item for number, item in reversed(list(enumerate(evidence, 1)))}
        self._order: dict[tuple[Source, str, str], int] = {}
        self._items = dict(enumerate(evidence, 1))
        self._named: dict[int, int] = {}

    def number(self, old: int) -> int:
        """Return a citation's number in the answer; a number without evidence stays the same."""
        place = self._places.get(old)
        if place is None:
            return old
        return self._named.setdefault(old, self._order.setdefault(place, len(self._order) + 1))

    def sources(self) -> list[tuple[int, EvidenceItem]]:
        """Return the sources cited so far, with their numbers."""
        return [(number, self._first[place]) for place, number in self._order.items()]

    def named(self) -> dict[int, int]:
        """Return the numbers cited so far, each with its number in the answer."""
        return dict(self._named)

    def passages(self) -> dict[int, list[EvidenceItem]]:
        """Return the passages cited so far, by the number of their source."""
        found: dict[int, list[EvidenceItem]] = {number: [] for number in self._order.values()}
        for old, number in sorted(self._named.items()):
            found[number].append(self._items[old])
        return found


def _renumber(markdown: str, number: Callable[[int], int], response_format: ResponseFormat) -> str:
    block = None
    if response_format is ResponseFormat.HYBRID:
        try:
            block = json_block(markdown)
            parse_json(block.text)
        except ValueError:
            block = None  # on FAST nobody checks the format; the block is code like any other
    written, place = "", 0
    for i, part in enumerate(split_code(markdown)):
        place += len(part)
        if i % 2 == 0:
            written += _CITATION.sub(lambda match: f"[{number(int(match.group(1)))}]", part)
        elif block and place - len(part) <= block.start < place:
            begin = block.start - (place - len(part))
            end = begin + len(block.text)
            written += part[:begin] + renumber_citations(block.text, number) + part[end:]
        else:
            written += part
    return written


def _verified_json(draft: str, cited: _CitedAnswer, allowed_domains: Sequence[str]) -> str:
    """Write an object of JSON with its sources; an empty string where the draft is none."""
    try:
        if not isinstance(parse_json(draft), dict):
            return ""
    except ValueError:
        return ""
    body = renumber_citations(draft, cited.number).removesuffix("}").rstrip()
    on_lines = "\n" in draft
    entries = json.dumps(
        [_source_entry(number, item, allowed_domains) for number, item in cited.sources()],
        ensure_ascii=False,
        indent=2 if on_lines else None,
    )
    member = f"{json.dumps(CITED_SOURCES)}: {entries}"
    comma = "" if body == "{" else ","
    answer = f"{body}{comma}\n{indent(member, '  ')}\n}}" if on_lines else f"{body}{comma}{' ' * len(comma)}{member}}}"
    return _TAG_IN_JSON.sub(r"\\u003c", answer).translate(_TURNS_TEXT_IN_JSON)


def _source_entry(number: int, item: EvidenceItem, allowed_domains: Sequence[str]) -> dict[str, object]:
    return {
        "number": number,
        "title": " — ".join(filter(None, (" ".join(part.split())[:600] for part in title_of(item)))),
        "url": _address(item, allowed_domains),
        "source": str(item.source),
        "version": item.version or "",
        "language": str(item.language or ""),
    }


def _without_html(markdown: str) -> str:
    """Return Markdown in which HTML outside of code is text; code stays as it is."""

    def shown(match: re.Match[str]) -> str:
        return "&lt;" if match.group() == "<" else match.group()

    while True:
        parts = split_code(markdown)
        text = "".join(part if i % 2 else _TAG.sub(shown, part) for i, part in enumerate(parts))
        # Without its tags a text may have other blocks: what was code behind a comment is now prose.
        if text == markdown:
            return text
        markdown = text


def source_line(number: int, item: EvidenceItem, language: Language, allowed_domains: Sequence[str] = ()) -> str:
    """Write one source: title, heading inside it, address, version, and its kind unless it is a plain document."""
    title = " — ".join(filter(None, map(inline, title_of(item))))
    url = _address(item, allowed_domains)
    kind = "" if item.source is Source.DOC else f", {texts(language)[f'cited_{item.source}']}"
    version = f", {say(language, 'cited_version', version=inline(item.version))}" if item.version else ""
    place = f" ({url})" if url else ""
    return say(language, "source_line", number=number, title=title, place=f"{place}{version}{kind}")


def title_of(item: EvidenceItem) -> tuple[str, str]:
    """Return the title of a source's document and the heading inside it.

    A first heading that is the title is left out, also if the title has a number before it: "2. Grids", "Grids › Guides".
    """
    first, _, rest = item.heading.partition(" › ")
    below = item.heading.removeprefix(item.title)
    if first and _NUMBER.fullmatch(item.title.removesuffix(first)):
        heading = rest
    else:
        heading = below if _BELOW.match(below) else item.heading
    return item.title or item.ref, heading.strip(" ›/>")


_NUMBER: Final = re.compile(r"(?:[^\W\d_]?\d[\d.]*[\s.)–—-]+)?")
_BELOW: Final = re.compile(r"\s*(?:[›/>]|$)")


_OTHER_SCHEME: Final = re.compile(r"\s*(?!https?:)[a-z][a-z0-9+.-]{0,30}:", re.IGNORECASE)
"""Such as `javascript:`: no address of a document."""


def _address(item: EvidenceItem, allowed_domains: Sequence[str]) -> str:
    # An address is data, too: what could end it or begin mark-up is written as an address writes it.
    # Without an address that may be shown, a document is found by its file.
    url = item.url or ""
    shown = item.document if _OTHER_SCHEME.match(url) or foreign_links(url, allowed_domains) else url or item.document
    return _NOT_IN_ADDRESSES.sub(lambda match: quote(match.group()), shown)


def _language_note(cited: Sequence[tuple[int, EvidenceItem]], language: Language) -> str:
    others = {written_in(item) for _, item in cited} - {None, language}
    if not others:
        return ""
    name = texts(language)[f"language_{min(filter(None, others))}"]
    return f"_{say(language, 'source_language_note', language=name)}_"


def written_in(item: EvidenceItem) -> Language | None:
    """Return the language of a passage: its page's, unless its own prose is clearly in the other language."""
    words = [word for word in tokens(without_code(item.snippet)) if word.isalpha()]
    if item.language is None or len(words) < _TELLING_WORDS:
        return item.language
    russian = sum(bool(_CYRILLIC.search(word)) for word in words) / len(words)
    if russian >= _CLEARLY_RUSSIAN:
        return Language.RU
    return Language.EN if russian <= _CLEARLY_NOT else item.language


def user_view(turn: Mapping[str, Any], intent: str, action: SGRAction, language: Language) -> str:
    """Write the user's view of a plan that ends the turn, by DT-004's row for the user interface.

    Args:
        turn: The turn's keys `synthetic`, `tool_trace` and `sgr_plan`.
        intent: The intent as understood; empty if none was.
        action: The action with which the plan ends the turn.
        language: The user's.
    """
    shown = shown_to_users(action)
    said = turn["synthetic"]
    parts = (
        f"**{texts(language)['user_intent_prefix']}** {inline(intent)}" if shown.user_intent and intent else "",
        said.get("analysis", "") if shown.analysis else "",
        said.get("response", "") if shown.response else "",
        as_data(turn["tool_trace"]) if shown.tool_trace else "",
        as_data(turn["sgr_plan"]) if shown.structured_data else "",
    )
    return "\n\n".join(filter(None, parts))


def shown_to_users(action: SGRAction) -> ChannelView:
    """Return the parts of a turn with this action that DT-004 shows to a user."""
    return OUTPUT.decide(channel=Channel.USER_INTERFACE, action=action, plan_trace=PlanTrace.SYNTHETIC).outcome
