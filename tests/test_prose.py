"""The check of the project's English prose finds what it is for, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.prose.check import Rules, check_files, check_text, read_rules, split_sentences

RULES = read_rules().model_copy(update={"pending": ()})
LONG = "It is a sentence " + "that goes on and on " * 5 + "to its end."


@pytest.mark.parametrize("avoided", RULES.avoid, ids=lambda avoided: avoided.instead)
def test_each_word_to_avoid_is_found_in_its_example(avoided: object) -> None:
    """A rule that finds nothing in its own example guards nothing."""
    sentence = getattr(avoided, "example")  # noqa: B009  # typed as what ids take
    [fault] = check_text(sentence, RULES.model_copy(update={"avoid": (avoided,)}))
    assert fault.startswith("1: write ")


def test_sentences_are_those_of_paragraphs_and_items() -> None:
    """Front matter, headings, tables, code and generated parts are none; a piece of code is one word."""
    text = """---
title: A page
---
# A heading. It has two sentences.

Run `guardian index --to URL` first. See [the page](other.md)!

| a | table. With sentences. |

```bash
echo "Code. And more."
```

<!-- generated: part -->
Generated. And more.
<!-- end of part -->

1. One step: it
   goes on in the next line.
2. Another step.
"""
    assert [(each.line, each.text) for each in split_sentences(text)] == [
        (6, "Run `code` first."),
        (6, "See the page!"),
        (18, "One step: it goes on in the next line."),
        (20, "Another step."),
    ]


def test_a_sentence_has_the_number_of_the_line_that_it_begins_in() -> None:
    """Line breaks within a sentence, a piece of code, a link or a picture do not shift the lines of later sentences."""
    text = """<img src="a.png"
     alt="A picture. Of a page.">

One sentence. Another
goes on, with `some
code` in [a
link](page.md
"Title"). A third.
A fourth.
"""
    assert [(each.line, each.text) for each in split_sentences(text)] == [
        (4, "One sentence."),
        (4, "Another goes on, with `code` in a link."),
        (8, "A third."),
        (9, "A fourth."),
    ]


def test_long_sentences_are_named_with_their_lines() -> None:
    """Half of the sentences, and nine of ten, have a bound; a single long one among ten short ones is no fault."""
    faults = check_text(f"A short one.\n\n{LONG}\n\n{LONG}", RULES)
    assert [fault.partition(":")[0] for fault in faults] == ["1", "1", "3", "5", "1"]
    assert LONG in faults[2]
    middling = check_text(
        f"A short one.\n\n{'It has nineteen words' + ' and so on' * 5}.", RULES.model_copy(update={"median": 5})
    )
    assert [fault.partition(" ")[0] for fault in middling] == ["1:", "3:", "1:"]
    assert check_text("A short one. " * 10 + LONG, RULES) == []


def test_what_proselint_finds_is_told_with_the_line_of_its_sentence() -> None:
    """Its checks run on sentences, and those that are switched off do not."""
    text = 'This is a "quoted" word.\n\nIt is a very unique answer.'
    assert {fault.partition(":")[0] for fault in check_text(text, RULES)} == {"3"}
    assert (
        check_text(
            text,
            Rules(
                median=15,
                ninth_decile=26,
                proselint=dict.fromkeys(["weasel_words", "uncomparables", "typography"], False),
            ),
        )
        == []
    )


def test_a_file_that_is_pending_and_keeps_to_the_rules_is_a_fault(tmp_path: Path) -> None:
    """The list of what is not in order yet only gets shorter; a file that is pending is not judged otherwise."""
    for name, text in {"good.md": "A short one.", "bad.md": LONG}.items():
        (tmp_path / name).write_text(text, "utf-8")
    pending = RULES.model_copy(update={"pending": ("good.md", "bad.md", "gone.md")})
    good, gone = check_files(tmp_path, ["bad.md", "good.md"], pending)
    assert good.startswith("good.md: keeps to the rules")
    assert gone.startswith("gone.md: is pending")
    assert check_files(tmp_path, ["good.md"], RULES) == []
    assert all(fault.startswith("bad.md:") for fault in check_files(tmp_path, ["bad.md"], RULES))
