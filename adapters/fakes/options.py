"""What can be changed of the scripted server while it runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final, cast

from adapters.fakes.model import object_of
from adapters.fakes.scripts import Check, check, is_whole
from contracts.errors import ConfigError


@dataclass(frozen=True, slots=True)
class FakeServerOptions:
    """What can be changed while the server runs.

    Attributes:
        strict: Refuse messages that the strictest provider refuses.
        delay_ms: Milliseconds before each reply of a model, where the script has no `delay_headers_s`.
        window: Tokens of the model's window, from 1; `None` where `GET /models` is silent about it.
        api_key: The one key that is right; `None` where any is.
    """

    strict: bool = False
    delay_ms: int = 0
    window: int | None = None
    api_key: str | None = field(default=None, repr=False)


def change_options(options: FakeServerOptions, body: object) -> FakeServerOptions:
    """Return options with changes, given as JSON.

    Raises:
        ConfigError: A name is not known, or a value is wrong.
    """
    if not isinstance(body, dict):
        raise ConfigError("The options are not an object.", 'Send {"strict": true}, for instance.')
    changes = object_of(cast("object", body))
    check(changes, _OPTIONS, "The options")
    return replace(options, **changes)


_OPTIONS: Final[Mapping[str, Check]] = {
    "strict": (lambda value: isinstance(value, bool), "true or false"),
    "delay_ms": (lambda value: is_whole(value, 0), "a whole number from 0 up"),
    "window": (lambda value: value is None or is_whole(value, 1), "a whole number of at least 1, or null"),
    "api_key": (lambda value: value is None or isinstance(value, str), "a text or null"),
}
