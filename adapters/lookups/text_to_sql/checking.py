"""Which SQL of a model's may run: an allow-list over the parsed tree, and a text that is written anew from that tree.

Nothing of the model's own text reaches an engine. Every table and column is resolved by the rules of the language and
written out with its table, quoted, in the spelling of the profile; every string becomes a bound parameter; what is
written is read and checked once more, and has to come out the same.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from adapters.lookups.text_to_sql.allow_list import FUNCTIONS, check_node, check_written
from adapters.lookups.text_to_sql.full_names import FullNames
from adapters.lookups.text_to_sql.statement import RefusedStatement, Statement, readable
from contracts.profile import TextToSql

if TYPE_CHECKING:
    from sqlglot import exp

MOST_CHARS: Final = 4000
"""Of a statement; what answers one question is far shorter, and reading it takes time."""
_MOST_WRITTEN: Final = 4 * MOST_CHARS
"""Of what is written anew: names are longer in it, and what the SELECT has named is written out."""
_MOST_NESTED: Final = 25


def check_statement(text: str, allowed: TextToSql, dialect: str, most_rows: int) -> Statement:
    """Return what may run in the place of a model's statement.

    Args:
        text: What the model wrote.
        allowed: Which tables, columns and functions may be asked.
        dialect: `sqlite` or `postgres`.
        most_rows: Its rows are limited to one more than these, so that a longer result can be told from a whole one.

    Raises:
        RefusedStatement: It is anything but one plain SELECT on what is allowed.
    """
    if len(text) > MOST_CHARS:
        raise RefusedStatement(f"it is longer than {MOST_CHARS} characters")
    try:
        written = _written_anew(text, allowed, dialect, most_rows)
        if len(written) > _MOST_WRITTEN or _written_anew(written, allowed, dialect, most_rows) != written:
            raise RefusedStatement("it cannot be written down in one way only; write it more simply")
    except RecursionError as error:
        raise RefusedStatement("it is nested too deep") from error
    return _with_parameters(written, allowed, dialect)


def _written_anew(text: str, allowed: TextToSql, dialect: str, most_rows: int) -> str:
    tree = _parse_select(text, dialect)
    functions = FUNCTIONS[dialect] | {name.lower() for name in allowed.functions}
    for node in tree.walk():
        check_node(node, dialect, functions)
    FullNames(allowed).settle(tree)
    _limit(tree, most_rows + 1)
    try:
        return tree.sql(dialect=dialect, identify=True, comments=False, pretty=False)
    except ValueError as error:
        raise RefusedStatement("it cannot be written down again; write it more simply") from error


# ------------------------------------------------------------------------------------------------------- the parser


def _parse_select(text: str, dialect: str) -> exp.Select:
    from sqlglot import exp, parse
    from sqlglot.errors import SqlglotError

    if _measure_nesting(text) > _MOST_NESTED:
        raise RefusedStatement("its brackets are nested too deep")
    # The parser writes a warning, with the text, to the log where a statement begins with anything else.
    if not re.match(r"\s*(?:select|with)\b", text, re.IGNORECASE) or ";" in text.rstrip().rstrip(";"):
        raise RefusedStatement("it is not one SELECT statement, or has a semicolon in it")
    try:
        trees = parse(text.rstrip().rstrip(";"), read=dialect)
    except (SqlglotError, ValueError) as error:
        raise RefusedStatement("it cannot be parsed") from error
    if len(trees) != 1 or type(trees[0]) is not exp.Select:
        raise RefusedStatement("it is not one SELECT statement")
    return trees[0]


def _measure_nesting(text: str) -> int:
    depth = deepest = 0
    for character in text:
        depth += (character in "([{") - (character in ")]}")
        deepest = max(deepest, depth)
    # CASE nests without brackets.
    return max(deepest, len(re.findall(r"\bcase\b", text, re.IGNORECASE)))


# -------------------------------------------------------------------------------------------------------- the writing


def _limit(tree: exp.Select, most: int) -> None:
    from sqlglot import exp

    given = tree.args.get("limit")
    wanted = int(given.expression.name[:12]) if isinstance(given, exp.Limit) else most
    tree.set("limit", exp.Limit(expression=exp.Literal.number(min(wanted, most))))


def _with_parameters(written: str, allowed: TextToSql, dialect: str) -> Statement:
    """Put parameters in the place of texts, and see that nothing is left that an engine could read in another way."""
    from sqlglot import tokenize
    from sqlglot.tokenizer_core import TokenType

    names: dict[str, str] = {}
    parts: list[str] = []
    end = 0
    tokens = tokenize(written, read=dialect)
    for place, token in enumerate(tokens):
        if token.token_type is not TokenType.STRING:
            continue
        # An INTERVAL takes no parameter, but a CAST does.
        name = names.setdefault(token.text, f"p{len(names) + 1}")
        before = tokens[place - 1] if place else None
        spans = before is not None and before.token_type is TokenType.INTERVAL
        start = before.start if spans and before is not None else token.start
        parts += [written[end:start], f"CAST(:{name} AS INTERVAL)" if spans else f":{name}"]
        end = token.end + 1
    text = "".join((*parts, written[end:]))
    check_written(text, FUNCTIONS[dialect] | {name.lower() for name in allowed.functions})
    return Statement(text, {name: value for value, name in names.items()}, readable(allowed))
