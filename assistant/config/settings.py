"""Settings of the process, from the environment."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from assistant.config.model_settings import ModelSettings, allowed_values
from assistant.config.profiles import at_home
from assistant.config.variables import VARIABLES, one_of
from contracts.errors import ConfigError

if TYPE_CHECKING:
    from contracts.profile import Profile

MODERATORS: Final = ("rules", "vllm", "mosec", "off")
_CHOICES: Final = {"GUARD_MODE": ("", "enforce", "report", "off"), "GUARD_PROVIDER_TYPE": MODERATORS}
_YES_OR_NO: Final = ("true", "false", "1", "0", "yes", "no")
_FLAGS: Final = ("GUARD_ENABLED", "GUARDIAN_PLAN_AHEAD", "GUARDIAN_TRACE_CONTENT")


@dataclass(frozen=True, slots=True)
class Settings:
    """What one process runs with."""

    data_dir: Path
    profile: str
    guard_enabled: bool
    guard_mode: str
    guard_provider: str
    models: ModelSettings = field(repr=False)
    plan_ahead: bool = False
    trace_content: bool = True
    database_url: str = field(default="", repr=False)
    graph_url: str = field(default="", repr=False)
    index_url: str = field(default="", repr=False)
    index_key: str = field(default="", repr=False)
    hand_off_to: str = field(default="", repr=False)

    @classmethod
    def read(cls, environment: Mapping[str, str] | None = None, *, profile: str | None = None) -> Settings:
        """Read the environment; an argument of the command line stands above it.

        Raises:
            ConfigError: A variable has a value that it cannot have.
        """
        env = os.environ if environment is None else environment
        for variable in VARIABLES:
            _encodable(variable.name, env.get(variable.name, ""))
        value = {v.name: env.get(v.name, "").strip() or v.default for v in VARIABLES}
        models = ModelSettings.read(value)
        return cls(
            data_dir=_folder("GUARDIAN_DATA_DIR", value["GUARDIAN_DATA_DIR"]),
            profile=value["GUARDIAN_PROFILE"] if profile is None else profile,
            guard_enabled=_yes_or_no("GUARD_ENABLED", value["GUARD_ENABLED"]),
            guard_mode=_choice(value, "GUARD_MODE"),
            guard_provider=_choice(value, "GUARD_PROVIDER_TYPE"),
            models=models,
            plan_ahead=_yes_or_no("GUARDIAN_PLAN_AHEAD", value["GUARDIAN_PLAN_AHEAD"]),
            trace_content=_yes_or_no("GUARDIAN_TRACE_CONTENT", value["GUARDIAN_TRACE_CONTENT"]),
            database_url=_database("GUARDIAN_DATABASE_URL", value["GUARDIAN_DATABASE_URL"]),
            graph_url=value["GUARDIAN_GRAPH_URL"],
            index_url=_index(value),
            index_key=value["GUARDIAN_INDEX_KEY"],
            hand_off_to=_hand_off_to(models),
        )

    def folder(self, profile: Profile) -> Path:
        """Return where one profile keeps everything of its own."""
        return self.data_dir / profile.name


def values_of(name: str) -> str:
    """Return what a variable may be set to, in short; nothing where it is free text."""
    choices = _YES_OR_NO if name in _FLAGS else _CHOICES.get(name, ())
    return ", ".join(filter(None, choices)) or allowed_values(name)


def _choice(value: Mapping[str, str], name: str) -> str:
    return one_of(name, value[name], _CHOICES[name])


def _database(name: str, value: str) -> str:
    if value and not value.startswith(("sqlite:///", "postgresql://", "postgresql+psycopg://")):
        # The value is not quoted: there may be a password in it.
        raise ConfigError(
            f"{name} is not the address of a database that can be asked.",
            "Write sqlite:///path/to/file.db, or postgresql://user:password@host/database.",
        )
    return value


def _encodable(name: str, value: str) -> None:
    try:
        value.encode()
    except UnicodeEncodeError:
        # The error would hold the whole value, which may be a key.
        raise ConfigError(
            f"{name} is not text in UTF-8.", "Set it anew in a terminal whose encoding is UTF-8."
        ) from None


def _folder(name: str, value: str) -> Path:
    path = at_home(value)
    if path.exists() and not path.is_dir():
        raise ConfigError(
            f"{name} is {value!r}, which is not a folder.", "Set it to a folder; it is created if it is missing."
        )
    return path


def _hand_off_to(models: ModelSettings) -> str:
    to = models.value["GUARDIAN_HANDOFF_TO"]
    if "://" in to:
        models.address("GUARDIAN_HANDOFF_TO")
    elif to:
        _folder("GUARDIAN_HANDOFF_TO", to)
    return to


def _index(value: Mapping[str, str]) -> str:
    from adapters.index.remote.engines import check_address

    url = value["GUARDIAN_INDEX_URL"]
    if url:
        check_address(url, "GUARDIAN_INDEX_URL")
    return url


def _yes_or_no(name: str, value: str) -> bool:
    return one_of(name, value.lower(), _YES_OR_NO) in ("true", "1", "yes")
