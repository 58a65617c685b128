"""A knowledge base whose database is damaged: the way out that is told leads out."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from adapters.index.embedded import KnowledgeBase, ingest
from adapters.index.store import NAME
from contracts.enums import Source
from contracts.errors import KnowledgeError
from contracts.ports import SearchRequest
from tests.support.markdown_pages import write


def _text(_: bytes) -> bytes:
    return b"not what it was" * 300


def _torn(whole: bytes) -> bytes:
    """Keep the first page, which holds the header and the names of the tables."""
    return whole[:4096] + b"\xff" * (len(whole) - 4096)


@pytest.mark.parametrize("harm", [_text, _torn], ids=["text", "torn"])
def test_a_damaged_database_names_the_folder_to_delete(harm: Callable[[bytes], bytes], tmp_path: Path) -> None:
    """Indexing again cannot mend it: the error says which folder to delete, and after that everything is there."""
    docs, base = write(tmp_path / "docs", {"a.md": "# A\n\nAn apple.\n"}), tmp_path / "kb"
    ingest(docs, directory=base)
    (base / NAME).write_bytes(harm((base / NAME).read_bytes()))

    with pytest.raises(KnowledgeError, match="damaged") as caught:
        ingest(docs, directory=base)

    assert caught.value.way_out == f"Delete the folder {base} and index everything again."
    shutil.rmtree(base)
    ingest(docs, directory=base)
    with KnowledgeBase(base) as knowledge:
        assert knowledge.search_now(SearchRequest("apple"), Source.DOC).items


def test_a_database_that_is_locked_is_not_called_damaged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody is told to delete what is whole."""
    docs, base = write(tmp_path / "docs", {"a.md": "# A\n\nAn apple.\n"}), tmp_path / "kb"
    ingest(docs, directory=base)
    write(docs, {"b.md": "# B\n\nA pear.\n"})
    connect: Any = sqlite3.connect

    def hastily(path: Path, **options: Any) -> sqlite3.Connection:
        return connect(path, **{**options, "timeout": 0.1})

    monkeypatch.setattr("sqlite3.connect", hastily)
    other: sqlite3.Connection = connect(base / NAME, isolation_level=None)
    try:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(KnowledgeError) as caught:
            ingest(docs, directory=base)
    finally:
        other.close()
    assert "locked" in caught.value.message
    assert "Delete" not in caught.value.way_out
