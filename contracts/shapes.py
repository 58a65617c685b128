"""The fields of the plain data in a state, for LangGraph Studio and other readers of the graph's JSON schema.

A state holds dictionaries, so that each checkpoint stays readable. `Shape` says which fields such a dictionary has: those
of a typed dictionary below, or of the Pydantic model that wrote it. It describes and checks nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any, cast

from typing_extensions import TypedDict


class QuestionFields(TypedDict, total=False):
    """The question of a turn; `written` and `chose` where the user chose one of several offers."""

    id: str
    text: str
    language: str
    written: str
    chose: dict[str, Any]


class SyntheticMarks(TypedDict):
    """The marks by which the synthetic message is told from what was said."""

    sgr_injected: bool
    sgr_action: str
    sgr_turn: str


class SyntheticFields(TypedDict):
    """The synthetic message: what the drafting model reads as its own words, and its two fields apart."""

    role: str
    content: str
    analysis: str
    response: str
    additional_kwargs: SyntheticMarks


class ToolFields(TypedDict, total=False):
    """The call of the planning tool, or what stands for it: who planned, and the arguments."""

    planner: str
    model: str
    form: str
    tool: str
    arguments: dict[str, Any]
    raw: str
    repaired: list[str]


class PolicyFields(TypedDict, total=False):
    """What policy found of the request; `error` if it could not be checked."""

    status: str
    rules: list[str]
    actions: list[str]
    error: str


class SearchFields(TypedDict, total=False):
    """One past search of the turn."""

    documents: list[str]
    texts: list[str]
    given_up: list[str]


class KeptFields(TypedDict, total=False):
    """A draft that lacked only evidence."""

    draft_answer: str
    draft_kind: str
    quoted: bool
    evidence: list[dict[str, Any]]


class ErrorFields(TypedDict, total=False):
    """The error that ended a turn."""

    node: str
    kind: str
    message: str
    key: str


@dataclass(frozen=True, slots=True)
class Shape:
    """Shows the fields of a dictionary in a JSON schema.

    Args:
        module: Of the type with the fields; it is imported when a schema is asked for.
        name: The type's name.
        more: Names of text fields that the dictionary has besides.

    Example:
        `question: Annotated[dict[str, Any], Shape("contracts.shapes", "QuestionFields")]`
    """

    module: str
    name: str
    more: tuple[str, ...] = ()

    def __get_pydantic_json_schema__(self, core: Any, handler: Any) -> dict[str, Any]:
        """Return the schema of the dictionary with its fields, as pydantic asks for it."""
        more: dict[str, Any] = {name: {"type": "string"} for name in self.more}
        fields = _fields_of(self.module, self.name)
        return {**handler(core), "title": self.name, "properties": {**fields, **more}}


@cache
def _fields_of(module: str, name: str) -> dict[str, Any]:
    from pydantic import TypeAdapter

    schema = TypeAdapter[Any](getattr(import_module(module), name)).json_schema(mode="serialization")
    return _without_references(schema.get("properties", {}), schema.get("$defs", {}))


def _without_references(part: Any, named: dict[str, Any]) -> Any:
    """Return a part of a schema with what its references name in their places: a field has no definitions of its own."""
    if isinstance(part, list):
        return [_without_references(one, named) for one in cast("list[Any]", part)]
    if not isinstance(part, dict):
        return part
    given = dict(cast("dict[str, Any]", part))
    reference = given.pop("$ref", "").rpartition("/")[2]
    meant: dict[str, Any] = _without_references(named[reference], named) if reference else {}
    return {**meant, **{key: _without_references(value, named) for key, value in given.items()}}
