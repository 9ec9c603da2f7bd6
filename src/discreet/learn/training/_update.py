"""The update of a step: noise on its exact sum, a public divisor, and the optimiser's step on that alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from discreet.learn.gradients import UnitGradients

__all__ = ["Update"]

_MOST_EXACT = 1 << 62


class Update:
    """Moves a network's parameters by noisy sums.

    Attributes
    ----------
    divisor
        By which sums in whole numbers are divided to be gradients: a public number.
    """

    def __init__(self, gradients: UnitGradients, optimizer: torch.optim.Optimizer, divisor: float) -> None:
        self._gradients, self._optimizer = gradients, optimizer
        self.divisor = divisor

    def apply(self, exact: NDArray[Any], added: NDArray[Any], places: int) -> None:
        """Adds noise, which has so many more binary places, divides by public numbers, and takes the step."""
        if added.dtype == object or int(np.abs(exact).max(initial=0)) >= _MOST_EXACT >> places:
            exact, added = exact.astype(object), added.astype(object)
        noisy = (exact * (1 << places) + added).astype(np.float64) / float(1 << places)
        flat = torch.from_numpy(noisy / self.divisor)
        self._optimizer.zero_grad(set_to_none=True)  # of what the loop may have left in others
        for name, part in self._gradients.split(flat).items():
            parameter = self._gradients.parameters[name]
            parameter.grad = part.to(parameter.dtype).clone()
        self._optimizer.step()
        self._optimizer.zero_grad(set_to_none=True)
