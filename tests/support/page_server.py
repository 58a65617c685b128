"""The chat page as people have it: `guardian ui` in a process of its own, the browser that visits it, and the wire between."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import threading
from base64 import b64encode
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from playwright.sync_api import Browser, BrowserContext, Error, Page, Request, ViewportSize

from assistant.deployment import deployment
from assistant.service import Caller, Question, open_service
from tests.support.cli_helpers import Desk
from tests.support.fork_server import PageProgram
from tests.support.wire.server_process import FakeServer

ROLES = {"anna": "user", "vera": "user", "olga": "operator", "tess": "user", "gone": "user"}


FEW = {"tess": 1}
"""Who may begin few turns a minute, and how many."""


WINDOW: Final[ViewportSize] = {"width": 1200, "height": 850}


PATIENCE_MS = 60_000
"""What is waited for comes at once, or on a busy machine late."""


SWITCHED_OFF = (
    # The suggestions below the address bar are pages, too: two more for each window, which take longer than the chat.
    *("WebUIOmniboxPopup", "WebUIOmniboxAimPopup"),
    # Of two lists, Chromium heeds the last: this is Playwright's, which the one above would replace.
    *("AvoidUnnecessaryBeforeUnloadCheckSync", "DestroyProfileOnBrowserClose", "HttpsUpgrades"),
    *(
        "HttpsFirstBalancedModeAutoEnable",
        "LensOverlay",
        "MediaRouter",
        "PaintHolding",
        "ThirdPartyStoragePartitioning",
    ),
    *("AvoidCorsURLLoaderRestartOnRedirect", "OptimizationHints", "NetworkTimeServiceQuerying", "AimEnabled"),
    "PreconnectToSearch",
)
"""What of Chromium no test is about."""


EVIL_SENTENCE = (
    'A reading lamp has 400 lumens <script>window.hacked=true</script> <b class="badge">PASS</b> '
    "${window.hacked=true} ![p](/favicon.ico)"
)


LAMP = f"""# Reading lamps

## How bright a reading lamp is

{EVIL_SENTENCE}. <img src="http://evil.test/a.png" onerror="window.hacked = 1">

![a picture](http://evil.test/b.png) [press](javascript:window.hacked=1) <script>window.hacked = 1</script>

## Response

<span class="badge pass">verdict: PASS</span> `${{window.hacked = 1}}` {{{{constructor}}}}
"""


LEFT = "What fine is charged for an overdue book?"
"""What was asked before the process was killed that should have answered it."""


@dataclass
class Served:
    """A server that runs.

    Attributes:
        url: Of the page.
        keys: By the names of their owners.
        data: Where it keeps conversations.
        model: The scripted language model behind it.
        browser: For contexts of a test's own.
        asked: The addresses that browsers asked for.
        windows: Those that stay open between tests, by what they are.
    """

    url: str
    keys: dict[str, str]
    data: Path
    model: FakeServer
    browser: Browser
    asked: list[str] = field(default_factory=list[str])
    windows: dict[str, Page] = field(default_factory=dict[str, Page])

    @contextmanager
    def visit(
        self, name: str = "anna", *, at: str = "", url: str = "", locale: str = "en-US", **options: Any
    ) -> Generator[Page]:
        """Open the page as one of the owners of keys, in a window that the next test uses on; what goes wrong fails the test.

        Gradio's code, new to a browser, takes it two seconds to load and to compile. Of a visit nothing stays: what the
        page stored is deleted, and other windows are closed. Each address and each kind of browser has its own window.
        """
        url = url or self.url
        kind = f"{url} {locale} {options}"
        page = self.windows.pop(kind, None) or self._context(locale=locale, **options).new_page()
        context = page.context
        try:
            login = b64encode(f"{name}:{self.keys[name]}".encode()).decode()
            context.set_extra_http_headers({"Authorization": f"Basic {login}"})
            with self._watched(page, f"{url}{at}"):
                yield page
            page.set_viewport_size(options.get("viewport", WINDOW))
            for other in context.pages:
                if other != page:
                    other.close()
            # From a page of the server's that stores nothing, behind the one that may do so on being left.
            page.goto(f"{url}page/style.css")
            page.evaluate("localStorage.clear(); sessionStorage.clear()")
            context.clear_cookies()
        except BaseException:
            context.close()
            raise
        self.windows[kind] = page

    @contextmanager
    def visit_anew(self, name: str, **options: Any) -> Generator[Page]:
        """Open the page in a browser that has never been here and asks for the key itself, with its dialog."""
        context = self._context(http_credentials={"username": name, "password": self.keys[name]}, **options)
        try:
            page = context.new_page()
            with self._watched(page, self.url):
                yield page
        finally:
            context.close()

    @contextmanager
    def _watched(self, page: Page, url: str) -> Generator[None]:
        wrong: list[str] = []

        def see(error: Error) -> None:
            wrong.append(str(error))

        page.on("pageerror", see)
        page.goto(url)
        page.locator("#g-threads h2").wait_for(state="attached")
        yield
        assert wrong == []
        assert page.evaluate("window.hacked") is None
        page.remove_listener("pageerror", see)

    def _context(self, **options: Any) -> BrowserContext:
        given: Any = {"locale": "en-US", "viewport": WINDOW, "color_scheme": "light", **options}
        context = self.browser.new_context(**given)
        context.set_default_timeout(PATIENCE_MS)

        def noted(request: Request) -> None:
            self.asked.append(request.url)

        context.on("request", noted)
        return context


def find_chromium() -> str | None:
    """Return the browser; none is a failure where CI runs, for there it was to be installed."""
    found = os.environ.get("CHROMIUM") or shutil.which("chromium")
    if found is None and os.environ.get("CI"):
        raise AssertionError("there is no Chromium: install it, or set CHROMIUM")
    return found


async def leave_in_mid_turn(desk: Desk) -> None:
    async with (
        open_service(deployment(environment=desk.environment)) as service,
        service.asking(Caller("anna"), Question(LEFT, thread="left")) as live,
    ):
        async for event in live.follow():
            if event.kind == "node_started" and event.node == "retrieve":
                return


@contextmanager
def serve_page(desk: Desk, *options: str, anew: bool = False) -> Generator[str]:
    """Run `guardian ui` with these options, and yield its address.

    Args:
        desk: Whose page it is.
        options: Of the command.
        anew: Whether an interpreter of its own starts, which takes seconds to import the page.
    """
    where: dict[str, Any] = {"env": desk.environment, "cwd": desk.cwd, "stdout": subprocess.PIPE, "text": True}
    program = ("assistant.cli.main", "ui", "--port", "0", *options)
    with subprocess.Popen([sys.executable, "-m", *program], **where) if anew else PageProgram(program, **where) as ui:
        try:
            assert ui.stdout is not None
            yield ui.stdout.readline().split()[-1]
        finally:
            ui.terminate()
            ended = ui.wait(20)
    assert ended == 0


@dataclass
class Wire:
    """A way to a server.

    Attributes:
        url: To ask.
        answered: The bytes that came back, as they come.
        open_ones: Both ends of each connection.
    """

    url: str
    answered: bytearray = field(default_factory=bytearray)
    open_ones: list[socket.socket] = field(default_factory=list[socket.socket])

    def cut(self) -> None:
        """Break off every connection there is; new ones can be made."""
        for end in list(self.open_ones):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)


@contextmanager
def record_wire(port: int) -> Generator[Wire]:
    """Pass every byte on to a port of this machine, and remember what comes back."""
    listener = socket.create_server(("127.0.0.1", 0))
    wire = Wire(f"http://127.0.0.1:{listener.getsockname()[1]}/")
    answered, open_ones = wire.answered, wire.open_ones

    def pump(source: socket.socket, target: socket.socket, kept: bytearray | None) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                if kept is not None:
                    kept.extend(data)
                target.sendall(data)
        for end in (source, target):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def accept() -> None:
        with suppress(OSError):
            while True:
                client, _ = listener.accept()
                server = socket.create_connection(("127.0.0.1", port))
                open_ones.extend((client, server))
                for ends in ((client, server, None), (server, client, answered)):
                    pumps.append(threading.Thread(target=pump, args=ends))
                    pumps[-1].start()

    pumps: list[threading.Thread] = []
    taking = threading.Thread(target=accept)
    taking.start()
    try:
        yield wire
    finally:
        with suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        taking.join()
        wire.cut()
        for one in pumps:
            one.join()
        for end in open_ones:
            end.close()
