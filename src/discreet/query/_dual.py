"""Arithmetic on released numbers that carries along how each answer hangs on each measure's noise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sqlglot import exp

from discreet.query._parse import refuse
from discreet.query._scalars import literal_value

__all__ = ["Dual", "Floats", "evaluate"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Dual:
    """A column of numbers with its derivative by each measure it depends on.

    `linear` says that the derivatives are constants, so the error is that of the noise exactly; otherwise it is
    approximate. No error exceeds `cap`, where one is known.
    """

    value: Floats
    slopes: Mapping[int, Floats]
    linear: bool = True
    cap: float | None = None


def evaluate(node: exp.Expr, leaves: Mapping[str, Dual], rows: int) -> Dual:
    """Evaluate arithmetic over the leaves (aggregates ``a0``, ``a1``, … and numeric keys by name).

    Division by zero gives NaN, which the release shows as null. Raises `QueryError` for anything but arithmetic.
    """
    match node:
        case exp.Paren():
            return evaluate(node.this, leaves, rows)
        case exp.Placeholder() | exp.Column() if node.name in leaves:
            return leaves[node.name]
        case exp.Literal() if not node.is_string:
            return Dual(np.full(rows, literal_value(node)), {})
        case exp.Neg():
            inner = evaluate(node.this, leaves, rows)
            return Dual(-inner.value, {i: -s for i, s in inner.slopes.items()}, inner.linear, inner.cap)
        case exp.Add() | exp.Sub() | exp.Mul() | exp.Div():
            left, right = evaluate(node.left, leaves, rows), evaluate(node.right, leaves, rows)
            with np.errstate(all="ignore"):
                return _combine(node, left, right)
        case _:
            raise refuse(f"{node.sql()} in the result")


def _combine(node: exp.Expr, left: Dual, right: Dual) -> Dual:
    a, b = left.value, right.value
    linear = left.linear and right.linear
    match node:
        case exp.Add():
            return Dual(a + b, _slopes(left, right, np.ones_like(a), np.ones_like(a)), linear)
        case exp.Sub():
            return Dual(a - b, _slopes(left, right, np.ones_like(a), -np.ones_like(a)), linear)
        case exp.Mul():
            linear = linear and not (left.slopes and right.slopes)
            return Dual(a * b, _slopes(left, right, b, a), linear)
        case _:
            value = np.where(b == 0, np.nan, a / b)
            return Dual(value, _slopes(left, right, 1 / b, -a / (b * b)), linear and not right.slopes)


def _slopes(left: Dual, right: Dual, by_left: Floats, by_right: Floats) -> dict[int, Floats]:
    slopes = {i: s * by_left for i, s in left.slopes.items()}
    for i, s in right.slopes.items():
        slopes[i] = slopes[i] + s * by_right if i in slopes else s * by_right
    return slopes
