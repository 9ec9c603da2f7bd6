"""What the table of functions says about each: its kinds, its bounds, when it is null, which values are public."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from sqlglot import exp

from discreet.errors import QueryError
from discreet.query.functions._calls import Call
from discreet.query.functions._ranges import Range

__all__ = ["Function", "Kind", "Scope", "takes"]

Kind = Literal["number", "string", "bool", "date", "timestamp", "null"]


class Scope(Protocol):
    """What a rule may ask about an argument, over the columns of one row."""

    def kind(self, node: exp.Expr) -> Kind:
        """The kind of an argument; raises `QueryError` if it is not supported."""
        ...

    def agree(self, nodes: tuple[exp.Expr, ...]) -> Kind:
        """The one kind of several arguments; text beside a date or a timestamp is read as one, in place."""
        ...

    def range(self, node: exp.Expr) -> Range:
        """The numbers that an argument can be."""
        ...

    def nullable(self, node: exp.Expr) -> bool:
        """Whether an argument can be null."""
        ...

    def scale(self, node: exp.Expr) -> float:
        """The largest magnitude met while a number is computed: rounding errors are a tiny part of it."""
        ...


@dataclass(frozen=True, slots=True)
class Function:
    """A function or an operator: the only list of them is `FUNCTIONS`.

    `names` begins with the one that plans use. `signature`, `does`, `bounds` and `nulls` are for people. The rules:
    `kind` checks the arguments and gives the kind of the result; `span` gives the bounds of a number; `null` says
    whether the result can be null, by default where an argument can. `evaluate` computes the result, from values
    that are not null and the option if there is one, where Python surely gives what an engine gives; it raises
    `ValueError` where it is not sure. `exact` says that the result is a
    64-bit integer: always, or where its `branches` are.

    `native` says that every engine has a function of numbers of that name, which no row makes raise; the others are
    written by each engine's table. The arguments of a function that sqlglot has a node for stand in the node's order.
    """

    names: tuple[str, ...]
    signature: str
    does: str
    bounds: str
    nulls: str
    kind: Callable[[Call, Scope], Kind]
    arity: tuple[int, int]
    span: Callable[[Call, Scope], Range] | None = None
    null: Callable[[Call, Scope], bool] | None = None
    evaluate: Callable[..., Any] | None = None
    exact: Literal["never", "always", "branches"] = "never"
    branches: Callable[[Call], tuple[exp.Expr, ...]] | None = None
    native: bool = False


def takes(*kinds: Kind | tuple[Kind, ...], gives: Kind) -> Callable[[Call, Scope], Kind]:
    """A kind rule: argument i is of the i-th kind, or one of several; the last is for all that follow."""

    def rule(call: Call, scope: Scope) -> Kind:
        for i, node in enumerate(call.args):
            wanted = kinds[min(i, len(kinds) - 1)]
            wanted = (wanted,) if isinstance(wanted, str) else wanted
            kind = scope.kind(node)
            if kind not in (*wanted, "null"):
                raise QueryError(
                    f"{node.sql()} is a {kind}, where {call.name} needs a {' or a '.join(wanted)}; "
                    f"convert it with CAST, or choose another column"
                )
        return gives

    return rule
