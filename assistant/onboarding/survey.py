"""A look over a folder of documents: formats, languages, versions, titles, and the product's likely name."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from adapters.reading import chunks, files, front_matter
from adapters.reading.dialects import DialectSettings
from adapters.reading.document import Unfit, suffix_of
from adapters.reading.texts import TextReader
from assistant.onboarding.product_name import find_product_name
from contracts.enums import Dialect, Language
from contracts.errors import InputError
from language.patterns import read_toml
from language.words import Phrases, all_stems, detect

SAMPLED: Final = 60
"""Files that are read, spread evenly over the folder; the others are only counted."""
_LARGEST: Final = 2_000_000
"""Bytes of a file that is read for the survey."""
_PROSE: Final = 5_000
_LEAST_SHARE: Final = 0.1
"""Of the read documents: fewer in a language, and the assistant does not speak it."""
_VERSION: Final = re.compile(r"v?(\d{1,4}(?:\.\d{1,4}){1,3})")
_SITE_FILES: Final = ("mkdocs.yml", "mkdocs.yaml", "antora.yml", "antora-playbook.yml", "book.toml", "conf.py")
_SITE_NAME: Final = re.compile(
    r"^[ \t]{0,8}(?:site_name|title|project)[ \t]{0,8}[:=][ \t]{0,8}[\"']?([^\"'#\n]{2,80})", re.MULTILINE
)

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class FolderSurvey:
    """What a folder of documents holds.

    Attributes:
        formats: How many files there are of each ending, such as `.md`, the most frequent first.
        skipped: Files and folders that cannot be read, with the reason.
        languages: The languages of the documents, the most frequent first; never empty.
        versions: Subfolders that are named after a version, with the version.
        titles: Titles of the documents that were read, each once, by language.
        product: The product's likely name; empty if nothing says it.
        dialect: How the Markdown is written.
        synonyms: Groups of words for the same: the first is the documents', and none of the others is in them.
    """

    formats: dict[str, int]
    skipped: list[files.SkippedFile]
    languages: tuple[Language, ...]
    versions: dict[str, str]
    titles: dict[Language, tuple[str, ...]]
    product: str
    dialect: Dialect
    synonyms: tuple[tuple[str, ...], ...] = ()

    @property
    def count(self) -> int:
        """The number of files that can be indexed."""
        return sum(self.formats.values())


def survey_folder(folder: Path, on_progress: Progress | None = None) -> FolderSurvey:
    """Look a folder over; of a large folder, read a sample of `SAMPLED` files.

    Args:
        folder: The folder of documents.
        on_progress: Called after each file that is read, with files read and files to read.

    Raises:
        InputError: There is no such folder, or it holds no document.
    """
    if not folder.is_dir():
        raise InputError(f"There is no folder {folder}.", "Name a folder that holds documents.")
    scan = files.walk(folder)
    formats = Counter(suffix_of(found.path) for found in scan.found)
    if not formats:
        known = ", ".join(files.SUFFIXES)
        raise InputError(f"The folder {folder} holds no document that can be read.", f"These are read: {known}.")
    site, dialect = _read_site(folder)
    pages = _read_pages(folder, _sample(scan.found), DialectSettings(dialect), on_progress)
    return FolderSurvey(
        dict(formats.most_common()),
        scan.skipped,
        _languages(page.language for page in pages),
        _versions(scan.found),
        {
            language: tuple(dict.fromkeys(page.title for page in pages if page.title and page.language is language))
            for language in Language
        },
        site
        or find_product_name(
            [page.prose[:_PROSE] for page in pages],
            [page.title for page in pages if _is_front(page.path)],
            [page.title for page in pages],
        ),
        dialect,
        _synonyms(pages),
    )


def _synonyms(pages: Sequence[_SurveyedPage]) -> tuple[tuple[str, ...], ...]:
    """Return the groups of common synonyms of which the documents use exactly one word, that word first."""
    said = [all_stems(f"{page.title}\n{page.prose}") for page in pages]
    spoken = {page.language for page in pages}
    found: list[tuple[str, ...]] = []
    for language, groups in read_toml("assistant.onboarding", "synonyms.toml").items():
        for group in groups if Language(language) in spoken else ():
            used = [word for word in group if any(Phrases([word]).find_in(stemmed) for stemmed in said)]
            if len(used) == 1:
                found.append((used[0], *(word for word in group if word != used[0])))
    return tuple(found[:_MOST_GROUPS])


_MOST_GROUPS: Final = 12
"""More would make the profile a dictionary; the handbook says how to write further ones."""


@dataclass(frozen=True, slots=True)
class _SurveyedPage:
    path: str
    title: str
    prose: str
    language: Language


_FRONT: Final = frozenset({"index", "readme", "home", "main", "start", "intro", "introduction", "about"})


def _sample(found: Sequence[files.FoundFile]) -> list[files.FoundFile]:
    """Return the front pages, and files spread evenly over the folder."""
    fronts = [file for file in found if _is_front(file.path)]
    step = max(1, len(found) / SAMPLED)
    spread = (found[int(number * step)] for number in range(min(len(found), SAMPLED)))
    return list({file.path: file for file in (*fronts, *spread)}.values())


def _is_front(path: str) -> bool:
    return "/" not in path and Path(path).stem.casefold() in _FRONT


def _read_pages(
    folder: Path, sample: Sequence[files.FoundFile], reading: DialectSettings, on_progress: Progress | None
) -> list[_SurveyedPage]:
    pages = list[_SurveyedPage]()
    with TextReader() as texts:
        for number, found in enumerate(sample, 1):
            try:
                text = texts.read(folder, found.path, files.read(found.absolute, _LARGEST), reading).text
            except (Unfit, OSError):
                text = ""  # indexing says so, and why
            if text:
                said = front_matter.read(text)
                page = chunks.read(text, title=said.title, skip=said.lines)
                pages.append(
                    _SurveyedPage(found.path, said.title or page.heading, page.prose, detect(page.prose[:_PROSE]))
                )
            if on_progress:
                on_progress(number, len(sample))
    return pages


def _languages(found: Iterable[Language]) -> tuple[Language, ...]:
    times = Counter(found)
    least = _LEAST_SHARE * times.total()
    return tuple(language for language, count in times.most_common() if count >= least) or (Language.EN,)


def _versions(found: Iterable[files.FoundFile]) -> dict[str, str]:
    """Return the subfolders at the top that are named after a version; none if only some of the documents are there."""
    tops = Counter(file.path.partition("/")[0] if "/" in file.path else "" for file in found)
    named = {top: match.group(1) for top in tops if (match := _VERSION.fullmatch(top))}
    return named if len(named) > 1 or (named and len(named) == len(tops)) else {}


def _read_site(folder: Path) -> tuple[str, Dialect]:
    """Return the name that a site generator's file gives the documents, and their dialect."""
    for name in _SITE_FILES:
        for place in (folder, folder.parent):
            try:
                text = (place / name).read_text("utf-8", "replace")[:_LARGEST]
            except OSError:
                continue
            match = _SITE_NAME.search(text)
            dialect = Dialect.MKDOCS if name.startswith("mkdocs") else Dialect.PLAIN
            return (" ".join(match.group(1).split()) if match else ""), dialect
    return "", Dialect.PLAIN
