"""Expressions of PostgreSQL's dialect in that of the database in memory: what is not listed here is refused."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Protocol

from sqlglot import exp

from discreet.errors import QueryError
from discreet.server.postgres.catalogue._calls import Calls
from discreet.server.postgres.catalogue._casts import as_text, cast, literal_array, type_name
from discreet.server.postgres.catalogue._nodes import name_of, only, refuse
from discreet.server.postgres.catalogue._scopes import Item, Scope, Session
from discreet.server.postgres.catalogue._types import VECTORS, element, is_list

__all__ = ["Expressions", "Typed"]

Typed = tuple[exp.Expr, str | None]
_MAX_PATTERN = 1_000
_SYSTEM = ("xmin", "xmax", "cmin", "cmax", "ctid")
_COMPARED = (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.NullSafeEQ, exp.NullSafeNEQ)
_COUNTED = (exp.Add, exp.Sub, exp.Mul, exp.Mod, exp.BitwiseAnd, exp.BitwiseOr)
_OPERATORS: dict[str, type[exp.Binary]] = {
    "=": exp.EQ, "<>": exp.NEQ, "<": exp.LT, "<=": exp.LTE, ">": exp.GT, ">=": exp.GTE, "+": exp.Add, "-": exp.Sub,
    "*": exp.Mul, "||": exp.DPipe,
}  # fmt: skip
_TEXT_LIKE = ("text", "unknown")


class Queries(Protocol):
    """What reads the queries in an expression."""

    def query(self, node: exp.Expr, outer: Scope | None) -> tuple[exp.Query, tuple[Item, ...]]: ...


class Expressions:
    """Translates expressions in a scope."""

    def __init__(self, session: Session, queries: Queries) -> None:
        self._session = session
        self._queries = queries
        self._calls = Calls(session, self)

    def translate(self, node: exp.Expr, scope: Scope) -> Typed:
        """An expression in DuckDB's dialect, and PostgreSQL's type for it. Raises `QueryError` for what is not listed."""
        match node:
            case exp.Paren():
                only(node, "this")
                inner, kind = self.translate(node.this, scope)
                return exp.Paren(this=inner), kind
            case exp.And() | exp.Or():
                return self._chain(node, scope), "boolean"
            case exp.Not():
                return exp.Not(this=self._boxed(node.this, scope)), "boolean"
            case exp.Neg():
                inner, kind = self.translate(node.this, scope)
                return exp.Neg(this=inner), kind
            case exp.Literal():
                return self._literal(node)
            case exp.ByteString():  # E'…', whose escapes the tokenizer has left
                return exp.Literal.string(_unescaped(node.name)), "unknown"
            case exp.Boolean():
                return exp.Boolean(this=node.this), "boolean"
            case exp.Null():
                return exp.Null(), "unknown"
            case exp.Column():
                return self._column(node, scope)
            case exp.Subquery() | exp.Select() | exp.SetOperation():
                query, items = self._queries.query(node, scope)
                return exp.Subquery(this=query), items[0].type if items else None
            case exp.Anonymous() | exp.Dot() | exp.Filter() | exp.Window():
                return self._calls.translate(node, scope)
            case exp.Cast():
                only(node, "this", "to")
                inner, kind = self.translate(node.this, scope)
                return cast(inner, kind, type_name(node.args["to"], self._session.types))
            case exp.Collate():
                if name_of(node.expression).removeprefix("pg_catalog.") not in ("default", "C", "ucs_basic"):
                    raise refuse("this collation")
                return self.translate(node.this, scope)
            case _:
                return self._other(node, scope)

    def _other(self, node: exp.Expr, scope: Scope) -> Typed:
        match node:
            case exp.EQ() | exp.NEQ() if isinstance(node.expression, exp.Any | exp.All):
                return self._any(node, node.expression.this, scope), "boolean"
            case exp.EQ() | exp.NEQ() if _is_all(node.expression):
                return self._any(node, node.expression.expressions[0], scope), "boolean"
            case exp.Operator():
                return self._operator(node, scope)
            case exp.RegexpLike() | exp.RegexpILike():
                only(node, "this", "expression")
                flags = "i" if isinstance(node, exp.RegexpILike) else ""
                return self._matches(node.this, node.expression, flags, scope), "boolean"
            case exp.Like() | exp.ILike():
                only(node, "this", "expression", "negate")
                return self._like(node, exp.Literal.string("\\"), scope), "boolean"
            case exp.Escape() if isinstance(node.this, exp.Like | exp.ILike):
                return self._like(node.this, self.translate(node.expression, scope)[0], scope), "boolean"
            case exp.Is():
                only(node, "this", "expression", "negate")
                tested = exp.Is(this=self._boxed(node.this, scope), expression=self.value(node.expression, scope))
                return exp.Not(this=tested) if node.args.get("negate") else tested, "boolean"
            case exp.DPipe():
                return self._concatenated(node, scope)
            case _ if isinstance(node, _COMPARED):
                only(node, "this", "expression")
                return type(node)(this=self._boxed(node.this, scope), expression=self._boxed(node.expression, scope)), "boolean"
            case _ if isinstance(node, _COUNTED):
                only(node, "this", "expression")
                return self._counted(node, scope)
            case exp.Div():
                only(node, "this", "expression", "typed", "safe")
                left, kind = self.translate(node.this, scope)
                return exp.IntDiv(this=left, expression=self.value(node.expression, scope)), kind
            case exp.Between():
                only(node, "this", "low", "high")
                low, high = (self.value(node.args[name], scope) for name in ("low", "high"))
                return exp.Between(this=self._boxed(node.this, scope), low=low, high=high), "boolean"
            case exp.In():
                return self._in(node, scope), "boolean"
            case exp.Exists():
                only(node, "this")
                return exp.Exists(this=self._queries.query(node.this, scope)[0]), "boolean"
            case exp.Case():
                return self._case(node, scope)
            case exp.Array():
                return self._array(node, scope)
            case exp.Bracket():
                return self._bracket(node, scope)
            case exp.Tuple():
                only(node, "expressions")
                return exp.Tuple(expressions=[self.value(each, scope) for each in node.expressions]), None
            case exp.Star():
                only(node)
                return exp.Star(), None
            case _:
                return self._calls.construct(node, scope)

    def value(self, node: exp.Expr, scope: Scope) -> exp.Expr:
        """An expression in DuckDB's dialect."""
        return self.translate(node, scope)[0]

    def text(self, node: exp.Expr, scope: Scope) -> exp.Expr:
        """An expression as PostgreSQL writes its value."""
        return as_text(*self.translate(node, scope))

    def _boxed(self, node: exp.Expr, scope: Scope) -> exp.Expr:
        """An operand, in parentheses where it might be read as two."""
        inner = self.value(node, scope)
        return exp.Paren(this=inner) if isinstance(inner, exp.Binary | exp.Not | exp.Is | exp.Between | exp.In) else inner

    def _chain(self, node: exp.Expr, scope: Scope) -> exp.Expr:
        join: Callable[..., exp.Expr] = exp.and_ if isinstance(node, exp.And) else exp.or_
        parts = [self.value(each, scope) for each in node.flatten(unnest=False)]
        return join(*parts, copy=False)

    @staticmethod
    def _literal(node: exp.Literal) -> Typed:
        if node.is_string:
            return exp.Literal.string(node.name), "unknown"
        return exp.Literal.number(node.name), "integer" if node.name.isdecimal() else "numeric"

    def _column(self, node: exp.Column, scope: Scope) -> Typed:
        only(node, "this", "table", "db")
        table, name = node.table, node.name
        place = scope.column(table, name)
        if place is None and name in ("tableoid", *_SYSTEM):
            source = scope.source(table) if table else next(iter(scope.sources), None)
            if source is not None and source.oid is not None:
                if name == "tableoid":
                    return exp.Literal.number(source.oid), "oid"
                return exp.Literal.string("0"), "xid"
        if place is None:
            where = f"{table}.{name}" if table else f'"{name}"'
            raise QueryError(f"column {where} does not exist")
        source, kind = place
        qualifier = exp.to_identifier(source.alias, quoted=True) if table or len(scope.sources) > 1 else None
        return exp.Column(this=exp.to_identifier(name, quoted=True), table=qualifier), kind

    def _counted(self, node: exp.Expr, scope: Scope) -> Typed:
        left, kind = self.translate(node.args["this"], scope)
        right, other = self.translate(node.args["expression"], scope)
        known = kind if kind not in (None, "unknown") else other
        return type(node)(this=_boxed(left), expression=_boxed(right)), "bigint" if "bigint" in (kind, other) else known

    def _concatenated(self, node: exp.DPipe, scope: Scope) -> Typed:
        only(node, "this", "expression", "safe")
        left, kind = self.translate(node.this, scope)
        right, other = self.translate(node.expression, scope)
        if is_list(kind) and is_list(other):
            return exp.Anonymous(this="list_concat", expressions=[left, right]), kind
        if is_list(kind) or is_list(other):
            raise refuse("an array beside ||, unless both are")
        return exp.DPipe(this=_boxed(as_text(left, kind)), expression=_boxed(as_text(right, other))), "text"

    def _operator(self, node: exp.Operator, scope: Scope) -> Typed:
        only(node, "this", "operator", "expression")
        sign = str(node.args["operator"]).removeprefix("pg_catalog.").strip()
        left, right = node.this, node.expression
        if sign in ("~", "~*", "!~", "!~*"):
            matched = self._matches(left, right, "i" if sign.endswith("*") else "", scope)
            return exp.Not(this=matched) if sign.startswith("!") else matched, "boolean"
        if sign in ("~~", "!~~", "~~*", "!~~*"):
            kind = exp.ILike if sign.endswith("*") else exp.Like
            like = kind(this=left, expression=right, negate=sign.startswith("!"))
            return self._like(like, exp.Literal.string("\\"), scope), "boolean"
        if sign not in _OPERATORS:
            raise refuse(f"OPERATOR({sign[:20]})")
        return self.translate(_OPERATORS[sign](this=left, expression=right), scope)

    def _matches(self, text: exp.Expr, pattern: exp.Expr, flags: str, scope: Scope) -> exp.Expr:
        matched = self.value(pattern, scope)
        if not isinstance(matched, exp.Literal):
            raise refuse("a regular expression that is not a constant")
        if len(matched.name) > _MAX_PATTERN:
            raise QueryError(f"a regular expression has at most {_MAX_PATTERN:,} characters")
        return exp.Anonymous(
            this="regexp_matches",
            expressions=[self.text(text, scope), matched, *([exp.Literal.string(flags)] if flags else [])],
        )

    def _like(self, node: exp.Expr, escape: exp.Expr, scope: Scope) -> exp.Expr:
        text, pattern = self.text(node.args["this"], scope), self.text(node.args["expression"], scope)
        if not isinstance(escape, exp.Literal) or len(escape.name) != 1:
            raise refuse("ESCAPE of anything but one character")
        if isinstance(node.args["expression"], exp.Any | exp.All):
            raise refuse("LIKE ANY")
        like = exp.Escape(this=type(node)(this=_boxed(text), expression=_boxed(pattern)), expression=escape)
        return exp.Not(this=like) if node.args.get("negate") else like

    def _any(self, node: exp.Expr, listed: exp.Expr, scope: Scope) -> exp.Expr:
        """`= ANY (…)`, and `<> ALL (…)`, which is its negation."""
        negated = isinstance(node, exp.NEQ)
        every = isinstance(node.args["expression"], exp.All) or _is_all(node.args["expression"])
        if negated != every:
            raise refuse("= ALL or <> ANY")
        left, kind = self.translate(node.args["this"], scope)
        while isinstance(listed, exp.Paren):
            listed = listed.this
        if isinstance(listed, exp.Subquery | exp.Select | exp.SetOperation):
            contained: exp.Expr = exp.In(this=left, query=exp.Subquery(this=self._queries.query(listed, scope)[0]))
        else:
            items, listed_type = self.translate(listed, scope)
            if listed_type == "unknown":
                items = literal_array(items, kind if kind not in _TEXT_LIKE else "text")
            elif element(listed_type) == "unknown" and isinstance(items, exp.Array):
                items = exp.Array(expressions=[cast(each, "unknown", kind or "text")[0] for each in items.expressions])
            contained = exp.Anonymous(this="list_contains", expressions=[items, left])
        return exp.Not(this=contained) if negated else contained

    def _in(self, node: exp.In, scope: Scope) -> exp.Expr:
        only(node, "this", "expressions", "query")
        left = self._boxed(node.this, scope)
        query = node.args.get("query")
        if query is not None:
            return exp.In(this=left, query=exp.Subquery(this=self._queries.query(query, scope)[0]))
        return exp.In(this=left, expressions=[self.value(each, scope) for each in node.expressions])

    def _case(self, node: exp.Case, scope: Scope) -> Typed:
        only(node, "this", "ifs", "default")
        subject = self.value(node.this, scope) if node.this else None
        types = list[str | None]()
        branches = list[exp.Expr]()
        for branch in node.args["ifs"]:
            only(branch, "this", "true")
            value, kind = self.translate(branch.args["true"], scope)
            types.append(kind)
            branches.append(exp.If(this=self.value(branch.this, scope), true=value))
        default = node.args.get("default")
        if default is not None:
            default, kind = self.translate(default, scope)
            types.append(kind)
        kind = next((each for each in types if each not in (None, "unknown")), "text")
        return exp.Case(this=subject, ifs=branches, default=default), kind

    def _array(self, node: exp.Array, scope: Scope) -> Typed:
        only(node, "expressions", "bracket_notation")
        if len(node.expressions) == 1 and isinstance(node.expressions[0], exp.Query):
            return self.array_of_query(node.expressions[0], scope)
        typed = [self.translate(each, scope) for each in node.expressions]
        kind = next((each for _, each in typed if each not in (None, "unknown")), "unknown")
        return exp.Array(expressions=[each for each, _ in typed]), f"{kind}[]"

    def array_of_query(self, node: exp.Expr, scope: Scope) -> Typed:
        """ARRAY(SELECT …)."""
        query, items = self._queries.query(node, scope)
        call = exp.Anonymous(this="ARRAY", expressions=[query])
        # PostgreSQL gives an empty array where DuckDB gives null.
        return exp.Anonymous(this="coalesce", expressions=[call, exp.Array()]), f"{items[0].type or 'text'}[]"

    def _bracket(self, node: exp.Bracket, scope: Scope) -> Typed:
        if len(node.expressions) != 1 or isinstance(node.expressions[0], exp.Slice):
            raise refuse("a slice of an array")
        only(node, "this", "expressions", "offset", "safe")
        array, kind = self.translate(node.this, scope)
        place = self.value(node.expressions[0], scope)
        if kind in VECTORS:
            place = exp.Add(this=_boxed(place), expression=exp.Literal.number(1))
        return exp.Anonymous(this="list_extract", expressions=[array, place]), element(kind)


def _is_all(node: exp.Expr) -> bool:
    """ALL (…) of an array, which the parser takes for a function."""
    return isinstance(node, exp.Anonymous) and node.name.lower() == "all" and len(node.expressions) == 1


def _boxed(node: exp.Expr) -> exp.Expr:
    return exp.Paren(this=node) if isinstance(node, exp.Binary | exp.Not | exp.Is) else node


_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}


def _unescaped(text: str) -> str:
    """The text that E'…' stands for."""
    return re.sub(r"\\(.)", lambda match: _ESCAPES.get(match[1], match[1]), text, flags=re.DOTALL)


def names(items: Sequence[Item]) -> list[str]:
    """The names of columns."""
    return [item.name for item in items]
