"""Adam whose second moments are those of the gradient, not of the noise in it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor

from discreet.errors import ParameterError

__all__ = ["DPAdam"]


class DPAdam(torch.optim.Optimizer):
    """Adam for private training: the variance of the noise, which is public, is taken off the second moments.

    Without that they are those of the noise, equal in all entries, and Adam is momentum with a small step. A function
    of what was released, so it costs nothing. `Private` says how much noise there is; elsewhere it is plain Adam.

    Parameters
    ----------
    params
        Parameters, or groups of them, as of any torch optimiser.
    lr
        Length of a step.
    betas
        How much of the first and second moments stays in a step.
    floor
        Second moments are at least the square of this, in units of the gradient: where noise drowns them all.

    Raises `ParameterError` for numbers outside their range. Source: Tang, Shpilevskiy and Lécuyer 2024, DP-AdamBC.
    """

    noise_variance: float = 0.0
    """Of the noise in an entry of a gradient. `Private` sets it."""

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        floor: float = 1e-4,
    ) -> None:
        if not lr > 0 or not floor > 0 or not all(0 <= each < 1 for each in betas):
            raise ParameterError("lr and floor are numbers above 0, betas two from 0 to below 1")
        super().__init__(params, {"lr": lr, "betas": betas, "floor": floor})

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
        scale = signal.clamp_min(group["floor"] ** 2).sqrt_()
        parameter.addcdiv_(first, scale, value=-group["lr"] / (1 - keep ** state["step"]))
