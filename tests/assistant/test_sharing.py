"""Links to conversations: what they show, to whom, and for how long."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assistant.deployment import deployment
from assistant.sharing import SharedConversation, ShareLinks, mask_words
from contracts.enums import Language
from contracts.errors import ConfigError
from tests.support.cli_helpers import PROFILE

KEY = bytes(range(32))
PROFILE_OF_THE_SHELF = deployment(str(PROFILE), {"GUARDIAN_DATA_DIR": "nowhere"}).profile


class Clock:
    """A clock that is moved by hand."""

    now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


def test_a_link_shows_what_was_shared_until_its_day() -> None:
    """Conversation, number of turns and role are those that were signed; at the end of the time there is nothing."""
    clock = Clock()
    links = ShareLinks(KEY, 7, clock)
    token, shared = links.sign("anna/диалог.1", 3, "user", "2026-11-26")
    assert shared == SharedConversation("anna/диалог.1", 3, "user", 1_000_000 + 7 * 86_400, "2026-11-26")
    assert links.read(token) == shared
    clock.now += 7 * 86_400 - 1
    assert links.read(token) == shared
    clock.now += 1
    assert links.read(token) is None


def test_a_link_that_was_changed_or_signed_by_another_shows_nothing() -> None:
    """Each character counts, of the words as of the signature."""
    links = ShareLinks(KEY, 7)
    token, shared = links.sign("anna/a", 3, "user")
    assert ShareLinks(bytes(32), 7).read(token) is None
    for place in range(len(token) - 1):
        other = "A" if token[place] != "A" else "B"
        assert links.read(token[:place] + other + token[place + 1 :]) is None
    body = json.dumps(["boris/a", 3, "user", shared.until]).encode()
    forged = hmac.new(b"", body, hashlib.sha256).digest()
    assert links.read(".".join(base64.urlsafe_b64encode(part).decode().rstrip("=") for part in (body, forged))) is None


@given(st.text(max_size=80) | st.text(alphabet="AQ-_.=", max_size=40))
def test_what_nobody_signed_is_no_link(text: str) -> None:
    """Whatever stands in an address: no fault, and nothing to read."""
    assert ShareLinks(KEY, 7).read(text) is None
    assert ShareLinks(KEY, 7).read(text * 1000) is None


def test_the_key_is_made_once_and_for_its_owner_alone(tmp_path: Path) -> None:
    """Links outlive a restart; without the file they end; a file that holds no key is said to hold none."""
    path = tmp_path / "new" / "share.key"
    token, shared = ShareLinks.open(path, 7).sign("a", 1, "user")
    assert ShareLinks.open(path, 7).read(token) == shared
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [file.name for file in path.parent.iterdir()] == ["share.key"]
    path.unlink()
    assert ShareLinks.open(path, 7).read(token) is None
    for broken in ("", "no key", "ab", "é"):
        path.write_text(broken, "utf-8")
        with pytest.raises(ConfigError, match="Delete the file"):
            ShareLinks.open(path, 7)


def test_others_read_no_personal_data_but_the_contacts() -> None:
    """Whom the profile names may be named; whom a user names, and what only they know, may not."""
    profile = PROFILE_OF_THE_SHELF.model_copy(update={"contact": {Language.EN: "help@shelf.example"}})
    said = "I am anna@firma.ru, my password: Qw3rty99! Write to help@shelf.example [1]."
    masked = mask_words(said, profile)
    assert "anna@firma.ru" not in masked
    assert "Qw3rty99" not in masked
    assert masked.endswith("Write to help@shelf.example [1].")
