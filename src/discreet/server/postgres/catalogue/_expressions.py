"""Expressions of PostgreSQL's dialect in that of the database in memory: what is not listed here is refused."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Protocol

from sqlglot import exp

from discreet.errors import QueryError
from discreet.server.postgres.catalogue._calls import Calls
from discreet.server.postgres.catalogue._casts import as_text, cast, literal_array, type_name
from discreet.server.postgres.catalogue._nodes import PARAMETER, name_of, only, refuse
from discreet.server.postgres.catalogue._scopes import Item, Scope, Session
from discreet.server.postgres.catalogue._types import VECTORS, element, is_list

__all__ = ["Expressions", "Typed"]

Typed = tuple[exp.Expr, str | None]
_MAX_PATTERN = 1_000
_SYSTEM = ("xmin", "xmax", "cmin", "cmax", "ctid")
_OPERATORS: dict[str, type[exp.Binary]] = {
    "=": exp.EQ, "<>": exp.NEQ, "<": exp.LT, "<=": exp.LTE, ">": exp.GT, ">=": exp.GTE, "+": exp.Add, "-": exp.Sub,
    "*": exp.Mul, "||": exp.DPipe,
}  # fmt: skip


class Queries(Protocol):
    """What reads the queries in an expression."""

    def query(self, node: exp.Expr, outer: Scope | None) -> tuple[exp.Query, tuple[Item, ...]]: ...


class Expressions:
    """Translates expressions in a scope."""

    def __init__(self, session: Session, queries: Queries) -> None:
        self._session = session
        self._queries = queries
        self._calls = Calls(session, self)
        self._methods: dict[type[exp.Expr], Callable[[exp.Expr, Scope], Typed]] = {
            exp.Paren: self._paren,
            exp.Not: self._not,
            exp.Neg: self._negative,
            exp.Column: self._column,
            exp.Cast: self._cast,
            exp.Collate: self._collate,
            exp.Operator: self._operator,
            exp.Escape: self._escaped,
            exp.Is: self._is,
            exp.DPipe: self._concatenated,
            exp.Div: self._divided,
            exp.Between: self._between,
            exp.In: self._in,
            exp.Exists: self._exists,
            exp.Case: self._case,
            exp.Array: self._array,
            exp.Bracket: self._bracket,
            exp.Tuple: self._tuple,
            **dict.fromkeys((exp.And, exp.Or), self._chain),
            **dict.fromkeys((exp.Literal, exp.Boolean, exp.Null, exp.ByteString, exp.RawString), self._literal),
            **dict.fromkeys((exp.Subquery, exp.Select, exp.Union, exp.Except, exp.Intersect), self._query),
            **dict.fromkeys((exp.Anonymous, exp.Dot, exp.Filter, exp.Window), self._call),
            **dict.fromkeys((exp.RegexpLike, exp.RegexpILike), self._regular),
            **dict.fromkeys((exp.Like, exp.ILike), self._plain_like),
            **dict.fromkeys((exp.Add, exp.Sub, exp.Mul, exp.Mod, exp.BitwiseAnd, exp.BitwiseOr), self._counted),
            **dict.fromkeys(
                (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.NullSafeEQ, exp.NullSafeNEQ), self._compared
            ),
        }
        self.parameters = dict[int, str]()
        """The types that parameters are taken for, by their numbers."""

    def translate(self, node: exp.Expr, scope: Scope) -> Typed:
        """An expression in DuckDB's dialect, with PostgreSQL's type. Raises `QueryError` for what is not listed."""
        method = self._methods.get(type(node))
        return self._calls.construct(node, scope) if method is None else method(node, scope)

    def note(self, node: exp.Expr, kind: str | None) -> None:
        """Take a parameter for a value of a type, the first time that something says one."""
        number = node.meta.get(PARAMETER)
        if number is not None and kind not in (None, "unknown", "unknown[]"):
            self.parameters.setdefault(number, kind)

    def _call(self, node: exp.Expr, scope: Scope) -> Typed:
        return self._calls.translate(node, scope)

    def _paren(self, node: exp.Expr, scope: Scope) -> Typed:
        only(node, "this")
        inner, kind = self.translate(node.this, scope)
        return exp.Paren(this=inner), kind

    def _chain(self, node: exp.Expr, scope: Scope) -> Typed:
        join: Callable[..., exp.Expr] = exp.and_ if isinstance(node, exp.And) else exp.or_
        parts = [self.value(each, scope) for each in node.flatten(unnest=False)]
        return join(*parts, copy=False), "boolean"

    def _not(self, node: exp.Expr, scope: Scope) -> Typed:
        return exp.Not(this=self._boxed(node.this, scope)), "boolean"

    def _negative(self, node: exp.Expr, scope: Scope) -> Typed:
        inner, kind = self.translate(node.this, scope)
        return exp.Neg(this=_boxed(inner)), kind

    def _literal(self, node: exp.Expr, scope: Scope) -> Typed:  # noqa: ARG002
        match node:
            case exp.Literal() if not node.is_string:
                return exp.Literal.number(node.name), "integer" if node.name.isdecimal() else "numeric"
            case exp.Boolean():
                return exp.Boolean(this=node.this), "boolean"
            case exp.Null():
                return exp.Null(), "unknown"
            case exp.ByteString():  # E'…', whose escapes the tokenizer has left
                return exp.Literal.string(_unescaped(node.name)), "unknown"
            case _:
                return exp.Literal.string(node.name), "unknown"

    def _query(self, node: exp.Expr, scope: Scope) -> Typed:
        query, items = self._queries.query(node, scope)
        if len(items) != 1:
            raise QueryError("subquery must return only one column")
        return exp.Subquery(this=query), items[0].type

    def _cast(self, node: exp.Expr, scope: Scope) -> Typed:
        only(node, "this", "to")
        inner, kind = self.translate(node.this, scope)
        target = type_name(node.args["to"], self._session.types)
        self.note(node.this, target)
        return cast(inner, kind, target)

    def _collate(self, node: exp.Expr, scope: Scope) -> Typed:
        if name_of(node.args["expression"]).removeprefix("pg_catalog.") not in ("default", "C", "ucs_basic"):
            raise refuse("this collation")
        return self.translate(node.this, scope)

    def _compared(self, node: exp.Expr, scope: Scope) -> Typed:
        right = node.args["expression"]
        if isinstance(node, exp.EQ | exp.NEQ) and isinstance(right, exp.Any | exp.All):
            return self._any(node, right.this, scope), "boolean"
        if isinstance(node, exp.EQ | exp.NEQ) and _is_all(right):
            return self._any(node, right.expressions[0], scope), "boolean"
        only(node, "this", "expression")
        (left, kind), (other, other_kind) = self.translate(node.this, scope), self.translate(right, scope)
        self.note(node.this, other_kind)
        self.note(right, kind)
        return type(node)(this=_boxed(left), expression=_boxed(other)), "boolean"

    def _is(self, node: exp.Expr, scope: Scope) -> Typed:
        only(node, "this", "expression", "negate")
        tested = exp.Is(this=self._boxed(node.this, scope), expression=self.value(node.args["expression"], scope))
        return exp.Not(this=tested) if node.args.get("negate") else tested, "boolean"

    def _regular(self, node: exp.Expr, scope: Scope) -> Typed:
        only(node, "this", "expression")
        flags = "i" if isinstance(node, exp.RegexpILike) else ""
        return self._matches(node.this, node.args["expression"], flags, scope), "boolean"

    def _plain_like(self, node: exp.Expr, scope: Scope) -> Typed:
        only(node, "this", "expression", "negate")
        return self._like(node, exp.Literal.string("\\"), scope), "boolean"

    def _escaped(self, node: exp.Expr, scope: Scope) -> Typed:
        if not isinstance(node.this, exp.Like | exp.ILike):
            raise refuse("ESCAPE of anything but LIKE")
        return self._like(node.this, self.value(node.args["expression"], scope), scope), "boolean"

    def _divided(self, node: exp.Expr, scope: Scope) -> Typed:
        only(node, "this", "expression", "typed", "safe")
        left, kind = self.translate(node.this, scope)
        right = _boxed(self.value(node.args["expression"], scope))
        return (exp.IntDiv if kind in _INTEGERS else exp.Div)(this=_boxed(left), expression=right), kind

    def _between(self, node: exp.Expr, scope: Scope) -> Typed:
        only(node, "this", "low", "high")
        low, high = (self._boxed(node.args[name], scope) for name in ("low", "high"))
        return exp.Between(this=self._boxed(node.this, scope), low=low, high=high), "boolean"

    def _exists(self, node: exp.Expr, scope: Scope) -> Typed:
        only(node, "this")
        return exp.Exists(this=self._queries.query(node.this, scope)[0]), "boolean"

    def _tuple(self, node: exp.Expr, scope: Scope) -> Typed:
        only(node, "expressions")
        return exp.Tuple(expressions=[self.value(each, scope) for each in node.expressions]), None

    def value(self, node: exp.Expr, scope: Scope) -> exp.Expr:
        """An expression in DuckDB's dialect."""
        return self.translate(node, scope)[0]

    def text(self, node: exp.Expr, scope: Scope) -> exp.Expr:
        """An expression as PostgreSQL writes its value."""
        return as_text(*self.translate(node, scope))

    def _boxed(self, node: exp.Expr, scope: Scope) -> exp.Expr:
        """An operand, in parentheses where it might be read as two."""
        return _boxed(self.value(node, scope))

    def _column(self, node: exp.Expr, scope: Scope) -> Typed:
        only(node, "this", "table", "db")
        assert isinstance(node, exp.Column)
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
        named = source.alias and (table or len(scope.sources) > 1)  # an alias of a result has no table
        qualifier = exp.to_identifier(source.alias, quoted=True) if named else None
        return exp.Column(this=exp.to_identifier(name, quoted=True), table=qualifier), kind

    def _counted(self, node: exp.Expr, scope: Scope) -> Typed:
        only(node, "this", "expression")
        left, kind = self.translate(node.args["this"], scope)
        right, other = self.translate(node.args["expression"], scope)
        known = kind if kind not in (None, "unknown") else other
        return type(node)(this=_boxed(left), expression=_boxed(right)), "bigint" if "bigint" in (kind, other) else known

    def _concatenated(self, node: exp.Expr, scope: Scope) -> Typed:
        only(node, "this", "expression", "safe")
        left, kind = self.translate(node.this, scope)
        right, other = self.translate(node.args["expression"], scope)
        if is_list(kind) and is_list(other):
            return exp.Anonymous(this="list_concat", expressions=[left, right]), kind
        if is_list(kind) or is_list(other):
            raise refuse("an array beside ||, unless both are")
        return exp.DPipe(this=_boxed(as_text(left, kind)), expression=_boxed(as_text(right, other))), "text"

    def _operator(self, node: exp.Expr, scope: Scope) -> Typed:
        only(node, "this", "operator", "expression")
        sign = str(node.args["operator"]).removeprefix("pg_catalog.").strip()
        left, right = node.this, node.args["expression"]
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
            self.note(listed, kind and f"{kind}[]")
            if listed_type == "unknown":
                items = literal_array(items, kind if kind is not None and kind != "unknown" else "text")
            elif element(listed_type) == "unknown" and isinstance(items, exp.Array):
                items = exp.Array(expressions=[cast(each, "unknown", kind or "text")[0] for each in items.expressions])
            contained = exp.Anonymous(this="list_contains", expressions=[items, left])
        return exp.Not(this=contained) if negated else contained

    def _in(self, node: exp.Expr, scope: Scope) -> Typed:
        only(node, "this", "expressions", "query")
        left, kind = self.translate(node.this, scope)
        left = _boxed(left)
        query = node.args.get("query")
        for each in node.expressions:
            self.note(each, kind)
        if query is not None:
            return exp.In(this=left, query=exp.Subquery(this=self._queries.query(query, scope)[0])), "boolean"
        return exp.In(this=left, expressions=[self.value(each, scope) for each in node.expressions]), "boolean"

    def _case(self, node: exp.Expr, scope: Scope) -> Typed:
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

    def _array(self, node: exp.Expr, scope: Scope) -> Typed:
        only(node, "expressions", "bracket_notation")
        if len(node.expressions) == 1 and isinstance(node.expressions[0], exp.Query):
            return self.array_of_query(node.expressions[0], scope)
        typed = [self.translate(each, scope) for each in node.expressions]
        kind = next((each for _, each in typed if each not in (None, "unknown")), "unknown")
        return exp.Array(expressions=[each for each, _ in typed]), f"{kind}[]"

    def array_of_query(self, node: exp.Expr, scope: Scope) -> Typed:
        """ARRAY(SELECT …)."""
        query, items = self._queries.query(node, scope)
        if len(items) != 1:
            raise QueryError("subquery must return only one column")
        call = exp.Anonymous(this="ARRAY", expressions=[query])
        # PostgreSQL gives an empty array where DuckDB gives null.
        return exp.Anonymous(this="coalesce", expressions=[call, exp.Array()]), f"{items[0].type or 'text'}[]"

    def _bracket(self, node: exp.Expr, scope: Scope) -> Typed:
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
    return exp.Paren(this=node) if isinstance(node, exp.Binary | exp.Not | exp.Is | exp.Between | exp.In) else node


_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}


def _unescaped(text: str) -> str:
    """The text that E'…' stands for."""
    return re.sub(r"\\(.)", lambda match: _ESCAPES.get(match[1], match[1]), text, flags=re.DOTALL)


_INTEGERS = ("smallint", "integer", "bigint", "oid")
