"""Reader, checker and player of the scripted server's scripts: which request gets which reply.

A script is a JSON list of steps. The first step whose `when` fits a request, and that is not used up, decides:

    [
      {"when": {"purpose": "plan"}, "times": 1, "reply": {"status": 429, "headers": {"Retry-After": "1"}}},
      {"when": {"purpose": "draft", "contains": "kettle"}, "reply": {"text": "It boils at 100 degrees [1]."}}
    ]

`when`, all of what it names must fit; without `path` a step is only for requests that ask a model:

| key | fits |
| --- | --- |
| `purpose` | `plan`, `draft`, `moderation`, `embedding`, `rerank` or `entailment`, recognised as `adapters.fakes.server` says |
| `path` | the end of the path, for instance `/models` |
| `contains` | a text anywhere in the request's body |
| `tool_choice` | `named`, `required`, `auto` or `none`; no tools at all count as `none` |
| `attempt` | the so-many-th request, from 1, that fits the rest of this `when` |

`times`: how many requests the step decides; `null`, or left out, for no limit.

`reply`; an empty one is the reply of a model that behaves:

| key | what it does |
| --- | --- |
| `status`, `headers`, `content_type` | as they say; from 400 on, the body is an error as OpenAI writes it |
| `body`, `json`, `sse` | the body as text, as JSON (NaN may stand in it), as a list of events of a stream |
| `text` | the content of a chat completion; `null` for none |
| `call`, `calls` | `{"name", "arguments"}`, one or several; a text is sent as it is, all else as JSON |
| `plan` | fields that differ from those of a valid plan, handed over in the form that was asked for |
| `reasoning` | `reasoning_content` beside whatever is said |
| `finish_reason`, `usage`, `choices` | in the place of the right ones; each may be `null` |
| `delay_headers_s`, `delay_body_s` | seconds before the first byte; between headers and body |
| `drip_s` | seconds after each byte of the body |
| `hang` | never answer: the connection stays until the client or the server leaves |
| `reset` | reset the connection (RST) in the place of an answer, or after `cut_at` bytes |
| `cut_at` | tell the right length, and close after so many bytes of the body |

A script that is wrong is refused whole, with the step and the key at fault, and never half played.
"""

from __future__ import annotations

import json
import math
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeAlias, cast

from adapters.fakes.model import ModelRequest, list_of, object_of
from contracts.errors import ConfigError

Reply: TypeAlias = Mapping[str, Any]
"""A step's `reply`, checked."""

Check: TypeAlias = tuple[Callable[[Any], bool], str]
"""Whether a value will do, and in words what would."""

LONGEST_WAIT_S: Final = 3600
BODIES: Final = ("body", "json", "sse")
SAYS: Final = ("text", "call", "calls", "plan", "reasoning", "finish_reason", "usage", "choices")
"""The keys of a reply that shape a chat completion."""


def _one_of(*words: str) -> Check:
    return lambda value: value in words, f"one of {', '.join(words)}"


def _is_number(value: object, lowest: float, highest: float = math.inf) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and lowest <= value <= highest


def is_whole(value: object, lowest: int) -> bool:
    return isinstance(value, int) and _is_number(value, lowest)


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_header(value: object) -> bool:
    return _is_number(value, 0) or (isinstance(value, str) and value.isprintable() and value.isascii())


def _are_headers(value: object) -> bool:
    return isinstance(value, dict) and all(
        name and _is_header(name) and ":" not in name and _is_header(word)
        for name, word in object_of(cast("object", value)).items()
    )


def _is_call(value: object) -> bool:
    call = object_of(value)
    return "arguments" in call and set(call) <= {"name", "arguments"} and _is_text(call.get("name", ""))


def _are_events(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(line, str | dict) for line in list_of(cast("object", value)))


_TEXT: Final[Check] = (_is_text, "a text")
_COUNT: Final[Check] = (lambda value: is_whole(value, 1), "a whole number of at least 1")
_SECONDS: Final[Check] = (lambda value: _is_number(value, 0, LONGEST_WAIT_S), f"seconds, from 0 to {LONGEST_WAIT_S}")
_TRUE: Final[Check] = (lambda value: value is True, "true, or left out")
_TEXT_OR_NULL: Final[Check] = (lambda value: value is None or _is_text(value), "a text or null")

WHEN: Final[Mapping[str, Check]] = {
    "purpose": _one_of("plan", "draft", "moderation", "embedding", "rerank", "entailment"),
    "path": _TEXT,
    "contains": _TEXT,
    "tool_choice": _one_of("named", "required", "auto", "none"),
    "attempt": _COUNT,
}

REPLY: Final[Mapping[str, Check]] = {
    "status": (lambda value: is_whole(value, 200) and value < 600, "a number from 200 to 599"),
    "headers": (_are_headers, "an object of header names and their values, as text or numbers"),
    "content_type": (_is_header, "a text of one line"),
    "body": _TEXT,
    "json": (lambda _: True, "any JSON"),
    "sse": (_are_events, "a list of texts, each sent as it is, or of objects, each sent as `data: {...}`"),
    "text": _TEXT_OR_NULL,
    "call": (_is_call, 'an object {"name": ..., "arguments": ...}, of which the name may be left out'),
    "calls": (lambda value: all(_is_call(call) for call in value), "a list of calls"),
    "plan": (lambda value: isinstance(value, dict), "an object of those fields of the plan that differ"),
    "reasoning": _TEXT,
    "finish_reason": _TEXT_OR_NULL,
    "usage": (lambda value: value is None or isinstance(value, dict), "an object or null"),
    "choices": (lambda value: value is None or isinstance(value, list), "a list or null"),
    "delay_headers_s": _SECONDS,
    "delay_body_s": _SECONDS,
    "drip_s": _SECONDS,
    "hang": _TRUE,
    "reset": _TRUE,
    "cut_at": (lambda value: is_whole(value, 0), "a number of bytes, from 0 up"),
}

_STEP: Final[Mapping[str, Check]] = {
    "when": (lambda value: isinstance(value, dict), "an object of conditions"),
    "times": (lambda value: value is None or is_whole(value, 1), "a whole number of at least 1, or null for no limit"),
    "reply": (lambda value: isinstance(value, dict), "an object"),
}

_EXCLUSIVE: Final = (
    *((one, other) for one in BODIES for other in (*BODIES, *SAYS) if one != other),
    ("call", "calls"),
    ("call", "plan"),
    ("calls", "plan"),
    ("text", "plan"),
    *(("choices", other) for other in ("text", "call", "calls", "plan", "reasoning", "finish_reason")),
    *(("hang", other) for other in REPLY if other != "hang"),
)
"""Keys of a reply that contradict each other."""


@dataclass(slots=True)
class ScriptStep:
    """One step of a script, and how often it was met.

    Attributes:
        met: How many requests fitted its conditions, `attempt` left out.
        used: How many it decided.
    """

    when: Mapping[str, Any]
    times: int | None
    reply: Reply
    met: int = 0
    used: int = 0

    def meets(self, asked: ModelRequest) -> bool:
        """Whether all conditions but `attempt` fit. Without a path, only requests to a model fit."""
        when = self.when
        if "path" not in when and not asked.purpose:
            return False
        return (
            when.get("purpose", asked.purpose) == asked.purpose
            and asked.path.endswith(when.get("path", ""))
            and when.get("tool_choice", asked.tool_choice) == asked.tool_choice
            and ("contains" not in when or _contains(asked, when["contains"]))
        )

    @property
    def is_due(self) -> bool:
        """Whether the request that was met last may have this step's reply."""
        return self.when.get("attempt", self.met) == self.met and (self.times is None or self.used < self.times)


class Script:
    """Steps in order, each used up to its limit; safe to ask from several threads."""

    def __init__(self, steps: list[ScriptStep] | None = None) -> None:
        self._steps = steps or []
        self._lock = threading.Lock()

    def reply_to(self, asked: ModelRequest) -> tuple[int | None, Reply]:
        """Return the step that decides, counted from 1, and its reply; `None` and an empty reply if no step does."""
        decided: tuple[int | None, Reply] = (None, {})
        with self._lock:
            for number, step in enumerate(self._steps, 1):
                if not step.meets(asked):
                    continue
                step.met += 1
                if decided[0] is None and step.is_due:
                    step.used += 1
                    decided = (number, step.reply)
        return decided


def _contains(asked: ModelRequest, wanted: str) -> bool:
    return wanted in asked.text or any(wanted in text for text in _texts(asked.body))


def _texts(value: object) -> Iterator[str]:
    """Yield every text inside a JSON value: in the raw body, line breaks and foreign letters may be escaped."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, inner in object_of(cast("object", value)).items():
            yield key
            yield from _texts(inner)
    else:
        for inner in list_of(value):
            yield from _texts(inner)


# ------------------------------------------------------------------------------------------------------------- reading


def read_script(path: str) -> Script:
    """Read a script from a file.

    Raises:
        ConfigError: There is no such file, or its content is not a script.
    """
    try:
        text = Path(path).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise ConfigError(
            f"The script {path} cannot be read: {reason}.", "Give the path of a JSON file with --script."
        ) from None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ConfigError(
            f"The script {path} is not JSON: {error}.", "Correct it there; `guardian fake-model --help` shows a script."
        ) from None
    return parse_script(value, path)


def parse_script(value: object, name: str = "The script") -> Script:
    """Check a script that was parsed from JSON.

    Args:
        value: A list of steps.
        name: Its name in messages.

    Raises:
        ConfigError: It is wrong; the message says in which step and key, and how to fix it.
    """
    if not isinstance(value, list):
        raise ConfigError(
            f"{name} is not a list of steps.", 'Write it as [{"when": {...}, "times": 1, "reply": {...}}, ...].'
        )
    steps = list_of(cast("object", value))
    return Script([_step(step, f"{name}, step {number}") for number, step in enumerate(steps, 1)])


def _step(value: object, where: str) -> ScriptStep:
    if not isinstance(value, dict):
        raise ConfigError(f"{where} is not an object.", 'Write it as {"when": {...}, "times": 1, "reply": {...}}.')
    step = object_of(cast("object", value))
    check(step, _STEP, where)
    if "reply" not in step:
        raise ConfigError(
            f"{where} has no `reply`.", "Add one; an empty one, {}, plays what a well-behaved model says."
        )
    when, reply = object_of(step.get("when")), object_of(step["reply"])
    check(when, WHEN, f"{where}, `when`")
    check(reply, REPLY, f"{where}, `reply`")
    for one, other in _EXCLUSIVE:
        if one in reply and other in reply:
            raise ConfigError(f"{where}, `reply`: `{one}` and `{other}` contradict each other.", "Leave one of them.")
    return ScriptStep(when, step.get("times"), reply)


def check(value: Mapping[str, Any], known: Mapping[str, Check], where: str) -> None:
    """Check that a JSON object has only allowed keys, and that their values are valid.

    Raises:
        ConfigError: A key is not known or its value is wrong.
    """
    for key, inner in value.items():
        if key not in known:
            raise ConfigError(f"{where}: `{key}` is not known.", f"Known are: {', '.join(known)}.")
        fits, wanted = known[key]
        if not _fits(fits, inner):
            raise ConfigError(f"{where}: `{key}` is wrong.", f"It must be {wanted}.")


def _fits(fits: Callable[[Any], bool], value: object) -> bool:
    try:
        return fits(value)
    except TypeError:
        return False
