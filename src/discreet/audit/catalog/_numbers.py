"""Entries for noise on numbers: pairs on which a claim is attained by an event of large probability."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from discreet import mechanisms
from discreet.audit.black_box._subject import Batched, batched
from discreet.audit.catalog._entry import Entry
from discreet.privacy import approx, mu, pure
from discreet.sensitivity import Norms

__all__ = ["numbers"]

_MANY = 1_000_000


def numbers() -> Iterator[Entry]:
    """Noise on integers, one or several, and on real numbers on a grid."""
    yield from _pure()
    yield from _with_a_curve()
    yield from _counters()


def _pure() -> Iterator[Entry]:
    entry = partial(Entry, group="Numbers", samples=_MANY)
    laplace, vector, continuous = mechanisms.DiscreteLaplace(1), mechanisms.DiscreteLaplace(2), mechanisms.Laplace(1)
    one, ten = mechanisms.Staircase(1, 1), mechanisms.Staircase(1, 10)
    bounded = mechanisms.BoundedLaplace.calibrate(pure(1), 1, bounds=(0, 10))
    grid = mechanisms.OnGrid(mechanisms.DiscreteLaplace(100), step="0.01", bounds=(0, 50))
    yield entry(
        "DiscreteLaplace",
        shown="DiscreteLaplace(1)",
        mechanism=_of_one(laplace),
        pairs=((0, 1),),
        claim=laplace.loss(1),
        kind=mechanisms.DiscreteLaplace,
        note="attained by every output at or below the lower value",
    )
    yield entry(
        "DiscreteLaplace vector",
        shown="DiscreteLaplace(2), two numbers",
        mechanism=_of_several(vector),
        pairs=(([0, 0], [1, 1]), ([0, 0], [2, 0])),
        claim=vector.loss(Norms(2, 4)),
        kind=mechanisms.DiscreteLaplace,
        note="attained where both outputs are at or below the lower values",
    )
    yield entry(
        "Laplace",
        shown="Laplace(1)",
        mechanism=_of_one(continuous),
        pairs=((0, 1),),
        claim=continuous.loss(1),
        kind=mechanisms.Laplace,
        note="attained by every output below the lower value",
    )
    yield entry(
        "Staircase",
        shown="Staircase(1, sensitivity=1)",
        mechanism=_of_one(one),
        pairs=((0, 1),),
        claim=one.loss(1),
        kind=mechanisms.Staircase,
        note="at sensitivity 1 the noise is that of DiscreteLaplace",
    )
    yield entry(
        "Staircase wide",
        shown="Staircase(1, sensitivity=10)",
        mechanism=_of_one(ten),
        pairs=((0, 10),),
        claim=ten.loss(10),
        kind=mechanisms.Staircase,
        note="attained a step away from the lower value, and beyond",
    )
    yield entry(
        "BoundedLaplace",
        shown="BoundedLaplace.calibrate(dp.pure(1), 1, bounds=(0, 10))",
        mechanism=_of_one(bounded),
        pairs=((0, 1), (4, 5)),
        claim=bounded.loss(1),
        kind=mechanisms.BoundedLaplace,
        note="attained at a bound alone, from there and from one step off",
    )
    yield entry(
        "OnGrid",
        shown='OnGrid(DiscreteLaplace(100), step="0.01", bounds=(0, 50))',
        mechanism=grid,
        pairs=((49.0, 50.0),),
        claim=grid.loss(1),
        kind=mechanisms.OnGrid,
        samples=100_000,
        note="the step divides the sensitivity, so that rounding costs nothing",
    )


def _with_a_curve() -> Iterator[Entry]:
    entry = partial(Entry, group="Numbers", samples=_MANY)
    truncated = mechanisms.TruncatedLaplace.calibrate(approx(1, "0.05"), 1)
    discrete, gaussian = mechanisms.DiscreteGaussian(1), mechanisms.Gaussian(1)
    yield entry(
        "TruncatedLaplace",
        shown='TruncatedLaplace.calibrate(dp.approx(1, "0.05"), 1)',
        mechanism=_of_one(truncated),
        pairs=((0, 1),),
        claim=truncated.loss(1),
        kind=mechanisms.TruncatedLaplace,
        note="the outputs at or below the lower value attain ε and δ at once",
    )
    yield entry(
        "DiscreteGaussian",
        shown="DiscreteGaussian(1)",
        mechanism=_of_one(discrete),
        pairs=((0, 1),),
        claim=discrete.loss(1),
        delta="0.05",
        kind=mechanisms.DiscreteGaussian,
        note="its own loss distribution is claimed; at this δ the event is frequent",
    )
    yield entry(
        "DiscreteGaussian vector",
        shown="DiscreteGaussian(2), three numbers",
        mechanism=_of_several(mechanisms.DiscreteGaussian(2)),
        pairs=(([0, 0, 0], [1, 1, 1]),),
        claim=mechanisms.DiscreteGaussian(2).loss(Norms(3, 3)),
        delta="0.005",
        kind=mechanisms.DiscreteGaussian,
        note="ρ is attained by Rényi divergences; every ε that is told from ρ is above the true one",
    )
    yield entry(
        "Gaussian",
        shown="Gaussian(1)",
        mechanism=_of_one(gaussian),
        pairs=((0, 1),),
        claim=gaussian.loss(1),
        delta="0.127",
        kind=mechanisms.Gaussian,
        note="at this δ the best event ends halfway between whole numbers, and rounding hides nothing",
    )
    yield entry(
        "Gaussian vector",
        shown="Gaussian(200), two numbers",
        mechanism=_of_several(mechanisms.Gaussian(200)),
        pairs=(([0, 0], [200, 0]), ([0, 0], [120, 160])),
        claim=mechanisms.Gaussian(200).loss(Norms(280, 200**2)),
        delta="0.05",
        kind=mechanisms.Gaussian,
        note="μ is attained in every direction",
    )


def _counters() -> Iterator[Entry]:
    entry = partial(Entry, group="Many answers", pairs=(([0] * 4, [1, 0, 0, 0]),), samples=100_000)
    for name, arity in (("TreeCounter", None), ("TreeCounter binary", 2)):
        tree = mechanisms.TreeCounter.calibrate(pure(1), 1, steps=4, arity=arity)
        yield entry(
            name,
            shown=f"TreeCounter.calibrate(dp.pure(1), 1, steps=4{'' if arity is None else ', arity=2'})",
            mechanism=tree,
            claim=tree.loss(1),
            kind=mechanisms.TreeCounter,
            note=f"the first step is in a node of each of {tree.height} levels, and all of their noises must fall low",
        )
    toeplitz = mechanisms.ToeplitzCounter.calibrate(mu(1), 100, steps=4)
    yield entry(
        "ToeplitzCounter",
        shown="ToeplitzCounter.calibrate(dp.mu(1), 100, steps=4)",
        mechanism=toeplitz,
        pairs=(([0] * 4, [100, 0, 0, 0]),),
        claim=toeplitz.loss(100),
        delta="0.05",
        kind=mechanisms.ToeplitzCounter,
        note="the first step moves the whole column",
    )


def _of_one(mechanism: Any) -> Batched:
    """Each of many values with noise of its own."""
    return batched(lambda value, size: mechanism.release([value] * size))


def _of_several(mechanism: Any) -> Batched:
    """Each of many vectors with noise of its own."""
    return batched(lambda vector, size: mechanism.release(np.array([vector] * size)).astype(np.int64))
