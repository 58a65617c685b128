"""The chat page as people have it: `guardian ui` in a process of its own, keys in use, and Debian's Chromium."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect, sync_playwright

from assistant.deployment import deployment
from assistant.wiring.access import keys_of
from tests.support.cli_helpers import CORPUS, PROFILE, Desk
from tests.support.page_server import (
    FEW,
    LAMP,
    PATIENCE_MS,
    ROLES,
    SWITCHED_OFF,
    Served,
    Wire,
    find_chromium,
    leave_in_mid_turn,
    record_wire,
    serve_page,
)
from tests.support.wire.server_process import fake_server


# Of a module, not of the session: while Playwright runs, no other event loop can in this thread.
@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Return the one browser of these tests."""
    path = find_chromium()
    if path is None:
        pytest.skip("there is no Chromium (CHROMIUM, or `chromium` on the PATH)")
    with sync_playwright() as playwright:
        expect.set_options(timeout=PATIENCE_MS)
        # A new process for each page, and one in reserve, take a tenth of what these tests take.
        one_process = ("--process-per-site", "--renderer-process-limit=1")
        without = f"--disable-features={','.join(SWITCHED_OFF)}"
        opened = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", *one_process, without])
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Desk:
    """A desk with the library's documents and a hostile one, and a conversation that somebody was killed over."""
    place = tmp_path_factory.mktemp("page")
    shutil.copytree(CORPUS, place / "corpus")
    (place / "corpus" / "en" / "lamps.md").write_text(LAMP, "utf-8")
    profile = place / PROFILE.name
    # One passage is enough here: what is shown of it matters.
    text = PROFILE.read_text("utf-8").replace('path = "corpus"\n', 'path = "corpus"\nuploads = true\n')
    profile.write_text(f"{text}\n[behaviour]\nmin_evidence = 1\n", "utf-8")
    made = Desk(place / "data", place, profile)
    made.index()
    asyncio.run(leave_in_mid_turn(made))
    return made


@pytest.fixture(scope="module")
def served(desk: Desk, browser: Browser) -> Iterator[Served]:
    """Serve the page to the owners of keys, with a scripted model behind it."""
    keys = keys_of(deployment(environment=desk.environment))
    made = {name: keys.add(name, role, FEW.get(name, 100_000)) for name, role in ROLES.items()}
    with fake_server() as model:
        having = desk.having(
            GUARDIAN_MODEL="fake-model", OPENAI_BASE_URL=model.url, OPENAI_API_KEY="none", GUARDIAN_SHARE_DAYS="7"
        )
        # Here as people start it; other tests have their servers from a process that has imported the page.
        with serve_page(having, anew=True) as url:
            yield Served(url, made, desk.data, model, browser)


@pytest.fixture(scope="module")
def wire(served: Served) -> Iterator[Wire]:
    """Another way to the server, where what it answers is seen: one, for a browser loads the page's code for each anew."""
    with record_wire(int(served.url.rstrip("/").rpartition(":")[2])) as way:
        yield way
