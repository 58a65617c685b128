"""`guardian index --to`, and a deployment whose index is in a server."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.assistant.cli_helpers import ANSWER, QUESTION, Desk
from tests.engines.kinds import KINDS, Servers


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


def test_an_embedding_model_beside_a_server_is_told(desk: Desk) -> None:
    """Dense vectors are not kept in servers: that is said, not passed over."""
    own = desk.having(
        GUARDIAN_INDEX_URL="qdrant://127.0.0.1:1",
        GUARDIAN_EMBED_URL="http://127.0.0.1:1/v1",
        GUARDIAN_EMBED_MODEL="model",
        GUARDIAN_EMBED_LANGUAGES="en",
    )
    own.here("search", QUESTION).complains(2, "by words only")


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
