"""The look of the page for one caller: language, product, role."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from functools import cached_property
from typing import Final
from urllib.parse import urlencode

from assistant.turns.progress import phrases
from assistant.turns.transcript import Turn
from assistant.web.page.languages import language_of
from assistant.web.page.markdown import contact_addresses, words
from contracts.enums import Language
from contracts.profile import Profile

_CODE: Final = re.compile("&#96;(.+?)&#96;")
PENCIL: Final = '<svg viewBox="0 0 20 20" aria-hidden="true"><path d="M4 16l1-4 8-8 3 3-8 8z"/></svg>'
"""The sign on buttons that change what was written."""


@dataclass(frozen=True)
class Look:
    """The language and the view in which a page is made.

    Attributes:
        language: The page's language; an answer has its own.
        operator: Whether to show the operator's view.
    """

    profile: Profile
    language: Language
    operator: bool = False

    @cached_property
    def words(self) -> dict[str, str]:
        """The texts of the page's language, as plain text."""
        return phrases(self.language)

    @cached_property
    def contacts(self) -> frozenset[str]:
        """The addresses of the profile's contacts."""
        return contact_addresses(self.profile)

    def say(self, key: str, **values: object) -> str:
        """Return one of the page's texts as HTML."""
        return words(self.words[f"page_{key}"].format(**values))

    def say_with_code(self, key: str, **values: object) -> str:
        """Return one of the page's texts as HTML, with what stands between grave accents as code."""
        return _CODE.sub(r"<code>\1</code>", self.say(key, **values))


def look_for(profile: Profile, role: str, chosen: str, accepted: str) -> Look:
    """Return the look of a page for one request.

    Args:
        profile: What is served.
        role: The caller's.
        chosen: The language that the reader chose; may be empty.
        accepted: `Accept-Language` of their browser.
    """
    return Look(profile, language_of(chosen, accepted, profile.languages), operator=profile.sees_all(role))


def anchor_of(turn_id: str) -> str:
    """Return the HTML id of a turn's place on the page; turn ids may contain any visible character."""
    return f"t{hashlib.sha256(turn_id.encode('utf-8', 'replace')).hexdigest()[:12]}"


def passage_url(turn: Turn, number: int, look: Look, *, rank: bool = False) -> str:
    """Return the address of a cited passage, by its number in the answer or by its rank, in the reader's language."""
    place = {"c": turn.thread_id, "t": turn.turn_id, "r" if rank else "n": number, "lang": str(look.language)}
    return f"/page/passage?{urlencode(place)}"


def outward_link(href: str, title: str, look: Look) -> str:
    """Return a link that opens in a new tab and sends no referrer."""
    return (
        f'<a href="{words(href)}" target="_blank" rel="noopener noreferrer" referrerpolicy="no-referrer">'
        f'{words(title)}<span class="sr"> ({look.say("new_tab")})</span></a>'
    )
