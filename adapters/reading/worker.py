"""The process that reads files of other formats than Markdown for another one: `python -m adapters.reading.worker`.

Each request is a line with the file's extension and length, then the file's bytes. Each reply is a line, `REPLY`
and JSON: the document, or why it is unfit. A file that takes too long ends the process; the other side handles that.
"""

from __future__ import annotations

import faulthandler
import json
import os
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict
from importlib import import_module
from queue import SimpleQueue
from typing import IO

from adapters.reading.document import MEMORY, REPLY, SECONDS, Document, Unfit
from adapters.reading.pipes import claim_pipes

_MODULES = {".html": "html", ".htm": "html", ".docx": "docx", ".xlsx": "xlsx", ".pptx": "pptx", ".pdf": "pdf"}


def main() -> None:
    """Answer requests until the other side closes."""
    requests, replies = claim_pipes()
    _limit_memory()
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else SECONDS
    files: SimpleQueue[tuple[str, bytes]] = SimpleQueue()
    threading.Thread(target=_receive, args=(requests, files), daemon=True).start()
    with open(os.devnull, "w") as nowhere:  # noqa: PTH123 - a descriptor for the handler, which wants no Path
        while True:
            ending, content = files.get()
            # Its watch is a thread of C: it ends the process whatever the process is doing.
            faulthandler.dump_traceback_later(seconds, exit=True, file=nowhere)
            reply = _reply(ending, content)
            faulthandler.cancel_dump_traceback_later()
            # What the start of the interpreter printed may have no end of its line.
            replies.write(b"\n" + REPLY + json.dumps(reply).encode() + b"\n")
            replies.flush()


def _receive(requests: IO[bytes], files: SimpleQueue[tuple[str, bytes]]) -> None:
    try:
        while header := requests.readline().split():
            files.put((header[0].decode(), requests.read(int(header[1]))))
    finally:
        # Who asked is gone, maybe killed, and what is being read is for nobody; or there is no memory for the file.
        os._exit(0)


def _limit_memory() -> None:
    with suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def _reply(ending: str, content: bytes) -> dict[str, str]:
    try:
        return asdict(reader(ending)(content))
    except Unfit as error:
        return {"unfit": str(error)}
    except MemoryError:
        return {"unfit": "needs too much memory to be read: split it, or save it as Markdown"}
    except Exception as error:  # noqa: BLE001 - a hostile file may make a library raise anything, and costs only itself
        return {"unfit": f"cannot be read ({type(error).__name__}): save it again, or as Markdown"}


def reader(ending: str) -> Callable[[bytes], Document]:
    """Return the reader for a file extension."""
    return import_module(f"adapters.reading.{_MODULES[ending]}").read


if __name__ == "__main__":
    main()
