"""`guardian review`: lists the turns of all callers, opens one, and records what is done about it."""

from __future__ import annotations

import argparse
import asyncio
import json
import shutil
import sys
from contextlib import aclosing
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from assistant.cli.reviewer import reviewer
from assistant.deployment import Deployment, deployment
from assistant.review.case_file import add_case, read_label
from assistant.review.desk import ReviewDesk, open_desk
from assistant.review.export import csv_head, csv_line, json_line
from assistant.review.records import MOST_AT_ONCE, ReviewQuery, moment
from assistant.review.turn_text import list_text, turn_text
from assistant.turns.progress import own_language, phrases
from assistant.wiring.storage import has_conversations
from contracts.enums import Outcome
from contracts.errors import InputError, UnknownThread

if TYPE_CHECKING:
    from assistant.review.records import TurnRecord

_USUAL_LIMIT = 50
_USUAL_WIDTH = 100


def run(options: argparse.Namespace) -> int:
    """Do what is asked; exit code 0 even if no turn matches."""
    deployed = deployment(options.profile)
    asyncio.run(_run(deployed, options))
    return 0


async def _run(deployed: Deployment, options: argparse.Namespace) -> None:
    query = _query(options) if options.action in ("list", "export") else ReviewQuery()
    # Looking makes no file: where there is none, there are no turns.
    if not has_conversations(deployed):
        if options.action not in ("list", "export", "looks"):
            raise UnknownThread(f"There is no conversation {options.thread!r}.", "`guardian review` lists the turns.")
        _say_nothing(options)
        return
    async with open_desk(deployed, sending=options.action == "hand-over") as desk:
        work = {"list": _list, "export": _export}.get(options.action)
        if work is not None:
            await work(desk, query, options)
        elif options.action == "looks":
            await _looks(desk, options)
        elif options.action == "show":
            await _show(desk, options)
        else:
            await _do(desk, options)


def _query(options: argparse.Namespace) -> ReviewQuery:
    now = datetime.now(UTC)
    limit = options.limit if options.limit is not None else _USUAL_LIMIT
    try:
        return ReviewQuery(
            outcome=options.outcome,
            rating=options.rating,
            reason=options.reason,
            since=moment(options.since, now) if options.since else None,
            until=moment(options.until, now) if options.until else None,
            profile=options.profile_version,
            text=options.text,
            handled=None if options.handled is None else options.handled == "yes",
            limit=limit if options.action == "list" else MOST_AT_ONCE,
            offset=options.offset,
        )
    except ValidationError as error:
        where: Any = error.errors(include_url=False, include_context=False, include_input=False)[0]
        raise InputError(f"--{where['loc'][0]}: {where['msg']}.", "`guardian review --help` has examples.") from None


def _say_nothing(options: argparse.Namespace) -> None:
    if options.action == "export":
        print(csv_head() if options.format == "csv" else "", end="")
    else:
        print("[]" if options.json else phrases(own_language())["review_none"])


async def _list(desk: ReviewDesk, query: ReviewQuery, options: argparse.Namespace) -> None:
    page = await desk.list(query, reviewer())
    say = phrases(own_language())
    if options.json:
        _print_json([record.model_dump(mode="json") for record in page.records])
    elif page.records:
        print(list_text(page.records, say))
    else:
        print(say["review_none"])
    if page.more:
        print(say["review_more"].format(offset=query.offset + query.limit), file=sys.stderr)


async def _export(desk: ReviewDesk, query: ReviewQuery, options: argparse.Namespace) -> None:
    write = csv_line if options.format == "csv" else json_line
    if options.format == "csv":
        print(csv_head(), end="")
    left = options.limit
    async with aclosing(desk.export(query, reviewer())) as records:
        async for record in records:
            print(write(record), end="")
            left = left - 1 if left is not None else None
            if left == 0:
                break


async def _looks(desk: ReviewDesk, options: argparse.Namespace) -> None:
    looks = await desk.looks(options.limit if options.limit is not None else _USUAL_LIMIT)
    if options.json:
        _print_json([{"at": at, "who": who, "what": what} for at, who, what in looks])
        return
    print(
        "\n".join(f"{at[:19]}  {who}  {what}" for at, who, what in looks) or phrases(own_language())["review_no_looks"]
    )


async def _show(desk: ReviewDesk, options: argparse.Namespace) -> None:
    turn = await desk.open(options.thread, options.turn, reviewer())
    if options.json:
        _print_json(turn.model_dump(mode="json"))
        return
    print(turn_text(turn, phrases(own_language()), shutil.get_terminal_size((_USUAL_WIDTH, 24)).columns))


async def _do(desk: ReviewDesk, options: argparse.Namespace) -> None:
    say, who = phrases(own_language()), reviewer()
    thread, turn = options.thread, options.turn
    match options.action:
        case "handle":
            record = await desk.handle(thread, turn, who, handled=not options.undo)
            _tell(record, say["review_said_unhandled" if options.undo else "review_said_handled"], options)
        case "note":
            _tell(await desk.note(thread, turn, who, options.text), say["review_said_note"], options)
        case "case":
            ending = Outcome(options.ending) if options.ending else None
            save = partial(add_case, Path(options.file))
            label = read_label(options.page, ending, options.must_say, options.must_not_say)
            saved = await desk.case(thread, turn, who, label, save)
            if options.json:
                _print_json(saved.case)
            else:
                print(
                    say["review_said_case_again" if saved.replaced else "review_said_case"].format(
                        file=options.file, case=saved.case["id"]
                    )
                )
            if saved.met:
                print(say["review_met"], file=sys.stderr)
        case _:
            delivery = await desk.hand_over(thread, turn, who)
            if options.json:
                _print_json({"delivery": str(delivery)})
            else:
                print(say[f"review_said_{delivery}"])


def _tell(record: TurnRecord, said: str, options: argparse.Namespace) -> None:
    if options.json:
        _print_json(record.model_dump(mode="json"))
    else:
        print(said)


def _print_json(value: object) -> None:
    print(json.dumps(value, ensure_ascii=False, indent=2))
