"""Distributions of outputs in fixed point, rounded outward: every probability lies between two multiples of 2**−512."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, cast

import numpy as np

from discreet.errors import ParameterError

__all__ = [
    "BITS",
    "ONE",
    "Choices",
    "Distribution",
    "Probability",
    "Raised",
    "choices",
    "downward",
    "key_of",
    "shown",
    "upward",
]


@dataclass(frozen=True, slots=True)
class Raised:
    """The output of a run that ended in an exception: the name of its type."""

    name: str


def key_of(output: Any) -> Hashable:
    """A key that two outputs share only if they look alike: ``True``, ``1`` and ``1.0`` differ, as do 0.0 and −0.0.

    Whole numbers and texts, also NumPy's, are their own keys. What is neither a number, a text, a container, an array
    nor a table counts as its printed form, or as its attributes if it prints its address. Costs no privacy.

    >>> key_of(1) == key_of(True), key_of([1, 2]) == key_of([1, 2]), key_of(float("nan")) == key_of(float("nan"))
    (False, True, True)
    """
    kind = type(output)
    if kind is int or kind is str or output is None or kind is Raised:
        return cast("Hashable", output)
    if isinstance(output, np.generic):
        return key_of(output.item())
    if kind is bool:
        return ("bool", output)
    if kind is float:
        return ("float", "nan" if math.isnan(output) else repr(output))
    if isinstance(output, list | tuple):
        items = cast("list[Any]", output)
        return (kind.__name__, *map(key_of, items))
    if isinstance(output, Mapping):
        pairs = ((key_of(name), key_of(value)) for name, value in cast("Mapping[Any, Any]", output).items())
        return ("dict", *pairs)
    if isinstance(output, set | frozenset):
        return ("set", frozenset(map(key_of, cast("set[Any]", output))))
    if isinstance(output, np.ndarray):
        return ("array", output.shape, *map(key_of, cast("list[Any]", output.ravel().tolist())))
    for columns in ("to_pydict", "to_pylist", "to_dict"):
        if hasattr(output, columns):
            return (kind.__name__, key_of(getattr(output, columns)()))
    if kind.__repr__ is object.__repr__:  # it would print its address
        return (kind.__name__, key_of(getattr(output, "__dict__", {})))
    return (kind.__name__, repr(output))


def shown(key: Hashable) -> str:
    """The output with this key, as short text.

    >>> shown(key_of([True, None, 2.5])), shown(key_of(np.array([1, 2])))
    ('[True, None, 2.5]', 'array([1, 2])')
    """
    match key:
        case ("bool" | "float", value):
            return str(value)
        case ("list", *items):
            return f"[{', '.join(map(shown, items))}]"
        case ("tuple", *items):
            return f"({', '.join(map(shown, items))})"
        case ("set", frozenset(members)):
            return "{" + ", ".join(sorted(map(shown, members))) + "}"
        case ("dict", *pairs):
            items = (cast("tuple[Hashable, Hashable]", pair) for pair in pairs)
            return "{" + ", ".join(f"{shown(name)}: {shown(value)}" for name, value in items) + "}"
        case ("array", _, *items):
            return f"array([{', '.join(map(shown, items))}])"
        case (str(), str(text)):
            return text
        case (str(name), inner):
            return f"{name}({shown(cast('Hashable', inner))})"
        case Raised(name):
            return f"raises {name}"
        case other:
            return repr(other)


BITS = 512
ONE = 1 << BITS

_FLOAT_SLACK = Fraction(1, 2**50)
_MOST = 1 + Fraction(1, 10**9)

Probability = int | float | Fraction | tuple[Fraction, Fraction]
"""A number, or two fractions that it lies between."""


@dataclass(frozen=True, slots=True)
class Distribution:
    """The probability of each output, between certified bounds.

    Attributes
    ----------
    weights
        For the key of each output two whole numbers: its probability lies between them, in units of 2**−512.
    cut
        The same of all that is not in `weights`, rounded up; some of it may belong to outputs that are.
    runs
        How many runs of a program it took; 0 for a distribution that was given.
    """

    weights: Mapping[Hashable, tuple[int, int]]
    cut: int = 0
    runs: int = 0

    @classmethod
    def from_probabilities(cls, probabilities: Mapping[Any, Probability]) -> Distribution:
        """The distribution with these probabilities of outputs.

        Fractions and ints are exact, a pair holds the probability between its ends, and a float is taken to be right to
        2**−50 of itself. If they cannot sum to 1, the rest is not enumerated. Costs no privacy. Raises `ParameterError`
        for a distribution without outcomes, a probability below 0, and a sum above 1.

        >>> coin = Distribution.from_probabilities({"heads": Fraction(1, 2), "tails": Fraction(1, 4)})
        >>> coin.probability("heads"), coin.missing
        ((0.5, 0.75), 0.25)
        """
        prepared = choices(probabilities)
        weights: dict[Hashable, tuple[int, int]] = {}
        for outcome, low, high in zip(prepared.outcomes, prepared.lows, prepared.highs, strict=True):
            key = key_of(outcome)
            least, most = weights.get(key, (0, 0))
            weights[key] = least + low, most + high
        return cls(weights, prepared.cut)

    @property
    def missing(self) -> float:
        """The probability that is not enumerated, at most."""
        return min(1.0, upward(self.cut))

    def probability(self, output: Any) -> tuple[float, float]:
        """Certified bounds on the probability of an output, rounded outward. Costs no privacy."""
        low, high = self.weights.get(key_of(output), (0, 0))
        return downward(low), min(1.0, upward(high + self.cut))


@dataclass(frozen=True, slots=True)
class Choices:
    """A distribution to draw from, the likeliest outcome first; `cut` is 1 minus its sum."""

    outcomes: tuple[Any, ...]
    lows: tuple[int, ...]
    highs: tuple[int, ...]
    cut: int


def choices(law: Mapping[Any, Probability]) -> Choices:
    """The distribution in fixed point, without outcomes of probability 0.

    Raises `ParameterError` as `Distribution.from_probabilities`.
    """
    ends = {outcome: _ends(p) for outcome, p in law.items()}
    least, most = (sum((pair[side] for pair in ends.values()), Fraction(0)) for side in (0, 1))
    if most <= 0 or least > _MOST or min(low for low, _ in ends.values()) < 0:
        raise ParameterError(
            "a distribution must give each outcome a probability of 0 or more, with a sum above 0 and at most 1, "
            f"got {len(ends)} outcomes with sum {float(least)!r}"
        )
    ranked = sorted(
        ((high, low, outcome) for outcome, (low, high) in ends.items() if high > 0), key=_first, reverse=True
    )
    return Choices(
        tuple(outcome for _, _, outcome in ranked),
        tuple(_scaled(low) for _, low, _ in ranked),
        tuple(-_scaled(-high) for high, _, _ in ranked),
        0 if most >= 1 else -_scaled(least - 1),
    )


def _first(row: tuple[Fraction, Fraction, Any]) -> Fraction:
    return row[0]


def _ends(probability: object) -> tuple[Fraction, Fraction]:
    match probability:
        case bool():
            pass
        case int() | Fraction():
            exact = Fraction(probability)
            return exact, exact
        case float() if math.isfinite(probability):
            near = Fraction(probability)
            return near * (1 - _FLOAT_SLACK), near * (1 + _FLOAT_SLACK)
        case (int() | Fraction() as low, int() | Fraction() as high) if low <= high:
            return Fraction(low), Fraction(high)
        case _:
            pass
    raise ParameterError(
        f"a probability must be a fraction, a float, or a pair of fractions that it lies between, got {probability!r}"
    )


def _scaled(value: Fraction) -> int:
    """⌊2**512 · value⌋."""
    return (value.numerator << BITS) // value.denominator


def downward(weight: int) -> float:
    """The float next to weight / 2**512, rounded down."""
    nearest = weight / ONE
    return nearest if Fraction(nearest) * ONE <= weight else math.nextafter(nearest, -math.inf)


def upward(weight: int) -> float:
    """The float next to weight / 2**512, rounded up."""
    nearest = weight / ONE
    return nearest if Fraction(nearest) * ONE >= weight else math.nextafter(nearest, math.inf)
