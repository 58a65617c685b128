"""Names of callers without a key: visitors, whom a signed cookie tells apart, and users, whom a proxy names.

Neither name can be that of an API key, which has no underscore. Both are safe in the id of a conversation and in the name
of a file, and have 34 characters.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
import secrets
from dataclasses import dataclass
from typing import Final

VISITOR: Final = "v_"
"""How the name of a visitor begins."""
USER: Final = "u_"
"""How the name of a user begins."""
_NAME: Final = re.compile(r"[uv]_[0-9a-f]{32}")
_STORED: Final = re.compile(r"([uv]_[0-9a-f]{32})/(.+)", re.DOTALL)
_COOKIE: Final = re.compile(r"1\.([0-9a-f]{32})\.([0-9]{1,12})\.([A-Za-z0-9_-]{43})")
_PURPOSE: Final = b"guardian visitor "
"""Signed, too, so that no signature of another kind could pass for one of these."""


@dataclass(frozen=True, slots=True)
class Visit:
    """What a valid cookie says.

    Attributes:
        visitor: The visitor's id: 128 random bits, in hexadecimal.
        expires: When the cookie ends, in seconds since 1970.
    """

    visitor: str
    expires: int

    @property
    def name(self) -> str:
        """The visitor's name as a caller."""
        return VISITOR + self.visitor


class VisitorSeal:
    """The seal of visitors' cookies: it signs them, and reads those that it has signed.

    A cookie is `version.visitor.expiry.signature`; the signature is HMAC-SHA256 of the rest, with a secret that stays in
    the data folder or on the server of the conversations.

    Args:
        secret: 32 bytes.
    """

    def __init__(self, secret: bytes) -> None:
        self._secret = secret

    def sign(self, visit: Visit) -> str:
        """Return the cookie's value."""
        said = f"1.{visit.visitor}.{visit.expires}"
        return f"{said}.{self._signature(said)}"

    def read(self, value: str, now: float) -> Visit | None:
        """Return what a cookie says; `None` if it is not one of ours, or has ended.

        Args:
            value: Whatever a client sent.
            now: Seconds since 1970.
        """
        found = _COOKIE.fullmatch(value)
        if found is None:
            return None
        visitor, expires, signature = found.groups()
        # The signature is over what was sent, and not over what was read from it: there is one way to write a cookie.
        if not hmac.compare_digest(self._signature(f"1.{visitor}.{expires}"), signature) or int(expires) <= now:
            return None
        return Visit(visitor, int(expires))

    def _signature(self, said: str) -> str:
        digest = hmac.digest(self._secret, _PURPOSE + said.encode(), "sha256")
        return base64.urlsafe_b64encode(digest).decode().rstrip("=")


def begin_visit(expires: int) -> Visit:
    """Return a new visitor.

    Args:
        expires: When the cookie ends, in seconds since 1970.
    """
    return Visit(secrets.token_hex(16), expires)


def user_name(named: str) -> str:
    """Return the name, as a caller, of a user whom a proxy names: a hash, as the proxy's name may have any character."""
    return USER + hashlib.sha256(named.encode()).hexdigest()[:32]


def is_name(text: str) -> bool:
    """Whether a text is the name of a visitor or of a user as a caller."""
    return _NAME.fullmatch(text) is not None


def erasable_name(text: str) -> str:
    """Return the name of a visitor or a user: the text itself if it is one, else that of the user called so."""
    return text if is_name(text) else user_name(text)


def split_stored_id(stored_id: str) -> tuple[str, str]:
    """Return the visitor or the user that a stored conversation belongs to, and its id with them.

    The name is empty, and the id the whole one, if it belongs to neither.
    """
    found = _STORED.fullmatch(stored_id)
    return (found[1], found[2]) if found else ("", stored_id)


def visitor_of(stored_id: str) -> str:
    """Return the visitor that a stored conversation belongs to; empty if it is no visitor's."""
    owner, _ = split_stored_id(stored_id)
    return owner if owner.startswith(VISITOR) else ""
