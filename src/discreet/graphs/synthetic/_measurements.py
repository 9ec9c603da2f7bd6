"""What a spend buys of a graph: three noisy measurements, each charged by its own loss; generating costs nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import LedgerError, ParameterError
from discreet.graphs._graph import Graph
from discreet.graphs.counts import Triangles
from discreet.graphs.edge._measurements import Measurement, measurement_from_json
from discreet.graphs.edge._smooth_count import SmoothCount
from discreet.graphs.synthetic._statistics import (
    CLUSTERING_NORMS,
    SURVIVAL_NORMS,
    UNIT,
    class_bounds,
    clustering_by_class,
    survival,
)
from discreet.mechanisms import DiscreteGaussian, DiscreteLaplace
from discreet.prices import Additive, additive_from_json, additive_to_json, with_noise
from discreet.privacy import Loss, PureLoss, RhoLoss, budget_of

__all__ = ["SHARES", "MeasurementPlan", "NoisyMeasurements"]

SHARES = {"degrees": Fraction(1, 2), "clustering": Fraction(7, 20), "triangles": Fraction(3, 20)}
"""Of the spend: what each measurement costs."""
_FEWEST = 3
_MOST = 2**24


@dataclass(frozen=True, slots=True)
class MeasurementPlan:
    """Which measurements of a graph are taken, with which noise: public, and free. `calibrate` makes one.

    ==============  ===================================================  =====  ==================================
    measurement     what                                                 share  noise
    ==============  ===================================================  =====  ==================================
    degrees         how many vertices have at least k neighbours         1/2    discrete Laplace, or Gaussian for ρ
    clustering      sums of local clustering coefficients, by degree     7/20   discrete Laplace, or Gaussian for ρ
    triangles       how many there are                                   3/20   `SmoothCount`
    ==============  ===================================================  =====  ==================================

    Attributes
    ----------
    vertices
        The public number of vertices.
    degrees, clustering
        The noise on each number of vertices with at least k neighbours, and on each sum of clustering, in 2**−32.
    triangles
        The mechanism for triangles. How large its noise is depends on the graph, and is not released.

    Source: ``proofs/graph_synthetic.md``.
    """

    vertices: int
    degrees: Additive
    clustering: Additive
    triangles: SmoothCount

    @classmethod
    def calibrate(cls, spend: Loss, vertices: int) -> MeasurementPlan:
        """The measurements that a spend buys, of a graph with so many vertices, from 3 to 2**24.

        The spend is per edge: neighbours differ in one edge. It is `dp.pure(ε)`, `dp.approx(ε, δ)`, of which the δ is
        neither needed nor charged, or `dp.rho(ρ)`. Raises `ParameterError` for another one, or if it is too small for
        noise that can be drawn.

        >>> from discreet.privacy import pure
        >>> plan = MeasurementPlan.calibrate(pure(1), 4039)
        >>> plan.degrees, plan.loss()
        (DiscreteLaplace(scale=4), pure(0.5) + pure(0.35) + pure(0.15))
        """
        if isinstance(vertices, bool) or not isinstance(vertices, int):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ParameterError("the number of vertices is an integer")
        if not _FEWEST <= vertices <= _MOST:
            raise ParameterError(f"a synthetic graph has from {_FEWEST} to {_MOST:,} vertices; got {vertices:,}")
        kind, (amount, *_) = budget_of(spend)
        if kind == "mu":
            raise ParameterError(
                "a synthetic graph is paid in epsilon or rho, and this spend is in mu; "
                "spend dp.pure(1), dp.approx(1, 1e-6) or dp.rho(0.1)"
            )
        noise = DiscreteGaussian if kind == "rho" else DiscreteLaplace
        prices = {
            name: RhoLoss(amount * share, Fraction(0)) if kind == "rho" else PureLoss(amount * share)
            for name, share in SHARES.items()
        }
        return cls(
            vertices,
            noise.calibrate(prices["degrees"], SURVIVAL_NORMS),
            noise.calibrate(prices["clustering"], CLUSTERING_NORMS),
            SmoothCount.calibrate(prices["triangles"], Triangles(vertices)),
        )

    @property
    def losses(self) -> tuple[Loss, Loss, Loss]:
        """What each measurement loses for one edge."""
        return (
            self.degrees.loss(SURVIVAL_NORMS),
            self.clustering.loss(CLUSTERING_NORMS),
            self.triangles.loss(),
        )

    def loss(self) -> Loss:
        """What the measurements lose together, and so all that follows from them. Source: basic composition."""
        return self.losses[0] + self.losses[1] + self.losses[2]

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

    def to_json(self) -> dict[str, Any]:
        """The plan as plain JSON."""
        return {
            "vertices": self.vertices,
            "degrees": additive_to_json(self.degrees),
            "clustering": additive_to_json(self.clustering),
            "triangles": Measurement("triangles", self.triangles).to_json(),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> MeasurementPlan:
        """The inverse of `to_json`. Raises `LedgerError` or `KeyError` for anything else."""
        vertices = data["vertices"]
        counted = measurement_from_json(data["triangles"])
        if type(vertices) is not int or not _FEWEST <= vertices <= _MOST:
            raise LedgerError("a synthetic graph has another number of vertices than any that is made")
        if not isinstance(counted.mechanism, SmoothCount) or counted.mechanism.statistic != Triangles(vertices):
            raise LedgerError("a synthetic graph is made from a number of triangles, and its certificate names another")
        return cls(
            vertices, additive_from_json(data["degrees"]), additive_from_json(data["clustering"]), counted.mechanism
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
    triangles: int

    def __post_init__(self) -> None:
        vertices = self.plan.vertices
        if self.survival.shape != (vertices - 1,) or self.clustering.shape != (len(class_bounds(vertices)),):
            raise ParameterError("the measurements do not fit the number of vertices of their plan")

    @property
    def clustering_sums(self) -> NDArray[np.float64]:
        """The noisy sums of local clustering coefficients, as numbers."""
        return self.clustering / UNIT

    @property
    def clustering_std(self) -> float:
        """The standard deviation of the noise of one of `clustering_sums`."""
        return self.plan.clustering.std / UNIT
