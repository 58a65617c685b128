"""Links by which others may read a conversation as it was when it was shared: signed, and only for a time."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self, cast

from adapters.data_folder import read_secret
from contracts.errors import ConfigError
from guards.policy_check import contacts_of
from language.privacy.personal_data import personal_data
from language.privacy.secrets import secrets as find_secrets
from language.privacy.spans import Span, replace_spans

if TYPE_CHECKING:
    from assistant.turns.views import UserView
    from contracts.profile import Profile

_DAY_S: Final = 86_400
_KEY_BYTES: Final = 32
_LONGEST: Final = 2_000
"""Characters of the longest token: an id has at most some 240 characters, each of up to 6 in JSON."""


@dataclass(frozen=True, slots=True)
class SharedConversation:
    """What a link shows.

    Attributes:
        thread: The id under which the conversation is stored.
        turns: The number of its turns that may be read, the first ones.
        role: Of the person who shared it: only this role, and roles that see all, may follow the link.
        until: When the link ends, in seconds since 1970.
        begun: When the first turn began: another conversation may get the id of a deleted one.
    """

    thread: str
    turns: int
    role: str
    until: int
    begun: str = ""


class ShareLinks:
    """Signs and reads links; the signing key is a file, without which no link that was given is valid any more.

    Args:
        key: The signing key.
        days: How long a link is valid.
        clock: Seconds since 1970.
    """

    def __init__(self, key: bytes, days: int, clock: Callable[[], float] = time.time) -> None:
        self._key = key
        self.days = days
        self._clock = clock

    @classmethod
    def open(cls, path: Path, days: int) -> Self:
        """Read the key of a file; make one that only its owner may read if there is none.

        Raises:
            ConfigError: The file cannot be read or made, or holds no key.
        """
        try:
            key = read_secret(path, _KEY_BYTES)
        except OSError as error:
            raise _no_key(path) from error
        if len(key) != _KEY_BYTES:
            raise _no_key(path)
        return cls(key, days)

    def sign(self, thread: str, turns: int, role: str, begun: str = "") -> tuple[str, SharedConversation]:
        """Return the token of a new link, and what it shows."""
        shared = SharedConversation(thread, turns, role, int(self._clock()) + self.days * _DAY_S, begun)
        body = json.dumps([shared.thread, shared.turns, shared.role, shared.until, shared.begun]).encode()
        return f"{_encode(body)}.{_encode(self._signature(body))}", shared

    def read(self, token: str) -> SharedConversation | None:
        """Return what a link shows; `None` if it was not signed with this key, or is over."""
        body_text, _, signature = token.partition(".")
        if len(token) > _LONGEST:
            return None
        try:
            body = _decode(body_text)
            genuine = hmac.compare_digest(_decode(signature), self._signature(body))
            said = cast("list[Any]", json.loads(body)) if genuine else None
        except (ValueError, binascii.Error):
            return None
        # What is signed was written above.
        shared = SharedConversation(*said) if said else None
        return shared if shared and shared.until > self._clock() else None

    def _signature(self, body: bytes) -> bytes:
        return hmac.new(self._key, body, hashlib.sha256).digest()


def _encode(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


def _decode(text: str) -> bytes:
    return base64.b64decode(text.encode("ascii") + b"=" * (-len(text) % 4), altchars=b"-_", validate=True)


def _no_key(path: Path) -> ConfigError:
    return ConfigError(
        f"The key that signs links to conversations cannot be used: {path}.",
        "Delete the file, which ends all links that were given, or set GUARDIAN_SHARE_DAYS to 0.",
    )


def mask_words(text: str, profile: Profile) -> str:
    """Return a text for others than who wrote or asked it: without secrets and personal data, but the profile's contacts."""
    contacts = contacts_of(profile)

    def find(part: str) -> list[Span]:
        return [*find_secrets(part), *personal_data(part, contacts)]

    return replace_spans(text, find)[0]


def mask_view(view: UserView, profile: Profile) -> UserView:
    """Return a user's view of a turn with the words of its answer and its sources masked."""
    sources = tuple(
        source.model_copy(update={"title": mask_words(source.title, profile), "url": mask_words(source.url, profile)})
        for source in view.sources
    )
    changed = {"answer": mask_words(view.answer, profile), "sources": sources, "choices": ()}
    return view.model_copy(update=changed)
