from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from assistant import ask_structured
from assistant.config.profiles import BUNDLED_PROFILES
from assistant.deployment import Deployment, deployment
from assistant.wiring.lookups import lookup_sources
from contracts.enums import Source
from contracts.evidence import EvidenceItem
from contracts.result import StructuredAgentResult

ROLES = """
[roles.user]
sources = ["doc", "policy", "neo4j"]
[roles.looker]
sources = ["neo4j"]
[roles.reader]
sources = ["doc"]

"""


@pytest.fixture(scope="module")
def environment(handbook_data: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The handbook's profile, with roles that may use the graph and not the database; its documents are indexed."""
    place = tmp_path_factory.mktemp("graph")
    text = (BUNDLED_PROFILES / "handbook.toml").read_text("utf-8")
    before, _, after = text.partition("[roles.user]\n")
    text = f"{before}{ROLES}[contracts.{after.partition('[contracts.')[2]}"
    text = text.replace('"../knowledge"', f'"{BUNDLED_PROFILES.parent / "knowledge"}"')
    (place / "with_graph.toml").write_text(text, "utf-8")
    made = {
        "GUARDIAN_DATA_DIR": str(place / "data"),
        "GUARDIAN_PROFILE": str(place / "with_graph.toml"),
        "GUARDIAN_EMBEDDER": "off",
        "GUARDIAN_RERANKER": "off",
    }
    shutil.copytree(handbook_data, place / "data")
    return made


@pytest.fixture
def served(environment: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> Deployment:
    """This process is a deployment of it."""
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    return deployment()


def graph_evidence(result: StructuredAgentResult) -> list[EvidenceItem]:
    """Return what of the evidence is the graph's."""
    return [item for item in result.final_articles if item.source is Source.NEO4J]


@pytest.mark.parametrize("question", ["What depends on GUARD_MODE?", "Что зависит от GUARD_MODE?"])
def test_what_depends_on_a_setting_is_answered_from_the_graph(served: Deployment, question: str) -> None:
    """In both languages the answer cites a page that the graph says depends on the setting."""
    result = ask_structured(question)
    assert result.outcome == "answered"
    assert "GUARD_MODE" in result.answer_text
    assert any(item.snippet[:40] in result.answer_text for item in graph_evidence(result))


@pytest.mark.parametrize(
    ("question", "remedy"),
    [
        ("GUARD_MODE does not work, what should I do?", "one of the values in the message"),
        ("GUARD_MODE не работает, что делать?", "одно из значений, названных в сообщении"),
        ("I get the error: another process is indexing. What should I do?", "wait until it has finished"),
        ("Ошибка «Another process is indexing», что делать?", "дождаться, пока он закончит"),
    ],
)
def test_trouble_is_answered_with_what_the_graph_knows_of_it(served: Deployment, question: str, remedy: str) -> None:
    """TROUBLESHOOTING has evidence from the graph: answered with the remedy, or asked back, and never made up."""
    result = ask_structured(question)
    assert result.request_type == "TROUBLESHOOTING"
    assert any(remedy in item.snippet for item in graph_evidence(result))
    assert result.outcome in ("answered", "clarification")
    assert remedy in result.answer_text or result.outcome == "clarification"


def test_trouble_with_a_setting_gets_its_remedy(served: Deployment) -> None:
    """Where the graph has an error and a section about it, the turn ends in an answer."""
    result = ask_structured("GUARD_MODE does not work, what should I do?")
    assert result.outcome == "answered"
    assert "set the environment variable to one of the values in the message" in result.answer_text


@pytest.mark.parametrize(("role", "sources"), [("looker", {Source.NEO4J}), ("reader", {Source.DOC})])
def test_only_roles_that_may_use_the_graph_get_evidence_from_it(
    served: Deployment, role: str, sources: set[Source]
) -> None:
    """What a role may not use is not asked."""
    result = ask_structured("What depends on GUARD_MODE?", settings={"role": role})
    assert {item.source for item in result.final_articles} <= sources
    assert {trace.source for trace in result.per_query_results} == sources


def test_without_a_graph_there_is_no_such_source(served: Deployment, tmp_path: Path) -> None:
    """A deployment that has not built its graph yet answers without it; one with a server asks the server."""
    assert Source.NEO4J in lookup_sources(served)
    elsewhere = deployment(
        environment={
            "GUARDIAN_DATA_DIR": str(tmp_path),
            "GUARDIAN_PROFILE": served.settings.data.profile,
            "GUARDIAN_EMBEDDER": "off",
            "GUARDIAN_RERANKER": "off",
        }
    )
    assert Source.NEO4J not in lookup_sources(elsewhere)
    server = {
        "GUARDIAN_DATA_DIR": str(tmp_path),
        "GUARDIAN_EMBEDDER": "off",
        "GUARDIAN_RERANKER": "off",
        "GUARDIAN_PROFILE": served.settings.data.profile,
        "GUARDIAN_GRAPH_URL": "neo4j://me:hunter2@127.0.0.1:1",
    }
    deployed = deployment(environment=server)
    assert Source.NEO4J in lookup_sources(deployed)
    assert "hunter2" not in repr(deployed)
