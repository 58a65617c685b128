"""Evidence without values that no answer may say: a drafter cannot repeat what it has not seen."""

from __future__ import annotations

import re
from collections.abc import Iterable
from hashlib import sha256
from typing import Final
from urllib.parse import unquote

from contracts.evidence import Article, EvidenceItem, PassageTrace, QueryTrace
from contracts.ports import SearchReply
from contracts.profile import Profile
from guards.policy_check import mask
from language.attacks.demands import name_asks_for_secrets
from language.attacks.orders import ORDERS, without_orders
from language.privacy.secrets import without_credentials
from language.privacy.spans import MARK

_SHOWN: Final = ("snippet", "title", "heading", "version", "found", "document", "ref")
_QUOTED: Final = ("snippet", "title", "heading", "version", "found")
_IDS: Final = ("document", "ref", "copy_of")
"""They are shown, too: the name of a file, where a source has no address."""
_LETTERS: Final = str.maketrans("0123456789", "ghijklmnop")


def redact(items: Iterable[EvidenceItem], profile: Profile, role: str) -> list[EvidenceItem]:
    """Return evidence with secrets and personal data masked; `EvidenceItem.redacted` names the rules.

    An address loses its user name and password; if it still holds a forbidden value, it is left out. Evidence that is
    already redacted stays as it is. Sentences that give orders to their reader are removed, and a passage of only such
    sentences is left out.
    """
    fit = (_redact_item(item, profile, role) for item in items)
    return [item for item in fit if item.snippet.strip() or ORDERS not in item.redacted]


def redacted_trace(trace: QueryTrace, profile: Profile, role: str) -> QueryTrace:
    """Return a trace with ids, titles, headings and addresses that reveal no more than the evidence does."""
    return trace.model_copy(
        update={
            "articles": [_article(article, profile, role) for article in trace.articles],
            "passages": tuple(_passage(row, profile, role) for row in trace.passages),
            "versions": tuple(mask(version, profile, role)[0] for version in trace.versions),
        }
    )


def redacted_reply(reply: SearchReply, profile: Profile, role: str) -> SearchReply:
    """Return a reply of a source without what no answer may say."""
    return SearchReply(
        tuple(redact(reply.items, profile, role)), redacted_trace(reply.trace, profile, role), reply.calls
    )


def _redact_item(item: EvidenceItem, profile: Profile, role: str) -> EvidenceItem:
    rules: list[str] = []
    changed: dict[str, object] = {}
    for name in _SHOWN:
        said, found = _mask_field(name, getattr(item, name), profile, role)
        if found:
            changed[name] = said
            rules += found
    for name in _QUOTED:
        said, ordered = without_orders(str(changed.get(name, getattr(item, name))))
        if ordered:
            changed[name] = said
            rules.append(ORDERS)
    if item.url and (address := _address(item.url, profile, role)) != item.url:
        changed["url"] = address
        rules += mask(item.url, profile, role)[1] or [ORDERS]
    if not changed:
        return item
    return item.model_copy(update={**changed, "redacted": tuple(dict.fromkeys((*item.redacted, *rules)))})


def _mask_field(name: str, text: str, profile: Profile, role: str) -> tuple[str, tuple[str, ...]]:
    """Mask a field. Ids that differ still do, for six letters of a hash stand behind the mark; `#` and what follows stay."""
    said, found = mask(text, profile, role)
    if name in _IDS and not found and _demands(text):
        number = _NUMBER.search(text) if name == "ref" else None
        said, found = f"[redacted: {ORDERS}]{number[0] if number else ''}", (ORDERS,)
    if found and name in _IDS:
        of_a_document = (text.rpartition("#")[0] if name == "ref" else "") or text
        letters = sha256(of_a_document.encode()).hexdigest()[:6].translate(_LETTERS)
        said = MARK.sub(lambda mark: f"{mark.group()}-{letters}", said, count=1)
    return said, found


def _demands(place: str) -> bool:
    """Whether a file's name or an address demands a secret, read as words: it is shown where a title is missing."""
    return bool(name_asks_for_secrets(_PARTS.sub(" ", unquote(place))))


_NUMBER: Final = re.compile(r"#\d{1,9}$")
_PARTS: Final = re.compile(r"[-_./\\:#+]+")


def _address(url: str, profile: Profile, role: str) -> str | None:
    """Return an address without what it must not say; `None` where nothing of use would be left."""
    if _demands(url):
        return None
    found = mask(url, profile, role)[1]
    if not found:
        return url
    bare = without_credentials(url)
    return None if mask(bare, profile, role)[1] else bare


def _article(article: Article, profile: Profile, role: str) -> Article:
    url = article.get("url")
    return {
        **{
            name: _mask_field(name, said, profile, role)[0] if isinstance(said, str) and name != "url" else said
            for name, said in article.items()
        },
        **({"url": _address(url, profile, role)} if isinstance(url, str) else {}),
    }


def _passage(row: PassageTrace, profile: Profile, role: str) -> PassageTrace:
    names = ("ref", "document", "title", "heading", "copy_of")
    said = {name: _mask_field(name, getattr(row, name), profile, role)[0] for name in names}
    return row if all(getattr(row, name) == new for name, new in said.items()) else row.model_copy(update=said)
