"""What an adversary looks at: the values themselves, and what is easily worked out from them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise

import numpy as np
from numpy.typing import NDArray

from discreet.audit._columns import Columns, Floats

__all__ = ["Feature", "features_of", "matrix_of"]

_MOST_FEATURES = 400
_MOST_NUMBERS = 150
_MOST_DIGITS = 20
_FEW = 20
_MOST_MEMBERS = 64
_ALL_PAIRS = 8
_MOST_TEXTS = 2_000
_FREQUENT = 5


@dataclass(frozen=True, slots=True)
class Feature:
    """A number for every output: NaN where it has none. `texts` names the numbers if they only stand for something."""

    name: str
    compute: Callable[[Columns], Floats]
    texts: tuple[str, ...] | None = None


def features_of(seen: Columns, is_other: NDArray[np.bool_]) -> list[Feature]:
    """The features that are worth learning from, for outputs such as these, of which some are on the other input."""
    found = _named("the whole output", seen.wholes, lambda c: c.wholes, _text_of_whole)
    for name, column in seen.kinds.items():
        found.extend(_named(name, column, lambda c, name=name: c.kind(name)))
    for within, names in seen.families.items():
        found.extend(_of_family(within, names[:_MOST_MEMBERS]))
    telling = sorted(seen.numbers, key=lambda name: -_difference(seen.number(name), is_other))[:_MOST_NUMBERS]
    for name in telling:
        found.append(Feature(name, lambda columns, name=name: columns.number(name)))
    for name in telling[:_MOST_DIGITS]:
        found.extend(_digits(name, seen.number(name)))
    return found[:_MOST_FEATURES]


def _digits(name: str, column: Floats) -> list[Feature]:
    """Low-order digits, where they vary."""
    found: list[Feature] = []
    if _has_fractions(column):
        found.append(Feature(f"lowest binary digit of {name}", lambda c: _lowest_digit(c.number(name))))
    elif len(np.unique(column)) > _FEW:
        found += [Feature(f"{name} modulo {m}", lambda c, m=m: _modulo(c.number(name), m)) for m in (2, 3, 5, 7, 16)]
    if np.any((column == 0) & np.signbit(column)):
        found.append(Feature(f"sign bit of {name}", lambda c: np.signbit(c.number(name)) * 1.0))
    return found


def _modulo(column: Floats, modulus: int) -> Floats:
    with np.errstate(invalid="ignore"):
        return np.mod(column, modulus)


def _difference(column: Floats, is_other: NDArray[np.bool_]) -> float:
    """How far apart the two inputs look, in standard errors: by place, by spread, by how often there is a number."""
    there = np.isfinite(column)
    values = np.where(there, np.clip(column, -1e150, 1e150), 0.0)
    apart = np.abs(values - (np.median(values[there]) if there.any() else 0.0))
    return max(_standard_errors(each, is_other) for each in (values, apart, there.astype(np.float64)))


def _standard_errors(values: Floats, is_other: NDArray[np.bool_]) -> float:
    one, other = values[~is_other], values[is_other]
    if not (len(one) and len(other)):
        return 0.0
    error = float(np.sqrt(one.var() / len(one) + other.var() / len(other)))
    apart = float(abs(one.mean() - other.mean()))
    if error > 0:
        return apart / error
    return np.inf if apart > 0 else 0.0


def matrix_of(columns: Columns, names: Sequence[str]) -> Floats:
    """Those columns side by side."""
    return np.stack([columns.number(name) for name in names], axis=1)


def _of_family(within: str, names: tuple[str, ...]) -> list[Feature]:
    def of_rows(what: str, function: Callable[[Floats], NDArray[np.generic]]) -> Feature:
        return Feature(f"{what} {within}", lambda c: function(matrix_of(c, names)).astype(np.float64))

    pairs = combinations(names, 2) if len(names) <= _ALL_PAIRS else pairwise(names)
    differences = [
        Feature(f"{right} − {left}", lambda c, left=left, right=right: _minus(c.number(right), c.number(left)))
        for left, right in pairs
    ]
    return [
        of_rows("sum of", _sum),
        of_rows("largest of", lambda rows: np.fmax.reduce(rows, axis=1)),
        of_rows("smallest of", lambda rows: np.fmin.reduce(rows, axis=1)),
        of_rows("place of the largest of", lambda rows: np.argmax(np.nan_to_num(rows, nan=-np.inf), axis=1)),
        of_rows("repeated values in", _repeated),
        of_rows("missing values in", lambda rows: np.isnan(rows).sum(axis=1)),
        *differences,
    ]


def _named(
    name: str,
    values: Sequence[Hashable],
    read: Callable[[Columns], Sequence[Hashable]],
    text: Callable[[Hashable], str] = lambda value: "absent" if value is None else str(value),
) -> list[Feature]:
    """A feature of things that are no numbers: what is frequent here gets a code, and all else the code 0."""
    counts: dict[Hashable, int] = {}
    for value in values:
        counts[value] = counts.get(value, 0) + 1
    frequent = [value for value in sorted(counts, key=counts.__getitem__, reverse=True) if counts[value] >= _FREQUENT]
    if not frequent or len(counts) < 2:
        return []
    codes = {value: code for code, value in enumerate(frequent[:_MOST_TEXTS], start=1)}

    def compute(columns: Columns) -> Floats:
        return np.array([codes.get(value, 0) for value in read(columns)], dtype=np.float64)

    return [Feature(name, compute, ("anything else", *map(text, codes)))]


def _text_of_whole(value: Hashable) -> str:
    """A row of floats as `columns_of` packs it, or what names, kinds and numbers make up an output."""
    if isinstance(value, bytes):
        return str([round(number, 6) for number in np.frombuffer(value).tolist()])
    parts = value if isinstance(value, tuple) else ()
    return ", ".join(f"{name} = {kind if number is None else number}" for name, kind, number in parts)


def _has_fractions(column: Floats) -> bool:
    finite = column[np.isfinite(column)]
    return bool(np.any(finite != np.rint(finite)))


def _lowest_digit(column: Floats) -> Floats:
    """The exponent of the last binary digit that is not zero; NaN for zero and for what is not finite."""
    usual = np.isfinite(column) & (column != 0)
    fraction, exponent = np.frexp(np.where(usual, column, 1.0))
    digits = (fraction * 2.0**53).astype(np.int64)
    last = np.log2((digits & -digits).astype(np.float64))
    return np.where(usual, exponent - 53 + last, np.nan)


def _minus(one: Floats, other: Floats) -> Floats:
    with np.errstate(invalid="ignore", over="ignore"):
        return one - other


def _sum(rows: Floats) -> Floats:
    with np.errstate(invalid="ignore", over="ignore"):
        return np.nansum(rows, axis=1)


def _repeated(rows: Floats) -> NDArray[np.intp]:
    ordered = np.sort(rows, axis=1)
    return (ordered[:, 1:] == ordered[:, :-1]).sum(axis=1)
