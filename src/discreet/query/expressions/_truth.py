"""Which truth values a condition can have where one of its expressions has a known value, in SQL's logic of three."""

from __future__ import annotations

import datetime as dt
import itertools
import operator
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from sqlglot import exp

from discreet.errors import QueryError
from discreet.policy import Key
from discreet.query.expressions._domains import Values, Work, values_of
from discreet.query.expressions._types import Field, Row
from discreet.query.parse._trees import Texts

__all__ = ["Truths", "compared"]

Logical = bool | None
Truth = frozenset[Logical]

ANY: Truth = frozenset((True, False, None))
_MOST_PAIRS = 1_000
_EXACT = 2**53
"""Up to this size, whole numbers are what they are as doubles too."""

_COMPARISONS: Mapping[type[exp.Expr], Callable[[Any, Any], bool]] = {
    exp.EQ: operator.eq,
    exp.NEQ: operator.ne,
    exp.LT: operator.lt,
    exp.LTE: operator.le,
    exp.GT: operator.gt,
    exp.GTE: operator.ge,
}


@dataclass(slots=True)
class Truths:
    """Conditions that were checked, over some columns, to be asked about values of their expressions."""

    conditions: tuple[exp.Expr, ...]
    columns: Mapping[str, Field]
    _texts: Texts = field(init=False)
    _constants: dict[int, Values | None] = field(default_factory=dict[int, Values | None], init=False)

    def __post_init__(self) -> None:
        self._texts = Texts(*self.conditions)

    def reading(self, node: exp.Expr) -> list[exp.Expr]:
        """The conditions that hold an expression, which may be a column."""
        return [each for each in self.conditions if any(self.is_same(part, node) for part in each.find_all(type(node)))]

    def possible(self, condition: exp.Expr, node: exp.Expr, value: Key | None) -> Truth:
        """Whether a condition can be true, false or null on a row on which an expression has a value.

        >>> condition = exp.maybe_parse("c IN ('a', 'b') AND x > 3")
        >>> truths = Truths((condition,), {"c": Field("string"), "x": Field("int")})
        >>> sorted(truths.possible(condition, exp.column("c"), "z"))
        [False]
        """
        return self._truth(condition, _Known(self, node, value))

    def constant(self, node: exp.Expr) -> Values | None:
        """The value of an expression without columns, alone in a tuple; None if it is not sure."""
        if id(node) not in self._constants:
            listed = None if node.find(exp.Column) else _listed(node, {})
            self._constants[id(node)] = listed if listed is not None and len(listed) == 1 else None
        return self._constants[id(node)]

    def is_same(self, part: exp.Expr, node: exp.Expr) -> bool:
        """Whether a part of a condition is an expression."""
        part = part.unnest()
        if isinstance(node, exp.Column):
            return isinstance(part, exp.Column) and part.name == node.name
        return type(part) is type(node) and self._texts.text(part) == node.sql()

    def _truth(self, condition: exp.Expr, known: _Known) -> Truth:
        node = condition.unnest()
        match node:
            case exp.And():
                return frozenset(_and(*both) for both in self._both(node, known))
            case exp.Or():
                return frozenset(_not(_and(_not(here), _not(there))) for here, there in self._both(node, known))
            case exp.Not():
                return frozenset(map(_not, self._truth(node.this, known)))
            case exp.Is() if isinstance(node.expression.unnest(), exp.Null):
                return _each(known.values(node.this), lambda value: value is None, {True, False})
            case exp.In() if not any(node.args.get(name) for name in ("query", "unnest", "field")):
                return self._within(node, known)
            case exp.Like():
                return self._like(node, known)
            case _ if type(node) in _COMPARISONS:
                return _pairs(type(node), known.values(node.this), known.values(node.expression))
            case _:
                return _each(known.values(node), lambda value: None if value is None else value is True, ANY)

    def _both(self, node: exp.Connector, known: _Known) -> Iterable[tuple[bool | None, bool | None]]:
        return itertools.product(self._truth(node.left, known), self._truth(node.right, known))

    def _within(self, node: exp.In, known: _Known) -> Truth:
        values = known.values(node.this)
        if values is None:
            return ANY
        items = [self.constant(item) for item in node.expressions]
        if any(item is None for item in items):
            return ANY if any(value is not None for value in values) else frozenset((None,))
        constants = [item[0] for item in items if item is not None]
        truths = {frozenset(compared(exp.EQ, value, constant) for constant in constants) for value in values}
        if any("unsure" in each for each in truths):
            return ANY
        return frozenset(True if True in each else None if None in each else False for each in truths)

    def _like(self, node: exp.Like, known: _Known) -> Truth:
        pattern = node.expression.unnest()
        values = known.values(node.this)
        if not (isinstance(pattern, exp.Literal) and pattern.is_string) or "\\" in pattern.name or values is None:
            return ANY
        written = "".join({"%": ".*", "_": "."}.get(sign, re.escape(sign)) for sign in pattern.name)
        return frozenset(
            None if value is None else re.fullmatch(written, str(value), re.DOTALL) is not None for value in values
        )


@dataclass(frozen=True, slots=True)
class _Known:
    """One expression of conditions, and its value."""

    truths: Truths
    node: exp.Expr
    value: Key | None

    def values(self, node: exp.Expr) -> Values | None:
        """What a part of a condition can be; None if that is not listed."""
        node = node.unnest()
        if self.truths.is_same(node, self.node):
            return (self.value,)
        if not isinstance(node, exp.Column) and node.find(exp.Column) is None:
            return self.truths.constant(node)
        if not isinstance(self.node, exp.Column):
            return None
        name, columns = self.node.name, self.truths.columns
        used = {column.name for column in node.find_all(exp.Column)}
        if name not in used:
            return None
        alone = Field(columns[name].type, None, (self.value,), self.value is None)
        return _listed(node, {**{each: Field(columns[each].type) for each in used}, name: alone})


def _listed(node: exp.Expr, columns: Mapping[str, Field]) -> Values | None:
    try:
        return values_of(node, Row(columns, clamped=False), Work())
    except QueryError:
        return None


def compared(kind: type[exp.Expr], left: object, right: object) -> bool | str | None:
    """Two values compared as engines do, None if one is null; "unsure" where they may round differently.

    >>> compared(exp.LT, "a", "b"), compared(exp.EQ, None, 1), compared(exp.EQ, 2**60, 0.5)
    (True, None, 'unsure')
    """
    if left is None or right is None:
        return None
    if isinstance(left, dt.date) and isinstance(right, dt.date):
        return _COMPARISONS[kind](_moment(left), _moment(right))
    numbers = [isinstance(side, int | float) and not isinstance(side, bool) for side in (left, right)]
    if all(numbers):
        apart = isinstance(left, float) != isinstance(right, float)
        if apart and any(isinstance(side, int) and abs(side) > _EXACT for side in (left, right)):
            return "unsure"
    elif type(left) is not type(right):
        return "unsure"
    return _COMPARISONS[kind](left, right)


def _moment(value: dt.date) -> dt.datetime:
    return value if isinstance(value, dt.datetime) else dt.datetime.combine(value, dt.time())


def _pairs(kind: type[exp.Expr], left: Values | None, right: Values | None) -> Truth:
    for side in (left, right):
        if side is not None and set(side) == {None}:
            return frozenset((None,))
    if left is None or right is None or len(left) * len(right) > _MOST_PAIRS:
        return ANY
    truths = {compared(kind, here, there) for here, there in itertools.product(left, right)}
    return ANY if "unsure" in truths else frozenset(each for each in truths if not isinstance(each, str))


def _each(values: Values | None, truth: Callable[[object], bool | None], unknown: Iterable[bool | None]) -> Truth:
    return frozenset(unknown if values is None else map(truth, values))


def _not(value: Logical) -> Logical:
    return None if value is None else not value


def _and(left: Logical, right: Logical) -> Logical:
    if left is False or right is False:
        return False
    return None if left is None or right is None else True
