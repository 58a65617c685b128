"""The model's window, and cutting a request so that it fits.

Sizes are bytes of UTF-8. No tokenizer of byte-level BPE makes more tokens of a text than it has bytes, so a request
with no more bytes than the window has tokens always fits. A longer request is measured by the tokens per byte that the
server has counted. If it is still too long, it is cut by bytes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, cast

from adapters.models.access import ModelAccess
from adapters.models.chat import WAYS_OUT
from adapters.models.memory import WireMemory
from adapters.models.retries import fault_of_status
from contracts.calls import ModelCall
from contracts.enums import FaultKind
from contracts.errors import ServerFault
from contracts.evidence import EvidenceItem
from contracts.ports import Exchange
from language.truncation import bytes_of, cut_in_proportion, cut_middle, cut_text

if TYPE_CHECKING:
    import openai

UNKNOWN_WINDOW: Final = 8192
"""Tokens assumed where neither a setting nor the server says."""
OPENAI_WINDOW: Final = 128_000
"""Tokens assumed of OpenAI's own models, whose server does not say; the smallest window of those still offered."""
LEAST_RATE: Final = 0.34
"""Tokens per byte that are reckoned with at least: above what English (0.25) and Russian (0.3) take today."""
ASK_S: Final = 2.0
"""Seconds for a server to say how long its window is."""
_MARGIN: Final = 1.15
_SAMPLE: Final = 4000
"""Bytes of a text whose tokens a server is asked to count."""
_PER_MESSAGE: Final = 16
"""Tokens that a chat template puts around one message."""
_WINDOW_NAMES: Final = ("max_model_len", "loaded_context_length", "context_length", "max_context_length", "n_ctx")


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts of a request that can be cut. `fixed` is the size in bytes of the part that cannot."""

    fixed: int
    question: str
    history: tuple[Exchange, ...] = ()
    analysis: str = ""
    evidence: tuple[EvidenceItem, ...] = ()

    @property
    def size(self) -> int:
        """The size of the whole request in bytes."""
        return (
            self.fixed
            + bytes_of(self.question)
            + bytes_of(self.analysis)
            + sum(bytes_of(exchange.text) for exchange in self.history)
            + sum(bytes_of(item.snippet) for item in self.evidence)
        )


class ContextWindow:
    """The context window of one model.

    Args:
        access: The model; its `window` setting overrides the server's value.
        client: For asking the server.
        memory: Keeps the results.
    """

    def __init__(self, access: ModelAccess, client: openai.DefaultAsyncHttpxClient, memory: WireMemory) -> None:
        self._access = access
        self._client = client
        self._memory = memory

    async def tokens(self) -> int:
        """Return the tokens of the window: the setting, else what the server says, else a careful guess."""
        if self._access.window or self._access.base_url is None:
            return self._access.window or OPENAI_WINDOW
        known = self._memory.get(self._access, "window")
        if not isinstance(known, int) or known < 0:
            known = await ask_window(self._access, self._client)
            # That a server does not say (0) is remembered, too; one that may say another time is asked again.
            await self._memory.put(self._access, "window", known)
        return known or UNKNOWN_WINDOW

    async def fit(self, parts: Parts, reply_tokens: int, *, by_bytes: bool = False) -> tuple[Parts, dict[str, int]]:
        """Cut a request to the window.

        Args:
            parts: The request.
            reply_tokens: Room kept for the reply.
            by_bytes: Cut to the certain bound, because the measured one was too much.

        Returns:
            The parts that fit, and what was left out of each.

        Raises:
            ServerFault: Not even the fixed part fits.
        """
        messages = len(parts.history) + 4
        tokens = await self.tokens()
        room = tokens - reply_tokens - _PER_MESSAGE * messages
        if parts.size <= room:
            return parts, {}
        rate = 1.0 if by_bytes else min(1.0, await self._rate(parts) * _MARGIN)
        try:
            return cut_to(parts, int(room / rate))
        except ServerFault as fault:
            where = f"The model {self._access.model!r} at {self._access.server}"
            raise ServerFault(
                f"{where}: {fault.message} ({tokens} tokens, {reply_tokens} of them for the reply).",
                WAYS_OUT[FaultKind.TOO_LONG],
                kind=FaultKind.TOO_LONG,
            ) from fault

    async def forget(self) -> None:
        """Ask the server again next time: it has just said that a request was too long."""
        await self._memory.put(self._access, "window", None)

    async def learn(self, size: int, call: ModelCall) -> None:
        """Remember how many tokens a byte took, if it was more than the known value."""
        if call.prompt_tokens and size:
            rate = min(1.0, call.prompt_tokens / size)
            known = self._memory.get(self._access, "tokens_per_byte")
            if not isinstance(known, float) or rate > known + 0.01:
                await self._memory.put(self._access, "tokens_per_byte", round(rate, 3))

    async def reply_tokens(self, wanted: int) -> int:
        """Return how many tokens a reply may have: the wanted number, at most a third of the window."""
        return min(wanted, await self.tokens() // 3)

    async def _rate(self, parts: Parts) -> float:
        known = self._memory.get(self._access, "tokens_per_byte")
        if not isinstance(known, float):
            words = "\n".join((parts.question, *(item.snippet for item in parts.evidence)))
            known = await ask_rate(self._access, self._client, cut_text(words, _SAMPLE, bytes_of) or words[:_SAMPLE])
            if known is not None:
                await self._memory.put(self._access, "tokens_per_byte", round(known, 3))
        return max(known or 0.0, LEAST_RATE)


def cut_to(parts: Parts, limit: int) -> tuple[Parts, dict[str, int]]:
    """Cut the parts to `limit` bytes together: history oldest first, evidence in proportion to rank.

    The question may have half of the room, the analysis a quarter of the rest. History may have 30 percent of what is
    then left, or the room that evidence does not need.

    Raises:
        ServerFault: There is only room for the fixed part.
    """
    if parts.size <= limit:
        return parts, {}
    room = limit - parts.fixed
    if room < 64:
        raise ServerFault("its window has no room for the instructions", kind=FaultKind.TOO_LONG)
    question = cut_middle(parts.question, room // 2, bytes_of)
    room -= bytes_of(question)
    analysis = cut_text(parts.analysis, room // 4, bytes_of)
    room -= bytes_of(analysis)
    wanted = sum(bytes_of(item.snippet) for item in parts.evidence)
    history = _newest(parts.history, max(room * 3 // 10, room - wanted))
    room -= sum(bytes_of(exchange.text) for exchange in history)
    snippets = cut_in_proportion([item.snippet for item in parts.evidence], room, bytes_of)
    # An item that got no room stays in its place, or the numbers of those after it would be others.
    evidence = tuple(
        item if snippet == item.snippet else item.model_copy(update={"snippet": snippet})
        for item, snippet in zip(parts.evidence, snippets, strict=True)
    )
    fitting = replace(parts, question=question, history=history, analysis=analysis, evidence=evidence)
    cut = {
        "history_messages": len(parts.history) - len(history),
        "evidence_chars": _chars(parts.evidence) - _chars(evidence),
        "analysis_chars": len(parts.analysis) - len(analysis),
        "question_chars": max(0, len(parts.question) - len(question)),
    }
    return fitting, {name: count for name, count in cut.items() if count}


def _newest(history: tuple[Exchange, ...], room: int) -> tuple[Exchange, ...]:
    kept: list[Exchange] = []
    for exchange in reversed(history):
        room -= bytes_of(exchange.text)
        if room < 0:
            break
        kept.append(exchange)
    return tuple(reversed(kept))


def _chars(evidence: tuple[EvidenceItem, ...]) -> int:
    return sum(len(item.snippet) for item in evidence)


async def ask_window(access: ModelAccess, client: openai.DefaultAsyncHttpxClient) -> int | None:
    """Ask the server for the model's window: of the loaded model, if the server reports it.

    The first that reports it counts: llama.cpp's `/props`, the list of models (vLLM, OpenRouter), LM Studio's own list,
    Ollama's loaded models.

    Returns:
        Tokens; 0 if the server does not say, `None` if it may say later: some requests failed, or an Ollama has not
        loaded the model yet.
    """
    if access.base_url is None:
        return None
    base = access.base_url.rstrip("/")
    root = base.removesuffix("/v1")
    find_model = _of_models(access.model)
    places = {
        f"{root}/props": _of_props,
        f"{base}/models": find_model,
        f"{root}/api/v0/models": find_model,
        f"{root}/api/ps": find_model,
    }
    # All at once: a server that is silent on one of them must not cost the time of four.
    replies = await asyncio.gather(*(_fetch(address, access, client) for address in places))
    found = (find(reply) for find, reply in zip(places.values(), replies, strict=True))
    may_say_later = None in replies or _lists_loaded(replies[-1])
    return next(filter(None, found), None if may_say_later else 0)


async def ask_rate(access: ModelAccess, client: openai.DefaultAsyncHttpxClient, sample: str) -> float | None:
    """Have the server count the tokens of a text (llama.cpp's and vLLM's `/tokenize`).

    Returns:
        Tokens per byte, at most 1; `None` if the server does not count.
    """
    if access.base_url is None or not sample:
        return None
    root = access.base_url.rstrip("/").removesuffix("/v1")
    # Each server reads its own field and lets the other's be.
    body = {"model": access.model, "content": sample, "prompt": sample}
    reply = await _fetch(f"{root}/tokenize", access, client, body)
    tokens: Any = cast("dict[str, Any]", reply).get("tokens") if isinstance(reply, dict) else None
    return min(1.0, len(cast("list[Any]", tokens)) / bytes_of(sample)) if isinstance(tokens, list) else None


async def list_models(access: ModelAccess, client: openai.DefaultAsyncHttpxClient) -> list[str] | None:
    """Return the names of the models that a server has; `None` if it does not say."""
    if access.base_url is None:
        return None
    reply = await _fetch(f"{access.base_url.rstrip('/')}/models", access, client)
    if not isinstance(reply, dict) or not reply:
        return None
    return [str(entry["id"]) for entry in _entries(reply) if "id" in entry]


async def _fetch(address: str, access: ModelAccess, client: openai.DefaultAsyncHttpxClient, body: object = None) -> Any:
    """Return what stands at an address; `{}` where it is not JSON, `None` where the server does not answer."""
    key = access.api_key.get_secret_value() if access.api_key else "none"
    try:
        # The client's own timeout is for each piece of a reply, and pieces may come for ever.
        async with asyncio.timeout(ASK_S):
            headers = {"Authorization": f"Bearer {key}"}
            method = "GET" if body is None else "POST"
            reply = await client.request(method, address, json=body, headers=headers, timeout=ASK_S)
    except Exception:  # noqa: BLE001  # a server that cannot say how long its window is, is no reason to stop a turn
        return None
    if reply.status_code != 200:
        # A key that is refused today, or too many requests, say nothing about what stands there.
        return {} if fault_of_status(reply.status_code) in (FaultKind.NOT_FOUND, FaultKind.BAD_REQUEST) else None
    try:
        return reply.json()
    except (ValueError, RecursionError):
        return {}


def _of_models(model: str) -> Callable[[Any], int | None]:
    def find(reply: Any) -> int | None:
        for entry in _entries(reply):
            if model in (entry.get("id"), entry.get("model"), entry.get("name")):
                meta = entry.get("meta")
                return _number(entry) or _number(cast("dict[str, Any]", meta) if isinstance(meta, dict) else {})
        return None

    return find


def _of_props(reply: Any) -> int | None:
    settings = cast("dict[str, Any]", reply).get("default_generation_settings") if isinstance(reply, dict) else None
    return _number(cast("dict[str, Any]", settings)) if isinstance(settings, dict) else None


def _lists_loaded(reply: Any) -> bool:
    """Whether this is Ollama's list of loaded models."""
    return isinstance(reply, dict) and isinstance(cast("dict[str, Any]", reply).get("models"), list)


def _entries(reply: Any) -> list[dict[str, Any]]:
    lists = cast("dict[str, Any]", reply) if isinstance(reply, dict) else {}
    data = lists.get("data", lists.get("models"))
    return [entry for entry in cast("list[Any]", data) if isinstance(entry, dict)] if isinstance(data, list) else []


def _number(entry: dict[str, Any]) -> int | None:
    for name in _WINDOW_NAMES:
        value = entry.get(name)
        if isinstance(value, int) and not isinstance(value, bool) and value > 0:
            return value
    return None
