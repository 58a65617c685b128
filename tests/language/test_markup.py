"""Mark-up that Markdown does not know, in what is quoted."""

from __future__ import annotations

import pytest

from adapters.drafting.passages import readable
from language.markup import ICON, find_unknown_markup, in_markdown, without_holes


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("Click  for the list.", f"Click {ICON} for the list."),
        ("Нажмите :material-dots: и ждите.", f"Нажмите {ICON} и ждите."),
        ("Press ![](dots.png) now.", f"Press {ICON} now."),
        ("Click the  icon.", "Click the icon."),
        ("Press the ![ ](a.png) button.", "Press the button."),
        ("Well done :smile:.", "Well done."),
        ("Press ![OK](ok.png).", "Press OK."),
        ("Click the ![save icon](save.png) button.", "Click the save icon button."),
        ("Press <img src='b.png' alt='Bin'> in the list.", "Press Bin in the list."),
        ('Press <img src="b.png"> in the list.', f"Press {ICON} in the list."),
        ("Press ![Image 3](x.png) now.", f"Press {ICON} now."),
        ("![Build](https://b/x.svg) ![License](https://l/y.svg)\n\nSit down.", "\nSit down."),
        ("[![The app](a.png)](large.png)\n\nSit down.", "\nSit down."),
        ("Click ![Save](s.png) **Save**.", f"Click {ICON} **Save**."),
        ("1. ![The room](room.png)\n2. Sit down.", "1.\n2. Sit down."),
        ("![The room in the evening, seen from the door](room.png)\n\nSit down.", "\nSit down."),
        ("At 10:30:40 and a:b:c.", "At 10:30:40 and a:b:c."),
    ],
)
def test_a_picture_leaves_no_hole(written: str, read: str) -> None:
    """A small picture is read by its name; one without a name by a word if the sentence points at it, else it goes."""
    assert without_holes(written) == read


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("Version {{ version }} is needed.", "Version … is needed."),
        ("{% tabs %}\nOpen it.", "Open it."),
        ("{note:info}\nOpen it.\n{/note}", "Open it.\n"),
        ("See {linkto(#a)[text=the page]}.", "See the page."),
        ("Write {project_id} there.", "Write {project_id} there."),
    ],
)
def test_what_a_generator_would_fill_in_is_no_junk(written: str, read: str) -> None:
    """A line of its own goes, inside a sentence dots say that something is missing, and placeholders stay."""
    assert without_holes(written) == read


@pytest.mark.parametrize(
    ("written", "read"),
    [
        (
            '[cols="1,2", options="header"]\n|===\n|Name\n|What\n\n|a\n|one\n\n|b\n.2+|two\n\n|c\n|===\n\nEnd',
            "\n| Name | What |\n| --- | --- |\n| a | one |\n| b | two |\n| c | two |\n\n\nEnd",
        ),
        ("|name | what\nit is\n\nEnd", "- name — what it is\n\nEnd"),
        ("|a\n|b\n|===\n\n## H", "- a — b\n\n## H"),
        ("| a |\n| - |\n| b |", "| a |\n| - |\n| b |"),
        ("```\n|===\n|a\n```", "```\n|===\n|a\n```"),
    ],
)
def test_a_table_of_asciidoc_is_a_table(written: str, read: str) -> None:
    """A whole one becomes one of Markdown with its spans, rows without their head a list; code and tables stay."""
    assert in_markdown(written) == read


@pytest.mark.parametrize(
    ("written", "read"),
    [
        (
            "1. Do it:\n\n   \n**By hand:**\n   1. Push.\n1. End.",
            "1. Do it:\n\n   \n   **By hand:**\n   1. Push.\n1. End.",
        ),
        ("**By hand:**\n    1. Push.\n\n       Hard.\n\nEnd.", "**By hand:**\n1. Push.\n\n   Hard.\n\nEnd."),
        ("{tab(By hand)}\n1. Push.", "**By hand:**\n1. Push."),
        ("**By hand:**\n1. Push.", "**By hand:**\n1. Push."),
    ],
)
def test_a_title_of_a_tab_stands_with_its_list(written: str, read: str) -> None:
    """One that slipped to the margin goes back into its item; where there is none, its list comes to the margin."""
    assert in_markdown(written) == read


def test_masked_addresses_are_no_links() -> None:
    """Where an e-mail address was masked in words and target of a link, it is said once."""
    assert readable("Write to [[redacted: email]](mailto:[redacted: email]).") == "Write to [redacted: email]."


def test_unknown_markup_is_named_once_a_kind() -> None:
    """What is taken out of quotations is told by its kinds; what stands in code is no mark-up."""
    page = "{{ a }} {{ b }} {% if %} {note:info} :cog: `{{ c }}`"
    assert find_unknown_markup(page) == ["{{ … }}", "{% … %}", "{name(…)}", ":icon:"]
    assert find_unknown_markup("`{{ c }}` {project_id} 10:30:20") == []
