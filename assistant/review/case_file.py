"""Cases for `guardian eval`, made of turns, so that a complaint becomes a regression test."""

from __future__ import annotations

import json
import os
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import IO, Any, Final

from assistant.review.expectation import Page, cited_items, is_page, says, shows_page, wording_faults, words
from assistant.review.faults import ReviewFault
from assistant.review.records import TurnRecord
from contracts.enums import Language, Outcome
from contracts.result import StructuredAgentResult
from guards.outgoing import fit_to_show
from language.clean import clean
from language.words import detect

MOST_EARLIER: Final = 5
"""Earlier messages of the conversation that go with a case: a question such as "and for Windows?" needs them."""
_MOST_PAGES: Final = 20
_LONGEST_PAGE: Final = 500
_LONGEST_NUMBER: Final = 15
"""Digits."""
_MOST_SENTENCES: Final = 20
_LONGEST_SENTENCE: Final = 1000
Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Label:
    """What would be right of a turn.

    Attributes:
        pages: Pages that each answer the question, by number or by path.
        ending: How the turn should have ended; if it is `None`, it should be answered, and from these pages.
        must_say, must_not_say: Sentences or words that the answer has to say, and that it may not say.
    """

    pages: Sequence[Page] = ()
    ending: Outcome | None = None
    must_say: Sequence[str] = ()
    must_not_say: Sequence[str] = ()

    def is_met(self, result: StructuredAgentResult) -> bool:
        """Whether a turn ended as this asks: then a case of it finds nothing wrong with that turn."""
        if wording_faults(result, self.must_say, self.must_not_say):
            return False
        if self.ending is not None and result.outcome is not self.ending:
            return False
        answered = result.outcome is Outcome.ANSWERED
        if not self.pages:
            return answered or self.ending is not None
        if answered:
            cited = cited_items(result)
            return bool(cited) and any(is_page(cited[0], page) for page in self.pages)
        return self.ending is Outcome.PAGES_SHOWN and shows_page(result, self.pages)


def read_label(
    pages: Sequence[str], ending: Outcome | None, must_say: Sequence[str], must_not_say: Sequence[str]
) -> Label:
    """Return a label of what a person wrote, without empty lines.

    Raises:
        ReviewFault: Nothing says what would be right, two parts contradict each other, a page is no path, or a sentence
            is too long, or secret.
    """
    must, must_not = ([clean(one) for one in _lines(texts)] for texts in (must_say, must_not_say))
    label = Label([_page(text) for text in _lines(pages)], ending, must, must_not)
    if not label.pages and ending is None and not label.must_say:
        raise ReviewFault("no_label")
    if label.pages and ending not in (None, Outcome.ANSWERED, Outcome.PAGES_SHOWN):
        raise ReviewFault("ending_without_pages", ending=str(ending))
    if len(label.pages) > _MOST_PAGES or any(
        len(page) > _LONGEST_PAGE or not page.isprintable() for page in map(str, label.pages)
    ):
        raise ReviewFault("no_path", most=_MOST_PAGES)
    sentences = (*label.must_say, *label.must_not_say)
    if len(sentences) > _MOST_SENTENCES or any(len(one) > _LONGEST_SENTENCE for one in sentences):
        raise ReviewFault("long_sentence", most=_MOST_SENTENCES, longest=_LONGEST_SENTENCE)
    if not all(words(one) for one in sentences):
        raise ReviewFault("no_words")
    if any(fit_to_show(one) != one for one in sentences):
        raise ReviewFault("secret_sentence")
    if any(says(one, other) for one in label.must_say for other in label.must_not_say):
        raise ReviewFault("contradiction")
    return label


def _page(text: str) -> Page:
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= _LONGEST_NUMBER else text


def _lines(texts: Sequence[str]) -> list[str]:
    return [text.strip() for text in texts if text.strip()]


def make_case(record: TurnRecord, earlier: Sequence[str], label: Label) -> Json:
    """Return a turn as a case in the form of `evals.cases.TurnCase`.

    Args:
        record: The turn.
        earlier: The user's messages before it, oldest first.
        label: What would be right.

    Raises:
        ReviewFault: The question cannot be shown.
    """
    if not record.question.strip():
        raise ReviewFault("no_question")
    said = [fit_to_show(text) for text in earlier[-MOST_EARLIER:]]
    parts = {
        "outcome": str(label.ending) if label.ending is not None else "",
        "pages": label.pages,
        "must_say": label.must_say,
        "must_not_say": label.must_not_say,
    }
    return {
        "id": case_id(record),
        "language": str(record.language or detect(record.question, default=Language.EN)),
        "says": [*filter(str.strip, said), record.question],
        "note": f"from a review: was {record.outcome or 'unfinished'}",
        **{name: part for name, part in parts.items() if part},
    }


def case_id(record: TurnRecord) -> str:
    """Return the id of a turn's case: the same for the same turn, and without a word of it."""
    return f"review-{sha256(json.dumps([record.thread, record.turn]).encode()).hexdigest()[:12]}"


def add_case(path: Path, case: Json) -> bool:
    """Save a case in a file, which is made if it is not there; return whether it replaced an earlier one of the turn.

    Raises:
        ReviewFault: The file cannot be read or written, or it is no file of cases.
    """
    line = json.dumps(case, ensure_ascii=False)
    with _locked(path) as file:
        text = file.read()
        # Not `splitlines`: a string of JSON may hold what ends a line elsewhere.
        lines = text.split("\n")
        kept = [one for one in lines if not one.strip() or _id_in(path, one) != case["id"]]
        if len(kept) == len(lines):
            file.write(f"{'' if not text or text.endswith(chr(10)) else chr(10)}{line}\n")
            return False
        _replace(path.resolve(), "\n".join([*filter(str.strip, kept), line, ""]), file)
        return True


def _id_in(path: Path, line: str) -> object:
    try:
        found: Any = json.loads(line.removeprefix("\ufeff"))
        return found["id"]
    except (ValueError, RecursionError, KeyError, TypeError):
        raise ReviewFault("no_cases", file=path.name) from None


def _replace(path: Path, text: str, before: IO[str]) -> None:
    """Put a new file in the place of one, whole or not at all, with its permissions."""
    whole = path.with_name(f".{path.name}.new")
    try:
        whole.write_text(text, "utf-8")
        whole.chmod(os.fstat(before.fileno()).st_mode & 0o777)
        whole.replace(path)
    except OSError:
        # Not at the end in any case: from the replacement on, whoever locks the new file may have begun the next.
        whole.unlink(missing_ok=True)
        raise


@contextmanager
def _locked(path: Path) -> Generator[IO[str]]:
    """Open a file for reading and writing; another process that adds a case waits."""
    import fcntl

    path = path.resolve()
    try:
        while True:
            with path.open("a+", encoding="utf-8") as file:
                fcntl.flock(file, fcntl.LOCK_EX)
                if not path.exists() or path.stat().st_ino != os.fstat(file.fileno()).st_ino:
                    continue  # whoever held it has put another file in its place
                file.seek(0)
                yield file
                return
    except UnicodeDecodeError as error:
        raise ReviewFault("no_cases", file=path.name) from error
    except OSError as error:
        raise ReviewFault("unwritable", file=path.name, why=error.strerror) from error
