"""The chat of a visitor on another site's page: the button that opens it, the cookie, and a browser that keeps none."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx
import pytest
from playwright.sync_api import Browser, FrameLocator, Page, expect

from assistant.deployment import deployment
from assistant.web.page.mount import WIDGET
from assistant.wiring.access import keys_of
from tests.support.cli_helpers import CORPUS, PROFILE, QUESTION, Desk
from tests.support.page_server import PATIENCE_MS, WINDOW, serve_page
from tests.support.tls import TRUSTS_NOBODY


@dataclass
class Shop:
    """A page of another site with the widget on it, and the server that the widget is of.

    Attributes:
        server: The server's address.
        port: Of the shop, which is called 127.0.0.1 and localhost; of the two, the second is another site.
        attributes: Of the script element, in the next page that is loaded.
    """

    server: str
    port: int
    browser: Browser
    attributes: str = ""

    @contextmanager
    def visit(self, *, host: str = "127.0.0.1", attributes: str = "", **options: Any) -> Generator[Page]:
        """Open the shop's page in a browser of its own; what goes wrong on it fails the test."""
        self.attributes = attributes
        given: Any = {"locale": "en-US", "viewport": WINDOW, **options}
        context = self.browser.new_context(**given)
        context.set_default_timeout(PATIENCE_MS)
        try:
            page, wrong = context.new_page(), list[str]()
            page.on("pageerror", lambda error: wrong.append(str(error)))
            page.on("console", lambda said: wrong.append(said.text) if "Content Security Policy" in said.text else None)
            page.goto(f"http://{host}:{self.port}/")
            yield page
            assert wrong == []
        finally:
            context.close()


@pytest.fixture(scope="module")
def indexed(tmp_path_factory: pytest.TempPathFactory) -> Desk:
    """A desk with the library's documents; made before the browser, beside which no other loop runs."""
    place = tmp_path_factory.mktemp("shop")
    shutil.copytree(CORPUS, place / "corpus")
    profile = place / PROFILE.name
    # Then sources have pages of the server's own.
    profile.write_text(PROFILE.read_text("utf-8").replace('["shelf.example"]', "[]"), "utf-8")
    made = Desk(place / "data", place, profile)
    made.index()
    return made


@pytest.fixture(scope="module")
def shop(indexed: Desk, browser: Browser) -> Iterator[Shop]:
    """Serve the chat, and a shop that frames it."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            page = f'<!doctype html><title>Shop</title><script src="{made.server}widget.js" defer {made.attributes}></script>'
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            # Nothing more than the handbook says.
            policy = f"default-src 'none'; script-src {made.server}widget.js; frame-src {made.server}; img-src data:"
            self.send_header("Content-Security-Policy", policy)
            self.end_headers()
            self.wfile.write(f'{page}<link rel="icon" href="data:,"><p><a href="#end">Lamps</a></p>'.encode())

        def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
            del code, size

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        port = http.server_address[1]
        serving = threading.Thread(target=http.serve_forever, args=(0.01,))
        having = indexed.having(
            GUARDIAN_VISITORS="on", GUARDIAN_FRAME_ANCESTORS=f"http://127.0.0.1:{port},http://localhost:{port}"
        )
        with serve_page(having) as server:
            made = Shop(server, port, browser)
            serving.start()
            try:
                yield made
            finally:
                http.shutdown()
                serving.join()


def chat(page: Page) -> FrameLocator:
    return page.frame_locator("#guardian-widget iframe")


def ask(frame: FrameLocator) -> None:
    """Ask a question, and wait for its answer."""
    frame.locator("#g-threads h2").wait_for(state="attached")
    frame.locator("#g-box textarea").fill(QUESTION)
    frame.locator("#g-send").click()
    expect(frame.locator("#g-chat article.turn .tools")).to_have_count(1)


def test_the_button_opens_and_closes_the_chat_by_keyboard(shop: Shop) -> None:
    """Enter opens it, with the focus in the frame; Escape closes it, there too, and the focus is on the button again."""
    with shop.visit() as page:
        button, region = page.locator("#guardian-widget .button"), page.locator("#guardian-widget .region")
        assert page.locator("#guardian-widget iframe").count() == 0
        expect(button).to_have_attribute("aria-expanded", "false")
        page.keyboard.press("Tab")
        page.keyboard.press("Tab")
        expect(button).to_be_focused()
        page.keyboard.press("Enter")
        expect(button).to_have_attribute("aria-expanded", "true")
        expect(region).to_have_role("dialog")
        expect(page.locator("#guardian-widget iframe")).to_have_attribute("title", "Chat with the assistant")
        ask(chat(page))
        chat(page).locator("#g-box textarea").press("Escape")
        expect(region).to_be_hidden()
        expect(button).to_be_focused()
        page.keyboard.press("Enter")
        expect(region).to_be_visible()
        page.locator("#guardian-widget .close").press("Escape")
        expect(button).to_have_attribute("aria-expanded", "false")
        # What was asked is in a cookie's visitor's hands: a page that is loaded anew has it.
        page.reload()
        page.locator("#guardian-widget .button").click()
        expect(chat(page).locator("#g-threads li")).to_have_count(1)


def test_a_frame_of_another_site_works_without_a_cookie(shop: Shop) -> None:
    """The browser sends no cookie there; the page tells who it is itself. Sources, exports and dialogs open in the frame, too."""
    with shop.visit(host="localhost", attributes='data-lang="ru" data-label="Спросить" data-color="#ffe08a"') as page:
        button = page.locator("#guardian-widget .button")
        expect(button).to_have_text("Спросить")
        assert button.evaluate("(it) => getComputedStyle(it).color") == "rgb(17, 17, 17)"
        button.click()
        ask(chat(page))
        assert page.context.cookies() == []
        expect(chat(page).locator("html")).to_have_attribute("lang", "ru")
        chat(page).locator("#g-chat a[href^='/page/passage']").first.click()
        expect(chat(page).locator("dialog.passage h1")).to_be_visible()
        chat(page).locator("dialog.passage > button").click()
        chat(page).locator("[data-act=more]").click()
        with page.expect_download() as saved:
            chat(page).locator("[data-act=export]").click()
        assert QUESTION in saved.value.path().read_text("utf-8")
        # The browser opens no dialog of its own for such a frame.
        chat(page).locator("[data-act=menu]").click()
        chat(page).locator("[data-act=rename]").click()
        chat(page).get_by_role("dialog").get_by_role("textbox").fill("Каталог")
        chat(page).get_by_role("dialog").get_by_role("button", name="Переименовать").click()
        expect(chat(page).locator("#g-threads .open")).to_have_text("Каталог")
        chat(page).get_by_role("button", name="Удалить: Каталог").click()
        chat(page).get_by_role("dialog").get_by_role("button", name="Удалить").click()
        expect(chat(page).locator("#g-threads li")).to_have_count(0)


def test_on_a_phone_the_chat_has_the_whole_screen(shop: Shop) -> None:
    """A screen reader is told that nothing else is there; the close button is large enough to touch."""
    with shop.visit(viewport={"width": 390, "height": 800}, reduced_motion="reduce") as page:
        page.locator("#guardian-widget .button").click()
        region = page.locator("#guardian-widget .region")
        expect(region).to_have_attribute("aria-modal", "true")
        assert region.bounding_box() == {"x": 0, "y": 0, "width": 390, "height": 800}
        assert region.evaluate("(it) => getComputedStyle(it).animationName") == "none"
        box = page.locator("#guardian-widget .close").bounding_box()
        assert box is not None
        assert min(box["width"], box["height"]) >= 44
        page.locator("#guardian-widget .close").click()
        expect(region).to_be_hidden()


def test_the_page_and_the_widget_say_who_may_use_them(shop: Shop) -> None:
    """Only named sites frame the page, and nothing else of its policy changes; the widget may be kept, and is asked for again."""
    with httpx.Client(base_url=shop.server, trust_env=False, verify=TRUSTS_NOBODY) as client:
        page = client.get("/")
        policy = dict(part.strip().split(" ", 1) for part in page.headers["content-security-policy"].split(";"))
        assert policy["frame-ancestors"] == f"http://127.0.0.1:{shop.port} http://localhost:{shop.port}"
        assert (policy["frame-src"], policy["connect-src"], policy["form-action"]) == ("'none'", "'self'", "'none'")
        assert page.headers["cache-control"] == "no-store"
        cookie = page.headers["set-cookie"]
        assert cookie.startswith("guardian_visitor=1.")
        assert "HttpOnly; SameSite=Lax" in cookie
        again = client.get("/")
        assert ("set-cookie" in again.headers, again.headers["cache-control"]) == (False, "no-store")
        # Nobody is believed what only a trusted proxy says: from the connection it is told, and not by uvicorn.
        client.cookies.clear()
        claimed = {"X-Forwarded-Proto": "https", "X-Forwarded-For": "9.9.9.9"}
        assert "Secure" not in client.get("/", headers=claimed).headers["set-cookie"]
        widget = client.get("/widget.js")
        assert (widget.content, widget.headers["cross-origin-resource-policy"]) == (WIDGET, "cross-origin")
        assert "must-revalidate" in widget.headers["cache-control"]
        assert client.get("/widget.js", headers={"If-None-Match": widget.headers["etag"]}).status_code == 304
        # A picture on a foreign page is no visitor.
        client.cookies.clear()
        assert client.get("/", headers={"Sec-Fetch-Dest": "image"}).status_code == 401
    with httpx.Client(base_url=shop.server, trust_env=False, verify=TRUSTS_NOBODY) as client:
        # A browser that is nobody yet gets the code, and no dialog for a password.
        assert client.head("/").status_code == client.get("/theme.css").status_code == 200
        refused = client.get("/gradio_api/queue/data", params={"session_hash": "x"})
        assert (refused.status_code, refused.headers["www-authenticate"]) == (401, "Bearer")
        assert client.post("/page/visitor", headers={"Origin": "https://evil.example"}).status_code == 403
        token = client.post("/page/visitor").json()["token"]
        again = client.post("/page/visitor", headers={"X-Guardian-Visitor": token}).json()["token"]
        assert again.split(".")[1] == token.split(".")[1]
        other = client.post("/page/visitor", headers={"X-Guardian-Visitor": token[:-1]}).json()["token"]
        assert other.split(".")[1] != token.split(".")[1]
        # Where the browser keeps the cookie, no script reads it here, whatever else it sends.
        cookie = client.get("/").cookies["guardian_visitor"]
        for sends in ({}, {"X-Guardian-Visitor": token}, {"X-API-Key": "gk-wrong"}):
            assert client.post("/page/visitor", headers=sends).json() == {"token": ""}
        assert client.post("/page/visitor", headers={"Cookie": f"guardian_visitor={cookie[:-1]}"}).json()["token"]


def test_the_owner_of_a_key_signs_in(shop: Shop, indexed: Desk) -> None:
    """Where everybody may see the page, nobody is asked for a key; at one address the browser asks for it."""
    key = keys_of(deployment(environment=indexed.environment)).add("olga", "operator")
    with httpx.Client(base_url=shop.server, trust_env=False, verify=TRUSTS_NOBODY) as client:
        asked = client.get("/sign-in")
        assert (asked.status_code, asked.headers["www-authenticate"][:5]) == (401, "Basic")
        assert client.get("/sign-in", auth=("any", "gk-wrong")).status_code == 401
    context = shop.browser.new_context(http_credentials={"username": "any", "password": key})
    context.set_default_timeout(PATIENCE_MS)
    page = context.new_page()
    page.goto(f"{shop.server}sign-in")
    expect(page.locator("#g-header .chip.view")).to_be_visible()
    assert context.cookies() == []
    context.close()
