"""The archive that a Word, Excel or PowerPoint file is, looked over before anything in it is unpacked."""

from __future__ import annotations

import re
from io import BytesIO
from zipfile import BadZipFile, ZipFile
from zlib import error as ZlibError  # noqa: N812 - it is an exception, and named like one

from adapters.reading.document import Unfit

MAX_PART = 20_000_000
"""Bytes of one unpacked part; the text of 5,000 pages."""
MAX_PARTS = 5_000
MAX_UNPACKED = 200_000_000
"""Bytes of all unpacked parts, pictures and the like left out."""
OLE = b"\xd0\xcf\x11\xe0"
"""How a file of the formats before 2007 begins, and one with a password."""
DAMAGE = (BadZipFile, ZlibError, EOFError, KeyError, NotImplementedError, RuntimeError)
"""What a damaged archive raises."""
PARTS = (".xml", ".rels")
"""How the names of the parts end that hold text or say where it is."""

_CORE = re.compile(rb"<(dc:title|dcterms:modified)\b[^>]{0,200}>([^<]{0,1000})</")


def read_properties(content: bytes) -> dict[str, str]:
    """See that an archive is as small as a document is, by what it says itself; return the document's properties.

    Returns:
        `dc:title` and `dcterms:modified`, as far as the document has them.

    Raises:
        Unfit: It is too large, or encrypted.
        DAMAGE: It is no such archive, or a damaged one.
    """
    import html

    with ZipFile(BytesIO(content)) as archive:
        parts = archive.infolist()
        sizes = [part.file_size for part in parts if part.filename.casefold().endswith(PARTS)]
        if len(parts) > MAX_PARTS or max(sizes, default=0) > MAX_PART or sum(sizes) > MAX_UNPACKED:
            raise Unfit("is larger inside than a document is: split it, or save it again")
        names = {part.filename for part in parts}
        if "[Content_Types].xml" not in names:
            raise KeyError("[Content_Types].xml")
        if any(part.flag_bits & 1 for part in parts):
            raise Unfit("is encrypted: save it without a password")
        core = archive.read("docProps/core.xml") if "docProps/core.xml" in names else b""
    return {name.decode(): html.unescape(value.decode("utf-8", "replace")) for name, value in _CORE.findall(core)}


def without_media(content: bytes) -> BytesIO:
    """Return an archive whose pictures, films and the like are empty, so that they are never unpacked."""
    slim = BytesIO()
    with ZipFile(BytesIO(content)) as archive, ZipFile(slim, "w") as copy:
        for name in dict.fromkeys(archive.namelist()):
            copy.writestr(name, archive.read(name) if name.casefold().endswith(PARTS) else b"")
    slim.seek(0)
    return slim
