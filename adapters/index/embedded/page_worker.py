"""The process that reads pages for another one: `python -m adapters.index.embedded.page_worker`.

Tasks come pickled on standard input. Pages, or a fault of ours as text, go pickled to standard output, until the other side
closes.
"""

from __future__ import annotations

import pickle
import traceback
from contextlib import suppress

from adapters.index.embedded.page_reader import BEGINS, Page, PageTask, read_page
from adapters.reading.pipes import claim_pipes
from adapters.reading.texts import TextReader


def main() -> None:
    """Answer tasks until the other side closes."""
    tasks, pages = claim_pipes()
    with TextReader() as texts, suppress(EOFError, BrokenPipeError):
        pages.write(BEGINS)
        while True:
            pickle.dump(_answer(pickle.load(tasks), texts), pages)  # noqa: S301 - from the process that started this one
            pages.flush()


def _answer(task: PageTask, texts: TextReader) -> Page | str:
    """Return a page, or what went wrong with us."""
    try:
        return read_page(task, texts)
    except Exception:  # noqa: BLE001 - whatever it is, the other process raises it
        return traceback.format_exc()


if __name__ == "__main__":
    main()
