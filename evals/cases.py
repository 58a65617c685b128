"""Labelled cases: one JSON object a line, in `evals/cases/*.jsonl` or in your own file.

The key `kind` distinguishes three kinds: whole turns (`turn`), drafts with or without a known fault (`draft`), and
messages for moderation (`message`). `knowledge/en/evaluation.md` documents the format for measurements on your own
tickets.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from enum import StrEnum
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Final, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, model_validator

from assistant.review.expectation import Page, words
from contracts.enums import DraftKind, Language, Outcome, RequestType, SafetyLevel, SGRAction
from contracts.errors import ConfigError
from contracts.evidence import EvidenceItem
from evals.frozen import from_lines

CASES: Final = Path(__file__).resolve().parent / "cases"
MODEL_PASSAGES: Final = CASES / "passages_model.jsonl"
"""The passages that the kept drafts of a real model were written from."""


class DraftLabel(StrEnum):
    """The label of a draft: good, or the fault that it has."""

    GOOD = "good"
    ABSTENTION = "abstention"
    WRONG_NUMBER = "wrong_number"
    SWAPPED_ENTITY = "swapped_entity"
    INVENTED_CITATION = "invented_citation"
    MISSING_CITATION = "missing_citation"
    NEGATION = "negation"
    MISSING_SECTION = "missing_section"
    FORBIDDEN_PHRASE = "forbidden_phrase"
    LEAKED_SECRET = "leaked_secret"  # noqa: S105  # a kind of fault
    PERSONAL_DATA = "personal_data"
    FOREIGN_LINK = "foreign_link"
    THIN_EVIDENCE = "thin_evidence"
    INVENTED = "invented"
    ECHO = "echo"
    LOOP = "loop"
    OFF_QUESTION = "off_question"


GUARD_OF: Final[dict[DraftLabel, str]] = {
    DraftLabel.WRONG_NUMBER: "grounding",
    DraftLabel.SWAPPED_ENTITY: "grounding",
    DraftLabel.INVENTED_CITATION: "grounding",
    DraftLabel.MISSING_CITATION: "grounding",
    DraftLabel.NEGATION: "grounding",
    DraftLabel.MISSING_SECTION: "contract",
    DraftLabel.FORBIDDEN_PHRASE: "contract",
    DraftLabel.LEAKED_SECRET: "policy",
    DraftLabel.PERSONAL_DATA: "policy",
    DraftLabel.FOREIGN_LINK: "policy",
    DraftLabel.THIN_EVIDENCE: "evidence",
}
"""The guard that is to object; none where nothing is wrong."""


class _Case(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    language: Language
    note: str = ""

    @property
    def group(self) -> str:
        """The group of cases that are held back together, because they share their text."""
        return self.id

    @property
    def held_back(self) -> bool:
        """Whether the case belongs to the held-back third, which is not used for tuning."""
        return int.from_bytes(sha256(self.group.encode()).digest()[:4]) % 3 == 0


class AcceptableAnswer(BaseModel):
    """One acceptable answer: a page, and its sentences that together answer; without sentences, any of the page."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    page: Page
    sentences: tuple[str, ...] = ()


class TurnCase(_Case):
    """One conversation and the expected result of its last turn.

    Attributes:
        says: The user's messages, one a turn; only the last turn is judged.
        route: The route that DT-001 and DT-002 should choose; `None` if that is not judged.
        outcome: How the turn should end; `None` if that is not judged.
        pages: Pages that each answer; short for one part with answers without sentences.
        parts: The acceptable answers for each part of the question.
        helps: Pages that answer partly.
        wrong_pages: Pages that do not answer. An answer from one is wrong; an answer from another unlabelled page is
            unread.
        only: Whether no other page answers; then an answer from any other page is wrong.
        must_say, must_not_say: What the answer has to say and what it may not say, all of its words in this order. An
            answer that does otherwise is wrong, whatever page it is from.
        topic: The kind of question, for tables; a word that the case's author chose.
    """

    kind: Literal["turn"] = "turn"
    says: tuple[str, ...] = Field(min_length=1)
    route: SGRAction | None = None
    outcome: Outcome | None = None
    pages: tuple[Page, ...] = ()
    parts: tuple[Annotated[tuple[AcceptableAnswer, ...], Field(min_length=1)], ...] = ()
    helps: tuple[Page, ...] = ()
    wrong_pages: tuple[Page, ...] = ()
    only: bool = False
    must_say: tuple[str, ...] = ()
    must_not_say: tuple[str, ...] = ()
    topic: str = ""

    @model_validator(mode="after")
    def _check_label(self) -> Self:
        if self.route is None and self.outcome is None and not self.asks and not self.must_say:
            raise ValueError("a turn needs a route, an outcome, pages, parts or must_say")
        if not all(words(sentence) for sentence in (*self.must_say, *self.must_not_say)):
            raise ValueError("what must be said or not said has at least one word")
        if self.pages and self.parts:
            raise ValueError("a turn has pages or parts, not both")
        return self

    @property
    def asks(self) -> tuple[tuple[AcceptableAnswer, ...], ...]:
        """The acceptable answers for each part of the question; empty if no page is labelled."""
        return self.parts or ((tuple(AcceptableAnswer(page=page) for page in self.pages),) if self.pages else ())

    @property
    def unanswerable(self) -> bool:
        """Whether the label says that no answer may be stated."""
        return not self.asks and self.outcome not in (None, Outcome.ANSWERED)


class Edit(BaseModel):
    """A change that makes a good draft faulty: `old`, once, into `new`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    old: str
    new: str


class DraftCase(_Case):
    """One draft over fixed evidence.

    A case has its own text in `draft`, or is an edited copy of another: `base` names that case, and `edits` the
    changes.

    Attributes:
        evidence: Ids of passages (a path alone is one of a document), or the passages themselves; `[n]` in the draft is the n-th.
        draft_kind: The kind that the draft claims.
        label: The draft's fault, if any.
    """

    kind: Literal["draft"] = "draft"
    label: DraftLabel
    question: str = ""
    request_type: RequestType = RequestType.KNOWLEDGE_QA
    evidence: tuple[str | EvidenceItem, ...] = ()
    draft: str = ""
    draft_kind: DraftKind = DraftKind.ANSWER
    base: str = ""
    edits: tuple[Edit, ...] = ()

    @property
    def group(self) -> str:
        return self.base or self.id


class MessageCase(_Case):
    """One message and the level that moderation should find.

    Attributes:
        level: `Unsafe`, `Controversial` or `Safe`.
        set: The message's set, for tables: "provocative", "jailbreak", ...
    """

    kind: Literal["message"]
    text: str
    level: SafetyLevel
    set: str


Case = TurnCase | DraftCase | MessageCase
_LANGUAGES: Final = frozenset(map(str, Language))
_READ: Final[TypeAdapter[Case]] = TypeAdapter(Annotated[Case, Field(discriminator="kind")])


def read_cases(*paths: Path) -> list[Case]:
    """Read files of cases.

    A line without `kind` is a draft if it has a label, else a turn; one without `language` has that of its id (`en-...`).

    Raises:
        ConfigError: A file cannot be read, a line is not a case, or an id has two cases that differ. The same case in
            two files counts once.
    """
    cases: dict[str, Case] = {}
    twice: dict[str, None] = {}
    for case in (case for path in paths for case in _read(path)):
        if cases.setdefault(case.id, case) != case:
            twice[case.id] = None
    if twice:
        raise ConfigError(
            f"Ids that stand twice: {', '.join(sorted(twice)[:5])}.",
            "Give each case its own; of one case that is saved twice, remove the line that is out of date.",
        )
    return [*cases.values()]


def _read(path: Path) -> list[Case]:
    try:
        text = path.read_text("utf-8-sig")  # editors of some systems begin a file with a mark
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"The file of cases {path} cannot be read: {error}.", "Name one that there is.") from error
    # Not `splitlines`: a string of JSON may hold what ends a line elsewhere.
    found = [_case(line, f"{path.name}:{number}") for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    if not found:
        raise ConfigError(f"The file of cases {path} has no case in it.", "Write one JSON object a line.")
    return found


def _case(line: str, place: str) -> Case:
    try:
        keys = json.loads(line)
        derived = {"kind": "draft" if "label" in keys else "turn"}
        if (language := str(keys.get("id")).partition("-")[0]) in _LANGUAGES:
            derived["language"] = language
            if "evidence" in keys:
                # A path alone is a document's in the language of the case.
                keys["evidence"] = [
                    f"doc:{language}/{ref}" if isinstance(ref, str) and ":" not in ref else ref
                    for ref in keys["evidence"]
                ]
        return _READ.validate_python({**derived, **keys})
    except ValidationError as error:
        first = error.errors()[0]
        # The first part of the place is the kind, which the line itself says.
        where = ".".join(str(part) for part in first["loc"][1:])
        said = f"{where}: {first['msg']}" if where else first["msg"]
    except (ValueError, TypeError, AttributeError) as error:
        said = str(error)
    raise ConfigError(f"{place} is not a case: {said.rstrip('.')}.", "Correct the line.")


def passages(path: Path = CASES / "passages.jsonl") -> dict[str, EvidenceItem]:
    """Read the passages that drafts use, by their refs; they are frozen, so that a page may be edited."""
    return {item.ref: item for item in from_lines(path.read_text("utf-8"))}


def complete_drafts(cases: Sequence[DraftCase]) -> list[DraftCase]:
    """Return draft cases with their texts; the edits of an edited case are applied to its base.

    Raises:
        ConfigError: A base is missing, or it does not contain the text to edit exactly once.
    """
    by_id = {case.id: case for case in cases}
    return [_edit(case, by_id) if case.base else case for case in cases]


def _edit(case: DraftCase, by_id: dict[str, DraftCase]) -> DraftCase:
    base = by_id.get(case.base)
    if base is None or base.base:
        raise ConfigError(f"{case.id}: there is no case {case.base!r} with a text of its own.", "Correct `base`.")
    text = base.draft
    for edit in case.edits:
        if text.count(edit.old) != 1:
            raise ConfigError(
                f"{case.id}: {edit.old!r} stands {text.count(edit.old)} times in {case.base}.", "Make it stand once."
            )
        text = text.replace(edit.old, edit.new)
    filled = {"draft": text, "question": case.question or base.question, "evidence": case.evidence or base.evidence}
    return case.model_copy(update={**filled, "request_type": base.request_type, "draft_kind": base.draft_kind})
