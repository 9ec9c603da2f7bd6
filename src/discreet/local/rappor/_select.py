"""Which candidates RAPPOR's regression takes: all, if they are few, or else those that stand out one after another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from discreet.local._estimate import Floats
from discreet.local._reports import Integers

if TYPE_CHECKING:
    from scipy.sparse import csc_array

__all__ = ["Fit", "fitted", "selected"]

_MOST_MEMBERS, _MOST_NUMBERS = 1024, 1 << 25
_MOST_PASSES = 60
_RANK = 1e-9
_DETERMINED = 1e-6
_LEAST = 1e-24


@dataclass(frozen=True, slots=True, eq=False)
class Fit:
    """Weighted least squares of the bits on a constant and some candidates' filters.

    Attributes
    ----------
    members
        The candidates.
    design
        The constant's column, and theirs.
    weights
        Of each bit: the reports of its cohort, in units of their mean.
    inverse
        The (pseudo-)inverse of design′ · weights · design.
    determined
        Of each column, whether the others leave its coefficient determined.
    coefficients, expected
        The coefficients, and what the fit has for each bit.
    leverage
        Of each bit: by how much the fit follows it.
    freedom
        Bits less the rank.
    """

    members: Integers
    design: Floats
    weights: Floats
    inverse: Floats
    determined: NDArray[np.bool_]
    coefficients: Floats
    expected: Floats
    leverage: Floats
    freedom: int


def fitted(columns: csc_array, shares: Floats, held: Floats, members: Integers) -> Fit:
    """The fit of these candidates."""
    weights = np.repeat(held / held.mean(), shares.shape[1])
    design: Floats = np.concatenate((np.ones((shares.size, 1)), columns[:, members].toarray()), axis=1)
    weighted = design * weights[:, None]
    values, vectors = np.linalg.eigh(design.T @ weighted)
    large = values > _RANK * values[-1]
    scaled = vectors[:, large] / values[large]
    inverse: Floats = scaled @ vectors[:, large].T
    coefficients: Floats = inverse @ (weighted.T @ shares.ravel())
    determined = (vectors[:, ~large] ** 2).sum(axis=1) < _DETERMINED
    leverage = np.einsum("rc,rc->r", design @ inverse, weighted)
    freedom = shares.size - int(large.sum())
    return Fit(members, design, weights, inverse, determined, coefficients, design @ coefficients, leverage, freedom)


def selected(columns: csc_array, shares: Floats, held: Floats, candidates: Integers) -> Fit:
    """All the candidates, if they are at most a quarter as many as the bits; or else those that stand out.

    In each pass the candidates are added whose score with what is left unexplained is above one that chance passes once
    in as many tries as there are candidates, and half of the best; those are dropped for good that fall far below it.
    Source: orthogonal matching pursuit (Pati, Rezaiifar and Krishnaprasad 1993), several at a time.
    """
    from scipy.special import ndtri  # pyright: ignore[reportMissingTypeStubs]

    room = min(shares.size // 4, _MOST_MEMBERS, _MOST_NUMBERS // shares.size)
    if candidates.size <= room:
        return fitted(columns, shares, held, candidates)
    threshold = float(ndtri(1 - 1 / candidates.size))
    fit = fitted(columns, shares, held, candidates[:0])
    squares = _squares(columns, fit.weights)
    allowed = np.zeros(squares.size, dtype=np.bool_)
    allowed[candidates] = True
    for _ in range(_MOST_PASSES):
        left = (shares.ravel() - fit.expected) * fit.weights
        spread = float(left @ (shares.ravel() - fit.expected)) / max(fit.freedom, 1)
        inside = fit.coefficients[1:] < 0.75 * threshold * np.sqrt(spread * np.diag(fit.inverse)[1:])
        if bool(inside.any()):
            members = fit.members[~inside]
        else:
            scores = np.where(allowed, columns.T @ left, 0.0) / np.sqrt(max(spread, _LEAST) * squares)
            best = np.argsort(-scores)[: room - fit.members.size]
            best = best[scores[best] > max(threshold, float(scores.max()) / 2)]
            if best.size == 0:
                break
            allowed[best] = False
            members = np.concatenate((fit.members, best))
        fit = fitted(columns, shares, held, members)
    return fit


def _squares(columns: csc_array, weights: Floats) -> Floats:
    """The weighted sum of squares of each column about its weighted mean."""
    sums = columns.T @ weights
    return np.maximum(sums - sums**2 / weights.sum(), _LEAST)
