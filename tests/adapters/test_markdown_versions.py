from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.index.deduplication import Face, enough, fold_duplicates
from adapters.index.embedded import Folder, KnowledgeBase, ingest
from contracts.enums import Source
from contracts.ports import SearchRequest
from tests.support.markdown_pages import documents, find, write

TOPICS = ("roles", "backups", "licences", "processes", "reports", "mail", "search", "forms", "buttons", "logs")
FILLING = "Open the settings, choose the entry, save the page and tell the others about it. "


@pytest.fixture
def kb(tmp_path: Path) -> Path:
    return tmp_path / "kb"


def manual(version: str) -> dict[str, str]:
    """Ten pages of one version of a product, which hardly differ from those of another."""
    return {
        f"{topic}.md": f"# Setting up {topic}\n\nHow {topic} are set up in release {version}.\n\n"
        + FILLING * (2 + (number + len(version)) % 3)
        for number, topic in enumerate(TOPICS)
    }


@pytest.fixture
def three(tmp_path: Path, kb: Path) -> Path:
    """A knowledge base of three versions of one manual."""
    versions = ("4.7", "5.0", "4.10")
    folders = [Folder(write(tmp_path / f"v{v}", manual(v)), version=v) for v in versions]
    ingest(folders, directory=kb)
    return kb


def first(kb: Path, query: str, *, version: str | None = None, question: str = "") -> list[str]:
    return documents(kb, query, version=version, question=question)[:1]


# ---------------------------------------------------------------------------------------------------- which version


@pytest.mark.parametrize(
    ("question", "folder"),
    [
        ("setting up roles", "v5.0"),
        ("setting up roles in version 4.7", "v4.7"),
        ("setting up roles in v4.10", "v4.10"),
        ("setting up roles: версия 4.7", "v4.7"),
        ("setting up roles in version 3.1", "v5.0"),
    ],
)
def test_the_version_that_a_question_names_is_searched(three: Path, question: str, folder: str) -> None:
    """A version that is named and there is searched, and nothing else is; without one, the newest."""
    assert {key.partition("/")[0] for key in documents(three, question)} == {folder}
    # A sub-query may have lost what the question said.
    asked = documents(three, "setting up roles", question=question)
    assert {key.partition("/")[0] for key in asked} == {folder}


def test_a_version_that_was_chosen_stands_above_the_words(three: Path) -> None:
    """The run's version first, then the query's, then the question's, then the deployment's default."""
    assert first(three, "roles in version 4.7", version="5.0") == ["v5.0/roles.md"]
    assert first(three, "roles in version 4.7", question="What changed from 4.7 to 5.0?") == ["v4.7/roles.md"]
    with KnowledgeBase(three, default_version="4.7") as knowledge:
        asked = [SearchRequest("setting up roles"), SearchRequest("setting up roles", question="and in v5?")]
        keys = [knowledge.search_now(request, Source.DOC).items[0].document for request in asked]
        assert keys == ["v4.7/roles.md", "v5.0/roles.md"]


def test_two_versions_that_are_named_are_both_searched(three: Path) -> None:
    """A question about the way from one version to another is answered from both."""
    keys = documents(three, "roles", question="What changed in roles from 4.7 to 5.0?")
    assert sorted(key for key in keys if key.endswith("roles.md")) == ["v4.7/roles.md", "v5.0/roles.md"]
    assert not any(key.startswith("v4.10/") for key in keys)


def test_other_versions_do_not_push_the_wanted_one_down(tmp_path: Path, three: Path) -> None:
    """Every question has its page in first place, whichever version is wanted, as if the others were not there."""
    for version in ("4.7", "4.10", "5.0"):
        alone = tmp_path / f"alone-{version}"
        ingest(Folder(tmp_path / f"v{version}", version=version), directory=alone)
        for topic in TOPICS:
            asked = f"how are {topic} set up in version {version}"
            mixed = documents(three, asked)
            assert mixed[:1] == [f"v{version}/{topic}.md"], asked
            assert mixed == documents(alone, asked)


# ----------------------------------------------------------------------------------------------------------- folding


def test_the_same_passage_of_several_pages_is_one_result(tmp_path: Path, kb: Path) -> None:
    """A page that lies in several folders under other numbers is found once, and leaves room for others."""
    body = "# Roles\n\nA pomegranate role.\n"
    pages = {f"{n}/roles.md": f"---\nkbId: {4000 + n}\n---\n{body}" for n in range(9)}
    ingest(
        write(tmp_path / "docs", {**pages, "other.md": "Another page with one pomegranate in a longer text."}),
        directory=kb,
    )
    assert documents(kb, "pomegranate", top_k=2) == ["docs/0/roles.md", "docs/other.md"]


def test_a_page_for_a_version_stands_for_its_copy_without_one(tmp_path: Path, kb: Path) -> None:
    """Of a manual that was also indexed without its version, the one with it is found."""
    write(
        tmp_path / "old", {"roles.md": "# Roles\n\nA pomegranate role, as it was.", "faq.md": "# FAQ\n\nA pomegranate."}
    )
    write(tmp_path / "new", {"roles.md": "# Roles\n\nA pomegranate role.", "copy.md": "# FAQ\n\nA pomegranate."})
    ingest([tmp_path / "old", Folder(tmp_path / "new", version="5.0")], directory=kb)
    assert sorted(documents(kb, "pomegranate")) == ["new/copy.md", "new/roles.md"]
    assert sorted(documents(kb, "pomegranate", version="4.0")) == ["old/faq.md", "old/roles.md"]


def test_pages_of_one_name_and_different_texts_are_not_folded(tmp_path: Path, kb: Path) -> None:
    """Two folders may each have an `index.md` of the same title: both are found."""
    for name, text in (("a", "one pomegranate"), ("b", "another pomegranate")):
        write(tmp_path / name, {"index.md": f"# Overview\n\n{text}"})
    ingest([tmp_path / "a", tmp_path / "b"], directory=kb)
    assert len(find(kb, "pomegranate")) == 2


FACES = st.lists(
    st.builds(
        Face,
        st.sampled_from(["x/a", "y/a", "z/b"]),
        st.sampled_from("TU"),
        st.sampled_from([None, "5"]),
        st.sampled_from("pq"),
    ),
    max_size=12,
)


@given(FACES)
def test_folding_keeps_one_of_each_text(faces: list[Face]) -> None:
    """No text is left twice, what is kept was there, folding twice is folding once, and no versioned text is lost."""
    different = fold_duplicates(faces, lambda face: face)
    kept = different.kept
    texts = [face.text for face in kept]
    assert len(set(texts)) == len(texts)
    assert set(kept) <= set(faces)
    assert fold_duplicates(kept, lambda face: face).kept == kept
    assert {face.text for face in faces if face.version} <= set(texts)


@given(FACES, st.integers(1, 5))
def test_enough_is_as_many_as_there_are(faces: list[Face], count: int) -> None:
    """As many different passages as wanted are returned, if there are so many within reach, and the best of them."""
    every = fold_duplicates(faces[: count * 8], lambda face: face).kept
    got = enough(lambda asked: faces[:asked], lambda face: face, count).kept
    assert min(count, len(every)) <= len(got) <= count
