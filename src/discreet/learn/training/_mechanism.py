"""Which noise a training run takes, from what was asked for: its sampling, its strategy, and its loss."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, Literal

from discreet.errors import LedgerError, ParameterError
from discreet.learn.correlated import (
    CorrelatedGaussian,
    CyclicPoisson,
    Independent,
    MinimumSeparation,
    cheapest,
    strategy_from_json,
    strategy_to_json,
)
from discreet.privacy import ApproxLoss, Loss, budget_of
from discreet.rational import Number, from_exact_text, rational

__all__ = [
    "check_spend_of_training",
    "goes_on_after",
    "groups_of",
    "mechanism_for",
    "mechanism_from_json",
    "mechanism_of_multiplier",
    "mechanism_to_json",
    "sampling_for",
    "share_of",
    "spend_of_noise",
]

_LONGEST = 400


def check_spend_of_training(spend: Loss) -> None:
    """Raise `ParameterError` for a pure ε."""
    if budget_of(spend)[0] == "pure":
        raise ParameterError("training adds Gaussian noise, which has no pure ε: spend (ε, δ), ρ or μ")


def mechanism_for(  # noqa: PLR0913
    spend: Loss,
    steps: int,
    *,
    rate: Number | None,
    epochs: int | None,
    noise: Literal["independent", "auto"],
    bound: int,
    size: int,
    beside: Number = 0,
) -> CorrelatedGaussian:
    """The noise of a run of so many steps that a spend allows, beside a Gaussian mechanism of another μ².

    `rate` takes each person by a coin in each step; 1 takes everybody. `epochs` takes everybody once in each epoch, in
    groups. ``"auto"`` takes the least planned error of what is proved for them: for (ε, δ) and epochs, that may be of
    coins which take a person once in an epoch on average, in every step or in those of a group.
    Raises `ParameterError` for both or neither, a pure ε, and as `CorrelatedGaussian.calibrate` does.
    """
    check_spend_of_training(spend)
    kind, _ = budget_of(spend)
    if noise not in ("independent", "auto"):
        raise ParameterError(f"noise is 'independent' or 'auto', not {noise!r}")
    taken = sampling_for(steps, rate=rate, epochs=epochs)
    if isinstance(taken, CyclicPoisson) and kind != "approx":
        raise ParameterError(
            f"in {kind} a secret sample costs as much as everybody: use rate=1, or epochs= with noise='auto'"
        )
    if isinstance(taken, MinimumSeparation) and noise == "auto":
        return cheapest(spend, taken, bound=bound, size=size, secret_samples=epochs is not None, beside=beside)
    return CorrelatedGaussian.calibrate(spend, Independent(), taken, bound=bound, size=size, beside=beside)


def sampling_for(steps: int, *, rate: Number | None, epochs: int | None) -> CyclicPoisson | MinimumSeparation:
    """Which steps a person takes part in. Raises `ParameterError` for both or neither of the two."""
    if (rate is None) == (epochs is None):
        raise ParameterError("say how people take part: rate=0.01, a coin for each in each step, or epochs=5")
    if epochs is not None:
        return MinimumSeparation.epochs(steps, epochs)
    assert rate is not None
    exact = rational(rate, "rate")
    return MinimumSeparation(steps, steps, 1) if exact == 1 else CyclicPoisson(steps, exact)


def groups_of(sampling: CyclicPoisson | MinimumSeparation) -> int:
    """In how many groups people are: step t takes people of group t modulo that alone. With 1 there are no groups."""
    return sampling.groups if isinstance(sampling, CyclicPoisson) else sampling.separation


def share_of(sampling: CyclicPoisson | MinimumSeparation) -> Fraction:
    """Which part of all people a step takes on average."""
    rate = sampling.rate if isinstance(sampling, CyclicPoisson) else Fraction(1)
    return rate / groups_of(sampling)


def goes_on_after(sampling: CyclicPoisson | MinimumSeparation, begun: int) -> int:
    """After which step another process may go on, which draws groups anew: where a round of all groups has ended.

    The rest of a round that was begun is lost, and so is what noise is correlated with. Then the steps before and after
    share no noise, and a person takes part in no more of them together than in a run without the restart.
    Raises `ParameterError` for a separation without a participation in each round, of which that is not proved.
    Source: ``proofs/correlated_noise.md``, "Restarts".

    >>> goes_on_after(MinimumSeparation.epochs(steps=12, epochs=3), 5)
    8
    """
    groups = groups_of(sampling)
    if isinstance(sampling, MinimumSeparation) and sampling.participations < -(-sampling.steps // groups):
        raise ParameterError("groups are drawn anew only where a person may take part in each round of them")
    return min(-(-begun // groups) * groups, sampling.steps)


def mechanism_of_multiplier(
    multiplier: Number, taken: CyclicPoisson | MinimumSeparation, *, bound: int, size: int
) -> CorrelatedGaussian:
    """Independent noise of so many times what one person adds to a step at most. Raises `ParameterError` below 0."""
    exact = rational(multiplier, "multiplier")
    if exact <= 0:
        raise ParameterError("multiplier is a number above 0: the noise, in parts of what one person adds at most")
    return CorrelatedGaussian(Independent(), taken, exact * bound, bound=bound, size=size)


def spend_of_noise(loss: Loss, delta: Number) -> Loss:
    """The (ε, δ) that a loss costs, rounded up to a millionth. Raises `ParameterError` unless 0 < δ < 1."""
    exact = rational(delta, "delta")
    if not 0 < exact < 1:
        raise ParameterError("delta is a number above 0 and below 1")
    millions = math.ceil(loss.epsilon(exact) * 1e6 * (1 + 1e-12)) + 1
    return ApproxLoss(Fraction(millions, 10**6), exact)


def mechanism_to_json(mechanism: CorrelatedGaussian) -> dict[str, Any]:
    """It as plain JSON, with exact numbers, for a certificate."""
    sampling = mechanism.sampling
    if isinstance(sampling, CyclicPoisson):
        taken: dict[str, Any] = {"sampling": "CyclicPoisson", "rate": str(sampling.rate), "groups": sampling.groups}
    else:
        taken = {
            "sampling": "MinimumSeparation",
            "participations": sampling.participations,
            "separation": sampling.separation,
        }
    return {
        "strategy": strategy_to_json(mechanism.strategy),
        "taken": {**taken, "steps": sampling.steps},
        "sigma": str(mechanism.sigma),
        "bound": str(mechanism.bound),
        "size": mechanism.size,
    }


def mechanism_from_json(data: Any) -> CorrelatedGaussian:
    """The inverse. Raises `LedgerError` or `ParameterError` for anything else."""
    match data:
        case {"strategy": strategy, "taken": taken, "sigma": str(sigma), "bound": str(bound), "size": int(size)}:
            match taken:
                case {"sampling": "CyclicPoisson", "rate": str(rate), "groups": int(groups), "steps": int(steps)}:
                    sampling: CyclicPoisson | MinimumSeparation = CyclicPoisson(steps, _exact(rate), groups)
                case {
                    "sampling": "MinimumSeparation",
                    "participations": int(many),
                    "separation": int(separation),
                    "steps": int(steps),
                }:
                    sampling = MinimumSeparation(steps, many, separation)
                case _:
                    raise LedgerError("the certificate of this model says no sampling that is known")
            return CorrelatedGaussian(
                strategy_from_json(strategy), sampling, _exact(sigma), bound=_exact(bound), size=size
            )
        case _:
            raise LedgerError("the certificate of this model states no noise that is known")


def _exact(text: str) -> Fraction:
    if len(text) > _LONGEST:
        raise LedgerError("the certificate of this model has a number longer than any that it is made with")
    return from_exact_text(text)
