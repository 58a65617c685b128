"""Settings of the servers that are asked: language models, moderation, embeddings, reranking and entailment."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import TYPE_CHECKING, Any, Final, cast
from urllib.parse import urlsplit

from assistant.config.variables import one_of
from contracts.errors import ConfigError

if TYPE_CHECKING:
    from contracts.enums import Entailment, Language

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
            if not (name in _OR_FOLDER and _is_path(self.value[name])):
                one_of(name, self.value[name], (*allowed, *_OR_FOLDER.get(name, ())))
        _ = self.temperature
        self.extra()
        self._check_rankers()
        self._check_entailment()
        self._check_moderation()
        self.number("GUARDIAN_HANDOFF_TIMEOUT")
        self._key("GUARDIAN_HANDOFF_KEY")
        self.number("GUARDIAN_DRAIN_SECONDS")
        _ = self.origins
        _ = self.proxies
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
        for name in ("GUARDIAN_EMBED", "GUARDIAN_RERANK", "GUARDIAN_ENTAIL"):
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

    def _check_entailment(self) -> None:
        _ = self.entailment_labels
        chat = self.value["GUARDIAN_ENTAIL_SHAPE"] == "chat"
        if self.value["GUARDIAN_ENTAIL_URL"] and chat and not self.value["GUARDIAN_ENTAIL_MODEL"]:
            raise ConfigError("GUARDIAN_ENTAIL_SHAPE is 'chat', but no model is named.", "Set GUARDIAN_ENTAIL_MODEL.")

    @property
    def entailment_labels(self) -> tuple[Entailment, ...]:
        """What the numbered labels of an entailment model stand for, from 0 on; empty where nobody says."""
        words = [word.strip().lower() for word in self.value["GUARDIAN_ENTAIL_LABELS"].split(",") if word.strip()]
        if not words:
            return ()
        from adapters.entailment.nli import NAMES

        if not NAMES.keys() >= set(words) or len(set(words)) < len(words) or "entailment" not in words:
            raise ConfigError(
                "GUARDIAN_ENTAIL_LABELS does not name the labels of such a model, each once.",
                "Set it to them in order, for example contradiction,neutral,entailment.",
            )
        return tuple(NAMES[word] for word in words)

    def languages(self, name: str) -> frozenset[Language]:
        """Return a variable as a list of languages, which may be empty."""
        from contracts.enums import Language

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

    @property
    def origins(self) -> tuple[str, ...]:
        """The web pages from elsewhere that may ask the server, as browsers name them: scheme, host and port."""
        given = [word.strip() for word in self.value["GUARDIAN_CORS_ORIGINS"].split(",") if word.strip()]
        # `*` is not taken: with it, every page that a colleague opens could ask in their name.
        if any(not _is_address(word) or urlsplit(word).path or "@" in word or word != word.lower() for word in given):
            raise ConfigError(
                "GUARDIAN_CORS_ORIGINS has something in it that names no web page.",
                "Write scheme, host and port alone, in small letters: https://desk.example,http://127.0.0.1:3000.",
            )
        return tuple(given)

    @property
    def proxies(self) -> tuple[IPv4Network | IPv6Network, ...]:
        """The networks of proxies in front of the server, by which the connections of many come."""
        try:
            return tuple(ip_network(word.strip()) for word in self.value["GUARDIAN_PROXIES"].split(",") if word.strip())
        except ValueError as error:
            raise ConfigError(
                "GUARDIAN_PROXIES has something in it that is no address and no network.",
                "Write addresses or networks with commas between: 127.0.0.1,10.0.0.0/8.",
            ) from error

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
    "GUARDIAN_HANDOFF_TO": "GUARDIAN_HANDOFF_KEY",
    "GUARDIAN_EMBED_URL": "GUARDIAN_EMBED_KEY",
    "GUARDIAN_RERANK_URL": "GUARDIAN_RERANK_KEY",
    "GUARDIAN_ENTAIL_URL": "GUARDIAN_ENTAIL_KEY",
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
    "GUARDIAN_HANDOFF_TIMEOUT": (0.1, 60.0),
    "GUARDIAN_DRAIN_SECONDS": (0.0, 600.0),
    "GUARDIAN_MODEL_TEMPERATURE": (0.0, 2.0),
    "GUARDIAN_EMBED_TIMEOUT": (0.1, LONGEST_RANKING_S),
    "GUARDIAN_RERANK_TIMEOUT": (0.1, LONGEST_RANKING_S),
    "GUARDIAN_ENTAIL_TIMEOUT": (0.1, LONGEST_TIMEOUT_S),
}
_WHOLE: Final = {
    "GUARDIAN_MODEL_RETRIES": (0, 10),
    "GUARD_MAX_RETRIES": (0, 10),
    "GUARDIAN_MODEL_WINDOW": (0, 10_000_000),
    "GUARDIAN_PLAN_TOKENS": (100, 200_000),
    "GUARDIAN_ANSWER_TOKENS": (100, 200_000),
    "GUARDIAN_RERANK_TOP": (1, 200),
    "GUARDIAN_MAX_REQUEST_BYTES": (1024, 100_000_000),
    "GUARDIAN_CONNECTIONS_PER_ADDRESS": (1, 100_000),
}
"""Least and most of each variable that is a number: here, and nowhere else."""
_CHOICES: Final = {
    "GUARDIAN_EMBEDDER": ("auto", "use", "e5", "off"),
    "GUARDIAN_RERANK_SHAPE": ("cohere", "tei"),
    "GUARDIAN_ENTAIL_SHAPE": ("tei", "chat"),
    "GUARDIAN_TOOL_FORM": ("probe", "named", "required", "auto", "json_schema"),
    "GUARDIAN_TOOL_STRICT": ("probe", "true", "false"),
    "GUARDIAN_PARALLEL_TOOL_CALLS": ("false", "true", "none"),
    "GUARDIAN_SYSTEM_ROLE": ("system", "user"),
}


_OR_FOLDER: Final = {"GUARDIAN_EMBEDDER": ("the path of a folder, with a / in it",)}
"""Variables that may name a folder instead, and how that is said."""


def _is_path(text: str) -> bool:
    return "/" in text or "\\" in text


def allowed_values(name: str) -> str:
    """Return what a variable may be set to, in short, as the tables above say; nothing where it is free text."""
    if name in _CHOICES:
        return ", ".join((*_CHOICES[name], *_OR_FOLDER.get(name, ())))
    bounds = _NUMBERS.get(name) or _WHOLE.get(name)
    shown = [f"{bound:g}" if isinstance(bound, float) else f"{bound:,}" for bound in bounds or ()]
    # No temperature at all is a choice, too.
    return " to ".join(shown) + (", or none" if name == "GUARDIAN_MODEL_TEMPERATURE" else "")


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
