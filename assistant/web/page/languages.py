"""The choice of the page's language for a reader."""

from __future__ import annotations

from collections.abc import Sequence

from contracts.enums import Language


def language_of(chosen: str, accepted: str, languages: Sequence[Language]) -> Language:
    """Return the page's language.

    Args:
        chosen: The reader's choice on the page; may be empty.
        accepted: `Accept-Language` of their browser: names with a weight from 0 to 1 (RFC 9110, 12.5.4).
        languages: The profile's languages; a reader of none of them gets the first.
    """
    if chosen in languages:
        return Language(chosen)
    wanted: list[tuple[float, Language]] = []
    for part in accepted.split(","):
        name, _, weight = part.strip().partition(";")
        code = name.strip().lower().partition("-")[0]
        if code in languages:
            wanted.append((_weight(weight), Language(code)))
    # Of equal ones, the first that is named.
    best = max(wanted, key=lambda pair: pair[0], default=(0.0, languages[0]))
    return best[1] if best[0] > 0 else languages[0]


def _weight(text: str) -> float:
    name, _, value = text.strip().partition("=")
    if name.strip().lower() != "q":
        return 1.0
    try:
        return float(value)
    except ValueError:
        return 0.0
