"""What the suite itself promises: see conftest.py."""

from __future__ import annotations

import asyncio
import os
import socket
import threading
from pathlib import Path

import pytest


@pytest.mark.parametrize("address", [("192.0.2.1", 9), ("198.51.100.7", 443)])
def test_no_test_can_leave_this_machine(address: tuple[str, int]) -> None:
    """A connection to any other machine is refused before a packet is sent."""
    with socket.socket() as other, pytest.raises(RuntimeError, match="the suite stays on this machine"):
        other.connect(address)


async def test_no_test_can_leave_this_machine_from_a_loop() -> None:
    """The same holds for asyncio, and for asking who a name belongs to."""
    with pytest.raises(RuntimeError, match="the suite stays on this machine"):
        await asyncio.open_connection("192.0.2.1", 9)
    with pytest.raises(RuntimeError, match=r"tried to reach example\.org"):
        await asyncio.get_running_loop().getaddrinfo("example.org", 443)


def test_a_server_on_this_machine_can_be_reached() -> None:
    """Real sockets on the loopback address are what the tests of the adapters use."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        accepted: list[bytes] = []

        def serve() -> None:
            connection, _ = server.accept()
            with connection:
                accepted.append(connection.recv(5))

        worker = threading.Thread(target=serve)
        worker.start()
        with socket.create_connection(("localhost", server.getsockname()[1])) as client:
            client.sendall(b"hello")
        worker.join(5)
    assert accepted == [b"hello"]


def test_every_test_has_a_data_directory_of_its_own(data_dir: Path) -> None:
    """No test reads or writes what whoever runs the suite has indexed or said."""
    assert os.environ["GUARDIAN_DATA_DIR"] == str(data_dir)
    assert list(data_dir.iterdir()) == []
    assert not [name for name in os.environ if name.startswith(("GUARD_", "OPENAI_"))]
