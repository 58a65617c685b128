"""What a claim in other words may not turn round, and what it may."""

from __future__ import annotations

import pytest

from language.clean import fold
from language.fidelity.rephrasing import turned_round
from language.fidelity.turning_words import opposites
from language.figures.passage import passage

LIBRARY = passage(
    "Only the librarian of a branch can remove a book from the shared catalogue. The reading room is not heated on weekends by default. "
    "For all kinds of cards except the guest card, a fine is charged when a book comes back late. "
    "A higher compression gives smaller catalogue files, while a lower one gives a faster search. "
    "A branch with its own archive needs at least three scanners. "
    "The branch counts as closed if one or more of its doors are locked and nobody answers the bell."
)
LIBRARY_RU = passage(
    "Удалить книгу из общего каталога может только библиотекарь филиала. Читальный зал по умолчанию не отапливается в выходные. "
    "Настройка хранения применяется ко всем книгам внутри зала. Оцифровка увеличивает нагрузку на сеть филиала. "
    "Заблокированную карту не может открыть ни один сотрудник, включая директора филиала. Для архива нужно не менее трёх сканеров."
)


@pytest.mark.parametrize(
    ("claim", "change"),
    [
        ("Any reader of the branch can remove a book from the catalogue.", "only -> any"),
        ("On weekends the reading room is heated by default.", "not heat -> heat"),
        ("A fine is charged for every kind of card when a book comes back late.", "except -> every"),
        ("Files of the catalogue get larger with a higher compression.", "smaller -> larger"),
        ("A branch that has its own archive should get at most three scanners.", "at-least -> at-most"),
        ("The branch counts as closed if all of its doors are locked and nobody answers the bell.", "one-or-more -> all"),
        ("Книгу из общего каталога филиала могут удалить любые читатели.", "только -> любые"),
        ("В выходные читальный зал по умолчанию отапливается.", "not отаплива -> отаплива"),
        ("Внутри зала настройка хранения применяется к выбранным книгам.", "всем -> выбранным"),
        ("Нагрузка на сеть филиала при оцифровке снижается.", "увеличивает -> снижается"),
        ("Открыть заблокированную карту не может ни один сотрудник, кроме директора филиала.", "включая -> кроме"),
        ("Сканеров для архива нужно не более трёх.", "at-least -> at-most"),
    ],
)  # fmt: skip
def test_a_word_that_turns_a_rephrased_claim_round_is_named(claim: str, change: str) -> None:
    """Quantities, denials, exceptions, opposites and limits, whatever the rest of the sentence is made of."""
    assert change in turned_round(claim, [LIBRARY, LIBRARY_RU])


@pytest.mark.parametrize(
    "claim",
    [
        "A book can be removed from the shared catalogue by the librarian of the branch only.",
        "By default the reading room stays unheated on weekends.",
        "Except for the guest card, late books cost a fine with every kind of card.",
        "A lower compression makes the search faster.",
        "Three scanners or more are needed where a branch has its own archive.",
        "One locked door is enough for the branch to count as closed, if nobody answers the bell.",
        "The weather is never discussed here, and all guests are welcome.",
        "Из общего каталога книгу удаляет только библиотекарь.",
        "Никто из сотрудников, даже директор филиала, не откроет заблокированную карту.",
        "Нагрузка на сеть филиала при оцифровке растёт.",
        "Минимум три сканера нужны для архива.",
    ],
)
def test_the_same_in_other_words_is_let_be(claim: str) -> None:
    """A faithful rephrasing, and what the source does not speak of, have nothing that was turned round."""
    assert turned_round(claim, [LIBRARY, LIBRARY_RU]) == []


@pytest.mark.parametrize(
    ("claim", "source"),
    [
        ("Passwords of fewer than 8 characters are refused.", "A password has at least 8 characters."),
        ("Файлы более 25 МБ отклоняются.", "Размер файла - не более 25 МБ."),
        ("The password must be at least 8 characters long.", "Passwords shorter than 8 characters are rejected."),
        ("Файл журнала сохраняется на сервере.", "Файл журнала копируется на удалённый сервер."),
        ("Publish the page only after saving it.", "Save the page before you publish it."),
        ("The option is off by default, so you have to enable it first.", "The option is not enabled by default."),
        ("Снимите флажок, чтобы выключить уведомления.", "Флажок «Уведомления» включает уведомления; снимите его, чтобы отключить их."),
    ],
)  # fmt: skip
def test_a_limit_and_what_is_refused_beyond_it_agree(claim: str, source: str) -> None:
    """So do before and after the other way round, remote and kept, and the two halves of a switch."""
    assert turned_round(claim, [passage(source)]) == []


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("новая", "старая"),
        ("левую", "правую"),
        ("show", "hides"),
        ("adds", "removes"),
        ("saved", "discards"),
        ("off", "on"),
        ("удалённого", "локальный"),
        ("older", "newest"),
    ],
)
def test_all_forms_of_a_word_are_its_opposites(one: str, other: str) -> None:
    """Words of a pair stand for all forms of their stem, and beginnings for all words that begin so."""
    assert opposites(fold(one), other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("form", "inform"),
        ("port", "import"),
        ("until", "till"),
        ("сколько", "несколько"),
        ("only", "off"),
        ("fastapi", "slow"),
        ("новый", "стартовый"),
        ("удалённый", "добавленный"),
        ("правила", "левые"),
        ("delete", "remove"),
    ],
)
def test_what_only_begins_like_an_opposite_is_none(one: str, other: str) -> None:
    """Other words begin with in-, im- and не-, too; words of one side mean the same."""
    assert not opposites(fold(one), fold(other))
