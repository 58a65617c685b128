from __future__ import annotations

import ast
import asyncio
import json
import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from adapters.models.speed import speed_of
from assistant.cli.commands.doctor import _packages
from contracts.calls import ModelCall
from contracts.enums import CallPurpose
from tests.support.cli_helpers import CORPUS, PROFILE, ROOT, Desk, leave_half_finished, profile_of
from tests.support.graph_source.bolt_server import BEGIN, BoltServer
from tests.support.graph_source.small_graph import MENTIONS
from tests.support.wire.server_process import FakeServer, fake_server


def findings(desk: Desk, *options: str) -> tuple[int, dict[str, dict[str, Any]]]:
    """Return the exit code, and what the doctor found by what it looked at."""
    said = desk.here("doctor", "--json", *options)
    assert said.err == ""
    return said.code, {finding["what"]: finding for finding in said.json}


def wrong(desk: Desk, *options: str) -> dict[str, dict[str, Any]]:
    """Return what the doctor found wrong; its exit code must say the same, and the printed page, too."""
    code, found = findings(desk, *options)
    bad = {what: finding for what, finding in found.items() if not finding["ok"]}
    assert code == (1 if bad else 0)
    page = desk.here("doctor", *options).out
    for what, finding in found.items():
        assert f"{'ok ' if finding['ok'] else 'NO '} {what}" in page
        if not finding["ok"]:
            assert finding["way_out"]
            assert f"→ {finding['way_out']}" in page
    return bad


def test_all_is_well(desk: Desk) -> None:
    """As a process: everything looked at is ok, with what was seen, and the exit code is 0."""
    said = desk.run("doctor")
    assert (said.code, said.err) == (0, "")
    assert [line[:2] for line in said.out.splitlines()] == ["ok"] * 13
    for word in (
        "python",
        "tantivy",
        "Shelf",
        "can be written",
        "10 documents",
        "2 documents",
        "none yet",
        "mode enforce",
        "without a language model",
    ):
        assert word in said.out


def test_what_is_looked_at_is_always_the_same(desk: Desk) -> None:
    """A program can rely on the names."""
    _, found = findings(desk)
    assert list(found) == [
        "python",
        "packages",
        "studio",
        "profile",
        "data folder",
        "index",
        "conversations",
        "moderation",
        "embeddings",
        "reranker",
        "hand-offs",
        "tracing",
        "models",
    ]
    assert all(set(finding) == {"what", "ok", "seen", "way_out", "note"} for finding in found.values())


def test_looking_changes_nothing(desk: Desk) -> None:
    """No file is left behind, and none of the index is touched."""

    def files() -> dict[Path, bytes]:
        kept = [path for path in desk.data.rglob("*") if path.is_file() and not path.name.endswith(("-wal", "-shm"))]
        return {path: path.read_bytes() for path in kept}

    before = files()
    assert wrong(desk) == {}
    assert files() == before


def test_a_missing_index_is_found(empty: Desk) -> None:
    """With the complete command that makes one."""
    found = wrong(empty)
    assert list(found) == ["index"]
    assert f"guardian index --profile {empty.profile}" in found["index"]["way_out"]


def test_an_index_without_documents_is_found(empty: Desk, tmp_path: Path) -> None:
    """Indexing an empty folder is no help to anybody."""
    (tmp_path / "docs").mkdir()
    empty.index(str(tmp_path / "docs"))
    found = wrong(empty)
    assert (list(found), found["index"]["seen"]) == (["index"], "empty")


@pytest.mark.parametrize("damaged", ["knowledge.sqlite", "index/meta.json"])
def test_a_damaged_index_is_found(damaged: str, desk: Desk) -> None:
    """The record or the index: neither is taken for well."""
    (desk.folder / "knowledge" / damaged).write_bytes(b"not what it was" * 100)
    assert list(wrong(desk)) == ["index"]


def test_an_index_whose_parts_are_missing_is_found(desk: Desk) -> None:
    """The record is there and the index is not."""
    shutil.rmtree(desk.folder / "knowledge" / "index")
    assert list(wrong(desk)) == ["index"]


def test_damaged_conversations_are_found(desk: Desk) -> None:
    """The file is named, and what to do with it."""
    (desk.folder / "threads.db").write_bytes(b"not a database" * 500)
    found = wrong(desk)
    assert list(found) == ["conversations"]
    assert str(desk.folder / "threads.db") in found["conversations"]["seen"]


def test_a_half_finished_turn_is_found(desk: Desk) -> None:
    """With the command that finishes it, also where the name has a space."""
    asyncio.run(leave_half_finished(desk, "support 17", "m1", "Hello!"))
    found = wrong(desk)
    assert list(found) == ["conversations"]
    assert "guardian threads resume 'support 17'" in found["conversations"]["way_out"]
    assert desk.here("threads", "resume", "support 17").code == 0
    assert wrong(desk) == {}


def test_a_data_folder_that_cannot_be_made_is_found(tmp_path: Path) -> None:
    """Everything that depends on it is told, too, and nothing else."""
    (tmp_path / "file").write_text("mine")
    found = wrong(Desk(tmp_path / "file" / "data", tmp_path))
    assert "data folder" in found
    assert "profile" not in found


@pytest.mark.parametrize(
    ("more", "what"),
    [
        ({"GUARD_MODE": "strict"}, "settings"),
        ({"GUARD_ENABLED": "maybe"}, "settings"),
        ({"GUARD_PROVIDER_TYPE": "guesswork"}, "settings"),
        ({"GUARDIAN_PROFILE": "handbok"}, "profile"),
        ({"GUARDIAN_DATA_DIR": __file__}, "settings"),
    ],
    ids=str,
)
def test_a_wrong_setting_is_found(more: dict[str, str], what: str, desk: Desk) -> None:
    """Exit code 1 like all that the doctor finds, under the name of what is wrong."""
    assert list(wrong(desk.having(**more))) == [what]


def test_a_wrong_profile_is_found(desk: Desk, tmp_path: Path) -> None:
    """The one of `--profile`, with the key at fault."""
    path = profile_of(tmp_path / "docs", top="languges = ['en']")
    found = wrong(desk, "--profile", str(path))
    assert list(found) == ["profile"]
    assert "did you mean 'languages'" in found["profile"]["seen"]


@pytest.mark.parametrize(
    "more", [{"GUARD_ENABLED": "false"}, {"GUARD_MODE": "off"}, {"GUARD_PROVIDER_TYPE": "off"}], ids=str
)
def test_moderation_that_is_off_is_said(more: dict[str, str], desk: Desk) -> None:
    """It is a choice, not a fault, but nobody shall overlook it."""
    _, found = findings(desk.having(**more))
    assert found["moderation"]["ok"]
    assert "not checked" in found["moderation"]["seen"]


def test_moderation_is_tried_not_believed(desk: Desk) -> None:
    """A known attack is put to the moderator, and its level is told."""
    _, found = findings(desk)
    assert found["moderation"]["seen"].endswith("a known attack is Unsafe")


def test_a_missing_package_is_found() -> None:
    """By its name, with the way out."""
    found = _packages("packages", ("pydantic", "no-such-package-at-all"), "Run `make install`.")
    assert (found.ok, found.seen) == (False, "missing: no-such-package-at-all")


# ------------------------------------------------------------------------------------------------- sources and rankers


def test_an_index_in_a_server_is_asked(desk: Desk) -> None:
    """The line of the index names the server, and one that is down is a complaint."""
    found = wrong(desk.having(GUARDIAN_INDEX_URL="qdrant://127.0.0.1:9"))
    assert list(found) == ["index"]
    assert "127.0.0.1:9" in found["index"]["seen"]


def with_graph(desk: Desk, **more: str) -> Desk:
    """Return a desk whose profile asks a graph what mentions a setting."""
    profile = desk.cwd / "graph.toml"
    profile.parent.mkdir(parents=True, exist_ok=True)
    own = f"""
[[lookups]]
name = "mentions"
source = "neo4j"
title = {{ en = "Where a setting is mentioned", ru = "Где упомянута настройка" }}
statement = {json.dumps(MENTIONS)}
[lookups.answers]
en = ["Which pages mention the setting «X_MODE»?"]
ru = ["Какие страницы упоминают настройку «X_MODE»?"]
[lookups.row]
en = "{{page_title}}"
ru = "{{page_title}}"
[lookups.none]
en = "No page mentions it."
ru = "Ни одна страница её не упоминает."
[[lookups.arguments]]
name = "setting"
type = "text"
cues = {{ en = ["setting"], ru = ["настройка"] }}
"""
    profile.write_text(PROFILE.read_text("utf-8").replace('"corpus"', json.dumps(str(CORPUS))) + own, "utf-8")
    return replace(desk, profile=profile).having(**more)


def test_the_documents_graph_is_counted_and_dated(desk: Desk) -> None:
    """Not built yet is a complaint with the command; built, the line has the number of nodes and the day."""
    graph = with_graph(desk)
    found = wrong(graph)
    assert list(found) == ["graph"]
    assert "guardian index" in found["graph"]["way_out"]
    graph.index()
    _, found = findings(graph)
    assert re.search(r"1 lookup on .*: \d+ nodes, built \d{4}-\d\d-\d\d", found["graph"]["seen"])


def test_a_graph_server_is_asked_for_reading_and_its_password_is_not_shown(desk: Desk) -> None:
    """Reachable, the line counts its nodes; down, it is a complaint that names the address only."""
    with BoltServer(columns=["nodes"], rows=[[12]]) as server:
        url = f"bolt://reader:secret@127.0.0.1:{server.port}"
        _, found = findings(with_graph(desk, GUARDIAN_GRAPH_URL=url))
    assert found["graph"]["ok"]
    assert found["graph"]["seen"].endswith(f"bolt://127.0.0.1:{server.port}, read only: 12 nodes")
    assert [fields[0]["mode"] for fields in server.of(BEGIN)] == ["r"]
    found = wrong(with_graph(desk, GUARDIAN_GRAPH_URL="bolt://reader:secret@127.0.0.1:9"))
    assert list(found) == ["graph"]
    assert "secret" not in str(found)


RANKERS = {
    "GUARDIAN_EMBEDDER": "auto",
    "GUARDIAN_EMBED_MODEL": "fake-embedder",
    "GUARDIAN_EMBED_LANGUAGES": "en, ru",
    "GUARDIAN_EMBED_KEY": "key-of-the-embedder",
    "GUARDIAN_RERANKER": "auto",
    "GUARDIAN_RERANK_SHAPE": "tei",
    "GUARDIAN_RERANK_LANGUAGES": "ru",
    "GUARDIAN_RERANK_KEY": "key-of-the-reranker",
    "GUARDIAN_MODEL_RETRIES": "0",
}


def test_rankers_are_asked_one_small_thing_each(desk: Desk, models: FakeServer) -> None:
    """Model, address, languages and what it gives are told, never a key; vectors that documents lack are a complaint."""
    models.reset()
    ranked = desk.having(GUARDIAN_EMBED_URL=models.url, GUARDIAN_RERANK_URL=models.root, **RANKERS)
    found = wrong(ranked)
    assert list(found) == ["embeddings"]
    assert "no passage has a vector" in found["embeddings"]["seen"]
    ranked.index()
    models.clear()
    _, found = findings(ranked)
    host = models.url.split("/")[2]
    assert found["embeddings"]["seen"].startswith(f"fake-embedder at {host} answers, for en, ru; vectors of ")
    assert found["reranker"]["seen"] == f"the model at {host} answers, for ru; as tei"
    assert found["embeddings"]["ok"]
    assert len(models.requests()) <= 3
    assert "key-of" not in str(found)


def test_rankers_that_are_down_are_complaints(desk: Desk) -> None:
    """Each with what is wrong and the settings that name it."""
    nobody = "http://127.0.0.1:9/v1"
    found = wrong(desk.having(GUARDIAN_EMBED_URL=nobody, GUARDIAN_RERANK_URL=nobody, **RANKERS))
    assert list(found) == ["embeddings", "reranker"]
    assert "GUARDIAN_EMBED_URL" in found["embeddings"]["way_out"]
    assert "GUARDIAN_RERANK_URL" in found["reranker"]["way_out"]
    assert "key-of" not in str(found)


def test_a_checker_of_claims_is_asked_of_a_sentence_and_itself(desk: Desk, models: FakeServer) -> None:
    """Model, address, languages and mode are told, never a key; one that denies the sentence, or is down, is a complaint."""
    models.reset()
    checked = desk.having(
        GUARDIAN_ENTAIL_URL=models.root,
        GUARDIAN_ENTAIL_LANGUAGES="ru",
        GUARDIAN_ENTAIL_KEY="key-of-the-checker",
        GUARDIAN_MODEL_RETRIES="0",
    )
    _, found = findings(checked)
    host = models.url.split("/")[2]
    assert found["entailment"]["seen"] == f"the model at {host} answers, for ru; as tei, its word is advisory"
    assert found["entailment"]["ok"]
    models.script([{"reply": {"json": [[{"label": "LABEL_0", "score": 0.9}, {"label": "LABEL_1", "score": 0.1}]]}}])
    swapped = wrong(checked.having(GUARDIAN_ENTAIL_LABELS="contradiction,entailment"))
    assert "does not follow from itself" in swapped["entailment"]["seen"]
    unnamed = wrong(checked)
    assert "GUARDIAN_ENTAIL_LABELS" in unnamed["entailment"]["seen"]
    away = wrong(checked.having(GUARDIAN_ENTAIL_URL="http://127.0.0.1:9"))
    assert "GUARDIAN_ENTAIL_URL" in away["entailment"]["way_out"]
    assert "key-of" not in str((found, swapped, unnamed, away))


# ------------------------------------------------------------------------------------------------------------- models


@pytest.fixture(scope="module")
def models() -> Iterator[FakeServer]:
    """A model server of the module's own."""
    with fake_server() as server:
        yield server


def with_models(desk: Desk, url: str, **more: str) -> Desk:
    return desk.having(GUARDIAN_MODEL="fake-model", OPENAI_BASE_URL=url, **more)


def said_of_models(desk: Desk) -> tuple[int, list[dict[str, Any]]]:
    """Return the exit code and what the doctor says of the parts that ask a model."""
    said = desk.here("doctor", "--json")
    return said.code, [
        finding for finding in said.json if finding["what"] in ("planner", "drafter", "plan", "draft", "moderation")
    ]


def test_every_way_of_asking_for_a_plan_is_tried_and_told(desk: Desk, models: FakeServer) -> None:
    """Each model says a word, its window is told, and of the rungs those that work, with the one that will be used."""
    models.reset()
    refuse = {"reply": {"status": 400, "json": {"error": {"message": "tool_choice is not supported"}}}}
    models.script([{"when": {"tool_choice": choice}, "times": None, **refuse} for choice in ("named", "required")])
    models.options(window=9000)
    code, found = said_of_models(with_models(desk, models.url))
    assert code == 0, found
    seen = [(finding["what"], finding["ok"], finding["seen"]) for finding in found]
    assert [what for what, _, _ in seen] == ["moderation", "planner", "drafter", *["plan"] * 7, *["draft"] * 3]
    assert all("window 9,000" in text for what, _, text in seen if what in ("planner", "drafter"))
    assert [ok for what, ok, _ in seen if what == "plan"] == [False, False, False, True, True, True, True]
    assert [text for what, _, text in seen if what == "plan"][-1] == "asked for as: auto"
    # The next turn begins with the form that worked.
    models.clear()
    with_models(desk, models.url).result("How do I lend a book to a reader?")
    assert [request["body"]["tool_choice"] for request in models.requests() if request["purpose"] == "plan"] == ["auto"]


def test_a_model_that_does_not_cite_is_a_complaint_that_names_the_other_way(desk: Desk, models: FakeServer) -> None:
    """Both ways of drafting are tried on one small page; who cannot write with citations may still arrange."""
    models.reset()
    models.script(
        [
            {"when": {"purpose": "draft", "contains": "S1 "}, "reply": {"text": "S3"}, "times": None},
            {
                "when": {"purpose": "draft", "contains": "water boil"},
                "reply": {"text": "At 100 degrees."},
                "times": None,
            },
        ]
    )
    code, found = said_of_models(with_models(desk, models.url))
    writes, arranges, last = (finding for finding in found if finding["what"] == "draft")
    assert (writes["ok"], "without citing" in writes["seen"], arranges["ok"]) == (False, True, True)
    assert (code, last["ok"]) == (1, False)
    assert 'draft_by = "arrange"' in last["way_out"]


@pytest.mark.parametrize(
    ("reply", "plan_trace", "forms", "right"),
    [
        (None, "tool_result", [True, True], True),
        ({"text": "heron"}, "synthetic", [False, False], True),
        ({"text": "heron"}, "tool_result", [False, False], False),
    ],
    ids=["reads all", "reads none of them, and needs none", "loses what the profile names"],
)
def test_a_form_of_the_plan_that_the_model_does_not_get_to_see_is_told(
    desk: Desk,
    models: FakeServer,
    tmp_path: Path,
    reply: dict[str, Any] | None,
    plan_trace: str,
    forms: list[bool],
    right: bool,
) -> None:
    """Templates drop what they do not know: a complaint only if the profile names such a form; the way out is the default."""
    models.reset()
    if reply:
        models.script([{"when": {"purpose": "draft", "contains": "which metal"}, "reply": reply, "times": None}])
    text = PROFILE.read_text("utf-8").replace('path = "', f'path = "{PROFILE.parent}/')
    profile = tmp_path / "corpus.toml"
    profile.write_text(f'{text}\n[behaviour]\nplan_trace = "{plan_trace}"\n', "utf-8")
    said = with_models(desk, models.url).having(GUARDIAN_PROFILE=str(profile)).here("doctor", "--json")
    *tried, last = [finding for finding in said.json if finding["what"] == "plan_trace"]
    assert [finding["ok"] for finding in tried] == forms
    assert last["ok"] is right
    assert 'plan_trace = "synthetic"' in last["way_out"]


def usage(prompt: int, reply: int) -> dict[str, int]:
    return {"prompt_tokens": prompt, "completion_tokens": reply, "total_tokens": prompt + reply}


def test_a_model_that_is_too_slow_for_its_time_is_a_complaint(desk: Desk, models: FakeServer) -> None:
    """What it reads and writes in a second tells how long a plan takes; the way out names the time that it needs."""
    models.reset()
    slow = {"text": "OK", "usage": usage(20, 10), "delay_body_s": 0.3}
    models.script([{"reply": slow}])
    code, found = said_of_models(with_models(desk, models.url, GUARDIAN_MODEL_TIMEOUT="5"))
    bad = {finding["what"]: finding for finding in found if not finding["ok"]}
    assert code == 1
    assert re.search(r"writes \d+ tokens a second, so a plan takes about \d+\.\d s, of the 5 s", bad["planner"]["seen"])
    wanted = re.search(r"GUARDIAN_MODEL_TIMEOUT=(\d+), .*GUARDIAN_PLANNER_MODEL=offline", bad["planner"]["way_out"])
    assert wanted
    assert 10 <= int(wanted[1]) <= 600
    assert "GUARDIAN_DRAFTER_MODEL=offline" in bad["drafter"]["way_out"]


@pytest.mark.parametrize(
    ("short", "long", "seconds"),
    [
        ((20, 10, 300), (620, 30, 1500), (2_700, 300, 10.0)),  # 1 ms a token read, 28 ms a token written
        ((20, 10, 300), (620, 30, 900), (2_700, 300, 9.0)),  # as quick as if it read nothing: all of it is writing
        ((20, 10, 300), (0, 0, 1500), None),
    ],
)
def test_the_speed_of_reading_and_writing_follows_from_two_requests(
    short: tuple[int, int, int], long: tuple[int, int, int], seconds: tuple[int, int, float] | None
) -> None:
    """Seconds are tokens read and tokens written, each times its own; without counts nothing is claimed."""

    def call(prompt: int, reply: int, ms: int) -> ModelCall:
        return ModelCall(
            purpose=CallPurpose.DRAFT, model="m", server="s", prompt_tokens=prompt, completion_tokens=reply, ms=ms
        )

    speed = speed_of(call(*short), call(*long))
    if seconds is None:
        assert speed is None
    else:
        assert speed is not None
        assert speed.seconds(*seconds[:2]) == pytest.approx(seconds[2], rel=0.15)


def test_a_model_that_does_not_answer_is_a_complaint(desk: Desk, models: FakeServer) -> None:
    """Out of reach or with a key that is refused: exit code 1, what is wrong and the way out, for each part."""
    models.reset()
    models.options(api_key="right-key-of-the-server")
    for url, word in (("http://127.0.0.1:9/v1", "cannot be reached"), (models.url, "HTTP 401")):
        code, found = said_of_models(with_models(desk, url, OPENAI_API_KEY="wrong-key-of-the-desk"))
        bad = [finding for finding in found if not finding["ok"]]
        assert (code, [finding["what"] for finding in bad]) == (1, ["planner", "drafter"])
        assert all(word in finding["seen"] and finding["way_out"] for finding in bad)
        assert "wrong-key-of-the-desk" not in str(found)


def test_a_moderator_that_cannot_be_asked_is_a_complaint(desk: Desk) -> None:
    """The turn would go on with the rules, so it is the doctor who must say it."""
    remote = desk.having(GUARD_PROVIDER_TYPE="mosec", GUARD_MOSEC_URL="http://127.0.0.1:9", GUARD_MAX_RETRIES="0")
    code, [finding, *_] = said_of_models(remote)
    assert (code, finding["what"], finding["ok"]) == (1, "moderation", False)
    assert finding["way_out"]


# ----------------------------------------------------------------------------------------------------------- handbook


def lines_of_the_doctor() -> set[str]:
    """Return every name that a line can have: the first argument of what makes one, where it is written down."""
    tree = ast.parse((ROOT / "assistant" / "cli" / "commands" / "doctor.py").read_text("utf-8"))
    made = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)]
    firsts = [call.args[0] for call in made if getattr(call.func, "id", "") in ("Diagnosis", "_careful") and call.args]
    return {first.value for first in firsts if isinstance(first, ast.Constant) and isinstance(first.value, str)}


@pytest.mark.parametrize("language", ["en", "ru"])
def test_every_line_has_its_row_in_the_handbook(language: str) -> None:
    """The page of the doctor has a row for each line that it can print."""
    page = (ROOT / "knowledge" / language / "doctor.md").read_text("utf-8")
    rows = " ".join(line.split("|")[1] for line in page.splitlines() if line.startswith("| "))
    # `models` is explained in the sentence before the table of the lines that take its place.
    names = lines_of_the_doctor() - {"models"}
    assert {"graph", "embeddings", "reranker", "index", "database"} <= names
    assert [name for name in sorted(names) if f"`{name}`" not in rows] == []
