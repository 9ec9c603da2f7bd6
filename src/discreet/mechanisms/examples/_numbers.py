"""Examples of noise on numbers: pairs on which a claim is attained by an event of large probability."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from typing import Any

from discreet.mechanisms.additive._bounded_laplace import BoundedLaplace
from discreet.mechanisms.additive._discrete_gaussian import DiscreteGaussian
from discreet.mechanisms.additive._discrete_laplace import DiscreteLaplace
from discreet.mechanisms.additive._gaussian import Gaussian
from discreet.mechanisms.additive._laplace import Laplace
from discreet.mechanisms.additive._on_grid import OnGrid
from discreet.mechanisms.additive._staircase import Staircase
from discreet.mechanisms.additive._truncated_laplace import TruncatedLaplace
from discreet.mechanisms.additive._uniform_noise import UniformNoise
from discreet.mechanisms.examples._example import Example, Scaled, Setting, all_at_once, arrays_at_once
from discreet.privacy import approx, pure
from discreet.rational import rational
from discreet.sensitivity import Norms

__all__ = ["numbers"]


def numbers() -> Iterator[Example]:
    """Noise on integers, one or several, and on real numbers on a grid."""
    yield from _pure()
    yield from _with_a_curve()
    yield _uniform()
    yield _on_grid()


_one = partial(Setting, pairs=((0, 1),), sensitivity=1, samples=1_000_000)
_several = partial(Setting, variant="vector", samples=1_000_000, draw=arrays_at_once)
_example = partial(Example, group="Numbers", sensitivity=1, draw=all_at_once)


def _scaled(at: Callable[[Any], Any]) -> tuple[Scaled, ...]:
    return (Scaled(at, (0, 1), sensitivity=1, step=lambda _: Fraction(1)),)


def _half_width(example: Any) -> str:
    return f"within {float(example.error(0.95)):.6g} with probability 95 %, standard deviation {example.std:.4g}"


def _pure() -> Iterator[Example]:
    bounded = BoundedLaplace.calibrate(pure(1), 1, bounds=(0, 10))
    yield _example(
        DiscreteLaplace,
        use="counts and sums under pure ε; nothing errs less at sensitivity 1",
        costs="pure ε = L1 sensitivity / scale",
        shown="DiscreteLaplace(scale=1)",
        mechanism=DiscreteLaplace(1),
        settings=(
            _one(
                "DiscreteLaplace(1)",
                DiscreteLaplace(1),
                note="attained by every output at or below the lower value",
            ),
            _several(
                "DiscreteLaplace(2)",
                DiscreteLaplace(2),
                pairs=(([0, 0], [1, 1]), ([0, 0], [2, 0])),
                sensitivity=Norms(2, 4),
                note="two numbers: attained where both outputs are at or below the lower values",
            ),
        ),
        scaled=_scaled(DiscreteLaplace),
        calibrate=lambda spend: DiscreteLaplace.calibrate(spend, 1),
        error=_half_width,
    )
    yield _example(
        Laplace,
        use="releases that must have a pure ε each, and many of which add up to less than their sum",
        costs="the losses of Laplace noise at L1 sensitivity / scale; pure ε by itself",
        shown="Laplace(scale=1)",
        mechanism=Laplace(1),
        settings=(_one("Laplace(1)", Laplace(1), note="attained by every output below the lower value"),),
        scaled=_scaled(Laplace),
        calibrate=lambda spend: Laplace.calibrate(spend, 1),
        error=_half_width,
    )
    yield _example(
        Staircase,
        use="one number that a person may move by many steps, at an ε above 1",
        costs="pure ε",
        shown="Staircase(epsilon=3, sensitivity=10)",
        mechanism=Staircase(3, 10),
        sensitivity=10,
        settings=(
            _one(
                "Staircase(1, sensitivity=1)",
                Staircase(1, 1),
                note="at sensitivity 1 the noise is that of DiscreteLaplace",
            ),
            _one(
                "Staircase(1, sensitivity=10)",
                Staircase(1, 10),
                variant="wide",
                pairs=((0, 10),),
                sensitivity=10,
                note="attained a step away from the lower value, and beyond",
            ),
        ),
        scaled=_scaled(lambda scale: Staircase(1 / scale, 1)),
        calibrate=lambda spend: Staircase.calibrate(spend, 1),
        error=_half_width,
    )
    yield _example(
        BoundedLaplace,
        use="a number that must come back within its public bounds",
        costs="pure ε, by the exact law on the bounds",
        shown="BoundedLaplace.calibrate(dp.pure(1), sensitivity=1, bounds=(0, 10))",
        mechanism=bounded,
        settings=(
            _one(
                "BoundedLaplace.calibrate(dp.pure(1), 1, bounds=(0, 10))",
                bounded,
                pairs=((0, 1), (4, 5)),
                note="attained at a bound alone, from there and from one step off",
            ),
        ),
        scaled=_scaled(lambda scale: BoundedLaplace(scale, (-50, 50))),
        calibrate=lambda spend: BoundedLaplace.calibrate(spend, 1, bounds=(0, 1)),
        error=lambda mechanism: f"within {mechanism.error(0.95)} with probability 95 %, whatever the value",
    )


def _with_a_curve() -> Iterator[Example]:
    yield _example(
        TruncatedLaplace,
        use="an error that never exceeds a bound; the least error where δ is not small beside ε",
        costs="(ε, δ), by the exact law",
        shown="TruncatedLaplace.calibrate(dp.approx(1, 1e-6), sensitivity=1)",
        mechanism=TruncatedLaplace.calibrate(approx(1, 1e-6), 1),
        settings=(
            _one(
                'TruncatedLaplace.calibrate(dp.approx(1, "0.05"), 1)',
                TruncatedLaplace.calibrate(approx(1, "0.05"), 1),
                note="the outputs at or below the lower value attain ε and δ at once",
            ),
        ),
        scaled=_scaled(lambda scale: TruncatedLaplace(scale, 100)),
        calibrate=lambda spend: TruncatedLaplace.calibrate(spend, 1),
        error=lambda mechanism: f"never more than {mechanism.bound}; {_half_width(mechanism)}",
    )
    yield _example(
        DiscreteGaussian,
        use="many counts at once, or many releases, under a budget in ρ",
        costs="a number by its own loss distribution; a vector ρ = (L2 sensitivity)² / 2σ²",
        shown="DiscreteGaussian(sigma=3)",
        mechanism=DiscreteGaussian(3),
        settings=(
            _one(
                "DiscreteGaussian(1)",
                DiscreteGaussian(1),
                delta="0.05",
                note="its own loss distribution is claimed; at this δ the event is frequent",
            ),
            _several(
                "DiscreteGaussian(2)",
                DiscreteGaussian(2),
                pairs=(([0, 0, 0], [1, 1, 1]),),
                sensitivity=Norms(3, 3),
                delta="0.005",
                note="three numbers: ρ is attained by Rényi divergences; every ε told from ρ is above the true one",
            ),
        ),
        scaled=_scaled(DiscreteGaussian),
        calibrate=lambda spend: DiscreteGaussian.calibrate(spend, 1),
        error=_half_width,
    )
    yield _example(
        Gaussian,
        use="vectors under (ε, δ) or μ: the exact Gaussian curve, at any ε",
        costs="μ = L2 sensitivity / σ",
        shown="Gaussian.calibrate(dp.approx(1, 1e-5), sensitivity=1)",
        mechanism=Gaussian.calibrate(approx(1, 1e-5), 1),
        settings=(
            _one(
                "Gaussian(1)",
                Gaussian(1),
                delta="0.127",
                note="at this δ the best event ends halfway between whole numbers, and rounding hides nothing",
            ),
            _several(
                "Gaussian(200)",
                Gaussian(200),
                pairs=(([0, 0], [200, 0]), ([0, 0], [120, 160])),
                sensitivity=Norms(280, 200**2),
                delta="0.05",
                note="two numbers: μ is attained in every direction",
            ),
        ),
        scaled=_scaled(Gaussian),
        calibrate=lambda spend: Gaussian.calibrate(spend, 1),
        error=_half_width,
    )


def _uniform() -> Example:
    return _example(
        UniformNoise,
        use="to learn from: what a δ buys by itself, which is little",
        costs="(0, δ) with δ = L1 sensitivity / (2 bound + 1)",
        shown="UniformNoise.calibrate(dp.approx(1, 0.01), sensitivity=1)",
        mechanism=UniformNoise.calibrate(approx(1, "0.01"), 1),
        settings=(
            _one(
                "UniformNoise(4)",
                UniformNoise(4),
                note="attained by the lowest output, which the higher value cannot have; there is no ε to certify",
            ),
        ),
        scaled=_scaled(lambda scale: UniformNoise(1 + math.ceil(rational(scale, "scale")))),
        calibrate=lambda spend: UniformNoise.calibrate(spend, 1),
        error=_half_width,
    )


def _on_grid() -> Example:
    grid = OnGrid(DiscreteLaplace(100), step="0.01", bounds=(0, 50))
    return _example(
        OnGrid,
        use="real numbers: rounds them to a public grid, and counts the rounding",
        costs="what the mechanism costs at the sensitivity in steps",
        shown='OnGrid(DiscreteLaplace(100), step="0.01", bounds=(0, 50))',
        mechanism=grid,
        settings=(
            _one(
                'OnGrid(DiscreteLaplace(100), step="0.01", bounds=(0, 50))',
                grid,
                pairs=((49.0, 50.0),),
                samples=100_000,
                note="the step divides the sensitivity, so that rounding costs nothing",
            ),
        ),
        scaled=_scaled(lambda scale: OnGrid(DiscreteLaplace(scale), step=1)),
        calibrate=lambda spend: OnGrid.calibrate(spend, 1, kind=DiscreteLaplace, step="0.1"),
        error=_half_width,
        draw=None,
    )
