"""Settings of the process, from the environment: one class for each group, with all facts about its variables.

Every command reads them all and ends at the first wrong one. Each class says which commands use its group.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, ClassVar, Final, Literal, Self, TypeAlias, get_type_hints
from urllib.parse import urlsplit

from pydantic import SecretStr, model_validator

from assistant.config import kinds
from assistant.config.group import Group, Variable, variable
from contracts.enums import Language
from contracts.errors import ConfigError

OFFLINE: Final = "offline"
LONGEST_RANKING_S: Final = 50.0
"""Of an embedding model and of a reranker, which are asked one after the other: within `LONGEST_TIMEOUT_S` together."""
LONGEST_TIMEOUT_S: Final = 110.0
"""Less than a node may take, so that a port always ends before its node is ended."""
MOST_MONEY: Final = 1_000_000.0
"""The highest budget of a day, in any currency."""
LONGEST_MODEL_S: Final = 600.0
"""Of a language model. A node that may wait for one longer than usual is given more time by as much."""


class DataSettings(Group):
    """The place of the data, and its profile: for every command."""

    folder: kinds.Folder = variable("GUARDIAN_DATA_DIR", Path(".guardian"))(
        "Folder of indexes and conversations; relative to the working directory.",
        "Папка индексов и диалогов; относительно текущей папки.",
    )
    profile: str = variable("GUARDIAN_PROFILE", "handbook")(
        "Name of a bundled profile, or path of a TOML file.", "Имя встроенного профиля или путь к файлу TOML."
    )


class StorageSettings(Group):
    """Where conversations are: for every command that runs turns, or reads or deletes conversations."""

    url: kinds.StorageAddress = variable("GUARDIAN_DATABASE", "")(
        "PostgreSQL server of the conversations, postgresql://; empty: a file in the folder of data.",
        "Сервер PostgreSQL для диалогов, postgresql://; пусто — файл в папке данных.",
    )


class ModerationSettings(Group):
    """The moderator: for every command that runs turns, and for `doctor`, `eval` and `search --explain`."""

    enabled: kinds.Flag = variable("GUARD_ENABLED", True)("Moderation on or off.", "Модерация включена или выключена.")
    mode: Literal["", "enforce", "report", "off"] = variable("GUARD_MODE", "")(
        "enforce, report or off; empty: as the profile says.", "enforce, report или off; пусто — как в профиле."
    )
    provider: Literal["rules", "vllm", "mosec", "off"] = variable("GUARD_PROVIDER_TYPE", "rules")(
        "The moderator: rules, vllm, mosec or off.", "Модератор: rules, vllm, mosec или off."
    )
    vllm_url: Annotated[str, kinds.address_beside("GUARD_VLLM_API_KEY")] = variable("GUARD_VLLM_URL", "")(
        "Address of the moderation model's OpenAI-compatible API, up to and with /v1.",
        "Адрес OpenAI-совместимого API модели модерации, включая /v1.",
    )
    vllm_model: str = variable("GUARD_VLLM_MODEL", "")("Name of the moderation model.", "Имя модели модерации.")
    vllm_key: kinds.Key = variable("GUARD_VLLM_API_KEY", SecretStr(""))(
        "Its API key, if it needs one.", "Её ключ API, если он нужен."
    )
    mosec_url: kinds.Address = variable("GUARD_MOSEC_URL", "http://127.0.0.1")(
        "Address of the MOSEC server.", "Адрес сервера MOSEC."
    )
    mosec_port: kinds.WholeOrNone = variable("GUARD_MOSEC_PORT", None, least=1, most=65_535)(
        "Its port, where the address has none.", "Его порт, если его нет в адресе."
    )
    mosec_path: str = variable("GUARD_MOSEC_PATH", "/inference")("Path of its endpoint.", "Путь его метода.")
    mosec_text_field: str = variable("GUARD_MOSEC_TEXT_FIELD", "content")(
        "Field of its request for the text.", "Поле запроса с текстом."
    )
    mosec_type_field: str = variable("GUARD_MOSEC_TYPE_FIELD", "moderation_type")(
        "Field of its request for what is checked.", "Поле запроса с видом проверки."
    )
    timeout_s: float = variable("GUARD_TIMEOUT", 10.0, least=0.1, most=LONGEST_TIMEOUT_S)(
        "Seconds for all tries of one check together.", "Секунды на все попытки одной проверки вместе."
    )
    retries: kinds.Whole = variable("GUARD_MAX_RETRIES", 2, least=0, most=10)(
        "How often a failed check is tried again.", "Сколько раз повторяется неудавшаяся проверка."
    )

    @property
    def mosec_address(self) -> str:
        """The full address of the MOSEC endpoint."""
        parts = urlsplit(self.mosec_url)
        place = f"{parts.netloc}:{self.mosec_port}" if self.mosec_port and parts.port is None else parts.netloc
        return f"{parts.scheme}://{place}{parts.path}/{self.mosec_path.lstrip('/')}"

    @model_validator(mode="after")
    def _check_addresses(self) -> Self:
        if not kinds.is_address(self.mosec_address):
            raise ConfigError(
                "GUARD_MOSEC_PATH cannot be part of an address.", "Write it as /path, of ASCII without blanks."
            )
        if self.provider == "vllm" and not (self.vllm_url and self.vllm_model):
            raise ConfigError(
                "GUARD_PROVIDER_TYPE is 'vllm', but the server's address is not set.",
                "Set GUARD_VLLM_URL and GUARD_VLLM_MODEL.",
            )
        return self


class ModelSettings(Group):
    """The language models that plan and draft: for every command that runs turns, and for `doctor` and `eval`.

    Embeddings, reranking and entailment use the same proxy and retries.
    """

    name: str = variable("GUARDIAN_MODEL", "")(
        "Name of the language model; empty: the assistant works without one.",
        "Имя языковой модели; пусто — ассистент работает без неё.",
    )
    planner_name: str = variable("GUARDIAN_PLANNER_MODEL", "")(
        "Another model for planning, or offline.", "Другая модель для планирования или offline."
    )
    drafter_name: str = variable("GUARDIAN_DRAFTER_MODEL", "")(
        "Another model for drafting, or offline.", "Другая модель для черновиков или offline."
    )
    url: Annotated[str, kinds.address_beside("OPENAI_API_KEY")] = variable("OPENAI_BASE_URL", "")(
        "Address of the OpenAI-compatible API, up to and with /v1; empty: OpenAI's own.",
        "Адрес OpenAI-совместимого API, включая /v1; пусто — сам OpenAI.",
    )
    key: kinds.Key = variable("OPENAI_API_KEY", SecretStr(""))(
        "Its API key, if it needs one.", "Его ключ API, если он нужен."
    )
    proxy: kinds.Address = variable("OPENAI_PROXY", "")(
        "Address of a proxy for the models' servers.", "Адрес прокси для серверов моделей."
    )
    timeout_s: float = variable("GUARDIAN_MODEL_TIMEOUT", 60.0, least=0.1, most=LONGEST_MODEL_S)(
        "Seconds for one planning or drafting exchange, all tries together.",
        "Секунды на один план или черновик, все попытки вместе.",
    )
    retries: kinds.Whole = variable("GUARDIAN_MODEL_RETRIES", 2, least=0, most=10)(
        "How often a request that failed is sent again.", "Сколько раз повторяется неудавшийся запрос."
    )
    window: kinds.Whole = variable("GUARDIAN_MODEL_WINDOW", 0, least=0, most=10_000_000)(
        "Tokens of the model's context; 0: the server is asked.", "Токены контекста модели; 0 — спросить сервер."
    )
    temperature: kinds.NumberOrNone = variable(
        "GUARDIAN_MODEL_TEMPERATURE", 0.0, least=0.0, most=2.0, values="0 to 2, or none"
    )("Temperature, or none to leave it to the server.", "Температура; none — оставить серверу.")
    extra: kinds.JsonObject = variable("GUARDIAN_MODEL_EXTRA", {}, secret=True)(
        "Further fields of each request's body, as a JSON object.", "Дополнительные поля тела запроса, объект JSON."
    )
    plan_tokens: kinds.Whole = variable("GUARDIAN_PLAN_TOKENS", 2000, least=100, most=200_000)(
        "Tokens a plan may take, reasoning included.", "Токены на план вместе с рассуждением."
    )
    answer_tokens: kinds.Whole = variable("GUARDIAN_ANSWER_TOKENS", 2000, least=100, most=200_000)(
        "Tokens a draft may take, reasoning included.", "Токены на черновик вместе с рассуждением."
    )
    tool_form: Literal["probe", "named", "required", "auto", "json_schema", "small"] = variable(
        "GUARDIAN_TOOL_FORM", "probe"
    )(
        "How the plan is asked for: probe, named, required, auto, json_schema or small.",
        "Как запрашивается план: probe, named, required, auto, json_schema или small.",
    )
    tool_strict: Literal["probe", "true", "false"] = variable("GUARDIAN_TOOL_STRICT", "probe")(
        "Whether the server enforces the plan's schema: probe, true or false.",
        "Следит ли сервер за схемой плана: probe, true или false.",
    )
    parallel_tool_calls: Literal["false", "true", "none"] = variable("GUARDIAN_PARALLEL_TOOL_CALLS", "false")(
        "Sent with a tool: false, true, or none to leave it out.",
        "Передаётся с инструментом: false, true; none — не передавать.",
    )
    system_role: Literal["system", "user"] = variable("GUARDIAN_SYSTEM_ROLE", "system")(
        "Where the system prompt goes: system, or user for models without that role.",
        "Куда идёт системный промпт: system, или user для моделей без этой роли.",
    )
    plan_ahead: kinds.Flag = variable("GUARDIAN_PLAN_AHEAD", False)(
        "Whether planning begins beside moderation.", "Начинать ли планирование одновременно с модерацией."
    )

    @property
    def planner(self) -> str:
        """The planning model's name; empty if planning works without a model."""
        return _unless_offline(self.planner_name or self.name)

    @property
    def drafter(self) -> str:
        """The drafting model's name; empty if drafting works without a model."""
        return _unless_offline(self.drafter_name or self.name)

    @model_validator(mode="after")
    def _check_place(self) -> Self:
        if (self.planner or self.drafter) and not (self.url or self.key):
            raise ConfigError(
                "A language model is named, but its address is not set.",
                "Set OPENAI_BASE_URL to its server, or OPENAI_API_KEY for OpenAI's own.",
            )
        return self


class IndexSettings(Group):
    """An index on a server: for `index`, `search`, every command that runs turns, and `doctor`."""

    url: kinds.IndexAddress = variable("GUARDIAN_INDEX_URL", "")(
        "Address of an index in Qdrant or PostgreSQL: qdrant://host:6333 or postgresql://user@host/database; empty: in "
        "GUARDIAN_DATA_DIR.",
        "Адрес индекса в Qdrant или PostgreSQL: qdrant://host:6333 или postgresql://user@host/database; пусто — в "
        "GUARDIAN_DATA_DIR.",
    )
    key: SecretStr = variable("GUARDIAN_INDEX_KEY", SecretStr(""))(
        "Its API key or the database's password, if it needs one.",
        "Его ключ API или пароль базы данных, если он нужен.",
    )


class EmbedderSettings(Group):
    """The embedder for search by meaning: for `index`, `search`, every command that runs turns, and `doctor`."""

    names: ClassVar = "GUARDIAN_EMBED"
    """How the names of its variables begin."""

    name: Annotated[str, kinds.model_among("auto", "use", "e5", "off")] = variable(
        "GUARDIAN_EMBEDDER", "auto", values="auto, use, e5, off, the path of a folder, with a / in it"
    )(
        "What searches by meaning beside the words: use or e5 (the model of the extra `meaning` or `meaning-large`, in "
        "this process), off (nothing), or auto: the server in GUARDIAN_EMBED_URL, without one e5 or else use where it is "
        "installed, else nothing. A path names a folder with a model of your own.",
        "Чем искать по смыслу рядом с поиском по словам: use или e5 — моделью из дополнения `meaning` или "
        "`meaning-large`, в этом же процессе; off — ничем; auto — сервером из GUARDIAN_EMBED_URL, без него e5 или use, "
        "если она установлена, иначе ничем. Путь называет папку с вашей моделью.",
    )
    url: Annotated[str, kinds.address_beside("GUARDIAN_EMBED_KEY")] = variable("GUARDIAN_EMBED_URL", "")(
        "Address of an embedding model's OpenAI-compatible API, up to and with /v1; empty: no such server is asked.",
        "Адрес OpenAI-совместимого API модели эмбеддингов, включая /v1; пусто — такого сервера нет.",
    )
    model: str = variable("GUARDIAN_EMBED_MODEL", "")("Name of the embedding model.", "Имя модели эмбеддингов.")
    languages: kinds.Languages = variable("GUARDIAN_EMBED_LANGUAGES", frozenset[Language]())(
        "Languages that it was made for: en, ru or en,ru.", "Языки, для которых она сделана: en, ru или en,ru."
    )
    key: kinds.Key = variable("GUARDIAN_EMBED_KEY", SecretStr(""))(
        "Its API key, if it needs one.", "Её ключ API, если он нужен."
    )
    query_prefix: str = variable("GUARDIAN_EMBED_QUERY_PREFIX", "")(
        "Words before each query, for models that want them.", "Слова перед каждым запросом, если модель их ждёт."
    )
    text_prefix: str = variable("GUARDIAN_EMBED_TEXT_PREFIX", "")(
        "Words before each passage, for models that want them.", "Слова перед каждым фрагментом, если модель их ждёт."
    )
    timeout_s: float = variable("GUARDIAN_EMBED_TIMEOUT", 10.0, least=0.1, most=LONGEST_RANKING_S)(
        "Seconds for the vector of one query, all tries together.",
        "Секунды на вектор одного запроса, все попытки вместе.",
    )

    @model_validator(mode="after")
    def _check_model(self) -> Self:
        _require_languages(self)
        if self.url and not self.model:
            raise ConfigError("GUARDIAN_EMBED_URL is set, but no model is named.", "Set GUARDIAN_EMBED_MODEL.")
        return self


class RerankerSettings(Group):
    """The reranker, which orders passages: for `search`, every command that runs turns, and `doctor`."""

    names: ClassVar = "GUARDIAN_RERANK"

    name: Annotated[str, kinds.model_among("auto", "minilm", "off")] = variable(
        "GUARDIAN_RERANKER", "auto", values="auto, minilm, off, the path of a folder, with a / in it"
    )(
        "What reads the best passages together with the question and orders them: minilm (the model of the extra "
        "`rerank`, for English, in this process), off (nothing), or auto: the server in GUARDIAN_RERANK_URL, without one "
        "minilm where it is installed, else nothing. A path names a folder with a model of your own.",
        "Что читает лучшие фрагменты вместе с вопросом и упорядочивает их: minilm — модель из дополнения `rerank`, для "
        "английского, в этом же процессе; off — ничего; auto — сервер из GUARDIAN_RERANK_URL, без него minilm, если она "
        "установлена, иначе ничего. Путь называет папку с вашей моделью.",
    )
    url: Annotated[str, kinds.address_beside("GUARDIAN_RERANK_KEY")] = variable("GUARDIAN_RERANK_URL", "")(
        "Address of a reranking model, up to the last part, rerank; empty: none is asked.",
        "Адрес модели переранжирования, без последней части rerank; пусто — её нет.",
    )
    model: str = variable("GUARDIAN_RERANK_MODEL", "")("Name of the reranking model.", "Имя модели переранжирования.")
    languages: kinds.Languages = variable("GUARDIAN_RERANK_LANGUAGES", frozenset[Language]())(
        "Languages that it was made for: en, ru or en,ru.", "Языки, для которых она сделана: en, ru или en,ru."
    )
    key: kinds.Key = variable("GUARDIAN_RERANK_KEY", SecretStr(""))(
        "Its API key, if it needs one.", "Её ключ API, если он нужен."
    )
    shape: Literal["cohere", "tei"] = variable("GUARDIAN_RERANK_SHAPE", "cohere")(
        "What the server speaks: cohere (Jina's too), or tei.", "Язык сервера: cohere (он же у Jina) или tei."
    )
    top: kinds.Whole = variable("GUARDIAN_RERANK_TOP", 8, least=1, most=200)(
        "How many of the best passages of one query it puts in order.",
        "Сколько лучших фрагментов одного запроса она упорядочивает.",
    )
    timeout_s: float = variable("GUARDIAN_RERANK_TIMEOUT", 10.0, least=0.1, most=LONGEST_RANKING_S)(
        "Seconds for one query, all tries together.", "Секунды на один запрос, все попытки вместе."
    )

    @model_validator(mode="after")
    def _check_model(self) -> Self:
        if self.name == "auto":  # else no server is asked
            _require_languages(self)
        return self


class EntailmentSettings(Group):
    """The check of claims against their sources: for every command that runs turns, and for `doctor` and `eval`."""

    names: ClassVar = "GUARDIAN_ENTAIL"

    url: Annotated[str, kinds.address_beside("GUARDIAN_ENTAIL_KEY")] = variable("GUARDIAN_ENTAIL_URL", "")(
        "Address of a model that checks whether claims follow from what they cite, without the last part, predict, or "
        "up to and with /v1; empty: none is asked.",
        "Адрес модели, которая проверяет, следуют ли утверждения из процитированного: без последней части predict или "
        "включая /v1; пусто — её нет.",
    )
    model: str = variable("GUARDIAN_ENTAIL_MODEL", "")(
        "Name of that model; tei needs none.", "Имя этой модели; для tei не нужно."
    )
    languages: kinds.Languages = variable("GUARDIAN_ENTAIL_LANGUAGES", frozenset[Language]())(
        "Languages that it was made for: en, ru or en,ru.", "Языки, для которых она сделана: en, ru или en,ru."
    )
    key: kinds.Key = variable("GUARDIAN_ENTAIL_KEY", SecretStr(""))(
        "Its API key, if it needs one.", "Её ключ API, если он нужен."
    )
    shape: Literal["tei", "chat"] = variable("GUARDIAN_ENTAIL_SHAPE", "tei")(
        "What the server speaks: tei, or chat for a chat model as a judge.",
        "Язык сервера: tei или chat, если судит чат-модель.",
    )
    labels: kinds.Labels = variable("GUARDIAN_ENTAIL_LABELS", ())(
        "What its LABEL_0, LABEL_1, ... stand for, in order: entailment, neutral, contradiction, not_entailment.",
        "Что значат её LABEL_0, LABEL_1, ... по порядку: entailment, neutral, contradiction, not_entailment.",
    )
    timeout_s: float = variable("GUARDIAN_ENTAIL_TIMEOUT", 10.0, least=0.1, most=LONGEST_TIMEOUT_S)(
        "Seconds for all claims of one draft, all tries together.",
        "Секунды на все утверждения одного черновика, все попытки вместе.",
    )

    @model_validator(mode="after")
    def _check_model(self) -> Self:
        _require_languages(self)
        if self.url and self.shape == "chat" and not self.model:
            raise ConfigError("GUARDIAN_ENTAIL_SHAPE is 'chat', but no model is named.", "Set GUARDIAN_ENTAIL_MODEL.")
        return self


class LookupSettings(Group):
    """The servers that a profile's lookups ask: for every command that runs turns, and for `index` and `doctor`."""

    database_url: kinds.Database = variable("GUARDIAN_DATABASE_URL", "")(
        "Database of the profile's lookups, sqlite:/// or postgresql://; empty: the assistant's own conversations.",
        "База справок профиля, sqlite:/// или postgresql://; пусто — диалоги самого ассистента.",
    )
    graph_url: str = variable("GUARDIAN_GRAPH_URL", "")(
        "Address of a Neo4j server; empty: the graph is made of the documents.",
        "Адрес сервера Neo4j; пусто — граф делается из документов.",
    )


class HandOffSettings(Group):
    """The destination of hand-offs: for every command that runs turns, and for `hand-offs` and `doctor`."""

    # Secret, as the path of a webhook is often the only secret that it has.
    to: Annotated[str, kinds.destination_beside("GUARDIAN_HANDOFF_KEY")] = variable(
        "GUARDIAN_HANDOFF_TO", "", secret=True
    )(
        "Where hand-offs go: a folder, or the address of a webhook with http:// or https://; empty: nowhere.",
        "Куда идут обращения к людям: папка или адрес вебхука с http:// или https://; пусто — никуда.",
    )
    key: kinds.Key = variable("GUARDIAN_HANDOFF_KEY", SecretStr(""))(
        "Key that the webhook expects, as a bearer token, and that requests to it are signed with.",
        "Ключ, которого ждёт вебхук (bearer-токен) и которым подписываются запросы к нему.",
    )
    timeout_s: float = variable("GUARDIAN_HANDOFF_TIMEOUT", 10.0, least=0.1, most=60.0)(
        "Seconds for delivering one hand-off, all tries together.",
        "Секунды на доставку одного обращения, все попытки вместе.",
    )


class ServerSettings(Group):
    """The HTTP server: for `serve` and `ui`."""

    drain_s: float = variable("GUARDIAN_DRAIN_SECONDS", 30.0, least=0.0, most=600.0)(
        "Seconds that a server which is told to end waits for running turns.",
        "Сколько секунд сервер, который завершают, ждёт начатые ходы.",
    )
    max_request_bytes: kinds.Whole = variable("GUARDIAN_MAX_REQUEST_BYTES", 262_144, least=1024, most=100_000_000)(
        "Bytes that the body of a request over HTTP may have.", "Сколько байтов может быть в теле запроса по HTTP."
    )
    max_upload_bytes: kinds.Whole = variable("GUARDIAN_MAX_UPLOAD_BYTES", 50_000_000, least=1024, most=1_000_000_000)(
        "Bytes that an upload on the page Documents may have, all its files together.",
        "Сколько байтов могут занимать вместе файлы, которые загружают на странице «Документы».",
    )
    connections_per_address: kinds.Whole = variable("GUARDIAN_CONNECTIONS_PER_ADDRESS", 500, least=1, most=100_000)(
        "Connections to the HTTP server that one address may have open at once.",
        "Сколько соединений с HTTP-сервером может быть открыто одновременно с одного адреса.",
    )
    proxies: kinds.Networks = variable("GUARDIAN_PROXIES", ())(
        "Addresses or networks of proxies in front of the server, with commas between: to them that bound does not apply.",
        "Адреса или сети прокси перед сервером через запятую: на них это ограничение не распространяется.",
    )
    share_days: kinds.Whole = variable("GUARDIAN_SHARE_DAYS", 0, least=0, most=366)(
        "Days for which a link to a conversation of the chat page is valid, for readers with the same role; "
        "0: nobody can share one.",
        "Сколько дней действует ссылка на диалог страницы чата для читателей с той же ролью; 0 — делиться нельзя.",
    )
    origins: kinds.Origins = variable("GUARDIAN_CORS_ORIGINS", ())(
        "Web pages from elsewhere that may ask the server: addresses like http://localhost:3000, with commas between; "
        "empty: none.",
        "Страницы других сайтов, которым можно обращаться к серверу: адреса вида http://localhost:3000 через запятую; "
        "пусто — никаким.",
    )


class CallerSettings(Group):
    """Callers without an API key, and how long their conversations are kept: for `serve` and `ui`."""

    visitors: kinds.Flag = variable("GUARDIAN_VISITORS", False)(
        "Whether each browser that opens the chat page is a visitor of its own, told apart by a signed cookie.",
        "Считать ли каждый браузер, открывший страницу чата, отдельным посетителем — по подписанной cookie.",
    )
    visitor_days: kinds.Whole = variable("GUARDIAN_VISITOR_DAYS", 30, least=1, most=400)(
        "Days after which the cookie of a visitor who does not come back ends.",
        "Через сколько дней кончается cookie посетителя, который не возвращается.",
    )
    visitor_per_minute: kinds.Whole = variable("GUARDIAN_VISITOR_PER_MINUTE", 20, least=1, most=100_000)(
        "Requests a minute of one visitor.", "Запросов в минуту от одного посетителя."
    )
    address_per_minute: kinds.Whole = variable("GUARDIAN_ADDRESS_PER_MINUTE", 60, least=1, most=100_000)(
        "Requests a minute of all visitors with one address.",
        "Запросов в минуту от всех посетителей с одного адреса.",
    )
    new_visitors_per_hour: kinds.Whole = variable("GUARDIAN_NEW_VISITORS_PER_HOUR", 60, least=1, most=100_000)(
        "New visitors an hour from one address.", "Новых посетителей в час с одного адреса."
    )
    user_header: kinds.Header = variable("GUARDIAN_TRUST_USER_HEADER", "", values="a header's name")(
        "Header in which a trusted proxy names the user: X-Forwarded-User; empty: none is believed.",
        "Заголовок, в котором доверенный прокси называет пользователя: X-Forwarded-User; пусто — никакому не верить.",
    )
    role_header: kinds.Header = variable("GUARDIAN_TRUST_ROLE_HEADER", "", values="a header's name")(
        "Header in which it names the user's role; empty: `[users]` of the profile says it, else it is `user`.",
        "Заголовок, в котором он называет роль пользователя; пусто — её называет `[users]` профиля, иначе это `user`.",
    )
    trusted_proxies: kinds.Networks = variable("GUARDIAN_TRUSTED_PROXIES", ())(
        "Addresses or networks of proxies whose headers are believed, with commas between; nobody else's are.",
        "Адреса или сети прокси, заголовкам которых сервер верит, через запятую; ничьим другим не верит.",
    )
    hosts: kinds.Hosts = variable("GUARDIAN_HOSTS", frozenset[str]())(
        "Names by which browsers reach the server through a proxy that names users, with commas between; through one on "
        "this machine, no others are answered but this machine's own.",
        "Имена, по которым браузеры приходят через прокси, называющий пользователей, через запятую; через прокси на этой "
        "же машине другим именам, кроме её собственных, сервер не отвечает.",
    )
    user_per_minute: kinds.Whole = variable("GUARDIAN_USER_PER_MINUTE", 60, least=1, most=100_000)(
        "Requests a minute of one user whom a proxy names.",
        "Запросов в минуту от одного пользователя, которого называет прокси.",
    )
    frame_ancestors: kinds.Origins = variable("GUARDIAN_FRAME_ANCESTORS", ())(
        "Web pages that may show the chat in a frame: addresses like https://shop.example, with commas between; empty: "
        "none.",
        "Страницы, которым можно показывать чат во фрейме: адреса вида https://shop.example через запятую; пусто — "
        "никаким.",
    )
    keep_days: kinds.WholeOrNone = variable("GUARDIAN_KEEP_DAYS", None, least=1, most=36_500)(
        "Days after its last message that a conversation is kept; empty: visitors' 30 days, all others for ever.",
        "Сколько дней после последнего сообщения хранится диалог; пусто — диалоги посетителей 30 дней, остальные "
        "всегда.",
    )

    @model_validator(mode="after")
    def _check_trust(self) -> Self:
        if self.user_header and not self.trusted_proxies:
            raise ConfigError(
                "GUARDIAN_TRUST_USER_HEADER is set, but no proxy is trusted, so anybody could claim to be anybody.",
                "Set GUARDIAN_TRUSTED_PROXIES to the address of the proxy, for example 127.0.0.1.",
            )
        if self.role_header and not self.user_header:
            raise ConfigError(
                "GUARDIAN_TRUST_ROLE_HEADER is set, but not the header that names the user.",
                "Set GUARDIAN_TRUST_USER_HEADER, for example to X-Forwarded-User.",
            )
        if self.role_header and self.role_header == self.user_header:
            raise ConfigError(
                "GUARDIAN_TRUST_ROLE_HEADER and GUARDIAN_TRUST_USER_HEADER name the same header.",
                "Name one header for each.",
            )
        return self


class BudgetSettings(Group):
    """What language models may cost in a day of UTC, in the currency of the profile's `[prices]`; 0 for no bound."""

    day: float = variable("GUARDIAN_BUDGET_DAY", 0.0, least=0.0, most=MOST_MONEY)(
        "What language models may cost in a day, in the currency of `[prices]`, for all callers together; 0: any amount.",
        "Во сколько языковые модели могут обойтись за день, в валюте `[prices]`, на всех вместе; 0 — без ограничения.",
    )
    key: float = variable("GUARDIAN_BUDGET_KEY", 0.0, least=0.0, most=MOST_MONEY)(
        "The same for each API key.", "То же для каждого ключа API."
    )
    visitor: float = variable("GUARDIAN_BUDGET_VISITOR", 0.0, least=0.0, most=MOST_MONEY)(
        "The same for each visitor, and for each user whom a proxy names.",
        "То же для каждого посетителя и каждого пользователя, которого называет прокси.",
    )
    address: float = variable("GUARDIAN_BUDGET_ADDRESS", 0.0, least=0.0, most=MOST_MONEY)(
        "The same for all visitors with one address.", "То же для всех посетителей с одного адреса."
    )

    @property
    def any(self) -> bool:
        """Whether there is any bound."""
        return any((self.day, self.key, self.visitor, self.address))


class TracingSettings(Group):
    """The contents of traces: for every command that asks a server, if tracing is on."""

    content: kinds.Flag = variable("GUARDIAN_TRACE_CONTENT", True)(
        "Whether traces (LangSmith, OpenTelemetry) carry texts.",
        "Попадают ли тексты в трассировку (LangSmith, OpenTelemetry).",
    )


RankerSettings: TypeAlias = EmbedderSettings | RerankerSettings | EntailmentSettings
"""The groups of models that are asked over HTTP about passages."""


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings of one process."""

    data: DataSettings
    storage: StorageSettings
    moderation: ModerationSettings
    models: ModelSettings
    index: IndexSettings
    embedder: EmbedderSettings
    reranker: RerankerSettings
    entailment: EntailmentSettings
    lookups: LookupSettings
    hand_offs: HandOffSettings
    server: ServerSettings
    callers: CallerSettings
    budget: BudgetSettings
    tracing: TracingSettings

    @classmethod
    def read(cls, environment: Mapping[str, str] | None = None, *, profile: str | None = None) -> Settings:
        """Read the environment; an argument of the command line overrides it.

        Raises:
            ConfigError: A variable's value is not valid.
        """
        given = os.environ if environment is None else environment
        settings = cls(**{name: group.read(given) for name, group in _GROUPS.items()})
        if profile is None:
            return settings
        return replace(settings, data=settings.data.model_copy(update={"profile": profile}))


_GROUPS: Final[Mapping[str, Any]] = get_type_hints(Settings)
VARIABLES: Final[tuple[Variable, ...]] = tuple(
    Variable.of(field) for group in _GROUPS.values() for field in group.model_fields.values()
)
"""Every variable that is read. `guardian show settings` and the handbook print this list."""


def _require_languages(ranker: RankerSettings) -> None:
    if ranker.url and not ranker.languages:
        raise ConfigError(
            f"{ranker.names}_URL is set, but not the languages of its model.",
            f"Set {ranker.names}_LANGUAGES to en, ru or en,ru: in other languages a model does more harm than good.",
        )


def _unless_offline(name: str) -> str:
    return "" if name == OFFLINE else name
