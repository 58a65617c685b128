"""Our own everyday texts: what stands in for public data where that is not beside the project."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any, Final

from contracts.enums import Language

EVERYDAY: Final[dict[str, Any]] = tomllib.loads(
    (Path(__file__).resolve().parent.parent / "data" / "everyday.toml").read_text("utf-8")
)
REQUESTS: Final[list[str]] = EVERYDAY["requests"]
SOUNDS_HARMFUL: Final[list[str]] = EVERYDAY["sounds_harmful"]
PERSUASIONS: Final[list[str]] = EVERYDAY["persuasions"]


def list_paragraphs(language: Language) -> list[tuple[str, list[str]]]:
    """Return the paragraphs of a language, each with the questions that it answers."""
    return [(part["text"], part["questions"]) for part in EVERYDAY["paragraphs"][language]]
