"""RAPPOR's decoding: the regression of what each bit counts on the Bloom filters of candidates."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from discreet.local._domain import Domain
from discreet.local._estimate import Floats
from discreet.local._reports import Bytes, Integers
from discreet.local.frequencies._hash_families import buckets_of
from discreet.local.rappor._estimate import RapporEstimate
from discreet.local.rappor._select import Fit, selected

if TYPE_CHECKING:
    from scipy.sparse import csc_array

__all__ = ["bloom_columns", "bloom_rows", "decoded"]


def bloom_rows(texts: NDArray[Any], cohorts: Integers, bits: int, hashes: int) -> Bytes:
    """The filter of each text in its own cohort, as packed bits: of shape (texts, ⌈bits/8⌉).

    Bit `buckets_of(text, key=cohort·hashes + i, bits)` is set for i from 0 to hashes − 1. Each text is hashed once in
    each cohort that it is in.
    """
    places: dict[str, int] = {}
    codes = np.fromiter((places.setdefault(text, len(places)) for text in texts), dtype=np.int64, count=len(texts))
    known = np.array([*places, ""], dtype=object)
    pairs, which = np.unique(cohorts * (len(places) + 1) + codes, return_inverse=True)
    cohort, code = np.divmod(pairs, len(places) + 1)
    rows = np.zeros((len(pairs), -(-bits // 8)), dtype=np.uint8)
    ends = np.flatnonzero(np.diff(cohort, append=-1)) + 1
    start = 0
    for end in ends.tolist():
        some = known[code[start:end]].tolist()
        for places_of_one in _hashed(some, int(cohort[start]), bits, hashes):
            rows[np.arange(start, end), places_of_one >> 3] |= (1 << (places_of_one & 7)).astype(np.uint8)
        start = end
    return rows[which]


def bloom_columns(texts: Sequence[str], cohorts: Iterable[int], bits: int, hashes: int) -> csc_array:
    """The filters of each text in these cohorts, one below the other: a column of zeros and ones for each text."""
    from scipy.sparse import csc_array

    places = [
        at * bits + buckets for at, cohort in enumerate(cohorts) for buckets in _hashed(texts, cohort, bits, hashes)
    ]
    rows = np.sort(np.array(places), axis=0)
    distinct = np.diff(rows, axis=0, prepend=-1) > 0
    ends = np.concatenate(([0], np.cumsum(distinct.sum(axis=0))))
    shape = (len(places) // hashes * bits, len(texts))
    return csc_array((np.ones(ends[-1]), rows.T[distinct.T], ends), shape=shape)


def _hashed(texts: Sequence[str], cohort: int, bits: int, hashes: int) -> Iterable[Integers]:
    return (buckets_of(texts, cohort * hashes + i, bits) for i in range(hashes))


_NUMBERS_AT_ONCE = 1 << 19
_NO_SHARE = 1e-6
_LEAST_FREE = 0.05
_MOST_FREEDOM = 1e6
_BEYOND_DOUBT = 6


def decoded(domain: Domain, table: Integers, hashes: int, chances: tuple[float, float], reports: int) -> RapporEstimate:
    """The shares of the candidates in `domain`.

    `table` has a row for each cohort: its reports, and the ones of each bit; `chances` are q* and p*. Up to a quarter
    as many candidates as bits in all are fitted together. Of more, those that stand out are, and each of the others is
    tested beside them; one that stands out by less than 6 standard errors is tested beside those that stand out if it
    is no candidate. Proof and limits: ``proofs/rappor.md``, sections 5 and 6.
    """
    from scipy.special import stdtr  # pyright: ignore[reportMissingTypeStubs]

    cohorts = np.flatnonzero(table[:, 0])
    held = table[cohorts, 0].astype(np.float64)
    one, zero = chances
    shares = (table[cohorts, 1:] / held[:, None] - zero) / (one - zero)
    columns = bloom_columns(domain.names or (), cohorts.tolist(), shares.shape[1], hashes)
    first = _first_like(columns)
    unlike = np.flatnonzero(first == np.arange(domain.size))
    fit = selected(columns, shares, held, unlike)
    numbers = np.empty((3, domain.size))
    step = max(1, _NUMBERS_AT_ONCE // shares.size)
    for start in range(0, domain.size, step):
        some = np.arange(start, min(start + step, domain.size))
        numbers[:, some] = _tested(_Spread(fit, held, chances, shares), columns, some)
    if fit.members.size < unlike.size:
        doubtful = fit.members[numbers[0, fit.members] < _BEYOND_DOUBT * numbers[1, fit.members]]
        for each in doubtful.tolist():
            without = selected(columns, shares, held, unlike[unlike != each])
            numbers[:, [each]] = _tested(_Spread(without, held, chances, shares), columns, np.array([each]))
    estimates, errors, freedom = numbers
    alike = np.bincount(first, minlength=domain.size)[first]
    estimates = estimates[first] / alike
    errors[alike > 1] = np.inf
    with np.errstate(invalid="ignore"):
        scores = np.where(np.isfinite(errors), estimates / errors, 0.0)
    p_values = stdtr(freedom, -scores)
    return RapporEstimate(domain, reports, estimates, errors, p_values)


def _tested(spread: _Spread, columns: csc_array, some: Integers) -> tuple[Floats, Floats, Floats]:
    """The share of each of these candidates in the fit of the members and itself, its error and degrees of freedom."""
    rows, rest, known = _functionals(spread.fit, columns, some)
    share = rows @ spread.shares.ravel()
    outside = np.where(np.isin(some, spread.fit.members), 0.0, share)
    certain, estimated = spread.modelled(rows, outside)
    squares = np.maximum(certain + estimated, spread.observed(rows, rest, outside))
    freedom = _freedom(rows, squares, squares - certain)
    return share, np.where(known, np.sqrt(squares), np.inf), np.where(known, freedom, 1.0)


def _first_like(columns: csc_array) -> Integers:
    """For each column the first one with the same entries."""
    places: dict[bytes, int] = {}
    ends: Any = columns.indptr
    keys = (columns.indices[ends[i] : ends[i + 1]].tobytes() for i in range(len(ends) - 1))
    return np.array([places.setdefault(key, place) for place, key in enumerate(keys)])


def _freedom(rows: Floats, squares: Floats, estimated: Floats) -> Floats:
    """Welch and Satterthwaite's degrees of freedom of variances of which a part is estimated from residuals."""
    second = rows**2
    of_part = second.sum(axis=1) ** 2 / np.maximum(np.einsum("cr,cr->c", second, second), 1e-300)
    share = np.maximum(estimated / np.where(squares > 0, squares, np.inf), 1e-6)
    return np.minimum(of_part / share**2, _MOST_FREEDOM)


def _functionals(fit: Fit, columns: csc_array, some: Integers) -> tuple[Floats, Floats, NDArray[np.bool_]]:
    """For each of these candidates the weights of all bits that make its share, what the fit leaves of its filter, and
    whether they determine the share.

    Least squares with the members of the fit, and with the candidate itself where it is none of them.
    """
    texts: Any = columns.T
    own: Floats = texts[some].toarray()
    shadow = (own * fit.weights) @ fit.design
    rest = own - (shadow @ fit.inverse) @ fit.design.T
    rows = rest * fit.weights
    square = np.einsum("cr,cr->c", rest, rows)
    known = (square > _NO_SHARE * np.einsum("cr,cr->c", own, own * fit.weights)) & (fit.freedom > 1)
    rows /= np.where(known, square, np.inf)[:, None]
    place = np.full(texts.shape[0], -1)
    place[fit.members] = np.arange(1, fit.members.size + 1)
    inside = np.flatnonzero(place[some] >= 0)
    at = place[some[inside]]
    rows[inside] = (fit.inverse[at] @ fit.design.T) * fit.weights
    known[inside] = fit.determined[at]
    return rows, rest, known


@dataclass(frozen=True, slots=True)
class _Spread:
    """The variance of sums of weighted bits, over the clients' randomness, their cohorts, and who they are."""

    fit: Fit
    held: Floats
    chances: tuple[float, float]
    shares: Floats

    def modelled(self, rows: Floats, own: Floats) -> tuple[Floats, Floats]:
        """The variances by the model (noise, and who is in which cohort), and what a bad fit adds to them."""
        fit, bits = self.fit, self.shares.shape[1]
        one, zero = self.chances
        true = np.clip(fit.expected, 0, 1)
        noise = (zero * (1 - zero) + true * (one * (1 - one) - zero * (1 - zero))) / (one - zero) ** 2
        each = np.repeat(self.held, bits)
        misfit = ((self.shares.ravel() - fit.expected) ** 2 * each / (noise + true * (1 - true))).sum()
        excess = max(0.0, misfit / max(fit.freedom, 1) - 1) * bits / (bits - 1)
        others = min(max(float(fit.coefficients[0]), 0.0), 1.0)
        noises = rows**2 @ ((noise + others) / each)
        total = noises + np.clip(own, 0, 1) / self.held.sum()
        by_cohort = rows.reshape(-1, self.held.size, bits).transpose(1, 0, 2)
        by_member = by_cohort @ fit.design[:, 1:].reshape(self.held.size, bits, -1)
        in_all = (by_cohort @ true.reshape(self.held.size, bits, 1))[:, :, 0]
        within = by_member**2 @ np.clip(fit.coefficients[1:], 0, 1) - in_all**2
        total += (1 / self.held) @ np.maximum(within, 0)
        return total, excess * noises

    def observed(self, rows: Floats, rest: Floats, own: Floats) -> Floats:
        """The variances by the residuals, each divided by 1 − its leverage (MacKinnon and White 1985, HC3)."""
        left = own[:, None] * rest
        np.subtract(self.shares.ravel() - self.fit.expected, left, out=left)
        free = rows * rest
        np.subtract(1 - self.fit.leverage, free, out=free)
        left *= rows
        left /= np.maximum(free, _LEAST_FREE, out=free)
        return np.einsum("cr,cr->c", left, left)
