"""API keys: made once and shown once, in a file that nobody else reads, and worth nothing when they are removed."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from assistant.keys import Keys, key_in
from assistant.service import Caller
from contracts.errors import ConfigError
from tests.support.cli_helpers import Desk


def keys_of(desk: Desk) -> Keys:
    return Keys(desk.data / "api_keys.json")


def made(out: str) -> str:
    """Return the key in what `guardian keys add` printed."""
    return out.splitlines()[0]


def test_a_key_is_shown_once_with_how_to_use_it(empty: Desk) -> None:
    """`add` prints it alone on a line, and in a command that can be typed; nothing else ever shows it again."""
    said = empty.here("keys", "add", "helpdesk", "--role", "operator", "--per-minute", "7")
    assert (said.code, said.err) == (0, "")
    key = made(said.out)
    assert re.fullmatch(r"gk-[\w-]{43}", key)
    assert f"curl -H 'Authorization: Bearer {key}' http://127.0.0.1:8000/v1/models" in said.out
    found = keys_of(empty).caller(key)
    assert found is not None
    assert found[0] == Caller("helpdesk", "operator")
    assert found[1].per_minute == 7
    assert key not in repr(found)
    assert key not in keys_of(empty).path.read_text("utf-8")
    listed = empty.here("keys", "list")
    assert "helpdesk" in listed.out
    assert key not in listed.out


def test_the_file_of_keys_is_its_owners_alone(empty: Desk) -> None:
    """Also after it was changed; nothing else is left beside it."""
    for name in ("a", "b"):
        assert empty.here("keys", "add", name).code == 0
    path = keys_of(empty).path
    assert path.stat().st_mode & 0o777 == 0o600
    assert [other.name for other in path.parent.iterdir() if "key" in other.name] == [path.name]


def test_keys_are_listed_by_name_with_role_and_limit(empty: Desk) -> None:
    """For people a line each, for programs JSON; where there are none, that is said."""
    assert "no API keys" in empty.here("keys", "list").out
    assert empty.here("keys", "list", "--json").json == []
    empty.here("keys", "add", "anna")
    empty.here("keys", "add", "desk-lead", "--role", "operator", "--per-minute", "120")
    assert empty.here("keys", "list", "--json").json == [
        {"name": "anna", "role": "user", "per_minute": 60},
        {"name": "desk-lead", "role": "operator", "per_minute": 120},
    ]
    lines = empty.here("keys", "list").out.splitlines()
    assert [line.split() for line in lines] == [
        ["anna", "user", "60", "requests", "per", "minute"],
        ["desk-lead", "operator", "120", "requests", "per", "minute"],
    ]


def test_a_key_that_is_removed_counts_no_more(empty: Desk) -> None:
    """At once, for a server that runs; the last one leaves a server that answers nobody, and says so."""
    first, second = (made(empty.here("keys", "add", name).out) for name in ("first", "second"))
    running = keys_of(empty)
    assert running.caller(first)
    said = empty.here("keys", "remove", "first")
    assert (said.code, "first" in said.out, "nobody" in said.out) == (0, True, False)
    assert running.caller(first) is None
    assert running.caller(second)
    assert "nobody" in empty.here("keys", "remove", "second").out
    assert running.caller(second) is None
    assert keys_of(empty).wanted
    assert "nobody" in empty.here("keys", "list").out


def test_the_first_key_says_that_from_now_on_all_need_one(empty: Desk) -> None:
    """Only the first does: it closes a server that was open."""
    assert "first key" in empty.here("keys", "add", "a").out
    assert "first key" not in empty.here("keys", "add", "b").out


def test_a_server_does_not_open_when_the_file_of_keys_goes_away(empty: Desk) -> None:
    """Keys once asked for are asked for as long as the process lives."""
    empty.here("keys", "add", "a")
    running = keys_of(empty)
    assert running.wanted
    running.path.unlink()
    assert running.wanted
    assert running.all() == {}
    assert not keys_of(empty).wanted


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("add", "anna"), ("'anna'", "guardian keys remove anna")),
        (("add", "Анна"), ("'Анна'", "Latin")),
        (("add", "a/b"), ("'a/b'", "Latin")),
        (("add", "boris", "--role", "queen"), ("'queen'", "user, operator")),
        (("remove", "boris"), ("'boris'", "guardian keys list")),
    ],
)
def test_what_cannot_be_done_with_keys_is_an_error_with_a_way_out(
    empty: Desk, arguments: tuple[str, ...], words: tuple[str, ...]
) -> None:
    """A name that is taken, cannot be one or is not there, and a role that the profile has not; nothing is changed."""
    empty.here("keys", "add", "anna")
    before = keys_of(empty).path.read_bytes()
    said = empty.here("keys", *arguments)
    assert said.code == 2
    assert all(word in said.err for word in words)
    assert keys_of(empty).path.read_bytes() == before


def test_a_server_does_not_open_when_the_file_goes_before_the_first_request(tmp_path: Path) -> None:
    """That there were keys is seen when the server is made."""
    path = tmp_path / "api_keys.json"
    path.write_text("{}")
    keys = Keys(path)
    path.unlink()
    assert keys.wanted
    assert keys.caller("gk-any") is None


@pytest.mark.parametrize("sort", ["a link to nothing", "a link to itself", "a folder", "a name that is too long"])
def test_what_stands_in_the_place_of_keys_lets_nobody_in(tmp_path: Path, sort: str) -> None:
    """A file that is not mounted yet, or that nobody can look for, is not the same as no keys."""
    path = tmp_path / ("x" * 300 if sort == "a name that is too long" else "api_keys.json")
    if sort == "a folder":
        path.mkdir()
    elif sort.startswith("a link"):
        path.symlink_to(path if sort == "a link to itself" else tmp_path / "secret")
    keys = Keys(path)
    assert keys.wanted
    with pytest.raises(ConfigError, match="Make the file readable"):
        keys.all()


@pytest.mark.parametrize("command", ["serve", "ui"])
def test_no_server_begins_with_keys_that_cannot_be_read(library: Desk, tmp_path: Path, command: str) -> None:
    """It would answer nobody; the command says so with the way out."""
    desk = library.copied(tmp_path / "data")
    keys_of(desk).path.write_text("{")
    desk.here(command, "--port", "0").complains(2, "cannot be read", "guardian keys add")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        '{"a": {"role": "user"}}',
        '{"a": {"sha256": "0", "role": 1}}',
        '{"a": {"sha256": "ключ", "role": "user"}}',
    ],
)
def test_a_file_of_keys_that_cannot_be_read_lets_nobody_in(tmp_path: Path, text: str) -> None:
    """It is an error, and what stands in it is not repeated; never as if there were no keys."""
    path = tmp_path / "api_keys.json"
    path.write_text(text, "utf-8")
    keys = Keys(path)
    assert keys.wanted
    with pytest.raises(ConfigError) as caught:
        keys.caller("gk-any")
    assert "sha256" not in str(caught.value)


def test_a_key_counts_for_every_profile_of_its_data_folder(desk: Desk) -> None:
    """Made without naming the profile that is served, it still shuts the server for those who have none."""
    other = replace(desk, profile="handbook")
    assert other.here("keys", "add", "anna").code == 0
    assert keys_of(desk).wanted
    assert "anna" in desk.here("keys", "list").out


@pytest.mark.parametrize("value", ["Basic ====\xff", "Basic \u00e9", "Basic !!", "Basic /w==", "Bearer", "Basic", ""])
def test_what_is_no_key_is_none(value: str) -> None:
    """No base64, no ASCII and no UTF-8 are a request without a key, and no fault of the server."""
    assert key_in({"authorization": value}) == ""
