"""multilingual-e5-small from the weights of a package: how they are read, cut into pieces and reckoned with.

New: nothing else here has arithmetic of its own. The model is a small one in the same form, as the real one is 72 MB.
"""

from __future__ import annotations

import asyncio
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest

from adapters.index.embedded import KnowledgeBase
from adapters.index.ranking.local import e5
from adapters.index.ranking.local.e5 import E5Model
from adapters.index.ranking.local.e5_file import E5File
from adapters.index.ranking.local.embedder import LocalEmbedder
from adapters.index.ranking.local.pieces import Pieces
from contracts.enums import Source
from contracts.errors import ServerFault
from contracts.ports import SearchRequest
from tests.support.cli_helpers import Desk
from tests.support.shelves import PAGES, fill_vectors, shelf
from tests.support.small_e5 import NUMBERS, PLACES, SmallE5


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> SmallE5:
    made = SmallE5(tmp_path_factory.mktemp("e5") / "small.bin")
    made.write()
    return made


def digest(path: Path) -> str:
    return sha256(path.read_bytes()).hexdigest()


def test_a_vector_is_what_the_arithmetic_says(small: SmallE5) -> None:
    """Number by number in other code: attention, both norms and the network, within the approximation of one function."""
    model = E5Model(small.path, digest(small.path))
    pieces = Pieces(E5File.read(small.path).pieces, NUMBERS["<unk>"], {})
    for text in ("roses", "розы roses q", "s s s s s s s s s s s s s s s s"):
        numbers = [NUMBERS["<s>"], *pieces.numbers(text)[: PLACES - 2], NUMBERS["</s>"]]
        (vector,) = model.encode([text])
        assert vector.tolist() == pytest.approx(small.vector(numbers), abs=2e-3)


def test_a_vector_does_not_depend_on_its_neighbours(small: SmallE5) -> None:
    """Alone or among others, a text has the very same numbers, of length 1."""
    model = E5Model(small.path, digest(small.path))
    alone, together = model.encode(["roses"]), model.encode(["q q q q q", "roses"])
    assert (alone[0] == together[1]).all()
    assert np.linalg.norm(alone[0]) == pytest.approx(1)


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("roses", ["▁ro", "se", "s"]),  # likelier than one long piece and the rest
        ("  розы\tроза ", ["▁роз", "ы", "▁роз", "а"]),
        ("rozzz", ["▁ro", "<unk>"]),  # what is unknown in a row is one
        ("ro\u00adse", ["▁ro", "se"]),  # a character that stands for nothing
        ("", []),
    ],
)
def test_words_are_cut_into_their_likeliest_pieces(small: SmallE5, text: str, pieces: list[str]) -> None:
    """Word by word, by the sum of the scores."""
    file = E5File.read(small.path)
    found = Pieces(file.pieces, file.unknown, file.characters).numbers(text)
    assert found == [NUMBERS[piece] for piece in pieces]


def test_a_file_that_is_not_the_measured_one_is_not_used(small: SmallE5, tmp_path: Path) -> None:
    """Another digest, no such file, or one cut off: each says what to install, and nothing is reckoned."""
    torn = tmp_path / "torn.bin"
    torn.write_bytes(small.path.read_bytes()[:-100])
    for path, wanted, said in (
        (small.path, "0" * 64, "not those that this program was made with"),
        (tmp_path / "none.bin", "0" * 64, "cannot be loaded"),
        (torn, digest(torn), "ends too early"),
    ):
        with pytest.raises(ServerFault, match=said) as caught:
            E5Model(path, wanted).encode(["text"])
        assert "guardian-assistant[meaning-large]" in (caught.value.way_out or "")


def test_queries_and_passages_have_words_of_their_own_before_them(small: SmallE5, tmp_path: Path) -> None:
    """What is kept was encoded as a passage, and what is asked as a query; both are searched together."""
    model = E5Model(small.path, digest(small.path))
    embedder = LocalEmbedder(model)
    (query,), (passage,) = asyncio.run(embedder.embed_queries(["rose"])), asyncio.run(embedder.embed(["rose"]))
    assert (query == model.encode(["query: rose"])[0]).all()
    assert (passage == model.encode(["passage: rose"])[0]).all()
    kb = shelf(tmp_path)
    assert fill_vectors(kb, embedder).asked == len(PAGES)
    with KnowledgeBase(kb, embedder=embedder) as knowledge:
        reply = asyncio.run(knowledge.search(SearchRequest("when are roses watered"), Source.DOC))
    assert reply.trace.degraded == ""
    assert all(row.similarity is not None for row in reply.trace.passages)


def test_where_the_package_is_absent_it_is_said_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Asked for by name it is an error with the command that installs it."""
    monkeypatch.setattr(e5, "PACKAGE", "a_package_that_nobody_has")
    desk = Desk(tmp_path / "data", tmp_path)
    run = desk.having(GUARDIAN_EMBEDDER="e5").here("doctor")
    assert run.code == 1
    assert 'pip install "guardian-assistant[meaning-large]"' in run.out
