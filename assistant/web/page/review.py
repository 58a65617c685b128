"""The review of turns at `/review` of the server: for roles with `operator_view`, without any script in the browser."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Annotated, Any, Final, TypeAlias
from urllib.parse import parse_qs, urlencode

from fastapi import APIRouter, Depends, FastAPI, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response, StreamingResponse
from pydantic import ValidationError

from assistant.caller_faults import for_caller
from assistant.review.case_file import add_case, read_label
from assistant.review.desk import ReviewDesk, TurnPage
from assistant.review.export import csv_head, csv_line, json_line
from assistant.review.faults import ReviewFault
from assistant.review.records import ReviewQuery, moment
from assistant.service import Service
from assistant.turns.progress import phrases
from assistant.turns.reviews import MAX_NOTE_CHARS
from assistant.web.callers import Asker, Served
from assistant.web.page.look import Look, look_for
from assistant.web.page.review_html import CASES, EXPORT, LIST, TURN, list_html, sentence_html, turn_html
from assistant.web.page.sign_in import sign_in_link
from assistant.web.page.small_pages import STATIC_HEADERS
from contracts.enums import Language, Outcome
from contracts.errors import GuardianError, UnknownThread

_NAMES: Final = ("outcome", "rating", "reason", "since", "until", "profile", "text", "handled", "offset", "lang")
_SAID: Final = ("handled", "unhandled", "note", "case_here", "case_met", "delivered", "kept")
_LONGEST: Final = 300
_MOST_FIELDS: Final = 10
_HEADERS: Final = {
    **STATIC_HEADERS,
    "Cache-Control": "no-store",
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self'; img-src data:; base-uri 'none'; form-action 'self'; "
        "frame-ancestors 'none'"
    ),
}


class RefusedVisit(Exception):  # it is no fault, but a page
    """The page that a reader gets in place of the one they asked for: 403 or 404, and a sentence."""

    def __init__(self, status: int, look: Look, key: str) -> None:
        super().__init__(key)
        self.status = status
        self.look = look
        self.key = key


@dataclass(frozen=True, slots=True)
class _Visit:
    """One request of a reviewer: what they look at, how, and who they are."""

    service: Service
    look: Look
    who: str
    params: Mapping[str, str]

    @property
    def desk(self) -> ReviewDesk:
        return self.service.desk


def _visit(request: Request, service: Served, caller: Asker) -> _Visit:
    accepted = request.headers.get("accept-language", "")
    look = look_for(service.deployed.profile, caller.role, request.query_params.get("lang", ""), accepted)
    if not look.operator:
        raise RefusedVisit(403, look, "forbidden")
    given = request.query_params
    params = {name: given[name][:_LONGEST] for name in _NAMES if given.get(name)}
    return _Visit(service, look, caller.name or "without a key", params)


Visit: TypeAlias = Annotated[_Visit, Depends(_visit)]
router: Final = APIRouter(include_in_schema=False)


def install_review(app: FastAPI) -> None:
    """Add the pages of the review to an application, which has the state of `assistant.web.app`."""

    async def show_refusal(request: Request, error: Exception) -> Response:
        assert isinstance(error, RefusedVisit)  # noqa: S101  # it is installed for these alone
        words = error.look.words
        way = sign_in_link(request, error.look) if error.status == 403 else ""
        html = sentence_html(words["review_title"], words[f"review_{error.key}"], error.look, way)
        return _page(html, error.status)

    for language in Language:
        phrases(language)  # read here, and not while turns wait
    app.add_exception_handler(RefusedVisit, show_refusal)
    app.include_router(router)


@router.get(LIST)
async def show_list(visit: Visit) -> Response:
    """Show the turns that the filters ask for."""
    try:
        page = await visit.desk.list(_query(visit.params), visit.who)
    except ReviewFault as error:
        return _wrong_filters(visit, error)
    return _page(await asyncio.to_thread(list_html, page, visit.params, visit.look))


@router.get(EXPORT)
async def send_export(visit: Visit, format: str = "csv") -> Response:  # noqa: A002  # as the address has it
    """Send all turns that the filters ask for, as a file."""
    table = format != "jsonl"
    try:
        query = _query(visit.params)
    except ReviewFault as error:
        return _wrong_filters(visit, error)
    name, kind = ("turns.csv", "text/csv") if table else ("turns.jsonl", "application/jsonl")
    return StreamingResponse(
        _lines(visit.desk, query, visit.who, table=table),
        headers={**_HEADERS, "Content-Disposition": f'attachment; filename="{name}"'},
        media_type=f"{kind}; charset=utf-8",
    )


@router.get(CASES)
async def send_cases(visit: Visit) -> Response:
    """Send the file of the cases that were saved here."""
    file = visit.service.deployed.review_cases_file
    try:
        text = await asyncio.to_thread(file.read_bytes)
    except FileNotFoundError:
        raise RefusedVisit(404, visit.look, "no_cases") from None
    headers = {**_HEADERS, "Content-Disposition": f'attachment; filename="{file.name}"'}
    return Response(text, media_type="application/jsonl; charset=utf-8", headers=headers)


@router.get(TURN)
async def show_turn(visit: Visit, c: str = "", t: str = "", said: str = "") -> Response:
    """Show one turn, and what was just done with it."""
    return await _turn_page(visit, (c, t), visit.look.words.get(f"review_said_{said}", "") if said in _SAID else "")


@router.post(TURN)
async def change_turn(request: Request, visit: Visit, c: str = "", t: str = "") -> Response:
    """Do with a turn what a form asks for, and show it again; after a fault, with all that was typed."""
    form: Mapping[str, str] = {}
    try:
        form = _form(await request.body())
        said = await _do(visit, (c, t), form)
    except UnknownThread:
        raise RefusedVisit(404, visit.look, "unknown") from None
    except GuardianError as error:
        return await _turn_page(visit, (c, t), _fault_text(error, visit.look), 400, form)
    place = {"c": c, "t": t, "said": said, "lang": str(visit.look.language)}
    return RedirectResponse(f"{TURN}?{urlencode(place)}", 303, _HEADERS)


async def _do(visit: _Visit, place: tuple[str, str], form: Mapping[str, str]) -> str:
    """Do what a form asks for, and return the name of what is said of it.

    Raises:
        ReviewFault: The form asks for nothing that there is.
    """
    desk, who = visit.desk, visit.who
    match form.get("do"):
        case "handle" | "unhandle" as what:
            await desk.handle(*place, who, handled=what == "handle")
            return f"{what}d"
        case "note":
            await desk.note(*place, who, form.get("note", "")[: MAX_NOTE_CHARS + 1])
            return "note"
        case "case":
            ending = form.get("ending", "")
            if ending and ending not in tuple(Outcome):
                raise ReviewFault("no_ending")
            pages, must, must_not = (form.get(name, "").splitlines() for name in ("pages", "must_say", "must_not_say"))
            right = Outcome(ending) if ending else None
            label = await asyncio.to_thread(read_label, pages, right, must, must_not)
            saved = await desk.case(*place, who, label, partial(add_case, visit.service.deployed.review_cases_file))
            return "case_met" if saved.met else "case_here"
        case "hand-over":
            return str(await desk.hand_over(*place, who))
        case _:
            raise ReviewFault("no_form")


async def _turn_page(
    visit: _Visit, place: tuple[str, str], notice: str = "", status: int = 200, form: Mapping[str, str] | None = None
) -> Response:
    try:
        turn = await visit.desk.open(*place, visit.who)
    except UnknownThread:
        raise RefusedVisit(404, visit.look, "unknown") from None
    html = await asyncio.to_thread(turn_html, turn, {"lang": str(visit.look.language)}, visit.look, notice, form or {})
    return _page(html, status)


async def _lines(desk: ReviewDesk, query: ReviewQuery, who: str, *, table: bool) -> AsyncGenerator[str]:
    if table:
        yield csv_head()
    async for record in desk.export(query, who):
        yield csv_line(record) if table else json_line(record)


def _page(html: str, status: int = 200) -> Response:
    return HTMLResponse(html, status, _HEADERS)


def _fault_text(error: GuardianError, look: Look) -> str:
    """Return what is wrong and the way out in the reader's language, without the server's internals."""
    return error.text_in(look.language) if isinstance(error, ReviewFault) else str(for_caller(error, look.language))


def _wrong_filters(visit: _Visit, error: ReviewFault) -> Response:
    nothing = TurnPage((), more=False)
    return _page(list_html(nothing, visit.params, visit.look, error.text_in(visit.look.language)), 400)


def _query(params: Mapping[str, str]) -> ReviewQuery:
    """Return the query of an address.

    Raises:
        ReviewFault: A filter has a value that there is not.
    """
    now = datetime.now(UTC)
    asked: dict[str, Any] = {name: value for name, value in params.items() if name not in ("lang", "handled")}
    for name in ("since", "until"):
        if name in asked:
            asked[name] = moment(asked[name], now)
    if handled := params.get("handled"):
        asked["handled"] = {"yes": True, "no": False}.get(handled, handled)
    try:
        return ReviewQuery.model_validate(asked)
    except ValidationError as error:
        where = error.errors(include_url=False, include_context=False, include_input=False)[0]
        raise ReviewFault("filter", name=where["loc"][0]) from None


def _form(body: bytes) -> dict[str, str]:
    """Return the fields of a form.

    Raises:
        ReviewFault: It is none, or has too many.
    """
    try:
        fields = parse_qs(body.decode(), keep_blank_values=True, max_num_fields=_MOST_FIELDS, errors="strict")
    except ValueError as error:
        raise ReviewFault("no_form") from error
    return {name: values[0] for name, values in fields.items()}
