from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.reading.front_matter import FrontMatter, read
from contracts.enums import Source


def test_all_known_keys_are_read() -> None:
    """Title, number, address, date, kind of source and version come from the front matter."""
    text = (
        "---\ntitle: Roles: an overview\nkbId: 4578\n".replace("Roles: an", "Roles, an")
        + "url: https://kb.example.com/a\nupdated: 2025-05-01\nsource: policy\nversion: 5.0\nother: [1, 2]\n---\n# Body\n"
    )
    assert read(text) == FrontMatter(
        title="Roles, an overview",
        kb_id=4578,
        url="https://kb.example.com/a",
        updated="2025-05-01",
        source=Source.POLICY,
        version="5.0",
        lines=9,
    )


@pytest.mark.parametrize(
    ("written", "number"),
    [
        ("4578", 4578),
        ("4578-toc", 4578),
        ("'4578'", 4578),
        ("toc-4578", None),
        ("", None),
        ("null", None),
        ("-5", None),
    ],
)
def test_the_number_in_front_of_an_id_counts(written: str, number: int | None) -> None:
    """An id that is not a number is known by the number in front of it, and by nothing else."""
    assert read(f"---\nkbId: {written}\n---\n").kb_id == number


@pytest.mark.parametrize("version", ["5.10", "05", "4.7.0", "no"])
def test_a_version_is_kept_as_it_is_written(version: str) -> None:
    """YAML's numbers and booleans do not make 5.1 of version 5.10."""
    assert read(f"---\nversion: {version}\n---\n").version == version


def test_a_page_without_front_matter_has_none() -> None:
    """A page that begins with text or with a rule loses nothing to front matter."""
    assert read("# Title\n\n---\n\nkey: value\n") == FrontMatter()
    assert read("---\n\nA page that begins with a rule.\n") == FrontMatter()
    assert read("") == FrontMatter()


@pytest.mark.parametrize(
    "broken",
    [
        "---\ntitle: Kept\nkbId: 12\nlist: [1, 2\n---\nText\n",
        "---\ntitle: Kept\nkbId: 12\n\tx: y\n---\nText\n",
        "---\ntitle: Kept\nkbId: 12\n: : :\n---\nText\n",
        "---\ntitle: Kept\nkbId: 12\nfoo: " + "[" * 5000 + "\n---\nText\n",
        "---\ntitle: Kept\nkbId: 12\nText: without an end\n",
    ],
)
def test_broken_front_matter_gives_what_can_be_had(broken: str) -> None:
    """What is wrong with front matter is said with the way out, and the lines that can be read count."""
    matter = read(broken)
    assert (matter.title, matter.kb_id) == ("Kept", 12)
    assert "correct it" in matter.problem


@pytest.mark.parametrize(
    ("line", "word"),
    [
        ("url: javascript:alert(1)", "url"),
        ("url: //host.example/x", "url"),
        ("url: two words", "url"),
        ("source: db", "source"),
    ],
)
def test_values_that_cannot_be_used_are_left_out_and_told(line: str, word: str) -> None:
    """An address that is neither a web address nor a path, and a kind of source that is none of documents, are not taken."""
    matter = read(f"---\ntitle: T\n{line}\n---\n")
    assert matter.url is None
    assert matter.source is None
    assert f"`{word}`" in matter.problem


@pytest.mark.parametrize(
    "url", ["https://a.example/x?y=1:2#z", "HTTP://a.example", "en/install.md", "/en/install#linux"]
)
def test_an_address_may_be_a_path_inside_the_documents(url: str) -> None:
    """Web addresses and paths are taken as they are written."""
    assert read(f"---\nurl: {url}\n---\n").url == url


def test_a_bomb_of_aliases_is_only_text() -> None:
    """Aliases that would unfold to gigabytes cost nothing, for only plain values are looked at."""
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 40)]
    found = read("---\n" + "\n".join(lines) + "\ntitle: Calm\n---\n")
    assert found.title == "Calm"
    assert "more than 100 aliases, line 14" in found.problem


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("[" * 21, "more than 20 levels, line 3"),
        ("{a: " * 30_000, "has more than 65,536 characters"),
        ("{a: " * 10_000, "more than 20 levels, line 3"),
        ("\n " + "- " * 10_000 + "x", "more than 20 levels, line 4"),
        ("\n" + "".join(" " * n + "k:\n" for n in range(1, 100)), "more than 20 levels, line 22"),
        ("[" + "x, " * 200_000 + "]", "has more than 65,536 characters, from line 2 on"),
        ("&a [*a]", "line 3"),
        ("\0", "special characters are not allowed, line 3"),
    ],
    ids=lambda text: text[:12],
)
def test_what_would_take_a_stack_or_minutes_is_named_with_its_line(value: str, said: str) -> None:
    """Nesting, aliases and size have bounds; the plain keys are had all the same, and the page begins where it does."""
    found = read(f"---\ntitle: Calm\na: {value}\n---\nbody")
    assert (found.title, said in found.problem) == ("Calm", True), found.problem
    assert found.problem.endswith("correct it and index again")


@given(st.text(alphabet=st.sampled_from("-:.[]{}&*!|>'\"#%@`~ \n\tabkIdtile0"), max_size=200))
def test_any_text_is_read(text: str) -> None:
    """Whatever stands at the top of a page, reading it ends without an error, inside the page."""
    for candidate in (text, f"---\n{text}", f"---\n{text}\n---\n"):
        assert 0 <= read(candidate).lines <= candidate.count("\n") + 1
