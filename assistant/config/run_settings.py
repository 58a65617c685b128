"""The run settings that a deployment begins with."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from functools import lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo

    from assistant.config.settings import Settings
    from contracts.context import Context
    from contracts.profile import Profile


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


def build_context(kind: type[Context], profile: Profile, values: Mapping[str, Any]) -> Context:
    """Build the settings of one run from what is named; `None` stands for the deployment's default.

    Raises:
        InputError: There is no such setting, or it cannot have that value; or the profile has no such role.
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

    fields: dict[str, Any] = {
        name: (Context.model_fields[name].annotation, _with_default(Context.model_fields[name], default))
        for name, default in defaults
    }
    return create_model("RunSettings", __base__=Context, __module__=__name__, **fields)


def _with_default(field: FieldInfo, default: object) -> FieldInfo:
    changed = copy(field)
    changed.default = default
    return changed
