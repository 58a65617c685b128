"""What the chat page shows of a turn, as HTML: for its user what `assistant.turns.views` lets them have, for an operator all.

Everything from a message, a document or a model enters through `markdown.words` or `markdown.safe_html`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final
from urllib.parse import urlencode

from assistant.caller_faults import InsideFault, hidden
from assistant.report_text import MARKS, in_words, pieces, verdict_line
from assistant.service import STOPPED
from assistant.turns.events import Degraded, Judged, NodeFinished, Searched, TurnEnded, TurnEvent
from assistant.turns.feedback import Feedback, Rating
from assistant.turns.progress import phrases
from assistant.turns.transcript import ThreadSummary, Turn
from assistant.turns.views import Stage, UserView, confidence_of, queries_asked, user_event, user_view
from assistant.web.faults import TooMany, Unauthorized
from assistant.web.page.markdown import leads_out, safe_html, words
from contracts.enums import CallPurpose, Language, Outcome, ResponseFormat, Source
from contracts.errors import GuardianError, InputError, ServerClosing, ThreadBusy, TurnStopped, UnknownThread
from contracts.evidence import EvidenceItem
from contracts.profile import Profile
from contracts.report import ClaimFinding, DecisionRecord, GuardianReport
from contracts.result import CitedSource, StructuredAgentResult
from guards.message_check import MAX_MESSAGE_CHARS
from language.figures.counted import count_noun
from nodes.draft import WITHOUT_THE_MODEL
from rendering.answers import cited_passages
from rendering.badges import confidence_badge, spam_badge
from rendering.exits import choices_text
from rendering.texts import say as text_of
from rendering.texts import texts

_TITLE_LENGTH: Final = 80
_LISTED: Final = 100
"""Conversations in the list; older ones are found by their addresses."""
_THUMB: Final = (
    '<svg viewBox="0 0 20 20" aria-hidden="true"><path d="M3 9h3v8H3zM6 9l4-7c1.5 0 2.3 1 2 2.4L11.3 8H16c1.2 0 2 1 '
    '1.7 2.2l-1.4 5.4c-.2.8-.9 1.4-1.8 1.4H6"/></svg>'
)
_FAULTS: Final[dict[type[Exception], str]] = {
    ThreadBusy: "page_busy",
    ServerClosing: "page_closing",
    UnknownThread: "page_unknown",
    TurnStopped: "stopped",
    Unauthorized: "page_unauthorized",
}


@dataclass(frozen=True)
class Look:
    """For whom a page is made.

    Attributes:
        language: Of the page; an answer has its own.
        operator: Whether the operator's view is shown.
    """

    profile: Profile
    language: Language
    operator: bool = False

    @cached_property
    def words(self) -> dict[str, str]:
        """The words of the page's language, as plain text."""
        return phrases(self.language)

    def say(self, key: str, **values: object) -> str:
        """Return one of the page's texts as HTML."""
        return words(self.words[f"page_{key}"].format(**values))


# ---------------------------------------------------------------------------------------------------------- a turn


def turn_html(turn: Turn, look: Look, rated: Feedback | None = None, *, newest: bool = False) -> str:
    """Return a turn of a conversation as its reader may see it, and how they rated its answer.

    What may be chosen are buttons in the newest turn, and a numbered list in any other: there it was answered.
    """
    if turn.result is None:
        return _article(turn.turn_id, turn.question, _render_unfinished(look), look)
    result = StructuredAgentResult.model_validate(turn.result)
    view = user_view(result, look.profile)
    as_buttons = newest and bool(view.choices)
    body = [
        _lead(view, result, look),
        _answer(view, turn.turn_id, look, as_buttons=as_buttons),
        _choices(view) if as_buttons else "",
        _sources(view, turn, look),
    ]
    if look.operator:
        body.insert(0, _badges(result, look))
    body.append(_tools(view, turn, look, rated))
    if look.operator:
        body.append(_panels(result, turn, look))
    return _article(turn.turn_id, turn.question, "".join(body), look)


def anchor_of(turn_id: str) -> str:
    """Return the id of a turn's place on the page: turn ids may have any sign that can be shown."""
    return f"t{hashlib.sha256(turn_id.encode('utf-8', 'replace')).hexdigest()[:12]}"


def _article(turn_id: str, question: str, body: str, look: Look) -> str:
    return (
        f'<article class="turn" id="{anchor_of(turn_id)}">'
        f'<div class="question"><span class="sr">{look.say("you")}: </span>{words(question)}</div>'
        f'<div class="reply"><span class="sr">{look.say("assistant")}: </span>{body}</div></article>'
    )


def _render_unfinished(look: Look) -> str:
    return (
        f'<p class="note">{look.say("unfinished")}</p><p class="choices">'
        f'<button type="button" class="main" data-act="finish">{look.say("finish")}</button>'
        f'<button type="button" data-act="drop">{look.say("drop")}</button></p>'
    )


def _lead(view: UserView, result: StructuredAgentResult, look: Look) -> str:
    kind = _kind(view, result)
    chip = "" if kind == "answered" else f'<span class="chip {kind}">{look.say(f"outcome_{kind}")}</span>'
    return f'<div class="lead">{_intent(view.intent, look)}{chip}</div>' if chip or view.intent else ""


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


def _intent(intent: str, look: Look) -> str:
    return f'<p class="intent"><b>{look.say("understood")}:</b> {words(intent)}</p>' if intent else ""


def _answer(view: UserView, turn_id: str, look: Look, *, as_buttons: bool = False) -> str:
    body = answer_body(view)
    if as_buttons:
        # The list's lead stays: it says that a number or words will do, too.
        intro = texts(view.language)["choices_intro"]
        body = body.replace(choices_text(view.choices, view.language), intro)
    if body.startswith("{"):
        return f'<div class="answer"><pre tabindex="0"><code>{words(body)}</code></pre></div>'
    numbers = [source.number for source in view.sources]
    anchor = f"{anchor_of(turn_id)}-s"
    html = safe_html(body, look.profile.allowed_link_domains, numbers, anchor)
    return f'<div class="answer" lang="{view.language}">{html}</div>'


def _choices(view: UserView) -> str:
    """Return a button for each choice, which sends its label; a screen reader hears its number with it."""
    items = "".join(
        f'<li><button type="button" data-act="choose" data-text="{words(choice.label)}">{words(choice.label)}</button></li>'
        for choice in view.choices
    )
    label = words(texts(view.language)["choices_intro"].rstrip(":"))
    return f'<ol class="offered" lang="{view.language}" aria-label="{label}">{items}</ol>'


def answer_body(view: UserView) -> str:
    """Return an answer without what the page shows beside it: the intent before it and the list of sources behind."""
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
    return f'<div class="sources"><h4>{look.say("sources")}</h4><ol>{lines}</ol></div>'


def _source(source: CitedSource, turn: Turn, look: Look) -> str:
    more = "".join(f' <span class="dim">{words(part)}</span>' for part in (source.version,) if part)
    href = source.url if leads_out(source.url, look.profile.allowed_link_domains) else _passage_url(turn, source.number)
    return f"{_outward(href, source.title or source.url, look)}{more}"


def _passage_url(turn: Turn, number: int, *, rank: bool = False) -> str:
    place = {"c": turn.thread_id, "t": turn.turn_id, "r" if rank else "n": number}
    return f"/page/passage?{urlencode(place)}"


def _outward(href: str, title: str, look: Look) -> str:
    return (
        f'<a href="{words(href)}" target="_blank" rel="noopener noreferrer" referrerpolicy="no-referrer">'
        f'{words(title)}<span class="sr"> ({look.say("new_tab")})</span></a>'
    )


def _tools(view: UserView, turn: Turn, look: Look, rated: Feedback | None) -> str:
    copied = f'data-text="{words(view.answer)}" data-done="{look.say("copied")}"'
    buttons = [
        f'<button type="button" data-act="copy" {copied}>{look.say("copy")}</button>',
        f'<button type="button" data-act="again" data-turn="{words(turn.turn_id)}">{look.say("retry")}</button>',
    ]
    thumbs = ""
    for act, rating in (("good", Rating.UP), ("bad", Rating.DOWN)):
        pressed = "true" if rated is not None and rated.rating is rating else "false"
        name = f'aria-label="{look.say(act)}" title="{look.say(act)}" aria-pressed="{pressed}"'
        thumbs += (
            f'<button type="button" class="{act}" data-act="{act}" data-turn="{words(turn.turn_id)}" {name}>'
            f"{_THUMB}</button>"
        )
    return f'<div class="tools">{"".join(buttons)}<span class="thumbs">{thumbs}</span></div>'


# ------------------------------------------------------------------------------------------------ the operator's part


def _badges(result: StructuredAgentResult, look: Look) -> str:
    plan, moderation, report = result.plan, result.moderation, result.guardian
    found: list[tuple[str, str, str]] = []
    if moderation is not None:
        level = str(moderation.safety_level)
        found.append(("moderation", ", ".join((level, *map(str, moderation.categories))), level.lower()))
    if plan is not None:
        spam = spam_badge(plan.spam_score, look.language)
        found.append(("spam", f"{spam} ({plan.spam_score:.2f})", _grade(1 - plan.spam_score, 0.4, 0.7)))
        sure = confidence_of(result)
        figure, tone = ("", "") if sure is None else (f" ({sure:.2f})", _grade(sure, 0.4, 0.7))
        found.append(("confidence", f"{confidence_badge(sure, look.language)}{figure}", tone))
        found.append(("queries", str(len(queries_asked(result))), ""))
    if report is not None:
        found.append(("verdict", str(report.verdict), str(report.verdict).lower()))
    if result.diagnostics.retries:
        found.append(("retries", str(result.diagnostics.retries), ""))
    spans = "".join(
        f'<span class="badge {words(tone.replace("/", ""))}">{look.say(f"badge_{name}")}: <b>{words(value)}</b></span>'
        for name, value, tone in found
    )
    return f'<div class="badges">{spans}</div>'


def _grade(value: float, low: float, high: float) -> str:
    return "safe" if value > high else "controversial" if value > low else "unsafe"


def _panels(result: StructuredAgentResult, turn: Turn, look: Look) -> str:
    panels = (
        ("analysis", _analysis(result, look)),
        ("articles", _articles(result, turn, look)),
        ("report", _report(result, look)),
        ("path", _path(result)),
    )
    anchor = anchor_of(turn.turn_id)
    return "".join(
        f'<details class="panel {name}" id="{anchor}-{name}"><summary>{look.say(f"panel_{name}")}</summary>'
        f'<div class="inside">{body}</div></details>'
        for name, body in panels
    )


def _analysis(result: StructuredAgentResult, look: Look) -> str:
    plan = result.plan
    if plan is None:
        return _facts([(look.say("outcome"), words(_outcome(result))), ("", look.say("no_plan"))])
    return _facts(
        [
            (look.say("intent"), words(plan.user_intent)),
            (look.say("topic"), words(" › ".join(filter(None, (plan.category, plan.topic))))),
            (look.say("request_type"), words(str(result.request_type or plan.request_type))),
            (look.say("queries"), _list(plan.subqueries)),
            (look.say("plan"), _list(plan.action_plan)),
            (look.say("spam_reason"), words(plan.spam_reason)),
            (look.say("outcome"), words(_outcome(result))),
            (look.say("degraded"), _list(result.diagnostics.degraded)),
        ]
    )


def _outcome(result: StructuredAgentResult) -> str:
    return str(result.outcome) + (f" ({result.block_reason})" if result.block_reason else "")


def _facts(lines: Iterable[tuple[str, str]]) -> str:
    return f"<dl>{''.join(f'<dt>{name}</dt><dd>{value}</dd>' for name, value in lines if value)}</dl>"


def _list(items: Sequence[str]) -> str:
    return f"<ul>{''.join(f'<li>{words(item)}</li>' for item in items)}</ul>" if items else ""


def _articles(result: StructuredAgentResult, turn: Turn, look: Look) -> str:
    if not result.final_articles:
        return f"<p>{look.say('none')}</p>"
    rows = "".join(
        f"<tr><td>{rank}</td><td>{_outward(_passage_url(turn, rank, rank=True), _name(item), look)}</td>"
        f"<td>{item.confidence:.2f}</td><td>{_address(item, look)}</td></tr>"
        for rank, item in enumerate(result.final_articles, 1)
    )
    heads = "".join(f"<th>{look.say(name)}</th>" for name in ("rank", "article", "confidence", "place"))
    return f'<div class="wide" tabindex="0"><table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table></div>'


def _name(item: EvidenceItem) -> str:
    inside = item.heading.removeprefix(item.title).strip(" ›/>")
    return " › ".join(filter(None, (item.title or item.ref, inside)))


def _address(item: EvidenceItem, look: Look) -> str:
    if item.url and leads_out(item.url, look.profile.allowed_link_domains):
        return _outward(item.url, item.url, look)
    return f'<span class="dim">{words(f"{item.source}: {item.document or item.ref}")}</span>'


def _report(result: StructuredAgentResult, look: Look) -> str:
    report, say = result.guardian, look.words
    if report is None:
        key = "judged_not_moderated" if result.plan is None else "judged_not_planned"
        if result.outcome is Outcome.ERROR:
            return f"<p>{words(say['judged_not_broken'].format(why=result.block_reason or ''))}</p>"
        table = "DT-001" if result.plan is None else "DT-002"
        row = next((line.row for line in result.decisions if line.table == table), "")
        return f"<p>{words(say[key].format(row=row))}</p>"
    return _facts(_verdict(report, look)) + _draft(report, look)


def _verdict(report: GuardianReport, look: Look) -> list[tuple[str, str]]:
    say = look.words
    checks = [f"{say[f'judged_check_{name}']}: {say[f'judged_{status}']}" for name, status in report.checks.items()]
    return [
        (words(say["judged_verdict"]), words(verdict_line(report, say))),
        (words(say["judged_checks"]), words("; ".join(checks))),
        (words(say["judged_reasons"]), _list([in_words(reason, say) for reason in report.reasons])),
        (words(say["judged_actions"]), words(", ".join(report.required_actions))),
        (words(say["judged_advice"]), _list([in_words(remark, say) for remark in report.advice])),
    ]


def _draft(report: GuardianReport, look: Look) -> str:
    if not report.draft:
        return f"<p>{words(look.words['judged_no_draft'])}</p>"
    lines = "".join(_piece(claim, text, look) for claim, text in pieces(report.draft, report.claims))
    signs = "".join(
        f'<li><span class="sign {status}">{words(MARKS[status])}</span> {words(look.words[f"claims_{status}"])}</li>'
        for status in dict.fromkeys(claim.status for claim in report.claims)
    )
    return f'<div class="draft">{lines}</div><ul class="signs">{signs}</ul>'


def _piece(claim: ClaimFinding | None, text: str, look: Look) -> str:
    if claim is None:
        return f'<p class="between">{words(text)}</p>'
    missing = f" — {words(look.words['claims_missing'])}: {words(', '.join(claim.missing))}" if claim.missing else ""
    return (
        f'<p class="claim {claim.status}"><span class="sign {claim.status}" '
        f'title="{words(look.words[f"claims_{claim.status}"])}">{words(MARKS[claim.status])}</span> '
        f'{words(text)}<span class="dim">{missing}</span></p>'
    )


def _path(result: StructuredAgentResult) -> str:
    left = list(result.decisions)
    rows: list[str] = []
    for node, ms in result.diagnostics.timings_ms.items():
        decided = [line for line in left if line.node == node]
        left = [line for line in left if line.node != node]
        rows.append(_step(node, ms, decided))
    rows += [_step(line.node, None, [line]) for line in left]
    return f'<ol class="steps">{"".join(rows)}</ol>'


def _step(node: str, ms: float | None, decided: Sequence[DecisionRecord]) -> str:
    lines = "".join(
        f"<li><code>{words(f'{line.table}/{line.row}')}</code> → {words(line.outcome)}</li>" for line in decided
    )
    took = f' <span class="dim">{ms:.1f} ms</span>' if ms is not None else ""
    return f"<li><b>{words(node)}</b>{took}{f'<ul>{lines}</ul>' if lines else ''}</li>"


# --------------------------------------------------------------------------------------------------- a turn that runs


@dataclass
class TurnProgress:
    """What is shown of a turn that runs; told each of its events in order."""

    turn_id: str
    question: str
    look: Look
    stages: list[Stage] = field(default_factory=list[Stage])
    intent: str = ""
    steps: list[str] = field(default_factory=list[str])

    def tell(self, event: TurnEvent) -> bool:
        """Take an event in; return whether it changes what is shown."""
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
        """Return the turn so far."""
        look = self.look
        *done, now = [look.say(f"stage_{stage}") for stage in self.stages] or [look.say("working")]
        lines = "".join(f'<li class="done">{stage}</li>' for stage in done) + f'<li class="now">{now}…</li>'
        steps = f'<ol class="steps">{"".join(self.steps)}</ol>' if self.steps else ""
        body = f'{_intent(self.intent, look)}<ul class="stages" role="status">{lines}</ul>{steps}'
        return _article(self.turn_id, self.question, body, look)


def _told_operator(event: TurnEvent, look: Look) -> str:
    match event:
        case NodeFinished(node=node, ms=ms, decisions=decided):
            return _step(node, ms, decided)
        case Searched(passages=passages):
            return f'<li class="dim">{words(count_noun(passages, look.words["passages"], look.language))}</li>'
        case Judged(verdict=verdict, reasons=reasons):
            return f"<li><b>{verdict}</b> {words(', '.join(reasons))}</li>"
        case Degraded(what=what):
            return f'<li class="dim">{words(what)}</li>'
        case _:
            return ""


# ----------------------------------------------------------------------------------------------------- around the turns


def welcome_html(look: Look) -> str:
    """Return what stands on the page before the first question."""
    profile = look.profile
    product = profile.product
    scope = profile.scope.description.get(look.language, "")
    examples = "".join(
        f'<button type="button" data-act="example" data-text="{text}">{text}</button>'
        for text in (look.say(f"example_{n}", product=product) for n in (1, 2, 3))
    )
    about = f"<p>{look.say('scope', scope=scope)}</p>" if scope else ""
    return (
        f'<div class="welcome"><h2>{look.say("welcome", product=product)}</h2><p>{look.say("welcome_more")}</p>'
        f'{about}<p class="dim">{look.say("examples")}:</p><div class="examples">{examples}</div></div>'
    )


def threads_html(threads: Sequence[ThreadSummary], current: str, look: Look, *, known: bool = True) -> str:
    """Return the list of conversations; it says to the script whether the current one is kept.

    Args:
        threads: Newest first; the first hundred are listed.
        current: Which the browser shows; may be empty.
        look: For whom.
        known: Whether the caller has such a conversation.
    """
    heading = (
        f'<h2 data-conversation="{words(current)}" data-known="{str(known).lower()}">{look.say("conversations")}</h2>'
    )
    if not threads:
        return f'{heading}<p class="dim">{look.say("no_conversations")}</p>'
    lines: list[str] = []
    for summary in threads[:_LISTED]:
        title = " ".join(summary.first_question.split())
        title = title if len(title) <= _TITLE_LENGTH else f"{title[: _TITLE_LENGTH - 1]}…"
        here = ' aria-current="true"' if summary.thread_id == current else ""
        thread = words(summary.thread_id)
        lines.append(
            f'<li{here}><button type="button" class="open" data-act="open" data-thread="{thread}" '
            f'title="{words(title)}">{words(title)}</button>'
            f'<button type="button" class="drop" data-act="delete" data-thread="{thread}" '
            f'data-sure="{look.say("delete_sure")}" aria-label="{look.say("delete")}: {words(title)}" '
            f'title="{look.say("delete")}">×</button></li>'
        )
    return f"{heading}<ul>{''.join(lines)}</ul>"


def header_html(look: Look, *, theme: bool = True) -> str:
    """Return the page's head."""
    other = Language.EN if look.language is Language.RU else Language.RU
    title = look.say("title", product=look.profile.product)
    view = f'<span class="chip view">{look.say("operator")}</span>' if look.operator else ""
    light = (
        f'<button type="button" data-act="theme" aria-label="{look.say("theme")}" title="{look.say("theme")}">◐</button>'
        if theme
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
        f'<div class="actions"><a class="button" data-act="export" href="#" aria-label="{look.say("export")}" '
        f'title="{look.say("export_hint")}" hidden><span class="long">{look.say("export")}</span>'
        f'<span class="short" aria-hidden="true">⤓</span></a>'
        f'<button type="button" data-act="language" data-language="{other}" lang="{other}" '
        f'aria-label="{look.say("language")}" title="{look.say("language_hint")}">'
        f'<span class="long">{look.say("language")}</span>'
        f'<span class="short" aria-hidden="true">{words(str(other).upper())}</span></button>{light}</div></div>'
    )


def notice_html(text: str) -> str:
    """Return a notice above the input; nothing for an empty text."""
    return f'<p class="notice" role="alert">{words(text)}</p>' if text else ""


def fault_text(error: Exception, look: Look) -> str:
    """Say an error in the page's language, with the way out; an error that is not ours by nothing but its kind."""
    say = look.words
    if isinstance(error, InputError) and error.key in ("empty", "too_long"):
        return text_of(look.language, f"input_{error.key}", limit=MAX_MESSAGE_CHARS)
    if isinstance(error, TooMany):
        return say["page_too_many"].format(seconds=error.retry_after_s)
    if key := next((key for kind, key in _FAULTS.items() if isinstance(error, kind)), ""):
        return say[key]
    if isinstance(error, GuardianError):
        shown = hidden(error, look.language)
        if look.operator or isinstance(shown, InsideFault):
            return str(shown)
    return f"{say['page_failed'].format(why=type(error).__name__)}. {say['page_failed_way_out']}"


# ------------------------------------------------------------------------------------------- passages, and whole chats


def cited_of(result: StructuredAgentResult, profile: Profile, number: int) -> list[EvidenceItem]:
    """Return what an answer cites of one of its sources, or what a shown page was found by; nothing without such a source."""
    refs = {page.ref for page in result.pages if page.number == number}
    if refs:
        return [item for item in result.final_articles if item.ref in refs]
    view = user_view(result, profile)
    if result.guardian is None or number not in {source.number for source in view.sources}:
        return []
    wanted = profile.spec_for(result.request_type).response_format if result.request_type else ResponseFormat.MARKDOWN
    given = (result.guardian.draft, result.final_articles, profile.allowed_link_domains)
    return cited_passages(*given, wanted).get(number, [])


def passages_html(items: Sequence[EvidenceItem], look: Look) -> str:
    """Return the small page that shows passages of one source; that there are none, where there are none."""
    if not items:
        title = look.say("no_passage")
        body = f"<p>{look.say('no_passage_way_out')}</p>"
    else:
        title = words(_name(items[0]))
        place = f'<p class="dim">{_address(items[0], look)}</p>'
        note = f'<p class="dim">{look.say("passage_note")}</p>'
        texts_of = (safe_html(item.snippet, look.profile.allowed_link_domains) for item in items)
        body = place + "<hr>".join(f'<div class="answer">{html}</div>' for html in texts_of) + note
    return _small_page(title, body, look)


def no_export_html(look: Look) -> str:
    """Return the small page that stands where a conversation was to be saved that there is not."""
    back = f'<p><a href="/">{look.say("back")}</a></p>'
    return _small_page(look.say("no_export"), f"<p>{look.say('no_export_way_out')}</p>{back}", look)


def _small_page(title: str, body: str, look: Look) -> str:
    return (
        f'<!doctype html><html lang="{look.language}"><head><meta charset="utf-8"><title>{title}</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<link rel="icon" href="data:,"><link rel="stylesheet" href="/page/style.css"></head>'
        f'<body class="passage"><main class="guardian"><h1>{title}</h1>{body}</main></body></html>'
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
