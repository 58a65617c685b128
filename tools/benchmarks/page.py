"""The page of measurements: a section for each part, with its own date, so that a part can be measured by itself."""

from __future__ import annotations

import re
from collections.abc import Mapping

HEAD = (
    "# Measurements\n\n`make bench` makes this page. Each section says when it was made, and by which command. Compare only the "
    "ratios between machines: each baseline ran in the same run. Searches and their baseline run in turn, three times, and "
    "the fastest run counts. Indexing and filling, for example, run once, so they take longer if other programs share the "
    "machine. `make check` does not compare this page."
)


def section(table: str, *, date: str, command: str, python: str, cores: int | None) -> str:
    """Return what stands below the heading of a section."""
    return f"Made on {date} by `{command}`, Python {python}, {cores} cores.\n\n{table}"


def renew_sections(page: str, made: Mapping[str, str]) -> str:
    """Return a page with the sections that were made, by their headings; those that were not stay as they are.

    A section that was not there before follows the others of its part, which is named before the colon of its heading,
    or stands at the end.
    """
    sections = dict(re.findall(r"^## ([^\n]+)\n\n(.*?)\n*(?=^## |\Z)", page, re.MULTILINE | re.DOTALL))
    titles = list(sections)
    for title in made:
        if title not in sections:
            same = [place for place, other in enumerate(titles) if _part(other) == _part(title)]
            titles.insert(same[-1] + 1 if same else len(titles), title)
    sections.update(made)
    return "\n\n".join([HEAD, *(f"## {title}\n\n{sections[title]}" for title in titles)]) + "\n"


def _part(title: str) -> str:
    return title.partition(":")[0]
