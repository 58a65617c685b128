"""The page's script: the address holds the shown conversation; buttons name their action in `data-act`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib.resources import files
from typing import Final

from assistant.turns.progress import phrases
from assistant.turns.transcript import MAX_TITLE_CHARS
from contracts.enums import Language

_SAID: Final = (
    "lost",
    "reload",
    "too_many",
    "unauthorized",
    "too_large",
    "closing",
    "failed",
    "failed_way_out",
    "close",
    "cancel",
    "copy_code",
    "copied",
)

_SCRIPT: Final = files("assistant.web.page").joinpath("static", "page.js").read_text("utf-8")


def head(languages: Sequence[Language], *, visitors: bool = False) -> str:
    """Return the page's HTML head: the script, with the texts that it shows when the server cannot.

    Args:
        languages: The profile's languages; a browser that wants no supported language gets the first.
        visitors: Whether a browser without a key is a visitor.
    """
    said = {str(language): {name: phrases(language)[f"page_{name}"] for name in _SAID} for language in languages}
    words = json.dumps(said).replace("<", "\\u003c")
    script = _SCRIPT.replace("__WORDS__", words).replace("__VISITORS__", json.dumps(visitors))
    script = script.replace("__TITLE__", str(MAX_TITLE_CHARS))
    return f"<script>\n{script}</script>\n"


READY: Final = (
    "window.guardian.ready(trigger); window.guardian.headed(); watch('value', () => window.guardian.headed());"
)
DRAWN: Final = "watch('value', () => window.guardian.drawn());"
LISTED: Final = "watch('value', () => window.guardian.listed());"
PLACE: Final = "() => window.guardian.place()"
SEND: Final = "(text) => window.guardian.send(text)"
FRESH: Final = "() => window.guardian.fresh()"
