"""A training that was planned: its noise, its loss and how much of a gradient is noise. All of it is public."""

from __future__ import annotations

from dataclasses import dataclass

from discreet.errors import ParameterError
from discreet.learn.correlated import CorrelatedGaussian, CyclicPoisson
from discreet.learn.training._count import loss_with, part_of_spend
from discreet.mechanisms import Gaussian
from discreet.privacy import Loss, in_words

__all__ = ["TrainingPlan"]


@dataclass(frozen=True)
class TrainingPlan:
    """What a training costs and how much noise it adds, before anything is spent.

    Attributes
    ----------
    mechanism
        The noise, with its sampling.
    spend
        What is charged.
    divisor, grid
        By which sums in whole numbers are divided, and what one of them is worth in the gradient of the loss. The
        divisor is None where people are counted, until they were.
    arithmetic
        What is claimed of the numbers that the machine computes.
    quantile
        The share of people who are not to be clipped, where the clip moves; divisor, grid and noise are then those of
        the first step.
    count
        The noise of the count of people that is bought before the first step, where it is; in people.
    people
        About how many there are, by that count or as was asked; None until they were counted.
    """

    mechanism: CorrelatedGaussian
    spend: Loss
    divisor: float | None
    grid: float
    arithmetic: str
    quantile: float | None = None
    count: Gaussian | None = None
    people: int | None = None

    @property
    def loss(self) -> Loss:
        """What all steps lose together, and the count with them: within the spend."""
        return loss_with(self.count, self.mechanism.loss)

    @property
    def noise_multiplier(self) -> float:
        """The standard deviation of the noise of a step, in parts of what one person adds at most."""
        return float(self.mechanism.sigma / self.mechanism.bound)

    @property
    def noise(self) -> float:
        """The standard deviation of the noise in one entry of a step's gradient, a mean over people.

        Raises `ParameterError` as long as people are not counted, if that is bought.
        """
        if self.divisor is None:
            raise ParameterError(
                "how much of a gradient is noise depends on how many people there are, who are counted when training "
                "begins; until then noise_multiplier is known"
            )
        return float(self.mechanism.sigma) / self.divisor

    def explain(self) -> str:
        """The plan in words. Costs nothing."""
        sampling = self.mechanism.sampling
        if isinstance(sampling, CyclicPoisson):
            whom = "person" if sampling.groups == 1 else f"person of one of {sampling.groups} groups in turn"
            how = f"takes each {whom} with probability {float(sampling.rate):g}, by an exact coin"
        elif sampling.most == sampling.steps:
            how = "takes everybody"
        else:
            how = f"takes a group; a person takes part in {sampling.most:,} steps at most"
        strategy = type(self.mechanism.strategy).__name__
        kind = "independent noise" if strategy == "Independent" else f"noise correlated between steps ({strategy})"
        if self.quantile is None:
            clipped, gradient = "is clipped", "a step's gradient"
        else:
            clipped = f"is clipped where {self.quantile:g} of people are not, by a count with noise that is charged too"
            gradient = "the first step's gradient"
        if self.divisor is None:
            amount = f"{gradient} is divided by what a step takes of that count"
        else:
            amount = f"{gradient}, a mean over people, has noise of {self.noise:.3g} (standard deviation)"
        return "\n".join([
            *([] if self.count is None else [self._counted(self.count)]),
            f"{sampling.steps:,} steps, each {how}",
            f"what a person adds {clipped}; the noise is {self.noise_multiplier:.4g} times that, {kind}",
            f"each entry of {amount}",
            f"cost {in_words(self.spend)}, charged before the first step",
            self.arithmetic,
        ])  # fmt: skip

    def _counted(self, count: Gaussian) -> str:
        part = 100 * part_of_spend(count, self.spend)
        number = "people are counted once" if self.people is None else f"about {self.people:,} people were counted"
        return f"{number}, ± {count.error(0.95):,} at 95 %, for {part:.3g} % of the spend; the steps have the rest"
