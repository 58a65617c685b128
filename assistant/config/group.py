"""What a group of settings is made of: variables of the environment, each with its default, its bounds and its meaning."""

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

FLAGS: Final = {"true": True, "false": False, "1": True, "0": False, "yes": True, "no": False}
_LONGEST_QUOTE: Final = 40


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable that is read, in words.

    Attributes:
        name, default: As they are written in the environment.
        values: What it may be set to, in short; empty if it is free text.
        en, ru: What it means, in both languages.
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

    def shown(self, environment: Mapping[str, str]) -> str:
        """Return its value as it may be shown: of a secret only whether it is set, of an address no password."""
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
    """Declare a field of a group; what is returned is called with what the variable means, in English and in Russian.

    Args:
        name: Of the variable.
        default: The field's value if the variable is not set, or set to nothing.
        least: A number is no less; `most` is no more.
        most: See `least`.
        values: What it may be set to, in short, if neither the type nor bounds say it.
        secret: Whether its value is never shown; that of a `SecretStr` never is.
    """
    if most is not None and not values:
        values = f"{least:,.12g} to {most:,.12g}"

    def means(en: str, ru: str) -> Any:
        more: dict[str, Any] = {"ru": ru, "secret": secret, "values": values}
        return Field(default, validation_alias=name, ge=least, le=most, description=en, json_schema_extra=more)

    return means


class Group(BaseSettings):
    """Settings that belong together. No value is in its `repr`: it may be a key, or have a password in it."""

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
            ConfigError: A variable has a value that it cannot have, or one that another one needs is missing.
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
        problem: What is wrong, after the variable's name; without the value, if that may be a key.
        way_out: What to do about it.
    """
    return PydanticCustomError("refusal", "{problem}", {"problem": problem, "way_out": way_out})


def without_password(url: str) -> str:
    """Return an address that can be shown: without a user's name and password, without a query.

    Of what is no address nothing is shown: a password may be anywhere in it.
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
