"""Settings of the process, from the environment, and profiles, from TOML files."""

from __future__ import annotations

import difflib
import os
import tomllib
from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from contracts.errors import ConfigError, UnknownProfile

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo

    from contracts.context import Context
    from contracts.profile import Profile

PROJECT: Final = Path(__file__).resolve().parent.parent
BUNDLED_PROFILES: Final = PROJECT / "profiles"


@dataclass(frozen=True, slots=True)
class Variable:
    """An environment variable that is read: its default and what it means, in both languages."""

    name: str
    default: str
    en: str
    ru: str


VARIABLES: Final = (
    Variable(
        "GUARDIAN_DATA_DIR",
        ".guardian",
        "Folder of indexes and conversations; relative to the working directory.",
        "Папка индексов и диалогов; относительно текущей папки.",
    ),
    Variable(
        "GUARDIAN_PROFILE",
        "handbook",
        "Name of a bundled profile, or path of a TOML file.",
        "Имя встроенного профиля или путь к файлу TOML.",
    ),
    Variable("GUARD_ENABLED", "true", "Moderation on or off.", "Модерация включена или выключена."),
    Variable(
        "GUARD_MODE",
        "",
        "enforce, report or off; empty: as the profile says.",
        "enforce, report или off; пусто — как в профиле.",
    ),
    Variable("GUARD_PROVIDER_TYPE", "rules", "The moderator: rules or off.", "Модератор: rules или off."),
)
"""Every variable that is read. `guardian show settings` and the handbook print this list."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What one process runs with."""

    data_dir: Path
    profile: str
    guard_enabled: bool
    guard_mode: str
    guard_provider: str

    @classmethod
    def read(cls, environment: Mapping[str, str] | None = None, *, profile: str | None = None) -> Settings:
        """Read the environment; an argument of the command line stands above it.

        Raises:
            ConfigError: A variable has a value that it cannot have.
        """
        env = os.environ if environment is None else environment
        value = {v.name: env.get(v.name, "").strip() or v.default for v in VARIABLES}
        return cls(
            data_dir=_folder("GUARDIAN_DATA_DIR", value["GUARDIAN_DATA_DIR"]),
            profile=value["GUARDIAN_PROFILE"] if profile is None else profile,
            guard_enabled=_yes_or_no("GUARD_ENABLED", value["GUARD_ENABLED"]),
            guard_mode=_one_of("GUARD_MODE", value["GUARD_MODE"], ("", "enforce", "report", "off")),
            guard_provider=_one_of("GUARD_PROVIDER_TYPE", value["GUARD_PROVIDER_TYPE"], ("rules", "off")),
        )

    def folder(self, profile: Profile) -> Path:
        """Return where one profile keeps everything of its own."""
        return self.data_dir / profile.name


def _folder(name: str, value: str) -> Path:
    path = Path(value).expanduser()
    if path.exists() and not path.is_dir():
        raise ConfigError(
            f"{name} is {value!r}, which is no folder.", "Set it to a folder; it is made where it is missing."
        )
    return path


def _yes_or_no(name: str, value: str) -> bool:
    return _one_of(name, value.lower(), ("true", "false", "1", "0", "yes", "no")) in ("true", "1", "yes")


def _one_of(name: str, value: str, allowed: tuple[str, ...]) -> str:
    if value not in allowed:
        raise ConfigError(f"{name} is {value!r}.", f"Set it to one of: {', '.join(filter(None, allowed))}.")
    return value


def profile_names() -> list[str]:
    """Return the names of the bundled profiles."""
    return sorted(path.stem for path in BUNDLED_PROFILES.glob("*.toml"))


def profile_path(name: str) -> Path:
    """Return the file of a profile: a path ending in .toml, or the name of a bundled one.

    Raises:
        UnknownProfile: There is no such file.
    """
    path = Path(name).expanduser() if name.endswith(".toml") else BUNDLED_PROFILES / f"{name}.toml"
    if "\0" in name or not path.is_file() or (not name.endswith(".toml") and path.parent != BUNDLED_PROFILES):
        close = difflib.get_close_matches(name, profile_names(), n=1)
        hint = f"Did you mean {close[0]!r}?" if close else f"There are {', '.join(profile_names())}."
        raise UnknownProfile(
            f"There is no profile {name!r}.", f"{hint} A file of your own is named by its path, ending in .toml."
        )
    return path


def load_profile(name: str) -> Profile:
    """Read and check a profile.

    Raises:
        UnknownProfile: There is none of that name.
        ConfigError: It is no TOML, has an unknown key, or a value outside its bounds.
    """
    from pydantic import ValidationError

    from contracts.profile import Profile

    path = profile_path(name)
    try:
        return Profile.model_validate(tomllib.loads(path.read_text("utf-8")))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, OSError) as error:
        raise ConfigError(
            f"The profile {path.name} cannot be read: {error}.", "Mend the file and try again."
        ) from error
    except ValidationError as error:
        faults = "; ".join(_fault(entry) for entry in error.errors())
        raise ConfigError(f"The profile {path.name} is wrong: {faults}.", "Mend the file and try again.") from error


def _fault(entry: Any) -> str:
    place = ".".join(str(part) for part in entry["loc"])
    if entry["type"] != "extra_forbidden":
        return f"{place}: {entry['msg'][:1].lower()}{entry['msg'][1:]}"
    close = difflib.get_close_matches(str(entry["loc"][-1]), _known_keys(), n=1)
    return f"{place}: there is no such key" + (f", did you mean {close[0]!r}?" if close else "")


def _known_keys() -> list[str]:
    from contracts import profile, spec

    models = (
        profile.Profile,
        profile.KnowledgeFolder,
        profile.Thresholds,
        profile.Behaviour,
        profile.PolicyRule,
        profile.Scope,
        spec.ArchitectSpec,
        spec.Section,
    )
    return [name for model in models for name in model.model_fields]


def run_settings(settings: Settings, profile: Profile) -> type[Context]:
    """Return the run settings of a deployment: `Context` with the profile's values as defaults.

    A class rather than an instance, because LangGraph builds each run's settings from what the caller names.
    """
    from pydantic import create_model

    from contracts.context import Context

    limits, habits = profile.thresholds, profile.behaviour
    mode = "off" if not settings.guard_enabled else settings.guard_mode or habits.guard_mode
    defaults: dict[str, Any] = {
        "version": profile.default_version,
        "guard_mode": mode,
        "block_threshold": habits.block_threshold,
        "on_unavailable": habits.on_unavailable,
        "spam_threshold": limits.spam,
        "confidence_threshold": limits.confidence,
        "max_clarifications": habits.max_clarifications,
        "max_retry": habits.max_retry,
        "min_evidence": habits.min_evidence,
        "knowledge_track": habits.knowledge_track,
        "top_k": habits.top_k,
        "evidence_threshold": limits.evidence,
        "mean_confidence_enforced": limits.mean_confidence_enforced,
        "mean_confidence_advised": limits.mean_confidence_advised,
        "diversity": habits.diversity,
    }
    base = Context.model_validate(defaults)
    fields: dict[str, Any] = {
        name: (
            Context.model_fields[name].annotation,
            _with_default(Context.model_fields[name], getattr(base, name)),
        )
        for name in defaults
    }
    return create_model("RunSettings", __base__=Context, __module__=__name__, **fields)


def _with_default(field: FieldInfo, default: object) -> FieldInfo:
    changed = copy(field)
    changed.default = default
    return changed
