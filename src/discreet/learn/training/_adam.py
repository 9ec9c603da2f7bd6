"""Adam whose second moments are those of the gradient, not of the noise in it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor

from discreet.errors import ParameterError

__all__ = ["DPAdam"]


class DPAdam(torch.optim.Optimizer):
    """Adam for private training: the variance of the noise, which is public, is taken off the second moments.

    Without that they are those of the noise, equal in all entries, and Adam is momentum with a small step. What is
    left is known no better than the mean of as many squares of noise as there were steps: second moments below that
    doubt are set to it, so that an entry in which the noise shows nothing moves as by momentum, and not by a number
    near 0 over a number near 0. A function of what was released, so it costs nothing. `Private` says how much noise
    there is; elsewhere it is plain Adam.

    Parameters
    ----------
    params
        Parameters, or groups of them, as of any torch optimiser.
    lr
        Length of a step.
    betas
        How much of the first and second moments stays in a step.
    doubt
        Second moments are at least this many standard deviations of what the noise alone makes of them.
    floor
        They are at least the square of this too, in units of the gradient: where there is no noise.

    Raises `ParameterError` for numbers outside their range. Source: Tang, Shpilevskiy and Lécuyer 2024, DP-AdamBC,
    whose floor is one number that users are to find: below the doubt, steps are those of noise over a number near 0.

    >>> net = torch.nn.Linear(4, 2)
    >>> adam = DPAdam(net.parameters(), lr=0.01)
    """

    noise_variance: float = 0.0
    """Of the noise in an entry of a gradient. `Private` sets it."""

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 0.01,
        betas: tuple[float, float] = (0.9, 0.999),
        doubt: float = 4.0,
        floor: float = 1e-8,
    ) -> None:
        if not lr > 0 or not floor > 0 or not doubt >= 0 or not all(0 <= each < 1 for each in betas):
            raise ParameterError(
                "lr and floor are numbers above 0, doubt is 0 or more, betas are two from 0 to below 1"
            )
        super().__init__(params, {"lr": lr, "betas": betas, "doubt": doubt, "floor": floor})

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """One step by the gradients of the parameters. Raises `ParameterError` for a closure."""
        if closure is not None:
            raise ParameterError("private training computes gradients itself; give no closure")
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.grad is not None:
                    self._move(parameter, parameter.grad, group)

    def _move(self, parameter: Tensor, gradient: Tensor, group: dict[str, Any]) -> None:
        state = self.state[parameter]
        if not state:
            state.update(step=0, first=torch.zeros_like(parameter), second=torch.zeros_like(parameter))
        state["step"] += 1
        keep, keep_squares = group["betas"]
        first: Tensor = state["first"].mul_(keep).add_(gradient, alpha=1 - keep)
        second: Tensor = state["second"].mul_(keep_squares).addcmul_(gradient, gradient, value=1 - keep_squares)
        signal = second / (1 - keep_squares ** state["step"]) - self.noise_variance
        spread = self.noise_variance * math.sqrt(2 / squares_in_mean(keep_squares, state["step"]))
        scale = signal.clamp_min(max(group["doubt"] * spread, group["floor"] ** 2)).sqrt_()
        parameter.addcdiv_(first, scale, value=-group["lr"] / (1 - keep ** state["step"]))


def squares_in_mean(keep: float, step: int) -> float:
    """Of how many equally weighted squares the mean would be as exact as the second moments after so many steps.

    (Σw)² / Σw² of the weights, each `keep` times the next: that many steps at first, and (1 + keep) / (1 − keep) at
    most.

    >>> squares_in_mean(0.999, 1), round(squares_in_mean(0.999, 100), 1), round(squares_in_mean(0.999, 100_000))
    (1.0, 99.9, 1999)
    """
    faded = keep**step
    return (1 + keep) * (1 - faded) / ((1 - keep) * (1 + faded))
