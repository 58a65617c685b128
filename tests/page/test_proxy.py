"""Two servers behind the proxies that are shipped, nginx and Caddy, with their conversations in PostgreSQL.

New: no other test has a proxy in it, and the handbook's lines were not run.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
from collections.abc import Generator, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Browser, Page, expect

from assistant.web.limits import WRONG_KEYS
from tests.support.cli_helpers import QUESTION, Desk
from tests.support.served_desk import Serving, serve
from tests.support.sockets import free_port
from tests.support.tls import TRUSTS_NOBODY
from tests.support.wire.server_process import FakeServer, fake_server

PACKAGING = Path(__file__).resolve().parents[2] / "packaging"
PROXIES = ["nginx", "caddy"]
BAD_GATEWAY = 502
ADDRESSES = [f"203.0.113.{number}" for number in range(WRONG_KEYS + 1)]


@dataclass(frozen=True)
class Site:
    """Two servers behind a proxy.

    Attributes:
        url: Of the proxy.
        servers: In the order of the proxy's file.
        model: The language model of both.
        key: Of an API key that both know.
    """

    url: str
    servers: tuple[Serving, Serving]
    model: FakeServer
    key: str

    def client(self, key: str = "") -> httpx.Client:
        headers = {"Authorization": f"Bearer {key or self.key}"}
        return httpx.Client(base_url=self.url, timeout=60, trust_env=False, verify=TRUSTS_NOBODY, headers=headers)


def ask(client: httpx.Client, turn: str) -> str:
    """Ask in the one conversation of a test, and return the answer.

    A proxy that still holds a connection to a dead server may say so once: the message is sent again, under its own id.
    """
    body = {"question": QUESTION, "thread_id": "t", "turn_id": turn}
    answer = client.post("/v1/ask", json=body)
    if answer.status_code == BAD_GATEWAY:
        answer = client.post("/v1/ask", json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()["answer"]


@contextmanager
def proxy(name: str, servers: tuple[Serving, Serving], folder: Path) -> Generator[str]:
    """Run a proxy with the file that is shipped, as it is but for the addresses; return where it listens."""
    program = shutil.which(name)
    if program is None:
        assert not os.environ.get("CI"), f"there is no {name}: install it"
        pytest.skip(f"there is no {name} (a package of Debian's)")
    port = free_port()
    text = (PACKAGING / {"nginx": "nginx.conf", "caddy": "Caddyfile"}[name]).read_text("utf-8")
    text = text.replace("/tmp/nginx", f"{folder}/nginx")  # noqa: S108  # what stands in the file
    for number, server in enumerate(servers, start=1):
        text = text.replace(f"guardian-{number}:8000", server.address.removeprefix("http://"))
    text = text.replace("listen 8000", f"listen 127.0.0.1:{port}").replace(":8000 {", f"http://127.0.0.1:{port} {{")
    written = folder / "proxy"
    written.write_text(text, "utf-8")
    command = {
        "nginx": [program, "-e", "stderr", "-c", str(written), "-g", "daemon off; user root;"],
        "caddy": [program, "run", "--config", str(written), "--adapter", "caddyfile"],
    }[name]
    with (folder / "said").open("w") as said, subprocess.Popen(command, stdout=said, stderr=said) as running:
        try:
            wait_until_it_listens(port, running, folder / "said")
            yield f"http://127.0.0.1:{port}"
        finally:
            running.terminate()
            running.wait(20)
            print((folder / "said").read_text("utf-8"))  # noqa: T201  # pytest shows it where a test fails


def wait_until_it_listens(port: int, running: subprocess.Popen[bytes], said: Path) -> None:
    while running.poll() is None:
        with socket.socket() as tried:
            if tried.connect_ex(("127.0.0.1", port)) == 0:
                return
    raise AssertionError(said.read_text("utf-8"))


@pytest.fixture(scope="module")
def model() -> Iterator[FakeServer]:
    with fake_server() as server:
        yield server


@pytest.fixture(params=PROXIES)
def site(
    request: pytest.FixtureRequest, desk: Desk, tmp_path: Path, database_url: str, model: FakeServer
) -> Iterator[Site]:
    """Return two servers, each with a data folder of its own, behind a proxy."""
    model.reset()
    one, other = (
        desk.copied(tmp_path / name).having(
            GUARDIAN_DATABASE=database_url,
            GUARDIAN_PROXIES="127.0.0.1",
            GUARDIAN_TRUSTED_PROXIES="127.0.0.1",
            GUARDIAN_MODEL="fake-model",
            OPENAI_BASE_URL=model.url,
            OPENAI_API_KEY="none",
        )
        for name in ("a", "b")
    )
    key = one.here("keys", "add", "anna").out.splitlines()[0]
    with serve(one, bare=False) as first, serve(other, bare=False) as second:
        servers = (first, second)
        with proxy(request.param, servers, tmp_path) as url:
            yield Site(url, servers, model, key)


def send_until_answered(page: Page, *, turns: int) -> None:
    """Send a message, and again on a new page if this one says that it was not taken: its server may have died just now."""
    answered, sorry = (
        page.locator("article.turn .tools").nth(turns - 1),
        page.locator(".notice").locator("visible=true"),
    )
    for _ in range(3):
        page.locator("#g-box textarea").fill(QUESTION)
        page.keyboard.press("Enter")
        expect(answered.or_(sorry).first).to_be_visible()
        if answered.count():
            return
        page.reload()
    raise AssertionError(page.locator("body").inner_text())


def test_the_servers_behind_a_proxy_are_one_to_their_callers(site: Site, browser: Browser) -> None:
    """Events come while a turn runs; whose key is wrong cannot lend an address; when a server dies, all goes on."""
    with site.client() as client:
        body = {"question": QUESTION, "thread_id": "t", "turn_id": "1", "stream": True}
        with ExitStack() as stream:
            with site.model.held():
                lines = stream.enter_context(client.stream("POST", "/v1/ask", json=body)).iter_lines()
                assert any("sgr_plan" in line for line in lines)
            assert "event: answer" in list(lines)
        first = ask(client, "1")
    context = browser.new_context(http_credentials={"username": "anna", "password": site.key})
    page = context.new_page()
    page.goto(site.url)
    send_until_answered(page, turns=1)
    site.servers[0].signal(signal.SIGKILL)
    site.servers[0].process.wait(20)
    send_until_answered(page, turns=2)
    context.close()
    with site.client() as client:
        assert ask(client, "1") == first
        assert ask(client, "2")
        assert len(client.get("/v1/threads/t").json()["turns"]) == 2
    with site.client("wrong") as stranger:
        told = [stranger.get("/v1/models", headers={"X-Forwarded-For": address}).status_code for address in ADDRESSES]
    assert (told[0], told[-1]) == (401, 429)
