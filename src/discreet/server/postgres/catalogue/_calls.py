"""Calls of functions in a query of the catalogue: those that an allow-list names."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Any, Protocol

from sqlglot import exp

from discreet.errors import QueryError
from discreet.server.postgres.catalogue._casts import as_text, cast
from discreet.server.postgres.catalogue._functions import (
    CONSTANTS,
    ELEMENT,
    FIRST,
    HELD,
    LEAST,
    LIST,
    LOOKED_UP,
    NATIVE,
    NULLS,
    Native,
    lookup_name,
)
from discreet.server.postgres.catalogue._nodes import DESCRIBED, call, only, refuse
from discreet.server.postgres.catalogue._scopes import Scope, Session
from discreet.server.postgres.catalogue._types import REGISTERED, TEXTS, VECTORS, element, held_as, is_list

__all__ = ["EXPANDED", "TABLE_FUNCTIONS", "Calls", "constant", "known_function"]

Typed = tuple[exp.Expr, str | None]
EXPANDED = "an element of an array, with its number"
"""The type of `information_schema._pg_expandarray`: rows of x and n."""
_INTERNAL = ("array_out", "format_values", "holds", "number_out", "readable", "setting",
             *(f"{kind}_{way}" for kind in ("regclass", "regtype", "regproc", "regnamespace") for way in ("in", "out"))
             )  # fmt: skip
TABLE_FUNCTIONS = {
    "pg_get_keywords": ("texts", "keywords"),
    "pg_available_extensions": ("pg_catalog", "pg_available_extensions"),
}
"""Functions in FROM that are tables here, by schema and name."""
_OWN = ("current_schema", "current_database", "version", "now")
_SCHEMAS = ("pg_catalog", "information_schema", "")


class Translator(Protocol):
    """What translates arguments."""

    def translate(self, node: exp.Expr, scope: Scope) -> Typed: ...
    def value(self, node: exp.Expr, scope: Scope) -> exp.Expr: ...
    def array_of_query(self, node: exp.Expr, scope: Scope) -> Typed: ...
    def note(self, node: exp.Expr, kind: str | None) -> None: ...


def constant(value: Any, kind: str) -> exp.Expr:
    """A constant of a type."""
    if value is None:
        return exp.Cast(this=exp.Null(), to=exp.DataType.build(held_as(kind), dialect="duckdb"))
    if isinstance(value, list):
        return exp.Array(expressions=[constant(each, "text") for each in value])
    return exp.convert(value)


def _short_truth(value: exp.Expr) -> exp.Expr:
    """A truth value as PostgreSQL's CONCAT writes it."""
    branches = [exp.If(this=value, true=exp.Literal.string("t"))]
    branches.append(exp.If(this=exp.Not(this=exp.Paren(this=value.copy())), true=exp.Literal.string("f")))
    return exp.Case(ifs=branches)


def function_name(node: exp.Expr) -> str | None:
    """The name of the function that a call names, without PostgreSQL's own schemas; None for what is no such call."""
    if (
        isinstance(node, exp.Dot)
        and isinstance(node.expression, exp.Anonymous)
        and isinstance(node.this, exp.Identifier)
    ):
        return node.expression.name.lower() if node.this.name in _SCHEMAS else None
    return node.name.lower() if isinstance(node, exp.Anonymous) else None


def known_function(name: str) -> bool:
    """Whether a query of the catalogue may call a function."""
    return (
        name in NATIVE
        or name in CONSTANTS
        or name in NULLS
        or name in HELD
        or name in _OWN
        or hasattr(Calls, f"_call_{name}")
        or (name in LOOKED_UP and name not in _INTERNAL)
    )


class Calls:
    """Translates calls."""

    def __init__(self, session: Session, translator: Translator) -> None:
        self._session = session
        self._translator = translator

    def translate(self, node: exp.Expr, scope: Scope) -> Typed:
        """A call in DuckDB's dialect, and PostgreSQL's type for its answer. Raises `QueryError` if it is not listed."""
        match node:
            case exp.Filter():
                only(node, "this", "expression")
                inner, kind = self.translate(node.this, scope)
                where = exp.Where(this=self._translator.value(node.expression.this, scope))
                return exp.Filter(this=inner, expression=where), kind
            case exp.Window():
                return self._window(node, scope)
            case exp.Dot() if function_name(node) is None:
                return self._field(node, scope)
            case _:
                return self._call(node, scope)

    def _field(self, node: exp.Dot, scope: Scope) -> Typed:
        if not isinstance(node.this, exp.Paren) or not isinstance(node.expression, exp.Identifier):
            raise refuse("a name of more than three parts, or a function that is not PostgreSQL's,")
        row, kind = self._translator.translate(node.this.this, scope)
        if kind != EXPANDED or node.expression.name not in ("x", "n"):
            raise refuse("a field of a row")
        return call("struct_extract", row, exp.Literal.string(node.expression.name)), "integer"

    def _window(self, node: exp.Window, scope: Scope) -> Typed:
        only(node, "this", "partition_by", "order", "over")
        inner, kind = self.translate(node.this, scope)
        parts = [self._translator.value(each, scope) for each in node.args.get("partition_by") or ()]
        return exp.Window(
            this=inner, partition_by=parts, order=self.order(node.args.get("order"), scope), over="OVER"
        ), kind

    def order(self, node: exp.Expr | None, scope: Scope) -> exp.Order | None:
        """ORDER BY, where PostgreSQL puts nulls."""
        if node is None:
            return None
        only(node, "expressions", "this")
        ordered = list[exp.Expr]()
        for each in node.expressions:
            only(each, "this", "desc", "nulls_first")
            first = each.args.get("nulls_first")
            ordered.append(
                exp.Ordered(
                    this=self._translator.value(each.this, scope), desc=bool(each.args.get("desc")), nulls_first=first
                )
            )
        return exp.Order(expressions=ordered)

    def _call(self, node: exp.Expr, scope: Scope) -> Typed:
        name = function_name(node)
        call_node = node.expression if isinstance(node, exp.Dot) else node
        if name is None or not known_function(name):
            raise refuse(f"the function {(name or '?')[:63]}")
        only(call_node, "this", "expressions")
        arguments: list[exp.Expr] = call_node.expressions
        if name in _OWN and not arguments:
            return self._own(name)
        own: Callable[[list[exp.Expr], Scope], Typed] | None = getattr(self, f"_call_{name}", None)
        if own is not None:
            return own(arguments, scope)
        if name in HELD:
            return self._privilege(name, arguments, scope)
        if name in CONSTANTS or name in NULLS:
            for each in arguments:
                self._translator.value(each, scope)
            kind, value = CONSTANTS[name] if name in CONSTANTS else (NULLS[name], None)
            return constant(value, kind), kind
        if name in LOOKED_UP:
            return self._looked_up(name, arguments, scope)
        if name == "count" and len(arguments) == 1 and isinstance(arguments[0], exp.Star):
            only(arguments[0])
            return call("count", exp.Star()), "bigint"
        return self._native(NATIVE[name], arguments, scope)

    def _looked_up(self, name: str, arguments: list[exp.Expr], scope: Scope) -> Typed:
        result, overloads = LOOKED_UP[name]
        types = next((each for each in overloads if len(each) == len(arguments)), None)
        if name == "pg_get_function_arguments" and types is None:
            types = ("oid",)
        if types is None:
            raise QueryError(f"function {name} does not take {len(arguments)} arguments")
        values = list[exp.Expr]()
        for each, wanted in zip(arguments, types, strict=True):
            value, kind = self._translator.translate(each, scope)
            self._translator.note(each, wanted)
            if wanted == "text[]":
                value = value if kind in ("text[]", "name[]") else cast(value, kind, "text[]")[0]
            elif wanted == "text":
                value = as_text(value, kind)
            elif kind in ("smallint", "integer", None) or isinstance(value, exp.Literal | exp.Null):
                value = cast(value, "bigint", wanted)[0]
            values.append(value)
        return call(lookup_name(name, len(values)), *values), result

    def _native(self, native: Native, arguments: list[exp.Expr], scope: Scope) -> Typed:
        if not (native.least <= len(arguments) <= native.most):
            raise QueryError(f"function {native.name} does not take {len(arguments)} arguments")
        values, types = list[exp.Expr](), list[str | None]()
        for each in arguments:
            value, kind = self._argument(each, scope)
            values.append(value)
            types.append(kind)
        if native.type == "text":
            values = [as_text(value, kind) if kind in REGISTERED or is_list(kind) else value
                      for value, kind in zip(values, types, strict=True)]  # fmt: skip
        if native.name in ("concat", "concat_ws"):
            values = [_short_truth(value) if kind == "boolean" else value
                      for value, kind in zip(values, types, strict=True)]  # fmt: skip
        return call(native.name, *values), self._type(native.type, types)

    @staticmethod
    def _type(rule: str, types: list[str | None]) -> str | None:
        first = next((kind for kind in types if kind not in (None, "unknown")), types[0] if types else None)
        if rule == FIRST:
            return first
        if rule == LEAST:
            return "text" if first in TEXTS else first
        if rule == LIST:
            return None if first is None else f"{first}[]"
        return element(first) if rule == ELEMENT else rule

    def _argument(self, node: exp.Expr, scope: Scope) -> Typed:
        """An argument, perhaps of an aggregate: DISTINCT x, or x ORDER BY y."""
        if isinstance(node, exp.Distinct):
            only(node, "expressions")
            typed = [self._translator.translate(each, scope) for each in node.expressions]
            return exp.Distinct(expressions=[each for each, _ in typed]), typed[0][1]
        if isinstance(node, exp.Order):
            value, kind = self._argument(node.this, scope)
            order = self.order(node, scope)
            assert order is not None
            order.set("this", value)
            return order, kind
        return self._translator.translate(node, scope)

    def _privilege(self, name: str, arguments: list[exp.Expr], scope: Scope) -> Typed:
        """Whether everybody has a privilege: of whom it is asked makes no difference."""
        least = 3 if name == "has_column_privilege" else 2
        if len(arguments) not in (least, least + 1):
            raise QueryError(f"function {name} does not take {len(arguments)} arguments")
        *objects, privileges = arguments[len(arguments) - least :]
        asked = as_text(*self._translator.translate(privileges, scope))
        if name in ("has_table_privilege", "has_any_column_privilege"):
            value, kind = self._translator.translate(objects[0], scope)
            number = cast(value, kind, "regclass")[0] if kind != "oid" else value
            return call(lookup_name("readable", 2), number, asked), "boolean"
        for each in objects:
            self._translator.value(each, scope)
        return call(lookup_name("holds", 2), asked, exp.Literal.string(HELD[name])), "boolean"

    def construct(self, node: exp.Expr, scope: Scope) -> Typed:
        """What has a syntax of its own: current_user, SUBSTRING (… FROM …), TRIM, POSITION."""
        match node:
            case exp.CurrentSchema():
                return exp.Literal.string("public"), "name"
            case exp.CurrentUser() | exp.SessionUser() | exp.CurrentRole():
                return exp.Literal.string(self._session.role), "name"
            case exp.CurrentCatalog() | exp.CurrentDatabase():
                return exp.Literal.string(self._session.database), "name"
            case exp.CurrentTimestamp():
                return self._own("now")
            case exp.CurrentDate():
                return cast(exp.Literal.string(dt.datetime.now(dt.UTC).date().isoformat()), "unknown", "date")
            case exp.Substring():
                only(node, "this", "start", "length")
                given = [node.args[name] for name in ("this", "start", "length") if node.args.get(name)]
                return self._native(NATIVE["substring"], given, scope)
            case exp.Trim():
                only(node, "this", "expression", "position")
                name = {"LEADING": "ltrim", "TRAILING": "rtrim"}.get(str(node.args.get("position") or ""), "btrim")
                return self._native(NATIVE[name], [node.this, *filter(None, [node.args.get("expression")])], scope)
            case exp.StrPosition():
                only(node, "this", "substr")
                return self._native(NATIVE["strpos"], [node.this, node.args["substr"]], scope)
            case _:
                raise refuse(type(node).__name__.upper())

    def _call_array(self, arguments: list[exp.Expr], scope: Scope) -> Typed:
        if len(arguments) != 1:
            raise refuse("ARRAY (…) of anything but one query")
        return self._translator.array_of_query(arguments[0], scope)

    def _call_array_upper(self, arguments: list[exp.Expr], scope: Scope) -> Typed:
        array, kind = self._array(arguments, scope)
        length = call("nullif", call("len", array), exp.Literal.number(0))
        return (
            exp.Paren(this=exp.Sub(this=length, expression=exp.Literal.number(1))) if kind in VECTORS else length
        ), "integer"

    def _call_array_lower(self, arguments: list[exp.Expr], scope: Scope) -> Typed:
        array, kind = self._array(arguments, scope)
        first = exp.Literal.number(0 if kind in VECTORS else 1)
        return exp.Case(
            ifs=[exp.If(this=exp.GT(this=call("len", array), expression=exp.Literal.number(0)), true=first)]
        ), "integer"

    def _array(self, arguments: list[exp.Expr], scope: Scope) -> Typed:
        """The first argument, an array, whose first dimension is asked of."""
        dimension = arguments[-1].this if isinstance(arguments[-1], exp.Cast) else arguments[-1]
        if len(arguments) != 2 or not isinstance(dimension, exp.Literal) or dimension.name not in ("1", DESCRIBED):
            raise refuse("an array of more than one dimension")
        self._translator.translate(arguments[1], scope)
        self._translator.note(dimension, "integer")
        array, kind = self._translator.translate(arguments[0], scope)
        if not is_list(kind):
            raise refuse("a function of arrays of something else")
        return array, kind

    def _call_generate_subscripts(self, arguments: list[exp.Expr], scope: Scope) -> Typed:
        array, kind = self._array(arguments, scope)
        low = 0 if kind in VECTORS else 1
        high = exp.Add(this=call("len", array), expression=exp.Literal.number(low - 1))
        return call("unnest", call("generate_series", exp.Literal.number(low), high)), "integer"

    def _call_generate_series(self, arguments: list[exp.Expr], scope: Scope) -> Typed:
        if len(arguments) != 2:
            raise refuse("generate_series of anything but two numbers")
        ends = [self._translator.translate(each, scope) for each in arguments]
        return call("unnest", call("series", *(cast(*end, "bigint")[0] for end in ends))), ends[0][1]

    def _call__pg_expandarray(self, arguments: list[exp.Expr], scope: Scope) -> Typed:
        if len(arguments) != 1:
            raise refuse("_pg_expandarray of anything but one array")
        return call("unnest", call("expanded", self._translator.value(arguments[0], scope))), EXPANDED

    def _call_pg_partition_ancestors(self, arguments: list[exp.Expr], scope: Scope) -> Typed:
        """No rows: no table is a part of another."""
        for each in arguments:
            self._translator.value(each, scope)
        return call("unnest", constant(None, "oid[]")), "regclass"

    def _call_pg_get_expr(self, arguments: list[exp.Expr], scope: Scope) -> Typed:
        """The text of an expression, as which the catalogue holds it."""
        if len(arguments) not in (2, 3):
            raise QueryError("function pg_get_expr takes 2 or 3 arguments")
        values = [self._translator.value(each, scope) for each in arguments]
        return values[0], "text"

    def _call_format(self, arguments: list[exp.Expr], scope: Scope) -> Typed:
        pattern, *values = (as_text(*self._translator.translate(each, scope)) for each in arguments)
        listed = exp.Cast(this=exp.Array(expressions=values), to=exp.DataType.build("VARCHAR[]", dialect="duckdb"))
        return call(lookup_name("format_values", 2), pattern, listed), "text"

    def _call_replace(self, arguments: list[exp.Expr], scope: Scope) -> Typed:
        text, old, new = self._three(arguments, scope)
        if not (isinstance(old, exp.Literal) and isinstance(new, exp.Literal) and len(new.name) <= 2 * len(old.name)):
            raise refuse("REPLACE of anything but a constant by one at most twice as long")  # nested, texts grow fast
        return call("replace", text, old, new), "text"

    def _three(self, arguments: list[exp.Expr], scope: Scope) -> list[exp.Expr]:
        if len(arguments) != 3:
            raise QueryError("function replace takes 3 arguments")
        return [as_text(*self._translator.translate(each, scope)) for each in arguments]

    def _call_json_build_object(self, arguments: list[exp.Expr], scope: Scope) -> Typed:
        """The text of a JSON object, of numbers, texts and truth values."""
        if len(arguments) % 2:
            raise QueryError("json_build_object takes a value for each name")
        parts: list[exp.Expr] = []
        for place, each in enumerate(arguments):
            value, kind = self._translator.translate(each, scope)
            textual = kind not in ("smallint", "integer", "bigint", "boolean", "oid", "numeric", "double precision")
            shown = call("json_text", as_text(value, kind)) if textual else as_text(value, kind)
            separator = "{" if place == 0 else " : " if place % 2 else ", "
            parts += [exp.Literal.string(separator), call("coalesce", shown, exp.Literal.string("null"))]
        return call("concat", *parts, exp.Literal.string("}")), "json"

    def _call_current_schemas(self, arguments: list[exp.Expr], scope: Scope) -> Typed:
        if len(arguments) != 1:
            raise QueryError("function current_schemas takes 1 argument")
        self._translator.value(arguments[0], scope)
        implicit = isinstance(arguments[0], exp.Boolean) and arguments[0].this
        return constant(["pg_catalog", "public"] if implicit else ["public"], "name[]"), "name[]"

    def _own(self, name: str) -> Typed:
        """What a function without arguments says of the session."""
        match name:
            case "current_schema":
                return exp.Literal.string("public"), "name"
            case "current_database":
                return exp.Literal.string(self._session.database), "name"
            case "version":
                return exp.Literal.string(self._session.version), "text"
            case _:
                now = dt.datetime.now(dt.UTC).isoformat()
                return cast(exp.Literal.string(now), "unknown", "timestamp with time zone")

    def _call_pg_has_role(self, arguments: list[exp.Expr], scope: Scope) -> Typed:
        if len(arguments) not in (2, 3):
            raise QueryError("function pg_has_role takes 2 or 3 arguments")
        role, kind = self._translator.translate(arguments[-2], scope)
        own = exp.Literal.string(self._session.role)
        name = call(lookup_name("pg_get_userbyid", 1), role) if kind == "oid" else as_text(role, kind)
        return exp.Paren(this=exp.EQ(this=name, expression=own)), "boolean"

    def _call_current_setting(self, arguments: list[exp.Expr], scope: Scope) -> Typed:
        if arguments and not isinstance(arguments[0], exp.Literal):
            return call(lookup_name("setting", 1), as_text(*self._translator.translate(arguments[0], scope))), "text"
        name = self._constant(arguments[:1])
        if name.lower() in self._session.settings:
            return exp.Literal.string(self._session.settings[name.lower()]), "text"
        if len(arguments) == 2 and isinstance(arguments[1], exp.Boolean) and arguments[1].this:
            return constant(None, "text"), "text"
        raise QueryError(f'unrecognized configuration parameter "{name[:63]}"')

    def _call_set_config(self, arguments: list[exp.Expr], scope: Scope) -> Typed:
        """What a setting would be: nothing is set."""
        if len(arguments) != 3:
            raise QueryError("function set_config takes 3 arguments")
        self._constant(arguments[:1])
        return as_text(*self._translator.translate(arguments[1], scope)), "text"

    @staticmethod
    def _constant(arguments: list[exp.Expr]) -> str:
        if not arguments or not isinstance(arguments[0], exp.Literal):
            raise refuse("a setting whose name is not a constant")
        return arguments[0].name
