"""Mistakes in publications of tables, each of which a replay sees: see ``tests/synth/replay.py``."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from discreet import prices
from discreet.census import _question as question
from discreet.census.estimates._estimate import Estimate
from discreet.census.specs import _spec as spec
from discreet.sensitivity import Norms
from mutants._mutant import Patches, patched

__all__ = ["MUTANTS", "CensusMutant"]


@dataclass(frozen=True, slots=True)
class CensusMutant:
    """The real code with one mistake in it."""

    name: str
    why: str
    patches: Patches


_prepared = question.PreparedPublication
_measured, _counted, _released, _rows = _prepared.measured, _prepared.counted, _prepared._released, question.Layout.rows
_with_noise, _shares, _norms = question.with_noise, question.planned_shares, question.measure_norms


def _free_purse(self: Any, loss: Any) -> None:
    del self, loss


def _too_large_shares(layout: Any, money: Any) -> Any:
    return {each: 2 * share for each, share in _shares(layout, money).items()}


def _shares_by_true_counts(self: Any, context: Any) -> Any:
    counts = _counted(self, context)
    largest = {each: int(counts[each].max()) + 1 for each in self.shares}
    prices, total = self.prices, sum(largest.values())
    self.__dict__["mechanisms"] = {
        each: prices.measurement(prices.total * Fraction(most, total)) for each, most in largest.items()
    }
    return counts


def _one_noise_for_two_levels(self: Any, counts: Any, context: Any) -> Any:
    noisy: dict[Any, Any] = {}
    for each, mechanism in self.mechanisms.items():
        same = next((other for other in noisy if other[1] == each[1]), None)
        if same is None:
            noisy[each] = _with_noise(counts[each], mechanism)
        else:
            noisy[each] = counts[each] + np.resize(noisy[same] - counts[same], counts[each].shape)
    return noisy


def _zeros_skipped(exact: Any, mechanism: Any) -> Any:
    flat = exact.ravel().copy()
    there = np.flatnonzero(flat)
    flat[there] = mechanism.release(flat[there].tolist()) if len(there) else flat[there]
    return flat.reshape(exact.shape)


def _total_read_off_rows(self: Any, counts: Any, context: Any) -> Any:
    noisy = _measured(self, counts, context)
    first = next(iter(noisy))
    return {**noisy, first: counts[first]}


def _integers_of_true_counts(self: Any, measured: Any, integers: Any, context: Any) -> Any:
    del integers
    return _released(self, measured, self.__dict__["true leaves"], context)


def _universe_for_nothing(self: Any) -> Any:
    return dict.fromkeys([self.name, *self.universes], Fraction(1))


def _true_leaves(self: Any, context: Any) -> Any:
    counts = _counted(self, context)
    self.__dict__["true leaves"] = question.published_integers({
        self.layout.spec.name: Estimate(self.errors, counts)
    })  # fmt: skip
    return counts


def _halved(exact: Any, mechanism: Any) -> Any:
    smaller = {name: getattr(mechanism, name) / 2 for name in ("scale", "sigma") if hasattr(mechanism, name)}
    return _with_noise(exact, type(mechanism)(**smaller))


def _true_size(self: Any, measured: Any, integers: Any, context: Any) -> Any:
    certify = context.certify
    size = sum(int(each.sum()) for each in self.__dict__["true counts"].values())
    return _released(self, measured, integers, replace(context, certify=lambda stated: certify({**stated, "n": size})))


def _remembered(self: Any, context: Any) -> Any:
    self.__dict__["true counts"] = counts = _counted(self, context)
    return counts


def _capped_late(self: Any, policy: Any) -> Any:
    return replace(_rows(self, policy), max_rows=50)


def _smaller_norms(measure: Any, bounded: Any, relation: Any) -> Any:
    norms = _norms(measure, bounded, relation)
    return Norms(max(norms.l1 // 2, 1), max(norms.l2_squared // 4, 1))


def _noise_stops_at_zero(exact: Any, mechanism: Any) -> Any:
    return np.where(exact == 0, 0, _with_noise(exact, mechanism))


def _other_salt(self: Any, context: Any) -> Any:
    again = _counted(self, context)
    return {each: (one + again[each]) // 2 for each, one in _counted(self, context).items()}


MUTANTS: tuple[CensusMutant, ...] = (
    CensusMutant("shares over 1", "levels together spend twice the spend, and nobody counts", patched(
        (question, "planned_shares", _too_large_shares), (prices.Purse, "pay", _free_purse)
    )),
    CensusMutant("shares by true counts", "levels with more people get more of the spend", patched(
        (_prepared, "counted", _shares_by_true_counts), (prices.Purse, "pay", _free_purse)
    )),
    CensusMutant("one noise at two levels", "the noise of a level is used again", patched(
        (_prepared, "measured", _one_noise_for_two_levels)
    )),
    CensusMutant("zeros skipped", "cells without people get no noise", patched(
        (question, "with_noise", _zeros_skipped)
    )),
    CensusMutant("zeros drop their noise", "cells without people stay 0", patched(
        (question, "with_noise", _noise_stops_at_zero)
    )),
    CensusMutant("a total read off the rows", "the first measurement is the exact one", patched(
        (_prepared, "measured", _total_read_off_rows)
    )),
    CensusMutant("integers of true counts", "integers are made of exact counts", patched(
        (_prepared, "counted", _true_leaves), (_prepared, "_released", _integers_of_true_counts)
    )),
    CensusMutant("noise halved", "the noise is half of what is certified", patched((question, "with_noise", _halved))),
    CensusMutant("the true size shown", "the certificate has the number of rows", patched(
        (_prepared, "counted", _remembered), (_prepared, "_released", _true_size)
    )),
    CensusMutant("the cap forgotten", "all rows of a person count", patched((question.Layout, "rows", _capped_late))),
    CensusMutant("the cap uncharged", "the noise is for fewer rows of a person", patched(
        (question, "measure_norms", _smaller_norms)
    )),
    CensusMutant("overlap forgotten", "a person in two districts moves both", patched(
        (spec.Spec, "_check_districts", lambda self, kind, areas: None)
    )),
    CensusMutant("universes for nothing", "each universe spends the spend, and nobody counts", patched(
        (spec.Spec, "universe_shares", property(_universe_for_nothing)), (prices.Purse, "pay", _free_purse)
    )),
    CensusMutant("counted twice", "two passes over the rows, under two salts", patched(
        (_prepared, "counted", _other_salt)
    )),
)  # fmt: skip
