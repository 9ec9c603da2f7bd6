"""The choice of the first k keys of a query, as data, and its step before noise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from discreet.mechanisms import TopK
from discreet.privacy import Loss
from discreet.query._bounded import Group
from discreet.sensitivity import Norms

__all__ = ["TopKeys", "top_keys_to_json"]


@dataclass(frozen=True, slots=True)
class TopKeys:
    """Keys are chosen by their exact values of the measure at position `count`; only the chosen ones are measured.

    `norms` are how far one unit moves each measure on any k keys together, k those that `mechanism` picks. Proof:
    ``proofs/query_top_k.md``.
    """

    count: int
    mechanism: TopK
    norms: tuple[Norms, ...]

    def choose(self, groups: Sequence[Group]) -> list[Group]:
        """The k chosen groups, in the order in which all of them came.

        Costs `mechanism.loss()`, **and charges nobody**. Where counts tie, chance decides.
        """
        picked = self.mechanism.release([group.sums[self.count] for group in groups])
        return [groups[i] for i in sorted(picked)]

    def loss(self, moved: int) -> Loss:
        """What the choice loses where no group's count of two tables differs by more than `moved`, 1 at least."""
        mechanism = self.mechanism
        epsilon = mechanism.epsilon * moved / mechanism.sensitivity
        return TopK(mechanism.k, epsilon, mechanism.sensitivity, monotone=mechanism.monotone).loss()


def top_keys_to_json(top: TopKeys) -> dict[str, object]:
    """The choice as plain JSON: the mechanism, exact numbers as text, and which measure it is of."""
    mechanism = top.mechanism
    return {
        "mechanism": "TopK",
        "k": mechanism.k,
        "epsilon": str(mechanism.epsilon),
        "sensitivity": str(mechanism.sensitivity),
        "monotone": mechanism.monotone,
        "measure": top.count,
    }
