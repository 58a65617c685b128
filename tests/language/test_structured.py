"""JSON inside drafts: what is said where, and what is cited for it."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from language.structured import (
    DEEPEST,
    LONGEST,
    inside_json,
    json_block,
    leaves,
    loose_leaves,
    parse_json,
    plain,
    renumber_citations,
    restrung,
    with_strings,
)

# As Markdown would have it, a string of these is no code, in which `[n]` would be no citation.
text = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="`~\t"), max_size=12).map(str.strip)
scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | text
values = st.recursive(scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(text, inner, max_size=4))
objects = st.dictionaries(text, values, max_size=5)
layout = st.sampled_from([None, 0, 2, "\t"])


def leaf_values(value: Any) -> list[Any]:
    """What `leaves` must find, from what the standard library reads."""
    if isinstance(value, dict):
        return [leaf for key, member in value.items() if not is_sources(key, member) for leaf in leaf_values(member)]
    if isinstance(value, list):
        return [leaf for element in value for leaf in leaf_values(element)]
    return [value]


def is_sources(key: str, member: Any) -> bool:
    return key == "sources" and isinstance(member, list) and all(type(n) is int for n in member)


@given(value=objects, indent=layout, ascii_only=st.booleans())
def test_the_leaves_of_an_object_are_those_of_the_standard_library(value: Any, indent: Any, ascii_only: bool) -> None:
    """However it is laid out, the same values in the same order, each where its literal stands."""
    written = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
    found = leaves(written)
    assert [json.loads(written[leaf.start : leaf.end]) for leaf in found] == leaf_values(value)
    assert all(leaf.text == json.loads(written[leaf.start : leaf.end]) for leaf in found if leaf.is_string)
    assert all(leaf.text == written[leaf.start : leaf.end] for leaf in found if not leaf.is_string)
    assert parse_json(written) == value


pieces = st.sampled_from([*'{}[]:,"\\ \n', '"a"', "1", "-0.5e3", "true", "nul", "NaN", "\\u00e4", "\x01", "é", "01"])


@given(written=st.lists(pieces, max_size=12).map("".join) | st.text(max_size=20))
def test_what_is_json_is_what_the_standard_library_reads_as_json(written: str) -> None:
    """Except for what is stricter here: NaN, keys that come twice, and half of a surrogate pair."""
    try:
        expected = json.loads(written, object_pairs_hook=_once, parse_constant=_refuse)
        json.dumps(expected, ensure_ascii=False).encode()
    except ValueError:
        with pytest.raises(ValueError, match=r"^line \d+ column \d+: "):
            parse_json(written)
    else:
        assert parse_json(written) == expected


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) < len(pairs):
        raise ValueError
    return dict(pairs)


def _refuse(word: str) -> None:
    raise ValueError(word)


@pytest.mark.parametrize(
    ("written", "fault"),
    [
        ("", "line 1 column 1: the text ends where a value belongs"),
        ("Here it is: {}", "line 1 column 1: no value"),
        ("{} Done.", "line 1 column 4: text behind the end"),
        ('```json\n{"a": 1}\n```', "line 1 column 1: no value"),
        ('{"a": 1,}', "line 1 column 9: no key in quotation marks"),
        ("{'a': 1}", "line 1 column 2: no key in quotation marks"),
        ('{"a" 1}', "line 1 column 6: no colon behind the key"),
        ('{"a": 1\n "b": 2}', "line 2 column 2: neither a comma nor }"),
        ('{"a": [1 2]}', "line 1 column 10: neither a comma nor ]"),
        ('{"a": [1,]}', "line 1 column 10: no value"),
        ('{"a": NaN}', "line 1 column 7: no value"),
        ('{"a": -Infinity}', "line 1 column 7: no value"),
        ('{"a": 1, "b": 2, "\\u0061": 3}', 'line 1 column 18: the key "a" for the second time'),
        ('{"a": "open}', "line 1 column 7: a string that does not end"),
        ('{"a": "two\nlines"}', "line 1 column 11: a character in a string that must be escaped"),
        ('{"a": "\\x"}', "line 1 column 8: no such escape"),
        ('{"a": "\\ud800"}', "line 1 column 7: half of a surrogate pair in a string"),
        (f'{{"a": {"9" * 5000}}}', "line 1 column 7: a number with too many digits"),
        ("\ufeff{}", "line 1 column 1: no value"),
        ('"' + "a" * LONGEST + '"', f"line 1 column 1: longer than {LONGEST} characters"),
    ],
)
def test_a_fault_is_told_with_its_line_and_column(written: str, fault: str) -> None:
    """Whoever mends it, person or model, finds the place."""
    with pytest.raises(ValueError) as caught:  # noqa: PT011  # the whole message is compared
        parse_json(written)
    assert str(caught.value) == fault


@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a": ', "}")])
def test_values_inside_one_another_have_a_bound(opening: str, closing: str) -> None:
    """A text of a hundred thousand brackets is a fault like others: it breaks nothing."""
    assert parse_json(opening * DEEPEST + "1" + closing * DEEPEST)
    for depth in (DEEPEST + 1, 20_000):
        with pytest.raises(ValueError, match=f"more than {DEEPEST} values inside one another"):
            parse_json(opening * depth + "1" + closing * depth)


def cites(written: str) -> dict[str, tuple[int, ...]]:
    return {leaf.text: leaf.cites for leaf in leaves(written)}


def test_a_leaf_cites_its_own_marks_or_else_the_sources_around_it() -> None:
    """The nearest object with `sources` counts; a mark inside code is none."""
    assert cites("""{"sources": [3], "a": "one [1][2][1]", "b": "two", "c": 4, "d": {"e": true, "sources": [1, 5]},
        "f": {"g": "call `a[7]` [\\u0038]", "h": [null, "i"], "sources": []}, "k": {"l": "m"}}""") == {
        "one [1][2][1]": (1, 2),
        "two": (3,),
        "4": (3,),
        "true": (1, 5),
        "call `a[7]` [8]": (8,),
        "null": (),
        "i": (),
        "m": (3,),
    }


@pytest.mark.parametrize("odd", ['["1"]', "[true]", "[1.0]", "1", '"[1]"', "{}", "[[1]]"])
def test_sources_are_a_list_of_whole_numbers(odd: str) -> None:
    """What else stands under that key is said like anything, and nothing rests on it."""
    found = leaves(f'{{"a": "said", "sources": {odd}}}')
    assert found[0].cites == ()
    assert all(leaf.path == ("sources",) for leaf in found[1:])


def test_a_leaf_knows_the_keys_that_lead_to_it() -> None:
    """Lists have no keys; the places count from the beginning of the draft."""
    (leaf,) = leaves('{"a": [{"b": "c"}]}', start=100)
    assert (leaf.path, leaf.start, leaf.end) == (("a", "b"), 113, 116)


def test_of_broken_json_is_told_what_is_said_in_it() -> None:
    """Strings, numbers and words outside of strings, without the keys; with their own citations, or with all sources."""
    broken = '{"a": ["one [1]", "tw\\u006f \\x",\n"b" : "three", "n": -1.5, true, "sources": [2, 3]} Port 9 [1]. "c'
    found = loose_leaves(broken, start=5)
    assert [(leaf.text, leaf.cites, leaf.is_string) for leaf in found] == [
        ("one [1]", (1,), True),
        ("tw\\u006f \\x", (2, 3), True),
        ("three", (2, 3), True),
        ("-1.5", (2, 3), False),
        ("Port 9 [1].", (1,), True),
        ("c", (), True),
    ]
    assert loose_leaves("1" * 20_000 + "x")[0].text.endswith("1x")
    places = [broken[leaf.start - 5 : leaf.end - 5].strip('"') for leaf in found]
    assert places == [leaf.text for leaf in found]


@pytest.mark.parametrize(
    "piece", ['\\"', '{"', '"sources": [1,1', '"a": ', "1e", "-", "[", '{"a":', "` a", '"sources"   ']
)
def test_long_broken_texts_are_read_at_once(piece: str) -> None:
    """No draft is so odd that reading it takes longer than it takes to write it."""
    text = "{" + piece * (20_000 // len(piece))
    begun = time.process_time()
    loose_leaves(text)
    inside_json(text)
    assert time.process_time() - begun < 1


@given(value=objects)
def test_of_whole_json_the_same_is_told(value: Any) -> None:
    """Reading loosely finds the same strings and numbers at the same places."""
    written = json.dumps(value)
    wanted = [(leaf.text, leaf.start, leaf.end) for leaf in leaves(written)]
    assert [(leaf.text, leaf.start, leaf.end) for leaf in loose_leaves(written)] == [
        leaf for leaf in wanted if leaf[0] not in ("true", "false", "null") or written[leaf[1]] == '"'
    ]


@given(written=st.lists(pieces, max_size=12).map("".join) | st.text(max_size=30))
def test_whatever_is_broken_something_can_be_told_of_it(written: str) -> None:
    """Nothing raises, and no word outside of strings and keys is lost."""
    told = " ".join(leaf.text for leaf in loose_leaves(f"{written} nine"))
    assert "nine" in told or '"' in written


@pytest.mark.parametrize(
    "markdown",
    [
        'Text.\n\n```json\n{"a": 1}\n```\n\nMore.',
        'Text.\r\n\r\n~~~~ JSON title\r\n{"a": 1}\r\n~~~~~\r\n',
        'Text.\n\n  ```json\n  {"a":\n 1}\n  ```',
        'Text.\n```json\n{"a": 1}\n```\n```bash\nls\n```\n- ```json\n  {}\n  ```\n\n> ```json\n> {}\n> ```\n\n```jsonc\n```',
    ],
)
def test_the_block_of_json_is_found_where_it_stands(markdown: str) -> None:
    """Whatever the fence and the line ends; blocks of other kinds, in lists or quotes are not meant."""
    block = json_block(markdown)
    assert parse_json(block.text) == {"a": 1}
    assert markdown[block.start : block.start + len(block.text)] == block.text
    (leaf,) = leaves(block.text, block.start)
    assert markdown[leaf.start : leaf.end] == "1"


@pytest.mark.parametrize(
    ("markdown", "fault"),
    [
        ("Text.\n\n```\n{}\n```\n\n    ```json\n    {}\n    ```", "no block of json"),
        ("```json\n{}\n```\n\n```json\n{}\n```", "more than one block of json"),
        ("```json\n{}", "the block of json is not closed"),
        ("```json", "the block of json is not closed"),
        ("````json\n{}\n```", "the block of json is not closed"),
        ("", "no block of json"),
    ],
)
def test_one_closed_block_of_json_is_one(markdown: str, fault: str) -> None:
    """None, two and one that swallows the rest of the answer are faults."""
    with pytest.raises(ValueError, match=f"^{fault}$"):
        json_block(markdown)


def test_keys_and_strings_read_as_they_are_meant() -> None:
    """An escape hides no word."""
    assert plain('{"a\\u0062": ["c\\nd", 1, {"e": "\\u0444"}], "g": null}') == "ab\n\nc\nd\n\ne\n\nф\n\ng"


def test_citations_get_other_numbers_where_they_stand() -> None:
    """In strings, also escaped ones, and in lists of sources; what else looks like one stays, and so does all layout."""
    written = '{ "a [9]":\t"x [2]. y [\\u0033][2] `z[2]`", "b": [2],\n "sources": [3, 2, 3], "c": "\\u00e4" }'
    asked: list[int] = []

    def number(old: int) -> int:
        asked.append(old)
        return old + 10

    assert renumber_citations(written, number) == (
        '{ "a [9]":\t"x [12]. y [13][12] `z[2]`", "b": [2],\n "sources": [13, 12], "c": "\\u00e4" }'
    )
    assert asked == [2, 3, 2, 3, 2, 3]


@given(value=objects, indent=layout)
def test_other_numbers_leave_the_text_json(value: Any, indent: Any) -> None:
    """Whatever the object, it has the same keys afterwards."""
    again = parse_json(renumber_citations(json.dumps(value, indent=indent), lambda _: 7))
    assert isinstance(again, dict)
    assert list(again) == list(value)


def test_strings_are_said_otherwise_where_they_stand() -> None:
    """Keys, numbers and lists of sources are none, and what stays the same keeps its way of writing."""
    written = '{"a": ["a", "\\u0062"],  "sources": [1], "c": 1}'
    assert restrung(written, lambda said: said.replace("a", 'é"')) == (
        '{"a": ["é\\"", "\\u0062"],  "sources": [1], "c": 1}'
    )


@pytest.mark.parametrize(
    ("text", "whole", "block", "said"),
    [
        ('{"a": "b"}', "a\n\nb", "", '{"a": "B"}'),
        ('a\n\n```json\n{"a": "b"}\n```\n\n"c"', "", "a\n\nb", 'a\n\n```json\n{"a": "B"}\n```\n\n"c"'),
        ('a\n\n```json\n{"a": b}\n```', "", "", 'a\n\n```json\n{"a": b}\n```'),
        ('a "b"', "", "", 'a "b"'),
        ('{"a": "b"', "", "", '{"a": "b"'),
    ],
)
def test_the_json_of_a_text_is_all_of_it_or_its_one_block(text: str, whole: str, block: str, said: str) -> None:
    """What is neither is left alone."""
    assert inside_json(text) == (whole, block)
    assert with_strings(text, str.upper) == said
