"""The chat page and MCP at a server with several workers, where any of them may take a connection.

New: behind a proxy (`test_proxy.py`), the proxy keeps a browser with its server; here the workers do.
"""

from __future__ import annotations

from pathlib import Path

import httpx
from playwright.sync_api import Browser, expect

from tests.support.cli_helpers import QUESTION, Desk
from tests.support.served_desk import Serving, serve

BROWSERS = ["browser 3", "browser 4"]
"""One for each worker, by a hash that is always the same: the metrics say whether it is so."""


def test_every_browser_and_every_session_keeps_its_worker(desk: Desk, tmp_path: Path, browser: Browser) -> None:
    """A page is drawn, answers with its progress, and can be loaded again; a session of MCP goes on over new connections."""
    with serve(desk.copied(tmp_path / "data"), "--workers", "2", bare=False) as served:
        for name in BROWSERS:
            list_tools_over_many_connections(served, name)
        for name in BROWSERS:
            context = browser.new_context(user_agent=name)
            page = context.new_page()
            page.goto(served.address)
            page.locator("#g-box textarea").fill(QUESTION)
            page.keyboard.press("Enter")
            expect(page.locator("article.turn .tools")).to_have_count(1)
            page.reload()
            expect(page.locator("#g-box textarea")).to_be_visible()
            context.close()
        with served.client() as client:
            metrics = client.get("/metrics").text
        for worker in (1, 2):
            assert f'route="/mcp",status="200",worker="{worker}"' in metrics
        served.signal()
        assert served.ended()[0] == 0


def list_tools_over_many_connections(served: Serving, name: str) -> None:
    """Begin a session of MCP, and ask for its tools from connections that either worker may take."""
    headers = {"Accept": "application/json, text/event-stream", "User-Agent": name}
    begin = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": name, "version": "1"}},
    }
    with served.client(**headers) as client:
        session = client.post("/mcp", json=begin).headers["mcp-session-id"]
    headers["Mcp-Session-Id"] = session
    for number in range(2, 8):
        with served.client(**headers) as client:
            answer = client.post("/mcp", json={"jsonrpc": "2.0", "id": number, "method": "tools/list"})
            assert (answer.status_code, "ask" in answer.text) == (httpx.codes.OK, True), answer.text
