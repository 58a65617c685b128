from __future__ import annotations

import json
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest

from assistant.deployment import deployment
from assistant.service import Caller
from assistant.turns.transcript import Turn
from assistant.web.app import create_app
from tests.support.cli_helpers import Desk

if TYPE_CHECKING:
    import gradio as gr

LAMP = "How bright is a reading lamp?"
ANNA = Caller("anna", "user")


def build_request() -> gr.Request:
    """Return what Gradio hands over with an event of a tab."""
    inner = SimpleNamespace(state=SimpleNamespace(caller=ANNA), headers={"accept-language": "en"})
    return cast("gr.Request", SimpleNamespace(request=inner, session_hash="tab"))


async def test_an_answer_that_comes_while_the_page_is_drawn_is_shown(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A page that was drawn with a running turn shows its end, although it ended before anybody could follow it."""
    # Gradio's import takes as long as that of all else that is tested: not while every worker collects.
    from gradio import skip

    from assistant.web.page.app import ChatPage

    app = create_app(deployment(environment=desk.environment))
    async with app.router.lifespan_context(app):
        service, page = app.state.service, ChatPage(app)
        look_up = service.turns

        async def look_up_late(caller: Caller, thread: str) -> list[Turn]:
            if (live := service.live(caller, thread)) is not None:
                await live.result()
            return await look_up(caller, thread)

        monkeypatch.setattr(service, "turns", look_up_late)
        place = json.dumps({"conversation": "quick", "order": 1})
        send = page.__getattribute__("_send")
        shown: dict[Any, Any] = {}
        async for changes in send(LAMP, place, build_request()):
            shown |= {part: value for part, value in changes.items() if value != skip()}
        assert 'class="tools"' in shown[page.chat]
        assert shown[page.live] == ""
