"""What every TopicProbe keeps to, whatever is behind it."""

from __future__ import annotations

from contracts.ports import TopicProbe

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


RULES = (says_a_share, says_the_same_twice, knows_nothing_of_nothing)
