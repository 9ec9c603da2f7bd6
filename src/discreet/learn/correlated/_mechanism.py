"""The Gaussian mechanism with correlated noise: what a run costs, the noise that a spend asks for, and the noise."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from discreet.errors import ParameterError
from discreet.learn.correlated._filters import most_sigma
from discreet.learn.correlated._noise import CorrelatedNoise, NoiseState
from discreet.learn.correlated._participation import (
    CyclicPoisson,
    MinimumSeparation,
    Sampling,
    sensitivity_squared,
)
from discreet.learn.correlated._prefix_error import Objective, noise_gain
from discreet.learn.correlated._strategies import GUARD, WEIGHT_PLACES, Blt, Strategy
from discreet.mechanisms import Gaussian
from discreet.mechanisms.numeric._integers import whole_in
from discreet.mechanisms.numeric._roots import root_down, root_up
from discreet.noise import MIN_SCALE, scale_in_range
from discreet.privacy import Loss, MuLoss, budget_of, gaussian, solve
from discreet.rational import Number, decimal_text, rational
from discreet.reprs import call_repr

__all__ = ["CorrelatedGaussian"]

_MOST_SIZE = 1 << 40
_BARELY = 1 + Fraction(1, 2**38)


@dataclass(frozen=True, slots=True, init=False)
class CorrelatedGaussian:
    """Releases o = x + C⁻¹·z, a row for each step of a run, where x are sums of people's contributions.

    Contributions are vectors of whole numbers. What is released is post-processing of C·x + z, with z the rounding of
    continuous Gaussian noise, independent for each entry, which is a Gaussian mechanism also for contributions chosen
    in view of what was released.

    Parameters
    ----------
    strategy
        C: `Independent`, `BandedToeplitz` or `Blt`.
    sampling
        Which steps a person takes part in: `MinimumSeparation` or `CyclicPoisson`.
    sigma
        The standard deviation of an entry of z, in steps of the contributions' grid.
    bound
        The L2 norm of one person's contribution to one step is at most this, in the same unit, above 0.
    size
        How many entries a contribution has, from 1 to 2**40.

    Raises `ParameterError` for anything else; where C's sensitivity is not proved for this sampling; and where sigma is
    so large that whole numbers of 64 bits do not hold the noise.
    Source: Denisov and others 2022, Theorem 2.1; ``proofs/correlated_noise.md``.

    >>> from discreet.learn.correlated import optimize
    >>> sampling = MinimumSeparation.epochs(steps=512, epochs=1)
    >>> run = CorrelatedGaussian(optimize(512, 1, 512, bands=4), sampling, sigma=2000, bound=1000, size=10)
    >>> round(run.loss.mu(), 3)
    0.821
    """

    strategy: Strategy
    sampling: Sampling
    sigma: Fraction
    bound: Fraction
    size: int

    __repr__ = call_repr

    def __init__(self, strategy: Strategy, sampling: Sampling, sigma: Number, *, bound: Number, size: int) -> None:
        if not isinstance(strategy, Strategy) or not isinstance(sampling, Sampling):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ParameterError("a run takes a strategy, such as Independent(), and how it samples")
        exact = rational(bound, "bound")
        if exact <= 0:
            raise ParameterError(f"bound must be above 0, got {decimal_text(exact)}")
        object.__setattr__(self, "strategy", strategy)
        object.__setattr__(self, "sampling", sampling)
        object.__setattr__(self, "sigma", scale_in_range(sigma, "sigma"))
        object.__setattr__(self, "bound", exact)
        object.__setattr__(self, "size", whole_in(size, "size", 1, _MOST_SIZE))
        scale_in_range(self.sigma * 2**strategy.places, "sigma on the grid of the noise")
        if float(self.sigma) * 2**strategy.places > most_sigma(strategy, sampling.steps):
            raise ParameterError("sigma is too large for exact sums in 64 bits; put contributions on a coarser grid")
        _ = self._distance_squared  # refuses what no sensitivity is proved for

    @classmethod
    def calibrate(  # noqa: PLR0913 (all but three by keyword)
        cls,
        spend: Loss,
        strategy: Strategy,
        sampling: Sampling,
        *,
        bound: Number,
        size: int,
        beside: Number = 0,
    ) -> CorrelatedGaussian:
        """The run with about the least sigma whose loss is within `spend`: (ε, δ) with δ > 0, ρ or μ.

        With `beside`, the loss together with that of a Gaussian mechanism of this μ², which is released too, is within
        the spend. Costs no privacy. Raises `ParameterError` for a pure ε; for `CyclicPoisson` at a ρ or a μ, in which
        sampling amplifies nothing; where `beside` leaves nothing; and as the class does.
        Source: `Gaussian.calibrate`, `discreet.privacy.solve`.

        >>> from discreet.learn.correlated import Independent
        >>> from discreet.privacy import mu
        >>> sampling = MinimumSeparation(steps=100, participations=4, separation=25)
        >>> CorrelatedGaussian.calibrate(mu(1), Independent(), sampling, bound=10, size=3).sigma
        Fraction(20, 1)
        """
        kind, _ = budget_of(spend)
        other = rational(beside, "beside")
        shape = cls(strategy, sampling, max(MIN_SCALE, Fraction(1)), bound=bound, size=size)
        if isinstance(sampling, MinimumSeparation) or kind == "pure":
            sigma = _sigma_beside(spend, other) * root_up(shape._distance_squared)
        elif kind == "approx":
            if other:
                _sigma_beside(spend, other)  # refuses what leaves nothing
            multiplier = solve(lambda noise: _sampled_loss(Fraction(noise), sampling, other), spend)
            # The division by ‖C‖ in the loss is rounded down: a bit more noise makes up for it.
            sigma = Fraction(multiplier) * root_up(shape._distance_squared) * _BARELY
        else:
            raise ParameterError(
                "in rho and in mu a secret sample costs as much as everybody's taking part; use MinimumSeparation("
                f"steps={sampling.steps}, participations={sampling.blocks}, separation={sampling.groups})"
            )
        return cls(strategy, sampling, max(sigma, MIN_SCALE), bound=bound, size=size)

    @property
    def loss(self) -> Loss:
        """What the whole run costs, with any number of restarts, for neighbours by adding or removing one person.

        `MinimumSeparation`: μ = D/sigma, D being how far C·x moves. `CyclicPoisson`: for each block of `groups` steps
        the sample of one Gaussian mechanism, with noise sigma/(‖C‖·bound).
        """
        squared = self._distance_squared / self.sigma**2
        if isinstance(self.sampling, MinimumSeparation):
            return MuLoss(squared)
        return _sampled_loss(root_down(1 / squared), self.sampling)

    @property
    def _distance_squared(self) -> Fraction:
        """The square of how far C·x moves at most: for one participation, if people are sampled in secret."""
        sampling = self.sampling
        if isinstance(sampling, CyclicPoisson):
            if self.strategy.bands is None or self.strategy.bands > sampling.groups:
                raise ParameterError(
                    f"a sample in secret amplifies noise of at most as many bands as groups, {sampling.groups}; use a "
                    "BandedToeplitz of no more bands, or MinimumSeparation"
                )
            sampling = MinimumSeparation(sampling.steps)
        squared = sensitivity_squared(self.strategy, sampling) * self.bound**2
        slack = self._rounding
        return (root_up(squared) + slack) ** 2 if slack else squared

    @property
    def _rounding(self) -> Fraction:
        """How far the roundings of a `Blt` move C·x, in L2 norm, at most. Bands are exact."""
        if not isinstance(self.strategy, Blt):
            return Fraction(0)
        weights = Fraction(sum(self.strategy.weights), 1 << WEIGHT_PLACES)
        each = (1 + weights + self.strategy.reach / 2**GUARD) / 2**self.strategy.places
        return each * root_up(Fraction(self.size * (self.sampling.steps - 1)))

    def prefix_std(self, objective: Objective = "rms") -> float:
        """The planned standard deviation of an entry of a prefix sum of o − x, in steps of the contributions' grid.

        The root mean square over the prefixes of a run without restarts (``"rms"``), or the last, which is the worst
        (``"max"``); in floats. Costs no privacy.
        """
        return noise_gain(self.strategy, self.sampling.steps, objective) * float(self.sigma)

    def start(self) -> CorrelatedNoise:
        """The noise of a run, from its first step.

        Costs `loss` for the whole run, **and charges nobody**: this is the raw toolbox.
        """
        return CorrelatedNoise(self.strategy, self.sigma, self.size, self.sampling.steps)

    def resume(self, state: NoiseState | None, begun: int) -> CorrelatedNoise:
        """The noise of a run that goes on after step `begun`, the last that its durable counter says was begun.

        `state` is that of a checkpoint of the same run, or None where it is lost. Costs nothing beyond `loss`; noise of
        steps that are lost stays in sums for good. Raises `ParameterError` for a state of other noise or of a step
        after `begun`. Source: ``proofs/correlated_noise.md``, "Restarts".

        >>> from discreet.learn.correlated import BandedToeplitz
        >>> run = CorrelatedGaussian(BandedToeplitz.rounded([1, 0.5]), MinimumSeparation(9), 5, bound=1, size=2)
        >>> run.resume(None, begun=4).step
        4
        """
        noise = self.start()
        noise.resume(self.strategy, state, begun)
        return noise


def _sampled_loss(multiplier: Fraction, sampling: CyclicPoisson, beside: Fraction = Fraction(0)) -> Loss:
    """That of `blocks` Gaussian mechanisms with this noise, each on a sample; and of another one of so much μ²."""
    step = gaussian(multiplier)
    steps = sampling.blocks * (step.sampled(sampling.rate) if sampling.rate < 1 else step)
    return MuLoss(beside) + steps if beside else steps


def _sigma_beside(spend: Loss, beside: Fraction) -> Fraction:
    """The noise of one number that moves by 1, for what another μ² leaves of a spend. `ParameterError` for nothing."""
    sigma = Gaussian.calibrate(spend, 1).sigma
    if not beside:
        return sigma
    left = 1 / sigma**2 - beside
    if beside < 0 or left <= 0:
        raise ParameterError("what is released beside the run takes all of the spend, or less than nothing")
    return Gaussian.calibrate(MuLoss(left), 1).sigma
