"""The review of turns at `/review`: who may look, what they see, what they can do, and what no form may do."""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from httpx import ASGITransport, AsyncClient, Response

from assistant.deployment import deployment
from assistant.service import Caller
from assistant.turns.feedback import Feedback, Rating
from assistant.web.app import ServerOptions, create_app
from assistant.web.page import review
from assistant.web.page.review import install_review
from assistant.wiring.access import keys_of
from evals.cases import TurnCase, read_cases
from guards import outgoing
from tests.support.cli_helpers import QUESTION, Desk

SECRET = "hunter2xy9"  # noqa: S105  # made up
EVIL = "<script>alert(1)</script>"
TURN = {"c": "anna/t", "t": "1"}


@pytest.fixture(scope="module")
def talks(library: Desk, tmp_path_factory: pytest.TempPathFactory) -> Desk:
    """A desk with a conversation of Anna's, whose questions are hostile, and with keys for her and for an operator."""
    desk = library.copied(tmp_path_factory.mktemp("review") / "data")
    desk.here("ask", f"{QUESTION} My password is {SECRET} {EVIL}", "--thread", "anna/t", "--id", "first", "--quiet")
    desk.here("ask", "=1+1 and nothing else?", "--thread", "anna/t", "--id", "second", "--quiet")
    return desk


@pytest.fixture
def desk(talks: Desk, tmp_path: Path) -> Desk:
    return talks.copied(tmp_path / "data")


@asynccontextmanager
async def reviewing(
    desk: Desk, role: str = "operator", *, keys: bool = True, **headers: str
) -> AsyncGenerator[AsyncClient]:
    """Yield a client of a role at the application; without Gradio, which takes seconds to import."""
    deployed = deployment(environment=desk.environment)
    if keys:
        headers["Authorization"] = (
            f"Bearer {keys_of(deployed).add('olga' if role == 'operator' else 'boris', role, 1000)}"
        )
    app = create_app(deployed, ServerOptions(role=role))
    install_review(app)
    client = AsyncClient(transport=ASGITransport(app), base_url="http://127.0.0.1", headers=headers)
    async with app.router.lifespan_context(app), client:
        await app.state.service.rate(Caller("anna"), "t", "first", Feedback(rating=Rating.DOWN, comment=EVIL))
        yield client


def notice_of(said: Response) -> str:
    """Return what a page says at its head."""
    found = re.search('role="status">([^<]*)', said.text)
    return found.group(1) if found else ""


@pytest.mark.parametrize("keys", [True, False])
async def test_only_roles_with_the_operators_view_may_look(desk: Desk, keys: bool) -> None:
    """Everybody else gets a sentence with 403, in their language, and nothing of any turn; and nothing is done."""
    async with reviewing(desk, "user", keys=keys, **{"Accept-Language": "ru"}) as client:
        for method, path in (
            ("GET", "/review"),
            ("GET", "/review/turn"),
            ("GET", "/review/export"),
            ("GET", "/review/cases.jsonl"),
            ("POST", "/review/turn"),
        ):
            said = await client.request(method, path, params=TURN, data={"do": "handle"} if method == "POST" else None)
            assert said.status_code == 403, path
            assert "не разрешён" in said.text
            assert "catalogue" not in said.text
        client.headers.pop("Authorization", None)
        if keys:
            assert (await client.get("/review")).status_code == 401
    async with reviewing(desk.copied(desk.data.parent / "again"), keys=keys) as client:
        listed = await client.get("/review", params={"handled": "yes"})
        assert (listed.status_code, "catalogue" in listed.text) == (200, False)


async def test_turns_are_listed_filtered_and_opened_with_nothing_masked_or_hostile_in_them(desk: Desk) -> None:
    """Filters are in the address; what a user wrote is text and nothing else; no script is needed, and none allowed."""
    async with reviewing(desk) as client:
        everything = await client.get("/review")
        assert everything.text.count("<li><a") == 2
        assert (await client.get("/review", params={"rating": "down", "outcome": "answered"})).text.count("<li><a") == 1
        one = await client.get("/review/turn", params=TURN)
        for said in (everything, one):
            assert SECRET not in said.text
            assert EVIL not in said.text
            assert "script-src" not in said.headers["content-security-policy"]
            assert "default-src 'none'" in said.headers["content-security-policy"]
            assert said.headers["cache-control"] == "no-store"
        for words in ("Try 1", "DT-005, pass", "corpus/en/restore.md:8-", "[redacted: password-value]"):
            assert words in one.text, words
        assert (await client.get("/review/turn", params={"c": "anna/t", "t": "9"})).status_code == 404
        table = await client.get("/review/export", params={"text": "nothing else"})
        assert ",'=1+1 and nothing else?," in table.text
        assert (await client.get("/review/export", params={"format": "jsonl"})).text.count("\n") == 2


@pytest.mark.parametrize(
    "params",
    [
        {"since": "yesterday"},
        {"outcome": "sold"},
        {"rating": "5"},
        {"handled": "perhaps"},
        {"offset": "-1"},
        {"offset": "x" * 5000},
        {"text": "w" * 250},
    ],
    ids=lambda params: str(params)[:24],
)
async def test_filters_that_ask_for_nothing_that_there_is_are_refused_on_the_page(
    desk: Desk, params: dict[str, str]
) -> None:
    """The page says what is wrong; the file of an export does, too."""
    async with reviewing(desk) as client:
        for path in ("/review", "/review/export"):
            said = await client.get(path, params={**params, "lang": "ru"})
            assert said.status_code == 400
            assert re.search(r"(?:не время|нет)\. [А-Я]", notice_of(said))


async def test_a_form_marks_notes_saves_and_hands_over_and_every_deed_is_recorded(desk: Desk, tmp_path: Path) -> None:
    """Each leads back to the turn, which says what was done; the saved case is one that eval reads."""
    sent = tmp_path / "sent"
    async with reviewing(desk.having(GUARDIAN_HANDOFF_TO=str(sent))) as client:

        async def do(**form: str) -> str:
            said = await client.post("/review/turn", params=TURN, data=form)
            assert said.status_code == 303, said.text
            return notice_of(await client.get(said.headers["location"]))

        assert await do(do="handle") == "The turn is marked as handled."
        assert await do(do="unhandle") == "The turn is marked as not handled."
        assert await do(do="note", note=EVIL) == "The note is kept."
        assert (await client.get("/review/cases.jsonl")).status_code == 404
        wrong = {"pages": "en/restore.md\r\n\r\n", "must_not_say": "shelfctl restore\r\n", "must_say": ""}
        assert (await do(do="case", **wrong)).startswith("The turn is saved as a case. ")
        assert await do(do="hand-over") == "The turn was handed over."
        assert EVIL not in (await client.get("/review")).text
        file = tmp_path / "saved.jsonl"
        file.write_bytes((await client.get("/review/cases.jsonl")).content)
    [case] = read_cases(file)
    assert isinstance(case, TurnCase)
    assert (case.pages, SECRET in case.says[0]) == (("en/restore.md",), False)
    assert (case.must_say, case.must_not_say) == ((), ("shelfctl restore",))
    assert len(list(sent.glob("*.json"))) == 1
    looks = (await asyncio.to_thread(desk.here, "review", "looks", "--json")).json
    deeds = [look["what"].split()[0] for look in reversed(looks) if look["who"] == "olga"]
    assert [deed for deed in deeds if deed not in ("open", "list")] == [
        "handle",
        "unhandle",
        "note",
        "case",
        "hand-over",
    ]


@pytest.mark.parametrize(
    ("form", "status"),
    [
        ({"do": "case"}, 400),
        ({"do": "case", "must_not_say": "wrong"}, 400),
        ({"do": "case", "pages": "en/restoer.md"}, 400),
        ({"do": "case", "pages": "en/restore.md", "ending": "declined"}, 400),
        ({"do": "case", "must_say": "?"}, 400),
        ({"do": "case", "ending": "sold"}, 400),
        ({"do": "note", "note": "x" * 4001}, 400),
        ({"do": "hand-over"}, 400),
        ({"do": "delete"}, 400),
        ({}, 400),
        (b"\xff\xfe", 400),
        (b"&".join(b"a=1" for _ in range(1000)), 400),
        (b"do=%ff", 400),
    ],
)
async def test_a_form_that_cannot_be_done_changes_nothing_and_says_why(desk: Desk, form: Any, status: int) -> None:
    """Broken, hostile and empty forms get the turn's page with a sentence."""
    async with reviewing(desk) as client:
        given: dict[str, Any] = {"content": form} if isinstance(form, bytes) else {"data": form}
        said = await client.post("/review/turn", params={**TURN, "lang": "ru"}, **given)
        assert said.status_code == status
        # In the page's language: names of settings and commands aside, no sentence is English.
        assert not re.search(r"[a-z]+ [a-z]+ [a-z]+", notice_of(said))
        assert re.search("[а-я]{3}", notice_of(said))
        assert "/tmp" not in said.text  # noqa: S108  # no file of the server is named
        listed = await client.get("/review/export", params={"format": "jsonl", "handled": "yes"})
        assert listed.text == ""


async def test_a_refused_form_comes_back_with_all_that_was_typed_and_a_fine_one_empty(desk: Desk) -> None:
    """Whoever misspells one page corrects that page alone; what they typed is text there, and nothing else."""
    case = {
        "pages": "en/restoer.md\ncorpus",
        "must_say": f"{EVIL}</textarea>",
        "must_not_say": "a & b",
        "ending": "answered",
    }
    fields = '<textarea name="{}"[^>]*>([^<]*)</textarea>'
    async with reviewing(desk) as client:
        said = await client.post("/review/turn", params=TURN, data={"do": "case", **case})
        for name in ("pages", "must_say", "must_not_say"):
            assert [unescape(text) for text in re.findall(fields.format(name), said.text)] == [case[name]]
        assert '<option value="answered" selected>' in said.text
        note = "n" * 4001
        said = await client.post("/review/turn", params=TURN, data={"do": "note", "note": note})
        assert (said.status_code, re.findall(fields.format("note"), said.text)) == (400, [note])
        shown = await client.get("/review/turn", params=TURN)
        assert [re.findall(fields.format(name), shown.text) for name in ("pages", "note")] == [[""], [""]]


async def test_the_review_stays_in_the_chosen_language(desk: Desk) -> None:
    """Each link of the list and of a turn keeps what the reader chose, whatever their browser prefers."""
    async with reviewing(desk) as client:
        for path in ("/review", "/review/turn"):
            said = await client.get(path, params={**TURN, "lang": "ru", "limit": "1"})
            own = re.findall('(?:href|action)="(/[^"]*)', said.text)
            forms = re.findall('<form[^>]*method="get"[^>]*>.*?lang" value="ru"', said.text)
            left = [one for one in own if "lang=ru" not in one and one != "/page/style.css"]
            assert left == ["/review"] * len(forms), path


async def test_no_text_is_masked_and_no_page_made_on_the_event_loop(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A list of turns takes long enough to mask that all other callers would wait for it: threads do it."""
    on_loop: list[str] = []

    def watch(module: Any, name: str) -> None:
        work = getattr(module, name)

        def watched(*arguments: Any, **named: Any) -> Any:
            if threading.current_thread() is threading.main_thread() and "catalogue" in str(arguments):
                on_loop.append(name)
            return work(*arguments, **named)

        monkeypatch.setattr(module, name, watched)

    sent = {"do": "case", "pages": "en/restore.md", "must_say": "the catalogue"}
    async with reviewing(desk.having(GUARDIAN_HANDOFF_TO=str(desk.data / "sent"))) as client:
        watch(outgoing, "redact_ticket_text")
        for name in ("list_html", "turn_html"):
            watch(review, name)
        for path in ("/review", "/review/turn", "/review/export"):
            assert (await client.get(path, params=TURN)).status_code == 200
        for form in ({"do": "handle"}, {"do": "note", "note": "the catalogue"}, sent, {"do": "hand-over"}):
            assert (await client.post("/review/turn", params=TURN, data=form)).status_code == 303
    assert on_loop == []


async def test_no_page_of_another_site_does_anything_here(desk: Desk) -> None:
    """A form elsewhere that posts to this server is refused, as all such requests are."""
    async with reviewing(desk) as client:
        for headers in ({"Origin": "http://evil.test"}, {"Sec-Fetch-Site": "cross-site"}):
            said = await client.post("/review/turn", params=TURN, data={"do": "handle"}, headers=headers)
            assert said.status_code == 403
