"""HTML, Word, Excel, PowerPoint and PDF files as Markdown, so that they are cut, indexed and cited like Markdown files.

    html.read, docx.read, xlsx.read, pptx.read, pdf.read     the bytes of a file -> Document
    Converter                                                the same in a separate process, because hostile files may crash it

The libraries are the optional extra `formats`; each is imported when the first file of its format is met.
"""

from __future__ import annotations
