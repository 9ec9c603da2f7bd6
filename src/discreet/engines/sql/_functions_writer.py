"""What a rendering may ask for: its arguments in an engine's SQL, in one representation or another."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from sqlglot import exp

from discreet.engines.sql._dialect import Dialect
from discreet.query import Call, Kind, Row

__all__ = ["Rendering", "Write", "Writer", "function"]

Write = Callable[[exp.Expr], str]


class Writer(Protocol):
    """Writes arguments. Numbers of `number` are doubles, those of `integer` are BIGINT."""

    @property
    def row(self) -> Row:
        """What is known of the expressions."""
        ...

    @property
    def dialect(self) -> Dialect:
        """What the engine says differently."""
        ...

    @property
    def raw(self) -> Writer:
        """The same over columns as they are, not clamped."""
        ...

    def number(self, node: exp.Expr) -> str:
        """A number as a double, never one that is not a number."""
        ...

    def integer(self, node: exp.Expr) -> str:
        """An exact integer."""
        ...

    def value(self, node: exp.Expr, kind: Kind | None = None) -> str:
        """An argument as its own kind, or as another that it may be read as: a date as a timestamp, null as any."""
        ...

    def alike(self, nodes: tuple[exp.Expr, ...]) -> list[str]:
        """Arguments of one kind in one representation: exact integers if all of them are."""
        ...


Rendering = Callable[[Call, Writer, Write], str]
"""From a call, a writer, and how the result is wanted, which is how a choice writes what it chooses from."""


def function(name: str) -> Rendering:
    """A function of numbers by its name."""

    def render(call: Call, writer: Writer, _: Write) -> str:
        return f"{name}({', '.join(map(writer.number, call.args))})"

    return render
