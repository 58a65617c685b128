"""What a user calls a conversation, which ones they pin, and how they find one again."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator

import pytest

from assistant.deployment import deployment
from assistant.service import Caller, Service, open_service
from assistant.turns.transcript import MAX_TITLE_CHARS
from assistant.wiring.turns import open_store
from contracts.errors import InputError, UnknownThread
from tests.support.cli_helpers import Desk

ANNA, BORIS = Caller("anna"), Caller("boris")
ASKED = (
    ("anna/a", "How do I lend a book?"),
    ("anna/a", "And Ёлкин's ТЁМНЫЙ зал?"),
    ("anna/b", "How do I restore a backup?"),
    ("boris/a", "How do I lend a printer?"),
)


@pytest.fixture
async def service(desk: Desk) -> AsyncIterator[Service]:
    """A service over conversations of a version that knew no labels."""
    deployed = deployment(environment=desk.environment)
    async with open_store(deployed) as store:
        for number, (thread, text) in enumerate(ASKED):
            await store.begin(thread, str(number), text, None)
            await store.finish(thread, str(number), {})
    old = sqlite3.connect(deployed.threads_file)
    with old:
        old.execute("DROP TABLE labels")
    old.close()
    async with open_service(deployed) as opened:
        yield opened


async def test_a_conversation_keeps_its_title_and_its_pin_until_it_is_deleted(service: Service) -> None:
    """Each stays where the other changes; an empty title gives way to the first question; nobody else's changes."""
    await service.rename(ANNA, "a", "  The\n<b>lending</b> ")
    await service.pin(ANNA, "a", pinned=True)
    labels = {summary.thread_id: (summary.title, summary.pinned) for summary in await service.threads(ANNA)}
    assert labels == {"a": ("The <b>lending</b>", True), "b": ("", False)}
    await service.rename(ANNA, "a", "")
    await service.pin(ANNA, "b", pinned=True)
    labels = {summary.thread_id: (summary.title, summary.pinned) for summary in await service.threads(ANNA)}
    assert labels == {"a": ("", True), "b": ("", True)}
    assert [summary.pinned for summary in await service.threads(BORIS)] == [False]
    await service.delete(ANNA, "a")
    async with open_store(service.deployed) as store:
        await store.begin("anna/a", "9", "Again?", None)
    assert [summary.pinned for summary in await service.threads(ANNA)] == [False, True]


async def test_a_conversation_that_is_not_there_gets_no_label(service: Service) -> None:
    """Neither does another's, nor may a title be longer than a line of the list can be."""
    for work in (service.rename(BORIS, "b", "x"), service.pin(ANNA, "never", pinned=True)):
        with pytest.raises(UnknownThread):
            await work
    with pytest.raises(InputError, match=str(MAX_TITLE_CHARS)):
        await service.rename(ANNA, "a", "x" * (MAX_TITLE_CHARS + 1))


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("lend", ["a"]),
        ("LEND backup", []),
        ("елкин темный", ["a"]),
        ("book зал", ["a"]),
        ("how do", ["a", "b"]),
        ("spare", ["b"]),
        ("% _ ' \" *", []),
        (" ", ["a", "b"]),
    ],
)
async def test_a_conversation_is_found_by_words_of_its_title_and_its_questions(
    service: Service, words: str, found: list[str]
) -> None:
    """All of them must occur, in whatever case, with ё or е; another's conversations are never found."""
    await service.rename(ANNA, "b", "Spare copies")
    assert sorted(summary.thread_id for summary in await service.find_threads(ANNA, words)) == found
