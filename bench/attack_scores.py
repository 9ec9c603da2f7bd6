"""What attacks on synthetic rows compute: predicates, distances, scores, and exact intervals of how often they succeed.

Rows are arrays of whole numbers, a line for each row. `spans` says of each column how far apart its numbers are at
most, and is 0 for a column of categories. Sources: predicates, links and inferences are those of Giomi, Boenisch,
Wehmeyer and Tasnádi 2023 (Anonymeter), after Cohen and Nissim 2020; the ratio of densities is that of van Breugel, Sun,
Qian and van der Schaar 2023 (DOMIAS).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv

from discreet.synth import Measured, SyntheticTable

Rows = NDArray[np.int64]
Scores = NDArray[np.float64]
Condition = tuple[int, str, int]
"""A column, how it compares, and with which number."""
Predicate = tuple[Condition, ...]
"""Conditions that all hold."""

DOUBT = 0.05
CHUNK = 250
COMPARE = {"=": np.equal, "<=": np.less_equal, ">=": np.greater_equal}


@dataclass(frozen=True)
class Successes:
    """So many successes of so many attacks."""

    hits: int
    trials: int

    def __add__(self, other: Successes) -> Successes:
        return Successes(self.hits + other.hits, self.trials + other.trials)

    @property
    def rate(self) -> float:
        return self.hits / self.trials

    @property
    def interval(self) -> tuple[float, float]:
        """The exact interval of the rate, at 95 % (Clopper and Pearson 1934)."""
        hits, misses = self.hits, self.trials - self.hits
        low = float(betaincinv(hits, misses + 1, DOUBT / 2)) if hits else 0.0
        high = float(betaincinv(hits + 1, misses, 1 - DOUBT / 2)) if misses else 1.0
        return low, high

    def more_than(self, other: Successes) -> tuple[float, float]:
        """How much larger this rate is: an interval at about 95 %, of the exact ones (Newcombe 1998, method 10)."""
        (low, high), (other_low, other_high) = self.interval, other.interval
        less = math.hypot(self.rate - low, other_high - other.rate)
        more = math.hypot(high - self.rate, other.rate - other_low)
        return self.rate - other.rate - less, self.rate - other.rate + more


def guesses(members: Scores, others: Scores, rng: np.random.Generator) -> Successes:
    """The upper half of all scores are guessed to be members, of whom there are as many as others; ties by chance."""
    scores = np.concatenate([members, others])
    order = np.lexsort((rng.random(len(scores)), -scores))
    right = int((order[: len(members)] < len(members)).sum())
    return Successes(right + len(others) - (len(members) - right), len(scores))


def auc(members: Scores, others: Scores) -> tuple[float, float]:
    """How often a member has the higher score, and twice its standard error (DeLong et al. 1988)."""
    higher = [
        (np.searchsorted(other, own, "left") + np.searchsorted(other, own, "right")) / (2 * len(other))
        for own, other in ((members, np.sort(others)), (others, np.sort(members)))
    ]
    error = math.sqrt(sum(float(each.var(ddof=1)) / len(each) for each in higher))
    return float(higher[0].mean()), 2 * error


def matching(rows: Rows, predicate: Predicate) -> int:
    """How many rows satisfy a predicate; `rows` has a line for each column."""
    satisfied = np.ones(rows.shape[1], np.bool_)
    for column, how, number in predicate:
        satisfied &= COMPARE[how](rows[column], number)
    return int(satisfied.sum())


def univariate(rows: Rows, spans: Sequence[int], rng: np.random.Generator, most: int) -> list[Predicate]:
    """Values that one synthetic row has alone, and numbers from the smallest or largest on; as many as asked for."""
    predicates: list[Predicate] = []
    for column, span in enumerate(spans):
        values, counts = np.unique(rows[:, column], return_counts=True)
        predicates += [((column, "=", int(value)),) for value in values[counts == 1]]
        if span:
            predicates += [((column, "<=", int(values[0])),), ((column, ">=", int(values[-1])),)]
    chosen = rng.permutation(len(predicates))[:most]
    return [predicates[i] for i in chosen]


def multivariate(
    rows: Rows, spans: Sequence[int], rng: np.random.Generator, most: int, columns: int
) -> list[Predicate]:
    """Conjunctions over so many random columns of a random row, which no other synthetic row satisfies.

    Categories are equal to the row's. Numbers are on its side of the median. Gives up after 20 tries for each.
    """
    middle, by_column = np.median(rows, axis=0), np.ascontiguousarray(rows.T)
    predicates: dict[Predicate, None] = {}
    for _ in range(20 * most):
        row = rows[rng.integers(len(rows))]
        chosen = sorted(rng.choice(len(spans), columns, replace=False))
        signs = ["=" if not spans[i] else ">=" if row[i] > middle[i] else "<=" for i in chosen]
        predicate = tuple((int(i), sign, int(row[i])) for i, sign in zip(chosen, signs, strict=True))
        if predicate not in predicates and matching(by_column, predicate) == 1:
            predicates[predicate] = None
            if len(predicates) == most:
                break
    return list(predicates)


def singled_out(predicates: Sequence[Predicate], rows: Rows) -> Successes:
    """How many predicates exactly one of the rows satisfies."""
    by_column = np.ascontiguousarray(rows.T)
    return Successes(sum(matching(by_column, each) == 1 for each in predicates), len(predicates))


@dataclass(frozen=True)
class Neighbours:
    """What the synthetic rows near each target say of it.

    Attributes
    ----------
    closeness
        How near the closest one is, below 0.
    log_density
        The logarithm of a kernel density, up to a constant.
    linked
        Whether the row closest in some columns is the one closest in the others.
    inferred
        Whether the row closest in all columns but the secret one has its value of that.
    """

    closeness: Scores
    log_density: Scores
    linked: NDArray[np.bool_]
    inferred: NDArray[np.bool_]


def distances(targets: Rows, rows: Rows, spans: Sequence[int], columns: Sequence[int]) -> NDArray[np.float32]:
    """Gower's: the number of categories that differ, and differences of numbers in parts of their spans, added up."""
    total = np.zeros((len(targets), len(rows)), np.float32)
    for column in columns:
        own, other = (each[:, column].astype(np.float32) for each in (targets, rows))
        if spans[column]:
            scale = np.float32(spans[column])
            total += np.abs(np.subtract.outer(own / scale, other / scale))
        else:
            total += np.not_equal.outer(own, other)
    return total


def neighbours(
    targets: Rows,
    rows: Rows,
    spans: Sequence[int],
    secret: int,
    parts: tuple[Sequence[int], Sequence[int]],
    width: float,
) -> Neighbours:
    """The neighbours of targets among synthetic rows; `parts` share the columns, the density falls by e in `width`."""
    collected: list[tuple[Any, ...]] = []
    for start in range(0, len(targets), CHUNK):
        some = targets[start : start + CHUNK]
        one, other = (distances(some, rows, spans, part) for part in parts)
        total = one + other
        known = total - distances(some, rows, spans, [secret])
        closest = total.min(axis=1)
        density = np.exp((closest[:, None] - total) / width).sum(axis=1)
        linked = one.argmin(axis=1) == other.argmin(axis=1)
        inferred = rows[known.argmin(axis=1), secret] == some[:, secret]
        collected.append((-closest, np.log(density) - closest / width, linked, inferred))
    return Neighbours(*(np.concatenate(each) for each in zip(*collected, strict=True)))


def marginal_cells(model: SyntheticTable, cells: Rows) -> Iterator[tuple[Measured, Rows]]:
    """Each measured marginal with the cell of it that each row is in."""
    merged = [merge.places[cells[:, i]] for i, merge in enumerate(model.merges)]
    for each in model.measured:
        if len(each.clique) == 1:
            yield each, cells[:, each.clique[0]]
        else:
            sizes = [model.merges[column].size for column in each.clique]
            yield each, np.ravel_multi_index([merged[column] for column in each.clique], sizes)


def likelihood_ratios(model: SyntheticTable, records: Rows, rows: Rows, there: NDArray[np.bool_]) -> Scores:
    """Of each record: the logarithm of how much likelier the noisy counts are with it, if all other rows are known.

    `rows` are all that were fitted, among them those of the records that were `there`.
    """
    ratios = np.zeros(len(records))
    places = marginal_cells(model, records)
    for (each, own), (_, other) in zip(places, marginal_cells(model, rows), strict=True):
        without = np.bincount(other, minlength=len(each.counts))[own] - there
        ratios += (np.array(each.counts)[own] - without - 0.5) / each.mechanism.std**2
    return ratios


def beyond(model: SyntheticTable, targets: Rows, usual: Rows, scale: float, exact: Rows | None) -> Scores:
    """By how much the counts of a target's cells pass those of usual rows, in parts of their variance, added up.

    With the rows `exact` their counts stand in for the noisy ones.
    """
    scores = np.zeros(len(targets))
    places, expected = marginal_cells(model, targets), marginal_cells(model, usual)
    released = [None] * len(model.measured) if exact is None else marginal_cells(model, exact)
    for (each, own), (_, other), rows in zip(places, expected, released, strict=True):
        size = len(each.counts)
        counts = np.array(each.counts) if rows is None else np.bincount(rows[1], minlength=size)
        variance = each.mechanism.std**2 if rows is None else 1.0
        expectation = scale * np.bincount(other, minlength=size)
        scores += ((counts - expectation) / (variance + (1 + scale) * expectation))[own]
    return scores
