"""What a claim in its own words makes of its source: places exchanged, a value of another row, and what is merely said otherwise."""

from __future__ import annotations

import pytest

from contracts.values import CheckStatus, DraftKind, RequestType
from guards.grounding_check import check_grounding
from tests.support.turn import passage

PLANS = "| plan | CPU | memory |\n| --- | --- | --- |\n| Basic | 2 CPU | 6 ГБ |\n| Large | 8 CPU | 32 ГБ |"
LAMPS = "| lamp | meaning |\n| --- | --- |\n| Green | the door on the left is open |\n| Amber | the door on the right is open |"
FLAGS = "| flag | meaning |\n| --- | --- |\n| `%N` | count of sheets |\n| `%R` | number of the change |"
LETTERS = "The first letter is the state of the order. The third letter says whether it was paid by card, and the fourth letter is its priority."
TABS = (
    "- On the tab **Help**, enter the title and the text of the hint that is shown for a cell.\n"
    "- On the tab **Errors**, choose what happens where a value is not allowed."
)
SHELF = "Run `shelf drop <id>` to drop a shelf for good. Run `shelf show <id>` to print a shelf."
LIMIT = "`limit` is the largest size of a file in bytes. It defaults to `500`."

WRONG = [
    ("Port 8080 does not serve the page [1].", "Port 8080 serves the page.", "not serv"),
    ("The page is not served by port 8080 [1].", "Port 8080 serves the page.", "not serv"),
    ("It is a good idea to pin the version of the server as well [1].", "You should not pin the version of the server.", "pin"),
    ("It waits for the copy, but not for the local disk [1].", "It waits for the local disk, but not for the copy.", "not"),
    ("The guest sends the host a code before each visit [1].", "Before a visit, the host sends the guest a code.", "guest"),
    ("Сервер возвращает клиенту признак успеха [1].", "Клиент возвращает серверу признак успеха.", "сервер"),
    ("Содержимое правой панели копируется на левую панель [1].", "Содержимое левой панели копируется на правую панель.", "лев"),
    ("Это равно методу загрузки rescue [1].", "Это равно методу загрузки expert. Есть и rescue.", "rescue"),
    ("The delay is at most twice `wait_time` [1].", "The delay is at most three times `wait_time`.", "twice"),
    ("The option must be given once [1].", "The option must be given twice.", "once"),
    ("Files of the past 24 hours are kept [1].", "Files of the past 48 hours are kept, the newest of each day.", "24"),
    ("It needs 2 GB of memory [1].", "It needs 2 CPU and 6 GB of memory.", "2"),
    ("Files larger than `500` kilobytes are refused; `limit` says so [1].", LIMIT, "500"),
    ("Basic: 8 CPU [1].", PLANS, "8"),
    ("Plan Basic comes with 32 ГБ [1].", PLANS, "32"),
    ("The door on the right is open where the lamp is green [1].", LAMPS, "right"),
    ("`%R` is the count of sheets [1].", FLAGS, "%r"),
    ("Whether it was paid by card is seen from the fourth letter [1].", LETTERS, "4."),
    ("The text of the hint that is shown for a cell is entered on the tab **Errors** [1].", TABS, "errors"),
    ("A shelf that was dropped can be brought back at any time [1].", "A shelf is dropped for good.", "brought back"),
    ("Save it and restart the server, for it takes effect after that [1].", "Save it: it takes effect on the server.", "restart"),
    ("После сохранения клиенту придёт уведомление [1].", "Сохраните запись клиента.", "уведомлен"),
    ("# The vendor refunds all customers\n\nPort 8080 serves the page [1].", "Port 8080 serves the page.", "refunds"),
]  # fmt: skip

RIGHT = [
    ("Port 8080 serves the page, and not port 80 [1].", "Port 8080 serves the page. Port 80 does not serve it."),
    ("No. Workers help with restarts [1].", "Workers help with restarts."),
    ("The guest gets a code from the host [1].", "Before a visit, the host sends the guest a code."),
    ("Серверу клиент возвращает признак успеха [1].", "Клиент возвращает серверу признак успеха."),
    ("На правую панель копируется содержимое левой панели [1].", "Содержимое левой панели копируется на правую панель."),
    ("The delay is at most 3 times `wait_time` [1].", "The delay is at most three times `wait_time`."),
    ("Задержка в 2 раза больше [1].", "Задержка вдвое больше."),
    ("It may take up to 24 hours [1].", "It may take up to a day."),
    ("It lasts 5 minutes [1].", "`timeout` is given in seconds and is 300 by default."),
    ("It is 5 miles away [1].", "It is 5 mi away."),
    ("Large has 8 CPU and 32 ГБ [1].", PLANS),
    ("Green means that the door on the left is open, amber the one on the right [1].", LAMPS),
    ("`%N` is the count of sheets [1].", FLAGS),
    ("Приказ №КФНП-24 отменён [1].", "Приказ №КФНП-24 отменён."),
    ("Set `'a': {'b': 5}` for it [1].", "```\n'a': {\n    'b': 5\n}\n```"),
    ("Start with `repair/enable=true` [1].", "### repair/enable\n\nThe value `true` starts the repair."),
    ("Try `shelf drop --all /path/to/shelf` [1].", "`shelf` has the command `drop`; `--all` drops all shelves."),
    ("You can undo it whenever you like [1].", "A shelf can be brought back at any time."),
    ("Клиент получит письмо [1].", "The customer is notified by e-mail about a letter."),
    ("No, it cannot be restored [1].", "A shelf is dropped for good, it cannot be brought back."),
    ("A few useful points [1]:\n\n- Port 8080 serves the page [1].", "Port 8080 serves the page."),
    ("The sheet says that it is open, and that it is not paid yet [1].", "It is not open before nine. The sheet says it is open; it is not paid yet."),
]  # fmt: skip


def _check(draft: str, source: str, question: str = "How does it work?") -> tuple[CheckStatus, str]:
    found = check_grounding(
        draft,
        [passage(snippet=source)],
        request_type=RequestType.KNOWLEDGE_QA,
        kind=DraftKind.ANSWER,
        question=question,
    )
    return found.status, "; ".join(map(str, found.reasons))


@pytest.mark.parametrize(("draft", "source", "named"), WRONG, ids=[draft for draft, _, _ in WRONG])
def test_what_its_source_says_of_another_thing_fails_and_is_named(draft: str, source: str, named: str) -> None:
    """Every word of such a claim may stand in its source, or nearly: what was exchanged is named."""
    status, reasons = _check(draft, source)
    assert status is CheckStatus.FAILED
    assert named in reasons


@pytest.mark.parametrize(("draft", "source"), RIGHT, ids=[draft for draft, _ in RIGHT])
def test_the_same_said_otherwise_passes(draft: str, source: str) -> None:
    """Another order, another unit, a word for a number, and code that is broken into lines otherwise change nothing."""
    assert _check(draft, source) == (CheckStatus.OK, "")


@pytest.mark.parametrize(
    "draft",
    [
        "Run `shelf drop support-17`, which drops the shelf for good [1].",
        "To drop support-17 for good, run `shelf drop support-17` [1].",
        "Drop it for good [1]:\n\n```\nshelf drop support-17\n```",
    ],
)
def test_what_the_user_puts_into_a_command_may_be_said_in_words_too(draft: str) -> None:
    """No source has the argument that the question names: neither the command nor the sentence around it fails by it."""
    assert _check(draft, SHELF, "How do I drop support-17?") == (CheckStatus.OK, "")
    assert (
        _check(draft.replace("shelf drop", "shelf sell"), SHELF, "How do I drop support-17?")[0] is CheckStatus.FAILED
    )
