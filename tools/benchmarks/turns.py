"""What a turn costs: time above a bare LangGraph of nine empty nodes, and bytes kept."""

from __future__ import annotations

import asyncio
import sqlite3
import sys
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Annotated, Any

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import END, START, MessagesState, StateGraph
from typing_extensions import TypedDict

import contracts.state
from adapters.checkpoints.sqlite import open_saver
from adapters.storage.claims import FileClaims
from assistant.deployment import Deployment
from assistant.turns.runner import TurnRunner
from assistant.turns.transcript import TurnStore
from assistant.wiring.documents import knowledge_base
from assistant.wiring.ports import ports
from contracts.state import add_to_window
from graph.build import build_graph
from tools.benchmarks.report import Measurement, percentile

NODES = 9
QUESTIONS = (
    "How do I add my own documents?",
    "Как удалить диалог?",
    "What does exit code 4 mean?",
    "Какие языки поддерживаются?",
    "How do I write my own profile?",
    "Чем QUALITY отличается от FAST?",
    "How are invented citations caught?",
    "Из каких узлов состоит граф?",
    "Which environment variables are there?",
    "Что проверяет doctor?",
)
ANSWER = "To add documents, put them into one folder and index it, then ask. " * 20
"""As long as the product's answers are on average."""
Ask = Callable[[int], Awaitable[None]]


@asynccontextmanager
async def bare(file: Path) -> AsyncGenerator[Ask]:
    """Run nine nodes that do nothing on the stock saver, with an answer as long as ours: LangGraph as it comes."""

    async def nothing(state: MessagesState) -> dict[str, Any]:  # noqa: ARG001  # LangGraph calls it by this name
        return {}

    async def answer(state: MessagesState) -> dict[str, Any]:  # noqa: ARG001  # LangGraph calls it by this name
        return {"messages": [AIMessage(ANSWER)]}

    graph = StateGraph(MessagesState)
    _in_a_row(graph, nothing, answer)
    async with AsyncSqliteSaver.from_conn_string(str(file)) as saver:
        compiled = graph.compile(checkpointer=saver)

        async def ask(number: int) -> None:
            message = HumanMessage(QUESTIONS[number % len(QUESTIONS)], id=f"q{number}")
            config: Any = {"configurable": {"thread_id": "t"}}
            await compiled.ainvoke({"messages": [message]}, config, durability="sync")

        yield ask


class _Small(TypedDict):
    """What nine empty nodes need to be run by our turn runner."""

    messages: Annotated[list[AnyMessage], add_to_window]
    result: dict[str, Any]


@asynccontextmanager
async def run_stored(file: Path) -> AsyncGenerator[Ask]:
    """Run nine nodes that do nothing with our window, saver and turn runner: what storing a turn costs."""

    async def nothing(state: _Small) -> dict[str, Any]:  # noqa: ARG001  # LangGraph calls it by this name
        return {}

    async def answer(state: _Small) -> dict[str, Any]:  # noqa: ARG001  # LangGraph calls it by this name
        return {"messages": [AIMessage(ANSWER)], "result": {"answer_text": ANSWER, "outcome": "answered"}}

    graph = StateGraph(_Small)
    _in_a_row(graph, nothing, answer)
    async with open_saver(file) as saver, await TurnStore.open(file) as store:
        runner = TurnRunner(graph.compile(checkpointer=saver), store, FileClaims(file.parent / "small-locks"))

        async def ask(number: int) -> None:
            await runner.run("t", QUESTIONS[number % len(QUESTIONS)], turn_id=f"q{number}")

        yield ask


def _in_a_row(graph: StateGraph[Any, Any, Any, Any], nothing: Any, answer: Any) -> None:
    names = [f"node{number}" for number in range(NODES)]
    for name in names:
        graph.add_node(name, answer if name == names[-1] else nothing)
    for before, after in zip([START, *names], [*names, END], strict=True):
        graph.add_edge(before, after)


@asynccontextmanager
async def stock(file: Path, deployed: Deployment) -> AsyncGenerator[Ask]:
    """Run our graph as LangGraph would by itself: the stock saver keeps every step, and the state every message."""
    knowledge = knowledge_base(deployed)
    async with AsyncSqliteSaver.from_conn_string(str(file)) as saver:
        graph: Any = build_graph(
            ports(deployed, knowledge), deployed.profile, settings=deployed.context_type, checkpointer=saver
        )

        async def ask(number: int) -> None:
            message = HumanMessage(QUESTIONS[number % len(QUESTIONS)], id=f"q{number}")
            config: Any = {"configurable": {"thread_id": "t"}}
            with _no_window():
                await graph.ainvoke({"messages": [message]}, config, durability="sync")

        yield ask


@contextmanager
def _no_window() -> Generator[None]:
    """Let the state keep all messages, as LangGraph's own reducer does."""
    window = contracts.state.MESSAGE_WINDOW
    setattr(contracts.state, "MESSAGE_WINDOW", sys.maxsize)  # noqa: B010  # it is Final for everybody else
    try:
        yield
    finally:
        setattr(contracts.state, "MESSAGE_WINDOW", window)  # noqa: B010  # as above


@asynccontextmanager
async def ours(file: Path, deployed: Deployment) -> AsyncGenerator[Ask]:
    """Run the product: our graph, saver and turn runner with its transcript."""
    knowledge = knowledge_base(deployed)
    async with open_saver(file) as saver, await TurnStore.open(file) as store:
        graph = build_graph(
            ports(deployed, knowledge), deployed.profile, settings=deployed.context_type, checkpointer=saver
        )
        runner = TurnRunner(graph, store, FileClaims(file.parent / "locks"))

        async def ask(number: int) -> None:
            await runner.run(
                "t", QUESTIONS[number % len(QUESTIONS)], turn_id=f"q{number}", context=deployed.context_type()
            )

        yield ask


def measure(folder: Path, deployed: Deployment, turns: int) -> list[Measurement]:
    """Run each for so many turns on one thread."""
    product, empty, kept, storage = asyncio.run(_series(folder, deployed, turns))
    tenth, last = 10, turns
    late = slice(turns - 20, turns)
    return [
        Measurement(
            "a turn, first ten (median)",
            percentile(product.ms[:10], 0.5),
            percentile(empty.ms[:10], 0.5),
            "ms",
            "nine empty nodes, stock saver",
        ),
        Measurement(
            f"a turn around turn {last} (median)",
            percentile(product.ms[late], 0.5),
            percentile(empty.ms[late], 0.5),
            "ms",
            "nine empty nodes, stock saver",
        ),
        Measurement(
            f"a turn around turn {last} (median)",
            percentile(product.ms[late], 0.5),
            percentile(kept.ms[late], 0.5),
            "ms",
            "our graph, stock saver, all messages",
            aim=0.5,
        ),
        Measurement(
            f"storing a turn around turn {last} (nine empty nodes)",
            percentile(storage.ms[late], 0.5),
            percentile(empty.ms[late], 0.5),
            "ms",
            "nine empty nodes, stock saver",
            aim=0.5,
        ),
        Measurement(
            f"bytes a turn adds at turn {last}",
            product.added(last) / 1024,
            product.added(tenth) / 1024,
            "KiB",
            f"ours at turn {tenth}",
            aim=1.1,
        ),
        Measurement(
            f"bytes a turn adds at turn {last}",
            product.added(last) / 1024,
            kept.added(last) / 1024,
            "KiB",
            "our graph, stock saver, all messages",
        ),
        Measurement(
            f"bytes kept after {last} turns",
            product.kept[-1] / 1024,
            kept.kept[-1] / 1024,
            "KiB",
            "our graph, stock saver, all messages",
        ),
    ]


class _Series:
    """Milliseconds of each turn, and the bytes in all tables after each."""

    def __init__(self) -> None:
        self.ms: list[float] = []
        self.kept: list[int] = []

    def added(self, turn: int) -> float:
        """Return the bytes that turns around this one added, on average over five."""
        around = self.kept[turn - 6 : turn]
        return max(1.0, (around[-1] - around[0]) / (len(around) - 1))


async def _series(folder: Path, deployed: Deployment, turns: int) -> tuple[_Series, _Series, _Series, _Series]:
    files = [folder / name for name in ("ours.db", "bare.db", "stock.db", "stored.db")]
    series = (_Series(), _Series(), _Series(), _Series())
    async with (
        ours(files[0], deployed) as first,
        bare(files[1]) as second,
        stock(files[2], deployed) as third,
        run_stored(files[3]) as fourth,
    ):
        for number in range(turns):
            # In turns, so that all three meet the same moods of the machine.
            for ask, file, one in zip((first, second, third, fourth), files, series, strict=True):
                began = time.perf_counter()
                await ask(number)
                one.ms.append((time.perf_counter() - began) * 1000)
                one.kept.append(_bytes(file))
    return series


def _bytes(file: Path) -> int:
    """Return the bytes of all values in all tables: the file itself grows in pages, and shrinks only on VACUUM."""
    connection = sqlite3.connect(file)
    try:
        tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        total = 0
        for table in tables:
            columns = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
            lengths = " + ".join(f"coalesce(length(CAST({column} AS BLOB)), 0)" for column in columns)
            total += connection.execute(f"SELECT coalesce(sum({lengths}), 0) FROM {table}").fetchone()[0]  # noqa: S608  # names from the schema
        return total
    finally:
        connection.close()
