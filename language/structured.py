"""JSON inside drafts: its values with their places, and the evidence cited for them.

JSON is read strictly by RFC 8259: no fence around it, nothing before or after it, no NaN, no duplicate key in an
object. Beyond the grammar, half of a surrogate pair is a fault, because no encoder can store it, and so is nesting
deeper than `DEEPEST`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from json import JSONDecodeError, JSONDecoder, dumps
from typing import Final, cast

from language.blocks import BlockKind, blocks, split_code

SOURCES: Final = "sources"
"""The key whose list of whole numbers is cited for what stands in its object without a citation of its own."""
DEEPEST: Final = 50
"""Objects and lists inside one another."""
LONGEST: Final = 200_000
"""Characters; no draft is longer."""

_CITATION = re.compile(r"\[(\d{1,3})\]")
_SPACE = re.compile(r"[ \t\n\r]*")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?")
_WORDS: Final = {"true": True, "false": False, "null": None}
_STRING = JSONDecoder()
_STRING_FAULTS: Final = {
    "Unterminated": "a string that does not end",
    "Invalid control": "a character in a string that must be escaped",
}
# A string that does not end is taken up to the end of its line, so that no place is looked at twice.
_CHARACTERS: Final = r'"(?:[^"\\\n]|\\.)*+'
_LOOSE = re.compile(
    rf'"{SOURCES}"\s*:\s*\[[0-9,\s]*\]|{_CHARACTERS}"\s*:|(?P<string>{_CHARACTERS}")|(?P<other>[^"]+|{_CHARACTERS})'
)
_NOT_WORDS = re.compile(r"(?:[\s{}\[\],:0-9+.-]|(?<=[0-9])[eE]|true|false|null)*")
_LISTED_SOURCES = re.compile(rf'"{SOURCES}"\s*:\s*\[([0-9,\s]*)\]')
_SURROGATE = re.compile("[\ud800-\udfff]")
_OPENING = re.compile(r" {0,3}(?P<fence>`{3,}|~{3,})[ \t]*json(?:[ \t].*)?", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Leaf:
    """One value that is neither an object nor a list.

    Attributes:
        text: A string's characters, or the literal of a number, `true`, `false` or `null`.
        start, end: Its place in the draft, including quotation marks.
        cites: The numbers of the evidence that it cites (counted from 1): its own `[n]`, else those of `sources` in the
            nearest enclosing object with this key.
        path: The keys that lead to it, outermost first.
        is_string: Whether it is a string.
    """

    text: str
    start: int
    end: int
    cites: tuple[int, ...]
    path: tuple[str, ...] = ()
    is_string: bool = True


@dataclass(frozen=True, slots=True)
class JsonBlock:
    """The content of a fenced block marked `json`, and its start in the draft."""

    text: str
    start: int


@dataclass(frozen=True, slots=True)
class _Node:
    start: int
    end: int
    value: object
    children: tuple[_Node, ...] = ()
    """Of an object: in the order of its keys."""


def parse_json(text: str) -> object:
    """Return the value of a JSON text.

    Raises:
        ValueError: The text is not JSON; the message begins with `line 1 column 5: `.
    """
    return _root(text).value


def leaves(text: str, start: int = 0) -> list[Leaf]:
    """Return the leaves of a JSON text in order; the numbers under `sources` are citations, not leaves.

    Args:
        text: The JSON.
        start: Its start in the draft; the places of the leaves count from the draft's beginning.

    Raises:
        ValueError: As `parse_json`.
    """
    return list(_leaves(_root(text), text, start, (), ()))


def loose_leaves(text: str, start: int = 0) -> list[Leaf]:
    """Return the content of a text that should be JSON and does not parse: strings, numbers, other words.

    Keys are left out. It is unknown which `sources` belong to which value: a value without its own mark cites all of
    them; words outside strings cite only their marks.
    """
    around = tuple(int(n) for listed in _LISTED_SOURCES.findall(text) for n in re.findall("[0-9]{1,3}", listed))
    found: list[Leaf] = []
    for match in _LOOSE.finditer(text):
        begin = start + match.start()
        if string := match["string"]:
            try:
                said, _ = _string(string, 0)
            except ValueError:
                said = string[1:-1]
            found.append(_leaf(said, begin, begin + len(string), around))
        elif (other := match["other"]) and _NOT_WORDS.fullmatch(other):
            found += (
                Leaf(number.group(), begin + number.start(), begin + number.end(), around, is_string=False)
                for number in _NUMBER.finditer(other)
            )
        elif other and (said := other.strip(' \t\r\n{},:"')):
            found.append(_leaf(said, begin + other.index(said), begin + other.index(said) + len(said), ()))
    return found


def json_block(markdown: str) -> JsonBlock:
    """Return the content of a Markdown text's only fenced block marked `json`.

    Only blocks outside lists and quotes count.

    Raises:
        ValueError: There is no such block, there are several, or it is not closed.
    """
    found = [
        (block, opening)
        for block in blocks(markdown)
        if block.kind is BlockKind.CODE and (opening := _OPENING.fullmatch(block.text.split("\n", 1)[0].rstrip("\r")))
    ]
    if len(found) != 1:
        raise ValueError("more than one block of json" if found else "no block of json")
    block, opening = found[0]
    lines = re.findall(r"[^\r\n]*(?:\r\n?|\n)|[^\r\n]+", markdown)
    inside = re.findall(r"[^\r\n]*(?:\r\n?|\n)|[^\r\n]+", block.text)[1:]
    fence = opening["fence"]
    if not inside or not re.fullmatch(rf" {{0,3}}{fence}{fence[0]}*[ \t]*", inside[-1]):
        raise ValueError("the block of json is not closed")
    return JsonBlock("".join(inside[:-1]), sum(map(len, lines[: block.line + 1])))


def plain(text: str) -> str:
    """Return the decoded keys and strings of a JSON text, with blank lines between them.

    Raises:
        ValueError: As `parse_json`.
    """
    return "\n\n".join(_plain(_root(text).value))


def renumber_citations(text: str, number: Callable[[int], int]) -> str:
    """Return a JSON text with renumbered citations; the rest stays as written.

    Args:
        text: The JSON.
        number: Returns the new number of a citation; called in order of appearance.

    Raises:
        ValueError: As `parse_json`.
    """

    def said(string: str) -> str:
        parts = split_code(string)
        return "".join(
            part if i % 2 else _CITATION.sub(lambda match: f"[{number(int(match[1]))}]", part)
            for i, part in enumerate(parts)
        )

    return _rewrite(text, lambda cited: list(dict.fromkeys(map(number, cited))), said)


def restrung(text: str, say: Callable[[str], str]) -> str:
    """Return a JSON text with converted strings; keys and the rest stay as written.

    Raises:
        ValueError: As `parse_json`.
    """
    return _rewrite(text, list, say)


def with_strings(text: str, say: Callable[[str], str]) -> str:
    """Like `restrung`, for a text that is JSON or has one JSON block; any other text stays as it is."""
    try:
        return restrung(text, say)
    except ValueError:
        pass
    if block := _whole_block(text):
        return text[: block.start] + restrung(block.text, say) + text[block.start + len(block.text) :]
    return text


def inside_json(text: str) -> tuple[str, str]:
    """Return the JSON of a text, decoded as by `plain`: of a text that is JSON, and of a JSON block in a text.

    At most one of the two is not empty.
    """
    try:
        return plain(text), ""
    except ValueError:
        block = _whole_block(text)
        return "", plain(block.text) if block else ""


def _whole_block(text: str) -> JsonBlock | None:
    if "json" not in text.casefold():
        return None  # spares most texts the parsing
    try:
        block = json_block(text)
        parse_json(block.text)
    except ValueError:
        return None
    return block


def _rewrite(text: str, cite: Callable[[tuple[int, ...]], list[int]], say: Callable[[str], str]) -> str:
    written: list[str] = []
    done = 0
    for start, end, old, new in _changes(_root(text), cite, say):
        if old != new:
            written += (text[done:start], dumps(new, ensure_ascii=False))
            done = end
    return "".join((*written, text[done:]))


def _changes(
    node: _Node, cite: Callable[[tuple[int, ...]], list[int]], say: Callable[[str], str]
) -> Iterator[tuple[int, int, object, object]]:
    if isinstance(node.value, str):
        yield node.start, node.end, node.value, say(node.value)
        return
    cited = _cited_by(node.value)
    for key, child in _members(node):
        if key == SOURCES and cited is not None:
            yield child.start, child.end, child.value, cite(cited)
        else:
            yield from _changes(child, cite, say)


def _leaves(node: _Node, text: str, start: int, path: tuple[str, ...], around: tuple[int, ...]) -> Iterator[Leaf]:
    if isinstance(node.value, dict | list):
        cited = _cited_by(cast("object", node.value))
        for key, child in _members(node):
            if key != SOURCES or cited is None:
                inside = path if key is None else (*path, key)
                yield from _leaves(child, text, start, inside, around if cited is None else tuple(dict.fromkeys(cited)))
        return
    if isinstance(node.value, str):
        yield _leaf(node.value, start + node.start, start + node.end, around, path)
    else:
        yield Leaf(text[node.start : node.end], start + node.start, start + node.end, around, path, is_string=False)


def _leaf(said: str, start: int, end: int, around: tuple[int, ...], path: tuple[str, ...] = ()) -> Leaf:
    own = tuple(int(n) for part in split_code(said)[::2] for n in _CITATION.findall(part))
    return Leaf(said, start, end, tuple(dict.fromkeys(own or around)), path)


def _members(node: _Node) -> Iterator[tuple[str | None, _Node]]:
    """Return what an object or a list holds; in a list there are no keys."""
    keys = list(cast("dict[str, object]", node.value)) if isinstance(node.value, dict) else [None] * len(node.children)
    return zip(keys, node.children, strict=True)


def _cited_by(value: object) -> tuple[int, ...] | None:
    """Return the numbers under `sources` of an object; nothing where it is none or has no such list."""
    given = cast("dict[str, object]", value).get(SOURCES) if isinstance(value, dict) else None
    if not isinstance(given, list):
        return None
    numbers = cast("list[object]", given)
    return tuple(n for n in numbers if type(n) is int) if all(type(n) is int for n in numbers) else None


def _plain(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for element in cast("list[object]", value):
            yield from _plain(element)
    elif isinstance(value, dict):
        for key, member in cast("dict[str, object]", value).items():
            yield key
            yield from _plain(member)


def _root(text: str) -> _Node:
    if len(text) > LONGEST:
        raise ValueError(f"line 1 column 1: longer than {LONGEST} characters")
    node = _node(text, _behind_space(text, 0), 0)
    end = _behind_space(text, node.end)
    if end != len(text):
        raise _fault(text, end, "text behind the end")
    return node


def _node(text: str, start: int, depth: int) -> _Node:
    first = text[start : start + 1]
    if first == '"':
        value, end = _string(text, start)
        return _Node(start, end, value)
    if first in ("{", "["):
        if depth == DEEPEST:
            raise _fault(text, start, f"more than {DEEPEST} values inside one another")
        return _object(text, start, depth) if first == "{" else _list(text, start, depth)
    for word, value in _WORDS.items():
        if text.startswith(word, start):
            return _Node(start, start + len(word), value)
    if match := _NUMBER.match(text, start):
        try:
            value = float(match[0]) if match[1] or match[2] else int(match[0])
        except ValueError:
            raise _fault(text, start, "a number with too many digits") from None
        return _Node(start, match.end(), value)
    raise _fault(text, start, "no value" if first else "the text ends where a value belongs")


def _object(text: str, start: int, depth: int) -> _Node:
    value: dict[str, object] = {}
    children: list[_Node] = []
    at = _behind_space(text, start + 1)
    while text[at : at + 1] != "}" or value:
        if text[at : at + 1] != '"':
            raise _fault(text, at, "no key in quotation marks")
        key, end = _string(text, at)
        if key in value:
            raise _fault(text, at, f"the key {dumps(key, ensure_ascii=False)} for the second time")
        at = _behind_space(text, end)
        if text[at : at + 1] != ":":
            raise _fault(text, at, "no colon behind the key")
        child = _node(text, _behind_space(text, at + 1), depth + 1)
        value[key] = child.value
        children.append(child)
        at = _behind_space(text, child.end)
        if text[at : at + 1] == "}":
            break
        at = _behind_comma(text, at, "}")
    return _Node(start, at + 1, value, tuple(children))


def _list(text: str, start: int, depth: int) -> _Node:
    children: list[_Node] = []
    at = _behind_space(text, start + 1)
    while text[at : at + 1] != "]" or children:
        child = _node(text, at, depth + 1)
        children.append(child)
        at = _behind_space(text, child.end)
        if text[at : at + 1] == "]":
            break
        at = _behind_comma(text, at, "]")
    return _Node(start, at + 1, [child.value for child in children], tuple(children))


def _string(text: str, start: int) -> tuple[str, int]:
    try:
        value, end = cast("tuple[str, int]", _STRING.raw_decode(text, start))
    except JSONDecodeError as error:
        said = next((ours for begin, ours in _STRING_FAULTS.items() if error.msg.startswith(begin)), "no such escape")
        raise _fault(text, error.pos, said) from None
    if _SURROGATE.search(value):
        raise _fault(text, start, "half of a surrogate pair in a string")
    return value, end


def _behind_comma(text: str, at: int, closing: str) -> int:
    if text[at : at + 1] != ",":
        raise _fault(text, at, f"neither a comma nor {closing}")
    return _behind_space(text, at + 1)


def _behind_space(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at


def _fault(text: str, at: int, what: str) -> ValueError:
    line, begins = text.count("\n", 0, at) + 1, text.rfind("\n", 0, at)
    return ValueError(f"line {line} column {at - begins}: {what}")
