"""The scripted server's default replies: those of a well-behaved model.

The module also has the wire formats: the chat completion, its stream, the list of models, the verdict of a MOSEC
moderator. It imports only the standard library, so that the server starts at once.
"""

from __future__ import annotations

import json
import math
import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, Literal, TypeAlias, cast

PLAN_TOOL: Final = "analyse_user_request"
NO_ANSWER: Final = "NO_ANSWER"
ENTAILMENT: Final = "entailment"
"""Name of the schema that a judge of claims is to fill in."""
SENTENCES: Final = "sentences"
"""Name of the schema that a drafting model fills in with the numbers of sentences."""
MODELS: Final = ("fake-model", "fake-guard")

Purpose: TypeAlias = Literal["plan", "draft", "moderation", "embedding", "rerank", "entailment", ""]
ToolChoice: TypeAlias = Literal["named", "required", "auto", "none"]

_REPEAT = "Write the two words and nothing else."
_NUMBERED = re.compile(r"^S(\d+) (.*)$", re.MULTILINE)
_ASKED = re.compile(r"^Which sentences answer: (.*)$", re.MULTILINE)
"""The sentences that a model is to choose from, and the question; they stand in no other request."""
_EVIDENCE = re.compile(
    r"^\[(?P<number>\d+)\][^\n]*\n"
    r"(?:(?!\[\d+\])[^`\n]*\n){0,3}?"
    r"(?P<fence>`{3,})[^`\n]*\n(?P<text>.*?)^(?P=fence)`*[ \t]*$",
    re.MULTILINE | re.DOTALL,
)
_NO_PROSE = re.compile(r"\s*(?:#{1,6}\s|\||`{3,}|~{3,}|[-=*_]{3,}\s*$|$)")
_MARKER = re.compile(r"\s*(?:[-*+]|\d+[.)]|>)\s+")
_SENTENCE = re.compile(r"(?P<words>.+?)(?P<end>[.!?…]+|:)(?=\s+[^a-zа-яё\s]|\s*$)")
_CITATION = re.compile(r"\s*\[\d+\]")
_VERDICT_LINE = re.compile(r"^(?P<key>Safety|Categories|Refusal): *(?P<value>.*)$", re.MULTILINE)
_WORDS = re.compile(r"\w+")
_PIECE = re.compile(r"\s*\S+|\s+$")


def object_of(value: object) -> dict[str, Any]:
    """Return a JSON object as it is, and an empty one for anything else."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def list_of(value: object) -> list[Any]:
    """Return a JSON list as it is, and an empty one for anything else."""
    return cast("list[Any]", value) if isinstance(value, list) else []


def text_of(content: object) -> str:
    """Return the text of a message's content, which is a string or a list of parts."""
    if isinstance(content, str):
        return content
    return "\n".join(str(object_of(part).get("text", "")) for part in list_of(content))


def tokens(text: str) -> int:
    """Count tokens as this server does: a quarter of the UTF-8 bytes, rounded up."""
    return math.ceil(len(text.encode("utf-8", "surrogatepass")) / 4)


def dump(value: object) -> str:
    """Write JSON as this server does; NaN and infinity are written, as careless servers write them."""
    return json.dumps(value, ensure_ascii=False)


@dataclass(frozen=True)
class ModelRequest:
    """A request as it came.

    Attributes:
        path: Without the query.
        text: The body as text.
        body: The parsed body; `None` if it is not JSON.
    """

    method: str
    path: str
    text: str = ""
    body: Any = None

    @cached_property
    def fields(self) -> dict[str, Any]:
        return object_of(self.body)

    @cached_property
    def messages(self) -> list[dict[str, Any]]:
        return [object_of(message) for message in list_of(self.fields.get("messages"))]

    @cached_property
    def last_user_text(self) -> str:
        texts = [text_of(message.get("content")) for message in self.messages if message.get("role") == "user"]
        return texts[-1] if texts else ""

    @cached_property
    def said_before(self) -> str:
        """What the assistant and its tools said, calls included."""
        own = [message for message in self.messages if message.get("role") in ("assistant", "tool")]
        return "\n".join(
            f"{text_of(message.get('content'))} {dump(message.get('tool_calls') or '')}" for message in own
        )

    @cached_property
    def tools(self) -> list[str]:
        """The names of the tools that are offered."""
        functions = [object_of(object_of(tool).get("function")) for tool in list_of(self.fields.get("tools"))]
        return [str(function.get("name")) for function in functions]

    @cached_property
    def tool_choice(self) -> ToolChoice:
        """The request's `tool_choice`; without one it is `auto` if the request has tools, else `none`."""
        choice = self.fields.get("tool_choice")
        if isinstance(choice, dict):
            return "named"
        if choice in ("required", "auto", "none"):
            return cast("ToolChoice", choice)
        return "auto" if self.tools else "none"

    @cached_property
    def is_chat(self) -> bool:
        return self.method == "POST" and self.path.endswith("/chat/completions")

    @cached_property
    def is_mosec(self) -> bool:
        return self.method == "POST" and self.path.endswith("/inference")

    @cached_property
    def purpose(self) -> Purpose:
        """The purpose of the model that is asked; empty if no model is asked."""
        if self.is_mosec or (self.is_chat and "guard" in str(self.fields.get("model")).lower()):
            return "moderation"
        if self.method == "POST" and self.path.endswith(("/embeddings", "/rerank")):
            return "rerank" if self.path.endswith("/rerank") else "embedding"
        if self.method == "POST" and self.path.endswith("/predict"):
            return "entailment"
        if not self.is_chat:
            return ""
        wanted = object_of(self.fields.get("response_format"))
        if wanted.get("type") != "json_schema":
            return "plan" if PLAN_TOOL in self.tools else "draft"
        named = object_of(wanted.get("json_schema")).get("name")
        return "entailment" if named == ENTAILMENT else "draft" if named == SENTENCES else "plan"


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a tool; the arguments are sent exactly as they are."""

    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class ModelReply:
    """The content of a model's reply."""

    content: str | None = None
    calls: tuple[Call, ...] = ()
    reasoning: str = ""

    @property
    def finish_reason(self) -> str:
        return "tool_calls" if self.calls else "stop"


# ------------------------------------------------------------------------------------------------ a model that behaves


def well_said(asked: ModelRequest) -> ModelReply:
    """Return the reply of a well-behaved model."""
    match asked.purpose:
        case "moderation":
            return ModelReply("Safety: Safe\nCategories: None")
        case "plan":
            return plan_said(asked, plan_for(asked.last_user_text))
        case "entailment":
            return ModelReply(dump({"answers": judge_claims(asked.last_user_text)}))
        case _ if asked.last_user_text.endswith(_REPEAT):
            return ModelReply(asked.said_before)
        case _ if found := _NUMBERED.findall(asked.last_user_text):
            number = choose_sentence(asked.last_user_text, found)
            return ModelReply(dump({"sentences": [number]}) if "response_format" in asked.fields else f"S{number}")
        case _:
            return ModelReply(answer_from(asked.last_user_text))


def plan_said(asked: ModelRequest, plan: dict[str, Any]) -> ModelReply:
    """Return a plan in the requested form: as a call of the tool, or else as JSON text, whole or in the small form."""
    if asked.tools and asked.tool_choice != "none":
        return ModelReply(calls=(Call(PLAN_TOOL, dump(plan)),))
    schema = object_of(object_of(object_of(asked.fields.get("response_format")).get("json_schema")).get("schema"))
    fields = object_of(schema.get("properties"))
    if "request" in fields:
        plan = {name: value for name, value in {**plan, "request": "clear", "lookup": "none"}.items() if name in fields}
    return ModelReply(dump(plan))


def plan_for(message: str) -> dict[str, Any]:
    """Return a valid plan for a message (`contracts/plan.py`): in scope, understood, one query, nothing missing."""
    russian = re.search(r"[А-Яа-яЁё]", message) is not None
    reason = (
        "Вопрос относится к продукту, его предмет ясен, и ответ можно искать в документах по словам вопроса."
        if russian
        else "The request is about the product, names its subject, and can be looked up in the documents."
    )
    intent = "Пользователь хочет узнать: " if russian else "The user wants to know: "
    steps = ["Найти фрагменты", "Ответить по ним"] if russian else ["Find the passages", "Answer from them"]
    return {
        "spam_score": 0.05,
        "spam_reason": reason,
        "user_intent": (intent + message)[:300],
        "topic": None,
        "category": None,
        "answer_language": "ru" if russian else "en",
        "request_type": "KNOWLEDGE_QA",
        "subqueries": [message.strip()[:300] or "-"],
        "lookups": [],
        "action_plan": steps,
        "intent_confidence": 0.9,
        "uncertainties": [],
        "action": "normal",
        "clarification_question": None,
        "wants_human": False,
    }


def judge_claims(listed: str) -> list[dict[str, Any]]:
    """Return a judge's answers to a JSON list of claims and texts: a claim follows if the text has all its words."""
    try:
        entries = [object_of(one) for one in list_of(json.loads(listed))]
    except ValueError:
        return []
    return [
        {
            "n": one.get("n"),
            "entailment": "entailed" if follows(one.get("text"), one.get("claim")) else "neutral",
            "confidence": 0.9,
        }
        for one in entries
    ]


def predict_labels(asked: ModelRequest) -> list[list[dict[str, Any]]]:
    """Return the labels of each pair of premise and hypothesis, most likely first, as TEI writes them."""
    pairs = [[*list_of(pair), "", ""][:2] for pair in list_of(asked.fields.get("inputs"))]
    found = [("entailment", "neutral") if follows(*pair) else ("neutral", "entailment") for pair in pairs]
    return [
        [
            {"label": name, "score": score}
            for name, score in zip((*order, "contradiction"), (0.9, 0.08, 0.02), strict=True)
        ]
        for order in found
    ]


def follows(text: object, claim: object) -> bool:
    """Return whether a text has all words of a claim; the fake understands nothing more."""
    there, wanted = (set(_WORDS.findall(str(each).lower())) for each in (text, claim))
    return wanted <= there


def choose_sentence(message: str, numbered: Sequence[tuple[str, str]]) -> int:
    """Return the number of the sentence with most words of the question, the first of equals."""
    asked = _ASKED.search(message)
    wanted = set(_WORDS.findall(asked[1].lower())) if asked else set[str]()
    return int(max(numbered, key=lambda one: len(wanted.intersection(_WORDS.findall(one[1].lower()))))[0])


def answer_from(message: str) -> str:
    """Quote the first sentence of each of the first two passages of evidence; `NO_ANSWER` if there is none."""
    quoted = [quote(found["text"], found["number"]) for found in _EVIDENCE.finditer(message)]
    return " ".join([sentence for sentence in quoted if sentence][:2]) or NO_ANSWER


def quote(passage: str, number: str) -> str:
    """Return the first sentence of a passage with its citation before the full stop; empty if it has no prose."""
    sentence = _SENTENCE.match(_first_prose(passage))
    words = sentence["words"] if sentence else _first_prose(passage)
    words = _CITATION.sub("", words).strip()
    end = sentence["end"] if sentence and sentence["end"] in ("!", "?") else "."
    return f"{words} [{number}]{end}" if words else ""


def _first_prose(passage: str) -> str:
    """Return the first paragraph, or item of a list, on one line: headings, tables and fences are passed over."""
    prose: list[str] = []
    for line in passage.splitlines():
        ends = _NO_PROSE.match(line) or (prose and _MARKER.match(line))
        if prose and ends:
            break
        if not ends:
            prose.append(_MARKER.sub("", line, count=1).strip())
    return " ".join(prose)


# ---------------------------------------------------------------------------------------------------------- wire forms


def usage_of(asked: ModelRequest, said: ModelReply) -> dict[str, Any]:
    """Count what a request and its reply cost."""
    sent = [text_of(message.get("content")) for message in asked.messages]
    calls = [message["tool_calls"] for message in asked.messages if message.get("tool_calls")]
    offered = [asked.fields["tools"]] if asked.fields.get("tools") else []
    prompt = tokens("".join([*sent, *(dump(value) for value in [*calls, *offered])]))
    reasoning = tokens(said.reasoning)
    completion = reasoning + tokens("".join([said.content or "", *(call.name + call.arguments for call in said.calls)]))
    return {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
        "prompt_tokens_details": {"cached_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": reasoning},
    }


def message_of(said: ModelReply) -> dict[str, Any]:
    """Return the message of a chat completion."""
    message: dict[str, Any] = {"role": "assistant", "content": said.content}
    if said.reasoning:
        message["reasoning_content"] = said.reasoning
    if said.calls:
        message["tool_calls"] = [_call_of(number, call) for number, call in enumerate(said.calls, 1)]
    return message


def _call_of(number: int, call: Call) -> dict[str, Any]:
    return {"id": f"call_{number}", "type": "function", "function": {"name": call.name, "arguments": call.arguments}}


def completion(asked: ModelRequest, number: int, choices: object, usage: object) -> dict[str, Any]:
    """Return a chat completion with any choices."""
    return {**_head(asked, number, "chat.completion"), "choices": choices, "usage": usage}


def choice_of(said: ModelReply, finish_reason: object) -> dict[str, Any]:
    """Return the one choice of a chat completion."""
    return {"index": 0, "message": message_of(said), "logprobs": None, "finish_reason": finish_reason}


def stream(asked: ModelRequest, number: int, choices: object, usage: object) -> Iterator[bytes]:
    """Yield the events of a chat completion that is streamed; the last one before `[DONE]` has the usage."""
    head = _head(asked, number, "chat.completion.chunk")
    parts = [part for choice in list_of(choices) for part in _parts(object_of(choice))]
    for some in [[part] for part in parts] or [choices]:
        yield event({**head, "choices": some, "usage": None})
    if usage is not None:
        yield event({**head, "choices": [], "usage": usage})
    yield event("[DONE]")


def _parts(choice: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Cut a choice into the deltas of a stream: role, reasoning, content and calls in pieces, the reason to end."""
    message = object_of(choice.get("message"))
    deltas: list[dict[str, Any]] = [{"role": message.get("role", "assistant"), "content": ""}]
    for key in ("reasoning_content", "content"):
        deltas += [{key: piece} for piece in _pieces(message.get(key))]
    for index, call in enumerate(list_of(message.get("tool_calls"))):
        function = object_of(object_of(call).get("function"))
        deltas.append({"tool_calls": [{**object_of(call), "index": index, "function": {**function, "arguments": ""}}]})
        for piece in _pieces(function.get("arguments")):
            deltas.append({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
    index = choice.get("index", 0)
    yield from ({"index": index, "delta": delta, "finish_reason": None} for delta in deltas)
    yield {"index": index, "delta": {}, "finish_reason": choice.get("finish_reason")}


def _pieces(text: object) -> list[str]:
    return _PIECE.findall(text) if isinstance(text, str) else []


def event(data: object) -> bytes:
    """Return one event of a stream; text is sent as it is."""
    return f"data: {data if isinstance(data, str) else dump(data)}\n\n".encode("utf-8", "surrogatepass")


def _head(asked: ModelRequest, number: int, kind: str) -> dict[str, Any]:
    model = asked.fields.get("model") or MODELS[0]
    return {"id": f"chatcmpl-{number}", "object": kind, "created": int(time.time()), "model": model}


def verdict_of(said: ModelReply) -> dict[str, Any]:
    """Return the reply of a MOSEC moderator that says the same as a guard model's text."""
    lines = {found["key"]: found["value"].strip() for found in _VERDICT_LINE.finditer(said.content or "")}
    named = [name.strip() for name in lines.get("Categories", "").split(",")]
    return {
        "safety_level": lines.get("Safety"),
        "categories": [name for name in named if name not in ("", "None")],
        "refusal": lines.get("Refusal"),
        "raw_output": said.content,
        "model": MODELS[1],
        "provider": "mosec",
    }


def models(window: int | None, names: Sequence[str] = MODELS) -> dict[str, Any]:
    """Return the list of models; if the window is known, with `max_model_len` as vLLM writes it."""
    more = {} if window is None else {"max_model_len": window}
    data = [{"id": name, "object": "model", "created": 0, "owned_by": "guardian", **more} for name in names]
    return {"object": "list", "data": data}


def error_object(
    message: str, *, kind: str = "invalid_request_error", param: str = "", code: str = ""
) -> dict[str, Any]:
    """Return an error as OpenAI writes it."""
    return {"error": {"message": message, "type": kind, "param": param or None, "code": code or None}}
