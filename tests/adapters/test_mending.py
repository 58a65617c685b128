"""One slip of the hand in a word that no passage has is put right by the words of the passages."""

from __future__ import annotations

import pytest

from adapters.index.queries import mend
from language.words import stems

KNOWN = frozenset(
    stems("delete conversation profile restore install export entry письмо кнопка диалог резервная копия удалить роль")
)


SAID = frozenset(["delete", "export", "entry", "кнопка", "удалить"])


class Words:
    """What is known of the words of all passages."""

    def frequency(self, word: str) -> int:
        return int(word in KNOWN)

    def idf(self, frequency: int) -> float:
        return 1.0

    def meant(self, word: str) -> list[str]:
        return []


@pytest.mark.parametrize(
    ("text", "mended"),
    [
        ("How do I dleete a conversation?", "How do I delete a conversation?"),
        ("How do I delette a conversation?", "How do I delete a conversation?"),
        ("Как удаилть диалог?", "Как удалить диалог?"),
        ("Удаилть диалог", "Удалить диалог"),
        ("Что с диалогмаи?", "Что с диалогами?"),
    ],
)
def test_a_slip_is_put_right(text: str, mended: str) -> None:
    """Two letters that changed places, and one that was doubled."""
    assert mend(Words(), text, SAID.__contains__) == mended


@pytest.mark.parametrize(
    "text",
    [
        "How do I delete a conversation?",
        "Is Dleete a conversation?",
        "Where is dleete2 or delete_x?",
        "Which expert can I ask?",
        "How do I roel it?",
        "Сколько стоит рлоь?",
        "What is the entire list?",
        "Сколько там кнопок?",
    ],
)
def test_names_values_short_words_and_other_letters_stay(text: str) -> None:
    """What is known stays, and so does what another letter, or none, would explain: an expert is no export.

    A word stays that only shares its stem with a known one once it is mended: no passage says "entrie" or «кнопко».
    """
    assert mend(Words(), text, SAID.__contains__) == text
