"""The process that reads pages for another one: `python -m adapters.index.embedded.page_worker`.

Tasks come pickled on standard input. Pages, or a fault of ours as text, go pickled to standard output, until the other side
closes: this process ends then, whatever it is reading.
"""

from __future__ import annotations

import os
import pickle
import threading
import traceback
from queue import SimpleQueue
from typing import IO

from adapters.index.embedded.page_reader import BEGINS, Page, PageTask, read_page
from adapters.reading.pipes import claim_pipes
from adapters.reading.stop_switch import StopSwitch
from adapters.reading.texts import TextReader


def main() -> None:
    """Answer tasks until the other side closes."""
    requests, pages = claim_pipes()
    stop = StopSwitch()
    # They are taken while a page is read or written, too: neither side ever waits for the other to make room in a pipe.
    tasks: SimpleQueue[PageTask] = SimpleQueue()
    threading.Thread(target=_receive, args=(requests, tasks, stop), daemon=True).start()
    try:
        with TextReader(stop) as texts:
            pages.write(BEGINS)
            pages.flush()
            while True:
                pickle.dump(_answer(tasks.get(), texts), pages)
                pages.flush()
    finally:
        # The interpreter's own end would break off at the thread, which still waits for tasks.
        os._exit(1)


def _receive(requests: IO[bytes], tasks: SimpleQueue[PageTask], stop: StopSwitch) -> None:
    try:
        while True:
            tasks.put(pickle.load(requests))  # noqa: S301 - from the process that started this one
    finally:
        # Who asked is gone, maybe killed, and what is being read is for nobody. Nobody else would wait for a converter.
        stop.end()
        os._exit(0)


def _answer(task: PageTask, texts: TextReader) -> Page | str:
    """Return a page, or what went wrong with us."""
    try:
        return read_page(task, texts)
    except MemoryError:
        # As if the system had ended this process for it: the other one has the same way out for both.
        raise
    except Exception:  # noqa: BLE001 - whatever it is, the other process raises it
        return traceback.format_exc()


if __name__ == "__main__":
    main()
