"""Checks and names of sqlglot's nodes."""

from __future__ import annotations

from sqlglot import exp

from discreet.errors import QueryError

__all__ = ["DESCRIBED", "PARAMETER", "call", "fold", "name_of", "only", "refuse"]


DESCRIBED = "{}"
"""The value of a parameter of which none is given: a text, a pattern, and an array."""
PARAMETER = "parameter"
"""Under which the metadata of a constant has the number of the parameter whose value it is."""


def refuse(what: str) -> QueryError:
    """A `QueryError` for what no query of the catalogue may have."""
    return QueryError(f"{what} is not supported in a query of the catalogue")


def only(node: exp.Expr, *known: str) -> None:
    """Raise `QueryError` if a node has a part that is not among those that are read."""
    for name, value in node.args.items():
        if value and name not in known:
            raise refuse(f"{name.rstrip('_').upper()} in {type(node).__name__.upper()}")


def fold(tree: exp.Expr) -> None:
    """Names without quotes in lower case, as PostgreSQL reads them."""
    for node in tree.walk():
        if isinstance(node, exp.Identifier) and not node.args.get("quoted"):
            node.set("this", node.name.lower())


def name_of(node: exp.Expr) -> str:
    """The name that a column without a table, or with one, spells."""
    if isinstance(node, exp.Column):
        return ".".join(part.name for part in node.parts)
    return node.name


def call(name: str, *arguments: exp.Expr) -> exp.Expr:
    """A call of a function of DuckDB's."""
    return exp.Anonymous(this=name, expressions=list(arguments))
