"""The handbook cannot rot: what the program has, its pages name in both languages, and what they show runs."""

from __future__ import annotations

import argparse
import ast
import json
import re
import shlex
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from datetime import date
from typing import Any, Final, get_args
from urllib.parse import urlsplit

import pytest
from pydantic import BaseModel

import contracts.errors
from assistant.cli.parser import EXIT_CODES, build_parser
from assistant.config.profiles import load_profile, profile_names
from assistant.config.settings import VARIABLES
from assistant.deployment import deployment
from assistant.turns.progress import phrases
from assistant.wiring.ports import idle_ports
from contracts.context import Context
from contracts.decisions import EVIDENCE, all_tables
from contracts.decisions.engine import DecisionTable
from contracts.enums import HandOffOutcome, Language, Outcome, RequestType, RequiredAction, SafetyLevel
from contracts.errors import DecisionError, GuardianError
from contracts.evidence import ConfidenceFigures, Fate, QueryTrace
from contracts.plan import SGRPlanResult
from contracts.profile import Behaviour, Profile, Thresholds
from contracts.report import GuardianReport, HandOff
from contracts.result import Diagnostics, StructuredAgentResult
from graph.build import build_graph
from tests.support.handbook_pages import (
    FENCE,
    LANGUAGES,
    PYTHON,
    ROOT,
    WHOLE,
    Block,
    Page,
    list_pages,
    list_translations,
    read_pages,
)

KEYS: Final = ["title", "kbId", "url", "updated"]
LOOPBACK: Final = ("localhost", "127.0.0.1", "::1")

SPAN = re.compile(r"`([^`\n]+)`")
LINK = re.compile(r"\[[^\]\n]+\]\(([^)\s]*)\)")
ASSIGNMENT = re.compile(r"[A-Z_]+=.*")


def has(text: str, word: str) -> bool:
    """Whether a text has a word of the program, and not as a part of another one."""
    return bool(re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", text))


def missing_on(on: Iterable[Page], words: Iterable[str]) -> list[str]:
    """Name the page and the word for each word that a page lacks."""
    wanted = list(dict.fromkeys(words))
    assert wanted
    return [f"{page.name} does not name {word}" for page in on for word in wanted if not has(page.body, word)]


def missing_anywhere(words: Iterable[str]) -> list[str]:
    """Name the language and the word for each word that no page of it has."""
    whole = [
        Page(language, "*", "\n".join(page.body for page in by_slug.values()))
        for language, by_slug in read_pages().items()
    ]
    return missing_on(whole, words)


def said_of(page: Page, word: str) -> list[str]:
    """Return the cells behind a word that stands first in a row of a table."""
    return next((row[1:] for row in page.rows() if row[0] == f"`{word}`"), [])


def bare(cell: str) -> str:
    return cell.strip("`")


def nothing_in(faults: Iterable[str]) -> None:
    """Fail with every fault on a line of its own."""
    found = list(faults)
    assert not found, "\n" + "\n".join(found)


def as_written(value: object) -> tuple[str, ...]:
    """Return the ways in which a default may stand in a table."""
    if isinstance(value, bool):
        return (json.dumps(value),)
    return (str(value), f"{value:.2f}") if isinstance(value, float) else (str(value),)


# ---------------------------------------------------------------------------------------------------- the pages


def test_every_page_is_there_in_both_languages() -> None:
    """There are at least 25 pages, and each has the same slug in English and in Russian."""
    assert len(read_pages()["en"]) >= 25
    assert set(read_pages()["en"]) == set(read_pages()["ru"])


def test_a_page_says_what_it_is() -> None:
    """Front matter has exactly its keys, the page's own path as address, and the title that the page has."""
    for page in list_pages():
        policy = page.front.get("source") == "policy"
        assert list(page.front) == [*KEYS, *(["source"] if policy else [])], page.name
        assert page.front["url"] == page.name
        assert date.fromisoformat(page.front["updated"]), page.name
        assert page.headings(1) == [page.front["title"].strip('"')], page.name


@pytest.mark.parametrize("language", LANGUAGES)
def test_two_pages_are_policy(language: str) -> None:
    """Each language has exactly two policy documents."""
    assert len([page for page in read_pages()[language].values() if page.front.get("source") == "policy"]) == 2


def test_the_policies_are_the_same_in_both_languages() -> None:
    """A page is policy in both languages or in none."""
    sources = [
        {slug: page.front.get("source") for slug, page in read_pages()[language].items()} for language in LANGUAGES
    ]
    assert sources[0] == sources[1]


def test_numbers_of_pages_are_unique_and_the_russian_ones_are_a_thousand_more() -> None:
    """Every page has a number of its own, and that of a Russian page is its English twin's plus 1000."""
    numbers = [int(page.front["kbId"]) for page in list_pages()]
    nothing_in(f"{page.name}: kbId stands twice" for page in list_pages() if numbers.count(int(page.front["kbId"])) > 1)
    nothing_in(
        f"{page.name}: kbId is not its twin's plus 1000"
        for slug, page in read_pages()["ru"].items()
        if int(page.front["kbId"]) != int(read_pages()["en"][slug].front["kbId"]) + 1000
    )


def test_both_languages_have_the_same_sections() -> None:
    """A page has 3 to 8 sections, as many in Russian as in English, with as many tables and blocks of code in each."""
    for slug in read_pages()["en"]:
        english, russian = (shape(page) for page in list_translations(slug))
        assert 3 <= len(english) <= 8, slug
        assert english == russian, slug


def shape(page: Page) -> list[tuple[int, int, int]]:
    """Count, per section, the rows of tables, the blocks of code and the headings."""
    sections = re.split(r"^## .+$", FENCE.sub("```", page.body), flags=re.MULTILINE)[1:]
    marks = (r"^\|", r"^ *```$", r"^#+ ")
    return [tuple(len(re.findall(mark, part, re.MULTILINE)) for mark in marks) for part in sections]  # type: ignore[misc]


def test_links_lead_to_pages_that_there_are() -> None:
    """Every link leads to a page of the same language."""
    for page in list_pages():
        there = {f"{slug}.md" for slug in read_pages()[page.language]}
        nothing_in(page.says([link for link in LINK.findall(page.prose) if link not in there]))


def test_no_page_leads_out_or_is_unfinished() -> None:
    """A page has no address of the outside and no mark of something to be done."""
    for page in list_pages():
        addresses = re.findall(r"\b(?:https?|ftp)://[^\s)\"'`>]+", page.text)
        outside = [url for url in addresses if urlsplit(url).hostname not in LOOPBACK]
        nothing_in(page.says(outside))
        nothing_in(page.says(re.findall(r"\b(?:TODO|TBD|FIXME|XXX)\b", page.text)))


# ------------------------------------------------------------------------------------ what the program has is named


def commands(parser: argparse.ArgumentParser, *names: str) -> Iterator[tuple[tuple[str, ...], argparse.ArgumentParser]]:
    """Yield every command with its parser, those that only hold others left out."""
    inner = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    if not inner:
        yield names, parser
    for action in inner:
        for name, command in action.choices.items():
            yield from commands(command, *names, name)


PARSER: Final = build_parser()
COMMANDS: Final = dict(commands(PARSER))


def options(parser: argparse.ArgumentParser) -> list[str]:
    return [option for action in parser._actions for option in action.option_strings if option.startswith("--")]


def test_every_field_and_fate_of_a_trace_is_on_the_page_of_explanations() -> None:
    """The page names each field of a trace, each confidence figure and each fate that a passage can have."""
    fields = [*QueryTrace.model_fields, *ConfidenceFigures.model_fields, *Fate]
    nothing_in(missing_on(list_translations("search-explain"), [f"`{name}`" for name in fields]))


def test_every_command_and_option_is_on_the_page_of_the_command_line() -> None:
    """It, or the page of the ways in, names each command of `guardian`, each option and each value that one can have."""
    named = [part for names in COMMANDS for part in names]
    named += [option for parser in COMMANDS.values() for option in options(parser)]
    named += [
        str(choice) for parser in COMMANDS.values() for action in parser._actions for choice in action.choices or ()
    ]
    both = [
        Page(line.language, "command-line, ways-in", line.body + ways.body)
        for line, ways in zip(list_translations("command-line"), list_translations("ways-in"), strict=True)
    ]
    nothing_in(missing_on(both, named))


@pytest.mark.parametrize("page", list_translations("command-line"), ids=lambda page: page.name)
def test_every_exit_code_is_on_the_page_of_the_command_line(page: Page) -> None:
    """The page has one row for each exit code, and no others."""
    listed = {int(row[0]) for row in page.rows() if row[0].isdigit()}
    nothing_in(page.says(f"exit code {code}" for code in sorted(listed ^ set(EXIT_CODES))))


@pytest.mark.parametrize("page", list_translations("settings"), ids=lambda page: page.name)
def test_every_variable_of_the_environment_is_on_the_page_of_settings(page: Page) -> None:
    """The page has a row for each variable that is read, with its default, and for no other."""
    listed = {bare(row[0]): bare(row[1]) for row in page.rows() if row[0].startswith(("`GUARD", "`OPENAI_"))}
    nothing_in(page.says(sorted(listed.keys() ^ {variable.name for variable in VARIABLES})))
    wrong = [f"{v.name}: {listed[v.name]}, not {v.default}" for v in VARIABLES if v.default not in ("", listed[v.name])]
    nothing_in(page.says(wrong))


@pytest.mark.parametrize("page", list_translations("settings"), ids=lambda page: page.name)
def test_every_run_setting_is_on_the_page_of_settings(page: Page) -> None:
    """The page has each run setting with the default that the profile handbook gives it."""
    defaults = deployment("handbook").context_type().model_dump(mode="json")
    assert set(defaults) == set(Context.model_fields)
    nothing_in(missing_on([page], defaults))
    wrong = [
        f"{name}: {said_of(page, name)[:1]}, not {value}"
        for name, value in defaults.items()
        if value is not None and bare((said_of(page, name) or [""])[0]) not in as_written(value)
    ]
    nothing_in(page.says(wrong))


def models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    """Yield every model of ours that a type is made of, at any depth."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
        for field in annotation.model_fields.values():
            yield from models_in(field.annotation)
    for part in get_args(annotation):
        yield from models_in(part)


PROFILE_KEYS: Final = {name for model in models_in(Profile) for name in model.model_fields}


def test_every_key_of_a_profile_is_on_the_page_of_profiles() -> None:
    """The page names each key of a profile and of everything inside it."""
    assert {"synonyms", "norm_midpoint", "aliases", "except_roles"} <= PROFILE_KEYS
    nothing_in(missing_on(list_translations("profiles"), PROFILE_KEYS))


@pytest.mark.parametrize("page", list_translations("profiles"), ids=lambda page: page.name)
def test_a_key_on_the_page_of_profiles_is_a_key(page: Page) -> None:
    """No row tells of a key that a profile cannot have."""
    named = [bare(row[0]).rpartition(".")[2] for row in page.rows() if row[0].startswith("`")]
    assert named
    nothing_in(page.says(name for name in named if name not in PROFILE_KEYS))


@pytest.mark.parametrize("page", list_translations("profiles"), ids=lambda page: page.name)
@pytest.mark.parametrize("section", [Thresholds(), Behaviour()], ids=lambda section: type(section).__name__)
def test_the_defaults_on_the_page_of_profiles_are_those_in_force(page: Page, section: BaseModel) -> None:
    """A threshold and a habit stand there with the default that they have."""
    wrong = [
        f"{name}: {said_of(page, name)}, not {value}"
        for name, value in section.model_dump(mode="json").items()
        if not {bare(cell) for cell in said_of(page, name)}.intersection(as_written(value))
    ]
    nothing_in(page.says(wrong))


def test_every_bundled_profile_is_named() -> None:
    """The page of profiles names each profile that ships."""
    nothing_in(missing_on(list_translations("profiles"), profile_names()))


def test_every_node_is_on_the_page_of_a_turn() -> None:
    """The page names each node of the graph that runs."""
    drawn = build_graph(idle_ports(), load_profile("handbook")).get_graph().nodes
    nodes = [name for name in drawn if not name.startswith("__")]
    assert len(nodes) == 9
    nothing_in(missing_on(list_translations("how-a-turn-works"), nodes))


def page_of(table: DecisionTable[Any], language: str) -> Page:
    """Return the one page whose title names a decision table."""
    (page,) = (page for page in read_pages()[language].values() if has(page.front["title"], table.id))
    return page


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("table", all_tables(), ids=lambda table: table.id)
def test_every_row_of_a_decision_table_is_on_the_page_of_the_table(table: DecisionTable[Any], language: str) -> None:
    """One page has the table's id in its title, and names each of its rows and thresholds."""
    page = page_of(table, language)
    nothing_in(missing_on([page], [table.id, *(row.id for row in table.rows)]))
    nothing_in(page.says(limit for limit, value in table.limits.items() if not has(page.body, str(value))))


@pytest.mark.parametrize(
    "page", [page for page in list_pages() if "DT-00" in page.front["title"]], ids=lambda page: page.name
)
def test_a_row_that_a_page_lists_is_a_row_of_its_table(page: Page) -> None:
    """On the page of a decision table, a table whose first column is `row` lists rows that there are."""
    tables = re.split(r"^\| (?:row|строка) \|.*$", page.prose, flags=re.MULTILINE)[1:]
    listed = [name for part in tables for name in re.findall(r"^\| `([^`]+)` \|", part.split("\n\n")[0], re.MULTILINE)]
    known = {row.id for table in all_tables() if has(page.front["title"], table.id) for row in table.rows}
    assert listed
    nothing_in(page.says(name for name in listed if name not in known))


def test_every_action_kind_of_request_and_ending_is_named() -> None:
    """The handbook names each required action, request type, outcome, level of moderation and state of a hand-off."""
    values = (RequiredAction, RequestType, Outcome, SafetyLevel, HandOffOutcome)
    nothing_in(missing_anywhere(str(value) for enum in values for value in enum))


def reasons() -> set[str]:
    """Return the name of every reason and remark of the Guardian, as the guards' code has them."""
    names = {row.then.reason for row in EVIDENCE.rows} - {""}
    judges_no_draft = ("message_check", "plan_check", "judged_hash")
    for path in (ROOT / "guards").glob("*.py"):
        tree = ast.parse(path.read_text("utf-8"))
        # What a guard reads of its words and patterns by name is no reason.
        read = [call.args for call in ast.walk(tree) if isinstance(call, ast.Call) and _reads_wording(call.func)]
        named = {id(argument) for arguments in read for argument in arguments}
        for node in ast.walk(tree) if path.stem not in judges_no_draft else ():
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in named:
                found = re.fullmatch(r"([a-z]+(?:_[a-z]+)+|abstained)(?:=\[.*|\(.*)?", node.value)
                names |= {found.group(1)} if found else set()
    return names


def _reads_wording(function: ast.expr) -> bool:
    return isinstance(function, ast.Attribute) and getattr(function.value, "id", "") == "_WORDING"


def test_every_reason_is_named() -> None:
    """The handbook names each reason that the Guardian gives and each remark that it makes."""
    known = reasons()
    assert {"insufficient_evidence_count", "citation_unresolvable", "domain_terms_not_used", "abstained"} <= known
    nothing_in(missing_anywhere(known))


def test_every_field_of_the_result_is_on_the_page_of_the_result() -> None:
    """The page names each field of the structured result, of its diagnostics and of the hand-off record."""
    fields = [name for model in (StructuredAgentResult, Diagnostics, HandOff) for name in model.model_fields]
    nothing_in(missing_on(list_translations("structured-result"), fields))


def test_every_field_of_the_record_is_on_the_page_of_the_hand_off() -> None:
    """The page names each field of the hand-off record."""
    nothing_in(missing_on(list_translations("hand-off"), HandOff.model_fields))


def test_every_field_of_the_plan_is_on_the_page_of_planning() -> None:
    """The page names each field of the form that planning fills."""
    nothing_in(missing_on(list_translations("planning"), SGRPlanResult.model_fields))


def test_every_field_of_the_guardians_report_is_on_the_page_of_the_result() -> None:
    """The page names each field of the Guardian's report."""
    nothing_in(missing_on(list_translations("structured-result"), GuardianReport.model_fields))


def test_every_error_that_can_be_met_is_on_the_page_of_python() -> None:
    """The page names each class of errors but those of tables, which only their authors meet."""
    classes = [error for error in vars(contracts.errors).values() if isinstance(error, type)]
    met = [
        error.__name__ for error in classes if not issubclass(error, DecisionError) and issubclass(error, GuardianError)
    ]
    assert "ThreadBusy" in met
    nothing_in(missing_on(list_translations("python-api"), met))


@pytest.mark.parametrize("page", list_translations("first-question"), ids=lambda page: page.name)
def test_every_line_of_progress_is_on_the_page_of_the_first_question(page: Page) -> None:
    """The page has the words of each line that a turn writes while it runs, in the page's language."""
    say = phrases(Language(page.language))
    lines = ("moderation", "sgr_plan", "understood", "retrieve", "searched", "draft", "guardian_verify")
    said = [say[key] for key in (*lines, "verdict_PASS", "verdict_RETRY", "verdict_FAIL")]
    absent = [line for line in said if line.partition("{")[0].strip(" :") not in page.body]
    nothing_in(page.says(absent))


# ------------------------------------------------------------------------------------------- what pages show runs


def shell_lines(page: Page) -> list[str]:
    """Return the lines of a page's shell blocks that call `guardian`, lines broken by a backslash joined."""
    code = "\n".join(block.code for block in page.blocks("", "bash", "sh")).replace("\\\n", " ")
    return [line for line in code.splitlines() if re.search(r"(?:^|\s|/)guardian (?!:)[a-z-]", line)]


def called(line: str) -> Iterator[list[str]]:
    """Yield the arguments of each call of `guardian` in a shell line, without what the shell itself takes."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars="|<>")
    lexer.whitespace_split = True
    commands_of_line: list[list[str]] = [[]]
    redirected = False
    for part in lexer:
        if part == "|":
            commands_of_line.append([])
        elif not redirected and part not in ("<", ">", ">>"):
            commands_of_line[-1].append(part)
        redirected = part in ("<", ">", ">>")
    for command in commands_of_line:
        words = [word for word in command if not ASSIGNMENT.fullmatch(word)]
        if words and words[0].rpartition("/")[2] == "guardian":
            yield words[1:]


def test_every_command_that_a_page_shows_is_one(capsys: pytest.CaptureFixture[str]) -> None:
    """Each line that calls `guardian` is taken by its parser."""
    for page in list_pages():
        wrong: list[str] = []
        for line in shell_lines(page):
            calls = list(called(line))
            for arguments in calls:
                try:
                    PARSER.parse_args(arguments)
                except SystemExit:
                    wrong.append(f"{line}: {capsys.readouterr().err.splitlines()[-2]}")
            if not calls:
                wrong.append(f"{line}: no call of guardian was found in it")
        nothing_in(page.says(wrong))


def test_a_command_in_running_text_is_one() -> None:
    """A command in running text is a command of `guardian`, and each option behind it is one of its options."""
    for page in list_pages():
        spans = [(span, span.split()) for span in SPAN.findall(page.prose)]
        called = [(span, words[1:]) for span, words in spans if words[0] == "guardian" and len(words) > 1]
        nothing_in(page.says([span for span, words in called if not known_command(words)]))


def known_command(words: list[str]) -> bool:
    fitting = [parser for names, parser in COMMANDS.items() if names[: len(words)] == tuple(words[: len(names)])]
    wanted = [word for word in words if word.startswith("--") and word != "--help"]
    return "--help" in words or any(set(wanted) <= set(options(parser)) for parser in fitting)


def test_every_target_of_make_that_a_page_shows_is_one() -> None:
    """`make` is called with targets that the Makefile has."""
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    shown = {
        (page.name, target)
        for page in list_pages()
        for target in re.findall(r"(?:`|^ *)make ([a-z]+)", page.body, re.MULTILINE)
    }
    assert len(shown) > 10
    nothing_in(f"{name}: make {target}" for name, target in sorted(shown) if target not in targets)


SMALLEST: Final[dict[str, Any]] = {
    "name": "smallest",
    "product": "Anything",
    "scope": {"description": {"en": "anything", "ru": "что угодно"}},
}
TOML: Final = [block for page in list_pages() if page.slug != "batch-columns" for block in page.blocks("toml")]


def merged(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    both = {key: merged(one[key], other[key]) for key in one.keys() & other.keys() if isinstance(other[key], dict)}
    return {**one, **other, **both}


def test_every_piece_of_a_profile_is_right() -> None:
    """What a page shows of a profile makes a profile: by itself where it is whole, else with a name and a scope."""
    for block in TOML:
        piece = tomllib.loads(block.code)
        whole = "name" in piece and "product" in piece
        assert piece, block.name
        assert Profile.model_validate(piece if whole else merged(SMALLEST, piece)), block.name


def test_a_whole_profile_is_shown_in_both_languages() -> None:
    """The page of profiles shows a profile that works as it stands."""
    for page in list_translations("profiles"):
        assert any("product" in tomllib.loads(block.code) for block in page.blocks("toml")), page.name


@pytest.mark.parametrize(
    "block", [block for page in list_pages() for block in page.blocks("json")], ids=lambda block: block.name
)
def test_every_json_that_a_page_shows_is_json(block: Block) -> None:
    """A block of JSON parses."""
    assert json.loads(block.code)


@pytest.mark.parametrize("block", PYTHON, ids=lambda block: block.name)
def test_every_python_example_compiles(block: Block) -> None:
    """A block of Python is Python."""
    assert compile(block.code, block.name, "exec")


def test_most_python_examples_are_whole() -> None:
    """Examples are programs that a reader can run; only what is announced as a part is none."""
    assert len(PYTHON) - len(WHOLE) <= len(LANGUAGES)
