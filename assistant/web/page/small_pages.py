"""Small separate pages: a cited passage, a shared conversation, an export."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Final

from assistant.sharing import mask_view, mask_words
from assistant.turns.transcript import Turn
from assistant.turns.views import user_view
from assistant.web.page.citations import lines_text, source_name, supporting_sentences
from assistant.web.page.look import Look, anchor_of, outward_link
from assistant.web.page.markdown import leads_out, safe_html, words
from assistant.web.page.panels import article_address
from assistant.web.page.render import answer_body
from contracts.evidence import EvidenceItem
from contracts.result import CitedSource, StructuredAgentResult

STATIC_HEADERS: Final = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
}
"""The headers of every page."""


def passages_html(items: Sequence[EvidenceItem], look: Look, said: Mapping[str, Sequence[str]] | None = None) -> str:
    """Return the small page that shows the passages of one source, or says that there are none.

    Args:
        items: The passages.
        look: The reader's language.
        said: What the answer says by each passage, by its `ref`; the sentences that it rests on are highlighted.
    """
    if not items:
        title = look.say("no_passage")
        body = f"<p>{look.say('no_passage_way_out')}</p>"
    else:
        title = words(source_name(items[0]))
        place = f'<p class="dim">{article_address(items[0], look)}</p>'
        note = f'<p class="dim">{look.say("passage_note")}</p>'
        body = place + "<hr>".join(_passage(item, look, (said or {}).get(item.ref, ())) for item in items) + note
    return small_page(title, body, look)


def _passage(item: EvidenceItem, look: Look, said: Sequence[str]) -> str:
    marked = supporting_sentences(said, item.snippet)
    html = safe_html(item.snippet, look.profile.allowed_link_domains, marked=marked)
    lines = f'<p class="dim">{words(lines_text(item, look))}</p>' if item.lines else ""
    return f'{lines}<div class="answer">{html}</div>'


def shared_html(turns: Sequence[Turn], look: Look, until: int) -> str:
    """Return the page of a shared conversation, with personal data masked; or one that says that the link is not valid.

    Args:
        turns: The turns that may be read; those without an answer are left out.
        look: The reader's language; the operator's view of others' conversations is not for links.
        until: When the link ends, in seconds since 1970.
    """
    if not turns:
        return small_page(look.say("no_share"), f"<p>{look.say('no_share_way_out')}</p>", look)
    day = datetime.fromtimestamp(until, UTC).date().isoformat()
    note = f'<p class="dim">{look.say("shared_note", day=day)}</p>'
    body = "".join(_shared_turn(turn, look) for turn in turns if turn.result is not None)
    return small_page(look.say("shared_title", product=look.profile.product), f"{note}{body}", look)


def _shared_turn(turn: Turn, look: Look) -> str:
    profile = look.profile
    view = mask_view(user_view(StructuredAgentResult.model_validate(turn.result), profile), profile)
    anchor = f"{anchor_of(turn.turn_id)}-s"
    numbers = [source.number for source in view.sources]
    body = answer_body(view)
    if body.startswith("{"):
        html = f'<pre tabindex="0"><code>{words(body)}</code></pre>'
    else:
        html = safe_html(body, profile.allowed_link_domains, numbers, anchor, look.contacts)
    sources = "".join(
        f'<li id="{anchor}{source.number}"><span class="cite">{source.number}</span> {_shared_source(source, look)}</li>'
        for source in view.sources
    )
    listed = f'<div class="sources"><h2>{look.say("sources")}</h2><ol>{sources}</ol></div>' if sources else ""
    return (
        f'<article class="turn"><div class="question"><span class="sr">{look.say("you")}: </span>'
        f'{words(mask_words(turn.question, profile))}</div><div class="reply"><span class="sr">{look.say("assistant")}: '
        f'</span><div class="answer" lang="{view.language}">{html}</div>{listed}</div></article>'
    )


def _shared_source(source: CitedSource, look: Look) -> str:
    title = source.title or source.url
    leads = leads_out(source.url, look.profile.allowed_link_domains)
    return outward_link(source.url, title, look) if leads else words(title)


def no_export_html(look: Look) -> str:
    """Return the small page that says that the conversation to export does not exist."""
    back = f'<p><a href="/?lang={look.language}">{look.say("back")}</a></p>'
    return small_page(look.say("no_export"), f"<p>{look.say('no_export_way_out')}</p>{back}", look)


def small_page(title: str, body: str, look: Look, *, head: str = "", kind: str = "") -> str:
    """Return a page that needs no script.

    Args:
        title: Its title, as HTML.
        body: Its content, as HTML.
        look: The reader's language.
        head: More for its head, as HTML.
        kind: A further class of the page, for its style.
    """
    return (
        f'<!doctype html><html lang="{look.language}"><head><meta charset="utf-8"><title>{title}</title>'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">{head}'
        '<link rel="icon" href="data:,"><link rel="stylesheet" href="/page/style.css"></head>'
        f'<body class="{f"passage {kind}".strip()}"><main class="guardian"><h1>{title}</h1>{body}</main></body></html>'
    )


def export_conversation(turns: Sequence[Turn], look: Look) -> str:
    """Return a conversation as Markdown: what its user saw."""
    parts = [f"# {look.words['page_export_title'].format(product=look.profile.product)}"]
    for turn in turns:
        quoted = "\n".join(f"> {line}" for line in turn.question.split("\n"))
        answer = turn.answer or look.words["page_export_unfinished"]
        parts.append(f"## {look.words['page_you']}, {turn.started_at[:16].replace('T', ' ')} UTC\n\n{quoted}")
        parts.append(f"## {look.words['page_assistant']}\n\n{answer}")
    return "\n\n".join(parts) + "\n"
