"""What SQL of a model's may consist of: the kinds of nodes with their parts, operators, functions, types and joins.

Two looks at one list: at the parsed tree, node by node, and at the text that was written anew from it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from adapters.lookups.text_to_sql.statement import RefusedStatement

if TYPE_CHECKING:
    from sqlglot import exp

_NUMBER: Final = re.compile(r"\d+(?:\.\d*)?(?:[eE][+-]?\d{1,3})?|\.\d+", re.ASCII)


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_NODES: Final[Mapping[str, str]] = {
    "Select": "expressions from_ joins where group having order limit offset distinct with_",
    "From": "this",
    "Join": "this on side kind",
    "Where": "this",
    "Group": "expressions",
    "Having": "this",
    "Order": "this expressions",
    "Ordered": "this desc nulls_first",
    "Limit": "expression",
    "Offset": "expression",
    "With": "expressions",
    "CTE": "this alias",
    "Subquery": "this alias",
    "Table": "this alias db",
    "TableAlias": "this",
    "Alias": "this alias",
    "Column": "this table",
    "Identifier": "this quoted",
    "Literal": "this is_string",
    "Null": "",
    "Boolean": "this",
    "Star": "",
    "Paren": "this",
    "Distinct": "expressions",
    "Case": "this ifs default",
    "If": "this true false",
    "In": "this expressions query",
    "Between": "this low high",
    "Is": "this expression",
    "Exists": "this",
    "Not": "this",
    "Neg": "this",
    "Escape": "this expression",
    "Cast": "this to",
    "DataType": "this expressions nested",
    "DataTypeParam": "this",
    "Interval": "this unit",
    "Var": "this",
    "Window": "this partition_by order over",
    "Filter": "this expression",
}
"""The kinds of nodes that a statement may have beside functions and operators, and what each may carry."""
_OPERATORS: Final = _words("And Or EQ NEQ GT GTE LT LTE Like ILike Add Sub Mul Div Mod DPipe")
_QUIET: Final = ("typed", "safe", "negate")
"""What the parser notes of a dialect's arithmetic and `NOT LIKE`; none of it comes from a place of its own."""

_EVERYWHERE: Final = "count sum avg min max coalesce nullif round abs lower upper trim length floor ceil sign"
_RANKS: Final = "row_number rank dense_rank"
FUNCTIONS: Final[Mapping[str, frozenset[str]]] = {
    "sqlite": _words(
        f"{_EVERYWHERE} {_RANKS} total group_concat substr substring instr ifnull iif date time datetime strftime "
        "julianday unixepoch current_date current_timestamp cast"
    ),
    "postgres": _words(
        f"{_EVERYWHERE} {_RANKS} string_agg substr substring position concat greatest least date_trunc date_part "
        "extract to_char to_date age now current_date current_timestamp cast"
    ),
}
"""What may be called, by the dialect's own names: each ends soon, and reads nothing but its arguments."""
_CLASSES: Final[Mapping[str, str]] = {
    "RowNumber": "row_number",
    "DenseRank": "dense_rank",
    "Substring": "substr",
    "CurrentDate": "current_date",
    "CurrentTimestamp": "current_timestamp",
    "sqlite.GroupConcat": "group_concat",
    "postgres.GroupConcat": "string_agg",
    "sqlite.StrPosition": "instr",
    "postgres.StrPosition": "position",
    "sqlite.TimeToStr": "strftime",
    "postgres.TimeToStr": "to_char",
    "sqlite.TsOrDsToTimestamp": "strftime",
    "sqlite.Date": "date",
    "postgres.TimestampTrunc": "date_trunc",
    "postgres.StrToDate": "to_date",
}
"""Functions whose class in the parser is called otherwise."""
_TYPES: Final = _words(
    "BOOLEAN INT BIGINT SMALLINT DECIMAL DOUBLE FLOAT TEXT VARCHAR DATE TIME TIMESTAMP TIMESTAMPTZ INTERVAL"
)
_JOINS: Final = ("", "INNER", "OUTER", "CROSS", "LEFT", "RIGHT", "FULL")
_BEFORE_BRACKET: Final = _words(
    "select in and or not over exists as from join on where by case then else when having filter distinct between like is"
)
_TYPES_WITH_SIZE: Final = _words("decimal varchar char numeric real")
_WRITTEN: Final = re.compile(
    r"(?:\"\w+\"|:p\d+\b|[A-Za-z_]+|\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|\.\d+|<=|>=|<>|\|\||[ (),.*+/%<>=]|-(?!-))+"
)
"""What a statement consists of in the end: no quote, no colon but a parameter's, no comment, no semicolon."""


def check_node(node: exp.Expr, dialect: str, functions: frozenset[str]) -> None:
    """Check a node of the tree, without those below it.

    Raises:
        RefusedStatement: It is of a kind, has a part or calls a function that is not allowed.
    """
    kind = type(node).__name__
    if kind in _NODES or kind in _OPERATORS:
        known = (*_NODES.get(kind, "this expression").split(), *_QUIET)
        more = [name for name, value in node.args.items() if value not in (None, False, "", []) and name not in known]
        if more:
            raise RefusedStatement(f"{_name_part(node)} has a part that is not allowed ({more[0].rstrip('_')})")
        if check := _CHECKS.get(kind):
            check(node)
    elif not _may_be_called(node, dialect, functions):
        raise RefusedStatement(f"{_name_part(node)} is not allowed")


def _may_be_called(node: exp.Expr, dialect: str, functions: frozenset[str]) -> bool:
    from sqlglot import exp

    if not isinstance(node, exp.Func):
        return False
    if isinstance(node, exp.Anonymous):
        return node.name.lower() in functions
    kind = type(node).__name__
    name = _CLASSES.get(f"{dialect}.{kind}", _CLASSES.get(kind, ""))
    return (name or node.sql_name().lower()) in functions


def _name_part(node: exp.Expr) -> str:
    from sqlglot import exp

    name = node.name if isinstance(node, exp.Anonymous | exp.Identifier | exp.Table) else node.key.upper()
    return name[:40] or "a part"


def _check_star(node: exp.Expr) -> None:
    from sqlglot import exp

    if not isinstance(node.parent, exp.Count):
        raise RefusedStatement("* is not allowed; name the columns")


def _check_join(node: exp.Expr) -> None:
    if any(str(node.args.get(part) or "").upper() not in _JOINS for part in ("side", "kind")):
        raise RefusedStatement("only INNER, LEFT, RIGHT, FULL and CROSS joins with ON are allowed")


def _check_type(node: exp.Expr) -> None:
    if getattr(node.this, "name", "") not in _TYPES:
        raise RefusedStatement("a type of a CAST is not allowed")


def _check_number(node: exp.Expr) -> None:
    if not node.args.get("is_string") and not _NUMBER.fullmatch(str(node.this)):
        raise RefusedStatement("a number is not written in digits")
    if node.args.get("is_string") and "\x00" in str(node.this):
        raise RefusedStatement("a text has a zero character in it")


def _check_count(node: exp.Expr) -> None:
    number: Any = node.args.get("expression")
    if type(number).__name__ != "Literal" or not str(number.this).isdecimal():
        raise RefusedStatement("LIMIT and OFFSET take a number")


def _check_word(node: exp.Expr) -> None:
    if not re.fullmatch(r"[A-Za-z]{1,20}", str(node.this)):
        raise RefusedStatement(f"{str(node.this)[:40]!r} is not allowed")


_CHECKS: Final[Mapping[str, Callable[[Any], None]]] = {
    "Star": _check_star,
    "Join": _check_join,
    "DataType": _check_type,
    "Literal": _check_number,
    "Limit": _check_count,
    "Offset": _check_count,
    "Var": _check_word,
}


def check_written(text: str, functions: frozenset[str]) -> None:
    """Check a text that was written anew: its signs, and what it calls.

    Raises:
        RefusedStatement: It has something in it that an engine could read in another way.
    """
    if not _WRITTEN.fullmatch(text):
        raise RefusedStatement("it has something in it that is neither a name, a number, a text nor a sign")
    bare = re.sub(r'"\w+"', '""', text)
    known = functions | _BEFORE_BRACKET | _TYPES_WITH_SIZE
    for name in re.findall(r"([A-Za-z_]\w*)\s*\(", bare):
        if name.lower() not in known:
            raise RefusedStatement(f"{name[:40]} cannot be called")
