"""No text takes more time than its length allows: shapes grow fourfold through whole turns, as question, draft, document."""

from __future__ import annotations

import asyncio
import gc
import random
import time
from collections.abc import Callable, Iterator
from functools import cache
from itertools import count
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
from language.privacy.personal_data import luhn
from tests.support.turn import ANSWER, PROFILE, SAFE, passage, plan

SHORT, LONG = 5_000, 20_000
GROWTH: Final = (LONG / SHORT) ** 1.3
LEAST: Final = 0.005
"""Seconds of what is judged: of less, the noise of a busy machine is a large part."""
PAGE: Final = "# Kettle\n\nThe kettle boils at 100 degrees.\n\n"

# What is repeated, by what it looks like; a tuple is what stands before, what is repeated, and what stands behind.
PIECES: Final[dict[str, list[str | tuple[str, str, str]]]] = {
    "marks": list("!\"#$%&'()*+,-"),
    "more marks": list("./:;<=>?@[\\]^_`{|}~"),
    "blanks": [" ", "\n", "\t", "\u00a0", "\u200b", "\r\n", "\u3000", " \n", "\n\t\n", ("a", " ", "b")],
    "letters": ["a", "1", "٣", "²", "а", "漢", "ع", "😀", "ё", "İ", "ﬁ", "Ａ"],
    "accents": ["a\u0301", "\u0301", "о\u0301", "е\u0308", ("е", "\u0308", ""), ("е\u0323", "\u0308", ""), ("a", "о\u0301", "")],
    "marks of two classes": [("a", "\u0301\u0323", ""), ("е", "\u0308\u3099", ""), ("е", "\u0308\u0323\u05b0", ""), ("か", "\uff9e\u0301", "")],
    "signs": ["—", "«", "»", "„", "“", "…", "•", "½", "\u00ad", "\u202e", "👨‍👩‍👧"],
    "brackets": ["[(", "](", "![", "[a", "[a](", "[a](b)", "(a", "{%", "[1]", "[1", "]:", "[a]: "],
    "tags": ["<!", "<!--", "<a ", "</", "<a href=", "<a href=x>", "<div>\n", "&a;", "&#1;", ("<!--", "a", "")],
    "emphasis": ["**a", "*a", "_a", "__a", "a_", "~~a", "`a", "` ", "```\n", "\\`", "\\a"],
    "blocks": ["\n#", "# ", "\n- ", "- ", "\n> ", "> ", "\n|", "|a", "|-", "\n    ", "1. ", "\n1. ", "---\n", "a\n---\n", "a\n\n"],
    "numbers": ["1 ", "1.", "1,", "-1", "1/2 ", "111 ", "1.2.", "1:1 ", "10% ", "$1", "5 km ", "1–2 ", "2024-01-01 ", "A-1 "],
    "words": ["a ", "a b", "а ", "a-", "a.", "a/", "a, ", ", ", "аa", "А1", "not ", "не ", "and how ", "how do I ", "сто ", "? "],
    "addresses": ["a@", "a@b.c ", "://", "http://", "http://a ", "www.a.", "/../", "C:\\a\\", "+7 ", (" /", "a", ">")],
    "secrets": ["sk-", "sk-aB3", "eyJ.", "-----BEGIN PRIVATE KEY-----\n", "password: ", "token: a1 ", "Bearer ", ("sk-", "aB3dE5fG", "")],
    "requests": ["send us ", "that code ", "we need: ", "never send us your password ", "пришлите ", "нам нужен ваш ", "код из ", "500 рублей "],
    "structure": ['{"a":', "[1,", '"\\', '{"a": 1}', "{#a", ("# {#", "a", ""), "8<--", "!!! a\n", ":::", "a: b\n", "[^1]", "A > B > "],
    "generators": ["{a(", "{a(b)}", "{{a}}", "{%a%}", ":a:", "|===\n|a\n", "|a\n", "**a:**\n    1. b\n", "1. a\n   **b:**\n", "[a](b) [1] ", "a  b", "a [1]. "],
    "tables": [("| password |\n| --- |\n| ", "1", " |"), ("| a |\n|---|\n", "| 1 |\n", ""), "| a | b |\n", ("|", "-", "a")],
}  # fmt: skip
MIXED: Final = {
    "ascii": [chr(code) for code in range(32, 127)],
    "marks": list("[](){}<>*_`|#-.,:;!?\"'\\/ \n"),
    "digits": list("0123456789.,:-/ "),
    "base64": list("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"),
    "scripts": list("aбв漢字عربαβ "),
    "look-alikes": list("aаeеoо "),
    "markdown": ["[", "](", "`", "```\n", "\n", "\n# ", "\n- ", "\n> ", "|", "**", "a ", "<a>", "[1]"],
    "prose": ["the ", "profile ", "to ", "delete ", "5 ", "minutes ", "not ", "how ", "1.2 ", ". ", ".\n"],
    "проза": ["как ", "не ", "профиль ", "удалить ", "5 ", "минут ", "и ", ". ", ".\n"],
}
# What is never the same twice: each is a value that is looked for in all that the turn says and writes.
VALUES: Final[list[Callable[[int], str]]] = [
    lambda number: f"card {_card(number)} ",
    lambda number: f"password: Pa{number * 7919 % 1_000_003}xQ{number}\n",
    lambda number: f"sk-aB{number * 104_729 % 10_000_019:08}cD{number:06}eF ",
    lambda number: f"option{number} is {number}. ",
]
RUNS: Final = count()


def _card(number: int) -> str:
    """Return the card number with a right check digit that has this number in it."""
    digits = f"4{number * 1_299_709 % 10**14:014}"
    return next(f"{digits}{last}" for last in "0123456789" if luhn(digits + last))


def shapes(group: str) -> Iterator[Callable[[int], str]]:
    """Yield the shapes of a group, each a text of so many characters; no two texts are the same to a cache."""
    if group == "values":
        for made in VALUES:
            least = len(made(1))
            listed = "".join(map(made, range(LONG // least + 1)))
            yield lambda size, text=listed: _ended(text, size)
        return
    if group == "mixed":
        for pieces in MIXED.values():
            mixed = "".join(random.Random(7).choices(pieces, k=LONG))  # noqa: S311  # the same in each run
            yield lambda size, text=mixed: _ended(text, size)
        return
    for piece in PIECES[group]:
        before, repeated, behind = piece if isinstance(piece, tuple) else ("", piece, "")
        yield lambda size, b=before, r=repeated, e=behind: _ended(b + r * (size // len(r) + 1), size, e)


def _ended(text: str, size: int, behind: str = "") -> str:
    end = f"{behind} w{next(RUNS)}"
    return text[: size - len(end)] + end


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
        self.knowledge = self.index({"kettle": PAGE})
        self.asking = self.over(self.knowledge)
        self.drafts = Drafts()
        found = FakeSource(Source.DOC, [passage(1), passage(2)])
        self.drafting = build_graph(
            Ports(FakeModerator(SAFE), FakePlanner([plan()]), {Source.DOC: found}, self.drafts), PROFILE
        )

    def index(self, pages: dict[str, str]) -> KnowledgeBase:
        """Index pages."""
        place = self.folder / str(next(RUNS))
        (place / "docs").mkdir(parents=True)
        for name, text in pages.items():
            (place / "docs" / f"{name}.md").write_text(text, "utf-8", "replace")
        ingest(place / "docs", directory=place / "kb")
        return KnowledgeBase(place / "kb")

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

    def as_documents(self, *texts: str) -> str:
        """Index pages of these texts, and answer from them."""
        pages = {f"kettle-{number}": PAGE + text for number, text in enumerate(texts)}
        with self.index(pages) as knowledge:
            return self.ask("When does the kettle boil?", self.over(knowledge))


@pytest.fixture(scope="module")
def turns(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Turns]:
    """Return graphs that have run before: what is read on first use is no part of a turn."""
    with asyncio.Runner() as runner:
        made = Turns(tmp_path_factory.mktemp("turns"), runner)
        for run in (made.as_question, made.as_draft, made.as_documents):
            for text in ("When does the kettle boil?", "Когда закипит чайник? `a` [1](b)"):
                run(text)
        yield made


def seconds(run: Callable[..., str], *texts: str) -> float:
    """Return the CPU time of a turn, which must have come to one of its ends.

    Without the garbage collector: what it takes depends on all that the process holds, and comes at any moment.
    """
    gc.disable()
    try:
        began = time.process_time()
        ended = run(*texts)
        taken = time.process_time() - began
    finally:
        gc.enable()
    assert ended != Outcome.ERROR, [text[:40] for text in texts]
    return taken


@cache
def bare(run: Callable[..., str], texts: int) -> float:
    """Return what a turn takes with hardly any text."""
    return min(seconds(run, *("kettle" for _ in range(texts))) for _ in range(3))


def growth(run: Callable[..., str], made: list[Callable[[int], str]]) -> float:
    """Return how many times longer a turn takes with long texts than with short ones; 0 where it takes hardly any time.

    Half of what a turn takes with hardly any text is left out: without the other half, noise might be all that is left
    of a short one. What looks as if it grew too fast is measured again, up to six times: the least of each counts, and on
    a machine that does other work, too, three of the longer may all have met it.
    """
    long = short = grown = float("inf")
    rest = bare(run, len(made)) / 2
    for _ in range(6):
        long = min(long, seconds(run, *(shape(LONG) for shape in made)))
        if long - rest <= LEAST * GROWTH:
            return 0.0
        short = min(short, seconds(run, *(shape(SHORT) for shape in made)))
        if (grown := (long - rest) / max(short - rest, LEAST)) <= GROWTH:
            break
        # It was measured once, maybe in a slow moment: all the short text may then seem to be what any turn takes.
        rest = min(rest, seconds(run, *("kettle" for _ in made)) / 2)
    return grown


GROUPS: Final = [*PIECES, "mixed", "values"]


@pytest.mark.slow
@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("way", ["as_question", "as_draft"])
def test_a_text_takes_no_more_time_than_its_length_allows(turns: Turns, way: str, group: str) -> None:
    """A message or a draft that is four times as long takes at most six times the CPU (regression: 20,000 blanks, 33 s)."""
    grown = {shape(40): growth(getattr(turns, way), [shape]) for shape in shapes(group)}
    assert {text: times for text, times in grown.items() if times > GROWTH} == {}


@pytest.mark.slow
@pytest.mark.parametrize("group", GROUPS)
def test_documents_take_no_more_time_than_their_length_allows(turns: Turns, group: str) -> None:
    """The same of pages that are read in and answered from: all of a group at once, for each takes but milliseconds."""
    assert growth(turns.as_documents, list(shapes(group))) <= GROWTH


def test_the_shapes_are_many_and_as_long_as_a_message_may_be() -> None:
    """There are about two hundred, and each has the length it is asked for."""
    made = [shape for group in GROUPS for shape in shapes(group)]
    assert len(made) >= 200
    assert {len(shape(size)) for shape in made for size in (SHORT, LONG)} == {SHORT, LONG}
    assert LONG == MAX_MESSAGE_CHARS
