"""The review of turns as HTML: the list with its filters, and one turn with what can be done with it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final
from urllib.parse import urlencode

from assistant.report_text import MARKS, in_words
from assistant.review.desk import TurnPage
from assistant.review.records import TurnRecord
from assistant.review.reviewed_turn import ReviewedClaim, ReviewedTry, ReviewedTurn
from assistant.review.turn_text import outcome_text
from assistant.turns.feedback import Rating
from assistant.web.page.look import Look
from assistant.web.page.markdown import safe_html, words
from assistant.web.page.small_pages import small_page
from contracts.enums import Outcome

LIST: Final = "/review"
TURN: Final = "/review/turn"
EXPORT: Final = "/review/export"
CASES: Final = "/review/cases.jsonl"
_TEXTS: Final = ("text", "reason", "since", "until", "profile")
_TITLE_LENGTH: Final = 160

Params = Mapping[str, str]
"""The filters of a list as its address has them; without those that ask for nothing."""


def list_html(page: TurnPage, params: Params, look: Look, notice: str = "") -> str:
    """Return the page with the list of turns.

    Args:
        page: The turns.
        params: The filters.
        look: How it looks.
        notice: What is wrong with the filters; may be empty.
    """
    items = "".join(_item(record, params, look) for record in page.records)
    body = (
        _notice(notice),
        _filters(params, look),
        f'<ul class="turns">{items}</ul>' if items else f"<p>{_say(look, 'none')}</p>",
        _links(page, params, look),
        f'<p><a href="{_address("/", _lang(params))}">{look.say("back")}</a></p>',
    )
    return small_page(_say(look, "title"), "".join(body), look, kind="review")


def turn_html(turn: ReviewedTurn, params: Params, look: Look, notice: str, form: Mapping[str, str]) -> str:
    """Return the page of one turn.

    Args:
        turn: The turn.
        params: The language, and what else stays in addresses.
        look: How it looks.
        notice: What was done, or why it was not; may be empty.
        form: The fields of a form that was refused, which are filled again; otherwise empty.
    """
    record = turn.record
    body = (
        f'<p><a href="{_address(LIST, _lang(params))}">{_say(look, "back")}</a></p>',
        _notice(notice),
        _facts(turn, look),
        f'<div class="asked">{words(record.question)}</div>',
        _answer(record, look),
        *(_try(one, look) for one in turn.tries),
        _section(look, "reasons", _list(in_words(reason, look.words) for reason in turn.reasons)),
        _section(look, "claims", "".join(_claim(claim, look) for claim in turn.claims)),
        _section(look, "after", _list(turn.after)),
        _section(look, "degraded", _list(turn.degraded)),
        _deeds(record, params, look, form),
    )
    title = f"{_say(look, 'one')} {words(record.thread)} · {record.number}"
    return small_page(title, "".join(body), look, kind="review")


def sentence_html(title: str, sentence: str, look: Look, more: str = "") -> str:
    """Return a page that says one thing; title and sentence are plain text, and what follows is HTML."""
    return small_page(words(title), f"<p>{words(sentence)}</p>{more}", look, kind="review")


def _say(look: Look, key: str, **values: object) -> str:
    return words(look.words[f"review_{key}"].format(**values))


def _notice(text: str) -> str:
    return f'<p class="notice" role="status">{words(text)}</p>' if text else ""


def _address(path: str, params: Params) -> str:
    return words(f"{path}?{urlencode(params)}" if params else path)


def _lang(params: Params) -> dict[str, str]:
    return {"lang": params["lang"]} if params.get("lang") else {}


# ----------------------------------------------------------------------------------------------------------- the list


def _filters(params: Params, look: Look) -> str:
    outcomes = [(str(one), look.words[f"outcome_{one}"]) for one in Outcome]
    ratings = [(str(one), look.words[f"review_rating_{one}"]) for one in Rating]
    handled = [("yes", look.words["review_handled"]), ("no", look.words["review_not_handled"])]
    fields = "".join(
        f'<label>{_say(look, f"filter_{name}")}<input name="{name}" value="{words(params.get(name, ""))}"></label>'
        for name in _TEXTS
    )
    chosen = (("outcome", outcomes), ("rating", ratings), ("handled", handled))
    selects = "".join(_select(name, options, params.get(name, ""), look) for name, options in chosen)
    hidden = "".join(f'<input type="hidden" name="lang" value="{words(lang)}">' for lang in _lang(params).values())
    return (
        f'<form class="filters" method="get" action="{LIST}">{hidden}{selects}{fields}'
        f"<button>{_say(look, 'filter')}</button></form>"
    )


def _select(name: str, options: Sequence[tuple[str, str]], chosen: str, look: Look) -> str:
    lines = "".join(
        f'<option value="{words(value)}"{" selected" if value == chosen else ""}>{words(text)}</option>'
        for value, text in (("", look.words["review_any"]), *options)
    )
    return f'<label>{_say(look, f"filter_{name}")}<select name="{name}">{lines}</select></label>'


def _item(record: TurnRecord, params: Params, look: Look) -> str:
    question = " ".join(record.question.split()) or "—"
    title = question if len(question) <= _TITLE_LENGTH else f"{question[: _TITLE_LENGTH - 1]}…"
    href = _address(TURN, {"c": record.thread, "t": record.turn, **_lang(params)})
    more = "".join(f"<p>{part}</p>" for part in (_why(record), _done(record, look)) if part)
    return (
        f'<li><a href="{href}">{words(title)}</a> {_chips(record, look)}'
        f'<p class="dim">{words(record.when[:19].replace("T", " "))} UTC · {words(record.thread)} · {record.number}</p>'
        f"{more}</li>"
    )


def _chips(record: TurnRecord, look: Look) -> str:
    outcome = str(record.outcome or "unfinished")
    kind = "checked" if record.outcome is Outcome.ANSWERED else outcome
    chips = f'<span class="chip {words(kind)}">{words(outcome_text(record, look.words))}</span>'
    if record.rating:
        tone = "checked" if record.rating is Rating.UP else "error"
        chips += f' <span class="chip {tone}">{_say(look, f"rating_{record.rating}")}</span>'
    return chips


def _why(record: TurnRecord) -> str:
    return f"<code>{words(', '.join(record.reasons))}</code>" if record.reasons else ""


def _done(record: TurnRecord, look: Look) -> str:
    parts = [
        *([f"<b>{_say(look, 'comment')}:</b> {words(record.comment)}"] if record.comment else []),
        *([f"<b>{_say(look, 'note')}:</b> {words(record.note)}"] if record.note else []),
        *([f"<b>{_say(look, 'case')}:</b> {words(record.case)}"] if record.case else []),
        *([f"✓ {_say(look, 'handled')}"] if record.handled else []),
    ]
    return "<br>".join(parts)


def _links(page: TurnPage, params: Params, look: Look) -> str:
    kept = {name: value for name, value in params.items() if name != "offset"}
    links = [
        (_address(EXPORT, {**kept, "format": "csv"}), "CSV"),
        (_address(EXPORT, {**kept, "format": "jsonl"}), "JSONL"),
        (_address(CASES, _lang(params)), _say(look, "cases")),
    ]
    if page.more:
        offset = str(int(float(params.get("offset") or 0)) + len(page.records))
        links.insert(0, (_address(LIST, {**kept, "offset": offset}), _say(look, "older")))
    return f'<p class="links">{" · ".join(f"""<a href="{href}">{text}</a>""" for href, text in links)}</p>'


# ----------------------------------------------------------------------------------------------------------- one turn


def _facts(turn: ReviewedTurn, look: Look) -> str:
    record = turn.record
    facts = (
        ("caller", record.caller),
        ("when", f"{record.when[:19].replace('T', ' ')} UTC"),
        ("language", record.language or ""),
        ("profile", record.profile),
        ("turn", record.turn),
        ("intent", turn.intent),
    )
    rows = "".join(f"<dt>{_say(look, name)}</dt><dd>{words(str(value))}</dd>" for name, value in facts if value)
    return f"<p>{_chips(record, look)}</p><dl>{rows}</dl>{f'<p>{done}</p>' if (done := _done(record, look)) else ''}"


def _answer(record: TurnRecord, look: Look) -> str:
    if not record.answer:
        return ""
    if record.answer.startswith("{"):
        return f'<div class="answer"><pre tabindex="0"><code>{words(record.answer)}</code></pre></div>'
    return f'<div class="answer">{safe_html(record.answer, look.profile.allowed_link_domains, contacts=look.contacts)}</div>'


def _section(look: Look, key: str, inside: str) -> str:
    return f"<section><h2>{_say(look, key)}</h2>{inside}</section>" if inside else ""


def _list(items: Iterable[str]) -> str:
    lines = "".join(f"<li>{words(item)}</li>" for item in items)
    return f"<ul>{lines}</ul>" if lines else ""


def _try(one: ReviewedTry, look: Look) -> str:
    searches = "".join(
        f"<li>{_say(look, 'searched', source=search.source, query=search.query, found=search.found)}"
        f"{f'<br>{words(search.error)}' if search.error else ''}{_list(search.passages)}</li>"
        for search in one.searches
    )
    verdict = words(one.verdict) if one.verdict else _say(look, "no_verdict")
    return (
        f"<section><h2>{_say(look, 'try', number=one.number)}</h2>"
        f"<p><b>{_say(look, 'verdict')}:</b> {verdict}</p>"
        f"{_list(in_words(reason, look.words) for reason in one.reasons)}"
        f"{f'<ul>{searches}</ul>' if searches else ''}"
        f'<details class="panel"><summary>{_say(look, "decisions")}</summary>{_list(one.decisions)}</details></section>'
    )


def _claim(claim: ReviewedClaim, look: Look) -> str:
    missing = f"<br>{words(look.words['claims_missing'])}: {words(', '.join(claim.missing))}" if claim.missing else ""
    passages = "".join(
        f"<details><summary>[{passage.number}] {words(passage.title)} <span class='dim'>{words(passage.ref)}"
        f"{f':{passage.lines[0]}-{passage.lines[1]}' if passage.lines else ''}</span></summary>"
        f"<pre tabindex='0'><code>{words(passage.text)}</code></pre></details>"
        for passage in claim.passages
    )
    return (
        f'<div class="claimed {claim.status}"><p><span class="sign {claim.status}">{words(MARKS[claim.status])}</span> '
        f"{words(claim.text)}</p><p class='dim'>{words(look.words[f'claims_{claim.status}'])}{missing}</p>{passages}</div>"
    )


def _deeds(record: TurnRecord, params: Params, look: Look, typed: Mapping[str, str]) -> str:
    action = _address(TURN, {"c": record.thread, "t": record.turn, **_lang(params)})

    def form(do: str, inside: str, button: str) -> str:
        return (
            f'<form method="post" action="{action}"><input type="hidden" name="do" value="{do}">{inside}'
            f"<button>{_say(look, button)}</button></form>"
        )

    endings = [(str(one), look.words[f"outcome_{one}"]) for one in Outcome]
    noted = words(typed.get("note", record.note))
    note = f'<label>{_say(look, "note")}<textarea name="note" rows="3" maxlength="4000">{noted}</textarea></label>'
    texts = "".join(
        f'<label>{_say(look, name)}<textarea name="{field}" rows="2">{words(typed.get(field, ""))}</textarea></label>'
        for field, name in (("pages", "right_pages"), ("must_say", "must_say"), ("must_not_say", "must_not_say"))
    )
    label = f"{_select('ending', endings, typed.get('ending', ''), look)}{texts}"
    return (
        f'<section class="deeds"><h2>{_say(look, "deeds")}</h2>'
        f"{form('unhandle' if record.handled else 'handle', '', 'do_unhandle' if record.handled else 'do_handle')}"
        f"{form('note', note, 'do_note')}{form('case', label, 'do_case')}{form('hand-over', '', 'do_hand_over')}</section>"
    )
