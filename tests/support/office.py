"""Word, Excel and PDF files made by hand, byte by byte, for the tests of reading them."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping, Sequence
from html import escape
from io import BytesIO

_TYPES = (
    '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
    '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    '<Default Extension="xml" ContentType="application/xml"/><Override PartName="/word/document.xml" '
    'ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/></Types>'
)
_LINKS = (
    '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="r1" '
    'Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" '
    'Target="word/document.xml"/></Relationships>'
)
_WORD = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
STYLES = {"T": "Title", "H1": "heading 1", "H2": "heading 2", "C": "Source Code", "TOC": "toc 1"}


def paragraph(text: str, style: str = "", *, number: str = "") -> str:
    """Return a paragraph of a Word file; `number` puts it into the list `1` (bullets) or `2` (numbers)."""
    marks = f'<w:pStyle w:val="{style}"/>' if style else ""
    marks += f'<w:numPr><w:ilvl w:val="0"/><w:numId w:val="{number}"/></w:numPr>' if number else ""
    return f'<w:p><w:pPr>{marks}</w:pPr><w:r><w:t xml:space="preserve">{escape(text)}</w:t></w:r></w:p>'


def table(*rows: Sequence[str]) -> str:
    cells = ["".join(f"<w:tc>{paragraph(cell)}</w:tc>" for cell in row) for row in rows]
    return f"<w:tbl>{''.join(f'<w:tr>{row}</w:tr>' for row in cells)}</w:tbl>"


def docx(body: str, *, title: str = "", parts: Mapping[str, str | bytes] | None = None) -> bytes:
    """Return a Word file with a body of paragraphs and tables."""
    styles = "".join(
        f'<w:style w:type="paragraph" w:styleId="{key}"><w:name w:val="{name}"/></w:style>'
        for key, name in STYLES.items()
    )
    numbering = "".join(
        f'<w:abstractNum w:abstractNumId="{n}"><w:lvl w:ilvl="0"><w:numFmt w:val="{kind}"/></w:lvl></w:abstractNum>'
        for n, kind in ((1, "bullet"), (2, "decimal"))
    ) + "".join(f'<w:num w:numId="{n}"><w:abstractNumId w:val="{n}"/></w:num>' for n in (1, 2))
    whole = {
        "[Content_Types].xml": _TYPES,
        "_rels/.rels": _LINKS,
        "word/styles.xml": f"<w:styles {_WORD}>{styles}</w:styles>",
        "word/numbering.xml": f"<w:numbering {_WORD}>{numbering}</w:numbering>",
        "word/document.xml": f"<w:document {_WORD}><w:body>{body}</w:body></w:document>",
    }
    return _archive(whole, title, parts or {})


def _archive(whole: Mapping[str, str], title: str, parts: Mapping[str, str | bytes]) -> bytes:
    """Return an archive with the properties that Office writes; `parts` stand in place of its own."""
    core = (
        '<cp:coreProperties xmlns:cp="urn:cp" xmlns:dc="urn:dc" xmlns:dcterms="urn:dcterms">'
        f"<dc:title>{escape(title)}</dc:title><dcterms:modified>2025-01-02T03:04:05Z</dcterms:modified></cp:coreProperties>"
    )
    file = BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in {**whole, "docProps/core.xml": core, **parts}.items():
            archive.writestr(name, content)
    return file.getvalue()


SHEETS = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_SHEET_TYPES = "application/vnd.openxmlformats-officedocument.spreadsheetml."
FORMATS = ("General", "yyyy-mm-dd", '#,##0.00\\ "₽"', "0%", "00000", ";;;", "h:mm", "[h]:mm:ss", '0" pcs";(0)')
"""The formats that a cell of `sheet` may name by their place."""


def cell(value: str | float | None, kind: int = 0, *, formula: str = "") -> str:
    """Return a cell of a sheet; its place is behind the last one."""
    how = f"<f>{escape(formula)}</f>" if formula else ""
    if value is None:
        return f'<c s="{kind}">{how}</c>'
    if isinstance(value, str) and not formula:
        return f'<c s="{kind}" t="inlineStr"><is><t xml:space="preserve">{escape(value)}</t></is></c>'
    text = ' t="str"' * isinstance(value, str)
    return f'<c s="{kind}"{text}>{how}<v>{escape(str(value))}</v></c>'


def sheet(*rows: Sequence[str | float | None], before: str = "", after: str = "") -> str:
    """Return a sheet; a value that begins with `<` is a finished cell, and a row of one that begins so, a finished row."""
    lines = [
        row
        if isinstance(row, str)
        else f"<row>{''.join(v if isinstance(v, str) and v.startswith('<c ') else cell(v) for v in row)}</row>"
        for row in rows
    ]
    return f"<worksheet {SHEETS}>{before}<sheetData>{''.join(lines)}</sheetData>{after}</worksheet>"


def xlsx(
    sheets: Mapping[str, str],
    *,
    title: str = "",
    hidden: Mapping[str, str] | None = None,
    parts: Mapping[str, str | bytes] | None = None,
) -> bytes:
    """Return an Excel file of sheets by their names; `hidden` says of some how they are hidden."""
    numbers = range(1, len(sheets) + 1)
    types = "".join(
        f'<Override PartName="/{name}.xml" ContentType="{_SHEET_TYPES}{kind}+xml"/>'
        for name, kind in [
            ("xl/workbook", "sheet.main"),
            ("xl/styles", "styles"),
            ("xl/sharedStrings", "sharedStrings"),
            *((f"xl/worksheets/sheet{n}", "worksheet") for n in numbers),
        ]
    )
    links = "".join(
        f'<Relationship Id="r{n}" Type="{_OFFICE}/worksheet" Target="worksheets/sheet{n}.xml"/>' for n in numbers
    )
    links += f'<Relationship Id="s" Type="{_OFFICE}/styles" Target="styles.xml"/>'
    links += f'<Relationship Id="t" Type="{_OFFICE}/sharedStrings" Target="sharedStrings.xml"/>'
    named = "".join(
        f'<sheet name="{escape(name)}" sheetId="{n}" r:id="r{n}" state="{(hidden or {}).get(name, "visible")}"/>'
        for n, name in enumerate(sheets, 1)
    )
    codes = "".join(f'<numFmt numFmtId="{164 + n}" formatCode="{escape(code)}"/>' for n, code in enumerate(FORMATS))
    kinds = "".join(f'<xf numFmtId="{164 + n}" applyNumberFormat="1"/>' for n in range(len(FORMATS)))
    whole = {
        "[Content_Types].xml": _TYPES.partition("<Override")[0] + types + "</Types>",
        "_rels/.rels": _LINKS.replace("word/document", "xl/workbook"),
        "xl/workbook.xml": f'<workbook {SHEETS} xmlns:r="{_OFFICE}"><sheets>{named}</sheets></workbook>',
        "xl/_rels/workbook.xml.rels": f"{_LINKS.partition('<Relationship Id')[0]}{links}</Relationships>",
        "xl/styles.xml": f"<styleSheet {SHEETS}><numFmts>{codes}</numFmts><fonts><font/></fonts><fills><fill><patternFill/></fill></fills>"
        f"<borders><border/></borders><cellStyleXfs><xf/></cellStyleXfs><cellXfs>{kinds}</cellXfs></styleSheet>",
        "xl/sharedStrings.xml": f"<sst {SHEETS}/>",
        **{f"xl/worksheets/sheet{n}.xml": content for n, content in zip(numbers, sheets.values(), strict=True)},
    }
    return _archive(whole, title, parts or {})


Typeset = tuple[str, int, bool]
"""A line of a PDF with the height of its type in points, and whether it is bold."""


def pdf(
    pages: Sequence[Sequence[str | Typeset]],
    *,
    title: str = "",
    chapters: Sequence[tuple[str, int]] = (),
    trailer: str = "",
) -> bytes:
    """Return a PDF file: lines per page (of plain type, 12 points high), bookmarks as title and page from 0, and what else its trailer has.

    Letters are those of windows-1251, which the font's own table turns into Unicode.
    """
    codes = "".join(
        f"<{code:02x}> <{ord(bytes([code]).decode('cp1251')):04x}>\n"
        for code in [*range(32, 127), *range(192, 256), 168, 184, 149]
    )
    # A table may have a hundred entries in each block.
    entries = codes.splitlines()
    blocks = [entries[start : start + 90] for start in range(0, len(entries), 90)]
    to_unicode = (
        "/CIDInit /ProcSet findresource begin begincmap 1 begincodespacerange <00> <ff> endcodespacerange\n"
        + "".join(f"{len(block)} beginbfchar\n" + "\n".join(block) + "\nendbfchar\n" for block in blocks)
        + "endcmap end"
    )
    first_page, count = 6, len(pages)
    first_mark = first_page + 2 * count
    kids = " ".join(f"{first_page + 2 * n} 0 R" for n in range(count))
    marks = f"/First {first_mark} 0 R /Last {first_mark + len(chapters) - 1} 0 R" if chapters else ""
    objects: list[bytes] = [
        b"<< /Type /Catalog /Pages 2 0 R /Outlines 5 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {count} >>".encode(),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /ToUnicode 4 0 R >>",
        _stream(to_unicode.encode()),
        f"<< /Type /Outlines {marks} >>".encode(),
    ]
    for number, lines in enumerate(pages):
        drawn = b"".join(map(_drawn, lines))
        apart = max((line[1] for line in lines if not isinstance(line, str)), default=12) + 2
        objects += [
            f"<< /Type /Page /Parent 2 0 R /Contents {first_page + 2 * number + 1} 0 R /MediaBox [0 0 600 800] "
            "/Resources << /Font << /F 3 0 R /B << /Type /Font /Subtype /Type1 /BaseFont /Helvetica-Bold "
            "/ToUnicode 4 0 R >> >> >> >>".encode(),
            _stream(f"BT {apart} TL 50 750 Td\n".encode() + drawn + b"ET"),
        ]
    for number, (name, page) in enumerate(chapters):
        after = f"/Next {first_mark + number + 1} 0 R" if number + 1 < len(chapters) else ""
        objects.append(
            b"<< /Title ("
            + _literal(name)
            + f") /Parent 5 0 R {after} /Dest [{first_page + 2 * page} 0 R /Fit] >>".encode()
        )
    objects.append(b"<< /Title (" + _literal(title) + b") /ModDate (D:20250102030405Z) >>")
    file = bytearray(b"%PDF-1.4\n")
    places: list[int] = []
    for number, content in enumerate(objects, 1):
        places.append(len(file))
        file += f"{number} 0 obj\n".encode() + content + b"\nendobj\n"
    start = len(file)
    file += f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n".encode()
    file += b"".join(f"{place:010} 00000 n \n".encode() for place in places)
    file += f"trailer\n<< /Size {len(objects) + 1} /Root 1 0 R /Info {len(objects)} 0 R {trailer} >>\n".encode()
    file += f"startxref\n{start}\n%%EOF\n".encode()
    return bytes(file)


def _drawn(line: str | Typeset) -> bytes:
    text, points, bold = (line, 12, False) if isinstance(line, str) else line
    return f"/{'B' if bold else 'F'} {points} Tf (".encode() + _literal(text) + b") Tj T*\n"


def _literal(text: str) -> bytes:
    return text.encode("cp1251").replace(b"\\", b"\\\\").replace(b"(", b"\\(").replace(b")", b"\\)")


def _stream(content: bytes) -> bytes:
    return f"<< /Length {len(content)} >>\nstream\n".encode() + content + b"\nendstream"
