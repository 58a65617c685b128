"""Evidence without what no answer may say: a drafter cannot repeat what it has not seen."""

from __future__ import annotations

from collections.abc import Iterable

from contracts.evidence import Article, EvidenceItem, PassageTrace, QueryTrace
from contracts.profile import Profile
from guards.policy_check import mask
from language.secrets import without_credentials


def redacted(items: Iterable[EvidenceItem], profile: Profile, role: str) -> list[EvidenceItem]:
    """Return evidence in which secrets and personal data are masked; `EvidenceItem.redacted` names the rules.

    An address is no secret, but loses the user name and password that it may carry; one that still holds something is
    left out. Evidence that was redacted before stays as it is.
    """
    return [_redacted(item, profile, role) for item in items]


def redacted_trace(trace: QueryTrace, profile: Profile, role: str) -> QueryTrace:
    """Return a trace whose titles, headings and addresses say no more than the evidence does."""
    return trace.model_copy(
        update={
            "articles": [_article(article, profile, role) for article in trace.articles],
            "passages": tuple(_passage(row, profile, role) for row in trace.passages),
        }
    )


def _redacted(item: EvidenceItem, profile: Profile, role: str) -> EvidenceItem:
    rules: list[str] = []
    changed: dict[str, object] = {}
    for name in ("snippet", "title", "heading"):
        said, found = mask(getattr(item, name), profile, role)
        if found:
            changed[name] = said
            rules += found
    if item.url and (address := _address(item.url, profile, role)) != item.url:
        changed["url"] = address
        rules += mask(item.url, profile, role)[1]
    if not changed:
        return item
    return item.model_copy(update={**changed, "redacted": tuple(dict.fromkeys((*item.redacted, *rules)))})


def _address(url: str, profile: Profile, role: str) -> str | None:
    """Return an address without what it must not say; `None` where nothing of use would be left."""
    found = mask(url, profile, role)[1]
    if not found:
        return url
    bare = without_credentials(url)
    return None if mask(bare, profile, role)[1] else bare


def _article(article: Article, profile: Profile, role: str) -> Article:
    title, url = article.get("title"), article.get("url")
    return {
        **article,
        **({"title": mask(title, profile, role)[0]} if isinstance(title, str) else {}),
        **({"url": _address(url, profile, role)} if isinstance(url, str) else {}),
    }


def _passage(row: PassageTrace, profile: Profile, role: str) -> PassageTrace:
    title, heading = mask(row.title, profile, role)[0], mask(row.heading, profile, role)[0]
    if (title, heading) == (row.title, row.heading):
        return row
    return row.model_copy(update={"title": title, "heading": heading})
