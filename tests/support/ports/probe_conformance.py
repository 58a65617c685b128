"""What every TopicProbe and every WordProbe keeps to, whatever is behind it."""

from __future__ import annotations

from typing import Final

from contracts.enums import Source
from contracts.ports import TopicProbe, WordProbe

ALL: Final = frozenset({Source.DOC, Source.POLICY})
UNHEARD: Final = "Zubrowka"
"""A word that none of the documents has that probes are tested with."""

ODD_TEXTS = ("", "   ", "?!", "\u200b", "\ud800", "a" * 20_000, "AND OR NOT * ~ :", "и", "0")


async def says_a_share(probe: TopicProbe) -> None:
    """The answer is a number from 0 to 1 for any text."""
    for text in (*ODD_TEXTS, "How do I add documents?", "Как добавить документы?"):
        assert 0.0 <= await probe.on_topic(text) <= 1.0


async def says_the_same_twice(probe: TopicProbe) -> None:
    """The same text gets the same answer."""
    for text in ("How do I add documents?", "Как добавить документы?"):
        assert await probe.on_topic(text) == await probe.on_topic(text)


async def knows_nothing_of_nothing(probe: TopicProbe) -> None:
    """A text without content words is on no topic."""
    for text in ("", "   ", "?!"):
        assert await probe.on_topic(text) == 0.0


async def names_only_words_of_the_text(probe: WordProbe) -> None:
    """Each is written as it stands there, once, in order; of a text of any shape."""
    for text in (*ODD_TEXTS, f"How do I add {UNHEARD} and {UNHEARD} documents?"):
        said = await probe.unknown(text, ALL)
        assert len(set(said)) == len(said)
        places = [text.index(word) for word in said]
        assert places == sorted(places)


async def names_what_no_document_has(probe: WordProbe) -> None:
    """The unheard word, and none that the documents have in another form."""
    assert await probe.unknown(f"How are documents added to {UNHEARD}?", ALL) == (UNHEARD,)


WORD_RULES = (names_only_words_of_the_text, names_what_no_document_has)
RULES = (says_a_share, says_the_same_twice, knows_nothing_of_nothing)
