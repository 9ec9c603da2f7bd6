"""Which noise a run takes: the candidates that a spend allows, by the error that is planned for each."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from fractions import Fraction
from functools import partial

from discreet.errors import ParameterError
from discreet.learn.correlated._mechanism import CorrelatedGaussian
from discreet.learn.correlated._optimize import optimize, optimize_blt
from discreet.learn.correlated._participation import CyclicPoisson, MinimumSeparation, Sampling
from discreet.learn.correlated._prefix_error import Objective
from discreet.learn.correlated._strategies import Independent, Strategy
from discreet.mechanisms.numeric._integers import whole_in
from discreet.privacy import Loss, budget_of
from discreet.rational import Number

__all__ = ["candidates", "cheapest"]

_MOST_STATE = 1 << 12
_MOST_BUFFERS = 3


def cheapest(  # noqa: PLR0913 (all but two by keyword)
    spend: Loss,
    apart: MinimumSeparation,
    *,
    bound: Number,
    size: int,
    state: int = 4,
    secret_samples: bool = True,
    objective: Objective = "rms",
    beside: Number = 0,
) -> CorrelatedGaussian:
    """Of the `candidates`, the run of the least planned error of prefix sums.

    >>> from discreet.privacy import mu
    >>> run = cheapest(mu(1), MinimumSeparation.epochs(steps=512, epochs=1), bound=1000, size=100)
    >>> type(run.strategy).__name__, round(run.prefix_std() / 1000, 2)
    ('Blt', 2.84)
    """
    return candidates(
        spend,
        apart,
        bound=bound,
        size=size,
        state=state,
        secret_samples=secret_samples,
        objective=objective,
        beside=beside,
    )[0]


def candidates(  # noqa: PLR0913 (all but two by keyword)
    spend: Loss,
    apart: MinimumSeparation,
    *,
    bound: Number,
    size: int,
    state: int = 4,
    secret_samples: bool = True,
    objective: Objective = "rms",
    beside: Number = 0,
) -> tuple[CorrelatedGaussian, ...]:
    """The runs that a spend allows, each with about its least noise, by the error planned for prefix sums, least first.

    Each lets a person take part in as many steps: `apart`; or, with `secret_samples` and a spend in (ε, δ), on average,
    by Poisson sampling from 1, 2, 4, … groups in turn. So batches are as large on average, and errors may be compared.
    A strategy keeps at most `state` numbers per parameter; one that this spend would take beyond 64 bits is left out.
    `bound`, `size`, `beside` and `objective` are as in `CorrelatedGaussian`. Costs no privacy: all of it is public.
    Raises `ParameterError` for numbers outside their range, and for a spend in pure ε.
    """
    most = whole_in(state, "state", 0, _MOST_STATE)
    steps, participations, separation = apart.steps, apart.participations, apart.separation
    pairs: list[tuple[Strategy, Sampling]] = []
    if most:
        bands = min(steps, most + 1)
        pairs.append((optimize(steps, participations, separation, bands=bands, objective=objective), apart))
        buffers = min(most, _MOST_BUFFERS)
        pairs.append((optimize_blt(steps, participations, separation, buffers=buffers, objective=objective), apart))
    if secret_samples and budget_of(spend)[0] == "approx":
        pairs += list(_sampled(apart, most, objective))
    calibrate = partial(CorrelatedGaussian.calibrate, spend, bound=bound, size=size, beside=beside)
    runs = [calibrate(Independent(), apart)]
    for strategy, sampling in pairs:
        with suppress(ParameterError):
            runs.append(calibrate(strategy, sampling))
    return tuple(sorted(runs, key=lambda run: run.prefix_std(objective)))


def _sampled(apart: MinimumSeparation, most: int, objective: Objective) -> Iterator[tuple[Strategy, CyclicPoisson]]:
    """With as many bands as groups, which is the most that a sample in secret allows."""
    groups = 1
    while groups <= most + 1 and groups * apart.most <= apart.steps:
        sampling = CyclicPoisson(apart.steps, Fraction(groups * apart.most, apart.steps), groups)
        single = groups == 1
        yield (
            Independent() if single else optimize(apart.steps, sampling.blocks, groups, objective=objective),
            sampling,
        )
        groups *= 2
