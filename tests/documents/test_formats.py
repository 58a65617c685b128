from __future__ import annotations

import subprocess
import sys
import time
import zipfile
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.reading import chunks
from adapters.reading import docx as word_files
from adapters.reading import html as web_pages
from adapters.reading import pdf as pdf_files
from adapters.reading.converter import Converter
from adapters.reading.document import LIBRARIES, Document, Unfit
from tests.support.office import docx, paragraph, pdf, table

PAGE = """<!doctype html><html><head><title>Roles — Support</title><script>spy()</script><style>p {}</style>
<link rel="canonical" href="https://kb.example.com/roles"><meta name="date" content="2025-03-02T10:00:00Z"></head>
<body><header>Support desk</header><nav><ul><li>Menu</ul></nav><main><section id="roles"><h1>Roles &amp; rights<a
class="headerlink" href="#roles">¶</a></h1><p>Give <b>roles</b> to people.<p hidden>secret</p>%s</section></main>
<footer>Imprint</footer></body></html>"""


def page(markup: str) -> str:
    """Return what is read of some HTML below the title."""
    return web_pages.read((PAGE % markup).encode()).text.partition("people.\n\n")[2].rstrip("\n")


# ------------------------------------------------------------------------------------------------------------ HTML


def test_a_web_page_is_its_text_without_the_site_around_it() -> None:
    """Title, address and day come from the page; scripts, styles, navigation, hidden parts and footers are dropped."""
    assert web_pages.read((PAGE % "").encode()) == Document(
        "# Roles & rights {#roles}\n\nGive **roles** to people.\n",
        "Roles & rights",
        "https://kb.example.com/roles",
        "2025-03-02",
    )


@pytest.mark.parametrize(
    ("markup", "markdown"),
    [
        ("<h2 id=a>One <i>two</i></h2><h3>B</h3>", "## One two {#a}\n\n### B"),
        (
            "<ol start=3><li>c<ul><li>x<li>y</ul><li><p>d</p><pre>code</pre></ol>",
            "3. c\n   - x\n   - y\n4. d\n\n   ```\n   code\n   ```",
        ),
        ('<pre><code class="language-py">if x:\n    y = `z`\n</code></pre>', "```py\nif x:\n    y = `z`\n```"),
        ("<pre>a\n```\nb</pre>", "````\na\n```\nb\n````"),
        ("<p>Use <code>List&lt;T&gt;</code>, &lt;b&gt; and &amp;lt;", "Use `List<T>`, &lt;b> and &amp;lt;"),
        ("<dl><dt>Role<dd>A set of rights.</dl>", "- **Role**: A set of rights."),
        ("<blockquote><p>One</p><p>Two</p></blockquote>", "> One\n>\n> Two"),
        (
            '<a href="x (1).html">see</a> <a href="javascript:x()">no</a> <a href="#top">up</a>',
            "[see](x%20%281%29.html) no up",
        ),
        ('text<sup><a href="#fn">[1]</a></sup>', "text"),
        ('<img alt="A dialog" src="data:image/png;base64,AAAA"><img src="x.png">', "![A dialog](image)"),
        ("<p># no heading<br>---", "\\# no heading\n\\---"),
        ("<details><summary>More</summary>Hidden</details>", "**More**\n\nHidden"),
    ],
)
def test_elements_become_their_markdown(markup: str, markdown: str) -> None:
    """Headings keep anchors, lists their nesting and numbers, code its lines, and words never turn into mark-up."""
    assert page(markup) == markdown


def test_a_table_keeps_its_head_and_says_in_each_row_what_spans_it() -> None:
    """Cells of several rows are repeated, bars escaped, lists in cells joined; a table for looks is read as text."""
    rows = "<tr><th>Name<th>Port</tr><tr><td rowspan=2>web<td>80|81</tr><tr><td><ul><li>443<li>444</ul></tr>"
    assert page(f"<table><caption>Ports</caption>{rows}</table>") == (
        "**Ports**\n\n| Name | Port |\n| --- | --- |\n| web | 80\\|81 |\n| web | 443; 444 |"
    )
    code = "<td class=linenos><pre>1\n2</pre></td><td><pre>ls\ncd</pre></td>"
    assert page(f"<table><tr>{code}</tr></table>") == "```\nls\ncd\n```"


@pytest.mark.parametrize(
    "hidden",
    [
        'style="display:none"',
        'style="color: red; DISPLAY : None !important"',
        'style="visibility:hidden;"',
        'style="display:/* x */none"',
        "hidden",
        'hidden="until-found"',
        'aria-hidden="true"',
        'aria-hidden="TRUE"',
    ],
)
def test_what_an_element_hides_itself_is_no_text(hidden: str) -> None:
    """Nobody sees it in a browser, so nobody shall read it in an answer: in the text, in a heading, and as the title."""
    assert page(f"<p>apple<div {hidden}><p>secret</p></div><p>pear <span {hidden}>secret</span></p>") == "apple\n\npear"
    whole = f"<title>Site</title><h1 {hidden}>secret</h1><h1>Roles</h1><p>apple".encode()
    assert web_pages.read(whole).text == "# Roles\n\napple\n"
    assert "secret" not in web_pages.read(whole).title


@pytest.mark.parametrize(
    "style", ["display:block", "display:none-such", "--display:none", "color:red", "x-visibility:hidden"]
)
def test_other_styles_hide_nothing(style: str) -> None:
    """Only the two properties that hide do."""
    assert page(f'<p style="{style}">apple') == "apple"


def test_a_page_without_a_main_part_is_read_whole() -> None:
    """Where nothing is marked as main, the body is; where all stands in navigation, navigation is read, too."""
    assert web_pages.read(b"<p>apple</p><nav>menu</nav>").text == "apple\n"
    assert web_pages.read(b"<nav>apple</nav>").text == "apple\n"
    assert web_pages.read(b"<main>x</main><div>" + b"apple " * 9).text.count("apple") == 9


def test_a_page_in_an_old_encoding_is_read_if_it_says_so() -> None:
    """A named encoding is followed; bytes in one that is not named are refused, not guessed."""
    text = "<p>Назначение ролей пользователям".encode("cp1251")
    assert "Назначение ролей" in web_pages.read(b'<meta charset="windows-1251">' + text).text
    with pytest.raises(Unfit, match="save it as UTF-8"):
        web_pages.read(text)


@pytest.mark.parametrize(
    "markup", [b"<ul><li>" * 3000, b"<b>" * 5000, b"<table><tr><td>" * 1000, b"</p><p" * 999, b"<a<b<c"]
)
def test_broken_and_deep_pages_are_read_all_the_same(markup: bytes) -> None:
    """Whatever is nested or left open, the words are there."""
    assert "apple" in web_pages.read(b"<p>apple</p>" + markup + b"> pear").text


def text_or_reason(read: Callable[[], Document]) -> tuple[str, str]:
    """Return the text of a file, or why it has none."""
    try:
        return read().text, ""
    except Unfit as unfit:
        return "", str(unfit)


TAGS = ("p", "b", "li", "ul", "table", "tr", "td", "a", "pre", "code", "h2", "div", "dl", "dd", "span")


@given(
    st.recursive(
        st.text(max_size=9),
        lambda inner: st.builds(
            "<{0}>{1}</{0}>".format,
            st.sampled_from(TAGS),
            st.lists(inner, max_size=4).map("".join),
        ),
        max_leaves=12,
    )
)
def test_any_markup_is_read_or_refused(markup: str) -> None:
    """Random pages give Markdown that the chunker takes, or a reason."""
    text, reason = text_or_reason(lambda: web_pages.read_text(markup))
    assert ":" in reason or chunks.read(text).chunks or not any(map(str.isalnum, text))


# ------------------------------------------------------------------------------------------------------------ Word


def test_a_word_file_keeps_headings_lists_tables_and_code() -> None:
    """Styles tell what a paragraph is; the title of the text stands above that of the file's properties."""
    body = paragraph("Руководство", "T") + paragraph("Contents … 1", "TOC") + paragraph("Roles & rights", "H1")
    body += paragraph("first", number="2") + paragraph("second", number="2") + paragraph("a < b", "H2")
    body += paragraph("def f():", "C") + paragraph("    pass", "C") + table(("Name", "Port"), ("web", "80"))
    assert word_files.read(docx(body, title="Copied from")) == Document(
        "# Руководство\n\n# Roles & rights\n\n1. first\n2. second\n\n## a < b\n\n```\ndef f():\n    pass\n```\n\n"
        "| Name | Port |\n| --- | --- |\n| web | 80 |\n",
        "Руководство",
        "",
        "2025-01-02",
    )


def test_a_word_file_without_a_heading_is_named_by_its_properties() -> None:
    """The property stands in where the text has no title of its own."""
    assert word_files.read(docx(paragraph("Text"), title="A & B")).title == "A & B"


def bomb(size: int) -> bytes:
    return docx("", parts={"word/document.xml": b" " * size})


LAUGHS = (
    '<!DOCTYPE a [<!ENTITY a "ha">'
    + "".join(f'<!ENTITY {chr(98 + n)} "{f"&{chr(97 + n)};" * 10}">' for n in range(12))
    + "]><w:document xmlns:w='urn:w'>&m;</w:document>"
)


@pytest.mark.parametrize(
    ("content", "way_out"),
    [
        (b"PK\x03\x04 no archive", "save it again"),
        (b"\xd0\xcf\x11\xe0" + b"\x00" * 600, "without a password"),
        (docx(paragraph("x"), parts={"word/document.xml": "<w:document"}), "save it again"),
        (docx("", parts={"word/document.xml": LAUGHS}), "save it again"),
        (bomb(30_000_000), "split it"),
        (docx(""), "remove it"),
        (docx(paragraph("apple"))[:-200], "save it again"),
    ],
    ids=["no archive", "encrypted", "broken", "entities", "bomb", "empty", "cut"],
)
def test_a_bad_word_file_is_refused_with_the_way_out(content: bytes, way_out: str) -> None:
    """Damaged, encrypted, empty and exploding files are refused, in a second and with what to do."""
    started = time.process_time()
    with pytest.raises(Unfit, match=way_out):
        word_files.read(content)
    assert time.process_time() - started < 5


def test_an_archive_that_lies_about_its_size_is_refused() -> None:
    """A part that is larger than the archive says is not unpacked beyond that."""
    honest = bytearray(bomb(30_000_000))
    real = (30_000_000).to_bytes(4, "little")
    with pytest.raises(Unfit):
        word_files.read(bytes(honest.replace(real, (1000).to_bytes(4, "little"))))


# ------------------------------------------------------------------------------------------------------------- PDF


def test_a_pdf_is_its_lines_by_page_and_chapter() -> None:
    """Pages and bookmarks are headings, running heads go, words over two lines are joined, marks are no mark-up."""
    pages = [["Manual", "# Install", "Run the instal-", "ler <b> now.", "• one", "page 1"]]
    pages += [["Manual", f"Text {n}", f"page {n}"] for n in (2, 3, 4)]
    assert pdf_files.read(pdf(pages, title="The manual", chapters=[("Start", 0), ("Next", 1)])) == Document(
        "## Start\n\n###### Page 1 {#page=1}\n\n\\# Install\nRun the installer &lt;b> now.\n- one\n\n## Next\n\n"
        "###### Page 2 {#page=2}\n\nText 2\n\n###### Page 3 {#page=3}\n\nText 3\n\n###### Page 4 {#page=4}\n\nText 4\n",
        "The manual",
        "",
        "2025-01-02",
    )


BODY = [
    "The kettle boils water, and a lamp shows when it does so.",
    "It is off when the lamp is dark, and cold after that.",
]


def test_large_lines_and_bold_ones_that_stand_alone_are_headings_of_a_pdf() -> None:
    """They are on their page, below a bookmark, whose own line they take the place of; nothing runs into what follows."""
    pages: list[list[Any]] = [
        [
            ("1. Kettles and", 24, True),
            ("lamps", 24, True),
            *BODY,
            ("Cleaning <it>", 12, True),
            *BODY,
            ("Lamps", 18, False),
        ],
        [*BODY, ("Note:", 12, True), *BODY, ("two lines", 12, True), ("of bold", 12, True), *BODY],
    ]
    told = [line for line in pdf_files.read(pdf(pages, chapters=[("Kettles and lamps", 0)])).text.split("\n") if line]
    page = "###### Page 1 {#page=1}"
    last = ["Lamps", "###### Page 2 {#page=2}", *BODY, "Note:", *BODY, "two lines", "of bold", *BODY]
    assert told == ["## 1. Kettles and lamps", page, *BODY, "#### Cleaning &lt;it>", page, *BODY, *last]
    plain = pdf_files.read(pdf(pages)).text.split("\n")
    assert [line for line in plain if line.startswith("##") and "Page" not in line] == [
        "## 1. Kettles and lamps",
        "### Cleaning &lt;it>",
    ]


@pytest.mark.parametrize(
    "page",
    [
        [("All is large.", 24, False)] * 4,
        [("Large", 24, False), "small"],
        [("1 Kettles . . . . . 7", 24, False), *BODY],
        [("12", 24, False), *BODY],
        [("Page 3", 24, False), *BODY],
        [*BODY, ("At the end", 24, False)],
        [("One of many", 24, False)] * 4 + BODY * 9,
        [*BODY, "Take these steps in their order:", ("1. Switch it off", 12, True), "2. Wait a minute", *BODY],
        ["1. Wait a minute", ("2. Switch it off", 12, True), "3. Clean it", *BODY],
        [
            *BODY,
            "Never press the button that is below the small lamp,",
            ("Erase All Data", 12, True),
            "to clean it.",
            *BODY,
        ],
    ],
    ids=["all", "most", "contents", "number", "page", "end", "paragraph", "first step", "step", "inside"],
)
def test_type_that_says_nothing_makes_no_headings_of_a_pdf(page: list[Any]) -> None:
    """Where most is large, in lines that only look so, in a text of several lines, and for what goes on around it."""
    assert pdf_files.read(pdf([page])).text.count("#") == 7


def lines_of(pages: list[list[str]]) -> list[str]:
    """Return the lines of a PDF as they are read, without those that name its pages."""
    return [line for line in pdf_files.read(pdf(pages)).text.split("\n") if line and not line.startswith("###### ")]


def test_pages_that_differ_only_in_numbers_keep_their_text() -> None:
    """A number makes a line a running head only where it is that of the page, alone or behind a word for it."""
    pages = [[f"Server {n} listens on port {8000 + n}.", f"Its disk has {n} TB."] for n in range(1, 6)]
    assert lines_of(pages) == [line for page in pages for line in page]
    assert lines_of([[f"Error {n}"] for n in range(5)]) == [f"Error {n}" for n in range(5)]
    # Numbers that do not count with the pages are no numbers of pages.
    assert lines_of([[str(n * n), "apple", f"pear {n}"] for n in range(4)])[:2] == ["0", "apple"]


@pytest.mark.parametrize(
    "foot", ["{n}", "- {n} -", "Page {n} of 4", "page {n}", "Manual | {n}", "Стр. {n}", "{n} / 4", "стр. {n} из 4"]
)
def test_the_number_of_a_page_is_no_text(foot: str) -> None:
    """However a page's number is written at its head or foot, it goes."""
    texts = ["apple tree", "pear tree", "plum tree", "kiwi tree"]
    pages = [[text, foot.format(n=number)] for number, text in enumerate(texts, 7)]
    assert lines_of(pages) == texts
    assert lines_of([page[::-1] for page in pages]) == texts


def test_a_line_on_all_of_three_pages_is_a_running_head_and_a_page_is_never_emptied() -> None:
    """Most pages are at least three; a page of nothing but such lines keeps one."""
    head = "Company Confidential"
    assert lines_of([[head, "apple"], [head, "pear"], [head, "plum"]]) == ["apple", "pear", "plum"]
    assert lines_of([[head, "apple"], [head, "pear"]]) == [head, "apple", head, "pear"]
    assert lines_of([[head, "apple"], [head], [head, "plum"]]) == ["apple", head, "plum"]


def test_a_pdf_without_a_title_is_named_by_the_bookmark_of_its_first_page() -> None:
    """The property first, then that bookmark; one of a later page is a chapter's."""
    pages = [["apple"], ["pear"]]
    assert pdf_files.read(pdf(pages, title="Trees", chapters=[("Fruit", 0)])).title == "Trees"
    assert pdf_files.read(pdf(pages, chapters=[("Fruit", 0)])).title == "Fruit"
    assert pdf_files.read(pdf(pages, chapters=[("Fruit", 1)])).title == ""


def test_a_russian_pdf_has_russian_pages() -> None:
    """The heading of a page is in the language of the text, which the font's own table spells out."""
    assert (
        pdf_files.read(pdf([["Установка", "и ещё раз"]])).text
        == "###### Страница 1 {#page=1}\n\nУстановка\nи ещё раз\n"
    )


@pytest.mark.parametrize("title", ["Microsoft Word - a.doc", "final.docx", "untitled", " "])
def test_a_title_that_is_a_file_name_is_none(title: str) -> None:
    """What programs write into the field of the title is not taken for one."""
    assert pdf_files.read(pdf([["apple"]], title=title)).title == ""


LOCKED = "/Encrypt << /Filter /Standard /V 1 /R 2 /O <{0}> /U <{0}> /P -4 >> /ID [<00> <00>]".format("ab" * 32)


@pytest.mark.parametrize(
    ("content", "way_out"),
    [
        (b"%PDF-1.4 nothing", "save it as Markdown"),
        (pdf([["apple"]], trailer=LOCKED), "without a password"),
        (pdf([[]]), "OCR"),
        (b"", "save it as Markdown"),
        (pdf([["apple"]]).replace(b"/Kids [6 0 R]", b"/Kids [2 0 R]"), ":"),
    ],
    ids=["no pdf", "encrypted", "pictures", "empty", "circle"],
)
def test_a_bad_pdf_is_refused_with_the_way_out(content: bytes, way_out: str) -> None:
    """Damaged and encrypted files, and those without text, are refused with what to do."""
    with pytest.raises(Unfit, match=way_out):
        pdf_files.read(content)


def test_a_page_that_cannot_be_read_costs_only_itself() -> None:
    """The other pages of a damaged file are read."""
    whole = pdf([["apple"], ["pear"]])
    assert "pear" in pdf_files.read(whole.replace(b"(apple) Tj", b"(apple\\ Tj")).text


@given(st.binary(max_size=40), st.integers(0, 900), st.integers(0, 60))
def test_any_damage_to_a_pdf_is_read_or_refused(noise: bytes, place: int, length: int) -> None:
    """A file with some bytes changed gives text, or a reason, and no other error."""
    whole = pdf([["apple"]], chapters=[("One", 0)])
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("logging.Logger.warning", lambda *_, **__: None)
        text, reason = text_or_reason(lambda: pdf_files.read(whole[:place] + noise + whole[place + length :]))
    assert text or ":" in reason


# ------------------------------------------------------------------------------------------- in a process of its own


def test_a_process_reads_every_format_one_after_the_other() -> None:
    """One process reads files of all formats, and a refused one does not end it."""
    with Converter() as converter:
        assert converter.read(".html", b"<p>apple").text == "apple\n"
        with pytest.raises(Unfit):
            converter.read(".pdf", b"no pdf")
        assert "pear" in converter.read(".docx", docx(paragraph("pear"))).text
        assert "plum" in converter.read(".pdf", pdf([["plum"]])).text


def test_a_file_that_takes_too_long_costs_only_itself() -> None:
    """Reading ends after its time, whatever it is doing, and the next file is read by a new process."""
    slow = b"<div>" * 60_000 + b"apple"
    with Converter(seconds=1) as converter:
        started = time.monotonic()
        with pytest.raises(Unfit, match="more than 1 s"):
            converter.read(".html", slow)
        assert time.monotonic() - started < 10
        assert converter.read(".html", b"<p>pear").text == "pear\n"


def test_what_the_interpreter_prints_when_it_starts_is_no_document(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A start file may print a line of JSON, as one that reports to a log does, and one without an end."""
    start = """print('{"level": "info"}\\n{"unfit": "x"', end='', flush=True)"""
    (tmp_path / "sitecustomize.py").write_text(start, "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    with Converter() as converter:
        assert converter.read(".html", b"<p>apple").text == "apple\n"


def test_without_the_extra_a_file_is_left_out_with_the_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """A format whose library is not installed is told with the extra that has it."""
    monkeypatch.setitem(LIBRARIES, ".pdf", "no_such_library")
    with Converter() as converter, pytest.raises(Unfit, match="install that extra"):
        converter.read(".pdf", pdf([["apple"]]))


def test_libraries_are_not_imported_before_they_are_needed() -> None:
    """Reading Markdown in imports none of the libraries of other formats, and starts no process."""
    code = (
        "import sys, adapters.index.embedded.ingestion, adapters.reading.docx\n"
        f"print(sorted(set(sys.modules) & {set(LIBRARIES.values())!r}))"
    )
    said = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=Path(__file__).parents[2]
    )
    assert said.stdout == "[]\n"


def test_the_archive_of_the_tests_is_one() -> None:
    """The Word file that the tests make has the parts that Word's own have."""
    assert "word/document.xml" in zipfile.ZipFile(BytesIO(docx(""))).namelist()
