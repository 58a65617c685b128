"""A reranker in this process: a model in a folder, and the real one whose weights a package brings.

New: the folder's graph is a real one that `onnxruntime` runs, of a few hundred bytes; the real weights are installed.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from adapters.index.embedded import DocumentSource, KnowledgeBase
from adapters.index.ranking.local.onnx_folder import TOKENIZER
from adapters.index.ranking.local.reranker import LONGEST_TEXT, SHA256, FolderReranker, LocalReranker, MiniLm, PairModel
from adapters.index.ranking.reranker import RerankedSource
from contracts.enums import Language
from contracts.errors import ConfigError, ServerFault
from contracts.ports import SearchReply, SearchRequest
from tests.support.cli_helpers import Desk
from tests.support.markdown_pages import write
from tests.support.replies import keys
from tests.support.shelves import shelf
from tests.support.small_onnx import folder, reranker_folder

PAGES = {
    "a.md": "# Roses\n\nRoses, roses, roses: all about roses.\n",
    "b.md": "# Evening\n\nIn the evening roses get their water.\n",
    "c.md": "# Вечер\n\nВечером розы (roses) поливают водой.\n",
}
ROOT = Path(__file__).resolve().parents[2]
WORDS = {"[UNK]": 0.0, "water": 9.0, "roses": 1.0}


@pytest.fixture(scope="module")
def knowledge(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeBase]:
    with KnowledgeBase(shelf(tmp_path_factory.mktemp("roses"), PAGES)) as opened:
        yield opened


def ask(knowledge: KnowledgeBase, model: PairModel | None, query: str = "roses") -> SearchReply:
    plain = DocumentSource(knowledge)
    source = RerankedSource(plain, LocalReranker(model)) if model else plain
    return asyncio.run(source.search(SearchRequest(query)))


def test_a_folders_model_puts_passages_in_its_order(knowledge: KnowledgeBase, tmp_path: Path) -> None:
    """Its scores stand in the trace; nobody knows their scale, so that they count as no odds."""
    before, after = ask(knowledge, None), ask(knowledge, FolderReranker(reranker_folder(tmp_path, WORDS)))
    assert keys(before).index("docs/a.md") < keys(before).index("docs/b.md")
    assert keys(after).index("docs/b.md") < keys(after).index("docs/a.md")
    assert not after.trace.odds


def test_what_the_model_cannot_read_keeps_its_place(knowledge: KnowledgeBase, tmp_path: Path) -> None:
    """A passage in another language stays where it was among those that are put in order; a question in one is not read."""
    model = FolderReranker(reranker_folder(tmp_path, WORDS))
    before, after = ask(knowledge, None), ask(knowledge, model)
    assert keys(after).index("docs/c.md") == keys(before).index("docs/c.md")
    read = {row.document: row.rerank_score_raw is not None for row in after.trace.passages}
    assert read == {"docs/a.md": True, "docs/b.md": True, "docs/c.md": False}
    russian = "когда поливать розы"
    assert keys(ask(knowledge, model, russian)) == keys(ask(knowledge, None, russian))
    assert all(row.rerank_score_raw is None for row in ask(knowledge, model, russian).trace.passages)


def test_no_pair_is_read_twice() -> None:
    """A retry searches for the same question: what it finds again has its score; of a passage the words are read, not its marks."""
    read: list[str] = []

    class Reader:
        name, languages, tells_odds = "reader", frozenset({Language.EN}), False

        def load(self) -> None:
            pass

        def score(self, query: str, text: str) -> float:
            read.append(text)
            return float(len(text))

    model = LocalReranker(Reader())
    assert asyncio.run(model.scores("q", ["one", "three"])) == [3.0, 5.0]
    assert asyncio.run(model.scores("q", ["three", "four", "one"])) == [5.0, 4.0, 3.0]
    assert read == ["one", "three", "four"]
    asyncio.run(model.scores("q", ["# Title | **cell**", "half \ud800", "x" * 10_000]))
    assert read[3:5] == ["Title cell", "half ?"]
    assert len(read[5]) == LONGEST_TEXT


@pytest.mark.parametrize(("loads", "reads", "named"), [(0.0, 0.5, "did not read"), (0.5, 0.0, "was not loaded")])
def test_a_model_that_is_too_slow_leaves_the_order(
    knowledge: KnowledgeBase, loads: float, reads: float, named: str
) -> None:
    """Loading and reading have a time each; the documents are there all the same, and the trace says which setting to change."""

    class Slow:
        name, languages, tells_odds = "slow", frozenset({Language.EN}), False

        def load(self) -> None:
            time.sleep(loads)

        def score(self, query: str, text: str) -> float:
            time.sleep(reads)
            return 0.0

    source = RerankedSource(DocumentSource(knowledge), LocalReranker(Slow(), timeout_s=0.1))
    found = asyncio.run(source.search(SearchRequest("roses")))
    assert keys(found) == keys(ask(knowledge, None))
    assert named in found.trace.degraded
    assert "GUARDIAN_RERANK_TIMEOUT" in found.trace.degraded


def test_a_process_that_ends_while_a_pair_is_read_ends_in_peace() -> None:
    """Whoever cancels a turn and leaves is not told of an abort inside the model."""
    script = (
        "import asyncio\n"
        "from adapters.index.ranking.local.reranker import LocalReranker, minilm\n"
        "async def main():\n"
        "    model = LocalReranker(minilm())\n"
        "    await model.scores('loaded', ['loaded'])\n"
        "    reading = [asyncio.ensure_future(model.scores(f'why {n}', ['word ' * 400])) for n in range(8)]\n"
        "    await asyncio.sleep(0.01)\n"
        "    for each in reading: each.cancel()\n"
        "asyncio.run(main())\n"
    )
    # Once: if nobody waits for those who read, each such process is aborted.
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def _other_graph(path: Path) -> None:
    (path / "model.onnx").write_bytes(b"no graph")


def _two_numbers(path: Path) -> None:
    made = folder(path / "other", {"[UNK]": [1.0, 2.0], "roses": [3.0, 4.0]}, pooled=True)
    for name in ("model.onnx", TOKENIZER):
        (path / name).write_bytes((made / name).read_bytes())
    lines = [line for line in (made / "embedder.toml").read_text("utf-8").splitlines() if line[:4] in ("name", "lang")]
    digests = (made / "embedder.toml").read_text("utf-8").partition("[sha256]")[2]
    (path / "reranker.toml").write_text("\n".join(lines) + "\n[sha256]" + digests, "utf-8")


@pytest.mark.parametrize(
    ("breaks", "said"),
    [
        (_other_graph, "another model.onnx"),
        (lambda path: (path / TOKENIZER).unlink(), f"lacks {TOKENIZER}"),
        (_two_numbers, "cannot read a pair"),
    ],
    ids=["another file", "no tokenizer", "two numbers"],
)
def test_a_folder_that_is_not_as_its_manifest_says_leaves_the_order(
    knowledge: KnowledgeBase, tmp_path: Path, breaks: Callable[[Path], object], said: str
) -> None:
    """The search goes on, and its trace says what is wrong and what to do."""
    path = reranker_folder(tmp_path, WORDS)
    breaks(path)
    found = ask(knowledge, FolderReranker(path))
    assert keys(found) == keys(ask(knowledge, None))
    assert said in found.trace.degraded


@pytest.mark.parametrize(
    ("manifest", "said"),
    [(None, "cannot be read"), ("pooling = 'mean'", "pooling"), ("longest = 1", "longest")],
)
def test_a_manifest_that_is_wrong_is_refused_with_the_place(tmp_path: Path, manifest: str | None, said: str) -> None:
    """At once, before any question, with the setting or the key that it is about."""
    path = reranker_folder(tmp_path, WORDS, manifest=manifest or "")
    if manifest is None:
        (path / "reranker.toml").unlink()
    with pytest.raises(ConfigError, match=said) as caught:
        FolderReranker(path)
    assert caught.value.way_out


def test_the_real_model_tells_the_passage_that_answers() -> None:
    """By its weights, in other words than the question's: one that only shares a word with it has odds of less than 1 %."""
    query = "Where does Shelf put my preferences on a mac?"
    passages = [
        "On macOS the application keeps its settings in `~/Library/Shelf`.",
        "Click the head of a column of the shelf.",
    ]
    answers, other = asyncio.run(LocalReranker(MiniLm()).scores(query, passages))
    assert answers > -2
    assert other < -5


def test_weights_that_are_not_the_measured_ones_are_not_used(tmp_path: Path) -> None:
    """Their scores would mean something else, and the weights of the estimate with them."""
    small = reranker_folder(tmp_path, WORDS)
    with pytest.raises(ServerFault, match="other weights") as caught:
        MiniLm(small).score("q", "text")
    assert "guardian-assistant[rerank]" in (caught.value.way_out or "")
    assert set(SHA256) == {"model.onnx", TOKENIZER}


def test_a_question_in_other_words_is_answered_from_the_page_that_the_model_reads_as_its_answer(tmp_path: Path) -> None:
    """With the real weights, in a whole turn; by words and vectors the same question ends in pages or with a person."""
    pages = {
        "preferences.md": "# Where settings are stored\n\nOn macOS the application keeps its settings in `~/Library/Shelf`.\n",
        "backup.md": "# Making a backup\n\nCopy the data file to another disk once a week.\n",
        "print.md": "# Printing labels\n\nChoose File, then Print, and pick the label printer.\n",
        "sort.md": "# Sorting a shelf\n\nClick the head of a column to sort by it.\n",
    }
    write(tmp_path / "pages", pages)
    profile = tmp_path / "shelf.toml"
    profile.write_text(
        'name = "shelf"\nproduct = "Shelf"\nlanguages = ["en"]\n[[knowledge]]\npath = "pages"\n'
        '[scope]\nwords = ["Shelf"]\n[scope.description]\nen = "shelves"\n',
        "utf-8",
    )
    plain = Desk(tmp_path / "data", tmp_path, profile).having(GUARDIAN_EMBEDDER="use")
    plain.index()
    question = "Where does Shelf put my preferences on a mac?"
    outcomes = {
        name: desk.here("ask", "--json", question).json
        for name, desk in {"words": plain, "read": plain.having(GUARDIAN_RERANKER="minilm")}.items()
    }
    assert outcomes["read"]["outcome"] == "answered"
    assert "~/Library/Shelf" in outcomes["read"]["answer_text"]
    assert outcomes["words"]["outcome"] != "answered"
