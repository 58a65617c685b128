"""Questions for a feature of a product that they do not name: "Does it support SAML?", «Есть ли тёмная тема?»."""

from __future__ import annotations

from typing import Final

from language.lexicon import is_foreign
from language.patterns import read_wording

_WORDING: Final = read_wording(__name__)
_ASKS: Final = (_WORDING.pattern("asks_en"), _WORDING.pattern("asks_ru"))
_MAY_ASK: Final = (_WORDING.pattern("may_ask_en"), _WORDING.pattern("may_ask_ru"))
_ANOTHER: Final = _WORDING.pattern("another")
_DEVICE: Final = _WORDING.pattern("device")
_IMPERSONAL: Final = _WORDING.pattern("impersonal")


def asks_for_a_feature(question: str) -> bool:
    """Whether a question can only be about the product, if nothing was named before it that "it" could be."""
    if _IMPERSONAL.search(question):
        return False
    if not any(pattern.match(question) for pattern in (*_ASKS, *_MAY_ASK)):
        return False
    return not is_foreign(_DEVICE.sub(" ", question))


def names_another(question: str) -> bool:
    """Whether a question behind one for a feature may name another one and says nothing else: "And LDAP?"."""
    return _ANOTHER.fullmatch(question) is not None and not is_foreign(question)
