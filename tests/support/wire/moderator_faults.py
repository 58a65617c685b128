"""The faults of a server that both remote moderators meet alike, and what each becomes."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tests.support.wire.server_process import FakeServer

RETRIES = 2
TRIES = RETRIES + 1


@dataclass(frozen=True)
class Fault:
    """What a scripted server replies, and what a moderator makes of it.

    Attributes:
        reply: A step's `reply`.
        kind: By the words of `FaultKind`, as the last request's record has it.
        tries: Requests until the moderator gives up, where it may retry `RETRIES` times and has the time.
    """

    reply: Mapping[str, Any]
    kind: str
    tries: int


STATUSES = {
    400: ("bad_request", 1),
    401: ("not_allowed", 1),
    403: ("not_allowed", 1),
    404: ("not_found", 1),
    408: ("server_error", TRIES),
    413: ("too_long", 1),
    422: ("bad_request", 1),
    429: ("busy", TRIES),
    500: ("server_error", TRIES),
    502: ("server_error", TRIES),
    503: ("server_error", TRIES),
}

FAULTS = {
    **{f"HTTP {status}": Fault({"status": status}, *outcome) for status, outcome in STATUSES.items()},
    "reset": Fault({"reset": True}, "broken_off", TRIES),
    "dropped in the middle": Fault({"cut_at": 20}, "broken_off", TRIES),
    "reset in the middle": Fault({"cut_at": 20, "reset": True}, "broken_off", TRIES),
    "empty body": Fault({"body": ""}, "unreadable", TRIES),
    "HTML": Fault({"body": "<html>\nSafety: Safe\n</html>", "content_type": "text/html"}, "unreadable", TRIES),
    "HTML that claims to be JSON": Fault({"body": "<html>Safe</html>"}, "unreadable", TRIES),
    "truncated JSON": Fault({"body": '{"safety_level": "Safe", "choices": [{"mess'}, "unreadable", TRIES),
    "null": Fault({"body": "null"}, "unreadable", TRIES),
    "a list": Fault({"body": "[]"}, "unreadable", TRIES),
    "a gateway's page for an error": Fault(
        {"status": 502, "body": "<html>Safety: Safe</html>", "content_type": "text/html"}, "server_error", TRIES
    ),
}

SLOW: dict[str, Mapping[str, Any]] = {
    "hang": {"hang": True},
    "slow headers": {"delay_headers_s": 30},
    "slow body": {"delay_body_s": 30},
    "a body byte by byte": {"drip_s": 0.2},
}
"""Replies that never come in the time there is."""


def wait_until_asked(server: FakeServer) -> None:
    """Return when the server has a request."""
    ends = time.monotonic() + 10
    while not server.requests():
        assert time.monotonic() < ends, "nothing was asked"
        time.sleep(0.01)
