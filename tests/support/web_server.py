"""A server on a port of this machine, as people run it, and who asks it."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import uvicorn

from assistant.deployment import Deployment
from assistant.service import Service
from assistant.web.app import ServerOptions, create_app
from assistant.wiring.access import keys_of
from tests.support.cli_helpers import Desk
from tests.support.tls import TRUSTS_NOBODY

ROLES = {"anna": "user", "boris": "user", "olga": "operator"}
"""Who has a key of the shared server, and in which role."""


@dataclass(frozen=True)
class Running:
    """A server that runs in a thread of this process.

    Attributes:
        port: On 127.0.0.1.
        deployed: What it serves.
        app: The application; its state has the service.
        keys: By the names of those who have one; empty where it asks for none.
    """

    port: int
    deployed: Deployment
    app: Any
    keys: dict[str, str] = field(default_factory=dict[str, str])

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def service(self) -> Service:
        """What the server asks; for looking at, from another thread than its own."""
        return self.app.state.service

    def headers(self, name: str = "anna") -> dict[str, str]:
        """Return what a caller's requests carry."""
        return {"Authorization": f"Bearer {self.keys[name]}"} if self.keys else {}

    def client(self, name: str = "anna") -> httpx.Client:
        """Return a caller's client; it must be closed."""
        return httpx.Client(
            base_url=self.url, headers=self.headers(name), timeout=30, trust_env=False, verify=TRUSTS_NOBODY
        )

    def ask(self, method: str, path: str, body: object = None, *, name: str = "anna", **more: str) -> httpx.Response:
        """Send one request on a connection of its own; `more` are headers, `_` for `-`."""
        headers = {key.replace("_", "-"): value for key, value in more.items()}
        with self.client(name) as client:
            return client.request(method, path, json=body, headers=headers)


@contextmanager
def serve_deployment(
    deployed: Deployment, options: ServerOptions | None = None, keys: dict[str, str] | None = None
) -> Generator[Running]:
    """Serve a deployment in a thread of this process.

    Args:
        deployed: What is served.
        options: Of the application.
        keys: Roles by the names of those who get a key; without any, none is asked for.
    """
    made = {name: keys_of(deployed).add(name, role, 1_000_000) for name, role in (keys or {}).items()}
    app = create_app(deployed, options)
    config = uvicorn.Config(app, port=0, log_config=None, ws="none", proxy_headers=False, timeout_graceful_shutdown=5)
    server = uvicorn.Server(config)
    failed: list[BaseException] = []

    def run() -> None:
        try:
            asyncio.run(server.serve())
        except BaseException as error:  # noqa: BLE001  # it is told by the thread that waits
            failed.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        while not server.started and thread.is_alive():
            thread.join(0.01)
        assert server.started, failed
        port = server.servers[0].sockets[0].getsockname()[1]
        yield Running(port, deployed, app, made)
    finally:
        server.should_exit = True
        thread.join(15)
        assert not thread.is_alive()
    assert not failed, failed


def read_events(text: str) -> list[tuple[str, Any]]:
    """Return the events of a stream: their names and data; comments are none."""
    found: list[tuple[str, Any]] = []
    for block in text.split("\n\n"):
        fields = [line.partition(": ") for line in block.splitlines() if not line.startswith(":")]
        lines = {name: value for name, _, value in fields}
        if "data" in lines:
            data = lines["data"]
            found.append((lines.get("event", ""), data if data == "[DONE]" else json.loads(data)))
    return found


def sub_desk(desk: Desk, place: Path, **more: str) -> Desk:
    """Return a desk over a copy of another's data, with more in its environment."""
    return desk.copied(place / "data").having(**more)
