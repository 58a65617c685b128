"""`guardian threads`: list, read, resume and delete conversations.

The words of visitors and users are not shown here: `guardian review` shows them, masked, and records who looked.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import shlex
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from assistant.cli.output import show_answer
from assistant.deployment import Deployment, deployment
from assistant.turns.feedback import Feedback, FeedbackStore, Rating
from assistant.turns.progress import money, own_language, phrases
from assistant.turns.transcript import MAX_ID_LENGTH, MAX_STORED_ID_LENGTH, ThreadSummary, Turn, check_id
from assistant.visitors import split_stored_id
from assistant.wiring.storage import has_conversations, has_hand_offs
from assistant.wiring.turns import open_runner, open_store
from contracts.errors import InputError, UnknownThread
from language.words import detect
from rendering.columns import flat


def run(options: argparse.Namespace) -> int:
    """List, read, resume or delete."""
    if options.action != "list":
        # The conversation of an API key has the key's name and a slash in front.
        check_id("conversation's", options.thread, MAX_STORED_ID_LENGTH if "/" in options.thread else MAX_ID_LENGTH)
    deployed = deployment(options.profile)
    # Of a conversation held in Studio there may be hand-offs, which are deleted here as well.
    kept = options.action == "delete" and has_hand_offs(deployed)
    if options.action != "list" and not has_conversations(deployed) and not kept:
        raise _unknown_error(options.thread)
    work = {"list": _list, "show": _show, "resume": _resume, "delete": _delete}[options.action]
    return asyncio.run(work(deployed, options))


def _unknown_error(thread: str) -> UnknownThread:
    return UnknownThread(f"There is no conversation {thread!r}.", "`guardian threads list` shows all.")


@dataclass(frozen=True, slots=True)
class _Line(ThreadSummary):
    """A conversation with how its last turn ended and was rated; without the words of a visitor or a user.

    Attributes:
        words_withheld: Whether the words are theirs, so that only `guardian review` shows them.
    """

    outcome: str | None = None
    rating: Rating | None = None
    words_withheld: bool = False


async def _list(deployed: Deployment, options: argparse.Namespace) -> int:
    threads: list[_Line] = []
    # Looking makes no file: where there is none, there are no conversations.
    if has_conversations(deployed):
        async with open_store(deployed) as store:
            found, endings = await store.list_threads(), await store.endings()
            ratings = await (await FeedbackStore.share(store)).ratings()
        for thread in found:
            turn, outcome = endings.get(thread.thread_id, ("", None))
            reviewed = _is_reviewed(thread.thread_id)
            shown = replace(thread, first_question="", title="") if reviewed else thread
            rating = ratings.get((thread.thread_id, turn))
            threads.append(_Line(**asdict(shown), outcome=outcome, rating=rating, words_withheld=reviewed))
    if options.json:
        print(json.dumps([asdict(thread) for thread in threads], ensure_ascii=False, indent=2))
        return 0
    say = phrases(own_language())
    for thread in threads:
        mark = f"  {say[f'outcome_{thread.outcome}']}" if thread.outcome else ""
        mark += _rated(thread.rating, say)
        mark += "  ! " + say["unfinished"].format(thread=shlex.quote(thread.thread_id)) if thread.unfinished else ""
        words = say["threads_reviewed"] if thread.words_withheld else _short(thread.first_question)
        print(f"{thread.thread_id}  {thread.last_at[:19]}  {thread.turns:>3}  {words}{mark}")
    if not threads:
        print(say["no_threads"])
    return 0


def _is_reviewed(stored_id: str) -> bool:
    return bool(split_stored_id(stored_id)[0])


def _rated(rating: Rating | None, say: dict[str, str]) -> str:
    return f"  {say[f'review_rating_{rating}']}" if rating else ""


async def _show(deployed: Deployment, options: argparse.Namespace) -> int:
    async with open_store(deployed) as store:
        turns, place = await store.turns(options.thread), ""
        if not turns and (found := await store.find_by_number(options.thread)):
            options.thread, numbered = found
            turns = await store.turns(options.thread)
            place = next((f" {turn.number}" for turn in turns if turn.turn_id == numbered), "")
            if not options.json and not _is_reviewed(options.thread):
                print(f"{options.thread}\n")
        said = await (await FeedbackStore.share(store)).of(options.thread)
    if not turns:
        raise _unknown_error(options.thread)
    if _is_reviewed(options.thread):
        raise InputError(
            f"{options.thread} is the conversation of a visitor or a user.",
            f"`guardian review show {shlex.quote(options.thread)}{place}` shows it, masked, and records who looked.",
        )
    if options.json:
        shown = [{**asdict(turn), "feedback": _feedback(said.get(turn.turn_id))} for turn in turns]
        print(json.dumps(shown, ensure_ascii=False, indent=2))
        return 0
    for turn in turns:
        say = phrases(detect(turn.question, default=own_language()))
        feedback = said.get(turn.turn_id)
        state = (
            say[f"outcome_{turn.outcome}"]
            if turn.outcome
            else say["unfinished"].format(thread=shlex.quote(options.thread))
        )
        rated = f" · {say[f'review_rating_{feedback.rating}']}" if feedback else ""
        print(f"── {turn.number} · {turn.started_at[:19]} · {state}{rated}")
        if feedback and feedback.comment:
            print(f"{say['review_comment']}: {flat(feedback.comment)}")
        # Each line is marked: a question cannot pass for another entry.
        print("\n".join(f"> {line}".rstrip() for line in turn.question.split("\n")) + "\n")
        if turn.answer:
            show_answer(turn.answer)
            print()
    if cost := _cost_of(turns):
        print(phrases(own_language())["conversation_cost"].format(cost=cost))
    return 0


def _cost_of(turns: Sequence[Turn]) -> str:
    """Return what language models cost a conversation, by currency; empty if nothing is known of it."""
    sums: dict[str, float] = {}
    for turn in turns:
        told: dict[str, Any] = (turn.result or {}).get("diagnostics") or {}
        currency, amount = str(told.get("currency") or ""), told.get("cost")
        if isinstance(amount, float | int):
            sums[currency] = sums.get(currency, 0.0) + amount
    return ", ".join(money(amount, currency) for currency, amount in sums.items())


def _feedback(said: Feedback | None) -> dict[str, str] | None:
    return said.model_dump(mode="json") if said else None


async def _resume(deployed: Deployment, options: argparse.Namespace) -> int:
    # Loaded here, because to list and to read takes no part of a turn.
    from assistant.caller import Caller
    from assistant.cli.commands.ask import receiver
    from assistant.service import open_service

    # An operator has every conversation, by the id that it is stored under. So has a caller without a name, but for
    # those of visitors and users, which are finished in their names.
    owner, thread = split_stored_id(options.thread)
    try:
        async with open_service(deployed) as service, service.resuming(Caller(owner), thread) as turn:
            told = None if owner or turn is None else receiver(turn.question, None, path=True)
            result = await turn.result(told) if turn else None
    except UnknownThread as error:
        raise _unknown_error(options.thread) from error
    if result is None:
        say = phrases(own_language())
        print(json.dumps(None) if options.json else say["nothing_to_resume"].format(thread=options.thread))
        return 0
    if owner:
        done = {"thread_id": options.thread, "turn_id": result.turn_id, "outcome": result.outcome}
        told = phrases(own_language())["resumed_reviewed"].format(thread=shlex.quote(options.thread))
        print(json.dumps(done) if options.json else told)
    elif options.json:
        print(result.model_copy(update={"thread_id": options.thread}).model_dump_json(indent=2))
    else:
        show_answer(result.answer_text)
    return 0


async def _delete(deployed: Deployment, options: argparse.Namespace) -> int:
    from assistant.wiring.ports import idle_ports

    async with open_runner(deployed, idle_ports()) as runner:  # also where no document is indexed
        await runner.delete(options.thread)
    done = {"deleted": options.thread}
    print(json.dumps(done) if options.json else phrases(own_language())["deleted"].format(thread=options.thread))
    return 0


def _short(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= 60 else flat[:59] + "…"
