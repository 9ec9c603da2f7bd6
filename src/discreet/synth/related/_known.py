"""What earlier parts say of the columns that are given in a later one: these need no marginal of their own there."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from discreet.synth._prior import Prior
from discreet.synth._table import SyntheticTable
from discreet.synth.related._parts import Kind, Part, Role

__all__ = ["known_of"]

Earlier = Sequence[tuple[Part, SyntheticTable]]


def known_of(part: Part, earlier: Earlier, parent: str | None) -> dict[int, Prior | int]:
    """For given columns what an earlier part has of them, or which column of this part is the same one row later.

    A column of the row before is merged as that of the row is. What is constant, or of another table, is merged as it
    was where it was drawn. The order column has no such part.
    """
    at = {role: i for i, role in enumerate(part.roles)}
    known: dict[int, Prior | int] = {}
    for i, (kind, name) in enumerate(part.roles[: part.given]):
        if kind == "previous" and Role("own", name) in at:
            known[i] = at[Role("own", name)]
            continue
        prior = _prior(kind, name, part, earlier, parent)
        if prior is not None:
            known[i] = prior
    return known


def _prior(kind: Kind, name: str, part: Part, earlier: Earlier, parent: str | None) -> Prior | None:
    match kind:
        case "own":
            return _drawn("own", name, part.table, earlier)
        case "parent" if parent is not None:
            return _drawn("own", name, parent, earlier)
        case "number" if parent is not None:
            prior = _drawn("children", part.table, parent, earlier)
            return None if prior is None else _of_one_at_least(prior)
        case _:
            return None


def _drawn(kind: Kind, name: str, table: str, earlier: Earlier) -> Prior | None:
    """The column where it was drawn last: of a history, of the rows that follow another."""
    for part, fit in reversed(earlier):
        if part.table == table and Role(kind, name) in part.roles[part.given :]:
            i = part.roles.index(Role(kind, name))
            return Prior(fit.merges[i], fit.model.marginal((i,)))
    return None


def _of_one_at_least(prior: Prior) -> Prior:
    """Numbers of rows, where there are any."""
    counts = prior.counts.copy()
    if len(prior.merge.places) and (prior.merge.places == prior.merge.places[0]).sum() == 1:
        counts[prior.merge.places[0]] = 0.0
    return Prior(prior.merge, np.asarray(counts))
