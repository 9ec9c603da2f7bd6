"""From exact sums to noisy ones: the only step of a query that meets the mechanisms."""

from __future__ import annotations

from collections.abc import Sequence

from discreet.query._bounded import BoundedAggregate, Group, complete
from discreet.query._noise import Noise

__all__ = ["draw"]


def draw(groups: Sequence[Group], bounded: BoundedAggregate, noise: Noise) -> list[Group]:
    """Noisy groups in the order in which they are released: every public key, or those that are discovered or chosen.

    Absent public keys are sums and quantiles of nothing and get noise like the rest. Costs what `noise` says.
    """
    exact = complete(groups, bounded)
    if noise.selection is not None:
        kept = noise.selection.release([group.units for group in exact])
        exact = [group for group, keep in zip(exact, kept, strict=True) if keep]
    if noise.top_keys is not None:
        exact = noise.top_keys.choose(exact)
    drawn = [
        tuple(noise_of.draw(group.cells[i] if group.cells else None) for i, noise_of in enumerate(noise.quantiles))
        for group in exact
    ]
    columns = [mechanism.release([group.sums[i] for group in exact]) for i, mechanism in enumerate(noise.mechanisms)]
    return [
        Group(group.key, 0, tuple(int(column[i]) for column in columns), quantiles=quantiles)
        for i, (group, quantiles) in enumerate(zip(exact, drawn, strict=True))
    ]
