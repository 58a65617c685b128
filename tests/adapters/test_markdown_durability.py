from __future__ import annotations

import contextlib
import itertools
import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import threading
import time
from collections.abc import Generator
from pathlib import Path

import pytest

from adapters.index.embedded import KnowledgeBase, ingest
from contracts.enums import Source
from contracts.errors import IndexBusy, KnowledgeError, SourceUnavailable
from contracts.ports import SearchRequest
from tests.support import fork_server
from tests.support.fork_server import Program
from tests.support.markdown_pages import find, write

ROOT = Path(__file__).resolve().parents[2]
State = set[tuple[str, str]]

RUN = """
import sys, time
from pathlib import Path
from adapters.index.embedded import ingest, ingestion
from adapters.index.embedded.index import PassageWriter
from adapters.index.store import Store

docs, kb, moment = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]

def here():
    print("here", flush=True)
    time.sleep(60)

def around(owner, name, *, before=False):
    original = getattr(owner, name)
    def patched(self, *args):
        if before:
            here()
        result = original(self, *args)
        here()
        return result
    setattr(owner, name, patched)

def progress(done, total, path):
    if moment == "among the rows" and done == total - 5:
        here()
    if moment == "slowly":
        time.sleep(0.002)
    if done == 1:
        print("started", flush=True)

if moment == "before the commit of the index":
    around(PassageWriter, "commit", before=True)
if moment == "after the commit of the index":
    around(PassageWriter, "commit")
if moment == "before the last transaction ends":
    around(Store, "settle")
if moment == "after the last transaction":
    around(Store, "tidy", before=True)
ingest(docs, directory=kb, on_progress=progress)
print("done", flush=True)
"""


@contextlib.contextmanager
def running(docs: Path, kb: Path, moment: str) -> Generator[subprocess.Popen[str]]:
    """Start a run in a process of its own; whatever is left of it at the end is killed."""
    process = Program[str](["-c", RUN, str(docs), str(kb), moment], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert process.stdout
        process.stdout.close()


def reached(process: subprocess.Popen[str], *words: str) -> None:
    assert process.stdout
    for line in process.stdout:
        if line.strip() in words:
            return
    raise AssertionError(f"the run ended before it said {' or '.join(words)}")


def state(kb: Path) -> State:
    return {(item.ref, item.snippet) for item in find(kb, "common")}


def editions() -> tuple[dict[str, str], dict[str, str]]:
    """Two states of one folder: half of the pages are changed, some removed, some added."""
    old = {f"{n:03}.md": f"# Page {n}\n\ncommon old text {n}\n" for n in range(40)}
    new = {name: text.replace("old", "new") if n % 2 else text for n, (name, text) in enumerate(list(old.items())[5:])}
    new |= {f"{n:03}.md": f"# Page {n}\n\ncommon added text {n}\n" for n in range(40, 50)}
    return old, new


@pytest.fixture
def between(tmp_path: Path) -> tuple[Path, Path, State, State]:
    """A folder that has moved on since it was indexed: folder, knowledge base, old state, new state."""
    docs, kb = tmp_path / "docs", tmp_path / "kb"
    old, new = editions()
    write(docs, new)
    ingest(docs, directory=tmp_path / "fresh")
    shutil.rmtree(docs)
    write(docs, old)
    ingest(docs, directory=kb)
    shutil.rmtree(docs)
    write(docs, new)
    states = state(kb), state(tmp_path / "fresh")
    assert len(states[0]) == 40
    assert len(states[1]) == 45
    return docs, kb, *states


@pytest.mark.slow
@pytest.mark.parametrize(
    ("moment", "stands"),
    [
        ("among the rows", "old"),
        ("before the commit of the index", "old"),
        ("after the commit of the index", "new"),
        ("before the last transaction ends", "new"),
        ("after the last transaction", "new"),
    ],
)
def test_a_run_killed_at_any_moment_leaves_one_whole_index(
    between: tuple[Path, Path, State, State], moment: str, stands: str
) -> None:
    """Before, at and after each step another process finds the old index or the new one, and the next run ends it."""
    docs, kb, old, new = between
    expected = {"old": old, "new": new}[stands]
    with KnowledgeBase(kb) as opened_before, running(docs, kb, moment) as process:
        reached(process, "here")
        assert state(kb) == expected
        items = opened_before.search_now(SearchRequest("common", top_k=200), Source.DOC).items
        assert {(item.ref, item.snippet) for item in items} == expected
    assert state(kb) == expected
    report = ingest(docs, directory=kb)
    assert report.documents == report.chunks_in_all == 45
    assert state(kb) == new
    assert ingest(docs, directory=kb).unchanged == 45


@pytest.mark.slow
def test_runs_killed_at_random_never_show_a_mixture(between: tuple[Path, Path, State, State]) -> None:
    """Readers that search all the while, through kills at random moments, see the old index or the new one only."""
    docs, kb, old, new = between
    pages = itertools.cycle(editions())
    dice = random.Random(5)  # noqa: S311 -- moments, not secrets
    wrong: list[State] = []
    seen: list[bool] = []
    stop = threading.Event()

    def read() -> None:
        with KnowledgeBase(kb) as knowledge:
            while not stop.wait(0.005):  # without a pause, two readers are most of the test's work
                items = knowledge.search_now(SearchRequest("common", top_k=200), Source.DOC).items
                now = {(item.ref, item.snippet) for item in items}
                seen.append(now == new)
                if now not in (old, new):
                    wrong.append(now)

    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    try:
        for _ in range(10):
            shutil.rmtree(docs)
            write(docs, next(pages))
            with running(docs, kb, "slowly") as process:
                # A run that finds nothing to read, as the first one, starts nothing.
                reached(process, "started", "done")
                time.sleep(dice.uniform(0, 0.3))
        shutil.rmtree(docs)
        write(docs, editions()[1])
        with running(docs, kb, "slowly") as process:
            reached(process, "done")
        time.sleep(0.1)
    finally:
        stop.set()
        for reader in readers:
            reader.join()
    assert wrong == []
    assert set(seen) == {False, True}
    assert state(kb) == new


def test_files_that_a_killed_run_left_in_the_index_are_not_in_the_way_of_the_next(
    between: tuple[Path, Path, State, State],
) -> None:
    """The engine names files by a count that a killed run used, too: what it left is cleared away before writing."""
    docs, kb, _, new = between
    segment = next((kb / "index").glob("*.idx")).stem
    left = [f"{segment}.{number}.del" for number in range(500)]
    for name in left:
        (kb / "index" / name).write_bytes(b"")
    managed = kb / "index" / ".managed.json"
    managed.write_text(json.dumps([*json.loads(managed.read_text()), *left]))
    ingest(docs, directory=kb)
    assert state(kb) == new
    assert not [path.name for path in (kb / "index").glob("*.del") if path.name in left]


@pytest.mark.slow
def test_a_second_writer_is_told_at_once_and_readers_are_not_kept_waiting(
    between: tuple[Path, Path, State, State],
) -> None:
    """While one process writes, another gets an error with a way out, and a search its answer."""
    docs, kb, old, _ = between
    with running(docs, kb, "before the commit of the index") as process:
        reached(process, "here")
        started = time.monotonic()
        with pytest.raises(IndexBusy) as caught:
            ingest(docs, directory=kb)
        assert "Wait" in caught.value.way_out
        assert state(kb) == old
        assert time.monotonic() - started < 2
    # The lock of a killed process is no lock.
    ingest(docs, directory=kb)


def test_a_second_writer_in_the_same_process_is_told_too(tmp_path: Path) -> None:
    """A run inside a run's own progress is refused, and the first one is not disturbed."""
    docs = write(tmp_path / "docs", {"a.md": "apple"})
    caught: list[str] = []

    def progress(done: int, total: int, path: str) -> None:
        with pytest.raises(IndexBusy) as error:
            ingest(docs, directory=tmp_path / "kb")
        caught.append(error.value.way_out)

    assert ingest(docs, directory=tmp_path / "kb", on_progress=progress).added == 1
    assert len(caught) == 2


def test_an_open_knowledge_base_sees_each_commit(tmp_path: Path) -> None:
    """What was read in after opening is found by the next search, even where the whole folder was replaced."""
    docs, kb = write(tmp_path / "docs", {"a.md": "apple"}), tmp_path / "kb"
    ingest(docs, directory=kb)
    with KnowledgeBase(kb) as knowledge:

        def keys() -> list[str]:
            return sorted(item.document for item in knowledge.search_now(SearchRequest("apple"), Source.DOC).items)

        assert keys() == ["docs/a.md"]
        write(docs, {"b.md": "apple too"})
        ingest(docs, directory=kb)
        assert keys() == ["docs/a.md", "docs/b.md"]
        shutil.rmtree(kb)
        with pytest.raises(SourceUnavailable) as caught:
            keys()
        assert "index the documents again" in caught.value.way_out
        (docs / "a.md").unlink()
        ingest(docs, directory=kb)
        assert keys() == ["docs/b.md"]


FULL = """
import resource, sys
from pathlib import Path
from adapters.index.embedded import ingest
from contracts.errors import KnowledgeError

limit = int(sys.argv[3])
if limit:
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
try:
    ingest(Path(sys.argv[1]), directory=Path(sys.argv[2]))
except KnowledgeError as error:
    print("told:", error.message, "|", error.way_out)
else:
    print("fine")
"""


def filled(docs: Path, pages: int) -> None:
    dice = random.Random(1)  # noqa: S311 -- filler, not secrets
    for number in range(pages):
        # Long ones: the bytes are the point, and each word costs time.
        words = " ".join(f"w{dice.randrange(10**44)}" for _ in range(1100))
        write(docs, {f"big{number}.md": f"# Big {number}\n\ngigantic {words}\n"})


def attempt(docs: Path, kb: Path, limit: int) -> str:
    done = fork_server.run(["-c", FULL, str(docs), str(kb), str(limit)], cwd=ROOT, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("pages", [8, 20], ids=["at the end of the record", "among its rows"])
def test_a_file_that_may_not_grow_leaves_the_old_index_whole(tmp_path: Path, pages: int) -> None:
    """If a write of the record fails, the error names the way out and the old index answers; so many rows do not wait for its end."""
    docs, kb = write(tmp_path / "docs", {"a.md": "common apple"}), tmp_path / "kb"
    ingest(docs, directory=kb)
    old = state(kb)
    filled(docs, pages)
    told = attempt(docs, kb, 150_000)
    assert told.startswith("told:")
    assert "free space" in told
    assert state(kb) == old
    assert attempt(docs, kb, 0).strip() == "fine"
    assert len(state(kb)) >= 1
    assert {item.document for item in find(kb, "gigantic")} == {f"docs/big{n}.md" for n in range(pages)}


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount a small disk")
@pytest.mark.parametrize(
    ("size", "pages", "cause"),
    [("1500k", 9, ValueError), ("1500k", 13, sqlite3.Error), ("500k", 24, OSError)],
    ids=["the index", "the record", "what was read"],
)
def test_a_full_disk_leaves_one_whole_index(tmp_path: Path, size: str, pages: int, cause: type[Exception]) -> None:
    """On a disk without space the error names the way out, one whole index answers, and space mends it."""
    disk, docs = tmp_path / "disk", write(tmp_path / "docs", {"a.md": "common apple"})
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(disk)], check=False).returncode:
        pytest.skip("mounting is not allowed here")
    try:
        kb = disk / "kb"
        ingest(docs, directory=kb)
        filled(docs, pages)
        with pytest.raises(KnowledgeError) as caught:
            ingest(docs, directory=kb)
        assert isinstance(caught.value.__cause__, cause)
        assert "free space" in caught.value.way_out
        assert {ref for ref, _ in state(kb)} == {"doc:docs/a.md#0"}
        assert {item.document for item in find(kb, "gigantic")} in (set(), {f"docs/big{n}.md" for n in range(pages)})
        subprocess.run(["mount", "-o", "remount,size=60m", str(disk)], check=True)
        ingest(docs, directory=kb)
        assert {item.document for item in find(kb, "gigantic")} == {f"docs/big{n}.md" for n in range(pages)}
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=True)
