"""Which SQL of a model's may run: an allow-list over the parsed tree, and a text that is written anew from that tree.

Nothing of the model's own text reaches an engine. Every table and column is resolved by the rules of the language and
written out with its table, quoted, in the spelling of the profile; every string becomes a bound parameter; what is
written is read and checked once more, and has to come out the same.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from contracts.profile import TextToSql

if TYPE_CHECKING:
    from sqlglot import exp

MOST_CHARS: Final = 4000
"""Of a statement; what answers one question is far shorter, and reading it takes time."""
_MOST_WRITTEN: Final = 4 * MOST_CHARS
"""Of what is written anew: names are longer in it, and what the SELECT has named is written out."""
_MOST_NESTED: Final = 25
_NAME: Final = re.compile(r"[^\W\d]\w{0,29}")
"""Of an alias, in any script; PostgreSQL cuts names at 63 bytes."""
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


class RefusedStatement(ValueError):
    """A statement that may not run; says why, in words that a model can act on."""


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement that may run.

    Attributes:
        text: Written anew, with `:p1` and so on for its strings.
        values: These strings.
        readable: What it may read, by table and column in lower case: all that the profile allows.
    """

    text: str
    values: Mapping[str, str]
    readable: Mapping[str, frozenset[str]]


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


def readable(allowed: TextToSql) -> dict[str, frozenset[str]]:
    """Return the columns that may be read, by table, in lower case."""
    return {
        table.name.rpartition(".")[2].lower(): frozenset(column.name.lower() for column in table.columns)
        for table in allowed.tables
    }


def _written_anew(text: str, allowed: TextToSql, dialect: str, most_rows: int) -> str:
    tree = _parse_select(text, dialect)
    functions = FUNCTIONS[dialect] | {name.lower() for name in allowed.functions}
    for node in tree.walk():
        _check_node(node, dialect, functions)
    _FullNames(allowed).settle(tree)
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


# --------------------------------------------------------------------------------------------------------- the nodes


def _check_node(node: exp.Expr, dialect: str, functions: frozenset[str]) -> None:
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


# --------------------------------------------------------------------------------------------------------- the names

_Columns = Mapping[str, str]
"""What a relation has: how each column is written, by its name in lower case."""


@dataclass(frozen=True, slots=True)
class _NameScope:
    """What a name can mean: relations, the nearest first; sub-queries of `WITH`; what the SELECT itself has named."""

    relations: tuple[Mapping[str, _Columns], ...] = ()
    queries: Mapping[str, _Columns] | None = None
    aliases: Mapping[str, exp.Expr] | None = None

    def query(self, name: str) -> _Columns | None:
        return (self.queries or {}).get(name)


class _FullNames:
    """Gives every table and column its full name.

    Resolving by the language's own rules and writing the result out leaves an engine nothing to find by itself: a
    column that is not allowed cannot hide behind one of the same name, nor a table behind a query in `WITH`.
    """

    def __init__(self, allowed: TextToSql) -> None:
        self._tables = {
            table.name.rpartition(".")[2].lower(): (
                table.name,
                {column.name.lower(): column.name for column in table.columns},
            )
            for table in allowed.tables
        }
        self._queries: set[str] = set()
        self._read = 0

    def settle(self, tree: exp.Select) -> None:
        """Write out every name of a statement.

        Raises:
            RefusedStatement: One means nothing that is allowed.
        """
        self._select(tree, _NameScope())
        if not self._read:
            raise RefusedStatement("it reads no table")

    def _select(self, node: exp.Select, outer: _NameScope, *, exists: bool = False) -> _Columns:
        queries = dict(outer.queries or {})
        if with_ := node.args.get("with_"):
            for query in with_.expressions:
                name = self._new_name(query)
                # Not yet among them while its own statement is looked at: there, its name would mean a table.
                queries[name] = self._select(_select_in(query.this), _NameScope(outer.relations, queries))
        around = _NameScope(outer.relations, queries)
        sources: dict[str, _Columns] = {}
        for relation in _relations(node):
            name, columns = self._relation(relation, around)
            if name in sources:
                raise RefusedStatement(f"two tables are called {name}; give each its own alias")
            sources[name] = columns
        inner = _NameScope((sources, *outer.relations), queries)
        for join in _joins(node):
            if on := join.args.get("on"):
                self._all(on, inner)
        outputs, aliases = self._outputs(node, inner, exists=exists)
        if where := node.args.get("where"):
            self._below(where, inner)
        named = _NameScope(inner.relations, queries, aliases)
        for part in ("group", "having", "order"):
            if clause := node.args.get(part):
                self._below(clause, named)
        return outputs

    def _new_name(self, query: exp.Expr) -> str:
        name = _name_of(query.args.get("alias"))
        if name in self._tables or name in self._queries:
            raise RefusedStatement(f"the query {name} in WITH needs a name of its own")
        self._queries.add(name)
        _rename(query.args["alias"], name)
        return name

    def _relation(self, node: exp.Expr, around: _NameScope) -> tuple[str, _Columns]:
        from sqlglot import exp

        if isinstance(node, exp.Subquery):
            name = _name_of(node.args.get("alias"))
            _rename(node.args["alias"], name)
            return name, self._select(_select_in(node.this), around)
        if not isinstance(node, exp.Table) or not isinstance(node.this, exp.Identifier):
            raise RefusedStatement("only tables and sub-queries can be selected from")
        known = node.this.name.lower()
        alias = _name_of(node.args.get("alias")) if node.args.get("alias") else known
        schema = node.db.lower()
        columns = around.query(known) if not schema else None
        if columns is None:
            columns = self._table(node, known, schema)
        else:
            node.set("this", _quote_identifier(known))
        node.set("alias", exp.TableAlias(this=_quote_identifier(alias)))
        return alias, columns

    def _table(self, node: exp.Table, name: str, schema: str) -> _Columns:
        if name not in self._tables:
            raise RefusedStatement(f"there is no table {name[:40]!r} to ask")
        whole, columns = self._tables[name]
        own_schema, _, own = whole.rpartition(".")
        if schema and schema != own_schema.lower():
            raise RefusedStatement(f"there is no table {schema[:40]}.{name[:40]} to ask")
        node.set("this", _quote_identifier(own))
        node.set("db", _quote_identifier(own_schema) if own_schema else None)
        self._read += 1
        return columns

    def _outputs(self, node: exp.Select, scope: _NameScope, *, exists: bool) -> tuple[_Columns, Mapping[str, exp.Expr]]:
        from sqlglot import exp

        if not node.expressions:
            raise RefusedStatement("it selects nothing")
        outputs: dict[str, str] = {}
        aliases: dict[str, exp.Expr] = {}
        settled: list[exp.Expr] = []
        for number, output in enumerate(node.expressions, 1):
            name = output.alias or (output.name if isinstance(output, exp.Column) else "") or f"value_{number}"
            if not _NAME.fullmatch(name):
                raise RefusedStatement(
                    f"{name[:40]!r} cannot be the name of a column; take up to 30 letters and digits"
                )
            if name.lower() in outputs:
                raise RefusedStatement(f"two columns are called {name}; give each its own name with AS")
            # In a node of its own, for a column may turn out to be something else.
            held = exp.Paren(this=(output.this if isinstance(output, exp.Alias) else output).copy())
            self._below(held, scope)
            value = held.this
            if not exists and not any(value.find_all(exp.Column, exp.Count)):
                raise RefusedStatement(f"the column {name} does not come from a table")
            outputs[name.lower()] = name
            aliases[name.lower()] = value
            settled.append(exp.Alias(this=value, alias=_quote_identifier(name)))
        node.set("expressions", settled)
        return outputs, aliases

    def _below(self, node: exp.Expr, scope: _NameScope) -> None:
        for child in list(node.iter_expressions()):
            self._all(child, scope)

    def _all(self, node: exp.Expr, scope: _NameScope) -> None:
        from sqlglot import exp

        match node:
            case exp.Column():
                self._column(node, scope)
            case exp.Subquery():
                if node.args.get("alias"):
                    raise RefusedStatement("a sub-query in an expression has no alias")
                self._select(_select_in(node.this), _NameScope(scope.relations, scope.queries))
            case exp.Select():
                exists = isinstance(node.parent, exp.Exists)
                self._select(node, _NameScope(scope.relations, scope.queries), exists=exists)
            case exp.Ordered() if isinstance(node.this, exp.Column) and not node.this.table:
                # What the SELECT has named comes first in ORDER BY, and second everywhere else.
                if not self._by_alias(node.this, scope):
                    self._below(node, scope)
            case exp.Window():
                self._below(node, _NameScope(scope.relations, scope.queries))
            case exp.Table() | exp.From() | exp.Join() | exp.With():
                raise RefusedStatement("a table stands where none can")
            case _:
                self._below(node, scope)

    def _column(self, node: exp.Column, scope: _NameScope) -> None:
        name, table = node.name.lower(), node.table.lower()
        for level in scope.relations:
            if table and table not in level:
                continue
            found = [alias for alias in ([table] if table else level) if name in level[alias]]
            if len(found) > 1:
                raise RefusedStatement(f"{name[:40]} is in several tables; name the column with its table")
            if found:
                node.set("this", _quote_identifier(level[found[0]][name]))
                node.set("table", _quote_identifier(found[0]))
                return
            if table:
                break
        if table or not self._by_alias(node, scope):
            whole = f"{node.table}.{node.name}" if table else node.name
            raise RefusedStatement(f"there is no column {whole[:80]!r} to ask; a text stands in single quotes")

    def _by_alias(self, node: exp.Column, scope: _NameScope) -> bool:
        from sqlglot import exp

        value = (scope.aliases or {}).get(node.name.lower())
        if value is None:
            return False
        node.replace(value.copy() if isinstance(value, exp.Column | exp.Func) else exp.Paren(this=value.copy()))
        return True


def _relations(node: exp.Select) -> Iterator[exp.Expr]:
    if source := node.args.get("from_"):
        yield source.this
    yield from (join.this for join in _joins(node))


def _joins(node: exp.Select) -> list[exp.Join]:
    return node.args.get("joins") or []


def _select_in(node: Any) -> exp.Select:
    from sqlglot import exp

    if type(node) is not exp.Select:
        raise RefusedStatement("a sub-query is one plain SELECT")
    return node


def _name_of(alias: Any) -> str:
    name = str(getattr(alias, "name", "") or "")
    if not _NAME.fullmatch(name):
        raise RefusedStatement("a sub-query or table needs an alias of letters and digits, 30 at most")
    return name.lower()


def _rename(alias: exp.Expr, name: str) -> None:
    alias.set("this", _quote_identifier(name))


def _quote_identifier(name: str) -> exp.Identifier:
    from sqlglot import exp

    return exp.Identifier(this=name, quoted=True)


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
    _check_written(text, FUNCTIONS[dialect] | {name.lower() for name in allowed.functions})
    return Statement(text, {name: value for value, name in names.items()}, readable(allowed))


def _check_written(text: str, functions: frozenset[str]) -> None:
    if not _WRITTEN.fullmatch(text):
        raise RefusedStatement("it has something in it that is neither a name, a number, a text nor a sign")
    bare = re.sub(r'"\w+"', '""', text)
    known = functions | _BEFORE_BRACKET | _TYPES_WITH_SIZE
    for name in re.findall(r"([A-Za-z_]\w*)\s*\(", bare):
        if name.lower() not in known:
            raise RefusedStatement(f"{name[:40]} cannot be called")
