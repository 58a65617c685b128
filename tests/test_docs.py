"""The generated pages are kept, and `--check` fails where they are not."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import cast

import pytest

from adapters.index.embedded import Folder, IngestReport, ingest
from contracts.errors import ConfigError
from tools.docs.pages import PAGES, PARTS, Page, main, make_pages


@pytest.fixture(autouse=True, scope="module")
def each_part_is_made_once(handbook_index: Path) -> Iterator[None]:
    """Keep what each page and part became, and have the transcript index a handbook that has not changed since.

    To index the whole of it takes ten seconds, and is done once for all tests.
    """

    def ingest_again(folders: Sequence[Folder], *, directory: Path) -> IngestReport:
        shutil.copytree(handbook_index, directory)
        return ingest(folders, directory=directory)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("adapters.index.embedded.ingest", ingest_again, raising=False)
        for page, make in PAGES.items():
            patch.setitem(cast("dict[str, Page]", PAGES), page, cache(make))
        for part, make in PARTS.items():
            patch.setitem(cast("dict[tuple[str, str], Page]", PARTS), part, cache(make))
        yield


def test_writing_then_checking_finds_nothing_and_writing_again_changes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The command writes each page once, and a second run has nothing to do."""
    for path, _ in PARTS:
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_bytes((Path(__file__).parent.parent / path).read_bytes())
    assert main([], root=tmp_path) == 0
    written = capsys.readouterr().out.splitlines()
    assert {f"wrote {path}" for path in PAGES} <= set(written)
    assert main(["--check"], root=tmp_path) == 0
    assert main([], root=tmp_path) == 0
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("path", PAGES)
def test_a_page_changed_by_hand_fails_the_check_with_a_diff(
    tmp_path: Path, path: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A page that differs in one character fails, is named with the way out, and is left as it is."""
    for name, text in make_pages().items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, "utf-8")
    changed = make_pages()[path].replace("e", "a", 1)
    (tmp_path / path).write_text(changed, "utf-8")
    assert main(["--check"], root=tmp_path) == 1
    said = capsys.readouterr()
    assert f"--- {path}" in said.out
    assert f"Out of date: {path}. Run: make docs" in said.err
    assert (tmp_path / path).read_text("utf-8") == changed


def test_a_part_is_written_between_its_marks_and_nowhere_else(tmp_path: Path) -> None:
    """What people wrote before and after a generated part stays."""
    page = "Before.\n<!-- generated: list -->\nold\n<!-- end of list -->\nAfter.\n"
    (tmp_path / "page.md").write_text(page, "utf-8")
    texts = make_pages(tmp_path, {}, {("page.md", "list"): lambda: "new"})
    assert texts == {"page.md": "Before.\n<!-- generated: list -->\n\nnew\n\n<!-- end of list -->\nAfter.\n"}
    (tmp_path / "page.md").write_text(texts["page.md"], "utf-8")
    assert make_pages(tmp_path, {}, {("page.md", "list"): lambda: "new"}) == texts


@pytest.mark.parametrize(
    "page",
    ["", "<!-- generated: list -->", "<!-- end of list -->\n<!-- generated: list -->", "<!-- generated: other -->"],
)
def test_a_page_without_a_place_for_its_part_is_an_error(tmp_path: Path, page: str) -> None:
    """A lost mark does not lose the part in silence."""
    (tmp_path / "page.md").write_text(page, "utf-8")
    with pytest.raises(ConfigError, match=r"page\.md has no place for list"):
        make_pages(tmp_path, {}, {("page.md", "list"): lambda: "new"})
