"""What a near copy of a sentence may not change, and what it may."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from language.fidelity.near_copy import changes
from language.fidelity.rephrasing import turned_round
from language.figures.passage import passage

BACKUP = (
    "If the disk is full, the server stops writing backups of the database. A backup is kept for at most 30 days. "
    "Every operator may restore a backup manually, but only an administrator can delete it. "
    "The server needs 6 cores and 2 disks for the Search service."
)
BACKUP_RU = (
    "Если диск заполнен, сервер перестаёт записывать копии базы данных. Копия хранится не более 30 дней. "
    "Все операторы могут восстановить копию вручную, но удалить её может только администратор. "
    "Серверу нужно 6 ядер и 2 диска для службы Поиск."
)


@pytest.mark.parametrize(
    ("claim", "changed"),
    [
        ("A backup is not kept for at most 30 days.", "- -> not"),
        ("Every operator may not restore a backup manually, but only an administrator can delete it.", "- -> not"),
        ("Every operator may restore a backup manually, but only an administrator can't delete it.", "- -> not"),
        ("A backup is kept for at least 30 days.", "at-most -> at-least"),
        ("Every operator may restore a backup automatically, but only an administrator can delete it.", "manually -> automatically"),
        ("Every operator may restore a backup manually, but also an administrator can delete it.", "only -> also"),
        ("Every operator must not restore a backup manually, but only an administrator can delete it.", "may -> must not"),
        ("Some operators may restore a backup manually, but only an administrator can delete it.", "every operator -> some operators"),
        ("The server needs 6 cores and 2 disks for the Billing service.", "search -> billing"),
        ("The server needs 2 cores and 6 disks for the Search service.", "6 2 -> 2 6"),
        ("The server stops writing backups of the database.", "if the disk is full -> -"),
        ("The server starts writing backups of the database.", "stops -> starts"),
    ],
)  # fmt: skip
def test_a_changed_word_that_turns_a_copied_sentence_round_is_named(claim: str, changed: str) -> None:
    """Denials, limits, opposites, quantities, names, the order of numbers, and a condition that is left out."""
    assert changes(claim, [passage(BACKUP)]) == [changed]


@pytest.mark.parametrize(
    "claim",
    [
        "Копия не хранится не более 30 дней.",
        "Копия хранится не менее 30 дней.",
        "Копия хранится более 30 дней.",
        "Все операторы могут восстановить копию автоматически, но удалить её может только администратор.",
        "Некоторые операторы могут восстановить копию вручную, но удалить её может только администратор.",
        "Все операторы не могут восстановить копию вручную, но удалить её может только администратор.",
        "Все операторы могут восстановить копию вручную, но добавить её может только администратор.",
        "Серверу нужно 2 ядер и 6 диска для службы Поиск.",
        "Серверу нужно 6 ядер и 2 диска для службы Биллинг.",
        "Сервер перестаёт записывать копии базы данных.",
    ],
)
def test_the_same_is_seen_in_russian(claim: str) -> None:
    """Each of these differs from its source by a word or two, and says something else."""
    assert changes(claim, [passage(BACKUP_RU)])


@pytest.mark.parametrize(
    ("claim", "source"),
    [
        ("A backup is kept for no more than 30 days.", BACKUP),
        ("A backup is stored for at most 30 days.", BACKUP),
        ("Also, every operator may restore a backup manually, but only an administrator can delete it.", BACKUP),
        ("Each operator may restore a backup manually, but only an administrator can delete it.", BACKUP),
        ("When the disk is full, the server stops writing backups of the database.", BACKUP),
        ("Копия хранится не больше 30 дней.", BACKUP_RU),
        ("Каждый из операторов может восстановить копию вручную, но удалить её может только администратор.", BACKUP_RU),
        ("The operator's role is not shown to anybody else.", "The role of the operator is hidden from all others."),
        ("The service is not available at night.", "The service is unavailable at night."),
        ("Служба не доступна по ночам.", "Служба недоступна по ночам."),
        ("Port 80 is disabled by default.", "Port 80 is disabled by default. Port 90 is enabled by default."),
        ("No: `GUARD_MODE` and `guard mode` are treated as one name.", "`GUARD_MODE` and `guard mode` are treated as one name."),
        ("The port is not required for local links.", "The port is optional for local links."),
        ("It starts with no delay of its own.", "It starts without a delay of its own."),
        ("You have to restart the server twice.", "You must restart the server twice."),
    ],
)  # fmt: skip
def test_other_words_for_the_same_are_let_be(claim: str, source: str) -> None:
    """Limits in other words, a denial inside a word, a synonym, "also", yes and no, and what another sentence says."""
    assert changes(claim, [passage(source)]) == []


@pytest.mark.parametrize(
    ("sentence", "opposite", "synonym"),
    [
        ("An administrator can {grant} the role to any user of the project.", "revoke", "give"),
        ("The server {accepts} requests that have an expired token.", "rejects", "approves"),
        ("You can {attach} a disk to the virtual machine at any time.", "detach", "connect"),
        ("The plan has one {physical} machine for each of the nodes.", "virtual", "real"),
        ("Files of the report are kept in the {local} storage of the node.", "remote", "own"),
        ("This is the {simplest} way to copy a large database.", "most complex", "easiest"),
        ("This setting gives the {best} speed of search on large indexes.", "worst", "greatest"),
        ("The {old} version of the driver works with this kernel.", "new", "previous"),
        ("The service makes a {full} copy of the database every night.", "partial", "complete"),
        ("The address of the machine is {temporary} and is shown in the list.", "permanent", "provisional"),
        ("The page {displays} the key of the account on its first tab.", "hides", "shows"),
        ("Restart the service {before} you change the password of the account.", "after", "prior to when"),
        ("The files lie {inside} the folder that the profile names.", "outside", "within"),
        ("The limits of a project are shown {above} the list of its machines.", "below", "over"),
        ("The request is slow {because} the index is in memory.", "although", "since"),
        ("The date at the {beginning} of the line is in local time.", "end", "start"),
        ("In case of {success} the command returns the number of the task.", "failure", "a good outcome"),
        ("The {minimum} size of a disk depends on its type.", "maximum", "least"),
        ("The {buyer} pays the fee of the bank for each transfer.", "seller", "purchaser"),
        ("The balance of the account is counted {daily} by the service of payments.", "monthly", "each day"),
        ("Sessions of users are {often} closed by the balancer of the cluster.", "rarely", "frequently"),
        ("{Most} of the machines are restarted during the night.", "Few", "A majority"),
        ("All of the records are sorted in {ascending} order by default.", "descending", "increasing"),
        ("Messages are sent {to} the queue of the broker by the service.", "from", "into"),
        ("The cluster {may} be stopped by its owner at night.", "must", "can"),
        ("The certificate of the {server} is checked first of all.", "client", "host"),
        ("The task is run {once} on each node of the cluster.", "twice", "a single time"),
        ("The number is {exactly} the size of the disk in bytes.", "approximately", "precisely"),
        ("Администратор может {предоставить} роль любому пользователю проекта.", "отозвать", "назначить"),
        ("Сервер {принимает} запросы с устаревшим токеном клиента.", "отклоняет", "одобряет"),
        ("Вы можете {прикрепить} диск к виртуальной машине проекта.", "открепить", "присоединить"),
        ("В тариф входит одна {физическая} машина на каждый узел.", "виртуальная", "реальная"),
        ("Файлы отчёта лежат в {локальном} хранилище узла.", "удалённом", "собственном"),
        ("Это самый {простой} способ скопировать большую базу данных.", "сложный", "лёгкий"),
        ("Эта настройка даёт {лучшую} скорость поиска по большим индексам.", "худшую", "наибольшую"),
        ("Служба каждую ночь делает {полную} копию базы данных.", "частичную", "целую"),
        ("Адрес машины {временный} и показан в списке адресов.", "постоянный", "непостоянный"),
        ("Файлы лежат {внутри} каталога, который назван в профиле.", "вне", "в глубине"),
        ("Запрос выполняется долго, {поскольку} индекс лежит в памяти.", "хотя", "потому что"),
        ("Комиссию банка за каждый перевод платит {покупатель} товара.", "продавец", "приобретатель"),
        ("Остаток на счёте служба платежей считает {ежедневно} по ночам.", "ежемесячно", "каждый день"),
        ("{Большинство} машин перезапускается по ночам в выходные.", "Меньшинство", "Большая часть"),
        ("Задача запускается {однократно} на каждом узле кластера.", "многократно", "один раз"),
        ("Ключ из настроек проекта можно {зашифровать} на стороне клиента.", "расшифровать", "закодировать"),
        ("При {успехе} команда возвращает номер задачи и её состояние.", "ошибке", "удаче"),
        ("Перед обновлением служба {увеличивает} число узлов кластера.", "сокращает", "повышает"),
    ],
)  # fmt: skip
def test_an_opposite_in_the_place_of_a_word_is_seen_and_a_synonym_let_be(
    sentence: str, opposite: str, synonym: str
) -> None:
    """Verbs, adjectives, adverbs, prepositions, conjunctions and nouns of manuals, in both languages."""
    word = re.compile(r"\{(\w+)\}")
    source = [passage(word.sub(r"\1", sentence))]
    assert changes(word.sub(opposite, sentence), source)
    assert changes(word.sub(synonym, sentence), source) == []
    assert turned_round(word.sub(synonym, sentence), source) == []


def test_a_condition_that_the_question_or_the_draft_states_is_not_left_out() -> None:
    """Who asks what happens if the disk is full need not be told the condition a second time."""
    claim = "The server stops writing backups of the database."
    assert changes(claim, [passage(BACKUP)], lambda: "What happens if the disk is full?") == []


def test_a_denial_among_a_few_copied_words_is_seen_in_a_rephrased_claim() -> None:
    """The rest of the claim may be anybody's own words; a claim that forbids in other words is let be."""
    source = [passage("Nightly jobs run on one node, so a script can not restart the search service by itself.")]
    assert changes("This means for you that a script can restart the search service at any time.", source)
    assert changes("It is forbidden that a script can restart the search service.", source) == []


@pytest.mark.parametrize("language", ["en", "ru"])
def test_no_sentence_of_the_handbook_changes_itself(root: Path, language: str) -> None:
    """A quotation is never objected to, be it a sentence, an item or a row."""
    for page in sorted((root / "knowledge" / language).glob("guard-*.md")):
        text = passage(page.read_text("utf-8"))
        for line in page.read_text("utf-8").splitlines():
            assert changes(line, [text]) == []
