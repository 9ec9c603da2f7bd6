"""The exact loss of a query's noise between two given databases."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from discreet.audit.sql._query import Query, Tables
from discreet.privacy import Loss, PureLoss
from discreet.query import Group, Noise
from discreet.sensitivity import Norms

__all__ = ["loss_between"]


def loss_between(query: Query, first: Tables, second: Tables) -> Loss | None:
    """The loss of the noisy sums of a query on two databases: what one run may reveal of which of them it ran on.

    Every measure's own mechanism states it for the distance between the two databases' exact sums, under the salt of
    the query. It is what the pair truly loses if the output tells the noisy sums, else at least that. Quantiles
    state theirs for as many rows as the two databases differ by in the group, which bounds it; so does a choice of
    keys, for its count's largest move, beside the noise of those keys that differ most. Where the query chooses its
    cap, it is that of the counts that choose it and of the answer under a cap of 1. None where keys are private, whose
    discovery has no closed form beside the noise. Costs no privacy. Raises as `Query.aggregate`.

    >>> import pyarrow as pa
    >>> from discreet.audit import query
    >>> from discreet.privacy import pure
    >>> policy = {"version": "1", "tables": {"t": {"unit": "u", "max_rows": 4, "columns": {}}}}
    >>> count = query("SELECT COUNT(*) AS n FROM t", policy, pure(1))
    >>> loss_between(count, {"t": pa.table({"u": [1, 1, 1]})}, {"t": pa.table({"u": [2]})})
    pure(0.5)
    >>> loss_between(count, {"t": pa.table({"u": [1]})}, {"t": pa.table({"u": [2]})})
    pure(0)
    """
    plan, groups = query.aggregate(first)
    _, others = query.aggregate(second)
    losses: list[Loss] = []
    for level, here, there in zip(plan.all_levels, groups, others, strict=True):
        assert level.noise is not None
        if level.noise.selection is not None:
            return None
        losses += _losses(level.noise, here, there)
    if not losses:
        return PureLoss(Fraction(0))
    total = losses[0]
    for loss in losses[1:]:
        total = total + loss
    return total


def _losses(noise: Noise, groups: list[Group], others: list[Group]) -> list[Loss]:
    sums, other_sums = _by_key(groups), _by_key(others)
    nothing = (0,) * len(noise.mechanisms)
    losses: list[Loss] = []
    for i, mechanism in enumerate(noise.mechanisms):
        moves = [abs(sums.get(k, nothing)[i] - other_sums.get(k, nothing)[i]) for k in {**sums, **other_sums}]
        moved = [move for move in moves if move]
        top = noise.top_keys
        if top is not None and moved:
            losses += [top.loss(max(moved))] if i == top.count else []
            moved = sorted(moved)[-top.mechanism.k :]
        if len(moved) == 1:  # of one number the discrete Gaussian knows more
            losses.append(mechanism.loss(moved[0]))
        elif moved:
            losses.append(mechanism.loss(Norms(sum(moved), sum(move * move for move in moved), max(moved))))
    cells, other_cells = _cells(groups), _cells(others)
    for i, quantile in enumerate(noise.quantiles):
        at = {key for key in cells.keys() | other_cells.keys() if key[1] == i}
        rows = sum(abs(cells.get(key, 0) - other_cells.get(key, 0)) for key in at)
        if rows:
            losses.append(quantile.loss(rows))
    return losses


def _by_key(groups: list[Group]) -> Mapping[object, tuple[int, ...]]:
    return {group.key: group.sums for group in groups}


def _cells(groups: list[Group]) -> dict[tuple[object, int, int], int]:
    """How many rows each cell of each group's histograms holds."""
    return {
        (group.key, i, cell): count
        for group in groups
        for i, (cells, counts) in enumerate(group.cells)
        for cell, count in zip(cells.tolist(), counts.tolist(), strict=True)
    }
