"""The parts of the page around a conversation: welcome, list of conversations, header, notices."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

from assistant.caller_faults import InsideFault, hidden
from assistant.turns.transcript import MAX_TITLE_CHARS, ThreadSummary
from assistant.web.faults import TooMany, Unauthorized
from assistant.web.page.look import PENCIL, Look
from assistant.web.page.markdown import words
from contracts.errors import (
    BudgetSpent,
    GuardianError,
    InputError,
    ServerClosing,
    ThreadBusy,
    TurnStopped,
    UnknownThread,
)
from guards.message_check import MAX_MESSAGE_CHARS
from rendering.texts import say as text_of

_TITLE_LENGTH: Final = 80
_LISTED: Final = 100
"""Conversations in the list; older ones are found by their addresses."""
_WEEK: Final = 7
"""Days after which a conversation is older than those of the week."""
_PIN: Final = '<svg viewBox="0 0 20 20" aria-hidden="true"><path d="M7 3h6l-1 5 3 3H5l3-3zM10 11v6"/></svg>'
_FAULTS: Final[dict[type[Exception], str]] = {
    BudgetSpent: "page_budget_spent",
    ThreadBusy: "page_busy",
    ServerClosing: "page_closing",
    UnknownThread: "page_unknown",
    TurnStopped: "stopped",
    Unauthorized: "page_unauthorized",
}


def welcome_html(look: Look, questions: Sequence[str]) -> str:
    """Return the welcome text, which the page shows before the first question.

    Args:
        look: The reader's language.
        questions: Questions to begin with; without any, the page offers none.
    """
    profile = look.profile
    product = profile.product
    scope = profile.scope.description.get(look.language, "")
    buttons = "".join(
        f'<button type="button" data-act="example" data-text="{words(text)}">{words(text)}</button>'
        for text in questions
    )
    examples = f'<p class="dim">{look.say("examples")}:</p><div class="examples">{buttons}</div>' if buttons else ""
    about = f"<p>{look.say('scope', scope=scope)}</p>" if scope else ""
    return (
        f'<div class="welcome"><h2>{look.say("welcome", product=product)}</h2><p>{look.say("welcome_more")}</p>'
        f"{about}{examples}</div>"
    )


def finder_html(look: Look) -> str:
    """Return the field that searches the list of conversations."""
    label = look.say("find")
    return f'<input type="search" id="g-search" aria-label="{label}" placeholder="{label}" autocomplete="off">'


def threads_html(
    threads: Sequence[ThreadSummary],
    current: str,
    look: Look,
    *,
    known: bool = True,
    now: datetime | None = None,
    searched: bool = False,
) -> str:
    """Return the list of conversations, by date; it tells the script whether the current one is stored.

    Args:
        threads: The conversations, newest first; the first hundred are listed.
        current: The conversation that the browser shows; may be empty.
        look: The reader's language and view.
        known: Whether the caller has such a conversation.
        now: The reader's time, with their zone; UTC if not given.
        searched: Whether these are the ones that a search found.
    """
    heading = (
        f'<h2 data-conversation="{words(current)}" data-known="{str(known).lower()}">{look.say("conversations")}</h2>'
    )
    if not threads:
        return f'{heading}<p class="dim">{look.say("nothing_found" if searched else "no_conversations")}</p>'
    moment = now or datetime.now(UTC)
    groups: dict[str, list[str]] = {"pinned": []}
    for summary in sorted(threads, key=lambda summary: not summary.pinned)[:_LISTED]:
        age = "pinned" if summary.pinned else _age_of(summary.last_at, moment)
        groups.setdefault(age, []).append(_thread(summary, current, look))
    parts = (f"<h3>{look.say(f'when_{age}')}</h3><ul>{''.join(lines)}</ul>" for age, lines in groups.items() if lines)
    return heading + "".join(parts)


def _age_of(last_at: str, now: datetime) -> str:
    """Return the group of a conversation by its last message; one that has just begun has none."""
    try:
        days = (now.date() - datetime.fromisoformat(last_at).astimezone(now.tzinfo).date()).days if last_at else 0
    except (ValueError, OverflowError):
        days = _WEEK  # written by nobody of ours
    if days < 1:
        return "today"
    return "yesterday" if days == 1 else "week" if days < _WEEK else "older"


def _thread(summary: ThreadSummary, current: str, look: Look) -> str:
    whole = " ".join((summary.title or summary.first_question).split())
    title = words(whole if len(whole) <= _TITLE_LENGTH else f"{whole[: _TITLE_LENGTH - 1]}…")
    here = ' aria-current="true"' if summary.thread_id == current else ""
    thread = words(summary.thread_id)
    pin = look.say("unpin" if summary.pinned else "pin")
    rename = look.say("rename")
    return (
        f'<li{here}><button type="button" class="open" data-act="open" data-thread="{thread}" '
        f'title="{title}">{title}</button>'
        f'<button type="button" class="small" data-act="pin" data-thread="{thread}" '
        f'data-on="{str(not summary.pinned).lower()}" aria-label="{pin}: {title}" title="{pin}">{_PIN}</button>'
        f'<button type="button" class="small" data-act="rename" data-thread="{thread}" data-title="{words(whole[:MAX_TITLE_CHARS])}" '
        f'data-ask="{look.say("rename_ask")}" aria-label="{rename}: {title}" title="{rename}">{PENCIL}</button>'
        f'<button type="button" class="small drop" data-act="delete" data-thread="{thread}" '
        f'data-sure="{look.say("delete_sure")}" aria-label="{look.say("delete")}: {title}" '
        f'title="{look.say("delete")}">×</button></li>'
    )


def header_html(look: Look, *, theme: bool = True, share: bool = False) -> str:
    """Return the page's header. On a phone, what leads away from the talk is in a menu of the header.

    Args:
        look: The reader's language and view.
        theme: Whether it has a button for light and dark.
        share: Whether it has one that shares the conversation.
    """
    others = [language for language in look.profile.languages if language is not look.language]
    switch = "".join(
        f'<button type="button" data-act="language" data-language="{other}" lang="{other}" '
        f'title="{look.say("language_hint")}"><span class="long">{look.say("language")}</span>'
        f'<span class="short">{words(str(other).upper())}<span class="sr"> {look.say("language")}</span></span></button>'
        for other in others
    )
    title = look.say("title", product=look.profile.product)
    view = f'<span class="chip view">{look.say("operator")}</span>' if look.operator else ""
    label = words(look.words["review_link"])
    operators = (
        f'<a class="button" href="/review?lang={look.language}">{label}</a>'
        f'<a class="button" href="/documents?lang={look.language}">{look.say("documents")}</a>'
        if look.operator
        else ""
    )
    light = (
        f'<button type="button" data-act="theme" aria-label="{look.say("theme")}" title="{look.say("theme")}">◐</button>'
        if theme
        else ""
    )
    shares = (
        f'<button type="button" data-act="share" title="{look.say("share_hint")}" hidden>{look.say("share")}</button>'
        if share
        else ""
    )
    return (
        f'<div class="bar" data-language="{look.language}" data-title="{title}">'
        f'<a class="skip" href="#g-chat" data-act="skip" data-to="talk">{look.say("skip_talk")}</a>'
        f'<a class="skip" href="#g-box" data-act="skip" data-to="box">{look.say("skip_box")}</a>'
        f'<button type="button" class="menu" data-act="menu" aria-label="{look.say("menu")}" '
        f'title="{look.say("menu")}">☰</button>'
        f'<div class="name"><h1>{title}{view}</h1>'
        f"<p>{look.say('subtitle')}</p></div>"
        f'<div class="actions"><button type="button" class="more" data-act="more" aria-label="{look.say("more")}" '
        f'title="{look.say("more")}" aria-expanded="false" aria-controls="g-more" hidden>⋯</button>'
        f'<div id="g-more">{operators}<a class="button" data-act="export" href="#" title="{look.say("export_hint")}" '
        f"hidden>{look.say('export')}</a>{shares}</div>{switch}{light}</div></div>"
    )


def notice_html(text: str) -> str:
    """Return a warning above the input; nothing for an empty text."""
    return f'<p class="notice" role="alert">{words(text)}</p>' if text else ""


def info_html(text: str) -> str:
    """Return a notice above the input that warns of nothing: something was done that was asked for."""
    return f'<p class="notice info" role="status">{words(text)}</p>'


def share_html(link: str, look: Look, role: str, day: str) -> str:
    """Return the notice of a new link to a conversation, with a button that copies it.

    Args:
        link: The path of the link.
        look: The reader's language.
        role: Whom it is for; empty if it is for everybody who has it.
        day: The day on which it ends.
    """
    told = look.say("share_made", role=role, day=day) if role else look.say("share_made_open", day=day)
    return (
        f'<p class="notice info" role="status">{told} '
        f'<a href="{words(link)}" target="_blank" rel="noopener">{look.say("share_open")}</a> '
        f'<button type="button" data-act="copy" data-link="{words(link)}" data-done="{look.say("copied")}">'
        f"{look.say('share_copy')}</button></p>"
    )


def fault_text(error: Exception, look: Look) -> str:
    """Return an error in the page's language, with how to fix it; an error that is not ours shows only its kind."""
    say = look.words
    if isinstance(error, InputError) and error.key in ("empty", "too_long"):
        return text_of(look.language, f"input_{error.key}", limit=MAX_MESSAGE_CHARS)
    if isinstance(error, InputError) and error.key == "long_title":
        return say["page_long_title"].format(limit=MAX_TITLE_CHARS)
    if isinstance(error, TooMany):
        return say["page_too_many"].format(seconds=error.retry_after_s)
    if key := next((key for kind, key in _FAULTS.items() if isinstance(error, kind)), ""):
        return say[key]
    if isinstance(error, GuardianError):
        shown = hidden(error, look.language)
        if look.operator or isinstance(shown, InsideFault):
            return str(shown)
    return f"{say['page_failed'].format(why=type(error).__name__)}. {say['page_failed_way_out']}"
