"""Metrics for Prometheus: turns of every interface, and requests over HTTP.

Label values are few and fixed: the program's own names, never a text, an id, an address or a key.
"""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from prometheus_client.metrics_core import Metric
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.registry import Collector

from assistant.turns.events import Judged, NodeFinished, TurnEnded
from contracts.enums import CallPurpose
from contracts.errors import BudgetSpent

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from assistant.service import Service
    from assistant.turns.events import TurnEvent
    from assistant.turns.running_turn import RunningTurn
    from assistant.web.paths import Paths
    from contracts.result import StructuredAgentResult

_NODE_S: Final = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 600)
_TURN_S: Final = (0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60, 120, 300, 1200)
_SHARES: Final = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1)
_PARTS: Final = frozenset(
    {
        *("moderation", "plan", "draft", "embeddings", "reranker", "entailment", "policy", "lookups", "hand_off"),
        *("doc", "db", "neo4j"),
    }
)
"""What stands before the colon of an entry of `degraded`."""
_METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_UNKNOWN: Final = "unknown"
_GONE: Final = "499"
"""The status of a request whose client went away before an answer began, as proxies write it."""


class Metrics:
    """The metrics of one server, in its own registry."""

    def __init__(self) -> None:
        registry = self._registry = CollectorRegistry()
        to: dict[str, Any] = {"namespace": "guardian", "registry": registry}
        ProcessCollector(registry=registry)
        self._running = Gauge("turns_running", "Turns that run now", **to)
        self._turns = Counter(
            "turns", "Turns that ended, by outcome; stopped and failed ones have no answer", ["outcome"], **to
        )
        self._verdicts = Counter("verdicts", "Drafts that were judged, by verdict", ["verdict"], **to)
        self._retries = Counter("retries", "Drafts that were tried again", **to)
        self._routes = Counter("routes", "Messages by what DT-002 made of them", ["action", "flow"], **to)
        self._degraded = Counter("degraded", "Parts that did not work as configured in a turn", ["part"], **to)
        self._faithfulness = Histogram(
            "faithfulness", "Share of an answer's words that its sources have", buckets=_SHARES, **to
        )
        self._node_seconds = Histogram("node_seconds", "Seconds in a node", ["node"], buckets=_NODE_S, **to)
        self._turn_seconds = Histogram(
            "turn_seconds", "Seconds from a turn's start to its result", buckets=_TURN_S, **to
        )
        self._first_seconds = Histogram(
            "first_event_seconds", "Seconds from a turn's start to its first event", buckets=_NODE_S, **to
        )
        self._calls = Counter("model_calls", "Requests to models", ["purpose", "success"], **to)
        self._tokens = Counter("model_tokens", "Tokens, as the models' servers counted them", ["kind"], **to)
        self._cost = Counter("model_cost", "What models cost, by the profile's prices", ["currency"], **to)
        self._requests = Counter("http_requests", "Requests over HTTP", ["method", "route", "status"], **to)
        self._request_seconds = Histogram(
            "http_request_seconds", "Seconds to the end of an answer", ["method", "route"], buckets=_TURN_S, **to
        )
        self._resting = Gauge(
            "model_resting_seconds",
            "Seconds until a model that missed too many deadlines is asked again",
            ["purpose"],
            **to,
        )
        self._refused = Counter("rate_limited_requests", "Requests refused as too many", ["reason"], **to)

    def watch(self, service: Service) -> None:
        """Count the turns of an open deployment from now on."""
        self._running.set_function(lambda: service.running)
        for purpose in CallPurpose:
            self._resting.labels(purpose).set_function(partial(_resting_s, service, purpose))
        service.watchers.append(self._turn)

    def limited(self, reason: str) -> None:
        """Count a request that a limit refused: of a `key`, or with a `wrong_key`."""
        self._refused.labels(reason).inc()

    def request(self, method: str, route: str, status: str, seconds: float) -> None:
        """Count a finished HTTP request."""
        known = method if method in _METHODS else _UNKNOWN
        self._requests.labels(known, route, status).inc()
        self._request_seconds.labels(known, route).observe(seconds)

    def text(self) -> tuple[bytes, str]:
        """Return all metrics in Prometheus's text format, and its content type."""
        return generate_latest(self._registry), CONTENT_TYPE_LATEST

    def _turn(self, live: RunningTurn, event: TurnEvent | None) -> None:
        match event:
            case None:
                stopped = live.task is not None and live.task.cancelled()
                if live.task is not None and not stopped and isinstance(live.task.exception(), BudgetSpent):
                    self.limited("budget")  # no turn has begun
                    return
                self._turns.labels("stopped" if stopped else "failed").inc()
            case NodeFinished(node=node, ms=ms):
                self._node_seconds.labels(node).observe(ms / 1000)
                if node == "retry_bump":
                    self._retries.inc()
            case Judged(verdict=verdict):
                self._verdicts.labels(verdict).inc()
            case TurnEnded(result=result) if live.ran:
                self._result(result)
            case _:
                pass

    def _result(self, result: StructuredAgentResult) -> None:
        parts = {entry.partition(":")[0] for entry in result.diagnostics.degraded}
        for part in parts:
            self._degraded.labels(part if part in _PARTS else _UNKNOWN).inc()
        self._turns.labels(result.outcome).inc()
        if result.action is not None:
            self._routes.labels(result.action, result.flow or "none").inc()
        if result.guardian is not None and result.guardian.faithfulness is not None:
            self._faithfulness.observe(result.guardian.faithfulness)
        told = result.diagnostics
        if told.answer_ms is not None:
            self._turn_seconds.observe(told.answer_ms / 1000)
        if told.first_event_ms is not None:
            self._first_seconds.observe(told.first_event_ms / 1000)
        for call in told.calls:
            self._calls.labels(call.purpose, "false" if call.fault else "true").inc()
        for kind, count in told.tokens.items():
            self._tokens.labels(kind).inc(count)
        if told.cost is not None:
            self._cost.labels(told.currency).inc(told.cost)


def merge_texts(texts: Mapping[int, str]) -> bytes:
    """Return the metrics of several workers in one text, in which each sample says whose it is.

    Args:
        texts: Their texts in Prometheus's format, by the worker's number, from 0.
    """
    merged: dict[str, Metric] = {}
    for worker, text in sorted(texts.items()):
        for family in text_string_to_metric_families(text):
            into = merged.setdefault(family.name, Metric(family.name, family.documentation, family.type))
            for sample in family.samples:
                into.add_sample(sample.name, {**sample.labels, "worker": str(worker + 1)}, sample.value)
    registry = CollectorRegistry()
    registry.register(_Collected(list(merged.values())))
    return generate_latest(registry)


class _Collected(Collector):
    """Metrics that were collected elsewhere."""

    def __init__(self, families: list[Metric]) -> None:
        self._families = families

    def collect(self) -> list[Metric]:
        return self._families


class Measured:
    """A counter of an application's requests, as plain ASGI around everything else.

    Args:
        app: The measured application.
        metrics: The metrics that count the requests.
        paths: All paths of the application; a request that is refused before its route still counts for its path.
    """

    def __init__(self, app: ASGIApp, metrics: Metrics, paths: Paths) -> None:
        self._app = app
        self._metrics = metrics
        self._paths = paths

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        # What is mounted changes the scope.
        outer, path, began, status = scope["app"], scope["path"], time.monotonic(), _GONE

        async def noting(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = str(message["status"])
            await send(message)

        try:
            await self._app(scope, receive, noting)
        except Exception:
            status = "500"
            raise
        finally:
            route = self._paths.template(path, scope["method"]) or _route(scope, outer)
            self._metrics.request(scope["method"], route, status, time.monotonic() - began)


def _route(scope: Scope, outer: object) -> str:
    """Return the template of the route that a request came to; of what is mounted, where that is, and no more."""
    if scope["app"] is not outer:
        return f"{scope.get('root_path', '')}/*"
    return str(getattr(scope.get("route"), "path", "") or _UNKNOWN)


def _resting_s(service: Service, purpose: CallPurpose) -> float:
    return service.list_resting().get(purpose, 0.0)
