from __future__ import annotations

import argparse
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import entry_points, version
from pathlib import Path

import pytest

from assistant.cli.main import outcome_code
from assistant.cli.parser import EXIT_CODES, build_parser
from contracts.enums import Outcome
from tests.support.cli_helpers import ROOT, Desk

HEAVY = ("langgraph", "langchain_core", "pydantic", "tantivy", "markdown_it", "aiosqlite", "sqlite3", "yaml", "tqdm")

PROBE = """
import sys
from assistant.cli.main import main
for arguments in {pages}:
    try:
        main([*arguments, "--help"])
    except SystemExit as end:
        assert end.code == 0, arguments
print(*sorted(name for name in {heavy} if name in sys.modules), file=sys.stderr)
"""


def commands(parser: argparse.ArgumentParser, *names: str) -> Iterator[tuple[tuple[str, ...], argparse.ArgumentParser]]:
    """Yield every command with its parser, those that only hold others included."""
    yield names, parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, inner in action.choices.items():
                yield from commands(inner, *names, name)


PARSER = build_parser()
PAGES = dict(commands(PARSER))


def examples(parser: argparse.ArgumentParser) -> list[str]:
    """Return the examples that a help page ends with."""
    _, _, after = (parser.epilog or "").partition("examples:\n")
    return [line.strip() for line in after.split("\n\n")[0].splitlines()]


def test_every_command_of_the_product_has_a_help_page() -> None:
    """These are the ways in; a command that is added or dropped is added or dropped here, too."""
    assert {" ".join(names) for names in PAGES} == {
        *(
            "",
            "index",
            "search",
            "ask",
            "chat",
            "threads",
            "hand-offs",
            "move",
            "migrate",
            "backup",
            "restore",
            "export",
            "show",
            "doctor",
            "eval",
            "calibrate",
            "fake-model",
        ),
        *("init", "serve", "ui", "mcp", "batch", "keys", "visitors", "completion"),
        *(f"keys {action}" for action in ("add", "list", "remove")),
        *(f"visitors {action}" for action in ("list", "erase")),
        *(f"threads {action}" for action in ("list", "show", "resume", "delete")),
        *(
            "report",
            "review",
            *(f"review {what}" for what in ("show", "handle", "note", "case", "hand-over", "export", "looks")),
        ),
        *(f"hand-offs {action}" for action in ("list", "send")),
    }


@pytest.mark.parametrize("names", PAGES, ids=" ".join)
def test_every_help_page_has_examples_that_can_be_typed(names: tuple[str, ...]) -> None:
    """Each help page shows at least one example, of its own command, that the command line takes."""
    found = examples(PAGES[names])
    assert found
    for line in found:
        words = shlex.split(line.partition(" | ")[0])
        assert words[: len(names) + 1] == ["guardian", *names]
        options = PARSER.parse_args(words[1:])
        if "module" in options:
            assert (ROOT / "assistant" / "cli" / "commands" / f"{options.module}.py").is_file()
        else:
            assert options.registered in entry_points(group="guardian.commands").names


@pytest.mark.parametrize("names", PAGES, ids=" ".join)
def test_every_help_page_can_be_printed(names: tuple[str, ...], empty: Desk) -> None:
    """`--help` prints the page to standard output and ends with 0."""
    said = empty.here(*names, "--help")
    assert (said.code, said.err) == (0, "")
    assert all(line in said.out for line in examples(PAGES[names]))


def test_the_version_is_that_of_the_installed_package(empty: Desk) -> None:
    """`--version` prints it, without a command."""
    assert empty.here("--version").out == f"guardian {version('guardian-assistant')}\n"


@pytest.mark.parametrize(
    ("line", "meant"),
    [
        ("serach backup", "there is no command 'serach'; did you mean 'search'?"),
        ("threads lst", "there is no action 'lst'; did you mean 'list'?"),
        ("ask hello --tread x", "unknown: --tread x; did you mean '--thread'"),
        ("chat --jso", "unknown: --jso\n`guardian chat --help` has examples."),
        ("--versoin", "unknown: --versoin; did you mean '--version'?"),
        ("threads --profil x list", "unknown: --profil\n`guardian threads --help` has examples."),
        ("show table", "'table' is none of graph, tables, settings; did you mean 'tables'?"),
        ("xyzzy", "there is no command 'xyzzy': there are init, index"),
    ],
)
def test_a_slip_of_the_hand_names_what_was_meant(line: str, meant: str, empty: Desk) -> None:
    """Exit code 2 as for any wrong command line, and nothing runs."""
    said = empty.here(*line.split())
    assert (said.code, said.out) == (2, "")
    assert meant in said.err


def test_help_documents_every_exit_code_and_no_other(empty: Desk) -> None:
    """The codes that `guardian --help` lists are those that the program has."""
    _, _, listed = empty.here("--help").out.partition("exit codes:\n")
    found = {int(line[0]): line[1] for line in re.findall(r"^ +(\d+)  (.+)$", listed, re.MULTILINE)}
    assert found == EXIT_CODES


def test_every_way_a_turn_can_end_has_a_documented_exit_code() -> None:
    """No outcome is without a code, and only an answer is a success."""
    codes = {outcome: outcome_code(outcome) for outcome in Outcome}
    assert set(codes.values()) <= set(EXIT_CODES)
    assert [outcome for outcome, code in codes.items() if code == 0] == [Outcome.ANSWERED]


def run_alone(code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run code in a process of its own, which has imported nothing yet."""
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        capture_output=True,
        text=True,
        cwd=folder,
        env=Desk(folder, folder).environment,
        check=True,
    )


def test_help_imports_nothing_heavy(tmp_path: Path) -> None:
    """No help page imports LangGraph, pydantic, tantivy, the Markdown parser or a database."""
    code = PROBE.format(pages=[list(names) for names in PAGES], heavy=HEAVY)
    done = run_alone(code, tmp_path)
    assert done.stderr.split() == []
    assert done.stdout.count("examples:") == len(PAGES)


def test_to_list_conversations_loads_no_part_of_a_turn(tmp_path: Path) -> None:
    """`guardian threads list` reads one table: it imports neither the service nor the graph."""
    code = """
import sys
from assistant.cli.main import main
assert main(["threads", "list"]) == 0
print(*sorted(name for name in ("assistant.service", "langgraph", "langchain_core", "tantivy") if name in sys.modules))
"""
    done = run_alone(code, tmp_path)
    assert done.stdout.splitlines()[-1] == ""


def test_help_takes_less_than_half_a_second(tmp_path: Path) -> None:
    """Of processor time, the best of five, so that a busy machine fails nothing."""
    code = "import resource, sys, subprocess\nbest = 9.0\nfor _ in range(5):\n"
    code += "    before = resource.getrusage(resource.RUSAGE_CHILDREN)\n"
    code += "    subprocess.run([sys.executable, '-m', 'assistant.cli.main', '--help'], check=True, stdout=subprocess.DEVNULL)\n"
    code += "    after = resource.getrusage(resource.RUSAGE_CHILDREN)\n"
    code += "    best = min(best, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)\nprint(best)"
    environment = Desk(tmp_path, tmp_path).environment
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True)
    assert float(done.stdout) < 0.5


WRONG = [
    ([], "COMMAND"),
    (["frobnicate"], "frobnicate"),
    (["ask"], "text"),
    (["search"], "text"),
    (["ask", "Hello", "--lang", "de"], "--lang"),
    (["ask", "Hello", "--no-such-option"], "--no-such-option"),
    (["index", "docs", "--as", "db"], "--as"),
    (["search", "books", "--top", "0"], "--top"),
    (["search", "books", "--top", "-3"], "--top"),
    (["search", "books", "--top", "many"], "--top"),
    (["threads"], "ACTION"),
    (["threads", "show"], "thread"),
    (["threads", "forget", "x"], "forget"),
    (["show"], "what"),
    (["show", "nothing"], "nothing"),
    (["fake-model", "--port", "70000"], "--port"),
    (["fake-model", "--delay-ms", "soon"], "--delay-ms"),
    (["fake-model", "--window", "0"], "--window"),
]


@pytest.mark.parametrize(("arguments", "named"), WRONG, ids=lambda value: " ".join(value) or "nothing")
def test_a_wrong_command_line_names_what_is_wrong_and_where_examples_are(
    arguments: list[str], named: str, empty: Desk
) -> None:
    """Exit code 2, the word at fault, and which help page to read; nothing is done."""
    said = empty.here(*arguments)
    assert (said.code, said.out) == (2, "")
    assert named in said.err
    assert re.search(r"`guardian [a-z -]*--help` has examples\.", said.err)
    assert not empty.data.exists()


def test_a_wrong_command_line_ends_the_process_with_2(empty: Desk) -> None:
    """The same as a process of its own."""
    assert empty.run("frobnicate").code == 2
