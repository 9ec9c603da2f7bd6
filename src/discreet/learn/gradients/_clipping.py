"""By how much a unit's gradient is scaled, given an upper bound of its norm."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from torch import Tensor

from discreet.errors import ParameterError

__all__ = ["LEAST_BOUND", "MOST_BOUND", "Clipping", "Fixed", "Normalised"]

LEAST_BOUND, MOST_BOUND = 1e-12, 1e12
"""Of the norms that gradients are clipped to."""


class Clipping(Protocol):
    """Scales gradients so that none is longer than `bound`. Nothing here depends on any other unit."""

    @property
    def bound(self) -> float:
        """The largest norm of a unit's scaled gradient: a public number."""
        ...

    def factors(self, norms: Tensor) -> Tensor:
        """Of each unit, c ≥ 0 with c · norm ≤ bound, up to a rounding of float64. Norms are finite."""
        ...


@dataclass(frozen=True)
class Fixed:
    """Gradients longer than `bound` are scaled down to it; others stay (Abadi et al. 2016).

    >>> import torch
    >>> Fixed(2.0).factors(torch.tensor([1.0, 4.0]))
    tensor([1.0000, 0.5000])
    """

    bound: float = 1.0

    def __post_init__(self) -> None:
        bound_in_range(self.bound)

    def factors(self, norms: Tensor) -> Tensor:
        """min(1, bound / norm)."""
        return (self.bound / norms.clamp_min(self.bound)).clamp_max(1.0)


@dataclass(frozen=True)
class Normalised:
    """Every gradient gets nearly length `bound`: bound / (norm + stability) (Bu et al. 2023, AUTO-S).

    No clipping norm is left to tune: another bound is another learning rate. `stability` is in the units of the loss's
    gradient; what is much shorter stays short.

    >>> import torch
    >>> Normalised(stability=1.0).factors(torch.tensor([1.0, 4.0]))
    tensor([0.5000, 0.2000])
    """

    bound: float = 1.0
    stability: float = 0.01

    def __post_init__(self) -> None:
        bound_in_range(self.bound)
        bound_in_range(self.stability, "stability")

    def factors(self, norms: Tensor) -> Tensor:
        """The bound over norm + stability."""
        return self.bound / (norms + self.stability)


def bound_in_range(bound: float, name: str = "bound") -> None:
    if not LEAST_BOUND <= bound <= MOST_BOUND:
        raise ParameterError(f"{name} must be a number from {LEAST_BOUND:g} to {MOST_BOUND:g}, not {bound!r}")
