"""Word files as Markdown: mammoth finds headings, lists, tables and code by style; the HTML reader does the rest."""

from __future__ import annotations

import re
from io import BytesIO
from zipfile import BadZipFile, ZipFile
from zlib import error as ZlibError  # noqa: N812 - it is an exception, and named like one

from adapters.reading import html
from adapters.reading.document import Document, Unfit, document

MAX_PART = 20_000_000
"""Bytes of one unpacked part; the text of 5,000 pages."""
MAX_PARTS = 5_000
_OLE = b"\xd0\xcf\x11\xe0"
_CODE_STYLES = ("Code", "Source Code", "SourceCode", "HTML Preformatted", "Preformatted Text", "Код", "Листинг")
_CODE_WORDS = ("Code Char", "HTML Code", "Verbatim Char", "Source Text", "HTML Keyboard", "Inline Code")
_STYLES = "\n".join(
    [
        "p[style-name='Title'] => h1:fresh",
        "p[style-name='Название'] => h1:fresh",
        *(f"p[style-name='Заголовок {level}'] => h{level}:fresh" for level in range(1, 7)),
        *(f"p[style-name='{name}'] => pre:separator('\\n')" for name in _CODE_STYLES),
        *(f"r[style-name='{name}'] => code" for name in _CODE_WORDS),
        "p[style-name^='toc'] => !",
        "p[style-name^='TOC'] => !",
    ]
)
_CORE = re.compile(rb"<(dc:title|dcterms:modified)\b[^>]{0,200}>([^<]{0,1000})</")


def read(content: bytes) -> Document:
    """Return a `.docx` file as Markdown; of pictures their descriptions stay, and headers and footers are dropped.

    Raises:
        Unfit: It is not a Word file, is encrypted or damaged, or is too large once unpacked.
    """
    if content.startswith(_OLE):
        raise Unfit("is encrypted or of the old format .doc: save it as .docx without a password")
    try:
        core = _check_archive(content)
        markup = _markup(content)
    except (BadZipFile, ZlibError, EOFError, KeyError, NotImplementedError, RuntimeError) as error:
        raise Unfit("is no Word file, or a damaged one: open it in Word and save it again as .docx") from error
    found = html.read_text(markup)
    # The text's own heading before the property, which is often that of the file it was copied from.
    return document(found.text, title=found.title or core.get("dc:title", ""), updated=core.get("dcterms:modified", ""))


def _check_archive(content: bytes) -> dict[str, str]:
    """See that the archive is as large as it says, before anything is unpacked; return the document's properties."""
    import html as entities

    with ZipFile(BytesIO(content)) as archive:
        parts = archive.infolist()
        if len(parts) > MAX_PARTS or any(
            part.file_size > MAX_PART for part in parts if part.filename.endswith((".xml", ".rels"))
        ):
            raise Unfit("is larger inside than a document is: split it, or save it again")
        if not any(part.filename == "[Content_Types].xml" for part in parts):
            raise KeyError("[Content_Types].xml")
        if any(part.flag_bits & 1 for part in parts):
            raise Unfit("is encrypted: save it without a password")
        names = {part.filename for part in parts}
        core = archive.read("docProps/core.xml") if "docProps/core.xml" in names else b""
    found = _CORE.findall(core)
    return {name.decode(): entities.unescape(value.decode("utf-8", "replace")) for name, value in found}


def _markup(content: bytes) -> str:
    from xml.parsers.expat import ExpatError

    import mammoth

    try:
        result = mammoth.convert_to_html(
            BytesIO(content),
            style_map=_STYLES,
            # A document's own map could hide its text.
            include_embedded_style_map=False,
            convert_image=mammoth.images.img_element(_no_picture),
        )
    except ExpatError as error:
        raise KeyError("document.xml") from error
    return result.value


def _no_picture(_: object) -> dict[str, str]:
    """Return the attributes of a picture beside its description: none, so that it is not even opened."""
    return {}
