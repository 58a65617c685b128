"""A turn as HTML of the chat page: for its user what `assistant.turns.views` allows, for an operator everything.

All text from a message, a document or a model goes through `markdown.words` or `markdown.safe_html`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from assistant.service import STOPPED
from assistant.turns.events import Degraded, Judged, NodeFinished, Searched, TurnEnded, TurnEvent
from assistant.turns.feedback import Feedback, Rating
from assistant.turns.transcript import Turn
from assistant.turns.views import Stage, UserView, cited_by_number, user_event, user_view
from assistant.web.page.citations import hint_html
from assistant.web.page.look import PENCIL, Look, anchor_of, outward_link, passage_url
from assistant.web.page.markdown import leads_out, safe_html, words
from assistant.web.page.panels import badges_html, panels_html, step_html
from contracts.enums import CallPurpose, Outcome, Source
from contracts.evidence import EvidenceItem
from contracts.result import CitedSource, StructuredAgentResult
from language.figures.counted import count_noun
from nodes.draft import WITHOUT_THE_MODEL
from rendering.exits import choices_text
from rendering.texts import texts

MOST_COMMENT_CHARS: Final = 1000
"""Of a comment that is written on the page."""
_THUMB: Final = (
    '<svg viewBox="0 0 20 20" aria-hidden="true"><path d="M3 9h3v8H3zM6 9l4-7c1.5 0 2.3 1 2 2.4L11.3 8H16c1.2 0 2 1 '
    '1.7 2.2l-1.4 5.4c-.2.8-.9 1.4-1.8 1.4H6"/></svg>'
)


def turn_html(
    turn: Turn, look: Look, rated: Feedback | None = None, *, newest: bool = False, follow_ups: Sequence[str] = ()
) -> str:
    """Return a turn of a conversation as its reader may see it, with their rating of its answer.

    Choices are buttons in the newest turn. In older turns they are a numbered list, because they were answered there.

    Args:
        turn: The turn.
        look: The reader's language and view.
        rated: Their rating.
        newest: Whether it is the last of its conversation, and none runs.
        follow_ups: Questions to go on with.
    """
    if turn.result is None:
        return _article(turn.turn_id, turn.question, _render_unfinished(look), look)
    result = StructuredAgentResult.model_validate(turn.result)
    view = user_view(result, look.profile)
    as_buttons = newest and bool(view.choices)
    body = [
        _lead(view, result, turn.question, look),
        _answer(view, turn.turn_id, look, cited_by_number(result, look.profile), as_buttons=as_buttons),
        _choices(view) if as_buttons else "",
        _sources(view, turn, look),
    ]
    if look.operator:
        body.insert(0, badges_html(result, look))
    body.append(_tools(view, turn, look, rated, rateable=_kind(view, result) != "stopped"))
    body.append(_follow_ups(follow_ups, look))
    if look.operator:
        body.append(panels_html(result, turn, look))
    return _article(turn.turn_id, turn.question, "".join(body), look, editable=True)


def _article(turn_id: str, question: str, body: str, look: Look, *, editable: bool = False) -> str:
    edit = (
        f'<button type="button" data-act="edit" aria-label="{look.say("edit")}" title="{look.say("edit_hint")}">'
        f"{PENCIL}</button>"
        if editable
        else ""
    )
    return (
        f'<article class="turn" id="{anchor_of(turn_id)}"><div class="asked">{edit}'
        f'<div class="question"><span class="sr">{look.say("you")}: </span>{words(question)}</div></div>'
        f'<div class="reply"><span class="sr">{look.say("assistant")}: </span>{body}</div></article>'
    )


def _render_unfinished(look: Look) -> str:
    return (
        f'<p class="note">{look.say("unfinished")}</p><p class="choices">'
        f'<button type="button" class="main" data-act="finish">{look.say("finish")}</button>'
        f'<button type="button" data-act="drop">{look.say("drop")}</button></p>'
    )


def _lead(view: UserView, result: StructuredAgentResult, question: str, look: Look) -> str:
    kind = _kind(view, result)
    chip = "" if kind == "answered" else f'<span class="chip {kind}">{look.say(f"outcome_{kind}")}</span>'
    return f'<div class="lead">{_intent(view.intent, question, look)}{chip}</div>' if chip or view.intent else ""


def _kind(view: UserView, result: StructuredAgentResult) -> str:
    if result.block_reason == STOPPED:
        return "stopped"
    if view.outcome is not Outcome.ANSWERED or not view.sources:
        return str(view.outcome)
    documents = all(source.source in (Source.DOC, Source.POLICY) for source in view.sources)
    return "quoted" if documents and _is_quoted(result) else "checked"


def _is_quoted(result: StructuredAgentResult) -> bool:
    """Whether no model wrote the answer: none was asked for a draft, the last was in vain, or its drafts did not pass."""
    asked = [call for call in result.diagnostics.calls if call.purpose is CallPurpose.DRAFT]
    return not asked or bool(asked[-1].fault) or WITHOUT_THE_MODEL in result.diagnostics.degraded


def _intent(intent: str, question: str, look: Look) -> str:
    """Return how a question was understood; folded away if that only repeats the question."""
    if not intent:
        return ""
    if (asked := " ".join(question.split())) and asked in " ".join(intent.split()):
        return f'<details class="intent"><summary>{look.say("understood")}</summary> {words(intent)}</details>'
    return f'<p class="intent"><b>{look.say("understood")}:</b> {words(intent)}</p>'


def _answer(
    view: UserView, turn_id: str, look: Look, passages: Mapping[int, Sequence[EvidenceItem]], *, as_buttons: bool
) -> str:
    body = answer_body(view)
    if as_buttons:
        # The list's lead stays: it says that a number or words will do, too.
        intro = texts(view.language)["choices_intro"]
        body = body.replace(choices_text(view.choices, view.language), intro)
    if body.startswith("{"):
        return f'<div class="answer"><pre tabindex="0"><code>{words(body)}</code></pre></div>'
    numbers = [source.number for source in view.sources]
    anchor = f"{anchor_of(turn_id)}-s"

    def hint(number: int, said: str) -> str:
        return hint_html(items, said, look) if (items := passages.get(number)) else ""

    html = safe_html(body, look.profile.allowed_link_domains, numbers, anchor, look.contacts, hint)
    return f'<div class="answer" lang="{view.language}">{html}</div>'


def _choices(view: UserView) -> str:
    """Return a button for each choice, which sends its label; a screen reader hears its number with it."""
    items = "".join(
        f'<li><button type="button" data-act="choose" data-text="{words(choice.label)}">{words(choice.label)}</button></li>'
        for choice in view.choices
    )
    label = words(texts(view.language)["choices_intro"].rstrip(":"))
    return f'<ol class="offered" lang="{view.language}" aria-label="{label}">{items}</ol>'


def _follow_ups(questions: Sequence[str], look: Look) -> str:
    if not questions:
        return ""
    buttons = "".join(
        f'<button type="button" data-act="example" data-text="{words(text)}">{words(text)}</button>'
        for text in questions
    )
    return f'<div class="next"><p class="dim">{look.say("follow_ups")}:</p><div class="examples">{buttons}</div></div>'


def answer_body(view: UserView) -> str:
    """Return an answer without what the page shows separately: the intent in front and the list of sources at the end."""
    heading = f"**{texts(view.language)['user_intent_prefix']}**"
    body = view.answer
    if view.intent and body.startswith(heading):
        body = body.partition("\n\n")[2]
    if view.sources and not body.startswith("{"):
        # Ours is the last one: nothing but the sources' lines stands behind it.
        before, _, _ = body.rpartition(f"**{texts(view.language)['sources_heading']}**")
        body = before.rstrip() or body
    return body


def _sources(view: UserView, turn: Turn, look: Look) -> str:
    if not view.sources:
        return ""
    lines = "".join(
        f'<li tabindex="-1" id="{anchor_of(turn.turn_id)}-s{source.number}"><span class="cite">{source.number}</span> '
        f"{_source(source, turn, look)}</li>"
        for source in view.sources
    )
    return f'<div class="sources"><h2>{look.say("sources")}</h2><ol>{lines}</ol></div>'


def _source(source: CitedSource, turn: Turn, look: Look) -> str:
    more = "".join(f' <span class="dim">{words(part)}</span>' for part in (source.version,) if part)
    href = (
        source.url
        if leads_out(source.url, look.profile.allowed_link_domains)
        else passage_url(turn, source.number, look)
    )
    return f"{outward_link(href, source.title or source.url, look)}{more}"


def _tools(view: UserView, turn: Turn, look: Look, rated: Feedback | None, *, rateable: bool) -> str:
    copied = f'data-text="{words(view.answer)}" data-done="{look.say("copied")}"'
    buttons = [
        f'<button type="button" data-act="copy" {copied}>{look.say("copy")}</button>',
        f'<button type="button" data-act="again" data-turn="{words(turn.turn_id)}">{look.say("retry")}</button>',
    ]
    thumbs = ""
    for act, rating in (("good", Rating.UP), ("bad", Rating.DOWN)) if rateable else ():
        pressed = "true" if rated is not None and rated.rating is rating else "false"
        name = f'aria-label="{look.say(act)}" title="{look.say(act)}" aria-pressed="{pressed}"'
        thumbs += (
            f'<button type="button" class="{act}" data-act="{act}" data-turn="{words(turn.turn_id)}" {name}>'
            f"{_THUMB}</button>"
        )
    comment = _comment(turn, rated, look) if rateable and rated is not None else ""
    return f'<div class="tools">{"".join(buttons)}<span class="thumbs">{thumbs}</span>{comment}</div>'


def _comment(turn: Turn, rated: Feedback, look: Look) -> str:
    """Return the field for a comment on a rating; it holds the comment that is kept."""
    label = look.say("comment")
    return (
        f'<span class="comment"><input type="text" maxlength="{MOST_COMMENT_CHARS}" value="{words(rated.comment)}" '
        f'aria-label="{label}" placeholder="{label}">'
        f'<button type="button" data-act="comment" data-turn="{words(turn.turn_id)}">{look.say("comment_send")}</button>'
        "</span>"
    )


@dataclass
class TurnProgress:
    """The display of a running turn; it gets the turn's events in order."""

    turn_id: str
    question: str
    look: Look
    stages: list[Stage] = field(default_factory=list[Stage])
    intent: str = ""
    steps: list[str] = field(default_factory=list[str])

    def tell(self, event: TurnEvent) -> bool:
        """Process an event; return whether it changes the display."""
        if isinstance(event, TurnEnded):
            return False
        told = user_event(event)
        if told is not None:
            self.intent = told.intent or self.intent
            if told.stage is not None:
                self.stages.append(told.stage)
        step = _told_operator(event, self.look) if self.look.operator else ""
        if step:
            self.steps.append(step)
        return told is not None or bool(step)

    def html(self) -> str:
        """Return the turn so far, as HTML."""
        look = self.look
        *done, now = [look.say(f"stage_{stage}") for stage in self.stages] or [look.say("working")]
        lines = "".join(f'<li class="done">{stage}</li>' for stage in done) + f'<li class="now">{now}…</li>'
        steps = f'<ol class="steps">{"".join(self.steps)}</ol>' if self.steps else ""
        body = f'{_intent(self.intent, self.question, look)}<ul class="stages" role="status">{lines}</ul>{steps}'
        return _article(self.turn_id, self.question, body, look)


def _told_operator(event: TurnEvent, look: Look) -> str:
    match event:
        case NodeFinished(node=node, ms=ms, decisions=decided):
            return step_html(node, ms, decided)
        case Searched(passages=passages):
            return f'<li class="dim">{words(count_noun(passages, look.words["passages"], look.language))}</li>'
        case Judged(verdict=verdict, reasons=reasons):
            return f"<li><b>{verdict}</b> {words(', '.join(reasons))}</li>"
        case Degraded(what=what):
            return f'<li class="dim">{words(what)}</li>'
        case _:
            return ""
