"""Frequency oracles whose report is one cell: what a report adds to sums of estimates, to the second moment."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from discreet.errors import ParameterError
from discreet.local._codec import Longitudinal
from discreet.local._domain import Domain
from discreet.local._estimate import Floats
from discreet.local._exp_epsilon import exp_epsilon
from discreet.local._reports import Integers
from discreet.local.frequencies._hadamard import HadamardResponse, walsh_of_floats
from discreet.local.frequencies._kary import KaryRandomizedResponse
from discreet.local.frequencies._projective import ProjectiveGeometry
from discreet.local.frequencies._projective_points import Space, hyperplane_sums

__all__ = ["CellOracle", "best_oracle", "cell_oracle", "checked_oracle", "shared_counts"]


def shared_counts(space: Space, supports: Integers, total: int, first: Integers, second: Integers) -> Integers:
    """For pairs of different values the counts of the points that are in the hyperplanes of both.

    `supports` are the counts of every hyperplane, and `total` that of all points. The q + 1 hyperplanes that contain
    what two share hold each of its points q + 1 times and every other one once. ``proofs/several.md``, section 2.
    """
    if space.t == 2:
        return np.zeros(first.size, dtype=np.int64)
    low, high = np.minimum(first, second), np.maximum(first, second)
    least, most = _digits(space, low), _digits(space, high)
    same = _lead(least) == _lead(most)
    least[same] = _normal(space, (most[same] - least[same]) % space.q)
    totals = supports[_values(space, least)] - total
    for factor in range(space.q):
        totals = totals + supports[_values(space, (most + factor * least) % space.q)]
    return totals // space.q


def _digits(space: Space, values: Integers) -> Integers:
    """The coordinates of each value's point, the highest of them that is not 0 being 1."""
    sizes, powers = _sizes(space), _powers(space)
    lead = np.searchsorted(sizes, values, "right") - 1
    vector = values - sizes[lead] + powers[lead]
    return vector[:, None] // powers % space.q


def _values(space: Space, digits: Integers) -> Integers:
    lead = _lead(digits)
    return digits @ _powers(space) - _powers(space)[lead] + _sizes(space)[lead]


def _lead(digits: Integers) -> Integers:
    return digits.shape[1] - 1 - np.argmax(digits[:, ::-1] != 0, axis=1)


def _normal(space: Space, digits: Integers) -> Integers:
    lead = digits[np.arange(len(digits)), _lead(digits)]
    kinds, place = np.unique(lead, return_inverse=True)
    inverse = np.array([pow(kind, -1, space.q) for kind in kinds.tolist()], dtype=np.int64)
    return digits * inverse[place][:, None] % space.q


def _powers(space: Space) -> Integers:
    return np.array([space.q**k for k in range(space.t)], dtype=np.int64)


def _sizes(space: Space) -> Integers:
    return np.array([space.points(k) for k in range(space.t)], dtype=np.int64)


_KINDS = {kind.protocol: kind for kind in (HadamardResponse, KaryRandomizedResponse, ProjectiveGeometry)}
_FINE = 2**50
"""Shares are written as so many parts, where sums are of whole numbers."""


@dataclass(frozen=True, slots=True)
class CellOracle:
    """Moments of what one report adds to estimates, given the share of reports in each cell.

    An estimate is the mean over reports of A_v(cell), for each value v of the domain. ``proofs/several.md``, section 2.
    """

    scheme: HadamardResponse | KaryRandomizedResponse | ProjectiveGeometry

    def cell_probabilities(self, shares: Floats) -> Floats:
        """The probability of each cell, for people of whom these shares have each value."""
        scheme = self.scheme
        if isinstance(scheme, KaryRandomizedResponse):
            p, q = scheme.support_probabilities
            return float(q) + float(p - q) * shares
        if isinstance(scheme, ProjectiveGeometry):
            p, _ = scheme.support_probabilities
            inside, outside = p / scheme.space.inside, (1 - p) / scheme.space.outside
            return float(outside) + float(inside - outside) * _hyperplanes(scheme, shares) / _FINE
        rows, blocks = np.divmod(np.arange(shares.size), scheme.blocks)
        table = np.zeros((scheme.blocks, scheme.columns))
        table[blocks, rows + 1] = shares
        high, low = _places(scheme)
        in_block = table.sum(axis=1, keepdims=True)
        return (float(low) + float(high - low) / 2 * (in_block + walsh_of_floats(table))).ravel()

    def products(self, cells: Floats, first: Integers, second: Integers) -> Floats:
        """E[A_v·A_w] for pairs of values, all of them the same value twice or none."""
        scheme = self.scheme
        if isinstance(scheme, ProjectiveGeometry):
            supports = _hyperplanes(scheme, cells)
            held = supports[first], supports[second]
            shared = held[0]
            if bool((first != second).any()):
                shared = shared_counts(scheme.space, supports, int(_fine(cells).sum()), first, second)
            q, span = _q_and_span(scheme)
            return (shared / _FINE - q * (held[0] + held[1]) / _FINE + q**2) / span**2
        if isinstance(scheme, KaryRandomizedResponse):
            q, span = _q_and_span(scheme)
            same = np.where(first == second, cells[first], 0)
            return (same - q * (cells[first] + cells[second]) + q**2) / span**2
        moments = walsh_of_floats(cells.reshape(scheme.blocks, scheme.columns))
        (rows, blocks), (others, beside) = (np.divmod(values, scheme.blocks) for values in (first, second))
        moment = moments[blocks, (rows + 1) ^ (others + 1)]
        return np.where(blocks == beside, moment, 0) * _scale(scheme) ** 2

    def sums(self, cells: Floats, groups: Integers, count: int) -> tuple[Floats, Floats, float]:
        """E[S] and E[S²] for S, the sum of A_v over the values of each of `count` groups; and a public variance.

        That is the variance of S were all cells equally likely, on average over the groups.
        """
        scheme = self.scheme
        if isinstance(scheme, KaryRandomizedResponse):
            q, span = _q_and_span(scheme)
            held = np.bincount(groups, weights=cells, minlength=count)
            sizes = np.bincount(groups, minlength=count)
            less, even = sizes * q, sizes / groups.size
            square = (held * (1 - 2 * less) + less**2) / span**2
            return (held - less) / span, square, float((even * (1 - even)).mean()) / span**2
        if isinstance(scheme, ProjectiveGeometry) and count == groups.size:
            q, span = _q_and_span(scheme)
            held = _hyperplanes(scheme, cells)[np.argsort(groups)] / _FINE
            square = (held * (1 - 2 * q) + q**2) / span**2
            even = scheme.space.inside / scheme.cells
            return (held - q) / span, square, even * (1 - even) / span**2
        if isinstance(scheme, HadamardResponse) and count == groups.size:
            scale, moments = _scale(scheme), walsh_of_floats(cells.reshape(scheme.blocks, scheme.columns))
            rows, blocks = np.divmod(np.argsort(groups), scheme.blocks)
            return scale * moments[blocks, rows + 1], scale**2 * moments[blocks, 0], scale**2 / scheme.blocks
        expected, even = np.empty((2, count)), 0.0
        order = np.argsort(groups, kind="stable")
        for group, values in enumerate(np.split(order, np.cumsum(np.bincount(groups, minlength=count))[:-1])):
            added = _added(scheme, values)
            squares = added**2
            expected[:, group] = cells @ added, cells @ squares
            even += float(squares.mean() - added.mean() ** 2) / count
        return expected[0], expected[1], even


def _added(scheme: HadamardResponse | ProjectiveGeometry, values: Integers) -> Floats:
    """For each cell the sum of A_v over some values."""
    if isinstance(scheme, ProjectiveGeometry):  # which points and values are orthogonal is symmetric in their numbers
        held = np.zeros(scheme.cells, dtype=np.int64)
        held[values] = 1
        sums = hyperplane_sums(scheme.space, held, scheme.cells).astype(np.float64)
        q, span = _q_and_span(scheme)
        return (sums - values.size * q) / span
    rows, blocks = np.divmod(values, scheme.blocks)
    table = np.zeros((scheme.blocks, scheme.columns))
    table[blocks, rows + 1] = _scale(scheme)
    return walsh_of_floats(table).ravel()


def _q_and_span(scheme: KaryRandomizedResponse | ProjectiveGeometry) -> tuple[float, float]:
    """The probability that a report supports one other value, and how much likelier its sender's value is."""
    p, q = scheme.support_probabilities
    return float(q), float(p - q)


def _hyperplanes(scheme: ProjectiveGeometry, shares: Floats) -> Integers:
    """For each point the sum of shares over those that it is orthogonal to, in parts of `_FINE`."""
    held = np.zeros(scheme.cells, dtype=np.int64)
    held[: shares.size] = _fine(shares)
    return hyperplane_sums(scheme.space, held, scheme.cells)


def _fine(shares: Floats) -> Integers:
    return np.rint(shares * _FINE).astype(np.int64)


def _places(scheme: HadamardResponse) -> tuple[Fraction, Fraction]:
    """The probability of a place where the sender's row is +1, and of any other one."""
    half = scheme.columns // 2
    return scheme.likely / half, (1 - scheme.likely) / (scheme.cells - half)


def _scale(scheme: HadamardResponse) -> float:
    high, low = _places(scheme)
    return float(1 / ((high - low) * (scheme.columns // 2)))


@lru_cache(maxsize=2**12)
def cell_oracle(protocol: str, domain: int, epsilon: Fraction, longitudinal: Longitudinal) -> CellOracle:
    """The oracle of a protocol. Kept, as many tables have the same size."""
    return CellOracle(_KINDS[protocol](Domain(domain).size, epsilon, longitudinal=longitudinal))


def best_oracle(domain: int, epsilon: Fraction) -> str:
    """k-ary randomized response for d < 3e^ε + 2, else Hadamard response up to ε = 1, and projective geometry above it.

    Decided in exact numbers, so that all platforms agree. Source: Wang et al. 2017, Section 4.4, for the first.
    """
    if domain < 3 * exp_epsilon(epsilon) + 2:
        return KaryRandomizedResponse.protocol
    return HadamardResponse.protocol if epsilon <= 1 else ProjectiveGeometry.protocol


def checked_oracle(oracle: str | None) -> str | None:
    """The name; raises `ParameterError` unless it is one of those of this module, or none."""
    if oracle is not None and oracle not in _KINDS:
        raise ParameterError(
            f"oracle must be one of {', '.join(map(repr, _KINDS))}, whose report is one cell, got {oracle!r}"
        )
    return oracle
