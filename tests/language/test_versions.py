from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from language.figures.versions import find_versions, natural

KNOWN = ("4.7", "5.0", "4.10", "2024")


@pytest.mark.parametrize(
    ("text", "versions"),
    [
        ("How do I assign a role in version 4.7?", ("4.7",)),
        ("Как назначить роль в версии 4.7?", ("4.7",)),
        ("у нас версия: 5,0", ("5.0",)),
        ("v5 crashes at start", ("5.0",)),
        ("CBAP V.5.0.13 не запускается", ("5.0",)),
        ("CBAP 5.0", ("5.0",)),
        ("Comindware Platform 4.7: резервная копия", ("4.7",)),
        ("версии 4.7 и 5.0: в чём разница", ("4.7", "5.0")),
        ("upgrade from 4.7 to 5.0", ("4.7", "5.0")),
        ("обновление с 4.7 на 5.0", ("4.7", "5.0")),
        ("на 4.10 не работает", ("4.10",)),
        ("release 2024", ("2024",)),
        ("What is new since 5.0, please", ("5.0",)),
        ("How is the lens used in 5.0?", ("5.0",)),
        ("in 4.7 and 5.0", ("4.7", "5.0")),
        ("in 4.7 or 5.0?", ("4.7", "5.0")),
        ("What changed between 4.7 and 5.0?", ("4.7", "5.0")),
        ("the editor of 5.0", ("5.0",)),
        ("как это сделать в 5.0?", ("5.0",)),
        ("для 5.0", ("5.0",)),
        ("разница между 4.7 и 5.0", ("4.7", "5.0")),
        ("в 4.7 или 5.0", ("4.7", "5.0")),
        ("на 5.0 часто падает", ("5.0",)),
        ("в 5.0 с ошибкой", ("5.0",)),
        ("в 5.0 раздел пропал", ("5.0",)),
        ("версия 4", ("4.10",)),
        ("в версиях 4.7, 4.10", ("4.7", "4.10")),
    ],
)
def test_a_version_is_found_however_it_is_named(text: str, versions: tuple[str, ...]) -> None:
    """A word for version, a `v`, a product's name or a word of place before it, in both languages, in any form."""
    assert find_versions(text, KNOWN) == versions


@pytest.mark.parametrize(
    "text",
    [
        "port 8080 is taken",
        "5 users cannot log in",
        "Windows 5.1",
        "version 3.9 of it",
        "it takes 5.0 seconds",
        "it ends in 5.0 seconds",
        "in 5 minutes",
        "a gap of 5.0 mm",
        "через 5.0 часа",
        "за время от 4.7 часа",
        "шаг в 5.0 мм",
        "в 5.0 раз быстрее",
        "файл на 4.7 ГБ",
        "10.5.0.1 does not answer",
        "https://example.com/v5.01/x",
        "since 2024 we have had it",
        "step 4.7.",
        "versions",
        "",
        "covid5 and mp4.7",
        "вес 5.0",
        "50",
    ],
)
def test_other_numbers_are_no_versions(text: str) -> None:
    """Ports, counts, sizes, addresses, years, steps and versions of nobody name none."""
    assert find_versions(text, KNOWN) == ()


def test_without_versions_none_is_stated() -> None:
    """Where nothing is known, nothing is found."""
    assert find_versions("in version 4.7", ()) == ()


@pytest.mark.parametrize(
    ("known", "text", "version"),
    [
        (("v5.0", "v4.7"), "in version 5.0", "v5.0"),
        (("Platform 5.0 LTS",), "version 5.0", "Platform 5.0 LTS"),
        (("4", "4.7"), "version 4.7.3", "4.7"),
        (("4", "4.7"), "version 4.8", "4"),
        (("5.1",), "version 5.0", None),
        (("5.10", "5.1"), "version 5.1", "5.1"),
    ],
)
def test_a_version_means_the_nearest_that_there_is(known: tuple[str, ...], text: str, version: str | None) -> None:
    """The same, else the newest that it begins, else the longest that begins it, and never a neighbour."""
    assert find_versions(text, known) == ((version,) if version else ())


def test_versions_sort_as_people_count() -> None:
    """4.10 comes after 4.9."""
    assert sorted(["4.10", "4.9", "5", "4.9.1"], key=natural) == ["4.9", "4.9.1", "4.10", "5"]


@given(
    st.text(alphabet="v45.,0 версиaв/и-%", max_size=60),
    st.lists(st.sampled_from(["4", "4.5", "5.0", "в5"]), max_size=3),
)
def test_what_is_stated_is_always_known(text: str, known: list[str]) -> None:
    """Any text gives versions that there are, each once."""
    found = find_versions(text, known)
    assert set(found) <= set(known)
    assert len(set(found)) == len(found)


@pytest.mark.parametrize(
    "text", ["version " * 20_000, "v5 " * 30_000, "version 5," * 10_000, "A " * 50_000 + "5.0", "1." * 50_000]
)
def test_a_hostile_text_costs_linear_time(text: str) -> None:
    """A hundred thousand characters take less than two seconds."""
    started = time.process_time()
    find_versions(text, KNOWN)
    assert time.process_time() - started < 2
