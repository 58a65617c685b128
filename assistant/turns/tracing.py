"""Traces of turns: sent if LangSmith's own variables ask for them, without contents if ours says so.

LangChain traces every run if `LANGSMITH_TRACING` is true; this module sends nothing. It makes the client that LangChain
sends with, because the default client does not fit. At the end of a process, that one waits minutes for a server that
hangs. It logs the server's reply, which may repeat a key. It hides neither errors nor keys.
"""

from __future__ import annotations

import json
import logging
import os
import re
import sys
from collections.abc import MutableMapping
from functools import cache, partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final, cast
from urllib.parse import urlsplit

from assistant.config.settings import VARIABLES
from contracts.errors import ConfigError

if TYPE_CHECKING:
    from langsmith import Client

Json = dict[str, Any]
Environment = MutableMapping[str, str]

EXIT_WAIT_S: Final = 3.0
"""How long the end of a process waits for traces that are not sent yet."""

KEPT_METADATA: Final = frozenset(
    {
        "assistant_id",
        "checkpoint_ns",
        "graph_id",
        "langgraph_checkpoint_ns",
        "langgraph_node",
        "langgraph_path",
        "langgraph_step",
        "langgraph_triggers",
        "ls_integration",
        "ls_max_tokens",
        "ls_model_name",
        "ls_model_type",
        "ls_provider",
        "ls_temperature",
        "revision_id",
        "run_id",
        "thread_id",
        "usage_metadata",
    }
)
"""What is left of a run's metadata without contents: where it stands in the graph, the model, tokens, ids."""

SHORTEST_KEY: Final = 8
"""Characters. What is shorter (`none`, `test`) keeps no secret, and would be struck out of ordinary words."""

_LANGSMITH: Final = "https://api.smith.langchain.com"
_LOGGERS: Final = (
    "langsmith.client",
    "langsmith.run_trees",
    "langchain_core.tracers.langchain",
    "opentelemetry.exporter.otlp.proto.http.trace_exporter",
)
_FAULT: Final = re.compile(r"\b[A-Z][A-Za-z]{2,40}(?:Error|Exception|Timeout)\b")
_STATUS: Final = re.compile(r"\b(?:[45]\d\d)(?= (?:Client|Server) Error)|(?<=code: )[45]\d\d\b")
_RAISED: Final = re.compile(r"[A-Za-z_][\w.]*(?=\()")


def prepare_tracing(keep_content: bool, environment: Environment = os.environ) -> None:  # noqa: FBT001  # a setting
    """Prepare tracing of turns if it is on; otherwise do nothing and import nothing.

    Call it before each turn. If a program uses this package as a library and has its own client, that client also sends
    our traces. If contents must not leave, our client replaces it. A trace that such a program has begun itself
    continues with the program's client.

    Args:
        keep_content: Whether traces contain the texts of users, documents, models and errors (GUARDIAN_TRACE_CONTENT).
        environment: The process's environment; missing variables that LangSmith and OpenTelemetry read are added.

    Raises:
        ConfigError: Tracing is on but cannot work as its variables say.
    """
    if not _is_on(environment):
        return
    _check(environment)
    _keep_key_from_collector(environment)
    _do_not_outlive_the_process(environment)
    from langsmith.run_trees import configure
    from langsmith.utils import LangSmithUserError

    _keep_logs_short()
    try:
        if keep_content:
            _make_client(_keys(environment))
        else:
            configure(client=_make_stripping_client())
    except LangSmithUserError as error:
        # Its text is not ours to repeat: it may quote a variable that holds keys.
        raise ConfigError(
            "LangSmith's variables have a value that they cannot have, or contradict each other.",
            "Look at LANGSMITH_TRACING_MODE, and set one of LANGSMITH_ENDPOINT and LANGSMITH_RUNS_ENDPOINTS only.",
        ) from error


def tracing_in_words(keep_content: bool, environment: Environment = os.environ) -> str:  # noqa: FBT001  # a setting
    """Return one line that says what leaves this process in traces, and where it goes; it contains no key.

    Raises:
        ConfigError: Tracing is on but cannot work as its variables say.
    """
    if not _is_on(environment):
        return "off: nothing is sent (LANGSMITH_TRACING)"
    _check(environment)
    mode = _mode(environment)
    places = [_host(environment.get("LANGSMITH_ENDPOINT") or _LANGSMITH)] if mode != "otel" else []
    if mode != "langsmith":
        places.append(_host(_collector(environment) or _LANGSMITH) + " (OpenTelemetry)")
    what = "with all contents" if keep_content else "without contents"
    return f"on, {what}, to {' and '.join(places)}"


def without_content(values: Json) -> Json:
    """Return the part of a run's inputs, outputs, metadata or `{"error": text}` that may leave: names, numbers and ids.

    The token counts of a model's reply stay, even inside its message. Of an error, only the class stays.
    """
    kept = {name: value for name, value in values.items() if name in KEPT_METADATA}
    if usage := _usage(values):
        kept["usage_metadata"] = usage
    # A run's output may have an `error` of its own, which stays here; langsmith hands over the run's error like this.
    if values.keys() == {"error"} and isinstance(values["error"], str):
        raised = _RAISED.match(values["error"])
        kept["error"] = raised.group() if raised else "error"
    return kept


def without_keys(values: Json, *, keys: frozenset[str]) -> Json:
    """Return a run's inputs or outputs with `***` for every key; a server's refusal may repeat the key that it got."""
    text = json.dumps(values)
    for key in keys:
        text = text.replace(json.dumps(key)[1:-1], "***")
    return cast("Json", json.loads(text))


def _usage(outputs: Json) -> Json | None:
    try:
        message = outputs["generations"][0][0]["message"]
        usage = message["kwargs"]["usage_metadata"]
    except (KeyError, IndexError, TypeError):
        return None
    return cast("Json", usage) if isinstance(usage, dict) else None


def _is_on(environment: Environment) -> bool:
    names = ("LANGSMITH_TRACING_V2", "LANGCHAIN_TRACING_V2", "LANGSMITH_TRACING", "LANGCHAIN_TRACING")
    if _first(environment, *names) == "true":
        return True
    # A program that uses us as a library may have switched it on in its code.
    library = sys.modules.get("langsmith.utils")
    return library is not None and bool(library.tracing_is_enabled())


def _first(environment: Environment, *names: str) -> str:
    return next((value for name in names if (value := environment.get(name, "").strip())), "")


def _mode(environment: Environment) -> str:
    named = _first(environment, "LANGSMITH_TRACING_MODE", "LANGCHAIN_TRACING_MODE").lower()
    if named or not _truish(_first(environment, "LANGSMITH_OTEL_ENABLED", "LANGCHAIN_OTEL_ENABLED")):
        return named or "langsmith"
    return "otel" if _truish(_first(environment, "LANGSMITH_OTEL_ONLY", "LANGCHAIN_OTEL_ONLY")) else "hybrid"


def _truish(value: str) -> bool:
    return value.lower() in ("true", "1")


def _check(environment: Environment) -> None:
    """Refuse what LangSmith would only warn of: it would send to its own service what was meant for a collector."""
    if _mode(environment) in ("otel", "hybrid") and not _has_opentelemetry():
        raise ConfigError(
            "Traces are to go out by OpenTelemetry, but its packages are not installed.",
            "Install the extra `otel`, or unset LANGSMITH_OTEL_ENABLED and LANGSMITH_TRACING_MODE.",
        )


def _has_opentelemetry() -> bool:
    try:
        return all(find_spec(name) for name in ("opentelemetry.sdk", "opentelemetry.exporter.otlp.proto.http"))
    except ModuleNotFoundError:
        return False


def _collector(environment: Environment) -> str:
    return _first(environment, "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")


def _keep_key_from_collector(environment: Environment) -> None:
    """Name headers for the collector where there are none: LangSmith would else send it its own key."""
    collector = _collector(environment)
    own = _first(environment, "LANGSMITH_ENDPOINT", "LANGCHAIN_ENDPOINT") or _LANGSMITH
    if collector and _host(collector) != _host(own) and not _first(environment, "OTEL_EXPORTER_OTLP_HEADERS"):
        theirs = _first(environment, "OTEL_EXPORTER_OTLP_TRACES_HEADERS")
        environment["OTEL_EXPORTER_OTLP_HEADERS"] = theirs or "x-sent-by=guardian"


def _host(url: str) -> str:
    parts = urlsplit(url)
    return parts.netloc.rpartition("@")[2] or parts.path


def _do_not_outlive_the_process(environment: Environment) -> None:
    """Have traces sent by threads that the end of the process need not wait for, unless the user chose otherwise.

    Compressed ones go out by a thread pool, for which it always waits.
    """
    environment.setdefault("LANGSMITH_USE_DAEMON", "true")
    environment.setdefault("LANGSMITH_DISABLE_RUN_COMPRESSION", "true")
    if _mode(environment) != "langsmith":
        environment.setdefault("OTEL_EXPORTER_OTLP_TIMEOUT", f"{EXIT_WAIT_S:g}")


def _keys(environment: Environment) -> frozenset[str]:
    names = ["LANGSMITH_API_KEY", "LANGCHAIN_API_KEY", *(variable.name for variable in VARIABLES if variable.secret)]
    values = (environment.get(name, "").strip() for name in names)
    return frozenset(value for value in values if len(value) >= SHORTEST_KEY)


@cache
def _make_client(keys: frozenset[str]) -> None:
    """Make the client that all traces go by, where there is none yet."""
    from langsmith.run_trees import get_cached_client

    _flush_at_exit(get_cached_client(anonymizer=partial(without_keys, keys=keys)))


@cache
def _make_stripping_client() -> Client:
    """Return the client that sends no contents."""
    from langsmith import Client

    # Outputs, errors and metadata go through the anonymizer. That of errors, and of metadata, is what langsmith
    # has no switch for.
    client = Client(hide_inputs=True, hide_outputs=False, hide_metadata=False, anonymizer=without_content)
    _flush_at_exit(client)
    return client


def _flush_at_exit(client: Client) -> None:
    import atexit

    atexit.register(client.flush, timeout=EXIT_WAIT_S)


@cache
def _keep_logs_short() -> None:
    short = _Short()
    for name in _LOGGERS:
        logging.getLogger(name).addFilter(short)


class _Short(logging.Filter):
    """Makes one sentence, said once, of what a client logs when it cannot send.

    It would log the server's reply, which may repeat the key, a part of the key, and the ids of all runs.
    """

    def __init__(self) -> None:
        super().__init__()
        self._said: set[str] = set()

    def filter(self, record: logging.LogRecord) -> bool:
        if record.levelno < logging.WARNING:
            return True
        text = record.getMessage()
        why = [match.group() for pattern in (_FAULT, _STATUS) if (match := pattern.search(text))]
        sentence = f"Traces could not be sent as they should ({', '.join(why) or record.name}); turns go on without."
        record.msg, record.args, record.exc_info, record.exc_text = sentence, (), None, None
        new = sentence not in self._said
        self._said.add(sentence)
        return new
