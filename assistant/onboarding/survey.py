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
from contracts.enums import Dialect, Language
from contracts.errors import InputError
from language.patterns import read_toml
from language.words import Phrases, all_stems, detect, stems

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
_NAME: Final = re.compile(r"[A-ZА-ЯЁ][\w.+-]*(?: [A-ZА-ЯЁ0-9][\w.+-]*){0,2}")
_LONGEST_NAME: Final = 80

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
        site or _product(pages),
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
    title: str
    prose: str
    language: Language


def _sample(found: Sequence[files.FoundFile]) -> list[files.FoundFile]:
    step = max(1, len(found) / SAMPLED)
    return [found[int(number * step)] for number in range(min(len(found), SAMPLED))]


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
                pages.append(_SurveyedPage(said.title or page.heading, page.prose, detect(page.prose[:_PROSE])))
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


def _product(pages: Sequence[_SurveyedPage]) -> str:
    """Return the name that most documents have inside a sentence; empty if fewer than two fifths have it.

    A name of which a page says what it is ("Acme is a printer") comes first, unless another is three times as frequent.
    """
    names = _FoundNames()
    for page in pages:
        names.read(page.prose[:_PROSE])
    times = names.times
    if not times:
        return ""
    best, count = max(times.items(), key=lambda entry: (entry[1], len(entry[0])))
    often = count >= max(2, 0.4 * len(pages))
    told = max(((times[key], key) for key in names.defined if times[key]), default=(0, ""))
    if told[0] and (not often or 3 * told[0] >= count):
        count, best = told
    elif not often:
        return ""
    # "Acme" stands wherever "Acme Printer" stands: the longer one is the name if it is nearly as frequent.
    for key, number in times.items():
        if best in key and key != best and number >= 0.5 * count and len(key) > len(best):
            best = key
    return max(names.written[best].items(), key=lambda entry: entry[1])[0][:_LONGEST_NAME]


class _FoundNames:
    """The names in pages, by their stems: «Полки» is «Полка».

    Attributes:
        times: How many pages have a name.
        written: How it is written, and how often.
        defined: Names of which a page says what they are.
    """

    def __init__(self) -> None:
        self.times = Counter[str]()
        self.written: dict[str, Counter[str]] = {}
        self.defined: set[str] = set()

    def read(self, prose: str) -> None:
        found = set[str]()
        for sentence in map(str.strip, _ENDS.split(prose)):
            found.update(map(self._write, _names_inside(sentence)))
            if (match := _DEFINED.match(sentence)) and _may_name(match["name"]):
                self.defined.add(" ".join(all_stems(match["name"])))
                # "Stocktaking is a ..." explains a word; what is quoted or has several capitals is a name anywhere.
                if match["quoted"] or " " in match["name"]:
                    found.add(self._write(match["name"]))
        self.times.update(found)

    def _write(self, name: str) -> str:
        key = " ".join(all_stems(name))
        self.written.setdefault(key, Counter())[name] += 1
        return key


_NO_NAME_BEHIND: Final = re.compile(
    r"(?:^|\s)(?:press|click|choose|select|tap|open|tick|an?|the|нажмите|выберите|откройте|отметьте|кнопку|раздел|вкладку|меню)$",
    re.IGNORECASE,
)
_ENDS: Final = re.compile(r"[.!?:;\n|]+")
_LEADS_ON: Final = re.compile(r"[\s»\"*]{0,3}[>→›/]")
_COMES_FROM: Final = re.compile(r"[>→›/][\s«\"*]{0,3}$")
_DEFINED: Final = re.compile(
    r"(?P<quoted>[«\"“])?(?P<name>[A-ZА-ЯЁ][\w+-]*(?: [A-ZА-ЯЁ0-9][\w+-]*){0,2})[»\"”]?(?: is (?:an?|the|your)\b|\s(?:—|–|-|это)\s)"
)
"""A sentence that says what it is about: "Acme is a printer", «Полка» — приложение."""


def _names_inside(sentence: str) -> Iterable[str]:
    for match in _NAME.finditer(sentence):
        # "Settings > Company" is a way through menus, and nobody's name.
        if _LEADS_ON.match(sentence, match.end()) or _COMES_FROM.search(sentence[: match.start()]):
            continue
        if sentence[: match.start()].strip('«"“ '):
            words = match.group().split()
            yield from filter(_may_name, (" ".join(words[:number]) for number in range(1, len(words) + 1)))


def _may_name(name: str) -> bool:
    """Whether a capitalised word may be a product's name: no abbreviation of the field, and no word of every text."""
    return not (name.isupper() and len(name) <= _LONGEST_ABBREVIATION) and bool(stems(name))


_LONGEST_ABBREVIATION: Final = 4
