"""Links to conversations: what they show, to whom, for how long, and that they say nothing by themselves."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assistant.deployment import deployment
from assistant.service import Caller, Question, Service, open_service
from assistant.sharing import mask_words
from assistant.turns.shared_links import SharedConversation, SharedLinks
from assistant.turns.transcript import TurnStore
from assistant.visitors import user_name
from contracts.enums import Language
from contracts.errors import UnknownThread
from tests.support.cli_helpers import PROFILE, QUESTION, Desk

PROFILE_OF_THE_SHELF = deployment(str(PROFILE), {"GUARDIAN_DATA_DIR": "nowhere"}).profile
ANNA, EVA = Caller("anna"), Caller(user_name("eva@shelf.example"))
BEGUN = "2026-11-26T10:00:00.000+00:00"
NOW = 1_000_000.0


@pytest.fixture
async def links(tmp_path: Path) -> AsyncGenerator[SharedLinks]:
    """The table of links, in a file with one conversation of two turns and one of one."""
    async with await TurnStore.open(tmp_path / "threads.db") as store:
        for thread in ("anna/диалог.1", "boris/b"):
            await store.begin(thread, "1", QUESTION, None)
        yield await SharedLinks.share(store)


@pytest.fixture
async def service(library: Desk, tmp_path: Path) -> AsyncGenerator[Service]:
    """A service whose conversations can be shared for a week."""
    desk = library.copied(tmp_path / "data").having(GUARDIAN_SHARE_DAYS="7")
    async with open_service(deployment(environment=desk.environment)) as opened:
        yield opened


def shared(thread: str = "anna/диалог.1", until: int = 1_000_100) -> SharedConversation:
    return SharedConversation(thread, 3, "user", until, BEGUN)


async def test_a_link_shows_what_was_shared_until_its_time(links: SharedLinks) -> None:
    """Conversation, number of turns and role are those that were kept; at the end of the time there is nothing."""
    link = await links.add(shared(), NOW)
    assert await links.find(link, NOW) == shared()
    assert await links.find(link, NOW + 99) == shared()
    assert await links.find(link, NOW + 100) is None
    await links.add(shared(until=2_000_000), NOW + 100)
    assert await links.find(link, NOW) is None, "what has ended is deleted when the next link is made"


async def test_a_link_says_nothing_of_who_shared_what(links: SharedLinks) -> None:
    """Two links to one conversation have nothing in common; the file keeps neither; each character counts."""
    one, other = [await links.add(shared(), NOW) for _ in range(2)]
    assert one != other
    for link in (one, other):
        assert re.fullmatch(r"[A-Za-z0-9_-]{32}", link)
        kept = b"".join(file.read_bytes() for file in Path(links.database.place).parent.glob("threads.db*"))
        assert b"anna/" in kept
        assert link.encode() not in kept
    for place in range(len(one)):
        changed = "A" if one[place] != "A" else "B"
        assert await links.find(one[:place] + changed + one[place + 1 :], NOW) is None


@given(st.text(max_size=80) | st.text(alphabet="AQ-_.=", max_size=40))
async def test_what_nobody_made_is_no_link(text: str) -> None:
    """Whatever stands in an address: no fault, and nothing to read; a signed link of earlier versions has ended."""
    earlier = "WyJhbm5hL2EiLCAzLCAidXNlciIsIDE3OTAwMDAwMDAsICIiXQ.q0sA4hUQe2xkqfB3Tg0pTzC4dYc4rDqF8wJv1mC9eXk"
    with TemporaryDirectory() as folder:
        async with await SharedLinks.open(Path(folder) / "threads.db") as empty:
            for said in (text, text * 1000, earlier):
                assert await empty.find(said, NOW) is None


async def test_one_conversation_has_a_hundred_links_at_most(links: SharedLinks) -> None:
    """One more ends the oldest, and no link of another conversation."""
    others = await links.add(shared("boris/b"), NOW)
    made = [await links.add(replace(shared(), until=shared().until + second), NOW) for second in range(101)]
    assert await links.find(made[0], NOW) is None
    assert await links.find(made[1], NOW) == replace(shared(), until=shared().until + 1)
    assert await links.find(others, NOW) == shared("boris/b")


async def test_a_link_is_made_only_while_there_is_the_conversation(links: SharedLinks) -> None:
    """Nothing is kept that nobody could delete with it."""
    assert await links.find(await links.add(shared("gone"), NOW), NOW) is None


@pytest.mark.parametrize("caller", [ANNA, EVA, Caller()])
async def test_a_link_ends_with_its_conversation(service: Service, caller: Caller) -> None:
    """Its row goes, too; the same words under the same id are not shown by it."""
    await service.ask(caller, Question(QUESTION, thread="t", turn_id="1"))
    link, made = await service.share(caller, "t")
    turns, until = await service.find_shared(link, "user")
    assert ([turn.turn_id for turn in turns], until) == (["1"], made.until)
    assert timedelta(days=6.9) < datetime.fromtimestamp(until, UTC) - datetime.now(UTC) < timedelta(days=7)
    await service.ask(caller, Question(QUESTION, thread="t", turn_id="2"))
    assert len((await service.find_shared(link, "user"))[0]) == 1
    async with await SharedLinks.open(service.deployed.threads_file) as kept:
        of_another = await kept.add(replace(made, begun=BEGUN), made.until - 1)
    assert (await service.find_shared(of_another, "user"))[0] == []
    await service.delete(caller, "t")
    async with await SharedLinks.open(service.deployed.threads_file) as kept:
        assert await kept.forget(made.thread) == 0
    await service.ask(caller, Question(QUESTION, thread="t", turn_id="1"))
    assert await service.find_shared(link, "user") == ([], 0)


async def test_a_link_is_for_its_role_and_for_roles_that_see_all(service: Service) -> None:
    """A user does not follow an operator's link; nobody shares what they do not have."""
    await service.ask(ANNA, Question(QUESTION, thread="t"))
    users, _ = await service.share(ANNA, "t")
    operators, _ = await service.share(Caller("anna", "operator"), "t")
    for link, role, count in (
        (users, "user", 1),
        (users, "operator", 1),
        (operators, "operator", 1),
        (operators, "user", 0),
    ):
        assert len((await service.find_shared(link, role))[0]) == count
    with pytest.raises(UnknownThread):
        await service.share(EVA, "t")


async def test_no_link_opens_where_nobody_can_share(library: Desk, tmp_path: Path) -> None:
    """With GUARDIAN_SHARE_DAYS at 0 again, links that were given out are closed."""
    desk = library.copied(tmp_path / "data")
    async with open_service(deployment(environment=desk.having(GUARDIAN_SHARE_DAYS="7").environment)) as service:
        await service.ask(ANNA, Question(QUESTION, thread="t"))
        link, _ = await service.share(ANNA, "t")
    async with open_service(deployment(environment=desk.environment)) as service:
        assert await service.find_shared(link, "user") == ([], 0)


def test_others_read_no_personal_data_but_the_contacts() -> None:
    """Whom the profile names may be named; whom a user names, and what only they know, may not."""
    profile = PROFILE_OF_THE_SHELF.model_copy(update={"contact": {Language.EN: "help@shelf.example"}})
    said = "I am anna@firma.ru, my password: Qw3rty99! Write to help@shelf.example [1]."
    masked = mask_words(said, profile)
    assert "anna@firma.ru" not in masked
    assert "Qw3rty99" not in masked
    assert masked.endswith("Write to help@shelf.example [1].")
