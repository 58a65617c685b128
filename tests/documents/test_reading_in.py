from __future__ import annotations

from pathlib import Path

import pytest

from adapters.index.embedded import Folder, ingest
from adapters.index.embedded.index import NAME as INDEX
from adapters.reading.dialects import DialectSettings
from adapters.reading.document import LIBRARIES
from contracts.enums import Dialect
from tests.support.markdown_pages import age, documents, find, write
from tests.support.office import cell, docx, paragraph, pdf, sheet, xlsx
from tests.support.presentations import Page, pptx


@pytest.fixture
def kb(tmp_path: Path) -> Path:
    return tmp_path / "kb"


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    return tmp_path / "docs"


HTML = "<title>T</title><link rel=canonical href='https://kb.example.com/1'><h1>Roles</h1><p>pomegranate"
WORD = docx(paragraph("Guide", "T") + paragraph("Pomegranate roles", "H1") + paragraph("A kiwi."))
MANUAL = pdf([["A first page about roles. " * 40], ["Of kiwis and pomegranates. " * 40]], chapters=[("Fruit", 1)])


def test_files_of_every_format_are_found_by_their_words(docs: Path, kb: Path) -> None:
    """HTML, Word, PDF and Markdown files stand in one index, each with what its citation needs."""
    write(docs, {"a.md": "apple", "b.html": HTML, "c/d.DOCX": WORD, "manual.pdf": MANUAL, "~$d.docx": b"lock"})
    report = ingest(docs, directory=kb)
    assert (report.added, report.skipped, report.warnings) == (4, [], [])
    told = {item.document: (item.title, item.heading, item.url, item.lines) for item in find(kb, "pomegranate")}
    assert told == {
        "docs/b.html": ("Roles", "", "https://kb.example.com/1", None),
        "docs/c/d.DOCX": ("Guide", "", None, None),
        "docs/manual.pdf": ("manual", "Fruit › Page 2", None, None),
    }
    # The number of a page is shown, and found by nobody.
    assert documents(kb, "page 2") == ["docs/manual.pdf"]
    assert all("first page" in item.snippet for item in find(kb, "page 2"))


def test_a_spreadsheet_is_named_by_its_properties_or_its_file_and_its_formulas_are_told(docs: Path, kb: Path) -> None:
    """The names of its sheets are places in it; what no program has computed is a warning, in each run."""
    fruit = sheet(("Fruit", "Price"), ("quince", cell(None, formula="1+1")))
    write(docs, {"prices.XLSX": xlsx({"Sheet1": fruit}), "b.xlsx": xlsx({"S": sheet(("quince",))}, title="Trees")})
    report = ingest(docs, directory=kb)
    assert [(warning.path, "formulas" in warning.reason) for warning in report.warnings] == [("docs/prices.XLSX", True)]
    assert ingest(docs, directory=kb).warnings == report.warnings
    told = {item.document: (item.title, item.heading, item.lines) for item in find(kb, "quince")}
    assert told == {"docs/prices.XLSX": ("prices", "Sheet1", None), "docs/b.xlsx": ("Trees", "S", None)}


def test_files_of_old_formats_and_with_macros_are_told_with_the_way_out(docs: Path, kb: Path) -> None:
    """Somebody may take them for documents that are read; what Office keeps beside an open file is none."""
    others = dict.fromkeys(("b.DOC", "c.xls", "d/e.xlsm", "f.ppt", "g.pptm", "~$c.xls", "h.txt"), b"x")
    write(docs, {"a.md": "apple", **others})
    skipped = ingest(docs, directory=kb).skipped
    assert [(item.path, item.reason.partition(": ")[2]) for item in skipped] == [
        ("docs/b.DOC", "save it as .docx"),
        ("docs/c.xls", "save it as .xlsx"),
        ("docs/d/e.xlsm", "save it as .xlsx"),
        ("docs/f.ppt", "save it as .pptx"),
        ("docs/g.pptm", "save it as .pptx"),
    ]


def test_a_presentation_is_found_by_its_slides(docs: Path, kb: Path) -> None:
    """The title of its first slide names it, else its file; short slides stand together in a passage."""
    named = pptx(Page("Guide"), Page("Fruit", [("quince", 0)], notes="papaya"))
    write(docs, {"a.pptx": named, "b.pptx": pptx(Page(boxes={"quince": (1, 1)}))})
    report = ingest(docs, directory=kb)
    assert (report.added, report.skipped, report.warnings, documents(kb, "papaya")) == (2, [], [], [])
    told = {item.document: (item.title, item.heading, item.lines) for item in find(kb, "quince")}
    assert told == {"docs/a.pptx": ("Guide", "", None), "docs/b.pptx": ("b", "Slide 1", None)}


def test_a_passage_of_a_pdf_is_of_the_page_that_it_cites(docs: Path, kb: Path) -> None:
    """Short pages are not joined, and the line that names a page is shown as place, never as text."""
    fruit = ("apple", "pear", "plum", "kiwi", "quince", "pomegranate")
    pages = pdf([[f"Of the {name}.", f"A {name} is sweet."] for name in fruit], chapters=[("Core", 0), ("Stone", 2)])
    write(docs, {"fruit.pdf": pages})
    ingest(docs, directory=kb)
    told = {name: [(item.heading, item.snippet) for item in find(kb, name)] for name in fruit}
    chapters = ("", "", "Stone › ", "Stone › ", "Stone › ", "Stone › ")
    for number, (name, chapter) in enumerate(zip(fruit, chapters, strict=True), 1):
        ((heading, snippet),) = told[name]
        assert heading == f"{chapter}Page {number}"
        assert snippet.endswith(f"Of the {name}.\nA {name} is sweet.")
        assert "page=" not in snippet


def test_a_document_is_named_by_its_first_heading_before_its_file(docs: Path, kb: Path) -> None:
    """A file name stands in only where a document of any format has neither title nor heading."""
    write(docs, {"a.html": "<h2>Pears</h2><p>fruit", "b.docx": docx(paragraph("Plums", "H2") + paragraph("fruit"))})
    write(docs, {"c.pdf": pdf([["fruit"]]), "d.pdf": pdf([["sweet fruit"]], title="Kiwis")})
    ingest(docs, directory=kb)
    titles = {item.document: item.title for item in find(kb, "fruit")}
    assert titles == {"docs/a.html": "Pears", "docs/b.docx": "Plums", "docs/c.pdf": "c", "docs/d.pdf": "Kiwis"}


def test_what_did_not_change_is_not_read_again(docs: Path, kb: Path) -> None:
    """A second run reads nothing; a touched file is the same document, a changed one another, a deleted one gone."""
    write(docs, {"b.html": HTML, "c.docx": WORD, "manual.pdf": MANUAL})
    ingest(docs, directory=kb)
    seen: list[str] = []
    report = ingest(docs, directory=kb, on_progress=lambda _done, _total, path: seen.append(path))
    assert (report.unchanged, seen) == (3, [])
    age(docs / "c.docx")
    assert ingest(docs, directory=kb).unchanged == 3
    write(docs, {"b.html": HTML.replace("pomegranate", "papaya")})
    (docs / "manual.pdf").unlink()
    report = ingest(docs, directory=kb)
    assert (report.changed, report.removed, report.unchanged) == (1, 1, 1)
    assert (documents(kb, "papaya"), documents(kb, "kiwi")) == (["docs/b.html"], ["docs/c.docx"])


def test_bad_files_of_every_format_cost_only_themselves(docs: Path, kb: Path) -> None:
    """Hostile and damaged files are named with the way out, and the others are read."""
    bomb = docx("", parts={"word/document.xml": b" " * 30_000_000})
    write(
        docs,
        {"good.html": HTML, "bomb.docx": bomb, "broken.pdf": b"%PDF", "empty.htm": "<p>", "image.html": b"\x00\x01"},
    )
    with (docs / "huge.pdf").open("wb") as file:
        file.truncate(60_000_000)
    report = ingest(docs, directory=kb)
    assert (report.added, [skipped.path for skipped in report.skipped]) == (
        1,
        ["docs/bomb.docx", "docs/broken.pdf", "docs/empty.htm", "docs/huge.pdf", "docs/image.html"],
    )
    assert all(": " in skipped.reason for skipped in report.skipped)


def test_without_the_extra_the_files_are_told_and_read_once_it_is_there(
    docs: Path, kb: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file that needs the extra is left out with the way out, and the next run with the extra reads it."""
    write(docs, {"a.md": "apple", "c.docx": WORD})
    with monkeypatch.context() as patched:
        patched.setitem(LIBRARIES, ".docx", "no_such_library")
        report = ingest(docs, directory=kb)
    assert [(skipped.path, "extra `formats`" in skipped.reason) for skipped in report.skipped] == [
        ("docs/c.docx", True)
    ]
    assert documents(kb, "apple") == ["docs/a.md"]
    report = ingest(docs, directory=kb)
    assert (report.added, report.skipped, documents(kb, "kiwi")) == (1, [], ["docs/c.docx"])


# --------------------------------------------------------------------------------------------------------- dialects


def mkdocs(docs: Path, **variables: str) -> Folder:
    return Folder(docs, reading=DialectSettings(Dialect.MKDOCS, variables))


def test_an_included_file_belongs_to_the_page(docs: Path, kb: Path) -> None:
    """Its words find the page that includes it, at the line that asks for it, and a change of it is a change of the page."""
    write(
        docs,
        {"a.md": '# Page\n\napple\n\n--8<-- "_part.txt"\n', "b.md": "cherry", "_part.txt": "A pomegranate.\n\nA kiwi."},
    )
    ingest(mkdocs(docs), directory=kb)
    (item,) = find(kb, "kiwi")
    assert (item.document, item.lines) == ("docs/a.md", (1, 5))
    assert ingest(mkdocs(docs), directory=kb).unchanged == 2
    write(docs, {"_part.txt": "A papaya."})
    report = ingest(mkdocs(docs), directory=kb)
    assert (report.changed, report.unchanged) == (1, 1)
    assert (documents(kb, "kiwi"), documents(kb, "papaya")) == ([], ["docs/a.md"])


def test_a_file_that_is_there_to_be_included_is_no_page(docs: Path, kb: Path) -> None:
    """In MkDocs a name that begins with `_` marks a part: it is counted, is found in its page alone, and leaves the index."""
    pages = {"a.md": '# Page\n\napple\n\n--8<-- "_steps.md"\n', "_steps.md": "A kiwi.", "_parts/b.md": "A kiwi tree."}
    write(docs, {**pages, "_files/c.html": "<p>A papaya"})
    assert (ingest(docs, directory=kb).added, sorted(documents(kb, "kiwi"))) == (
        4,
        ["docs/_parts/b.md", "docs/_steps.md"],
    )
    report = ingest(mkdocs(docs), directory=kb)
    assert (report.changed, report.removed, report.parts, report.documents) == (1, 2, 2, 2)
    assert documents(kb, "kiwi") == ["docs/a.md"]
    assert documents(kb, "papaya") == ["docs/_files/c.html"]
    assert ingest(docs, directory=kb).parts == 0


def test_a_change_of_the_dialect_or_its_variables_reads_the_folder_again(docs: Path, kb: Path) -> None:
    """Pages are cut as the profile says now, whatever it said before; pages that it does not touch stay."""
    write(docs, {"a.md": "# Page\n\nInstall {{ product }}.\n", "b.md": "cherry"})
    ingest(Folder(docs), directory=kb)
    assert ingest(mkdocs(docs, product="Pomegranate"), directory=kb).changed == 2
    assert documents(kb, "pomegranate") == ["docs/a.md"]
    report = ingest(mkdocs(docs, product="Papaya"), directory=kb)
    assert (report.changed, documents(kb, "pomegranate"), documents(kb, "papaya")) == (1, [], ["docs/a.md"])
    report = ingest(mkdocs(docs), directory=kb)
    assert [(note.path, "`variables`" in note.reason) for note in report.warnings] == [("docs/a.md", True)]
    ingest(Folder(docs), directory=kb)
    assert "{{ product }}" in find(kb, "install")[0].snippet


def test_other_folders_keep_their_dialect(tmp_path: Path, docs: Path, kb: Path) -> None:
    """A page is put together as its own folder is, also in a run that names another one."""
    write(docs, {"a.md": "{{ product }}"})
    write(tmp_path / "copy", {"a.md": "{{ product }}"})
    ingest([mkdocs(docs, product="apple"), mkdocs(tmp_path / "copy", product="apple")], directory=kb)
    assert documents(kb, "apple") == ["copy/a.md"]
    (tmp_path / "copy/a.md").unlink()
    # Now the other file stands for the text, and is read for it.
    ingest(tmp_path / "copy", directory=kb)
    assert documents(kb, "apple") == ["docs/a.md"]
    assert (kb / INDEX).is_dir()
