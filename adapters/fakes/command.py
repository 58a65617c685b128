"""The arguments of `guardian fake-model` and of `python -m adapters.fakes.server`: one list for both."""

from __future__ import annotations

import argparse
from typing import Final

ABOUT: Final = "play a language model on this machine, to rehearse a set-up and every fault of it"

EXAMPLES: Final = (
    "guardian fake-model",
    "guardian fake-model --port 8091 --script faults.json",
    "guardian fake-model --port 8091 --strict --delay-ms 300 --window 8192",
)

SCRIPT: Final = """\
a script is a JSON list; the first step that fits a request, and is not used up, decides its reply:
  [
    {"when": {"purpose": "plan"}, "times": 1, "reply": {"status": 429, "headers": {"Retry-After": "1"}}},
    {"when": {"purpose": "plan"}, "times": 1, "reply": {"plan": {"spam_score": 1.7}}},
    {"when": {"purpose": "draft", "attempt": 2}, "reply": {"text": "Water boils at 100 degrees [1]."}},
    {"when": {"purpose": "moderation", "contains": "attack"}, "reply": {"text": "Safety: Unsafe"}},
    {"when": {"path": "/models"}, "reply": {"delay_headers_s": 2.5}}
  ]
  when   purpose (plan, draft, moderation), path (its end), contains, tool_choice (named, required, auto, none), attempt
  reply  status headers content_type; body, json, sse; text call calls plan reasoning finish_reason usage choices;
         delay_headers_s delay_body_s drip_s hang reset cut_at
a request that no step fits is answered as a well-behaved model would; GET /__requests lists what was asked."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the scripted server to a parser."""
    parser.add_argument("--port", type=_port, default=0, metavar="N", help="port on 127.0.0.1 (default: a free one)")
    parser.add_argument("--script", metavar="FILE", help="what to reply, as JSON (see below)")
    parser.add_argument("--strict", action="store_true", help="refuse messages that the strictest provider refuses")
    parser.add_argument(
        "--delay-ms", type=_count, default=0, metavar="N", help="wait this long before each reply of the model"
    )
    parser.add_argument("--window", type=_window, metavar="N", help="tokens of the model's window, told by GET /models")
    parser.add_argument("--api-key", metavar="KEY", help="answer 401 to every other key (default: any key will do)")


def _port(text: str) -> int:
    return _number(text, 0, 65535)


def _count(text: str) -> int:
    return _number(text, 0, 3_600_000)


def _window(text: str) -> int:
    return _number(text, 1, 100_000_000)


def _number(text: str, lowest: int, highest: int) -> int:
    number = int(text) if text.isdecimal() else -1
    if not lowest <= number <= highest:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from {lowest} to {highest}")
    return number
