"""Steps that a draft has in another order than the numbered list of its source."""

from __future__ import annotations

import pytest

from language.fidelity.step_order import misordered_steps
from language.figures.passage import passage

MOVE = passage(
    "1. Stop the search server.\n1. Copy the data folder to the new disk.\n1. Change the path in the settings.\n"
    "1. Start the search server again."
)
IN_SECTIONS = passage(
    "1. Write down the number of the shelf.\n\n## 1. Empty it\n\n1. Take all books out.\n\n## Step 2. Clean\n\n1. Wipe the boards."
)


@pytest.mark.parametrize(
    ("told", "misordered"),
    [
        (["1. Stop the search server.", "2. Copy the data folder.", "3. Start the server again."], 0),
        (["1. Stop the search server.", "2. Start the search server again.", "3. Copy the data folder."], 1),
        (["Stop the search server.", "Start the search server again.", "Copy the data folder."], 0),
        (["First copy the data folder to the new disk, and then stop the search server."], 1),
        (["First stop the search server, then copy the data folder to the new disk."], 0),
        (["Copy the data folder to the new disk before you stop the search server."], 1),
        (["Before you copy the data folder to the new disk, stop the search server."], 0),
        (["After you copy the data folder to the new disk, stop the search server."], 1),
        (["Change the path in the settings.", "After that, copy the data folder to the new disk."], 1),
        (["To move the data folder, do this:", "1. Stop the search server."], 0),
        (["1. Make tea.", "2. Drink it."], 0),
    ],
)
def test_steps_in_another_order_than_their_source_has_are_found(told: list[str], misordered: int) -> None:
    """Numbered or told one after the other; what has no numbers and no word for it may be told in any order."""
    assert len(misordered_steps((text, [MOVE]) for text in told)) == misordered


def test_headings_with_numbers_go_on_with_what_is_done() -> None:
    """A list under "## 2." comes after the one under "## 1."; lists under plain headings have no order."""
    wrong = ["First wipe the boards, then take all books out."]
    assert len(misordered_steps((text, [IN_SECTIONS]) for text in wrong)) == 1
    plain = passage(IN_SECTIONS.text.replace("## 1. ", "## ").replace("## Step 2. ", "## "))
    assert misordered_steps((text, [plain]) for text in wrong) == []


def test_a_step_that_comes_twice_has_no_place() -> None:
    """A list that opens the same page at its beginning and its end is a copy of itself."""
    said = ["1. Open the page of settings.", "2. Save the new value there.", "3. Open the page of settings."]
    assert misordered_steps((text, [passage("\n".join(said))]) for text in said) == []
