"""The environment variables that are read: what each means, and its default."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from contracts.errors import ConfigError


@dataclass(frozen=True, slots=True)
class Variable:
    """An environment variable that is read: its default and what it means, in both languages."""

    name: str
    default: str
    en: str
    ru: str
    secret: bool = False

    def shown(self, environment: Mapping[str, str]) -> str:
        """Return its value as it may be shown: of a secret only whether it is set, of an address no password."""
        value = environment.get(self.name, "").strip() or self.default
        if self.secret:
            return "(set)" if value else "(not set)"
        return without_password(value) if "://" in value else value


VARIABLES: Final = (
    Variable(
        "GUARDIAN_DATA_DIR",
        ".guardian",
        "Folder of indexes and conversations; relative to the working directory.",
        "Папка индексов и диалогов; относительно текущей папки.",
    ),
    Variable(
        "GUARDIAN_PROFILE",
        "handbook",
        "Name of a bundled profile, or path of a TOML file.",
        "Имя встроенного профиля или путь к файлу TOML.",
    ),
    Variable("GUARD_ENABLED", "true", "Moderation on or off.", "Модерация включена или выключена."),
    Variable(
        "GUARD_MODE",
        "",
        "enforce, report or off; empty: as the profile says.",
        "enforce, report или off; пусто — как в профиле.",
    ),
    Variable(
        "GUARD_PROVIDER_TYPE",
        "rules",
        "The moderator: rules, vllm, mosec or off.",
        "Модератор: rules, vllm, mosec или off.",
    ),
    Variable(
        "GUARD_VLLM_URL",
        "",
        "Address of the moderation model's OpenAI-compatible API, up to and with /v1.",
        "Адрес OpenAI-совместимого API модели модерации, включая /v1.",
    ),
    Variable("GUARD_VLLM_MODEL", "", "Name of the moderation model.", "Имя модели модерации."),
    Variable("GUARD_VLLM_API_KEY", "", "Its API key, if it needs one.", "Её ключ API, если он нужен.", secret=True),
    Variable("GUARD_MOSEC_URL", "http://127.0.0.1", "Address of the MOSEC server.", "Адрес сервера MOSEC."),
    Variable("GUARD_MOSEC_PORT", "", "Its port, where the address has none.", "Его порт, если его нет в адресе."),
    Variable("GUARD_MOSEC_PATH", "/inference", "Path of its endpoint.", "Путь его метода."),
    Variable("GUARD_MOSEC_TEXT_FIELD", "content", "Field of its request for the text.", "Поле запроса с текстом."),
    Variable(
        "GUARD_MOSEC_TYPE_FIELD",
        "moderation_type",
        "Field of its request for what is checked.",
        "Поле запроса с видом проверки.",
    ),
    Variable(
        "GUARD_TIMEOUT",
        "10",
        "Seconds for all tries of one check together.",
        "Секунды на все попытки одной проверки вместе.",
    ),
    Variable(
        "GUARD_MAX_RETRIES",
        "2",
        "How often a failed check is tried again.",
        "Сколько раз повторяется неудавшаяся проверка.",
    ),
    Variable(
        "GUARDIAN_MODEL",
        "",
        "Name of the language model; empty: the assistant works without one.",
        "Имя языковой модели; пусто — ассистент работает без неё.",
    ),
    Variable(
        "GUARDIAN_PLANNER_MODEL",
        "",
        "Another model for planning, or offline.",
        "Другая модель для планирования или offline.",
    ),
    Variable(
        "GUARDIAN_DRAFTER_MODEL",
        "",
        "Another model for drafting, or offline.",
        "Другая модель для черновиков или offline.",
    ),
    Variable(
        "OPENAI_BASE_URL",
        "",
        "Address of the OpenAI-compatible API, up to and with /v1; empty: OpenAI's own.",
        "Адрес OpenAI-совместимого API, включая /v1; пусто — сам OpenAI.",
    ),
    Variable("OPENAI_API_KEY", "", "Its API key, if it needs one.", "Его ключ API, если он нужен.", secret=True),
    Variable(
        "OPENAI_PROXY",
        "",
        "Address of a proxy for the models' servers.",
        "Адрес прокси для серверов моделей.",
    ),
    Variable(
        "GUARDIAN_MODEL_TIMEOUT",
        "60",
        "Seconds for one planning or drafting exchange, all tries together.",
        "Секунды на один план или черновик, все попытки вместе.",
    ),
    Variable(
        "GUARDIAN_MODEL_RETRIES",
        "2",
        "How often a request that failed is sent again.",
        "Сколько раз повторяется неудавшийся запрос.",
    ),
    Variable(
        "GUARDIAN_MODEL_WINDOW",
        "0",
        "Tokens of the model's context; 0: the server is asked.",
        "Токены контекста модели; 0 — спросить сервер.",
    ),
    Variable(
        "GUARDIAN_MODEL_TEMPERATURE",
        "0",
        "Temperature, or none to leave it to the server.",
        "Температура; none — оставить серверу.",
    ),
    Variable(
        "GUARDIAN_MODEL_EXTRA",
        "",
        "Further fields of each request's body, as a JSON object.",
        "Дополнительные поля тела запроса, объект JSON.",
        secret=True,
    ),
    Variable(
        "GUARDIAN_PLAN_TOKENS",
        "2000",
        "Tokens a plan may take, reasoning included.",
        "Токены на план вместе с рассуждением.",
    ),
    Variable(
        "GUARDIAN_ANSWER_TOKENS",
        "2000",
        "Tokens a draft may take, reasoning included.",
        "Токены на черновик вместе с рассуждением.",
    ),
    Variable(
        "GUARDIAN_TOOL_FORM",
        "probe",
        "How the plan is asked for: probe, named, required, auto or json_schema.",
        "Как запрашивается план: probe, named, required, auto или json_schema.",
    ),
    Variable(
        "GUARDIAN_TOOL_STRICT",
        "probe",
        "Whether the server enforces the plan's schema: probe, true or false.",
        "Следит ли сервер за схемой плана: probe, true или false.",
    ),
    Variable(
        "GUARDIAN_PARALLEL_TOOL_CALLS",
        "false",
        "Sent with a tool: false, true, or none to leave it out.",
        "Передаётся с инструментом: false, true; none — не передавать.",
    ),
    Variable(
        "GUARDIAN_SYSTEM_ROLE",
        "system",
        "Where the system prompt goes: system, or user for models without that role.",
        "Куда идёт системный промпт: system, или user для моделей без этой роли.",
    ),
    Variable(
        "GUARDIAN_PLAN_AHEAD",
        "false",
        "Whether planning begins beside moderation.",
        "Начинать ли планирование одновременно с модерацией.",
    ),
    Variable(
        "GUARDIAN_INDEX_URL",
        "",
        "Address of an index in Qdrant or PostgreSQL: qdrant://host:6333 or postgresql://user@host/database; empty: in "
        "GUARDIAN_DATA_DIR.",
        "Адрес индекса в Qdrant или PostgreSQL: qdrant://host:6333 или postgresql://user@host/database; пусто — в "
        "GUARDIAN_DATA_DIR.",
    ),
    Variable(
        "GUARDIAN_INDEX_KEY",
        "",
        "Its API key or the database's password, if it needs one.",
        "Его ключ API или пароль базы данных, если он нужен.",
        secret=True,
    ),
    Variable(
        "GUARDIAN_EMBEDDER",
        "auto",
        "What searches by meaning beside the words: use or e5 (the model of the extra `meaning` or `meaning-large`, in "
        "this process), off (nothing), or auto: the server in GUARDIAN_EMBED_URL, without one e5 or else use where it is "
        "installed, else nothing. A path names a folder with a model of your own.",
        "Чем искать по смыслу рядом с поиском по словам: use или e5 — моделью из дополнения `meaning` или "
        "`meaning-large`, в этом же процессе; off — ничем; auto — сервером из GUARDIAN_EMBED_URL, без него e5 или use, "
        "если она установлена, иначе ничем. Путь называет папку с вашей моделью.",
    ),
    Variable(
        "GUARDIAN_EMBED_URL",
        "",
        "Address of an embedding model's OpenAI-compatible API, up to and with /v1; empty: no such server is asked.",
        "Адрес OpenAI-совместимого API модели эмбеддингов, включая /v1; пусто — такого сервера нет.",
    ),
    Variable("GUARDIAN_EMBED_MODEL", "", "Name of the embedding model.", "Имя модели эмбеддингов."),
    Variable(
        "GUARDIAN_EMBED_LANGUAGES",
        "",
        "Languages that it was made for: en, ru or en,ru.",
        "Языки, для которых она сделана: en, ru или en,ru.",
    ),
    Variable("GUARDIAN_EMBED_KEY", "", "Its API key, if it needs one.", "Её ключ API, если он нужен.", secret=True),
    Variable(
        "GUARDIAN_EMBED_QUERY_PREFIX",
        "",
        "Words before each query, for models that want them.",
        "Слова перед каждым запросом, если модель их ждёт.",
    ),
    Variable(
        "GUARDIAN_EMBED_TEXT_PREFIX",
        "",
        "Words before each passage, for models that want them.",
        "Слова перед каждым фрагментом, если модель их ждёт.",
    ),
    Variable(
        "GUARDIAN_EMBED_TIMEOUT",
        "10",
        "Seconds for the vector of one query, all tries together.",
        "Секунды на вектор одного запроса, все попытки вместе.",
    ),
    Variable(
        "GUARDIAN_RERANK_URL",
        "",
        "Address of a reranking model, up to the last part, rerank; empty: none is asked.",
        "Адрес модели переранжирования, без последней части rerank; пусто — её нет.",
    ),
    Variable("GUARDIAN_RERANK_MODEL", "", "Name of the reranking model.", "Имя модели переранжирования."),
    Variable(
        "GUARDIAN_RERANK_LANGUAGES",
        "",
        "Languages that it was made for: en, ru or en,ru.",
        "Языки, для которых она сделана: en, ru или en,ru.",
    ),
    Variable("GUARDIAN_RERANK_KEY", "", "Its API key, if it needs one.", "Её ключ API, если он нужен.", secret=True),
    Variable(
        "GUARDIAN_RERANK_SHAPE",
        "cohere",
        "What the server speaks: cohere (Jina's too), or tei.",
        "Язык сервера: cohere (он же у Jina) или tei.",
    ),
    Variable(
        "GUARDIAN_RERANK_TOP",
        "20",
        "How many of the best passages of one query it puts in order.",
        "Сколько лучших фрагментов одного запроса она упорядочивает.",
    ),
    Variable(
        "GUARDIAN_RERANK_TIMEOUT",
        "10",
        "Seconds for one query, all tries together.",
        "Секунды на один запрос, все попытки вместе.",
    ),
    Variable(
        "GUARDIAN_ENTAIL_URL",
        "",
        "Address of a model that checks whether claims follow from what they cite, without the last part, predict, or "
        "up to and with /v1; empty: none is asked.",
        "Адрес модели, которая проверяет, следуют ли утверждения из процитированного: без последней части predict или "
        "включая /v1; пусто — её нет.",
    ),
    Variable("GUARDIAN_ENTAIL_MODEL", "", "Name of that model; tei needs none.", "Имя этой модели; для tei не нужно."),
    Variable(
        "GUARDIAN_ENTAIL_LANGUAGES",
        "",
        "Languages that it was made for: en, ru or en,ru.",
        "Языки, для которых она сделана: en, ru или en,ru.",
    ),
    Variable("GUARDIAN_ENTAIL_KEY", "", "Its API key, if it needs one.", "Её ключ API, если он нужен.", secret=True),
    Variable(
        "GUARDIAN_ENTAIL_SHAPE",
        "tei",
        "What the server speaks: tei, or chat for a chat model as a judge.",
        "Язык сервера: tei или chat, если судит чат-модель.",
    ),
    Variable(
        "GUARDIAN_ENTAIL_LABELS",
        "",
        "What its LABEL_0, LABEL_1, ... stand for, in order: entailment, neutral, contradiction, not_entailment.",
        "Что значат её LABEL_0, LABEL_1, ... по порядку: entailment, neutral, contradiction, not_entailment.",
    ),
    Variable(
        "GUARDIAN_ENTAIL_TIMEOUT",
        "10",
        "Seconds for all claims of one draft, all tries together.",
        "Секунды на все утверждения одного черновика, все попытки вместе.",
    ),
    Variable(
        "GUARDIAN_DATABASE_URL",
        "",
        "Database of the profile's lookups, sqlite:/// or postgresql://; empty: the assistant's own conversations.",
        "База справок профиля, sqlite:/// или postgresql://; пусто — диалоги самого ассистента.",
    ),
    Variable(
        "GUARDIAN_GRAPH_URL",
        "",
        "Address of a Neo4j server; empty: the graph is made of the documents.",
        "Адрес сервера Neo4j; пусто — граф делается из документов.",
    ),
    Variable(
        "GUARDIAN_HANDOFF_TO",
        "",
        "Where hand-offs go: a folder, or the address of a webhook with http:// or https://; empty: nowhere.",
        "Куда идут обращения к людям: папка или адрес вебхука с http:// или https://; пусто — никуда.",
        # The path of a webhook is often the only secret that it has.
        secret=True,
    ),
    Variable(
        "GUARDIAN_HANDOFF_KEY",
        "",
        "Key that the webhook expects, as a bearer token, and that requests to it are signed with.",
        "Ключ, которого ждёт вебхук (bearer-токен) и которым подписываются запросы к нему.",
        secret=True,
    ),
    Variable(
        "GUARDIAN_HANDOFF_TIMEOUT",
        "10",
        "Seconds for delivering one hand-off, all tries together.",
        "Секунды на доставку одного обращения, все попытки вместе.",
    ),
    Variable(
        "GUARDIAN_DRAIN_SECONDS",
        "30",
        "Seconds that a server which is told to end waits for running turns.",
        "Сколько секунд сервер, который завершают, ждёт начатые ходы.",
    ),
    Variable(
        "GUARDIAN_MAX_REQUEST_BYTES",
        "262144",
        "Bytes that the body of a request over HTTP may have.",
        "Сколько байтов может быть в теле запроса по HTTP.",
    ),
    Variable(
        "GUARDIAN_CONNECTIONS_PER_ADDRESS",
        "500",
        "Connections to the HTTP server that one address may have open at once.",
        "Сколько соединений с HTTP-сервером может быть открыто одновременно с одного адреса.",
    ),
    Variable(
        "GUARDIAN_PROXIES",
        "",
        "Addresses or networks of proxies in front of the server, with commas between: to them that bound does not apply.",
        "Адреса или сети прокси перед сервером через запятую: на них это ограничение не распространяется.",
    ),
    Variable(
        "GUARDIAN_CORS_ORIGINS",
        "",
        "Web pages from elsewhere that may ask the server: addresses like http://localhost:3000, with commas between; "
        "empty: none.",
        "Страницы других сайтов, которым можно обращаться к серверу: адреса вида http://localhost:3000 через запятую; "
        "пусто — никаким.",
    ),
    Variable(
        "GUARDIAN_TRACE_CONTENT",
        "true",
        "Whether traces (LangSmith, OpenTelemetry) carry texts.",
        "Попадают ли тексты в трассировку (LangSmith, OpenTelemetry).",
    ),
)
"""Every variable that is read. `guardian show settings` and the handbook print this list."""


def without_password(url: str) -> str:
    """Return an address that can be shown: without a user's name and password, without a query.

    Of what is no address nothing is shown: a password may be anywhere in it.
    """
    try:
        parts = urlsplit(url)
    except ValueError:
        return "(not an address)"
    # Not `urlunsplit`: of `sqlite:///file.db` it would drop two slashes.
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def one_of(name: str, value: str, allowed: tuple[str, ...]) -> str:
    if value not in allowed:
        raise ConfigError(f"{name} is {value!r}.", f"Set it to one of: {', '.join(filter(None, allowed))}.")
    return value
