"""Words and patterns of natural language, in TOML files next to the modules that use them; read on import.

A file has the name of its module, and a table for each entry. The entry's key gives its kind:

words     a list of words: an array, or a text with blanks between them
forms     words by meaning: a key and a text each
rows      the same in lines, if their order counts or a text has several meanings
piece     a part of patterns: `{name}` in another entry of the file becomes the piece with that name, or the words with
          that name, joined with `|`
pattern   a regular expression; the lines of an array are joined as written. `flags` are letters as in `(?ix)`.
          `example` is one or several texts that it matches; `no_match` is similar text that it does not match.
          `how` says whether the module matches it at the start of a text, or against the whole text. In double
          brackets, the entry is one of several that are tried in turn

Comments give the reasons. Other TOML files have their own format, explained in their first lines.
"""

from __future__ import annotations

import re
import tomllib
from functools import cache
from importlib.resources import files
from typing import Any, Final

_NAMED: Final = re.compile(r"\{([a-z][a-z0-9_]*)\}")
_FLAGS: Final = {"a": re.ASCII, "i": re.IGNORECASE, "m": re.MULTILINE, "s": re.DOTALL, "x": re.VERBOSE}


def read_toml(package: str, name: str) -> dict[str, Any]:
    """Return a TOML file that ships in a package."""
    return tomllib.loads(files(package).joinpath(name).read_text("utf-8"))


class Wording:
    """The words and patterns of one module.

    Args:
        entries: The content of its file.

    Attributes:
        entries: The same.
        given: The pieces that the module passed for a pattern, by the pattern's name.
    """

    def __init__(self, entries: dict[str, Any]) -> None:
        self.entries: Final = entries
        self.given: Final[dict[str, dict[str, str]]] = {}
        self._rows: Final[dict[str, tuple[re.Pattern[str], ...]]] = {}

    def words(self, name: str) -> tuple[str, ...]:
        """Return the words of an entry, in their order."""
        words: str | list[str] = self.entries[name]["words"]
        return tuple(words.split() if isinstance(words, str) else words)

    def forms(self, name: str) -> dict[str, str]:
        """Return the forms of an entry, by meaning."""
        return self.entries[name]["forms"]

    def rows(self, name: str) -> list[list[str]]:
        """Return the rows of an entry."""
        return self.entries[name]["rows"]

    def piece(self, name: str, /, **given: str) -> str:
        """Return a piece of patterns with its references filled in; `given` are pieces that the file does not have."""
        entry = self.entries[name]
        return self._expand(entry["piece"], given) if "piece" in entry else "|".join(self.words(name))

    def pattern(self, name: str, /, **given: str) -> re.Pattern[str]:
        """Return the pattern of an entry; `given` are pieces that the file does not have."""
        self.given[name] = given
        return self._compile(self.entries[name], given)

    def patterns(self, name: str) -> tuple[re.Pattern[str], ...]:
        """Return the patterns of an entry in double brackets, in their order; they are compiled when first asked for."""
        if name not in self._rows:
            self._rows[name] = tuple(self._compile(entry, {}) for entry in self.entries[name])
        return self._rows[name]

    def _compile(self, entry: dict[str, Any], given: dict[str, str]) -> re.Pattern[str]:
        flags = re.NOFLAG
        for letter in entry.get("flags", ""):
            flags |= _FLAGS[letter]
        return re.compile(self._expand(entry["pattern"], given), flags)

    def _expand(self, text: str | list[str], given: dict[str, str]) -> str:
        text = text if isinstance(text, str) else "".join(text)
        return _NAMED.sub(lambda named: given[named[1]] if named[1] in given else self.piece(named[1], **given), text)


@cache
def read_wording(module: str) -> Wording:
    """Return the words and patterns of a module: for `language.claims`, those in `language/claims.toml`."""
    package, _, name = module.rpartition(".")
    return Wording(read_toml(package, f"{name}.toml"))
