"""What the mode of one expression costs, and its draw from the counts of its public values.

Proof: ``proofs/query_modes.md``.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from discreet.mechanisms import Exponential, PermuteAndFlip
from discreet.privacy import Loss, budget_of
from discreet.rational import Number

if TYPE_CHECKING:
    from discreet.query.measures._bounded import Cells

__all__ = ["ModeNoise", "mode_to_json"]

Choice = Exponential | PermuteAndFlip


@dataclass(frozen=True, slots=True)
class ModeNoise:
    """The mode among so many public `values` in every group, where a unit adds and removes at most `moves` rows in all.

    `mechanism` has the ε of one row, which adds 1 to the count of one value: a unit's moves count at that rate in
    whatever groups they are, and add up to the ε that was paid. Source: ``proofs/query_modes.md``.
    """

    mechanism: Choice
    moves: int
    values: int

    @classmethod
    def calibrate(cls, spend: Loss, values: int, moves: int) -> ModeNoise:
        """The largest ε that the spend allows: of permute-and-flip in ε, of the exponential mechanism in ρ and μ.

        Raises `ParameterError` for a spend of nothing.
        """
        kind = Exponential if budget_of(spend)[0] in ("rho", "mu") else PermuteAndFlip
        return cls(_of_row(kind, kind.calibrate(spend, 1, monotone=True).epsilon / moves), moves, values)

    def draw(self, cells: Cells | None) -> tuple[float, ...]:
        """The place of the value that is picked in one group; of no rows, of any value.

        Costs what the noise of the plan says, for all groups together, **and charges nobody**. Where counts tie, chance
        decides.
        """
        counts = np.zeros(self.values, dtype=np.int64)
        if cells is not None:
            counts[cells[0]] = cells[1]
        return (float(self.mechanism.release(counts)),)

    def loss(self, moved: int) -> Loss:
        """What all groups together lose where two tables differ by so many rows, added or removed, 1 at least."""
        return _of_row(type(self.mechanism), self.mechanism.epsilon * moved).loss()

    def count_error(self, level: Number = 0.95) -> float:
        """By how many rows the count of the picked value is below the largest at most, with probability `level`."""
        return self.mechanism.error(level, candidates=self.values)


def _of_row(kind: type[Choice], epsilon: Fraction) -> Choice:
    return kind(epsilon, 1, monotone=True)


def mode_to_json(noise: ModeNoise) -> dict[str, object]:
    """The noise as plain JSON: exact numbers as text, and how far the count of the picked value may be off."""
    return {
        "mechanism": type(noise.mechanism).__name__,
        "values": noise.values,
        "row_epsilon": str(noise.mechanism.epsilon),
        "row_moves": noise.moves,
        "count_error": {"rows": repr(noise.count_error()), "level": "0.95"},
    }
