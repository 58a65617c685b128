"""Groups of settings: variables of the environment, each with its default, its bounds and its meaning."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, Self, cast, get_args, get_origin
from urllib.parse import urlsplit

from pydantic import Field, SecretStr, ValidationError, field_validator
from pydantic.fields import FieldInfo
from pydantic_core import PydanticCustomError, PydanticUseDefault
from pydantic_settings import BaseSettings, EnvSettingsSource, SettingsConfigDict

from contracts.errors import ConfigError

_FLAGS: Final = ("true", "false", "1", "0", "yes", "no", "on", "off")
FLAGS: Final = {name: place % 2 == 0 for place, name in enumerate(_FLAGS)}
_LONGEST_QUOTE: Final = 40


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable of the environment, described in words.

    Attributes:
        name, default: As written in the environment.
        values: Its possible values, in short; empty if it is free text.
        en, ru: Its meaning, in both languages.
        secret: Whether its value is never shown.
    """

    name: str
    default: str
    values: str
    en: str
    ru: str
    secret: bool

    @classmethod
    def of(cls, field: FieldInfo) -> Variable:
        """Return the variable of a group's field."""
        more = cast("dict[str, Any]", field.json_schema_extra)
        secret = more["secret"] or field.annotation is SecretStr
        name, en = str(field.validation_alias), str(field.description)
        return cls(name, _written(field.default), _values(field), en, more["ru"], secret)

    def describe_value(self, environment: Mapping[str, str]) -> str:
        """Return the value as it may be shown: whether a secret is set, and an address without its password."""
        value = environment.get(self.name, "").strip() or self.default
        if self.secret:
            return "(set)" if value else "(not set)"
        return without_password(value) if "://" in value else value


def variable(
    name: str,
    default: object,
    *,
    least: float | None = None,
    most: float | None = None,
    values: str = "",
    secret: bool = False,
) -> Callable[[str, str], Any]:
    """Declare a field of a group; call the result with the variable's meaning in English and in Russian.

    Args:
        name: The variable's name.
        default: The field's value if the variable is not set, or set to nothing.
        least: The lower bound of a number; `most` is the upper one.
        most: See `least`.
        values: Its possible values, in short, if neither type nor bounds say them.
        secret: Whether its value is never shown; a `SecretStr` never is.
    """
    if most is not None and not values:
        values = f"{least:,.12g} to {most:,.12g}"

    def means(en: str, ru: str) -> Any:
        more: dict[str, Any] = {"ru": ru, "secret": secret, "values": values}
        return Field(default, validation_alias=name, ge=least, le=most, description=en, json_schema_extra=more)

    return means


class Group(BaseSettings):
    """Settings that belong together; its `repr` shows no values, because a value may be or contain a secret."""

    model_config = SettingsConfigDict(
        allow_inf_nan=False,
        case_sensitive=True,
        enable_decoding=False,
        frozen=True,
        validate_default=False,
    )

    @classmethod
    def read(cls, environment: Mapping[str, str]) -> Self:
        """Read the variables of the group.

        Raises:
            ConfigError: A variable's value is not valid, or a variable that another one needs is missing.
        """
        try:
            # Type checkers take a model's own fields for all that there are.
            return cls(_build_sources=((_Source(cls, environment),), {}))  # pyright: ignore[reportCallIssue]
        except ValidationError as error:
            fault = cls._fault(error)
        # Not while pydantic's is handled: it would be the context of ours, and has the value in it, which may be a key.
        raise fault

    @classmethod
    def _fault(cls, error: ValidationError) -> ConfigError:
        """Return the first fault in our words."""
        first = error.errors()[0]
        name = first["loc"][0]
        if first["type"] == "refusal":
            said = first.get("ctx", {})
            return ConfigError(f"{name} {said['problem']}", said["way_out"])
        (field,) = (one for one in cls.model_fields.values() if one.validation_alias == name)
        kinds, values = (field.annotation, *get_args(field.annotation)), _values(field)
        if int in kinds:
            values = f"a whole number from {values.replace(',', '')}"
        else:
            values = f"a number from {values}" if float in kinds else f"one of: {values}"
        value = "wrong" if Variable.of(field).secret else repr(str(first["input"])[:_LONGEST_QUOTE])
        return ConfigError(f"{name} is {value}.", f"Set it to {values}.")

    @field_validator("*", mode="before")
    @classmethod
    def _strip(cls, text: str) -> str:
        try:
            text.encode()
        except UnicodeEncodeError:
            raise refusal("is not text in UTF-8.", "Set it again in a terminal that uses UTF-8.") from None
        if not text.strip():
            raise PydanticUseDefault
        return text.strip()

    def __repr_args__(self) -> list[tuple[str | None, Any]]:
        return []


class _Source(EnvSettingsSource):
    """Variables from wherever the caller has them, which need not be the process's own."""

    def __init__(self, group: type[Group], environment: Mapping[str, str]) -> None:
        self._environment = environment
        super().__init__(group)

    def _load_env_vars(self) -> Mapping[str, str | None]:
        return self._environment


def refusal(problem: str, way_out: str) -> PydanticCustomError:
    """Return the error with which a validator refuses a value.

    Args:
        problem: What is wrong, after the variable's name; without the value if it may be a key.
        way_out: How to fix it.
    """
    return PydanticCustomError("refusal", "{problem}", {"problem": problem, "way_out": way_out})


def without_password(url: str) -> str:
    """Return an address that can be shown: without user name, password and query.

    If the text is not an address, nothing of it is shown, because a password may be anywhere in it.
    """
    try:
        parts = urlsplit(url)
    except ValueError:
        return "(not an address)"
    # Not `urlunsplit`: of `sqlite:///file.db` it would drop two slashes.
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def _values(field: FieldInfo) -> str:
    if get_origin(field.annotation) is Literal:
        return ", ".join(filter(None, get_args(field.annotation)))
    return ", ".join(FLAGS) if field.annotation is bool else cast("dict[str, Any]", field.json_schema_extra)["values"]


def _written(default: object) -> str:
    """Return a default as it would be written in the environment; of nothing, nothing."""
    if isinstance(default, bool):
        return str(default).lower()
    if isinstance(default, float):
        return f"{default:g}"
    return str(default) if isinstance(default, int | str | Path) else ""
