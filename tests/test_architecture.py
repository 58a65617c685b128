"""The house: its folders, its arrows and its tools say the same."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tools.mutate import GUARDS, Mutation

ROOT = Path(__file__).resolve().parent.parent
SETTINGS: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
PACKAGES = sorted(init.parent.name for init in ROOT.glob("*/__init__.py"))
SHIPPED = [package for package in PACKAGES if package != "tools"]
"""Without what a user does not need."""

PURE = set(sys.stdlib_module_names)
"""The standard library; which of its modules are out of bounds, import-linter is told in pyproject.toml."""

MAY_IMPORT = {
    "contracts": {"contracts", "pydantic", "typing_extensions"},
    "guards": {"contracts", "guards", "language", "markdown_it", "pydantic"},
    "language": {
        "contracts",
        "language",
        "Stemmer",
        "confusable_homoglyphs",
        "markdown_it",
        "pydantic",
        "razdel",
        "regex",
    },
    "rendering": {"contracts", "language", "rendering"},
    "nodes": {
        "contracts",
        "guards",
        "language",
        "rendering",
        "langchain_core.messages",
        "langgraph.runtime",
        # The parts of one node, for itself: that nodes do not know each other, import-linter holds.
        "nodes.safe_exit",
    },
    "graph": {
        "contracts",
        "graph",
        "nodes",
        "langgraph",
        # Who listens to a surrounding run is told apart by its class.
        "langchain_core.callbacks",
        "langchain_core.messages",
        "langchain_core.runnables",
        "langchain_core.tracers._streaming",
        "typing_extensions",
    },
}
"""What each inner package may import beside the standard library, by the beginning of the name."""


def imports(path: Path) -> Iterator[str]:
    """Yield what a file imports, with its whole name, wherever in the file it does."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or "."


def foreign(package: str, path: Path) -> list[str]:
    """Return what a file of a package imports without being allowed to."""
    allowed = MAY_IMPORT[package]
    if path.relative_to(ROOT).as_posix() in ("contracts/state.py", "contracts/views.py"):
        allowed = allowed | {"langchain_core.messages", "langgraph.graph.message"}
    return [
        name
        for name in imports(path)
        if name.split(".")[0] not in PURE and not any(f"{name}.".startswith(f"{prefix}.") for prefix in allowed)
    ]


def test_the_packages_that_are_linted_are_the_folders_that_are_there() -> None:
    """A new top-level package is under the import rules from its first day, and a removed one leaves no rule."""
    assert sorted(SETTINGS["tool"]["importlinter"]["root_packages"]) == PACKAGES


def test_every_package_is_checked_for_types_and_shipped() -> None:
    """The type checker knows exactly the packages that there are, and the wheel all of them but the developers' tools."""
    assert sorted([*PACKAGES, "tests"]) == sorted(SETTINGS["tool"]["pyright"]["include"])
    shipped = SETTINGS["tool"]["setuptools"]["packages"]["find"]["include"]
    assert sorted(f"{package}*" for package in SHIPPED) == sorted(shipped)


@pytest.mark.parametrize("package", MAY_IMPORT)
def test_an_inner_file_imports_only_what_its_folder_may(package: str) -> None:
    """The inner packages name what they may import: what is not named is not allowed, lazily imported or not."""
    paths = sorted((ROOT / package).rglob("*.py"))
    assert paths
    assert {path: found for path in paths if (found := foreign(package, path))} == {}


def test_the_search_for_imports_finds_all_of_them(tmp_path: Path) -> None:
    """An import inside a function and one of a single name count like any other."""
    path = tmp_path / "some.py"
    path.write_text("import os.path\ndef f():\n    from langgraph.graph import StateGraph\n", "utf-8")
    assert list(imports(path)) == ["os.path", "langgraph.graph"]


def test_every_lint_ignore_has_its_reason_beside_it() -> None:
    """Who switches a rule off says why, on the same line."""
    lint = SETTINGS["tool"]["ruff"]["lint"]
    named = {*lint["ignore"], *(rule for rules in lint["per-file-ignores"].values() for rule in rules)}
    text = (ROOT / "pyproject.toml").read_text("utf-8")
    part = text[text.index("\nignore = [") : text.index("[tool.ruff.lint.mccabe]")]
    lines = [line for line in part.splitlines() if re.search(r'"[A-Z]+\d*"', line)]
    assert {rule for line in lines for rule in re.findall(r'"([A-Z]+\d*)"', line)} == named
    assert [line for line in lines if not re.search(r"#\s*\S", line)] == []


@pytest.mark.parametrize("path", sorted(ROOT.glob("typings/**/*.pyi")), ids=lambda path: path.stem)
def test_a_type_stub_of_ours_stands_in_for_a_library_that_has_none(path: Path) -> None:
    """A stub goes as soon as its library brings types of its own: two truths would drift apart."""
    name = path.relative_to(ROOT / "typings").parts[0].removesuffix(".pyi")
    from importlib.util import find_spec

    spec = find_spec(name)
    assert spec is not None
    assert spec.origin is not None
    folder = Path(spec.origin).parent
    assert not (folder / "py.typed").exists() or folder.name == "site-packages"


# ------------------------------------------------------------------------------------------------------------- lock


def locked() -> dict[str, list[str]]:
    """Return each locked requirement with the lines that belong to it."""
    blocks = re.split(r"^(?=[a-z])", (ROOT / "requirements.lock").read_text("utf-8"), flags=re.MULTILINE)
    return {block.split("==")[0]: block.splitlines() for block in blocks if block.strip()}


def test_the_lock_names_no_address() -> None:
    """Where packages come from is the machine's business: no index, no URL, no path stands in the list."""
    text = (ROOT / "requirements.lock").read_text("utf-8")
    assert re.findall(r"://|file:|--(?:extra-)?index|--find-links|--trusted-host", text) == []


def test_every_locked_requirement_is_pinned_and_hashed() -> None:
    """One exact version each, and at least one hash."""
    for name, lines in locked().items():
        assert re.match(r"[a-z0-9-]+==\S+", lines[0]), name
        assert any("--hash=sha256:" in line for line in lines), name


def test_every_dependency_is_in_the_lock() -> None:
    """What pyproject.toml asks for was resolved: a dependency added without `make lock` fails here."""
    project = SETTINGS["project"]
    # The large weights are in no environment of ours, so that no installation of it loads 91 MB; they are pinned here.
    large = project["optional-dependencies"]["meaning-large"]
    assert all("==" in line or line.startswith("threadpoolctl") for line in large)
    extras = (lines for lines in project["optional-dependencies"].values() if lines != large)
    asked = [*project["dependencies"], *(line for extra in extras for line in extra)]
    names = {re.split(r"[\[<>=!]", line)[0].lower() for line in asked} - {project["name"]}
    assert names <= set(locked())


# ------------------------------------------------------------------------------------------------------------ names


NO_PARTICIPLES = frozenset({"embed", "feed"})
"""Verbs and nouns that only look like participles."""
PARTICIPLE = re.compile(
    r"[a-z]+(?:ed|ing)|written|shown|known|said|told|held|kept|sent|found|made|meant|given|taken|gone"
)


def test_no_public_function_is_named_by_a_bare_participle() -> None:
    """A function says what it does, as a verb, helpers of tests, too; `asked` or `found` would stand for anything."""
    named = [
        f"{path.relative_to(ROOT)}: {node.name}"
        for folder in (*SHIPPED, "tests/support")
        for path in sorted((ROOT / folder).rglob("*.py"))
        for node in ast.parse(path.read_text("utf-8")).body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and PARTICIPLE.fullmatch(node.name)
        and node.name not in NO_PARTICIPLES
    ]
    assert named == []


def test_a_folder_has_no_module_and_package_of_one_name() -> None:
    """What is imported by a name is one thing: a file, or a folder."""
    twice = [
        str(path.relative_to(ROOT))
        for package in PACKAGES
        for path in (ROOT / package).rglob("*.py")
        if (path.with_suffix("") / "__init__.py").is_file()
    ]
    assert twice == []


READ_REASONS = frozenset(
    {
        # A state that may come from a checkpoint: the last node, the ticket, and what is streamed.
        *("nodes/safe_exit/node.py", "rendering/hand_off.py", "graph/streaming.py", "assistant/turns/events.py"),
        # Results of turns that ended.
        *("assistant/report_text.py", "assistant/review/desk.py", "assistant/review/records.py"),
        "evals/answers/grades.py",
    }
)
"""Where reports come in from outside, and what they say of reasons is text."""


def test_only_what_reads_a_stored_report_parses_its_reasons() -> None:
    """Reasons are data (`contracts.reasons.Reason`): no guard, and nothing else that decides, reads their strings."""
    parse = re.compile(r"\b(?:read_reason|reason_names?)\b")
    found = {
        path.relative_to(ROOT).as_posix()
        for package in SHIPPED
        for path in (ROOT / package).rglob("*.py")
        if parse.search(path.read_text("utf-8"))
    }
    assert found - {"contracts/reasons.py"} == READ_REASONS


def test_no_module_of_tests_imports_from_a_test_module_or_a_conftest() -> None:
    """What tests share stands once, in tests/support: an import of a test module collects and runs it for its helpers."""
    wrong = [
        f"{path.relative_to(ROOT)}: {name}"
        for path in sorted((ROOT / "tests").rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in (getattr(node, "module", None) or "", *(alias.name for alias in node.names))
        if re.match(r"test_|conftest$", name.rpartition(".")[2])
    ]
    assert wrong == []


def test_a_conftest_holds_fixtures_and_hooks_alone() -> None:
    """A function of a conftest is a fixture, a hook of pytest or a private part of one; a class stands in tests/support."""
    others = [
        f"{path.relative_to(ROOT)}: {node.name}"
        for path in sorted((ROOT / "tests").rglob("conftest.py"))
        for node in ast.parse(path.read_text("utf-8")).body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        and not node.name.startswith(("_", "pytest_"))
        and not any("pytest.fixture" in ast.unparse(decorator) for decorator in node.decorator_list)
    ]
    assert others == []


@pytest.mark.parametrize("mutation", GUARDS, ids=lambda one: f"{one.file}: {one.old[:40]}")
def test_what_is_broken_on_purpose_is_there_to_be_broken(mutation: Mutation) -> None:
    """`tools.mutate` changes what stands in its file once, and runs tests that there are."""
    assert (ROOT / mutation.file).read_text("utf-8").count(mutation.old) == 1
    assert all((ROOT / name.partition("::")[0]).exists() for name in mutation.tests.split())
