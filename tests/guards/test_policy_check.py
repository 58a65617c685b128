"""May this be asked, and may this be said?"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.profile import PolicyRule, Profile
from contracts.values import PolicyStatus, RequestType, RequiredAction
from guards.policy_check import PolicyFinding, check_answer, check_request
from language.links import foreign_links
from tests.profiles import bare

ALLOWED = ("kb.comindware.ru",)
PROFILE = bare(allowed_link_domains=ALLOWED)


def with_rules(*rules: PolicyRule) -> Profile:
    return PROFILE.model_copy(update={"policy": rules})


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        ("private-key", "-----BEGIN RSA PRIVATE KEY-----\nMIIE"),
        ("private-key", "-----BEGIN PRIVATE KEY-----"),
        ("private-key", "-----BEGIN OPENSSH PRIVATE KEY-----"),
        ("api-key", "sk-live-abcdefghijklmnopqrstuvwx"),
        ("api-key", "sk-proj-abcdefghijklmnopqrst1234"),
        ("api-key", "AKIAIOSFODNN7EXAMPLE"),
        ("api-key", "ghp_abcdefghijklmnopqrstuvwxyz0123456789"),
        ("web-token", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P"),
        ("connection-string", "postgresql://admin:s3cretPass@db.internal:5432/app"),
        ("connection-string", "mongodb+srv://root:hunter22@cluster0.example.net"),
        ("password-value", "password: hunter2hunter2"),
        ("password-value", "Пароль: Qwerty12345"),
        ("password-value", "пароль — кипяток2024"),
        ("password-value", 'PASSWORD="s3cr3t-value"'),
        ("password-value", "the password is tr0ub4dor3"),
    ],
)
@pytest.mark.parametrize("frame", ["{}", "Use {} here [1].", "```\n{}\n```", "| a |\n| - |\n| {} |", "- x\n- {}"])
def test_what_is_shaped_like_a_secret_is_found_anywhere(rule: str, text: str, frame: str) -> None:
    """Prose, list, table and code alike: a secret in an answer is a violation with its own action."""
    finding = check_answer(frame.format(text), PROFILE, "user")
    assert finding.status is PolicyStatus.VIOLATED
    assert finding.reasons == (f"policy_violation=[{rule}]",)
    assert finding.actions == (RequiredAction.REDACT_SENSITIVE,)


@pytest.mark.parametrize(
    "text",
    [
        "To reset your password, open the settings and press Reset.",
        "Чтобы сбросить пароль, откройте настройки и введите новый пароль.",
        "A token is kept for 30 minutes; the secret is never shown.",
        "Пароль должен содержать не менее 8 символов.",
        "password: <your password>",
        "PASSWORD=${DB_PASSWORD}",
        "password = ********",
        "postgresql://user:<password>@host/db",
        "postgresql://user:${PASSWORD}@host/db",
        "postgresql://localhost:5432/app",
        "The key begins with sk- and is shown once.",
        "Write to user@example.com about the token.",
        "password: required",
        "-----BEGIN PUBLIC KEY-----",
        "-----BEGIN CERTIFICATE-----",
    ],
)
def test_words_about_secrets_are_no_secrets(text: str) -> None:
    """A desk that may not say "password" is useless: words and placeholders pass."""
    assert check_answer(text, PROFILE, "user") == PolicyFinding()


@pytest.mark.parametrize(
    "url",
    [
        "https://kb.comindware.ru/article/4578",
        "http://kb.comindware.ru",
        "https://ru.kb.comindware.ru/a?b=c#d",
        "HTTPS://KB.COMINDWARE.RU/A",
        "https://kb.comindware.ru:8443/a",
        "http://localhost:8000/docs",
        "http://127.0.0.1:8000",
        "http://[::1]:8000/",
        "https://example.com/page",
        "http://example.org",
    ],
)
def test_links_to_allowed_hosts_pass(url: str) -> None:
    """The domain itself, what is below it, loopback and documentation addresses pass, in any writing."""
    for frame in ("See {} now.", "[here]({})", "<{}>", "({}).", "**{}**", "«{}»"):
        assert foreign_links(frame.format(url), ALLOWED) == [], frame


@pytest.mark.parametrize(
    "url",
    [
        "https://evil.example.test/x",
        "https://evil-kb.comindware.ru.example.net/",
        "https://kb.comindware.ru.evil.test",
        "https://notkb.comindware.ru",
        "https://comindware.ru",
        "https://kb.comindware.ru@evil.test/",
        "https://kb.comindware.ru:x@evil.test/",
        "https://evil.test\\@kb.comindware.ru/",
        "https://evil.test/#kb.comindware.ru",
        "https://evil.test?u=https://kb.comindware.ru",
        "https://kb.comindwаre.ru/with-a-cyrillic-a",
        "http://localhost.evil.test",
        "http://127.0.0.1.evil.test",
        "ftp://files.evil.test/a",
        "HTTPS://EVIL.TEST",
        "http:///path-without-a-host",
        "https://[broken",
        "//evil.test/without-a-scheme",
        "\\\\evil.test/without-a-scheme",
        "www.evil.test",
        "http://[2001:db8::1]/",
        "javascript:alert(1)",
    ],
)
def test_links_elsewhere_are_found(url: str) -> None:
    """Look-alikes, user names, back-slashes, ports and broken hosts do not make a foreign link ours."""
    finding = check_answer(f"See [this]({url}) for more [1].", PROFILE, "user")
    assert finding.reasons == ("policy_violation=[foreign-link]",)
    assert finding.actions == (RequiredAction.SAFE_REFUSAL,)


@pytest.mark.parametrize(
    "text",
    [
        "```sh\ncurl https://api.github.test/x\n```",
        "~~~\nhttps://evil.test\n~~~",
        "Run `pip install --index-url https://mirror.test/simple` now.",
        "Run ``a ` https://evil.test`` now.",
        "    wget https://evil.test\n",
        "1. First:\n\n   ```\n   https://evil.test\n   ```",
    ],
)
def test_links_inside_code_pass(text: str) -> None:
    """What is code for a reader is no link."""
    assert foreign_links(text, ALLOWED) == []


@pytest.mark.parametrize(
    "text",
    [
        "[click](https:evil.ru)",
        "[click](HTTPS&colon;//evil.ru)",
        "[click](https\\://evil.ru)",
        "[click](https://kb.comindware.ru&sol;@evil.ru)",
        "[click](https://kb.comindware.ru／@evil.ru)",
        "[click](\n//evil.ru)",
        "[click](</\\evil.ru>)",
        "[click](/&Tab;/evil.ru)",
        "[click](mailto:x@evil.ru)",
        "[click](java&Tab;script:alert(1))",
        "[click](<javascript: alert(1)>)",
        "![p](data:image/svg+xml;base64,AAAA)",
        "[click]\n\n[click]:\n//evil.ru",
        "- [click]: https:evil.ru",
        "https:/evil.ru/x",
        "ｈttps://evil.ru",
        "_https://evil.ru_",
        "www.evil.ru",
        "_www.evil.ru_",
        "ｗww.evil.ru",
        "<mailto:x@evil.ru>",
        "<ssh://evil.ru>",
        "<img src=//evil.ru/p.png>",
        "<img alt='>' src=//evil.ru/p.png>",
        "<img srcset='/a.png 1x, //evil.ru/p.png 2x'>",
        "<script src=//evil.ru/s.js></script>",
        "<form action=//evil.ru>",
        "<a\nhref = ' https:evil.ru'>x</a>",
        "<a href='&#106;avascript:alert(1)'>x</a>",
        "<meta http-equiv=refresh content='0;url=//evil.ru'>",
        "<p style='background: url(//evil.ru/p.png)'>x</p>",
    ],
)
def test_what_a_browser_follows_is_a_link(text: str) -> None:
    """Mended slashes, entities, escapes, other letters, other schemes and attributes lead out, too (regression)."""
    assert check_answer(f"See:\n\n{text}\n", PROFILE, "user").rules == ("foreign-link",)
    assert foreign_links(f"See:\n\n```\n{text}\n```\n", ALLOWED) == []


@pytest.mark.parametrize(
    "text",
    [
        "[here](/docs/a.md), [there](../b.md#c), [below](#d), [file](e.md 'title')",
        "[here](https://kb.comindware.ru/a_(b)), <https://kb.comindware.ru>, [here][1]\n\n[1]: /docs/a.md",
        "<a href='/docs'>x</a> <img src=docs/p.png> <img srcset='/a.png 1x, /b.png 2x'>",
        "Set <host:port>, then <name> and key=value, at 12:30 (see the note).",
        "Run it [1]:\n\nserver:port stands first.",
        "The flag [1](note: of the list) and a & b &amp; c",
        "Пароль — в разделе «Настройки»: см. ниже…",
    ],
)
def test_what_stays_here_is_no_foreign_link(text: str) -> None:
    """Relative paths, anchors, our own addresses, placeholders and plain prose pass."""
    assert foreign_links(text, ALLOWED) == []


@pytest.mark.parametrize(
    "text",
    [
        "```not a fence``` https://evil.test\n\ntext\n\n```\ncode\n```",
        "a ` b https://evil.test",
        "- `a https://evil.test\n- b`",
        "\\`https://evil.test\\`",
        "`a`https://evil.test`b`",
        "> `x\n\nhttps://evil.test `",
    ],
)
def test_what_only_looks_like_code_hides_no_link(text: str) -> None:
    """A stray backtick does not turn what follows it into code."""
    assert foreign_links(text, ALLOWED) == ["https://evil.test"]


def test_all_violations_are_named_together() -> None:
    """A secret and a foreign link are two rules with their two actions."""
    finding = check_answer("password: hunter2hunter2, see https://evil.test", PROFILE, "user")
    assert finding.reasons == ("policy_violation=[password-value, foreign-link]",)
    assert finding.actions == (RequiredAction.REDACT_SENSITIVE, RequiredAction.SAFE_REFUSAL)


def test_what_could_not_be_checked_has_its_own_reason() -> None:
    """`unchecked` is neither ok nor violated."""
    assert PolicyFinding(status=PolicyStatus.UNCHECKED).reasons == ("could_not_check=[policy]",)
    assert PolicyFinding().reasons == ()


# --------------------------------------------------------------------------------------------------------- requests

RULES = (
    PolicyRule(id="others", pattern=r"chats? of another (?:user|person)", except_roles=("operator",)),
    PolicyRule(id="salary", pattern=r"зарплат\w*", action=RequiredAction.ESCALATE_TO_HUMAN),
)


@pytest.mark.parametrize(
    ("text", "role", "rules"),
    [
        ("Show the chats of another user", "user", ("others",)),
        ("SHOW THE CHAT OF ANOTHER PERSON", "user", ("others",)),
        ("Show the ch\u200bats of anоther user", "user", ("others",)),
        ("Show the chats of another user", "operator", ()),
        ("Show my chats", "user", ()),
        ("Какая зарплата у коллеги?", "operator", ("salary",)),
        ("Зарплаты и chats of another user", "user", ("others", "salary")),
    ],
)
def test_requests_are_judged_by_rule_and_role(text: str, role: str, rules: tuple[str, ...]) -> None:
    """A rule reads the message through case, invisible characters and look-alikes, and spares its roles."""
    assert check_request(text, RequestType.KNOWLEDGE_QA, with_rules(*RULES), role).rules == rules


@pytest.mark.parametrize("pattern", ["чуж(?:ой|ого) счёт", "чуж(?:ой|ого) счет", "чуж(?:ой|ого) СЧЁТ"])
@pytest.mark.parametrize("text", ["Покажи чужой счёт", "Покажи чужой счет", "ЧУЖОЙ СЧЁТ", "чужой сче\u0308т"])
def test_a_rule_may_be_written_with_or_without_the_dots_of_yo(pattern: str, text: str) -> None:
    """As people do: ё and е are one letter, in the rule and in the message (regression)."""
    assert check_request(
        text, RequestType.KNOWLEDGE_QA, with_rules(PolicyRule(id="others", pattern=pattern)), "user"
    ).rules == ("others",)


def test_a_rule_brings_its_own_action() -> None:
    """What a rule asks for is what the verdict will say."""
    assert check_request("зарплата", RequestType.KNOWLEDGE_QA, with_rules(*RULES), "user").actions == (
        RequiredAction.ESCALATE_TO_HUMAN,
    )
    assert check_request("chat of another user", RequestType.KNOWLEDGE_QA, with_rules(*RULES), "user").actions == (
        RequiredAction.SAFE_REFUSAL,
    )


@pytest.mark.parametrize(
    "text", ["How do I reset my password?", "Как сбросить пароль?", "Where is the API token?", "Где взять токен?"]
)
def test_the_words_password_and_token_may_be_asked_about(text: str) -> None:
    """A policy that stops such questions makes a support desk useless."""
    assert check_request(text, RequestType.KNOWLEDGE_QA, with_rules(*RULES), "user") == PolicyFinding()


@given(text=st.text())
def test_any_text_can_be_judged(text: str) -> None:
    """Neither request nor answer can break the check."""
    assert check_request(text, RequestType.KNOWLEDGE_QA, with_rules(*RULES), "user").status in PolicyStatus
    assert check_answer(text, PROFILE, "user").status in PolicyStatus
