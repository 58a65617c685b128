"""Questions to begin with: the profile's own, or headings of the documents that a dry run has answered.

await choose_starter_questions(deployed)     after indexing: tries headings, and keeps those with an answer
read_starter_questions(deployed)             what a welcome shows, by language
"""

from __future__ import annotations

import asyncio
import json
import re
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager, closing
from itertools import islice, zip_longest
from typing import TYPE_CHECKING, Any, Final, cast

from contracts.enums import Language, Outcome
from language.attacks.demands import asks_for_secrets
from language.words import stems

if TYPE_CHECKING:
    from adapters.index.records import Heading
    from assistant.deployment import Deployment

SHOWN: Final = 3
"""Questions of one language that a welcome shows."""
LEAST_TRIED: Final = 5
TRIED: Final = 10
"""Headings of one language that are tried at most; a turn takes some 20 ms."""
_READ: Final = 20_000
"""Passages whose headings are looked at, of the documents nearest to the root."""
_LENGTH: Final = range(8, 81)
_ALIKE: Final = 0.5
"""The share of the words of two questions that both have, above which they are alike."""
_WORDS: Final = range(2, 13)
_PLACE: Final = re.compile(r"(?:page|slide|sheet|страница|слайд|лист) ?\d+", re.IGNORECASE)
"""How the heading of a page, a slide or a sheet reads that has no name of its own."""
_HOW_TO: Final = re.compile(r"how to (?=[a-z])", re.IGNORECASE)
_ASKS: Final = {
    Language.EN: re.compile(r"(?:how|what|why|where|when|who|which|can|do|does|is|are)\b", re.IGNORECASE),
    Language.RU: re.compile(r"(?:как|что|чем|почему|зачем|где|куда|когда|кто|какой|какая|какие|можно ли)\b", re.IGNORECASE),
}  # fmt: skip
"""Headings that begin so come first."""
_WHOLE: Final = {
    # "How caching works" asks, and is no question: its verb stands last.
    Language.EN: re.compile(
        r"(?:(?:how|what|why|where|when|who|which)(?:'s| (?:is|are|do|does|can|should|much|many))|can|do|does|is|are)\b",
        re.IGNORECASE,
    ),
    Language.RU: _ASKS[Language.RU],
}
"""Headings that begin so get a question mark."""

StarterQuestions = Mapping[Language, tuple[str, ...]]
"""For each language of the profile, at most `SHOWN` questions."""


def read_starter_questions(deployed: Deployment) -> StarterQuestions:
    """Return the profile's `examples`, or else the questions that were chosen when the documents were indexed.

    It reads a small file. Without one, there are no questions.
    """
    profile = deployed.profile
    if profile.examples:
        return {language: profile.examples.get(language, ())[:SHOWN] for language in profile.languages}
    try:
        kept = _read_file(deployed)["questions"]
        return {language: _texts(kept.get(str(language))) for language in profile.languages}
    except (AttributeError, KeyError):
        return dict.fromkeys(profile.languages, ())


def _read_file(deployed: Deployment) -> dict[str, Any]:
    """Return the file of chosen questions; empty if it cannot be read."""
    try:
        kept = json.loads(deployed.starter_questions_file.read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return cast("dict[str, Any]", kept) if isinstance(kept, dict) else {}


def _texts(kept: Any) -> tuple[str, ...]:
    texts = cast("list[Any]", kept) if isinstance(kept, list) else []
    return tuple(text for text in texts if isinstance(text, str))[:SHOWN]


async def choose_starter_questions(
    deployed: Deployment, on_tried: Callable[[str, Outcome], None] | None = None
) -> StarterQuestions:
    """Choose questions from the headings of the indexed documents, keep them in a file, and return them.

    A heading is kept if a turn without a model, a conversation and a hand-off answers it. If the profile has
    `examples`, or no document has changed since the last choice, nothing is tried.

    Args:
        deployed: The deployment with its documents.
        on_tried: Called with each question that was tried, and how its turn ended.

    Raises:
        GuardianError: The documents cannot be read, or the file cannot be written.
    """
    profile = deployed.profile
    if profile.examples:
        return read_starter_questions(deployed)
    stamp, headings = await asyncio.to_thread(_read_headings, deployed)
    if _read_file(deployed).get("documents") == stamp:
        return read_starter_questions(deployed)
    chosen = dict[Language, tuple[str, ...]]()
    async with _open_dry_run(deployed) as ask:
        for language in profile.languages:
            kept = list[str]()
            candidates = leave_out_alike(list_candidates(headings, language), profile.product)
            for number, question in enumerate(islice(candidates, TRIED)):
                if number >= LEAST_TRIED and len(kept) >= SHOWN:
                    break
                outcome = await ask(question)
                if on_tried:
                    on_tried(question, outcome)
                kept += [question] if outcome is Outcome.ANSWERED else []
            chosen[language] = tuple(kept[:SHOWN])
    await asyncio.to_thread(_write_file, deployed, stamp, chosen)
    return chosen


def _write_file(deployed: Deployment, stamp: str, questions: StarterQuestions) -> None:
    """Keep questions beside the index of their documents."""
    from adapters.data_folder import replace_file

    kept = {"documents": stamp, "questions": questions}
    replace_file(deployed.starter_questions_file, json.dumps(kept, ensure_ascii=False, indent=2) + "\n")


def list_candidates(headings: Iterable[Heading], language: Language) -> list[str]:
    """Return headings that may stand as questions, the most promising first.

    Questions come before other headings, and the parts of the documents take turns. A heading that several documents have
    ("Before you start") says nothing about a subject, and is left out.

    Args:
        headings: Titles and headings of documents, documents near the root first.
        language: The language to choose in.
    """
    own = [heading for heading in headings if heading.language == language]
    times = Counter(heading.text.casefold() for heading in own)
    by_part: dict[str, dict[str, None]] = {}
    for heading in own:
        if times[heading.text.casefold()] == 1 and _may_be_asked(heading.text):
            part = heading.key.rpartition("/")[0]
            by_part.setdefault(part, {})[_as_question(heading.text, language)] = None
    turns = (question for row in zip_longest(*by_part.values()) for question in row if question is not None)
    return sorted(dict.fromkeys(turns), key=lambda question: not _ASKS[language].match(question))


def leave_out_alike(questions: Iterable[str], product: str) -> Iterator[str]:
    """Yield the questions that ask for something else than those before them.

    Two are alike if one says all that the other does, or most words of both are the same; the product's name and the words
    of every sentence say nothing.
    """
    named, kept = set(stems(product)), list[set[str]]()
    for question in questions:
        said = set(stems(question)) - named
        if not any(_are_alike(said, other) for other in kept):
            kept.append(said)
            yield question


def _are_alike(one: set[str], other: set[str]) -> bool:
    shared, all_words = len(one & other), len(one | other)
    return shared == all_words or shared == min(len(one), len(other)) > 0 or shared > _ALIKE * all_words


def _may_be_asked(text: str) -> bool:
    # A first letter that is small is a file's name in the place of a title; a digit, a step's number.
    begins = text[:1].isalpha() and text[0] == text[0].upper()
    fits = begins and len(text) in _LENGTH and len(text.split()) in _WORDS and not _PLACE.fullmatch(text)
    return fits and not asks_for_secrets(text)


def _as_question(text: str, language: Language) -> str:
    if language is Language.EN:
        text = _HOW_TO.sub("How do I ", text, count=1) if _HOW_TO.match(text) else text
    return f"{text}?" if _WHOLE[language].match(text) and not text.endswith("?") else text


def _read_headings(deployed: Deployment) -> tuple[str, list[Heading]]:
    from adapters.index.records import our_errors
    from adapters.index.store_reader import IndexReader

    with our_errors("read", deployed.knowledge_folder), closing(IndexReader(deployed.knowledge_folder)) as reader:
        return reader.stamp(), reader.headings(_READ)


@asynccontextmanager
async def _open_dry_run(deployed: Deployment) -> AsyncGenerator[Callable[[str], Awaitable[Outcome]]]:
    """Yield a function that returns how a question's turn ends; it asks no model and keeps nothing."""
    from langchain_core.messages import HumanMessage

    from assistant.wiring.documents import knowledge_base
    from assistant.wiring.ports import offline_ports
    from contracts.context import STEPS_PER_TURN
    from graph.build import build_graph

    knowledge = await asyncio.to_thread(knowledge_base, deployed)
    with closing(knowledge):
        ports = await asyncio.to_thread(offline_ports, deployed, knowledge)
        graph = build_graph(ports, deployed.profile, settings=deployed.context_type)
        context = deployed.build_context(max_retry=0)

        async def ask(question: str) -> Outcome:
            start: Any = {"messages": [HumanMessage(question, id="starter")]}
            state = await graph.ainvoke(start, {"recursion_limit": STEPS_PER_TURN}, context=context)
            return Outcome(state["result"]["outcome"])

        yield ask
