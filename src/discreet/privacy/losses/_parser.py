"""Losses as people type them: a little arithmetic, read with Python's own parser and never run.

Only what is listed here means anything: numbers, ``+``, ``*``, a fraction such as ``1/3``, the constructors below and
their methods. Everything else in Python's grammar is refused by name.
"""

from __future__ import annotations

import ast
import inspect
import warnings
from collections.abc import Callable
from difflib import get_close_matches
from fractions import Fraction

from discreet.errors import ParameterError
from discreet.privacy.losses import _constructors as make
from discreet.privacy.losses._base import Loss
from discreet.privacy.losses._combinators import group, sampled, shuffled, under
from discreet.rational import rational

__all__ = ["from_text"]

_MOST_CHARACTERS = 4_000
_MOST_DEPTH = 60
_MOST_DIGITS = 60
_RANGE = Fraction(10) ** 300

_CONSTRUCTORS: dict[str, Callable[..., Loss]] = {
    each.__name__: each
    for each in (
        make.approx,
        make.bounded_range,
        make.discrete_gaussian,
        make.discrete_laplace,
        make.gaussian,
        make.laplace,
        make.mu,
        make.nonadaptive,
        make.pure,
        make.randomized_response,
        make.rdp,
        make.rho,
    )
}
_METHODS: dict[str, Callable[..., Loss]] = {each.__name__: each for each in (group, sampled, shuffled, under)}

_Value = Loss | int | Fraction | str | list["int | Fraction"]


def from_text(text: str) -> Loss:
    """The loss that an expression describes; nothing in it is ever evaluated by Python.

    Raises `ParameterError` for anything that is not such an expression, and for parameters out of their range. Numbers
    mean the decimals that are written.

    >>> from_text("1000 * gaussian(1.1).sampled(0.01) + pure(1/10)") # doctest: +ELLIPSIS
    Sum(terms=(Times(count=1000, term=Sampled(rate=Fraction(1, 100), ...)), Pure(eps=Fraction(1, 10))))
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
                return [self.plain(self.read(element, depth + 1), element) for element in elements]
            case ast.BinOp(left=left, op=ast.Add() | ast.Mult() | ast.Div() as operator, right=right):
                return self.joined(node, operator, self.read(left, depth + 1), self.read(right, depth + 1))
            case ast.Call(func=ast.Name(id=name)):
                return self.called(node, _known(name, _CONSTRUCTORS, "loss"), (), depth)
            case ast.Call(func=ast.Attribute(value=inner, attr=name)):
                method = _known(name, _METHODS, "method")
                loss = self.read(inner, depth + 1)
                if not isinstance(loss, Loss):
                    raise self.refusal(node, f".{name}() belongs to a loss")
                return self.called(node, method, (loss,), depth)
            case ast.Name(id=name):
                _known(name, _CONSTRUCTORS, "loss")
                raise ParameterError(f"{name} needs its parameters in brackets: {_usage(_CONSTRUCTORS[name])}")
            case _:
                raise self.refusal(node)

    def number(self, node: ast.Constant) -> int | Fraction:
        written = (ast.get_source_segment(self.text, node) or "").replace("_", "")
        value = rational(written, "a number") if len(written) <= _MOST_DIGITS else None
        if value is None or not (value == 0 or 1 / _RANGE <= value <= _RANGE):
            raise ParameterError(f"a number has at most {_MOST_DIGITS} digits and lies within 1e-300 and 1e300")
        return _narrow(value)

    def joined(self, node: ast.expr, operator: ast.operator, left: _Value, right: _Value) -> _Value:
        match operator, left, right:
            case ast.Add(), Loss(), Loss():
                return left + right
            case (ast.Mult(), int(count), Loss() as loss) | (ast.Mult(), Loss() as loss, int(count)):
                return count * loss
            case (ast.Mult(), Fraction(), Loss()) | (ast.Mult(), Loss(), Fraction()):
                raise self.refusal(node, "a loss is taken a whole number of times")
            case ast.Mult(), int(), int():
                return left * right
            case ast.Div(), (int() | Fraction()), (int() | Fraction()) if right != 0:
                return _narrow(Fraction(left) / Fraction(right))
            case _:
                raise self.refusal(node, "losses are added to losses and multiplied by whole numbers")

    def called(self, node: ast.Call, function: Callable[..., Loss], first: tuple[Loss, ...], depth: int) -> Loss:
        if any(isinstance(each, ast.Starred) for each in node.args) or any(key.arg is None for key in node.keywords):
            raise self.refusal(node, "parameters are written out, without *")
        values = [self.read(each, depth + 1) for each in node.args]
        named = {key.arg: self.read(key.value, depth + 1) for key in node.keywords if key.arg is not None}
        if len(named) < len(node.keywords):
            raise self.refusal(node, "a parameter is given twice")
        try:
            bound = inspect.signature(function).bind(*first, *values, **named)
        except TypeError:
            raise self.refusal(node, f"it is called as {_usage(function)}") from None
        for name, value in bound.arguments.items():
            if isinstance(value, list) and name not in ("orders", "values"):
                raise self.refusal(node, f"{name} takes one number")
            if name in ("orders", "values") and not isinstance(value, list):
                raise self.refusal(node, f"{name} takes numbers in square brackets")
        return function(*bound.args, **bound.kwargs)

    def plain(self, value: _Value, node: ast.expr) -> int | Fraction:
        if not isinstance(value, int | Fraction):
            raise self.refusal(node, "only numbers stand in square brackets")
        return value

    def refusal(
        self, node: ast.expr, reason: str = "only numbers, +, * and the known losses may be used"
    ) -> ParameterError:
        piece = _short(ast.get_source_segment(self.text, node) or self.text)
        return ParameterError(f"{piece} cannot be read: {reason}")


def _narrow(value: Fraction) -> int | Fraction:
    return int(value) if value.denominator == 1 else value


def _known(name: str, table: dict[str, Callable[..., Loss]], kind: str) -> Callable[..., Loss]:
    if name not in table:
        near = get_close_matches(name, table, n=1)
        hint = f"did you mean {near[0]}? " if near else ""
        raise ParameterError(f"there is no {kind} called {_short(name)}; {hint}known are {', '.join(sorted(table))}")
    return table[name]


def _usage(function: Callable[..., Loss]) -> str:
    names = [
        name if each.default is each.empty else f"{name}={each.default!r}"
        for name, each in inspect.signature(function).parameters.items()
        if name != "loss" or function is make.nonadaptive
    ]
    return f"{'.' if function in _METHODS.values() else ''}{function.__name__}({', '.join(names)})"


def _short(text: str) -> str:
    shown = " ".join(text.split())
    return repr(shown if len(shown) <= 60 else f"{shown[:57]}...")
