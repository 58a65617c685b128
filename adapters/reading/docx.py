"""Word files as Markdown: mammoth finds headings, lists, tables and code by style; the HTML reader does the rest."""

from __future__ import annotations

from io import BytesIO

from adapters.reading import html
from adapters.reading.archive import DAMAGE, OLE, read_properties
from adapters.reading.document import Document, Unfit, document

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


def read(content: bytes) -> Document:
    """Return a `.docx` file as Markdown; of pictures their descriptions stay, and headers and footers are dropped.

    Raises:
        Unfit: It is not a Word file, is encrypted or damaged, or is too large once unpacked.
    """
    if content.startswith(OLE):
        raise Unfit("is encrypted or of the old format .doc: save it as .docx without a password")
    try:
        core = read_properties(content)
        markup = _markup(content)
    except DAMAGE as error:
        raise Unfit("is no Word file, or a damaged one: open it in Word and save it again as .docx") from error
    found = html.read_text(markup)
    # The text's own heading before the property, which is often that of the file it was copied from.
    return document(found.text, title=found.title or core.get("dc:title", ""), updated=core.get("dcterms:modified", ""))


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
