"""Where browsers without a key are visitors: the way in for operators, and links that need no cookie."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from httpx import ASGITransport, AsyncClient

from assistant.deployment import deployment
from assistant.service import Caller, open_service
from assistant.web.app import create_app
from assistant.web.callers import Callers
from assistant.web.page.documents import document_routes
from assistant.web.page.indexing_job import IndexingJob
from assistant.web.page.mount import page_routes
from assistant.web.page.review import install_review
from assistant.web.page.sign_in import install_sign_in, is_own_path
from assistant.wiring.access import keys_of
from tests.support.cli_helpers import QUESTION, Desk

VISITED = {"GUARDIAN_VISITORS": "on", "GUARDIAN_SHARE_DAYS": "1"}
BROWSER = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}


@asynccontextmanager
async def browse(library: Desk, place: Path) -> AsyncGenerator[tuple[AsyncClient, str]]:
    """Yield a client without a session at a server for visitors, and an operator's key; without Gradio, which takes seconds."""
    deployed = deployment(environment=library.copied(place / "data").having(**VISITED).environment)
    key = keys_of(deployed).add("olga", "operator", 1000)
    app = create_app(deployed)
    install_review(app)
    install_sign_in(app)
    app.include_router(page_routes(app))
    app.include_router(document_routes(deployed, IndexingJob(deployed)))
    client = AsyncClient(transport=ASGITransport(app), base_url="http://127.0.0.1", headers=BROWSER)
    async with app.router.lifespan_context(app), client:
        yield client, key


async def test_a_link_to_a_conversation_needs_no_cookie(library: Desk, tmp_path: Path) -> None:
    """Whoever has a link for visitors reads as one; one that is forged or for another role shows nothing to them."""
    async with browse(library, tmp_path) as (client, key):
        who = {"Authorization": f"Bearer {key}"}
        asked = await client.post("/v1/ask", json={"question": QUESTION, "thread_id": "t"}, headers=who)
        assert asked.status_code == 200
        desk = Desk(tmp_path / "data", tmp_path, more=VISITED)
        async with open_service(deployment(environment=desk.environment)) as service:
            links = {role: (await service.share(Caller("olga", role), "t"))[0] for role in ("user", "operator")}

        async def read(role: str, **headers: str) -> int:
            said = await client.get("/page/shared", params={"s": links[role]}, headers=headers)
            assert ("shelfctl restore" in said.text) == (said.status_code == 200)
            return said.status_code

        assert await read("user") == 200
        assert await read("operator") == 404
        callers = Callers.of(deployment(environment=desk.environment), "user")
        assert [callers.is_open(role) for role in links] == [True, False]
        assert await read("operator", **who) == 200
        assert await read("user", Authorization="Bearer gk-wrong") == 401
        forged = await client.get("/page/shared", params={"s": links["user"][::-1]})
        assert (forged.status_code, "set-cookie" in forged.headers) == (404, False)


async def test_an_operators_page_names_the_way_in_to_a_browser_without_a_session(library: Desk, tmp_path: Path) -> None:
    """In the reader's language, with a link back to where they were; a program gets JSON, and nobody a dialog."""
    async with browse(library, tmp_path) as (client, key):
        for path, way in (
            ("/review?rating=down&lang=ru", "to=%2Freview%3Frating%3Ddown%26lang%3Dru"),
            ("/review/turn?c=a%2Fb&t=1", "to=%2Freview%2Fturn%3Fc%3Da%252Fb%26t%3D1"),
            ("/documents", "to=%2Fdocuments"),
        ):
            said = await client.get(path)
            assert (said.status_code, said.headers["content-type"]) == (401, "text/html; charset=utf-8")
            assert f'href="/sign-in?{way}"' in said.text
            assert ("Войти" if "lang=ru" in path else "Sign in") in said.text
            assert "Basic" not in said.headers["www-authenticate"]
            json = await client.get(path, headers={"Accept": "application/json"})
            assert (json.status_code, json.json()["error"]["code"]) == (401, "Unauthorized")
        sent = await client.post("/documents/index", headers={"Accept-Language": "ru"})
        assert (sent.status_code, "/sign-in?to=%2Fdocuments" in sent.text) == (401, True)
        assert (await client.get("/v1/threads")).json()["error"]["code"] == "Unauthorized"
        asked = await client.get("/sign-in", params={"to": "/review?lang=ru"})
        assert (asked.status_code, "Basic" in asked.headers["www-authenticate"]) == (401, True)
        back = await client.get("/sign-in", params={"to": "/review?lang=ru"}, auth=("any", key))
        assert (back.status_code, back.headers["location"]) == (303, "/review?lang=ru")
        away = await client.get("/sign-in", params={"to": "//evil.test/"}, auth=("any", key))
        assert away.headers["location"] == "/"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "review",
        "http://evil.test/",
        "//evil.test",
        "///evil.test",
        "/\\evil.test",
        "\\\\evil.test",
        "/\t/evil.test",
        "/\n/evil.test",
        "javascript:alert(1)",
        " /review",
        "/" * 3000,
        "/\u0430",
        "/x\x00",
    ],
    ids=repr,
)
def test_a_link_back_leads_to_no_other_site(text: str) -> None:
    """Whatever a browser would read as another host is no path of ours."""
    assert not is_own_path(text)
    assert is_own_path("/review/turn?c=a/b&t=http://x")
