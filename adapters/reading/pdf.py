"""PDF files as Markdown: the text of each page under a heading with its number; bookmarks and large lines are headings.

A PDF has no paragraphs, tables or lists, only lines in the order in which they are drawn.
"""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from io import BytesIO
from typing import TYPE_CHECKING, NoReturn

from adapters.reading.document import Document, Unfit, check_length, document
from adapters.reading.markdown import BULLET, STRUCTURE
from adapters.reading.pdf_lines import Line, find_headings, read_lines
from language.patterns import read_wording
from language.words import detect

_WORDING = read_wording(__name__)

if TYPE_CHECKING:
    from pypdf import PdfReader

MAX_PAGES = 3_000
_LOCKED = "is encrypted: save it without a password"
PAGE_HEADING = re.compile(r"(?:Page|Страница) \d+")
"""How the heading of a page reads; it is shown, and not searched."""
PAGE = re.compile(rf"^###### ({PAGE_HEADING.pattern}) \{{#(page=\d+)\}}$", re.MULTILINE)
"""The line of such a heading: how it reads, and its anchor, which a reader of PDF files understands."""
PAGE_LINES = re.compile(PAGE.pattern + r"\n*", re.MULTILINE)
"""That line with the blank ones behind it."""
_NAMES = {"en": "Page", "ru": "Страница"}
_OUTLINE_DEPTH = 3
_LOWEST = 5
"""The level of the lowest heading in a page: that of a page itself is one below."""
_OFTEN = 0.6
"""The share of pages from which a first or last line is taken for a running head."""
_FEWEST = 3
"""Pages that make "most pages" mean something."""
_PAGE_NUMBER = _WORDING.pattern("page_number")

_LIGATURES = {0xFB00: "ff", 0xFB01: "fi", 0xFB02: "fl", 0xFB03: "ffi", 0xFB04: "ffl", 0xFB05: "st", 0xFB06: "st"}
_HYPHEN = re.compile(r"(?<=[^\W\d_])[-\u00ad\u2010]\n(?=[a-zа-яё])")
_MARKUP = re.compile(r"<(?=[A-Za-z/!?])|&(?=#?\w{1,40};)")
_FILE_TITLE = re.compile(
    r"^Microsoft (?:Word|PowerPoint|Excel) - |\.(?:docx?|odt|rtf|indd|pptx?|xlsx?|tex|dvi)$", re.IGNORECASE
)
_NUMBER = re.compile(r"^[\W\d_]+(?=\w)")
_NO_LETTERS = re.compile(r"[\W_]+")
_DATE = re.compile(r"D?:?(\d{4})(\d{2})(\d{2})")


def read(content: bytes) -> Document:
    """Return a PDF file as Markdown; a page that cannot be read is left out, as long as another one can.

    Raises:
        Unfit: It is not a PDF, is encrypted, damaged or too long, or has no text.
    """
    from pypdf import PdfReader
    from pypdf.errors import DependencyError, PyPdfError

    try:
        reader = PdfReader(BytesIO(content))
        # Many files are encrypted without a password, against changes only.
        if reader.is_encrypted and not reader.decrypt(""):
            _refuse(_LOCKED)
        count = len(reader.pages)
        if count > MAX_PAGES:
            _refuse(f"has {count} pages, more than {MAX_PAGES}: split it")
        pages = list(_texts(reader, count))
        said = _about(reader)
        chapters = _outline(reader)
    except DependencyError as error:
        raise Unfit(_LOCKED) from error
    except Unfit:
        raise
    except (PyPdfError, ValueError, TypeError, KeyError, AttributeError, IndexError, RecursionError, OSError) as error:
        # The library meets a damaged file with whatever its parts raise.
        raise Unfit("is no PDF, or a damaged one: print it to a new PDF, or save it as Markdown") from error
    text = _assemble_pages(_without_running_heads(pages), chapters)
    # A bookmark of the first page names the document, one of a later page a chapter.
    first = next((name for _, name in chapters.get(0, ())), "")
    return document(text, title=said[0] or first, updated=said[1])


def _refuse(why: str) -> NoReturn:
    raise Unfit(why)


def _texts(reader: PdfReader, count: int) -> Iterator[list[Line]]:
    from pypdf.errors import PyPdfError

    size, failed, last = 0, 0, None
    for number in range(count):
        try:
            text, lines = read_lines(reader.pages[number])
        except (PyPdfError, ValueError, TypeError, KeyError, AttributeError, IndexError, RecursionError) as error:
            text, lines, failed, last = "", [], failed + 1, error
        size += len(text)
        check_length(size)
        yield [line._replace(text=line.text.translate(_LIGATURES)) for line in lines]
    if last is not None and failed == count:
        raise last


def _about(reader: PdfReader) -> tuple[str, str]:
    """Return title and day of the last change, as far as the file names them."""
    from pypdf.errors import PyPdfError

    try:
        matter = reader.metadata
        title = str(matter.title or "") if matter else ""
        changed = str(matter.get("/ModDate") or matter.get("/CreationDate") or "") if matter else ""
    except (PyPdfError, ValueError, TypeError, KeyError, AttributeError):
        return "", ""
    day = _DATE.match(changed)
    usable = title.strip() and not _FILE_TITLE.search(title.strip()) and title.strip().casefold() != "untitled"
    return title if usable else "", "-".join(day.groups()) if day else ""


def _outline(reader: PdfReader) -> dict[int, list[tuple[int, str]]]:
    """Return the bookmarks by the page, counted from 0, on which they begin: level from 1, and title."""
    found: dict[int, list[tuple[int, str]]] = {}

    def follow(entries: list[object], level: int) -> None:
        for entry in entries:
            if isinstance(entry, list):
                if level < _OUTLINE_DEPTH:
                    follow(entry, level + 1)  # pyright: ignore[reportUnknownArgumentType]
                continue
            number = reader.get_destination_page_number(entry)  # type: ignore[arg-type]
            words = " ".join(str(getattr(entry, "title", "")).split())[:200]
            if number is not None and words and not PAGE_HEADING.fullmatch(words):
                found.setdefault(number, []).append((level, words))

    try:
        follow(list(reader.outline), 1)
    except Exception:  # noqa: BLE001 - the text is worth having without its bookmarks, whatever is wrong with them
        return {}
    return found


def _without_running_heads(pages: list[list[Line]]) -> list[list[Line]]:
    """Return the lines of each page without those that stand first or last on most of them, the page's number among them.

    One line of a page always stays.
    """
    lines = [list(page) for page in pages]
    written = sum(map(bool, lines))
    least = max(_FEWEST, _OFTEN * written)
    for place in (0, -1):
        # Twice: a running head may be a name and a number, on two lines.
        for _ in range(2):
            edges = Counter(
                _normalise_running_line(page[place].text, number) for number, page in enumerate(lines) if page
            )
            often = {edge for edge, count in edges.items() if count >= least}
            for number, page in enumerate(lines):
                if len(page) > 1 and _normalise_running_line(page[place].text, number) in often:
                    page.pop(place)
    return lines


def _normalise_running_line(line: str, place: int) -> tuple[str, int | None, str]:
    """Return a line as it is on other pages: where it is the page's number, that counts with the pages."""
    found = _PAGE_NUMBER.fullmatch(line)
    return (found["before"], int(found["number"]) - place, found["after"]) if found else (line, None, "")


def _assemble_pages(pages: list[list[Line]], chapters: dict[int, list[tuple[int, str]]]) -> str:
    word = _NAMES[detect(" ".join(line.text for page in pages[:20] for line in page)[:20_000])]
    parts: list[str] = []
    deepest = 0
    for number, (lines, headings) in enumerate(zip(pages, find_headings(pages), strict=True)):
        there = {_letters(heading.text) for heading in headings}
        bookmarks: dict[str, deque[int]] = {}
        for level, title in chapters.get(number, ()):
            if (letters := _letters(title)) in there:
                bookmarks.setdefault(letters, deque()).append(level)
                continue
            parts.append(f"{'#' * (level + 1)} {_safe(title)}")
            deepest = level
        mark = f"###### {word} {number + 1} {{#page={number + 1}}}"
        begun = 0
        for heading in headings:
            if PAGE_HEADING.fullmatch(heading.text):
                continue
            level = deepest + heading.rank + 1
            if leads_here := bookmarks.get(_letters(heading.text)):
                # The bookmark leads to this line, and is its rank.
                level = deepest = leads_here.popleft()
            before = lines[begun : heading.start]
            parts += [mark, _prose(before)] if before else []
            parts.append(f"{'#' * min(level + 1, _LOWEST)} {_safe(heading.text)}")
            begun = heading.start + heading.count
        if lines:
            parts += [mark, _prose(lines[begun:])]
    return "\n\n".join(parts) if any(pages) else ""


def _letters(text: str) -> str:
    """Return what is equal for a heading and its bookmark: the letters, without a number in front."""
    return _NO_LETTERS.sub("", _NUMBER.sub("", text)).casefold()


def _prose(lines: Sequence[Line]) -> str:
    text = _HYPHEN.sub("", "\n".join(line.text for line in lines))
    return BULLET.sub("- ", STRUCTURE.sub(r"\\", _safe(text)))


def _safe(text: str) -> str:
    return _MARKUP.sub(lambda found: "&lt;" if found.group() == "<" else "&amp;", text)
