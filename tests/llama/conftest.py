"""Model files and servers, made once per session."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.llama import tiny_gguf
from tests.support.llama.server import GUARD, LlamaServer, llama_server, template

# Its asserts are a helper's, and say what they compared only where pytest has rewritten them.
pytest.register_assert_rewrite("tests.support.llama.invariants")

FAMILIES = ("system_first", "strict_alternation", "tools", "no_system")


@pytest.fixture(scope="session")
def tiny_model(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Return the model file with a chat template, by the template's name."""
    folder = tmp_path_factory.mktemp("models")
    files = {name: tiny_gguf.write(folder / f"{name}.gguf", template=template(name)) for name in FAMILIES}
    return files.__getitem__


@pytest.fixture(scope="session")
def llama(tiny_model: Callable[[str], Path]) -> Iterator[LlamaServer]:
    """Serve the model that knows tools."""
    with llama_server(tiny_model("tools")) as server:
        yield server


@pytest.fixture(scope="session")
def llama_guard(tiny_model: Callable[[str], Path]) -> Iterator[LlamaServer]:
    """Serve a random moderator."""
    with llama_server(tiny_model("tools"), grammar=GUARD, alias="Qwen3Guard-tiny") as server:
        yield server


@pytest.fixture(scope="session", params=FAMILIES)
def family(request: pytest.FixtureRequest, tiny_model: Callable[[str], Path]) -> Iterator[tuple[str, LlamaServer]]:
    """Serve one model after the other, one for each chat template, that leaves a last assistant message to it."""
    with llama_server(tiny_model(request.param), prefill=False) as server:
        yield request.param, server
