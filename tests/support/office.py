"""Word and PDF files made by hand, byte by byte, for the tests of reading them."""

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
    core = (
        '<cp:coreProperties xmlns:cp="urn:cp" xmlns:dc="urn:dc" xmlns:dcterms="urn:dcterms">'
        f"<dc:title>{escape(title)}</dc:title><dcterms:modified>2025-01-02T03:04:05Z</dcterms:modified></cp:coreProperties>"
    )
    whole = {
        "[Content_Types].xml": _TYPES,
        "_rels/.rels": _LINKS,
        "word/styles.xml": f"<w:styles {_WORD}>{styles}</w:styles>",
        "word/numbering.xml": f"<w:numbering {_WORD}>{numbering}</w:numbering>",
        "word/document.xml": f"<w:document {_WORD}><w:body>{body}</w:body></w:document>",
        "docProps/core.xml": core,
        **(parts or {}),
    }
    file = BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in whole.items():
            archive.writestr(name, content)
    return file.getvalue()


def pdf(
    pages: Sequence[Sequence[str]],
    *,
    title: str = "",
    chapters: Sequence[tuple[str, int]] = (),
    trailer: str = "",
) -> bytes:
    """Return a PDF file: lines per page, bookmarks as title and page from 0, and what else its trailer has.

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
        drawn = b"".join(b"(" + _literal(line) + b") Tj T*\n" for line in lines)
        objects += [
            f"<< /Type /Page /Parent 2 0 R /Contents {first_page + 2 * number + 1} 0 R /MediaBox [0 0 600 800] "
            "/Resources << /Font << /F 3 0 R >> >> >>".encode(),
            _stream(b"BT /F 12 Tf 14 TL 50 750 Td\n" + drawn + b"ET"),
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


def _literal(text: str) -> bytes:
    return text.encode("cp1251").replace(b"\\", b"\\\\").replace(b"(", b"\\(").replace(b")", b"\\)")


def _stream(content: bytes) -> bytes:
    return f"<< /Length {len(content)} >>\nstream\n".encode() + content + b"\nendstream"
