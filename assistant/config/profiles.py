"""Profiles, from TOML files."""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, get_args, get_origin

from contracts.errors import ConfigError, UnknownProfile

if TYPE_CHECKING:
    from pydantic import BaseModel

    from contracts.profile import Profile

PROJECT: Final = Path(__file__).resolve().parents[2]
"""The folder that the packages are in: a checkout, or where an installed wheel's are."""
_INSTALLED: Final = Path(__file__).resolve().parents[1] / "bundled"
BUNDLE: Final = _INSTALLED if _INSTALLED.is_dir() else PROJECT
"""The folder of the folders `profiles` and `knowledge`: a wheel has its own, made by setup.py; a checkout is one."""
BUNDLED_PROFILES: Final = BUNDLE / "profiles"
BUNDLED_KNOWLEDGE: Final = BUNDLE / "knowledge"

_NO_SECTION: Final = ("dict_type", "model_type", "tuple_type")
"""Faults of a value that stands where a section, or a list of sections, belongs."""


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
        UnknownProfile: There is no profile of that name.
        ConfigError: The file is not TOML, or has an unknown key or a value outside its bounds.
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
        section = _sections().get(".".join(part for part in entry["loc"] if isinstance(part, str)), "")
        written = f", it is a section: write {section}" if section and entry["type"] in _NO_SECTION else ""
        return f"{place}: {entry['msg'][:1].lower()}{entry['msg'][1:]}{written}"
    key = str(entry["loc"][-1])
    homes = _homes_of_keys()
    if home := homes.get(key):
        return f"{place}: there is no such key here, {key!r} belongs {' or '.join(home)}"
    close = difflib.get_close_matches(key, homes, n=1)
    return f"{place}: there is no such key" + (f", did you mean {close[0]!r}?" if close else "")


def _homes_of_keys() -> dict[str, list[str]]:
    """Return for each key of a profile where it belongs, such as "under [thresholds]"."""
    from contracts.profile import Profile

    homes: dict[str, list[str]] = {}
    sections = _sections()
    for part, path, brackets in _parts_of(Profile, ""):
        around = f"under {brackets}" if path else "at the top of the file, above the first section in brackets"
        for key in part.model_fields:
            section = sections.get(f"{path}.{key}" if path else key, "")
            homes.setdefault(key, []).append(f"in a section of its own, {section}" if section else around)
    return homes


def _sections() -> dict[str, str]:
    """Return for the path of each key whose value is a section, or a list of them, how its section begins."""
    from contracts.profile import Profile

    found: dict[str, str] = {}
    for part, path, _ in _parts_of(Profile, ""):
        for key, field in part.model_fields.items():
            inner, several, named = _inner_part(field.annotation)
            below = f"{path}.{key}" if path else key
            if inner is not None or _is_mapping(field.annotation):
                found[below] = _brackets(f"{below}.NAME" if named else below, listed=several)
    return found


def _brackets(path: str, *, listed: bool) -> str:
    return f"[[{path}]]" if listed else f"[{path}]"


def _parts_of(part: type[BaseModel], path: str, *, listed: bool = False) -> Iterator[tuple[type[BaseModel], str, str]]:
    """Yield a part of a profile and all parts in it, each with its path and with how its section begins."""
    yield part, path, _brackets(path, listed=listed)
    for name, field in part.model_fields.items():
        inner, several, named = _inner_part(field.annotation)
        if inner is not None:
            below = f"{path}.{name}" if path else name
            yield from _parts_of(inner, f"{below}.NAME" if named else below, listed=several)


def _is_mapping(annotation: Any) -> bool:
    """Whether a value of a type is a table of names, such as one text for each language."""
    kind = get_origin(annotation)
    return kind is dict or (kind is not tuple and any(map(_is_mapping, get_args(annotation))))


def _inner_part(annotation: Any) -> tuple[type[BaseModel] | None, bool, bool]:
    """Return the part of a profile that a type holds; whether it is a list of them, and whether they have names."""
    from pydantic import BaseModel

    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation, False, False
    kind = get_origin(annotation)
    for argument in get_args(annotation):
        inner, several, named = _inner_part(argument)
        if inner is not None:
            return inner, several or kind is tuple, named or kind is dict
    return None, False, False


def at_home(path: str) -> Path:
    """Return a path with `~` replaced by the home directory; unchanged if the user has none."""
    try:
        return Path(path).expanduser()
    except RuntimeError:
        return Path(path)
