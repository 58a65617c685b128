"""Questions for a feature of a product that they do not name: "Does it support SAML?", «Есть ли тёмная тема?»."""

from __future__ import annotations

from typing import Final

from language.patterns import read_wording

_WORDING: Final = read_wording(__name__)
_ASKS: Final = (_WORDING.pattern("asks_en"), _WORDING.pattern("asks_ru"))
_IMPERSONAL: Final = _WORDING.pattern("impersonal")


def asks_for_a_feature(question: str) -> bool:
    """Whether a question can only be about the product, if nothing was named before it that "it" could be."""
    return any(pattern.match(question) for pattern in _ASKS) and not _IMPERSONAL.search(question)
