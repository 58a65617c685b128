"""Break a guard on purpose, and see whether its tests notice: `python -m tools.mutate`.

Each mutation changes one place of the code in a copy of the tree, and runs the tests that are to protect it. One that
no test notices survives, is named, and makes the exit code 1. `python -m tools.mutate WORD` plays those whose file has
the word, or one of the words, in its name. Other lists are played by `play(mutations)`.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Mutation:
    """One change for the worse.

    Attributes:
        file: Below the repository.
        old: Stands in it once.
        new: In the place of it.
        tests: What pytest is to run, as on its command line.
    """

    file: str
    old: str
    new: str
    tests: str


GUARDS: tuple[Mutation, ...] = (
    Mutation(
        "language/privacy/secrets.py",
        'if is_random(value) and not is_placeholder(value):\n                yield Span("bearer',
        'if not is_placeholder(value):\n                yield Span("bearer',
        "tests/language/test_secrets.py",
    ),
    Mutation(
        "language/privacy/secrets.py",
        'if "eyJ" in plain:',
        'if "eyJ" in plain and "." not in plain:',
        "tests/language/test_secrets.py",
    ),
    Mutation(
        "language/privacy/personal_data.py",
        "return known and luhn(digits) and len(set(digits)) > 1",
        "return known and len(set(digits)) > 1",
        "tests/language/test_personal_data.py",
    ),
    Mutation(
        "language/privacy/personal_data.py",
        "_check_digit(digits, _INN_11) and _check_digit(digits, _INN_12)",
        "_check_digit(digits, _INN_11)",
        "tests/language/test_personal_data.py",
    ),
    Mutation(
        "language/claims.py",
        "return listed and points_ahead(sentence)",
        "return listed",
        "tests/language/test_claims.py",
    ),
    Mutation(
        "language/claims.py",
        "return bool(tokens(sentence)) and not sentence",
        "return bool(tokens(sentence)) or not sentence",
        "tests/language/test_claims.py",
    ),
    Mutation(
        "language/fidelity/negation.py",
        "    if (one.plain & other.denied) - one.denied - other.plain:\n        return True\n",
        "",
        "tests/language/test_negation.py",
    ),
    Mutation(
        "language/fidelity/negation.py",
        "return all(_is_opposed(said, other) for other in near)",
        "return any(_is_opposed(said, other) for other in near)",
        "tests/language/test_negation.py tests/guards",
    ),
    Mutation(
        "language/figures/comparison.py",
        "if figure.of and not _may_count(figure, cited):",
        "if figure.of and _may_count(figure, cited):",
        "tests/language/test_values.py tests/language/test_counted.py",
    ),
    Mutation(
        "language/figures/comparison.py",
        "amounts_of = figure.unit | figure.whole",
        "amounts_of = figure.unit",
        "tests/language/test_values.py tests/language/test_units_and_dates.py",
    ),
    Mutation(
        "language/attacks/matching.py",
        "if not all(mentions):",
        "if mentions and not any(mentions):",
        "tests/adapters/test_moderation_rules.py",
    ),
    Mutation(
        "language/attacks/matching.py",
        "views += [_View(said, pack, runs) for said, runs in _word_by_word(view, pack) if runs]",
        "views += []",
        "tests/adapters/test_moderation_rules.py",
    ),
    Mutation(
        "adapters/checkpoints/steps.py",
        " and (step.namespace, step.checkpoint_id) not in origins]",
        "]",
        "tests/adapters/test_checkpoints.py",
    ),
    Mutation(
        "adapters/planning/form.py",
        "list(dict.fromkeys(text for text in texts if text))[:longest]",
        "list(dict.fromkeys(text for text in texts if text))",
        "tests/wire/test_plan_form.py",
    ),
    Mutation(
        "adapters/models/wire.py",
        "if isinstance(talk[-1], AIMessage):\n        talk.append(HumanMessage(GO_ON))\n    ",
        "",
        "tests/wire/test_to_wire.py",
    ),
    Mutation(
        "adapters/models/wire.py",
        "sorted(map(str, wanted)) == sorted(r.tool_call_id for r in results)",
        "len(wanted) == len(results)",
        "tests/wire/test_to_wire.py",
    ),
    Mutation(
        "adapters/models/wire.py",
        'return _SPECIAL.sub(lambda mark: f"{mark.group()} ", text_of(message))',
        "return text_of(message)",
        "tests/wire/test_to_wire.py",
    ),
    Mutation(
        "adapters/lookups/text_to_sql/allow_list.py",
        '"Join": "this on side kind",',
        '"Join": "this on side kind using method",',
        "tests/database/test_text_to_sql.py",
    ),
    Mutation(
        "assistant/web/limits.py",
        "    if size > most:",
        "    if size > 2 * most:",
        "tests/web/test_operations.py",
    ),
    Mutation(
        "assistant/keys.py",
        "self._wanted = self._wanted or self._were_used()",
        "self._wanted = self._were_used()",
        "tests/assistant/test_keys.py tests/web/test_operations.py tests/web/test_asking.py",
    ),
)


def play(mutations: Iterable[Mutation]) -> list[Mutation]:
    """Play each mutation, say what became of it, and return the survivors.

    Raises:
        ValueError: The text to change does not stand in the file once, or its tests fail without the change.
    """
    survivors: list[Mutation] = []
    fine: set[str] = set()
    with _copy() as tree:
        for mutation in mutations:
            if mutation.tests not in fine and not _passes(tree, mutation.tests):
                raise ValueError(f"these tests fail as things are: {mutation.tests}")
            fine.add(mutation.tests)
            with _change_file(tree / mutation.file, mutation):
                survived = _passes(tree, mutation.tests)
            survivors += [mutation] if survived else []
            change = " ".join(mutation.old.split())
            print(f"{'SURVIVED' if survived else 'caught  '}  {mutation.file}: {change}", flush=True)
    return survivors


@contextmanager
def _copy() -> Generator[Path]:
    """Yield a copy of what git knows of the tree, with the environment of this one."""
    names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "tree"
        for name in filter(None, names.split("\0")):
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, tree / name)
        (tree / ".venv").symlink_to(ROOT / ".venv")
        yield tree


@contextmanager
def _change_file(path: Path, mutation: Mutation) -> Generator[None]:
    text = path.read_text("utf-8")
    if text.count(mutation.old) != 1:
        raise ValueError(f"{mutation.file} has this {text.count(mutation.old)} times: {mutation.old}")
    path.write_text(text.replace(mutation.old, mutation.new), "utf-8")
    try:
        yield
    finally:
        path.write_text(text, "utf-8")


def _passes(tree: Path, tests: str) -> bool:
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-n0", *tests.split()]
    return subprocess.run(command, cwd=tree, capture_output=True, check=False).returncode == 0


if __name__ == "__main__":
    words = sys.argv[1:]
    wanted = [each for each in GUARDS if not words or any(word in each.file for word in words)]
    if not wanted:
        sys.exit(f"No file of a mutation has {' or '.join(words)} in its name.")
    sys.exit(1 if play(wanted) else 0)
