"""Whole turns that are answered from a database: the bundled profile over the assistant's own conversations."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.cli_helpers import Desk
from tests.support.database.tables import sqlite_file
from tests.support.wire.server_process import FakeServer

HANDED_OFF = "How many questions were handed off this week?"


@pytest.fixture(scope="module")
def used(handbook_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Desk:
    """A desk of the handbook that one question was handed off from, for copying only."""
    place = tmp_path_factory.mktemp("handbook")
    desk = Desk(handbook_data, place, profile="handbook").copied(place / "data")
    assert desk.result("I want to talk to a person")["outcome"] == "handed_off"
    return desk


@pytest.fixture
def desk(used: Desk, tmp_path: Path) -> Desk:
    """A desk of the test's own, with one question in its past."""
    return used.copied(tmp_path / "data")


def sources_of(result: dict[str, Any]) -> list[str]:
    return [article["source"] for article in result["final_articles"]]


@pytest.mark.parametrize(
    ("question", "words"),
    [
        (HANDED_OFF, "1 of 1 questions were handed off to a person [1]."),
        ("Сколько вопросов передано человеку на этой неделе?", "человеку передано вопросов: 1 из 1 [1]."),
        ("Which questions were handed off lately?", "“I want to talk to a person” [1]"),
        ("How long did answers take this month?", "no question was answered, so there are no times [1]."),
    ],
)
def test_a_question_about_figures_is_answered_from_the_database(desk: Desk, question: str, words: str) -> None:
    """Without a model: one row is enough where only a database can answer, it is cited, and no document is used."""
    result = desk.result(question, "--role", "operator")
    assert result["outcome"] == "answered", result["guardian"]
    assert words in result["answer_text"]
    assert sources_of(result)[0] == "db"
    assert "doc" not in sources_of(result)
    assert result["diagnostics"]["degraded"] == []


def test_a_role_without_the_database_gets_no_figure(desk: Desk) -> None:
    """The profile gives it to operators alone; no document stands in for it."""
    result = desk.result(HANDED_OFF)
    assert result["outcome"] != "answered"
    assert set(sources_of(result)) <= {"policy"}


def test_a_model_names_the_lookup_and_its_values(desk: Desk, server: FakeServer) -> None:
    """The prompt lists what can be looked up; what the plan names is what is asked, whatever the query's words."""
    server.script(
        [
            {
                "when": {"purpose": "plan"},
                "reply": {
                    "plan": {
                        "request_type": "STATUS_METRIC",
                        "subqueries": ["hand-offs", "escalations"],
                        "lookups": [{"name": "questions_handed_off", "arguments": {"since": "month"}}],
                    }
                },
            },
            {"when": {"purpose": "draft"}, "reply": {"text": "So far, 1 of 1 questions were handed off [1]."}},
        ]
    )
    asked = desk.having(GUARDIAN_MODEL="fake-model", OPENAI_BASE_URL=server.url)
    result = asked.result("Do people get through to you?", "--role", "operator")
    assert result["outcome"] == "answered", result["guardian"]
    assert sources_of(result).count("db") == 1
    traces = [trace for trace in result["per_query_results"] if trace["source"] == "db"]
    assert len(traces) == 1
    assert traces[0]["confidence"]["top_score"] == 1.0
    [planning] = [request["body"] for request in server.requests() if request["purpose"] == "plan"]
    assert "questions_handed_off" in planning["messages"][0]["content"]
    assert "since: a date, default today-29d" in planning["messages"][0]["content"]


def test_a_model_that_asks_for_too_much_is_told_in_the_report(desk: Desk, server: FakeServer) -> None:
    """A value that is none, and a lookup that there is not, are recorded; the turn ends without a made-up figure."""
    lookups = [{"name": "questions_handed_off", "arguments": {"since": "last week"}}, "everything"]
    server.script(
        [
            {"when": {"purpose": "plan"}, "reply": {"plan": {"request_type": "STATUS_METRIC", "lookups": lookups}}},
            {"when": {"purpose": "draft"}, "reply": {"text": "There were 7 [1]."}},
        ]
    )
    asked = desk.having(GUARDIAN_MODEL="fake-model", OPENAI_BASE_URL=server.url)
    result = asked.result(HANDED_OFF, "--role", "operator")
    assert result["outcome"] != "answered"
    degraded = " ".join(result["diagnostics"]["degraded"])
    assert "'last week' is not a date" in degraded
    assert "there is no lookup 'everything'" in degraded


def test_a_database_that_is_away_is_not_one_that_has_nothing(desk: Desk, tmp_path: Path) -> None:
    """The turn goes on, names it, and hands off what nobody could check."""
    away = desk.having(GUARDIAN_DATABASE_URL=f"sqlite:///{tmp_path / 'none.db'}")
    result = away.result(HANDED_OFF, "--role", "operator")
    assert result["outcome"] != "answered"
    assert "there is no database" in " ".join(result["diagnostics"]["degraded"])


def test_a_database_of_ones_own_is_asked_instead(desk: Desk, tmp_path: Path) -> None:
    """GUARDIAN_DATABASE_URL names it; one without the table that a lookup reads is at fault."""
    own = desk.having(GUARDIAN_DATABASE_URL=f"sqlite:///{sqlite_file(tmp_path / 'library.db')}")
    result = own.result(HANDED_OFF, "--role", "operator")
    assert "no such table: turns" in " ".join(result["diagnostics"]["degraded"])


def test_the_address_is_shown_without_its_password(desk: Desk) -> None:
    """Neither the settings' list nor an error shows it."""
    url = "postgresql://reader:not-to-be-shown@127.0.0.1:1/base"
    shown = desk.having(GUARDIAN_DATABASE_URL=url).here("show", "settings")
    assert "postgresql://127.0.0.1:1/base" in shown.out
    asked = desk.having(GUARDIAN_DATABASE_URL=url).here("ask", HANDED_OFF, "--role", "operator", "--json")
    wrong = desk.having(GUARDIAN_DATABASE_URL=url.replace("postgresql", "mysql")).here("ask", HANDED_OFF)
    wrong.complains(2, "GUARDIAN_DATABASE_URL")
    for said in (shown, asked, wrong):
        assert "not-to-be-shown" not in said.out + said.err


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("", "6 lookups on the assistant's own conversations"),
        ("sqlite:///{folder}/library.db", "6 lookups on sqlite:///{folder}/library.db"),
        ("sqlite:///{folder}/none.db", "there is no database {folder}/none.db"),
        ("postgresql://reader:not-to-be-shown@127.0.0.1:1/base", "cannot be asked: connection failed"),
    ],
)
def test_the_doctor_asks_the_database(desk: Desk, tmp_path: Path, url: str, words: str) -> None:
    """It says which one is asked, and whether it answers."""
    sqlite_file(tmp_path / "library.db")
    asked = desk.having(GUARDIAN_DATABASE_URL=url.replace("{folder}", str(tmp_path)))
    said = asked.here("doctor", "--json")
    [finding] = [finding for finding in said.json if finding["what"] == "database"]
    assert words.replace("{folder}", str(tmp_path)) in finding["seen"]
    assert finding["ok"] is ("lookups on" in words)
    assert "not-to-be-shown" not in said.out
