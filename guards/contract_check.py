"""Does the draft keep the contract of its request type? (`ArchitectSpec`)"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final, cast

from contracts.enums import CheckStatus, DraftKind, RequiredAction, ResponseFormat, Track
from contracts.reasons import Reason
from contracts.report import Finding
from contracts.spec import CITED_SOURCES, ArchitectSpec
from language.blocks import Block, BlockKind, blocks, has_steps, heading_text
from language.claims import without_citations
from language.clean import skeleton, unescape_entities
from language.forbidden import forbidden_in, said_literally
from language.patterns import read_wording
from language.structured import inside_json, json_block, leaves, parse_json
from language.words import Phrases, tokens

_WORDING: Final = read_wording(__name__)

NAME = "contract"
_A = RequiredAction
_LONGEST_KEY: Final = 40

_LINK = re.compile(r"\]\([^()\n]*\)")
_NUMBERING = _WORDING.pattern("numbering")
# What a reader does not see as words.
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)|</?[bh]r\s*/?>", re.DOTALL | re.IGNORECASE)
# Signs that make another name of a letter or a word: C++, C#, .NET.
_SIGNED = re.compile(r"[+#*@$%&]|(?<!\w)\.(?=\w)")
_FENCE = re.compile(r"^ {0,3}(?:`{3,}|~{3,}).*$", re.MULTILINE)


def check_contract(draft: str, spec: ArchitectSpec, *, track: Track, kind: DraftKind) -> Finding:
    """Judge form, sections, forbidden content and domain terms; report every fault at once.

    FAST drafts, abstentions and clarifications are not checked. A heading counts at any level and in any case; a word
    in running text or an empty section does not count. Terms match by stems on token boundaries; terms with signs, such
    as "C++", and forbidden phrases match literally. Look-alike letters and entities count as the letters that they look
    like. If a draft should be a JSON object and is not, its sections are unknown: then only its form and its content
    are reported.
    """
    if track is Track.FAST or kind is not DraftKind.ANSWER:
        return Finding(check=NAME, status=CheckStatus.NOT_ASKED)
    reasons: list[Reason] = []
    actions: list[RequiredAction] = []
    if fault := format_fault(draft, spec.response_format):
        reasons.append(Reason("response_format_violated", (f"{spec.response_format}: {fault}",)))
        actions += (_A.REGENERATE_DRAFT,)
    if missing := missing_sections(draft, spec):
        reasons.append(Reason("missing_required_sections", tuple(missing)))
        actions += (_A.ADD_REQUIRED_SECTIONS, _A.REGENERATE_DRAFT)
    if hits := forbidden_in(spec.forbidden_content, draft):
        reasons.append(Reason("forbidden_content_detected", tuple(hits)))
        actions += (_A.REMOVE_FORBIDDEN_CONTENT, _A.REGENERATE_DRAFT)
    if spec.domain_terms and not _uses_one_of(spec.domain_terms, draft):
        reasons.append(Reason("domain_terms_not_used"))
        actions += (_A.USE_DOMAIN_TERMS, _A.REGENERATE_DRAFT)
    return Finding(
        check=NAME,
        status=CheckStatus.FAILED if reasons else CheckStatus.OK,
        reasons=tuple(reasons),
        actions=tuple(dict.fromkeys(actions)),
    )


def format_fault(draft: str, response_format: ResponseFormat) -> str:
    """Return why a draft does not have its format; an empty string if it has. Any text is Markdown."""
    try:
        match response_format:
            case ResponseFormat.MARKDOWN:
                return ""
            case ResponseFormat.JSON:
                value = parse_json(draft)
                if not isinstance(value, dict):
                    return "line 1 column 1: not an object"
                keys = cast("dict[str, object]", value)
                if taken := [key for key in keys if _comparable(key) == _comparable(CITED_SOURCES)]:
                    return f"the key {_quote(taken[0])} is not the draft's: the list of sources is written there"
            case ResponseFormat.HYBRID:
                keys = parse_json(json_block(draft).text)
    except ValueError as error:
        return str(error)
    # Citations get other numbers in the answer; keys have to stay as they are.
    cited = next((key for key in _keys(keys) if without_citations(key) != key), "")
    return f"a citation in the key {_quote(cited)}" if cited else ""


def missing_sections(draft: str, spec: ArchitectSpec) -> list[str]:
    """Return the names of the required sections that a draft lacks or leaves empty.

    In JSON a section is a key of the outermost object; other JSON is not checked. A section for steps can only be
    missing from Markdown that has steps.
    """
    asked = spec.required_sections
    if spec.response_format is ResponseFormat.MARKDOWN and not has_steps(draft):
        asked = tuple(section for section in asked if not section.for_steps)
    if spec.response_format is ResponseFormat.JSON:
        try:
            value = parse_json(draft)
        except ValueError:
            return []
        if not isinstance(value, dict):
            return []
        written = _filled_keys(draft)
    else:
        written = set(_filled_headings(draft))
    found = {way for heading in written for way in _ways_to_read(heading)}
    return [
        section.name
        for section in asked
        if not found.intersection(_comparable(heading) for heading in section.headings())
    ]


def _filled_headings(markdown: str) -> Iterator[str]:
    """Return the headings under which something is said, be it under a heading of a lower level."""
    found = blocks(markdown)
    for position, heading in enumerate(found):
        if heading.kind is not BlockKind.HEADING:
            continue
        for place in range(position + 1, len(found)):
            block = found[place]
            if block.kind is BlockKind.HEADING:
                if block.level <= heading.level:
                    break
            elif _says_something(block):
                yield heading_text(heading.text)
                break


def _says_something(block: Block) -> bool:
    if block.kind is BlockKind.CODE:
        return bool(tokens(without_citations(_FENCE.sub("", block.text))))
    return _has_words(block.text)


def _has_words(text: str) -> bool:
    return bool(tokens(without_citations(_COMMENT.sub(" ", unescape_entities(text)))))


def _filled_keys(draft: str) -> set[str]:
    """Return the outermost keys under which something is said: a string with words, a number, true or false."""
    return {
        leaf.path[0]
        for leaf in leaves(draft)
        if leaf.path and (_has_words(leaf.text) if leaf.is_string else leaf.text != "null")
    }


def _ways_to_read(heading: str) -> Iterable[str]:
    """Return a heading for comparing, as it is and without its number: "Step 2. Cause" is "Cause", too."""
    flat = skeleton(_LINK.sub("]", without_citations(unescape_entities(heading))))
    yield _comparable(flat)
    if number := _NUMBERING.match(flat):
        yield _comparable(flat[number.end() :])


def _comparable(heading: str) -> str:
    # A heading of signs alone is compared by them.
    flat = skeleton(heading)
    return " ".join(tokens(flat)) or " ".join(flat.split())


def _uses_one_of(terms: tuple[str, ...], draft: str) -> bool:
    signed = [term for term in terms if _SIGNED.search(term)]
    if said_literally(signed, draft):
        return True
    phrases = Phrases([skeleton(term) for term in terms if term not in signed])
    return any(phrases.find(skeleton(unescape_entities(said))) for said in (draft, *inside_json(draft)))


def _keys(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        for key, member in cast("dict[str, object]", value).items():
            yield key
            yield from _keys(member)
    elif isinstance(value, list):
        for element in cast("list[object]", value):
            yield from _keys(element)


def _quote(key: str) -> str:
    flat = " ".join(key.split())
    return f'"{flat if len(flat) <= _LONGEST_KEY else flat[: _LONGEST_KEY - 1] + "…"}"'
