"""Reading of files of other formats in a separate process, so that no file can block or crash a run."""

from __future__ import annotations

import json
import subprocess
from contextlib import suppress
from importlib.util import find_spec
from typing import Self

from adapters.reading.document import LIBRARIES, REPLY, SECONDS, Document, Unfit
from adapters.reading.stop_switch import StopSwitch, start_module


class Converter:
    """A process that converts files to Markdown; started for the first file, and again if a file ended it.

    Args:
        seconds: How long one file may take.
        stop: Ends reading from another thread.
    """

    def __init__(self, seconds: float = SECONDS, stop: StopSwitch | None = None) -> None:
        self._seconds = seconds
        self._stop = stop or StopSwitch()
        self._process: subprocess.Popen[bytes] | None = None

    def read(self, ending: str, content: bytes) -> Document:
        """Return a file as Markdown.

        Args:
            ending: One of `LIBRARIES`.
            content: The file.

        Raises:
            Unfit: It cannot be read, or its reader is not installed.
            ReadingStopped: Somebody ended reading.
        """
        if find_spec(LIBRARIES[ending]) is None:
            raise Unfit(
                "needs the extra `formats` to be read: install that extra and index again, or save it as Markdown"
            )
        process = self._start()
        assert process.stdin is not None  # noqa: S101 - both are pipes
        assert process.stdout is not None  # noqa: S101
        reply = b""
        with suppress(OSError):
            process.stdin.write(f"{ending} {len(content)}\n".encode())
            process.stdin.write(content)
            process.stdin.flush()
            reply = next((line for line in iter(process.stdout.readline, b"") if line.startswith(REPLY)), b"")
        if not reply.endswith(b"\n"):
            self.close()
            self._stop.check()
            raise Unfit(
                f"takes more than {self._seconds:g} s to be read, or stops its reader: split it, or save it as Markdown"
            )
        said: dict[str, str] = json.loads(reply.removeprefix(REPLY))
        if "unfit" in said:
            raise Unfit(said["unfit"])
        return Document(**said)

    def _start(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            self._process = start_module("adapters.reading.worker", str(self._seconds), stop=self._stop)
        return self._process

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._stop.remove(self._process)
            self._process.kill()
            # What was still to be written to it is lost on purpose.
            with suppress(OSError):
                self._process.communicate()
            self._process = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
