"""Profiles, from TOML files, and the run settings that a deployment begins with."""

from __future__ import annotations

import difflib
import tomllib
from copy import copy
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from contracts.errors import ConfigError, UnknownProfile

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo

    from assistant.settings import Settings
    from contracts.context import Context
    from contracts.profile import Profile

PROJECT: Final = Path(__file__).resolve().parent.parent
"""The folder that the packages are in: a checkout, or where an installed wheel's are."""
_INSTALLED: Final = Path(__file__).resolve().parent / "bundled"
BUNDLE: Final = _INSTALLED if _INSTALLED.is_dir() else PROJECT
"""The folder of the folders `profiles` and `knowledge`: a wheel has its own, made by setup.py; a checkout is one."""
BUNDLED_PROFILES: Final = BUNDLE / "profiles"
BUNDLED_KNOWLEDGE: Final = BUNDLE / "knowledge"


def profile_names() -> list[str]:
    """Return the names of the bundled profiles."""
    return sorted(path.stem for path in BUNDLED_PROFILES.glob("*.toml"))


def profile_path(name: str) -> Path:
    """Return the file of a profile: a path ending in .toml, or the name of a bundled one.

    Raises:
        UnknownProfile: There is no such file.
    """
    path = at_home(name) if name.endswith(".toml") else BUNDLED_PROFILES / f"{name}.toml"
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
        ConfigError: It is not TOML, has an unknown key, or a value outside its bounds.
    """
    from pydantic import ValidationError

    from contracts.profile import Profile

    path = profile_path(name)
    try:
        return Profile.model_validate(tomllib.loads(path.read_text("utf-8")))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, OSError) as error:
        raise ConfigError(
            f"The profile {path.name} cannot be read: {error}.", "Correct the file and try again."
        ) from error
    except ValidationError as error:
        faults = "; ".join(_fault(entry) for entry in error.errors())
        raise ConfigError(f"The profile {path.name} is wrong: {faults}.", "Correct the file and try again.") from error


def _fault(entry: Any) -> str:
    place = ".".join(str(part) for part in entry["loc"])
    if entry["type"] != "extra_forbidden":
        return f"{place}: {entry['msg'][:1].lower()}{entry['msg'][1:]}"
    close = difflib.get_close_matches(str(entry["loc"][-1]), _known_keys(), n=1)
    return f"{place}: there is no such key" + (f", did you mean {close[0]!r}?" if close else "")


def _known_keys() -> list[str]:
    from contracts import lookups, profile, spec

    models = (
        profile.Profile,
        profile.KnowledgeFolder,
        profile.Thresholds,
        profile.Behaviour,
        profile.Role,
        profile.PolicyRule,
        profile.AnswerPolicy,
        profile.AnswerRule,
        profile.Scope,
        profile.Database,
        profile.TextToSql,
        profile.AskedTable,
        profile.AskedColumn,
        lookups.Lookup,
        lookups.LookupArgument,
        spec.ArchitectSpec,
        spec.Section,
    )
    return [name for model in models for name in model.model_fields]


def run_settings(settings: Settings, profile: Profile) -> type[Context]:
    """Return the run settings of a deployment: `Context` with the profile's values as defaults.

    A class rather than an instance, because LangGraph builds each run's settings from what the caller names.
    """
    from contracts.context import Context

    limits, habits = profile.thresholds, profile.behaviour
    mode = "off" if not settings.guard_enabled else settings.guard_mode or habits.guard_mode
    defaults: dict[str, Any] = {
        "guard_mode": mode,
        "block_threshold": habits.block_threshold,
        "on_unavailable": habits.on_unavailable,
        "spam_threshold": limits.spam,
        "confidence_threshold": limits.confidence,
        "max_clarifications": habits.max_clarifications,
        "max_retry": habits.max_retry,
        "quoting_draft": habits.quoting_draft,
        "tickets": habits.tickets,
        "min_evidence": habits.min_evidence,
        "evidence_counted": habits.evidence_counted,
        "sure_confidence": limits.sure_confidence,
        "sure_relevance": limits.sure_relevance,
        "knowledge_track": habits.knowledge_track,
        "top_k": habits.top_k,
        "source_seconds": habits.source_seconds,
        "evidence_threshold": limits.evidence,
        "mean_confidence_enforced": limits.mean_confidence_enforced,
        "mean_confidence_advised": limits.mean_confidence_advised,
        "diversity": habits.diversity,
        "plan_trace": habits.plan_trace,
        "search_by": habits.search_by,
        "entailment": habits.entailment,
    }
    base = Context.model_validate(defaults)
    return _with_defaults(tuple((name, getattr(base, name)) for name in defaults))


@lru_cache(maxsize=16)
def _with_defaults(defaults: tuple[tuple[str, Any], ...]) -> type[Context]:
    """Return run settings with these defaults; to make such a class takes longer than to read a profile."""
    from pydantic import create_model

    from contracts.context import Context

    fields: dict[str, Any] = {
        name: (Context.model_fields[name].annotation, _with_default(Context.model_fields[name], default))
        for name, default in defaults
    }
    return create_model("RunSettings", __base__=Context, __module__=__name__, **fields)


def _with_default(field: FieldInfo, default: object) -> FieldInfo:
    changed = copy(field)
    changed.default = default
    return changed


def at_home(path: str) -> Path:
    """Return a path whose `~` is the home directory; one of a user who has none stays as it is."""
    try:
        return Path(path).expanduser()
    except RuntimeError:
        return Path(path)
