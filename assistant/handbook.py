"""The bundled handbook, page by page, even if the profile has other documents."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Final

from assistant.config.profiles import BUNDLED_KNOWLEDGE
from contracts.enums import Language

HANDBOOK: Final = "handbook"
"""The profile of these pages."""
SCHEME: Final = f"guardian://{HANDBOOK}/"


@dataclass(frozen=True, slots=True)
class HandbookPage:
    """A page in one language; `text` is Markdown without its front matter."""

    language: Language
    slug: str
    title: str
    text: str

    @property
    def uri(self) -> str:
        """The page's name among the resources of the Model Context Protocol."""
        return f"{SCHEME}{self.language}/{self.slug}"


@cache
def handbook() -> dict[str, HandbookPage]:
    """Return the pages by `uri`, ordered by name."""
    from adapters.reading import front_matter

    pages: dict[str, HandbookPage] = {}
    for language in Language:
        for path in sorted((BUNDLED_KNOWLEDGE / language).glob("*.md")):
            text = path.read_text("utf-8")
            said = front_matter.read(text)
            body = "\n".join(text.split("\n")[said.lines :]).strip() + "\n"
            page = HandbookPage(language, path.stem, said.title or path.stem, body)
            pages[page.uri] = page
    return pages
