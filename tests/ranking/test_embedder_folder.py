"""An embedding model in a folder of the user's: what it finds, and what is said where it is not as its manifest says.

New: the folder is a way of its own to get a model; its graph is a real one that `onnxruntime` runs, of a few hundred bytes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from adapters.index.embedded import KnowledgeBase
from adapters.index.ranking.local import onnx_folder
from adapters.index.ranking.local.embedder import LocalEmbedder
from adapters.index.ranking.local.folder import FolderModel
from contracts.enums import Source
from contracts.errors import ConfigError, ServerFault
from contracts.ports import SearchReply, SearchRequest
from tests.support.cli_helpers import Desk
from tests.support.shelves import PAGES, UNSHARED, fill_vectors, shelf
from tests.support.small_onnx import folder, graph

WORDS = {
    "[UNK]": [0.05, 0.05, 0.05, 1.0],
    "file": [9.0, 0.0, 0.0, 0.0],
    UNSHARED: [9.0, 0.0, 0.0, 0.0],
    "roses": [0.0, 9.0, 0.0, 0.0],
    "query": [0.0, 0.0, 1.0, 0.0],
}


def ask(kb: Path, query: str, model: FolderModel) -> SearchReply:
    with KnowledgeBase(kb, embedder=LocalEmbedder(model)) as knowledge:
        return asyncio.run(knowledge.search(SearchRequest(query), Source.DOC))


def test_a_model_of_ones_own_finds_what_words_do_not(tmp_path: Path) -> None:
    """Its vectors rank beside the words, and are of the length and the texts that the manifest says."""
    model = FolderModel(folder(tmp_path / "model", WORDS))
    kb = shelf(tmp_path)
    assert fill_vectors(kb, LocalEmbedder(model)).asked == len(PAGES)
    reply = ask(kb, UNSHARED, model)
    assert reply.items[0].document == "docs/en/file-system.md"
    assert reply.trace.degraded == ""


@pytest.mark.parametrize(("pooling", "pooled"), [("mean", False), ("cls", False), ("none", True)])
def test_pieces_are_pooled_as_the_manifest_says(tmp_path: Path, pooling: str, pooled: bool) -> None:
    """The mean, the first piece's, or what the graph itself makes; each of length 1."""
    model = FolderModel(folder(tmp_path, WORDS, manifest=f'pooling = "{pooling}"', pooled=pooled))
    (vector,) = model.encode(["file roses roses"])
    wanted = np.array([9.0, 0, 0, 0] if pooling == "cls" else [3.0, 6.0, 0, 0])
    assert vector.tolist() == pytest.approx((wanted / np.linalg.norm(wanted)).tolist(), abs=1e-6)


def test_a_text_is_cut_where_the_manifest_says_and_prefixes_go_before_it(tmp_path: Path) -> None:
    """Two pieces are read; words before a query change its vector and not a passage's, and the name of both."""
    plain = FolderModel(folder(tmp_path / "plain", WORDS, manifest="longest = 2"))
    assert (plain.encode(["file file roses"]) == plain.encode(["file"])).all()
    prefixed = FolderModel(folder(tmp_path / "prefixed", WORDS, manifest='query_prefix = "query "'))
    embedder = LocalEmbedder(prefixed)
    (query,), (passage,) = asyncio.run(embedder.embed_queries(["roses"])), asyncio.run(embedder.embed(["roses"]))
    assert passage.tolist() == [0, 1, 0, 0]
    assert query[2] > 0
    assert plain.name != prefixed.name


def _other_graph(path: Path) -> None:
    (path / "model.onnx").write_bytes(graph(np.ones((5, 4), np.float32)))


def _other_input(path: Path) -> None:
    folder(path, WORDS, more=["pixels"])


BROKEN: dict[str, tuple[Callable[[Path], object], str, str]] = {
    "another file": (_other_graph, "another model.onnx", "write its sha256"),
    "a file that went": (lambda path: (path / "tokenizer.json").unlink(), "lacks tokenizer.json", "Put it there"),
    "another length": (
        lambda path: folder(path, WORDS, manifest="dimension = 5"),
        "no vector of 5",
        "Correct dimension",
    ),
    "another pooling": (
        lambda path: folder(path, WORDS, pooled=True, manifest='pooling = "cls"'),
        "'cls'",
        "or pooling",
    ),
    "an unknown input": (_other_input, "asks for pixels", "no other inputs"),
    "no graph at all": (
        lambda path: (folder(path, WORDS, manifest='graph = "tokenizer.json"'),),
        "cannot be loaded",
        "Export it again",
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_is_not_as_the_manifest_says_is_not_used_and_words_go_on(tmp_path: Path, name: str) -> None:
    """Each says what is wrong and the way out, in the error and in the search, which finds by words."""
    damage, said, way_out = BROKEN[name]
    kb = shelf(tmp_path)
    path = folder(tmp_path / "model", WORDS)
    damage(path)
    model = FolderModel(path)
    with pytest.raises(ServerFault, match=said) as caught:
        model.encode(["text"])
    assert way_out in (caught.value.way_out or "")
    reply = ask(kb, "when are roses watered", model)
    assert reply.items[0].document == "docs/en/garden.md"
    assert said in reply.trace.degraded


@pytest.mark.parametrize(
    ("manifest", "said"),
    [
        ("name = 5", "name"),
        ('languages = ["fr"]', "languages"),
        ("languages = []", "languages"),
        ('pooling = "max"', "pooling"),
        ("dimension = 0", "dimension"),
        ('graph = "other.onnx"', "has no 'other.onnx'"),
        ("colour = 5", "colour"),
        ("name = ", "no TOML"),
    ],
)
def test_a_manifest_that_is_wrong_is_told_where(tmp_path: Path, manifest: str, said: str) -> None:
    """Before anything is loaded, with the file and the place."""
    folder(tmp_path, WORDS, manifest=manifest)
    with pytest.raises(ConfigError, match=r"embedder\.toml") as caught:
        FolderModel(tmp_path)
    assert said in caught.value.message


def test_without_the_packages_it_is_said_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And which of them is missing."""
    monkeypatch.setattr(onnx_folder, "PACKAGES", ("tokenizers", "a_package_that_nobody_has"))
    with pytest.raises(ConfigError, match="a_package_that_nobody_has") as caught:
        FolderModel(folder(tmp_path, WORDS))
    assert "guardian-assistant[meaning-own]" in (caught.value.way_out or "")


def test_doctor_tells_of_the_folder(tmp_path: Path) -> None:
    """The setting names it; it is told by the model's name, and one that is no folder of a model by what it lacks."""
    desk = Desk(tmp_path / "data", tmp_path)
    there = desk.having(GUARDIAN_EMBEDDER=str(folder(tmp_path / "model", WORDS)))
    assert "vectors made, 0 missing" in there.index().out
    lines = {line["what"]: line["seen"] for line in there.here("doctor", "--json").json}
    assert lines["embeddings"].startswith("tiny ")
    assert lines["embeddings"].endswith("in this process, for en, ru; vectors of 4 numbers")
    nowhere = desk.having(GUARDIAN_EMBEDDER="./nowhere").here("doctor").out
    assert "its embedder.toml cannot be read" in nowhere
    unknown = desk.having(GUARDIAN_EMBEDDER="minilm").here("doctor").out
    assert "auto, use, e5, off, the path of a folder, with a / in it" in unknown
