"""Cases for `guardian eval`, made of turns, so that a complaint becomes a regression test."""

from __future__ import annotations

import json
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import IO, Any, Final

from assistant.review.records import TurnRecord
from contracts.enums import Language, Outcome
from contracts.errors import ConfigError, InputError
from guards.outgoing import fit_to_show
from language.words import detect

MOST_EARLIER: Final = 5
"""Earlier messages of the conversation that go with a case: a question such as "and for Windows?" needs them."""
_MOST_PAGES: Final = 20
_LONGEST_PAGE: Final = 500
Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Label:
    """What would be right of a turn.

    Attributes:
        pages: Paths of pages that each answer the question.
        ending: How the turn should have ended; if it is `None`, it should be answered from these pages.
    """

    pages: Sequence[str] = ()
    ending: Outcome | None = None


def make_case(record: TurnRecord, earlier: Sequence[str], label: Label) -> Json:
    """Return a turn as a case in the form of `evals.cases.TurnCase`.

    Args:
        record: The turn.
        earlier: The user's messages before it, oldest first.
        label: What would be right.

    Raises:
        InputError: Nothing says what would be right, or a page is no path.
    """
    pages, ending = [page.strip() for page in label.pages if page.strip()], label.ending
    if not pages and ending is None:
        raise InputError("A case needs to say what would be right.", "Name the right pages, the right ending, or both.")
    if pages and ending not in (None, Outcome.ANSWERED, Outcome.PAGES_SHOWN):
        raise InputError(
            f"A turn that should end with {ending} has no right pages.", "Leave out the pages or the ending."
        )
    if len(pages) > _MOST_PAGES or any(len(page) > _LONGEST_PAGE or not page.isprintable() for page in pages):
        raise InputError("The pages are no paths.", f"Name at most {_MOST_PAGES}, as `guardian search` shows them.")
    if not record.question.strip():
        raise InputError("The question of this turn cannot be shown, so it makes no case.", "Choose another turn.")
    said = [fit_to_show(text) for text in earlier[-MOST_EARLIER:]]
    case: Json = {
        "id": case_id(record),
        "language": str(record.language or detect(record.question, default=Language.EN)),
        "says": [*filter(str.strip, said), record.question],
        "note": f"from a review: was {record.outcome or 'unfinished'}",
    }
    if ending is not None:
        case["outcome"] = str(ending)
    if pages:
        case["pages"] = pages
    return case


def case_id(record: TurnRecord) -> str:
    """Return the id of a turn's case: the same for the same turn, and without a word of it."""
    return f"review-{sha256(json.dumps([record.thread, record.turn]).encode()).hexdigest()[:12]}"


def add_case(path: Path, case: Json) -> None:
    """Append a case to a file, which is made if it is not there.

    Raises:
        InputError: The file has a case of this turn already.
        ConfigError: The file cannot be read or written, or it is no file of cases.
    """
    with _locked(path) as file:
        text = file.read()
        if case["id"] in [_id_in(path, line) for line in text.splitlines() if line.strip()]:
            raise InputError(
                f"{path.name} has a case of this turn already: {case['id']}.",
                "Change its line, or remove it and try again.",
            )
        file.write(f"{'' if not text or text.endswith(chr(10)) else chr(10)}{json.dumps(case, ensure_ascii=False)}\n")


def _id_in(path: Path, line: str) -> object:
    try:
        found: Any = json.loads(line)
        return found["id"]
    except (ValueError, RecursionError, KeyError, TypeError):
        raise ConfigError(
            f"{path.name} is no file of cases: a line is no JSON object with an id.", "Name another file."
        ) from None


@contextmanager
def _locked(path: Path) -> Generator[IO[str]]:
    """Open a file for reading and writing; another process that adds a case waits."""
    import fcntl

    try:
        with path.open("a+", encoding="utf-8") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            file.seek(0)
            yield file
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path.name} is no file of cases: it is no UTF-8.", "Name another file.") from error
    except OSError as error:
        raise ConfigError(f"{path.name} cannot be written: {error.strerror}.", "Name another file.") from error
