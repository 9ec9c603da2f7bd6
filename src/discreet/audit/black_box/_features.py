"""Features of outputs: the values themselves, and what is easily computed from them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise

import numpy as np
from numpy.typing import NDArray

from discreet.audit.black_box._columns import Columns, Floats

__all__ = ["Bins", "Feature", "Score", "features_of", "fit_score", "fitted", "matrix_of"]


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
    """A number for every output: NaN where it has none. `texts` names the numbers if they are codes."""

    name: str
    compute: Callable[[Columns], Floats]
    texts: tuple[str, ...] | None = None


def features_of(seen: Columns, is_other: NDArray[np.bool_]) -> list[Feature]:
    """The features worth learning from, given outputs on both inputs; `is_other` marks those on the second."""
    features = _named("the whole output", seen.wholes, lambda c: c.wholes, _text_of_whole)
    for name, column in seen.kinds.items():
        features.extend(_named(name, column, lambda c, name=name: c.kind(name)))
    for within, names in seen.families.items():
        features.extend(_of_family(within, names[:_MOST_MEMBERS]))
    informative = sorted(seen.numbers, key=lambda name: -_difference(seen.number(name), is_other))[:_MOST_NUMBERS]
    for name in informative:
        features.append(Feature(name, lambda columns, name=name: columns.number(name)))
    for name in informative[:_MOST_DIGITS]:
        features.extend(_digits(name, seen.number(name)))
    return features[:_MOST_FEATURES]


def _digits(name: str, column: Floats) -> list[Feature]:
    """Low-order digits, where they vary."""
    features: list[Feature] = []
    if _has_fractions(column):
        features.append(Feature(f"lowest binary digit of {name}", lambda c: _lowest_digit(c.number(name))))
    elif len(np.unique(column)) > _FEW:
        features += [Feature(f"{name} modulo {m}", lambda c, m=m: _modulo(c.number(name), m)) for m in (2, 3, 5, 7, 16)]
    if np.any((column == 0) & np.signbit(column)):
        features.append(Feature(f"sign bit of {name}", lambda c: np.signbit(c.number(name)) * 1.0))
    return features


def _modulo(column: Floats, modulus: int) -> Floats:
    with np.errstate(invalid="ignore"):
        return np.mod(column, modulus)


def _difference(column: Floats, is_other: NDArray[np.bool_]) -> float:
    """How far the inputs differ, in standard errors: in location, in spread, in how often there is a number."""
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
    """A feature of values that are not numbers: each frequent value gets a code, all others get 0."""
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
    """A row of packed floats, or the names, kinds and numbers of an output, as text."""
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


_MOST_ATOMS = 2_000
_FREQUENT_IN_BIN = 5
_RANGES = 64
_IN_RANGE = 8


@dataclass(frozen=True, slots=True, eq=False)
class Bins:
    """Places 0 … a−1 are the `atoms`, then come the ranges between the `edges`, last what is not a number."""

    atoms: Floats
    edges: Floats

    @property
    def count(self) -> int:
        """How many places there are."""
        return len(self.atoms) + len(self.edges) + 2

    @property
    def by_value(self) -> NDArray[np.intp]:
        """The places in the order of their values, non-numbers last."""
        return np.append(np.argsort(self._starts, kind="stable"), self.count - 1)

    @property
    def _starts(self) -> Floats:
        """The least value in each place, but for the last."""
        return np.concatenate([self.atoms, [-np.inf], self.edges])

    def places(self, values: Floats) -> NDArray[np.intp]:
        """The place of each value."""
        places = len(self.atoms) + np.searchsorted(self.edges, values, side="right")
        if len(self.atoms):
            near = np.minimum(np.searchsorted(self.atoms, values), len(self.atoms) - 1)
            places = np.where(self.atoms[near] == values, near, places)
        return np.where(np.isnan(values), self.count - 1, places)

    def text(self, chosen: NDArray[np.bool_], texts: tuple[str, ...] | None = None) -> str:
        """A description in words of the values in the chosen places."""
        if texts is not None:
            return "is " + _listed([texts[int(value)] for value in self.atoms[chosen[: len(self.atoms)]]])
        order, starts = self.by_value[:-1], self._starts
        parts: list[str] = []
        for first, after in _stretches(chosen[order]):
            low, last = starts[order[first]], order[after - 1]
            if first == after - 1 and last < len(self.atoms):
                parts.append(f"{low:.12g}")
                continue
            if after == len(order):
                high = ""
            else:
                high = f"at most {starts[last]:.6g}" if last < len(self.atoms) else f"below {starts[order[after]]:.6g}"
            least = "" if low == -np.inf else f"at least {low:.6g}"
            parts.append(" and ".join(filter(None, (least, high))) or "any number")
        return "is " + _listed([*parts, *(["no number"] * bool(chosen[-1]))])


def fitted(values: Floats, *, codes: bool = False) -> Bins:
    """Places fitted to these values: one for each frequent value, and ranges of similar size for the rest.

    If the values are `codes`, which have no order, each of them gets a place.
    """
    known = values[~np.isnan(values)]
    distinct, counts = np.unique(known, return_counts=True)
    frequent = counts >= max(_FREQUENT_IN_BIN, known.size // 2_000)
    if codes or (frequent.all() and len(distinct) <= _MOST_ATOMS):
        return Bins(distinct, np.empty(0))
    atoms = distinct[frequent] if np.count_nonzero(frequent) <= _MOST_ATOMS else np.empty(0)
    rest = np.sort(known[~np.isin(known, atoms)])
    inner = np.arange(1, count := min(_RANGES, 1 + len(rest) // _IN_RANGE)) / count
    tails = 0.5 ** np.arange(7, max(7, int(np.log2(max(len(rest), 1) / _IN_RANGE)) + 1))
    shares = np.concatenate([inner, tails, 1 - tails])
    cuts = np.minimum((shares * len(rest)).astype(np.intp), max(len(rest) - 1, 0))
    ends = [atoms[0], np.nextafter(atoms[-1], np.inf)] if len(atoms) else []
    return Bins(atoms, np.unique(np.concatenate([rest[cuts], ends])))


def _stretches(chosen: NDArray[np.bool_]) -> list[tuple[int, int]]:
    steps = np.diff(np.concatenate([[0], chosen.astype(np.int8), [0]]))
    return list(zip(np.flatnonzero(steps == 1).tolist(), np.flatnonzero(steps == -1).tolist(), strict=True))


def _listed(values: list[str], most: int = 3) -> str:
    if not values:
        return "nothing"
    more = f", or one of {len(values) - most} more" if len(values) > most else ""
    return " or ".join(each if len(each) <= 80 else each[:77] + "…" for each in values[:most]) + more


Computed = Sequence[tuple[Bins, NDArray[np.intp]]]

_ROUNDS = 12
_RIDGE = 1e-3
_PRIOR = 2.0


@dataclass(frozen=True, slots=True, eq=False)
class Score:
    """A weighted sum of the log-likelihood ratios of the places of single features, each from a table.

    Exact, up to what the tables miss, where the features are independent given the input.
    """

    features: tuple[Feature, ...]
    bins: tuple[Bins, ...]
    chosen: tuple[int, ...]
    tables: tuple[Floats, ...]

    @property
    def name(self) -> str:
        """What it is, in words."""
        return f"a learned score of {len(self.features)} features"

    @property
    def texts(self) -> None:
        """Its values are numbers."""

    def of_places(self, computed: Computed) -> Floats:
        """The score of outputs whose features are in these places."""
        return _total([computed[i][1] for i in self.chosen], self.tables)

    def compute(self, columns: Columns) -> Floats:
        """The score of outputs."""
        places = [bins.places(f.compute(columns)) for f, bins in zip(self.features, self.bins, strict=True)]
        return _total(places, self.tables)


def fit_score(
    features: Sequence[Feature],
    computed: Computed,
    is_other: NDArray[np.bool_],
    learning: NDArray[np.bool_],
    most: int,
) -> Score:
    """The tables from every other row in `learning`, the weights from the rest of it by logistic regression."""
    rows = np.flatnonzero(learning)
    first, second = rows[::2], rows[1::2]
    tables: list[Floats] = []
    worth: list[float] = []
    for bins, places in computed:
        seen = np.stack([np.bincount(places[first][is_other[first] == side], minlength=bins.count) for side in (0, 1)])
        share = (seen + _PRIOR) / (seen.sum(axis=1, keepdims=True) + _PRIOR * bins.count)
        table = np.log(share[0]) - np.log(share[1])
        tables.append(table)
        ratios = table[places[second]]
        worth.append(
            float(np.mean(ratios[~is_other[second]]) - np.mean(ratios[is_other[second]])) if len(second) else 0.0
        )
    chosen = tuple(sorted(np.argsort(-np.nan_to_num(np.array(worth)), kind="stable")[:most].tolist()))
    inputs = np.stack([tables[i][computed[i][1][second]] for i in chosen], axis=1)
    weights = _regression(inputs, ~is_other[second])
    scaled = tuple(tables[i] * weight for i, weight in zip(chosen, weights, strict=True))
    return Score(tuple(features[i] for i in chosen), tuple(computed[i][0] for i in chosen), chosen, scaled)


def _total(places: Sequence[NDArray[np.intp]], tables: Sequence[Floats]) -> Floats:
    total = np.zeros(len(places[0]))
    for place, table in zip(places, tables, strict=True):
        total += table[place]
    return np.round(total, 9)


def _regression(inputs: Floats, wanted: NDArray[np.bool_]) -> list[float]:
    """The weights of a logistic regression with an intercept and a small ridge, by Newton's method."""
    if not len(inputs):
        return [1.0] * inputs.shape[1]
    rows = np.column_stack([inputs, np.ones(len(inputs))])
    weights = np.zeros(rows.shape[1])
    ridge = np.diag(np.full(rows.shape[1], _RIDGE * len(rows) + 1e-6))
    for _ in range(_ROUNDS):
        chance = 1 / (1 + np.exp(-np.clip(rows @ weights, -30, 30)))
        slope = rows.T @ (wanted - chance) - ridge @ weights
        bend = (rows * (chance * (1 - chance))[:, None]).T @ rows + ridge
        step = np.linalg.solve(bend, slope)
        weights += step
        if float(np.abs(step).max()) < 1e-6:
            break
    return weights[:-1].tolist()
