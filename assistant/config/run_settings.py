"""The run settings that a deployment begins with."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Annotated, Any, Final

if TYPE_CHECKING:
    from assistant.config.settings import Settings
    from contracts.context import Context
    from contracts.profile import Profile

_THRESHOLDS: Final = {"spam": "spam_threshold", "confidence": "confidence_threshold", "evidence": "evidence_threshold"}
"""Of a profile, by their names there: what a run calls otherwise. Its habits have one name in both."""


def run_settings(settings: Settings, profile: Profile) -> type[Context]:
    """Return the class of a deployment's run settings: `Context` with the profile's values as defaults.

    It is a class because LangGraph builds each run's settings from what the caller names.
    """
    from contracts.context import Context

    named = {_THRESHOLDS.get(name, name): value for name, value in (*profile.thresholds, *profile.behaviour)}
    if not settings.moderation.enabled:
        named["guard_mode"] = "off"
    elif settings.moderation.mode:
        named["guard_mode"] = settings.moderation.mode
    # What a profile alone decides, such as the scale of scores, is none of a run's.
    base = Context.model_validate({name: value for name, value in named.items() if name in Context.model_fields})
    return _with_defaults(tuple((name, getattr(base, name)) for name in sorted(base.model_fields_set)))


def build_context(kind: type[Context], profile: Profile, values: Mapping[str, Any]) -> Context:
    """Build the settings of one run from named values; `None` means the deployment's default.

    Raises:
        InputError: The setting or its value is not valid, or the profile has no such role.
    """
    from pydantic import ValidationError

    from contracts.errors import InputError

    try:
        context = kind.model_validate({name: value for name, value in values.items() if value is not None})
    except ValidationError as error:
        faults = "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors()[:5])
        raise InputError(f"A run setting is wrong: {faults[:1000]}.", "`guardian show settings` lists them.") from error
    if context.role not in profile.roles:
        raise InputError(
            f"The profile {profile.name!r} has no role {context.role!r}.", f"It has: {', '.join(profile.roles)}."
        )
    return context


@lru_cache(maxsize=16)
def _with_defaults(defaults: tuple[tuple[str, Any], ...]) -> type[Context]:
    """Return run settings with these defaults; to make such a class takes longer than to read a profile."""
    from pydantic import create_model

    from contracts.context import Context

    known = Context.model_fields
    fields: dict[str, Any] = {
        name: (Annotated[known[name].annotation, known[name]], default) for name, default in defaults
    }
    return create_model("RunSettings", __base__=Context, __module__=__name__, **fields)
