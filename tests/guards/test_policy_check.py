"""May this be asked, and may this be said?"""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.enums import PolicyStatus, RequestType, RequiredAction
from contracts.profile import PolicyRule, Profile
from contracts.reasons import write_reasons
from guards.policy_check import PolicyFinding, check_answer, check_request, mask_text
from language.privacy.links import foreign_links
from tests.support.profiles import make_profile

ALLOWED = ("kb.comindware.ru",)
PROFILE = make_profile(allowed_link_domains=ALLOWED, roles={"user": {}, "operator": {}})


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
def test_what_is_shaped_like_a_secret_is_found_anywhere(rule: str, text: str) -> None:
    """Prose, list, table and code alike: a secret in an answer is a violation with its own action."""
    for frame in ("{}", "Use {} here [1].", "```\n{}\n```", "| a |\n| - |\n| {} |", "- x\n- {}"):
        finding = check_answer(frame.format(text), PROFILE, "user")
        assert finding.status is PolicyStatus.VIOLATED, frame
        assert write_reasons(finding.reasons) == (f"policy_violation=[{rule}]",)
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
        "https://docs.example.com/x",
        "https://www.example.net/",
        "http://gitlab.example/x",
        "http://gpu.test:8000",
        "http://foo.invalid",
        "http://app.localhost:3000",
        "http://localhost.:80/",
        "http://127.0.1.1:9000",
        "http://[::ffff:127.0.0.1]/x",
        "http://0.0.0.0:2024",
        "http://192.0.2.1/",
        "http://198.51.100.7/x",
        "http://203.0.113.5/",
        "http://[2001:db8::1]/",
    ],
)
def test_links_to_allowed_hosts_pass(url: str) -> None:
    """The domain itself, what is below it, loopback and documentation addresses pass, in any writing."""
    for frame in ("See {} now.", "[here]({})", "<{}>", "({}).", "**{}**", "«{}»"):
        assert foreign_links(frame.format(url), ALLOWED) == [], frame


@pytest.mark.parametrize(
    "url",
    [
        "https://evil.example.ru/x",
        "https://evil-kb.comindware.ru.sample.net/",
        "https://kb.comindware.ru.evil.ru",
        "https://notkb.comindware.ru",
        "https://comindware.ru",
        "https://kb.comindware.ru@evil.ru/",
        "https://kb.comindware.ru:x@evil.ru/",
        "https://evil.ru\\@kb.comindware.ru/",
        "https://evil.ru/#kb.comindware.ru",
        "https://evil.ru?u=https://kb.comindware.ru",
        "https://kb.comindwаre.ru/with-a-cyrillic-a",
        "http://localhost.evil.ru",
        "http://127.0.0.1.evil.ru",
        "ftp://files.evil.ru/a",
        "HTTPS://EVIL.RU",
        "http:///path-without-a-host",
        "https://[broken",
        "//evil.ru/without-a-scheme",
        "\\\\evil.ru/without-a-scheme",
        "www.evil.ru",
        "http://[2001:db9::1]/",
        "http://203.0.114.5/",
        "http://1.2.3.4/",
        "https://notexample.com/",
        "https://example.com.evil.ru/",
        "https://example.ru/",
        "https://evil.test.ru/",
        "http://0x7f.1.evil.ru/",
        "javascript:alert(1)",
    ],
)
def test_links_elsewhere_are_found(url: str) -> None:
    """Look-alikes, user names, back-slashes, ports and broken hosts do not make a foreign link ours."""
    finding = check_answer(f"See [this]({url}) for more [1].", PROFILE, "user")
    assert write_reasons(finding.reasons) == ("policy_violation=[foreign-link]",)
    assert finding.actions == (RequiredAction.SAFE_REFUSAL,)


@pytest.mark.parametrize(
    "text",
    [
        "```sh\ncurl https://api.github.com/x\n```",
        "~~~\nhttps://evil.ru\n~~~",
        "Run `pip install --index-url https://mirror.ru/simple` now.",
        "Run ``a ` https://evil.ru`` now.",
        "    wget https://evil.ru\n",
        "1. First:\n\n   ```\n   https://evil.ru\n   ```",
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
    rules = check_answer(f"See:\n\n{text}\n", PROFILE, "user").rules
    assert rules == (("email", "foreign-link") if "mailto:" in text else ("foreign-link",))
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
        "```not a fence``` https://evil.ru\n\ntext\n\n```\ncode\n```",
        "a ` b https://evil.ru",
        "- `a https://evil.ru\n- b`",
        "\\`https://evil.ru\\`",
        "`a`https://evil.ru`b`",
        "> `x\n\nhttps://evil.ru `",
    ],
)
def test_what_only_looks_like_code_hides_no_link(text: str) -> None:
    """A stray backtick does not turn what follows it into code."""
    assert foreign_links(text, ALLOWED) == ["https://evil.ru"]


@pytest.mark.parametrize(
    "text", ["See evil-example.com/reset [1].", "Пишите в t.me/support_bot [1].", "Зайдите на пример.рф."]
)
def test_a_domain_is_a_link_but_where_it_was_shown(text: str) -> None:
    """What question, evidence or contacts name may be named; a link with a scheme may not, and code holds none."""
    finding = check_answer(text, PROFILE, "user")
    assert (finding.rules, finding.actions) == (("foreign-link",), (RequiredAction.SAFE_REFUSAL,))
    assert check_answer(text, PROFILE, "user", shown=("No.", text)) == PolicyFinding()
    assert check_answer(text, make_profile(contact={"en": text}), "user") == PolicyFinding()
    assert check_answer(f"Run `{text}` now", PROFILE, "user") == PolicyFinding()
    linked = "See https://evil.ru/a."
    assert check_answer(linked, PROFILE, "user", shown=(linked,)).rules == ("foreign-link",)


def test_a_domain_is_judged_as_it_is_seen() -> None:
    """Marks inside a name, and the escapes of JSON, hide none."""
    for text in ("See **evil**-example.com now.", '{"a": "evil\\u002eru"}', "See evil<b>.com</b> now."):
        assert check_answer(text, PROFILE, "user").rules == ("foreign-link",), text


def test_all_violations_are_named_together() -> None:
    """A secret, a phone and a foreign link are three rules with their two actions."""
    finding = check_answer("password: hunter2hunter2, +7 916 123-45-67, see https://evil.ru", PROFILE, "user")
    assert write_reasons(finding.reasons) == ("policy_violation=[password-value, phone, foreign-link]",)
    assert finding.actions == (RequiredAction.REDACT_SENSITIVE, RequiredAction.SAFE_REFUSAL)


def test_what_could_not_be_checked_has_its_own_reason() -> None:
    """`unchecked` is neither ok nor violated."""
    assert write_reasons(PolicyFinding(status=PolicyStatus.UNCHECKED).reasons) == ("could_not_check=[policy]",)
    assert PolicyFinding().reasons == ()


SAID: dict[str, str] = {
    "secrets": "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P",
    "personal_data": "Write to anna@firma.ru.",
    "foreign_links": "See https://evil.ru/x.",
    "low_ids": "See article 17.",
}


@pytest.mark.parametrize("group", SAID)
@pytest.mark.parametrize("action", ["SAFE_REFUSAL", "REDACT_SENSITIVE", "ESCALATE_TO_HUMAN"])
def test_each_group_has_the_profiles_action_and_spares_its_roles(group: str, action: str) -> None:
    """What comes of a violation, and who may read it all the same, is the deployment's choice, group by group."""
    rule = {"action": action, "except_roles": ["operator"]}
    profile = make_profile(answer_policy={group: rule}, kb_ids_from=100, roles={"user": {}, "operator": {}})
    assert check_answer(SAID[group], profile, "user").actions == (RequiredAction(action),)
    assert check_answer(SAID[group], profile, "operator") == PolicyFinding()
    others = " ".join(text for name, text in SAID.items() if name != group)
    assert len(check_answer(others, profile, "operator").rules) == 3


def test_what_a_role_may_read_is_not_masked_for_it() -> None:
    """Masking spares the roles that the rule spares."""
    profile = make_profile(answer_policy={"secrets": {"action": "SAFE_REFUSAL", "except_roles": ["operator"]}})
    text = "password: hunter2hunter2, anna@firma.ru"
    assert mask_text(text, profile, "user") == "password: [redacted: password-value], [redacted: email]"
    assert mask_text(text, profile, "operator") == "password: hunter2hunter2, [redacted: email]"


CONTACTS = make_profile(
    contact={"en": "help@firma.ru or +7 (495) 123-45-67", "ru": "help@firma.ru"},
    answer_policy={"contacts": ["sales@firma.ru", "8-800-555-35-35"]},
)


@pytest.mark.parametrize(
    "text",
    [
        "Write to help@firma.ru or Sales@Firma.RU.",
        "Call 8 495 123 45 67 or +7 800 555 35 35.",
        "[mail us](mailto:help@firma.ru), [call us](tel:+78005553535)",
        "[mail us](mailto:help@firma.ru?subject=Hi), [call us](tel:+7%20800%20555-35-35)",
        "help@example.com, +1 212-555-0123",
    ],
)
def test_contacts_of_the_profile_may_be_said(text: str) -> None:
    """Those of `contact` and of `answer_policy.contacts`, in any writing and as links; and those of documentation."""
    assert check_answer(text, CONTACTS, "user") == PolicyFinding()
    assert mask_text(text, CONTACTS, "user") == text


@pytest.mark.parametrize("text", ["anna@firma.ru", "8 495 123 45 68", "[mail](mailto:anna@firma.ru)"])
def test_who_is_no_contact_stays_personal(text: str) -> None:
    """An address at the same domain or a number next to the listed one is nobody's to give out."""
    assert check_answer(text, CONTACTS, "user").status is PolicyStatus.VIOLATED


OLD = make_profile(kb_ids_from=4000, allowed_link_domains=ALLOWED)


@pytest.mark.parametrize(
    "text",
    [
        "See article 3999.",
        "Article #123 says so",
        "kbId: 123",
        "`kb_id=123`",
        "Смотрите статью 123.",
        "в статье № 3999 сказано",
        "(статья 17)",
        "статья\u202f12",
        "article\u00a012",
        "article `12`, article **13**",
        "articles 4578 and 12",
        "статьи 4578, 12",
        "статья под номером 12",
        "KB 3999",
        "kb-3999",
        "kb\\-3999",
        "[a](/article/12)",
        "[a](../12-toc)",
        "[a](docs/12-toc.md#b)",
        "<a href='/article/12'>a</a>",
        "[a]\n\n[a]: /article/12",
        "https://kb.comindware.ru/12",
        "https://kb.comindware.ru/ru/v5/12-toc",
        "https://kb.comindware.ru/article/123",
        "[here](https://kb.comindware.ru/article/123-how-to)",
        "https://kb.comindware.ru/index.php?id=123&x=1",
        "https://ru.kb.comindware.ru/v5/0123.html.",
        "```\nhttps://kb.comindware.ru/article.php?id=123\n```",
    ],
)
def test_an_article_below_the_allowed_number_may_not_be_named(text: str) -> None:
    """In words, as kbId or in an address at an allowed domain; where no least number is set, nobody is asked."""
    finding = check_answer(text, OLD, "user")
    assert (finding.rules, finding.actions) == (("low-article-id",), (RequiredAction.SAFE_REFUSAL,))
    assert check_answer(text, PROFILE, "user") == PolicyFinding()


@pytest.mark.parametrize(
    "text",
    [
        "See article 4000, статью 4578, kbId 5000.",
        "https://kb.comindware.ru/article/4578 and https://kb.comindware.ru/v5.0/setup",
        "https://example.com/article/123 and http://localhost:8000/article/1",
        "https://kb.comindware.ru/2024/05/update, https://kb.comindware.ru?page=2",
        "https://kb.comindware.ru/page/3, https://kb.comindware.ru/releases/5, https://kb.comindware.ru/2024/05",
        "[a](/releases/5), [b](/article/4578), [c](4578-toc), [1](#12), [2](docs/a.md)",
        "16 KB 12 times, 4 KB, KB, articles 4578 and 4579, 12 articles and 14 pages",
        "There are 123 articles, 17 статей; particle 12; статья 5 ТК РФ, article 1.2.3",
        "ids 1 to 100, step 3 [1], порт 443",
    ],
)
def test_other_numbers_are_no_low_articles(text: str) -> None:
    """Later articles, other sites, dates, counts, laws and citations pass."""
    assert check_answer(text, OLD, "user") == PolicyFinding()


@given(
    text=st.lists(
        st.sampled_from(
            ["password: hunter22", " ", "(https://evil.ru)", ": https://evil.ru", "[", "]", "[1]", "anna@firma.ru"]
        )
        | st.text(max_size=4),
        max_size=8,
    ).map("".join)
)
def test_masking_leaves_no_value_and_makes_no_link(text: str) -> None:
    """Nothing secret or personal is left; masking twice changes nothing; no citation and no link comes of it."""
    after = mask_text(text, PROFILE, "user")
    assert set(check_answer(after, PROFILE, "user").rules) <= {"foreign-link"}
    assert mask_text(after, PROFILE, "user") == after
    assert citations(after) <= citations(text)
    for mark in re.finditer(r"\[redacted: [a-z-]+\]", after):
        assert after[mark.end() : mark.end() + 1] not in ("(", "[", ":")


def citations(text: str) -> set[str]:
    return set(re.findall(r"\[\d{1,3}\]", text))


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


ROLES = make_profile(
    roles={
        "user": {
            "sources": ["doc", "policy"],
            "request_types": ["KNOWLEDGE_QA", "HOWTO_POLICY", "CASUAL", "STATUS_METRIC"],
        },
        "reader": {"sources": ["doc"]},
        "stores": {"sources": ["db"]},
        "guest": {"sources": []},
        "operator": {},
    },
    policy=[
        {"id": "pay", "words": ["зарплата", "pay slip"], "action": "ESCALATE_TO_HUMAN", "except_roles": ["operator"]}
    ],
)


@pytest.mark.parametrize("request_type", RequestType)
def test_what_a_role_may_ask_for_is_decided_by_the_profile(request_type: RequestType) -> None:
    """A role that is not listed, a type that is not the role's, and sources of which none may serve: each is denied."""

    def rules(role: str) -> tuple[str, ...]:
        return check_request("How?", request_type, ROLES, role).rules

    assert rules("stranger") == rules("User") == rules("") == ("role-unknown",)
    assert rules("operator") == ()
    allowed = request_type in ROLES.roles["user"].request_types
    assert rules("user") == (() if allowed else ("request-type-not-allowed",))
    casual, status = request_type is RequestType.CASUAL, request_type.startswith("STATUS")
    # Documents never answer a question for a figure, and rows never stand in for documents that are not the role's.
    by_rows = status or casual or request_type is RequestType.TROUBLESHOOTING
    assert rules("reader") == (("no-source-allowed",) if status else ())
    assert rules("stores") == (() if by_rows else ("no-source-allowed",))
    assert rules("guest") == (() if casual else ("no-source-allowed",))


def test_every_rule_that_a_request_violates_is_reported() -> None:
    """Role and topic together, with both actions."""
    finding = check_request("Покажи зарплату", RequestType.DESIGN_ARCH, ROLES, "user")
    assert finding.rules == ("request-type-not-allowed", "pay")
    assert finding.actions == (RequiredAction.SAFE_REFUSAL, RequiredAction.ESCALATE_TO_HUMAN)


@pytest.mark.parametrize(
    ("text", "denied"),
    [
        ("Какая у него зарплата?", True),
        ("Расскажи о зарплатах", True),
        ("ЗАРПЛАТОЙ", True),
        ("Show the pay slips of March", True),
        ("Show his P\u200bAY slip", True),
        ("How do I pay by slip?", False),
        ("What does it cost?", False),
    ],
)
def test_words_of_a_rule_match_in_any_form(text: str, denied: bool) -> None:
    """By their stems and in their order, through case and invisible characters; the roles excepted may ask."""
    assert check_request(text, RequestType.KNOWLEDGE_QA, ROLES, "user").rules == (("pay",) if denied else ())
    assert check_request(text, RequestType.KNOWLEDGE_QA, ROLES, "operator") == PolicyFinding()


@pytest.mark.parametrize(
    "text", ["How do I reset my password?", "Как сбросить пароль?", "Where is the API token?", "Где взять токен?"]
)
def test_the_words_password_and_token_may_be_asked_about(text: str) -> None:
    """A policy that stops such questions makes a support desk useless."""
    assert check_request(text, RequestType.KNOWLEDGE_QA, with_rules(*RULES), "user") == PolicyFinding()


KEY = "AKIAIOSFODNN7EXAMPLE"


@pytest.mark.parametrize("frame", ["{}", "Text.\n\n```json\n{}\n```"])
@pytest.mark.parametrize(
    ("text", "rule"),
    [
        (f'{{"code": "key:\\n{KEY}"}}', "api-key"),
        (f'{{"a": ["\\u0041{KEY[1:]}"]}}', "api-key"),
        (f'{{"\\t{KEY}": 1}}', "api-key"),
        ('{"mail": "bob.smith\\u0040corp.ru"}', "email"),
    ],
)
def test_the_escapes_of_json_hide_nothing(frame: str, text: str, rule: str) -> None:
    """What a reader of the JSON gets is judged, be it the whole answer or a block in it."""
    assert rule in check_answer(frame.replace("{}", text, 1), PROFILE, "user").rules


@pytest.mark.parametrize("frame", ["{}", "Text.\n\n```json\n{}\n```"])
def test_what_escapes_hide_is_masked_as_well(frame: str) -> None:
    """A report shows the draft, and it stays JSON."""
    text = f'{{"a": "key:\\n{KEY}",\n "b": 1}}'
    shown = mask_text(frame.replace("{}", text), PROFILE, "user")
    assert shown == frame.replace("{}", '{"a": "key:\\n[redacted: api-key]",\n "b": 1}')
    assert mask_text(shown, PROFILE, "user") == shown


def test_links_of_json_are_judged_where_it_is_no_code() -> None:
    """An answer in JSON has no links elsewhere but in code; a block of JSON is code."""
    for hidden in ('{"a": "\\u0068ttps://evil.ru/x"}', '{"a": "[b](https:\\/\\/evil.ru)"}'):
        assert check_answer(hidden, PROFILE, "user").rules == ("foreign-link",)
        assert check_answer(f"Text.\n\n```json\n{hidden}\n```", PROFILE, "user").rules == ()
    assert check_answer('{"a": "`curl https://any.ru`"}', PROFILE, "user").rules == ()


@given(text=st.text())
def test_any_text_can_be_judged(text: str) -> None:
    """Neither request nor answer can break the check."""
    assert check_request(text, RequestType.KNOWLEDGE_QA, with_rules(*RULES), "user").status in PolicyStatus
    assert check_answer(text, PROFILE, "user").status in PolicyStatus


def test_what_is_harmless_for_one_role_is_still_masked_for_another() -> None:
    """A text is known again with what was looked for in it, and not by itself; no other test asks twice."""
    policy = {"personal_data": {"action": "REDACT_SENSITIVE", "except_roles": ["operator"]}}
    profile = make_profile(answer_policy=policy, roles={"user": {}, "operator": {}})
    text = "Write to somebody.else@firma.ru about it."
    for _ in range(2):
        assert mask_text(text, profile, "operator") == text
        assert mask_text(text, profile, "user") == "Write to [redacted: email] about it."


SALARY = with_rules(PolicyRule(id="salary", words=("salary", "зарплата"), action=RequiredAction.ESCALATE_TO_HUMAN))


@pytest.mark.parametrize(
    "text",
    [
        *("What is the s a l a r y of the head?", "s/a/l/a/r/y", "sal-ary", "s.a.l.a.r.y of all", "sal ary", "s4l4ry", "$alary", "saaalaaary"),
        *("sal<b>ary</b>", "sal<!-- x -->ary", "s&#97;lary", "**sal**ary", "s`al`ary", "sa_la_ry", "sаlаrу", "sal\u200bary", "ｓａｌａｒｙ"),
        *("Какая з а р п л а т а у директора?", "з.а.р.п.л.а.т.а", "зар/плата", "зар плата", "3арплата", "з4рпл4та", "зaрплаtа", "zarplata"),
        *("за**рпл**ата", "зарпл&#1072;та", "dhdoIG15IHNhbGFyeSBpcyBzbyBsb3c=", "yralas eht si tahw", "ЗАРПЛАТУ", "%D0%B7%D0%B0%D1%80%D0%BF%D0%BB%D0%B0%D1%82%D0%B0 %D1%83 %D0%B2%D0%B0%D1%81"),
    ],
)  # fmt: skip
def test_a_forbidden_topic_is_known_however_it_is_spelt(text: str) -> None:
    """In requests and in drafts alike: signs, gaps, tags, entities, marks, look-alikes, digits, transliteration, codes."""
    assert check_request(text, RequestType.KNOWLEDGE_QA, SALARY, "user").rules == ("salary",)
    assert check_answer(text, SALARY, "user").rules == ("salary",)


@pytest.mark.parametrize(
    "text",
    [
        "How do I add a sales area?",
        "Как настроить платформу?",
        "The salad was airy.",
        "Где плата за зарядку?",
        "a b c d e f",
    ],
)
def test_what_only_resembles_a_forbidden_topic_may_be_asked(text: str) -> None:
    """A reading that nobody meant finds nothing in ordinary questions."""
    assert check_request(text, RequestType.KNOWLEDGE_QA, SALARY, "user").status is PolicyStatus.OK


@pytest.mark.parametrize(
    "text", ["Write to **anna**@firma.ru.", "Write to anna@<b>firma</b>.ru.", "Write to ann&#97;@firma.ru."]
)
def test_marks_inside_of_an_address_hide_nothing(text: str) -> None:
    """A reader sees the address, so the check does."""
    assert check_answer(text, PROFILE, "user").status is PolicyStatus.VIOLATED
