"""What a dialect's names mean here: one table for each dialect, and nothing but what is in it is read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from sqlglot import exp

from discreet.errors import QueryError
from discreet.query.dialects._kinds import Kind
from discreet.query.functions._calls import OPERAND_NODES, integer_literal
from discreet.query.parse._trees import size_of

__all__ = ["Arguments", "Builder", "Rules", "at_least", "literal_text", "template", "word"]


@dataclass(frozen=True, slots=True)
class Arguments:
    """What stands between the brackets of a function: each argument as it is here, and its kind in the dialect."""

    name: str
    nodes: tuple[exp.Expr, ...]
    kinds: tuple[Kind | None, ...]
    title: str

    def refuse(self, why: str) -> QueryError:
        """The error for arguments whose meaning differs, with what to write."""
        return QueryError(f"{self.name} in {self.title} is not supported so: {why}")


Builder = Callable[[Arguments], exp.Expr]
"""Writes a function of a dialect as it is here. Raises `QueryError` where the two differ."""

Half = Literal["even", "away", "cut"]
"""Where CAST of a fraction to a whole number goes: as here, to the nearer one and halves away from zero, or to zero."""

_EVERYWHERE = (
    "COUNT SUM AVG MIN MAX ROW_NUMBER/0 RANK/0 DENSE_RANK/0 PERCENT_RANK/0 CUME_DIST/0 NTILE/1 LAG LEAD "
    "FIRST_VALUE/1 LAST_VALUE/1 NTH_VALUE/2 GROUPING COALESCE NULLIF/2 ABS/1 SIGN/1 FLOOR/1 SQRT/1 EXP/1 LOWER/1 "
    "UPPER/1 REVERSE/1 QUANTILE_CONT/2"
)
"""What means the same in all dialects; QUANTILE_CONT is the name that it has here, which they lack."""


@dataclass(frozen=True, slots=True)
class Rules:
    """A dialect: its name in sqlglot, and what its functions, parts of dates and operators mean here.

    `same` are the names of functions that mean the same with the same arguments, as words; with ``/2`` of so many
    alone. `written` says for others, by name and number of arguments, what they are here, with ``$1`` for an argument;
    `built` does so where that depends on the arguments. `instead` says what to write for what is refused. `parts` are
    those of EXTRACT, and `units` those of DATE_TRUNC.
    """

    name: str
    title: str
    same: str
    written: Mapping[str, str]
    built: Mapping[str, Builder]
    instead: Mapping[str, str]
    parts: Mapping[str, str]
    units: Mapping[str, str]
    half: Half
    cuts_quotients: bool = False
    subtracts_dates: bool = False
    escapes: Literal["", "patterns", "texts"] = ""
    schema: str = ""
    alias_hides_column: bool = False
    distinguishes_case: bool = False
    widens_sums: bool = False
    compares_bits: bool = False

    @property
    def shared(self) -> str:
        """The names of functions that mean the same here with whatever arguments they have, for people."""
        names = {each.partition("/")[0] for each in (*_EVERYWHERE.split(), *self.same.split())}
        return " ".join(sorted(names - {"QUANTILE_CONT"} - set(self.checked.split())))

    @property
    def checked(self) -> str:
        """The names of functions whose meaning hangs on their arguments, for people."""
        return " ".join(sorted({each.partition("/")[0] for each in self.built}))

    @property
    def shown(self) -> tuple[tuple[str, str], ...]:
        """Functions, and parts of dates, that are written as something else here, for people."""
        calls = {f"{form.partition('/')[0]}({_letters(form)})": _lettered(text) for form, text in self.written.items()}
        plain = {part: _lettered(text) for part, text in self.parts.items() if text != f"EXTRACT({part} FROM $1)"}
        return (*calls.items(), *((f"EXTRACT({part} FROM a)", text) for part, text in plain.items()))

    def knows(self, name: str, arguments: int) -> bool:
        """Whether a function means the same here with so many arguments."""
        words = {*_EVERYWHERE.split(), *self.same.split()}
        return name in words or f"{name}/{arguments}" in words


def _letters(form: str) -> str:
    return ", ".join("abc"[: int(form.partition("/")[2])])


def _lettered(text: str) -> str:
    return text.replace("$1", "a").replace("$2", "b").replace("$3", "c")


def template(text: str, arguments: Arguments) -> exp.Expr:
    """An expression with arguments in the places of ``$1``, ``$2``, …; a long one may stand there once only."""
    tree = exp.maybe_parse(text, dialect="duckdb")
    holder = exp.Paren(this=tree)
    used: set[str] = set()
    for place in list(holder.find_all(exp.Placeholder)):
        node = arguments.nodes[int(place.name) - 1]
        if place.name in used and size_of(node, OPERAND_NODES) > OPERAND_NODES:
            raise QueryError(
                f"{node.sql()} is too long to stand in {arguments.name}, which is written out with it twice; "
                "write CASE WHEN …, or compute it in a sub-query"
            )
        used.add(place.name)
        beside = isinstance(place.parent, _OPERATIONS) and place.parent is not holder
        place.replace(exp.paren(node.copy(), copy=False) if beside and isinstance(node, _OPERATIONS) else node.copy())
    return holder.this if isinstance(holder.this, exp.Func | exp.Anonymous | exp.Cast) else holder


_OPERATIONS = (exp.Binary, exp.Unary, exp.Case, exp.Between, exp.In, exp.Is)


def word(node: exp.Expr) -> str | None:
    """A part of a date, or a type, that stands as a word or a text among arguments."""
    match node:
        case exp.Column(this=exp.Identifier() as name) if len([a for a in node.args.values() if a]) == 1:
            return None if name.args.get("quoted") else name.name.upper()
        case exp.Var():
            return node.name.upper()
        case exp.Literal() if node.is_string:
            return node.name.upper()
        case exp.WeekStart():
            return f"WEEK({node.name.upper()})"
        case exp.Anonymous() if len(node.expressions) == 1 and node.name.upper() == "WEEK":
            return f"WEEK({word(node.expressions[0])})"
        case _:
            return None


def literal_text(node: exp.Expr) -> str | None:
    """The text that a constant is; None for anything else."""
    node = node.unnest()
    return node.name if isinstance(node, exp.Literal) and node.is_string else None


def at_least(node: exp.Expr, least: int) -> bool:
    """Whether an argument is a whole constant from `least` up."""
    value = integer_literal(node)
    return value is not None and value >= least
