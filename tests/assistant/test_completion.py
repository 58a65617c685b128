from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.cli_helpers import Desk

# What is typed before the Tab, what is offered then, and what is not.
TYPED = [
    ("guardian sea", {"search"}, {"serve"}),
    ("guardian threads re", {"resume"}, {"show"}),
    ("guardian keys ", {"add", "list", "remove"}, {"search"}),
    ("guardian ask hello --th", {"--thread"}, {"--top"}),
    ("guardian ask hello --lang ", {"en", "ru"}, {"--lang"}),
    ("guardian show ", {"graph", "tables", "settings"}, set[str]()),
    ("guardian chat --profile ", {"handbook", "my.toml", "more"}, {"notes.txt"}),
    ("guardian batch ", {"my.toml", "notes.txt"}, set[str]()),
    ("guardian init ", {"more"}, {"notes.txt"}),
    ("guardian --ver", {"--version"}, set[str]()),
]

BASH = """
for typed in "$@"; do
  read -ra COMP_WORDS <<< "$typed"
  [[ $typed == *' ' ]] && COMP_WORDS+=("")
  COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
  _shtab_guardian
  echo "${COMPREPLY[*]}"
done
"""
FISH = """
for typed in $argv
  echo (complete -C $typed | string split -f1 \\t)
end
"""


def run_shell(command: list[str], folder: Path) -> list[list[str]]:
    """Run a shell in a folder with a profile, a text and a folder; return the words of each line that it printed."""
    (folder / "more").mkdir()
    (folder / "my.toml").touch()
    (folder / "notes.txt").touch()
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(folder / "home"), "TERM": "dumb", "LC_ALL": "C.UTF-8"}
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, env=environment, check=True, timeout=60)
    assert done.stderr == ""
    return [line.split() for line in done.stdout.splitlines()]


def in_bash(script: Path, folder: Path) -> list[list[str]]:
    typed = [line for line, _, _ in TYPED]
    return run_shell(["bash", "--norc", "-uc", f". {script}\nset +u{BASH}", "bash", *typed], folder)


def in_fish(script: Path, folder: Path) -> list[list[str]]:
    typed = [line for line, _, _ in TYPED]
    return run_shell(["fish", "--no-config", "-c", f"source {script}{FISH}", *typed], folder)


@pytest.mark.parametrize(("shell", "complete"), [("bash", in_bash), ("fish", in_fish)], ids=["bash", "fish"])
def test_a_shell_completes_what_can_be_typed(
    shell: str, complete: Callable[[Path, Path], list[list[str]]], empty: Desk, tmp_path: Path
) -> None:
    """The printed script offers commands, actions, options, values, profiles, files and folders where each belongs."""
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed; bash, which is always there, shows that what is offered is right")
    script, folder = tmp_path / "script", tmp_path / "folder"
    folder.mkdir()
    said = empty.here("completion", shell)
    assert (said.code, said.err) == (0, "")
    script.write_text(said.out, "utf-8")
    offered = complete(script, folder)
    assert len(offered) == len(TYPED)
    for (typed, wanted, unwanted), words in zip(TYPED, offered, strict=True):
        found = {word.rstrip("/") for word in words}
        assert wanted <= found, typed
        assert not unwanted & found, typed


def test_zsh_takes_the_script(empty: Desk, tmp_path: Path) -> None:
    """It is loaded as the help page says, and belongs to the command from then on; nothing in it runs by itself."""
    if shutil.which("zsh") is None:
        pytest.skip("zsh is not installed; bash, which is always there, shows that what is offered is right")
    script, folder = tmp_path / "script", tmp_path / "folder"
    folder.mkdir()
    script.write_text(empty.here("completion", "zsh").out, "utf-8")
    code = f'autoload -U compinit; compinit -D; eval "$(<{script})"; print $_comps[guardian]'
    lines = run_shell(["zsh", "-f", "-c", code], folder)
    assert lines == [["_shtab_guardian"]]
