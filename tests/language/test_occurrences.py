"""Many sequences looked for in one pass."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from language.occurrences import Occurrences

SHORT = st.text("ab", max_size=5)


@given(st.lists(SHORT, max_size=6), st.text("ab", max_size=30))
def test_the_longest_wanted_text_that_ends_at_a_place_is_found(wanted: list[str], text: str) -> None:
    """As one search after the other would find it."""
    expected = []
    for end in range(1, len(text) + 1):
        if ending := [one for one in wanted if one and text[:end].endswith(one)]:
            longest = max(ending, key=len)
            expected.append((end - len(longest), end, longest))
    assert list(Occurrences((one, one) for one in wanted).find_in(text)) == expected


def test_lists_of_words_are_found_in_others() -> None:
    """Symbols may be whole words."""
    found = Occurrences([(["a", "bc"], "x"), (["bc"], "y")]).find_in(["a", "a", "bc", "b", "bc"])
    assert list(found) == [(1, 3, "x"), (4, 5, "y")]
