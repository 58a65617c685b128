"""Access to one model on one server."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal
from urllib.parse import urlsplit

from pydantic import SecretStr


@dataclass(frozen=True, slots=True)
class ModelAccess:
    """Access to one model on one server.

    Attributes:
        model: Its name on the server.
        base_url: Up to and including `/v1`; `None` for OpenAI's own server.
        api_key: `None` if the server needs none.
        timeout_s: Seconds for all tries of one exchange together.
        max_retries: How often a request that failed for a passing reason is sent again.
        window: Tokens of its context; 0 to ask the server.
        temperature: `None` to leave it to the server.
        parallel_tool_calls: Sent as it is; `None` to leave it out, for servers that do not know it.
        system_role: `user` folds the system prompt into the first user message, for templates without one.
        extra: Further fields of the request's body.
    """

    model: str
    base_url: str | None = None
    api_key: SecretStr | None = None
    timeout_s: float = 60.0
    max_retries: int = 2
    window: int = 0
    temperature: float | None = 0.0
    parallel_tool_calls: bool | None = False
    system_role: Literal["system", "user"] = "system"
    extra: Mapping[str, Any] = field(default_factory=dict[str, Any])

    @property
    def server(self) -> str:
        """The host and port for messages: without a user's name, a password, or a path that may hold a key."""
        return host_of(self.base_url) if self.base_url else "the default server"

    def without_secrets(self, text: str) -> str:
        """Return a server's words without the key, in case the server repeats it."""
        key = self.api_key.get_secret_value() if self.api_key else ""
        return text.replace(key, "***") if key else text


def host_of(url: str) -> str:
    """Return the host and port of an address."""
    return urlsplit(url).netloc.rpartition("@")[2] or url
