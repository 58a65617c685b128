"""What is shaped like a secret, and what only speaks of one."""

from __future__ import annotations

import base64
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from language.privacy.secrets import RULES, secrets, without_credentials
from language.privacy.spans import replace_spans
from tests.support.examples import examples
from tests.support.timed import soonest

BODY = "\n".join(["MIIEpAIBAAKCAQEA7bq3" + "Zm9vYmFyYmF6" * 3] * 6)
KEYS = [
    f"-----BEGIN {kind}PRIVATE KEY{end}-----\n{BODY}\n-----END {kind}PRIVATE KEY{end}-----"
    for kind, end in (
        ("", ""),
        ("RSA ", ""),
        ("EC ", ""),
        ("DSA ", ""),
        ("OPENSSH ", ""),
        ("ENCRYPTED ", ""),
        ("PGP ", " BLOCK"),
    )
]
# Made of pieces, so that no other program that looks for keys takes this file for a leak.
A32, H32, D20 = "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7cF0hL", "0a1b2c3d4e5f60718293a4b5c6d7e8f9", "q1w2e3r4t5y6u7i8o9p0"
API_KEYS = [
    "sk-" + "live-abcdefghijklmnopqrstuvwx",
    "sk-" + f"proj-{A32}_{A32}-x",
    "sk-" + f"ant-api03-{A32}-{A32}",
    "sk-" + f"or-v1-{H32}{H32}",
    "sk_" + f"live_{A32}",
    "rk_" + f"test_{A32}",
    "AKIA" + "IOSFODNN7EXAMPLE",
    "ASIA" + "Y34FZKBOKMUTVV7A",
    "ghp_" + A32 + "abcd",
    "github_pat_" + A32 + "_" + A32,
    "glpat-" + D20,
    "xoxb-" + "123456789012-1234567890123-" + A32[:24],
    "hooks.slack.com/services/" + "T01234567/B01234567/" + A32[:24],
    "AIza" + A32 + "abc",
    "GOCSPX-" + A32[:28],
    "ya29." + A32,
    "whsec_" + A32,
    "123456789" + ":AA" + A32 + "a",
    "SG." + A32[:22] + "." + A32 + "abcdefghijk",
    "key-" + H32,
    H32 + "-us12",
    "npm_" + A32 + "abcd",
    "pypi-" + A32 + A32,
    "hf_" + A32 + "ab",
    "dop_v1_" + H32 + H32,
    "shpat_" + H32,
    "dapi" + H32,
    "hvs." + A32,
    "glsa_" + A32 + "_0a1b2c3d",
    "lin_api_" + A32 + "abcdefgh",
    "figd_" + A32 + "abcdefgh",
    "y0_" + A32 + A32,
    "AQVN" + A32 + "abcdefgh",
    "vk1.a." + A32 + A32,
    "lsv2_" + f"pt_{H32}_0a1b2c3d4e",
    "gsk_" + A32 + A32[:20],
    "tvly-" + A32,
    "dckr_pat_" + A32[:27],
    "abc8Q~" + A32 + "ab",
]
FRAMES = ["{}", "Use {} here [1].", "```\n{}\n```", "| a | b |\n| - | - |\n| x | {} |", "- x\n- {}", "«{}»", "(`{}`)"]


def rules(text: str) -> list[str]:
    return [span.rule for span in secrets(text)]


def values(text: str) -> list[str]:
    return [text[span.start : span.end] for span in secrets(text)]


@pytest.mark.parametrize("key", KEYS, ids=lambda key: key[:36])
@pytest.mark.parametrize("frame", ["{}", "Here:\n\n```\n{}\n```\n\nKeep it."])
def test_a_private_key_is_found_whole(key: str, frame: str) -> None:
    """In every form of PEM, from its first line to its last."""
    assert values(frame.format(key)) == [key]
    assert rules(frame.format(key)) == ["private-key"]


def test_a_private_key_that_was_cut_is_found_all_the_same() -> None:
    """A passage may hold its beginning only, or its end only; in a string of JSON its lines end in backslash n."""
    key = KEYS[1]
    assert values(f"{key[:200]}\n\nNow go on.") == [key[:200]]
    assert values(key[200:]) == [key[200:]]
    written = '{"key": "' + key.replace("\n", "\\n") + '"}'
    assert values(written) == [key.replace("\n", "\\n")]
    assert rules("PuTTY-User-Key-File-3: ssh-ed25519\nEncryption: none\n" + BODY + "\nPrivate-MAC: " + H32) == [
        "private-key"
    ]


@pytest.mark.parametrize("key", API_KEYS, ids=lambda key: key[:12])
def test_a_key_of_a_service_is_known_by_its_beginning(key: str) -> None:
    """In prose, code, tables, lists and quotes, and nothing but the key itself is marked."""
    for frame in FRAMES:
        assert (rules(frame.format(key)), values(frame.format(key))) == (["api-key"], [key]), frame


@pytest.mark.parametrize("text", ["api_key = '{}'", "Authorization: Bearer {}", "token: {}", "| API key | {} |"])
def test_a_key_behind_a_name_is_one_finding(text: str) -> None:
    """What two rules find is masked once."""
    key = "ghp_" + A32 + "abcd"
    assert values(text.format(key)) == [key]


WEB_TOKEN = "eyJhbGciOiJIUzI1NiJ9." + "eyJzdWIiOiIxMjM0NTY3ODkwIn0." + "dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P"


@pytest.mark.parametrize(
    ("rule", "text", "value"),
    [
        ("web-token", f"Token {WEB_TOKEN} expires.", WEB_TOKEN),
        ("web-token", WEB_TOKEN.rpartition(".")[0] + ".", WEB_TOKEN.rpartition(".")[0] + "."),
        ("web-token", f"Authorization: Bearer {WEB_TOKEN}", WEB_TOKEN),
        ("bearer-token", f"-H 'Authorization: Bearer {D20}'", D20),
        ("bearer-token", f"Authorization: bearer {A32}", A32),
        ("basic-auth", "Authorization: Basic " + base64.b64encode(b"admin:hunter2").decode(), "YWRtaW46aHVudGVyMg=="),
        ("basic-auth", "curl -u admin:hunter22 https://host/x", "hunter22"),
        ("connection-string", "postgresql://admin:s3cretPass@db.internal:5432/app", "postgresql://admin:s3cretPass@db.internal"),
        ("connection-string", "mongodb+srv://root:hunter22@cluster0.example.net", "mongodb+srv://root:hunter22@cluster0.example.net"),
        ("connection-string", "redis://:Adm1nAdm1n@cache:6379/0", "redis://:Adm1nAdm1n@cache"),
        ("connection-string", "https://bot:tok3ntok3n@git.house/x.git", "https://bot:tok3ntok3n@git.house"),
        ("connection-string", "Server=db;Database=crm;User Id=sa;Password=Qwerty;", "Qwerty"),
        ("connection-string", "jdbc:sqlserver://db:1433;user=sa;password=Sq1Secret!;encrypt=true", "Sq1Secret!"),
        ("connection-string", "jdbc:postgresql://db/app?user=app&password=letmein", "letmein"),
        ("connection-string", "host=db user=app password=letmein dbname=app", "letmein"),
        ("connection-string", f"AccountName=files;AccountKey={A32}{A32}{A32[:22]}==;", f"{A32}{A32}{A32[:22]}=="),
        ("password-value", "password: hunter2hunter2", "hunter2hunter2"),
        ("password-value", "Password: hunter2", "hunter2"),
        ("password-value", "Пароль: Qwerty12345", "Qwerty12345"),
        ("password-value", "пароль — кипяток2024", "кипяток2024"),
        ("password-value", "**Пароль:** `Qwerty12345`.", "Qwerty12345"),
        ("password-value", "Пароль от базы: Zima2024!", "Zima2024!"),
        ("password-value", "пароль администратора = Zima_2024", "Zima_2024"),
        ("password-value", "Войдите с паролем «Zima2024»", "Zima2024"),
        ("password-value", 'PASSWORD="s3cr3t-value"', "s3cr3t-value"),
        ("password-value", "DB_PASSWORD=s3cr3t-value", "s3cr3t-value"),
        ("password-value", "spring.datasource.password: s3cr3t-value", "s3cr3t-value"),
        ("password-value", '{"password": "s3cr3t-value"}', "s3cr3t-value"),
        ("password-value", "the password is tr0ub4dor3", "tr0ub4dor3"),
        ("password-value", "The password for the database is `Falcon4Q26#`.", "Falcon4Q26#"),
        ("password-value", "Пароль учётной записи admin — Zima2024!", "Zima2024!"),
        ("password-value", "| Login | Password |\n| - | - |\n| admin | x |\n\n| Password | P@ssw0rd! |", "P@ssw0rd!"),
        ("password-value", "the password `hunter22` works", "hunter22"),
        ("password-value", "Enter the password:\n\n```\nhunter22\n```", "hunter22"),
        ("password-value", "pwd: Adm1n$tration", "Adm1n$tration"),
        ("token-value", f"api_key = '{A32}'", A32),
        ("token-value", f"X-Api-Key: {H32}", H32),
        ("token-value", f"SECRET_KEY={H32}{H32}", H32 + H32),
        ("token-value", f'"access_token": "{D20}"', D20),
        ("token-value", f"client_secret: {A32}", A32),
        ("token-value", f"aws_secret_access_key = {A32}{A32[:8]}", A32 + A32[:8]),
        ("token-value", f"Токен: {A32}", A32),
        ("token-value", f"Ключ API — {A32}", A32),
        ("token-value", "token: 7d9f3a52-41c8-4b1e-9a77-0f3e8c2b6d15", "7d9f3a52-41c8-4b1e-9a77-0f3e8c2b6d15"),
    ],
)  # fmt: skip
def test_a_value_is_found_where_it_stands(rule: str, text: str, value: str) -> None:
    """Headers, addresses, pairs of a connection, passwords and tokens behind their names; only the value is marked."""
    found = secrets(text)
    assert value in values(text)[0]
    if rule == "token-value" and "ecret" in text:
        # The name of a secret may be taken for that of a password, too: it is masked under the one or the other.
        assert [span.rule for span in found] in (["token-value"], ["password-value"])
    else:
        assert [span.rule for span in found] == [rule]
    assert value not in replace_spans(text, secrets)[0]


@pytest.mark.parametrize(
    "text",
    [
        "To reset your password, open the settings and press Reset.",
        "Чтобы сбросить пароль, откройте настройки и введите новый пароль.",
        "A token is kept for 30 minutes; the secret is never shown.",
        "Пароль должен содержать не менее 8 символов.",
        "Пароль: не менее 8 символов, буквы и цифры",
        "password: <your password>",
        "password: your-password-123",
        "PASSWORD=${DB_PASSWORD}",
        "PASSWORD=$DB_PASSWORD1",
        "PASSWORD=%DB_PASSWORD1%",
        "password = ********",
        "password: xxxxxxxx1",
        "password: {{ vault.db_password1 }}",
        "password: changeme123",
        "пароль: ваш_пароль1",
        "password=os.environ['PASSWORD1']",
        "password = get_password2()",
        "password: SecretStr2 = Field(...)",
        "password: user_password1",
        "hash the password: sha256 or argon2id",
        "Password policy: see page 12",
        "password: required",
        "Password: 12345678 characters at most",
        "postgresql://user:<password>@host/db",
        "postgresql://user:${PASSWORD}@host/db",
        "postgresql://user:password@host/db",
        "postgresql://user:****@host/db",
        "postgresql://localhost:5432/app",
        "Server=db;User Id=sa;Password=<password>;",
        "The key begins with sk- and is shown once.",
        "sk-your-key-here-xxxxxxxxxxxxxxxxxxxx",
        "sk-XXXXXXXXXXXXXXXXXXXXXXXX",
        "Authorization: Bearer <token>",
        "Bearer authentication is described in RFC 6750.",
        "Authorization: Bearer your-token-here-123",
        "Authorization: Bearer $TOKEN",
        "Basic authentication is used. Basic settings",
        "curl -u user:password https://host",
        "curl -u $USER:$PASSWORD https://host",
        "api_key = 'your-api-key-here-1234'",
        "token: str = Depends(oauth2_scheme)",
        "token_url='/api/v1/auth/token'",
        "max_tokens: 4096, min_tokens: 16",
        "the token expires: 2026-11-22T10:00:00",
        "primary key: customer_2024_orders_01",
        "cache key: 0a1b2c3d4e5f60718293a4b5c6d7e8f9",
        "commit 0a1b2c3d4e5f60718293a4b5c6d7e8f90a1b2c3d",
        "Ключ: имя_поля_в_таблице",
        "GUARDIAN_API_KEY: the key of the server",
        "-----BEGIN PUBLIC KEY-----\nMIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEA\n-----END PUBLIC KEY-----",
        "-----BEGIN CERTIFICATE-----\nMIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEA\n-----END CERTIFICATE-----",
        "The header of a private key is BEGIN PRIVATE KEY between dashes.",
    ],
)  # fmt: skip
def test_words_about_secrets_are_no_secrets(text: str) -> None:
    """Sentences, placeholders, names of variables, code, hashes of commits and public keys pass."""
    assert secrets(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "пароль:\u00a0Qwerty12345",
        "pass\u200bword: hunter2\u200bhunter2",
        "ｐassword：ｈunter2hunter2",
        "password:\u2003hunter22",
    ],
)
def test_typesetting_hides_no_secret(text: str) -> None:
    """Hard spaces, invisible characters and full-width letters are looked through."""
    assert rules(text) == ["password-value"]
    assert "unter2" not in replace_spans(text, secrets)[0]
    assert "werty" not in replace_spans(text, secrets)[0]


@pytest.mark.parametrize(
    "table",
    [
        "| Login | Password |\n| --- | --- |\n| admin | Zima2024! |\n| guest | `Leto2025` |\n| none | required |",
        "Login | Пароль от входа | Note\n:-: | :- | -\nadmin | **Zima2024!** | x1y2z3a4\nguest | Leto2025 |",
        "- item:\n\n  | Пароль |\n  |-|\n  | Zima2024! |\n  | Leto2025 |",
    ],
)
def test_a_column_of_passwords_is_found_by_its_head(table: str) -> None:
    """Each value of the column, and of no other; a cell in words is no password."""
    found = values(f"Accounts:\n\n{table}\n\nAfter it | Zima2026! | nothing.")
    assert found == ["Zima2024!", "Leto2025"]
    assert secrets(table.replace("Password", "Length").replace("Пароль", "Длина")) == []


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("Use the password hunter22! to sign in.", "hunter22!"),
        ("The default password Qwerty123 must be changed.", "Qwerty123"),
        ("Введите пароль Qwerty123 и нажмите «Войти».", "Qwerty123"),
        ("Пароль по умолчанию Qwerty123.", "Qwerty123"),
        ("Пароль по умолчанию — Qwerty123.", "Qwerty123"),
        ("Паролем служит Qwerty123", "Qwerty123"),
        ("**Пароль**\n\nQw3rty99", "Qw3rty99"),
        ("Your password has been set to Qwerty123!", "Qwerty123!"),
        ("The password is set to Qwerty123!", "Qwerty123!"),
        ("The admin password equals Qwerty123!", "Qwerty123!"),
        ("The password for the administrator account of the test server is Qwerty123!", "Qwerty123!"),
        ("Sign in with login admin, password Qw3rty99!", "Qw3rty99!"),
        ("mytool --password Qw3rty99 run", "Qw3rty99"),
        ("mytool --db-password hunter2 run", "hunter2"),
        ("export DB_PASS=Qw3rty99", "Qw3rty99"),
        ("login: admin, pass: Qwerty123!", "Qwerty123!"),
        ("user admin, pw: Qwerty123!", "Qwerty123!"),
        ("?password=Qw3rty99&user=x", "Qw3rty99"),
        ("<password>Qw3rty99</password>", "Qw3rty99"),
        ('<add key="password" value="Qw3rty99"/>', "Qw3rty99"),
        ("- name: DB_PASSWORD\n  value: Qw3rty99", "Qw3rty99"),
        ("mysql -uroot -pQw3rty99 shop", "Qw3rty99"),
        ("sshpass -p Qw3rty99 ssh host", "Qw3rty99"),
        ("| Login | Password |\n| - | - |\n| admin | Zx99bbb! (change it) |", "Zx99bbb!"),
        ('{"password": {"value": "Qw3rty99"}}', "Qw3rty99"),
        ('{"password": {"hint": "a pet", "value": "Qw3rty99"}}', "Qw3rty99"),
        ('{"name": "password", "value": "Qw3rty99"}', "Qw3rty99"),
        ('{"value": "Qw3rty99", "name": "password"}', "Qw3rty99"),
        ('{"password": ["VPN-gateway-night1"]}', "VPN-gateway-night1"),
        ('{"Пароль": "Qw3rty99"}', "Qw3rty99"),
        ("Токен доступа для бота: " + H32, H32),
        ("Ключ доступа: " + H32, H32),
        ("Секрет: " + H32, H32),
        ("sessionid: " + H32, H32),
        ("Cookie: session=" + H32, H32),
        ("The API key " + H32 + " works.", H32),
        ("API-ключ " + H32, H32),
        ("ghp_" + A32[:16] + "\n" + A32[16:] + "abcd", "ghp_" + A32[:16] + "\n" + A32[16:] + "abcd"),
    ],
)  # fmt: skip
def test_a_value_is_found_as_people_write_it(text: str, value: str) -> None:
    """Right behind the name with few words between, as an option, in tags, pairs, lists and cells, over two lines."""
    assert values(text) == [value]


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("Войдите как admin / Qwerty123 и откройте меню.", "Qwerty123"),
        ("Log in with admin / Qwerty123.", "Qwerty123"),
        ("логин/пароль: admin/Qwerty123", "Qwerty123"),
        ("логин и пароль: admin Qwerty123", "Qwerty123"),
        ("login/password: root/toor1!", "toor1!"),
        ("credentials: svc_backup:Pa55word", "Pa55word"),
        ("Учётные данные: ivanov / Zx12vb!", "Zx12vb!"),
        ("Sign in as `tester@firm.test` / `Te5ting!`", "Te5ting!"),
        ("(admin / Passw0rd1)", "Passw0rd1"),
        ("root:Toor12345!", "Toor12345!"),
        ('auth_value = "user:Password123!"', "Password123!"),
    ],
)
def test_a_password_is_found_behind_its_login(text: str, value: str) -> None:
    """With a word that says that both follow, or behind one of the names that everybody gives to a login."""
    assert (values(text), rules(text)) == ([value], ["password-value"])


@pytest.mark.parametrize(
    "text",
    [
        "Open admin/settings2 or /user/Profile12 and https://host.test/admin/Page12",
        "The roles admin / operator / Viewer, user:group, chown root:wheel, image user/Repo2024",
        "admin:8080, root:x:0:0, test: Step2a, user: Name12, support / 24x7h",
        "Log in with your login / e-mail, войдите под admin / пользователем, вход с ПК / телефона",
        "credentials: user:password, login/password: <login>/<password>, логин/пароль: admin/changeme",
        "Учётные данные: см. п. 2.1/2.2",
    ],
)
def test_other_pairs_hold_no_password(text: str) -> None:
    """Paths, roles, owners, images, ports, alternatives and placeholders."""
    assert values(text) == []


AUTH = '{"cr.test": {"auth": "' + encoded("ci:Zima2024") + '"}}'
MANIFEST = "apiVersion: v1\nkind: Secret\nmetadata:\n  name: db\ndata:\n  username: YWRtaW4=\n  %s: %s\n"


@pytest.mark.parametrize(
    ("rule", "text", "value"),
    [
        ("password-value", MANIFEST % ("password", encoded("Zima2024!")), encoded("Zima2024!")),
        ("password-value", MANIFEST % ("POSTGRES_PASSWORD", encoded("letters")), encoded("letters")),
        ("token-value", MANIFEST % ("api-key", encoded(D20)), encoded(D20)),
        (
            "password-value",
            '{"kind": "Secret", "data": {"password": "' + encoded("Zima2024") + '"}}',
            encoded("Zima2024"),
        ),
        ("token-value", "data:\n  .dockercfg: " + encoded(AUTH), encoded(AUTH)),
        ("basic-auth", '{"auths": ' + AUTH + "}", encoded("ci:Zima2024")),
        ("basic-auth", "_auth=" + encoded("ci:Zima2024"), encoded("ci:Zima2024")),
        ("private-key", "client-key-data: " + encoded(KEYS[1]), encoded(KEYS[1])),
        ("token-value", f"Azure DevOps PAT: {D20}{D20}abcdefghijkl", f"{D20}{D20}abcdefghijkl"),
    ],
    ids=lambda part: part[:24],
)
def test_what_is_encoded_hides_nothing(rule: str, text: str, value: str) -> None:
    """In a Secret of Kubernetes, the settings of registries and of kubectl, only the value is marked."""
    assert (values(text), rules(text)) == ([value], [rule])


@pytest.mark.parametrize(
    "text",
    [
        MANIFEST % ("password", encoded("<password>")) + "type: kubernetes.io/basic-auth",
        MANIFEST % ("password", encoded("password")),
        MANIFEST % ("secretName", "database-secret"),
        "kind: ConfigMap\ndata:\n  password: cGFzc2ZpbGU=",
        "kind: Secret\ncertificate-authority-data: LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCk1JSUM1ekNDQWMrZ0F3SUJBZ0lCQURBTkJn",
        '{"auth": "required"} and "auth": "disabled"',
    ],
    ids=lambda text: text[-24:],
)
def test_what_is_encoded_and_no_secret_passes(text: str) -> None:
    """Placeholders, names, public certificates, and words that base64 could be."""
    assert values(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "The password is wrong!",
        "Invalid password: try-again!",
        "Неверный пароль: повторите!",
        "Пароль — это важно!",
        "Пароль: забыли?",
        "Password reset is simple: click!",
        "Password changed: done!!",
        "Password: *required!",
        "The password is case-sensitive!",
        "The password policy is ISO27001",
        "Password manager: KeePass2",
        "Password hashing algorithm: Argon2id",
        "Password expires: 2026-11-22T10:00Z",
        "Password strength: zxcvbn4",
        "Пароль передаётся по протоколу: TLS1.3",
        "Пароль меняется раз в: 90дней",
        "Минимальная длина пароля: 12символов",
        "password: min8chars, 8-64chars; пароль: от8до64; Password rule: A-Z0-9",
        "Password: Ctrl+Shift+P7",
        "Secret manager: AWS-SM2",
        "Secret name: db-credentials-v2",
        "secret: app-tls-2024",
        "The password lives in the Kubernetes secret: db-main1!",
        "Set the password on step2 of the form, password field login2",
        "The password SHA256 hash, password ISO27001 rules, пароль AES-256",
        '{"password": {"type": "string", "title": "Password", "format": "password", "minLength": 8}}',
        '{"name": "password", "value": "required"}',
        "The public key " + H32 + " and cache key " + H32,
        "Ключ строки в таблице: " + H32 + ", открытый ключ " + H32,
        "The token limit is gpt-4o-2024-08-06, the API key gpt-4o-mini-2024-07-18-x1y2",
        "tests pass: 12 of 14, pass: true; we pass = by reference",
        "The key AKIA\nand a token\n" + "is long",
    ],
)  # fmt: skip
def test_other_things_behind_the_name_are_no_values(text: str) -> None:
    """The sign that ends a sentence, names of methods, policies and stores, lengths and dates."""
    assert secrets(text) == []


def test_an_address_loses_its_credentials_and_nothing_else() -> None:
    """User name and password go; an at-sign in the path stays."""
    assert without_credentials("https://bot:tok3n@host:8/a?b=c") == "https://host:8/a?b=c"
    assert without_credentials("https://host/@name") == "https://host/@name"


pieces = st.sampled_from(
    [
        *API_KEYS[:6],
        *KEYS[:2],
        WEB_TOKEN,
        "password: ",
        "hunter22",
        "token=",
        "[redacted: api-key]",
        "(",
        "[",
        ":",
        " ",
        "\n",
        "|",
        "postgresql://a:",
        "@",
        "Пароль — ",
        "Bearer ",
        "\u200b",
        "`",
        '"',
        "x",
        "-----BEGIN PRIVATE KEY-----",
        A32,
    ]
)


@given(text=st.lists(pieces | st.text(max_size=5), max_size=12).map("".join))
@examples(3)
def test_what_was_masked_holds_nothing_more(text: str) -> None:
    """However secrets stand beside one another, one masking finds them all, and a second one nothing."""
    masked, found = replace_spans(text, secrets)
    assert secrets(masked) == []
    assert replace_spans(masked, secrets) == (masked, ())
    assert set(found) <= set(RULES)
    assert all(0 <= span.start < span.end <= len(text) for span in secrets(text))


HOSTILE = [
    "password" * 5_000,
    "password: " * 4_000,
    "password " + "a" * 40_000,
    "password=" + "a1" * 20_000,
    "token " * 8_000,
    "key:" * 10_000,
    "a:" * 20_000 + "//",
    "a://" * 10_000 + "@",
    "a://b:" * 7_000 + "@",
    "eyJ" * 14_000,
    "eyJaaaaaaaaaa." * 3_000,
    "-----BEGIN PRIVATE KEY-----" * 1_500,
    "-----END PRIVATE KEY-----" * 1_500,
    "AAAA\n" * 8_000 + "-----END PRIVATE KEY-----",
    "sk-" * 14_000,
    "t1." + "a" * 40_000,
    "Password=" * 4_500,
    "user=;password=" * 2_700,
    "bearer " * 6_000,
    "| " * 20_000,
    "пароль \t" * 5_000,
    "\u200b" * 40_000,
    "пароль" + " |" * 20_000,
    "-u a:" * 8_000,
    "password is " * 3_500,
    "password: {" * 3_500,
    '"password":["a1b2c3d4",' * 1_700,
    "password, value=" * 2_500,
    '"value":"a1b2c3d4","x":"' * 1_700,
    "mysql " * 7_000,
    "<password>" * 4_000,
    "ghp_" + "a1\n" * 13_000,
    "admin / a1! " * 3_300,
    "login:" * 6_600,
    "логин/пароль: a " * 2_500,
    "kind: secret\npassword: " + "YWFh" * 10_000,
    "kind: secret " + "password: YWFhYWFh\n" * 2_000,
    "LS0tLS1CRUdJTi" * 2_800,
    "sig=" * 10_000,
    "pat " * 10_000,
    "t.MTt.EAA" * 4_400,
    "| пароль |\n| - |\n" * 2_000 + "| a1b2c3d4 " * 1_000,
]


@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: text[:14])
def test_no_text_keeps_the_search_busy(text: str) -> None:
    """Forty thousand characters made to be looked at again and again take less than some seconds."""

    def took() -> float:
        begun = time.process_time()
        secrets(text)
        return time.process_time() - begun

    # The slowest takes some nine tenths of a second; beside other work on the same cores it took more than one.
    assert soonest(took, lambda seconds: seconds < 5.0) < 5.0
