"""Whole totals of classes near their estimates, on a tree of areas, that keep all rules in every area.

The totals of an area are a sum of generators of the rules, each so many times from 0: whatever these numbers are, the
rules hold. They are made from the root down: the nearest real ones first, and then whole ones beside them.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from discreet.census.estimates import Errors, Estimate, Sum
from discreet.census.rules._classes import RuledTotals
from discreet.census.rules._held import times_with_totals
from discreet.census.rules._rounding import Rounding
from discreet.errors import ParameterError
from discreet.marginals.trees import Tree

__all__ = ["check_rules", "class_totals"]

Numbers = NDArray[np.float64]
Places = NDArray[np.int64]
_TURNS, _CLOSE = 300, 1e-2
_UNKNOWN = 1e4
"""How many times the variance of what is measured an estimate has that nothing measures."""
_SURE = 1e3
"""How much more a held total counts than the estimate known best, before it is met exactly."""


def check_rules(ruled: RuledTotals, errors: Mapping[str, Errors]) -> None:
    """Raise `ParameterError` or `QueryError` for rules that what is measured, or held, does not allow. Public facts."""
    depths = {errors[name].depth for name in ruled.layouts}
    if len(depths) > 1:
        raise ParameterError(
            f"rules: they tie {' and '.join(ruled.layouts)}, which must be measured down to the same level; give each "
            "a share there"
        )
    for name, layout in ruled.layouts.items():
        for rule in ruled.rules:
            for term in rule.terms:
                if term.universe.casefold() == name.casefold():
                    errors[name].check_published(0, layout.columns_in(term.where))
    _check_held(ruled)


def _check_held(ruled: RuledTotals) -> None:
    held = _held(ruled)
    if held is None:
        return
    level, totals = held
    geography = next(iter(ruled.layouts.values())).spec.geography
    for place, area in enumerate(geography.names[level]):
        here = {name: int(each[place]) for name, each in totals.items()}
        if _times(ruled, np.zeros(len(ruled.generators)), here) is None:
            listed = ", ".join(f"{total:,} {name}" for name, total in here.items())
            raise ParameterError(
                f"held.{geography.levels[level]}: in {area} there cannot be {listed}, by the rules; correct the "
                "totals, or leave out a rule"
            )


def class_totals(ruled: RuledTotals, estimates: Mapping[str, Estimate]) -> dict[str, list[Places]]:
    """For each universe and level the whole totals of areas by classes, down to the last level that is measured.

    Deterministic. All universes are measured down to the same level.
    """
    some = next(iter(estimates.values()))
    tree = Tree(some.layout.tree.parents[: some.errors.depth])
    held = _held(ruled)
    first, fixed = (0, {}) if held is None else held
    near, rounding = _Near(ruled, estimates), Rounding(ruled.generators, ruled.factors, ruled.is_equal)
    counts: list[Places] = []
    for place in range(tree.sizes[first]):
        here = {name: int(each[place]) for name, each in fixed.items()}
        times = near.one(first, place, here)
        if here:
            chosen = _times(ruled, times, here)
            assert chosen is not None, "it was checked that there are such numbers"
            counts.append(chosen @ ruled.generators)
        else:
            counts.append(rounding.alone(times))
    levels = Tree(tree.parents[:first]).sums(np.array(counts, np.int64))
    for level in range(first + 1, tree.levels):
        wanted = near.children(tree, level, levels[-1].astype(np.float64))
        levels.append(rounding.children(tree, level, wanted, levels[-1]))
    return {name: [each[:, span] for each in levels] for name, span in ruled.spans.items()}


class _Near:
    """The estimates of classes level by level, and how well each is known."""

    def __init__(self, ruled: RuledTotals, estimates: Mapping[str, Estimate]) -> None:
        self._ruled, self._estimates = ruled, estimates

    def one(self, level: int, area: int, held: Mapping[str, int]) -> Numbers:
        """How many times each generator is in one area of a level: the numbers nearest to its estimates."""
        basis, weights = self._ruled.generators, _root_of(self._precision(level))
        rows, ends = [weights @ basis.T], [weights @ self._numbers(level)[area]]
        for name, total in held.items():
            sure = _SURE * max(float(np.abs(weights).max()), 1.0)
            rows.append(sure * basis[:, self._ruled.spans[name]].sum(axis=1)[None])
            ends.append(np.array([sure * total]))
        return np.asarray(nnls(np.vstack(rows), np.concatenate(ends))[0], np.float64)

    def children(self, tree: Tree, level: int, above: Numbers) -> Numbers:
        """How many times each generator is in each area of a level, with numbers of classes that sum to those above.

        By turns (ADMM): Boyd, Parikh, Chu, Peleato and Eckstein, "Distributed Optimization and Statistical Learning via
        the Alternating Direction Method of Multipliers", 2011, section 5.
        """
        basis, precision = self._ruled.generators.astype(np.float64), self._precision(level)
        square = basis @ precision @ basis.T
        pull = float(np.trace(square)) / len(square)
        inverse = np.linalg.inv(square + pull * np.eye(len(square)))
        answer = np.linalg.pinv(basis.T @ inverse @ basis, hermitian=True) @ basis.T @ inverse
        wanted = self._numbers(level) @ precision @ basis.T
        many = np.bincount(tree.parents[level - 1])[:, None]
        near = np.maximum(wanted @ inverse, 0.0)
        shift = np.zeros_like(near)
        for _ in range(_TURNS):
            free = (wanted + pull * (near - shift)) @ inverse
            free += tree.down(level, (above - tree.up(level - 1, free @ basis)) / many) @ answer
            before, near = near, np.maximum(free + shift, 0.0)
            shift += free - near
            if max(np.abs(free - near).max(), np.abs(near - before).max()) < _CLOSE:
                break
        return near

    def _numbers(self, level: int) -> Numbers:
        """The estimates, areas by classes."""
        parts: list[Numbers] = []
        for name, own in self._ruled.classes.items():
            cells = self._estimates[name].cells(level, own.columns)
            axes = tuple(range(1, 1 + len(own.columns)))
            parts += [(cells * each).sum(axis=axes)[:, None] for each in own.weights]
        return np.hstack(parts)

    def _precision(self, level: int) -> Numbers:
        """The inverse of the mean covariance of the classes' estimates over the areas of a level."""
        size = self._ruled.factors.shape[1]
        covariance = np.zeros((size, size))
        for name, span in self._ruled.spans.items():
            covariance[span, span] = self._covariance(name, level)
        return np.asarray(np.linalg.pinv(covariance, hermitian=True), np.float64)

    def _covariance(self, name: str, level: int) -> Numbers:
        own, errors = self._ruled.classes[name], self._estimates[name].errors
        sums = [Sum([], own.columns, each) for each in own.weights]
        covariance = np.array([[float(errors.covariances(level, a, b).mean()) for b in sums] for a in sums])
        least = 1e-6 * max(float(np.trace(covariance)), 1.0) / len(sums)
        if not errors.is_published(level, own.columns):
            unknown = _UNKNOWN * max(float(np.trace(covariance)), 1.0)
            among = np.eye(len(sums)) - 1 / len(sums)
            covariance = covariance + unknown * among
        return covariance + least * np.eye(len(sums))


def _held(ruled: RuledTotals) -> tuple[int, dict[str, Places]] | None:
    """The level at which universes hold totals, and these. Raises `ParameterError` for several levels."""
    held = {name: layout.held for name, layout in ruled.layouts.items() if layout.held is not None}
    levels = {level for level, _ in held.values()}
    if len(levels) > 1:
        raise ParameterError(f"held: {' and '.join(held)} are tied by rules; hold their totals at the same level")
    return (levels.pop(), {name: totals for name, (_, totals) in held.items()}) if held else None


def _times(ruled: RuledTotals, near: Numbers, held: Mapping[str, int]) -> Places | None:
    """The whole times of generators near real ones with totals that are held; None if there are none."""
    sums = np.array([ruled.generators[:, ruled.spans[name]].sum(axis=1) for name in held], np.int64)
    return times_with_totals(near, sums, np.array(list(held.values()), np.int64))


def _root_of(precision: Numbers) -> Numbers:
    """A matrix whose square, from the left by its transpose, is a precision."""
    values, vectors = np.linalg.eigh(precision)
    return np.asarray(np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T, np.float64)
