"""The page Documents at `/documents`, for roles with `operator_view`: what is indexed, uploads, and indexing anew.

It needs no script: forms are sent, and while indexing runs the page loads itself again.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Final, NamedTuple
from urllib.parse import urlencode

from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException

from assistant.articles import list_articles
from assistant.indexing import IndexingNote, IndexingRecord, read_indexing_record, upload_folders
from assistant.web.callers import Asker, Served
from assistant.web.page import uploads
from assistant.web.page.indexing_job import IndexingJob, IndexingState
from assistant.web.page.look import Look, look_for
from assistant.web.page.markdown import words
from assistant.web.page.reasons import reason_in
from assistant.web.page.sign_in import sign_in_link
from assistant.web.page.small_pages import STATIC_HEADERS, small_page
from assistant.web.page.uploads import UPLOAD_PATH, UploadRefused, store_upload
from contracts.errors import GuardianError
from language.figures.counted import count_noun

if TYPE_CHECKING:
    from adapters.index.embedded import Folder
    from adapters.reading.stop_switch import StopSwitch
    from assistant.articles import ArticleName
    from assistant.caller import Caller
    from assistant.deployment import Deployment
    from assistant.service import Service

ADDRESS: Final = "/documents"
PAGE: Final = 200
"""Documents of one page."""
MOST_FILES: Final = 50
"""Files of one upload."""
_LOG: Final = logging.getLogger(__name__)
_POLICY: Final = (
    "default-src 'none'; style-src 'self'; img-src data:; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
_HEADERS: Final = {**STATIC_HEADERS, "Content-Security-Policy": _POLICY, "Cache-Control": "no-store"}


class Message(NamedTuple):
    """A line at the head of the page.

    Attributes:
        html: What it says.
        bad: Whether something was refused or failed.
    """

    html: str
    bad: bool = False


class Overview(NamedTuple):
    """What the page shows.

    Attributes:
        record: The last run of indexing, if one is on record.
        state: The run that the server makes now, or made last.
        documents: One page of the list, each with its number.
        after: The number of the last document of the page before.
        folders: The folders that take uploads.
    """

    record: IndexingRecord | None
    state: IndexingState
    documents: Sequence[tuple[int, ArticleName]]
    after: int
    folders: Sequence[Folder]


def document_routes(deployed: Deployment, job: IndexingJob) -> APIRouter:
    """Return the routes of the page.

    Args:
        deployed: The deployment whose documents it shows.
        job: The server's runs of indexing.
    """
    page = _DocumentPage(deployed, job)
    router = APIRouter(prefix=ADDRESS, include_in_schema=False)
    router.add_api_route("", page.show)
    router.add_api_route("/index", page.index, methods=["POST"])
    router.add_api_route("/files", page.upload, methods=["POST"])
    return router


class _DocumentPage:
    def __init__(self, deployed: Deployment, job: IndexingJob) -> None:
        self._deployed = deployed
        self._job = job
        self._storing = asyncio.Lock()

    async def show(
        self, request: Request, service: Served, caller: Asker, after: Annotated[int, Query(ge=0, lt=2**63)] = 0
    ) -> HTMLResponse:
        look = self._look(request, caller.role)
        return await self._show(service, caller, look, after) if look.operator else _refuse(request, look)

    async def index(self, request: Request, caller: Asker) -> Response:
        look = self._look(request, caller.role)
        if not look.operator:
            return _refuse(request, look)
        _LOG.info("%s has the documents indexed anew.", caller.name or "An operator")
        self._job.start()
        return RedirectResponse(_address(look), 303)

    async def upload(self, request: Request, service: Served, caller: Asker) -> Response:
        look = self._look(request, caller.role)
        if not look.operator:
            return _refuse(request, look)
        sent = await _read_upload(request, upload_folders(self._deployed))
        if sent is None:
            return await self._show(service, caller, look, 0, Message(look.say("upload_nothing"), bad=True))
        with self._job.stop_switch() as stop:
            timer = asyncio.get_running_loop().call_later(uploads.UPLOAD_S, stop.press)
            try:
                # One upload at a time: reading takes a thread, and a file may take a minute.
                async with self._storing:
                    messages = await asyncio.to_thread(_store, sent, look, stop)
            finally:
                timer.cancel()
        taken = sum(not message.bad for message in messages)
        _LOG.info("%s put %d files into %s.", caller.name or "An operator", taken, sent.folder.path)
        if taken:
            self._job.start()
        return await self._show(service, caller, look, 0, *messages)

    def _look(self, request: Request, role: str) -> Look:
        chosen, accepted = request.query_params.get("lang", ""), request.headers.get("accept-language", "")
        return look_for(self._deployed.profile, role, chosen, accepted)

    async def _show(self, service: Service, caller: Caller, look: Look, after: int, *messages: Message) -> HTMLResponse:
        try:
            listed = await list_articles(service, caller, after, PAGE)
        except GuardianError as error:
            # Nothing is indexed yet, or the index is damaged: this page is where to begin.
            listed, messages = [], (*messages, Message(words(reason_in(str(error), look.language)), bad=True))
        record = await asyncio.to_thread(read_indexing_record, self._deployed)
        overview = Overview(record, self._job.state, listed, after, upload_folders(self._deployed))
        return HTMLResponse(documents_html(overview, messages, look), headers=_HEADERS)


def _refuse(request: Request, look: Look) -> HTMLResponse:
    body = f"<p>{look.say_with_code('operators_only')}</p>{sign_in_link(request, look)}{_back(look)}"
    return HTMLResponse(small_page(look.say("documents"), body, look), 403, _HEADERS)


class Upload(NamedTuple):
    """What the form sends.

    Attributes:
        folder: Where the files are to go.
        files: Name and content of each.
        replace: Whether files of the same names may be replaced.
    """

    folder: Folder
    files: Sequence[tuple[str, bytes]]
    replace: bool


async def _read_upload(request: Request, folders: Sequence[Folder]) -> Upload | None:
    """Return what a form sends; `None` if it sends no file, or names no folder that there is."""
    try:
        async with request.form(max_files=MOST_FILES, max_fields=4) as form:
            number = str(form.get("folder", "0"))
            sent = [file for file in form.getlist("files") if isinstance(file, UploadFile) and file.filename]
            files = [(file.filename or "", await file.read()) for file in sent]
            replace = form.get("replace") == "on"
    except HTTPException:
        return None
    if not files or number not in map(str, range(len(folders))):
        return None
    return Upload(folders[int(number)], files, replace)


def _store(upload: Upload, look: Look, stop: StopSwitch) -> list[Message]:
    messages: list[Message] = []
    for name, content in upload.files:
        try:
            taken = store_upload(upload.folder, name, content, replace=upload.replace, stop=stop)
            messages.append(Message(look.say("upload_taken", name=taken)))
        except UploadRefused as refused:
            why = {"reason": reason_in(str(refused.values.get("reason", "")), look.language)}
            messages.append(Message(look.say(f"upload_{refused.why}", **{**refused.values, **why}), bad=True))
    return messages


def _address(look: Look, path: str = "", **more: int) -> str:
    """Return an address of the page, which keeps the reader's language."""
    return f"{ADDRESS}{path}?{urlencode({**more, 'lang': str(look.language)})}"


def _back(look: Look) -> str:
    return f'<p><a href="/?lang={look.language}">{look.say("back")}</a></p>'


def documents_html(overview: Overview, messages: Sequence[Message], look: Look) -> str:
    """Return the page.

    Args:
        overview: What it shows.
        messages: Lines at its head.
        look: The reader's language.
    """
    running = overview.state.running
    # What became of each file is to be read in peace.
    head = f'<meta http-equiv="refresh" content="1; url={words(_address(look))}">' if running and not messages else ""
    parts = [
        *(_message(message) for message in messages),
        _progress(overview.state, look),
        f'<p><a href="{words(_address(look))}">{look.say("indexing_watch")}</a></p>' if running and messages else "",
        _last_run(overview.record, look),
        _index_form(look) if not running else "",
        _upload_form(overview.folders, look),
        _notes("left_out", overview.record.left_out, overview.record.left_out_in_all, look) if overview.record else "",
        _notes("warnings", overview.record.warnings, overview.record.warnings_in_all, look) if overview.record else "",
        _list(overview, look),
        _back(look),
    ]
    return small_page(look.say("documents"), "".join(parts), look, head=head)


def _message(message: Message) -> str:
    kind, role = ("notice", "alert") if message.bad else ("done", "status")
    return f'<p class="{kind}" role="{role}">{message.html}</p>'


def _progress(state: IndexingState, look: Look) -> str:
    if state.fault:
        why = reason_in(state.fault, look.language)
        return _message(Message(look.say("indexing_failed", why=why), bad=True))
    if not state.running:
        return ""
    share = f' value="{state.done}" max="{state.total}"' if state.total else ""
    stage = look.say(f"indexing_{state.stage}")
    count = f" {state.done}/{state.total}" if state.total else ""
    file = f' <span class="dim">{words(state.file)}</span>' if state.file else ""
    return f'<p role="status">{stage}{count}{file}<br><progress aria-label="{stage}"{share}></progress></p>'


def _last_run(record: IndexingRecord | None, look: Look) -> str:
    if record is None:
        return f'<p class="dim">{look.say("indexing_never")}</p>'
    when = record.ended_at[:16].replace("T", " ")
    holds = look.say(
        "indexing_holds",
        documents=count_noun(record.documents, look.words["page_count_documents"], look.language),
        passages=count_noun(record.passages, look.words["passages"], look.language),
    )
    told = look.say("indexing_last", when=when, **record.model_dump(include={"seconds", *_COUNTS}))
    return f'<p>{holds}</p><p class="dim">{told}</p>'


_COUNTS: Final = frozenset({"added", "changed", "removed", "unchanged"})


def _index_form(look: Look) -> str:
    return f'<form method="post" action="{words(_address(look, "/index"))}"><button class="button">{look.say("index_now")}</button></form>'


def _upload_form(folders: Sequence[Folder], look: Look) -> str:
    if not folders:
        return f'<h2>{look.say("upload")}</h2><p class="dim">{look.say_with_code("upload_off")}</p>'
    options = "".join(f'<option value="{n}">{words(folder.path.name)}</option>' for n, folder in enumerate(folders))
    action = words(_address(look, UPLOAD_PATH.removeprefix(ADDRESS)))
    choice = f'<p><label>{look.say("upload_folder")} <select name="folder">{options}</select></label></p>'
    return (
        f'<h2>{look.say("upload")}</h2><form method="post" action="{action}" enctype="multipart/form-data">'
        f'<p><label>{look.say("upload_files")} <input type="file" name="files" multiple required></label></p>'
        f"{choice if len(folders) > 1 else ''}"
        f'<p><label><input type="checkbox" name="replace"> {look.say("upload_replace")}</label></p>'
        f'<button class="button">{look.say("upload_send")}</button></form>'
        f'<p class="dim">{look.say("upload_note")}</p>'
    )


def _notes(kind: str, notes: Sequence[IndexingNote], in_all: int, look: Look) -> str:
    if not notes:
        return ""
    rows = "".join(
        f"<tr><td>{words(note.path)}</td><td>{words(reason_in(note.reason, look.language))}</td></tr>" for note in notes
    )
    more = (
        f'<p class="dim">{look.say_with_code("notes_more", count=in_all - len(notes))}</p>'
        if in_all > len(notes)
        else ""
    )
    return (
        f'<details open><summary>{look.say(f"documents_{kind}")} ({in_all})</summary><div class="scroll"><table>'
        f"<thead><tr><th>{look.say('file')}</th><th>{look.say('reason')}</th></tr></thead>"
        f"<tbody>{rows}</tbody></table></div>{more}</details>"
    )


def _list(overview: Overview, look: Look) -> str:
    if not overview.documents:
        return ""
    rows = "".join(
        f"<tr><td>{words(name.title)}</td><td>{words(name.document)}</td><td>{words(name.version)}</td></tr>"
        for _, name in overview.documents
    )
    last = overview.documents[-1][0]
    pages = [f'<a href="{words(_address(look))}">{look.say("first_page")}</a>'] if overview.after else []
    if len(overview.documents) == PAGE:
        pages.append(f'<a href="{words(_address(look, after=last))}">{look.say("next_page")}</a>')
    return (
        f'<h2>{look.say("documents_indexed")}</h2><div class="scroll"><table><thead><tr><th>{look.say("title_of")}</th>'
        f"<th>{look.say('file')}</th><th>{look.say('version')}</th></tr></thead><tbody>{rows}</tbody></table></div>"
        f"<p>{' · '.join(pages)}</p>"
    )
