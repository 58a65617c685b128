"""The pages that a case names, looked up in the index: a page that is not there would make a case that nothing can pass."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Final

from assistant.review.expectation import Page, names_page
from assistant.review.faults import ReviewFault
from contracts.enums import Source

if TYPE_CHECKING:
    from adapters.index.store_reader import IndexReader

_ROWS: Final = 5000
"""Documents that are read at once."""
_NEAREST: Final = 3
_LIKE: Final = 0.75
"""How much of a path is the same at least, 0 to 1."""


def check_pages(folder: Path, pages: Sequence[Page]) -> None:
    """Check that an index holds all pages; an index that was filled from elsewhere lists none, and is not asked.

    Args:
        folder: The folder of the index.
        pages: As a label names them.

    Raises:
        ReviewFault: A page is not there; the error names those that are called nearly so.
        KnowledgeError: The index cannot be read.
    """
    from adapters.index.records import our_errors
    from adapters.index.store import NAME
    from adapters.index.store_reader import IndexReader

    if not pages or not (folder / NAME).is_file():
        return
    with our_errors("read", folder), closing(IndexReader(folder)) as reader:
        keys = _list_keys(reader)
        for page in pages if keys else ():
            if isinstance(page, int):
                if not reader.article_passages(str(page), page):
                    raise ReviewFault("no_page", page=page)
            elif not any(names_page(key, page) for key in keys):
                _refuse(page, keys)


def _list_keys(reader: IndexReader) -> list[str]:
    keys: list[str] = []
    after = 0
    while rows := reader.documents([str(kind) for kind in Source], after, _ROWS):
        keys += [row.key for row in rows]
        after = rows[-1].id
    return keys


def _refuse(page: str, keys: Sequence[str]) -> None:
    # A label may name the end of a path, and so ends of as many names are compared.
    names = page.strip("/").count("/") + 1
    ends = {"/".join(key.split("/")[-names:]).casefold(): key for key in reversed(keys)}
    same = [key for key in keys if key.rpartition("/")[2].casefold() == page.rpartition("/")[2].casefold()]
    near = same[:_NEAREST] or [
        ends[end] for end in difflib.get_close_matches(page.casefold(), ends, n=_NEAREST, cutoff=_LIKE)
    ]
    if not near:
        raise ReviewFault("no_page", page=page)
    raise ReviewFault("no_page_so", page=page, near=", ".join(near))
