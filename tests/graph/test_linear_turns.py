"""No text takes more time than its length allows: shapes grow fourfold through whole turns, as question, draft, document."""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final

import pytest
from langchain_core.messages import HumanMessage

from adapters.drafting.extractive import ExtractiveDrafter
from adapters.fakes.moderation import FakeModerator
from adapters.fakes.planning import FakePlanner
from adapters.fakes.sources import FakeSource
from adapters.index.embedded import DocumentSource, KnowledgeBase, ingest
from adapters.moderation.rules import RuleModerator
from adapters.planning.offline import OfflinePlanner
from contracts.context import STEPS_PER_TURN, Context
from contracts.enums import DraftKind, Outcome, Source
from contracts.ports import Draft, DraftRequest
from graph.build import Graph, Ports, build_graph
from guards.message_check import MAX_MESSAGE_CHARS
from tests.support.shapes import GROUPS, GROWTH, LEAST, LONG, RUNS, SHORT, list_shapes
from tests.support.turn import ANSWER, PROFILE, SAFE, passage, plan

PAGE: Final = "# Kettle\n\nThe kettle boils at 100 degrees.\n\n"


class Drafts:
    """A drafter whose next draft is set."""

    text = ANSWER

    async def draft(self, request: DraftRequest) -> Draft:
        return Draft(DraftKind.ANSWER, f"{self.text}\n\n{ANSWER}")


class Turns:
    """The graph as it is without a model, and one whose drafts are given."""

    def __init__(self, folder: Path, runner: asyncio.Runner) -> None:
        self.folder = folder
        self.runner = runner
        self.asking = self.over(self.open_page("asked"))
        self.reading = self.over(self.open_page("read"))
        self.drafts = Drafts()
        found = FakeSource(Source.DOC, [passage(1), passage(2)])
        self.drafting = build_graph(
            Ports(FakeModerator(SAFE), FakePlanner([plan()]), {Source.DOC: found}, self.drafts), PROFILE
        )

    def index(self, name: str, text: str = PAGE) -> None:
        """Read the one page of a knowledge base in anew; who searches sees it at once."""
        page = self.folder / name / "docs" / "kettle.md"
        page.write_text(text, "utf-8", "replace")
        ingest(page.parent, directory=self.folder / name / "kb")

    def open_page(self, name: str) -> KnowledgeBase:
        """Open a knowledge base of one page."""
        (self.folder / name / "docs").mkdir(parents=True)
        self.index(name)
        return KnowledgeBase(self.folder / name / "kb")

    def over(self, knowledge: KnowledgeBase) -> Graph:
        ports = Ports(
            RuleModerator(),
            OfflinePlanner(knowledge, PROFILE),
            {kind: DocumentSource(knowledge, kind) for kind in (Source.DOC, Source.POLICY)},
            ExtractiveDrafter(product=PROFILE.product),
        )
        return build_graph(ports, PROFILE)

    def ask(self, text: str, graph: Graph | None = None) -> str:
        """Run a turn; return how it ended."""
        start: Any = {"messages": [HumanMessage(text, id="q")]}
        turn = (graph or self.asking).ainvoke(start, {"recursion_limit": STEPS_PER_TURN}, context=Context(max_retry=0))
        return self.runner.run(turn)["result"]["outcome"]

    def as_question(self, text: str) -> str:
        return self.ask(text)

    def as_draft(self, text: str) -> str:
        self.drafts.text = text
        return self.ask("When does the kettle boil?", self.drafting)

    def as_document(self, text: str) -> str:
        """Index a page of this text, and answer from it."""
        self.index("read", PAGE + text)
        return self.ask("When does the kettle boil?", self.reading)


@pytest.fixture(scope="module")
def turns(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Turns]:
    """Return graphs that have run before: what is read on first use is no part of a turn."""
    with asyncio.Runner() as runner:
        made = Turns(tmp_path_factory.mktemp("turns"), runner)
        for run in (made.as_question, made.as_draft, made.as_document):
            for text in ("When does the kettle boil?", "Когда закипит чайник? `a` [1](b)"):
                run(text)
        yield made


def seconds(run: Callable[[str], str], text: str) -> float:
    """Return the CPU time of a turn, which must have come to one of its ends.

    Without the garbage collector: what it takes depends on all that the process holds, and comes at any moment.
    """
    gc.disable()
    try:
        began = time.process_time()
        ended = run(text)
        taken = time.process_time() - began
    finally:
        gc.enable()
    assert ended != Outcome.ERROR, text[:40]
    return taken


@cache
def bare(run: Callable[[str], str]) -> float:
    """Return what a turn takes with hardly any text."""
    return min(seconds(run, f"kettle w{next(RUNS)}") for _ in range(3))


def growth(run: Callable[[str], str], shape: Callable[[int], str]) -> float:
    """Return how many times longer a turn takes with long texts than with short ones; 0 where it takes hardly any time.

    Half of what a turn takes with hardly any text is left out: without the other half, noise might be all that is left
    of a short one. What looks as if it grew too fast is measured again, up to six times: the least of each counts, and on
    a machine that does other work, too, three of the longer may all have met it.
    """
    long = short = grown = float("inf")
    rest = bare(run) / 2
    for _ in range(6):
        long = min(long, seconds(run, shape(LONG)))
        if long - rest <= LEAST * GROWTH:
            return 0.0
        short = min(short, seconds(run, shape(SHORT)))
        if (grown := (long - rest) / max(short - rest, LEAST)) <= GROWTH:
            break
        # It was measured once, maybe in a slow moment: all the short text may then seem to be what any turn takes.
        rest = min(rest, seconds(run, f"kettle w{next(RUNS)}") / 2)
    return grown


@pytest.mark.slow
@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("way", ["as_question", "as_draft", "as_document"])
def test_a_text_takes_no_more_time_than_its_length_allows(turns: Turns, way: str, group: str) -> None:
    """A message, draft or document of four times the length takes at most six times the CPU (20,000 blanks: once 33 s)."""
    grown = {shape(40): growth(getattr(turns, way), shape) for shape in list_shapes(group)}
    assert {text: times for text, times in grown.items() if times > GROWTH} == {}


def test_the_shapes_are_many_and_as_long_as_a_message_may_be() -> None:
    """There are about two hundred, and each has the length it is asked for."""
    made = [shape for group in GROUPS for shape in list_shapes(group)]
    assert len(made) >= 200
    assert {len(shape(size)) for shape in made for size in (SHORT, LONG)} == {SHORT, LONG}
    assert LONG == MAX_MESSAGE_CHARS
