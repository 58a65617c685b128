"""A number with its noun."""

from __future__ import annotations

import pytest

from contracts.enums import Language
from language.figures.counted import count_noun


@pytest.mark.parametrize(
    ("number", "expected"), [(0, "0 files"), (1, "1 file"), (2, "2 files"), (11, "11 files"), (21, "21 files")]
)
def test_english_has_a_form_for_one_and_one_for_all_others(number: int, expected: str) -> None:
    """Also for nothing and for twenty-one."""
    assert count_noun(number, "file|files") == expected


@pytest.mark.parametrize(
    ("form", "numbers"),
    [
        ("файл", (1, 21, 101, 121)),
        ("файла", (2, 3, 4, 22, 34, 102)),
        ("файлов", (0, 5, 10, 11, 12, 14, 19, 20, 25, 100, 111, 112, 114)),
    ],
)
def test_russian_has_three_forms(form: str, numbers: tuple[int, ...]) -> None:
    """The last digit decides, but for 11 to 14."""
    for number in numbers:
        assert count_noun(number, "файл|файла|файлов", Language.RU) == f"{number} {form}"
