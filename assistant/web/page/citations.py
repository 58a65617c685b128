"""What citations show: in the passages that they lead to, the sentences that a text rests on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from assistant.web.page.look import Look
from assistant.web.page.markdown import CELLS, passage_blocks, words
from contracts.evidence import EvidenceItem
from language.sentences import sentences
from language.words import stems

_ALIKE: Final = 0.3
"""Share of common words (Dice) from which a sentence of a source is one that a text rests on."""
_TELLING: Final = 3
"""Words of a cell, from which it says something without its row."""
_LONGEST: Final = 400
"""Characters of a sentence in a hint."""
_SHORT: Final = 40
"""Characters of a block, up to which it may be a heading."""
_ENOUGH: Final = 600
"""Characters of a hint, from which no more sentences follow."""


def supporting_sentences(texts: Iterable[str], snippet: str) -> frozenset[str]:
    """Return the sentences of a passage on which texts rest: the most alike of each of their sentences.

    Alike are texts with the same words; of a text in another language, no sentence is found. A row of a table counts as
    a sentence, and is found by what one of its cells says, too.
    """
    known = [pair for block in passage_blocks(snippet) for sentence in block for pair in _readings(sentence)]
    found: set[str] = set()
    for said in (sentence for text in texts for sentence in ([text] if text.startswith("|") else sentences(text))):
        wanted = frozenset(stems(said))
        scored = [(_alike(wanted, having), sentence) for sentence, having in known]
        best = max((score for score, _ in scored), default=0.0)
        if best >= _ALIKE:
            found.update(sentence for score, sentence in scored if score == best)
    return frozenset(found)


def _readings(sentence: str) -> Iterator[tuple[str, frozenset[str]]]:
    """Yield a sentence with its words; a row also with those of each sentence in its cells that says enough."""
    yield sentence, frozenset(stems(sentence))
    cells = sentence.split(CELLS)
    for one in (one for cell in cells for one in sentences(cell)) if len(cells) > 1 else ():
        if len(having := frozenset(stems(one))) >= _TELLING:
            yield sentence, having


def _alike(one: frozenset[str], other: frozenset[str]) -> float:
    return 2 * len(one & other) / (len(one) + len(other)) if one and other else 0.0


def hint_html(items: Sequence[EvidenceItem], said: str, look: Look) -> str:
    """Return what a citation shows: title and lines of the passage, and the sentence in it that a text rests on.

    Args:
        items: The passages of the cited source.
        said: The text in front of the citation.
        look: The reader's language.
    """
    found = [(item, supporting_sentences([said], item.snippet)) for item in items]
    item, marked = next(((item, marked) for item, marked in found if marked), found[0])
    place = f' <span class="dim">{words(lines_text(item, look))}</span>' if item.lines else ""
    return f"<b>{words(source_name(item))}</b>{place}<span>{_excerpt(item, marked)}</span>"


def _excerpt(item: EvidenceItem, marked: frozenset[str]) -> str:
    """Return the part of a passage around its first marked sentence; without one, its beginning."""
    blocks = passage_blocks(item.snippet)
    block = next((block for block in blocks if marked.intersection(block)), None)
    if block is None:
        block = next((block for block in blocks if sum(map(len, block)) > _SHORT), next(iter(blocks), ()))
    first = next((place for place, sentence in enumerate(block) if sentence in marked), 1)
    written = ["… "] if first > 1 else []
    length = 0
    for sentence in block[max(first - 1, 0) :]:
        if length > _ENOUGH:
            written.append("…")
            break
        cut = sentence if len(sentence) <= _LONGEST else f"{sentence[: _LONGEST - 1]}…"
        length += len(cut)
        written.append(f"<mark>{words(cut)}</mark> " if sentence in marked else f"{words(cut)} ")
    return "".join(written).rstrip()


def source_name(item: EvidenceItem) -> str:
    """Return the name of a passage: its document's title, and the headings above it."""
    inside = item.heading.removeprefix(item.title).strip(" ›/>")
    return " › ".join(filter(None, (item.title or item.ref, inside)))


def lines_text(item: EvidenceItem, look: Look) -> str:
    """Say which lines of its document a passage is; nothing if that is not known."""
    if item.lines is None:
        return ""
    first, last = item.lines
    return look.words["page_line" if first == last else "page_lines"].format(first=first, last=last)
