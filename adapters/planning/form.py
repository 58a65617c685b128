"""The form of the planning exchange: `SGRPlanResult` as a tool, and reading what a model filled in.

The reply is always checked: servers silently ignore a forced call, models write the call as text, and grammars limit
lists and words but not numbers.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, TypeVar, cast

from pydantic import BaseModel, ValidationError

from contracts.enums import Language, RequestType, SGRAction
from contracts.lookups import MOST_CALLS
from contracts.plan import PLAN_TOOL, SGRPlanResult
from language.clean import clean

_LISTS: Final = {"subqueries": 10, "action_plan": 10, "uncertainties": 5}
_TEXTS: Final = {
    "spam_reason": 150,
    "user_intent": 300,
    "topic": 150,
    "category": 80,
    "clarification_question": 300,
}
_MAY_BE_MISSING: Final = ("topic", "category", "answer_language", "clarification_question")
_WORDS: Final = {"request_type": RequestType, "action": SGRAction, "answer_language": Language}
_LONGEST_ITEM: Final = 300
_TAGGED: Final = re.compile(r"<tool_call>(.*?)(?:</tool_call>|\Z)", re.DOTALL)
_TRAILING_COMMA: Final = re.compile(r",(\s*[}\]])")


Form = TypeVar("Form", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class FilledPlan:
    """A valid plan, the arguments as they came, and the corrections made without a repair request."""

    plan: SGRPlanResult
    raw: str
    repaired: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class InvalidPlan:
    """Arguments that are not a valid plan, and why, in words that a model can act on."""

    raw: str
    faults: tuple[str, ...]


def read_arguments(text: str) -> FilledPlan | InvalidPlan:
    """Read the arguments of a call: strict about what they mean, lenient about what is unambiguous.

    These are corrected without a repair request: lengths, duplicates, a bare string for a list of one, `null` for an
    empty list, the case of a word, commas before a closing bracket, and how a lookup's values are written. A score must
    be a number from 0 to 1.
    """
    filled = fill(SGRPlanResult, text)
    return filled if isinstance(filled, InvalidPlan) else FilledPlan(filled[0], clean(text), filled[1])


def fill(form: type[Form], text: str) -> tuple[Form, tuple[str, ...]] | InvalidPlan:
    """Return a form filled with a call's arguments, and the fields that were put right without asking."""
    raw = clean(text)
    try:
        value = _tolerant(text)
    except (ValueError, RecursionError):
        return InvalidPlan(raw, ("the arguments are not valid JSON",))
    if not isinstance(value, dict):
        return InvalidPlan(raw, ("the arguments are not a JSON object",))
    given, repaired = _put_right(cast("dict[str, Any]", value), form.model_fields)
    try:
        return form.model_validate(given), repaired
    except ValidationError as error:
        return InvalidPlan(raw, tuple(_fault(entry) for entry in error.errors()[:8]))


def _json(text: str) -> Any:
    """Read JSON; line breaks may stand in its strings, and NaN among its numbers.

    Raises:
        ValueError: It is none, or has a number of thousands of digits.
        RecursionError: It is nested too deep.
    """
    return json.loads(text, parse_constant=float, strict=False)


def _tolerant(text: str) -> Any:
    """Read JSON, where it is none without the commas before its closing brackets.

    Raises:
        ValueError: It is none then, either.
        RecursionError: It is nested too deep.
    """
    try:
        return _json(text)
    except ValueError:
        return _json(_TRAILING_COMMA.sub(r"\1", text))


def read_text(text: str) -> FilledPlan | InvalidPlan | None:
    """Read a plan from a reply's text: in tags of a tool call, in a fence, or bare; `None` if there is no plan."""
    best: InvalidPlan | None = None
    for arguments in find_arguments(text):
        reading = read_arguments(arguments)
        if isinstance(reading, FilledPlan):
            return reading
        best = best or reading
    return best


def find_arguments(text: str) -> Iterator[str]:
    """Yield what may be the arguments in a reply's text, as JSON."""
    for candidate in _candidates(text):
        yield from _unwrap_arguments(candidate)


def _candidates(text: str) -> Iterator[str]:
    fenced = text.split("```")[1::2]
    found = [*(m.group(1) for m in _TAGGED.finditer(text)), *fenced, text]
    for part in found:
        first, last = part.find("{"), part.rfind("}")
        if 0 <= first < last:
            yield part[first : last + 1]


def _unwrap_arguments(text: str) -> Iterator[str]:
    """Yield the arguments in a JSON object: the object itself, or what a call written as text holds."""
    try:
        value = _tolerant(text)
    except (ValueError, RecursionError):
        return
    if not isinstance(value, dict):
        return
    call = cast("dict[str, Any]", value)
    inner = call.get("arguments", call.get("parameters"))
    if call.get("name") == PLAN_TOOL and inner is not None:
        yield inner if isinstance(inner, str) else json.dumps(inner, ensure_ascii=False)
    elif "user_intent" in call or "spam_score" in call:
        yield text


def _put_right(given: Mapping[str, Any], names: Iterable[str]) -> tuple[dict[str, Any], tuple[str, ...]]:
    form = {name: given[name] for name in names if name in given}
    repaired: list[str] = []
    for name, value in list(form.items()):
        mended = _mend(name, value)
        if mended is _DROP:
            del form[name]
        elif mended != value and not (isinstance(value, float) and math.isnan(value)):
            form[name] = mended
            repaired.append(name)
    return form, tuple(repaired)


_DROP: Final = object()


def _mend(name: str, value: Any) -> Any:
    if name in _LISTS or name == "lookups":
        return _mended_lookups(value) if name == "lookups" else _mended_list(value, _LISTS[name])
    if name in _TEXTS and isinstance(value, str):
        text = _clip(value, _TEXTS[name])
        return text or (None if name in _MAY_BE_MISSING else text)
    if name in _WORDS:
        if value is None or value == "":
            return _DROP if name != "action" else value
        return _as_word(value, [str(word) for word in _WORDS[name]])
    if name == "wants_human" and value is None:
        return _DROP
    return value


def _mended_list(value: Any, longest: int) -> Any:
    if value is None:
        return []
    items = [value] if isinstance(value, str) else value
    if not isinstance(items, list) or not all(isinstance(item, str) for item in cast("list[Any]", items)):
        return value
    texts = [_clip(item, _LONGEST_ITEM) for item in cast("list[str]", items)]
    return list(dict.fromkeys(text for text in texts if text))[:longest]


def _mended_lookups(value: Any) -> Any:
    """Return lookups in the form that the plan asks for; a bare name, and values as `{"days": 7}`, are meant alike."""
    if value is None:
        return []
    calls = cast("list[Any]", value if isinstance(value, list) else [value])
    mended = [_mended_lookup(call) for call in calls if call not in ("", None)]
    different = [call for place, call in enumerate(mended) if call not in mended[:place]]
    return different[:MOST_CALLS]


def _mended_lookup(value: Any) -> Any:
    call: Any = {"name": value} if isinstance(value, str) else value
    if not isinstance(call, dict):
        return call
    given = cast("dict[str, Any]", call)
    arguments: Any = given.get("arguments") or []
    if isinstance(arguments, dict):
        pairs = cast("dict[str, Any]", arguments)
        arguments = [{"name": name, "value": text} for name, text in pairs.items()]
    if isinstance(arguments, list):
        arguments = [_mended_value(entry) for entry in cast("list[Any]", arguments)]
        # An argument that is left out has its default.
        arguments = [entry for entry in arguments if not isinstance(entry, dict) or entry.get("value") is not None]
    name = given.get("name")
    return {"name": _tidy(name), "arguments": arguments}


def _mended_value(entry: Any) -> Any:
    if not isinstance(entry, dict):
        return entry
    pair = cast("dict[str, Any]", entry)
    value = pair.get("value")
    if isinstance(value, int | float) and not isinstance(value, bool):
        value = f"{value:g}" if isinstance(value, float) else str(value)
    if isinstance(value, str):
        value = clean(value).strip() or None
    return {"name": _tidy(pair.get("name")), "value": value}


def _tidy(name: Any) -> Any:
    return clean(name).strip() if isinstance(name, str) else name


def _clip(text: str, longest: int) -> str:
    tidy = clean(text).strip()
    if len(tidy) <= longest:
        return tidy
    at_word = tidy.rfind(" ", longest // 2, longest)
    return tidy[: at_word if at_word > 0 else longest - 1].rstrip() + "…"


def _as_word(value: Any, words: Sequence[str]) -> Any:
    same = [word for word in words if isinstance(value, str) and word.casefold() == value.strip().casefold()]
    return same[0] if same else value


def _fault(entry: Any) -> str:
    place = ".".join(str(part) for part in entry["loc"])
    return f"{place}: {entry['msg'][:160]}"


# ------------------------------------------------------------------------------------------------------- the schema


@cache
def plan_schema() -> dict[str, Any]:
    """Return the plan as a JSON schema that every server accepts."""
    return flat_schema(SGRPlanResult)


def flat_schema(form: type[BaseModel]) -> dict[str, Any]:
    """Return a form as a JSON schema without references and defaults.

    Providers with strict enforcement need every field to be required and no others; an absent value is `null`.
    """
    whole = form.model_json_schema()
    definitions = whole.get("$defs", {})
    properties = {name: _field_schema(name, schema, definitions) for name, schema in whole["properties"].items()}
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _field_schema(name: str, schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> dict[str, Any]:
    flat = _without_references(schema, definitions)
    if name in _LISTS:
        flat["items"] = {"type": "string", "maxLength": _LONGEST_ITEM}
    return flat


def _without_references(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> dict[str, Any]:
    flat: dict[str, Any] = {key: value for key, value in schema.items() if key not in ("title", "default")}
    if reference := flat.pop("$ref", None):
        flat = {**_definition(definitions[reference.rpartition("/")[2]], definitions), **flat}
    if "anyOf" in flat:
        parts = cast("list[dict[str, Any]]", flat["anyOf"])
        flat["anyOf"] = [_without_references(part, definitions) for part in parts]
    if "items" in flat:
        flat["items"] = _without_references(flat["items"], definitions)
    return flat


def _definition(definition: Mapping[str, Any], definitions: Mapping[str, Any]) -> dict[str, Any]:
    if "enum" in definition:
        return {"type": "string", "enum": definition["enum"]}
    properties = {name: _without_references(schema, definitions) for name, schema in definition["properties"].items()}
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def plan_tool(*, strict: bool) -> dict[str, Any]:
    """Return the tool in wire format; `strict` is inside it, because servers look for it there."""
    function: dict[str, Any] = {
        "name": PLAN_TOOL,
        "description": " ".join((SGRPlanResult.__doc__ or "").split()),
        "parameters": plan_schema(),
    }
    return {"type": "function", "function": {**function, "strict": True} if strict else function}
