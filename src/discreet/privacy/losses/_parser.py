"""Losses as people type them: a little arithmetic, read with Python's own parser and never run.

Only what is listed here means anything: numbers, ``+``, ``*``, a fraction such as ``1/3``, the constructors below and
their methods, and ``sum`` of a list. Everything else in Python's grammar is refused by name. What goes beyond Python
and the constructors is there to read every node that ``repr`` writes:

- a loss of nothing, ``pure(0)``, and a root, ``mu(sqrt(2))``, because a node of μ has an exact μ²;
- square brackets around the parameters of a node that its constructor would refuse or change: a total δ of 1 or more in
  ``approx[1, 1.5]``, a group of one in ``gaussian(1).group[1]``, a sum of one in ``sum[[pure(1)]]``.
"""

from __future__ import annotations

import ast
import inspect
import warnings
from collections.abc import Callable
from difflib import get_close_matches
from fractions import Fraction
from functools import cache
from typing import cast

from discreet.errors import ParameterError
from discreet.privacy.losses._base import Loss
from discreet.privacy.losses._grammar import CONSTRUCTORS, METHODS, NODE_METHODS, NODES, Root
from discreet.rational import rational

__all__ = ["from_text"]

_MOST_CHARACTERS = 4_000
_MOST_DEPTH = 60
_MOST_DIGITS = 60
_MOST_DIGITS_OF_INTEGER = 1_000
_MOST_REPEATED = 10_000
_RANGE = Fraction(10) ** 300


_Number = int | Fraction
_Value = Loss | int | Fraction | str | Root | list["_Value"]


def from_text(text: str) -> Loss:
    """The loss that an expression describes; nothing in it is ever evaluated by Python.

    Raises `ParameterError` for anything that is not such an expression, and for parameters out of their range. Numbers
    mean the decimals that are written.

    >>> from_text("1e3 * gaussian(noise=1.1).sampled(1/100) + pure(0.10)")
    1000 * gaussian(1.1).sampled(0.01) + pure(0.1)
    """
    if len(text) > _MOST_CHARACTERS:
        raise ParameterError(f"an expression has at most {_MOST_CHARACTERS:,} characters, this one has {len(text):,}")
    if not text.isascii():
        raise ParameterError(f"an expression has ASCII characters only, and {_short(text)} has others")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a parser's remarks on Python are not about losses
            tree = ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise ParameterError(f"this is not an expression: {_short(text)}; write for example {_EXAMPLE}") from None
    value = _Reader(text.strip()).read(tree.body, 0)
    if not isinstance(value, Loss):
        raise ParameterError(f"an expression must describe a loss, and {_short(text)} does not; write {_EXAMPLE}")
    return value


_EXAMPLE = "10000 * gaussian(1.1).sampled(0.01) + pure(0.1)"


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.repeated = 0

    def read(self, node: ast.expr, depth: int) -> _Value:
        if depth > _MOST_DEPTH:
            raise ParameterError(f"an expression may be nested at most {_MOST_DEPTH} deep; use n * loss for repeats")
        match node:
            case ast.Constant(value=str(word)):
                return word
            case ast.Constant(value=bool()):
                raise self.refusal(node)
            case ast.Constant(value=int() | float()):
                return self.number(node)
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float()) as inner):
                return -self.number(inner)
            case ast.List(elts=elements) | ast.Tuple(elts=elements):
                return [self.read(element, depth + 1) for element in elements]
            case ast.BinOp(left=left, op=ast.Add() | ast.Mult() | ast.Div() as operator, right=right):
                return self.joined(node, operator, self.read(left, depth + 1), self.read(right, depth + 1))
            case ast.Call(func=ast.Name(id="sqrt"), args=[inner], keywords=[]):
                return Root(self.exact(inner, depth))
            case ast.Call(func=ast.Name(id=name)):
                return self.called(node, name, _known(name, CONSTRUCTORS, "loss"), (), depth)
            case ast.Call(func=ast.Attribute(value=inner, attr=name)):
                method = _known(name, METHODS, "method")
                return self.called(node, f".{name}", method, (self.loss(node, inner, name, depth),), depth)
            case ast.Subscript(value=ast.Name(id=name)):
                return self.node(node, name, _known(name, NODES, "node in square brackets"), (), depth)
            case ast.Subscript(value=ast.Attribute(value=inner, attr=name)):
                method = _known(name, NODE_METHODS, "method with square brackets")
                return self.node(node, f".{name}", method, (self.loss(node, inner, name, depth),), depth)
            case ast.Name(id=name):
                _known(name, CONSTRUCTORS, "loss")
                raise ParameterError(f"{name} needs its parameters in brackets: {_usage(name, CONSTRUCTORS[name])}")
            case _:
                raise self.refusal(node)

    def number(self, node: ast.Constant) -> _Number:
        digits = (ast.get_source_segment(self.text, node) or "").replace("_", "")
        if digits.isdecimal() and len(digits) <= _MOST_DIGITS_OF_INTEGER:
            return int(digits)
        value = rational(digits, "a number") if len(digits) <= _MOST_DIGITS else None
        if value is None or not (value == 0 or 1 / _RANGE <= value <= _RANGE):
            raise ParameterError(
                f"a number has at most {_MOST_DIGITS} digits, or {_MOST_DIGITS_OF_INTEGER:,} if it is whole, "
                "and a decimal lies within 1e-300 and 1e300"
            )
        return _narrow(value)

    def exact(self, node: ast.expr, depth: int) -> Fraction:
        value = self.read(node, depth + 1)
        if not isinstance(value, int | Fraction) or value < 0:
            raise self.refusal(node, "sqrt takes a number of at least 0")
        return Fraction(value)

    def loss(self, node: ast.expr, inner: ast.expr, name: str, depth: int) -> Loss:
        loss = self.read(inner, depth + 1)
        if not isinstance(loss, Loss):
            raise self.refusal(node, f".{name}() belongs to a loss")
        return loss

    def joined(self, node: ast.expr, operator: ast.operator, left: _Value, right: _Value) -> _Value:
        match operator, left, right:
            case ast.Add(), Loss(), Loss():
                return left + right
            case (ast.Mult(), int(count), Loss() as loss) | (ast.Mult(), Loss() as loss, int(count)):
                return count * loss
            case (ast.Mult(), Fraction(), Loss()) | (ast.Mult(), Loss(), Fraction()):
                raise self.refusal(node, "a loss is taken a whole number of times")
            case ast.Mult(), list(losses), int(count):
                self.repeated += count * sum(_leaves(loss) if isinstance(loss, Loss) else 1 for loss in losses)
                if count < 0 or self.repeated > _MOST_REPEATED:
                    raise self.refusal(node, f"at most {_MOST_REPEATED:,} terms may be repeated; use n * loss")
                return losses * count
            case ast.Mult(), int(), int():
                return left * right
            case ast.Div(), (int() | Fraction()), (int() | Fraction()) if right != 0:
                return _narrow(Fraction(left) / Fraction(right))
            case _:
                raise self.refusal(node, "losses are added to losses and multiplied by whole numbers")

    def called(
        self, node: ast.Call, name: str, function: Callable[..., Loss], first: tuple[Loss, ...], depth: int
    ) -> Loss:
        if any(isinstance(each, ast.Starred) for each in node.args) or any(key.arg is None for key in node.keywords):
            raise self.refusal(node, "parameters are written out, without *")
        values = [self.read(each, depth + 1) for each in node.args]
        named = {key.arg: self.read(key.value, depth + 1) for key in node.keywords if key.arg is not None}
        if len(named) < len(node.keywords):
            raise self.refusal(node, "a parameter is given twice")
        return self.built(node, name, function, (*first, *values), named)

    def node(
        self, node: ast.Subscript, name: str, function: Callable[..., Loss], first: tuple[Loss, ...], depth: int
    ) -> Loss:
        inside = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        values = [self.read(each, depth + 1) for each in inside]
        if any(isinstance(value, str) for value in values):
            raise self.refusal(node, "only numbers and losses stand in square brackets")
        return self.built(node, name, function, (*first, *values), {})

    def built(
        self,
        node: ast.expr,
        name: str,
        function: Callable[..., Loss],
        values: tuple[_Value, ...],
        named: dict[str, _Value],
    ) -> Loss:
        try:
            bound = _signature(function).bind(*values, **named)
        except TypeError:
            raise self.refusal(node, f"it is called as {_usage(name, function)}") from None
        for parameter, value in bound.arguments.items():
            self.check(node, parameter, value)
        return function(*bound.args, **bound.kwargs)

    def check(self, node: ast.expr, parameter: str, value: object) -> None:
        """Refuses lists where a number belongs, and all but what belongs in a list."""
        if parameter in _LISTS:
            what, fits = _LISTS[parameter]
            if not isinstance(value, list) or not all(map(fits, cast("list[object]", value))):
                raise self.refusal(node, f"{parameter} takes {what} in square brackets")
        elif isinstance(value, list):
            raise self.refusal(node, f"{parameter} takes one number")
        elif isinstance(value, Root) and parameter != "mu":
            raise self.refusal(node, "only mu takes a root")
        elif isinstance(value, Loss) and parameter not in ("loss", "self"):
            raise self.refusal(node, f"{parameter} takes a number")

    def refusal(
        self, node: ast.expr, reason: str = "only numbers, +, * and the known losses may be used"
    ) -> ParameterError:
        piece = _short(ast.get_source_segment(self.text, node) or self.text)
        return ParameterError(f"{piece} cannot be read: {reason}")


_signature = cache(inspect.signature)


def _narrow(value: Fraction) -> _Number:
    return int(value) if value.denominator == 1 else value


def _leaves(loss: Loss) -> int:
    return sum(map(_leaves, loss.inner)) or 1


def _is_number(value: object) -> bool:
    return isinstance(value, int | Fraction)


def _is_corner(value: object) -> bool:
    return isinstance(value, list) and len(value) == 2 and all(map(_is_number, cast("list[object]", value)))


_LISTS: dict[str, tuple[str, Callable[[object], bool]]] = {
    "orders": ("numbers", _is_number),
    "values": ("numbers", _is_number),
    "f": ("pairs of numbers, the corners,", _is_corner),
    "losses": ("losses", lambda value: isinstance(value, Loss)),
}


def _known(name: str, table: dict[str, Callable[..., Loss]], kind: str) -> Callable[..., Loss]:
    if name not in table:
        near = get_close_matches(name, table, n=1)
        hint = f"did you mean {near[0]}? " if near else ""
        raise ParameterError(f"there is no {kind} called {_short(name)}; {hint}known are {', '.join(sorted(table))}")
    return table[name]


def _usage(name: str, function: Callable[..., Loss]) -> str:
    shown: list[str] = []
    for parameter, each in _signature(function).parameters.items():
        star = "*" if each.kind is each.VAR_POSITIONAL else ""
        default = "" if each.default is each.empty else f"={each.default!r}"
        shown += [f"{star}{parameter}{default}"] if parameter != "self" else []
    return f"{name}({', '.join(shown)})"


def _short(text: str) -> str:
    shown = " ".join(text.split())
    return repr(shown if len(shown) <= 60 else f"{shown[:57]}...")
