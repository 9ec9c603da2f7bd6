"""What a spend buys of a graph: three noisy measurements, each charged by its own loss; generating costs nothing."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError
from discreet.graphs._graph import Graph
from discreet.graphs.counts import Triangles
from discreet.graphs.synthetic._statistics import (
    CLUSTERING_NORMS,
    SURVIVAL_NORMS,
    UNIT,
    class_bounds,
    clustering_by_class,
    survival,
)
from discreet.mechanisms import DiscreteGaussian, DiscreteLaplace, SmoothSensitivity
from discreet.prices import with_noise
from discreet.privacy import ApproxLoss, Loss, PureLoss, RhoLoss, budget_of

__all__ = ["MeasurementPlan", "NoisyMeasurements"]

SHARES = {"degrees": Fraction(1, 2), "clustering": Fraction(7, 20), "triangles": Fraction(3, 20)}
"""Of the spend: what each measurement costs."""
_FEWEST = 3
_MOST = 2**24


@dataclass(frozen=True, slots=True)
class MeasurementPlan:
    """Which measurements of a graph are taken, with which noise: public, and free.

    ==============  ===================================================  =====  ==================================
    measurement     what                                                 share  noise
    ==============  ===================================================  =====  ==================================
    degrees         how many vertices have at least k neighbours         1/2    discrete Laplace, or Gaussian for ρ
    clustering      sums of local clustering coefficients, by degree     7/20   discrete Laplace, or Gaussian for ρ
    triangles       how many there are                                   3/20   for their smooth sensitivity
    ==============  ===================================================  =====  ==================================

    Parameters
    ----------
    vertices
        The public number of vertices, from 3 to 2**24.
    spend
        `dp.pure(ε)`, `dp.approx(ε, δ)` or `dp.rho(ρ)`, per edge: neighbours differ in one edge. A δ is used by the
        triangles alone.

    Raises `ParameterError` for another spend, or if it is too small for noise that can be drawn.
    Source: ``proofs/graph_synthetic.md``.

    >>> from discreet.privacy import pure
    >>> plan = MeasurementPlan(4039, pure(1))
    >>> plan.degrees, plan.loss()
    (DiscreteLaplace(scale=4), pure(1))
    """

    vertices: int
    spend: Loss

    def __post_init__(self) -> None:
        if isinstance(self.vertices, bool) or not isinstance(self.vertices, int | np.integer):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ParameterError("the number of vertices is an integer")
        if not _FEWEST <= self.vertices <= _MOST:
            raise ParameterError(f"a synthetic graph has from {_FEWEST} to {_MOST:,} vertices; got {self.vertices:,}")
        kind, (amount, *_) = budget_of(self.spend)
        if kind == "mu":
            raise ParameterError(
                "a synthetic graph is paid in epsilon or rho, and this spend is in mu; "
                "spend dp.pure(1), dp.approx(1, 1e-6) or dp.rho(0.1)"
            )
        if amount <= 0:
            raise ParameterError("the spend must be greater than 0")
        object.__setattr__(self, "vertices", int(self.vertices))
        _ = self.degrees, self.clustering, self.triangles

    @property
    def degrees(self) -> DiscreteLaplace | DiscreteGaussian:
        """The noise on each number of vertices with at least k neighbours."""
        return self._additive("degrees", SURVIVAL_NORMS)

    @property
    def clustering(self) -> DiscreteLaplace | DiscreteGaussian:
        """The noise on each sum of local clustering coefficients, in 2**−32."""
        return self._additive("clustering", CLUSTERING_NORMS)

    @property
    def triangles(self) -> SmoothSensitivity:
        """The mechanism for triangles. How large its noise is depends on the graph, and is not released."""
        return SmoothSensitivity(Triangles(self.vertices), spend=self.price("triangles"))

    def price(self, measurement: str) -> Loss:
        """What one measurement costs."""
        kind, (amount, *deltas) = budget_of(self.spend)
        share = amount * SHARES[measurement]
        if kind == "rho":
            return RhoLoss(share, Fraction(0))
        if kind == "approx" and any(deltas) and measurement == "triangles":
            return ApproxLoss(share, deltas[0])
        return PureLoss(share)

    def loss(self) -> Loss:
        """What the measurements cost together, and so all that is made of them. Source: basic composition."""
        return self.spend

    def _additive(self, measurement: str, norms: Any) -> DiscreteLaplace | DiscreteGaussian:
        price = self.price(measurement)
        kind = DiscreteGaussian if isinstance(price, RhoLoss) else DiscreteLaplace
        return kind.calibrate(price, norms)

    def measure(self, graph: Graph) -> NoisyMeasurements:
        """Take the measurements. Costs `loss()`, **and charges nobody**: this is the raw toolbox.

        Raises `ParameterError` if the graph has another number of vertices, which is public.
        """
        if graph.vertices != self.vertices:
            raise ParameterError(f"the plan is for {self.vertices} vertices, and the graph has {graph.vertices}")
        return NoisyMeasurements(
            plan=self,
            survival=with_noise(survival(graph), self.degrees),
            clustering=with_noise(clustering_by_class(graph), self.clustering),
            triangles=self.triangles.release(graph),
        )


@dataclass(frozen=True, eq=False)
class NoisyMeasurements:
    """What is released of a graph: noisy numbers, from which everything else is computed. No longer sensitive.

    Attributes
    ----------
    plan
        What was measured, with which noise.
    survival
        How many vertices have at least k neighbours, k = 1 … vertices − 1, with noise: int64.
    clustering
        The sum of local clustering coefficients of the vertices of each class of degrees, in 2**−32, with noise: int64.
    triangles
        How many triangles there are, with noise.
    """

    plan: MeasurementPlan
    survival: NDArray[np.int64]
    clustering: NDArray[np.int64]
    triangles: float

    def __post_init__(self) -> None:
        vertices = self.plan.vertices
        if self.survival.shape != (vertices - 1,) or self.clustering.shape != (len(class_bounds(vertices)),):
            raise ParameterError("the measurements do not fit the number of vertices of their plan")

    @cached_property
    def clustering_sums(self) -> NDArray[np.float64]:
        """The noisy sums of local clustering coefficients, as numbers."""
        return self.clustering / UNIT

    @property
    def clustering_std(self) -> float:
        """The standard deviation of the noise of one of `clustering_sums`."""
        return self.plan.clustering.std / UNIT
