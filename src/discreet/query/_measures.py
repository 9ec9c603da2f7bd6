"""Measures: the exact integers that an engine sums or counts, each with public limits of one row's part."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from sqlglot import exp

__all__ = ["Count", "Distinct", "Measure", "People", "Product", "Sum"]


@dataclass(frozen=True, slots=True)
class Count:
    """How many rows there are, or have `argument`, and `beside` if given, not null. Each row contributes 0 or 1.

    Here and below only rows that satisfy `when` contribute, if it is given: SQL's FILTER.
    """

    argument: exp.Expr | None
    beside: exp.Expr | None = None
    when: exp.Expr | None = None
    lower = 0
    upper = 1


@dataclass(frozen=True, slots=True)
class Sum:
    """The sum over rows of round(argument / step) − center, clamped to [lower, upper]: whole numbers all.

    Only rows where `beside` is not null either contribute, if it is given.
    """

    argument: exp.Expr
    step: Fraction
    center: int
    lower: int
    upper: int
    beside: exp.Expr | None = None
    when: exp.Expr | None = None


@dataclass(frozen=True, slots=True)
class Product:
    """The sum over rows of round(l · r / 2^shift) − center, clamped to [lower, upper]: whole numbers all.

    l and r are the whole numbers of `left` and `right`, which are the same for a sum of squares. Only rows where
    `beside` is not null either contribute, if it is given.
    """

    left: Sum
    right: Sum
    shift: int
    center: int
    lower: int
    upper: int
    beside: exp.Expr | None = None
    when: exp.Expr | None = None

    @property
    def argument(self) -> exp.Expr:
        """The product that is summed, but for the centring."""
        return exp.Mul(this=self.left.argument.copy(), expression=self.right.argument.copy())

    @property
    def step(self) -> Fraction:
        """What one whole number stands for."""
        return self.left.step * self.right.step * 2**self.shift


@dataclass(frozen=True, slots=True)
class People:
    """How many units have a row that counts in the group. Each unit contributes 0 or 1 to a group."""

    when: exp.Expr | None = None
    argument = None
    lower = 0
    upper = 1


@dataclass(frozen=True, slots=True)
class Distinct:
    """How many distinct values, not null, `argument` takes among the rows that count; columns are not clamped.

    Removing a row removes at most one value from its group, whatever the other rows hold.
    """

    argument: exp.Expr
    when: exp.Expr | None = None
    lower = 0
    upper = 1


Measure = Count | Sum | Product | People | Distinct
