"""What the handbook shows of Python runs: each whole example as a program of its own, in one process per language."""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from tests.support import fork_server
from tests.support.handbook_pages import LANGUAGES, PYTHON, WHOLE, Block

ROOT = Path(__file__).resolve().parent.parent
SHOWN = ("python-api", "python-streaming", "subgraph")
"""Pages about Python: nothing that they show is a mere part of a program, and all of it prints something."""

RUNNER = """
import contextlib, gc, io, json, sys, threading, time, traceback

def problems():
    gc.collect()
    until = time.monotonic() + float(sys.argv[1])
    for thread in (new := {each for each in threading.enumerate() if not each.daemon} - known):
        thread.join(max(0, until - time.monotonic()))
    left = {each for each in new if each.is_alive()}
    known.update(left)
    gc.collect()
    return [*(f"a thread is left: {each.name}" for each in left), *unraisable]

known = {threading.main_thread()}
unraisable = []
sys.unraisablehook = lambda what: unraisable.append(f"unraisable: {what.exc_value!r}")
told = []
for block in json.load(sys.stdin):
    out, faults = io.StringIO(), []
    with contextlib.redirect_stdout(out):
        try:
            exec(compile(block["code"], block["name"], "exec"), {"__name__": "__main__"})
        except BaseException:
            faults.append(traceback.format_exc())
    told.append({"name": block["name"], "out": out.getvalue(), "faults": faults + problems()})
    unraisable.clear()
json.dump(told, sys.stdout)
"""
"""Runs blocks of code one after the other, each with names of its own, and tells what each printed and left behind.

Its argument is how long threads that a block began may take to end, in seconds: where an executor or a connection is
closed, its thread may be just about to.
"""


@pytest.fixture(scope="module")
def indexed(handbook_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a data folder with the handbook in it."""
    return Path(shutil.copytree(handbook_data, tmp_path_factory.mktemp("handbook") / "data"))


def run(blocks: list[Block], folder: Path, ending_s: float = 20.0) -> list[dict[str, Any]]:
    """Run blocks in one process, where a warning is an error; return the name, the output and the faults of each.

    A thread that does not end within `ending_s` seconds behind its block is left.
    """
    environment = {
        **os.environ,
        "GUARDIAN_DATA_DIR": str(folder),
    }
    given = json.dumps([asdict(block) for block in blocks])
    done = fork_server.run(["-c", RUNNER, str(ending_s)], given, env=environment, cwd=folder, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads(done.stdout)


@pytest.mark.slow
@pytest.mark.parametrize("language", LANGUAGES)
def test_every_whole_python_example_runs(language: str, indexed: Path) -> None:
    """A whole example runs as it stands, over the indexed handbook: no error, no warning, no thread that is left."""
    blocks = [block for block in WHOLE if block.name.startswith(f"knowledge/{language}/")]
    told = run(blocks, indexed)
    assert [ran["name"] for ran in told] == [block.name for block in blocks]
    assert len(told) > 15
    assert {ran["name"]: ran["faults"] for ran in told if ran["faults"]} == {}
    of_python = [ran for ran in told if Path(ran["name"].partition(",")[0]).stem in SHOWN]
    assert len(of_python) == 12
    assert [ran["name"] for ran in of_python if not ran["out"].strip()] == []


def test_the_pages_about_python_show_whole_programs() -> None:
    """No block of these pages is left out of what is run."""
    shown = [block.name for block in PYTHON if Path(block.name.partition(",")[0]).stem in SHOWN]
    assert shown
    assert set(shown) <= {block.name for block in WHOLE}


def test_an_example_that_fails_warns_or_leaves_a_thread_is_told(tmp_path: Path) -> None:
    """What holds the other tests up: each of these is found, and those after it run all the same."""
    bad = {
        "fails": "1 / 0",
        "warns": "async def never(): pass\nnever()",
        # It lasts as long as the process, however slow that is.
        "leaves": "import threading\nthreading.Thread(target=threading.main_thread().join).start()",
        "prints": "print('fine')",
    }
    blocks = [Block("python", code, name) for name, code in bad.items()]
    told = {ran["name"]: ran for ran in run(blocks, tmp_path, ending_s=0.1)}
    assert "ZeroDivisionError" in str(told["fails"]["faults"])
    assert "never awaited" in str(told["warns"]["faults"])
    assert "a thread is left" in str(told["leaves"]["faults"])
    assert (told["prints"]["out"], told["prints"]["faults"]) == ("fine\n", [])


def test_a_thread_that_is_ending_is_waited_for(tmp_path: Path) -> None:
    """One that still has something to do when its block has run is not left."""
    ends = Block("python", "import threading, time\nthreading.Thread(target=time.sleep, args=(0.5,)).start()", "ends")
    assert run([ends], tmp_path) == [{"name": "ends", "out": "", "faults": []}]
