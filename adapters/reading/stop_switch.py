"""A switch that ends the reading of files from another thread."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path


class ReadingStopped(Exception):  # it is no fault of the file
    """Reading was ended before a file was read; nothing is known of the file."""


class StopSwitch:
    """A switch that ends the reading of files: at once in another process, and before the next file in this one."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pressed = False
        self._processes: list[subprocess.Popen[bytes]] = []

    @property
    def pressed(self) -> bool:
        """Whether reading is to end."""
        return self._pressed

    def press(self) -> None:
        """End reading; for any thread, and without waiting."""
        with self._lock:
            self._pressed = True
            for process in self._processes:
                process.kill()

    def end(self) -> None:
        """End reading, and wait until the processes are gone: for a process that is about to end itself."""
        self.press()
        with self._lock:
            killed = list(self._processes)
        for process in killed:
            process.wait()

    def check(self) -> None:
        """Go on with the next file.

        Raises:
            ReadingStopped: Reading is to end.
        """
        if self._pressed:
            raise ReadingStopped

    def add(self, process: subprocess.Popen[bytes]) -> None:
        """Let the switch end a process that reads."""
        with self._lock:
            self._processes.append(process)
            if self._pressed:
                process.kill()

    def remove(self, process: subprocess.Popen[bytes]) -> None:
        """Forget a process, which is about to be waited for: its number may be another's then."""
        with self._lock:
            self._processes.remove(process)


def start_module(name: str, *arguments: str, stop: StopSwitch) -> subprocess.Popen[bytes]:
    """Start a module of ours as a process that reads for this one, over its standard input and output.

    Raises:
        OSError: It cannot be started.
    """
    # The same modules as here, and none from the folder that the program happens to run in.
    path = os.pathsep.join(entry or str(Path.cwd()) for entry in sys.path)
    process = subprocess.Popen(  # noqa: S603 - our own module
        [sys.executable, "-P", "-m", name, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": path},
    )
    stop.add(process)
    return process
