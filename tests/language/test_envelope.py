"""What stands around a user's own words: markup, forms, templates, quotes, signatures, and a chat's times and names."""

from __future__ import annotations

import pytest

from language.envelope import own_words
from language.message import questions_and_context

WRAPPINGS = {
    "a ticket with rulers": "[Request 2026-1107] New\nRequester: Anna Berg\nSLA: 8 h\n-----\n{}\n-----\nThis was made by a machine.",
    "a Russian one": "[Обращение 2026-1107] В работе\nАвтор: Анна Орлова\nСрок ответа: 8 ч\n=====\n{}\n=====",
    "a long head": 'Ticket#2026030510000217 — Queue: Misc\nOwner: root\nFrom: "Jens" <j@firma.example>\n\n{}\n\nBest regards\nJens',
    "thanks and a name": "{}\n\nСпасибо,\nПётр",
    "a template's headings": "### Prerequisites\n\n- [x] I use the newest\n\n**Describe the bug**\n\n{}\n\n### Environment\n\n- OS: Debian",
    "a mail passed on": "FYI\n\n---------- Forwarded message ---------\nFrom: Anna <a@b.example>\nDate: Mon, Nov 2, 2026\n\n{}\n\nBR\nAnna",
    "HTML": '<div dir="ltr">Hi all,<div><br></div><div>{}</div><div><br></div><div>Thanks,</div><div>Greg&nbsp;H.</div></div>',
    "a chat's times and names": "[15.03.2024 18:42] Денис К.: привет\n[15.03.2024 18:43] Денис К.: {}",
    "a call": "@support-bot {}",
    "a lead": "Quick question from our side: {}",
}


@pytest.mark.parametrize("message", WRAPPINGS.values(), ids=WRAPPINGS)
@pytest.mark.parametrize("said", ["How do I log in?", "Форма не открывается"])
def test_what_is_asked_is_found_in_any_wrapping(message: str, said: str) -> None:
    """A question, or a fault that is told, as it stands there."""
    assert [one.text for one in questions_and_context(own_words(message.format(said)))] == [said]


@pytest.mark.parametrize("message", ["Fwd: access\n> {}\n", "> {}\n\npassed on for a customer", "Клиент пишет:\n> {}"])
def test_a_quote_is_asked_if_nothing_else_is(message: str) -> None:
    """Who passes a question on says little, and the question is quoted."""
    asked = "Where are the invoices of last year?"
    assert asked in own_words(message.format(asked))
    assert asked not in own_words(f"{message.format(asked)}\nHow do I log in?")


@pytest.mark.parametrize(
    ("own", "other"),
    [
        ("It works now.\nThanks, how do I log in?", ""),
        ("It works now.\nСпасибо, а как войти?", ""),
        ("Ваш ответ не помог.\nСпасибо, позовите оператора", ""),
        (
            "Please cancel this order.",
            "---------- Forwarded message ---------\nFrom: <a@b.example>\n\nIt is on its way.",
        ),
        (
            "How do I change the port",
            "-------- Пересылаемое сообщение --------\nFrom: <a@b.example>\n\nУдалите диалог.",
        ),
        ("The import still fails.", "> Did you set the separator to a semicolon?"),
        (
            "Цена ниже, чем в договоре. Исправьте счёт.",
            "On Mon, 3 March 2025 at 10:00, Ann <a@b.example> wrote:\nОтправили.",
        ),
    ],
)
def test_what_users_want_themselves_is_never_taken_for_something_around_it(own: str, other: str) -> None:
    """Whatever a signature, a mail passed on or a quotation looks like."""
    assert own_words(f"{own}\n\n{other}".strip()) == own


def test_a_smile_ends_a_sentence() -> None:
    """As a full stop does."""
    assert [one.text for one in questions_and_context(own_words("Пишу сюда) Как войти?"))] == ["Как войти?"]


@pytest.mark.parametrize(
    "message",
    [
        "<div> is shown as text, how do I make it a tag?",
        "@Inject does not work in my class",
        "12:05 the job ends: why?",
        "Ticket #48213 was closed, and nothing works",
        "## Question\n\n## Environment",
        "See the note (page 2) How do I log in?",
        "How do I get to Settings ➜ Export ➜ CSV?",
        "The page is blank.\nBroken link in the mail",
        "12:05:20 ERROR Database: connection refused",
        "[Error 1045] Access denied\nVersion: 7.4\nIt happens on save",
        "<span></span> or <div></div> which one should I use?",
        "@admin role cannot delete users",
        "Пересланное сообщение пустое\nкогда открываю с телефона",
        "**Details:**\nIt stops.\n\n## Also\nHow do I log in?",
        "Email: not delivered",
    ],
)
def test_what_only_looks_like_a_wrapping_stays(message: str) -> None:
    """Tags, names and times that a user writes about are the user's own words."""
    assert own_words(message) == message


@pytest.mark.parametrize(
    "line", ["Forwarded message", "From: <a@b.example>", "> a?", "**Your question**", "[10:00] A: b"]
)
def test_however_many_lines_look_like_a_wrapping_they_are_read_once(line: str) -> None:
    """As many as a message can hold, and no call of a function for each that waits for the next."""
    assert own_words(f"{line}\n" * 2000 + "The form does not open")
