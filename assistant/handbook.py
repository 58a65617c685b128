"""The bundled handbook, page by page, whatever the profile's own documents are."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Final

from assistant.config.profiles import BUNDLED_KNOWLEDGE
from contracts.enums import Language

SCHEME: Final = "guardian://handbook/"


@dataclass(frozen=True, slots=True)
class HandbookPage:
    """A page in one language; `text` is Markdown without its front matter."""

    language: Language
    slug: str
    title: str
    text: str

    @property
    def uri(self) -> str:
        """Its name among the resources of the Model Context Protocol."""
        return f"{SCHEME}{self.language}/{self.slug}"


@cache
def handbook() -> dict[str, HandbookPage]:
    """Return the pages by their `uri`, in the order of their names."""
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
