"""The graph of the documents whose file is gone: a source that cannot be asked."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from adapters.index.embedded import ingest
from assistant.cli.commands.index import index
from assistant.deployment import Deployment, deployment
from assistant.indexing import profile_folders
from assistant.wiring.lookups import lookup_sources
from contracts.enums import RequestType, Source
from contracts.errors import SourceUnavailable
from contracts.ports import SearchRequest
from tests.support.cli_helpers import Desk
from tests.support.markdown_pages import write

TROUBLE = "I get the error GuardianBusy, it does not work"


@pytest.fixture
def handbook(tmp_path: Path) -> Deployment:
    """The bundled profile, whose lookups ask a graph; nothing is indexed yet."""
    return deployment(
        environment={"GUARDIAN_DATA_DIR": str(tmp_path), "GUARDIAN_EMBEDDER": "off", "GUARDIAN_RERANKER": "off"}
    )


def test_a_graph_that_is_gone_is_not_found_empty(handbook: Deployment, handbook_data: Path, tmp_path: Path) -> None:
    """A question that needs the graph ends with "cannot say", and the doctor names the command that brings it back."""
    shutil.copytree(handbook_data, tmp_path, dirs_exist_ok=True)
    shutil.rmtree(handbook.graph_folder)

    desk = Desk(tmp_path, tmp_path, "handbook")
    result = desk.here("ask", TROUBLE, "--role", "operator", "--json", "--quiet").json
    assert result["outcome"] == "handed_off"
    assert result["guardian"]["reasons"] == ["could_not_check=[neo4j]", "does_not_answer=[GuardianBusy]"]
    assert any(line.startswith("neo4j: ") for line in result["diagnostics"]["degraded"])

    assert "Run `guardian index" in of_doctor(desk)["way_out"]
    index(handbook, profile_folders(handbook))
    assert of_doctor(desk)["ok"]


def of_doctor(desk: Desk) -> dict[str, Any]:
    """Return what the doctor says of the graph."""
    (graph,) = [line for line in desk.here("doctor", "--json").json if line["what"] == "graph"]
    return graph


async def test_a_graph_that_was_never_built_is_not_found_empty(handbook: Deployment, tmp_path: Path) -> None:
    """Documents that were indexed before the profile asked a graph anything: the graph is missing, and is not asked."""
    ingest(write(tmp_path / "docs", {"a.md": "# A\n\nAn apple.\n"}), directory=handbook.knowledge_folder)
    source = lookup_sources(handbook)[Source.NEO4J]
    with pytest.raises(SourceUnavailable, match="no graph") as caught:
        await source.search(SearchRequest(TROUBLE, request_type=RequestType.TROUBLESHOOTING))
    assert caught.value.way_out


def test_without_documents_there_is_no_graph_to_be_missed(handbook: Deployment) -> None:
    """A machine that only asks an index in a server has indexed nothing: its graph is not connected."""
    assert Source.NEO4J not in lookup_sources(handbook)


def test_without_lookups_no_graph_is_connected(handbook: Deployment, tmp_path: Path) -> None:
    """A profile that asks a graph nothing needs none, whatever is indexed."""
    ingest(write(tmp_path / "docs", {"a.md": "# A\n\nAn apple.\n"}), directory=handbook.knowledge_folder)
    without = handbook.profile.model_copy(update={"lookups": ()})
    assert lookup_sources(Deployment(handbook.settings, without, handbook.context_type)) == {}
