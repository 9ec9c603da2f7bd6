"""Casts, and values as PostgreSQL writes them."""

from __future__ import annotations

import re

from sqlglot import exp

from discreet.errors import QueryError
from discreet.server.postgres.catalogue._functions import lookup_name
from discreet.server.postgres.catalogue._nodes import call, refuse
from discreet.server.postgres.catalogue._types import (
    NUMBERED,
    REGISTERED,
    TEXTS,
    VECTORS,
    canonical,
    element,
    held_as,
    is_list,
)

__all__ = ["as_text", "cast", "literal_array", "type_name"]

_NAMED = ("regclass", "regtype", "regproc", "regnamespace")
_PART = re.compile(r'\s*(?:"((?:[^"\\]|\\.)*)"|([^,{}"\s](?:[^,{}"]*[^,{}"\s])?))\s*(,|\Z)', re.DOTALL)
_MAX_ELEMENTS = 5_000


def type_name(node: exp.Expr, types: frozenset[str]) -> str:
    """PostgreSQL's name for the type in a cast. Raises `QueryError` for one that no catalogue query needs.

    `types` are the names of all there are, to which nothing but null may be cast.
    """
    written = re.sub(r"\([\d, ]*\)", "", node.sql(dialect="postgres"))
    plain = written if written.startswith('"char"') else written.replace('"', "").lower()
    known = canonical(plain)
    if known is not None:
        return known
    if plain.removeprefix("public.").removeprefix("pg_catalog.").removesuffix("[]") in types:
        return f"null::{plain.removeprefix('public.')}"
    raise refuse("a cast to this type")


def cast(node: exp.Expr, kind: str | None, target: str) -> tuple[exp.Expr, str | None]:
    """A value as another type."""
    if target.startswith("null::"):
        if not isinstance(node, exp.Null):
            raise refuse("a cast to this type")
        return _to(node, target.removeprefix("null::")), target.removeprefix("null::")
    if isinstance(node, exp.Null):
        return _to(node, target), target
    textual = kind is None or kind == "unknown" or kind in TEXTS
    if target in REGISTERED:
        if textual and target in _NAMED and kind is not None:
            return call(lookup_name(f"{target}_in", 1), node), target
        return _to(node, target), target
    if target in TEXTS:
        text = as_text(node, kind)
        return (call("left", text, exp.Literal.number(1)) if target == '"char"' else text), target
    if is_list(target):
        if kind == "unknown":
            return literal_array(node, element(target) or "text"), target
        return _to(_named(node, kind) if element(target) in TEXTS else node, target), target
    if target in NUMBERED and kind in NUMBERED:
        return node, target
    return _to(node, target), target


def _to(node: exp.Expr, target: str) -> exp.Expr:
    return exp.Cast(this=node, to=exp.DataType.build(held_as(target), dialect="duckdb"))


def as_text(node: exp.Expr, kind: str | None) -> exp.Expr:
    """A value as PostgreSQL writes it: an object's number by its name, an array in braces."""
    if kind in ("unknown", "text", "name", '"char"', "character varying") or (
        isinstance(node, exp.Literal) and node.is_string
    ):
        return node
    if kind in _NAMED:
        return call(lookup_name(f"{kind}_out", 1), node)
    if kind in REGISTERED:
        return call(lookup_name("number_out", 1), node)
    if kind in VECTORS:
        return call("array_to_string", _to(node, "text[]"), exp.Literal.string(" "))
    if is_list(kind):
        return call(lookup_name("array_out", 1), _to(_named(node, kind), "text[]"))
    return _to(node, "text")


def _named(node: exp.Expr, kind: str | None) -> exp.Expr:
    """An array of objects' numbers as one of their names; any other as it is."""
    return call(f"{element(kind)}_names", node) if element(kind) in _NAMED else node


def literal_array(node: exp.Expr, kind: str) -> exp.Expr:
    """The array that a text such as ``{a,"b c",NULL}`` stands for. Raises `QueryError` if it is none."""
    if isinstance(node, exp.Null):
        return _to(node, f"{kind}[]")
    if not (isinstance(node, exp.Literal) and node.is_string):
        raise refuse("an array that is written as a text, unless it is a constant,")
    text = node.name.strip()
    if not (text.startswith("{") and text.endswith("}")):
        raise QueryError("malformed array literal: an array is written as '{a,b}'")
    inner, place, items = text[1:-1], 0, list[exp.Expr]()
    while place < len(inner):
        match = _PART.match(inner, place)
        if match is None or len(items) >= _MAX_ELEMENTS:
            raise QueryError("malformed array literal: an array is written as '{a,b}'")
        plain = match[2]
        if plain is not None and plain.upper() == "NULL":
            items.append(exp.Null())
        else:
            items.append(exp.Literal.string(re.sub(r"\\(.)", r"\1", match[1]) if plain is None else plain))
        place = match.end()
    return _to(exp.Array(expressions=items), f"{kind}[]")
