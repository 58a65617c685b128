"""The full names of a statement: every table and column is resolved and written out with its table, quoted."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from adapters.lookups.text_to_sql.statement import RefusedStatement
from contracts.profile import TextToSql

if TYPE_CHECKING:
    from sqlglot import exp

_NAME: Final = re.compile(r"[^\W\d]\w{0,29}")
"""Of an alias, in any script; PostgreSQL cuts names at 63 bytes."""

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


class FullNames:
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
