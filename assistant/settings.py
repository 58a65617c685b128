"""Settings of the process, from the environment, and profiles, from TOML files."""

from __future__ import annotations

import difflib
import json
import os
import re
import tomllib
from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast
from urllib.parse import urlsplit

from contracts.errors import ConfigError, UnknownProfile

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo

    from contracts.context import Context
    from contracts.profile import Profile
    from contracts.values import Language

PROJECT: Final = Path(__file__).resolve().parent.parent
BUNDLED_PROFILES: Final = PROJECT / "profiles"


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
        "GUARDIAN_EMBED_URL",
        "",
        "Address of an embedding model's OpenAI-compatible API, up to and with /v1; empty: search is by words alone.",
        "Адрес OpenAI-совместимого API модели эмбеддингов, включая /v1; пусто — поиск только по словам.",
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
        "GUARDIAN_TRACE_CONTENT",
        "true",
        "Whether traces (LangSmith, OpenTelemetry) carry texts.",
        "Попадают ли тексты в трассировку (LangSmith, OpenTelemetry).",
    ),
)
"""Every variable that is read. `guardian show settings` and the handbook print this list."""


MODERATORS: Final = ("rules", "vllm", "mosec", "off")
OFFLINE: Final = "offline"
LONGEST_RANKING_S: Final = 50.0
"""Of an embedding model and of a reranker, which are asked one after the other: within `LONGEST_TIMEOUT_S` together."""
LONGEST_TIMEOUT_S: Final = 110.0
"""Less than a node may take, so that a port always ends before its node is ended."""


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """Which servers are asked, and how; empty names where none is. Secrets stay out of its `repr`.

    Attributes:
        value: The variables as they were read, by name.
    """

    value: Mapping[str, str] = field(repr=False)

    @classmethod
    def read(cls, value: Mapping[str, str]) -> ModelSettings:
        """Check what can be checked without asking a server.

        Raises:
            ConfigError: A variable has a value that it cannot have, or one that another one needs is missing.
        """
        made = cls(dict(value))
        made.check()
        return made

    def check(self) -> None:
        for name in ("GUARDIAN_MODEL_TIMEOUT", "GUARD_TIMEOUT"):
            self.number(name)
        for name in _WHOLE:
            self.whole(name)
        for name in ("OPENAI_BASE_URL", "OPENAI_PROXY", "GUARD_VLLM_URL", "GUARD_MOSEC_URL"):
            self.address(name)
        for name in ("OPENAI_API_KEY", "GUARD_VLLM_API_KEY"):
            self._key(name)
        for name, allowed in _CHOICES.items():
            _one_of(name, self.value[name], allowed)
        _ = self.temperature
        self.extra()
        self._check_rankers()
        self._check_moderation()
        if (self.planner or self.drafter) and not (self.value["OPENAI_BASE_URL"] or self.value["OPENAI_API_KEY"]):
            raise ConfigError(
                "A language model is named, but nothing says where it is.",
                "Set OPENAI_BASE_URL to its server, or OPENAI_API_KEY for OpenAI's own.",
            )

    def _check_moderation(self) -> None:
        if self.value["GUARD_MOSEC_PORT"]:
            self.whole("GUARD_MOSEC_PORT", (1, _LAST_PORT))
        if not _is_address(self.mosec_address):
            raise ConfigError(
                "GUARD_MOSEC_PATH cannot be part of an address.", "Write it as /path, of ASCII without blanks."
            )
        provider = self.value["GUARD_PROVIDER_TYPE"]
        if provider == "vllm" and not (self.value["GUARD_VLLM_URL"] and self.value["GUARD_VLLM_MODEL"]):
            raise ConfigError(
                "GUARD_PROVIDER_TYPE is 'vllm', but nothing says where it is.",
                "Set GUARD_VLLM_URL and GUARD_VLLM_MODEL.",
            )

    def _check_rankers(self) -> None:
        for name in ("GUARDIAN_EMBED", "GUARDIAN_RERANK"):
            self.address(f"{name}_URL")
            self.number(f"{name}_TIMEOUT")
            self._key(f"{name}_KEY")
            self.languages(f"{name}_LANGUAGES")
            if self.value[f"{name}_URL"] and not self.value[f"{name}_LANGUAGES"]:
                raise ConfigError(
                    f"{name}_URL is set, but not the languages of its model.",
                    f"Set {name}_LANGUAGES to en, ru or en,ru: in other languages a model does more harm than good.",
                )
        if self.value["GUARDIAN_EMBED_URL"] and not self.value["GUARDIAN_EMBED_MODEL"]:
            raise ConfigError("GUARDIAN_EMBED_URL is set, but no model is named.", "Set GUARDIAN_EMBED_MODEL.")

    def languages(self, name: str) -> frozenset[Language]:
        """Return a variable as a list of languages, which may be empty."""
        from contracts.values import Language

        words = [word.strip() for word in self.value[name].split(",") if word.strip()]
        if unknown := [word for word in words if word not in set(Language)]:
            raise ConfigError(f"{name} has {unknown[0]!r} in it.", "Set it to en, ru or en,ru.")
        return frozenset(map(Language, words))

    @property
    def planner(self) -> str:
        """The planning model's name; empty where planning works without one."""
        return self._model("GUARDIAN_PLANNER_MODEL")

    @property
    def drafter(self) -> str:
        """The drafting model's name; empty where drafting works without one."""
        return self._model("GUARDIAN_DRAFTER_MODEL")

    @property
    def temperature(self) -> float | None:
        """`None` where it is left to the server."""
        text = self.value["GUARDIAN_MODEL_TEMPERATURE"]
        return None if text == "none" else self.number("GUARDIAN_MODEL_TEMPERATURE")

    @property
    def mosec_address(self) -> str:
        """The full address of the MOSEC endpoint."""
        parts = urlsplit(self.address("GUARD_MOSEC_URL") or "")
        port = self.value["GUARD_MOSEC_PORT"]
        place = f"{parts.netloc}:{int(port)}" if port and parts.port is None else parts.netloc
        return f"{parts.scheme}://{place}{parts.path}/{self.value['GUARD_MOSEC_PATH'].lstrip('/')}"

    def yes_no_or_none(self, name: str) -> bool | None:
        """Return a choice of true, false, or a third word for `None`."""
        return {"true": True, "false": False}.get(self.value[name])

    def number(self, name: str) -> float:
        """Return a variable as a number within its bounds."""
        least, most = _NUMBERS[name]
        try:
            number = float(self.value[name])
        except ValueError:
            number = float("nan")
        if not least <= number <= most:
            raise ConfigError(f"{name} is {self.value[name]!r}.", f"Set it to a number from {least:g} to {most:g}.")
        return number

    def whole(self, name: str, bounds: tuple[int, int] | None = None) -> int:
        """Return a variable as a whole number within its bounds."""
        least, most = bounds or _WHOLE[name]
        text = self.value[name]
        # int() raises where a number is too long.
        if len(text) > _LONGEST_NUMBER or not text.isdecimal() or not least <= int(text) <= most:
            raise ConfigError(
                f"{name} is {text[:_LONGEST_QUOTE]!r}.", f"Set it to a whole number from {least} to {most}."
            )
        return int(text)

    def address(self, name: str) -> str | None:
        """Return a variable as the address of a server, without slashes at its end; `None` where it is empty.

        Raises:
            ConfigError: It is none that a client can ask, or has a password where a key belongs.
        """
        text = self.value[name]
        if text and not text.startswith(("http://", "https://")):
            raise ConfigError(f"{name} does not begin with http:// or https://.", "Set it to a full address.")
        if name in _KEYS and "@" in text.split("://", 1)[-1].split("/", 1)[0]:
            # The model's client writes its address into traces as it is.
            raise ConfigError(f"{name} has a password in it.", f"Leave it out, and set {_KEYS[name]} instead.")
        if text and not _is_address(text):
            raise ConfigError(
                f"{name} is not the address of a server.",
                "Write it as http://host:port/path: a host, a port from 1 to 65535 or none, ASCII without blanks.",
            )
        return text.rstrip("/") or None

    def _key(self, name: str) -> None:
        text = self.value[name]
        if not text.isascii() or not text.isprintable():
            # A header of HTTP carries nothing else.
            raise ConfigError(
                f"{name} has characters that no key can have.", "Copy it again, without anything around it."
            )

    def extra(self) -> dict[str, Any]:
        """Return the further fields of each request."""
        text = self.value["GUARDIAN_MODEL_EXTRA"]
        try:
            fields: Any = json.loads(text) if text else {}
        except (ValueError, RecursionError):
            fields = None
        if not isinstance(fields, dict):
            raise ConfigError("GUARDIAN_MODEL_EXTRA is not a JSON object.", 'Write it as {"field": value}.')
        return cast("dict[str, Any]", fields)

    def _model(self, name: str) -> str:
        chosen = self.value[name] or self.value["GUARDIAN_MODEL"]
        return "" if chosen == OFFLINE else chosen


_KEYS: Final = {
    "OPENAI_BASE_URL": "OPENAI_API_KEY",
    "GUARD_VLLM_URL": "GUARD_VLLM_API_KEY",
    "GUARDIAN_EMBED_URL": "GUARDIAN_EMBED_KEY",
    "GUARDIAN_RERANK_URL": "GUARDIAN_RERANK_KEY",
}
_LAST_PORT: Final = 65535
_LONGEST_NUMBER: Final = 12
_LONGEST_ADDRESS: Final = 2000
_LONGEST_QUOTE: Final = 40
_ADDRESS: Final = re.compile(
    r"https?://(?:[^/?#@]*@)?"
    r"(?:\[(?P<v6>[^\]/?#]*)\]|(?P<host>[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})*\.?))"
    r"(?::(?P<port>[0-9]{1,5}))?(?:[/?#].*)?",
    re.IGNORECASE,
)
_NUMBERS: Final = {
    "GUARDIAN_MODEL_TIMEOUT": (0.1, LONGEST_TIMEOUT_S),
    "GUARD_TIMEOUT": (0.1, LONGEST_TIMEOUT_S),
    "GUARDIAN_MODEL_TEMPERATURE": (0.0, 2.0),
    "GUARDIAN_EMBED_TIMEOUT": (0.1, LONGEST_RANKING_S),
    "GUARDIAN_RERANK_TIMEOUT": (0.1, LONGEST_RANKING_S),
}
_WHOLE: Final = {
    "GUARDIAN_MODEL_RETRIES": (0, 10),
    "GUARD_MAX_RETRIES": (0, 10),
    "GUARDIAN_MODEL_WINDOW": (0, 10_000_000),
    "GUARDIAN_PLAN_TOKENS": (100, 200_000),
    "GUARDIAN_ANSWER_TOKENS": (100, 200_000),
    "GUARDIAN_RERANK_TOP": (1, 200),
}
"""Least and most of each variable that is a number: here, and nowhere else."""
_CHOICES: Final = {
    "GUARDIAN_RERANK_SHAPE": ("cohere", "tei"),
    "GUARDIAN_TOOL_FORM": ("probe", "named", "required", "auto", "json_schema"),
    "GUARDIAN_TOOL_STRICT": ("probe", "true", "false"),
    "GUARDIAN_PARALLEL_TOOL_CALLS": ("false", "true", "none"),
    "GUARDIAN_SYSTEM_ROLE": ("system", "user"),
}


@dataclass(frozen=True, slots=True)
class Settings:
    """What one process runs with."""

    data_dir: Path
    profile: str
    guard_enabled: bool
    guard_mode: str
    guard_provider: str
    models: ModelSettings = field(repr=False)
    plan_ahead: bool = False
    trace_content: bool = True
    database_url: str = field(default="", repr=False)
    graph_url: str = field(default="", repr=False)
    index_url: str = field(default="", repr=False)
    index_key: str = field(default="", repr=False)

    @classmethod
    def read(cls, environment: Mapping[str, str] | None = None, *, profile: str | None = None) -> Settings:
        """Read the environment; an argument of the command line stands above it.

        Raises:
            ConfigError: A variable has a value that it cannot have.
        """
        env = os.environ if environment is None else environment
        for variable in VARIABLES:
            _encodable(variable.name, env.get(variable.name, ""))
        value = {v.name: env.get(v.name, "").strip() or v.default for v in VARIABLES}
        return cls(
            data_dir=_folder("GUARDIAN_DATA_DIR", value["GUARDIAN_DATA_DIR"]),
            profile=value["GUARDIAN_PROFILE"] if profile is None else profile,
            guard_enabled=_yes_or_no("GUARD_ENABLED", value["GUARD_ENABLED"]),
            guard_mode=_one_of("GUARD_MODE", value["GUARD_MODE"], ("", "enforce", "report", "off")),
            guard_provider=_one_of("GUARD_PROVIDER_TYPE", value["GUARD_PROVIDER_TYPE"], MODERATORS),
            models=ModelSettings.read(value),
            plan_ahead=_yes_or_no("GUARDIAN_PLAN_AHEAD", value["GUARDIAN_PLAN_AHEAD"]),
            trace_content=_yes_or_no("GUARDIAN_TRACE_CONTENT", value["GUARDIAN_TRACE_CONTENT"]),
            database_url=_database("GUARDIAN_DATABASE_URL", value["GUARDIAN_DATABASE_URL"]),
            graph_url=value["GUARDIAN_GRAPH_URL"],
            index_url=_index(value),
            index_key=value["GUARDIAN_INDEX_KEY"],
        )

    def folder(self, profile: Profile) -> Path:
        """Return where one profile keeps everything of its own."""
        return self.data_dir / profile.name


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


def _database(name: str, value: str) -> str:
    if value and not value.startswith(("sqlite:///", "postgresql://", "postgresql+psycopg://")):
        # The value is not quoted: there may be a password in it.
        raise ConfigError(
            f"{name} is not the address of a database that can be asked.",
            "Write sqlite:///path/to/file.db, or postgresql://user:password@host/database.",
        )
    return value


def _is_address(text: str) -> bool:
    """Whether every client can ask it; they raise errors of their own where one cannot be."""
    found = _ADDRESS.fullmatch(text)
    if not found or len(text) > _LONGEST_ADDRESS or not text.isascii() or not text.isprintable() or " " in text:
        return False
    number = found["v6"] if found["v6"] is not None else found["host"]
    if found["v6"] is not None or re.fullmatch(r"[0-9]+(\.[0-9]+){3}", number):
        try:
            if ip_address(number).version != (4 if found["v6"] is None else 6):
                return False
        except ValueError:
            return False
    return found["port"] is None or 1 <= int(found["port"]) <= _LAST_PORT


def _encodable(name: str, value: str) -> None:
    try:
        value.encode()
    except UnicodeEncodeError:
        # The error would hold the whole value, which may be a key.
        raise ConfigError(
            f"{name} is not text in UTF-8.", "Set it anew in a terminal whose encoding is UTF-8."
        ) from None


def _at_home(path: str) -> Path:
    """Return a path whose `~` is the home directory; one of a user who has none stays as it is."""
    try:
        return Path(path).expanduser()
    except RuntimeError:
        return Path(path)


def _folder(name: str, value: str) -> Path:
    path = _at_home(value)
    if path.exists() and not path.is_dir():
        raise ConfigError(
            f"{name} is {value!r}, which is not a folder.", "Set it to a folder; it is created if it is missing."
        )
    return path


def _index(value: Mapping[str, str]) -> str:
    from adapters.sources.engines import checked

    url = value["GUARDIAN_INDEX_URL"]
    if url:
        checked(url, "GUARDIAN_INDEX_URL")
    return url


def _yes_or_no(name: str, value: str) -> bool:
    return _one_of(name, value.lower(), ("true", "false", "1", "0", "yes", "no")) in ("true", "1", "yes")


def _one_of(name: str, value: str, allowed: tuple[str, ...]) -> str:
    if value not in allowed:
        raise ConfigError(f"{name} is {value!r}.", f"Set it to one of: {', '.join(filter(None, allowed))}.")
    return value


def profile_names() -> list[str]:
    """Return the names of the bundled profiles."""
    return sorted(path.stem for path in BUNDLED_PROFILES.glob("*.toml"))


def profile_path(name: str) -> Path:
    """Return the file of a profile: a path ending in .toml, or the name of a bundled one.

    Raises:
        UnknownProfile: There is no such file.
    """
    path = _at_home(name) if name.endswith(".toml") else BUNDLED_PROFILES / f"{name}.toml"
    if "\0" in name or not path.is_file() or (not name.endswith(".toml") and path.parent != BUNDLED_PROFILES):
        close = difflib.get_close_matches(name, profile_names(), n=1)
        hint = f"Did you mean {close[0]!r}?" if close else f"There are {', '.join(profile_names())}."
        raise UnknownProfile(
            f"There is no profile {name!r}.", f"{hint} A file of your own is named by its path, ending in .toml."
        )
    return path


def load_profile(name: str) -> Profile:
    """Read and check a profile.

    Raises:
        UnknownProfile: There is none of that name.
        ConfigError: It is not TOML, has an unknown key, or a value outside its bounds.
    """
    from pydantic import ValidationError

    from contracts.profile import Profile

    path = profile_path(name)
    try:
        return Profile.model_validate(tomllib.loads(path.read_text("utf-8")))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, OSError) as error:
        raise ConfigError(
            f"The profile {path.name} cannot be read: {error}.", "Correct the file and try again."
        ) from error
    except ValidationError as error:
        faults = "; ".join(_fault(entry) for entry in error.errors())
        raise ConfigError(f"The profile {path.name} is wrong: {faults}.", "Correct the file and try again.") from error


def _fault(entry: Any) -> str:
    place = ".".join(str(part) for part in entry["loc"])
    if entry["type"] != "extra_forbidden":
        return f"{place}: {entry['msg'][:1].lower()}{entry['msg'][1:]}"
    close = difflib.get_close_matches(str(entry["loc"][-1]), _known_keys(), n=1)
    return f"{place}: there is no such key" + (f", did you mean {close[0]!r}?" if close else "")


def _known_keys() -> list[str]:
    from contracts import lookups, profile, spec

    models = (
        profile.Profile,
        profile.KnowledgeFolder,
        profile.Thresholds,
        profile.Behaviour,
        profile.PolicyRule,
        profile.Scope,
        profile.Database,
        lookups.Lookup,
        lookups.LookupArgument,
        spec.ArchitectSpec,
        spec.Section,
    )
    return [name for model in models for name in model.model_fields]


def run_settings(settings: Settings, profile: Profile) -> type[Context]:
    """Return the run settings of a deployment: `Context` with the profile's values as defaults.

    A class rather than an instance, because LangGraph builds each run's settings from what the caller names.
    """
    from pydantic import create_model

    from contracts.context import Context

    limits, habits = profile.thresholds, profile.behaviour
    mode = "off" if not settings.guard_enabled else settings.guard_mode or habits.guard_mode
    defaults: dict[str, Any] = {
        "version": profile.default_version,
        "guard_mode": mode,
        "block_threshold": habits.block_threshold,
        "on_unavailable": habits.on_unavailable,
        "spam_threshold": limits.spam,
        "confidence_threshold": limits.confidence,
        "max_clarifications": habits.max_clarifications,
        "max_retry": habits.max_retry,
        "min_evidence": habits.min_evidence,
        "knowledge_track": habits.knowledge_track,
        "top_k": habits.top_k,
        "source_seconds": habits.source_seconds,
        "evidence_threshold": limits.evidence,
        "mean_confidence_enforced": limits.mean_confidence_enforced,
        "mean_confidence_advised": limits.mean_confidence_advised,
        "diversity": habits.diversity,
        "plan_trace": habits.plan_trace,
        "search_by": habits.search_by,
    }
    base = Context.model_validate(defaults)
    fields: dict[str, Any] = {
        name: (
            Context.model_fields[name].annotation,
            _with_default(Context.model_fields[name], getattr(base, name)),
        )
        for name in defaults
    }
    return create_model("RunSettings", __base__=Context, __module__=__name__, **fields)


def _with_default(field: FieldInfo, default: object) -> FieldInfo:
    changed = copy(field)
    changed.default = default
    return changed
