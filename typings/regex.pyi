import re

VERSION0: int
IGNORECASE: int
MULTILINE: int

# Patterns and matches have the methods of those of `re` that are used.
Match = re.Match
Pattern = re.Pattern

def compile(pattern: str) -> re.Pattern[str]: ...  # noqa: A001  # the library's own name
def search(pattern: str, string: str, flags: int = 0, *, timeout: float | None = None) -> object | None: ...
