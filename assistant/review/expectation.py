"""What a label expects of a turn: pages and words, compared with the turn's result."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

from contracts.evidence import EvidenceItem
from contracts.result import StructuredAgentResult
from language.claims import without_citations
from language.words import tokens
from rendering.texts import texts

_LINK: Final = re.compile(r"!?\[([^\]\n]{0,500})\]\([^)\n]{0,1000}\)")
_SEPARATED: Final = re.compile(r"(?<=\d)[.,](?=\d)|(?<=\d)[ \u00a0\u202f](?=\d{3}(?!\d))")
"""What stands inside a number: "1,500" and "0.5" are one word each."""
_CITED: Final = re.compile(r"\[(\d{1,3})\]")

Page = int | str
"""A page as a label names it: by its number, or by its path or the end of it."""


def words(sentence: str) -> list[str]:
    """Return the words of a sentence for comparison: folded, links without their targets."""
    return tokens(_LINK.sub(r"\1", sentence))


def body(result: StructuredAgentResult) -> str:
    """Return the text of an answer without its citations and its list of sources."""
    heading = f"\n\n**{texts(result.language)['sources_heading']}**\n"
    return without_citations(result.answer_text.partition(heading)[0])


def says(text: str, sentence: str) -> bool:
    """Whether the words of a sentence stand in a text, all of them in this order; case and mark-up do not matter.

    A number is a word: "for 7 days" is not said by "for 30 days".
    """
    # Words have no spaces, so that whole ones are compared.
    said, wanted = (" ".join(words(_SEPARATED.sub("d", one))) for one in (text, sentence))
    return f" {wanted} " in f" {said} "


def names_page(document: str, page: str) -> bool:
    """Whether a label's path is that of a document, or the end of it in whole names."""
    return document == page or document.endswith(f"/{page.removeprefix('/')}")


def is_page(item: EvidenceItem, page: Page) -> bool:
    """Whether an item comes from the page that a label names by number or by the end of its path."""
    return item.kb_id == page if isinstance(page, int) else names_page(item.document, page)


def cited_items(result: StructuredAgentResult) -> list[EvidenceItem]:
    """Return the items that an answer cites, in order of first citation; empty if no report has the draft."""
    if result.guardian is None:
        return []
    numbers = dict.fromkeys(int(number) for number in _CITED.findall(result.guardian.draft))
    items = result.evidence
    return [items[number - 1] for number in numbers if 0 < number <= len(items)]


def shows_page(result: StructuredAgentResult, pages: Iterable[Page]) -> bool:
    """Whether one of the pages is among those that a turn shows in place of an answer."""
    refs = {page.ref for page in result.pages}
    wanted = list(pages)
    return any(is_page(item, page) for item in result.evidence if item.ref in refs for page in wanted)


def wording_faults(result: StructuredAgentResult, must_say: Sequence[str], must_not_say: Sequence[str]) -> list[str]:
    """Return what an answer does not say although it must, and what it says although it must not; both as text."""
    text = body(result)
    missing = [f"does not say {one!r}" for one in must_say if not says(text, one)]
    return missing + [f"says {one!r}" for one in must_not_say if says(text, one)]
