"""What is replied to a request: the key is looked at first, then the body, the messages, the script."""

from __future__ import annotations

from dataclasses import replace

from adapters.fakes.model import MODELS, ModelRequest, models
from adapters.fakes.options import FakeServerOptions
from adapters.fakes.replies import SocketReply, answer_to, json_answer, refusal
from adapters.fakes.scripts import Script
from adapters.fakes.strict import breach_of


def decide(
    script: Script, options: FakeServerOptions, asked: ModelRequest, key: str, number: int
) -> tuple[int | None, SocketReply]:
    """Return the script's step that decides, `None` where none does, and what is replied to a request.

    Args:
        script: Its counts go on.
        options: Those in force.
        asked: The request.
        key: The bearer token that came with it; empty where none did.
        number: Of the request.
    """
    if options.api_key is not None and asked.path != "/healthz" and key != options.api_key:
        return None, _refuse_key(key)
    if (asked.is_chat or asked.purpose in ("embedding", "rerank", "entailment")) and not isinstance(asked.body, dict):
        return None, refusal(400, "The body of the request is not a JSON object.", code="no_json_object")
    breach = breach_of(asked.messages) if options.strict and asked.is_chat else None
    if breach is not None:
        message = f"messages.{breach.where}: {breach.message} (rule {breach.rule})"
        return None, refusal(400, message, param=f"messages.{breach.where}", code=breach.rule)
    step, reply = script.reply_to(asked)
    answer = answer_to(asked, number, reply, _otherwise(asked, options))
    if answer.delay_headers_s is None:
        answer = replace(answer, delay_headers_s=options.delay_ms / 1000 if asked.purpose else 0.0)
    return step, answer


def _otherwise(asked: ModelRequest, options: FakeServerOptions) -> SocketReply:
    """Answer what asks no model."""
    if asked.method == "GET" and asked.path == "/healthz":
        return json_answer({"status": "ok"})
    if asked.method == "GET" and asked.path.endswith("/models"):
        return json_answer(models(options.window))
    if asked.method == "GET" and asked.path.rpartition("/")[2] in MODELS:
        return json_answer(models(options.window, [asked.path.rpartition("/")[2]])["data"][0])
    return refusal(404, f"Invalid URL ({asked.method} {asked.path})", code="unknown_url")


def _refuse_key(key: str) -> SocketReply:
    """Refuse a key in OpenAI's words, which repeat the beginning and the end of it."""
    if not key:
        return refusal(
            401, "You didn't provide an API key. You need to provide your API key in an Authorization header."
        )
    shown = f"{key[:8]}{'*' * max(len(key) - 12, 3)}{key[-4:]}" if len(key) > 12 else f"{key[:2]}***{key[-2:]}"
    return refusal(401, f"Incorrect API key provided: {shown}.", code="invalid_api_key")
