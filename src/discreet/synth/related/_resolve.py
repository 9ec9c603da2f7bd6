"""Links to public tables: only keys that the public table has are drawn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from discreet.marginals import Clique, Merge, Numbers
from discreet.policy import Key
from discreet.synth._table import SyntheticTable
from discreet.synth.related._parts import Part
from discreet.synth.related._shapes import PublicLink, Shape

__all__ = ["resolved"]

_NEVER = -300.0
"""The logarithm of a weight that no row has."""


def resolved(
    fit: SyntheticTable, part: Part, shapes: Mapping[str, Shape], keys: Mapping[PublicLink, frozenset[Key | None]]
) -> SyntheticTable:
    """The part, in which no row has a key that the public table it belongs to lacks. Null stays."""
    for i, (kind, column) in enumerate(part.roles):
        if kind != "own":
            continue
        for link in shapes[part.table].public:
            if link.column == column:
                fit = _without(fit, i, keys[link])
    return fit


def _without(fit: SyntheticTable, i: int, present: frozenset[Key | None]) -> SyntheticTable:
    public = fit.columns[i].keys or ()
    there = np.array([*(key in present for key in public), *([True] if fit.columns[i].nullable else [])])
    if there.all() or not there.any():
        return fit
    merge = fit.merges[i]
    shares = np.array(merge.shares) * there
    weights = np.zeros(merge.size)
    for cell in range(merge.size):
        inside = np.flatnonzero(merge.places == cell)
        held = shares[inside].sum()
        if there[inside].any():
            shares[inside] = shares[inside] / held if held > 0 else there[inside] / there[inside].sum()
        else:
            shares[inside] = 1 / len(inside)
            weights[cell] = _NEVER
    merges = list(fit.merges)
    merges[i] = Merge(merge.into, tuple(shares.tolist()))
    return replace(fit, merges=tuple(merges), potentials=_lowered(fit.potentials, i, weights))


def _lowered(potentials: dict[Clique, Numbers], i: int, weights: Numbers) -> dict[Clique, Numbers]:
    earlier = potentials.get((i,), np.zeros(len(weights)))
    return {**potentials, (i,): earlier + weights}
