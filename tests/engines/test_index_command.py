"""`guardian index --to`, and a deployment whose index is in a server."""

from __future__ import annotations

import re
import time
from pathlib import Path

import psycopg
import pytest

from tests.support.cli_helpers import ANSWER, QUESTION, Desk
from tests.support.engines.kinds import KINDS, Servers
from tests.support.wire.server_process import FakeServer

UNSHARED = "catalogbackup"
"""A word that no page has, made of two that some do."""


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path / "data", tmp_path)


@pytest.mark.parametrize("kind", KINDS)
def test_an_index_in_a_server_answers_as_the_embedded_one(servers: Servers, kind: str, desk: Desk) -> None:
    """`--to` fills it, the setting has it searched, and it is enough: the folder of data may be another one."""
    url = servers.url(kind)
    filled = desk.here("index", "--to", url)
    assert filled.code == 0, filled.err
    assert "passages written, 0 deleted, 0 unchanged" in filled.out
    elsewhere = Desk(desk.cwd / "elsewhere", desk.cwd).having(GUARDIAN_INDEX_URL=url)
    embedded = desk.here("search", QUESTION, "--json").json
    remote = elsewhere.here("search", QUESTION, "--json").json
    assert [item["ref"] for item in remote] == [item["ref"] for item in embedded]
    said = elsewhere.run("ask", QUESTION, "--quiet")
    assert said.code == 0, said.err
    assert ANSWER in said.out


@pytest.mark.parametrize("kind", KINDS)
def test_the_setting_is_filled_by_every_index_command(servers: Servers, kind: str, desk: Desk) -> None:
    """Where the setting names a server, `guardian index` brings it up to date without being told."""
    desk = desk.having(GUARDIAN_INDEX_URL=servers.url(kind))
    desk.index()
    assert "0 passages written, 0 deleted" in desk.index().out


def test_a_server_that_is_away_fails_the_command_but_not_the_embedded_index(desk: Desk) -> None:
    """The documents are read in; that the server was not filled is exit code 1, with a way out."""
    said = desk.here("index", "--to", "qdrant://127.0.0.1:1")
    assert said.code == 1
    assert "http://127.0.0.1:1/guardian-shelf cannot be filled" in said.err
    assert "→" in said.err
    assert desk.here("search", QUESTION, "--json").json


@pytest.mark.parametrize("url", ["", "http://host", "qdrant://me:hunter2@host"])
def test_a_wrong_address_is_told_before_anything_is_read(desk: Desk, url: str) -> None:
    """Exit code 2, and nothing was indexed."""
    said = desk.here("index", "--to", url)
    said.complains(2, "address of the index")
    assert "hunter2" not in said.err
    assert not (desk.folder / "knowledge").exists()


@pytest.fixture
def dense(desk: Desk, model_server: FakeServer) -> Desk:
    """A desk with an embedding model."""
    model_server.reset()
    return desk.having(
        GUARDIAN_EMBEDDER="auto",
        GUARDIAN_EMBED_URL=model_server.url,
        GUARDIAN_EMBED_MODEL="fake-embedder",
        GUARDIAN_EMBED_LANGUAGES="en, ru",
    )


@pytest.mark.parametrize("kind", KINDS)
def test_an_embedding_model_ranks_in_a_server_as_here(servers: Servers, kind: str, dense: Desk) -> None:
    """`--to` copies the vectors, and a search there finds what only meaning finds, as it does here."""
    url = servers.url(kind)
    if kind == "postgres":
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("CREATE DATABASE dense")
    place = url.replace("@/postgres", "@/dense") if kind == "postgres" else f"{url}/dense"
    said = dense.here("index", "--to", place)
    assert said.code == 0, said.err
    assert dense.here("search", UNSHARED, "--json").json
    there = dense.having(GUARDIAN_INDEX_URL=place)
    assert refs(there) == refs(dense)
    assert refs(dense.having(GUARDIAN_EMBEDDER="off")) == []
    # Without its model, vectors would be lost: that is refused before anything is written.
    refused = there.having(GUARDIAN_EMBEDDER="off").here("index")
    assert (refused.code, "no model is set" in refused.err) == (2, True)


def refs(desk: Desk) -> list[str]:
    return [item["ref"] for item in desk.here("search", UNSHARED, "--json").json]


def test_progress_is_for_terminals(servers: Servers, desk: Desk) -> None:
    """On a terminal a bar tells passages and their rate; where standard error goes into a file, nothing is drawn."""
    url = f"{servers.url('qdrant')}/progress"
    servers.qdrant.before = lambda *asked: time.sleep(0.4) if asked[1].endswith("points?wait=true") else None
    try:
        shown = desk.on_terminal("index", "--to", url).err
    finally:
        servers.qdrant.before = lambda *_: None
    assert re.search(r"\d+/\d+ \[.*passages/s", shown), shown
    said = desk.here("index", "--to", f"{url}-2")
    assert (said.code, said.err) == (0, "")


def test_a_fill_that_lacks_vectors_fails_the_command(servers: Servers, dense: Desk, model_server: FakeServer) -> None:
    """The embedding server is down: the documents are indexed, the server is left, and the next run goes on."""
    url = f"{servers.url('qdrant')}/lacking"
    model_server.script([{"when": {"path": "/embeddings"}, "reply": {"status": 400}}])
    said = dense.here("index", "--to", url)
    assert said.code == 1
    assert "Not all passages have a vector" in said.err
    assert "same command again" in said.err
    model_server.script([])
    said = dense.here("index", "--to", url)
    assert said.code == 0, said.err


def test_settings_are_shown_without_password_or_key(desk: Desk) -> None:
    """`guardian show settings` masks what is secret in both."""
    own = desk.having(GUARDIAN_INDEX_URL="postgresql://me:hunter2@db.example/shelf", GUARDIAN_INDEX_KEY="hunter3")
    said = own.here("show", "settings")
    assert "postgresql://db.example/shelf" in said.out
    assert "hunter" not in said.out


def test_the_doctor_looks_at_the_server(servers: Servers, desk: Desk) -> None:
    """What is indexed is what is searched: the documents of the server, and a server that is away is a finding."""
    own = desk.having(GUARDIAN_INDEX_URL=servers.url("qdrant"))
    own.index()
    findings = {finding["what"]: finding for finding in own.here("doctor", "--json").json}
    assert findings["index"]["ok"], findings["index"]
    away = desk.having(GUARDIAN_INDEX_URL="qdrant://127.0.0.1:1").here("doctor", "--json")
    (index,) = [finding for finding in away.json if finding["what"] == "index"]
    assert (away.code, index["ok"]) == (1, False)
    assert index["way_out"]
